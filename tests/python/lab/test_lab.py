"""The lab: what it reads, predicts, writes and refuses. Nothing is asserted of timing: machines of tests are busy."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.conftest import Cli
from tests.python.show.test_page import data

from hypertwin import _core, scenario
from hypertwin.errors import ScenarioError
from hypertwin.lab import control_groups, cpu, profile, system
from hypertwin.show import lab as lab_view
from hypertwin.show import table
from hypertwin.show import terminal as shown
from hypertwin.show.page import rounded

pytestmark = pytest.mark.usefixtures("linux")


@pytest.fixture(scope="module")
def machine() -> dict[str, Any]:
    """This machine, measured briefly."""
    return profile.profile(seconds=0.05, array_bytes=2**20, disk=False, coding=False)


def test_a_profile_has_every_figure_with_its_spread(machine: dict[str, Any]) -> None:
    assert machine["spin"]["units_per_s"] > 0
    assert len(machine["spin"]["together"]) >= 1
    assert machine["timers"]["p50_ns"] <= machine["timers"]["p95_ns"] <= machine["timers"]["p99_ns"]
    assert machine["context_switch_ns"]["least"] <= machine["context_switch_ns"]["median"]
    assert {entry["cpu"] for entry in machine["topology"]["cpus"]} >= set(machine["topology"]["usable"])
    for row in machine["bandwidth"]:
        assert row["threads"] == len(row["cpus"])
        for kernel in ("copy", "scale", "add", "triad"):
            figure = row[f"{kernel}_bytes_per_s"]
            assert 0 < figure["least"] <= figure["median"] <= figure["most"]
    assert machine["noise"]["steal_pct"] >= 0
    json.dumps(machine, allow_nan=False)


def test_topology_is_read_from_sysfs(tmp_path: Path) -> None:
    folder = tmp_path / "sys/devices/system/cpu"
    for number, (socket, core, node) in enumerate([(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1)] * 2):
        place = folder / f"cpu{number}"
        (place / "topology").mkdir(parents=True)
        (place / "topology/core_id").write_text(f"{core}\n")
        (place / "topology/physical_package_id").write_text(f"{socket}\n")
        (place / f"node{node}").mkdir()
    (folder / "online").write_text("0-7\n")
    cpus = system.topology(tmp_path)
    assert [entry["node"] for entry in cpus] == [0, 0, 1, 1, 0, 0, 1, 1]
    assert system.siblings(cpus) == [[0, 4], [1, 5], [2, 6], [3, 7]]
    known = {"topology": {"cpus": cpus, "usable": [0, 1, 2, 5, 6, 7]}}
    assert cpu.cpu_order(known) == [0, 1, 2, 5, 6, 7]
    assert [cpu.twin_cpu(known, number) for number in range(8)] == [0, 2, 4, 6, 1, 3, 5, 7]


def test_noise_is_what_others_had() -> None:
    before = "cpu  100 0 50 1000 0 0 0 10 0 0"
    after = "cpu  200 0 70 1060 10 0 0 20 0 0"
    # 200 ticks of all CPUs: 120 busy of which 1.1 s ours, 70 idle, 10 stolen
    assert system.noise(before, after, own_run_s=1.1) == {"steal_pct": 5.0, "foreign_pct": pytest.approx(5.0)}


def test_the_built_in_experiments_are_enough_and_valid(machine: dict[str, Any]) -> None:
    chosen = cpu.read()
    assert len(chosen) >= 12
    wide = {**machine, "topology": {**machine["topology"], "cpus": [], "usable": [0, 1]}}
    wide["topology"]["cpus"] = [{"cpu": number, "core": number, "socket": 0, "node": 0} for number in (0, 1)]
    for experiment in chosen:
        checked = scenario.loads(cpu.scenario_of(experiment, {**wide, "smt": None}))
        threads = sum(group.vms * group.vcpus for group in experiment.groups)
        assert sum(vm["count"] * vm["vcpus"] for vm in checked.data["vms"].values()) == threads
        assert checked.data["hosts"]["machine"]["hypervisor"] == "linux-6.12"


EXPERIMENTS = """
pair:
  groups:
    short: { vms: 2, cpus: [0], think: 4 ms, burst: 1 ms }
    long: { cpus: [0], think: 10 ms, burst: 5 ms, burst_cv: 0.5 }
