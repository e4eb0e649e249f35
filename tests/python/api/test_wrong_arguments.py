"""Whatever is wrong in an argument of a public function is a HypertwinError that names the argument."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from tests.conftest import ROOT, TINY, refused

import hypertwin

QUICK = {"overrides": {"run.duration": "0.1 s", "run.warmup": "0 s", "run.sample_interval": "0.1 s"}, "replications": 1}
MEASURED = ROOT / "python/hypertwin/library/examples/small-esxi-measured.csv"

NEW = ROOT / "python/hypertwin/library/examples/old-hosts/r760.yaml"
MODEL = {"hosts.*.cpu_model": "Intel Xeon Gold 6130"}

GOOD: dict[str, dict[str, Any]] = {
    "simulate": {"scenario": TINY, **QUICK},
    "load": {"scenario": TINY},
    "capacity": {"scenario": TINY},
    "density": {"scenario": TINY, "vm": "web", "slo": "ready_pct<0.0001", "maximum": 2, **QUICK, "replications": 2},
    "plan_survive": {"scenario": TINY},
    "plan_balance": {"scenario": TINY},
    "plan_evacuate": {"scenario": TINY, "host": "esx1"},
    "plan_place": {"scenario": TINY, "vm": "1x1GiB"},
    "plan_refresh": {"scenario": TINY, "host_type": NEW, "overrides": MODEL, "twin": "off"},
    "plan_move": {"scenario": TINY, "to": "proxmox", "overrides": MODEL, "twin": "off"},
    "size": {"host": "2x12", "memory": "96GiB", "vcpus": 4},
    "vnuma": {"hypervisor": "esxi-6.5", "sockets": 2, "cores": 12, "vcpus": 24},
    "durability": {},
    "calibrate": {"scenario": TINY, "measured": MEASURED, "free": "nothing"},
    "validate": {"studies": "nothing"},
    "diagnose": {"cluster": TINY, "what_if": False},
    "telemetry": {"sources": "nowhere"},
    "import_cluster": {"sources": "nowhere"},
    "predict_benchmark": {"plan": "nowhere", "out": "nowhere"},
    "check_benchmark": {"plan": "nowhere"},
    "run_benchmark": {"folder": "nowhere"},
    "import_benchmark": {"scenario": TINY, "results": "nowhere", "group": "web"},
    "report_benchmark": {"folder": "nowhere"},
    "compare": {"a": "nowhere", "b": "nowhere"},
    "example": {"name": "small-esxi"},
    "devices": {"kind": "nvme"},
    "presets": {},
}
"""Arguments with which every public function answers, or is refused for what is no argument's kind."""

WRONG = [None, 3, -1, 2.5, float("nan"), 10**30, True, "x", "", "\0", b"x", [], [None], ["x"], {}, {"x": 1}, object()]
"""What is right nowhere, or here and there."""


def arguments(name: str) -> Iterator[str]:
    """The arguments of a function that a caller may give."""
    yield from inspect.signature(getattr(hypertwin, name)).parameters


def call(name: str, given: dict[str, Any]) -> object:
    several = next((each for each in inspect.signature(getattr(hypertwin, name)).parameters.values()), None)
    if several is not None and several.kind is several.VAR_POSITIONAL:
        named = {key: value for key, value in given.items() if key != several.name}
        return getattr(hypertwin, name)(*([given[several.name]] if several.name in given else []), **named)
    return getattr(hypertwin, name)(**given)


def test_the_table_has_every_public_function():
    functions = {name for name in hypertwin.__all__ if inspect.isfunction(getattr(hypertwin, name))}
    assert functions == GOOD.keys() | {"examples", "schema"}


@pytest.mark.parametrize(("name", "argument"), [(name, each) for name in GOOD for each in arguments(name)])
def test_a_wrong_argument_is_an_error_of_hypertwin(tmp_path, monkeypatch, name, argument):
    monkeypatch.chdir(tmp_path)
    for value in WRONG:
        if name == "validate" and argument == "studies" and value == []:
            continue  # all of them, which takes minutes
        try:
            call(name, {**GOOD[name], argument: value})
        except hypertwin.HypertwinError as error:
            assert str(error)


