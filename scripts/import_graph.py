"""Which file imports which, in a Rust crate, a Python package and the page's TypeScript, and the circles among them.

A file is named by its path below the root of its crate, package or folder. Rust is read by its paths (`use` trees, and
paths that begin with `crate`, `self`, `super` or a child module), without the tests inside a file; Python by the
imports that loading a file runs; TypeScript by its relative imports, those of types too, without files of tests.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path, PurePosixPath

from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

Graph = dict[str, set[str]]
"""Per file the files that it imports from."""

Module = tuple[str, ...]
"""A module by its path from the root of its crate; the root is empty."""

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
USE = re.compile(r"^[ \t]*(pub(?:\([^)]*\))?\s+)?use\s+([\w:{},*\s]+);", re.MULTILINE)
PATH = re.compile(r"(?<![\w:$])((?:crate|self|super)(?:::\w+)+)")
TOKEN = re.compile(r"\w+|::|[{},*]")
FROM = re.compile(r"""\b(?:from|import)[\s(]*["'](\.{1,2}/[^"']+)["']""")
MOST_EXPORTS = 8
"""Re-exports of re-exports that are followed."""


class _Crate:
    """The modules of a crate: their files, their text without comments and tests, and what each re-exports."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.files = {_rust_module(path.relative_to(source)): path for path in sorted(source.rglob("*.rs"))}
        self.text = {module: _rust_text(path) for module, path in self.files.items()}
        self.exports: dict[Module, dict[str, Module]] = {}
        for module, text in self.text.items():
            trees = (path for public, tree in USE.findall(text) if public for path in _use_tree(tree))
            self.exports[module] = {path[-1]: path for path in trees}

    def targets(self, module: Module) -> set[Module]:
        """The modules that define what a module uses. What it only re-exports, it does not use."""
        text = self.text[module]
        body = USE.sub("", text)
        used = {path for public, tree in USE.findall(text) if not public for path in _use_tree(tree)}
        used |= {path for name, path in self.exports[module].items() if re.search(rf"\b{name}\b", body)}
        used |= {tuple(path.split("::")) for path in PATH.findall(body)}
        children = (name[-1] for name in self.files if name and name[:-1] == module)
        used |= {(child,) for child in children if re.search(rf"(?<![\w:]){child}::", body)}
        return {target for path in used if (target := self.resolve(module, path)) is not None} - {module}

    def resolve(self, module: Module, path: Module, depth: int = 0) -> Module | None:
        """The module that a path leads into, through re-exports; `None` outside the crate."""
        rest, here = list(path), list(module)
        if rest[0] == "crate":
            rest, here = rest[1:], []
        elif rest[0] in {"self", "super"}:
            while rest and rest[0] in {"self", "super"}:
                here = here[:-1] if rest.pop(0) == "super" else here
        elif (*here, rest[0]) not in self.files:
            return None
        while rest and (*here, rest[0]) in self.files:
            here.append(rest.pop(0))
        exported = self.exports[tuple(here)].get(rest[0]) if rest else None
        if exported and depth < MOST_EXPORTS:
            return self.resolve(tuple(here), exported, depth + 1) or tuple(here)
        return tuple(here)


def rust(source: Path) -> Graph:
    """Imports between the files below a crate's `src` folder."""
    crate = _Crate(source)
    return {
        _name(path, source): {_name(crate.files[target], source) for target in crate.targets(module)}
        for module, path in crate.files.items()
    }


def _rust_module(relative: Path) -> Module:
    parts = relative.with_suffix("").parts
    return parts[:-1] if parts[-1] in {"mod", "lib", "main"} else parts


def _rust_text(path: Path) -> str:
    return COMMENT.sub("", path.read_text(encoding="utf-8")).partition("#[cfg(test)]")[0]


def _use_tree(text: str) -> Iterator[Module]:
    """Every path of a `use` tree: `a::{b, c::D}` is a::b and a::c::D."""
    path: list[str] = []
    bases = [0]
    named = False
    for token in [*TOKEN.findall(re.sub(r"\bas\s+\w+", "", text)), ","]:
        if token == "{":
            bases.append(len(path))
        elif token in {",", "}"}:
            if named:
                yield tuple(path)
            del path[bases[-1] :]
            named = False
            if token == "}":
                bases.pop()
        elif token != "::":
            path += [token] if token not in {"*", "self"} or not path else []
            named = True


def python(package: Path) -> Graph:
    """Imports between the files of a package, by absolute names, that loading a file runs."""
    files = {_python_module(path, package): path for path in sorted(package.rglob("*.py"))}
    graph: Graph = {}
    for module, path in files.items():
        names = set(imported(path, at_once=True))
        targets = {name if name in files else name.rpartition(".")[0] for name in names} & files.keys()
        graph[_name(path, package)] = {_name(files[target], package) for target in targets - {module}}
    return graph


@cache
def imported(path: Path, at_once: bool = False) -> tuple[str, ...]:
    """Names that a file imports, with their module in front; `at_once`: only those that loading the file runs."""
    names = list[str]()
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"), str(path))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += (f"{node.module}.{alias.name}" for alias in node.names)
        if at_once and isinstance(node, ast.FunctionDef):
            continue
        if at_once and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
        else:
            waiting += (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))
    return tuple(names)


def typescript(source: Path) -> Graph:
    """Imports between the files of a folder."""
    files = {_name(path, source): path for path in sorted(source.rglob("*.ts*")) if ".test." not in path.name}
    endings = {(source / name).resolve().with_suffix(""): name for name in files}
    return {
        name: {
            endings[target]
            for found in FROM.findall(path.read_text(encoding="utf-8"))
            if (target := (path.parent / found).resolve()) in endings
        }
        for name, path in files.items()
    }


def _python_module(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def circles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Sets of two or more nodes that reach one another, sorted."""
    nodes = sorted({*graph, *(other for used in graph.values() for other in used)})
    edges = [[other in graph.get(node, ()) for other in nodes] for node in nodes]
    _, numbers = connected_components(csr_array(edges), connection="strong")
    found = [[node for node, own in zip(nodes, numbers, strict=True) if own == number] for number in set(numbers)]
    return sorted(circle for circle in found if len(circle) > 1)


def folders(graph: Graph) -> dict[str, Graph]:
    """Per folder, as "" or "a/b", the imports between what lies in it: its files, and its folders as one node each."""
    inside: dict[str, Graph] = {}
    for file, used in graph.items():
        for other in used:
            mine, its = PurePosixPath(file).parts, PurePosixPath(other).parts
            common = next((n for n, (a, b) in enumerate(zip(mine, its, strict=False)) if a != b), 0)
            level = inside.setdefault("/".join(mine[:common]), {})
            level.setdefault(mine[common], set()).add(its[common])
    return inside
