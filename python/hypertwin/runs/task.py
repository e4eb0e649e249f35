"""Tasks (some partitions of one replication), and the interface of engines that run tasks.

A task is text and numbers, and its result is bytes, so both can go to another computer and be stored.

Tasks are never pickled objects. A worker of the same build has all the code, so only JSON and checked bytes cross the
network. A different build gives different figures, so the runner rejects its workers, and names both builds.
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
    """Scenario in canonical JSON."""
    islands: tuple[int, ...]
    """Numbers of the partitions in `hypertwin._core.Islands`."""
    seed: int
    """Seed of the random streams of the replication."""
    weight: float
    """Approximate amount of work relative to other tasks: vCPUs times simulated seconds."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of a task."""

    task: int
    """Position of the task."""
    results: tuple[bytes, ...] | None
    """Replication of each partition (`hypertwin._core.Replication.to_bytes`), or None if the run failed."""
    failure: str | None = None
    """Reason for a repeatable failure: the message of the simulation, or that the task crashes its workers."""
    is_defect: bool = False
    """True if a defect of the program caused the failure, not the scenario."""


class Engine(Protocol):
    """Interface of engines, which run tasks."""

    @property
    def workers(self) -> int | None:
        """Current number of workers, or None if this process does the work."""
        ...

    def run(self, tasks: Iterable[Task], meter: _core.Meter | None = None) -> Generator[Outcome | None]:
        """Run all tasks and yield their outcomes in any order. Yield None if no task ended within a second.

        The meter gets the progress of partitions, if known before they end.

        Tasks are read lazily from the thread that reads the outcomes: an engine reads only as many tasks as needed to
        stay busy. Closing the iterator cancels tasks that have not started. Raises HypertwinError when no more tasks
        can run.
        """
        ...


@lru_cache(maxsize=16)
def islands_of(scenario: str) -> _core.Islands:
    """Return the partitions of a scenario in its canonical JSON. Consecutive tasks often use the same one."""
    return _core.Islands(scenario)


def perform(number: int, task: Task, meter: _core.Meter | None = None) -> Outcome:
    """Run a task in this thread, with this position."""
    try:
        results = islands_of(task.scenario).run(list(task.islands), task.seed, meter)
        return Outcome(number, tuple(result.to_bytes() for result in results))
    except BaseException as error:
        return Outcome(number, None, *explain(error))


def explain(error: BaseException) -> tuple[str, bool]:
    """Return the reason for the failure of a run, and true for a defect. Other exceptions are raised again."""
    # a panic of the core is no Exception: it must still name what reproduces it
    if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
        raise error
    return str(error), not isinstance(error, _core.RunFailed)
