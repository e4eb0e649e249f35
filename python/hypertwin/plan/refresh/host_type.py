"""Host types to buy, each from a file. docs/guides/replacing-hosts.md shows one.

`host` has keys of `hosts.NAME` in a scenario, and `storage` keys of `storage.NAME` without `nodes`. A scenario checks
both, so both have its keys, defaults and messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hypertwin import naming
from hypertwin.cost.prices import MAX_RACK_UNITS
from hypertwin.errors import Mistake, ScenarioError, fail, short
from hypertwin.files import yaml_file
from hypertwin.language import Host
from hypertwin.scenario import Scenario, space

MAX_HOSTS = 1_000
"""Maximum number of hosts of one type in a cluster."""
MAX_WATTS = 100_000

KEYS = ("name", "host", "storage", "rack_units", "watts", "tdp", "sold_in", "at_least", "at_most")

NODES = (1, 4, 8, 16)
"""Numbers of hosts with which a host type is checked."""

FORM = "a mapping with the keys of a host, such as {sockets: 2, cores_per_socket: 32, ...}"


@dataclass(frozen=True)
class HostType:
    """A host type that a cluster can have."""

    name: str
    host: Mapping[str, Any]
    """Keys of `hosts.NAME`, without `count` and `cluster`."""
    storage: Mapping[str, Any] | None = None
    """Keys of `storage.NAME` without `nodes`, or None if the hosts have no disks for VMs."""
    rack_units: float | None = None
    watts: tuple[float, float] | None = None
    """Measured power of one host in watts: idle, and at the highest throughput."""
    tdp: float | None = None
    """Thermal design power of one processor in watts."""
    sold_in: int = 1
    """Hosts are bought in multiples of this number."""
    at_least: int = 1
    at_most: int = MAX_HOSTS
    file: str = ""

    @cached_property
    def facts(self) -> Host:
        """A single host of this type."""
        return _smallest(self).inventory.hosts[0]

    def scenario(self, hosts: int) -> Scenario:
        """Return a scenario with some hosts of this type and no VM. Raises ScenarioError."""
        data: dict[str, Any] = {
            "name": self.name,
            "hosts": {self.name: {**self.host, "count": hosts}},
            "vms": {},
            "workloads": {},
        }
        if self.storage is not None:
            data["storage"] = {self.name: {**self.storage, "nodes": self.name}}
        return Scenario.from_dict(data)

    def usable_bytes(self, hosts: int) -> float:
        """Return the data that a pool of some hosts can hold, with room to recover from the loss of a host."""
        try:
            found = space.rooms(self.scenario(hosts))[self.name]
        except ScenarioError:  # a pool takes more nodes
            return 0.0
        return found.usable

    def whole(self, hosts: int) -> int:
        """Return the smallest number of hosts that is at least `hosts` and can be bought."""
        many = max(hosts, self.at_least)
        return -(-many // self.sold_in) * self.sold_in


def read(paths: Sequence[str | Path]) -> tuple[HostType, ...]:
    """Return the host types of files. Raises ScenarioError with every problem of all files."""
    if not paths:
        hint = "describe a host to buy in a file: docs/guides/replacing-hosts.md has an example"
        fail("missing-key", "host_type", "nothing given", "at least one file with a host type", hint)
    found: list[HostType] = []
    mistakes: list[Mistake] = []
    for path in paths:
        try:
            one = _read(Path(path))
        except ScenarioError as error:
            mistakes.extend(error.mistakes)
            continue
        if any(one.name == each.name for each in found):
            hint = "give each host type a name of its own"
            mistakes.append(Mistake("duplicate-name", "name", one.name, "names that differ", hint, one.file))
        found.append(one)
    if mistakes:
        raise ScenarioError.of(mistakes)
    return tuple(found)


def _read(path: Path) -> HostType:
    file = str(path)
    document = yaml_file.parse(yaml_file.read_text(path), file)
    data = document.root.data()
    mistakes = list(document.mistakes)
    if not isinstance(data, Mapping):
        mistakes.append(Mistake("wrong-type", "", short(str(data)), "a mapping", f"begin with name: and host: {FORM}"))
        data = {}
    for key in data:
        if key not in KEYS:
            hint = naming.hint(str(key), KEYS, "remove it")
            mistakes.append(Mistake("unknown-key", str(key), "a key", ", ".join(KEYS), hint))
    made = _made(data, file, mistakes)
    if made is not None:
        try:
            _smallest(made)
        except ScenarioError as error:
            mistakes.extend(replace(each, path=_own_path(each.path, made.name)) for each in error.mistakes)
    if mistakes or made is None:
        located = [replace(each, file=file, line=each.line or document.root.line_at(each.path)) for each in mistakes]
        raise ScenarioError.of(located)
    return made


def _made(data: Mapping[str, Any], file: str, mistakes: list[Mistake]) -> HostType | None:
    """Return the host type, or None if a mistake prevents any further check. Adds mistakes."""
    name, host = data.get("name", Path(file).stem), data.get("host")
    if not isinstance(host, Mapping):
        value = "(missing)" if host is None else short(str(host))
        mistakes.append(Mistake("missing-key" if host is None else "wrong-type", "host", value, FORM, "add it"))
        return None
    for key in ("count", "cluster"):
        if key in host:
            hint = "the plan finds the number of hosts" if key == "count" else "clusters are those of the scenario"
            mistakes.append(Mistake("unknown-key", f"host.{key}", "a key", "other keys of hosts.NAME", hint))
    storage = data.get("storage")
    if storage is not None and not isinstance(storage, Mapping):
        mistakes.append(Mistake("wrong-type", "storage", short(str(storage)), "keys of storage.NAME", "see presets"))
        return None
    if isinstance(storage, Mapping) and "nodes" in storage:
        hint = "leave it out: the new hosts are the nodes"
        mistakes.append(Mistake("unknown-key", "storage.nodes", "a key", "other keys of storage.NAME", hint))
    units = _number(data, "rack_units", MAX_RACK_UNITS, mistakes)
    watts = _watts(data.get("watts"), mistakes)
    tdp = _number(data, "tdp", MAX_WATTS, mistakes)
    whole = {
        key: _whole(data, key, least, mistakes) for key, least in (("sold_in", 1), ("at_least", 1), ("at_most", 1))
    }
    at_least, at_most = whole["at_least"] or 1, whole["at_most"] or MAX_HOSTS
    if at_least > at_most:
        hint = "raise at_most, or lower at_least"
        mistakes.append(Mistake("out-of-range", "at_most", str(at_most), f"at least {at_least}, as at_least", hint))
    if mistakes:
        return None
    return HostType(
        name=str(name),
        host=MappingProxyType(dict(host)),
        storage=None if storage is None else MappingProxyType(dict(storage)),
        rack_units=units,
        watts=watts,
        tdp=tdp,
        sold_in=whole["sold_in"] or 1,
        at_least=at_least,
        at_most=at_most,
        file=file,
    )


def _smallest(made: HostType) -> Scenario:
    """Return a scenario with a few hosts of this type, as many as its pool needs. Raises ScenarioError."""
    first: ScenarioError | None = None
    for many in NODES:
        try:
            return made.scenario(many)
        except ScenarioError as error:
            first = first or error
    assert first is not None
    raise first


def _own_path(path: str, name: str) -> str:
    """Return the path in the file of a host type for a path of its scenario."""
    for theirs, own in ((f"hosts.{name}", "host"), (f"storage.{name}", "storage"), ("hosts", "name")):
        if path == theirs or path.startswith(f"{theirs}."):
            return own + path[len(theirs) :]
    return path


def _number(data: Mapping[str, Any], key: str, most: float, mistakes: list[Mistake]) -> float | None:
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= most:
        mistakes.append(
            Mistake("out-of-range", key, short(str(value)), f"a number above 0, up to {most}", "correct it")
        )
        return None
    return float(value)


def _whole(data: Mapping[str, Any], key: str, least: int, mistakes: list[Mistake]) -> int | None:
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MAX_HOSTS:
        allowed = f"an integer, {least} to {MAX_HOSTS:,}"
        mistakes.append(Mistake("out-of-range", key, short(str(value)), allowed, "correct it"))
        return None
    return value


def _watts(value: Any, mistakes: list[Mistake]) -> tuple[float, float] | None:
    if value is None:
        return None
    allowed = "{idle: WATTS, full: WATTS} of one host, idle below full"
    if isinstance(value, Mapping) and set(value) == {"idle", "full"}:
        idle, full = value["idle"], value["full"]
        plain = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (idle, full))
        if plain and 0 < idle < full <= MAX_WATTS:
            return float(idle), float(full)
    mistakes.append(Mistake("bad-quantity", "watts", short(str(value)), allowed, "leave it out if it was not measured"))
    return None
