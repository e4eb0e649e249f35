"""`hypertwin compare`: two results of one command, figure by figure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hypertwin import _core, comparison
from hypertwin.cli import options, output
from hypertwin.cli.commands import Input
from hypertwin.show import registry

EXAMPLES = (
    "hypertwin compare before.json after.json",
    "hypertwin compare report.html twice.html --report compared.html",
)


def command(
    a: Annotated[
        Path,
        Input(),
        typer.Argument(metavar="A", help="Result to compare: a JSON file (--format json) or a page."),
    ],
    b: Annotated[
        Path,
        Input(),
        typer.Argument(metavar="B", help="Another result of the same command."),
    ],
    form: options.Form = None,
    out: options.Out = None,
    report: options.Report = None,
) -> None:
    """Compare two results: changed settings, changed figures, and changes beyond chance."""
    output.check(registry.COMPARISON, form, out, report)
    found = comparison.compare(a, b, version=_core.version())
    output.show(registry.COMPARISON, found, form, out, report)
