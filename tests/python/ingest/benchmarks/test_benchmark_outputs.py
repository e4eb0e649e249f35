"""What sysbench, fio and HCIBench print: the forms of their versions, what is summed up, and hostile ones."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import needs, refused
from tests.python.ingest.benchmarks.load_samples import RESULT_FIO
from tests.reading import read, series, survives, times

SYSBENCH_1_0 = """\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 32
Threads started!

[ 10s ] thds: 32 tps: 1173.65 qps: 23522.51 (r/w/o: 16473.81/4698.30/2350.40) lat (ms,95%): 41.85 err/s: 0.00
[ 20s ] thds: 32 tps: 1200.00 qps: 24000.00 (r/w/o: 16800.00/4800.00/2400.00) lat (ms,95%): 40.37 err/s: 0.00
SQL statistics:
    queries performed:
        read:                            332010
    transactions:                        23715  (1185.52 per sec.)
    queries:                             474300 (23710.47 per sec.)

General statistics:
    total time:                          20.0038s
    total number of events:              23715

Latency (ms):
         min:                                    9.04
         avg:                                   26.98
         max:                                  118.34
         95th percentile:                       41.10
         sum:                               639854.56

Threads fairness:
    events (avg/stddev):           741.0938/6.65
"""
SYSBENCH_0_5 = """\
sysbench 0.5:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 4
Threads started!

[  10s] threads: 4, tps: 499.62, reads: 6990.62, writes: 1998.46, response time: 9.58ms (99%), errors: 0.00
[  20s] threads: 4, tps: 2.60, reads/s: 37.80, writes/s: 10.50 response time: 451.55ms (99%)
OLTP test statistics:
    transactions:                        90232  (1768.10 per sec.)
    read/write requests:                 902320 (17681.03 per sec.)

General statistics:
    total time:                          51.0332s
    total number of events:              90232
    response time:
         min:                                 17.31ms
         avg:                                 72.37ms
         max:                                210.08ms
         approx.  99 percentile:              87.93ms
"""
SYSBENCH_0_4 = """\
sysbench 0.4.12:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 2
Doing CPU performance benchmark

Test execution summary:
    total time:                          20.0000s
    total number of events:              10000
    total time taken by event execution: 20.9662
    per-request statistics:
         min:                                  2.04ms
         avg:                                  2.10ms
         max:                                  2.52ms
         approx.  95 percentile:               2.17ms

