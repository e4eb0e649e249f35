"""The class of a published figure: what limits the case, and which way the figure goes against another one.

A class is words joined by `; `, at most one of each kind, such as `host-cpu; falls`. A source often says it where it
gives no number, and it catches a twin that has the number right for the wrong reason.

What the twin shows is read off the utilisations and waits of its report, with one set of thresholds for all studies:

- a row about moves is limited by the `network` where sending kept link or stream busy for half of their time, else by
  the `latency` of setting up and switching over;
- `cpu-limit` and `memory` show by what only they do: vCPUs that a limit keeps from running, memory
  that delivers all it can, or too late for them, during which vCPUs look busy, or memory that the host has taken away;
- else the fullest resource limits, if it is full: stations of the I/O path, and the logical CPUs of the nodes of a
  generator's pool, from STATION_PCT on; the host's cores and the VM's vCPUs from CPU_PCT on. Full vCPUs are `host-cpu`
  where the host has no room or they wait for it;
- a depth that many I/Os wait for limits where nothing is full, and so do the workers of a generator that never rest;
- else a closed loop is limited by its round trips (`latency`), and paced load by `nothing`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypertwin import _core
from hypertwin.scenario import Scenario
from hypertwin.studies import moves

RATIO = "ratio"
"""The unit of a figure that is one over another."""

LIMITS: Mapping[str, str] = {
    "host-cpu": "the cores of the host are busy and worlds wait for them",
    "guest-cpu": "the VM's vCPUs are busy while the host has room",
    "cpu-limit": "a limit on the VM's CPU",
    "memory": "the bandwidth or the size of memory",
    "controller": "a virtual storage controller, its world or its thread",
    "fabric": "ports of adapters or arrays",
    "devices": "the disks of an array or pool",
    "storage-cpu": "the processors of an array or of a pool's nodes",
    "network": "the network of a pool, of VMs, or of migrations",
    "client": "the load generator, or how many requests it has under way",
    "latency": "nothing is full: a closed loop of round trips",
    "nothing": "load comes at a pace and room is left; or a rule gives the figure, without load",
}
"""What limits a case."""

DIRECTIONS: Mapping[str, str] = {
    "rises": "more than 5 % above",
    "falls": "more than 5 % below",
    "flat": "within 5 %",
}
"""Which way a figure goes against that of another case, or a ratio against 1. A cliff falls where the load grew."""


@dataclass(frozen=True)
class Class:
    """What limits a case and which way a figure goes; None for what is not said."""

    limit: str | None = None
    direction: str | None = None

    def __bool__(self) -> bool:
        """Whether it says anything."""
        return bool(self.limit or self.direction)

    def fits(self, shown: Class) -> bool:
        """Whether what is shown has all that this one says."""
        return self.limit in (None, shown.limit) and self.direction in (None, shown.direction)

    def __str__(self) -> str:
        """As a table has it."""
        return "; ".join(word for word in (self.limit, self.direction) if word)


def class_of(text: str) -> Class:
    """The class that a text names. Raises ValueError, which says what is wrong and what is allowed."""
    found: dict[str, str] = {}
    for word in (word.strip() for word in text.split(";")) if text else ():
        kind = "limit" if word in LIMITS else "direction" if word in DIRECTIONS else None
        if kind is None:
            raise ValueError(f"{word[:40]!r} is no class; allowed: {', '.join((*LIMITS, *DIRECTIONS))}")
        if kind in found:
            raise ValueError(f"{found[kind]} and {word} are two of a kind; allowed: one limit and one direction")
        found[kind] = word
    return Class(**found)


FLAT_PCT = 5.0
"""Per cent up to which a figure is flat against another."""

CPU_PCT = 90.0
"""Usage of a host, or guest CPU of a VM, from which its CPUs are full; as in `hypertwin density`."""

STATION_PCT = 85.0
"""Mean utilization from which a station of the I/O path is full: of several members some are behind the others."""

MEMORY_PCT = 90.0
"""Part of a node's bandwidth from which its memory is full."""

STALLED_PCT = 20.0
"""Part of its memory traffic that a VM lacks for the CPU it used, from which memory holds it up."""

LIMITED_PCT = 5.0
"""Time per vCPU that a limit takes, from which it is felt; as READY_PCT of `hypertwin density`."""

SWAP_WAIT_PCT = 5.0
"""Time per vCPU that waits for memory that the host has taken away, from which it is felt; as LIMITED_PCT."""

SENDING_PCT = 50.0
"""Part of the time of moves that sending takes at full speed, from which the network limits them."""

WAIT_PCT = 10.0
"""Ready, limited time apart, and co-stop per vCPU from which full vCPUs wait for their host, whatever its usage."""

