"""Dates of waves: one wave at a time, each within one maintenance window.

Windows repeat every week. Windows that touch are one, so `mon-fri 00:00-24:00` is one window of five days. No window
and no first copy of a warm wave overlaps a freeze. Several short waves can share a window, one after another.

Each wave reserves the slow end of its time. The end of all waves is an interval, because with shorter times more waves
share a window. If a wave fits no window, there is no end. Times are local, without daylight saving: on the days of the
change, windows are an hour off.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import NoReturn

from hypertwin.errors import Argument, fail
from hypertwin.plan.moving.rates import ZERO, Estimate

MAX_DAYS = 3_653
"""Maximum number of days from the start to the last wave."""

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

DAY = timedelta(days=1)

_WINDOW = re.compile(r"(?:([a-z,-]+)\s+)?(\d{1,2}):(\d{2})-(\d{1,2}):(\d{2})")


@dataclass(frozen=True)
class Window:
    """Maintenance window that repeats every week."""

    days: frozenset[int]
    """Days on which it begins, 0 for Monday."""
    start: timedelta
    """Begin, from midnight."""
    end: timedelta
    """End, from midnight of the same day. It is over 24 hours if the window ends on the next day."""

    @staticmethod
    def parse(text: str, option: str = "window") -> Window:
        """Return the window of a text such as `20:00-06:00` or `sat,sun 08:00-18:00`. Raises ScenarioError."""
        found = _WINDOW.fullmatch(text.strip().lower())
        days = _days(found[1]) if found else None
        if not found or days is None:
            _rejected(option, text)
        from_hour, from_minute, to_hour, to_minute = (int(each) for each in found.groups()[1:])
        start = timedelta(hours=from_hour, minutes=from_minute)
        end = timedelta(hours=to_hour, minutes=to_minute)
        if from_minute > 59 or to_minute > 59 or start >= DAY or end > DAY or start == end:
            _rejected(option, text)
        return Window(days, start, end if end > start else end + DAY)

    def on(self, day: date) -> tuple[datetime, datetime] | None:
        """Return the window that begins on a day, or None."""
        if day.weekday() not in self.days:
            return None
        midnight = datetime.combine(day, time())
        return midnight + self.start, midnight + self.end


@dataclass(frozen=True)
class Freeze:
    """Days without any move."""

    first: date
    last: date

    @staticmethod
    def parse(text: str, option: str = "freeze") -> Freeze:
        """Return the freeze of a text such as `2026-12-20..2027-01-06`, or of one day. Raises ScenarioError."""
        first, dots, last = text.strip().partition("..")
        try:
            found = Freeze(date.fromisoformat(first), date.fromisoformat(last if dots else first))
        except ValueError:
            hint = "Write days as YEAR-MONTH-DAY."
            fail("one-of", "", text, "2026-12-20..2027-01-06, or one day", hint, Argument(option, text))
        if found.last < found.first:
            fail("out-of-range", "", text, "the first day before the last", "Swap the days.", Argument(option, text))
        return found


@dataclass(frozen=True)
class Calendar:
    """When waves can move."""

    start: datetime
    windows: tuple[Window, ...]
    freezes: tuple[Freeze, ...] = ()

    def occurrences(self) -> Iterator[tuple[datetime, datetime]]:
        """Yield the windows from the day before the start, for `MAX_DAYS`, without freezes."""
        return _merged(_without(self.freezes, self._weekly()))

    @property
    def lengths_s(self) -> tuple[float, ...]:
        """Lengths of windows in seconds, the longest first, without freezes, and at most a week."""
        week = timedelta(days=7)
        monday = datetime.combine(date(2024, 1, 1), time())
        found = list(_merged(Calendar(monday, self.windows)._weekly(days=15)))
        whole = [each for each in found if monday <= each[0] < monday + week] or found  # a window without end
        return tuple(sorted({min(end - begin, week).total_seconds() for begin, end in whole}, reverse=True))

    def _weekly(self, days: int = MAX_DAYS) -> Iterator[tuple[datetime, datetime]]:
        """Yield all windows in order of their begin, from the day before the start."""
        first = self.start.date() - DAY
        for number in range(days + 1):
            found = (window.on(first + number * DAY) for window in self.windows)
            yield from sorted(each for each in found if each)


@dataclass(frozen=True)
class Needs:
    """Time that a wave needs."""

    name: str
    window: Estimate
    """Seconds within one window."""
    before: Estimate = ZERO
    """Seconds of the first copy, which ends when the window's part begins."""


@dataclass(frozen=True)
class Appointment:
    """Dates of a wave."""

    name: str
    begin: datetime | None
    """Begin in a window, or None if the wave fits no window."""
    copy_begin: datetime | None
    """Begin of the first copy of a warm wave, equal to `begin` for a cold wave."""
    earliest_end: datetime | None
    end: datetime | None
    """Expected end."""
    latest_end: datetime | None
    """End at the slow end of its time, until which its window is reserved."""
    note: str = ""
    """Reason why the wave fits no window, or an empty string."""


