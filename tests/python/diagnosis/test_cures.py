"""The cure that is tried is the cure that is advised, and what makes no difference is told so."""

from __future__ import annotations

from typing import Any

import pytest
from tests.python.diagnosis.estate import PAIR

from hypertwin import scenario
from hypertwin.diagnosis import diagnose, what_if
from hypertwin.diagnosis.rule import Finding

CLUSTER = PAIR.replace("cores_per_socket: 8", "cores_per_socket: 6")


def found(change: dict[str, Any]) -> Finding:
    """The finding about a VM's shape; others are of the load on the twin."""
    shapes = ("wider-than-node-badly-split", "odd-wide-vm")
    (finding,) = [each for each in diagnose(cluster=scenario.loads(CLUSTER, change)).findings if each.code in shapes]
    return finding


@pytest.mark.parametrize(
    ("code", "change", "cure"),
    [
        (
            "wider-than-node-badly-split",
            {},
            "give db sockets of 4 cores, and lower its numa.vcpu.min to 8",
        ),
        (
            "wider-than-node-badly-split",
            {"hosts.esx1.hypervisor": "esxi-6.0", "vms.db.vcpus": 12, "vms.db.cores_per_socket": 12},
            "give db sockets of 6 cores",
        ),
        ("odd-wide-vm", {"vms.db.vcpus": 9}, "give db 10 vCPUs"),
    ],
)
def test_the_cure_that_helps_is_the_one_that_is_advised(code: str, change: dict[str, Any], cure: str) -> None:
    finding = found(change)
    assert (finding.code, finding.severity) == (code, "warning")
    told = finding.what_if
    assert told is not None
    assert (told["change"], told["helps"]) == (cure, True)
    assert finding.to_dict()["advice"] == f"{cure[0].upper()}{cure[1:]}."
    # nothing else is proposed beside it
    assert "Lower numa.vcpu.min" not in finding.text
    assert "Use one socket" not in finding.text


CAPPED = {"vms.db.limit": "2 GHz", "vms.db.measured": {"cpu_mhz": 2000, "ready_pct": 70}}


def test_a_configured_limit_that_is_reached_explains_ready_and_is_removed() -> None:
    waits, limit = diagnose(cluster=scenario.loads(PAIR, CAPPED)).findings
    assert (limit.code, limit.severity, limit.figure) == ("cpu-limit", "critical", "uses 2,000 of 2,000 MHz")
    assert (waits.code, waits.cause) == ("cpu-ready", limit.key)
    assert limit.what_if is not None
    assert (limit.what_if["set"], limit.what_if["helps"]) == ({"vms.db.limit": None}, True)


IDLE = {"hosts.esx1.measured": {"cpu_usage_pct": 30}, "vms.db.measured": {"cpu_mhz": 6000, "ready_pct": 12}}


@pytest.mark.parametrize(
    ("change", "cause", "advice"),
    [
        ({}, "The cause is unknown.", "Check for a CPU limit"),
        ({"vms.db.limit": "10 GHz"}, "Its CPU limit is 10 GHz (50 % of its vCPUs)", "Remove the limit"),
        (
            {"vms.db.affinity": "0-7"},
            "Its CPU affinity keeps its vCPUs on some CPUs",
            "Widen or remove its CPU affinity",
        ),
    ],
)
def test_ready_on_a_host_with_free_cores_is_not_for_lack_of_cpus(
    change: dict[str, Any], cause: str, advice: str
) -> None:
    (waits,) = diagnose(cluster=scenario.loads(PAIR, {**IDLE, **change})).findings
    assert (waits.code, waits.severity) == ("cpu-ready", "critical")
    assert "no CPU is free" not in waits.text
    assert f"Its CPU usage is 30 %, so a lack of CPUs is not the cause. {cause}" in waits.text
    assert waits.advice.startswith(advice)
    if "vms.db.limit" in change:
        assert waits.what_if is not None
        assert waits.what_if["set"] == {"vms.db.limit": None}
    elif not change:
        assert waits.what_if is None
        assert waits.no_what_if == "its host has a free core for each vCPU, so a move of VMs does not help"


BOUND = {
    "vms.db.affinity": ({"vms.db.affinity": "0-3"}, "CPU affinity"),
    "vms.db.numa.nodes": (
        {
            "hosts.*.hypervisor": "linux-6.12",
            "hosts.*.threads_per_core": 1,
            "vms.db.numa": {"cells": [8], "nodes": [1]},
            "vms.web.numa": {"cells": [4], "nodes": [1]},
            "vms.web.host": "esx1",
            "vms.web.load": 4,
        },
        "binding to NUMA nodes",
    ),
}


@pytest.mark.parametrize("key", BOUND)
@pytest.mark.parametrize(("usage", "bound"), [(80, True), (93, False)])
def test_a_bound_vm_waits_for_its_binding_while_its_host_has_cpu_left(key: str, usage: float, bound: bool) -> None:
    change, binding = BOUND[key]
    change = {**IDLE, **change, "hosts.esx1.measured.cpu_usage_pct": usage, "vms.db.load": 4}
    waits = next(each for each in diagnose(cluster=scenario.loads(PAIR, change)).findings if each.code == "cpu-ready")
    assert (f"Its {binding} keeps its vCPUs on some CPUs" in waits.text) is bound
    if bound:
        assert waits.what_if is not None
        assert (waits.what_if["set"], waits.what_if["helps"]) == ({key: None}, True)
        assert waits.advice == f"Remove the {binding} of db."


