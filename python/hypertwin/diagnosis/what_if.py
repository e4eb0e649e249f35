"""Fixes tested on the twin: simulate a few changes for each finding, and report the best.

Runs use only the hosts of the changes. All runs use the same seed and names, so they draw the same random numbers.
`remedies` has the changes to try for each finding.

The result is a difference between two runs. The twin's ready time before the change is shown next to the measured
value, because a cluster file need not have the measured load. The number of runs and the amount of work are bounded,
by a short first run and not by a clock. The same files therefore give the same what-ifs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypertwin import language
from hypertwin import scenario as scenarios
from hypertwin.diagnosis import twin
from hypertwin.diagnosis.case import Case
from hypertwin.diagnosis.remedies import CONTENTION, MEMORY, NEW_HOST, SLOWER, Change, Remedies, Remedy, unlabelled
from hypertwin.diagnosis.rule import Finding
from hypertwin.diagnosis.subjects import Vm
from hypertwin.diagnosis.words import MIB, size
from hypertwin.errors import HypertwinError
from hypertwin.metrics import ready
from hypertwin.metrics.catalogue import MORE_IS_BETTER
from hypertwin.metrics.frame import flatten
from hypertwin.runs import simulation
from hypertwin.runs.simulation import LabelledProgress
from hypertwin.scenario import Scenario, virtual_numa

MOST_RUNS = 36
"""Maximum number of runs in total, including those before the changes. The worst finding of each code comes first."""
REPLICATIONS = 2

FIGURES = {
    "vcpus": ("vCPUs", ""),
    "ready_pct": ("ready", "%"),
    "costop_pct": ("co-stop", "%"),
    "limited_pct": ("limited", "%"),
    "guest_cpu_pct": ("guest CPU", "%"),
    "memory_swap_wait_pct": ("swap wait", "%"),
    "numa_local_pct": ("local memory", "%"),
    "io_latency_ms_mean": ("I/O latency", "ms"),
    "response_ms_p95": ("p95", "ms"),
    "throughput_per_s": ("throughput", "1/s"),
    "iops": ("I/Os", "1/s"),
}
"""Figures of a VM with the key in its report, a word and a unit. Percentages are per vCPU."""

OF_HOSTS = {
    "host_reclaimed_bytes": ("memory reclaimed by {host}", "B"),
    "host_usage_pct": ("CPU usage of {host}", "%"),
    "queue_wait_ms": ("queue wait on {host}", "ms"),
    "waiting_vcpus": ("waiting vCPUs on these hosts", ""),
    "node_spread_vcpus": ("vCPUs of its largest node minus its smallest", ""),
}
"""Figures of the finding's host, of all simulated hosts together, and of the VM's NUMA nodes."""

SUMMED = ("ready_pct", "costop_pct", "limited_pct", "memory_swap_wait_pct")
"""Figures that are sums over vCPUs, and are reported per vCPU."""
NOT_DECIDING = ("guest_cpu_pct", "iops", "queue_wait_ms", "waiting_vcpus")
"""Reported figures that do not decide if a change helps."""

RECLAIMED = ("ballooned", "swapped", "compressed")
"""Methods of memory reclaim by a host."""

NOTHING = 0.05
"""Maximum value or difference that counts as zero, in per cent, milliseconds or vCPUs."""
DIFFERENCE = 0.02
"""Minimum relative difference of two figures that differ."""
AS_GOOD = 0.9
"""Fraction of the best gain from which another change is as good."""

NO_DIFFERENCE = " (no significant difference)"

TOLD = {
    "cpu-ready": ("ready_pct", "costop_pct", "response_ms_p95"),
    "co-stop": ("costop_pct", "ready_pct", "response_ms_p95"),
    "unbalanced-monsters": ("ready_pct", "costop_pct", "host_usage_pct", "response_ms_p95"),
    "host-cpu-saturated": ("host_usage_pct", "waiting_vcpus", "response_ms_p95"),
    "hidden-host-saturation": ("host_usage_pct", "waiting_vcpus", "response_ms_p95"),
    "hci-overhead": ("host_usage_pct", "response_ms_p95", "io_latency_ms_mean"),
    "swap-wait": ("memory_swap_wait_pct", "host_reclaimed_bytes", "response_ms_p95"),
    "memory-reclaim": ("host_reclaimed_bytes", "memory_swap_wait_pct", "response_ms_p95"),
    "host-memory-overcommitted-reclaiming": ("host_reclaimed_bytes", "memory_swap_wait_pct", "response_ms_p95"),
    "cpu-limit": ("limited_pct", "response_ms_p95"),
    "memory-limit": ("host_reclaimed_bytes", "memory_swap_wait_pct", "response_ms_p95"),
    "oversized-vm": ("vcpus", "guest_cpu_pct", "ready_pct", "response_ms_p95"),
    "undersized-vm": ("guest_cpu_pct", "response_ms_p95"),
    "more-vcpus-than-cores": ("ready_pct", "costop_pct", "response_ms_p95"),
    "odd-wide-vm": ("node_spread_vcpus", "numa_local_pct", "response_ms_p95"),
    "hot-add-wide-vm": ("numa_local_pct", "response_ms_p95"),
    "wider-than-node-badly-split": ("numa_local_pct", "node_spread_vcpus", "response_ms_p95"),
    "remote-numa-memory": ("numa_local_pct", "response_ms_p95"),
    "storage-queue-full": ("io_latency_ms_mean", "queue_wait_ms", "iops"),
    "storage-latency": ("io_latency_ms_mean", "queue_wait_ms", "iops"),
}
"""Figures to report for each code. The first figure that differs decides if a change helps."""

MEASURED = (
    *("cpu-ready", "co-stop", "cpu-limit", "host-cpu-saturated", "hidden-host-saturation", "hci-overhead"),
    *("storage-queue-full", "storage-latency", "memory-limit", *MEMORY),
)
"""Codes of measured harm, which keep their severity even if no change helps on the twin."""

SYMPTOM = {
    "cpu-ready": ("ready_pct", 1.0),
    "co-stop": ("costop_pct", 0.5),
    "cpu-limit": ("limited_pct", 0.5),
    "memory-limit": ("host_reclaimed_bytes", MIB),
    "host-cpu-saturated": ("host_usage_pct", 80.0),
    "hidden-host-saturation": ("host_usage_pct", 80.0),
    "remote-numa-memory": ("numa_local_pct", 95.0),
    "swap-wait": ("memory_swap_wait_pct", 0.5),
    "memory-reclaim": ("host_reclaimed_bytes", MIB),
    "host-memory-overcommitted-reclaiming": ("host_reclaimed_bytes", MIB),
    "storage-queue-full": ("queue_wait_ms", 0.05),
}
"""Figure and limit for each code. The simulation must exceed the limit to show the problem."""

Point = Mapping[str, Any]


@dataclass
class _Group:
    """Findings with the same changes to try."""

    remedy: Remedy
    findings: list[tuple[Finding, Remedy]]


@dataclass(frozen=True)
class _Runs:
    """Runs of a part of the cluster before any change, and after each change of a remedy."""

    before: Point
    after: tuple[Point | str, ...]
    """Simulated point after each change, or the reason why it was not simulated."""
    spread: tuple[Mapping[str, float], ...]
    """Difference in vCPUs between the largest and the smallest virtual node of each VM: before, then after each change.
    """


def add(case: Case, findings: Sequence[Finding], progress: LabelledProgress | None = None) -> list[str]:
    """Set `what_if` of findings with a remedy, and `no_what_if` of the others.

    Returns notes about findings beyond the limit of runs.
    """
    if case.scenario is None:
        return []
    chosen, left_out = _within_bounds(_groups(case, case.scenario, findings))
    runs = sum(1 + len(group.remedy.changes) for group in chosen)
    done = 0
    for group in chosen:
        if progress:
            progress("simulating fixes", done, runs)
        done += 1 + len(group.remedy.changes)
        found = _simulate(case, group.remedy)
        for finding, remedy in group.findings:
            if isinstance(found, str):
                finding.no_what_if = found
            else:
                _tell(case, finding, remedy, found)
    late = [finding for group in left_out for finding, _ in group.findings]
    for finding in late:
        finding.no_what_if = f"not simulated: worse findings used the limit of {MOST_RUNS} runs"
    return [f"no what-if for {len(late)} more findings: the limit is {MOST_RUNS} runs"] if late else []


def _groups(case: Case, scenario: Scenario, findings: Sequence[Finding]) -> list[_Group]:
    """Return the remedies to try. The remedy of the worst finding of each code comes first."""
    remedies = Remedies(case, scenario)
    groups: dict[tuple[object, ...], _Group] = {}
    rank: dict[tuple[object, ...], int] = {}
    seen: dict[str, int] = {}
    for finding in findings:
        remedy = remedies.of(finding)
        if isinstance(remedy, str):
            finding.no_what_if = remedy
            continue
        key = (remedy.hosts, tuple(change.text for change in remedy.changes))
        group = groups.setdefault(key, _Group(remedy, []))
        if not any(other.code == finding.code for other, _ in group.findings):
            place = seen.get(finding.code, 0)
            seen[finding.code] = place + 1
            rank[key] = min(rank.get(key, place), place)
        group.findings.append((finding, remedy))
    return [groups[key] for key in sorted(groups, key=lambda key: rank[key])]


def _within_bounds(groups: Sequence[_Group]) -> tuple[list[_Group], list[_Group]]:
    chosen, left_out, runs = [], [], 0
    for group in groups:
        needs = 1 + len(group.remedy.changes)
        if runs + needs > MOST_RUNS:
            left_out.append(group)
        else:
            chosen.append(group)
            runs += needs
    return chosen, left_out


def cut(case: Case, hosts: Sequence[str]) -> dict[str, Any] | str:
    """Return the scenario with only these hosts and their VMs, each as its own group.

    If this is impossible, the reason is returned.
    """
    if case.scenario is None:
        return "there is no cluster file"
    data = json.loads(case.scenario.json)
    for needless in ("events", "failures", "rules", "clusters", "powered_off", "datastores"):
        data.pop(needless, None)
    whole = bool(data.get("storage"))  # a pool needs its other hosts too
    inventory = case.scenario.inventory
    kept = data["hosts"] if whole else _alone(data["hosts"], [each for each in inventory.hosts if each.name in hosts])
    kept_vms = _alone(data["vms"], [each for each in inventory.vms if whole or each.host in hosts])
    for name, entry in kept_vms.items():
        entry["host"] = inventory.vm[name].host
        entry.pop("cluster", None)
    if len(kept_vms) > twin.MOST_VMS:
        return f"it concerns {len(kept_vms)} VMs, and more than {twin.MOST_VMS} take too long"
    data["hosts"], data["vms"] = kept, kept_vms
    used = {vm["workload"] for vm in kept_vms.values()}
    data["workloads"] = {name: entry for name, entry in data.get("workloads", {}).items() if name in used}
    data["run"]["replications"] = min(data["run"]["replications"], REPLICATIONS)
    return dict(data)


def _alone(
    groups: Mapping[str, Mapping[str, Any]], members: Sequence[language.Host | language.Vm]
) -> dict[str, dict[str, Any]]:
    """Return members, each as its own group."""
    return {each.name: unlabelled(groups[each.group], 1) for each in members}


def _simulate(case: Case, remedy: Remedy) -> _Runs | str:
    before = cut(case, remedy.hosts)
    if isinstance(before, str):
        return before
    try:
        twin.set_times(before, twin.seconds_of(before))
        loaded = scenarios.loads(json.dumps(before), file="the cluster file, changed")
        point, layouts = _run(loaded)
    except HypertwinError as error:
        return " ".join(str(error).split())
    after: list[Point | str] = []
    spread = [_spread(layouts)]
    for change in remedy.changes:
        try:
            changed, layouts = _run(loaded.with_overrides(change.sets))
        except HypertwinError as error:
            after.append(" ".join(str(error).split()))
            spread.append({})
        else:
            after.append(changed)
            spread.append(_spread(layouts))
    return _Runs(point, tuple(after), tuple(spread))


def _run(loaded: Scenario) -> tuple[Point, Mapping[str, Any]]:
    return simulation.simulate(loaded).to_dict()["points"][0], virtual_numa.layouts(loaded)


def _spread(layouts: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(max(layout["vpds"]) - min(layout["vpds"])) for name, layout in layouts.items()}


def _figures(point: Point, remedy: Remedy, spread: Mapping[str, float]) -> dict[str, float]:
    """Return the figures of a point that judge and report a remedy."""
    found: dict[str, float] = {}
    if remedy.vm is not None:
        flat = flatten(point["vms"][remedy.vm.key])
        found = {name: flat[name] for name in FIGURES if flat.get(name) is not None}
        found.setdefault("memory_swap_wait_pct", 0.0)
        found["node_spread_vcpus"] = spread.get(remedy.vm.key or "", 0.0)
    if remedy.host_key in point["hosts"]:
        found["host_usage_pct"] = point["hosts"][remedy.host_key]["usage_pct"]
        taken = point["hosts"][remedy.host_key].get("memory") or {}
        found["host_reclaimed_bytes"] = sum(taken.get(f"{each}_bytes", 0.0) for each in RECLAIMED)
        queue = (point.get("storage") or {}).get(f"{remedy.host_key}-lun-depth")
        if queue:
            found["queue_wait_ms"] = queue["wait_ms"]
    found["waiting_vcpus"] = sum(
        vm["vcpus"] * (vm["waiting_pct"] + vm["costop_pct"]) / 100 for vm in point["vms"].values()
    )
    return found


def _gain(name: str, before: Mapping[str, float], after: Mapping[str, float]) -> float:
    """Return the gain of a figure, or 0 if the difference is negligible, or invisible in the printed figures."""
    if name not in before or name not in after:
        return 0.0
    gain = before[name] - after[name]
    unit = {**FIGURES, **OF_HOSTS}[name][1]
    if abs(gain) <= max(DIFFERENCE * abs(before[name]), NOTHING) or _value(before[name], unit) == _value(
        after[name], unit
    ):
        return 0.0
    return -gain if name in MORE_IS_BETTER else gain


def _choose(remedy: Remedy, before: Mapping[str, float], after: Mapping[int, Mapping[str, float]]) -> int:
    """Return the change to report: the first that suffices, otherwise the one with the largest gain (the smallest if
    several).
    """
    if remedy.enough is not None:
        for number, figures in after.items():
            if remedy.enough(before, figures):
                return number
    for name in remedy.score:
        gains = {number: _gain(name, before, figures) for number, figures in after.items()}
        best = max(gains.values())
        if best > 0:
            as_good = [number for number, gain in gains.items() if gain >= AS_GOOD * best]
            return min(as_good, key=lambda number: (remedy.changes[number].steps, number))
    return list(after)[remedy.fallback]


def _tell(case: Case, finding: Finding, remedy: Remedy, runs: _Runs) -> None:
    """Set the what-if of a finding: the best change, with figures of its VM and host."""
    before = _figures(runs.before, remedy, runs.spread[0])
    after = {
        number: _figures(point, remedy, runs.spread[number + 1])
        for number, point in enumerate(runs.after)
        if not isinstance(point, str)
    }
    if not after:
        finding.no_what_if = f"{remedy.changes[0].text}: not simulated: {runs.after[0]}"
        return
    best = _choose(remedy, before, after)
    change, becomes = remedy.changes[best], after[best]
    point = runs.after[best]
    assert not isinstance(point, str)
    parts = {
        name: part
        for name in TOLD[finding.code]
        if name in before and name in becomes and (part := _part(case, remedy, name, before, becomes))
    }
    verdict, helps = _verdict(finding, before, becomes)
    if helps:
        finding.advice = f"{change.text[0].upper()}{change.text[1:]}."
    elif verdict == NO_DIFFERENCE and finding.code not in MEASURED and finding.severity != "info":
        finding.text += f" Info, not {finding.severity}: on the twin this change makes no difference: {change.text}."
        finding.severity = "info"
    vm = remedy.vm
    if vm is not None and vm.subject != finding.subject:
        own = next((name for name in parts if name in FIGURES), None)
        parts |= {own: f"{vm.name} {parts[own]}"} if own else {}
    tried = f", best of {len(after)} tried" if len(after) > 1 else ""
    others = _others(change, runs.before, point)
    text = f"{change.text}: {', '.join(parts.values())}{verdict}"
    text += f" [{runs.before['duration_s']:g} s simulated{tried}{_measured(case, vm, before)}{_guessed(case, remedy)}]"
    finding.what_if = {
        "change": change.text,
        "set": dict(change.sets),
        "text": "; ".join(filter(None, (text, others, _alternative(remedy, best, before, after), remedy.untried))),
        "machine": vm.name if vm else None,
        "helps": helps,
        "before": before,
        "after": becomes,
        "tried": [
            {"change": remedy.changes[number].text, "set": dict(remedy.changes[number].sets), "after": figures}
            for number, figures in after.items()
        ],
        "hosts": [_host_name(case, host) for host in remedy.hosts],
        "replications": runs.before["replications"],
        "duration_s": runs.before["duration_s"],
    }


def _part(case: Case, remedy: Remedy, name: str, before: Mapping[str, float], after: Mapping[str, float]) -> str:
    """Return a figure before and after, in words, or an empty string if both are zero."""
    word, unit = FIGURES.get(name) or OF_HOSTS[name]
    first, last = before[name], after[name]
    if max(abs(first), abs(last)) < NOTHING:
        return ""
    told = f"{word.format(host=_host_name(case, remedy.host_key))} {_value(first, unit)} → {_value(last, unit)}"
    if name in SUMMED:
        vcpus = remedy.vm.vcpus or 1 if remedy.vm else 1
        told += f" per vCPU ({ready.percent(first * vcpus)} → {ready.percent(last * vcpus)} summed)"
    return told


def _verdict(finding: Finding, before: Mapping[str, float], after: Mapping[str, float]) -> tuple[str, bool | None]:
    """Return the effect of a change in words if it is not obvious, and true if it helps."""
    if finding.code == "oversized-vm":
        slower = after.get("response_ms_p95", 0.0) > SLOWER * before.get("response_ms_p95", 0.0)
        return (" (slower)", False) if slower else (" (not slower)", True)
    if _absent(finding, before):
        return " (with the load of the cluster file the twin does not show this problem)", None
    gains = {name: _gain(name, before, after) for name in TOLD[finding.code] if name not in NOT_DECIDING}
    helps = next((gain > 0 for gain in gains.values() if gain), None)
    if finding.code.startswith("storage-") and not helps and _gain("queue_wait_ms", before, after) > 0:
        return " (only moves the wait to the array)", False
    if helps is None:
        return (" (does not help)", False) if finding.code in MEASURED else (NO_DIFFERENCE, None)
    slower = after.get("response_ms_p95", 0.0) > SLOWER * before.get("response_ms_p95", 0.0)
    if helps and slower and finding.code not in CONTENTION:
        return " (but p95 is higher)", True
    return ("" if helps else " (does not help)"), helps


def _absent(finding: Finding, before: Mapping[str, float]) -> bool:
    """True if the twin does not show the measured problem."""
    name, limit = SYMPTOM.get(finding.code, ("", 0.0))
    if name not in before:
        return False
    return before[name] > limit if name in MORE_IS_BETTER else before[name] < limit


def _alternative(
    remedy: Remedy, chosen: int, before: Mapping[str, float], after: Mapping[int, Mapping[str, float]]
) -> str:
    """Return the best change without a new host, if a new host is best."""
    others = {number: figures for number, figures in after.items() if remedy.changes[number].steps < NEW_HOST}
    if remedy.changes[chosen].steps < NEW_HOST or not others:
        return ""
    best = _choose(remedy, before, others)
    name = next((each for each in remedy.score if _gain(each, before, others[best])), None)
    if name is None:
        return "no tried change helps without a new host"
    word, unit = FIGURES.get(name) or OF_HOSTS[name]
    told = f"{_value(before[name], unit)} → {_value(others[best][name], unit)}"
    word = word.format(host="the host")
    return f"best without a new host: {remedy.changes[best].text}: {word} {told}"


def _measured(case: Case, vm: Vm | None, figures: Mapping[str, float]) -> str:
    """Return the simulated figures of a VM that are far from measured ones, because the cluster file differs."""
    if vm is None:
        return ""
    told = ""
    for name, stat, whose in (
        ("ready_pct", case.per_vcpu(vm, "ready_sum_pct"), " per vCPU"),
        ("numa_local_pct", case.evidence.stat(vm.entity, "numa_local_pct"), ""),
    ):
        if stat is not None and name in figures and abs(stat.mean - figures[name]) > max(2.0, 0.5 * stat.mean):
            word, twin = FIGURES[name][0], ready.percent(figures[name])
            told += f"; measured {word} was {ready.percent(stat.mean)}{whose}, the twin has {twin}"
    return told


def _guessed(case: Case, remedy: Remedy) -> str:
    """Return the number of simulated VMs on a guessed host, in words."""
    there = [vm for host in remedy.hosts for vm in case.placed.get(host, [])]
    guesses = sum(vm.host is None for vm in there)
    return f"; the host of {guesses} of its {len(there)} VMs is a guess" if guesses else ""


def _others(change: Change, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return the VM that slows down most from moves to its host."""
    if not change.moved:
        return ""
    worst: tuple[float, str] | None = None
    for name in after["vms"]:
        if name in change.moved:
            continue
        first, last = (flatten(point["vms"][name]).get("response_ms_p95") for point in (before, after))
        if first and last and (worst is None or last / first > worst[0]):
            worst = last / first, f"{name} p95 {_value(first, 'ms')} → {_value(last, 'ms')}"
    return f"worst for others: {worst[1]}" if worst and worst[0] > 1.05 else ""


def _host_name(case: Case, key: str | None) -> str:
    return next((host.name for host in case.hosts if host.key == key), key or "")


def _value(value: float, unit: str) -> str:
    if unit == "B":
        return size(value)
    if unit == "%":
        return ready.percent(value)
    number = "0" if abs(value) < 0.0005 else f"{value:,.3g}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{number} {unit}" if unit else number
