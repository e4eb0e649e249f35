"""Longest downtime of VMs by tag, and the writes of their work."""

from __future__ import annotations

from typing import Any

import pytest
from tests.python.plan.refresh.made import cluster

import hypertwin
from hypertwin import scenario
from hypertwin.errors import ScenarioError
from hypertwin.plan.moving import downtime
from hypertwin.plan.moving.downtime import Class


def tagged(*tags: str, used: str = "100 GiB") -> dict[str, Any]:
    """VMs of 100 GiB on one host, one for each tag."""
    made = cluster(hosts=2, vms=1, mhz=100)
    like = made["vms"].pop("web")
    disk = {"label": "Hard disk 1", "capacity": "200 GiB"}
    for number, tag in enumerate(tags):
        source = {"disks": [disk], **({"tags": [tag]} if tag else {})}
        measured = {**like["measured"], "storage_used": used}
        made["vms"][f"vm{number}"] = {**like, "count": 1, "host": "old", "source": source, "measured": measured}
    return made


def move(made: Any, *classes: str, to: Any = "openshift") -> Any:
    return hypertwin.plan_move(made, to=to, twin="off", downtime=list(classes), pilot=0)


def test_vms_that_cannot_be_off_for_long_move_warm_where_the_tool_can() -> None:
    made = tagged("gold", "gold", "bronze", "")
    answer = move(made, "gold=10min", "bronze=10h")
    found = answer.to_dict()
    assert {wave["mode"]: wave["vms"] for wave in found["waves"]} == {"warm": ["vm0", "vm1"], "cold": ["vm2", "vm3"]}
    gold, bronze = found["downtimes"]
    assert (gold["tag"], gold["max_s"], gold["vms"], gold["warm"]) == ("gold", 600, 2, ["vm0", "vm1"])
    assert (bronze["warm"], bronze["too_long"]) == ([], [])
    off = {vm["name"]: vm["downtime_s"] for vm in found["vms"]}
    assert off["vm0"]["value"] < off["vm2"]["value"]
    assert gold["too_long"] == [name for name in ("vm0", "vm1") if off[name]["high"] > 600]
    assert "2 VMs with gold can be off for 10 min; 2 move warm" in " ".join(str(answer).split())


def test_vms_for_which_neither_mode_is_short_enough_are_named() -> None:
    for to, warm in (("openshift", ["vm0"]), ("proxmox", [])):
        answer = move(tagged("gold", ""), "gold=1s", to=to)
        (gold,) = answer.to_dict()["downtimes"]
        assert (gold["warm"], gold["too_long"]) == (warm, ["vm0"])
        assert "1 can be off longer: vm0" in " ".join(str(answer).split())


def test_the_shortest_of_several_classes_counts() -> None:
    (vm,) = scenario.load(tagged("app-gold")).inventory.vms
    classes = [Class.parse(each) for each in ("app-*=1 h", "*gold=15min", "silver=1s")]
    assert downtime.longest(vm, classes) == 900
    assert downtime.longest(vm, classes[2:]) is None


def test_writes_follow_from_the_work_of_a_vm() -> None:
    made = tagged("", used="100 GiB")
    made["vms"]["vm0"]["load"] = 2

    def writes(**workload: Any) -> float | None:
        made["workloads"]["busy"] = {"cpu": {"mean": "1 ms"}, "arrivals": {"open": {"rate": "10 /s"}}, **workload}
        loaded = scenario.load(made)
        return downtime.writes_per_s(loaded.inventory.vms[0], loaded.data)

    assert writes(ios=4, read_pct=75, block="64 KiB") == pytest.approx(2 * 10 * 4 * 0.25 * 65_536)
    mixed = [{"block": "128 KiB", "share_pct": 50}]
    assert writes(ios=4, read_pct=75, block="64 KiB", block_mix=mixed) == pytest.approx(20 * 1.5 * 65_536)
    assert writes(ios=4) is None  # the share of reads is not stated
    assert writes(ios=0, read_pct=50) is None
    closed = {"closed": {"population": 1, "think": {"mean": "1 s"}}}
    assert writes(arrivals=closed, ios=4, read_pct=50) is None


def test_known_writes_set_what_a_warm_move_copies_last() -> None:
    def off(rate: str) -> float:
        made = tagged("gold")
        made["workloads"]["busy"] |= {"ios": 1, "read_pct": 0, "block": "64 KiB", "arrivals": {"open": {"rate": rate}}}
        (vm,) = move(made, "gold=1min").to_dict()["vms"]
        return float(vm["downtime_s"]["value"])

    changed = 65_536 * 3_600  # bytes in an hour between snapshots, at one write a second
    rate = (off("101 /s") - off("1 /s")) / (100 * changed)
    assert 1 / rate == pytest.approx(72.96 * 2**20, rel=0.01)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("gold", "gold=15min"),
        ("=15min", "gold=15min"),
        ("gold=soon", "gold=15min"),
        ("gold=0 s", "above 0"),
        ("gold=-5min", "gold=15min"),
        ("silver=15min", "gold"),
    ],
)
def test_a_bad_class_is_one_error_with_an_example(given: str, said: str) -> None:
    with pytest.raises(ScenarioError) as error:
        move(tagged("gold"), given)
    (mistake,) = error.value.mistakes
    assert said in str(mistake)
    assert "downtime" in str(mistake)


def test_a_source_without_tags_says_so() -> None:
    with pytest.raises(ScenarioError, match="tags, which this source does not have"):
        move(tagged(""), "gold=15min")
