"""`hypertwin lab profile`: properties and speed of this machine's parts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hypertwin.cli import options, output, progress
from hypertwin.files import writing
from hypertwin.lab import profile
from hypertwin.show import files, registry

EXAMPLES = ("hypertwin lab profile --out machine.json",)


def command(
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Also write the figures to FILE (JSON)."),
    ] = None,
    seconds: Annotated[float, typer.Option(metavar="S", help="Approximate time per part.")] = 2.0,
    folder: Annotated[
        Path | None,
        typer.Option("--dir", metavar="DIR", help="Folder on the disk to measure (default: temporary files)."),
    ] = None,
    bandwidth: Annotated[bool, typer.Option(help="Measure memory bandwidth.")] = True,
    coding: Annotated[bool, typer.Option(help="Measure erasure coding, if ISA-L is installed.")] = True,
    disk: Annotated[bool, typer.Option(help="Measure the disk, if fio is installed.")] = True,
    form: options.FormAlone = None,
) -> None:
    """Measure this machine: CPUs, timers, context switches, memory, disk, each with its spread."""
    output.check(registry.PROFILE, form)
    writing.check_writable(output.file_of(out))
    with progress.bar("profile") as update:
        found = profile.profile(
            seconds=seconds, folder=folder, memory_bandwidth=bandwidth, disk=disk, coding=coding, progress=update
        )
    output.write_file(output.file_of(out), lambda: files.to_json(found))
    output.show(registry.PROFILE, found, output.Format.json if str(out) == "-" else form)
