"""Load generators: shell text that quotes whatever a plan holds, and readers of real output."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.python.ingest.benchmarks import load_samples as samples

from hypertwin.benchmark import plan as plans
from hypertwin.benchmark import scripts
from hypertwin.benchmark.load.generator import OutputError
from hypertwin.benchmark.plan import Plan
from hypertwin.benchmark.scripts import Work
from hypertwin.benchmark.shell import Shells
from hypertwin.benchmark.step import Step
from hypertwin.benchmark.target import Target
from hypertwin.ingest.benchmarks.io_points import RAMP_NOTE
from hypertwin.scenario import loads

EVIL = 'x\'; touch evil; echo "$(touch evil)`touch evil`" ${IFS} -- \\'
SCENARIO = """
name: s
hosts: {h: {sockets: 1, cores_per_socket: 4, clock: 2 GHz, memory_per_node: 8 GiB, hypervisor: linux-6.12}}
vms:
  db: {vcpus: 2, memory: 1 GiB, workload: oltp}
  open: {vcpus: 2, memory: 1 GiB, workload: web}
  io: {vcpus: 2, memory: 1 GiB, workload: fio, array: nvme, vdisks: 1}
workloads:
  oltp: {arrivals: {closed: {population: 3}}, cpu: {mean: 2 ms}}
  web: {arrivals: {open: {rate: 10 /s}}, cpu: {mean: 2 ms}}
  fio: {arrivals: {io: {outstanding: 4}}, block: 4 KiB, cpu: {mean: 2 us}}
arrays: {nvme: {protocol: local, raid: raid-0, disks: {device: P4610, count: 1}}}
"""


def plan(load: dict[str, object], **target: object) -> Plan:
    """Return a plan with this load."""
    made = {"name": "p", "scenario": "s.yaml", "group": "db", "load": load, "steps": {"vms": 1}}
    return plans.loads(yaml.safe_dump({**made, "targets": {"a": {"address": "local", **target}}}), "p", Path())


LOADS: list[dict[str, object]] = [
    {"kind": "sysbench", "options": {"mysql-user": EVIL, "tables": 2}},
    {"kind": "sysbench", "driver": "pgsql", "options": {"pgsql-user": EVIL}},
    {"kind": "sysbench", "script": "cpu", "options": {"cpu-max-prime": EVIL}},
    {"kind": "pgbench", "options": {"user": EVIL}},
    {"kind": "fio", "options": {"bs": EVIL}},
    {"kind": "fio", "device": "/dev/nope"},
    {"kind": "command", "run": "true {user}", "options": {"user": EVIL}, "patterns": {"iops": "(1)"}},
]


@pytest.mark.parametrize("load", LOADS)
def test_no_text_of_a_plan_runs_as_a_command(load: dict[str, object], tmp_path: Path):
    found, step = plan(load), Step(1, {})
    target = found.targets[0]
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sysbench", "mysql", "psql", "pgbench", "fio", "lsblk", "blkid"):
        (tools / name).write_text("#!/bin/sh\nexit 0\n")
        (tools / name).chmod(0o755)
    work = Work(str(tmp_path), "abc")
    texts = [scripts.begin(work), scripts.prepare(work, found.load.prepare(target), 9)]
    run = found.load.run(step, target, 1)
    texts.append(scripts.measure(work, run, run, 0.0, seconds=1, warmup_s=0, cgroups={"a": "x'y"}, extra=["true"]))
    texts.append(scripts.remove(work, found.load.cleanup(target), 9))
    for text in texts:
        path = f"{tools}:/usr/bin:/bin"
        subprocess.run(["sh", "-s"], input=text, text=True, env={"PATH": path}, cwd=tmp_path, check=False, timeout=60)
    assert not list(tmp_path.rglob("evil"))
    if "device" not in load:
        assert not Path(work.path).exists()


def test_a_device_with_anything_on_it_is_refused(tmp_path: Path):
    text = plan({"kind": "fio", "device": "/dev/null"}).load.prepare(plan({"kind": "fio"}).targets[0])
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 3
    assert "is no block device" in done.stderr


def test_options_of_a_database_are_in_a_file_of_the_user_alone(tmp_path: Path):
    found = plan({"kind": "sysbench", "options": {"mysql-user": "u"}, "password_from": "X"})
    target, tools = found.targets[0], tmp_path / "bin"
    tools.mkdir()
    for name in ("sysbench", "mysql"):
        (tools / name).write_text("#!/bin/sh\necho $0 $* >> said\n")
        (tools / name).chmod(0o755)
    env = {"PATH": f"{tools}:/usr/bin:/bin", "BENCHMARK_PASSWORD": 's"e #c\\ret'}
    subprocess.run(["sh", "-e", "-c", found.load.prepare(target)], env=env, cwd=tmp_path, check=True)
    for name, line in (
        ("sysbench.conf", 'mysql-password=s"e #c\\ret'),
        ("client.cnf", r'password="s\"e #c\\ret"'),  # the client takes what follows a bare # for a comment
    ):
        assert line in (tmp_path / name).read_text().splitlines()
        assert (tmp_path / name).stat().st_mode & 0o077 == 0
    assert "ret" not in (tmp_path / "said").read_text()
    assert "CREATE DATABASE hypertwin_benchmark" in (tmp_path / "said").read_text()


DATABASES: list[dict[str, object]] = [
    {"kind": "sysbench"},
    {"kind": "sysbench", "driver": "pgsql"},
    {"kind": "pgbench"},
]


@pytest.mark.parametrize("load", DATABASES)
@pytest.mark.parametrize("exists", [True, False])
def test_only_a_database_that_the_campaign_made_is_dropped(load: dict[str, object], exists: bool, tmp_path: Path):
    found, tools = plan(load), tmp_path / "bin"
    target = found.targets[0]
    tools.mkdir()
    for name in ("sysbench", "mysql", "psql", "pgbench"):
        (tools / name).write_text(f"""#!/bin/sh
