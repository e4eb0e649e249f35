"""CPU contention: ready, co-stop, limits, and hosts that are saturated while their guests do not look it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hypertwin.diagnose.evidence import Stat
from hypertwin.diagnose.rule import (
    ESXTOP_STATISTICS,
    ESXTOP_THRESHOLDS,
    LARGE_DATABASES,
    METRICS_IN_VMWARE,
    OWN,
    READY_CONVERSION,
    Band,
    Finding,
    Measure,
    Need,
    Rule,
    Source,
    Subject,
)
from hypertwin.diagnose.subjects import Busy, Case, Machine, Server
from hypertwin.ingest import telemetry
from hypertwin.report import ready

SUSTAINED = "reached in 5 % of the samples or more"
OFTEN = "reached in a fifth of the samples or more"

FAR = 3
"""Times the mean of its machine from which a single vCPU that is beyond the critical limit makes a finding."""
MENTIONED = 1.5
"""Times the mean of its machine from which the worst vCPU is mentioned."""

READY = Band("ready_sum_pct", "%", "ready per vCPU, limited time not counted", 2.5, 5, 10, own=frozenset({"info"}))
STEAL = Band("steal_pct", "%", "steal in a guest", 2.5, 5, 10, own=OWN)
COSTOP = Band("costop_sum_pct", "%", "co-stop per vCPU", info=1, critical=3, own=frozenset({"info"}))
LIMITED = Band("limited_sum_pct", "%", "limited time (%MLMTD) per vCPU", warning=1, critical=10, own=OWN)
USAGE = Band("usage_pct", "%", "usage of a host", warning=95, own=OWN)
GUEST = Band("guest_cpu_pct", "%", "CPU as the largest machine's guest sees it", warning=85, below=True, own=OWN)

RED_HAT_STEAL = Source(
    '"Steal Time Accounting" (Red Hat Enterprise Linux 6, Virtualization Host Configuration Guide)',
    "https://docs.redhat.com/en/documentation/Red_Hat_Enterprise_Linux/6/html/"
    "virtualization_host_configuration_and_guest_installation_guide/form-virtualization_host_configuration_and_"
    "guest_installation_guide-kvm_guest_timing_management-steal_time_accounting",
)
USAGE_COUNTER = Source(
    "Broadcom KB 431027, on what cpu.usage of a host counts",
    "https://knowledge.broadcom.com/external/article/431027/esxi-host-cpu-usage-appears-high-in-vcen.html",
)


def _ready(case: Case, rule: Rule) -> Iterator[Finding]:
    for machine in case.machines:
        summed, each = case.evidence.stat(machine.entity, READY.metric), case.each(machine, READY.metric)
        if not (summed and each and machine.vcpus):
            continue
        limited = case.each(machine, LIMITED.metric)
        of_limit = min(limited.mean, each.mean) if limited else 0.0
        severity, lone = _judged(case, machine, READY, each, of_limit)
        # most of it is the limit's doing, which has a finding of its own
        if severity is None or of_limit > each.mean / 2:
            continue
        interval = case.evidence.interval_s(machine.entity, READY.metric)
        told = ready.ready(summed.high, machine.vcpus, interval)
        on = f" on {machine.host}" if machine.host else ""
        alone = f"vCPU {lone.number} alone: ready {ready.of_one(lone.high, interval)}" if lone else ""
        who = f"vCPU {lone.number} of {machine.name} waits" if lone else f"The vCPUs of {machine.name}{on} want to run"
        yield Finding(
            code=rule.code,
            severity=severity,
            subject=machine.subject,
            host=machine.host,
            title=f"{machine.name} waits for CPU: {alone or told}",
            figure=alone or told,
            text=(
                f"{who}{f'{on} far more than the others: ready {ready.of_one(lone.high, interval)}' if lone else ''}"
                f"{'; the machine: ' if lone else ' and no CPU is free for them: '}{told}, {SUSTAINED}; "
                f"{ready.percent(summed.mean)} summed = {ready.percent(each.mean)} per vCPU on average."
                f"{_crowd(machine.server)} "
                + (
                    "What runs on that vCPU takes longer by this; the mean of the machine hides it."
                    if lone
                    else "Everything in it takes longer by this, and its guest counts the waiting as work."
                )
            ),
            advice=(
                "Look whether it may run on few CPUs only (affinity, pinning), and what else runs there."
                if lone
                else "Take load off the host: move a machine to a host with free cores, or take vCPUs away that are "
                "not used. More vCPUs would make it worse."
            ),
            evidence=_figures(case, machine, READY, each, lone) + _costop_of(case, machine),
        )
    for path in case.evidence.entities("guest"):
        steal = case.evidence.stat(path, STEAL.metric)
        severity = STEAL.severity(steal.high) if steal else None
        if not steal or severity is None:
            continue
        name = telemetry.names(path)["guest"]
        host = next((machine.host for machine in case.machines if machine.guest == path), None)
        yield Finding(
            code=rule.code,
            severity=severity,
            subject=Subject("guest", name, path),
            host=host,
            title=f"{name} waits for CPU: its guest sees {ready.percent(steal.high)} steal",
            figure=f"steal {ready.percent(steal.high)}",
            text=(
                f"In {ready.percent(steal.high)} of the time ({SUSTAINED}; {ready.percent(steal.mean)} on average) the "
                f"vCPUs of {name} wanted to run and its hypervisor did not let them. Steal is what the host would call "
                "ready, per vCPU. Which machine takes the CPU can only be seen on the host."
            ),
            advice="Look at the host, or ask whoever runs it: too many vCPUs for its cores, or a limit (quota).",
            evidence=[Measure(STEAL.metric, f"steal, {SUSTAINED}", steal.high, "%", STEAL, path, samples=steal.count)],
        )


def _costop(case: Case, rule: Rule) -> Iterator[Finding]:
    for machine in case.machines:
        summed, each = case.evidence.stat(machine.entity, COSTOP.metric), case.each(machine, COSTOP.metric)
        if not (summed and each and machine.vcpus):
            continue
        severity, lone = _judged(case, machine, COSTOP, each)
        if severity is None:
            continue
        interval = case.evidence.interval_s(machine.entity, COSTOP.metric)
        told = ready.ready(summed.high, machine.vcpus, interval, "co-stop")
        alone = f"vCPU {lone.number} alone: co-stop {ready.of_one(lone.high, interval)}" if lone else ""
        yield Finding(
            code=rule.code,
            severity=severity,
            subject=machine.subject,
            host=machine.host,
            title=f"vCPUs of {machine.name} are held back for each other: {alone or told}",
            figure=alone or told,
            text=(
                f"{machine.name} has {machine.vcpus} vCPUs that must make progress together. Some get no CPU in time, "
                f"so the others are stopped{f', one far more than the rest. {alone}; the machine' if lone else ''}: "
                f"{told}, {SUSTAINED}.{_crowd(machine.server)}"
            ),
            advice=(
                "Give it fewer vCPUs if it does not use them all, or move it, or its neighbours, so that its vCPUs "
                "find as many free cores."
            ),
            evidence=_figures(case, machine, COSTOP, each, lone),
        )


@dataclass(frozen=True)
class _One:
    """The worst vCPU of a machine."""

    number: str
    entity: str
    high: float
    samples: int


def _judged(
    case: Case, machine: Machine, band: Band, each: Stat, of_limit: float = 0.0
) -> tuple[str | None, _One | None]:
    """How bad a machine is, and its worst vCPU where that decides: it is far worse than the mean."""
    severity = band.severity(each.high - of_limit)
    worst = _worst_vcpu(case, machine, band)
    far = (
        severity in (None, "info")
        and worst is not None
        and band.severity(worst.high - of_limit) == "critical"
        and worst.high >= FAR * each.high
    )
    return ("warning", worst) if far else (severity, None)


def _worst_vcpu(case: Case, machine: Machine, band: Band) -> _One | None:
    entity = case.evidence.worst_vcpu(machine.entity, band.metric)
    stat = case.evidence.stat(entity, band.metric)
    return _One(telemetry.names(entity)["vcpu"], entity, stat.high, stat.count) if entity and stat else None


def _figures(case: Case, machine: Machine, band: Band, each: Stat, lone: _One | None) -> list[Measure]:
    """The machine's figure and that of its worst vCPU where it says more; what decides stands first."""
    found = [_measure(machine, band, each.high, SUSTAINED)]
    worst = _worst_vcpu(case, machine, band)
    if worst and machine.vcpus != 1 and worst.high >= MENTIONED * each.high and band.severity(worst.high):
        word = band.what.partition(" ")[0]
        what = f"{word} of vCPU {worst.number} of {machine.name}, its worst, {SUSTAINED}"
        found.append(Measure(band.metric, what, worst.high, band.unit, band, worst.entity, 1, worst.samples))
    return found[::-1] if lone else found


