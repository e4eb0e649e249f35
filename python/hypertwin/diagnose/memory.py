"""Memory: waiting for swap, memory taken back, memory on the wrong NUMA node."""

from __future__ import annotations

from collections.abc import Iterator

from hypertwin.diagnose.cpu import SUSTAINED
from hypertwin.diagnose.rule import (
    ESXTOP_STATISTICS,
    ESXTOP_THRESHOLDS,
    RIGHTSIZING,
    VCPUS,
    Band,
    Finding,
    Measure,
    Need,
    Rule,
)
from hypertwin.diagnose.subjects import Case, Machine
from hypertwin.report import ready

MIB = 2**20
GIB = 2**30

SWAP_WAIT = Band("swap_wait_sum_pct", "%", "swap wait (%SWPWT) per vCPU", critical=5)
BALLOON = Band("ballooned_bytes", "B", "memory in the balloon", warning=MIB)
SWAPPED = Band("swapped_bytes", "B", "memory swapped out by the hypervisor", warning=MIB)
SWAP_IN = Band("swap_in_bytes_per_s", "B/s", "memory read back from swap", critical=MIB)
LOCAL = Band("numa_local_pct", "%", "memory on the home nodes (N%L)", warning=80, below=True)


def _swap_wait(case: Case, rule: Rule) -> Iterator[Finding]:
    for machine in case.machines:
        summed, each = case.evidence.stat(machine.entity, SWAP_WAIT.metric), case.each(machine, SWAP_WAIT.metric)
        severity = SWAP_WAIT.severity(each.high) if each else None
        if not (summed and each and machine.vcpus) or severity is None:
            continue
        interval = case.evidence.interval_s(machine.entity, SWAP_WAIT.metric)
        told = ready.ready(summed.high, machine.vcpus, interval, "swap wait")
        yield Finding(
            code=rule.code,
            severity=severity,
            subject=machine.subject,
            host=machine.host,
            title=f"{machine.name} waits for memory that its host swapped out: {told}",
            figure=told,
            text=(
                f"vCPUs of {machine.name} stand still while {machine.host or 'the host'} reads their memory back from "
                f"disk: {told}, {SUSTAINED}. The guest knows nothing of it; to its users it hangs."
            ),
            advice=(
                "The host has too little memory for its machines: move machines away, give them less memory, or "
                "reserve the memory of this one."
            ),
            evidence=[
                Measure(
                    SWAP_WAIT.metric,
                    f"swap wait per vCPU of {machine.name}, {SUSTAINED}",
                    each.high,
                    "%",
                    SWAP_WAIT,
                    machine.entity,
                    machine.vcpus,
                    each.count,
                )
            ],
        )


def _reclaimed(case: Case, rule: Rule) -> Iterator[Finding]:
    for machine in case.machines:
        measures = []
        for band, word in ((SWAP_IN, "read back from swap"), (SWAPPED, "swapped out"), (BALLOON, "in the balloon")):
            stat = case.evidence.stat(machine.entity, band.metric)
            if stat and band.severity(stat.high):
                what = f"{word} of {machine.name}, {SUSTAINED}"
                measures.append(Measure(band.metric, what, stat.high, band.unit, band, machine.entity, 1, stat.count))
        if not measures:
            continue
        shown = ", ".join(
            f"{size(each.value)}{'/s' if each.unit == 'B/s' else ''} {each.what.partition(' of ')[0]}"
            for each in measures
        )
        of = f" of {size(machine.memory_bytes)}" if machine.memory_bytes else ""
        now = measures[0].band is SWAP_IN
        yield Finding(
            code=rule.code,
            severity="critical" if now else "warning",
            subject=machine.subject,
            host=machine.host,
            title=f"{machine.host or 'The host'} takes memory from {machine.name}",
            figure=shown,
            text=(
                f"{machine.name} does not have all of its memory{of}: {shown}. "
                + ("It is being read back now, which stops vCPUs. " if now else "")
                + "A balloon makes the guest page; what the hypervisor swaps it chooses blindly."
            ),
            advice=(
                "Free memory on the host, or reserve the machine's memory, as vendors of databases ask for. What was "
                "swapped out comes back only when it is touched, or when the machine moves to another host."
            ),
            evidence=measures,
        )


