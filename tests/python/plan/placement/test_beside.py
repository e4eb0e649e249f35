"""New VMs beside those that run: as many as any greedy places, survived by a checker of its own, and bounded work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from bench import clusters
from tests.conftest import SOAK
from tests.python.plan.placement.cases import host, made, of, vm

import hypertwin
from hypertwin.plan.capacity.limits import AskedVm
from hypertwin.plan.placement import beside, place
from hypertwin.plan.placement.problem import NOWHERE, Ints, Problem
from hypertwin.plan.placement.restart import Restarts
from hypertwin.plan.placement.task import Task
from hypertwin.scenario import Scenario

GIB = 2**30


def emptied(problem: Problem, cpu: float = 1.0) -> Problem:
    """The problem with its VMs spread so that every failure is survived; VMs for which that fails are left out.

    It has no rules.
    """
    problem = replace(problem, rules=(), sizes=problem.sizes * [cpu, 1.0])
    task = Task(replace(problem, at=np.full(len(problem.vms), NOWHERE)), singles(problem))
    done = beside.beside(task)
    return replace(problem, at=done.place).without_vms(done.missing)


def singles(problem: Problem) -> list[tuple[int, ...]]:
    return [(host,) for host in range(len(problem.hosts))]


def greedy(task: Task) -> int:
    """How many VMs are placed by trying hosts in order and keeping the first that leaves every failure survived."""
    at = task.problem.at.copy()
    for new in np.flatnonzero(at == NOWHERE).tolist():
        for each in range(len(task.problem.hosts)):
            at[new] = each
            loads = task.problem.loads(at)
            fits = task.problem.fits[new, each] and (loads[each] <= task.limits[each] * (1 + 1e-9)).all()
            if fits and task.unsafe(at, exact=False) is None:
                break
        else:
            at[new] = NOWHERE
    return int(((at != NOWHERE) & (task.problem.at == NOWHERE)).sum())


def wrong(problem: Problem, at: Ints, failed: int, placed: Mapping[int, int]) -> str:
    """What is wrong with where VMs of a failed host go, by plain sums; shares nothing with the planner."""
    loads = [[0.0, 0.0] for _ in problem.hosts]
    for each, here in enumerate(at.tolist()):
        to = placed.get(each, -1) if here == failed else here
        if to in (-1, failed):
            return f"{problem.vms[each].name} is down without {failed}"
        for of_, size in enumerate(problem.sizes[each].tolist()):
            loads[to][of_] += size
    for each, (load, room) in enumerate(zip(loads, problem.failover.tolist(), strict=True)):
        if any(one > most * (1 + 1e-9) for one, most in zip(load, room, strict=True)):
            return f"{problem.hosts[each].name} is too full without {failed}"
    return ""


CASES = [(6, 120, 0.8), (5, 80, 0.9), (7, 100, 0.95)]


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("seed", range(SOAK))
@pytest.mark.parametrize(("hosts", "vms", "fill"), CASES)
def test_no_greedy_places_more_and_failures_are_survived(
    hosts: int, vms: int, fill: float, seed: int, *, mixed: bool
) -> None:
    made_ = clusters.made(hosts, vms, seed, mixed=mixed, memory=fill, cpu=0.5)
    base = emptied(made_.problem())
    sizes = [(4, 16)] * 12 if hosts % 2 else [(1, 4), (4, 24), (8, 48), (2, 16)] * 6
    new = {f"new-{each}": AskedVm(cpus, gib * GIB, None) for each, (cpus, gib) in enumerate(sizes, 1)}
    problem = place.with_new(base, new)
    task = Task(problem, singles(problem), stay=True)
    done = beside.beside(task)
    placed = len(new) - len(done.missing)
    assert greedy(task) <= placed <= done.most
    kept, at = problem.without_vms(done.missing), np.delete(done.place, done.missing)
    assert (at[: len(base.vms)] == base.at).all()
    assert (kept.loads(at) <= kept.rooms * (1 + 1e-9)).all()
    for failed, outcome in enumerate(Restarts(kept).all(at, singles(kept))):
        assert not wrong(kept, at, failed, outcome.placed)


def test_the_bound_counts_what_restarts_and_whole_vms() -> None:
    # three hosts of 90 GiB for VMs, each with one of 40: after a failure 100 are free, 50 on each, less 40 that restart
    three = {name: host(memory=100) for name in ("h1", "h2", "h3")}
    problem = of(made(three, {name: vm(f"h{each}", 40) for each, name in enumerate("abc", 1)}))
    many = {f"new-{each}": AskedVm(1, 20 * GIB, 10.0) for each in range(9)}
    assert beside.most(Task(place.with_new(problem, many), singles(problem), stay=True)) == 3
    # without failures 50 GiB are free on each: two of 20
    assert beside.most(Task(place.with_new(problem, many), [], stay=True)) == 6


def test_checks_are_counted_and_progress_is_told() -> None:
    problem = emptied(clusters.made(4, 50, 3, memory=0.8, cpu=0.5).problem())
    new = {f"new-{each}": AskedVm(2, 8 * GIB, None) for each in range(60)}
    task = Task(place.with_new(problem, new), singles(problem), stay=True)
    told: list[tuple[int, int]] = []
    few = beside.beside(task, lambda done, of: told.append((done, of)), work=1)
    assert told and all(0 <= done <= of == 60 for done, of in told)
    assert len(few.missing) >= len(beside.beside(task).missing) > 0


def test_some_are_placed_where_not_all_can_be() -> None:
    three = made({name: host(memory=100) for name in ("h1", "h2", "h3")}, {"a": vm("h1", 20)})
    plan = hypertwin.plan_place(three, vm="10*2x20GiBx100MHz")
    found = plan.to_dict()
    # any two hosts have 180 GiB: nine VMs of 20, of which one is `a`
    assert (len(found["moves"]), len(found["not_placed"]), found["placeable"]) == (7, 3, 7)
    assert not found["feasible"] and found["proven"]
    assert not any(each["cannot_restart"] for each in found["certificate"].values())


def overloaded() -> Scenario:
    """A host at its full CPU, and VMs of 1 and 0.5 GHz beside it."""
    vms = {"full": vm("h1", 10, 8000), "b": vm("h1", 10, 2000), "e": vm("h2", 10, 1000), "f": vm("h3", 10, 500)}
    return made({name: host(memory=100) for name in ("h1", "h2", "h3")}, vms)


def test_the_peak_is_a_fraction_of_the_real_limit_where_a_host_is_above_it() -> None:
    found = hypertwin.plan_place(overloaded(), vm="2x8GiBx100MHz", failures=0).to_dict()
    assert found["feasible"] and found["proven"]
    assert found["objective"]["value"] == found["bound"] == pytest.approx(125)  # 10 of 8 GHz


@pytest.mark.parametrize(("kind", "lost"), [("keep-together", ["e"]), ("keep-apart", [])])
def test_vms_that_restart_satisfy_must_rules_that_are_violated_now(kind: str, lost: list[str]) -> None:
    vms = {"a": vm("h1", 80), "b": vm("h1", 5), "e": vm("h2", 20), "f": vm("h3", 5)}
    together = ["b", "e"] if kind == "keep-together" else ["a", "b"]
    rules = [{"name": "rule", "kind": kind, "vms": together, "mandatory": True}]
    three = made({name: host(memory=100) for name in ("h1", "h2", "h3")}, vms, rules=rules)
    found = hypertwin.plan_place(three, vm="2x1GiBx100MHz").to_dict()
    assert (
        found["certificate"]["h2"]["cannot_restart"]
        == hypertwin.plan_survive(three).to_dict()["certificate"]["h2"]["cannot_restart"]
    )
    assert [each["vm"] for each in found["certificate"]["h2"]["cannot_restart"]] == lost
    assert found["feasible"] is not bool(lost)
