"""Lines of costs over years, not discounted and discounted."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from hypertwin import naming
from hypertwin.cost import rules
from hypertwin.cost.estate import Estate, Hosts
from hypertwin.cost.price import Price, number
from hypertwin.cost.prices import HostPrices, Licence, Option, Prices
from hypertwin.documents.cost import Costs, Kind, Line, Paid, Range
from hypertwin.errors import fail

MAX_YEARS = 30

CONVENTION = (
    "Purchases are paid at the start of the first year, support, licences and rack space at the start of each year. "
    "Energy is discounted as if it were paid in the middle of each year, and resale at the end of the last year."
)
"""Times of payments, as text."""

_TYPED = "as in the file of prices"


class Energy(NamedTuple):
    """Energy of the servers in kWh per year, without cooling."""

    low: float
    mid: float
    high: float


def payments(paid: Paid, years: int) -> list[int]:
    """Return the number of payments in each year."""
    if paid == "once":
        return [1, *[0] * (years - 1)]
    return [*[0] * (years - 1), 1] if paid == "at-end" else [1] * years


def weight(paid: Paid, years: int, rate: float) -> float:
    """Return the present value of payments of 1 at the start of the first year. `rate` is a fraction per year."""
    if paid == "once":
        return 1.0
    if paid == "at-end":
        return (1 + rate) ** -years
    start = 0.5 if paid == "through-year" else 0.0
    return math.fsum((1 + rate) ** -(year + start) for year in range(years))


def lines(
    estate: Estate,
    prices: Prices,
    years: int,
    energy_kwh_per_year: tuple[float, float, float] | None,
    failures: int,
    *,
    bought: Collection[str] | None = None,
    energy_of_types: Mapping[str, tuple[float, float, float]] | None = None,
) -> Costs:
    """Return the costs of an estate.

    `energy_kwh_per_year` is the energy of all servers without cooling: low, expected and high, or None if unknown.
    `energy_of_types` divides it by host type. An estate with one type needs no division.
    `failures` is the number of host failures to tolerate. `bought` has the names of host types to purchase, or None
    for all. Raises ScenarioError for a number of years outside 1 to MAX_YEARS.
    """
    if not 1 <= years <= MAX_YEARS:
        fail("out-of-range", "years", years, f"an integer, 1 to {MAX_YEARS}", "choose a value in that range")
    made = _Lines(years, prices.discount_rate or 0.0)
    energy = Energy(*energy_kwh_per_year) if energy_kwh_per_year else None
    found = list(_host_lines(made, estate, prices, bought))
    alternatives: dict[str, list[list[Line]]] = {}
    notes = []
    for licence in prices.licences:
        options = [_option_lines(made, licence, option, estate, failures) for option in licence.options]
        chosen, note = _cheapest(licence, options, prices.currency)
        found += options[chosen]
        notes += note
        if len(priced := [option for option in options if _known(option)]) > 1:
            alternatives[licence.path] = priced
    found += [_energy_line(made, energy, prices), _rack_line(made, estate, prices)]
    notes += _notes(found, estate, prices)
    amounts = [line["per_year"] for line in found if line["per_year"] is not None]
    counts = _counts(estate)
    if energy_of_types is None:
        energy_of_types = dict.fromkeys(counts, energy) if energy and len(counts) == 1 else {}
    return Costs(
        currency=prices.currency,
        years=years,
        discount_rate_pct=None if prices.discount_rate is None else 100 * prices.discount_rate,
        hosts=estate.host_count,
        hosts_by_type=counts,
        lines=found,
        alternatives=alternatives,
        unpriced=[line["label"] for line in found if line["total"] is None],
        per_year=[math.fsum(each) for each in zip(*amounts, strict=True)] or [0.0] * years,
        total=_sum(line["total"] for line in found),
        discounted=_sum(line["discounted"] for line in found),
        energy_kwh_per_year=None if energy is None else _range(energy),
        energy_kwh_per_host={
            name: _range([each / counts[name] for each in of]) for name, of in energy_of_types.items() if name in counts
        },
        co2_kg=_co2(energy, prices, years),
        notes=notes,
    )


class _Lines(NamedTuple):
    """Maker of lines for this number of years."""

    years: int
    rate: float

    def line(
        self,
        label: str,
        kind: Kind,
        quantity: float | None,
        unit: str,
        price: Price | None,
        *,
        paid: Paid | None = None,
        sign: int = 1,
        rule: str = "",
        calculation: str = "",
        source: str = _TYPED,
        unknown_vms: int = 0,
        entry: str | None = None,
    ) -> Line:
        """Return a line, whose amounts follow from quantity and price. `paid` overrides the period of the price."""
        when: Paid = paid or ("yearly" if price is None or price.period != "once" else "once")
        times = None if quantity is None or price is None else sign * price.times(quantity)
        amount = None if price is None else price.amount
        per_year = None
        if times is not None and amount is not None:
            per_year = [each * amount * times for each in payments(when, self.years)]
        return Line(
            label=label,
            kind=kind,
            quantity=quantity,
            unit=unit,
            price=None if price is None else price.text,
            rule=rule,
            calculation=calculation,
            source=source,
            paid=when,
            per_year=per_year,
            total=None if per_year is None else math.fsum(per_year),
            discounted=None
            if times is None or amount is None
            else amount * times * weight(when, self.years, self.rate),
            unknown_vms=unknown_vms,
            input=None if price is None else price.path,
            amount=amount,
            times=times,
            price_unit=None if price is None else price.unit_text,
            entry=entry,
        )


def _host_lines(made: _Lines, estate: Estate, prices: Prices, bought: Collection[str] | None) -> Iterator[Line]:
    """Yield purchase, support and resale of each host type."""
    for name, count in _counts(estate).items():
        of = prices.hosts.get(name, HostPrices())
        new = bought is None or name in bought
        if new:
            yield made.line(f"Host {name}", "purchase", count, "host", of.purchase, paid="once")
        yield made.line(f"Support of host {name}", "support", count, "host", of.support, paid="yearly")
        if new and of.resale:
            yield made.line(f"Resale of host {name}", "other", count, "host", of.resale, paid="at-end", sign=-1)


def _counts(estate: Estate) -> dict[str, int]:
    """Return the number of hosts of each type."""
    counts: dict[str, int] = {}
    for hosts in _all_hosts(estate):
        counts[hosts.name] = counts.get(hosts.name, 0) + hosts.count
    return counts


def _range(of: Sequence[float]) -> Range:
    low, mid, high = of
    return Range(low=low, mid=mid, high=high)


def _option_lines(made: _Lines, licence: Licence, option: Option, estate: Estate, failures: int) -> list[Line]:
    """Return the lines of one rule of a licence: the licence, and its support if that has a price."""
    rule = option.rule
    needed = rules.needed(rule, estate, option.values, vms=licence.vms, clusters=licence.clusters, failures=failures)
    quantity = None if needed.count is None else needed.count.quantity
    calculation = "the VMs in question are unknown" if needed.count is None else needed.count.steps
    name = licence.name if len(licence.options) == 1 else rule.product
    parts: list[tuple[str, Kind, Price | None, Paid | None]] = [(name, "licence", option.price, None)]
    if option.price is None and rule.period == "once":
        parts = [(name, "licence", None, "once")]
    if option.support:
        parts.append((f"Support of {name}", "support", option.support, "yearly"))
    return [
        made.line(
            label,
            kind,
            quantity,
            rule.unit,
            price,
            paid=paid,
            rule=rule.text,
            calculation=calculation,
            source=rule.source,
            unknown_vms=needed.unknown,
            entry=licence.path,
        )
        for label, kind, price, paid in parts
    ]


def _cheapest(licence: Licence, options: Sequence[list[Line]], currency: str | None) -> tuple[int, list[str]]:
    """Return the index of the cheapest option by present value, and notes. Without any price it is the first one."""
    known = [index for index, option in enumerate(options) if _known(option)]
    if len(options) == 1 or not known:
        return 0, []
    worth = {index: _present(options[index]) for index in known}
    best = min(known, key=lambda index: worth[index])
    names = [option.rule.product for option in licence.options]
    notes = [
        f"{names[best]} costs {number(worth[best])} {currency} and {names[index]} {number(worth[index])}: "
        "the cheaper one is counted."
        for index in known
        if index != best
    ]
    notes += [
        f"{names[best]} is not compared with {names[index]}, which has no price."
        for index in range(len(options))
        if index not in known
    ]
    return best, notes


def _known(option: Iterable[Line]) -> bool:
    return all(line["discounted"] is not None for line in option)


def _present(option: Iterable[Line]) -> float:
    return math.fsum(line["discounted"] or 0.0 for line in option)


def _energy_line(made: _Lines, energy: Energy | None, prices: Prices) -> Line:
    """Return the cost of electricity, with cooling."""
    pue = prices.pue or 1.0
    quantity = None if energy is None else energy.mid * pue
    calculation = "the energy is unknown" if energy is None else f"{energy.mid:,.0f} kWh per year x PUE {pue:g}"
    rule = "Expected energy of the servers per year, times the PUE, which adds cooling."
    return made.line(
        "Energy", "power", quantity, "kWh", prices.energy, paid="through-year", rule=rule, calculation=calculation
    )


def _rack_line(made: _Lines, estate: Estate, prices: Prices) -> Line:
    """Return the cost of rack space."""
    unknown = sorted({hosts.name for hosts in _all_hosts(estate) if hosts.rack_units is None})
    quantity = None if unknown else float(sum(hosts.count * (hosts.rack_units or 0) for hosts in _all_hosts(estate)))
    calculation = f"the rack units are unknown of {', '.join(unknown)}" if unknown else ""
    return made.line("Rack space", "rack", quantity, "rack-unit", prices.rack, paid="yearly", calculation=calculation)


def _notes(found: Iterable[Line], estate: Estate, prices: Prices) -> Iterator[str]:
    """Yield notes on VMs that licences do not count, and on names in the file of prices that match nothing."""
    names = [name for each in estate.clusters for name in each.names]
    for licence in prices.licences:
        if licence.clusters and not any(rules.matches(name, licence.clusters) for name in names):
            yield f"{licence.name}: no cluster matches {', '.join(licence.clusters)}."
        every = [vm for each in estate.clusters for vm in each.vms]
        if licence.vms and not any(rules.matches(name, licence.vms) for vm in every for name in (vm.name, vm.label)):
            yield f"{licence.name}: no VM matches {', '.join(licence.vms)}."
    for line in found:
        label = line["label"]
        if line["kind"] == "licence" and line["unknown_vms"]:
            vms = naming.counted(line["unknown_vms"], "VM")
            counted = "so the number of licences is unknown" if line["quantity"] is None else "which are left out"
            yield f"{label}: {vms} with unknown guest OS or products, {counted}. Name such VMs with `vms`."
        name = label.removeprefix("Host ")
        if line["kind"] == "purchase" and name not in prices.hosts and (near := naming.nearest(name, prices.hosts)):
            yield f"No prices for {name}: the file of prices has {near}."


def _co2(energy: Energy | None, prices: Prices, years: int) -> Range | None:
    if energy is None or prices.co2_kg_per_kwh is None:
        return None
    per_kwh = prices.co2_kg_per_kwh * (prices.pue or 1.0) * years
    return Range(low=energy.low * per_kwh, mid=energy.mid * per_kwh, high=energy.high * per_kwh)


def _all_hosts(estate: Estate) -> Iterator[Hosts]:
    return (hosts for cluster in estate.clusters for hosts in cluster.hosts if hosts.count)


def _sum(amounts: Iterable[float | None]) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    return math.fsum(known) if known else None
