"""Result of a search: a placement, its value, and a bound for all placements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypertwin.plan.placement.problem import Ints


@dataclass(frozen=True)
class Found:
    """Result of a search: a placement, or none."""

    place: Ints | None
    objective: str
    """Objective of the search.

    `moves` is the number of VMs that move, and `hosts` the number of hosts that are kept. `min-peak` is the load of
    the most loaded host as a fraction of its limit.
    """
    value: float | None
    """Value of the placement, or None without a placement."""
    bound: float | None
    """Lower bound of all placements, or None if the bound is unknown or no placement exists."""
    proven: bool
    """True if it is proven that no placement is better, or that no placement exists."""
    binding_constraints: tuple[str, ...] = ()
    """Origin of the bound, or the obstacle to a placement."""
    conflict: tuple[str, ...] = ()
    """Fewest known rules and VMs without which a placement exists, if there is none with them."""
    conflict_proven: bool = False
    """True if it is proven that no smaller set suffices."""
    partial: Ints | None = None
    """Placement of some of the new VMs if not all can be placed, with NOWHERE for the others."""
    is_interrupted: bool = False
    """True if the user interrupted the search."""
    placeable: int | None = None
    """Upper bound of the number of new VMs that can have a host, or None without new VMs."""

    @classmethod
    def placed(
        cls, place: Ints, objective: str, value: float, bound: float, why: str, *, within: float = 1.0, **more: Any
    ) -> Found:
        """Return a placement, which is optimal if its value is at most `within` times the bound."""
        proven = value <= bound * within
        return cls(place, objective, value, min(bound, value), proven=proven, binding_constraints=(why,), **more)

    @property
    def gap_pct(self) -> float | None:
        """Distance of the value from the bound in per cent of the bound, or None if one of the two is unknown."""
        if self.value is None or self.bound is None:
            return None
        if self.value <= self.bound:
            return 0.0
        return 100 * (self.value / self.bound - 1) if self.bound > 0 else float("inf")
