"""`hypertwin validate`, with studies small enough to run in a moment."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ROOT, TINY, refused
from tests.python.show.test_page import data

from hypertwin import library
from hypertwin.cli import validate as cli_validate
from hypertwin.cli.output import render
from hypertwin.errors import ScenarioError
from hypertwin.runs.options import Where
from hypertwin.show import comparison, registry, view
from hypertwin.studies import judge
from hypertwin.studies import study as studies
from hypertwin.studies.accept import Accept
from hypertwin.studies.classes import LIMITS, Class
from hypertwin.studies.published import Row

STUDY = """
title: Tiny
source: nobody
cases:
  one: {vms.db.load: 1}
  four: {vms.db.load: 4}
"""
HEADER = "case,metric,twin,published,unit,origin,kind,accept,unreachable,note\n"
EXACT = "one,vcpus,vms.db.vcpus,2,vCPUs,published,calibrated,±0,,"
OFF = "one,vcpus too far off,vms.db.vcpus,4,vCPUs,published,predicted,±1,,"


@pytest.fixture
def study(tmp_path: Path):
    """Make a study of the given rows."""

    def make(*rows: str, text: str = STUDY, header: str = HEADER) -> studies.Study:
        folder = tmp_path / "studies" / "tiny"
        folder.mkdir(parents=True)
        (folder / "scenario.yaml").write_text(TINY)
        (folder / "study.yaml").write_text(text)
        (folder / "published.csv").write_text(header + "\n".join(rows) + "\n")
        return studies.find("tiny", folder.parent)

    return make


def test_rows_have_the_shape_of_the_contract_and_are_judged(study):
    rows = judge.validate(
        [
            study(
                "one,vcpus,vms.db.vcpus,2,vCPUs,published,calibrated,±0,,",
                "one,vcpus off by one half,vms.db.vcpus,4,vCPUs,published,predicted,±50 %,,",
                "one,vcpus too far off,vms.db.vcpus,4,vCPUs,published,predicted,±1,,",
                "one,cannot be,vms.db.vcpus,99,vCPUs,published,predicted,±1,a host has two cores,",
                "four,response,vms.db.run_queue / one: vms.db.run_queue,rises,ratio,published,predicted,>= 1.5,,",
                "four,vcpus stay,vms.db.vcpus / one: vms.db.vcpus,flat,ratio,published,predicted,<= 1.0,,",
                "four,sum,vms.db.vcpus + one: vms.db.vcpus,4,vCPUs,published,predicted,±0,,",
            )
        ]
    )
    assert all(row.keys() >= judged().keys() for row in rows)
    assert [row["pass"] for row in rows] == [True, True, False, None, True, True, True]
    assert rows[1]["error"] == -2
    assert rows[1]["error_pct"] == -50
    assert (rows[2]["tolerance"], rows[2]["tolerance_pct"]) == (1, 25)
    assert rows[3]["note"] == "a host has two cores"
    assert (rows[4]["published"], rows[4]["error_pct"]) == (1.5, 0)
    assert {row["kind"] for row in rows} == {"calibrated", "predicted"}
    json.dumps(rows, allow_nan=False)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("one,m,vms.db.vcpus,2,,published,predicted,about 3,,", "accept is 'about 3'; allowed: ±3, .*, 1.3 to 1.6"),
        ("one,m,vms.db.vcpus,2,,published,predicted,3 to 2,,", "accept is '3 to 2'"),
        ("one,m,vms.db.vcpus,2,,published,predicted,x0.5,,", "accept is 'x0.5'"),
        ("one,m,vms.db.vcpus,two,,published,predicted,x2,,", "published is 'two'; x needs a number"),
        (f"{EXACT}\n{EXACT}", "two rows of case one have the metric 'vcpus'; rename one"),
        ("one,m,vms.db.vcpus,2,,published,guessed,±3,,", "kind"),
        ("one,m,vms.db.vcpus,flat,,published,predicted,±3,,", "needs a number"),
        ("two,m,vms.db.vcpus,2,,published,predicted,±3,,", "no case 'two'"),
        ("one,m,two: vms.db.vcpus,2,,published,predicted,±3,,", "no case 'two' in study.yaml; cases: one, four"),
        ("one,m,vms.db.vcpus,nan,,published,predicted,±3,,", "line 2: published is 'nan'; ± needs a number"),
        ("one,m,,2,,published,predicted,±3,,", "line 2: twin is empty"),
        ("one,m,vms.db.vcpus,2,,published,predicted,±3,,a note, with a comma", "line 2: has more or fewer cells"),
        ("one,m", "line 2: has more or fewer cells"),
        ('one,"m,vms.db.vcpus,2', "after line 1: unexpected end of data; is the file CSV, its quotes in pairs"),
        ("", "has no figures"),
    ],
)
def test_a_study_with_a_mistake_says_which(study, row, said):
    with pytest.raises(studies.StudyError, match=said):
        study(row)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("case,metric,twin,published,unit,kind\n", "line 1: lacks the column origin, accept; needed: case, metric"),
        (HEADER.replace("note", "reason"), "line 1: has a column 'reason'; allowed: .*unreachable, missed, note"),
        ("", "line 1: lacks the column case"),
    ],
)
def test_a_table_of_figures_without_its_columns_says_which(study, header, said):
    with pytest.raises(studies.StudyError, match=said):
        study(EXACT, header=header)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a\n", "study.yaml: is .*; allowed: keys with values"),
        ("title: T\nsource: s\n", "study.yaml: cases is missing or empty; needed: title, source, cases"),
        ("title: T\nsource: s\ncases: {}\n", "cases is missing or empty"),
        ("title: T\nsource: s\ncases: [one]\n", "study.yaml: cases: is"),
        ("title: T\nsource: s\ncases: {one: 3}\n", "study.yaml: cases.one: is 3"),
        (
            f"{STUDY}chart: {{}}\n",
            "no key 'chart'; allowed: title, source, cases, parameters, area, kind, spread, charts, slow",
        ),
        (f"{STUDY}area: pool\n", "area is 'pool'; allowed: cpu, memory, .*pools, or leave it out"),
        (f"{STUDY}kind: sheet\n", "kind is 'sheet'; allowed: data-sheet, or leave it out"),
        (f"{STUDY}slow: 3\n", "study.yaml: slow is 3; allowed: true, or leave it out"),
        (f"{STUDY}charts: {{sweeps: {{}}}}\n", "charts: there is no key 'sweeps'; allowed: sweep, settings"),
    ],
)
def test_a_study_of_another_form_says_what_is_allowed(study, text, said):
    with pytest.raises(studies.StudyError, match=said):
        study(EXACT, text=text)


@pytest.mark.parametrize(("text", "code"), [("title: [", "not-yaml"), ("title: a\ntitle: b\n", "duplicate-key")])
def test_a_study_that_is_no_yaml_says_where(study, text, code):
    with refused(code, r"study\.yaml:"):
        study(EXACT, text=text)


def test_figures_that_are_no_text_are_refused(study):
    folder = study(EXACT).folder
    (folder / "published.csv").write_bytes(b"\xff\xfe")
    with refused("not-utf-8", "published.csv"):
        studies.find("tiny", folder.parent)


WITH_CLASS = "case,metric,twin,published,unit,origin,kind,accept,expected_class,words,against\n"


def test_the_class_that_a_source_names_is_read(study):
    made = study(
        "four,response,vms.db.response_ms.mean,5,ms,published,predicted,±1,host-cpu; rises,CPU has run out,one",
        "one,vcpus,vms.db.vcpus,2,vCPUs,published,predicted,±0,,,",
        text=f"{STUDY}parameters: {{workloads.tx.cpu.mean: the response of one}}\n",
        header=WITH_CLASS,
    )
    row, plain = made.rows
    assert (row.expected, row.words, row.against) == (Class("host-cpu", "rises"), "CPU has run out", "one")
    assert str(row.expected) == "host-cpu; rises"
    assert not plain.expected
    assert made.parameters == {"workloads.tx.cpu.mean": "the response of one"}


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (
            "host-cpus,,",
            "line 2: expected_class: 'host-cpus' is no class; allowed: host-cpu, guest-cpu.*nothing, rises",
        ),
        ("host-cpu; memory,,", "expected_class: host-cpu and memory are two of a kind; allowed: one limit and one"),
        ("rises; falls,,one", "expected_class: rises and falls are two of a kind"),
        ("host-cpu; ,,", "expected_class: '' is no class"),
        ("rises,,", "nothing says against what; allowed: a case under against, or a ratio"),
        ("host-cpu,,one", "against is 'one', and expected_class has no direction"),
        ("rises,,four", "against is the row's own case"),
        ("rises,,two", "no case 'two' in study.yaml; cases: one, four"),
        (",the CPU is full,", "words are given, and expected_class is empty"),
    ],
)
def test_a_class_with_a_mistake_says_which(study, cells, said):
    with pytest.raises(studies.StudyError, match=said):
        study(f"four,m,vms.db.vcpus,2,,published,predicted,±3,{cells}", header=WITH_CLASS)


@pytest.mark.parametrize(("twin", "unit"), [("vms.db.vcpus / one: vms.db.vcpus", "%"), ("vms.db.vcpus", "ratio")])
def test_a_ratio_goes_a_way_against_1(study, twin, unit):
    (row,) = study(f"four,m,{twin},2,{unit},published,predicted,±3,rises,,", header=WITH_CLASS).rows
    assert row.is_ratio


@pytest.mark.parametrize(
    ("parameters", "said"),
    [("[a]", "study.yaml: parameters: is"), ("{a: 3}", "study.yaml: parameters.a: is 3; allowed: by which figure")],
)
def test_parameters_with_a_mistake_say_which(study, parameters, said):
    with pytest.raises(studies.StudyError, match=said):
        study(EXACT, text=f"{STUDY}parameters: {parameters}\n")


def test_rows_say_which_class_the_twin_shows_and_whether_it_is_right(study):
    made = study(
        "four,run queue,vms.db.run_queue,3,,published,predicted,±3,guest-cpu; rises,soars,one",
        "four,same run queue,vms.db.run_queue,3,,published,predicted,±3,falls,,one",
        "four,same vcpus,vms.db.vcpus,2,vCPUs,published,predicted,±0,host-cpu; flat,,one",
        "four,over one,vms.db.vcpus / one: vms.db.vcpus,1,ratio,published,predicted,±0,flat,,",
        "four,vcpus,vms.db.vcpus,2,vCPUs,published,predicted,±0,,,",
        text=f"{STUDY}parameters: {{workloads.tx.cpu.mean: the response of one}}\n",
        header=WITH_CLASS,
    )
    rows = judge.validate([made])
    directions = [row["class"].partition("; ")[2] for row in rows]
    assert directions == ["rises", "rises", "flat", "flat", ""]
    assert rows[0]["class"].partition(";")[0] in LIMITS
    assert [row["class_right"] for row in rows][1:] == [False, rows[2]["class"].startswith("host-cpu"), True, None]
    assert (rows[0]["expected_class"], rows[0]["words"], rows[0]["against"]) == ("guest-cpu; rises", "soars", "one")
    assert all(row["parameters"] == made.parameters for row in rows)


def test_a_figure_that_is_not_judged_has_no_right_class(study):
    header = WITH_CLASS.replace("against", "against,unreachable")
    (row,) = judge.validate([study("four,m,vms.db.vcpus,9,,published,predicted,±3,flat,,one,why", header=header)])
    assert (row["expected_class"], row["class"].partition("; ")[2], row["class_right"]) == ("flat", "flat", None)


WITH_FOLLOWS = HEADER.replace("unreachable", "follows,unreachable")


@pytest.mark.parametrize(
    ("accept", "side", "error_pct", "text"),
    [
        ("3 to 4", 3, -100 / 3, "3 to 4"),
        ("1 to 1.5", 1.5, 100 / 3, "1 to 1.5"),
        ("1 to 4", 1, 0, "1 to 4"),
        ("2 to 4", 2, 0, "2 to 4"),
        (">= 3", 3, -100 / 3, "≥ 3"),
        ("<= 0", 0, 200, "≤ 0"),
    ],
)
def test_a_range_is_one_row_and_its_error_is_from_the_nearer_side(study, accept, side, error_pct, text):
    (row,) = judge.validate([study(f"one,vcpus,vms.db.vcpus,some,vCPUs,published,predicted,{accept},,")])
    assert (row["published"], row["pass"], row["tolerance_text"]) == (side, not error_pct, text)
    assert row["error_pct"] == pytest.approx(error_pct)
    sides = [None, float(accept[3:])] if accept[0] == "<" else [float(accept[3:]), None] if accept[0] == ">" else None
    assert [row["low"], row["high"]] == (sides or [float(side) for side in accept.split(" to ")])
    assert row["range"]


@pytest.mark.parametrize(("published", "passed"), [(6, True), (6.1, False), (0.667, True), (0.66, False)])
def test_a_factor_is_as_far_below_as_above_and_its_error_that_of_the_figure(study, published, passed):
    (row,) = judge.validate([study(f"one,vcpus,vms.db.vcpus,{published},vCPUs,published,predicted,x3,,")])
    assert (row["pass"], row["range"], row["low"]) == (passed, False, None)
    assert row["error_pct"] == pytest.approx(100 * (2 / published - 1))


def test_the_area_the_kind_and_whether_the_run_had_settled_are_with_the_row(study):
    made = study(
        EXACT,
        "one,p99,vms.db.response_ms.p99,2,ms,published,predicted,±3,,",
        "one,mean,vms.db.response_ms.mean,2,ms,published,predicted,±3,,",
        text=f"{STUDY}area: drives\nkind: data-sheet\nspread: twice\n",
    )
    rows = judge.validate([made])
    assert [row["area"] for row in rows] == ["drives", "tails", "drives"]
    assert [row["kind"] for row in rows] == ["data-sheet", "predicted", "predicted"]
    assert made.spread == "twice"
    steady = {"one": True, "four": False}
    words = {case: {"steady": "steady" if steady[case] else "not-known", "reason": None} for case in steady}
    reports = {case: {"vms": {"db": {"vcpus": 2}}, "verdict": words[case]} for case in steady}
    answers = {case: judge.Answer(report, question="vnuma") for case, report in reports.items()}
    both = study_row("one: vms.db.vcpus / four: vms.db.vcpus")
    assert judge.judge(made, both, answers)["settled"] is False
    assert judge.judge(made, made.rows[0], answers)["settled"] is True
    answers["one"] = judge.Answer({"vms": {"db": {"vcpus": 2}}}, question="vnuma")
    assert judge.judge(made, made.rows[0], answers)["settled"] is None


def study_row(twin: str) -> Any:
    """A row of case one."""
    words = dict.fromkeys(("unreachable", "missed", "note", "words", "against", "follows"), "")
    about = {"case": "one", "metric": "m", "published": "1", "unit": "", "origin": "published", "kind": "predicted"}
    return Row(**words, **about, twin=twin, accept=Accept("±", 1.0), expected=Class())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("follows", "said"),
    [
        ("vcpus", None),
        ("one: vcpus", None),
        ("two: vcpus", "m follows 'two: vcpus'; allowed: METRIC or CASE: METRIC"),
        ("m", "m follows 'm'"),
        ("third", "m follows 'third'"),
    ],
)
def test_a_row_follows_one_that_is_there_and_follows_from_no_other(study, follows, said):
    rows = (
        "one,vcpus,vms.db.vcpus,2,vCPUs,published,predicted,±0,,,",
        "one,third,vms.db.vcpus,2,vCPUs,published,predicted,±0,vcpus,,",
        f"one,m,vms.db.vcpus,2,vCPUs,published,predicted,±0,{follows},,",
    )
    if said:
        with pytest.raises(studies.StudyError, match=said):
            study(*rows, header=WITH_FOLLOWS)
    else:
        assert study(*rows, header=WITH_FOLLOWS).rows[2].follows == follows


def judged(**of: Any) -> Any:
    """A row as `judge` gives it."""
    about = {"study": "a", "case": "one", "metric": "m", "kind": "predicted", "unit": "ms", "parameters": {}}
    figures = {"published": 10.0, "twin": 10.0, "error": 0.0, "error_pct": 0.0, "tolerance": 1.0, "tolerance_pct": 10.0}
    texts = {"published_text": "10 ms", "tolerance_text": "± 1 ms", "reason": "", "note": ""}
    classes = {"class": "memory", "expected_class": "memory", "class_right": True, "words": "", "against": ""}
    more = {"range": False, "low": None, "high": None, "settled": True, "area": "cpu", "follows": ""}
    return {"pass": True, "promised": True} | about | figures | texts | classes | more | of


def test_sums_count_predictions_that_are_judged_and_settled():
    free = {"parameters": {"a.b": "one", "a.c": "two"}}
    rows = [
        *(judged(error_pct=error, **free) for error in (10.0, -10.1, -15.0, 15.1, 25.0, -25.1)),
        judged(**free, kind="calibrated", class_right=False),
        judged(**free, kind="data-sheet"),
        judged(**free, follows="m"),
        judged(**free, range=True, low=3.0),
        judged(**free, range=True, low=3.0, high=4.0),
        judged(**free, settled=False),
        judged(**free, class_right=None, **{"pass": None}),
        judged(study="b", parameters={"x": "one"}, expected_class="", class_right=None, area="tails", settled=None),
    ]
    first, second, both = comparison.sums(rows)
    counts = {"one_sided": 1, "follows": 1, "calibrated": 1, "data_sheets": 1, "not_judged": 1, "unsettled": 1}
    close = {"within_10": 2, "within_15": 4, "within_25": 6, "class_right": 7, "class_named": 9}
    assert first == comparison.Sum("a", figures=13, predictions=9, **close, **counts, parameters=2)
    assert (second.predictions, second.within_10, second.class_named) == (1, 1, 0)
    assert (both.figures, both.predictions, both.within_10, both.parameters) == (14, 10, 3, 3)
    assert [each.over for each in (first, second)] == [False, True]
    said = render(registry.VALIDATION.table(rows))
    assert re.search(r"b +1 +1 +1 +1 +1 +0 of 0( +0)+ +1 \(over a quarter\)\n", said)
    assert "Of 10 predictions: 3 within 10 %, 5 within 15 %, 7 within 25 %; class right in 7 of 9" in said
    assert "By source" not in render(registry.VALIDATION.table(rows[:-1]))


def test_headlines_are_by_area_and_without_the_two_largest_studies():
    sizes = {"a": 3, "b": 1, "c": 2}
    rows = [judged(study=name, area=name) for name, size in sizes.items() for _ in range(size)]
    rows += [judged(study="b", area="sheets", kind="data-sheet") for _ in range(9)]
    found = {each.name: each.predictions for each in comparison.headline(rows)}
    assert found == {"all": 6, "a": 3, "b": 1, "c": 2, "without a and c": 1}
    assert "tables" not in found
    assert comparison.headline_cells(comparison.headline(rows)[0])[:3] == ["all", "6", "6 (100 %)"]


def test_what_is_no_prediction_is_in_a_table_of_its_own():
    rows = [judged(), judged(kind="calibrated"), judged(kind="data-sheet"), judged(follows="m")]
    rows.append(judged(range=True, high=3.0))
    assert [title for title, _ in comparison.grouped(rows)] == list(comparison.GROUPS.values())
    assert all(len(own) == 1 for _, own in comparison.grouped(rows))
    said = render(registry.VALIDATION.table(rows))
    assert all(f" {kind} " in said for kind in ("calibrated", "data-sheet", "follows", "one side"))
    assert "not settled" in render(registry.VALIDATION.table([judged(settled=False)]))


def test_the_table_says_which_class_was_expected_where_it_is_wrong():
    wrong = judged(expected_class="host-cpu", class_right=False)
    said = render(registry.VALIDATION.table([wrong, judged()]))
    assert said.count("memory, not host-cpu") == 1


WITH_MISSED = HEADER.replace("unreachable", "unreachable,missed")
KNOWN = "one,off,vms.db.vcpus,4,vCPUs,published,predicted,±1,,the twin has two,a note"
BETTER = "one,on,vms.db.vcpus,2,vCPUs,published,predicted,±1,,was three once,"
UNJUDGED = "one,cannot be,vms.db.vcpus,99,vCPUs,published,predicted,±1,a host has two cores,,"


def record(study: studies.Study, *lines: str) -> None:
    """Write what figures of a study were when the evidence was accepted."""
    text = "\n".join(("study,case,figure,error_pct,within", *(f"tiny,one,{line}" for line in lines)))
    (study.folder.parent / "record.csv").write_text(f"{text}\n")


def test_a_reason_explains_a_miss_and_excuses_nothing(study):
    made = study(KNOWN, UNJUDGED, BETTER, f"{EXACT},", header=WITH_MISSED)
    rows = judge.validate([made])
    assert [row["pass"] for row in rows] == [False, None, True, True]
    assert [row["promised"] for row in rows] == [False] * 4
    assert [row["reason"] for row in rows] == ["the twin has two", "a host has two cores", "was three once", ""]
    said = render(registry.VALIDATION.table(rows))
    (table,) = (each for each in view.tables_of(comparison.view(rows)) if each["id"] == "figures")
    assert [(row["verdict"]["text"], row["metric"], row["reason"]) for row in table["rows"]] == [
        ("known miss", "off", "the twin has two"),
        ("within tolerance", "on", "was three once"),
        ("within tolerance", "vcpus", ""),
        ("not judged", "cannot be", "a host has two cores"),
    ]
    assert said.startswith("2 of 4 figures within tolerance, 1 missed, 1 not judged. Of 3 predictions:")
    assert "No regressions.\n" in said
    record(made, "off,3.0,yes", "cannot be,2.0,yes", "vcpus,0.0,yes", "on,0.0,no")
    rows = judge.validate([made])
    assert [row["promised"] for row in rows] == [True, True, False, True]
    assert not judge.holds(rows)
    assert judge.holds(rows[2:])
    said = render(registry.VALIDATION.table(rows))
    assert re.search(r"one, off: 4 vCPUs published, 2 vCPUs in the twin .*: the twin has two\n", said)
    assert re.search(r"^ +regressed +one +off ", said, re.M)
    assert "2 regressions.\n" in said


def test_a_miss_without_a_reason_says_so(study):
    rows = judge.validate([study(EXACT, OFF)])
    (missed,) = comparison.view(rows)["answer"]["more"]
    assert missed.startswith("one, vcpus too far off: 4 vCPUs published, 2 vCPUs in the twin (-50%, tolerance ")
    said = comparison.explanation(next(row for row in rows if row["pass"] is False))
    assert said == "miss: one vcpus too far off: 2 vCPUs where 4 vCPUs is published; the study gives no reason"


def test_two_reasons_are_one_too_many(study):
    with pytest.raises(studies.StudyError, match="either judged or not"):
        study(UNJUDGED.replace("cores,,", "cores,it cannot,"), header=WITH_MISSED)


ACCEPTED = "[{study: tiny, case: one, figure: vcpus too far off, date: 2026-05-01, reason: a new source}]"


@pytest.mark.parametrize(
    ("line", "accepted", "code"),
    [
        (None, "[]", 0),
        ("vcpus too far off,90.0,no", "[]", 0),
        ("vcpus too far off,10.0,yes", "[]", 1),
        ("vcpus too far off,10.0,yes", ACCEPTED, 0),
        ("vcpus,0.0,yes", "[]", 0),
    ],
)
def test_only_a_regression_that_nobody_accepted_fails_the_command(study, cli, line, accepted, code):
    made = study(EXACT, OFF)
    if line:
        record(made, line)
    (made.folder.parent / "accepted.yaml").write_text(accepted)
    done = cli("validate", made.folder, "--format", "json")
    assert done.returncode == code
    assert [row["study"] for row in json.loads(done.stdout)] == ["tiny"] * 2
    assert done.stderr == "tiny: 2 cases, 2 figures\n"


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("record.csv", "study,case\ntiny,one\n", "line 2: 'figure'; needed: study, case, figure, error_pct, within"),
        ("record.csv", "study,case,figure,error_pct,within\ntiny,one,m,1.0,maybe\n", "within is yes, no, not judged"),
        (
            "accepted.yaml",
            "[{study: tiny, case: one, figure: m, date: 2026-05-01}]",
            "needed in each entry of the list",
        ),
        ("accepted.yaml", ACCEPTED.replace("a new source", "''"), "needed in each entry of the list: study, case"),
        ("accepted.yaml", "study: tiny", "needed in each entry of the list"),
    ],
)
def test_a_record_with_a_mistake_says_which(study, file, text, said):
    made = study(EXACT)
    (made.folder.parent / file).write_text(text)
    if file == "accepted.yaml":
        record(made)
    with pytest.raises(studies.StudyError, match=re.escape(said)):
        judge.validate([made])


def test_a_folder_of_ones_own_may_be_given_by_any_path(study, cli, tmp_path):
    folder = study(EXACT).folder
    for named in (".", "../tiny", folder):
        done = cli("validate", named, "./", "--format", "json", at=folder)
        assert (done.returncode, len(json.loads(done.stdout))) == (0, 1)


def test_a_folder_of_studies_is_all_of_them(study, cli):
    made = study(EXACT, OFF)
    folder = made.folder
    record(made, "vcpus too far off,1.0,yes")
    shutil.copytree(folder, folder.parent / "second")
    (folder.parent / "notes").mkdir()
    for named in ((folder.parent,), (folder, folder.parent), (folder.parent / "second", folder.parent, folder)):
        done = cli("validate", *named, "--format", "json", exits=1)
        rows = json.loads(done.stdout)
        assert sorted(row["study"] for row in rows) == ["second", "second", "tiny", "tiny"]
    assert rows[0]["study"] == "second"
    assert {file.parent.name for file in studies.files([str(folder.parent)])} >= {"second", "tiny", "monster-vm"}


def test_folders_that_are_no_studies_are_refused(study, cli, tmp_path):
    folder = study(EXACT).folder
    done = cli("validate", folder.parent.parent, exits=2)
    assert "there is no study" in done.stderr
    assert f"a study is a folder with study.yaml; studies of the project: {studies.names()[0]}" in done.stderr
    assert "there is no study 'xxx" in cli("validate", "x" * 10_000).stderr
    other = tmp_path / "tiny"
    shutil.copytree(folder, other)
    done = cli("validate", folder, other, exits=2)
    assert "two studies are called tiny" in done.stderr


def test_nothing_is_no_pass(monkeypatch, tmp_path):
    monkeypatch.setattr(library, "studies", lambda: tmp_path)
    with pytest.raises(studies.StudyError, match="there are no studies in") as caught:
        cli_validate.command(where=Where())
    assert caught.value.exit_code == 2


QUESTIONS = """
title: Tiny
source: nobody
cases:
  one: {vms.db.load: 1}
  few:
    vms.db.count: 0
    density: {vm: web, slo: response_ms.p95<1000, minimum: 1, maximum: 2}
  none:
    density: {vm: web, slo: response_ms.p95<0.001, minimum: 1, maximum: 2}
  schemes:
    durability: {schemes: [3, 17+3], annual_failure_rate: 0.405%, repair: 6.5d}
  nodes:
    vms.db.vcpus: 1
    vnuma: {vm: db}
