"""Powered-off VMs and templates as VMs that move: with the facts of running VMs, without measurements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hypertwin.language import UNKNOWN_SOURCE, Vm
from hypertwin.members import MeasuredVm, PoweredOff
from hypertwin.plan.powered_off import free_name


@dataclass(frozen=True)
class Off:
    """Powered-off VMs and templates, with names that no running VM has."""

    vms: tuple[Vm, ...]
    templates: frozenset[str]
    """Names of templates."""

    @staticmethod
    def of(listed: Iterable[PoweredOff], running: Iterable[str]) -> Off:
        """Return powered-off VMs and templates. `running` has the names of running VMs."""
        taken, vms, templates = set(running), [], set()
        for each in listed:
            name = free_name(each.name, taken)
            taken.add(name)
            vms.append(_vm(each, name))
            templates |= {name} if each.template else set()
        return Off(tuple(vms), frozenset(templates))

    @property
    def names(self) -> frozenset[str]:
        """Names of all of them."""
        return frozenset(vm.name for vm in self.vms)


def _vm(of: PoweredOff, name: str) -> Vm:
    return Vm(
        name=name,
        group=name,
        label=of.label or of.name,
        host=of.host or "",
        cluster=of.cluster or "",
        host_is_given=of.host is not None,
        host_is_guess=False,
        vcpus=of.vcpus,
        memory_bytes=of.memory_bytes,
        memory_touched_bytes=0,
        memory_reservation_bytes=of.memory_reservation_bytes,
        reservation_hz=of.reservation_hz or 0,
        limit_hz=of.limit_hz,
        shares=of.shares,
        cores_per_socket=of.cores_per_socket,
        cpu_hot_add=of.cpu_hot_add,
        has_affinity=False,
        restart_priority="disabled",
        stays_on_host=False,
        live_migration=False,
        host_groups=(),
        storage_appliance=False,
        guest_os=of.guest_os,
        products=(),
        vdisks=0,
        policies={},
        measured=MeasuredVm(
            storage_provisioned_bytes=of.storage_provisioned_bytes,
            storage_used_bytes=of.storage_used_bytes,
            snapshot_count=of.snapshot_count,
        ),
        source=of.source or UNKNOWN_SOURCE,
    )
