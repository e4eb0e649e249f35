"""All rules of diagnosis: `cpu.py`, `memory.py`, `numa.py`, `sizing.py`, `storage.py`, `placement.py`.

Rules do not use each other; what several share is in `shared.py`.
"""

from __future__ import annotations

from hypertwin.diagnose.rule import Rule
from hypertwin.diagnose.rules import cpu, memory, numa, placement, sizing, storage

RULES: tuple[Rule, ...] = (
    placement.unbalanced_monsters,
    placement.hci_overhead,
    *cpu.RULES,
    *memory.RULES,
    *numa.RULES,
    *sizing.RULES,
    *storage.RULES,
    placement.no_failover_capacity,
)
"""Causes before what follows from them: the order of findings that are equally bad."""
