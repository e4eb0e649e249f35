"""Dates of waves: windows, freezes, and what no calendar may do."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta

import pytest

from hypertwin.errors import ScenarioError
from hypertwin.plan.moving.calendar import DAY, Calendar, Dates, Freeze, Needs, Window, dates
from hypertwin.plan.moving.rates import Estimate

HOUR = 3600.0
MONDAY = datetime(2027, 1, 4)


def needs(name: str, low: float, value: float, high: float, before: float = 0) -> Needs:
    return Needs(
        name, Estimate(low * HOUR, value * HOUR, high * HOUR), Estimate(before * HOUR, before * HOUR, before * HOUR)
    )


def planned(*waves: Needs, windows: str = "20:00-06:00", freezes: str = "", start: datetime = MONDAY) -> Dates:
    made = tuple(map(Window.parse, windows.split("; ")))
    return dates(waves, Calendar(start, made, tuple(map(Freeze.parse, freezes.split()))))


def test_waves_share_a_window_while_their_slow_ends_fit() -> None:
    found = planned(*(needs(str(each), 2, 3, 4) for each in range(3)), start=MONDAY + timedelta(hours=12))
    assert [each.begin for each in found.appointments] == [
        datetime(2027, 1, 4, 20),
        datetime(2027, 1, 5, 0),
        datetime(2027, 1, 5, 20),  # 2 of 10 hours are left
    ]
    first = found.appointments[0]
    assert first.earliest_end == datetime(2027, 1, 4, 22)
    assert first.end == datetime(2027, 1, 4, 23)
    assert first.latest_end == datetime(2027, 1, 5)
    assert found.latest_end == datetime(2027, 1, 6)
    assert found.end == datetime(2027, 1, 5, 5)  # with 3 hours each, all three fit the first window
    assert found.earliest_end == datetime(2027, 1, 5, 2)
    assert found.unplaced == ()


def test_a_window_that_has_begun_is_used_from_the_start_on() -> None:
    found = planned(needs("a", 1, 1, 1), start=datetime(2027, 1, 5, 3, 30))
    assert found.appointments[0].begin == datetime(2027, 1, 5, 3, 30)
    late = planned(needs("a", 3, 3, 3), start=datetime(2027, 1, 5, 3, 30))
    assert late.appointments[0].begin == datetime(2027, 1, 5, 20)


def test_a_wave_that_exactly_fills_a_window_fits_and_a_longer_one_is_said() -> None:
    found = planned(needs("full", 9, 9, 10), needs("long", 1, 9, 10.1), needs("next", 1, 1, 1))
    assert [each.begin for each in found.appointments] == [datetime(2027, 1, 4, 20), None, datetime(2027, 1, 5, 20)]
    assert found.unplaced == ("long",)
    assert found.appointments[1].note == "Does not fit: needs up to 10.1 h, and the longest window has 10.0 h."
    assert (found.earliest_end, found.end, found.latest_end) == (None, None, None)


def test_no_waves_have_no_end() -> None:
    found = planned()
    assert (found.appointments, found.earliest_end, found.latest_end) == ((), None, None)
    never = planned(needs("a", 99, 99, 99))
    assert (never.latest_end, never.unplaced) == (None, ("a",))


def test_a_freeze_moves_waves_behind_it_and_cuts_windows() -> None:
    noon, freeze = MONDAY + timedelta(hours=12), "2027-01-05..2027-01-07"
    short, long = (planned(needs("a", *[each] * 3), freezes=freeze, start=noon) for each in (4, 5))
    assert short.appointments[0].begin == datetime(2027, 1, 4, 20)
    assert long.appointments[0].begin == datetime(2027, 1, 8)  # in the window that began on the last day of the freeze


def test_the_first_copy_of_a_warm_wave_comes_before_its_window_and_after_a_freeze() -> None:
    found = planned(needs("a", 1, 1, 1), needs("b", 1, 1, 1, before=30))
    one, two = found.appointments
    assert two.begin == datetime(2027, 1, 5, 20)
    assert two.copy_begin == two.begin - timedelta(hours=30)
    assert one.latest_end is not None
    assert two.copy_begin is None or two.copy_begin < datetime(2027, 1, 5)
    frozen = planned(needs("b", 1, 1, 1, before=30), freezes="2027-01-05")
    assert frozen.appointments[0].begin == datetime(2027, 1, 7, 20)


def test_a_first_copy_begins_early_enough_for_its_slow_end() -> None:
    wave = Needs("a", Estimate(HOUR, HOUR, HOUR), Estimate(2 * HOUR, 4 * HOUR, 8 * HOUR))
    (one,) = planned(wave, start=MONDAY + timedelta(hours=6)).appointments
    assert (one.copy_begin, one.begin) == (datetime(2027, 1, 4, 12), datetime(2027, 1, 4, 20))
    (late,) = planned(wave, start=MONDAY + timedelta(hours=15)).appointments
    assert (late.copy_begin, late.begin) == (datetime(2027, 1, 4, 15), datetime(2027, 1, 4, 23))


def test_each_length_of_windows_counts_once() -> None:
    windows = ("sun 20:00-02:00", "sat 08:00-12:00", "mon,wed 20:00-24:00", "tue 00:00-02:00")
    assert Calendar(MONDAY, tuple(map(Window.parse, windows))).lengths_s == (6 * HOUR, 4 * HOUR)


def test_windows_that_touch_are_one() -> None:
    always = planned(needs("a", 40, 40, 40), windows="00:00-24:00")
    assert always.appointments[0].latest_end == MONDAY + timedelta(hours=40)
    weekend = planned(needs("a", 60, 60, 60), windows="fri 18:00-24:00; sat,sun 00:00-24:00; mon 00:00-06:00")
    assert weekend.appointments[0].begin == datetime(2027, 1, 8, 18)
    calendar = Calendar(MONDAY, tuple(map(Window.parse, ("fri 18:00-24:00", "sat-sun 00:00-24:00", "mon 00:00-06:00"))))
    assert calendar.lengths_s == (60 * HOUR,)
    assert Calendar(MONDAY, (Window.parse("00:00-24:00"),)).lengths_s == (7 * 24 * HOUR,)
    assert Calendar(MONDAY, ()).lengths_s == ()


@pytest.mark.parametrize(
    ("text", "days", "start", "end"),
    [
        ("20:00-06:00", range(7), 20, 30),
        ("mon-fri 08:00-18:00", range(5), 8, 18),
        ("Sat,Sun 00:00-24:00", (5, 6), 0, 24),
        ("sat-mon 1:00-2:00", (5, 6, 0), 1, 2),
    ],
)
def test_windows_are_written_as_days_and_times(text: str, days: range, start: int, end: int) -> None:
    assert Window.parse(text) == Window(frozenset(days), timedelta(hours=start), timedelta(hours=end))


@pytest.mark.parametrize(
    "text",
    ["", "20-06", "25:00-06:00", "20:00-20:00", "20:60-21:00", "xyz 20:00-21:00", "mon- 20:00-21:00", "00:00-24:01"],
)
def test_other_windows_are_rejected_with_an_example(text: str) -> None:
    with pytest.raises(ScenarioError, match="20:00-06:00"):
        Window.parse(text)


@pytest.mark.parametrize("text", ["", "2026-13-01", "2027-01-06..2026-12-20", "christmas", "2026-12-20.."])
def test_other_freezes_are_rejected(text: str) -> None:
    with pytest.raises(ScenarioError):
        Freeze.parse(text)


def test_a_freeze_is_a_day_or_a_range() -> None:
    assert Freeze.parse("2026-12-24") == Freeze(date(2026, 12, 24), date(2026, 12, 24))
    assert Freeze.parse("2026-12-20..2027-01-06").last == date(2027, 1, 6)


@pytest.mark.parametrize("seed", range(60))
def test_no_window_is_overrun_and_waves_keep_their_order(seed: int) -> None:
    chance = random.Random(seed)
    windows = tuple(
        Window(
            frozenset(chance.sample(range(7), chance.randrange(1, 8))),
            timedelta(hours=(begin := chance.randrange(24))),
            timedelta(hours=begin + chance.randrange(1, 25)),
        )
        for _ in range(chance.randrange(1, 3))
    )
    begins = [date(2027, 1, 1) + chance.randrange(60) * DAY for _ in range(chance.randrange(4))]
    calendar = Calendar(
        datetime(2027, 1, 1, chance.randrange(24)),
        windows,
        tuple(Freeze(each, each + chance.randrange(9) * DAY) for each in begins),
    )
    highs = [chance.uniform(0.1, 14) for _ in range(20)]
    waves = [needs(str(n), high / 2, high / 1.2, high, chance.choice([0, 0, 20])) for n, high in enumerate(highs)]
    found = dates(waves, calendar)
    free = calendar.start
    for wave, each in zip(waves, found.appointments, strict=True):
        if each.begin is None:
            assert wave.name in found.unplaced
            continue
        assert each.latest_end is not None
        assert each.copy_begin is not None
        assert free <= each.copy_begin <= each.begin
        for minute in range(int((each.latest_end - each.begin).total_seconds() // 60)):
            now = each.begin + timedelta(minutes=minute)
            inside = any(
                opens <= now < closes
                for window in windows
                for back in (0, 1)
                if (on := window.on(now.date() - back * DAY))
                for opens, closes in (on,)
            )
            assert inside
        for freeze in calendar.freezes:
            assert each.latest_end <= datetime.combine(freeze.first, datetime.min.time()) or each.copy_begin >= (
                datetime.combine(freeze.last + DAY, datetime.min.time())
            )
        free = each.latest_end
    assert (found.latest_end is None) == bool(found.unplaced)
    if found.latest_end:
        assert found.earliest_end is not None
        assert found.end is not None
        assert found.earliest_end <= found.end <= found.latest_end == free
