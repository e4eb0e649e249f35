"""Memory: waiting for swap, memory taken back, memory on the wrong NUMA node."""

from __future__ import annotations

from collections.abc import Iterator

from hypertwin.diagnose.case import Case
from hypertwin.diagnose.rule import Band, Finding, Need, rule
from hypertwin.diagnose.rules.shared import (
    BALLOON,
    ESXTOP_STATISTICS,
    ESXTOP_THRESHOLDS,
    RIGHTSIZING,
    SWAP_IN,
    SWAPPED,
    VCPUS,
)
from hypertwin.diagnose.subjects import Vm
from hypertwin.diagnose.words import SUSTAINED, size
from hypertwin.report import ready

SWAP_WAIT = Band("swap_wait_sum_pct", "%", "swap wait (%SWPWT) per vCPU", critical=5)
LOCAL = Band("numa_local_pct", "%", "memory on the home nodes (N%L)", warning=80, below=True)


@rule(
    "swap-wait",
    title="A machine waits for memory that its host swapped out",
    says="vCPUs stand still while the hypervisor reads their memory back from its swap file.",
    bands=(SWAP_WAIT,),
    references=(ESXTOP_THRESHOLDS, ESXTOP_STATISTICS),
    needs=(Need("swap wait of machines (%SWPWT, cpu.swapwait)", (("vm", SWAP_WAIT.metric),)), VCPUS),
)
def swap_wait(case: Case) -> Iterator[Finding]:
    """VMs that wait for their host's swap file."""
    for vm in case.vms:
        summed, each = case.evidence.stat(vm.entity, SWAP_WAIT.metric), case.per_vcpu(vm, SWAP_WAIT.metric)
        severity = SWAP_WAIT.severity(each.high) if each else None
        if not (summed and each and vm.vcpus) or severity is None:
            continue
        interval = case.evidence.interval_s(vm.entity, SWAP_WAIT.metric)
        told = ready.ready(summed.high, vm.vcpus, interval, "swap wait")
        what = f"swap wait per vCPU of {vm.name}, {SUSTAINED}"
        yield swap_wait.about(
            vm.subject,
            severity=severity,
            title=f"{vm.name} waits for memory that its host swapped out: {told}",
            figure=told,
            text=(
                f"vCPUs of {vm.name} stand still while {vm.host_name or 'the host'} reads their memory back from "
                f"disk: {told}, {SUSTAINED}. The guest knows nothing of it; to its users it hangs."
            ),
            advice=(
                "The host has too little memory for its machines: move machines away, give them less memory, or "
                "reserve the memory of this one."
            ),
            evidence=[SWAP_WAIT.measure(what, each.high, vm.entity, samples=each.count, divisor=vm.vcpus)],
        )


@rule(
    "memory-reclaim",
    title="A host takes memory from its machines",
    says="The host has promised more memory than it has, and takes some back by the balloon or by swapping.",
    bands=(BALLOON, SWAPPED, SWAP_IN),
    references=(ESXTOP_THRESHOLDS,),
    needs=(
        Need(
            "balloon or swap of machines (MCTLSZ, SWCUR, mem.vmmemctl, mem.swapped)",
            (("vm", BALLOON.metric), ("vm", SWAPPED.metric), ("vm", SWAP_IN.metric)),
        ),
    ),
)
def memory_reclaim(case: Case) -> Iterator[Finding]:
    """VMs that do not have all of their memory."""
    for vm in case.vms:
        measures, when = [], ""
        for band, word in ((SWAP_IN, "read back from swap"), (SWAPPED, "swapped out"), (BALLOON, "in the balloon")):
            stat = case.evidence.stat(vm.entity, band.metric)
            if stat and band.severity(stat.high):
                what = f"{word} of {vm.name}, {stat.said(SUSTAINED)}"
                measures.append(band.measure(what, stat.high, vm.entity, samples=stat.count))
                when = f" {stat.moment}" if stat.moment else ""
        if not measures:
            continue
        shown = ", ".join(
            f"{size(each.value)}{'/s' if each.unit == 'B/s' else ''} {each.what.partition(' of ')[0]}"
            for each in measures
        )
        of = f" of {size(vm.memory_bytes)}" if vm.memory_bytes else ""
        now = measures[0].band is SWAP_IN
        yield memory_reclaim.about(
            vm.subject,
            severity="critical" if now else "warning",
            title=f"{vm.host_name or 'The host'} takes memory from {vm.name}",
            figure=shown,
            text=(
                f"{vm.name} does not have all of its memory{of}: {shown}{when}. "
                + ("It is being read back now, which stops vCPUs. " if now else "")
                + "A balloon makes the guest page; what the hypervisor swaps it chooses blindly."
            ),
            advice=(
                "Free memory on the host, or reserve the machine's memory, as vendors of databases ask for. What was "
                "swapped out comes back only when it is touched, or when the machine moves to another host."
            ),
            evidence=measures,
        )


