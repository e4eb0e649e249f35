"""Runs of commands, each a process with a folder of its own in the state folder.

The folder has copies of the inputs, `run.json`, and the outputs `page.html`, `result.json` and `stderr.txt`. `run.json`
is always complete. After a server was killed, its successor lists finished runs, and marks the others as interrupted.

A run is the command line: its page, exit code and errors are those of the command. A process can be limited,
cancelled and killed, which a thread of the core cannot. The inputs are copies, so the hash of the inputs is exact,
and a later edit changes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import signal
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hypertwin.errors import HypertwinError
from hypertwin.files import reading, writing
from hypertwin.serve import launch
from hypertwin.serve.refusal import RefusedError

RECORD, PAGE, RESULT, SAID = "run.json", "page.html", "result.json", "stderr.txt"
"""Names of files in the folder of a run."""
MAX_QUEUED = 50
"""Maximum number of runs that wait."""
MAX_KEPT = 1_000
"""Maximum number of runs in the state folder."""
GRACE_S = 10.0
"""Seconds without a connection after which a tab counts as closed."""
TERM_S = 5.0
"""Seconds from SIGTERM to SIGKILL."""
MAX_RECORD = 4 << 20
"""Maximum bytes of a record."""
MAX_SAID = 4_000
"""Maximum characters of the last lines of stderr in the record."""
MAX_LINE = 4_096
"""Maximum bytes of a line of progress."""

_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{8}\Z")
_ENDED = ("done", "failed", "cancelled", "interrupted")

Status = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]


class StateError(HypertwinError):
    """Raised if the state folder cannot be used."""

    code = "not-served"


@dataclass
class Run:
    """A run, as `run.json` has it."""

    id: str
    command: list[str]
    file: str
    """Name of the scenario, or the names of the compared results."""
    inputs: dict[str, str]
    """SHA-256 of each input."""
    created: float
    status: Status = "queued"
    started: float | None = None
    ended: float | None = None
    exit_code: int | None = None
    said: str = ""
    """Last lines of stderr."""
    is_kept: bool = False
    """True if the run continues after its tab was closed."""
    tab: str = ""
    pid: int | None = None
    pid_started: str = ""
    """Start of the process in ticks since boot, which distinguishes it from a later process of the same number."""
    progress: dict[str, Any] = field(default_factory=dict)
    has_page: bool = False
    has_result: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the run for the front end."""
        hidden = ("pid", "pid_started", "tab")
        return {key: value for key, value in asdict(self).items() if key not in hidden}


@dataclass(frozen=True)
class Limits:
    """Limits of runs."""

    parallel: int = 2
    memory: int = 8 << 30
    """Bytes of address space of each run."""
    seconds: float = 6 * 3600.0
    progress: str = ""
    """Environment variable of a command with the number of the file that gets its progress."""