def _limited(case: Case, rule: Rule) -> Iterator[Finding]:
    for machine in case.machines:
        summed, each = case.evidence.stat(machine.entity, LIMITED.metric), case.each(machine, LIMITED.metric)
        severity = LIMITED.severity(each.high) if each else None
        if not (summed and each and machine.vcpus) or severity is None:
            continue
        interval = case.evidence.interval_s(machine.entity, LIMITED.metric)
        total = case.evidence.stat(machine.entity, READY.metric)
        told = ready.ready(summed.high, machine.vcpus, interval, "limited")
        of_ready = f" {ready.ready(total.high, machine.vcpus, interval)} in all." if total else ""
        yield Finding(
            code=rule.code,
            severity=severity,
            subject=machine.subject,
            host=machine.host,
            title=f"{machine.name} runs into its CPU limit: {told}",
            figure=told,
            text=(
                f"{machine.name} could run, a CPU is free, and its limit forbids it: {told}, {SUSTAINED}. Limited time "
                f"is part of its ready time.{of_ready} A less busy host would not help."
            ),
            advice="Remove the limit; if others must be protected from it, use shares, or give it fewer vCPUs.",
            evidence=[_measure(machine, LIMITED, each.high, SUSTAINED)],
        )


def _saturated(case: Case, rule: Rule) -> Iterator[Finding]:
    for server in case.servers:
        usage = case.evidence.stat(server.entity, USAGE.metric)
        if not usage or not server.entity or USAGE.severity(usage.often) is None:
            continue
        busy = [
            (machine, found) for machine in server.machines if (found := case.busy(machine)) and not machine.appliance
        ]
        if not busy:
            continue
        machine, largest = max(busy, key=lambda pair: (pair[1].stat.mean * (pair[0].vcpus or 0), pair[0].name))
        if GUEST.severity(largest.stat.median) is None:
            continue
        waiting = [
            (each.high, other)
            for other in server.machines
            if (each := case.each(other, READY.metric)) and READY.severity(each.high)
        ]
        hurt = (
            f" {len(waiting)} of its {len(server.machines)} machines wait for CPU (ready), "
            f"{max(waiting, key=_first)[1].name} most."
            if waiting
            else ""
        )
        cores = case.evidence.stat(server.entity, "core_utilization_pct")
        also = f"; in {ready.percent(cores.mean)} of the time at least one thread of a core is busy" if cores else ""
        yield Finding(
            code=rule.code,
            severity="critical" if any(READY.severity(high) == "critical" for high, _ in waiting) else "warning",
            subject=server.subject,
            host=server.name,
            title=f"{server.name} is saturated, and its guests do not show it",
            figure=f"usage {ready.percent(usage.often)}, its largest guest {ready.percent(largest.stat.median)}",
            text=(
                f"{server.name} uses {ready.percent(usage.often)} of its nominal clock ({OFTEN}; "
                f"{ready.percent(usage.mean)} on average){also}. The guest of {machine.name}, its largest machine "
                f"({machine.vcpus} vCPUs), believes that its CPUs are {ready.percent(largest.stat.median)} busy, and "
                f"that there is room.{hurt} There is none: a second thread on a core adds about a quarter of a core. "
                "More load, or more vCPUs, only take from what runs there."
            ),
            advice=(
                "Plan by cores of the host, not by guest CPU and not by hyper-threads. Move a machine away, or give "
                "the host less to do."
            ),
            evidence=[
                Measure(
                    USAGE.metric,
                    f"usage of {server.name}, {OFTEN}",
                    usage.often,
                    "%",
                    USAGE,
                    server.entity,
                    1,
                    usage.count,
                ),
                _of_guest(machine, largest),
            ],
        )


