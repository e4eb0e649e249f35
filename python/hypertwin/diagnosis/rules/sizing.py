"""VMs with more vCPUs than they use, and with fewer than they need."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hypertwin.diagnosis.case import Case
from hypertwin.diagnosis.rule import OWN, Band, Finding, Measure, Need, rule
from hypertwin.diagnosis.rules.shared import (
    BUSY_BY,
    LARGE_DATABASES,
    LIMITED,
    METRICS_IN_VMWARE,
    VCPUS,
    contended,
    guest_cpu,
    is_full,
    vcpus_unless,
)
from hypertwin.diagnosis.subjects import Busy, Subject
from hypertwin.diagnosis.words import MIB, OFTEN, size, span
from hypertwin.metrics import ready
from hypertwin.naming import counted

PEAK = 0.8
"""Share of its vCPUs that a VM should use at its peak."""
SPARE_VCPUS = 4
"""Number of surplus vCPUs from which a VM gets a finding."""
FEWEST_VCPUS = 2
"""Minimum number of vCPUs in any advice, because one vCPU is too few."""
FEWEST_SAMPLES = 3
IDLE_PCT = 1
"""Peak CPU below which a VM only does housekeeping."""

OVER = Band("guest_cpu_pct", "%", "peak use of all vCPUs, with at least 4 to spare", info=40, below=True, own=OWN)
UNDER = Band.of("guest_cpu_pct", "guest_cpu_pct")
GUEST_SWAP = Band(
    "swap_in_bytes_per_s", "B/s", "memory that a guest reads back from its own swap", warning=MIB, own=OWN
)

CPU = Need(
    "CPU of VMs (%RUN, cpu.run, cpu.usagemhz) or of guests over time: a single sample is not enough",
    BUSY_BY,
    series=True,
)


def needed(vcpus: int, peak_pct: float) -> int:
    """Return the number of vCPUs that carries a peak at 80% load. A number above one is even."""
    count = max(1, math.ceil(round(vcpus * peak_pct / 100 / PEAK, 6)))
    return count + (count > 1 and count % 2)


@rule(
    "oversized-vm",
    title="A VM has more vCPUs than it uses",
    says=(
        "Even the peak of the VM needs at most half of its vCPUs, and leaves four or more free. The highest sample "
        "counts. The published rule is less than 40% most of the time. The finding is info, or a warning if the VM "
        "has ready or co-stop."
    ),
    bands=(OVER,),
    references=(LARGE_DATABASES, METRICS_IN_VMWARE),
    needs=(CPU, VCPUS),
)
def oversized_vm(case: Case) -> Iterator[Finding]:
    """Find VMs whose peak fits half of their vCPUs."""
    for vm in case.vms:
        busy = case.busy(vm)
        if vm.appliance or busy is None or not vm.vcpus or busy.stat.count < FEWEST_SAMPLES:
            continue
        enough = max(needed(vm.vcpus, busy.most), FEWEST_VCPUS)
        if OVER.severity(busy.most) is None or vm.vcpus - enough < SPARE_VCPUS:
            continue
        hurts = contended(case, vm)
        spared = vm.vcpus - enough
        idle = busy.most < IDLE_PCT
        uses = "is idle" if idle else f"uses {vm.vcpus * busy.most / 100:.1f}"
        yield oversized_vm.about(
            vm.subject,
            severity="warning" if hurts else "info",
            title=f"{vm.name} has {vm.vcpus} vCPUs and {uses}",
            figure=f"{vm.vcpus} vCPUs, {uses} at its peak",
            text=(
                f"At its peak, over {_span(busy)}, {vm.name} used {ready.percent(busy.most)} of its "
                f"{vm.vcpus} vCPUs ({ready.percent(busy.stat.mean)} on average). {enough} vCPUs carry that peak at "
                f"80%. The host must schedule the other {spared} ({ready.percent(100 * spared / vm.vcpus)}) for "
                "nothing" + (", and the VM already suffers ready or co-stop." if hurts else ".")
            ),
            advice=f"Power it off if its owner does not need it. Else reduce it to {enough} vCPUs."
            if idle
            else f"Reduce it to {enough} vCPUs.",
            caution="Check a whole business cycle first (month end, backups): this is only the recorded time.",
            evidence=[guest_cpu(busy, OVER, vm.name, busy.most, "peak")],
        )


@rule(
    "undersized-vm",
    title="A VM uses up its vCPUs or its memory",
    says=(
        "The guest is busy nearly all the time and the host lets it run, so it is short of vCPUs. There is no finding "
        "if the host or a limit makes it wait, or if the host has no CPU left: more vCPUs then make it worse. Steal "
        "does not count as busy. A guest that swaps is short of memory. "
        "The published rule is more than 80% or even 90% on average. This rule needs 20% of the samples above 90%."
    ),
    bands=(UNDER, GUEST_SWAP),
    references=(LARGE_DATABASES, METRICS_IN_VMWARE),
    needs=(CPU, vcpus_unless(("guest", "guest_cpu_pct"))),
)
def undersized_vm(case: Case) -> Iterator[Finding]:
    """Find VMs and guests that are always busy, and guests that swap."""
    for vm in case.vms:
        busy = case.busy(vm)
        if vm.appliance or busy is None or not vm.vcpus or UNDER.severity(busy.stat.often) is None:
            continue
        if busy.stat.is_one_moment:
            continue
        limited = case.per_vcpu(vm, LIMITED.metric)
        run = case.per_vcpu(vm, "run_sum_pct") or case.working(vm.guest)
        held = limited is not None and LIMITED.severity(limited.high)
        # a guest that waits for its host is not too small, and a full host cannot run more vCPUs
        short = contended(case, vm) or is_full(case, vm.host) or (run is not None and run.often < 100 * PEAK)
        if not held and not short:
            yield _too_small(case, vm.subject, vm.guest, busy, vm.vcpus)
    for path in case.guests:
        stat, steal = case.working(path), case.evidence.stat(path, "steal_pct")
        if stat and UNDER.severity(stat.often):
            vcpus = case.evidence.stat(path, "vcpus")
            count = round(vcpus.median) if vcpus else None
            busy = Busy(stat, stat.most, "guest_cpu_pct", path, 1, -steal.mean if steal else 0.0)
            yield _too_small(case, Subject.of_guest(path), path, busy, count)
    yield from _swapping(case)


def _swapping(case: Case) -> Iterator[Finding]:
    for path in case.evidence.entities("guest"):
        swap = case.evidence.stat(path, GUEST_SWAP.metric)
        severity = GUEST_SWAP.severity(swap.often) if swap else None
        if not swap or severity is None:
            continue
        subject = Subject.of_guest(path)
        what = f"memory that {subject.name} reads back from swap, {OFTEN}"
        yield undersized_vm.about(
            subject,
            severity=severity,
            title=f"{subject.name} has too little memory: it swaps",
            figure=f"{size(swap.often)}/s read back from its own swap",
            text=(
                f"{subject.name} reads {size(swap.often)}/s back from its own swap ({OFTEN}; {size(swap.mean)}/s on "
                "average). Its processes need more memory than it has, or a balloon reclaims it. Only the host shows "
                "the balloon."
            ),
            advice="Check the balloon on its host first. Then give the guest more memory, or reduce its load.",
            evidence=[GUEST_SWAP.measure(what, swap.often, path, samples=swap.count)],
        )


def _too_small(case: Case, subject: Subject, guest: str | None, busy: Busy, vcpus: int | None) -> Finding:
    queue = case.evidence.stat(guest, "run_queue")
    evidence = [guest_cpu(busy, UNDER, subject.name, busy.stat.often, busy.stat.said(OFTEN))]
    told = ""
    if queue:
        each = f" on {vcpus} CPUs" if vcpus else ""
        told = f" On average {queue.mean:.1f} processes run or wait{each}."
        what = f"run queue of {subject.name}, mean"
        evidence.append(Measure("run_queue", what, queue.mean, "processes", entity=guest))
    has = f"its {counted(vcpus, 'vCPU')}" if vcpus else "its CPUs"
    return undersized_vm.about(
        subject,
        severity="warning",
        title=f"{subject.name} uses up {has}",
        figure=f"{has} {ready.percent(busy.stat.often)} busy",
        text=(
            f"{subject.name} keeps {has} {ready.percent(busy.stat.often)} busy ({busy.stat.said(OFTEN)}"
            + busy.stat.on_average(f"; {ready.percent(busy.stat.mean)} on average, over {_span(busy)}")
            + f").{told} Processes queue in its guest, and "
            "users notice every peak."
        ),
        advice="Give it more vCPUs, if its load cannot be reduced.",
        caution=(
            "Its host needs free cores for them. Size for peaks at 80%, and stay within a NUMA node or split evenly."
        ),
        evidence=evidence,
    )


def _span(busy: Busy) -> str:
    """Return the time span of the samples, in words."""
    first, last = busy.stat.first_us, busy.stat.last_us
    if busy.stat.moment:
        return busy.stat.moment.removeprefix("over ")
    if first is None or last is None or last <= first:
        return f"{busy.stat.count} samples"
    return span((last - first) / 1e6)


RULES = (oversized_vm, undersized_vm)
