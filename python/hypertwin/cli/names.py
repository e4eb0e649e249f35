"""Shell completion of names in the scenario of a command line: groups, VMs, hosts, clusters, pools and paths.

Completion must be fast, so it checks nothing. An unreadable file offers no names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hypertwin.errors import HypertwinError
from hypertwin.files import yaml_file

MAX_BYTES = 4 << 20
MAX_MEMBERS = 200
"""Maximum number of VMs or hosts of one group to offer."""

PARTS = {
    "vms": "VmGroup",
    "hosts": "HostGroup",
    "workloads": "Workload",
    "storage": "StoragePool",
    "run": "RunSettings",
}
"""Type in `hypertwin.parts` of the entries of each section, or of the section `run` itself."""


Kind = Literal["groups", "vms", "hosts", "clusters", "pools", "paths"]
"""A kind of names in a scenario."""


@dataclass(frozen=True)
class Offered:
    """Annotation (in `Annotated`) that marks a parameter whose value shells complete."""

    names: Callable[[], Iterable[str]] | Kind
    """Fixed names, or the kind of names in the scenario."""
    several: bool = False
    """True if the value is a list joined by commas."""


def in_scenario(kind: Kind, words: Iterable[str], incomplete: str) -> Iterable[str]:
    """Return the names of this kind in the scenario among the words of a command line."""
    return KINDS[kind](_scenario(words), incomplete)


def _scenario(words: Iterable[str]) -> Mapping[str, Any]:
    """Return content of the first readable scenario among the words, unchecked, or an empty dict if there is none."""
    for value in words:
        if not value.endswith((".yaml", ".yml")):
            continue
        try:
            with Path(value).open("rb") as file:
                text = file.read(MAX_BYTES).decode()
            data = yaml_file.parse(text, value).root.data()  # bounds depth and size
        except (OSError, UnicodeDecodeError, HypertwinError):
            continue
        if isinstance(data, Mapping):
            return data
    return {}


def _section(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = data.get(name)
    return found if isinstance(found, Mapping) else {}


def _members(data: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield the names of VMs or hosts. In a group of several, each has a number."""
    for group, entry in _section(data, name).items():
        count = str(entry.get("count", "1")) if isinstance(entry, Mapping) else "1"
        if count.isdecimal() and int(count) > 1:
            yield from (f"{group}-{number}" for number in range(1, min(int(count), MAX_MEMBERS) + 1))
        else:
            yield group


def _clusters(data: Mapping[str, Any]) -> Iterator[str]:
    named = [entry.get("cluster") for entry in _section(data, "hosts").values() if isinstance(entry, Mapping)]
    yield from dict.fromkeys([*_section(data, "clusters"), *(each for each in named if isinstance(each, str))])


def _paths(data: Mapping[str, Any], incomplete: str) -> Iterator[str]:
    """Yield paths one level deeper than the typed text: keys of the file, and keys of its types."""
    *outer, _ = incomplete.split(".")
    at: Any = data
    for key in outer:
        at = at.get(key) if isinstance(at, Mapping) else None
    keys = list(at) if isinstance(at, Mapping) else []
    part = PARTS.get(outer[0]) if outer else "Scenario"
    if part is not None and len(outer) == (0 if not outer else 1 if outer[0] == "run" else 2):
        from hypertwin import parts

        keys += list(getattr(parts, part).__annotations__)
    before = "".join(f"{key}." for key in outer)
    for key in dict.fromkeys(keys):
        inner = at.get(key) if isinstance(at, Mapping) else None
        yield f"{before}{key}{'.' if isinstance(inner, Mapping) else '='}"


KINDS: Mapping[Kind, Callable[[Mapping[str, Any], str], Iterable[str]]] = {
    "groups": lambda data, _: _section(data, "vms"),
    "vms": lambda data, _: _members(data, "vms"),
    "hosts": lambda data, _: _members(data, "hosts"),
    "clusters": lambda data, _: _clusters(data),
    "pools": lambda data, _: _section(data, "storage"),
    "paths": _paths,
}
"""Kinds of names in a scenario."""
