"""The result cache: results of simulations on this computer.

One SQLite file in WAL mode for several processes. A damaged, full or locked cache costs time, but never a result:
missing results are simulated, and new ones are not kept.

Partitions are cached, not points. If a sweep changes one host, all points share the other partitions. The report of a
point is also cached, which makes a repeated sweep fast. Values are compressed, and checked against their key.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from hypertwin import _core
from hypertwin.documents import cache as documents
from hypertwin.errors import HypertwinError, fail, printable, short

VARIABLE = "HYPERTWIN_CACHE"
"""Name of the environment variable with the folder of the cache, or `off`."""

OFF = "off"
"""Value that disables the cache."""

FILE = "hypertwin-results.sqlite"
"""Name of the file in the folder. SQLite adds two more files while the cache is in use."""

LARGEST = 1 << 30
"""Maximum bytes of results, unless `hypertwin cache prune` sets another size."""

ROOM = 0.9
"""Fraction of the maximum size that remains after a removal."""

LARGEST_RESULT = 256 << 20
"""Maximum bytes of a result. Larger results are not stored, and larger stored values are ignored."""

MOST_PENDING = 64 << 20
"""Maximum number of bytes that wait to be written. With a slow disk, further results are not stored."""

COMMIT_S = 0.5
"""Seconds until a result is stored."""

PATIENCE_S = 2.0
"""Seconds that a process waits for another process's write."""

TOUCH_S = 86_400
"""Age in seconds of the last use of a result after which a new use is recorded."""

_SCHEMA = 1
_TABLE = "CREATE TABLE results (key BLOB PRIMARY KEY, build TEXT NOT NULL, used INTEGER NOT NULL, value BLOB NOT NULL)"
_CHECKSUM = 16
"""Bytes of a checksum."""
_OVERHEAD = 128
"""Bytes of a row in addition to its value, with its index entry."""


class CacheError(HypertwinError):
    """Raised if the cache cannot be read or written."""

    code = "cache-unusable"


class DamagedError(CacheError):
    """Raised if the cache file is damaged."""


def place(named: str | Path | None = None) -> Path | None:
    """Return the folder of the cache: the given folder, the folder in HYPERTWIN_CACHE, or the default of the platform.

    The result is None for `off`, and if the platform has no cache folder for a user without a home.
    """
    name = str(named) if named is not None else os.environ.get(VARIABLE, "")
    if name == OFF:
        return None
    if named is not None and not _may_be_folder(Path(name)):
        fail("wrong-type", "cache", short(name), "a folder, or off", "name a folder; it is made where there is none")
    try:
        return Path(name).expanduser().absolute() if name else default()
    except RuntimeError:  # no home
        return Path(name).absolute() if name else None


def default() -> Path:
    """Return the platform's folder for what hypertwin keeps. Raises RuntimeError without a home."""
    return _caches() / "hypertwin"


def _may_be_folder(path: Path) -> bool:
    try:
        return "\0" not in str(path) and (path.is_dir() or not path.exists())
    except OSError:  # no permission to look, which is told when it is used
        return True


