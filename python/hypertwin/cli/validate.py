"""`hypertwin validate`: every published figure of the studies against the twin."""

from __future__ import annotations

from typing import Annotated

import typer

from hypertwin import writing
from hypertwin.cli import options, output
from hypertwin.cli.commands import Input
from hypertwin.documents.validation import Row
from hypertwin.execution.runner import running
from hypertwin.report import comparison, registry
from hypertwin.studies import judge
from hypertwin.studies.study import chosen, files


def command(
    studies: Annotated[
        list[str] | None,
        Input(lambda named, _: files(named or ())),
        typer.Argument(
            metavar="[STUDY]...",
            help="Names, folders with a study.yaml of your own, or folders of these. Default: every study.",
        ),
    ] = None,
    form: Annotated[output.Format, typer.Option("--format", help="Form of the comparison.")] = output.Format.table,
    report: options.Report = None,
    jobs: options.Jobs = None,
    store: options.Store = None,
    on: options.On = None,
) -> int:
    """Compare the twin with published measurements; exits 1 when a promised figure is missed."""
    writing.check_writable(page=report)
    compared = chosen(studies or ())
    rows: list[Row] = []
    with running(jobs=jobs, store=store, on=on):
        for study in compared:
            with output.steps(f"{study.name}: {len(study.cases)} cases, {len(study.rows)} figures") as progress:
                rows += judge.validate([study], progress=progress)
    named = [comparison.Study(study.name, study.title, study.source) for study in compared]
    output.show(registry.VALIDATION, rows, form, report, studies=named)
    return 0 if judge.holds(rows) else 1
