"""The answers of Proxmox VE to a collection script, as one JSON object by path."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.estate.truth import Estate, Host, Vm

KERNEL = "6.14.8-2-pve"
FIRST_ID = 100
MIB = 2**20
FIRST_TIME = 1_790_000_000
STEPS_OF_DAY = 48
NOW = 0.3
"""The present use of a cluster with a history, as a part of its mean."""


def write(estate: Estate, path: Path, *, poor: bool = False) -> Path:
    """The cluster as a file; `poor` has only /cluster/status and /cluster/resources.

    A Proxmox VE cluster is one: the estate has one, and a VM is listed below its own node, whatever its affix is.
    """
    path.write_text(json.dumps(answers(estate, poor=poor)))
    return path


def answers(estate: Estate, *, poor: bool = False, month: bool = False) -> dict[str, Any]:
    """Each answer by its path.

    With `month`, what the estate uses is the mean of a month, and the present moment is another.
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
    return found


def _add_month(found: dict[str, Any], estate: Estate) -> None:
    """Add the history of nodes and guests, and change the present moment."""
    of_node = {host.name: host for host in estate.hosts}
    for host in estate.hosts:
        if (busy := _busy(host)) is not None:
            found[f"/nodes/{host.name}/rrddata"] = _history(busy, 2 * host.cores, "memused")
            found[f"/nodes/{host.name}/status"]["cpu"] = NOW * busy
    for number, vm in enumerate(estate.vms, FIRST_ID):
        if vm.on and vm.demand_mhz is not None:
            share = vm.demand_mhz / vm.vcpus / of_node[vm.host].hardware.clock_mhz
            found[f"/nodes/{vm.host}/qemu/{number}/rrddata"] = _history(share, vm.vcpus, "mem")
    for each in found["/cluster/resources"]:
        if "cpu" in each:
            each["cpu"] *= NOW


def _history(share: float, cpus: int, memory: str) -> list[dict[str, float]]:
    """Steps of 30 min with this mean, as days with a busy half."""
    shares = [share * (1.5 if step % STEPS_OF_DAY < STEPS_OF_DAY / 2 else 0.5) for step in range(4 * STEPS_OF_DAY)]
    return [
        {"time": FIRST_TIME + 1_800 * step, "cpu": each, "maxcpu": cpus, "netin": 1e6 * each, memory: 2**30}
        for step, each in enumerate(shares)
    ]


def offline(answers: Mapping[str, Any], gone: str, *, recently: bool = False) -> dict[str, Any]:
    """The answers while a node is offline. `recently`: the list of resources has its last figures for 5 minutes.

    See PVE/API2Tools.pm, `extract_node_stats` and `extract_vm_stats`, and pmxcfs/status.c, `rrd_dump`.
    """
    found = {path: answer for path, answer in answers.items() if not path.startswith(f"/nodes/{gone}/")}
    of_all = {"type", "id", "node", "vmid"}
    resources: list[dict[str, Any]] = []
    for each in answers["/cluster/resources"]:
        of_node = each.get("node") == gone
        left = each if recently or not of_node else {key: each[key] for key in of_all & each.keys()}
        if of_node and each["type"] == "node":
            left = {key: value for key, value in left.items() if key not in ("cpu", "mem", "disk", "uptime")}
            left["status"] = "offline"
        elif of_node and not recently:
            left["status"] = "unknown"
        resources.append(left)
    found["/cluster/resources"] = resources
    return found


def without_audit(answers: Mapping[str, Any], nodes: Sequence[str]) -> dict[str, Any]:
    """The answers to a token without Sys.Audit on these nodes (PVE/API2Tools.pm, `extract_node_stats`)."""
    kept = {"type", "id", "node", "status", "level", "cgroup-mode"}
    resources = [
        {key: value for key, value in each.items() if key in kept}
        if each["type"] == "node" and each["node"] in nodes
        else each
        for each in answers["/cluster/resources"]
    ]
    return {**answers, "/cluster/resources": resources}


def _busy(host: Host) -> float | None:
    """The share of time that logical CPUs are busy: a core that works has one of its two threads busy."""
    return None if host.cpu_pct is None else host.cpu_pct / 100 / 2


def _node(host: Host) -> dict[str, Any]:
    size = host.memory_mib * MIB
    used = None if host.memory_pct is None else round(size * host.memory_pct / 100)
    return node(host.name, 2 * host.cores, size, used, _busy(host))


def _status(host: Host) -> dict[str, Any]:
    kind, size = host.hardware, host.memory_mib * MIB
    used = None if host.memory_pct is None else round(size * host.memory_pct / 100)
    return status(kind.cpu_model, kind.sockets, host.cores, 2, size, used, _busy(host))


def _machine(number: int, vm: Vm, host: Host) -> dict[str, Any]:
    cpu = vm.demand_mhz / vm.vcpus / host.hardware.clock_mhz if vm.on and vm.demand_mhz is not None else None
    memory = vm.consumed_mib * MIB if vm.on and vm.consumed_mib is not None else None
    return guest("qemu", number, vm.name, vm.host, vm.vcpus, vm.memory_mib * MIB, cpu, memory, on=vm.on)


def node(name: str, cpus: int, size: int, used: int | None, busy: float | None) -> dict[str, Any]:
    """A node in /cluster/resources: logical CPUs, bytes of memory and how much is used, the busy share of CPUs."""
    measured = {"mem": used, "cpu": busy, "uptime": 86_400}
    return {
        **{"type": "node", "id": f"node/{name}", "node": name, "status": "online", "level": "", "cgroup-mode": 2},
        **{"maxcpu": cpus, "maxmem": size, "maxdisk": 10**11, "disk": 10**10},
        **{key: value for key, value in measured.items() if value is not None},
    }


def status(
    model: str,
    sockets: int,
    cores: int,
    threads: int,
    size: int,
    used: int | None,
    busy: float | None,
    *,
    mhz: str = "1199.987",
) -> dict[str, Any]:
    """The status of a node, with the cores of all sockets and the present clock of the first CPU."""
    return {
        "cpuinfo": {
            **{"cores": cores, "cpus": threads * cores, "sockets": sockets, "model": model},
            **{"mhz": mhz, "hvm": "1", "user_hz": 100, "flags": "fpu vme"},
        },
        **({} if busy is None else {"cpu": busy}),
        "memory": {"total": size, **({} if used is None else {"used": used, "free": size - used})},
        "kversion": f"Linux {KERNEL} #1 SMP PREEMPT_DYNAMIC",
        "current-kernel": {"sysname": "Linux", "release": KERNEL, "machine": "x86_64", "version": "#1 SMP"},
        "pveversion": "pve-manager/9.1.1/c1689ccb1065a83b",
        "loadavg": ["0.10", "0.20", "0.30"],
    }


def guest(
    kind: str,
    number: int,
    name: str,
    on_node: str,
    cpus: float,
    size: int,
    cpu: float | None,
    memory: int | None,
    *,
    on: bool = True,
) -> dict[str, Any]:
    """A guest in /cluster/resources: `cpu` is a share of `cpus`, `memory` what it occupies of its node's, in bytes."""
    occupied = "mem" if kind == "lxc" else "memhost"
    measured = {"cpu": cpu if on else 0, occupied: memory if on else 0}
    return {
        **{"type": kind, "id": f"{kind}/{number}", "vmid": number, "node": on_node, "name": name, "template": 0},
        **{"status": "running" if on else "stopped", "maxcpu": cpus, "maxmem": size},
        **{key: value for key, value in measured.items() if value is not None},
    }
