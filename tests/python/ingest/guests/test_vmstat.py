"""vmstat: the forms that procps prints, what is dropped and said, and what is no vmstat of Linux."""

from __future__ import annotations

import gzip
import os
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import needs, refused
from tests.reading import read, series, survives, times

PLAIN = """\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 8  0      0 16266564 154964 7903100    0    0   458   894  233  306 48  3 49  0  0
 7  0   2048 16266560 154964 7903100    3    5  4268 68808 5612 12365 62 27  4  2  5
"""
TIMED = """\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 {zone}
 8  0      0 16266564 154964 7903100    0    0   458   894  233  306 48  3 49  0  0 2026-11-21 23:59:55
 7  0      0 16266564 154964 7903100    0    0  4268 68808 5612 12365 72 27  1  0  0 2026-11-22 00:00:00
 5  0      0 16266564 154964 7903100    0    0  4268 68808 5612 12365 10 20 70  0  0 2026-11-22 00:00:05
"""
WIDE = """\
--procs-- -----------------------memory---------------------- ---swap-- -----io---- -system-- ----------cpu----------
   r    b         swpd         free         buff        cache   si   so    bi    bo   in   cs  us  sy  id  wa  st  gu
  10    0            0     15293108       156044      8651084    0    0   458   897  233  306  48   3  49   0   0   0
  10    0            0     15293108       156044      8651084    0    0  1056 305020 2875 10510  40  30   0   0   0  30
"""
"""The last: procps-ng 4 with guest time."""


def test_a_row_becomes_measurements(tmp_path):
    reading, table = read(tmp_path / "db1.txt", PLAIN)
    expected = {
        "run_queue": 7,
        "guest_cpu_pct": 94,
        "user_pct": 62,
        "system_pct": 27,
        "iowait_pct": 2,
        "steal_pct": 5,
        "context_switches_per_s": 12365,
        "memory_free_bytes": 16266560 * 1024,
        "swapped_bytes": 2048 * 1024,
        "swap_in_bytes_per_s": 3 * 1024,
        "swap_out_bytes_per_s": 5 * 1024,
        "read_bytes_per_s": 4268 * 1024,
        "write_bytes_per_s": 68808 * 1024,
    }
    assert {metric: series(table, "guest/db1", metric) for metric in expected} == {
        metric: [value] for metric, value in expected.items()
    }
    assert len(table) == len(expected)
    assert reading.kind == "vmstat"
    assert any("since boot: 1 left out" in note for note in reading.notes)


def test_without_times_there_are_none_and_that_is_said(tmp_path):
    reading, table = read(tmp_path / "db1.txt", PLAIN)
    assert table["time"].null_count() == len(table)
    assert [gap.what for gap in reading.gaps] == ["vmstat -t"]


@pytest.mark.parametrize(("zone", "noted"), [("UTC", None), ("CET", "zone CET: assumed UTC")])
def test_times(zone, noted, tmp_path):
    reading, table = read(tmp_path / "db1", TIMED.format(zone=zone))
    assert times(table, "guest/db1", "run_queue") == ["2026-11-22 00:00:00", "2026-11-22 00:00:05"]
    assert series(table, "guest/db1", "interval_s") == [5, 5]
    assert any("zone" in note for note in reading.notes) == (noted is not None)
    assert noted is None or any(noted in note for note in reading.notes)
    assert not reading.gaps


def test_guest_time_is_time_in_processes(tmp_path):
    _, table = read(tmp_path / "host", WIDE)
    assert series(table, "guest/host", "user_pct") == [70]


def test_columns_that_are_not_there_are_gaps(tmp_path):
    old = "\n".join(line.removesuffix(" st")[: -3 if at > 1 else None] for at, line in enumerate(PLAIN.splitlines()))
    reading, table = read(tmp_path / "old", old)
    assert "vmstat st" in [gap.what for gap in reading.gaps]
    assert series(table, "guest/old", "steal_pct") == []
    assert series(table, "guest/old", "iowait_pct") == [2]


