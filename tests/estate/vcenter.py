"""An estate as the world of a simulated vCenter Server."""

from __future__ import annotations

from typing import Any

from tests.estate.truth import Estate
from tests.vcsim import server

MIB = 2**20
HIDDEN = (
    *("hardware.cpuInfo", "hardware.memorySize", "config.product.fullName", "config.hyperThread"),
    *("config.extraConfig", "config.hardware.device", "config.hardware.numCPU", "config.hardware.memoryMB"),
    *("config.cpuAllocation", "config.memoryAllocation", "config.cpuHotAddEnabled", "snapshot"),
)
"""Properties that a user with poor rights may not read: what summaries have is left."""
CLUSTERS = ("DC0_C0", "DC0_C1")
"""How the simulated server calls its clusters, which have as many hosts each."""


def world(estate: Estate, *, poor: bool = False) -> dict[str, Any]:
    """What `tests.vcsim.server.served` takes; to a user with `poor` rights `HIDDEN` is not shown.

    The server has a VM's real host: no affix, and no host that is not known.
    """
    hosts, numbers = [], {host.name: number for number, host in enumerate(estate.hosts)}
    for host in estate.hosts:
        kind = host.hardware
        hosts.append(
            server.host(
                host.name,
                **{"Model": kind.cpu_model, "Sockets": kind.sockets, "Cores": kind.cores_per_socket, "Nodes": 2},
                **{"Hz": kind.clock_mhz * 10**6, "Memory": host.memory_mib * MIB},
                UsageMHz=round((host.cpu_pct or 0) / 100 * host.mhz),
                UsageMB=round((host.memory_pct or 0) / 100 * host.memory_mib),
            )
        )
    vms = [
        server.vm(
            vm.name,
            numbers[vm.host],
            **{"VCPUs": vm.vcpus, "MemoryMB": vm.memory_mib, "Shares": 1_000 * vm.vcpus},
            **{"Power": "poweredOn" if vm.on else "poweredOff", "Ready": 0, "Active": 0},
            **{"Usage": vm.demand_mhz or 0, "Demand": vm.demand_mhz or 0, "Consumed": vm.consumed_mib or 0},
        )
        for vm in estate.vms
    ]
    hidden = {"Hidden": HIDDEN} if poor else {}
    return {"Clusters": len(estate.clusters), "Standalone": 0, "Hosts": hosts, "VMs": vms, **hidden}
