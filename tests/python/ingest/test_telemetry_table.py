"""The table of telemetry: written, read back, summarised, and what is refused of a file that claims to be one."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.conftest import SOAK, Cli

from hypertwin.errors import SourceError
from hypertwin.ingest import formats, outside, parquet_table, telemetry, telemetry_table
from hypertwin.ingest.overview import overview
from hypertwin.metrics.ready import ready

START = datetime(2026, 1, 1, tzinfo=UTC)
NAME = '<b>=cmd|"/c calc"!A1 \u202edb/1%'


def rows(vcpus: float = 4.0) -> Iterator[tuple[object, str, str, float]]:
    vm = telemetry.entity("host", "esx1", "vm", outside.name(NAME))
    for index in range(10):
        time = START + timedelta(seconds=20 * index)
        yield time, "host/esx1", "usage_pct", 50.0 + index
        yield time, vm, "ready_sum_pct", 28.0
        yield time, vm, "vcpus", vcpus


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "a*[b]?'ä host=x.parquet"
    telemetry_table.write([telemetry_table.frame(rows())], path)
    return path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((28, 4, 20), "ready 28 % summed over 4 vCPUs = 7 % per vCPU (1,400 ms per vCPU of each 20 s)"),
        ((7.25, 1, 300), "ready 7.2 % summed over 1 vCPU = 7.2 % per vCPU (21,750 ms per vCPU of each 300 s)"),
        ((28, None, 20), "ready 28 % summed over its vCPUs, whose number is not known (5,600 ms of each 20 s)"),
        ((28, 4, None), "ready 28 % summed over 4 vCPUs = 7 % per vCPU (interval not known)"),
        ((0, 4, 5), "ready 0 % summed over 4 vCPUs = 0 % per vCPU (0 ms per vCPU of each 5 s)"),
    ],
)
def test_ready_is_said_summed_and_per_vcpu_with_its_interval(
    arguments: tuple[float, float | None, float | None], said: str
) -> None:
    assert ready(*arguments) == said


def test_a_table_is_read_back_as_it_was_written(table: Path) -> None:
    reading = formats.read(str(table))
    assert pl.concat(reading.frames).equals(telemetry_table.frame(rows()))
    assert (reading.kind, reading.gaps, reading.notes) == ("table", [], [])


def test_a_csv_table_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    frame = telemetry_table.frame([*rows(), (None, "guest/db", "run_queue", 3.0)])
    telemetry_table.write_csv([frame], path)
    reading = formats.read(str(path))
    assert pl.concat(reading.frames).equals(frame)
    assert (reading.kind, reading.gaps, reading.notes) == ("table", [], [])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (",host/a,usage_pct,1", "row: 4 columns"),
        (",host/a,usage_pct,much,%", "a row without entity"),
        ("2026-01-01T09:00:00,host/a,usage_pct,1,%", "time: 2026-01-01T09:00:00"),
        ("now,host/a,usage_pct,1,%", "t.csv:2"),
        ("1969-01-01T09:00:00+0000,host/a,usage_pct,1,%", "time: before 1970"),
        ("0001-01-01T00:00:00+2359,host/a,usage_pct,1,%", "time: before 1970"),
        (",house/a,usage_pct,1,%", "entity: house/a"),
        (",,usage_pct,1,%", "entity: "),
        (",host/a,usage_pct,1,ms", "unit of usage_pct: ms"),
        (f',"{"a" * 200_000}', "rows of CSV"),
    ],
)
def test_a_csv_table_with_other_rows_is_refused(tmp_path: Path, row: str, said: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"time,entity,metric,value,unit\n{row}\n")
    refused(path, said)


def test_times_may_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame = telemetry_table.frame([(None, "guest/db", "run_queue", 3.0)])
    telemetry_table.write([frame], path)
    assert pl.concat(parquet_table.read(path).frames).equals(frame)
    assert overview(path)["first"] is None


def test_the_overview_tells_how_much_of_what(table: Path) -> None:
    found = overview(table)
    assert (found["rows"], found["entities"], found["metrics"]) == (30, 2, 3)
    assert (found["first"], found["last"]) == (START.isoformat(), (START + timedelta(seconds=180)).isoformat())
    known = ("host", "usage_pct", 1, 10, 54.5, pytest.approx(59, abs=0.5), 59.0, "%")
    assert tuple(found["lines"][0].values()) == known
    assert [line["metric"] for line in found["lines"]] == ["usage_pct", "vcpus", "ready_sum_pct"]
    (ready,) = found["ready"]
    assert tuple(ready.values()) == (telemetry.entity("host", "esx1", "vm", outside.name(NAME)), 28.0, 4.0, 20.0)


def test_vcpus_and_interval_of_ready_come_from_where_they_are(tmp_path: Path) -> None:
    vm = "host/esx1/vm/db"
    samples = [
        ("host/esx1", "interval_s", 300.0),
        (vm, "ready_sum_pct", 20.0),
        *((f"{vm}/vcpu/{number}", "ready_sum_pct", 10.0) for number in range(2)),
    ]
    telemetry_table.write([telemetry_table.frame((START, *sample) for sample in samples)], tmp_path / "t.parquet")
    (ready,) = overview(tmp_path / "t.parquet")["ready"]
    assert ready == {"entity": vm, "summed_pct": 20.0, "vcpus": 2, "interval_s": 300.0}


def test_a_sample_counts_by_the_time_that_it_stands_for(tmp_path: Path) -> None:
    """An hour of samples of 300 s, then five minutes of samples of 20 s."""
    times = [(300 * (index + 1), 300) for index in range(12)] + [(3600 + 20 * (index + 1), 20) for index in range(15)]
    rows = [
        (START + timedelta(seconds=at), "vm/db", metric, value)
        for at, length in times
        for metric, value in (
            ("used_mhz", 1000.0 if length == 300 else 4000.0),
            ("ready_sum_pct", 0.0 if length == 300 else 13.0),
            ("interval_s", float(length)),
        )
    ]
    path = tmp_path / "mixed.parquet"
    telemetry_table.write([telemetry_table.frame(rows)], path)
    found = overview(path)
    lines = {line["metric"]: line for line in found["lines"]}
    assert (lines["used_mhz"]["samples"], lines["used_mhz"]["p95"]) == (27, 4000)
    assert lines["used_mhz"]["mean"] == pytest.approx((12 * 1000 + 4000) / 13)
    # the interval with the most time
    (ready,) = found["ready"]
    assert (ready["summed_pct"], ready["interval_s"]) == (pytest.approx(1), 300)


PEAK = """
import sys
from pathlib import Path
from hypertwin.ingest import lengths
lengths.weighted(Path(sys.argv[1]))
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""


