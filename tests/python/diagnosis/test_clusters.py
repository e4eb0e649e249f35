"""What is found of clusters and of what their file says was measured, on an estate of four clusters."""

from __future__ import annotations

import datetime
import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.python.diagnosis.estate import CLUSTERS, HOSTS, VMS, codes, load, look, only

from hypertwin.diagnosis import diagnose
from hypertwin.diagnosis.rules import RULES
from hypertwin.ingest import telemetry_table
from hypertwin.show import diagnosis, registry

pytestmark = pytest.mark.usefixtures("tables_here")

ONE = ("production",)
"""Enough clusters for what is about one."""


def test_nothing_is_found_in_a_healthy_estate_and_what_was_checked_is_said() -> None:
    found = look()
    assert codes(found) == []
    unchecked = {each["code"] for each in found.document["not_checked"]}
    assert unchecked == {
        *("co-stop", "swap-wait", "remote-numa-memory", "hci-overhead", "oversized-vm", "undersized-vm"),
        *("storage-queue-full", "storage-latency"),
    }
    summary = diagnosis.summary(found.document)
    assert summary.startswith(f"No problems in {len(RULES) - 8} checks (")
    assert "a single sample is not enough" in "".join(
        each["needs"] for each in found.document["not_checked"] if "sized" in each["code"]
    )


FIRES: list[tuple[dict[str, Any], list[tuple[str, str, str]]]] = [
    # one figure beyond a band, the same just within it
    ({"hosts.production-1.measured.cpu_usage_pct": 90}, []),
    (
        {"hosts.production-1.measured.cpu_usage_pct": 91},
        [("warning", "host-cpu-saturated", "production-1.example.com")],
    ),
    (
        {"hosts.production-1.measured.cpu_usage_pct": 100, "vms.production-1*.measured.cpu_mhz": 8_400},
        [("critical", "host-cpu-saturated", "production-1.example.com")],
    ),
    ({"hosts.production-1.measured.memory_usage_pct": 90}, []),
    (
        {"hosts.production-1.measured.memory_usage_pct": 92},
        [("warning", "host-memory-full", "production-1.example.com")],
    ),
    (
        {"hosts.production-1.measured.memory_usage_pct": 96},
        [("critical", "host-memory-full", "production-1.example.com")],
    ),
    ({"vms.production-1-vm1.measured.ready_pct": 6}, [("warning", "cpu-ready", "production-1-vm1")]),
    ({"vms.production-1-vm1.measured.ballooned": "2 GiB"}, [("warning", "memory-reclaim", "production-1.example.com")]),
    ({"vms.production-1-vm1.measured.swapped": "2 GiB"}, [("warning", "memory-reclaim", "production-1.example.com")]),
    (
        {"hosts.production-1.measured.ballooned": "2 GiB"},
        [("warning", "memory-reclaim", "production-1.example.com")],
    ),
    ({"clusters.production.ha.enabled": False}, [("warning", "ha-off", "Cluster production")]),
    ({"clusters.production.ha.admission": False}, [("warning", "admission-control-off", "Cluster production")]),
    ({"hosts.production-2.threads_per_core": 1}, [("warning", "hyper-threading-off", "Cluster production")]),
    ({"hosts.production-2.threads_per_core": 1, "hosts.production-2.hyper_threading_available": False}, []),
    ({"hosts.production-*.power_policy": "balanced"}, [("info", "power-policy", "Cluster production")]),
    ({"hosts.production-2.power_policy": "low-power"}, [("warning", "power-policy", "Cluster production")]),
    ({"hosts.production-2.power_policy": "not-managed"}, []),
    ({"hosts.production-2.cpu_model": "Intel(R)  Xeon(R) Gold 6230  CPU @ 2.10GHz"}, []),
    ({"hosts.production-2.cpu_model": "Intel Xeon E5-2680"}, [("info", "mixed-cpu-models", "Cluster production")]),
    ({"hosts.production-2.cpu_model": "AMD EPYC 7763"}, [("warning", "mixed-cpu-models", "Cluster production")]),
    (
        {
            "hosts.production-2.cpu_model": "Intel Xeon E5-2680",
            "clusters.production.evc": None,
            "hosts.production-*.evc": None,
        },
        [("warning", "mixed-cpu-models", "Cluster production")],
    ),
    ({"clusters.production.evc": "intel-skylake"}, [("info", "evc-behind", "Cluster production")]),
    ({"clusters.production.evc": "intel-broadwell"}, [("warning", "evc-behind", "Cluster production")]),
    (
        {"clusters.production.evc": None, "hosts.production-*.evc": "intel-haswell"},
        [("warning", "evc-behind", "Cluster production")],
    ),
    # no further than the oldest host
    ({"clusters.production.evc": "intel-broadwell", "hosts.production-3.evc_most": "intel-broadwell"}, []),
    ({"clusters.production.evc": "intel-of-tomorrow"}, []),
    (
        {"clusters.production.evc": "amd-zen", "hosts.production-*.evc_most": "amd-milan"},
        [("warning", "evc-behind", "Cluster production")],
    ),
    ({"datastores.ds-production.free": "2049 GiB"}, []),
    ({"datastores.ds-production.free": "1.9 TiB"}, [("warning", "datastore-nearly-full", "ds-production")]),
    ({"datastores.ds-production.free": "0.9 TiB"}, [("critical", "datastore-nearly-full", "ds-production")]),
    ({"datastores.ds-production.provisioned": "11 TiB"}, [("info", "datastore-nearly-full", "ds-production")]),
    ({"vms.production-1-vm1.measured.oldest_snapshot": "2026-02-27"}, []),
    ({"vms.production-1-vm1.measured.oldest_snapshot": "2026-02-20"}, [("info", "old-snapshot", "production-1-vm1")]),
    (
        {"vms.production-1-vm1.measured.oldest_snapshot": "2025-03-01T10:00:00Z"},
        [("warning", "old-snapshot", "production-1-vm1")],
    ),
    ({"vms.production-1-vm1.measured.snapshot_count": 3}, []),
    ({"vms.production-1-vm1.measured.snapshot_count": 4}, [("info", "old-snapshot", "production-1-vm1")]),
]


