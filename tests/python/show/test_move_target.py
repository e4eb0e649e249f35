"""The target in the view of a move: figures of VMs before and after, their causes, and steps of reused hosts."""

from __future__ import annotations

from typing import Any

import pytest

from hypertwin.documents.move import Arrival, Change
from hypertwin.show import move_target


def change(before: float | None, after: float | None, *, cause: str | None = None) -> Change:
    return {"before": before, "after": after, "steps": [after], "noticed": cause is not None, "cause": cause}


def state(median: float) -> Any:
    response = {"vms": 3, "without": 0, "median": median, "p90": 2.0, "slower": 1, "slowest": "b", "slowest_ratio": 3.0}
    return {"ready_pct": None, "costop_pct": None, "response_ms_p99": None, "response": response}


def arrival(**keys: Any) -> Arrival:
    made: Any = {
        **{"hosts": 2, "feasible": True, "reason": None, "cluster": None, "dropped": [], "failed": [], "rolling": []},
        **{"before": state(1), "after": state(1.2), "failure": None},
        "causes": [{"name": "one", "ratio": 1.0, "vms": 0}, {"name": "two", "ratio": 1.2, "vms": 2}],
        "vms": [
            {"name": "a", "figures": {"response_ms_p99": change(10, 10.5), "throughput_per_s": change(5, 5)}},
            {
                "name": "b",
                "figures": {"response_ms_p99": change(10, 30, cause="two"), "ready_pct": change(0, 9, cause="two")},
            },
            {"name": "c", "figures": {"response_ms_p99": change(10, 2, cause="two")}},
        ],
    }
    found: Arrival = made | keys
    return found


def blocks(made: Arrival) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for section in move_target.sections(made, {"b": "db-2"}):
        for block in section["blocks"]:
            if block["type"] == "charts":
                found |= {chart["id"]: chart for chart in block["charts"]}
            elif block["type"] == "table":
                found[block["table"]["id"]] = block["table"]
    return found


def test_the_vms_that_change_most_are_first_with_their_cause() -> None:
    rows = blocks(arrival())["changes"]["rows"]
    assert [row["name"] for row in rows] == ["c", "db-2", "a"]
    assert [row["cause"] for row in rows] == ["two", "two", None]
    assert [row["ratio"] for row in rows] == [pytest.approx(0.2), pytest.approx(3), pytest.approx(1.05)]
    assert [row["others"] for row in rows] == ["", "ready: two", ""]
    assert (rows[1]["ready_pct_before"], rows[1]["ready_pct"]) == (0, 9)
    assert (rows[2]["throughput_per_s_before"], rows[2]["throughput_per_s"], rows[2]["io_latency_ms"]) == (5, 5, None)


def test_the_chart_shows_the_figure_that_changes_for_most_vms() -> None:
    chart = blocks(arrival())["largest"]
    assert chart["title"] == "Largest changes of response p99"
    assert chart["categories"] == ["c", "db-2"]
    assert [each["values"] for each in chart["series"]] == [[10, 10], [2, 30]]
    many: Any = [{"name": f"v{at}", "figures": {"io_latency_ms": change(1, 2 + at, cause="x")}} for at in range(40)]
    chart = blocks(arrival(vms=many))["largest"]
    assert len(chart["categories"]) == move_target.MAX_CHARTED
    assert chart["categories"][0] == "v39"
    assert chart["value"]["unit"] == "ms"


def test_the_causes_are_in_the_order_of_the_chain_and_in_the_answer() -> None:
    found = blocks(arrival())["causes"]
    assert [(row["name"], row["ratio"], row["vms"]) for row in found["rows"]] == [("one", 1, 0), ("two", 1.2, 2)]
    assert move_target.speed(arrival())[1] == "2 VMs of 3 change by more than 10%: 2 mainly by two."


def test_without_changes_or_a_simulation_nothing_is_claimed() -> None:
    same = arrival(causes=[], vms=[{"name": "a", "figures": {"response_ms_p99": change(10, 10)}}])
    assert set(blocks(same)) == {"target", "changes"}
    assert len(move_target.speed(same)) == 1
    off = arrival(before=None, after=None, causes=[], vms=[])
    assert (blocks(off), move_target.speed(off)) == ({}, [])
    assert move_target.sections(None, {}) == []
    assert move_target.reuse(None, {}) == []
