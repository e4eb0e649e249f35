"""Targets of an inventory of Ansible, in INI or YAML form.

Only names, groups and the variables of a connection are read. Patterns such as `db[1:3]` are written out. Source:
https://docs.ansible.com/ansible/latest/inventory_guide/intro_inventory.html.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hypertwin.errors import fail
from hypertwin.files import yaml_file
from hypertwin.files.yaml_fields import shown

MAX_HOSTS = 10_000
MAX_DEPTH = 20
"""Maximum depth of groups in groups."""

_SECTION = re.compile(r"\[([^\]:]{1,200})(?::(children|vars))?\]")
_RANGE = re.compile(r"\[([0-9]{1,6}):([0-9]{1,6})\]")
_ADDRESS = ("ansible_host", "ansible_ssh_host")
_USER = ("ansible_user", "ansible_ssh_user")
_PORT = ("ansible_port", "ansible_ssh_port")


def read(path: Path, group: str | None) -> dict[str, Any]:
    """Return the hosts of a group, or all, as targets of a plan. Raises ScenarioError."""
    text = yaml_file.read_text(path)
    groups = _of_yaml(text, path) if path.suffix in (".yaml", ".yml", ".json") else _of_ini(text, path)
    names = list(dict.fromkeys(_members(groups, group or "all", path, ())))
    variables = _variables(groups, path)
    if not names:
        fail("source-lacks", "", "no host", "at least one host", "name another group", str(path))
    return {name: _target(name, variables.get(name, {})) for name in names}


def _variables(groups: Mapping[str, Any], path: Path) -> dict[str, dict[str, str]]:
    """Return the variables of each host: of all, of its groups from the outermost inwards, and its own."""
    depths = dict.fromkeys(groups, 1) | ({"all": 0} if "all" in groups else {})
    for _ in range(MAX_DEPTH):
        for name, entry in groups.items():
            for child in entry["children"]:
                if child in depths and child != "all":
                    depths[child] = min(MAX_DEPTH, max(depths[child], depths[name] + 1))
    found: dict[str, dict[str, str]] = {}
    for name in sorted(groups, key=lambda each: (depths[each], each)):
        for host in set(_members(groups, name, path, ())) if groups[name]["vars"] else ():
            found.setdefault(host, {}).update(groups[name]["vars"])
    for entry in groups.values():
        for host, own in entry["hosts"].items():
            found.setdefault(host, {}).update(own)
    return found


def _target(name: str, variables: Mapping[str, str]) -> dict[str, Any]:
    address = next((variables[key] for key in _ADDRESS if key in variables), name)
    user = next((variables[key] for key in _USER if key in variables), "")
    port = next((variables[key] for key in _PORT if key in variables), None)
    local = variables.get("ansible_connection") == "local"
    found: dict[str, Any] = {"address": "local" if local else f"{user}@{address}" if user else address}
    return found if port is None or not port.isdigit() else {**found, "port": int(port)}


def _members(groups: Mapping[str, Any], group: str, path: Path, above: tuple[str, ...]) -> Iterator[str]:
    if group in above:
        return
    if group == "all":
        for entry in groups.values():
            yield from entry["hosts"]
        return
    if group not in groups:
        allowed = ", ".join(list(groups)[:12])
        fail("unknown-reference", "", group, allowed, "name a group of the inventory", str(path))
    yield from groups[group]["hosts"]
    for child in groups[group]["children"]:
        yield from _members(groups, child, path, (*above, group))


def _group() -> dict[str, Any]:
    return {"hosts": {}, "children": [], "vars": {}}


def _of_ini(text: str, path: Path) -> dict[str, Any]:
    groups: dict[str, Any] = {"ungrouped": _group()}
    current, kind, count = "ungrouped", None, 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        section = _SECTION.fullmatch(line)
        if section:
            current, kind = section[1], section[2]
            groups.setdefault(current, _group())
        elif kind == "children":
            groups[current]["children"].append(line)
        elif kind == "vars":
            key, _, value = line.partition("=")
            groups[current]["vars"][key.strip()] = value.strip()
        else:
            try:
                name, *words = shlex.split(line, comments=True)
            except ValueError as error:
                fail("bad-source", "", str(error), "a name and KEY=VALUE", "check the quotes", str(path), number)
            for each in _expanded(name):
                groups[current]["hosts"][each] = dict(word.split("=", 1) for word in words if "=" in word)
                count = _counted(count, path, number)
    return groups


def _counted(count: int, path: Path, line: int | None = None) -> int:
    """Return the number of hosts with one more. Raises ScenarioError if there are too many."""
    if count >= MAX_HOSTS:
        fail("source-too-large", "", "more hosts", f"at most {MAX_HOSTS}", "write a smaller inventory", str(path), line)
    return count + 1


def _expanded(name: str) -> Iterator[str]:
    """Yield the names of a pattern such as `db[01:03]`."""
    found = _RANGE.search(name)
    if found is None:
        yield name
        return
    first, last = int(found[1]), int(found[2])
    for number in range(first, last + 1):
        yield from _expanded(f"{name[: found.start()]}{number:0{len(found[1])}d}{name[found.end() :]}")


def _of_yaml(text: str, path: Path) -> dict[str, Any]:
    data = yaml_file.parse(text, str(path)).root.data()
    groups: dict[str, Any] = {}
    count = 0

    def part(name: str, entry: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        value = entry.get(key) or {}
        if not isinstance(value, dict):
            fail("bad-source", f"{name}.{key}", shown(value), "a mapping", f"{key}: {{db1: {{}}}}", str(path))
        return value

    def visit(name: str, entry: object, depth: int) -> None:
        nonlocal count
        own = groups.setdefault(name, _group())
        if not isinstance(entry, dict) or depth > MAX_DEPTH:
            return
        for host, variables in part(name, entry, "hosts").items():
            told = variables if isinstance(variables, dict) else {}
            for each in _expanded(str(host)):
                own["hosts"][each] = {str(key): str(value) for key, value in told.items()}
                count = _counted(count, path)
        own["vars"].update({str(key): str(value) for key, value in part(name, entry, "vars").items()})
        for child, below in part(name, entry, "children").items():
            own["children"].append(str(child))
            visit(str(child), below, depth + 1)

    if not isinstance(data, dict):
        fail("bad-source", "", "no mapping", "groups of hosts", "is it an inventory of Ansible?", str(path))
    for name, entry in data.items():
        visit(str(name), entry, 0)
    return groups