@pytest.mark.parametrize(("change", "expected"), FIRES)
def test_a_rule_keeps_to_its_bands(change: dict[str, Any], expected: list[tuple[str, str, str]]) -> None:
    found = look(change, ONE)
    assert codes(found) == expected
    for finding in found.findings:
        assert finding.advice
        assert finding.references
        assert finding.evidence
        assert finding.subject.cluster == "Cluster production"


def test_ha_is_known_where_somebody_is_named_who_restarts() -> None:
    named = {"clusters.*.ha.enabled": None, "clusters.*.ha.policy": "fdm"}
    found = look(named, ONE)
    assert "ha-off" not in {
        *(each["code"] for each in found.document["not_checked"]),
        *(each.code for each in found.findings),
    }
    assert codes(look({**named, "clusters.production.ha.enabled": False}, ONE)) == [
        ("warning", "ha-off", "Cluster production")
    ]


# what takes away the only thing that a rule could look at
UNKNOWN: list[tuple[str, dict[str, Any]]] = [
    ("host-cpu-saturated", {"hosts.*.measured.cpu_usage_pct": None}),
    ("host-memory-full", {"hosts.*.measured.memory_usage_pct": None}),
    (
        "host-memory-overcommitted-reclaiming",
        {f"{kind}.*.measured.{key}": None for kind in ("hosts", "vms") for key in ("ballooned", "swapped")},
    ),
    (
        "memory-reclaim",
        {f"{kind}.*.measured.{key}": None for kind in ("hosts", "vms") for key in ("ballooned", "swapped")},
    ),
    ("cpu-ready", {"vms.*.measured.ready_pct": None}),
    ("ha-off", {"clusters.*.ha.enabled": None}),
    ("admission-control-off", {"clusters.*.ha.admission": None}),
    ("hyper-threading-off", {"hosts.*.hyper_threading_available": None}),
    ("power-policy", {"hosts.*.power_policy": None}),
    ("mixed-cpu-models", {"hosts.*.cpu_model": None}),
    ("evc-behind", {"hosts.*.evc_most": None}),
    ("datastore-nearly-full", {"datastores": None}),
    ("old-snapshot", {"vms.*.measured.snapshot_count": None}),
]


