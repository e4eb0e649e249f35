"""Intervals with the twin's own error: in the document, in the terminal, and which area a figure has."""

from __future__ import annotations

import copy
import re

import pytest
from tests.conftest import ROOT
from tests.python.show.test_pools import plain

import hypertwin
from hypertwin.model_error.carried import Carrier, carriers
from hypertwin.show import simulation, xlsx
from hypertwin.show import view as v


@pytest.fixture(scope="module")
def pooled():
    return hypertwin.simulate(
        ROOT / "scenarios" / "hyperconverged.yaml", replications=2, duration=1, warmup=1
    ).to_dict()


@pytest.fixture
def point(pooled):
    return copy.deepcopy(pooled["points"][0])


def carrier(point, topology: str) -> Carrier:
    kinds = {"pool": {"storage": "s"}, "local": {"array": "a"}, "array": {"array": "b"}, "none": {}}
    data = {"vms": {"db": kinds[topology]}, "arrays": {"a": {"protocol": "local"}, "b": {"protocol": "fc"}}}
    return Carrier.of(data)


def test_every_figure_of_a_group_has_an_interval_that_has_the_figure(pooled):
    (point,) = pooled["points"]
    found, db = point["model_error"], point["groups"]["db"]
    assert found["level_pct"] == 80
    for key, value in (
        ("throughput_per_s", db["throughput_per_s"]),
        ("response_ms_mean", db["response_ms"]["mean"]),
        ("response_ms_p99", db["response_ms"]["p99"]),
        ("ready_pct", db["ready_pct"]),
        ("iops", db["iops"]),
        ("read_latency_ms_p99", db["read"]["latency_ms"]["p99"]),
    ):
        ends = found["groups"]["db"][key]
        assert ends["low"] <= value <= ends["high"], key
        assert ends["high"] > ends["low"]
        assert ends["basis"] in found["bases"]
    assert found["pools"]["mesh"]["read_latency_ms_mean"]["basis"] == "pools latency"
    assert found["groups"]["db"]["read_latency_ms_p99"]["basis"] == "pools tail"
    assert found["hosts"]["node-1"]["usage_pct"]["basis"] == "cpu usage"
    assert found["hosts"]["compute-1"] == {}, "a figure of 0 has no interval"
    assert "costop_pct" not in found["groups"]["db"]
    assert "vcpus" not in found["groups"]["db"]


def test_a_response_has_the_area_of_its_largest_share(point):
    db = point["groups"]["db"]
    of = carrier(point, "pool")
    share = of(point)["responses"]["db"]
    io = db["iops"] * db["io_latency_ms"]["mean"] / (db["throughput_per_s"] * db["response_ms"]["mean"])
    assert (share["area"], share["share_pct"]) == ("cpu", pytest.approx(100 * (1 - io)))
    db["io_latency_ms"]["mean"] *= 0.6 / io
    assert of(point)["responses"]["db"] == {"area": "pools", "share_pct": pytest.approx(60)}
    assert of(point)["groups"]["db"]["response_ms_mean"]["basis"] == "pools latency"
    assert of(point)["groups"]["db"]["iops"]["basis"] == "pools throughput", "I/Os follow the throughput"
    db["memory"] = {"swap_wait_pct": 1000.0}
    assert of(point)["responses"]["db"]["area"] == "pools"
    db["io_latency_ms"]["mean"] /= 6
    assert of(point)["responses"]["db"]["area"] == "memory"


@pytest.mark.parametrize(
    ("storage", "limit", "area"),
    [
        ("pool", "devices", "pools"),
        ("local", "nothing", "drives"),
        ("local", "devices", "drives"),
        ("local", "controller", "path"),
        ("array", "nothing", "path"),
        ("array", "devices", "drives"),
        ("none", "devices", "cpu"),
    ],
)
def test_the_area_of_a_latency_is_that_of_the_storage_and_its_limit(point, storage, limit, area):
    point["judgement"]["limits"]["db"]["kind"] = limit
    assert carrier(point, storage)(point)["groups"]["db"]["io_latency_ms_mean"]["basis"] == f"{area} latency"


def test_a_throughput_that_the_scenario_sets_has_no_interval():
    def of(arrivals):
        return Carrier.of({"vms": {"db": {"workload": "w"}}, "workloads": {"w": {"arrivals": arrivals}}})

    paced, limited = of({"open": {"rate": "9/s"}}), of({"io": {"rate": 9}})
    point = {
        "groups": {"db": {"throughput_per_s": 9.0, "response_ms": {"mean": 2.0}}},
        "judgement": {"limits": {"db": {"kind": "nothing"}}},
    }
    assert set(paced(point)["groups"]["db"]) == set(limited(point)["groups"]["db"]) == {"response_ms_mean"}
    assert "throughput_per_s" in of({"io": {}, "closed": {}})(point)["groups"]["db"]
    point["judgement"]["limits"]["db"]["kind"] = "host-cpu"
    assert "throughput_per_s" in paced(point)["groups"]["db"]


def test_times_of_migrations_have_intervals_in_the_order_of_the_moves_but_restarts_have_none():
    move = {"kind": "migration", "outcome": "done", "at_s": 10.0, "end_s": 30.0, "downtime_ms": 500.0}
    point = {"moves": [{**move, "kind": "restart"}, move, {**move, "outcome": "running", "end_s": None}]}
    restart, done, running = carrier(point, "none")(point)["moves"]
    assert (restart, running) == ({}, {})
    assert set(done) == {"seconds", "downtime_ms"}
    assert done["seconds"]["low"] < 20 < done["seconds"]["high"]
    assert done["seconds"]["basis"] == done["downtime_ms"]["basis"] == "movement duration"


def test_points_of_one_scenario_share_a_carrier():
    one, other = {"vms": {"db": {"storage": "s"}}}, {"vms": {"db": {"array": "a"}}}
    first, second, third = carriers([one, dict(one), other])
    assert first is second
    assert first != third


def test_the_terminal_has_the_intervals_and_where_they_come_from(pooled):
    text = plain(simulation.brief(pooled), 160)
    ends = pooled["points"][0]["model_error"]["groups"]["db"]["throughput_per_s"]
    table = text.partition("80% intervals with the twin's own error")[2]
    assert f"{ends['low']:,.0f}–{ends['high']:,.0f}" in table
    assert re.search(r"db ×8 +[0-9]+% cpu ", table)
    every = " ".join(plain(simulation.table(pooled), 160).split())
    assert "pools, tail: ×" in every
    assert "own error: hosts" in every
    old = {**pooled, "points": [{**pooled["points"][0], "model_error": None}]}
    del old["points"][0]["model_error"]
    assert "own error" not in plain(simulation.table(old), 160), "a result of an earlier version has none"


def test_a_cell_shows_its_interval_and_a_workbook_has_its_ends():
    cell = v.figure(12.5, half_width=0.2, ends=(9.0, 35.0))
    assert v.shown(cell) == "12.5 ±0.2 (9 – 35)"
    (block,) = v.table("t", "T", [v.words("name", "name"), v.figures("x", "x", "ms")], [{"name": "a", "x": cell}])
    sheet = xlsx._sheet(block["table"])
    assert list(sheet.heads) == ["name", "x (ms)", "x (ms) ±", "x (ms) low", "x (ms) high"]
    assert [list(row) for row in sheet.rows] == [["a", 12.5, 0.2, 9.0, 35.0]]
