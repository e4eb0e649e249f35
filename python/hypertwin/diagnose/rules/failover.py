"""Whether a cluster still has a place for all of its machines when a host fails.

By totals of the cluster, so that it holds whatever machine is on which host, and by packing: machines are put on the
hosts that are left, the largest first. Where the place of every machine is known, it is also tried without moving those
whose host did not fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hypertwin.diagnose.case import Case
from hypertwin.diagnose.rule import OWN, Band, Finding, Measure, rule
from hypertwin.diagnose.rules.shared import BY_CLUSTER, HA, LARGE_DATABASES
from hypertwin.diagnose.subjects import Cluster, Host, Vm
from hypertwin.diagnose.words import size
from hypertwin.report import ready
from hypertwin.report.words import count, some

MOST_NAMES = 4
"""VMs or hosts that a text lists."""
MOST_MORE = 64
"""Hosts that are added at most to see how many it takes."""

CONFIGURED = Band(
    "memory_bytes", "%", "memory configured for machines over that of the hosts left", warning=100, own=OWN
)
CONSUMED = Band(
    "memory_used_bytes", "%", "memory that machines occupy over that of the hosts left", critical=100, own=OWN
)
CPU = Band("usage_pct", "%", "CPU used of all hosts over that of the hosts left", warning=100, own=OWN)


@dataclass(frozen=True)
class Left:
    """A cluster without the hosts that hurt most when they fail."""

    gone: Sequence[Host]
    hosts: Sequence[Host]
    rooms: Mapping[str, float]
    """Bytes that machines can have on every host, by name: without what its hypervisor and its appliances take."""
    appliances: float
    """Bytes of storage appliances on the hosts that are left."""
    vms: Sequence[Vm]
    """Those that have to be somewhere: all but storage appliances, which stay off with their host."""

    @cached_property
    def unplaced(self) -> list[Vm]:
        """VMs that find no place."""
        return unplaced(self.vms, self.hosts, self.widest, self.rooms)

    @property
    def widest(self) -> int:
        """Most cores of a host, those included that are gone."""
        return max(host.cores or 0 for host in (*self.gone, *self.hosts))

    @property
    def word(self) -> str:
        """`N-1`."""
        return f"N-{len(self.gone)}"

    @property
    def memory(self) -> float:
        """Bytes of the hosts that are left."""
        return sum(host.memory_bytes or 0 for host in self.hosts)

    @property
    def room(self) -> float:
        """What machines can have of it."""
        return sum(self.rooms[host.name] for host in self.hosts)

    @property
    def configured(self) -> float:
        """Bytes that machines are configured with, appliances that are left included."""
        return sum(vm.memory_bytes or 0 for vm in self.vms) + self.appliances


def without(hosts: Sequence[Host], vms: Sequence[Vm], failures: int) -> Left:
    """A cluster without its largest hosts by memory."""
    appliances = [vm for vm in vms if vm.appliance]
    anywhere = sum(vm.memory_bytes or 0 for vm in appliances if vm.host is None) / len(hosts)
    taken = dict.fromkeys((host.name for host in hosts), anywhere)
    for vm in appliances:
        if vm.host and vm.host.name in taken:
            taken[vm.host.name] += vm.memory_bytes or 0
    rooms = {host.name: max((host.memory_bytes or 0) - host.memory_own_bytes - taken[host.name], 0) for host in hosts}
    ordered = sorted(
        hosts, key=lambda host: (-(host.memory_bytes or 0), -rooms[host.name], -(host.cores or 0), host.name)
    )
    left = ordered[failures:]
    served = sum(taken[host.name] for host in left)
    return Left(ordered[:failures], left, rooms, served, [vm for vm in vms if not vm.appliance])


def unplaced(vms: Sequence[Vm], hosts: Sequence[Host], widest: int, rooms: Mapping[str, float]) -> list[Vm]:
    """VMs that find no place: the largest first, each goes to the host with most memory free that is wide enough.

    A VM that has a core for each vCPU on the widest host keeps that. `rooms` is the memory that is free on each host.
    """
    free = dict(rooms)
    left_over = []
    for vm in sorted(vms, key=lambda vm: (-(vm.memory_bytes or 0), -(vm.vcpus or 0), vm.name)):
        vcpus, memory = vm.vcpus or 0, vm.memory_bytes or 0
        fits = [
            host
            for host in hosts
            if memory <= free[host.name] and vcpus <= ((host.cores if vcpus <= widest else host.threads) or 0)
        ]
        if fits:
            best = max(fits, key=lambda host: free[host.name])
            free[best.name] -= memory
        else:
            left_over.append(vm)
    return left_over


@rule(
    "cluster-without-failover-capacity",
    title="Machines of a cluster have nowhere to go when a host fails",
    says=(
        "Without its largest host, or as many as its admission control keeps room for, the cluster lacks memory for "
        "what its machines are configured with or CPU for what is used (a warning), memory for what they occupy, or a "
        "host for one of them (critical). Info where there is room only after other machines have moved. What is not "
        "known, and the memory that machines cost beside their own, is not counted."
    ),
    bands=(CONFIGURED, CONSUMED, CPU),
    references=(HA, LARGE_DATABASES),
    needs=(BY_CLUSTER,),
)
def cluster_without_failover_capacity(case: Case) -> Iterator[Finding]:
    """Clusters that cannot lose a host."""
    for cluster in case.known_clusters:
        hosts = [host for host in cluster.hosts if host.cores and host.memory_bytes]
        failures = max((cluster.facts and cluster.facts.failures) or 1, 1)
        if len(hosts) <= failures:
            continue
        left = without(hosts, cluster.vms, failures)
        finding = (_short(case, cluster, left) or _stuck(cluster, left)) if left.vms else None
        if finding:
            yield finding


def _short(case: Case, cluster: Cluster, left: Left) -> Finding | None:
    """The finding about a cluster whose machines do not fit the hosts that are left, however they are placed."""
    configured = 100 * left.configured / left.memory
    consumed, whole = _consumed(left)
    used = _cpu(case, cluster, left)
    measures = [
        CONFIGURED.measure(f"memory configured in {cluster.name} over that of {left.word}", round(configured, 1))
    ]
    if consumed is not None:
        what = f"memory occupied in {cluster.name}{'' if whole else ', as far as measured,'} over that of {left.word}"
        measures.append(CONSUMED.measure(what, round(consumed, 1)))
    if used is not None:
        measures.append(CPU.measure(f"CPU used in {cluster.name} over that of {left.word}", round(used, 1)))
    beyond = [measure for measure in measures if measure.band and measure.band.severity(measure.value)]
    alone = _never(left)
    if not beyond and not left.unplaced:
        return None
    beside = left.configured - left.appliances - left.room
    short = left.configured - left.memory
    lacks = f", short by {size(short)}" if short > 0 else ""
    if short <= 0 < beside:
        short, lacks = beside, f", short by {size(beside)} beside their hypervisors"
    figure = f"{ready.percent(configured)} of the memory of {left.word}{lacks}"
    if used is not None and CPU.severity(used):
        figure += f"; {ready.percent(used)} of its CPU"
    if not beyond and not lacks:
        figure += f"; {left.unplaced[0].name} has no place"
    gone = some([host.name for host in left.gone], MOST_NAMES)
    hosts = f"{count(len(left.hosts), 'host')} {'have' if len(left.hosts) > 1 else 'has'}"
    own = left.memory - left.room - left.appliances
    of = f", of which their hypervisors take {size(own)}" if own else ""
    critical = bool(alone) or any(measure.band is CONSUMED for measure in beyond)
    told = [
        f"{count(len(left.vms), 'machine')} of {cluster.name} are configured with {size(left.configured)}. Without "
        f"{gone}, its largest, {hosts} {size(left.memory)}{of}: {ready.percent(configured)} is needed"
        + (f", {size(short)} too much." if short > 0 else "."),
        _binding(beyond, left, consumed, used),
    ]
    if left.unplaced:
        first = left.unplaced[0]
        told.append(
            f"Packed largest first, {some([vm.name for vm in left.unplaced], MOST_NAMES)} "
            f"{'find' if len(left.unplaced) > 1 else 'finds'} no place; the largest, {first.name}, has {first.vcpus} "
            f"vCPUs and {size(first.memory_bytes or 0)}."
        )
    return cluster_without_failover_capacity.about(
        cluster.subject,
        severity="critical" if critical else "warning",
        title=f"{cluster.name} cannot lose {'a host' if len(left.gone) == 1 else f'{len(left.gone)} hosts'}: {figure}",
        figure=figure,
        text=" ".join(filter(None, told)),
        advice=_more(left, cluster) or "Give the largest machines a shape that a host that is left can take.",
        evidence=[*beyond, *(measure for measure in measures if measure not in beyond)],
    )


def _binding(beyond: Sequence[Measure], left: Left, consumed: float | None, used: float | None) -> str:
    """What is short, and what is not, in words."""
    bands = [measure.band for measure in beyond]
    parts = []
    if CPU in bands and used is not None:
        parts.append(f"CPU is short: {ready.percent(used)} of {left.word} is used now")
    if CONSUMED in bands and consumed is not None:
        parts.append(f"memory is short even for what machines occupy now, {ready.percent(consumed)} of {left.word}")
    elif CONFIGURED in bands and consumed is not None:
        parts.append(
            f"what machines occupy now, {ready.percent(consumed)} of {left.word}, would fit as long as they stay so"
        )
    if not bands and left.configured - left.appliances <= left.room:
        parts.append("In all there is enough memory, but not in one place")
    told = "; ".join(parts)
    return f"{told[0].upper()}{told[1:]}." if told else ""


def _consumed(left: Left) -> tuple[float | None, bool]:
    """Per cent of the memory left that machines were measured to occupy, with what hypervisors and appliances take.

    And whether all of the machines were measured.
    """
    found = [vm.facts.measured.memory_consumed_bytes for vm in left.vms if vm.facts]
    known = [each for each in found if each is not None]
    if not known:
        return None, False
    return 100 * (sum(known) + left.memory - left.room) / left.memory, len(known) == len(left.vms)


def _cpu(case: Case, cluster: Cluster, left: Left) -> float | None:
    """Per cent of the CPU left that is used by all hosts that were measured."""

    def mhz(host: Host) -> float:
        return (host.cores or 0) * (host.clock_mhz or 0)

    usage = [(host, case.evidence.stat(host.entity, CPU.metric)) for host in cluster.hosts]
    known = [mhz(host) * stat.mean for host, stat in usage if stat]
    capacity = sum(map(mhz, left.hosts))
    return sum(known) / capacity if known and capacity else None


def _never(left: Left) -> list[Vm]:
    """VMs that no host that is left could take if it were empty."""
    return [vm for vm in left.unplaced if unplaced([vm], left.hosts, left.widest, left.rooms)]


def _more(left: Left, cluster: Cluster) -> str:
    """How many hosts more, each like the largest, make it fit."""
    like = left.gone[0]
    hosts, rooms = list(left.hosts), dict(left.rooms)
    for more in range(1, MOST_MORE + 1):
        hosts.append(replace(like, name=f"{like.name} again {more}", vms=[]))
        rooms[hosts[-1].name] = left.rooms[like.name]
        room = sum(rooms[host.name] for host in hosts)
        if left.configured - left.appliances <= room and not unplaced(left.vms, hosts, left.widest, rooms):
            what = f"{'one host' if more == 1 else f'{more} hosts'} of {size(like.memory_bytes or 0)} like {like.name}"
            return f"Add {what} to {cluster.name}, or take machines away."
    return ""


def _stuck(cluster: Cluster, left: Left) -> Finding | None:
    """The finding about a cluster that has room in all, and not where it is when a host fails."""
    if any(vm.host is None for vm in left.vms):
        return None
    hosts = [*left.gone, *left.hosts]
    on = {host.name: [vm for vm in host.vms if not vm.appliance] for host in hosts}
    worst: tuple[float, str, Host, list[Vm]] | None = None
    for failed in hosts:
        others = [host for host in hosts if host is not failed]
        free = {name: max(left.rooms[name] - sum(vm.memory_bytes or 0 for vm in vms), 0) for name, vms in on.items()}
        stuck = unplaced(on[failed.name], others, failed.cores or 0, free)
        lost = sum(vm.memory_bytes or 0 for vm in stuck)
        if stuck and (worst is None or (lost, failed.name) > worst[:2]):
            worst = lost, failed.name, failed, stuck
    if worst is None:
        return None
    lost, _, failed, stuck = worst
    listed = some([vm.name for vm in stuck], MOST_NAMES)
    verb = "have" if len(stuck) > 1 else "has"
    return cluster_without_failover_capacity.about(
        cluster.subject,
        severity="info",
        title=f"{cluster.name} can lose {failed.name} only when others make room: {listed} {verb} no place at once",
        figure=f"{count(len(stuck), 'machine')} with {size(lost)} of memory without a place at once",
        text=(
            f"{cluster.name} has enough memory in all, but when {failed.name} fails, {listed} ({size(lost)} of "
            f"memory) {verb} no place on the other {count(len(hosts) - 1, 'host')} as they are now, by configured "
            "memory. Others have to move first."
        ),
        advice="Spread free memory less evenly: keep one host with as much free as the largest machine has.",
        evidence=[Measure("memory_bytes", f"memory without a place at once when {failed.name} fails", lost, "B")],
    )


RULES = (cluster_without_failover_capacity,)