@pytest.mark.parametrize(("code", "change"), UNKNOWN)
def test_what_is_not_known_is_not_checked(code: str, change: dict[str, Any]) -> None:
    assert code not in {each["code"] for each in look(clusters=ONE).document["not_checked"]}
    found = look(change, ONE)
    assert code in {each["code"] for each in found.document["not_checked"]}
    assert not found.findings


UNUSED = {"hosts.production-*.measured.memory_usage_pct": None}
"""Without it nobody knows what hypervisors take beside what is set up."""
LOST: dict[str, Any] = {"vms.production-*.memory": "40 GiB", **UNUSED}
"""24 VMs of 40 GiB: 960 GiB on four hosts of 256, 125 % of three."""


def test_only_the_cluster_without_room_for_a_failure_is_told_and_by_how_much() -> None:
    finding = only(look(LOST), "cluster-without-failover-capacity")
    assert (finding.severity, finding.subject.kind, finding.subject.name) == (
        "warning",
        "cluster",
        "Cluster production",
    )
    assert finding.figure == "memory 192 GiB short, 125 % of N-1"
    assert finding.advice.startswith("Add one host of 256 GiB like ")
    assert "Today's consumed memory is 38 % of N-1 and fits" in finding.text
    assert finding.evidence[0].value == 125.0
    # by what they occupy it is short too
    worse = only(
        look({**LOST, "vms.production-*.measured.memory_consumed": "39 GiB"}), "cluster-without-failover-capacity"
    )
    assert worse.severity == "critical"
    assert "Memory is short even for consumed memory: 122 % of N-1." in worse.text


def test_what_costs_most_is_told_before_what_is_merely_old() -> None:
    old = {"vms.management-1-vm1.measured.oldest_snapshot": "2025-03-01T10:00:00Z", "datastores.*.free": "1.9 TiB"}
    settings = {"clusters.*.ha.enabled": False, "hosts.production-1.measured.cpu_usage_pct": 91}
    found = look({**LOST, **old, **settings})
    warnings = [each.code for each in found.findings if each.severity == "warning"]
    assert list(dict.fromkeys(warnings)) == [
        *("cluster-without-failover-capacity", "host-cpu-saturated", "datastore-nearly-full", "old-snapshot", "ha-off"),
    ]


def test_hosts_to_add_are_counted_by_whole_machines() -> None:
    large = {f"vms.production-1-vm{n}.memory": "130 GiB" if n <= 3 else "1 GiB" for n in range(1, VMS + 1)}
    rest = {f"vms.production-{n}-vm*.memory": "30 GiB" for n in (2, 3, 4)}
    finding = only(look({**large, **rest, **UNUSED}, ONE), "cluster-without-failover-capacity")
    # 933 of 768 GiB: one host more by sum; three VMs of 130 GiB need one of 256 GiB each
    assert finding.figure == "memory 165 GiB short, 121 % of N-1"
    assert "If production-1.example.com fails, 3 VMs cannot restart " in finding.text
    assert finding.advice.startswith("Add 3 hosts of 256 GiB like production-")
    assert finding.advice.endswith(" By total memory one is enough, but whole VMs need 3.")


def test_failover_does_not_depend_on_guesses() -> None:
    sure = only(look(LOST), "cluster-without-failover-capacity")
    guessed = only(look({**LOST, "vms.*.host_is_guess": True}), "cluster-without-failover-capacity")
    assert (guessed.figure, guessed.severity, guessed.advice) == (sure.figure, sure.severity, sure.advice)


