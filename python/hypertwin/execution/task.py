"""Tasks: some islands of one replication, and what can run them.

A task is text and numbers and its result is bytes, so that either can go to another machine and be kept.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from hypertwin import _core


@dataclass(frozen=True)
class Task:
    """Islands of one replication of one scenario."""

    scenario: str
    """The scenario in its canonical JSON."""
    islands: tuple[int, ...]
    """Which, by their numbers in `hypertwin._core.Islands`."""
    seed: int
    """Of the replication's random streams."""
    weight: float
    """About how much there is to do, to be compared with that of other tasks: vCPUs times simulated seconds."""


@dataclass(frozen=True)
class Outcome:
    """What became of a task."""

    task: int
    """Its position among those that were given."""
    results: tuple[bytes, ...] | None
    """Each island's replication, as `hypertwin._core.Replication.to_bytes` writes it; None if the run failed."""
    failure: str | None = None
    """Why the run failed, and would again: what the simulation itself said, or that it ends its workers."""
    is_defect: bool = False
    """True if it failed by a defect of the program, and not because of what the scenario asks for."""


class Engine(Protocol):
    """Runs tasks somewhere."""

    @property
    def workers(self) -> int | None:
        """How many workers there are at this moment; None where there are none but this process."""
        ...

    def run(self, tasks: Iterable[Task], meter: _core.Meter | None = None) -> Generator[Outcome | None]:
        """Run all tasks and yield what becomes of each, in any order; None where nothing did for a second.

        The meter gets the progress of partitions, if known before they end.

        Tasks are made as they are asked for, so an engine asks for no more than keep it busy, from the thread that
        reads the outcomes. Closing the iterator gives up what has not begun. Raises HypertwinError when no task can be
        run any more.
        """
        ...


@lru_cache(maxsize=16)
def islands_of(scenario: str) -> _core.Islands:
    """The islands of a scenario in its canonical JSON; tasks that follow one another are often of the same one."""
    return _core.Islands(scenario)


def perform(number: int, task: Task, meter: _core.Meter | None = None) -> Outcome:
    """Run a task here and now, the one with this position."""
    try:
        results = islands_of(task.scenario).run(list(task.islands), task.seed, meter)
        return Outcome(number, tuple(result.to_bytes() for result in results))
    except BaseException as error:
        return Outcome(number, None, *explain(error))


def explain(error: BaseException) -> tuple[str, bool]:
    """Why a run failed, and whether by a defect of the program; what is no failure of the run is raised again."""
    # a panic of the core is no Exception: it must still name what reproduces it
    if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
        raise error
    return str(error), not isinstance(error, _core.RunFailed)
