"""What readers of exports in several files share: which files, their content within bounds, one name for all."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from hypertwin.ingest import outside
from hypertwin.ingest.outside import refuse

MOST_FILES = 1_000
MOST_BYTES = 16 * 2**20
"""Size of one file: 3 MB for 500 to 1,000 VMs with all their properties."""
MOST_ALL_BYTES = 64 * 2**20
MOST_SHOWN = 4
JSON = (".json",)


def below(folder: Path, suffixes: Sequence[str] = JSON) -> list[Path]:
    """The files of a folder that end like this, by name; links are not followed."""
    try:
        paths = itertools.islice(folder.iterdir(), 10 * MOST_FILES)
        return sorted(
            each for each in paths if each.suffix.lower() in suffixes and each.is_file() and not each.is_symlink()
        )
    except OSError:
        return []


def recognised(folder: Path, recognises: Callable[[bytes], bool], suffixes: Sequence[str] = JSON) -> Iterable[Path]:
    """The files of a folder, if any of them begins as it should."""
    found = below(folder, suffixes)
    return found if any(recognises(outside.head(path)) for path in found) else ()


def contents(sources: Sequence[str], hint: str, suffixes: Sequence[str] = JSON) -> Iterator[tuple[Path, bytes]]:
    """Each of these files, and of the files in these folders, with its content. Raises SourceError."""
    paths: list[Path] = []
    for source in map(Path, sources):
        paths += below(source, suffixes) if outside.is_folder(source) else [source]
    if len(paths) > MOST_FILES:
        refuse(sources[0], "", f"{len(paths)} files", f"at most {MOST_FILES}", hint, "source-too-large")
    left = MOST_ALL_BYTES
    for path in paths:
        data = outside.read_bytes(path, MOST_BYTES)
        left -= len(data)
        if left < 0:
            refuse(path, "", f"more than {MOST_ALL_BYTES} bytes in all", "fewer", hint, "source-too-large")
        yield path, data


def shown(sources: Sequence[str]) -> str:
    """The names of the sources, safe to show; of many the first."""
    names = ", ".join(outside.name(Path(each).name) or each for each in sources[:MOST_SHOWN])
    return names + (", ..." if len(sources) > MOST_SHOWN else "")
