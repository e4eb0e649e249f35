"""Prepare a release: check tree and changelog, run every test, build the wheel, print the command that tags it.

Usage: release.py. It pushes and publishes nothing.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STEPS = (("make", "test"), ("make", "wheel"))


def version(root: Path) -> str:
    """The version in Cargo.toml, which the package has too."""
    found: str = tomllib.loads((root / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]["version"]
    return found


def refusals(root: Path, today: date) -> Iterator[str]:
    """Reasons not to release, each with what to do."""
    if changed := _git(root, "status", "--porcelain"):
        yield f"the tree has {len(changed.splitlines())} uncommitted changes: commit or remove them"
    number = version(root)
    heads = re.findall(r"^## (.*)$", (root / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    head = heads[0] if heads else "no section"
    if not re.fullmatch(rf"{re.escape(number)} - \d{{4}}-\d\d-\d\d", head):
        yield f"CHANGELOG.md begins with `{head}`: write `## {number} - {today.isoformat()}`"
    if _git(root, "tag", "--list", f"v{number}"):
        yield f"the tag v{number} exists: raise the version in Cargo.toml"


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    """Check, test and build; 1 on the first step that fails."""
    if reasons := [*refusals(ROOT, date.today())]:
        print(*(f"error: {reason}" for reason in reasons), sep="\n", file=sys.stderr)
        return 1
    for step in STEPS:
        if subprocess.run(step, cwd=ROOT, check=False).returncode:
            print(f"error: `{' '.join(step)}` failed", file=sys.stderr)
            return 1
    number = version(ROOT)
    print(f'Tag and push the release:\n  git tag -a v{number} -m "hypertwin {number}"\n  git push origin v{number}')
    return 0


if __name__ == "__main__":
    sys.exit(main())
