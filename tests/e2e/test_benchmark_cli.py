"""`hypertwin benchmark` on targets that behave, die, hang, lie about the time, or print garbage.

`ssh` is a script that runs the shell text here. The name of a target decides how it behaves.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

SSH = """#!/bin/bash
while [ "$1" != -- ]; do [ "$1" = -O ] && exit 0; shift; done
name=${2##*@}
export FAKE_NAME=$name PATH=@TOOLS@:$PATH
case $name in
  dead*) echo "ssh: connect to host $name port 22: No route to host" >&2; exit 255 ;;
  hang*) exec sleep 300 ;;
  garbage*) head -c 100000 /dev/urandom; exit 0 ;;
esac
exec sh -s
"""
READLINK = """#!/bin/bash
case $1 in /proc/self/ns/net) echo "net:[$FAKE_NAME]" ;; *) exec /usr/bin/readlink "$@" ;; esac
"""
DATE = """#!/bin/bash
case $FAKE_NAME in late*) exec /usr/bin/date -d '+7 seconds' "$@" ;; *) exec /usr/bin/date "$@" ;; esac
"""
HOSTNAME = """#!/bin/bash
echo "$FAKE_NAME"
"""
SCENARIO = """
name: small
run: {duration: 2 s, warmup: 200 ms, sample_interval: 1 s, replications: 2}
hosts:
  h: {sockets: 1, cores_per_socket: 4, clock: 2.5 GHz, memory_per_node: 64 GiB, hypervisor: linux-6.12}
vms:
  db: {count: 1, vcpus: 2, memory: 1 GiB, workload: oltp}
workloads:
  oltp:
    arrivals: {closed: {population: 1}}
    cpu: {mean: 2 ms}
    delay: {mean: 8 ms}
"""
LOAD = """
  kind: command
  prepare: touch data
  run: "@FIRST@ sleep {seconds}; echo tps: $((98 * {threads})); echo mean: 10.1 ms; echo p99: 20 ms"
  cleanup: rm -f data
  patterns: {throughput_per_s: 'tps: ([0-9.]+)', response_ms_mean: 'mean: ([0-9.]+)', response_ms_p99: 'p99: ([0-9.]+)'}
