"""The metrics catalogue: meaning of each figure of a report, and its names in other tools.

The table is the source of the pages, the column heads and docs/metrics.md, so each metric is explained in one place.
The engine defines what it measures of hosts, clusters, VMs, stations and pools (`crates/engine/src/metrics.rs`),
and `other_tools.py` has its names in other tools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace

from hypertwin import _core
from hypertwin.metrics import bands
from hypertwin.metrics.other_tools import OTHER_TOOLS, STORAGE_SOFTWARE
from hypertwin.metrics.words import RESOLVED_PCT


@dataclass(frozen=True)
class Metric:
    """Figure of a report, with fields in the order of the columns of docs/metrics.md.

    `scopes` are the sections that contain the figure. A tool without the figure has no name for it.
    """

    key: str
    scopes: tuple[str, ...]
    name: str
    unit: str
    definition: str
    _: KW_ONLY
    esxtop: str = ""
    vcenter: str = ""
    linux: str = ""
    storage_software: str = ""
    summed: bool = False
    """True if a group has the sum over its VMs and not their mean."""
    resolution: float | None = None
    """Resolution of the model, in the unit of the metric.

    Tables and pages show smaller values as below the resolution.
    """

    @property
    def text(self) -> str:
        """Definition of the metric, with its meaning for a group and its resolution."""
        of_group = " For a group it is the sum over its VMs." if self.summed else ""
        fine = f" Below {self.resolution:g} {self.unit} the model does not resolve it." if self.resolution else ""
        return f"{self.definition}{of_group}{fine}"


VM = ("vm", "group")
POINT = ("point",)
SPACE = ("space",)


def _band(each: bands.Band) -> str:
    """Return a band in words: `co-stop per vCPU 1, 3 % (Duncan Epping, esxtop thresholds: 3 %)`."""
    limits = ", ".join(f"{limit:g}" for limit in (each.info, each.warning, each.critical) if limit is not None)
    return f"{each.what} {limits}{f' {each.unit}' if each.unit else ''} ({each.source})"


_TABLES = {each["name"]: each["fields"] for each in json.loads(_core.metrics())}
"""Structs of the engine's reports. Their fields are metrics."""

_ENTITIES = {
    "Host": ("host",),
    "Cluster": ("cluster",),
    "Vm": VM,
    "Station": ("storage",),
    "Pool": ("pool",),
    "PoolTimeline": ("timeline",),
}
"""Structs of what has metrics, with its sections."""


def _fields(table: str, prefix: str = "", above: str = "") -> Iterator[Metric]:
    """Yield the metrics of a struct and of the structs in it. `above` is the title of what has the struct."""
    keys = {each["key"]: each for each in _TABLES[table]}
    for each in _TABLES[table]:
        key, title = f"{prefix}{each['key']}", ", ".join(filter(None, (above, each["title"])))
        of = keys.get(each["key"].removesuffix("_ci95"), each)
        part = re.fullmatch(r"(dict\[str, )?(\w+)\]?( \| None)?", each["python"])
        if part and part[2] in _TABLES:
            below = prefix if each["is_flat"] else f"{key}_N_" if part[1] else f"{key}_"
            for metric in _fields(part[2], below, title):
                yield replace(metric, definition=metric.definition or each["definition"])
        elif of is not each and of["title"]:
            unit = "points" if of["unit"] == "%" else of["unit"]
            about = "Half-width of the 95% confidence interval over replications."
            yield Metric(key, (), f"{of['title']}, ±", unit, about)
        else:
            yield Metric(key, (), title, each["unit"], each["definition"], summed=each["summed"])


def _sections(entity: str, key: str) -> tuple[str, ...]:
    """Return the sections of an entity that contain a metric. Only VMs have one host, and only groups have curves."""
    if key.endswith("_curve") or (entity == "Vm" and key in {"count", "hosts", "clusters"}):
        return tuple(scope for scope in _ENTITIES[entity] if scope == "group")
    return ("vm",) if entity == "Vm" and key in {"host", "cluster"} else _ENTITIES[entity]


