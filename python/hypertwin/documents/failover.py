"""The verdict on host failures of a cluster, shared by capacity, plans, density, diagnosis and runs."""

from __future__ import annotations

from typing import Literal, TypedDict

ReasonCode = Literal[
    "no-data",
    "no-writes",
    "nobody-restarts",
    "no-quorum",
    "no-power-on",
    "no-host",
    "no-space",
    "ha-not-known",
    "quorum-not-known",
    "demand-not-known",
    "hosts-guessed",
    "not-proven",
]
"""Reasons why a failure is not tolerated (the first six), leaves a pool degraded (`no-space`), or is unknown.

In order: data of a pool cannot be read. Data cannot be written. HA is off. Proxmox HA has no majority
of votes. No host can meet a reservation. No host has
headroom for the demand within the limits. A pool has no space to recover. The HA type is unknown. Proxmox HA needs a
further vote. A demand is unknown. The hosts of VMs are a guess. Neither a placement of all VMs nor a proof against one
was found.
"""

PoolState = Literal["whole", "degraded", "no-writes", "no-data"]
"""States of a pool: all replicas present, some missing, fewer than a write needs, fewer than a read needs."""


class Reason(TypedDict):
    """Reason why a failure is not tolerated, or why that is unknown."""

    code: ReasonCode
    text: str
    vms: list[str]
    """Affected VMs."""


class PoolFate(TypedDict):
    """Effect of a failure on a pool."""

    state: PoolState
    next: PoolState
    """State after one more failure of the same kind."""


class HostFailure(TypedDict):
    """Verdict on one failure."""

    failed: list[str]
    survives: bool | None
    """True if the failure is tolerated, or None if unknown."""
    reasons: list[Reason]
    """Reasons, the most severe first. A tolerated failure has at most `no-space`."""
    restarts: int
    """VMs that must restart on other hosts."""
    pools: dict[str, PoolFate]
    """Pools that lose nodes in the failure."""


class Failover(TypedDict):
    """Verdict on a cluster."""

    survives: bool | None
    """True if every failure is tolerated, or None if one is unknown and no other is known not to be."""
    reason: ReasonCode | None
    """Worst reason of all failures."""
    text: str
    """Verdict in one or two sentences."""
    restarted_by: Literal["fdm", "proxmox", "masakari"] | None
    """The HA type that restarts VMs, or None if HA is off or unknown."""
    first_restart_s: float | None
    """Shortest time in seconds from a failure to the first restart, or None without HA, or if unknown."""
    first_restart_longest_s: float | None
    """Longest time in seconds from a failure to the first restart, or None without HA, or if unknown."""
    host_failures_tolerated: int | None
    """Host failures tolerated, with every VM powered on by HA and demand met.

    None if unknown.
    """
    limits: dict[str, float]
    """`cpu_pct` and `memory_pct` that VMs can use of the remaining hosts, and simultaneous `failures`."""
    failures: dict[str, HostFailure]
    """Verdicts by names of the failed hosts."""
