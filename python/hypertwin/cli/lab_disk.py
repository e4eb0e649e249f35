"""`hypertwin lab disk`: this machine's disk as a device of a scenario, and a prediction with its measurement."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from hypertwin import _core
from hypertwin.cli import options, output, progress
from hypertwin.errors import fail
from hypertwin.extras import needs
from hypertwin.files import writing
from hypertwin.runs.options import Elsewhere
from hypertwin.runs.runner import running
from hypertwin.show import registry

LEAST, MOST = 2**24, 2**40


EXAMPLES = (
    "hypertwin lab disk --quick",
    "hypertwin lab disk --dir /var/lib/vms --size 4GiB",
)


def command(
    folder: Annotated[
        Path | None,
        typer.Option("--dir", metavar="DIR", help="Folder on the disk to measure (default: that of temporary files)."),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Size of the temporary file (default: 1GiB)."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(metavar="S", min=0.1, max=600, help="Measured time of each run (default: 2).")
    ] = None,
    repeat: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=100, help="Runs of each load; the median counts (default: 3).")
    ] = None,
    read_pct: Annotated[
        int, typer.Option("--mix", metavar="P", min=1, max=99, help="Reads of the predicted load, in per cent.")
    ] = 70,
    depth: Annotated[int, typer.Option(metavar="N", min=1, max=1024, help="Depth of the predicted load.")] = 8,
    quick: Annotated[
        bool, typer.Option("--quick", help="Short test: two depths, half a second each, a file of 64 MiB.")
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for scenario, prediction and measured points.")
    ] = Path("out/lab-disk"),
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 if the prediction error exceeds the promised one.")
    ] = False,
    form: options.FormAlone = None,
    *,
    where: Elsewhere,
) -> None:
    """Measure a disk with fio, fit a device to it, predict an unmeasured mix, then measure that mix.

    The measurement writes only one temporary file.
    """
    for extra in ("calibrate", "telemetry"):
        needs(extra, "`lab disk`")
    from hypertwin.lab import disk

    writing.check_writable(made=out)
    place = folder or Path(tempfile.gettempdir())
    if not place.is_dir():
        fail("not-a-file", "", str(place), "a folder on the disk to measure", "create it first", "--dir")
    usual = disk.QUICK if quick else disk.Plan()
    plan = replace(
        usual,
        size_bytes=usual.size_bytes if size is None else _bytes(size),
        seconds=usual.seconds if seconds is None else seconds,
        repeat=usual.repeat if repeat is None else repeat,
        read_pct=read_pct,
        depth=depth,
    )
    with running(**vars(where)), progress.labelled_bar() as update:
        found = disk.measure(plan, folder=place, out=out, progress=update)
    output.show(registry.DISK, found, form)
    if check and not disk.within_promise(found):
        raise typer.Exit(1)


def _bytes(text: str) -> int:
    try:
        size = _core.size_bytes(text)
    except ValueError:
        size = 0
    if not LEAST <= size <= MOST:
        fail("bad-quantity", "", text, "a size, 16 MiB to 1 TiB", "as in 4GiB", "--size")
    return size // 2**20 * 2**20
