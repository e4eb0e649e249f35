"""Engine of a compute cluster, which consists of the workers of a Dask scheduler on any number of computers.

A worker gets text and numbers: the name of `serve` below, the build of the core, and scenarios, partitions and seeds as
JSON. It returns bytes. It must have the same build of hypertwin. The scheduler needs no hypertwin.

The client assigns pieces of work to workers, and gives each one piece more than it has threads. So neither scheduler
nor client holds waiting work, and a worker that joins gets work within a second. A piece takes about a second of CPU,
estimated from earlier pieces. Work of a lost worker is run again elsewhere, with the same result.

A task might crash its worker. A task from a lost worker is sent again by itself. After the second loss it waits until
no other task is left, and runs alone. If that worker is lost too, the task is the cause.
"""

from __future__ import annotations

import json
import logging
import operator
import pkgutil
import uuid
import zlib
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from time import monotonic, thread_time
from typing import Any
from urllib.parse import urlsplit

from distributed import Client, Future, KilledWorker, get_worker

from hypertwin import _core
from hypertwin.errors import HypertwinError, UnreachableError, fail
from hypertwin.runs.task import Outcome, Task, perform

LOG = logging.getLogger(__name__)

PROTOCOLS: Mapping[str, str] = {"dask": "tcp", "dask+tls": "tls"}
"""Schemes of addresses, and their names in Dask."""

CONNECT_S = 10
"""Maximum seconds until a scheduler answers."""
WORKERS_S = 300
"""Maximum seconds to wait for a worker if none is connected."""
LOOK_S = 1.0
"""Seconds between checks for connected workers."""
FETCH_S = 10
"""Maximum seconds to fetch a result from its worker."""
PIECE_S = 1.0
"""CPU seconds of a piece of work, on few threads."""
PIECES_PER_S = 100
"""Maximum number of pieces per second that the client sends and receives. With very many threads, pieces are larger."""
SPARE_BELOW_S = 5.0
"""Seconds per piece below which a worker has one piece waiting. Longer pieces wait for the next free worker."""
TRIES = 3
"""Number of lost workers after which their common task counts as the cause of the loss."""


class ClusterError(HypertwinError):
    """Raised if a compute cluster fails."""

    code = "cluster-failed"


class Dask:
    """Engine that runs tasks on the workers of a Dask scheduler."""

    def __init__(self, address: str) -> None:
        """Set the scheduler: `dask://HOST:PORT`, or `dask+tls://HOST:PORT` with the certificates of Dask's
        configuration.

        The connection opens with the first task. Raises ScenarioError for an invalid address.
        """
        self.address = address
        self.threads: dict[str, int] = {}
        """Number of threads of each worker by address of the worker, at the last check."""
        self.pace = _Pace()
        self._contact = contact(address)
        self._client: Client | None = None

    @property
    def workers(self) -> int:
        """Number of workers."""
        return len(self.threads)

    def run(self, tasks: Iterable[Task], meter: _core.Meter | None = None) -> Generator[Outcome | None]:
        """See `Engine`. Raises UnreachableError without a scheduler, ClusterError when the cluster fails."""
        source = _Source(tasks)
        if source.is_empty:
            return
        pieces = _Pieces(self, self._connected(), source)
        try:
            yield from pieces.outcomes()
        finally:
            pieces.cancel()

    def close(self) -> None:
        """End the connection."""
        if self._client is not None:
            with suppress(OSError, TimeoutError):
                self._client.close()
            self._client = None

    def _connected(self) -> Client:
        if self._client is None:
            # it tells of a lost scheduler by exceptions as well
            logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
            try:
                self._client = Client(self._contact, timeout=CONNECT_S, set_as_default=False, name="hypertwin")
            except (OSError, TypeError, RuntimeError, ValueError) as error:  # the middle two: no certificates
                raise UnreachableError(
                    f"{self.address}: no Dask scheduler answers there: {error}\n"
                    "  help: start one with `dask scheduler`, and see docs/guides/cluster.md"
                ) from error
        return self._client


def contact(address: str) -> str:
    """Return the address of a scheduler in Dask's form. Raises ScenarioError if the address is invalid."""
    try:
        parts = urlsplit(address)
        complete = parts.scheme in PROTOCOLS and parts.hostname and parts.port
    except ValueError:  # a port that is no number
        complete = None
    if not complete or parts.path not in ("", "/") or parts.query or "@" in parts.netloc:
        fail(
            "bad-address", "", address, "dask://HOST:PORT, or dask+tls://HOST:PORT", "a scheduler says its own", "--on"
        )
    return f"{PROTOCOLS[parts.scheme]}://{parts.netloc}"


