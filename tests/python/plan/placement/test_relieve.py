"""One host relieved, as `diagnose` proposes it: figures by hand, and no more moves than a plan of the whole has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.python.plan.placement.cases import host, made, of, vm

from hypertwin.plan.placement import balance, relieve
from hypertwin.plan.placement.problem import Problem


def three(vms: dict[str, Any], **more: Any) -> Problem:
    """Three hosts of 10 GHz, of which 8 may be used, and 90 of 100 GiB."""
    return of(made({f"h{number}": host() for number in (1, 2, 3)}, vms, **more))


def named(problem: Problem, moves: relieve.Moves) -> list[tuple[str, str]]:
    return [(problem.vms[vm].name, problem.hosts[to].name) for vm, to in moves]


CROWD = {
    "a": vm("h1", 20, 4000),
    "b": vm("h1", 20, 3000),
    "c": vm("h1", 20, 2500),
    "d": vm("h2", 20, 5500),
    "e": vm("h3", 60, 1000),
}
"""h1 has 9.5 of 8 GHz, h2 has room for 2.5 and h3 for 7, but for 30 GiB only."""


def test_the_best_move_leaves_the_fuller_of_both_hosts_least_full() -> None:
    problem = three(CROWD)
    # without a h1 has 5.5 and h3 5.0; without b 6.5 and 4.0; without c 7.0 and 3.5
    assert named(problem, relieve.one(problem, [0, 1, 2], [0, 1, 2], relieving=True)) == [
        *(("a", "h3"), ("b", "h3"), ("c", "h3")),
    ]
    # with h2 alone: 9.5 with a would be no better than h1 is now
    assert named(problem, relieve.one(problem, [0, 1, 2], [1], relieving=True)) == [("c", "h2"), ("b", "h2")]
    assert ("a", "h2") in named(problem, relieve.one(problem, [0, 1, 2], [1]))


@pytest.mark.parametrize(
    ("change", "there"),
    [
        ({"e": vm("h3", 75, 1000)}, "h2"),  # no memory on h3
        ({"e": vm("h3", 75, 1000), "d": vm("h2", 75, 5500)}, None),
    ],
)
def test_a_vm_goes_where_it_fits(change: dict[str, Any], there: str | None) -> None:
    problem = three({**CROWD, **change})
    assert {to for _, to in named(problem, relieve.one(problem, [0, 1, 2], [1, 2]))} == ({there} if there else set())


def test_rules_are_kept() -> None:
    apart = {"name": "r", "kind": "keep-apart", "vms": ["a", "e"]}
    problem = three(CROWD, rules=[apart])
    assert ("a", "h3") not in named(problem, relieve.one(problem, [0], [1, 2]))
    assert [name for name, _ in named(problem, relieve.fewest(problem, 0, [0, 1, 2]))] != ["a"]


def test_no_more_moves_than_the_planner_needs_for_all() -> None:
    problem = three(CROWD)
    moves = relieve.fewest(problem, 0, [0, 1, 2])
    assert len(moves) == balance.fewest_moves(problem, ()).value == 1
    place = problem.at.copy()
    for each, to in moves:
        place[each] = to
    assert not problem.broken(place)
    assert relieve.fewest(problem, 1, [3]) == []  # it is within its limits


def test_a_host_that_cannot_be_within_its_limit_comes_as_near_as_it_gets() -> None:
    small = {f"s{number}": vm("h1", 1, 2000) for number in range(8)}
    problem = three({**small, "d": vm("h2", 20, 6000), "e": vm("h3", 20, 6000)})
    # 16 GHz on h1; the others take one VM each, and are at their limit of 8 then
    moves = named(problem, relieve.fewest(problem, 0, list(range(8))))
    assert sorted(to for _, to in moves) == ["h2", "h3"]
    full = replace(problem, rooms=np.where(np.arange(3)[:, None] > 0, problem.loads(problem.at), problem.rooms))
    assert relieve.fewest(full, 0, list(range(8))) == []


def test_half_of_a_host_goes_to_one_like_it() -> None:
    problem = three({f"s{number}": vm("h1", 1, 2000) for number in range(8)})
    assert len(relieve.half(problem, 0, range(8))) == 4
    assert relieve.half(problem, 0, [0, 1]) in ([0, 1], [])  # the others may not move
