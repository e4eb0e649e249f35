"""Objectives, and the search for the largest count that meets them, on made-up curves."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hypertwin
from hypertwin import _core
from hypertwin.errors import RunError
from hypertwin.plan import density, objective
from hypertwin.plan.density import Density, Point, curve, largest, search
from hypertwin.show import density as shown
from hypertwin.show import view


@pytest.fixture
def scenario(tiny):
    return hypertwin.load(tiny)


@pytest.mark.parametrize(
    ("text", "section", "entity", "key", "sign", "limit"),
    [
        ("response_ms.p99<200", "groups", "db", "response_ms_p99", "<", 200),
        ("response_ms.p99 <= 200 ms", "groups", "db", "response_ms_p99", "<=", 200),
        ("response_ms.p99<0.2s", "groups", "db", "response_ms_p99", "<", 200),
        ("response_ms_mean < 250us", "groups", "db", "response_ms_mean", "<", 0.25),
        ("io_latency_ms.p95<1e1", "groups", "db", "io_latency_ms_p95", "<", 10),
        ("ready_pct<5%", "groups", "db", "ready_pct", "<", 5),
        ("per_vm.throughput_per_s>=50 /s", "groups", "db", "throughput_per_s", ">=", 50),
        ("per_vm.groups.web.iops>1000", "groups", "web", "iops", ">", 1000),
        ("groups.web.costop_pct<=.5", "groups", "web", "costop_pct", "<=", 0.5),
        ("hosts.esx1.usage_pct<80", "hosts", "esx1", "usage_pct", "<", 80),
        ("hosts.*.memory_gb_per_s<500 MB/s", "hosts", "*", "memory_gb_per_s", "<", 0.5),
        ("hosts.esx*.nodes.0.memory_gb_per_s<9", "hosts", "esx*", "nodes_0_memory_gb_per_s", "<", 9),
        ("used_mhz<2.5GHz", "groups", "db", "used_mhz", "<", 2500),
        ("storage.san-disks.utilization_pct<90", "storage", "san-disks", "utilization_pct", "<", 90),
        ("vms.db-*.run_queue<3 processes", "vms", "db-*", "run_queue", "<", 3),
    ],
)
def test_an_objective_is_read(scenario, text, section, entity, key, sign, limit):
    (found,) = objective.parse(text, scenario, "db")
    assert (found.path.section, found.path.entity, found.path.key, found.sign) == (section, entity, key, sign)
    assert found.limit == pytest.approx(limit)
    assert found.per_vm == text.startswith("per_vm.")
    assert found.meets(limit) == ("=" in sign)


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("", "bad-objective", "METRIC<NUMBER"),
        ("response_ms.p99", "bad-objective", "METRIC<NUMBER"),
        ("response_ms.p99=200", "bad-objective", "<, <=, > or >="),
        ("response_ms.p99<", "bad-objective", "METRIC<NUMBER"),
        ("response_ms.p99<<200", "bad-objective", "METRIC<NUMBER"),
        ("100<response_ms.p99<200", "bad-objective", "METRIC<NUMBER"),
        ("response_ms.p99<fast", "bad-objective", "a number, in ms or with a unit"),
        ("response_ms.p99<nan", "bad-objective", "a number"),
        ("response_ms.p99<inf", "bad-objective", "a number"),
        ("response_ms.p98<200", "unknown-metric", "did you mean response_ms.p9"),
        ("respons_ms.p99<200", "unknown-metric", "did you mean response_ms.p99?"),
        ("usage_pct<80", "unknown-metric", "used_pct"),
        ("hosts.esx1.response_ms.p99<80", "unknown-metric", "usage_pct"),
        ("unit<3", "unknown-metric", "throughput_per_s"),
        ("response_ms.p99<80%", "bad-unit", "response_ms.p99 is in ms"),
        ("ready_pct<5 ms", "bad-unit", "ready_pct is in %"),
        ("ready_pct<5 s", "bad-unit", "%, or no unit"),
        ("throughput_per_s>5 MB/s", "bad-unit", "/s"),
        ("count>5 ms", "bad-unit", "count has no unit"),
        ("per_vm.response_ms.p99<200", "unknown-metric", "response_ms.p99 is not a sum over VMs"),
        ("per_vm.hosts.esx1.usage_pct<200", "unknown-metric", "per_vm. before a sum"),
        ("hosts.esx2.usage_pct<80", "unknown-reference", "did you mean hosts.esx1?"),
        ("groups.wbe.ready_pct<80", "unknown-reference", "did you mean groups.web?"),
    ],
)
def test_a_bad_objective_gets_one_clear_error(scenario, text, code, said):
    with pytest.raises(hypertwin.ScenarioError) as caught:
        objective.parse([text], scenario, "db")
    assert [mistake.code for mistake in caught.value.mistakes] == [code]
    assert caught.value.exit_code == 2
    assert said in f"{caught.value}\n{caught.value.mistakes[0].allowed}"  # long lists are not printed
    assert str(caught.value).startswith("slo '")


@given(st.text(max_size=40))
def test_any_text_is_an_objective_or_a_clear_error(text):
    scenario = hypertwin.scenario.loads(
        "{name: a, hosts: {a: {sockets: 1, cores_per_socket: 1, clock: 2 GHz, memory_per_node: 8 GiB, "
        "hypervisor: esxi-8.0}}, vms: {db: {vcpus: 1, memory: 1 GiB, workload: w}}, "
        "workloads: {w: {arrivals: {closed: {population: 1}}, cpu: {mean: 1 ms}}}}"
    )
    try:
        (found,) = objective.parse(text, scenario, "db")
    except hypertwin.ScenarioError as error:
        assert str(error)
    else:
        assert math.isfinite(found.limit)


def test_figures_are_read_from_a_report(tiny):
    point = hypertwin.simulate(tiny, replications=1).points[0]
    scenario = hypertwin.load(tiny)

    def read(metric):
        (found,) = objective.parse(metric + "0", scenario, "web")
        return found.read(point)

    web, hosts = point["groups"]["web"], point["hosts"]
    assert read("response_ms.p99<") == web["response_ms"]["p99"]
    assert read("per_vm.throughput_per_s>") == web["throughput_per_s"] / 2
    assert read("hosts.*.usage_pct<") == hosts["esx1"]["usage_pct"]
    each = [point["vms"][name]["response_ms"]["mean"] for name in ("web-1", "web-2")]
    assert (read("vms.web-*.response_ms.mean<"), read("vms.web-*.response_ms.mean>")) == (max(each), min(each))
    assert read("vms.db-*.ready_pct<") == point["vms"]["db"]["ready_pct"]  # the only one has no number
    for metric, code in (("io_latency_ms.p99<", "unknown-metric"), ("storage.san.queue<", "unknown-reference")):
        with pytest.raises(hypertwin.ScenarioError, match=code):
            read(metric)


def test_sums_are_those_figures_of_a_group_that_its_machines_add_up_to(tiny):
    point = hypertwin.simulate(tiny, overrides={"vms.web.count": 5}, replications=1).points[0]
    group = point["groups"]["web"]
    machines = [point["vms"][f"web-{number}"] for number in range(1, 6)]
    numbers = {key for key, value in group.items() if isinstance(value, int | float) and key != "count" and value}
    added = {key for key in numbers if group[key] == pytest.approx(sum(vm.get(key) or 0 for vm in machines))}
    assert added == objective.SUMS & numbers
    assert {"throughput_per_s", "used_mhz", "vcpus"} <= added


@dataclass(frozen=True)
class Found:
    meets: bool
    sure: bool
    at_worst: bool
    at_best: bool


class Counted:
    """A made-up system; fails when it is asked for a count twice."""

    def __init__(self, meets, sure=None, at_worst=None, at_best=None):
        self.meets, self.sure, self.asked = meets, sure or meets, []
        self.at_worst, self.at_best = at_worst or meets, at_best or meets

    def __call__(self, counts):
        for count in counts:
            assert count not in self.asked
            self.asked.append(count)
            meets = self.meets(count)
            yield count, Found(meets, meets and self.sure(count), meets and self.at_worst(count), self.at_best(count))


def verdicts(points, key):
    return {count: getattr(found, key) for count, found in points.items()}


@given(st.integers(1, 50), st.integers(0, 400), st.integers(0, 400), st.integers(0, 500))
def test_a_monotone_curve_is_solved_exactly(least, span, sure, limit):
    most = least + span
    system = Counted(lambda count: count <= limit, lambda count: count <= sure)
    points = search(system, least, most)
    right = min(limit, most) if limit >= least else 0
    assert largest(verdicts(points, "meets")) == right
    assert largest(verdicts(points, "sure")) == (min(right, sure) if sure >= least else 0)
    assert all(least <= count <= most for count in points)
    assert len(points) <= 3 * math.log2(most + 1) + density.CURVE_POINTS + 3
    if 0 < right < most:
        assert points[right].meets
        assert not points[right + 1].meets


def test_a_dip_is_seen_and_the_answer_is_below_it():
    points = search(Counted(lambda count: count != 16 and count <= 40), 1, 200)
    met = verdicts(points, "meets")
    assert largest(met) == 15
    assert [count for count in met if met[count] and count > 16]


def test_a_curve_that_only_gets_better_is_seen():
    points = search(Counted(lambda count: count >= 5), 1, 200)
    assert largest(verdicts(points, "meets")) == 0
    assert points[8].meets


@pytest.mark.parametrize("seed", range(30))
def test_a_noisy_curve_ends_with_an_answer_that_its_points_support(seed):
    chance = random.Random(seed)
    noise = [chance.gauss(0, 6) for _ in range(301)]
    points = search(Counted(lambda count: count + noise[count] < 60, lambda count: count + noise[count] < 54), 1, 300)
    met = verdicts(points, "meets")
    answer = largest(met)
    assert largest(verdicts(points, "sure")) <= answer
    assert 35 < answer < 75
    assert all(met[count] for count in met if count <= answer)
    assert met[answer + 1] is False


@pytest.mark.parametrize(
    ("answer", "least", "most"), [(0, 1, 200), (1, 1, 200), (60, 1, 200), (150, 1, 200), (5, 5, 5)]
)
def test_the_curve_is_even_and_leaves_out_what_is_known(answer, least, most):
    counts = curve([], answer, least, most)
    assert counts[0] == least
    assert counts[-1] == min(most, max(2 * answer, least + density.CURVE_POINTS - 1))
    assert counts == sorted(set(counts))
    gaps = [after - before for before, after in itertools.pairwise(counts)]
    assert not gaps or max(gaps) - min(gaps) <= 1
    assert curve(counts, answer, least, most) == []


def points_of(scenario, figures, slo="response_ms.p99<100"):
    """A point for each count -> values of the replications, or the reason why there are none."""
    objectives = objective.parse(slo, scenario, "db")
    return tuple(
        Point(count, objectives, {}, group="db", reason=values)
        if isinstance(values, str)
        else Point(
            count,
            objectives,
            {each.name: values for each in objectives},
            group="db",
            report={
                "groups": {"db": {"clusters": []}},
                "hosts": {},
                "steady": True,
                "replications": len(values),
                "judgement": {"limits": {"db": {"kind": "latency", "of": "db", "value_pct": None, "text": ""}}},
            },
        )
        for count, values in figures.items()
    )


def answered(scenario, figures, most=200):
    points = points_of(scenario, figures)
    return Density("1", "tiny", 7, 4.0, "db", points[0].objectives, min(figures), most, points, {})


def test_the_search_finds_both_ends_of_the_model_error():
    system = Counted(lambda count: count <= 40, at_worst=lambda count: count <= 23, at_best=lambda count: count <= 77)
    points = search(system, 1, 200)
    assert [largest(verdicts(points, key)) for key in ("meets", "at_worst", "at_best")] == [40, 23, 77]
    assert largest(verdicts(search(Counted(lambda count: count <= 9), 1, 20), "at_best")) == 9


@pytest.mark.parametrize(
    ("ends", "worst", "best"),
    [((9.0, 5.0), True, True), ((11.0, 5.0), False, True), ((15.0, 11.0), False, False), (None, True, True)],
)
def test_a_count_is_met_surely_only_at_the_worse_end(scenario, ends, worst, best):
    (slo,) = objective.parse("response_ms.mean<10", scenario, "db")
    values = {slo.name: (8.9, 9.0, 9.1)}
    point = Point(1, (slo,), values, ends={slo.text: ends} if ends else {})
    assert (point.meets, point.at_worst, point.at_best) == (True, worst, best)
    missed = Point(1, (slo,), {slo.name: (12.0, 12.0, 12.0)}, ends={slo.text: (9.0, 5.0)})
    assert (missed.meets, missed.at_worst, missed.at_best) == (False, False, True)
    assert Point(1, (slo,), {}, reason="memory", lacks="memory of h").at_best is False, "memory has no model error"


def test_the_worse_end_of_an_objective_is_that_of_its_sign(scenario):
    class Fixed:
        def ends(self, *_):
            return 5.0, 20.0

    (upper,), (lower,) = (objective.parse(f"throughput_per_s{sign}10", scenario, "db") for sign in "<>")
    assert upper.ends(Fixed(), {}, 9.0) == (20.0, 5.0)
    assert lower.ends(Fixed(), {}, 9.0) == (5.0, 20.0)


def test_confidence_decides_what_is_sure(scenario):
    figures = {
        1: (50.0, 52.0),
        2: (90.0, 92.0, 94.0, 91.0),
        3: (96.0, 99.0, 101.0),
        4: (100.0, 104.0),
        5: (200.0, 204.0),
    }
    points = points_of(scenario, figures)
    assert [point.meets for point in points] == [True, True, True, False, False]
    assert [point.sure for point in points] == [True, True, False, False, False]
    assert [point.decided for point in points] == [True, True, False, False, True]
    (each,) = points[0].objectives
    assert points[1].figure(each).mean == 91.75
    assert points[1].figure(each).ci95 == pytest.approx(3.182 * 1.7078 / 2, rel=1e-3)  # Student t, 3 degrees of freedom
    found = answered(scenario, figures)
    assert (found.count, found.sure_count) == (3, 2)
    assert found.text == "3 VMs of db meet response_ms.p99<100, 4 do not; with 95 % confidence between 2 and 3."
    assert found.step()["response_ms.p99"].mean == pytest.approx((4 + 5) / 2)  # paired, over the common replications


def test_a_count_whose_runs_are_not_steady_meets_nothing(scenario):
    reason = {"condition": "grows", "of": "san", "text": "the cache of san fills", "by_design": False}

    def found(word):
        points = list(points_of(scenario, {1: (50.0, 52.0), 2: (60.0, 62.0)}))
        verdict = {"steady": word, "reason": reason}
        points[1] = dataclasses.replace(points[1], report={**points[1].report, "steady": False, "verdict": verdict})
        return Density("1", "tiny", 7, 4.0, "db", points[0].objectives, 1, 2, tuple(points), {})

    assert found("not-known").count == 2
    assert (found("not-steady").count, found("not-steady").points[1].to_dict()["unsettled"]) == (1, reason["text"])
    assert found("not-steady").text == (
        "1 VM of db meets response_ms.p99<100, 2 do not: its runs are not steady, the cache of san fills."
    )


def test_without_a_steady_state_nothing_is_said_with_confidence(scenario):
    def found(steady, most=200):
        figures = {1: (50.0, 52.0), 2: (60.0, 62.0), 3: (70.0, 72.0), 4: (200.0, 204.0)}
        points = [
            dataclasses.replace(point, report={**point.report, "steady": point.count in steady})
            for point in points_of(scenario, {count: figures[count] for count in figures if count <= most})
        ]
        return Density("1", "tiny", 7, 4.0, "db", points[0].objectives, 1, most, tuple(points), {})

    assert (found({1, 2, 3}).sure_count, found({3}).sure_count, found({1, 2}).sure_count) == (3, 3, 2)
    assert found({3}).text == "3 VMs of db meet response_ms.p99<100, 4 do not."
    assert found({1, 2}).text.endswith(
        "4 do not; with 95 % confidence at least 2, because the runs with 3 might not be steady."
    )
    none = found(set())
    assert (none.count, none.sure_count) == (3, 0)
    assert none.text.endswith("; none of it with confidence, because the runs with 3 might not be steady.")
    assert any("run longer (--duration), or remove changes" in note for note in none.notes)
    assert [point["sure"] for point in none.to_dict()["points"]] == [False] * 4
    assert [point.decided for point in none.points] == [True] * 4  # more replications would not help
    assert found(set(), most=3).notes[0] == "Met with 95 % confidence: no count."


def test_ready_below_what_the_model_resolves_is_not_shown_as_a_figure(scenario):
    group = {"ready_pct": 0.00003, "vcpus": 4, "count": 2, "clusters": []}
    (point,) = points_of(scenario, {1: (50.0, 52.0)})
    point = dataclasses.replace(point, report={**point.report, "groups": {"db": group}})
    found = Density("1", "tiny", 7, 4.0, "db", point.objectives, 1, 1, (point,), {}).to_dict()
    (table,) = view.tables_of(shown.view(found))
    (row,) = table["rows"]
    assert view.shown(row["ready"]) == "<0.5"
    assert view.shown(row["ready_sum"]) == "<1", "over two vCPUs"


def test_what_was_not_measured_is_not_met(scenario):
    (point,) = points_of(scenario, {1: (50.0, None)})
    assert (point.meets, point.sure, point.decided) == (False, False, True)
    assert point.to_dict()["metrics"] == {"response_ms.p99": {"mean": None, "ci95": None}}


def test_the_ends_of_the_range_are_said(scenario):
    low = answered(scenario, {3: (150.0, 151.0)})
    assert (low.count, low.sure_count, low.at_maximum) == (0, 0, False)
    assert low.text == "Not even 3 VMs of db: --min 3 misses response_ms.p99<100."
    high = answered(scenario, {3: (50.0, 51.0), 5: (60.0, 61.0)}, most=5)
    assert (high.count, high.at_maximum, high.limited_by) == (5, True, "")
    assert high.text == "At least 5 VMs of db: --max 5 still meets response_ms.p99<100; raise it."
    room = answered(scenario, {3: (50.0, 51.0), 4: "the VMs do not fit"})
    assert (room.count, room.limiting, room.limited_by) == (3, None, "the VMs do not fit")
    assert room.notes[0] == "At 4: the VMs do not fit"
    assert room.step() == {}


def test_the_answer_says_only_what_is_met_or_missed(scenario):
    low = dataclasses.replace(answered(scenario, {3: (150.0, 151.0)}), failures=1)
    assert low.text == "Not even 3 VMs of db: --min 3 misses response_ms.p99<100."
    high = dataclasses.replace(answered(scenario, {3: (50.0, 51.0)}, most=3), failures=1)
    assert high.text.endswith("--max 3 still meets response_ms.p99<100 and survives a host failure; raise it.")
    points = points_of(scenario, {3: (150.0, 151.0)}, slo=["response_ms.p99<100", "response_ms.mean<1000"])
    two = dataclasses.replace(low, objectives=points[0].objectives, points=points)
    assert two.text == low.text


def with_ends(scenario, figures, ends):
    found = answered(scenario, figures)
    slo = found.objectives[0].text
    points = [dataclasses.replace(each, ends={slo: ends[each.count]}) for each in found.points]
    return dataclasses.replace(found, points=tuple(points))


def test_an_end_below_the_least_count_is_not_called_zero(scenario):
    figures = {5: (90.0, 105.0, 95.0), 6: (150.0, 151.0)}
    found = with_ends(scenario, figures, {5: (120.0, 80.0), 6: (190.0, 110.0)})
    assert "; with 95 % confidence between fewer than 5 and 5." in found.text
    assert found.text.endswith(" With the twin's own error: fewer than 5 to 5.")
    assert found.to_dict()["answer"]["low_count"] == 0
    view = shown.view(found.to_dict())
    assert [each["value"] for each in view["cards"]][:3] == ["5", "fewer than 5", "fewer than 5 to 5"]
    assert any("own error: fewer than 5 to 5." in badge["text"] for badge in view["confidence"])
    from_one = dataclasses.replace(found, minimum=1)
    assert from_one.text.endswith(" With the twin's own error: 0 to 5.")


def test_not_even_the_least_count_still_has_the_error_of_the_twin(scenario):
    missed = {1: (101.0, 102.0), 2: (110.0, 111.0), 3: (150.0, 151.0)}
    found = with_ends(scenario, missed, {1: (150.0, 80.0), 2: (160.0, 90.0), 3: (190.0, 110.0)})
    assert found.text == ("Not even 1 VM of db: --min 1 misses response_ms.p99<100. With the twin's own error: 0 to 2.")


def test_a_curve_that_is_not_monotone_is_said(scenario):
    found = answered(scenario, {1: (50.0, 51.0), 2: (150.0, 151.0), 3: (60.0, 61.0)})
    assert (found.count, found.exceptions) == (1, (3,))
    assert found.to_dict()["answer"]["monotone"] is False
    assert any("not monotone" in note and "3 meets them" in note for note in found.notes)


def test_an_undecided_count_gets_more_replications_and_none_is_run_twice(tiny, watch_runs):
    runs = []
    watch_runs(lambda text, _islands, seed: runs.append((text, seed)))
    # below the mean of three vCPUs' response on two cores, and above it: the third count is near the limit
    mean = hypertwin.simulate(tiny, overrides={"vms.web.count": 3}, replications=8).points[0]["groups"]["web"]
    runs.clear()
    limit = mean["response_ms"]["mean"]
    found = hypertwin.density(tiny, vm="web", slo=f"response_ms.mean<{limit}", maximum=6, replications=2)
    assert len(runs) == len(set(runs)) == sum(point.report["replications"] for point in found.points)
    replications = {point.count: point.report["replications"] for point in found.points}
    assert replications[3] == density.RATIO * 2
    assert set(replications.values()) <= {2, 4, 8}


def test_an_overloaded_count_is_not_met_and_another_failure_is_an_error(tiny, watch_runs):
    def fail(error):
        def run_or_fail(text, _islands, _seed):
            if '"count":3' in text:
                raise error

        return run_or_fail

    watch_runs(fail(_core.RunFailed("too many transactions in progress")))
    found = hypertwin.density(tiny, vm="web", slo="ready_pct<=100", maximum=4)
    assert (found.count, found.limiting) == (2, None)
    assert "too many transactions" in found.limited_by
    assert found.exceptions == (4,)
    watch_runs(fail(ValueError("a defect")))
    with pytest.raises(RunError, match="a defect"):
        hypertwin.density(tiny, vm="web", slo="ready_pct<=100", maximum=4)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"vm": "wbe"}, ["vm", "unknown-reference", "db, web"]),
        ({"minimum": 5, "maximum": 4}, ["minimum", "out-of-range", "1 to 4"]),
        ({"minimum": 0}, ["minimum", "out-of-range"]),
        ({"replications": 1}, ["replications", "2 or more"]),
        ({"overrides": {"vms.web.count": 3}}, ["overrides vms.web.count", "bad-override", "`maximum`"]),
        ({"overrides": {"vms.web.vcpus": 0}}, ["vms.web.vcpus", "out-of-range"]),
        ({"slo": []}, ["slo", "bad-objective"]),
        ({"slo": "io_latency_ms.p99<5"}, ["unknown-metric", "response_ms.p99"]),
    ],
)
def test_bad_arguments_get_one_clear_error(tiny, arguments, said):
    with pytest.raises(hypertwin.ScenarioError) as caught:
        hypertwin.density(tiny, **{"vm": "web", "slo": "ready_pct<5", "maximum": 2, **arguments})
    assert all(part in str(caught.value) for part in said), caught.value