"""


def test_a_case_may_ask_for_a_density_for_durability_or_for_virtual_numa(study):
    rows = judge.validate(
        [
            study(
                "few,acceptable VMs,answer.count,2,VMs,published,predicted,±0,,",
                "none,acceptable VMs,answer.count,none,VMs,published,predicted,<= 0,,",
                "schemes,raw,schemes.replicas-3.overhead.raw_per_usable,3,ratio,published,predicted,±0,,",
                "schemes,loss,schemes.ec-17+3.backblaze.annual_loss,7.354e-12,1/year,published,predicted,±0.007 %,,",
                "schemes,loss off,schemes.ec-17+3.backblaze.annual_loss,7.355e-12,,published,predicted,±0.007 %,,",
                "one,vcpus,vms.db.vcpus,2,vCPUs,published,calibrated,±0,,",
                "nodes,virtual nodes,virtual_nodes,1,nodes,published,predicted,±0,,",
                "nodes,vCPUs of the first,vpds.0,1,nodes,published,predicted,±0,,",
                text=QUESTIONS,
            )
        ]
    )
    assert [row["twin"] for row in rows[:3]] == [2, 0, 3]
    assert [row["twin"] for row in rows[-2:]] == [1, 1]
    assert [row["pass"] for row in rows] == [True, True, True, True, False, True, True, True]
    assert comparison.twin_text(rows[3]) == "7.354e-12 1/year"


def test_only_rows_of_simulated_cases_are_points_of_a_chart(study):
    made = study(
        "few,acceptable VMs,answer.count,2,VMs,published,predicted,±0,,",
        "one,vcpus,vms.db.vcpus,2,vCPUs,published,calibrated,±0,,",
        text=QUESTIONS,
    )
    assert [path for _, path, _ in made.published_points()] == ["vms.db.vcpus"]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("density: {vm: web, slo: response_ms.p95<1, minimum: 1}", "density has vm, slo, minimum; needed: .*maximum"),
        ("density: {vn: web, slo: response_ms.p95<1, minimum: 1, maximum: 2}", "case one: density has vn"),
        ("density: all", "density has 'all'"),
        ("durability: {schemes: [3]}", "durability has schemes; needed: .*repair"),
        ("vnuma: {guest: db}", "vnuma has guest; needed: vm"),
    ],
)
def test_a_question_with_a_mistake_says_which(study, question, said):
    text = f"title: Tiny\nsource: nobody\ncases:\n  one:\n    {question}\n"
    with pytest.raises(studies.StudyError, match=said):
        study("one,m,answer.count,2,,published,predicted,±3,,", text=text)


def test_a_question_that_the_planner_refuses_is_explained(study):
    text = QUESTIONS.replace("vm: web, slo: response_ms.p95<0.001", "vm: wab, slo: response_ms.p95<1")
    with pytest.raises(ScenarioError, match="wab"):
        judge.validate([study("none,m,answer.count,2,,published,predicted,±3,,", text=text)])


def test_a_vm_that_is_not_there_has_no_virtual_numa(study):
    text = QUESTIONS.replace("vnuma: {vm: db}", "vnuma: {vm: dp}")
    with pytest.raises(studies.StudyError, match="there is no VM 'dp'; VMs: db"):
        judge.validate([study("nodes,m,virtual_nodes,2,,published,predicted,±3,,", text=text)])


def test_a_path_that_the_twin_does_not_report_is_named(study):
    broken = study("one,m,vms.db.nothing,2,,published,predicted,±3,,")
    with pytest.raises(studies.StudyError, match=r"vms\.db\.nothing"):
        judge.validate([broken])


def test_an_unknown_study_gives_the_list_and_exit_2(cli):
    done = cli("validate", "nope", exits=2)
    assert "monster-vm" in done.stderr


def test_every_study_is_complete():
    assert "monster-vm" in studies.names()
    for name in studies.names():
        study = studies.find(name)
        assert study.rows
        assert (study.folder / "README.md").is_file()
        assert study.area in studies.AREAS
        assert all(row.unreachable or not row.unreachable.isspace() for row in study.rows)


def outcome_rows(study, likely: float = 900.0) -> list[dict]:
    """Judge two published outcomes, and the most likely one, against a twin with two."""
    made = study(
        "one,score,vms.db.outcomes.likely.throughput_units_per_s,1000,score,published,predicted,±15 %,,",
        'one,"score, outcome 1",vms.db.outcomes.nearest.throughput_units_per_s,1000,score,published,predicted,±15 %,,',
        'one,"score, outcome 2",vms.db.outcomes.nearest.throughput_units_per_s,400,score,published,calibrated,±15 %,,',
        "one,vcpus,vms.db.vcpus,2,vCPUs,published,predicted,±0,,",
        "one,response,vms.db.vcpus,flat,ratio,published,predicted,<= 3,,",
    )
    outcomes = [
        {"throughput_units_per_s": likely, "likelihood_pct": 75.0},
        {"throughput_units_per_s": 410.0, "likelihood_pct": 25.0},
    ]
    report = {"vms": {"db": {"vcpus": 2, "outcomes": outcomes}}}
    return [judge.judge(made, row, {"one": judge.Answer(report)}) for row in made.rows]


def test_a_figure_of_one_of_several_outcomes_says_how_likely_it_is(study):
    rows = outcome_rows(study)
    assert [row["twin"] for row in rows] == [900.0, 900.0, 410.0, 2, 2]
    assert [row.get("likelihood_pct") for row in rows] == [75.0, 75.0, 25.0, None, None]
    assert [row["range"] for row in rows] == [False, False, False, False, True]
    assert all(row["pass"] for row in rows)


def test_the_command_writes_the_page(study, monkeypatch, capsys, tmp_path):
    folder = study("one,vcpus,vms.db.vcpus,2,vCPUs,published,predicted,±0,,").folder.parent
    monkeypatch.setattr(library, "studies", lambda: folder)
    assert cli_validate.command(["tiny"], where=Where(), report=tmp_path / "page.html") == 0
    assert "wrote" in capsys.readouterr().err
    page = data((tmp_path / "page.html").read_text())
    assert page["kind"] == "validation"
    assert [(row["study"], row["published"], row["pass"]) for row in page["document"]] == [("tiny", 2, True)]
    assert page["view"]["answer"]["text"].startswith("1 of 1 figures within tolerance. Of 1 predictions: ")
    assert page["view"]["sections"][0]["text"].startswith("Source: nobody.")


def test_a_page_that_cannot_be_written_is_refused_before_anything_runs(cli, tmp_path):
    done = cli("validate", "--report", "missing/page.html", exits=2)
    assert "missing" in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_study_of_the_guide_is_one(cli, tmp_path):
    guide = (ROOT / "docs" / "guides" / "studies.md").read_text()
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, form in (("study.yaml", "yaml"), ("published.csv", "csv")):
        (folder / name).write_text(re.findall(rf"```{form}\n(.*?)```", guide, re.DOTALL)[0])
    overrides = "duration: 4 s\n  warmup: 1 s"
    scenario = (ROOT / "scenarios" / "small-esxi.yaml").read_text()
    (folder / "scenario.yaml").write_text(re.sub(r"duration: .*\n  warmup: .*", overrides, scenario))
    done = cli("validate", "mine", "--format", "json", exits=0)
    assert [row["promised"] for row in json.loads(done.stdout)] == [False] * 3
