"""Named policies, which are requirements of a planner in addition to limits and rules, each with its source.

| policy | by default | how it works |
|---|---|---|
| `numa` | on | a rule `run-on` for VMs larger than a NUMA node, if another group of hosts suits them |
| `separate-large-vms` | on | a rule `keep-apart` for VMs of more than half a host |
| `storage-first` | on | reserves CPU on hosts that serve a storage pool |
| `failover-room` | on | plans tolerate failures; the commands read it |
| `peaks` | on | explains `--cpu` and `--demand` |
| `ratio` | on | reports if vCPUs per core are the limit |
| `one-vcpu-per-core` | off | a resource `cores`: VMs of the named groups use one per vCPU |

Rules of policies are should rules, which need not hold after a failure.

A policy becomes constraints that every search already knows, so its decisions can be explained.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Literal

import numpy as np

from hypertwin import naming
from hypertwin.errors import fail
from hypertwin.language import Host, Vm
from hypertwin.metrics.words import some
from hypertwin.plan.capacity import demand
from hypertwin.plan.capacity.limits import percent
from hypertwin.plan.placement.problem import Bools, Floats, Ints, Problem, Rule
from hypertwin.scenario import Scenario

MONSTERS = "Virtualizing large databases - VMware CPU capacity planning (InterSystems community, 2017)"
NUMA_SOURCE = f"{MONSTERS}; NUMA Deep Dive (Denneman, VMware)"

STORAGE_PCT = "10%"
"""CPU that storage in the kernel of a host uses, in per cent. vSAN's design guide recommends to reserve about this."""


@dataclass
class Decided:
    """Effects of a policy."""

    problem: Problem
    texts: list[str]
    of_vm: dict[str, str]
    """Decision per affected VM, by VM name."""


@dataclass(frozen=True)
class Policy:
    """Policy with its requirement, its source, and the function that applies the policy."""

    asks: str
    source: str
    apply: Callable[[Problem, Scenario, Sequence[str] | None], Decided]
    is_on: bool = True
    takes: Literal["groups", "percentage", "nothing"] = "nothing"
    needs: bool = False
    """True if the policy has no effect without an argument."""


def apply(
    problem: Problem, scenario: Scenario, on: Mapping[str, Sequence[str] | None], off: Sequence[str]
) -> tuple[Problem, dict[str, Any]]:
    """Return the problem with all policies applied, and the state, requirement and decisions of each policy.

    `on` maps policies to enable to their arguments. Arguments are globs of names of VMs or groups, or the percentage of
    `storage-first`. `off` lists policies to disable. Raises ScenarioError.
    """
    for path, names in (("policy", on), ("without_policy", off)):
        for name in names:
            if name not in POLICIES:
                hint = naming.hint(name, POLICIES, "leave it out")
                fail("unknown-value", path, name, ", ".join(POLICIES), hint)
    for name in off:
        if name in on:
            fail(
                "one-of",
                "policy",
                name,
                "a policy that is on or off",
                "leave it out of `policy` or of `without_policy`",
            )
    said = {}
    for name, policy in POLICIES.items():
        given = on.get(name)
        _check(name, policy, given, asked=name in on)
        is_on = name not in off and (policy.is_on or name in on)
        decided = policy.apply(problem, scenario, given) if is_on else Decided(problem, [], {})
        problem = decided.problem
        said[name] = {
            "on": is_on,
            "asks": policy.asks,
            "source": policy.source,
            "decided": decided.texts,
            "vms": decided.of_vm,
        }
    return problem, said


def _check(name: str, policy: Policy, given: Sequence[str] | None, *, asked: bool) -> None:
    """Refuse arguments that a policy does not accept."""
    if given and policy.takes == "nothing":
        fail("bad-quantity", "policy", f"{name}={','.join(given)}", f"{name}, with nothing after it", "leave it out")
    if asked and policy.needs and not given:
        fail("missing-key", "policy", name, f"{name}=GROUPS", "name the groups, such as db* or db,erp")


