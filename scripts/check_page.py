"""Check that the scripts and styles of pages and of `serve` are what web/ gives.

`--write` builds them, `--format` formats web/.

Everywhere: the first line of each script has the hash of the sources it was built from, and these must be the sources
here. Where Node and npm are, in versions that web/package.json asks for: format, types, tests of the front end, and a
build, whose files must be those in the package byte by byte. Packages are installed once for each package-lock.json.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WEB = ROOT / "web"
BUILT = ROOT / "python" / "hypertwin"
BUNDLES = {"page": "show/page", "serve": "serve/app"}
"""Script and style of each mode of the build, below the package and without the ending."""
FILES = tuple(f"{name}.{ending}" for name in BUNDLES.values() for ending in ("js", "css"))
SETTINGS = ("package-lock.json", "package.json", "tsconfig.json", "vite.config.ts")
REBUILD = "run `make page` and commit the files"


def main() -> int:
    """Print what is wrong; 1 when there is something."""
    asked = sys.argv[1:]
    writes = asked == ["--write"]
    lacking = lacks()
    if asked == ["--format"]:
        print(f"note: web/ was not formatted: {lacking}" if lacking else "\n".join(format_sources("--write")))
        return 0
    if lacking and writes:
        print(f"the page cannot be built: {lacking}")
        return 1
    if lacking:
        sources = hash_of_sources(WEB)
        for name in BUNDLES.values():
            if recorded_hash((BUILT / f"{name}.js").read_text(encoding="utf-8")) != sources:
                print(f"python/hypertwin/{name}.js is not built from the sources in web/: {REBUILD}, where Node is")
                return 1
        print(f"note: the page was not built again, only the hash of its sources compared: {lacking}")
        return 0
    broken = build(BUILT) if writes else check()
    for line in broken:
        print(line)
    return 1 if broken else 0


def lacks() -> str:
    """Why the page cannot be built here; empty when it can."""
    needed = json.loads((WEB / "package.json").read_text())["engines"]["node"].removeprefix(">=")
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return "there is no Node with npm"
    version = subprocess.run([node, "--version"], check=True, capture_output=True, text=True).stdout.strip().lstrip("v")
    if numbers(version) < numbers(needed):
        return f"Node is {version}, and {needed} or later is needed"
    return installed(npm)


def installed(npm: str) -> str:
    """Install what the lock file names; says what failed, or nothing."""
    stamp = WEB / "node_modules" / ".installed"
    lock = hashlib.sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text() == lock:
        return ""
    done = subprocess.run([npm, "ci", "--silent"], cwd=WEB, check=False, capture_output=True, text=True)
    if done.returncode:
        return f"npm ci failed: {' '.join((done.stderr or done.stdout).split())[:300]}"
    stamp.write_text(lock)
    return ""


def check() -> list[str]:
    """What is wrong with types, tests and built files."""
    broken = format_sources("--check") + tool("tsc", "--noEmit") + tool("vitest", "run", "--silent")
    with tempfile.TemporaryDirectory() as folder:
        broken += build(Path(folder))
        broken += [
            f"python/hypertwin/{name} is not what web/ gives: {REBUILD}"
            for name in FILES
            if not broken and (BUILT / name).read_bytes() != (Path(folder) / name).read_bytes()
        ]
    return broken


def format_sources(how: str) -> list[str]:
    """Check or write the format of all sources in web/; what prettier says when it fails."""
    return tool("prettier", how, "--log-level", "warn", "src", "*.ts")


def build(folder: Path) -> list[str]:
    """Build all scripts and styles into folders below a folder."""
    broken = []
    for mode, name in BUNDLES.items():
        broken += tool("vite", "build", "--mode", mode, "--outDir", str((folder / name).parent))
    return broken


def tool(name: str, *arguments: str) -> list[str]:
    """What a tool from node_modules says when it fails."""
    program = WEB / "node_modules" / ".bin" / name
    plain = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run([program, *arguments], cwd=WEB, check=False, capture_output=True, text=True, env=plain)
    return [] if done.returncode == 0 else [f"{name}: {done.stdout}{done.stderr}".strip()]


def recorded_hash(script: str) -> str:
    """The hash of the sources in the first line of a built script."""
    found = re.search(r"\b[0-9a-f]{64}\b", script.partition("\n")[0])
    return found[0] if found else ""


def hash_of_sources(web: Path) -> str:
    """The hash of all that the build reads, as web/vite.config.ts computes it."""
    paths = [path for path in (web / "src").rglob("*") if path.is_file() and ".test." not in path.name]
    names = sorted([*(path.relative_to(web).as_posix() for path in paths), *SETTINGS])
    lines = (f"{hashlib.sha256((web / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def numbers(version: str) -> tuple[int, ...]:
    """A version to compare."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


if __name__ == "__main__":
    sys.exit(main())
