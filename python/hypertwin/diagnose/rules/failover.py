"""Whether a cluster still has a place for all of its machines when a host fails.

By totals of the cluster, so that it holds whatever machine is on which host, and by packing, as `hypertwin capacity`
does: where the place of every machine is known, those of each host that may fail go onto the others beside what is
there, and the failure that loses the most memory counts; else all machines go onto the hosts that are left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hypertwin.diagnose.case import Case
from hypertwin.diagnose.rule import OWN, Band, Finding, Measure, rule
from hypertwin.diagnose.rules.shared import BY_CLUSTER, HA, LARGE_DATABASES
from hypertwin.diagnose.subjects import Cluster, Host, Vm
from hypertwin.diagnose.words import size
from hypertwin.documents.failover import Failover
from hypertwin.plan import failover
from hypertwin.plan.capacity import restart
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.capacity.restart import Failure, Guest, Standing
from hypertwin.plan.capacity.state import State
from hypertwin.report import ready
from hypertwin.report.words import count, some

MOST_NAMES = 4
"""VMs or hosts that a text lists."""
SHORT = {"no-host", "no-power-on", "no-data", "no-writes", "not-proven"}
"""Reasons of a verdict that this rule is about; who restarts VMs is another's."""
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
    standing: Mapping[str, Standing]
    """Every host, by name, as packing has it."""
    failure: Failure
    """The failure that loses the most; where the place of a machine is not known, all machines on the hosts left."""
    is_placed: bool
    """Whether the place of every machine is known."""

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


def without(case: Case, cluster: Cluster, hosts: Sequence[Host], failures: int) -> Left:
    """A cluster without its largest hosts by memory."""
    appliances = [vm for vm in cluster.vms if vm.appliance]
    vms = [vm for vm in cluster.vms if not vm.appliance]
    anywhere = sum(vm.memory_bytes or 0 for vm in appliances if vm.host is None) / len(hosts)
    taken = dict.fromkeys((host.name for host in hosts), anywhere)
    for vm in appliances:
        if vm.host and vm.host.name in taken:
            taken[vm.host.name] += vm.memory_bytes or 0
    own = _own(case, cluster)
    rooms = {
        host.name: max((host.memory_bytes or 0) - own.get(host.key or "", 0) - taken[host.name], 0) for host in hosts
    }
    ordered = sorted(
        hosts, key=lambda host: (-(host.memory_bytes or 0), -rooms[host.name], -(host.cores or 0), host.name)
    )
    left = ordered[failures:]
    is_placed = all(vm.host is not None for vm in vms)
    standing = {host.name: _standing(host, rooms[host.name], vms if is_placed else ()) for host in hosts}
    failure = _worst([standing[host.name] for host in hosts], failures, vms, is_placed=is_placed)
    served = sum(taken[host.name] for host in left)
    return Left(ordered[:failures], left, rooms, served, vms, standing, failure, is_placed)


def _own(case: Case, cluster: Cluster) -> Mapping[str, float]:
    """Memory that hypervisors take, by host, as capacity counts it."""
    if case.scenario is None or cluster.facts is None:
        return {}
    return State.of(case.scenario, cluster.facts, Limits()).own


def _standing(host: Host, room: float, vms: Sequence[Vm]) -> Standing:
    guests = [_guest(vm) for vm in vms if vm.host is host]
    return Standing(host.name, host.threads or host.cores or 0, host.memory_bytes or 0, room, guests)


def _guest(vm: Vm) -> Guest:
    return Guest(vm.name, vm.vcpus or 0, vm.memory_bytes or 0)


def _worst(hosts: Sequence[Standing], failures: int, vms: Sequence[Vm], *, is_placed: bool) -> Failure:
    """The failure that loses the most memory; without known places that of the largest hosts."""
    if is_placed:
        return max(restart.failures(hosts, failures), key=lambda failure: failure.lost)
    ordered = sorted(hosts, key=lambda host: -host.memory)
    return restart.after(ordered[:failures], ordered[failures:], map(_guest, vms))


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
        left = without(case, cluster, hosts, failures)
        verdict = _verdict(case, cluster, failures)
        if not left.vms:
            continue
        finding = _short(case, cluster, left)  # also by what hosts used beyond their VMs, which no verdict looks at
        if verdict is not None and not _codes(verdict) & SHORT:
            yield from filter(None, [finding])
            continue
        finding = finding or _stuck(cluster, left)
        if finding is None and verdict is not None and verdict["survives"] is False:
            finding = _judged(cluster, verdict)
        if finding:
            yield finding


def _verdict(case: Case, cluster: Cluster, failures: int) -> Failover | None:
    """The verdict that capacity and plans give as well; None of clusters that are known by telemetry alone."""
    if case.scenario is None or cluster.facts is None:
        return None
    return failover.judged(case.scenario, cluster.facts, Limits(failures=failures))


