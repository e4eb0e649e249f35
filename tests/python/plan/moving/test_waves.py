"""Waves of VMs: what stays together, what comes first, and what fits a window."""

from __future__ import annotations

import random
import time
from collections import Counter

import pytest

from hypertwin.errors import ScenarioError
from hypertwin.plan.moving import rates
from hypertwin.plan.moving.rates import GIB, MIB
from hypertwin.plan.moving.transfer import Disk, Limits, MovingVm, copy, cutover
from hypertwin.plan.moving.waves import Candidate, Wave, WaveOptions, main_mode, units, waves

MTV = rates.tool("mtv")
HOUR = 3600.0
NO_PILOT = WaveOptions(pilot_vms=0)


def vm(name: str, used_gib: float = 35, host: str = "esx-1", **more: object) -> Candidate:
    source = MovingVm(name, host, (Disk(2 * used_gib * GIB, used_gib * GIB, "ds-1"),))
    return Candidate(source, **more)  # type: ignore[arg-type]


def names(found: tuple[Wave, ...]) -> list[tuple[str, ...]]:
    return [wave.vms for wave in found]


def test_no_vms_need_no_wave() -> None:
    assert waves([], MTV) == ()


def test_a_wave_holds_what_its_window_holds_at_the_slow_end() -> None:
    """One host copies 309 MiB/s, so 2 hours less overhead and boot, at the slow end, hold 44 VMs of 35 GiB."""
    candidates = [vm(f"vm-{each:03}") for each in range(100)]
    options = WaveOptions(window_s=2 * HOUR, pilot_vms=0)
    found = waves(candidates, MTV, Limits(slots_per_host=100), options)
    per_vm = 35 * GIB / MTV.rates["cold"].host.value
    left = (2 * HOUR - rates.assumption("boot_s").high) / rates.labs_differ() - MTV.rates["cold"].overhead.value
    assert [len(each.vms) for each in found] == [int(left / per_vm)] * 2 + [100 - 2 * int(left / per_vm)]
    assert all(each.fits and each.window.high <= 2 * HOUR for each in found)
    assert found[0].transfer.limited_by[0].kind == "host"
    assert [each.number for each in found] == [1, 2, 3]


def test_a_wave_that_the_network_limits_is_as_large_as_its_window() -> None:
    candidates = [vm(f"vm-{each:03}", host=f"esx-{each % 25}") for each in range(200)]
    limits = Limits(network=5e8, target=1e12, datastores={"ds-1": 1e12})
    first, *_ = waves(candidates, MTV, limits, WaveOptions(window_s=3 * HOUR, pilot_vms=0))
    overhead, boot = MTV.rates["cold"].overhead.value, rates.assumption("boot_s").high
    left = (3 * HOUR - boot) / rates.labs_differ() - overhead
    fitting = int(left * 5e8 * 1460 / 1538 / (35 * GIB))
    assert fitting * 0.98 - 1 <= len(first.vms) <= fitting
    assert first.transfer.limited_by[0].kind == "network"


def test_vms_that_wait_too_long_in_a_cold_wave_move_warm_in_waves_of_their_own() -> None:
    """Alone, a cold move of 35 GiB takes up to 13 minutes with its boot. With nine others it takes half an hour."""
    candidates = [vm(f"vm-{each}", max_downtime_s=15 * 60 if each < 2 else None) for each in range(10)]
    alone = waves(candidates[:1], MTV, options=NO_PILOT)
    assert [each.mode for each in alone] == ["cold"]
    found = waves(candidates, MTV, options=NO_PILOT)
    assert {each.mode: each.vms for each in found} == {
        "warm": ("vm-0", "vm-1"),
        "cold": tuple(f"vm-{each}" for each in range(2, 10)),
    }
    assert all(each.too_long == () for each in found)
    proxmox = rates.tool("proxmox-esxi")
    assert {each.mode for each in waves(candidates, proxmox, options=NO_PILOT)} == {"cold"}
    assert {name for each in waves(candidates, proxmox, options=NO_PILOT) for name in each.too_long} == {"vm-0", "vm-1"}


def test_the_mode_of_most_data_stands_for_all() -> None:
    found = waves([vm("a", used_gib=10, max_downtime_s=1), vm("b", used_gib=20)], MTV, options=NO_PILOT)
    assert main_mode(found, MTV) == "cold"
    found = waves([vm("a", used_gib=30, max_downtime_s=1), vm("b", used_gib=20)], MTV, options=NO_PILOT)
    assert main_mode(found, MTV) == "warm"
    assert main_mode((), MTV) == "cold"


