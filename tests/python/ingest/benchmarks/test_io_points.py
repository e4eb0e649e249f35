"""Results of storage benchmarks as points: the load from options and names, the figures from reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import ROOT, refused
from tests.python.ingest.benchmarks.load_samples import RESULT_FIO

from hypertwin.errors import ScenarioError
from hypertwin.ingest.benchmarks import io_points

DATA = ROOT / "tests" / "data" / "benchmarks"
CASE = "fio-8vmdk-100ws-4k-70rdpct-100randompct-4threads-1511829572"


def the_report(name: str = "fio-grid.json") -> dict[str, Any]:
    return dict(json.loads((DATA / name).read_text()))


def written(folder: Path, report: Any, name: str = "fio.json") -> Path:
    path = folder / name
    path.write_text(report if isinstance(report, str) else json.dumps(report))
    return path


def test_jobs_of_fio_are_loads_and_figures():
    points, notes = io_points.read([DATA / "fio-grid.json"])
    load = {point.name: point.workload for point in points}
    assert list(load) == ["read-1", "mixed-16", "flushed", "capped", "stream"]
    io = {name: each["arrivals"]["io"] for name, each in load.items()}
    assert io["mixed-16"] == {"outstanding": 16, "workers": 2}
    assert io["capped"] == {"outstanding": 4, "workers": 1, "rate": "400 /s"}
    assert (load["mixed-16"]["read_pct"], load["mixed-16"]["block"]) == (70, "8192 B")
    assert load["capped"]["read_pct"] == 50  # fio caps reads and writes each, whatever the mix was to be
    assert (load["flushed"]["sync_pct"], load["flushed"]["read_pct"]) == (100, 0)
    assert (load["stream"]["random_pct"], load["read-1"]["random_pct"]) == (0, 100)
    assert all("cpu" not in each for each in load.values())

    job = the_report()["jobs"]
    of = {point.name: point.figures for point in points}
    assert set(of["read-1"]) == {"iops", "io_latency_ms_mean", "io_latency_ms_p99"}
    assert of["read-1"]["iops"] == job[0]["read"]["iops"]
    assert of["read-1"]["io_latency_ms_mean"] == pytest.approx(job[0]["read"]["lat_ns"]["mean"] / 1e6)
    assert of["mixed-16"]["iops"] == pytest.approx(job[1]["read"]["iops"] + job[1]["write"]["iops"])
    assert of["mixed-16"]["write_latency_ms_p99"] == pytest.approx(
        job[1]["write"]["clat_ns"]["percentile"]["99.000000"] / 1e6
    )
    # what a writer waits for: the write and its flush, whose sum has no known percentile
    both = job[2]["write"]["lat_ns"]["mean"] + job[2]["sync"]["lat_ns"]["mean"]
    assert of["flushed"]["io_latency_ms_mean"] == pytest.approx(both / 1e6, rel=0.01)
    assert "io_latency_ms_p99" not in of["flushed"]
    assert any("flushed takes as long as both" in note for note in notes)
    # a closed loop: I/Os outstanding over the time of one is the rate
    for name in ("read-1", "flushed", "stream"):
        assert io[name]["outstanding"] / of[name]["io_latency_ms_mean"] * 1e3 == pytest.approx(
            of[name]["iops"], rel=0.1
        )


@pytest.mark.parametrize(("iops", "taken"), [(50, 70), (200, 72.4)], ids=["chance", "another mix"])
def test_the_requested_mix_is_taken_unless_chance_cannot_explain_the_actual_one(tmp_path, iops, taken):
    report = the_report()
    job = report["jobs"][1]
    for name, share in (("read", 0.724), ("write", 0.276)):  # 60 s: off by 2.9 standard deviations, or by 5.7
        job[name] |= {"iops": iops * share, "runtime": 60_000}
    (point,), _ = io_points.read([written(tmp_path, {**report, "jobs": [job]})])
    assert point.workload["read_pct"] == taken


def test_json_plus_and_synchronous_writes():
    (point,), _ = io_points.read([DATA / "fio-plus.json"])
    assert point.workload["sync_pct"] == 100
    assert point.workload["arrivals"] == {"io": {"outstanding": 4, "workers": 2}}
    assert point.figures["io_latency_ms_p99"] > point.figures["io_latency_ms_mean"]


def test_a_folder_has_all_its_reports(tmp_path):
    written(tmp_path, the_report(), "b.json")
    written(tmp_path, the_report("fio-plus.json"), "a.json")
    written(tmp_path, {"other": "tool"}, "c.json")
    points, _ = io_points.read([tmp_path])
    assert [point.file.name for point in points] == ["a.json"] + 5 * ["b.json"]
    assert io_points.read([tmp_path / "a.json", tmp_path / "b.json"])[0] == points


def test_clones_that_fio_lists_one_by_one_are_one_point(tmp_path):
    report = the_report("fio-plus.json")
    report["jobs"] = [dict(report["jobs"][0], job_runtime=1001) for _ in range(2)]
    (point,), notes = io_points.read([written(tmp_path, report)])
    assert point.workload["arrivals"]["io"] == {"outstanding": 4, "workers": 2}
    assert point.figures["iops"] == pytest.approx(2 * report["jobs"][0]["write"]["iops"])
    assert any("99th percentiles" in note for note in notes)
    report["jobs"].append(report["jobs"][0])
    with refused("bad-source", match="3 jobs of this name"):
        io_points.read([written(tmp_path, report)])


def test_a_summary_of_hcibench(tmp_path):
    points, notes = io_points.read([written(tmp_path, RESULT_FIO, f"{CASE}-res.txt")])
    assert io_points.read([tmp_path])[0] == points
    (point,) = points
    assert (point.name, point.vms, point.disks) == (CASE, 8, 8)
    assert point.workload == {
        "arrivals": {"io": {"outstanding": 4}},
        "block": "4096 B",
        "read_pct": 70,
        "random_pct": 100,
    }
    assert point.figures == {
        "iops": 123456.78,
        "read_latency_ms_mean": 1.2345,
        "read_latency_ms_p95": 3.4567,
        "write_latency_ms_mean": 2.3456,
        "write_latency_ms_p95": 4.5678,
    }
    assert any("working set" in note for note in notes)
    reads = CASE.replace("70rdpct", "100rdpct").replace("4k", "1.5m")
    (point,), _ = io_points.read([written(tmp_path, RESULT_FIO, f"{reads}-res.txt")])
    assert point.workload["block"] == f"{3 << 19} B"
    assert point.figures["io_latency_ms_mean"] == 1.2345


def changed(**options: str) -> dict[str, Any]:
    report = the_report()
    report["jobs"] = report["jobs"][:1]
    report["jobs"][0]["job options"].update(options)
    return report


FIO = [
    ({"direct": "0"}, "bad-fio", "direct=1"),
    ({"rw": "trim"}, "bad-fio", "trims are not modelled"),
    ({"thinktime": "100"}, "bad-fio", "thinktime"),
    ({"iodepth": "9999"}, "bad-fio", "iodepth"),
    ({"iodepth_batch": "8"}, "bad-fio", "iodepth_batch"),
]


@pytest.mark.parametrize(("options", "code", "said"), FIO, ids=[next(iter(each[0])) for each in FIO])
def test_loads_that_no_workload_says(options, code, said, tmp_path):
    with refused(code, match=said):
        io_points.read([written(tmp_path, changed(**options))])


def test_results_that_are_no_points(tmp_path):
    with refused("bad-source", match="a and b at the same time"):
        io_points.read([DATA / "fio-together.json"])
    idle = the_report()
    for job in idle["jobs"]:
        job["read"]["iops"] = job["write"]["iops"] = 0
    with refused("source-lacks", match="no job that did I/O"):
        io_points.read([written(tmp_path, idle)])
    added = changed()
    added["jobs"][0]["job_runtime"] *= 8
    with refused("bad-source", match="figures of 8 jobs as one"):
        io_points.read([written(tmp_path, added)])
    old = changed()
    del old["global options"], old["jobs"][0]["job options"]
    with refused("bad-source", match="options"):
        io_points.read([written(tmp_path, old)])
    with refused("source-lacks", match="output-format=json"):
        io_points.read([written(tmp_path, "fio-3.33\nread: IOPS=1, BW=1MiB/s\n")])
    (tmp_path / "empty").mkdir()
    with refused("source-lacks", match="folder without results"):
        io_points.read([tmp_path / "empty"])
    for name in ("easy-1511829572", CASE.replace("-4threads", ""), CASE.replace("8vmdk", "61vmdk")):
        with refused("bad-source", match="does not say"):
            io_points.read([written(tmp_path, RESULT_FIO, f"{name}-res.txt")])
    two = RESULT_FIO.replace("Resource", "JOB_NAME = job1\nVMs = 8\nIOPS\t= 1.00 IO/S\nResource")
    with refused("bad-source", match="2 at the same time"):
        io_points.read([written(tmp_path, two, f"{CASE}-res.txt")])
    with refused("bad-source", match="VMs"):
        io_points.read([written(tmp_path, RESULT_FIO.replace("VMs", "Vms"), f"{CASE}-res.txt")])


KEYS = st.sampled_from(["rw", "bs", "iodepth", "numjobs", "direct", "rate_iops", "fsync", "sync", "size", "ioengine"])
VALUES = st.one_of(
    st.none(), st.integers(-1, 10**9), st.text(max_size=8), st.sampled_from(["randrw", "4k", "1,2", "8"])
)


@given(st.dictionaries(KEYS, VALUES, max_size=4), st.sampled_from(["iops", "bw_bytes", "lat_ns", "runtime"]), VALUES)
def test_any_options_and_figures_are_points_or_a_clear_error(tmp_path_factory, options, key, value):
    report = changed()
    report["jobs"][0]["job options"].update(options)
    report["jobs"][0]["read"][key] = value
    try:
        points, _ = io_points.read([written(tmp_path_factory.getbasetemp(), report)])
    except ScenarioError as error:
        assert len(str(error)) < 2_000
    else:
        for point in points:
            assert 1 <= point.workload["arrivals"]["io"]["outstanding"] <= 4096
            assert point.figures["iops"] > 0
