"""Note which functions a process runs and which files it reads, for the test that started it (`calls_plugin.py`).

Every process appends to one file: lines of test, file and function, the latter empty for files that are read.
"""

from __future__ import annotations

import atexit
import inspect
import os
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = f"{Path(__file__).resolve().parents[1]}/"
INTO, OWNER = "HYPERTWIN_CALLS", "HYPERTWIN_CALLER"
"""In the environment: the file that is appended to, and the test or fixture that runs."""
APART = tuple(f"{ROOT}{name}" for name in (".venv/", "out/", "target/", "web/node_modules/", "scripts/calls"))
NOT_READ = (".py", ".pyc", ".so")


class Notes:
    """What this process has run and read so far on behalf of one test or fixture."""

    def __init__(self, into: str) -> None:
        """Append to the file `into`."""
        self.file = os.open(into, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.codes, self.paths = dict[int, CodeType](), set[str]()

    def write(self, file: str, name: str) -> None:
        """Append one line."""
        os.write(self.file, f"{os.environ.get(OWNER, '')}\t{file}\t{name}\n".encode())

    def forget(self) -> None:
        """Begin again, for the next test."""
        self.codes, self.paths = {}, set()

    def trace(self, frame: FrameType, event: str, argument: object) -> None:
        """Note a function as it is called for the first time. None is returned: its lines are of no interest."""
        code = frame.f_code
        if id(code) not in self.codes:
            self.codes[id(code)] = code
            if code.co_flags & inspect.CO_OPTIMIZED and ours(code.co_filename):
                self.write(code.co_filename.removeprefix(ROOT), code.co_qualname.partition(".<locals>")[0])

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note a file as it is opened to be read for the first time."""
        if event != "open" or not isinstance(arguments[0], str) or arguments[2] & (os.O_WRONLY | os.O_RDWR):
            return
        path = arguments[0]
        if path not in self.paths:
            self.paths.add(path)
            real = os.path.realpath(path)
            if ours(real) and not real.endswith(NOT_READ) and Path(real).is_file():
                self.write(real.removeprefix(ROOT), "")


def ours(path: str) -> bool:
    """Whether a file is one of the project."""
    return path.startswith(ROOT) and not path.startswith(APART)


def start(notes: Notes) -> None:
    """Record calls in this process, in its threads and in those that it forks."""
    os.register_at_fork(after_in_child=notes.forget)
    sys.addaudithook(notes.audit)
    threading.settrace(notes.trace)
    sys.settrace(notes.trace)
    atexit.register(sys.settrace, None)  # globals vanish as the interpreter ends
