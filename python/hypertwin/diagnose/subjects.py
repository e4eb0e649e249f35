"""Whom rules look at: hosts, machines and guests, as the telemetry and the cluster file know them together.

A host or a machine of the cluster file is the one of the telemetry when its `label`, or its name where it has none, is
the same, whatever the case; of several machines of one name that on the same host. What the cluster file says of size
and topology wins over what was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hypertwin import vnuma
from hypertwin.diagnose.evidence import Evidence, Read, Stat
from hypertwin.diagnose.rule import Subject
from hypertwin.ingest import telemetry
from hypertwin.ingest.appliances import is_storage_appliance
from hypertwin.scenario import Scenario


@dataclass
class Server:
    """A host."""

    name: str
    entity: str | None = None
    """Its path in the telemetry; None where there is none of it."""
    key: str | None = None
    """Its name in the scenario; None without one."""
    cores: int | None = None
    threads: int | None = None
    nodes: int | None = None
    clock_mhz: float | None = None
    memory_bytes: float | None = None
    hypervisor: str | None = None
    machines: list[Machine] = field(default_factory=list)

    @property
    def subject(self) -> Subject:
        """The host as findings name it."""
        return Subject("host", self.name, self.entity or telemetry.entity("host", self.name))

    @property
    def vcpus(self) -> int:
        """vCPUs of its machines, as far as they are known."""
        return sum(machine.vcpus or 0 for machine in self.machines)


@dataclass
class Machine:
    """A virtual machine."""

    name: str
    entity: str | None = None
    key: str | None = None
    server: Server | None = None
    vcpus: int | None = None
    memory_bytes: float | None = None
    guest: str | None = None
    """Path of what was measured inside it."""
    layout: Mapping[str, Any] | None = None
    """Its virtual NUMA, as `hypertwin.vnuma.layouts` gives it."""
    appliance: bool = False
    """Whether it serves storage."""

    @property
    def subject(self) -> Subject:
        """The machine as findings name it."""
        host = ("host", self.server.name) if self.server else ()
        return Subject("vm", self.name, self.entity or telemetry.entity(*host, "vm", self.name))

    @property
    def host(self) -> str | None:
        """Name of its host."""
        return self.server.name if self.server else None


@dataclass(frozen=True)
class PlacementRule:
    """A placement rule, about single machines and hosts by their names in the scenario."""

    kind: str
    machines: frozenset[str]
    hosts: frozenset[str]

    def allows(self, machine: str, host: str, there: frozenset[str]) -> bool:
        """Whether a machine may move to a host where other machines are."""
        others = self.machines - {machine}
        return machine not in self.machines or {
            "run-on": host in self.hosts,
            "not-on": host not in self.hosts,
            "keep-apart": not others & there,
            "keep-together": others <= there,
        }.get(self.kind, True)


@dataclass
class Case:
    """Everything that rules look at."""

    evidence: Evidence
    scenario: Scenario | None
    servers: list[Server]
    machines: list[Machine]
    guests: list[str]
    """Paths of guests that belong to no machine that is known."""
    notes: list[str]

    @staticmethod
    def of(evidence: Evidence, scenario: Scenario | None) -> Case:
        """Bring telemetry and cluster file together."""
        servers, machines = _of_scenario(scenario) if scenario else ([], [])
        _measured_servers(evidence, servers)
        missing = _measured_machines(evidence, servers, machines)
        guests = _measured_guests(evidence, machines)
        notes = _other_cluster(servers, machines, guests) if scenario else []
        if scenario and missing and not notes:
            notes.append(f"not in the cluster file, so without its configuration: {_some(missing)}")
        if guests and machines:
            names = [telemetry.names(path)["guest"] for path in guests]
            notes.append(f"measured inside, and of no machine that is known by that name: {_some(names)}")
        notes += _extents(evidence)
        for machine in machines:
            if machine.server:
                machine.server.machines.append(machine)
            machine.appliance = machine.appliance or is_storage_appliance(machine.name)
        servers.sort(key=lambda server: server.subject.path)
        machines.sort(key=lambda machine: machine.subject.path)
        return Case(evidence, scenario, servers, machines, guests, notes)

    @cached_property
    def placed(self) -> dict[str, list[Machine]]:
        """Machines by the host's name in the scenario, as the scenario places them."""
        found: dict[str, list[Machine]] = {}
        for machine in self.machines:
            if machine.key and machine.layout:
                found.setdefault(machine.layout["host"], []).append(machine)
        return found

    @cached_property
    def rules(self) -> list[PlacementRule]:
        """Placement rules of the scenario."""
        data: Mapping[str, Any] = self.scenario.data if self.scenario else {}

        def members(section: str, names: Sequence[str]) -> frozenset[str]:
            groups = data.get(section, {})
            return frozenset(
                member
                for name in names
                for member in (expanded(name, groups[name]["count"]) if name in groups else [name])
            )

        return [
            PlacementRule(rule["kind"], members("vms", rule["vms"]), members("hosts", rule.get("hosts", ())))
            for rule in data.get("rules", ())
        ]

    def each(self, machine: Machine, metric: str) -> Stat | None:
        """A metric that is summed over the vCPUs of a machine, per vCPU; None without it or without their number."""
        stat = self.evidence.stat(machine.entity, metric)
        return stat.over(machine.vcpus) if stat and machine.vcpus else None

    def busy(self, machine: Machine) -> Busy | None:
        """How busy a machine is as its guest sees it, per cent of a vCPU: the best figure that there is of it."""
        if not machine.vcpus:
            return None
        for entity in (machine.guest, machine.entity):
            stat = self.evidence.stat(entity, "guest_cpu_pct")
            if stat and entity:
                return Busy(stat, stat.most, "guest_cpu_pct", entity, 1)
        run = self.each(machine, "run_sum_pct")
        if run and machine.entity:
            waiting = [self.each(machine, metric) for metric in ("ready_sum_pct", "costop_sum_pct")]
            more = sum(stat.mean for stat in waiting if stat)
            most = run.most + sum(stat.most for stat in waiting if stat)
            # a guest believes that a vCPU which waits for a CPU is busy
            return Busy(_raised(run, more), min(most, 100.0), "run_sum_pct", machine.entity, machine.vcpus, more)
        cores = self.each(machine, "cpu_cores")
        if cores and machine.entity:
            stat = cores.over(1 / 100)
            return Busy(stat, stat.most, "cpu_cores", machine.entity, machine.vcpus / 100)
        clock = machine.server.clock_mhz if machine.server else None
        for metric in ("demand_mhz", "used_mhz"):
            used = self.each(machine, metric)
            if used and clock and machine.entity:
                stat = used.over(clock / 100)
                return Busy(stat, stat.most, metric, machine.entity, machine.vcpus * clock / 100)
        return None


