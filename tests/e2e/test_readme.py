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
PACKAGE = ROOT / "python" / "hypertwin"
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)

ELSEWHERE = {
    "make demo": "by hand, and the study in tests/e2e/test_studies.py",
    "make test": "this is part of it",
    "make wheel": "tests/e2e/test_wheel.py",
    "pip install": "tests/e2e/test_wheel.py",
    "hypertwin lab": "takes minutes, rights and QEMU: tests/e2e/test_lab_vm.py, tests/python/lab",
}
"""How commands begin that are not run here, and where they are tested."""

SHORTER = {
    "hypertwin validate": ["cpu-limit-example"],
    "hypertwin density": ["--duration", "2s", "--replications", "2", "--max", "16"],
    "hypertwin calibrate": ["--duration", "2s", "--replications", "2", "--evaluations", "8"],
}
"""Commands that take a minute, and what makes them shorter here."""


def commands() -> list[str]:
    """Every command in the order of the text."""
    lines = [line for kind, block in BLOCKS if not kind for line in block.splitlines()]
    found = [line.split("  ")[0].removeprefix("$ ") for line in lines if re.match(r"(\$ )?(hypertwin|make|pip) ", line)]
    assert len(found) > 15
    return found


@pytest.fixture
def inputs(tmp_path: Path, cli) -> None:
    """The files of others that the commands name."""
    shutil.copy(ROOT / "tests/data/rvtools/rvtools_example1.xlsx", tmp_path / "RVTools_export_all.xlsx")
    assert cli("init", "recorded.yaml", "--hosts", "2").returncode == 0
    recorded = cli("simulate", "recorded.yaml", "--format", "esxtop", "--out", ".", "--set", "run.duration=60 s")
    assert recorded.returncode == 0, recorded.stderr
    for number in (1, 2):
        (tmp_path / f"host-{number}.csv").rename(tmp_path / f"esx{number}.csv")


def test_every_command_runs_in_this_order(cli, tmp_path, inputs):
    for command in commands():
        if any(command.startswith(start) for start in ELSEWHERE):
            continue
        shorter = [option for start, more in SHORTER.items() if command.startswith(start) for option in more]
        done = cli(*shlex.split(command)[1:], *shorter)
        assert done.returncode == 0, (command, done.stderr)
        report = re.search(r"--report (\S+)", command)
        assert report is None or (tmp_path / report[1]).is_file()
    (python,) = [block for kind, block in BLOCKS if kind == "python"]
    done = subprocess.run([sys.executable, "-c", python], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("p99") == 3


def test_it_reads_the_same_on_a_page_without_the_tree():
    assert not re.findall(r"\]\((?!https?://)", TEXT), "relative links and images are dead on an index page"
    named = re.findall(r"`([\w.-]+/[\w./-]*|[\w-]+\.md)`", TEXT)
    assert "docs/guides/getting-started.md" in named
    made = {".venv/bin/hypertwin"}
    assert not [path for path in {*named} - made if not any((top / path).exists() for top in (ROOT, PACKAGE))]


def test_the_two_commands_stay():
    for name in ("demo", "test"):
        assert re.search(rf"^make {name} ", TEXT, re.MULTILINE)
