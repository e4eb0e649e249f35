"""What is kept of earlier simulations, as a table."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.store import Store
from hypertwin.report.table import Cells, Fitted

HEADS = ("build", "results", "MiB", "last used", "not used since")
DROPPED_FIRST = ("not used since",)


def table(found: Store) -> RenderableType:
    """A row for each build of hypertwin."""
    if found["folder"] is None:
        return Text("nothing is kept: the store is off")
    if not found["builds"]:
        return Text(f"{found['folder']}: nothing is kept yet")
    file, largest = (_mib(found[key]) for key in ("file_bytes", "largest_bytes"))
    rows = [
        [
            f"{each['build']} (this one)" if each["used"] else each["build"],
            *(f"{each['results']:,}", _mib(each["bytes"]), each["last_used"], each["first_used"]),
        ]
        for each in found["builds"]
    ]
    shown = Fitted("", Cells(HEADS, rows, swept=0, words=1), DROPPED_FIRST)
    return Group(Text(f"{found['folder']}: {file} MiB, at most {largest} for results"), shown)


def _mib(size: int) -> str:
    return f"{size / 2**20:,.1f}"
