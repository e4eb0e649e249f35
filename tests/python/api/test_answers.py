"""Answers: short in a terminal, safe in a notebook, figures by name, frames, pages."""

from __future__ import annotations

import copy
import html
import json
import pickle
import sys
from pathlib import Path

import polars
import pytest
import yaml
from tests.conftest import TINY, refused
from tests.python.api.small_study import write_study

import hypertwin
from hypertwin.errors import MissingExtraError
from hypertwin.results import answers
from hypertwin.results.answers import Record
from hypertwin.runs.simulation import run_points
from hypertwin.show.page import Listing, Page, excerpt

HOSTILE = "</pre><script>alert(1)</script>"


@pytest.fixture(scope="module")
def tiny_result() -> hypertwin.Result:
    """The tiny scenario, simulated; its one text from outside is hostile."""
    return hypertwin.simulate(TINY, overrides={"calibrated_on": HOSTILE}, duration=2)


@pytest.fixture(scope="module")
def tiny_sweep() -> hypertwin.Result:
    """A sweep of three points."""
    return hypertwin.simulate(TINY, sweep={"vms.db.load": [1, 2, 3]}, duration=1, replications=1)


def kinds_of_answers(folder: Path) -> dict[str, hypertwin.Answer]:
    """One of each kind that is quick to have."""
    scenario = hypertwin.load(TINY, {"run.duration": "1 s"})
    result = hypertwin.simulate(scenario)
    return {
        "Result": result,
        "Capacity": hypertwin.capacity(scenario),
        "Planned": hypertwin.plan_survive(scenario),
        "Density": hypertwin.density(scenario, vm="web", slo="run_pct<99", maximum=2),
        "Sizing": hypertwin.size("2x12", memory="96GiB", vcpus=24),
        "Layout": hypertwin.vnuma(hypervisor="esxi-8.0", sockets=2, cores=12, vcpus=24),
        "Durability": hypertwin.durability(scheme=["3:2", "17+3"]),
        "Diagnosis": hypertwin.diagnose(cluster=scenario, what_if=False),
        "Comparison": hypertwin.compare(result, hypertwin.simulate(scenario, overrides={"vms.db.load": 2})),
        "Validation": hypertwin.validate(write_study(folder)),
    }


def test_every_answer_is_short_in_a_terminal_and_in_a_notebook_and_has_a_page(tmp_path):
    for name, answer in kinds_of_answers(tmp_path).items():
        lines = repr(answer).splitlines()
        assert lines[0].startswith(f"<{name}")
        assert 3 <= len(lines) <= answers.REPR_LINES + 2
        assert len(answer._repr_html_()) < 10_000
        page = answer.report(tmp_path / f"{name}.html").read_text(encoding="utf-8")
        assert "<title>" in page
        assert json.loads(answer.to_json()) == json.loads(json.dumps(answer.to_dict()))
        assert repr(answer.plot()).startswith("<Plot ")


def test_the_answer_comes_first_where_there_is_one_in_words():
    found = hypertwin.density(TINY, vm="web", slo="run_pct<99", maximum=1, duration=1)
    assert repr(found).splitlines()[0] == f"<Density: {found.text}>"


def test_a_notebook_gets_no_script_and_escaped_texts(tiny_result):
    assert "<script" not in tiny_result._repr_html_()
    listing = Listing(HOSTILE, [HOSTILE], [[HOSTILE]] * 3)
    shown = excerpt(Page("kind", HOSTILE, {}, notes=[HOSTILE, "second"], tables=[listing]), rows=2, notes=1)
    assert "<script" not in shown
    assert shown.count(html.escape(HOSTILE)) == 6  # title, caption, head, two of three rows, one of two notes
    assert "<p>... 1 more row</p>" in shown
    assert HOSTILE not in tiny_result.plot()._repr_html_()


def test_the_page_in_a_notebook_reaches_nothing_outside_its_frame(tiny_result):
    shown = tiny_result.plot(height=300)._repr_html_()
    assert 'sandbox="allow-scripts allow-downloads"' in shown
    assert "height:300px" in shown
    assert shown.count("<iframe") == shown.count("<") - shown.count("</iframe")  # the page itself is escaped


