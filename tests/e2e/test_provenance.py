"""What a page says of how it was made."""

from __future__ import annotations

import hashlib
from pathlib import Path

from hypertwin.cli import provenance


def test_large_and_binary_files_have_only_their_hash(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "LARGEST_TEXT", 100)
    monkeypatch.setattr(provenance, "MOST_TEXT", 150)
    for name, content in (("a", b"x" * 100), ("b", b"x" * 101), ("c", b"\xff\xfe"), ("d", b"y" * 50), ("e", b"z")):
        (tmp_path / name).write_bytes(content)
    named = [*(tmp_path / name for name in "abcde"), tmp_path, tmp_path / "none", tmp_path / "a"]
    listed = list(provenance.read(named))
    assert [Path(file["name"]).name for file in listed] == list("abcde")
    assert [file["text"] is None for file in listed] == [False, True, True, False, True]
    assert listed[1]["sha256"] == hashlib.sha256(b"x" * 101).hexdigest()
