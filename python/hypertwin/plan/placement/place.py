"""Search for hosts for new VMs, and for the fewest hosts that hold all VMs and tolerate failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hypertwin.language import Host, Vm
from hypertwin.plan.capacity.limits import AskedVm
from hypertwin.plan.placement import balance, bounds
from hypertwin.plan.placement import beside as searches
from hypertwin.plan.placement.beside import WORK, Beside, Progress
from hypertwin.plan.placement.found import Found
from hypertwin.plan.placement.incumbent import Tell
from hypertwin.plan.placement.lacking import shortage
from hypertwin.plan.placement.nearby import Learning
from hypertwin.plan.placement.problem import NOWHERE, Ints, Problem
from hypertwin.plan.placement.ruled import Ruled
from hypertwin.plan.placement.spread import spread
from hypertwin.plan.placement.task import Task

AFTER_FAILURE = "room for it and for what restarts when a host fails"
"""Name of the missing resource of a VM that fits only without a failure."""


def with_new(problem: Problem, vms: Mapping[str, AskedVm]) -> Problem:
    """Return the problem with more VMs, by name, which have no host yet and are in no rule.

    A VM without a CPU demand gets the mean demand per vCPU of existing VMs. Names must be new.
    """
    columns: dict[str, list[float]] = {}
    vcpus = sum(vm.vcpus for vm in problem.vms)
    for each, resource in enumerate(problem.resources):
        if resource == "cpu":
            mean = problem.sizes[:, each].sum() / vcpus if vcpus else 0.0
            more = 1 + problem.own_cpu
            columns[resource] = [mean * vm.vcpus if vm.mhz is None else vm.mhz * more for vm in vms.values()]
        elif resource == "memory":
            columns[resource] = [float(vm.memory_bytes) for vm in vms.values()]
        else:
            columns[resource] = [float(vm.vcpus) if resource == "vcpus" else 0.0 for vm in vms.values()]
    sizes = np.array([columns[resource] for resource in problem.resources], float).T.reshape(len(vms), -1)
    fits = np.array([[_fits(vm, host) for host in problem.hosts] for vm in vms.values()], bool)
    return replace(
        problem,
        vms=problem.vms + tuple(_vm(name, vm, problem) for name, vm in vms.items()),
        sizes=np.concatenate([problem.sizes, sizes.reshape(len(vms), len(problem.resources))]),
        fits=np.concatenate([problem.fits, fits.reshape(len(vms), len(problem.hosts))]),
        at=np.concatenate([problem.at, np.full(len(vms), NOWHERE, np.int64)]),
        restarts=np.concatenate([problem.restarts, np.ones(len(vms), bool)]),
    )


def beside(
    problem: Problem,
    failures: Sequence[tuple[int, ...]],
    *,
    fewest: bool = False,
    progress: Progress | None = None,
    work: int = WORK,
) -> Found:
    """Return the hosts for VMs without a host, while all other VMs stay: a level placement, or the fewest hosts.

    If not all VMs get a host, `partial` has the placement of the VMs that do.
    """
    task = Task(problem, failures, stay=True)
    new = problem.at == NOWHERE
    done = searches.beside(task, progress, work)
    if not done.missing and not fewest:
        return _level(task, done.place)
    if not done.missing:
        return _few(task, done, work)
    found = balance.levelled(task, from_nothing=True) if balance.is_small(task) else None
    if found is not None and found.place is not None:
        return _few(task, replace(done, place=found.place), work) if fewest else _level(task, found.place)
    asked = int(new.sum())
    why = bounds.impossible(task)
    if why is None and done.most < asked:
        why = f"at most {done.most} of {asked} new VMs fit"
    if why is None and found is None:
        place, is_impossible = by_programme(task)
        if place is not None:
            return _few(task, replace(done, place=place), work) if fewest else _level(task, place)
        why = f"fewer than {asked} new VMs fit" if is_impossible else None
    proven = why is not None or (found is not None and found.proven)
    return Found(
        None,
        "hosts" if fewest else "min-peak",
        None,
        None,
        proven=proven,
        binding_constraints=tuple(filter(None, (why,))) or (found.binding_constraints if found is not None else ()),
        partial=done.place,
        placeable=min(done.most, asked - proven),
    )


def by_programme(task: Task) -> tuple[Ints | None, bool]:
    """Return a placement of all new VMs by integer programmes, and whether it is proven that none exists."""
    at = task.problem.at
    free = np.array([(at[vms] == NOWHERE).any() for vms in task.units.vms], bool)
    try:
        model = Learning(task, "any", free)
    except ValueError:
        return None, False
    while (place := model.solve()) is not None:
        if task.good(place):
            return place, False
        if not model.learn(place, most=len(task.failures)):
            break
    return None, model.is_impossible


def _level(task: Task, place: Ints) -> Found:
    """Return a placement of all VMs, made more level."""
    bound, binding_constraints = bounds.fullest(task)
    if balance.is_small(task) and task.fullest(place) > bound * balance.AS_GOOD:
        found = balance.levelled(task, from_nothing=True)
        if found.place is not None:
            return replace(found, place=spread(task, found.place), placeable=int((task.problem.at == NOWHERE).sum()))
    place = spread(task, place)
    value = task.fullest(place)
    placeable = int((task.problem.at == NOWHERE).sum())
    return Found.placed(
        place, "min-peak", value, bound, binding_constraints, within=balance.AS_GOOD, placeable=placeable
    )


def _few(task: Task, done: Beside, work: int) -> Found:
    """Return a placement of all VMs on the fewest hosts found, including hosts that have VMs now."""
    bound, binding_constraints = bounds.hosts(task)
    order = _worth_keeping(task)
    occupied = np.isin(order, task.problem.at)
    order = np.concatenate([order[occupied], order[~occupied]])
    bound = max(bound, float(occupied.sum()))
    place = done.place
    for many in range(int(bound), len(set(place.tolist()))):
        some = Task(task.problem, task.failures, stay=True, kept=order[:many])
        fewer = searches.beside(some, None, work // 4)
        if not fewer.missing:
            place = fewer.place
            break
    value = float(len(set(place.tolist())))
    placeable = int((task.problem.at == NOWHERE).sum())
    return Found.placed(place, "hosts", value, bound, binding_constraints, placeable=placeable)


def lacking(problem: Problem, place: Ints, missing: Sequence[int]) -> dict[str, str]:
    """Return the smallest shortage of each new VM without a host, by name."""
    ruled = Ruled(problem, problem.rules)
    free = np.minimum(problem.rooms, problem.failover) - problem.loads(place)
    found: dict[str, str] = {}
    same: dict[tuple[bytes, bytes], str] = {}
    for vm in missing:
        kind = problem.sizes[vm].tobytes(), problem.fits[vm].tobytes()
        if kind not in same or vm in ruled.apart or vm in ruled.together:
            open_ = ruled.open_to(vm, place, ()) & problem.fits[vm] & (problem.sizes[vm] <= free).all(axis=1)
            text = AFTER_FAILURE if open_.any() else shortage(problem, ruled, vm, place, (), free).text
            same[kind] = text
        found[problem.vms[vm].name] = same[kind]
    return found


def fewest_hosts(problem: Problem, failures: Sequence[tuple[int, ...]], *, tell: Tell | None = None) -> Found:
    """Return the fewest hosts that hold all VMs and tolerate failures among themselves. The others can go.

    A host kept empty for failures counts. No VM moves if the current placement needs no more hosts.
    """
    return _fewest(Task(problem, failures), tell or (lambda _: None))


def _fewest(task: Task, tell: Tell) -> Found:
    why = bounds.impossible(task)
    if why is not None:
        return Found(None, "hosts", None, None, proven=True, binding_constraints=(why,))
    bound, binding_constraints = bounds.hosts(task)
    place, kept = None, len(task.problem.hosts)
    order = _worth_keeping(task)
    is_interrupted = False
    try:
        for many in range(max(1, int(bound)), len(order) + 1):
            tell(f"all hosts, trying {many}, at least {bound:.0f}")
            place = _unmoved(task, order, many)
            if place is None:
                place = on_hosts(task, order[:many])
            if place is not None:
                kept = many
                break
    except KeyboardInterrupt as error:
        place, kept, is_interrupted = None if error.args else on_hosts(task, order), len(order), True
        if place is None:
            raise
    if not is_interrupted and (place is None or kept > bound) and balance.is_small(task):
        found, least, hosts = balance.exact(task, "hosts")
        bound = max(bound, least)
        if found is not None and (place is None or len(hosts) < kept):
            place, kept = found, len(hosts)
    if place is None:
        proven = bool(np.isinf(bound))
        return Found(
            None, "hosts", None, None if proven else bound, proven=proven, binding_constraints=(binding_constraints,)
        )
    value = float(kept)
    return Found.placed(place, "hosts", value, bound, binding_constraints, is_interrupted=is_interrupted)


def _unmoved(task: Task, order: Ints, many: int) -> Ints | None:
    """Return the current placement if `many` hosts suffice: its own, and the first others in `order` as spares."""
    at = task.problem.at
    used = np.isin(order, at)
    kept = np.concatenate([order[used], order[~used]])[:many]
    return at if Task(task.problem, task.failures, kept=kept).good(at) else None


def on_hosts(task: Task, kept: Ints, *, near: float = 1.0) -> Ints | None:
    """Return a placement on the kept hosts only, which tolerates failures among them.

    The search stops at a peak load of `near` times its lower bound, or at any placement within limits.
    """
    some = Task(task.problem, task.failures, kept=kept)
    some.units.allowed &= task.units.allowed
    if bounds.impossible(some) is not None:
        return None
    return balance.level_place(some, min(1.0, near * bounds.fullest(some)[0]), from_nothing=True)


def _worth_keeping(task: Task) -> Ints:
    """Return the hosts in order: hosts that must stay, then hosts in rules, then the largest."""
    problem = task.problem
    only = task.units.allowed[task.units.allowed.sum(axis=1) == 1].any(axis=0)
    named = np.zeros(len(problem.hosts), np.int64)
    for rule in problem.rules:
        if rule.kind == "run-on":
            named[list(rule.hosts)] += 1
    size = (problem.rooms / np.maximum(problem.rooms.max(axis=0, initial=0.0), 1e-300)).min(axis=1, initial=1.0)
    used = np.flatnonzero(task.units.allowed.any(axis=0))
    order = np.lexsort((used, -size[used], -named[used], ~only[used]))
    return used[order]


def _fits(vm: AskedVm, host: Host) -> bool:
    """True if a VM fits on a host. KVM allows more vCPUs than the host has threads, but the planner does not."""
    return vm.vcpus <= host.threads and vm.memory_bytes <= host.memory_bytes


def _vm(name: str, asked: AskedVm, problem: Problem) -> Vm:
    """Return a VM that has no host yet."""
    return Vm(
        name=name,
        group=name,
        host="",
        cluster=problem.cluster,
        host_is_given=False,
        host_is_guess=False,
        vcpus=asked.vcpus,
        memory_bytes=asked.memory_bytes,
        memory_touched_bytes=asked.memory_bytes,
        memory_reservation_bytes=0,
        reservation_hz=0,
        shares=1_000.0 * asked.vcpus,
        cpu_hot_add=False,
        has_affinity=False,
        restart_priority="medium",
        stays_on_host=False,
        live_migration=True,
        host_groups=tuple(dict.fromkeys(host.group for host in problem.hosts if _fits(asked, host))),
        storage_appliance=False,
        products=(),
        vdisks=0,
        policies={},
    )
