"""The examples: scenarios of the package, each with its named files and measured figures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hypertwin import library, naming, scenario
from hypertwin.errors import HypertwinError
from hypertwin.files import yaml_file

IN_FOLDER, ABOUT = "cluster.yaml", "README.md"
"""Scenario and description of an example that is a folder of files."""


class UnknownExampleError(HypertwinError):
    """Raised if no example has the name."""

    code = "example-unknown"


@dataclass(frozen=True)
class Example:
    """Example scenario to learn from."""

    name: str
    description: str
    """Purpose of the example in one line."""
    scenario: Path
    beside: tuple[Path, ...]
    """Other files of the example: fio job files, measured points, host types, prices, an export."""


def names() -> list[str]:
    """Return the names of all examples."""
    single = (path.stem for path in library.examples().glob("*.yaml"))
    return sorted((*single, *(path.parent.name for path in library.examples().glob(f"*/{IN_FOLDER}"))))


def find(name: str) -> Example:
    """Return one example. Raises UnknownExampleError, which lists all examples."""
    known = names()
    if name not in known:
        meant = naming.hint(name, known, "")
        raise UnknownExampleError(f"no example {name!r}{'; ' * bool(meant)}{meant} (examples: {', '.join(known)})")
    folder = library.examples() / name
    if folder.is_dir():
        beside = (path for path in sorted(folder.iterdir()) if path.name not in (IN_FOLDER, ABOUT))
        return Example(name, (folder / ABOUT).read_text(encoding="utf-8").strip(), folder / IN_FOLDER, tuple(beside))
    path = library.examples() / f"{name}.yaml"
    text = yaml_file.parse(yaml_file.read_text(path), str(path)).root.data()
    with_it = (*scenario.named_files(path), *sorted(path.parent.glob(f"{name}-*.csv")))
    return Example(name, text["description"], path, with_it)