@pytest.mark.parametrize(
    ("change", "figure", "severity", "text"),
    [
        # fits in all, but a VM is larger than any host that is left
        (
            {"hosts.production-1.memory_per_node": "256 GiB", "vms.production-1-vm1.memory": "300 GiB"},
            "memory 87 % of N-1; production-1-vm1 cannot restart",
            "critical",
            "If production-1.example.com fails, 1 VM cannot restart on the other hosts: "
            "production-1-vm1. The largest, production-1-vm1, has 4 vCPUs and 300 GiB.",
        ),
        # one that only the widest host can run
        (
            {"hosts.production-1.cores_per_socket": 32, "vms.production-1-vm1.vcpus": 128},
            "memory 50 % of N-1; production-1-vm1 cannot restart",
            "critical",
            "has 128 vCPUs and 16 GiB",
        ),
        (
            {"hosts.production-*.measured.cpu_usage_pct": 80},
            "memory 50 % of N-1; CPU 107 % of N-1",
            "warning",
            "CPU is short: today's use is 107 % of N-1",
        ),
        # appliances stay on their hosts
        (
            {
                **{f"vms.production-{n}-vm1.storage_appliance": True for n in range(1, HOSTS + 1)},
                **{f"vms.production-{n}-vm1.memory": "100 GiB" for n in range(1, HOSTS + 1)},
                **{f"vms.production-{n}-vm2.memory": "60 GiB" for n in range(1, HOSTS + 1)},
            },
            "memory 28 GiB short, 104 % of N-1",
            "warning",
            "20 VMs of Cluster production are configured with",
        ),
        # VMs without restart stay down, and keep the memory of the other hosts
        (
            {
                **{f"vms.production-{n}-vm1.restart_priority": "disabled" for n in range(1, HOSTS + 1)},
                **{f"vms.production-{n}-vm1.memory": "100 GiB" for n in range(1, HOSTS + 1)},
                **{f"vms.production-{n}-vm2.memory": "60 GiB" for n in range(1, HOSTS + 1)},
            },
            "memory 28 GiB short, 104 % of N-1",
            "warning",
            "20 VMs of Cluster production are configured with",
        ),
        # what the hypervisor takes is not there for VMs
        (
            {"hosts.production-*.hypervisor_memory": "130 GiB", **UNUSED},
            "memory 6 GiB short with hypervisor memory, 50 % of N-1",
            "warning",
            "3 hosts have 768 GiB, of which 390 GiB is for their hypervisors. VMs need 50 % of it, 6 GiB too much.",
        ),
        # two failures
        (
            {"clusters.production.ha.failures": 3},
            "memory 128 GiB short, 150 % of N-3; CPU 120 % of N-3",
            "critical",
            "its largest",
        ),
        # room in all, and not where it is needed
        (
            {
                "vms.production-1-vm1.memory": "200 GiB",
                **{f"vms.production-{n}-vm1.memory": "80 GiB" for n in (2, 3, 4)},
                **UNUSED,
            },
            "1 VM with 200 GiB of memory cannot restart at once",
            "info",
            "Other VMs must move first.",
        ),
    ],
)
def test_what_binds_when_a_host_fails(change: dict[str, Any], figure: str, severity: str, text: str) -> None:
    finding = only(look(change, ONE), "cluster-without-failover-capacity")
    assert (finding.figure, finding.severity) == (figure, severity)
    assert text in finding.text


@pytest.mark.parametrize(
    "change",
    [
        {f"hosts.production-{n}": None for n in (2, 3, 4)} | {f"vms.production-{n}-vm*": None for n in (2, 3, 4)},
        {"vms.production-*.storage_appliance": True},
        {"vms.production-*.restart_priority": "disabled"},
        {"clusters.production.ha.failures": 4},
    ],
    ids=["a single host", "appliances stay with their host", "so do VMs without restart", "more failures than hosts"],
)
def test_failover_is_not_judged(change: dict[str, Any]) -> None:
    assert not [each for each in look({**LOST, **change}, ONE).findings if "failover" in each.code]