"""


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the false ssh in front, and return the folder of targets."""
    tools, front = tmp_path / "tools", tmp_path / "front"
    for folder, files in ((tools, {"readlink": READLINK, "date": DATE, "hostname": HOSTNAME}), (front, {"ssh": SSH})):
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text.replace("@TOOLS@", str(tools)))
            (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{front}:{os.environ['PATH']}")
    place = tmp_path / "targets"
    place.mkdir()
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    return place


def write_plan(
    place: Path, *names: str, first: str = "", more: str = "", steps: str = "{vms: [1, 2], threads: [1]}"
) -> Path:
    """Write a plan whose targets have these names."""
    for name in names:
        (place / name).mkdir(exist_ok=True)
    targets = "".join(f"  {name}: {{address: root@{name}, folder: {place / name}}}\n" for name in names)
    path = place.parent / "plan.yaml"
    path.write_text(
        f"name: fake\nscenario: scenario.yaml\ngroup: db\ntargets:\n{targets}load:{LOAD.replace('@FIRST@', first)}"
        f"steps: {steps}\nrepeats: 1\nwarmup: 0 s\nduration: 1 s\npause: 0 s\n{more}"
    )
    return path


def left(place: Path) -> list[str]:
    """Return everything below the folders of targets."""
    return [str(path.relative_to(place)) for path in place.rglob("*") if path.parent != place]


def running(folder: Path, is_far_enough: Callable[[], bool]) -> subprocess.Popen[str]:
    """Start the campaign of the plan in a session of its own, and return it when it is far enough."""
    words = [sys.executable, "-m", "hypertwin", "-q", "benchmark", "run", "plan.yaml", "-o", "run"]
    process = subprocess.Popen(words, cwd=folder, start_new_session=True, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not is_far_enough() and time.monotonic() < until:
        time.sleep(0.05)
    return process


def test_a_campaign_is_predicted_then_measured_and_leaves_nothing(cli, ssh, tmp_path):
    write_plan(ssh, "one", "two")
    done = cli("benchmark", "run", "plan.yaml", "-o", "run", "--report", "run.html", exits=0)
    assert "throughput 2 of 2" in done.stdout
    assert "mean latency 2 of 2" in done.stdout
    found = json.loads((tmp_path / "run/results.json").read_text())
    assert found["blind"]
    assert [step["runs"][0]["figures"]["throughput_per_s"] for step in found["steps"]] == [98, 196]
    assert all(found["predicted_at"] <= run["started"] for step in found["steps"] for run in step["runs"])
    cli("benchmark", "report", "run", "-o", "run.xlsx", exits=0)
    assert (tmp_path / "run.xlsx").read_bytes().startswith(b"PK")
    prediction = (tmp_path / "run/prediction.json").read_bytes()
    assert (tmp_path / "run/prediction.sha256").read_text().split()[0] == hashlib.sha256(prediction).hexdigest()
    frame = pl.read_parquet(tmp_path / "run/steps.parquet")
    assert frame.filter(pl.col("vm") == "two")["throughput_per_s"].to_list() == [98]
    assert (tmp_path / "run/steps/vms-2-threads-1/repeat-1/two/out").read_text().startswith("tps: 98")
    assert "tps" not in done.stderr
    assert left(ssh) == []
    assert "Measured and predicted" in (tmp_path / "run.html").read_text(encoding="utf-8")
    cli("validate", "run/study", exits=0)


def test_a_complete_campaign_measures_nothing_again(cli, ssh, tmp_path):
    write_plan(ssh, "one", steps="{threads: [1]}")
    cli("benchmark", "run", "plan.yaml", "-o", "run", exits=0)
    before = (tmp_path / "run/steps/vms-1-threads-1/repeat-1/run.json").stat().st_mtime_ns
    cli("benchmark", "resume", "run", exits=0)
    assert (tmp_path / "run/steps/vms-1-threads-1/repeat-1/run.json").stat().st_mtime_ns == before
    cli("benchmark", "run", "plan.yaml", "-o", "run", exits=2)


def test_a_dry_run_prints_each_command_and_makes_nothing(cli, ssh, tmp_path):
    write_plan(ssh, "one", "two")
    done = cli("benchmark", "run", "plan.yaml", "-o", "run", "--dry-run", exits=0)
    for words in ("check one", "make data on two", "2 VMs, threads 1: load on two", "remove data from one", "ssh -T"):
        assert words in done.stdout
    assert not (tmp_path / "run").exists()
    assert left(ssh) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("dead", "no connection to root@dead"),
        ("garbage", "does not answer as a Linux system"),
        ("late", "its clock differs by +7"),
    ],
)
def test_a_target_that_cannot_be_trusted_stops_the_campaign_before_anything_is_made(cli, ssh, tmp_path, name, words):
    write_plan(ssh, "one", name)
    checked = cli("benchmark", "check", "plan.yaml", "--format", "json", exits=1)
    assert any(words in each["text"] and each["target"] == name for each in json.loads(checked.stdout)["findings"])
    done = cli("benchmark", "run", "plan.yaml", "-o", "run", exits=1)
    assert words in done.stderr
    assert left(ssh) == []


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ("exit 9;", "exit code 9"),
        ("echo nothing; exit 0;", "no line matches the pattern of throughput_per_s"),
        ("head -c 300000 /dev/urandom; exit 0;", "no line matches the pattern"),
        ("cat /dev/zero > /dev/full || exit 1;", "No space left on device"),
    ],
)
def test_a_load_that_fails_is_an_error_with_its_words_and_can_be_resumed(cli, ssh, tmp_path, first, words):
    path = write_plan(ssh, "one", "two", first=f"if [ $FAKE_NAME = two ]; then {first} fi;")
    done = cli("benchmark", "run", "plan.yaml", "-o", "run", exits=1)
    assert done.stderr.startswith("error: two: ") or "\nerror: two: " in done.stderr
    assert words in done.stderr
    assert (tmp_path / "run/steps/vms-1-threads-1/repeat-1/run.json").exists()
    assert not (tmp_path / "run/steps/vms-2-threads-1/repeat-1/run.json").exists()
    kept = (tmp_path / "run/steps/vms-1-threads-1/repeat-1/run.json").stat().st_mtime_ns
    text = (tmp_path / "run/plan.yaml").read_text()
    (tmp_path / "run/plan.yaml").write_text(text.replace(f"if [ $FAKE_NAME = two ]; then {first} fi;", ""))
    cli("benchmark", "resume", "run", exits=0)
    assert (tmp_path / "run/steps/vms-1-threads-1/repeat-1/run.json").stat().st_mtime_ns == kept
    assert left(ssh) == []
    assert path.exists()


