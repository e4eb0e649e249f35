"""`hypertwin simulate` as a user runs it: what is on stdout, what is in the files, which exit code."""

from __future__ import annotations

import io
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars
import pytest

from hypertwin.metrics import frame
from hypertwin.metrics.catalogue import CATALOGUE, catalogue_key

SCENARIOS = Path(__file__).parents[2] / "scenarios"
SWEEP = ("--sweep", "vms.db.vcpus=1,2", "--sweep", "vms.db.load=1,2,3")


def test_json_has_the_shape_of_the_contract(cli, tiny):
    done = cli("simulate", tiny, "--format", "json", says="")
    result = json.loads(done.stdout)
    assert list(result) == ["version", "scenario", "seed", "answer", "causes", "breaks", "points"]
    assert (result["scenario"], result["seed"]) == ("tiny", 7)
    (point,) = result["points"]
    assert point["set"] == {}
    assert point["replications"] == 2
    assert isinstance(point["steady"], bool)
    assert set(point["hosts"]) == {"esx1"}
    assert {"usage_pct", "utilization_pct", "core_utilization_pct"} <= set(point["hosts"]["esx1"])
    assert set(point["vms"]) == {"db", "web-1", "web-2"}
    assert set(point["groups"]) == {"db", "web"}
    assert point["groups"]["web"]["count"] == 2
    for vm in point["vms"].values():
        assert {"run_pct", "ready_pct", "costop_pct", "wait_pct", "used_pct", "guest_cpu_pct", "run_queue"} <= set(vm)
        assert {"throughput_per_s", "response_ms", "iops"} <= set(vm)
        assert {"mean", "p50", "p95", "p99", "ci95"} <= set(vm["response_ms"])
        assert math.isclose(vm["run_pct"] + vm["ready_pct"] + vm["costop_pct"] + vm["wait_pct"], 100, abs_tol=1e-6)


def paths(metrics, prefix=""):
    """Keys as `frame.flatten` joins them, those of lists included."""
    for key, value in metrics.items():
        if isinstance(value, dict):
            yield from paths(value, f"{prefix}{key}_")
        else:
            yield catalogue_key(f"{prefix}{key}")


@pytest.mark.parametrize("virtual_disks", [False, True])
def test_every_key_of_the_json_is_in_the_catalogue(cli, tiny, virtual_disks):
    scenario = (SCENARIOS / "hyperconverged.yaml", "--duration", 1, "--replications", 1) if virtual_disks else (tiny,)
    (point,) = json.loads(cli("simulate", *scenario, "--format", "json").stdout)["points"]
    known = {(scope, metric.key) for metric in CATALOGUE for scope in metric.scopes}
    sections = {"hosts", "vms", "groups", "storage", "pools", "space", "clusters", "bottleneck"}
    used = {(kind, key) for kind, _, metrics in frame.entities(point) for key in paths(metrics)}
    used |= {("point", key) for key in set(point) - sections}
    assert ({"vm", "group"} <= {kind for kind, key in used if key == "read_latency_ms_p99"}) == virtual_disks
    assert not used - known, f"define in the engine, or add to hypertwin/metrics/catalogue.py: {sorted(used - known)}"