@dataclass(frozen=True)
class Busy:
    """How busy a machine's vCPUs are, in per cent of one, as its guest sees it."""

    stat: Stat
    most: float
    """Never less than the true peak."""
    metric: str
    """What it is from, with `entity` and `divisor`."""
    entity: str
    divisor: float
    added: float = 0.0
    """What the mean wait for a CPU adds to it."""


def _raised(stat: Stat, by: float) -> Stat:
    raised = {
        name: min(getattr(stat, name) + by, 100.0)
        for name in ("mean", "least", "most", "low", "seldom", "median", "often", "high")
    }
    return Stat(count=stat.count, first_us=stat.first_us, last_us=stat.last_us, **raised)


def _of_scenario(scenario: Scenario) -> tuple[list[Server], list[Machine]]:
    data = scenario.data
    servers: dict[str, Server] = {}
    for group, host in data["hosts"].items():
        for name in expanded(group, host["count"]):
            cores = host["sockets"] * host["cores_per_socket"]
            servers[name] = Server(
                name=_label(host, name),
                key=name,
                cores=cores,
                threads=cores * host["threads_per_core"],
                nodes=host["sockets"],
                clock_mhz=_mhz(host["clock"]),
                memory_bytes=_bytes(host["memory_per_node"]) * host["sockets"],
                hypervisor=host["hypervisor"],
            )
    machines = []
    layouts = vnuma.layouts(scenario)
    for group, vm in data.get("vms", {}).items():
        for name in expanded(group, vm["count"]):
            layout = layouts.get(name)
            server = servers.get(layout["host"]) if layout else None
            machines.append(
                Machine(
                    name=_label(vm, name),
                    key=name,
                    server=server,
                    vcpus=vm["vcpus"],
                    memory_bytes=layout["memory_bytes"] if layout else None,
                    layout=layout,
                    appliance=bool(vm.get("storage_appliance")),
                )
            )
    return list(servers.values()), machines