@pytest.mark.parametrize(
    ("memory", "free_bytes", "noted"),
    [
        ("14443 154 8939", 14443 * 2**20, "MiB"),
        ("16656961 158683 8092774", 16656961 * 1000, "kB"),
        ("14444 152 8940", 14444 * 1024, None),
    ],
)
def test_the_unit_of_memory_is_told_from_pages(memory, free_bytes, noted, tmp_path):
    head = PLAIN.splitlines()[:2]
    rows = [f" 1 0 0 {memory} 0 0 1 1 1 1 1 1 98 0 0"] * 3
    reading, table = read(tmp_path / "db1", "\n".join([*head, *rows]))
    assert series(table, "guest/db1", "memory_free_bytes") == [free_bytes] * 2
    assert any(f"read as {noted}" in note for note in reading.notes) == (noted is not None)


def test_a_repeated_header_is_no_new_run_and_an_early_one_is(tmp_path):
    header, _, _ = PLAIN.partition(" 8  0")
    row = PLAIN.splitlines()[3] + "\n"
    long_run = header + row * 21 + header + row * 5
    _, table = read(tmp_path / "long", long_run)
    assert len(series(table, "guest/long", "run_queue")) == 25
    reading, table = read(tmp_path / "cron", PLAIN * 3)
    assert series(table, "guest/cron", "run_queue") == [7, 7, 7]
    assert any("3 left out" in note for note in reading.notes)


def test_what_stands_before_and_between_rows_does_not_matter(tmp_path):
    text = "collected by cron\n" + PLAIN.replace(" 7  0 ", "\nKilled\n 7  x 1\n 7  0 ")
    reading, table = read(tmp_path / "db1", gzip.compress(text.encode()))
    assert series(table, "guest/db1", "run_queue") == [7]
    assert any("1 lines or values" in note for note in reading.notes)


@pytest.mark.parametrize(
    "header",
    [
        "kthr memory page faults cpu\n r  b   avm   fre  re  pi  po  fr   sr  cy  in   sy  cs us sy id wa\n",
        "kthr memory page disk faults cpu\n r b w swap free re mf pi po fr de sr s0 s1 s2 s3 in sy cs us sy id\n",
        "procs memory page disks faults cpu\n r b w avm fre flt re pi po fr sr da0 cd0 in sy cs us sy id\n",
    ],
    ids=["AIX", "Solaris", "FreeBSD"],
)
def test_other_systems_are_refused(header, tmp_path):
    with refused("bad-source", match="vmstat of Linux"):
        read(tmp_path / "unix", header + " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n")


def test_a_single_average_since_boot_is_nothing(tmp_path):
    with refused("source-lacks", match="no measurements"):
        read(tmp_path / "once", "\n".join(PLAIN.splitlines()[:3]))


def test_names_are_data(tmp_path):
    _, table = read(tmp_path / "=cmd|<b>%.txt", PLAIN)
    assert str(table["entity"][0]) == "guest/=cmd|<b>%25"


@pytest.mark.slow
def test_the_real_thing(tmp_path):
    needs("vmstat")
    environment = {**os.environ, "TZ": "UTC", "LC_ALL": "C"}
    command = ["vmstat", "-t", "-w", "1", "3"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    reading, table = read(tmp_path / "here", printed)
    assert len(series(table, "guest/here", "run_queue")) == 2
    assert sum(series(table, "guest/here", "interval_s")) >= 1
    assert all(0 <= value <= 100 for value in series(table, "guest/here", "guest_cpu_pct"))
    assert not reading.gaps


WHOLE = (PLAIN, TIMED.format(zone="UTC"), WIDE)
PACKED = [gzip.compress("".join(WHOLE).encode() * 20)]
TOKENS = [*PLAIN.split(), *TIMED.split(), "avm", "-1", "1e9", "nan", "²", "\x00", "2026-02-31", "24:61:61", "=1+1"]


@given(st.lists(st.lists(st.sampled_from(TOKENS), max_size=22), max_size=12))
def test_any_rows_are_read_or_refused(tmp_path, rows):
    text = PLAIN + "\n".join(" ".join(row) for row in rows)
    survives(tmp_path / "drawn", text.encode())
