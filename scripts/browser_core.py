"""Build the core for pages, python/hypertwin/show/core.wasm, where Rust's target for WebAssembly is or can be added.

The same sources and compiler give the same bytes in any folder. Elsewhere a note says what is missing, and nothing
fails: only pages that simulate need the module. The build fails if the module is larger than pages allow.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILT = ROOT / "python" / "hypertwin" / "show" / "core.wasm"
TARGET = "wasm32-unknown-unknown"
PROFILE = "browser"

MAX_GZIP_KB = 800
"""Size of the module as pages carry it. A page that simulates has at most 1.2 MB beside its data."""

SMALL = ("-Cllvm-args=-inline-threshold=10", "-Csymbol-mangling-version=v0")
"""Less inlining than for speed, and an order of functions that is compressed better by a hundredth.

With 15 a run takes as long as with LLVM's own threshold for small code, which is 50. With 6 it takes a tenth longer.
"""

ADDING_S = 60
"""Time for rustup to download the target, so that set-up without a network does not wait for long."""


def main() -> int:
    """Build the module and print its size; 1 if it cannot be compiled or is too large."""
    lacking = lacks()
    if lacking:
        print(f"note: the core for pages that simulate was not built: {lacking}")
        return 0
    done = build()
    if done.returncode:
        print(done.stderr)
        return 1
    module = BUILT.read_bytes()
    size_kb = len(gzip.compress(module, 9, mtime=0)) / 1e3
    digest = hashlib.sha256(module).hexdigest()
    print(f"note: core.wasm has {len(module) / 1e6:.2f} MB, {size_kb:.0f} kB with gzip, SHA-256 {digest[:16]}")
    if size_kb > MAX_GZIP_KB:
        print(f"core.wasm is larger than {MAX_GZIP_KB} kB with gzip, which pages that simulate allow")
        return 1
    return 0


def lacks() -> str:
    """Return the reason why the module cannot be built here, or an empty text. Adds the target with rustup."""
    if shutil.which("cargo") is None:
        return "there is no cargo"
    if has_target():
        return ""
    if shutil.which("rustup") is None:
        return f"this Rust has no target {TARGET}, and there is no rustup to add it"
    add = ["rustup", "target", "add", TARGET]
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(add, cwd=ROOT, check=False, capture_output=True, timeout=ADDING_S)
    return "" if has_target() else f"`{' '.join(add)}` failed"


def has_target() -> bool:
    """True if the compiler has the standard library for WebAssembly."""
    return (Path(printed("rustc", "--print", "sysroot")) / "lib" / "rustlib" / TARGET / "lib").is_dir()


def build() -> subprocess.CompletedProcess[str]:
    """Compile the module and put it into the package."""
    cargo_home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    fetched = subprocess.run(
        ["cargo", "fetch", "--locked", "--target", TARGET], cwd=ROOT, check=False, capture_output=True, text=True
    )
    if fetched.returncode:
        return fetched
    # messages of panics name files: those of other crates are then the same on any computer
    registries = sorted((cargo_home / "registry" / "src").glob("*"))
    flags = [*SMALL, *(f"--remap-path-prefix={folder}=/crates" for folder in registries)]
    flags.append(f"--remap-path-prefix={ROOT}=/hypertwin")
    command = ["cargo", "build", "--quiet", "--locked", "--profile", PROFILE, "--target", TARGET]
    done = subprocess.run(
        [*command, "--package", "hypertwin-browser"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags)},
    )
    if done.returncode == 0:
        folder = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
        copy(folder / TARGET / PROFILE / "hypertwin_browser.wasm")
    return done


def copy(made: Path) -> None:
    """Replace the module in the package, unless it is the same, so that its time stays for other tools."""
    if not BUILT.is_file() or BUILT.read_bytes() != made.read_bytes():
        fresh = BUILT.with_suffix(".new")
        shutil.copyfile(made, fresh)
        fresh.replace(BUILT)


def printed(*command: str) -> str:
    """Return what a command prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