def expanded(group: str, count: int) -> list[str]:
    """Names of the members of a group of a scenario."""
    return [group] if count == 1 else [f"{group}-{number}" for number in range(1, count + 1)]


def _label(entry: Mapping[str, Any], name: str) -> str:
    return str(entry["label"]) if entry.get("label") and entry["count"] == 1 else name


_BYTES = {
    **{unit: 1024.0**power for power, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB", "PiB"))},
    **{unit: 1000.0**power for power, unit in enumerate(("kB", "MB", "GB", "TB", "PB"), start=1)},
}


def _bytes(size: str) -> float:
    """A size in its canonical form."""
    number, unit = size.split()
    return float(number) * _BYTES[unit]


_MHZ = {"Hz": 1e-6, "kHz": 1e-3, "MHz": 1.0, "GHz": 1e3, "THz": 1e6}


def _mhz(clock: str) -> float:
    """A frequency in its canonical form."""
    number, unit = clock.split()
    return float(number) * _MHZ[unit]


def _measured_servers(evidence: Evidence, servers: list[Server]) -> None:
    by_name = {server.name.casefold(): server for server in servers}
    short: dict[str, list[Server]] = {}
    for server in servers:
        short.setdefault(server.name.casefold().partition(".")[0], []).append(server)
    for path in _prefixes(evidence, "host"):
        name = telemetry.names(path)["host"]
        alike = short.get(name.casefold().partition(".")[0], [])
        found = by_name.get(name.casefold()) or (alike[0] if len(alike) == 1 else None)
        if found is None or found.entity is not None:
            found = Server(name)
            servers.append(found)
        found.entity = path
        found.name = name
        found.cores = found.cores or _count(evidence.stat(path, "cores"))
        found.threads = found.threads or _count(evidence.stat(path, "threads"))
        found.nodes = found.nodes or _children(evidence, "node", path)
        clock, memory = evidence.stat(path, "clock_mhz"), evidence.stat(path, "memory_bytes")
        found.clock_mhz = found.clock_mhz or (clock.median if clock else None)
        found.memory_bytes = found.memory_bytes or (memory.median if memory else None)


def _measured_machines(evidence: Evidence, servers: Sequence[Server], machines: list[Machine]) -> list[str]:
    """Give machines their telemetry, and add those that the cluster file has not; returns the names of these."""
    by_entity = {server.entity: server for server in servers}
    by_name: dict[str, list[Machine]] = {}
    for machine in machines:
        by_name.setdefault(machine.name.casefold(), []).append(machine)
    missing = []
    for path in _prefixes(evidence, "vm"):
        name = telemetry.names(path)["vm"]
        server = by_entity.get(path.rpartition("/vm/")[0])
        alike = [machine for machine in by_name.get(name.casefold(), []) if machine.entity is None]
        here = [machine for machine in alike if server is None or machine.server is server]
        if here or alike:
            found = (here or alike)[0]
        else:
            found = Machine(name)
            machines.append(found)
            missing.append(name)
        found.entity = path
        found.name = name
        found.server = server or found.server
        found.vcpus = found.vcpus or _count(evidence.stat(path, "vcpus"))
        memory = evidence.stat(path, "memory_bytes")
        found.memory_bytes = found.memory_bytes or (memory.median if memory else None)
    return missing


def _measured_guests(evidence: Evidence, machines: Sequence[Machine]) -> list[str]:
    """Give machines what was measured inside them, by name, or by the name without its domain where that is unique."""
    by_name: dict[str, list[Machine]] = {}
    short: dict[str, list[Machine]] = {}
    for machine in machines:
        for name in {machine.name.casefold(), (machine.key or machine.name).casefold()}:
            by_name.setdefault(name, []).append(machine)
        short.setdefault(machine.name.casefold().partition(".")[0], []).append(machine)
    alone = []
    for path in _prefixes(evidence, "guest"):
        name = telemetry.names(path)["guest"].casefold()
        found = by_name.get(name) or short.get(name.partition(".")[0], [])
        if len(found) == 1 and found[0].guest is None:
            found[0].guest = path
        else:
            alone.append(path)
    return alone


def _other_cluster(servers: Sequence[Server], machines: Sequence[Machine], guests: Sequence[str]) -> list[str]:
    """That telemetry and cluster file have nothing in common, and what each has."""
    both: list[Server | Machine] = [*servers, *machines]
    measured = [each for each in both if each.entity]
    if not (measured or guests) or any(each.key and (each.entity or _inside(each)) for each in both):
        return []
    names = [each.name for each in measured] + [telemetry.names(path)["guest"] for path in guests]
    return [
        "telemetry and cluster file have no host and no machine in common by name, so each is judged by itself: "
        f"telemetry of {_some(names)}; the cluster file has {_some([each.name for each in both if each.key])}"
    ]


def _inside(entry: Server | Machine) -> bool:
    return isinstance(entry, Machine) and entry.guest is not None


def _extents(evidence: Evidence) -> list[str]:
    """What is odd about hosts and times of the sources: one host twice, other times, single samples."""
    notes = []
    by_host: dict[str, list[Read]] = {}
    for read in evidence.reads:
        for host in read.hosts:
            by_host.setdefault(host, []).append(read)
    twice: dict[tuple[str, ...], list[str]] = {}
    for host, reads in sorted(by_host.items()):
        if len(reads) > 1:
            twice.setdefault(tuple(read.source for read in reads), []).append(telemetry.names(host)["host"])
    for sources, hosts in twice.items():
        reads = [read for read in evidence.reads if read.source in sources]
        again = (
            "of the same times, so what both have counts twice"
            if _common(reads)
            else "of different times, told together"
        )
        notes.append(f"{_some(sources)} are of the same host{'s' * (len(hosts) > 1)} {_some(hosts)}, {again}")
    timed = [read for read in evidence.reads if read.first_us is not None]
    apart = next((read for read in timed if not _common([timed[0], read]) and not timed[0].hosts & read.hosts), None)
    if apart is not None:
        shift = abs((apart.first_us or 0) - (timed[0].first_us or 0))
        hours = round(shift / 3.6e9)
        zone = (
            f" They begin {hours} h apart: perhaps a time zone." if hours and abs(shift - hours * 3.6e9) < 3e8 else ""
        )
        notes.append(
            f"{apart.source} ({apart.span} UTC) and {timed[0].source} ({timed[0].span} UTC) are not of the same time, "
            f"or their clocks differ: what one shows says nothing of the other.{zone}"
        )
    single = [next(iter(telemetry.names(path).values())) for path, count in evidence.samples.items() if count == 1]
    if single:
        notes.append(f"of a single sample, so nobody knows whether it lasts: {_some(sorted(single))}")
    return notes


def _common(reads: Sequence[Read]) -> bool:
    """Whether sources have a time in common."""
    first, last = (read.first_us for read in reads), (read.last_us for read in reads)
    return max(each or 0 for each in first) <= min(each or 0 for each in last)


def _some(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _prefixes(evidence: Evidence, kind: str) -> list[str]:
    """Paths that end in a name of this kind, of entities and of what they are in."""
    return [path for path in evidence.paths if path.split("/")[-2:-1] == [kind]]


def _children(evidence: Evidence, kind: str, path: str) -> int | None:
    count = sum(entity.rpartition(f"/{kind}/")[0] == path for entity in evidence.entities(kind))
    return count or None


def _count(stat: Stat | None) -> int | None:
    return round(stat.median) or None if stat and 0.5 <= stat.median < 1e6 else None
