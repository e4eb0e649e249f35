"""`hypertwin presets`: the pools that scenarios may name."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from hypertwin import _core, presets
from hypertwin.cli import options, output
from hypertwin.documents.presets import Presets
from hypertwin.report import registry

EXAMPLES = (
    "hypertwin presets",
    "hypertwin presets ceph-3x-nvme",
)


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Presets to show in full (default: list all).",
            autocompletion=options.offered(presets.names),
        ),
    ] = None,
    form: options.Form = None,
    out: options.Out = None,
) -> None:
    """List the pools that a scenario may name (preset: ceph-3x-nvme), or show some with source and date."""
    output.check(registry.PRESETS, form, out)
    found = presets.presets(*(names or ()))
    whole = (lambda: Text("\n".join(presets.text(each["name"]) for each in found))) if names else None
    output.show(registry.PRESETS, Presets(version=_core.version(), presets=found), form, out, table=whole)
