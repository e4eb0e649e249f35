"""The other simulators: where each comes from, how it is built, and how large a run it gets.

`prepare` of an entry builds the peer below a folder of its own and returns the command that runs it. What a peer needs
and this machine lacks is an `Unavailable` with the reason, which the report shows in the peer's place.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD_TIMEOUT_S = 900


class Unavailable(Exception):  # noqa: N818
    """A peer that cannot run on this machine; the message says why and, where possible, what would help."""


@dataclass(frozen=True)
class Sizes:
    """What one run simulates: customers of the M/M/1 queue, and simulated seconds of the closed network."""

    mm1_customers: int
    network_seconds: float


@dataclass(frozen=True)
class Peer:
    """One other simulator."""

    name: str
    """As in its folder and in the JSON."""
    source: str
    """Package, version and registry."""
    prepare: Callable[[Path], list[str]]
    """Builds it below the given folder and returns the command to which the case is appended."""
    sizes: Sizes
    """A few seconds a run at this tool's speed: events per second are compared, not run times."""
    smoke: Sizes
    debian: tuple[str, ...] = ()
    """Debian packages it needs beside Python and Rust; installed only on request."""


def _checked(command: list[str], what: str, *, environment: dict[str, str] | None = None) -> None:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=BUILD_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
        )
    except subprocess.TimeoutExpired as late:
        raise Unavailable(f"{what} took more than {BUILD_TIMEOUT_S} s") from late
    if done.returncode != 0:
        lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()]
        raise Unavailable(f"{what} failed: {(errors or lines or ['no output'])[0][:300]}")


def _program(name: str, hint: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise Unavailable(f"{name} is not on this machine ({hint})")
    return found


def install_debian(packages: tuple[str, ...]) -> None:
    """Let apt-get install packages; needs root."""
    tool = _program("apt-get", "only Debian and its relatives have it")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    _checked([tool, "update", "-qq"], "apt-get update", environment=quiet)
    wait = ["-o", "DPkg::Lock::Timeout=300"]
    _checked(
        [tool, *wait, "install", "-y", "-qq", *packages], f"apt-get install {' '.join(packages)}", environment=quiet
    )


def _python_peer(name: str) -> Callable[[Path], list[str]]:
    def prepare(build: Path) -> list[str]:
        requirements = HERE / name / "requirements.txt"
        python = build / "bin" / "python"
        mark = build / "installed"
        wanted = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()
        if not (python.exists() and mark.exists() and mark.read_text() == wanted):
            mark.unlink(missing_ok=True)
            try:
                venv.create(build, with_pip=True, clear=build.exists())
            except (OSError, subprocess.CalledProcessError) as failure:
                raise Unavailable(f"no virtual environment for {name}: {failure}") from failure
            install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            _checked([*install, "-r", str(requirements)], f"pip install of {name}")
            mark.write_text(wanted)
        return [str(python), str(HERE / name / "model.py")]

    return prepare


def _simgrid(build: Path) -> list[str]:
    compiler = _program("g++", "Debian package g++")
    build.mkdir(parents=True, exist_ok=True)
    program = build / "simgrid-bench"
    command = [compiler, "-std=c++17", "-O3", "-DNDEBUG", "-o", str(program), str(HERE / "simgrid" / "model.cpp")]
    try:
        _checked([*command, "-lsimgrid"], "g++ of the SimGrid model")
    except Unavailable as failure:
        if "simgrid" in str(failure) and "No such file" in str(failure):
            raise Unavailable("SimGrid is not on this machine (Debian package libsimgrid-dev)") from failure
        raise
    return [str(program)]


def _rust_peer(name: str) -> Callable[[Path], list[str]]:
    def prepare(build: Path) -> list[str]:
        cargo = _program("cargo", "https://rustup.rs")
        manifest = str(HERE / name / "Cargo.toml")
        command = [cargo, "build", "--release", "--locked", "--quiet", "--manifest-path", manifest]
        _checked([*command, "--target-dir", str(build)], f"cargo build of {name}")
        return [str(build / "release" / f"{name}-bench")]

    return prepare


def _cloudsimplus(build: Path) -> list[str]:
    java = _program("java", "Java 17 or later")
    maven = _program("mvn", "Apache Maven 3.6 or later")
    project = str(HERE / "cloudsimplus" / "pom.xml")
    _checked([maven, "-q", "-B", "-f", project, "package", f"-Dbench.output={build}"], "mvn package")
    return [java, "-XX:+UseSerialGC", "-cp", f"{build / 'classes'}:{build / 'lib'}/*", "Bench"]


PROXLB = Peer("proxlb", "proxlb-solver 0.1.1 (PyPI)", _python_peer("proxlb"), Sizes(0, 0), Sizes(0, 0))
"""The planner that places are compared with; it is in none of the other cases."""

PEERS = [
    Peer("simpy", "SimPy 4.1.2 (PyPI)", _python_peer("simpy"), Sizes(100_000, 2_000), Sizes(2_000, 20)),
    Peer("ciw", "Ciw 3.2.7 (PyPI)", _python_peer("ciw"), Sizes(50_000, 200), Sizes(2_000, 5)),
    Peer(
        "simgrid",
        "SimGrid, C++ (Debian libsimgrid-dev)",
        _simgrid,
        Sizes(1_000_000, 5_000),
        Sizes(2_000, 20),
        debian=("g++", "libsimgrid-dev"),
    ),
    Peer("cimba", "Cimba 0.9.5 (PyPI)", _python_peer("cimba"), Sizes(1_000_000, 20_000), Sizes(2_000, 20)),
    Peer("nexosim", "nexosim 1.0.0 (crates.io)", _rust_peer("nexosim"), Sizes(1_000_000, 10_000), Sizes(2_000, 20)),
    Peer("desru", "desru 0.1.13 (crates.io)", _rust_peer("desru"), Sizes(5_000_000, 50_000), Sizes(2_000, 20)),
    Peer("simrs", "simrs 0.2.0 (crates.io)", _rust_peer("simrs"), Sizes(5_000_000, 50_000), Sizes(2_000, 20)),
    Peer(
        "cloudsimplus",
        "CloudSim Plus 8.5.7 (Maven Central)",
        _cloudsimplus,
        Sizes(100_000, 20),
        Sizes(2_000, 1),
        debian=("default-jdk-headless", "maven"),
    ),
]
