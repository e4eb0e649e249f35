"""Small clusters to replace, and host types to replace them with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from hypertwin.plan.refresh.host_type import HostType

OLD = "Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz"
NEW = "Intel Xeon Gold 6548Y+"


def host(**keys: Any) -> dict[str, Any]:
    """A host with two sockets of 16 cores of 2017."""
    made = {
        **{"sockets": 2, "cores_per_socket": 16, "clock": "2.1 GHz", "memory_per_node": "192 GiB"},
        **{"hypervisor": "esxi-8.0", "cpu_model": OLD},
    }
    return {**made, **keys}


def cluster(
    hosts: int = 4,
    vms: int = 40,
    *,
    mhz: float | None = 1_500,
    memory: str = "16 GiB",
    vcpus: int = 4,
    more: Mapping[str, Any] | None = None,
    **of_host: Any,
) -> dict[str, Any]:
    """Equal VMs on equal hosts, each with a measured demand."""
    measured = {} if mhz is None else {"cpu_mhz": mhz, "cpu_p95_mhz": mhz, "at": "2026-11-01", "over": "7 d"}
    made = {
        "name": "old",
        "run": {"duration": "4 s", "warmup": "1 s", "replications": 1},
        "hosts": {"old": {**host(**of_host), "count": hosts}},
        "vms": {
            "web": {"count": vms, "vcpus": vcpus, "memory": memory, "workload": "busy", "measured": measured},
        },
        "workloads": {"busy": {"arrivals": {"open": {"rate": "20 /s"}}, "cpu": {"mean": "20 ms"}}},
    }
    return {**made, **(more or {})}


def beside(made: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario with a second cluster `other`, of other hosts and VMs."""
    hosts = {**made["hosts"], "apart": {**host(cpu_model="unheard of"), "count": 2, "cluster": "other"}}
    return {**made, "hosts": hosts, "vms": {**made["vms"], "apart": {**made["vms"]["web"], "cluster": "other"}}}


def write(folder: Path, name: str, **keys: Any) -> Path:
    """The file of a host type."""
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump({"name": name, **keys}), encoding="utf-8")
    return path


def types(folder: Path, **named: Mapping[str, Any]) -> list[Path]:
    """Files of host types by name."""
    return [write(folder, name, **keys) for name, keys in named.items()]


def of_type(name: str, hosts: Mapping[str, Any], **keys: Any) -> HostType:
    """A host type without a file."""
    return HostType(name, dict(hosts), **keys)
