"""Two results are compared figure by figure, whatever kind they are of, and hostile files are refused."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ROOT
from tests.e2e import specimen

from hypertwin import comparison
from hypertwin.comparison import figures as collected
from hypertwin.comparison import kinds
from hypertwin.errors import SourceError
from hypertwin.ingest import page as written_page
from hypertwin.show import compared as compared_report
from hypertwin.show import page as pages
from hypertwin.show import registry

VM = {"ready_pct": 1.0, "ready_pct_ci95": 0.2, "response_ms": {"mean": 10.0, "p99": 30.0, "ci95": 0.5}, "steady": True}


def point(changes: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    group = {**VM, "count": 2, "unit": "pages", "throughput_units_per_s": 100.0, **(changes or {})}
    made: dict[str, Any] = {"set": {}, "replications": 3, "duration_s": 60.0, "steady": True, "calibration": None}
    made |= {"hosts": {"esx": {"usage_pct": 50.0, "usage_pct_ci95": 1.0}}, "timeline": {"time_s": [1.0, 2.0]}}
    return made | {"vms": {"web-1": VM | {"demand_mhz": 900.0}}, "groups": {"web": group}, **fields}


def simulation(*points: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"version": "1.0", "scenario": "s", "seed": 1, "points": list(points), **fields}


def written(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def compared(folder: Path, a: Any, b: Any) -> Any:
    return comparison.compare(written(folder, "a.json", a), written(folder, "b.json", b), version="1.0")


def test_moves_are_counted_and_memory_and_time_down_of_vms_are_compared(tmp_path):
    memory = {"state": "soft", "swapped_bytes": 0.0}
    calm = point(vms={"app-1": VM | {"down_s": 0.0}}, hosts={"esx": {"memory": memory}}, moves=[], outages=[])
    moves = [{"at_s": 1.0, "vm": "app-1"}, {"at_s": 2.0, "vm": "app-1"}]
    short = {"memory": {"state": "hard", "swapped_bytes": 2.0**30}}
    vms = {"app-1": VM | {"down_s": 12.5, "memory": {"swap_wait_pct": 3.0, "target_bytes": 1.0}}}
    found = compared(
        tmp_path, simulation(calm), simulation(point(vms=vms, hosts={"esx": short}, moves=moves, outages=[]))
    )
    changes = {(each["of"], each["name"], each["figure"]): (each["a"], each["b"]) for each in found["changes"]}
    assert changes == {
        ("", "", "moves"): (0, 2),
        ("VM", "app-1", "down_s"): (0, 12.5),
        ("host", "esx", "memory.swapped_bytes"): (0, 2.0**30),
    }
    (verdict,) = [each for each in found["verdicts"] if each["figure"] == "memory.state"]
    assert (verdict["a"], verdict["b"]) == ("soft", "hard")
    assert "memory.swap_wait_pct" in {each["figure"] for each in found["missing"]}
    assert "memory.target_bytes" not in {each["figure"] for each in found["missing"]}


def test_a_change_has_both_values_and_says_whether_it_is_beyond_the_intervals(tmp_path):
    slower = {"response_ms": {"mean": 11.2, "p99": 30.0, "ci95": 0.5}, "ready_pct": 1.1}
    found = compared(tmp_path, simulation(point()), simulation(point(slower)))
    by_figure = {change["figure"]: change for change in found["changes"]}
    mean = by_figure["response_ms.mean"]
    assert (mean["of"], mean["name"], mean["unit"], mean["a"], mean["b"]) == ("group", "web", "ms", 10.0, 11.2)
    assert mean["a_ci95"] == 0.5
    assert mean["change_pct"] == pytest.approx(12.0)
    assert mean["beyond"] is True
    assert by_figure["ready_pct"]["beyond"] is False
    assert [change["figure"] for change in found["changes"]] == ["response_ms.mean", "ready_pct"]
    assert found["same"] == 7
    assert found["settings"] == found["missing"] == found["verdicts"] == []


def test_without_intervals_it_is_not_said_whether_a_change_is_beyond_them(tmp_path):
    found = compared(tmp_path, simulation(point()), simulation(point({"throughput_units_per_s": 50.0})))
    (change,) = found["changes"]
    assert (change["figure"], change["unit"], change["change_pct"]) == ("throughput_units_per_s", "pages", -50.0)
    assert change["beyond"] is None


def test_a_small_share_that_doubles_comes_after_a_large_figure_that_grows_by_a_tenth(tmp_path):
    a, b = point({"overlap_pct": 0.01, "used_mhz": 1000.0}), point({"overlap_pct": 0.02, "used_mhz": 1100.0})
    found = compared(tmp_path, simulation(a), simulation(b))
    assert [change["figure"] for change in found["changes"]] == ["used_mhz", "overlap_pct"]


def test_what_was_zero_has_no_change_in_per_cent(tmp_path):
    found = compared(tmp_path, simulation(point({"iops": 0})), simulation(point({"iops": 5})))
    assert [(change["change"], change["change_pct"]) for change in found["changes"]] == [(5.0, None)]


def test_more_of_a_figure_is_better_or_worse_by_its_key_and_not_by_a_part_of_it(tmp_path):
    def of(wait: float, room: float) -> dict[str, Any]:
        changes = {"wait_pct": 100 * wait, "waiting_pct": wait, "response_ms": VM["response_ms"] | {"p99": 30 + wait}}
        lost = {"survives": True, "room_gib": room, "used_pct": 100 / room}
        return simulation(point(changes, space={"san": {"room_gib": 2 * room, "free_gib": room, "lost_host": lost}}))

    found = compared(tmp_path, of(0.2, 10), of(0.1, 20))["changes"]
    effects = {each["figure"]: compared_report.effect(each) for each in found}
    assert {figure: badge and badge["text"] for figure, badge in effects.items()} == {
        "wait_pct": None,
        **dict.fromkeys(("waiting_pct", "response_ms.p99", "room_gib", "free_gib"), "better"),
        **dict.fromkeys(("lost_host.room_gib", "lost_host.used_pct"), "better"),
    }


def test_settings_that_differ_are_said_and_points_still_meet(tmp_path):
    other = point(set={"vms.web.vcpus": 4}, duration_s=120.0)
    found = compared(tmp_path, simulation(point()), simulation(other, seed=2, version="2.0", scenario="t"))
    settings = {each["what"]: (each["a"], each["b"]) for each in found["settings"]}
    assert settings == {
        "hypertwin": ("1.0", "2.0"),
        "scenario": ("s", "t"),
        "seed": ("1", "2"),
        "vms.web.vcpus": (None, "4"),
        "duration_s": ("60.0", "120.0"),
    }
    assert not found["missing"]
    assert found["same"] == 9


def test_points_of_a_sweep_meet_by_what_varies(tmp_path):
    def swept(*loads: int) -> dict[str, Any]:
        return simulation(*(point({"iops": load}, set={"load": load, "vms.web.vcpus": 4}) for load in loads))

    found = compared(tmp_path, swept(1, 2, 3), swept(2, 3, 4))
    assert not found["changes"]
    assert {(each["at"], each["only_in"]) for each in found["missing"]} == {("load 1", "a"), ("load 4", "b")}


def test_a_vm_that_only_one_side_has_is_said_once_and_a_figure_by_its_name(tmp_path):
    a = point(vms={"web-1": VM, "web-2": VM})
    b = point({"iops": 3}, vms={"web-1": VM})
    found = compared(tmp_path, simulation(a), simulation(b))
    assert [(each["of"], each["name"], each["figure"], each["only_in"]) for each in found["missing"]] == [
        ("VM", "web-2", "", "a"),
        ("group", "web", "iops", "b"),
    ]


def test_of_single_vms_only_the_figures_that_tell_most_are_compared(tmp_path):
    found = compared(tmp_path, simulation(point()), simulation(point(vms={"web-1": VM | {"demand_mhz": 1.0}})))
    assert not found["changes"]


def test_verdicts_that_change_are_said(tmp_path):
    found = compared(tmp_path, simulation(point()), simulation(point(steady=False)))
    assert [(each["figure"], each["a"], each["b"]) for each in found["verdicts"]] == [("steady", "yes", "no")]


def test_rows_of_a_validation_meet_by_study_case_and_metric(tmp_path):
    row = {"study": "s", "case": "c", "metric": "m", "published": 9.0, "twin": 10.0, "unit": "TPS", "pass": True}
    other = row | {"metric": "n"}
    found = compared(tmp_path, [row, other], [other, row | {"twin": 12.0, "pass": False}])
    (change,) = found["changes"]
    assert (change["name"], change["figure"], change["unit"]) == ("s, c, m", "twin", "TPS")
    assert change["change_pct"] == pytest.approx(20)
    assert [(each["name"], each["a"], each["b"]) for each in found["verdicts"]] == [("s, c, m", "yes", "no")]


def test_the_interval_of_a_fitted_parameter_counts(tmp_path):
    def fitted(value: float) -> dict[str, Any]:
        parameter = {"path": "p", "unit": "ms", "value": value, "interval": [value - 1, value + 1]}
        return {"calibrated_on": "x", "residual_scale": 1.0, "parameters": [parameter]}

    (change,) = compared(tmp_path, fitted(4.0), fitted(7.0))["changes"]
    assert (change["name"], change["a_ci95"], change["unit"], change["beyond"]) == ("p", 1.0, "ms", True)


def page(document: Any, made: Any = None, *, packed: bool = True, cut: int | None = None) -> str:
    text = json.dumps({"page": 1, "document": document, "made": made})
    attributes = ""
    if packed:
        text = base64.b64encode(zlib.compress(text.encode())[:cut]).decode()
        attributes = ' data-encoding="deflate"'
    element = f'<script id="page" type="application/json"{attributes}>{text}</script>'
    return f"<!doctype html><html><body>{element}</body></html>"


@pytest.mark.parametrize("packed", [True, False])
def test_a_page_is_read_without_being_run(tmp_path, packed):
    files = [{"name": "s.yaml", "sha256": "0", "text": "name: s\nhosts: 1\n"}]
    made = {"version": "1.0", "date": "2026-01-01T00:00:00Z", "command": ["simulate", "s.yaml"], "files": files}
    other = made | {"files": [files[0] | {"text": "name: s\nhosts: 2\n"}]}
    a = written(tmp_path, "a.html", page(simulation(point()), made, packed=packed))
    b = written(tmp_path, "b.html", page(simulation(point({"iops": 1})), other, packed=packed))
    found = comparison.compare(a, b, version="1.0")
    assert (found["a"]["command"], found["a"]["date"]) == ("simulate s.yaml", "2026-01-01T00:00:00Z")
    assert found["scenario_diff"] is not None
    assert found["scenario_diff"].splitlines()[-2:] == ["-hosts: 1", "+hosts: 2"]
    mixed = comparison.compare(written(tmp_path, "a.json", simulation(point())), b, version="1.0")
    assert mixed["scenario_diff"] is None


def test_a_page_and_the_document_that_it_was_made_of_are_the_same(tmp_path):
    document = simulation(point({"used_mhz": 1234.56789012, "iops": 1 / 3}))
    made = {"version": "1.0"}
    packed = written(tmp_path, "b.html", pages.Page("simulation", "s", document).html(specimen.MADE | made))
    found = comparison.compare(written(tmp_path, "a.json", document), packed, version="1.0")
    assert (found["changes"], found["settings"], found["same"]) == ([], [], 11)


def test_hundreds_of_vms_make_a_page_of_less_than_two_megabytes(tmp_path):
    def crowd(factor: float) -> dict[str, Any]:
        figures = {key: factor * (number + 1) / 7 for number, key in enumerate(collected.OF_A_VM)}
        return simulation(point(vms={f"app-{number}": figures for number in range(800)}))

    found = compared(tmp_path, crowd(1), crowd(1.1))
    assert len(found["changes"]) == 800 * len(collected.OF_A_VM)
    assert len(registry.COMPARISON.page(found).html(specimen.MADE)) < 2_000_000


NESTED = '{"a":' * 900 + "1" + "}" * 900


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "no JSON"),
        ("{}", "{}"),
        ("[]", "an empty list"),
        ("3", "JSON of no result"),
        ('{"scenario": "s", "seed": NaN, "points": []}', "NaN"),
        ('{"scenario": "s", "seed": 1, "points": []}', "a list of points"),
        ('{"scenario": "s", "seed": 1, "points": {"set": {}}}', "a list of points"),
        ('{"scenario": "s", "seed": 1, "points": [{"set": {}, "deep": ' + NESTED + "}]}", "nested too deeply"),
        ('{"scenario": "s", "seed": 1, "points": [{"set": {}, "iops": 1e999}]}', "a finite number"),
        ('{"scenario": "s", "seed": 1, "points": [{"set": {}, "iops": 1' + "0" * 400 + "}]}", "a finite number"),
        ('{"changes": [], "same": 1}', "a comparison"),
        ("[" * 100_000, "nested too deeply"),
        ("<!doctype html><p>hello", "a page without data"),
        ('<html><script id="page">{"page": 1', "a page without data"),
        (page(simulation(point()), cut=60), "cut off"),
        ('<script id="page" data-encoding="deflate">?!</script>', "page data"),
        (page("nothing", packed=False), "JSON of no result"),
        ("<script id=\"page\">[1]</script>", "JSON of no result"),
    ],
)  # fmt: skip
def test_what_is_no_result_is_refused(tmp_path, content, said):
    path = written(tmp_path, "a", content)
    with pytest.raises(SourceError) as refused:
        comparison.compare(path, path, version="1.0")
    assert said in str(refused.value)
    assert refused.value.exit_code == 2


def test_a_page_that_unpacks_to_more_than_a_result_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(written_page, "MOST_BYTES", 10_000)
    path = written(tmp_path, "bomb.html", page(["0" * 100_000]))
    with pytest.raises(SourceError, match="more than 10000 bytes"):
        comparison.compare(path, path, version="1.0")


def test_results_of_different_commands_are_not_compared(tmp_path):
    a = written(tmp_path, "a.json", simulation(point()))
    b = written(tmp_path, "b.json", {"annual_failure_rate": 0.1, "repair": {}, "schemes": []})
    with pytest.raises(SourceError, match="a result of durability") as refused:
        comparison.compare(a, b, version="1.0")
    assert refused.value.code == "different-kinds"


ODD: tuple[Any, ...] = (None, True, [], {}, "", "x" * 300, 0, -1.5, [1], [{}], {"a": {"b": [None]}}, [[{"count": []}]])


@pytest.mark.parametrize("kind", [*kinds.KINDS, kinds.VALIDATION], ids=lambda kind: kind.name)
def test_values_of_any_type_never_end_in_a_traceback(tmp_path, kind):
    for value in ODD:
        document: Any = dict.fromkeys(kind.keys, value)
        document |= {name: [value, {name: value}] for name in kind.items} | dict.fromkeys(kind.words, value)
        path = written(tmp_path, "a.json", [document] if kind is kinds.VALIDATION else document)
        try:
            comparison.compare(path, path, version="1.0")
        except SourceError:
            assert kind.name == "simulation"


def test_clusters_are_compared_by_name(tmp_path):
    def with_cluster(usage: float) -> dict[str, Any]:
        prod = {"hosts": 2, "usage_pct": usage, "usage_pct_ci95": 1.0, "peak_host": "esx-1", "memory_pct": 80.0}
        return simulation(point(clusters={"prod": prod}))

    (change,) = compared(tmp_path, with_cluster(50.0), with_cluster(60.0))["changes"]
    assert (change["of"], change["name"], change["figure"], change["beyond"]) == ("cluster", "prod", "usage_pct", True)


def test_memory_overcommitment_of_a_density_is_a_setting(tmp_path):
    found = json.loads((ROOT / "tests" / "data" / "documents" / "density.json").read_text())
    more = compared(tmp_path, found, {**found, "memory_overcommit": 1.5})
    assert [(each["what"], each["a"], each["b"]) for each in more["settings"]] == [("memory_overcommit", "1.0", "1.5")]
    assert more["changes"] == []


@pytest.mark.parametrize("name", ["calibration", "density", "diagnosis", "durability", "guests", "size", "vnuma"])
def test_a_document_is_known_by_its_shape(name):
    document = json.loads((ROOT / "tests" / "data" / "documents" / f"{name}.json").read_text())
    assert kinds.kind_of(document).name == name


def test_noise_is_no_headline(tmp_path):
    within = {"response_ms": {"mean": 10.6, "p99": 31.0, "ci95": 0.5}}
    found = compared(tmp_path, simulation(point()), simulation(point(within)))
    assert [change["beyond"] for change in found["changes"]] == [None, False]
    said = compared_report.summary(found)
    assert said.startswith("No difference beyond chance: 2 of ")
    assert said.endswith(" figures differ, all within their intervals.")
    alone = compared(tmp_path, *(simulation(point(each, replications=1)) for each in ({}, within)))
    assert {change["beyond"] for change in alone["changes"]} == {None}  # one replication says nothing of others
