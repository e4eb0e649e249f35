"""Clusters that nobody can try out: against an integer programme, against the checker, and the same every time."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from bench import clusters
from tests.python.plan.placement.checker import World, wrong_certificate

from hypertwin import scenario
from hypertwin.plan.capacity.limits import AskedVm, Limits
from hypertwin.plan.placement import balance, place
from hypertwin.plan.placement.balance import exact, fewest_moves, most_level
from hypertwin.plan.placement.bounds import fullest
from hypertwin.plan.placement.incumbent import Incumbent
from hypertwin.plan.placement.place import beside, fewest_hosts, with_new
from hypertwin.plan.placement.problem import NOWHERE, Ints, Problem, problem
from hypertwin.plan.placement.restart import Restarts
from hypertwin.plan.placement.task import Task

ROOT = Path(__file__).resolve().parents[4]


def each_host(of: Problem) -> list[tuple[int, ...]]:
    return [(host,) for host in range(len(of.hosts))]


@pytest.mark.parametrize("seed", [1, 2])
def test_fewest_moves_of_sixty_vms_are_those_of_a_programme(seed: int) -> None:
    given = clusters.made(8, 60, seed).problem()
    found = fewest_moves(given, each_host(given))
    place, least, _ = exact(Task(given, each_host(given)), "moves")
    assert place is not None
    assert found.proven
    assert found.value == found.bound == least


def test_tight_clusters_need_few_more_moves_than_the_bound() -> None:
    given = clusters.made(12, 120, 8, memory=0.88, cpu=0.8).problem()
    found = fewest_moves(given, each_host(given))
    assert found.value is not None
    assert found.value <= 12  # 18 where room for large VMs is filled again by those that leave


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("seed", clusters.SEEDS)
def test_plans_of_four_hundred_vms_pass_the_checker(seed: int, mixed: bool) -> None:
    made = scenario.loads(yaml.safe_dump(clusters.made(16, 400, seed, mixed=mixed).scenario()))
    given = problem(made, made.inventory.clusters[0], Limits())
    world, failures = World.of(made), each_host(given)
    moves = fewest_moves(given, failures)
    assert (moves.proven, moves.gap_pct) == (True, 0)
    level = most_level(given, failures, from_nothing=True)
    assert level.gap_pct is not None
    assert level.gap_pct <= (3 if mixed else 1)
    here = most_level(given, failures, from_nothing=False)
    hosts = fewest_hosts(given, failures)
    assert hosts.gap_pct is not None
    assert hosts.gap_pct < 10
    for found in (moves, level, here, hosts):
        assert found.place is not None
        assert sound(world, given, found.place) == []


def sound(world: World, given: Problem, place: Ints) -> list[str]:
    """What the checker says of a place and of where VMs restart."""
    named: dict[str, str | None] = {vm.name: given.hosts[place[each]].name for each, vm in enumerate(given.vms)}
    found = world.over(named, world.room, sorted(world.room)) + world.broken(named)
    restarts = Restarts(given)
    for host in range(len(given.hosts)):
        outcome = restarts.after(place, (host,))
        assert not outcome.cannot_restart
        certificate = {
            "failed": [given.hosts[host].name],
            "placed": {given.vms[vm].name: given.hosts[to].name for vm, to in outcome.placed.items()},
            "cannot_restart": [],
            "not_restarted": [],
            "violated_should_rules": list(outcome.wishes),
        }
        found += list(wrong_certificate(world, named, certificate))
    return found


def test_nothing_to_do_is_an_answer_and_moves_again_are_none() -> None:
    given = clusters.made(16, 400, 1).problem()
    first = fewest_moves(given, each_host(given))
    assert first.place is not None
    again = fewest_moves(replace(given, at=first.place), each_host(given))
    assert (again.value, again.bound, again.proven, again.gap_pct) == (0, 0, True, 0)
    assert again.place is not None
    assert np.array_equal(again.place, first.place)


def test_more_than_hosts_have_after_a_failure_is_impossible_at_once() -> None:
    for seed in clusters.SEEDS:
        given = clusters.made(16, 400, seed, memory=0.95, cpu=0.91).problem()
        for found in (
            fewest_moves(given, each_host(given)),
            most_level(given, each_host(given), from_nothing=True),
            fewest_hosts(given, each_host(given)),
        ):
            assert (found.place, found.proven) == (None, True)
            assert found.binding_constraints[0].startswith("if esx-01 fails, the other hosts would need")


def test_a_room_for_the_largest_vm_bounds_the_level() -> None:
    given = clusters.made(34, 805, 2, memory=0.9, cpu=0.86).problem()
    bound, why = fullest(Task(given, each_host(given)))
    largest = given.sizes[:, 1].max()
    room = given.rooms[0, 1]
    # all memory but what the host may have that keeps room for the largest VM, on the other 33
    assert bound == pytest.approx((given.sizes[:, 1].sum() - (room - largest)) / (33 * room))
    assert why.startswith("room for ")


def test_a_level_in_whole_gib_is_proven() -> None:
    for hosts, vms in ((16, 400), (34, 805)):
        given = clusters.made(hosts, vms, 1, memory=0.7, cpu=0.66).problem()
        found = most_level(given, each_host(given), from_nothing=False)
        gib = given.sizes[:, 1].sum() / 2**30 / hosts
        assert found.proven
        assert found.value == pytest.approx(np.ceil(gib) * 2**30 / given.rooms[0, 1])


def test_a_cluster_that_is_nearly_full_keeps_one_host_for_restarts() -> None:
    given = clusters.made(34, 805, 1, mixed=True, memory=0.95, cpu=0.91).problem()
    found = most_level(given, each_host(given), from_nothing=False)
    assert found.place is not None
    assert Task(given, each_host(given)).good(found.place)


@pytest.mark.parametrize("stop", [1, 2])
def test_an_interrupt_leaves_the_best_so_far(stop: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given = clusters.made(16, 400, 1, mixed=True, memory=0.9, cpu=0.86).problem()
    told: list[str] = []
    original = balance._candidates

    def candidates(*some: Any) -> Iterator[Any]:
        for number, each in enumerate(original(*some)):
            if number == stop:
                raise KeyboardInterrupt
            yield each

    monkeypatch.setattr(balance, "_candidates", candidates)
    found = fewest_moves(given, each_host(given), tell=told.append)
    assert found.is_interrupted
    assert not found.proven
    assert found.place is not None
    assert Task(given, each_host(given)).good(found.place)
    assert told[-1] == f"{found.value:.4g} moves, at least {found.bound:.4g}"


def test_an_interrupt_before_any_plan_ends_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    given = clusters.made(16, 400, 1, mixed=True, memory=0.9, cpu=0.86).problem()

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(balance, "_candidates", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fewest_moves(given, each_host(given))


def test_a_signal_that_ends_the_process_is_no_interrupt_of_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    best = Incumbent(lambda place: 1.0, 0.0, "{} {}")
    with pytest.raises(KeyboardInterrupt), best.kept():
        best.offer(np.zeros(1, np.int64))
        raise KeyboardInterrupt(15)


def test_fewest_hosts_interrupted_keeps_all(monkeypatch: pytest.MonkeyPatch) -> None:
    given = clusters.made(16, 400, 1, memory=0.7, cpu=0.66).problem()
    tried: list[int] = []
    original = place.on_hosts

    def on(task: Task, kept: Any) -> Any:
        tried.append(len(kept))
        if len(tried) == 1:
            raise KeyboardInterrupt
        return original(task, kept)

    monkeypatch.setattr(place, "on_hosts", on)
    found = fewest_hosts(given, each_host(given))
    assert (found.value, found.is_interrupted, found.proven) == (16.0, True, False)


def test_new_vms_go_beside_those_that_stay() -> None:
    old = clusters.made(16, 400, 3).problem()
    level = most_level(old, each_host(old), from_nothing=True).place
    assert level is not None
    old = replace(old, at=level)
    new = with_new(old, {f"new-{number}": AskedVm(4, 16 * 2**30, None) for number in range(10)})
    assert new.sizes[-1, 1] == 16 * 2**30
    assert new.sizes[-1, 0] == pytest.approx(4 * old.sizes[:, 0].sum() / sum(vm.vcpus for vm in old.vms))
    found = beside(new, each_host(new))
    assert found.place is not None
    assert np.array_equal(found.place[: len(old.vms)], level)
    assert (found.place[len(old.vms) :] != NOWHERE).all()
    assert Task(new, each_host(new)).good(found.place)


def test_the_same_bytes_under_every_hash_seed() -> None:
    code = """
import hashlib
from bench import clusters
from hypertwin.plan.placement.balance import fewest_moves, most_level
from hypertwin.plan.placement.place import fewest_hosts
digest = hashlib.sha256()
for memory in (0.72,):
    given = clusters.made(16, 400, 2, mixed=True, memory=memory).problem()
    failures = [(host,) for host in range(16)]
    for found in (
        fewest_moves(given, failures), most_level(given, failures, from_nothing=False), fewest_hosts(given, failures)
    ):
        digest.update(b"none" if found.place is None else found.place.tobytes())
        digest.update(repr((found.value, found.bound, found.proven, found.binding_constraints)).encode())
print(digest.hexdigest())
"""
    said = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), str(ROOT)]),
            },
        ).stdout
        for seed in ("1", "2")
    ]
    assert len(said[0].strip()) == len(hashlib.sha256().hexdigest())
    assert said[0] == said[1]
