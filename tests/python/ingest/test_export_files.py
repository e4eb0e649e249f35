"""Exports in several files: which are read, in what order, and how many."""

from __future__ import annotations

import pytest

from hypertwin.errors import SourceError
from hypertwin.ingest import export_files


def test_files_of_a_folder_in_order_without_links_and_others(tmp_path):
    for name in ("b.json", "a.JSON", "c.csv", "readme.txt"):
        (tmp_path / name).write_text(name)
    (tmp_path / "passwd.json").symlink_to("/etc/passwd")
    (tmp_path / "folder.json").mkdir()
    assert [path.name for path in export_files.below(tmp_path)] == ["a.JSON", "b.json"]
    assert export_files.below(tmp_path / "missing") == []
    given = [str(tmp_path / "c.csv"), str(tmp_path)]
    found = [(path.name, data) for path, data in export_files.contents(given, "again", (".json",))]
    assert found == [("c.csv", b"c.csv"), ("a.JSON", b"a.JSON"), ("b.json", b"b.json")]
    assert export_files.recognised(tmp_path, lambda head: head == b"b.json")
    assert export_files.recognised(tmp_path, lambda head: head == b"c.csv") == ()


@pytest.mark.parametrize(("limit", "value"), [("MOST_FILES", 1), ("MOST_BYTES", 5), ("MOST_ALL_BYTES", 10)])
def test_too_much(tmp_path, monkeypatch, limit, value):
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(export_files, limit, value)
    with pytest.raises(SourceError, match="source-too-large"):
        list(export_files.contents([str(tmp_path)], "export less"))


@pytest.mark.parametrize(
    ("sources", "expected"), [(["/x/a"], "a"), (["a", "b"], "a, b"), (["."], "."), (list("abcdef"), "a, b, c, d, ...")]
)
def test_one_name_for_all(sources, expected):
    assert export_files.shown(sources) == expected
