"""Machines with more vCPUs than they use, and with fewer than they need."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hypertwin.diagnose.cpu import COSTOP, LIMITED, OFTEN, READY
from hypertwin.diagnose.memory import MIB, size
from hypertwin.diagnose.rule import LARGE_DATABASES, METRICS_IN_VMWARE, OWN, Band, Finding, Measure, Need, Rule, Subject
from hypertwin.diagnose.subjects import Busy, Case, Machine
from hypertwin.ingest import telemetry
from hypertwin.report import ready

PEAK = 0.8
"""Share of its vCPUs that a machine may use at its peak."""
SPARE_VCPUS = 4
"""vCPUs that a machine must have too many before it is worth a word."""
FEWEST_VCPUS = 2
"""Nobody is told to take a machine to one vCPU."""
FEWEST_SAMPLES = 3
IDLE_PCT = 1
"""Peak below which a machine does nothing but its own housekeeping."""

OVER = Band("guest_cpu_pct", "%", "peak use of all vCPUs, at least 4 of them to spare", info=40, below=True, own=OWN)
UNDER = Band("guest_cpu_pct", "%", "CPU as the guest sees it", warning=90)
GUEST_SWAP = Band(
    "swap_in_bytes_per_s", "B/s", "memory that a guest reads back from its own swap", warning=MIB, own=OWN
)

_CPU = (
    ("vm", "run_sum_pct"),
    ("vm", "cpu_cores"),
    ("vm", "used_mhz"),
    ("vm", "demand_mhz"),
    ("vm", "guest_cpu_pct"),
    ("guest", "guest_cpu_pct"),
)


def needed(vcpus: int, peak_pct: float) -> int:
    """vCPUs that carry a peak at 80 % of them; even, where it is more than one."""
    count = max(1, math.ceil(round(vcpus * peak_pct / 100 / PEAK, 6)))
    return count + (count > 1 and count % 2)


def _oversized(case: Case, rule: Rule) -> Iterator[Finding]:
    for machine in case.machines:
        busy = case.busy(machine)
        if machine.appliance or busy is None or not machine.vcpus or busy.stat.count < FEWEST_SAMPLES:
            continue
        enough = max(needed(machine.vcpus, busy.most), FEWEST_VCPUS)
        if OVER.severity(busy.most) is None or machine.vcpus - enough < SPARE_VCPUS:
            continue
        costop, waiting = case.each(machine, COSTOP.metric), case.each(machine, READY.metric)
        hurts = bool((costop and COSTOP.severity(costop.high)) or (waiting and READY.severity(waiting.high)))
        spared = machine.vcpus - enough
        idle = busy.most < IDLE_PCT
        uses = "is idle" if idle else f"uses {machine.vcpus * busy.most / 100:.1f}"
        yield Finding(
            code=rule.code,
            severity="warning" if hurts else "info",
            subject=machine.subject,
            host=machine.host,
            title=f"{machine.name} has {machine.vcpus} vCPUs and {uses}",
            figure=f"{machine.vcpus} vCPUs, {uses} at its peak",
            text=(
                f"At its peak, over {_span(busy)}, {machine.name} used {ready.percent(busy.most)} of its "
                f"{machine.vcpus} vCPUs ({ready.percent(busy.stat.mean)} on average). {enough} vCPUs would carry that "
                f"peak at 80 %; the other {spared} ({ready.percent(100 * spared / machine.vcpus)}) only have to be "
                "scheduled" + (", which it already pays for with ready or co-stop." if hurts else ".")
            ),
            advice=(
                ("Ask whether anybody needs it, and turn it off. Else take" if idle else "Take")
                + f" it to {enough} vCPUs, after a look at a whole business cycle (month end, backups): this is only "
                "what was recorded."
            ),
            evidence=[_busy(machine, busy, busy.most, "peak", OVER)],
        )


def _undersized(case: Case, rule: Rule) -> Iterator[Finding]:
    for machine in case.machines:
        busy = case.busy(machine)
        if machine.appliance or busy is None or not machine.vcpus or UNDER.severity(busy.stat.often) is None:
            continue
        limited = case.each(machine, LIMITED.metric)
        run = case.each(machine, "run_sum_pct")
        held = limited is not None and LIMITED.severity(limited.high)
        # a guest that only waits for its host is not too small
        if held or (run is not None and run.often < 100 * PEAK):
            continue
        yield _too_small(case, rule, machine.subject, machine.host, busy, machine.vcpus)
    for path in case.guests:
        stat = case.evidence.stat(path, "guest_cpu_pct")
        if stat and UNDER.severity(stat.often):
            name = telemetry.names(path)["guest"]
            vcpus = case.evidence.stat(path, "vcpus")
            count = round(vcpus.median) if vcpus else None
            busy = Busy(stat, stat.most, "guest_cpu_pct", path, 1)
            yield _too_small(case, rule, Subject("guest", name, path), None, busy, count)
    for path in case.evidence.entities("guest"):
        swap = case.evidence.stat(path, GUEST_SWAP.metric)
        severity = GUEST_SWAP.severity(swap.often) if swap else None
        if swap and severity:
            name = telemetry.names(path)["guest"]
            what = f"memory that {name} reads back from swap, {OFTEN}"
            yield Finding(
                code=rule.code,
                severity=severity,
                subject=Subject("guest", name, path),
                title=f"{name} has too little memory: it swaps",
                figure=f"{size(swap.often)}/s read back from its own swap",
                text=(
                    f"{name} reads {size(swap.often)}/s back from its own swap ({OFTEN}; {size(swap.mean)}/s on "
                    "average). Its processes need more memory than it has, or a balloon takes it away: that can only "
                    "be seen on the host."
                ),
                advice="Give the guest more memory, or let it do less; look at the balloon on its host first.",
                evidence=[Measure(GUEST_SWAP.metric, what, swap.often, "B/s", GUEST_SWAP, path, 1, swap.count)],
            )


def _too_small(case: Case, rule: Rule, subject: Subject, host: str | None, busy: Busy, vcpus: int | None) -> Finding:
    guest = subject.path if subject.kind == "guest" else None
    machine = next((each for each in case.machines if each.subject == subject), None)
    queue = case.evidence.stat(guest or (machine.guest if machine else None), "run_queue")
    evidence = [
        Measure(
            busy.metric,
            f"CPU of {subject.name} as its guest sees it, {OFTEN}",
            busy.stat.often,
            "%",
            UNDER,
            busy.entity,
            busy.divisor,
            busy.stat.count,
            busy.added,
        )
    ]
    told = ""
    if queue:
        entity = guest or (machine.guest if machine else None)
        each = f" on {vcpus} CPUs" if vcpus else ""
        told = f" {queue.mean:.1f} processes run or want to, on average{each}."
        evidence.append(
            Measure("run_queue", f"run queue of {subject.name}, mean", queue.mean, "processes", None, entity)
        )
    has = f"its {vcpus} vCPU{'s' if vcpus != 1 else ''}" if vcpus else "its CPUs"
    return Finding(
        code=rule.code,
        severity="warning",
        subject=subject,
        host=host,
        title=f"{subject.name} uses up {has}",
        figure=f"{has} {ready.percent(busy.stat.often)} busy",
        text=(
            f"{subject.name} keeps {has} {ready.percent(busy.stat.often)} busy ({OFTEN}; "
            f"{ready.percent(busy.stat.mean)} on average, over {_span(busy)}).{told} Processes queue in its guest; "
            "every peak is felt at once."
        ),
        advice=(
            "If the work cannot be made less, give it more vCPUs, as long as there are free cores on its host: size "
            "for peaks at 80 %, and stay within a NUMA node or split evenly."
        ),
        evidence=evidence,
    )


def _busy(machine: Machine, busy: Busy, value: float, word: str, band: Band) -> Measure:
    what = f"CPU of {machine.name} as its guest sees it, {word}"
    return Measure(busy.metric, what, value, "%", band, busy.entity, busy.divisor, busy.stat.count, busy.added)


def _span(busy: Busy) -> str:
    """The time that samples are of, in words."""
    first, last = busy.stat.first_us, busy.stat.last_us
    if first is None or last is None or last <= first:
        return f"{busy.stat.count} samples"
    seconds = (last - first) / 1e6
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"


RULES = (
    Rule(
        code="oversized-vm",
        title="A machine has more vCPUs than it uses",
        says=(
            "Even its peak would fit half of its vCPUs, with four or more to spare. Judged by the highest sample; "
            "published is less than 40 % most of the time. Info; a warning where the machine pays for it with ready or "
            "co-stop."
        ),
        bands=(OVER,),
        sources=(LARGE_DATABASES, METRICS_IN_VMWARE),
        needs=(Need("CPU of machines (%RUN, cpu.run, cpu.usagemhz) or of guests", _CPU),),
        find=_oversized,
    ),
    Rule(
        code="undersized-vm",
        title="A machine uses up its vCPUs, or its memory",
        says=(
            "The guest is busy nearly all of the time and the host lets it run: it lacks vCPUs. Left out where the "
            "host or a limit holds it back. In a guest that swaps, memory. Published is more than 80 or even 90 % on "
            "average; here a fifth of the samples must be beyond 90 %."
        ),
        bands=(UNDER, GUEST_SWAP),
        sources=(LARGE_DATABASES, METRICS_IN_VMWARE),
        needs=(Need("CPU of machines (%RUN, cpu.run, cpu.usagemhz) or of guests", _CPU),),
        find=_undersized,
    ),
)
