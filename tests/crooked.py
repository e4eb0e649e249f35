"""A cluster in which no two figures are alike, so that a weight, a unit or a term left out shows.

| host | cores x clock | memory | its own | VMs (vCPUs, memory) |
|---|---|---|---|---|
| one | 8 x 2 GHz | 100 GiB | 7 GiB | app (4, 40 GiB), which reserves more than it uses |
| two | 2 x 6 x 3 GHz | 2 x 80 GiB | 11 GiB | db (8, 44 GiB); cvm (3, 24 GiB), a storage appliance |
| many-1 | 10 x 2.5 GHz | 130 GiB | 5 GiB | fixed (2, 6 GiB), bound to CPUs; beside (2, 9 GiB), kept with it |
| many-2 | as many-1 | | | files (3, 20 GiB): two virtual disks of two policies |
| many-3 | as many-1 | | | idle (1, 4 GiB) |

In all 127 GHz of 50 cores, 650 GiB, 33 of them hypervisors'; guests have 20 vCPUs, and all VMs 147 GiB.
"""

from __future__ import annotations

from typing import Any

import yaml

from hypertwin import scenario
from hypertwin.scenario import Scenario

GIB = 2**30


def _vm(host: str, vcpus: int, memory: int, p95_mhz: int, consumed: int, **more: Any) -> dict[str, Any]:
    measured = {
        "over": "30 d",
        "cpu_mhz": 0.6 * p95_mhz,
        "cpu_p95_mhz": p95_mhz,
        "cpu_peak_mhz": 1.7 * p95_mhz,
        "memory_consumed": f"{consumed} GiB",
    }
    own = {"host": host, "vcpus": vcpus, "memory": f"{memory} GiB", "workload": "plain"}
    return {**own, "measured": measured, **more}


def crooked(*, measured: bool = True, **sets: Any) -> Scenario:
    """The cluster; without `measured` nothing was measured. `sets` are changes by path, dots written as `__`."""
    work = {"arrivals": {"open": {"rate": "100 /s"}}, "cpu": {"mean": "5 ms"}, "dirty_rate": "0 MB/s"}
    own = {"hypervisor": "esxi-8.0"}
    text: dict[str, Any] = {
        "name": "crooked",
        "hosts": {
            "one": {**own, "sockets": 1, "cores_per_socket": 8, "clock": "2 GHz", "memory_per_node": "100 GiB"},
            "two": {
                **own,
                **{"sockets": 2, "cores_per_socket": 6, "threads_per_core": 1},
                **{"clock": "3 GHz", "memory_per_node": "80 GiB"},
            },
            "many": {
                **own,
                **{"count": 3, "sockets": 1, "cores_per_socket": 10, "clock": "2.5 GHz", "memory_per_node": "130 GiB"},
                "migration": {"setup": "3 s", "resume": "400 ms"},
            },
        },
        "vms": {
            "app": _vm("one", 4, 40, 1000, 20, reservation="3 GHz", memory_reservation="31 GiB"),
            "db": _vm("two", 8, 44, 5000, 33),
            "cvm": _vm("two", 3, 24, 2000, 24, storage_appliance=True),
            "fixed": _vm("many-1", 2, 6, 900, 5, affinity="0-1"),
            "beside": _vm("many-1", 2, 9, 700, 8),
            "files": _vm(
                *("many-2", 3, 20, 1300, 11),
                **{"storage": "mesh", "vdisks": 2, "vdisk_policies": ["three", "two"], "workload": "slow"},
            ),
            "idle": _vm("many-3", 1, 4, 100, 1),
        },
        "workloads": {"plain": work, "slow": {**work, "reference_clock": "1 GHz"}},
        "storage": {
            "mesh": {
                "kind": "chunk-store",
                "nodes": "many",
                "redundancy": "replicas-2",
                "policies": {name: {"redundancy": f"replicas-{copies}"} for name, copies in (("two", 2), ("three", 3))},
                "devices": {"kind": "nvme", "per_node": 2, "capacity": "1 TB"},
            }
        },
        "rules": [
            {"name": "pair", "kind": "keep-together", "vms": ["fixed", "beside"], "mandatory": True},
            {"name": "wish", "kind": "run-on", "vms": ["app"], "hosts": ["one", "two"], "mandatory": False},
        ],
    }
    for name, hypervisor_memory in (("one", 7), ("two", 11), ("many", 5)):
        text["hosts"][name]["hypervisor_memory"] = f"{hypervisor_memory} GiB"
    if not measured:
        for vm in text["vms"].values():
            del vm["measured"]
    return scenario.loads(yaml.safe_dump(text), {path.replace("__", "."): value for path, value in sets.items()})
