"""`hypertwin lab`: predict and measure this computer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hypertwin.cli import lab_cpu, lab_disk, lab_profile, lab_vm, options, output, progress
from hypertwin.cli.commands import App, Input
from hypertwin.cli.mistakes import of_option
from hypertwin.errors import ScenarioError
from hypertwin.lab import erasure_coding
from hypertwin.show import registry

app = App("Measure this machine, and check the twin's predictions of it.")
app.command("profile", examples=lab_profile.EXAMPLES)(lab_profile.command)
app.command("cpu", examples=lab_cpu.EXAMPLES)(lab_cpu.command)
app.command("disk", examples=lab_disk.EXAMPLES)(lab_disk.command)
app.command("vm", examples=lab_vm.EXAMPLES)(lab_vm.command)


@app.command("erasure-coding", examples=["hypertwin lab erasure-coding --scheme 4+2 --scheme 17+3"])
def erasure_coding_command(
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            metavar="K+M", help=f"Scheme to measure; repeatable (default: {', '.join(erasure_coding.SCHEMES)})."
        ),
    ] = None,
    fragment: Annotated[str, typer.Option(metavar="SIZE", help="Size of a fragment.")] = erasure_coding.FRAGMENT,
    seconds: Annotated[float, typer.Option(metavar="S", help="CPU seconds for each measurement.")] = 1.0,
    clock: Annotated[
        str | None, typer.Option(metavar="F", help="Nominal clock of the CPU, if the system does not report it.")
    ] = None,
    library: Annotated[
        Path | None,
        Input(),
        typer.Option(metavar="FILE", help="ISA-L library file (default: the system's, then pyeclib's)."),
    ] = None,
    form: options.Form = None,
    out: options.Out = None,
) -> None:
    """Measure the cost of erasure coding on one core of this machine, with ISA-L (libisal2)."""
    output.check(registry.CODING, form, out)
    try:
        with progress.bar("erasure coding") as update:
            measured = erasure_coding.measure(
                scheme or erasure_coding.SCHEMES,
                fragment=fragment,
                seconds=seconds,
                clock=clock,
                library=library,
                progress=update,
            )
    except ScenarioError as error:
        raise ScenarioError.of(
            of_option(mistake, mistake.value if mistake.path == "scheme" else None) for mistake in error.mistakes
        ) from None
    output.show(registry.CODING, measured, form, out)
