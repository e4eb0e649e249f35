"""The committed table of all figures: what it says, and how it is found to be of other sources."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.conftest import ROOT, TINY

sys.path.insert(0, str(ROOT / "scripts"))

import evidence
from hypertwin import library
from hypertwin.model_error import evidence as evidence_errors
from hypertwin.studies import judge, record
from hypertwin.studies import study as studies

FIGURES = """case,metric,twin,published,unit,origin,kind,accept,unreachable,missed,note,expected_class,words,against
one,vcpus,vms.db.vcpus,2,vCPUs,published,calibrated,±0,,,,flat,no change,four
four,a | b,vms.db.vcpus,4,vCPUs,published,predicted,±1,,only two,,,,
four,far,vms.db.vcpus,40,vCPUs,published,predicted,±1,too many,,,,,
"""


@pytest.fixture
def study(tmp_path: Path) -> studies.Study:
    folder = tmp_path / "tiny"
    folder.mkdir()
    cases = "cases: {one: {vms.db.load: 1}, four: {vms.db.load: 4}}\n"
    text = f"title: Tiny\nsource: nobody\n{cases}parameters: {{workloads.tx.cpu.mean: the first figure}}\n"
    for name, content in (
        ("study.yaml", text),
        ("scenario.yaml", TINY),
        ("published.csv", FIGURES),
        ("README.md", "x"),
    ):
        (folder / name).write_text(content)
    return studies.read(folder)


def test_the_page_has_every_figure_and_why_it_is_missed(study):
    text = page(study)
    assert "Core `0.1.0+abc`" in text
    counts = "3 | 2 | 0 | 0 | 0 | 0 of 0 | 0 | 0 | 1 | 0 | 1"
    assert re.search(rf"\| \[tiny\]\(\.\./studies/tiny\) \| {re.escape(counts)} \| \d \| 1 \(over a", text)
    assert f"`{_hash(study)}` |" in text
    assert "| all | 2 | 0 (0 %) | 0 (0 %) | 0 (0 %) | 0 |\n" in text
    assert "- `workloads.tx.cpu.mean`: the first figure\n" in text
    assert "Calibrated: the figure set a parameter:\n\n| case |" in text
    assert "| one | vcpus | 2 vCPUs | 2 vCPUs | +0.0 % |" in text
    assert "| four | a \\| b | 4 vCPUs | 2 vCPUs | -50.0 % |" in text
    assert "- miss: four a \\| b: only two\n- n/a: four far: too many\n" in text
    assert "Changed against the [record](../studies/record.csv): nothing." in text
    assert {line.count(" | ") for line in text.splitlines() if line.startswith("| ")} == {5, 6, 14}


def page(study: studies.Study, *changes: record.Drift) -> str:
    return evidence.page(judge.validate([study]), [study], "0.1.0+abc", changes)


def row(metric: str, error_pct: float, passed: bool | None, *, promised: bool = False) -> Any:
    about = {"study": "tiny", "case": "one", "metric": metric}
    return {**about, "error_pct": error_pct, "pass": passed, "promised": promised}


@pytest.mark.parametrize(
    ("then", "now", "what"),
    [
        ((10.0, True), row("m", 10.0, True, promised=True), None),
        ((10.0, True), row("m", -11.9, True, promised=True), None),
        ((10.0, True), row("m", -12.1, True, promised=True), "worse"),
        ((10.0, True), row("m", 7.0, True, promised=True), "better"),
        ((10.0, True), row("m", 10.0, False, promised=True), "regression"),
        ((10.0, True), row("m", 10.0, None, promised=True), "regression"),
        ((10.0, True), row("m", 30.0, False), "worse"),
        ((30.0, False), row("m", 10.0, True), "better"),
        ((30.0, False), row("m", 30.0, None), "no longer judged"),
        ((30.0, None), row("m", 90.0, None), None),
        ((30.0, None), row("m", 30.0, False), "judged again"),
        (None, row("m", 30.0, False), "new"),
    ],
)
def test_drift_is_what_became_of_a_figure(then, now, what):
    key = ("tiny", "one", "m")
    before = {key: record.Then(*then)} if then else {}
    assert [change.what for change in record.drift([now], before, frozenset())] == ([what] if what else [])


def test_a_figure_that_is_gone_is_told_and_regressed_if_it_was_within():
    before = {("tiny", "one", name): record.Then(1.0, name == "kept") for name in ("kept", "missed")}
    changes = record.drift([row("m", 1.0, True)], before, frozenset({("tiny", "one", "kept")}))
    assert [(change.what, change.key[2], change.now) for change in changes] == [
        ("regression", "kept", "gone"),
        ("new", "m", "+1.0 %, within"),
        ("gone", "missed", "gone"),
    ]


def test_the_record_keeps_a_regression_as_it_was():
    rows = [row("a", 50.0, False, promised=True), row("b", 50.0, False), row("c", 1.0, True), row("d", 2.0, None)]
    assert record.text(rows).splitlines()[1:] == [
        "tiny,one,a,50.0,yes",
        "tiny,one,b,50.0,no",
        "tiny,one,c,1.0,yes",
        "tiny,one,d,2.0,not judged",
    ]


ACCEPTED = "[{study: tiny, case: four, figure: a | b, date: 2026-05-01, reason: a new source}]"


def test_a_regression_of_the_page_fails_the_check_until_it_is_accepted(study):
    folder = study.folder.parent
    change = record.Drift(("tiny", "four", "a | b"), record.REGRESSION, "+1.0 %, within", "-50.0 %, missed")
    text = page(study, change)
    line = "study,case,figure,error_pct,within\ntiny,four,a | b,1.0,{}\n"
    (folder / "record.csv").write_text(line.format("yes"))
    said = "docs/evidence.md: regression: tiny four a | b; mend it, or accept it in studies/accepted.yaml"
    assert list(evidence.unaccepted(text, [study], folder)) == [said]
    (folder / "accepted.yaml").write_text(ACCEPTED)
    assert list(evidence.unaccepted(text, [study], folder)) == []
    (folder / "record.csv").write_text(line.format("no"))
    (said,) = evidence.unaccepted(text, [study], folder)
    assert said.endswith("tiny four a | b was not within its tolerance in record.csv; take it out")


def test_a_figure_that_is_gone_fails_the_check(study):
    folder = study.folder.parent
    (folder / "record.csv").write_text("study,case,figure,error_pct,within\ntiny,four,c,1.0,yes\ntiny,four,d,1.0,no\n")
    (said,) = evidence.unaccepted("", [study], folder)
    assert said.startswith("studies/record.csv: tiny four c is in no study")


def _hash(study: studies.Study) -> str:
    return evidence.hashes([study])["tiny"]


def found(text: str, *of: studies.Study, core: str = "0.1.0+abc", **more: str) -> list[str]:
    return list(evidence.stale(text, core, evidence.hashes(of) | more))


def test_a_page_is_stale_when_the_core_or_a_study_is_another_one(study):
    text = page(study)
    assert found(text, study) == []
    assert found(text, study, core="0.1.0+abd") == ["it is of core 0.1.0+abc, and this is 0.1.0+abd"]
    assert found(text, study, other="0" * 12) == ["changed since: other"]
    assert found(text) == ["changed since: tiny"]
    assert found("", study) == ["there is none"]
    assert found("# The evidence\n", study) == ["it names no core"]


@pytest.mark.parametrize(
    ("name", "change", "is_stale"),
    [
        ("scenario.yaml", lambda text: text + "\n# more", True),
        ("study.yaml", lambda text: text.replace("nobody", "somebody"), True),
        ("published.csv", lambda text: text.replace("40", "41"), True),
        ("scenario.yaml", lambda text: text.replace("\n", "\r\n"), False),
        ("README.md", lambda text: text + "more", False),
    ],
)
def test_a_change_in_what_decides_a_study_is_seen(study, name, change, is_stale):
    before = _hash(study)
    file = study.folder / name
    file.write_text(change(file.read_text()), newline="")
    assert (_hash(study) != before) == is_stale


@pytest.mark.parametrize(("option", "code", "said"), [("--check", 0, "note: docs"), ("--strict", 1, "docs")])
def test_a_stale_page_is_noted_or_with_strict_an_error(monkeypatch, capsys, tmp_path, option, code, said):
    monkeypatch.setattr(evidence, "PAGE", tmp_path / "evidence.md")
    monkeypatch.setattr(library, "studies", lambda: tmp_path)
    monkeypatch.setattr(evidence, "chosen", lambda _named: [])
    monkeypatch.setattr(sys, "argv", ["evidence.py", option])
    assert evidence.main() == code
    assert capsys.readouterr().out == f"{said}/evidence.md is stale: there is none; run `make evidence`\n"


def test_the_page_is_written_once_every_study_has_run(monkeypatch, capsys, tmp_path, study):
    page = tmp_path / "evidence.md"
    monkeypatch.setattr(evidence, "PAGE", page)
    monkeypatch.setattr(library, "studies", lambda: tmp_path)
    monkeypatch.setattr(evidence, "chosen", lambda _named: [studies.read(study.folder)])

    def ran(*options: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["evidence.py", *options])
        return evidence.main(), capsys.readouterr().out

    code, said = ran()
    assert (code, "new: tiny one vcpus: +0.0 %, within" in said) == (0, True)
    assert "1 of 3 figures within tolerance" in said
    assert "Changed against the [record](../studies/record.csv): 3 new." in page.read_text()
    assert not (tmp_path / "record.csv").exists()
    assert ran("--record")[0] == 0
    assert (tmp_path / "record.csv").read_text().splitlines()[1:] == [
        "tiny,one,vcpus,0.0,yes",
        "tiny,four,a | b,-50.0,no",
        "tiny,four,far,-95.0,not judged",
    ]
    assert "record.csv): nothing." in page.read_text()
    assert ran("--strict") == (0, "")
    (study.folder / "published.csv").write_text(FIGURES.replace("vcpus,vms.db.vcpus,2,", "vcpus,vms.db.vcpus,1,"))
    code, said = ran()
    assert (code, "regression: tiny one vcpus: +0.0 %, within -> +100.0 %, missed" in said) == (1, True)
    assert ran("--record")[0] == 1, "a regression is not recorded as the new state"
    assert "tiny,one,vcpus,100.0,yes" in (tmp_path / "record.csv").read_text()
    code, said = ran("--check")
    assert (code, said.count("regression: tiny one vcpus; mend it, or accept it in")) == (1, 1)
    accepted = "[{study: tiny, case: one, figure: vcpus, date: 2026-05-01, reason: a misprint}]"
    (tmp_path / "accepted.yaml").write_text(accepted)
    assert ran("--check") == (0, "")
    assert ran("--record")[0] == 0
    assert "tiny,one,vcpus,100.0,no" in (tmp_path / "record.csv").read_text()


def test_only_settled_two_sided_predictions_of_single_figures_become_errors():
    base = {"study": "s", "kind": "predicted", "follows": "", "range": False, "low": None, "high": None, "pass": False}
    base |= {"settled": True, "error": 1.0, "published": 50.0, "twin": 100.0}
    paths = {
        "rate": ("groups.vm.iops", {}),
        "no simulation": ("moves.all.seconds", {"settled": None}),
        "inside": ("groups.vm.iops", {"range": True, "low": 40.0, "high": 200.0, "error": 0.0, "published": 40.0}),
        "share": ("hosts.a.usage_pct", {}),
        "ratio": ("groups.vm.iops / one: groups.vm.iops", {}),
        "count": ("vms.db.virtual_nodes", {}),
        "unsettled": ("groups.vm.iops", {"settled": False}),
        "not judged": ("groups.vm.iops", {"pass": None}),
        "calibrated": ("groups.vm.iops", {"kind": "calibrated"}),
        "follows": ("groups.vm.iops", {"follows": "rate"}),
        "one side": ("groups.vm.iops", {"range": True, "low": 40.0}),
        "zero": ("groups.vm.iops", {"twin": 0.0}),
    }
    rows = [{**base, "case": "c", "metric": name, **change} for name, (_, change) in paths.items()]
    figures = [
        SimpleNamespace(case="c", metric=name, twin=path, is_ratio=" / " in path) for name, (path, _) in paths.items()
    ]
    found = evidence.errors(rows, [SimpleNamespace(name="s", area="pools", rows=figures)])
    assert [(row.kind, row.error) for row in found] == [
        ("throughput", pytest.approx(math.log(0.5))),
        ("duration", pytest.approx(math.log(0.5))),
        ("throughput", 0.0),
        ("usage", pytest.approx(math.log(55 / 105))),
    ]
    assert {(row.study, row.area) for row in found} == {("s", "pools")}
    assert evidence.errors(rows, [SimpleNamespace(name="s", area="", rows=figures)]) == []


def test_another_option_is_refused():
    done: Any = subprocess.run(
        [sys.executable, evidence.__file__, "--stict"], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage" in done.stderr


def test_the_errors_behind_the_intervals_are_those_of_the_record():
    before = record.recorded(library.studies())
    ratios: dict[str, list[float]] = {}
    for (study, _, _), then in before.items():
        ratios.setdefault(study, []).append(1 + then.error_pct / 100)
    found = [row for row in evidence_errors.recorded() if row.kind != "usage"]
    stale = [row for row in found if min(abs(ratio - math.exp(-row.error)) for ratio in ratios[row.study]) > 1e-3]
    assert len(found) > 300
    assert not stale, "run scripts/evidence.py --record"
