"""Start of a process that has limits and ends with the server: `python -m hypertwin.serve.launch ...`.

The system ends the process when the server ends, also by SIGKILL (PR_SET_PDEATHSIG of Linux, prctl(2)). Limits and this
setting stay when the process becomes a Python module.

A record of process and start time finds the processes that the system missed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from hypertwin import scenario

PR_SET_PDEATHSIG = 1
MAX_FILE = 4 << 30
"""Maximum bytes of a file that the process writes."""
NICENESS = 5
"""Niceness of the process, so that the server answers while all cores are busy."""


def command(module: str, words: Sequence[str], memory: int) -> list[str]:
    """Return the command line of a process, for this process as its parent."""
    start = [sys.executable, "-P", "-m", "hypertwin.serve.launch", str(os.getpid()), str(memory)]
    return [*start, module, *words]


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a process that works in a folder. Its scenarios name only files in the folder."""
    package = str(Path(scenario.__file__).parents[2])
    paths = [
        package,
        *(each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if Path(each).is_absolute()),
    ]
    given = {"PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), scenario.WITHIN: str(folder), "NO_COLOR": "1"}
    return {**os.environ, **given, **more}


def end(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process and its children."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def main() -> None:
    """Set the limits, and become the module."""
    parent, memory, module, *words = sys.argv[1:]
    end_with(int(parent))
    resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE, MAX_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(NICENESS)
    os.execv(sys.executable, [sys.executable, "-P", "-m", module, *words])


def end_with(parent: int) -> None:
    """End this process when its parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before
        sys.exit(1)


if __name__ == "__main__":
    main()