Threads fairness:
"""


@pytest.mark.parametrize(
    ("text", "rate", "mean", "longest", "percentile", "intervals"),
    [
        (SYSBENCH_1_0, 1185.52, 26.98, 118.34, ("p95", 41.10), [1173.65, 1200]),
        (SYSBENCH_0_5, 1768.10, 72.37, 210.08, ("p99", 87.93), [499.62, 2.6]),
        (SYSBENCH_0_4, 500, 2.10, 2.52, ("p95", 2.17), []),
    ],
    ids=["1.0", "0.5", "0.4"],
)
def test_versions_of_sysbench(text, rate, mean, longest, percentile, intervals, tmp_path):
    reading, table = read(tmp_path / "oltp.txt", text)
    name, value = percentile
    assert series(table, "benchmark/oltp", "throughput_per_s") == [rate]
    assert series(table, "benchmark/oltp", "response_ms_mean") == [mean]
    assert series(table, "benchmark/oltp", "response_ms_max") == [longest]
    assert series(table, "benchmark/oltp", f"response_ms_{name}") == [value]
    assert series(table, "benchmark/oltp/series/intervals", "throughput_per_s") == intervals
    assert len(series(table, "benchmark/oltp/series/intervals", f"response_ms_{name}")) == len(intervals)
    assert len(reading.gaps) == 1 and "percentile" in reading.gaps[0].what
    assert table["time"].null_count() == len(table)


@pytest.mark.parametrize("has_fairness", [True, False])
def test_the_last_report_of_sysbench_replaces_those_of_checkpoints_as_a_whole(has_fairness, tmp_path):
    head, _, last = SYSBENCH_1_0.partition("SQL statistics:")
    first = f"[ 12s ] Checkpoint report:\nSQL statistics:{last}"
    for old, new in (("1185.52", "100.00"), ("41.10", "90.00"), ("26.98", "80.00"), ("20.0038", "12.0001")):
        first = first.replace(old, new)
    if not has_fairness:
        first = first.partition("Threads fairness")[0]
    text = f"{head}{first}\nSQL statistics:{last}"
    _, table = read(tmp_path / "oltp", text)
    found = {metric: series(table, "benchmark/oltp", metric) for metric in ("throughput_per_s", "response_ms_mean")}
    assert found == {"throughput_per_s": [1185.52], "response_ms_mean": [26.98]}
    assert series(table, "benchmark/oltp", "response_ms_p95") == [41.10]
    assert series(table, "benchmark/oltp", "interval_s") == pytest.approx([8.0038])
    _, table = read(tmp_path / "killed", f"{head}{first}")
    assert series(table, "benchmark/killed", "throughput_per_s") == [100]
    assert series(table, "benchmark/killed", "interval_s") == pytest.approx([12.0001])
    _, table = read(tmp_path / "old", f"sysbench 0.5: x\n{first}\n{last}")
    assert series(table, "benchmark/old", "interval_s") == [20.0038], "0.5 counts from the checkpoint"


def test_several_runs_and_one_that_was_killed(tmp_path):
    killed = SYSBENCH_1_0.partition("SQL statistics")[0]
    reading, table = read(tmp_path / "runs", SYSBENCH_1_0 + killed + SYSBENCH_0_5)
    assert series(table, "benchmark/runs", "throughput_per_s") == [1185.52]
    assert series(table, "benchmark/runs#2", "throughput_per_s") == []
    assert len(series(table, "benchmark/runs#2/series/intervals", "throughput_per_s")) == 2
    assert series(table, "benchmark/runs#3", "throughput_per_s") == [1768.10]
    assert any("without a summary" in note for note in reading.notes)


def _fio_direction(iops: float, mean_ns: float = 2e6, **more: Any) -> dict[str, Any]:
    percentiles = {"50.000000": 1, "95.000000": 3_000_000, "99.000000": 9_000_000}
    return {
        "iops": iops,
        "bw_bytes": iops * 4096,
        "bw": int(iops * 4),
        "runtime": 5000,
        "lat_ns": {"mean": mean_ns},
        "clat_ns": {"mean": mean_ns / 2, "percentile": percentiles},
        **more,
    }


def _fio(*jobs: dict[str, Any], timestamp: int = 1795292132) -> str:
    return json.dumps({"fio version": "fio-3.33", "timestamp": timestamp, "jobs": list(jobs)}, indent=2) + "\n"


def _job(name: str = "oltp", read_iops: float = 300, write_iops: float = 100, **more: Any) -> dict[str, Any]:
    job = {"jobname": name, "error": 0, "elapsed": 6, "read": _fio_direction(read_iops)}
    return {**job, "write": _fio_direction(write_iops, mean_ns=6e6), "trim": _fio_direction(0), **more}


def test_reads_and_writes_of_fio(tmp_path):
    reading, table = read(tmp_path / "fio.json", _fio(_job()))
    expected = {
        "iops": 400,
        "read_iops": 300,
        "write_bytes_per_s": 409600,
        "bytes_per_s": 1638400,
        "read_latency_ms": 2,
        "write_latency_ms": 6,
        "latency_ms": 3,
        "read_latency_ms_p95": 3,
        "write_latency_ms_p99": 9,
        "interval_s": 5,
    }
    assert {metric: series(table, "benchmark/oltp", metric) for metric in expected} == {
        metric: [pytest.approx(value)] for metric, value in expected.items()
    }
    assert series(table, "benchmark/oltp", "latency_ms_p95") == []  # percentiles of two kinds cannot be added up
    assert times(table, "benchmark/oltp", "iops") == ["2026-11-21 20:15:32"]
    assert any("clat" in note for note in reading.notes)


def test_one_direction_has_percentiles_of_all(tmp_path):
    whole = {"mean": 2e6, "percentile": {"95.000000": 4_000_000}}
    _, table = read(tmp_path / "fio.json", _fio(_job(write_iops=0, read=_fio_direction(300, lat_ns=whole))))
    assert series(table, "benchmark/oltp", "latency_ms_p95") == [4]
    assert series(table, "benchmark/oltp", "latency_ms_p99") == []
    assert series(table, "benchmark/oltp", "write_latency_ms") == []
    _, mixed = read(tmp_path / "fio.json", _fio({"jobname": "both", "mixed": _fio_direction(50)}))
    assert series(mixed, "benchmark/both", "iops") == [50]
    assert series(mixed, "benchmark/both", "latency_ms_p99") == [9]


def test_fio_2_counts_in_microseconds(tmp_path):
    part = {
        "iops": 10.0,
        "bw": 40,
        "runtime": 1000,
        "lat": {"mean": 2000.0},
        "clat": {"percentile": {"99.000000": 9000}},
    }
    _, table = read(tmp_path / "fio.json", _fio({"jobname": "old", "read": part}))
    assert series(table, "benchmark/old", "latency_ms") == [2]
    assert series(table, "benchmark/old", "latency_ms_p99") == [9]
    assert series(table, "benchmark/old", "read_bytes_per_s") == [40960]


def test_other_text_between_reports_and_reports_before_the_end(tmp_path):
    early = _fio(_job(read_iops=1, elapsed=3), timestamp=1795292129)
    reading, table = read(tmp_path / "fio.json", "note: both iodepth >= 1\n" + early + _fio(_job()) + "bye {\n")
    assert series(table, "benchmark/oltp", "read_iops") == [300]
    assert any("before the end of a run" in note for note in reading.notes)
    _, apart = read(tmp_path / "fio.json", _fio(_job()) + _fio(_job(read_iops=1), timestamp=1795299999))
    assert series(apart, "benchmark/oltp", "read_iops") == [300, 1]


def test_clones_clients_and_errors_of_fio(tmp_path):
    reading, table = read(tmp_path / "fio.json", _fio(_job(), _job(error=5), _job("idle", 0, 0)))
    assert series(table, "benchmark/oltp", "iops") == [800]
    assert series(table, "benchmark/oltp", "interval_s") == [5]
    assert series(table, "benchmark/oltp", "latency_ms") == [pytest.approx(3)]
    assert series(table, "benchmark/oltp", "read_latency_ms_p95") == []
    for said in ("group_reporting", "error 5", "idle did no I/O"):
        assert any(said in note for note in reading.notes), said
    text = _fio(_job(hostname="vm1")).replace('"jobs"', '"client_stats"')
    _, clients = read(tmp_path / "fio.json", text)
    assert series(clients, "benchmark/vm1 oltp", "iops") == [400]


FIO_TEXT = """\
oltp: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=1
fio-3.33
Starting 1 process
Jobs: 1 (f=1): [m(1)][50.0%][r=1MiB/s][eta 00m:01s]\r
oltp: (groupid=0, jobs=1): err= 0: pid=28557: Sat Nov  7 20:15:37 2026
  read: IOPS=10.3k, BW=40.0MiB/s (41.9MB/s)(1984KiB/4800msec)
    slat (nsec): min=35, max=3708, avg=82.53, stdev=250.05
    clat (usec): min=35, max=3708, avg=82.00, stdev=250.05
     lat (usec): min=35, max=3708, avg=83.00, stdev=250.06
    clat percentiles (usec):
     | 70.00th=[   50], 80.00th=[   60], 90.00th=[   75], 95.00th=[  112],
     | 99.00th=[ 1565], 99.50th=[ 1745], 99.90th=[ 3720], 99.95th=[ 3720],
   bw (  KiB/s): min=  100, max=  200, per=100.00%, avg=150.00, stdev= 0.00, samples=1
  cpu          : usr=0.00%, sys=27.66%, ctx=503, majf=0, minf=12
     issued rwts: total=496,0,0,0 short=0,0,0,0 dropped=0,0,0,0

