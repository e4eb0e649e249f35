"""View of CPU contention on this computer, predicted and then measured, and of the properties of the computer."""

from __future__ import annotations

from typing import NamedTuple

from hypertwin.documents.lab import Contention, Experiment, Group, Profile
from hypertwin.metrics.words import amount, count, number
from hypertwin.show import files
from hypertwin.show import view as v

GB, KIB = 1e9, 2**10


class Compared(NamedTuple):
    """Figure with its predicted and measured value."""

    name: str
    key: str
    error: str
    unit: str
    of: str
    """Unit of the error."""


FIGURES = (
    Compared("throughput", "throughput_per_s", "throughput_pct", "1/s", "%"),
    Compared("mean response", "response_ms_mean", "response_mean_pct", "ms", "%"),
    Compared("p95 response", "response_ms_p95", "response_p95_pct", "ms", "%"),
    Compared("run-queue wait", "wait_pct", "wait_points", "% of time", "points"),
)

NOTES = (
    "Wait: part of wall time in which a thread is ready but does not run (schedstat), including time with a used-up"
    " quota. In the twin it is Ready.",
    "Runs: counted of made. ±: half the range over the counted runs. Steal, others: CPU time of other guests and other"
    " processes in the worst of them. Disturbed: no run was quiet, so all count.",
)


def csv(found: Contention) -> str:
    """Return a line for each group of threads of each experiment."""
    rows = ({"experiment": each["experiment"], **row} for each in found["experiments"] for row in each["rows"])
    return files.records_csv(rows)


def view(found: Contention) -> v.View:
    """Return the view of contention."""
    experiments, processor = found["experiments"], found["machine"]["processor"]
    flagged = [each["experiment"] for each in experiments if each["flagged"]]
    altered = [each["experiment"] for each in experiments if each.get("prediction_unchanged") is False]
    medians = [(each, found["medians"].get(each.error), found["promised"][each.error]) for each in FIGURES]
    beyond = [each.name for each, median, most in medians if median is not None and median > most]
    said = [f"{each.name} {number(median)} {each.of}" for each, median, _ in medians if median is not None]
    verdict = f"{v.listed(beyond)} beyond the promise" if beyond else "all within the promise"
    text = f"The twin's median error over {count(len(experiments), 'experiment')} is {v.listed(said)}: {verdict}."
    sure = (
        f"Each experiment ran {count(found['repeat'], 'time')} for {number(found['seconds'])} s, after its prediction."
    )
    confidence = [v.badge(sure)]
    if flagged:
        confidence.append(v.badge(f"Disturbed: {v.listed(flagged)}. Measure again when the machine is idle.", "warn"))
    if altered:
        confidence.append(v.badge(f"The prediction of {v.listed(altered)} was changed after it was made.", "bad"))
    if processor["virtual"]:
        confidence.append(v.badge("This computer is a VM: it shares its CPUs with others.", "note"))
    tones: dict[bool | None, v.Tone] = {True: "good", False: "bad", None: "plain"}
    met = {each: None if median is None else median <= most for each, median, most in medians}
    shown = {each: "not measured" if median is None else f"{number(median)} {each.of}" for each, median, _ in medians}
    return {
        "title": "Predicted, then measured",
        "answer": {
            "tone": "bad" if beyond and experiments else "warn" if flagged or not experiments else "good",
            "text": text if experiments else "No experiment was made.",
        },
        "promises": [
            {
                "text": f"Median error of {each.name} at most {number(most)} {each.of}",
                "met": met[each],
                "note": shown[each],
            }
            for each, _, most in medians
        ],
        "confidence": confidence,
        "cards": [
            *(
                v.card(each.name, shown[each], f"promised {number(most)}", tones[met[each]])
                for each, _, most in medians
            ),
            v.card("CPU", processor["model"], f"Linux {found['machine']['kernel']['release']}"),
        ],
        "sections": [
            *v.section("charts", "Predicted against measured", v.charts(_charts(found))),
            *v.section(
                "experiments",
                "Experiments",
                _table(found),
                v.items(f"{each['experiment']}: {each['description']}" for each in experiments),
            ),
        ],
        "notes": _skipped(found),
        "assumptions": [*NOTES, f"Scenarios, predictions and measurements: {found['out']}"],
    }


