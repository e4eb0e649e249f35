"""Which test runs which function and reads which file, in tests/map.json.xz; `make map` records it anew.

Parameters of a test are separate only where they run different functions and cost enough.
"""

from __future__ import annotations

import json
import lzma
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from calls import INTO
from calls_plugin import CPU, FIXTURE, ONLY_CPU

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "tests" / "map.json.xz"
WORTH_IT_S = 1.0
"""CPU time of one parameter from which those of a test are separate."""

HANGS = ("--timeout", "900", "--timeout-method", "signal")
"""A test that hangs while notes are taken fails, and the others go on."""


@dataclass(frozen=True)
class Map:
    """`runs` has for each function of each file a set of tests, as the bits of a number; "" is a file that is read."""

    tests: tuple[str, ...]
    cpu_s: tuple[float, ...]
    runs: dict[str, dict[str, int]]

    def numbers(self, bits: int) -> Iterator[int]:
        """The tests of a set."""
        while bits:
            low = bits & -bits
            yield low.bit_length() - 1
            bits ^= low

    def of_file(self, path: str) -> int:
        """The tests that run or read anything of a file."""
        return united(self.runs.get(path, {}).values())

    def beside(self, path: str) -> int:
        """The tests that run or read files of the same kind beside a new one, or else in the folders above."""
        new = PurePosixPath(path)
        for folder in new.parents[:-1]:
            alike = (file for file in self.runs if file.startswith(f"{folder}/") and file.endswith(new.suffix))
            if bits := united(self.of_file(file) for file in alike):
                return bits
        return 0


def united(sets: Iterable[int]) -> int:
    """Tests that are in any of the sets."""
    together = 0
    for bits in sets:
        together |= bits
    return together


@cache
def load(path: Path = KEPT) -> Map:
    """The map as it was recorded."""
    known = json.loads(lzma.decompress(path.read_bytes()))
    runs = {file: {name: int(bits, 16) for name, bits in names.items()} for file, names in known["runs"].items()}
    return Map(tuple(known["tests"]), tuple(known["tests"].values()), runs)


def save(found: Map, path: Path = KEPT) -> None:
    """Write it, the same for the same map."""
    runs = {file: {name: f"{bits:x}" for name, bits in names.items()} for file, names in found.runs.items()}
    known = {"tests": dict(zip(found.tests, found.cpu_s, strict=True)), "runs": runs}
    path.write_bytes(lzma.compress(json.dumps(known, sort_keys=True, separators=(",", ":")).encode(), preset=9))


def reduced(notes: Iterable[str], tracked: set[str]) -> Map:
    """The map of what processes noted: lines of test, file and function, of files that git knows."""
    seen, cost, shared = defaultdict[str, set[tuple[str, str]]](set), dict[str, float](), dict[str, set[str]]()
    for line in notes:
        owner, file, name = line.rstrip("\n").split("\t")
        if file == CPU:
            cost[owner] = float(name)  # the last run tells
        elif file == FIXTURE:
            shared.setdefault(owner, set()).add(name)
        elif file in tracked:
            seen[owner].add((file, name))
    for test in cost:
        seen[test] = seen[test].union(*(seen[fixture] for fixture in shared.get(test, ()) if fixture in seen))
    groups = defaultdict[str, list[str]](list)
    for test in sorted(cost):
        groups[test.partition("[")[0]].append(test)
    kept = dict[str, list[str]]()
    for name, members in groups.items():
        cheap = max(cost[test] for test in members) < WORTH_IT_S
        alike = cheap or all(seen[test] == seen[members[0]] for test in members)
        kept |= {name: members} if alike else {test: [test] for test in members}
    tests = sorted(kept)
    runs = defaultdict[str, dict[str, int]](dict)
    for number, test in enumerate(tests):
        for file, name in set().union(*(seen[member] for member in kept[test])):
            runs[file][name] = runs[file].get(name, 0) | 1 << number
    costs = tuple(round(sum(cost[member] for member in kept[test]), 1) for test in tests)
    return Map(tuple(tests), costs, dict(runs))


def main() -> int:
    """Run all tests with notes taken, then without for their cost, and write the map."""
    folder = ROOT / "out" / "map"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    paths = [str(ROOT / "scripts"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, INTO: str(folder / "notes"), "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "pytest", "-p", "calls_plugin", *HANGS]
    subprocess.run(command, cwd=ROOT, env=environment, check=False)
    failed = subprocess.run(command, cwd=ROOT, env={**environment, ONLY_CPU: "1"}, check=False).returncode
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    with (folder / "notes").open(encoding="utf-8", errors="replace") as notes:
        save(reduced(notes, set(listed.split("\0"))))
    return failed


if __name__ == "__main__":
    sys.exit(main())
