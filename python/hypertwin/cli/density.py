"""`hypertwin density`: how many VMs of a group meet service-level objectives."""

from __future__ import annotations

import enum
from dataclasses import replace
from typing import Annotated

import typer

from hypertwin.calibration import file as calibration_file
from hypertwin.cli import options, output, progress
from hypertwin.plan import density
from hypertwin.show import conditions, registry

FailOn = enum.StrEnum("FailOn", ["none", "unsure", "unsteady"])
"""Conditions that fail an answer."""


EXAMPLES = (
    "hypertwin density scenario.yaml --vm web --slo 'hosts.*.usage_pct<80'",
    "hypertwin density scenario.yaml --vm web --slo 'response_ms.p99<200' --max 50",
)


def command(
    path: options.ScenarioFile,
    calibration: options.Calibration = None,
    *,
    asked: density.Asked,
    form: options.Form = None,
    fail_on: Annotated[
        list[FailOn] | None,
        typer.Option(
            metavar="CONDITION",
            help="Exit with 1 if: no count meets the objectives (none); the answer meets them on average only "
            "(unsure); a count has no steady state (unsteady). Repeatable.",
        ),
    ] = None,
    out: options.Out = None,
    report: options.Report = None,
) -> None:
    """Find how many VMs of a group meet service-level objectives, and the curve around that count."""
    output.check(registry.DENSITY, form, out, report)
    with progress.labelled_bar() as update:
        found = density.density(calibration_file.apply(path, calibration), **vars(replace(asked, progress=update)))
    document = found.to_dict()
    output.show(registry.DENSITY, document, form, out, report)
    output.fail_on(conditions.DENSITY, fail_on or (), document)