class Runs:
    """All runs of a state folder. A lock keeps other servers out."""

    def __init__(self, state: Path, limits: Limits) -> None:
        """Open the state folder, and end and mark what an earlier server left. Raises StateError."""
        self.limits, self.folder = limits, state / "runs"
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = (state / "lock").open("w")
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StateError(f"another `hypertwin serve` uses {state}\n  help: end it, or use --state FOLDER") from None
        except OSError as error:
            raise StateError(f"cannot use the state folder {state}: {error.strerror}") from None
        self._runs = {run.id: run for run in self._recorded()}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._listeners: set[asyncio.Queue[Run | None]] = set()
        self._tabs: dict[str, int] = {}
        self._closing: dict[str, asyncio.Task[None]] = {}
        self._free = asyncio.Semaphore(limits.parallel)
        self._cancelled: set[str] = set()
        self._is_closing = False

    def _recorded(self) -> list[Run]:
        found = []
        for folder in sorted(self.folder.iterdir()):
            run = _record(folder / RECORD)
            if run is None or run.id != folder.name or not _ID.match(run.id):
                continue
            if run.status not in _ENDED:
                _end_orphan(run)
                run.status, run.ended, run.progress = "interrupted", time.time(), {}
                self._write(run)
            found.append(run)
        return found

    def all(self) -> list[Run]:
        """Return all runs, the newest first."""
        return sorted(self._runs.values(), key=lambda run: (run.created, run.id), reverse=True)

    def get(self, name: str) -> Run:
        """Return a run. Raises RefusedError."""
        run = self._runs.get(name)
        if run is None:
            raise RefusedError(404, "no such run")
        return run

    def output(self, name: str, file: str) -> Path:
        """Return an output of a finished run. Raises RefusedError."""
        path = self.folder / self.get(name).id / file
        if not path.is_file() or path.stat().st_size == 0:
            raise RefusedError(404, "the run has no such output")
        return path

    def start(
        self, words: Sequence[str], file: str, inputs: Mapping[str, bytes], *, tab: str = "", is_kept: bool = False
    ) -> Run:
        """Queue a run. `inputs` has the content of each file that the command reads. Raises RefusedError."""
        if sum(run.status == "queued" for run in self._runs.values()) >= MAX_QUEUED:
            raise RefusedError(429, f"{MAX_QUEUED} runs wait already: cancel some, or wait")
        if len(self._runs) >= MAX_KEPT:
            raise RefusedError(429, f"{MAX_KEPT} runs are kept: delete some")
        run = Run(
            id=f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}",
            command=list(words),
            file=file,
            inputs={name: hashlib.sha256(content).hexdigest() for name, content in inputs.items()},
            created=time.time(),
            tab=tab,
            is_kept=is_kept,
        )
        folder = self.folder / run.id
        try:
            folder.mkdir(mode=0o700)
            for name, content in inputs.items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise RefusedError(
                507, f"cannot write into the state folder {self.folder.parent}: {error.strerror}"
            ) from None
        self._runs[run.id] = run
        self._write(run)
        self._tell(run)
        self._tasks[run.id] = asyncio.create_task(self._perform(run))
        if not is_kept and not self._tabs.get(tab):
            self._close_later(tab)
        return run

    async def _perform(self, run: Run) -> None:
        """Wait for a free place, and run the command to its end."""
        try:
            async with self._free:
                await self._execute(run)
        except OSError as error:
            run.status, run.said = "failed", f"the process did not start: {error.strerror}"
        except asyncio.CancelledError:
            if run.ended is None:
                run.status = "interrupted"
            raise
        finally:
            self._finish(run)

    def _finish(self, run: Run) -> None:
        """Record the end of a run, once."""
        self._tasks.pop(run.id, None)
        self._cancelled.discard(run.id)
        if run.ended is not None:
            return
        run.ended, run.pid, run.progress = time.time(), None, {}
        folder = self.folder / run.id
        run.said = run.said or _last_lines(folder / SAID)
        run.has_page = (folder / PAGE).is_file()
        run.has_result = (folder / RESULT).is_file() and (folder / RESULT).stat().st_size > 0
        if run.status in ("running", "queued"):
            run.status = "done" if run.exit_code in (0, 1) and run.has_page else "failed"
        self._write(run)
        self._tell(run)

    async def _execute(self, run: Run) -> None:
        folder = self.folder / run.id
        run.status, run.started = "running", time.time()
        reader, writer = os.pipe()
        environment = launch.environment(folder, **{self.limits.progress or "PROGRESS": str(writer)})
        try:
            with (folder / RESULT).open("wb") as result, (folder / SAID).open("wb") as said:
                process = await asyncio.create_subprocess_exec(
                    *launch.command("hypertwin", run.command, self.limits.memory),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=result,
                    stderr=said,
                    cwd=folder,
                    env=environment,
                    pass_fds=(writer,),
                    start_new_session=True,
                )
        except OSError:
            os.close(reader)
            raise
        finally:
            os.close(writer)
        run.pid, run.pid_started = process.pid, _started(process.pid)
        self._write(run)
        self._tell(run)
        watching = asyncio.create_task(self._watch(run, reader))
        try:
            run.exit_code = await asyncio.wait_for(self._ended(run, process), self.limits.seconds)
        except TimeoutError:
            await _end(process)
            run.status, run.said = "failed", f"ended after {self.limits.seconds:g} s, the time limit of a run"
        except asyncio.CancelledError:
            await _end(process)
            raise
        finally:
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching

    async def _ended(self, run: Run, process: asyncio.subprocess.Process) -> int:
        """Return the exit code. A cancelled run is ended."""
        waiting = asyncio.ensure_future(process.wait())
        while not waiting.done():
            await asyncio.wait({waiting}, timeout=0.1)
            if run.id in self._cancelled:
                await _end(process)
                run.status = "cancelled"
        return await waiting

    async def _watch(self, run: Run, descriptor: int) -> None:
        """Read lines of progress until the end of the process."""
        stream = asyncio.StreamReader(limit=MAX_LINE)
        protocol = asyncio.StreamReaderProtocol(stream)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(descriptor, "rb"))
        try:
            async for line in stream:
                progress = _progress(line)
                if progress is not None:
                    run.progress = progress
                    self._tell(run)
        except ValueError:  # a line that is too long
            return
        finally:
            transport.close()

    def cancel(self, name: str) -> Run:
        """End a run that waits or runs. Raises RefusedError."""
        run = self.get(name)
        if run.status == "queued":
            run.status = "cancelled"
            self._tasks[run.id].cancel()
            self._finish(run)
        elif run.status == "running":
            self._cancelled.add(run.id)
        return run

    def delete(self, name: str) -> None:
        """Remove a finished run with its outputs. Raises RefusedError."""
        run = self.get(name)
        if run.id in self._tasks:
            raise RefusedError(409, "the run has not ended yet")
        del self._runs[run.id]
        shutil.rmtree(self.folder / run.id, ignore_errors=True)
        for queue in self._listeners:
            _offer(queue, None)

    def keep(self, name: str, is_kept: bool) -> Run:
        """Set whether a run continues after its tab was closed. Raises RefusedError."""
        run = self.get(name)
        run.is_kept = is_kept
        self._write(run)
        self._tell(run)
        return run

    async def events(self, tab: str) -> AsyncIterator[Run | None]:
        """Yield each changed run, and None after a deletion. The tab counts as open meanwhile."""
        queue: asyncio.Queue[Run | None] = asyncio.Queue(1_000)
        self._listeners.add(queue)
        self._tabs[tab] = self._tabs.get(tab, 0) + 1
        try:
            while True:
                yield await queue.get()
        finally:
            self._listeners.discard(queue)
            self._tabs[tab] -= 1
            if not self._tabs[tab]:
                del self._tabs[tab]
                if not self._is_closing:
                    self._close_later(tab)

    def _close_later(self, tab: str) -> None:
        """Start the time after which a tab counts as closed again."""
        if tab in self._closing:
            self._closing[tab].cancel()
        self._closing[tab] = asyncio.create_task(self._forget(tab))

    async def _forget(self, tab: str) -> None:
        """Cancel the runs of a tab that stays closed."""
        await asyncio.sleep(GRACE_S)
        del self._closing[tab]
        if not self._tabs.get(tab):
            for run in self.all():
                if run.tab == tab and not run.is_kept:
                    self.cancel(run.id)

    async def close(self) -> None:
        """End all runs, and mark them as interrupted."""
        self._is_closing = True
        tasks = [*self._tasks.values(), *self._closing.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._lock.close()

    def _write(self, run: Run) -> None:
        folder = self.folder / run.id
        with contextlib.suppress(HypertwinError):  # a full disk costs the record, not the server
            writing.write_atomically(folder / RECORD, json.dumps(asdict(run)))

    def _tell(self, run: Run) -> None:
        for queue in self._listeners:
            _offer(queue, run)


def _record(file: Path) -> Run | None:
    """Return the run in a record, or None for a damaged one."""
    kinds = get_type_hints(Run)
    try:
        with reading.opened(file) as stream:
            values = json.loads(stream.read(MAX_RECORD))
        json.dumps(values, ensure_ascii=False, allow_nan=False).encode()  # as answers need it
        run = Run(**values)
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    return run if all(_fits(value, kinds[key]) for key, value in values.items()) else None


def _fits(value: object, kind: Any) -> bool:
    origin = get_origin(kind)
    if origin is Literal:
        return value in get_args(kind)
    return isinstance(value, kind if origin in (None, UnionType) else origin)


def _offer(queue: asyncio.Queue[Run | None], run: Run | None) -> None:
    with contextlib.suppress(asyncio.QueueFull):  # its reader is slow, and gets the next state
        queue.put_nowait(run)


def _progress(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
        return {
            "label": str(found["label"])[:200],
            "done": float(found["done"]),
            "total": float(found["total"]),
            "unit": str(found["unit"])[:40],
        }
    except (ValueError, KeyError, TypeError):
        return None


def _last_lines(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            stream.seek(max(path.stat().st_size - MAX_SAID, 0))
            return stream.read().decode("utf-8", "replace").strip()
    except OSError:
        return ""


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a process and its children: SIGTERM, then SIGKILL."""
    for number, patience in ((signal.SIGTERM, TERM_S), (signal.SIGKILL, TERM_S)):
        if process.returncode is None:
            launch.end(process.pid, number)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), patience)
            return


def _started(pid: int) -> str:
    """Return the start time of a process in ticks since boot, from proc(5), or an empty text."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _end_orphan(run: Run) -> None:
    """End the process of a run that outlived its server, if it is still the same process."""
    if run.pid and run.pid_started and _started(run.pid) == run.pid_started:
        launch.end(run.pid, signal.SIGKILL)
