"""The command line in processes that are forked from one which has loaded it: each its own, without the start-up.

Run as a program, it reads requests as lines of JSON and answers each with the exit code of its process.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

LIMIT_S = 120
"""After this time a process is killed."""
LOADED_LATE = (
    "hypertwin.cli.root",
    "rich.console",
    "rich.table",
    "rich.progress",
    "hypertwin.show.registry",
    "hypertwin.runs.simulation",
    "hypertwin.plan.placement.planning",
    "hypertwin.diagnosis",
    "hypertwin.ingest.formats",
    "hypertwin.ingest.overview",
    "hypertwin.ingest.sources",
    "hypertwin.ingest.to_scenario",
    "openpyxl",
    "scipy.optimize",
    "scipy.sparse.csgraph",
)
"""What many commands import when they run."""


class Server:
    """A process that has loaded all commands, and forks."""

    def __init__(self) -> None:
        """Start it."""
        command = [sys.executable, __file__]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, arguments: Sequence[str], at: Path) -> subprocess.CompletedProcess[str]:
        """`hypertwin ARGUMENTS...` in a folder, with the environment of now, stdout and stderr apart, no terminal."""
        assert self._process.stdin
        assert self._process.stdout
        with NamedTemporaryFile("w+") as out, NamedTemporaryFile("w+") as err:
            files = [out.name, err.name]
            request = {"arguments": list(arguments), "at": str(at), "environment": dict(os.environ), "files": files}
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            code = int(self._process.stdout.readline())
            return subprocess.CompletedProcess(["hypertwin", *arguments], code, out.read(), err.read())

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def _serve() -> None:
    from hypertwin.cli.catalogue import COMMANDS

    for module in (*COMMANDS.values(), *LOADED_LATE):
        with contextlib.suppress(ImportError):  # a library of an extra that is not installed
            importlib.import_module(module)
    gc.collect()
    gc.freeze()  # collections and the end of a child leave the pages alone that it shares
    for line in sys.stdin:
        with warnings.catch_warnings():  # of the threads of libraries, which no child needs
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if not child:
            _command(json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _command(request: Mapping[str, Any]) -> None:
    from hypertwin.cli.main import main

    signal.alarm(LIMIT_S)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, file in enumerate((nothing, *(os.open(name, os.O_RDWR) for name in request["files"]))):
        os.dup2(file, number)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["at"])
    sys.argv[1:] = request["arguments"]
    main()


if __name__ == "__main__":
    sys.path.pop(0)  # tests/, where no module of the package is
    _serve()
