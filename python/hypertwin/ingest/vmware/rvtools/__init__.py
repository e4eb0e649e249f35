"""RVTools exports: the `.xlsx` workbook, or the `.csv` files that `ExportAll2csv` writes into a folder.

| file | contents |
|---|---|
| `columns.py` | tabs and columns that are used, by their names in each version |
| `tables.py` | tabs as tables, from workbooks and CSV files |
| `cells.py` | parsing of cells: names, numbers, sizes, dates |
| `export.py` | one export: its hosts, clusters and datastores |
| `vms.py` | its VMs |
| `source.py` | facts of VMs for a move |
| `places.py` | unique names of clusters and hosts |
| `series.py` | several exports of the same hosts as one series |

Tabs and columns are those of published exports, among them the one in tests/data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from hypertwin.ingest import outside
from hypertwin.ingest.inventory import Inventory
from hypertwin.ingest.vmware.rvtools import series, tables
from hypertwin.ingest.vmware.rvtools.columns import NEVER, TABS, column_name, plain_tab_name
from hypertwin.ingest.vmware.rvtools.export import Export
from hypertwin.ingest.vmware.rvtools.tables import Tabs

__all__ = ["NEVER", "TABS", "files", "read", "recognises"]


def recognises(head: bytes) -> bool:
    """True for an Office workbook, or a CSV file with a header that only tabs of RVTools have."""
    if head.startswith(b"PK\x03\x04"):
        return b"[Content_Types].xml" in head or b"xl/" in head
    first = head.split(b"\n", 1)[0].decode("utf-8", "replace")
    columns = {column_name(cell, "")[0] for cell in re.split("[,;\t]", first)}
    return {"vm", "powerstate"} <= columns or {"host", "cpumodel"} <= columns or "vinfovmname" in columns


def files(folder: Path) -> Iterable[Path]:
    """Return the CSV files of tabs in a folder."""
    return tables.csv_files(folder).values()


def read(sources: Sequence[str]) -> Inventory:
    """Return the inventory in workbooks, folders and CSV files. Each workbook or folder is one export."""
    exports = [Export(tabs) for tabs in _exports(sources)]
    sites = series.read(exports)
    return Inventory(
        source=", ".join(Path(source).name or source for source in sources),
        kind="rvtools",
        hosts=[host for site in sites for host in site.hosts],
        vms=[vm for site in sites for vm in site.vms],
        datastores=series.distinct_datastores(sites),
        gaps=[*dict.fromkeys(gap for site in sites for gap in site.gaps), *NEVER],
        assumptions=[assumption for site in sites for assumption in site.assumptions],
        clusters=series.distinct_clusters(sites),
        unused=list(dict.fromkeys(name for site in sites for name in site.unused)),
        standalone_hosts=all("cluster" in export.tables["vHost"].columns for export in exports),
    )


def _exports(sources: Sequence[str]) -> list[Tabs]:
    exports: list[Tabs] = []
    single: dict[str, Path] = {}
    for source in sources:
        path = Path(source)
        if path.is_dir():
            exports.append(tables.csv_folder(path))
        elif outside.head(path).startswith(b"PK"):
            exports.append(tables.workbook(path))
        else:
            tab = plain_tab_name(path.stem).lower()
            if not tables.is_tab(path) or tab in single:
                known = ", ".join(f"RVTools_tab{tab}.csv" for tab in TABS)
                hint = "keep the name that RVTools gave it, and name each tab once"
                outside.Source(path).refuse(path.name, f"the name of a tab's file: {known}", hint)
            single[tab] = path
    if single:
        exports.insert(0, tables.csv_tabs(sources[0], single.values()))
    return exports
