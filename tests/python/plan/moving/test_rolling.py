"""Reuse of hosts: an independent check of every step, the fewest hosts on loan, and hosts that must stay."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations, product
from typing import Any

import pytest
from tests.python.plan.refresh.made import cluster, host

import hypertwin
from hypertwin import scenario
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.moving import rolling
from hypertwin.plan.moving.rolling import MAX_LOANS, Placed, Rolling, Side
from hypertwin.plan.refresh.fewest import Made

CPU, MEMORY = 0.8, 0.9
LIMIT_GIB = MEMORY * 64
LIMIT_MHZ = CPU * 16 * 2_000


def sizes(chance: random.Random, hosts: int, vms: int) -> dict[str, tuple[str, float, float]]:
    """Host, memory in GiB and CPU demand in MHz of random VMs that fit on their hosts."""
    found: dict[str, tuple[str, float, float]] = {}
    left = {f"old-{each}" if hosts > 1 else "old": LIMIT_GIB for each in range(1, hosts + 1)}
    for number in range(vms):
        gib, name = float(chance.choice([2, 4, 8, 16, 24])), chance.choice(sorted(left))
        if left[name] >= gib:
            left[name] -= gib
            found[f"vm{number}"] = (name, gib, float(chance.randrange(100, 4_000)))
    return found


def side(vms: Mapping[str, tuple[str, float, float]], hosts: int, *, loans: int = 0, moved: bool = False) -> Side:
    """The hosts in their order, after those on loan, as `destination.py` makes them."""
    entry = {"sockets": 1, "cores_per_socket": 16, "clock": "2 GHz", "memory_per_node": "64 GiB"}
    kind = {"hypervisor": "linux-6.12" if moved else "esxi-8.0"}
    groups: dict[str, Any] = {"old": {**entry, **kind, "count": hosts}}
    if loans:
        groups["loan"] = {**entry, **kind, "count": loans}
    made = {
        "name": "t",
        "hosts": groups,
        "vms": {
            name: {"vcpus": 1, "memory": f"{gib:g} GiB", "workload": "w", "host": at, "measured": {"cpu_mhz": mhz}}
            for name, (at, gib, mhz) in vms.items()
        },
        "workloads": {"w": {"arrivals": {"open": {"rate": "1 /s"}}, "cpu": {"mean": "1 ms"}}},
    }
    loaded = scenario.load(made)
    limits = Limits(cpu=CPU, memory=MEMORY, demand="mean")
    demand = {name: mhz for name, (_, _, mhz) in vms.items()}
    problem = Made.of(loaded, loaded.inventory.clusters[0], limits, demand, "configured", tuple(groups)).problem
    first = [at for at, each in enumerate(problem.hosts) if each.group == "loan"]
    used = {each.name: sum(gib for at, gib, _ in vms.values() if at == each.name) for each in problem.hosts}
    rest = sorted(
        (at for at in range(len(problem.hosts)) if at not in first), key=lambda at: (used[problem.hosts[at].name], at)
    )
    return Side(problem, (*first, *rest))


def plan(
    vms: Mapping[str, tuple[str, float, float]], hosts: int, failures: int, holding: Sequence[str] = ()
) -> Rolling:
    return rolling.rolling(
        side(vms, hosts), lambda loans: side(vms, hosts, loans=loans, moved=True), failures, lambda _: None, holding
    )


def fits(where: Mapping[str, str], vms: Mapping[str, tuple[str, float, float]]) -> bool:
    return all(
        sum(vms[vm][1] for vm, at in where.items() if at == name) <= LIMIT_GIB + 1e-6
        and sum(vms[vm][2] for vm, at in where.items() if at == name) <= LIMIT_MHZ + 1e-6
        for name in set(where.values())
    )


def survives(
    where: Mapping[str, str], hosts: Sequence[str], vms: Mapping[str, tuple[str, float, float]], failures: int
) -> bool:
    """True if the VMs of any failed hosts fit on the others, by trying every host for them."""
    if not fits(where, vms):
        return False
    for failed in combinations(hosts, failures):
        stay = {vm: at for vm, at in where.items() if at not in failed}
        down = sorted((vm for vm, at in where.items() if at in failed), key=lambda vm: -vms[vm][1])
        if not restarted(stay, down, [each for each in hosts if each not in failed], vms):
            return False
    return True


def restarted(
    stay: dict[str, str], down: Sequence[str], hosts: Sequence[str], vms: Mapping[str, tuple[str, float, float]]
) -> bool:
    if not down:
        return True
    for name in hosts:
        tried = {**stay, down[0]: name}
        if fits({vm: at for vm, at in tried.items() if at == name}, vms) and restarted(tried, down[1:], hosts, vms):
            return True
    return False


def check(
    placed: Placed, on: set[str], names: set[str], vms: Mapping[str, tuple[str, float, float]], failures: int
) -> None:
    where = placed.hosts
    assert set(where) == names
    assert set(where.values()) <= on
    assert survives(where, sorted(on), vms, failures if names else 0)
    assert placed.peak_pct <= 100 + 1e-6
    assert placed.after_failure_pct <= 100 + 1e-6
    if names and failures:
        assert placed.after_failure_pct >= placed.peak_pct - 1e-6 or placed.peak_pct > 0


@pytest.mark.parametrize("seed", range(300))
def test_every_step_is_safe_on_both_sides(seed: int) -> None:
    chance = random.Random(seed)
    hosts, failures = chance.randrange(2, 6), chance.choice([0, 1, 1, 1])
    vms = sizes(chance, hosts, chance.randrange(1, 4 * hosts))
    holding = chance.sample(sorted(vms), chance.choice([0, 0, min(2, len(vms))]))
    found = plan(vms, hosts, failures, holding)
    assert found.loans <= MAX_LOANS
    if found.reason is not None:
        return
    names = [f"old-{each}" if hosts > 1 else "old" for each in range(1, hosts + 1)]
    reinstalled: list[str] = []
    moved: set[str] = set()
    loans = {f"loan-{each}" if found.loans > 1 else "loan" for each in range(1, found.loans + 1)}
    for step in found.steps:
        assert not moved & set(step.moves)
        assert not set(step.moves) & set(holding)
        moved |= set(step.moves)
        assert (step.moved, step.staying) == (len(moved), len(vms) - len(moved))
        assert step.host not in reinstalled
        assert step.source is not None and step.target is not None
        left = set(names) - set(reinstalled) - {step.host}
        check(step.source, left, set(vms) - moved, vms, failures)
        check(step.target, loans | set(reinstalled), moved, vms, failures)
        reinstalled.append(step.host)
    assert set(found.kept) == set(names) - set(reinstalled)
    movable = set(vms) - set(holding)
    assert moved == movable or found.kept  # the rest moves to the last reinstalled host
    if movable:
        assert found.final is not None
        check(found.final, set(reinstalled), movable, vms, failures)
    assert bool(found.kept) == bool(holding) or not movable


def fewest_loans(vms: Mapping[str, tuple[str, float, float]], hosts: int, failures: int) -> int | None:
    """The fewest hosts on loan by trying every order of hosts and every set of VMs that has moved."""

    @cache
    def possible(count: int, names: frozenset[str]) -> bool:
        if not names:
            return True
        if count <= failures:
            return False
        on = [f"h{each}" for each in range(count)]
        ordered = sorted(names)
        return any(
            survives(dict(zip(ordered, where, strict=True)), on, vms, failures)
            for where in product(on, repeat=len(ordered))
        )

    everything = frozenset(vms)
    if not possible(hosts, everything):
        return None
    for loans in range(MAX_LOANS + 1):
        reached = {frozenset[str]()}
        for step in range(hosts):  # hosts are alike, so their order does not matter
            later = {
                names
                for number in range(len(vms) + 1)
                for names in map(frozenset, combinations(sorted(vms), number))
                if any(names >= before for before in reached)
                and possible(hosts - step - 1, everything - names)
                and possible(loans + step, names)
            }
            reached = later
        if reached:
            return loans
    return None


@pytest.mark.parametrize("seed", range(60))
def test_no_plan_of_a_tiny_cluster_needs_fewer_loans(seed: int) -> None:
    chance = random.Random(seed)
    hosts, failures = chance.randrange(1, 4), chance.choice([0, 1])
    vms = {
        f"vm{each}": (f"old-{1 + each % hosts}" if hosts > 1 else "old", float(chance.choice([8, 16, 24, 28])), 500.0)
        for each in range(chance.randrange(1, 6))
    }
    if not all(
        sum(gib for at, gib, _ in vms.values() if at == name) <= LIMIT_GIB for name in {at for at, *_ in vms.values()}
    ):
        return
    found = plan(vms, hosts, failures)
    least = fewest_loans(vms, hosts, failures)
    assert (None if found.reason is not None else found.loans) == least


def test_blocked_vms_stay_on_as_few_hosts_as_can_keep_them() -> None:
    """A host of 57.6 GiB within limits keeps seven VMs of 8 GiB, and a second one is for its failure."""
    vms = {f"vm{each}": (f"old-{1 + each % 6}", 8.0, 500.0) for each in range(12)}
    found = plan(vms, 6, 1, ["vm3"])
    assert found.reason is None
    assert len(found.kept) == 2
    assert len(found.steps) == 4
    assert plan(vms, 6, 0, ["vm3"]).kept == found.kept[-1:]
    assert len(plan(vms, 6, 1, [f"vm{each}" for each in range(7)]).kept) == 2
    assert len(plan(vms, 6, 1, [f"vm{each}" for each in range(8)]).kept) == 3
    full = {f"vm{each}": (f"old-{1 + each % 2}", 16.0, 500.0) for each in range(6)}
    none = plan(full, 2, 1, sorted(full))
    assert none.reason == "6 VMs that cannot move do not fit on the source hosts with failover"


def test_if_no_vm_can_move_no_host_is_reinstalled() -> None:
    vms = {"a": ("old-1", 8.0, 100.0)}
    found = plan(vms, 3, 1, ["a"])
    assert (found.reason, found.steps, len(found.kept)) == (None, (), 3)


def move(made: Any, **options: Any) -> Any:
    return hypertwin.plan_move(made, **{"to": "openshift", "reuse_hosts": True, "twin": "off", **options})


def test_a_blocked_vm_keeps_hosts_in_the_answer() -> None:
    made = cluster(hosts=5, vms=10, mhz=100)
    made["vms"]["shared"] = {**made["vms"]["web"], "count": 1, "host": "old"}
    disk = {"label": "Hard disk 1", "capacity": "0 B"}
    made["vms"]["shared"]["source"] = {"disks": [disk]}
    answer = move(made)
    (found,) = answer.to_dict()["arrival"]["rolling"]
    blocked = [vm["name"] for vm in answer.to_dict()["vms"] if vm["verdict"] == "blocked"]
    assert found["holding"] == blocked == ["shared"]
    assert len(found["kept"]) == 2
    assert len(found["steps"]) == 3
    assert "2 hosts must stay as they are, for VMs that a rule blocks" in " ".join(str(answer).split())
    assert all("shared" not in each["moves"] for each in found["steps"])


def test_each_cluster_has_its_own_steps_and_hosts_on_loan_are_shared() -> None:
    made = cluster(hosts=6, vms=20, mhz=100)
    made["hosts"]["full"] = {**host(), "count": 6, "cluster": "b"}
    made["vms"]["full"] = {**made["vms"]["web"], "count": 70, "host": "full"}
    made["vms"]["web"]["host"] = "old"
    answer = move(made)
    second, first = answer.to_dict()["arrival"]["rolling"]
    assert [each["cluster"] for each in (second, first)] == ["b", "default"]
    assert [each["loans"] for each in (first, second)] == [0, 1]
    assert {each["host"][:3] for each in first["steps"]} == {"old"}
    assert {each["host"][:4] for each in second["steps"]} == {"full"}
    assert sum(len(each["moves"]) for each in second["steps"]) == 70
    assert "The hosts of b, default can be reinstalled one after another with 1 host on loan" in " ".join(
        str(answer).split()
    )


def test_hosts_with_the_data_of_a_pool_are_not_emptied() -> None:
    devices = {"kind": "sas-ssd", "per_node": 4, "capacity": "800 GB"}
    pool = {"kind": "mirrored-mesh", "nodes": "old", "redundancy": "replicas-2", "devices": devices}
    made = cluster(hosts=4, vms=4, mhz=100, more={"storage": {"mesh": pool}}, network={"ports": 2})
    made["vms"]["web"]["storage"] = "mesh"
    answer = move(made)
    (found,) = answer.to_dict()["arrival"]["rolling"]
    assert (found["feasible"], found["steps"]) == (False, [])
    assert "pool mesh keeps its data on hosts that would be reinstalled" in " ".join(str(answer).split())