def test_the_pilot_has_few_vms_of_the_lowest_risk() -> None:
    candidates = [vm(f"vm-{each:02}", used_gib=each + 1, risk=each % 3) for each in range(30)]
    found = waves(candidates, MTV, options=WaveOptions(pilot_vms=4))
    assert found[0].kind == "pilot"
    assert found[0].vms == ("vm-00", "vm-03", "vm-06", "vm-09")  # the smallest of risk 0
    assert [each.kind for each in found[1:]] == ["regular"] * (len(found) - 1)
    assert waves(candidates[:4], MTV, options=WaveOptions(pilot_vms=4))[0].kind == "regular"
    assert waves(candidates, MTV, options=NO_PILOT)[0].kind == "regular"


def test_a_group_larger_than_the_pilot_is_not_in_it() -> None:
    candidates = [*(vm(f"a-{each}", groups=("a",)) for each in range(3)), vm("b", risk=1), vm("c", risk=2)]
    found = waves(candidates, MTV, options=WaveOptions(pilot_vms=2))
    assert found[0].vms == ("b", "c")


def test_a_pilot_is_cold_or_warm() -> None:
    candidates = [vm(f"vm-{each}", max_downtime_s=300 if each in (1, 2) else None) for each in range(6)]
    found = waves(candidates, MTV, options=WaveOptions(pilot_vms=3))
    assert [(each.kind, each.mode, each.vms) for each in found] == [
        ("pilot", "cold", ("vm-0", "vm-3", "vm-4")),
        ("regular", "warm", ("vm-1", "vm-2")),
        ("regular", "cold", ("vm-5",)),
    ]


def test_rising_risk_then_priority_then_networks() -> None:
    options = WaveOptions(window_s=0.5 * HOUR, pilot_vms=0, max_vms=1)
    candidates = [
        vm("a", risk=2),
        vm("b", priority=1, networks=("vlan-1",)),
        vm("c", networks=("vlan-2",)),
        vm("d", networks=("vlan-1",)),
    ]
    assert names(waves(candidates, MTV, options=options)) == [("d",), ("c",), ("b",), ("a",)]
    assert names(waves(candidates[::-1], MTV, options=options)) == [("d",), ("c",), ("b",), ("a",)]


def test_a_wave_takes_vms_of_all_hosts_in_turn() -> None:
    """Four hosts copy four times as fast as the one whose VMs come first by name."""
    candidates = [vm(f"vm-{each:02}", host=f"esx-{each // 10}") for each in range(40)]
    first, *_ = waves(candidates, MTV, options=WaveOptions(window_s=0.5 * HOUR, pilot_vms=0))
    assert first.vms[:8] == ("vm-00", "vm-10", "vm-20", "vm-30", "vm-01", "vm-11", "vm-21", "vm-31")
    (alone, *_) = waves(candidates[:10], MTV, options=WaveOptions(window_s=0.5 * HOUR, pilot_vms=0))
    assert len(first.vms) > 2 * len(alone.vms)
    folders = [vm(f"vm-{each}", host=f"esx-{each % 2}", folder=f"f{each // 4}") for each in range(8)]
    (whole,) = waves(folders, MTV, options=WaveOptions(pilot_vms=0))
    assert {name[-1] for name in whole.vms[:4]} == set("0123")


def test_groups_and_tags_keep_vms_together() -> None:
    one = WaveOptions(pilot_vms=0, max_vms=1)
    candidates = [
        vm("a", groups=("rule-1",)),
        vm("b", groups=("rule-1",), tags=("app-x", "gold")),
        vm("c", tags=("app-x",), folder="f"),
        vm("d", tags=("gold",), folder="f"),
        vm("e"),
    ]

    def together(**options: object) -> list[tuple[str, ...]]:
        return names(waves(candidates, MTV, options=WaveOptions(**{**vars(one), **options})))  # type: ignore[arg-type]

    assert together() == [("a", "b"), ("e",), ("c",), ("d",)]
    assert together(together=("app-*",)) == [("a", "b", "c"), ("e",), ("d",)]


def test_a_tag_and_a_group_of_one_name_are_not_one() -> None:
    candidates = [vm("a", groups=("x",)), vm("c", tags=("x",))]
    assert len(units(candidates, MTV, options=WaveOptions(together=("*",)))) == 2


def test_a_unit_that_fits_no_window_is_alone_and_says_so() -> None:
    candidates = [vm("a"), vm("b", used_gib=900, risk=1), vm("c", risk=2)]
    found = waves(candidates, MTV, options=WaveOptions(window_s=HOUR, pilot_vms=0))
    assert names(found) == [("a",), ("b",), ("c",)]
    assert [each.fits for each in found] == [True, False, True]
    assert any(each.startswith("Does not fit: takes up to") for each in found[1].notes)
    assert not found[0].notes


