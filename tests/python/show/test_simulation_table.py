"""The tables of a simulation in a terminal: what they show, what they leave out, and what they say about that."""

from __future__ import annotations

import copy
import re

import pytest
from tests.conftest import ROOT, TINY
from tests.python.show.test_pools import plain

import hypertwin
from hypertwin.metrics.words import number
from hypertwin.show import simulation


@pytest.fixture(scope="module")
def tiny_result(tmp_path_factory):
    path = tmp_path_factory.mktemp("tiny") / "tiny.yaml"
    path.write_text(TINY)
    return hypertwin.simulate(path, sweep={"vms.db.load": [0.5, 2]}).to_dict()


@pytest.fixture(scope="module")
def clustered():
    return hypertwin.simulate(
        ROOT / "scenarios" / "hyperconverged.yaml", replications=2, duration=1, warmup=1
    ).to_dict()


@pytest.fixture
def tiny_point(tiny_result):
    """The result with its first point only, to be changed."""
    return {**tiny_result, "points": [copy.deepcopy(tiny_result["points"][0])]}


def shown(result, width=160, show=()):
    """What a terminal shows, without the intervals of the model error, which test_model_error.py reads."""
    points = [{key: value for key, value in point.items() if key != "model_error"} for point in result["points"]]
    result = {**result, "points": points}
    return "".join(f"{line.rstrip()}\n" for line in plain(simulation.table(result, show), width).splitlines())


def heads(text):
    """The words above the first figures."""
    return " ".join(re.split(r"\n *─+", text)[0].split())


def test_figures_have_digits_by_size(tiny_point):
    db = tiny_point["points"][0]["groups"]["db"]
    db["response_ms"] = {"mean": 0.3612, "p50": 0.31, "p95": 0.4219, "p99": 12.3456, "max": 20.0, "ci95": 0.0123}
    (row,) = [line for line in shown(tiny_point).splitlines() if line.startswith("  db ")]
    assert "0.36 ±0.01" in row
    assert re.search(r" 0\.42 +12\.3\b", row)


def test_one_replication_has_no_spread_and_says_so(tiny_point):
    (point,) = tiny_point["points"]
    assert "±" in shown(tiny_point).partition("Calibrated")[0]
    point["replications"] = 1  # the core still has half-widths of batches of its time
    text = shown(tiny_point)
    assert "±" not in text
    assert "One replication: no confidence interval (--replications 3)." in " ".join(text.split())


def test_a_sweep_of_one_host_has_its_usage_beside_the_groups_and_a_point_a_table_of_hosts(tiny_result, tiny_point):
    swept, single = shown(tiny_result), shown(tiny_point)
    assert "Hosts\n" not in swept
    usage = tiny_result["points"][1]["hosts"]["esx1"]["usage_pct"]
    assert re.search(rf"^ +2 +db +2 +{usage:.1f} ±", swept, re.MULTILINE)
    assert "host usage" not in heads(single)
    assert re.search(r"^  esx1 .* 3 +\S+ +1$", single.partition("Hosts\n")[2], re.MULTILINE)  # VMs, memory, NUMA nodes


def test_several_hosts_have_rows_and_those_without_vms_no_ready(clustered):
    rows = dict(re.findall(r"^  ((?:node|compute)-\d) (.*)$", shown(clustered).partition("Hosts\n")[2], re.MULTILINE))
    assert list(rows) == [f"compute-{n}" for n in range(1, 5)] + [f"node-{n}" for n in range(1, 5)]
    assert re.search(r" <?0\.\d+ ", rows["node-1"])
    assert "<" not in rows["compute-1"]


def test_hosts_are_in_the_order_of_their_numbers(tiny_point):
    point = tiny_point["points"][0]
    point["hosts"] = {f"esx{number}": point["hosts"]["esx1"] for number in ("1", "10", "11", "2")}
    assert re.findall(r"^  (esx\d+) ", shown(tiny_point), re.MULTILINE) == ["esx1", "esx2", "esx10", "esx11"]


