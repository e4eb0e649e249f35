"""Import of an export from a browser: a process with limits makes the scenario, which gets a new name."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from hypertwin.serve import files, launch
from hypertwin.serve.files import Folder, Text
from hypertwin.serve.refusal import RefusedError

MEMORY = 2 << 30
"""Bytes of address space of an import."""
SECONDS = 180.0
"""Maximum seconds of an import."""
MADE = "made.yaml"
_MAX_SAID = 8_000
_MAX_NAME, _MAX_ENDING = 50, 8
"""Maximum characters of the name of an upload's file, and of its ending."""


def file_name(name: str) -> str:
    """Return the name of an upload as the name of a file, with letters, digits, spaces and `.()_-` only.

    The import reads the date of an export in this name, and names the scenario by it. A long name keeps its end.
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    plain = "".join(each if each.isalnum() or each in " .()-" else "_" for each in last)
    stem, ending = Path(plain).stem, Path(plain).suffix[:_MAX_ENDING]
    return f"{stem[-_MAX_NAME:].lstrip(' .-').rstrip(' .') or 'upload'}{ending}"


async def receive(parts: AsyncIterator[bytes], file: Path) -> None:
    """Write an upload into a file. Raises RefusedError."""
    try:
        with file.open("wb") as stream:
            async for part in parts:
                stream.write(part)
    except OSError as error:
        raise RefusedError(507, f"cannot store the upload: {error.strerror}") from None
    if not file.stat().st_size:
        raise RefusedError(422, "the upload is empty")


async def make(source: Path, shown: str, folder: Folder, name: str) -> tuple[Text, list[str]]:
    """Import a file, save the scenario under a new name, and return the scenario with the notes of the import.

    Raises RefusedError.
    """
    files.check_new_name(name)
    files.check_export(source, shown)
    with tempfile.TemporaryDirectory(prefix="import-", dir=source.parent) as place:
        notes = await _run(source, shown, Path(place))
        text = (Path(place) / MADE).read_text(encoding="utf-8")
    return await asyncio.to_thread(folder.save, name, text, None), notes


async def _run(source: Path, shown: str, place: Path) -> list[str]:
    """Run the import in a folder of its own. Return its notes."""
    words = ["import", f"--out={MADE}", "--", str(source)]
    process = await asyncio.create_subprocess_exec(
        *launch.command("hypertwin", words, MEMORY),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        cwd=place,
        env=launch.environment(place),
        start_new_session=True,
    )
    assert process.stderr is not None
    try:
        said = await asyncio.wait_for(_start_of(process.stderr), SECONDS)
        code = await asyncio.wait_for(process.wait(), SECONDS)
    except TimeoutError:
        raise RefusedError(422, f"{shown}: the import takes more than {SECONDS:g} s") from None
    finally:
        if process.returncode is None:
            launch.end(process.pid, signal.SIGKILL)
            await process.wait()
    lines = said.decode("utf-8", "replace").replace(str(source), shown)[:_MAX_SAID].strip()
    if code != 0 or not (place / MADE).is_file():
        last = lines if lines.startswith("error: ") else "the import needs more memory or time than it can have"
        raise RefusedError(422, last.removeprefix("error: "))
    return [line for line in lines.splitlines() if line and not line.startswith("wrote ")]


async def _start_of(stream: asyncio.StreamReader) -> bytes:
    """Return the start of a stream, which is read to its end: otherwise its writer would wait."""
    start = b""
    while part := await stream.read(1 << 16):
        start = (start + part)[: 4 * _MAX_SAID]
    return start
