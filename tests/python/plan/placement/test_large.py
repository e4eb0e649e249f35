"""What the planner does for large clusters, tried on small ones: bounds hold, and a no is right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tests.conftest import SOAK
from tests.python.plan.placement.brute import Everything, odd, small

from hypertwin.plan.placement import landing, leaving, nearby, place
from hypertwin.plan.placement.problem import NOWHERE, Problem
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
