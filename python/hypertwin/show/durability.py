"""View of the durability and overhead of storage schemes, with sufficient schemes and their cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from hypertwin import language
from hypertwin.documents.plan import Durability, FailedDisk, LossAt, Scheme
from hypertwin.documents.space import OWN
from hypertwin.metrics.words import REST_OF_REBUILD, count, number, some
from hypertwin.show import room
from hypertwin.show import view as v

DAY_S, HOUR_S, MINUTE_S = 86_400, 3_600, 60
LARGE = 1e6
"""Number of years from which a mean time is written with an exponent."""

MOST_NINES = 12
"""Maximum number of nines to show. Documents mark figures beyond the model."""
SMALLEST = 1e-13
"""Smallest probability that affects the number of nines."""

BEYOND = "beyond"
BEYOND_NOTE = (
    f"Do not rely on more than {MOST_NINES} nines, or on figures derived from them. Software faults, human error, the"
    " loss of a site, or disks that fail together are then more likely causes. The JSON has the raw figures."
)

NEVER, SELDOM, OFTEN = 1e-9, 1e-6, 1e-4
"""Annual probabilities of loss.

Below the first a loss practically never occurs, below the second once in a million years, and from the third on there
is a warning.
"""

LEVELS = (4, 6, 9, 11)
"""Common requirements of buyers, in nines."""

NOTES = (
    "Annual loss: probability that one group of replicas or fragments loses its data within a year.",
    "Backblaze: more failures within one repair period than the scheme tolerates. Markov: failures and repairs as a "
    "birth-death chain. MTTDL is the mean time to data loss of one group: a rate, not a lifetime.",
    "Small overwrite: disk reads + writes (erasure codes by parity delta). Failures are assumed to be independent.",
)


def facts(result: Durability) -> list[tuple[str, str]]:
    """Return the assumptions behind the figures, as (name, value)."""
    repair, groups = result["repair"], result["groups"]
    twin = result.get("twin")
    found = [
        *([("scenario", twin["scenario"]), ("pool", twin["pool"])] if twin else []),
        ("annual failure rate", f"{100 * result['annual_failure_rate']:.4g} %"),
        ("repair time", f"{duration(repair['seconds'])} ({'one at a time' if repair['serial'] else 'in parallel'})"),
        ("placement groups" if twin and groups == twin["placement_groups"] else "groups", f"{groups:,}"),
    ]
    if result["usable_bytes"] is not None:
        found.append(("usable data", size(result["usable_bytes"])))
    return found


def notes(result: Durability) -> tuple[str, ...]:
    """Return notes on the figures. For a pool of a scenario, the origin of its repair time is added."""
    source = [f"Repair: {result['repair']['source']}.", *of_twin(result["twin"])] if "twin" in result else []
    losses = [entry[model] for entry in result["schemes"] for model in ("backblaze", "markov")]
    beyond = [BEYOND_NOTE] if any(loss["beyond_model"] for loss in losses) else []
    return (*source, *beyond, *NOTES)


def of_twin(twin: FailedDisk) -> list[str]:
    """Return the cost of the rebuild for VMs, and the pool's capacity."""
    costs = [
        f"Effect of the rebuild on {each['group']}: {v.arrow(each['iops'], each['iops_beside'])} I/Os per second,"
        f" response {v.arrow(each['response_ms'], each['response_ms_beside'], 'ms')},"
        f" p99 {v.arrow(each['response_ms_p99'], each['response_ms_p99_beside'], 'ms')}."
        for each in twin["clients"]
    ]
    others = [each for each in twin["policies"] if each != twin["policy"]]
    if others:
        what = f"without a policy ({twin['redundancy']})" if twin["policy"] == OWN else f"with policy {twin['policy']}"
        costs.insert(0, f"Figures are for data {what}. For {some(others)} use --policy.")
    return [
        "The repair time is that of one disk, because only failures of single disks count.",
        *costs,
        *room.notes({twin["pool"]: twin["space"]}),
        *_of_host(twin),
    ]


def _of_host(twin: FailedDisk) -> Iterator[str]:
    """Return the rebuild time of a lost host, if data survive the loss of a host."""
    host, lost = twin["host"], twin["space"]["lost_host"]
    if host is not None:
        size, whole = host["rebuilt_gib"] + host["due_gib"], host["detection_s"] + host["rebuild_s"]
        how = "simulated" if host["is_measured"] else f"by {REST_OF_REBUILD}"
        yield (
            f"A lost host ({host['failed']}) is recovered {duration(whole)} after its failure: {host['detection']}"
            f" until the rebuild begins, then {number(size)} GiB at {number(host['rebuild_mb_per_s'])} MB/s ({how})."
            " Simulate the failure to see its effect on VMs."
        )
    elif lost["heals"] and lost["survives"]:
        yield "The runs ended before the rebuild of a lost host: use a longer --duration."


