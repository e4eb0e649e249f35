"""`hypertwin validate`, with studies small enough to run in a moment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import TINY

from hypertwin import validation

STUDY = """
title: Tiny
source: nobody
cases:
  one: {vms.db.load: 1}
  four: {vms.db.load: 4}
"""
HEADER = "case,metric,twin,published,unit,origin,kind,accept,unreachable,note\n"
COLUMNS = {"study", "case", "metric", "published", "twin", "unit", "error_pct", "kind", "tolerance_pct", "pass"}


@pytest.fixture
def study(tmp_path: Path):
    """Make a study of the given rows."""

    def make(*rows: str) -> validation.Study:
        folder = tmp_path / "studies" / "tiny"
        folder.mkdir(parents=True)
        (folder / "scenario.yaml").write_text(TINY)
        (folder / "study.yaml").write_text(STUDY)
        (folder / "published.csv").write_text(HEADER + "\n".join(rows) + "\n")
        return validation.find("tiny", folder.parent)

    return make


def test_rows_have_the_shape_of_the_contract_and_are_judged(study):
    rows = validation.validate(
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
    assert all(set(row) >= COLUMNS for row in rows)
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
        ("one,m,vms.db.vcpus,2,,published,predicted,about 3,,", "accept"),
        ("one,m,vms.db.vcpus,2,,published,guessed,±3,,", "kind"),
        ("one,m,vms.db.vcpus,flat,,published,predicted,±3,,", "needs a number"),
        ("two,m,vms.db.vcpus,2,,published,predicted,±3,,", "no case 'two'"),
        ("one,m,two: vms.db.vcpus,2,,published,predicted,±3,,", "no case 'two'"),
    ],
)
def test_a_study_with_a_mistake_says_which(study, row, said):
    with pytest.raises(validation.StudyError, match=said):
        study(row)


def test_a_path_that_the_twin_does_not_report_is_named(study):
    broken = study("one,m,vms.db.nothing,2,,published,predicted,±3,,")
    with pytest.raises(validation.StudyError, match=r"vms\.db\.nothing"):
        validation.validate([broken])


def test_an_unknown_study_gives_the_list_and_exit_2(cli):
    done = cli("validate", "nope")
    assert (done.returncode, done.stdout) == (2, "")
    assert "monster-vm" in done.stderr


def test_every_study_is_complete():
    assert "monster-vm" in validation.names()
    for name in validation.names():
        study = validation.find(name)
        assert study.rows
        assert (study.folder / "README.md").is_file()
        assert {row.kind for row in study.rows} == {"calibrated", "predicted"}
        assert all(row.unreachable or not row.unreachable.isspace() for row in study.rows)
