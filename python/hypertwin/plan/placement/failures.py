"""Failures to plan for (single hosts, groups of hosts, racks of pools), and the data that are unreadable after them.

Nodes of a pool are assigned to its racks in turn, as in the simulation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Any

from hypertwin import naming
from hypertwin.errors import fail
from hypertwin.language import Pool, Vm
from hypertwin.members import RedundancyFacts
from hypertwin.naming import counted
from hypertwin.plan.placement.problem import Problem
from hypertwin.scenario import Scenario

MOST_FAILURES = 10_000
"""Maximum number of failures per plan."""

EVERY = ("rack", "racks", "site", "sites")
"""Names that select the racks of all pools."""

TOO_FEW = "too few replicas, votes or metadata servers"
"""Reason why a pool stops writes, in words."""

_RACK = "rack "
"""Start of the name of each failure of a rack. Names of hosts have no spaces."""

Failures = tuple[tuple[str, tuple[int, ...]], ...]
"""Names of failures, with the positions of the failed hosts."""


def failures_of(scenario: Scenario, problem: Problem, many: int, domains: Sequence[str] = ()) -> Failures:
    """Return failures by name with positions of hosts: each host, all combinations of `many` hosts, and racks.

    `domains` are names of pools with racks, or `racks` for all such pools. A rack with data of VMs of the cluster might
    have none of its hosts. Raises ScenarioError if `many` exceeds the number of hosts, if there would be more than
    MOST_FAILURES, or if no pool has such racks.
    """
    hosts = [host.name for host in problem.hosts]
    if not 0 <= many <= len(hosts):
        fail(
            "out-of-range",
            "failures",
            str(many),
            f"an integer from 0 to {len(hosts)}: cluster {problem.cluster} has {len(hosts)} hosts",
            "give fewer failures, or name another cluster",
        )
    if many > 1 and comb(len(hosts), many) > MOST_FAILURES:
        _too_many(len(hosts), many)
    found: dict[str, tuple[int, ...]] = {name: (each,) for each, name in enumerate(hosts)} if many else {}
    if many > 1:
        for together in combinations(range(len(hosts)), many):
            found[" + ".join(hosts[each] for each in together)] = together
    position = {name: number for number, name in enumerate(hosts)}
    for pool in _pools_of(scenario, domains):
        for number, nodes in enumerate(racks(scenario, pool), 1):
            there = tuple(sorted(position[name] for name in nodes if name in position))
            if there or any(vm.pool == pool.name for vm in problem.vms):
                found[_rack(number, pool)] = there
    return tuple(found.items())


def nodes_of(scenario: Scenario, problem: Problem, name: str, failed: Sequence[int]) -> set[str]:
    """Return the names of all nodes that a failure removes: hosts of the cluster, and other nodes of a rack."""
    found = {problem.hosts[host].name for host in failed}
    for pool in scenario.inventory.pools if name.startswith(_RACK) else ():
        for number, nodes in enumerate(racks(scenario, pool), 1):
            if name == _rack(number, pool):
                found |= set(nodes)
    return found


def called(names: Iterable[str]) -> str:
    """Return what the failures of these names are called: host failure, rack failure, or failure for both kinds."""
    kinds = {name.startswith(_RACK) for name in names}
    return "failure" if len(kinds) > 1 else "rack failure" if True in kinds else "host failure"


def _rack(number: int, pool: Pool) -> str:
    return f"{_RACK}{number} of {pool.name}"


def racks(scenario: Scenario, pool: Pool) -> list[list[str]]:
    """Return the nodes of each rack of a pool by name, or a single rack if the pool has no racks."""
    count = min(int(_entry(scenario, pool).get("racks", 1)), len(pool.hosts))
    found: list[list[str]] = [[] for _ in range(count)]
    for number, node in enumerate(pool.hosts):
        found[number % count].append(node)
    return found


def unreadable(scenario: Scenario, problem: Problem, nodes: Collection[str]) -> dict[int, str]:
    """Return the VMs with unreadable pool data after these hosts fail, and their shortage.

    Some data become unreadable if more failure domains fail than the redundancy of the pool, or the policy of the VM,
    tolerates. A pool has many pieces of data, so some of them lie in exactly these domains.
    """
    lost: dict[str, int] = {}
    for pool in scenario.inventory.pools:
        gone = [number for number, node in enumerate(pool.hosts) if node in nodes]
        if gone:
            lost[pool.name] = domains_lost(scenario, pool, gone)
    return vms_without_data(scenario, problem, lost)


def vms_without_data(scenario: Scenario, problem: Problem, lost: Mapping[str, int]) -> dict[int, str]:
    """Return the VMs with unreadable data after `lost` failure domains of pools fail, and their shortage."""
    found: dict[int, str] = {}
    for number, vm in enumerate(problem.vms):
        if vm.pool is not None and vm.pool in lost:
            survives = min(each.failures_tolerated for each in kept(scenario.inventory.pool[vm.pool], vm))
            if lost[vm.pool] > survives:
                times = counted(survives, "failure")
                found[number] = f"data of pool {vm.pool}, which survives {times}"
    return found


def kept(pool: Pool, vm: Vm) -> list[RedundancyFacts]:
    """Return the redundancy of a VM's data in a pool, from its policies, or from the pool for data without a policy."""
    found = [pool.policies[name] for name in sorted(vm.policies)]
    if sum(vm.policies.values()) < max(vm.vdisks, 1):
        found.append(pool.redundancy)
    return found


