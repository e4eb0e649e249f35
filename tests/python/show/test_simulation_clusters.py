"""Tables of several clusters, memory beyond what hosts have, and what was measured beside the twin."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from tests.conftest import refused
from tests.python.show.test_page import data
from tests.python.show.test_pools import plain

import hypertwin
from hypertwin.metrics.words import number
from hypertwin.plan import objective
from hypertwin.show import measured, simulation

TWO_CLUSTERS = """
name: two-clusters
run: {duration: 4 s, warmup: 1 s, sample_interval: 1 s, seed: 3, replications: 2}
hosts:
  esx:
    {count: 2, cluster: prod, sockets: 1, cores_per_socket: 4, clock: 2 GHz, memory_per_node: 16 GiB,
     hypervisor: esxi-8.0, measured: {at: "2026-03-01T12:00:00Z", cpu_usage_pct: 41.5, memory_usage_pct: 70}}
  mgmt:
    {cluster: mgmt, sockets: 1, cores_per_socket: 4, clock: 2 GHz, memory_per_node: 8 GiB, hypervisor: esxi-8.0,
     hypervisor_memory: 1 GiB}
vms:
  app: {count: 4, vcpus: 2, memory: 10 GiB, memory_touched: 5 GiB, cluster: prod, workload: w}
  vc: {vcpus: 4, memory: 8 GiB, memory_touched: 7 GiB, cluster: mgmt, workload: w}
  any: {count: 3, vcpus: 1, memory: 512 MiB, workload: w, measured: {cpu_mhz: 410.5, ready_pct: 0.18}}
workloads:
  w: {arrivals: {open: {rate: 20 /s}}, cpu: {mean: 10 ms}}