STATIONS: Mapping[str, str] = {
    "controllers": "controller",
    "ring": "controller",
    "ports": "fabric",
    "front-end": "fabric",
    "lun-depth": "fabric",
    "port-depth": "fabric",
    "disks": "devices",
    "devices": "devices",
    "flash": "devices",
    "cache": "devices",
    "services": "storage-cpu",
    "messengers": "storage-cpu",
    "shards": "storage-cpu",
    "commit": "storage-cpu",
    "gateways": "storage-cpu",
    "cpu-limit": "storage-cpu",
    "network": "network",
    "client-network": "network",
    "cluster-network": "network",
    "vdisk-depth": "client",
    "dsnro": "client",
}
"""The limit that a station of the I/O path stands for, by the end of its name: `SAN-disks`. Only that of the VM's vCPUs
is absent: they are judged by what the VM shows."""

DEPTHS = ("ring", "lun-depth", "port-depth", "vdisk-depth", "dsnro", "cache")
"""Stations that are places to wait in, not servers: they limit by their waits."""


def direction(figure: float, other: float) -> str:
    """Which way a figure goes against another: `flat` within FLAT_PCT of it."""
    change = figure - other
    if abs(change) <= abs(other) * (FLAT_PCT / 100 + 1e-9):
        return "flat"
    return "rises" if change > 0 else "falls"


def limit_of_run(report: Mapping[str, Any], scenario: Scenario, path: str) -> str:
    """What limits a case, from the report of its run; `path` is that of a figure, which may name a VM or host."""
    if about := moves.about(report, path):
        return "network" if moves.sending_pct(about, report, scenario) >= SENDING_PCT else "latency"
    case = _Case(report, scenario, *_subject(report, scenario, path))
    full = [*case.cpu(), *case.stations()]
    if forced := case.forced():
        return forced
    if full:
        return max(full, key=lambda each: each[1])[0]
    return case.waited_for() or case.loop()


def limit_of_density(found: Mapping[str, Any]) -> str:
    """What limits how many VMs fit, from the answer of `density`: the fullest at the first count that misses."""
    point = next((point for point in found["points"] if not point["meets"]), None)
    if point is None:
        return "nothing"
    if point["reason"]:
        return "memory" if "memory" in f"{point['lacks']}" else "nothing"
    station, usage = point["bottleneck"], point["host_usage_pct"] or 0.0
    full = [("host-cpu", usage)] if usage >= CPU_PCT else []
    if station and station["utilization_pct"] >= STATION_PCT and (limit := _of_station(station["station"])):
        full.append((limit, station["utilization_pct"]))
    return max(full, key=lambda each: each[1])[0] if full else "latency"


def _subject(report: Mapping[str, Any], scenario: Scenario, path: str) -> tuple[str, Mapping[str, Any]]:
    """The group that a figure is of, and the figures of it or of its VM; else the group that asks most of its hosts."""
    section, _, name = path.partition(".")
    name = name.partition(".")[0]
    vms = {vm.name: vm.group for vm in scenario.inventory.vms}
    if section in ("vms", "groups") and name in report[section]:
        return vms.get(name, name), report[section][name]
    groups: Mapping[str, Mapping[str, Any]] = report["groups"]
    there = {key: each for key, each in groups.items() if section != "hosts" or name in _hosts(each)}
    most = max(there or groups, key=lambda key: _asked_pct(groups[key]) * groups[key]["vcpus"])
    return most, groups[most]


def _hosts(vm: Mapping[str, Any]) -> Sequence[str]:
    """The hosts of a VM or group."""
    return vm.get("hosts") or [vm["host"]]


def _asked_pct(vm: Mapping[str, Any]) -> float:
    """Time per vCPU that it ran or wanted to, in per cent."""
    return float(vm["run_pct"] + vm["ready_pct"] + vm["costop_pct"])


def _of_station(name: str) -> str | None:
    """The limit that a station stands for; of two ends that fit, the longer one."""
    ends = [end for end in STATIONS if name.endswith(f"-{end}")]
    return STATIONS[max(ends, key=len)] if ends else None


