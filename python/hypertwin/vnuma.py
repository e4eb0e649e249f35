"""Virtual NUMA: which nodes a guest sees, where they are placed, and what is wrong with that.

The compiled core has the rules of each hypervisor version (docs/models/vnuma.md); this module asks it about a scenario,
or about one machine on one empty host.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hypertwin import _core, scenario
from hypertwin.documents.vnuma import Layout
from hypertwin.errors import Mistake, ScenarioError
from hypertwin.scenario import Scenario

MEMORY_PER_VCPU_GIB = 4
"""Memory of a machine whose memory is not given, for each vCPU."""

NODE_MEMORY_GIB = 128
"""Memory of a node whose memory is not given, at least."""

NODE_MEMORY_PER_CORE_GIB = 10
"""Memory of a node whose memory is not given, for each core: two vCPUs on each core still find theirs there."""

PATHS = {
    "hypervisor": "hosts.host.hypervisor",
    "sockets": "hosts.host.sockets",
    "cores": "hosts.host.cores_per_socket",
    "nodes_per_socket": "hosts.host.nodes_per_socket",
    "threads": "hosts.host.threads_per_core",
    "node_memory": "hosts.host.memory_per_node",
    "vcpus": "vms.vm.vcpus",
    "cores_per_socket": "vms.vm.cores_per_socket",
    "memory": "vms.vm.memory",
    "cpu_hot_add": "vms.vm.cpu_hot_add",
    "prefer_ht": "vms.vm.numa.prefer_ht",
    "follow_cores_per_socket": "vms.vm.numa.follow_cores_per_socket",
    "vcpu_min": "vms.vm.numa.vcpu_min",
    "max_per_virtual_node": "vms.vm.numa.max_per_virtual_node",
    "cores_per_node": "vms.vm.numa.cores_per_node",
    "expose_on_cpu_hot_add": "vms.vm.numa.expose_on_cpu_hot_add",
    "sized_on": "vms.vm.numa.sized_on",
    "cells": "vms.vm.numa.cells",
    "nodes": "vms.vm.numa.nodes",
}
"""Where in the scenario each argument of `layout` goes; a mistake there is a mistake of the argument."""

_BASE = {
    "name": "vnuma",
    "hosts": {"host": {"clock": "2.5 GHz"}},
    "vms": {"vm": {"workload": "idle", "load": 0}},
    "workloads": {"idle": {"arrivals": {"closed": {"population": 1}}, "cpu": {"mean": "1 ms"}}},
}


def layouts(scenario: Scenario) -> dict[str, Layout]:
    """The virtual NUMA of every machine of a scenario, by name; see docs/models/vnuma.md for the keys."""
    found: dict[str, Layout] = json.loads(_core.vnuma(scenario.json))["vms"]
    return found


def layout(
    *,
    hypervisor: str,
    sockets: int,
    cores: int,
    vcpus: int,
    cores_per_socket: int | None = None,
    nodes_per_socket: int = 1,
    threads: int = 2,
    memory: str | None = None,
    node_memory: str | None = None,
    cpu_hot_add: bool = False,
    prefer_ht: bool = False,
    follow_cores_per_socket: bool = False,
    vcpu_min: int | None = None,
    max_per_virtual_node: int | None = None,
    cores_per_node: int | None = None,
    expose_on_cpu_hot_add: bool = False,
    sized_on: Mapping[str, int] | None = None,
    cells: Sequence[int] = (),
    nodes: Sequence[int] = (),
) -> Layout:
    """The virtual NUMA of one machine on one empty host.

    The host has `sockets` of `cores` cores, each of them `nodes_per_socket` NUMA nodes of `node_memory` (such as
    `128 GiB`; by default that, or 10 GiB per core where it is more). The machine has `vcpus` vCPUs and `memory`, by
    default 4 GiB per vCPU. The other arguments are the options of `vms.NAME.numa` in a scenario.

    Raises ScenarioError; the path of a mistake is the name of the argument.
    """
    arguments = {**locals()}
    # a count that is out of range is one mistake, not also one of a memory that follows from it
    if memory is None:
        arguments["memory"] = f"{MEMORY_PER_VCPU_GIB * min(max(vcpus, 1), 768)} GiB"
    if node_memory is None:
        node_cores = min(cores, 256) // max(nodes_per_socket, 1)
        arguments["node_memory"] = f"{max(NODE_MEMORY_GIB, NODE_MEMORY_PER_CORE_GIB * node_cores)} GiB"
    given = {
        PATHS[name]: value
        for name, value in arguments.items()
        if value is not None and value is not False and value != ()
    }
    try:
        checked = scenario.loads(json.dumps(_BASE), given)
    except ScenarioError as error:
        raise ScenarioError.of(_of_argument(mistake) for mistake in error.mistakes) from None
    return layouts(checked)["vm"]


def _of_argument(mistake: Mistake) -> Mistake:
    """The mistake as one of an argument of `layout`."""
    path = next((name for name, path in PATHS.items() if f"{mistake.path}.".startswith(f"{path}.")), mistake.path)
    return replace(mistake, file="", line=None, path=path)