def _skipped(found: Contention) -> list[str]:
    """Return a note for each reason why experiments or runs could not be made."""
    made = {each["experiment"] for each in found["experiments"]}
    names: dict[tuple[str, str], list[str]] = {}
    for each in found["skipped"]:
        word = "" if each["experiment"] in made else "Skipped "
        names.setdefault((word, each["reason"]), []).append(each["experiment"])
    return [f"{word}{v.listed(own)}: {reason}." for (word, reason), own in names.items()]


def _charts(found: Contention) -> list[v.Chart]:
    rows = [(each, row) for each in found["experiments"] for row in each["rows"]]
    return [_chart(found, each, rows) for each in FIGURES] if rows else []


def _chart(found: Contention, of: Compared, rows: list[tuple[Experiment, Group]]) -> v.ScatterChart:
    median = found["medians"].get(of.error)
    error = "" if median is None else f"Median absolute error {number(median)} {of.of}. "

    def told(each: Experiment, row: Group) -> str:
        predicted, measured = (amount(side[of.key], of.unit) for side in (row["predicted"], row["measured"]))
        off = f"{row['errors'][of.error]:+.3g} {of.of}"
        return f"{each['experiment']}, {row['group']}: predicted {predicted}, measured {measured} ({off})"

    points: list[v.MarkedPoint] = [
        {
            "x": row["measured"][of.key],
            "y": row["predicted"][of.key],
            "colour": v.TWIN,
            "hollow": each["flagged"],
            "text": told(each, row),
        }
        for each, row in rows
    ]
    worst = max(rows, key=lambda each: abs(each[1]["errors"][of.error]))
    return {
        "type": "scatter",
        "id": of.key.replace("_", "-"),
        "title": of.name,
        "text": f"{error}Hollow: disturbed by other work.",
        "alternative": f"Furthest off: {told(*worst)}.",
        "x": v.axis("measured", of.unit, begin=0),
        "y": v.axis("predicted", of.unit, begin=0),
        "marks": [{"name": "groups of threads", "symbol": "circle", "points": points}],
        "diagonal": {},
    }


def _table(found: Contention) -> list[v.Tabled]:
    columns = [
        v.words("experiment", "experiment"),
        v.words("group", "group"),
        v.badges("state", "state", secondary=True),
    ]
    for of in FIGURES:
        columns += [
            v.figures(f"{of.key}.predicted", f"{of.name}, predicted", of.unit),
            v.figures(f"{of.key}.measured", f"{of.name}, measured", of.unit),
            v.figures(of.error, f"{of.name}, off", of.of),
        ]
    columns += [
        v.words("runs", "runs", text="Counted of made.", secondary=True),
        v.figures("steal", "steal", "%", text="CPU time of other guests in the worst run.", secondary=True),
        v.figures("foreign", "others", "%", text="CPU time of other processes in the worst run.", secondary=True),
    ]
    rows: list[v.Row] = []
    for each in found["experiments"]:
        state = v.badge("disturbed", "warn") if each["flagged"] else v.badge("undisturbed", "good")
        for row in each["rows"]:
            cells: dict[str, v.Cell] = {"experiment": each["experiment"], "group": row["group"], "state": state}
            for of in FIGURES:
                cells[f"{of.key}.predicted"] = row["predicted"][of.key]
                cells[f"{of.key}.measured"] = v.figure(row["measured"][of.key], half_width=row["spread"].get(of.key))
                cells[of.error] = row["errors"][of.error]
            cells |= {"runs": f"{each['runs_counted']} of {each['runs']}", "steal": each["steal_pct"]}
            rows.append({**cells, "foreign": each["foreign_pct"]})
    caption = "Each group of threads, ± half the range over the runs"
    return v.table("experiments", caption, columns, rows, filters=["experiment", "state"])


