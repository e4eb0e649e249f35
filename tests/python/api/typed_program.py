"""A small program over the public API, which mypy reads as strictly as the package (`files` in pyproject.toml)."""

from __future__ import annotations

from pathlib import Path

import hypertwin
from hypertwin.documents.simulation import Simulation
from hypertwin.parts import HostGroup, VmGroup, Workload


def scenario() -> hypertwin.Scenario:
    """Two hosts and four VMs."""
    oltp = Workload(arrivals={"closed": {"population": 4, "think": {"mean": "40 ms"}}}, cpu={"mean": "4 ms"})
    esx = HostGroup(
        count=2, sockets=1, cores_per_socket=4, clock="2.5 GHz", memory_per_node="64 GiB", hypervisor="esxi-8.0"
    )
    made = hypertwin.Scenario.from_dict({"name": "typed", "hosts": {"esx": esx}, "workloads": {"oltp": oltp}})
    return made.with_(
        vms={"web": VmGroup(count=4, vcpus=2, memory="4 GiB", workload="oltp")},
        run={"duration": "1 s", "warmup": "0.5 s", "replications": 2},
    )


def main(folder: Path) -> dict[str, float]:
    """Ask a few questions, and return a few figures."""
    made: hypertwin.Scenario = scenario()
    result: hypertwin.Result = hypertwin.simulate(made, jobs=1)
    ready: float = result.groups["web"].ready_pct
    document: Simulation = result.to_dict()
    p99 = document["points"][0]["groups"]["web"]["response_ms"]["p99"]
    full: hypertwin.Capacity = hypertwin.capacity(made, demand="mean")
    hosts: int = full.document["clusters"]["default"]["hosts"]
    page: Path = result.report(folder / "page.html")
    found = [point.groups["web"].response_ms.p99 for point in result.points if point.steady in (True, False)]
    left = full.clusters["default"].vms_remaining
    wrong = result.groups["web"], full
    for part, name in zip(wrong, ("redy_pct", "cluster"), strict=True):
        assert not hasattr(part, name)
    if len(found) < 0:  # what mypy must refuse: warn_unused_ignores fails where it does not
        print(result.groups["web"].redy_pct, full.cluster, left.cuont)  # type: ignore[attr-defined, union-attr]
    mistakes = 0
    try:
        hypertwin.load({"name": "nothing"})
    except hypertwin.ScenarioError as error:
        mistakes = len(error.mistakes)
    return {
        "ready_pct": ready,
        "p99": p99 or 0.0,
        "hosts": hosts,
        "bytes": page.stat().st_size,
        "points": len(found),
        "mistakes": mistakes,
    }
