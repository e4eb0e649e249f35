"""The examples: scenarios of the package, each with its named files and measured figures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hypertwin import library, naming, scenario, yaml_file
from hypertwin.errors import HypertwinError


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
    """Files of the scenario: its fio job files, and measured points."""


def names() -> list[str]:
    """Return the names of all examples."""
    return sorted(path.stem for path in library.examples().glob("*.yaml"))


def find(name: str) -> Example:
    """Return one example. Raises UnknownExampleError, which lists all examples."""
    known = names()
    if name not in known:
        meant = naming.hint(name, known, "")
        raise UnknownExampleError(f"no example {name!r}{'; ' * bool(meant)}{meant} (examples: {', '.join(known)})")
    path = library.examples() / f"{name}.yaml"
    text = yaml_file.parse(yaml_file.read_text(path), str(path)).root.data()
    beside = (*scenario.named_files(path), *sorted(path.parent.glob(f"{name}-*.csv")))
    return Example(name, text["description"], path, beside)