echo "$*" >> said
case "$*" in *CREATE*) exit {int(exists)} ;; *prepare | *-i*) exit 9 ;; esac
""")
        (tools / name).chmod(0o755)
    env = {"PATH": f"{tools}:/usr/bin:/bin"}
    for text, code in (
        (found.load.prepare(target), 1 if exists else 9),  # filling fails in the middle
        (found.load.cleanup(target), 0),
        (found.load.cleanup(target), 0),
    ):
        done = subprocess.run(["sh", "-e", "-c", text], env=env, cwd=tmp_path, check=False)
        assert done.returncode == code
    said = (tmp_path / "said").read_text()
    assert said.count("CREATE DATABASE") == 1
    assert said.count("DROP DATABASE") == (0 if exists else 1)


@pytest.mark.parametrize(
    ("blkid", "lsblk", "mount", "refused"),
    [
        (2, "sdb", "", False),
        (0, "sdb", "", True),
        (8, "sdb", "", True),
        (2, "sdb\nsdb1", "", True),
        (2, "sdb", "/x", True),
    ],
)
def test_each_use_of_a_device_is_refused_unless_it_is_empty(
    blkid: int, lsblk: str, mount: str, refused: bool, tmp_path: Path
):
    found, tools = plan({"kind": "fio", "device": "/dev/null"}), tmp_path / "bin"
    tools.mkdir()
    scripts_of = {
        "blkid": f"exit {blkid}",
        "lsblk": f"case $* in *NAME*) echo '{lsblk}' ;; *) echo '{mount}' ;; esac",
        "fio": "touch wrote",
    }
    for name, text in scripts_of.items():
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    target = found.targets[0]
    for each in (found.load.prepare(target), found.load.run(Step(1, {}), target, 1)):
        text = each.replace("[ -b ", "[ -c ")  # /dev/null stands for a disk
        env = {"PATH": f"{tools}:/usr/bin:/bin"}
        done = subprocess.run(["sh", "-e", "-c", text], env=env, cwd=tmp_path, capture_output=True, check=False)
        assert (done.returncode == 3) is refused
        assert (tmp_path / "wrote").exists() is not refused
        (tmp_path / "wrote").unlink(missing_ok=True)


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_work_folder_that_is_not_its_own_is_neither_used_nor_removed(kind: str, tmp_path: Path):
    work, other = Work(str(tmp_path), "abc"), tmp_path / "other"
    other.mkdir()
    (other / "precious").touch()
    if kind == "link":
        Path(work.path).symlink_to(other)
    else:
        Path(work.path).touch()
    for text in (scripts.begin(work), scripts.remove(work, "rm -f precious\n", 9)):
        done = subprocess.run(["sh", "-s"], input=text, text=True, capture_output=True, check=False)
        assert done.returncode == 3
        assert f"{work.path} is not of this campaign" in done.stderr
    assert [path.name for path in other.iterdir()] == ["precious"]


def test_a_campaign_finds_its_work_folder_again_and_removes_it(tmp_path: Path):
    work = Work(str(tmp_path), "abc")
    for text in (scripts.begin(work), scripts.begin(work), scripts.remove(work, "", 9), scripts.remove(work, "", 9)):
        subprocess.run(["sh", "-s"], input=text, text=True, check=True)
        assert Path(work.path).is_dir() is (text == scripts.begin(work))


def test_a_command_keeps_braces_that_are_not_of_a_step(tmp_path: Path):
    run = "seq {seconds} | awk '{print} END {x = 1}'"
    found = plan({"kind": "command", "run": run, "patterns": {"iops": "(1)"}})
    text = found.load.run(Step(1, {}), found.targets[0], 2)
    assert subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True).stdout == "1\n2\n"


@pytest.mark.parametrize(("kind", "word"), [("sysbench", "--threads="), ("pgbench", "-c ")])
def test_a_rate_has_connections_enough_that_none_waits_for_one(kind: str, word: str):
    found = plan({"kind": kind})
    target = found.targets[0]
    for values, count in (({"rate": 50}, 32), ({"rate": 50, "threads": 4}, 4), ({}, 1)):
        assert f"{word}{count} " in found.load.run(Step(1, values), target, 1)


@pytest.mark.parametrize(
    ("load", "step", "group", "settings"),
    [
        ("sysbench", {"threads": 8}, "db", {"workloads.oltp.arrivals.closed.population": 8, "vms.db.count": 2}),
        ("sysbench", {}, "db", {"workloads.oltp.arrivals.closed.population": 1}),  # the generator has one thread
        ("pgbench", {"rate": 50}, "open", {"workloads.web.arrivals.open.rate": "50 /s", "vms.open.count": 2}),
        ("fio", {"depth": 16}, "io", {"workloads.fio.arrivals.io.outstanding": 16, "vms.io.count": 2}),
        ("fio", {"block": "8k"}, "io", {"workloads.fio.block": "8192 B"}),
    ],
)
def test_a_step_becomes_settings_of_the_scenario(load: str, step: dict[str, int | str], group: str, settings: object):
    scenario = loads(SCENARIO)
    found = plan({"kind": load}).load.settings(Step(2, step), scenario, group)
    assert settings.items() <= found.items()  # type: ignore[attr-defined]
    scenario.with_overrides(found)


PGBENCH = """pgbench (15.18)
progress: 1.0 s, 500.0 tps, lat 2.0 ms stddev 0.5, 0 failed
transaction type: <builtin: TPC-B (sort of)>
number of clients: 4
latency average = 3.993 ms
latency stddev = 1.2 ms
initial connection time = 4.5 ms
tps = 1001.5 (without initial connection time)
histogram 832 900
histogram 1000 95
histogram 1100 5
"""


def test_pgbench_has_throughput_mean_and_percentiles_of_its_log(tmp_path: Path):
    (tmp_path / "out").write_text(PGBENCH)
    found = plan({"kind": "pgbench"})
    figures = found.load.read(tmp_path / "out")
    assert figures.values["throughput_per_s"] == 1001.5
    assert figures.values["response_ms_mean"] == 3.993
    assert figures.values["response_ms_p95"] == pytest.approx(1.01**1000 / 1000)
    assert figures.histogram is not None and sum(figures.histogram.values()) == 1000


def test_notes_on_the_output_belong_to_the_figures(tmp_path: Path):
    (tmp_path / "pgbench").write_text(PGBENCH + "number of failed transactions: 7 (0.100%)\n")
    (tmp_path / "fio").write_text(samples.fio_report("a", ramp_time="2"))
    assert plan({"kind": "pgbench"}).load.read(tmp_path / "pgbench").notes == (
        "number of failed transactions: 7 (0.100%)",
    )
    (tmp_path / "sysbench").write_text(f"{SYSBENCH}\n    ignored errors:      3      (0.30 per sec.)\n")
    assert plan({"kind": "sysbench"}).load.read(tmp_path / "sysbench").notes == ("ignored errors: 3",)
    assert RAMP_NOTE in plan({"kind": "fio"}).load.read(tmp_path / "fio").notes


SYSBENCH = """sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       1.000 |****************************************  90
      10.000 |***                                        8
     100.000 |                                           2