def test_a_campaign_that_is_killed_goes_on_after_the_last_complete_run(cli, ssh, tmp_path):
    write_plan(ssh, "one", steps="{threads: [1, 2, 3]}")
    first = tmp_path / "run/steps/vms-1-threads-1/repeat-1/run.json"
    second = tmp_path / "run/steps/vms-1-threads-2/repeat-1"
    process = running(tmp_path, lambda: first.exists() and second.exists())
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    kept = first.stat().st_mtime_ns
    assert left(ssh) != []
    cli("benchmark", "resume", "run", exits=0)
    assert first.stat().st_mtime_ns == kept
    assert len(list((tmp_path / "run/steps").glob("*/repeat-1/run.json"))) == 3
    assert left(ssh) == []


def test_an_interrupted_campaign_ends_its_loads_and_can_be_removed(cli, ssh, tmp_path):
    write_plan(ssh, "one", first="touch here;", steps="{threads: [1]}").write_text(
        (tmp_path / "plan.yaml").read_text().replace("duration: 1 s", "duration: 60 s")
    )
    process = running(tmp_path, lambda: bool(list(ssh.rglob("here"))))
    numbers = [path.read_text().strip() for path in ssh.rglob("session")]
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "resume run" in said
    assert len(numbers) == 1
    stat = Path(f"/proc/{numbers[0]}/stat")
    assert not stat.exists() or ") Z " in stat.read_text()
    cli("benchmark", "resume", "run", "--clean", exits=0)
    assert left(ssh) == []


def test_a_load_that_hangs_ends_at_its_time_limit(cli, ssh, tmp_path, monkeypatch):
    from hypertwin.benchmark import scripts

    monkeypatch.setattr(scripts, "SLACK_S", 1.0)
    write_plan(ssh, "one", first="trap '' TERM; sleep 100 & wait;", steps="{threads: [1]}")
    from hypertwin.benchmark import answer
    from hypertwin.benchmark.campaign import CampaignError

    monkeypatch.chdir(tmp_path)
    answer.predict_benchmark("plan.yaml", out="run")
    with pytest.raises(CampaignError, match="the load failed"):
        answer.run_benchmark("run")


def test_a_guard_ends_all_loads(cli, ssh, tmp_path):
    write_plan(ssh, "one", "two", more="guards: {free_space: 100 PiB}\n").write_text(
        (tmp_path / "plan.yaml").read_text().replace("duration: 1 s", "duration: 60 s")
    )
    began = time.monotonic()
    done = cli("benchmark", "run", "plan.yaml", "-o", "run", exits=1)
    assert "the guard is" in done.stderr
    assert time.monotonic() - began < 50


def test_a_prediction_that_was_changed_is_refused(cli, ssh, tmp_path):
    write_plan(ssh, "one", steps="{threads: [1]}")
    cli("benchmark", "predict", "plan.yaml", "-o", "run", exits=0)
    path = tmp_path / "run/prediction.json"
    path.write_text(path.read_text().replace('"value": ', '"value": 1', 1))
    done = cli("benchmark", "report", "run", exits=1)
    assert "is not the prediction that was made" in done.stderr


