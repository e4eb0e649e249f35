"""A cluster without room after a failure: what arithmetic says of it is what happens when a host fails on the twin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hypertwin
from hypertwin import diagnosis
from hypertwin.runs import simulation


@pytest.mark.parametrize("room", [True, False])
def test_a_cluster_without_room_after_a_failure_is_found_and_loses_those_machines(tmp_path: Path, room: bool) -> None:
    cache: dict[str, Any] = {"count": 4, "vcpus": 2, "memory": "24 GiB", "workload": "light"}
    cluster = {
        "name": "crowd",
        "run": {"duration": "100 s", "warmup": "1 s", "replications": 1},
        "clusters": {"default": {"ha": {"enabled": True, "policy": "fdm", "boot": "20 s"}}},
        "hosts": {
            "esx": {
                **{"count": 2, "sockets": 1, "cores_per_socket": 8, "clock": "2.6 GHz", "hypervisor": "esxi-7.0"},
                "memory_per_node": "128 GiB" if room else "64 GiB",
            }
        },
        "vms": {"cache": cache | ({} if room else {"memory_reservation": "24 GiB"})},
        "workloads": {"light": {"arrivals": {"open": {"rate": "5 /s"}}, "cpu": {"mean": "10 ms"}}},
        "failures": [{"fails": ["esx-1"], "at": "10 s"}],
    }
    scenario = tmp_path / "cluster.yaml"
    scenario.write_text(json.dumps(cluster))
    ha = hypertwin.capacity(scenario)["clusters"]["default"]["ha"]
    found = [each.code for each in diagnosis.diagnose([], cluster=scenario, simulate=False).findings]
    point = simulation.simulate(scenario).to_dict()["points"][0]
    lost = {each["vm"] for each in point.get("unplaced") or []}
    assert ("cluster-without-failover-capacity" in found) is not room
    assert ha["can_power_on"] is room
    # capacity counts the worse of two hosts that have the same
    assert len(ha["not_powered_on"]) == len(lost) == (0 if room else 2)
    assert {each["vm"] for each in point["outages"] if each["up_on"] is None} == lost
