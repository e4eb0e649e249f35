"""Every parser of outside data takes its samples, and takes or refuses cut, broken and hostile copies of them.

`make fuzz` gives each many more, guided by coverage. What is made to take memory is bounded in both.
"""

from __future__ import annotations

import gzip
import io
import os
import random
import resource
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.conftest import SOAK, only_where
from tests.fuzz import mutation, samples
from tests.fuzz.targets import Target, clean, targets

from hypertwin.ingest import outside

FILES = 500 * SOAK
"""Broken files, of all parsers together."""
MIB = 2**20


@pytest.fixture(autouse=True, scope="module")
def _nothing_is_left() -> Iterator[None]:
    yield
    clean()


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_samples_are_taken(name: str) -> None:
    target = targets()[name]
    assert target.samples
    assert [target.check(sample) for sample in target.samples] == [True] * len(target.samples)


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_cut_and_broken_copies_are_taken_or_refused(name: str) -> None:
    target = targets()[name]
    draw = random.Random(name)
    for seed in range(round(FILES / len(targets()))):
        sample = draw.choice(target.samples)
        mutant = next(mutation.mutants(sample, 1, seed=seed))
        _checked(target, sample[: draw.randrange(len(sample))] if seed % 4 == 0 else mutant)


def _checked(target: Target, data: bytes) -> bool:
    """The target's check; shows the bytes that fail it, so that they can be tried again."""
    try:
        return target.check(data)
    except Exception as error:
        pytest.fail(f"{target.name}: {type(error).__name__}: {error}\ninput: {data[:2000]!r}")


def test_every_parser_is_a_target() -> None:
    from hypertwin.ingest import formats, sources

    assert set(targets()) == set(samples.SAMPLES)
    assert {candidate.name for candidate in formats.FORMATS} <= set(targets())
    of_files = {candidate.name.partition(" .")[0] for candidate in sources.READERS if not candidate.schemes}
    assert all(any(name.startswith(source) for name in targets()) for source in of_files)


# what is made to take memory


