"""What is kept of earlier simulations, as a table."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from hypertwin.documents.store import Store
from hypertwin.report.table import titled

HEADS = ("build", "results", "MiB", "last used", "not used since")


def table(found: Store) -> RenderableType:
    """A row for each build of hypertwin."""
    if found["folder"] is None:
        return Text("nothing is kept: the store is off")
    file, largest = (_mib(found[key]) for key in ("file_bytes", "largest_bytes"))
    shown = titled(f"{found['folder']}: {file} MiB, at most {largest} for results")
    for index, head in enumerate(HEADS):
        shown.add_column(head, justify="right" if index in (1, 2) else "left", no_wrap=True)
    for each in found["builds"]:
        name = f"{each['build']} (this one)" if each["used"] else each["build"]
        shown.add_row(name, f"{each['results']:,}", _mib(each["bytes"]), each["last_used"], each["first_used"])
    return shown


def _mib(size: int) -> str:
    return f"{size / 2**20:,.1f}"
