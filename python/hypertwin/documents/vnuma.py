"""Output of `hypertwin vnuma`: the NUMA layout of a VM. See docs/models/vnuma.md."""

from __future__ import annotations

from typing import TypedDict


class HostTopology(TypedDict):
    """Host that a layout is for."""

    sockets: int
    cores_per_socket: int
    nodes: int
    """NUMA nodes. Nodes of one socket are consecutive."""
    cores_per_node: int
    threads_per_core: int
    memory_per_node_bytes: int


class Part(TypedDict):
    """Memory on a node of the host."""

    node: int
    bytes: int


class Client(TypedDict):
    """NUMA client: vCPUs placed together on one node."""

    first_vcpu: int
    vcpus: int
    home: int
    """Node at power-on."""
    memory: list[Part]
    local_bytes: int
    remote_bytes: int


class LayoutWarning(TypedDict):
    """A problem of a layout."""

    code: str
    text: str


class Layout(TypedDict):
    """NUMA nodes that the guest sees, and their location on the host."""

    host: str
    hypervisor: str
    host_topology: HostTopology
    vcpus: int
    cores_per_socket: int
    memory_bytes: int
    vnuma: bool
    vpds: list[int]
    """vCPUs of each virtual node that the guest sees."""
    ppds: list[int]
    """vCPUs of each NUMA client."""
    homes: list[int]
    """Node of each NUMA client at power-on."""
    settled_homes: list[int]
    """Node of each NUMA client after the rebalancer has acted."""
    collapsed: bool
    """True if the rebalancer puts all clients on one node that has too few cores."""
    clients: list[Client]
    warnings: list[LayoutWarning]
