"""Other forms of a campaign: a table of its runs, and a study for `hypertwin validate`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hypertwin.benchmark.folder import STUDY, Folder
from hypertwin.benchmark.judged import LEAST_PCT, TAIL_FACTOR, allowed_pct
from hypertwin.documents import benchmark as documents
from hypertwin.files import writing
from hypertwin.files.yaml_writing import to_yaml
from hypertwin.metrics.metric_path import dotted
from hypertwin.scenario import Scenario

if TYPE_CHECKING:
    import polars

COLUMNS = (
    *("case", "metric", "twin", "published", "unit", "origin", "kind", "accept", "expected_class", "unreachable"),
    "note",
)


def table(steps: Sequence[documents.Step]) -> polars.DataFrame:
    """Return a row for each VM of each run, and one for all VMs together, with every measured figure."""
    import polars as pl

    rows: list[dict[str, Any]] = []
    for step in steps:
        for run in step["runs"]:
            start = {"step": step["name"], "vms": step["vms"], "repeat": run["repeat"], "started": run["started"]}
            values = {f"load_{key}": str(value) for key, value in step["values"].items()}
            for vm, figures in (("", run["figures"]), *run["vms"].items()):
                rows.append({**start, **values, "vm": vm, **figures})
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return pl.DataFrame({column: [row.get(column) for row in rows] for column in columns}, strict=False)


def study(folder: Folder, scenario: Scenario, document: documents.Benchmark, load: str) -> None:
    """Write the campaign as a study, with the scenario of the prediction. Steps before it are calibrated figures."""
    steps = [step for step in document["steps"] if step["runs"] and step["set"]]
    if not steps:
        return
    writing.make(folder.path / STUDY)
    source = f"benchmark {document['name']} ({load}), {document['first_run'] or 'date unknown'}"
    cases = {step["name"]: step["set"] for step in steps}
    head = {"title": f"Benchmark {document['name']}", "source": source, "cases": cases}
    if any(figure["spread_pct"] for step in steps for figure in step["figures"]):
        head["spread"] = "largest minus smallest repeat, in the note of each figure"
    calibrated = [step["name"] for step in steps if step["calibration"]]
    if document["calibrated_on"] and calibrated:
        fitted = f"the figures of {', '.join(calibrated)}"
        head["parameters"] = dict.fromkeys(folder.json("calibration.json") or (), fitted)
    folder.write(f"{STUDY}/scenario.yaml", scenario.to_yaml())
    folder.write(f"{STUDY}/study.yaml", to_yaml(head))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, COLUMNS)
    writer.writeheader()
    writer.writerows(_rows(document, steps))
    folder.write(f"{STUDY}/published.csv", stream.getvalue())


def _rows(document: documents.Benchmark, steps: Sequence[documents.Step]) -> Iterator[dict[str, Any]]:
    for step in steps:
        for figure in step["figures"]:
            kind, spread = figure["kind"], figure["spread_pct"]
            if kind not in ("tail", *LEAST_PCT):
                continue
            allowed = None if kind == "tail" else allowed_pct(kind, spread)
            is_open = kind != "tail" and allowed is None
            yield {
                "case": step["name"],
                "metric": figure["title"],
                "twin": f"groups.{document['group']}.{dotted(figure['metric'])}",
                "published": f"{figure['measured']:.6g}",
                "unit": figure["unit"],
                "origin": "published",
                "kind": "calibrated" if step["calibration"] else "predicted",
                "accept": f"x{TAIL_FACTOR:g}" if kind == "tail" else f"±{allowed or LEAST_PCT[kind]:.6g} %",
                "expected_class": step["limit"]["measured"] if any(run["views"] for run in step["runs"]) else "",
                "unreachable": f"the repeats differ by {spread:.0f} %, too much for a verdict" if is_open else "",
                "note": "" if spread is None else f"spread of {len(step['runs'])} repeats {spread:.1f} %",
            }