def _codes(verdict: Failover) -> set[str]:
    return {reason["code"] for each in verdict["failures"].values() for reason in each["reasons"]}


def _judged(cluster: Cluster, verdict: Failover) -> Finding:
    """The finding about a cluster that sums and memory alone show nothing wrong of."""
    lost = [name for name, each in verdict["failures"].items() if each["survives"] is False]
    return cluster_without_failover_capacity.about(
        cluster.subject,
        severity="warning",
        title=f"{cluster.name} does not survive {count(len(lost), 'host failure')}",
        figure=f"{count(len(lost), 'host failure')} of {len(verdict['failures'])} not survived",
        text=verdict["text"],
        advice="See `hypertwin plan survive` for what would help.",
        evidence=[Measure("", "host failures that are not survived", float(len(lost)), "")],
    )


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
    if not beyond and not _is_stuck_anyhow(left):
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
        figure += f"; {left.failure.unplaced[0].name} has no place"
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
    if left.failure.unplaced:
        told.append(_unplaced(left))
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


def _unplaced(left: Left) -> str:
    """Which machines find no place, in words."""
    unplaced, failed = left.failure.unplaced, [host.name for host in left.failure.failed]
    verb = "find" if len(unplaced) > 1 else "finds"
    first = unplaced[0]
    where = (
        f"When {some(failed, MOST_NAMES)} {'fails' if len(failed) == 1 else 'fail'}, {count(len(unplaced), 'machine')} "
        f"{verb} no place on the others beside what is there"
        if left.is_placed
        else f"Packed onto the hosts left, {count(len(unplaced), 'machine')} {verb} no place"
    )
    listed = some([vm.name for vm in unplaced], MOST_NAMES)
    return f"{where}: {listed}; the largest, {first.name}, has {count(first.vcpus, 'vCPU')} and {size(first.memory)}."


def _is_stuck_anyhow(left: Left) -> bool:
    """Whether a machine finds no place even if all others may move."""
    gone = [left.standing[host.name] for host in left.gone]
    empty = [replace(left.standing[host.name], guests=()) for host in left.hosts]
    return bool(left.failure.unplaced and restart.after(gone, empty, map(_guest, left.vms)).unplaced)


def _never(left: Left) -> list[Guest]:
    """VMs that no host that is left could take if it were empty."""
    gone = {host.name for host in left.failure.failed}
    others = [host for name, host in left.standing.items() if name not in gone]
    return [
        guest
        for guest in left.failure.unplaced
        if not any(guest.vcpus <= host.threads and guest.memory <= host.room for host in others)
    ]


def _more(left: Left, cluster: Cluster) -> str:
    """How many hosts more, each like the largest, make it fit: by the sum of memory, and whole machines by packing."""
    like = left.gone[0]
    new = replace(left.standing[like.name], guests=())
    short = left.configured - left.appliances - left.room
    by_sum = max(1, math.ceil(short / new.room)) if new.room > 0 else MOST_MORE + 1
    for more in range(by_sum, MOST_MORE + 1):
        hosts = [*left.standing.values(), *(replace(new, name=f"{new.name} again {place}") for place in range(more))]
        if not _worst(hosts, len(left.gone), left.vms, is_placed=left.is_placed).unplaced:
            what = f"{'one host' if more == 1 else f'{more} hosts'} of {size(like.memory_bytes or 0)} like {like.name}"
            why = (
                ""
                if more == by_sum
                else f" By the sum of memory {'one' if by_sum == 1 else by_sum} would do; whole machines need {more}."
            )
            return f"Add {what} to {cluster.name}, or take machines away.{why}"
    return ""


def _stuck(cluster: Cluster, left: Left) -> Finding | None:
    """The finding about a cluster that has room in all, and not where it is when a host fails."""
    stuck, failed = left.failure.unplaced, some([host.name for host in left.failure.failed], MOST_NAMES)
    if not stuck:
        return None
    lost = left.failure.lost
    listed = some([vm.name for vm in stuck], MOST_NAMES)
    verb = "have" if len(stuck) > 1 else "has"
    return cluster_without_failover_capacity.about(
        cluster.subject,
        severity="info",
        title=f"{cluster.name} can lose {failed} only when others make room: {listed} {verb} no place at once",
        figure=f"{count(len(stuck), 'machine')} with {size(lost)} of memory without a place at once",
        text=(
            f"{cluster.name} has enough memory in all, but when {failed} fails, {listed} ({size(lost)} of "
            f"memory) {verb} no place on the other {count(len(left.failure.free), 'host')} as they are now, by "
            "configured memory. Others have to move first."
        ),
        advice="Spread free memory less evenly: keep one host with as much free as the largest machine has.",
        evidence=[Measure("memory_bytes", f"memory without a place at once when {failed} fails", lost, "B")],
    )


RULES = (cluster_without_failover_capacity,)
