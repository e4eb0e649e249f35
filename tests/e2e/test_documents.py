"""What the documents show is what commands print: blocks of a command and its output are run and compared.

Lines of a block stand in the order in which they are printed; it may leave lines out. Comments before a block, which
readers do not see, say what differs from that: `<!-- prints: COMMAND -->`: the block is output only;
`<!-- file: NAME -->`: the block is a file that commands of any page name; `<!-- slow: WHY -->`: it takes more than 5 s
of CPU, and is run with SLOW=1; `<!-- by hand: WHY -->`: it cannot be run here.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.conftest import ROOT

PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
MARK = r"^<!-- (file|prints|slow|by hand): (.*?) -->\n+"
BLOCK = re.compile(rf"(?:{MARK})?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*[\\|]\n)*.*)\n?", re.MULTILINE)
PREPARES = re.compile(r"^(?:\.venv/bin/)?hypertwin (examples .* -o .*)$", re.MULTILINE)


@dataclass(frozen=True)
class Shown:
    """A command, and what the page says that it prints; or a file, which is written."""

    line: int
    mark: str
    why: str
    command: str
    output: str


def shown(text: str) -> Iterator[Shown]:
    """All of a page, in its order."""
    for block in BLOCK.finditer(text):
        mark, why, _, body = (part or "" for part in block.groups())
        line = text.count("\n", 0, block.start()) + 1
        if mark in ("file", "prints"):
            yield Shown(line, mark, "", why, body)
            continue
        for command in PREPARES.findall(body):
            yield Shown(line, "", "", f"hypertwin {command}", "")
        parts = COMMAND.split(body)[1:]
        for command, output in zip(parts[::2], parts[1::2], strict=True):
            yield Shown(line, mark, why, re.sub(r"\s*\\\n\s*", " ", command).removeprefix(".venv/bin/"), output)


def missing(lines: Sequence[str], printed: str) -> list[str]:
    """The lines that are not printed, or not in this order."""
    rest, at, lost = printed.splitlines(), 0, []
    for line in lines:
        if line in rest[at:]:
            at = rest.index(line, at) + 1
        elif line.strip() not in ("", "..."):
            lost.append(line)
    return lost


def in_a_shell(command: str, at: Path) -> subprocess.CompletedProcess[str]:
    """A command with pipes or a file for what it prints."""
    program = f"{shlex.quote(sys.executable)} -c 'from hypertwin.cli.main import main; main()'"
    start = f'hypertwin() {{ {program} "$@"; }}'
    return subprocess.run(["bash", "-c", f"{start}\n{command}"], cwd=at, capture_output=True, text=True, check=False)


ALL = {page: list(shown(page.read_text(encoding="utf-8"))) for page in PAGES}
FILES = {each.command: each.output for all_ in ALL.values() for each in all_ if each.mark == "file"}
RUN = [page for page, all_ in ALL.items() if any(each.output and each.mark in ("", "prints") for each in all_)]


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    """Where commands leave their runs for others."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_commands_print_what_is_shown(page: Path, cli, tmp_path, cache, monkeypatch):
    monkeypatch.setenv("HYPERTWIN_CACHE", str(cache))
    for folder in ("scenarios", "studies"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    wrong = []
    for each in ALL[page]:
        if each.mark in ("file", "by hand") or (each.mark == "slow" and not os.environ.get("SLOW")):
            continue
        assert each.command.startswith("hypertwin "), f"{page.name}:{each.line}: mark what is not run: {each.command}"
        shell = re.search(r"[|>]\s", each.command)
        done = in_a_shell(each.command, tmp_path) if shell else cli(*shlex.split(each.command)[1:])
        lost = missing(each.output.splitlines(), done.stdout)
        wrong += [f"{page.name}:{each.line}: {line}" for line in lost]
        assert done.returncode in (0, 1) and not (lost and done.returncode), f"{each.command}\n{done.stderr}"
    assert not wrong, "\n".join(["not printed, or elsewhere:", *wrong])


def test_what_is_not_run_says_why(record_property):
    left_out = [(page, each) for page, all_ in ALL.items() for each in all_ if each.mark in ("slow", "by hand")]
    assert all(each.why for _, each in left_out)
    for page, each in left_out:
        record_property("not run", f"{page.name}:{each.line} {each.mark}: {each.why}")
