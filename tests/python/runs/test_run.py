"""The public Python API."""

from __future__ import annotations

import threading
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

import polars
import pytest

import hypertwin
from hypertwin import _core
from hypertwin.documents.simulation import Simulation
from hypertwin.errors import RunError

SCENARIOS = Path(__file__).parents[3] / "scenarios"


def test_simulate_returns_points_in_the_order_of_the_sweep(tiny):
    result = hypertwin.simulate(tiny, sweep={"vms.db.load": [3, 1, 2]}, replications=1, jobs=3)
    assert [point["set"]["vms.db.load"] for point in result.points] == [3, 1, 2]


def misfits(value: Any, kind: Any, where: str) -> Iterator[str]:
    """Where a JSON value is not of a type: keys without a type, keys that are missing, values of other types."""
    if is_typeddict(kind) and not isinstance(value, dict):
        yield f"{where} is {value!r}, not {kind}"
    elif is_typeddict(kind):
        fields = get_type_hints(kind, include_extras=True)
        said = {key for key, each in fields.items() if get_origin(each) is NotRequired}
        optional = said | kind.__optional_keys__
        yield from (f"{where}.{key} has no type" for key in value.keys() - fields)
        yield from (f"{where}.{key} is missing" for key in fields.keys() - optional - value.keys())
        plain = get_type_hints(kind)
        for key in value.keys() & fields:
            yield from misfits(value[key], plain[key], f"{where}.{key}")
    elif get_origin(kind) is dict:
        for key, each in value.items():
            yield from misfits(each, get_args(kind)[1], f"{where}.{key}")
    elif get_origin(kind) in (list, tuple, Sequence):
        kinds = get_args(kind) if get_origin(kind) is tuple else get_args(kind) * len(value)
        for each, of in zip(value, kinds, strict=True):
            yield from misfits(each, of, f"{where}[]")
    elif get_origin(kind) is types.UnionType:
        if all(any(misfits(value, each, where)) for each in get_args(kind)):
            yield f"{where} is {value!r}, not {kind}"
    elif get_origin(kind) is Literal:
        if value not in get_args(kind):
            yield f"{where} is {value!r}, not {kind}"
    elif kind is not Any and type(value) not in ({float, int} if kind is float else {kind}):
        yield f"{where} is {value!r}, not {kind}"


@pytest.mark.parametrize(
    ("file", "overrides"),
    [
        ("small-esxi.yaml", {"run.duration": "20 s"}),
        ("hyperconverged.yaml", {"run.duration": "2 s"}),
        # a host fails at 14 s and is back at 18 s, the VMs on it with it
        ("disk-failure.yaml", {"run.duration": "18 s"}),
    ],
)
def test_results_are_of_their_documented_types(file, overrides):
    result = hypertwin.simulate(SCENARIOS / file, overrides=overrides, replications=1).to_dict()
    assert not sorted(set(misfits(result, Simulation, "")))
    (point,) = result["points"]
    seen = [(failure["time_s"], len(failure["vms"]) > 0) for failure in point["failures"]]
    assert seen == ([(14, True), (18, True)] if file == "disk-failure.yaml" else [])


def test_the_frame_has_one_row_per_point_and_entity(tiny):
    frame = hypertwin.simulate(tiny, sweep={"vms.db.load": [1, 2]}, overrides={"vms.web.count": 1}).to_frame()
    assert frame.height == 2 * (1 + 1 + 2 + 2)  # a cluster, a host, VMs and their groups
    assert frame.schema["response_ms_p99"] == polars.Float64
    assert frame["vms.web.count"].unique().to_list() == [1]


def test_progress_counts_every_run_from_the_calling_thread(tiny):
    seen = []
    hypertwin.simulate(
        tiny,
        sweep={"vms.db.load": [1, 2]},
        replications=3,
        progress=lambda done, total: seen.append((done, total, threading.current_thread() is threading.main_thread())),
    )
    assert seen == [(done, 6, True) for done in range(7)]


def test_a_mistake_in_any_point_is_found_before_anything_runs(tiny, watch_runs):
    watch_runs(lambda *_: pytest.fail("a run started"))
    with pytest.raises(hypertwin.ScenarioError):
        hypertwin.simulate(tiny, sweep={"vms.db.vcpus": [1, 0]})


@pytest.mark.parametrize("error", [_core.RunFailed("too much"), type("PanicException", (BaseException,), {})("boom")])
def test_a_failed_run_names_the_point_and_the_seed(tiny, watch_runs, error):
    def fail(*_: object) -> None:
        raise error

    watch_runs(fail)
    with pytest.raises(RunError, match=rf"vms\.db\.load=2.*seed 7.*{error}") as caught:
        hypertwin.simulate(tiny, overrides={"vms.db.load": 2})
    assert caught.value.exit_code == 1


def test_one_replication_is_part_of_many(tiny):
    """Replication k depends on (seed, k) alone, not on how many there are."""
    scenario = hypertwin.load(tiny)
    seeds = [_core.replication_seed(7, k) for k in range(100)]
    assert len(set(seeds)) == 100
    alone = _core.aggregate([_core.run(scenario.json, seeds[0])])
    again = _core.aggregate([_core.run(scenario.json, seeds[0])])
    assert alone == again


def test_the_core_refuses_what_it_cannot_use():
    with pytest.raises(_core.ScenarioMistakes):
        _core.run("{}", 1)
    with pytest.raises(_core.ScenarioMistakes):
        _core.validate("not json")
    with pytest.raises(ValueError, match="at least one"):
        _core.aggregate([])


def test_a_warmup_of_auto_discards_the_transient(tiny):
    """The load triples after 6 s: MSER-5 finds that what came before is no part of the steady state."""
    scenario = hypertwin.load(
        tiny,
        {
            "vms.db.load": 1,
            "vms.db.load_steps": [{"at": "6 s", "factor": 3}],
            "run.sample_interval": "1 s",
            "run.duration": "60 s",
        },
    )
    (point,) = hypertwin.simulate(scenario, warmup="auto", replications=1).points
    assert 5 <= point["warmup_s"] <= 30
    (again,) = hypertwin.simulate(scenario, warmup="auto", replications=1, jobs=2).points
    assert point == again
