"""Measured figures of hosts and VMs next to the twin's, to check its predictions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypedDict

from hypertwin.documents.simulation import Point, Simulation
from hypertwin.language import Inventory
from hypertwin.metrics.points import is_touched_said
from hypertwin.metrics.words import count, number


class MeasuredHost(TypedDict):
    """Measured figures of one host in per cent, as in its scenario, with their time. Missing figures are None."""

    cpu_usage_pct: float | None
    memory_usage_pct: float | None
    at: str | None
    over_s: float | None


class MeasuredVm(TypedDict):
    """Measured figures of one VM: CPU in MHz, ready time in per cent of each vCPU. Missing figures are None."""

    cpu_mhz: float | None
    ready_pct: float | None


Measured = Mapping[str, MeasuredHost]
"""Measured figures by host, without unmeasured hosts."""

MeasuredVms = Mapping[str, MeasuredVm]
"""Measured figures by VM, without unmeasured VMs."""

UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def of_hosts(inventory: Inventory) -> Measured:
    """Return the measured figures of the hosts of a scenario."""
    return {
        host.name: {
            "cpu_usage_pct": host.measured.cpu_usage_pct,
            "memory_usage_pct": host.measured.memory_usage_pct,
            "at": host.measured.at,
            "over_s": host.measured.over_s,
        }
        for host in inventory.hosts
        if host.measured.cpu_usage_pct is not None or host.measured.memory_usage_pct is not None
    }


def of_vms(inventory: Inventory) -> MeasuredVms:
    """Return the measured figures of the VMs of a scenario."""
    return {
        vm.name: {"cpu_mhz": vm.measured.cpu_mhz, "ready_pct": vm.measured.ready_pct}
        for vm in inventory.vms
        if vm.measured.cpu_mhz is not None or vm.measured.ready_pct is not None
    }


def beside(result: Simulation, measured: Measured) -> Simulation:
    """Return the result with `measured` added to the figures of each measured host."""
    if not measured:
        return result
    points: list[Any] = [
        {
            **point,
            "hosts": {
                name: {**host, "measured": measured[name]} if name in measured else host
                for name, host in point["hosts"].items()
            },
        }
        for point in result["points"]
    ]
    return {**result, "points": points}


def notes(result: Simulation, measured: Measured) -> list[str]:
    """Return the time of the measurement and, except for a sweep, the twin's deviation, in a sentence or two."""
    if not measured:
        return []
    moments = sorted({each["at"] for each in measured.values() if each["at"]})
    spans = {each["over_s"] for each in measured.values()}
    length = f"mean over {_span(next(iter(spans)) or 0)}" if len(spans) == 1 and spans != {None} else "mean"
    what = "single sample" if spans == {None} else length
    when = f", {moments[0]}" if len(moments) == 1 else f", {moments[0]} to {moments[-1]}" if moments else ""
    said = [f"Measured: values of the real hosts in the scenario ({what}{when})."]
    if len(result["points"]) == 1:
        said += _differences(result["points"][0], measured)
    return said


def _differences(point: Point, measured: Measured) -> list[str]:
    """Return the deviation of the twin's usage and memory from the measured values."""
    said = []
    for what, ours, theirs in (
        ("usage", "usage_pct", "cpu_usage_pct"),
        ("memory in use", "memory_usage_pct", "memory_usage_pct"),
    ):
        off: dict[str, float] = {}
        for name, host in point["hosts"].items():
            values: Mapping[str, Any] = measured.get(name) or {}
            twin: Any = host.get(ours)
            if ours == "memory_usage_pct" and not is_touched_said(host):
                continue  # all that is configured, which is no prediction
            if values.get(theirs) is not None and twin is not None:
                off[name] = abs(twin - values[theirs])
        if off:
            worst = max(off, key=lambda name: off[name])
            mean = math.fsum(off.values()) / len(off)
            said.append(
                f"Simulated {what} differs from the measurement by {mean:.1f} points on average"
                f" ({count(len(off), 'host')}), and by at most {off[worst]:.1f} ({worst})."
            )
    return said


def _span(seconds: float) -> str:
    unit, length = next((each for each in UNITS if seconds >= each[1]), UNITS[-1])
    return f"{number(seconds / length)} {unit}"
