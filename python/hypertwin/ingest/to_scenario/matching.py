"""Which host another table means: exports write a host's name with and without domain, in capitals, with a prefix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from hypertwin.ingest.to_scenario.hosts import ScenarioHost
from hypertwin.ingest.to_scenario.names import short
from hypertwin.ingest.to_scenario.notes import AFFIXED

LEAST_PART = 3
"""Characters of a name that may stand for a longer one."""
LIKELY = "host found by a name that is not quite its own"


class Directory:
    """Hosts by all that they may be called."""

    def __init__(self, hosts: Sequence[ScenarioHost], mentioned: Iterable[str] = ()) -> None:
        """All hosts that may be meant, and the names by which other tables mean them."""
        self._hosts = hosts
        self._mentioned = sorted({name.casefold() for name in mentioned})
        self._affixed: dict[str, set[str]] = {}
        self._found: dict[tuple[str, str | None], tuple[ScenarioHost | None, str | None]] = {}

    def find(self, name: str, cluster: str | None) -> tuple[ScenarioHost | None, str | None]:
        """The host that is meant, and a note where that is no more than likely.

        In this order: the same name; without case; without domain; a name that begins or ends with it, at a boundary,
        then anywhere. Where several fit, that in `cluster` is meant; a name without domain never means a host of
        another cluster. An affix without a boundary is believed only if no other table's name fits the same host.
        """
        if (name, cluster) not in self._found:
            self._found[name, cluster] = self._search(name, cluster)
        return self._found[name, cluster]

    def _search(self, name: str, cluster: str | None) -> tuple[ScenarioHost | None, str | None]:
        folded, label = name.casefold(), short(name).casefold()
        tiers: tuple[tuple[Callable[[ScenarioHost], bool], bool, str | None], ...] = (
            (lambda host: host.name == name, False, None),
            (lambda host: host.name.casefold() == folded, False, None),
            (lambda host: _same_short(host.name, name), True, None),
            (lambda host: short(host.name).casefold() == label, True, LIKELY),
            (lambda host: _contains(short(host.name).casefold(), label), True, LIKELY),
            (lambda host: self._has_affix(host.name.casefold(), folded), True, AFFIXED),
        )
        for fits, only_there, note in tiers:
            found = [host for host in self._hosts if fits(host)]
            there = [host for host in found if host.cluster == cluster]
            if there or (only_there and cluster is not None):
                found = there
            if len(found) == 1:
                return found[0], note
        return None, None

    def _has_affix(self, host: str, name: str) -> bool:
        """Whether a name is the host's with something before or after it, and that of no other name is."""
        if not _is_affixed(host, name):
            return False
        if host not in self._affixed:
            self._affixed[host] = {short(other) for other in self._mentioned if _is_affixed(host, other)}
        return self._affixed[host] <= {short(name)}


def _same_short(one: str, other: str) -> bool:
    """Whether both are the same but for a domain that one of them lacks."""
    one, other = one.casefold(), other.casefold()
    return short(one) == short(other) and (one == short(one) or other == short(other))


def _contains(one: str, other: str) -> bool:
    """Whether one begins or ends with the other, at a boundary: `esx1` is in `rack2-esx1` and not in `esx10`."""
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < LEAST_PART or shorter == longer or shorter.isdigit():
        return False
    before, after = longer.removesuffix(shorter), longer.removeprefix(shorter)
    return (before != longer and not before[-1:].isalnum()) or (after != longer and not after[:1].isalnum())


def _is_affixed(one: str, other: str) -> bool:
    """Whether one, or its name without domain, begins or ends with the other."""
    return _extends(one, other) or _extends(short(one), short(other))


def _extends(one: str, other: str) -> bool:
    """Whether one begins or ends with the other, with no number cut: `siteesx1` has `esx1`, `esx11` has not."""
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < LEAST_PART or shorter == longer or shorter.isdigit():
        return False
    before, after = longer.removesuffix(shorter), longer.removeprefix(shorter)
    ends = before != longer and not (shorter[0].isdigit() and before[-1].isdigit())
    begins = after != longer and not (shorter[-1].isdigit() and after[0].isdigit())
    return ends or begins