def _of_engine() -> Iterator[Metric]:
    """Yield the engine's metrics. One without a definition is that of another entity with the same key."""
    found = [(entity, metric) for entity in _ENTITIES for metric in _fields(entity)]
    for entity, metric in found:
        same = [of for of, each in found if each.key == metric.key and (of == entity or not each.definition)]
        scopes = tuple(scope for of in same for scope in _sections(of, metric.key))
        if not metric.definition or not scopes:
            continue
        key = metric.key
        if entity == "Pool":
            yield replace(metric, scopes=scopes, storage_software=STORAGE_SOFTWARE.get(key, ""))
            continue
        esxtop, vcenter, linux = OTHER_TOOLS.get(f"storage.{key}" if entity == "Station" else key, ("", "", ""))
        resolution = RESOLVED_PCT if key in {"ready_pct", "costop_pct"} else None
        named = replace(metric, esxtop=esxtop, vcenter=vcenter, linux=linux)
        yield replace(named, scopes=scopes, resolution=resolution)


CATALOGUE: tuple[Metric, ...] = (
    *_of_engine(),
    Metric("load", VM, "Load", "×", "Multiplier of the workload's population or arrival rate, as set in the scenario."),
    Metric(
        "idle_pct",
        VM,
        "Idle",
        "%",
        "Part of Wait in which the guest had no work.",
        esxtop="%IDLE ÷ vCPUs",
        vcenter="cpu.idle.summation ÷ (interval × 1000 × vCPUs)",
        linux="%idle of mpstat (guest)",
    ),
    Metric(
        "bottleneck",
        POINT,
        "Bottleneck",
        "",
        "The station with the highest mean utilization, whether it is saturated "
        f"({bands.band('utilization_pct').first:g} %), the next station, and the "
        "depth for which I/Os wait longest, if at least 5 % wait.",
    ),
    Metric("set", POINT, "Set", "", "Paths and values in which this point differs from the scenario file."),
    Metric("replications", POINT, "Replications", "", "Independent runs behind the point's figures."),
    Metric(
        "steady",
        POINT,
        "Steady",
        "",
        "True if every condition of a steady state holds. `verdict` has the first that does not hold.",
    ),
    Metric(
        "verdict",
        POINT,
        "Verdict",
        "",
        "`steady`, `not-steady` if a condition is contradicted, or `not-known` if the data are too few, with the "
        "`reason`. Conditions, in this order: no VM stopped or returned while it was measured, and the scenario has "
        "no failure, event or load step in that time; no pool has data to rebuild; no stock grows (transactions in "
        "progress, queues of stations, caches, write buffers, reclaimed memory: trend over 24 looks, by chance in at "
        "most one of 1,000 runs, and more than 0.5 % of the flow); the measured time has five times the p99 of every "
        "group, five periods of a CPU quota, three rounds of every closed session, 8 looks, and 100 transactions of "
        "every open group; guest CPU, throughput and response time have settled (MSER-5: White, 1997; or the halves "
        "differ only by chance); no p99 rises by more than a fifth through eighths of the run, other than by chance; "
        "Little's law accounts for the sessions of closed loops, to 5 % and chance; the upper limit (99.9 %) of the "
        "CPU work offered to an open VM is below the capacity of its vCPUs. Figures that are not steady have no half- "
        "widths, unless the scenario itself changes over time (`by_design`).",
    ),
    Metric(
        "judgement",
        POINT,
        "Judgement",
        "",
        "Meaning of the point: `tone` (`good`, `warn`, `bad`), the answer as `text` with `more`, the `signs` of `vms` "
        "and `groups` beyond a band (`metric`, `severity`, `value`, `weight` over the worst limit, `text`), and the "
        "limit of each group (`limits`: `kind`, `of`, `value_pct`, `text`). All views use it. The bands, with their "
        f"sources: {'; '.join(map(_band, bands.table().values()))}.",
    ),
    Metric(
        "model_error",
        POINT,
        "Model error",
        "",
        "80% intervals with the error of the twin itself, from the errors of published figures: `low` and `high` by "
        "name and flat key (`groups.db.response_ms_p99`), with the key of their evidence in `bases`. `responses` has "
        "the area with the largest share of each group's mean response. A VM has the factors of its group. Figures of "
        "0, and throughputs that the scenario sets, have no interval. In JSON only.",
    ),
    Metric("warmup_s", POINT, "Warm-up", "s", "Simulated time discarded before measuring."),
    Metric("duration_s", POINT, "Duration", "s", "Simulated time measured, per replication."),
    Metric(
        "calibration",
        POINT,
        "Calibration",
        "",
        "The data on which the scenario's parameters were calibrated, or null.",
    ),
    Metric(
        "failures",
        POINT,
        "Failures of hosts",
        "",
        "Each failure and return of hosts, in the first replication: `time_s` since the start of the run, including "
        "the warm-up, `what` as named in the scenario, whether it `fails` or returns, the `hosts`, and the `vms` that "
        "stopped or returned with them. A host that is down does not fail again, and returns when the last of its "
        "failures ends. In JSON only.",
    ),
    *(replace(each, scopes=POINT) for each in _fields("History")),
    Metric("kind", SPACE, "Kind", "", "Kind of the pool in the scenario."),
    Metric("raw_gib", SPACE, "Raw capacity", "GiB", "Capacity of all devices of the pool."),
    Metric(
        "full_pct",
        SPACE,
        "Full at",
        "%",
        "Highest fill level of devices by the rules of the product: `ceph.nearfull_pct`, 90 % for vSAN (assumed: the "
        "difference is the operations reserve), else 100 %.",
        storage_software="Ceph: mon_osd_nearfull_ratio",
    ),
    Metric(
        "recovery_pct",
        SPACE,
        "Recovery stops at",
        "%",
        "Fill level of devices up to which lost data are recovered on them: 90% for Ceph, else 100%.",
        storage_software="Ceph: mon_osd_backfillfull_ratio",
    ),
    Metric(
        "room_gib",
        SPACE,
        "Usable",
        "GiB",
        "User's data that fit into the pool with the policies in use, so that no device exceeds that level. If the "
        "other hosts can take the data of a lost host, they fit even after its rebuild (vSAN: host rebuild reserve). "
        "Assumes perfect placement.",
        storage_software="Ceph: MAX AVAIL of ceph df and what is stored, without the lost host",
    ),
    Metric("stored_gib", SPACE, "Stored", "GiB", "User's data in the pool, without replicas and parity."),
    Metric(
        "used_pct",
        SPACE,
        "Used",
        "%",
        "Fill level of devices: stored data with replicas and parity, divided by raw capacity.",
    ),
    Metric("free_gib", SPACE, "Free", "GiB", "Further user's data that fit, with the policies in use."),
    Metric(
        "policies",
        SPACE,
        "Policies",
        "",
        "For each policy, and for the pool's own redundancy (`(pool)`): raw bytes per byte (`overhead`), stored data "
        "`stored_gib`, capacity if all data had this policy (`room_gib`), and free capacity (`free_gib`). In JSON "
        "only.",
    ),
    Metric("lost_host_survives", SPACE, "Survives a host", "", "True if all data remain after the loss of a host."),
    Metric(
        "lost_host_heals",
        SPACE,
        "Heals",
        "",
        "True if enough hosts remain for every replica or fragment (and a witness) after the permanent loss of one, "
        "and their devices have space for them.",
    ),
    Metric(
        "lost_host_room_gib",
        SPACE,
        "Usable after a host",
        "GiB",
        "Capacity of the pool after that, with space for another lost host. Null if the pool cannot heal.",
    ),
    Metric(
        "lost_host_used_pct",
        SPACE,
        "Used after a host",
        "%",
        "Fill level of devices after that rebuild, or where it stops.",
    ),
    Metric(
        "downtimes",
        POINT,
        "Downtimes",
        "s",
        "For each VM that went down with its host and served again: the mean, shortest and longest time from the "
        "failure until it served, in all replications. HA notices each failure after another time "
        "(`ha.detection_longest`). In JSON only.",
    ),
    Metric(
        "timeline",
        POINT,
        "Timeline",
        "",
        "Samples of the first replication, one per sample interval. Each figure covers only its interval. `iops` and "
        "`io_latency_ms_mean` are of virtual disks. `up` is the part of the interval in which a VM was up.",
    ),
    Metric("events", POINT, "Events", "", "Events that the simulation processed in all replications."),
    Metric("simulated_s", POINT, "Simulated time", "s", "Simulated time of all replications, including warm-ups."),
)
"""All metrics: those that the engine measures, and those of scenarios, points and space."""

