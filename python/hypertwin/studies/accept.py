"""Tolerance of a published figure: the column `accept` of `published.csv`."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = r"\d+(?:\.\d+)?"
_FORM = re.compile(
    rf"(?P<sign>±|<=|>=)\s*(?P<number>{_NUMBER})\s*(?P<relative>%?)"
    rf"|(?P<times>x)(?P<factor>{_NUMBER})"
    rf"|(?P<low>{_NUMBER}) (?P<to>to) (?P<high>{_NUMBER})"
)

FORMS = "±3, ±30 %, x3, <= 1.10, >= 5, 1.3 to 1.6"
"""Examples of valid values of the column."""

WIDE_PCT = 25.0
"""Tolerance, in per cent of the figure, above which the source's own spread must be the reason."""

_SLACK = 1e-9
"""Fraction of a figure that rounding can add to its tolerance."""


@dataclass(frozen=True)
class Accept:
    """Tolerance of a figure, including the sides of a published bound or range."""

    sign: str
    """`±`, `x` for a factor either way, `<=` or `>=` for a bound, `to` for a range."""
    tolerance: float = 0.0
    relative: bool = False
    low: float | None = None
    high: float | None = None

    @property
    def is_bound(self) -> bool:
        """True if a bound or a range was published instead of a figure."""
        return self.sign in ("<=", ">=", "to")

    def side(self, twin: float) -> float:
        """Return the side of a bound or range that is nearer to the twin's figure."""
        return min((side for side in (self.low, self.high) if side is not None), key=lambda side: abs(twin - side))

    def has(self, twin: float) -> bool:
        """True if the twin's figure is within a bound or range."""
        return self.is_bound and (self.low is None or twin >= self.low) and (self.high is None or twin <= self.high)

    def above(self, published: float) -> float:
        """Return the tolerance above a figure, in its unit."""
        if self.sign == "x":
            return abs(published) * (self.tolerance - 1)
        return abs(published) * self.tolerance / 100 if self.relative else self.tolerance

    def fits(self, twin: float, published: float) -> bool:
        """True if the twin's figure is within tolerance of a published one, or of the nearer side."""
        above = self.above(published)
        below = published - published / self.tolerance if self.sign == "x" else above
        slack = _SLACK * (abs(published) or 1.0)
        return self.has(twin) or -below - slack <= twin - published <= above + slack

    def text(self, unit: str) -> str:
        """Return the form for a table."""
        if self.sign == "to":
            return f"{self.low:g} to {self.high:g}"
        if self.sign == "x":
            return f"factor {self.tolerance:g}"
        if self.is_bound:
            return f"≤ {self.high:g}" if self.low is None else f"≥ {self.low:g}"
        return f"± {self.tolerance:g} {'%' if self.relative else 'points' if unit == '%' else unit}"


def accept_of(text: str) -> Accept | None:
    """Return the tolerance in a cell, or None if the cell has none of the FORMS."""
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    if found["to"]:
        low, high = float(found["low"]), float(found["high"])
        return Accept("to", low=low, high=high) if low < high else None
    if found["times"]:
        return Accept("x", float(found["factor"])) if float(found["factor"]) >= 1 else None
    number = float(found["number"])
    if found["sign"] == "±":
        return Accept("±", number, bool(found["relative"]))
    return Accept("<=", high=number) if found["sign"] == "<=" else Accept(">=", low=number)
