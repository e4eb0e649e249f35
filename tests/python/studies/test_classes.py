"""The class that the twin shows: what limits the group that a figure is of; which way a figure goes."""

from __future__ import annotations

from typing import Any

import pytest

from hypertwin.scenario import loads
from hypertwin.studies.classes import DIRECTIONS, LIMITS, Class, class_of, direction, limit_of_density, limit_of_run

SCENARIO = """
name: made-up
hosts: {esx: {count: 2, sockets: 2, cores_per_socket: 8, clock: 2.5 GHz, hypervisor: esxi-7.0, memory_per_node: 64 GiB}}
vms:
  db: {vcpus: 4, memory: 8 GiB, host: esx-1, workload: paced}
  client: {vcpus: 4, memory: 8 GiB, host: esx-1, workload: paced}
  other: {count: 2, vcpus: 4, memory: 8 GiB, host: esx-2, workload: paced}
workloads:
  paced: {arrivals: {open: {rate: 10 /s}}, cpu: {mean: 1 ms}}
"""


def group(run_pct: float, host: str = "esx-1", vcpus: int = 4) -> dict[str, Any]:
    return {"run_pct": run_pct, "ready_pct": 0.0, "costop_pct": 0.0, "vcpus": vcpus, "hosts": [host]}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("vms.other-1.ready_pct", "host-cpu"),
        ("groups.other.ready_pct", "host-cpu"),
        ("hosts.esx-2.usage_pct", "host-cpu"),
        ("hosts.esx-1.usage_pct", "guest-cpu"),
        ("vms.db.ready_pct", "guest-cpu"),
        ("vms.client.ready_pct", "latency"),
        ("storage.san-disks.utilization_pct", "host-cpu"),
        ("", "host-cpu"),
    ],
)
def test_the_group_of_a_figure_is_judged_or_the_one_that_asks_most(path, expected):
    groups = {"db": group(60.0), "client": group(50.0), "other": group(40.0, "esx-2", 8)}
    limits = {"db": "guest-cpu", "client": "latency", "other": "host-cpu"}
    made = {
        "groups": groups,
        "vms": {key: {} for key in ("db", "client", "other-1", "other-2")},
        "judgement": {"limits": {name: {"kind": kind} for name, kind in limits.items()}},
    }
    assert limit_of_run(made, loads(SCENARIO), path) == expected


def point(meets: bool, kind: str | None = None, lacks: str | None = None) -> dict[str, Any]:
    reason = None if kind else "no room"
    return {"meets": meets, "reason": reason, "lacks": lacks, "limit": {"kind": kind} if kind else None}


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        (point(False, "host-cpu"), "host-cpu"),
        (point(False, "nothing"), "latency"),
        (point(False, lacks="memory of esx-1"), "memory"),
        (point(False), "nothing"),
    ],
)
def test_a_count_of_vms_is_limited_by_what_is_full_at_the_first_that_misses(missing, expected):
    assert limit_of_density({"points": [point(True, "devices"), missing, point(False, "fabric")]}) == expected


def test_a_count_that_never_misses_is_limited_by_nothing():
    assert limit_of_density({"points": [point(True, "host-cpu")]}) == "nothing"


@pytest.mark.parametrize(
    ("figure", "other", "expected"),
    [
        (1.049, 1.0, "flat"),
        (1.05, 1.0, "flat"),
        (1.051, 1.0, "rises"),
        (0.951, 1.0, "flat"),
        (0.95, 1.0, "flat"),
        (0.949, 1.0, "falls"),
        (209.8, 200.0, "flat"),
        (210.2, 200.0, "rises"),
        (0.0, 0.0, "flat"),
        (0.1, 0.0, "rises"),
        (-1.0, -2.0, "rises"),
    ],
)
def test_a_figure_is_flat_within_5_per_cent_of_another(figure, other, expected):
    assert direction(figure, other) == expected


def test_a_class_fits_what_has_all_that_it_says():
    shown = Class("host-cpu", "falls")
    assert [class_of(text).fits(shown) for text in ("host-cpu", "falls", "host-cpu; falls", "falls; host-cpu")] == [
        True
    ] * 4
    assert [class_of(text).fits(shown) for text in ("guest-cpu", "rises", "host-cpu; rises", "memory; falls")] == [
        False
    ] * 4
    assert not class_of("falls").fits(Class("host-cpu"))


def test_every_word_is_a_class_of_its_own():
    for word in (*LIMITS, *DIRECTIONS):
        assert str(class_of(word)) == word
    assert str(class_of("falls; memory")) == "memory; falls"
    assert not class_of("")
