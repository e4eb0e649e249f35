"""What is tried for a finding, which change is told, and why there may be none."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.python.diagnosis.estate import PAIR

from hypertwin import scenario
from hypertwin.diagnosis import Diagnosis, diagnose, what_if
from hypertwin.diagnosis.remedies import Change, Remedy
from hypertwin.ingest import telemetry_table

pytestmark = pytest.mark.usefixtures("tables_here")

START = datetime.datetime(2026, 1, 1, 9, tzinfo=datetime.UTC)
HOST, OTHER, DB, LUN = "host/esx1", "host/esx2", "host/esx1/vm/db", "host/esx1/device/naa.1"

CLUSTER = f"""{PAIR}\
  copy: {{arrivals: {{io: {{outstanding: 64}}}}, cpu: {{mean: 20 us}}, block: 64 KiB, working_set: 200 GiB}}
arrays:
  san: {{front_end_ports: 1, cache: {{size: 1 GiB}}, disks: {{kind: sas-ssd, count: 24}}}}
"""


def look(tmp_path: Path, table: Mapping[tuple[str, str], float], change: Mapping[str, Any]) -> Diagnosis:
    rows: list[tuple[object, str, str, float]] = [
        (START + datetime.timedelta(seconds=20 * place), entity, metric, value)
        for place in range(10)
        for (entity, metric), value in table.items()
    ]
    telemetry_table.write([telemetry_table.frame(rows)], tmp_path / "table.parquet")
    return diagnose([tmp_path / "table.parquet"], cluster=scenario.loads(CLUSTER, change))


@pytest.mark.parametrize(
    ("code", "table", "change", "reason"),
    [
        ("cpu-limit", {("host/esx1/vm/x", "vcpus"): 1, ("host/esx1/vm/x", "limited_sum_pct"): 50}, {}, "x is not in"),
        ("cpu-ready", {("host/esx9/vm/x", "vcpus"): 1, ("host/esx9/vm/x", "ready_sum_pct"): 50}, {}, "x is not in"),
        ("storage-latency", {(LUN, "device_latency_ms"): 40}, {}, "no host setting fixes it"),
        ("storage-latency", {(LUN, "kernel_latency_ms"): 40}, {}, "no array for the VMs of esx1"),
        ("storage-queue-full", {("host/esx9/device/d", "queued_commands"): 9}, {}, "esx9 is not in the cluster file"),
        (
            "hci-overhead",
            {(f"{HOST}/process/vsanTrace", "used_sum_pct"): 500},
            {},
            "no distributed storage (`storage`)",
        ),
        (
            "cluster-without-failover-capacity",
            {},
            {"vms.web.memory": "100 GiB", "vms.db.memory": "60 GiB"},
            "until a host fails",
        ),
    ],
)
def test_why_there_is_none(
    tmp_path: Path, code: str, table: Mapping[tuple[str, str], float], change: dict[str, Any], reason: str
) -> None:
    found = [finding for finding in look(tmp_path, table, change).findings if finding.code == code]
    assert found
    for finding in found:
        assert finding.what_if is None
        assert reason in (finding.no_what_if or "")


def test_a_host_that_is_alone_gets_another(tmp_path: Path) -> None:
    crowded = {"vms.db.count": 5, "vms.db.memory": "16 GiB", "vms.web.host": "esx1"}
    table = {(f"{HOST}/vm/db-{number}", "ready_sum_pct"): 80.0 for number in range(1, 6)} | {(HOST, "usage_pct"): 100.0}
    # nobody knows how full the other host is
    table |= {(OTHER, "usage_pct"): 90.0}
    told = next(each.what_if for each in look(tmp_path, table, crowded).findings if each.code == "cpu-ready")
    assert told is not None
    assert told["change"].startswith("add a host like esx1, for ")
    assert told["helps"]
    assert "; best without a new host" in told["text"]
    assert told["after"]["waiting_vcpus"] < told["before"]["waiting_vcpus"] / 2


def test_a_queue_that_only_moves_is_said_so(tmp_path: Path) -> None:
    slow = {
        "hosts.esx1.adapters.lun_depth": 16,
        "vms.db.workload": "copy",
        "vms.db.array": "san",
        "vms.db.vdisks": 1,
    }
    table = {(LUN, "queued_commands"): 40.0, (LUN, "kernel_latency_ms"): 6.0}
    for finding in look(tmp_path, table, slow).findings:
        told = finding.what_if
        assert told is not None
        assert told["helps"] is False
        assert "(only moves the wait to the array)" in told["text"]
        assert told["set"] == {"hosts.esx1.adapters.lun_depth": 64, "hosts.esx1.adapters.dsnro": 128}
        assert told["after"]["queue_wait_ms"] < 0.1 < told["before"]["queue_wait_ms"]


def test_a_vm_of_a_host_that_was_not_measured_can_move_to_one_that_was(tmp_path: Path) -> None:
    third = {"hosts.esx3": {"sockets": 2, "cores_per_socket": 8, "clock": "2.5 GHz", "memory_per_node": "24 GiB"}}
    third["hosts.esx3"]["hypervisor"] = "esxi-7.0"
    table = {(HOST, "usage_pct"): 30.0, (OTHER, "usage_pct"): 40.0, ("host/esx3/vm/db", "numa_local_pct"): 40.0}
    (finding,) = look(tmp_path, table, {**third, "vms.db.host": "esx3"}).findings
    assert finding.what_if is not None
    assert "move db to esx1" in [tried["change"] for tried in finding.what_if["tried"]]


def test_runs_are_bounded_and_shared_among_codes(tmp_path: Path) -> None:
    capped = {
        "vms.db.count": 40,
        "vms.db.vcpus": 1,
        "vms.db.memory": "1 GiB",
        "vms.db.load": 0.05,
        "vms.db.limit": "1 GHz",
    }
    table = {(f"{HOST}/vm/db-{number}", "limited_sum_pct"): 20.0 for number in range(1, 41)}
    found = look(tmp_path, {**table, (LUN, "queued_commands"): 9.0}, {**capped, "vms.db.array": "san"})
    tried = [finding for finding in found.findings if finding.what_if]
    assert {finding.code for finding in tried} == {"cpu-limit", "storage-queue-full"}
    assert sum(1 + len(finding.what_if["tried"]) for finding in tried if finding.what_if) <= what_if.MOST_RUNS
    left = [finding for finding in found.findings if finding.no_what_if]
    assert len(tried) + len(left) == 41
    assert all("worse findings used the limit" in (finding.no_what_if or "") for finding in left)
    assert any(f"no what-if for {len(left)} more findings" in note for note in found.document["notes"])


def test_a_problem_that_the_twin_does_not_have_is_not_called_cured(tmp_path: Path) -> None:
    (finding,) = look(tmp_path, {(DB, "limited_sum_pct"): 200}, {"vms.db.limit": "40 GHz"}).findings
    assert finding.what_if is not None
    assert finding.what_if["helps"] is None
    assert "the twin does not show this problem" in finding.what_if["text"]


@pytest.mark.parametrize(
    ("after", "chosen"),
    [
        ([50.0, 49.0, 10.0], 2),  # the best
        ([12.0, 11.0, 10.0], 0),  # as good as the best, and less to do
        ([100.0, 99.0, 101.0], 0),  # nothing helps: the first is told
        ([140.0, 60.0, 61.0], 1),
    ],
)
def test_the_best_change_is_told_and_of_alike_ones_the_smallest(after: list[float], chosen: int) -> None:
    changes = tuple(Change(f"change {number}", {}, (), steps=number + 1) for number in range(3))
    remedy = Remedy(changes, ("ready_pct",))
    figures = {number: {"ready_pct": value} for number, value in enumerate(after)}
    assert what_if._choose(remedy, {"ready_pct": 100.0}, figures) == chosen


def test_the_first_change_that_is_enough_is_told() -> None:
    changes = tuple(Change(f"change {number}", {}, ()) for number in range(3))
    enough = Remedy(changes, ("ready_pct",), enough=lambda _before, after: after["ready_pct"] < 30, fallback=-1)
    assert (
        what_if._choose(
            enough, {"ready_pct": 100.0}, {0: {"ready_pct": 40.0}, 1: {"ready_pct": 20.0}, 2: {"ready_pct": 0.0}}
        )
        == 1
    )
    assert what_if._choose(enough, {"ready_pct": 10.0}, {key: {"ready_pct": 40.0} for key in range(3)}) == 2


def test_what_is_tried_for_a_host_whose_memory_is_short(tmp_path: Path) -> None:
    crowd = {"vms.db.memory": "100 GiB", "vms.web.memory": "60 GiB", "vms.web.host": "esx1"}
    table = {(DB, "swapped_bytes"): 2.0**30, (DB, "memory_active_bytes"): 10.0 * 2**30}
    told = next(each.what_if for each in look(tmp_path, table, crowd).findings if "reclaiming" in each.code)
    assert told is not None
    # web is enough of what is too much; db keeps a quarter over what it uses; 160 GiB are 95 % of 168.4
    assert [each["change"] for each in told["tried"]] == [
        "move web to esx2",
        "give db 13 GiB, if it needs no more",
        "give esx1 42 GiB more memory",
    ]


def test_without_the_planner_it_says_which_extra_brings_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    said = "VM moves need the planner: pip install 'hypertwin[plan]'"
    # where memory is short other cures are left
    crowd = {"vms.db.memory": "100 GiB", "vms.web.memory": "60 GiB", "vms.web.host": "esx1"}
    table = {(DB, "swapped_bytes"): 2.0**30, (DB, "memory_active_bytes"): 10.0 * 2**30}
    told = next(each.what_if for each in look(tmp_path, table, crowd).findings if "reclaiming" in each.code)
    assert told is not None
    assert [each["change"].partition(" ")[0] for each in told["tried"]] == ["give", "give"]
    assert told["text"].endswith(f"; {said}")
    # a host that is too full has no other
    full = {(f"{HOST}/vm/db-{number}", "ready_sum_pct"): 80.0 for number in range(1, 6)} | {(HOST, "usage_pct"): 100.0}
    for finding in look(tmp_path, full, {"vms.db.count": 5, "vms.db.memory": "16 GiB"}).findings:
        assert finding.what_if is None
        assert finding.no_what_if == said


def test_an_event_does_not_spoil_a_what_if_without_its_host(tmp_path: Path) -> None:
    change = {"vms.db.limit": "1 GHz", "events": [{"at": "2 s", "migrate": "db", "to": "esx2"}]}
    (finding,) = look(tmp_path, {(DB, "vcpus"): 8, (DB, "limited_sum_pct"): 400}, change).findings
    assert finding.what_if is not None, finding.no_what_if
    assert finding.what_if["hosts"] == ["esx1"]


def test_a_simulated_vm_that_migrated_counts_once() -> None:
    change: dict[str, Any] = {"run.duration": "20 s", "vms.web.host": "esx1", "vms.web.memory": "1 GiB"}
    change["events"] = [{"at": "10 s", "migrate": "web", "to": "esx2"}]
    found = diagnose(cluster=scenario.loads(PAIR, change)).document
    assert (found["machines"], found["clusters"][0]["vms"]) == (2, 2)
    assert any(note.endswith("host with most of their samples: web") for note in found["notes"])
