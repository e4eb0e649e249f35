"""Readers of pgbench, HammerDB, Vdbench and CBT: exact figures and loads, several runs, and hostile files."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import refused
from tests.python.ingest.benchmarks import load_samples as samples
from tests.python.ingest.benchmarks import test_benchmark_outputs
from tests.reading import read, series

from hypertwin.errors import SourceError
from hypertwin.ingest import formats
from hypertwin.ingest.benchmarks import io_points, load_runs
from hypertwin.ingest.benchmarks.load_run import LoadRun

SYSBENCH_PACED = test_benchmark_outputs.SYSBENCH_1_0.replace(
    "Threads started!", "Target transaction rate: 1200/sec\nThreads started!"
)


def runs(path: Path, text: str) -> list[LoadRun]:
    """Return the runs in a text, by the reader that recognises it."""
    path.write_text(text)
    name = load_runs.generator(text.encode())
    assert name is not None
    return load_runs.read(path, name)[0]


def test_sysbench_has_the_threads_and_the_rate_of_each_run(tmp_path):
    text = SYSBENCH_PACED + test_benchmark_outputs.SYSBENCH_0_5 + test_benchmark_outputs.SYSBENCH_0_4
    found = runs(tmp_path / "oltp", text)
    assert [each.threads for each in found] == [32, 4, 2]
    assert [each.rate for each in found] == [1200, None, None]
    assert [each.is_paced for each in found] == [True, False, False]
    assert [each.figures["throughput_per_s"] for each in found] == [1185.52, 1768.10, 500]


def test_a_run_without_threads_takes_none_of_the_run_before(tmp_path):
    text = test_benchmark_outputs.SYSBENCH_1_0
    found = runs(tmp_path / "oltp", text + text.replace("Number of threads: 32\n", ""))
    assert [each.threads for each in found] == [32, None]


def test_pgbench_with_progress_and_statements(tmp_path):
    reading, table = read(tmp_path / "pg.txt", samples.PGBENCH_17)
    assert reading.kind == "pgbench"
    assert series(table, "benchmark/pg", "throughput_per_s") == [806.371]
    assert series(table, "benchmark/pg", "response_ms_mean") == [9.921]
    assert series(table, "benchmark/pg", "interval_s") == [10]
    assert series(table, "benchmark/pg/series/intervals", "throughput_per_s") == [812.4, 799.8]
    assert series(table, "benchmark/pg/series/intervals", "response_ms_mean") == [9.84, 10.002]
    assert [gap.what for gap in reading.gaps] == ["the log of transactions (-l)"]


def test_an_old_pgbench_counts_without_connections_and_not_its_single_scripts(tmp_path):
    _, table = read(tmp_path / "pg", samples.PGBENCH_12)
    assert series(table, "benchmark/pg", "throughput_per_s") == [1001.2]
    assert series(table, "benchmark/pg", "response_ms_mean") == [15.984]


def test_several_runs_of_pgbench_one_of_them_killed_and_one_paced(tmp_path):
    killed = samples.PGBENCH_17.partition("transaction type")[0]
    text = samples.PGBENCH_17 + killed + "pgbench (12.4)\n" + samples.PGBENCH_PACED
    found = runs(tmp_path / "pg", text)
    assert [(each.threads, each.is_paced) for each in found] == [(8, False), (16, True)]
    reading, table = read(tmp_path / "pg", text)
    assert series(table, "benchmark/pg#2", "throughput_per_s") == []
    assert len(series(table, "benchmark/pg#2/series/intervals", "throughput_per_s")) == 2
    assert series(table, "benchmark/pg#3", "throughput_per_s") == [1001.2]
    assert any("without a summary" in note for note in reading.notes)


def test_a_reconnecting_pgbench_has_only_one_rate(tmp_path):
    text = samples.PGBENCH_17.replace("without initial connection time", "including reconnection times")
    assert runs(tmp_path / "pg", text)[0].figures["throughput_per_s"] == 806.371


def test_hammerdb_counts_all_transactions_of_its_mix(tmp_path):
    reading, table = read(tmp_path / "tpcc.log", samples.HAMMERDB + samples.PROFILE)
    assert reading.kind == "hammerdb"
    assert series(table, "benchmark/tpcc", "throughput_per_s") == [pytest.approx(12000 * 2.3 / 60)]
    mean = (100 * 8 + 100 * 4 + 10 * 20 + 10 * 3 + 10 * 2) / 230
    assert series(table, "benchmark/tpcc", "response_ms_mean") == [pytest.approx(mean)]
    assert series(table, "benchmark/tpcc", "interval_s") == [300]
    order = "benchmark/tpcc/process/NEWORD"
    assert series(table, order, "response_ms_mean") == [8]  # of all virtual users, not of one
    assert [series(table, order, f"response_ms_{name}") for name in ("p95", "p99")] == [[20], [40]]


def test_runs_of_hammerdb_have_their_own_users(tmp_path):
    text = samples.HAMMERDB + samples.HAMMERDB.replace("4 Active", "16 Active").replace("12000", "24000")
    found = runs(tmp_path / "log", text + samples.HAMMERDB_3)
    assert [each.threads for each in found] == [4, 16, 2]
    assert [each.figures["throughput_per_s"] for each in found] == pytest.approx([460, 920, 1150])


def test_a_run_of_hammerdb_without_users_takes_none_of_the_run_before(tmp_path):
    found = runs(tmp_path / "log", samples.HAMMERDB + samples.HAMMERDB.replace("Vuser 1:4 Active", "Vuser 1:n Active"))
    assert [each.threads for each in found] == [4, None]


def test_a_profile_that_lacks_a_procedure_has_no_mean_of_all(tmp_path):
    cut = samples.PROFILE.partition(">>>>> PROC: OSTAT")[0]
    assert "response_ms_mean" not in runs(tmp_path / "log", samples.HAMMERDB + cut)[0].figures


def test_the_json_of_a_result_of_hammerdb(tmp_path):
    result = "TEST RESULT : System achieved 60 NOPM from 140 Db2 TPM"
    text = f'[\n "6A7E",\n "3 Active Virtual Users configured",\n "{result}"\n]'
    (found,) = runs(tmp_path / "log", text)
    assert found.threads == 3
    assert found.figures["throughput_per_s"] == pytest.approx(2.3)


def test_the_flat_file_of_vdbench(tmp_path):
    reading, table = read(tmp_path / "flatfile.html", samples.FLAT)
    assert reading.kind == "vdbench"
    expected = {
        "iops": 1024,
        "bytes_per_s": 8 * 2**20,
        "latency_ms": 1.95,
        "read_latency_ms": 1.5,
        "write_latency_ms": 3,
    }
    assert {metric: series(table, "benchmark/rd1", metric) for metric in expected} == {
        metric: [value] for metric, value in expected.items()
    }
    assert series(table, "benchmark/rd1/series/intervals", "iops") == [900, 1100]
    assert series(table, "benchmark/rd2", "iops") == [2048]


def test_vdbench_without_response_times_says_what_to_give(tmp_path):
    text = f"{samples.FLAT_COLUMNS}\n{samples.flat_row('avg_2-9', 1000, 1)}\n"
    short = " ".join("n/a" if cell in ("1", "1.500", "3.000") else cell for cell in text.split(" "))
    for given, gaps in ((text, 1), (short, 2)):
        reading, table = read(tmp_path / "flat", given)
        assert series(table, "benchmark/rd1", "iops") == [1000]
        assert len(reading.gaps) == gaps
    assert reading.gaps[0].what == "the columns of response times: give flatfile.html or summary.html"
    assert any(note.startswith("no clock times: ") and "can be compared" in note for note in reading.notes)


def test_points_of_the_flat_file_have_the_load(tmp_path):
    (tmp_path / "flatfile.html").write_text(samples.FLAT)
    (first, second), notes = io_points.read([tmp_path])
    assert first.workload == {
        "arrivals": {"io": {"outstanding": 16}},
        "block": "8192 B",
        "read_pct": 70,
        "random_pct": 100,
    }
    assert first.figures == {"iops": 1024, "read_latency_ms_mean": 1.5, "write_latency_ms_mean": 3}
    # 31.9 I/Os cannot be in the queue of one disk with 16 threads
    assert second.workload["arrivals"]["io"] == {"outstanding": 32, "rate": "2000 /s"}
    assert any("2 disks" in note for note in notes)


@pytest.mark.parametrize(("queue", "outstanding"), [("16.0", 16), ("16.3", 16), ("16.4", 32), ("0.4", 16)])
def test_a_queue_is_of_so_many_disks_as_it_needs(tmp_path, queue, outstanding):
    path = tmp_path / "flat"
    path.write_text(f"{samples.FLAT_COLUMNS}\n{samples.flat_row('avg_2-9', 1000, 1, queue_depth=queue)}\n")
    (point,), _ = io_points.read([path])
    assert point.workload["arrivals"]["io"]["outstanding"] == outstanding


def test_printed_tables_of_vdbench(tmp_path):
    reading, table = read(tmp_path / "summary.html", samples.PRINTED)
    assert series(table, "benchmark/rd1", "iops") == [380]
    assert series(table, "benchmark/rd1", "write_latency_ms") == [1]
    assert series(table, "benchmark/rd1/series/intervals", "iops") == [370]
    assert any("SD_format" in note for note in reading.notes)
    (point,), notes = io_points.read([tmp_path / "summary.html"])
    assert point.workload["arrivals"]["io"] == {"outstanding": 2}
    assert (point.workload["block"], point.workload["read_pct"]) == ("4096 B", 80)
    assert any("seekpct" in note for note in notes)


def test_a_second_average_of_a_run_of_vdbench_belongs_to_none(tmp_path):
    average = next(line for line in samples.PRINTED.splitlines() if "avg_2-12" in line)
    _, table = read(tmp_path / "out", samples.PRINTED.replace(average, f"{average}\n{average.replace('380', '999')}"))
    assert [each for each in table["entity"].unique().to_list() if each.count("/") == 1] == ["benchmark/rd1"]
    assert series(table, "benchmark/rd1", "iops") == [380]


def test_the_share_of_reads_that_was_measured_is_rounded(tmp_path):
    (tmp_path / "out").write_text(samples.PRINTED.replace("4096  80.00", "4096  79.64"))
    (point,), _ = io_points.read([tmp_path / "out"])
    assert point.workload["read_pct"] == 80


def test_a_printed_table_without_threads_is_no_point(tmp_path):
    (tmp_path / "out").write_text(samples.PRINTED.replace("threads=2 xfersize=4k", "None"))
    with refused("bad-source", "no threads") as caught:
        io_points.read([tmp_path / "out"])
    assert "flatfile.html" in caught.value.mistakes[0].hint


def test_an_archive_of_cbt(tmp_path):
    samples.write_archive(tmp_path)
    reading, table = read(tmp_path)
    assert reading.kind == "cbt"
    rates = [series(table, f"benchmark/id-1f2e3d4c/vm/client{c} {v}", "iops") for c in (1, 2) for v in (0, 1)]
    assert rates == [[100], [101], [200], [201]]
    (point,), _ = io_points.read([tmp_path])
    assert (point.vms, point.disks) == (2, 2)
    assert point.workload["arrivals"]["io"]["outstanding"] == 32
    assert point.figures["iops"] == 602
    assert point.figures["io_latency_ms_mean"] == pytest.approx((201 * 2 + 401 * 4) / 602)
    assert "io_latency_ms_p99" not in point.figures


def test_a_report_of_cbt_counts_once_whichever_file_is_found_first(tmp_path):
    test = samples.write_archive(tmp_path, clients=1, volumes=1) / "results/00000000/id-1f2e3d4c"
    (test / "output.0.client1").write_text(samples.fio_report("client1", 7))
    (point,), _ = io_points.read([tmp_path])
    assert point.figures["iops"] == 100
    (test / "json_output.0.client1").unlink()
    (point,), _ = io_points.read([tmp_path])
    assert point.figures["iops"] == 7


def test_the_rate_of_a_client_of_cbt_is_that_of_all_its_volumes(tmp_path):
    (point,), _ = io_points.read([samples.write_archive(tmp_path, rate_iops="100")])
    assert point.workload["arrivals"]["io"]["rate"] == "200 /s"


def test_one_process_of_cbt_has_its_percentiles(tmp_path):
    (point,), _ = io_points.read([samples.write_archive(tmp_path, clients=1, volumes=1)])
    assert point.figures["io_latency_ms_p99"] == 20


def test_an_archive_of_cbt_that_lacks_a_report_or_mixes_loads_is_refused(tmp_path):
    test = samples.write_archive(tmp_path) / "results/00000000/id-1f2e3d4c"
    kept = (test / "json_output.1.client2").read_text()
    for name in ("json_output.1.client2", "output.1.client2"):
        (test / name).unlink()
    with refused("bad-source", "1 to 2 reports"):
        io_points.read([tmp_path])
    (test / "json_output.1.client2").write_text(kept.replace('"iodepth": "32"', '"iodepth": "64"'))
    with refused("bad-source", "another load"):
        io_points.read([tmp_path])


@pytest.mark.parametrize("has_json", [True, False])
def test_a_test_of_cbt_with_a_failed_client_is_refused_and_noted_in_telemetry(tmp_path, has_json):
    test = samples.write_archive(tmp_path) / "results/00000000/id-1f2e3d4c"
    (test / "output.0.client3").write_text("fio: failed to connect to rbd\n")
    if has_json:
        (test / "json_output.0.client3").touch()
    with refused("bad-source", "output.0.client3 has no report of fio"):
        io_points.read([tmp_path])
    reading, _ = read(tmp_path)
    assert "id-1f2e3d4c: output.0.client3 has no report of fio" in reading.notes


def test_an_empty_json_of_cbt_leaves_the_report_in_the_whole_output(tmp_path):
    test = samples.write_archive(tmp_path, clients=1, volumes=1) / "results/00000000/id-1f2e3d4c"
    (test / "json_output.0.client1").write_text("")
    (test / "output.0.client1").write_text(samples.fio_report("client1", 7))
    (point,), _ = io_points.read([tmp_path])
    assert point.figures["iops"] == 7


def test_a_folder_without_settings_of_cbt_is_none(tmp_path):
    samples.write_archive(tmp_path)
    (tmp_path / "results/00000000/id-1f2e3d4c/benchmark_config.yaml").unlink()
    with refused("source-lacks", "a folder without results"):
        io_points.read([tmp_path])


WHOLE = {
    "pgbench": samples.PGBENCH_17,
    "hammerdb": samples.HAMMERDB + samples.PROFILE,
    "flat": samples.FLAT,
    "printed": samples.PRINTED,
}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[: len(text) // 12],
        lambda text: text.replace(".", ".nan").replace(" NOPM", "nan NOPM"),
        lambda text: text.replace("= ", "= -").replace("achieved ", "achieved -").replace("8192", "-8192"),
        lambda text: "x" * 9_000_000 + "\n" + text[:200],
        lambda text: text.replace("average", "Durchschnitt").replace("tps", "TpS").replace("avg_", "Mittel_"),
    ],
    ids=["cut", "nan", "negative", "huge line", "language"],
)
def test_hostile_files_are_read_with_notes_or_are_one_clear_error(tmp_path, name, change):
    path = tmp_path / "hostile"
    path.write_text(change(WHOLE[name]))
    try:
        reading = formats.read(str(path))
        values = [value for frame in reading.frames for value in frame["value"].to_list()]
    except SourceError as error:
        (mistake,) = error.mistakes
        assert str(path) in str(error) and mistake.value and mistake.allowed and mistake.hint
    else:
        assert reading.notes
        assert all(0 <= value < 1e15 for value in values)


@pytest.mark.parametrize("content", [b"", b"\x00\xff\x1b" * 30_000, b"{}", "вход\n".encode("utf-16")])
def test_files_of_no_generator_are_refused(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    with refused("unknown-source") as caught:
        formats.read(str(tmp_path / "file"))
    for name in ("pgbench", "HammerDB", "Vdbench", "CBT archive"):
        assert name in caught.value.mistakes[0].allowed


def test_a_log_that_never_had_a_result_is_refused(tmp_path):
    for text in (samples.HAMMERDB.partition("Vuser 1:4 Active")[0], samples.PGBENCH_17.partition("progress")[0]):
        path = tmp_path / "log"
        path.write_text(f"{text}transaction type: x\n" if "pgbench" in text else text)
        with refused("source-lacks", "no measurements"):
            list(formats.read(str(path)).frames)
