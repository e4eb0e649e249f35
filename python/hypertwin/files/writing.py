"""Output files, written completely or not at all. No output file overwrites an input file."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path

from hypertwin.errors import HypertwinError, fail, short

PAGE_ENDINGS = (".html", ".htm")
"""File name extensions of pages."""


class Folder(type(Path())):  # type: ignore[misc]  # before Python 3.12 only this is a class that makes paths
    """Path of a folder that was typed with a slash at its end, which Path would drop."""


class OutputError(HypertwinError):
    """Raised before any simulation if an output file cannot be written."""

    code = "output-unwritable"


class OutputExistsError(HypertwinError):
    """Raised if an output exists and overwriting was not requested."""

    code = "output-exists"


class WriteError(HypertwinError):
    """Raised if an output file could not be written after the run, for example because the disk is full."""

    code = "output-failed"


@contextlib.contextmanager
def protecting(inputs: Callable[[], Iterable[str | Path]]) -> Iterator[None]:
    """Refuse outputs in the block that are an input, or the same file as another output.

    `inputs` is a function that returns the input files. Folders and missing files are ignored. The function is called
    only if an output exists already, because only existing files can be lost.
    """
    token = _COMMAND.set(_Files(inputs))
    try:
        yield
    finally:
        _COMMAND.reset(token)


def claim(path: Path, *, again: bool = False) -> None:
    """Announce an output file before the run. Raises ScenarioError if `protecting` refuses it."""
    command = _COMMAND.get()
    if command is None:
        return
    identity = _identity(path)
    if again and command.outputs.get(identity) == path:
        return
    allowed, hint = "a file that the command does not read", "give the output another name"
    if _is_regular(path) and identity in command.inputs:
        value = f"names the input {command.inputs[identity]}"
        fail("output-is-input", "", value, allowed, hint, str(path))
    if identity in command.outputs:
        value, allowed = f"names the output {command.outputs[identity]} too", "a file for each output"
        hint = "give them different files"
        fail("same-output", "", value, allowed, hint, str(path))
    command.outputs[identity] = path


class _Files:
    """Files that a command reads and writes, by identity, so that other spellings and links are detected."""

    def __init__(self, inputs: Callable[[], Iterable[str | Path]]) -> None:
        self._list_inputs = inputs
        self.outputs: dict[Hashable, Path] = {}

    @cached_property
    def inputs(self) -> dict[Hashable, str]:
        return {_identity(file): str(file) for file in map(Path, self._list_inputs()) if _is_regular(file)}


_COMMAND: ContextVar[_Files | None] = ContextVar("files of the command", default=None)


def _identity(path: Path) -> Hashable:
    """Return device and inode of a file, or the path without links if the file is missing."""
    try:
        status = path.stat()
    except OSError:
        return os.path.realpath(path)
    except ValueError:  # NUL in the name
        return str(path)
    return status.st_dev, status.st_ino


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def check_writable(*paths: Path | None, page: Path | None = None, made: Path | None = None) -> None:
    """Claim the given paths. Raise OutputError unless files can be written there. No file is left behind.

    `page` is the file of a page, whose extension must match. `made` is a folder that the command creates if missing.
    """
    for path in (*paths, page):
        if path is not None:
            claim(path)
            _check_writable(path, made)
    if page is not None:
        check_ending(page, PAGE_ENDINGS, "a page is HTML", _page_hint(page))


def check_ending(path: Path | None, endings: Sequence[str], what: str, hint: str = "") -> None:
    """Raise OutputError if a file extension belongs to another format. Devices can have any name."""
    if path is None or path.suffix.lower() in endings or _is_special(path):
        return
    hint = hint or f"write {path.with_suffix(endings[0])}"
    allowed = f"names that end in {' or '.join(endings)}"
    raise OutputError(f"cannot write {short(str(path))!r}: {what}; allowed: {allowed}\n  help: {hint}")


def _page_hint(page: Path) -> str:
    if str(page) == "-":
        return "a page does not go to stdout: name a file, or print the result with --format json"
    if page.suffix.lower() == ".pdf":
        return f"write {page.with_suffix('.html')}, and print it from a browser"
    return f"write {page.with_suffix('.html')}; --out and --format have the other forms"


def make(folder: Path) -> None:
    """Create a folder and its parents if they do not exist. Raises OutputError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make {folder}: {_reason(error)}") from error


def check_new(*paths: Path) -> None:
    """Raise OutputExistsError if one of the files exists. Devices can exist."""
    for path in paths:
        if path.is_file():
            raise OutputExistsError(f"{path} exists; --force replaces it")


def _check_writable(path: Path, made: Path | None) -> None:
    try:
        if path.is_dir():
            raise OutputError(f"cannot write {path}: it is a directory")
        if isinstance(path, Folder):
            raise OutputError(f"cannot write {path}/: that names a folder; name a file in it")
        if path.exists() and not os.access(path, os.W_OK):
            raise OutputError(f"cannot write {path}: no permission")
        if _is_special(path):
            return
        folder = _resolved(path).parent
        if made is not None and folder == made.resolve() and not folder.exists():
            return
        if not folder.is_dir():
            raise OutputError(f"cannot write {path}: the folder {folder} does not exist; create it first")
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=".hypertwin-")
        os.close(descriptor)
        Path(name).unlink()
    except (OSError, ValueError) as error:
        raise OutputError(f"cannot write {path}: {_reason(error)}") from error


def write_atomically(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Write so that no reader ever sees a partial file. Content in parts is written part by part to save memory."""
    parts = [content] if isinstance(content, str | bytes) else content
    with appearing(path) as temporary, temporary.open("wb") as stream:
        stream.writelines(part.encode() if isinstance(part, str) else part for part in parts)


@contextlib.contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """Provide a temporary file next to `path`, which replaces `path` when the block ends without an error."""
    claim(path, again=True)
    try:
        if _is_special(path):
            yield path
            return
        target = _resolved(path)
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}-")
        os.close(descriptor)
        temporary = Path(name)
        try:
            yield temporary
            temporary.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
            temporary.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        raise WriteError(f"cannot write {path}: {_reason(error)}") from error


def _is_special(path: Path) -> bool:
    """True for devices and pipes (/dev/null, /dev/stdout), which are written directly because a rename would replace
    them.
    """
    return path.exists() and not path.is_file()


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except RuntimeError:  # what Python before 3.13 makes of it
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
