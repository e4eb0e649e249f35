"""Inputs that change which candidate is cheapest, and their values at which it does.

Costs are linear in every price. With several presets for a licence, they are the minimum of linear functions. Each
break-even changes one input in all candidates that depend on it, and keeps all other inputs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from hypertwin.cost.price import number
from hypertwin.cost.years import MAX_YEARS, weight
from hypertwin.documents.cost import BreakEven, Costs, Line, Sensitivity

MAX_FACTOR = 10.0
"""Maximum factor between an input and its break-even that `what_would_change` names."""
MAX_RATE = 1.0
"""Maximum discount rate, as a fraction."""

_RATES = 100
"""Steps of the search for a discount rate."""
_WHOLE = ("years", "hosts")
"""Units of inputs that are integers. Their break-even is the first value at which the ranking differs."""
_NEGLIGIBLE = 1e-9
"""Smallest effect of an input, as a fraction of the costs. Smaller ones are rounding errors."""


def compare(costs: Mapping[str, Costs], other_hosts: Mapping[str, Mapping[int, Costs]] | None = None) -> Sensitivity:
    """Return the ranking of candidates by present value, and the inputs that change it.

    `other_hosts` has the costs of a candidate with other numbers of hosts, such as the low and the high one.
    """
    present = {name: each["discounted"] or 0.0 for name, each in costs.items()}
    ranking = sorted(present, key=lambda name: (present[name], name))
    missing = _missing(costs)
    known = not missing and all(each["discounted"] is not None for each in costs.values())
    if not ranking or not known:
        text = "No candidates." if not ranking else f"Unknown: the ranking needs {_needed(missing, costs)}."
        return Sensitivity(cheapest=None, ranking=ranking, known=False, rows=[], what_would_change=text)
    first = ranking[0]
    rows: list[BreakEven] = []
    for other in ranking[1:]:
        pair = _Pair(first, costs[first], other, costs[other])
        rows += [*pair.prices(), *pair.energy(), *pair.years(), *pair.rate()]
        rows += pair.hosts(other_hosts or {})
    rows.sort(key=lambda row: (row["factor"] or math.inf, row["input"], row["cheaper"]))
    if len(ranking) > 1 and present[first] == present[ranking[1]]:
        text = f"{first} and {ranking[1]} cost the same."
    else:
        text = _text(rows, costs, first)
    return Sensitivity(cheapest=first, ranking=ranking, known=True, rows=rows, what_would_change=text)


def _missing(costs: Mapping[str, Costs]) -> dict[str, list[Line]]:
    """Return lines without an amount by candidate. Lines that all candidates have in equal number cancel out."""
    lines = {name: [line for line in each["lines"] if line["total"] is None] for name, each in costs.items()}
    keys = [sorted((line["label"], line["unit"], line["quantity"] or 0.0) for line in each) for each in lines.values()]
    sure = all(line["quantity"] is not None for each in lines.values() for line in each)
    return {} if sure and all(key == keys[0] for key in keys) else {name: each for name, each in lines.items() if each}


def _needed(missing: Mapping[str, Sequence[Line]], costs: Mapping[str, Costs]) -> str:
    """Return the missing prices and quantities as text."""
    found = {
        f"{'a price' if line['price'] is None else 'the quantity'} for {line['label']}": None
        for each in missing.values()
        for line in each
    }
    if not found:
        return "prices"
    shown = list(found)[:4]
    return ", ".join(shown) + (f" and {len(found) - len(shown)} others" if len(found) > len(shown) else "")


def _text(rows: Sequence[BreakEven], costs: Mapping[str, Costs], first: str) -> str:
    """Return the nearest break-even in words."""
    if len(costs) == 1:
        return f"{first} is the only candidate."
    if rows and rows[0]["factor"] is not None and rows[0]["factor"] <= MAX_FACTOR:
        return f"{words(rows[0])}."
    return f"{first} stays cheapest: no single input within a factor of {MAX_FACTOR:g} changes that."


def words(row: BreakEven) -> str:
    """Return a break-even as text, without a full stop."""
    unit = {"": "", "%": "%"}.get(row["unit"], f" {row['unit']}")
    value = f"{row['direction']} {number(row['break_even'])}{unit} (now {number(row['now'])})"
    if row["unit"] in _WHOLE:
        value = f"{number(row['break_even'])} (now {number(row['now'])})"
    return f"{row['input']} {value} makes {row['cheaper']} cheaper than {row['than']}"


class _Pair:
    """The cheapest candidate and another one."""

    def __init__(self, first: str, cheapest: Costs, other: str, costs: Costs) -> None:
        self.first, self.other = first, other
        self.of = {first: cheapest, other: costs}
        self.negligible = _NEGLIGIBLE * max(abs(_present(each)) for each in self.of.values())

    def gap(self, *, years: int | None = None, rate: float | None = None) -> float:
        """Return by how much the other candidate costs more, with these years and rate."""
        return _present(self.of[self.other], years, rate) - _present(self.of[self.first], years, rate)

    def row(
        self,
        name: str,
        unit: str,
        now: float,
        break_even: float,
        *,
        path: str | None = None,
        in_range: bool | None = None,
        rises: bool = False,
    ) -> BreakEven:
        """Return a row of the result. `rises` is true if more of the input makes the other candidate more expensive."""
        low, high = sorted((now, break_even))
        return BreakEven(
            input=name,
            path=path,
            unit=unit,
            now=now,
            break_even=break_even,
            direction="below" if break_even < now or (break_even == now and rises) else "above",
            cheaper=self.other,
            than=self.first,
            factor=high / low if low > 0 else None,
            in_range=in_range,
        )

    def prices(self) -> Iterator[BreakEven]:
        """Yield the break-even of each price."""
        inputs: dict[str, Line] = {}
        for costs in self.of.values():
            for line in _all_lines(costs):
                if line["input"] is not None and line["amount"] is not None:
                    inputs.setdefault(line["input"], line)
        for path, line in inputs.items():
            now = line["amount"] or 0.0
            gap = self._gap_by_price(path)
            found = _nearest_root(gap, self._bends(path), now, self.negligible)
            if found is not None:
                label = line["label"]
                label = label if line["kind"] == "licence" else f"{label[:1].lower()}{label[1:]}"
                yield self.row(
                    f"Price of {label}", line["price_unit"] or "", now, found, path=path, rises=gap(2 * now) > 0
                )

    def _gap_by_price(self, path: str) -> Callable[[float], float]:
        return lambda value: (
            _present(self.of[self.other], price=(path, value)) - _present(self.of[self.first], price=(path, value))
        )

    def _bends(self, path: str) -> list[float]:
        """Return the prices at which another preset of a licence becomes the cheaper one."""
        found = []
        for costs in self.of.values():
            for options in costs["alternatives"].values():
                parts = [_linear(costs, option, path) for option in options]
                for index, (fixed, slope) in enumerate(parts):
                    for other_fixed, other_slope in parts[index + 1 :]:
                        if slope != other_slope:
                            found.append((other_fixed - fixed) / (slope - other_slope))
        return sorted(value for value in found if value > 0)

    def energy(self) -> Iterator[BreakEven]:
        """Yield the energy of one host of each type at which both cost the same.

        The energy changes by the same factor in both candidates, if both have hosts of the type.
        """
        gap = self.gap()
        for name in dict.fromkeys(type_ for costs in self.of.values() for type_ in costs["energy_kwh_per_host"]):
            change = _cost_of_energy(self.of[self.other], name) - _cost_of_energy(self.of[self.first], name)
            if abs(change) <= self.negligible:
                continue
            known = next(of[name] for costs in self.of.values() if name in (of := costs["energy_kwh_per_host"]))
            found = known["mid"] * (1 - gap / change)
            if found > 0:
                inside = known["low"] <= found <= known["high"]
                yield self.row(
                    f"Energy of host {name}", "kWh/host/year", known["mid"], found, in_range=inside, rises=change > 0
                )

    def years(self) -> Iterator[BreakEven]:
        """Yield the number of years, nearest to the present one, that makes the other candidate cheaper."""
        now = self.of[self.first]["years"]
        for years in sorted(range(1, MAX_YEARS + 1), key=lambda each: (max(each / now, now / each), each)):
            if self.gap(years=years) < 0:
                yield self.row("Number of years", "years", now, years)
                return

    def rate(self) -> Iterator[BreakEven]:
        """Yield the discount rate, nearest to the present one, at which both cost the same."""
        now = (self.of[self.first]["discount_rate_pct"] or 0.0) / 100
        grid = sorted({now, *(step * MAX_RATE / _RATES for step in range(_RATES + 1))})

        def gap(rate: float) -> float:
            return self.gap(rate=rate)

        roots = [_bisect(gap, low, high) for low, high in itertools.pairwise(grid) if gap(low) * gap(high) < 0]
        if roots:
            found = min(roots, key=lambda rate: abs(rate - now))
            yield self.row("Discount rate", "%", 100 * now, 100 * found)

    def hosts(self, others: Mapping[str, Mapping[int, Costs]]) -> Iterator[BreakEven]:
        """Yield the number of hosts of either candidate, nearest to the present one, that changes the ranking.

        Other numbers follow from another speed. If both candidates buy hosts of a type, both numbers change.
        """
        for name, beside in ((self.first, self.other), (self.other, self.first)):
            now = self.of[name]["hosts"]
            for count in sorted(others.get(name, {}), key=lambda each: abs(each - now)):
                changed = {**self.of, name: others[name][count]}
                if _bought(self.of[name]) & _bought(self.of[beside]):
                    changed[beside] = self._alike(others.get(beside, {}), beside, more=count > now)
                if _present(changed[self.other]) < _present(changed[self.first]):
                    yield self.row(f"Number of hosts of {name}", "hosts", now, count, in_range=True)
                    break

    def _alike(self, others: Mapping[int, Costs], name: str, *, more: bool) -> Costs:
        """Return the costs of a candidate with more hosts, or with fewer, or as it is without such costs."""
        now = self.of[name]["hosts"]
        counts = [count for count in others if (count > now if more else count < now)]
        return others[max(counts) if more else min(counts)] if counts else self.of[name]


def _bought(costs: Costs) -> set[str]:
    """Return the labels of the purchases of hosts."""
    return {line["label"] for line in costs["lines"] if line["kind"] == "purchase"}


def _cost_of_energy(costs: Costs, name: str) -> float:
    """Return the present value of the energy of all hosts of a type."""
    whole, of = costs["energy_kwh_per_year"], costs["energy_kwh_per_host"].get(name)
    if whole is None or of is None or not whole["mid"]:
        return 0.0
    cost = math.fsum(line["discounted"] or 0.0 for line in costs["lines"] if line["kind"] == "power")
    return cost * of["mid"] * costs["hosts_by_type"][name] / whole["mid"]


def _all_lines(costs: Costs) -> Iterator[Line]:
    """Yield lines, and those of the presets that are not the cheaper ones."""
    yield from costs["lines"]
    for options in costs["alternatives"].values():
        for option in options:
            yield from option


def _present(
    costs: Costs, years: int | None = None, rate: float | None = None, price: tuple[str, float] | None = None
) -> float:
    """Return the present value with changed years, rate or price. The cheaper preset of a licence counts."""
    several = costs["alternatives"]
    single = [line for line in costs["lines"] if line["entry"] not in several]

    def of(lines: Sequence[Line]) -> float:
        return math.fsum(_amount(costs, line, years, rate, price) for line in lines)

    return math.fsum([of(single), *(min(of(option) for option in options) for options in several.values())])


def _amount(costs: Costs, line: Line, years: int | None, rate: float | None, price: tuple[str, float] | None) -> float:
    """Return the present value of a line."""
    if line["times"] is None or line["amount"] is None:
        return 0.0
    value = price[1] if price and line["input"] == price[0] else line["amount"]
    own_rate = (costs["discount_rate_pct"] or 0.0) / 100
    return value * line["times"] * weight(line["paid"], years or costs["years"], own_rate if rate is None else rate)


def _linear(costs: Costs, lines: Sequence[Line], path: str) -> tuple[float, float]:
    """Return the present value of lines as a constant and a slope by one price."""
    at_zero, at_one = (
        math.fsum(_amount(costs, line, None, None, (path, value)) for line in lines) for value in (0.0, 1.0)
    )
    return at_zero, at_one - at_zero


def _nearest_root(gap: Callable[[float], float], bends: Sequence[float], now: float, negligible: float) -> float | None:
    """Return the root of a piecewise linear function above 0, the nearest one to `now` by factor.

    `bends` are the ends of its linear parts. A part that changes by at most `negligible` is constant.
    """
    edges = [0.0, *bends, max([now, 1.0, *bends]) * 2]
    roots = []
    for index, (low, high) in enumerate(itertools.pairwise(edges)):
        at_low, at_high = gap(low), gap(high)
        if abs(at_high - at_low) <= negligible:
            continue
        root = low - at_low * (high - low) / (at_high - at_low)
        last = index == len(edges) - 2
        if root > 0 and low <= root and (root <= high or last):
            roots.append(root)
    if not roots:
        return None
    return min(roots, key=lambda root: max(root / now, now / root) if now > 0 else root)


def _bisect(gap: Callable[[float], float], low: float, high: float) -> float:
    """Return the root between two values of different sign."""
    sign = gap(low)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gap(middle) * sign > 0 else (low, middle)
    return (low + high) / 2
