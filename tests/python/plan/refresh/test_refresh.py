"""Hosts that replace others: what must be true of any answer, and what is said of bad or missing facts."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.python.plan.refresh.made import NEW, beside, cluster, host, of_type, types, write

import hypertwin
from hypertwin.errors import ScenarioError
from hypertwin.plan.refresh import energy, sources
from hypertwin.scenario import Scenario
from hypertwin.show import refresh as shown

QUICK = {"twin": "off", "cache": "off"}


def refresh(scenario: Any, files: Any, **options: Any) -> Any:
    return hypertwin.plan_refresh(scenario, host_type=files, **{**QUICK, **options}).to_dict()


def test_a_cluster_replaced_by_itself_is_itself(tmp_path: Path) -> None:
    """Four hosts are needed at 41 % of four times 32 cores with N+1, and the same hosts again are four."""
    scenario = cluster(hosts=4, vms=60, mhz=2_000, memory="4 GiB")
    same = types(tmp_path, same={"host": host()})
    found = refresh(scenario, same, cpu="60%")
    assert found["candidates"][0]["hosts"] == found["present"]["hosts"] == 4
    (speed,) = (each for each in found["speeds"] if each["host_type"] == "same")
    assert (speed["per_core"], speed["per_core_low"], speed["per_core_high"], speed["work_per_cycle"]) == (1, 1, 1, 1)
    assert found["candidates"][0]["hosts_if_fast"] == found["candidates"][0]["hosts_if_slow"] == 4


def test_hypervisors_of_new_hosts_take_what_those_of_present_hosts_take(tmp_path: Path) -> None:
    """60 VMs of 2 GHz, and half of that by their hypervisors, are 180 GHz: three hosts of 67.2 GHz, and one for N+1."""
    scenario = cluster(hosts=5, vms=60, mhz=2_000, memory="4 GiB", overhead={"activity_pct": 50})
    files = types(tmp_path, new={"host": host()}, own={"host": host(overhead={"activity_pct": 1})})
    found = refresh(scenario, files, cpu="90%")
    assert [each["hosts"] for each in found["candidates"]] == [4, 3]
    said = "hypervisors take 50% of the CPU of VMs beside it, also on new hosts"
    assert any(said in note for note in found["notes"])


@pytest.mark.parametrize("mhz", [900, 1_500, 2_300])
def test_twice_the_cores_take_half_the_hosts_within_one(tmp_path: Path, mhz: float) -> None:
    scenario = cluster(hosts=8, vms=120, mhz=mhz, memory="1 GiB")
    files = types(
        tmp_path,
        one={"host": host(memory_per_node="2 TiB")},
        two={"host": host(cores_per_socket=32, memory_per_node="2 TiB")},
    )
    one, two = (each["hosts"] for each in refresh(scenario, files, failures=0)["candidates"])
    assert abs(two - one / 2) <= 1


@pytest.mark.parametrize("limit", ["cpu", "memory"])
def test_more_headroom_never_takes_fewer_hosts(tmp_path: Path, limit: str) -> None:
    scenario = cluster(hosts=6, vms=70, mhz=2_800)
    files = types(tmp_path, new={"host": host()})
    counts = [
        refresh(scenario, files, **{limit: each})["candidates"][0]["hosts"] for each in ("90%", "75%", "60%", "45%")
    ]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_more_failures_and_more_growth_never_take_fewer_hosts(tmp_path: Path) -> None:
    scenario = cluster(hosts=6, vms=70)
    files = types(tmp_path, new={"host": host()})
    for option, values in (("failures", (0, 1, 2)), ("growth", ("0%", "20%", "50%", "10%/year"))):
        counts = [refresh(scenario, files, **{option: each})["candidates"][0]["hosts"] for each in values]
        assert counts == sorted(counts)
        assert counts[0] < counts[-1]


def test_growth_is_more_vms_of_the_same_sizes(tmp_path: Path) -> None:
    files = types(tmp_path, new={"host": host()})
    found = refresh(cluster(vms=40), files, growth="25%")
    assert found["candidates"][0]["clusters"][0]["vms"] == 50
    assert found["candidates"][0]["clusters"][0]["grown_vms"] == 10
    assert found["demand"]["cpu_ghz"] == pytest.approx(50 * 1.5)
    assert found["demand"]["grown_memory_pct"] == pytest.approx(25)
    compound = refresh(cluster(vms=40), files, growth="10%/year", years=2)
    assert compound["asked"]["growth_pct"] == pytest.approx(21)


def test_copies_stand_for_the_growth_and_more_growth_never_takes_fewer_hosts(tmp_path: Path) -> None:
    """Of a few large VMs and many small ones: each resource grows by at least the growth, and all grow alike."""
    scenario = cluster(hosts=6, vms=7, memory="64 GiB", mhz=3_000, vcpus=8, memory_per_node="256 GiB")
    measured = {"cpu_mhz": 30_000, "cpu_p95_mhz": 30_000}
    scenario["vms"]["big"] = {"count": 4, "vcpus": 24, "memory": "300 GiB", "workload": "busy", "measured": measured}
    files = types(tmp_path, new={"host": host(cpu_model=NEW, memory_per_node="512 GiB")})
    hosts, last = 0, 0.0
    for growth in (*range(0, 40, 1), 100, 150):
        found = refresh(scenario, files, growth=f"{growth}%")
        demand, candidate = found["demand"], found["candidates"][0]
        grown = [demand["grown_vcpus_pct"], demand["grown_memory_pct"], 100 * (demand["cpu_ghz"] / 141 - 1)]
        assert min(grown) >= growth - 1e-6
        assert max(grown) <= growth + 100 * 300 / 1648 + 9
        assert candidate["hosts"] >= hosts
        assert demand["memory_gib"] >= last
        hosts, last = candidate["hosts"], demand["memory_gib"]


def test_licensed_vms_grow_like_the_others(tmp_path: Path) -> None:
    scenario = cluster(hosts=6, vms=11, memory="16 GiB", mhz=1_500, vcpus=3)
    sql = {"count": 3, "vcpus": 5, "memory": "48 GiB", "products": ["sql-server"], "workload": "busy"}
    linux = {"count": 8, "vcpus": 2, "memory": "8 GiB", "guest_os": "Red Hat Enterprise Linux 9", "workload": "busy"}
    for name, entry, mhz in (("sql", sql, 6_000), ("lin", linux, 1_500)):
        scenario["vms"][name] = {**entry, "measured": {"cpu_mhz": mhz, "cpu_p95_mhz": mhz}}
    files = types(tmp_path, new={"host": host()})
    prices = tmp_path / "prices.yaml"
    prices.write_text(
        "hosts: {present: {support: 1 EUR/host/year}, new: {purchase: 1 EUR/host}}\n"
        "licences: [{preset: sql-server-per-vm, price: 10 EUR/2 cores}]\n"
    )
    for growth, vms in (("31%", 4), ("66%", 5), ("100%", 6)):
        found = refresh(scenario, files, growth=growth, prices=prices)
        told = [line["calculation"] for line in found["candidates"][0]["costs"]["lines"]]
        assert f"{vms} VMs with {5 * vms} vCPUs" in told
        assert found["demand"]["grown_vcpus_pct"] < float(growth[:-1]) + 10
        assert any("The present hosts without the growth cost" in text for text in shown.answer(found)["more"])


def test_a_single_vm_grows_by_a_whole_one_and_it_is_said(tmp_path: Path) -> None:
    found = refresh(cluster(vms=1), types(tmp_path, new={"host": host()}), growth="5%")
    assert found["candidates"][0]["clusters"][0]["grown_vms"] == 1
    assert any("at least 5%" in note and "100% more vCPUs, 100% more memory" in note for note in found["notes"])


def test_a_faster_processor_carries_more_by_its_published_results(tmp_path: Path) -> None:
    """Where CPU alone limits, hosts go by throughput per host, and the ends of its interval by theirs."""
    scenario = cluster(hosts=50, vms=1_000, mhz=2_400, memory="1 GiB", memory_per_node="1 TiB")
    files = types(
        tmp_path, new={"host": host(cpu_model=NEW, cores_per_socket=32, clock="2.5 GHz", memory_per_node="2 TiB")}
    )
    found = refresh(scenario, files, failures=0)
    old, new = found["speeds"]
    (candidate,) = found["candidates"]
    carried = 1_000 * 2_400 / (0.8 * 32 * 2_100) / (2 * new["per_core"])
    assert candidate["hosts"] == -int(-carried // 1)
    assert new["specrate"] / old["specrate"] == pytest.approx(2 * new["per_core"], rel=1e-6)
    assert candidate["hosts_if_fast"] < candidate["hosts"] < candidate["hosts_if_slow"]
    assert new["per_core_low"] < new["per_core"] < new["per_core_high"]


def test_the_twin_sees_the_same_work_on_faster_hosts(tmp_path: Path) -> None:
    """Alone on a core, a transaction takes its time divided by clock and work per cycle."""
    scenario = cluster(hosts=2, vms=4, mhz=840)
    files = types(tmp_path, new={"host": host(cpu_model=NEW, clock="2.5 GHz")})
    found = hypertwin.plan_refresh(scenario, host_type=files, cache="off", failures=0).to_dict()
    speed = next(each for each in found["speeds"] if each["host_type"] == "new")
    response = found["candidates"][0]["twin"]["normal"]["response"]
    assert response["vms"] == 4
    assert response["median"] == pytest.approx(1 / speed["per_core"], rel=0.1)
    assert found["candidates"][0]["slower"] is False
    assert found["present"]["slower"] is None


def test_saving_hosts_and_losing_time_is_said_first(tmp_path: Path) -> None:
    slow = "Intel Xeon E5-2650L v3"  # 12 cores at 1.8 GHz
    scenario = cluster(hosts=6, vms=24, mhz=2_000, memory="1 GiB")
    files = types(tmp_path, slow={"host": host(cpu_model=slow, cores_per_socket=12, clock="1.8 GHz")})
    found = hypertwin.plan_refresh(scenario, host_type=files, cache="off", failures=0).to_dict()
    (candidate,) = found["candidates"]
    assert candidate["hosts"] < 6
    assert candidate["slower"] is True
    assert "But VMs are slower" in candidate["verdict"]


def test_an_unknown_processor_is_never_taken_as_equal(tmp_path: Path) -> None:
    files = types(tmp_path, new={"host": host(cpu_model="Quantum 9000")})
    with pytest.raises(ScenarioError, match=r"host\.cpu_model: Quantum 9000[\s\S]*new\.yaml"):
        refresh(cluster(), files)
    files = types(tmp_path, new={"host": host()})
    with pytest.raises(ScenarioError, match=r"hosts\.old\.cpu_model"):
        refresh(cluster(cpu_model="Quantum 9000"), files)


@pytest.mark.parametrize(
    ("keys", "path", "says"),
    [
        ({}, "host", "missing"),
        (
            {"host": {key: value for key, value in host().items() if key != "memory_per_node"}},
            "host.memory_per_node",
            "",
        ),
        ({"host": host(count=3)}, "host.count", "number of hosts"),
        ({"host": host(), "sold_in": 0}, "sold_in", "1 to"),
        ({"host": host(), "at_least": 9, "at_most": 4}, "at_most", "at_least"),
        ({"host": host(), "watts": {"idle": 500, "full": 200}}, "watts", "idle below full"),
        ({"host": host(), "rack_unit": 2}, "rack_unit", "rack_units"),
        ({"host": host(clock="fast")}, "host.clock", ""),
        ({"host": host(), "storage": {"nodes": "x"}}, "storage.nodes", "nodes"),
        ({"host": 3}, "host", "mapping"),
    ],
)
def test_a_bad_host_type_is_one_error_with_its_place(tmp_path: Path, keys: Any, path: str, says: str) -> None:
    file = write(tmp_path, "new", **keys)
    with pytest.raises(ScenarioError) as error:
        refresh(cluster(), [file])
    mistake = error.value.mistakes[0]
    assert (mistake.path, mistake.file) == (path, str(file))
    assert says in f"{mistake.value} {mistake.allowed} {mistake.hint}"


@pytest.mark.parametrize(("name", "says"), [("present", "which stands for present hosts"), ("old", "no host of the")])
def test_a_host_type_has_no_name_of_present_hosts(tmp_path: Path, name: str, says: str) -> None:
    files = types(tmp_path, **{name: {"host": host(cpu_model=NEW)}})
    with pytest.raises(ScenarioError, match=says) as caught:
        refresh(cluster(), files)
    (mistake,) = caught.value.mistakes
    assert (mistake.code, mistake.path, mistake.value) == ("duplicate-name", "name", name)
    assert "another name" in mistake.hint


def test_hosts_are_sold_in_steps_and_within_bounds(tmp_path: Path) -> None:
    scenario = cluster(hosts=5, vms=70)
    alone = refresh(scenario, types(tmp_path, new={"host": host()}))["candidates"][0]["hosts"]
    for keys in ({"sold_in": 4}, {"at_least": alone + 3}, {"sold_in": 3, "at_least": alone + 1}):
        (found,) = refresh(scenario, types(tmp_path, new=dict(host=host(), **keys)))["candidates"]
        assert found["hosts"] % keys.get("sold_in", 1) == 0
        assert alone <= found["hosts"] >= keys.get("at_least", 1)
    (found,) = refresh(scenario, types(tmp_path, new={"host": host(), "at_most": alone - 1}))["candidates"]
    assert not found["feasible"]
    said = f"no number of hosts up to {alone - 1} (at_most) is enough: "
    assert found["reason"].startswith(said) and found["reason"] != said
    (found,) = refresh(scenario, types(tmp_path, new={"host": host(), "at_most": 1}), failures=1)["candidates"]
    assert found["reason"] == "no number of hosts up to 1 (at_most) is enough"


def test_without_measured_demand_the_present_vcpus_per_core_are_kept(tmp_path: Path) -> None:
    scenario = cluster(hosts=4, vms=60, mhz=None, memory="1 GiB")
    scenario["description"] = "Imported from RVTools."
    for failures in range(3):
        found = refresh(scenario, types(tmp_path, new={"host": host()}), failures=failures)
        assert not found["demand"]["is_measured"]
        assert found["candidates"][0]["hosts"] == 4
        assert found["asked"]["vcpu_ratio"] == pytest.approx(60 * 4 / ((4 - failures) * 32))
    answer = hypertwin.plan_refresh(scenario, host_type=types(tmp_path, new={"host": host()}), **QUICK)
    assert "No CPU demand was measured" in str(answer)


def test_a_vm_that_fits_no_host_is_said(tmp_path: Path) -> None:
    scenario = cluster(hosts=2, vms=2, vcpus=60, memory="300 GiB")
    files = types(tmp_path, small={"host": host(cores_per_socket=8)}, low={"host": host(memory_per_node="64 GiB")})
    for each in refresh(scenario, files)["candidates"]:
        assert not each["feasible"]
        assert "60 vCPUs and 300 GiB" in each["reason"]


def test_kept_hosts_stay_and_take_their_part(tmp_path: Path) -> None:
    scenario = cluster(hosts=4, vms=70)
    whole, kept = refresh(scenario, types(tmp_path, new={"host": host()}), keep=["old-1", "old-2"])["candidates"]
    assert kept["kind"] == "keep"
    assert kept["clusters"][0]["kept"] == ["old-1", "old-2"]
    assert kept["hosts"] == whole["hosts"] == 2 + kept["new_hosts"]["new"]
    with pytest.raises(ScenarioError, match="keep"):
        refresh(scenario, types(tmp_path, new={"host": host()}), keep="esx-9")


def test_merged_clusters_share_their_spare_host(tmp_path: Path) -> None:
    scenario = cluster(hosts=3, vms=30)
    scenario["hosts"] = {"a": {**host(), "count": 3, "cluster": "a"}, "b": {**host(), "count": 3, "cluster": "b"}}
    web = scenario["vms"].pop("web")
    scenario["vms"] = {"x": {**web, "cluster": "a"}, "y": {**web, "cluster": "b"}}
    apart, merged = refresh(scenario, types(tmp_path, new={"host": host()}), merge=True)["candidates"]
    assert [each["cluster"] for each in apart["clusters"]] == ["a", "b"]
    assert merged["clusters"][0]["takes"] == ["a", "b"]
    assert merged["hosts"] < apart["hosts"]


def test_another_cluster_changes_nothing_of_the_chosen_one(tmp_path: Path) -> None:
    scenario = cluster(hosts=3, vms=30)
    scenario["vms"]["cvm"] = {**scenario["vms"]["web"], "count": 1, "storage_appliance": True, "host": "old-1"}
    files = types(tmp_path, new={"host": host()})
    alone = refresh(scenario, files)
    assert refresh(beside(scenario), files, cluster="default") == alone
    assert alone["candidates"][0]["feasible"]


def test_a_mix_is_not_worse_than_its_types(tmp_path: Path) -> None:
    scenario = cluster(hosts=4, vms=70, mhz=1_000)
    files = types(tmp_path, a={"host": host()}, b={"host": host(memory_per_node="384 GiB")})
    *alone, mix = refresh(scenario, files, mix=True)["candidates"]
    assert mix["kind"] == "mix"
    assert set(mix["new_hosts"]) == {"a", "b"}
    assert min(each["hosts"] for each in alone) <= mix["hosts"] <= max(each["hosts"] for each in alone)


def test_the_energy_of_a_mix_is_divided_by_type(tmp_path: Path) -> None:
    scenario = cluster(hosts=4, vms=70, mhz=1_000)
    watts = {"idle": 120, "full": 500}
    files = types(
        tmp_path,
        a={"host": host(cpu_model=NEW), "watts": watts},
        b={"host": host(cpu_model=NEW, memory_per_node="384 GiB"), "watts": watts},
    )
    mix = refresh(scenario, files, mix=True, twin="off")["candidates"][-1]
    assert set(mix["energy"]["by_group"]) == set(mix["new_hosts"]) == {"a", "b"}
    costs = mix["costs"]
    assert costs["hosts_by_type"] == mix["new_hosts"]
    for end in ("low", "mid", "high"):
        parts = [costs["hosts_by_type"][name] * of[end] for name, of in costs["energy_kwh_per_host"].items()]
        assert sum(parts) == pytest.approx(costs["energy_kwh_per_year"][end])


def test_each_number_of_the_document_has_an_origin(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(
        "hosts: {new: {purchase: 20000 EUR/host, support: 900 EUR/host/year}}\n"
        "licences:\n  - {preset: vmware-cloud-foundation, price: 350 EUR/core/year}\n"
        "power: {price: 0.25 EUR/kWh, pue: 1.4}\nrack: 30 EUR/rack-unit/month\ndiscount_rate: 4%\n",
        encoding="utf-8",
    )
    files = types(
        tmp_path,
        new={"host": host(cpu_model=NEW), "rack_units": 1, "watts": {"idle": 120, "full": 500}},
        other={"host": host()},
    )
    found = hypertwin.plan_refresh(
        cluster(), host_type=files, growth="20%", prices=prices, mix=True, keep="old-1", cache="off"
    ).to_dict()
    of = {path: sources.match(path) for path in sources.numbers(found)}
    assert [path for path, place in of.items() if place is None] == []
    assert found["sources"] == [sources.CALCULATED[place] for place in sorted(set(of.values()))]


def test_five_hundred_small_cases_against_trying_everything(tmp_path: Path) -> None:
    """Equal VMs of two sizes on equal hosts, any host can fail: the fewest hosts by trying every division."""
    draw = random.Random(7)
    proven = possible = 0
    for number in range(500):
        sizes = [draw.choice((16, 24, 48, 96)) for _ in range(draw.randint(2, 7))]
        room, failures = draw.choice((64, 96, 128)), draw.choice((0, 1, 1))
        wanted = _by_trying(sizes, room, failures)
        scenario = cluster(hosts=2, mhz=1, memory_per_node="1 TiB")
        web = scenario["vms"].pop("web")
        for at, size in enumerate(sizes):
            scenario["vms"][f"vm-{at}"] = {**web, "count": 1, "memory": f"{size} GiB"}
        files = types(tmp_path, new={"host": host(memory_per_node=f"{room // 2} GiB")})
        (found,) = refresh(scenario, files, memory="100%", failures=failures)["candidates"]
        assert found["hosts"] == wanted, (number, sizes, room, failures)
        if wanted is not None:
            assert found["clusters"][0]["bound"] <= wanted
            proven += found["clusters"][0]["proven"]
            possible += 1
    assert proven > 0.9 * possible


def _by_trying(sizes: list[int], room: int, failures: int) -> int | None:
    """The fewest bins for some sizes, so that what was in any failed bin fits the others without moving the rest."""
    if max(sizes) > room:
        return None
    for many in range(1 + failures, len(sizes) * 2 + 2):
        for where in itertools.product(range(many), repeat=len(sizes)):
            if any(each > max(where[:at], default=-1) + 1 for at, each in enumerate(where)):
                continue  # bins are equal: the first VM is in the first bin, and so on
            loads = [sum(size for size, at in zip(sizes, where, strict=True) if at == each) for each in range(many)]
            if max(loads) <= room and all(
                _fits(
                    [size for size, at in zip(sizes, where, strict=True) if at == failed],
                    [room - load for each, load in enumerate(loads) if each != failed],
                )
                for failed in (range(many) if failures else ())
            ):
                return many
    return None


def _fits(sizes: list[int], free: list[int]) -> bool:
    if not sizes:
        return True
    first, *rest = sizes
    return any(
        _fits(rest, [*free[:at], space - first, *free[at + 1 :]]) for at, space in enumerate(free) if space >= first
    )


POOL = {"kind": "vsan", "redundancy": "raid-1", "devices": {"kind": "nvme", "per_node": 2, "capacity": "2 TiB"}}


def test_data_of_vms_take_hosts_with_room_to_recover(tmp_path: Path) -> None:
    """With two replicas and one host lost, n hosts of 4 TiB hold 0.9 (n - 1) 4 / 2 TiB."""
    files = types(tmp_path, hci={"host": host(network={"ports": 2}), "storage": POOL})
    few = refresh(cluster(vms=8), files, stored="1 TiB", failures=1)["candidates"][0]
    many = refresh(cluster(vms=8), files, stored="20 TiB", failures=1)["candidates"][0]
    assert many["hosts"] == 1 + -(-20 * 2 // (0.9 * 4))
    assert few["hosts"] < many["hosts"]
    plan = many["clusters"][0]
    assert plan["binding"] == "fewer hosts do not hold the data of the VMs"
    assert plan["stored_gib"] == pytest.approx(20 * 1024) and plan["usable_gib"] >= plan["stored_gib"]
    grown = refresh(cluster(vms=8), files, stored="20 TiB", growth="50%")["candidates"][0]
    assert grown["clusters"][0]["stored_gib"] == pytest.approx(30 * 1024)


def test_the_written_scenario_holds_the_data_that_was_planned_for(tmp_path: Path) -> None:
    files = types(tmp_path, hci={"host": host(network={"ports": 2}), "storage": POOL})
    array = {"arrays": {"san": {"disks": {"kind": "nvme", "count": 8}}}}
    for more in ({}, array):
        scenario = cluster(vms=8, more=more)
        if more:
            scenario["vms"]["web"]["array"] = "san"
        found = hypertwin.plan_refresh(scenario, host_type=files, stored="20 TiB", growth="50%", **QUICK)
        plan = found.to_dict()["candidates"][0]["clusters"][0]
        assert (plan["limited_by"], plan["stored_gib"]) == ("storage", pytest.approx(30 * 1024))
        made = Scenario.from_dict(yaml.safe_load(found.scenarios["hci"]()))
        pool = hypertwin.capacity(made)["pools"]["hci"]
        assert pool["stored_gib"] == pytest.approx(plan["stored_gib"])
        assert pool["room_gib"] == pytest.approx(plan["usable_gib"])
        assert {vm.pool for vm in made.inventory.vms} == {"hci"}
        assert hypertwin.plan_survive(made)["feasible"]


def test_an_estate_whose_data_have_no_size_is_an_error_only_where_it_matters(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="stored"):
        refresh(cluster(), types(tmp_path, hci={"host": host(network={"ports": 2}), "storage": POOL}))
    assert refresh(cluster(), types(tmp_path, new={"host": host()}))["candidates"][0]["feasible"]


def test_vms_in_a_pool_of_replaced_hosts_need_new_disks(tmp_path: Path) -> None:
    pool = {"storage": {"old-pool": {**POOL, "nodes": "old"}}}
    scenario = cluster(hosts=4, vms=8, more=pool, network={"ports": 2})
    scenario["vms"]["web"]["storage"] = "old-pool"
    files = types(tmp_path, bare={"host": host()}, hci={"host": host(network={"ports": 2}), "storage": POOL})
    bare, hci = refresh(scenario, files)["candidates"]
    assert not bare["feasible"] and "old-pool" in bare["reason"]
    assert hci["feasible"] and hci["clusters"][0]["usable_gib"] > 0


def test_an_option_that_a_host_type_lacks_is_a_reason_and_no_error(tmp_path: Path) -> None:
    scenario = cluster(vms=8)
    scenario["vms"]["web"]["reservation"] = "500 MHz"
    kvm, esxi = refresh(scenario, types(tmp_path, kvm={"host": host(hypervisor="linux-6.12")}, esxi={"host": host()}))[
        "candidates"
    ]
    assert not kvm["feasible"] and "reservation" in kvm["reason"]
    assert esxi["feasible"]


def test_a_reservation_is_in_mhz_of_new_hosts_however_much_they_do_with_it(tmp_path: Path) -> None:
    scenario = cluster(vms=34, mhz=100, memory="1 GiB")
    scenario["vms"]["web"]["reservation"] = "2 GHz"
    found = refresh(scenario, types(tmp_path, new={"host": host(cpu_model=NEW)}), failures=0)
    assert next(each["work_per_cycle"] for each in found["speeds"] if each["host_type"] == "new") > 1.1
    assert found["candidates"][0]["hosts"] == 2, "68 GHz are reserved, and a host has 67.2 GHz"


def test_a_crooked_estate_counts_each_host_by_its_own_processor(tmp_path: Path) -> None:
    """A MHz of another processor is other work: VMs on it need hosts by its work per cycle."""
    scenario = cluster(hosts=31, vms=300, mhz=2_000, memory="1 GiB", memory_per_node="1 TiB")
    slow = host(cpu_model="Intel(R) Xeon(R) CPU E5-2680 0 @ 2.70GHz", cores_per_socket=8, clock="2.7 GHz")
    scenario["hosts"]["other"] = {**slow, "count": 60}  # the reference has the most cores
    scenario["vms"]["web"]["host"] = "other"
    found = refresh(scenario, types(tmp_path, new={"host": host(memory_per_node="2 TiB")}), failures=0)
    cycle = next(each["work_per_cycle"] for each in found["speeds"] if each["host_type"] == "other")
    assert cycle == pytest.approx(67.8 / 16 / 2.7 / (160 / 32 / 2.1), rel=0.01)
    assert found["candidates"][0]["hosts"] == -int(-300 * 2_000 * cycle / (0.8 * 32 * 2_100) // 1)


def test_the_load_after_a_failure_is_that_of_the_remaining_hosts(tmp_path: Path) -> None:
    found = refresh(cluster(hosts=4, vms=40), types(tmp_path, new={"host": host()}))["present"]["clusters"][0]
    assert found["cpu_after_failure_pct"] == pytest.approx(found["cpu_pct"] * 4 / 3)
    assert found["memory_after_failure_pct"] == pytest.approx(found["memory_pct"] * 4 / 3)


def test_a_workload_keeps_the_speed_of_its_own_host(tmp_path: Path) -> None:
    """The same workload on two processors is two workloads on new hosts, each with its present work."""
    scenario = cluster(hosts=8, vms=4)
    slow = host(cpu_model="Intel(R) Xeon(R) CPU E5-2680 0 @ 2.70GHz", cores_per_socket=8, clock="2.7 GHz")
    scenario["hosts"]["other"] = {**slow, "count": 2}
    scenario["vms"]["web"]["host"] = "old"
    scenario["vms"]["db"] = {**scenario["vms"]["web"], "host": "other"}
    file = types(tmp_path, new={"host": host()})
    found = hypertwin.plan_refresh(scenario, host_type=file, **QUICK)
    cycle = next(each["work_per_cycle"] for each in found.to_dict()["speeds"] if each["host_type"] == "other")
    made = yaml.safe_load(found.scenarios["new"]())
    clocks = {name: made["workloads"][made["vms"][name]["workload"]]["reference_clock"] for name in ("web", "db")}
    assert clocks == {"web": "2100000000 Hz", "db": f"{round(2_700_000_000 * cycle)} Hz"}


def test_the_written_scenario_has_the_demand_that_was_planned_for(tmp_path: Path) -> None:
    """Of VMs on two processors, measured together, with growth: MHz become MHz of the new hosts."""
    scenario = cluster(hosts=8, vms=4)
    slow = host(cpu_model="Intel(R) Xeon(R) CPU E5-2680 0 @ 2.70GHz", cores_per_socket=8, clock="2.7 GHz")
    scenario["hosts"]["other"] = {**slow, "count": 2}
    scenario["vms"]["web"]["host"] = "old"
    scenario["vms"]["db"] = {**scenario["vms"]["web"], "host": "other"}
    scenario["clusters"] = {"default": {"measured": {"cpu_mhz": 8_000, "cpu_p95_mhz": 9_000, "over": "7 d"}}}
    for one in scenario["hosts"].values():
        one["cluster"] = "default"
    found = hypertwin.plan_refresh(
        scenario, host_type=types(tmp_path, new={"host": host(cpu_model=NEW)}), growth="50%", **QUICK
    )
    planned = found.to_dict()["candidates"][0]["clusters"][0]
    written = hypertwin.capacity(yaml.safe_load(found.scenarios["new"]()))["clusters"]["default"]
    assert written["cpu_usage_pct"] == pytest.approx(planned["cpu_pct"])
    assert written["cpu_usage_after_failure_pct"] == pytest.approx(planned["cpu_after_failure_pct"])


def test_a_refreshed_cluster_is_planned_again_with_the_same_demand(tmp_path: Path) -> None:
    first = hypertwin.plan_refresh(cluster(), host_type=types(tmp_path, new={"host": host(cpu_model=NEW)}), **QUICK)
    then = yaml.safe_load(first.scenarios["new"]())
    again = refresh(then, types(tmp_path, more={"host": host(cpu_model=NEW)}))
    planned = first.to_dict()["candidates"][0]["clusters"][0]
    assert again["present"]["clusters"][0]["cpu_pct"] == pytest.approx(planned["cpu_pct"])
    assert again["candidates"][0]["clusters"][0]["cpu_pct"] == pytest.approx(planned["cpu_pct"])


def test_the_load_for_power_is_a_share_of_the_highest_throughput() -> None:
    """A host whose cores are busy with one thread each does 1 / 1.25 of what it can do with both threads."""
    two = scenario_host()
    assert energy.load(two, 100) == pytest.approx(1 / 1.25)
    assert energy.load(scenario_host(threads_per_core=1), 50) == pytest.approx(0.5)
    assert energy.load(scenario_host(turbo="4.2 GHz"), 100) == pytest.approx(1 / 1.25 / 2)
    assert energy.load(two, 500) == 1


def scenario_host(**keys: Any) -> Any:
    return of_type("new", host(**keys)).facts


def test_only_new_hosts_are_bought_and_raw_capacity_is_licensed(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(
        "hosts: {hci: {purchase: 1000 EUR/host}}\nlicences:\n  - {name: Disks, per: tib, price: 10 EUR/tib}\n"
    )
    files = types(tmp_path, hci={"host": host(network={"ports": 2}), "storage": POOL})
    options = {"stored": "1 TiB", "prices": prices, "keep": "old-1"}
    whole, kept = refresh(cluster(hosts=3, vms=30), files, **options)["candidates"]
    for each in (whole, kept):
        lines = {line["label"]: line for line in each["costs"]["lines"]}
        assert lines["Host hci"]["quantity"] == each["new_hosts"]["hci"]
        assert lines["Disks"]["quantity"] == pytest.approx(4 * each["new_hosts"]["hci"])
        assert "Host present" not in lines


def test_clusters_with_hosts_of_equal_names_add_up_their_own_power(tmp_path: Path) -> None:
    """A busy and an idle cluster get hosts of the same names: the power is the sum of both, each by its own load."""

    def watts(*demands: float) -> float:
        scenario = cluster(hosts=3, vms=10)
        web = scenario["vms"].pop("web")
        scenario["hosts"] = {name: {**host(), "count": 3, "cluster": name} for name in "ab"[: len(demands)]}
        for name, mhz in zip("ab", demands, strict=False):
            busy = {"arrivals": {"open": {"rate": "20 /s"}}, "cpu": {"mean": f"{mhz / 42} ms"}}
            scenario["workloads"][name] = busy
            scenario["vms"][f"{name}-vm"] = {**web, "cluster": name, "workload": name}
        files = types(tmp_path, new={"host": host(), "watts": {"idle": 100, "full": 500}, "at_least": 2})
        made = hypertwin.plan_refresh(scenario, host_type=files, cache="off", twin="normal").to_dict()
        return float(made["candidates"][0]["energy"]["watts"])

    assert watts(2_000, 20) == pytest.approx(watts(2_000) + watts(20), rel=0.03)
    assert watts(2_000) > 1.3 * watts(20)


def test_a_workload_that_needs_another_name_replaces_none(tmp_path: Path) -> None:
    """`busy` of two kinds of hosts becomes two workloads, and `busy-2` of another VM stays what it is."""
    scenario = cluster(hosts=8, vms=4)
    scenario["hosts"]["other"] = {**host(cores_per_socket=8, clock="2.7 GHz"), "count": 2}
    scenario["workloads"]["busy-2"] = {"arrivals": {"open": {"rate": "3 /s"}}, "cpu": {"mean": "7 ms"}}
    web = {**scenario["vms"].pop("web"), "host": "old"}
    scenario["vms"] = {"z": {**web, "workload": "busy-2"}, "web": web, "db": {**web, "host": "other"}}
    found = hypertwin.plan_refresh(scenario, host_type=types(tmp_path, new={"host": host()}), **QUICK)
    made = yaml.safe_load(found.scenarios["new"]())
    rates = {name: made["workloads"][vm["workload"]]["arrivals"]["open"]["rate"] for name, vm in made["vms"].items()}
    assert rates == {"z": "3 /s", "web": "20 /s", "db": "20 /s"}


def lines_of(found: Any) -> list[dict[str, float | None]]:
    """Quantity of each line of costs of each candidate."""
    return [{line["label"]: line["quantity"] for line in each["costs"]["lines"]} for each in found]


def test_a_licence_of_one_cluster_counts_where_it_was_merged(tmp_path: Path) -> None:
    scenario = cluster()
    web = scenario["vms"].pop("web")
    scenario["hosts"] = {name: {**host(), "count": 3, "cluster": name} for name in ("prod-1", "dev-1")}
    scenario["vms"] = {name: {**web, "count": 30, "cluster": name} for name in scenario["hosts"]}
    prices = tmp_path / "prices.yaml"
    for pattern in ("prod-*", "dev-*"):
        entry = f"{{name: Suite, per: core, price: 100 EUR/core/year, clusters: ['{pattern}']}}"
        prices.write_text(f"licences:\n  - {entry}\n", encoding="utf-8")
        files = types(tmp_path, new={"host": host()})
        apart, merged = refresh(scenario, files, prices=prices, merge=True)["candidates"]
        cores = [32 * plan["hosts"] for each in (apart, merged) for plan in each["clusters"]]
        assert [each["Suite"] for each in lines_of((apart, merged))] == [cores[0], cores[2]]


def test_licences_by_name_count_the_vms_that_growth_adds(tmp_path: Path) -> None:
    scenario = cluster(vms=4)
    scenario["vms"]["sql"] = {**scenario["vms"].pop("web"), "label": "SQL of the shop"}
    prices = tmp_path / "prices.yaml"
    of_vms = [f"  - {{name: {n}, per: vm, price: 1 EUR/vm, vms: ['{n}*']}}\n" for n in ("sql", "sql of")]
    prices.write_text("licences:\n" + "".join(of_vms), encoding="utf-8")
    found = refresh(scenario, types(tmp_path, new={"host": host()}), prices=prices, growth="50%")
    (lines,) = lines_of(found["candidates"])
    assert (lines["sql"], lines["sql of"]) == (6, 6)


def test_present_disks_are_licensed_and_present_rack_units_can_be_stated(tmp_path: Path) -> None:
    pool = {"storage": {"old-pool": {**POOL, "nodes": "old"}}}
    scenario = cluster(hosts=4, vms=8, more=pool, network={"ports": 2})
    scenario["vms"]["web"]["storage"] = "old-pool"
    prices = tmp_path / "prices.yaml"
    entries = "hosts: {present: {rack_units: 2}}\nrack: 30 EUR/rack-unit/month\n"
    prices.write_text(entries + "licences:\n  - {name: Disks, per: tib, price: 10 EUR/tib}\n", encoding="utf-8")
    files = types(tmp_path, hci={"host": host(network={"ports": 2}), "storage": POOL, "rack_units": 1})
    found = refresh(scenario, files, prices=prices)
    (present,) = lines_of([found["present"]])
    assert (present["Disks"], present["Rack space"]) == (pytest.approx(4 * 4), 8)
    assert found["present"]["rack_units"] == 8


def test_storage_limits_only_where_fewer_hosts_can_be_bought(tmp_path: Path) -> None:
    hci = {"host": host(network={"ports": 2}), "storage": POOL}
    files = types(tmp_path, free=hci, eight={**hci, "at_least": 8}, pairs={**hci, "sold_in": 2})
    found = refresh(cluster(vms=8), files, stored="8 TiB")["candidates"]
    assert [each["hosts"] for each in found] == [6, 8, 6]
    assert [each["clusters"][0]["limited_by"] == "storage" for each in found] == [True, False, True]