def test_a_host_that_reclaims_is_the_cause_of_what_its_machines_lack() -> None:
    over = {f"vms.production-1-vm{n}.memory": "60 GiB" for n in range(1, VMS + 1)}
    over |= {f"vms.production-1-vm{n}.measured.ballooned": "1 GiB" for n in range(1, VMS + 1)}
    found = look({**over, "hosts.production-1.measured.swapped": "1.1 GiB"}, ONE)
    finding = only(found, "host-memory-overcommitted-reclaiming")
    assert finding.severity == "warning"
    # by its own counter, or the sum of its machines where that says more
    assert finding.figure == "6 GiB ballooned and 1.1 GiB swapped out"
    own = look({**over, "hosts.production-1.measured.ballooned": "7 GiB"}, ONE)
    assert only(own, "host-memory-overcommitted-reclaiming").figure == "7 GiB ballooned"
    assert "VMs (6): production-1-vm1, " in finding.text
    assert "at the time of the export, 2026-03-01" in finding.text
    # told once, with its machines
    assert not [each for each in found.findings if each.code == "memory-reclaim"]
    # where nobody knows what is on it, its own counter is enough
    guessed = look({"vms.*.host_is_guess": True, "hosts.production-1.measured.ballooned": "5 GiB"}, ONE)
    assert "its VMs are not known" in only(guessed, "host-memory-overcommitted-reclaiming").text


def test_a_snapshot_is_said_to_be_one_moment_and_telemetry_counts_before_it(tmp_path: Path) -> None:
    full = {"hosts.production-1.measured.cpu_usage_pct": 99, "vms.production-1-vm1.measured.ready_pct": 12}
    found = look(full, ONE)
    saturated = only(found, "host-cpu-saturated")
    assert ", at the time of the export, 2026-03-01." in saturated.text
    assert "single sample does not show" in saturated.text
    assert "on average" not in saturated.text
    waits = only(found, "cpu-ready")
    assert waits.severity == "critical"
    assert "at the time of the export, 2026-03-01" in waits.text
    assert "on average" not in waits.text
    assert waits.cause == ("hidden-host-saturation", "host/production-1.example.com")
    begin = datetime.datetime(2026, 4, 1, tzinfo=datetime.UTC)
    rows: list[tuple[object, str, str, float]] = [
        (begin + datetime.timedelta(seconds=20 * place), "host/production-1", "usage_pct", 50.0) for place in range(10)
    ]
    telemetry_table.write([telemetry_table.frame(rows)], tmp_path / "t.parquet")
    measured = diagnose([tmp_path / "t.parquet"], cluster=load(full, ONE), simulate=False)
    assert [each.code for each in measured.findings] == ["cpu-ready"]


def test_figures_over_time_are_judged_as_such() -> None:
    idle = {"at": "2026-03-01", "over": "7 d", "cpu_mhz": 100, "cpu_p95_mhz": 300, "cpu_peak_mhz": 500}
    found = look({"vms.production-1-vm1.vcpus": 8, "vms.production-1-vm1.measured": idle}, ONE)
    finding = only(found, "oversized-vm")
    assert "over 7 days until 2026-03-01" in finding.text
    # of one moment nobody knows the peak
    moment = {"at": "2026-03-01", "cpu_mhz": 100}
    assert codes(look({"vms.production-1-vm1.vcpus": 8, "vms.production-1-vm1.measured": moment}, ONE)) == []


