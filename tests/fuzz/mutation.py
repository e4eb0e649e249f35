"""Changes to a file, as by chance, a bad copy or malice; the same random numbers give the same changes.

Packed files (a zip of XML parts, gzip, Parquet) are unpacked, changed inside and packed again: a byte changed in the
packed file would rarely reach the parser.
"""

from __future__ import annotations

import gzip
import io
import random
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator

import pyarrow as pa
from pyarrow import parquet

Change = Callable[[bytes, random.Random], bytes]

ABSURD = (
    *(b"1e308", b"-1", b"nan", b"inf", b"9" * 400, b"-9223372036854775809", b"0x10", b"1_000", b"1,5", b"0"),
    *(b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80\xae", b"\x1b[31m", b"\r", b"\n" * 50),
    *(b'"', b"'", b'"' * 9, b"<script>alert(1)</script>", b"=cmd|' /C calc'!A0", b"%2F/%00", b"{{7*7}}"),
    *(b"]]>", b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"&b;", b"&#0;", b"<a>", b"[" * 200, b'{"a":' * 200, b"- " * 200),
    *(b"99:99:99", b"0000-00-00", b"9999-12-31T23:59:59+14:00", b"02/30/2026", b"*a", b"&a [*a]", b"!!python/none ''"),
    *(b"null", b"true", b"Infinity", b"a" * 5_000, "٣".encode(), "é\u0301".encode(), b"..", b"\\", b"/"),
)
"""What is put in somewhere."""
_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?")
_SEPARATORS = (b",", b";", b"\t", b" ", b":", b"=", b"|", b">", b"/")
_MOST = 200_000
"""Bytes of a changed file, or part of one."""


def mutate(data: bytes, draw: random.Random, change: Change | None = None) -> bytes:
    """One changed copy; `change` is how text is changed."""
    change = change or plain
    try:
        if data.startswith(b"PK") and draw.random() < 0.97:
            return _parts(data, draw, change)
        if data.startswith(b"\x1f\x8b") and draw.random() < 0.97:
            return gzip.compress(change(gzip.decompress(data), draw), 1, mtime=0)
        if data.startswith(b"PAR1") and draw.random() < 0.97:
            return _table(data, draw, change)
    except (
        zipfile.BadZipFile,
        OSError,
        EOFError,
        zlib.error,
        ValueError,
        OverflowError,
        pa.ArrowException,
        NotImplementedError,
    ):
        pass  # broken by an earlier change: its bytes are changed
    return change(data, draw)


def mutants(sample: bytes, count: int, seed: int = 1) -> Iterator[bytes]:
    """Copies with one to six changes each."""
    draw = random.Random(seed)
    for _ in range(count):
        data = sample
        for _ in range(draw.randint(1, 6)):
            data = mutate(data, draw)
        yield data


def plain(data: bytes, draw: random.Random) -> bytes:
    """One change of bytes, a number, a field or a line."""
    at, length = draw.randrange(len(data) + 1), draw.randint(1, 40)
    match draw.randrange(14):
        case 0:
            data = data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :]
        case 1:
            data = data[:at] + data[at + length :]
        case 2:
            data = data[:at] + data[at : at + length] * draw.randint(2, 50) + data[at + length :]
        case 3:
            data = data[:at] + draw.choice(ABSURD) + data[at:]
        case 4:
            data = data[:at]
        case 5 | 6 | 12 | 13:
            data = _number(data, draw)
        case 7 | 8:
            data = _pieces(data, draw, b"\n")
        case 9 | 10:
            data = _pieces(data, draw, draw.choice(_SEPARATORS))
        case _:
            data = data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :] if at < len(data) else data
    return data[:_MOST]


def _number(data: bytes, draw: random.Random) -> bytes:
    """Another number, one that may well be or an absurd one, where a number is."""
    new = draw.choice(ABSURD) if draw.random() < 0.3 else b"%d" % draw.choice((0, 1, 2, 3, 7, 12, 64, 100, 999, 70_000))
    at = draw.randrange(len(data) + 1)
    found = _NUMBER.search(data, at) or _NUMBER.search(data)
    return data[: found.start()] + new + data[found.end() :] if found else data


def _pieces(data: bytes, draw: random.Random, separator: bytes) -> bytes:
    """Lines or fields removed, doubled, moved or put in another's place."""
    pieces = data.split(separator)
    one, other = draw.randrange(len(pieces)), draw.randrange(len(pieces))
    match draw.randrange(5):
        case 0:
            del pieces[one]
        case 1:
            pieces.insert(one, pieces[other])
        case 2:
            pieces[one], pieces[other] = pieces[other], pieces[one]
        case 3:
            pieces[one] = draw.choice(ABSURD)
        case _:
            pieces[one] = pieces[other]
    return separator.join(pieces)


def _parts(data: bytes, draw: random.Random, change: Change) -> bytes:
    """A zip file in which one part is changed, or removed, renamed or doubled."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        parts = [(entry.filename, packed.read(entry)) for entry in packed.infolist() if entry.file_size <= _MOST]
    if not parts:
        return change(data, draw)
    at = draw.randrange(len(parts))
    name, content = parts[at]
    match draw.randrange(20):
        case 0:
            del parts[at]
        case 1:
            parts[at] = (change(name.encode(), draw).decode("utf-8", "replace")[:200], content)
        case 2:
            parts.append((name, parts[draw.randrange(len(parts))][1]))
        case _:
            parts[at] = (name, change(content, draw))
    buffer = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(buffer, "w") as packed:  # of two parts of a name
        for name, content in parts:
            packed.writestr(zipfile.ZipInfo(name.replace("\0", "") or "x"), content)
    return buffer.getvalue()


def _table(data: bytes, draw: random.Random, change: Change) -> bytes:
    """A Parquet file with another cell, column, type or order."""
    table = parquet.read_table(pa.BufferReader(data), use_threads=False)
    columns = {name: table.column(name).to_pylist() for name in dict.fromkeys(table.column_names)}
    kinds = {name: table.column(name).type for name in columns}
    types = {name: kind.value_type if pa.types.is_dictionary(kind) else kind for name, kind in kinds.items()}
    name = draw.choice([*columns, "new"])
    match draw.randrange(20):
        case 0:
            columns.pop(name, None)
        case 1:
            columns[name] = columns[draw.choice(list(columns))]
            types.pop(name, None)
        case 2:
            types[name] = draw.choice((pa.string(), pa.float64(), pa.int64(), pa.binary(), pa.float32(), pa.bool_()))
        case 3:
            columns = {each: [*values, *values[:1]] for each, values in columns.items()}
        case _:
            values = columns.get(name) or [None] * table.num_rows
            at = draw.randrange(len(values))
            cell = values[at]
            if isinstance(cell, str):
                values[at] = change(cell.encode(), draw).decode("utf-8", "replace")
            elif isinstance(cell, float):
                values[at] = draw.choice((float("nan"), float("inf"), -1.0, 1e308, 0.0, None, cell * 1000))
            else:
                values[at] = None
            columns[name] = values
    made = {each: pa.array(values, types.get(each), from_pandas=False) for each, values in columns.items()}
    buffer = io.BytesIO()
    parquet.write_table(pa.table(made), buffer, compression=draw.choice(("none", "zstd", "snappy")))
    return buffer.getvalue()
