"""Hosts without free CPU or memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hypertwin.diagnosis.case import Case
from hypertwin.diagnosis.evidence import Stat
from hypertwin.diagnosis.rule import OWN, Band, Finding, Measure, Need, Reference, rule
from hypertwin.diagnosis.rules.shared import ESXTOP_STATISTICS, HOST_CPU, VCENTER_ALARMS
from hypertwin.diagnosis.subjects import Host
from hypertwin.diagnosis.words import OFTEN, size
from hypertwin.documents.diagnosis import SEVERITIES, Severity
from hypertwin.metrics import ready
from hypertwin.metrics.words import count

MEMORY = Band("memory_used_bytes", "%", "memory used of a host", warning=90, critical=95, own=frozenset({"critical"}))
STATE = Band(
    "memory_state", "", "memory state of an ESXi host: 0 high, 1 soft, 2 hard, 3 low", warning=1, critical=2, own=OWN
)

LOAD = "cpu_load_1min"

BEST_PRACTICES = Reference(
    '"Performance Best Practices for VMware vSphere 4.0", chapter 2, on the usage of a host that esxtop shows: 80% is '
    "a reasonable ceiling, 90% a warning"
)
USAGE_ALARM = Reference(
    'Broadcom KB 421543, on the alarm "Host CPU usage": warning at 75%, critical at 90%',
    "https://knowledge.broadcom.com/external/article/421543/esxi-host-cpu-usage-alarms-and-vm-perfor.html",
)


@rule(
    "host-cpu-saturated",
    title="A host has no CPU left",
    says=(
        "The host uses nearly all cycles of its cores at nominal clock. Its VMs wait, or soon will. Turbo and "
        "hyper-threading count as cycles, so more than 100% is possible. Telemetry counts if 20% of its samples are "
        "beyond the limit, an export as a single sample."
    ),
    bands=(HOST_CPU,),
    references=(BEST_PRACTICES, USAGE_ALARM),
    needs=(
        Need(
            "CPU usage of hosts (PCPU USED, cpu.usage, vHost CPU usage; Linux: also cores, or --cluster)",
            (("host", HOST_CPU.metric),),
        ),
    ),
)
def host_cpu_saturated(case: Case) -> Iterator[Finding]:
    """Find hosts without free CPU."""
    for host in case.hosts:
        usage = case.evidence.stat(host.entity, HOST_CPU.metric)
        severity = HOST_CPU.severity(usage.often) if usage else None
        if not usage or severity is None:
            continue
        others = [
            stat.mean
            for each in (host.cluster.hosts if host.cluster else ())
            if each is not host and (stat := case.evidence.stat(each.entity, HOST_CPU.metric))
        ]
        load = case.evidence.stat(host.entity, LOAD)
        wanted = (
            f" Its 1-minute load average is {load.often:.2g}, {load.said(OFTEN)}. 1 is its capacity, and load beyond"
            " that waits."
            if load
            else ""
        )
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
                + f".{beside} Its VMs get less CPU than they demand, and each peak slows all of them."
                + wanted
                + _lasts(usage)
            ),
            advice="Move VMs to hosts of the cluster with free CPU, or add a host.",
            evidence=[
                HOST_CPU.measure(
                    f"CPU used of {host.name}, {usage.said(OFTEN)}", usage.often, host.entity, samples=usage.count
                ),
                *([Measure(LOAD, f"load average of {host.name}", load.often, "", entity=host.entity)] if load else []),
            ],
        )


def _range(values: list[float]) -> str:
    least, most = ready.percent(min(values)), ready.percent(max(values))
    return least if least == most else f"{least} to {most}"


def _lasts(stat: Stat) -> str:
    return " A single sample does not show if it lasts." if stat.is_one_moment else ""


@rule(
    "host-memory-full",
    title="A host has hardly any memory left",
    says=(
        "Its VMs and its hypervisor consume nearly all of its memory. ESXi first breaks large pages and shares small "
        "ones. Then it reclaims memory by balloon, compression and swap. In the states hard and low it swaps."
    ),
    bands=(MEMORY, STATE),
    references=(VCENTER_ALARMS, ESXTOP_STATISTICS),
    needs=(
        Need(
            "memory used of hosts (PMEM free, mem.consumed, vHost Memory usage), or memory state",
            (("host", MEMORY.metric), ("host", STATE.metric)),
        ),
    ),
)
def host_memory_full(case: Case) -> Iterator[Finding]:
    """Find hosts without free memory."""
    for host in case.hosts:
        found = list(_memory(case, host))
        if not found:
            continue
        told = ", ".join(each.figure for each in found)
        promised = sum(vm.memory_bytes or 0 for vm in host.vms)
        of_vms = (
            f". Its {count(len(host.vms), 'VM')} are configured with {size(promised)}"
            if promised and host.is_known
            else ""
        )
        yield host_memory_full.about(
            host.subject,
            severity=min((each.severity for each in found), key=SEVERITIES.index),
            title=f"{host.name} has hardly any memory left: {told}",
            figure=f"memory {told}",
            text=(
                f"{'; '.join(each.text for each in found)}{of_vms}. The hypervisor must reclaim memory for new demand "
                f"from other VMs.{_lasts(found[0].stat)}"
            ),
            advice=(
                "Move VMs to hosts of the cluster with free memory, give less to VMs that do not use it, or add memory."
            ),
            evidence=[each.measure for each in found],
        )


class _Memory(NamedTuple):
    """Figure of a host's memory beyond its band."""

    stat: Stat
    severity: Severity
    figure: str
    text: str
    measure: Measure


def _memory(case: Case, host: Host) -> Iterator[_Memory]:
    used, state = (case.evidence.stat(host.entity, band.metric) for band in (MEMORY, STATE))
    whole = host.memory_bytes or 0.0
    share = used.over(whole / 100) if used and whole else None
    if used and share and (severity := MEMORY.severity(share.often)):
        what, value = f"memory used of {host.name}, {share.said(OFTEN)}", round(share.often, 3)
        measure = MEMORY.measure(what, value, host.entity, divisor=whole / 100, samples=share.count)
        text = f"{size(used.often)} of the {size(whole)} of {host.name} are consumed, {share.said(OFTEN)}"
        yield _Memory(share, severity, f"{ready.percent(share.often)} used", text, measure)
    if state and (severity := STATE.severity(state.often)):
        told = f"state {state.often:.0f} (0 is enough)"
        measure = STATE.measure(f"memory state of {host.name}, {OFTEN}", state.often, host.entity, samples=state.count)
        yield _Memory(state, severity, told, f"{host.name} is in memory {told}, {OFTEN}", measure)


RULES = (host_cpu_saturated, host_memory_full)
