"""Engine of this computer: threads, while the compiled core runs without the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice

from hypertwin import _core
from hypertwin.runs.task import Outcome, Task, perform

TICK_S = 1.0
"""Number of seconds after which the engine reports that no task has ended."""


class Threads:
    """Engine that runs tasks concurrently, one per thread."""

    workers = None

    def __init__(self, jobs: int | None = None) -> None:
        """Use `jobs` threads (default: the number of cores available to this process)."""
        self.jobs = jobs or available_cores()

    def run(self, tasks: Iterable[Task], meter: _core.Meter | None = None) -> Generator[Outcome | None]:
        """See `Engine`. The number of waiting tasks equals the number of running ones, so that no thread waits for a
        task."""
        numbered = enumerate(tasks)
        waiting: set[Future[Outcome]] = set()
        pool = ThreadPoolExecutor(self.jobs, thread_name_prefix="hypertwin")
        try:
            while True:
                waiting |= {
                    pool.submit(perform, *each, meter) for each in islice(numbered, 2 * self.jobs - len(waiting))
                }
                if not waiting:
                    return
                finished, waiting = wait(waiting, timeout=TICK_S, return_when=FIRST_COMPLETED)
                if not finished:
                    yield None
                for future in finished:
                    yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def available_cores() -> int:
    """Return the number of cores that this process can use, which a container or `taskset` can restrict."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
