"""Rules of diagnosis on a simulated point: causes of poor performance, and fixes.

A report has means over the run instead of samples. Rules judge them like an export over time, with the same
configuration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypertwin import diagnosis
from hypertwin.diagnosis.case import Case
from hypertwin.diagnosis.causes import EXPLAINED
from hypertwin.diagnosis.evidence import Evidence, Stat
from hypertwin.diagnosis.rule import Finding
from hypertwin.documents.measured import Host, Vm
from hypertwin.documents.simulation import Cause, Point
from hypertwin.ingest import telemetry
from hypertwin.metrics.words import some
from hypertwin.results.simulation import Result
from hypertwin.scenario import Scenario, load

MOST_CAUSES = 5
"""Maximum number of causes reported for a point, the worst first."""

ENOUGH = 3
"""Sample count of a mean over a run, so that it is no single sample."""


def explain(result: Result) -> Result:
    """Return a result with the causes of poor performance, at its point or where groups of a sweep first suffer."""
    document = result.document
    if len(result.reports) == 1:
        return replace(result, causes=tuple(causes(result.reports[0], result.first_scenario)))
    worst = document["breaks"][0] if document["breaks"] else None
    if worst is None or worst["set"] is None:
        return result
    at = next(point for point in result.reports if point["set"] == worst["set"])
    return replace(result, causes=tuple(causes(at, load(result.first_scenario, dict(worst["set"])), worst["group"])))


def causes(point: Point, scenario: Scenario, group: str | None = None) -> list[Cause]:
    """Return causes of poor performance of VMs or overloaded hosts in a point, worst first.

    With `group`, only causes for its VMs are returned.
    """
    meant = {vm.name for vm in scenario.inventory.vms if group in (None, vm.group)}
    marked = {
        vm: point["vms"][vm]["host"]
        for vm, signs in point["judgement"]["vms"].items()
        if vm in meant and any(sign["metric"] != "down_s" for sign in signs)  # a failure explains those that are down
    }
    hosts = marked.values() if marked else point["hosts"]
    concerned = {telemetry.entity("host", host) for host in hosts}
    concerned |= {telemetry.entity("host", host, "vm", vm) for vm, host in marked.items()}
    left = _left(point)
    concerned |= {telemetry.entity("host", host) for vm in marked for host in left.get(vm, ())}
    case = Case.of(evidence(point), scenario, simulated=True)
    for each in case.vms:
        each.came_from = some(left.get(each.key or "", ())) or None
    findings, _ = diagnosis.judge(case, EXPLAINED)
    by_key = {finding.key: finding for finding in findings}
    explains: dict[tuple[str, str], list[str]] = {}
    for finding in findings:
        if finding.severity == "info" or finding.subject.path not in concerned:
            continue
        root = _root(finding, by_key)
        named = explains.setdefault(root.key, [])
        if root is not finding and finding.subject.name not in named:
            named.append(finding.subject.name)
    told = [
        (by_key[key], names)
        for key, names in explains.items()
        if names or any(measure.entity for measure in by_key[key].evidence)  # a shape that affects no VM is no cause
    ]
    return [
        {
            "code": root.code,
            "severity": "critical" if root.severity == "critical" else "warning",
            "name": root.subject.name,
            "title": root.title,
            "advice": root.advice,
            "explains": names,
        }
        for root, names in told[:MOST_CAUSES]
    ]


def _left(point: Point) -> Mapping[str, Sequence[str]]:
    """Return the hosts from which VMs moved while they were measured."""
    left: dict[str, dict[str, None]] = {}
    for move in point.get("moves", ()):
        if move["outcome"] == "done" and (move["end_s"] or 0) > point["warmup_s"]:
            left.setdefault(move["vm"], {})[move["from"]] = None
    return {vm: list(hosts) for vm, hosts in left.items()}


def _root(finding: Finding, by_key: Mapping[tuple[str, str], Finding]) -> Finding:
    """Return the finding at the end of the chain of causes."""
    seen = {finding.key}
    while finding.cause is not None and finding.cause not in seen:
        seen.add(finding.cause)
        finding = by_key[finding.cause]
    return finding


def evidence(point: Point) -> Evidence:
    """Return the figures of a simulated point as telemetry: hosts and VMs under their names in the scenario."""
    moment = f"over {point['duration_s']:g} s simulated"
    stats = {
        (path, metric): _stat(value, moment)
        for path, figures in _entities(point)
        for metric, value in figures
        if value is not None
    }
    return Evidence(stats, None, ())


def _entities(point: Point) -> Iterator[tuple[str, Sequence[tuple[str, float | None]]]]:
    for name, host in point["hosts"].items():
        yield telemetry.entity("host", name), list(_of_host(host))
    for name, vm in point["vms"].items():
        yield telemetry.entity("host", vm["host"], "vm", name), list(_of_vm(vm))


def _of_host(host: Host) -> Iterator[tuple[str, float | None]]:
    yield "usage_pct", host["usage_pct"]
    yield "core_utilization_pct", host["core_utilization_pct"]


def _of_vm(vm: Vm) -> Iterator[tuple[str, float | None]]:
    figures: Mapping[str, Any] = vm
    for metric in ("run", "ready", "costop", "limited", "used"):
        yield f"{metric}_sum_pct", figures[f"{metric}_pct"] * vm["vcpus"]
    yield "guest_cpu_pct", vm["guest_cpu_pct"]
    yield "run_queue", vm["run_queue"]
    yield "numa_local_pct", vm["numa_local_pct"]
    memory: Mapping[str, float] = figures.get("memory", {})
    for metric in ("ballooned_bytes", "swapped_bytes", "compressed_bytes", "swap_in_bytes_per_s"):
        yield metric, memory.get(metric)
    if memory:
        yield "swap_wait_sum_pct", memory["swap_wait_pct"] * vm["vcpus"]


def _stat(mean: float, moment: str) -> Stat:
    names = ("mean", "least", "most", "low", "seldom", "median", "often", "high")
    return Stat(count=ENOUGH, first_us=None, last_us=None, moment=moment, **dict.fromkeys(names, mean))
