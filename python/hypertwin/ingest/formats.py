"""Formats of telemetry for `hypertwin telemetry` and `hypertwin diagnose`, with their readers.

A reader is a module with two functions: `recognises(head)` checks the first bytes of a file, and `read(path)` returns a
`Reading`. Network systems only have `read(address)`, selected by scheme.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from hypertwin.ingest import address, csv_table, outside, parquet_table, prometheus, prometheus_text
from hypertwin.ingest.benchmarks import cbt, fio_output, hammerdb, hcibench, pgbench, sysbench, vdbench
from hypertwin.ingest.guests import iostat, pbuttons, sar, vmstat
from hypertwin.ingest.kvm import libvirt_uri
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.vmware import bitbrains, esxtop, get_stat, vcenter_counters


@dataclass(frozen=True)
class Format:
    """File format of telemetry, with its reader."""

    name: str
    """Common name of the format, such as `esxtop -b` or `vmstat`."""
    recognises: Callable[[bytes], bool]
    """Function that returns true if the first bytes of a file (`outside.HEAD_BYTES`, unpacked) match the format."""
    read: Callable[[Path], Reading]
    files: Callable[[Path], Iterable[Path]] = lambda _folder: ()
    """Function that returns the input files of a folder. The result is empty if the folder has another format."""


FORMATS: tuple[Format, ...] = (
    Format("hypertwin's Parquet table", parquet_table.recognises, parquet_table.read),
    Format("hypertwin's CSV table", csv_table.recognises, csv_table.read),
    Format("PowerCLI Get-Stat CSV", get_stat.recognises, get_stat.read),
    Format("esxtop -b", esxtop.recognises, esxtop.read),
    Format("Bitbrains trace (GWA-T-12)", bitbrains.recognises, bitbrains.read),
    Format("pButtons or SystemPerformance HTML", pbuttons.recognises, pbuttons.read),
    Format("fio", fio_output.recognises, fio_output.read),
    Format("HCIBench results", hcibench.recognises, hcibench.read, hcibench.files),
    Format("Vdbench", vdbench.recognises, vdbench.read, vdbench.files),
    Format("CBT archive", lambda _head: False, cbt.read, cbt.files),
    Format("Prometheus text", prometheus_text.recognises, prometheus_text.read, prometheus_text.files),
    Format("sysbench", sysbench.recognises, sysbench.read),
    Format("pgbench", pgbench.recognises, pgbench.read),
    Format("HammerDB", hammerdb.recognises, hammerdb.read),
    Format("sar or sadf", sar.recognises, sar.read),
    Format("iostat -x", iostat.recognises, iostat.read),
    Format("vmstat", vmstat.recognises, vmstat.read),
)
"""Formats in the order in which they are tried, strict formats first."""
REMOTE: Mapping[str, Callable[[str], Reading]] = MappingProxyType(
    {
        "vcenter": vcenter_counters.read,
        **dict.fromkeys(prometheus.SCHEMES, prometheus.read),
        **dict.fromkeys(libvirt_uri.SCHEMES, libvirt_uri.read_telemetry),
    }
)
"""Readers of addresses, by scheme."""


def files(source: str) -> Iterator[Path]:
    """Yield the files with the telemetry: the source itself, the file in its address, or the files of its folder."""
    path = address.path(source)
    yield path
    if outside.is_folder(path):
        yield from (file for candidate in FORMATS for file in candidate.files(path))


def read(source: str) -> Reading:
    """Return the reading of a file or an address. Raises SourceError if no reader recognises the source."""
    scheme, separator, _ = source.partition("://")
    if separator and scheme in REMOTE:
        return REMOTE[scheme](source)
    path = Path(source)
    if outside.is_folder(path):
        folders = (candidate for candidate in FORMATS if any(candidate.files(path)))
        if (found := next(folders, None)) is not None:
            return found.read(path)
    head = b"" if address.is_address(source) else outside.head(path)
    found = next((candidate for candidate in FORMATS if head and candidate.recognises(head)), None)
    if found is None:
        known = ", ".join([*(candidate.name for candidate in FORMATS), *(f"{scheme}://" for scheme in REMOTE)])
        hint = "check that the file has its header and is in English"
        value = "a file that no reader recognises"
        outside.Source(address.shown(source)).refuse(value, f"one of: {known}", hint, "unknown-source")
    return found.read(path)
