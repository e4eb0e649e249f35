"""Explanations why a plan puts a VM on its host, and not on another host."""

from __future__ import annotations

from collections.abc import Sequence

from hypertwin import naming
from hypertwin.documents.placement import Explanation
from hypertwin.errors import fail
from hypertwin.metrics.words import some
from hypertwin.plan.placement.lacking import amount
from hypertwin.plan.placement.problem import NOWHERE, SLACK, Floats, Ints, Problem, Rule, holds
from hypertwin.plan.placement.restart import Restarts

GIB = 2**30


def explain(problem: Problem, place: Ints, name: str, failures: Sequence[tuple[int, ...]] = ()) -> Explanation:
    """Return the reason for a VM's host in a placement. Raises ScenarioError for an unknown VM.

    Other hosts are checked against `failures`, which the placement must tolerate.
    """
    vm = vm_named(problem, name)
    at = int(place[vm])
    restarts = Restarts(problem)
    bears = not failures or restarts.first_unsafe(place, list(failures)) is None
    elsewhere = {
        host.name: _against(problem, place, vm, each, restarts, failures if bears else ())
        for each, host in enumerate(problem.hosts)
        if each != at
    }
    return {
        "vm": problem.vms[vm].name,
        "host": None if at == NOWHERE else problem.hosts[at].name,
        "reasons": _reasons(problem, place, vm, elsewhere),
        "elsewhere": elsewhere,
    }


def vm_named(problem: Problem, name: str) -> int:
    """Return the position of a VM, by its name or its label. Raises ScenarioError."""
    names = [vm.name for vm in problem.vms]
    if name in names:
        return names.index(name)
    labels = [vm.label for vm in problem.vms]
    if labels.count(name) == 1:
        return labels.index(name)
    hint = naming.hint(name, names, "storage appliances and VMs of other clusters are not planned")
    allowed = f"a VM of cluster {problem.cluster}: {some(names, 12)}"
    return fail("unknown-reference", "why", name, allowed, hint)


def _reasons(problem: Problem, place: Ints, vm: int, elsewhere: dict[str, str]) -> list[str]:
    at, before = int(place[vm]), int(problem.at[vm])
    if at == NOWHERE:
        return ["no host found"]
    name = problem.hosts[at].name
    found = []
    if problem.vms[vm].stays_on_host:
        found.append(f"local disks or CPU affinity tie it to {name}")
    elif vm in problem.fixed:
        found.append(f"without live migration, it stays on {name}")
    kept = (rule for rule in problem.rules if vm in rule.vms and holds(rule, place))
    found += [_kept(problem, rule, vm, place) for rule in kept]
    if before == at:
        found.append(f"it is on {name} now{_why_leave(problem, place, vm)}")
    elif before == NOWHERE:
        found.append(f"new VM, and {name} has headroom")
    else:
        left = problem.hosts[before].name
        found.append(f"it leaves {left}: {_why_left(problem, place, vm, elsewhere[left])}")
    open_ = [host for host, text in elsewhere.items() if text.startswith("possible")]
    if not open_ and len(problem.hosts) > 1 and not problem.vms[vm].stays_on_host and vm not in problem.fixed:
        found.append("with the other VMs where they are, no other host fits")
    return found


def _why_leave(problem: Problem, place: Ints, vm: int) -> str:
    """Return the reasons for a VM to leave its host, if the VM stays there."""
    host = int(place[vm])
    broken = [_called(rule) for rule in problem.rules if vm in rule.vms and not holds(rule, place)]
    over = _lacks(problem, problem.loads(place)[host] - problem.rooms[host])
    wrong = [f"{' and '.join(broken)} {'does' if len(broken) == 1 else 'do'} not hold"] if broken else []
    wrong += [f"that host is {over} above its limits"] if over else []
    return f", though {' and '.join(wrong)}" if wrong else ", and nothing requires a move"


