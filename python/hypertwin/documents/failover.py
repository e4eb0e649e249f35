"""What becomes of a cluster when hosts fail: one verdict, which capacity, plans, density, diagnosis and runs share."""

from __future__ import annotations

from typing import Literal, TypedDict

ReasonCode = Literal[
    "no-data",
    "no-writes",
    "nobody-restarts",
    "no-power-on",
    "no-host",
    "ha-not-known",
    "demand-not-known",
    "hosts-guessed",
    "not-proven",
]
"""Why a failure is not survived (the first five), or why that is not known (the others).

Data of a pool cannot be read; it cannot be written; HA is off; no host has a reservation unreserved; no host has room
for the demand within the limits; nothing says who restarts VMs; a demand is not known; the hosts of VMs are a guess;
neither a place for all VMs nor a proof that there is none was found.
"""

PoolState = Literal["whole", "degraded", "no-writes", "no-data"]
"""All replicas are there; some are missing; fewer are left than a write needs; fewer than a read needs."""


class Reason(TypedDict):
    """Why a failure is not survived, or why that is not known."""

    code: ReasonCode
    text: str
    vms: list[str]
    """VMs that it is about."""


class PoolFate(TypedDict):
    """What a failure does to a pool."""

    state: PoolState
    next: PoolState
    """After one more failure of the same kind."""


class HostFailure(TypedDict):
    """The verdict on one failure."""

    failed: list[str]
    survives: bool | None
    """None where it is not known."""
    reasons: list[Reason]
    """The gravest first; empty where it is survived."""
    restarts: int
    """VMs that have to restart on other hosts."""
    pools: dict[str, PoolFate]
    """Pools that the failure takes nodes from."""


class Failover(TypedDict):
    """The verdict on a cluster."""

    survives: bool | None
    """Whether every failure is survived; None where that is not known of one, and none is known not to be."""
    reason: ReasonCode | None
    """The gravest reason of all failures."""
    text: str
    """The verdict in a sentence or two."""
    restarted_by: Literal["fdm", "proxmox", "masakari"] | None
    """Who restarts VMs; None where HA is off, or where nothing says it."""
    first_restart_s: float | None
    """From a failure to the first restart; None where nobody restarts, or that is not known."""
    host_failures_tolerated: int | None
    """Hosts of which it was seen that they can fail together, so that HA can power on every VM and demand is then met.

    None where that is not known.
    """
    limits: dict[str, float]
    """`cpu_pct` and `memory_pct` that VMs may use of the hosts left, and `failures` at once."""
    failures: dict[str, HostFailure]
    """By the names of the hosts that fail."""
