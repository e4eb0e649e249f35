"""`hypertwin cache`: list, prune or locate the result cache."""

from __future__ import annotations

from typing import Annotated

import typer

from hypertwin import _core
from hypertwin.cli import options, output, streams
from hypertwin.cli.commands import App
from hypertwin.errors import fail
from hypertwin.runs import cache as caches
from hypertwin.runs.options import Stored
from hypertwin.show import registry

app = App("List, prune or locate the result cache.")


@app.command("list", examples=["hypertwin cache list", "hypertwin cache list --format json"])
def list_(
    kept: Stored,
    form: options.Form = None,
    out: options.Out = None,
) -> None:
    """List cached results by the build of hypertwin that simulated them. Only that build uses them."""
    output.check(registry.CACHE, form, out)
    output.show(registry.CACHE, caches.contents(caches.place(kept.cache)), form, out)


@app.command(examples=["hypertwin cache prune --size 500MB"])
def prune(
    kept: Stored,
    size: Annotated[str, typer.Option(metavar="SIZE", help="Size to keep.")] = f"{caches.LARGEST >> 30} GiB",
) -> None:
    """Remove results of other builds of hypertwin, then the least recently used ones."""
    try:
        largest = _core.size_bytes(size)
    except ValueError as error:
        fail("bad-quantity", "", size, "a size, such as 500 MB", f"it {error}", "--size")
    folder = caches.place(kept.cache)
    freed = 0 if folder is None else caches.collect(folder, largest)
    streams.note(f"freed {freed / 2**20:,.1f} MiB")


@app.command(examples=["hypertwin cache path"])
def path(kept: Stored) -> None:
    """Print the folder of the cache, or `off`."""
    streams.write(f"{caches.place(kept.cache) or caches.OFF}\n")
