"""Figures of a group of several VMs: sums and means as the catalogue says, and Little's law over all of them."""

from __future__ import annotations

from functools import cache

import pytest

from hypertwin.documents.simulation import Point
from hypertwin.metrics import frame
from hypertwin.metrics.catalogue import CATALOGUE, catalogue_key
from hypertwin.runs.simulation import simulate
from hypertwin.scenario import loads

SCENARIO = """
name: group
run: {duration: 20 s, warmup: 1 s, replications: 1}
hosts: {esx: {sockets: 2, cores_per_socket: 2, clock: 2 GHz, memory_per_node: 16 GiB, hypervisor: esxi-8.0}}
vms: {web: {count: 3, vcpus: 2, memory: 1 GiB, workload: page}}
workloads:
  page: {arrivals: {open: {rate: 150 /s}}, cpu: {mean: 4 ms}, memory_traffic: 100 MB/s}
"""


@cache
def point() -> Point:
    return simulate(loads(SCENARIO)).points[0]


def test_littles_law_holds_for_a_group_of_several_vms() -> None:
    group = point()["groups"]["web"]
    in_progress = group["throughput_per_s"] * group["response_ms"]["mean"] / 1000
    assert group["run_queue"] == pytest.approx(in_progress, rel=0.01)
    assert group["run_queue"] > 1.5, "of all three, each of which has more than half a process"


def test_each_figure_of_a_group_is_a_sum_or_a_mean_as_the_catalogue_says() -> None:
    group, members = (
        {catalogue_key(key): value for key, value in frame.flatten(entity).items() if isinstance(value, int | float)}
        for entity in (point()["groups"]["web"], point()["vms"]["web-1"])
    )
    of = {metric.key: metric for metric in CATALOGUE if "group" in metric.scopes}
    checked = 0
    for key in members:
        if key not in of or key.startswith("response_ms") or key.endswith("_ci95"):
            continue
        values = [frame.flatten(point()["vms"][f"web-{number}"])[key] for number in (1, 2, 3)]
        expected = sum(values) if of[key].summed else sum(values) / 3
        assert group[key] == pytest.approx(expected, rel=1e-9), key
        checked += any(value != 0 for value in values)
    assert checked > 15
