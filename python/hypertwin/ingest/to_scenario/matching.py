"""Matching of host names between tables: exports write them with and without domain, in capitals, with a prefix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hypertwin.ingest.to_scenario.hosts import ScenarioHost
from hypertwin.ingest.to_scenario.names import short
from hypertwin.ingest.to_scenario.notes import AFFIXED

LEAST_PART = 3
"""Minimum characters of a name that can match a longer one."""
LIKELY = "host matched by a similar name"


@dataclass(frozen=True)
class _Name:
    """A name in the compared forms."""

    folded: str
    """In lower case."""
    label: str
    """In lower case, without domain."""

    @staticmethod
    def of(name: str) -> _Name:
        """Return the forms of a name."""
        folded = name.casefold()
        return _Name(folded, short(folded))

    def has_domain(self) -> bool:
        """True if there is a domain."""
        return self.folded != self.label

    def is_alike(self, other: _Name) -> bool:
        """True if both are equal, apart from a domain that one of them lacks."""
        return self.label == other.label and not (self.has_domain() and other.has_domain())

    def contains(self, other: _Name) -> bool:
        """True if one label begins or ends with the other at a boundary: `esx1` is in `rack2-esx1`, not in `esx10`."""
        return _extends(self.label, other.label, lambda inside, outside: not outside.isalnum())

    def is_affixed(self, other: _Name) -> bool:
        """True if one begins or ends with the other without splitting a number: `siteesx1` and `esx1` match."""
        return _extends(self.folded, other.folded, _is_whole) or _extends(self.label, other.label, _is_whole)


class Directory:
    """Hosts by all forms of their names."""

    def __init__(self, hosts: Sequence[ScenarioHost], mentioned: Iterable[str] = ()) -> None:
        """Index all hosts, and the names that other tables use."""
        self._hosts = [(host, _Name.of(host.name)) for host in hosts]
        self._mentioned = sorted({_Name.of(name) for name in mentioned}, key=lambda name: name.folded)
        self._affixed: dict[_Name, set[str]] = {}
        self._found: dict[tuple[str, str | None], tuple[ScenarioHost | None, str | None]] = {}

    def find(self, name: str, cluster: str | None) -> tuple[ScenarioHost | None, str | None]:
        """Return the matching host, and a note if the match is only likely.

        Order of matches: the same name; in any case; without domain. A name that begins or ends with it, at a boundary,
        then anywhere. If several match, the one in `cluster` wins. A name without domain never matches a host of
        another cluster. An affix without a boundary counts only if no other table's name fits the same host.
        """
        if (name, cluster) not in self._found:
            self._found[name, cluster] = self._search(name, cluster)
        return self._found[name, cluster]

    def _search(self, name: str, cluster: str | None) -> tuple[ScenarioHost | None, str | None]:
        told = _Name.of(name)
        tiers: tuple[tuple[Callable[[ScenarioHost, _Name], bool], bool, str | None], ...] = (
            (lambda host, _: host.name == name, False, None),
            (lambda _, own: own.folded == told.folded, False, None),
            (lambda _, own: own.is_alike(told), True, None),
            (lambda _, own: own.label == told.label, True, LIKELY),
            (lambda _, own: own.contains(told), True, LIKELY),
            (lambda _, own: self._has_affix(own, told), True, AFFIXED),
        )
        for fits, only_there, note in tiers:
            found = [host for host, own in self._hosts if fits(host, own)]
            there = [host for host in found if host.cluster == cluster]
            if there or (only_there and cluster is not None):
                found = there
            if len(found) == 1:
                return found[0], note
        return None, None

    def _has_affix(self, host: _Name, told: _Name) -> bool:
        """True if a name is the host's with an affix that occurs in no other name."""
        if not host.is_affixed(told):
            return False
        if host not in self._affixed:
            self._affixed[host] = {other.label for other in self._mentioned if host.is_affixed(other)}
        return self._affixed[host] <= {told.label}


def _extends(one: str, other: str, is_boundary: Callable[[str, str], bool]) -> bool:
    """True if one begins or ends with the other, at a boundary between an inside and an outside character."""
    shorter, longer = (one, other) if len(one) <= len(other) else (other, one)
    if len(shorter) < LEAST_PART or len(shorter) == len(longer) or shorter not in longer or shorter.isdigit():
        return False
    ends = longer.endswith(shorter) and is_boundary(shorter[0], longer[-len(shorter) - 1])
    return ends or (longer.startswith(shorter) and is_boundary(shorter[-1], longer[len(shorter)]))


def _is_whole(inside: str, outside: str) -> bool:
    """True if the boundary does not split a number."""
    return not (inside.isdigit() and outside.isdigit())