def test_nothing_is_found_of_places_that_were_guessed() -> None:
    wide = {
        **{f"vms.production-1-vm{n}.vcpus": 24 for n in (1, 2, 3)},
        "vms.production-1-vm1.vcpus": 25,
        "vms.production-1-vm1.cpu_hot_add": True,
        "vms.production-1-vm2.memory": "200 GiB",
        "vms.production-1-vm2.vcpus": 4,
        "vms.production-1-vm2.measured.memory_consumed": "190 GiB",
        "vms.production-1-vm4.vcpus": 40,
        "hosts.production-1.measured": None,
    }
    known = {each.code for each in look(wide, ONE).findings}
    assert known >= {
        "odd-wide-vm",
        "hot-add-wide-vm",
        "remote-numa-memory",
        "more-vcpus-than-cores",
        "unbalanced-monsters",
    }
    guessed = look({**wide, "vms.*.host_is_guess": True}, ONE)
    assert {each.code for each in guessed.findings} <= {"cluster-without-failover-capacity"}
    assert guessed.document["clusters"][0]["vms_by_guess"] == HOSTS * VMS


@pytest.mark.parametrize(
    ("touched", "consumed", "remote"),
    [
        (None, None, True),
        ("100 GiB", None, False),
        (None, "100 GiB", False),
        ("190 GiB", "12 GiB", False),
        ("180 GiB", None, True),
    ],
)
def test_remote_memory_is_by_what_is_touched(touched: str | None, consumed: str | None, remote: bool) -> None:
    for place in (1, VMS):
        vm = f"vms.production-1-vm{place}"
        found = look(
            {f"{vm}.memory": "200 GiB", f"{vm}.memory_touched": touched, f"{vm}.measured.memory_consumed": consumed},
            ONE,
        )
        told = [each.subject.name for each in found.findings if each.code == "remote-numa-memory"]
        # never about whichever machine was placed last
        assert told == ([f"production-1-vm{place}"] if remote else [])


def test_a_host_is_not_judged_by_the_machines_that_happen_to_be_known() -> None:
    full = {"hosts.production-1.measured.cpu_usage_pct": 99, "vms.production-1-vm1.measured.ready_pct": 12}
    whole = look(full, ONE)
    assert {each.code for each in whole.findings} == {"hidden-host-saturation", "host-cpu-saturated", "cpu-ready"}
    found = look({**full, "vms.production-2-vm1.host_is_guess": True}, ONE)
    assert {each.code for each in found.findings} == {"host-cpu-saturated", "cpu-ready"}
    assert " cores for " in only(whole, "cpu-ready").text
    assert " cores for " not in only(found, "cpu-ready").text
    row = found.document["clusters"][0]
    assert (row["vms_by_guess"], row["hosts"][0]["vcpu_per_core"], row["vcpu_per_core"]) == (1, None, 0.75)


def test_memory_of_a_machine_on_two_nodes_is_local() -> None:
    wide = {"vms.production-1-vm1.vcpus": 20, "vms.production-1-vm1.cores_per_socket": 10}
    wide |= {"vms.production-1-vm1.memory": "200 GiB", "vms.production-1-vm1.measured": None}
    assert "remote-numa-memory" not in {each.code for each in look(wide, ONE).findings}


def test_telemetry_of_a_machine_counts_before_its_export(tmp_path: Path) -> None:
    begin = datetime.datetime(2026, 4, 1, tzinfo=datetime.UTC)
    rows: list[tuple[object, str, str, float]] = [
        (begin + datetime.timedelta(seconds=20 * place), "host/production-1/vm/production-1-vm1", "used_mhz", 8_200.0)
        for place in range(10)
    ]
    telemetry_table.write([telemetry_table.frame(rows)], tmp_path / "t.parquet")
    found = diagnose([tmp_path / "t.parquet"], cluster=load(clusters=ONE), simulate=False)
    assert codes(found) == [("warning", "undersized-vm", "production-1-vm1")]


@pytest.mark.parametrize(("key", "value", "told"), [("host_is_guess", True, True), ("affinity", "0-19", False)])
def test_a_machine_whose_place_is_a_guess_or_bound_is_not_moved(key: str, value: object, told: bool) -> None:
    change = {**MONSTERS, "vms.management-1*.load": 20, f"vms.management-1-vm1.{key}": value}
    what_ifs = [each.what_if for each in look(change, ("management",), simulate=True).findings if each.what_if]
    moved = {key for each in what_ifs for tried in each["tried"] for key in tried["set"] if key.endswith(".host")}
    assert moved
    assert "vms.management-1-vm1.host" not in moved
    assert any("is a guess" in each["text"] for each in what_ifs) is told


