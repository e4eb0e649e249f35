"""Clusters of imported inventories: which there are, whose hosts and VMs are in them, and what may not cross them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from hypertwin import _core, scenario
from hypertwin.errors import SourceError
from hypertwin.ingest import to_scenario
from hypertwin.ingest.inventory import Cluster, Datastore, Demand, Host, Inventory, Rule, Snapshots, Vm
from hypertwin.members import SourceDisk, SourceVm

GIB = 2**30
HOST = Host(
    "esx1.example.com", 2, 8, 2, 128 * GIB, 2.5e9, "VMware ESXi 7.0.3", cluster="Production 1", datacenter="Rome"
)
VM = Vm("db", 4, 16 * GIB, HOST.name, "Production 1", "Rome", demand=Demand(2_000.0))


def _hosts(*names: str, **change: Any) -> list[Host]:
    return [replace(HOST, name=name, **change) for name in names]


def _made(
    hosts: Sequence[Host], vms: Sequence[Vm] = (), only: Sequence[str] = (), **more: Any
) -> tuple[dict[str, Any], list[str]]:
    """The scenario as the schema reads it, and the lines that `import` prints."""
    inventory = Inventory("export.xlsx", "rvtools", hosts, vms, **more)
    made, assumptions = to_scenario.to_scenario(inventory, only)
    data: dict[str, Any] = json.loads(scenario.loads(to_scenario.to_yaml(made)).json)
    return data, to_scenario.summary(inventory, made, assumptions)


def _clusters(data: dict[str, Any], section: str = "hosts") -> dict[str, str]:
    return {key: entry.get("cluster", "default") for key, entry in data[section].items()}


# which clusters there are


def test_hosts_and_machines_are_in_their_clusters() -> None:
    hosts = [*_hosts("esx1", "esx2"), *_hosts("esx3", cluster="Test")]
    vms = [replace(VM, host="esx1"), replace(VM, name="web", host="esx3", cluster=None)]
    facts = [Cluster("Production 1", "Rome", True, False, 1, "intel-broadwell", cpu_mhz=900.0, over_s=30 * 86_400.0)]
    data, lines = _made(hosts, vms, clusters=facts)
    assert _clusters(data) == {"esx1": "Production-1", "esx2": "Production-1", "esx3": "Test"}
    assert _clusters(data, "vms") == {"db": "Production-1", "web": "Test"}
    assert data["clusters"]["Production-1"] == {
        **{"label": "Production 1", "datacenter": "Rome", "evc": "intel-broadwell"},
        **{
            "ha": {"enabled": True, "admission": False, "failures": 1},
            "measured": {"over": "2592000 s", "cpu_mhz": 900},
        },
    }
    assert data["clusters"]["Test"] == {"datacenter": "Rome"}
    assert "HA type is not modelled" in lines[0]
    assert lines[1].startswith("export.xlsx (rvtools): 2 clusters, 3 hosts with ")


def test_one_name_in_two_datacenters_is_two_clusters() -> None:
    hosts = [*_hosts("esx1"), *_hosts("esx2", datacenter="Milan")]
    vms = [replace(VM, host=None), replace(VM, name="web", host=None, datacenter="Milan")]
    data, lines = _made(hosts, vms, clusters=[Cluster("Production 1", ha=True)])
    assert _clusters(data) == {"esx1": "Rome-Production-1", "esx2": "Milan-Production-1"}
    assert {key: (vm["cluster"], vm["host"]) for key, vm in data["vms"].items()} == {
        "db": ("Rome-Production-1", "esx1"),
        "web": ("Milan-Production-1", "esx2"),
    }
    assert "ha" not in data["clusters"]["Rome-Production-1"]
    assert any("several clusters have this name" in line for line in lines)
    with pytest.raises(SourceError, match="Milan-Production-1, Rome-Production-1"):
        _made(hosts, vms, ["production 1"])


def test_a_host_in_no_cluster_is_one_where_the_source_knows_clusters() -> None:
    hosts = [*_hosts("esx1.example.com", "esx2.example.com", cluster=None), *_hosts("esx3")]
    data, lines = _made(hosts, [replace(VM, cluster=None)], standalone_hosts=True)
    assert _clusters(data) == {"esx1": "esx1", "esx2": "esx2", "esx3": "Production-1"}
    assert any(
        "2 hosts (esx1.example.com, esx2.example.com): in no cluster: imported as a cluster of its own" in line
        for line in lines
    )
    together, _ = _made(hosts, [replace(VM, cluster=None)])
    assert _clusters(together) == {"esx1": "default", "esx2": "default", "esx3": "Production-1"}


def test_without_clusters_there_is_no_word_of_them() -> None:
    hosts = _hosts("esx1", "esx2", cluster=None, datacenter=None)
    data, lines = _made(hosts, [replace(VM, host="esx1", cluster=None), replace(VM, name="web", host=None)])
    assert set(_clusters(data).values()) == set(_clusters(data, "vms").values()) == {"default"}
    assert "clusters" not in data
    assert lines[0] == "warning: 1 of 2 VMs has no host in the export: placed automatically on all hosts"


def test_a_real_cluster_called_default_is_not_that_of_hosts_without() -> None:
    data, _ = _made([*_hosts("esx1", cluster="default"), *_hosts("esx2", cluster=None)])
    assert _clusters(data) == {"esx1": "default-2", "esx2": "default"}
    assert data["clusters"]["default-2"]["label"] == "default"


def test_machines_say_the_cluster_of_hosts_that_do_not() -> None:
    hosts = _hosts("esx1", "esx2", cluster=None)
    data, _ = _made(hosts, [replace(VM, host="ESX1"), replace(VM, name="web", host="esx2", cluster="Test")])
    assert _clusters(data) == {"esx1": "Production-1", "esx2": "Test"}


def test_empty_clusters_and_those_without_hosts_are_told() -> None:
    vms = [replace(VM, host="esx1"), replace(VM, name="stray", host="esx9", cluster="Gone")]
    data, lines = _made([*_hosts("esx1"), *_hosts("esx2", cluster="Spare")], vms, clusters=[Cluster("Hollow")])
    told = " | ".join(lines)
    assert "cluster Hollow: left out: it has no hosts" in told
    assert "cluster Spare: no powered-on VMs" in told
    assert "VM stray: left out: no host of its cluster is in the source" in told
    assert list(data["vms"]) == ["db"]


@pytest.mark.parametrize("name", ["Production 1", "production-1", "PRODUCTION 1"])
def test_one_cluster_can_be_taken_alone(name: str) -> None:
    hosts = [*_hosts("esx1"), *_hosts("esx2", cluster="Test")]
    vms = [
        *(VM, replace(VM, name="guest", host="unknown"), replace(VM, name="elsewhere", host="esx2", cluster="Test")),
        *(
            replace(VM, name="off", powered_on=False),
            replace(VM, name="gone", host="esx2", cluster="Test", is_template=True),
        ),
    ]
    stores = [Datastore("a", "VMFS", GIB, None, ("esx1", "esx2")), Datastore("b", "VMFS", GIB, None, ("esx2",))]
    data, _ = _made(
        hosts, [replace(vm, host="esx1") if vm.host == HOST.name else vm for vm in vms], [name], datastores=stores
    )
    assert set(data["hosts"]) == {"esx1"}
    assert set(data["vms"]) == {"db", "guest"}
    assert data["vms"]["guest"]["host_is_guess"] is True
    assert set(data["powered_off"]) == {"off"}
    assert data["datastores"] == {"a": {"clusters": ["Production-1"], "hosts": 2, "kind": "VMFS", "capacity": "1 GiB"}}


def test_a_cluster_that_is_not_there_is_refused_with_those_that_are() -> None:
    hosts = [*_hosts("esx1"), *_hosts("esx2", cluster="Test")]
    with pytest.raises(
        SourceError, match=r"(?s)nope: no cluster.*Production-1 \(Production 1, Rome\), Test"
    ) as refused:
        _made(hosts, [VM], ["Test", "nope"])
    assert refused.value.code == "no-such-cluster"
    both, _ = _made(hosts, [replace(VM, host="esx1")], ["Test", "Production 1"])
    assert set(both["hosts"]) == {"esx1", "esx2"}


def test_rules_stay_inside_clusters() -> None:
    hosts = [*_hosts("esx1", "esx2"), *_hosts("esx3", cluster="Test")]
    on = {"a": "esx1", "b": "esx2", "c": "esx3", "d": "esx3", "e": "esx3"}
    vms = [replace(VM, name=name, host=host, cluster=None) for name, host in on.items()]
    rules = [
        Rule("apart", "keep-apart", ("a", "b", "c", "d")),
        Rule("across", "keep-together", ("a", "c")),
        Rule("on", "run-on", ("a", "c"), ("esx1", "ESX3")),
    ]
    data, lines = _made(hosts, vms, rules=rules)
    assert [(rule["name"], rule["vms"], rule.get("hosts", [])) for rule in data["rules"]] == [
        ("apart", ["a", "b"], []),
        ("apart", ["c", "d"], []),
        ("on", ["a"], ["esx1"]),
        ("on", ["c"], ["esx3"]),
    ]
    told = " | ".join(lines)
    assert "2 rules (apart, on): it has VMs of several clusters: applied within each" in told
    assert "rule across: left out: too few of its VMs or hosts are in the scenario" in told


# hosts by other names

NAMES = [
    ("esx1.example.com", "esx1.example.com", "esx1", False),
    ("ESX1.Example.COM", "esx1.example.com", "esx1", False),
    ("esx1", "esx1.example.com", "esx1", False),
    ("ESX1", "esx1.example.com", "esx1", False),
    ("esx1.example.com", "esx1", "esx1", False),
    ("esx1.other.example", "esx1.example.com", "esx1", True),
    ("esx1", "rack2-esx1.example.com", "rack2-esx1", True),
    ("esx1", "esx1-mgmt.example.com", "esx1-mgmt", True),
    ("rack2-esx1", "esx1.example.com", "esx1", True),
    ("esx1", "esx10.example.com", None, False),
    ("es", "es-1", None, False),
    ("10.1.2.3", "10.1.2.3", "10-1-2-3", False),
    ("10.1.2.3", "10.1.2.4", None, False),
    ("10", "10.1.2.4", None, False),
    ("fd00::1", "fd00::2", None, False),
]


@pytest.mark.parametrize(("said", "name", "key", "is_likely"), NAMES)
def test_a_host_is_found_by_what_tables_call_it(said: str, name: str, key: str | None, is_likely: bool) -> None:
    data, lines = _made(_hosts(name, "unlike-any-other"), [replace(VM, host=said)])
    vm = data["vms"]["db"]
    assert (vm["host"] if not vm.get("host_is_guess") else None) == key
    assert any("host matched by a similar name" in line for line in lines) is is_likely


AFFIXED = [
    ("siteesx1", "esx1.example.com", "esx1"),
    ("esx1site", "esx1.example.com", "esx1"),
    ("esx1", "siteesx1.example.com", "siteesx1"),
    ("site10.1.2.3", "10.1.2.3", "10-1-2-3"),
    ("siteesx11", "esx1.example.com", None),
    ("110.1.2.3", "10.1.2.3", None),
]


@pytest.mark.parametrize(("said", "name", "key"), AFFIXED)
def test_a_host_is_found_by_an_affix_with_a_warning(said: str, name: str, key: str | None) -> None:
    data, lines = _made(_hosts(name, "unlike-any-other"), [replace(VM, host=said)])
    vm = data["vms"]["db"]
    assert (vm["host"] if not vm.get("host_is_guess") else None) == key
    words = "warning: VM db: host matched only by the beginning or end of its name"
    assert lines[0].startswith(words) is (key is not None)


def test_two_names_that_fit_one_host_by_an_affix_are_guesses() -> None:
    vms = [replace(VM, host=host, name=host) for host in ("aesx1", "besx1", "ESX1.example.com")]
    data, _ = _made(_hosts("esx1.example.com"), vms)
    assert [key for key, vm in data["vms"].items() if vm.get("host_is_guess")] == ["aesx1", "besx1"]


def test_of_two_hosts_of_one_name_the_one_in_the_cluster_is_meant() -> None:
    hosts = [*_hosts("esx1.a.example"), *_hosts("esx1.b.example", cluster="Test")]
    vms = [replace(VM, host="esx1", cluster=cluster, name=str(cluster)) for cluster in ("Production 1", "Test", None)]
    data, _ = _made(hosts, vms)
    assert data["vms"]["Production-1"]["host"] == "esx1-a-example"
    assert data["vms"]["Test"]["host"] == "esx1-b-example"
    assert [key for key, vm in data["vms"].items() if vm.get("host_is_guess")] == ["None"]
    elsewhere, _ = _made(hosts, [replace(VM, host="esx1", cluster="Third")])
    assert list(elsewhere["vms"]) == []


def test_hosts_of_the_same_name_in_two_clusters_are_two() -> None:
    hosts = [*_hosts("10.0.0.1"), *_hosts("10.0.0.1", cluster="Test")]
    data, _ = _made(hosts, [replace(VM, host="10.0.0.1"), replace(VM, name="web", host="10.0.0.1", cluster="Test")])
    assert sorted(_clusters(data).values()) == ["Production-1", "Test"]
    assert data["hosts"][data["vms"]["web"]["host"]]["cluster"] == "Test"


# guesses


def test_guesses_follow_what_was_measured_and_stay_in_their_cluster() -> None:
    busy = _hosts("esx1", cpu_usage_pct=60.0, memory_usage_pct=75.0)
    idle = _hosts("esx2", cpu_usage_pct=20.0, memory_usage_pct=25.0)
    vms = [
        replace(
            VM,
            name=f"vm{n:02}",
            vcpus=2,
            host=None,
            demand=Demand(800.0),
            memory_bytes=4 * GIB,
            memory_consumed_bytes=3 * GIB,
        )
        for n in range(40)
    ]
    data, lines = _made([*busy, *idle, *_hosts("esx3", cluster="Test", cpu_usage_pct=99.0)], vms)
    where = [vm["host"] for vm in data["vms"].values()]
    assert (where.count("esx1"), where.count("esx2"), where.count("esx3")) == (30, 10, 0)
    assert all(vm["host_is_guess"] for vm in data["vms"].values())
    assert lines[0] == "warning: 40 of 40 VMs have no host in the export: placed automatically inside their clusters"
    named = next(line for line in lines if "no host named" in line)
    assert named == "assumed: all 40 VMs: no host named: placed automatically in its cluster" or "and 36 more" in named


def test_a_guess_fits_its_host() -> None:
    small, large = _hosts("a", sockets=1, cores_per_socket=2), _hosts("b")
    data, lines = _made([*small, *large], [replace(VM, name=f"vm{n}", vcpus=8, host=None) for n in range(3)])
    assert {vm["host"] for vm in data["vms"].values()} == {"b"}
    data, lines = _made(small, [replace(VM, vcpus=8, host=None)])
    assert data["vms"] == {}
    assert any("more vCPUs than its host has" in line for line in lines)


def test_machines_of_no_known_cluster_may_be_anywhere() -> None:
    hosts = [*_hosts("esx1"), *_hosts("esx2", cluster="Test")]
    vms = [replace(VM, name=f"vm{n}", host=None, cluster=None) for n in range(4)]
    data, lines = _made(hosts, vms)
    assert sorted(_clusters(data, "vms").values()) == ["Production-1"] * 2 + ["Test"] * 2
    assert any("neither host nor cluster known: placed automatically on any host" in line for line in lines)


# what was measured


def test_what_was_measured_is_kept_and_nothing_else_is_called_so() -> None:
    host = replace(
        _hosts("esx1")[0],
        **{"cpu_usage_pct": 5.5, "memory_usage_pct": 50.0, "ballooned_bytes": 3 * GIB, "at": "2026-03-01T12:00:00Z"},
        **{"processors": 1, "cpu_model": "Xeon", "hyper_threading_available": True, "power_policy": "balanced"},
        **{"evc": "intel-broadwell", "evc_most": "intel-cascadelake", "swapped_bytes": 0},
    )
    vm = replace(
        replace(VM, host="esx1"),
        **{"demand": Demand(1_234.5, None, "x", 2_000.0, 3_000.0, 3_600.0, "used_mhz", "2026-03-01"), "ready_pct": 1.5},
        **{
            "memory_consumed_bytes": 10 * GIB,
            "memory_active_bytes": 2 * GIB,
            "ballooned_bytes": GIB,
            "swapped_bytes": 0,
        },
        **{"storage_provisioned_bytes": 99 * GIB, "storage_used_bytes": 9 * GIB, "storage_in_guest_bytes": 7 * GIB},
        **{"snapshots": Snapshots(2, GIB, "2026-01-01T00:00:00")},
    )
    data, _ = _made([host], [vm, replace(VM, name="silent", host=None, demand=None)])
    assert data["hosts"]["esx1"]["measured"] == {
        **{"at": "2026-03-01T12:00:00Z", "cpu_usage_pct": 5.5, "memory_usage_pct": 50},
        **{"ballooned": "3 GiB", "swapped": "0 B"},
    }
    kept = {key: data["hosts"]["esx1"][key] for key in ("processors", "cpu_model", "power_policy", "evc", "evc_most")}
    assert list(kept.values()) == [1, "Xeon", "balanced", "intel-broadwell", "intel-cascadelake"]
    assert data["vms"]["db"]["measured"] == {
        **{"at": "2026-03-01", "over": "3600 s", "counter": "used_mhz"},
        **{"cpu_mhz": 1234.5, "cpu_p95_mhz": 2000, "cpu_peak_mhz": 3000, "ready_pct": 1.5},
        **{"memory_consumed": "10 GiB", "memory_active": "2 GiB", "ballooned": "1 GiB", "swapped": "0 B"},
        **{"storage_provisioned": "99 GiB", "storage_used": "9 GiB", "storage_in_guest": "7 GiB"},
        **{"snapshots": "1 GiB", "snapshot_count": 2},
        "oldest_snapshot": "2026-01-01T00:00:00",
    }
    assert "measured" not in data["vms"]["silent"]
    assert data["vms"]["silent"]["workload"] == "divided"


def test_measurements_that_no_scenario_has_are_left_out() -> None:
    hosts = _hosts("esx1", cpu_usage_pct=1_001.0, memory_usage_pct=50.0)
    data, _ = _made(hosts, [replace(VM, host="esx1", ready_pct=101.0, demand=Demand(2e12), swapped_bytes=0)])
    assert data["hosts"]["esx1"]["measured"] == {"memory_usage_pct": 50}
    assert data["vms"]["db"]["measured"] == {"swapped": "0 B"}


def test_what_is_off_and_where_disks_are() -> None:
    facts = SourceVm(firmware="efi", cpu_affinity=False, disks=(SourceDisk(capacity_bytes=GIB, path=""),))
    off = replace(VM, name="old (1)", powered_on=False, host="esx1", storage_provisioned_bytes=5 * GIB)
    kept = replace(
        off,
        **{"name": "kept", "cores_per_socket": 2, "cpu_hot_add": True, "shares": "high", "reservation_mhz": 500.0},
        **{"limit_mhz": 400.0, "memory_reservation_bytes": 99 * GIB, "guest_os": "Debian\n12", "source": facts},
        **{"snapshots": Snapshots(0), "host": "esx9"},
    )
    template = replace(off, name="golden", is_template=True, host=None, cluster=None, storage_provisioned_bytes=None)
    store = Datastore("ds 1", "VMFS", 10 * GIB, 4 * GIB, ("ESX1.example.com",), 20 * GIB)
    bare = Datastore("iso", "", None, None)
    data, lines = _made(_hosts("esx1"), [off, kept, template], datastores=[store, bare, store])
    assert data["powered_off"] == {
        "old-1": {
            **{"label": "old (1)", "cluster": "Production-1", "host": "esx1", "vcpus": 4, "memory": "16 GiB"},
            "storage_provisioned": "5 GiB",
        },
        "kept": {
            **{"cluster": "Production-1", "vcpus": 4, "cores_per_socket": 2, "memory": "16 GiB"},
            **{"memory_reservation": "16 GiB", "cpu_hot_add": True, "shares": "high"},
            **{"reservation": "500 MHz", "limit": "500 MHz", "storage_provisioned": "5 GiB", "snapshot_count": 0},
            "guest_os": "Debian 12",
            "source": {"firmware": "efi", "cpu_affinity": False, "disks": [{"capacity": "1 GiB", "path": ""}]},
        },
        "golden": {"template": True, "vcpus": 4, "memory": "16 GiB"},
    }
    assert data["datastores"] == {
        "ds-1": {
            **{"label": "ds 1", "clusters": ["Production-1"], "hosts": 1, "kind": "VMFS", "capacity": "10 GiB"},
            **{"free": "4 GiB", "provisioned": "20 GiB"},
        }
    }
    assert any("datastore iso: left out: no plausible capacity" in line for line in lines)


def test_what_was_not_used_is_one_line() -> None:
    unused = ["vNetwork", "vHealth", *(f"vInfo/column {n}" for n in range(40))]
    _, lines = _made(_hosts("esx1"), unused=unused)
    (line,) = [line for line in lines if line.startswith("not used")]
    assert line.startswith("not used: vNetwork, vHealth; vInfo/column 0, vInfo/column 1,")
    assert line.endswith(" and 28 more")
    assert len(line) < 300


def test_long_lists_of_names_are_counted() -> None:
    vms = [replace(VM, name=f"vm{n:03}", host="gone") for n in range(300)]
    _, lines = _made(_hosts("esx1"), [replace(VM, host="esx1"), *vms])
    assert any(
        "300 VMs (vm000, vm001, vm002, vm003 and 296 more): its host is not in the source" in line for line in lines
    )
    assert max(map(len, lines)) < 250


# restarts, balancing, and what VMs may have of memory


@pytest.mark.parametrize(
    ("fact", "ha", "told"),
    [
        (Cluster("Production 1", ha=True, restarts_by="fdm"), {"enabled": True, "policy": "fdm"}, None),
        (
            Cluster("Production 1", ha=True, restarts_by="fdm", admission_policy="percentage", admission_pct=25.0),
            {"enabled": True, "policy": "fdm", "admission_policy": "percentage", "admission_pct": 25.0},
            None,
        ),
        (
            Cluster("Production 1", ha=True, admission_control=True, restarts_by="fdm"),
            {"enabled": True, "admission": True, "policy": "fdm"},
            "admission control policy is unknown: assumed percentage",
        ),
        (Cluster("Production 1", ha=False, restarts_by="fdm"), {"enabled": False}, "HA is off"),
        (Cluster("Production 1", ha=True), {"enabled": True}, "its HA type is not modelled: VMs"),
        (Cluster("Production 1"), None, "HA is unknown: VMs of a failed host are not restarted"),
    ],
)
def test_restarts_have_a_policy_only_where_they_are_on(
    fact: Cluster, ha: dict[str, Any] | None, told: str | None
) -> None:
    data, lines = _made(_hosts("esx1", "esx2"), [replace(VM, host="esx1")], clusters=[fact])
    assert data["clusters"]["Production-1"].get("ha") == ha
    said = [line for line in lines if "cluster Production 1:" in line]
    assert len(said) == (told is not None)
    assert told is None or (told in said[0])


def test_of_a_single_host_nothing_is_said_of_restarts() -> None:
    _, lines = _made(_hosts("esx1"), [replace(VM, host="esx1")])
    assert not [line for line in lines if "restarted" in line]


@pytest.mark.parametrize(
    ("versions", "threshold", "drs"),
    [
        (("VMware ESXi 7.0.3", "VMware ESXi 8.0.2"), 4, {"policy": "drs-7", "threshold": 4}),
        (("VMware ESXi 6.7.0", "VMware ESXi 8.0.2"), None, {"policy": "drs-6", "threshold": 3}),
    ],
)
def test_balancing_is_that_of_the_oldest_host(
    versions: tuple[str, str], threshold: int | None, drs: dict[str, Any]
) -> None:
    hosts = [replace(host, hypervisor=each) for host, each in zip(_hosts("esx1", "esx2"), versions, strict=True)]
    fact = Cluster("Production 1", ha=True, drs=True, drs_threshold=threshold)
    data, _ = _made(hosts, [replace(VM, host="esx1")], clusters=[fact])
    assert data["clusters"]["Production-1"]["drs"] == drs
    off, _ = _made(hosts, [replace(VM, host="esx1")], clusters=[replace(fact, drs=False)])
    assert "drs" not in off["clusters"]["Production-1"]


def test_memory_is_shared_reserved_and_limited_as_the_source_says() -> None:
    vm = replace(
        VM,
        host="esx1",
        memory_shares=1_000,
        memory_reservation_bytes=8 * GIB,
        memory_limit_bytes=4 * GIB,
        memory_active_bytes=3 * GIB,
        memory_consumed_bytes=10 * GIB,
        restart_priority="high",
        balloon=False,
    )
    plain = replace(VM, name="web", host="esx1", memory_shares=10 * 16 * 1_024, restart_priority="medium")
    data, lines = _made(_hosts("esx1"), [vm, plain])
    kept = {key: value for key, value in data["vms"]["db"].items() if key.startswith(("memory", "balloon", "restart"))}
    assert kept == {
        **{"memory": "16 GiB", "memory_touched": "10 GiB", "memory_active": "3 GiB", "memory_shares": 1_000},
        **{"memory_reservation": "8 GiB", "memory_limit": "8 GiB", "balloon": False, "restart_priority": "high"},
    }
    assert not {"memory_shares", "restart_priority", "memory_active"} & data["vms"]["web"].keys()
    told = " | ".join(lines)
    assert "memory limit below the reservation: raised to it" in told
    assert "used memory is its active memory, a sampled estimate of its host" in told
    assert "used memory unknown: assumed all touched memory" in told


def test_more_memory_reserved_than_a_host_has_is_cut() -> None:
    size = HOST.memory_bytes
    vms = [replace(VM, name=f"vm{n}", host="esx1", memory_bytes=size, memory_reservation_bytes=size) for n in range(2)]
    data, lines = _made(_hosts("esx1"), vms)
    assert {vm["memory_reservation"] for vm in data["vms"].values()} == {f"{size // GIB // 2} GiB"}
    assert any("memory reservations exceed its memory" in line for line in lines)


def test_an_overcommitted_host_that_nobody_measured_takes_no_memory_back() -> None:
    host = _hosts("esx1", memory_usage_pct=None)[0]
    size = host.memory_bytes
    vms = [replace(VM, name=f"vm{n}", host="esx1", memory_bytes=size // 2) for n in range(3)]
    data, lines = _made([host], vms)
    touched = [_core.size_bytes(vm["memory_touched"]) for vm in data["vms"].values()]
    assert sum(touched) == pytest.approx(0.9 * size, rel=0.001)
    assert any("its use is unknown" in line and "90% of it" in line for line in lines)
    roomy, lines = _made([host], vms[:1])
    assert "memory_touched" not in roomy["vms"]["vm0"]
    assert any("touched memory unknown: assumed all of it" in line for line in lines)


def test_a_machine_need_not_stay_on_the_host_that_it_was_imported_on() -> None:
    inventory = Inventory("export.xlsx", "rvtools", _hosts("esx1", "esx2"), [replace(VM, host="esx1")])
    text = to_scenario.to_yaml(to_scenario.to_scenario(inventory)[0])
    freed = scenario.loads(text, {"vms.db.host": None})
    assert not freed.inventory.vm["db"].host_is_given
    assert scenario.loads(text).inventory.vm["db"].host_is_given
