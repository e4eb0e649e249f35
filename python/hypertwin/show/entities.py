"""Rows of groups, VMs, hosts, clusters and stations of a simulation for a terminal, worst first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hypertwin.documents.simulation import Point, Simulation
from hypertwin.metrics.frame import numeric
from hypertwin.metrics.points import groups, setting_at, short_path, varying_paths
from hypertwin.metrics.ready import resolved, resolved_sum, summed
from hypertwin.metrics.words import half_width, in_order, number
from hypertwin.show.table import Cells

MOST_ROWS = 60
"""Maximum number of rows of a table over all points of a sweep. Each point has at least LEAST rows."""

LEAST = 5
"""Minimum number of rows of each point of a sweep, if it has that number."""

HOST_USAGE = "host usage %"
"""Column with the range of CPU usage of the hosts of a group, for tables without host rows."""

CLUSTER = "cluster"
"""Column with the cluster of a host or VM, for results with several clusters."""

IN_USE = "memory in use %"
"""Column with the memory touched by VMs."""

FEW = 4
"""Maximum number of NUMA nodes or clusters with single figures. Above it, only the range or the number is shown."""


@dataclass(frozen=True)
class Entity:
    """Cluster, host, VM, group or station at one point."""

    point: Point
    name: str
    metrics: Mapping[str, Any]

    def figure(self, key: str) -> float | None:
        """Return the number under a key, or under keys joined by dots, or None without one."""
        *outer, last = key.split(".")
        metrics: Any = self.metrics
        for part in outer:
            metrics = metrics.get(part) or {}
        return numeric(metrics, last)

    def half_width(self, key: str) -> float | None:
        """Return the half-width under a key, or None for one replication, which has those of batches."""
        return self.figure(key) if self.point["replications"] > 1 else None

    @cached_property
    def machines(self) -> list[str]:
        """VMs on the host."""
        return [name for name, vm in self.point["vms"].items() if vm.get("host") == self.name]


Text = Callable[[Entity], str]


def plain(key: str, digits: int | None = None) -> Text:
    """Return the number under a key."""
    return lambda entity: number(entity.figure(key), digits)


def spread(key: str, of: str | None = None) -> Text:
    """Return the number under a key, with its half-width over replications."""
    return lambda entity: half_width(entity.figure(key), entity.half_width(of or f"{key}_ci95"))


def waiting(key: str) -> Text:
    """Return a percentage of waiting time of vCPUs, within the resolution of the model."""
    return lambda entity: resolved(entity.figure(key), entity.half_width(f"{key}_ci95"))


def co_stop(entity: Entity) -> str:
    """Return the co-stop time.

    In contrast to ready time, it is 0 for vCPUs without siblings or without need to wait for them.
    """
    return waiting("costop_pct")(entity) if entity.figure("costop_pct") else "0"


def above_zero(key: str) -> Text:
    """Return the number under a key, or an empty string if the number is 0."""
    return lambda entity: number(entity.figure(key) or None)


@dataclass(frozen=True)
class Kind:
    """Kind of table of entities, with rows and columns and their priority."""

    title: str
    entities: Callable[[Point], Mapping[str, Mapping[str, Any]]]
    words: Mapping[str, Text]
    """Columns of text, at the left."""
    figures: Mapping[str, Text]
    """Columns of figures. Empty columns are left out."""
    rank: Callable[[Entity], tuple[float, ...]]
    """Sort key of rows. A higher value is worse."""
    worst: str
    """Order of `rank`, in words."""
    dropped_first: Sequence[str] = ()
    """Columns to drop in a narrow terminal, in this order."""
    not_brief: Sequence[str] = ()
    """Columns only for `--explain` and `--show`."""
    within_clusters: bool = False
    """True if rows are sorted by cluster and then by name."""


def memory_state(host: Entity) -> str:
    """Return the worst memory state of a host, or an empty string if the host could never be short."""
    return str(host.metrics.get("memory", {}).get("state", ""))


def _up(entity: Entity) -> str:
    """Return the uptime in per cent of the measured time, or an empty string if there was no downtime."""
    down = entity.figure("down_s")
    return number(100 * (1 - down / entity.point["duration_s"])) if down else ""


def _name(entity: Entity) -> str:
    count = entity.figure("count") or 1
    return f"{entity.name} ×{count:.0f}" if count > 1 else entity.name


def _unsteady(entity: Entity) -> str:
    return f"{_name(entity)}{'' if entity.point['steady'] else ' *'}"


def _usage_of_hosts(entity: Entity) -> str:
    hosts = entity.point["hosts"]
    own = entity.metrics.get("hosts") or [entity.metrics["host"]]
    if len(own) == 1:
        return spread("usage_pct")(Entity(entity.point, own[0], hosts[own[0]]))
    by_cluster: dict[str, list[float]] = {}
    for name in own:
        by_cluster.setdefault(_cluster(hosts[name]), []).append(hosts[name]["usage_pct"])
    if len(by_cluster) > FEW:
        return f"{len(by_cluster)} clusters"
    ranges = {name: _range(by_cluster[name]) for name in sorted(by_cluster, key=in_order)}
    return "; ".join(ranges.values() if len(ranges) == 1 else (f"{name} {text}" for name, text in ranges.items()))


def _cluster(metrics: Mapping[str, Any]) -> str:
    return str(metrics.get("cluster", ""))


def _peak_host(cluster: Entity) -> str:
    return f"{cluster.metrics['peak_host']} {number(cluster.figure('fullest_host_pct'))}"


def _range(values: Sequence[float]) -> str:
    least, most = number(min(values)), number(max(values))
    return least if least == most else f"{least} – {most}"


def _by_node(key: str) -> Text:
    """Return a figure of each NUMA node of a host, if there are several nodes and any node has the figure."""

    def text(host: Entity) -> str:
        each = [node.get(key, 0) for node in host.metrics["nodes"].values()]
        if len(each) < 2 or not any(each):
            return ""
        return " ".join(map(number, each)) if len(each) <= FEW else _range(each)

    return text


def _with_io(entities: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    """Return the entities with simulated storage, or none if all of them are idle."""
    found = {name: each for name, each in entities.items() if each.get("io_latency_ms")}
    return found if any(each.get("iops") or each.get("copied_mb_per_s") for each in found.values()) else {}


def _iops_alone(entity: Entity) -> str:
    """Return the I/Os of a VM without simulated storage, its only known I/O figure."""
    return "" if entity.metrics.get("io_latency_ms") else above_zero("iops")(entity)


_CPU: Mapping[str, Text] = {
    "up %": _up,
    "guest CPU %": spread("guest_cpu_pct"),
    "run %": plain("run_pct"),
    "ready %": waiting("ready_pct"),
    "ready sum %": lambda entity: resolved_sum(entity.figure("ready_pct"), summed(entity.metrics, "ready_pct")),
    "co-stop %": co_stop,
    "run queue": plain("run_queue"),
    "throughput /s": spread("throughput_per_s"),
    "response mean ms": spread("response_ms.mean", "response_ms.ci95"),
    "p95 ms": plain("response_ms.p95"),
    "p99 ms": plain("response_ms.p99"),
    "IOPS": _iops_alone,
    "swap wait %": above_zero("memory.swap_wait_pct"),
    "slow s": above_zero("slow_s"),
    "down s": above_zero("down_s"),
}

_CPU_DROPPED = (
    *("run %", "ready sum %", "vCPUs", "p95 ms", "run queue", HOST_USAGE, "co-stop %", "host"),
    *("down s", "guest CPU %", "response mean ms"),
)

_NOT_BRIEF = ("run %", "ready sum %", "vCPUs", "p95 ms", "run queue", HOST_USAGE)

_IO: Mapping[str, Text] = {
    "IOPS": above_zero("iops"),
    "MB/s": plain("io_mb_per_s"),
    "latency ms": plain("io_latency_ms.mean"),
    "p99 ms": plain("io_latency_ms.p99"),
    **{
        f"{way} {head}": text(f"{way}.{key}")
        for way in ("read", "write")
        for head, key, text in (
            *(("IOPS", "iops", above_zero), ("MB/s", "mb_per_s", above_zero)),
            *(("ms", "latency_ms.mean", plain), ("p99 ms", "latency_ms.p99", plain)),
        )
    },
    "copied MB/s": plain("copied_mb_per_s"),
    "copy s": plain("copy_s"),
}


def _waits(entity: Entity) -> tuple[float, ...]:
    waited = (entity.figure("ready_pct") or 0) + (entity.figure("costop_pct") or 0)
    return entity.figure("down_s") or 0, round(waited, 1), entity.figure("response_ms.p99") or 0


def _vms(point: Point) -> Mapping[str, Mapping[str, Any]]:
    """Return VMs. A group of one VM has also the figures of the group, such as percentiles."""
    alone = {name: group for name, group in point.get("groups", {}).items() if group.get("count", 1) == 1}
    return {name: {**vm, **alone.get(name, {})} for name, vm in point["vms"].items()}


_WAITING = "those that were down or waited most for a CPU first"

GROUPS = Kind(
    "",
    groups,
    {"VM": _unsteady},
    {"vCPUs": plain("vcpus", 0), HOST_USAGE: _usage_of_hosts, **_CPU},
    _waits,
    _WAITING,
    _CPU_DROPPED,
    _NOT_BRIEF,
)
VMS = Kind(
    "VMs",
    _vms,
    {
        "VM": _unsteady,
        "host": lambda entity: entity.metrics.get("host", ""),
        CLUSTER: lambda entity: _cluster(entity.metrics),
    },
    {"vCPUs": plain("vcpus", 0), **_CPU},
    _waits,
    _WAITING,
    _CPU_DROPPED,
)
IO_DROPPED = ("read MB/s", "write MB/s", "latency ms", "p99 ms", "MB/s", "read p99 ms", "write p99 ms", "IOPS")
IO_OF_GROUPS = Kind(
    "I/O",
    lambda point: _with_io(groups(point)),
    {"VM": _name},
    _IO,
    lambda entity: (entity.figure("io_latency_ms.p99") or 0,),
    "the highest p99 first",
    IO_DROPPED,
    ("MB/s", "latency ms", "p99 ms", "read MB/s", "write MB/s", "read p99 ms"),
)
IO_OF_VMS = Kind(
    "I/O of VMs",
    lambda point: _with_io(_vms(point)),
    {"VM": _name},
    _IO,
    IO_OF_GROUPS.rank,
    IO_OF_GROUPS.worst,
    IO_DROPPED,
)
CLUSTERS = Kind(
    "Clusters",
    lambda point: point.get("clusters", {}),
    {CLUSTER: _name},
    {
        "hosts": plain("hosts", 0),
        "VMs": plain("vms", 0),
        "vCPUs": plain("vcpus", 0),
        "vCPUs per core": plain("vcpu_per_core"),
        "usage %": spread("usage_pct"),
        "peak host %": _peak_host,
        "ready %": waiting("ready_pct"),
        "memory %": plain("memory_pct"),
        IN_USE: plain("memory_usage_pct"),
    },
    lambda entity: (entity.figure("fullest_host_pct") or 0,),
    "those with the most loaded host first",
    ("vCPUs", IN_USE, "hosts", "VMs", "peak host %"),
    ("vCPUs", IN_USE, "vCPUs per core"),
)
_OF_HOSTS_DROPPED = (
    *("overhead %", "NUMA nodes", "migration CPU %", "node GB/s", "node memory %", "core utilization %"),
    *("memory GB/s", "node usage %", "co-stop %", "utilization %", IN_USE),
)
HOSTS = Kind(
    "Hosts",
    lambda point: point["hosts"],
    {"host": _name, CLUSTER: lambda entity: _cluster(entity.metrics)},
    {
        "usage %": spread("usage_pct"),
        "measured usage %": plain("measured.cpu_usage_pct"),
        "utilization %": plain("utilization_pct"),
        "core utilization %": plain("core_utilization_pct"),
        "overhead %": plain("overhead_pct"),
        "ready %": lambda host: waiting("ready_pct")(host) if host.machines else "",
        "co-stop %": lambda host: co_stop(host) if host.machines else "",
        "VMs": lambda entity: str(len(entity.machines) or ""),
        "memory %": plain("memory_pct"),
        IN_USE: plain("memory_usage_pct"),
        "measured memory %": plain("measured.memory_usage_pct"),
        "NUMA nodes": lambda entity: str(len(entity.metrics["nodes"])),
        "node usage %": _by_node("usage_pct"),
        "node memory %": _by_node("memory_pct"),
        "memory state": lambda host: memory_state(host).replace("high", ""),
        "memory GB/s": above_zero("memory_gb_per_s"),
        "node GB/s": _by_node("memory_gb_per_s"),
        "migration CPU %": above_zero("migration_cpu_pct"),
        "down s": above_zero("down_s"),
    },
    lambda entity: (entity.figure("down_s") or 0, entity.figure("usage_pct") or 0),
    "those that failed or are used most first",
    _OF_HOSTS_DROPPED,
    _OF_HOSTS_DROPPED,
    within_clusters=True,
)
STATIONS = Kind(
    "Stations of the I/O path",
    lambda point: point["storage"],
    {"station": _name},
    {
        "members": plain("members", 0),
        "utilization %": plain("utilization_pct"),
        "busiest %": plain("utilization_max_pct"),
        "queue": plain("queue"),
        "wait ms": plain("wait_ms"),
        "waited %": plain("waited_pct"),
        "throughput /s": plain("throughput_per_s"),
        "MB/s": plain("mb_per_s"),
        "hits %": plain("hit_pct"),
        "sent again": above_zero("path_failovers"),
    },
    lambda entity: (entity.figure("utilization_pct") or 0,),
    "the busiest first",
    ("members", "hits %", "MB/s", "waited %", "busiest %", "queue"),
)


def ranged(key: str, section: str = "groups") -> Text:
    """Return the interval of a figure with the twin's own error, by its flat key."""

    def text(entity: Entity) -> str:
        errors: Mapping[str, Any] = entity.point.get("model_error") or {}
        found = errors.get(section, {}).get(entity.name, {}).get(key)
        return f"{number(found['low'])}–{number(found['high'])}" if found else ""

    return text


