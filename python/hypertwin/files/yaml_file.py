"""Safe YAML reader for scenarios: plain data, the line of every key, and limits on size.

PyYAML parses the text. This module uses its events, which need no recursion, so depth and number of values are limited
before objects are built. Scalars follow the core schema of YAML 1.2: `no` is text, `12:30` is text, `1e3` is a number.
"""

from __future__ import annotations

import difflib
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TextIO

import yaml

from hypertwin.errors import Mistake, ScenarioError, fail
from hypertwin.files import reading

ZIP = b"PK\x03\x04"
"""First bytes of ZIP archives, such as .xlsx files."""
MAX_BYTES = 4 * 2**20
"""Maximum size of a scenario file, in bytes."""
MAX_DEPTH = 32
"""Maximum nesting depth of mappings and lists. Scenarios need a depth of 6."""
MAX_VALUES = 200_000
"""Maximum number of values in a file, with aliases expanded."""

MAX_DUPLICATES = 100
"""Maximum number of duplicate keys before the reader stops."""

STDIN = "-"
"""Name that stands for stdin instead of a file."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULL = re.compile(r"(?:~|null|Null|NULL)?\Z")
_BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
_INT = re.compile(r"[-+]?[0-9]+\Z")
_BASED = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_SPECIAL = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN_TAGS = {"!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}


class HugeNumber(float):
    """Number too large for a float, represented as infinity. `text` is the original form of the number."""

    text: str

    def __new__(cls, text: str) -> HugeNumber:
        """Create an infinity of the same sign, with the text."""
        number = super().__new__(cls, "-inf" if text.startswith("-") else "inf")
        number.text = text
        return number


@dataclass(slots=True)
class Node:
    """Value with its line number. Mappings contain nodes by key, with the line of each key. Lists contain nodes."""

    line: int
    value: Any = None
    key_lines: dict[str, int] = field(default_factory=dict)
    size: int = 1

    def data(self) -> Any:
        """Return the value as plain dicts, lists and scalars, without shared objects."""
        if isinstance(self.value, dict):
            return {key: node.data() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.data() for node in self.value]
        return self.value

    def line_at(self, path: str) -> int:
        """Return the line of the value at a dotted path, or of the nearest enclosing value."""
        node, line, rest = self, self.line, path
        while rest:
            keys = node._keys()
            # a key may itself have dots: the longest that fits is the one that was written
            key = rest
            while key and key not in keys:
                key = key.rpartition(".")[0]
            if not key:
                break
            line = node.key_lines.get(key, 0) or keys[key].line
            node, rest = keys[key], rest[len(key) + 1 :]
        return line

    def _keys(self) -> dict[str, Node]:
        if isinstance(self.value, dict):
            return self.value
        return {str(index): node for index, node in enumerate(self.value)} if isinstance(self.value, list) else {}


@dataclass(frozen=True, slots=True)
class Document:
    """Root node of a file, and the problems that allow further checks."""

    root: Node
    mistakes: tuple[Mistake, ...]


def name_of(path: str | Path) -> str:
    """Return the name of a file in messages."""
    return "stdin" if str(path) == STDIN else str(path)


def stdin_bytes() -> bytes:
    """Return the content of stdin, of limited size. A second call returns the same content."""
    return b"" if sys.stdin is None else _all_of(sys.stdin)


@cache
def _all_of(stream: TextIO) -> bytes:
    return stream.buffer.read(MAX_BYTES + 1)


def read_text(path: Path) -> str:
    """Return the text of a scenario file of limited size. `-` is stdin. Raises ScenarioError."""
    file = name_of(path)
    allowed = f"a text file in UTF-8 of at most {MAX_BYTES // 2**20} MiB"
    try:
        raw = stdin_bytes() if str(path) == STDIN else reading.first_bytes(path, MAX_BYTES + 1)
    except FileNotFoundError:
        fail("file-not-found", "", "no such file", allowed, _near_files(path), file)
    except reading.NotAFileError as error:
        hint = "name the scenario file in it" if path.is_dir() else "name a file"
        fail("not-a-file", "", str(error.strerror), allowed, hint, file)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        fail("unreadable-file", "", reason, allowed, "check the name and permissions", file)
    if raw.startswith(ZIP):
        hint = f"an export, such as RVTools writes? `hypertwin import {shlex.quote(file)} -o cluster.yaml` reads it"
        fail("not-utf-8", "", "an .xlsx file or another zip archive", allowed, hint, file)
    if len(raw) > MAX_BYTES:
        fail(
            "file-too-large",
            "",
            f"more than {MAX_BYTES} bytes",
            allowed,
            "check that it is a scenario; use counts for many equal entries",
            file,
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        fail("not-utf-8", "", f"the byte 0x{raw[error.start]:02x}", allowed, "save the file as UTF-8", file, line)


def parse(text: str, file: str) -> Document:
    """Return the document in `text`. Raises ScenarioError if the text is not plain YAML of limited size."""
    if surrogate := _SURROGATE.search(text):
        line = text.count("\n", 0, surrogate.start()) + 1
        fail("not-utf-8", "", f"U+{ord(surrogate[0]):04X}", "text in UTF-8", "write the text in UTF-8", file, line)
    control = _CONTROL.search(text)
    if control:
        line = text.count("\n", 0, control.start()) + 1
        value = f"the control character U+{ord(control[0]):04X}"
        fail("control-character", "", value, "text and line ends", "remove it; is the file text?", file, line)
    return _Builder(file).build(text)


def scalar(text: str) -> Any:
    """Return a plain scalar by the core schema of YAML 1.2."""
    if _NULL.match(text):
        return None
    if _BOOL.match(text):
        return text.lower() == "true"
    if _INT.match(text) and len(text) <= 300:
        return int(text)
    if _BASED.match(text) and len(text) <= 300:
        return int(text, 0)
    if _FLOAT.match(text):
        number = float(text)
        return HugeNumber(text) if number in (float("inf"), float("-inf")) else number
    return float(text.replace(".", "")) if _SPECIAL.match(text) else text


def _near_files(path: Path) -> str:
    try:
        near = sorted(entry.name for entry in path.parent.iterdir() if entry.suffix in {".yaml", ".yml", ".json"})
    except (OSError, ValueError):
        near = []
    if not near:
        return "check the name"
    stems = {Path(name).stem: name for name in near}
    if meant := difflib.get_close_matches(path.name, near, n=1) or difflib.get_close_matches(path.stem, stems, n=1):
        return f"did you mean {path.parent / stems.get(meant[0], meant[0])}?"
    folder = "this folder" if path.parent == Path() else path.parent
    return f"check the name; {folder} has {', '.join(near[:8])}{' and others' if len(near) > 8 else ''}"


@dataclass(slots=True)
class _Open:
    """Mapping or list whose end event has not occurred yet."""

    node: Node
    anchor: str | None
    path: str
    key: str | None = None
    key_line: int = 0
    repeated: bool = False


class _Builder:
    """Builder that creates nodes from events with an explicit stack."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.stack: list[_Open] = []
        self.anchors: dict[str, Node | None] = {}
        self.mistakes: list[Mistake] = []
        self.root: Node | None = None
        self.values = 0

    def build(self, text: str) -> Document:
        documents = 0
        for event in self._events(text):
            line = event.start_mark.line + 1
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    hint = "one scenario to a file: split it at the line with ---"
                    fail("several-documents", "", "a second document", "one YAML document", hint, self.file, line)
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event, line)
            elif isinstance(event, yaml.ScalarEvent):
                self._tag(event, line)
                self._scalar(event, line)
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                self._tag(event, line)
                self._start(event, line)
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                self._end()
        if self.root is None or self.root.value is None:
            hint = "a scenario has at least name and hosts; see scenarios/ for examples"
            fail(
                "empty-file",
                "",
                "an empty file",
                "a mapping with the keys name, hosts, vms, workloads",
                hint,
                self.file,
                1,
            )
        return Document(self.root, tuple(self.mistakes))

    def _events(self, text: str) -> Iterator[Any]:
        try:
            yield from yaml.parse(text, Loader=_LOADER)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else None
            lines = text.splitlines()
            source = lines[line - 1] if line and line <= len(lines) else ""
            tab = source[: len(source) - len(source.lstrip())].count("\t") > 0
            hint = "indent with spaces, not tabs" if tab else _syntax_hint(source)
            value = " ".join(part for part in (error.problem, error.context) if part) or "a syntax error"
            fail("not-yaml", "", value, "YAML", hint, self.file, line)
        except (yaml.YAMLError, RecursionError) as error:
            value = str(error).splitlines()[0] if str(error) else "a syntax error"
            fail("not-yaml", "", value, "YAML", "is the file a scenario?", self.file)

    def _where(self) -> str:
        if not self.stack:
            return ""
        top = self.stack[-1]
        if isinstance(top.node.value, list):
            key: str | None = str(len(top.node.value))
        else:
            key = top.key
        return ".".join(part for part in (top.path, key) if part)

    def _tag(self, event: Any, line: int) -> None:
        if event.tag is not None and event.tag not in _PLAIN_TAGS:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")[:60]
            hint = "remove it; a scenario is plain data"
            fail("yaml-tag", self._where(), f"the tag {tag}", "values without a tag", hint, self.file, line)

    def _awaits_key(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1].node.value, dict) and self.stack[-1].key is None

    def _scalar(self, event: Any, line: int) -> None:
        if self._awaits_key():
            top = self.stack[-1]
            if event.value == "<<" and event.implicit[0]:
                hint = "write the keys out, or use an alias for a whole value (key: *name)"
                fail("merge-key", top.path, "<<", "keys of the scenario", hint, self.file, line)
            top.key, top.key_line = event.value, line
            top.repeated = event.value in top.node.value
            if top.repeated:
                first = top.node.key_lines[event.value]
                path = self._where()
                allowed = f"each key once; it is on line {first} already"
                mistake = Mistake("duplicate-key", path, event.value, allowed, "keep one of the two", self.file, line)
                self.mistakes.append(mistake)
                if len(self.mistakes) > MAX_DUPLICATES:
                    raise ScenarioError.of(self.mistakes)
            if event.anchor:
                self.anchors[event.anchor] = Node(line, event.value)
            return
        plain = event.implicit[0] and event.tag is None
        self._place(Node(line, scalar(event.value) if plain else event.value), event.anchor)

    def _start(self, event: Any, line: int) -> None:
        if self._awaits_key():
            hint = "write a name, a colon, and the value"
            fail("bad-key", self.stack[-1].path, "a list or mapping as a key", "a text as key", hint, self.file, line)
        if len(self.stack) >= MAX_DEPTH:
            value = f"more than {MAX_DEPTH} levels of nesting"
            fail(
                "too-deep",
                self._where()[:200],
                value,
                f"at most {MAX_DEPTH} levels",
                "is the file a scenario?",
                self.file,
                line,
            )
        node = Node(line, {} if isinstance(event, yaml.MappingStartEvent) else [])
        if event.anchor:
            self.anchors[event.anchor] = None
        self.stack.append(_Open(node, event.anchor, self._where()))

    def _end(self) -> None:
        top = self.stack.pop()
        self._place(top.node, top.anchor, counted=top.node.size - 1)

    def _alias(self, event: Any, line: int) -> None:
        node = self.anchors.get(event.anchor)
        if node is None:
            within = event.anchor in self.anchors
            value = f"*{event.anchor[:60]}" + (" inside its own anchor" if within else " without an anchor")
            hint = f"write the value out, or mark it with &{event.anchor[:60]} before its first use"
            fail("bad-alias", self._where(), value, "an alias of a value that came before", hint, self.file, line)
        if self._awaits_key():
            fail(
                "bad-key",
                self.stack[-1].path,
                "an alias as a key",
                "a text as key",
                "write the key out",
                self.file,
                line,
            )
        self._place(node, None)

    def _place(self, node: Node, anchor: str | None, counted: int = 0) -> None:
        self.values += node.size - counted
        if self.values > MAX_VALUES:
            value = f"more than {MAX_VALUES} values, aliases written out"
            hint = "use counts for many equal hosts or VMs"
            fail("too-many-values", "", value, f"at most {MAX_VALUES} values", hint, self.file, node.line)
        if anchor:
            self.anchors[anchor] = node
        if not self.stack:
            self.root = node
            return
        top = self.stack[-1]
        top.node.size += node.size
        if isinstance(top.node.value, list):
            top.node.value.append(node)
            return
        key = top.key or ""
        if not top.repeated:
            top.node.value[key] = node
            top.node.key_lines[key] = top.key_line
        top.key, top.repeated = None, False


def _syntax_hint(source: str) -> str:
    stripped = source.strip()
    if stripped.startswith(("@", "`", "%")):
        return f"a value cannot begin with {stripped[0]}; put it in quotes"
    if stripped.count(": ") > 1:
        return "a text with a colon and a space needs quotes; one key to a line"
    return "check indentation, quotes, brackets and colons there and on the line before"
