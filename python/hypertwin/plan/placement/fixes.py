"""Search for changes that make a plan possible, cheapest first. Each change is checked by solving the problem again.

Dropping a rule and shrinking a VM come before buying hardware. Enlarging one host comes before enlarging all hosts, and
both
come before adding one. Memory sizes match common modules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hypertwin.documents import placement as documents
from hypertwin.metrics import words
from hypertwin.plan.placement.lacking import GIB, NOISE, Shortage
from hypertwin.plan.placement.problem import NOWHERE, Floats, Ints, Problem
from hypertwin.plan.placement.restart import Restarts

Solve = Callable[[Problem, Sequence[tuple[int, ...]]], bool]
"""Function that returns true if a problem has a valid plan that tolerates failures."""

STEPS_GIB = (16, 32, 64, 128, 256, 512, 1024, 2048)
"""Sizes of memory added to a host in GiB, equal to common module sizes."""

MOST_SOLVED = 24
"""Maximum number of problems to solve."""

LEAST_PART = 0.25
"""Minimum fraction of a VM size that still counts as a fix."""

COUNTED = ("vcpus", "cores")
"""Resources whose unit is a vCPU."""

MOST_VMS, MOST_HOSTS, MOST_RULES, MOST_MORE = 2, 2, 6, 3
"""Maximum number of VMs, hosts and rules to try, and of hosts to add."""


@dataclass(frozen=True)
class _Change:
    """Possible fix that is not checked yet."""

    kind: str
    text: str
    problem: Problem
    failures: Sequence[tuple[int, ...]]


@dataclass(frozen=True)
class _Lost:
    """VM that cannot restart after a failure."""

    vm: int
    shortage: Shortage
    room: Floats
    """Free capacity per resource, on the allowed host with the most free capacity."""


def survives(place: Ints) -> Solve:
    """Return a check that a placement tolerates failures, for fixes of `plan survive`."""

    def solve(problem: Problem, failures: Sequence[tuple[int, ...]]) -> bool:
        return Restarts(problem).first_unsafe(place, failures) is None

    return solve


def fixes(
    problem: Problem,
    place: Ints | None,
    failures: Sequence[tuple[int, ...]],
    solve: Solve,
    *,
    most: int = MOST_SOLVED,
) -> list[documents.Fix]:
    """Return the changes that make a plan possible. If none of them does, the changes tried.

    `place` is the placement whose failures leave VMs without a host, or None if no plan exists. At most `most` problems
    are solved. Unreadable pool data after a failure have no fix here.
    """
    lost = [] if place is None else list(_lost(problem, place, failures))
    if place is not None and not lost:
        return []
    tried: list[documents.Fix] = []
    helped: Counter[str] = Counter()
    solved = 0
    for several in _changes(problem, lost, failures):
        for change in several:
            if solved == most:
                break
            solved += 1
            helps = solve(change.problem, change.failures)
            tried.append({"kind": change.kind, "text": change.text, "works": helps})
            helped[change.kind] += helps
            if helps:
                break  # what follows is more of the same
    good = [remedy for remedy in tried if remedy["works"]]
    return good or list({remedy["kind"]: remedy for remedy in tried}.values())  # the largest change of each kind


def _lost(problem: Problem, place: Ints, failures: Sequence[tuple[int, ...]]) -> Iterator[_Lost]:
    """Yield every VM that cannot restart after some failure, with its shortage."""
    restarts = Restarts(problem)
    for outcome in restarts.all(place, failures):
        for vm, short in outcome.cannot_restart:
            free = restarts.free(outcome.place, outcome.failed)
            open_ = restarts.must.open_to(vm, outcome.place, outcome.failed) & problem.fits[vm]
            room = np.maximum(free[open_].max(axis=0, initial=0.0), 0.0)
            yield _Lost(vm, short, room)


def _changes(
    problem: Problem, lost: Sequence[_Lost], failures: Sequence[tuple[int, ...]]
) -> Iterator[Iterator[_Change]]:
    """Yield changes by cost. Each group of changes is ordered from small to large."""
    for name in _rules(problem, lost):
        dropped = _Change("drop-rule", f"drop rule {name}", problem.without_rules([name]), failures)
        yield iter([dropped])
    vms = Counter(each.vm for each in lost)
    if len(vms) <= MOST_VMS:
        for vm in vms:
            yield _smaller(problem, vm, [each for each in lost if each.vm == vm], failures)
    if not lost:
        yield _smaller_largest(problem, failures)
    hosts = Counter(each.shortage.host for each in lost if each.shortage.host != NOWHERE)
    amounts = np.array([each.shortage.amounts for each in lost if each.shortage.amounts])
    most = amounts.max(axis=0) if len(amounts) else np.ones(len(problem.resources))
    for host, _ in hosts.most_common(MOST_HOSTS):
        yield _larger(problem, [host], most, failures)
    yield _larger(problem, list(range(len(problem.hosts))), most, failures)
    yield _more_hosts(problem, failures)


def _rules(problem: Problem, lost: Sequence[_Lost]) -> list[str]:
    """Return the rules that might block a plan. Rules named in shortages of VMs come first."""
    named = [
        name.removeprefix("rule ")
        for each in lost
        for name in each.shortage.binding_constraints
        if name.startswith("rule ")
    ]
    about = {each.vm for each in lost}
    others = [rule.name for rule in problem.rules if not lost or (rule.mandatory and about & set(rule.vms))]
    return list(dict.fromkeys([*named, *others]))[:MOST_RULES]


def _smaller(
    problem: Problem, vm: int, lost: Sequence[_Lost], failures: Sequence[tuple[int, ...]]
) -> Iterator[_Change]:
    """Yield a VM reduced to the headroom of hosts that cannot restart the VM, and then smaller sizes.

    Sizes of other hosts are an alternative.
    """
    if all(each.shortage.binding_constraints == ("hosts",) for each in lost):
        yield from _narrower(problem, vm, failures)
        return
    room = np.min([each.room for each in lost], axis=0)
    for of_room in (1.0, 0.75):
        yield from _sized(problem, vm, room * of_room, failures)


def _smaller_largest(problem: Problem, failures: Sequence[tuple[int, ...]]) -> Iterator[_Change]:
    """Yield the VM that uses most of a host, reduced to three quarters and to half. New VMs come first."""
    if len(problem.vms):
        shares = problem.sizes / np.maximum(problem.rooms.max(axis=0, initial=0.0), 1e-300)
        if (problem.at == NOWHERE).any():  # those that run have their size
            shares[problem.at != NOWHERE] = 0.0
        largest = int(shares.max(axis=1, initial=0.0).argmax())
        for of_size in (0.75, 0.5):
            yield from _sized(problem, largest, problem.sizes[largest] * of_size, failures)


def _sized(problem: Problem, vm: int, most: Floats, failures: Sequence[tuple[int, ...]]) -> Iterator[_Change]:
    """Yield a VM limited to `most` of each resource, rounded down, or nothing if too little of the VM would remain."""
    sizes, texts = problem.sizes.copy(), []
    for each, resource in enumerate(problem.resources):
        was = float(sizes[vm, each])
        now = _round_down(resource, float(most[each]))
        if now < LEAST_PART * was:
            return
        if now < was:
            sizes[vm, each] = now
            small = resource == "cpu" and was - now < NOISE * float(problem.capacity[:, each].max())
            texts.append(_changed(resource, now, was) + (" (within demand error)" if small else ""))
    if texts:
        text = f"{problem.vms[vm].called} to {' and '.join(texts)}"
        yield _Change("smaller-vm", text, replace(problem, sizes=sizes), failures)


def _narrower(problem: Problem, vm: int, failures: Sequence[tuple[int, ...]]) -> Iterator[_Change]:
    """Yield a VM that is too large for some hosts, reduced to the size of the next smaller host."""
    of = problem.vms[vm]
    can = np.flatnonzero(problem.fits[vm])
    if of.stays_on_host or of.pool is not None or not len(can):
        return
    family = problem.hosts[can[0]].family
    others = [
        host for host in problem.hosts if host.family == family and not problem.fits[vm, problem.hosts.index(host)]
    ]
    for vcpus in sorted({min(host.threads, of.vcpus) for host in others}, reverse=True):
        wide = [host.family == family and host.threads >= vcpus for host in problem.hosts]
        holds = [host.memory_bytes >= of.memory_bytes for host in problem.hosts]
        if vcpus == of.vcpus:
            continue
        fits = problem.fits.copy()
        fits[vm] |= np.array(wide) & np.array(holds)
        sizes = problem.sizes.copy()
        for each, resource in enumerate(problem.resources):
            if resource in COUNTED:
                sizes[vm, each] = min(sizes[vm, each], vcpus)
        text = f"{of.name} to {vcpus} vCPUs (now {of.vcpus})"
        yield _Change("smaller-vm", text, replace(problem, fits=fits, sizes=sizes), failures)


def _round_down(resource: str, value: float) -> float:
    """Round a VM size down: whole GiB, even vCPUs, CPU in steps of 10 MHz."""
    if resource.endswith("memory"):
        return float(value // GIB * GIB)
    if resource in COUNTED:
        return float(value // 2 * 2 if value >= 2 else value // 1)
    return float(value // 10 * 10)


def _changed(resource: str, now: float, was: float) -> str:
    word = words.resource(resource)
    if resource.endswith("memory"):
        return f"{now / GIB:,.0f} GiB of {word} (now {was / GIB:,.{1 if was % GIB else 0}f})"
    if resource in COUNTED:
        return f"{now:.0f} vCPUs (now {was:.0f})"
    return f"at most {now / 1e3:.4g} GHz of {word} (now {was / 1e3:.4g})"


def _larger(
    problem: Problem, hosts: Sequence[int], lacking: Floats, failures: Sequence[tuple[int, ...]]
) -> Iterator[_Change]:
    """Yield the hosts with more of the resource that VMs lack, in increasing steps."""
    one = problem.hosts[hosts[0]]
    who = one.name if len(hosts) == 1 else "every host"
    parts = problem.failover[hosts].sum(axis=0) / np.maximum(problem.capacity[hosts].sum(axis=0), 1e-300)
    gib, cores = 0.0, 0.0
    for resource, lacks, part in zip(problem.resources, lacking.tolist(), parts.tolist(), strict=True):
        if lacks > 0 and part > 0:
            if resource.endswith("memory"):
                gib = max(gib, lacks / part / GIB)
            elif resource.endswith("cpu"):
                work = one.work_per_cycle if resource == "cpu" else 1.0
                cores = max(cores, lacks / part / (one.clock_hz * work / 1e6))
            else:
                cores = max(cores, lacks / part)
    memory = [0, 0, 0] if not gib else [step for step in STEPS_GIB if step >= gib][:3]
    more = [0, 0, 0] if not cores else [2 * max(1, round(cores / 2 * times + 0.499)) for times in (1, 2, 4)]
    for add_gib, add_cores in zip(memory, more, strict=False):
        texts = [f"{add_gib} GiB" if add_gib else "", f"{add_cores} cores" if add_cores else ""]
        if add_gib or add_cores:
            text = f"{who} +{' +'.join(each for each in texts if each)}"
            yield _Change("larger-host", text, _enlarged(problem, hosts, add_gib, add_cores), failures)


def _enlarged(problem: Problem, hosts: Sequence[int], gib: int, cores: int) -> Problem:
    """Return the hosts with more memory and cores, with an unchanged usable share."""
    added = np.zeros_like(problem.capacity)
    for host in hosts:
        of = problem.hosts[host]
        for each, resource in enumerate(problem.resources):
            memory = resource.endswith("memory")
            added[host, each] = gib * GIB if memory else problem.capacity[host, each] / of.cores * cores
    with np.errstate(divide="ignore", invalid="ignore"):
        normal, failover = (
            np.where(problem.capacity > 0, rooms / problem.capacity, 0.0) for rooms in (problem.rooms, problem.failover)
        )
    return replace(
        problem,
        capacity=problem.capacity + added,
        rooms=problem.rooms + added * normal,
        failover=problem.failover + added * failover,
    )


def _more_hosts(problem: Problem, failures: Sequence[tuple[int, ...]]) -> Iterator[_Change]:
    """Yield one, two or three more hosts like the most common one."""
    groups = Counter(host.group for host in problem.hosts)
    like = max(range(len(problem.hosts)), key=lambda host: (groups[problem.hosts[host].group], -host))
    for many in range(1, MOST_MORE + 1):
        larger, more = problem, list(failures)
        for _ in range(many):
            larger, more = with_host(larger, like, more)
        text = f"{many} more host{'s' if many > 1 else ''} like {problem.hosts[like].name}"
        yield _Change("more-hosts", text, larger, more)


def with_host(
    problem: Problem, like: int, failures: Sequence[tuple[int, ...]]
) -> tuple[Problem, list[tuple[int, ...]]]:
    """Return the problem with one more host, which can fail like the others."""
    new = len(problem.hosts)
    can = problem.fits[:, like] & np.array([not vm.stays_on_host for vm in problem.vms], bool)
    rules = tuple(
        replace(rule, hosts=(*rule.hosts, new)) if rule.policy is not None and like in rule.hosts else rule
        for rule in problem.rules
    )
    larger = replace(
        problem,
        hosts=(*problem.hosts, replace(problem.hosts[like], name=f"{problem.hosts[like].name}-like-{new + 1}")),
        capacity=np.vstack([problem.capacity, problem.capacity[like]]),
        rooms=np.vstack([problem.rooms, problem.rooms[like]]),
        failover=np.vstack([problem.failover, problem.failover[like]]),
        fits=np.column_stack([problem.fits, can]),
        rules=rules,
    )
    swapped = {tuple(sorted({*failed, new} - {gone})) for failed in failures for gone in failed}
    return larger, [*failures, *sorted(swapped - set(failures))]
