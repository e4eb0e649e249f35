"""What the guide to a VM's I/O says is true: its commands run, and limits, drives and paths are as it tells them."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
import yaml
from tests.conftest import ROOT

import hypertwin

GUIDE = (ROOT / "docs" / "guides" / "disk-path.md").read_text(encoding="utf-8")
COMMANDS = [
    line.removeprefix(".venv/bin/hypertwin ").partition("  #")[0]
    for block in re.findall(r"^```sh\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]
SHORT = ("--replications", "1", "--set", "run.duration=300 ms", "--set", "run.warmup=100 ms")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_runs(cli, tmp_path, command):
    words = [str(ROOT / word) if word.startswith("scenarios/") else word for word in shlex.split(command)]
    cli(*words, *(SHORT if words[0] == "simulate" else ()), exits=0)
    report = re.search(r"--report (\S+)", command)
    assert report is None or (tmp_path / report[1]).is_file()


def point(example: str, **overrides: Any) -> Any:
    """One short run of an example; `__` stands for the dots of a path."""
    given = {path.replace("__", "."): value for path, value in overrides.items()}
    short = {"replications": 1, "duration": "300 ms", "warmup": "100 ms"}
    (found,) = hypertwin.simulate(ROOT / "scenarios" / f"{example}.yaml", overrides=given, **short).to_dict()["points"]
    return found


def local(**overrides: Any) -> tuple[Any, Any]:
    """The VM on its own drive, and what limits it."""
    found = point("local-nvme", **overrides)
    return found["groups"]["db"], found["bottleneck"]


def test_beyond_the_knee_more_outstanding_only_wait():
    few, some, many = (local(workloads__fio__arrivals__io__outstanding=depth) for depth in (1, 64, 128))
    assert some[0]["iops"] > 5 * few[0]["iops"]
    assert many[0]["iops"] < 1.05 * some[0]["iops"]
    assert many[0]["io_latency_ms"]["mean"] > 1.8 * some[0]["io_latency_ms"]["mean"]
    assert (few[1]["saturated"], many[1]["saturated"]) == (False, True)


def test_without_power_loss_protection_commits_wait_for_the_flash():
    protected, consumer = (local(arrays__nvme__disks__device=drive)[0] for drive in ("P4610", "970-PRO"))
    assert consumer["write"]["latency_ms"]["mean"] > 5 * protected["write"]["latency_ms"]["mean"]
    unsynchronised = local(arrays__nvme__disks__device="970-PRO", workloads__fio__sync_pct=0)[0]
    assert unsynchronised["iops"] > 2 * consumer["iops"]


def test_a_sweep_says_of_each_drive_what_it_stands_on(cli):
    drives = ("--sweep", "arrays.nvme.disks.device=P4610,970-PRO", *SHORT, "--explain")
    done = cli("simulate", ROOT / "scenarios" / "local-nvme.yaml", *drives)
    assert done.stdout.count("Synchronous writes wait for flushes of 970-PRO, ") == 1
    assert done.stdout.count(": the CPU cost of an I/O on") == 1


def test_a_drive_of_ones_own_is_valid():
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    own = yaml.safe_load(block)
    scenario = ROOT / "scenarios" / "local-nvme.yaml"
    loaded = hypertwin.load(scenario, {"devices": own["devices"], "arrays.nvme.disks": own["arrays"]["nvme"]["disks"]})
    assert loaded.data["arrays"]["nvme"]["disks"] == {"device": "mine", "count": 2}


def test_with_a_second_io_thread_the_drive_limits():
    depth = {"workloads__fio__arrivals__io__outstanding": 128}
    one, two = (local(vms__db__io_threads=threads, **depth) for threads in (1, 2))
    assert two[0]["iops"] > 1.1 * one[0]["iops"]
    assert [found["station"] for _, found in (one, two)] == ["db-controllers", "nvme-disks"]


def test_one_path_carries_what_one_port_does_and_round_robin_what_all_do():
    def found(**paths: Any) -> Any:
        given = {f"arrays__san__paths__{key}": value for key, value in paths.items()}
        return point("san-paths", failures=[], **given)["groups"]["backup"]["io_mb_per_s"]

    assert found(policy="fixed") == pytest.approx(1600, rel=0.01)
    assert found(policy="round-robin") == found(policy="queue-length") == pytest.approx(3200, rel=0.01)
    assert found(iops_limit=1000) < 0.65 * 3200


def test_a_port_that_fails_holds_its_ios_up_for_the_timeout_and_halves_the_rest():
    whole = hypertwin.simulate(ROOT / "scenarios" / "san-paths.yaml", replications=1).to_dict()["points"][0]
    slowest = whole["groups"]["backup"]["io_latency_ms"]["curve"][-1][1]
    assert 200 < slowest < 210
    rates = whole["timeline"]["vms"]["backup"]["throughput_per_s"]
    at = [time + whole["warmup_s"] for time in whole["timeline"]["time_s"]]
    while_down = [rate for rate, time in zip(rates, at, strict=True) if 1.35 < time < 2]
    before = [rate for rate, time in zip(rates, at, strict=True) if time < 1]
    assert max(while_down) < 0.55 * min(before)
    assert min(rates) > 0
