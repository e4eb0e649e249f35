"""Tasks: some islands of one replication, and what can run them.

A task is text and numbers and its result is bytes, so that either can go to another machine and be kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Task:
    """Islands of one replication of one scenario."""

    scenario: str
    """The scenario in its canonical JSON."""
    islands: tuple[int, ...]
    """Which, by their numbers in `hypertwin._core.Islands`."""
    seed: int
    """Of the replication's random streams."""
    weight: int
    """About how much there is to do, to be compared with that of other tasks: vCPUs times simulated seconds."""


@dataclass(frozen=True)
class Outcome:
    """What became of a task."""

    task: int
    """Its position among those that were given."""
    results: tuple[bytes, ...] | None
    """Each island's replication, as `hypertwin._core.Replication.to_bytes` writes it; None if the run failed."""
    failure: str | None = None
    """Why the run failed; the simulation itself said so, and would again."""


class Engine(Protocol):
    """Runs tasks somewhere."""

    def run(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """Run all tasks and yield what becomes of each, in any order.

        Closing the iterator gives up what has not begun. A task that cannot be run at all (its workers die, the cluster
        is gone) raises `hypertwin.run.RunError`.
        """
        ...
