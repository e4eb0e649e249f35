"""The verdict on host failures of a cluster, shared by capacity, plans, density, diagnosis and runs."""

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
"""Reasons why a failure is not survived (the first five), or why the verdict is unknown (the others).

Data of a pool cannot be read; it cannot be written; HA is off; no host can meet a reservation; no host has headroom
for the demand within the limits; the HA type is unknown; a demand is unknown; the hosts of VMs are a guess; neither a
placement of all VMs nor a proof against one was found.
"""

PoolState = Literal["whole", "degraded", "no-writes", "no-data"]
"""All replicas present; some missing; fewer than a write needs; fewer than a read needs."""


class Reason(TypedDict):
    """The reason why a failure is not survived, or why that is unknown."""

    code: ReasonCode
    text: str
    vms: list[str]
    """VMs concerned."""


class PoolFate(TypedDict):
    """The effect of a failure on a pool."""

    state: PoolState
    next: PoolState
    """After one more failure of the same kind."""


class HostFailure(TypedDict):
    """The verdict on one failure."""

    failed: list[str]
    survives: bool | None
    """None if unknown."""
    reasons: list[Reason]
    """The gravest first; empty where it is survived."""
    restarts: int
    """VMs that must restart on other hosts."""
    pools: dict[str, PoolFate]
    """Pools that lose nodes by the failure."""


class Failover(TypedDict):
    """The verdict on a cluster."""

    survives: bool | None
    """True if every failure is survived; None if one is unknown and no other is known to fail."""
    reason: ReasonCode | None
    """The worst reason of all failures."""
    text: str
    """The verdict in a sentence or two."""
    restarted_by: Literal["fdm", "proxmox", "masakari"] | None
    """The HA type that restarts VMs; None if HA is off or unknown."""
    first_restart_s: float | None
    """Seconds from a failure to the first restart; None without HA, or if unknown."""
    host_failures_tolerated: int | None
    """Host failures tolerated: HA can power on every VM, and demand is then met.

    None if unknown.
    """
    limits: dict[str, float]
    """`cpu_pct` and `memory_pct` that VMs can use of the remaining hosts, and simultaneous `failures`."""
    failures: dict[str, HostFailure]
    """By the names of the hosts that fail."""
