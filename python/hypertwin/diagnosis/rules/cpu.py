"""CPU contention: ready, co-stop, limits, and saturated hosts whose guests do not show it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hypertwin.diagnosis.case import FAR_FROM_BUSY_PCT, Case
from hypertwin.diagnosis.evidence import Stat
from hypertwin.diagnosis.rule import OWN, Band, Finding, Measure, Need, Reference, rule
from hypertwin.diagnosis.rules.shared import (
    BUSY_BY,
    COSTOP,
    ESXTOP_STATISTICS,
    ESXTOP_THRESHOLDS,
    HOST_CPU,
    LARGE_DATABASES,
    LIMITED,
    METRICS_IN_VMWARE,
    READY,
    VCPUS,
    guest_cpu,
    has_cpu_left,
    vcpus_unless,
)
from hypertwin.diagnosis.subjects import Host, Subject, Vm
from hypertwin.diagnosis.words import OFTEN, SUSTAINED
from hypertwin.documents.diagnosis import Severity
from hypertwin.ingest import telemetry
from hypertwin.metrics import ready
from hypertwin.naming import counted

FAR = 3
"""A single vCPU beyond the critical limit makes a finding if it exceeds the mean of its VM by this factor."""
MENTIONED = 1.5
"""Worst vCPU is mentioned if it exceeds the mean of its VM by this factor."""

LATENCY = "cpu_latency_pct"

STEAL = Band.of("ready_pct", "steal_pct", what="steal in a guest", own=OWN)
OF_LIMIT = Band("cpu_limit", "%", "CPU used by a VM, of its limit", warning=95, own=OWN)
USAGE = Band("usage_pct", "%", "CPU usage of a host", warning=HOST_CPU.critical, own=OWN)
GUEST = Band("guest_cpu_pct", "%", "CPU of the largest VM as its guest sees it", warning=85, below=True, own=OWN)

READY_CONVERSION = Reference(
    'VMware KB 2002181, "Converting between CPU summation and CPU % ready values"',
    "https://kb.vmware.com/s/article/2002181",
)
RED_HAT_STEAL = Reference(
    '"Steal Time Accounting" (Red Hat Enterprise Linux 6, Virtualization Host Configuration Guide)',
    "https://docs.redhat.com/en/documentation/Red_Hat_Enterprise_Linux/6/html/"
    "virtualization_host_configuration_and_guest_installation_guide/form-virtualization_host_configuration_and_"
    "guest_installation_guide-kvm_guest_timing_management-steal_time_accounting",
)
USAGE_COUNTER = Reference(
    "Broadcom KB 431027, on what cpu.usage of a host counts",
    "https://knowledge.broadcom.com/external/article/431027/esxi-host-cpu-usage-appears-high-in-vcen.html",
)


@rule(
    "cpu-ready",
    title="VMs wait for CPU",
    says=(
        "vCPUs are ready to run but get no CPU, because the host has more to run than cores. If its CPU usage is at "
        f"most {FAR_FROM_BUSY_PCT}%, and it has a core for each vCPU, the finding names other causes, such as a CPU "
        "limit. The same holds for a VM bound to CPUs or NUMA nodes if its host is not full. The limits are per vCPU, "
        "not summed. Limited time is not counted, because it belongs to `cpu-limit`. A KVM guest sees its ready time "
        "as steal. ESXi guests always show 0 steal. No limit of steal is published, so the limits of ready apply. 2.5% "
        "is half of the published healthy limit. If a single vCPU waits more than the critical limit and "
        f"{FAR} times the mean of its VM, the VM gets a warning even if its mean is within or near the limits."
    ),
    bands=(READY, STEAL),
    references=(ESXTOP_THRESHOLDS, METRICS_IN_VMWARE, READY_CONVERSION, RED_HAT_STEAL),
    needs=(
        Need(
            "ready of VMs (%RDY, cpu.ready, vCPU delay), or steal of guests",
            (("vm", READY.metric), ("guest", STEAL.metric)),
        ),
        vcpus_unless(("guest", STEAL.metric)),
    ),
)
def cpu_ready(case: Case) -> Iterator[Finding]:
    """Find VMs with ready time, and guests with steal."""
    for vm in case.vms:
        each = case.waiting(vm)
        if not (each and vm.vcpus):
            continue
        severity, lone = _judged(case, vm, READY, each)
        if severity is None:
            continue
        summed = each.over(1 / vm.vcpus)
        interval = case.evidence.interval_s(vm.entity, READY.metric)
        told = ready.ready(summed.high, vm.vcpus, interval)
        if each.is_one_moment:
            told = told.partition(" (")[0]
        on = f" on {vm.host_name}" if vm.host_name else ""
        alone = f"vCPU {lone.number} alone: ready {ready.of_one(lone.high, interval)}" if lone else ""
        cause, free = _cause(case, vm), has_cpu_left(case, vm)
        who = f"vCPU {lone.number} of {vm.name} waits" if lone else f"The vCPUs of {vm.name}{on} are ready to run"
        costop, latency = case.per_vcpu(vm, COSTOP.metric), case.evidence.stat(vm.entity, LATENCY)
        held = f" CPU latency (%LAT_C) is {ready.percent(latency.high)}, {latency.said(SUSTAINED)}." if latency else ""
        if _limited(case, vm):
            held = f" Its limited time is not included.{held}"
        evidence = _figures(case, vm, READY, each, lone)
        if costop and COSTOP.severity(costop.high):
            evidence.append(_measure(case, vm, COSTOP, costop))
        yield cpu_ready.about(
            vm.subject,
            severity=severity,
            title=f"{vm.name} waits for CPU: {alone or told}",
            figure=alone or told,
            text=(
                f"{who}{f'{on} far more than the others: ready {ready.of_one(lone.high, interval)}' if lone else ''}"
                f"{'. The VM: ' if lone else f' and {_why(free)}: '}{told}, {each.said(SUSTAINED)}"
                + each.on_average(
                    f"; {ready.percent(summed.mean)} summed = {ready.percent(each.mean)} per vCPU on average"
                )
                + f".{held}{_crowd(vm.host)}{cause.text} "
                + (
                    "Work on that vCPU takes longer by this. The mean of the VM hides it."
                    if lone
                    else "Everything in the VM takes longer by this. Its guest counts the wait as work."
                )
            ),
            advice=(
                "Check if affinity or pinning restricts it to a few CPUs, and what else runs there."
                if lone
                else cause.advice
            ),
            evidence=evidence,
        )
    yield from _steal(case)


@dataclass(frozen=True)
class _Cause:
    """Cause of ready time, in a sentence after a space, and advice."""

    text: str
    advice: str


def _why(free: bool) -> str:
    return "do not run" if free else "no CPU is free for them"


def _cause(case: Case, vm: Vm) -> _Cause:
    """Return the cause of the ready time of a VM, as far as its host and its settings show it."""
    usage = case.evidence.stat(vm.host.entity, USAGE.metric) if vm.host else None
    limit = _of_limit(case, vm)
    if vm.came_from is not None:
        return _Cause(
            f"{limit} It came from {vm.came_from} during the run, and can have waited there.",
            f"It came from {vm.came_from} during the run, and can have waited there. Measure only the time after the "
            "move (`run.warmup`).",
        )
    if usage is None or not has_cpu_left(case, vm):
        return _Cause(
            limit,
            "Take load off the host: move a VM to a host with free cores, or remove unused vCPUs. More vCPUs make it "
            "worse.",
        )
    idle = f" Its CPU usage is {ready.percent(usage.often)}, so a lack of CPUs is not the cause."
    if limit:
        return _Cause(idle + limit, f"{_NO_LIMIT} A move of VMs does not help.")
    if vm.binding:
        return _Cause(
            f"{idle} Its {vm.binding} keeps its vCPUs on some CPUs, which are too few or shared.",
            f"Widen or remove its {vm.binding}, or check what else runs on these CPUs. A move of VMs that do not run "
            "there does not help.",
        )
    return _Cause(
        f"{idle} The cause is unknown.",
        "Check for a CPU limit of the VM or its resource pool, for affinity or pinning to a few CPUs, and for short "
        "peaks of the host. A move of VMs is unlikely to help.",
    )


def _of_limit(case: Case, vm: Vm) -> str:
    """Return a sentence on the CPU limit of a VM if its ready time can include limited time."""
    if vm.facts is None or vm.facts.limit_hz is None or not case.may_be_limited(vm):
        return ""
    most = (vm.vcpus or 0) * (vm.host.clock_mhz or 0.0) * 1e6 if vm.host else 0.0
    part = f" ({ready.percent(100 * vm.facts.limit_hz / most)} of its vCPUs)" if most else ""
    return f" Its CPU limit is {vm.facts.limit_hz / 1e9:g} GHz{part}: ready time can include time held by this limit."


def _steal(case: Case) -> Iterator[Finding]:
    for path in case.evidence.entities("guest"):
        steal = case.evidence.stat(path, STEAL.metric)
        severity = STEAL.severity(steal.high) if steal else None
        if not steal or severity is None:
            continue
        host = next((vm.host_name for vm in case.vms if vm.guest == path), None)
        subject = Subject.of_guest(path, host)
        yield cpu_ready.about(
            subject,
            severity=severity,
            title=f"{subject.name} waits for CPU: its guest sees {ready.percent(steal.high)} steal",
            figure=f"steal {ready.percent(steal.high)}",
            text=(
                f"The vCPUs of {subject.name} were ready to run and got no CPU in {ready.percent(steal.high)} of the "
                f"time ({SUSTAINED}; {ready.percent(steal.mean)} on average). Steal is the host's ready, per vCPU. "
                "Only the host shows which VM takes the CPU."
            ),
            advice="Check the host, or ask its administrator: too many vCPUs for its cores, or a limit (quota).",
            evidence=[STEAL.measure(f"steal, {SUSTAINED}", steal.high, path, samples=steal.count)],
        )


@rule(
    "co-stop",
    title="vCPUs are stopped to wait for each other",
    says=(
        "ESXi stops a vCPU that is too far ahead of its siblings until they catch up. Usual causes: a large VM among "
        "others, or more vCPUs than the VM uses. ESXi only. Single vCPUs are judged as in `cpu-ready`."
    ),
    bands=(COSTOP,),
    references=(ESXTOP_THRESHOLDS, LARGE_DATABASES),
    needs=(Need("co-stop of VMs (%CSTP, cpu.costop)", (("vm", COSTOP.metric),)), VCPUS),
)
def co_stop(case: Case) -> Iterator[Finding]:
    """Find VMs whose vCPUs are stopped to let the others catch up."""
    for vm in case.vms:
        summed, each = case.evidence.stat(vm.entity, COSTOP.metric), case.per_vcpu(vm, COSTOP.metric)
        if not (summed and each and vm.vcpus):
            continue
        severity, lone = _judged(case, vm, COSTOP, each)
        if severity is None:
            continue
        interval = case.evidence.interval_s(vm.entity, COSTOP.metric)
        told = ready.ready(summed.high, vm.vcpus, interval, "co-stop")
        alone = f"vCPU {lone.number} alone: co-stop {ready.of_one(lone.high, interval)}" if lone else ""
        yield co_stop.about(
            vm.subject,
            severity=severity,
            title=f"vCPUs of {vm.name} are stopped to wait for each other: {alone or told}",
            figure=alone or told,
            text=(
                f"{vm.name} has {vm.vcpus} vCPUs that must make progress together. Some get no CPU in time, "
                f"so the others are stopped{f', one far more than the rest. {alone}. The VM' if lone else ''}: "
                f"{told}, {SUSTAINED}.{_crowd(vm.host)}"
            ),
            advice=(
                "Give it fewer vCPUs if it does not use them all. Else move it or its neighbours, so that its host has "
                "a free core for each of its vCPUs."
            ),
            evidence=_figures(case, vm, COSTOP, each, lone),
        )


@dataclass(frozen=True)
class _Vcpu:
    """Worst vCPU of a VM."""

    number: str
    entity: str
    high: float
    samples: int


def _judged(case: Case, vm: Vm, band: Band, each: Stat) -> tuple[Severity | None, _Vcpu | None]:
    """Return the severity of a VM, and its worst vCPU if the vCPU decides because it far exceeds the mean."""
    severity = band.severity(each.high)
    worst = _worst_vcpu(case, vm, band)
    far = (
        severity in (None, "info")
        and worst is not None
        and band.severity(worst.high) == "critical"
        and worst.high >= FAR * each.high
    )
    return ("warning", worst) if far else (severity, None)


def _worst_vcpu(case: Case, vm: Vm, band: Band) -> _Vcpu | None:
    entity = case.evidence.worst_vcpu(vm.entity, band.metric)
    stat = case.evidence.stat(entity, band.metric)
    if entity is None or stat is None:
        return None
    # all of the VM's limited time could be that of this vCPU
    limited = case.evidence.stat(vm.entity, LIMITED.metric) if band is READY else None
    return _Vcpu(telemetry.names(entity)["vcpu"], entity, stat.less(limited).high, stat.count)


def _figures(case: Case, vm: Vm, band: Band, each: Stat, lone: _Vcpu | None) -> list[Measure]:
    """Return the figure of the VM, and the figure of its worst vCPU if useful.

    The deciding figure comes first.
    """
    found = [_measure(case, vm, band, each)]
    worst = _worst_vcpu(case, vm, band)
    if worst and vm.vcpus != 1 and worst.high >= MENTIONED * each.high and band.severity(worst.high):
        word = band.what.partition(" ")[0]
        what = f"{word} of vCPU {worst.number} of {vm.name}, its worst, {SUSTAINED}"
        found.append(band.measure(what, worst.high, worst.entity, samples=worst.samples))
    return found[::-1] if lone else found


def _measure(case: Case, vm: Vm, band: Band, each: Stat) -> Measure:
    what = f"{band.what.partition(',')[0]} of {vm.name}, {each.said(SUSTAINED)}"
    limited = _limited(case, vm) if band is READY else None
    found = band.measure(what, each.high, vm.entity, divisor=vm.vcpus or 1)
    return replace(found, added=-limited.mean) if limited else found


def _limited(case: Case, vm: Vm) -> Stat | None:
    """Return limited time per vCPU if it is beyond its band."""
    limited = case.per_vcpu(vm, LIMITED.metric)
    return limited if limited and LIMITED.severity(limited.high) else None


def _crowd(host: Host | None) -> str:
    if host is None or not host.cores or not host.vcpus or not host.is_known:
        return ""
    vms = counted(len(host.vms), "VM")
    return f" {host.name} has {host.cores} cores for {host.vcpus} vCPUs of {vms}."


@rule(
    "cpu-limit",
    title="A VM reaches its CPU limit",
    says=(
        "The VM could run, but its limit (or quota) forbids it. The published limit is 0. The limit of 1% allows for "
        "chance, and critical begins at the critical limit of ready. Without measured limited time, a VM counts that "
        "uses all of its limit in the cluster file. If its ready time is known, it must be beyond the healthy range, "
        "and counts as limited."
    ),
    bands=(LIMITED, OF_LIMIT),
    references=(ESXTOP_THRESHOLDS, ESXTOP_STATISTICS),
    needs=(
        Need(
            "limited time of VMs (%MLMTD, cpu.maxlimited), or their CPU in MHz and their configuration (--cluster)",
            fact=lambda case: (
                case.evidence.has("vm", LIMITED.metric)
                or (case.scenario is not None and any(map(case.used_mhz, case.vms)))
            ),
        ),
        VCPUS,
    ),
)
def cpu_limit(case: Case) -> Iterator[Finding]:
    """Find VMs throttled by their own CPU limit."""
    for vm in case.vms:
        summed, each = case.evidence.stat(vm.entity, LIMITED.metric), case.per_vcpu(vm, LIMITED.metric)
        severity = LIMITED.severity(each.high) if each else None
        if not (summed and each and vm.vcpus) or severity is None:
            continue
        interval = case.evidence.interval_s(vm.entity, LIMITED.metric)
        total = case.evidence.stat(vm.entity, READY.metric)
        told = ready.ready(summed.high, vm.vcpus, interval, "limited")
        of_ready = f" {ready.ready(total.high, vm.vcpus, interval)} in all." if total else ""
        host = case.waiting(vm)
        also = "The rest is the host's." if host and READY.severity(host.high) else "A less busy host does not help."
        yield cpu_limit.about(
            vm.subject,
            severity=severity,
            title=f"{vm.name} reaches its CPU limit: {told}",
            figure=told,
            text=(
                f"{vm.name} could run, and its limit forbids it: {told}, {SUSTAINED}. Limited time "
                f"is part of its ready time.{of_ready} {also}"
            ),
            advice=_NO_LIMIT,
            evidence=[_measure(case, vm, LIMITED, each)],
        )
    yield from _at_limit(case)


_NO_LIMIT = "Remove the limit. To protect other VMs, use shares or give it fewer vCPUs."


def _at_limit(case: Case) -> Iterator[Finding]:
    """Find VMs that use their configured limit, without measured limited time."""
    for vm in case.vms:
        limit, used, each = vm.facts and vm.facts.limit_hz, case.used_mhz(vm), case.per_vcpu(vm, READY.metric)
        most = (vm.vcpus or 0) * (vm.host.clock_mhz or 0) * 1e6 if vm.host else 0
        if not limit or not used or case.evidence.stat(vm.entity, LIMITED.metric) or limit >= most > 0:
            continue
        share = used.over(limit / 1e8)
        if OF_LIMIT.severity(share.often) is None or (each and READY.severity(each.high) is None):
            continue
        told = f"{used.often:,.0f} of {limit / 1e6:,.0f} MHz"
        waits = f" Its ready time is {ready.percent(each.high)} per vCPU, {each.said(SUSTAINED)}." if each else ""
        what = f"CPU used by {vm.name}, of its limit, {share.said(OFTEN)}"
        yield cpu_limit.about(
            vm.subject,
            severity=(each and LIMITED.severity(each.high)) or "warning",
            title=f"{vm.name} reaches its CPU limit: it uses {told}",
            figure=f"uses {told}",
            text=(
                f"{vm.name} uses {told} that its limit allows, {share.said(OFTEN)}.{waits} A less busy host does not "
                "help."
            ),
            advice=_NO_LIMIT,
            evidence=[OF_LIMIT.measure(what, round(share.often, 1), samples=share.count)],
        )


@rule(
    "hidden-host-saturation",
    title="A host is saturated and its guests do not show it",
    says=(
        "All cores of the host are busy, but its largest VM, and guests with most of its vCPUs, show free CPU. Each "
        "vCPU is slower on cores whose two threads are busy, and no guest sees that. Sources publish that guest CPU "
        "falls on a saturated host, but not at which values."
    ),
    bands=(USAGE, GUEST),
    references=(LARGE_DATABASES, USAGE_COUNTER),
    needs=(
        Need("CPU usage of hosts (PCPU USED, cpu.usage; Linux: also cores, or --cluster)", (("host", USAGE.metric),)),
        Need("CPU of VMs (%RUN, cpu.run, cpu.usagemhz) or of guests", BUSY_BY),
        vcpus_unless(("guest", "guest_cpu_pct")),
    ),
)
def hidden_host_saturation(case: Case) -> Iterator[Finding]:
    """Find saturated hosts whose largest guest, and guests with most vCPUs, show free CPU."""
    for host in case.hosts:
        usage = case.evidence.stat(host.entity, USAGE.metric)
        # the largest VM of the host must be known
        if not usage or not host.is_known or USAGE.severity(usage.often) is None:
            continue
        busy = [(vm, found) for vm in host.vms if (found := case.busy(vm)) and not vm.appliance]
        if not busy:
            continue
        vm, largest = max(busy, key=lambda pair: (pair[1].stat.mean * (pair[0].vcpus or 0), pair[0].name))
        calm = sum(each.vcpus or 0 for each, found in busy if GUEST.severity(found.stat.median))
        if GUEST.severity(largest.stat.median) is None or 2 * calm <= sum(each.vcpus or 0 for each, _ in busy):
            continue
        waiting = [
            (each.high, other.name) for other in host.vms if (each := case.waiting(other)) and READY.severity(each.high)
        ]
        hurt = (
            f" {len(waiting)} of its {len(host.vms)} VMs wait for CPU (ready), {max(waiting)[1]} the most."
            if waiting
            else ""
        )
        cores = case.evidence.stat(host.entity, "core_utilization_pct")
        also = f"; in {ready.percent(cores.mean)} of the time at least one thread of a core is busy" if cores else ""
        yield hidden_host_saturation.about(
            host.subject,
            severity="critical" if any(READY.severity(high) == "critical" for high, _ in waiting) else "warning",
            title=f"{host.name} is saturated and its guests do not show it",
            figure=f"usage {ready.percent(usage.often)}, its largest guest {ready.percent(largest.stat.median)}",
            text=(
                f"{host.name} uses {ready.percent(usage.often)} of its nominal clock ({usage.said(OFTEN)}"
                + usage.on_average(f"; {ready.percent(usage.mean)} on average")
                + f"){also}. The guest of {vm.name}, its largest VM ({vm.vcpus} vCPUs), shows its CPUs "
                f"{ready.percent(largest.stat.median)} busy, as if more were free.{hurt} None is free: a second thread "
                "on a core adds about a quarter of a core. More load or more vCPUs only take CPU from other VMs."
            ),
            advice=(
                "Plan by the cores of the host, not by guest CPU or hyper-threads. Move a VM away, or reduce the load "
                "of the host."
            ),
            evidence=[
                USAGE.measure(
                    f"CPU usage of {host.name}, {usage.said(OFTEN)}", usage.often, host.entity, samples=usage.count
                ),
                guest_cpu(largest, GUEST, vm.name, largest.stat.median, largest.stat.said("median")),
            ],
        )


RULES = (cpu_ready, co_stop, cpu_limit, hidden_host_saturation)