@dataclass(frozen=True)
class _Case:
    """A run's report, and the VMs in it that a row is about."""

    report: Mapping[str, Any]
    scenario: Scenario
    group: str
    vm: Mapping[str, Any]

    @property
    def keys(self) -> Mapping[str, Any]:
        """What the scenario says of the group."""
        keys: Mapping[str, Any] = self.scenario.data["vms"][self.group]
        return keys

    @property
    def workload(self) -> Mapping[str, Any]:
        """What the group's VMs do."""
        workload: Mapping[str, Any] = self.scenario.data["workloads"][self.keys["workload"]]
        return workload

    @property
    def arrivals(self) -> Mapping[str, Any]:
        """How the group's load comes."""
        arrivals: Mapping[str, Any] = self.workload["arrivals"]
        return arrivals

    @property
    def hosts(self) -> list[Mapping[str, Any]]:
        """The hosts that the VMs are on."""
        return [self.report["hosts"][name] for name in _hosts(self.vm)]

    def forced(self) -> str | None:
        """A limit on CPU, or memory that is full: vCPUs look busy or wait then, and that is not the cause."""
        limited, waits = self.vm["limited_pct"], _asked_pct(self.vm) - self.vm["run_pct"]
        if limited >= LIMITED_PCT and limited >= waits / 2:
            return "cpu-limit"
        too_much = any(host["memory_usage_pct"] > 100 for host in self.hosts)
        short = self.memory_pct() >= MEMORY_PCT or self.stalled_pct() >= STALLED_PCT
        return "memory" if too_much or short or self.swap_wait_pct() >= SWAP_WAIT_PCT else None

    def swap_wait_pct(self) -> float:
        """Time per vCPU that the VMs waited for memory that their hosts had taken away; the one that waited most."""
        members = [vm.name for vm in self.scenario.inventory.vms if vm.group == self.group]
        waits = (self.report["vms"][name].get("memory", {}).get("swap_wait_pct", 0.0) for name in members)
        return float(max(waits))

    def memory_pct(self) -> float:
        """The fullest node's traffic, in per cent of what its memory delivers."""
        groups = {host.name: host.group for host in self.scenario.inventory.hosts}
        most = 0.0
        for name, host in zip(_hosts(self.vm), self.hosts, strict=True):
            memory = self.scenario.data["hosts"][groups[name]]["memory_system"]
            of_node = _core.bandwidth_bytes_per_s(memory["node_bandwidth"]) / 1e9
            most = max(most, *(node["memory_gb_per_s"] / of_node for node in host["nodes"].values()))
        return 100 * most

    def stalled_pct(self) -> float:
        """Memory traffic that the VM lacks, in per cent of what the CPU it used would have moved without waiting.

        Unlike the traffic of a node, this does not depend on which nodes the VM was on in each replication.
        """
        a_vcpu = _core.bandwidth_bytes_per_s(self.workload["memory_traffic"]) / 1e9
        asked = self.vm["used_pct"] / 100 * self.vm["vcpus"] * a_vcpu
        return 100 * (1 - self.vm["memory_gb_per_s"] / asked) if asked else 0.0

    def cpu(self) -> Iterator[tuple[str, float]]:
        """The CPU that is full, if one is, and how full."""
        usage = max(host["usage_pct"] for host in self.hosts)
        waits = self.vm["ready_pct"] - self.vm["limited_pct"] + self.vm["costop_pct"]
        busy = max(self.vm["guest_cpu_pct"], _asked_pct(self.vm))
        if usage >= CPU_PCT or (busy >= CPU_PCT and waits >= WAIT_PCT):
            yield "client" if self.outside else "host-cpu", max(usage, busy)
        elif busy >= CPU_PCT:
            yield "client" if self.outside else "guest-cpu", busy
        nodes = [self.report["hosts"][name]["utilization_pct"] for name in self.nodes]
        if self.outside and (mean := sum(nodes) / len(nodes)) >= STATION_PCT:
            yield "storage-cpu", mean

    @property
    def nodes(self) -> list[str]:
        """The hosts that have the disks of the VMs' pool; none without a pool."""
        pool = self.scenario.data.get("storage", {}).get(self.keys.get("storage"))
        return [host.name for host in self.scenario.inventory.hosts if pool and host.group == pool["nodes"]]

    @property
    def outside(self) -> bool:
        """Whether the group generates I/O for a pool that is on other hosts: then it is the pool's client."""
        return "io" in self.arrivals and bool(self.nodes) and not {*self.nodes} & {*_hosts(self.vm)}

    def stations(self) -> Iterator[tuple[str, float]]:
        """The servers of the I/O path that are full, and how full."""
        for name, station in self._own_stations():
            limit = _of_station(name)
            if limit and not name.endswith(DEPTHS) and station["utilization_pct"] >= STATION_PCT:
                yield limit, station["utilization_pct"]

    def waited_for(self) -> str | None:
        """What binds where nothing is full: a depth that I/Os wait for, or a generator's workers, which never rest."""
        generator = self.arrivals.get("io")
        if generator:
            vcpus = self.vm["vcpus"] / self.vm.get("count", 1)
            workers = min(generator.get("workers") or vcpus, vcpus)
            if _asked_pct(self.vm) * vcpus / workers >= CPU_PCT:
                return "client"
        depth = (self.report.get("bottleneck") or {}).get("binding_depth")
        if depth and depth.endswith("-vdisk-depth") and self.keys.get("controller") == "ide":
            return "controller"  # one request at a time, whatever disk it is for
        return _of_station(depth) if depth in dict(self._own_stations()) else None

    def loop(self) -> str:
        """What limits where nothing is full or waited for: round trips of a closed loop, or the pace of the load."""
        kind, how = next(iter(self.arrivals.items()))
        if kind == "open" or how.get("rate") or not self.vm["throughput_per_s"] + self.vm["iops"]:
            return "nothing"
        think_ms = 1000 * _core.duration_s(how["think"]["mean"]) if "think" in how else 0.0
        return "nothing" if think_ms > (self.vm["response_ms"]["mean"] or 0.0) else "latency"

    def _own_stations(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Stations that I/Os of these VMs pass: their own, of their hosts, and of their array or pool."""
        own = {self.group, *_hosts(self.vm), self.keys.get("array"), self.keys.get("storage")}
        for name, station in self.report["storage"].items():
            if any(name == f"{each}-{end}" for each in own for end in STATIONS):
                yield name, station
