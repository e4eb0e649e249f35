"""The committed table of all figures: what it says, and how it is found to be of other sources."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ROOT, TINY

sys.path.insert(0, str(ROOT / "scripts"))

import evidence
from hypertwin.studies import judge
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
    text = evidence.page(judge.validate([study]), [study], "0.1.0+abc")
    assert "Core `0.1.0+abc`" in text
    assert (
        f"| [tiny](../studies/tiny) | 3 | 1 | 1 of 1 | 1 | 1 | 1 | 1 | 1 (over a quarter) | `{_hash(study)}` |" in text
    )
    assert "- `workloads.tx.cpu.mean`: the first figure\n" in text
    assert "| one | vcpus | calibrated | 2 vCPUs | 2 vCPUs | +0.0 % |" in text
    assert "| four | a \\| b | predicted | 4 vCPUs | 2 vCPUs | -50.0 % |" in text
    assert "- miss: four a \\| b: only two\n- n/a: four far: too many\n" in text
    assert all(line.count(" | ") in (7, 9) for line in text.splitlines() if line.startswith("| "))


def _hash(study: studies.Study) -> str:
    return evidence.hashes([study])["tiny"]


def found(text: str, *of: studies.Study, core: str = "0.1.0+abc", **more: str) -> list[str]:
    return list(evidence.stale(text, core, evidence.hashes(of) | more))


def test_a_page_is_stale_when_the_core_or_a_study_is_another_one(study):
    text = evidence.page(judge.validate([study]), [study], "0.1.0+abc")
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
    monkeypatch.setattr(sys, "argv", ["evidence.py", option])
    assert evidence.main() == code
    assert capsys.readouterr().out == f"{said}/evidence.md is stale: there is none; run `make evidence`\n"


def test_the_page_is_written_once_every_study_has_run(monkeypatch, capsys, tmp_path, study):
    page = tmp_path / "evidence.md"
    monkeypatch.setattr(evidence, "PAGE", page)
    monkeypatch.setattr(evidence, "chosen", lambda _named: [studies.read(study.folder)])
    monkeypatch.setattr(sys, "argv", ["evidence.py"])
    assert evidence.main() == 0
    assert "1 of 3 figures within tolerance" in capsys.readouterr().out
    first = page.read_text()
    monkeypatch.setattr(sys, "argv", ["evidence.py", "--strict"])
    assert (evidence.main(), capsys.readouterr().out) == (0, "")
    (study.folder / "published.csv").write_text(FIGURES.replace("only two", ""))
    monkeypatch.setattr(sys, "argv", ["evidence.py"])
    assert evidence.main() == 1, "a promised figure is missed"
    assert "tiny: FAIL: four a | b: 2 vCPUs where 4" in capsys.readouterr().out
    assert page.read_text() != first
    (study.folder / "published.csv").write_text(FIGURES.replace("±1,,only two", "±2,,only two"))
    assert evidence.main() == 1, "a known miss is reached, and the study does not say so"
    assert "tiny: pass: four a | b: 2 vCPUs where 4 vCPUs is published, though" in capsys.readouterr().out


def test_another_option_is_refused():
    done: Any = subprocess.run(
        [sys.executable, evidence.__file__, "--stict"], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage" in done.stderr
