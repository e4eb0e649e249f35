"""Run the tests nearest to what changed, within a budget of CPU time: the last step of `make check`.

What changed since BASE (where the branch left its upstream or main) is compared function by function; the map
(`tests_map.py`) says which tests run those functions or read those files. Tests of rare functions come first, and of
those the cheap ones. What the map does not know has its tests by name, or by what changed together with it in the past.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import check_page
import nearest_rust
import tests_map
from calls_plugin import cpu_s
from tests_map import Map

ROOT = Path(__file__).resolve().parents[1]
BUDGET_S = {False: 60.0, True: 90.0}
"""CPU time that tests may take, also with edits of Rust: then building them counts, not that of the core before."""
COLLECTING_S = 0.1
"""What a test costs beside what was recorded: its part of collecting its file."""
BY_NAME = 8.0
"""How much nearer a test is that stands in the file named like the one that changed."""


@dataclass(frozen=True)
class Change:
    """A file before and after; none where there is none."""

    path: str
    old: str | None
    new: str | None


def git(*arguments: str) -> str:
    """What git prints; empty if it fails."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout


def fork_point() -> str:
    """Where the branch left its upstream, or main; on main itself the last commit."""
    known = (git("merge-base", "HEAD", other).strip() for other in ("@{upstream}", "origin/HEAD", "main"))
    return next(filter(None, known), "HEAD")


def changes(base: str, head: str | None = None) -> list[Change]:
    """Files that differ between two commits, or a commit and the working tree with what git would add."""
    names = set(git("diff", "--name-only", "--no-renames", "-z", base, *([head] if head else [])).split("\0"))
    if not head:
        names |= set(git("ls-files", "--others", "--exclude-standard", "-z").split("\0"))
    found = (Change(name, committed(base, name), committed(head, name)) for name in sorted(filter(None, names)))
    return [change for change in found if not change.path.endswith(".rs") or code(change.old) != code(change.new)]


def code(rust: str | None) -> list[str] | None:
    """Lines of Rust that are not comments alone."""
    return None if rust is None else [line for line in rust.splitlines() if not line.lstrip().startswith("//")]


