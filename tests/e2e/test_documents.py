"""What the documents show is what commands print: blocks of a command and its output are run and compared.

Lines of a block stand in the order in which they are printed; it may leave lines out. Comments before a block, which
readers do not see, say what differs from that: `<!-- prints: COMMAND -->`: the block is output only;
`<!-- file: NAME -->`: the block is a file that commands of any page name; `<!-- slow: WHY -->`: it takes more than 5 s
of CPU, and is run with SLOW=1; `<!-- by hand: WHY -->`: it cannot be run here. `make bless` writes what is printed into
the blocks, for review; it fails where no printed line is like a shown one.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from operator import eq
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ROOT

PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
MARK = r"^<!-- (file|prints|slow|by hand): (.*?) -->\n+"
BLOCK = re.compile(rf"(?:{MARK})?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*[\\|]\n)*.*)\n?", re.MULTILINE)
PREPARES = re.compile(r"^(?:\.venv/bin/)?hypertwin (examples .* -o .*)$", re.MULTILINE)
FIGURE = re.compile(r"[\d.,]+|[\s─]+")
"""What may change in a line that stays the same line: its numbers, and the space that aligns them."""
ALIKE = 0.6
"""Two lines are one line with other words from this share of equal characters; below it, only people can tell."""


@dataclass(frozen=True)
class Shown:
    """A command, and what the page says that it prints, which starts `at` there; or a file, which is written."""

    line: int
    mark: str
    why: str
    command: str
    output: str
    at: int


def shown(text: str) -> Iterator[Shown]:
    """All of a page, in its order."""
    for block in BLOCK.finditer(text):
        mark, why, _, body = (part or "" for part in block.groups())
        line, at = text.count("\n", 0, block.start()) + 1, block.start(4)
        if mark in ("file", "prints"):
            yield Shown(line, mark, "", why, body, at)
            continue
        for command in PREPARES.findall(body):
            yield Shown(line, "", "", f"hypertwin {command}", "", at)
        commands = list(COMMAND.finditer(body))
        for found, following in zip_longest(commands, commands[1:]):
            command = re.sub(r"\s*\\\n\s*", " ", found[1]).removeprefix(".venv/bin/")
            yield Shown(line, mark, why, command, body[found.end() : following and following.start()], at + found.end())


def missing(lines: Sequence[str], printed: str) -> list[str]:
    """The lines that are not printed, or not in this order."""
    rest, at, lost = printed.splitlines(), 0, []
    for line in lines:
        if line in rest[at:]:
            at = rest.index(line, at) + 1
        elif line.strip() not in ("", "..."):
            lost.append(line)
    return lost


def likeness(line: str, other: str) -> float:
    """1 for the same line, up to 0.9 for one with other figures, the more of them are the same; 0 for another line."""
    if line == other:
        return 1.0
    ratio = SequenceMatcher(None, FIGURE.sub("#", line), FIGURE.sub("#", other), autojunk=False).ratio()
    words, others = line.split(), other.split()
    same = sum(map(eq, words, others)) / max(len(words), len(others), 1)
    return 0.8 * ratio + 0.1 * same if ratio >= ALIKE else 0.0


def renewed(output: str, printed: str) -> str:
    """What a page shows, each line replaced by the printed one that is most like it; all of them in order."""
    lines, rest = output.splitlines(), printed.splitlines()
    after: list[tuple[float, Any]] = [(0.0, ())] * (len(rest) + 1)  # the sum from each printed line on, and its pairs
    for index in reversed(range(len(lines))):
        if lines[index].strip() in ("", "..."):
            continue
        best = after.copy()
        for at in reversed(range(len(rest))):
            like = likeness(lines[index], rest[at])
            pair = (like + after[at + 1][0], (index, rest[at], after[at + 1][1])) if like else (0.0, ())
            best[at] = max(pair, best[at + 1], after[at], key=lambda each: each[0])
        after = best
    pairs = after[0][1]
    while pairs:
        index, lines[index], pairs = pairs
    return "".join(f"{line}\n" for line in lines)


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


def compared(page: Path, cli: Callable[..., subprocess.CompletedProcess[str]], at: Path) -> list[str]:
    """The lines that a page shows and its commands do not print; blessed, those that nothing printed can replace."""
    text, wrong, edits = page.read_text(encoding="utf-8"), [], []
    for each in shown(text):
        if each.mark in ("file", "by hand") or (each.mark == "slow" and not os.environ.get("SLOW")):
            continue
        assert each.command.startswith("hypertwin "), f"{page.name}:{each.line}: mark what is not run: {each.command}"
        shell = re.search(r"[|>]\s", each.command)
        done = in_a_shell(each.command, at) if shell else cli(*shlex.split(each.command)[1:])
        lost = missing(each.output.splitlines(), done.stdout)
        if lost and os.environ.get("HYPERTWIN_BLESS"):
            edits.append((each, renewed(each.output, done.stdout)))
            lost = missing(edits[-1][1].splitlines(), done.stdout)
        wrong += [f"{page.name}:{each.line}: {line}" for line in lost]
        assert done.returncode in (0, 1) and not (lost and done.returncode), f"{each.command}\n{done.stderr}"
    for each, output in reversed(edits):
        text = text[: each.at] + output + text[each.at + len(each.output) :]
    if edits:
        page.write_text(text, encoding="utf-8")
    return wrong


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_commands_print_what_is_shown(page: Path, cli, tmp_path, cache, monkeypatch):
    monkeypatch.setenv("HYPERTWIN_CACHE", str(cache))
    for folder in ("scenarios", "studies"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    wrong = compared(page, cli, tmp_path)
    assert not wrong, "\n".join(["not printed, or elsewhere:", *wrong])


PAGE = """Two commands, and what is by hand.

