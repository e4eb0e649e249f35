"""Six unequal nodes of Proxmox VE with Ceph whose month of history is played: the truth, and what the API answers.

The truth is a scenario that no reader made: its `measured` figures are those of the demand that each guest has over
30 days, and its load at each time of day is simulated. The answers have what nodes and guests show in these runs: the
time of hardware threads, with the hypervisor's work and with the delay of threads that share a core.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from tests.estate import proxmox, proxmox_ceph

import hypertwin

GIB = 2**30
STEP_S = 1_800
STEPS_OF_DAY = 48
DAYS = 30
END = 1_790_000_000 // STEP_S * STEP_S
LEVELS = 8
"""Times of day that are simulated."""
LONG, SHORT = 50, 500
"""Bursts per GHz of demand and second: those that an import assumes, of 20 million cycles, and much shorter ones."""
CLUSTER = "lab"
POOL = "vms"
OSDS = 4
OSD_BYTES = 1_920_383_410_176
STORED = 6 * 10**12
MOST_SHARE = 0.9
Figures = tuple[float, float, float]
"""Mean, 95th percentile and peak."""


@dataclass(frozen=True)
class Node:
    """A node, and how busy its guests keep it on average."""

    name: str
    cpu_model: str
    sockets: int
    cores: int
    """Of all sockets."""
    threads: int
    mhz: int
    """Nominal clock."""
    memory_gib: int
    busy: float
    """Mean demand of its guests, as a part of cores x clock."""
    filled: float
    """Part of its memory that guests have."""
    machines: int
    containers: int
    shown_mhz: str = "1199.987"
    """Present clock of its first CPU."""

    @property
    def whole_mhz(self) -> float:
        """Cores x clock."""
        return float(self.cores * self.mhz)


NODES = (
    Node("pve1", "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz", 2, 40, 2, 2_100, 384, 0.35, 0.66, 16, 4),
    Node("pve2", "Intel(R) Xeon(R) Gold 6346 CPU @ 3.10GHz", 2, 32, 2, 3_100, 512, 0.50, 0.55, 14, 5),
    Node("pve3", "Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz", 2, 24, 2, 2_500, 256, 0.55, 0.62, 9, 3),
    Node("pve4", "AMD EPYC 7543P 32-Core Processor", 1, 32, 2, 2_800, 512, 0.30, 0.70, 13, 4, "2794.750"),
    Node("pve5", "Intel(R) Xeon(R) E-2288G CPU @ 3.70GHz", 1, 8, 2, 3_700, 128, 0.45, 0.50, 3, 2),
    Node("pve6", "Intel(R) Xeon(R) Gold 6244 CPU @ 3.60GHz", 2, 16, 1, 3_600, 192, 0.40, 0.60, 5, 2),
)
"""No two are equal; the fourth does not have its clock in its name, the last has no hyper-threading."""
APART, AT_HOME, HOME = ("vm-101", "vm-121"), "vm-102", ("pve1", "pve2")
"""Rules: two guests on different nodes, and one that runs on two of them only."""
LARGE_GIB = 224
"""Memory of the first guest of the fourth node, for which not every failure leaves room."""


@dataclass(frozen=True)
class Guest:
    """A guest with its demand over the month."""

    number: int
    name: str
    kind: str
    """`qemu` or `lxc`."""
    node: Node
    vcpus: int
    memory_mib: int
    consumed_mib: int
    restarts: bool
    """Whether it is a resource of HA."""
    shares: Sequence[float]
    """Demand in each step, as a part of its vCPUs."""
    typical: Sequence[float]
    """Demand at each simulated time of day without noise."""

    @property
    def whole_mhz(self) -> float:
        """vCPUs x clock."""
        return float(self.vcpus * self.node.mhz)

    @property
    def path(self) -> str:
        """Of its answers."""
        return f"/nodes/{self.node.name}/{self.kind}/{self.number}"


@dataclass(frozen=True)
class Played:
    """The cluster as it is, and as it answers."""

    guests: Sequence[Guest]
    truth: dict[str, Any]
    """The scenario, with the mean demand as its load."""
    answers: dict[str, Any]
    """By path."""
    demand_mhz: Figures
    """Of all guests together."""

    def without(self, node: str) -> dict[str, Any]:
        """The truth of the others, without a node and its guests."""
        return truth(
            [guest for guest in self.guests if guest.node.name != node], [each for each in NODES if each.name != node]
        )


def figures(values: Any) -> Figures:
    """The mean, the 95th percentile and the peak."""
    return float(np.mean(values)), float(np.percentile(values, 95)), float(np.max(values))


@cache
def make(seed: int = 1, bursts: int = LONG) -> Played:
    """The cluster; the same for the same seed."""
    guests = _guests(seed)
    return Played(guests, truth(guests, NODES), _answers(guests, bursts), figures(_together(guests)))


def _guests(seed: int) -> list[Guest]:
    draw, noise = random.Random(seed), np.random.default_rng(seed)
    found: list[Guest] = []
    for node in NODES:
        kinds = ["qemu"] * node.machines + ["lxc"] * node.containers
        weights = [draw.choice((1, 2, 2, 4, 4, 8)) * (0.4 if kind == "lxc" else 1) for kind in kinds]
        spare = node.memory_gib * 1024 * node.filled
        large = LARGE_GIB * 1024 if node.name == "pve4" else 0
        sizes = [max(512, round((spare - large) * weight / sum(weights) / 512) * 512) for weight in weights]
        if large:
            sizes[0] = large
        vcpus = [draw.choice((1, 2, 2)) if kind == "lxc" else draw.choice((2, 4, 4, 8, 8)) for kind in kinds]
        asked = [count * draw.uniform(0.2, 1.0) for count in vcpus]
        factor = node.busy * node.cores / sum(asked)
        for kind, size, count, wanted in zip(kinds, sizes, vcpus, asked, strict=True):
            number = 100 + len(found)
            mean, swing, phase = min(wanted * factor / count, 0.6), draw.uniform(0, 0.5), draw.uniform(0, STEPS_OF_DAY)
            steps = np.arange(DAYS * STEPS_OF_DAY)
            usual = mean * (1 + swing * np.sin(2 * np.pi * (steps - phase) / STEPS_OF_DAY))
            shares = np.clip(usual * noise.lognormal(-0.005, 0.1, len(steps)), 0.001, MOST_SHARE)
            found.append(
                Guest(
                    number,
                    f"{'ct' if kind == 'lxc' else 'vm'}-{number}",
                    kind,
                    node,
                    count,
                    size,
                    round(size * draw.uniform(0.5, 0.9)),
                    number % 9 != 0,
                    shares,
                    usual[: STEPS_OF_DAY : STEPS_OF_DAY // LEVELS],
                )
            )
    return found


def _together(guests: Sequence[Guest]) -> Any:
    """MHz of all guests in each step."""
    return sum(guest.shares * guest.whole_mhz for guest in guests)


def truth(
    guests: Sequence[Guest], nodes: Sequence[Node], level: int | None = None, bursts: int = LONG
) -> dict[str, Any]:
    """The scenario of these guests, at a simulated time of day or with their mean load, as its author writes it."""
    when = {"over": f"{DAYS} d", "counter": "demand"}
    named = ("cpu_mhz", "cpu_p95_mhz", "cpu_peak_mhz")
    vms = {}
    for guest in guests:
        share = np.mean(guest.shares) if level is None else guest.typical[level]
        measured = dict(zip(named, figures(guest.shares * guest.whole_mhz), strict=True))
        vms[guest.name] = {
            **{"vcpus": guest.vcpus, "memory": f"{guest.memory_mib} MiB", "host": guest.node.name},
            **{"memory_touched": f"{guest.consumed_mib} MiB", "workload": guest.node.name},
            **{"load": round(float(share * guest.whole_mhz / 1_000), 6), "storage": POOL, "vdisks": 1},
            **({} if guest.restarts else {"restart_priority": "disabled"}),
            "measured": {**when, **measured, "memory_consumed": f"{guest.consumed_mib} MiB"},
        }
    return {
        "name": "six-nodes",
        "hosts": {node.name: _host(node) for node in nodes},
        "clusters": {
            CLUSTER: {
                "ha": {"enabled": True, "policy": "proxmox"},
                "measured": {**when, **dict(zip(named, figures(_together(guests)), strict=True))},
            }
        },
        "rules": _rules(set(vms), {node.name for node in nodes}),
        "storage": {
            POOL: {
                **{"kind": "ceph", "nodes": [node.name for node in nodes], "redundancy": "replicas-3:2"},
                "devices": {"device": "PM9A3", "per_node": OSDS, "capacity": f"{OSD_BYTES} B"},
                "stored": f"{STORED} B",
            }
        },
        "vms": vms,
        "workloads": {
            node.name: {
                "arrivals": {"open": {"rate": f"{bursts} /s"}},
                "cpu": {"mean": f"{1e6 / node.mhz / bursts:.9f} ms", "cv": 0},
            }
            for node in nodes
        },
        "run": {"duration": "8 s", "warmup": "1 s", "replications": 1, "sample_interval": "1 s"},
    }


def _rules(vms: set[str], nodes: set[str]) -> list[dict[str, Any]]:
    apart = [name for name in APART if name in vms]
    home = [name for name in HOME if name in nodes]
    return [
        *([{"name": "apart", "kind": "keep-apart", "vms": apart, "mandatory": True}] if len(apart) > 1 else []),
        *([{"name": "home", "kind": "run-on", "vms": [AT_HOME], "hosts": home, "mandatory": True}] if home else []),
    ]


def _host(node: Node) -> dict[str, Any]:
    return {
        **{"cluster": CLUSTER, "sockets": node.sockets, "cores_per_socket": node.cores // node.sockets},
        **{"threads_per_core": node.threads, "clock": f"{node.mhz} MHz", "hypervisor": "linux-6.12"},
        **{"memory_per_node": f"{node.memory_gib // node.sockets} GiB", "cpu_model": node.cpu_model},
        "hypervisor_memory": f"{4 * OSDS} GiB",
    }


def _answers(guests: Sequence[Guest], bursts: int) -> dict[str, Any]:
    runs = [hypertwin.simulate(truth(guests, NODES, level, bursts)).reports[0] for level in range(LEVELS)]
    found: dict[str, Any] = {
        "/cluster/status": [
            {"type": "cluster", "id": "cluster", "name": CLUSTER, "nodes": len(NODES), "quorate": 1, "version": 6},
            *({"type": "node", "id": f"node/{each.name}", "name": each.name, "online": 1} for each in NODES),
        ],
        "/cluster/resources": [],
        "/cluster/ha/resources": [
            {"sid": f"{'ct' if guest.kind == 'lxc' else 'vm'}:{guest.number}", "state": "started", "digest": "a1"}
            for guest in guests
            if guest.restarts
        ],
        "/cluster/ha/rules": [
            {
                **{"rule": "apart", "type": "resource-affinity", "affinity": "negative", "digest": "a1", "order": 1},
                "resources": ",".join(f"vm:{name.removeprefix('vm-')}" for name in APART),
            },
            {
                **{"rule": "home", "type": "node-affinity", "nodes": ",".join(HOME), "strict": 1, "order": 2},
                **{"resources": f"vm:{AT_HOME.removeprefix('vm-')}", "digest": "a1"},
            },
        ],
    }
    resources = found["/cluster/resources"]
    osds = [proxmox_ceph.Osd(node.name, OSD_BYTES) for node in NODES for _ in range(OSDS)]
    pools = [proxmox_ceph.pool(POOL, 3 * STORED)]
    found |= proxmox_ceph.answers(osds, pools, [{"storage": "ceph", "pool": POOL, "krbd": 0}])
    for node in NODES:
        here = [guest for guest in guests if guest.node is node]
        running = {guest.name: _running(guest, [run["vms"][guest.name] for run in runs], bursts) for guest in here}
        threads = sum(running[guest.name] * guest.vcpus for guest in here)
        typical = [sum(run["vms"][guest.name]["run_pct"] / 100 * guest.vcpus for guest in here) for run in runs]
        own = [
            run["hosts"][node.name]["utilization_pct"] / 100 * node.cores * node.threads / busy
            for run, busy in zip(runs, typical, strict=True)
        ]
        cpus = node.cores * node.threads
        busy = _by_hour(own) * threads / cpus
        used = sum(guest.consumed_mib for guest in here) * 2**20 + 4 * OSDS * GIB
        size = node.memory_gib * GIB
        resources.append(proxmox.node(node.name, cpus, size, used, float(busy[-1])))
        resources.append(
            {
                **{"type": "storage", "id": f"storage/{node.name}/ceph", "storage": "ceph", "node": node.name},
                **{"plugintype": "rbd", "status": "available", "shared": 1, "content": "images,rootdir"},
                **{"maxdisk": 14 * 10**12, "disk": STORED},
            }
        )
        found[f"/nodes/{node.name}/status"] = proxmox.status(
            node.cpu_model, node.sockets, node.cores, node.threads, size, used, float(busy[-1]), mhz=node.shown_mhz
        )
        rest = {"memtotal": size, "memused": used, "iowait": 0.0, "loadavg": 1.0, "netin": 1e6}
        found[f"/nodes/{node.name}/rrddata"] = _history(busy, cpus, rest)
        for guest in here:
            share, occupied = running[guest.name], guest.consumed_mib * 2**20
            size = guest.memory_mib * 2**20
            resources.append(
                proxmox.guest(
                    *(guest.kind, guest.number, guest.name, node.name, guest.vcpus, size),
                    *(float(share[-1]), occupied),
                )
            )
            rest = {"maxmem": size, "mem": occupied, "netin": 1e5, "diskread": 1e4}
            rest |= {"memhost": occupied} if guest.kind == "qemu" else {}
            found[f"{guest.path}/config"] = _config(guest)
            found[f"{guest.path}/status/current"] = {
                **{"vmid": guest.number, "name": guest.name, "status": "running", "cpus": guest.vcpus},
                **{"cpu": float(share[-1]), "maxmem": size, "mem": occupied, "uptime": 86_400},
                **({"balloon": size, "memhost": occupied} if guest.kind == "qemu" else {}),
            }
            found[f"{guest.path}/snapshot"] = [{"name": "current", "description": "You are here!", "running": 1}]
            found[f"{guest.path}/rrddata"] = _history(share, guest.vcpus, rest)
    return found


def _running(guest: Guest, shown: Sequence[dict[str, Any]], bursts: int) -> Any:
    """The time of threads of a guest in each step, by that of the work it did at the simulated times of day."""
    cycles = 1e9 / bursts
    work = [each["throughput_per_s"] * cycles / 1e6 / guest.whole_mhz for each in shown]
    return guest.shares * _by_hour([each["run_pct"] / 100 / done for each, done in zip(shown, work, strict=True)])


def _by_hour(ratios: Sequence[float]) -> Any:
    """A figure of each time of day, in each step."""
    at = np.arange(DAYS * STEPS_OF_DAY) % STEPS_OF_DAY
    every = STEPS_OF_DAY / LEVELS
    return np.interp(at, np.arange(LEVELS + 1) * every, [*ratios, ratios[0]])


def _history(shares: Any, cpus: float, rest: dict[str, float]) -> list[dict[str, float]]:
    first = END - DAYS * STEPS_OF_DAY * STEP_S
    return [
        {"time": first + STEP_S * step, "cpu": round(float(share), 9), "maxcpu": cpus, **rest}
        for step, share in enumerate(shares)
    ]


def _config(guest: Guest) -> dict[str, Any]:
    disk = f"ceph:vm-{guest.number}-disk-0,size=32G"
    if guest.kind == "lxc":
        return {
            **{"hostname": guest.name, "cores": guest.vcpus, "memory": guest.memory_mib, "swap": 512, "arch": "amd64"},
            **{"ostype": "debian", "rootfs": disk, "unprivileged": 1, "digest": "a1"},
        }
    return {
        **{"name": guest.name, "cores": guest.vcpus, "sockets": 1, "memory": str(guest.memory_mib), "ostype": "l26"},
        **{"scsihw": "virtio-scsi-single", "scsi0": f"{disk},iothread=1", "boot": "order=scsi0", "digest": "a1"},
        **{"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0", "agent": "1", "meta": "creation-qemu=10.0.2"},
    }