def test_a_sweep_is_the_product_of_its_values(cli, tiny):
    result = json.loads(cli("simulate", tiny, *SWEEP, "--set", "vms.web.count=1", "--format", "json").stdout)
    expected = [
        {"vms.web.count": 1, "vms.db.vcpus": vcpus, "vms.db.load": load} for vcpus in (1, 2) for load in (1, 2, 3)
    ]
    assert [point["set"] for point in result["points"]] == expected
    assert [point["vms"]["db"]["vcpus"] for point in result["points"]] == [1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("form", ["json", "csv", "table"])
def test_the_number_of_jobs_never_shows(cli, tiny, form):
    outputs = {cli("simulate", tiny, *SWEEP, "--format", form, "--jobs", jobs).stdout for jobs in (1, 2, 8)}
    assert len(outputs) == 1
    assert outputs.pop()


def test_seed_and_length_can_be_set(cli, tiny):
    arguments = ("--seed", 11, "--replications", 3, "--duration", 2, "--warmup", "500 ms", "--format", "json")
    result = json.loads(cli("simulate", tiny, *arguments).stdout)
    (point,) = result["points"]
    assert (result["seed"], point["replications"], point["duration_s"], point["warmup_s"]) == (11, 3, 2, 0.5)
    assert point["set"] == {}
    other = json.loads(cli("simulate", tiny, "--seed", 12, "--format", "json").stdout)
    assert other["points"][0]["vms"]["db"]["response_ms"] != point["vms"]["db"]["response_ms"]


def test_csv_parquet_and_json_agree(cli, tiny, tmp_path):
    as_json = json.loads(cli("simulate", tiny, *SWEEP, "--format", "json").stdout)
    as_csv = polars.read_csv(
        io.StringIO(cli("simulate", tiny, *SWEEP, "--format", "csv").stdout), infer_schema_length=None
    )
    done = cli("simulate", tiny, *SWEEP, "--out", "out.parquet")
    assert (done.returncode, done.stdout) == (0, "")
    as_parquet = polars.read_parquet(tmp_path / "out.parquet")
    assert as_csv.columns == as_parquet.columns
    assert as_csv.height == as_parquet.height == 6 * (1 + 3 + 2 + 1)
    for index, point in enumerate(as_json["points"]):
        for table in (as_csv, as_parquet):
            row = table.row(
                by_predicate=(polars.col("point") == index)
                & (polars.col("kind") == "vm")
                & (polars.col("name") == "db"),
                named=True,
            )
            assert row["vms.db.load"] == point["set"]["vms.db.load"]
            assert row["response_ms_p99"] == pytest.approx(point["vms"]["db"]["response_ms"]["p99"], rel=1e-12)
            assert row["ready_pct"] == pytest.approx(point["vms"]["db"]["ready_pct"], rel=1e-12)


def test_out_takes_its_format_from_the_ending_and_replaces_the_file(cli, tiny, tmp_path):
    out = tmp_path / "result.json"
    out.write_text("old")
    out.chmod(0o640)
    done = cli("simulate", tiny, "--out", out)
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads(out.read_text())["scenario"] == "tiny"
    assert out.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["result.json", "tiny.yaml"]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    from hypertwin.files import writing

    out = tmp_path / "result.json"
    out.write_text("old")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(writing.WriteError, match="No space left"):
        writing.write_atomically(out, "new")
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    assert out.read_text() == "old"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "SCENARIO"),
        (("nothing.yaml",), "nothing.yaml"),
        (("SCENARIO", "--nope"), "--nope"),
        (("SCENARIO", "--format", "xml"), "'--format': 'xml' is not one of"),
        (("SCENARIO", "--jobs", "0"), "--jobs"),
        (("SCENARIO", "--seed", "one"), "--seed"),
        (("SCENARIO", "--seed", "-1"), "run.seed"),
        (("SCENARIO", "--replications", "0"), "--replications"),
        (("SCENARIO", "--duration", "-5"), "run.duration"),
        (("SCENARIO", "--duration", "soon"), "run.duration"),
        (("SCENARIO", "--duration", "nan"), "run.duration"),
        (("SCENARIO", "--set", "vms.db.vcpu=2"), "vms.db.vcpu"),
        (("SCENARIO", "--set", "vms.db.vcpus"), "--set"),
        (("SCENARIO", "--sweep", "vms.db.vcpus="), "--sweep"),
        (("SCENARIO", "--sweep", "vms.db.vcpus=1,200"), "--sweep vms.db.vcpus=200: vms.db.vcpus"),
        (("SCENARIO", "--out", "missing/result.json"), "does not exist"),
        (("SCENARIO", "--out", "."), "directory"),
        (("SCENARIO", "--report", "missing/report.html"), "does not exist"),
        (("SCENARIO", "--format", "parquet"), "--out"),
        (("SCENARIO", "--out", "same", "--report", "same"), "different files"),
    ],
)
def test_bad_usage_and_input_give_one_message_and_exit_2(cli, tiny, arguments, said):
    done = cli("simulate", *(tiny if argument == "SCENARIO" else argument for argument in arguments), exits=2)
    assert said in done.stderr
    assert done.stderr.startswith("error: ")


def test_no_command_shows_the_help_and_exits_2(cli):
    done = cli(exits=2)
    assert "simulate" in done.stderr


@pytest.mark.parametrize("word", ["--version", "-V", "version"])
def test_version(cli, word):
    done = cli(word)
    assert (done.returncode, done.stdout.split()[0]) == (0, "hypertwin")


