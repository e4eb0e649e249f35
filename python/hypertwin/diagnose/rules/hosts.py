"""Hosts that are full: of CPU, of memory, or of more memory promised than there is."""

from __future__ import annotations

from collections.abc import Iterator

from hypertwin.diagnose.case import Case
from hypertwin.diagnose.evidence import Stat
from hypertwin.diagnose.rule import OWN, Band, Finding, Need, Reference, rule
from hypertwin.diagnose.rules.shared import BALLOON, ESXTOP_THRESHOLDS, SWAP_IN, SWAPPED, VCENTER_ALARMS
from hypertwin.diagnose.subjects import Host, Vm
from hypertwin.diagnose.words import OFTEN, SUSTAINED, size
from hypertwin.report import ready
from hypertwin.report.words import count, some

MOST_NAMES = 6
"""VMs that a text lists."""

CPU = Band("usage_pct", "%", "CPU used of a host", warning=90, critical=95, own=frozenset({"critical"}))
MEMORY = Band("memory_used_bytes", "%", "memory used of a host", warning=90, critical=95, own=frozenset({"critical"}))
PROMISED = Band("memory_bytes", "%", "memory configured for machines over that of their host", info=100, own=OWN)

BEST_PRACTICES = Reference(
    '"Performance Best Practices for VMware vSphere 4.0", chapter 2, on the usage of a host that esxtop shows: 80 % is '
    "a reasonable ceiling, 90 % a warning"
)
USAGE_ALARM = Reference(
    'Broadcom KB 421543, on the alarm "Host CPU usage": warning at 75 %, critical at 90 %',
    "https://knowledge.broadcom.com/external/article/421543/esxi-host-cpu-usage-alarms-and-vm-perfor.html",
)


@rule(
    "host-cpu-saturated",
    title="A host has no CPU left",
    says=(
        "It uses nearly all cycles of its cores at nominal clock; what runs there waits, or soon will. Turbo and "
        "hyper-threading count as cycles, so that more than 100 % is possible. Telemetry counts where a fifth of its "
        "samples is beyond, an export as the moment that it is."
    ),
    bands=(CPU,),
    references=(BEST_PRACTICES, USAGE_ALARM),
    needs=(Need("usage of hosts (PCPU USED, cpu.usage, vHost CPU usage)", (("host", CPU.metric),)),),
)
def host_cpu_saturated(case: Case) -> Iterator[Finding]:
    """Hosts whose cores are used up."""
    for host in case.hosts:
        usage = case.evidence.stat(host.entity, CPU.metric)
        severity = CPU.severity(usage.often) if usage else None
        if not usage or severity is None:
            continue
        others = [
            stat.mean
            for each in (host.cluster.hosts if host.cluster else ())
            if each is not host and (stat := case.evidence.stat(each.entity, CPU.metric))
        ]
        beside = f" The {count(len(others), 'other host')} of its cluster: {_range(others)}." if others else ""
        yield host_cpu_saturated.about(
            host.subject,
            severity=severity,
            title=f"{host.name} has no CPU left: {ready.percent(usage.often)} used",
            figure=f"CPU {ready.percent(usage.often)} used",
            text=(
                f"{host.name} uses {ready.percent(usage.often)} of its {host.cores or 'unknown number of'} cores at "
                f"nominal clock, {usage.said(OFTEN)}"
                + usage.on_average(f"; {ready.percent(usage.mean)} on average")
                + f".{beside} Its machines get less than they ask for, and every peak is felt by all of them."
                + _lasts(usage)
            ),
            advice="Move machines to hosts of the cluster with room, or add a host.",
            evidence=[
                CPU.measure(
                    f"CPU used of {host.name}, {usage.said(OFTEN)}", usage.often, host.entity, samples=usage.count
                )
            ],
        )


def _range(values: list[float]) -> str:
    least, most = ready.percent(min(values)), ready.percent(max(values))
    return least if least == most else f"{least} to {most}"


def _lasts(stat: Stat) -> str:
    return " Whether it lasts, one moment does not show." if stat.is_one_moment else ""


@rule(
    "host-memory-full",
    title="A host has hardly any memory left",
    says=(
        "Its machines and its hypervisor occupy nearly all of its memory. Before it is full ESXi breaks large pages "
        "and shares small ones; then it takes memory back by balloon, compression and swap."
    ),
    bands=(MEMORY,),
    references=(VCENTER_ALARMS,),
    needs=(Need("memory used of hosts (mem.consumed, vHost Memory usage)", (("host", MEMORY.metric),)),),
)
def host_memory_full(case: Case) -> Iterator[Finding]:
    """Hosts whose memory is used up."""
    for host in case.hosts:
        stat = case.evidence.stat(host.entity, MEMORY.metric)
        if not stat or not host.memory_bytes:
            continue
        used = stat.over(host.memory_bytes / 100)
        severity = MEMORY.severity(used.often)
        if severity is None:
            continue
        promised = sum(vm.memory_bytes or 0 for vm in host.vms)
        of_vms = (
            f"; {count(len(host.vms), 'machine')} on it have {size(promised)}" if promised and host.is_known else ""
        )
        yield host_memory_full.about(
            host.subject,
            severity=severity,
            title=f"{host.name} has hardly any memory left: {ready.percent(used.often)} used",
            figure=f"memory {ready.percent(used.often)} used",
            text=(
                f"{size(stat.often)} of the {size(host.memory_bytes)} of {host.name} are occupied, "
                f"{used.said(OFTEN)}{of_vms}. What machines touch next, the hypervisor has to take from others."
                + _lasts(stat)
            ),
            advice=(
                "Move machines to hosts of the cluster with free memory, give them less where they do not touch it, or "
                "add memory."
            ),
            evidence=[
                MEMORY.measure(
                    f"memory used of {host.name}, {used.said(OFTEN)}",
                    round(used.often, 3),
                    host.entity,
                    divisor=host.memory_bytes / 100,
                    samples=used.count,
                )
            ],
        )


