"""Keeps the solver from writing to the standard output, which carries results only.

HiGHS 1.12 prints a line of its own beside what it is asked to print (ERGO-Code/HiGHS issue 2783), from C, so that only
the file descriptor can be turned away. What C has buffered meanwhile is thrown away with it.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LIBC = ctypes.CDLL(None)
_ONE_AT_A_TIME = threading.RLock()


@contextmanager
def quiet() -> Iterator[None]:
    """While it lasts, what C code prints goes nowhere."""
    with _ONE_AT_A_TIME:
        try:
            kept = os.dup(1)
        except OSError:  # there is no standard output
            yield
            return
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            sys.stdout.flush()
            _LIBC.fflush(None)
            os.dup2(nowhere, 1)
            yield
        finally:
            _LIBC.fflush(None)
            os.dup2(kept, 1)
            os.close(kept)
            os.close(nowhere)
