"""All rules of diagnosis, by subject: `cpu.py`, `memory.py`, `numa.py`, `sizing.py`, `storage.py`, `placement.py`,
`hosts.py`, `clusters.py`, `failover.py`, `datastores.py`.

Rules do not use each other. Shared parts are in `shared.py`.
"""

from __future__ import annotations

from hypertwin.diagnosis.rule import Rule
from hypertwin.diagnosis.rules import (
    clusters,
    cpu,
    datastores,
    failover,
    hosts,
    memory,
    numa,
    placement,
    sizing,
    storage,
)

RULES: tuple[Rule, ...] = (
    *failover.RULES,
    *placement.RULES,
    *hosts.RULES,
    *cpu.RULES,
    *memory.RULES,
    *numa.RULES,
    *sizing.RULES,
    *storage.RULES,
    *datastores.RULES,
    *clusters.RULES,
)
"""All rules, causes before effects. Findings of equal severity are in this order."""