def test_a_host_alone_needs_no_failover() -> None:
    alone = {f"hosts.production-{n}": None for n in (2, 3, 4)} | {f"vms.production-{n}-vm*": None for n in (2, 3, 4)}
    assert codes(look({**alone, "clusters.production.ha": {"enabled": False, "admission": False}}, ONE)) == []


MONSTERS = {f"vms.management-1-vm{n}.vcpus": 20 for n in (1, 2)} | {
    "hosts.management-*.measured.cpu_usage_pct": 70,
    "hosts.management-1.measured.cpu_usage_pct": 97,
    "vms.management-1*.measured.cpu_mhz": 12_000,
    "vms.management-1*.measured.ready_pct": 6,
}


def test_advice_and_what_ifs_stay_inside_the_cluster() -> None:
    found = look({**MONSTERS, "vms.management-1*.load": 20}, simulate=True)
    assert {each.code for each in found.findings} >= {"host-cpu-saturated", "cpu-ready"}
    tried = [change for each in found.findings if each.what_if for change in each.what_if["tried"]]
    targets = {value for change in tried for key, value in change["set"].items() if key.endswith(".host")}
    assert targets
    assert {target.partition("-")[0] for target in targets} == {"management"}
    # nobody has room there: the empty hosts of other clusters do not count
    assert "unbalanced-monsters" not in {each.code for each in found.findings}
    room = look({**MONSTERS, "hosts.management-4.measured.cpu_usage_pct": 5})
    assert only(room, "unbalanced-monsters").title.endswith("while management-4.example.com has free cores")


def test_the_change_that_helps_is_the_advice() -> None:
    found = look({**MONSTERS, "vms.management-1*.load": 20}, simulate=True)
    helped = [each for each in found.findings if each.what_if and each.what_if["helps"]]
    assert helped
    for finding in helped:
        assert finding.what_if is not None
        told = finding.to_dict()["advice"]
        assert told.casefold().startswith(finding.what_if["change"].casefold())


def test_a_row_for_each_cluster_and_host() -> None:
    found = look({"hosts.test-1.measured.cpu_usage_pct": 96, "clusters.test.ha.enabled": False}).document
    assert [row["name"] for row in found["clusters"]] == [f"Cluster {name}" for name in CLUSTERS]
    row = found["clusters"][3]
    assert {key: row[key] for key in ("key", "vms", "vcpus", "cores", "vcpu_per_core", "memory_configured_pct")} == {  # type: ignore[literal-required]
        **{"key": "test", "vms": HOSTS * VMS, "vcpus": 4 * HOSTS * VMS, "cores": 32 * HOSTS, "vcpu_per_core": 0.75},
        "memory_configured_pct": 37.5,
    }
    assert (row["cpu_pct"], row["memory_pct"], row["measured"]) == (
        46.5,
        35.0,
        "at the time of the export, 2026-03-01",
    )
    # HA, and guests that do not show that their host is full
    assert row["findings"]["warning"] == 2
    assert [host["findings"]["critical"] for host in row["hosts"]] == [1, 0, 0, 0]
    assert sum(row["findings"].values()) == len(found["findings"])
    console = Console(width=140, file=io.StringIO(), record=True)
    console.print(registry.DIAGNOSIS.table(found))
    shown = console.export_text()
    assert "Clusters" in shown
    assert "test-1.example.com" in shown
    assert "CPU and memory used: at the time of the export, 2026-03-01." in shown


def test_each_rule_is_tested_here_or_on_tables() -> None:
    """Every rule fires in a test of this folder."""
    texts = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert [rule.code for rule in RULES if f'"{rule.code}"' not in texts] == []