@pytest.mark.parametrize(("one", "two"), [("root@one", "admin@one"), ("local", "local")])
def test_one_vm_under_two_names_is_refused(cli, ssh, one, two):
    path = write_plan(ssh, "one", "two")
    path.write_text(path.read_text().replace("root@one", one).replace("root@two", two))
    done = cli("benchmark", "check", "plan.yaml", exits=1)
    assert "is the same VM as one" in done.stdout


def test_excluded_names_never_get_load_also_by_the_name_that_they_answer(cli, ssh, tmp_path):
    path = write_plan(ssh, "one", "prod-7", more="exclude: ['prod-*']\n")
    done = cli("benchmark", "run", "plan.yaml", "-o", "run", exits=2)
    assert "targets.prod-7" in done.stderr
    path.write_text(path.read_text().replace("  prod-7:", "  harmless:").replace("root@prod-7", "root@10.1.2.3"))
    tools = tmp_path / "tools/hostname"
    tools.write_text(HOSTNAME.replace('"$FAKE_NAME"', '"${FAKE_NAME/10.1.2.3/prod-7}"'))
    done = cli("benchmark", "check", "plan.yaml", exits=1)
    assert "answers as prod-7" in done.stdout


def test_a_plan_never_has_a_password_and_the_targets_never_show_it(cli, ssh, tmp_path, monkeypatch):
    path = write_plan(ssh, "one", steps="{threads: [1]}")
    path.write_text(path.read_text().replace("  kind: command", "  kind: command\n  options: {db-password: secret}"))
    done = cli("benchmark", "run", "plan.yaml", "-o", "run", exits=2)
    assert "secret" not in done.stderr
    path.write_text(path.read_text().replace("options: {db-password: secret}", "password_from: DB_PASSWORD"))
    text = path.read_text().replace("sleep {seconds};", "sleep {seconds}; [ ${#BENCHMARK_PASSWORD} -eq 6 ] || exit 5;")
    path.write_text(text)
    assert "DB_PASSWORD is not set" in cli("benchmark", "run", "plan.yaml", "-o", "run").stderr
    monkeypatch.setenv("DB_PASSWORD", "tr'u e")
    cli("benchmark", "resume", "run", exits=0)
    assert not [path for path in (tmp_path / "run").rglob("*") if path.is_file() and b"tr'u e" in path.read_bytes()]


def test_the_calibration_step_comes_before_the_prediction(cli, ssh, tmp_path):
    calibrate = "calibrate: {step: {threads: 1}, free: [workloads.oltp.delay.mean=1ms..40ms]}\n"
    write_plan(ssh, "one", more=calibrate, steps="{threads: [1, 2]}")
    predicted = cli("benchmark", "predict", "plan.yaml", "-o", "run", exits=0)
    assert "not predicted yet" in predicted.stdout
    cli("benchmark", "resume", "run", exits=0)
    found = json.loads((tmp_path / "run/results.json").read_text())
    assert [step["calibration"] for step in found["steps"]] == [True, False]
    assert found["blind"]
    first, second = (step["runs"][0]["started"] for step in found["steps"])
    assert first < found["predicted_at"] <= second
    assert all(each["of"] == 1 for each in found["scores"] if each["figure"] in ("throughput", "mean latency"))
    assert found["proposals"][0]["path"] == "workloads.oltp.delay.mean"
    kinds = {
        row["case"]: row["kind"]
        for row in csv.DictReader((tmp_path / "run/study/published.csv").read_text().splitlines())
    }
    assert kinds == {"vms-1-threads-1": "calibrated", "vms-1-threads-2": "predicted"}
    cli("benchmark", "report", "run", "--fail-on", "late", exits=0)
    path = tmp_path / "run/steps/vms-1-threads-2/repeat-1/run.json"
    path.write_text(path.read_text().replace(second, first))
    late = cli("benchmark", "report", "run", "--fail-on", "late", exits=1)
    assert "which is no proof" in late.stdout


