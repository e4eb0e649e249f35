"""What is done to every importer: wrong answers, too much of them, and any values anywhere in them.

The test file of an importer has an `Importer` with its answers and what is wrong with them. The tests of all importers
are in `test_hostile_sources.py`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from hypothesis import strategies as st

from hypertwin.errors import SourceError
from hypertwin.ingest import sources
from hypertwin.ingest.inventory import Inventory

T = TypeVar("T")

JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
ABSURD = (
    *("", "0", "-1", "1e400", "٣", "9" * 4000, "\x1b[31m", "a/../b", "x" * 100_000, "=cmd|x", "{", "{}"),
    *(None, True, [], {}, [{}], 0.5, 2**59, 2**70, 10**30),
)


def read(folder: Path, files: Mapping[str, Any]) -> Inventory:
    """The inventory in these files, which are alone in the folder: bytes, text, or a value of JSON."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        text = content if isinstance(content, (str, bytes)) else json.dumps(content)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return sources.read([str(folder)])


@dataclass(frozen=True)
class Importer:
    """An importer, and what is done to it."""

    wrong: Sequence[tuple[Any, str]] = ()
    """What it refuses, with words of the error."""
    limits: Mapping[tuple[ModuleType, str], int] = field(default_factory=dict)
    """Limits of modules, so low that its good answers exceed them."""
    good: Callable[[], Sequence[Any]] = tuple
    """Its answers, as new objects. The first has all that is limited."""
    base: Mapping[str, Any] = field(default_factory=dict)
    """Answers beside those that are wrong."""
    read: Callable[[Path, Any], Inventory | None] = read
    """Reads answers, written into a folder of this path."""
    place: str = ""
    """Name of the source in errors, if it is not a file."""
    has_values: bool = True
    """False if its answers are no values of JSON."""
    texts: Sequence[Any] = ()
    """Values that mean something to it."""
    depth: int = 1
    """Level of the outermost values that are replaced."""
    least_memory: int = 0


def replaced(data: st.DataObject, answers: Any, importer: Importer) -> None:
    """Replace a value somewhere in the answers."""
    place, depth = answers, 1
    values = JSON | st.sampled_from((*ABSURD, *importer.texts))
    while True:
        key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else list(range(len(place)))))
        inner = place[key]
        is_inside = isinstance(inner, (dict, list)) and inner
        if not is_inside or (depth >= importer.depth and data.draw(st.integers(0, 3)) == 0):
            place[key] = json.loads(json.dumps(data.draw(values)))  # a copy, which may be changed again
            return
        place, depth = inner, depth + 1


def taken(reading: Callable[[], T]) -> T | None:
    """What is read, or None if it is refused with one clear error."""
    try:
        return reading()
    except SourceError as error:
        assert "help:" in str(error)
        assert "\x1b" not in str(error) and len(str(error)) < 2_000
        return None
