"""`hypertwin density`: how many machines of a group meet service-level objectives."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from hypertwin.calibration import file as calibration_file
from hypertwin.cli import options, output, progress
from hypertwin.plan import density
from hypertwin.report import conditions, registry


class FailOn(enum.StrEnum):
    """What may be wrong with an answer."""

    none = "none"
    unsure = "unsure"
    unsteady = "unsteady"


EXAMPLES = (
    "hypertwin density scenario.yaml --vm web --slo 'hosts.*.usage_pct<80'",
    "hypertwin density scenario.yaml --vm web --slo 'response_ms.p99<200' --max 50",
)


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
    failures: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="Host failures to tolerate (default: 1 where the cluster has several hosts)."
        ),
    ] = None,
    calibration: options.Calibration = None,
    runs: options.Runs = options.RUNS,
    where: options.Where = options.WHERE,
    form: options.Form = None,
    fail_on: Annotated[
        list[FailOn] | None,
        typer.Option(
            metavar="CONDITION",
            help="Exit with 1 if: no count meets the objectives (none); the largest does so on average only (unsure); "
            "a count has no steady state (unsteady). Repeatable.",
        ),
    ] = None,
    out: options.Out = None,
    report: options.Report = None,
) -> None:
    """Find the largest count of a VM group that meets service-level objectives, and the curve around it."""
    output.check(registry.DENSITY, form, out, report)
    with progress.labelled_bar() as update:
        found = density.density(
            calibration_file.apply(path, calibration),
            vm=vm,
            slo=slo,
            failures=failures,
            minimum=least,
            maximum=most,
            **runs.arguments(),
            memory_overcommit=memory_overcommit,
            **where.arguments(),
            progress=update,
        )
    document = found.to_dict()
    output.show(registry.DENSITY, document, form, out, report)
    output.fail_on(conditions.DENSITY, fail_on or (), document)
