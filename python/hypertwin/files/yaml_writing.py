"""Scenarios as YAML text, in a layout that people can read and edit."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import yaml

from hypertwin.files import yaml_file


class Quoted(str):
    """Text from another system, written in quotes so that YAML parsers read it as text."""


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(
    Quoted, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style='"')
)


def _style(text: str) -> str | None:
    """Return the style of a text. Names such as `1e-200` are numbers in YAML 1.2, but not in PyYAML."""
    if "\n" in text:
        return "|"
    try:
        float(text)
    except ValueError:
        is_number = not isinstance(yaml_file.scalar(text), str | bool | type(None))
        return '"' if is_number else None
    return '"'


_Dumper.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style=_style(text))
)
_Dumper.add_representer(
    tuple, lambda dumper, items: dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=True)
)


def to_yaml(data: Any, tags: Mapping[type[str], str] = MappingProxyType({})) -> str:
    """Return a scenario or other plain data as YAML text.

    Long texts are written as blocks, texts from other systems in quotes, and tuples on one line.

    `tags` are YAML tags of further text types, which are written in quotes.
    """

    class Tagging(_Dumper):
        pass

    for kind, tag in tags.items():
        Tagging.add_representer(kind, lambda dumper, text, tag=tag: dumper.represent_scalar(tag, str(text), style='"'))
    return yaml.dump(data, Dumper=Tagging, sort_keys=False, allow_unicode=True, width=110, default_flow_style=False)
