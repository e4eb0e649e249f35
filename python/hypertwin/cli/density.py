"""`hypertwin density`: how many machines of a group meet service-level objectives."""

from __future__ import annotations

from typing import Annotated

import typer

from hypertwin import scenario, writing
from hypertwin.calibration import file as calibration_file
from hypertwin.cli import options, output
from hypertwin.plan import density
from hypertwin.report import registry


def command(
    path: options.ScenarioFile,
    vm: Annotated[str, typer.Option(metavar="GROUP", help="The VM group whose count is searched.")],
    slo: Annotated[
        list[str],
        typer.Option(
            metavar="METRIC<NUMBER", help="What must hold, e.g. 'response_ms.p99<200'; give it again for more."
        ),
    ],
    most: Annotated[
        int, typer.Option("--max", metavar="N", min=1, max=100_000, help="Largest count to look at.")
    ] = 200,
    least: Annotated[
        int, typer.Option("--min", metavar="N", min=1, max=100_000, help="Smallest count to look at.")
    ] = 1,
    memory_overcommit: Annotated[
        float,
        typer.Option(
            metavar="RATIO",
            help="Memory that may be configured on a host, over what it has; pressure above 1 is not simulated.",
        ),
    ] = 1.0,
    calibration: options.Calibration = None,
    sets: options.Sets = None,
    duration: options.Duration = None,
    warmup: options.Warmup = None,
    seed: options.Seed = None,
    replications: options.Replications = None,
    jobs: options.Jobs = None,
    store: options.Store = None,
    on: options.On = None,
    form: Annotated[output.Format, typer.Option("--format", help="Form of the answer.")] = output.Format.table,
    report: options.Report = None,
) -> None:
    """Find the largest count of a VM group that meets service-level objectives, and the curve around it."""
    writing.check_writable(page=report)
    with output.labelled_progress_bar() as progress:
        found = density.density(
            calibration_file.apply(path, calibration),
            vm=vm,
            slo=slo,
            minimum=least,
            maximum=most,
            overrides=scenario.parse_sets(sets or []),
            seed=seed,
            replications=replications,
            duration=options.with_unit(duration),
            warmup=options.with_unit(warmup),
            memory_overcommit=memory_overcommit,
            jobs=jobs,
            store=store,
            on=on,
            progress=progress,
        )
    output.show(registry.DENSITY, found.to_dict(), form, report)
