"""How full clusters are and what still fits: tables for a terminal, CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.capacity import Capacity, Cluster, Figures, VmsLeft
from hypertwin.report import files
from hypertwin.report.table import titled
from hypertwin.report.words import number

WORDS = {"cpu": "CPU", "memory": "memory", "memory_consumed": "consumed memory", "ratio": "vCPUs per core"}
"""What binds, in words."""

TOTAL = "all"
UNKNOWN = "-"

_FLAT = (
    *("hosts", "sockets", "cores", "vms", "appliances", "vcpus", "vcpu_per_core", "vcpu_per_core_degraded"),
    *("vcpu_per_core_corrected", "vcpu_per_core_corrected_degraded", "cpu_ghz", "cpu_demand_ghz", "cpu_usage_pct"),
    *("cpu_usage_degraded_pct", "memory_gib", "memory_configured_gib", "memory_configured_pct"),
    *("memory_configured_degraded_pct", "memory_consumed_gib", "memory_consumed_pct", "memory_consumed_degraded_pct"),
    *("memory_active_gib", "memory_active_pct", "memory_active_degraded_pct", "licence_cores"),
)
_LEFT = ("cpu", "memory", "memory_consumed", "ratio", "binding", "count")
_STORAGE = (
    *("datastores", "shared", "unknown", "capacity_gib", "used_gib", "used_pct", "free_gib", "provisioned_gib"),
    "provisioned_pct",
)


def rows(found: Capacity) -> list[tuple[str, Figures]]:
    """Each cluster by name, then all together if there are several."""
    listed: list[tuple[str, Figures]] = [(each["label"] or name, each) for name, each in found["clusters"].items()]
    return [*listed, (TOTAL, found["total"])] if len(listed) > 1 else listed


def use(found: Capacity) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of what clusters have and use: now, and after an arrow without their largest hosts."""
    heads = ["cluster", "hosts", "sockets", "cores", "VMs", "vCPUs", "vCPUs per core", "CPU used %"]
    heads += ["memory GiB", "configured %", "consumed %", "active %"]
    cells = [
        [
            name,
            *(number(each[key], 0) for key in ("hosts", "sockets", "cores", "vms", "vcpus")),
            _arrow(each["vcpu_per_core"], each["vcpu_per_core_degraded"], 2),
            _arrow(each["cpu_usage_pct"], each["cpu_usage_degraded_pct"], 1),
            number(each["memory_gib"], 0),
            _arrow(each["memory_configured_pct"], each["memory_configured_degraded_pct"], 1),
            _arrow(each["memory_consumed_pct"], each["memory_consumed_degraded_pct"], 1),
            _arrow(each["memory_active_pct"], each["memory_active_degraded_pct"], 1),
        ]
        for name, each in rows(found)
    ]
    return heads, cells


