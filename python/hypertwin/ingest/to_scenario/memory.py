"""What VMs have touched of their memory, and what the hypervisor has itself, so that a host is as full as measured."""

from __future__ import annotations

from collections.abc import Sequence

from hypertwin.ingest.to_scenario.hosts import MIB, ScenarioHost
from hypertwin.ingest.to_scenario.notes import Notes
from hypertwin.ingest.to_scenario.placement import Placed, consumed_bytes
from hypertwin.ingest.to_scenario.yaml_text import plausible_pct

AGREES = 0.01
"""Part of a host's memory by which its VMs may occupy more than was measured, without a word."""
OWN_AT_MOST = 0.15
"""Part of its memory that a hypervisor with its services (vSAN's, say) has itself, without a word [an assumption of
this project]."""


def touched(host: ScenarioHost, placed: Sequence[Placed], notes: Notes) -> tuple[list[int | None], int]:
    """Bytes that each VM on a host has touched, None where that is not known, and the hypervisor's own bytes.

    A VM has touched what it was measured to consume; one that was not measured, its part by size of what the host was
    measured to have used. What is left of that is the hypervisor's own.
    """
    known = [consumed_bytes(each.vm) for each in placed]
    pct = plausible_pct(host.source.memory_usage_pct)
    if pct is None:
        for each, consumed in zip(placed, known, strict=True):
            if consumed is None:
                notes.vm(each.vm.name, "memory that it has touched is not known: all of it", named=False)
        return [_whole_mib(consumed) for consumed in known], 0
    used = min(pct / 100, 1.0) * host.memory_bytes
    asked = sum(consumed for consumed in known if consumed is not None)
    factor = min(used / asked, 1.0) if asked else 1.0
    if asked > used + AGREES * host.memory_bytes:
        notes.host(host.name, "machines have more memory than their host was measured to have used: cut to it")
    configured = sum(each.vm.memory_bytes for each, consumed in zip(placed, known, strict=True) if consumed is None)
    part = min(max(used - asked, 0.0) / configured, 1.0) if configured else 0.0
    made = []
    for each, consumed in zip(placed, known, strict=True):
        if consumed is None:
            notes.vm(
                each.vm.name, "memory that it has touched: by size of what its host was measured to use", named=False
            )
        made.append(_whole_mib(each.vm.memory_bytes * part if consumed is None else consumed * factor))
    own = _whole_mib(used - sum(size for size in made if size is not None)) or 0
    if own > OWN_AT_MOST * host.memory_bytes:
        notes.host(
            host.name, "machines occupy much less memory than it was measured to use: the rest is taken for its own"
        )
    return made, max(min(own, host.memory_bytes - MIB), 0)


def _whole_mib(size: float | None) -> int | None:
    return None if size is None else round(size / MIB) * MIB
