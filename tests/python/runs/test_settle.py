"""How long runs are whose times are open: rules against made verdicts, and against stations of which it is known."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import Cli

import hypertwin
from hypertwin.runs import settle
from hypertwin.runs.settle import Search, Times
from hypertwin.scenario import Scenario

WORK = "cpu: {mean: 10 ms, cv: 1}, wake_up: 0 s"
CORES = "sockets: 1, cores_per_socket: 1, threads_per_core: 1, clock: 1 GHz"


def station(load: float, *, run: str = "", more: str = "") -> Scenario:
    """One vCPU whose work of 10 ms comes at a part of what it can do."""
    return Scenario.from_yaml(
        f"name: station\n{run}\nhosts: {{h: {{{CORES}, memory_per_node: 8 GiB, hypervisor: esxi-8.0}}}}\n"
        "vms: {v: {vcpus: 1, memory: 1 GiB, workload: w, guest: {time_slice: 10 s}}}\n"
        f"workloads: {{w: {{arrivals: {{open: {{rate: {100 * load} /s}}}}, {WORK}}}}}\n{more}"
    )


def report(word: str, *, responses: int = 10_000, events: int = 100_000, **reason: Any) -> dict[str, Any]:
    """What a pilot says."""
    why = None if word == "steady" else {"condition": "grows", "of": "v", "growth_per_s": None, **reason}
    groups = {"v": {"response_count": responses}}
    vms: dict[str, Any] = {"v": {}}
    return {
        "verdict": {"steady": word, "reason": why},
        "events": events,
        "replications": 1,
        "groups": groups,
        "vms": vms,
    }


def test_a_pilot_that_is_steady_ends_the_search() -> None:
    search = Search(station(0.5))
    before = search.times
    assert before.warmup_s == settle.WARMUP * before.duration_s
    search.take(report("steady"), 0.0)
    assert (search.over, search.times) == (True, before)
    assert search.found == {"times": ["warmup", "duration"], "ended": "settled"}


@pytest.mark.parametrize(
    ("pilot", "factor"),
    [
        (report("not-steady"), 2.0),
        (report("steady", responses=10), 2.0),
        (report("not-known", needs_s=1e3), None),
    ],
)
def test_one_that_is_not_is_followed_by_a_longer_one(pilot: dict[str, Any], factor: float | None) -> None:
    search = Search(station(0.5))
    before = search.times
    search.take(pilot, 0.0)
    assert not search.over
    assert search.times.duration_s >= (1e3 if factor is None else factor * before.duration_s)
    assert search.times.warmup_s == pytest.approx(settle.WARMUP * search.times.duration_s)


def test_what_fills_is_full_before_the_next_pilot_measures() -> None:
    search = Search(station(0.5))
    before = search.times
    search.take(report("not-steady", full_in_s=50.0), None)
    assert search.times == Times(before.end_s + 60.0, before.duration_s)
    search.take(report("not-steady"), None)
    assert search.times.warmup_s == before.end_s + 60.0  # and stays full


def test_what_grows_at_the_same_rate_in_a_run_twice_as_long_goes_on() -> None:
    search = Search(station(1.2))
    search.take(report("not-steady", growth_per_s=10.0), None)
    search.take(report("not-steady", growth_per_s=5.0), None)
    assert not search.over  # it slows down
    search.take(report("not-steady", growth_per_s=4.9), None)
    assert not search.over  # too early to tell: every loop fills at first
    search.take(report("not-steady", growth_per_s=4.8, events=int(settle.ENOUGH_EVENTS)), None)
    assert search.found == {"times": ["warmup", "duration"], "ended": "grows-on"}


def test_work_is_bounded_in_events() -> None:
    search = Search(station(0.5))
    before = search.times
    search.take(report("not-steady", events=int(settle.MOST_EVENTS * 0.9)), None)
    assert search.over
    assert search.times == before
    assert search.found == {"times": ["warmup", "duration"], "ended": "most-events"}


@pytest.mark.parametrize(
    "more",
    [
        "failures: [{at: 4 s, fails: [h]}]",
        "",
    ],
)
def test_a_scenario_that_changes_itself_keeps_its_own_times(more: str) -> None:
    scenario = station(0.5, more=more)
    if not more:
        scenario = scenario.with_overrides({"vms.v.load_steps": [{"at": "4 s", "factor": 2}]})
    search = Search(scenario)
    assert search.over
    assert search.times == Times(30.0, 300.0)
    point = hypertwin.simulate(scenario, duration=6, warmup="auto", replications=1).reports[0]
    assert (point["warmup_s"], point["duration_s"]) == (30.0, 6.0)


@pytest.mark.parametrize(
    ("run", "times"),
    [("run: {duration: 7 s, warmup: 2 s}", (2.0, 7.0)), ("run: {warmup: 2 s}", (2.0, None)), ("", (None, None))],
)
def test_times_that_are_given_stay(run: str, times: tuple[float | None, float | None]) -> None:
    point = hypertwin.simulate(station(0.5, run=run), replications=1).reports[0]
    found = (point["warmup_s"], point["duration_s"])
    assert all(given in (None, real) for given, real in zip(times, found, strict=True))
    assert ("found" in point) == (None in times)


def test_a_warm_up_alone_is_the_transient_of_a_pilot_without_one() -> None:
    point = hypertwin.simulate(station(0.5, run="run: {duration: 60 s, sample_interval: 2 s}")).reports[0]
    assert 0 <= point["warmup_s"] <= 30
    assert point["duration_s"] == 60
    assert point["found"] == {"times": ["warmup"], "ended": "settled"}


@pytest.mark.parametrize(("load", "exact_ms"), [(0.3, 10 / 0.7), (0.8, 50.0)])
def test_what_is_found_is_the_mean_of_queueing_theory(load: float, exact_ms: float) -> None:
    """M/M/1: the mean response is the service time over what is left of the server."""
    point = hypertwin.simulate(station(load), replications=5).reports[0]
    response = point["groups"]["v"]["response_ms"]
    assert point["steady"], point["verdict"]
    assert response["mean"] == pytest.approx(exact_ms, rel=0.1)


def test_the_times_do_not_depend_on_threads_or_on_the_store(tmp_path: Any) -> None:
    scenario = station(0.7).with_overrides({"hosts.h.count": 3, "vms.v.count": 3})
    texts = {
        hypertwin.simulate(scenario, jobs=jobs, cache=store).to_json()
        for jobs, store in ((1, "off"), (3, "off"), (2, tmp_path), (1, tmp_path))
    }
    assert len(texts) == 1


def test_where_nothing_more_could_be_tried_the_table_says_so(cli: Cli) -> None:
    overloaded = cli("simulate", "-", input=station(1.3).to_yaml(), exits=0)
    assert "A run of half this length found the same growth" in " ".join(overloaded.stdout.split())
    assert "arrivals exceed completions by" in overloaded.stdout


def test_a_time_that_is_no_time_is_refused(cli: Cli) -> None:
    refused = cli("simulate", "-", "--duration", "automatic", input=station(0.5).to_yaml(), exits=2)
    assert "auto, or a duration" in refused.stderr


def test_a_scheduler_has_a_second_to_act_where_there_is_one() -> None:
    fast = {"workloads.w.arrivals.open.rate": "1000000 /s", "workloads.w.cpu.mean": "1 ns"}
    for hypervisor, is_over in (("esxi-8.0", False), ("none", True)):
        search = Search(station(0.5).with_overrides({**fast, "hosts.h.hypervisor": hypervisor}))
        assert search.times.duration_s < settle.SCHEDULED_S
        search.take(report("steady", events=1_000), None)
        assert search.over == is_over


def test_the_search_goes_on_where_all_replications_together_are_not_steady() -> None:
    search = Search(station(0.5))
    before = search.times
    search.take(report("steady"), None)
    assert not search.reconsider(report("steady"))
    assert search.reconsider(report("not-steady"))
    assert not search.over
    assert search.times.duration_s == 2 * before.duration_s


def test_a_queue_of_storage_may_have_an_end() -> None:
    search = Search(station(0.5))
    for _ in range(3):
        search.take(report("not-steady", of="san-disks", growth_per_s=10.0, events=int(settle.ENOUGH_EVENTS)), None)
    assert not search.over
