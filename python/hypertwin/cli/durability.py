"""`hypertwin durability`: cost and data-loss risk of redundancy."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from hypertwin.cli import mistakes, options, output, progress
from hypertwin.cli.commands import Input
from hypertwin.plan import durability, repair
from hypertwin.show import registry

EXAMPLES = (
    "hypertwin durability --scheme 3:2 --scheme 17+3",
    "hypertwin durability disk-failure.yaml --afr 1.5% --report durability.html",
)


def command(
    path: Annotated[
        str | None,
        Input(options.scenario_files),
        typer.Argument(metavar="[SCENARIO.yaml]", help="Use the simulated repair time of its pool; - for stdin."),
    ] = None,
    *,
    asked: durability.Asked,
    form: options.Form = None,
    out: options.Out = None,
    report: options.Report = None,
) -> None:
    """Compare replicas and erasure codes: overhead, annual loss probability and mean time to data loss."""
    output.check(registry.DURABILITY, form, out, report)
    with mistakes.as_typed(), progress.bar("simulating a failed disk") as update:
        found = repair.answer(replace(asked, scenario=path, progress=update))
    curves = durability.curves(found) if report is not None else {}
    output.show(registry.DURABILITY, found, form, out, report, curves=curves)