def _gzip(begin: bytes, again: bytes, mebibytes: int) -> bytes:
    """A file that gzip unpacks to so many MiB, made without packing them."""
    block = gzip.compress(again * (MIB // len(again)), 9, mtime=0)
    return gzip.compress(begin, mtime=0) + block * mebibytes


def _workbook(part: str, content: bytes) -> bytes:
    """The sample with one part replaced."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(samples.of("RVTools .xlsx")[0])) as old,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new,
    ):
        for entry in old.infolist():
            if entry.filename != part:
                new.writestr(entry.filename, old.read(entry))
        new.writestr(part, content)
    return buffer.getvalue()


def _table(rows: int, entity: str = "host/esx1") -> bytes:
    """A Parquet file of equal rows in one group: some bytes a million."""

    def same(text: str) -> pa.Array:
        return pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int8), [text])

    columns = {
        "time": pa.array(np.zeros(rows, dtype="datetime64[us]"), pa.timestamp("us", "UTC")),
        "entity": same(entity),
        "metric": same("usage_pct"),
        "value": np.zeros(rows),
        "unit": same("%"),
    }
    buffer = io.BytesIO()
    parquet.write_table(pa.table(columns), buffer, row_group_size=rows, compression="zstd")
    return buffer.getvalue()


def _sheet(rows: bytes) -> bytes:
    head = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    return head + rows + b"</sheetData></worksheet>"


ENTITIES = "<!DOCTYPE x [<!ENTITY a 'ha'>" + "".join(
    f"<!ENTITY {chr(98 + n)} '{f'&{chr(97 + n)};' * 10}'>" for n in range(9)
)
LAUGHS = f"{ENTITIES}]>".encode()
ESXTOP = b'"(PDH-CSV 4.0) (UTC)(0)","\\\\esx1\\Group Cpu(1:db)\\% Ready"\n'
VMSTAT = samples.of("vmstat")[0]
LARGE: dict[str, tuple[str, Callable[[], bytes]]] = {
    "gzip of zeros": ("esxtop -b", lambda: _gzip(ESXTOP, b"\0", 4096)),
    "gzip of line ends": ("vmstat", lambda: _gzip(VMSTAT, b"\n", 4096)),
    "gzip of rows": ("vmstat", lambda: _gzip(VMSTAT, VMSTAT.splitlines(keepends=True)[3], 4096)),
    "gzip of JSON": ("fio", lambda: _gzip(b'{"fio version": "fio-3", "jobs": [', b"[", 4096)),
    "gzip of HTML": ("pButtons or SystemPerformance HTML", lambda: _gzip(b"<html><pre>\n", b"<div id=vmstat>", 4096)),
    "gzip for an inventory": ("Proxmox VE API dump", lambda: _gzip(b'{"cluster/resources": [', b" ", 4096)),
    "shared texts": ("RVTools .xlsx", lambda: _workbook("xl/sharedStrings.xml", b"<sst>" + b"<si/>" * 20_000_000)),
    "a sheet's row": ("RVTools .xlsx", lambda: _workbook("xl/worksheets/sheet1.xml", _sheet(b"<row>" + b"<c/>" * MIB))),
    "entities in a sheet": (
        "RVTools .xlsx",
        lambda: _workbook("xl/worksheets/sheet1.xml", LAUGHS + _sheet(b"<row><c><v>&j;</v></c></row>")),
    ),
    "entities in XML": ("libvirt domain", lambda: LAUGHS + b"<domain><name>&j;</name></domain>"),
    "entities of vCenter": ("vCenter inventory", lambda: LAUGHS + b"<x>&j;</x>"),
    "tags of vCenter": ("vCenter inventory", lambda: samples.of("vCenter inventory")[0] + b"<a>" * 2 * MIB),
    "entities in virsh's XML": ("virsh dumpxml", lambda: LAUGHS + b"<domain><name>&j;</name></domain>"),
    "deep XML of virsh": ("virsh dumpxml", lambda: b"<capabilities>" + b"<a>" * MIB),
    "comments of virsh": ("virsh dumpxml", lambda: b"<!--a-->" * MIB),
    "many URIs": ("list of libvirt URIs", lambda: b"qemu:///system\n" * 60_000),
    "deep XML": ("libvirt domain", lambda: b"<domain>" + b"<a>" * MIB),
    "deep JSON of Proxmox": ("Proxmox VE API dump", lambda: b'{"cluster/resources":' * 500_000),
    "deep JSON of PowerShell": ("Hyper-V Get-VM and Get-VMHost", lambda: b'[{"ProcessorCount":' * 500_000),
    "columns of PowerShell": ("Hyper-V Get-VM and Get-VMHost", lambda: b'"Name"' + b',"a"' * 3_000_000 + b"\n1,2\n"),
    "rows of PowerShell": ("Hyper-V Get-VM and Get-VMHost", lambda: b"Name,State\n" + b"1,\n" * 4_000_000),
    "a field of PowerShell": ("Hyper-V Get-VM and Get-VMHost", lambda: b'Name,State\n"' + b"a\n" * 6_000_000),
    "deep JSON of OpenStack": ("OpenStack answers", lambda: b'{"hypervisors":' * 500_000),
    "deep JSON of oVirt": ("oVirt API answers", lambda: b'{"host":' * 500_000),
    "deep XML of oVirt": ("oVirt API answers", lambda: b"<hosts>" + b"<host>" * 2 * MIB),
    "much XML of oVirt": ("oVirt API answers", lambda: b"<hosts>%s</hosts>" % (b'<host id="1"/>' * MIB)),
    "entities of oVirt": ("oVirt API answers", lambda: LAUGHS + b"<hosts><host><name>&j;</name></host></hosts>"),
    "deep JSON of Prism": ("Nutanix Prism answers", lambda: b'{"entities":' * 500_000),
    "gzip of Prism": ("Nutanix Prism answers", lambda: _gzip(b'{"entities": [', b"[],", 4096)),
    "much JSON of Prism": ("Nutanix Prism answers", lambda: b'{"entities": [%s{}]}' % (b"{}," * 4 * MIB)),
    "deep JSON of lscpu": ("lscpu", lambda: b'{"lscpu":' + b'[{"children":' * 50_000),
    "deep JSON of sadf": ("sar or sadf", lambda: b'{"sysstat": {"hosts": [{"statistics": [' + b"[" * 10 * MIB),
    "deep JSON of Prometheus": ("Prometheus", lambda: b"[" * 10 * MIB),
    "much JSON of Prometheus": ("Prometheus", lambda: b'{"data": [%s0]}' % (b"[]," * 3 * MIB)),
    "samples of Prometheus text": (
        "Prometheus text",
        lambda: b"# TYPE node_load1 gauge\n" + b"".join(b'node_load1{a="%d"} 1\n' % n for n in range(400_000)),
    ),
    "labels of Prometheus text": ("Prometheus text", lambda: b'node_load1{a="' + b'\\"' * MIB + b'"} 1\n'),
    "blanks of Prometheus text": ("Prometheus text", lambda: (b"node_load1" + b" " * 4_500 + b"\n") * 5_000),
    "scrapes of Prometheus text": ("Prometheus text", lambda: b"node_load1 1\n" * 60_000),
    "columns of esxtop": ("esxtop -b", lambda: b'"(PDH-CSV 4.0) (UTC)(0)"' + b",a" * 8_000_000 + b"\n"),
    "machines of esxtop": (
        "esxtop -b",
        lambda: b'"(PDH-CSV 4.0) (UTC)(0)"' + b"".join(
            b',"\\\\h\\Group Cpu(%d:v%d)\\%% Ready"' % (n, n) for n in range(400_000)
        ),
    ),
    "columns of Get-Stat": ("PowerCLI Get-Stat CSV", lambda: b"MetricId,Timestamp,Value,Entity" + b",a" * 8_000_000),
    "columns of RVTools": ("RVTools .csv", lambda: b"Host" + b",a" * 8_000_000 + samples.PART + b"VM"),
    "columns of measurements": ("measurements", lambda: b"name" + b",a" * 1_000_000),
    "one long line": ("sar or sadf", lambda: b"Linux 6.1.0 (a) " + b"1" * 40 * MIB),
    "many disks": (
        "iostat -x",
        lambda: samples.of("iostat -x")[0] + b"".join(b"sd%d %s\n" % (n, b" 1.50" * 14) for n in range(100_000)),
    ),
    "rows of a table": ("hypertwin's Parquet table", lambda: _table(5_000_000)),
    "pages of a table": ("hypertwin's Parquet table", lambda: _table(1, "host/" + "a" * 64 * MIB)),
    "aliases in YAML": (
        "scenario",
        lambda: "\n".join(
            ["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12))]
        ).encode(),
    ),
    "deep YAML": ("scenario", lambda: b"vms: " + b"[" * 500_000),
    "wide YAML": ("scenario", lambda: b"vms:\n" + b"".join(b"  v%d: {vcpus: 1}\n" % n for n in range(150_000))),
    "much fio": ("fio job", lambda: b"[j]\n" + b"rw=read\n" * 8_000),
    "much calibration": ("calibration", lambda: b"set: {" + b"a: 1, " * 500_000),
}  # fmt: skip
MOST_MIB = 400
"""Memory that any of them may take beyond its own bytes: the largest answers and sheets that are read take as much."""


@pytest.mark.parametrize("case", LARGE)
def test_memory_is_bounded(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "FREE_UNPACKED", 4 * MIB)  # sooner found: readers of lines take some MiB in a second
    name, make = LARGE[case]
    target, data = targets()[name], make()
    with _peak(MOST_MIB) as growth:
        target.check(data)
    assert growth[0] < MOST_MIB, f"{growth[0]:.0f} MiB"


@contextmanager
def _peak(limit_mib: int) -> Iterator[list[float]]:
    """How much this process grew at most, in MiB; four times the limit cannot be had at all."""

    def status(key: str) -> float:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(key))

    only_where(os.access("/proc/self/clear_refs", os.W_OK), "peaks of memory are measured with Linux's /proc")
    Path("/proc/self/clear_refs").write_text("5")
    before, limits = status("VmRSS"), resource.getrlimit(resource.RLIMIT_AS)
    growth: list[float] = []
    resource.setrlimit(resource.RLIMIT_AS, (int(status("VmSize") + 4 * limit_mib) * MIB, limits[1]))
    try:
        yield growth
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
        growth.append(status("VmHWM") - before)
