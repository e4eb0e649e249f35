"""Nearest VM, host or disk for each figure with a limit, by distance to the limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from hypertwin.diagnosis.case import Case
from hypertwin.diagnosis.evidence import Stat
from hypertwin.diagnosis.rule import Band
from hypertwin.diagnosis.rules import hosts, memory, storage
from hypertwin.diagnosis.rules.shared import COSTOP, HOST_CPU, READY
from hypertwin.diagnosis.subjects import Subject
from hypertwin.documents.diagnosis import NearLimit

Figures = Iterator[tuple[str, float]]
"""Names with their figures."""


def limits(case: Case) -> list[NearLimit]:
    """Return the measurements nearest to each limit, the nearest first."""
    found = [
        NearLimit(
            what=band.what,
            name=name,
            value=value,
            unit=band.unit,
            limit=band.first,
            of_limit_pct=100 * value / band.first,
        )
        for band, of in _WATCHED
        for name, value in [max(of(case, band), key=lambda each: each[1], default=("", 0.0))]
        if name
    ]
    return sorted(found, key=lambda each: -each["of_limit_pct"])


def _of_vms(case: Case, band: Band) -> Figures:
    """Yield sustained figures of VMs, per vCPU. Ready is without limited time."""
    for vm in case.vms:
        stat = case.waiting(vm) if band is READY else case.per_vcpu(vm, band.metric)
        if stat is not None:
            yield vm.name, stat.high


def _of_hosts(case: Case, band: Band) -> Figures:
    """Yield the figures of hosts relative to their capacity, reached in a fifth of the samples."""
    for host in case.hosts:
        stat = case.evidence.stat(host.entity, band.metric)
        if stat is None:
            continue
        if band is not hosts.MEMORY:
            yield host.name, stat.often
        elif host.memory_bytes:
            yield host.name, 100 * stat.often / host.memory_bytes


def _of_disks(case: Case, band: Band) -> Figures:
    """Yield the figures of devices, adapters and disks with I/O, reached in a fifth of the samples."""
    for path in (path for kind in storage.DISKS for path in case.evidence.entities(kind)):
        stat: Stat | None = case.evidence.stat(path, band.metric)
        iops = case.evidence.stat(path, "iops")
        if stat is not None and not (iops and iops.mean < storage.FEWEST_IOPS):
            yield Subject.of_device(path).name, stat.often


_WATCHED: Sequence[tuple[Band, Callable[[Case, Band], Figures]]] = (
    (READY, _of_vms),
    (COSTOP, _of_vms),
    (memory.SWAP_WAIT, _of_vms),
    (HOST_CPU, _of_hosts),
    (hosts.MEMORY, _of_hosts),
    (storage.DEVICE, _of_disks),
    (storage.KERNEL, _of_disks),
    (storage.TOTAL, _of_disks),
    (storage.QUEUED, _of_disks),
)
