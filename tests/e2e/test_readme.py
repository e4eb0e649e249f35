"""What README says is true: its commands run in the order in which they stand. What they print: test_documents.py."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)

ELSEWHERE = {
    "make demo": "by hand, and the study in tests/e2e/test_studies.py",
    "make test": "this is part of it",
    "make wheel": "tests/e2e/test_wheel.py",
    "pip install": "tests/e2e/test_wheel.py",
}
"""How commands begin that are not run here, and where they are tested."""


def commands() -> list[str]:
    """Every command in the order of the text."""
    lines = [line for kind, block in BLOCKS if not kind for line in block.splitlines()]
    found = [line.split("  ")[0].removeprefix("$ ") for line in lines if re.match(r"(\$ )?(hypertwin|make|pip) ", line)]
    assert len([command for command in found if command.startswith("hypertwin ")]) >= 8
    return found


@pytest.fixture
def inputs(tmp_path: Path, cli) -> None:
    """The files of others that the commands name."""
    shutil.copy(ROOT / "tests/data/rvtools/rvtools_example1.xlsx", tmp_path / "RVTools_export_all.xlsx")
    cli("init", "recorded.yaml", "--hosts", "2", exits=0)
    cli("simulate", "recorded.yaml", "--format", "esxtop", "--out", ".", "--set", "run.duration=60 s", exits=0)
    (tmp_path / "host-1.csv").rename(tmp_path / "esxtop.csv")


def test_every_command_runs_in_this_order(cli, tmp_path, inputs):
    for command in commands():
        if any(command.startswith(start) for start in ELSEWHERE):
            continue
        done = cli(*shlex.split(command)[1:], exits=0)
        report = re.search(r"--report (\S+)", command)
        assert report is None or (tmp_path / report[1]).is_file()
    (python,) = [block for kind, block in BLOCKS if kind == "python"]
    done = subprocess.run([sys.executable, "-c", python], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("p99") == 3


def test_its_table_of_trust_has_the_figures_of_the_evidence():
    evidence = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8").replace(" %", "%")
    summary = re.search(r"^(\d+) of (\d+) figures within tolerance, (\d+) missed", evidence, re.MULTILINE)
    assert summary is not None
    said = "Of {1} published figures, {0} are within tolerance, {2} are missed".format(*summary.groups())
    assert said in " ".join(TEXT.split())
    rows = {row[0]: row[1:] for row in cells(evidence) if len(row) == 6}
    shown = {re.split(r"\W", row[0])[0].lower(): row[1:] for row in cells(TEXT) if len(row) == 5 and row[1].isdigit()}
    areas = {"i": "path", "migrations": "movement"}
    assert len(shown) == 8
    for name, figures in shown.items():
        number, within_10, _, within_25, right = rows[areas.get(name, name)]
        assert figures == [number, within_10, within_25, right], name


def cells(text: str) -> list[list[str]]:
    """The rows of all tables."""
    return [[cell.strip() for cell in row.split("|")] for row in re.findall(r"^\| (.*) \|$", text, re.MULTILINE)]


def test_the_two_commands_stay():
    for name in ("demo", "test"):
        assert re.search(rf"^make {name} ", TEXT, re.MULTILINE)
