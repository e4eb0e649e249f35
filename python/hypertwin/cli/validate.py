"""`hypertwin validate`: all published figures of the studies, compared with the twin."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from hypertwin.cli import options, output, progress
from hypertwin.cli.commands import Input
from hypertwin.cli.names import Offered
from hypertwin.documents.validation import Row
from hypertwin.runs.options import Where
from hypertwin.runs.runner import running
from hypertwin.show import comparison, conditions, registry
from hypertwin.studies import judge
from hypertwin.studies.study import chosen, files, names

FailOn = enum.StrEnum("FailOn", ["regression", "any", "never"])
"""Missed figures that count as a failure."""


EXAMPLES = (
    "hypertwin validate monster-vm",
    "hypertwin validate --report validation.html",
)


def command(
    studies: Annotated[
        list[str] | None,
        Input(lambda named, _: files(named or ())),
        typer.Argument(
            metavar="[STUDY]...",
            help="Study names, folders with a study.yaml, or folders of these. Default: every study.",
        ),
        Offered(names),
    ] = None,
    form: options.Form = None,
    fail_on: Annotated[
        FailOn | None,
        typer.Option(
            help="Exit 1 if a figure regressed since the last accepted evidence (regression, default), if any is missed"
            " (any), or never."
        ),
    ] = None,
    out: options.Out = None,
    report: options.Report = None,
    *,
    where: Where,
) -> int:
    """Compare the twin with published measurements. The exit code is 1 when a figure regressed."""
    output.check(registry.VALIDATION, form, out, report)
    compared = chosen(studies or ())
    rows: list[Row] = []
    with running(**where.where):
        for study in compared:
            with progress.step(f"{study.name}: {len(study.cases)} cases, {len(study.rows)} figures") as update:
                rows += judge.validate([study], progress=update)
    named = [comparison.Study(study.name, study.title, study.source) for study in compared]
    output.show(registry.VALIDATION, rows, form, out, report, studies=named)
    if fail_on is not None:
        output.fail_on(conditions.VALIDATION, [fail_on], rows)
        return 0
    return 0 if judge.holds(rows) else 1
