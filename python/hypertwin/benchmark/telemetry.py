"""Measurements of hosts and VMs during a run by a server of telemetry, as views and figures.

The server is one that `hypertwin telemetry` reads, with the time window of the run. Means are over the samples of the
window. Hosts and VMs are found by their names there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from hypertwin.documents.benchmark import View
from hypertwin.errors import HypertwinError, printable, short

if TYPE_CHECKING:
    import polars

Means = Mapping[tuple[str, ...], Mapping[str, float]]
"""Means of metrics, by the parts of the path of a host or VM: `("host", "esx1")`, `("vm", "db")`."""

OF_HOSTS = {
    "busy_pct": "utilization_pct",
    "steal_pct": "steal_pct",
    "cpu_pressure_pct": "cpu_pressure_pct",
    "io_pressure_pct": "io_pressure_pct",
    "load_1min": "load_1min",
}
"""Metric of telemetry for each figure of the view of a host."""
LEAST_STEP_S = 1


def address(server: str, begin: float, end: float) -> str:
    """Return the address of a server with the window of a run."""
    start, stop = (quote(datetime.fromtimestamp(each, UTC).isoformat(timespec="seconds")) for each in (begin, end))
    return f"{server}{'&' if '?' in server else '?'}start={start}&end={stop}&step={LEAST_STEP_S}s"


def read(server: str, begin: float, end: float) -> tuple[Means, str]:
    """Return the means of a window, and the reason if there are none."""
    from hypertwin.ingest import prometheus

    try:
        return means(prometheus.read(address(server, begin, end)).frames), ""
    except HypertwinError as error:
        return {}, printable(short(str(error).splitlines()[0], 200))


def means(frames: Iterable[polars.DataFrame]) -> Means:
    """Return the means of all metrics by path."""
    sums: dict[tuple[tuple[str, ...], str], list[float]] = {}
    for frame in frames:
        for entity, metric, value in frame.select("entity", "metric", "value").iter_rows():
            sums.setdefault((tuple(entity.split("/")), metric), []).append(value)
    found: dict[tuple[str, ...], dict[str, float]] = {}
    for (path, metric), values in sums.items():
        found.setdefault(path, {})[metric] = sum(values) / len(values)
    return found


def host(found: Means, name: str) -> View | None:
    """Return the view of a host, or None if the server does not know it."""
    own = next((figures for path, figures in found.items() if path == ("host", name)), None)
    if own is None:
        return None
    empty: dict[str, Any] = dict.fromkeys(View.__annotations__)
    figures = {key: own.get(metric) for key, metric in OF_HOSTS.items()}
    return cast("View", {**empty, "name": name, "kind": "host", **figures})


def vm(found: Means, name: str, vcpus: int) -> dict[str, float]:
    """Return the figures of a VM as its host measures them, per vCPU. Empty if the server does not know it."""
    own = next((figures for path, figures in found.items() if path[-2:] == ("vm", name)), {})
    sums = {"ready_pct": "ready_sum_pct", "costop_pct": "costop_sum_pct", "run_pct": "run_sum_pct"}
    return {key: own[metric] / vcpus for key, metric in sums.items() if metric in own}