def _first(pair: tuple[float, Machine]) -> tuple[float, str]:
    return pair[0], pair[1].name


def _of_guest(machine: Machine, busy: Busy) -> Measure:
    what = f"CPU of {machine.name} as its guest sees it, median"
    return Measure(
        busy.metric, what, busy.stat.median, "%", GUEST, busy.entity, busy.divisor, busy.stat.count, busy.added
    )


def _measure(machine: Machine, band: Band, value: float, word: str) -> Measure:
    return Measure(
        metric=band.metric,
        what=f"{band.what.partition(',')[0]} of {machine.name}, {word}",
        value=value,
        unit=band.unit,
        band=band,
        entity=machine.entity,
        divisor=machine.vcpus or 1,
    )


def _costop_of(case: Case, machine: Machine) -> list[Measure]:
    each = case.each(machine, COSTOP.metric)
    return [_measure(machine, COSTOP, each.high, SUSTAINED)] if each and COSTOP.severity(each.high) else []


def _crowd(server: Server | None) -> str:
    if server is None or not server.cores or not server.vcpus:
        return ""
    machines = f"{len(server.machines)} machine{'s' if len(server.machines) != 1 else ''}"
    return f" {server.name} has {server.cores} cores for {server.vcpus} vCPUs of {machines}."