heavy:
  groups:
    high: { cpus: [0], burst: 2 ms, shares: 2000 }
    low: { cpus: [0], burst: 2 ms, quota: 0.3 }
far:
  groups:
    vm: { cpus: [5000], burst: 2 ms }
"""


def test_predictions_are_on_disk_before_the_measurement_and_stay(
    machine: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu, "TWIN", {**cpu.TWIN, "duration": "2 s", "replications": 2})
    monkeypatch.setattr(cpu, "EXTRA_RUNS", 0)
    (tmp_path / "experiments.yaml").write_text(EXPERIMENTS)
    out = tmp_path / "out"
    seen: list[dict[str, str]] = []
    run_for_real = cpu._experiment

    def watched(job: dict[str, Any]) -> dict[str, Any]:
        seen.append({path.parent.name: path.read_text() for path in out.glob("*/prediction.json")})
        return run_for_real(job)

    monkeypatch.setattr(cpu, "_experiment", watched)
    summary = cpu.experiments(machine, cpu.read(tmp_path / "experiments.yaml"), out=out, seconds=0.3, repeat=1)
    made = {result["experiment"] for result in summary["experiments"]}
    skipped = {each["experiment"]: each["reason"] for each in summary["skipped"]}
    assert made | set(skipped) == {"pair", "heavy", "far"}
    assert "needs 5001 CPUs" in skipped["far"]
    assert "pair" in made
    assert "heavy" in made or "needs control groups" in skipped["heavy"]
    for result in summary["experiments"]:
        name = result["experiment"]
        prediction = (out / name / "prediction.json").read_text()
        assert seen[0][name] == prediction, "the prediction was there when the first measurement began"
        assert result["prediction_unchanged"]
        assert result["prediction_sha256"] == hashlib.sha256(prediction.encode()).hexdigest()
        assert result["predicted_at"] < result["measured_from"]
        text = (out / name / "scenario.yaml").read_text()
        assert json.loads(prediction)["scenario_sha256"] == hashlib.sha256(text.encode()).hexdigest()
        runs = json.loads((out / name / "measurement.json").read_text())["runs"]
        assert len(runs) == 1
        for row in result["rows"]:
            measured = row["measured"]
            assert measured["throughput_per_s"] > 0
            assert measured["response_ms_mean"] > 0
            assert 0 <= measured["wait_pct"] <= 101
            error = 100 * (row["predicted"]["throughput_per_s"] / measured["throughput_per_s"] - 1)
            assert row["errors"]["throughput_pct"] == pytest.approx(error)
    assert json.loads((out / "results.json").read_text())["medians"] == summary["medians"]
    assert not list(Path("/sys/fs/cgroup").glob(f"**/hypertwin-lab-{os.getpid()}-*"))


def test_a_disturbed_run_is_made_again_and_never_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = cpu.read(only=["light"])[0]
    figures = {
        "throughput_per_s": 10.0,
        "response_ms_mean": 5.0,
        "response_ms_p95": 9.0,
        "wait_pct": 2.0,
        "run_pct": 5.0,
    }

    def runs(disturbed: list[bool]) -> list[dict[str, Any]]:
        kept = [
            {
                "disturbed": each,
                "noise": {"steal_pct": 9.0 if each else 0.0, "foreign_pct": 0.0},
                "groups": {"vm": {**figures, "throughput_per_s": 20.0 if each else 10.0}},
            }
            for each in disturbed
        ]
        monkeypatch.setattr(cpu, "_one_run", lambda *_: kept.pop(0))
        made, failed = cpu.measure(experiment, {}, seconds=1, repeat=2, groups=None, finished=lambda: None)
        assert failed == []
        return made

    once = runs([True, False, False])
    assert [one["disturbed"] for one in once] == [True, False, False]
    result = cpu.compare(experiment, {"groups": {"vm": figures}}, once)
    assert (result["runs"], result["runs_counted"], result["flagged"]) == (3, 2, False)
    assert result["errors"]["throughput_pct"] == 0
    always = runs([True] * 4)
    result = cpu.compare(experiment, {"groups": {"vm": figures}}, always)
    assert (result["runs"], result["runs_counted"], result["flagged"]) == (4, 4, True)
    assert result["rows"][0]["errors"]["throughput_pct"] == -50
    assert result["steal_pct"] == 9


BAD = {
    "[1, 2]": ("wrong-type", ""),
    "a: { groups: { vm: { burst: 1 ms } }, speed: 3 }": ("unknown-key", "a.speed"),
    "a: {}": ("missing-key", "a.groups"),
    "a: { groups: { vm: { cpus: [0] } } }": ("missing-key", "a.groups.vm.burst"),
    "a: { groups: { vm: { burst: 5 } } }": ("out-of-range", "a.groups.vm.burst"),
    "a: { groups: { vm: { burst: 5 ms, think: fast } } }": ("out-of-range", "a.groups.vm.think"),
    "a: { groups: { vm: { burst: 5 ms, vms: 0 } } }": ("out-of-range", "a.groups.vm.vms"),
    "a: { groups: { vm: { burst: 5 ms, vms: true } } }": ("out-of-range", "a.groups.vm.vms"),
    "a: { groups: { vm: { burst: 5 ms, cpus: 0 } } }": ("wrong-type", "a.groups.vm.cpus"),
    "a: { groups: { vm: { burst: 5 ms, cpus: [-1] } } }": ("wrong-type", "a.groups.vm.cpus"),
    "a: { groups: { vm: { burst: 5 ms, quota: 0 } } }": ("out-of-range", "a.groups.vm.quota"),
    "a: { groups: { vm: { burst: 5 ms, shares: lots } } }": ("out-of-range", "a.groups.vm.shares"),
    "a: { groups: { vm: { burst: 5 ms, vms: 200, vcpus: 200 } } }": ("out-of-range", "a.groups"),
    "a: { groups: { ../vm: { burst: 5 ms } } }": ("bad-name", "a.groups.../vm"),
    "a: { groups: { vm: 3 } }": ("wrong-type", "a.groups.vm"),
}


@pytest.mark.parametrize("text", BAD)
def test_mistakes_in_experiments_are_named(text: str, tmp_path: Path) -> None:
    code, path = BAD[text]
    file = tmp_path / "experiments.yaml"
    file.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        cpu.read(file)
    assert (code, path) in [(mistake.code, mistake.path) for mistake in caught.value.mistakes]
    assert all(mistake.file == str(file) and mistake.hint for mistake in caught.value.mistakes)


def test_the_command_line_tells_mistakes(cli: Cli, tmp_path: Path) -> None:
    empty = tmp_path / "machine.json"
    empty.write_text("{}")
    cases = [
        (("lab",), "profile"),
        (("lab", "cpu", "--only", "ligth"), "did you mean light?"),
        (("lab", "cpu", "--machine", str(tmp_path / "none.json")), "hypertwin lab profile"),
        (("lab", "cpu", "--machine", str(empty)), "has no processor"),
        (("lab", "cpu", "--experiments", str(tmp_path / "none.yaml")), "none.yaml"),
        (("lab", "profile", "--seconds", "0"), "--seconds"),
        (("lab", "profile", "--dir", str(tmp_path / "none")), "--dir"),
    ]
    for arguments, expected in cases:
        ended = cli(*arguments)
        assert ended.returncode == 2, arguments
        assert expected in ended.stderr, arguments
        assert "Traceback" not in ended.stderr


def test_the_command_prints_what_it_wrote(cli: Cli, tmp_path: Path) -> None:
    out, page = tmp_path / "out", tmp_path / "out" / "lab.html"
    known = tmp_path / "machine.json"
    assert (
        cli(
            "lab", "profile", "--seconds", "0.05", "--no-bandwidth", "--no-disk", "--no-coding", "--out", str(known)
        ).returncode
        == 0
    )
    chosen = ("--only", "one-queue", "--seconds", "0.2", "--repeat", "1", "--machine", str(known), "--out", str(out))
    ended = cli("lab", "cpu", *chosen, "--report", str(page), "--format", "json", exits=0)
    printed = json.loads(ended.stdout)
    assert printed == json.loads((out / "results.json").read_text())
    written = data(page.read_text(encoding="utf-8"))
    assert (written["kind"], written["document"]) == ("contention", rounded(printed))


def test_the_core_refuses_what_it_cannot_measure() -> None:
    with pytest.raises(_core.LabFailed, match="at least one"):
        _core.lab_spin([], 3)
    with pytest.raises(_core.LabFailed, match="running on CPU"):
        _core.lab_timers(1000, 1000, 1)
    with pytest.raises(_core.LabFailed, match="at least 8 KiB"):
        _core.lab_bandwidth([0], 8, 1)
    with pytest.raises(ValueError, match="missing field"):
        _core.lab_experiment("{}")


def test_control_groups_are_told_why_not(tmp_path: Path) -> None:
    mounts, own = tmp_path / "mounts", tmp_path / "cgroup"
    mounts.write_text("proc /proc proc rw 0 0\n")
    own.write_text("0::/\n")
    assert control_groups.find(mounts, own) == (None, "no cpu controller of control groups is mounted for this process")
    tree, reason = control_groups.find(tmp_path / "none", own)
    assert tree is None
    assert "not told" in reason


def test_version_two_groups_are_threaded_with_weight_and_quota(tmp_path: Path) -> None:
    tree = control_groups.Tree(tmp_path, 2)
    with pytest.MonkeyPatch.context() as patch:
        # an ordinary folder keeps the files that the kernel would take away with the group
        patch.setattr(Path, "rmdir", lambda _: None)
        with tree.machines({"a": (2000, None), "b": (1000, 0.4)}) as files:
            a, b = Path(files["a"]), Path(files["b"])
            assert a.name == b.name == "cgroup.threads"
            assert (a.parent / "cpu.weight").read_text() == "200"
            assert (b.parent / "cpu.weight").read_text() == "100"
            assert (b.parent / "cpu.max").read_text() == "40000 100000"
            assert not (a.parent / "cpu.max").exists()
            assert (a.parent / "cgroup.type").read_text() == "threaded"
            assert (a.parent.parent / "cgroup.subtree_control").read_text() == "+cpu"


class BusyGroups:
    """An ordinary folder as a tree, whose groups are busy so many times before they can be removed."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path, refusals: float) -> None:
        self.tree = control_groups.Tree(folder, 1)
        self.left = dict.fromkeys(("hypertwin-lab", "vm-0", "small-0", "large-0"), refusals)
        self.now = 0.0
        rmdir = self.rmdir
        patch.setattr(Path, "rmdir", lambda folder: rmdir(folder))  # noqa: PLW0108  a function becomes a method
        patch.setattr(control_groups, "time", SimpleNamespace(monotonic=lambda: self.now, sleep=self.sleep))
        patch.setattr(control_groups, "find", lambda: (self.tree, "a fake tree"))

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def rmdir(self, folder: Path) -> None:
        name = "hypertwin-lab" if folder.name.startswith("hypertwin-lab") else folder.name
        if self.left[name] > 0:
            self.left[name] -= 1
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(folder))
        if any(each.is_dir() for each in folder.iterdir()):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), str(folder))
        shutil.rmtree(folder)  # the kernel takes the files of a group away with it

    @property
    def there(self) -> list[str]:
        return sorted(each.name for each in self.tree.folder.rglob("*") if each.is_dir())