SQL statistics:
    transactions:                        100    (10.00 per sec.)
    queries:                             2000   (200.00 per sec.)

General statistics:
    total time:                          10.0000s
    total number of events:              100

Latency (ms):
         min:                                    1.00
         avg:                                    3.70
         max:                                  100.00
         99th percentile:                      100.00
         sum:                                  370.00

Threads fairness:
    events (avg/stddev):           100.0000/0.00
"""


def test_sysbench_has_both_percentiles_of_its_histogram(tmp_path: Path):
    (tmp_path / "out").write_text(SYSBENCH)
    found = plan({"kind": "sysbench"})
    figures = found.load.read(tmp_path / "out")
    assert figures.values == {
        "throughput_per_s": 10.0,
        "response_ms_mean": 3.7,
        "response_ms_p95": 10.0,
        "response_ms_p99": 100.0,
    }
    assert figures.histogram == {1.0: 90, 10.0: 8, 100.0: 2}


@pytest.mark.parametrize("kind", ["sysbench", "pgbench", "fio", "command"])
@pytest.mark.parametrize("text", [b"", b"\x00\xff" * 5000, b"nan tps\n", b'{"fio version": "fio-3.33", "jobs": []}'])
def test_output_without_figures_is_an_error_with_a_reason(kind: str, text: bytes, tmp_path: Path):
    more = {"run": "x", "patterns": {"iops": "iops=([0-9]+)"}} if kind == "command" else {}
    found = plan({"kind": kind, **more})
    (tmp_path / "out").write_bytes(text)
    with pytest.raises(OutputError) as caught:
        found.load.read(tmp_path / "out")
    assert str(caught.value)


def test_frames_of_a_cut_answer_are_what_arrived():
    assert scripts.frames(b"@@ out 3\nabc@@ rc 1\n0") == {"out": b"abc", "rc": b"0"}
    assert scripts.frames(b"@@ out 10\nabc") == {"out": b"abc"}
    assert scripts.frames(b"noise\n@@ out 1\na") == {}
    assert scripts.frames(b"@@ out 1\na@@ .. 1\nb@@ err 1\nc") == {"out": b"a"}
    assert scripts.frames(b"@@ extra-2 1\na@@ out 999999999999\nb") == {"extra-2": b"a", "out": b"b"}


def test_a_pattern_takes_no_longer_on_hostile_output(tmp_path: Path):
    found = plan({"kind": "command", "run": "x", "patterns": {"iops": "^(?:a+)+$|iops: ([0-9,]+)"}})
    (tmp_path / "out").write_text(f"{'a' * 4000}!\niops: 5\niops: 1,200\n{'a' * 4000}!\n")
    began = time.monotonic()
    assert found.load.read(tmp_path / "out").values == {"iops": 1200}
    assert time.monotonic() - began < 5


def test_sysbench_prints_the_percentile_that_is_read_and_fio_needs_no_space_for_a_device():
    found = plan({"kind": "sysbench"})
    assert " --percentile=99 " in found.load.run(Step(1, {}), found.targets[0], 1)
    assert plan({"kind": "fio", "size": "2 GiB"}).load.space_bytes() == 2**31
    assert plan({"kind": "fio", "size": "2 GiB", "device": "/dev/sdb"}).load.space_bytes() == 0


def test_a_load_is_asked_to_end_before_it_is_killed(tmp_path: Path):
    work = Work(str(tmp_path), "abc")
    subprocess.run(["sh", "-s"], input=scripts.begin(work), text=True, check=True)
    load = "trap 'touch asked; exit 0' TERM; touch ready; while :; do sleep 0.1; done"
    text = scripts.measure(work, load, "", 0.0, seconds=30, warmup_s=0, cgroups={})
    process = subprocess.Popen(["sh", "-c", text], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 20
    while not (tmp_path / Path(work.path).name / "ready").exists() and time.monotonic() < until:
        time.sleep(0.05)
    subprocess.run(["sh", "-s"], input=scripts.stop(work), text=True, check=True)
    process.wait(20)
    assert (Path(work.path) / "asked").exists()


def test_sockets_of_ssh_have_a_short_path_whatever_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    long = tmp_path / ("x" * 60)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with Shells(tmp_path).opened() as shells:
        words = shells.words(Target("a", "a"))
    (path,) = [word.removeprefix("ControlPath=") for word in words if word.startswith("ControlPath=")]
    assert len(path.replace("%C", "c" * 40)) + 17 < 104


@pytest.mark.parametrize(
    ("iops", "io", "mean", "seen"),
    [
        (10_000, {"outstanding": 8, "rate": None}, 0.1, 0.79),  # 8 I/Os take 0.8 ms, of which fio computes 0.01
        (80_000, {"outstanding": 8, "rate": None}, 0.1, 0.1),  # the latency of the twin is longer
        (10_000, {"outstanding": 8, "rate": "10000 /s"}, 0.1, 0.1),  # a paced load has no fixed number outstanding
    ],
)
def test_a_latency_of_fio_ends_when_its_process_runs_again(iops: float, io: dict[str, Any], mean: float, seen: float):
    scenario = loads(SCENARIO).with_overrides(
        {"workloads.fio.cpu.mean": "10 us", **{f"workloads.fio.arrivals.io.{key}": each for key, each in io.items()}}
    )
    figures = {"iops": iops, "io_latency_ms_mean": mean, "io_latency_ms_p99": 0.3, "run_pct": 20}
    found = plan({"kind": "fio"}).load.seen(figures, Step(1, {}), scenario, "io")
    assert found["io_latency_ms_mean"] == pytest.approx(seen)
    assert found["io_latency_ms_p99"] == pytest.approx(0.3 + seen - mean)
    assert (found["iops"], found["run_pct"]) == (iops, 20)
    two = plan({"kind": "fio"}).load.seen(figures, Step(2, {}), scenario, "io")
    assert two["io_latency_ms_mean"] >= found["io_latency_ms_mean"]