@pytest.mark.parametrize(
    ("name", "given", "code", "said"),
    [
        ("plan_balance", {"goal": "move"}, "unknown-value", "goal: move [unknown-value]\n  allowed: moves, min-peak"),
        ("plan_place", {"goal": "host"}, "unknown-value", "did you mean hosts?"),
        ("plan_balance", {"memory_demand": "cosnumed"}, "unknown-value", "did you mean consumed?"),
        ("plan_balance", {"failure": 1}, "unknown-key", "did you mean failures?"),
        ("capacity", {"demnd": "p95"}, "unknown-key", "did you mean demand?"),
        ("capacity", {"cluster": 4}, "unknown-reference", "cluster: 4"),
        ("plan_evacuate", {"host": 3}, "unknown-reference", "host: 3"),
        ("plan_evacuate", {"host": None}, "one-of", "host: nothing given [one-of]\n  allowed: a host, or `rolling`"),
        ("plan_balance", {"why": "dwh"}, "unknown-reference", "why: dwh"),
        ("plan_balance", {"policy": "nmua"}, "unknown-value", "policy: nmua"),
        ("plan_survive", {"replications": "3"}, "wrong-type", "write the number without quotes"),
        ("plan_survive", {"replications": 0}, "out-of-range", "replications 0: run.replications"),
        ("simulate", {"sweep": {"vms.db.load": []}}, "bad-override", "at least one value"),
        ("simulate", {"sweep": {"vms.db.load": 2}}, "wrong-type", "a mapping of paths to lists of values"),
        ("simulate", {"sweep": {"vms.db.load": [1, 2, 1]}}, "duplicate-key", "vms.db.load: 1 "),
        ("simulate", {"sweep": {"vms.db.load": [1]}, "overrides": "vms.db.load=2"}, "duplicate-key", "set or swept"),
        ("simulate", {"duration": 0}, "out-of-range", "duration 0 s: run.duration"),
        ("simulate", {"jobs": 0}, "out-of-range", "jobs: 0"),
        ("simulate", {"cache": 3}, "wrong-type", "cache: 3"),
        ("simulate", {"cache": "/dev/null"}, "wrong-type", "a folder, or off"),
        ("size", {"memory": 96}, "bad-unit", "96 GiB"),
        ("durability", {"afr": 0.01}, "bad-quantity", "a percentage"),
        ("density", {"minimum": 0}, "out-of-range", "minimum: 0"),
        ("devices", {"names": "foo"}, "unknown-value", "names: foo"),
        ("import_cluster", {"sources": []}, "missing-key", "missing key `sources`"),
    ],
)
def test_the_error_names_the_argument_and_what_is_allowed(name, given, code, said):
    with refused(code) as caught:
        call(name, {**GOOD[name], **given})
    assert said in str(caught.value)
    assert "--" not in str(caught.value)


def test_one_of_several_and_numbers_for_text_are_taken():
    assert hypertwin.plan_place(TINY, vm="1x1GiB", failures=0).feasible
    assert hypertwin.durability(scheme=3).schemes[0].scheme == hypertwin.durability(scheme="3").schemes[0].scheme
    swept = hypertwin.simulate(TINY, sweep="vms.db.load=1,2", overrides="run.duration=1 s", replications=1)
    assert [point.set["vms.db.load"] for point in swept.points] == [1, 2]
    assert swept.points[0].set["run.duration"] == "1 s"


def test_the_command_line_names_options_for_arguments(cli, tiny):
    for words, said in (
        (("simulate", tiny, "--duration", 0), "error: --duration 0 s: run.duration"),
        (("simulate", tiny, "--set", "vms.db.load=-1"), "error: --set vms.db.load=-1: vms.db.load"),
        (("simulate", tiny, "--sweep", "vms.db.load=1,1"), "error: --sweep vms.db.load=1,1: vms.db.load: 1 [dup"),
        (("density", tiny, "--vm", "web", "--slo", "x"), "error: --slo 'x': x [bad-objective]"),
        (("density", tiny, "--vm", "web", "--slo", "ready_pct<5", "--min", 3, "--max", 2), "choose --min <= --max"),
        (("plan", "evacuate", tiny), "error: nothing given [one-of]\n  allowed: a host, or --rolling for all of them"),
    ):
        done = cli(*words, exits=2)
        assert said in done.stderr


def test_scenarios_and_answers_are_pickled_and_copied():
    scenario = hypertwin.load(TINY, {"vms.db.load": 2})
    assert scenario.data["vms"]["db"]["load"] == 2  # what is made when it is asked for
    again = pickle.loads(pickle.dumps(scenario))
    assert again == scenario
    assert again.with_overrides({"vms.web.load": 1}).data["vms"]["db"]["load"] == 2
    assert copy.deepcopy(scenario) is scenario
    of_data = pickle.loads(pickle.dumps(hypertwin.Scenario.from_dict(scenario.data)))
    assert of_data.as_written()["vms"]["db"]["load"] == 2
    result = hypertwin.simulate(scenario, **QUICK)
    assert repr(result)
    assert pickle.loads(pickle.dumps(result)).to_json() == copy.deepcopy(result).to_json() == result.to_json()


def test_records_and_scenarios_say_what_they_have():
    result = hypertwin.simulate(TINY, **QUICK)
    with pytest.raises(KeyError, match=r"there is no 'dbb'; did you mean db\? \(there are: "):
        result.vms["dbb"]
    assert result.vms.get("dbb") is None
    shown = hypertwin.load(TINY)._repr_html_()
    assert "<td>web</td><td>2</td>" in shown


def test_a_point_is_compared_with_the_same_point_of_a_sweep():
    one = hypertwin.simulate(TINY, replications=1, overrides={"vms.db.load": 2})
    two = hypertwin.simulate(TINY, replications=1, sweep={"vms.db.load": [1, 2]})
    found = hypertwin.compare(one, two)
    assert found.same > 50
    assert found.changes == []
    assert {"what": "vms.db.load", "a": "2", "b": "swept 1, 2"} in found.settings
    with pytest.raises(hypertwin.SourceError, match="point") as caught:
        hypertwin.compare(hypertwin.simulate(TINY, replications=1), two)
    assert caught.value.code == "different-points"
    with pytest.raises(hypertwin.SourceError, match=r"^a result of size \[different-kinds\]"):
        hypertwin.compare(one, hypertwin.size(**GOOD["size"]))