def test_nodes_of_a_host_stand_side_by_side_and_many_as_a_range(tiny_point):
    (point,) = tiny_point["points"]
    node = {"memory_gb_per_s": 0.0, "usage_pct": 10.0, "vcpus": 2.0, "memory_mb": 0.0, "memory_pct": 50.0}

    def row(nodes):
        point["hosts"]["esx1"]["nodes"] = {str(n): {**node, "usage_pct": 10.0 + n} for n in range(nodes)}
        (found,) = re.findall(r"^  esx1 .*$", shown(tiny_point), re.MULTILINE)
        return found

    assert re.search(r" 2 +10 11 +50 50$", row(2))
    assert re.search(r" 8 +10 – 17 +50$", row(8))
    assert re.search(r" 1$", row(1))


def test_io_has_a_table_where_there_is_any(clustered, tiny_result):
    text = shown(clustered)
    group = clustered["points"][0]["groups"]["db"]
    (row,) = re.findall(r"^  db .*$", text.partition("I/O\n")[2], re.MULTILINE)
    assert row.split()[2] == f"{group['iops']:,.0f}"
    assert f" {group['io_latency_ms']['mean']:.2f} " in row
    assert f" {group['io_latency_ms']['p99']:.2f}" in row
    assert "I/O\n" not in shown(tiny_result)


def test_a_narrow_terminal_keeps_iops_bandwidth_and_latencies_of_reads_and_writes(clustered):
    table = shown(clustered, 80).partition("I/O\n")[2].partition("Hosts\n")[0]
    db = clustered["points"][0]["groups"]["db"]
    kept = [db["iops"], db["io_mb_per_s"]]
    kept += [db[way]["latency_ms"][key] for way in ("read", "write") for key in ("mean", "p99")]
    (row,) = re.findall(r"^  db .*$", table, re.MULTILINE)
    assert {number(value) for value in kept} <= set(row.split())


def test_ios_without_simulated_storage_are_a_column(tiny_point):
    tiny_point["points"][0]["groups"]["db"]["iops"] = 12_345.6
    text = shown(tiny_point)
    assert heads(text).endswith("IOPS")
    assert re.search(r"^  db .* 12,346$", text, re.MULTILINE)


@pytest.mark.parametrize("width", [70, 80, 100])
def test_a_narrow_terminal_keeps_throughput_and_p99_and_says_what_it_lacks(tiny_result, width):
    text = shown(tiny_result, width)
    for index, group in enumerate(tiny_result["points"][1]["groups"].values()):
        row = [line for line in text.splitlines() if re.match(r" +2 +(db|web)", line)][index]
        assert f" {group['throughput_per_s']:.0f} " in f"{row} "
        assert re.search(rf" {group['response_ms']['p99']:.1f}\b", row)
        assert "±" in row
    assert "Columns omitted: run %, ready sum %" in " ".join(text.split())
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width


def test_show_names_the_tables(clustered):
    text = shown(clustered, show=["stations", "hosts"])
    assert [name for name in ("  VM ", "Hosts", "Stations of", "Distributed") if name in text] == [
        "Hosts",
        "Stations of",
    ]
    assert text.index("Stations of") < text.index("Hosts")
    station = clustered["points"][0]["storage"]["db-vcpus"]
    assert re.search(rf"^  db-vcpus +{station['members']} +{station['utilization_pct']:.1f} ", text, re.MULTILINE)
    assert "node-2" in shown(clustered, show=["vms"])


def test_what_there_is_nothing_of_is_said(tiny_result):
    assert "No pools to show." in shown(tiny_result, show=["pools", "hosts"])
    assert "No stations to show." in shown(tiny_result, show=["stations"])


@pytest.mark.parametrize("many", [60, 61, 800])
def test_of_many_vms_the_worst_come_first_and_the_rest_are_counted(tiny_point, many):
    (point,) = tiny_point["points"]
    vm = point["vms"]["db"]
    point["vms"] = {f"vm-{n}": {**vm, "ready_pct": n / 10, "costop_pct": 0.0} for n in range(many)}
    text = shown(tiny_point, show=["vms"])
    names = re.findall(r"^  (vm-\d+)", text, re.MULTILINE)
    assert len(names) == 60
    if many == 60:
        assert names[0] == "vm-0"
        assert "more rows" not in text
    else:
        assert names == [f"vm-{n}" for n in range(many - 1, many - 61, -1)]
        assert f"{many - 60} more rows are in --format csv and json." in text


