"""Conversion of files of earlier versions to the current names.

Keys of scenarios, of files of limits, and of results in JSON are converted.

Comments, order and quotes of a scenario stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hypertwin import naming
from hypertwin.comparison.kinds import kind_of
from hypertwin.errors import ScenarioError
from hypertwin.files import yaml_file
from hypertwin.ingest import outside
from hypertwin.show import files

MAX_BYTES = 256 << 20
"""Maximum size of a result to convert, in bytes."""

OWN_KEYS = 3
"""Number of leading path keys that can be own names of hosts, VMs or clusters, as in `hosts.esx.memory`."""


@dataclass(frozen=True)
class Migrated:
    """File with current names."""

    text: str
    renamed: Mapping[str, int]
    """Number of occurrences of each old name: `memory_own -> hypervisor_memory`."""


def migrated(path: Path) -> Migrated:
    """Return a scenario, a file of limits, or a result in JSON, with today's names. Raises ScenarioError."""
    if outside.head(path).lstrip()[:1] in (b"{", b"["):
        document = outside.json_value(path, MAX_BYTES)
        is_plan = isinstance(document, dict) and document.keys() >= {"certificate", "objective"}
        kind = "placement" if is_plan else getattr(kind_of(document), "name", None)
        if kind is not None:
            found: dict[str, int] = {}
            named = _named(document, naming.RESULT_KEYS.get(kind, {}), found)
            return Migrated(files.to_json(named), found)
    return _scenario(path)


def _scenario(path: Path) -> Migrated:
    text = yaml_file.read_text(path)
    document = yaml_file.parse(text, str(path))  # bounds depth and size
    if document.mistakes:
        raise ScenarioError.of(document.mistakes)
    found: dict[str, int] = {}
    for start, end in sorted(_keys(text), reverse=True):
        old = text[start:end].strip("'\"")
        if (new := naming.KEYS.get(old)) is not None:
            text = f"{text[:start]}{new}{text[end:]}"
            _count(found, old, new)
    return Migrated(text, found)


def _keys(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end position of each key of a mapping."""
    waiting = list[list[bool] | None]()  # of each collection that is open: whether a key is next; None for a list
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        inner = waiting[-1] if waiting else None
        is_key = inner is not None and inner[0]
        if isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            waiting.pop()
            continue
        if not isinstance(event, yaml.ScalarEvent | yaml.AliasEvent | yaml.CollectionStartEvent):
            continue
        if inner is not None:
            inner[0] = not inner[0]
        if isinstance(event, yaml.CollectionStartEvent):
            waiting.append([True] if isinstance(event, yaml.MappingStartEvent) else None)
        elif is_key and isinstance(event, yaml.ScalarEvent) and len(waiting) >= OWN_KEYS:
            begin, end = event.start_mark, event.end_mark
            if begin is not None and end is not None:  # this loader gives both
                yield begin.index, end.index


def _named(value: Any, names: Mapping[str, str], found: dict[str, int], inside: str = "") -> Any:
    """Return the value with its keys renamed. `inside` is its own key."""
    if isinstance(value, list):
        return [_named(each, names, found, inside) for each in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for key, each in value.items():
        new = names.get(key) or names.get(f"{inside}.{key}")
        if new is not None:
            _count(found, key, new)
        made[new or key] = _named(each, names, found, key)
    return made


def _count(found: dict[str, int], old: str, new: str) -> None:
    key = f"{old} -> {new}"
    found[key] = found.get(key, 0) + 1
