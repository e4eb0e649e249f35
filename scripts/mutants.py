"""Change the code in N places and see which changes no test notices: `make mutants AREA=readers N=50 SEED=2`.

Changes are made by cosmic-ray (Python) and cargo-mutants (Rust), drawn by a seed, and tried one by one in a copy of the
tree under out/mutants/AREA. A Rust change is tried on the tests of its area; a Python change on those that call the
function it is in, or anything of its file where it is in none, which a first run without a change finds out. What was
tried is in results.jsonl there and not tried again, but with `--again` what no test noticed.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import accumulate, islice
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LONGEST_TEST_S = 5
"""CPU time of a Python test, beyond which it is stopped and not used here."""
MOST_CPU_S = {"python": 60, "rust": 300}
"""CPU time of the process that tests a change, beyond which the change is one that never ends."""
SLOWER = 40
"""Wall clock over CPU time, beyond which tests hang: computers are shared."""
CARGO = {"CARGO_PROFILE_DEV_OPT_LEVEL": "1", "CARGO_PROFILE_DEV_DEBUG": "0"}
"""Tests are built quickly rather than well."""
OPERATORS = re.compile(
    r"core/(ReplaceBinaryOperator_"
    r"(Add_Sub|Sub_Add|Mul_Div|Div_Mul|FloorDiv_Div|Mod_Mul|Pow_Mul|BitOr_BitAnd|BitAnd_BitOr)"
    r"|ReplaceComparisonOperator_"
    r"(Eq_NotEq|NotEq_Eq|Lt_LtE|LtE_Lt|Gt_GtE|GtE_Gt|Lt_Gt|Gt_Lt|LtE_GtE|GtE_LtE|Is_IsNot|IsNot_Is)"
    r"|ReplaceUnaryOperator_Delete_\w+|AddNot|Replace(TrueWithFalse|FalseWithTrue|AndWithOr|OrWithAnd)"
    r"|ReplaceBreakWithContinue|ReplaceContinueWithBreak|NumberReplacer|ZeroIterationForLoop)"
)
"""Of cosmic-ray's operators those whose changes are not absurd: no addition becomes a shift."""


@dataclass(frozen=True)
class Area:
    """Sources that are changed, and the tests that ought to notice: arguments of `cargo test` or of pytest."""

    name: str
    language: str
    sources: tuple[str, ...]
    tests: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where its results are."""
        return ROOT / "out" / "mutants" / self.name

    @property
    def tree(self) -> Path:
        """The copy in which changes are made."""
        return self.folder / "tree"


INGEST, INGEST_TESTS = "python/hypertwin/ingest", "tests/python/ingest"
AREAS = {
    area.name: area
    for area in (
        Area("kernel", "rust", ("crates/kernel/src/**/*.rs",), ("-p", "hypertwin-kernel")),
        Area("models", "rust", ("crates/models/src/**/*.rs",), ("-p", "hypertwin-models")),
        Area(
            "accounting",
            "rust",
            ("crates/engine/src/measure/*.rs", "crates/engine/src/cpu/processors.rs"),
            ("-p", "hypertwin-engine", "--lib", "--test", "accounting", "--test", "samples", "--test", "clusters"),
        ),
        Area(
            "readers",
            "python",
            (
                *(f"{INGEST}/{folder}/**/*.py" for folder in ("guests", "benchmarks", "vmware")),
                *(f"{INGEST}/{files}.py" for files in ("kvm/libvirt_*", "prom*", "[dft]*")),
            ),
            (
                *(f"{INGEST_TESTS}/{folder}" for folder in ("guests", "benchmarks", "vmware")),
                *(f"{INGEST_TESTS}/test_{name}.py" for name in ("demand", "prometheus_text", "prometheus")),
                f"{INGEST_TESTS}/kvm/test_libvirt_import.py",
            ),
        ),
        Area("planner", "python", ("python/hypertwin/plan/placement/*.py",), ("tests/python/plan/placement",)),
    )
}


@dataclass(frozen=True)
class Mutant:
    """One change: the file, the line, what it is called, and the whole file after it."""

    file: str
    line: int
    name: str
    text: str

    @property
    def id(self) -> str:
        """The same as long as the file is."""
        return hashlib.sha256(f"{self.file}\0{self.text}".encode()).hexdigest()[:16]

    @property
    def change(self) -> str:
        """The lines that differ."""
        before = (ROOT / self.file).read_text(encoding="utf-8").splitlines()
        lines = difflib.unified_diff(before, self.text.splitlines(), n=0, lineterm="")
        return "\n".join(line for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---"))


Place = Callable[[], Mutant | None]
"""Makes the change at one place of the sources; none if nothing would be different."""


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: killed (by the first test that failed), survived, timeout, or unviable: not built."""

    id: str
    file: str
    line: int
    name: str
    change: str
    outcome: str
    by: str


