"""One export: its tabs, its time, and its hosts, clusters and datastores."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from hypertwin.ingest import outside, storage_paths
from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import Cluster, Datastore, Host
from hypertwin.ingest.outside import Gap
from hypertwin.ingest.vmware.availability import threshold_of_rate
from hypertwin.ingest.vmware.power_policy import power_policy
from hypertwin.ingest.vmware.rvtools import cells
from hypertwin.ingest.vmware.rvtools.columns import COSTS, PATHS, TAB_COSTS, TABS, column_name
from hypertwin.ingest.vmware.rvtools.places import Names, Place, place
from hypertwin.ingest.vmware.rvtools.tables import Row, Table, Tabs
from hypertwin.members import SourceCluster

HOST_COUNTER = "vHost/CPU usage %"
MOST_PCT = 1_000.0
"""Maximum usage in per cent. With turbo it can exceed 100."""
CONNECTED = frozenset(("", "connected"))
"""Connection states of VMs on a reachable host. vCenter shows figures of other VMs as 0 or as last seen."""
_MEASURED = ("usage", "memory_usage", "ballooned", "swapped")
_VERSION = re.compile(r"[0-9]{1,2}\.[0-9]{1,2}(?:\.[0-9]{1,2})?")
_NO_TABLE = Table()
_VCENTER = frozenset(TABS["vHost"]["vcenter"])


class Export:
    """Tabs of one export, and its inventory."""

    def __init__(self, tabs: Tabs) -> None:
        """Parse the tabs. Raises SourceError if indispensable data are missing."""
        self.source = tabs.source
        self.tables = tabs.tables
        self.notes = ImportNotes(outside.Source(tabs.source))
        self._need("vHost", ("name", "memory"))
        self._need("vInfo", ("name", "power"))
        columns = self.tables["vHost"].columns
        if not ({"sockets", "cores_per_socket"} <= columns or "cores" in columns):
            self._lacks("vHost", "neither # CPU and Cores per CPU nor # Cores", "the columns # CPU and Cores per CPU")
        self.gaps = self._missing()
        made = self._made()
        self.at = made.isoformat() if made else None
        """Time of the export, as ISO 8601."""
        self.made = made.astimezone(UTC).replace(tzinfo=None) if made and made.tzinfo else made
        """The time for comparisons: in UTC if the time zone is known, otherwise by vCenter's clock."""
        self.host_rows = self._host_rows()
        """A row for each host, with its place."""
        self.host_names = {at.host.casefold() for at, _ in self.host_rows}
        self.vcenters = {at.vcenter for at, _ in self.host_rows if at.vcenter}
        self.vm_keys = {cells.text(row.get("uuid")) or cells.text(row.get("name")) for row in self.tables["vInfo"].rows}
        self.unused = list(self._unused(tabs))
        if any((cells.number(row.get("limit")) or -1) >= 0 for row in self.table("vRP").rows):
            text = "their limits, reservations and shares are no part of scenarios"
            self.notes.assumed(text, "resource pools")
        storage_paths.note(self._luns(), self.notes)

    @property
    def seconds(self) -> float:
        """Time of the export, in seconds since an origin shared by all exports."""
        return (self.made - datetime(1970, 1, 1)).total_seconds() if self.made else 0.0

    def _luns(self) -> Iterator[tuple[str, str, int]]:
        """Yield name, policy and number of paths of each LUN of a host."""
        for row in self.table("vMultiPath").rows:
            paths = sum(bool(cells.text(row.get(f"path{number}"))) for number in range(1, PATHS + 1))
            yield cells.text(row.get("disk")), cells.text(row.get("policy")), paths

    def table(self, tab: str) -> Table:
        """Return a tab, or an empty tab if the export lacks it."""
        return self.tables.get(tab, _NO_TABLE)

    def _need(self, tab: str, columns: Iterable[str]) -> None:
        if tab not in self.tables:
            found = ", ".join(self.tables) or "none of RVTools'"
            self._lacks("", f"no tab {tab}; there is {found}", f"the tab {tab}")
        for column in columns:
            if column not in self.tables[tab].columns:
                called = {"name": "Host" if tab == "vHost" else "VM", "memory": "# Memory", "power": "Powerstate"}
                self._lacks(tab, f"no column {called[column]}", f"the column {called[column]}")

    def _lacks(self, where: str, value: str, allowed: str) -> None:
        hint = "export all tabs of RVTools, unchanged (File, Export all to Excel)"
        self.notes.source.at(where).lacks(value, allowed, hint)

    def _missing(self) -> list[Gap]:
        gaps = []
        for tab, columns in COSTS.items():
            if tab not in self.tables:
                gaps.append(Gap(tab, TAB_COSTS[tab]))
                continue
            for column, (called, costs) in columns.items():
                if column not in self.tables[tab].columns:
                    gaps.append(Gap(f"{tab}/{called}", costs))
        return gaps

    def _made(self) -> datetime | None:
        """Return the time from vMetaData, otherwise from the name of the file or folder."""
        for moment in cells.moments(row.get("made") for row in self.table("vMetaData").rows):
            if moment is not None:
                return moment.replace(microsecond=0)
        return cells.moment_in_name(Path(self.source).name)

    def _unused(self, tabs: Tabs) -> Iterator[str]:
        """Yield unused tabs, then unused columns. Columns that tabs of VMs share with vInfo are named once."""
        yield from tabs.unused
        repeated = {name for called in TABS["vInfo"].values() for name in called}
        repeated.update(column_name(column, "vInfo")[0] for column in self.table("vInfo").unused)
        for tab, table in tabs.tables.items():
            if not table.columns:
                yield tab
            for column in table.unused:
                name = column_name(column, tab)[0]
                if name not in _VCENTER and (tab == "vInfo" or "uuid" not in TABS[tab] or name not in repeated):
                    yield f"{tab}/{column}"

    # hosts

    def _host_rows(self) -> list[tuple[Place, Row]]:
        rows: dict[Place, Row] = {}
        again: Counter[str] = Counter()
        for row in self.tables["vHost"].rows:
            at = place(row, "name")
            if not at.host:
                continue
            key = replace(at, host=at.host.casefold())
            if key in rows:
                again[at.host] += 1
            rows[key] = {**row, **rows.get(key, {})}
        if again:
            text = "in several rows of vHost: the first row counts"
            for name in again:
                self.notes.assumed(text, f"host {name}")
        return [(place(row, "name"), row) for row in rows.values()]

    def hosts(self, names: Names) -> list[Host]:
        """Return hosts."""
        version, of_vcenter, unreachable = self._version(), 0, self._unreachable(names)
        hosts = []
        for at, exported in self.host_rows:
            name, row = names.host(at) or at.host, exported
            if name.casefold() in unreachable:
                self.notes.unreachable(name, "disconnected")
                row = {**exported, **dict.fromkeys(_MEASURED), "maintenance": True}
            hypervisor = cells.text(row.get("version")) or None
            if hypervisor is None and version:
                hypervisor, of_vcenter = f"VMware ESXi {version}", of_vcenter + 1
            hosts.append(self._host(at, row, names, hypervisor))
        if of_vcenter and version:
            self.notes.assumed(f"ESXi of vCenter's version, {version}", f"{of_vcenter} hosts")
        return hosts

    def _unreachable(self, names: Names) -> set[str]:
        """Return the names of disconnected hosts, in lower case. Only their VMs show it."""
        states: dict[str, set[str]] = defaultdict(set)
        for row in self.tables["vInfo"].rows:
            name = names.host(place(row, "host")) or ""
            states[name.casefold()].add(cells.word(row.get("connection")))
        return {host for host, seen in states.items() if "disconnected" in seen and not seen & CONNECTED}

    def _host(self, at: Place, row: Row, names: Names, hypervisor: str | None) -> Host:
        sockets, cores = cells.whole(row.get("sockets")), cells.whole(row.get("cores"))
        processors, per_socket = sockets, cells.whole(row.get("cores_per_socket"))
        if not (sockets and per_socket) and cores:
            sockets = sockets or 1
            per_socket = cores // sockets
        speed, size = cells.number(row.get("speed")), self.tables["vHost"].size
        return Host(
            name=names.host(at) or at.host,
            sockets=sockets,
            cores_per_socket=per_socket,
            threads_per_core=2 if cells.flag(row.get("ht")) is not False else 1,
            memory_bytes=size(row, "memory") or 0,
            clock_hz=speed * 1e6 if speed else None,
            hypervisor=hypervisor,
            cluster=names.cluster(at),
            datacenter=at.datacenter or None,
            cpu_model=cells.text(row.get("model")) or None,
            processors=processors or None,
            hyper_threading_available=cells.flag(row.get("ht_available")),
            power_policy=power_policy(*(cells.text(row.get(f"policy{part}")) for part in ("", "_name", "_support"))),
            evc=_name(row.get("evc")),
            evc_most=_name(row.get("evc_most")),
            cpu_usage_pct=cells.between(row.get("usage"), 0, MOST_PCT),
            counter=HOST_COUNTER if row.get("usage") is not None else "",
            memory_usage_pct=cells.between(row.get("memory_usage"), 0, MOST_PCT),
            ballooned_bytes=size(row, "ballooned"),
            swapped_bytes=size(row, "swapped"),
            at=self.at,
            in_maintenance=cells.flag(row.get("maintenance")) is True,
        )

    def _version(self) -> str | None:
        """Return the version of vCenter."""
        for tab in ("vInfo", "vSource"):
            said = next((text for row in self.table(tab).rows if (text := cells.text(row.get("version")))), "")
            if found := _VERSION.search(said):
                return found[0]
        return None

    # clusters and datastores

    def clusters(self, names: Names) -> list[Cluster]:
        """Return clusters of vCluster and of hosts.

        The EVC mode of a cluster is the mode that all its hosts present to VMs.
        """
        of_hosts: dict[str, list[tuple[Place, Row]]] = defaultdict(list)
        for at, row in self.host_rows:
            if name := names.cluster(at):
                of_hosts[name].append((at, row))
        known: dict[str, Cluster] = {}
        for row in self.table("vCluster").rows:
            at = place(row, "")
            name = names.cluster(replace(at, cluster=cells.text(row.get("name"))))
            if name:
                failures = cells.number(row.get("failures"))
                known.setdefault(
                    name,
                    Cluster(
                        name,
                        datacenter=at.datacenter or None,
                        ha=cells.flag(row.get("ha")),
                        admission_control=cells.flag(row.get("admission_control")),
                        failures=int(failures) if failures is not None and 0 <= failures <= 1_000 else None,
                        restarts_by="fdm",
                        drs=_balances(row),
                        drs_threshold=threshold_of_rate(cells.whole(row.get("drs_rate"))),
                        evc=_name(row.get("evc")),
                        source=SourceCluster(drs=cells.flag(row.get("drs")), dpm=cells.flag(row.get("dpm"))),
                    ),
                )
        for name, hosts in of_hosts.items():
            cluster = known.get(name, Cluster(name))
            modes = {_name(row.get("evc")) for _, row in hosts}
            known[name] = replace(
                cluster,
                datacenter=cluster.datacenter or hosts[0][0].datacenter or None,
                evc=cluster.evc or (modes.pop() if len(modes) == 1 else None),
            )
        return list(known.values())

    def restart_priorities(self, names: Names) -> dict[str, str]:
        """Return the default restart priority of VMs, by cluster."""
        rows = self.table("vCluster").rows
        found = ((names.cluster(replace(place(row, ""), cluster=cells.text(row.get("name")))), row) for row in rows)
        return {name: cells.word(row.get("restart_priority")) for name, row in found if name}

    def datastores(self, names: Names) -> list[tuple[str, Datastore]]:
        """Return the datastores with their URLs. `Cluster name` is a datastore cluster, unless it has hosts."""
        table = self.table("vDatastore")
        of_hosts = {names.cluster(at) for at, _ in self.host_rows}
        found = []
        for row in table.rows:
            if not cells.text(row.get("name")):
                continue
            listed = re.split("[,;]", str(row.get("hosts") or "")[:65_536])
            hosts = tuple(outside.name(name) for name in listed if name.strip())
            cluster = names.cluster(place(row, ""))
            store = Datastore(
                name=cells.text(row.get("name")),
                kind=cells.text(row.get("type")),
                capacity_bytes=table.size(row, "capacity") or None,
                free_bytes=table.size(row, "free"),
                hosts=hosts,
                provisioned_bytes=table.size(row, "provisioned"),
                clusters=(cluster,) if cluster in of_hosts and cluster and not hosts else (),
            )
            found.append((cells.text(row.get("url")), store))
        return found


def _balances(row: Row) -> bool | None:
    """True if DRS moves VMs of a cluster. Partially automated and manual DRS only recommend moves."""
    behaviour, is_on = cells.word(row.get("drs_behaviour")), cells.flag(row.get("drs"))
    return is_on and behaviour in ("", "fullyautomated") if is_on is not None else None


def _name(value: object) -> str | None:
    """Return a name, or None for a dash."""
    text = cells.text(value)
    return text if text not in ("", "-") else None
