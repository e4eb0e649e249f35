"""Memory: waiting for swap, reclaimed memory, memory on the wrong NUMA node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hypertwin.diagnosis.case import Case
from hypertwin.diagnosis.evidence import Stat
from hypertwin.diagnosis.rule import OWN, Band, Finding, Measure, Need, Reference, rule
from hypertwin.diagnosis.rules.shared import (
    BALLOON,
    BY_CLUSTER,
    COMPRESSED,
    ESXTOP_STATISTICS,
    ESXTOP_THRESHOLDS,
    RIGHTSIZING,
    SWAP_IN,
    SWAPPED,
    VCPUS,
)
from hypertwin.diagnosis.subjects import Host, Subject, Vm
from hypertwin.diagnosis.words import SUSTAINED, size
from hypertwin.documents.diagnosis import Severity
from hypertwin.metrics import ready
from hypertwin.metrics.words import count, some

MOST_NAMES = 6
"""Maximum number of VMs listed in a text."""

SWAP_WAIT = Band.of("swap_wait_pct", "swap_wait_sum_pct")
PROMISED = Band("memory_bytes", "%", "memory configured for VMs, of that of their host", info=100, own=OWN)
OF_LIMIT = Band("memory_limit", "%", "memory consumed by a VM, of its limit", warning=95, own=OWN)
LOCAL = Band("numa_local_pct", "%", "memory on the home nodes (N%L)", warning=80, below=True)


RESOURCE_LIMIT = Reference('"Resource Allocation Limit" (vSphere Resource Management)')


@rule(
    "memory-limit",
    title="A VM is held at its memory limit",
    says=(
        "The VM has a limit below its memory, consumes all of it, and the host reclaims the rest, however much memory "
        "is free. Its guest does not know the limit. The finding is critical while memory is read back from swap."
    ),
    bands=(OF_LIMIT, BALLOON, SWAPPED, COMPRESSED, SWAP_IN),
    references=(RESOURCE_LIMIT, ESXTOP_THRESHOLDS),
    needs=(
        BY_CLUSTER,
        Need(
            "balloon or swap of VMs (MCTLSZ, SWCUR, mem.vmmemctl, mem.swapped)",
            tuple(("vm", band.metric) for band in (BALLOON, SWAPPED, COMPRESSED)),
        ),
    ),
)
def memory_limit(case: Case) -> Iterator[Finding]:
    """Find VMs from which memory is reclaimed because of their limit."""
    for vm in case.vms:
        share, limit = _of_limit(case, vm), vm.memory_limit_bytes
        taken = _taken(case, _alone(vm))
        if share is None or limit is None or taken is None:
            continue
        yield memory_limit.about(
            vm.subject,
            severity=taken.severity,
            title=f"{vm.name} is held at its memory limit of {size(limit)}: {taken.told}",
            figure=taken.told,
            text=(
                f"{vm.name} has {size(vm.memory_bytes or 0)} and a limit of {size(limit)}. It consumes "
                f"{ready.percent(share)} of the limit, and the rest is reclaimed: {taken.told}, {taken.said}. More "
                "free memory on the host does not help."
            ),
            advice="Remove the memory limit. If the VM is to have less memory, give it less.",
            evidence=[
                *taken.measures,
                OF_LIMIT.measure(f"memory consumed by {vm.name}, of its limit", round(share, 1)),
            ],
        )


def _alone(vm: Vm) -> Host:
    return Host(vm.name, entity=vm.entity, vms=[vm])


def _of_limit(case: Case, vm: Vm) -> float | None:
    """Return consumed memory in per cent of the limit if a VM reaches its limit, otherwise None."""
    if not vm.memory_limit_bytes or not vm.facts:
        return None
    stat = case.evidence.stat(vm.entity, "memory_used_bytes")
    consumed = stat.often if stat else vm.facts.measured.memory_consumed_bytes
    share = 100 * (vm.facts.memory_touched_bytes if consumed is None else consumed) / vm.memory_limit_bytes
    return share if OF_LIMIT.severity(share) else None


def _held(case: Case, vms: Sequence[Vm]) -> bool:
    """True if there are VMs, and all of them are held at their memory limits, which have their own findings."""
    return bool(vms) and all(_of_limit(case, vm) is not None for vm in vms)


@rule(
    "swap-wait",
    title="VMs wait for memory that their host swapped out",
    says=(
        "vCPUs stop while the hypervisor reads their memory back from its swap file. One finding per host lists the "
        "VMs that wait."
    ),
    bands=(SWAP_WAIT,),
    references=(ESXTOP_THRESHOLDS, ESXTOP_STATISTICS),
    needs=(Need("swap wait of VMs (%SWPWT, cpu.swapwait)", (("vm", SWAP_WAIT.metric),)), VCPUS),
)
def swap_wait(case: Case) -> Iterator[Finding]:
    """Find hosts whose VMs wait for their swap file."""
    waiting: dict[str, list[tuple[Vm, Stat, Stat]]] = {}
    for vm in case.vms:
        summed, each = case.evidence.stat(vm.entity, SWAP_WAIT.metric), case.per_vcpu(vm, SWAP_WAIT.metric)
        if summed and each and SWAP_WAIT.severity(each.high) is not None:
            place = vm.host.subject if vm.host else vm.subject
            waiting.setdefault(place.path, []).append((vm, summed, each))
    for found in waiting.values():
        found.sort(key=lambda one: (-one[2].high, one[0].name))
        worst, summed, each = found[0]
        interval = case.evidence.interval_s(worst.entity, SWAP_WAIT.metric)
        told = ready.ready(summed.high, worst.vcpus or 1, interval, "swap wait")
        names = some([vm.name for vm, *_ in found], MOST_NAMES)
        who = worst.name if len(found) == 1 else f"{count(len(found), 'VM')}, {worst.name} the most"
        where = worst.host.name if worst.host else "its host"
        yield swap_wait.about(
            worst.host.subject if worst.host else worst.subject,
            severity="critical",
            title=f"{who} wait{'s' * (len(found) == 1)} for memory that {where} swapped out: {told}",
            figure=told if len(found) == 1 else f"{count(len(found), 'VM')}, up to {told}",
            text=(
                f"vCPUs of {names} stop while {worst.host_name or 'the host'} reads their memory back from disk: "
                f"{worst.name} {told}, {SUSTAINED}. The guest does not see it. Its users see it hang."
            ),
            advice=(
                "The host has too little memory for its VMs. Move VMs away, give less memory to VMs that do not use "
                "it, or reserve the memory of the VMs that wait."
            ),
            evidence=[
                SWAP_WAIT.measure(
                    f"swap wait per vCPU of {vm.name}, {SUSTAINED}",
                    high.high,
                    vm.entity,
                    samples=high.count,
                    divisor=vm.vcpus or 1,
                )
                for vm, _, high in found[:MOST_NAMES]
            ],
        )


@dataclass(frozen=True)
class _Taken:
    """Memory that a host has reclaimed from its VMs."""

    measures: list[Measure]
    """Measures of balloon, swap and compressed memory beyond their bands."""
    told: str
    """Reclaimed memory in words: `5 GiB ballooned and 1.1 GiB swapped out`."""
    said: str
    """Time of the measurement, in words."""
    hurt: list[Vm]
    """VMs that are short of memory, worst first."""
    back: list[Vm]
    """VMs whose memory is currently swapped in, most memory first."""
    counters: str
    """Host's own memory counters, as a sentence, or an empty string without any."""

    @property
    def severity(self) -> Severity:
        """Critical while memory is swapped in, which stops vCPUs."""
        return "critical" if any(measure.band is SWAP_IN for measure in self.measures) else "warning"

    @property
    def whose(self) -> str:
        """Sentence with the VMs."""
        if not self.hurt:
            return ""
        return f" VMs ({len(self.hurt)}): {some([vm.name for vm in self.hurt], MOST_NAMES)}."

    @property
    def now(self) -> str:
        """Sentence with the VMs whose memory is swapped in."""
        return f" VMs that read it back now: {some([vm.name for vm in self.back], MOST_NAMES)}." if self.back else ""