def test_a_vm_that_is_a_group_has_its_percentiles_where_vms_have_none(tiny_point):
    (point,) = tiny_point["points"]
    for vm in point["vms"].values():
        vm["response_ms"].update(p50=None, p95=None, p99=None)
    rows = dict(re.findall(r"^  (db|web-1) (.*)$", shown(tiny_point, show=["vms"]), re.MULTILINE))
    p99 = point["groups"]["db"]["response_ms"]["p99"]
    assert rows["db"].endswith(f" {p99:.1f}")
    assert "esx1" in rows["db"]
    assert len(rows["web-1"].split()) == len(rows["db"].split()) - 2


def test_hosts_that_failed_and_vms_that_stood_still_are_said_with_times(tiny_point):
    (point,) = tiny_point["points"]
    point["failures"] = [
        {"time_s": 2.0, "what": "esx1", "fails": True, "hosts": ["esx1"], "vms": ["db", "web-1", "web-2"]},
        {"time_s": 3.5, "what": "esx1", "fails": False, "hosts": ["esx1"], "vms": ["db"]},
        {"time_s": 4.0, "what": "rack", "fails": True, "hosts": ["esx2", "esx3"], "vms": []},
    ]
    point["hosts"]["esx1"]["down_s"] = 1.5
    point["vms"]["db"]["down_s"], point["vms"]["web-1"]["down_s"] = 1.5, 3.0
    text = shown(tiny_point)
    assert "2 s: esx1 fails; 3 VMs stop: db, web-1, web-2.\n" in text
    assert "3.5 s: esx1 returns; 1 VM resume: db.\n" not in text
    assert "3.5 s: esx1 returns; 1 VM resumes: db.\n" in text
    assert "4 s: esx2, esx3 fail.\n" in text
    assert "Stopped in the 4 s measured: web-1 3 s, db 1.50 s. No ha policy in cluster default restarts" in text
    assert re.search(r"^  esx1 .* 1\.50$", text, re.MULTILINE)


def test_a_host_that_fails_in_a_run_is_said():
    overrides = {"failures": [{"at": "2 s", "fails": ["node-1"]}], "run.replications": 1}
    found = hypertwin.simulate(ROOT / "scenarios" / "disk-failure.yaml", overrides=overrides, duration=4, warmup=1)
    text = shown(found.to_dict())
    assert re.search(r"^2 s: node-1 fails; 2 VMs stop: app-1, app-6\.$", text, re.MULTILINE)
    assert "Stopped in the 4 s measured: app-1 3 s, app-6 3 s. No ha policy in cluster default" in text
    assert "VMs stopped or returned during the measurement." in text
    assert re.search(r"^  app ×10 \* +\d+ +85 ", text, re.MULTILINE), "2 of 10 VMs were up for 1 s of 4 s"


def test_sums_and_means_of_a_group_are_told_apart(tiny_result, tiny_point):
    note = "vCPUs, run queue, throughput, IOPS and MB/s are sums over VMs, the rest means."
    assert note in shown(tiny_result)
    del tiny_point["points"][0]["groups"]["web"]
    assert note not in shown(tiny_point)


def test_the_command_shows_what_is_named(cli, tiny):
    done = cli("simulate", tiny, "--show", "hosts,vms", "--show", "hosts", exits=0)
    assert (done.stdout.count("Hosts\n"), done.stdout.count("VMs\n")) == (1, 1)
    for arguments, said in (
        (
            ("--show", "host"),
            "--show 'host'; allowed: clusters, groups, hosts, vms, model-error, memory, moves, pools, stations",
        ),
        (("--show", "hosts", "--format", "json"), "--show is for tables"),
        (("--show", "hosts", "--out", "x.csv"), "--show is for tables"),
    ):
        done = cli("simulate", tiny, *arguments, exits=2)
        assert said in " ".join(done.stderr.split())