def _mostly(entity: Entity) -> str:
    """Return the area with the largest share of the mean response of a group."""
    found = entity.point.get("model_error", {}).get("responses", {}).get(entity.name)
    return f"{number(found['share_pct'], 0)}% {found['area']}" if found and entity.figure("response_ms.mean") else ""


_ERROR = "80% intervals with the twin's own error"

ERRORS_OF_GROUPS = Kind(
    _ERROR,
    groups,
    {"VM": _name, "response is": _mostly},
    {
        "throughput /s": ranged("throughput_per_s"),
        "response mean ms": ranged("response_ms_mean"),
        "p95 ms": ranged("response_ms_p95"),
        "p99 ms": ranged("response_ms_p99"),
        "guest CPU %": ranged("guest_cpu_pct"),
        "ready %": ranged("ready_pct"),
        "IOPS": ranged("iops"),
        "I/O latency ms": ranged("io_latency_ms_mean"),
        "I/O p99 ms": ranged("io_latency_ms_p99"),
    },
    _waits,
    _WAITING,
    ("p95 ms", "I/O p99 ms", "I/O latency ms", "guest CPU %", "ready %", "IOPS"),
    ("p95 ms", "I/O p99 ms", "I/O latency ms", "IOPS", "guest CPU %", "ready %"),
)
ERRORS_OF_HOSTS = Kind(
    f"{_ERROR}: hosts",
    lambda point: {name: host for name, host in point["hosts"].items() if host["usage_pct"]},
    {"host": _name},
    {"usage %": ranged("usage_pct", "hosts"), "ready %": ranged("ready_pct", "hosts")},
    HOSTS.rank,
    HOSTS.worst,
)
ERRORS_OF_POOLS = Kind(
    f"{_ERROR}: pools",
    lambda point: point.get("pools", {}),
    {"pool": _name},
    {
        f"{way} {head}": ranged(f"{way}_{key}", "pools")
        for way in ("read", "write")
        for head, key in (
            *(("IOPS", "iops"), ("MB/s", "mb_per_s"), ("ms", "latency_ms_mean"), ("p99 ms", "latency_ms_p99")),
        )
    },
    lambda entity: (entity.figure("read_mb_per_s") or 0,),
    "those that read most first",
    ("read p99 ms", "write p99 ms", "read MB/s", "write MB/s"),
)
ERRORS = (ERRORS_OF_GROUPS, ERRORS_OF_HOSTS, ERRORS_OF_POOLS)
"""Tables of intervals with the twin's own error."""


