"""Overlap of source and target: days from the first wave to the end of acceptance, and the cost of the source in them.

Days follow from the calendar: from the begin of the first wave, or of its first copy, to the end of the last one. After
that, source VMs are kept for the time of acceptance. Costs are the yearly lines of the user's file of prices for the
present hosts, by day. Purchases are no cost of an overlap, and prices of the target belong to its whole life.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypertwin.cost import years
from hypertwin.cost.estate import Estate
from hypertwin.cost.prices import Prices
from hypertwin.documents.move import Overlap, OverlapCost, Range, Side
from hypertwin.language import Host
from hypertwin.plan.moving.calendar import Dates
from hypertwin.plan.moving.rollback import ACCEPTANCE_DAYS
from hypertwin.plan.refresh import expense
from hypertwin.plan.refresh.present import Present

DAY_S = 86_400
DAYS_PER_YEAR = 365


def overlap(
    dates: Dates, present: Present, target: Sequence[Host], acceptance: int | None, prices: Prices | None
) -> Overlap:
    """Return the overlap. `target` has the hosts of the target, or none if they are unknown or the present ones."""
    accepted = ACCEPTANCE_DAYS if acceptance is None else (acceptance, acceptance)
    days = _days(dates, accepted)
    return {
        "days": days,
        "acceptance_days": list(accepted),
        "source": _side(present.hosts),
        "target": _side(target) if target else None,
        "cost": None if prices is None else _cost(present, prices, days),
    }


def _days(dates: Dates, accepted: tuple[int, int]) -> Range | None:
    """Return the days, or None without waves, and if a wave fits no window."""
    begins = [each.copy_begin for each in dates.appointments if each.copy_begin is not None]
    ends = (dates.earliest_end, dates.end, dates.latest_end)
    if not begins or None in ends:
        return None
    low, value, high = ((end - min(begins)).total_seconds() / DAY_S for end in ends if end is not None)
    return {"low": low + accepted[0], "value": value + sum(accepted) / 2, "high": high + accepted[1]}


def _side(hosts: Sequence[Host]) -> Side:
    return {
        "hosts": len(hosts),
        "processors": sum(host.processors for host in hosts),
        "cores": sum(host.cores for host in hosts),
    }


def _cost(present: Present, prices: Prices, days: Range | None) -> OverlapCost:
    names = dict.fromkeys(host.cluster for host in present.hosts)
    clusters = [
        expense.cluster(
            name,
            present.scenario,
            [host for host in present.hosts if host.cluster == name],
            [vm for vm in present.vms if vm.cluster == name],
            prices,
        )
        for name in names
    ]
    found = years.lines(Estate(tuple(clusters)), prices, 1, None, 0, bought=())
    yearly = [line for line in found["lines"] if line["paid"] == "yearly" and line["kind"] != "power"]
    priced = [line for line in yearly if line["total"]]
    total = sum(line["total"] or 0.0 for line in priced)
    known = priced and days is not None
    return {
        "currency": found["currency"],
        "lines": priced,
        "unpriced": [line["label"] for line in yearly if line["total"] is None],
        "per_year": total if priced else None,
        "amount": None
        if not known or days is None
        else {
            "low": total * days["low"] / DAYS_PER_YEAR,
            "value": total * days["value"] / DAYS_PER_YEAR,
            "high": total * days["high"] / DAYS_PER_YEAR,
        },
    }
