"""Failover capacity: finds clusters that cannot run all VMs after a host failure.

It makes two checks, as in `hypertwin capacity`. Totals of the cluster hold for any placement. Packing places VMs on
hosts. If the host of every VM is known, the VMs of each failed host go to the others. The failure that loses the most
memory counts. Otherwise all VMs go to the remaining hosts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hypertwin.diagnosis.case import Case
from hypertwin.diagnosis.rule import OWN, Band, Finding, Measure, rule
from hypertwin.diagnosis.rules.shared import BY_CLUSTER, HA, LARGE_DATABASES
from hypertwin.diagnosis.subjects import Cluster, Host, Vm
from hypertwin.diagnosis.words import size
from hypertwin.documents.failover import Failover
from hypertwin.metrics import ready
from hypertwin.metrics.words import count, some
from hypertwin.plan import failover
from hypertwin.plan.capacity import restart
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.capacity.restart import Failure, Guest, Standing
from hypertwin.plan.capacity.state import State

MOST_NAMES = 4
"""Maximum number of VMs or hosts listed in a text."""
SHORT = {"no-host", "no-power-on", "no-data", "no-writes", "not-proven"}
"""Reasons of a verdict that the rule covers. HA settings have other rules."""
MOST_MORE = 64
"""Maximum number of hosts that the advice adds."""

CONFIGURED = Band("memory_bytes", "%", "memory configured for VMs, of the remaining hosts", warning=100, own=OWN)
CONSUMED = Band("memory_used_bytes", "%", "memory consumed by VMs, of the remaining hosts", critical=100, own=OWN)
CPU = Band("usage_pct", "%", "CPU used on all hosts, of the remaining hosts", warning=100, own=OWN)


@dataclass(frozen=True)
class Left:
    """Cluster after the failure of its largest hosts."""

    gone: Sequence[Host]
    hosts: Sequence[Host]
    rooms: Mapping[str, float]
    """Memory for VMs that restart, on every host in bytes, by host name, without hypervisor memory."""
    staying: float
    """Memory of VMs on the remaining hosts that do not restart elsewhere, in bytes."""
    vms: Sequence[Vm]
    """VMs that must restart: all except storage appliances and those without HA restart, which stay down."""
    standing: Mapping[str, Standing]
    """Every host, by name, for packing."""
    failure: Failure
    """Failure that loses the most memory. If the host of any VM is unknown, all VMs are put on the remaining hosts."""
    is_placed: bool
    """True if the host of every VM is known."""

    @property
    def word(self) -> str:
        """Name of the failure: `N-1`."""
        return f"N-{len(self.gone)}"

    @property
    def memory(self) -> float:
        """Memory of the remaining hosts, in bytes."""
        return sum(host.memory_bytes or 0 for host in self.hosts)

    @property
    def room(self) -> float:
        """Memory for VMs on the remaining hosts, in bytes."""
        return sum(self.rooms[host.name] for host in self.hosts)

    @property
    def configured(self) -> float:
        """Memory configured for VMs in bytes, including those on the remaining hosts that do not restart elsewhere."""
        return sum(vm.memory_bytes or 0 for vm in self.vms) + self.staying


def without(case: Case, cluster: Cluster, hosts: Sequence[Host], failures: int) -> Left:
    """Return a cluster without its largest hosts by memory."""
    staying = [vm for vm in cluster.vms if vm.stays_down]
    vms = [vm for vm in cluster.vms if not vm.stays_down]
    anywhere = sum(vm.memory_bytes or 0 for vm in staying if vm.host is None) / len(hosts)
    taken = dict.fromkeys((host.name for host in hosts), anywhere)
    for vm in staying:
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
    """Return the memory of the hypervisors, by host, as capacity counts it."""
    if case.scenario is None or cluster.facts is None:
        return {}
    return State.of(case.scenario, cluster.facts, Limits()).own


def _standing(host: Host, room: float, vms: Sequence[Vm]) -> Standing:
    guests = [_guest(vm) for vm in vms if vm.host is host]
    return Standing(host.name, host.threads or host.cores or 0, host.memory_bytes or 0, room, guests)


def _guest(vm: Vm) -> Guest:
    return Guest(vm.name, vm.vcpus or 0, vm.memory_bytes or 0)


def _worst(hosts: Sequence[Standing], failures: int, vms: Sequence[Vm], *, is_placed: bool) -> Failure:
    """Return the failure that loses the most memory. If hosts of VMs are unknown, the failure of the largest hosts."""
    if is_placed:
        return max(restart.failures(hosts, failures), key=lambda failure: failure.lost)
    ordered = sorted(hosts, key=lambda host: -host.memory)
    return restart.after(ordered[:failures], ordered[failures:], map(_guest, vms))


@rule(
    "cluster-without-failover-capacity",
    title="A cluster cannot restart all VMs after a host failure",
    says=(
        "The check removes the largest host, or as many hosts as admission control tolerates. A warning if configured "
        "memory or used CPU exceeds the remaining hosts. Critical if consumed memory exceeds them, or if no host can "
        "take one of the VMs. Info if the VMs fit only after other VMs move. Unknown values and the memory overhead of "
        "VMs are not counted."
    ),
    bands=(CONFIGURED, CONSUMED, CPU),
    references=(HA, LARGE_DATABASES),
    needs=(BY_CLUSTER,),
)
def cluster_without_failover_capacity(case: Case) -> Iterator[Finding]:
    """Find clusters that cannot tolerate a host failure."""
    for cluster in case.known_clusters:
        hosts = [host for host in cluster.hosts if host.cores and host.memory_bytes]
        failures = max((cluster.facts and cluster.facts.failures) or 1, 1)
        if len(hosts) <= failures:
            continue
        left = without(case, cluster, hosts, failures)
        verdict = _verdict(case, cluster, failures)
        if not left.vms:
            continue
        finding = _short(case, cluster, left)  # counts what hosts used beyond their VMs; verdicts do not
        if verdict is not None and not _codes(verdict) & SHORT:
            yield from filter(None, [finding])
            continue
        finding = finding or _stuck(cluster, left)
        if finding is None and verdict is not None and verdict["survives"] is False:
            finding = _judged(cluster, verdict)
        if finding:
            yield finding


def _verdict(case: Case, cluster: Cluster, failures: int) -> Failover | None:
    """Return the same verdict as in capacity and plans, or None for clusters known only by telemetry."""
    if case.scenario is None or cluster.facts is None:
        return None
    return failover.judged(case.scenario, cluster.facts, Limits(failures=failures))


def _codes(verdict: Failover) -> set[str]:
    return {reason["code"] for each in verdict["failures"].values() for reason in each["reasons"]}


def _judged(cluster: Cluster, verdict: Failover) -> Finding:
    """Return the finding about a cluster where sums and memory show no problem."""
    lost = [name for name, each in verdict["failures"].items() if each["survives"] is False]
    return cluster_without_failover_capacity.about(
        cluster.subject,
        severity="warning",
        title=f"{cluster.name} does not survive {count(len(lost), 'host failure')}",
        figure=f"{count(len(lost), 'host failure')} of {len(verdict['failures'])} not survived",
        text=verdict["text"],
        advice="`hypertwin plan survive` shows fixes.",
        evidence=[Measure("", "host failures that are not survived", float(len(lost)), "")],
    )


def _short(case: Case, cluster: Cluster, left: Left) -> Finding | None:
    """Return the finding about a cluster whose VMs do not fit the remaining hosts in any placement."""
    configured = 100 * left.configured / left.memory
    consumed, whole = _consumed(left)
    used = _cpu(case, cluster, left)
    measures = [CONFIGURED.measure(f"memory configured in {cluster.name}, of {left.word}", round(configured, 1))]
    if consumed is not None:
        what = f"memory consumed in {cluster.name}{'' if whole else ', as far as measured'}, of {left.word}"
        measures.append(CONSUMED.measure(what, round(consumed, 1)))
    if used is not None:
        measures.append(CPU.measure(f"CPU used in {cluster.name}, of {left.word}", round(used, 1)))
    beyond = [measure for measure in measures if measure.band and measure.band.severity(measure.value)]
    alone = _never(left)
    if not beyond and not _is_stuck_anyhow(left):
        return None
    beside = left.configured - left.staying - left.room
    short = left.configured - left.memory
    lacks = f"{size(short)} short, " if short > 0 else ""
    if short <= 0 < beside:
        short, lacks = beside, f"{size(beside)} short with hypervisor memory, "
    figure = f"memory {lacks}{ready.percent(configured)} of {left.word}"
    if used is not None and CPU.severity(used):
        figure += f"; CPU {ready.percent(used)} of {left.word}"
    if not beyond and not lacks:
        figure += f"; {left.failure.unplaced[0].name} cannot restart"
    gone = some([host.name for host in left.gone], MOST_NAMES)
    hosts = f"{count(len(left.hosts), 'host')} {'have' if len(left.hosts) > 1 else 'has'}"
    own = left.memory - left.room - left.staying
    of = f", of which {size(own)} is for their hypervisors" if own else ""
    critical = bool(alone) or any(measure.band is CONSUMED for measure in beyond)
    told = [
        f"{count(len(left.vms), 'VM')} of {cluster.name} are configured with {size(left.configured)}. Without "
        f"{gone}, its largest, {hosts} {size(left.memory)}{of}. VMs need {ready.percent(configured)} of it"
        + (f", {size(short)} too much." if short > 0 else "."),
        _binding(beyond, left, consumed, used),
    ]
    if left.failure.unplaced:
        told.append(_unplaced(left))
    return cluster_without_failover_capacity.about(
        cluster.subject,
        severity="critical" if critical else "warning",
        title=f"{cluster.name} cannot tolerate {_failures(len(left.gone))}: {figure}",
        figure=figure,
        text=" ".join(filter(None, told)),
        advice=_more(left, cluster) or "Make the largest VMs small enough for a remaining host.",
        evidence=[*beyond, *(measure for measure in measures if measure not in beyond)],
    )


def _failures(hosts: int) -> str:
    return "a host failure" if hosts == 1 else f"{hosts} host failures"


def _binding(beyond: Sequence[Measure], left: Left, consumed: float | None, used: float | None) -> str:
    """Return the resources that are short, and those that are not, in words."""
    bands = [measure.band for measure in beyond]
    parts = []
    if CPU in bands and used is not None:
        parts.append(f"CPU is short: today's use is {ready.percent(used)} of {left.word}")
    if CONSUMED in bands and consumed is not None:
        parts.append(f"memory is short even for consumed memory: {ready.percent(consumed)} of {left.word}")
    elif CONFIGURED in bands and consumed is not None:
        parts.append(
            f"today's consumed memory is {ready.percent(consumed)} of {left.word} and fits while it does not grow"
        )
    if not bands and left.configured - left.staying <= left.room:
        parts.append("The total memory is enough, but no single host has enough")
    told = "; ".join(parts)
    return f"{told[0].upper()}{told[1:]}." if told else ""


def _consumed(left: Left) -> tuple[float | None, bool]:
    """Return the memory consumed by VMs and hypervisors, in per cent of the remaining hosts.

    The second result is true if all VMs were measured.
    """
    found = [vm.facts.measured.memory_consumed_bytes for vm in left.vms if vm.facts]
    known = [each for each in found if each is not None]
    if not known:
        return None, False
    return 100 * (sum(known) + left.memory - left.room) / left.memory, len(known) == len(left.vms)


def _cpu(case: Case, cluster: Cluster, left: Left) -> float | None:
    """Return CPU used by all measured hosts, in per cent of the remaining hosts."""

    def mhz(host: Host) -> float:
        return (host.cores or 0) * (host.clock_mhz or 0)

    usage = [(host, case.evidence.stat(host.entity, CPU.metric)) for host in cluster.hosts]
    known = [mhz(host) * stat.mean for host, stat in usage if stat]
    capacity = sum(map(mhz, left.hosts))
    return sum(known) / capacity if known and capacity else None


def _unplaced(left: Left) -> str:
    """Return the VMs that cannot restart, in words."""
    unplaced, failed = left.failure.unplaced, [host.name for host in left.failure.failed]
    verb = "do" if len(unplaced) > 1 else "does"
    first = unplaced[0]
    where = (
        f"If {some(failed, MOST_NAMES)} {'fails' if len(failed) == 1 else 'fail'}, {count(len(unplaced), 'VM')} "
        "cannot restart on the other hosts"
        if left.is_placed
        else f"{count(len(unplaced), 'VM')} {verb} not fit the remaining hosts"
    )
    listed = some([vm.name for vm in unplaced], MOST_NAMES)
    return f"{where}: {listed}. The largest, {first.name}, has {count(first.vcpus, 'vCPU')} and {size(first.memory)}."


def _is_stuck_anyhow(left: Left) -> bool:
    """True if a VM cannot restart even after moves of all others."""
    gone = [left.standing[host.name] for host in left.gone]
    empty = [replace(left.standing[host.name], guests=()) for host in left.hosts]
    return bool(left.failure.unplaced and restart.after(gone, empty, map(_guest, left.vms)).unplaced)


def _never(left: Left) -> list[Guest]:
    """Return VMs too large for any remaining host, even if it were empty."""
    gone = {host.name for host in left.failure.failed}
    others = [host for name, host in left.standing.items() if name not in gone]
    return [
        guest
        for guest in left.failure.unplaced
        if not any(guest.vcpus <= host.threads and guest.memory <= host.room for host in others)
    ]


def _more(left: Left, cluster: Cluster) -> str:
    """Return the number of additional hosts, each like the largest host, with which all VMs fit.

    Both sums and the packing of whole VMs are checked.
    """
    like = left.gone[0]
    new = replace(left.standing[like.name], guests=())
    short = left.configured - left.staying - left.room
    by_sum = max(1, math.ceil(short / new.room)) if new.room > 0 else MOST_MORE + 1
    for more in range(by_sum, MOST_MORE + 1):
        hosts = [*left.standing.values(), *(replace(new, name=f"{new.name} again {place}") for place in range(more))]
        if not _worst(hosts, len(left.gone), left.vms, is_placed=left.is_placed).unplaced:
            what = f"{'one host' if more == 1 else f'{more} hosts'} of {size(like.memory_bytes or 0)} like {like.name}"
            why = (
                ""
                if more == by_sum
                else f" By total memory {'one' if by_sum == 1 else by_sum} is enough, but whole VMs need {more}."
            )
            return f"Add {what} to {cluster.name}, or remove VMs.{why}"
    return ""


def _stuck(cluster: Cluster, left: Left) -> Finding | None:
    """Return the finding about a cluster with enough memory in total, but not on one host."""
    stuck, failed = left.failure.unplaced, some([host.name for host in left.failure.failed], MOST_NAMES)
    if not stuck:
        return None
    lost = left.failure.lost
    listed = some([vm.name for vm in stuck], MOST_NAMES)
    return cluster_without_failover_capacity.about(
        cluster.subject,
        severity="info",
        title=f"{cluster.name}: if {failed} fails, {listed} can restart only after other VMs move",
        figure=f"{count(len(stuck), 'VM')} with {size(lost)} of memory cannot restart at once",
        text=(
            f"{cluster.name} has enough memory in total. But if {failed} fails, {listed} ({size(lost)} of memory) "
            f"cannot restart on the other {count(len(left.failure.free), 'host')} as they are now, by configured "
            "memory. Other VMs must move first."
        ),
        advice="Keep enough free memory for the largest VM on one host, instead of spread over all.",
        evidence=[Measure("memory_bytes", f"memory of VMs that cannot restart at once if {failed} fails", lost, "B")],
    )


RULES = (cluster_without_failover_capacity,)
