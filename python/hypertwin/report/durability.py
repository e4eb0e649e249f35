"""Durability and overhead of storage schemes: a table for a terminal, and a page with charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.plan import Durability, DurabilityDocument, FailedDisk, LossAt
from hypertwin.documents.space import OWN
from hypertwin.report import room
from hypertwin.report.page import Listing, Page
from hypertwin.report.table import Cells, Fitted
from hypertwin.report.words import number, some

DAY_S, HOUR_S, MINUTE_S = 86_400, 3_600, 60
LARGE = 1e6
"""Years from which a mean time is written with an exponent."""

MOST_NINES = 12
"""Nines that are shown; documents say which figures are beyond the model."""
SMALLEST = 1e-13
"""Probabilities from here on have no more nines than that."""

BEYOND = "beyond"
BEYOND_NOTE = (
    f"More than {MOST_NINES} nines, and what follows from them, are beyond what this model can say: software, people,"
    " sites and disks that fail together decide then. The JSON form has the raw figures."
)

DROPPED_FIRST = ("nines", "degraded read", "small overwrite", "any group, Backblaze", "loss/year, Backblaze")
"""Columns that are dropped in a narrow terminal, in this order."""

NOTES = (
    "Annual loss: probability that one group of copies or fragments loses its data within a year.",
    "Backblaze: more failures within one repair period than the scheme survives. Markov: failures and repairs as a "
    "birth-death chain, with the mean time to data loss (MTTDL) of one group; far beyond the age of any disk it is a "
    "rate, not a lifetime.",
    "Small overwrite: disk reads + writes, of an erasure code by parity delta. Failures are taken as independent.",
)


def facts(result: Durability) -> list[tuple[str, str]]:
    """The assumptions behind the figures, as (name, value)."""
    repair, groups = result["repair"], result["groups"]
    twin = result.get("twin")
    found = [
        *([("scenario", twin["scenario"]), ("pool", twin["pool"])] if twin else []),
        ("annual failure rate", f"{100 * result['annual_failure_rate']:.4g} %"),
        ("repair", f"{duration(repair['seconds'])}, {'one at a time' if repair['serial'] else 'in parallel'}"),
        ("groups", f"{groups:,}"),
    ]
    if result["usable_bytes"] is not None:
        found.append(("usable", size(result["usable_bytes"])))
    return found


def notes(result: Durability) -> tuple[str, ...]:
    """What a reader must know besides the figures; for a pool of a scenario also the origin of its repair time."""
    source = [f"Repair: {result['repair']['source']}.", *of_twin(result["twin"])] if "twin" in result else []
    losses = [entry[model] for entry in result["schemes"] for model in ("backblaze", "markov")]
    beyond = [BEYOND_NOTE] if any(loss["beyond_model"] for loss in losses) else []
    return (*source, *beyond, *NOTES)


def of_twin(twin: FailedDisk) -> list[str]:
    """What the rebuild costs VMs, and how much room the pool has."""
    costs = [
        f"Beside the rebuild {each['group']} gets {number(each['iops_beside'])} I/Os per second in place of"
        f" {number(each['iops'])}, and responds in {number(each['response_ms_beside'])} ms in place of"
        f" {number(each['response_ms'])} (p99 {number(each['response_ms_p99_beside'])} in place of"
        f" {number(each['response_ms_p99'])})."
        for each in twin["clients"]
    ]
    others = [each for each in twin["policies"] if each != twin["policy"]]
    if others:
        what = f"without a policy ({twin['redundancy']})" if twin["policy"] == OWN else f"of policy {twin['policy']}"
        costs.insert(0, f"Of data {what}; --policy asks for {some(others)}.")
    return [
        "Loss is by disks that fail alone: the repair time is that of one disk.",
        *costs,
        *room.notes({twin["pool"]: twin["space"]}),
        *_of_host(twin),
    ]


def _of_host(twin: FailedDisk) -> Iterator[str]:
    """How long the rebuild of a lost host takes, where there can be one."""
    host, lost = twin["host"], twin["space"]["lost_host"]
    if host is not None:
        size, whole = host["rebuilt_gib"] + host["due_gib"], host["detection_s"] + host["rebuild_s"]
        how = "measured" if host["is_measured"] else "at the rate of the runs"
        yield (
            f"A lost host ({host['failed']}): {host['detection']} until the rebuild begins, then {number(size)} GiB at"
            f" {number(host['rebuild_mb_per_s'])} MB/s, {how}: whole again {duration(whole)} after the"
            " failure. What that costs VMs is a simulation with failures."
        )
    elif lost["heals"] and lost["survives"]:
        yield "The runs saw nothing of the rebuild of a lost host: give them more time (--duration)."


def warnings(result: Durability) -> list[str]:
    """What makes the figures doubtful: a pool of which nobody said how much it holds."""
    twin = result.get("twin")
    if twin is None or not twin["stored_guessed"]:
        return []
    return [
        f"The scenario does not say what {twin['pool']} holds: it is taken to hold the VMs' working sets,"
        f" {number(twin['stored_gib'])} GiB. A fuller pool is whole again later, and loses data far more often: say"
        f" how full with --set storage.{twin['pool']}.stored=20TiB."
    ]


def lines(result: Durability) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of the table: a row per scheme; columns of the pool where there is more than one group."""
    pool, usable = result["groups"] > 1, result["usable_bytes"]
    heads = ["scheme", "raw per 100 GB" if usable is None else "raw", "survives", "small overwrite", "degraded read"]
    heads += ["loss/year, Backblaze", "nines", "loss/year, Markov", "nines", "MTTDL, years"]
    heads += ["any group, Backblaze", "any group, Markov"] if pool else []
    heads += ["bytes lost/year, Markov"] if usable is not None else []
    cells = []
    for entry in result["schemes"]:
        overhead, backblaze, markov = entry["overhead"], entry["backblaze"], entry["markov"]
        raw = overhead["raw_per_usable"]
        row = [
            entry["scheme"],
            f"{100 * raw:.0f} GB" if usable is None else size(usable * raw),
            str(overhead["survives"]),
            f"{overhead['overwrite_reads']} + {overhead['overwrite_writes']}",
            str(overhead["degraded_reads"]),
        ]
        for model in (backblaze, markov):
            nines = f">{MOST_NINES}" if model["beyond_model"] else str(model["nines"])
            row += [probability(model["annual_loss"]), nines]
        row.append(BEYOND if markov["beyond_model"] else years(entry["mttdl_years"]))
        if pool:
            row += [probability(model["pool_annual_loss"]) for model in (backblaze, markov)]
        if usable is not None:
            row.append(BEYOND if markov["beyond_model"] else size(markov["expected_bytes_lost_per_year"]))
        cells.append(row)
    return heads, cells


