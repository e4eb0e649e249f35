"""View of a plan to replace hosts: candidates side by side, with costs, speed, energy, licences and sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from hypertwin.documents.cost import Costs, Line
from hypertwin.documents.refresh import Candidate, Refresh, TwinState
from hypertwin.metrics import bands
from hypertwin.metrics.words import count, number, some
from hypertwin.show import move_target
from hypertwin.show import view as v
from hypertwin.show.move_target import worst

KINDS = {
    "purchase": "hosts",
    "support": "support",
    "licence": "licences",
    "power": "power",
    "rack": "rack space",
    "other": "other",
}
"""Names of the kinds of costs, in order of the chart."""

LIMITS = {"cpu": "CPU", "memory": "memory", "vcpus": "vCPUs per core", "storage": "storage"} | {
    "reserved_cpu": "reserved CPU",
    "reserved_memory": "reserved memory",
}

READY, COSTOP = bands.band("ready_pct").warning, bands.band("costop_pct").critical


def answer(found: Refresh) -> v.Answer:
    """Return the answer: the best candidate, its loss first, and what limits the answer."""
    more = []
    best = next((each for each in found["candidates"] if each["name"] == found["best"]), None)
    lead = _lead(found)
    if best is None:
        reasons = [f"{each['name']}: {each['reason']}" for each in found["candidates"]]
        return {"tone": "bad", "text": f"{lead}No candidate is possible. {some(reasons, 3)}."}
    slower = bool(best["slower"])
    text = f"{lead}{best['verdict']}"
    money = _money(best["costs"])
    if money:
        text += f" {money}"
    others = [each for each in found["candidates"] if each is not best and each["feasible"]]
    of = count(len(others) + 1, "candidate")
    by_cost = found["ranked_by"] == "cost"
    rank = f"Cheapest of {of} over {found['asked']['years']} years." if by_cost else f"Fewest hosts of {of}."
    more.append(f"{rank if others else ''} {_unpriced(found)}".strip())
    faster = [each["name"] for each in others if each["slower"] is False]
    grown = found["grown"]
    kept = _money((grown or found["present"])["costs"])
    if kept and money:
        without = " without the growth" if found["asked"]["growth_pct"] and grown is None else ""
        hosts = f"The present hosts{' with the growth' if grown else without}"
        more.append(f"{hosts} cost {kept[0].lower()}{kept[1:]}")
    if slower and faster:
        more.append(f"Not slower: {some(faster)}.")
    if found["sensitivity"] is not None:
        more.append(found["sensitivity"]["what_would_change"])
    return {"tone": "warn" if slower else "good", "text": text, "more": [each for each in more if each]}


def _lead(found: Refresh) -> str:
    """Return what makes the answer less sure, before the answer."""
    demand = found["demand"]
    if not demand["is_measured"]:
        asked = found["asked"]
        after = f" after {count(asked['failures'], 'failure')}" if asked["failures"] else ""
        return f"No CPU demand was measured: the limit is {number(asked['vcpu_ratio'])} vCPUs per core{after}. "
    if demand["is_old"]:
        return f"The demand is {demand['age_days']} days old. "
    return ""


def _unpriced(found: Refresh) -> str:
    if found["asked"]["prices"] is None:
        return "Without --prices, costs are unknown."
    missing = {label for each in found["candidates"] if each["costs"] for label in each["costs"]["unpriced"]}
    return f"Without a price: {some(sorted(missing), 3)}." if missing else ""


def _money(costs: Costs | None) -> str:
    if costs is None or costs["total"] is None:
        return ""
    least = "At least " if costs["unpriced"] else ""
    return f"{least}{_amount(costs['total'], costs['currency'])} over {costs['years']} years."


def _amount(value: float | None, currency: str | None) -> str:
    return "" if value is None else f"{value:,.0f} {currency or ''}".strip()


def view(found: Refresh) -> v.View:
    """Return the view of a refresh."""
    shown = [found["present"], *([found["grown"]] if found["grown"] else []), *found["candidates"]]
    feasible = [each for each in shown if each["feasible"]]
    return {
        "title": f"Hosts to replace in {found['scenario']}",
        "answer": answer(found),
        "promises": [],
        "confidence": list(_confidence(found)),
        "cards": list(_cards(found)),
        "sections": [
            *v.section("candidates", "Candidates", _candidates(found, shown)),
            *v.section("charts", "Side by side", v.charts(list(_charts(found, feasible)))),
            *v.section("twin", "Will it be as fast?", _twin(feasible), text=_TWIN_TEXT),
            *v.section("costs", "Costs", _lines(found), _years(found), text=_cost_text(found)),
            *v.section("change", "What would change this answer", _change(found)),
            *v.section("energy", "Energy", _energy(feasible)),
            *v.section("processors", "Processors", _speeds(found), text=_SPEED_TEXT),
            *v.section("clusters", "Clusters", _clusters(feasible)),
            *v.section("numa", "NUMA", _numa(feasible)),
            *v.section(
                "sources",
                "Rules and sources",
                _rules(found),
                _origins(found),
                _sources(found),
                closed=True,
                detail=True,
            ),
        ],
        "notes": found["notes"],
        "assumptions": [note for each in feasible if each["costs"] for note in each["costs"]["notes"]],
        "brief": ["candidates"],
    }


_TWIN_TEXT = (
    "The present hosts and each candidate are simulated with the same work of the same VMs. The response time of each "
    "VM is divided by its present one."
)
_SPEED_TEXT = "Throughput is SPECrate2017_int_base of the whole host. Work per cycle is the value in scenarios."


def _cost_text(found: Refresh) -> str:
    return "" if found["asked"]["prices"] else "Quantities only: hypertwin init --prices writes a file for prices."


def _confidence(found: Refresh) -> Iterator[v.Badge]:
    best = next((each for each in found["candidates"] if each["name"] == found["best"]), None)
    if best is not None and best["hosts_if_slow"] != best["hosts"]:
        slow = best["hosts_if_slow"]
        text = "no number of hosts is enough" if slow is None else count(slow, "host")
        yield v.badge(f"At the slow end of published results: {text}", "warn")
    unproven = [each["name"] for each in found["candidates"] if any(c["proven"] is False for c in each["clusters"])]
    if unproven:
        yield v.badge(f"Fewer hosts might be enough (not proven): {some(unproven)}", "note")
    estimated = [each["host_type"] for each in found["speeds"] if each["basis"] != "published"]
    if estimated:
        yield v.badge(f"Throughput is an estimate: {some(estimated)}", "warn")
    if found["present"]["twin"] is None:
        yield v.badge("Not simulated", "note")


def _cards(found: Refresh) -> Iterator[v.Card]:
    best = next((each for each in found["candidates"] if each["name"] == found["best"]), None)
    present = found["present"]
    if best is None:
        return
    yield v.card("Hosts", v.arrow(present["hosts"], best["hosts"]), best["name"])
    yield v.card("Cores", v.arrow(present["cores"], best["cores"]), "to license")
    response = best["twin"]["normal"]["response"] if best["twin"] else None
    if response is not None:
        tone: v.Tone = "bad" if best["slower"] else "good"
        yield v.card("Response p99", f"× {number(response['median'])}", "median of VMs, against now", tone)
    if best["twin"] and best["twin"]["normal"]["ready_pct"]:
        before = present["twin"]["normal"]["ready_pct"] if present["twin"] else None
        ready = best["twin"]["normal"]["ready_pct"]
        yield v.card("Ready, worst VM", v.arrow(before["mean"] if before else None, ready["mean"], "%"), ready["vm"])
    if best["energy"] and present["energy"]:
        now, then = (each["energy"]["watts"] / 1000 for each in (present, best) if each["energy"])
        yield v.card("Power", v.arrow(now, then, "kW"), "mean")
    if best["costs"] and best["costs"]["total"] is not None:
        at_least = (
            "at least, some prices are missing" if best["costs"]["unpriced"] else f"{best['costs']['years']} years"
        )
        yield v.card("Cost", _amount(best["costs"]["total"], best["costs"]["currency"]), at_least)


def _candidates(found: Refresh, shown: Sequence[Candidate]) -> Sequence[v.Block]:
    currency = next((each["costs"]["currency"] for each in shown if each["costs"] and each["costs"]["currency"]), None)
    years = found["asked"]["years"]
    columns = [
        v.words("name", "candidate"),
        v.figures("hosts", "hosts", text="In brackets: at both ends of the speed of new processors."),
        v.figures("total", f"cost, {years} years", currency or ""),
        v.figures("response", "response p99", "× now", text="Simulated, median of VMs."),
        v.figures("ready", "ready", "%", text="Simulated, worst VM. In brackets: with the twin's own error."),
        v.figures("power", "power", "kW", text="Mean. In brackets: the range over servers."),
        v.figures("failed", "CPU after failure", "%", text="Demand in % of the capacity of the remaining hosts."),
        v.figures("cores", "cores"),
        v.words(
            "limit",
            "limited by",
            text="Resource with the least headroom after a failure, or storage if fewer hosts do not hold the data.",
        ),
        v.badges("proof", "fewest", text="Proven: one host fewer is too few."),
        v.figures("discounted", "discounted", currency or "", secondary=True),
        v.words("remark", "remark"),
    ]
    return v.table("candidates", "Candidates", columns, [_row(each, found) for each in shown])


def _row(each: Candidate, found: Refresh) -> v.Row:
    if not each["feasible"]:
        return {"name": each["name"], "remark": f"not possible: {each['reason']}"}
    clusters, costs, twin = each["clusters"], each["costs"], each["twin"]
    proven = [cluster["proven"] for cluster in clusters]
    is_present = each["kind"] in ("present", "grown")
    response = twin["normal"]["response"] if twin else None
    lost = [cluster["cluster"] for cluster in clusters if not cluster["survives"]]
    missing = costs["unpriced"] if costs else []
    return {
        "name": each["name"],
        "hosts": _hosts(each),
        "proof": None if is_present else v.badge("proven", "good") if all(proven) else v.badge("not proven", "note"),
        "cores": each["cores"],
        "failed": _most(cluster["cpu_after_failure_pct"] for cluster in clusters),
        "ready": worst(twin["normal"]["ready_pct"] if twin else None, READY),
        "response": None if response is None else v.toned(response["median"], bool(each["slower"]), "warn"),
        "power": _kw(each),
        "total": None if costs is None else _sum(costs["total"], missing),
        "discounted": None if costs is None else _sum(costs["discounted"], missing),
        "limit": some(sorted({LIMITS[cluster["limited_by"]] for cluster in clusters})),
        "remark": f"a failure is not survived in {some(lost)}" if lost else "slower" if each["slower"] else "",
    }


def _hosts(each: Candidate) -> v.Cell:
    fast, middle, slow = each["hosts_if_fast"], each["hosts"], each["hosts_if_slow"]
    if (fast, slow) == (middle, middle) or middle is None:
        return None if middle is None else float(middle)
    ends = f"{number(fast)} – {'none' if slow is None else number(slow)}"
    return v.figure(float(middle), "warn" if slow is None else "plain", text=f"{middle} ({ends})")


def _sum(value: float | None, missing: Sequence[str]) -> v.Cell:
    if value is None:
        return None
    return v.figure(value, text=f"> {value:,.0f}" if missing else f"{value:,.0f}")


def _most(values: Any) -> float | None:
    return max((each for each in values if each is not None), default=None)


def _kw(each: Candidate) -> v.Cell:
    found = each["energy"]
    if found is None:
        return None
    return v.figure(found["watts"] / 1000, ends=(found["watts_low"] / 1000, found["watts_high"] / 1000))


def _charts(found: Refresh, shown: Sequence[Candidate]) -> Iterator[v.Chart]:
    compared = [each for each in shown if each["kind"] != "grown"]
    names = [each["name"] for each in compared]
    priced = [each for each in shown if each["costs"] and each["costs"]["total"] is not None]
    if priced:
        currency = priced[0]["costs"]["currency"] if priced[0]["costs"] else ""
        yield {
            "type": "bars",
            "id": "cost",
            "title": f"Cost over {found['asked']['years']} years",
            "alternative": _said(
                "Cost", priced, [each["costs"]["total"] if each["costs"] else None for each in priced]
            ),
            "categories": [each["name"] for each in priced],
            "value": v.axis("cost", currency or "", begin=0),
            "series": [
                {"name": name, "values": values, "colour": at}
                for at, (kind, name) in enumerate(KINDS.items())
                if any(values := [_of_kind(each["costs"], kind) for each in priced])
            ],
            "stacked": True,
            "horizontal": True,
        }
        yield _over_years(found, priced, currency or "")
    yield _bars("hosts", "Hosts", "hosts", "", names, [float(each["hosts"] or 0) for each in compared], compared)
    ready = [_mean(each, "ready_pct") for each in shown]
    if any(value is not None for value in ready):
        after = [_mean(each, "ready_pct", after=True) for each in shown]
        series: list[v.Series] = [{"name": "no failure", "values": ready, "colour": v.TWIN}]
        if any(after):
            series.append({"name": "worst failure", "values": after, "colour": v.MEASURED})
        yield {
            "type": "bars",
            "id": "ready",
            "title": "Ready of the worst VM",
            "text": "Time in which a vCPU could run but had no hardware thread, simulated.",
            "alternative": _said("Ready", shown, ready),
            "categories": [each["name"] for each in shown],
            "value": v.axis("ready", "%", begin=0),
            "series": series,
            "horizontal": True,
            "limits": [{"name": "users notice", "value": READY or 0.0, "tone": "warn"}],
        }
    power = [each["energy"]["watts"] / 1000 if each["energy"] else None for each in compared]
    if any(power):
        yield _bars("power", "Mean power", "power", "kW", names, power, compared)
    failures = found["asked"]["failures"]
    cpu = [_most(cluster["cpu_after_failure_pct"] for cluster in each["clusters"]) for each in shown]
    if failures and any(cpu):
        yield {
            **_bars(
                "failed",
                f"CPU after {count(failures, 'host failure')}",
                "CPU",
                "%",
                [e["name"] for e in shown],
                cpu,
                shown,
            ),
            "limits": [{"name": "limit", "value": found["asked"]["cpu_pct"], "tone": "warn"}],
        }


def _over_years(found: Refresh, priced: Sequence[Candidate], currency: str) -> v.LineChart:
    """Return the costs that have been paid by the end of each year."""
    years = found["asked"]["years"]
    paid = [list(accumulate(each["costs"]["per_year"] if each["costs"] else ())) for each in priced]
    return {
        "type": "lines",
        "id": "paid",
        "title": "Paid by the end of each year",
        "alternative": _said(f"Paid after {years} years", priced, [each[-1] for each in paid]),
        "x": v.axis("year", begin=0, end=years),
        "y": v.axis("cost", currency, begin=0),
        "places": [float(year) for year in range(1, years + 1)],
        "series": [
            {"name": each["name"], "values": values, "colour": at}
            for at, (each, values) in enumerate(zip(priced, paid, strict=True))
        ],
    }


def _bars(
    id_: str,
    title: str,
    name: str,
    unit: str,
    categories: Sequence[str],
    values: Sequence[float | None],
    shown: Sequence[Candidate],
) -> v.BarChart:
    return {
        "type": "bars",
        "id": id_,
        "title": title,
        "alternative": _said(title, shown, values),
        "categories": categories,
        "value": v.axis(name, unit, begin=0),
        "series": [{"name": name, "values": values, "colour": v.TWIN}],
        "horizontal": True,
    }


def _said(what: str, shown: Sequence[Candidate], values: Sequence[float | None]) -> str:
    known = [f"{each['name']} {number(value)}" for each, value in zip(shown, values, strict=True) if value is not None]
    return f"{what}: {', '.join(known)}."


def _of_kind(costs: Costs | None, kind: str) -> float | None:
    lines = [line["total"] for line in costs["lines"] if line["kind"] == kind] if costs else []
    known = [total for total in lines if total is not None]
    return sum(known) if known else None


def _mean(each: Candidate, key: str, *, after: bool = False) -> float | None:
    twin: Any = each["twin"]
    state = twin and (twin["failure"] if after else twin["normal"])
    return state[key]["mean"] if state and state[key] else None


def _twin(shown: Sequence[Candidate]) -> Sequence[v.Block]:
    rows = [
        _state(each, name, state)
        for each in shown
        if (twin := each["twin"]) is not None
        for name, state in (("no failure", twin["normal"]), (f"{some(twin['failed'], 2)} failed", twin["failure"]))
        if state is not None
    ]
    return v.listing("twin", "Simulated figures", rows)


def _state(each: Candidate, name: str, state: TwinState) -> v.Cells:
    of_slower = "VMs whose response p99 is more than a tenth longer than now."
    return [
        (v.words("name", "candidate"), each["name"]),
        (v.words("state", "state"), name),
        move_target.ready(state, READY),
        (v.words("vm", "worst VM", secondary=True), state["ready_pct"]["vm"] if state["ready_pct"] else ""),
        (v.figures("costop", "co-stop", "%", text="Worst VM."), worst(state["costop_pct"], COSTOP)),
        *move_target.response(state, of_slower=of_slower, secondary=True),
    ]


def _lines(found: Refresh) -> Sequence[v.Block]:
    rows = [_line(each["name"], line) for each in _of(found) if each["costs"] for line in each["costs"]["lines"]]
    return v.listing("lines", "Costs by line", rows, filters=("candidate",))


def _of(found: Refresh) -> list[Candidate]:
    return [found["present"], *(each for each in found["candidates"] if each["feasible"])]


def _line(candidate: str, line: Line) -> v.Cells:
    return [
        (v.words("candidate", "candidate"), candidate),
        (v.words("label", "cost"), line["label"]),
        (v.figures("quantity", "quantity"), line["quantity"]),
        (v.words("unit", "unit"), line["unit"]),
        (v.words("price", "price"), line["price"] or "no price"),
        (
            v.figures("total", "total"),
            None if line["total"] is None else v.figure(line["total"], text=f"{line['total']:,.0f}"),
        ),
        (
            v.figures("discounted", "discounted", secondary=True),
            None if line["discounted"] is None else v.figure(line["discounted"], text=f"{line['discounted']:,.0f}"),
        ),
        (v.words("calculation", "calculation", secondary=True), line["calculation"]),
    ]


def _rules(found: Refresh) -> Sequence[v.Block]:
    lines = {line["label"]: line for each in _of(found) if each["costs"] for line in each["costs"]["lines"]}
    columns = [v.words("label", "cost"), v.words("rule", "rule"), v.words("source", "source")]
    rows = [{"label": each["label"], "rule": each["rule"], "source": each["source"]} for each in lines.values()]
    return v.table("rules", "Rules of costs", columns, [each for each in rows if each["rule"]])


def _years(found: Refresh) -> Sequence[v.Block]:
    known = [each for each in _of(found) if each["costs"] and each["costs"]["total"] is not None]
    years = found["asked"]["years"]
    columns = [v.words("name", "candidate"), *(v.figures(f"y{year}", f"year {year}") for year in range(1, years + 1))]
    rows = [
        {"name": each["name"]}
        | {f"y{at}": v.figure(value, text=f"{value:,.0f}") for at, value in enumerate(each["costs"]["per_year"], 1)}
        for each in known
        if each["costs"]
    ]
    return v.table("years", "Costs by year, not discounted", columns, rows)


def _change(found: Refresh) -> list[v.Block]:
    sensitivity = found["sensitivity"]
    if sensitivity is None:
        return []
    rows: list[v.Cells] = [
        [
            (v.words("input", "input"), each["input"]),
            (v.figures("now", "now"), each["now"]),
            (v.words("direction", "changes"), each["direction"]),
            (v.figures("at", "at"), each["break_even"]),
            (v.words("unit", "unit"), each["unit"]),
            (v.words("cheaper", "then cheaper"), each["cheaper"]),
        ]
        for each in sensitivity["rows"]
    ]
    said: list[v.Block] = [{"type": "prose", "paragraphs": [sensitivity["what_would_change"]]}]
    return [*said, *v.listing("change", "Inputs that change the ranking", rows)]


def _energy(shown: Sequence[Candidate]) -> Sequence[v.Block]:
    rows: list[v.Cells] = [
        [
            (v.words("name", "candidate"), each["name"]),
            (v.figures("load", "mean load", "%", text="Of the highest throughput of the hosts."), found["load_pct"]),
            (v.figures("power", "power", "kW", text="In brackets: the range over servers."), _kw(each)),
            (
                v.figures("energy", "energy", "MWh/year", text="Of the hosts, without cooling."),
                v.figure(
                    found["kwh_per_year"] / 1000,
                    ends=(found["kwh_per_year_low"] / 1000, found["kwh_per_year_high"] / 1000),
                ),
            ),
            (v.figures("co2", "CO2", "t", text="Of the energy with cooling, over all years."), _tonnes(each["costs"])),
        ]
        for each in shown
        if (found := each["energy"]) is not None
    ]
    return v.listing("energy", "Energy", rows)


def _tonnes(costs: Costs | None) -> v.Cell:
    emitted = None if costs is None else costs["co2_kg"]
    if emitted is None:
        return None
    return v.figure(emitted["mid"] / 1000, ends=(emitted["low"] / 1000, emitted["high"] / 1000))


def _speeds(found: Refresh) -> Sequence[v.Block]:
    rows: list[v.Cells] = [
        [
            (v.words("type", "hosts"), each["host_type"]),
            (v.words("model", "processor"), each["cpu_model"] or "unknown"),
            (v.figures("cores", "cores"), each["cores"]),
            (v.figures("clock", "clock", "MHz"), each["clock_mhz"]),
            (v.figures("rate", "throughput"), _between(each["specrate"], each["specrate_low"], each["specrate_high"])),
            (
                v.figures("core", "per core", "× now"),
                _between(each["per_core"], each["per_core_low"], each["per_core_high"]),
            ),
            (v.figures("cycle", "work per cycle"), each["work_per_cycle"]),
            (v.badges("basis", "basis"), v.badge(each["basis"], "good" if each["basis"] == "published" else "warn")),
        ]
        for each in found["speeds"]
    ]
    return v.listing("processors", f"Processors, relative to {found['reference']}", rows)


def _between(value: float | None, low: float | None, high: float | None) -> v.Cell:
    return v.figure(value, ends=(low, high) if low is not None and high is not None and low < high else None)


def _clusters(shown: Sequence[Candidate]) -> Sequence[v.Block]:
    rows: list[v.Cells] = [
        [
            (v.words("name", "candidate"), each["name"]),
            (v.words("cluster", "cluster"), cluster["cluster"]),
            (v.figures("hosts", "hosts"), cluster["hosts"]),
            (v.words("new", "new hosts"), some([f"{many} {name}" for name, many in cluster["added"].items()])),
            (v.figures("bound", "at least", "hosts", text="Proven: fewer hosts are too few."), cluster["bound"]),
            (v.words("binding", "reason"), cluster["binding"] or ""),
            (v.figures("vms", "VMs"), cluster["vms"]),
            (v.figures("ratio", "vCPUs per core"), cluster["vcpu_per_core"]),
            (v.figures("cpu", "CPU", "%"), cluster["cpu_pct"]),
            (v.figures("memory", "memory", "%"), cluster["memory_pct"]),
            (v.figures("memory_failed", "memory after failure", "%"), cluster["memory_after_failure_pct"]),
            (
                v.words("largest", "largest VM", secondary=True),
                f"{cluster['largest_vm']}: {count(cluster['largest_vm_vcpus'], 'vCPU')}, "
                f"{number(cluster['largest_vm_gib'])} GiB",
            ),
            (v.figures("stored", "data", "GiB", secondary=True), cluster["stored_gib"]),
            (v.figures("usable", "room", "GiB", secondary=True), cluster["usable_gib"]),
        ]
        for each in shown
        for cluster in each["clusters"]
    ]
    return v.listing("clusters", "Clusters", rows, filters=("name",))


def _numa(shown: Sequence[Candidate]) -> Sequence[v.Block]:
    rows: list[v.Cells] = [
        [
            (v.words("name", "candidate"), each["name"]),
            (v.words("type", "hosts"), fit["host_type"]),
            (v.figures("cores", "cores per node"), fit["cores_per_node"]),
            (v.figures("memory", "memory per node", "GiB"), fit["memory_per_node_gib"]),
            (
                v.figures("wide", "wider VMs", text="VMs with more vCPUs than the cores of a node, or more memory."),
                fit["wide_vms"],
            ),
            (v.words("widest", "widest VM"), f"{fit['widest']}: {fit['widest_vcpus']} vCPUs" if fit["widest"] else ""),
        ]
        for each in shown
        for fit in each["numa"]
    ]
    return v.listing("numa", "VMs wider than a NUMA node", rows)


def _origins(found: Refresh) -> Sequence[v.Block]:
    """Return the published figures behind throughput and power."""
    columns = [v.words("what", "figure"), v.words("text", "origin"), v.words("source", "source")]
    rows: list[v.Row] = [
        {"what": f"throughput of {each['host_type']}", "text": each["text"], "source": each["source"] or ""}
        for each in found["speeds"]
    ]
    rows += [
        {"what": f"power of {each['name']}", "text": text, "source": some(each["energy"]["source"])}
        for each in _of(found)
        if each["energy"]
        for text in each["energy"]["text"]
    ]
    return v.table("published", "Published figures", columns, rows)


def _sources(found: Refresh) -> Sequence[v.Block]:
    columns = [v.words("kind", "origin"), v.words("text", "meaning"), v.words("keys", "keys in JSON")]
    rows = [{"kind": each["kind"], "text": each["text"], "keys": ", ".join(each["keys"])} for each in found["sources"]]
    return v.table("sources", "Origin of each number", columns, rows)


def csv(found: Refresh) -> str:
    """Return one line per candidate."""
    from hypertwin.show import files

    rows = []
    for each in [found["present"], *found["candidates"]]:
        twin: Any = each["twin"] or {"normal": {}, "failure": None}
        costs: Any = each["costs"] or {}
        energy: Any = each["energy"] or {}
        response = twin["normal"].get("response") or {}
        rows.append(
            {
                "name": each["name"],
                "kind": each["kind"],
                "feasible": each["feasible"],
                "hosts": each["hosts"],
                "hosts_if_fast": each["hosts_if_fast"],
                "hosts_if_slow": each["hosts_if_slow"],
                "cores": each["cores"],
                "ready_pct": (twin["normal"].get("ready_pct") or {}).get("mean"),
                "response_median": response.get("median"),
                "watts": energy.get("watts"),
                "kwh_per_year": energy.get("kwh_per_year"),
                "currency": costs.get("currency"),
                "total": costs.get("total"),
                "discounted": costs.get("discounted"),
                "unpriced": len(costs.get("unpriced") or ()),
                "reason": each["reason"],
            }
        )
    return files.records_csv(rows)
