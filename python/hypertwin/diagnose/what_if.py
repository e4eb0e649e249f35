"""What would cure a finding, and what the twin says of it: one change, simulated before and after.

The cluster file is cut down to the hosts that the change is about, with the same seed and the same names, so that both
runs draw the same random numbers. Placement rules of the cluster file are kept: nothing is proposed that breaks one.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypertwin import run, scenario
from hypertwin.diagnose.rule import SEVERITIES, Finding
from hypertwin.diagnose.sizing import FEWEST_VCPUS, needed
from hypertwin.diagnose.subjects import Case, Machine, Server, expanded
from hypertwin.errors import HypertwinError
from hypertwin.frame import flatten
from hypertwin.report import ready

MOST_CHANGES = 12
"""Changes that are simulated, for the worst findings first."""
MOST_MACHINES = 400
"""Machines of a cut that is simulated."""
DURATION_S = 60
"""Longest measured time of a run; a scenario that asks for less is run for less."""
REPLICATIONS = 2

_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}

Progress = Callable[[str, int, int], None]

FIGURES = {
    "ready_pct": ("ready", "%"),
    "costop_pct": ("co-stop", "%"),
    "limited_pct": ("limited", "%"),
    "guest_cpu_pct": ("guest CPU", "%"),
    "numa_local_pct": ("local memory", "%"),
    "io_latency_ms_mean": ("I/O latency", "ms"),
    "response_ms_p95": ("p95", "ms"),
    "throughput_per_s": ("throughput", "1/s"),
}
"""What is told of a machine, in this order: key of its report, word, unit. Percentages are per vCPU."""

SUMMED = ("ready_pct", "costop_pct", "limited_pct")
"""Figures that are told per vCPU and summed over the vCPUs."""

SLOWER = 1.1
"""Growth of p95 up to which a machine that gets fewer vCPUs has lost nothing."""
NOTHING_PCT = 0.05
"""Ready, co-stop or limited time below this is none."""

TOLD = {
    "cpu-ready": ("ready_pct", "costop_pct", "response_ms_p95"),
    "co-stop": ("costop_pct", "ready_pct", "response_ms_p95"),
    "unbalanced-monsters": ("ready_pct", "costop_pct", "response_ms_p95"),
    "hidden-host-saturation": ("ready_pct", "guest_cpu_pct", "response_ms_p95"),
    "cpu-limit": ("limited_pct", "response_ms_p95"),
    "oversized-vm": ("guest_cpu_pct", "ready_pct", "response_ms_p95"),
    "undersized-vm": ("guest_cpu_pct", "response_ms_p95"),
    "more-vcpus-than-cores": ("ready_pct", "costop_pct", "response_ms_p95"),
    "odd-wide-vm": ("numa_local_pct", "response_ms_p95"),
    "hot-add-wide-vm": ("numa_local_pct", "response_ms_p95"),
    "wider-than-node-badly-split": ("numa_local_pct", "response_ms_p95"),
}
"""Which figures show whether a change helps; the first one that differs decides."""


@dataclass(frozen=True)
class Change:
    """Something to do, as values by path of the cluster file; None takes a key away."""

    text: str
    sets: Mapping[str, Any]
    hosts: tuple[str, ...]
    """Names in the scenario of the hosts that it is about."""
    machine: str
    """Name in the scenario of the machine that is changed or moved."""
    target: str | None = None
    """For a move: where to."""


def add(case: Case, findings: Sequence[Finding], progress: Progress | None = None) -> list[str]:
    """Set `what_if` of the findings that a change may cure; returns what is to be said about those left out."""
    if case.scenario is None:
        return []
    proposals: list[tuple[Finding, Machine, Change]] = []
    changes: dict[tuple[str, ...], Change] = {}
    moves: dict[str, Change | None] = {}
    left_out = 0
    for finding in sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity)):
        found = _propose(case, finding, moves)
        if found is None:
            continue
        machine, change = found
        key = (change.text, *change.hosts)
        if key not in changes and len(changes) == MOST_CHANGES:
            left_out += 1
            continue
        proposals.append((finding, machine, changes.setdefault(key, change)))
    results: dict[tuple[str, ...], tuple[dict[str, Any], dict[str, Any]] | str] = {}
    for number, (key, change) in enumerate(changes.items()):
        if progress:
            progress("simulating what would help", number, len(changes))
        results[key] = _simulate(case, change)
    notes = []
    for finding, machine, change in proposals:
        result = results[change.text, *change.hosts]
        if isinstance(result, str):
            notes.append(f"{change.text}: not simulated: {result}")
        else:
            finding.what_if = _told(finding, machine, change, *result, case)
    if left_out:
        notes.append(
            f"what-ifs of {left_out} more findings were not simulated: only the worst {MOST_CHANGES} changes are"
        )
    return list(dict.fromkeys(notes))


def _propose(case: Case, finding: Finding, moves: dict[str, Change | None]) -> tuple[Machine, Change] | None:
    machine = next((each for each in case.machines if each.key and each.subject == finding.subject), None)
    if finding.code in ("cpu-ready", "co-stop", "hidden-host-saturation", "unbalanced-monsters"):
        server = next((each for each in case.servers if each.name == finding.host and each.key), None)
        if (
            server is None
            or server.key is None
            or (finding.code == "co-stop" and finding.cause is None and not server.cores)
        ):
            return None
        large = finding.code == "unbalanced-monsters"
        if server.key not in moves or (large and moves[server.key] is None):
            moves[server.key] = _move(case, server)
        change = moves[server.key]
        # a machine that is not in the cluster file is not in the twin
        if change is None or (finding.subject.kind == "vm" and machine is None):
            return None
        told = machine or next(each for each in case.machines if each.key == change.machine)
        return told, change
    if machine is None or machine.layout is None or not machine.vcpus:
        return None
    change = _resize(case, finding, machine)
    return (machine, change) if change else None


def _resize(case: Case, finding: Finding, machine: Machine) -> Change | None:
    """A change of the machine itself."""
    layout = machine.layout or {}
    path, vcpus = f"vms.{machine.key}", machine.vcpus or 1
    hosts = (layout["host"],)
    cores = layout["host_topology"]["sockets"] * layout["host_topology"]["cores_per_socket"]

    def with_vcpus(count: int) -> Change:
        sets = {"vcpus": count, "cores_per_socket": _even_sockets(layout, count), "numa": None}
        return of(f"give {machine.name} {count} vCPUs", sets)

    def of(text: str, sets: Mapping[str, Any]) -> Change:
        return Change(text, {f"{path}.{key}": value for key, value in sets.items()}, hosts, machine.key or "")

    busy = case.busy(machine)
    size = _even_sockets(layout, vcpus)
    found: Change | None = None
    match finding.code:
        case "cpu-limit":
            found = of(f"remove the limit of {machine.name}", {"limit": None})
        case "hot-add-wide-vm":
            found = of(f"turn CPU hot-add of {machine.name} off", {"cpu_hot_add": False})
        case "wider-than-node-badly-split" if not str(layout["hypervisor"]).startswith("linux"):
            sets = {"cores_per_socket": size, "numa": None, "cpu_hot_add": False}
            found = of(f"give {machine.name} sockets of {size} cores", sets)
        case "odd-wide-vm":
            found = with_vcpus(vcpus + 1 if vcpus + 1 <= cores else vcpus - 1)
        case "more-vcpus-than-cores":
            found = with_vcpus(cores)
        case "oversized-vm" if busy is not None:
            found = with_vcpus(max(needed(vcpus, busy.most), FEWEST_VCPUS))
        case "undersized-vm" if busy is not None:
            # a guest that is full may want more than it can show: half as many more at least
            count = min(max(needed(vcpus, busy.stat.often), vcpus + max(1, vcpus // 2)), cores)
            found = with_vcpus(count) if count > vcpus else None
    return found


def _even_sockets(layout: Mapping[str, Any], vcpus: int) -> int:
    """Cores of a virtual socket so that the machine is split evenly over the fewest nodes that hold it."""
    topology = layout["host_topology"]
    room, nodes = topology["cores_per_socket"], topology["sockets"]
    for count in range(-(-vcpus // room), nodes + 1):
        if count and vcpus % count == 0:
            return int(vcpus // count)
    return 1


def _move(case: Case, server: Server) -> Change | None:
    """The move of one machine away from a host that leaves the fuller of both hosts the least full, if any does."""
    targets = [each for each in case.servers if each.key and each is not server]
    here = [each for each in case.placed.get(server.key or "", []) if each.vcpus and not each.appliance]
    options = []
    for machine in here if len(here) > 1 else ():
        for target in targets:
            if not _allowed(case, machine, target):
                continue
            full, left, there = _fullness(case, machine, server, target)
            if max(left, there) < full:
                after = round(max(left, there) / full, 6)
                options.append((after, -(machine.vcpus or 0), machine.name, target.name, machine, target))
    if not options:
        return None
    *_, machine, target = min(options, key=lambda option: option[:4])
    return Change(
        text=f"move {machine.name} to {target.name}",
        sets={f"vms.{machine.key}.host": target.key},
        hosts=(server.key or "", target.key or ""),
        machine=machine.key or "",
        target=target.key,
    )


def _fullness(case: Case, machine: Machine, server: Server, target: Server) -> tuple[float, float, float]:
    """How full the host of a machine is, would be without it, and the target with it.

    In per cent of usage where all of that was measured, else in vCPUs per core.
    """
    used, there = (case.evidence.stat(each.entity, "usage_pct") for each in (server, target))
    busy, vcpus = case.busy(machine), machine.vcpus or 0
    cores, others = server.cores or 1, target.cores or 1
    if used and there and busy:
        work = vcpus * busy.stat.mean
        return used.mean, used.mean - work / cores, there.mean + work / others
    placed, elsewhere = (
        sum(each.vcpus or 0 for each in case.placed.get(host.key or "", [])) for host in (server, target)
    )
    return placed / cores, (placed - vcpus) / cores, (elsewhere + vcpus) / others


def _allowed(case: Case, machine: Machine, target: Server) -> bool:
    """Whether a machine may and can be on a host: width, memory, placement rules."""
    there = case.placed.get(target.key or "", [])
    used = sum(each.memory_bytes or 0 for each in there)
    if (machine.vcpus or 0) > (target.threads or 0) or used + (machine.memory_bytes or 0) > (target.memory_bytes or 0):
        return False
    keys = frozenset(each.key or "" for each in there)
    return all(rule.allows(machine.key or "", target.key or "", keys) for rule in case.rules)


def cut(case: Case, hosts: Sequence[str]) -> dict[str, Any] | str:
    """The scenario with only these hosts and the machines on them, each an entry of its own; or why there is none."""
    if case.scenario is None:
        return "there is no cluster file"
    data = json.loads(case.scenario.json)
    data.pop("failures", None)
    data.pop("rules", None)
    whole = bool(data.get("storage"))  # a pool is on more hosts than those
    kept: dict[str, Any] = {}
    for group, host in data["hosts"].items():
        for name in expanded(group, host["count"]):
            if name in hosts or whole:
                kept[name] = {**host, "count": 1}
                kept[name].pop("label", None)
    if whole:
        kept = data["hosts"]
    machines: dict[str, Any] = {}
    on = {each.key: each.layout["host"] for each in case.machines if each.key and each.layout}
    for group, vm in data.get("vms", {}).items():
        for name in expanded(group, vm["count"]):
            if name in on and (whole or on[name] in hosts):
                machines[name] = {**vm, "count": 1, "host": on[name]}
                machines[name].pop("label", None)
    if len(machines) > MOST_MACHINES:
        return f"{len(machines)} machines are concerned, and more than {MOST_MACHINES} take too long"
    data["hosts"], data["vms"] = kept, machines
    used = {vm["workload"] for vm in machines.values()}
    data["workloads"] = {name: entry for name, entry in data.get("workloads", {}).items() if name in used}
    settings = data["run"]
    number, unit = settings["duration"].split()
    seconds = min(float(number) * _SECONDS[unit], DURATION_S)
    warmup, unit = settings["warmup"].split()
    settings["duration"] = f"{seconds:g} s"
    settings["warmup"] = f"{min(float(warmup) * _SECONDS[unit], DURATION_S / 2):g} s"
    settings["sample_interval"] = f"{seconds:g} s"
    settings["replications"] = min(settings["replications"], REPLICATIONS)
    return dict(data)


def _simulate(case: Case, change: Change) -> tuple[dict[str, Any], dict[str, Any]] | str:
    before = cut(case, change.hosts)
    if isinstance(before, str):
        return before
    after = copy.deepcopy(before)
    for path, value in change.sets.items():
        section, name, *keys = path.split(".")
        here = after[section][name]
        for key in keys[:-1]:
            here = here.setdefault(key, {})
        if value is None:
            here.pop(keys[-1], None)
        else:
            here[keys[-1]] = value
    try:
        points = [
            run.simulate(scenario.loads(json.dumps(data), file="the cluster file, changed")).to_dict()["points"][0]
            for data in (before, after)
        ]
    except HypertwinError as error:
        return " ".join(str(error).split())
    return points[0], points[1]


def _told(
    finding: Finding, machine: Machine, change: Change, before: Mapping[str, Any], after: Mapping[str, Any], case: Case
) -> dict[str, Any]:
    """The what-if of a finding: figures of its machine, or of the one that moves."""
    key = machine.key or change.machine
    was, becomes = flatten(before["vms"][key]), flatten(after["vms"][key])
    shown = {name: (was.get(name), becomes.get(name)) for name in FIGURES}
    figures = {name: (a, b) for name, (a, b) in shown.items() if a is not None and b is not None}
    parts = []
    for name in TOLD[finding.code]:
        if name not in figures or (name in SUMMED and max(figures[name]) < NOTHING_PCT):
            continue
        word, unit = FIGURES[name]
        parts.append(f"{word} {_value(figures[name][0], unit)} → {_value(figures[name][1], unit)}")
        if name in SUMMED:
            pairs = zip(figures[name], (was, becomes), strict=True)
            summed = [ready.percent(value * point["vcpus"]) for value, point in pairs]
            parts[-1] += f" per vCPU ({' → '.join(summed)} summed)"
    whose = f"{machine.name} " if machine.key != change.machine or machine.subject != finding.subject else ""
    # figures that decide: less is better, but for local memory
    helps = None
    for name in TOLD[finding.code]:
        if name in figures and name != "guest_cpu_pct":
            first, last = figures[name]
            if abs(last - first) > max(0.02 * abs(first), 0.05):
                helps = last > first if name == "numa_local_pct" else last < first
                break
    others = _others(change, before, after)
    text = f"{change.text}: {whose}{', '.join(parts)}"
    if finding.code == "oversized-vm":
        first, last = figures.get("response_ms_p95", (0.0, 0.0))
        helps = last <= SLOWER * first
        text += " (nothing is lost)" if helps else " (it would be slower)"
    elif helps is False:
        text += " (it does not help)"
    elif helps is None:
        text += " (no difference to speak of)"
    text += f" [{before['duration_s']:g} s simulated{_measured(case, machine, figures)}]"
    return {
        "change": change.text,
        "set": dict(change.sets),
        "text": text + (f"; {others}" if others else ""),
        "machine": machine.name,
        "helps": helps,
        "before": {name: pair[0] for name, pair in figures.items()},
        "after": {name: pair[1] for name, pair in figures.items()},
        "hosts": [_host_name(case, host) for host in change.hosts],
        "replications": before["replications"],
        "duration_s": before["duration_s"],
    }


def _measured(case: Case, machine: Machine, figures: Mapping[str, tuple[float, float]]) -> str:
    """That the twin's machine has not the measured ready, where it is so: then its load is not the measured one."""
    stat = case.each(machine, "ready_sum_pct")
    if stat is None or "ready_pct" not in figures:
        return ""
    twin = figures["ready_pct"][0]
    if abs(stat.mean - twin) <= max(2.0, 0.5 * stat.mean):
        return ""
    return f"; ready was measured at {ready.percent(stat.mean)} per vCPU, the twin has {ready.percent(twin)}"


def _others(change: Change, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """What a move does to the machines where it goes to: the worst of them."""
    if change.target is None:
        return ""
    worst: tuple[float, str] | None = None
    for name in after["vms"]:
        if name == change.machine:
            continue
        first, last = (flatten(point["vms"][name]).get("response_ms_p95") for point in (before, after))
        if first and last and (worst is None or last / first > worst[0]):
            worst = last / first, f"{name} p95 {_value(first, 'ms')} → {_value(last, 'ms')}"
    return f"worst for others: {worst[1]}" if worst and worst[0] > 1.05 else ""


def _host_name(case: Case, key: str) -> str:
    return next((server.name for server in case.servers if server.key == key), key)


def _value(value: float, unit: str) -> str:
    if unit == "%":
        return ready.percent(value)
    return f"{value:,.3g} {unit}" if abs(value) < 100 else f"{value:,.0f} {unit}"
