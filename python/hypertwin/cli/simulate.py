"""`hypertwin simulate`: run a scenario or a sweep, and show the measured figures."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hypertwin import questions
from hypertwin.calibration import file as calibration_file
from hypertwin.cli import names, options, output, progress, streams
from hypertwin.errors import short
from hypertwin.extras import needs
from hypertwin.files import writing
from hypertwin.ingest.vmware import esxtop_export
from hypertwin.plan import failover
from hypertwin.results import remarks
from hypertwin.results.simulation import Result
from hypertwin.runs import effort
from hypertwin.runs import simulation as run
from hypertwin.show import browser_core, conditions, files, measured, registry, simulation, xlsx


class Format(enum.StrEnum):
    """Format of the result."""

    table = "table"
    json = "json"
    csv = "csv"
    xlsx = "xlsx"
    parquet = "parquet"
    esxtop = "esxtop"


FailOn = enum.StrEnum("FailOn", {"suffering": "suffering", "unsteady": "unsteady", "not_steady": "not-steady"})
"""Conditions that fail a run."""


EXAMPLES = (
    "hypertwin simulate scenario.yaml --report report.html",
    "hypertwin simulate scenario.yaml --sweep vms.db.load=1,2,4 -o loads.csv",
    "hypertwin examples small-kvm | hypertwin simulate -",
)


def command(
    path: options.ScenarioFile,
    calibration: options.Calibration = None,
    *,
    asked: run.Asked,
    yes: Annotated[
        bool, typer.Option("--yes", help=f"Run even if it takes more than {effort.BUDGET:.0g} events.")
    ] = False,
    form: Annotated[
        Format | None,
        typer.Option("--format", help="Output format (default: by --out extension, else table)."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the result here; - for stdout; with esxtop, a folder."),
    ] = None,
    report: options.Report = None,
    live: Annotated[
        bool, typer.Option("--live", help="With --report: the page simulates other values itself (1.1 MB more).")
    ] = False,
    fail_on: Annotated[
        list[FailOn] | None,
        typer.Option(
            metavar="CONDITION",
            help="Exit with 1 if: a VM suffers (suffering); a point is not steady or that is unknown (unsteady); "
            "a point is not steady (not-steady). Repeatable.",
        ),
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TABLE,...",
            help=f"Tables to print: {', '.join(simulation.SHOW)} (default: answer and main tables).",
        ),
        names.Offered(lambda: simulation.SHOW, several=True),
    ] = None,
) -> None:
    """Simulate a scenario and print what esxtop, vCenter and the guest would show."""
    form, file = _checked(form, out, report), output.file_of(out)
    shown = _shown(show, form)
    if live and report is None:
        raise output.UsageError("--live is for a page: add --report FILE.html")
    if live:
        browser_core.module()
    asked = replace(asked, most_events=None if yes else effort.BUDGET)
    if form is Format.esxtop and file is not None:
        if asked.sweep or report is not None or asked.replications is not None:
            raise output.UsageError(
                "--format esxtop is what the hosts of one run record: leave out --sweep, --replications, --report"
            )
        with progress.bar("simulating", "samples") as update:
            samples = run.samples(
                calibration_file.apply(path, calibration), asked, most_events=asked.most_events, progress=update
            )
            written = esxtop_export.write(samples, file)
        streams.note(*(f"wrote {each}" for each in written))
        return
    with progress.bar("simulating") as update:
        simulated = questions.simulate(
            calibration_file.apply(path, calibration), **vars(replace(asked, progress=update))
        )
    points = simulated.document["points"]
    idle = remarks.without_effect(points, simulated.first_scenario)
    for place, sha256 in enumerate(simulated.sha256s, 1):
        streams.detail(f"SHA-256 of the core's report of point {place}: {sha256}")
    if form is not Format.table or file is not None:  # a table on stdout has them
        for warning in (*simulation.memory_warnings(points), *idle):
            streams.warn(warning)
    live_options = [] if calibration is None else ["--calibration", str(calibration)]
    page = {"live": simulated.first_scenario, "live_options": live_options} if live else {}
    _write(simulated, form, file, report, shown, idle, page)
    output.fail_on(conditions.SIMULATION, fail_on or (), simulated.document)


def _write(
    simulated: Result,
    form: Format,
    file: Path | None,
    report: Path | None,
    shown: list[str],
    idle: list[str],
    page: Mapping[str, Any],
) -> None:
    """Write the result, and the page with these further arguments."""
    result, scenario_of = simulated.document, simulated.first_scenario
    hosts = measured.of_hosts(scenario_of.inventory)
    said = [
        *failover.told(failover.of_failures(scenario_of), result["points"][0]),
        *remarks.remarks(result["points"], scenario_of),
    ]
    beside = remarks.of_page(scenario_of) if report is not None else {}
    output.write_page(registry.SIMULATION, result, report, assumptions=said, **beside, **page)
    if form is Format.parquet:
        content: str | bytes | Iterable[str] = files.to_parquet(result)
    elif form is Format.xlsx:
        content = xlsx.of_simulation(result)
    elif form is Format.json:
        content = files.json_parts(result)
    elif form is Format.csv:
        content = files.csv_parts(result)
    elif file is None:
        if shown or streams.is_explained():
            output.print_table(simulation.table(result, shown, hosts, said))
        else:
            more = ["--show TABLE,...", "--explain", "--report FILE.html"]
            output.print_table(simulation.brief(result, hosts, idle, more=more))
        return
    else:
        content = output.render(simulation.table(result, shown, hosts, said))
    if file is not None:
        output.write_file(file, lambda: content)
    elif not isinstance(content, bytes):
        streams.write(content)


def _checked(named: Format | None, out: Path | None, report: Path | None) -> Format:
    """Return the format of the result, after a check that files are writable and that the format suits stdout."""
    file = output.file_of(out)
    writing.check_writable(None if named is Format.esxtop else file, page=report)
    form = output.form_of(named, out, Format)
    output.refuse_binary(form.value, file)
    if form is Format.esxtop and file is None:
        raise output.UsageError("--format esxtop is one file for each host: say where to write them with --out FOLDER")
    if form is Format.parquet:
        needs("telemetry", "--format parquet")
    return form


def _shown(show: list[str] | None, form: Format) -> list[str]:
    """Return the tables that --show names, each once, or an empty list for the default tables."""
    if show is None:
        return []
    if form is not Format.table:
        raise output.UsageError(f"--show is for tables, and --format {form} has everything: leave one of them out")
    named = list(dict.fromkeys(name.strip() for names in show for name in names.split(",")))
    for name in named:
        if name not in simulation.SHOW:
            raise output.UsageError(f"--show {short(name)!r}; allowed: {', '.join(simulation.SHOW)}, or several")
    return named