def test_a_group_that_is_busy_for_a_while_is_removed_in_the_end(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        groups = BusyGroups(patch, tmp_path, refusals=40)
        for _ in range(3):
            with groups.tree.machines({"vm-0": (1000, 0.5)}):
                assert len(groups.there) == 2
            assert groups.there == []
            groups.left = dict.fromkeys(groups.left, 40)


def test_a_group_that_stays_busy_neither_stops_the_next_one_nor_is_kept_from_the_reader(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        groups = BusyGroups(patch, tmp_path, refusals=float("inf"))
        for made in (1, 2):
            with groups.tree.machines({"vm-0": (1000, None)}):
                assert len(groups.there) == 2 * made
        assert len(groups.tree.clear()) == 4
        assert groups.now == pytest.approx(3 * control_groups.PATIENCE_S, rel=0.01)
        groups.left = dict.fromkeys(groups.left, 0)
        assert groups.tree.clear() == []
        assert groups.there == []


def test_what_cannot_be_measured_is_said_and_the_rest_is_compared(
    machine: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu, "TWIN", {**cpu.TWIN, "duration": "1 s", "replications": 2})
    keys = ("throughput_per_s", "response_ms_mean", "response_ms_p95", "wait_pct", "run_pct")
    figures = {name: dict.fromkeys(keys, 5.0) for name in ("short", "long")}
    groups = BusyGroups(monkeypatch, tmp_path / "groups", refusals=float("inf"))
    groups.tree.folder.mkdir()
    asked: list[str] = []

    def one_run(experiment: cpu.Experiment, *_: object) -> dict[str, Any]:
        asked.append(experiment.name)
        if experiment.name == "heavy" or asked.count("pair") == 1:
            raise control_groups.ControlGroupError("control group x: busy")
        with groups.tree.machines({"vm-0": (1000, None)}):
            noise = {"steal_pct": 0.0, "foreign_pct": 0.0}
            return {"disturbed": False, "noise": noise, "groups": figures, "measured_from": "now"}

    monkeypatch.setattr(cpu, "_one_run", one_run)
    (tmp_path / "experiments.yaml").write_text(EXPERIMENTS)
    chosen = [each for each in cpu.read(tmp_path / "experiments.yaml") if each.name != "far"]
    summary = cpu.experiments(machine, chosen, out=tmp_path / "out", seconds=0.3, repeat=2)
    assert [result["experiment"] for result in summary["experiments"]] == ["pair"]
    assert (asked.count("pair"), summary["experiments"][0]["runs"]) == (3, 2)
    assert summary["skipped"] == [
        {"experiment": "pair", "reason": "1 of 3 runs could not be made: control group x: busy"},
        {"experiment": "heavy", "reason": "not measured: control group x: busy"},
    ]
    terminal = table.as_text(shown.brief(lab_view.view(summary)), 1_000)
    assert terminal.splitlines()[-2:] == [
        "pair: 1 of 3 runs could not be made: control group x: busy.",
        "Skipped heavy: not measured: control group x: busy.",
    ]
    assert all(str(each) in summary["control_groups"] for each in groups.tree.clear())


def test_experiments_that_are_skipped_for_one_reason_are_named_without_explain(
    machine: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_groups, "find", lambda: (None, "run as root"))
    (tmp_path / "experiments.yaml").write_text(EXPERIMENTS)
    needing = [each for each in cpu.read(tmp_path / "experiments.yaml") if each.needs_control_groups]
    twice = [*needing, *(replace(each, name="other") for each in needing)]
    summary = cpu.experiments(machine, twice, out=tmp_path / "out", seconds=0.1, repeat=1)
    assert table.as_text(shown.brief(lab_view.view(summary)), 1_000).splitlines() == [
        "No experiment was made.",
        "Skipped heavy and other: needs control groups: run as root.",
    ]


def test_the_spread_over_runs_has_the_unit_of_its_figure(tmp_path: Path) -> None:
    (tmp_path / "experiments.yaml").write_text("one: { groups: { vm: { cpus: [0], burst: 2 ms } } }")
    (experiment,) = cpu.read(tmp_path / "experiments.yaml")

    def figures(response_ms: float, wait_pct: float) -> dict[str, Any]:
        return {
            "vm": {"throughput_per_s": 400.0, "wait_pct": wait_pct, "run_pct": 5.0}
            | dict.fromkeys(("response_ms_mean", "response_ms_p95"), response_ms)
        }

    noise = {"steal_pct": 0.0, "foreign_pct": 0.0}
    runs = [{"disturbed": False, "noise": noise, "groups": figures(*each)} for each in ((3.2, 10.0), (4.0, 12.0))]
    (alone,) = cpu.compare(experiment, {"groups": figures(3.6, 11.0)}, runs[:1])["rows"]
    assert alone["spread"] == {}, "half the range of one run says nothing"
    (row,) = cpu.compare(experiment, {"groups": figures(3.6, 11.0)}, runs)["rows"]
    assert row["spread"] == pytest.approx(
        {"throughput_per_s": 0, "wait_pct": 1, "run_pct": 0, "response_ms_mean": 0.4, "response_ms_p95": 0.4}
    )