@pytest.mark.parametrize(
    "change", [{"hosts.esx1.measured.cpu_usage_pct": 80}, {"vms.web.host": "esx1", "vms.web.vcpus": 9}]
)
def test_ready_on_a_busy_or_crowded_host_is_for_lack_of_cpus(change: dict[str, Any]) -> None:
    waits = next(each for each in diagnose(cluster=scenario.loads(PAIR, {**IDLE, **change})).findings)
    assert (waits.code, "no CPU is free for them" in waits.text) == ("cpu-ready", True)


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        ({"vms.db.measured": {"cpu_mhz": 2000}}, ["cpu-limit"]),  # nobody knows how long it waits
        ({"vms.db.measured.cpu_mhz": 1500}, ["cpu-ready"]),
        ({"vms.db.measured.ready_pct": 1}, []),
        ({"vms.db.limit": "20 GHz", "vms.db.measured.cpu_mhz": 20_000}, ["cpu-ready"]),  # all that its vCPUs have
    ],
)
def test_a_limit_that_does_not_hold_a_vm_back_is_none(change: dict[str, Any], codes: list[str]) -> None:
    found = diagnose(cluster=scenario.loads(PAIR, {**CAPPED, **change}), simulate=False)
    assert [each.code for each in found.findings] == codes


HELD = {
    "vms.db.memory_limit": "16 GiB",
    "vms.db.measured": {"cpu_mhz": 900, "memory_consumed": "16 GiB", "ballooned": "9 GiB", "swapped": "3 GiB"},
}


def test_a_memory_limit_that_is_reached_is_removed() -> None:
    (limit,) = diagnose(cluster=scenario.loads(PAIR, {**HELD, "vms.db.memory_touched": "30 GiB"})).findings
    assert (limit.code, limit.subject.name, limit.severity) == ("memory-limit", "db", "warning")
    assert limit.title == "db is held at its memory limit of 16 GiB: 9 GiB ballooned and 3 GiB swapped out"
    assert limit.what_if is not None
    assert (limit.what_if["set"], limit.what_if["helps"]) == ({"vms.db.memory_limit": None}, True)


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        ({"vms.db.measured.memory_consumed": "8 GiB"}, ["memory-reclaim"]),
        ({"vms.db.memory_limit": "32 GiB", "vms.db.measured.memory_consumed": "32 GiB"}, ["memory-reclaim"]),
        ({"vms.web.host": "esx1", "vms.web.measured": {"ballooned": "2 GiB"}}, ["memory-limit", "memory-reclaim"]),
    ],
)
def test_memory_that_a_limit_does_not_take_is_reclaimed_by_the_host(change: dict[str, Any], codes: list[str]) -> None:
    found = diagnose(cluster=scenario.loads(PAIR, {**HELD, **change}), simulate=False)
    assert [each.code for each in found.findings] == codes


def test_what_makes_no_difference_is_info() -> None:
    split = {"vms.db.vcpus": 12, "vms.db.cores_per_socket": 2, "vms.db.numa.follow_cores_per_socket": True}
    finding = found(split)
    assert (finding.code, finding.severity) == ("wider-than-node-badly-split", "info")
    told = finding.what_if
    assert told is not None
    assert told["helps"] is None
    assert "(no significant difference)" in told["text"]
    assert finding.text.endswith("on the twin this change makes no difference: give db sockets of 6 cores.")
    # the worst come first all the same
    beside = diagnose(cluster=scenario.loads(CLUSTER, {**split, "clusters.default.ha.enabled": False})).findings
    assert [each.code for each in beside] == ["ha-off", "wider-than-node-badly-split"]
    # without what-ifs nobody knows
    (alone,) = diagnose(cluster=scenario.loads(CLUSTER, split), simulate=False).findings
    assert alone.severity == "warning"


@pytest.mark.parametrize(
    ("before", "after", "gain"),
    [(0.149, 0.0951, False), (0.149, 0.049, True), (9.63, 9.63, False), (9.63, 9.0, True), (40.4, 39.8, False)],
)
def test_figures_that_are_printed_alike_are_alike(before: float, after: float, gain: bool) -> None:
    assert (what_if._gain("ready_pct", {"ready_pct": before}, {"ready_pct": after}) > 0) is gain


def test_a_cut_keeps_only_what_it_needs() -> None:
    estate = {
        "clusters.default": {"label": "Production", "ha": {"enabled": True}},
        "datastores.ds": {"capacity": "1 TiB"},
        "powered_off.old": {"vcpus": 2, "memory": "4 GiB"},
        "hosts.esx1.measured": {"cpu_usage_pct": 40},
        "vms.db.cluster": "default",
        "vms.db.measured": {"cpu_mhz": 500},
    }
    loaded = scenario.loads(CLUSTER, estate)
    seen: list[Any] = []
    original = what_if.cut

    def cut(case: Any, hosts: Any) -> Any:
        seen.append(original(case, hosts))
        return seen[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(what_if, "cut", cut)
        diagnose(cluster=loaded)
    (data,) = seen
    assert not {"clusters", "datastores", "powered_off"} & set(data)
    assert (set(data["hosts"]), set(data["vms"])) == ({"esx1"}, {"db"})
    assert "measured" not in data["hosts"]["esx1"]
    assert "measured" not in data["vms"]["db"]
