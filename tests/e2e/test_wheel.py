"""The wheel alone, in a fresh environment, does what the guide says, and needs nothing of the checkout."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from email import message_from_string
from pathlib import Path

import pytest
from tests.conftest import ROOT, browser_core, lacks, needs

TOOLS = Path(sys.executable).parent

LARGEST_MB = 90
"""What the base install may take."""

LIBRARY = {
    f"hypertwin/library/{name}/{path.relative_to(ROOT / folder).as_posix()}"
    for name, folder in (
        ("examples", "scenarios"),
        ("studies", "studies"),
        ("presets", "python/hypertwin/library/presets"),
        ("published", "python/hypertwin/library/published"),
        ("moving", "python/hypertwin/library/moving"),
    )
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".csv", ".fio", ".ini", ".md", ".xlsx", ".yaml")
} | {"hypertwin/library/licences.yaml"}
"""What must be in the package beside its modules."""

GUARD = """
import os, sys
def guard(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and os.path.realpath(arguments[0]).startswith({root!r}):
        raise RuntimeError("reached into the checkout: " + arguments[0])
sys.addaudithook(guard)
"""
"""A `sitecustomize` that lets nothing open a file of the checkout."""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def made(command: list[object], **options: object) -> subprocess.CompletedProcess[str]:
    """Run a tool of this environment, which must succeed."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stderr
    return done


def wheel_in(folder: Path) -> Path:
    """The wheel of this tree, from the core that is built already: with other flags it would be built anew."""
    needs(TOOLS / "maturin")
    environment = {"PYO3_PYTHON": sys.executable, **os.environ}
    made([TOOLS / "maturin", "build", "--release", "--locked", "--out", folder], cwd=ROOT, env=environment)
    (wheel,) = folder.glob("*.whl")
    return wheel


def installed(wheel: Path, home: Path) -> Path:
    """A fresh environment with the wheel and its base dependencies, in the versions that are locked."""
    needs(TOOLS / "uv")
    locked = ["export", "--quiet", "--frozen", "--no-dev", "--no-emit-project", "--no-hashes", "--all-extras"]
    made([TOOLS / "uv", *locked, "--output-file", home / "locked.txt"], cwd=ROOT)
    made([TOOLS / "uv", "venv", "--quiet", "--no-project", "--python", sys.executable, home / "env"], cwd=home)
    python = home / "env" / "bin" / "python"
    pip = [TOOLS / "uv", "pip", "install", "--quiet", "--python", python, "--constraints", home / "locked.txt", wheel]
    done = subprocess.run(list(map(str, pip)), cwd=home, capture_output=True, text=True, check=False)
    if "error sending request" in done.stderr or "Failed to fetch" in done.stderr:
        lacks("a package index")
    assert done.returncode == 0, done.stderr
    return python


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a command of the fresh environment in an empty folder."""
    work = tmp_path / "work"
    work.mkdir()
    environment = {"PATH": f"{tmp_path}/env/bin:/usr/bin:/bin", "HOME": str(work), "LANG": "C.UTF-8"}

    def run(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        command = list(map(str, arguments))
        done = subprocess.run(
            command, cwd=work, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == code, (command, done.stdout[-500:], done.stderr[-2000:])
        return done

    return run


def cpu_s(run: Run, *arguments: object) -> float:
    """CPU seconds of a command: that of a second run; the first writes byte code."""

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(*arguments)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    once()
    return once()


def check_files(wheel: Path) -> None:
    """The wheel has one core for every Python, what comes with the package, and no file that was made by a run."""
    assert "-cp311-abi3-" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
        (metadata,) = [name for name in names if name.endswith("dist-info/METADATA")]
        text = archive.read(metadata).decode()
    assert {name for name in names if name.startswith("hypertwin/library/")} - LIBRARY == {
        "hypertwin/library/__init__.py"
    }
    assert names >= LIBRARY | {"hypertwin/py.typed", "hypertwin/show/page.js", "hypertwin/show/page.css"}
    browser_core()
    assert "hypertwin/show/core.wasm" in names
    assert names >= {"hypertwin/serve/app.js", "hypertwin/serve/app.css"}
    assert not [name for name in names if re.search(r"__pycache__|\.html$|tests/", name)]
    fields = message_from_string(text)
    assert fields["Name"] == "hypertwin"
    assert fields["Requires-Python"] == ">=3.11"
    assert fields["License-Expression"] == "Apache-2.0"
    assert {url.partition(",")[0] for url in fields.get_all("Project-URL", [])} == {
        "Documentation",
        "Changelog",
        "Source",
        "Issues",
    }
    assert fields.get_payload().startswith("# hypertwin")


@pytest.mark.slow
def test_the_wheel_alone_does_what_the_guide_says(run, tmp_path, record_property):
    wheel = wheel_in(tmp_path / "dist")
    check_files(wheel)
    python = installed(wheel, tmp_path)
    (packages,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    size_mb = sum(path.stat().st_size for path in packages.rglob("*") if path.is_file()) / 1e6
    times = {name: cpu_s(run, "hypertwin", *name.split()) for name in STARTS}
    started = ", ".join(f"{name.split()[0]} {seconds:.2f} s" for name, seconds in times.items())
    record_property("wheel", f"{wheel.stat().st_size / 1e6:.1f} MB; installed {size_mb:.0f} MB; CPU: {started}")

    assert size_mb <= LARGEST_MB
    (packages / "sitecustomize.py").write_text(GUARD.format(root=f"{ROOT}/"))
    reached = run(python, "-c", f"open({str(ROOT / 'README.md')!r})", code=1)
    assert "reached into the checkout" in reached.stderr
    work = tmp_path / "work"
    shutil.copy(ROOT / "tests" / "data" / "rvtools" / "rvtools_example1.xlsx", work / "export.xlsx")
    for command, said in STEPS.items():
        done = run("hypertwin", *command.split())
        assert re.search(said, done.stdout + done.stderr), (command, done.stdout[-500:], done.stderr[-500:])
    assert (work / "report.html").stat().st_size > 10_000
    lacks_extra = run("hypertwin", "simulate", "scenario.yaml", "--out", "result.parquet", code=2)
    assert "pip install 'hypertwin[telemetry]'" in lacks_extra.stderr
    studies = ", ".join(sorted(path.parent.name for path in (ROOT / "studies").glob("*/study.yaml")))
    assert studies in run("hypertwin", "validate", "none-such", code=2).stderr
    all_of_them = "from hypertwin.studies.study import chosen; print(*(study.name for study in chosen([])), sep=', ')"
    assert run(python, "-c", all_of_them).stdout.strip() == studies


VNUMA = "vnuma --hypervisor esxi-6.5 --sockets 2 --cores 12 --vcpus 24 --cores-per-socket 8"
STARTS = ("--version", VNUMA)
STEPS = {
    "examples": "small-esxi",
    "examples san-fio -o san-fio.yaml": "wrote random.fio",
    "simulate san-fio.yaml": "limits I/O",
    "init": "wrote scenario.yaml",
    "simulate scenario.yaml --report report.html": "wrote report.html",
    "init kvm.yaml --hypervisor kvm --storage pool": "wrote kvm.yaml",
    "simulate kvm.yaml --duration 2s --warmup 1s --format csv": "db",
    "density scenario.yaml --vm web --slo response_ms.p95<100 --max 2 --duration 2s --replications 2": "2 VMs of web",
    "validate cpu-limit-example zswap-kernel-build --report validation.html": r"wrote validation\.html",
    "import export.xlsx -o cluster.yaml": "wrote cluster.yaml",
    "simulate cluster.yaml --duration 2s --warmup 1s --replications 1": "vm-9",
    VNUMA: "8 [+] 8 [+] 8",
    "size --host 2x12 --vcpus 24 --memory 96GiB": "2 sockets",
    "durability --scheme 3:2": "replicas-3:2",
    "schema": '"title"',
}
"""Commands in their order, and what each must say."""


def test_the_source_distribution_has_what_a_build_needs(tmp_path):
    needs(TOOLS / "maturin")
    made([TOOLS / "maturin", "sdist", "--out", tmp_path], cwd=ROOT)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = {member.name.partition("/")[2] for member in file.getmembers()}
        assert all(member.isfile() for member in file.getmembers())
    sources = [path for top in ("crates", "python", "web/src") for path in (ROOT / top).rglob("*") if path.is_file()]
    # pages that simulate need a wheel: a build from this archive has no target for them
    sources = [path for path in sources if not path.is_relative_to(ROOT / "crates" / "browser")]
    kept = [path for path in sources if path.suffix not in (".so", ".pyc", ".wasm")]
    needed = {path.relative_to(ROOT).as_posix() for path in kept} | {f"python/{name}" for name in LIBRARY}
    needed |= {"Cargo.toml", "Cargo.lock", "pyproject.toml", "README.md", "LICENSE", "web/package-lock.json"}
    assert not needed - names
    assert not [name for name in names if name.startswith(("tests/", "web/node_modules", "target"))]
