"""Fuzz every parser of outside data, guided by coverage (atheris): `make fuzz`, or `scripts/fuzz.py --inputs 1000000`.

Prints how many inputs each parser took, how many of them it accepted, how fast, and the most memory; what breaks one is
kept under out/fuzz/TARGET with the log, and fails. `scripts/fuzz.py TARGET --again FILE` gives a kept input to a parser
once more. Targets and what must hold are in tests/fuzz/targets.py, changes in tests/fuzz/mutation.py; the test suite
gives each target some hundred changes of its samples.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "out" / "fuzz"
MOST_MEMORY_MIB = 1024
"""Of a parser's process, libraries and the fuzzer included."""
MOST_SECONDS = 20
"""For one input, beyond which it counts as a hang."""
LONGEST_INPUT = 65_536
TELL_EVERY = 200
"""Inputs after which a parser's process writes how far it is: some ways of ending let nothing be written."""


@dataclass(frozen=True)
class Outcome:
    """What became of one target."""

    inputs: int
    memory_mib: int
    broken: bool


def main() -> int:
    """Share the inputs among all targets, or those named, and run them side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="default: all")
    parser.add_argument("--inputs", type=int, default=100_000, help="in all (default: 100,000)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", type=Path, metavar="FILE", help="give this input to the one TARGET named")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options, rest = parser.parse_known_args()
    sys.path.insert(0, str(ROOT))
    os.environ["POLARS_MAX_THREADS"] = "1"
    if options.one:
        _fuzz(options.one, rest)
    if rest:
        parser.error(f"unknown: {' '.join(rest)}")
    known = _targets()
    names = options.targets or list(known)
    if unknown := set(names) - set(known):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    if options.again is not None:
        if len(names) != 1:
            parser.error("--again needs one TARGET")
        print("accepted" if known[names[0]].check(options.again.read_bytes()) else "refused")
        return 0
    whole = sum(known[name].weight for name in names)
    shares = [max(round(options.inputs * known[name].weight / whole), 1) for name in names]
    print(f"{'parser':36} {'inputs':>9} {'accepted':>9} {'per s':>7} {'MiB':>6}  outcome", flush=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(_run, names, shares, [options.seed] * len(names)))
    total, most = sum(each.inputs for each in outcomes), max(each.memory_mib for each in outcomes)
    broken = sum(each.broken for each in outcomes)
    print(f"{total:,} inputs to {len(names)} parsers, at most {most} MiB; {broken} of them broken")
    return 1 if broken else 0


def _targets() -> Any:
    return importlib.import_module("tests.fuzz.targets").targets()


def _folder(name: str) -> Path:
    return OUT / re.sub(r"\W+", "-", name).strip("-").lower()


def _run(name: str, inputs: int, seed: int) -> Outcome:
    """Fuzz one target in a process of its own."""
    folder = _folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    told = folder / "told.json"
    told.unlink(missing_ok=True)
    command = [sys.executable, __file__, "--one", name, "--seed", str(seed)]
    command += [f"-runs={inputs}", f"-rss_limit_mb={MOST_MEMORY_MIB}", f"-timeout={MOST_SECONDS}", f"-seed={seed}"]
    command += [
        f"-max_len={LONGEST_INPUT}",
        "-print_final_stats=1",
        "-mutate_depth=1",
        f"-artifact_prefix={folder}/crash-",
    ]
    began = time.monotonic()
    with (folder / "log").open("w") as log:
        done = subprocess.run(command, cwd=ROOT, stdout=log, stderr=log, check=False)
    took = time.monotonic() - began
    said = dict(re.findall(r"stat::(\w+):\s+(\d+)", (folder / "log").read_text(errors="replace")))
    counted = json.loads(told.read_text()) if told.exists() else {"inputs": 0, "accepted": 0}
    taken = max(int(said.get("number_of_executed_units", 0)), counted["inputs"])
    memory = int(said.get("peak_rss_mb", 0))
    broken = done.returncode != 0 or taken < inputs
    outcome = f"BROKEN: {(folder / 'log').relative_to(ROOT)}" if broken else "sound"
    accepted, speed = counted["accepted"], taken / took
    print(f"{name:36} {taken:9,} {accepted:9,} {speed:7.0f} {memory:6}  {outcome}", flush=True)
    return Outcome(taken, memory, broken)


def _fuzz(name: str, flags: Sequence[str]) -> None:
    """Fuzz one target in this process, which ends with it."""
    import atheris

    rooms = ("ingest", "calibration", "comparison", "lab", "plan.capacity.limits", "files.yaml_file")
    with atheris.instrument_imports(include=[f"hypertwin.{room}" for room in rooms]):
        target = _targets()[name]
    mutation = importlib.import_module("tests.fuzz.mutation")
    corpus = _folder(name) / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    good = target.samples
    for number, sample in enumerate(good):
        (corpus / f"sample-{number}").write_bytes(sample)
    counted = {"inputs": 0, "accepted": 0}

    def take(data: bytes) -> None:
        counted["inputs"] += 1
        counted["accepted"] += target.check(data)
        if counted["inputs"] % TELL_EVERY == 0:
            (_folder(name) / "told.json").write_text(json.dumps(counted))

    def change(data: bytes, most: int, seed: int) -> bytes:
        draw = random.Random(seed)
        if draw.random() < 0.5:  # else most is a change of what is refused already, of which little is looked at
            data = draw.choice(good)

        def within(part: bytes, draw: random.Random) -> bytes:
            if draw.random() < 0.5:
                return bytes(atheris.Mutate(part, max(len(part) + 64, 64)))
            return bytes(mutation.plain(part, draw))

        return bytes(mutation.mutate(data, draw, within))[:most]

    atheris.Setup([sys.argv[0], *flags, str(corpus)], take, custom_mutator=change)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
