"""Tasks, i.e. some partitions of one replication, and the interface of engines that run them.

A task is text and numbers, and its result is bytes, so both can go to another computer and be stored.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from hypertwin import _core


@dataclass(frozen=True)
class Task:
    """Partitions of one replication of a scenario."""

    scenario: str
    """The scenario in its canonical JSON."""
    islands: tuple[int, ...]
    """Numbers of the partitions in `hypertwin._core.Islands`."""
    seed: int
    """Seed of the replication's random streams."""
    weight: float
    """Approximate amount of work relative to other tasks: vCPUs times simulated seconds."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of a task."""

    task: int
    """Position of the task."""
    results: tuple[bytes, ...] | None
    """Replication of each partition, from `hypertwin._core.Replication.to_bytes`; None if the run failed."""
    failure: str | None = None
    """Reason for a repeatable failure: the message of the simulation, or that the task crashes its workers."""
    is_defect: bool = False
    """True if a defect of the program caused the failure, not the scenario."""


class Engine(Protocol):
    """Runs tasks somewhere."""

    @property
    def workers(self) -> int | None:
        """Current number of workers; None if this process does the work."""
        ...

    def run(self, tasks: Iterable[Task], meter: _core.Meter | None = None) -> Generator[Outcome | None]:
        """Run all tasks and yield their outcomes in any order; yield None if none ended for a second.

        The meter gets the progress of partitions, if known before they end.

        Tasks are read lazily: an engine reads no more than it needs to stay busy, from the thread that reads the
        outcomes. Closing the iterator cancels tasks that have not started. Raises HypertwinError when no more tasks can
        run.
        """
        ...


@lru_cache(maxsize=16)
def islands_of(scenario: str) -> _core.Islands:
    """The partitions of a scenario in its canonical JSON; consecutive tasks often use the same one."""
    return _core.Islands(scenario)


def perform(number: int, task: Task, meter: _core.Meter | None = None) -> Outcome:
    """Run a task in this thread, with this position."""
    try:
        results = islands_of(task.scenario).run(list(task.islands), task.seed, meter)
        return Outcome(number, tuple(result.to_bytes() for result in results))
    except BaseException as error:
        return Outcome(number, None, *explain(error))


def explain(error: BaseException) -> tuple[str, bool]:
    """Reason for the failure of a run, and true for a defect of the program; other exceptions are raised again."""
    # a panic of the core is no Exception: it must still name what reproduces it
    if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
        raise error
    return str(error), not isinstance(error, _core.RunFailed)
