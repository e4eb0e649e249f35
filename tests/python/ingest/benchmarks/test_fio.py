"""fio job files: what they become, and what is wrong with those that become nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import refused

from hypertwin import scenario, simulate
from hypertwin.calibration.io_points import settings
from hypertwin.errors import ScenarioError
from hypertwin.ingest.benchmarks import fio
from hypertwin.ingest.benchmarks.io_points import IoPoint

JOB = """\
; what everybody has
[global]
ioengine=libaio
direct=1
runtime=60
group_reporting

[oltp]
rw=randrw
rwmixread=70
bs=8k
iodepth=16
numjobs=4
size=10g
"""
SCENARIO = """\
name: fio
run: {duration: 50 ms, warmup: 10 ms, replications: 1}
hosts: {h: {sockets: 1, cores_per_socket: 8, clock: 2 GHz, memory_per_node: 64 GiB, hypervisor: esxi-7.0}}
vms: {db: {vcpus: 4, memory: 4 GiB, workload: w, array: san, vdisks: 2}}
workloads: {w: {fio: job.fio}}
arrays: {san: {disks: {kind: nvme, count: 8}}}
"""


def _made(text: str, tmp_path: Path, job: str = "") -> dict[str, Any]:
    (tmp_path / "job.fio").write_text(text)
    return fio.workload(f"job.fio{job}", tmp_path)


def test_a_job_becomes_a_workload(tmp_path):
    assert _made(JOB, tmp_path) == {
        "arrivals": {"io": {"outstanding": 64, "workers": 4}},
        "cpu": {"mean": "2 us", "cv": 0},
        "read_pct": 70,
        "random_pct": 100,
        "block": "8192 B",
        "working_set": f"{10 << 30} B",
    }


@pytest.mark.parametrize(
    ("lines", "path", "value"),
    [
        ("rw=read", ("read_pct", "random_pct"), (100, 0)),
        ("rw=randwrite", ("read_pct", "random_pct"), (0, 100)),
        ("rw=randrw\nrwmixwrite=20", ("read_pct", "random_pct"), (80, 100)),
        ("rw=randread\npercentage_random=60", ("random_pct",), (60,)),
        ("blocksize=4096", ("block",), ("4096 B",)),
        ("bs=1m", ("block",), (f"{1 << 20} B",)),
        ("bssplit=4k/60:64k/40", ("block_mix",), ([("4096 B", 60), ("65536 B", 40)],)),
        ("iodepth=32", ("arrivals",), ({"io": {"outstanding": 32, "workers": 1}},)),
        ("thread\n  iodepth=32", ("arrivals",), ({"io": {"outstanding": 32, "workers": 1}},)),
        ("iodepth=32\nioengine=psync", ("arrivals",), ({"io": {"outstanding": 1, "workers": 1}},)),
        ("rw=randwrite\nfsync=4", ("sync_pct",), (25,)),
        ("rw=randrw\nsync=dsync", ("sync_pct",), (100,)),
        ("rw=randrw\nrwmixread=70\nrate_iops=300,100", ("read_pct",), (75,)),
        ("rw=randrw\nrate_iops=500", ("arrivals",), ({"io": {"outstanding": 1, "workers": 1, "rate": "1000 /s"}},)),
        ("rate_iops=500\nnumjobs=2", ("arrivals",), ({"io": {"outstanding": 2, "workers": 2, "rate": "1000 /s"}},)),
    ],
)
def test_keys_and_what_they_mean(lines, path, value, tmp_path):
    made = _made(f"[global]\ndirect=1\nioengine=libaio\n[j]\n{lines}\n", tmp_path)
    found = tuple(made[key] for key in path)
    mix = [(part["block"], part["share_pct"]) for part in made.get("block_mix", ())]
    assert (mix,) == value if "block_mix" in path else found == value


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("", "", "0 jobs"),
        ("[global]\ndirect=1\n", "", "0 jobs"),
        ("[a]\ndirect=1\n[b]\ndirect=1\n", "", "2 jobs"),
        ("rw=read\n", "", "no section headers"),
        ("[j]\ndirect=1\n[j]\n", "", "already exists"),
        ("[j]\ndirect=1\ndirect=1\n", "", "already exists"),
        ("[j]\nrw=randread\n", "global.direct", "page cache"),
        ("[j]\ndirect=0\n", "j.direct", "page cache"),
        ("[j]\ndirect=1\nrw=trim\n", "j.rw", "trims"),
        ("[j]\ndirect=1\nbs=4k-64k\n", "j.bs", "one size"),
        ("[j]\ndirect=1\nbs=0\n", "j.bs", "one size"),
        ("[j]\ndirect=1\nsize=50%\n", "j.size", "one size"),
        ("[j]\ndirect=1\niodepth=0\n", "j.iodepth", "from 1 to 4096"),
        ("[j]\ndirect=1\niodepth=${DEPTH}\n", "j.iodepth", "from 1 to 4096"),
        ("[j]\ndirect=1\nnumjobs=9999999999999999999999\n", "j.numjobs", "from 1 to 1024"),
        ("[j]\ndirect=1\nioengine=libaio\niodepth=4096\nnumjobs=2\n", "j.iodepth", "iodepth x numjobs"),
        ("[j]\ndirect=1\nioengine=rados\n", "j.ioengine", "libaio"),
        ("[j]\ndirect=1\nbssplit=4k:8k\n", "j.bssplit", "per cent"),
        ("[j]\ndirect=1\nrw=randrw\nrwmixread=101\n", "j.rwmixread", "from 0 to 100"),
        ("[j]\ndirect=1\nthinktime=10\n", "j.thinktime", "keys that the model knows"),
        ("[j]\ndirect=1\ninclude other.fio\n", "j.include other.fio", "keys that the model knows"),
        ("[j]\ndirect=1\n" + "#" * 70_000, "", "at most 65536"),
    ],
)
def test_a_job_with_a_mistake_says_where(text, path, said, tmp_path):
    with refused("bad-fio") as caught:
        _made(text, tmp_path)
    (mistake,) = caught.value.mistakes
    assert (mistake.path, mistake.file) == (path, str(tmp_path / "job.fio"))
    assert said in f"{mistake}{mistake.allowed}"
    assert mistake.allowed
    assert mistake.hint


@given(st.text(max_size=300))
def test_any_text_is_a_workload_or_a_clear_error(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("fio")
    (folder / "job.fio").write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        made = fio.workload("job.fio", folder)
    except ScenarioError as error:
        assert all(mistake.code and mistake.allowed for mistake in error.mistakes)
    else:
        assert made["arrivals"]["io"]["outstanding"] >= 1


def test_a_scenario_reads_its_job_and_its_own_keys_win(tmp_path):
    (tmp_path / "job.fio").write_text(JOB)
    (tmp_path / "s.yaml").write_text(SCENARIO)
    loaded = scenario.load(
        tmp_path / "s.yaml", {"workloads.w.block": "16KiB", "workloads.w.arrivals.io.outstanding": 8}
    )
    workload = loaded.data["workloads"]["w"]
    assert (workload["block"], workload["read_pct"]) == ("16 KiB", 70)
    assert dict(workload["arrivals"]["io"]) == {"outstanding": 8, "workers": 4}
    (point,) = simulate(loaded, jobs=1).points
    assert point["vms"]["db"]["iops"] > 1000


def test_a_job_has_as_many_ios_outstanding_in_a_scenario_as_where_it_was_measured(tmp_path):
    (tmp_path / "job.fio").write_text(JOB)
    (tmp_path / "s.yaml").write_text(SCENARIO)
    options = {key: ("global options", text) for key, text in (line.split("=") for line in JOB.split() if "=" in line)}
    measured = IoPoint("oltp", Path("out.json"), fio.of_options(Path("out.json"), options), {})
    for vdisks, each in ((1, (64, 4)), (2, (32, 4)), (4, (16, 4)), (8, (8, 4))):
        loaded = scenario.load(tmp_path / "s.yaml", {"vms.db.vdisks": vdisks})
        io = loaded.data["workloads"]["w"]["arrivals"]["io"]
        assert (io["outstanding"], io["workers"]) == each
        assert vdisks * io["outstanding"] == 16 * 4, "iodepth x numjobs"
        assert loaded.with_overrides(settings(measured, loaded, "db", "out.json")).json == loaded.json


def test_vdisks_that_cannot_have_equal_parts_of_a_job_are_refused(tmp_path):
    (tmp_path / "job.fio").write_text(JOB)
    (tmp_path / "s.yaml").write_text(SCENARIO)
    for key, said in (({"vms.db.vdisks": 3}, "3 for 64 I/Os"), ({"vms.db.vdisks": None}, "10 for 64 I/Os")):
        with pytest.raises(ScenarioError, match=said) as caught:
            scenario.load(tmp_path / "s.yaml", key)
        assert caught.value.mistakes[0].path == "vms.db.vdisks"
    other = {"vms.web": {"vcpus": 1, "memory": "1 GiB", "workload": "w", "array": "san", "vdisks": 4}}
    with pytest.raises(ScenarioError, match=r"vms\.web\.vdisks"):
        scenario.load(tmp_path / "s.yaml", other)
    assert scenario.load(tmp_path / "s.yaml", {"vms.db.vdisks": 3, "workloads.w.arrivals.io.outstanding": 8})


def test_mistakes_of_the_job_and_of_the_scenario_are_listed_together(tmp_path):
    (tmp_path / "job.fio").write_text("[j]\nrw=trim\ndirect=1\n")
    (tmp_path / "s.yaml").write_text(SCENARIO.replace("vcpus: 4", "vcpus: 40"))
    with pytest.raises(ScenarioError) as caught:
        scenario.load(tmp_path / "s.yaml")
    assert {mistake.code for mistake in caught.value.mistakes} == {"bad-fio", "vm-wider-than-host"}
