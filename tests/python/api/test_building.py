"""Scenarios that are built in Python: the same checks as of files, and copies that leave the first as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_type_hints

import numpy
import pytest
import yaml
from tests.conftest import TINY, refused

import hypertwin
from hypertwin import _core, parts
from hypertwin.errors import Mistake


def mistakes(given: object) -> list[Mistake]:
    """The mistakes of a scenario."""
    with pytest.raises(hypertwin.ScenarioError) as caught:
        hypertwin.load(given)
    return list(caught.value.mistakes)


@pytest.mark.parametrize(
    "change",
    [
        {"vms": {"db": {"vcpu": 2}}},
        {"vms": {"db": {"vcpus": 0}}, "run": {"seed": -1}},
        {"vms": {"db": {"memory": "4 GB/s"}}},
        {"hosts": {"esx1": {"hypervisor": "esxi"}}},
        {"vms": {"db": {"workload": "olpt"}}},
        {"workloads": {"oltp": {"cpu": {"mean": float("nan")}}}},
        {"name": None, "vms": []},
    ],
)
def test_mistakes_of_a_mapping_are_those_of_a_file(tmp_path, change):
    data = yaml.safe_load(TINY)
    for section, values in change.items():
        if isinstance(values, dict):
            for name, keys in values.items():
                data[section][name] = {**data[section][name], **keys} if isinstance(keys, dict) else keys
        else:
            data[section] = values
    file = tmp_path / "wrong.yaml"
    file.write_text(yaml.safe_dump(data))
    told = mistakes(data)
    assert [(each.file, each.line) for each in told] == [("", None)] * len(told)

    def said(listed: list[Mistake]) -> set[tuple[str, ...]]:
        return {(each.code, each.path, each.value, each.allowed, each.hint) for each in listed}

    assert said(told) == said(mistakes(file))


def test_text_has_lines_and_a_name_without_lines_is_a_file(tmp_path):
    (told,) = mistakes(TINY.replace("vcpus: 2,", "vcpus: none,"))
    assert (told.path, told.line) == ("vms.db.vcpus", TINY[: TINY.index("vcpus: 2")].count("\n") + 1)
    (told,) = mistakes("name")
    assert told.code == "file-not-found"


def test_sections_are_merged_and_the_first_scenario_stays():
    first = hypertwin.load(TINY)
    before = first.json
    more = first.with_(
        vms={"db": {"vcpus": 1}, "batch": {"vcpus": 1, "memory": "1 GiB", "workload": "oltp"}}, name="more"
    )
    assert first.json == before
    assert more.name == "more"
    assert [vm.name for vm in more.inventory.vms] == ["batch", "db", "web-1", "web-2"]
    assert more.inventory.vm["db"].vcpus == 1
    assert more.inventory.vm["db"].memory_bytes == first.inventory.vm["db"].memory_bytes
    fewer = more.with_(vms={"batch": None, "db": {"vcpus": 2}}, name="tiny")
    assert fewer.json == first.json


def test_overrides_stay_in_what_is_built_upon():
    loaded = hypertwin.load(TINY, {"vms.db.load": 3}).with_(vms={"web": {"count": 1}})
    assert loaded.data["vms"]["db"]["load"] == 3
    assert loaded.data["vms"]["web"]["count"] == 1


def test_a_built_scenario_is_written_and_read_again(tmp_path):
    built = hypertwin.load(TINY).with_(vms={"web": {"count": 3}})
    path = built.write(tmp_path / "built.yaml")
    assert hypertwin.load(path).json == built.json
    assert repr(hypertwin.load(path)) == "<Scenario tiny: 1 host, 4 VMs, from built.yaml>"
    assert repr(built) == "<Scenario tiny: 1 host, 4 VMs>"


def test_what_a_mapping_shares_is_not_kept():
    data = yaml.safe_load(TINY)
    scenario = hypertwin.Scenario.from_dict(data)
    data["vms"]["db"]["vcpus"] = 1
    assert scenario.with_overrides({"run.seed": 8}).data["vms"]["db"]["vcpus"] == 2


def test_numbers_of_numpy_are_numbers():
    result = hypertwin.simulate(TINY, sweep={"vms.db.vcpus": numpy.arange(1, 3)}, duration=1, replications=1)
    assert [point.vms["db"].vcpus for point in result.points] == [1, 2]


def test_a_mapping_within_itself_is_refused():
    data = {"name": "x"}
    data["hosts"] = data
    data["vms"] = data
    with refused("too-many-values"):
        hypertwin.load(data)


def test_other_things_in_a_mapping_are_mistakes():
    data = yaml.safe_load(TINY)
    data["vms"]["db"]["memory"] = Path("4 GiB")
    (told,) = mistakes(data)
    assert (told.code, told.path) == ("wrong-type", "vms.db.memory")


def test_the_types_have_the_keys_of_the_schema():
    schema = json.loads(_core.schema_json())
    assert get_type_hints(parts.Scenario).keys() == schema["properties"].keys()
    for name, node in schema["$defs"].items():
        keys = node.get("properties", {}).keys()
        extra = {"Workload": {"fio"}, "StoragePool": {"preset"}}.get(name, set())
        assert not keys or get_type_hints(getattr(parts, name)).keys() == keys | extra
