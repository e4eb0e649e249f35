"""`hypertwin presets`: the pools that scenarios may name."""

from __future__ import annotations

import enum
from typing import Annotated

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from hypertwin import _core, presets
from hypertwin.cli import output
from hypertwin.documents.presets import Preset, Presets
from hypertwin.report import files

NOTE = "In a scenario: storage: { NAME: { preset: ceph-3x-nvme, nodes: HOSTS } }; keys beside it win."


class Format(enum.StrEnum):
    """Form of the list."""

    text = "text"
    json = "json"


def command(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Presets to show in full (default: list all).")
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="Form of the list.")] = Format.text,
) -> None:
    """List the pools that a scenario may name (preset: ceph-3x-nvme), or show some with source and date."""
    found = presets.presets(*(names or ()))
    if form is Format.json:
        output.write(files.to_json(Presets(version=_core.version(), presets=found)))
    elif names:
        output.write("\n".join(presets.text(each["name"]) for each in found))
    else:
        output.print_table(Group(_listed(found), Text(NOTE, style="dim")))


def _listed(found: list[Preset]) -> Table:
    table = Table("preset", "what it is", box=None, pad_edge=False, header_style="dim")
    for each in found:
        table.add_row(each["name"], Text(each["description"]))
    return table
