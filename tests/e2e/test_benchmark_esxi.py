"""ESXi hosts beside a campaign: one command for each run, and what its output shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.e2e.test_benchmark_cli import left, ssh, write_plan
from tests.python.ingest.vmware import esxtop_files

__all__ = ["ssh"]

ESXTOP = """#!/bin/bash
echo "$*" >> @PLACE@/esxtop-asked
cat @PLACE@/esxtop.csv
"""


def esxi_host(place: Path, content: str | bytes) -> None:
    """Put an esxtop on all targets that prints this content."""
    (place.parent / "esxtop.csv").write_bytes(content.encode() if isinstance(content, str) else content)
    tool = place.parent / "tools/esxtop"
    tool.write_text(ESXTOP.replace("@PLACE@", str(place.parent)))
    tool.chmod(0o755)


def test_an_esxi_host_is_observed_by_one_command_for_each_run(cli, ssh, tmp_path):
    counters = esxtop_files.machine("DB One", 1234) | esxtop_files.same({"Physical Cpu(_Total)\\% Util Time": 60})
    esxi_host(ssh, esxtop_files.text(counters))
    more = "hosts: {esx: {kind: esxi, address: root@esx1}}\n"
    path = write_plan(ssh, "one", more=more, steps="{threads: [1]}")
    path.write_text(path.read_text().replace("address: root@one", "address: root@one, host: esx, vm: DB One"))
    assert "$ ssh" in cli("benchmark", "run", "plan.yaml", "-o", "x", "--dry-run").stdout.partition("# observe esx")[2]
    done = cli("benchmark", "run", "plan.yaml", "-o", "run", "--format", "json", exits=0)
    (run,) = json.loads(done.stdout)["steps"][0]["runs"]
    assert (tmp_path / "esxtop-asked").read_text().splitlines() == ["-b -a -d 2 -n 2"]
    assert run["notes"] == []
    assert {key: run["figures"][key] for key in ("ready_pct", "costop_pct", "run_pct")} == {
        **{"ready_pct": 4, "costop_pct": 0, "run_pct": 50}
    }
    assert [(each["name"], each["busy_pct"]) for each in run["views"] if each["kind"] == "host"] == [("esx", 60)]
    kept = tmp_path / "run/steps/vms-1-threads-1/repeat-1/esx/esxtop.csv"
    assert kept.read_text() == (tmp_path / "esxtop.csv").read_text()
    assert left(ssh) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "esxtop of esx: "), (b"\xff" * 5000, "esxtop of esx: "), (esxtop_files.text({}), "esxtop of esx: ")],
    ids=["empty", "binary", "no counters"],
)
def test_an_esxtop_that_cannot_be_read_is_a_note(cli, ssh, content, words):
    esxi_host(ssh, content)
    more = "hosts: {esx: {kind: esxi, address: root@esx1}}\n"
    path = write_plan(ssh, "one", more=more, steps="{threads: [1]}")
    path.write_text(path.read_text().replace("address: root@one", "address: root@one, host: esx"))
    done = cli("benchmark", "run", "plan.yaml", "-o", "run", "--format", "json", exits=0)
    (run,) = json.loads(done.stdout)["steps"][0]["runs"]
    assert len(run["notes"]) == 1 and run["notes"][0].startswith(words)
    assert "ready_pct" not in run["figures"] or run["views"]


def test_a_vm_that_esxtop_does_not_know_is_a_note(cli, ssh):
    esxi_host(ssh, esxtop_files.text(esxtop_files.machine("other", 7)))
    more = "hosts: {esx: {kind: esxi, address: root@esx1, command: esxtop -b}}\n"
    path = write_plan(ssh, "one", more=more, steps="{threads: [1]}")
    path.write_text(path.read_text().replace("address: root@one", "address: root@one, host: esx"))
    done = cli("benchmark", "run", "plan.yaml", "-o", "run", "--format", "json")
    (run,) = json.loads(done.stdout)["steps"][0]["runs"]
    assert run["notes"] == ["esxtop of esx: no VM one: name it with `vm` in the plan"]
    assert (ssh.parent / "esxtop-asked").read_text().splitlines() == ["-b"]
