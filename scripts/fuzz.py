"""Fuzz every parser of outside data, guided by coverage (atheris): `make fuzz`, or `scripts/fuzz.py --inputs 1000000`.

Prints how many inputs each parser took, how fast, and the most memory; what breaks one is kept under out/fuzz and fails.
Targets and what must hold are in tests/fuzz/targets.py; the test suite gives each some thousand mutations of its samples.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "out" / "fuzz"
MOST_MEMORY_MIB = 1024
MOST_SECONDS = 20
"""For one input, beyond which it counts as a hang."""
LONGEST_INPUT = 32_768


def main() -> int:
    """Share the inputs among all targets, or those named, and run them side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="default: all")
    parser.add_argument("--inputs", type=int, default=100_000, help="in all (default: 100,000)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options, rest = parser.parse_known_args()
    sys.path.insert(0, str(ROOT))
    if options.one:
        _fuzz(options.one, rest)
    from tests.fuzz.targets import targets

    names = options.targets or list(targets())
    unknown = set(names) - set(targets())
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(targets())}")
    share = -(-options.inputs // len(names))
    print(f"{'parser':40} {'inputs':>9} {'per s':>7} {'MiB':>6}  outcome", flush=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        failed = sum(pool.map(lambda name: _run(name, share), names))
    print(f"{share * len(names):,} inputs, {failed} parsers broken")
    return 1 if failed else 0


def _run(name: str, inputs: int) -> bool:
    """Fuzz one target in a process of its own; whether it broke."""
    slug = re.sub(r"\W+", "-", name).strip("-")
    folder = OUT / slug
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, __file__, "--one", name]
    command += [f"-runs={inputs}", f"-rss_limit_mb={MOST_MEMORY_MIB}", f"-timeout={MOST_SECONDS}"]
    command += [f"-max_len={LONGEST_INPUT}", "-print_final_stats=1", f"-artifact_prefix={folder}/crash-", "-seed=1"]
    began = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False)
    took = time.monotonic() - began
    (folder / "log").write_text(done.stdout + done.stderr)
    said = dict(re.findall(r"stat::(\w+):\s+(\d+)", done.stderr))
    executed = int(said.get("number_of_executed_units", 0))
    memory = said.get("peak_rss_mb", "?")
    outcome = "sound" if done.returncode == 0 else f"BROKEN: {folder}/log"
    print(f"{name:40} {executed:9,} {executed / took:7.0f} {memory:>6}  {outcome}", flush=True)
    return done.returncode != 0


def _fuzz(name: str, flags: Sequence[str]) -> None:
    """Fuzz one target in this process, which ends with it."""
    import atheris

    with atheris.instrument_imports(include=["hypertwin.ingest", "hypertwin.yaml_file", "hypertwin.scenario"]):
        from tests.fuzz.targets import targets
    target = targets()[name]
    corpus = OUT / re.sub(r"\W+", "-", name).strip("-") / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, sample in enumerate(target.samples):
        (corpus / f"sample-{number}").write_bytes(sample)
    atheris.Setup([sys.argv[0], *flags, str(corpus)], target.check)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