def serve(build: str, order: bytes) -> tuple[str, float, list[tuple[Any, ...]]]:
    """Run a piece of work on a worker. Returns its build, CPU seconds, and the fields of each task's outcome.

    A worker with another build than requested does nothing. It stops between tasks after a cancellation.
    """
    if build != _core.build():
        return _core.build(), 0.0, []
    scenarios, tasks = json.loads(zlib.decompress(order))
    worker, begun = get_worker(), thread_time()
    key = worker.get_current_task()
    outcomes = []
    for scenario, islands, seed in tasks:
        state = worker.state.tasks.get(key)
        if state is None or state.state != "executing":
            break
        outcome = perform(0, Task(scenarios[scenario], tuple(islands), seed, 0))
        outcomes.append((outcome.results, outcome.failure, outcome.is_defect))
    return build, thread_time() - begun, outcomes


def _order(tasks: Iterable[Task]) -> bytes:
    """Return the tasks in the form that `serve` takes, with each scenario once."""
    scenarios: dict[str, int] = {}
    listed = [(scenarios.setdefault(task.scenario, len(scenarios)), task.islands, task.seed) for task in tasks]
    return zlib.compress(json.dumps((list(scenarios), listed)).encode(), 1)


class _Source:
    """Iterator over tasks with their positions, with a flag for the end of the tasks."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks = enumerate(tasks)
        self._next = next(self._tasks, None)

    @property
    def is_empty(self) -> bool:
        return self._next is None

    def take(self) -> tuple[int, Task]:
        assert self._next is not None
        taken, self._next = self._next, next(self._tasks, None)
        return taken


class _Pace:
    """CPU time per unit of weight in the last pieces of work."""

    def __init__(self) -> None:
        self._seconds = self._weight = 0.0

    def add(self, seconds: float, weight: float) -> None:
        self._seconds = 0.9 * self._seconds + seconds
        self._weight = 0.9 * self._weight + weight

    def weight(self, seconds: float) -> float:
        """Return the weight that takes this CPU time, or 0 without data."""
        return seconds * self._weight / self._seconds if self._seconds else 0.0


@dataclass
class _Piece:
    """Piece of work of a worker: tasks by position."""

    key: str
    """Key of the piece in Dask."""
    tasks: dict[int, Task]
    worker: str
    future: Future[Any]


@dataclass
class _Pieces:
    """Pieces of work of one call of `Dask.run`."""

    engine: Dask
    client: Client
    source: _Source
    name: str = field(default_factory=lambda: f"hypertwin-{uuid.uuid4().hex}")
    under_way: dict[str, _Piece] = field(default_factory=dict)
    ended: SimpleQueue[Future[Any]] = field(default_factory=SimpleQueue)
    free: deque[str] = field(default_factory=deque)
    """Workers that can take a piece, with one entry per piece."""
    spare: set[str] = field(default_factory=set)
    """Workers that have one more piece than threads."""
    lost: dict[int, list[str]] = field(default_factory=dict)
    """Lost workers of each task, by position of the task."""
    again: deque[tuple[int, Task]] = field(default_factory=deque)
    """Tasks of lost workers, to be sent again."""
    alone: deque[tuple[int, Task]] = field(default_factory=deque)
    """Tasks with only one try left."""
    given_up: list[Outcome] = field(default_factory=list)
    """Error to raise after all other tasks."""
    count: int = 0
    look_at: float = 0.0
    no_worker_since: float | None = None

    def outcomes(self) -> Iterator[Outcome]:
        """Yield the outcome of each task."""
        self.engine.threads = {}
        while self.under_way or self.again or self.alone or not self.source.is_empty:
            if monotonic() >= self.look_at:
                self._look()
                self.look_at = monotonic() + LOOK_S
            while self.free and (tasks := self._next()):
                self._send(self.free.popleft(), tasks)
            for future in self._wait():
                yield from self._end(future)
        yield from self.given_up

    def cancel(self) -> None:
        """Cancel running simulations."""
        futures = [piece.future for piece in self.under_way.values()]
        self.under_way.clear()
        if futures:
            with suppress(OSError, TimeoutError, CancelledError):  # the scheduler is gone
                self.client.cancel(futures, force=True)

    def _look(self) -> None:
        """Update the lists of new and lost workers."""
        known = self.engine.threads
        try:
            self.engine.threads = threads = dict(self.client.nthreads())
        except (OSError, TimeoutError, CancelledError) as error:
            raise self._disconnected() from error
        gone = known.keys() - threads.keys()
        self.free = deque(worker for worker in self.free if worker not in gone)
        self.spare -= gone
        for piece in [piece for piece in self.under_way.values() if piece.worker in gone]:
            self._lose(piece)
        new = threads.keys() - known.keys()
        for place in range(max((threads[worker] for worker in new), default=0)):
            self.free.extend(sorted(worker for worker in new if place < threads[worker]))
        self._await_workers()

    def _await_workers(self) -> None:
        if self.engine.threads:
            self.no_worker_since = None
        elif self.no_worker_since is None:
            self.no_worker_since = monotonic()
            LOG.warning("%s has no workers: waiting %d s for one", self.engine.address, WORKERS_S)
        elif monotonic() - self.no_worker_since > WORKERS_S:
            raise ClusterError(
                f"{self.engine.address} has had no workers for {WORKERS_S} s\n"
                "  help: start some with `dask worker`, and check the logs of ended ones"
            )

    def _next(self) -> dict[int, Task]:
        """Return the next piece of work, or an empty dict if there is none, or none yet."""
        if not self.source.is_empty:
            wanted = self.engine.pace.weight(max(PIECE_S, sum(self.engine.threads.values()) / PIECES_PER_S))
            tasks: dict[int, Task] = {}
            weight = 0.0
            while not self.source.is_empty and (not tasks or weight < wanted):
                position, task = self.source.take()
                tasks[position] = task
                weight += task.weight
            return tasks
        if self.again:
            return dict([self.again.popleft()])
        if self.alone and not self.under_way:
            return dict([self.alone.popleft()])
        return {}

    def _send(self, worker: str, tasks: dict[int, Task]) -> None:
        self.count += 1
        key = f"{self.name}-{self.count}"
        call = (operator.call, (pkgutil.resolve_name, f"{__name__}:serve"), _core.build(), _order(tasks.values()))
        future = self.client.get({key: call}, key, workers=[worker], allow_other_workers=False, sync=False)
        self.under_way[key] = _Piece(key, tasks, worker, future)
        future.add_done_callback(self.ended.put)

    def _wait(self) -> Iterator[Future[Any]]:
        """Yield the futures that have ended. Return early when the workers have to be checked."""
        try:
            yield self.ended.get(timeout=max(self.look_at - monotonic(), 0.0))
            while True:
                yield self.ended.get_nowait()
        except Empty:
            pass

    def _end(self, future: Future[Any]) -> Iterator[Outcome]:
        piece = self.under_way.get(str(future.key))
        if piece is None:  # given up
            return
        try:
            build, seconds, outcomes = future.result(timeout=FETCH_S)
        except TimeoutError:  # its worker was lost with the result, perhaps
            future.add_done_callback(self.ended.put)
            return
        except (KilledWorker, MemoryError):
            self._free(piece.worker, SPARE_BELOW_S)
            self._lose(piece)
            return
        except CancelledError as error:
            raise self._disconnected() from error
        except Exception as error:
            raise ClusterError(
                f"the worker {piece.worker} cannot run simulations: {type(error).__name__}: {error}\n"
                f"  help: it needs the same hypertwin as here, {_core.build()}"
            ) from error
        if build != _core.build():
            raise ClusterError(
                f"the worker {piece.worker} has hypertwin {build}, and here is {_core.build()}\n"
                "  help: install the same wheel on all workers and here"
            )
        del self.under_way[piece.key]
        self.engine.pace.add(seconds, sum(task.weight for task in piece.tasks.values()))
        self._free(piece.worker, seconds)
        for position, outcome in zip(piece.tasks, outcomes, strict=True):
            yield Outcome(position, *outcome)

    def _free(self, worker: str, seconds: float) -> None:
        """Mark a worker as free, after a piece that took `seconds`."""
        if worker not in self.engine.threads:
            return
        if seconds < SPARE_BELOW_S and worker not in self.spare:
            self.spare.add(worker)
            self.free.append(worker)
        elif seconds >= SPARE_BELOW_S and worker in self.spare:
            self.spare.remove(worker)
            return
        self.free.append(worker)

    def _lose(self, piece: _Piece) -> None:
        """Handle a piece whose worker was lost or out of memory.

        Its tasks run again, unless their tries are used up.
        """
        del self.under_way[piece.key]
        with suppress(OSError, TimeoutError, CancelledError):
            self.client.cancel([piece.future], force=True)
        for position, task in piece.tasks.items():
            lost = self.lost.setdefault(position, [])
            lost.append(piece.worker)
            if len(lost) < TRIES - 1:
                self.again.append((position, task))
            elif len(lost) < TRIES:
                self.alone.append((position, task))
            else:
                why = (
                    f"{len(lost)} workers were lost, or out of memory, while they ran it ({', '.join(lost)}), the last "
                    "with nothing else to do; their logs may say why"
                )
                self.given_up.append(Outcome(position, None, why, is_defect=True))

    def _disconnected(self) -> ClusterError:
        return ClusterError(
            f"the scheduler at {self.engine.address} is gone, or has dropped what it was to do\n"
            "  help: see its log; the same command again does what is left, if results are kept"
        )
