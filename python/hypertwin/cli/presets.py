"""`hypertwin presets`: storage pools for scenarios."""

from __future__ import annotations

from typing import Annotated

import typer

from hypertwin import _core
from hypertwin.cli import options, output
from hypertwin.cli.names import Offered
from hypertwin.documents.presets import Presets
from hypertwin.scenario import pool_presets
from hypertwin.show import registry

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
        ),
        Offered(pool_presets.names),
    ] = None,
    form: options.Form = None,
    out: options.Out = None,
) -> None:
    """List storage pools for a scenario (preset: ceph-3x-nvme), or show some with source and date."""
    output.check(registry.PRESETS, form, out)
    found = pool_presets.presets(*(names or ()))
    if names and output.form_of(form, out, output.Format) is output.Format.table:
        whole = "\n".join(pool_presets.text(each["name"]) for each in found) + "\n"
        return output.write_text(whole, out)
    return output.show(registry.PRESETS, Presets(version=_core.version(), presets=found), form, out)
