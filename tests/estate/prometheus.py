"""What vmware_exporter answers about an estate: its measurements, which an inventory may lack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.estate.truth import Estate

FIRST_S = 1_767_225_600
EVERY_S = 60


def write(estate: Estate, folder: Path, *, scrapes: int = 3) -> Path:
    """A folder of scrapes, a minute apart, all of the same figures; hosts are called as VMs name them in an export."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(scrapes):
        at = FIRST_S + EVERY_S * number
        (folder / f"vmware-{at}.prom").write_text("\n".join([*_lines(estate), ""]))
    return folder


def _lines(estate: Estate) -> Iterator[str]:
    for host in estate.hosts:
        where = f'cluster_name="{host.cluster}",dc_name="{estate.datacenter(host.cluster)}",host_name="{host.name}"'
        yield f"vmware_host_num_cpu{{{where}}} {host.cores}"
        yield f"vmware_host_cpu_max{{{where}}} {host.mhz:g}"
        yield f"vmware_host_memory_max{{{where}}} {host.memory_mib}"
        if host.cpu_pct is not None:
            yield f"vmware_host_cpu_usage{{{where}}} {host.cpu_pct / 100 * host.mhz!r}"
        if host.memory_pct is not None:
            yield f"vmware_host_memory_usage{{{where}}} {host.memory_pct / 100 * host.memory_mib!r}"
        for vm in estate.vms_on(host):
            which = f'{where},vm_name="{vm.name}"'
            yield f"vmware_vm_num_cpu{{{which}}} {vm.vcpus}"
            yield f"vmware_vm_memory_max{{{which}}} {vm.memory_mib}"
            if vm.demand_mhz is not None:
                yield f"vmware_vm_cpu_usagemhz_average{{{which}}} {vm.demand_mhz:g}"
                yield f"vmware_vm_cpu_demand_average{{{which}}} {vm.demand_mhz:g}"