def table(result: Durability) -> RenderableType:
    """What `hypertwin durability --format json` prints, as a table with notes."""
    heads, cells = lines(result)
    shown = Fitted(caption(result), Cells(heads, cells, swept=0, words=1), DROPPED_FIRST)
    doubts = (Text(warning, style="bold yellow") for warning in warnings(result))
    return Group(shown, *doubts, *(Text(note, style="dim") for note in notes(result)))


def page(result: DurabilityDocument, *, curves: Mapping[str, Sequence[LossAt]]) -> Page:
    """The page: charts and table; `curves` as `plan.durability.curves` returns them."""
    return Page(
        kind="durability",
        title="Durability of redundant storage",
        document=result,
        beside={"curves": curves, "warnings": warnings(result)},
        notes=notes(result),
        tables=[Listing(caption(result), *lines(result))],
    )


def caption(result: Durability) -> str:
    """What the figures hold for."""
    return "Durability: " + ", ".join(f"{name} {value}" for name, value in facts(result))


def duration(seconds: float) -> str:
    """A time in the largest unit that it reaches."""
    for unit, length in (("d", DAY_S), ("h", HOUR_S), ("min", MINUTE_S)):
        if seconds >= length:
            return f"{seconds / length:.4g} {unit}"
    return f"{seconds:.4g} s"


def size(count: float) -> str:
    """Bytes in the largest unit of powers of 1,000 that they reach."""
    for unit, bytes_ in (("EB", 1e18), ("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= bytes_:
            return f"{count / bytes_:.4g} {unit}"
    return f"{count:.3g} B"


def probability(value: float) -> str:
    """A probability of loss, as far as the models can say."""
    return f"{value:.3e}" if value == 0 or value > SMALLEST else f"<{SMALLEST:.0e}"


def years(count: float) -> str:
    """A mean time in years."""
    return f"{count:.3e}" if count >= LARGE else f"{count:,.4g}" if count < 1000 else f"{count:,.0f}"
