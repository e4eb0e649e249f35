"""A move as a whole: the same cluster again, another hypervisor, hosts reused one after another, and bad requests."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.python.plan.refresh.made import NEW, beside, cluster, host

import hypertwin
from hypertwin import scenario
from hypertwin.errors import ScenarioError
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.moving import arrival, causes, transfer
from hypertwin.plan.refresh.present import Present
from hypertwin.show.move import answer

QUICK = {"cache": "off", "duration": 2, "warmup": 1, "replications": 1}


def move(made: Any, **options: Any) -> Any:
    return hypertwin.plan_move(made, **{"to": "proxmox", **QUICK, **options}).to_dict()


def present(made: Any) -> Present:
    loaded = scenario.load(made)
    return Present.of(loaded, loaded.inventory.clusters, Limits(), 0.0)


def test_a_cluster_moved_to_itself_is_the_same_cluster() -> None:
    """Same hosts, hypervisor and devices: every VM keeps its work, and alone on its host its response time."""
    made = cluster(hosts=2, vms=2, mhz=840)
    made["vms"]["web"]["host"] = "old"
    here = present(made)
    data = here.scenario.as_written()
    again = arrival.arrival(here, {"old": {**host(), "count": 2}}, {}, {"old": 1.0}, same=True)
    assert again.dropped == ()
    before, after = (
        hypertwin.simulate(each, duration=4, warmup=1, replications=1).reports[0]["vms"]
        for each in (data, again.scenario)
    )
    assert {name: vm["response_ms"]["p99"] for name, vm in before.items()} == {
        name: vm["response_ms"]["p99"] for name, vm in after.items()
    }


def test_options_that_the_target_lacks_are_dropped_and_named() -> None:
    made = cluster(hosts=3, vms=6)
    made["vms"]["web"] |= {"reservation": "300 MHz", "cpu_hot_add": True, "numa": {"prefer_ht": True}}
    found = move(made, reuse_hosts=True, twin="off")
    assert found["arrival"]["feasible"]
    assert set(found["arrival"]["dropped"]) == {"vms.web.cpu_hot_add", "vms.web.reservation"}


def test_data_and_times_have_their_units() -> None:
    """100 GiB at 162 MiB/s or less take over ten minutes, and less than a few hours."""
    made = cluster(hosts=1, vms=1)
    disk = {"label": "Hard disk 1", "capacity": "200 GiB", "controller": "SCSI controller 0"}
    made["vms"]["web"]["source"] = {"disks": [disk]}
    made["vms"]["web"]["measured"]["storage_used"] = "100 GiB"
    found = move(made, to="openshift", twin="off", network="1 GB/s")
    (vm,), (wave,) = found["vms"], found["waves"]
    assert vm["volume_gib"] == wave["volume_gib"] == found["volume_gib"] == pytest.approx(100)
    assert wave["division_s"] == pytest.approx(100 * 2**30 / 1e9)
    assert 600 < wave["window_s"]["value"] < 10_000
    assert found["copy_s"] == wave["window_s"]


def test_a_wave_that_fits_no_window_is_said_first_and_leaves_no_end() -> None:
    made = cluster(hosts=1, vms=2)
    made["vms"]["huge"] = {**made["vms"]["web"], "count": 1}
    for name, size in (("web", "100 GiB"), ("huge", "40 TiB")):
        disk = {"label": "Hard disk 1", "capacity": size, "controller": "SCSI controller 0"}
        measured = {**made["vms"][name]["measured"], "storage_used": size}
        made["vms"][name] = {**made["vms"][name], "source": {"disks": [disk]}, "measured": measured}
    found = move(made, to="openshift", twin="off", network="1 GB/s", start="2027-01-16")
    late = [wave for wave in found["waves"] if wave["begin"] is None]
    assert [wave["vms"] for wave in late] == [["huge"]]
    assert (found["end"], found["latest_end"], found["overlap"]["days"]) == (None, None, None)
    said = answer(found)
    assert said["tone"] == "bad"
    assert said["text"].startswith(f"Wave {late[0]['number']} does not fit: needs up to ")
    assert "no end date" in said["text"] and "until" not in said["more"][0]
    before = answer(move(made, to="openshift", twin="off", network="1 GB/s"))["text"]
    assert said["text"].endswith(before) and not before.startswith("Wave")


def test_advice_that_halves_the_copy_is_of_its_waves() -> None:
    """Each wave copies from one host. A faster network speeds none up, although all hosts at once would fill it."""
    made = cluster(hosts=8, vms=1)
    disk = {"label": "Hard disk 1", "capacity": "400 GiB", "controller": "SCSI controller 0"}
    web = {**made["vms"].pop("web"), "count": 6}
    for at in range(1, 9):
        made["vms"][f"v{at}"] = {**web, "host": f"old-{at}", "source": {"disks": [disk], "tags": [f"host-{at}"]}}
    asked = {"to": "openshift", "twin": "off", "together": "host-*", "window": "20:00-00:00"}
    found = move(made, network="4 Gb/s", **asked)
    assert len(found["waves"]) == 8
    assert found["halving"][0] == transfer.REMEDIES["host"]
    assert move(made, network="8 Gb/s", **asked)["copy_s"]["value"] == pytest.approx(found["copy_s"]["value"], rel=0.05)


def test_more_time_of_windows_never_ends_later() -> None:
    """A wave as long as the longest window fits no other, so waves of the shorter length can end first."""
    made = cluster(hosts=4, vms=60)
    disk = {"label": "Hard disk 1", "capacity": "150 GiB", "controller": "SCSI controller 0"}
    made["vms"]["web"]["source"] = {"disks": [disk]}

    def ends(*window: str) -> str:
        found = move(made, twin="off", network="1 Gb/s", start="2027-01-13", window=window)
        assert all(wave["fits"] for wave in found["waves"])
        return found["end"]

    sunday, saturday, long = "sun 20:00-24:00", "sat 08:00-12:00", "sun 20:00-02:00"
    assert ends(long, saturday) <= ends(sunday, saturday) < min(ends(sunday), ends(long))


def test_virtual_numa_nodes_are_kept_on_purpose() -> None:
    made = cluster(hosts=2, vms=1, vcpus=24)
    here = present(made)
    found = arrival.arrival(here, arrival.reused_hosts(here), {}, {"old": 1.0})
    assert found.scenario.data["vms"]["web"]["numa"]["cells"] == (12, 12)


def test_the_target_is_proven_to_carry_all_vms_after_a_failure(tmp_path: Path) -> None:
    made = cluster(hosts=4, vms=60)
    target = {"name": "t", "hosts": {"pve": {**host(hypervisor="linux-6.12"), "count": 4}}, "vms": {}, "workloads": {}}
    for count, feasible in ((4, True), (3, False)):
        target["hosts"]["pve"]["count"] = count
        path = tmp_path / f"{count}.yaml"
        path.write_text(yaml.safe_dump(target))
        found = move(made, target=path, twin="off")["arrival"]
        assert found["feasible"] is feasible
        assert (found["reason"] is None) is feasible
    assert "pve-1 fails" in found["reason"]


def test_faster_hosts_of_the_target_answer_sooner(tmp_path: Path) -> None:
    made = cluster(hosts=2, vms=4, mhz=840)
    target = {
        "name": "t",
        "hosts": {"pve": {**host(hypervisor="linux-6.12", cpu_model=NEW, clock="2.5 GHz"), "count": 2}},
        "vms": {},
        "workloads": {},
    }
    path = tmp_path / "t.yaml"
    path.write_text(yaml.safe_dump(target))
    found = move(made, target=path, twin="normal")["arrival"]
    assert found["after"]["response"]["median"] < 0.7
    ratios = {each["name"]: each["ratio"] for each in found["causes"]}
    assert list(ratios) == [
        causes.OPTIONS,
        causes.HYPERVISOR,
        causes.DEVICES,
        causes.PROCESSORS,
        causes.HOSTS,
        causes.STORAGE,
    ]
    assert ratios[causes.OPTIONS] == ratios[causes.DEVICES] == ratios[causes.STORAGE] == 1
    assert ratios[causes.HYPERVISOR] == pytest.approx(1, abs=0.1)
    assert ratios[causes.PROCESSORS] < 0.7
    assert math.prod(ratios.values()) == pytest.approx(found["after"]["response"]["median"])
    assert [each["vms"] for each in found["causes"]] == [0, 0, 0, 4, 0, 0]


@pytest.mark.parametrize(("vms", "loans"), [(20, 0), (70, 1), (90, 2)])
def test_hosts_are_reused_one_after_another_with_as_few_loans_as_needed(vms: int, loans: int) -> None:
    """Six hosts of 345 GiB within limits: VMs of 16 GiB leave room for failover on both sides, or need more hosts."""
    made = cluster(hosts=6, vms=vms, mhz=100)
    found = move(made, reuse_hosts=True, twin="off")["arrival"]["rolling"][0]
    assert found["feasible"]
    assert found["loans"] == loans
    assert [each["host"] for each in found["steps"]] and len(found["steps"]) == 6
    moved = [each["moved"] for each in found["steps"]]
    assert moved == sorted(moved)
    assert moved[-1] == vms
    for each in found["steps"]:
        assert each["moved"] + each["staying"] == vms
        assert each["source_peak_pct"] <= 100 and each["target_peak_pct"] <= 100


def test_another_cluster_changes_nothing_of_reused_hosts() -> None:
    alone = move(cluster(hosts=6, vms=20, mhz=100), reuse_hosts=True, twin="off")
    both = beside(cluster(hosts=6, vms=20, mhz=100))
    found = move(both, reuse_hosts=True, twin="off", cluster="default")
    assert found["arrival"] == alone["arrival"]
    assert found["arrival"]["rolling"][0]["feasible"]


def test_one_host_alone_takes_no_vm_because_it_can_fail() -> None:
    found = move(cluster(hosts=6, vms=20, mhz=100), reuse_hosts=True, twin="off")["arrival"]["rolling"][0]
    assert [each["moved"] for each in found["steps"][:2]] == [0, 0]
    assert found["steps"][2]["moved"] > 0
    without = move(cluster(hosts=6, vms=20, mhz=100), reuse_hosts=True, twin="off", failures=0)["arrival"]["rolling"][0]
    assert without["steps"][1]["moved"] > 0


def test_without_measured_demand_hosts_on_loan_keep_the_vcpus_per_core_and_it_is_said() -> None:
    made = cluster(hosts=4, vms=20, mhz=None)
    made["description"] = "Imported from RVTools."
    found = move(made, reuse_hosts=True, twin="off", failures=1)
    assert found["arrival"]["rolling"][0]["loans"] == 2
    (note,) = (each for each in found["notes"] if "No CPU demand was measured" in each)
    assert "the present hosts keep 0.84 vCPUs per core after 1 failure" in note
    free = move(made, reuse_hosts=True, twin="off", failures=1, vcpu_ratio=6)
    assert free["arrival"]["rolling"][0]["loans"] == 0
    assert "the present hosts keep 6 vCPUs per core" in " ".join(free["notes"])


def test_a_full_cluster_cannot_be_reused_and_says_at_which_host() -> None:
    found = move(cluster(hosts=3, vms=62, mhz=100), reuse_hosts=True, twin="off", failures=1)["arrival"]
    assert not found["rolling"][0]["feasible"]
    assert "remaining source hosts" in found["rolling"][0]["reason"]


def test_a_target_without_a_model_has_no_word_on_performance() -> None:
    found = move(cluster(hosts=2, vms=4), to="hyperv", reuse_hosts=True)
    assert found["family"] == ""
    assert found["arrival"] is None
    assert (
        str(hypertwin.plan_move(cluster(hosts=2, vms=4), to="hyperv", **QUICK))
        .splitlines()[1]
        .startswith("No word on performance")
    )


def test_each_vm_has_a_verdict_a_name_and_a_wave_or_a_reason() -> None:
    found = move(cluster(hosts=2, vms=5), reuse_hosts=True, twin="off")
    assert sum(found["counts"].values()) == len(found["vms"]) == 5
    for vm in found["vms"]:
        assert vm["verdict"] in ("blocked", "not-known", "changes", "ready")
        assert (vm["wave"] is None) == (vm["verdict"] == "blocked")
    assert sorted(name for wave in found["waves"] for name in wave["vms"]) == sorted(vm["name"] for vm in found["vms"])


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"to": None}, "to"),
        ({"target": "x.yaml", "reuse_hosts": True}, "target"),
        ({"network": "fast"}, "network"),
        ({"network": "10 Gbit"}, "network"),
        ({"start": "soon"}, "start"),
        ({"target": "missing.yaml"}, ""),
        ({"cluster": "nowhere"}, "cluster"),
    ],
)
def test_a_bad_request_is_one_error(options: Any, path: str) -> None:
    with pytest.raises(ScenarioError) as error:
        move(cluster(hosts=2, vms=2), twin="off", **options)
    assert len(error.value.mistakes) == 1
    assert path in (error.value.mistakes[0].path, "")


@pytest.mark.parametrize("kind", [{"kind": "vsan", "redundancy": "raid-1"}, {"preset": "vsan-esa"}])
def test_a_vsan_pool_cannot_be_reused_on_another_hypervisor(kind: Any) -> None:
    pool = {**kind, "devices": {"kind": "nvme", "per_node": 2, "capacity": "2 TiB"}}
    made = cluster(hosts=4, vms=4, more={"storage": {"vsan": {**pool, "nodes": "old"}}}, network={"ports": 2})
    made["vms"]["web"]["storage"] = "vsan"
    with pytest.raises(ScenarioError) as error:
        move(made, reuse_hosts=True, twin="off")
    (mistake,) = error.value.mistakes
    assert (mistake.path, mistake.value) == ("reuse_hosts", "pool vsan (vSAN)")
    assert "`target`" in str(mistake)