def main() -> int:
    """Try the mutants that were drawn and not tried yet, then print the score and the survivors of each area."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"of {', '.join(AREAS)} (default: all)")
    parser.add_argument("-n", type=int, default=300, help="mutants of each area (default: 300)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="try those again that no test noticed")
    options = parser.parse_args()
    if unknown := set(options.areas) - set(AREAS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(AREAS)}")
    for name in options.areas or AREAS:
        run(AREAS[name], options.n, options.seed, options.again)
    return 0


def run(area: Area, most: int, seed: int, again: bool) -> None:
    """Draw, try and print one area."""
    copy_tree(area.tree)
    files = sorted(path for pattern in area.sources for path in ROOT.glob(pattern))
    places = list(rust_places(files) if area.language == "rust" else python_places(files))
    random.Random(seed).shuffle(places)
    drawn = list(islice((mutant for make in places if (mutant := make())), most))
    results = area.folder / "results.jsonl"
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    known = {each["id"]: Outcome(**each) for each in map(json.loads, lines)}
    tests = calls(area) if area.language == "python" else {}
    for number, mutant in enumerate(drawn, 1):
        if mutant.id in known and not (again and known[mutant.id].outcome == "survived"):
            continue
        outcome, by = try_python(area, mutant, tests) if area.language == "python" else try_rust(area, mutant)
        known[mutant.id] = Outcome(mutant.id, mutant.file, mutant.line, mutant.name, mutant.change, outcome, by)
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(known[mutant.id])) + "\n")
        where = f"{mutant.file}:{mutant.line} {mutant.name}"
        print(f"{area.name} {number}/{len(drawn)} {outcome}: {where} {by}", flush=True)
    tell(area, len(places), [known[mutant.id] for mutant in drawn])


def tell(area: Area, places: int, tried: Sequence[Outcome]) -> None:
    """Print how many were noticed, and which were not."""
    for each in tried:
        if each.outcome == "survived":
            print(f"\n{each.file}:{each.line} {each.name}\n{each.change}")
    of = Counter(each.outcome for each in tried)
    print(
        f"\n{area.name}: {len(tried)} changes in {places} places, {of['unviable']} of them not built: "
        f"{of['killed']} killed, {of['timeout']} timed out, {of['survived']} survived"
    )


def copy_tree(tree: Path) -> None:
    """Make the copy what the tree is; what is the same stays untouched, for cargo's sake."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    core = [path.relative_to(ROOT).as_posix() for path in (ROOT / "python/hypertwin").glob("*.so")]
    wanted = {name for name in [*listed.stdout.decode().splitlines(), *core] if (ROOT / name).is_file()}
    for name in wanted:
        source, target = ROOT / name, tree / name
        if not target.exists() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    for path in tree.rglob("*.py"):
        if path.relative_to(tree).as_posix() not in wanted:
            path.unlink()


