"""The answer of a sweep from its points side by side, what causes it, and that all views of a result say the same."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

import hypertwin
from hypertwin import _core
from hypertwin.diagnosis.rules import RULES
from hypertwin.judgement.answer import answer
from hypertwin.judgement.breaks import verdicts
from hypertwin.judgement.settings import Axes
from hypertwin.metrics import bands
from hypertwin.show import registry, simulation, table

EXAMPLES = sorted((Path(__file__).parents[3] / "scenarios").glob("*.yaml"))


def vm(p99: float | None = 50.0, throughput: float = 100.0, mean: float | None = 10.0, **more: Any) -> dict[str, Any]:
    response = {"mean": mean, "p50": 8.0, "p95": 30.0, "p99": p99, "max": 90.0, "ci95": 0.2}
    return {"ready_pct": 0.0, "throughput_per_s": throughput, "response_ms": response, "hosts": ["esx"], **more}


def sign(metric: str, value: float, text: str, severity: str = "critical") -> dict[str, Any]:
    return {"metric": metric, "severity": severity, "value": value, "weight": value / 10, "text": text}


def point(
    groups: dict[str, Any],
    settings: dict[str, Any],
    usage: float = 40.0,
    signs: dict[str, Any] | None = None,
    **more: Any,
) -> Any:
    limits = {
        name: {"kind": "host-cpu", "of": "esx", "value_pct": usage, "text": f"esx is at {usage:g} %"} for name in groups
    }
    judged = {"tone": "good", "text": "", "more": [], "vms": {}, "groups": signs or {}, "limits": limits}
    hosts = {"esx": {"usage_pct": usage}}
    return {"set": settings, "groups": groups, "vms": {}, "hosts": hosts, "judgement": judged, **more}


def along(*p99: float) -> str:
    points = [point({"db": vm(each)}, {"vms.db.vcpus": 2**place}) for place, each in enumerate(p99)]
    return answer(points)[0]["text"]


def batch_sweep() -> list[Any]:
    """How many batch VMs a database bears: from 2 on it does not."""
    waits = {"db": [sign("costop_pct", 13, "co-stop 13 % per vCPU")]}
    return [
        point({"db": vm(53, 347)}, {"vms.batch.count": 0}, 44),
        point({"batch": vm(314, 58, count=1), "db": vm(68, 334)}, {"vms.batch.count": 1}, 100),
        point({"batch": vm(645, 68, count=2), "db": vm(133, 297)}, {"vms.batch.count": 2}, 100, waits),
        point({"batch": vm(750, 74, count=3), "db": vm(252, 245)}, {"vms.batch.count": 3}, 100, waits),
    ]


class TestTheModelError:
    ENDS: ClassVar[dict[str, Any]] = {"low": 4.0, "high": 12.5, "basis": "cpu usage"}

    def point(self, ends: dict[str, Any], **settings: Any) -> Any:
        return point({"db": vm()}, settings, model_error={"groups": {"db": ends}})

    def test_an_answer_is_not_good_beyond_a_critical_limit_at_the_worse_end(self) -> None:
        found, _ = answer([self.point({"waiting_pct": self.ENDS})])
        text = "ready (%RDY) per vCPU, without limited time and wake-ups of db can reach 12.5% (critical above 10)"
        assert (found["tone"], found["more"]) == ("warn", [f"Not surely: with the twin's own error, {text}."])
        assert answer([self.point({"waiting_pct": {**self.ENDS, "high": 10.0}})])[0]["tone"] == "good"
        assert answer([self.point({"ready_pct": self.ENDS})])[0]["tone"] == "good", "wake-ups may be all of it"
        assert answer([self.point({"run_pct": self.ENDS})])[0]["tone"] == "good", "it has no critical limit"
        assert answer([point({"db": vm()}, {})])[0]["tone"] == "good", "an earlier version wrote no intervals"

    def test_the_worst_point_of_a_sweep_is_named_and_a_bad_answer_stays(self) -> None:
        ends = {"waiting_pct": self.ENDS, "costop_pct": {**self.ENDS, "high": 6.0}}
        points = [self.point(ends, **{"vms.db.vcpus": vcpus}) for vcpus in (1, 2)]
        found, _ = answer(points)
        assert (found["tone"], "co-stop per vCPU of db can reach 6%" in found["more"][0]) == ("warn", True)
        points[0]["judgement"]["groups"]["db"] = [sign("ready_pct", 12, "ready 12 % per vCPU")]
        assert answer(points)[0]["tone"] == "bad"


class TestASweep:
    def test_names_the_group_that_bears_what_is_added_and_from_where_on(self):
        found, breaks = answer(batch_sweep())
        assert found["tone"] == "bad"
        assert found["text"] == (
            "From 2 batch VMs on, db suffers, not yet with 1 batch VM: p99 133 ms, 2.51 times the 53 ms with no batch "
            "VM; co-stop 13 % per vCPU."
        )
        assert found["more"][:2] == [
            "Bottleneck of db there: esx is at 100 %.",
            "From 2 batch VMs on, batch suffers, not yet with 1 batch VM.",
        ]
        assert [(each["group"], each["where"], each["set"]) for each in breaks] == [
            ("db", "from 2 batch VMs on", {"vms.batch.count": 2}),
            ("batch", "from 2 batch VMs on", {"vms.batch.count": 2}),
        ]

    def test_says_first_where_data_are_lost_or_vms_cannot_restart(self):
        down = "2 VMs could not restart: db-2, db-4 need memory."
        for path, values in (
            ("vms.db.vcpus", (2, 4, 8)),
            ("hosts.esx.hypervisor", ("esxi-6.7", "esxi-7.0", "esxi-8.0")),
        ):
            points = [point({"db": vm()}, {path: value}) for value in values]
            calm, _ = answer(points)
            points[1]["judgement"]["unplaced"] = [down]
            points[2]["pools"] = {"ceph": {"lost_gib": 3.0}, "vsan": {"lost_gib": 0.0}}
            found, _ = answer(points)
            assert calm["tone"] != "bad" and found["tone"] == "bad"
            assert found["text"].startswith("At 2 of 3 points data are lost or VMs cannot restart. With ")
            assert found["text"].endswith(f": {down}") and found["more"][0] == calm["text"]
            points[1]["judgement"]["unplaced"] = []
            assert answer(points)[0]["text"].endswith(": ceph lost 3 GiB of data.")

    def test_compares_no_response_times_of_different_work(self):
        works = {"db": "oltp", "web": "pages"}
        for path, differs in (
            ("workloads.oltp.cpu.mean", ["db"]),
            ("workloads.oltp.delay.mean", ["db"]),
            ("vms.web.workload", ["web"]),
            ("workloads.oltp.arrivals.open.rate", []),
            ("vms.db.load", []),
        ):
            values = (1, 2) if path.endswith(("load", "rate")) else ("1 ms", "2 ms")
            points = [
                point(
                    {name: vm(50 * (place + 1) ** 2, 100 * (place + 1)) for name in works},
                    {path: value},
                )
                for place, value in enumerate(values)
            ]
            _, breaks = answer(points, (), works)
            assert [each["group"] for each in breaks if not each["suffers"]] == differs, path

    def test_says_where_a_group_stops_suffering_and_where_in_between_or_everywhere(self):
        assert along(200, 150, 60, 50).startswith("Up to 2 vCPUs, db suffers, and no longer above: p99 150 ms, 3 times")
        assert along(50, 200, 50, 120).startswith("db suffers with 2 vCPUs and 8 vCPUs: p99 200 ms, 4 times")
        full = {"db": [sign("ready_pct", 20, "ready 20 % per vCPU")]}
        points = [point({"db": vm(throughput=100 * load)}, {"vms.db.load": load}, signs=full) for load in (1, 2)]
        assert answer(points)[0]["text"] == "db suffers at every value: ready 20 % per vCPU."

    def test_says_that_nothing_breaks_what_comes_nearest_and_what_limits_io(self):
        points = [point({"db": vm(throughput=100 * load, ready_pct=load)}, {"vms.db.load": load}) for load in (1, 2)]
        found, breaks = answer(points)
        assert found == {
            "tone": "good",
            "text": "No group suffers in this sweep of db: load, times.",
            "more": [
                "From load 1 to load 2 the throughput of db goes from 100 to 200 a second, its p99 from 50 to 50 ms.",
                "Ready is at most 2 % per vCPU (db), and no host is above 40 %.",
            ],
        }
        assert [each["suffers"] for each in breaks] == [False]
        points[1]["judgement"]["full_station"] = "san-disks"
        assert answer(points)[0]["tone"] == "warn"
        assert "; san-disks limits I/O at 1 of 2 points." in answer(points)[0]["text"]

    def test_counts_the_worst_vm_of_a_group_whose_mean_is_fine(self):
        def at(load: int, worst: float) -> Any:
            name = "bat-2"
            made = point({"bat": vm(count=3, ready_pct=worst / 2)}, {"vms.web.load": load})
            made["vms"] = {"bat-1": vm(ready_pct=1.0), name: vm(ready_pct=worst), "bat-3": vm(ready_pct=1.0)}
            if worst > 10:
                made["judgement"]["vms"] = {name: [sign("ready_pct", worst, f"ready {worst:g}% per vCPU")]}
            made["judgement"]["groups"] = {"bat": [sign("ready_pct", worst / 2, "ready", "warning")]}
            return made

        found, breaks = answer([at(1, 9.0), at(2, 12.0)])
        assert (found["tone"], found["text"]) == (
            "bad",
            "From load 2 on, bat suffers, not yet with load 1: ready 12% per vCPU (bat-2).",
        )
        assert breaks[0]["set"] == {"vms.web.load": 2}
        fine, _ = answer([at(1, 2.0), at(2, 9.0)])
        assert fine["more"][-1] == "Ready is at most 9 % per vCPU (bat-2), and no host is above 40 %."

    def test_takes_a_throughput_that_no_longer_follows_the_load_for_suffering(self):
        points = [
            point({"db": vm(throughput=done)}, {"vms.db.load": load}) for load, done in ((1, 100), (2, 200), (3, 210))
        ]
        assert answer(points)[0]["text"] == (
            "From load 3 on, db suffers, not yet with load 2: throughput for each VM and unit of load 30 % below that "
            "with load 1."
        )

    @pytest.mark.parametrize("key", ["arrivals.open.rate", "arrivals.closed.think", "cpu.mean"])
    def test_takes_less_work_that_is_asked_for_no_suffering_in_any_order(self, key):
        path, asked = f"workloads.web.{key}", (("100 /s", 100), ("50 /s", 49), ("25 /s", 25))
        points = [point({"web": vm(throughput=done)}, {path: rate}) for rate, done in asked]
        for order in (points, points[::-1]):
            assert answer(order)[0]["text"].startswith("No group suffers")

    @pytest.mark.parametrize(("p99", "suffers"), [(100.0, False), (100.1, True)])
    def test_departs_beyond_the_band_and_not_at_it(self, p99, suffers):
        points = [point({"db": vm(each)}, {"vms.x.count": place}) for place, each in enumerate((50.0, p99))]
        assert [bool(each.bad) for each in verdicts(points, Axes.of(points), {})] == [suffers]

    @pytest.mark.parametrize(("done", "suffers"), [(160.0, False), (159.0, True)])
    def test_loses_work_beyond_the_band_and_not_at_it(self, done, suffers):
        points = [point({"db": vm(throughput=each)}, {"vms.db.load": load}) for load, each in ((1, 100.0), (2, done))]
        assert [bool(each.bad) for each in verdicts(points, Axes.of(points), {})] == [suffers]

    def test_names_the_lines_that_break_and_those_that_do_not(self):
        points = [
            point(
                {"db": vm(300 if (vcpus, load) == (2, 2) else 50, 100 * load)},
                {"vms.db.vcpus": vcpus, "vms.db.load": load},
            )
            for vcpus in (2, 4)
            for load in (2, 1)
        ]
        found, _ = answer(points)
        assert found["text"].startswith("From load 2 on, db with 2 vCPUs suffers, not yet with load 1: p99 300 ms")
        assert found["more"][-1] == "Not at any value: db with 4 vCPUs."

    def test_compares_words_instead_of_ordering_them_where_they_differ_by_more_than_chance(self):
        def points(mean: float) -> list[Any]:
            path = "hosts.esx.hypervisor"
            return [
                point({"db": vm(mean=each)}, {path: name}) for name, each in (("esxi-7.0", 50.0), ("linux-6.12", mean))
            ]

        assert answer(points(32.0))[0] == {
            "tone": "note",
            "text": "db is fastest with hypervisor linux-6.12 (mean 32 ms), slowest with hypervisor esxi-7.0 (50 ms).",
            "more": [],
        }
        assert answer(points(49.7))[0]["text"] == "No difference beyond what replications differ by."
        of_one_vm = points(49.7)
        of_one_vm[0]["judgement"]["vms"] = {"db": [sign("ready_pct", 12, "ready 12 % per vCPU")]}
        assert answer(of_one_vm)[0]["more"] == ["VMs suffer with hypervisor esxi-7.0."]

    def test_of_nothing_has_an_answer_too(self):
        assert answer([])[0]["text"] == "The result has no points."
        none = [point({"db": vm(None, 0.0, None)}, {"vms.db.load": load}) for load in (1, 2)]
        assert answer(none)[0]["tone"] == "good"
        assert answer([point({}, {"vms.db.load": load}) for load in (1, 2)])[0]["text"].startswith("No group suffers")


OVERLOADED = {
    "vms.db.vcpus": 16,
    "vms.db.load": 6,
    "vms.web.count": 8,
    "workloads.pages.arrivals.open.rate": "300 /s",
    "vms.web.memory": "2 GiB",
}


@pytest.fixture(scope="module")
def overloaded() -> hypertwin.Result:
    return hypertwin.simulate(
        "scenarios/small-esxi.yaml", overrides=OVERLOADED, duration=5, warmup=1, replications=1, cache="off"
    )


def test_what_causes_that_vms_suffer_is_said_with_what_may_help(overloaded):
    causes = overloaded.to_dict()["causes"]
    assert {cause["code"] for cause in causes} == {"host-cpu-saturated", "more-vcpus-than-cores"}
    wide = next(cause for cause in causes if cause["code"] == "more-vcpus-than-cores")
    assert wide["title"] == "db has 16 vCPUs on the 8 cores of esx"
    assert any(
        sentence.startswith(f"{wide['title']}. Use at most one vCPU per physical core")
        for sentence in overloaded.answer.more
    )
    full = next(cause for cause in causes if cause["code"] == "host-cpu-saturated")
    assert {*full["explains"]} >= {f"web-{number}" for number in range(1, 9)}


def test_the_cause_of_a_sweep_is_that_of_the_point_where_it_breaks():
    result = hypertwin.simulate(
        "scenarios/small-esxi.yaml",
        sweep={"vms.web.count": [1, 12]},
        overrides={"vms.web.load": 8},
        duration=3,
        warmup=1,
        replications=1,
        cache="off",
    )
    document = result.to_dict()
    assert document["answer"]["tone"] == "bad"
    assert document["breaks"][0]["set"] == {"vms.web.load": 8, "vms.web.count": 12}
    assert document["causes"][0]["name"] == "esx"


def test_a_shape_that_hurts_nobody_and_a_host_that_fails_are_no_causes():
    calm = hypertwin.simulate("scenarios/small-esxi.yaml", duration=2, warmup=1, replications=1, cache="off")
    assert calm.answer.tone == "good" and calm.to_dict()["causes"] == []
    failed = hypertwin.simulate("scenarios/failover.yaml", replications=1, cache="off").to_dict()
    assert failed["answer"]["text"].startswith("4 of 16 VMs were down for up to")
    assert failed["causes"] == []


MOVED = """
name: moved
run: {duration: 40 s, warmup: WARMUP, replications: 1}
hosts:
  h:
    {count: 2, sockets: 1, cores_per_socket: 2, threads_per_core: 1, clock: 3 GHz, memory_per_node: 64 GiB,
    hypervisor: linux-6.12}