def _taken(case: Case, host: Host) -> _Taken | None:
    """Return memory that a host has reclaimed, by its own counters or those of its VMs, or None if there is none."""
    parts, measures = [], []
    said = SUSTAINED
    for band, word in ((BALLOON, "ballooned"), (SWAPPED, "swapped out"), (COMPRESSED, "compressed")):
        value, entity, when = _most(case, host, band)
        if band.severity(value):
            parts.append(f"{size(value)} {word}")
            measures.append(band.measure(f"memory {word} on {host.name}, {when}", value, entity))
            said = when if len(measures) == 1 else said
    back = _beyond(case, host.vms, (SWAP_IN,))
    own = case.evidence.stat(host.entity, SWAP_IN.metric)
    rate, reader = max(
        [(stat.high, vm.entity) for vm in back if (stat := case.evidence.stat(vm.entity, SWAP_IN.metric))]
        + ([(own.high, host.entity)] if own else []),
        default=(0.0, None),
    )
    if SWAP_IN.severity(rate):
        parts.append(f"{size(rate)}/s read back from swap")
        measures.append(SWAP_IN.measure(f"memory read back from swap on {host.name}, {SUSTAINED}", rate, reader))
    if not measures:
        return None
    hurt = _beyond(case, host.vms, (BALLOON, SWAPPED, COMPRESSED))
    return _Taken(measures, _and(parts), said, hurt, back, _counters(case, host))


