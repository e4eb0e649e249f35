"""Output of `hypertwin compare`: two results of one kind, figure by figure."""

from __future__ import annotations

from typing import TypedDict


class Side(TypedDict):
    """One of the two results, or None for values missing in its file."""

    file: str
    version: str | None
    date: str | None
    """Creation time of the page, in UTC."""
    command: str | None


class Setting(TypedDict):
    """A setting that differs, or None on a side without it."""

    what: str
    a: str | None
    b: str | None


class Change(TypedDict):
    """A figure that differs, in `unit`. Half-widths are those of 95 % intervals."""

    at: str
    """Point of a sweep, or an empty string if there is only one."""
    of: str
    """Kind of entity of the figure: `group`, `host`, `scheme`."""
    name: str
    figure: str
    unit: str
    a: float
    b: float
    a_ci95: float | None
    b_ci95: float | None
    change: float
    change_pct: float | None
    """Change in per cent of `a`, or None if `a` is zero."""
    beyond: bool | None
    """True if the intervals do not overlap, or None if a side has no interval."""


class Verdict(TypedDict):
    """A word that differs, such as a verdict on tolerance."""

    at: str
    of: str
    name: str
    figure: str
    a: str
    b: str


class Missing(TypedDict):
    """Item that only one side has."""

    at: str
    of: str
    name: str
    figure: str
    """Name of the missing figure, or an empty string if the whole entity is missing."""
    only_in: str
    """Side that has the item: `a` or `b`."""


class Comparison(TypedDict):
    """Comparison of two results of one kind, with the largest changes first."""

    version: str
    kind: str
    a: Side
    b: Side
    settings: list[Setting]
    scenario_diff: str | None
    """Lines that differ between the scenarios, or None unless both pages contain their scenarios."""
    changes: list[Change]
    verdicts: list[Verdict]
    missing: list[Missing]
    same: int
    """Number of exactly equal figures."""