_LATENCIES = ("response_ms", "io_latency_ms", "read_latency_ms", "write_latency_ms")

MORE_IS_WORSE = frozenset(
    {
        *(f"{times}_{each}" for times in _LATENCIES for each in ("mean", "p50", "p95", "p99")),
        *("response_ms_max", "io_longest_s", "copy_s", "down_s", "slow_s"),
        *("ready_pct", "costop_pct", "limited_pct", "waiting_pct", "run_queue", "queue", "wait_ms", "waited_pct"),
        *("memory_overcommit_pct", "memory_ballooned_bytes", "memory_compressed_bytes", "memory_swapped_bytes"),
        *("memory_swap_in_bytes_per_s", "memory_swap_out_bytes_per_s", "memory_swap_wait_pct"),
        *("lost_gib", "degraded_pct", "time_to_whole_s", "suspended_ios", "retries", "errors", "lost_host_used_pct"),
    }
)
"""Keys of metrics of which more is worse for users."""

MORE_IS_BETTER = frozenset(
    {
        *("throughput_per_s", "throughput_units_per_s", "iops", "read_iops", "write_iops", "numa_local_pct"),
        *("io_mb_per_s", "read_mb_per_s", "write_mb_per_s", "copied_mb_per_s", "mb_per_s"),
        *("room_gib", "free_gib", "lost_host_room_gib"),
    }
)
"""Keys of metrics of which more is better for users."""


