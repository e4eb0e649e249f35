"""Notes of a simulation from its scenario: assumptions behind figures, and settings without effect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from hypertwin import _core, scenario
from hypertwin.documents.simulation import Point
from hypertwin.errors import ScenarioError
from hypertwin.metrics.words import some
from hypertwin.scenario import virtual_numa
from hypertwin.show import assumed, measured

FEW_POINTS = 12
"""Maximum number of points of a sweep for which all assumptions are checked."""


def remarks(points: Sequence[Point], first: scenario.Scenario) -> list[str]:
    """Return notes on the points of a sweep for its tables and page. `first` is the scenario of the first point."""
    ports = [f"{step['at_s']:g} s: {step['text']}." for step in _ports(first)]
    return [*without_effect(points, first), *ports, *_assumed(points, first)]


def of_page(first: scenario.Scenario) -> dict[str, Any]:
    """Return the data for the page from the scenario of the first point, which the result lacks."""
    steps = [
        {"at_s": _core.duration_s(step["at"]), "text": f"load of {name} × {step['factor']:g}"}
        for name, vm in first.data["vms"].items()
        for step in vm.get("load_steps", ())
    ]
    return {
        "layouts": virtual_numa.layouts(first),
        "load_steps": sorted([*steps, *_ports(first)], key=lambda step: step["at_s"]),
        "measured_hosts": measured.of_hosts(first.inventory),
        "measured_vms": measured.of_vms(first.inventory),
    }


def _assumed(points: Sequence[Point], first: scenario.Scenario) -> list[str]:
    """Return the assumptions at any point of a short sweep, or at the first point of a long sweep.

    Only the first point is checked also if a value only fits the file.
    """
    if not 1 < len(points) <= FEW_POINTS:
        return assumed.notes(points, first.data)
    try:
        scenarios = [scenario.load(first, point["set"]) for point in points]
    except ScenarioError:
        return assumed.notes(points, first.data)
    each = (assumed.notes([point], its.data) for point, its in zip(points, scenarios, strict=True))
    return list(dict.fromkeys(note for notes in each for note in notes))


def without_effect(points: Sequence[Point], first: scenario.Scenario) -> list[str]:
    """Return a sentence for each setting without effect, `first` being the scenario of the first point."""
    return [*_too_late(points, first), *_clocks(points[0]["set"], first)]


def _clocks(paths: Iterable[str], first: scenario.Scenario) -> Iterator[str]:
    """Yield a sentence for each set clock of hosts that is also the clock at which work of their VMs was measured."""
    group_of = {host.name: host.group for host in first.inventory.hosts}
    for path in paths:
        section, _, rest = path.partition(".")
        group, _, key = rest.rpartition(".")
        if (section, key) != ("hosts", "clock"):
            continue
        on_them = {vm.group for vm in first.inventory.vms if fnmatchcase(group_of.get(vm.host, ""), group)}
        used = {first.data["vms"][name].get("workload") for name in on_them}
        names = sorted(
            name for name, work in first.data["workloads"].items() if name in used and "reference_clock" not in work
        )
        if names:
            yield (
                f"{path} does not change the CPU time of {some(names)}: it was measured at this clock, unless "
                "workloads.NAME.reference_clock is set."
            )


def _too_late(points: Sequence[Point], first: scenario.Scenario) -> list[str]:
    """Return a sentence for each failure and event of the first point that is after the end of every run."""
    end_s = max(point["warmup_s"] + point["duration_s"] for point in points)
    return [
        f"{section}.{index} (at {each['at']}) has no effect: the run ends at {end_s:g} s, warm-up included "
        "(run.duration, run.warmup)."
        for section in ("failures", "events")
        for index, each in enumerate(first.data.get(section, ()))
        if _core.duration_s(each["at"]) >= end_s
    ]


def _ports(first: scenario.Scenario) -> list[dict[str, Any]]:
    """Yield failures and returns of ports of hosts and arrays, in order.

    The result shows other failures by their effects.
    """
    found = [
        {"at_s": _core.duration_s(failure[key]), "text": f"{part} {verb}"}
        for failure in first.data.get("failures", ())
        for part in failure["fails"]
        for key, verb in (("at", "fails"), ("returns", "returns"))
        if "/port-" in part and key in failure
    ]
    return sorted(found, key=lambda step: step["at_s"])
