"""Bounds by hand, where the sum is plain, and what a programme must not ask for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bench.clusters import HostMade, Made, RuleMade, VmMade

from hypertwin.plan.capacity.limits import AskedVm
from hypertwin.plan.placement import bounds
from hypertwin.plan.placement.balance import exact, fewest_moves
from hypertwin.plan.placement.exact import Places
from hypertwin.plan.placement.place import beside, fewest_hosts, with_new
from hypertwin.plan.placement.problem import Problem
from hypertwin.plan.placement.task import Task

GIB = 2**30


def cluster(hosts: list[int], vms: dict[str, tuple[int, int]], *rules: RuleMade) -> Problem:
    """Hosts by memory and VMs by (host, memory), both in GiB; 90 % of memory may be used. Of CPU there is plenty."""
    made = tuple(HostMade(f"h{number}", 100, 1_000, 2, memory) for number, memory in enumerate(hosts))
    sized = tuple(VmMade(name, 2, 100, memory) for name, (_, memory) in vms.items())
    return Made("by-hand", made, sized, rules, tuple(host for host, _ in vms.values())).problem()


def each(problem: Problem) -> list[tuple[int, ...]]:
    """The failure of each host."""
    return [(host,) for host in range(len(problem.hosts))]


def test_a_vm_that_one_host_only_has_room_for_cannot_restart() -> None:
    given = cluster([100, 50, 50], {"large": (0, 60), "small": (1, 5)})
    assert bounds.fullest(Task(given, each(given))) == (np.inf, "room for large on another host")
    assert bounds.fullest(Task(given, [(1,), (2,)]))[0] == pytest.approx(60 / 90)


def test_room_for_a_vm_is_kept_on_a_host_that_is_left_by_each_failure() -> None:
    given = cluster([100, 100, 70], {"large": (0, 60), "one": (1, 60), "two": (2, 40)})
    # large is on a host of 100, the other of 100 keeps room for it, so 100 of 160 GiB are on 90 + 63 - of which
    # the one that keeps room has at most 30
    bound, why = bounds.fullest(Task(given, each(given)))
    assert bound == pytest.approx((160 - (90 - 60)) / (90 + 63))
    assert why == "room for large on another host"


def test_loads_are_sums_of_whole_sizes() -> None:
    # 12 VMs of 5 GiB, 20 GiB a host of 90 on average: four each
    even = cluster([100, 100, 100], {f"v{number}": (0, 5) for number in range(12)})
    assert bounds.fullest(Task(even, ()))[0] == pytest.approx(20 / 90)
    odd = cluster([100, 100, 100], {f"v{number}": (0, 5) for number in range(13)})
    assert bounds.fullest(Task(odd, ()))[0] == pytest.approx(25 / 90)
    # three such VMs fill 15 of 18 GiB, so 13 VMs need five hosts, and a sixth for a failure
    small = cluster([20] * 8, {f"v{number}": (number % 8, 5) for number in range(13)})
    assert bounds.hosts(Task(small, ()))[0] == 5.0
    assert bounds.hosts(Task(small, each(small)))[0] == 6.0
    full = cluster([20] * 4, {f"v{number}": (number % 4, 5) for number in range(10)})
    assert bounds.impossible(Task(full, each(full))) == (
        "if h0 fails, the other hosts would need 92.59% of their memory limit, but VMs cannot be split between hosts"
    )
    # five VMs of 16 GiB fill 80 of 86.4 GiB, of which two hosts have 172.8
    over = cluster([96] * 3, {f"v{number}": (number % 3, 16) for number in range(12)})
    assert bounds.impossible(Task(over, each(over))) == (
        "if h0 fails, the other hosts would need 111.1% of their memory limit"
    )


def test_a_vm_larger_than_every_host_is_no_matter_of_rules() -> None:
    def why(asked: AskedVm, *rules: RuleMade) -> str | None:
        given = cluster([100, 50], {"v": (0, 5)}, *rules)
        return bounds.impossible(Task(with_new(given, {"new": asked}), (), stay=True))

    assert why(AskedVm(2, 101 * GIB, 100.0)) == "new needs a host with 101.0 GiB of memory"
    assert why(AskedVm(201, GIB, 100.0)) == "new needs a host with 201 logical CPUs"
    assert why(AskedVm(2, 95 * GIB, 100.0)) == "new is larger than the limit of every host"
    nowhere = RuleMade("away", "not-on", (0,), (0, 1), mandatory=True)
    assert why(AskedVm(2, GIB, 100.0), nowhere) == "rules leave no host for v"


def test_vms_that_stay_apart_after_a_failure_need_a_host_more_than_they_are() -> None:
    vms = {f"v{number}": (number, 1) for number in range(3)}
    given = cluster([100] * 6, vms, RuleMade("apart", "keep-apart", (0, 1, 2), mandatory=True))
    assert bounds.hosts(Task(given, each(given))) == (4.0, "rule apart")
    assert bounds.hosts(Task(given, ())) == (3.0, "rule apart")
    wish = cluster([100] * 6, vms, RuleMade("apart", "keep-apart", (0, 1, 2)))
    assert bounds.hosts(Task(wish, each(wish))) == (3.0, "rule apart")
    assert (fewest_hosts(given, each(given)).value, fewest_hosts(wish, each(wish)).value) == (4.0, 3.0)


@pytest.mark.parametrize(("asked", "hosts"), [((200, 90), [1]), ((201, 10), []), ((2, 101), []), ((2, 100), [1])])
def test_a_new_vm_fits_where_it_is_no_wider_and_no_larger_than_the_host(
    asked: tuple[int, int], hosts: list[int]
) -> None:
    given = cluster([50, 100], {"old": (0, 5)})
    new = with_new(given, {"new": AskedVm(asked[0], asked[1] * GIB, None)})
    assert np.flatnonzero(new.fits[-1]).tolist() == hosts


def test_new_vms_restart_as_all_do() -> None:
    given = cluster([100, 100], {"old": (0, 40)})
    new = with_new(given, {"new": AskedVm(2, 60 * GIB, 100.0)})
    assert new.restarts.all()
    found = beside(new, each(new))
    assert (found.place, found.proven) == (None, True)  # 100 GiB on the host that is left, of 90
    assert beside(new, ()).place is not None


def test_the_fewest_hosts_for_new_vms_leave_the_others_where_they_are() -> None:
    given = cluster([100] * 4, {"old": (2, 30), "older": (2, 30), "other": (3, 10)})
    new = with_new(given, {"new": AskedVm(2, 5 * GIB, 100.0)})
    found = beside(new, (), fewest=True)
    assert found.place is not None
    assert found.place[:3].tolist() == [2, 2, 3]  # which anew would be levelled
    assert (found.value, found.bound, found.proven) == (2.0, 2.0, True)
    assert int(found.place[3]) in (2, 3)


def test_the_fewest_hosts_move_no_vm_where_as_many_suffice_now() -> None:
    given = cluster([100] * 4, {"large": (3, 60), "other": (1, 60), "small": (3, 25)})
    found = fewest_hosts(given, each(given))
    assert found.place is not None
    assert (found.value, found.proven, found.place.tolist()) == (3.0, True, [3, 1, 3])
    over = fewest_hosts(replace(given, at=np.array([3, 1, 2])), ())
    assert over.place is not None
    assert (over.value, len(set(over.place.tolist()))) == (2.0, 2)


def test_room_for_a_large_vm_is_asked_for_where_every_host_may_fail_only() -> None:
    given = cluster([100, 100, 20], {"one": (0, 60), "two": (1, 60), "small": (2, 5)})
    for failures, feasible in (([(2,)], True), (each(given), False)):
        model = Places(Task(given, failures), "moves")
        model.add_holes([0])
        place, bound, _ = model.solve(100)
        assert (place is not None) is feasible
        assert bound == (0.0 if feasible else np.inf)
    assert fewest_moves(given, [(2,)]).value == 0.0


def test_hosts_that_are_let_go_take_no_vms_after_a_failure() -> None:
    given = cluster([100] * 4, {f"v{number}": (number, 40) for number in range(4)})
    place, least, kept = exact(Task(given, each(given)), "hosts")
    # of three hosts one has two VMs, which fill 80 of 90 GiB; when it fails each of the other two takes one
    assert (least, len(kept)) == (3.0, 3)
    assert place is not None
    assert set(place.tolist()) <= set(kept.tolist())
    assert fewest_hosts(replace(given, restarts=np.zeros(4, bool)), each(given)).value == 2.0
