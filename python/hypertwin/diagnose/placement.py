"""Which machine is on which host: monsters together, storage that eats its host, and no room for a failure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hypertwin.diagnose.cpu import COSTOP, OFTEN, READY
from hypertwin.diagnose.evidence import Stat
from hypertwin.diagnose.memory import size
from hypertwin.diagnose.numa import BY_CLUSTER
from hypertwin.diagnose.rule import (
    CONFIGURATION,
    LARGE_DATABASES,
    OWN,
    VCPUS,
    Band,
    Finding,
    Measure,
    Need,
    Rule,
    Source,
)
from hypertwin.diagnose.subjects import Case, Machine, Server
from hypertwin.ingest import telemetry
from hypertwin.report import ready

MONSTER = 0.5
"""Share of its host's cores from which a machine counts as a monster: a NUMA node of a host with two sockets."""
CALM_PCT = 50
"""Usage under which nothing is wrong with several monsters on a host."""
FULL_PCT = 80
"""Usage up to which another host is filled: the rule of planning for peaks at 80 %."""

MONSTERS = Band("vcpus", "", "vCPUs of large machines on one host over its cores", warning=1, own=OWN)
HCI = Band(
    "used_sum_pct", "%", "storage services' part of a host's cores", info=10, warning=20, own=frozenset({"warning"})
)

HCI_SIZING = Source(
    '"VMware vRealize Operations Performance and Capacity Management" (Packt), chapter 3: hypervisor and vSAN take '
    "about 10 % of a host",
    "https://packtpub.com/en-no/product/vmware-vrealize-operations-performance-and-capacity-management-9781783551682/"
    "chapter/3-mastering-the-key-counters-in-sddc-3/section/network?chapterId=3",
)
SERVICES = re.compile(
    r"(?i)vsan|cmmds|clom|lsom|plog|osfs|vdfs|zdfs|storage|ceph|osd|scini|\bsds|gluster|drbd|chunk|\b(?:mds|csd)\b"
)
"""Names of processes that serve storage."""


def _monsters(case: Case, rule: Rule) -> Iterator[Finding]:
    for server in case.servers:
        large = _large(server)
        total = sum(machine.vcpus or 0 for machine in large)
        if len(large) < 2 or not server.cores or MONSTERS.severity(total / server.cores) is None:
            continue
        usage = case.evidence.stat(server.entity, "usage_pct")
        # nothing is wrong with two monsters that sleep
        if usage and usage.high < CALM_PCT:
            continue
        target = _room(case, server, min(large, key=lambda machine: (machine.vcpus or 0, machine.name)))
        if target is None:
            continue
        other = case.evidence.stat(target.entity, "usage_pct")
        hurt = any(
            band.severity(stat.high)
            for machine in large
            for band in (READY, COSTOP)
            if (stat := case.each(machine, band.metric))
        )
        listed = ", ".join(f"{machine.name} ({machine.vcpus} vCPUs)" for machine in large)
        used = f", used {ready.percent(usage.mean)} on average" if usage else ""
        idle = f", used {ready.percent(other.mean)} on average" if other else ""
        yield Finding(
            code=rule.code,
            severity="critical" if hurt else "warning",
            subject=server.subject,
            host=server.name,
            title=f"{len(large)} large machines share {server.name} while {target.name} has room",
            figure=f"{total} vCPUs of {len(large)} large machines on {server.cores} cores",
            text=(
                f"{listed} are together on {server.name}: {total} vCPUs for {server.cores} cores{used}. {target.name} "
                f"has {target.cores} cores for {target.vcpus} vCPUs{idle}. "
                + ("They pay for it with ready or co-stop." if hurt else "When both are busy, neither finds its cores.")
            ),
            advice=(
                "Move one of them, and keep them apart by a rule; look at the affinity rules that brought them "
                "together."
            ),
            evidence=[
                Measure(
                    "vcpus",
                    f"vCPUs of large machines per core of {server.name}",
                    round(total / server.cores, 3),
                    "",
                    MONSTERS,
                ),
                *(
                    Measure(
                        "usage_pct", f"usage of {each.name}, mean", stat.mean, "%", None, each.entity, 1, stat.count
                    )
                    for each, stat in ((server, usage), (target, other))
                    if stat
                ),
            ],
        )


