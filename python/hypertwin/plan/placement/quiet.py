"""Suppression of the output of solvers on stdout, which carries results only.

HiGHS 1.12 prints a line that cannot be disabled (ERGO-Code/HiGHS issue 2783). It prints from C, so only the file
descriptor can be redirected. Other buffered C output is lost as well.
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
    """Discard the output of C code in the block."""
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
