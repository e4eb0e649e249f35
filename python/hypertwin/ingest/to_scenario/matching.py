"""Which host another table means: exports write a host's name with and without domain, in capitals, with a prefix."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypertwin.ingest.to_scenario.hosts import ScenarioHost
from hypertwin.ingest.to_scenario.names import short

LEAST_PART = 3
"""Characters of a name that may stand for a longer one."""


class Directory:
    """Hosts by all that they may be called."""

    def __init__(self, hosts: Sequence[ScenarioHost]) -> None:
        """All hosts that may be meant."""
        self._hosts = hosts
        self._found: dict[tuple[str, str | None], tuple[ScenarioHost | None, str | None]] = {}

    def find(self, name: str, cluster: str | None) -> tuple[ScenarioHost | None, str | None]:
        """The host that is meant, and a note where that is no more than likely.

        In this order: the same name; without case; without domain; a name that begins or ends with it. Where several
        fit, that in `cluster` is meant; a name without domain never means a host of another cluster.
        """
        if (name, cluster) not in self._found:
            self._found[name, cluster] = self._search(name, cluster)
        return self._found[name, cluster]

    def _search(self, name: str, cluster: str | None) -> tuple[ScenarioHost | None, str | None]:
        folded, label = name.casefold(), short(name).casefold()
        likely = "host found by a name that is not quite its own"
        tiers: tuple[tuple[Callable[[ScenarioHost], bool], bool, str | None], ...] = (
            (lambda host: host.name == name, False, None),
            (lambda host: host.name.casefold() == folded, False, None),
            (lambda host: _same_short(host.name, name), True, None),
            (lambda host: short(host.name).casefold() == label, True, likely),
            (lambda host: _contains(short(host.name).casefold(), label), True, likely),
        )
        for fits, only_there, note in tiers:
            found = [host for host in self._hosts if fits(host)]
            there = [host for host in found if host.cluster == cluster]
            if there or (only_there and cluster is not None):
                found = there
            if len(found) == 1:
                return found[0], note
        return None, None


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