def _large(server: Server) -> list[Machine]:
    cores = server.cores
    return [machine for machine in server.machines if cores and (machine.vcpus or 0) >= max(MONSTER * cores, 2)]


def _room(case: Case, server: Server, machine: Machine) -> Server | None:
    """The emptiest other host on which a large machine finds its cores: by what is used there, or by vCPUs."""
    vcpus = machine.vcpus or 0
    busy = case.busy(machine)
    fitting: list[tuple[float, str, Server]] = []
    for other in case.servers:
        if other is server or not other.cores or vcpus > other.cores or _large(other):
            continue
        usage = case.evidence.stat(other.entity, "usage_pct")
        measured = usage is not None and busy is not None
        wanted = vcpus * busy.stat.mean / other.cores if busy else 0.0
        full = usage.mean + wanted if usage and measured else 100 * (other.vcpus + vcpus) / other.cores
        if full <= (FULL_PCT if measured else 100):
            fitting.append((full, other.name, other))
    return min(fitting, key=lambda place: place[:2])[2] if fitting else None


def _hci(case: Case, rule: Rule) -> Iterator[Finding]:
    for server in case.servers:
        if not server.entity or not server.cores:
            continue
        services = [
            (machine.name, machine.entity) for machine in server.machines if machine.appliance and machine.entity
        ]
        prefix = f"{server.entity}/process/"
        services += [
            (name, path)
            for path in case.evidence.entities("process")
            if path.startswith(prefix) and SERVICES.search(name := telemetry.names(path)["process"])
        ]
        used = [
            (name, path, metric, stat)
            for name, path in services
            if (found := _used(case, path)) is not None
            for metric, stat in (found,)
        ]
        cores = sum(stat.often for *_, stat in used) / 100
        share = round(100 * cores / server.cores, 2)
        severity = HCI.severity(share)
        if severity is None:
            continue
        used.sort(key=lambda each: (-each[3].often, each[0]))
        listed = ", ".join(f"{name} {stat.often / 100:.1f}" for name, _, _, stat in used[:4])
        usage = case.evidence.stat(server.entity, "usage_pct")
        leaves = f" {server.name} is used {ready.percent(usage.often)} in all." if usage else ""
        yield Finding(
            code=rule.code,
            severity=severity,
            subject=server.subject,
            host=server.name,
            title=f"Storage takes {ready.percent(share)} of the CPU of {server.name}",
            figure=f"{cores:.1f} of {server.cores} cores for storage",
            text=(
                f"Services of the hyperconverged storage use {cores:.1f} of the {server.cores} cores of {server.name} "
                f"({OFTEN}): {listed}.{leaves} Machines get what is left, and storage wants most when they do."
            ),
            advice=(
                f"Plan {server.name} with {max(server.cores - round(cores), 0)} cores for machines, not "
                f"{server.cores}. Fewer or larger I/Os, or storage on hosts of its own, give cores back."
            ),
            evidence=[
                Measure(
                    "used_sum_pct", f"storage services' part of the cores of {server.name}, {OFTEN}", share, "%", HCI
                ),
                *(
                    Measure(
                        metric,
                        f"cores that {name} uses, {OFTEN}",
                        round(stat.often / 100, 3),
                        "cores",
                        None,
                        path,
                        100,
                        stat.count,
                    )
                    for name, path, metric, stat in used[:4]
                ),
            ],
        )


def _used(case: Case, path: str) -> tuple[str, Stat] | None:
    for metric in ("used_sum_pct", "run_sum_pct"):
        stat = case.evidence.stat(path, metric)
        if stat:
            return metric, stat
    cores = case.evidence.stat(path, "cpu_cores")
    return ("cpu_cores", cores.over(1 / 100)) if cores else None