vms:
  a: {count: 4, vcpus: 1, memory: 1 GiB, host: h-1, workload: hog}
workloads:
  hog: {arrivals: {closed: {population: 2}}, cpu: {mean: 100 ms, cv: 0}}
events:
- {at: 30 s, migrate: a-1, to: h-2}
"""


@pytest.mark.parametrize(("warmup", "moved"), [("20 s", True), ("50 s", False)])
def test_a_vm_that_moved_is_not_judged_by_its_last_host(warmup, moved):
    document = hypertwin.simulate(MOVED.replace("WARMUP", warmup), cache="off").to_dict()
    told = {cause["name"]: cause["advice"] for cause in document["causes"]}
    assert ("a-1" in told) is moved
    if moved:
        assert told["a-1"].startswith("It came from h-1 during the run, and can have waited there.")
        assert "h-1" in told


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_terminal_json_frames_and_page_say_the_same(path):
    """One judgement, read by every view: each of them is asked, none may judge by itself."""
    result = hypertwin.simulate(path, duration=1, warmup=0, replications=1, cache="off", jobs=2)
    document = result.to_dict()
    said = document["answer"]
    assert (result.answer.tone, result.answer.text, result.answer.more) == (said["tone"], said["text"], said["more"])
    assert json.loads(result.to_json())["answer"] == said
    terminal = table.as_text(simulation.table(document), 100_000).splitlines()
    assert terminal[: 1 + len(said["more"])] == [said["text"], *(f"  {each}" for each in said["more"])]
    page = registry.SIMULATION.page(document)
    assert page.document["answer"] == said
    judged = document["points"][0]["judgement"]
    signs = result.frames["signs"]
    assert (set(signs["name"]) if len(signs) else set()) == set(judged["vms"])
    assert dict(result.frames["limits"].select("name", "kind").rows()) == {
        name: limit["kind"] for name, limit in judged["limits"].items()
    }


def test_every_band_of_the_core_is_sourced_and_read_by_the_rules_of_diagnosis():
    table_of = bands.table()
    assert len(table_of) == len(json.loads(_core.bands()))
    for each in table_of.values():
        limits = [limit for limit in (each.info, each.warning, each.critical) if limit is not None]
        assert limits and limits == sorted(limits) and each.source, each
    known = {(band.metric, *band.limits()) for rule in RULES for band in rule.bands}
    for metric, name in (
        *(("ready_pct", "ready_sum_pct"), ("costop_pct", "costop_sum_pct"), ("limited_pct", "limited_sum_pct")),
        *(("swap_wait_pct", "swap_wait_sum_pct"), ("usage_pct", "usage_pct"), ("guest_cpu_pct", "guest_cpu_pct")),
    ):
        of = table_of[metric]
        limits = [("critical", of.critical), ("warning", of.warning), ("info", of.info)]
        assert (name, *((severity, limit) for severity, limit in limits if limit is not None)) in known, metric


def test_judging_changes_no_point():
    points = batch_sweep()
    before = copy.deepcopy(points)
    answer(points)
    assert points == before
