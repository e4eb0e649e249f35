"""Types of what the core tells, made from its own tables: members of scenarios, and what runs measure in documents."""

from __future__ import annotations

import json
import keyword
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hypertwin import _core

PACKAGE = Path(__file__).resolve().parents[1] / "python" / "hypertwin"

HEAD = '''\
"""Members of scenarios as the compiled core has them: clusters, hosts, VMs, pools, and facts about them.

A value of None is unknown.

Generated from the records of the core by `make docs`; change the comments in `crates`, not this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar


class Member:
    """Anything that the core says of a scenario."""

    PARTS: ClassVar[Mapping[str, Any]] = {}
    """Fields that are not plain in JSON: the type of the collection, and the class of its items."""
'''


def modules() -> dict[Path, str]:
    """Every generated file and what it must contain."""
    classes = "\n".join([HEAD, *_classes(json.loads(_core.classes()))])
    return {PACKAGE / "members.py": formatted(classes), PACKAGE / "documents" / "measured.py": formatted(_metrics())}


PARTIAL = {"History"}
"""Entities that a document has all keys of, or none."""

METRICS_HEAD = '''\
"""Entities in the output of `hypertwin simulate`. Generated from the tables of the engine by `make docs`."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

Curve = list[tuple[float, float]]
"""Percentiles, ascending, and their values in milliseconds. Only groups have curves, and only of at least one value."""
'''


def _metrics() -> str:
    tables = {each["name"]: each for each in json.loads(_core.metrics())}
    parts = [METRICS_HEAD]
    for each in tables.values():
        name, types = each["name"], {field["key"]: field["python"] for field in each["fields"]}
        if any(map(keyword.iskeyword, types)):  # a class cannot have a word of Python as a field
            pairs = ", ".join(f"{key!r}: {python}" for key, python in types.items())
            parts.append(f"\n{name} = TypedDict({name!r}, {{{pairs}}})\n{doc(each['about'])}")
            continue
        parts.append(f"\nclass {name}(TypedDict{', total=False' * (name in PARTIAL)}):\n{doc(each['about'], 4)}")
        parts += [text for field in each["fields"] for text in _metric(field, tables)]
    return "\n".join(parts)


def _metric(field: Mapping[str, Any], tables: Mapping[str, Any], *, is_optional: bool = False) -> Iterator[str]:
    """The key of a metric with its definition. A key that may be absent is never null."""
    python, is_optional = field["python"], is_optional or field["is_optional"]
    if field["is_flat"]:
        for part in tables[python.removesuffix(" | None")]["fields"]:
            yield from _metric(part, tables, is_optional=is_optional)
        return
    python = f"NotRequired[{python.removesuffix(' | None')}]" if is_optional else python
    yield f"    {field['key']}: {python}"
    if field["definition"]:
        yield doc(field["definition"], 4).rstrip()


def _classes(classes: list[Mapping[str, Any]]) -> Iterator[str]:
    known: dict[str, bool] = {}
    for each in classes:
        defaults = [_default(field, known) for field in each["fields"]]
        known[each["name"]] = all(defaults)
        how = "(frozen=True, kw_only=True)" if any(defaults) and not all(defaults) else "(frozen=True)"
        parts = ", ".join(f"{json.dumps(field['key'])}: {_part(field['python'], known)}" for field in each["fields"])
        parts = re.sub(r'"\w+": (, |$)', "", parts).rstrip(", ")
        yield f"\n@dataclass{how}\nclass {each['name']}(Member):\n{doc(each['about'].strip(), 4)}"
        if parts:
            yield f"    PARTS: ClassVar[Mapping[str, Any]] = {{{parts}}}\n"
        for field in each["fields"]:
            text = doc(field["about"].strip(), 4).rstrip()
            yield f"    {field['key']}: {field['python']}{_default(field, known)}\n{text}"


def _default(field: Mapping[str, Any], known: Mapping[str, bool]) -> str:
    """The default of a field that may be unknown, or an empty string."""
    python = field["python"]
    return f" = {python}()" if known.get(python) else " = None" if python.endswith(" | None") else ""


def _part(python: str, known: Mapping[str, bool]) -> str:
    """The type of a collection and the class of its items, for a field that has them."""
    found = re.fullmatch(r"(?:(tuple|frozenset|Mapping)\[(?:str, )?)?(\w+)(?:, .*)?\]?(?: \| None)?", python)
    collection, item = found.groups() if found else (None, "")
    if not collection and item not in known:
        return ""
    return f"({'dict' if collection == 'Mapping' else collection}, {item if item in known else None})"


def doc(text: str, indent: int = 0) -> str:
    """A docstring."""
    if not text:
        return ""
    lead = " " * indent
    escaped = text.replace("\\", "\\\\").replace('"""', "'''")
    escaped = escaped[:-1] + '\\"' if escaped.endswith('"') else escaped
    lines = textwrap.wrap(escaped, 116 - indent, initial_indent=f'{lead}"""', subsequent_indent=lead)
    close = '"""' if len(lines) == 1 else f'\n{lead}"""'
    return "\n".join(lines) + close + "\n"


def formatted(text: str) -> str:
    """The text of a module, formatted."""
    ruff = [sys.executable, "-m", "ruff", "format", "--quiet", "-"]
    return subprocess.run(ruff, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":  # before `generate_docs.py`, which imports these files
    for path, text in modules().items():
        path.write_text(text, encoding="utf-8")