@rule(
    "host-memory-overcommitted-reclaiming",
    title="A host has promised more memory than it has, and takes it back",
    says=(
        "Its machines are configured with more than its memory, and their balloon or its swap is in use: by its own "
        "counters, or those of its machines together. Critical while memory is read back from swap. Where it is not "
        "known which machines are on it, its own counters are enough."
    ),
    bands=(BALLOON, SWAPPED, SWAP_IN, PROMISED),
    references=(ESXTOP_THRESHOLDS,),
    needs=(
        Need(
            "balloon or swap of hosts or machines (Memctl, Swap, MCTLSZ, SWCUR, mem.vmmemctl, mem.swapped)",
            tuple((kind, band.metric) for kind in ("host", "vm") for band in (BALLOON, SWAPPED)),
        ),
        Need(
            "memory of hosts, or their configuration (--cluster)",
            fact=lambda case: any(host.memory_bytes for host in case.hosts),
        ),
    ),
)
def host_memory_overcommitted_reclaiming(case: Case) -> Iterator[Finding]:
    """Hosts that reclaim memory because there is too little of it."""
    for host in case.hosts:
        promised = sum(vm.memory_bytes or 0 for vm in host.vms) + host.memory_own_bytes
        over = bool(host.memory_bytes) and promised > (host.memory_bytes or 0)
        own = any(case.evidence.stat(host.entity, band.metric) for band in (BALLOON, SWAPPED))
        if not host.memory_bytes or not (over or (own and not host.is_known)):
            continue
        taken = [
            (band, word, *_taken(case, host, band)) for band, word in ((BALLOON, "ballooned"), (SWAPPED, "swapped out"))
        ]
        measures = [
            band.measure(f"memory {word} on {host.name}, {said}", value, entity)
            for band, word, value, entity, said in taken
            if band.severity(value)
        ]
        if not measures:
            continue
        back = [
            vm
            for vm in host.vms
            if (stat := case.evidence.stat(vm.entity, SWAP_IN.metric)) and SWAP_IN.severity(stat.high)
        ]
        hurt = _hurt(case, host)
        told = " and ".join(f"{size(value)} {word}" for band, word, value, _, _ in taken if band.severity(value))
        ratio = 100 * promised / host.memory_bytes
        whose = f" Of {count(len(hurt), 'machine')}: {some([vm.name for vm in hurt], MOST_NAMES)}." if hurt else ""
        crowd = (
            f"{count(len(host.vms), 'machine')} of {host.name} are configured with {ready.percent(ratio)} of its "
            f"{size(host.memory_bytes)}"
            if over and host.is_known
            else f"{host.name} has {size(host.memory_bytes)}, and which machines share them is not known"
        )
        yield host_memory_overcommitted_reclaiming.about(
            host.subject,
            severity="critical" if back else "warning",
            title=f"{host.name} takes memory back from its machines: {told}",
            figure=told,
            text=(
                f"{crowd}; {told}, {taken[0][4] if measures[0].band is BALLOON else taken[1][4]}.{whose} A balloon "
                "makes guests page; what the hypervisor swaps it chooses blindly."
                + (f" It is being read back now by {some([vm.name for vm in back], MOST_NAMES)}." if back else "")
            ),
            advice="Move machines to a host of the cluster with free memory, give them less, or add memory.",
            caution=(
                "What was swapped out comes back only when it is touched, or when the machine moves to another host."
            ),
            evidence=[
                *measures,
                *(
                    [PROMISED.measure(f"memory configured for machines of {host.name} over its own", round(ratio, 1))]
                    if over
                    else []
                ),
            ],
        )


def _taken(case: Case, host: Host, band: Band) -> tuple[float, str | None, str]:
    """How much a host has taken back: by its own counter, or by those of its machines where they say more.

    With the entity that has it, and when that was, in words.
    """
    own = case.evidence.stat(host.entity, band.metric)
    found = [stat for vm in host.vms if (stat := case.evidence.stat(vm.entity, band.metric))]
    summed = sum(stat.high for stat in found)
    if own and own.high >= summed:
        return own.high, host.entity, own.said(SUSTAINED)
    moments = {stat.moment for stat in found}
    return summed, None, moments.pop() if len(moments) == 1 and "" not in moments else SUSTAINED


def _hurt(case: Case, host: Host) -> list[Vm]:
    """Machines that lack memory, the worst first."""
    lacking = []
    for vm in host.vms:
        found = [(band, case.evidence.stat(vm.entity, band.metric)) for band in (BALLOON, SWAPPED)]
        taken = sum(stat.high for band, stat in found if stat and band.severity(stat.high))
        if taken:
            lacking.append((-taken, vm.name, vm))
    return [vm for *_, vm in sorted(lacking, key=lambda each: each[:2])]


RULES = (host_cpu_saturated, host_memory_overcommitted_reclaiming, host_memory_full)
