"""Touched and active memory of VMs, their entitlement, and hypervisor memory.

Hosts use as much memory as measured, and reclaim nothing from unmeasured VMs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import Vm
from hypertwin.ingest.to_scenario.hosts import MIB, ScenarioHost
from hypertwin.ingest.to_scenario.placement import Placed, consumed_bytes
from hypertwin.ingest.to_scenario.yaml_text import memory_size, plausible_pct

FULL_AT_MOST = 0.9
"""Maximum memory use of a host with unmeasured VMs: no hypervisor reclaims memory there [an assumption of this
project]."""
MOST_SHARES = 1_000_000_000
AGREES = 0.01
"""Excess of VMs' consumed memory over the host's measurement that needs no note, as a share of the host's memory."""
OWN_AT_MOST = 0.15
"""Share of a host's memory for the hypervisor and its services, such as vSAN's, that needs no note [an assumption of
this project]."""


def touched(host: ScenarioHost, placed: Sequence[Placed], notes: ImportNotes) -> tuple[list[int | None], int]:
    """Return the bytes that each VM on a host has touched (None if unknown), and bytes of the hypervisor.

    A VM has touched its measured consumed memory. An unmeasured VM gets its share, by size, of the host's measured use.
    The rest belongs to the hypervisor.
    """
    known = [consumed_bytes(each.vm) for each in placed]
    pct = plausible_pct(host.source.memory_usage_pct)
    if pct is None:
        return _unmeasured(host, placed, known, notes), 0
    used = min(pct / 100, 1.0) * host.memory_bytes
    asked = sum(consumed for consumed in known if consumed is not None)
    factor = min(used / asked, 1.0) if asked else 1.0
    if asked > used + AGREES * host.memory_bytes:
        notes.host(host.name, "its VMs consume more memory than it used: reduced to its usage")
    configured = sum(each.vm.memory_bytes for each, consumed in zip(placed, known, strict=True) if consumed is None)
    part = min(max(used - asked, 0.0) / configured, 1.0) if configured else 0.0
    made = []
    for each, consumed in zip(placed, known, strict=True):
        if consumed is None:
            notes.vm(each.vm.name, "touched memory unknown: a share of its host's used memory, by size", named=False)
        made.append(_whole_mib(each.vm.memory_bytes * part if consumed is None else consumed * factor))
    own = _whole_mib(used - sum(size for size in made if size is not None)) or 0
    if own > OWN_AT_MOST * host.memory_bytes:
        notes.host(
            host.name, "its VMs consume much less memory than it used: the rest is assumed to be hypervisor memory"
        )
    return made, max(min(own, host.memory_bytes - MIB), 0)


def _unmeasured(
    host: ScenarioHost, placed: Sequence[Placed], known: Sequence[int | None], notes: ImportNotes
) -> list[int | None]:
    """Return touched memory of VMs on an unmeasured host: all of it, but no more than fits."""
    configured = sum(each.vm.memory_bytes for each, consumed in zip(placed, known, strict=True) if consumed is None)
    left = FULL_AT_MOST * host.memory_bytes - sum(consumed for consumed in known if consumed is not None)
    part = min(max(left, 0.0) / configured, 1.0) if configured else 1.0
    if part < 1:
        text = "memory is overcommitted and its use is unknown: assumed that touched memory is"
        notes.host(host.name, f"{text} {FULL_AT_MOST:.0%} of it, divided among VMs by size")
    made = []
    for each, consumed in zip(placed, known, strict=True):
        if consumed is None and part == 1:
            notes.vm(each.vm.name, "touched memory unknown: assumed all of it", named=False)
        made.append(_whole_mib(each.vm.memory_bytes * part if consumed is None and part < 1 else consumed))
    return made


def active(placed: Sequence[Placed], sizes: Sequence[int | None], notes: ImportNotes) -> list[int | None]:
    """Return active bytes of each VM, None if unknown. `sizes` has the touched bytes."""
    made: list[int | None] = []
    for each, size in zip(placed, sizes, strict=True):
        measured = each.vm.memory_active_bytes
        if measured is None or measured <= 0:
            notes.vm(each.vm.name, "used memory unknown: assumed all touched memory", named=False)
            made.append(None)
            continue
        notes.vm(
            each.vm.name,
            "used memory is its active memory, a sampled estimate of its host",
            named=False,
        )
        made.append(_whole_mib(min(measured, each.vm.memory_bytes if size is None else size)))
    return made


def entitlement(host: ScenarioHost, placed: Sequence[Placed], notes: ImportNotes) -> list[dict[str, Any]]:
    """Return shares, reservation and limit of each VM's memory, and its backing, if they are not the default."""
    reserved = [min(each.vm.memory_reservation_bytes or 0, each.vm.memory_bytes) for each in placed]
    if sum(reserved) > host.memory_bytes:
        notes.host(host.name, "memory reservations exceed its memory: all are reduced in proportion")
        reserved = [size * host.memory_bytes // sum(reserved) for size in reserved]
    return [_entitled(each.vm, size, notes) for each, size in zip(placed, reserved, strict=True)]


def _entitled(vm: Vm, reserved: int, notes: ImportNotes) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    shares = vm.memory_shares
    is_own = isinstance(shares, int) and 1 <= shares <= MOST_SHARES and shares != 10 * vm.memory_bytes // MIB
    if is_own or shares in ("low", "high"):
        entry["memory_shares"] = shares
    if reserved:
        entry["memory_reservation"] = memory_size(reserved)
    limit = vm.memory_limit_bytes
    if limit is not None and MIB <= limit < vm.memory_bytes and not vm.huge_pages:
        if limit < reserved:
            notes.vm(vm.name, "memory limit below the reservation: raised to it")
        entry["memory_limit"] = memory_size(max(limit, reserved))
    if vm.huge_pages:
        entry["huge_pages"] = True
    elif vm.balloon is not None:
        entry["balloon"] = vm.balloon
    return entry


def _whole_mib(size: float | None) -> int | None:
    return None if size is None else round(size / MIB) * MIB