@rule(
    "remote-numa-memory",
    title="A machine's memory is on another NUMA node than its vCPUs",
    says=(
        "Remote memory is slower. Measured (N%L), or by the memory that the machine has touched, where that exceeds "
        "the nodes that its vCPUs are on. A machine whose host is a guess is not judged."
    ),
    bands=(LOCAL,),
    references=(ESXTOP_THRESHOLDS, RIGHTSIZING),
    needs=(Need("NUMA locality of machines (N%L)", (("vm", LOCAL.metric),)),),
)
def remote_numa_memory(case: Case) -> Iterator[Finding]:
    """VMs with remote memory, as measured; where it was not, by what cannot be local."""
    for vm in case.vms:
        local = case.evidence.stat(vm.entity, LOCAL.metric)
        parts = [case.evidence.stat(vm.entity, metric) for metric in ("numa_local_bytes", "numa_remote_bytes")]
        if local is None:
            yield from _spilled(vm)
            continue
        empty = all(stat is not None and not stat.most for stat in parts)
        if LOCAL.severity(local.seldom) is None or (local.most == 0 and (empty or None in parts)):
            continue
        here, away = parts
        amounts = f" ({size(here.mean)} local, {size(away.mean)} remote)" if here and away else ""
        what = f"N%L of {vm.name}, not reached in a fifth of the samples"
        yield remote_numa_memory.about(
            vm.subject,
            severity="warning",
            title=f"{vm.name} has {ready.percent(100 - local.seldom)} of its memory on a remote NUMA node",
            figure=f"{ready.percent(local.seldom)} of its memory is local",
            text=(
                f"In a fifth of the samples or more only {ready.percent(local.seldom)} of the memory of {vm.name} "
                f"is on the nodes where its vCPUs run{amounts}; {ready.percent(local.mean)} on average. An access to "
                "another node takes about 1.7 times as long, and all of them share the link between nodes."
            ),
            advice=(
                "Make it fit: not more vCPUs and memory than one node has, or evenly over the fewest nodes; no CPU "
                "affinity, no CPU hot-add on wide machines. After a move its memory follows in minutes, so look again "
                "then."
            ),
            evidence=[LOCAL.measure(what, local.seldom, vm.entity, samples=local.count)],
        )


def _spilled(vm: Vm) -> Iterator[Finding]:
    """Without N%L: what must be remote because the nodes that its vCPUs are on do not hold it, whatever else is there.

    Only memory that it has touched is on a node; which VM was placed first must not matter.
    """
    layout = vm.shape
    if not layout or not vm.facts:
        return
    touched = vm.facts.measured.memory_consumed_bytes
    touched = vm.facts.memory_touched_bytes if touched is None else min(touched, vm.facts.memory_bytes)
    nodes = len(set(layout["homes"]))
    room = nodes * layout["host_topology"]["memory_per_node_bytes"]
    local_pct = 100 * room / touched if touched else 100.0
    if LOCAL.severity(local_pct) is None:
        return
    remote, whole = touched - room, touched == vm.facts.memory_bytes
    yield remote_numa_memory.about(
        vm.subject,
        severity="info",
        title=f"{size(remote)} of the memory of {vm.name} cannot be local",
        figure=f"{size(remote)} of its memory cannot be local",
        text=(
            f"{vm.name} {'has' if whole else 'has touched'} {size(touched)}, and its {vm.vcpus} vCPUs live on "
            f"{nodes} node{'s' * (nodes > 1)} of {vm.host_name} with {size(room)}: {size(remote)} "
            f"{'is on another node when it uses all of it' if whole else 'is on another node'}. By its size; locality "
            "was not measured."
        ),
        advice="Let it span as many nodes as hold its memory, or give it less memory, if it needs no more.",
        evidence=[LOCAL.measure(f"N%L of {vm.name} by its size", round(local_pct, 1))],
    )


RULES = (swap_wait, memory_reclaim, remote_numa_memory)