def _caches() -> Path:
    """Return the platform's folder for caches."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return given if given.is_absolute() else Path.home() / ".cache"


class Cache:
    """Results by key, for one thread. Another thread writes them."""

    def __init__(self, folder: Path, *, largest: int = LARGEST, say: Callable[[str], object] | None = None) -> None:
        """Open the cache in a folder, which is created when needed.

        `say` is called with the only warning (default: stderr).
        """
        self.folder, self._largest = folder, largest
        self._say = say or (lambda text: sys.stderr.write(f"{printable(text)}\n"))
        self._complained = False
        self._reads = self._writes = True
        self._reader: sqlite3.Connection | None = None
        self._writer: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._pending: dict[bytes, bytes] = {}
        self._pending_bytes = 0
        self._touched: set[bytes] = set()

    def get(self, key: bytes) -> bytes | None:
        """Return the result of this key, or None if missing or damaged."""
        with self._lock:
            if (waiting := self._pending.get(key)) is not None:
                return waiting
        if not self._reads:
            return None
        try:
            self._reader = self._reader or connect(self.folder)
            # all rows, so that SQLite sees the end of the query and does not hold the file as it was
            rows = self._reader.execute("SELECT value, used FROM results WHERE key = ?", (key,)).fetchall()
        except (OSError, sqlite3.Error, CacheError) as error:
            self._reads = False
            self._complain(f"cannot be read ({_reason(error)})")
            return None
        if not rows:
            return None
        result = unpack(key, rows[0][0])
        if result is None:
            self._complain("has damaged results: they are simulated again")
        elif time.time() - rows[0][1] > TOUCH_S:
            self._touch(key)
        return result

    def put(self, key: bytes, result: bytes) -> None:
        """Store a result with the next write."""
        if not self._writes or len(result) > LARGEST_RESULT:
            return
        with self._lock:
            if key not in self._pending and self._pending_bytes + len(result) <= MOST_PENDING:
                self._pending[key] = result
                self._pending_bytes += len(result)
        self._begin_writing()

    def close(self) -> None:
        """Wait until all results that can be stored are stored."""
        self._closing.set()
        if self._writer:
            self._writer.join()
        if self._reader:
            self._reader.close()

    def _touch(self, key: bytes) -> None:
        with self._lock:
            self._touched.add(key)
        self._begin_writing()

    def _begin_writing(self) -> None:
        if self._writer is None:
            self._writer = threading.Thread(target=self._write, name="hypertwin-cache", daemon=True)
            self._writer.start()

    def _write(self) -> None:
        try:
            with closing(connect(self.folder)) as connection:
                while not self._closing.wait(COMMIT_S):
                    self._write_pending(connection, last=False)
                self._write_pending(connection, last=True)
        except (OSError, sqlite3.Error, CacheError) as error:
            self._writes = False
            with self._lock:
                self._pending.clear()
            self._complain(f"cannot be written ({_reason(error)})")

    def _write_pending(self, connection: sqlite3.Connection, *, last: bool) -> None:
        with self._lock:
            batch, touched, now = dict(self._pending), sorted(self._touched), int(time.time())
        if not batch and not touched:
            return
        build = _core.build()
        rows = [(key, build, now, pack(key, result)) for key, result in batch.items()]
        try:
            with transaction(connection):
                connection.executemany("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?)", rows)
                connection.executemany("UPDATE results SET used = ? WHERE key = ?", [(now, key) for key in touched])
            if size(connection) > self._largest:
                shrink(connection, int(self._largest * ROOM))
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY and not last:
                return  # another process writes; the next time
            raise
        with self._lock:
            for key, result in batch.items():
                del self._pending[key]
                self._pending_bytes -= len(result)
            self._touched.difference_update(touched)

    def _complain(self, what: str) -> None:
        with self._lock:
            first, self._complained = not self._complained, True
        if first:
            self._say(f"note: the result cache in {self.folder} {what}; details: hypertwin cache list")


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def contents(folder: Path | None) -> documents.Cache:
    """Return the contents of a cache. Raises CacheError."""
    builds: list[documents.Build] = []
    file = None if folder is None else folder / FILE
    size_now = file.stat().st_size if file and file.exists() else 0
    if folder and size_now:
        with _opened(folder) as connection:
            query = "SELECT build, count(*), sum(length(value)), min(used), max(used) FROM results GROUP BY build"
            rows = sorted(connection.execute(query), key=lambda row: (-row[4], row[0]))
        for build, results, size_of_build, first, last in rows:
            builds.append(
                {
                    "build": build,
                    "used": build == _core.build(),
                    "results": results,
                    "bytes": size_of_build,
                    "first_used": _day(first),
                    "last_used": _day(last),
                }
            )
    return {
        "folder": None if folder is None else str(folder),
        "file_bytes": size_now,
        "largest_bytes": LARGEST,
        "builds": builds,
    }


def _day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def collect(folder: Path, largest: int = LARGEST) -> int:
    """Remove results of other builds, then the least recently used ones, until `largest` bytes are left.

    Returns the number of bytes freed. A damaged file is removed completely. Raises CacheError.
    """
    file = folder / FILE
    if not file.exists():
        return 0
    before = file.stat().st_size
    try:
        with _opened(folder) as connection:
            connection.execute("DELETE FROM results WHERE build != ?", (_core.build(),))
            shrink(connection, largest)
            connection.executescript("PRAGMA incremental_vacuum")  # `execute` would stop after a page
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except DamagedError:
        for name in (FILE, f"{FILE}-wal", f"{FILE}-shm"):
            (folder / name).unlink(missing_ok=True)
        return before
    return before - file.stat().st_size


@contextmanager
def _opened(folder: Path) -> Iterator[sqlite3.Connection]:
    """The cache, opened for a user's request."""
    file = folder / FILE
    try:
        with closing(connect(folder)) as connection:
            yield connection
    except (OSError, sqlite3.OperationalError, CacheError) as error:
        raise CacheError(
            f"cannot use {file}: {_reason(error)}\n  help: name another folder, or remove the file"
        ) from error
    except sqlite3.DatabaseError as error:
        raise DamagedError(f"{file} is damaged: {error}\n  help: hypertwin cache prune removes it") from error