def stops_writes(pool: Pool, schemes: Iterable[RedundancyFacts], lost: int, gone: Collection[int]) -> bool:
    """True if a pool stops writes after `lost` failure domains fail with the nodes `gone`, by node numbers from 0."""
    servers = range(pool.metadata_servers)
    has_majority = 2 * sum(number not in gone for number in servers) > len(servers) or not servers
    return not has_majority or any(lost > each.width - each.minimum for each in schemes)


def domains_lost(scenario: Scenario, pool: Pool, gone: Sequence[int]) -> int:
    """Return the number of failure domains of a pool that fail with nodes, by node numbers from 0."""
    entry = _entry(scenario, pool)
    domain = entry.get("failure_domain", "host")
    if domain == "rack":
        return len({number % int(entry.get("racks", 1)) for number in gone})
    if domain == "disk":
        devices = [entry["devices"], *entry.get("more_devices", ())]
        return len(gone) * sum(int(each.get("per_node", 1)) for each in devices)
    return len(gone)


def most_domains(scenario: Scenario, pool: Pool, numbers: Sequence[int], many: int) -> list[int]:
    """Return `many` nodes that are in as many failure domains as possible."""
    chosen: list[int] = []
    for number in numbers:
        more = [*chosen, number]
        if len(chosen) < many and domains_lost(scenario, pool, more) > domains_lost(scenario, pool, chosen):
            chosen = more
    return sorted([*chosen, *(number for number in numbers if number not in chosen)][:many])


def _entry(scenario: Scenario, pool: Pool) -> Mapping[str, Any]:
    found: Mapping[str, Any] = scenario.data["storage"][pool.name]
    return found


def _pools_of(scenario: Scenario, domains: Sequence[str]) -> list[Pool]:
    """Return the pools whose racks are selected."""
    known = {pool.name: pool for pool in scenario.inventory.pools if len(racks(scenario, pool)) > 1}
    chosen: dict[str, Pool] = {}
    for name in domains:
        if name in known:
            chosen[name] = known[name]
        elif name in EVERY and known:
            chosen |= known
        else:
            other = (
                "name a pool whose nodes have racks"
                if known
                else "give storage.NAME.racks, so that its nodes have racks"
            )
            hint = naming.hint(name, known, other)
            fail("unknown-reference", "domain", name, ", ".join([*known, "racks"]) if known else "none", hint)
    return list(chosen.values())


def _too_many(hosts: int, many: int) -> None:
    """Refuse more failures than the limit, and name the limit."""
    most = max(fewer for fewer in range(1, many) if fewer == 1 or comb(hosts, fewer) <= MOST_FAILURES)
    fail(
        "out-of-range",
        "failures",
        str(many),
        f"at most {MOST_FAILURES:,} combinations of hosts; {many} of {hosts} would be {comb(hosts, many):,}",
        f"give --failures {most}, or the racks that fail together",
    )
