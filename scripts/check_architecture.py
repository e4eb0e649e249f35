"""Keep the direction of dependencies in Rust and in Python, functions short enough to read, and comments narrow.

Crates are checked by `cargo metadata`, modules by their imports: no circle between files or folders, and inside the
largest rooms one direction. A new edge is a design decision: docs/ARCHITECTURE.md says why, then it is allowed here.
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
import import_graph
from hypertwin.extras import PACKAGES

ROOT = Path(__file__).resolve().parents[1]

CRATES: dict[str, set[str]] = {
    "kernel": set(),
    "sharing": set(),
    "cluster": set(),
    "models": {"sharing", "cluster"},
    "engine": {"models", "kernel", "cluster", "sharing"},
    "lab": {"documents", "kernel"},
    "python": {"engine", "cluster", "lab"},
    "browser": {"engine", "cluster"},
    "bench": {"kernel", "engine", "cluster"},
}
"""What each crate may use. The kernel has never heard of a VM, and models know no calendar."""

FOR_ALL = ("naming", "records")
"""Names that are typed, and types that are nothing at runtime: what any module may import."""

PREFIX = "hypertwin-"

MODULES: dict[str, set[str]] = {
    "errors": {"_core"},
    "naming": set(),
    "migrate": {"comparison", "errors", "ingest", "naming", "report", "yaml_file"},
    "__main__": {"cli"},
    "arguments": {"errors"},
    "extras": {"errors"},
    "reports": {"documents", "model_error", "_core"},
    "frame": {"documents", "extras", "reports"},
    "documents": set(),
    "bands": {"documents", "_core"},
    "judgement": {"bands", "documents", "report", "_core"},
    "reading": set(),
    "apportion": set(),
    "answers": {"arguments", "documents", "report", "writing", "errors", "_core"},
    "remarks": {"documents", "report", "scenario", "virtual_numa", "errors", "_core"},
    "result": {"answers", "arguments", "documents", "frame", "judgement", "remarks", "report", "reports", "scenario"},
    "parts": set(),
    "writing": {"errors"},
    "yaml_file": {"reading", "errors"},
    "yaml_writing": {"yaml_file"},
    "language": {"_core"},
    "scenario": {
        "arguments",
        "language",
        "parts",
        "yaml_file",
        "yaml_writing",
        "writing",
        "errors",
        "ingest",
        "pool_presets",
        "_core",
    },
    "space": {"documents", "language", "scenario", "_core"},
    "pool_presets": {"documents", "yaml_file", "errors"},
    "docs": {"_core"},
    "drives": {"arguments", "documents", "language", "errors", "_core"},
    "execution": {"arguments", "documents", "errors", "extras", "scenario", "writing", "_core"},
    "effort": {"scenario", "errors", "_core"},
    "settle": {"effort", "documents", "language", "scenario", "_core"},
    "run": {
        "settle",
        "arguments",
        "documents",
        "effort",
        "execution",
        "model_error",
        "scenario",
        "space",
        "result",
        "reports",
        "errors",
        "_core",
    },
    "model_error": {"documents", "library", "yaml_file", "errors", "_core"},
    "library": {"yaml_file", "scenario", "language", "errors"},
    "published": {"library"},
    "yaml_fields": {"yaml_file", "errors"},
    "cost": {"documents", "yaml_fields", "yaml_file", "errors"},
    "studies": {
        *(
            "execution",
            "library",
            "documents",
            "scenario",
            "run",
            "virtual_numa",
            "plan",
            "yaml_file",
            "errors",
            "_core",
        ),
    },
    "virtual_numa": {"arguments", "language", "documents", "scenario", "errors", "_core"},
    "report": {
        *("bands", "documents", "frame", "reports", "errors", "scenario", "language", "drives"),
        "model_error",  # a page that simulates has the twin's own error
    },
    "ingest": {
        "apportion",
        "documents",
        "reading",
        "yaml_file",
        "yaml_writing",
        "writing",
        "errors",
        "extras",
        "language",
        "_core",
    },
    "diagnosis": {
        *("documents", "scenario", "language", "_core", "run", "settle", "virtual_numa", "report", "ingest", "errors"),
        *("bands", "extras", "result"),
        *("execution", "frame"),
        "plan",  # where machines restart is counted in one place
    },
    "calibration": {
        "model_error",
        *("arguments", "extras", "documents", "execution", "scenario", "language", "run"),
        *("answers", "report", "reading", "yaml_file", "errors", "frame", "_core"),
        "ingest",  # results of storage benchmarks are measured points
    },
    "benchmark": {
        *("answers", "arguments", "documents", "errors", "execution", "extras", "frame", "_core"),
        *("calibration", "ingest", "report", "run", "scenario"),
        *("reading", "writing", "yaml_fields", "yaml_file", "yaml_writing"),
        *("model_error", "lab"),  # kinds of figures; ticks of Linux
    },
    "comparison": {"documents", "report", "ingest"},
    "plan": {
        "extras",  # the verdict on failures needs one
        "model_error",
        *("bands", "cost", "published"),  # what hosts are bought by
        *(
            "apportion",
            "arguments",
            "documents",
            "execution",
            "scenario",
            "language",
            "run",
            "settle",
            "virtual_numa",
            "report",
            "errors",
            "frame",
            "_core",
        ),
        "answers",
        "judgement",
        *("space", "yaml_file"),  # limits of clusters are a file
        "yaml_writing",  # a plan is a scenario that others read
    },
    "lab": {
        *("documents", "scenario", "run", "report", "ingest", "yaml_file", "writing", "errors", "frame", "_core"),
        "calibration",  # this machine's disk is fitted to what was measured of it
    },
    "cli": {
        *("documents", "scenario", "run", "virtual_numa", "frame", "errors", "extras", "writing", "studies", "report"),
        *(
            "_core",
            "arguments",
            "execution",
            "ingest",
            "diagnosis",
            "benchmark",
            "calibration",
            "cost",
            "plan",
            "lab",
            "library",
            "language",
            "comparison",
        ),
        *("drives", "effort", "migrate", "parts", "pool_presets", "questions", "remarks", "result", "yaml_file"),
        "serve",
    },
    "serve": {  # it gets the table of commands from cli, and starts commands as processes
        *("errors", "execution", "ingest", "questions", "reading", "report", "reports", "result", "scenario"),
        *("writing", "yaml_file", "_core"),
    },
    "questions": {  # the command line's peer
        *(
            "answers",
            "arguments",
            "documents",
            "scenario",
            "result",
            "run",
            "virtual_numa",
            "errors",
            "extras",
            "studies",
            "report",
            "execution",
        ),
        *("ingest", "diagnosis", "plan", "library", "comparison", "pool_presets", "_core"),
    },
    # hypertwin/__init__.py: the public API
    "": {"benchmark", "answers", "scenario", "result", "run", "calibration", "plan", "errors", "drives", "questions"},
}
"""What each module or folder of the package may import from it. A report holds no physics and runs nothing."""


FLOORS: dict[str, list[str]] = {
    "crates/engine/src": [
        "ids responses error ordered",
        "clock vcpu island",
        "plan",
        "cpu guest storage faults lives movement reclaim",
        "measure",
        "simulation model_error",
        "life paging build",
        "islands",
        "sampled_run driver lib",
    ],
    "python/hypertwin/diagnosis": [
        "words evidence twin",
        "subjects",
        "snapshot",
        "case",
        "rule moves",
        "rules causes memory",
        "remedies guide overview nearest",
        "what_if",
        "__init__",
        "simulated",
    ],
    "python/hypertwin/report": [
        "words",
        "ready points table files metrics view browser_core",
        "page metric_path terminal xlsx",
        "conditions entities measured movement pools room stations topology",
        "assumed memory move_target topology_svg",
        "move_beside",
        "benchmark calibration capacity coding compared comparison density devices diagnosis durability guests lab"
        " measured_disk move placement presets refresh simulation sizing cache telemetry",
        "simulation_page",
        "registry __init__",
    ],
}
"""Files and folders of a room from the ground up. Each uses what lies below it, nothing beside or above."""

OF_EXTRAS = (
    *("ingest/", "calibration/least_squares.py", "calibration/io_points.py", "execution/dask.py"),
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
    graphs[package.relative_to(ROOT)] = import_graph.python(package)
    broken = [*wrong_crates(metadata), *wrong_imports(package), *long_functions(package), *unlisted_tests()]
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


def wrong_imports(package: Path) -> Iterator[str]:
    """Imports between the package's modules that are not allowed."""
    for file in sorted(package.rglob("*.py")):
        relative = file.relative_to(package)
        module = relative.parts[0].removesuffix(".py").replace("__init__", "")
        if module not in MODULES:
            yield f"{relative}: unknown module; say in scripts/check_architecture.py what it may import"
            continue
        for line, imported in imports(file, package.name):
            if imported not in (module, *FOR_ALL) and imported not in MODULES[module]:
                allowed = ", ".join(sorted(MODULES[module])) or "none"
                yield f"{relative}:{line}: {module or '__init__'} imports {imported}; allowed: {allowed}"


def heavy_imports(package: Path) -> Iterator[str]:
    """Packages of extras that the base install would import, and the file by which it does."""
    extras = {name for names in PACKAGES.values() for name in names}
    graph = import_graph.python(package, at_once=True)
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


def imports(file: Path, package: str) -> Iterator[tuple[int, str]]:
    """(line, first module below the package) of every import from the package, inside functions too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"), str(file))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module == package:
            names = [f"{package}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{package}.(relative import)"]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == package and len(parts) > 1:
                yield node.lineno, parts[1]


if __name__ == "__main__":
    sys.exit(main())
