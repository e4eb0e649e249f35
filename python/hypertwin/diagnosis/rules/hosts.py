"""Hosts without free CPU or memory."""

from __future__ import annotations

from collections.abc import Iterator

from hypertwin.diagnosis.case import Case
from hypertwin.diagnosis.evidence import Stat
from hypertwin.diagnosis.rule import Band, Finding, Measure, Need, Reference, rule
from hypertwin.diagnosis.rules.shared import VCENTER_ALARMS
from hypertwin.diagnosis.words import OFTEN, size
from hypertwin.metrics import ready
from hypertwin.metrics.words import count

CPU = Band.of("usage_pct", "usage_pct")
MEMORY = Band("memory_used_bytes", "%", "memory used of a host", warning=90, critical=95, own=frozenset({"critical"}))

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
    bands=(CPU,),
    references=(BEST_PRACTICES, USAGE_ALARM),
    needs=(Need("CPU usage of hosts (PCPU USED, cpu.usage, vHost CPU usage)", (("host", CPU.metric),)),),
)
def host_cpu_saturated(case: Case) -> Iterator[Finding]:
    """Find hosts without free CPU."""
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
                CPU.measure(
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
        "ones. Then it reclaims memory by balloon, compression and swap."
    ),
    bands=(MEMORY,),
    references=(VCENTER_ALARMS,),
    needs=(Need("memory used of hosts (mem.consumed, vHost Memory usage)", (("host", MEMORY.metric),)),),
)
def host_memory_full(case: Case) -> Iterator[Finding]:
    """Find hosts without free memory."""
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
            f". Its {count(len(host.vms), 'VM')} are configured with {size(promised)}"
            if promised and host.is_known
            else ""
        )
        yield host_memory_full.about(
            host.subject,
            severity=severity,
            title=f"{host.name} has hardly any memory left: {ready.percent(used.often)} used",
            figure=f"memory {ready.percent(used.often)} used",
            text=(
                f"{size(stat.often)} of the {size(host.memory_bytes)} of {host.name} are consumed, "
                f"{used.said(OFTEN)}{of_vms}. The hypervisor must reclaim memory for new demand from other VMs."
                + _lasts(stat)
            ),
            advice=(
                "Move VMs to hosts of the cluster with free memory, give less to VMs that do not use it, or add memory."
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


RULES = (host_cpu_saturated, host_memory_full)