def warnings(result: Durability) -> list[str]:
    """Return a warning if the amount of data in a pool is assumed."""
    twin = result.get("twin")
    if twin is None or not twin["stored_guessed"]:
        return []
    return [
        f"Assumed: {twin['pool']} stores the working sets of VMs, {number(twin['stored_gib'])} GiB. A fuller pool"
        " recovers later and loses data far more often: set the stored data, such as"
        f" --set storage.{twin['pool']}.stored=20TiB."
    ]


def view(result: Durability, curves: Mapping[str, Sequence[LossAt]] | None = None) -> v.View:
    """Return the view of schemes. `curves` as `plan.durability.curves` returns them."""
    repair, twin = result["repair"], result.get("twin")
    rate = f"{100 * result['annual_failure_rate']:.4g}%"
    sure = [v.badge(text, "warn") for text in warnings(result)]
    if twin is None:
        text = f"Assumed: a repair time of {duration(repair['seconds'])}, and that {rate} of the disks fail each year."
        sure.append(v.badge(text))
    elif not twin["is_measured"]:
        text = f"The simulation ended before the rebuild: repair time by {REST_OF_REBUILD}."
        sure.append(v.badge(text, "warn"))
    if not (twin or len(result["schemes"]) == 1):  # else the answer has it
        sure.append(v.badge("Not in these figures: a bad batch, a fire, an operator error.", "note"))
    how = "one lost part after the other" if repair["serial"] else "lost parts in parallel"
    cards = [
        v.card("Disks that fail in a year", rate),
        v.card("Repair", duration(repair["seconds"]), how),
        v.card("Groups", f"{result['groups']:,}", "of replicas or fragments"),
    ]
    if result["usable_bytes"] is not None:
        cards.append(v.card("Usable", size(result["usable_bytes"]), "the user's data"))
    if twin:
        rebuilt = f"at {number(twin['rebuild_mb_per_s'])} MB/s, mean of {count(twin['replications'], 'run')}"
        cards.append(v.card("Rebuilt", f"{number(twin['rebuilt_gib'])} GiB", rebuilt))
    drawn: list[v.Chart] = [_cost_chart(result), *([_loss_chart(result, curves)] if curves else [])]
    title = "The scheme" if len(result["schemes"]) == 1 else "All schemes"
    return {
        "title": f"Durability of {twin['pool']} in {twin['scenario']}" if twin else "Durability of redundant storage",
        "answer": _answer(result),
        "promises": [],
        "confidence": sure,
        "cards": cards,
        "sections": [
            *v.section("charts", "Cost, failures and repair", v.charts(drawn)),
            *v.section("schemes", title, _table(result)),
        ],
        "assumptions": notes(result),
    }


def how_often(loss: float) -> str:
    """Return an annual probability of loss in words."""
    if loss < NEVER:
        return "practically never lose data"
    if loss < SELDOM:
        return "lose data less than once in a million years"
    return f"lose data about once in {count(max(1, round(1 / loss)), 'year')}"


def _stops_writes(scheme: str) -> Iterator[str]:
    """Yield the state before data loss, if a write needs more parts than a read."""
    code = language.redundancy(scheme)
    lost = code.width - code.minimum + 1
    if code.minimum > code.needed and lost <= code.failures_tolerated:
        stops = "stops" if lost == 1 else "stop"
        yield f"{count(lost, 'lost part')} of one group {stops} its writes until one is recovered."


def _nines(loss: float) -> float:
    return math.floor(-math.log10(loss) + 1e-9) if loss > 0 else math.inf


def _worst(scheme: Scheme) -> float:
    """Return the annual loss of all groups, by the more pessimistic of both models."""
    return max(scheme["markov"]["pool_annual_loss"], scheme["backblaze"]["pool_annual_loss"])


def _raw(scheme: Scheme) -> float:
    return 100 * scheme["overhead"]["raw_per_usable"]


def _shown(loss: float) -> str:
    return f"more than {MOST_NINES}" if _nines(loss) > MOST_NINES else number(_nines(loss))


def _of_groups(result: Durability) -> str:
    return f"any of {count(result['groups'], 'group')}" if result["groups"] > 1 else "a group"


