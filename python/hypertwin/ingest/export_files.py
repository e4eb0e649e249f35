"""Shared parts of readers of exports in several files: list of files, limited content, one display name."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from hypertwin.ingest import outside
from hypertwin.ingest.outside import Source

MOST_FILES = 1_000
MOST_BYTES = 16 * 2**20
"""Maximum size of one file, in bytes. 500 to 1,000 VMs with all their properties take 3 MB."""
MOST_ALL_BYTES = 64 * 2**20
MOST_SHOWN = 4
JSON = (".json",)


def below(folder: Path, suffixes: Sequence[str] = JSON) -> list[Path]:
    """Return the files in a folder with these suffixes, by name. Links are not followed."""
    try:
        paths = itertools.islice(folder.iterdir(), 10 * MOST_FILES)
        return sorted(
            each for each in paths if each.suffix.lower() in suffixes and each.is_file() and not each.is_symlink()
        )
    except OSError:
        return []


def recognised(folder: Path, recognises: Callable[[bytes], bool], suffixes: Sequence[str] = JSON) -> Iterable[Path]:
    """Return the files of a folder, if the reader recognises any of them."""
    found = below(folder, suffixes)
    return found if any(recognises(outside.head(path)) for path in found) else ()


def contents(sources: Sequence[str], hint: str, suffixes: Sequence[str] = JSON) -> Iterator[tuple[Path, bytes]]:
    """Yield each of these files, and the files in these folders, with its content. Raises SourceError."""
    paths: list[Path] = []
    for source in map(Path, sources):
        paths += below(source, suffixes) if outside.is_folder(source) else [source]
    if len(paths) > MOST_FILES:
        Source(sources[0]).too_large(f"{len(paths)} files", f"at most {MOST_FILES}", hint)
    left = MOST_ALL_BYTES
    for path in paths:
        data = outside.read_bytes(path, MOST_BYTES)
        left -= len(data)
        if left < 0:
            Source(path).too_many(MOST_ALL_BYTES, "bytes in all", hint=hint)
        yield path, data


def shown(sources: Sequence[str]) -> str:
    """Return the names of the sources, safe to show. Only the first names are included if there are many."""
    names = ", ".join(outside.name(Path(each).name) or each for each in sources[:MOST_SHOWN])
    return names + (", ..." if len(sources) > MOST_SHOWN else "")