def catalogue_key(key: str) -> str:
    """Return the key in the catalogue for a flat key. Numbers in the key become `N`: `nodes_0_...` is `nodes_N_...`."""
    return re.sub(r"_\d+_", "_N_", key)


def to_markdown() -> str:
    """Return docs/metrics.md."""
    lines = [
        "# Metrics",
        "",
        "<!-- Generated from python/hypertwin/metrics/catalogue.py by `make docs`. -->",
        "",
        "This page defines every figure of a report, with its name in other tools. Percentages of a VM are per "
        "vCPU (0 to 100). Figures of a group are means over its VMs, except where the definition says sum.",
        "Here and in CSV, `_` joins nested keys of the JSON: `response_ms.p99` is `response_ms_p99`.",
        "",
        "| key | of | unit | definition | esxtop | vCenter | Linux |",
        "|---|---|---|---|---|---|---|",
    ]
    pools = [metric for metric in CATALOGUE if "pool" in metric.scopes]
    spaces = [metric for metric in CATALOGUE if metric.scopes == SPACE]
    lines += [
        _row(metric, ", ".join(metric.scopes), metric.esxtop, metric.vcenter, metric.linux)
        for metric in CATALOGUE
        if metric not in pools and metric not in spaces
    ]
    lines += [
        "",
        "## Pools of distributed storage",
        "",
        "ScaleIO's names are from its REST statistics. These figures are under `space` of a point, and follow only "
        "from the scenario:",
        "",
        "| key | unit | definition | storage software |",
        "|---|---|---|---|",
    ]
    lines += [_row(metric, None, metric.storage_software) for metric in spaces]
    lines += [
        *("", "These figures are under `pools` of a point. Those with a star are also under `timeline.pools`:", ""),
        *("| key | unit | definition | storage software |", "|---|---|---|---|"),
    ]
    for metric in pools:
        star = " *" if "timeline" in metric.scopes else ""
        lines.append(_row(metric, None, metric.storage_software, star=star))
    return "\n".join(lines) + "\n"


def _row(metric: Metric, scopes: str | None, *tools: str, star: str = "") -> str:
    of = () if scopes is None else (scopes,)
    cells = (f"`{metric.key}`{star}", *of, metric.unit, f"{metric.name}. {metric.text}", *tools)
    return "| " + " | ".join(cells) + " |"