def test_waves_fill_a_part_of_their_window_and_a_longer_unit_has_one_to_itself() -> None:
    candidates = [vm("a"), vm("b"), vm("c"), vm("d", used_gib=900, risk=1), vm("e", risk=2)]
    options = WaveOptions(window_s=4 * HOUR, filled_s=0.5 * HOUR, pilot_vms=0)
    found = waves(candidates, MTV, options=options)
    assert names(found)[-2:] == [("d",), ("e",)]
    assert HOUR < found[-2].window.high < 4 * HOUR
    assert all(each.fits and not each.notes for each in found)
    assert len(found) > len(waves(candidates, MTV, options=WaveOptions(window_s=4 * HOUR, pilot_vms=0)))


def test_a_disk_of_a_terabyte_moves_alone_with_its_group() -> None:
    candidates = [vm("a"), vm("b", used_gib=932, groups=("g",)), vm("c", groups=("g",)), vm("d")]
    found = waves(candidates, MTV, options=WaveOptions(window_s=24 * HOUR, pilot_vms=0))
    assert names(found) == [("a", "d"), ("b", "c")]
    assert found[1].kind == "large"
    assert any("Moves alone" in each for each in found[1].notes)
    below = [vm("a"), vm("b", used_gib=931)]
    assert len(waves(below, MTV, options=WaveOptions(window_s=24 * HOUR, pilot_vms=0))) == 1


def test_a_vm_that_tolerates_little_downtime_moves_warm() -> None:
    cold = cutover([vm("a").vm], MTV)[1][0].seconds.high
    for tolerated, mode in ((None, "cold"), (cold, "cold"), (cold - 1, "warm")):
        (found,) = waves([vm("a", max_downtime_s=tolerated)], MTV, options=NO_PILOT)
        assert found.mode == mode
    assert found.before.value == copy([vm("a").vm], MTV, mode="warm").seconds.value
    assert found.window.high < cold
    assert found.too_long == ()
    (short,) = waves([vm("a", max_downtime_s=60)], MTV, options=NO_PILOT)
    assert short.too_long == ("a",)
    down = short.downtimes[0].seconds
    (between,) = waves([vm("a", max_downtime_s=(down.value + down.high) / 2)], MTV, options=NO_PILOT)
    assert between.too_long == ("a",)
    assert waves([vm("a", max_downtime_s=60)], rates.tool("virt-v2v"), options=NO_PILOT)[0].mode == "cold"


def test_a_wave_is_cold_or_warm_and_a_group_has_one_mode() -> None:
    candidates = [vm("a"), vm("b", max_downtime_s=300, groups=("g",)), vm("c", groups=("g",)), vm("d")]
    found = waves(candidates, MTV, options=NO_PILOT)
    assert [(each.mode, each.vms) for each in found] == [("cold", ("a", "d")), ("warm", ("b", "c"))]
    assert found[0].before.high == 0


def test_a_first_copy_never_takes_longer_than_its_snapshots_allow() -> None:
    candidates = [vm(f"vm-{each:02}", used_gib=800, max_downtime_s=300) for each in range(30)]
    found = waves(candidates, MTV, options=WaveOptions(pilot_vms=0, before_s=1e9))
    assert len(found) > 1
    assert all(each.fits and each.before.high <= 28 * HOUR for each in found)
    shorter = waves(candidates, MTV, options=WaveOptions(pilot_vms=0, before_s=10 * HOUR))
    assert len(shorter) > len(found)
    assert all(each.before.high <= 10 * HOUR for each in shorter)
    (long,) = waves(candidates[:1], MTV, options=WaveOptions(pilot_vms=0, before_s=HOUR))
    assert not long.fits
    assert any("first copy" in each for each in long.notes)


def test_changes_that_outrun_the_copy_are_said() -> None:
    source = MovingVm("a", "esx-1", (Disk(500 * GIB, 500 * GIB),), write_bytes_per_s=100 * MIB)
    (found,) = waves([Candidate(source, max_downtime_s=300)], MTV, options=NO_PILOT)
    assert any("faster than the copy" in each for each in found.notes)


