"""Sweeps of thousands of points: made, kept and written one point at a time, with nothing lost by it."""

from __future__ import annotations

import csv
import gc
import io
import json
import math
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hypertwin
from hypertwin import _core
from hypertwin.cli import output
from hypertwin.metrics import frame, packed
from hypertwin.runs import simulation as run
from hypertwin.show import files, simulation, simulation_page

MOST_BYTES = 300 << 20
"""What 10,000 points may take."""

LETTERS_KEPT = (run.KEPT, packed.KEPT)

SWEEP = {"vms.db.load": [1, 0.5, 0.07, 2], "vms.web.count": [1, 2]}


@pytest.fixture(params=["all kept", "none kept"])
def kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Points and reports stay in memory as they are used, or are made again each time."""
    if request.param == "none kept":
        monkeypatch.setattr(run, "KEPT", 0)
        monkeypatch.setattr(packed, "KEPT", 0)


def small(tiny: Path, **more: Any) -> run.Result:
    return hypertwin.simulate(tiny, duration="20 ms", warmup=0, replications=1, **more)


def eager(result: run.Result) -> dict[str, Any]:
    """The document with every point decoded, as a program that knows nothing of this would have it."""
    points = [json.loads(json.dumps(point)) for point in result.points]
    return {"version": _core.version(), "scenario": "tiny", "seed": result.seed, "points": points}


def test_points_are_a_sequence_like_any_other(tiny: Path, kept: None) -> None:
    result = small(tiny, sweep=SWEEP, overrides={"run.seed": 3})
    points, decoded = result.points, eager(result)["points"]
    assert len(points) == 8
    assert [point["set"] for point in points] == [
        {"run.seed": 3, "vms.db.load": load, "vms.web.count": count}
        for load in SWEEP["vms.db.load"]
        for count in SWEEP["vms.web.count"]
    ]
    assert list(points) == decoded
    assert [points[index] for index in range(-8, 8)] == decoded * 2
    assert list(points[2:7:2]) == decoded[2:7:2]
    assert list(reversed(points)) == decoded[::-1]
    assert points == decoded
    assert points[:3] != decoded[1:4]
    assert points[5] in points
    assert decoded[5]["vms"] in [point["vms"] for point in points[5:]]
    with pytest.raises(IndexError):
        points[8]
    assert result == small(tiny, sweep=SWEEP, overrides={"run.seed": 3})
    assert result != small(tiny, sweep=SWEEP, overrides={"run.seed": 4})


def test_the_forms_of_a_result_are_those_of_its_document(tiny: Path, kept: None) -> None:
    result = small(tiny, sweep=SWEEP, overrides={"name": "null", "calibrated_on": 'é "\\ {x}: 1e5'})
    judged = {key: result.document[key] for key in ("answer", "causes", "breaks")}
    first, points = {**eager(result), "scenario": "null"}, {}
    points["points"] = first.pop("points")
    document = {**first, **judged, **points}
    assert result.to_dict() == document
    assert "".join(files.json_parts(result.document)) == files.to_json(document)
    assert "".join(files.json_parts(result.to_dict())) == files.to_json(document)
    assert files.to_csv(result.document) == files.to_csv(document)
    assert result.to_frame().equals(frame.to_frame(document))


def test_reports_are_written_without_being_decoded(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = small(tiny, sweep=SWEEP).document  # whose answer has looked at a thousand of them at most
    monkeypatch.setattr(packed.Reports, "__getitem__", lambda *_: pytest.fail("a report is decoded"))
    assert len(list(files.json_parts(document))) == 8 + 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON, st.integers(0, 3))
def test_indented_json_is_that_of_python(value: Any, depth: int) -> None:
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace").decode()
    lines = json.dumps(json.loads(compact), ensure_ascii=False, indent=2).split("\n")
    assert _core.indented(compact, depth) == f"\n{'  ' * depth}".join(lines)


@pytest.mark.parametrize("number", ["1e-5", "1.5e300", "1e16", "2.5e-10", "1e-300", "0.0001", "-1e-7"])
def test_numbers_of_the_core_are_written_as_python_writes_them(number: str) -> None:
    assert _core.indented(f'{{"1e5":[{number},true,false]}}', 0) == json.dumps(
        {"1e5": [float(number), True, False]}, indent=2
    )


def test_every_column_has_one_type(monkeypatch: pytest.MonkeyPatch) -> None:
    def point(settings: dict[str, Any], **metrics: Any) -> dict[str, Any]:
        return {"set": settings, "replications": 1, "steady": True, "verdict": {"reason": None}, "vms": {"db": metrics}}

    points = [
        point({"a.b": 1, "c.d": 1}, late=None, mixed=1, flag=True),
        point({"a.b": "x", "c.d": 2.5}, late=None, mixed=2.5, inner={"p99": 1}),
        point({"c.d": None}, late=4, flag=False, listed=[1]),
    ]
    document: Any = {"version": "1", "scenario": "s", "seed": 2**63 + 5, "points": points}
    expected = {
        "a.b": ["1", "x", None],
        "c.d": [1.0, 2.5, None],
        "late": [None, None, 4],
        "mixed": [1.0, 2.5, None],
        "flag": [True, None, False],
        "inner_p99": [None, 1, None],
        "seed": [2**63 + 5] * 3,
    }
    for batch in (1, 2, 100):
        monkeypatch.setattr(frame, "BATCH", batch)
        found = frame.to_frame(document)
        assert found.columns == [*frame.RESERVED[:4], "a.b", "c.d", *frame.RESERVED[4:], *list(expected)[2:6]]
        assert {name: found[name].to_list() for name in expected} == expected
        assert (found.schema["late"], found.schema["c.d"]) == (polars.Int64, polars.Float64)
    head, *lines = csv.reader(io.StringIO(files.to_csv(document)))
    assert head == found.columns
    assert [line[head.index("mixed")] for line in lines] == ["1.0", "2.5", ""]


@pytest.mark.parametrize("warmup", ["0 s", "auto"])
@pytest.mark.parametrize("wrong", [0, 57, 99])
def test_a_mistake_in_any_of_many_points_is_found_first(
    tiny: Path, kept: None, watch_runs: Any, wrong: int, warmup: str
) -> None:
    started: list[str] = []
    watch_runs(lambda scenario, *_: started.append(scenario))
    values = [1 + index / 100 if index != wrong else -1 for index in range(100)]
    with pytest.raises(hypertwin.ScenarioError) as caught:
        hypertwin.simulate(tiny, sweep={"vms.db.load": values}, warmup=warmup)
    (mistake,) = caught.value.mistakes
    assert (mistake.file, mistake.path) == ("sweep vms.db.load=-1", "vms.db.load")
    assert not started


def test_a_found_warmup_is_that_of_each_point(tiny: Path, kept: None) -> None:
    sweep = {"vms.db.load": [1, 3]}
    together = hypertwin.simulate(tiny, sweep=sweep, warmup="auto", duration=2, replications=1)
    for point, load in zip(together.points, sweep["vms.db.load"], strict=True):
        alone = hypertwin.simulate(tiny, overrides={"vms.db.load": load}, warmup="auto", duration=2, replications=1)
        assert alone.points[0] == point


def memory_of(count: int, tiny: Path) -> tuple[int, int]:
    """Bytes that the points of a sweep and its result take in memory, and the most while they are made and read."""

    def figures(result: run.Result) -> Iterator[float]:
        for point in result.points:
            yield point["vms"]["db"]["used_pct"]

    gc.collect()
    tracemalloc.start()
    try:
        points = run.points_of(tiny, {"run.seed": range(count)}, {}, {"run.duration": "1 ms", "run.warmup": "0 s"})
        result = run.run_points(points)
        assert math.isfinite(sum(figures(result)))
        assert sum(len(part) for part in files.json_parts(result.document)) > 4_000 * count
        now, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return now, most


def test_ten_thousand_points_fit_in_300_mib(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reckoned from 200 points of which nothing is kept that need not be: what each more takes, and what a few take."""
    monkeypatch.setattr(run, "KEPT", 0)
    monkeypatch.setattr(packed, "KEPT", 0)
    (few, _), (many, most) = memory_of(50, tiny), memory_of(250, tiny)
    each = (many - few) / 200
    assert each < 2_500
    kept = 3 * LETTERS_KEPT[0] + 5 * LETTERS_KEPT[1]  # scenarios and reports that stay, as objects
    assert (70 << 20) + most + kept + 10_000 * each < MOST_BYTES


def test_a_table_and_a_page_show_points_from_all_of_a_sweep(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = small(tiny, sweep={"vms.db.load": [1 + index / 100 for index in range(25)]}).document

    def shown() -> tuple[str, Any]:
        return output.render(simulation.table(result)), simulation_page.page(result)

    table, page = shown()
    assert "points shown" not in table + "".join(page.notes)
    assert len(page.document["points"]) == 25
    monkeypatch.setattr(simulation, "MOST_POINTS", 10)
    table, page = shown()
    said = "9 of 25 points shown, one of every 3. --format csv and json have all."
    assert said in table
    assert said in page.notes
    loads = [1 + index / 100 for index in range(0, 25, 3)]
    assert [point["set"]["vms.db.load"] for point in page.document["points"]] == loads
    assert [f"{load:g} " in table for load in (1.01, 1.03, 1.23, 1.24)] == [False, True, False, True]
    monkeypatch.setattr(simulation_page, "MOST_VMS", 8)
    _, page = shown()
    assert len(page.document["points"]) == 2
    assert sum(len(point["vms"]) for point in page.document["points"]) <= 8
