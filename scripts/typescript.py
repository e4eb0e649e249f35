"""TypedDicts of Python as TypeScript: the types of pages and results in web/src/model, which `make docs` writes.

A docstring becomes the comment of its type, key or alias. `Any` is `unknown`, and what may be absent (`NotRequired`,
`total=False`) is optional.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODEL = ROOT / "web" / "src" / "model"
SOURCES = {
    MODEL / "view.ts": ("python/hypertwin/show/view.py",),
    MODEL / "page.ts": ("python/hypertwin/documents/page.py",),
    MODEL / "simulation" / "document.ts": (
        "python/hypertwin/documents/simulation.py",
        "python/hypertwin/documents/measured.py",
        "python/hypertwin/documents/space.py",
    ),
}

PLAIN = {"str": "string", "int": "number", "float": "number", "bool": "boolean", "Any": "unknown", "None": "null"}
LISTS, MAPS = frozenset({"Sequence", "list"}), frozenset({"Mapping", "dict"})


def modules() -> dict[Path, str]:
    """Every generated file and what it must contain."""
    return {path: _module(source) for path, source in SOURCES.items()}


def _module(sources: tuple[str, ...]) -> str:
    trees = [ast.parse((ROOT / source).read_text(encoding="utf-8")) for source in sources]
    head = _comment(ast.get_docstring(trees[0]) or "")
    head += f"\n// Generated from {' and '.join(sources)} by `make docs`: change that.\n"
    return head + "".join(f"\n{part}" for part in _parts([each for tree in trees for each in tree.body]))


def _parts(body: list[ast.stmt]) -> Iterator[str]:
    dicts = {"TypedDict"} | {each.name for each in body if isinstance(each, ast.ClassDef)}
    dicts |= {_name(each.targets[0]) for each in body if isinstance(each, ast.Assign)}
    for statement, after in zip(body, [*body[1:], None], strict=True):
        told = _comment(_string(after))
        match statement:
            case ast.ClassDef(name=name, bases=bases) if dicts & set(map(_name, bases)):
                yield _comment(ast.get_docstring(statement) or "") + _interface(statement, name)
            case ast.Assign(
                targets=[ast.Name(name)], value=ast.Call(func=ast.Name("TypedDict"), args=[_, ast.Dict() as of])
            ):
                keys = [ast.literal_eval(key) for key in of.keys if key is not None]
                fields = "".join(_field(key, value, "") for key, value in zip(keys, of.values, strict=True))
                yield f"{told}export interface {name} {{\n{fields}}}\n"
            case (
                ast.Assign(targets=[ast.Name(name)], value=ast.Subscript(value=ast.Name("Literal" | "list")) as value)
                | ast.AnnAssign(target=ast.Name(name), annotation=ast.Name("TypeAlias"), value=ast.expr() as value)
            ):
                yield f"{told}export type {name} = {_type(value)};\n"


def _interface(found: ast.ClassDef, name: str) -> str:
    bases = [base for base in map(_name, found.bases) if base != "TypedDict"]
    partial = any(each.arg == "total" for each in found.keywords)
    lines = []
    for statement, after in zip(found.body, [*found.body[1:], None], strict=True):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            lines.append(_field(statement.target.id, statement.annotation, _string(after), partial=partial))
    extends = f" extends {', '.join(bases)}" if bases else ""
    return f"export interface {name}{extends} {{\n{''.join(lines)}}}\n"


def _field(key: str, of: ast.expr, told: str, *, partial: bool = False) -> str:
    optional = partial
    if isinstance(of, ast.Subscript) and _name(of.value) == "NotRequired":
        of, optional = of.slice, True
    return f"{_comment(told, '  ')}  {key}{'?' * optional}: {_type(of)};\n"


def _type(of: ast.expr) -> str:
    found = ""
    match of:
        case ast.Name(name):
            found = PLAIN.get(name, name)
        case ast.Constant(value=None):
            found = "null"
        case ast.BinOp(left=left, right=right):
            found = f"{_type(left)} | {_type(right)}"
        case ast.Subscript(value=ast.Name("Literal"), slice=values):
            each = values.elts if isinstance(values, ast.Tuple) else [values]
            found = " | ".join(json.dumps(ast.literal_eval(value)) for value in each)
        case ast.Subscript(value=ast.Name(name), slice=inner) if name in LISTS:
            item = _type(inner)
            found = f"({item})[]" if "|" in item else f"{item}[]"
        case ast.Subscript(value=ast.Name(name), slice=ast.Tuple(elts=[_, inner])) if name in MAPS:
            found = f"Record<string, {_type(inner)}>"
        case ast.Subscript(value=ast.Name("tuple"), slice=ast.Tuple(elts=items)):
            found = f"[{', '.join(map(_type, items))}]"
    if not found:
        raise ValueError(f"no type of TypeScript is known for {ast.unparse(of)}")
    return found


def _name(of: ast.expr) -> str:
    return of.id if isinstance(of, ast.Name) else ""


def _string(of: ast.stmt | None) -> str:
    if isinstance(of, ast.Expr) and isinstance(of.value, ast.Constant) and isinstance(of.value.value, str):
        return " ".join(of.value.value.split())
    return ""


def _comment(text: str, indent: str = "") -> str:
    return f"{indent}/** {' '.join(text.split())} */\n" if text else ""