def _answer(result: Durability) -> v.Answer:
    """Return the durability of a pool, or the cheapest scheme for each number of nines."""
    twin, schemes = result.get("twin"), result["schemes"]
    if twin or len(schemes) == 1:
        only = schemes[0]
        name = f"Pool {twin['pool']} ({only['scheme']})" if twin else only["scheme"]
        measured = f", simulated for {twin['failed']}" if twin and twin["is_measured"] else ""
        worst = _worst(only)
        return {
            "tone": "warn" if worst >= OFTEN else "plain",
            "text": f"{name}: disk failures alone {how_often(worst)} ({_shown(worst)} nines a year). 100 GB of"
            f" data need {number(_raw(only))} GB raw.",
            "more": [
                f"A lost part is recovered after {duration(result['repair']['seconds'])}{measured}.",
                *_stops_writes(only["scheme"]),
                "More likely, and not in these figures: a bad batch of disks, a fire, an operator error.",
            ],
        }
    best = {}
    for level in LEVELS:
        enough = [each for each in schemes if _nines(_worst(each)) >= level]
        if enough:
            best[level] = min(enough, key=lambda each: (_raw(each), _worst(each)))
    most = max(best, default=None)
    more = [
        f"For {level} nines: {scheme['scheme']}, {number(_raw(scheme))} GB raw per 100 GB."
        for level, scheme in best.items()
        if level != most
    ]
    more += [f"No scheme here has {level} nines or more." for level in LEVELS if level not in best][:1]
    more.append(
        f"Nines are those of one minus the probability that {_of_groups(result)} loses data within a year, by the more"
        " pessimistic model."
    )
    text = f"None of {count(len(schemes), 'scheme')} reaches {LEVELS[0]} nines."
    if most is not None:
        cheap = f"{best[most]['scheme']} needs the least capacity: {number(_raw(best[most]))} GB raw per 100 GB"
        text = f"For {most} nines a year {cheap}, of {count(len(schemes), 'scheme')}."
    return {"tone": "plain", "text": text, "more": more}


def _cost_chart(result: Durability) -> v.ScatterChart:
    schemes = result["schemes"]
    cheap, safe = min(schemes, key=_raw), min(schemes, key=_worst)
    marks: list[v.Marks] = []
    for colour, each in enumerate(schemes):
        lost = each["markov"]["pool_annual_loss"]
        text = f"{each['scheme']}: {number(_raw(each))} GB raw per 100 GB, annual loss {probability(lost)}"
        points: list[v.MarkedPoint] = [{"x": _raw(each), "y": lost, "colour": colour, "text": text}]
        if lost > 0:
            symbol: Literal["diamond", "circle"] = "diamond" if each["scheme"].startswith("replicas") else "circle"
            marks.append({"name": each["scheme"], "symbol": symbol, "points": points})
    return {
        "type": "scatter",
        "id": "cost",
        "title": "The cost of durability",
        "text": f"By the Markov model, for {_of_groups(result)}. Down and left is better. Diamonds: replicas.",
        "alternative": f"Cheapest: {cheap['scheme']} with {number(_raw(cheap))} GB raw per 100 GB."
        f" Safest: {safe['scheme']}, annual loss {probability(_worst(safe))}.",
        "x": v.axis("raw GB per 100 GB usable", begin=90),
        "y": v.axis("annual loss", scale="log"),
        "marks": marks,
    }


def _loss_chart(result: Durability, curves: Mapping[str, Sequence[LossAt]]) -> v.LineChart:
    places = sorted({point["repair_s"] for points in curves.values() for point in points})
    colours = {each["scheme"]: place for place, each in enumerate(result["schemes"])}
    said = [
        f"{name} from {probability(points[0]['markov'])} to {probability(points[-1]['markov'])}"
        for name, points in list(curves.items())[:3]
        if points
    ]
    losses = {name: {point["repair_s"]: point["markov"] for point in points} for name, points in curves.items()}
    seconds = result["repair"]["seconds"]
    return {
        "type": "lines",
        "id": "repair",
        "title": "Annual loss against repair time",
        "text": f"By the Markov model, for {_of_groups(result)}. Dashed: replicas. The line across: this repair time.",
        "alternative": f"The faster a lost part is recovered, the less is lost: {', '.join(said)}.",
        "x": v.axis("repair time", "days", scale="log"),
        "y": v.axis("annual loss", scale="log"),
        "places": [each / DAY_S for each in places],
        "series": [
            {
                "name": name,
                "values": [by.get(each) or None for each in places],
                "colour": colours.get(name, place),
                "dash": "dashed" if name.startswith("replicas") else "solid",
            }
            for place, (name, by) in enumerate(losses.items())
        ],
        "moments": [{"x": seconds / DAY_S, "number": 1, "text": f"repair time {duration(seconds)}", "tone": "note"}],
    }