def _numa(problem: Problem, scenario: Scenario, groups: Sequence[str] | None) -> Decided:
    """Restrict large VMs to hosts where their vCPUs divide evenly over the fewest nodes, if allowed hosts have that."""
    texts, of_vm = [], {}
    rules: dict[tuple[int, ...], list[int]] = {}
    nodes = np.array([(host.nodes, host.cores_per_node, host.memory_per_node_bytes) for host in problem.hosts]).T
    allowed = problem.allowed
    for vm in _chosen(problem, groups):
        of = problem.vms[vm]
        even = _even(of, *nodes)
        suit, others = np.flatnonzero(allowed[vm] & even), np.flatnonzero(allowed[vm] & ~even)
        if len(suit) and len(others):
            rules.setdefault(tuple(suit.tolist()), []).append(vm)
            worst = problem.hosts[others[0]]
            of_vm[of.name] = f"not on hosts like {worst.name}: {_uneven(of, worst)}"
        elif len(others):
            texts.append(f"{of.called}, {of.vcpus} vCPUs, divides evenly on none of its hosts: not applied")
    for hosts, vms in rules.items():
        names = [problem.vms[vm].name for vm in vms]
        called = some([problem.vms[vm].called for vm in vms], 4)
        rule = Rule(f"numa: {called}", "run-on", tuple(vms), hosts, mandatory=False, policy="numa")
        why_not = _in_the_way(problem, rule)
        if why_not is None:
            problem = replace(problem, rules=(*problem.rules, rule))
            texts.append(f"{called}: {of_vm[names[0]]}")
        else:
            texts.append(f"{called}: not applied, as {why_not}")
            of_vm = {name: text for name, text in of_vm.items() if name not in names}
    return Decided(problem, texts, of_vm)


def _in_the_way(problem: Problem, rule: Rule) -> str | None:
    """Return a reason why a rule `run-on` cannot hold, by a quick check, or None without one."""
    vms, hosts = list(rule.vms), list(rule.hosts)
    if (problem.sizes[vms].sum(axis=0) > problem.rooms[hosts].sum(axis=0)).any():
        return "the hosts that suit them have no room for all of them"
    allowed = replace(problem, rules=(*problem.rules, rule)).allowed
    for other in problem.rules:
        about = list(other.vms)
        if set(about).isdisjoint(vms):
            continue
        if other.kind == "keep-together" and not allowed[about].all(axis=0).any():
            return f"rule {other.name} keeps them where others are"
        host_of: dict[int, int] = {}
        if other.kind == "keep-apart" and not all(_seat(allowed, vm, host_of) for vm in about):
            return f"rule {other.name} needs more hosts"
    return None