def test_more_cutovers_of_a_host_than_slots_are_said() -> None:
    candidates = [vm(f"vm-{each:02}", max_downtime_s=300) for each in range(11)]
    (found,) = waves(candidates, MTV, options=NO_PILOT)
    assert any(each.startswith("esx-1 has 11 disks: cut over at most 10") for each in found.notes)
    assert not waves(candidates[:10], MTV, options=NO_PILOT)[0].notes
    assert not waves(candidates, MTV, Limits(slots_per_host=11), NO_PILOT)[0].notes[1:]
    assert not any("cut over" in each for each in waves(candidates, rates.tool("move"), options=NO_PILOT)[0].notes)
    two = tuple(Disk(GIB, GIB) for _ in range(2))
    wide = [Candidate(MovingVm(f"vm-{each}", "esx-1", two), max_downtime_s=300) for each in range(6)]
    assert any("esx-1 has 12 disks" in each for each in waves(wide, MTV, options=NO_PILOT)[0].notes)
    plain = [vm(f"vm-{each:02}") for each in range(11)]
    assert not waves(plain, MTV, options=NO_PILOT)[0].notes


def test_networks_on_both_sides_are_listed_until_the_last_vm_has_moved() -> None:
    candidates = [
        vm("a", networks=("blue", "red"), risk=0),
        vm("b", networks=("blue",), risk=1),
        vm("c", networks=("red",), risk=2),
    ]
    found = waves(candidates, MTV, options=WaveOptions(pilot_vms=0, max_vms=1))
    assert [each.networks for each in found] == [("blue", "red"), ("red",), ()]


def test_wrong_options_and_names_are_rejected() -> None:
    for wrong in (
        {"window_s": 0},
        {"filled_s": 0},
        {"pilot_vms": -1},
        {"max_vms": 0},
        {"before_s": 0},
        {"interval_s": 0},
    ):
        with pytest.raises(ScenarioError):
            WaveOptions(**wrong)
    with pytest.raises(ScenarioError, match="each VM once"):
        waves([vm("a"), vm("a")], MTV)


def estate(chance: random.Random, number: int, hosts: int) -> list[Candidate]:
    def disk() -> Disk:
        capacity = chance.choice([40, 100, 200, 500, 1500]) * GIB
        return Disk(capacity, chance.choice([None, capacity * chance.random()]), f"ds-{chance.randrange(12)}")

    return [
        Candidate(
            MovingVm(
                f"vm-{each:03}", f"esx-{chance.randrange(hosts)}", tuple(disk() for _ in range(chance.randrange(4)))
            ),
            tags=(f"app-{chance.randrange(number // 2 + 1)}",),
            folder=chance.choice(["", "prod", "test"]),
            networks=(f"vlan-{chance.randrange(20)}",),
            max_downtime_s=chance.choice([None, None, 1800.0, 7200.0]),
            risk=chance.randrange(5),
            priority=chance.randrange(3),
        )
        for each in range(number)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_each_vm_is_in_one_wave_and_groups_stay_together(seed: int) -> None:
    chance = random.Random(seed)
    candidates = estate(chance, chance.randrange(1, 60), hosts=5)
    tool = chance.choice(rates.tools())
    options = WaveOptions(
        window_s=chance.choice([4, 10]) * HOUR,
        together=chance.choice([(), ("app-*",)]),
        max_vms=chance.choice([None, 9]),
    )
    limits = Limits(network=chance.choice([None, 1.25e9]), datastores=chance.choice([{}, {"ds-1": 1e8}]))
    found = waves(candidates, tool, limits, options)
    assert Counter(name for wave in found for name in wave.vms) == Counter(each.vm.name for each in candidates)
    place = {name: wave.number for wave in found for name in wave.vms}
    if options.together:
        for tag in {tag for each in candidates for tag in each.tags}:
            assert len({place[each.vm.name] for each in candidates if tag in each.tags}) == 1
    for wave in found:
        assert wave.fits == (not any("Does not fit" in each or "first copy takes" in each for each in wave.notes))
        assert wave.fits <= (wave.window.high <= options.window_s * (1 + 1e-9))
        assert wave.fits or wave.units == 1
        assert options.max_vms is None or len(wave.vms) <= options.max_vms or wave.units == 1
        assert tuple(each.name for each in wave.downtimes) == wave.vms
        assert wave.kind != "large" or wave.units == 1
    chance.shuffle(candidates)
    assert waves(candidates, tool, limits, options) == found


def test_805_vms_on_34_hosts_take_seconds() -> None:
    candidates = estate(random.Random(1), 805, hosts=34)
    begin = time.process_time()
    found = waves(candidates, MTV, Limits(network=1.25e9), WaveOptions(together=("app-*",)))
    assert sum(len(each.vms) for each in found) == 805
    assert time.process_time() - begin < 5
