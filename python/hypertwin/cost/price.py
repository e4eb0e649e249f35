"""A price as one text with number, currency and unit: `350 EUR/core/year`, `6200 EUR/16 cores`, `0.25 EUR/kWh`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hypertwin import naming
from hypertwin.cost.functions import UNITS
from hypertwin.errors import short

Period = Literal["once", "month", "year"]

MAX_AMOUNT = 1e12
"""Maximum number of a price."""
MAX_UNITS = 1e6
"""Maximum number of units that a price is for, 16 in `6200 EUR/16 cores`."""

ALL_UNITS: Mapping[str, str] = {**UNITS, "rack-unit": "rack-units", "kWh": "kWh"}
"""Units of prices, with their plurals."""

_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_HEAD = re.compile(rf"({_NUMBER})\s*([A-Za-z]{{3}})")
_FINITE = re.compile(r"[-+]?\.?(?:inf(?:inity)?|nan)\b", re.IGNORECASE)
_BACKWARDS = re.compile(rf"([A-Za-z]{{3}}|[€$£¥])\s*({_NUMBER})")
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:[ ,.'_]\d{3})+(?:[.,]\d+)?(?=\s*[A-Za-z€$£¥])")
_UNIT = re.compile(r"(?:(\d+(?:\.\d+)?)\s+)?([A-Za-z][A-Za-z -]*)")
_SYMBOLS = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY"}


class PriceError(ValueError):
    """Raised for a text that is no price, or no price of that unit."""

    def __init__(self, code: str, allowed: str, hint: str) -> None:
        """Keep the error code, the allowed values and the advice."""
        super().__init__(allowed)
        self.code, self.allowed, self.hint = code, allowed, hint


@dataclass(frozen=True)
class Form:
    """Allowed units and periods of a price."""

    units: Sequence[str]
    periods: Sequence[Period]
    number: str = "350"
    """Number of the example."""

    @property
    def example(self) -> str:
        """A price of this form."""
        period = "" if self.periods[0] == "once" else f"/{self.periods[0]}"
        return f"{self.number} EUR/{self.units[0]}{period}"

    @property
    def allowed(self) -> str:
        """Allowed texts."""
        per = " or ".join(self.units)
        times = [each for each in self.periods if each != "once"]
        period = f" and {' or '.join(times)}" if times else ""
        return f"number, currency, {per}{f', optionally{period[4:]}' if times and 'once' in self.periods else period}"


@dataclass(frozen=True)
class Price:
    """A price."""

    amount: float
    """Number, in the currency."""
    currency: str
    """Code of three capital letters, such as EUR."""
    per: float
    """Units that the amount buys: 16 in `6200 EUR/16 cores`."""
    unit: str
    """A key of ALL_UNITS."""
    period: Period
    text: str
    """Price as written."""
    path: str
    """Place in the file of prices."""

    def times(self, quantity: float) -> float:
        """Return by how much to multiply the amount for one payment, or for the payments of one year."""
        return quantity / self.per * (12 if self.period == "month" else 1)

    @property
    def unit_text(self) -> str:
        """Currency, unit and period: `EUR/core/year`."""
        of = self.unit if self.per == 1 else f"{self.per:g} {ALL_UNITS[self.unit]}"
        return f"{self.currency}/{of}" + ("" if self.period == "once" else f"/{self.period}")


def number(value: float) -> str:
    """Return a number as text with about four digits: `18,500`, `214`, `0.25`."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def parse(value: object, form: Form, path: str) -> Price:
    """Return the price in a text. Raises PriceError."""
    if not isinstance(value, str):
        written = f"{value:g} {form.example.partition(' ')[2]}" if _is_number(value) else form.example
        raise PriceError("bad-unit", form.allowed, f"write currency and unit, such as {written}")
    head, *rest = (part.strip() for part in value.split("/"))
    amount, currency = _amount(head, value, form)
    if not rest or len(rest) > 2:
        raise PriceError("bad-unit", form.allowed, f"write the unit, such as {form.example}")
    per, unit = _unit(rest[0], form)
    period: Period = "once"
    if len(rest) == 2:
        match rest[1].lower().removesuffix("s"):
            case "month":
                period = "month"
            case "year":
                period = "year"
            case _:
                raise PriceError("bad-unit", form.allowed, f"the period is year or month, such as {form.example}")
    if period not in form.periods:
        if period == "once":
            raise PriceError("bad-unit", form.allowed, f"add the period: {value.strip()}/{form.periods[0]}")
        raise PriceError("bad-unit", form.allowed, f"this is paid once: remove /{rest[1]}")
    return Price(amount, currency, per, unit, period, value.strip(), path)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MAX_AMOUNT


def _amount(head: str, value: str, form: Form) -> tuple[float, str]:
    """Return number and currency of the first part of a price."""
    if _FINITE.match(head):
        raise PriceError("not-finite", form.allowed, "write a finite number")
    found = _HEAD.fullmatch(head)
    if found is None:
        code, hint = _meant(head, value, form)
        raise PriceError(code, form.allowed, hint)
    amount = float(found[1])
    if not 0 <= amount <= MAX_AMOUNT:
        raise PriceError("out-of-range", f"a number from 0 to {MAX_AMOUNT:,.0f}", "write a price that is not negative")
    return amount, found[2].upper()


def _meant(head: str, value: str, form: Form) -> tuple[str, str]:
    """Return the code and advice for a first part that is not a number and a currency."""
    rest = value.partition("/")[2].strip()
    tail = f"/{rest}" if rest else ""
    if symbol := next((each for each in _SYMBOLS if each in head), None):
        digits = re.search(_NUMBER, head)
        if digits and not _GROUPED.search(f"{head} EUR"):
            return "bad-unit", f"write {digits[0]} {_SYMBOLS[symbol]}{tail}"
        return "bad-unit", f"write {_SYMBOLS[symbol]} after the number, such as {form.example}"
    if found := _BACKWARDS.fullmatch(head):
        return "bad-quantity", f"write the number first: {found[2]} {found[1]}{tail}"
    if _GROUPED.match(head):
        return "bad-quantity", "write the number without separators of thousands, such as 18500 or 18500.50"
    if re.fullmatch(_NUMBER, head):
        return "bad-unit", f"write the currency, such as {form.example}"
    return "bad-quantity", f"write {form.example}"


def _unit(text: str, form: Form) -> tuple[float, str]:
    """Return the number of units and the unit of the second part of a price."""
    found = _UNIT.fullmatch(text)
    if found is None:
        raise PriceError("bad-unit", form.allowed, f"write the unit, such as {form.example}")
    names = {name.lower(): unit for unit, plural in ALL_UNITS.items() for name in (unit, plural)}
    written = found[2].strip().lower().replace(" ", "-")
    unit = names.get(written)
    if unit not in form.units:
        near = naming.nearest(written, form.units)
        if near is None or unit is not None:
            fits = " or ".join(form.units)
            raise PriceError("bad-unit", form.allowed, f"{short(text, 40)} does not fit here: the unit is {fits}")
        raise PriceError("bad-unit", form.allowed, f"did you mean {near}?")
    per = float(found[1] or 1)
    if not 0 < per <= MAX_UNITS:
        raise PriceError("out-of-range", f"above 0 and up to {MAX_UNITS:,.0f} units", f"write {form.example}")
    return per, unit or ""
