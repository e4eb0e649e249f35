"""Storage: capacity of datastores, and provisioned, used and guest-used capacity of VMs."""

from __future__ import annotations

from collections.abc import Sequence

from hypertwin.documents import capacity as documents
from hypertwin.members import Datastore, PoweredOff
from hypertwin.plan.capacity.state import State

GIB = 2**30


def together(
    stores: Sequence[tuple[Datastore, Sequence[str]]], states: Sequence[State], off: Sequence[PoweredOff]
) -> documents.Storage | None:
    """Return the total of datastores, each counted once, and of VMs, or None if neither has data.

    `off` has the powered-off VMs and templates. They have no guest data and no swap files.
    """
    vms = [vm for state in states for vm in state.vms]
    sizes = {
        "provisioned": [vm.measured.storage_provisioned_bytes for vm in vms]
        + [each.storage_provisioned_bytes for each in off],
        "used": [vm.measured.storage_used_bytes for vm in vms] + [each.storage_used_bytes for each in off],
        "in_guest": [vm.measured.storage_in_guest_bytes for vm in vms],
    }
    said = {what: [size for size in each if size is not None] for what, each in sizes.items()}
    if not stores and not any(said.values()):
        return None
    of_vms = {what: sum(each) / GIB if each else None for what, each in said.items()}
    known = [(each, each.free_bytes) for each, _ in stores if each.free_bytes is not None]
    measured = sum(each.capacity_bytes for each, _ in known)
    free = sum(free for _, free in known)
    provisioned = [each for each, _ in stores if each.provisioned_bytes is not None]
    promised = sum(each.provisioned_bytes or 0 for each in provisioned)
    behind = sum(each.capacity_bytes for each in provisioned)
    return {
        "datastores": len(stores),
        "shared": sum(len(used_by) > 1 for _, used_by in stores),
        "unknown": len(stores) - len(known),
        "capacity_gib": sum(each.capacity_bytes for each, _ in stores) / GIB if stores else None,
        "used_gib": (measured - free) / GIB if known else None,
        "used_pct": 100 * (measured - free) / measured if measured else None,
        "free_gib": free / GIB if known else None,
        "provisioned_gib": promised / GIB if provisioned else None,
        "provisioned_pct": 100 * promised / behind if behind else None,
        "vms_provisioned_gib": of_vms["provisioned"],
        "vms_used_gib": of_vms["used"],
        "vms_in_guest_gib": of_vms["in_guest"],
        "vms_unknown": {
            "provisioned": len(sizes["provisioned"]) - len(said["provisioned"]),
            "used": len(sizes["used"]) - len(said["used"]),
            "in_guest": len(sizes["in_guest"]) - len(said["in_guest"]),
        },
        "swap_gib": _swap_gib(states),
    }


def _swap_gib(states: Sequence[State]) -> float | None:
    """Return the size of swap files of powered-on VMs, or None if no host has swap files.

    Reserved memory needs no swap file.
    """
    hosts = {host.name for state in states for host in state.hosts if host.options.swap_files}
    sizes = (vm.memory_bytes - state.reserved_memory(vm) for state in states for vm in state.vms if vm.host in hosts)
    return sum(max(0, size) for size in sizes) / GIB if hosts else None
