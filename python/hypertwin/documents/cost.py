"""Costs of hosts over years, and inputs that change which candidate is cheapest. Part of `hypertwin plan refresh`."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

Kind: TypeAlias = Literal["purchase", "support", "licence", "power", "rack", "other"]
"""Kind of a cost."""

Paid: TypeAlias = Literal["once", "yearly", "through-year", "at-end"]
"""Time of payments: once at the start, at the start of each year, during each year, or once at the end."""


class Line(TypedDict):
    """A cost. Without a price, it has no amounts."""

    label: str
    kind: Kind
    quantity: float | None
    """Number of units, or null if unknown."""
    unit: str
    price: str | None
    """Price as the file of prices has it, or null without a price."""
    rule: str
    """How the quantity follows, with parts that are not checked or contested."""
    calculation: str
    """Calculation of the quantity."""
    source: str
    paid: Paid
    per_year: list[float] | None
    """Amount of each year, not discounted. null without a price or quantity."""
    total: float | None
    """Sum of `per_year`."""
    discounted: float | None
    """Present value at the start of the first year."""
    unknown_vms: int
    """Number of VMs that are not counted, because their guest OS or products are unknown."""
    input: str | None
    """Path of the price in the file of prices."""
    amount: float | None
    """Number of the price."""
    times: float | None
    """Payment per 1 of `amount`: yearly, or once."""
    price_unit: str | None
    """Currency, unit and period of the price, such as `EUR/core/year`."""
    entry: str | None
    """Path of the licence in the file of prices."""


class Range(TypedDict):
    """Expected figure, and its limits."""

    low: float
    mid: float
    high: float


class Costs(TypedDict):
    """Costs of a candidate. Sums are of the lines with a price."""

    currency: str | None
    years: int
    discount_rate_pct: float | None
    """Yearly discount rate, or null for no discounting."""
    hosts: int
    """Number of hosts."""
    hosts_by_type: dict[str, int]
    """Number of hosts of each type. Present hosts are one type."""
    lines: list[Line]
    alternatives: dict[str, list[list[Line]]]
    """Lines of each preset of licences that name several, by path of the licence. The cheaper one is in `lines`."""
    unpriced: list[str]
    """Labels of lines without a price or quantity."""
    per_year: list[float]
    """Amount of each year, not discounted."""
    total: float | None
    """Sum of all years, or null if no line has a price."""
    discounted: float | None
    """Present value at the start of the first year."""
    energy_kwh_per_year: Range | None
    """Energy of the servers per year, without cooling."""
    energy_kwh_per_host: dict[str, Range]
    """Energy of one host per year by type, without cooling. Types of unknown energy are left out."""
    co2_kg: Range | None
    """CO2 emission of the energy over all years, with cooling."""
    notes: list[str]


class BreakEven(TypedDict):
    """Value of one input at which another candidate becomes as cheap as the cheapest one."""

    input: str
    """Name of the input."""
    path: str | None
    """Path in the file of prices, or null for other inputs."""
    unit: str
    now: float
    break_even: float
    """Value at which both cost the same. For years and hosts, the first value at which `cheaper` is cheaper."""
    direction: Literal["below", "above"]
    """Side of `break_even` on which `cheaper` is cheaper."""
    cheaper: str
    """Candidate that becomes cheaper."""
    than: str
    """Cheapest candidate now."""
    factor: float | None
    """Larger of the two values divided by the smaller one, or null if one of them is 0."""
    in_range: bool | None
    """True if the break-even is inside the known range of the input. null without a known range."""


class Sensitivity(TypedDict):
    """Ranking of candidates, and inputs that change it."""

    cheapest: str | None
    """Candidate with the lowest present value, or null if that is unknown."""
    ranking: list[str]
    """Candidates by present value. Without every price, by the priced lines."""
    known: bool
    """False if missing prices could change the ranking."""
    rows: list[BreakEven]
    """Inputs, the one nearest to its break-even first."""
    what_would_change: str
