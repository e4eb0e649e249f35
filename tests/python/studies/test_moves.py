"""What rows of studies say of moves, from reports made up for each."""

from __future__ import annotations

from typing import Any

import pytest

from hypertwin.scenario import loads
from hypertwin.studies import moves
from hypertwin.studies.accept import Accept
from hypertwin.studies.classes import limit_of_run
from hypertwin.studies.expression import evaluate
from hypertwin.studies.published import Row, StudyError, class_of

SCENARIO = """
name: made-up
hosts:
  kvm: {count: 2, sockets: 1, cores_per_socket: 4, clock: 2 GHz, memory_per_node: 4 GiB, hypervisor: linux-6.6,
        MIGRATION}
vms:
  vm: {count: 2, vcpus: 1, memory: 1 GiB, host: kvm-1, workload: paced}
workloads:
  paced: {arrivals: {open: {rate: 10 /s}}, cpu: {mean: 1 ms}}
"""


def move(vm: str, begin: float, end: float | None, **figures: Any) -> dict[str, Any]:
    ended = {"outcome": "done", "downtime_ms": 120.0} if end else {"outcome": "running", "downtime_ms": None}
    made = {"vm": vm, "from": "kvm-1", "to": "kvm-2", "at_s": begin, "end_s": end, "rounds": 3}
    return {**made, **ended, "sent_bytes": 1_000_000_000, **figures}


def row(twin: str) -> Row:
    words = ("published", "unit", "origin", "kind", "unreachable", "missed", "note", "words", "against", "follows")
    told: dict[str, Any] = dict.fromkeys(words, "") | {"case": "one", "metric": "made up"}
    return Row(twin=twin, accept=Accept("<=", high=0.0), expected=class_of(""), **told)


RUN = {"warmup_s": 10.0, "duration_s": 100.0}
TWO = {**RUN, "moves": [move("vm-1", 1.0, 11.0), move("vm-2", 2.0, 21.0, rounds=5, downtime_ms=80.0)]}
NEVER = {**RUN, "moves": [move("vm-1", 1.0, None)]}


@pytest.mark.parametrize(
    ("report", "twin", "expected"),
    [
        (TWO, "moves.vm-1.seconds", 10.0),
        (TWO, "moves.vm-2.seconds", 19.0),
        (TWO, "moves.all.seconds", 20.0),
        (TWO, "moves.all.seconds / moves.vm-1.seconds", 2.0),
        (TWO, "moves.all.done", 2),
        (TWO, "moves.all.rounds", 5),
        (TWO, "moves.all.sent_bytes", 2e9),
        (TWO, "moves.all.downtime_ms", 120.0),
        (NEVER, "moves.vm-1.done", 0),
        (NEVER, "moves.vm-1.seconds", 109.0),
    ],
)
def test_figures_of_moves(report, twin, expected):
    assert evaluate(row(twin), {"one": report}) == expected


QUICK = {"io_latency_ms": {"mean": 0.02}, "half_ms": 0.01, "idle_pct": 0.02, "small_pct": 0.0, "none": 0.0}


@pytest.mark.parametrize(
    ("twin", "expected"),
    [("io_latency_ms.mean / half_ms", 2.0), ("idle_pct / idle_pct", 0.2), ("idle_pct / small_pct", 0.2)],
)
def test_only_a_ratio_to_almost_no_percent_is_held_back(twin, expected):
    assert evaluate(row(twin), {"one": QUICK}) == pytest.approx(expected)


def test_a_ratio_to_nothing_has_no_value():
    with pytest.raises(StudyError, match="'none' is 0 in the twin"):
        evaluate(row("half_ms / none"), {"one": QUICK})


@pytest.mark.parametrize("twin", ["moves.vm-3.seconds", "moves.vm-1.minutes", "moves.all"])
def test_what_no_move_has_is_refused(twin):
    with pytest.raises(StudyError, match="made up: "):
        evaluate(row(twin), {"one": TWO})


@pytest.mark.parametrize(
    ("migration", "sent", "expected"),
    [
        ("{link: 100 MB/s}", 500_000_000, "network"),
        ("{link: 100 MB/s}", 499_000_000, "latency"),
        ("{stream: 100 MB/s}", 500_000_000, "network"),
        ("{stream: 100 MB/s, streams: 2}", 500_000_000, "latency"),
    ],
)
def test_a_move_is_limited_by_what_sends_it_or_by_its_fixed_parts(migration, sent, expected):
    scenario = loads(SCENARIO.replace("MIGRATION", f"migration: {migration}"))
    report = {**RUN, "moves": [move("vm-1", 1.0, 11.0, sent_bytes=sent)]}
    assert limit_of_run(report, scenario, "moves.vm-1.seconds") == expected


def test_a_host_that_says_nothing_of_migrations_has_the_defaults_of_the_core():
    said = loads(SCENARIO.replace("MIGRATION", "migration: {setup: 1 s}")).data["hosts"]["kvm"]["migration"]
    assert {key: said[key] for key in moves.DEFAULTS} == dict(moves.DEFAULTS)
    silent = loads(SCENARIO.replace("MIGRATION", ""))
    assert moves.sending_pct(TWO["moves"], TWO, silent) == pytest.approx(100 * 2 / 1.25 / 20)
