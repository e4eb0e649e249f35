"""The reference of the scenario file, docs/scenario.md, made from the JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypertwin import _core

_INTRODUCTION = """\
# The scenario file

*Generated from the schema (`hypertwin schema`) by `make docs`; the schema comes from the types and
comments in `crates/cluster/src/spec`. Change those, not this page.*

A scenario is one YAML (or JSON) file in UTF-8: hosts, VMs and their workloads. `hypertwin init` writes a first one,
`hypertwin examples` lists more. hypertwin rejects a file with errors and lists all of them, each with line, path,
value, allowed values and a hint. An unknown key is an error, never ignored.

Paths such as `vms.db.vcpus` name places in the file, in messages and for `--set vms.db.vcpus=8` and
`--sweep vms.db.vcpus=4,8,16`. Positions in lists count from 0 (`vms.db.load_steps.0.factor`). `NAME` below stands for a
name of your choice: letters, digits, `-` and `_`, at most 64, beginning with a letter or digit.

YAML is read by the core schema of YAML 1.2, so `no` and `12:30` are text. Aliases (`*name`) are written out; tags and
merge keys (`<<`) are refused. A file has at most 4 MiB, 32 levels and 200,000 values.
"""

_QUANTITIES = """\
## Values with a unit

A quantity is a number and a unit, `30 us` or `30us`. Only 0 needs no unit. Units are case-sensitive: `Mb`
is not `MB`.

| quantity | units | example |
|---|---|---|
"""

_UNITS = {
    "duration": "ns, us, ms, s, min, h, d",
    "frequency": "Hz, kHz, MHz, GHz, THz",
    "size": "B, KiB, MiB, GiB, TiB, PiB (powers of 1,024); kB, MB, GB, TB, PB (powers of 1,000)",
    "rate": "/s, /min, /h",
    "bandwidth": "B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s; in bits kb/s, Mb/s, Gb/s, Tb/s",
}


def to_markdown() -> str:
    """Return the whole page."""
    schema: dict[str, Any] = json.loads(_core.schema_json())
    definitions: dict[str, Any] = schema["$defs"]
    parts = [_INTRODUCTION, _QUANTITIES + "".join(_quantities(definitions))]
    parts.extend(_sections(schema, schema, ""))
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _quantities(definitions: dict[str, Any]) -> Iterator[str]:
    for definition in definitions.values():
        kind = definition.get("x-quantity")
        if kind:
            name = "size" if kind == "bytes" else kind
            yield f"| {name} | {_UNITS[name]} | `{definition['examples'][0]}` |\n"


def _sections(schema: dict[str, Any], node: dict[str, Any], path: str) -> Iterator[str]:
    """Yield a table for the mapping at `path`, followed by tables of the nested mappings."""
    texts = [_text(part.get("description", "")) for part in _chain(schema, node)]
    purpose = " ".join(dict.fromkeys(text for text in texts if text))
    node = _resolved(schema, node)
    title = f"`{path}`" if path else "The file"
    required = set(node.get("required", ()))
    rows = "".join(_row(schema, key, value, key in required) for key, value in node["properties"].items())
    head = "| key | value | default | meaning |\n|---|---|---|---|\n"
    yield f"## {title}\n\n{purpose}\n\n{head}{rows}"
    for key, value in node["properties"].items():
        place = f"{path}.{key}" if path else key
        inner = _resolved(schema, value)
        if "properties" in inner:
            yield from _sections(schema, value, place)
        elif isinstance(inner.get("additionalProperties"), dict):
            yield from _sections(schema, inner["additionalProperties"], f"{place}.NAME")
        elif "properties" in _resolved(schema, inner.get("items", {})):
            yield from _sections(schema, inner["items"], f"{place}.N")


def _row(schema: dict[str, Any], key: str, value: dict[str, Any], required: bool) -> str:
    resolved = _resolved(schema, value)
    default = "required" if required else _default(value)
    return f"| `{key}` | {_accepts(resolved)} | {default} | {_text(resolved.get('description', ''))} |\n"


def _default(value: dict[str, Any]) -> str:
    if "default" not in value or isinstance(value["default"], dict | list):
        return ""
    default = value["default"]
    if isinstance(default, float) and default.is_integer():
        default = int(default)
    return f"`{json.dumps(default) if isinstance(default, bool) else default}`"


def _accepts(value: dict[str, Any]) -> str:
    """Return the allowed values of a key, in few words."""
    kind = value["type"]
    accepts = {"array": "list", "object": "mapping" if "properties" in value else "mapping by name"}.get(
        str(kind), "text"
    )
    if "x-allowed" in value:
        accepts = _text(value["x-allowed"])
    elif "x-quantity" in value:
        name = "size" if value["x-quantity"] == "bytes" else value["x-quantity"]
        accepts = f"{name}, {value['x-minimum']} to {value['x-maximum']}"
    elif "enum" in value:
        accepts = ", ".join(f"`{each}`" for each in value["enum"])
    elif kind == "boolean":
        accepts = "`true`, `false`"
    elif "type" in value.get("items", {}):
        accepts = f"list of {_accepts(value['items'])}"
    elif kind in {"integer", "number"}:
        accepts = f"{kind}, {_number(value['minimum'])} to {_number(value['maximum'])}"
    elif "maxLength" in value:
        accepts = f"text, at most {_number(value['maxLength'])} characters"
    return accepts


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value}"


def _resolved(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """Return a schema merged with the schema that it refers to. Its own keywords override."""
    return {key: value for part in reversed(_chain(schema, node)) for key, value in part.items()}


def _chain(schema: dict[str, Any], node: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the chain of a schema and the schemas that it refers to, in order of reference."""
    reference = node.get("$ref")
    return [node] if reference is None else [node, *_chain(schema, schema["$defs"][reference.rsplit("/", 1)[-1]])]


def _text(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
