"""Keep the direction of dependencies in Rust and the page, the base install light, functions and comments readable.

Crates are checked by `cargo metadata`, files and folders by their imports: no circle, and inside the largest rooms one
direction. The rooms of Python are contracts of import-linter, in pyproject.toml. A new edge is a design decision:
docs/ARCHITECTURE.md says why, then it is allowed.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import comments
import hypertwin
import import_graph
from hypertwin.extras import PACKAGES

ROOT = Path(__file__).resolve().parents[1]

CRATES: dict[str, set[str]] = {
    "kernel": set(),
    "sharing": set(),
    "cluster": set(),
    "models": {"sharing", "cluster"},
    "engine": {"models", "kernel", "cluster", "sharing"},
    "lab": {"kernel"},
    "python": {"engine", "cluster", "lab"},
    "browser": {"engine", "cluster"},
    "bench": {"kernel", "engine", "cluster"},
}
"""What each crate may use. The kernel has never heard of a VM, and models know no calendar."""

PREFIX = "hypertwin-"

FLOORS: dict[str, list[str]] = {
    "crates/engine/src": [
        "ids responses error ordered metrics",
        "clock vcpu island",
        "plan",
        "cpu guest storage faults lives movement reclaim",
        "measure",
        "simulation model_error",
        "life paging build",
        "islands",
        "sampled_run driver lib",
    ],
    "web/src": ["model", "lib theme source", "charts", "components", "live", "app serve", "main"],
}
"""Files and folders of a room from the ground up. Each uses what lies below it, nothing beside or above."""

OF_EXTRAS = (
    *("ingest/", "calibration/least_squares.py", "calibration/io_points.py", "runs/dask.py"),
    *("plan/placement/", "plan/refresh/", "plan/moving/", "diagnosis/moves.py"),
    "benchmark/imported.py",
    *("serve/app.py", "serve/server.py"),
)
"""Files of the package that may import the packages of extras as they are loaded, but for those of the base install."""

BASE = (
    *("plan/refresh/options.py", "plan/moving/options.py"),
    *("ingest/sources.py", "ingest/to_scenario/__init__.py", "ingest/appliances.py", "ingest/kvm/linux_host.py"),
)
"""Files of OF_EXTRAS that the base install uses, and with them all that they import."""

KINDS: dict[str, tuple[str, ...]] = {
    "Family": ("crates/cluster/src/spec/hypervisor.rs", "crates/models/src/hypervisor/"),
    "PoolKind": ("crates/cluster/src/spec/pool_kind.rs", "crates/models/src/storage/product/"),
}
"""Kinds of which each is an object, and the only sources that name one of them; others ask the object or its facts."""

LONGEST_FUNCTION = 100
"""Lines of a Python function, its docstring included; clippy.toml has the same limit for Rust."""


def main() -> int:
    """Print everything that is not allowed; 1 when there is something."""
    metadata = json.loads(
        subprocess.run(
            ["cargo", "metadata", "--format-version=1", "--no-deps"], cwd=ROOT, check=True, capture_output=True
        ).stdout
    )
    package = ROOT / "python" / "hypertwin"
    graphs = {path.relative_to(ROOT): import_graph.rust(path) for path in sorted(ROOT.glob("crates/*/src"))}
    graphs[Path("web/src")] = import_graph.typescript(ROOT / "web" / "src")
    broken = [*wrong_crates(metadata), *public_names(package), *long_functions(package), *unlisted_tests()]
    broken += [line for root, graph in graphs.items() for line in circles(root, graph)]
    for room in FLOORS:
        root = next(root for root in graphs if Path(room).is_relative_to(root))
        place = Path(room).relative_to(root).as_posix().strip(".")
        broken += wrong_floors(room, import_graph.folders(graphs[root])[place])
    broken += heavy_imports(package)
    broken += named_kinds(ROOT)
    broken += [line for path in comments.sources(ROOT) for line in comments.too_wide(path)]
    for line in broken:
        print(line)
    return 1 if broken else 0


def wrong_crates(metadata: Mapping[str, Any]) -> Iterator[str]:
    """Edges between the workspace's crates that are not allowed. Tests may use more (dev-dependencies)."""
    for package in metadata["packages"]:
        name = package["name"].removeprefix(PREFIX)
        if name not in CRATES:
            yield f"crate {name}: unknown; say in scripts/check_architecture.py what it may use"
            continue
        for dependency in package["dependencies"]:
            used = dependency["name"].removeprefix(PREFIX)
            ours = dependency["name"].startswith(PREFIX) and dependency["kind"] != "dev"
            if ours and used not in CRATES[name]:
                yield f"crate {name} uses {used}; allowed: {', '.join(sorted(CRATES[name])) or 'none'}"