@contextmanager
def changed(area: Area, mutant: Mutant) -> Iterator[None]:
    """The copy with a mutant in it."""
    path = area.tree / mutant.file
    before = path.read_text(encoding="utf-8")
    path.write_text(mutant.text, encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(before, encoding="utf-8")


# ---- Python


def python_places(files: Sequence[Path]) -> Iterator[Place]:
    """One change by cosmic-ray at each place of each file, drawn by the place."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    operators = {name: get_operator(name)() for name in operator_names() if OPERATORS.fullmatch(name)}
    for path in files:
        file, source = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        nodes, places = list(ast_nodes(get_ast(source))), dict[Any, list[tuple[str, int]]]()
        for name, operator in operators.items():
            positions = (place for node in nodes for place in operator.mutation_positions(node))
            for occurrence, (start, _) in enumerate(positions):
                places.setdefault(start, []).append((name, occurrence))
        for start, changes in places.items():
            name, occurrence = random.Random(f"{file}{start}").choice(changes)
            yield partial(python_mutant, file, start[0], name, operators[name], occurrence)


def python_mutant(file: str, line: int, name: str, operator: Any, occurrence: int) -> Mutant | None:
    """The file after a change; none if what runs is the same as before."""
    from cosmic_ray.mutating import mutate_code

    source = (ROOT / file).read_text(encoding="utf-8")
    text = mutate_code(source, operator, occurrence)
    if not text or without_types(text) in ("", without_types(source)):
        return None
    return Mutant(file, line, name.removeprefix("core/"), text)


def without_types(source: str) -> str:
    """What of a module has an effect: annotations are not evaluated. Nothing if it is no Python."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(0)
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
    return ast.dump(tree)


class Calls:
    """A plugin of pytest that notes what each test costs and which functions of the package it calls."""

    def __init__(self, tree: Path) -> None:
        """`tree` is where the package is."""
        self.tree, self.tests = tree, dict[str, dict[str, Any]]()
        self.start, self.seen = 0.0, dict[int, CodeType]()

    def pytest_runtest_call(self, item: object) -> None:
        """Watch one test; hooks of plugins run before the test itself."""
        self.start, self.seen = time.process_time(), {}
        signal.signal(signal.SIGPROF, lambda *_: sys.exit("too long"))
        signal.setitimer(signal.ITIMER_PROF, LONGEST_TEST_S)
        sys.setprofile(lambda frame, event, _: event == "call" and self.seen.setdefault(id(frame.f_code), frame.f_code))

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """Keep what was seen, of tests that pass: the others are of no use here."""
        if call.when != "call":
            return
        sys.setprofile(None)
        signal.setitimer(signal.ITIMER_PROF, 0)
        called = sorted(
            [code.co_filename.removeprefix(f"{self.tree}/"), code.co_firstlineno]
            for code in self.seen.values()
            if code.co_filename.startswith(f"{self.tree}/python/") and code.co_name[0] != "<"
        )
        if call.excinfo is None:
            self.tests[item.nodeid] = {"cpu_s": time.process_time() - self.start, "called": called}


def calls(area: Area) -> dict[str, dict[str, Any]]:
    """What each test of an area costs and calls; found once for each state of sources and tests."""
    digest = hashlib.sha256()
    for path in sorted([*(area.tree / "python").rglob("*.py"), *(area.tree / "tests").rglob("*.py")]):
        digest.update(path.read_bytes())
    kept = area.folder / f"calls-{digest.hexdigest()[:16]}.json"
    if not kept.exists():
        print(f"{area.name}: which test calls what ...", flush=True)
        in_a_fork(area, area.tests, 3600, kept)
    known: dict[str, dict[str, Any]] = json.loads(kept.read_text(encoding="utf-8"))
    return known


def in_a_fork(area: Area, arguments: Sequence[str], cpu_s: int, keep: Path | None = None) -> tuple[int | None, str]:
    """Run pytest in the copy; gives its status, none if it ran past its limit, and its output.

    What takes long to import is there already. With `keep` calls are noted in that file.
    """
    import openpyxl  # noqa: F401
    import polars  # noqa: F401
    import pytest

    log = area.folder / "pytest.log"
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
            os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), 1)
            os.dup2(1, 2)
            os.chdir(area.tree)
            os.environ["PYTHONPATH"] = f"{area.tree}/python"
            sys.path[:0] = [f"{area.tree}/python", str(area.tree)]
            plugin = Calls(area.tree)
            options = ["-p", "no:cacheprovider", "--tb=no", "-rfE", *(() if keep else ("-x",))]
            code = int(pytest.main([*options, *arguments], plugins=[plugin] if keep else []))
            if keep:
                keep.write_text(json.dumps(plugin.tests), encoding="utf-8")
            sys.stdout.flush()
        finally:
            os._exit(code)
    end, status = time.monotonic() + SLOWER * cpu_s, None
    while status is None and time.monotonic() < end:
        done, waited = os.waitpid(child, os.WNOHANG)
        status = waited if done else None
        time.sleep(0.05)
    if status is None:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    output = log.read_text(encoding="utf-8", errors="replace")
    return None if status is None or os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status), output


