"""Outages, migrations and memory that hosts took back: what a terminal says of them, and in which order."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.conftest import ROOT
from tests.python.show import moved
from tests.python.show.test_simulation_table import shown

import hypertwin
from hypertwin.metrics import catalogue, frame
from hypertwin.show import assumed, memory, movement, simulation


@pytest.fixture
def result():
    return moved.result()


@pytest.fixture
def point(result):
    return result["points"][0]


def row(text, beginning):
    """The cells of the first line that begins so."""
    (line,) = re.findall(rf"^  {beginning} .*$", text, re.MULTILINE)
    return re.split(r"\s{2,}", line.strip())


def test_what_found_no_host_is_told_of_each_point_of_a_sweep(result, point):
    point["judgement"]["unplaced"] = ["2 VMs could not restart: db-7 needs memory; db-4 needs CPU."]
    other = {**point, "set": {"vms.db.count": 9}}
    result["points"] = [point, other]
    lines = shown(result).splitlines()
    assert "vms.db.count 9" in " ".join(movement.unplaced([point, other])) or movement.unplaced([other])[0].startswith(
        "2 VMs"
    )
    assert sum("2 VMs could not restart: db-7 needs memory; db-4 needs CPU." in line for line in lines) == 2


def test_figures_that_stand_on_a_default_say_so(point):
    vms = {"workload": "oltp"}
    given: dict[str, Any] = {"vms": {"db": dict(vms)}, "workloads": {"oltp": {}}, "clusters": {"default": {"ha": {}}}}
    point["vms"]["db-2"]["memory"]["compressed_bytes"] = 1.0
    keys = [re.findall(r"\((\S+)\)", said)[0] for said in assumed.notes([point], given)]
    assert keys == [
        *("workloads.NAME.dirty_rate", "workloads.NAME.page_rate"),
        *("vms.NAME.memory_compressible_pct", "clusters.NAME.ha.boot"),
    ]
    given["workloads"]["oltp"] = {"dirty_rate": "1 MB/s", "page_rate": "5 /s"}
    given["vms"]["db"]["memory_compressible_pct"] = 10
    given["clusters"]["default"]["ha"]["boot"] = "9 s"
    assert assumed.notes([point], given) == []
    for key in ("moves", "outages"):
        point[key] = []
    for vm in point["vms"].values():
        vm.pop("memory", None)
    assert assumed.notes([point], {"vms": {"db": vms}, "workloads": {"oltp": {}}}) == []


def test_a_failure_says_who_restarts_and_who_stands_still(result, point):
    assert "\n15 s: esx-1 fails; 3 VMs go down: db-1, db-4, db-7.\n" in shown(result)
    del point["outages"][0]
    text = shown(result)
    assert "15 s: esx-1 fails; 2 VMs go down: db-4, db-7; 1 VM stops: db-1.\n" in text
    assert "Down in the 60 s measured: db-4 50 s, db-7 50 s. Averages of these VMs" in text
    still = "Stopped in the 60 s measured: db-1 33 s. No ha policy in cluster default restarts them on another host."
    assert f"{still} Their averages count this time as idle." in " ".join(text.split())
    assert "VMs stopped or returned during the measurement." in text


def test_averages_of_the_dead_are_said_to_be_over_their_time_up(result):
    text = shown(result, show=["vms"])
    assert row(text, r"db-1 \*")[3] == "45", "up for 27 of 60 s"
    assert row(text, r"db-2 \*")[3] != "45"
    assert "Averages of these VMs cover their uptime (up %)" in text
    assert "as idle" not in text.partition("three-hosts:")[2]
    assert row(text, r"db-2 \*")[-2:] == ["7.25", "4.50"], "swap wait and slow"


def test_outages_say_when_each_step_was_and_who_was_not_up_again(result):
    text = shown(result).partition("Outages\n")[2].partition("Migrations\n")[0]
    assert row(text, "15 +db-1") == ["15", "db-1", "esx-1", "esx-2", "18", "18", "33"]
    assert row(text, "15 +db-7") == ["15", "db-7", "esx-1", "not up again", "18"]


def test_migrations_say_how_they_ended(result):
    text = shown(result)
    moves = text.partition("Migrations\n")[2]
    assert row(moves, "20 ") == ["20", "db-2", "esx-3", "esx-2", "as asked", "10.5", "212", "3", "5"]
    assert row(moves, "30 ") == ["30", "db-3", "esx-3", "esx-2", "balancing", "3", "5", "not ended"]
    assert row(moves, "40 ")[-1] == "given up"
    assert "33 " not in moves.partition("15 s:")[0], "a restart is among the outages"
    assert "1 migration given up: db-5." in text
    assert "1 migration still under way at the end: db-3." in text


def test_of_many_moves_those_that_took_longest_are_shown_in_all_points_together(result, point):
    point["moves"] = [moved.move(f"db-{n}", at_s=float(n), end_s=2.0 * n) for n in range(1, 31)]
    point["moves"][0].update(end_s=None, outcome="running")
    (cells, note) = movement.migrations_table(result)
    assert len(cells.rows) == movement.MOST_ROWS
    assert [cells.rows[0][1], cells.rows[1][1], cells.rows[-1][1]] == ["db-1", "db-30", "db-12"]
    assert note == "Shown are the 20 migrations, the longest; 10 more are in --format json."


def test_hosts_short_of_memory_have_a_table_and_a_column_and_others_none(result, point):
    text = shown(result)
    assert row(text.partition("Memory of hosts\n")[2], "esx-2 +hard")[2:] == [
        *("17.5", "2", "1.25", "3", "0.50", "1.50", "0.25", "12", "3"),
    ]
    waits = row(text.partition("Memory of VMs\n")[2], "db-2")
    assert (waits[1], waits[-1]) == ("esx-2", "7.25")
    assert "the twin uses a flat tax" in " ".join(text.split())
    del point["hosts"]["esx-2"]["memory"]
    for vm in point["vms"].values():
        vm.pop("memory", None)
    text = shown(result)
    assert "Memory of" not in text
    assert "state" not in text.partition("Outages")[0]
    assert not memory.notes(result["points"])


def test_a_run_without_any_of_it_says_nothing_of_it(result, point):
    for key in ("moves", "outages", "unplaced"):
        del point[key]
    point["failures"] = []
    result["answer"] = {"tone": "good", "text": "No VM suffers.", "more": []}
    for vm in point["vms"].values():
        vm["down_s"] = 0.0
    text = shown(result)
    assert not re.search(r"Outages|Migrations|no host|warm-up included|up\n", text)
    assert list(simulation.usual(result)) == ["groups", "hosts", "memory", "model-error"]


def test_replications_are_said_to_differ(result, point):
    assert "of the first replication" not in shown(result)
    point["replications"] = 3
    assert "Times of outages and migrations are from the first replication, and include the warm-up." in shown(result)


def test_data_frames_have_memory_and_time_down(result):
    rows = {(row["kind"], row["name"]): row for row in frame.rows(result)}
    assert (rows["vm", "db-1"]["down_s"], rows["vm", "db-2"]["slow_s"]) == (33.0, 4.5)
    assert rows["vm", "db-2"]["memory_swap_wait_pct"] == 7.25
    assert (rows["host", "esx-2"]["memory_state"], rows["host", "esx-2"]["memory_swapped_bytes"]) == (
        "hard",
        1.5 * 2**30,
    )
    assert not {key for row in rows.values() for key in row} & {"moves", "outages", "unplaced"}


@pytest.mark.parametrize("width", [80, 100])
def test_a_narrow_terminal_keeps_what_matters(result, width):
    text = shown(result, width)
    assert max(map(len, text.splitlines())) <= width
    assert re.search(r"outcome|took", text)
    assert "not up again" in text


FAILOVER = ROOT / "scenarios" / "failover.yaml"
RESERVED = {
    "vms.db.memory_reservation": "48 GiB",
    "vms.web.memory_reservation": "16 GiB",
    "hosts.esx.memory_per_node": "52 GiB",
}


def test_a_simulated_cluster_says_first_which_vms_found_no_host():
    text = shown(hypertwin.simulate(FAILOVER, replications=1, overrides=RESERVED).to_dict(), 200)
    (first,) = [line for line in text.splitlines()[:4] if "could not restart" in line]
    assert first.startswith(
        "4 VMs could not restart: db-2 needs 41.2 GiB more unreserved memory; web-2, web-6, web-10 need "
    )
    assert text.count("not up again") == 4


@pytest.mark.parametrize(
    ("name", "overrides"),
    [("failover", {"hosts.esx.memory_per_node": "36 GiB"}), ("memory-short", {"run.duration": "5 s"})],
)
def test_every_figure_of_moves_and_memory_is_in_the_catalogue(name, overrides):
    found = hypertwin.simulate(ROOT / "scenarios" / f"{name}.yaml", replications=1, overrides=overrides)
    (point,) = found.to_dict()["points"]
    known = {(scope, metric.key) for metric in catalogue.CATALOGUE for scope in metric.scopes}
    used = {
        (kind, catalogue.catalogue_key(key)) for kind, _, each in frame.entities(point) for key in frame.flatten(each)
    }
    used |= {("point", key) for key in ("moves", "outages", "unplaced") if key in point}
    assert {("host", "memory_state"), ("vm", "memory_target_bytes")} <= used
    assert (("point", "outages") in used) == (name == "failover")
    assert not used - known
