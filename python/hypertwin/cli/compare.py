"""`hypertwin compare`: two results of one command, figure by figure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hypertwin import _core, compare, writing
from hypertwin.cli import options, output
from hypertwin.cli.commands import Input
from hypertwin.report import registry


def command(
    a: Annotated[
        Path,
        Input(),
        typer.Argument(metavar="A", help="What a command wrote with --format json, or its page."),
    ],
    b: Annotated[
        Path,
        Input(),
        typer.Argument(metavar="B", help="Another result of the same command."),
    ],
    form: Annotated[output.Format, typer.Option("--format", help="Form of the comparison.")] = output.Format.table,
    report: options.Report = None,
) -> None:
    """Say what was set differently in two results, and which figures changed, by more than chance or not."""
    writing.check_writable(page=report)
    found = compare.compare(a, b, version=_core.version())
    output.show(registry.COMPARISON, found, form, report)
