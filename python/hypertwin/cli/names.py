"""Names in the scenario of a command line, which a shell offers: groups, VMs, hosts, clusters, pools, and paths to set.

A Tab has to be quick, so nothing is checked: a file that cannot be read offers nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

from hypertwin import yaml_file
from hypertwin.errors import HypertwinError

MAX_BYTES = 4 << 20
MAX_MEMBERS = 200
"""VMs or hosts of one group that are offered."""

PARTS = {
    "vms": "VmGroup",
    "hosts": "HostGroup",
    "workloads": "Workload",
    "storage": "StoragePool",
    "run": "RunSettings",
}
"""The type in `hypertwin.parts` of each entry of a section; of `run` of the section."""


def in_scenario(kind: str) -> Callable[[typer.Context, list[str], str], list[str]]:
    """Completion of a value that is a name of this kind, or a path, in the scenario."""

    def beginning(ctx: typer.Context, args: list[str], incomplete: str) -> list[str]:
        data = _scenario([*ctx.params.values(), *ctx.args, *args, *typed()])
        return [name for name in KINDS[kind](data, incomplete) if name.startswith(incomplete)]

    return beginning


def typed() -> list[str]:
    """The words of the line that a shell completes: of a line that ends with an option Typer has read none."""
    return os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", "")).split()


def several(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Completion of a list of names joined by commas."""

    def beginning(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        taken = before.split(",")
        return [f"{before}{comma}{name}" for name in names() if name.startswith(last) and name not in taken]

    return beginning


def _scenario(values: Iterable[Any]) -> Mapping[str, Any]:
    """The scenario among the values that were typed so far, as its text has it; empty where there is none."""
    for value in values:
        if not isinstance(value, str | Path) or not str(value).endswith((".yaml", ".yml")):
            continue
        try:
            with Path(value).open("rb") as file:
                text = file.read(MAX_BYTES).decode()
            data = yaml_file.parse(text, str(value)).root.data()  # bounds depth and size
        except (OSError, UnicodeDecodeError, HypertwinError):
            continue
        if isinstance(data, Mapping):
            return data
    return {}


def _section(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = data.get(name)
    return found if isinstance(found, Mapping) else {}


def _members(data: Mapping[str, Any], name: str) -> Iterator[str]:
    """Names of VMs or hosts: those of a group of several have a number."""
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
    """Paths one level deeper than what was typed: keys of the file, and those that its types have."""
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


KINDS: Mapping[str, Callable[[Mapping[str, Any], str], Iterable[str]]] = {
    "groups": lambda data, _: _section(data, "vms"),
    "vms": lambda data, _: _members(data, "vms"),
    "hosts": lambda data, _: _members(data, "hosts"),
    "clusters": lambda data, _: _clusters(data),
    "pools": lambda data, _: _section(data, "storage"),
    "paths": _paths,
}
"""Kinds of names in a scenario."""
