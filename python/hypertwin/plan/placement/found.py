"""Result of a search: a placement, its value, and a bound for all placements."""

from __future__ import annotations

from dataclasses import dataclass

from hypertwin.plan.placement.problem import Ints


@dataclass(frozen=True)
class Found:
    """A placement, or none."""

    place: Ints | None
    objective: str
    """`moves`: VMs that move. `hosts`: hosts that are kept. `min-peak`: load of the most loaded host, as a part of its
    limit."""
    value: float | None
    """Value of the placement; None without one."""
    bound: float | None
    """Lower bound of all placements; None if unknown, or if no placement exists."""
    proven: bool
    """True if it is proven that no placement is better, or that none exists."""
    binding_constraints: tuple[str, ...] = ()
    """Origin of the bound, or the obstacle to a placement."""
    conflict: tuple[str, ...] = ()
    """Without a placement: the smallest known set of rules or VMs to drop."""
    conflict_proven: bool = False
    """True if no smaller set is proven to suffice."""
    partial: Ints | None = None
    """Without a placement of all new VMs: a placement of some, with NOWHERE for the others."""
    is_interrupted: bool = False
    """True if the user interrupted the search."""
    placeable: int | None = None
    """Upper bound of the new VMs that can have a host; None without new VMs."""

    @property
    def gap_pct(self) -> float | None:
        """Distance of the value from the bound, in per cent of the bound; None if either is unknown."""
        if self.value is None or self.bound is None:
            return None
        if self.value <= self.bound:
            return 0.0
        return 100 * (self.value / self.bound - 1) if self.bound > 0 else float("inf")
