"""Virtual NUMA topology of a VM: nodes, their placement, and problems.

The compiled core has the rules of each hypervisor version (docs/models/vnuma.md). This module applies them to a
scenario, or to one VM on one empty host.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from hypertwin import _core, language, scenario
from hypertwin.arguments import Option, asks_alone
from hypertwin.documents.vnuma import Layout
from hypertwin.errors import Mistake, ScenarioError
from hypertwin.scenario import Scenario

MEMORY_PER_VCPU_GIB = 4
"""Default memory of a VM per vCPU, in GiB."""

NODE_MEMORY_GIB = 128
"""Minimum of the default memory of a NUMA node, in GiB."""

NODE_MEMORY_PER_CORE_GIB = 10
"""Default memory of a NUMA node per core, in GiB, so that two vCPUs on each core still have local memory."""


def _sized_on(text: str) -> dict[str, int]:
    sockets, _, cores = text.lower().partition("x")
    if not (sockets.isdecimal() and cores.isdecimal()):
        raise ValueError(f"{text!r} is not SOCKETSxCORES, for example 2x20")
    return {"sockets": int(sockets), "cores_per_socket": int(cores)}


def _counts(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise ValueError(f"{text!r} is not a list of numbers, for example 8,8")
    return [int(part) for part in parts]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """VM and its empty host. For options of a hypervisor see `vms.NAME.numa` in docs/scenario.md."""

    hypervisor: Annotated[str, Option("Hypervisor and version, e.g. esxi-6.5.", "NAME", offered=language.hypervisors)]
    sockets: Annotated[int, Option("Sockets of the host.", "N")]
    cores: Annotated[int, Option("Physical cores of one socket.", "N")]
    vcpus: Annotated[int, Option("vCPUs of the VM.", "N")]
    cores_per_socket: Annotated[int | None, Option("Cores of one virtual socket (default: 1).", "N")] = None
    nodes_per_socket: Annotated[int, Option("NUMA nodes of one socket: AMD NPS, Intel sub-NUMA clustering.", "N")] = 1
    threads: Annotated[int, Option("Hardware threads of one core.", "N")] = 2
    memory: Annotated[str | None, Option("Memory of the VM (default: 4 GiB per vCPU).", "SIZE")] = None
    node_memory: Annotated[
        str | None, Option("Memory of one NUMA node (default: 128 GiB, or 10 GiB per core if more).", "SIZE")
    ] = None
    cpu_hot_add: Annotated[bool, Option("ESXi: CPU hot-add is enabled.")] = False
    prefer_ht: Annotated[bool, Option("ESXi numa.vcpu.preferHT: hardware threads count as cores.")] = False
    follow_cores_per_socket: Annotated[
        bool,
        Option("ESXi numa.vcpu.followcorespersocket: one virtual node per socket."),
    ] = False
    vcpu_min: Annotated[int | None, Option("ESXi numa.vcpu.min: fewest vCPUs for virtual nodes (default: 9).", "N")] = (
        None
    )
    max_per_virtual_node: Annotated[
        int | None, Option("ESXi numa.vcpu.maxPerVirtualNode: most vCPUs of a virtual node.", "N")
    ] = None
    cores_per_node: Annotated[int | None, Option("ESXi 8.0 coresPerNumaNode: vCPUs of one virtual node.", "N")] = None
    expose_on_cpu_hot_add: Annotated[
        bool,
        Option("ESXi 8.0 exposeVnumaOnCpuHotadd: show nodes also with hot-add."),
    ] = False
    sized_on: Annotated[
        Mapping[str, int] | None,
        Option("ESXi before 8.0: the host of the first power-on.", "SOCKETSxCORES", reads=_sized_on),
    ] = None
    cells: Annotated[Sequence[int], Option("Linux: vCPUs of each libvirt cell.", "N,N,...", reads=_counts)] = ()
    nodes: Annotated[
        Sequence[int], Option("Linux: the host's node, from 0, of each cell.", "N,N,...", reads=_counts)
    ] = ()


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
"""Path in the scenario of each argument of `layout`. A problem at the path is reported for the argument."""

_BASE = {
    "name": "vnuma",
    "hosts": {"host": {"clock": "2.5 GHz"}},
    "vms": {"vm": {"workload": "idle", "load": 0}},
    "workloads": {"idle": {"arrivals": {"closed": {"population": 1}}, "cpu": {"mean": "1 ms"}}},
}


def layouts(scenario: Scenario) -> dict[str, Layout]:
    """Return the virtual NUMA of every VM of a scenario, by name. See docs/models/vnuma.md for the keys."""
    found: dict[str, Layout] = json.loads(_core.vnuma(scenario.json))["vms"]
    return found


@asks_alone(Asked)
def layout(asked: Asked) -> Layout:
    """Return the virtual NUMA of one VM on one empty host.

    Raises ScenarioError. The path of a problem is the name of the argument.
    """
    arguments = vars(asked).copy()
    # a count that is out of range is one mistake, not also one of a memory that follows from it
    if asked.memory is None:
        arguments["memory"] = f"{MEMORY_PER_VCPU_GIB * min(max(asked.vcpus, 1), 768)} GiB"
    if asked.node_memory is None:
        node_cores = min(asked.cores, 256) // max(asked.nodes_per_socket, 1)
        arguments["node_memory"] = f"{max(NODE_MEMORY_GIB, NODE_MEMORY_PER_CORE_GIB * node_cores)} GiB"
    given = {
        PATHS[name]: value
        for name, value in arguments.items()
        if value is not None and value is not False and value not in ((), [])
    }
    try:
        checked = scenario.loads(json.dumps(_BASE), given)
    except ScenarioError as error:
        raise ScenarioError.of(_of_argument(mistake) for mistake in error.mistakes) from None
    return layouts(checked)["vm"]


def _of_argument(mistake: Mistake) -> Mistake:
    """Return the problem, with an argument of `layout` as its path."""
    path = next((name for name, path in PATHS.items() if f"{mistake.path}.".startswith(f"{path}.")), mistake.path)
    return replace(mistake, file="", line=None, path=path)