Run status group 0 (all jobs):
   READ: bw=40.4MiB/s (42.3MB/s), 40.4MiB/s-40.4MiB/s (42.3MB/s-42.3MB/s), io=1984KiB (2032kB), run=48-48msec
"""
FIO_2_TEXT = """\
fio-2.2.10
old: (groupid=0, jobs=1): err= 5 (file:io_u.c:1), error=Input/output error: pid=99: Sat Nov  7 20:15:37 2026
  write: io=2000KB, bw=41322KB/s, iops=10330, runt=  4800msec
    clat (msec): min=35, max=3708, avg=82.00, stdev=250.05
"""


def test_the_text_of_fio(tmp_path):
    reading, table = read(tmp_path / "fio.txt", FIO_TEXT)
    expected = {
        "read_iops": 10300,
        "read_bytes_per_s": 40 * 2**20,
        "latency_ms": 0.083,
        "latency_ms_p95": 0.112,
        "latency_ms_p99": 1.565,
        "interval_s": 4.8,
    }
    assert {metric: series(table, "benchmark/oltp", metric) for metric in expected} == {
        metric: [pytest.approx(value)] for metric, value in expected.items()
    }
    assert times(table, "benchmark/oltp", "iops") == ["2026-11-07 20:15:37"]
    assert any("rounded" in note for note in reading.notes)
    reading, old = read(tmp_path / "fio.txt", FIO_2_TEXT)
    assert series(old, "benchmark/old", "write_bytes_per_s") == [41322 * 1024]
    assert series(old, "benchmark/old", "latency_ms") == [82]
    assert {"job old ended with error 5", "times have no zone: assumed UTC"} <= set(reading.notes)


def test_clones_in_the_text_of_fio_add_up(tmp_path):
    header, _, job = FIO_TEXT.partition("oltp: (groupid=0")
    job, blank, end = f"oltp: (groupid=0{job}".partition("\nRun status")
    other = job.replace("groupid=0", "groupid=1")
    reading, table = read(tmp_path / "fio.txt", header + job + job + other + blank + end + header + job)
    assert series(table, "benchmark/oltp", "read_iops") == [20600, 10300, 10300]
    assert series(table, "benchmark/oltp", "latency_ms_p95") == [0.112, 0.112]
    assert any("group_reporting" in note for note in reading.notes)


def _fio_terse(iops: int, group: int = 0) -> str:
    direction = ["0", str(4 * iops), str(iops), "5000", *["0"] * 8, "95.000000%=300", *["0%=0"] * 19]
    direction += ["0", "0", "200", *["0"] * 6]
    return ";".join(["3", "fio-3.33", "oltp", str(group), "0", *direction, *direction, "0"]) + "\n"


def test_clones_in_the_terse_output_of_fio_add_up(tmp_path):
    _, table = read(tmp_path / "fio.txt", _fio_terse(100) + _fio_terse(50) + _fio_terse(30, 1) + "\n" + _fio_terse(7))
    assert series(table, "benchmark/oltp", "read_iops") == [150, 30, 7]
    assert series(table, "benchmark/oltp", "latency_ms") == [pytest.approx(0.2)] * 3
    both = _fio_terse(100) + FIO_TEXT.partition("Run status")[0] + _fio_terse(100)
    assert series(read(tmp_path / "fio.txt", both)[1], "benchmark/oltp", "read_iops") == [100, 10300, 100]


def test_json_of_fio_that_is_cut_off_nested_or_large(tmp_path):
    with refused("source-lacks"):
        read(tmp_path / "fio.json", _fio(_job())[:-300])
    with refused("bad-source", match="nesting"):
        read(tmp_path / "fio.json", '{"fio version": ' + "[" * 200_000)
    with refused("bad-source"):
        read(tmp_path / "fio.json", '{"fio version" "x"}' + " " * 200)
    with refused("source-too-large", match="jobs"):
        read(tmp_path / "fio.json", _fio(*[{"jobname": str(at)} for at in range(2_001)]))
    for value in (10**400, float("nan"), float("inf"), -1, "9", None, [], True):
        with refused("source-lacks"):
            read(tmp_path / "fio.json", _fio({"jobname": "x", "read": {"iops": value, "bw": value}}))


RESULT_VDBENCH = """\
Datastore:  vsanDatastore
=============================
Version:\tvdbench50407
Run Def:\tRD=run1; I/O rate: Uncontrolled MAX
VMs         = 8
IOPS        = 1000.5 IO/s
THROUGHPUT  = 3.91 MB/s
LATENCY     = 2.0000 ms
R_LATENCY   = 1.0000 ms
W_LATENCY   = 4.0000 ms
95%tile_LAT = 5.5000 ms
=============================
Testing is done, 7 out of 8 VMs finished test successfully. Please check following files for details:
"""


def test_a_summary_of_hcibench(tmp_path):
    reading, table = read(tmp_path / "fio-4k-1511829572-res.txt", RESULT_FIO)
    test = "benchmark/fio-4k-1511829572"
    expected = {
        "iops": 123456.78,
        "bytes_per_s": 482 * 2**20,
        "read_latency_ms": 1.2345,
        "write_latency_ms": 2.3456,
        "read_latency_ms_p95": 3.4567,
        "write_latency_ms_p95": 4.5678,
        "usage_pct": 51.23,
    }
    assert {metric: series(table, test, metric) for metric in expected} == {
        metric: [value] for metric, value in expected.items()
    }
    assert series(table, f"{test}/process/vSAN", "usage_pct") == [12.5]
    assert any("means over the VMs" in note for note in reading.notes)


def test_a_summary_of_vdbench_and_several_jobs(tmp_path):
    reading, table = read(tmp_path / "vdb-res.txt", RESULT_VDBENCH)
    assert series(table, "benchmark/vdb", "latency_ms_p95") == [5.5]
    assert any("1.645" in note for note in reading.notes)
    assert any("7 out of 8" in note for note in reading.notes)
    assert "CPU USAGE" in [gap.what for gap in reading.gaps]
    two = RESULT_FIO.replace("Resource", RESULT_FIO.partition("Res")[0].replace("job0", "job1") + "Resource")
    _, table = read(tmp_path / "two-res.txt", two.replace("51.23%", "a: 51.23%; b: 40%; "))
    assert series(table, "benchmark/two vsanDatastore job1", "iops") == [123456.78]
    assert series(table, "benchmark/two", "usage_pct") == []


def test_a_folder_of_hcibench(tmp_path):
    folder = tmp_path / "easy-run-1511824453"
    case = folder / "fio-4k-1511829572"
    case.mkdir(parents=True)
    (folder / f"{case.name}-res.txt").write_text(RESULT_FIO)
    early = _fio(_job("job0", read_iops=1, elapsed=3), timestamp=1795292129)
    (case / "hci-fio-ds-1.json").write_text(early + _fio(_job("job0")))
    (case / "resource_usage.json").write_text(
        '{"cluster": {"cpu.usage": 51.2, "cpu.utilization": "40.5%", "mem.usage": 1}}'
    )
    (case / "broken.json").write_text("{")
    for source in (folder, case):
        reading, table = read(source)
        test = f"benchmark/{case.name}"
        assert reading.kind == "hcibench"
        assert series(table, test, "iops") == [123456.78]
        assert series(table, f"{test}/vm/hci-fio-ds-1", "read_iops") == [300]
        assert series(table, test, "utilization_pct") == [40.5]
    with refused("not-a-file"):
        read(tmp_path)
    (folder / "none-res.txt").write_text("All the VMs finished testing early, no results summarized\n")
    reading, _ = read(folder)
    assert any("finished testing early" in note for note in reading.notes)


def test_a_summary_of_hcibench_names_the_vms_that_finished_early(tmp_path):
    early = (
        "Check the following results files that finished testing early:\n/opt/results/a-1.json\n/opt/results/b-2.json\n"
    )
    reading, _ = read(tmp_path / "fio-4k-1511829572-res.txt", RESULT_FIO + early)
    said = "VMs that finished testing early are not in it: a-1.json, b-2.json"
    assert f"fio-4k-1511829572: {said}" in reading.notes
    assert sum("early" in note for note in reading.notes) == 1


def test_names_are_data(tmp_path):
    hostile = '<script>alert("x")</script>/=cmd|\x1b[31m'
    _, table = read(tmp_path / "fio.json", _fio(_job(hostile)))
    assert str(table["entity"][0]) == 'benchmark/<script>alert("x")<%2Fscript>%2F=cmd| [31m'


def _run(*command: str, **options: Any) -> str:
    environment = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}
    return subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=60, env=environment, **options
    ).stdout


@pytest.mark.slow
def test_the_real_sysbench(tmp_path):
    needs("sysbench")
    printed = _run("sysbench", "cpu", "--time=2", "--report-interval=1", "run")
    reading, table = read(tmp_path / "cpu", printed)
    (rate,) = series(table, "benchmark/cpu", "throughput_per_s")
    assert rate > 0
    assert len(series(table, "benchmark/cpu/series/intervals", "throughput_per_s")) >= 1
    mean, longest = (series(table, "benchmark/cpu", f"response_ms_{name}")[0] for name in ("mean", "max"))
    assert 0 < mean <= longest
    memory = _run("sysbench", "memory", "--time=1", "--memory-total-size=64M", "run")
    assert series(read(tmp_path / "memory", memory)[1], "benchmark/memory", "throughput_per_s")[0] > 0
    assert not any("cannot be read" in note for note in reading.notes)


@pytest.mark.slow
def test_the_real_fio(tmp_path):
    needs("fio")
    command = ["fio", "--name=small", f"--filename={tmp_path}/file", "--size=2m", "--rw=randrw", "--bs=4k"]
    for form in ("json", "json+", "terse", "normal"):
        printed = _run(*command, f"--output-format={form}")
        reading, table = read(tmp_path / "printed", printed)
        assert reading.kind == "fio"
        for metric in ("read_iops", "write_bytes_per_s", "latency_ms", "read_latency_ms_p95", "write_latency_ms_p99"):
            assert series(table, "benchmark/small", metric)[0] > 0, (form, metric)
        mean, reads = (series(table, "benchmark/small", f"{kind}latency_ms")[0] for kind in ("", "read_"))
        writes = series(table, "benchmark/small", "write_latency_ms")[0]
        assert min(reads, writes) <= mean <= max(reads, writes)
        assert "latency_ms" not in [gap.what for gap in reading.gaps]


@pytest.mark.slow
def test_forms_of_one_run_of_fio_agree(tmp_path):
    needs("fio")
    command = ["fio", "--name=small", f"--filename={tmp_path}/file", "--size=2m", "--rw=randread", "--bs=4k"]
    both = _run(*command, "--output-format=json,normal,terse")
    start, end = both.index("{\n"), both.rindex("}\n") + 2
    _, of_json = read(tmp_path / "json", both[start:end])
    rest = both[:start] + both[end:]
    terse = "".join(line for line in rest.splitlines(True) if line.startswith("3;"))
    text = "".join(line for line in rest.splitlines(True) if not line.startswith("3;"))
    for form, tolerance in ((terse, 0.02), (text, 0.05)):
        _, table = read(tmp_path / "form", form)
        for metric in ("read_iops", "read_bytes_per_s", "latency_ms"):
            (expected,) = series(of_json, "benchmark/small", metric)
            assert series(table, "benchmark/small", metric) == [pytest.approx(expected, rel=tolerance)], metric


@pytest.mark.parametrize("unit", ["IB/s", "KıB/s", "XB/s", "B"])
def test_a_unit_that_is_none_is_no_bandwidth(tmp_path, unit):
    with refused("source-lacks"):
        read(tmp_path / "fio.txt", FIO_2_TEXT.replace("KB/s", unit))


WHOLE = (SYSBENCH_1_0, SYSBENCH_0_5, _fio(_job()), FIO_TEXT, FIO_2_TEXT, RESULT_FIO, RESULT_VDBENCH)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(sorted(_fio_direction(1))), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["jobname", "error", "elapsed", "read", "write", "mixed", "hostname"]), VALUES))
def test_any_job_of_fio_is_read_or_refused(tmp_path, job):
    survives(tmp_path / "drawn", _fio({"jobname": "x", **job}, _job()).encode())
