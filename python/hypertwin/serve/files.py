"""The served folder: its scenarios and exports, and the names that are allowed in it.

A name is one file directly in the folder. A name is never a path, and no link leads out of the folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypertwin import scenario
from hypertwin.errors import HypertwinError, ScenarioError, printable, short
from hypertwin.files import reading, writing, yaml_file
from hypertwin.ingest import outside, sources
from hypertwin.serve.refusal import RefusedError

MAX_NAME = 128
"""Maximum characters of a file name."""
MAX_LISTED = 500
"""Maximum number of files in the list."""
ENDINGS = (".yaml", ".yml")
"""File name extensions of scenarios."""

_NEW = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.ya?ml\Z")
_SECTION = re.compile(rb"""^(?:["']?(?:hosts|workloads|vms)["']?\s*:|\s*\{)""", re.MULTILINE)
"""Start of a scenario: a section at the start of a line, or JSON."""


@dataclass(frozen=True)
class Text:
    """Text of a scenario, with its hash."""

    text: str
    sha256: str


@dataclass
class Folder:
    """A folder with scenarios and exports."""

    path: Path
    only: str | None = None
    """Name of the only file to show, or None for all."""
    is_read_only: bool = False
    _seen: dict[str, tuple[tuple[int, int], str | None]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def listed(self) -> list[dict[str, Any]]:
        """Return scenarios and exports by name, with size and time."""
        found = []
        for entry in sorted(os.scandir(self.path), key=lambda each: each.name):
            if self.only not in (None, entry.name):
                continue
            try:
                file = self.file(entry.name)
                status = file.stat()
            except (RefusedError, OSError):
                continue
            kind = self._kind(entry.name, file, status)
            if kind is not None:
                found.append({"name": entry.name, "kind": kind, "bytes": status.st_size, "changed": status.st_mtime})
            if len(found) >= MAX_LISTED:
                break
        return found

    def _kind(self, name: str, file: Path, status: os.stat_result) -> str | None:
        """Return `scenario`, the name of an export's system, or None for other files. Unchanged files stay known."""
        mark = (status.st_mtime_ns, status.st_size)
        if self._seen.get(name, (None,))[0] != mark:
            self._seen[name] = (mark, _kind_of(name, file, status.st_size))
        return self._seen[name][1]

    def file(self, name: str) -> Path:
        """Return an existing file of the folder. Raises RefusedError."""
        _check_name(name)
        if self.only not in (None, name):
            raise RefusedError(404, f"no file {name!r}: only {self.only} is served")
        path = self.path / name
        try:
            real = Path(os.path.realpath(path, strict=True))
            mode = real.stat().st_mode
        except OSError:
            raise RefusedError(404, f"no file {name!r} in the folder") from None
        if real.parent != self.path or real.name.startswith("."):
            raise RefusedError(403, f"{name!r} is a link out of the folder")
        if not stat.S_ISREG(mode):
            raise RefusedError(403, f"{name!r} is not a regular file")
        return real

    def read(self, name: str) -> Text:
        """Return the text of a scenario. Raises RefusedError, and ScenarioError for a file without text."""
        _check_ending(name)
        text = yaml_file.read_text(self.file(name))
        return Text(text, digest(text))

    def export(self, name: str) -> Path:
        """Return the file of an export. Raises RefusedError."""
        file = self.file(name)
        check_export(file, name)
        return file

    def save(self, name: str, text: str, opened: str | None) -> Text:
        """Write a scenario. `opened` is the hash of the text that was read, or None for a new file.

        A file that changed elsewhere is not replaced. Raises RefusedError.
        """
        if self.is_read_only:
            raise RefusedError(403, "this server only reads (--read-only)")
        _check_ending(name)
        with self._lock:
            exists = os.path.lexists(self.path / name) if _is_name(name) else False
            if not exists:
                check_new_name(name)
            if self.only not in (None, name):
                raise RefusedError(403, f"only {self.only} is served")
            if exists and opened is None:
                raise RefusedError(409, f"{name} exists: choose another name")
            if not exists and opened is not None:
                raise RefusedError(409, f"{name} was removed meanwhile: save it under another name")
            target = self.file(name) if exists else self.path / name
            if opened is not None and digest(yaml_file.read_text(target)) != opened:
                raise RefusedError(409, f"{name} was changed elsewhere: reload it, or save under another name")
            writing.write_atomically(target, text)
        return Text(text, digest(text))

    def check_scenario_name(self, name: str) -> None:
        """Refuse a name that no scenario has. Raises RefusedError."""
        _check_ending(name)

    def jobs(self, name: str, text: str, changes: list[tuple[str, object]]) -> dict[str, bytes]:
        """Return the fio job files that a scenario names, by path in the folder. Other files are left out."""
        found = {}
        for path in scenario.named_in(text, changes):
            real = Path(os.path.realpath(self.path / path))
            if path.is_absolute() or ".." in path.parts or not scenario.is_served(real, self.path):
                continue  # the run itself refuses it, with the line
            try:
                with reading.opened(real) as stream:
                    found[path.as_posix()] = stream.read(yaml_file.MAX_BYTES)
            except OSError:
                continue
        return found


def digest(text: str) -> str:
    """Return the hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def check_export(file: Path, name: str) -> None:
    """Refuse a file that no reader of files knows, or that lists addresses of systems. Raises RefusedError."""
    try:
        head = outside.head(file)
    except ScenarioError as error:
        raise RefusedError(422, str(error)) from None
    reader = next((each for each in sources.READERS if each.recognises(head)), None)
    if reader is None:
        known = ", ".join(each.name for each in sources.READERS if not each.schemes)
        raise RefusedError(422, f"{name} is no export that hypertwin reads; allowed: {known}")
    if reader.schemes:
        raise RefusedError(422, f"{name} lists addresses of systems: import it with `hypertwin import`")


def check_new_name(name: str) -> None:
    """Refuse a name for a new scenario. Raises RefusedError."""
    if not _NEW.match(name):
        allowed = "letters, digits, '.', '-' and '_', ending in .yaml"
        raise RefusedError(422, f"{short(printable(name))!r} is no name for a new file; allowed: {allowed}")


def _kind_of(name: str, file: Path, size: int) -> str | None:
    is_text = name.lower().endswith(ENDINGS)
    if is_text and size > yaml_file.MAX_BYTES:
        return None
    try:
        if is_text:
            with reading.opened(file) as stream:
                return "scenario" if _SECTION.search(stream.read()) else None
        head = outside.head(file)
    except (OSError, HypertwinError):
        return None
    reader = next((each for each in sources.READERS if each.recognises(head)), None)
    return None if reader is None or reader.schemes else reader.name


def _is_name(name: str) -> bool:
    return (
        0 < len(name) <= MAX_NAME
        and name.isprintable()
        and not name.startswith((".", "-"))
        and "/" not in name
        and "\\" not in name
    )


def _check_name(name: str) -> None:
    if not _is_name(name):
        raise RefusedError(403, f"{short(printable(name))!r} is not the name of a file in the folder")


def _check_ending(name: str) -> None:
    _check_name(name)
    if not name.endswith(ENDINGS):
        raise RefusedError(403, f"{name!r} is no scenario; allowed: names that end in {' or '.join(ENDINGS)}")