def profile_view(found: Profile) -> v.View:
    """Return the view of a machine."""
    columns = [v.words("what", "what"), v.words("figure", "figure"), v.words("spread", "spread")]
    rows = [dict(zip(("what", "figure", "spread"), line, strict=True)) for line in profile_lines(found)]
    return v.tabular("This machine", v.table("profile", "", columns, rows))


def profile_lines(found: Profile) -> list[tuple[str, str, str]]:
    """Return (name, figure, spread) of each property in a machine.json."""
    processor, kernel, topology = found["processor"], found["kernel"], found["topology"]
    cores = {(cpu["socket"], cpu["core"]) for cpu in topology["cpus"]}
    clock = "unknown" if processor["clock_hz"] is None else f"{processor['clock_hz'] / GB:.2f} GHz"
    spin, timers, switch, noise = found["spin"], found["timers"], found["context_switch_ns"], found["noise"]
    lines = [
        ("CPU", processor["model"] + (" (virtual machine)" if processor["virtual"] else ""), ""),
        ("nominal clock", clock, processor["clock_source"]),
        (
            "topology",
            f"{len({cpu['socket'] for cpu in topology['cpus']})} sockets, {len(cores)} cores, {len(topology['cpus'])} "
            f"logical CPUs, {len(topology['nodes'])} nodes",
            "",
        ),
        (
            "caches",
            ", ".join(
                f"L{each['level']} {each['type'][:4]} {each['size_bytes'] // KIB} KiB" for each in topology["caches"]
            ),
            "",
        ),
        ("kernel", kernel["release"], f"{kernel['hz']} Hz ({kernel['hz_source']})"),
        ("base slice", f"{kernel['base_slice_ns'] / 1e6:g} ms", kernel["base_slice_source"]),
        ("spin kernel", f"{spin['units_per_s'] / 1e6:.0f} M units/s", f"{spin['spread_pct']:.1f} %"),
        ("spin, all cores over one", f"{spin['together_over_alone']:.3f}", ""),
    ]
    if found["smt"] is not None:
        lines.append(("SMT yield", f"{found['smt']['yield']:.2f}", f"{found['smt']['spread_pct']:.1f} %"))
    lines += [
        ("sleep ends late by", f"{timers['typical_ns'] / 1e3:.0f} us", f"p99 {timers['p99_ns'] / 1e3:.0f} us"),
        ("context switch", f"{switch['median'] / 1e3:.2f} us", f"{switch['spread_pct']:.1f} %"),
    ]
    for each in found["bandwidth"]:
        where = "all nodes" if each["node"] is None else f"node {each['node']}"
        rates = ", ".join(
            f"{name} {each[f'{name}_bytes_per_s']['most'] / GB:.1f}"  # type: ignore[literal-required]
            for name in ("copy", "scale", "add", "triad")
        )
        lines.append(
            (
                f"bandwidth, {each['threads']} threads, {where}",
                f"{rates} GB/s",
                f"{each['triad_bytes_per_s']['spread_pct']:.1f} %",
            )
        )
    coding = found["erasure_coding"]
    for row in coding.get("rows", []):
        if row["operation"] == "encode":
            where = f"{row['working_set']}, {row['scheme']}"
            lines.append((f"erasure coding, {where}", f"{row['cycles_per_byte']:.3f} cycles/byte", ""))
    if "skipped" in coding:
        lines.append(("erasure coding", "-", coding["skipped"].splitlines()[0]))
    disk = found["disk"]
    lines += [
        (
            f"disk {row['kind']} 4k, depth {row['depth']}",
            f"{row['iops']:.0f} IOPS, {row['latency_ms_mean']:.3f} ms",
            f"{row['iops_spread_pct']:.1f} %",
        )
        for row in disk.get("rows", [])
    ]
    if "skipped" in disk:
        lines.append(("disk", "-", disk["skipped"]))
    lines.append(
        (
            "noise",
            f"steal {noise['steal_pct']:.1f} %, load {noise['load']:.1f}",
            f"{noise['lost_pct']:.1f} % lost to others",
        )
    )
    return lines
