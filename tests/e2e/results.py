"""A page of each kind of result but the simulation's, from what the commands printed: tests/data/documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from tests.conftest import ROOT

from hypertwin import comparison as results
from hypertwin.plan import durability as plan
from hypertwin.plan import size
from hypertwin.show import comparison, registry
from hypertwin.show.page import Page

DOCUMENTS = ROOT / "tests/data/documents"


def document(name: str) -> Any:
    """What a command printed with `--format json`."""
    return json.loads((DOCUMENTS / f"{name}.json").read_text(encoding="utf-8"))


def _of(views: registry.Views[Any], name: str, **shown: Any) -> Any:
    assert views.page is not None
    return views.page(document(name), **shown)


def _validation() -> Any:
    study = comparison.Study("monster-vm", "A large database VM", "a blog")
    return _of(registry.VALIDATION, "validation", studies=[study])


def _several_studies() -> Any:
    """Two sources, the second with figures far off, not judged and near nothing."""
    rows = document("validation")
    other = [
        {**row, "study": "other", "twin": row["twin"] * 30, "error_pct": 2900.0, "pass": False} for row in rows[:4]
    ]
    studies = [comparison.Study(name, name.title(), "a blog") for name in ("monster-vm", "other")]
    page = registry.VALIDATION.page
    assert page is not None
    return page([*rows, *other, {**other[0], "twin": 0.0, "pass": None}], studies=studies)


def _durability(name: str) -> Any:
    return _of(registry.DURABILITY, name, curves=plan.curves(document(name)))


def _diagnosis(name: str = "diagnosis") -> Any:
    return _of(registry.DIAGNOSIS, name, series=document("diagnosis-series"))


def _many_findings() -> Any:
    """100 and more findings of 800 VMs."""
    found, series = document("diagnosis"), document("diagnosis-series")
    finding = next(each for each in found["findings"] if each["code"] == "cpu-limit")
    chart = series[found["findings"].index(finding)]
    for number in range(100):
        name = f"app-{number + 1}"
        copy = deepcopy(finding) | {"entity": f"host/esx-1/vm/{name}", "name": name, "title": f"{name} is limited"}
        found["findings"].append(copy)
        series.append(chart if number < 60 else [])
    page = registry.DIAGNOSIS.page
    assert page is not None
    return page(found | {"hosts": 40, "machines": 800}, series=series)


def _size() -> Any:
    advice = size.advise(size.find_host("2x12x2"), memory="200GiB", vcpus=20, demand=None, reserved_cores=0)
    return _of(registry.SIZING, "size", layout=advice.advised.layout)


def _plan(name: str = "placement", **changed: Any) -> Page:
    page = registry.PLACEMENT.page
    assert page is not None
    return page(document(name) | changed)


def _large_plan() -> Page:
    """64 hosts with 2,000 VMs, each of which restarts; hosts with names as long as real ones, VMs that find none."""
    found = document("placement")
    names = [f"esx-{number:02d}.frankfurt.example.com" for number in range(64)]
    certificate = {}
    for at, name in enumerate(names):
        placed = {f"vm-{at}-{vm}": names[(at + 1 + vm * 7 % 63) % 64] for vm in range(31)}
        short_of = f"18.0 GiB of memory on {names[(at + 1) % 64]}"
        lost = [{"vm": f"wide-{at}", "short_of": short_of}] if at % 9 == 4 else []
        certificate[name] = found["certificate"]["esx-1"] | {"failed": [name], "placed": placed, "cannot_restart": lost}
    moves = [
        found["moves"][at % 4]
        | {"vm": f"vm-{at}", "from": names[at % 64], "to": names[at * 5 % 64], "step": at // 6 + 1}
        for at in range(300)
    ]
    steps = [found["steps"][at % 3] | {"step": at + 1, "peak_host": names[at % 64]} for at in range(50)]
    hosts = [host | {"name": name} for name, host in zip(names, found["hosts"] * 16, strict=True)]
    states = dict.fromkeys(names, found["verified"]["failures"]["esx-1"])
    verified = found["verified"] | {"failures": states}
    return _plan(certificate=certificate, moves=moves, steps=steps, hosts=hosts, verified=verified)


def _compared() -> Any:
    names = ("durability", "durability-of-a-pool")
    page = registry.COMPARISON.page
    assert page is not None
    return page(results.compare(*(DOCUMENTS / f"{name}.json" for name in names), version="0.1.0"))


PAGES: Mapping[str, Callable[[], Page]] = {
    "validation": _validation,
    "validation of two sources": _several_studies,
    "density": lambda: _of(registry.DENSITY, "density"),
    "capacity": lambda: _of(registry.CAPACITY, "capacity"),
    "durability": lambda: _durability("durability"),
    "durability of a pool": lambda: _durability("durability-of-a-pool"),
    "calibration": lambda: _of(registry.CALIBRATION, "calibration"),
    "diagnosis": _diagnosis,
    "a hundred findings": _many_findings,
    "contention": lambda: _of(registry.CONTENTION, "contention"),
    "guests": lambda: _of(registry.GUESTS, "guests"),
    "plan": _plan,
    "plan, nothing to do": lambda: _plan(moves=[], steps=[], verified=None, commands={}, explained=[]),
    "plan, not survived": lambda: _plan("placement-survive"),
    "plan, rolling": lambda: _plan("placement-evacuate"),
    "plan, none exists": lambda: _plan("placement-infeasible"),
    "plan of 64 hosts": _large_plan,
    "size": _size,
    "vnuma": lambda: _of(registry.LAYOUT, "vnuma"),
    "comparison": _compared,
}
