"""Rules of diagnosis: each code at, below and beyond its bands, on tables of a few rows."""

from __future__ import annotations

import datetime
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.conftest import refused
from tests.python.diagnosis.estate import PAIR, only

from hypertwin import scenario
from hypertwin.diagnosis import ALSO_READ, Diagnosis, diagnose
from hypertwin.diagnosis.evidence import Evidence
from hypertwin.diagnosis.rule import OWN, Band
from hypertwin.diagnosis.rules import RULES
from hypertwin.ingest import telemetry, telemetry_table
from hypertwin.show import diagnosis, registry, view

pytestmark = pytest.mark.usefixtures("tables_here")

START = datetime.datetime(2026, 1, 1, 9, tzinfo=datetime.UTC)
STEP_S = 20
SAMPLES = 40

HOST = "host/esx1"
OTHER = "host/esx2"
DB = "host/esx1/vm/db"
WEB = "host/esx2/vm/web"
LUN = "host/esx1/device/naa.1"
GUEST = "guest/app"

Value = float | Sequence[float]
Table = Mapping[tuple[str, str], Value]
Look = Callable[..., Diagnosis]

HEALTHY: dict[tuple[str, str], Value] = {
    (HOST, "usage_pct"): 60,
    (HOST, "cores"): 24,
    (HOST, "threads"): 48,
    (HOST, "memory_bytes"): 256 * 2**30,
    (HOST, "memory_used_bytes"): 128 * 2**30,
    (OTHER, "usage_pct"): 40,
    (OTHER, "cores"): 24,
    (DB, "vcpus"): 8,
    (DB, "interval_s"): STEP_S,
    (DB, "run_sum_pct"): 480,
    (DB, "ready_sum_pct"): 8,
    (DB, "costop_sum_pct"): 1,
    (DB, "limited_sum_pct"): 0,
    (DB, "swap_wait_sum_pct"): 0,
    (DB, "ballooned_bytes"): 0,
    (DB, "swapped_bytes"): 0,
    (DB, "swap_in_bytes_per_s"): 0,
    (DB, "numa_local_pct"): 99,
    (WEB, "vcpus"): 4,
    (WEB, "run_sum_pct"): 200,
    (WEB, "ready_sum_pct"): 2,
    (LUN, "queued_commands"): 0,
    (LUN, "device_latency_ms"): 4,
    (LUN, "kernel_latency_ms"): 0.1,
    (LUN, "iops"): 3000,
}
"""Two hosts on which nothing is wrong."""


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Diagnose a table: a number is the value of all samples, a list has one for each sample."""

    def run(table: Table, samples: int = SAMPLES, clock: bool = True, **options: Any) -> Diagnosis:
        rows: list[tuple[object, str, str, float]] = []
        for place in range(samples):
            time = START + datetime.timedelta(seconds=STEP_S * place) if clock else None
            for (entity, metric), value in table.items():
                at = value if isinstance(value, int | float) else value[place] if place < len(value) else None
                if at is not None:
                    rows.append((time, entity, metric, float(at)))
        path = tmp_path / "table.parquet"
        telemetry_table.write([telemetry_table.frame(rows)], path)
        return diagnose([path], **options)

    return run


def codes(found: Diagnosis) -> set[str]:
    return {finding.code for finding in found.findings}


def test_a_vm_without_a_number_of_vcpus_has_those_that_were_measured(look: Look) -> None:
    table: dict[tuple[str, str], Value] = {key: value for key, value in HEALTHY.items() if key != (DB, "vcpus")}
    table[DB, "ready_sum_pct"] = 200
    table |= {(f"{DB}/vcpu/{number}", "ready_sum_pct"): 50 for number in range(4)}
    (found,) = (each for each in look(table).findings if each.code == "cpu-ready")
    assert found.severity == "critical"


def test_a_healthy_cluster_has_no_findings(look: Look) -> None:
    found = look(HEALTHY)
    assert found.findings == ()
    assert {each["code"] for each in found.document["not_checked"]} == {
        *("odd-wide-vm", "hot-add-wide-vm", "wider-than-node-badly-split", "cluster-without-failover-capacity"),
        *("ha-off", "admission-control-off", "hyper-threading-off", "power-policy", "mixed-cpu-models", "evc-behind"),
        *("datastore-nearly-full", "old-snapshot", "memory-limit"),
    }


def test_a_host_of_linux_is_judged_by_the_busy_time_of_its_threads(look: Look) -> None:
    table = {(HOST, "utilization_pct"): [70, 0, 60, 60], (HOST, "cores"): 8, (HOST, "threads"): 16, (DB, "vcpus"): 2}
    table |= {(OTHER, "utilization_pct"): 45, (OTHER, "cores"): 8, (OTHER, "threads"): 8}
    found = look(table, samples=4)
    assert codes(found) == {"host-cpu-saturated"}
    assert [row["cpu_pct"] for row in found.document["clusters"][0]["hosts"]] == [75, 45]
    assert any(note.startswith("esx1: CPU usage from the time") for note in found.document["notes"])
    (figure,) = found.findings[0].evidence
    assert figure.value == 100
    assert figure.when and figure.when.share_pct == 75
    unknown = look({(HOST, "utilization_pct"): 99, (HOST, "threads"): 16})
    assert "host-cpu-saturated" in {each["code"] for each in unknown.document["not_checked"]}


def test_a_host_of_esxi_is_judged_by_its_own_usage(look: Look) -> None:
    found = look({**HEALTHY, (HOST, "utilization_pct"): 99})
    assert found.findings == ()
    assert found.document["clusters"][0]["hosts"][0]["cpu_pct"] == 60


def test_ready_without_a_number_of_vcpus_is_not_passed_over(look: Look) -> None:
    found = look({(DB, "ready_sum_pct"): 300})
    assert found.findings == ()
    needs = {each["code"]: each["needs"] for each in found.document["not_checked"] if "vCPUs" in each["needs"]}
    assert {"cpu-ready", "co-stop", "cpu-limit", "swap-wait", "oversized-vm"} <= set(needs)


# code, metric, entity, divisor (what the band is of), and values with the severity that they have
AT_BANDS: list[tuple[str, str, str, float, list[tuple[float, str | None]]]] = [
    (
        "cpu-ready",
        "ready_sum_pct",
        DB,
        8,
        [(2.4, None), (2.5, None), (2.6, "info"), (5.1, "warning"), (10, "warning"), (10.1, "critical")],
    ),
    ("cpu-ready", "steal_pct", GUEST, 1, [(2.5, None), (2.6, "info"), (5.1, "warning"), (10.1, "critical")]),
    ("co-stop", "costop_sum_pct", DB, 8, [(0.9, None), (1, None), (1.1, "info"), (3, "info"), (3.1, "critical")]),
    ("cpu-limit", "limited_sum_pct", DB, 8, [(0.9, None), (1, None), (1.1, "warning"), (10.1, "critical")]),
    ("swap-wait", "swap_wait_sum_pct", DB, 8, [(5, None), (5.1, "critical")]),
    ("memory-reclaim", "ballooned_bytes", DB, 1, [(2**20, None), (2**20 + 1, "warning")]),
    ("memory-reclaim", "swapped_bytes", DB, 1, [(2**20, None), (2**30, "warning")]),
    ("memory-reclaim", "compressed_bytes", DB, 1, [(2**20, None), (2**30, "warning")]),
    ("memory-reclaim", "ballooned_bytes", HOST, 1, [(2**20, None), (2**30, "warning")]),
    ("memory-reclaim", "swap_in_bytes_per_s", DB, 1, [(2**20, None), (2**21, "critical")]),
    ("remote-numa-memory", "numa_local_pct", DB, 1, [(80, None), (79, "warning"), (0.5, "warning")]),
    ("storage-queue-full", "queued_commands", LUN, 1, [(1, None), (1.1, "warning")]),
    ("storage-latency", "device_latency_ms", LUN, 1, [(25, None), (26, "warning")]),
    ("storage-latency", "kernel_latency_ms", LUN, 1, [(2, None), (2.1, "warning")]),
    ("storage-latency", "latency_ms", f"{GUEST}/disk/sda", 1, [(25, None), (26, "warning")]),
    ("undersized-vm", "run_sum_pct", DB, 8, [(88, None), (93, "warning")]),
    ("undersized-vm", "guest_cpu_pct", GUEST, 1, [(90, None), (91, "warning")]),
    ("undersized-vm", "swap_in_bytes_per_s", GUEST, 1, [(2**20, None), (2**21, "warning")]),
    (
        "hci-overhead",
        "used_sum_pct",
        f"{HOST}/process/vsanTraceReader",
        24,
        [(10, None), (11, "info"), (21, "warning")],
    ),
    ("hci-overhead", "run_sum_pct", f"{HOST}/vm/NTNX-1A-A-CVM", 24, [(10, None), (21, "warning")]),
]


@pytest.mark.parametrize(
    ("code", "metric", "entity", "divisor", "value", "severity"),
    [(*case[:4], *pair) for case in AT_BANDS for pair in case[4]],
)
def test_a_rule_keeps_to_its_bands(
    look: Look, code: str, metric: str, entity: str, divisor: float, value: float, severity: str | None
) -> None:
    found = look({**HEALTHY, (entity, metric): value * divisor})
    if severity is None:
        assert code not in codes(found)
        return
    finding = only(found, code)
    of_host = code in ("hci-overhead", "swap-wait", "memory-reclaim")
    assert (finding.severity, finding.subject.path) == (severity, HOST if of_host else entity)
    assert finding.evidence[0].value == pytest.approx(value, abs=1.5 if code == "undersized-vm" else 0.01)
    assert finding.references
    assert finding.advice


def test_one_peak_is_no_finding_and_two_hold_it(look: Look) -> None:
    calm = [8.0] * SAMPLES
    assert look({**HEALTHY, (DB, "ready_sum_pct"): [800, *calm[1:]]}).findings == ()
    for samples, peaks, finds in (
        (12, 1, False),
        (12, 2, True),
        (40, 3, True),
        (40, 2, False),
        (2, 1, False),
        (1, 1, True),
    ):
        values = [120.0] * peaks + calm
        found = look({**HEALTHY, (DB, "ready_sum_pct"): values[:samples]}, samples)
        assert ("cpu-ready" in codes(found)) is finds, (samples, peaks)


def test_ready_is_told_summed_and_per_vcpu_with_its_interval(look: Look) -> None:
    finding = only(look({**HEALTHY, (DB, "ready_sum_pct"): 56, (DB, "cpu_latency_pct"): 12}), "cpu-ready")
    assert "CPU latency (%LAT_C) is 12 %" in finding.text
    assert "ready 56 % summed over 8 vCPUs = 7 % per vCPU (1,400 ms per vCPU of each 20 s)" in finding.title
    assert finding.evidence[0].value == 7
    assert finding.evidence[0].when is not None
    assert finding.evidence[0].when.to_dict() == {
        "share_pct": 100.0,
        "first": "2026-01-01 09:00:00",
        "last": "2026-01-01 09:13:00",
        "worst": "2026-01-01 09:00:00",
    }


def test_the_interval_is_found_in_the_times_where_nothing_says_it(look: Look) -> None:
    table = {key: value for key, value in HEALTHY.items() if key[1] != "interval_s"}
    finding = only(look({**table, (DB, "ready_sum_pct"): 56}), "cpu-ready")
    assert "per vCPU of each 20 s" in finding.title
    untimed = only(look({**table, (DB, "ready_sum_pct"): 56}, clock=False), "cpu-ready")
    assert "interval not known" in untimed.title
    assert untimed.evidence[0].when is not None
    assert untimed.evidence[0].when.first is None


def test_when_tells_how_often_and_when(look: Look) -> None:
    values = [8.0] * 30 + [40.0, 56.0, 80.0, 40.0] + [8.0] * 6
    finding = only(look({**HEALTHY, (DB, "ready_sum_pct"): values}), "cpu-ready")
    assert finding.evidence[0].when is not None
    assert finding.evidence[0].when.to_dict() == {
        "share_pct": 10.0,
        "first": "2026-01-01 09:10:00",
        "last": "2026-01-01 09:11:00",
        "worst": "2026-01-01 09:10:40",
    }


def test_ready_that_a_limit_makes_is_the_limits(look: Look) -> None:
    found = look({**HEALTHY, (DB, "ready_sum_pct"): 160, (DB, "limited_sum_pct"): 150})
    assert codes(found) == {"cpu-limit"}
    assert "A less busy host does not help." in only(found, "cpu-limit").text


def test_ready_beyond_limited_time_is_the_hosts(look: Look) -> None:
    both = look({**HEALTHY, (DB, "ready_sum_pct"): 480, (DB, "limited_sum_pct"): 304}, charts=True)
    waits, limit = only(both, "cpu-ready"), only(both, "cpu-limit")
    assert (waits.severity, waits.evidence[0].value, waits.cause) == ("critical", 22, None)
    assert "ready 176 % summed over 8 vCPUs = 22 % per vCPU" in waits.title
    assert "Its limited time is not included." in waits.text
    assert "The rest is the host's." in limit.text
    assert waits.charts[0]["mean"] == [22] * SAMPLES
    # the host makes it wait at other times than the limit
    night = look({**HEALTHY, (DB, "ready_sum_pct"): [320, 96] * 20, (DB, "limited_sum_pct"): [320, 0] * 20})
    assert only(night, "cpu-ready").evidence[0].value == 6
    # and one peak is still none
    peak = look({**HEALTHY, (DB, "ready_sum_pct"): [800] + [8] * 11, (DB, "limited_sum_pct"): 1}, 12)
    assert "cpu-ready" not in codes(peak)


def test_limited_time_is_not_near_the_limit_of_ready(look: Look) -> None:
    limits = look({**HEALTHY, (DB, "ready_sum_pct"): 324, (DB, "limited_sum_pct"): 320}).document["limits"]
    assert [(each["name"], each["value"]) for each in limits if each["what"].startswith("ready")] == [("db", 0.5)]


@pytest.mark.parametrize(
    ("metric", "summed", "worst", "severity", "first"),
    [
        ("ready_sum_pct", 14.0, 12.0, "warning", "vcpu"),
        ("ready_sum_pct", 14.0, 9.9, None, ""),  # below the critical limit
        ("ready_sum_pct", 24.0, 12.0, "warning", "vcpu"),  # the mean is an info
        ("ready_sum_pct", 36.0, 12.0, "info", "vm"),  # not far beyond the mean
        ("ready_sum_pct", 48.0, 40.0, "warning", "vm"),  # the mean says it already
        ("ready_sum_pct", 88.0, 50.0, "critical", "vm"),
        ("costop_sum_pct", 6.0, 4.0, "warning", "vcpu"),
        ("costop_sum_pct", 6.0, 2.9, None, ""),
    ],
)
def test_a_single_vcpu_that_waits_is_not_hidden_by_the_mean(
    look: Look, metric: str, summed: float, worst: float, severity: str | None, first: str
) -> None:
    table = {**HEALTHY, (DB, metric): summed, (f"{DB}/vcpu/3", metric): worst}
    table |= {(f"{DB}/vcpu/{number}", metric): (summed - worst) / 7 for number in (0, 1, 2, 4, 5, 6, 7)}
    found = look(table, charts=True)
    if severity is None:
        assert not found.findings
        return
    (finding,) = found.findings
    measures = {(measure.entity or "").split("/")[-2]: measure for measure in finding.evidence}
    assert (finding.severity, (finding.evidence[0].entity or "").split("/")[-2]) == (severity, first)
    assert (f"vCPU 3 alone: {'ready' if 'ready' in metric else 'co-stop'} {worst:g} % (" in finding.title) is (
        first == "vcpu"
    )
    assert measures["vm"].value == summed / 8
    if "vcpu" in measures:
        assert measures["vcpu"].value == worst
        assert measures["vcpu"].when is not None
    assert len(finding.charts) == len(measures)
    # what a limit costs every vCPU is the limit's
    table |= {(DB, "limited_sum_pct"): summed}
    assert metric == "costop_sum_pct" or "cpu-ready" not in codes(look(table))


def test_a_full_machine_is_not_undersized_while_its_host_or_limit_holds_it(look: Look) -> None:
    busy = {**HEALTHY, (DB, "run_sum_pct"): 500}
    assert codes(look({**busy, (DB, "ready_sum_pct"): 280})) == {"cpu-ready"}
    assert codes(look({**busy, (DB, "ready_sum_pct"): 290, (DB, "limited_sum_pct"): 280})) == {"cpu-limit"}


def test_a_vm_gets_more_vcpus_only_where_its_host_can_run_them(look: Look) -> None:
    busy = {**HEALTHY, (DB, "run_sum_pct"): 740}
    assert codes(look(busy)) == {"undersized-vm"}
    assert codes(look({**busy, (DB, "ready_sum_pct"): 60})) == {"cpu-ready"}
    assert codes(look({**busy, (HOST, "usage_pct"): 93})) == {"host-cpu-saturated"}


def test_steal_is_no_work_of_a_guest(look: Look) -> None:
    stolen: Table = {(GUEST, "guest_cpu_pct"): 95, (GUEST, "steal_pct"): 25}
    assert codes(look(stolen)) == {"cpu-ready"}
    # nor if the guest is that of a VM of the cluster file
    known = scenario.loads(PAIR, {"vms.db.label": "app"})
    assert "undersized-vm" not in codes(look(stolen, cluster=known, simulate=False))
    full = only(look({**stolen, (GUEST, "steal_pct"): 2}, charts=True), "undersized-vm")
    assert full.evidence[0].value == 93
    assert full.charts[0]["mean"] == [93] * SAMPLES


def test_hidden_saturation_needs_a_full_host_and_a_calm_guest(look: Look) -> None:
    full = {**HEALTHY, (HOST, "usage_pct"): 100}
    finding = only(look(full), "hidden-host-saturation")
    assert (finding.severity, finding.subject.path) == ("warning", HOST)
    assert [round(measure.value) for measure in finding.evidence] == [100, 61]
    # what is drawn of the guest is what was judged: its wait for a CPU looks busy to it
    drawn = only(look(full, charts=True), "hidden-host-saturation").charts[1]
    assert [round(value) for value in drawn["mean"]] == [61] * SAMPLES
    # a guest that shows it, a host that has room, and no guest at all
    assert "hidden-host-saturation" not in codes(look({**full, (DB, "run_sum_pct"): 700}))
    assert "hidden-host-saturation" not in codes(look({**HEALTHY, (HOST, "usage_pct"): 94}))
    assert codes(look({(HOST, "usage_pct"): 100})) == {"host-cpu-saturated"}
    # most vCPUs show it, though not those of the largest VM
    apps: Table = {
        **full,
        **{(f"{HOST}/vm/app-{number}", "vcpus"): 2 for number in range(5)},
        **{(f"{HOST}/vm/app-{number}", "run_sum_pct"): 200 for number in range(5)},
    }
    assert "hidden-host-saturation" not in codes(look(apps))
    few = {key: 60.0 if "app-4" in key[0] and key[1] == "run_sum_pct" else value for key, value in apps.items()}
    assert only(look(few), "hidden-host-saturation").evidence[1].entity == DB
    # one guest of the same name was looked into
    assert "hidden-host-saturation" not in codes(look({**full, ("guest/DB", "guest_cpu_pct"): 89}))


def test_saturation_explains_ready_and_costop(look: Look) -> None:
    found = look({**HEALTHY, (HOST, "usage_pct"): 100, (DB, "ready_sum_pct"): 100, (DB, "costop_sum_pct"): 40})
    assert codes(found) == {"host-cpu-saturated", "hidden-host-saturation", "cpu-ready", "co-stop"}
    assert only(found, "hidden-host-saturation").cause is None
    assert only(found, "host-cpu-saturated").cause == ("hidden-host-saturation", HOST)
    assert only(found, "hidden-host-saturation").severity == "critical"
    for code in ("cpu-ready", "co-stop"):
        assert only(found, code).cause == ("hidden-host-saturation", HOST)


def test_a_host_that_takes_memory_back_explains_what_its_machines_lack(look: Look) -> None:
    """Figures of a published recording of a host with 7.9 GiB."""
    gib = 2**30
    table: dict[tuple[str, str], Value] = {
        (HOST, "memory_bytes"): 7.9 * gib,
        (HOST, "ballooned_bytes"): 5 * gib,
        (HOST, "swapped_bytes"): 1.1 * gib,
    }
    for number in range(6):
        vm = f"{HOST}/vm/vm-{number}"
        table |= {(vm, "memory_bytes"): 3 * gib, (vm, "ballooned_bytes"): 0.8 * gib}
    found = look(table)
    finding = only(found, "host-memory-overcommitted-reclaiming")
    assert (finding.severity, finding.subject.path) == ("warning", HOST)
    assert finding.figure == "5 GiB ballooned and 1.1 GiB swapped out"
    assert "6 VMs of esx1 are configured with 228 % of its 7.9 GiB" in finding.text
    # once for the host, with its machines
    assert codes(found) == {"host-memory-overcommitted-reclaiming"}
    assert "VMs (6): vm-0, vm-1, " in finding.text
    # reads back from swap make it critical, and memory enough for all leaves it to the machines
    reading = look({**table, (f"{HOST}/vm/vm-1", "swap_in_bytes_per_s"): 2**22})
    assert only(reading, "host-memory-overcommitted-reclaiming").severity == "critical"
    roomy = only(look({**table, (HOST, "memory_bytes"): 32 * gib}), "memory-reclaim")
    assert (roomy.subject.path, roomy.figure) == (HOST, "5 GiB ballooned and 1.1 GiB swapped out")
    assert "configured with no more than its 32 GiB." in roomy.text


def test_a_host_tells_of_its_memory_by_its_own_counters(look: Look) -> None:
    table: dict[tuple[str, str], Value] = {
        (HOST, "memory_bytes"): 64 * 2**30,
        (HOST, "ballooned_bytes"): 2**30,
        (HOST, "compressed_bytes"): 2**29,
        (HOST, "memory_state"): 2,
        (HOST, "memory_overcommit_pct"): 20,
        (HOST, "memory_free_bytes"): [2**30] * 39 + [2**28],
        (DB, "memory_bytes"): 80 * 2**30,
    }
    finding = only(look(table), "host-memory-overcommitted-reclaiming")
    assert finding.figure == "1 GiB ballooned and 512 MiB compressed"
    assert (
        "By its own counters, its memory state is 2 at worst (0 is enough), it is overcommitted by 20 % and "
        "at least 1 GiB was free."
    ) in finding.text
    own = only(look({**table, (HOST, "swap_in_bytes_per_s"): 2**21}), "host-memory-overcommitted-reclaiming")
    assert (own.severity, own.figure) == (
        "critical",
        "1 GiB ballooned, 512 MiB compressed and 2 MiB/s read back from swap",
    )


def test_a_host_whose_memory_is_used_up_or_in_a_low_state_is_full(look: Look) -> None:
    full: Table = {(HOST, "memory_bytes"): 256 * 2**30, (HOST, "memory_used_bytes"): 255 * 2**30}
    finding = only(look({**full, (HOST, "memory_state"): 3}), "host-memory-full")
    assert (finding.severity, finding.figure) == ("critical", "memory 100 % used, state 3 (0 is enough)")
    assert [measure.metric for measure in finding.evidence] == ["memory_used_bytes", "memory_state"]
    for state, severity in ((2, "warning"), (3, "critical")):
        assert only(look({**HEALTHY, (HOST, "memory_state"): state}), "host-memory-full").severity == severity
    assert not codes(look({**HEALTHY, (HOST, "memory_state"): 1}))


def test_machines_that_wait_for_swap_are_told_once_for_their_host(look: Look) -> None:
    other = f"{HOST}/vm/other"
    waits = {(DB, "swap_wait_sum_pct"): 80, (other, "swap_wait_sum_pct"): 80, (other, "vcpus"): 2}
    finding = only(look({**HEALTHY, **waits}), "swap-wait")
    assert finding.subject.path == HOST
    assert [(measure.entity, measure.value) for measure in finding.evidence] == [(other, 40), (DB, 10)]
    assert finding.title.startswith("2 VMs, other the most")


def test_a_vm_that_waits_for_swap_because_of_its_limit(look: Look) -> None:
    table: Table = {(DB, "swap_wait_sum_pct"): 80, (DB, "swapped_bytes"): 2**34, (DB, "memory_used_bytes"): 2**34}
    found = look(table, cluster=scenario.loads(PAIR, {"vms.db.memory_limit": "16 GiB"}), simulate=False)
    assert {finding.code: finding.cause for finding in found.findings} == {
        "swap-wait": ("memory-limit", DB),
        "memory-limit": None,
    }


def test_a_saturated_host_says_its_load_average(look: Look) -> None:
    finding = only(look({(HOST, "usage_pct"): 97, (HOST, "cpu_load_1min"): 1.4}), "host-cpu-saturated")
    assert "Its 1-minute load average is 1.4" in finding.text
    assert finding.evidence[1].metric == "cpu_load_1min"


def test_findings_are_sorted_by_severity(look: Look) -> None:
    table = {**HEALTHY, (DB, "ready_sum_pct"): 30, (WEB, "ready_sum_pct"): 60, (DB, "numa_local_pct"): 40}
    found = look(table)
    assert [(finding.severity, finding.code) for finding in found.findings] == [
        ("critical", "cpu-ready"),
        ("warning", "remote-numa-memory"),
        ("info", "cpu-ready"),
    ]
    assert look(table).document == found.document


@pytest.mark.parametrize(
    ("vcpus", "peak", "finds"),
    [(8, 3.2, False), (8, 3.0, True), (4, 0.2, False), (6, 1.0, True), (32, 12.0, True), (32, 13.0, False)],
)
def test_oversized_is_judged_by_the_peak(look: Look, vcpus: int, peak: float, finds: bool) -> None:
    calm = {**HEALTHY, (DB, "ready_sum_pct"): 0, (DB, "costop_sum_pct"): 0, (DB, "vcpus"): vcpus}
    found = look({**calm, (DB, "run_sum_pct"): [peak * 100, *[5.0] * (SAMPLES - 1)]})
    assert codes(found) - {"more-vcpus-than-cores"} == ({"oversized-vm"} if finds else set())
    if finds:
        assert only(found, "oversized-vm").severity == "info"


def test_an_oversized_machine_that_pays_for_it_is_a_warning(look: Look) -> None:
    found = look({**HEALTHY, (DB, "vcpus"): 16, (DB, "run_sum_pct"): 300, (DB, "costop_sum_pct"): 40})
    assert only(found, "oversized-vm").severity == "warning"
    assert "uses 3.5" in only(found, "oversized-vm").title


def test_more_vcpus_than_cores_is_seen_in_telemetry_too(look: Look) -> None:
    assert "more-vcpus-than-cores" not in codes(look({**HEALTHY, (DB, "vcpus"): 24, (DB, "run_sum_pct"): 1500}))
    finding = only(look({**HEALTHY, (DB, "vcpus"): 26, (DB, "run_sum_pct"): 1500}), "more-vcpus-than-cores")
    assert "26 vCPUs on the 24 cores of esx1" in finding.title
    assert finding.advice.endswith("24 or fewer, an even number per node.")
    single = {**HEALTHY, (HOST, "cores"): 1, (DB, "vcpus"): 2, (DB, "run_sum_pct"): 60}
    finding = only(look(single), "more-vcpus-than-cores")
    assert finding.title.endswith("has 2 vCPUs on the 1 core of esx1")
    assert finding.advice == "Use at most one vCPU per physical core: 1."


MONSTERS: dict[tuple[str, str], Value] = {
    **{key: value for key, value in HEALTHY.items() if key[0] != DB},
    (HOST, "usage_pct"): 90,
    (OTHER, "usage_pct"): 5,
    **{(f"{HOST}/vm/m{n}", "vcpus"): 16 for n in (1, 2)},
    **{(f"{HOST}/vm/m{n}", "run_sum_pct"): 1000 for n in (1, 2)},
    **{(f"{HOST}/vm/m{n}", "ready_sum_pct"): 16 for n in (1, 2)},
}


def test_monsters_together_while_another_host_has_room(look: Look) -> None:
    finding = only(look(MONSTERS), "unbalanced-monsters")
    assert (finding.severity, finding.subject.path) == ("warning", HOST)
    assert (
        only(look({**MONSTERS, (f"{HOST}/vm/m1", "ready_sum_pct"): 50}), "unbalanced-monsters").severity == "critical"
    )
    for change in (
        {(OTHER, "usage_pct"): 60},  # no room there
        {(HOST, "usage_pct"): 40},  # nobody is hurt
        {(f"{HOST}/vm/m1", "vcpus"): 8},  # within the cores
        {(WEB, "vcpus"): 16},  # a monster there too
    ):
        assert "unbalanced-monsters" not in codes(look({**MONSTERS, **change})), change


def test_missing_counters_are_named(look: Look) -> None:
    found = look({(HOST, "usage_pct"): 50, (DB, "vcpus"): 4})
    needs = {each["code"]: each["needs"] for each in found.document["not_checked"]}
    assert needs["cpu-ready"] == "ready of VMs (%RDY, cpu.ready, vCPU delay), or steal of guests"
    assert needs["remote-numa-memory"] == "NUMA locality of VMs (N%L)"
    assert found.findings == ()


def test_without_the_number_of_vcpus_nothing_is_judged_per_vcpu(look: Look) -> None:
    assert look({(DB, "ready_sum_pct"): 300, (DB, "costop_sum_pct"): 300}).findings == ()


def test_a_guest_alone_says_what_cannot_be_seen(look: Look) -> None:
    found = look({(GUEST, "guest_cpu_pct"): 40, (GUEST, "steal_pct"): 0})
    assert found.findings == ()
    assert any("only guests were measured" in note for note in found.document["notes"])


def test_no_data_and_odd_data(look: Look, tmp_path: Path) -> None:
    assert look({}, samples=0).findings == ()
    assert look({(DB, "ready_sum_pct"): 80, (DB, "vcpus"): 1e300}).findings == ()
    assert look({(DB, "ready_sum_pct"): -80, (DB, "vcpus"): 1}).findings == ()
    with refused("file-not-found"):
        diagnose([tmp_path / "missing.csv"])


@given(st.lists(st.floats(-1e308, 1e308), min_size=1, max_size=30))
def test_figures_of_a_series_are_in_order(values: list[float]) -> None:
    import tempfile

    rows = [
        (START + datetime.timedelta(seconds=place), DB, "ready_sum_pct", value) for place, value in enumerate(values)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.parquet")
        telemetry_table.write([telemetry_table.frame(rows)], path)
        with Evidence.of([str(path)], ["ready_sum_pct"]) as evidence:
            stat = evidence.stat(DB, "ready_sum_pct")
            series = evidence.series([(DB, "ready_sum_pct")])[DB, "ready_sum_pct"]
    assert stat is not None
    assert stat.count == len(values)
    ordered = sorted(values)
    close = pytest.approx
    assert stat.most == close(ordered[-1], rel=1e-8)
    assert stat.least == close(ordered[0], rel=1e-8)
    assert stat.high == close(min(ordered[-(-len(values) * 95 // 100) - 1], ordered[-2:][0]), rel=1e-8)
    assert len(series.x) == len(values)
    assert series.most == close(values, rel=1e-8)


def test_series_are_thinned_out(look: Look) -> None:
    values = [float(place % 100) for place in range(1000)]
    found = look({**HEALTHY, (DB, "ready_sum_pct"): values}, samples=1000, charts=True)
    chart = only(found, "cpu-ready").charts[0]
    assert len(chart["x"]) == len(chart["mean"]) == 300
    assert max(chart["most"]) == pytest.approx(99 / 8)
    assert sum(chart["mean"]) / 300 == pytest.approx(49.5 / 8, rel=0.01)
    assert chart["band"]["critical"] == 10


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, set()),
        ({"vms.db.vcpus": 9, "vms.db.cores_per_socket": 1}, {"odd-wide-vm"}),
        ({"vms.db.vcpus": 10, "vms.db.cores_per_socket": 5, "vms.db.cpu_hot_add": True}, {"hot-add-wide-vm"}),
        ({"vms.db.cpu_hot_add": True}, set()),
        (
            {"vms.db.vcpus": 12, "vms.db.cores_per_socket": 3, "vms.db.numa.follow_cores_per_socket": True},
            {"wider-than-node-badly-split"},
        ),
        ({"vms.db.vcpus": 20, "vms.db.cores_per_socket": 10}, {"more-vcpus-than-cores"}),
        (
            {"vms.web.memory": "100 GiB", "vms.db.memory": "60 GiB"},
            {"cluster-without-failover-capacity", "remote-numa-memory"},
        ),
        ({"vms.db.count": 3, "vms.db.memory": "16 GiB"}, {"unbalanced-monsters"}),
    ],
)
def test_configuration_alone(change: dict[str, Any], expected: set[str]) -> None:
    found = diagnose(cluster=scenario.loads(PAIR, change), simulate=False)
    assert codes(found) == expected
    assert all(finding.what_if is None for finding in found.findings)


def test_a_move_is_simulated_before_and_after(look: Look) -> None:
    crowded = scenario.loads(PAIR, {"vms.db.count": 5, "vms.db.memory": "16 GiB"})
    table = {
        **{(f"{HOST}/vm/db-{n}", "ready_sum_pct"): 80 for n in range(1, 6)},
        (HOST, "usage_pct"): 100,
        (OTHER, "usage_pct"): 10,
    }
    found = look(table, cluster=crowded)
    told = [finding for finding in found.findings if finding.code == "cpu-ready"]
    assert {finding.subject.name for finding in told} == {f"db-{n}" for n in range(1, 6)}
    for finding in told:
        assert finding.what_if is not None
        assert finding.what_if["set"] == {"vms.db-1.host": "esx2"}
        assert "move db-1 to esx2" in finding.what_if["text"]
    moved = only(found, "unbalanced-monsters").what_if
    assert moved is not None
    assert (moved["machine"], moved["helps"]) == ("db-1", True)
    assert moved["after"]["ready_pct"] < moved["before"]["ready_pct"] / 4
    assert moved["after"]["response_ms_p95"] < moved["before"]["response_ms_p95"] / 2
    again = look(table, cluster=crowded)
    assert again.document == found.document


@pytest.mark.parametrize(
    ("code", "table", "change", "sets"),
    [
        ("cpu-limit", {(DB, "limited_sum_pct"): 200}, {"vms.db.limit": "6 GHz"}, {"vms.db.limit": None}),
        ("oversized-vm", {(DB, "run_sum_pct"): 80}, {"vms.db.load": 0.05}, {"vms.db.vcpus": 2}),
        ("undersized-vm", {(DB, "run_sum_pct"): 780}, {"vms.db.load": 2}, {"vms.db.vcpus": 12}),
        ("odd-wide-vm", {}, {"vms.db.vcpus": 9, "vms.db.cores_per_socket": 1}, {"vms.db.vcpus": 10}),
    ],
)
def test_what_would_cure_it(look: Look, code: str, table: Table, change: dict[str, Any], sets: dict[str, Any]) -> None:
    finding = only(look({(DB, "interval_s"): 20, **table}, cluster=scenario.loads(PAIR, change)), code)
    assert finding.what_if is not None
    assert {key: finding.what_if["set"][key] for key in sets} == sets
    assert finding.what_if["before"] != finding.what_if["after"]
    assert isinstance(finding.what_if["helps"], bool)


def test_labels_are_matched_and_strangers_named(look: Look) -> None:
    found = look(
        {("host/ESX1.example.com/vm/DB", "ready_sum_pct"): 80, ("host/esx1/vm/other", "ready_sum_pct"): 80},
        cluster=scenario.loads(PAIR),
        simulate=False,
    )
    assert only(found, "cpu-ready").subject.name == "DB"
    assert any("other" in note for note in found.document["notes"])


def test_rules_are_whole() -> None:
    listed = [rule.code for rule in RULES]
    assert len(listed) == len(set(listed))
    for rule in RULES:
        assert rule.references, rule.code
        assert rule.needs, rule.code
        for band in rule.bands:
            limits = [limit for _, limit in band.limits()]
            assert limits == sorted(limits, reverse=not band.below)
            assert band.own <= {severity for severity, _ in band.limits()} or band.own == OWN
        for source in rule.references:
            assert source.title, rule.code
            assert not source.address or source.address.startswith("https://"), source.address
    for metric in ALSO_READ:
        assert metric in telemetry.METRICS


@pytest.mark.parametrize(
    ("metric", "entity", "value", "source", "own"),
    [
        ("ready_sum_pct", DB, 3.0 * 8, "own", ["info"]),
        ("ready_sum_pct", DB, 6.0 * 8, "published", ["info"]),
        ("limited_sum_pct", DB, 20.0 * 8, "own", ["warning", "critical"]),
        ("numa_local_pct", DB, 50.0, "published", []),
    ],
)
def test_whose_limit_decided_is_told(
    look: Look, metric: str, entity: str, value: float, source: str, own: list[str]
) -> None:
    (finding,) = look({**HEALTHY, (entity, metric): value}).document["findings"]
    assert finding["evidence"][0]["band_source"] == source
    assert finding["evidence"][0]["band"]["own"] == own


@given(st.floats(0, 100))
def test_a_band_is_monotone(value: float) -> None:
    band = Band("ready_sum_pct", "%", "ready", 2.5, 5, 10)
    order = [None, "info", "warning", "critical"]
    assert order.index(band.severity(value)) <= order.index(band.severity(value + 1))


def test_the_result_is_json(look: Look) -> None:
    found = look({**HEALTHY, (DB, "ready_sum_pct"): 100}).document
    assert json.loads(json.dumps(found, allow_nan=False)) == found


LABELLED = {
    "vms.db.count": 1,
    "vms.db.label": "DB 1 (production)",
    "vms.web.label": "Web",
    "hosts.esx1.label": "esx1.example.com",
    "vms.web.vcpus": 12,
    "vms.web.host": "esx1",
    "vms.web.load": 1,
}


@pytest.mark.parametrize(
    ("rule", "moved"),
    [
        (None, "vms.web.host"),
        ({"kind": "keep-together", "vms": ["db", "web"]}, None),
        ({"kind": "keep-apart", "vms": ["db", "web"]}, "vms.web.host"),
        ({"kind": "run-on", "vms": ["web"], "hosts": ["esx1"]}, "vms.db.host"),
        ({"kind": "run-on", "vms": ["web", "db"], "hosts": ["esx1"], "mandatory": True}, None),
        ({"kind": "not-on", "vms": ["web"], "hosts": ["esx2"]}, "vms.db.host"),
    ],
)
def test_moves_keep_to_placement_rules(look: Look, rule: dict[str, Any] | None, moved: str | None) -> None:
    rules = [{"name": "a rule", **rule}] if rule else []
    cluster = scenario.loads(PAIR, {**LABELLED, "rules": rules})
    path = telemetry.entity("host", "ESX1", "vm", "DB 1 (production)")
    finding = only(look({(path, "ready_sum_pct"): 200}, cluster=cluster), "cpu-ready")
    assert finding.subject.name == "DB 1 (production)"
    if moved is None:
        assert finding.what_if is None
    else:
        assert finding.what_if is not None
        assert finding.what_if["set"] == {moved: "esx2"}


def shown(found: Diagnosis) -> list[str]:
    """What a terminal shows."""
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(registry.DIAGNOSIS.table(found.document))
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_every_code_is_told_first_however_many_machines_there_are(look: Look) -> None:
    table = dict(HEALTHY)
    for number in range(60):
        limited, waiting = (telemetry.entity("host", "esx1", "vm", f"{word}-{number}") for word in ("capped", "batch"))
        table |= {(limited, "vcpus"): 1, (limited, "limited_sum_pct"): 20 + number / 10}
        table |= {(waiting, "vcpus"): 1, (waiting, "ready_sum_pct"): 20 + number / 10}
    table |= {(HOST, "usage_pct"): 100, (DB, "costop_sum_pct"): 40, (LUN, "queued_commands"): 9}
    found = look(table)
    lines = shown(found)
    assert lines[0].startswith("124 findings with 62 causes: 123 critical, 1 warning")
    made = diagnosis.view(found.document)
    glance, *_ = view.tables_of(made)
    assert [(row["code"], row["of"], row["cause"]) for row in glance["rows"]] == [
        ("cpu-limit", "60 VMs", ""),
        ("hidden-host-saturation", "esx1", ""),
        ("host-cpu-saturated", "esx1", "hidden-host-saturation"),
        ("cpu-ready", "60 VMs", "hidden-host-saturation"),
        ("co-stop", "db", "hidden-host-saturation"),
        ("storage-queue-full", "naa.1", ""),
    ]
    assert glance["rows"][0]["worst"] == (
        "capped-59: limited 26 % summed over 1 vCPU = 26 % per vCPU (5,180 ms per vCPU of each 20 s)"
    )
    assert any("57 more: capped-56, capped-55" in line for line in lines)
    assert len(lines) < 90
    told = diagnosis.stories(found.document)
    assert sorted(map(len, told)) == [1] * 61 + [63]
    assert next(story for story in told if len(story) == 63)[0]["name"] == "esx1"


def test_a_cause_keeps_its_severity_and_is_placed_by_what_follows_from_it(look: Look) -> None:
    found = look({**HEALTHY, (HOST, "usage_pct"): 100})
    whole = diagnosis.view(found.document)
    counted, first, second = shown(found)[:3]
    assert ": 1 critical, 1 warning (" in counted
    assert first.startswith("warning: esx1 is saturated and its guests do not show it")
    assert first.endswith("; critical: host-cpu-saturated follows from it")
    assert second.startswith("Findings by code")
    glance, *_ = view.tables_of(whole)
    assert [(row["code"], row["severity"]["text"]) for row in glance["rows"]] == [
        ("hidden-host-saturation", "warning"),
        ("host-cpu-saturated", "critical"),
    ]
    (cause,) = (each for each in whole["sections"] if each["heading"].startswith("esx1 is saturated"))
    assert cause["badge"] == {"text": "warning", "tone": "warn"}


def test_an_adapter_is_slow_because_a_queue_behind_it_is_full(look: Look) -> None:
    adapter = f"{HOST}/adapter/vmhba0"
    full = {**HEALTHY, (LUN, "queued_commands"): 9}
    found = look({**full, (LUN, "kernel_latency_ms"): 7, (adapter, "kernel_latency_ms"): 5})
    assert [finding.cause for finding in found.findings if finding.code == "storage-latency"] == [
        ("storage-queue-full", LUN)
    ] * 2
    assert only(look({**full, (adapter, "device_latency_ms"): 50}), "storage-latency").cause is None


@pytest.mark.parametrize(
    "disk",
    [
        f"{DB}/disk/scsi0:0",
        f"{HOST}/pool/vSAN Owner",
        f"{HOST}/datastore/ds1",
        f"{HOST}/adapter/vmhba0",
        f"{GUEST}/disk/sda",
    ],
)
def test_latencies_of_reads_and_writes_count_by_their_ios(look: Look, disk: str) -> None:
    io: Table = {(disk, "read_iops"): 300, (disk, "write_iops"): 100, (disk, "write_latency_ms"): 20}
    found = look({**io, (disk, "read_latency_ms"): 40}, charts=True)
    finding = only(found, "storage-latency")
    assert (finding.subject.path, finding.evidence[0].metric, finding.evidence[0].value) == (disk, "latency_ms", 35)
    assert "at 400 I/Os a second" in finding.text
    assert finding.charts[0]["mean"] == [35] * SAMPLES
    assert "storage-latency" not in {each["code"] for each in found.document["not_checked"]}
    assert not codes(look({**io, (disk, "read_latency_ms"): 26}))
    # a measured mean counts, and so do I/Os without any writes
    assert not codes(look({**io, (disk, "read_latency_ms"): 40, (disk, "latency_ms"): 24}))
    reads: Table = {(disk, "read_iops"): 300, (disk, "write_iops"): 0, (disk, "read_latency_ms"): 40}
    assert only(look(reads), "storage-latency").evidence[0].value == 40


def test_few_slow_reads_among_many_fast_writes_are_no_slow_storage(look: Look) -> None:
    disk = f"{DB}/disk/scsi0:0"
    calm: Table = {
        (disk, "read_iops"): [1000, 1000, 1000, 1] * 10,
        (disk, "read_latency_ms"): [1, 1, 1, 100] * 10,
        (disk, "write_iops"): 1000,
        (disk, "write_latency_ms"): 1,
    }
    assert not codes(look(calm))
    few: Table = {(disk, "read_iops"): 0.5, (disk, "read_latency_ms"): 100}
    assert not codes(look(few))
    unknown = look({(disk, "read_latency_ms"): 100})
    (needs,) = [each["needs"] for each in unknown.document["not_checked"] if each["code"] == "storage-latency"]
    assert needs.endswith("or that of their reads and writes with I/Os per second")


@pytest.mark.parametrize(
    ("device_ms", "kernel_ms", "causes"),
    [
        (45, 15, {"storage-queue-full": ("storage-latency", LUN), "storage-latency": None}),
        (4, 15, {"storage-queue-full": None, "storage-latency": ("storage-queue-full", LUN)}),
    ],
)
def test_a_slow_device_fills_its_queue_and_a_full_queue_of_a_fast_one_is_the_delay(
    look: Look, device_ms: float, kernel_ms: float, causes: dict[str, tuple[str, str] | None]
) -> None:
    times = {(LUN, "device_latency_ms"): device_ms, (LUN, "kernel_latency_ms"): kernel_ms}
    found = look({**HEALTHY, **times, (LUN, "queued_commands"): 11})
    assert {finding.code: finding.cause for finding in found.findings} == causes


@pytest.mark.parametrize(("ready", "cause"), [(24, None), (160, ("cpu-ready", DB))])
def test_milder_ready_does_not_explain_costop(look: Look, ready: float, cause: tuple[str, str] | None) -> None:
    found = look({**HEALTHY, (DB, "ready_sum_pct"): ready, (DB, "costop_sum_pct"): 75})
    assert only(found, "co-stop").cause == cause


def tables(folder: Path, sources: Mapping[str, tuple[Table, int, int]]) -> list[Path]:
    """Sources by name: what they say, after how many hours they begin, and how many samples they have."""
    paths = []
    for name, (table, hours, samples) in sources.items():
        begin = START + datetime.timedelta(hours=hours)
        rows: list[tuple[object, str, str, float]] = [
            (begin + datetime.timedelta(seconds=STEP_S * place), entity, metric, float(value))
            for place in range(samples)
            for (entity, metric), value in table.items()
            if isinstance(value, int | float)
        ]
        paths.append(folder / name)
        telemetry_table.write([telemetry_table.frame(rows)], paths[-1])
    return paths


ESX1: Table = {(HOST, "usage_pct"): 60, (DB, "vcpus"): 8, (DB, "ready_sum_pct"): 8}
ESX2: Table = {(OTHER, "usage_pct"): 40, (WEB, "vcpus"): 4}


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ({"a": (ESX1, 0, 10), "b": (ESX2, 0, 10)}, None),
        ({"a": (ESX1, 0, 10), "b": (ESX1, 0, 10)}, "a, b cover the same host esx1 at the same times"),
        ({"a": (ESX1, 0, 10), "b": (ESX1, 2, 10)}, "a, b cover the same host esx1 at different times"),
        (
            {"a": (ESX1, 0, 10), "b": (ESX2, 5, 10)},
            "b (2026-01-01 14:00:00 to 2026-01-01 14:03:00 UTC) and a (2026-01-01 09:00:00 to 2026-01-01 09:03:00 UTC) "
            "do not overlap in time, or their clocks differ: do not compare them. They begin 5 h apart: check time "
            "zones.",
        ),
        (
            {"a": (ESX1, 0, 10), "b": (ESX2, 0, 1)},
            "only a single sample, so the duration of a problem is unknown: esx2",
        ),
    ],
)
def test_hosts_and_times_of_sources_are_looked_at(
    tmp_path: Path, sources: dict[str, tuple[Table, int, int]], said: str | None
) -> None:
    notes = diagnose(tables(tmp_path, sources)).document["notes"]
    assert len(notes) == (said is not None)
    assert said is None or notes[0].startswith(said)


def test_telemetry_of_another_cluster_is_said_so(look: Look) -> None:
    strangers = {("host/kvm7/vm/shop", "vcpus"): 2, ("host/kvm7/vm/shop", "ready_sum_pct"): 60}
    (note,) = look(strangers, cluster=scenario.loads(PAIR), simulate=False).document["notes"]
    assert note == (
        "telemetry (kvm7, shop) and cluster file (esx1, esx2, db, web) have no host or VM name in common: "
        "each was judged separately"
    )
    # one name in common is a cluster that has grown
    known = look({**strangers, (OTHER, "usage_pct"): 10}, cluster=scenario.loads(PAIR), simulate=False)
    assert known.document["notes"] == ["not in the cluster file, so their configuration is unknown: shop"]


@pytest.mark.parametrize("name", ["db", "DB", "db.example.com"])
def test_a_guest_is_the_machine_of_its_name(tmp_path: Path, name: str) -> None:
    busy = "\n".join(
        f" 6  0  0 9000 100 900  0  0  0  0 900 1800 50  5 45  0  0 2026-01-01 09:00:{n:02}" for n in range(0, 60, 5)
    )
    vmstat = tmp_path / f"{name}.vmstat"
    vmstat.write_text(
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----\n"
        " r  b swpd free buff cache si so bi bo in cs us sy id wa st UTC\n" + busy + "\n"
    )
    full = {**ESX1, (HOST, "usage_pct"): 100, (DB, "run_sum_pct"): 780}
    paths = tables(tmp_path, {"esx1.parquet": (full, 0, 10)})
    # by what its host sees of it, its CPUs are full: no secret
    assert "hidden-host-saturation" not in codes(diagnose(paths))
    found = diagnose([*paths, vmstat])
    finding = only(found, "hidden-host-saturation")
    assert [(measure.entity or "").split("/")[0] for measure in finding.evidence] == ["host", "guest"]
    assert finding.evidence[1].value == 55
    assert not found.document["notes"]
    with_cluster = diagnose([vmstat], cluster=scenario.loads(PAIR), simulate=False)
    assert not [note for note in with_cluster.document["notes"] if "in common" in note or "known by that name" in note]


def test_a_guest_of_no_machine_is_named(look: Look) -> None:
    found = look({**ESX1, ("guest/elsewhere", "guest_cpu_pct"): 10})
    assert found.document["notes"] == ["no VM has the name of these measured guests: elsewhere"]


def test_an_idle_machine_is_called_idle(look: Look) -> None:
    found = look({**HEALTHY, (DB, "run_sum_pct"): 0, (DB, "ready_sum_pct"): 0, (DB, "costop_sum_pct"): 0})
    finding = only(found, "oversized-vm")
    assert finding.title == "db has 8 vCPUs and is idle"
    assert finding.advice.startswith("Power it off if its owner")
    assert codes(found) == {"oversized-vm"}