def test_telemetry_of_hosts_is_beside_each_run(cli, ssh, tmp_path):
    from tests.python.ingest.test_prometheus import matrix, serving

    labels = {"vm_name": "DB One", "host_name": "esx1"}

    def answer(path: str, parameters: dict[str, str]) -> object:
        begin = float(parameters.get("start", parameters.get("time", "0")))
        if "__name__" in parameters["query"]:
            names = ("vmware_vm_num_cpu", "vmware_vm_cpu_ready_summation")
            return matrix(*(({"__name__": name}, [[begin, "1"]]) for name in names))
        return matrix((labels, [[begin, "30"]]))

    with serving(answer) as stub:
        more = f"telemetry: prometheus://127.0.0.1:{stub.server_port}\n"
        path = write_plan(ssh, "one", more=more, steps="{threads: [1]}")
        path.write_text(path.read_text().replace("address: root@one", "address: root@one, host: esx1, vm: DB One"))
        done = cli("benchmark", "run", "plan.yaml", "-o", "run", "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["steps"][0]["runs"][0]["notes"] == []
    assert found["steps"][0]["runs"][0]["figures"]["ready_pct"] == 15  # 30 % over two vCPUs


def test_a_target_that_cannot_be_cleaned_keeps_neither_the_others_nor_the_results_from_it(cli, ssh, tmp_path):
    path = write_plan(ssh, "one", "two")
    path.write_text(path.read_text().replace("cleanup: rm -f data", "cleanup: test $FAKE_NAME != one; rm data"))
    done = cli("benchmark", "run", "plan.yaml", "-o", "run", exits=1)
    assert "one: its data cannot be removed" in done.stderr
    assert {place.split("/")[0] for place in left(ssh)} == {"one"}
    assert all(step["runs"] for step in json.loads((tmp_path / "run/results.json").read_text())["steps"])
    (tmp_path / "run/plan.yaml").write_text(path.read_text().replace("test $FAKE_NAME != one;", "true;"))
    cli("benchmark", "resume", "run", "--clean", exits=0)
    assert left(ssh) == []
    state = json.loads((tmp_path / "run/state.json").read_text())
    assert [state[key] for key in ("prepared", "touched", "filling")] == [[], [], []]
    assert "The plan was changed after the prediction" in cli("benchmark", "report", "run").stdout


def test_a_folder_with_other_files_is_refused_and_they_stay(cli, ssh, tmp_path):
    path = write_plan(ssh, "one", steps="{threads: [1]}")
    path.rename(tmp_path / "bench.yaml")
    for command in ("predict", "run"):
        done = cli("benchmark", command, "bench.yaml", "-o", ".", exits=2)
        assert ". is not empty; name a new folder" in done.stderr
    assert (tmp_path / "scenario.yaml").read_text() == SCENARIO


def test_a_prediction_alone_touches_no_target(cli, ssh, tmp_path):
    write_plan(ssh, "one", "dead")
    cli("benchmark", "run", "plan.yaml", "-o", "run", "--until", "predicted", exits=0)
    assert (tmp_path / "run/prediction.json").exists()
    assert left(ssh) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("group: db", "group: dbb", "did you mean db?"),
        ("workloads.oltp.delay", "workloads.oltp.dely", "did you mean workloads.oltp.delay"),
    ],
)
def test_a_plan_that_does_not_fit_its_scenario_is_named_with_its_key(cli, ssh, old, new, words):
    calibrate = "calibrate: {step: {threads: 1}, free: [workloads.oltp.delay.mean=1ms..40ms]}\n"
    path = write_plan(ssh, "one", more=calibrate, steps="{threads: [1]}")
    path.write_text(path.read_text().replace(old, new))
    done = cli("benchmark", "predict", "plan.yaml", "-o", "run", exits=2)
    assert "--> plan.yaml" in done.stderr
    assert words in done.stderr
    assert "--free" not in done.stderr


def test_a_folder_that_only_has_a_plan_is_no_campaign(cli, ssh):
    write_plan(ssh, "one", steps="{threads: [1]}")
    done = cli("benchmark", "report", ".", exits=2)
    assert "no state.json in it" in done.stderr
