"""What a page needs to simulate: the scenarios of its points, the settings that it offers, and its policy."""

from __future__ import annotations

import copy
import hashlib
import json
import re

import pytest
from tests.conftest import ROOT, TINY
from tests.crooked import crooked

import hypertwin
from hypertwin import _core, language
from hypertwin.documents.space import OWN
from hypertwin.scenario import load
from hypertwin.show import browser_core, live, page, simulation_page

SWEEP = {"vms.db.load": [0.5, 2], "vms.web.count": [1, 3]}


def put(data, path, value):
    """The same data with a value at a path, as the page puts it."""
    found = copy.deepcopy(data)
    here = found
    for key in path[:-1]:
        here = here.setdefault(key, {})
    if value is None:
        del here[path[-1]]
    else:
        here[path[-1]] = value
    return found


def of_points(found):
    for differences in found["points"]:
        data = found["scenario"]
        for path, value in differences:
            data = put(data, path, value)
        yield data


@pytest.fixture(scope="module")
def swept():
    return hypertwin.simulate(load(TINY), sweep=SWEEP, overrides={"vms.web.vcpus": 2})


def test_the_differences_give_the_scenario_of_each_point(swept):
    found = live.live(swept.first_scenario, swept.reports)
    for point, data in zip(swept.reports, of_points(found), strict=True):
        expected = json.loads(load(TINY, point["set"]).json)
        assert {**data, "run": None} == {**expected, "run": None}
        assert data["vms"]["web"]["vcpus"] == 2
        assert _core.duration_s(data["run"]["duration"]) == point["duration_s"]
        assert _core.duration_s(data["run"]["warmup"]) == point["warmup_s"]
        assert data["run"]["replications"] == point["replications"]


def test_the_core_reports_the_same_of_what_the_page_holds(swept):
    found = live.live(swept.first_scenario, swept.reports)
    for place, data in enumerate(of_points(found)):
        run = data["run"]
        of_each = [
            _core.run(json.dumps(data), _core.replication_seed(run["seed"], k)) for k in range(run["replications"])
        ]
        again = json.loads(_core.aggregate(of_each))
        assert again["vms"] == json.loads(json.dumps(swept.reports[place]["vms"]))


def test_facts_of_the_source_system_and_measurements_stay_out():
    scenario = crooked()
    assert "measured" in scenario.json
    found = live.live(scenario, [])
    assert "measured" not in json.dumps(found)
    scenario = load(ROOT / "scenarios" / "clusters.yaml")
    assert scenario.data["powered_off"] and scenario.data["datastores"]
    assert not {"powered_off", "datastores"} & set(live.live(scenario, [])["scenario"])


def test_a_point_can_have_a_key_that_the_first_one_lacks():
    result = hypertwin.simulate(load(TINY), sweep={"vms.db.limit": [None, "2 GHz"]}, replications=1)
    found = live.live(result.first_scenario, result.reports, ["--calibration", "c.yaml"])
    assert [data["vms"]["db"].get("limit") for data in of_points(found)] == [None, "2 GHz"]
    assert (found["own_policy"], found["options"]) == (OWN, ["--calibration", "c.yaml"])


def test_only_a_limited_number_of_hosts_can_be_chosen():
    many = load(TINY, {"hosts.esx1.count": live.MAX_HOSTS + 1})
    assert len(live.live(many, [])["hosts"]) == live.MAX_HOSTS


def test_every_control_is_a_key_of_the_schema_with_its_range():
    scenario = load(
        """
        {name: pool, hosts: {n: {count: 4, sockets: 1, cores_per_socket: 8, clock: 2 GHz, memory_per_node: 64 GiB,
         hypervisor: linux-6.6}}, storage: {p: {kind: ceph, nodes: n, redundancy: "replicas-3",
         devices: {per_node: 2, capacity: 1 TB, kind: nvme}}},
         vms: {a: {vcpus: 2, memory: 4 GiB, workload: w, storage: p}},
         workloads: {w: {arrivals: {open: {rate: 5 /s}}, cpu: {mean: 1 ms}, ios: 1, reference_clock: 2 GHz}}}
        """
    )
    found = live.live(scenario, [])
    assert list(found["controls"]) == ["vms", "hosts", "storage"]
    assert found["hosts"] == ["n-1", "n-2", "n-3", "n-4"]
    for section, controls in found["controls"].items():
        for control in controls:
            node = language.schema_node(".".join((section, "NAME", *control["key"])))
            assert node and control["text"] == node["description"]
            if control["form"] == "choice":
                assert len(control["values"]) >= 2
                assert control["values"] == sorted(set(control["values"]), key=control["values"].index)
            else:
                assert 0 <= control["low"] < control["high"], control
    shares = next(each for each in found["controls"]["vms"] if each["key"] == ["shares"])
    assert (shares["values"], shares["default"]) == (["low", "normal", "high"], "normal")
    memory = next(each for each in found["controls"]["vms"] if each["key"] == ["memory"])
    assert (memory["unit"], memory["low"], memory["reach"]) == ("GiB", 1 / 1024, 64)
    clock = next(each for each in found["controls"]["hosts"] if each["key"] == ["clock"])
    assert (clock["unit"], clock["low"], clock["high"]) == ("GHz", 0.1, 20)
    redundancy = found["controls"]["storage"][0]["values"]
    assert redundancy[0] == "replicas-3" and "raid-5" not in redundancy
    for scheme in redundancy:
        assert language.redundancy(scheme)


def test_a_clock_to_which_all_work_refers_is_no_control():
    offered = [each["key"] for each in live.live(load(TINY), [])["controls"]["hosts"]]
    assert ["cores_per_socket"] in offered and ["clock"] not in offered


@pytest.fixture
def core(monkeypatch):
    """A core that is small."""
    monkeypatch.setattr(browser_core, "module", lambda: b"\0asm")
    page._core_element.cache_clear()
    yield
    page._core_element.cache_clear()


def test_only_a_live_page_may_compile_a_core(core, swept):
    made = page.made_now("0")
    plain = simulation_page.page(swept.to_dict()).html(made)
    simulating = simulation_page.page(swept.to_dict(), live=swept.first_scenario).html(made)
    policies = [re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1] for html in (plain, simulating)]
    assert "wasm" not in policies[0] and "worker" not in policies[0] and 'id="core"' not in plain
    assert "'wasm-unsafe-eval'; worker-src blob:;" in policies[1].replace("&#x27;", "'")
    assert "'unsafe-eval'" not in policies[1].replace("&#x27;", "'")
    assert "default-src 'none'" in policies[1].replace("&#x27;", "'")
    assert simulating.index("<script>") < simulating.index('id="core"')


def test_numbers_of_the_scenario_are_not_rounded(core):
    scenario = load(TINY, {"vms.db.load": 1.23456789012})
    result = hypertwin.simulate(scenario, overrides={"run.replications": 1})
    html = simulation_page.page(result.to_dict(), live=result.first_scenario).html(page.made_now("0"))
    assert "1.23456789012" in html


def test_live_is_for_a_page(cli, tiny):
    done = cli("simulate", str(tiny), "--live", exits=2)
    assert "--report FILE.html" in done.stderr


def test_a_verbose_run_prints_the_hash_of_the_report(cli, tiny):
    done = cli("-v", "simulate", str(tiny))
    text = load(tiny).json
    again = _core.aggregate([_core.run(text, _core.replication_seed(7, k)) for k in range(2)])
    assert f"report of point 1: {hashlib.sha256(again.encode()).hexdigest()}" in done.stderr
