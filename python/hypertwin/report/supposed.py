"""Defaults that nobody has measured and that figures of a result depend on, with the key that says better."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hypertwin.documents.simulation import Point
from hypertwin.report.movement import migrations
from hypertwin.report.words import some


def notes(points: Iterable[Point], scenario: Mapping[str, Any]) -> list[str]:
    """A sentence for each supposition; `scenario` is the canonical form, from which a key at its default is absent."""
    moved, restarted, paged, squeezed = set[str](), set[str](), set[str](), set[str]()
    for point in points:
        moved |= {move["vm"] for move in migrations(point)}
        restarted |= {str(point["hosts"][outage["host"]]["cluster"]) for outage in point.get("outages", [])}
        for name, vm in point["vms"].items():
            memory = vm.get("memory")
            if memory and (memory["swapped_bytes"] or memory["compressed_bytes"]):
                paged.add(name)
            if memory and memory["compressed_bytes"]:
                squeezed.add(name)
    return list(_sentences(scenario, moved, restarted, paged, squeezed))


def _sentences(
    scenario: Mapping[str, Any], moved: set[str], restarted: set[str], paged: set[str], squeezed: set[str]
) -> Iterator[str]:
    if found := _workloads(scenario, moved, "dirty_rate"):
        yield (
            f"Supposed: {some(found)} write{_s(found)} 50 MB of memory anew per second of CPU time; migrations depend"
            " on it (workloads.NAME.dirty_rate)."
        )
    if found := _workloads(scenario, paged, "page_rate"):
        yield (
            f"Supposed: {some(found)} use{_s(found)} 20,000 pages of memory per second of CPU time; waits for memory"
            " taken away depend on it (workloads.NAME.page_rate)."
        )
    if found := [
        name for name in _groups(scenario, squeezed) if "memory_compressible_pct" not in scenario["vms"][name]
    ]:
        yield (
            f"Supposed: half of the pages of {some(found)} compress to half their size; how much is swapped depends on"
            " it (vms.NAME.memory_compressible_pct)."
        )
    clusters = scenario.get("clusters") or {}
    if found := sorted(name for name in restarted if "boot" not in (clusters.get(name, {}).get("ha") or {})):
        yield f"Supposed: how long VMs of {some(found)} take to start; outages depend on it (clusters.NAME.ha.boot)."


def _workloads(scenario: Mapping[str, Any], vms: Iterable[str], key: str) -> list[str]:
    """Workloads of VMs that lack a key."""
    used = {str(scenario["vms"][group]["workload"]) for group in _groups(scenario, vms)}
    return sorted(name for name in used if key not in scenario["workloads"].get(name, {}))


def _groups(scenario: Mapping[str, Any], vms: Iterable[str]) -> list[str]:
    """The entries under `vms` that VMs are of: `web-3` is of `web`, unless there is a `web-3`."""
    names = (vm if vm in scenario["vms"] else vm.rpartition("-")[0] for vm in vms)
    return sorted({name for name in names if name in scenario["vms"]})


def _s(names: list[str]) -> str:
    return "s" if len(names) == 1 else ""
