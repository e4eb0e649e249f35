"""Counters exported by PowerCLI's Get-Stat."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypertwin.errors import SourceError
from hypertwin.ingest import formats
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.vmware import get_stat

WHOLE = """#TYPE VMware.VimAutomation.ViCore.Impl.V1.Stat.FloatSampleImpl
"Value","Timestamp","MetricId","Unit","Description","Entity","EntityId","IntervalSecs","Instance","Uid","Client"
"12000","5/31/2024 1:00:00 PM","cpu.ready.summation","millisecond","Ready","db","VirtualMachine-vm-42","300","","/x","c"
"6000","5/31/2024 1:00:00 PM","cpu.ready.summation","millisecond","Ready","db","VirtualMachine-vm-42","300","0","/x","c"
"61.25","5/31/2024 1:00:00 PM","cpu.usage.average","%","CPU","esx1","HostSystem-host-9","300","","/x","c"
"7.5","5/31/2024 12:55:00 AM","virtualDisk.totalReadLatency.average","","","db","VirtualMachine-vm-42","300","scsi0:0"
"2","5/31/2024 12:55:00 AM","mem.swapinRate.average","KBps","x","a/b","VirtualMachine-vm-43","300","","/","c"
"9","5/31/2024 12:55:00 AM","rescpu.actav1.latest","%","x","db","VirtualMachine-vm-42","300","","/","c"
"-1","5/31/2024 12:50:00 AM","cpu.ready.summation","millisecond","Ready","db","VirtualMachine-vm-42","300","","/x","c"
"""
SELECTED = "Entity;Timestamp;MetricId;Value;IntervalSecs\ndb;31.05.2024 13:00:20;cpu.usagemhz.average;1234,5;20\n"


def read(folder: Path, text: str) -> tuple[Reading, pl.DataFrame]:
    path = folder / "stats.csv"
    path.write_text(text)
    reading = formats.read(str(path))
    assert reading.kind == "get-stat"
    frames = list(reading.frames)
    return reading, pl.concat(frames).with_columns(pl.col("entity", "metric").cast(pl.String))


def test_an_export_of_all_properties(tmp_path: Path) -> None:
    reading, frame = read(tmp_path, WHOLE)
    rows = {(row["entity"], row["metric"]): row for row in frame.iter_rows(named=True)}
    noon = datetime(2024, 5, 31, 13, tzinfo=UTC)
    assert {key: (row["time"], row["value"]) for key, row in rows.items() if key[1] != "interval_s"} == {
        ("vm/db", "ready_sum_pct"): (noon, 4.0),
        ("vm/db/vcpu/0", "ready_sum_pct"): (noon, 2.0),
        ("host/esx1", "usage_pct"): (noon, 61.25),
        ("vm/db/disk/scsi0:0", "read_latency_ms"): (datetime(2024, 5, 31, 0, 55, tzinfo=UTC), 7.5),
        ("vm/a%2Fb", "swap_in_bytes_per_s"): (datetime(2024, 5, 31, 0, 55, tzinfo=UTC), 2048.0),
    }
    assert {row["value"] for key, row in rows.items() if key[1] == "interval_s"} == {300.0}
    missing = {gap.what: gap.costs for gap in reading.gaps}
    assert missing["cpu.costop.summation"] == "co-stop (no samples of VMs)"
    assert missing["storageAdapter.queued.average"] == "commands that wait for adapters (no samples of hosts)"
    assert not missing.keys() & {"cpu.ready.summation", "cpu.usage.average", "virtualDisk.totalReadLatency.average"}
    assert [note.partition(" ")[0] for note in reading.notes] == ["times"]


def test_selected_columns_of_another_culture(tmp_path: Path) -> None:
    reading, frame = read(tmp_path, SELECTED)
    assert frame.filter(pl.col("metric") == "used_mhz")["value"].to_list() == [1234.5]
    assert frame["time"].to_list()[0] == datetime(2024, 5, 31, 13, 0, 20, tzinfo=UTC)
    missing = [gap.what for gap in reading.gaps]
    assert missing[:3] == ["entityid", "instance", "cpu.demand.average"]
    assert "cpu.usage.average" not in missing, "hosts are missing as a whole"


def test_counters_in_any_case_and_a_file_without_hosts(tmp_path: Path) -> None:
    columns = "MetricId,Timestamp,Value,Entity,EntityId,Instance,IntervalSecs\n"
    rows = [
        "virtualdisk.totalreadlatency.average,2026-06-05 08:00:00,40,db,VirtualMachine-vm-1,scsi0:0,20\n",
        "mem.swapinrate.average,2026-06-05 08:00:00,5000,db,VirtualMachine-vm-1,,20\n",
        "CPU.READY.SUMMATION,2026-06-05 08:00:00,8000,db,VirtualMachine-vm-1,,20\n",
    ]
    reading, frame = read(tmp_path, columns + "".join(rows))
    values = {row["metric"]: (row["entity"], row["value"]) for row in frame.iter_rows(named=True)}
    assert values["read_latency_ms"] == ("vm/db/disk/scsi0:0", 40)
    assert values["swap_in_bytes_per_s"] == ("vm/db", 5000 * 1024)
    assert values["ready_sum_pct"] == ("vm/db", 40)
    missing = {gap.what: gap.costs for gap in reading.gaps}
    assert missing["samples of hosts"] == "counters of hosts"
    assert not missing.keys() & {"cpu.ready.summation", "mem.swapinRate.average", "cpu.usage.average"}


@pytest.mark.parametrize("time", ["1969-12-31T00:00:00", "2200-01-01T00:00:00", "9999-12-31T23:59:59"])
def test_a_time_of_no_measurement_is_refused(tmp_path: Path, time: str) -> None:
    with pytest.raises(SourceError, match="Timestamp"):
        read(tmp_path, f"Timestamp,MetricId,Value,Entity\n{time},cpu.demand.average,5,db\n")


def test_names_of_nothing_are_left_out(tmp_path: Path) -> None:
    names = ("db", "\u200b", " ", "\x1b")
    rows = "".join(f'2024-05-31 13:00:00,cpu.demand.average,5,"{name}"\n' for name in names)
    _, frame = read(tmp_path, "Timestamp,MetricId,Value,Entity\n" + rows)
    assert frame["entity"].unique().to_list() == ["vm/db"]


def test_sums_without_their_interval_mean_nothing(tmp_path: Path) -> None:
    text = "Timestamp,MetricId,Value,Entity\n2024-05-31 13:00:00,cpu.ready.summation,500,db\n2024-05-31,x,1,db\n"
    path = tmp_path / "stats.csv"
    path.write_text(text)
    reading = formats.read(str(path))
    assert list(reading.frames) == []
    assert any("cpu.ready.summation" in gap.costs for gap in reading.gaps)


@pytest.mark.parametrize(
    ("times", "month", "day", "noted"),
    [
        (["01/02/2024 00:00:00", "13/02/2024 00:00:00"], 2, 1, False),
        (["01/02/2024 00:00:00", "02/13/2024 00:00:00"], 1, 2, False),
        (["01/02/2024 00:00:00", "02/03/2024 00:00:00"], 1, 2, True),
        (["2024-01-02T00:00:00+01:00", "2024/01/03 00:00:00"], 1, 1, False),
        (["02.01.2024 0:00:00", "02.01.2024 0.00.20"], 1, 2, False),
        (["1/2/2024 12:00:00\u202fAM", "1/2/2024, 12:00 a.m."], 1, 2, True),
    ],
)
def test_the_order_of_day_and_month(tmp_path: Path, times: list[str], month: int, day: int, noted: bool) -> None:
    rows = "".join(f'"{time}",cpu.demand.average,5,db\n' for time in times)
    reading, frame = read(tmp_path, "Timestamp,MetricId,Value,Entity\n" + rows)
    first = frame["time"].min()
    assert isinstance(first, datetime)
    assert (first.month, first.day) == (month, day)
    assert any("month first" in note for note in reading.notes) == noted


@pytest.mark.parametrize(
    "row",
    [
        "yesterday,cpu.demand.average,5,db",
        "2024-13-31 13:00:00,cpu.demand.average,5,db",
        "0001-01-01 00:00:00,cpu.demand.average,5,db",
        "2024-05-31 25:00:00,cpu.demand.average,5,db",
        "2024-05-31 13:00:00,cpu.demand.average",
        ",".join(["2024-05-31 13:00:00,cpu.demand.average,5,db"] * 90),
        '2024-05-31 13:00:00,cpu.demand.average,5,"' + "x" * 200_000,
    ],
)
def test_a_row_that_cannot_be_read_is_named(tmp_path: Path, row: str) -> None:
    with pytest.raises(SourceError) as caught:
        read(tmp_path, "Timestamp,MetricId,Value,Entity\n2024-05-31 13:00:00,cpu.demand.average,5,db\n" + row)
    assert caught.value.mistakes[0].line == 3


def test_other_files_are_not_taken() -> None:
    assert not get_stat.recognises(b"")
    assert not get_stat.recognises(b'"(PDH-CSV 4.0) (UTC)(0)","\\\\esx1\\Memory\\x"\n')
    assert not get_stat.recognises(b"Timestamp;MetricId,Value,Entity\n")
    assert get_stat.recognises(b"\xef\xbb\xbf" + SELECTED.encode())


CELL = st.text(st.sampled_from("0123456789:-/., \"'\n;APM=<é٣"), max_size=25)


@given(st.lists(st.lists(CELL, max_size=8), max_size=6))
def test_any_rows_give_a_table_or_one_error(tmp_path: Path, rows: list[list[str]]) -> None:
    path = tmp_path / "any.csv"
    path.write_text(WHOLE + "".join(",".join(row) + "\n" for row in rows))
    try:
        frames = list(get_stat.read(path).frames)
    except SourceError:
        return
    assert all(frame["value"].is_finite().all() for frame in frames)