```
$ hypertwin capacity \\
    a.yaml
3 VMs fit.
...
  vm   CPU %
  db       7
  web  10000
$ hypertwin diagnose b.csv
gone: nothing prints this
```

<!-- prints: hypertwin size -->
```
16 vCPUs
```

<!-- by hand: WHY -->
```
$ hypertwin import
7 hosts
```
"""
PRINTED = {
    "capacity a.yaml": "14 VMs fit.\nnot shown\n  vm   CPU %\n  app      5\n  db      12\n  web      9\n",
    "diagnose b.csv": "no problem\n",
    "size": "24 vCPUs\n",
}
BLESSED = (
    PAGE.replace("3 VMs", "14 VMs").replace("db       7", "db      12").replace("web  10000", "web      9")
).replace("16 vCPUs", "24 vCPUs")


@pytest.mark.parametrize(("bless", "wrong"), [("", 5), ("1", 1)])
def test_bless_replaces_the_lines_that_changed(bless, wrong, tmp_path, monkeypatch):
    def printed(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, 0, PRINTED[" ".join(words)], "")

    monkeypatch.setenv("HYPERTWIN_BLESS", bless)
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    lost = compared(page, printed, tmp_path)
    assert len(lost) == wrong and "page.md:3: gone: nothing prints this" in lost
    assert page.read_text() == (BLESSED if bless else PAGE)


def test_bless_keeps_the_rows_that_a_page_shows():
    printed = "depth  VM  IOPS\n    1  db  8,566\n    2  db  9,992\n   32  db  40,530\n   64  db  40,530\n"
    page = "depth  VM  IOPS\n    1  db  9,992\n...\n   64  db  40,529\n"
    assert renewed(page, printed) == "depth  VM  IOPS\n    1  db  8,566\n...\n   64  db  40,530\n"


def test_what_is_not_run_says_why(record_property):
    left_out = [(page, each) for page, all_ in ALL.items() for each in all_ if each.mark in ("slow", "by hand")]
    assert all(each.why for _, each in left_out)
    for page, each in left_out:
        record_property("not run", f"{page.name}:{each.line} {each.mark}: {each.why}")
