"""Output of `hypertwin compare`: two results of one kind, figure by figure."""

from __future__ import annotations

from typing import TypedDict


class Side(TypedDict):
    """One of both results; what its file does not say is None."""

    file: str
    version: str | None
    date: str | None
    """When its page was made, in UTC."""
    command: str | None


class Setting(TypedDict):
    """Something that was set differently; None where a side does not set it."""

    what: str
    a: str | None
    b: str | None


class Change(TypedDict):
    """A figure that is not the same on both sides, in `unit`; half-widths are of 95 % intervals."""

    at: str
    """The point of a sweep; empty where there is one only."""
    of: str
    """What kind of thing has it: `group`, `host`, `scheme`."""
    name: str
    figure: str
    unit: str
    a: float
    b: float
    a_ci95: float | None
    b_ci95: float | None
    change: float
    change_pct: float | None
    """In per cent of `a`; None where that is zero."""
    beyond: bool | None
    """True if the intervals do not overlap; None where a side has none."""


class Verdict(TypedDict):
    """A word, such as whether a figure is within tolerance, that is not the same."""

    at: str
    of: str
    name: str
    figure: str
    a: str
    b: str


class Missing(TypedDict):
    """Something that only one of both has."""

    at: str
    of: str
    name: str
    figure: str
    """The figure that is missing; empty where all of the thing is."""
    only_in: str
    """`a` or `b`."""


class Comparison(TypedDict):
    """Two results of one kind; the largest changes first."""

    version: str
    kind: str
    a: Side
    b: Side
    settings: list[Setting]
    scenario_diff: str | None
    """The lines that differ between the scenarios, where both pages hold them; None where that cannot be said."""
    changes: list[Change]
    verdicts: list[Verdict]
    missing: list[Missing]
    same: int
    """Figures that are exactly the same."""
