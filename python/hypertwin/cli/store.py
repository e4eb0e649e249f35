"""`hypertwin store`: what is kept of earlier simulations, where, and how to make room."""

from __future__ import annotations

from typing import Annotated

import typer

from hypertwin import _core
from hypertwin.cli import options, output, streams
from hypertwin.cli.commands import App
from hypertwin.errors import fail
from hypertwin.execution import store as stores
from hypertwin.execution.options import Stored
from hypertwin.report import registry

app = App("What is kept of earlier simulations: list it, make room, say where it is.")


@app.command("list", examples=["hypertwin store list", "hypertwin store list --format json"])
def list_(
    kept: Stored,
    form: options.Form = None,
    out: options.Out = None,
) -> None:
    """List what is kept, by the build of hypertwin that simulated it: only that build uses it."""
    output.check(registry.STORE, form, out)
    output.show(registry.STORE, stores.contents(stores.place(kept.store)), form, out)


@app.command(examples=["hypertwin store gc --size 500MB"])
def gc(
    kept: Stored,
    size: Annotated[str, typer.Option(metavar="SIZE", help="What may be left.")] = f"{stores.LARGEST >> 30} GiB",
) -> None:
    """Remove results of other builds of hypertwin, and those not used for longest until the rest is small enough."""
    try:
        largest = _core.size_bytes(size)
    except ValueError as error:
        fail("bad-quantity", "", size, "a size, such as 500 MB", f"it {error}", "--size")
    folder = stores.place(kept.store)
    freed = 0 if folder is None else stores.collect(folder, largest)
    streams.note(f"freed {freed / 2**20:,.1f} MiB")


@app.command(examples=["hypertwin store path"])
def path(kept: Stored) -> None:
    """Print the folder of the store, or `off`."""
    streams.write(f"{stores.place(kept.store) or stores.OFF}\n")