@dataclass(frozen=True)
class Dates:
    """Dates of all waves."""

    appointments: tuple[Appointment, ...]
    earliest_end: datetime | None
    """End if all waves take the fast end of their times, or None without waves, and if a wave fits no window."""
    end: datetime | None
    latest_end: datetime | None
    unplaced: tuple[str, ...]
    """Waves that fit no window."""


def dates(waves: Sequence[Needs], calendar: Calendar) -> Dates:
    """Return the dates of waves, in their order."""
    windows = tuple(calendar.occurrences())
    slow = _ends(waves, calendar, windows, "high")
    found = tuple(_appointment(wave, *at, calendar) for wave, at in zip(waves, slow, strict=True))
    unplaced = tuple(each.name for each in found if each.begin is None)
    timed = () if unplaced else waves
    ends = (_ends(timed, calendar, windows, end) for end in ("low", "value", "high"))
    earliest, expected, latest = (max((at for _, at in each if at), default=None) for each in ends)
    return Dates(found, earliest, expected, latest, unplaced)


def _appointment(wave: Needs, begin: datetime | None, latest: datetime | None, calendar: Calendar) -> Appointment:
    if begin is None:
        return Appointment(wave.name, None, None, None, None, None, _reason(wave, calendar))
    earliest, expected = (begin + timedelta(seconds=each) for each in (wave.window.low, wave.window.value))
    before = begin - timedelta(seconds=wave.before.high)
    return Appointment(wave.name, begin, before, earliest, expected, latest)


Occurrences = Sequence[tuple[datetime, datetime]]
"""Windows with dates, in order."""


def _ends(
    waves: Sequence[Needs], calendar: Calendar, windows: Occurrences, end: str
) -> list[tuple[datetime | None, datetime | None]]:
    """Return begin and end of each wave if all take one end of their times, or None for a wave that fits no window."""
    free = calendar.start
    found: list[tuple[datetime | None, datetime | None]] = []
    for wave in waves:
        window, before = (timedelta(seconds=getattr(each, end)) for each in (wave.window, wave.before))
        begin = _first(calendar, windows, free, window, before)
        found.append((begin, None if begin is None else begin + window))
        free = free if begin is None else begin + window
    return found


def _first(
    calendar: Calendar, windows: Occurrences, free: datetime, window: timedelta, before: timedelta
) -> datetime | None:
    """Return the first begin in a window, with a copy before it that overlaps nothing else."""
    for opens, closes in windows[bisect_left(windows, free, key=lambda each: each[1]) :]:
        begin = _after_freezes(calendar.freezes, max(opens, free + before), before)
        if begin + window <= closes:
            return begin
    return None


def _after_freezes(freezes: Sequence[Freeze], begin: datetime, before: timedelta) -> datetime:
    """Return the first time from `begin` on whose copy before it overlaps no freeze."""
    for freeze in sorted(freezes, key=lambda each: each.first):
        first, last = datetime.combine(freeze.first, time()), datetime.combine(freeze.last + DAY, time())
        if first < begin and begin - before < last:
            begin = last + before
    return begin


def _without(
    freezes: Sequence[Freeze], windows: Iterator[tuple[datetime, datetime]]
) -> Iterator[tuple[datetime, datetime]]:
    """Yield the parts of windows outside of freezes."""
    for window in windows:
        parts = [window]
        for freeze in freezes:
            first, last = datetime.combine(freeze.first, time()), datetime.combine(freeze.last + DAY, time())
            pairs = [pair for begin, end in parts for pair in ((begin, min(end, first)), (max(begin, last), end))]
            parts = [(begin, end) for begin, end in pairs if begin < end]
        yield from sorted(parts)


def _merged(windows: Iterator[tuple[datetime, datetime]]) -> Iterator[tuple[datetime, datetime]]:
    """Yield windows in order, with those that touch as one."""
    last: tuple[datetime, datetime] | None = None
    for begin, end in windows:
        if last is not None and begin <= last[1]:
            last = (last[0], max(last[1], end))
            continue
        if last is not None:
            yield last
        last = (begin, end)
    if last is not None:
        yield last


def _reason(wave: Needs, calendar: Calendar) -> str:
    needed = wave.window.high / 3600
    longest = max(calendar.lengths_s, default=0.0) / 3600
    if needed > longest:
        return f"Does not fit: needs up to {needed:.1f} h, and the longest window has {longest:.1f} h."
    return f"Does not fit into any window of {MAX_DAYS // 365} years."


def _days(text: str | None) -> frozenset[int] | None:
    """Return the days of `sat,sun` or `mon-fri`, all days without a text, or None for other texts."""
    if text is None:
        return frozenset(range(7))
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if first not in DAYS or (dash and last not in DAYS):
            return None
        at, to = DAYS.index(first), DAYS.index(last if dash else first)
        found |= {day % 7 for day in range(at, (to if to >= at else to + 7) + 1)}
    return frozenset(found)


def _rejected(option: str, text: str) -> NoReturn:
    hint = "Name the days on which the window begins, and its times. Without days, it is on every day."
    fail("one-of", "", text, "20:00-06:00, mon-fri 20:00-06:00, sat,sun 00:00-24:00", hint, Argument(option, text))
