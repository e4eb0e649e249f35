"""Locations of hosts and VMs: unique names of clusters and hosts.

In one vCenter, two datacenters can have clusters of the same name, and two vCenters can have hosts of the same name. A
repeated name gets its datacenter, or its vCenter, added.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from hypertwin.ingest import outside
from hypertwin.ingest.vmware.rvtools import cells
from hypertwin.ingest.vmware.rvtools.tables import Row


@dataclass(frozen=True)
class Place:
    """Location in a row of a tab. Empty fields are unknown."""

    vcenter: str = ""
    datacenter: str = ""
    cluster: str = ""
    host: str = ""


def place(row: Row, host: str) -> Place:
    """Return the place in a row. `host` is the column with the name of the host."""
    said = (cells.text(row.get(column)) for column in ("vcenter", "datacenter", "cluster", host))
    return Place(*("" if text == "-" else text for text in said))


class Names:
    """Names of clusters and hosts in the inventory."""

    def __init__(self, hosts: Iterable[Place]) -> None:
        """From the places of all hosts."""
        self._clusters: dict[str, dict[tuple[str, str], None]] = defaultdict(dict)
        self._hosts: dict[str, dict[Place, None]] = defaultdict(dict)
        for each in hosts:
            if each.cluster:
                self._clusters[each.cluster][each.vcenter, each.datacenter] = None
            self._hosts[each.host.casefold()][each] = None

    def cluster(self, at: Place) -> str | None:
        """Return the name of the cluster at a place, or None without one."""
        homes = self._clusters.get(at.cluster, {})
        if len(homes) < 2 or not at.cluster:
            return at.cluster or None
        fitting = [home for home in homes if at.vcenter in ("", home[0]) and at.datacenter in ("", home[1])]
        if len(fitting) != 1:  # the row does not say where it is: its host may
            of_host = {(home.vcenter, home.datacenter) for home in self._hosts.get(at.host.casefold(), {})}
            fitting = [home for home in fitting if home in of_host]
        if len(fitting) != 1:
            return at.cluster
        vcenter, datacenter = fitting[0]
        unique = sum(other == datacenter for _, other in homes) == 1 and bool(datacenter)
        return outside.told_apart(at.cluster, datacenter if unique else f"{datacenter} {vcenter}".strip())

    def host(self, at: Place) -> str | None:
        """Return the name of the host at a place, from the host tab if it is one of several, or None without one."""
        homes = self._hosts.get(at.host.casefold(), {})
        if len(homes) < 2 or not at.host:
            return at.host or None
        fitting = [
            home for home in homes if all(said in ("", is_) for said, is_ in zip(_where(at), _where(home), strict=True))
        ]
        if len(fitting) != 1:
            return at.host
        home = fitting[0]
        by = self.cluster(home) or home.datacenter or home.vcenter
        if sum((self.cluster(other) or other.datacenter or other.vcenter) == by for other in homes) > 1:
            by = f"{by} {home.vcenter}".strip()
        return outside.told_apart(home.host, by)


def _where(at: Place) -> tuple[str, str, str]:
    return at.vcenter, at.datacenter, at.cluster
