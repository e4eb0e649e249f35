"""View of a plan: its result, its moves, and the failures that the plan tolerates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from hypertwin.documents.placement import CannotRestart, Certificate, HostPlan, Move, Plan, Verified
from hypertwin.metrics import words
from hypertwin.metrics.words import count, guess, half_width, in_order, number, some
from hypertwin.show import files
from hypertwin.show import view as v

UNITS = {"moves": "moves", "hosts": "hosts", "min-peak": "% of limit"}
"""Unit of the value of each objective."""

BEST = {
    "moves": "no plan has fewer moves",
    "hosts": "no plan needs fewer hosts",
    "min-peak": "no plan has a lower peak load",
}
"""Meaning of an optimal plan, by its objective."""

RESOURCES = frozenset({"cpu", "memory", "vcpus", "cores", "reserved_cpu", "reserved_memory"})
"""Binding constraints whose name is a sufficient description."""

INFORMAL = frozenset({"failover-room", "peaks", "ratio"})
"""Policies whose information is already in limits and tables."""

TITLES = {"survive": "Failover check", "balance": "Balance", "evacuate": "Evacuation", "place": "Placement"}
TOOLS = {"powercli": "PowerCLI", "ansible": "Ansible"}
ENDINGS = {"powercli": "ps1", "ansible": "yml"}

MAX_STATES = 20
"""Maximum number of failures in a chart of simulated figures. The worst failures are shown."""

MAX_LOST = 3
"""Maximum number of failures in the answer with their shortages."""

MAX_STEPS = 12
"""Number of steps above which the table of steps is closed at first."""

MAX_RESTARTS = 20_000
"""Number of restarts above which the list of restarts is only in `--format json`."""

SLACK = 1 + 1e-6
"""Tolerance for rounded bounds. A host that exceeds its limit by no more than this counts as within its limit."""

MAX_PCT = 1000.0
"""Maximum load in a chart, because a host without any capacity in a resource has infinite load."""

NO_HOST = "cannot restart"

NOT_EVACUATED = re.compile(r"(.+?) cannot be evacuated: ")
"""Note on a host that an evacuation leaves out, or only partly evacuates."""

OPTIMAL = "Optimal"

NEVER: v.Cell = {"value": None, "text": "never ends", "tone": "bad"}


def called(found: Plan, vm: str) -> str:
    """Return the display name of a VM."""
    return found["labels"].get(vm, vm)


def answer(found: Plan) -> str:
    """Return the plan in one or two sentences, after warnings about guesses and unknown demand."""
    parts = (_guessed, _unknown, _left_out, _answer, _short, _misses)
    return "".join(part(found) for part in parts).strip()


def _guessed(found: Plan) -> str:
    """Return a warning if hosts of VMs are guesses."""
    if not found["guessed"]:
        return ""
    moves = " Some of these moves might not be needed." if found["moves"] else ""
    return f"{guess(found['guessed'], found['vms'])}{moves} "


def _unknown(found: Plan) -> str:
    """Return a warning if demand is unknown."""
    if not found["not_known"] or found["failover"] is not None:  # a verdict says it itself
        return ""
    names = some([words.resource(each) for each in found["not_known"]])
    return f"{names} demand is unknown: the plan counts {some(list(found['hosts'][0]['limit_pct']))} only. "


def _obstacles(found: Plan) -> dict[str, str]:
    """Return the hosts that the plan cannot evacuate, each with a sentence on the reason."""
    return {host[1]: note for note in found["notes"] if (host := NOT_EVACUATED.match(note))}


def _left_out(found: Plan) -> str:
    """Return the hosts that the plan cannot evacuate, with the reason if it is a single host."""
    hosts = _obstacles(found)
    if len(hosts) < 2:
        return "".join(f"{why} " for why in hosts.values())
    return f"{len(hosts)} of {count(len(found['hosts']), 'host')} cannot be evacuated: {some(list(hosts))}. "


def unwritten(found: Plan) -> str:
    """Return the reason why there is no cluster after the plan."""
    if hosts := _obstacles(found):
        return f"{some(list(hosts))} cannot be evacuated"
    return "the plan does not meet every requirement" if found["moves"] else "no plan found"


def failure(found: Plan) -> str:
    """Return the reason why a plan is infeasible, in one line."""
    lost = [name for name, _ in _lost(found)]
    if found["command"] == "survive" and lost:
        verb = "is" if len(lost) == 1 else "are"
        return f"{len(lost)} of {count(len(found['certificate']), 'failure')} {verb} not survived: {some(lost, 3)}"
    if found["not_placed"]:
        return f"{count(len(found['not_placed']), 'new VM')} not placed: {answer(found)}"
    return f"no plan meets every requirement: {answer(found)}"


def _short(found: Plan) -> str:
    """Return the requirements that a plan with moves misses."""
    if found["feasible"] or not found["moves"] or found["not_placed"]:
        return ""
    lost = [name for name, _ in _lost(found)]
    if lost and found["command"] != "evacuate":
        return f" It does not survive {count(len(lost), 'failure')}: {some(lost, 3)}."
    if _obstacles(found) or _misses(found):
        return ""  # the answer itself has the reason
    return " It does not meet every requirement: see the notes."


def _answer(found: Plan) -> str:
    if found["command"] == "survive":
        return _survived(found)
    if found["not_placed"]:
        return _partly(found)
    if not found["feasible"] and not found["moves"]:
        return _no_plan(found)
    if not found["moves"]:
        worth = "" if found["objective"]["name"] == "moves" else _quality(found)
        return f"No moves needed.{f' {worth}.' if worth else ''}"
    moved = len({move["vm"] for move in found["moves"]})
    times = [step["seconds"] for step in found["steps"]]
    whole = sum(time or 0.0 for time in times)
    new = all(move["from"] is None for move in found["moves"])
    again = f" ({count(len(found['moves']), 'move')})" if len(found["moves"]) > moved else ""
    lasts = f", {_duration(whole)}" if whole and None not in times else ""
    steps = f"{'Place' if new else 'Move'} {count(moved, 'VM')}{again} in {count(len(found['steps']), 'step')}{lasts}"
    return ". ".join(part for part in (steps, _quality(found)) if part) + "."


def _no_plan(found: Plan) -> str:
    """Return the reason for no moves at all."""
    if _obstacles(found):
        return ""
    if found["command"] == "evacuate" and not found["binding_constraints"]:
        return "The host cannot be evacuated: see the notes."
    proof = "Infeasible" if found["proven"] else "No plan found, and infeasibility is not proven"
    short_of = [
        f"{words.resource(each)} is short" if each in RESOURCES else _bound(each)
        for each in found["binding_constraints"]
    ]
    cause = f": {some(short_of)}" if short_of else ""
    conflict = [called(found, name) for name in found["conflict"]]
    drop = f" A plan exists without {some(conflict)}." if conflict else ""
    return f"{proof}{cause}.{drop}"


def _partly(found: Plan) -> str:
    """Return the number of new VMs that fit, and the shortage of the others."""
    placed, missing = len({move["vm"] for move in found["moves"]}), found["not_placed"]
    asked = placed + len(missing)
    most = found["placeable"] or 0
    if most == placed:
        how_many = "No more can be placed (proven)"
    elif most < asked:
        how_many = f"At most {most} can be placed (proven)"
    else:
        how_many = "Not proven: others might fit"
    because = "" if placed or not found["binding_constraints"] else f": {_bound(found['binding_constraints'][0])}"
    of = f"{placed} of {count(asked, 'new VM')} placed" if placed else f"None of {count(asked, 'new VM')} can be placed"
    if not placed and most:
        of = f"None of {count(asked, 'new VM')} placed"
    first = f" {called(found, missing[0]['vm'])} is short of {missing[0]['short_of']}."
    return f"{of}{because}. {how_many + '.' if placed or most else ''}{first if not because else ''}".replace(
        "  ", " "
    ).strip()


def _survived(found: Plan) -> str:
    """Return the failures that the cluster tolerates."""
    if found["failover"] is not None and found["certificate"]:
        return found["failover"]["text"]
    certificates = found["certificate"]
    lost = _lost(found)
    if not certificates:
        return "No host failure was checked."
    if not lost:
        return f"The cluster survives all of {count(len(certificates), 'host failure')}: every VM restarts."
    name, worst = max(lost, key=lambda each: len(each[1]["cannot_restart"]))
    example = _no_host(found, name, worst["cannot_restart"][:1])
    return (
        f"The cluster survives {len(certificates) - len(lost)} of {count(len(certificates), 'host failure')}. {example}"
    )


def _quality(found: Plan) -> str:
    """Return the quality of a feasible plan, from its bound."""
    objective = found["objective"]
    value, bound, unit = objective.get("value"), found["bound"], UNITS.get(objective.get("name") or "", "")
    if value is None or bound is None or not found["feasible"]:
        return ""
    what = f"{number(value)}{unit}" if unit.startswith("%") else f"{number(value)} {unit}"
    said = f"Peak load {what}" if objective["name"] == "min-peak" else what
    if objective["name"] == "moves" and found["proven"]:
        return OPTIMAL
    if found["not_known"]:
        return said
    if found["proven"]:
        return f"{said}. {OPTIMAL}"
    why = "Interrupted" if found.get("interrupted") else "Not proven optimal"
    return f"{said}. {why}: lower bound {number(bound)}, gap at most {v.percent(found['gap_pct'])}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"about {number(seconds, 0)} s"
    return f"about {number(seconds / 60, 0)} min" if seconds < 7200 else f"about {number(seconds / 3600, 1)} h"


def _misses(found: Plan) -> str:
    """Return the states in which a simulated plan misses objectives."""
    planned = [(name, each) for name, each in _states(found) if name != "before" or not found["verified"]["after"]]  # type: ignore[index]
    missed = [
        name if name.startswith("without") else "without a failure" for name, each in planned if not each["meets"]
    ]
    return f" Simulated, it misses objectives in {count(len(missed), 'state')}: {some(missed)}." if missed else ""


def view(found: Plan) -> v.View:
    """Return the view of a plan."""
    cluster = "" if found["cluster"] in ("default", found["scenario"]) else f", cluster {found['cluster']}"
    return {
        "title": f"{TITLES.get(found['command'], found['command'])}: {found['scenario']}{cluster}",
        "answer": _view_answer(found),
        "promises": list(_promises(found)),
        "confidence": list(_confidence(found)),
        "cards": list(_cards(found)),
        "sections": [
            *_hosts(found),
            *_fixes(found),
            *_moves(found),
            *_failures(found),
            *_twin(found),
            *_decisions(found),
            *_explained(found),
            *_commands(found),
        ],
        "notes": list(_notes(found)),
        "brief": _brief(found),
        "assumptions": [*_lines(found), *found["notes"]],
    }


def _brief(found: Plan) -> list[str]:
    """Return the tables that answer the question. Tables that an option requests come first."""
    asked = [f"elsewhere-{at}" for at in range(len(found["explained"]))] + (["verified"] if found["verified"] else [])
    if found["command"] == "survive":
        return [*asked, "failures"]
    return [*asked, *(["moves", "hosts"] if found["moves"] else ["hosts", "failures"])]


def _notes(found: Plan) -> Iterator[str]:
    """Yield fixes, existing violations, and the limits."""
    works = [each["text"] for each in found["fixes"] if each["works"]]
    if works:
        yield f"Fixes, any one (each checked): {' | '.join(works)}"
    shown = ("Already ", "No order of the moves ", "Should rules that ")
    yield from (note for note in found["notes"] if note.startswith(shown))
    limits, cpu = found["limits"], found["demand"].get("cpu")
    yield (
        f"Limits: {v.percent(limits['cpu_pct'])} of CPU, {v.percent(limits['memory_pct'])} of memory."
        f"{f' CPU demand: {cpu}.' if cpu else ''}"
    )


def _lost(found: Plan) -> list[tuple[str, Certificate]]:
    return [(name, each) for name, each in found["certificate"].items() if each["cannot_restart"]]


def _survives(found: Plan, name: str) -> bool | None:
    """Return the verdict on a failure, or None if unknown. Without a verdict, all its VMs must restart."""
    if found["failover"] is not None:
        return found["failover"]["failures"][name]["survives"]
    each = found["certificate"][name]
    return not each["cannot_restart"] or (False if each["proven"] else None)


def _changes(found: Plan) -> bool:
    """True if hosts differ before and after the plan."""
    return found["command"] != "survive" and (found["feasible"] or bool(found["moves"]))


def _states(found: Plan) -> list[tuple[str, Verified]]:
    """Return the results of simulation for each state: current, planned, and after each failure."""
    said = found["verified"] or {}
    states = [("before", said.get("before")), ("after", said.get("after"))]
    states += [(f"without {name}", each) for name, each in (said.get("failures") or {}).items()]
    return [(name, each) for name, each in states if each]


def _share(used: Mapping[str, float], of: HostPlan, name: str) -> float:
    limit = of["limit_pct"].get(name)
    return 100 * used.get(name, 0.0) / limit if limit else MAX_PCT if used.get(name) else 0.0


def _peak(used: Mapping[str, float], of: HostPlan) -> float:
    """Return the peak load of a host: the use of the resource nearest to its limit, in per cent of the limit."""
    return max((_share(used, of, name) for name in of["limit_pct"]), default=0.0)


def _over(pct: float) -> bool:
    return pct > 100 * SLACK


def _endless(move: Move) -> bool:
    return move["seconds"] is None and move["from"] is not None


def _view_answer(found: Plan) -> v.Answer:
    lost = _lost(found)
    survives = found["failover"]["survives"] if found["failover"] else not lost
    missed = any(not each["at_worst"] for name, each in _states(found) if name != "before")
    tone: v.Tone
    if found["command"] == "survive":
        whole = found["failover"] is None or found["failover"]["reason"] is None
        tone = "good" if survives and whole else "bad" if survives is False else "warn"
    elif not found["feasible"]:
        tone = "warn" if found["not_placed"] and found["moves"] else "bad"
    else:
        tone = "warn" if missed or lost or found["not_known"] or found["guessed"] else "good"
    if found["guessed"] and tone == "good":
        tone = "warn"
    obstacles = list(_obstacles(found).values())
    more = obstacles[:MAX_LOST] if len(obstacles) > 1 else []
    if found["command"] != "survive":
        named = lost if len(lost) <= MAX_LOST else lost[: MAX_LOST - 1]
        left = [name for name, _ in lost[len(named) :]]
        more += [_no_host(found, name, each["cannot_restart"]) for name, each in named]
        more += [f"{count(len(left), 'more failure')} leave VMs down: {some(left)}."] if left else []
    if found["command"] == "survive" and survives is False:
        more = [_no_host(found, name, each["cannot_restart"]) for name, each in lost[1:3]]
    why = [f"{called(found, each['vm'])}: {some(each['reasons'])}" for each in found["explained"] if each["reasons"]]
    return {"tone": tone, "text": answer(found), "more": [*why, *more]}


def _no_host(found: Plan, name: str, lost: Sequence[CannotRestart]) -> str:
    first = min(lost, key=lambda each: each.get("within_limits", False))
    fails = "fail" if " + " in name else "fails"
    more = f" and {count(len(lost) - 1, 'more VM')}" if len(lost) > 1 else ""
    verb = words.cannot_restart(each.get("within_limits", False) for each in lost)
    return f"If {name} {fails}, {called(found, first['vm'])}{more} {verb}: short of {first['short_of']}."


def _promises(found: Plan) -> Iterator[v.Promise]:
    when = "after" if _changes(found) else "before"
    above = [each["name"] for each in found["hosts"] if _over(_peak(_used(each, when), each))]
    unsure = bool(found["guessed"] or found["not_known"])

    def promised(text: str, broken: Sequence[str]) -> v.Promise:
        return {"text": text, "met": False if broken else None if unsure else True, "note": some(broken)}

    if found["hosts"]:
        yield promised(f"No host above its limits {'after the moves' if _changes(found) else 'now'}", above)
    if found["failover"]:
        lost = some([name for name in found["certificate"] if _survives(found, name) is False])
        yield {"text": "The cluster survives every host failure", "met": found["failover"]["survives"], "note": lost}
    elif found["certificate"]:
        yield promised("Every VM restarts after each failure", [name for name, _ in _lost(found)])
    judged = [(name, each) for name, each in _states(found) if name != "before" or not _changes(found)]
    if judged:
        promise = promised("Objectives, simulated", [name for name, each in judged if not each["meets"]])
        if promise["met"] and not all(each["at_worst"] for _, each in judged):
            promise |= {"met": "not surely", "note": "the twin's own error reaches beyond the limits"}
        yield promise


def _used(host: HostPlan, when: str) -> Mapping[str, float]:
    return host["after_pct"] if when == "after" else host["before_pct"]


def _confidence(found: Plan) -> Iterator[v.Badge]:
    open_failures = sum(not each["proven"] for each in found["certificate"].values())
    judged = _states(found)
    unsure = [name for name, each in judged if each["meets"] and not each["sure"]]
    if found["feasible"] and found["moves"] and found["bound"] is not None:
        gap = f"the optimality gap is at most {v.percent(found['gap_pct'])}"
        yield v.badge(
            "Optimal." if found["proven"] else f"Not proven optimal: {gap}.", "good" if found["proven"] else "warn"
        )
    if open_failures:
        failures = count(open_failures, "failure")
        yield v.badge(f"Not proven for {failures}: more VMs might restart.", "warn")
    if unsure:
        yield v.badge(f"Met on average, but intervals reach beyond limits: {some(unsure)}.", "warn")
    near = [name for name, each in judged if each["meets"] and each["sure"] and not each["at_worst"]]
    if near:
        text = f"Met, but not surely: the twin's own error (80% interval) reaches beyond limits: {some(near)}."
        yield v.badge(f"{text} Points that you measured narrow it (hypertwin calibrate).", "warn")
    if any(each["steady"] is False for _, each in judged):
        yield v.badge("The simulation reached no steady state: its figures depend on the length of the run.", "bad")
    if not judged:
        yield v.badge("Checked by sizes and limits. To simulate too, use --slo.", "note")


def _cards(found: Plan) -> Iterator[v.Card]:
    many, survived = len(found["certificate"]), sum(_survives(found, each) is True for each in found["certificate"])
    name, bound = found["objective"].get("name") or "", found["bound"]
    plans = found["command"] != "survive"
    if plans:
        value = "feasible" if found["feasible"] else "infeasible" if found["proven"] else "none found"
        yield v.card("Plan", value, tone="good" if found["feasible"] else "bad")
    if plans and found["feasible"]:
        yield v.card("Moves", number(len(found["moves"])), f"in {count(len(found['steps']), 'step')}")
    if found["hosts"]:
        before, after = (
            round(max(_peak(_used(each, when), each) for each in found["hosts"])) for when in ("before", "after")
        )
        peak = after if _changes(found) else before
        yield v.card(
            "Peak load", v.arrow(before, peak, "%"), "of limit, most loaded host", "bad" if _over(peak) else "plain"
        )
    if bound is not None and name in UNITS:
        unit = " % of limit" if name == "min-peak" else f" {UNITS[name]}"
        remark = BEST[name] if found["proven"] else f"the plan is at most {v.percent(found['gap_pct'])} from it"
        yield v.card("Lower bound", number(bound) + unit, remark, "good" if found["proven"] else "plain")
    if many:
        worst = max(each["peak_pct"] for each in found["certificate"].values())
        remark = f"peak load then {v.percent(worst)} of limit"
        yield v.card("Failures survived", f"{survived} of {many}", remark, "good" if survived == many else "bad")
    if found["hosts"]:
        yield v.card("Hosts with VMs", f"{found['hosts_used']} of {len(found['hosts'])}")


def _fixes(found: Plan) -> list[v.Section]:
    fixes: list[v.Item] = [
        {"text": f"{each['text']} (checked)", "tone": "good"}
        if each["works"]
        else {"text": f"Not enough: {each['text']}", "tone": "plain"}
        for each in found["fixes"]
    ]
    return v.section("fixes", "Fixes", [{"type": "list", "items": fixes}] if fixes else [])


def _moves(found: Plan) -> list[v.Section]:
    if not found["moves"]:
        return []
    back = {each["step"] for each in found["steps"] if each.get("back")}
    parks = {each["step"] for each in found["moves"] if each["temporary"]}
    endless = {each["step"] for each in found["moves"] if _endless(each)}

    def kind(step: int, temporary: bool) -> v.Badge | None:
        return v.badge("back", "note") if step in back else v.badge("temporary", "warn") if temporary else None

    rows: list[v.Cells] = [
        [
            (v.words("vm", "VM"), called(found, each["vm"])),
            (v.words("from", "from"), each["from"] or "new"),
            (v.words("to", "to"), each["to"]),
            (v.badges("kind", "kind"), kind(each["step"], each["temporary"])),
            (v.words("why", "why", secondary=len({each["why"] for each in found["moves"]}) == 1), each["why"]),
            (v.figures("step", "step"), each["step"]),
            (
                v.figures("seconds", "takes", "s", text="By the migration model."),
                NEVER if _endless(each) else each["seconds"],
            ),
        ]
        for each in found["moves"]
    ]
    of_peak = "Arriving VMs included, of the limit."
    steps: list[v.Cells] = [
        [
            (v.words("empty", "evacuates"), each.get("empty_host", "")),
            (v.badges("kind", "kind"), kind(each["step"], each["step"] in parks)),
            (v.words("host", "most loaded host"), each["peak_host"]),
            (v.figures("step", "step"), each["step"]),
            (v.figures("moves", "moves"), each["moves"]),
            (
                v.figures("seconds", "takes", "s", secondary=True),
                NEVER if each["step"] in endless else each["seconds"],
            ),
            (
                v.figures("peak", "peak load", "%", text=of_peak, secondary=True),
                v.toned(each["peak_pct"], _over(each["peak_pct"])),
            ),
        ]
        for each in found["steps"]
    ]
    listed = v.listing("steps", "Steps", steps)
    return v.section(
        "moves",
        "Moves",
        v.charts([_steps_chart(found, back, parks)] if len(steps) > 1 else []),
        v.listing("moves", "Moves", rows, ascending="step", filters=["from", "to"]),
        v.group("Steps", listed, closed=True) if len(steps) > MAX_STEPS else listed,
        text="The moves of a step run side by side.",
    )


def _steps_chart(found: Plan, back: set[int], parks: set[int]) -> v.BarChart:
    steps = found["steps"]
    worst = max(steps, key=lambda each: each["peak_pct"])
    kinds = [2 if each["step"] in back else 1 if each["step"] in parks else 0 for each in steps]
    names = ("moves", "temporary: VMs move on later", "way back")
    series: list[v.Series] = [
        {
            "name": name,
            "values": [each["peak_pct"] if kinds[at] == kind else None for at, each in enumerate(steps)],
            "colour": kind,
        }
        for kind, name in enumerate(names)
        if kind in kinds
    ]
    return {
        "type": "bars",
        "id": "steps-chart",
        "title": "Peak load in each step",
        "text": "Arriving VMs included, of the limit of the most loaded host.",
        "alternative": f"Highest in step {worst['step']}: {worst['peak_host']}, {v.percent(worst['peak_pct'])}.",
        "categories": [str(each["step"]) for each in steps],
        "value": v.axis("peak load", "%", begin=0),
        "series": series,
        "stacked": True,
        "limits": [{"name": "limit", "value": 100, "tone": "bad"}],
    }


def _hosts(found: Plan) -> list[v.Section]:
    if not found["hosts"]:
        return []
    resources = list(found["hosts"][0]["limit_pct"])
    two = _changes(found)
    columns = [
        v.words("host", "host"),
        v.figures("vms", "VMs"),
        *(
            v.figures(f"used-{name}", words.resource(name), "%", text="Used by VMs, of the host's capacity.")
            for name in resources
        ),
        v.figures("peak", "peak load", "%", text="Of the limit, for the resource closest to it.", secondary=True),
        v.figures("ratio", "vCPUs per core", secondary=True),
    ]

    def cell(before: float, after: float, bad: bool = False) -> v.Cell:
        value = after if two else before
        return v.figure(value, "bad" if bad else "plain", text=v.arrow(before, value))

    rows: list[v.Row] = []
    for of in sorted(found["hosts"], key=lambda of: two and of["before_pct"] == of["after_pct"]):  # changed ones first
        used = _used(of, "after" if two else "before")
        row: dict[str, v.Cell] = {"host": of["name"], "vms": cell(of["vms_before"], of["vms_after"])}
        for name in resources:
            before, after = of["before_pct"].get(name, 0.0), of["after_pct"].get(name, 0.0)
            row[f"used-{name}"] = cell(before, after, _over(_share(used, of, name)))
        peaks = _peak(of["before_pct"], of), _peak(of["after_pct"], of)
        row["peak"] = cell(*peaks, _over(_peak(used, of)))
        row["ratio"] = cell(of["vcpu_per_core_before"], of["vcpu_per_core_after"])
        rows.append(row)
    title = "Hosts, before → after" if two else "Hosts"
    drawn = v.charts([_host_chart(found, name) for name in resources])
    return v.section("hosts", title, drawn, v.table("hosts", title, columns, rows, descending="peak"))


def _host_chart(found: Plan, name: str) -> v.BarChart:
    hosts, two = found["hosts"], _changes(found)
    same = len({number(of["limit_pct"][name]) for of in hosts}) == 1
    limit = hosts[0]["limit_pct"][name] if same else 100.0
    worst = {of["name"]: max(_share(of[key], of, name) for key in ("before_pct", "after_pct")) for of in hosts}
    ranked = sorted(hosts, key=lambda of: (-worst[of["name"]], in_order(of["name"])))

    def values(when: str) -> list[float]:
        used = [(_used(of, when), of) for of in ranked]
        return [min(each.get(name, 0.0) if same else _share(each, of, name), MAX_PCT) for each, of in used]

    before, after = values("before"), values("after")
    series: list[v.Series] = [{"name": "before" if two else "now", "values": before, "colour": 7}]
    if two:
        series.append({"name": "after", "values": after, "colour": 1})
    shown = v.arrow(before[0], after[0] if two else before[0])
    lost = {failed for _, each in _lost(found) if len(each["failed"]) == 1 for failed in each["failed"]}
    hatched = [at for at, of in enumerate(ranked) if of["name"] in lost]
    made: v.BarChart = {
        "type": "bars",
        "id": f"hosts-{name}",
        "title": words.resource(name).replace("memory", "Memory"),
        "text": "Of each host's capacity, the most loaded first."
        if same
        else "Of the limit, which differs by host. The most loaded host first.",
        "alternative": f"{ranked[0]['name']}: {shown}%, limit {v.percent(limit)}.",
        "categories": [of["name"] for of in ranked],
        "value": v.axis(words.resource(name), "%", begin=0),
        "series": series,
        "horizontal": True,
        "limits": [{"name": f"limit {v.percent(limit)}", "value": limit, "tone": "bad"}],
    }
    if hatched:
        made["hatched"] = hatched
        made["text"] = f"{made['text']} Hatched: the cluster does not survive the failure of this host."
    return made


def _failures(found: Plan) -> list[v.Section]:
    ranked = sorted(
        found["certificate"].items(), key=lambda item: (-len(item[1]["cannot_restart"]), -item[1]["peak_pct"])
    )
    if not ranked:
        return []
    nowhere: list[v.Row] = [
        {"vm": called(found, vm["vm"]), "failed": name, "kind": kind, "short_of": vm["short_of"]}
        for name, each in ranked
        for kind, vms in (
            (v.badge(NO_HOST, "bad"), each["cannot_restart"]),
            (v.badge("by design", "note"), each["not_restarted"]),
        )
        for vm in vms
    ]
    restarts = (
        {"vm": called(found, vm), "failed": name, "host": host}
        for name, each in ranked
        for vm, host in each["placed"].items()
    )
    kept: list[v.Row] = list(islice(restarts, MAX_RESTARTS + 1))
    of_vms = [v.words("vm", "VM"), v.words("failed", "if this fails")]
    where = v.table(
        "restarts",
        "Restarts",
        [*of_vms, v.words("host", "restarts on")],
        kept if len(kept) <= MAX_RESTARTS else [],
        filters=["failed", "host"],
        detail=True,
    )
    return v.section(
        "failures",
        "After each failure",
        v.charts([_grid(found, ranked)], wide=True),
        v.listing("failures", "Host failures, worst first", [_failure(found, name, each) for name, each in ranked]),
        v.table(
            "nowhere",
            "VMs that do not restart",
            [*of_vms, v.badges("kind", "kind"), v.words("short_of", "short of, or why")],
            nowhere,
            filters=["kind"],
            detail=True,
        ),
        v.group("Where every VM restarts", where, closed=True, detail=True),
    )


def _failure(found: Plan, name: str, each: Certificate) -> v.Cells:
    lost, peak = each["cannot_restart"], each["peak_pct"]
    names = some([called(found, vm["vm"]) for vm in lost], 2)
    survives = _survives(found, name)
    unknown = v.badge("not proven" if lost else "unknown", "bad" if lost else "warn")
    verdict = unknown if survives is None else v.badge("yes", "good") if survives else v.badge("no", "bad")
    by_design = "Such as VMs with restart disabled."
    return [
        (v.words("failed", "failed"), name),
        (v.badges("verdict", "survived"), verdict),
        (v.words("lost", NO_HOST, text="VMs that no host can restart after this failure."), names),
        (v.words("host", "most loaded host"), (each["peak_host"] or "") if peak else ""),
        (v.words("wishes", "violated should rules", secondary=True), some(each["violated_should_rules"])),
        (v.figures("restarted", "restarted", "VMs"), len(each["placed"])),
        (v.figures("hosts", "targets", "hosts", secondary=True), len(set(each["placed"].values()))),
        (v.figures("none", NO_HOST, "VMs", secondary=True), v.toned(len(lost), bool(lost))),
        (
            v.figures("down", "not restarted by design", "VMs", text=by_design, secondary=True),
            len(each["not_restarted"]),
        ),
        (
            v.figures("peak", "peak load", "%", text="Of the limit while hosts have failed."),
            v.toned(peak, _over(peak)) if peak else None,
        ),
    ]


def _grid(found: Plan, failures: Sequence[tuple[str, Certificate]]) -> v.HeatMap:
    """Return failures by receiving hosts. The first column has the VMs that cannot restart."""
    columns = [NO_HOST, *(of["name"] for of in found["hosts"])]
    place = {name: at for at, name in enumerate(columns)}
    values: list[list[float | None]] = []
    for _, each in failures:
        row: list[float | None] = [None if host == NO_HOST or host in each["failed"] else 0.0 for host in columns]
        for host in each["placed"].values():
            row[place[host]] = (row[place[host]] or 0.0) + 1
        row[0] = float(len(each["cannot_restart"])) or None
        values.append(row)
    most = max((value or 0.0 for row in values for value in row[1:]), default=0.0)
    lost = [(at, each["cannot_restart"]) for at, (_, each) in enumerate(failures) if each["cannot_restart"]]
    first = f"In {count(len(lost), 'failure')} VMs cannot restart" if lost else "Every VM restarts"
    made: v.HeatMap = {
        "type": "heat",
        "id": "grid",
        "title": "Where the VMs of each failed host restart",
        "text": "A row is a failure, a column a host that receives VMs. Failed hosts are left blank.",
        "alternative": f"{first}; one host receives {count(round(most), 'VM')} at most.",
        "x": v.axis("receiving host", categories=columns),
        "columns": list(range(len(columns))),
        "rows": [{"name": name, "values": row} for (name, _), row in zip(failures, values, strict=True)],
        "unit": "VMs",
        "top": most or 1,
    }
    if lost:
        made["marks"] = {
            "name": "VMs that cannot restart",
            "tone": "bad",
            "points": [
                {
                    "row": at,
                    "column": 0,
                    "text": some([f"{called(found, vm['vm'])} is short of {vm['short_of']}" for vm in vms], 3),
                }
                for at, vms in lost
            ],
        }
    return made


def _twin(found: Plan) -> list[v.Section]:
    said = _states(found)
    objectives = list(dict.fromkeys(name for _, each in said for name in each["metrics"]))
    columns = [v.words("state", "state"), v.badges("verdict", "objectives")]
    columns += [v.words("limited", "limited by", secondary=True)] if any(each["limits"] for _, each in said) else []
    for at, objective in enumerate(objectives):
        columns += [
            v.words(f"worst-{at}", f"{objective}: worst on", secondary=True),
            v.figures(f"value-{at}", objective),
        ]
    rows: list[v.Row] = []
    for state, each in said:
        limited = "; ".join(dict.fromkeys(filter(None, each["limits"].values())))
        row: dict[str, v.Cell] = {"state": state, "verdict": _met(each), "limited": limited}
        for at, objective in enumerate(objectives):
            of = each["metrics"].get(objective)
            row[f"value-{at}"] = _figure(of, is_bound=objective in each.get("at_most", ())) if of else None
            row[f"worst-{at}"] = called(found, each["worst"].get(objective, ""))
        rows.append(row)
    return v.section(
        "twin",
        "Verified by simulation",
        v.charts([_objective_chart(said, at, objective) for at, objective in enumerate(objectives)]),
        v.table("verified", "Verified by simulation", columns, rows if objectives else []),
        text="Simulated as it is, as planned, and in every failure.",
    )


def _figure(of: Mapping[str, float | None], *, is_bound: bool) -> v.Figure | None:
    """Return the figure of an objective. An upper bound says so."""
    if is_bound and of["mean"] is not None:
        return v.figure(of["mean"], text=f"≤ {half_width(of['mean'], of['ci95'])}")
    low, high = of.get("low"), of.get("high")
    ends = (low, high) if low is not None and high is not None and low < high else None
    return v.figure(of["mean"], half_width=of["ci95"], ends=ends)


def _met(state: Verified) -> v.Badge:
    """Return a badge for the objectives of a state, with its certainty."""
    if not state["meets"]:
        return v.badge("missed", "bad")
    if state["sure"]:
        return v.badge("met", "good") if state["at_worst"] else v.badge("met, not surely", "warn")
    return v.badge("met, not steady" if state["steady"] is False else "met on average", "warn")


def _objective_chart(said: Sequence[tuple[str, Verified]], at: int, objective: str) -> v.RangeChart:
    sign = -1 if ">" in objective else 1  # a figure that must be high is the worse the lower it is

    def of(each: Verified) -> Mapping[str, float | None]:
        return each["metrics"].get(objective) or {"mean": None, "ci95": None, "limit": None}

    def badness(each: Verified) -> float:
        mean = of(each)["mean"]
        return float("inf") if mean is None else sign * mean

    ranked = sorted(said, key=lambda each: (each[0].startswith("without "), -badness(each[1])))
    kept = ranked[: MAX_STATES + 2]
    rows: list[Any] = []
    for name, each in kept:
        mean, ci95, limit = (of(each)[key] for key in ("mean", "ci95", "limit"))
        ends = (None, None) if mean is None else (mean - (ci95 or 0), mean + (ci95 or 0))
        marks = [] if limit is None else [{"value": limit, "tone": "bad", "text": f"limit {number(limit)}"}]
        rows.append({"name": name, "low": ends[0], "middle": mean, "high": ends[1], "marks": marks})
    seen = [f"{name} {half_width(of(each)['mean'], of(each)['ci95']) or 'not measured'}" for name, each in kept[:3]]
    return {
        "type": "ranges",
        "id": f"objective-{at}",
        "title": objective,
        "text": "Before, after, and failures, the worst first.",
        "alternative": f"{', '.join(seen)}.",
        "value": v.axis(objective, begin=0),
        "rows": rows,
        "legend": {"range": "simulated, 95% interval", "marks": [v.badge("limit", "bad")]},
    }


def _decisions(found: Plan) -> list[v.Section]:
    policies: list[v.Cells] = [
        [
            (v.words("policy", "policy"), name),
            (v.badges("on", "on"), v.badge("on", "good") if each.get("on") else v.badge("off")),
            (
                v.words("decided", "decided"),
                some([str(one) for one in each.get("decided") or ()], 5) or ("nothing here" if each.get("on") else ""),
            ),
        ]
        for name, each in found["policies"].items()
        if name not in INFORMAL or not each.get("on")
    ]
    demand = {key: value for key, value in found["demand"].items() if key != "others"}
    others = {
        key: each["text"]
        if each["peak_pct"] is None
        else f"{each['peak_host']} at {v.percent(each['peak_pct'])} of limit: {each['text']}"
        for key, each in (found["demand"].get("others") or {}).items()
    }
    parts = (
        ("limit", found["limits"]),
        ("demand", demand),
        ("peak load by another demand", others),
        ("vCPUs per core", {key: value for key, value in found["ratio"].items() if key not in ("says", "twin")}),
    )
    basis: list[v.Cells] = [
        [
            (v.words("what", "what"), what),
            (v.words("name", "of"), words.resource(key.removesuffix("_pct"))),
            (v.words("says", "value"), said),
        ]
        for what, of in parts
        for key, value in of.items()
        if (said := _said(key, value))
    ]
    bound = v.items(_bound(each) for each in found["binding_constraints"])
    drop = v.items((called(found, each) for each in found["conflict"]), "bad")
    ratio = v.items(str(found["ratio"][key]) for key in ("says", "twin") if found["ratio"].get(key))
    return v.section(
        "decisions",
        "Decisions",
        v.group(f"{'Fewest rules' if found['conflict_proven'] else 'Rules'} and VMs without which a plan exists", drop),
        v.group("Binding constraints", bound),
        v.group("By the vCPU-to-core ratio alone", ratio),
        v.listing("policies", "Policies", policies),
        v.listing("basis", "Basis", basis),
        detail=True,
    )


def _said(key: str, value: object) -> str:
    """Return a value outside the typed parts of a document, in words."""
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value).lower()
    if isinstance(value, int | float):
        return v.percent(value) if key.endswith("_pct") else number(value)
    return some([_said(key, each) for each in value], 8) if isinstance(value, list) else str(value)


def _explained(found: Plan) -> list[v.Section]:
    blocks: list[v.Block] = []
    for at, each in enumerate(found["explained"]):
        name = called(found, each["vm"])
        rows: list[v.Row] = [{"host": host, "against": against} for host, against in each["elsewhere"].items()]
        columns = [v.words("host", "host"), v.words("against", "against it")]
        reasons = v.items(each["reasons"] or ["nothing asks for more"])
        elsewhere = v.table(f"elsewhere-{at}", f"Why not elsewhere: {name}", columns, rows)
        blocks += v.group(f"{name} is on {each['host'] or 'no host'}", reasons, elsewhere)
    return v.section("explained", "Why VMs are where they are", blocks)


def _commands(found: Plan) -> list[v.Section]:
    blocks: list[v.Block] = []
    for tool, text in found["commands"].items():
        source: v.Block = {"type": "text", "name": f"moves.{ENDINGS.get(tool, 'sh')}", "text": text}
        blocks += v.group(TOOLS.get(tool, tool), [source] if text else [], closed=True)
    return v.section(
        "commands", "Commands", blocks, text="The moves as text to paste. Nothing here was carried out.", detail=True
    )


def _lines(found: Plan) -> Iterator[str]:
    """Yield limits, VMs that stay down, and demand."""
    limits = found["limits"]
    yield (
        f"Limits after a failure: {v.percent(limits['failover_cpu_pct'])} of CPU,"
        f" {v.percent(limits['failover_memory_pct'])} of memory (--failover-cpu, --failover-memory)."
    )
    if not found["feasible"] and limits["failures"] and found["command"] in ("balance", "place"):
        yield "The plan includes headroom for failures (--failures 0 leaves it out)."
    yield from _down(found)
    if found["binding_constraints"] and found["feasible"]:
        yield f"Binding constraints: {some([_bound(each) for each in found['binding_constraints']], 8)}."
    for name, policy in found["policies"].items():
        decided = policy.get("decided") or ()
        if policy.get("on") and name not in INFORMAL and list(decided) != ["nothing here"] and decided:
            yield f"Policy {name}: {some([str(each) for each in decided], 5)}."
    if found["ratio"].get("says"):
        yield f"By the vCPU-to-core ratio alone: {found['ratio']['says']}."
    for key in ("cpu", "memory"):
        if found["demand"].get(key):
            yield f"{words.resource(key)[0].upper()}{words.resource(key)[1:]} demand: {found['demand'][key]}."
    said = [
        f"{name} {v.percent(each['peak_pct'])} ({each['peak_host']})"
        for name, each in (found["demand"].get("others") or {}).items()
        if each["peak_pct"] is not None
    ]
    if said:
        yield f"Peak load with other CPU demands, % of limit: {', '.join(said)}."


def _down(found: Plan) -> Iterator[str]:
    """Yield the VMs that do not restart elsewhere after any failure, by reason."""
    of: dict[str, list[str]] = {}
    for certificate in found["certificate"].values():
        for each in certificate["not_restarted"]:
            if each["vm"] not in of.setdefault(each["short_of"], []):
                of[each["short_of"]].append(each["vm"])
    for why, vms in of.items():
        yield f"Not restarted until their host is back: {some([called(found, vm) for vm in vms], 8)} ({why})."


def csv(found: Plan) -> str:
    """Return a line for each move, or for `survive` a line for each VM that restarts."""
    if found["command"] == "survive":
        lost = [
            [name, called(found, each["vm"]), None, each["short_of"]]
            for name, of in found["certificate"].items()
            for each in (*of["cannot_restart"], *of["not_restarted"])
        ]
        placed = [
            [name, called(found, vm), host, None]
            for name, of in found["certificate"].items()
            for vm, host in of["placed"].items()
        ]
        return files.csv_text([["failed", "vm", "host", "short_of"], *placed, *lost])
    heads = ["step", "vm", "from", "to", "seconds", "temporary", "why"]
    moves = [{**move, "vm": called(found, move["vm"])} for move in found["moves"]]
    return files.csv_text([heads, *([move[head] for head in heads] for move in moves)])


def _bound(text: str) -> str:
    """Return a binding constraint in readable form."""
    return re.sub(r"^(reserved_)?(cpu|memory)(?=$|:| of | after )", lambda name: words.resource(name[0]), text)
