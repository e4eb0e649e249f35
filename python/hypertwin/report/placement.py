"""A plan: what it is worth, its moves, what it survives: tables for a terminal, CSV, a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.syntax import Syntax
from rich.text import Text

from hypertwin.documents.placement import Plan, Unplaced, Verified
from hypertwin.errors import printable, short
from hypertwin.report import files
from hypertwin.report.page import Listing, Page
from hypertwin.report.table import Cells, Fitted
from hypertwin.report.words import count, guess, half_width, number, some

MOST_ROWS = 40
"""Rows of a table in a terminal."""

WORDY = frozenset({"VM", "from", "to", "why", "fails", "fullest host", "finds no host", "host", "state", "objective"})
"""Columns of words, which come first in a table."""

FIRST_OUT = ("why", "at its worst on", "on hosts", "stay down", "finds no host", "s", "vCPUs per core", "VMs")
"""Columns that a narrow terminal goes without, the first of these first."""

UNITS = {"moves": "moves", "hosts": "hosts", "fullest": "% of what may be used"}
"""Of the value of each objective."""

INFORMAL = frozenset({"failover-room", "peaks", "ratio"})
"""Policies that say what limits and tables say already."""

RESOURCES = frozenset({"cpu", "memory", "vcpus", "cores"})
"""What may be said to bind by its name alone."""

MOST_DECIDED = 5
"""Of what a policy decided, how much a terminal shows."""

PROVEN = ", and no plan has less (proven)"

Table = tuple[str, list[str], list[list[str]]]
"""Title, heads and cells."""


def called(found: Plan, vm: str) -> str:
    """A VM as its own system calls it."""
    return found["labels"].get(vm, vm)


def answer(found: Plan) -> str:
    """The plan in one sentence or two; before it, whether it stands on guesses, and what nobody knows."""
    return _guessed(found) + _said(found)


def _said(found: Plan) -> str:
    """The answer without what is a guess."""
    return _unknown(found) + _answer(found) + _short(found) + _misses(found)


def _guessed(found: Plan) -> str:
    """That VMs are on hosts by guess, if they are."""
    if not found["guessed"]:
        return ""
    moves = " Moves of these VMs might be none." if found["moves"] else ""
    return f"{guess(found['guessed'], found['vms'])}{moves} "


def _unknown(found: Plan) -> str:
    """What nobody knows, before anything else is said."""
    if not found["not_known"] or found["failover"] is not None:  # a verdict says it itself
        return ""
    names = some([_word(each) for each in found["not_known"]])
    return f"{names} demand is not known, so this is about {some(list(found['hosts'][0]['limit_pct']))} alone. "


def failure(found: Plan) -> str:
    """What is wrong with a plan that is not feasible, in one line."""
    lost = [name for name, each in found["certificate"].items() if each["unplaced"]]
    if found["command"] == "survive" and lost:
        verb = "is" if len(lost) == 1 else "are"
        return f"{len(lost)} of {count(len(found['certificate']), 'failure')} {verb} not survived: {some(lost, 3)}"
    if found["not_placed"]:
        return f"{len(found['not_placed'])} new VMs have no host: {answer(found)}"
    return f"no plan does all that was asked: {answer(found)}"


def _short(found: Plan) -> str:
    """What a plan with moves still lacks of what was asked."""
    if found["feasible"] or not found["moves"] or found["not_placed"]:
        return ""
    lost = [name for name, each in found["certificate"].items() if each["unplaced"]]
    if lost and found["command"] != "evacuate":
        return f" It does not survive {count(len(lost), 'failure')}: {some(lost, 3)}."
    return " This is not all that was asked: see the notes."


def _answer(found: Plan) -> str:
    if found["command"] == "survive":
        return _survived(found)
    if found["not_placed"]:
        return _partly(found)
    if not found["feasible"] and not found["moves"]:
        if found["command"] == "evacuate" and not found["binding"]:
            return "No host can be emptied; the notes say why."
        proof = "There is no such plan" if found["proven"] else "No plan was found, and none is proven impossible"
        short_of = [f"too little {_word(each)}" if each in RESOURCES else _bound(each) for each in found["binding"]]
        cause = f": {some(short_of)}" if short_of else ""
        dropped = [called(found, name) for name in found["dropped"]]
        drop = f" It would take to drop {some(dropped)}." if dropped else ""
        return f"{proof}{cause}.{drop}"
    if not found["moves"]:
        worth = "" if found["objective"]["name"] == "moves" else _quality(found)
        return f"Nothing to gain: {worth or 'no VM has to move'}."
    moved = len({move["vm"] for move in found["moves"]})
    times = [step["seconds"] for step in found["steps"]]
    whole = sum(time or 0.0 for time in times)
    lasts = f", {_duration(whole)}" if whole and None not in times else ""
    steps = (
        f"{count(len(found['moves']), 'move')} of {count(moved, 'VM')} in {count(len(found['steps']), 'step')}{lasts}"
    )
    return ". ".join(part for part in (steps, _quality(found)) if part) + "."


def _partly(found: Plan) -> str:
    """How many of the new VMs have a host, and what the others lack."""
    placed, missing = len({move["vm"] for move in found["moves"]}), found["not_placed"]
    asked = placed + len(missing)
    most = found["placeable"] or 0
    if most == placed:
        how_many = "No more can be placed (proven)"
    elif most < asked:
        how_many = f"At most {most} can be placed (proven)"
    else:
        how_many = "It is not proven that the others cannot be placed"
    because = "" if placed or not found["binding"] else f": {_bound(found['binding'][0])}"
    of = f"{placed} of {count(asked, 'new VM')} placed" if placed else f"None of {count(asked, 'new VM')} can be placed"
    if not placed and most:
        of = f"None of {count(asked, 'new VM')} placed"
    first = f" {called(found, missing[0]['vm'])} lacks {missing[0]['lacks']}."
    return f"{of}{because}. {how_many + '.' if placed or most else ''}{first if not because else ''}".replace(
        "  ", " "
    ).strip()


def _survived(found: Plan) -> str:
    """What of the failures is survived."""
    if found["failover"] is not None and found["certificate"]:
        return found["failover"]["text"]
    certificates = found["certificate"]
    lost = {name: each["unplaced"] for name, each in certificates.items() if each["unplaced"]}
    if not certificates:
        return "There is no failure to survive."
    if not lost:
        return f"Every one of {count(len(certificates), 'failure')} is survived: each VM that restarts has a host."
    worst = max(lost, key=lambda name: len(lost[name]))
    example = lost[worst][0]
    fails = "fail" if " + " in worst else "fails"
    return (
        f"{len(certificates) - len(lost)} of {count(len(certificates), 'failure')} survived. When {worst} {fails},"
        f" {called(found, example['vm'])} finds no host: it lacks {example['lacks']}."
    )


def _quality(found: Plan) -> str:
    """How good the plan is, by its bound."""
    objective = found["objective"]
    value, bound, unit = objective.get("value"), found["bound"], UNITS.get(objective.get("name") or "", "")
    if value is None or bound is None:
        return ""
    what = f"{number(value)} {unit}"
    if objective["name"] == "moves" and found["proven"]:
        return "No plan has fewer moves (proven)"
    if found["not_known"]:
        return f"The fullest host is at {what}" if objective["name"] == "fullest" else what
    if found["proven"]:
        return f"The fullest host is at {what}" + PROVEN if objective["name"] == "fullest" else f"{what}{PROVEN}"
    return f"{what}; no plan has less than {number(bound)} (a gap of at most {number(found['gap_pct'])} %)"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"about {number(seconds, 0)} s"
    return f"about {number(seconds / 60, 0)} min" if seconds < 7200 else f"about {number(seconds / 3600, 1)} h"


def moves(found: Plan) -> Table:
    """A line for each move."""
    heads = ["VM", "from", "to", "why", "step", "s"]
    cells = [
        [
            called(found, each["vm"]),
            each["from"] or "new",
            each["to"] + (" (parked)" if each["parking"] else ""),
            each["why"],
            number(each["step"], 0),
            number(each["seconds"], 0) or "never ends",
        ]
        for each in found["moves"]
    ]
    return "Moves", heads, cells


def steps(found: Plan) -> Table:
    """A line for each step."""
    heads = ["fullest host", "step", "moves", "s", "its fullness %"]
    cells = []
    for each in found["steps"]:
        counted = [number(value, 0) for value in (each["step"], each["moves"], each["seconds"])]
        cells.append([each["fullest_host"], *counted, number(each["fullest_pct"], 1)])
    if any("empty_host" in each for each in found["steps"]):
        heads.insert(0, "host")
        cells = [
            [each.get("empty_host", "") + (" back" if each.get("back") else ""), *row]
            for each, row in zip(found["steps"], cells, strict=True)
        ]
    return "Steps; fullness is of what may be used", heads, cells


def hosts(found: Plan) -> Table:
    """A line for each host: before and after an arrow."""
    resources = list(found["hosts"][0]["limit_pct"]) if found["hosts"] else []
    heads = ["host", "VMs", *(f"{_word(name)} %" for name in resources), "vCPUs per core"]
    cells = [
        [
            each["name"],
            _arrow(each["vms_before"], each["vms_after"], 0),
            *(_arrow(each["before_pct"][name], each["after_pct"][name], 1) for name in resources),
            _arrow(each["vcpu_per_core_before"], each["vcpu_per_core_after"], 2),
        ]
        for each in found["hosts"]
    ]
    return "Hosts, before → after" if found["moves"] else "Hosts", heads, cells


def failures(found: Plan) -> Table:
    """A line for each failure, those that are not survived first, then by how full they leave a host."""
    ranked = sorted(found["certificate"].items(), key=lambda item: (-len(item[1]["unplaced"]), -item[1]["fullest_pct"]))
    heads = ["fails", "fullest host", "finds no host", "restarted", "on hosts", "no host", "stay down", "fullness %"]
    cells = [
        [
            name,
            (each["fullest_host"] or "") if each["fullest_pct"] else "",
            _lost(found, each["unplaced"]) + ("" if each["proven"] or not each["unplaced"] else " (not proven)"),
            *(number(len(names), 0) for names in (each["placed"], set(each["placed"].values()))),
            *(number(len(names), 0) for names in (each["unplaced"], each["stays_down"])),
            number(each["fullest_pct"], 1) if each["fullest_pct"] else "",
        ]
        for name, each in ranked
    ]
    return "After each failure, the worst first", heads, cells


def _lost(found: Plan, unplaced: Sequence[Unplaced]) -> str:
    """The first VM that finds no host and what it lacks, and how many more there are."""
    if not unplaced:
        return ""
    more = f" and {len(unplaced) - 1} more" if len(unplaced) > 1 else ""
    return f"{called(found, unplaced[0]['vm'])}{more}, lacks {short(unplaced[0]['lacks'], 60)}"


def verified(found: Plan) -> Table:
    """What the twin says: a line for each state and objective."""
    heads = ["state", "objective", "at its worst on", "twin", "limit", "met"]
    told = found["verified"] or {}
    states = [("before", told.get("before")), ("after", told.get("after"))]
    states += [(f"without {name}", each) for name, each in (told.get("failures") or {}).items()]
    cells = [
        [
            state,
            objective,
            called(found, each["worst"].get(objective, "")),
            half_width(figure["mean"], figure["ci95"]),
            number(figure["limit"]),
            _met(each),
        ]
        for state, each in states
        if each is not None
        for objective, figure in each["metrics"].items()
    ]
    return "What the twin says", heads, cells


def _met(state: Verified) -> str:
    """Whether a state meets its objectives, and how sure that is."""
    if not state["meets"]:
        return "no"
    if state["sure"]:
        return "yes"
    return "yes, not steady" if state["steady"] is False else "yes, within ±"


def _misses(found: Plan) -> str:
    """What the twin says against a plan."""
    told = found["verified"]
    if told is None:
        return ""
    states = {"without a failure": told["after"] or told["before"], **told["failures"]}
    missed = [name for name, each in states.items() if each is not None and not each["meets"]]
    return f" In the twin objectives are missed in {count(len(missed), 'state')}: {some(missed)}." if missed else ""


def lines(found: Plan) -> Iterator[str]:
    """What decides, what would help, and what it stands on."""
    limits = found["limits"]
    yield (
        f"Limits: {number(limits['cpu_pct'])} % of CPU, {number(limits['memory_pct'])} % of memory; after a failure"
        f" {number(limits['failover_cpu_pct'])} % and {number(limits['failover_memory_pct'])} % (--failover-cpu,"
        f" --failover-memory)."
    )
    if not found["feasible"] and limits["failures"] and found["command"] in ("balance", "place"):
        yield "Room for failures is part of the plan: --failures 0 plans without it."
    yield from _down(found)
    if found["binding"] and found["feasible"]:
        yield f"What binds: {some([_bound(each) for each in found['binding']], 8)}."
    for remedy in found["remedies"]:
        yield f"{'Would help' if remedy['helps'] else 'Would not help'}: {remedy['text']}."
    for name, policy in found["policies"].items():
        decided = policy.get("decided")
        if policy.get("on") and decided and name not in INFORMAL:
            more = f"; and {len(decided) - MOST_DECIDED} more" if len(decided) > MOST_DECIDED else ""
            yield f"Policy {name}: {'; '.join(decided[:MOST_DECIDED])}{more}."
    if found["ratio"].get("says"):
        yield f"The ratio of vCPUs to cores would have said: {found['ratio']['says']}."
    for key in ("cpu", "memory"):
        if found["demand"].get(key):
            yield f"{_word(key)[0].upper()}{_word(key)[1:]} demand: {found['demand'][key]}."
    others = found["demand"].get("others") or {}
    told = [
        f"{name} {number(each['fullest_pct'], 1)} % ({each['fullest_host']})"
        for name, each in others.items()
        if each["fullest_pct"] is not None
    ]
    if told:
        yield f"The fullest host by other demands of CPU, of what may be used: {', '.join(told)}."


def _down(found: Plan) -> Iterator[str]:
    """VMs that no failure of their host restarts elsewhere, by why."""
    of: dict[str, list[str]] = {}
    for certificate in found["certificate"].values():
        for each in certificate["stays_down"]:
            if each["vm"] not in of.setdefault(each["lacks"], []):
                of[each["lacks"]].append(each["vm"])
    for why, vms in of.items():
        names = [called(found, vm) for vm in vms]
        yield f"Down until their host is back: {some(names, 8)} ({why})."


def explanations(found: Plan) -> Iterator[str]:
    """Why VMs are where they are."""
    for each in found["explained"]:
        reasons = "; ".join(each["reasons"]) or "nothing asks for more"
        yield f"{called(found, each['vm'])} is on {each['host'] or 'no host'}: {reasons}."
        yield from (f"  {host}: {against}" for host, against in each["elsewhere"].items())


def shown(found: Plan) -> list[Table]:
    """All tables that have something to show."""
    tables = [moves(found), steps(found), hosts(found), failures(found), verified(found)]
    return [each for each in tables if each[2]]


def table(found: Plan, tool: str | None = None) -> RenderableType:
    """What `hypertwin plan --format json` prints, as tables with notes; `tool` adds its commands."""
    style = "bold" if found["feasible"] else "bold red"
    head = f"{found['scenario']}, cluster {found['cluster']}: {answer(found)}"
    parts: list[RenderableType] = [Text(printable(head), style)]
    for title, heads, cells in shown(found):
        cut = [[printable(cell) for cell in row] for row in cells[:MOST_ROWS]]
        words = sum(head in WORDY or head == "at its worst on" for head in heads)
        parts.append(Fitted(title, Cells(heads, cut, 0, words), FIRST_OUT))
        if len(cells) > len(cut):
            parts.append(Text(f"{len(cells) - len(cut)} more: --format json has all.", style="dim"))
    parts += [Text(printable(line)) for line in explanations(found)]
    parts += [Text(printable(line), style="dim") for line in (*lines(found), *found["notes"])]
    if tool is not None and tool in found["commands"]:
        parts.append(Syntax(printable(found["commands"][tool]), "text", background_color="default"))
    return Group(*parts)


def csv(found: Plan) -> str:
    """A line for each move; of `survive` a line for each VM that restarts."""
    if found["command"] == "survive":
        lost = [
            [name, each["vm"], None, each["lacks"]]
            for name, of in found["certificate"].items()
            for each in (*of["unplaced"], *of["stays_down"])
        ]
        placed = [
            [name, vm, host, None] for name, of in found["certificate"].items() for vm, host in of["placed"].items()
        ]
        return files.csv_text([["failed", "vm", "host", "lacks"], *placed, *lost])
    heads = ["step", "vm", "from", "to", "seconds", "parking", "why"]
    return files.csv_text([heads, *([dict(move)[head] for head in heads] for move in found["moves"])])


def page(found: Plan) -> Page:
    """The page: hosts before and after, moves with their steps, failed by receiving hosts, what binds."""
    return Page(
        kind="placement",
        title=f"Plan of {found['scenario']}: {found['command']}",
        document=found,
        beside={"guess": _guessed(found).strip(), "answer": _said(found)},
        notes=found["notes"],
        tables=[
            Listing("The plan", [], [[line] for line in (answer(found), *explanations(found), *lines(found))]),
            *(Listing(title, heads, cells) for title, heads, cells in shown(found)),
        ],
    )


def _bound(text: str) -> str:
    """What binds, with the resource that it may begin with as people write it."""
    return re.sub(r"^cpu(?=$|:| of | after )", "CPU", text)


def _word(resource: str) -> str:
    return "CPU" if resource == "cpu" else resource


def _arrow(before: float, after: float, digits: int) -> str:
    first, second = number(before, digits), number(after, digits)
    return first if first == second else f"{first} → {second}"
