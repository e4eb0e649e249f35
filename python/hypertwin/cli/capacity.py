"""`hypertwin capacity`: how full clusters are, now and after a failure, and what still fits."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated, Any

import typer

from hypertwin import scenario, writing
from hypertwin.cli import options, output
from hypertwin.cli.commands import Input
from hypertwin.cli.vnuma import of_option
from hypertwin.errors import ScenarioError
from hypertwin.plan import capacity
from hypertwin.report import capacity as shown
from hypertwin.report import files, registry


class Format(enum.StrEnum):
    """Form of the result."""

    table = "table"
    json = "json"
    csv = "csv"


class Demand(enum.StrEnum):
    """Which demand of CPU counts."""

    mean = "mean"
    p95 = "p95"
    peak = "peak"


class Show(enum.StrEnum):
    """What tables and CSV show."""

    capacity = "capacity"
    reclaimable = "reclaimable"


def command(
    path: Annotated[
        str,
        Input(options.scenario_files),
        typer.Argument(metavar="CLUSTER.yaml", help="A scenario, such as `hypertwin import` writes."),
    ],
    failures: Annotated[int, typer.Option(metavar="N", help="Hosts of each cluster that may fail.")] = 1,
    cpu: Annotated[str, typer.Option(metavar="P%", help="CPU that may be used then.")] = "80%",
    memory: Annotated[str, typer.Option(metavar="P%", help="Memory that may be used then.")] = "90%",
    ratio: Annotated[
        float | None, typer.Option(metavar="R", help="vCPUs that a core may have (default: no limit).")
    ] = None,
    demand: Annotated[Demand, typer.Option(help="Which demand of CPU counts, where it was measured.")] = Demand.p95,
    vm: Annotated[
        str | None,
        typer.Option(metavar="4x16GiB[x900MHz]", help="The VM to count (default: the mean of those that there are)."),
    ] = None,
    licence_minimum: Annotated[
        int, typer.Option(metavar="N", help="Cores that a processor's licence covers at least.")
    ] = 16,
    cluster: Annotated[str | None, typer.Option(metavar="NAME", help="Only this cluster.")] = None,
    limits: Annotated[
        Path | None,
        Input(),
        typer.Option(metavar="LIMITS.yaml", help="Limits of single clusters, which override these options."),
    ] = None,
    sets: options.Sets = None,
    show: Annotated[Show, typer.Option(help="What tables and CSV show; JSON has everything.")] = Show.capacity,
    form: Annotated[
        Format | None, typer.Option("--format", help="Form of the result (default: by --out's ending, else table).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the result here instead of to stdout.")
    ] = None,
    report: options.Report = None,
) -> None:
    """Say how full clusters are, now and without their largest hosts, and what still fits."""
    arguments: dict[str, Any] = dict(locals())
    form = form or _by_ending(out)
    writing.check_writable(out, page=report)
    try:
        found = capacity.capacity(
            path,
            failures=failures,
            cpu=cpu,
            memory=memory,
            ratio=ratio,
            demand=demand.value,
            vm=vm,
            licence_minimum=licence_minimum,
            cluster=cluster,
            limits=limits,
            overrides=scenario.parse_sets(sets or []),
        )
    except ScenarioError as error:
        raise ScenarioError.of(
            of_option(each, arguments) if each.path in arguments and not each.file else each for each in error.mistakes
        ) from None
    output.write_page(registry.CAPACITY, found, report)
    if form is Format.json:
        content = files.to_json(found)
    elif form is Format.csv:
        content = shown.csv(found) if show is Show.capacity else shown.reclaimable_csv(found)
    else:
        view = shown.table if show is Show.capacity else shown.reclaimable_table
        table = view(found, output.terminal_width() if out is None else output.PLAIN_WIDTH)
        if out is None:
            output.print_table(table)
            return
        content = output.render(table)
    if out is None:
        output.write(content)
    else:
        output.write_file(out, lambda: content)


def _by_ending(out: Path | None) -> Format:
    endings = {".json": Format.json, ".csv": Format.csv}
    return endings.get(out.suffix.lower(), Format.table) if out else Format.table