def _table(result: Durability) -> Sequence[v.Block]:
    usable = result["usable_bytes"]
    by_backblaze = "Of one group: more failures within a repair than the scheme survives."
    by_markov = "Of one group: failures and repairs as a birth-death chain."
    columns = [
        v.words("scheme", "scheme"),
        v.figures("raw", "raw per 100 GB", "GB") if usable is None else v.figures("raw", "raw"),
        v.figures("failures_tolerated", "failures tolerated", text="Lost parts of a group that data outlive."),
        v.figures("overwrite", "small overwrite", text="Disk reads + writes.", secondary=True),
        v.figures("degraded", "degraded read", text="Disk reads while a part is missing.", secondary=True),
        v.figures("markov", "loss/year, Markov", text=by_markov),
        v.figures("markov_nines", "nines, Markov"),
        v.figures("mttdl", "MTTDL", "years", text="Mean time to data loss of one group: a rate, not a lifetime."),
        v.figures("backblaze", "loss/year, Backblaze", text=by_backblaze, secondary=True),
        v.figures("backblaze_nines", "nines, Backblaze", secondary=True),
    ]
    if result["groups"] > 1:
        columns.append(v.figures("pool_markov", "any group, Markov"))
        columns.append(v.figures("pool_backblaze", "any group, Backblaze", secondary=True))
    if usable is not None:
        columns.append(v.figures("lost", "bytes lost/year, Markov", secondary=True))
    rows = [_row(each, usable) for each in result["schemes"]]
    return v.table("schemes", caption(result), columns, rows, ascending="raw")


def _row(entry: Scheme, usable: int | None) -> v.Row:
    overhead, markov = entry["overhead"], entry["markov"]
    reads, writes = overhead["overwrite_reads"], overhead["overwrite_writes"]
    raw, lost = overhead["raw_per_usable"], markov["expected_bytes_lost_per_year"] if usable else 0.0
    row: dict[str, v.Cell] = {
        "scheme": entry["scheme"],
        "raw": 100 * raw if usable is None else v.figure(usable * raw, text=size(usable * raw)),
        "failures_tolerated": overhead["failures_tolerated"],
        "overwrite": v.figure(reads + writes, text=f"{reads} + {writes}"),
        "degraded": overhead["degraded_reads"],
        "mttdl": v.figure(entry["mttdl_years"], text=BEYOND if markov["beyond_model"] else years(entry["mttdl_years"])),
        "lost": v.figure(lost, text=BEYOND if markov["beyond_model"] else size(lost)),
    }
    for name, loss in (("backblaze", entry["backblaze"]), ("markov", markov)):
        nines = f">{MOST_NINES}" if loss["beyond_model"] else str(loss["nines"])
        row[name] = v.figure(loss["annual_loss"], text=probability(loss["annual_loss"]))
        row[f"{name}_nines"] = v.figure(loss["nines"], text=nines)
        row[f"pool_{name}"] = v.figure(loss["pool_annual_loss"], text=probability(loss["pool_annual_loss"]))
    return row


def caption(result: Durability) -> str:
    """Return the basis of the figures."""
    return "Durability: " + ", ".join(f"{name} {value}" for name, value in facts(result))


def duration(seconds: float) -> str:
    """Return a time in the largest unit that fits."""
    for unit, length in (("d", DAY_S), ("h", HOUR_S), ("min", MINUTE_S)):
        if seconds >= length:
            return f"{seconds / length:.4g} {unit}"
    return f"{seconds:.4g} s"


def size(count: float) -> str:
    """Return the bytes in the largest fitting unit of powers of 1,000."""
    for unit, bytes_ in (("EB", 1e18), ("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= bytes_:
            return f"{count / bytes_:.4g} {unit}"
    return f"{count:.3g} B"


def probability(value: float) -> str:
    """Return a probability of loss, within the limits of the models."""
    return f"{value:.3e}" if value == 0 or value > SMALLEST else f"<{SMALLEST:.0e}"


def years(count: float) -> str:
    """Return a mean time in years."""
    return f"{count:.3e}" if count >= LARGE else f"{count:,.4g}" if count < 1000 else f"{count:,.0f}"
