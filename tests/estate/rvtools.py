"""The RVTools workbook of an estate."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from tests.estate.truth import Estate, Host, Vm
from tests.python.ingest.vmware.rvtools_files import HEADERS, Tabs, write_xlsx

MADE = "2026/06/01 08:00:00"
SDK = {"VI SDK Server": "vc1.example.com", "VI SDK UUID": "0b5c9c7c-5a0f-4b8b-9d5e-1f0a2d3c4b5a"}
HIDDEN = frozenset(
    {
        *("vHost/Speed", "vHost/HT Active", "vHost/ESX Version", "vHost/Host Power Policy", "vHost/Max EVC"),
        *("vCPU/Level", "vCPU/Shares", "vCPU/Reservation", "vCPU/Limit", "vCPU/Hot Add"),
        *("vMemory/Consumed", "vMemory/Active", "vMemory/Level", "vMemory/Shares"),
    }
)
"""Columns that an export with poor rights lacks."""


def write(estate: Estate, path: Path, *, without: Collection[str] = (), poor: bool = False) -> Path:
    """The estate as a workbook; `without` are tabs (`vCPU`) and columns (`vHost/Speed`), `poor` lacks `HIDDEN`."""
    lacks = {*without, *(HIDDEN if poor else ())}
    if not any(vm.demand_mhz is not None for vm in estate.vms):
        lacks.add("vCPU/Overall")
    kept = {tab: rows for tab, rows in tabs(estate).items() if tab not in lacks}
    headers = {tab: [column for column in HEADERS[tab] if f"{tab}/{column}" not in lacks] for tab in kept}
    return write_xlsx(kept, path, headers=headers)


def tabs(estate: Estate) -> Tabs:
    """The rows of each tab, by column."""
    made: Tabs = {tab: [] for tab in HEADERS}
    made["vHost"] = [_host(estate, host, number) for number, host in enumerate(estate.hosts)]
    for number, vm in enumerate(estate.vms):
        common = {
            **{"VM": vm.name, "Powerstate": "poweredOn" if vm.on else "poweredOff", "Template": "False", **SDK},
            **{"Datacenter": estate.datacenter(vm.cluster), "Cluster": vm.cluster, "Host": vm.told_host},
            **{"VM ID": f"vm-{number + 1000}", "VM UUID": f"500b85c1-ef0d-37fb-6897-{number:012x}"},
        }
        for tab, row in _vm(vm).items():
            made[tab].append({**common, **row})
    for number, cluster in enumerate(estate.clusters):
        hosts = [host for host in estate.hosts if host.cluster == cluster.name]
        made["vCluster"].append(
            {
                **{"Name": cluster.name, "NumHosts": len(hosts), "NumCpuCores": sum(host.cores for host in hosts)},
                **{"TotalCpu": round(sum(host.mhz for host in hosts)), "HA enabled": "True", "Failover Level": 1},
                **{"AdmissionControlEnabled": "True", "Restart Priority": "medium", "DRS enabled": "True"},
                **{"DRS default VM behavior": "fullyAutomated", "DRS vmotion rate": 3},
                **{"Object ID": f"domain-c{number + 8}", **SDK},
            }
        )
    made["vMetaData"] = [{"RVTools major version": "4.7", "RVTools version": "4.7.1.4", "xlsx creation datetime": MADE}]
    return made


def _host(estate: Estate, host: Host, number: int) -> dict[str, Any]:
    kind, on = host.hardware, estate.vms_on(host)
    return {
        **{"Host": host.name, "Datacenter": estate.datacenter(host.cluster), "Cluster": host.cluster, **SDK},
        **{"in Maintenance Mode": "False", "CPU Model": kind.cpu_model, "Speed": kind.clock_mhz},
        **{"HT Available": "True", "HT Active": "True", "# CPU": kind.sockets, "# Cores": host.cores},
        **{"Cores per CPU": kind.cores_per_socket, "CPU usage %": _whole(host.cpu_pct)},
        **{"# Memory": host.memory_mib, "Memory usage %": _whole(host.memory_pct), "# VMs": len(on)},
        **{"# vCPUs": sum(vm.vcpus for vm in on), "vRAM": sum(vm.memory_mib for vm in on)},
        **{"ESX Version": "VMware ESXi 8.0.3 build-24022510", "Host Power Policy": "static"},
        **{"Max EVC": "intel-cascadelake", "Object ID": f"host-{number}"},
    }


def _vm(vm: Vm) -> dict[str, dict[str, Any]]:
    """The VM's columns in each tab that has it."""
    demand = vm.demand_mhz if vm.on else 0
    return {
        "vInfo": {"CPUs": vm.vcpus, "Memory": vm.memory_mib, "Connection state": "connected"},
        "vCPU": {
            **{"CPUs": vm.vcpus, "Sockets": vm.vcpus, "Cores p/s": 1, "Overall": demand, "Level": "normal"},
            **{"Shares": 1_000 * vm.vcpus, "Reservation": 0, "Limit": -1, "Hot Add": "False"},
        },
        "vMemory": {
            **{"Size MiB": vm.memory_mib, "Consumed": vm.consumed_mib if vm.on else 0, "Level": "normal"},
            **{"Shares": 10 * vm.memory_mib, "Reservation": 0, "Limit": -1, "Swapped": 0, "Ballooned": 0},
        },
    }


def _whole(pct: float | None) -> int | None:
    return None if pct is None else round(pct)
