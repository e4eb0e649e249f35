"""What goes into the page of a simulation: its document, what stands beside it, and the figures without scripts."""

from __future__ import annotations

import json

import pytest
from tests.conftest import ROOT, TINY
from tests.e2e.results import document
from tests.e2e.specimen import MADE
from tests.python.show.test_page import data

import hypertwin
from hypertwin.metrics import words
from hypertwin.show import comparison, movement, pools, simulation, simulation_page
from hypertwin.show import page as pages

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\"'"


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "tiny.yaml"
    path.write_text(TINY)
    return hypertwin.simulate(path, sweep={"vms.db.vcpus": [1, 2], "vms.db.load": [1, 2, 3]}).to_dict()


@pytest.fixture(scope="module")
def failed():
    losing = [{"at": "3 s", "fails": ["node-1", "node-2", "node-3"]}]
    path = ROOT / "scenarios" / "disk-failure.yaml"
    return hypertwin.simulate(path, replications=1, duration=4, overrides={"failures": losing}).to_dict()


def shown(result, **beside):
    return data(simulation_page.page(result, **beside).html(MADE))


def test_the_document_is_what_format_json_prints(swept):
    page = shown(swept)
    assert (page["kind"], page["title"]) == ("simulation", "tiny")
    assert page["document"] == pages.rounded(swept)
    assert page["notes"] == simulation.notes(swept)


def test_only_definitions_stand_beside_what_has_nothing_to_add(swept):
    beside = shown(swept)["beside"]
    assert list(beside) == ["metrics"]
    keys = {each["key"] for each in beside["metrics"]}
    assert {"ready_pct", "response_ms_p99", "usage_pct", "nodes_N_memory_gb_per_s"} <= keys
    assert not keys & {"amplification", "io_latency_ms_mean", "timeline"}
    ready = next(each for each in beside["metrics"] if each["key"] == "ready_pct")
    assert ready["called"]["esxtop"] == "%RDY ÷ vCPUs"


def test_a_study_adds_its_name_its_source_and_what_was_published(swept):
    mark = simulation_page.Mark({"vms.db.vcpus": 2, "vms.db.load": 3}, "vms.db.guest_cpu_pct", 50.0)
    rows = document("validation")[:2]
    study = comparison.Study("s", "A study", "Somebody")
    page = shown(swept, study=study, published=[mark], validation=rows)
    assert page["title"] == "A study"
    del page["beside"]["metrics"]
    judged = pages.rounded(comparison.beside(rows, study))
    assert [each["id"] for each in judged["judged"]] == ["figures"]
    assert page["beside"] == {
        **{key: each for key, each in judged.items() if each},
        "published": [
            {"set": {"vms.db.vcpus": 2, "vms.db.load": 3}, "path": "vms.db.guest_cpu_pct", "value": 50.0},
        ],
    }


def test_each_incident_has_the_sentence_that_the_terminal_has(failed):
    (point,) = failed["points"]
    told = shown(failed)["beside"]["incidents"]["0"]["pool"]
    assert told == [each.text for each in pools.sentences(failed)][: len(told)]
    assert len(told) == len(point["pools"]["pool"]["incidents"]) > 0
    assert "are lost" in told[0]
    assert shown(failed)["beside"]["failures"]["0"][0] == movement.stops(failed["points"])[0]


def test_a_reader_without_scripts_gets_the_figures_of_the_terminal(failed):
    text = simulation_page.page(failed).html(MADE)
    tables = text.split("<noscript>")[1].split("</noscript>")[0]
    (group,) = failed["points"][0]["groups"].values()
    assert tables.count("<table>") >= 4
    assert f"<td>{words.number(group['response_ms']['p99'])}</td>" in tables
    assert "Distributed storage" in tables and "replicas-3:2" in tables


def test_long_timelines_of_many_vms_become_means_of_neighbours(failed, monkeypatch):
    (whole,) = failed["points"]
    assert simulation_page.thinned(failed) is failed
    timeline = whole["timeline"]
    monkeypatch.setattr(simulation_page, "MOST_SAMPLES", len(timeline["vms"]) * len(timeline["time_s"]) // 2)
    shorter = shown(failed)["document"]["points"][0]["timeline"]
    assert shorter["interval_s"] == 2 * timeline["interval_s"]
    assert shorter["time_s"] == pages.rounded(timeline["time_s"][1::2])
    for section in ("hosts", "vms", "pools"):
        for name, series in timeline[section].items():
            for key, samples in series.items():
                pairs = [[each for each in pair if each is not None] for pair in batched(samples)]
                means = [pytest.approx(sum(pair) / len(pair), rel=1e-5) if pair else None for pair in pairs]
                assert shorter[section][name][key] == means, (name, key)


def batched(samples):
    return [samples[start : start + 2] for start in range(0, len(samples), 2)]


def test_changes_of_load_are_moments_of_the_page(cli, tiny, tmp_path):
    steps = "load_steps: [{at: 2 s, factor: 3}, {at: 0.05 min, factor: 0.5}]"
    tiny.write_text(tiny.read_text().replace("db: {", f"db: {{{steps}, "))
    cli("simulate", tiny, "--report", "page.html", exits=0)
    page = data((tmp_path / "page.html").read_text())
    assert page["beside"]["load_steps"] == [
        {"at_s": 2, "text": "load of db × 3"},
        {"at_s": 3, "text": "load of db × 0.5"},
    ]


def test_ports_that_fail_and_return_are_told_with_their_times_and_are_moments_of_the_page(cli, tmp_path):
    example = ROOT / "scenarios" / "san-paths.yaml"
    done = cli("simulate", example, "--explain", "--replications", "1", "--report", "page.html", exits=0)
    assert "1 s: esx/port-1 fails.\n2 s: esx/port-1 returns.\n" in done.stdout
    assert "\n* not steady: esx/port-1 fails during the measurement.\n" in done.stdout
    assert data((tmp_path / "page.html").read_text())["beside"]["load_steps"] == [
        {"at_s": 1, "text": "esx/port-1 fails"},
        {"at_s": 2, "text": "esx/port-1 returns"},
    ]


@pytest.mark.parametrize(
    "sweep",
    [
        {},
        {"hosts.esx1.hypervisor": ["esxi-6.0", "esxi-8.0"]},
        {"vms.db.vcpus": [1, 2], "vms.web.vcpus": [1, 2], "run.seed": [1, 2]},
        {"vms.db.load": [0.5]},
    ],
)
def test_any_sweep_has_a_page(tiny, sweep):
    result = hypertwin.simulate(tiny, sweep=sweep, replications=1).to_dict()
    assert len(shown(result)["document"]["points"]) == len(result["points"])


def test_hostile_text_stays_text(swept):
    text = json.dumps(swept).replace('"db"', json.dumps(HOSTILE)).replace("tiny", "<b>tiny</b>")
    page = simulation_page.page(json.loads(text), study=comparison.Study(HOSTILE, HOSTILE, HOSTILE)).html(MADE)
    assert "<b>tiny" not in page
    assert "<img src=x" not in page
    assert page.count("<script") == 2
    assert data(page)["title"] == HOSTILE


def test_the_same_result_gives_the_same_bytes(swept):
    assert simulation_page.page(swept).html(MADE) == simulation_page.page(swept).html(MADE)