def _even(vm: Vm, nodes: Ints, cores: Ints, memory: Ints) -> Bools:
    """Return an array that is true for each host where a VM fits in one NUMA node, or divides evenly over the fewest.

    `nodes` is the number of nodes of each host. `cores` and `memory` (bytes) are the size of one node.
    """
    needs = -(-vm.vcpus // cores)
    fits = (needs <= nodes) & (vm.memory_bytes <= needs * memory)
    found: Bools = (needs == 1) | (fits & (vm.vcpus % needs == 0))
    return found


def _uneven(vm: Vm, host: Host) -> str:
    """Return the reason why a VM does not suit the NUMA nodes of a host."""
    nodes = -(-vm.vcpus // host.cores_per_node)
    if nodes > host.nodes:
        return f"{vm.vcpus} vCPUs are more than its {host.cores} cores"
    if vm.vcpus % nodes:
        return f"{vm.vcpus} vCPUs do not divide evenly over {nodes} nodes of {host.cores_per_node} cores"
    return f"its memory does not fit {nodes} nodes of {host.memory_per_node_bytes / 2**30:.0f} GiB"


def _monsters_apart(problem: Problem, scenario: Scenario, groups: Sequence[str] | None) -> Decided:
    """Return a rule that keeps as many of the largest VMs as possible on different hosts."""
    shares = _shares(problem)
    monsters = sorted((vm for vm in _chosen(problem, groups) if shares[vm] > 0.5), key=lambda vm: (-shares[vm], vm))
    together = {vm: rule for rule in problem.rules if rule.kind == "keep-together" for vm in rule.vms}
    apart: list[int] = []
    host_of: dict[int, int] = {}
    texts, without = [], []
    for vm in monsters:
        if vm in together and any(other in together[vm].vms for other in apart):
            texts.append(f"{problem.vms[vm].called} is kept together with another: rule {together[vm].name}")
        elif _seat(problem.allowed, vm, host_of):
            apart.append(vm)
        else:
            without.append(problem.vms[vm].called)
    if without:
        texts.append(f"not applied to {some(without, 4)}: too few hosts")
    if len(apart) < 2:
        return Decided(problem, texts, {})
    names = [problem.vms[vm].name for vm in sorted(apart)]
    rule = Rule("separate-large-vms", "keep-apart", tuple(sorted(apart)), mandatory=False, policy="separate-large-vms")
    called = some([problem.vms[vm].called for vm in sorted(apart)], 4)
    texts.insert(0, f"{called} are on different hosts: each takes more than half of a host")
    return Decided(
        replace(problem, rules=(*problem.rules, rule)),
        texts,
        dict.fromkeys(names, "not on a host with another monster"),
    )


def _shares(problem: Problem) -> Floats:
    """Return the larger fraction, of cores or of memory, that each VM uses of the largest host allowed for the VM."""
    of_vms = np.array([(vm.vcpus, vm.memory_bytes) for vm in problem.vms], float).reshape(-1, 2)
    of_hosts = np.array([(host.cores, host.memory_bytes) for host in problem.hosts], float)
    largest = np.stack([np.where(problem.allowed, of, 0.0).max(axis=1, initial=0.0) for of in of_hosts.T], axis=1)
    found: Floats = np.divide(of_vms, largest, out=np.zeros_like(largest), where=largest > 0).max(axis=1)
    return found


def _seat(allowed: Bools, vm: int, host_of: dict[int, int]) -> bool:
    """Find a separate host for a VM, and reassign other VMs if necessary. `host_of` maps hosts to VMs.

    The search uses an augmenting path, so VMs with a host keep a host.
    """
    came_from: dict[int, int] = {}
    """VM that would go to each reached host."""
    waits = [vm]
    for mover in waits:
        for host in np.flatnonzero(allowed[mover]).tolist():
            if host in came_from:
                continue
            came_from[host] = mover
            if host in host_of:
                waits.append(host_of[host])
                continue
            seat_of = {each: at for at, each in host_of.items()}
            free, moved = host, mover
            host_of[free] = moved
            while moved != vm:
                free = seat_of[moved]
                moved = host_of[free] = came_from[free]
            return True
    return False


def _storage_first(problem: Problem, scenario: Scenario, given: Sequence[str] | None) -> Decided:
    """Deduct the CPU that storage in the kernel uses from the limits of its nodes."""
    text = given[0] if given else STORAGE_PCT
    try:
        if given is not None and len(given) > 1:
            raise ValueError
        part = percent(text if text.endswith("%") else f"{text}%")
        if part >= 1:
            raise ValueError
    except ValueError:
        allowed = "a percentage above 0 and below 100%, such as storage-first=10%"
        fail("bad-quantity", "policy", f"storage-first={','.join(given or ())}", allowed, "say it once")
    if "cpu" not in problem.resources:
        return Decided(problem, ["CPU demand is unknown: nothing is subtracted"], {})
    served = {vm.host for vm in scenario.inventory.vms if vm.storage_appliance}
    number = {host.name: position for position, host in enumerate(problem.hosts)}
    texts: list[str] = []
    taken: set[int] = set()
    for pool in scenario.inventory.pools:
        nodes = [name for name in pool.hosts if name in number and pool.vms_on_nodes]
        own = [number[name] for name in nodes if name not in served]
        if len(own) < len(nodes):
            texts.append(f"appliances of pool {pool.name} already count on their hosts")
        if own:
            taken |= set(own)
            texts.append(f"{100 * part:g} % of the CPU of {len(own)} nodes of pool {pool.name} is storage's")
    if not taken:
        return Decided(problem, texts, {})
    if _hosts_were_measured(problem, scenario):
        return Decided(problem, ["measured CPU of hosts includes storage: nothing is subtracted"], {})
    column, hosts = problem.resources.index("cpu"), sorted(taken)
    rooms, failover = problem.rooms.copy(), problem.failover.copy()
    for room in (rooms, failover):
        room[hosts, column] = np.maximum(0.0, room[hosts, column] - part * problem.capacity[hosts, column])
    return Decided(replace(problem, rooms=rooms, failover=failover), texts, {})


def _hosts_were_measured(problem: Problem, scenario: Scenario) -> bool:
    """True if the CPU demand is the measured use of hosts, or used beside it, and so includes storage in the kernel."""
    cluster = scenario.inventory.cluster[problem.cluster]
    vms = [vm for vm in scenario.inventory.vms if vm.cluster == cluster.name]
    found = demand.cpu(scenario, cluster, vms, "p95")
    beside = any(demand.own_cpu(scenario, problem.hosts).values())
    return found is not None and (found.basis["of"] == "hosts" or beside)


def _one_vcpu_per_core(problem: Problem, scenario: Scenario, groups: Sequence[str] | None) -> Decided:
    """Return one physical core per vCPU of some VMs."""
    chosen = _chosen(problem, groups)
    cores = np.zeros(len(problem.vms))
    cores[chosen] = [problem.vms[vm].vcpus for vm in chosen]
    whole = np.array([float(host.cores) for host in problem.hosts])
    wide = dict.fromkeys((each.name for each in problem.hosts), 0.0)
    for vm in scenario.inventory.vms:
        if vm.storage_appliance and vm.host in wide:
            wide[vm.host] += vm.vcpus
    room = np.maximum(0.0, whole - np.array([wide[host.name] for host in problem.hosts]))
    with_cores = replace(
        problem,
        resources=(*problem.resources, "cores"),
        sizes=np.column_stack([problem.sizes, cores]),
        capacity=np.column_stack([problem.capacity, whole]),
        rooms=np.column_stack([problem.rooms, room]),
        failover=np.column_stack([problem.failover, room]),
    )
    names = [problem.vms[vm].name for vm in chosen]
    texts = [
        f"{some(names, 4)}: {cores.sum():.0f} vCPUs of {room.sum():.0f} physical cores; hyper-threads do not count"
    ]
    return Decided(with_cores, texts, dict.fromkeys(names, "each vCPU has a physical core"))


def _failover_room(problem: Problem, scenario: Scenario, given: Sequence[str] | None) -> Decided:
    return Decided(problem, ["asked of every plan, for the failures looked at"], {})


def _peaks(problem: Problem, scenario: Scenario, given: Sequence[str] | None) -> Decided:
    """Explain the fraction of the CPU of hosts that plans can use."""
    if "cpu" not in problem.resources:
        return Decided(problem, ["CPU demand is not known, so nothing is limited"], {})
    column = problem.resources.index("cpu")
    part = problem.rooms[:, column].sum() / max(problem.capacity[:, column].sum(), 1e-300)
    return Decided(problem, [f"VMs can use {100 * part:.0f}% of host CPU (--cpu, --demand)"], {})


def _ratio(problem: Problem, scenario: Scenario, given: Sequence[str] | None) -> Decided:
    vcpus, cores = sum(vm.vcpus for vm in problem.vms), sum(host.cores for host in problem.hosts)
    limits = "limits" if "vcpus" in problem.resources else "limits nothing without --vcpu-ratio"
    return Decided(problem, [f"{vcpus / cores:.1f} vCPUs a core; the ratio {limits}"], {})


def _chosen(problem: Problem, groups: Sequence[str] | None) -> list[int]:
    """Return the VMs whose name, group or label matches a glob, or all VMs without globs.

    Raises ScenarioError for a glob without a match.
    """
    if not groups:
        return list(range(len(problem.vms)))
    found: set[int] = set()
    for glob in groups:
        those = {
            number
            for number, vm in enumerate(problem.vms)
            if any(fnmatchcase(name, glob) for name in (vm.name, vm.group, vm.label) if name is not None)
        }
        if not those:
            names = sorted({vm.group for vm in problem.vms})
            hint = naming.hint(glob, names, "a * stands for any characters")
            allowed = f"VMs or groups of VMs of cluster {problem.cluster}: {some(names, 12)}"
            fail("unknown-reference", "policy", glob, allowed, hint)
        found |= those
    return sorted(found)


POLICIES: Mapping[str, Policy] = {
    "numa": Policy(
        "A VM larger than a NUMA node runs where it splits evenly over the fewest nodes and its memory fits them.",
        NUMA_SOURCE,
        _numa,
        takes="groups",
    ),
    "separate-large-vms": Policy(
        "VMs of more than half the cores or memory of a host are on different hosts.",
        MONSTERS,
        _monsters_apart,
        takes="groups",
    ),
    "storage-first": Policy(
        "The CPU of storage on hyperconverged hosts is subtracted before VMs are placed.",
        f"{MONSTERS}; VMware vSAN Design Guide",
        _storage_first,
        takes="percentage",
    ),
    "failover-room": Policy(
        "Every VM that HA restarts has a host after a failure.", f"{MONSTERS}; vSphere Availability", _failover_room
    ),
    "peaks": Policy("Size for peaks, at 80 % of the CPU.", MONSTERS, _peaks),
    "ratio": Policy(
        "The ratio of vCPUs to cores says little; demand counts.",
        "Performance Best Practices for VMware vSphere",
        _ratio,
    ),
    "one-vcpu-per-core": Policy(
        "Production databases have a physical core for each vCPU.",
        MONSTERS,
        _one_vcpu_per_core,
        is_on=False,
        takes="groups",
        needs=True,
    ),
}
"""All policies by name, in the order in which they are applied."""
