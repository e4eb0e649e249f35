"""Presets: each is a pool that a scenario may name, is told with its source, and gives way to keys beside it."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from hypertwin import scenario
from hypertwin.documents.presets import Preset
from hypertwin.errors import ScenarioError
from hypertwin.scenario import pool_presets

HOSTS = {
    "node": {"count": 6, "sockets": 1, "cores_per_socket": 16, "clock": "2.5 GHz", "memory_per_node": "128 GiB"}
    | {"hypervisor": "linux-6.6"}
}


def loaded(pool: dict[str, Any], *sets: str) -> dict[str, Any]:
    """The pool of a scenario as the core has it."""
    text = {
        "name": "one",
        "hosts": HOSTS,
        "storage": {"pool": {"nodes": "node", **pool}},
        "vms": {"vm": {"vcpus": 1, "memory": "1 GiB", "storage": "pool", "workload": "io"}},
        "workloads": {"io": {"arrivals": {"io": {}}, "cpu": {"mean": "5 us"}}},
    }
    found: dict[str, Any] = json.loads(scenario.loads(json.dumps(text), sets).json)["storage"]["pool"]
    return found


@pytest.mark.parametrize("name", pool_presets.names())
def test_a_preset_is_what_its_keys_are_and_tells_where_they_are_from(name: str) -> None:
    preset = pool_presets.find(name)
    assert loaded({"preset": name}) == loaded(preset["pool"])
    file = yaml.safe_load(pool_presets.text(name))
    assert set(file) == set(Preset.__annotations__) - {"name"}  # nothing in the file that nobody reads
    assert preset["sources"] and preset["date"] and preset["refresh"].strip().endswith(".")
    assert "nodes" not in preset["pool"]


def test_keys_beside_a_preset_win_one_by_one() -> None:
    own = {"redundancy": "replicas-2", "devices": {"device": "P4610", "per_node": 2}, "ceph": {"client": "krbd"}}
    found = loaded({"preset": "ceph-3x-nvme", **own})
    assert found["redundancy"] == "replicas-2"
    assert found["devices"].pop("capacity") == loaded({"preset": "ceph-3x-nvme"})["devices"]["capacity"]
    assert found["devices"] == {"device": "P4610", "per_node": 2}  # a model in place of a kind
    assert (found["ceph"]["release"], found["ceph"]["client"]) == ("squid", "krbd")
    assert "device" not in loaded({"preset": "ceph-3x-sata", "devices": {"kind": "nvme"}})["devices"]


def test_presets_and_keys_beside_them_can_be_set() -> None:
    assert loaded({"preset": "ceph-3x-nvme"}, "storage.pool.preset=vsan-esa") == loaded({"preset": "vsan-esa"})
    assert loaded({}, "storage.pool.preset=powerflex") == loaded({"preset": "powerflex"})
    assert loaded({"preset": "powerflex"}, "storage.pool.devices.per_node=9")["devices"]["per_node"] == 9
    kind = {"kind": "ceph", "devices": {"kind": "nvme", "per_node": 1, "capacity": "1 TB"}}
    assert loaded({"preset": "powerflex", **kind}, "storage.pool.preset=null") == loaded(kind)


def test_null_takes_away_what_a_preset_has() -> None:
    assert loaded({"preset": "vsan-esa"})["policies"]
    without = loaded({"preset": "vsan-esa", "policies": {"raid-5": None}})
    assert not without.get("policies")
    assert loaded({"preset": "vsan-esa"}, "storage.pool.policies.raid-5=null") == without
    other = {"raid-5": None, "gold": {"redundancy": "replicas-3"}}
    assert list(loaded({"preset": "vsan-esa", "policies": other})["policies"]) == ["gold"]
    with pytest.raises(ScenarioError) as caught:  # nothing that it could take away
        loaded({"preset": "vsan-esa", "policies": {"raid-7": None}})
    assert [each.path for each in caught.value.mistakes] == ["storage.pool.policies.raid-7"]


def test_a_mistake_that_a_preset_brings_names_it() -> None:
    with pytest.raises(ScenarioError) as caught:
        loaded({"preset": "vsan-esa"}, "hosts.node.count=2")
    (mistake,) = caught.value.mistakes
    assert mistake.path == "storage.pool.policies.raid-5.redundancy"
    assert mistake.hint.endswith("; it is of preset vsan-esa: policies: { raid-5: null } leaves it out")
    with pytest.raises(ScenarioError) as caught:
        loaded({"preset": "vsan-esa", "policies": {"raid-5": {"redundancy": "ec-4+1"}}}, "hosts.node.count=3")
    assert "preset" not in caught.value.mistakes[0].hint  # what is written there is not the preset's


def test_raid_5_of_one_architecture_of_vsan_is_not_that_of_the_other() -> None:
    own: dict[str, Any] = {"kind": "vsan", "devices": {"kind": "nvme", "per_node": 2, "capacity": "1 TB"}}
    osa = {**own, "vsan": {"architecture": "osa"}, "flash": {"kind": "nvme", "per_node": 1, "capacity": "400 GB"}}
    assert loaded({**osa, "redundancy": "raid-5"})["redundancy"] == "ec-3+1"
    loaded({**own, "redundancy": "ec-4+1", "policies": {"small": {"redundancy": "ec-2+1"}}})
    policy = own | {"policies": {"p": {"redundancy": "raid-5"}}}
    for said, path in ((own | {"redundancy": "raid-5"}, ""), (policy, "policies.p.")):
        with pytest.raises(ScenarioError) as caught:
            loaded(said)
        (mistake,) = caught.value.mistakes
        assert (mistake.code, mistake.path) == ("wrong-kind", f"storage.pool.{path}redundancy")
        assert mistake.allowed == "ec-2+1 or ec-4+1 for RAID-5 of ESA"


def test_an_unknown_preset_is_one_mistake_and_the_rest_is_checked() -> None:
    with pytest.raises(ScenarioError) as caught:
        loaded({"preset": "Ceph-3x-NVM", "vsan": {"architecture": "esa"}})  # Ceph's stand-in has no such key
    (mistake,) = caught.value.mistakes
    assert (mistake.code, mistake.path, mistake.value) == ("unknown-value", "storage.pool.preset", "Ceph-3x-NVM")
    assert mistake.hint == "did you mean ceph-3x-nvme?"
    with pytest.raises(ScenarioError) as caught:
        loaded({"preset": "nothing"}, "vms.vm.vcpus=0")
    assert [each.path for each in caught.value.mistakes] == ["vms.vm.vcpus", "storage.pool.preset"]


def test_the_command_lists_and_shows_them(cli: Any) -> None:
    listed = cli("presets").stdout
    assert all(name in listed for name in pool_presets.names())
    shown = cli("presets", "vsan-esa", "powerflex").stdout
    assert pool_presets.text("vsan-esa") in shown and pool_presets.text("powerflex") in shown
    document = json.loads(cli("presets", "vsan-esa", "--format", "json").stdout)
    assert document["presets"] == pool_presets.presets("vsan-esa")
    done = cli("presets", "vsan")
    assert (done.returncode, done.stdout) == (2, "")
    assert "vsan-esa" in done.stderr


def test_sweeps_take_presets(cli: Any, tmp_path: Any) -> None:
    file = tmp_path / "one.yaml"
    vm = {"vcpus": 1, "memory": "1 GiB", "storage": "pool", "workload": "io"}
    text = {"name": "one", "hosts": HOSTS, "storage": {"pool": {"preset": "powerflex", "nodes": "node"}}}
    work = {"io": {"arrivals": {"io": {}}, "cpu": {"mean": "5 us"}}}
    run = {"duration": "20 ms", "warmup": "10 ms", "replications": 1}
    file.write_text(json.dumps({**text, "vms": {"vm": vm}, "workloads": work, "run": run}))
    sweep = "storage.pool.preset=powerflex,storpool"
    result = json.loads(cli("simulate", file, "--sweep", sweep, "--format", "json").stdout)
    assert [point["pools"]["pool"]["redundancy"] for point in result["points"]] == ["replicas-2", "replicas-3:2"]