def room(found: Capacity) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of what clusters have left."""
    heads = ["cluster", "VMs left", "binds", "by CPU", "by memory", "by consumed", "by ratio", "largest restart"]
    heads += ["storage GiB", "used %", "provisioned %", "licence cores"]
    cells = []
    for name, each in rows(found):
        left, stored = each["vms_left"], each["storage"]
        restart = found["clusters"][name]["largest_restartable"] if name in found["clusters"] else None
        cells.append(
            [
                name,
                _left(left, "count"),
                WORDS[left["binding"]] if left and left["binding"] else UNKNOWN,
                *(_left(left, key) for key in ("cpu", "memory", "memory_consumed", "ratio")),
                f"{restart['vcpus']} x {number(restart['memory_gib'])} GiB" if restart else UNKNOWN,
                *(
                    _known(stored[key] if stored else None, digits)  # type: ignore[literal-required]
                    for key, digits in (("capacity_gib", 0), ("used_pct", 1), ("provisioned_pct", 1))
                ),
                number(each["licence_cores"], 0),
            ]
        )
    return heads, cells


def notes(found: Capacity) -> list[str]:
    """What a reader must know besides the figures: which demand, limits, and what holds for single clusters."""
    said = list(_limits(found))
    for name, each in found["clusters"].items():
        where = f"{each['label'] or name}: " if len(found["clusters"]) > 1 else ""
        stands = [("CPU", each["demand"]["cpu"]), ("consumed memory", each["demand"]["memory_consumed"])]
        stands += [("active memory", each["demand"]["memory_active"])]
        said += [f"{where}{what}: {basis['text']}." for what, basis in stands if basis is not None]
        said += [f"{where}{note}" for note in each["notes"]]
    return [*said, *found["total"]["notes"]]


def table(found: Capacity) -> RenderableType:
    """What `hypertwin capacity --format json` prints, as two tables with notes."""
    shown = [
        _table(f"{found['scenario']}: what clusters have and use, now → without their largest hosts", *use(found)),
        _table("What still fits without them", *room(found)),
    ]
    return Group(*shown, *(Text(note, style="dim") for note in notes(found)))


def csv(found: Capacity) -> str:
    """A line for each cluster and one for all, a column for each figure, and which of them are measured or assumed."""
    restart = ("vcpus", "memory_gib", "host")
    heads = ["cluster", *_FLAT, *(f"vms_left.{key}" for key in _LEFT), *(f"storage.{key}" for key in _STORAGE)]
    heads += [*(f"largest_restartable.{key}" for key in restart), "demand.cpu", "demand.memory_consumed"]
    heads += ["demand.memory_active", "measured", "assumed"]
    lines: list[list[object]] = [list(heads)]
    everything: list[tuple[str, Figures, Cluster | None]] = [
        *((name, each, each) for name, each in found["clusters"].items()),
        (TOTAL, found["total"], None),
    ]
    for name, each, cluster in everything:
        figures, left, stored = dict(each), dict(each["vms_left"] or {}), dict(each["storage"] or {})
        largest = dict(cluster["largest_restartable"] or {}) if cluster else {}
        demand = cluster["demand"] if cluster else None
        bases = (demand["cpu"], demand["memory_consumed"], demand["memory_active"]) if demand else (None, None, None)
        sources = cluster["sources"] if cluster else {}
        lines.append(
            [
                name,
                *(figures[key] for key in _FLAT),
                *(left.get(key) for key in _LEFT),
                *(stored.get(key) for key in _STORAGE),
                *(largest.get(key) for key in restart),
                *(basis["text"] if basis else None for basis in bases),
                *(" ".join(key for key, source in sources.items() if source == of) for of in ("measured", "assumed")),
            ]
        )
    return files.csv_text(lines)


def _limits(found: Capacity) -> Iterator[str]:
    """The limits, once where all clusters have the same."""
    told: dict[str, list[str]] = {}
    for name, each in found["clusters"].items():
        limits = each["limits"]
        ratio = "" if limits["ratio"] is None else f", {limits['ratio']:g} vCPUs per core"
        speed = "" if limits["speed"] == 1 else f", cores {limits['speed']:g} times as fast"
        text = (
            f"limits {limits['cpu_pct']:g} % of CPU, {limits['memory_pct']:g} % of memory{ratio}{speed}; without"
            f" {limits['failures']} of the largest hosts; demand {each['demand']['asked']}"
        )
        told.setdefault(text, []).append(each["label"] or name)
    for text, names in told.items():
        yield f"{', '.join(names)}: {text}." if len(told) > 1 else f"{text[0].upper()}{text[1:]}."


def _table(title: str, heads: Sequence[str], cells: Sequence[Sequence[str]]) -> RenderableType:
    shown = titled(title, "bold")
    for index, head in enumerate(heads):
        words = index == 0 or head == "binds"
        shown.add_column(Text(head), justify="left" if words else "right", no_wrap=not index, overflow="fold")
    for row in cells:
        shown.add_row(*map(Text, row))
    return shown


def _arrow(now: float | None, degraded: float | None, digits: int) -> str:
    return UNKNOWN if now is None else f"{number(now, digits)} → {_known(degraded, digits)}"


def _known(value: float | None, digits: int) -> str:
    return UNKNOWN if value is None else number(value, digits)


def _left(left: VmsLeft | None, key: str) -> str:
    value = dict(left or {}).get(key)
    return f"{value:,}" if isinstance(value, int) else UNKNOWN