def _why_left(problem: Problem, place: Ints, vm: int, against: str) -> str:
    """Return the reasons against the host that a VM leaves.

    The other VMs are on their old hosts if there is a reason then, otherwise on their new hosts.
    """
    before = int(problem.at[vm])
    if not problem.fits[vm, before]:
        return "it cannot run there, or the host is evacuated"
    broken = [_called(rule) for rule in problem.rules if vm in rule.vms and not holds(rule, problem.at)]
    if broken:
        return f"{' and '.join(broken)} did not hold there"
    over = _lacks(problem, problem.loads(problem.at)[before] - problem.rooms[before])
    if over:
        return f"that host is {over} above its limits"
    back = place.copy()
    back[vm] = before
    over = _lacks(problem, problem.loads(back)[before] - problem.rooms[before])
    if over:
        return f"with the arriving VMs, that host would exceed its limits by {over}"
    return f"with it there, {against}" if against.startswith("if ") else "this makes headroom, or balances the load"


def _kept(problem: Problem, rule: Rule, vm: int, place: Ints) -> str:
    name = _called(rule)
    others = [problem.vms[other].called for other in rule.vms if other != vm and place[other] != NOWHERE]
    if rule.kind in ("run-on", "not-on"):
        hosts = some([problem.hosts[host].name for host in rule.hosts])
        return f"{name}: {'only' if rule.kind == 'run-on' else 'not'} on {hosts}"
    together = "together with" if rule.kind == "keep-together" else "apart from"
    return f"{name}: {together} {some(others) or 'others'}"


def _against(
    problem: Problem, place: Ints, vm: int, host: int, restarts: Restarts, failures: Sequence[tuple[int, ...]]
) -> str:
    """Return the reasons against a host, or its cost, while all other VMs are where the placement has them."""
    if not problem.fits[vm, host]:
        return _unfit(problem, vm, host)
    if vm in problem.fixed and host != problem.at[vm]:
        return "it has no live migration"
    there = place.copy()
    there[vm] = host
    broken = [_called(rule) for rule in problem.rules if vm in rule.vms and not holds(rule, there)]
    if broken:
        return f"{' and '.join(broken)} would not hold"
    lacking = _lacks(problem, problem.loads(there)[host] - problem.rooms[host])
    if lacking:
        return f"short of {lacking} within its limits"
    unsafe = restarts.first_unsafe(there, list(failures)) if failures else None
    if unsafe is not None:
        failed = " + ".join(problem.hosts[each].name for each in unsafe.failed)
        lost = problem.vms[unsafe.cannot_restart[0][0]].called if unsafe.cannot_restart else "a VM"
        return f"if {failed} fails, {lost} {unsafe.verb}"
    return _cost(problem, place, there, vm)


def _cost(problem: Problem, place: Ints, there: Ints, vm: int) -> str:
    now, then = (int((each != problem.at).sum()) for each in (place, there))
    full, fuller = (100 * float(problem.fullness(each).max(initial=0.0)) for each in (place, there))
    moves = then - now if problem.at[vm] != NOWHERE else 0
    text = {1: "one move more", -1: "one move less", 0: "as many moves"}[moves]
    if f"{fuller:.1f}" == f"{full:.1f}":
        return f"possible: {text}, same peak load"
    return f"possible: {text}, peak load {fuller:.1f} instead of {full:.1f}% of limit"


def _unfit(problem: Problem, vm: int, host: int) -> str:
    what, where = problem.vms[vm], problem.hosts[host]
    if what.stays_on_host:
        return "local disks or CPU affinity tie the VM to its host"
    if what.vcpus > where.threads:
        return f"host has {where.threads} logical CPUs, the VM {what.vcpus} vCPUs"
    if what.memory_bytes > where.memory_bytes:
        return f"host has {where.memory_bytes / GIB:.1f} GiB of memory, the VM {what.memory_bytes / GIB:.1f} GiB"
    if where.group in what.host_groups:
        return "host is evacuated, or excluded by a policy"
    return "host has another hypervisor, or lacks the VM's storage"


def _lacks(problem: Problem, over: Floats) -> str:
    """Return the excess of each resource, in words."""
    return " and ".join(
        amount(name, float(value))
        for name, value, room in zip(problem.resources, over, problem.rooms.max(axis=0), strict=True)
        if value > SLACK * max(1.0, room)
    )


def _called(rule: Rule) -> str:
    """Return the name of a rule, or of the policy that adds it."""
    return f"policy {rule.policy}" if rule.policy else f"rule {rule.name}"