def test_figures_of_a_result_have_names(tiny_result):
    document = tiny_result.to_dict()["points"][0]
    assert tiny_result.vms["db"].response_ms.p99 == document["vms"]["db"]["response_ms"]["p99"]
    assert tiny_result["points"][0]["hosts"] == document["hosts"]
    assert [name for name, vm in tiny_result.vms.items() if vm.cluster == "default"] == list(document["vms"])
    assert [vm.host for vm in tiny_result.vms.values()] == ["esx1"] * 3
    assert "response_ms" in dir(tiny_result.vms["db"])
    assert "hosts" in dir(tiny_result)
    assert tiny_result.vms.get("nobody") is None
    with pytest.raises(AttributeError, match="did you mean p99"):
        tiny_result.vms["db"].response_ms.p98  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean vms"):
        tiny_result.vm  # noqa: B018
    assert not hasattr(tiny_result, "_ipython_canary_method_should_not_exist_")


def test_of_a_sweep_each_point_has_its_own_figures(tiny_sweep):
    assert [point["set"]["vms.db.load"] for point in tiny_sweep.points] == [1, 2, 3]
    busy = [point.vms["db"].guest_cpu_pct for point in tiny_sweep.points]
    assert busy == sorted(busy)
    assert len(tiny_sweep.points[1:]) == 2
    assert tiny_sweep.points[-1] == tiny_sweep.reports[2]
    with pytest.raises(AttributeError, match=r"3 points.*result\.points\[0\]\.vms"):
        tiny_sweep.vms  # noqa: B018


def test_changing_what_an_answer_gave_changes_no_answer(tiny_result):
    before = tiny_result.to_json()
    tiny_result.vms["db"]["ready_pct"] = -1
    tiny_result.points[0].vms.clear()
    assert tiny_result.to_json() == before


def test_a_record_is_a_dict_to_others():
    record = Record({"a": {"b": 1.5}, "items": [1], "rows": [{"c": 2}]})
    assert json.dumps(record) == '{"a": {"b": 1.5}, "items": [1], "rows": [{"c": 2}]}'
    assert record["items"] == [1]
    assert record.rows[0].c == 2
    assert pickle.loads(pickle.dumps(record)) == copy.deepcopy(record) == {**record}
    assert repr(record) == "<a={1}, items=[1], rows=[1]>"


def test_a_frame_for_each_kind_has_its_things_and_metrics_only(tiny_sweep):
    frames = tiny_sweep.frames
    assert list(frames) == ["hosts", "vms", "groups", "clusters", "signs", "limits", "timeline"]
    assert frames["vms"].height == 3 * 3
    assert frames["vms"].columns[:4] == ["point", "vms.db.load", "replications", "steady"]
    assert frames["hosts"]["usage_pct"].null_count() == 0
    assert "response_ms_p99" not in frames["hosts"].columns
    for point, row in zip(tiny_sweep.points, frames["vms"].filter(polars.col("name") == "db").to_dicts(), strict=True):
        assert row["ready_pct"] == point.vms["db"].ready_pct
    samples = frames["timeline"]
    one = samples.filter((polars.col("point") == 2) & (polars.col("name") == "db"))
    assert one["run_queue"].to_list() == tiny_sweep.points[2].timeline.vms["db"].run_queue
    assert one["time_s"].to_list() == tiny_sweep.points[2].timeline.time_s
    with pytest.raises(KeyError, match="there are: hosts"):
        frames["vm"]


def test_without_polars_frames_say_what_to_install(tiny_sweep, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError, match=r"hypertwin\[telemetry\]"):
        tiny_sweep.frames["vms"]


def test_a_page_replaces_no_file_that_the_answer_was_made_from(tmp_path):
    one = hypertwin.durability(scheme="3:2").report(tmp_path / "one.html")
    other = hypertwin.durability(scheme="17+3").report(tmp_path / "other.html")
    kept = one.read_bytes()
    compared = hypertwin.compare(one, other)
    with refused("output-is-input"):
        compared.report(one)
    assert one.read_bytes() == kept
    assert compared.a.file == str(one)


def test_a_repr_of_a_long_sweep_decodes_few_points(monkeypatch):
    points = hypertwin.runs.simulation.points_of(
        TINY, {"vms.db.load": list(range(1, 41))}, {}, {"run.duration": "0.1 s"}
    )
    result = run_points(points)
    monkeypatch.setattr(result.reports, "_kept", {})
    read = []
    kind = type(result.reports)
    whole = kind.__getitem__
    monkeypatch.setattr(kind, "__getitem__", lambda self, index: read.append(index) or whole(self, index))
    repr(result)
    assert len({index for index in read if isinstance(index, int)}) <= 8


def test_data_of_a_yaml_file_and_of_a_mapping_are_one(tiny):
    assert (
        hypertwin.simulate(yaml.safe_load(TINY), duration=1).to_json() == hypertwin.simulate(tiny, duration=1).to_json()
    )
