"""`hypertwin devices`: the drives that scenarios may name."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from hypertwin import _core, drives
from hypertwin.cli import output
from hypertwin.cli.vnuma import of_option
from hypertwin.documents.devices import Devices
from hypertwin.errors import ScenarioError
from hypertwin.report import devices as shown
from hypertwin.report import files


class Format(enum.StrEnum):
    """Form of the table."""

    table = "table"
    json = "json"
    csv = "csv"


def command(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Drives to show, with their source (default: all).")
    ] = None,
    kind: Annotated[str | None, typer.Option(metavar="KIND", help="Only these, such as nvme or sata-ssd.")] = None,
    form: Annotated[Format, typer.Option("--format", help="Form of the table.")] = Format.table,
) -> None:
    """List the drives that a scenario may name (device: P4610), as their data sheets have them."""
    try:
        found = Devices(version=_core.version(), devices=drives.devices(*(names or ()), kind=kind))
    except ScenarioError as error:
        raise ScenarioError.of(
            of_option(each, {"kind": kind}) if each.path == "kind" else each for each in error.mistakes
        ) from None
    if form is Format.json:
        output.write(files.to_json(found))
    elif form is Format.csv:
        output.write(shown.csv(found))
    else:
        output.print_table(shown.table(found, output.terminal_width()))
