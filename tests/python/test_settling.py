"""Whether runs that end by themselves say what longer ones say: scenarios at random, against four times the length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest
from tests.conftest import SOAK
from tests.random_scenarios import BELOW, POOLS, below_capacity, kind, load, scenario
from tests.settling import Compared, compared

import hypertwin
from hypertwin import language

SEEDS = range(300) if SOAK > 1 else [10 * date.today().toordinal() + place for place in range(10)]
MEANS = (0.93, 0.98) if SOAK > 1 else (0.8, 1.0)
"""Part of means that agree, by intervals of 95 %. Of sets of ten scenarios two in a thousand have fewer by chance."""
TAILS = 0.9 if SOAK > 1 else 0.75
STEADY = 0.7
"""Part of what is below capacity that settles."""
STAYS_STEADY = 0.95 if SOAK > 1 else 0.8


@pytest.fixture(scope="module")
def found() -> list[Compared]:
    """Each seed's scenario, simulated until it has settled, and four times as long."""
    return [compared(seed) for seed in SEEDS]


def test_runs_that_end_by_themselves_say_what_longer_ones_say(found: list[Compared]) -> None:
    """All in one test, so that all are simulated by one worker, once."""
    means = [(mean.agrees, one) for one in found for mean in one.means() if mean.counts]
    tails = [(tail.agrees, one) for one in found for tail in one.tails()]
    below = [(one.short["steady"], one) for one in found if one.is_below]
    stays = [(one.are_steady, one) for one in found if one.long]
    wrong = [
        *out_of("means that agree", means, *MEANS),
        *out_of("p99 that agree", tails, TAILS),
        *out_of("what is below capacity and steady", below, STEADY),
        *out_of("what is steady, and four times as long too", stays, STAYS_STEADY),
    ]
    assert not wrong, "\n".join(wrong)


def out_of(what: str, each: Sequence[tuple[bool, Compared]], least: float, most: float = 1.0) -> list[str]:
    """What is said where the part of all that is right is not within bounds; with the scenarios of the others."""
    right = [is_right for is_right, _ in each]
    if not each or least <= sum(right) / len(right) <= most:
        return []
    apart = {one.seed: one.row() for is_right, one in each if not is_right}
    return [f"{what}: {sum(right)} of {len(right)}, not {least:.0%} to {most:.0%}", *apart.values()]


def test_every_seed_has_a_scenario_that_is_always_the_same() -> None:
    for seed in SEEDS[:10]:
        data = scenario(seed)
        assert data == scenario(seed)
        assert {"duration", "warmup"}.isdisjoint(data["run"])
        assert hypertwin.load(data).inventory.vms


def test_scenarios_are_of_all_kinds_and_most_are_below_capacity() -> None:
    drawn = [scenario(seed) for seed in range(300)]
    words = Counter(word for data in drawn for word in kind(data).replace("+", " ").split())
    every = {name for name, each in language.hypervisors().items() if each.family in POOLS}
    every |= {"ht", "no-ht", "open", "closed", "io", "parallel", "fc", "local", "cache"}
    every |= {"ceph", "vsan", "chunk-store", "mirrored-mesh", "hdd-7.2k", "nvme", "replicas-3", "ec-2"}
    assert every <= set(words)
    below = sum(map(below_capacity, drawn))
    assert 0.8 * len(drawn) <= below <= 0.9 * len(drawn)


WORK = {"arrivals": {"open": {"rate": "50 /s"}}, "cpu": {"mean": "10 ms"}}
ENDLESS = {"arrivals": {"parallel": {"parts": "vcpu"}}, "cpu": {"mean": "10 ms"}}
ARRAY = {"san": {"raid": "raid-5", "disks": {"kind": "hdd-10k", "count": 3}, "cache": {"size": "0 B"}}}
IOS = {"ios": 2, "block": "4 KiB", "read_pct": 50, "random_pct": 100, "working_set": "1 GiB"}


@pytest.mark.parametrize(
    ("vms", "more", "expected"),
    [
        ({"vcpus": 1}, {}, 0.5),  # of its vCPU
        ({"vcpus": 1, "load": 0.5}, {}, 0.25),
        ({"vcpus": 2, "limit": "1 GHz"}, {}, 1.0),  # of half a core
        ({"vcpus": 1, "count": 6}, {}, 0.75),  # of four cores
        ({"vcpus": 1, "workload": "endless"}, {}, 0.0),
        ({"vcpus": 1}, {"beside": {"vcpus": 8, "workload": "endless"}}, 0.5 / (4 / 9)),  # of its share
        ({"vcpus": 1}, {"beside": {"vcpus": 3, "workload": "endless"}}, 0.5),
        # 100 I/Os a second, half of them one of the disks' operations, half of them four
        ({"vcpus": 1, "array": "san", "vdisks": 1, "workload": "ios"}, {}, 250 * (1 / 125 + 4096 / 120e6) / 3),
    ],
)
def test_load_is_what_is_offered_over_what_there_is(vms: dict[str, Any], more: dict[str, Any], expected: float) -> None:
    host = {"sockets": 1, "cores_per_socket": 4, "clock": "2 GHz", "memory_per_node": "64 GiB"}
    data = {
        "name": "one",
        "hosts": {"h": {**host, "hypervisor": "esxi-8.0"}},
        "vms": {name: {"memory": "1 GiB", "workload": "work", **vm} for name, vm in {"vm": vms, **more}.items()},
        "workloads": {"work": WORK, "endless": ENDLESS, "ios": WORK | IOS},
        "arrays": ARRAY,
    }
    assert load(data) == pytest.approx(expected, rel=0.02)
    assert below_capacity(data) == (expected < BELOW)
