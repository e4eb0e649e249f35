"""`hypertwin devices`: drives for scenarios."""

from __future__ import annotations

from typing import Annotated

import typer

from hypertwin import _core
from hypertwin.cli import mistakes, options, output
from hypertwin.cli.names import Offered
from hypertwin.documents.devices import Devices
from hypertwin.scenario import drives
from hypertwin.show import registry

EXAMPLES = (
    "hypertwin devices --kind nvme",
    "hypertwin devices P4610",
)


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Drives to show, with their source (default: all).",
        ),
        Offered(lambda: [each["name"] for each in drives.devices()]),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Only drives of this kind, such as nvme or sata-ssd.",
        ),
        Offered(drives.kinds),
    ] = None,
    form: options.Form = None,
    out: options.Out = None,
) -> None:
    """List drives for a scenario (device: P4610), with their data-sheet figures."""
    output.check(registry.DEVICES, form, out)
    with mistakes.as_typed():
        found = Devices(version=_core.version(), devices=drives.devices(*(names or ()), kind=kind))
    output.show(registry.DEVICES, found, form, out)
