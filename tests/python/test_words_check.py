"""The linter of words finds what it is for, and leaves code alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import check_words

RULES = """
swap:
  '\\bin\\s+place\\s+of\\b': instead of
  '\\bmachines?\\b': VM
"""
CASES = [
    ("a.md", "One in place of two.\n", ["a.md:1: 'in place of': write instead of"]),
    ("a.md", "# Title\n\nOne in\nplace of two.\n", ["a.md:3: 'in place of': write instead of"]),
    ("a.md", "```\none in place of two\n```\n", []),
    ("a.md", "Write `in place of` here.\n", []),
    ("a.py", '"""One in place of two."""\n', ["a.py:1: 'in place of': write instead of"]),
    ("a.py", "x = 1  # in place of\n", []),
    ("a.py", 'x = f"{1} in place of {2}"\n', ["a.py:1: 'in place of': write instead of"]),
    ("a.py", 'KEYS = {"machine": 1}\n', []),
    ("lab/a.py", '"""A machine."""\n', []),
    ("a.rs", "/// One in place of two.\nfn f() {}\n", ["a.rs:1: 'in place of': write instead of"]),
    ("a.rs", "// one in place of two\n", []),
    ("a.ts", "/** One in place of two. */\n", ["a.ts:1: 'in place of': write instead of"]),
    ("a.yaml", "x: 1 # one in place of two\n", ["a.yaml:1: 'in place of': write instead of"]),
]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with rules, in git."""
    (tmp_path / "docs").mkdir()
    (tmp_path / check_words.RULES).write_text(RULES)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


def write(tree: Path, name: str, text: str) -> None:
    (tree / name).parent.mkdir(exist_ok=True)
    (tree / name).write_text(text)
    subprocess.run(["git", "add", "--all"], cwd=tree, check=True)


def run(tree: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """What the linter prints; it fails if it prints anything."""
    code = check_words.main(arguments, tree)
    lines = capsys.readouterr().out.splitlines()
    assert code == bool(lines)
    return lines


@pytest.mark.parametrize(("name", "text", "found"), CASES)
def test_words_are_found_in_texts_and_not_in_code(tree, capsys, name, text, found):
    write(tree, name, text)
    assert run(tree, capsys) == found


def test_an_allowed_word_passes_until_it_is_gone(tree, capsys):
    (tree / check_words.RULES).write_text(f"{RULES}allow:\n- {{file: a.md, text: in place of, reason: a title}}\n")
    write(tree, "a.md", "One in place of two.\n")
    assert run(tree, capsys) == []
    write(tree, "a.md", "One instead of two.\n")
    assert run(tree, capsys) == ["docs/words.yml: a.md no longer has 'in place of': remove its entry under allow"]
    assert run(tree, capsys, "a.md") == []


HABITS = [
    ("a.md", "# What is slow\n", "title starts with What or How"),
    ("a.md", "It takes 5 % of it.\n", "space before %"),
    ("a.md", f"It{' really' * 24} works.\n", "sentence of over 25 words"),
    ("a.py", '"""Whether it works."""\n', "docstring starts with What, Whether, Those or That"),
    ("a.py", 'typer.Option(help="Tell the answer.")\n', "starts with Say, Tell, Let, Give, Have or Take"),
    ("a.py", 'Option("hosts that may fail")\n', "may in help"),
    ("a.py", "MOST_ROWS = 3\n", "constant MOST_"),
]


@pytest.mark.parametrize(("name", "text", "habit"), HABITS)
def test_a_habit_may_become_rarer_and_never_more_frequent(tree, capsys, name, text, habit):
    write(tree, name, text)
    assert run(tree, capsys, "--write") == []
    assert check_words.habits(tree / name) == {habit: 1}
    write(tree, f"b{name}", text)
    assert run(tree, capsys) == [f"b{name}: {habit}: 1, was 0"]
    write(tree, f"b{name}", "")
    write(tree, name, "")
    assert run(tree, capsys, "--write") == []
    write(tree, name, text)
    assert run(tree, capsys, "--write") == [f"{name}: {habit}: 1, was 0"]


def test_a_short_sentence_in_code_or_in_a_list_is_no_long_one(tree):
    words = "Word" + " word" * 20
    write(tree, "a.md", f"{words}.\n{words}.\n\n- {words}\n- {words}\n\n| {words} | {words} |\n\n`{words * 2}`\n")
    assert check_words.habits(tree / "a.md") == {}
