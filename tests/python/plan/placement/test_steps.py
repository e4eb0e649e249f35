"""Steps: each can be carried out, what waits for each other is parked, and times follow the migration model."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import yaml

import hypertwin
from hypertwin import scenario as scenarios
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.placement import problem as problems
from hypertwin.plan.placement.migrations import Migrations
from hypertwin.plan.placement.problem import NOWHERE, SLACK, Ints, Problem, Rule
from hypertwin.plan.placement.steps import Knot, order, steps
from hypertwin.scenario import Scenario

WORK = {"arrivals": {"open": {"rate": "10 /s"}}, "cpu": {"mean": "1 ms"}}


def made(
    vms: dict[str, tuple[str, str]],
    hosts: int = 2,
    rules: list[dict[str, Any]] | None = None,
    host: dict[str, Any] | None = None,
    vm: dict[str, Any] | None = None,
    work: dict[str, Any] | None = None,
) -> Scenario:
    """Hosts `esx-1`... of 100 GiB that may be full, and VMs: name to host and memory."""
    esx = {"sockets": 1, "cores_per_socket": 16, "clock": "2 GHz", "memory_per_node": "100 GiB", "count": hosts}
    data = {
        "name": "made",
        "hosts": {"esx": {**esx, "hypervisor": "esxi-8.0", "hypervisor_memory": "0 B", **(host or {})}},
        "vms": {
            name: {"vcpus": 1, "memory": memory, "host": f"esx-{at}", "workload": "any", **(vm or {})}
            for name, (at, memory) in vms.items()
        },
        "workloads": {"any": work or WORK},
        "rules": rules or [],
    }
    return scenarios.loads(yaml.safe_dump(data))


def problem_of(scenario: Scenario) -> Problem:
    cluster = scenario.inventory.clusters[0]
    return problems.problem(scenario, cluster, Limits(memory=1.0, demand="mean"))


def place(problem: Problem, **at: int) -> Ints:
    """Where VMs are with some of them elsewhere, hosts numbered from 1."""
    found = problem.at.copy()
    for position, vm in enumerate(problem.vms):
        if vm.name in at:
            found[position] = at[vm.name] - 1
    return found


def short(moves: list[Any]) -> list[tuple[int, str, str, bool]]:
    return [(move["step"], move["vm"], str(move["to"]), move["temporary"]) for move in moves]


def check(problem: Problem, concurrent: list[int], before: Ints, after: Ints, moves: list[Any]) -> None:
    """Carry out moves without the code that found them: every step within limits and rules."""
    number = {vm.name: each for each, vm in enumerate(problem.vms)}
    host = {each.name: position for position, each in enumerate(problem.hosts)}
    rooms = np.maximum(problem.rooms, problem.loads(after))
    now = before.copy()
    for step in range(1, max((move["step"] for move in moves), default=0) + 1):
        own = [move for move in moves if move["step"] == step]
        assert own, f"step {step} is empty"
        assert len({move["vm"] for move in own}) == len(own)
        loads, slots = problem.loads(now), [0] * len(problem.hosts)
        there: dict[int, set[int]] = {vm: {int(now[vm])} for vm in range(len(now)) if now[vm] != NOWHERE}
        received = set()
        for move in own:
            vm, target = number[move["vm"]], host[move["to"]]
            assert move["from"] == (None if now[vm] == NOWHERE else problem.hosts[now[vm]].name)
            assert problem.allowed[vm, target]
            loads[target] += problem.sizes[vm]
            there.setdefault(vm, set()).add(target)
            received.add(target)
            if now[vm] != NOWHERE:
                slots[now[vm]] += 1
                slots[target] += 1
        for target in received:
            assert (loads[target] <= rooms[target] * (1 + 1e-6) + SLACK).all(), (step, target)
        assert all(used <= most for used, most in zip(slots, concurrent, strict=True))
        for rule in problem.rules:
            if rule.kind == "keep-apart":
                for one in rule.vms:
                    for other in rule.vms:
                        met = there.get(one, set()) & there.get(other, set())
                        old = {int(now[one])} if now[one] == now[other] else set()
                        assert one == other or met <= old
        for move in own:
            now[number[move["vm"]]] = host[move["to"]]
    assert now.tolist() == after.tolist()


def test_a_move_waits_until_its_target_has_room():
    scenario = made({"a": ("1", "60 GiB"), "b": ("2", "60 GiB"), "c": ("3", "30 GiB")}, hosts=3)
    problem = problem_of(scenario)
    moves, listed = steps(problem, scenario, problem.at, place(problem, a=2, b=3))
    assert short(moves) == [(1, "b", "esx-3", False), (2, "a", "esx-2", False)]
    # b arrives at esx-3 while it is still on esx-2: 90 of 100 GiB
    assert [(each["peak_host"], round(each["peak_pct"])) for each in listed] == [("esx-3", 90), ("esx-3", 90)]


def test_nothing_to_do_is_no_step():
    scenario = made({"a": ("1", "60 GiB")})
    problem = problem_of(scenario)
    assert steps(problem, scenario, problem.at, problem.at) == ([], [])


def test_a_cycle_is_broken_by_parking_the_smallest_on_the_roomiest():
    vms = {"a": ("1", "60 GiB"), "b": ("2", "50 GiB"), "c": ("3", "40 GiB"), "d": ("4", "20 GiB")}
    scenario = made(vms, hosts=4)
    problem = problem_of(scenario)
    moves, _ = steps(problem, scenario, problem.at, place(problem, a=2, b=1))
    assert short(moves) == [
        (1, "b", "esx-4", True),
        (2, "a", "esx-2", False),
        (3, "b", "esx-1", False),
    ]
    assert moves[0]["why"] == "makes way for a"


def test_others_are_parked_and_go_back_where_movers_cannot():
    # a and b change places, and neither fits on esx-3; without d there is room for a beside b
    vms = {"a": ("1", "45 GiB"), "c": ("1", "40 GiB"), "b": ("2", "50 GiB"), "d": ("2", "15 GiB"), "e": ("3", "60 GiB")}
    scenario = made(vms, hosts=3)
    problem = problem_of(scenario)
    moves, _ = steps(problem, scenario, problem.at, place(problem, a=2, b=1))
    assert short(moves) == [
        (1, "d", "esx-3", True),
        (2, "a", "esx-2", False),
        (3, "b", "esx-1", False),
        (4, "d", "esx-2", False),
    ]


def test_without_room_to_park_the_knot_is_named():
    scenario = made({"a": ("1", "60 GiB"), "b": ("2", "60 GiB")})
    problem = problem_of(scenario)
    with pytest.raises(Knot, match="moves of a, b wait for each other") as raised:
        steps(problem, scenario, problem.at, place(problem, a=2, b=1))
    assert raised.value.order.moves == []


def test_vms_that_are_kept_apart_do_not_meet_on_the_way():
    rules = [{"name": "apart", "kind": "keep-apart", "vms": ["a", "b"]}]
    scenario = made({"a": ("1", "1 GiB"), "b": ("2", "1 GiB")}, hosts=3, rules=rules)
    problem = problem_of(scenario)
    after = place(problem, a=2, b=3)
    moves, _ = steps(problem, scenario, problem.at, after)
    assert short(moves) == [(1, "b", "esx-3", False), (2, "a", "esx-2", False)]
    swapped = place(problem, a=2, b=1)
    moves, _ = steps(problem, scenario, problem.at, swapped)
    assert [move["temporary"] for move in moves] == [True, False, False]
    check(problem, [8] * 3, problem.at, swapped, moves)


def test_vms_that_are_kept_together_go_in_one_step():
    rules = [{"name": "pair", "kind": "keep-together", "vms": ["a", "b"]}]
    vms = {"a": ("1", "30 GiB"), "b": ("1", "30 GiB"), "c": ("2", "50 GiB"), "d": ("3", "10 GiB")}
    scenario = made(vms, hosts=3, rules=rules)
    problem = problem_of(scenario)
    after = place(problem, a=2, b=2, c=3)
    moves, _ = steps(problem, scenario, problem.at, after)
    # one of the two would fit at once
    assert [(move["step"], move["vm"]) for move in moves] == [(1, "c"), (2, "a"), (2, "b")]


def test_where_hosts_migrate_one_at_a_time_a_pair_goes_in_two_steps():
    rules = [{"name": "pair", "kind": "keep-together", "vms": ["a", "b"]}]
    vms = {"a": ("1", "30 GiB"), "b": ("1", "30 GiB"), "c": ("1", "5 GiB"), "d": ("3", "60 GiB")}
    scenario = made(vms, hosts=3, rules=rules, host={"hypervisor": "linux-6.6"})
    problem = problem_of(scenario)
    after = place(problem, a=2, b=2, c=3)
    moves, _ = steps(problem, scenario, problem.at, after)
    of = {move["vm"]: move["step"] for move in moves}
    assert abs(of["a"] - of["b"]) == 1
    check(problem, [1] * 3, problem.at, after, moves)


def test_a_host_runs_so_many_migrations_at_a_time():
    scenario = made({f"v{each:02}": ("1", "1 GiB") for each in range(20)}, host={"migration": {"link": "1.25 GB/s"}})
    problem = problem_of(scenario)
    moves, listed = steps(problem, scenario, problem.at, np.ones_like(problem.at))
    assert [each["moves"] for each in listed] == [8, 8, 4]
    # 1 GiB at an eighth of 1.25 GB/s, and what a vMotion takes beside
    alone = Migrations(problem, scenario).seconds([(0, 0, 1)])[0]
    assert moves[0]["seconds"] is not None and alone is not None
    assert moves[0]["seconds"] - alone == pytest.approx(7 * 2**30 / 1.25e9, rel=0.05)


def test_a_vm_that_writes_too_fast_is_slowed_on_esxi_and_never_arrives_on_linux():
    work = {"arrivals": {"open": {"rate": "500 /s"}}, "cpu": {"mean": "1 ms"}, "dirty_rate": "5 GB/s"}
    found = {}
    for hypervisor, migration in (
        ("esxi-7.0", {}),
        ("linux-6.6", {}),
        ("linux-6.6", {"convergence": "post-copy"}),
        ("linux-6.6", {"convergence": "auto-converge"}),
        ("linux-6.6", {"convergence": "auto-converge-4"}),
    ):
        own = {"hypervisor": hypervisor, "migration": {"link": "1 GB/s", "streams": 1, "stream": "1 GB/s", **migration}}
        scenario = made({"a": ("1", "40 GiB")}, host=own, work=work)
        problem = problem_of(scenario)
        moves, listed = steps(problem, scenario, problem.at, place(problem, a=2))
        found[hypervisor, migration.get("convergence")] = moves[0]["seconds"]
        assert listed[0]["seconds"] == moves[0]["seconds"]
        told = order(problem, Migrations(problem, scenario), problem.at, place(problem, a=2)).notes
        assert bool(told) == (moves[0]["seconds"] is None)
    gib = 2**30 / 1e9
    # 42.9 s for all of it; as much again while its vCPU, half busy, gets a fifth of its time, and again while it gets a
    # tenth; then each pass is half of the one before, until 0.5 s are left; beside it, the set-up
    assert found["esxi-7.0", None] == pytest.approx(2.5 + (3 + 1) * 40 * gib, rel=0.02)
    assert found["linux-6.6", None] is None
    assert found["linux-6.6", "post-copy"] == pytest.approx(7.5 + 2 * 40 * gib, rel=0.05)
    # up to 80 % of its vCPU's time do not suffice, and 90 % do
    slow = found["linux-6.6", "auto-converge"]
    assert slow is not None and slow > found["linux-6.6", "post-copy"]
    # seven steps that do not help take three passes each instead of two, of which each sends all of it
    slower = found["linux-6.6", "auto-converge-4"]
    assert slower is not None and slower > 1.3 * slow


ESXI = {"hypervisor": "esxi-8.0", "migration": {"link": "1 GB/s"}}


def linux(**more: str) -> dict[str, Any]:
    """A Linux host that migrates four VMs at a time, and not one."""
    return {"hypervisor": "linux-6.6", "migration": {"link": "1 GB/s", "concurrent": 4, **more}}


@pytest.mark.parametrize(
    ("host", "vms"),
    [
        # source, target, GiB and MB written per second of each VM; all of ESXI are slowed down or share a target
        (ESXI, {"a": (1, 2, 40, 80), "b": (1, 3, 20, 600), "c": (1, 2, 5, 0)}),
        (ESXI, {"a": (1, 2, 40, 80), "b": (3, 2, 10, 400), "c": (4, 2, 20, 200), "d": (1, 4, 4, 0)}),
        (ESXI, {"a": (1, 2, 12, 2000), "b": (1, 3, 8, 120), "c": (1, 4, 4, 40)}),
        (linux(), {"a": (1, 2, 40, 80), "b": (1, 3, 10, 400), "c": (1, 2, 5, 0)}),
        (linux(), {"a": (1, 2, 20, 600), "b": (1, 3, 20, 80)}),  # a converges only without b
        (linux(), {"a": (1, 2, 20, 1600), "b": (1, 3, 20, 80)}),  # a never ends
        (linux(timeout="40 s"), {"a": (1, 2, 20, 1600), "b": (1, 3, 10, 80)}),  # b ends sooner, as a is given up
        (linux(convergence="auto-converge"), {"a": (1, 2, 20, 1600), "b": (1, 3, 10, 80)}),
        (linux(convergence="auto-converge-4"), {"a": (1, 2, 20, 1600), "b": (1, 3, 10, 80)}),
        (linux(convergence="post-copy"), {"a": (1, 2, 20, 1600), "b": (1, 3, 10, 80)}),
    ],
)
def test_moves_of_a_step_take_as_long_as_in_a_simulation(host: Any, vms: dict[str, tuple[int, int, float, float]]):
    """Within 4 %: the CPU demand of simulated VMs varies, and so does what they write."""
    cpu = 0.4  # of one VM, in CPU seconds per second
    data = {
        "name": "made",
        "run": {"duration": "900 s", "warmup": "0 s", "replications": 1},
        "hosts": {
            "esx": {"count": 4, "sockets": 2, "cores_per_socket": 8, "clock": "2 GHz", "threads_per_core": 1}
            | {"memory_per_node": "128 GiB", **host}
        },
        "vms": {
            name: {"vcpus": 2, "memory": f"{gib} GiB", "host": f"esx-{source}", "workload": name}
            for name, (source, _, gib, _) in vms.items()
        },
        "workloads": {
            name: {"arrivals": {"open": {"rate": f"{cpu / 10e-3} /s"}}, "cpu": {"mean": "10 ms"}}
            | {"dirty_rate": f"{written / cpu} MB/s"}
            for name, (*_, written) in vms.items()
        },
        "events": [{"at": "5 s", "migrate": name, "to": f"esx-{target}"} for name, (_, target, _, _) in vms.items()],
    }
    scenario = scenarios.loads(yaml.safe_dump(data))
    problem = problem_of(scenario)
    transfers = [(number, vms[vm.name][0] - 1, vms[vm.name][1] - 1) for number, vm in enumerate(problem.vms)]
    planned = [np.inf if took is None else took for took in Migrations(problem, scenario).seconds(transfers)]
    moves = hypertwin.simulate(scenario, cache="off").reports[0]["moves"]
    took = {each["vm"]: each["end_s"] - each["at_s"] for each in moves if each["outcome"] == "done"}
    simulated = [took.get(vm.name, np.inf) for vm in problem.vms]
    assert planned == pytest.approx(simulated, rel=0.04)


def test_a_vm_writes_by_the_cpu_time_that_it_was_measured_to_use():
    work = {"arrivals": {"open": {"rate": "1 /s"}}, "cpu": {"mean": "1 ms"}, "dirty_rate": "1 GB/s"}

    def seconds(work_per_cycle: float) -> float | None:
        own = {"hypervisor": "esxi-8.0", "migration": {"link": "1 GB/s"}, "work_per_cycle": work_per_cycle}
        scenario = made({"a": ("1", "40 GiB")}, host=own, work=work)
        data = scenario.as_written()
        data["vms"]["a"]["measured"] = {"over": "30 d", "cpu_mhz": 500, "cpu_p95_mhz": 500, "cpu_peak_mhz": 500}
        scenario = scenarios.load(data)
        problem = problem_of(scenario)
        return Migrations(problem, scenario).seconds([(0, 0, 1)])[0]

    assert seconds(2) == pytest.approx(seconds(1))
    assert seconds(0.5) == pytest.approx(seconds(1))


def test_hundreds_of_moves_of_one_step_are_timed_fast():
    hosts = 40
    scenario = made({f"v{each:03}": (str(each % hosts + 1), "4 GiB") for each in range(8 * hosts)}, hosts=hosts)
    problem = problem_of(scenario)
    begun = time.process_time()
    transfers = [(vm, source, (source + 1 + vm // hosts) % hosts) for vm, source in enumerate(problem.at.tolist())]
    assert None not in Migrations(problem, scenario).seconds(transfers)
    assert time.process_time() - begun < 2


def random_case(seed: int, base: Problem, filled: float, rules: int) -> tuple[Problem, Ints]:
    """VMs that fill hosts so far, and another place of theirs within limits and rules."""
    chance = np.random.default_rng(seed)
    count, hosts = base.sizes.shape[0], len(base.hosts)
    while True:
        sizes = base.sizes.copy()
        sizes[:, 1] = chance.uniform(0.3, 1.0, count)
        sizes[:, 1] *= filled * base.rooms[:, 1].sum() / sizes[:, 1].sum()
        kinds = ["keep-apart", "keep-together"][:rules]
        pairs = [tuple(sorted(chance.choice(count, 2, replace=False).tolist())) for _ in kinds]
        listed = tuple(Rule(kind, kind, pair) for kind, pair in zip(kinds, pairs, strict=True))  # type: ignore[arg-type]
        found = []
        for at in chance.integers(0, hosts, (400, count)):
            problem = replace(base, sizes=sizes, at=at, rules=listed)
            if not problem.broken(at):
                found.append(at)
            if len(found) == 2:
                return replace(problem, at=found[0]), found[1]


def test_steps_of_random_clusters_can_be_carried_out():
    parked = knots = 0
    bases = []
    for hosts, hypervisor in ((2, "esxi-8.0"), (3, "esxi-8.0"), (3, "linux-6.6"), (4, "linux-6.6")):
        vms = {f"v{each:02}": ("1", "1 GiB") for each in range(3 * hosts)}
        bases.append(made(vms, hosts, host={"hypervisor": hypervisor}))
    for seed in range(200):
        scenario = bases[seed % len(bases)]
        problem, after = random_case(seed, problem_of(scenario), 0.75, rules=2)
        migrations = Migrations(problem, scenario)
        found = order(problem, migrations, problem.at, after)
        parked += found.parkings
        if found.knot:
            knots += 1
            assert set(found.knot) <= {vm.name for vm in problem.vms}
            after = found.place
        check(problem, migrations.concurrent, problem.at, after, found.moves)
    assert parked > 30
    assert knots < 30  # two hosts, which have nowhere to park


def reachable(problem: Problem, after: Ints) -> bool:
    """Whether some sequence of single moves leads there: all places that can be reached, one after the other."""
    begin, goal = tuple(problem.at.tolist()), tuple(after.tolist())
    rooms = np.maximum(problem.rooms, problem.loads(after)) + 1e-3
    seen, queue = {begin}, [begin]
    while queue:
        now = queue.pop()
        if now == goal:
            return True
        loads = problem.loads(np.array(now))
        for vm in range(len(now)):
            for host in range(len(problem.hosts)):
                then = (*now[:vm], host, *now[vm + 1 :])
                if then not in seen and (loads[host] + problem.sizes[vm] <= rooms[host]).all():
                    seen.add(then)
                    queue.append(then)
    return False


def test_no_knot_of_a_small_cluster_could_be_undone():
    scenario = made({f"v{each}": ("1", "1 GiB") for each in range(7)}, hosts=3)
    base = problem_of(scenario)
    undone = knots = 0
    for seed in range(60):
        problem, after = random_case(seed, base, (0.7, 0.75, 0.8)[seed % 3], rules=0)
        found = order(problem, Migrations(problem, scenario), problem.at, after)
        assert reachable(problem, after) == (not found.knot), seed
        undone += bool(found.parkings) and not found.knot
        knots += bool(found.knot)
        check(problem, [8] * 3, problem.at, found.place if found.knot else after, found.moves)
    assert undone > 10
    assert knots > 3
