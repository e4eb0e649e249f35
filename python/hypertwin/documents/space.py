"""Capacity of a pool of distributed storage, as shown by simulate, capacity and durability."""

from __future__ import annotations

from typing import TypedDict

OWN = "(pool)"
"""Name of the policy for data of VMs that name none, with the pool's own `redundancy`."""


class LostHost(TypedDict):
    """State of a pool after the permanent loss of one host."""

    survives: bool
    """True if all data of every used policy are still present."""
    heals: bool
    """True if all data can be recovered on the remaining hosts, for the worst of the used policies."""
    room_gib: float | None
    """Capacity then, by the same rule: with another host lost. None if not all data can recover."""
    used_pct: float
    """Device use then, in per cent, after recovery of all recoverable data."""


class PolicySpace(TypedDict):
    """Data of one policy in a pool."""

    name: str
    """Name of the policy. `(pool)` is data of VMs that name none."""
    redundancy: str
    overhead: float
    """Raw bytes per user byte."""
    survives: bool
    """True if the data of the pool are still present without a host."""
    heals: bool
    """True if the data can be recovered on the remaining hosts."""
    stored_gib: float
    room_gib: float
    """Capacity if all data have this policy."""
    free_gib: float
    """Free capacity for this policy."""


class Space(TypedDict):
    """Capacity of a pool. Sizes except `raw_gib` are user data, without copies and parity, at the used policies."""

    kind: str
    raw_gib: float
    full_pct: float
    """Maximum device use by the rules of the product, in per cent."""
    recovery_pct: float
    """Device use up to which lost data are recovered, in per cent."""
    room_gib: float
    """Capacity within that limit, with a host lost and its data recovered where possible."""
    stored_gib: float
    used_pct: float
    """Device use, in per cent."""
    free_gib: float
    """Free capacity, or 0 if more is stored than allowed."""
    lost_host: LostHost
    policies: list[PolicySpace]
