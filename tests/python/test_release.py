"""Refusals of `make release`, and the changelog that it reads. Nothing is built here."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from tests.conftest import ROOT

from hypertwin import naming

sys.path.insert(0, str(ROOT / "scripts"))
import release

TODAY = date(2026, 12, 1)
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A committed tree that can be released."""
    (tmp_path / "Cargo.toml").write_text('[workspace.package]\nversion = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.0 - 2026-12-01\n\n## 1.1.0 - 2026-11-01\n")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(at: Path, *arguments: str) -> None:
    name = ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *name, *arguments], cwd=at, check=True, capture_output=True)


def commit(at: Path) -> None:
    git(at, "add", "--all")
    git(at, "commit", "--quiet", "--no-verify", "--message", "Change")


def test_a_clean_tree_with_its_dated_section_is_released(tree):
    assert not [*release.refusals(tree, TODAY)]


@pytest.mark.parametrize("head", ["1.2.0 (unreleased)", "1.1.0 - 2026-12-01", "1.2.0 - soon"])
def test_the_top_section_names_this_version_and_a_date(tree, head):
    (tree / "CHANGELOG.md").write_text(f"# Changelog\n\n## {head}\n")
    commit(tree)
    assert [*release.refusals(tree, TODAY)] == [f"CHANGELOG.md begins with `{head}`: write `## 1.2.0 - 2026-12-01`"]


def test_uncommitted_changes_are_refused(tree):
    (tree / "new.py").write_text("")
    assert [*release.refusals(tree, TODAY)] == ["the tree has 1 uncommitted changes: commit or remove them"]


def test_a_version_is_released_once(tree):
    git(tree, "tag", "v1.2.0")
    assert [*release.refusals(tree, TODAY)] == ["the tag v1.2.0 exists: raise the version in Cargo.toml"]


def test_nothing_runs_after_a_refusal(monkeypatch, capsys):
    monkeypatch.setattr(release, "refusals", lambda root, today: iter(["no"]))
    monkeypatch.setattr(release, "STEPS", (("false",),))
    assert release.main() == 1
    assert capsys.readouterr().err == "error: no\n"


def test_the_changelog_has_a_section_for_this_version_first():
    heads = re.findall(r"^## (\S+) (?:- \d{4}-\d\d-\d\d|\(unreleased\))$", CHANGELOG, re.MULTILINE)
    assert len(heads) == len(re.findall(r"^## ", CHANGELOG, re.MULTILINE))
    assert heads[0] == release.version(ROOT)
    assert len(CHANGELOG.split()) < 3000


def test_the_changelog_names_every_old_name_with_its_new_one():
    keys = {(old.rpartition(".")[2], new) for names in naming.RESULT_KEYS.values() for old, new in names.items()}
    renamed = {*naming.KEYS.items(), *naming.OPTIONS.items(), *naming.VALUES.items(), *naming.FUNCTIONS.items(), *keys}
    for old, new in renamed:
        assert f"{old}`" in CHANGELOG, old
        assert f"`{new}`" in CHANGELOG or "degraded" in old, new