"""


@pytest.fixture(scope="module")
def scenario(tmp_path_factory):
    path = tmp_path_factory.mktemp("clusters") / "two.yaml"
    path.write_text(TWO_CLUSTERS)
    return path


@pytest.fixture(scope="module")
def simulated(scenario):
    return hypertwin.simulate(scenario)


@pytest.fixture
def result(simulated):
    return copy.deepcopy(simulated.to_dict())


def shown(result, width=200, show=(), hosts=None):
    text = plain(simulation.table(result, show, hosts), width)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def table_of(text, title):
    """Cells of a table by the first of each row; columns are apart by two blanks."""
    body = text.partition(f"{title}\n")[2].partition("─\n")[2].partition("\n\n")[0]
    return {row.split()[0]: re.split(r" {2,}", row.strip())[1:] for row in body.splitlines() if row.startswith("  ")}


def test_several_clusters_come_first_with_a_row_each(result):
    text = shown(result)
    titles = re.findall(r"^(Clusters|Groups|Hosts)$", text, re.MULTILINE)
    assert titles == ["Clusters", "Groups", "Hosts"]
    rows = table_of(text, "Clusters")
    assert list(rows) == ["mgmt", "prod"]
    (point,) = result["points"]
    prod = point["clusters"]["prod"]
    # hosts, VMs, vCPUs, vCPUs per core, usage, its fullest host, ready, memory, in use
    assert rows["prod"][:4] == ["2", str(prod["vms"]), str(prod["vcpus"]), f"{prod['vcpu_per_core']:.2f}"]
    assert rows["prod"][5] == f"{prod['peak_host']} {prod['fullest_host_pct']:.1f}"
    assert rows["prod"][-2:] == [f"{prod['memory_pct']:.0f}", f"{prod['memory_usage_pct']:.1f}"]
    assert set(point["hosts"]) >= {prod["peak_host"]}


def test_hosts_are_by_cluster_and_vms_have_host_and_cluster(result):
    rows = table_of(shown(result, show=["hosts"]), "Hosts")
    assert [(name, cells[0]) for name, cells in rows.items()] == [
        ("mgmt", "mgmt"),
        ("esx-1", "prod"),
        ("esx-2", "prod"),
    ]
    vms = table_of(shown(result, show=["vms"]), "VMs")
    for name, vm in result["points"][0]["vms"].items():
        assert vms[name][:2] == [vm["host"], vm["cluster"]]


def test_one_cluster_has_no_table_and_no_column(scenario):
    one = {"hosts.mgmt.cluster": "prod", "vms.vc.cluster": "prod"}
    text = shown(hypertwin.simulate(scenario, overrides=one, replications=1, duration=1).to_dict())
    assert "Clusters\n" not in text
    assert "cluster " not in text.partition("Hosts\n")[2].partition("─")[0]
    assert "prod" in shown(hypertwin.simulate(scenario, overrides=one, duration=1).to_dict(), show=["clusters"])


def test_clusters_never_share_a_cell_of_usage(result):
    text = shown(result, show=["groups"])
    hosts = result["points"][0]["hosts"]
    own = result["points"][0]["groups"]["any"]
    assert own["clusters"] == ["mgmt", "prod"]
    (row,) = re.findall(r"^  any ×3 .*$", text, re.MULTILINE)
    assert re.search(rf" mgmt {number(hosts['mgmt']['usage_pct'])}; prod \d", row)
    (row,) = re.findall(r"^  app ×4 .*$", text, re.MULTILINE)
    assert "prod" not in row  # of one cluster it is only figures


def test_a_group_on_many_clusters_counts_them(result):
    (point,) = result["points"]
    point["hosts"] = {f"h{n}": {**point["hosts"]["mgmt"], "cluster": f"c{n}"} for n in range(5)}
    point["groups"] = {"any": {**point["groups"]["any"], "hosts": list(point["hosts"])}}
    assert re.search(r"^  any ×3 .* 5 clusters ", shown(result, show=["groups"]), re.MULTILINE)


def test_memory_beyond_what_hosts_have_is_a_warning_of_one_line(cli, scenario, result):
    done = cli("simulate", scenario, "--format", "json", "--replications", 1, "--duration", 1)
    touched, configured = done.stderr.splitlines()
    assert touched.startswith("warning: VMs have touched more memory than hosts have: mgmt 106%. ")
    # what is in use on mgmt is not said to be configured only; the cluster comes before its hosts
    assert configured == (
        "warning: Configured memory exceeds host memory: cluster prod 128%, esx-1 128%, esx-2 128%. Hosts reclaim"
        " memory only when the memory that VMs have touched does not fit."
    )
    assert "VMs have touched more memory than hosts have: mgmt 106%." in " ".join(shown(result).split())


def test_enough_memory_is_no_warning(cli, scenario, result):
    small = ("--set", "vms.app.memory=5 GiB", "--set", "vms.vc.memory=6 GiB", "--set", "vms.vc.memory_touched=6 GiB")
    done = cli("simulate", scenario, *small, "--replications", 1, "--duration", 1, says="")
    assert "more memory" not in done.stdout.lower()
    (point,) = result["points"]
    for host in (*point["hosts"].values(), *point["clusters"].values()):
        host["memory_pct"] = host["memory_usage_pct"] = 100
    assert simulation.memory_warnings([point]) == []


def test_what_vms_have_touched_is_not_judged_where_the_scenario_does_not_say_it(result):
    """Without `memory_touched` all memory counts as touched, which is no news and holds against no measurement."""
    (point,) = result["points"]
    for figures in (*point["hosts"].values(), *point["clusters"].values()):
        figures["memory_usage_pct"] = figures["memory_pct"] = 130.0
    (said,) = simulation.memory_warnings([point])
    assert said.startswith("Configured memory exceeds host memory: cluster prod 130%, ")
    hosts: Any = {"esx-1": {"cpu_usage_pct": 40.0, "memory_usage_pct": 60.0, "at": None, "over_s": None}}
    assert not any("memory in use" in note for note in measured.notes(result, hosts))
    assert "in use" not in shown(result, show=["clusters", "hosts"], hosts=hosts).partition("±")[0]


def test_of_a_sweep_the_point_with_most_is_named(result):
    (point,) = result["points"]
    points: list[Any] = []
    for count, memory_pct in ((1, 90), (2, 130), (3, 120)):
        host = {**point["hosts"]["esx-1"], "memory_pct": memory_pct, "memory_usage_pct": 50}
        points.append({**point, "set": {"vms.app.count": count}, "hosts": {"esx-1": host}, "clusters": {}})
    (said,) = simulation.memory_warnings(points)
    assert said.startswith("Configured memory exceeds host memory: esx-1 130% with count 2. ")


def test_many_hosts_without_memory_are_counted(result):
    (point,) = result["points"]
    host = {**point["hosts"]["esx-1"], "memory_usage_pct": 20}
    many: Any = {**point, "clusters": {}, "hosts": {f"h{n}": {**host, "memory_pct": 101 + n} for n in range(34)}}
    (said,) = simulation.memory_warnings([many])
    assert "h33 134%, h32 133%, h31 132%, h30 131%, h29 130% and 29 more." in said


def test_what_was_measured_stands_beside_the_twin(cli, scenario, simulated, result):
    hosts = measured.of_hosts(simulated.first_scenario.inventory)
    assert set(hosts) == {"esx-1", "esx-2"}
    text = shown(result, hosts=hosts)
    head = text.partition("Hosts\n")[2].partition("─")[0]
    assert head.count("measured") == 2
    rows = table_of(text, "Hosts")
    assert [cells[2] for name, cells in rows.items() if name.startswith("esx")] == ["41.5", "41.5"]
    assert not any("41.5" in cell for cell in rows["mgmt"])
    assert "in use" in head
    off = [abs(result["points"][0]["hosts"][name]["usage_pct"] - 41.5) for name in hosts]
    said = " ".join(text.split())
    assert "Measured: values of the real hosts in the scenario (single sample, 2026-03-01T12:00:00Z)." in said
    assert f"Simulated usage differs from the measurement by {sum(off) / 2:.1f} points on average (2 hosts)" in said
    assert f"by at most {max(off):.1f} (esx-" in said
    assert "measured" not in shown(result).partition("Hosts\n")[2].partition("─")[0]
    done = cli("simulate", scenario, "--explain", "--replications", 1, "--duration", 1, "--report", "page.html")
    assert "Measured: values of the real hosts" in done.stdout


def test_the_page_has_what_was_measured_and_what_memory_lacks(cli, scenario, tmp_path):
    cli("simulate", scenario, "--replications", 1, "--duration", 1, "--report", "page.html", "--format", "json")
    page = data((tmp_path / "page.html").read_text())
    assert page["beside"]["measured"]["esx-1"] == {
        **{"cpu_usage_pct": 41.5, "memory_usage_pct": 70.0, "at": "2026-03-01T12:00:00Z", "over_s": None}
    }
    assert page["beside"]["measured_vms"] == {f"any-{n}": {"cpu_mhz": 410.5, "ready_pct": 0.18} for n in (1, 2, 3)}
    told = [said.partition(":")[0] for said in page["notes"]]
    assert {"VMs have touched more memory than hosts have", "Configured memory exceeds host memory"} <= set(told)


@pytest.mark.parametrize(
    ("spans", "moments", "said"),
    [
        ([None, None], ["2026-01-01", "2026-01-02"], "(single sample, 2026-01-01 to 2026-01-02)"),
        ([604_800.0, 604_800.0], ["2026-01-01", "2026-01-01"], "(mean over 7 d, 2026-01-01)"),
        ([300.0, None], [None, None], "(mean)"),
        ([5400.0, 5400.0], [None, None], "(mean over 1.50 h)"),
    ],
)
def test_when_it_was_measured_is_said(result, spans, moments, said):
    hosts = {
        name: {"cpu_usage_pct": 10.0, "memory_usage_pct": None, "at": at, "over_s": span}
        for name, at, span in zip(("esx-1", "mgmt"), moments, spans, strict=True)
    }
    notes = measured.notes(result, hosts)
    assert said in notes[0]
    assert len(notes) == 2  # nothing of memory, which was not measured
    assert measured.notes({**result, "points": result["points"] * 2}, hosts) == notes[:1]
    assert measured.notes(result, {}) == []


@pytest.mark.parametrize(
    ("slo", "met"),
    [
        ("hosts.*.memory_pct<100", False),
        ("hosts.esx-2.memory_usage_pct<100", True),
        ("clusters.*.usage_pct<=100", True),
        ("clusters.prod.memory_pct<=125 %", False),
        ("clusters.*.memory_usage_pct<100", False),
        ("clusters.mgmt.vcpu_per_core<=9", True),
    ],
)
def test_memory_and_clusters_are_objectives(scenario, result, slo, met):
    (found,) = objective.parse(slo, hypertwin.load(scenario), "app")
    (point,) = result["points"]
    value = found.read(point)
    section = point[found.path.section]
    worst = max(each[found.path.key] for name, each in section.items() if found.path.entity in ("*", name))
    assert value == worst
    assert found.meets(value) == met


@pytest.mark.parametrize(
    ("slo", "code", "said"),
    [
        ("clusters.prd.usage_pct<80", "unknown-reference", "did you mean clusters.prod?"),
        ("clusters.prod.memry_pct<80", "unknown-metric", "did you mean memory_pct?"),
        ("clusters.prod.peak_host<80", "unknown-metric", "fullest_host_pct"),
        ("hosts.esx-1.memory_pct<8 GiB", "bad-unit", "memory_pct is in %"),
    ],
)
def test_a_misspelt_cluster_or_figure_is_refused(scenario, slo, code, said):
    with refused(code, re.escape(said)):
        objective.parse(slo, hypertwin.load(scenario), "app")


def test_density_takes_memory_as_an_objective_and_keeps_vms_in_their_cluster(cli, scenario):
    asked = ("--vm", "app", "--duration", 1, "--replications", 2, "--set", "vms.any.count=0", "--format", "json")
    asked = (*asked, "--failures", 0)
    found = json.loads(cli("density", scenario, *asked, "--slo", "hosts.*.usage_pct<=100").stdout)
    # two of 10 GiB do not fit beside each other in 16 GiB, and mgmt takes none of them
    assert (found["answer"]["count"], found["answer"]["limiting"]) == (2, "memory of esx-1")
    # what another cluster does is no figure of this one
    assert "mgmt" not in json.dumps(found["answer"])
    assert [point["host_memory_pct"] for point in found["points"]][:2] == [62.5, 62.5]
    sets = ("--set", "vms.app.memory=5 GiB", "--slo", "hosts.esx-*.memory_pct<90")
    found = json.loads(cli("density", scenario, *asked, *sets).stdout)
    assert (found["answer"]["count"], found["answer"]["limiting"]) == (4, "hosts.esx-*.memory_pct")


def test_a_table_still_fits_a_narrow_terminal(result):
    text = shown(result, 80)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
