"""What a plan says, to somebody who reads one for the first time."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from rich.console import Console
from tests.python.plan.placement.cases import IDLE, host, made, of, vm

import hypertwin
from hypertwin import scenario as scenarios
from hypertwin.errors import ScenarioError
from hypertwin.plan.placement import balance, place
from hypertwin.plan.placement.task import Task
from hypertwin.show import placement as shown
from hypertwin.show import registry, view

HOSTS = {f"h{number}": host() for number in (1, 2, 3)}


def cluster(vms: dict[str, Any], **more: Any) -> scenarios.Scenario:
    return made(more.pop("hosts", HOSTS), vms, **more)


def terminal(document: Any) -> str:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(registry.PLACEMENT.table(document))
    return console.export_text()


def hosts_of(document: Any) -> dict[str, str]:
    return {move["vm"]: move["to"] for move in document["moves"]}


def test_new_vms_are_spread_although_another_host_is_the_fullest() -> None:
    full = cluster({"a": vm("h1", 88, 100), "b": vm("h2", 10, 100)})
    found = hypertwin.plan_place(full, vm=["4*2x10GiBx100MHz"], failures=0).document
    assert found["objective"]["value"] == pytest.approx(100 * 88 / 90)
    # h2 has 10 GiB already: h3 gets three of four or two; 30 and 30 is level, 20 and 20 beside 10 is not
    assert sorted(hosts_of(found).values()) in (["h2", "h2", "h3", "h3"], ["h2", "h3", "h3", "h3"])
    after = sorted(each["after_pct"]["memory"] for each in found["hosts"])
    assert after[1] - after[0] <= 10 + 1e-6
    again = hypertwin.plan_place(full, vm=["4*2x10GiBx100MHz"], failures=0).document
    assert again["moves"] == found["moves"]


def test_spreading_bears_failures_and_makes_no_host_fuller_than_the_fullest() -> None:
    hosts = {f"h{number}": host() for number in (1, 2, 3, 4)}
    problem = of(cluster({"big": vm("h1", 70), "a": vm("h2", 20), "b": vm("h3", 15), "c": vm("h4", 10)}, hosts=hosts))
    larger = place.with_new(problem, {f"n{each}": place.AskedVm(2, 10 * 2**30, 100.0) for each in range(5)})
    failures = [(number,) for number in range(4)]
    searched = balance.levelled(Task(larger, failures, stay=True), from_nothing=True).place
    spread = place.beside(larger, failures).place
    assert searched is not None and spread is not None
    assert Task(larger, failures, stay=True).good(spread)
    assert larger.fullness(spread).max() == pytest.approx(70 / 90) == larger.fullness(searched).max()
    assert (larger.fullness(spread) ** 2).sum() < (larger.fullness(searched) ** 2).sum()
    assert np.array_equal(spread[:4], problem.at)


def test_new_vms_that_have_no_host_are_named_with_what_they_lack() -> None:
    # 30 GiB are free on each host, and a VM of 60 that runs is in the way of one of 40
    full = cluster({name: vm(on, 60) for name, on in zip("abc", HOSTS, strict=True)})
    found = hypertwin.plan_place(full, vm=["2x40GiBx100MHz", "2x20GiBx100MHz"], failures=0).document
    assert not found["feasible"] and found["proven"] and not found["conflict"]
    assert [move["vm"] for move in found["moves"]] == ["new-2"]
    assert found["not_placed"] == [{"vm": "new-1", "short_of": "10.0 GiB of memory on h2 (limit: 90% of memory)"}]
    assert found["placeable"] == 1
    assert shown.answer(found) == (
        "1 of 2 new VMs placed. No more can be placed (proven). "
        "new-1 is short of 10.0 GiB of memory on h2 (limit: 90% of memory)."
    )
    assert all("a with" not in remedy["text"] for remedy in found["fixes"])
    # the hosts are those with the VM that was placed
    assert "1 → 2" in terminal(found)


def test_a_failure_that_is_not_survived_already_is_told_at_once() -> None:
    full = cluster({name: vm(on, 60) for name, on in zip("abc", HOSTS, strict=True)})
    found = hypertwin.plan_place(full, vm=["2x1GiBx10MHz"]).document
    assert not found["feasible"] and found["proven"] and not found["conflict"]
    assert "already without new VMs, a cannot restart if h1 fails" in shown.answer(found)
    assert any("--failures 0" in note for note in found["notes"])


def test_that_no_host_is_left_is_a_verdict_and_what_was_looked_at_is_said() -> None:
    small = hypertwin.plan_survive(cluster({"a": vm("h1", 10)}), failures=3).document
    assert not small["feasible"]
    assert "If h1 + h2 + h3 fail, a cannot restart: short of a host: all have failed." in shown.answer(small)
    five = cluster({"a": vm("h1", 10)}, hosts={f"h{number}": host() for number in range(1, 6)})
    notes = hypertwin.plan_survive(five, failures=3).document["notes"]
    assert any("every host alone and every 3 together" in note for note in notes)
    assert not any("together" in note for note in hypertwin.plan_survive(five, failures=2).document["notes"])


def test_what_is_over_is_said_in_units_and_labels_are_what_tables_show() -> None:
    over = cluster({"a": vm("h1", 99, label="Web Server"), "b": vm("h2", 10)})
    found = hypertwin.plan_survive(over).document
    assert "Already above its limits: h1 by 9.0 GiB of memory." in found["notes"]
    assert found["labels"] == {"a": "Web Server"}
    text = terminal(found)
    assert "Web Server cannot restart" in text
    assert "Web Server" in text


def test_a_storage_appliance_stays_with_its_host() -> None:
    found = hypertwin.plan_survive(
        cluster({"a": vm("h1", 10), "cvm": vm("h1", 10, storage_appliance=True)}), cpu="90%"
    ).document
    assert found["feasible"]
    assert found["certificate"]["h1"]["not_restarted"] == [{"vm": "cvm", "short_of": "storage appliance of its host"}]
    assert found["certificate"]["h2"]["not_restarted"] == []
    assert "Not restarted until their host is back: cvm (storage appliance of its host)." in terminal(found)


def test_a_failure_that_leaves_nothing_running_has_no_fullest_host() -> None:
    def failures(vms: dict[str, Any]) -> Any:
        made = shown.view(hypertwin.plan_survive(cluster(vms)).document)
        return next(each["rows"] for each in view.tables_of(made) if each["id"] == "failures")

    assert {row["failed"]: row["host"] for row in failures({"a": vm("h1", 10)})}["h2"] == "h1"
    assert {(row["host"], row["peak"]) for row in failures({})} == {("", None)}


@pytest.mark.parametrize(("mhz", "said"), [(8050.0, True), (9000.0, False)])
def test_what_is_lacking_within_the_error_of_any_demand_is_said(mhz: float, said: bool) -> None:
    # 8 GHz may be used of each host
    found = hypertwin.plan_survive(cluster({"a": vm("h1", 10, mhz), "b": vm("h2", 10, 10)}), cpu="80%").document
    lacks = found["certificate"]["h1"]["cannot_restart"][0]["short_of"]
    assert ("within the error of any demand" in lacks) is said
    assert "on h3 (limit: 80% of CPU" in lacks


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ({"policy": ["numa=zz*"]}, "VMs or groups of VMs of cluster default: a, b"),
        ({"why": ["zz"]}, "a VM of cluster default: a, b"),
        ({"vm": ["5000x4GiB"]}, "allowed: 1 to 768 vCPUs"),
        ({"vm": ["99999999*4x4GiB"]}, "allowed: 1 to 10,000 new VMs"),
    ],
)
def test_messages_say_what_is_allowed(options: dict[str, Any], allowed: str) -> None:
    small = cluster({"a": vm("h1", 10), "b": vm("h2", 10)})
    with pytest.raises(ScenarioError) as error:
        (hypertwin.plan_place if "vm" in options else hypertwin.plan_survive)(small, **options)
    assert allowed in str(error.value)


def test_why_a_vm_left_names_the_failure() -> None:
    # c of 60 GiB restarts on a host with 60 free; a makes that room on h2 or h3
    vms = {"c": vm("h1", 60), "a": vm("h2", 20), "b": vm("h2", 15), "d": vm("h3", 35)}
    found = hypertwin.plan_balance(cluster(vms)).document
    (move,) = found["moves"]
    told = hypertwin.plan_balance(cluster(vms), why=[move["vm"]]).document["explained"][0]
    assert "if h1 fails, c cannot restart" in "; ".join(told["reasons"])


def test_what_asks_a_vm_to_leave_is_said_where_it_stays() -> None:
    apart = {"name": "r", "kind": "keep-apart", "vms": ["a", "b"]}
    vms = {"a": vm("h1", 50), "b": vm("h1", 45)}
    told = hypertwin.plan_survive(cluster(vms, rules=[apart]), why=["a"]).document["explained"][0]
    text = "; ".join(told["reasons"])
    assert "it is on h1 now, though rule r does not hold and that host is 5.0 GiB of memory above its limits" in text


def test_an_export_is_not_taken_for_a_scenario(tmp_path: Path) -> None:
    export = tmp_path / "my export.xlsx"
    export.write_bytes(b"PK\x03\x04" + b"\xff" * 5_000_000)
    with pytest.raises(ScenarioError) as error:
        hypertwin.plan_survive(export)
    assert f"hypertwin import '{export}' -o cluster.yaml" in str(error.value)


def test_no_control_character_reaches_the_terminal() -> None:
    text = yaml.safe_dump({"name": "made", "hosts": HOSTS, "vms": {"a": vm("h1", 10)}, "workloads": {"any": IDLE}})
    found = hypertwin.plan_survive(scenarios.loads(text), why=["a"]).document
    found["scenario"] = "made\x1b[31m"
    found["labels"] = {"a": "a\x1b]0;x\x07"}
    found["notes"] = ["a\x9bnote"]
    assert not set(terminal(found)) & {"\x1b", "\x07", "\x9b"}