def unlisted_tests() -> Iterator[str]:
    """Files of Rust tests that the program of a crate's tests leaves out: they would never run."""
    for program in sorted(ROOT.glob("crates/*/tests/main.rs")):
        listed = set(re.findall(r"^mod (\w+);", program.read_text(encoding="utf-8"), re.MULTILINE))
        for file in sorted(program.parent.glob("*.rs")):
            if file != program and file.stem not in listed:
                yield f"{program.relative_to(ROOT)}: mod {file.stem}; is missing"


def public_names(package: Path) -> Iterator[str]:
    """Imports of public names by the package itself: import-linter does not see which module they come from."""
    for file in sorted(package.rglob("*.py")):
        asks = f"from {package.name} import" in file.read_text(encoding="utf-8")
        for name in import_graph.imported(file) if asks else ():
            if name.rpartition(".")[0] == package.name and name.rpartition(".")[2] in hypertwin.__all__:
                yield f"{file.relative_to(package)} imports {name}: name the module that defines it"


def heavy_imports(package: Path) -> Iterator[str]:
    """Packages of extras that the base install would import, and the file by which it does."""
    extras = {name for names in PACKAGES.values() for name in names}
    graph = import_graph.python(package)
    waiting = [file for file in graph if file in BASE or not file.startswith(OF_EXTRAS)]
    seen = set(waiting)
    while waiting:
        file = waiting.pop()
        names = {name.partition(".")[0] for name in import_graph.imported(package / file, at_once=True)}
        yield from (f"{file} imports {name} as it is loaded, for the base install" for name in sorted(names & extras))
        new = graph[file] - seen
        seen |= new
        waiting += new


def named_kinds(root: Path) -> Iterator[str]:
    """Sources of Rust that name one of KINDS elsewhere than they may. Tests may."""
    for path in sorted(root.glob("crates/*/src/**/*.rs")):
        file = path.relative_to(root).as_posix()
        source = path.read_text(encoding="utf-8").partition("#[cfg(test)]")[0]
        for number, line in enumerate(source.splitlines(), 1):
            for kind, places in KINDS.items():
                if re.search(rf"\b{kind}(::\s*[A-Z{{*]| as\b)", line) and not file.startswith(places):
                    yield f"{file}:{number}: names a {kind}; ask its object or its facts: {', '.join(places)}"


def wrong_floors(room: str, inside: import_graph.Graph) -> Iterator[str]:
    """Imports from what does not lie below, in a room of FLOORS, given the imports between its files and folders."""
    floor = {name: number for number, names in enumerate(FLOORS[room]) for name in names.split()}
    for file, used in inside.items():
        name = file.partition(".")[0]
        if name not in floor:
            yield f"{room}/{file}: unknown; say in scripts/check_architecture.py on which floor it is"
            continue
        for other in sorted(used):
            if floor.get(other.partition(".")[0], -1) >= floor[name]:
                yield f"{room}/{file} uses {other}, which does not lie below it"


def circles(root: Path, graph: import_graph.Graph) -> Iterator[str]:
    """Files that import one another in a circle, and folders that do."""
    for circle in import_graph.circles(graph):
        yield f"{root}: a circle of files: {', '.join(circle)}"
    for folder, inside in import_graph.folders(graph).items():
        for circle in import_graph.circles(inside):
            if any("." not in name for name in circle):
                yield f"{root / folder}: a circle of folders: {', '.join(circle)}"


def long_functions(package: Path) -> Iterator[str]:
    """Functions of the package with more lines than a reader keeps in mind."""
    for file in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"), str(file))):
            if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
                lines = node.end_lineno - node.lineno + 1
                if lines > LONGEST_FUNCTION:
                    yield f"{file.relative_to(package)}:{node.lineno}: {node.name} has {lines} lines"


if __name__ == "__main__":
    sys.exit(main())