def _most(case: Case, host: Host, band: Band) -> tuple[float, str | None, str]:
    """Return the amount of reclaimed memory from the counter of the host, or from counters of its VMs if they show
    more.

    Further results are the entity with the counter, and the time in words.
    """
    own = case.evidence.stat(host.entity, band.metric)
    found = [stat for vm in host.vms if (stat := case.evidence.stat(vm.entity, band.metric))]
    summed = sum(stat.high for stat in found)
    if own and own.high >= summed:
        return own.high, host.entity, own.said(SUSTAINED)
    moments = {stat.moment for stat in found}
    entities = [vm.entity for vm in host.vms if case.evidence.stat(vm.entity, band.metric)]
    when = moments.pop() if len(moments) == 1 and "" not in moments else SUSTAINED
    return summed, entities[0] if len(entities) == 1 else None, when


def _beyond(case: Case, vms: Sequence[Vm], bands: tuple[Band, ...]) -> list[Vm]:
    """Return the VMs with metrics beyond one of these bands, those with the largest sum first."""
    found = []
    for vm in vms:
        stats = [(band, case.evidence.stat(vm.entity, band.metric)) for band in bands]
        taken = sum(stat.high for band, stat in stats if stat and band.severity(stat.high))
        if taken:
            found.append((-taken, vm.name, vm))
    return [vm for *_, vm in sorted(found, key=lambda each: each[:2])]


def _counters(case: Case, host: Host) -> str:
    """Return the host's memory counters apart from reclaimed memory."""
    state = case.evidence.stat(host.entity, "memory_state")
    over = case.evidence.stat(host.entity, "memory_overcommit_pct")
    free = case.evidence.stat(host.entity, "memory_free_bytes")
    told = [
        *([f"its memory state is {state.most:.0f} at worst (0 is enough)"] if state and state.most > 0 else []),
        *([f"it is overcommitted by {ready.percent(over.high)}"] if over and over.high > 0 else []),
        *([f"at least {size(free.low)} was free"] if free and not free.is_one_moment else []),
    ]
    return f" By its own counters, {_and(told)}." if told else ""


