"""Best placement of a search so far (the incumbent), with a lower bound.

An interrupt ends the search with the incumbent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hypertwin.plan.placement.found import Found
from hypertwin.plan.placement.problem import Ints

Tell = Callable[[str], None]
"""Function called with the value and bound of the incumbent in words, whenever one of the two improves."""


@dataclass
class Incumbent:
    """Best placement of a search so far, with a lower bound of all placements."""

    value_of: Callable[[Ints], float]
    bound: float
    words: str
    """Sentence with places for value and bound, both multiplied by `factor`: `{} moves, at least {}`."""
    tell: Tell | None = None
    factor: float = 1.0
    tolerance: float = 1.0
    """Factor of the bound up to which a value is optimal."""
    place: Ints | None = None
    value: float | None = None
    is_interrupted: bool = False

    @property
    def is_optimal(self) -> bool:
        """True if no placement can be better."""
        return self.value is not None and self.value <= self.bound * self.tolerance

    def offer(self, place: Ints | None) -> None:
        """Store a placement if it is better than the stored one."""
        if place is None:
            return
        value = self.value_of(place)
        if self.value is None or value < self.value:
            self.place, self.value = place, value
            self._print()

    def raise_bound(self, bound: float) -> None:
        """Store a bound if it is higher than the stored one."""
        if bound > self.bound:
            self.bound = bound
            self._print()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Run the block until an interrupt, which ends the block without an error if there is a placement."""
        try:
            yield
        except KeyboardInterrupt as error:
            if self.place is None or error.args:  # with a signal that ends the process
                raise
            self.is_interrupted = True

    def found(self, objective: str, binding_constraints: tuple[str, ...]) -> Found:
        """Return the result of the search. An infinite bound proves that no placement exists."""
        if self.place is None or self.value is None:
            proven = self.bound == math.inf
            bound = None if proven else self.bound
            return Found(None, objective, None, bound, proven=proven, binding_constraints=binding_constraints)
        return Found(
            self.place,
            objective,
            self.value,
            min(self.bound, self.value),
            proven=self.is_optimal,
            binding_constraints=binding_constraints,
            is_interrupted=self.is_interrupted,
        )

    def _print(self) -> None:
        if self.tell is not None:
            value = "none yet" if self.value is None else f"{self.factor * self.value:.4g}"
            self.tell(self.words.format(value, f"{self.factor * self.bound:.4g}"))
