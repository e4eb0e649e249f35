"""`hypertwin calibrate`: fit a scenario's parameters to measured points."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hypertwin import scenario, writing
from hypertwin.calibration import calibrate
from hypertwin.calibration import file as calibration_file
from hypertwin.cli import options, output
from hypertwin.cli.commands import Input
from hypertwin.report import registry


def command(
    path: options.ScenarioFile,
    measured: Annotated[
        str,
        Input(),
        typer.Argument(metavar="MEASUREMENTS.csv", help="Measured points: what was set, and metrics."),
    ],
    free: Annotated[
        list[str],
        typer.Option(
            metavar="PATH[=LOW..HIGH]", help="A parameter to fit, with bounds or without; several follow one --free."
        ),
    ],
    more: Annotated[list[str] | None, typer.Argument(metavar="PATH[=LOW..HIGH]", help="More after --free.")] = None,
    holdout: Annotated[
        str | None,
        typer.Option(metavar="ROWS", help="Rows to predict instead of fitting: a share (20%) or numbers (3,7)."),
    ] = None,
    error: Annotated[
        str | None,
        typer.Option(metavar="P%", help="Standard deviation of measured values that have no METRIC.error."),
    ] = None,
    evaluations: Annotated[
        int, typer.Option(metavar="N", max=100_000, help="Most sets of parameters to try.")
    ] = calibrate.EVALUATIONS,
    sets: options.Sets = None,
    duration: options.Duration = None,
    warmup: options.Warmup = None,
    seed: options.Seed = None,
    replications: options.Replications = None,
    jobs: options.Jobs = None,
    store: options.Store = None,
    on: options.On = None,
    form: Annotated[output.Format, typer.Option("--format", help="Form of the result.")] = output.Format.table,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.yaml", help="Write the calibration, for --calibration elsewhere.")
    ] = None,
    report: options.Report = None,
) -> None:
    """Fit parameters of a scenario to what was measured, with confidence, and say what the data cannot tell."""
    writing.check_writable(out, page=report)
    with output.labelled_progress_bar() as progress:
        found = calibrate.calibrate(
            path,
            measured,
            free=[*free, *(more or [])],
            holdout=holdout,
            error=error,
            evaluations=evaluations,
            overrides=scenario.parse_sets(sets or []),
            seed=seed,
            replications=replications,
            duration=options.with_unit(duration),
            warmup=options.with_unit(warmup),
            jobs=jobs,
            store=store,
            on=on,
            progress=progress,
        )
    result = found.to_dict()
    output.write_file(out, lambda: calibration_file.render(result))
    output.show(registry.CALIBRATION, result, form, report)