def _failover(case: Case, rule: Rule) -> Iterator[Finding]:
    """Machines that no other host could take: too wide, or too large for the memory that the others have free."""
    servers = [server for server in case.servers if server.cores and server.memory_bytes]
    if len(servers) < 2:
        return
    used = {id(server): sum(machine.memory_bytes or 0 for machine in server.machines) for server in servers}
    for server in servers:
        free = [(other, (other.memory_bytes or 0) - used[id(other)]) for other in servers if other is not server]
        stuck = []
        for machine in sorted(server.machines, key=lambda machine: (-(machine.memory_bytes or 0), machine.name)):
            if machine.appliance:
                continue
            wide = machine.vcpus or 0
            fits = [
                place
                for place, (other, room) in enumerate(free)
                if wide <= ((other.cores if wide <= (server.cores or 0) else other.threads) or 0)
                and (machine.memory_bytes or 0) <= room
            ]
            if not fits:
                stuck.append(machine)
                continue
            best = max(fits, key=lambda place: free[place][1])
            free[best] = (free[best][0], free[best][1] - (machine.memory_bytes or 0))
        if not stuck:
            continue
        memory = sum(machine.memory_bytes or 0 for machine in stuck)
        listed = ", ".join(machine.name for machine in stuck[:4]) + (
            f" and {len(stuck) - 4} more" if len(stuck) > 4 else ""
        )
        verb = "have" if len(stuck) > 1 else "has"
        yield Finding(
            code=rule.code,
            severity="info",
            subject=server.subject,
            host=server.name,
            title=f"If {server.name} fails, {listed} {verb} nowhere to go",
            figure=f"{len(stuck)} machine{'s' * (len(stuck) > 1)} with {size(memory)} of memory",
            text=(
                f"{listed} ({size(memory)} of memory) {verb} no place on the other {len(servers) - 1} hosts when "
                f"{server.name} fails: too many vCPUs for their cores, or too little memory free, counting all that "
                "machines are configured with."
            ),
            advice="Keep as much free as the largest host holds, or make the machines fit the smallest host.",
            evidence=[Measure("memory_bytes", f"memory without a place when {server.name} fails", memory, "B")],
        )


RULES = (
    Rule(
        code="unbalanced-monsters",
        title="Large machines share a host while another has room",
        says=(
            "Two or more machines of half a host's cores or more are together on one host and have more vCPUs than it "
            "has cores, while another host could take one. Not said while their host is less than half used."
        ),
        bands=(MONSTERS,),
        sources=(LARGE_DATABASES,),
        needs=(
            VCPUS,
            Need("cores of hosts, or their configuration (--cluster)", (("host", "cores"), CONFIGURATION)),
        ),
        find=_monsters,
    ),
    Rule(
        code="hci-overhead",
        title="Storage services take a large part of a host",
        says=(
            "On a hyperconverged host its storage (processes such as vSAN's, or an appliance such as a Nutanix CVM) "
            "uses more CPU than is usually planned for it. Subtract it before machines are sized."
        ),
        bands=(HCI,),
        sources=(HCI_SIZING, LARGE_DATABASES),
        needs=(
            Need(
                "CPU of storage processes or appliances",
                (
                    ("process", "used_sum_pct"),
                    ("process", "run_sum_pct"),
                    ("process", "cpu_cores"),
                    ("vm", "used_sum_pct"),
                    ("vm", "run_sum_pct"),
                ),
            ),
            Need("cores of hosts, or their configuration (--cluster)", (("host", "cores"), CONFIGURATION)),
        ),
        find=_hci,
    ),
    Rule(
        code="no-failover-capacity",
        title="Machines have nowhere to go when their host fails",
        says="By configured memory, and one vCPU per core: each machine of a host is put on the others, largest first.",
        bands=(),
        sources=(LARGE_DATABASES,),
        needs=(BY_CLUSTER,),
        find=_failover,
    ),
)
