"""Output of `hypertwin compare`: two results of one kind, figure by figure."""

from __future__ import annotations

from typing import TypedDict


class Side(TypedDict):
    """One of the two results; None for values missing in its file."""

    file: str
    version: str | None
    date: str | None
    """Creation time of its page, in UTC."""
    command: str | None


class Setting(TypedDict):
    """A setting that differs; None on a side without it."""

    what: str
    a: str | None
    b: str | None


class Change(TypedDict):
    """A figure that differs, in `unit`; half-widths are those of 95 % intervals."""

    at: str
    """The point of a sweep; empty if there is only one."""
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
    """Change in per cent of `a`; None if `a` is zero."""
    beyond: bool | None
    """True if the intervals do not overlap; None if a side has no interval."""


class Verdict(TypedDict):
    """A word that differs, such as a verdict on tolerance."""

    at: str
    of: str
    name: str
    figure: str
    a: str
    b: str


class Missing(TypedDict):
    """An item that only one side has."""

    at: str
    of: str
    name: str
    figure: str
    """Name of the missing figure; empty if the whole entity is missing."""
    only_in: str
    """The side that has it: `a` or `b`."""


class Comparison(TypedDict):
    """Two results of one kind; the largest changes first."""

    version: str
    kind: str
    a: Side
    b: Side
    settings: list[Setting]
    scenario_diff: str | None
    """Lines that differ between the scenarios; None unless both pages contain their scenarios."""
    changes: list[Change]
    verdicts: list[Verdict]
    missing: list[Missing]
    same: int
    """Number of exactly equal figures."""