def connect(folder: Path) -> sqlite3.Connection:
    """Return a connection to the cache in a folder, both created if missing.

    Raises CacheError for a file of another program.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    connection = sqlite3.connect(
        folder / FILE, timeout=PATIENCE_S, isolation_level=None, check_same_thread=False, cached_statements=8
    )
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_RESULT)
        # a commit survives the end of the process; one that the end of power takes is simulated again
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA trusted_schema = OFF")
        if not _tables(connection):
            for setting in ("auto_vacuum = INCREMENTAL", "journal_mode = WAL"):  # which stay with the file
                connection.execute(f"PRAGMA {setting}").fetchall()
            with transaction(connection):
                if not _tables(connection):  # no other process was faster
                    connection.execute(f"PRAGMA user_version = {_SCHEMA}")
                    connection.execute(_TABLE)
        version = connection.execute("PRAGMA user_version").fetchall()[0][0]
        if version != _SCHEMA or _tables(connection) != [_TABLE]:
            raise CacheError("it is of another version of hypertwin, or of another program")
    except BaseException:
        connection.close()
        raise
    return connection


def _tables(connection: sqlite3.Connection) -> list[str]:
    return [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")]


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the block as a transaction, in which all writes are done, or none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def pack(key: bytes, result: bytes) -> bytes:
    """Return a result in stored form: checksum of the key and the compressed data, then the compressed data."""
    compressed = zlib.compress(result, level=1)
    return _checksum(key, compressed) + compressed


def unpack(key: bytes, value: object) -> bytes | None:
    """Return the packed result, or None if it is damaged."""
    if not isinstance(value, bytes) or value[:_CHECKSUM] != _checksum(key, value[_CHECKSUM:]):
        return None
    stream = zlib.decompressobj()
    try:
        result = stream.decompress(value[_CHECKSUM:], LARGEST_RESULT)
    except zlib.error:
        return None
    return result if stream.eof else None


def _checksum(key: bytes, compressed: bytes) -> bytes:
    return hashlib.sha256(key + compressed).digest()[:_CHECKSUM]


def size(connection: sqlite3.Connection) -> int:
    """Return the number of bytes used by results in the file."""
    (pages,), (free,), (page,) = (
        connection.execute(f"PRAGMA {name}").fetchall()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * page)


def shrink(connection: sqlite3.Connection, largest: int) -> None:
    """Remove results until they take about `largest` bytes.

    Results of other builds are removed first, then the least recently used results.
    """
    surplus = size(connection) - largest
    with transaction(connection):
        order = "SELECT rowid, length(value) FROM results ORDER BY build = ?, used, rowid"
        doomed = []
        for row, length in connection.execute(order, (_core.build(),)):
            if surplus <= 0:
                break
            doomed.append((row,))
            surplus -= length + _OVERHEAD
        connection.executemany("DELETE FROM results WHERE rowid = ?", doomed)
