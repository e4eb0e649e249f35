"""`hypertwin validate`: every published figure of the studies against the twin."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hypertwin import _core, writing
from hypertwin.cli import output
from hypertwin.cli.commands import Input
from hypertwin.report import comparison, registry
from hypertwin.studies import judge
from hypertwin.studies.study import files, find, names


def command(
    studies: Annotated[
        list[str] | None,
        Input(lambda _names, _: files()),
        typer.Argument(metavar="[STUDY]...", help="Default: every study."),
    ] = None,
    form: Annotated[output.Format, typer.Option("--format", help="Form of the comparison.")] = output.Format.table,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write a page with charts and all figures as well.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", min=1, max=1024, help="Runs at a time.")] = None,
) -> int:
    """Compare the twin with published measurements; exits 1 when a figure is missed."""
    writing.check_writable(report)
    chosen = [find(name) for name in dict.fromkeys(studies or names())]
    with output.progress_bar("validating") as progress:
        rows = judge.validate(chosen, jobs=jobs, progress=progress)
    compared = [comparison.Study(study.name, study.title, study.source) for study in chosen]
    output.show(registry.VALIDATION, rows, form, report, studies=compared, version=_core.version())
    return 1 if any(row["pass"] is False for row in rows) else 0
