"""The answers of Proxmox VE to a collection script, as one JSON object by path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.estate.truth import Estate, Host, Vm

KERNEL = "6.8.12-4-pve"
FIRST_ID = 100
FIRST_TIME = 1_790_000_000
STEPS_OF_DAY = 48
NOW = 0.3
"""The present use of a cluster with a history, as a part of its mean."""


def write(estate: Estate, path: Path, *, poor: bool = False) -> Path:
    """The cluster as a file; `poor` has only /cluster/status and /cluster/resources, as an auditor without nodes sees.

    A Proxmox VE cluster is one: the estate has one, and a VM is listed below its own node, whatever its affix is.
    """
    path.write_text(json.dumps(answers(estate, poor=poor)))
    return path


def answers(estate: Estate, *, poor: bool = False, month: bool = False, offline: str = "") -> dict[str, Any]:
    """Each answer by its path.

    With `month`, what the estate uses is the mean of a month, and the present moment is another. A node that is
    `offline` says nothing, and nothing is known of its guests but that they exist.
    """
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
    if month:
        _add_month(found, estate)
    if offline:
        _turn_off(found, offline)
    return found


def _add_month(found: dict[str, Any], estate: Estate) -> None:
    """Add the history of nodes and guests, and change the present moment."""
    of_node = {host.name: host for host in estate.hosts}
    for host in estate.hosts:
        if (busy := _busy(host)) is not None:
            found[f"/nodes/{host.name}/rrddata"] = _history(busy, 2 * host.cores)
            found[f"/nodes/{host.name}/status"]["cpu"] = NOW * busy
    for number, vm in enumerate(estate.vms, FIRST_ID):
        if vm.on and vm.demand_mhz is not None:
            share = vm.demand_mhz / vm.vcpus / of_node[vm.host].hardware.clock_mhz
            found[f"/nodes/{vm.host}/qemu/{number}/rrddata"] = _history(share, vm.vcpus)
    for each in found["/cluster/resources"]:
        if "cpu" in each:
            each["cpu"] *= NOW


def _history(share: float, cpus: int) -> list[dict[str, float]]:
    """Steps of 30 min with this mean, as days with a busy half."""
    shares = [share * (1.5 if step % STEPS_OF_DAY < STEPS_OF_DAY / 2 else 0.5) for step in range(4 * STEPS_OF_DAY)]
    return [
        {"time": FIRST_TIME + 1_800 * step, "cpu": each, "maxcpu": cpus, "netin": 1e6 * each, "mem": 2**30}
        for step, each in enumerate(shares)
    ]


def _turn_off(found: dict[str, Any], node: str) -> None:
    for path in [path for path in found if path.startswith(f"/nodes/{node}/")]:
        del found[path]
    for each in found["/cluster/resources"]:
        if each.get("node") == node:
            for key in set(each) - {"type", "id", "node", "vmid", "name", "template"}:
                del each[key]
            each["status"] = "offline" if each["type"] == "node" else "unknown"


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
