"""Results of fio and HCIBench as points of a scenario, and a device that is found again from them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import refused
from tests.python.ingest.benchmarks.load_samples import RESULT_FIO
from tests.python.ingest.benchmarks.test_io_points import CASE, DATA

import hypertwin
from hypertwin.calibration import io_points

SCENARIO = """\
name: disk
run: {duration: 60 ms, warmup: 40 ms, sample_interval: 10 ms, replications: 2}
hosts:
  h: {sockets: 1, cores_per_socket: 8, clock: 3 GHz, memory_per_node: 64 GiB, hypervisor: linux-6.12}
vms: {db: {vcpus: 4, memory: 4 GiB, workload: w, array: disk, vdisks: 1, controller: virtio-blk}}
workloads: {w: {arrivals: {io: {outstanding: 8, rate: 5000 /s}}, cpu: {mean: 2 us, cv: 0}, sync_pct: 50}}
arrays:
  disk:
    raid: raid-0
    cache: {size: 0 B, latency: 20 us}
    disks: {device: mine, count: 1}
devices:
  mine: {kind: nvme, read_latency: 120 us, random_read: 50000 /s, write_latency: 25 us, random_write: 20000 /s,
    flush: 600 us}
"""


@pytest.fixture
def disk(tmp_path):
    (tmp_path / "disk.yaml").write_text(SCENARIO)
    return hypertwin.load(tmp_path / "disk.yaml")


def test_a_result_is_a_row(disk):
    read = io_points.read([DATA / "fio-grid.json"], disk)
    rows = {row.location.partition(": ")[2]: row for row in read.rows}
    assert [row.number for row in read.rows] == [1, 2, 3, 4, 5]
    assert rows["mixed-16"].name == "70 % reads of 8 KiB, random, 16 outstanding"
    assert rows["flushed"].name == "writes of 4 KiB, random, 1 outstanding, 100 % synchronous"
    assert rows["capped"].name == "50 % reads of 4 KiB, random, 4 outstanding, at most 400 /s"
    begin = "workloads.w"
    assert rows["mixed-16"].settings == {
        f"{begin}.arrivals.io.outstanding": 16,
        f"{begin}.arrivals.io.workers": 2,
        f"{begin}.arrivals.io.rate": None,  # the scenario's own cap was not there
        f"{begin}.read_pct": 70,
        f"{begin}.random_pct": 100,
        f"{begin}.sync_pct": 0,
        f"{begin}.block": "8192 B",
        f"{begin}.working_set": "67108864 B",
    }
    assert rows["capped"].settings[f"{begin}.arrivals.io.rate"] == "400 /s"
    assert rows["flushed"].settings[f"{begin}.sync_pct"] == 100
    cells = {cell.metric.text: cell for cell in rows["mixed-16"].cells}
    assert set(cells) == {
        "groups.db.iops",
        *(f"groups.db.{way}_latency_ms_{what}" for way in ("read", "write") for what in ("mean", "p99")),
    }
    assert [name for name, cell in cells.items() if cell.held] == [name for name in cells if name.endswith("p99")]
    assert not any(
        cell.held for row in io_points.read([DATA / "fio-grid.json"], disk, tails=True).rows for cell in row.cells
    )
    for row in read.rows:
        hypertwin.load(disk, row.settings)


def test_a_case_of_hcibench_says_how_many_vms_and_disks(disk, tmp_path):
    (tmp_path / f"{CASE}-res.txt").write_text(RESULT_FIO)
    (row,) = io_points.read([tmp_path], disk).rows
    assert (row.settings["vms.db.count"], row.settings["vms.db.vdisks"]) == (8, 8)
    assert row.settings["workloads.w.arrivals.io.outstanding"] == 4  # on each disk, as HCIBench counts them
    assert "workloads.w.arrivals.io.workers" not in row.settings


def test_a_benchmark_spreads_its_ios_over_the_disks_of_its_vm(disk):
    four = hypertwin.load(disk, {"vms.db.vdisks": 4})
    with refused("unlike-benchmark", match="vdisks=1"):
        io_points.read([DATA / "fio-grid.json"], four)
    (row,) = io_points.read([DATA / "fio-plus.json"], four).rows
    assert row.settings["workloads.w.arrivals.io.outstanding"] == 1


def test_which_vm_the_benchmark_ran_in(disk):
    of = [DATA / "fio-grid.json"]
    two = hypertwin.load(disk, {"vms.web": {**disk.data["vms"]["db"], "workload": "w"}})
    with refused("unlike-benchmark", match="2 groups of VMs.*\n.*db, web"):
        io_points.read(of, two)
    with refused("unlike-benchmark", match="a workload of its own"):
        io_points.read(of, two, "web")
    own = hypertwin.load(two, {"workloads.w2": disk.data["workloads"]["w"], "vms.web.workload": "w2"})
    assert "workloads.w2.block" in io_points.read(of, own, "web").rows[0].settings
    with refused("unknown-reference", match="I/O generator"):
        io_points.read(of, disk, "nobody")


def _fio(figures: Any, read_pct: int, depth: int, sync_pct: int) -> dict[str, Any]:
    """What fio would print of a VM with these figures."""
    parts = {}
    for way, share in (("read", read_pct), ("write", 100 - read_pct)):
        found = figures[way] if share else {"iops": 0.0, "latency_ms": {"mean": 0.0}}
        parts[way] = {"iops": found["iops"], "bw_bytes": 0, "runtime": 1000}
        parts[way]["lat_ns"] = {"mean": found["latency_ms"]["mean"] * 1e6}
    options = {"rw": "randrw", "rwmixread": str(read_pct), "iodepth": str(depth), "bs": "4k"}
    options |= {"sync": "dsync"} if sync_pct else {}
    return {"jobname": f"{read_pct}-{depth}", "groupid": depth * 1000 + read_pct, "job options": options, **parts}


def _measured(scenario: hypertwin.Scenario, file: Path, read_pct: int, sync_pct: int) -> Path:
    """A grid of loads as fio would measure it, made by the twin from another seed."""
    jobs = []
    for depth in (1, 8, 64):
        load = {"arrivals.io.outstanding": depth, "arrivals.io.rate": None, "read_pct": read_pct, "sync_pct": sync_pct}
        changes = {f"workloads.w.{key}": value for key, value in load.items()} | {"workloads.w.block": "4 KiB"}
        made = hypertwin.simulate(scenario, overrides=changes, seed=7 + depth, duration="100 ms", replications=1)
        jobs.append(_fio(made.points[0]["groups"]["db"], read_pct, depth, sync_pct))
    common = {"ioengine": "libaio", "direct": "1"}
    report = {"fio version": "fio-3.33", "timestamp": 1, "global options": common, "jobs": jobs}
    file.write_text(json.dumps(report))
    return file


@pytest.mark.parametrize(
    ("read_pct", "sync_pct", "wrong"),
    [
        (100, 0, {"read_latency": "170 us", "random_read": "90000 /s"}),
        (0, 0, {"write_latency": "40 us", "random_write": "9000 /s"}),
        (0, 100, {"flush": "900 us"}),
    ],
    ids=["read", "write", "flush"],
)
def test_a_planted_device_is_found_again(read_pct, sync_pct, wrong, disk, tmp_path):
    found = hypertwin.calibrate(
        disk,
        _measured(disk, tmp_path / "fio.json", read_pct, sync_pct),
        free=",".join(f"devices.mine.{key}" for key in wrong),
        overrides={f"devices.mine.{key}": value for key, value in wrong.items()},
    )
    planted = disk.data["devices"]["mine"]
    for key, each in zip(wrong, found.fitted, strict=True):
        assert each.value == pytest.approx(float(str(planted[key]).split()[0]), rel=0.05), key


def test_files_that_do_not_belong_together(disk, tmp_path):
    table = tmp_path / "measured.csv"
    table.write_text("vms.db.load,groups.db.iops\n1,100\n")
    with refused("unknown-source", match="measured.csv"):
        hypertwin.calibrate(disk, [table, DATA / "fio-grid.json"], free="devices.mine.read_latency")
    with refused("unlike-benchmark", match="CSV"):
        hypertwin.calibrate(disk, table, free="devices.mine.read_latency", vm="db")
    with refused("file-not-found"):
        hypertwin.calibrate(disk, tmp_path / "none.json", free="devices.mine.read_latency")


@pytest.mark.usefixtures("disk")
def test_the_command_takes_files_and_folders(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    folder = tmp_path / "results"
    folder.mkdir()
    shutil.copy(DATA / "fio-grid.json", folder / "one.json")
    shutil.copy(DATA / "fio-plus.json", tmp_path / "two.json")
    made = cli(
        *("calibrate", "disk.yaml", "results", "two.json", "--format", "json"),
        *("--free", "workloads.w.cpu.mean=1us..90us", "--evaluations", 4, "--report", "page.html"),
        exits=0,
    )
    result = json.loads(made.stdout)
    assert len({value["row"] for value in result["points"]}) == 6
    assert {value["held_out"] for value in result["points"] if value["metric"].endswith("p99")} == {True}
    assert any("predicted, not fitted" in note for note in result["notes"])
    first = (tmp_path / "page.html").read_bytes()
    assert b"one.json" in first
    shutil.rmtree(folder)
    cli("rerun", "page.html", "--report", "again.html", exits=0)
    assert (tmp_path / "again.html").read_bytes() == first
    long = cli("calibrate", "disk.yaml", "two.json", "--free", "workloads.w.cpu.mean", "x" * 5_000, exits=2)
    assert "unknown-path" in long.stderr
