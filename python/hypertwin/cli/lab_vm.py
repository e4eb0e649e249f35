"""`hypertwin lab vm`: real guests that share host CPUs, measured in the guest, on the host and by the twin."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hypertwin.cli import options, output, progress
from hypertwin.cli.mistakes import of_option
from hypertwin.errors import ScenarioError
from hypertwin.files import writing
from hypertwin.lab import vm
from hypertwin.runs.options import Elsewhere
from hypertwin.runs.runner import running
from hypertwin.show import registry

EXAMPLES = ("hypertwin lab vm --guests 3 --cpus 0-1 --seconds 30",)


def command(
    *,
    plan: vm.Plan,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for scenario, prediction and result.")
    ] = Path("out/lab-vm"),
    form: options.FormAlone = None,
    report: options.Report = None,
    where: Elsewhere,
) -> None:
    """Boot guests that overcommit host CPUs. Compare figures of guest and host with the twin's prediction."""
    writing.check_writable(page=report, made=out)
    try:
        with running(**vars(where)), progress.labelled_bar() as update:
            result = vm.measure(plan, out, update)
    except ScenarioError as error:
        raise ScenarioError.of(map(of_option, error.mistakes)) from None
    output.show(registry.GUESTS, result, form, report=report)