def _large(path: Path, times: int) -> Path:
    """Write a table of 50 VMs whose host states the interval of each sample."""
    time = pl.DataFrame({"us": pl.int_range(times, eager=True) * 20_000_000})
    names = pl.DataFrame({"entity": ["host/a", *(f"host/a/vm/{n}" for n in range(50))]})
    metric = pl.when(pl.col("entity") == "host/a").then(pl.lit("interval_s")).otherwise(pl.lit("ready_sum_pct"))
    rows = names.join(time, how="cross").select(
        pl.from_epoch("us", "us").dt.replace_time_zone("UTC").alias("time"),
        "entity",
        metric.alias("metric"),
        pl.lit(20.0).alias("value"),
        pl.when(pl.col("entity") == "host/a").then(pl.lit("s")).otherwise(pl.lit("%")).alias("unit"),
    )
    rows.cast(dict(telemetry_table.SCHEMA)).write_parquet(path, row_group_size=100_000)
    return path


def test_samples_with_a_stated_interval_need_no_memory_for_their_times(tmp_path: Path) -> None:
    peaks = []
    for times in (10_000, 100_000):
        path = _large(tmp_path / f"{times}.parquet", times)
        peaks.append(int(subprocess.check_output([sys.executable, "-c", PEAK, path])) / 1024)
        assert {line["mean"] for line in overview(path)["lines"]} == {20}
    # the distinct times of all samples would take 160 MiB more
    assert peaks[1] < peaks[0] + 80, peaks


def test_the_command_writes_parquet_and_csv(cli: Cli, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    done = cli("telemetry", table, table, "-o", out)
    assert (done.returncode, done.stdout) == (0, "")
    assert f"{table.name} (table): 30 rows" in done.stderr.splitlines()  # under load after a line of progress
    assert "60 rows, 2 entities, 3 metrics, 2026-01-01T00:00:00+00:00 to 2026-01-01T00:03:00+00:00" in done.stderr
    assert pl.read_parquet(out).height == 60
    cli("telemetry", out, "-o", tmp_path / "out.csv", "--format", "csv", exits=0)
    lines = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["time,entity,metric,value,unit", "2026-01-01T00:00:00.000000+0000,host/esx1,usage_pct,50.0,%"]
    assert len(lines) == 61
    assert not any(cell[:1] in "=+-@" for line in lines for cell in line.split(",") if cell)  # no formula


def test_without_a_file_the_command_shows_figures(cli: Cli, table: Path) -> None:
    done = cli("telemetry", table, "--explain", exits=0)
    assert "ready 28 % summed over 4 vCPUs = 7 % per vCPU (1,400 ms per vCPU of each 20 s)" in done.stdout
    assert "ready_sum_pct" in done.stdout
    found = json.loads(cli("telemetry", table, "--format", "json").stdout)
    assert found["rows"] == 30
    assert found["sources"] == [{"source": table.name, "kind": "table", "rows": 30, "gaps": [], "notes": []}]
    assert found["ready"][0]["vcpus"] == 4


@pytest.mark.parametrize("arguments", [("--format", "csv"), ("--format", "table", "-o", "x.csv"), ("-o", "no/x.csv")])
def test_options_that_contradict_each_other(cli: Cli, table: Path, arguments: tuple[str, ...]) -> None:
    done = cli("telemetry", table, *arguments, exits=2)
    assert done.stderr.startswith("error: ")


def test_gzip_that_unpacks_to_much_more_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "FREE_UNPACKED", 2**20)
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"\n" * 2**20))
    assert sum(1 for _ in outside.text_lines(path)) == 2**20
    path.write_bytes(gzip.compress(b"\n" * 2**22))
    with pytest.raises(SourceError, match="source-too-large"):
        list(outside.text_lines(path))


