"""Options shared by several commands, and the files that they name. Options of runs are in `execution/options.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from hypertwin.cli.commands import Input
from hypertwin.cli.output import Format
from hypertwin.errors import ScenarioError
from hypertwin.extras import needs


def scenario_files(path: str | Path | None, arguments: Mapping[str, Any]) -> Iterator[str | Path]:
    """Yield the scenario file, and the fio job files named by the scenario, --set and --sweep."""
    if path is None:
        return
    from hypertwin import scenario  # not every command with options has scenarios
    from hypertwin.scenario.overrides import parse_sets, parse_sweeps

    yield path
    try:
        sets = parse_sets(arguments.get("overrides") or [])
        sweeps = parse_sweeps(arguments.get("sweep") or [])
    except ScenarioError:  # refused before anything runs
        return
    swept = [(place, value) for place, values in sweeps.items() for value in values]
    yield from scenario.named_files(path, [*sets.items(), *swept])


def inventory_files(named: list[str], _arguments: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the files of sources of an inventory."""
    from hypertwin.ingest import sources  # as long to import as all else together

    for source in named:
        yield from sources.files(source)


def telemetry_files(named: list[str] | None, _arguments: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the files of sources of telemetry."""
    if not named:
        return
    needs("telemetry", "telemetry")
    from hypertwin.ingest import formats  # as long to import as all else together

    for source in named:
        yield from formats.files(source)


ScenarioFile = Annotated[
    str, Input(scenario_files), typer.Argument(metavar="SCENARIO.yaml", help="The scenario file; - for stdin.")
]
Cluster = Annotated[
    str,
    Input(scenario_files),
    typer.Argument(metavar="CLUSTER.yaml", help="A scenario, e.g. from `hypertwin import`; - for stdin."),
]
Calibration = Annotated[
    Path | None,
    Input(),
    typer.Option(
        "--calibration",
        metavar="FILE.yaml",
        help="Use parameters from `hypertwin calibrate`; --set overrides them.",
    ),
]
Form = Annotated[
    Format | None,
    typer.Option("--format", help="Output format (default: by --out extension, else table)."),
]
FormAlone = Annotated[Format | None, typer.Option("--format", help="Output format (default: table).")]
"""Output format option for commands whose `--out` is not the result."""
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Write the result here; - for stdout (default)."),
]
Report = Annotated[Path | None, typer.Option(metavar="FILE.html", help="Also write a page with charts.")]
