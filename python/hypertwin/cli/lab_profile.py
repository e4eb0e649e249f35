"""`hypertwin lab profile`: what this machine is and how fast its parts are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hypertwin import writing
from hypertwin.cli import output
from hypertwin.lab import profile
from hypertwin.report import files, registry


def command(
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the figures to FILE (JSON).")] = None,
    seconds: Annotated[float, typer.Option(metavar="S", help="About the time of each part.")] = 2.0,
    folder: Annotated[
        Path | None,
        typer.Option("--dir", metavar="DIR", help="Folder on the disk to measure (default: temporary files)."),
    ] = None,
    bandwidth: Annotated[bool, typer.Option(help="Measure memory bandwidth.")] = True,
    coding: Annotated[bool, typer.Option(help="Measure erasure coding, where ISA-L is installed.")] = True,
    disk: Annotated[bool, typer.Option(help="Measure the disk, where fio is installed.")] = True,
    form: Annotated[output.Format, typer.Option("--format", help="Form of the figures.")] = output.Format.table,
) -> None:
    """Measure this machine: CPUs, timers, context switches, memory, disk, each with its spread."""
    writing.check_writable(out)
    with output.progress_bar("profile") as progress:
        found = profile.profile(
            seconds=seconds, folder=folder, memory_bandwidth=bandwidth, disk=disk, coding=coding, progress=progress
        )
    output.write_file(out, lambda: files.to_json(found))
    output.show(registry.PROFILE, found, form)