def test_help_is_a_word_too(cli):
    assert cli("help").stdout == cli("--help").stdout
    assert cli("help", "plan", "balance").stdout == cli("plan", "balance", "--help").stdout


def test_the_package_is_a_program():
    command = [sys.executable, "-m", "hypertwin", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout[:9] == "hypertwin"


def test_a_reader_that_stops_early_is_no_error(tiny):
    command = (
        f"{sys.executable} -c 'from hypertwin.cli.main import main; main()' simulate {tiny} --format json | head -c 1"
    )
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "{", "")


def test_a_full_disk_on_stdout_is_a_failed_run(tiny):
    command = (
        f"{sys.executable} -c 'from hypertwin.cli.main import main; main()' simulate {tiny} --format json >/dev/full"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_interrupt_stops_at_once_without_a_traceback(tiny, tmp_path):
    command = [sys.executable, "-c", "from hypertwin.cli.main import main; main()", "simulate", str(tiny)]
    long = subprocess.Popen(
        [*command, "--duration", "200000", "--out", "x.json"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    time.sleep(2.5)
    long.send_signal(signal.SIGINT)
    _, said = long.communicate(timeout=10)
    assert long.returncode == 130
    assert said == "error: interrupted\n"
    assert not list(tmp_path.glob("*.json"))
    assert not list(tmp_path.glob(".*"))


def test_hypertwin_is_installed_as_a_command(tiny):
    command = Path(sys.executable).parent / "hypertwin"
    done = subprocess.run(
        [command, "schema"], capture_output=True, text=True, check=True, timeout=60, env=dict(os.environ)
    )
    assert json.loads(done.stdout)["$schema"].startswith("https://json-schema.org/")


def test_a_key_that_was_removed_is_shown_as_it_was_written(cli, tiny):
    table = cli("simulate", tiny, "--set", "vms.*.host=null", "--sweep", "vms.db.limit=null,2 GHz").stdout
    assert re.search(r"^tiny: .*, vms\.\*\.host=null$", table, re.M)
    rows = [line.split()[0] for line in table.partition("80% intervals")[0].splitlines() if " db " in line]
    assert rows == ["null", "2"]
    assert "None" not in table


def test_a_failure_after_the_end_is_said_to_come_to_nothing(cli, tiny):
    text = tiny.read_text()
    at = {"early": "1 ms", "late": "2 h"}
    failure = ", ".join(f"{{at: {each}, fails: [esx1/link]}}" for each in at.values())
    tiny.write_text(f"{text}\nfailures: [{failure}]\n")
    done = cli("simulate", tiny, "--format", "json", exits=0)
    assert done.stderr.startswith("warning: failures.1 (at 7200 s) has no effect: the run ends at 5 s")
    assert "failures.0" not in done.stderr
    json.loads(done.stdout)
    assert "failures.1 (at 7200 s) has no effect" in " ".join(cli("simulate", tiny).stdout.split())


def test_a_clock_at_which_work_was_measured_is_said_to_change_no_work(cli, tiny):
    changed = ("simulate", tiny, "--set", "hosts.*.clock=1 GHz", "--format", "json")
    text = "warning: hosts.*.clock does not change the CPU time of oltp: it was measured at this clock, unless "
    assert cli(*changed, exits=0).stderr.startswith(text)
    assert "does not change" not in cli(*changed, "--set", "workloads.oltp.reference_clock=2.5 GHz", exits=0).stderr
    assert "does not change" not in cli("simulate", tiny, "--format", "json", exits=0).stderr


def test_a_run_in_which_a_vm_suffers_can_end_a_pipeline(cli):
    quick = ("--duration", "2 s", "--warmup", "1 s", "--replications", "1", "--fail-on", "suffering")
    calm = cli("simulate", SCENARIOS / "small-esxi.yaml", *quick, says="")
    assert calm.stdout.startswith("No VM suffers: ")
    crowd = cli(
        *("simulate", SCENARIOS / "small-esxi.yaml", "--set", "vms.web.count=12", "--set", "vms.web.load=8"),
        *quick,
        exits=1,
    )
    assert re.search(r"fail-on.*suffering.*web-", crowd.stderr.replace("\n", " ")), crowd.stderr
    several = cli(
        *("simulate", SCENARIOS / "small-esxi.yaml", "--sweep", "vms.web.count=1,12", "--set", "vms.web.load=8"),
        *quick,
        exits=1,
    )
    assert "12" in several.stderr
