"""The answers of Proxmox VE to a collection script, as one JSON object by path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.estate.truth import Estate, Host, Vm

KERNEL = "6.8.12-4-pve"
FIRST_ID = 100


def write(estate: Estate, path: Path, *, poor: bool = False) -> Path:
    """The cluster as a file; `poor` has only /cluster/status and /cluster/resources, as an auditor without nodes sees.

    A Proxmox VE cluster is one: the estate has one, and a VM is listed below its own node, whatever its affix is.
    """
    path.write_text(json.dumps(answers(estate, poor=poor)))
    return path


def answers(estate: Estate, *, poor: bool = False) -> dict[str, Any]:
    """Each answer by its path."""
    (cluster,) = estate.clusters
    of_node = {host.name: host for host in estate.hosts}
    numbered = list(enumerate(estate.vms, FIRST_ID))
    resources = [_node(host) for host in estate.hosts]
    resources += [_machine(number, vm, of_node[vm.host]) for number, vm in numbered]
    found: dict[str, Any] = {
        "/cluster/status": [
            {"type": "cluster", "name": cluster.name, "nodes": len(estate.hosts), "quorate": 1},
            *({"type": "node", "name": host.name, "online": 1} for host in estate.hosts),
        ],
        "/cluster/resources": resources,
    }
    if poor:
        return found
    found["/cluster/ha/resources"] = [{"sid": f"vm:{number}", "state": "started"} for number, _ in numbered]
    found["/cluster/ha/rules"] = []
    for host in estate.hosts:
        found[f"/nodes/{host.name}/status"] = _status(host)
    for number, vm in numbered:
        config = {"name": vm.name, "cores": vm.vcpus, "sockets": 1, "memory": str(vm.memory_mib), "ostype": "l26"}
        found[f"/nodes/{vm.host}/qemu/{number}/config"] = config
    return found


def _busy(host: Host) -> float | None:
    """The share of time that logical CPUs are busy: a core that works has one of its two threads busy."""
    return None if host.cpu_pct is None else host.cpu_pct / 100 / 2


def _node(host: Host) -> dict[str, Any]:
    size = host.memory_mib * 2**20
    node = {"type": "node", "id": f"node/{host.name}", "node": host.name, "status": "online", "cgroup-mode": 2}
    used = {} if host.memory_pct is None else {"mem": round(size * host.memory_pct / 100)}
    cpu = {} if host.cpu_pct is None else {"cpu": _busy(host)}
    return {**node, "maxcpu": 2 * host.cores, "maxmem": size, **used, **cpu}


def _status(host: Host) -> dict[str, Any]:
    kind, size = host.hardware, host.memory_mib * 2**20
    used = {} if host.memory_pct is None else {"used": round(size * host.memory_pct / 100)}
    return {
        "cpuinfo": {
            **{"cores": host.cores, "cpus": 2 * host.cores, "sockets": kind.sockets, "model": kind.cpu_model},
            **{"mhz": "1199.987", "hvm": "1", "user_hz": 100},
        },
        **({} if host.cpu_pct is None else {"cpu": _busy(host)}),
        "memory": {"total": size, **used},
        "kversion": f"Linux {KERNEL} #1 SMP PREEMPT_DYNAMIC",
        "current-kernel": {"sysname": "Linux", "release": KERNEL, "machine": "x86_64"},
        "pveversion": "pve-manager/8.3.0/c1689ccb1065a83b",
    }


def _machine(number: int, vm: Vm, host: Host) -> dict[str, Any]:
    machine = {
        **{"type": "qemu", "id": f"qemu/{number}", "vmid": number, "node": vm.host, "name": vm.name, "template": 0},
        **{"status": "running" if vm.on else "stopped", "maxcpu": vm.vcpus, "maxmem": vm.memory_mib * 2**20},
    }
    if vm.on and vm.demand_mhz is not None:
        machine["cpu"] = vm.demand_mhz / vm.vcpus / host.hardware.clock_mhz
    if vm.on and vm.consumed_mib is not None:
        machine["memhost"] = vm.consumed_mib * 2**20
    return machine