def _remote(case: Case, rule: Rule) -> Iterator[Finding]:
    for machine in case.machines:
        local = case.evidence.stat(machine.entity, LOCAL.metric)
        parts = [case.evidence.stat(machine.entity, metric) for metric in ("numa_local_bytes", "numa_remote_bytes")]
        if local is None:
            yield from _spilled(rule, machine)
            continue
        empty = all(stat is not None and not stat.most for stat in parts)
        if LOCAL.severity(local.seldom) is None or (local.most == 0 and (empty or None in parts)):
            continue
        here, away = parts
        amounts = f" ({size(here.mean)} local, {size(away.mean)} remote)" if here and away else ""
        yield Finding(
            code=rule.code,
            severity="warning",
            subject=machine.subject,
            host=machine.host,
            title=f"{machine.name} has {ready.percent(100 - local.seldom)} of its memory on a remote NUMA node",
            figure=f"{ready.percent(local.seldom)} of its memory is local",
            text=(
                f"In a fifth of the samples or more only {ready.percent(local.seldom)} of the memory of {machine.name} "
                f"is on the nodes where its vCPUs run{amounts}; {ready.percent(local.mean)} on average. An access to "
                "another node takes about 1.7 times as long, and all of them share the link between nodes."
            ),
            advice=(
                "Make it fit: not more vCPUs and memory than one node has, or evenly over the fewest nodes; no CPU "
                "affinity, no CPU hot-add on wide machines. After a move its memory follows in minutes, so look again "
                "then."
            ),
            evidence=[
                Measure(
                    LOCAL.metric,
                    f"N%L of {machine.name}, not reached in a fifth of the samples",
                    local.seldom,
                    "%",
                    LOCAL,
                    machine.entity,
                    1,
                    local.count,
                )
            ],
        )


def _spilled(rule: Rule, machine: Machine) -> Iterator[Finding]:
    """Without N%L: what the model of virtual NUMA says must be remote, because it does not fit."""
    layout = machine.layout
    if not layout or not any(warning["code"] == "memory-spill" for warning in layout["warnings"]):
        return
    remote = sum(client["remote_bytes"] for client in layout["clients"])
    local_pct = 100 * (1 - remote / layout["memory_bytes"])
    if LOCAL.severity(local_pct) is None:
        return
    yield Finding(
        code=rule.code,
        severity="info",
        subject=machine.subject,
        host=machine.host,
        title=f"{size(remote)} of the memory of {machine.name} cannot be local",
        figure=f"{size(remote)} of its memory cannot be local",
        text=(
            f"{machine.name} has {size(layout['memory_bytes'])}, and its {machine.vcpus} vCPUs live on nodes that do "
            f"not hold it: {size(remote)} is on another node. By its configuration; it was not measured."
        ),
        advice="Give it less memory, or let it span as many nodes as hold its memory.",
        evidence=[
            Measure(LOCAL.metric, f"N%L of {machine.name} by its configuration", round(local_pct, 1), "%", LOCAL)
        ],
    )


def size(count: float) -> str:
    """Bytes as people read memory sizes."""
    for unit, bytes_ in (("TiB", 2**40), ("GiB", GIB), ("MiB", MIB), ("KiB", 1024)):
        if count >= bytes_:
            return f"{count / bytes_:.3g} {unit}"
    return f"{count:.0f} B"


RULES = (
    Rule(
        code="swap-wait",
        title="A machine waits for memory that its host swapped out",
        says="vCPUs stand still while the hypervisor reads their memory back from its swap file.",
        bands=(SWAP_WAIT,),
        sources=(ESXTOP_THRESHOLDS, ESXTOP_STATISTICS),
        needs=(Need("swap wait of machines (%SWPWT, cpu.swapwait)", (("vm", SWAP_WAIT.metric),)), VCPUS),
        find=_swap_wait,
    ),
    Rule(
        code="memory-reclaim",
        title="A host takes memory from its machines",
        says="The host has promised more memory than it has, and takes some back by the balloon or by swapping.",
        bands=(BALLOON, SWAPPED, SWAP_IN),
        sources=(ESXTOP_THRESHOLDS,),
        needs=(
            Need(
                "balloon or swap of machines (MCTLSZ, SWCUR, mem.vmmemctl, mem.swapped)",
                (("vm", BALLOON.metric), ("vm", SWAPPED.metric), ("vm", SWAP_IN.metric)),
            ),
        ),
        find=_reclaimed,
    ),
    Rule(
        code="remote-numa-memory",
        title="A machine's memory is on another NUMA node than its vCPUs",
        says="Remote memory is slower. Measured (N%L), or by the configuration.",
        bands=(LOCAL,),
        sources=(ESXTOP_THRESHOLDS, RIGHTSIZING),
        needs=(Need("NUMA locality of machines (N%L)", (("vm", LOCAL.metric),)),),
        find=_remote,
    ),
)
