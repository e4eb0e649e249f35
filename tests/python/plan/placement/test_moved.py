"""The scenario that a plan leaves: VMs elsewhere, everything else as its author wrote it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import hypertwin
from hypertwin import scenario as scenarios
from hypertwin.files import yaml_file
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.capacity.state import State
from hypertwin.plan.placement.moved import moved
from hypertwin.scenario import Scenario

SCENARIOS = Path("scenarios")

TEXT = """
name: made
run: {duration: 1 s, warmup: 0 s, replications: 1}
hosts:
  esx: {count: 3, sockets: 1, cores_per_socket: 8, clock: 2 GHz, memory_per_node: 64 GiB, hypervisor: esxi-8.0}
vms:
  db:
    label: "DB 'x': $1"
    count: 3
    vcpus: 2
    memory: 8 GiB
    workload: any
    host: esx
    measured: {cpu_mhz: 500, over: 1 d}
  web: {count: 2, vcpus: 1, memory: 4 GiB, workload: any, host: esx-1}
  free: {count: 3, vcpus: 1, memory: 4 GiB, workload: any}
workloads:
  any: {arrivals: {open: {rate: 10 /s}}, cpu: {mean: 1 ms}}
rules:
  - {name: databases, kind: keep-apart, vms: [db]}
  - {name: "near: all", kind: keep-together, vms: [web]}
events:
  - {at: 500 ms, migrate: db-2, to: esx-1}
"""


def places(scenario: Scenario) -> dict[str, str]:
    return {vm.name: vm.host for vm in scenario.inventory.vms}


def test_nothing_moved_is_what_was_written():
    old = scenarios.loads(TEXT)
    text, new = moved(old, places(old))
    assert yaml.safe_load(text) == yaml.safe_load(TEXT)
    assert new.json == old.json


def test_a_group_on_several_hosts_becomes_its_vms_and_rules_name_them():
    old = scenarios.loads(TEXT)
    text, new = moved(old, {"db-1": "esx-3", "db-2": "esx-2", "db-3": "esx-1"}, comment="of a plan\nin two lines")
    data = yaml_file.parse(text, "x").root.data()
    assert text.startswith("# of a plan\n# in two lines\nname: made\n")
    written = yaml.safe_load(TEXT)["vms"]["db"]
    del written["count"]
    assert data["vms"]["db-1"] == {**written, "label": "DB 'x': $1-1", "host": "esx-3"}
    assert data["rules"][0]["vms"] == ["db-1", "db-2", "db-3"]
    assert data["vms"]["web"] == yaml.safe_load(TEXT)["vms"]["web"]
    assert places(new) == {**places(old), "db-1": "esx-3", "db-2": "esx-2", "db-3": "esx-1"}
    labels = {vm.name: vm.label for vm in new.inventory.vms}
    assert labels["db-1"] == next(vm.label for vm in old.inventory.vms if vm.name == "db-1")


def test_who_would_be_spread_anew_stays():
    old = scenarios.loads(TEXT)
    _, new = moved(old, {"db-1": "esx-2", "db-2": "esx-2", "db-3": "esx-2", "web-1": "esx-2", "web-2": "esx-2"})
    then = places(new)
    assert {name: host for name, host in then.items() if name.startswith("free")} == {
        name: host for name, host in places(old).items() if name.startswith("free")
    }
    assert {then["db-1"], then["web-2"]} == {"esx-2"}


def test_a_group_that_goes_to_one_host_stays_a_group():
    old = scenarios.loads(TEXT)
    text, _ = moved(old, {f"web-{each}": "esx-3" for each in (1, 2)})
    assert yaml.safe_load(text)["vms"]["web"] == {**yaml.safe_load(TEXT)["vms"]["web"], "host": "esx-3"}


def test_new_vms_are_added():
    old = scenarios.loads(TEXT)
    entry: dict[str, Any] = {"vcpus": 1, "memory": "1 GiB", "workload": "any", "host": "esx-2"}
    _, new = moved(old, {}, new={"added": entry})
    assert places(new) == {**places(old), "added": "esx-2"}


def test_overrides_are_kept():
    old = scenarios.loads(TEXT, {"vms.db.memory": "16 GiB"})
    _, new = moved(old, {"db-1": "esx-3", "db-2": "esx-2", "db-3": "esx-1"})
    assert {vm.memory_bytes for vm in new.inventory.vms if vm.name.startswith("db")} == {16 * 2**30}


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_can_be_moved(path: Path):
    old = scenarios.load(path)
    hosts = [host.name for host in old.inventory.hosts]
    group = {host.name: host.group for host in old.inventory.hosts}
    hosts_to = {}
    for number, vm in enumerate(old.inventory.vms):
        open_ = [name for name in hosts if group[name] in vm.host_groups]
        if not vm.stays_on_host and open_:
            hosts_to[vm.name] = open_[number % len(open_)]
    _, new = moved(old, hosts_to)
    assert places(new) == {**places(old), **hosts_to}
    assert [replace(host, measured=host.measured) for host in new.inventory.hosts] == list(old.inventory.hosts)


def test_the_result_is_simulated_like_a_scenario():
    old = scenarios.loads(TEXT)
    _, new = moved(old, {"db-1": "esx-3", "db-2": "esx-2", "db-3": "esx-1"})
    point = hypertwin.simulate(new).points[0]
    assert set(point["vms"]) == {vm.name for vm in old.inventory.vms}


def test_measured_mhz_become_those_of_the_new_host():
    data = yaml.safe_load(TEXT)
    data["hosts"]["fast"] = {**data["hosts"]["esx"], "count": 1, "work_per_cycle": 2}
    data["hosts"]["esx"]["cluster"] = data["hosts"]["fast"]["cluster"] = "all"
    data["clusters"] = {"all": {"measured": {"cpu_mhz": 1500}}}
    for group in ("web", "free"):
        data["vms"][group]["measured"] = {"cpu_mhz": 100, "over": "1 d"}
    old = Scenario.from_dict(data)
    _, new = moved(old, {"db-1": "fast", "db-2": "esx-2", "db-3": "esx-2"})
    mhz = {vm.name: vm.measured.cpu_mhz for vm in new.inventory.vms}
    assert [mhz[name] for name in ("db-1", "db-2", "db-3")] == [250, 500, 500]
    assert new.inventory.cluster["all"].measured.cpu_mhz == 1500 * 1750 / 2000
    assert used(new) == pytest.approx(used(old))
    _, back = moved(new, {"db-1": "esx-1"})
    assert next(vm for vm in back.inventory.vms if vm.name == "db-1").measured.cpu_mhz == 500


def used(scenario: Scenario) -> dict[str, float]:
    """CPU demand of each VM."""
    found = State.of(scenario, scenario.inventory.cluster["all"], Limits()).cpu
    assert found is not None
    return dict(found.of_vm)
