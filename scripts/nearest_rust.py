"""Lint the crates that changed and run their nearest tests, built with the profile `checked`."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

Together = Callable[[str], Mapping[str, float]]
ROOT = Path(__file__).resolve().parents[1]
MOST_FILES = 2
"""Files of integration tests of a crate."""
BY_NAME = 1.0
"""How near tests/pool_recovery.rs is to src/storage/pool/mod.rs for each word of its name."""


def run(paths: Sequence[str], together: Together) -> int:
    """Lint and test; the status of the first command that fails, or 0. `together` says what changed with a file."""
    for command in commands(paths, together):
        print("$", *command, flush=True)
        if status := subprocess.run(command, cwd=ROOT, check=False).returncode:
            return status
    return 0


def commands(paths: Sequence[str], together: Together) -> Iterator[list[str]]:
    """What to run after these files changed, crate by crate. What lints say of tests is left to `make lint`."""
    for crate in sorted({path.split("/")[1] for path in paths if path.startswith("crates/")}):
        mine = [path for path in paths if path.startswith(f"crates/{crate}/")]
        options = ["--quiet", "--profile", "checked", "--package", f"hypertwin-{crate}"]
        yield ["cargo", "clippy", *options, "--lib", "--", "-D", "warnings"]
        if crate == "python":  # the seam has no tests of its own
            continue
        if modules := sorted({module for path in mine if (module := module_of(path)) is not None}):
            yield ["cargo", "test", *options, "--lib", "--", *modules]
        near = nearest(mine, together)
        if near and (ROOT / f"crates/{crate}/tests/main.rs").exists():  # one program of all
            yield ["cargo", "test", *options, "--test", crate, "--", *(f"{name}::" for name in near)]
        elif near:
            yield ["cargo", "test", *options, *(word for name in near for word in ("--test", name))]


def module_of(path: str) -> str | None:
    """The module of a source with its tests, as their names begin; of mod.rs the whole folder, none of tests."""
    found = re.fullmatch(r"crates/\w+/src/(.*?)(?:/mod)?\.rs", path)
    return None if found is None else "" if found[1] in ("lib", "mod") else found[1].replace("/", "::")


def nearest(paths: Iterable[str], together: Together) -> list[str]:
    """Names of the nearest files of integration tests: those that changed, are named alike, or changed together."""
    near = dict[str, float]()
    for path in paths:
        if found := re.fullmatch(r"crates/\w+/tests/(\w+)\.rs", path):
            near[found[1]] = float("inf")
            continue
        words, past = set(re.findall(r"[a-z]+", path)), together(path)
        for test in ROOT.glob(f"{path.partition('/src/')[0]}/tests/*.rs"):
            alike = BY_NAME * len(words & set(test.stem.split("_")))
            near[test.stem] = near.get(test.stem, 0.0) + alike + past.get(test.relative_to(ROOT).as_posix(), 0.0)
    ranked = sorted((name for name in near if near[name] > 0), key=lambda name: (-near[name], name))
    return ranked[:MOST_FILES]
