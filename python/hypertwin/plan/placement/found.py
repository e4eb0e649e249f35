"""Result of a search for a place: the place, its value, and a bound for every place."""

from __future__ import annotations

from dataclasses import dataclass

from hypertwin.plan.placement.problem import Ints


@dataclass(frozen=True)
class Found:
    """A place, or none."""

    place: Ints | None
    objective: str
    """`moves`: VMs that move. `hosts`: hosts that are kept. `min-peak`: load of the most loaded host, as a
    part of its limit."""
    value: float | None
    """Of the place; None without one."""
    bound: float | None
    """Lower bound of every place; None if unknown, or if no place exists."""
    proven: bool
    """True if no place is better, or none exists, by proof."""
    binding_constraints: tuple[str, ...] = ()
    """The source of the bound, or the obstacle to a place."""
    conflict: tuple[str, ...] = ()
    """Without a place: the smallest known set of rules or VMs without which there is one."""
    conflict_proven: bool = False
    """True if it is proven that no smaller set does."""
    partial: Ints | None = None
    """Without a place for all new VMs: one for some of them, the others NOWHERE."""
    placeable: int | None = None
    """How many new VMs can have a host at most; None where none were asked for."""

    @property
    def gap_pct(self) -> float | None:
        """How far the value is above the bound at most, in per cent of it; None where one of them is not known."""
        if self.value is None or self.bound is None:
            return None
        if self.value <= self.bound:
            return 0.0
        return 100 * (self.value / self.bound - 1) if self.bound > 0 else float("inf")
