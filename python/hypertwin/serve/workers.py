"""Processes for short requests: checks of scenarios and live simulations.

A process answers one request at a time. If the browser gives a request up, or it takes too long, its process is ended
and replaced.
"""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

from hypertwin.serve import launch
from hypertwin.serve.refusal import RefusedError

MAX_ANSWER = 256 << 20
"""Maximum bytes of an answer."""
SIZE = 8
"""Bytes of the size before each message."""


class Workers:
    """Processes, started when needed."""

    def __init__(self, folder: Path, count: int, memory: int, *, waiting: int = 16) -> None:
        """Set the folder of scenarios, the number of processes, their memory in bytes, and the length of the queue."""
        self._folder, self._memory, self._most = folder, memory, waiting
        self._free = asyncio.Semaphore(count)
        self._idle: list[asyncio.subprocess.Process] = []
        self._waiting = 0

    async def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Return the answer of a process. Raises RefusedError. A cancelled request ends its process."""
        if self._waiting >= self._most:
            raise RefusedError(503, "too many requests wait: try again")
        self._waiting += 1
        try:
            async with self._free:
                return await self._ask(request, seconds)
        finally:
            self._waiting -= 1

    async def _ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        # the system ends a process when memory is short
        self._idle = [each for each in self._idle if each.returncode is None]
        process = self._idle.pop() if self._idle else await self._start()
        try:
            answer = await asyncio.wait_for(_exchange(process, request), seconds)
        except TimeoutError:
            await _kill(process)
            raise RefusedError(422, f"this takes more than {seconds:g} s: start it as a run") from None
        except (asyncio.IncompleteReadError, OSError, ValueError):
            await _kill(process)
            raise RefusedError(422, "this needs more memory than a request can have: start it as a run") from None
        except BaseException:
            await _kill(process)
            raise
        self._idle.append(process)
        return answer

    async def _start(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *launch.command("hypertwin.serve.worker", [], self._memory),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=self._folder,
            env=launch.environment(self._folder),
            start_new_session=True,
        )

    async def close(self) -> None:
        """End all idle processes."""
        for process in self._idle:
            await _kill(process)
        self._idle.clear()


async def _exchange(process: asyncio.subprocess.Process, request: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    text = json.dumps(request).encode()
    process.stdin.write(len(text).to_bytes(SIZE) + text)
    await process.stdin.drain()
    size = int.from_bytes(await process.stdout.readexactly(SIZE))
    if size > MAX_ANSWER:
        raise ValueError("the answer is too long")
    answer: dict[str, Any] = json.loads(await process.stdout.readexactly(size))
    return answer


async def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        launch.end(process.pid, signal.SIGKILL)
    await process.wait()
