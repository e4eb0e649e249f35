"""Six unequal nodes with Ceph, played by a simulation: demand, capacity and failures of an import are the truth."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.estate import proxmox, proxmox_script
from tests.estate.proxmox_played import LONG, NODES, SHORT, Played, figures, make
from tests.estate.proxmox_server import SECRET, Answering, refuses, serving

import hypertwin
from hypertwin import Scenario
from hypertwin.errors import SourceError
from hypertwin.ingest import address, sources, to_scenario

POINTS = 2.0
FIGURES = (
    *("cpu_usage_pct", "cpu_usage_after_failure_pct", "memory_configured_pct", "memory_configured_after_failure_pct"),
    *("memory_consumed_pct", "memory_consumed_after_failure_pct"),
)


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(address.PASSWORD_VARIABLE, SECRET)


@pytest.fixture(scope="module")
def played() -> Iterator[Played]:
    yield make()
    make.cache_clear()


def imported(source: Path | str) -> tuple[Scenario, list[str]]:
    """The scenario, and the lines that an import prints."""
    found = sources.read([str(source)])
    made, assumptions = to_scenario.to_scenario(found)
    return Scenario.from_yaml(to_scenario.to_yaml(made)), [*to_scenario.summary(found, made, assumptions)]


def served(
    answers: Mapping[str, Any], folder: Path, instead: Answering = lambda _path: None
) -> tuple[Scenario, list[str]]:
    """The import from a node with these answers."""
    with serving(answers, folder, instead) as node:
        return imported(node.address())


def off_demand(found: Scenario, played: Played, lost: str = "") -> float:
    """Points that the demand of a guest is off at most, in per cent of its vCPUs: mean and 95th percentile."""
    here = [guest for guest in played.guests if guest.node.name != lost]
    assert {vm.name for vm in found.inventory.vms} == {guest.name for guest in here}
    worst = 0.0
    for guest in here:
        got, (mean, p95, _) = found.inventory.vm[guest.name].measured, figures(guest.shares * guest.whole_mhz)
        assert got.cpu_mhz is not None
        assert got.cpu_p95_mhz is not None
        off = (got.cpu_mhz - mean, got.cpu_p95_mhz - p95)
        worst = max([worst, *(100 * abs(mhz) / guest.whole_mhz for mhz in off)])
    return worst


def off_capacity(found: Scenario, truth: Any, demand: str = "p95") -> float:
    """Points that a figure of capacity is off at most."""
    (got,), (want,) = (hypertwin.capacity(each, demand=demand)["clusters"].values() for each in (found, truth))
    assert got["vcpu_per_core"] == pytest.approx(want["vcpu_per_core"], rel=1e-9)
    assert got["vcpu_per_core_after_failure"] == pytest.approx(want["vcpu_per_core_after_failure"], rel=1e-9)
    return max(abs(got[key] - want[key]) for key in FIGURES)


def off_failures(found: Scenario, truth: Any) -> float:
    """Points that a peak load after a failure is off at most; what restarts is the same."""
    got, want = (hypertwin.plan_survive(each).to_dict() for each in (found, truth))
    assert got["certificate"].keys() == want["certificate"].keys()
    worst = 0.0
    for node, then in want["certificate"].items():
        now = got["certificate"][node]
        assert len(now["placed"]) == len(then["placed"]), node
        for kind in ("cannot_restart", "not_restarted"):
            assert [each["vm"] for each in now[kind]] == [each["vm"] for each in then[kind]], node
        worst = max(worst, abs(now["peak_pct"] - then["peak_pct"]))
    loads = [
        {host["name"]: host["before_pct"][resource] for host in each["hosts"]}
        for resource in ("cpu", "memory")
        for each in (got, want)
    ]
    for ours, true in zip(loads[::2], loads[1::2], strict=True):
        worst = max([worst, *(abs(ours[name] - true[name]) for name in true)])
    return worst


def check(found: Scenario, played: Played, lost: str = "") -> None:
    """Every figure is within `POINTS` of the truth, without a node that is lost."""
    truth = played.without(lost) if lost else played.truth
    off = {
        "demand": off_demand(found, played, lost),
        "capacity by mean": off_capacity(found, truth, "mean"),
        "capacity by p95": off_capacity(found, truth),
        "failures": off_failures(found, truth),
    }
    assert max(off.values()) < POINTS, off


def test_the_truth_has_failures_that_are_survived_and_one_that_is_not(played: Played) -> None:
    certificate = hypertwin.plan_survive(played.truth).to_dict()["certificate"]
    assert [node for node, then in certificate.items() if then["cannot_restart"]] == ["pve4"]
    assert [len([each for each in played.guests if each.kind == kind]) for kind in ("qemu", "lxc")] == [60, 20]


def test_an_auditor_imports_the_truth(played: Played, tmp_path: Path) -> None:
    found, lines = served(played.answers, tmp_path)
    check(found, played)
    assert lines[0].startswith("warning: 20 containers: containers (LXC) are simulated as VMs")
    assert lines[1].endswith("6 hosts with 152 cores, 80 of 80 VMs with 325 vCPUs, 2 rules")
    assert [line for line in lines if line.startswith("missing")] == []
    stays = {vm.called for vm in found.inventory.vms if not vm.live_migration}
    assert stays == {guest.name for guest in played.guests if guest.kind == "lxc"}
    (cluster,) = hypertwin.capacity(found, demand="peak")["clusters"].values()
    assert cluster["demand"]["cpu"]["kind"] == "peak"


def test_the_dump_of_the_script_is_the_truth(played: Played, tmp_path: Path) -> None:
    found, lines = imported(proxmox_script.collect(played.answers, tmp_path))
    check(found, played)
    assert lines[1].startswith("dump (proxmox): 6 hosts with 152 cores")


@pytest.mark.parametrize("since", ["a minute", "an hour"])
def test_a_node_that_is_offline_is_named_first_and_the_others_are_the_truth(
    played: Played, tmp_path: Path, since: str
) -> None:
    answers = proxmox.offline(played.answers, "pve5", recently=since == "a minute")
    found, lines = served(answers, tmp_path)
    check(found, played, "pve5")
    assert lines[1] == "warning: host pve5: left out with its guests: it is offline"
    assert lines[2].endswith("5 hosts with 144 cores, 75 of 75 VMs with 306 vCPUs, 2 rules")


def test_a_token_without_a_right_on_one_node_names_the_node_first(played: Played, tmp_path: Path) -> None:
    answers = proxmox.without_audit(played.answers, ["pve5"])
    hidden = refuses("cluster/status", "cluster/ha", "nodes/pve5/status", "nodes/pve5/rrddata")
    found, lines = served(answers, tmp_path, hidden)
    assert lines[1] == "warning: host pve5: left out with its guests: its size is unknown (needs Sys.Audit on it)"
    ha = "missing: cluster/ha/resources (not allowed: needs Sys.Audit), needed for VMs that HA restarts"
    assert any(line.startswith(ha) for line in lines)
    assert off_demand(found, played, "pve5") < POINTS
    assert off_capacity(found, played.without("pve5")) < POINTS


@pytest.mark.parametrize("right", ["Sys.Audit", "VM.Audit"])
def test_a_token_without_a_right_is_told_of_it(played: Played, tmp_path: Path, right: str) -> None:
    answers = copy.copy(dict(played.answers))
    if right == "Sys.Audit":
        answers = proxmox.without_audit(answers, [node.name for node in NODES])
    else:
        guests = ("qemu", "lxc")
        answers["/cluster/resources"] = [each for each in answers["/cluster/resources"] if each["type"] not in guests]
    held = {"Sys.Audit", "VM.Audit", "Datastore.Audit"} - {right}
    answers["/access/permissions"] = {"/": dict.fromkeys(held, 1)}
    with pytest.raises(SourceError) as caught:
        served(answers, tmp_path)
    assert f"allowed: the rights {right} on /" in str(caught.value)
    assert "pveum acl modify / --roles PVEAuditor" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
def test_demand_on_a_node_whose_threads_share_cores_is_overstated_and_the_node_is_named_first(
    tmp_path: Path, seed: int
) -> None:
    busy = make(seed)
    found, lines = served(busy.answers, tmp_path)
    warning = "busy above 65%: its threads share cores, so demand of its VMs can be overstated"
    assert f"warning: host pve3: {warning}" in lines[:2]
    assert off_capacity(found, busy.truth) < POINTS
    for guest in busy.guests:
        _, p95, _ = figures(guest.shares * guest.whole_mhz)
        got = found.inventory.vm[guest.name].measured.cpu_p95_mhz
        assert got is not None
        off = 100 * (got - p95) / guest.whole_mhz
        assert -POINTS < off < (12 if guest.node.name == "pve3" else POINTS), guest.name


@pytest.mark.slow
def test_of_short_bursts_threads_of_busy_nodes_show_more_time_and_the_import_says_so(tmp_path: Path) -> None:
    """Threads that wake on a busy node share cores: their time is more than their work, which no answer has."""
    short = make(bursts=SHORT)
    found, lines = served(short.answers, tmp_path)
    assert LONG < SHORT
    assert any("CPU usage from the time that its logical CPUs were busy, as if each busy one" in line for line in lines)
    assert any("assumed bursts of 20 million cycles" in line for line in lines)
    (got,), (want,) = (hypertwin.capacity(each)["clusters"].values() for each in (found, short.truth))
    assert want["cpu_usage_pct"] <= got["cpu_usage_pct"] < want["cpu_usage_pct"] + POINTS, "more, on the safe side"
