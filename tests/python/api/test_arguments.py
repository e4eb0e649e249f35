"""Whatever is wrong in an argument of a public function is a HypertwinError that names the argument."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from tests.conftest import ROOT, TINY

import hypertwin
from hypertwin.plan.placement.planning import Options

QUICK = {"overrides": {"run.duration": "0.1 s", "run.warmup": "0 s", "run.sample_interval": "0.1 s"}, "replications": 1}
MEASURED = ROOT / "python/hypertwin/library/examples/small-esxi-measured.csv"

GOOD: dict[str, dict[str, Any]] = {
    "simulate": {"scenario": TINY, **QUICK},
    "load": {"scenario": TINY},
    "capacity": {"scenario": TINY},
    "density": {"scenario": TINY, "vm": "web", "slo": "ready_pct<0.0001", "maximum": 2, **QUICK, "replications": 2},
    "plan_survive": {"path": TINY},
    "plan_balance": {"path": TINY},
    "plan_evacuate": {"path": TINY, "host": "esx1"},
    "plan_place": {"path": TINY, "vm": "1x1GiB"},
    "size": {"host": "2x12", "memory": "96GiB", "vcpus": 4},
    "virtual_numa": {"hypervisor": "esxi-6.5", "sockets": 2, "cores": 12, "vcpus": 24},
    "durability": {},
    "calibrate": {"scenario": TINY, "measured": MEASURED, "free": "nothing"},
    "validate": {"studies": "nothing"},
    "diagnose_files": {"cluster": TINY, "what_if": False},
    "telemetry": {"sources": "nowhere"},
    "import_cluster": {"sources": "nowhere"},
    "compare_results": {"a": "nowhere", "b": "nowhere"},
    "example": {"name": "small-esxi"},
    "devices": {"kind": "nvme"},
    "pool_presets": {},
}
"""Arguments with which every public function answers, or is refused for what is no argument's kind."""

WRONG = [None, 3, -1, 2.5, float("nan"), 10**30, True, "x", "", "\0", b"x", [], [None], ["x"], {}, {"x": 1}, object()]
"""What is right nowhere, or here and there."""


def arguments(name: str) -> Iterator[str]:
    """The arguments of a function that a caller may give."""
    for each in inspect.signature(getattr(hypertwin, name)).parameters.values():
        yield from Options.__annotations__ if each.kind is each.VAR_KEYWORD else [each.name]


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
