"""A VM of the public trace GWA-T-12 Bitbrains: one file per VM, a row every 300 s for a month, values separated by `;`.

The trace has 1,750 VMs of a hosting provider, measured on vSphere: real demand for a simulated cluster. Source: the
Grid Workloads Archive, http://gwa.ewi.tudelft.nl/datasets/gwa-t-12-bitbrains; S. Shen, V. van Beek, A. Iosup,
"Statistical Characterization of Business-Critical Workloads Hosted in Cloud Datacenters", CCGrid 2015. The heading says
that times are in milliseconds. They are seconds since 1970.
"""

from __future__ import annotations

from pathlib import Path

from hypertwin.ingest import outside, text_log
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.text_log import Rows

TIME = "Timestamp [ms]"
COLUMNS = {
    "CPU cores": ("vcpus", 1.0),
    "CPU usage [MHZ]": ("used_mhz", 1.0),
    "Memory capacity provisioned [KB]": ("memory_bytes", 1024.0),
    "Memory usage [KB]": ("memory_active_bytes", 1024.0),
    "Disk read throughput [KB/s]": ("read_bytes_per_s", 1024.0),
    "Disk write throughput [KB/s]": ("write_bytes_per_s", 1024.0),
    "Network received throughput [KB/s]": ("network_rx_bytes_per_s", 1024.0),
    "Network transmitted throughput [KB/s]": ("network_tx_bytes_per_s", 1024.0),
}
"""Metric and factor by heading."""
EXPECTED = {
    "used_mhz": ("CPU usage [MHZ]", "demand of the VM"),
    "vcpus": ("CPU cores", "everything per vCPU"),
}


def recognises(head: bytes) -> bool:
    """True if the first line has the trace's headings."""
    first = text_log.first_lines(head, 1)
    return bool(first) and first[0].startswith(f"{TIME};") and any(name in first[0] for name in COLUMNS)


def read(path: Path) -> Reading:
    """Return the measurements of `vm/FILE`, named after the file, because it does not name the VM."""
    rows = Rows(path, ("vm", text_log.stem(path).removesuffix(".csv")))
    return rows.reading("bitbrains", _Lines(rows), EXPECTED)


class _Lines:
    """Reader of the trace, line by line."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.names: list[str] = []

    def feed(self, line: str) -> None:
        cells = [cell.strip() for cell in line.split(";")] if len(line) < 4096 else []
        if not self.names:
            self.names = cells
            return
        if len(cells) != len(self.names) or (time := text_log.epoch(outside.number(cells[0]))) is None:
            self.rows.unreadable += bool(line.strip())
            return
        for name, cell in zip(self.names, cells, strict=True):
            value = outside.number(cell)
            if name in COLUMNS and value is not None:
                metric, factor = COLUMNS[name]
                self.rows.add(time, metric, value * factor)

    def finish(self) -> None:
        """Do nothing."""