@pytest.mark.parametrize(
    ("text", "by", "expected"), [("web", "vm-1", "web (vm-1)"), ("", "7", "(7)"), ("a", "\x1b", "a ()")]
)
def test_names_that_are_told_apart(text: str, by: str, expected: str) -> None:
    assert outside.told_apart(text, by) == expected
    long = outside.told_apart("n " * 200, "b" * 200)
    assert long == outside.name(long)
    assert len(long) <= outside.MOST_NAME


def write(path: Path, **columns: object) -> Path:
    good = {"time": pa.array([0], pa.timestamp("us", "UTC")), "entity": ["host/a"], "metric": ["usage_pct"]}
    table = {**good, "value": [1.0], "unit": ["%"], **columns}
    parquet.write_table(pa.table({name: column for name, column in table.items() if column is not None}), path)
    return path


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"value": None}, "columns: time Datetime(UTC), entity String"),
        ({"value": ["1"]}, "value String"),
        ({"value": [[1.0]]}, "value List(Float64)"),
        ({"time": pa.array([0], pa.timestamp("us"))}, "time Datetime(no time zone),"),
        ({"more": [1]}, "columns: time Datetime(UTC)"),
    ],
)
def test_a_table_with_other_columns_is_refused(tmp_path: Path, columns: dict[str, object], said: str) -> None:
    refused(write(tmp_path / "x.parquet", **columns), said)


@pytest.mark.usefixtures("tables_here")
@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"value": [float("nan")]}, "value: infinite or no number"),
        ({"value": pa.array([None], pa.float64())}, "a row without entity"),
        ({"entity": pa.array([None], pa.string())}, "a row without entity"),
        ({"time": pa.array([-1], pa.timestamp("us", "UTC"))}, "time: before 1970"),
        ({"time": pa.array([2**62], pa.timestamp("us", "UTC"))}, "time: before 1970 or after 2199"),
        ({"unit": ["ms"]}, "unit of usage_pct: ms"),
        ({"entity": ["a"]}, "entity: a"),
        ({"entity": ["house/a"]}, "entity: house/a"),
        ({"entity": ["host/a\x1b[31m"]}, "entity: host/a [31m"),
        ({"entity": ["host/%41"]}, "entity: host/%41"),
        ({"entity": ["host/" + "a" * 5000]}, "entity: host/aaa"),
    ],
)
def test_a_table_with_other_rows_is_refused(tmp_path: Path, columns: dict[str, object], said: str) -> None:
    refused(write(tmp_path / "x.parquet", **columns), said)


def refused(path: Path, said: str) -> None:
    with pytest.raises(SourceError) as caught:
        list(formats.read(str(path)).frames)
    assert said in str(caught.value)
    assert caught.value.exit_code == 2


def test_metrics_of_a_later_version_are_left_out_and_named(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", metric=["tomorrow_pct"])
    reading = parquet_table.read(path)
    assert sum(frame.height for frame in reading.frames) == 0
    assert reading.notes == ["left out 1 metrics that this version does not know: tomorrow_pct"]


def test_a_page_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_table, "MOST_MEMORY", 32 * 2**20)
    path = tmp_path / "bomb.parquet"
    columns = {"entity": ["a" * 60_000_000], "value": [1.0]}
    good = {"time": pa.array([0], pa.timestamp("us", "UTC")), "metric": ["usage_pct"], "unit": ["%"]}
    parquet.write_table(pa.table({**good, **columns}), path, compression="zstd", use_dictionary=False)
    assert path.stat().st_size < 100_000
    with pytest.raises(SourceError, match="source-too-large"):
        list(parquet_table.read(path).frames)


@pytest.mark.parametrize("limit", ["WAITS", "STILL_SECONDS"])
def test_a_reader_that_waits_for_ever_is_ended(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    waits = tmp_path / "waits"
    waits.write_text("#!/bin/sh\nexec sleep 600\n")
    waits.chmod(0o700)
    monkeypatch.setattr(parquet_table.sys, "executable", str(waits))
    for each in ("WAITS", "STILL_SECONDS"):
        monkeypatch.setattr(parquet_table, each, 0.01 if each == limit else 1000)
    with pytest.raises(SourceError, match="a whole Parquet file"):
        list(parquet_table.read(table).frames)


def test_whatever_the_bytes_are_there_is_a_table_or_one_clear_error(table: Path) -> None:
    good = table.read_bytes()
    chance = random.Random(5)
    refused, tries = 0, 8 * SOAK
    for _ in range(tries):  # each in a process of its own
        data = bytearray(good)
        for _ in range(chance.choice((1, 2, 8))):
            data[chance.randrange(4, len(data))] = chance.randrange(256)
        table.write_bytes(data[: chance.choice((len(data), len(data), chance.randrange(4, len(data))))])
        try:
            list(parquet_table.read(table).frames)
        except SourceError as error:
            refused += 1
            assert error.mistakes[0].file == str(table)
    assert refused > tries / 3