RULES = (
    Rule(
        code="cpu-ready",
        title="Machines wait for CPU",
        says=(
            "vCPUs can run and get no CPU: the host has more to run than it has cores. Per vCPU, not summed; time that "
            "the machine's own limit costs is left to `cpu-limit`. In a guest of KVM the same is called steal; ESXi "
            "tells its guests nothing, so there steal is always 0, and no limit of it is published: ready's are taken. "
            "2.5 % is half of what is called healthy. A machine within its bands, or just beyond, is a warning where a "
            f"single vCPU waits more than the critical limit and {FAR} times the mean of its machine."
        ),
        bands=(READY, STEAL),
        sources=(ESXTOP_THRESHOLDS, METRICS_IN_VMWARE, READY_CONVERSION, RED_HAT_STEAL),
        needs=(
            Need(
                "ready of machines (%RDY, cpu.ready, vCPU delay), or steal of guests",
                (("vm", READY.metric), ("guest", STEAL.metric)),
            ),
        ),
        find=_ready,
    ),
    Rule(
        code="co-stop",
        title="vCPUs are held back for each other",
        says=(
            "A vCPU that got too far ahead of its siblings is stopped until they catch up: a wide machine among "
            "others, or one with more vCPUs than it uses. ESXi only. Single vCPUs are judged as with `cpu-ready`."
        ),
        bands=(COSTOP,),
        sources=(ESXTOP_THRESHOLDS, LARGE_DATABASES),
        needs=(Need("co-stop of machines (%CSTP, cpu.costop)", (("vm", COSTOP.metric),)),),
        find=_costop,
    ),
    Rule(
        code="cpu-limit",
        title="A machine runs into its CPU limit",
        says=(
            "The machine could run and a CPU is free, but its limit (or quota) forbids it. Published is that it should "
            "be 0; 1 % leaves room for chance, and it is critical from where ready would be."
        ),
        bands=(LIMITED,),
        sources=(ESXTOP_THRESHOLDS, ESXTOP_STATISTICS),
        needs=(Need("limited time of machines (%MLMTD, cpu.maxlimited)", (("vm", LIMITED.metric),)),),
        find=_limited,
    ),
    Rule(
        code="hidden-host-saturation",
        title="A host is saturated, and its guests do not show it",
        says=(
            "All cores of the host are busy while the guest of its largest machine believes that there is room: on "
            "cores whose two threads are busy each vCPU is slower, which no guest sees. That a guest's CPU falls on a "
            "saturated host is published, at which values is not."
        ),
        bands=(USAGE, GUEST),
        sources=(LARGE_DATABASES, USAGE_COUNTER),
        needs=(
            Need("usage of hosts (PCPU USED, cpu.usage)", (("host", USAGE.metric),)),
            Need(
                "CPU of machines (%RUN, cpu.run, cpu.usagemhz) or of guests",
                (
                    ("vm", "run_sum_pct"),
                    ("vm", "used_mhz"),
                    ("vm", "demand_mhz"),
                    ("vm", "cpu_cores"),
                    ("vm", "guest_cpu_pct"),
                    ("guest", "guest_cpu_pct"),
                ),
            ),
        ),
        find=_saturated,
    ),
)
