"""What the planner does for large clusters, tried on small ones: bounds hold, and a no is right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bench.clusters import HostMade, Made, VmMade
from tests.conftest import SOAK
from tests.python.plan.placement.brute import Everything, odd, small

from hypertwin.plan.placement import landing, leaving, nearby, place
from hypertwin.plan.placement.problem import NOWHERE, Problem, Rule
from hypertwin.plan.placement.task import Task

SEEDS = 40 * SOAK


def moves_are_bounded(problem: Problem, failures: list[tuple[int, ...]]) -> float:
    """Bounds are no higher than the fewest moves, and no placement has fewer. Return the bound, nan if none is due."""
    best, task = Everything(problem, failures).fewest_moves(), Task(problem, failures)
    bound = landing.bound(task, 1.0 if best is None else best + 1)
    if best is None:
        return np.nan
    assert bound <= best
    assert leaving.fewest(task).bound <= best
    everywhere = (problem.at + 1) % len(problem.hosts)
    for found in nearby.fewer_moves(task, everywhere, np.arange(0)):
        assert not task.good(found) or task.moves(found) >= best
    return bound - leaving.fewest(task).bound


def test_bounds_of_moves_are_none_too_high_and_some_higher_than_by_leaving() -> None:
    raised = [moves_are_bounded(*small(seed)) for seed in range(SEEDS)]
    assert np.nansum(np.array(raised) > 0) >= SEEDS / 40
    for seed in range(SEEDS):
        moves_are_bounded(*odd(seed))


def test_new_vms_that_a_programme_places_or_calls_impossible() -> None:
    said = []
    for seed in range(SEEDS):
        problem, failures = small(seed)
        at = np.where(np.arange(len(problem.vms)) < 3, NOWHERE, problem.at)
        problem = replace(problem, at=at)
        every = Everything(problem, failures)
        stays = (every.fine[:, at != NOWHERE] == at[at != NOWHERE]).all(axis=1)
        some = next((each for each in every.fine[stays].tolist() if every.safe(each)), None)
        found, is_impossible = place.by_programme(Task(problem, failures, stay=True))
        assert found is None or every.safe(found.tolist())
        assert not (is_impossible and some is not None)
        said.append((some is None, found is not None, is_impossible))
    decided = sum(found or no for _, found, no in said)
    assert decided >= 0.85 * SEEDS
    assert sum(none for none, *_ in said) in range(SEEDS // 10, SEEDS - SEEDS // 10)


def cluster(sizes: list[float], at: list[int], hosts: int, *rules: Rule) -> Task:
    """Hosts with room for 100, of which the first can fail."""
    kinds = tuple(HostMade(f"h{number}", 64, 1_000, 1, 1_000) for number in range(hosts))
    vms = tuple(VmMade(f"v{number}", 1, 1, 1) for number in range(len(sizes)))
    problem = Made("by hand", kinds, vms, (), tuple(at)).problem()
    rooms = np.full_like(problem.rooms, 100.0)
    of = np.array([sizes, sizes]).T
    return Task(replace(problem, rooms=rooms, failover=rooms, sizes=of, rules=rules), [(0,)])


@pytest.mark.parametrize(("new", "fits"), [(30.0, True), (35.0, False)])
@pytest.mark.parametrize("large", [True, False])
def test_vms_that_stay_on_a_failed_host_need_room_once(new: float, large: bool, fits: bool) -> None:
    task = cluster([40, 30, new], [0, 1, NOWHERE], 2)
    model = nearby.Learning(task, "any", np.array([False, False, True]))
    model.model.add_failure_in_part((0,), np.full(3, large))
    assert (model.solve() is not None) == fits
    assert model.is_impossible == (not fits)


@pytest.mark.parametrize("large", [0, 40])
def test_a_vm_that_leaves_a_failed_host_need_not_restart(monkeypatch: pytest.MonkeyPatch, large: int) -> None:
    monkeypatch.setattr(landing, "RESTARTED_VMS", large)
    task = cluster([60, 50, 40], [0, 0, 1], 3, Rule("stays", "run-on", (1,), (0,), mandatory=False))
    model = landing._Landing(task)
    model.add_failure((0,))
    solved = model.programme.solve(landing.NODES)
    assert solved.x is not None
    assert model.vms[solved.x[: len(model.vms)] > 0.5].tolist() == [0]
