"""Tables of a move beside readiness, waves and speed: addresses, the way back, both sides at once, work of people."""

from __future__ import annotations

from collections.abc import Sequence

from hypertwin.documents.move import Kept, Move, Range
from hypertwin.metrics.words import number
from hypertwin.show import view as v

KEPT: dict[Kept, tuple[str, v.Tone]] = {
    "yes": ("kept", "good"),
    "option": ("with an option", "note"),
    "by-hand": ("by hand", "warn"),
    "no": ("lost", "bad"),
    "not-known": ("not known", "plain"),
}
"""Words and tones of ways to keep an address."""

ADDRESSES = "A VM without its address is out of reach after the move."
BOTH = (
    "From the begin of the first wave until source VMs are deleted. Both sides need licences in this time. "
    "A subscription ends at its term, not with the overlap."
)
WORK = "Checks after the move, by the published time per VM. The time of changes is not published, so it is not known."


def addresses(found: Move) -> Sequence[v.Block]:
    """Return what becomes of addresses."""
    rows: list[v.Cells] = [
        [
            (v.words("address", "address"), each["address"].upper()),
            (v.badges("kept", "after the move"), v.badge(*KEPT[each["kept"]])),
            (v.figures("vms", "VMs"), each["vms"]),
            (v.words("text", "reason"), each["text"]),
            (v.words("unchecked", "not checked", secondary=True), each["unchecked"]),
            (v.words("source", "source", secondary=True), each["source"]),
        ]
        for each in found["addresses"]
    ]
    return v.listing("addresses", "Addresses after the move", rows)


def rollback(found: Move) -> Sequence[v.Block]:
    """Return the steps of the way back, for the modes of the waves."""
    modes = {"", *(wave["mode"] for wave in found["waves"])}
    steps = [each for each in found["rollback"] if each["mode"] in modes]
    rows: list[v.Cells] = [
        [
            (v.figures("step", "step"), at),
            (v.words("mode", "waves"), each["mode"] or "all"),
            (v.words("text", "what to do"), each["text"]),
            (v.words("unchecked", "not checked", secondary=True), each["unchecked"]),
            (v.words("source", "source"), each["source"]),
        ]
        for at, each in enumerate(steps, 1)
    ]
    return v.listing("rollback", "Way back from a wave", rows)


def sides(found: Move) -> Sequence[v.Block]:
    """Return the hosts of both sides with their days of overlap."""
    overlap = found["overlap"]
    days = overlap["days"]
    rows: list[v.Cells] = [
        [
            (v.words("side", "side"), name),
            (v.figures("hosts", "hosts"), side["hosts"]),
            (v.figures("processors", "CPUs"), side["processors"]),
            (v.figures("cores", "cores"), side["cores"]),
            (v.figures("days", "overlap", "days"), _interval(days)),
            (v.figures("core_days", "cores × days"), _interval(days, side["cores"])),
        ]
        for name, side in (("source", overlap["source"]), ("target", overlap["target"]))
        if side is not None
    ]
    return v.listing("overlap", "Both sides at once", rows)


def costs(found: Move) -> Sequence[v.Block]:
    """Return the yearly costs of the source, and their part of the overlap."""
    cost, days = found["overlap"]["cost"], found["overlap"]["days"]
    if cost is None:
        return []
    currency = cost["currency"] or ""
    rows: list[v.Cells] = [
        [
            (v.words("label", "cost of the source"), line["label"]),
            (v.figures("quantity", "quantity"), line["quantity"]),
            (v.words("price", "price"), line["price"] or ""),
            (v.figures("year", "a year", currency), line["total"]),
            (v.figures("overlap", "during the overlap", currency), _interval(days, (line["total"] or 0.0) / 365)),
            (v.words("rule", "rule", secondary=True), line["rule"]),
        ]
        for line in cost["lines"]
    ]
    return v.listing("overlap-costs", "Cost of the source during the overlap", rows)


def work(found: Move) -> Sequence[v.Block]:
    """Return the work of people by effort class."""
    rows: list[v.Cells] = [
        [
            (v.words("effort", "effort"), each["effort"]),
            (v.figures("vms", "VMs"), each["vms"]),
            (v.figures("checks", "checks after the move", "person-days"), each["check_days"]),
            (v.words("changes", "changes"), "not known"),
        ]
        for each in found["effort"]["classes"]
    ]
    return v.listing("work", "Work of people by effort", rows)


def sentence(found: Move) -> str:
    """Return days, licensed cores and cost of the overlap in a sentence, or an empty text if the days are not known."""
    overlap = found["overlap"]
    days, cost = overlap["days"], overlap["cost"]
    if days is None or not found["waves"]:
        return ""
    text = f"Both sides run for {_ends(days)} days, with {overlap['source']['cores']:,} cores of the source"
    amount = None if cost is None else cost["amount"]
    if cost is not None and amount is not None:
        least = "at least " if cost["unpriced"] else ""
        text += f" for {least}{_ends(amount)} {cost['currency']}"
    return f"{text}."


def checks(found: Move) -> str:
    """Return the published time of checks, and the working days that follow, in sentences."""
    effort = found["effort"]
    per_vm = f"{effort['check_minutes']:g} minutes a VM, whatever its effort ({effort['source']})"
    team = f"{effort['engineers']} engineers with {effort['hours_per_day']:g} hours a day"
    return f"Checks after the move: {per_vm}. {team} need {number(effort['working_days'])} working days."


def _ends(of: Range) -> str:
    return f"{number(of['low'])} to {number(of['high'])}"


def _interval(of: Range | None, times: float = 1.0) -> v.Cell:
    return None if of is None else v.figure(of["value"] * times, ends=(of["low"] * times, of["high"] * times))
