"""One answer to whether a cluster survives a host: capacity, survive, density and diagnosis, on random clusters."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.conftest import SOAK
from tests.python.plan.placement.cases import host, made, vm

import hypertwin
from hypertwin.plan import failover
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.density import FAILOVER
from hypertwin.plan.placement.verdict import NOT_SURVIVED, of_cluster
from hypertwin.scenario import Scenario
from hypertwin.show import capacity as capacity_page
from hypertwin.show import placement as placement_page
from hypertwin.show.view import plain, tables_of

HA: list[dict[str, Any] | None] = [
    None,
    {"policy": "fdm"},
    {"enabled": True, "policy": "fdm", "admission": True, "admission_policy": "percentage"},
    {"enabled": False},
]


def random_cluster(seed: int) -> Scenario:
    """With and without HA, reservations, guesses, VMs that stay down, and a pool."""
    draw = random.Random(seed)
    pooled = seed % 3 == 0
    hosts = {"h": host(memory=100, count=draw.randint(3, 4))} if pooled else {}
    hosts |= {} if pooled else {f"h{each}": host(memory=draw.choice([60, 100])) for each in range(draw.randint(2, 5))}
    names = [f"h-{each + 1}" for each in range(hosts["h"]["count"])] if pooled else sorted(hosts)
    vms: dict[str, Any] = {}
    for number in range(draw.randint(2, 9)):
        more: dict[str, Any] = {}
        if draw.random() < 0.3:
            more["memory_reservation"] = f"{draw.choice([8, 30])} GiB"
        if draw.random() < 0.1:
            more["host_is_guess"] = True
        if draw.random() < 0.1:
            more["restart_priority"] = "disabled"
        if pooled and draw.random() < 0.7:
            more |= {"storage": "pool", "workload": "io"}
        made_vm = vm(draw.choice(names), draw.choice([30, 40, 60]), draw.choice([100, 3000]), **more)
        if draw.random() < 0.05:
            del made_vm["measured"]
        vms[f"v{number}"] = made_vm
    ha = draw.choice(HA)
    more = {"clusters": {"default": {"ha": ha}}} if ha is not None else {}
    if pooled:
        devices = {"kind": "nvme", "per_node": 2, "capacity": "1 TB"}
        redundancy = draw.choice(["replicas-2:1", "replicas-3:2", "replicas-2:2"])
        more["storage"] = {"pool": {"kind": "ceph", "nodes": "h", "devices": devices, "redundancy": redundancy}}
        io = {"arrivals": {"io": {"outstanding": 1}}, "cpu": {"mean": "5 us"}, "working_set": "1 GB"}
        more["workloads"] = {
            "any": {"arrivals": {"closed": {"population": 1, "think": {"mean": "1 s"}}}, "cpu": {"mean": "1 ms"}},
            "io": io,
        }
    return made(hosts, vms, **more)


@pytest.mark.parametrize("seed", range(12 * SOAK))
def test_capacity_survive_density_diagnosis_and_a_run_agree(seed: int) -> None:
    scenario = random_cluster(seed)
    capacity = hypertwin.capacity(scenario)["clusters"]["default"]
    survive = hypertwin.plan_survive(scenario).to_dict()
    judged, other = capacity["failover"], survive["failover"]
    assert other is not None
    assert judged["failures"] == other["failures"]
    assert (judged["survives"], judged["reason"]) == (other["survives"], other["reason"])
    assert judged["restarted_by"] == other["restarted_by"]
    assert judged["restarted_by"] in (None, capacity["ha"]["policy"])
    # the table of survive reads the same verdicts
    shown = next((each for each in tables_of(placement_page.view(survive)) if each["id"] == "failures"), None)
    for row in shown["rows"] if shown else []:
        says = {True: ("yes",), False: ("no",), None: ("unknown", "not proven")}
        assert plain(row["verdict"]) in says[judged["failures"][row["failed"]]["survives"]]
    # what survive certifies, the verdict says
    for name, certificate in survive["certificate"].items():
        reasons = {each["code"] for each in judged["failures"][name]["reasons"]}
        if certificate["cannot_restart"]:
            assert reasons & {"no-host", "no-data", "not-proven"}
        assert (judged["failures"][name]["survives"] is False) == bool(reasons & NOT_SURVIVED)
    if not judged["restarted_by"]:
        assert capacity["ha"]["host_failures_tolerated"] is None
    elif judged["survives"] is not None:
        assert (capacity["ha"]["host_failures_tolerated"] or 0) >= 1 or judged["survives"] is False
    # diagnosis has a finding where a VM has no host or cannot be powered on
    short = {each["code"] for of in judged["failures"].values() for each in of["reasons"]} & {"no-host", "no-power-on"}
    found = {each.code for each in hypertwin.diagnose(cluster=scenario, what_if=False).findings}
    assert not short or "cluster-without-failover-capacity" in found
    # density of the VMs that are there, of which there is one of each
    run: Any = {"duration": 0.05, "warmup": 0, "replications": 2}
    density = hypertwin.density(scenario, vm="v0", slo="ready_pct<=100", maximum=1, failures=1, **run)
    assert density.failover["default"] == judged
    assert not (density.count and short) or density.unjudged
    assert short or density.points[0].lacks != FAILOVER
    # and each host failing in a run, of which the verdict says where it went otherwise
    fails = [{"at": f"{number + 1} s", "fails": [host]} for number, host in enumerate(_hosts(scenario))]
    assert failover.of_failures(scenario.with_overrides({"failures": fails})) == {
        name: each for name, each in judged["failures"].items() if name in _hosts(scenario)
    }


def _hosts(scenario: Scenario) -> list[str]:
    return [host.name for host in scenario.inventory.hosts]


@pytest.mark.parametrize("seed", range(6 * SOAK))
def test_a_run_restarts_vms_as_the_verdict_has_it_or_says_why_not(seed: int) -> None:
    scenario = random_cluster(seed)
    judged = hypertwin.capacity(scenario)["clusters"]["default"]["failover"]
    for name in _hosts(scenario)[:2]:
        fails = {"failures": [{"at": "1 s", "fails": [name]}]}
        point = hypertwin.simulate(scenario.with_overrides(fails), duration=90, warmup=0, replications=1).reports[0]
        (said,) = failover.told({name: judged["failures"][name]}, point)
        up = sum(each["up_s"] is not None for each in point.get("outages", ()))
        # who restarts VMs
        assert bool(up) <= (judged["restarted_by"] is not None)
        survives, restarts = (judged["failures"][name][key] for key in ("survives", "restarts"))
        if survives is True:
            assert (up < restarts) == ("The run left" in said)
        short = any(each["code"] == "no-host" for each in judged["failures"][name]["reasons"])
        assert (short and 0 < restarts <= up) == ("The run still restarted every VM" in said)


def test_nothing_that_is_not_known_is_survived() -> None:
    three = {name: host() for name in ("h1", "h2", "h3")}
    vms = {"a": vm("h1", 10), "b": vm("h2", 10)}
    ha = {"clusters": {"default": {"ha": {"policy": "proxmox"}}}}

    def judged(**more: Any) -> Any:
        return hypertwin.capacity(made(three, {**vms, **more.pop("vms", {})}, **more))["clusters"]["default"]

    assert judged(**ha)["failover"]["survives"] is True
    assert judged(**ha)["ha"]["host_failures_tolerated"] == 1
    unsaid = judged()
    assert (unsaid["failover"]["survives"], unsaid["failover"]["reason"]) == (None, "ha-not-known")
    assert unsaid["ha"]["host_failures_tolerated"] is None
    off = judged(clusters={"default": {"ha": {"enabled": False}}})["failover"]
    assert (off["survives"], off["reason"], off["restarted_by"]) == (False, "nobody-restarts", None)
    guess = judged(vms={"c": vm("h3", 10, host_is_guess=True)}, **ha)["failover"]
    assert (guess["survives"], guess["reason"]) == (None, "hosts-guessed")
    unmeasured = {"a": {**vm("h1", 10), "measured": {}}, "b": {**vm("h2", 10), "measured": {}}}
    unknown = judged(vms=unmeasured, **ha)
    assert (unknown["failover"]["survives"], unknown["failover"]["reason"]) == (None, "demand-not-known")
    assert unknown["ha"]["meets_demand"] is None
    # a cluster that has no room is not saved by what nobody knows
    full = {"a": {**vm("h1", 85), "measured": {}}, "b": vm("h2", 85), "c": vm("h3", 85)}
    assert judged(vms=full)["failover"]["survives"] is False


def test_density_counts_what_survives_a_host() -> None:
    two = made({"h1": host(), "h2": host()}, {"v": {"vcpus": 1, "memory": "20 GiB", "workload": "any"}})
    two = two.with_overrides({"workloads.any.arrivals": {"open": {"rate": "1 /s"}}})
    run = {"slo": "ready_pct<90", "vm": "v", "maximum": 12, "duration": 0.2, "warmup": 0, "replications": 2}
    # 90 GiB of either host: four of 20 when the other fails; without failures 100 GiB: five on each
    assert hypertwin.density(two, **run).count == 4
    assert "survive a host failure" in hypertwin.density(two, **run).text
    assert hypertwin.density(two, failures=0, **run).count == 10


def test_vms_that_are_off_count_when_asked() -> None:
    two = {"h1": host(), "h2": host()}
    off = {"old": {"vcpus": 1, "memory": "40 GiB"}, "a": {"vcpus": 1, "memory": "1 GiB"}}
    off |= {"golden": {"vcpus": 2, "memory": "8 GiB", "template": True}}
    scenario = made(two, {"a": vm("h1", 30, 1000, 2), "b": vm("h2", 30, 1000, 2)}, powered_off=off)
    now, then = (hypertwin.capacity(scenario, with_off=each)["clusters"]["default"] for each in (False, True))
    assert (now["vms"], then["vms"]) == (2, 4)
    assert then["memory_configured_gib"] == now["memory_configured_gib"] + 41
    # 500 MHz for each vCPU, as the others
    assert then["cpu_demand_ghz"] == pytest.approx(now["cpu_demand_ghz"] + 2 * 0.5)
    assert [each["name"] for each in hypertwin.capacity(scenario, with_off=True)["reclaimable"]] == ["golden"]
    assert hypertwin.plan_survive(scenario).to_dict()["feasible"]
    assert not hypertwin.plan_survive(scenario, with_off=True).to_dict()["feasible"]


def test_a_run_with_a_failure_gives_the_same_verdict(cli: Any, tmp_path: Any) -> None:
    hosts = {name: host(memory=100) for name in ("h1", "h2", "h3")}
    vms = {"a": vm("h1", 60), "b": vm("h2", 60), "c": vm("h3", 20)}
    ha = {"clusters": {"default": {"ha": {"policy": "fdm"}}}}
    fails = [{"at": "1 s", "fails": [name]} for name in ("h1", "h3")]
    path = tmp_path / "fails.yaml"
    path.write_text(made(hosts, vms, failures=fails, **ha).to_yaml())
    ended = cli("simulate", path, "--explain", "--duration", 2, "--warmup", 0, "--replications", 1)
    text = " ".join(ended.stdout.split())
    judged = hypertwin.capacity(str(path))["clusters"]["default"]["failover"]["failures"]
    assert (judged["h1"]["survives"], judged["h3"]["survives"]) == (True, True)
    assert "Failover verdict of capacity for h1: survived." in text
    full = cli(
        "simulate",
        path,
        "--explain",
        "--set",
        "vms.c.memory=85 GiB",
        "--duration",
        2,
        "--warmup",
        0,
        "--replications",
        1,
    )
    text = " ".join(full.stdout.split())
    assert "Failover verdict of capacity for h1: not survived (a cannot restart" in text


def test_a_run_that_goes_otherwise_than_the_verdict_says_why() -> None:
    judged: Any = {"failed": ["h1"], "survives": True, "reasons": [], "restarts": 2, "pools": {}}
    up = {"vm": "a", "up_s": 50.0}
    point: Any = {
        "failures": [{"fails": True, "hosts": ["h1"], "vms": ["a", "b"]}],
        "outages": [up, {"vm": "b", "up_s": None}],
        "unplaced": [{"vm": "b"}],
    }
    assert "survived. The run left b down: HA restarts VMs one after another" in failover.told({"h1": judged}, point)[0]
    point |= {"outages": [up, {"vm": "b", "up_s": 60.0}], "unplaced": []}
    assert failover.told({"h1": judged}, point)[0].endswith(": survived.")
    short: Any = {
        **judged,
        "survives": False,
        "reasons": [{"code": "no-host", "text": "b cannot restart", "vms": ["b"]}],
    }
    assert "The run still restarted every VM" in failover.told({"h1": short}, point)[0]


WHICH_STOPS = [
    ("vsan", 2, "raid-1", 1, "no-writes"),
    ("vsan", 3, "raid-1", 1, "degraded"),
    ("vsan", 3, "replicas-3", 2, "no-writes"),
    ("ceph", 4, "ec-2+2", 1, "degraded"),
    ("ceph", 4, "ec-2+2", 2, "no-writes"),
    ("ceph", 4, "ec-2+1", 1, "degraded"),
    ("ceph", 4, "replicas-3:2", 2, "no-writes"),
    ("mirrored-mesh", 4, "ec-2+2", 2, "degraded"),
    ("chunk-store", 5, "replicas-3:1", 1, "degraded"),
    ("chunk-store", 5, "replicas-3:1", 2, "no-writes"),
    ("chunk-store", 2, "replicas-2:1", 1, "no-writes"),
]


@pytest.mark.parametrize(("kind", "nodes", "redundancy", "fail", "state"), WHICH_STOPS)
def test_a_pool_stops_where_the_simulation_stops(kind: str, nodes: int, redundancy: str, fail: int, state: str):
    failed = [f"n-{number}" for number in range(1, fail + 1)]
    esxi = {"hypervisor": "esxi-8.0"} if kind == "vsan" else {"hypervisor": "linux-6.12"}
    node = host(memory=64, network={"ports": 2, "bandwidth": "1.18 GB/s"}, **esxi)
    pool = {
        **{"kind": kind, "nodes": "n", "redundancy": redundancy, "stored": "10 GB", "rebuild": {"delay": "1 h"}},
        "devices": {"kind": "nvme", "per_node": 2, "capacity": "1 TB"},
    }
    loop = {"arrivals": {"open": {"rate": "50 /s"}}, "cpu": {"mean": "1 ms"}, "ios": 2, "working_set": "1 GiB"}
    made_of = made(
        {"n": {**node, "count": nodes}},
        {"a": vm(f"n-{nodes}", 4, 100, storage="s", vdisks=1, workload="io")},
        storage={"s": pool},
        workloads={"io": loop},
        run={"warmup": "0 s", "duration": "4 s", "replications": 1},
        failures=[{"at": "1 s", "fails": failed}],
    )
    found = of_cluster(made_of, made_of.inventory.clusters[0], Limits(failures=fail))
    assert found is not None
    assert found["failures"][" + ".join(failed)]["pools"]["s"]["state"] == state
    (incident,) = hypertwin.simulate(made_of).reports[0]["pools"]["s"]["incidents"]
    assert (incident["suspended_pct"] > 0 or incident["stands_still"]) == (state == "no-writes")


def pooled(**pool: Any) -> Scenario:
    """Four hosts with 4 TB each in a pool of Ceph, with an idle VM on each."""
    devices = {"kind": "nvme", "per_node": 4, "capacity": "1 TB"}
    storage = {"s": {"kind": "ceph", "nodes": "n", "devices": devices, "redundancy": "replicas-2:1", **pool}}
    vms = {f"v{each}": vm(f"n-{each}", 10, storage="s", vdisks=1) for each in (1, 2, 3, 4)}
    ha = {"default": {"ha": {"enabled": True, "policy": "proxmox"}}}
    return made({"n": host(count=4, hypervisor="linux-6.6")}, vms, storage=storage, clusters=ha)


def test_a_pool_without_space_to_recover_is_told_and_not_green() -> None:
    roomy, full = (pooled(stored=stored) for stored in ("3 TB", "6.5 TB"))
    for scenario, tone, met in ((roomy, "good", True), (full, "warn", None)):
        capacity, survive = hypertwin.capacity(scenario), hypertwin.plan_survive(scenario)
        found = capacity["clusters"]["default"]
        assert found["failover"]["survives"]
        assert found["verdict"]["met"] is met
        told = "s stays degraded: its devices have no space to recover." in found["failover"]["text"]
        assert told == (tone == "warn")
        reasons = {each["code"] for of in found["failover"]["failures"].values() for each in of["reasons"]}
        assert reasons == ({"no-space"} if told else set())
        for view in (capacity_page.view(capacity), placement_page.view(survive.to_dict())):
            assert view["answer"]["tone"] == tone


@pytest.mark.parametrize(
    ("redundancy", "told"),
    [
        ("replicas-2:1", " s is then degraded, and the next failed node makes data unreadable."),
        ("replicas-3:2", " s is then degraded, and the next failed node stops writes."),
        ("replicas-3:1", ""),
    ],
)
def test_the_verdict_says_what_the_next_failed_node_does_to_a_degraded_pool(redundancy: str, told: str) -> None:
    found = hypertwin.capacity(pooled(redundancy=redundancy, stored="1 TB"))["clusters"]["default"]["failover"]
    assert found["text"] == f"default survives all 4 host failures: Proxmox HA restarts every VM.{told}"


def test_the_verdict_counts_vms_that_stay_down_by_design() -> None:
    vms = {"a": vm("h1", 10), "b": vm("h2", 10, restart_priority="disabled"), "c": vm("h2", 10, affinity="0-1")}
    ha = {"default": {"ha": {"enabled": True, "policy": "fdm"}}}
    found = hypertwin.plan_survive(made({"h1": host(), "h2": host()}, vms, clusters=ha)).to_dict()["failover"]
    assert found is not None
    assert found["text"] == (
        "default survives all 2 host failures: vSphere HA restarts 1 VM, and 2 VMs would stay down."
    )


@pytest.mark.parametrize(("ghz", "survives"), [(4.5, True), (5.5, False)])
def test_reservations_can_take_all_of_a_host_and_limits_are_for_demand(ghz: float, survives: bool) -> None:
    reserved = {"reservation": f"{ghz} GHz", "memory_reservation": "10 GiB", "vcpus": 8}
    vms = {f"v{each}": vm(f"h{each}", 20, 500, **reserved) for each in (1, 2)}
    scenario = made({f"h{each}": host() for each in (1, 2)}, vms, clusters={"default": {"ha": {"policy": "fdm"}}})
    plan = hypertwin.plan_survive(scenario).to_dict()
    assert plan["failover"] is not None
    assert plan["failover"]["survives"] is survives
    assert hypertwin.capacity(scenario)["clusters"]["default"]["ha"]["can_power_on"] is survives
    assert plan["hosts"][0]["before_pct"]["cpu"] == pytest.approx(5)
    if not survives:
        (short,) = plan["certificate"]["h1"]["cannot_restart"]
        assert short["short_of"] == "1.0 GHz of reserved CPU on h2"


def test_reservations_are_no_reason_where_no_remaining_host_could_ever_run_a_vm() -> None:
    hosts = {"big": host(cores=20, memory=512), "s": host(cores=10, memory=256, count=2)}  # two threads a core
    vms = {"huge": vm("big", 300), "wide": vm("big", 30, vcpus=24), "app": vm("s-1", 32)}
    ha = {"default": {"ha": {"enabled": True, "policy": "fdm"}}}
    found = hypertwin.plan_survive(made(hosts, vms, clusters=ha)).to_dict()["failover"]
    assert found is not None
    assert [reason["code"] for reason in found["failures"]["big"]["reasons"]] == ["no-host"]
    assert found["text"] == (
        "default survives 2 of 3 host failures. If big fails, huge, wide cannot restart: huge is short of a host with"
        " 300.0 GiB of memory."
    )
    alone = hypertwin.plan_survive(made(hosts, {"wide": vms["wide"]}, clusters=ha)).to_dict()["failover"]
    assert alone is not None
    assert alone["text"].endswith("If big fails, wide cannot restart: short of a host with 24 logical CPUs.")
    every = hypertwin.plan_survive(made(hosts, vms, clusters=ha), failures=3).to_dict()["failover"]
    assert every is not None
    (reason,) = every["failures"]["big + s-1 + s-2"]["reasons"]
    assert reason["text"].endswith("app is short of a host: all have failed")


@pytest.mark.parametrize(
    ("ha", "hosts", "fail", "survives"),
    [
        ({"policy": "proxmox"}, 2, 1, None),
        ({"policy": "proxmox", "quorum_device": False}, 2, 1, False),
        ({"policy": "proxmox", "quorum_device": True}, 2, 1, True),
        ({"policy": "proxmox"}, 3, 1, True),
        ({"policy": "proxmox"}, 4, 2, None),
        ({"policy": "proxmox", "quorum_device": True}, 4, 2, True),
        # a quorum device does not help
        ({"policy": "proxmox"}, 4, 3, False),
        ({"policy": "proxmox"}, 5, 2, True),
        ({"policy": "fdm"}, 2, 1, True),
    ],
)
def test_proxmox_restarts_nothing_without_a_quorum(ha: dict[str, Any], hosts: int, fail: int, survives: bool | None):
    there = made({"h": host(count=hosts)}, {"v": vm("h-1", 4)}, clusters={"default": {"ha": ha}})
    found = of_cluster(there, there.inventory.clusters[0], Limits(failures=fail))
    assert found is not None
    assert found["survives"] is survives
    assert ("unless there is a QDevice" in found["text"]) == (survives is None)
    assert ("has no quorum and restarts nothing" in found["text"]) == (survives is False)


def test_quorum_is_not_told_of_where_ha_is_off() -> None:
    off = {"default": {"ha": {"enabled": False, "policy": "proxmox"}}}
    there = made({"h": host(count=2)}, {"v": vm("h-1", 4)}, clusters=off)
    found = of_cluster(there, there.inventory.clusters[0], Limits(failures=1))
    assert found is not None
    assert "QDevice" not in found["text"]


@pytest.mark.parametrize(("stored", "fail", "is_full"), [("5.4 TB", 1, False), ("5.4 TB", 2, True), ("3 TB", 2, False)])
def test_each_failure_has_the_space_that_its_hosts_leave(stored: str, fail: int, is_full: bool) -> None:
    devices = {"kind": "nvme", "per_node": 4, "capacity": "1 TB"}
    pool = {"kind": "ceph", "nodes": "h", "devices": devices, "redundancy": "replicas-3:1", "stored": stored}
    network = {"network": {"ports": 2, "bandwidth": "1.18 GB/s"}, "hypervisor": "linux-6.12"}
    there = made(
        {"h": host(count=6, **network)},
        {"v": vm("h-1", 4, storage="s", vdisks=1, workload="io")},
        storage={"s": pool},
        workloads={"io": {"arrivals": {"io": {"outstanding": 1}}, "cpu": {"mean": "5 us"}, "working_set": "1 GB"}},
        clusters={"default": {"ha": {"policy": "fdm"}}},
    )
    found = of_cluster(there, there.inventory.clusters[0], Limits(failures=fail))
    assert found is not None
    assert found["survives"] is True
    assert (found["reason"] == "no-space") == is_full


def test_a_reservation_is_in_mhz_of_the_host() -> None:
    for work in (0.5, 1, 2):
        hosts = {"f": host(cores=10, count=2, work_per_cycle=work)}
        vms = {f"{at}": vm(f"f-{at}", 4, 300, reservation="1.8 GHz", count=3) for at in (1, 2)}
        vms = {f"v{name}": each for name, each in vms.items()}
        answer = hypertwin.plan_evacuate(made(hosts, vms), host="f-1", failures=0)
        assert answer["feasible"] is False, f"10.8 GHz are reserved, and a host has 10 GHz: {work}"


def test_demand_is_in_ghz_of_the_hosts_beside_it() -> None:
    hosts = {"f": host(cores=10, count=2, work_per_cycle=2)}
    found = hypertwin.capacity(made(hosts, {"v": vm("f-1", 4, 1000, count=6)}))["clusters"]["default"]
    assert (found["cpu_ghz"], found["cpu_demand_ghz"]) == (20, pytest.approx(6))


def test_a_limit_on_demand_is_no_inability_of_ha() -> None:
    hosts = {f"h{each}": host(memory=64) for each in (1, 2)}
    vms = {"a": vm("h1", 30), "b": vm("h2", 30)}
    found = hypertwin.plan_survive(made(hosts, vms))
    why = "a cannot restart within limits: short of 2.4 GiB of memory"
    text = f"default cannot tolerate a host failure: if h1 fails, {why}"
    assert found.to_dict()["failover"]["text"].startswith(f"{text} on h2 (limit: 90% of memory).")  # type: ignore[index]
    assert f"{text} on h2" in hypertwin.capacity(made(hosts, vms))["clusters"]["default"]["failover"]["text"]
    assert "If h1 fails, a cannot restart within limits: short of 2.4" in _no_host(found.document)
    mixed = hypertwin.plan_survive(made(hosts, vms | {"c": vm("h1", 34)})).to_dict()["failover"]
    assert mixed is not None
    assert "cannot restart: a is short of 2.4 GiB of memory on h2" not in mixed["text"], "names what is not installed"


def _no_host(found: Any) -> str:
    """What a plan without a verdict says."""
    return placement_page.answer(found | {"failover": None})
