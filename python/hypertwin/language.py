"""The scenario language, as the compiled core parses it: members of groups, hypervisors, redundancy, limits, schema.

The core (`crates/cluster`) owns the language. This module adds types to its results. Code that needs the meaning of a
scenario calls this module, and parses no keys or quantities itself. Examples are the hosts of a group, the memory of a
VM, or the options of an ESXi version. `hypertwin.scenario.Scenario.inventory` has the members of one scenario.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar, Literal, TypeVar

from hypertwin import _core, members

T = TypeVar("T", bound=members.Member)


def build() -> str:
    """Return the version and hash of the core. The same build, scenario and seed give the same results."""
    return _core.build()


UNKNOWN_CLUSTER = members.SourceCluster()
"""A cluster whose source tells nothing."""

UNKNOWN_SOURCE = members.Vm.source
"""A VM whose source tells nothing."""


class Host(members.Host):
    """A host of a scenario."""

    @property
    def options(self) -> members.HypervisorFacts:
        """Settings and facts of the hypervisor."""
        return hypervisors()[self.hypervisor]


class Vm(members.Vm):
    """VM of a scenario."""

    def can_be_on(self, host: Host) -> bool:
        """True if the VM can run on a host, apart from capacity and rules."""
        return host.group in self.host_groups and (host.name == self.host or not self.stays_on_host)

    @property
    def called(self) -> str:
        """Display name: the name in the source system if known, otherwise the name in the scenario."""
        return self.label or self.name


class Pool(members.Pool):
    """Pool of distributed storage of a scenario."""

    @property
    def width(self) -> int:
        """Maximum number of replicas or fragments of one piece of data."""
        return max(each.width for each in (self.redundancy, *self.policies.values()))


@dataclass(frozen=True)
class Inventory(members.Member):
    """All clusters, hosts, VMs and pools of a scenario. Groups are in order of name, members in order of number."""

    PARTS: ClassVar[Mapping[str, Any]] = {
        "clusters": (tuple, members.Cluster),
        "hosts": (tuple, Host),
        "vms": (tuple, Vm),
        "pools": (tuple, Pool),
        "powered_off": (tuple, members.PoweredOff),
        "datastores": (tuple, members.Datastore),
        "rules": (tuple, members.Rule),
    }
    clusters: tuple[members.Cluster, ...]
    """Clusters that have at least one host, in order of name."""
    hosts: tuple[Host, ...]
    vms: tuple[Vm, ...]
    pools: tuple[Pool, ...]
    powered_off: tuple[members.PoweredOff, ...]
    datastores: tuple[members.Datastore, ...]
    rules: tuple[members.Rule, ...]

    @cached_property
    def cluster(self) -> Mapping[str, members.Cluster]:
        """Clusters by name."""
        return {cluster.name: cluster for cluster in self.clusters}

    @cached_property
    def cluster_labels(self) -> Mapping[str, str | None]:
        """Names of clusters in their source system, by name in the scenario."""
        return {cluster.name: cluster.label for cluster in self.clusters}

    @cached_property
    def host(self) -> Mapping[str, Host]:
        """Hosts by name."""
        return {host.name: host for host in self.hosts}

    @cached_property
    def vm(self) -> Mapping[str, Vm]:
        """VMs by name."""
        return {vm.name: vm for vm in self.vms}

    @cached_property
    def pool(self) -> Mapping[str, Pool]:
        """Pools by name."""
        return {pool.name: pool for pool in self.pools}


def called(name: str, known: Mapping[str, str | None]) -> list[str]:
    """Return the keys that match a name. If the name is not a key, keys or labels are compared without regard to case.

    `known` has labels by key. A matching key takes priority over matching labels.
    """
    if name in known:
        return [name]
    folded = name.strip().casefold()
    keys = [key for key in known if key.casefold() == folded]
    return keys or [key for key, label in known.items() if label is not None and label.casefold() == folded]


def inventory(scenario_json: str) -> Inventory:
    """Return the members of a scenario in its canonical form. Raises `_core.ScenarioMistakes`."""
    return _read(Inventory, json.loads(_core.inventory(scenario_json)))


def _read(kind: type[T], found: dict[str, Any]) -> T:
    """Return a record of the core as an object of a class. Records without facts are one object, the default."""
    for key, (many, part) in kind.PARTS.items():
        value = found.get(key)
        if value and many is dict and part:
            found[key] = {name: _read(part, each) for name, each in value.items()}
        elif part and value:
            found[key] = many(_read(part, each) for each in value) if many else _read(part, value)
        elif many and value is not None:
            found[key] = many(value)
        else:
            found.pop(key, None)
    return kind(**found)


def member_names(group: str, count: int) -> list[str]:
    """Return the names of the members of a group of `count` hosts or VMs, in order of number."""
    return _core.member_names(group, count)


@cache
def hypervisors() -> Mapping[str, members.HypervisorFacts]:
    """Return all hypervisors by name: first ESXi, each family from old to new, and `none` last."""
    return {each["name"]: _read(members.HypervisorFacts, each) for each in json.loads(_core.hypervisors())}


def assumed_admission(names: Iterable[str]) -> Literal["slots", "percentage"]:
    """Return the default admission control policy of vSphere HA by its hosts' hypervisors: slots before vSphere 6.5."""
    return "percentage" if min(hypervisors()[name].version for name in names) >= (6, 5, 0) else "slots"


@cache
def assumed_hypervisor(family: str) -> str:
    """Return the name of the hypervisor that is assumed for a host of a family without a version."""
    return next(each.assumed for each in hypervisors().values() if each.family == family)


def pool_facts(scenario_json: str) -> Mapping[str, members.PoolFacts]:
    """Return the rules of the products of a scenario's pools, by name of the pool."""
    return {name: _read(members.PoolFacts, each) for name, each in json.loads(_core.pool_facts(scenario_json)).items()}


@cache
def redundancy(scheme: str) -> members.RedundancyFacts:
    """Return the redundancy of a scheme such as `replicas-3:2` or `ec-3+2`. Raises ValueError."""
    return _read(members.RedundancyFacts, json.loads(_core.redundancy(scheme)))


@cache
def in_unit(text: str, unit: str) -> float:
    """Return a frequency in GHz, or a size in GiB."""
    return _core.frequency_hz(text) / 1e9 if unit == "GHz" else _core.size_bytes(text) / 2**30


def limits() -> members.Limits:
    """Return the limits of validation."""
    return _read(members.Limits, json.loads(_core.limits()))


def schema_node(path: str) -> Mapping[str, Any] | None:
    """Return the schema at a path, or None if no such place exists."""
    node: Mapping[str, Any] = _resolved(_schema())
    for key in path.split("."):
        if key in node.get("properties", {}):
            inner = node["properties"][key]
        elif isinstance(node.get("additionalProperties"), dict) and key:
            inner = node["additionalProperties"]
        elif "items" in node and key.isdecimal():
            inner = node["items"]
        else:
            return None
        node = _resolved(inner)
    return node


@cache
def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(_core.schema_json())
    return schema


def _resolved(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with `$ref` resolved. Its own keywords override."""
    return {key: value for part in reversed(list(_chain(node))) for key, value in part.items()}


def _chain(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    if "$ref" in node:
        yield from _chain(_schema()["$defs"][node["$ref"].rsplit("/", 1)[-1]])