def _order(kind: Kind, entity: Entity) -> list[list[tuple[int, str]]]:
    """Return the sort key of rows, if no rows are left out."""
    return (
        [in_order(_cluster(entity.metrics)), in_order(entity.name)] if kind.within_clusters else [in_order(entity.name)]
    )


def cells(result: Simulation, kind: Kind, without: Collection[str] = (), *, most: int = MOST_ROWS) -> tuple[Cells, str]:
    """Return at most `most` rows without some columns, and a note if rows are left out."""
    points = result["points"]
    paths = varying_paths(points)
    most = max(LEAST, most // max(1, len(points)))
    texts = {head: text for head, text in {**kind.words, **kind.figures}.items() if head not in without}
    rows: list[list[str]] = []
    left_out = 0
    for point in points:
        found = [Entity(point, name, metrics) for name, metrics in kind.entities(point).items()]
        if len(found) > most:
            left_out += len(found) - most
            found = sorted(found, key=kind.rank, reverse=True)[:most]
        else:
            found.sort(key=lambda entity: _order(kind, entity))
        swept = [setting_at(point, path) for path in paths]
        rows += [[*swept, *(text(entity) for text in texts.values())] for entity in found]
    note = (
        f"{kind.title or 'Groups'}: {kind.worst}; {left_out:,} more rows are in --format csv and json."
        if left_out
        else ""
    )
    heads = [*(short_path(path, paths) for path in paths), *texts]
    words = sum(head in texts for head in kind.words)
    return Cells(heads, rows, swept=len(paths), words=words), note
