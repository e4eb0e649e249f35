"""A small healthy cluster, and the causes that are planted in it: what is changed, and what must be found then.

The changes are of physics or of configuration, never of a metric. Loads are kept well away from bands, so that the
verdict is the cause's and not chance's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

HEALTHY: Mapping[str, Any] = MappingProxyType(
    {
        "name": "healthy",
        "run": {"duration": "60 s", "warmup": "5 s", "sample_interval": "5 s"},
        "hosts": {
            "esx": {
                "count": 2,
                "sockets": 2,
                "cores_per_socket": 8,
                "clock": "2.6 GHz",
                "memory_per_node": "128 GiB",
                "hypervisor": "esxi-7.0",
            }
        },
        "vms": {
            # 16 vCPUs on each host of 16 cores, 4 x 2 of them for the database, at half of their CPU
            "db": {"count": 2, "vcpus": 8, "memory": "48 GiB", "workload": "oltp", "array": "san", "vdisks": 2},
            "app": {"count": 4, "vcpus": 4, "memory": "16 GiB", "workload": "web", "array": "san", "vdisks": 1},
        },
        "workloads": {
            "oltp": {
                "arrivals": {"closed": {"population": 24, "think": {"mean": "40 ms"}}},
                "bursts": 2,
                "cpu": {"mean": "8 ms"},
                "ios": 2,
                "working_set": "4 GiB",
            },
            "web": {
                "arrivals": {"open": {"rate": "100 /s"}},
                "cpu": {"mean": "20 ms"},
                "ios": 1,
                "working_set": "4 GiB",
            },
            "hungry": {"arrivals": {"closed": {"population": 16}}, "cpu": {"mean": "50 ms"}},
            "endless": {"arrivals": {"closed": {"population": 1}}, "cpu": {"mean": "50 ms"}},
        },
        "arrays": {
            "san": {"front_end_ports": 4, "cache": {"size": "64 GiB"}, "disks": {"kind": "sas-ssd", "count": 24}}
        },
    }
)


def _closed(population: int, cpu: str, think: str) -> dict[str, Any]:
    return {"arrivals": {"closed": {"population": population, "think": {"mean": think}}}, "cpu": {"mean": cpu}}


@dataclass(frozen=True)
class Planted:
    """One cause."""

    name: str
    code: str
    """Of the finding that must be there."""
    on: str
    """Whom it is about."""
    change: Mapping[str, Any]
    """Laid over the healthy cluster, key by key; None takes a key away."""
    follows: Mapping[str, str] = field(default_factory=dict)
    """What else is true of such a cluster: code and reason."""


_ELSEWHERE: dict[str, Any] = {"db": {"count": 1, "host": "esx-2"}, "app": {"count": 2, "host": "esx-2"}}
"""A half of the healthy machines, all on the second host: the first is free for what is planted."""

PLANTED = (
    Planted(
        "overcommitted",
        "cpu-ready",
        "batch-1",
        {
            "vms": {
                **_ELSEWHERE,
                "batch": {"count": 64, "vcpus": 1, "memory": "2 GiB", "workload": "endless", "host": "esx-1"},
            },
        },
        {"host-cpu-saturated": "64 vCPUs that never sleep use all of its CPU"},
    ),
    Planted(
        "wide-among-others",
        "co-stop",
        "wide",
        {
            "workloads": {"half": _closed(16, "20 ms", "20 ms")},
            "vms": {
                **_ELSEWHERE,
                "wide": {"vcpus": 16, "memory": "32 GiB", "workload": "half", "host": "esx-1"},
                "batch": {"count": 40, "vcpus": 1, "memory": "2 GiB", "workload": "endless", "host": "esx-1"},
            },
        },
        {
            "host-cpu-saturated": "the narrow ones use all of its CPU",
            "cpu-ready": "56 vCPUs for 32 threads: siblings of a vCPU that waits are stopped, the others wait too",
        },
    ),
    Planted(
        "hidden-saturation",
        "hidden-host-saturation",
        "esx-1",
        {
            "workloads": {"steady": _closed(8, "30 ms", "25 ms")},
            "vms": {
                **_ELSEWHERE,
                "site": {"count": 4, "vcpus": 6, "memory": "24 GiB", "workload": "steady", "host": "esx-1"},
            },
        },
        {"host-cpu-saturated": "whether its guests show it or not"},
    ),
    Planted(
        "limited",
        "cpu-limit",
        "capped",
        {"vms": {"capped": {"vcpus": 4, "memory": "16 GiB", "workload": "web", "limit": "2.6 GHz", "load": 0.6}}},
    ),
    Planted(
        "remote-memory",
        "remote-numa-memory",
        "cache",
        {"vms": {"cache": {"vcpus": 4, "memory": "160 GiB", "workload": "web", "host": "esx-1"}, "db": None}},
    ),
    Planted(
        "oversized",
        "oversized-vm",
        "spare",
        {"vms": {"spare": {"vcpus": 8, "memory": "16 GiB", "workload": "web", "load": 0.5}}},
    ),
    Planted(
        "undersized",
        "undersized-vm",
        "small",
        {"vms": {"small": {"vcpus": 2, "memory": "8 GiB", "workload": "hungry"}}},
    ),
    Planted(
        "odd-wide",
        "odd-wide-vm",
        "odd",
        {
            "workloads": {"half": _closed(13, "20 ms", "20 ms")},
            "vms": {"app": {"count": 2}, "odd": {"vcpus": 11, "memory": "48 GiB", "workload": "half"}},
        },
    ),
    Planted(
        "hot-add",
        "hot-add-wide-vm",
        "growing",
        {
            "workloads": {"half": _closed(14, "20 ms", "20 ms")},
            "vms": {
                "app": {"count": 2},
                "growing": {"vcpus": 12, "memory": "48 GiB", "workload": "half", "cpu_hot_add": True},
            },
        },
        {"remote-numa-memory": "without virtual nodes its memory is spread over both, wherever its vCPUs are"},
    ),
    Planted(
        "storage-queue",
        "storage-queue-full",
        "san-lun-4",
        {
            "run": {"duration": "20 s", "sample_interval": "2 s"},
            "hosts": {"esx": {"adapters": {"lun_depth": 4}}},
            "workloads": {
                "backup": {
                    "arrivals": {"io": {"outstanding": 64}},
                    "cpu": {"mean": "20 us"},
                    "block": "64 KiB",
                    "working_set": "200 GiB",
                }
            },
            "vms": {"backup": {"vcpus": 2, "memory": "8 GiB", "workload": "backup", "array": "san", "vdisks": 1}},
        },
        {
            "storage-latency": "who waits in line in the hypervisor has a high KAVG",
            "cpu-ready": "vCPUs that sleep between thousands of I/Os per second are ready while they wake up",
        },
    ),
    Planted(
        "monsters",
        "unbalanced-monsters",
        "esx-1",
        {
            "workloads": {"half": _closed(14, "20 ms", "20 ms")},
            "vms": {
                "db": None,
                "app": {"count": 2, "host": "esx-2"},
                "monster": {"count": 2, "vcpus": 12, "memory": "64 GiB", "workload": "half", "host": "esx-1"},
            },
        },
    ),
    Planted(
        "hyperconverged",
        "hci-overhead",
        "esx-1",
        {
            "run": {"duration": "20 s", "sample_interval": "2 s"},
            "arrays": None,
            "storage": {
                "mesh": {
                    "kind": "mirrored-mesh",
                    "nodes": "esx",
                    "deployment": "hci",
                    "redundancy": "replicas-2",
                    "devices": {"kind": "nvme", "per_node": 4, "capacity": "1.6 TB"},
                    # a service in user space that checks and compresses
                    "service": {"cpu_per_io": "250 us", "threads": 8},
                }
            },
            "workloads": {
                "scan": {
                    "arrivals": {"io": {"outstanding": 32, "rate": "15000 /s"}},
                    "cpu": {"mean": "20 us"},
                    "working_set": "200 GiB",
                }
            },
            "vms": {
                "db": {"array": None, "storage": "mesh"},
                "app": {"array": None, "storage": "mesh"},
                "scan": {"count": 2, "vcpus": 4, "memory": "8 GiB", "workload": "scan", "storage": "mesh", "vdisks": 2},
            },
        },
        {"cpu-ready": "vCPUs that sleep between thousands of I/Os per second are ready while they wake up"},
    ),
)


def laid_over(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario with a change laid over it, key by key."""
    merged: dict[str, Any] = {**base}
    for key, value in change.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            merged[key] = laid_over(merged.get(key, {}), value)
        else:
            merged[key] = value
    return merged