def committed(commit: str | None, name: str) -> str | None:
    """The text of a file in a commit, or without one in the working tree."""
    try:
        if commit is None:
            return (ROOT / name).read_text(encoding="utf-8", errors="replace")
        shown = subprocess.run(["git", "show", f"{commit}:{name}"], cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return shown.stdout.decode(errors="replace")


def changed_functions(change: Change) -> set[str]:
    """Functions that differ in more than docstrings, and what uses constants that differ; "" is the whole file."""
    old, new = functions(change.old), functions(change.new)
    names = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
    constants = {name.removeprefix("=") for name in names if name.startswith("=")}
    names = {name for name in names if not name.startswith("=")}
    for name, dump in new.items():
        if not name.startswith("=") and any(f"id='{constant}'" in dump for constant in constants):
            names.add(name)
    return names or ({""} if constants else set())


def functions(source: str | None) -> dict[str, str]:
    """What each function does, by its qualified name, and with "=" in front what each other name of the module is."""
    found = dict[str, str]()

    def visit(body: Sequence[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{prefix}{node.name}.")
                node.body = []
                found[f"={node.name}"] = ast.dump(node)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                if ast.get_docstring(node, clean=False) is not None:
                    node.body = node.body[1:]
                found[prefix + node.name] = ast.dump(node)
            elif not isinstance(node, ast.Import | ast.ImportFrom | ast.Expr):
                bound = [each.id for each in ast.walk(node) if isinstance(each, ast.Name)][:1]
                name = prefix.partition(".")[0] or "".join(bound)
                found[f"={name}"] = found.get(f"={name}", "") + ast.dump(node)

    try:
        visit(ast.parse(source or "").body, "")
    except SyntaxError:
        found["="] = source or ""
    return found


def nearness(known: Map, changed: Sequence[Change]) -> dict[str, float]:
    """How near each test is: the more, the rarer the changed functions that it runs."""
    near = defaultdict[str, float](float)
    for change in changed:
        names = changed_functions(change) if change.path.endswith(".py") else {""}
        runs, by_name = known.runs.get(change.path, {}), named_like(change.path)
        found = {name: runs[name] for name in names if name in runs}
        if names and not found:
            found = {"": known.of_file(change.path) or known.beside(change.path)}
        for bits in found.values():
            for number in known.numbers(bits):
                file = known.tests[number].partition("::")[0]
                near[known.tests[number]] += (BY_NAME if file in by_name else 1.0) / bits.bit_count()
        if change.path.startswith("tests/") and change.new is not None:
            for name in names - runs.keys():
                if name.rpartition(".")[2].startswith("test"):
                    near[f"{change.path}::{name.replace('.', '::')}"] += BY_NAME
        if names and change.path.endswith((".rs", ".ts", ".tsx")):
            for test, weight in by_history(known, change.path).items():
                near[test] += weight
    return near


def named_like(path: str) -> set[str]:
    """Test files that are named like a module, as test_run.py and test_run_store.py are of run.py."""
    stem = Path(path).stem
    return {each for each in test_files() if Path(each).stem == f"test_{stem}" or each == path} if stem else set()


def test_files() -> list[str]:
    """Files of tests."""
    return git("ls-files", "-co", "--exclude-standard", "tests/**/test_*.py", "tests/test_*.py").split()


@cache
def together(path: str) -> dict[str, float]:
    """How often files changed together with one in its last hundred commits; large commits count little."""
    weights = defaultdict[str, float](float)
    for commit in git("log", "-n", "100", "--format=%x00", "--name-only", "--full-diff", "--", path).split("\0")[1:]:
        for file in (files := commit.split()):
            weights[file] += 1 / len(files)
    return weights


def by_history(known: Map, path: str) -> dict[str, float]:
    """Tests of files that changed together with a source which no map knows; the golden runs are near to all crates."""
    weights = together(path)
    if path.startswith("crates/"):
        weights["tests/golden/test_golden.py"] += 1.0
    return {test: weights[file] / 10 for test in known.tests if (file := test.partition("::")[0]) in weights}


def chosen(known: Map, near: Mapping[str, float], budget_s: float) -> list[str]:
    """The nearest tests that the budget has room for, the nearest first."""
    cost = dict(zip(known.tests, known.cpu_s, strict=True))
    left, kept = budget_s, list[str]()
    for test in sorted(near, key=lambda test: (-near[test] / (cost.get(test, 0.0) + COLLECTING_S), test)):
        if (takes := cost.get(test, 0.0) + COLLECTING_S) <= left:
            left -= takes
            kept.append(test)
    return kept


class Nearest:
    """A plugin of pytest that runs some tests of those collected, file by file, until CPU time has run out."""

    def __init__(self, tests: Sequence[str], end_s: float) -> None:
        """The nearest test first; `end_s` as `cpu_s` counts."""
        self.rank = {test: number for number, test in enumerate(tests)}
        self.files = {test.partition("::")[0]: number for number, test in reversed(list(enumerate(tests)))}
        self.end_s = end_s

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Those of the map that are still there, with all parameters where these are not told apart."""
        ranked = {item: self.rank.get(item.nodeid, self.rank.get(item.nodeid.partition("[")[0])) for item in items}
        items[:] = [item for item in items if ranked[item] is not None]
        items.sort(key=lambda item: (self.files[item.nodeid.partition("::")[0]], ranked[item]))

    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """After each test."""
        if cpu_s() > self.end_s:
            item.session.shouldstop = "the budget of CPU time is spent"


def left_out(near: Mapping[str, float], kept: Sequence[str]) -> Iterator[str]:
    """What of the tests that are near is run, and what is not."""
    yield f"nearest tests: {len(kept)}"
    out = Counter(test.partition("::")[0] for test in near.keys() - set(kept))
    if out:
        yield f"left to `make test`: {out.total()} tests that are near, of {len(out)} files:"
        yield from (f"  {number:4} {file}" for file, number in sorted(out.items()))


def main() -> int:
    """Choose, run, and print what was left out; 1 when a test fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", help="compare with this commit (default: where the branch left its upstream or main)")
    parser.add_argument("--list", action="store_true", help="print the tests instead of running them")
    options = parser.parse_args()
    known, changed = tests_map.load(), changes(options.base or fork_point())
    rust = [change.path for change in changed if change.path.endswith(".rs")]
    end = cpu_s() + BUDGET_S[bool(rust)]
    if rust and not options.list and (failed := nearest_rust.run(rust, together)):
        return failed
    if any(change.path.startswith("web/") for change in changed) and not options.list and (failed := check_page.main()):
        return failed
    near = nearness(known, changed)
    kept = chosen(known, near, end - cpu_s())
    if options.list:
        print("\n".join(kept))
    print("\n".join(left_out(near, kept)), flush=True)
    if not kept or options.list:
        return 0
    files = dict.fromkeys(file for test in kept if (ROOT / (file := test.partition("::")[0])).is_file())
    return int(pytest.main(["-q", "-p", "no:cacheprovider", *files], plugins=[Nearest(kept, end)]))


if __name__ == "__main__":
    sys.exit(main())
