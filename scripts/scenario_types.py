"""The sections of a scenario as Python types, python/hypertwin/parts.py, made from the JSON Schema."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hypertwin import _core
from hypertwin.scenario import pool_presets
from member_types import doc, formatted

HEAD = '''\
"""The sections of a scenario as types, for editors and type checkers; at runtime they are plain dicts.

>>> from hypertwin.parts import HostGroup
>>> esx = HostGroup(sockets=2, cores_per_socket=16, clock="2.4 GHz", memory_per_node="256 GiB", hypervisor="esxi-8.0")

No key is required here, so that a part can be a change of another (`Scenario.with_`) or stand beside a preset: the
check of the whole scenario says what is missing. docs/scenario.md has ranges and defaults.

Generated from the schema by `make docs`; change the types and comments in `crates/cluster/src/spec`, not this file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, TypedDict
'''

PLAIN = {"integer": "int", "number": "float", "boolean": "bool", "string": "str", "null": "None"}

EXAMPLES = {
    "duration": "`20ms`",
    "frequency": "`2.5GHz`",
    "bytes": "`64GiB`",
    "rate": "`120/s`",
    "bandwidth": "`40GB/s`",
}


def module() -> str:
    """The whole module, formatted."""
    schema: dict[str, Any] = json.loads(_core.schema_json())
    return formatted("\n".join([HEAD, *_Types(schema).all()]))


def _literal(values: Sequence[object]) -> str:
    return f"Literal[{', '.join(json.dumps(value) for value in values)}]"


READ_FIRST = {
    "Workload": (
        "fio",
        "str",
        "A fio job file, and after `#` one of its jobs, that this is the workload of; other keys win over it. "
        "Its I/Os are spread evenly over the VM's virtual disks.",
    ),
    "StoragePool": ("preset", _literal(pool_presets.names()), "A pool of `hypertwin presets`; other keys win over it."),
}
"""Keys that `hypertwin.scenario` replaces by others before the core reads them, so that the schema lacks them."""


class _Types:
    """The types of a schema, each before those that it has parts of."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        self.made: dict[str, str] = {}

    def all(self) -> Iterator[str]:
        """The text of each type."""
        self._object("Scenario", self.schema)
        return iter(self.made.values())

    def _object(self, name: str, node: Mapping[str, Any]) -> str:
        """The name of a mapping with known keys, which is made if it is new."""
        if name not in self.made:
            self.made[name] = ""  # its place is before its parts, and a part may be of its own type
            fields = "".join(
                f"    {key}: {self._type(name, key, value)}\n{doc(_description(self.schema, value), 4)}"
                for key, value in node["properties"].items()
            )
            if name in READ_FIRST:
                key, kind, text = READ_FIRST[name]
                fields += f"    {key}: {kind}\n{doc(text, 4)}"
            about = doc(_description(self.schema, node), 4)
            self.made[name] = f"\nclass {name}(TypedDict, total=False):\n{about}\n{fields}"
        return name

    def _type(self, owner: str, key: str, node: Mapping[str, Any]) -> str:
        """The type of the value under a key."""
        if "$ref" in node:
            name = node["$ref"].rsplit("/", 1)[-1]
            return self._named(name, self.schema["$defs"][name])
        if "enum" in node:
            return _literal(node["enum"])
        kind = node.get("type")
        if kind == "object" and "properties" in node:
            return self._object(f"{owner}{''.join(word.title() for word in key.split('_'))}", node)
        if kind == "object" and isinstance(node.get("additionalProperties"), Mapping):
            return f"dict[str, {self._type(owner, key, node['additionalProperties'])}]"
        kinds: list[str] = kind if isinstance(kind, list) else [str(kind)]
        return " | ".join(
            f"Sequence[{self._type(owner, key, node['items'])}]" if each == "array" else PLAIN[each] for each in kinds
        )

    def _named(self, name: str, node: Mapping[str, Any]) -> str:
        """A type with a name of its own: a mapping, or what a name stands for."""
        if "properties" in node:
            return self._object(name, node)
        if name not in self.made:
            self.made[name] = (
                f"\n{name}: TypeAlias = {self._type(name, '', node)}\n{doc(_description(self.schema, node))}"
            )
        return name


def _description(schema: Mapping[str, Any], node: Mapping[str, Any]) -> str:
    """What the schema says of a value, and how a quantity is written."""
    target = schema["$defs"].get(str(node.get("$ref", "")).rsplit("/", 1)[-1], {})
    text = " ".join((node.get("description") or target.get("description") or "").split())
    example = EXAMPLES.get(target.get("x-quantity", ""))
    return f"{text} A quantity such as {example}." if example and text else text


if __name__ == "__main__":
    sys.stdout.write(module())