def try_python(area: Area, mutant: Mutant, tests: dict[str, dict[str, Any]]) -> tuple[str, str]:
    """Run the tests that call what was changed, the quick ones first."""
    by_cost = sorted(concerned(mutant, tests), key=lambda test: float(tests[test]["cpu_s"]))
    costs = accumulate(float(tests[test]["cpu_s"]) for test in by_cost)
    chosen = [test for test, cost in zip(by_cost, costs, strict=True) if cost < MOST_CPU_S["python"] / 3]
    if not chosen:
        return "survived", "no test calls it"
    with changed(area, mutant):
        code, output = in_a_fork(area, chosen, MOST_CPU_S["python"])
    if code is None:
        return "timeout", ""
    first = re.search(r"^(?:FAILED|ERROR) ([^ \n]+)", output, re.MULTILINE)
    return ("survived", f"{len(chosen)} tests") if code == 0 else ("killed", first[1] if first else output[-200:])


def concerned(mutant: Mutant, tests: dict[str, dict[str, Any]]) -> list[str]:
    """Tests that call the changed function; of what is not in one, or is kept in a cache, those that call its file."""
    source = (ROOT / mutant.file).read_text(encoding="utf-8")
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    inside = [node for node in functions if node.body[0].lineno <= mutant.line <= (node.end_lineno or 0)]
    first = {min([node.lineno, *(each.lineno for each in node.decorator_list)]) for node in inside}
    cached = any("cache" in ast.unparse(each) for node in inside for each in node.decorator_list)
    return [
        test
        for test, known in tests.items()
        if any(file == mutant.file and (not first or cached or line in first) for file, line in known["called"])
    ]


# ---- Rust


def rust_places(files: Sequence[Path]) -> Iterator[Place]:
    """All changes that cargo-mutants knows of the files, less those inside tests."""
    chosen = [option for path in files for option in ("--file", path.relative_to(ROOT).as_posix())]
    command = ["cargo", "mutants", "--list", "--json", *chosen]
    listed = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    for each in json.loads(listed):
        file, start, end = each["file"], each["span"]["start"], each["span"]["end"]
        lines = (ROOT / file).read_text(encoding="utf-8").splitlines(keepends=True)
        before = "".join(lines[: start["line"] - 1]) + lines[start["line"] - 1][: start["column"] - 1]
        after = lines[end["line"] - 1][end["column"] - 1 :] + "".join(lines[end["line"] :])
        name = each["name"].partition(": ")[2]
        yield partial(Mutant, file, start["line"], name, before + each["replacement"] + after)


def try_rust(area: Area, mutant: Mutant) -> tuple[str, str]:
    """Build and run the tests of the area."""
    command = ["cargo", "test", "--quiet", *area.tests]
    with changed(area, mutant):
        code, output = limited(area, [*command, "--no-run"])
        if code:
            return "unviable", ""
        if code == 0:
            code, output = limited(area, command)
    if code is None:
        return "timeout", ""
    first = re.search(r"^---- (\S+) stdout", output, re.MULTILINE)
    return ("survived", "") if code == 0 else ("killed", first[1] if first else output[-200:])


def limited(area: Area, command: Sequence[str]) -> tuple[int | None, str]:
    """The status of a command in the copy, none if it or what it runs goes past its limit, and what it printed."""
    most = MOST_CPU_S["rust"]
    environment = {"CARGO_TARGET_DIR": str(area.folder / "target"), **CARGO, **os.environ}
    process = subprocess.Popen(
        ["prlimit", f"--cpu={most}", *command],
        cwd=area.tree,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=SLOWER * most)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, ""
    return None if re.search(r"\(signal: (9|24),", output) else process.returncode, output


if __name__ == "__main__":
    sys.exit(main())
