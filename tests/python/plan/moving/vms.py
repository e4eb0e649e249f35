"""VMs and contexts by hand."""

from __future__ import annotations

from typing import Any

from hypertwin.language import Vm
from hypertwin.members import MeasuredVm, SourceDisk, SourceNetwork, SourceVm

GIB = 2**30
MIB = 2**20
PVSCSI, SAS, PARALLEL, BUSLOGIC = "VMware paravirtual SCSI", "LSI Logic SAS", "LSI Logic Parallel", "BusLogic"
NVME, SATA, IDE = "NVMe controller 0", "SATA controller 0", "IDE 0"


def vm(name: str = "db", *, source: SourceVm | None = None, snapshots: int | None = None, **changes: Any) -> Vm:
    """A VM of 4 vCPUs and 8 GiB whose source tells nothing; further arguments change it."""
    vcpus = changes.get("vcpus", 4)
    of: dict[str, Any] = {
        **{"group": name, "label": None, "host": "esx-1", "cluster": "one", "host_is_given": True},
        **{"host_is_guess": False, "vcpus": 4, "memory_bytes": 8 * GIB, "memory_touched_bytes": 8 * GIB},
        **{"memory_reservation_bytes": 0, "reservation_hz": 0, "limit_hz": None, "shares": 1_000.0 * vcpus},
        **{"cores_per_socket": None, "cpu_hot_add": False, "has_affinity": False, "restart_priority": "medium"},
        **{"stays_on_host": False, "live_migration": True, "host_groups": ("esx",), "storage_appliance": False},
        **{"guest_os": None, "products": (), "array": None, "pool": None, "vdisks": 0, "policies": {}},
    }
    measured = MeasuredVm(snapshot_count=snapshots)
    return Vm(name=name, source=source or SourceVm(), **{**of, "measured": measured, **changes})


def disks(*controllers: str, **facts: Any) -> tuple[SourceDisk, ...]:
    """A disk of 40 GiB at each of these controllers."""
    return tuple(
        SourceDisk(label=f"Hard disk {number}", capacity_bytes=40 * GIB, controller=controller, **facts)
        for number, controller in enumerate(controllers, 1)
    )


def networks(*adapters: str, **facts: Any) -> tuple[SourceNetwork, ...]:
    return tuple(
        SourceNetwork(adapter=adapter, network=f"N {number}", **facts) for number, adapter in enumerate(adapters)
    )
