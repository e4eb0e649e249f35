"""How good `make check` is: over the last commits, what its tests would have cost, and what they would have found.

Of some commits one change (`mutants.py`) is drawn in the lines of Python that are still there. The tests chosen for the
commit are run with it, and if these pass the others that run the changed function: what only those notice was missed.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from statistics import quantiles

import mutants
import nearest_tests
import tests_map
from calls_plugin import cpu_s
from tests_map import Map

ROOT = tests_map.ROOT
TREE = ROOT / "out" / "judge" / "tree"
MOST_S = 120.0
"""CPU time of the tests beyond those chosen, by the map, the cheap ones first."""
AT_ONCE = 200
"""Tests of one run of pytest."""


def main() -> int:
    """Print what the choice costs, then what it finds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=100)
    parser.add_argument("--mutants", type=int, default=0, help="of how many commits a change is tried")
    parser.add_argument("--minutes", type=float, default=25.0, help="CPU time after which no other change is tried")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    known = tests_map.load()
    commits = nearest_tests.git("rev-list", "--no-merges", "-n", str(options.commits), "HEAD").split()
    picks = {commit: near_of(known, commit) for commit in commits}
    costs = sorted(cost(known, nearest_tests.chosen(known, near, 60.0)) for near in picks.values())
    marks = quantiles(costs, n=10)
    print(f"{len(costs)} commits: CPU of the chosen tests: median {marks[4]:.0f} s, 9 of 10 {marks[8]:.0f} s")
    whole = sorted(cost(known, list(near)) for near in picks.values())
    print(f"all tests that are near: median {quantiles(whole, n=10)[4]:.0f} s, of {sum(known.cpu_s):.0f} s in all")
    tried = Counter[str]()
    mutants.copy_tree(TREE)
    there = collected() if options.mutants else set()
    draw = random.Random(options.seed)
    for commit in draw.sample(commits, len(commits)):
        if tried.total() >= options.mutants or cpu_s() > 60 * options.minutes:
            break
        if (mutant := mutant_of(commit, draw)) is not None:
            chosen = nearest_tests.chosen(known, picks[commit], 60.0)
            rest = others(known, mutant, chosen)
            outcome = judged(
                mutant, [test for test in chosen if test in there], [test for test in rest if test in there]
            )
            tried[outcome] += 1
            print(f"{commit[:8]} {outcome}: {mutant.file}:{mutant.line} {mutant.name}", flush=True)
    print(f"{tried.total()} changes in {cpu_s() / 60:.0f} CPU minutes: {dict(tried)}")
    return 0


def near_of(known: Map, commit: str) -> dict[str, float]:
    """What is near to a commit, of tests that the map knows."""
    near = nearest_tests.nearness(known, nearest_tests.changes(f"{commit}~", commit))
    return {test: near[test] for test in near.keys() & set(known.tests)}


def cost(known: Map, tests: Sequence[str]) -> float:
    """CPU time of tests by the map."""
    each = dict(zip(known.tests, known.cpu_s, strict=True))
    return sum(each[test] + nearest_tests.COLLECTING_S for test in tests)


def mutant_of(commit: str, draw: random.Random) -> mutants.Mutant | None:
    """A change in a line of the package that is as the commit left it."""
    files = nearest_tests.git("diff", "--name-only", f"{commit}~", commit, "--", "python/hypertwin/*.py").split()
    places = []
    for path in (ROOT / file for file in files if (ROOT / file).is_file()):
        lines = nearest_tests.git("blame", "-s", "--abbrev=40", path.as_posix()).splitlines()
        left = {number for number, line in enumerate(lines, 1) if line.startswith(commit)}
        places += [place for place in mutants.python_places([path]) if place.args[1] in left]  # type: ignore[attr-defined]
    draw.shuffle(places)
    return next(filter(None, (place() for place in places)), None)


def collected() -> set[str]:
    """All tests, with and without their parameters."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return {name for line in listed for name in (line, line.partition("[")[0]) if "::" in line}


def judged(mutant: mutants.Mutant, chosen: Sequence[str], others: Sequence[str]) -> str:
    """Whether the chosen tests notice a change, only others do, or none."""
    (TREE / mutant.file).write_text(mutant.text, encoding="utf-8")
    try:
        if any(fails(part) for part in parts(chosen)):
            return "found"
        return "missed" if any(fails(part) for part in parts(others)) else "no test notices"
    finally:
        (TREE / mutant.file).write_text((ROOT / mutant.file).read_text(encoding="utf-8"), encoding="utf-8")


def others(known: Map, mutant: mutants.Mutant, chosen: Sequence[str]) -> list[str]:
    """The other tests that run the changed function, as many as may be run."""
    before = (ROOT / mutant.file).read_text(encoding="utf-8")
    change = nearest_tests.Change(mutant.file, before, mutant.text)
    near = nearest_tests.nearness(known, [change])
    each = dict(zip(known.tests, known.cpu_s, strict=True))
    rest = sorted((near.keys() & each.keys()) - set(chosen), key=lambda test: (each[test], test))
    costs = accumulate(each[test] + nearest_tests.COLLECTING_S for test in rest)
    return [test for test, total in zip(rest, costs, strict=True) if total <= MOST_S]


def parts(tests: Sequence[str]) -> Iterator[Sequence[str]]:
    """A few at first, as the nearest notice most."""
    yield from (tests[:20], *(tests[start : start + AT_ONCE] for start in range(20, len(tests), AT_ONCE)))


def fails(tests: Sequence[str]) -> bool:
    """Whether one of the tests fails in the copy of the tree."""
    if not tests:
        return False
    environment = {**os.environ, "PYTHONPATH": f"{TREE}/python:{TREE}"}
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "--tb=no", *tests]
    done = subprocess.run(command, cwd=TREE, env=environment, capture_output=True, text=True, check=False)
    broken = done.returncode in (1, 2) or "while loading conftest" in done.stderr
    if done.returncode and not broken:
        print(f"note: pytest ended with {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}")
    return broken


if __name__ == "__main__":
    sys.exit(main())
