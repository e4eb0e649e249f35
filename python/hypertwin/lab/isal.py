"""Intel's ISA-L, the erasure-coding library of storage systems: ten declarations of its C interface.

docs/models/erasure-coding.md explains why no binding is used: no maintained one reaches the library's speed without a C
build in this project. The interface of libisal.so.2 is stable, and a ctypes call of a function takes less than a
microsecond. hypertwin
neither ships nor needs the library; it opens the library on request.

Source: ISA-L's API reference, `erasure_code.h`, `raid.h` and `crc.h` of release 2.30.

The core has a fit of the measurements, and does not depend on the library.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import importlib.metadata
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hypertwin.errors import HypertwinError

SONAME = "libisal.so.2"

TABLE_BYTES = 32
"""Bytes of a coefficient's expanded table (`ec_init_tables`)."""

MOST_FRAGMENTS = 255
"""Maximum number of fragments of one stripe, data and parity: the nonzero elements of the field."""

ALIGNMENT = 64
"""Alignment of buffers: a cache line, which is more than `xor_gen` needs."""

Pointers = ctypes.Array[ctypes.c_void_p]


class LibraryMissingError(HypertwinError):
    """Raised if ISA-L is not on this machine."""

    code = "isal-missing"


class NotIsalError(HypertwinError):
    """Raised if the named file cannot be loaded, or is not ISA-L."""

    code = "not-isal"


