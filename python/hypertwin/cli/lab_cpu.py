"""`hypertwin lab cpu`: predicted against measured contention for this machine's CPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hypertwin.cli import options, output, progress
from hypertwin.cli.commands import Input
from hypertwin.files import writing
from hypertwin.lab import cpu, profile
from hypertwin.runs.options import Elsewhere
from hypertwin.runs.runner import running
from hypertwin.show import registry

EXAMPLES = (
    "hypertwin lab cpu --machine machine.json",
    "hypertwin lab cpu --out out/lab --report out/lab/report.html",
)


def command(
    machine: Annotated[
        Path | None,
        Input(),
        typer.Option(metavar="FILE", help="Profile from `hypertwin lab profile` (default: measure a short one first)."),
    ] = None,
    experiments: Annotated[
        Path | None,
        Input(),
        typer.Option(metavar="FILE", help="Your own experiments (default: those of the lab)."),
    ] = None,
    only: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this experiment; repeatable.")] = None,
    seconds: Annotated[float, typer.Option(metavar="S", min=0.05, max=600, help="Measured time of each run.")] = 10.0,
    repeat: Annotated[int, typer.Option(metavar="N", min=1, max=100, help="Runs of each experiment.")] = 3,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for scenarios, predictions and measurements.")
    ] = Path("out/lab"),
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 if a median error exceeds the promised one.")
    ] = False,
    form: options.FormAlone = None,
    report: options.Report = None,
    *,
    where: Elsewhere,
) -> None:
    """Predict contention experiments on this machine, record the predictions, then measure and compare."""
    writing.check_writable(page=report, made=out)
    chosen = cpu.read(experiments, only or ())
    known = (
        profile.read(machine)
        if machine
        else profile.profile(seconds=1.0, memory_bandwidth=False, disk=False, coding=False)
    )
    with running(**vars(where)), progress.labelled_bar() as update:
        summary = cpu.experiments(known, chosen, out=out, seconds=seconds, repeat=repeat, progress=update)
    output.show(registry.CONTENTION, summary, form, report=report)
    if check and not cpu.within_promise(summary):
        raise typer.Exit(1)
