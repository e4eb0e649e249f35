"""Hosts of an inventory as hosts of a scenario."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from hypertwin.ingest import outside
from hypertwin.ingest.inventory import Host, Inventory
from hypertwin.ingest.to_scenario import hypervisor, names
from hypertwin.ingest.to_scenario.notes import Notes, too_many
from hypertwin.ingest.to_scenario.yaml_text import Quoted, frequency, memory_size
from hypertwin.language import Hypervisor, hypervisors, limits

DEFAULT_CLOCK_HZ = 2_500_000_000
MIB = 2**20
_MODEL_CLOCK = re.compile(r"@ *([0-9]{1,5}(?:\.[0-9]{1,4})?) *([GM])Hz", re.IGNORECASE)


@dataclass(frozen=True)
class ScenarioHost:
    """A host as the scenario has it."""

    sockets: int
    """One for each NUMA node."""
    cores_per_socket: int
    threads_per_core: int
    memory_per_node: int
    clock_hz: int
    hypervisor: str
    key: str = ""
    label: str = ""

    @property
    def logical_cpus(self) -> int:
        """Of all nodes."""
        return self.sockets * self.cores_per_socket * self.threads_per_core

    @property
    def memory_bytes(self) -> int:
        """Of all nodes."""
        return self.sockets * self.memory_per_node

    @property
    def capacity_hz(self) -> int:
        """Cores x clock."""
        return self.sockets * self.cores_per_socket * self.clock_hz

    @property
    def options(self) -> Hypervisor:
        """What can be set on its hypervisor."""
        return hypervisors()[self.hypervisor]

    def entry(self) -> dict[str, Any]:
        """Its entry under `hosts`."""
        entry: dict[str, Any] = {"label": Quoted(self.label)} if self.label and self.label != self.key else {}
        entry |= {"sockets": self.sockets, "cores_per_socket": self.cores_per_socket}
        if self.threads_per_core != 2:
            entry["threads_per_core"] = self.threads_per_core
        memory = memory_size(self.memory_per_node)
        return entry | {"clock": frequency(self.clock_hz), "memory_per_node": memory, "hypervisor": self.hypervisor}


def convert(inventory: Inventory, notes: Notes) -> dict[str, ScenarioHost]:
    """The hosts that the scenario has, by their name in the inventory.

    Raises SourceError where there is none, or more than a scenario takes.
    """
    usable: dict[str, ScenarioHost] = {}
    seen = set()
    needed = {vm.host for vm in inventory.vms if vm.powered_on and not vm.is_template}
    for host in sorted(inventory.hosts, key=lambda host: host.name):
        if host.name in seen:
            notes.host(host.name, "left out: another host has the same name")
        elif host.in_maintenance and host.name not in needed:
            notes.host(host.name, "left out: in maintenance mode, without machines")
        else:
            made = _convert(host, notes)
            if made is not None:
                usable[host.name] = made
        seen.add(host.name)
    if not usable:
        why = notes.first_on_hosts()
        value = f"{len(inventory.hosts)} hosts, none usable{f' ({why})' if why else ''}"
        hint = "export all of it, hosts included"
        outside.refuse(
            inventory.source, "", value if inventory.hosts else "no host", "at least one host", hint, "source-lacks"
        )
    if len(usable) > limits().host_groups:
        too_many(inventory.source, "hosts", len(usable), limits().host_groups)
    keys = names.keys(names.short_host_names(list(usable)), "host")
    return {
        name: replace(host, key=key, label=outside.name(name))
        for key, (name, host) in zip(keys, usable.items(), strict=True)
    }


def _convert(host: Host, notes: Notes) -> ScenarioHost | None:
    most = limits()
    cores, nodes = host.sockets * host.cores_per_socket, host.sockets
    if host.numa_nodes and host.numa_nodes != host.sockets:
        if 1 <= host.numa_nodes <= most.sockets and cores % host.numa_nodes == 0:
            nodes = host.numa_nodes
            notes.host(host.name, "more or fewer NUMA nodes than sockets: each node is written as a socket")
        else:
            notes.host(host.name, "NUMA nodes that do not divide its cores: each socket is taken for one")
    if not (1 <= nodes <= most.sockets and cores >= 1 and cores // nodes <= most.cores_per_socket):
        notes.host(host.name, f"left out: {host.sockets} sockets of {host.cores_per_socket} cores")
        return None
    memory = host.memory_bytes // nodes // MIB * MIB
    if not most.least_memory_bytes <= memory <= most.memory_bytes:
        notes.host(host.name, "left out: no plausible memory")
        return None
    threads = min(max(host.threads_per_core, 1), 2)
    if threads != host.threads_per_core:
        notes.host(host.name, f"{host.threads_per_core} threads of a core: {threads}, as scenarios have 1 or 2")
    if host.in_maintenance:
        notes.host(host.name, "in maintenance mode, kept because machines run on it")
    return ScenarioHost(nodes, cores // nodes, threads, memory, _clock_hz(host, notes), _hypervisor(host, notes))


def _clock_hz(host: Host, notes: Notes) -> int:
    least, most = limits().least_clock_hz, limits().clock_hz
    if host.clock_hz is not None and least <= host.clock_hz <= most:
        return round(host.clock_hz)
    found = _MODEL_CLOCK.search(host.cpu_model or "")
    if found:
        hz = float(found[1]) * (1e9 if found[2] in "gG" else 1e6)
        if least <= hz <= most:
            notes.host(host.name, "clock from the name of the CPU model")
            return round(hz)
    notes.host(host.name, "clock not known: 2.5 GHz assumed")
    return DEFAULT_CLOCK_HZ


def _hypervisor(host: Host, notes: Notes) -> str:
    name, note = hypervisor.nearest(host.hypervisor or "")
    if note is not None:
        notes.host(host.name, note)
    return name
