"""How much room a pool of distributed storage has, as simulate, capacity and durability tell it."""

from __future__ import annotations

from typing import TypedDict

OWN = "(pool)"
"""The policy of what a pool keeps of VMs that name none: its own `redundancy`."""


class LostHost(TypedDict):
    """A pool without one of its hosts, for good."""

    survives: bool
    """True if all data are still there, of every policy in use."""
    heals: bool
    """True if all data can be recovered on the remaining hosts: the worst of the policies in use."""
    room_gib: float | None
    """What may be stored then, by the same rule: with another host lost. None where not all can heal."""
    used_pct: float
    """How full its devices are then; after the rebuild of what can heal."""


class PolicySpace(TypedDict):
    """Data of one policy in a pool."""

    name: str
    """`(pool)` is of VMs that name none."""
    redundancy: str
    overhead: float
    """Raw bytes for each byte of the user."""
    survives: bool
    """True if its data are still there without a host."""
    heals: bool
    """True if the data can be recovered on the remaining hosts."""
    stored_gib: float
    room_gib: float
    """What may be stored if all is of this policy."""
    free_gib: float
    """How much more of this policy fits."""


class Space(TypedDict):
    """The room of a pool. Sizes but `raw_gib` are the user's, without copies and parity, at the policies in use."""

    kind: str
    raw_gib: float
    full_pct: float
    """How full devices may be by the rules of the product."""
    room_gib: float
    """What may be stored so that they are not fuller, with a host lost and its data made anew where they can be."""
    stored_gib: float
    used_pct: float
    """How full devices are."""
    free_gib: float
    """How much more fits; 0 where more is stored than may be."""
    lost_host: LostHost
    policies: list[PolicySpace]