def _and(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def _is_overcommitted(case: Case, host: Host) -> bool:
    """True if a host reclaims memory because it is overcommitted, as far as that is known."""
    if not host.memory_bytes:
        return False
    own = any(case.evidence.stat(host.entity, band.metric) for band in (BALLOON, SWAPPED))
    return _promised(host) > host.memory_bytes or (own and not host.is_known)


def _promised(host: Host) -> float:
    return sum(vm.memory_bytes or 0 for vm in host.vms) + host.hypervisor_memory_bytes


@rule(
    "host-memory-overcommitted-reclaiming",
    title="An overcommitted host reclaims memory",
    says=(
        "The VMs of a host have more configured memory than the host, and it reclaims some by balloon, compression or "
        "swap. Counters of the host or of its VMs show this. The finding is critical while memory is read back from "
        "swap. If the VMs are not known, the counters of the host are enough."
    ),
    bands=(BALLOON, SWAPPED, COMPRESSED, SWAP_IN, PROMISED),
    references=(ESXTOP_THRESHOLDS,),
    needs=(
        Need(
            "balloon or swap of hosts or VMs (Memctl, Swap, MCTLSZ, SWCUR, mem.vmmemctl, mem.swapped)",
            tuple((kind, band.metric) for kind in ("host", "vm") for band in (BALLOON, SWAPPED)),
        ),
        Need(
            "memory of hosts, or their configuration (--cluster)",
            fact=lambda case: any(host.memory_bytes for host in case.hosts),
        ),
    ),
)
def host_memory_overcommitted_reclaiming(case: Case) -> Iterator[Finding]:
    """Find hosts that reclaim memory because they are overcommitted."""
    for host in case.hosts:
        taken = _taken(case, host) if _is_overcommitted(case, host) else None
        if taken is None or not host.memory_bytes:
            continue
        ratio = 100 * _promised(host) / host.memory_bytes
        over = ratio > 100
        crowd = (
            f"{count(len(host.vms), 'VM')} of {host.name} are configured with {ready.percent(ratio)} of its "
            f"{size(host.memory_bytes)}"
            if over and host.is_known
            else f"{host.name} has {size(host.memory_bytes)}; its VMs are not known"
        )
        promised = PROMISED.measure(f"memory configured for VMs of {host.name}, of its own", round(ratio, 1))
        yield host_memory_overcommitted_reclaiming.about(
            host.subject,
            severity=taken.severity,
            title=f"{host.name} reclaims memory from its VMs: {taken.told}",
            figure=taken.told,
            text=(
                f"{crowd}. Reclaimed: {taken.told}, {taken.said}.{taken.whose}{taken.counters} A balloon makes guests "
                f"page. The hypervisor swaps pages without knowing their use.{taken.now}"
            ),
            advice="Move VMs to a host of the cluster with free memory, give them less, or add memory.",
            caution=("Swapped memory comes back only when the guest touches it or the VM moves to another host."),
            evidence=[*taken.measures, *([promised] if over else [])],
        )


@rule(
    "memory-reclaim",
    title="A host reclaims memory from its VMs",
    says=(
        "VMs do not have all of their memory, though their host is not overcommitted. Possible causes: an earlier "
        "shortage, the hypervisor's own need, or an unknown memory limit (a known one is `memory-limit`). One finding "
        "per host lists its VMs. A VM on an unknown host has its own finding."
    ),
    bands=(BALLOON, SWAPPED, COMPRESSED, SWAP_IN),
    references=(ESXTOP_THRESHOLDS,),
    needs=(
        Need(
            "balloon or swap of hosts or VMs (Memctl, MCTLSZ, SWCUR, mem.vmmemctl, mem.swapped)",
            tuple((kind, band.metric) for kind in ("host", "vm") for band in (BALLOON, SWAPPED, SWAP_IN)),
        ),
    ),
)
def memory_reclaim(case: Case) -> Iterator[Finding]:
    """Find hosts that reclaim memory for another reason, and VMs on no known host."""
    for host in case.hosts:
        taken = None if _is_overcommitted(case, host) else _taken(case, host)
        if taken is not None and not _held(case, taken.hurt):
            yield _reclaimed(host.subject, host.name, taken, promised=host.memory_bytes)
    for vm in case.vms:
        if vm.host is None:
            taken = _taken(case, _alone(vm))
            if taken is not None and not _held(case, taken.hurt):
                yield _reclaimed(vm.subject, "The host", taken)


def _reclaimed(subject: Subject, host: str, taken: _Taken, promised: float | None = None) -> Finding:
    enough = f" Its VMs are configured with no more than its {size(promised)}." if promised else ""
    whom = taken.hurt[0].name if len(taken.hurt) == 1 else "its VMs"
    return memory_reclaim.about(
        subject,
        severity=taken.severity,
        title=f"{host} reclaims memory from {whom}: {taken.told}",
        figure=taken.told,
        text=(
            f"{'VMs do not have all of their' if len(taken.hurt) != 1 else f'{whom} does not have all of its'} memory: "
            f"{taken.told}, {taken.said}.{taken.whose}{enough}{taken.counters} A balloon makes guests page. The "
            f"hypervisor swaps pages without knowing their use.{taken.now}"
        ),
        advice=(
            "Check for a memory limit, raise the reservation of VMs that need it, or free memory on the host. Swapped "
            "memory comes back only when the guest touches it or the VM moves to another host."
        ),
        evidence=taken.measures,
    )


@rule(
    "remote-numa-memory",
    title="The memory of a VM is on another NUMA node than its vCPUs",
    says=(
        "Remote memory is slower. Locality is measured (N%L), or calculated if the VM has touched more memory than the "
        "nodes of its vCPUs have. A VM whose host is a guess is not judged."
    ),
    bands=(LOCAL,),
    references=(ESXTOP_THRESHOLDS, RIGHTSIZING),
    needs=(Need("NUMA locality of VMs (N%L)", (("vm", LOCAL.metric),)),),
)
def remote_numa_memory(case: Case) -> Iterator[Finding]:
    """Find VMs with remote memory. Without a measurement, memory that cannot be local counts as remote."""
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
        what = f"N%L of {vm.name}, not reached in 20% of the samples"
        yield remote_numa_memory.about(
            vm.subject,
            severity="warning",
            title=f"{vm.name} has {ready.percent(100 - local.seldom)} of its memory on a remote NUMA node",
            figure=f"{ready.percent(local.seldom)} of its memory is local",
            text=(
                f"In 20% of the samples or more only {ready.percent(local.seldom)} of the memory of {vm.name} "
                f"is on the nodes where its vCPUs run{amounts}; {ready.percent(local.mean)} on average. An access to "
                "another node takes about 1.7 times as long, and all such accesses share the link between nodes."
            ),
            advice=(
                "Fit it into one NUMA node, or split it evenly over the fewest nodes. Use no CPU affinity, and no CPU "
                "hot-add on VMs larger than a node. After a move its memory follows in minutes: check again then."
            ),
            evidence=[LOCAL.measure(what, local.seldom, vm.entity, samples=local.count)],
        )


def _spilled(vm: Vm) -> Iterator[Finding]:
    """Return memory that must be remote because the nodes of the vCPUs cannot hold the memory, for VMs without N%L.

    Only touched memory is on a node. The result does not depend on the order in which VMs were placed.
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
            f"{vm.name} {'has' if whole else 'has touched'} {size(touched)}, and its {vm.vcpus} vCPUs run on "
            f"{nodes} node{'s' * (nodes > 1)} of {vm.host_name} with {size(room)}: {size(remote)} "
            f"{'is on another node when it uses all of it' if whole else 'is on another node'}. Calculated from its "
            "size: locality was not measured."
        ),
        advice="Spread it over enough nodes for its memory, or give it less memory if it needs no more.",
        evidence=[LOCAL.measure(f"N%L of {vm.name} by its size", round(local_pct, 1))],
    )


RULES = (memory_limit, swap_wait, host_memory_overcommitted_reclaiming, memory_reclaim, remote_numa_memory)