class Isal:
    """Loaded library. Its functions check nothing: lengths and addresses must be correct."""

    def __init__(self, file: Path | None = None) -> None:
        """Open `file`. Without `file`, open the system's ISA-L, or otherwise that of an installed `pyeclib`.

        Raises LibraryMissingError, NotIsalError.
        """
        library, self.path = _open(file)
        try:
            self._declare(library)
        except AttributeError as error:
            raise NotIsalError(f"{self.path} is not ISA-L: {error}\n  help: {_HINT}") from None
        self._library = library

    def _declare(self, library: ctypes.CDLL) -> None:
        number, pointer = ctypes.c_int, ctypes.c_void_p
        self._cauchy = _function(library, "gf_gen_cauchy1_matrix", None, pointer, number, number)
        self._invert = _function(library, "gf_invert_matrix", number, pointer, pointer, number)
        self._multiply = _function(library, "gf_mul", ctypes.c_ubyte, ctypes.c_ubyte, ctypes.c_ubyte)
        self._tables = _function(library, "ec_init_tables", None, number, number, pointer, pointer)
        self.encode = _function(library, "ec_encode_data", None, number, number, number, pointer, pointer, pointer)
        """(length, sources, targets, tables, source addresses, target addresses): targets = coefficients × sources."""
        self.update = _function(
            library, "ec_encode_data_update", None, number, number, number, number, pointer, pointer, pointer
        )
        """(length, sources, targets, index, tables, source, target addresses): adds the contribution of one source."""
        self.xor = _function(library, "xor_gen", number, number, number, pointer)
        """(vectors, length, addresses): the last becomes the exclusive or of the others; 0 on success."""
        self.crc32c = _function(library, "crc32_iscsi", ctypes.c_uint, pointer, number, ctypes.c_uint)
        """(address, length, start): the CRC of iSCSI and storage systems (Castagnoli)."""

    @property
    def version(self) -> str:
        """Release in the file name, such as `2.30` from `libisal.so.2.0.30`."""
        numbered = re.search(r"\.so\.(\d+)\.\d+\.(\d+)$", self.path.resolve().name)
        if numbered:
            return f"{numbered[1]}.{numbered[2]}"
        # files without a number: what a release was the first to have
        return "2.31 or later" if self._has("ec_encode_data_avx512_gfni") else "unknown"

    def instruction_set(self, cpu_flags: frozenset[str]) -> str:
        """Return the fastest encoder variant that the library has and the CPU can run, as its dispatcher selects it.

        `cpu_flags` are those of /proc/cpuinfo.
        """
        for name, needed in _VARIANTS.items():
            if needed <= cpu_flags and self._has(f"ec_encode_data_{name}"):
                return name
        return "base"

    def _has(self, symbol: str) -> bool:
        return hasattr(self._library, symbol)

    def matrix(self, data: int, parity: int) -> bytes:
        """Return the coefficients of every fragment, `data` per row: the identity, then a Cauchy matrix.

        Any `data` rows are invertible.
        """
        rows = ctypes.create_string_buffer((data + parity) * data)
        self._cauchy(rows, data + parity, data)
        return rows.raw[: len(rows)]

    def rebuilding(self, matrix: bytes, data: int, survivors: Sequence[int], lost: Sequence[int]) -> bytes:
        """Return the coefficients that compute the `lost` fragments from `data` survivors, `data` per row."""
        rows = [matrix[data * row : data * (row + 1)] for row in range(len(matrix) // data)]
        kept = ctypes.create_string_buffer(b"".join(rows[row] for row in survivors), data * data)
        inverse = ctypes.create_string_buffer(data * data)
        if self._invert(kept, inverse, data):
            raise ValueError(f"fragments {list(survivors)} do not determine the data")
        column = [inverse.raw[index::data][:data] for index in range(data)]
        return bytes(self._dot(rows[row], column[index]) for row in lost for index in range(data))

    def _dot(self, row: bytes, column: bytes) -> int:
        total = 0
        for left, right in zip(row, column, strict=True):
            total ^= self._multiply(left, right)
        return total

    def tables(self, coefficients: bytes, sources: int) -> ctypes.Array[ctypes.c_char]:
        """Return the expanded tables for `encode` and `update` with these coefficients, `sources` per row."""
        targets = len(coefficients) // sources
        expanded = ctypes.create_string_buffer(TABLE_BYTES * len(coefficients))
        self._tables(sources, targets, ctypes.create_string_buffer(coefficients, len(coefficients)), expanded)
        return expanded


def pointers(addresses: Sequence[int]) -> Pointers:
    """Return addresses as the array of pointers for the library."""
    return (ctypes.c_void_p * len(addresses))(*addresses)


_VARIANTS = {
    "avx512_gfni": frozenset({"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512cd", "gfni"}),
    "avx2_gfni": frozenset({"avx2", "gfni"}),
    "avx512": frozenset({"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512cd"}),
    "avx2": frozenset({"avx2"}),
    "avx": frozenset({"avx"}),
    "sse": frozenset({"sse4_1"}),
    "sve": frozenset({"sve"}),
    "neon": frozenset({"asimd"}),
}
"""Suffixes of the variants of ISA-L, fastest first, with the CPU flags that the dispatcher of ISA-L requires."""

_HINT = "on Debian or Ubuntu `apt install libisal2`, elsewhere `pip install pyeclib`, or name the file: --library FILE"


def _open(file: Path | None) -> tuple[ctypes.CDLL, Path]:
    if file is not None:
        try:
            # a path without a folder would be looked up among the system's libraries
            return ctypes.CDLL(str(file.absolute())), file
        except OSError as error:
            raise NotIsalError(f"cannot load {file} as ISA-L: {error}\n  help: {_HINT}") from None
    for candidate in _candidates():
        with contextlib.suppress(OSError):
            return ctypes.CDLL(candidate), _loaded(candidate)
    raise LibraryMissingError(f"ISA-L ({SONAME}) is not on this machine\n  help: {_HINT}")


def _candidates() -> Iterator[str]:
    yield SONAME
    found = ctypes.util.find_library("isal")
    if found:
        yield found
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        for file in importlib.metadata.files("pyeclib") or ():
            if file.name.startswith("libisal"):
                yield str(file.locate())


def _loaded(name: str) -> Path:
    """Return the file of a loaded library of this name."""
    stem = Path(name).name
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
            path = line.partition("/")[2]
            if path and Path(path).name.startswith(stem):
                return Path(f"/{path}")
    return Path(name)


def _function(library: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    function = getattr(library, name)
    function.restype, function.argtypes = result, list(arguments)
    return function  # type: ignore[no-any-return]
