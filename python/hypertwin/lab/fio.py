"""fio on this machine: loads on a file that the lab creates and removes, never on a device.

All I/O is direct. The file is written once before any measurement, so that no load reads unwritten blocks.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypertwin.errors import HypertwinError, short

RAMP_S = 0.25
"""Maximum seconds of each run before fio counts."""
FREE_SHARE = 0.5
"""Maximum share of a folder's free space for the file."""


class FioMissingError(HypertwinError):
    """Raised if fio is not on this machine."""

    code = "fio-missing"


class FioError(HypertwinError):
    """Raised if fio could not run a load."""

    code = "fio-failed"


@dataclass(frozen=True)
class Load:
    """I/O load of the disk."""

    read_pct: int
    random: bool
    block_bytes: int
    depth: int
    synchronous: bool = False
    """Writes are acknowledged from stable media (O_DSYNC)."""

    @property
    def name(self) -> str:
        """`read-100-random-4k-depth-16`."""
        order = "random" if self.random else "sequential"
        sync = "-synchronous" if self.synchronous else ""
        return f"read-{self.read_pct}-{order}-{self.block_bytes >> 10}k-depth-{self.depth}{sync}"

    @property
    def options(self) -> list[str]:
        """The load as fio options."""
        kind = {100: "read", 0: "write"}.get(self.read_pct, "rw")
        told = [f"--name={self.name}", f"--rw={'rand' if self.random else ''}{kind}", f"--bs={self.block_bytes}"]
        told += [f"--iodepth={self.depth}", "--ioengine=libaio", "--direct=1", "--norandommap"]
        told += [f"--rwmixread={self.read_pct}"] if kind == "rw" else []
        return told + (["--sync=dsync"] if self.synchronous else [])


class Fio:
    """Program fio with its test file."""

    def __init__(self, program: str, file: Path, size_bytes: int) -> None:
        """Use `program` on `file`, which is of the given size."""
        self.program, self.file, self.size_bytes = program, file, size_bytes
        self.version = self._run(["--version"]).strip()

    def prepare(self) -> None:
        """Write the file, with incompressible data. Raises FioError."""
        load = ["--name=prepare", "--rw=write", "--bs=1m", "--iodepth=8", "--ioengine=libaio", "--direct=1"]
        self._run([*self._place(), *load, "--refill_buffers", "--end_fsync=1", "--output-format=json"])

    def measure(self, load: Load, seconds: float) -> dict[str, Any]:
        """Return the report of fio on a load. Raises FioError."""
        ramp_ms, run_ms = round(1000 * min(RAMP_S, seconds)), round(1000 * seconds)
        times = ["--time_based", f"--runtime={run_ms}ms", f"--ramp_time={ramp_ms}ms", "--randrepeat=0"]
        printed = self._run([*self._place(), *load.options, *times, "--disk_util=0", "--output-format=json"])
        start = printed.find("{")
        try:
            report: dict[str, Any] = json.loads(printed[max(start, 0) :])
            job: Mapping[str, Any] = report["jobs"][0]
            done = job["read"]["iops"] + job["write"]["iops"]
        except (ValueError, LookupError, TypeError) as error:
            raise FioError(f"fio's report of {load.name} cannot be read: {short(str(error))}") from None
        if job.get("error") or not done > 0:
            raise FioError(f"fio did no I/O for {load.name}, error {job.get('error', 0)}")
        return report

    def _place(self) -> list[str]:
        return [f"--filename={self.file}", f"--size={self.size_bytes}"]

    def _run(self, arguments: list[str]) -> str:
        try:
            ended = subprocess.run([self.program, *arguments], capture_output=True, text=True, check=False)
        except OSError as error:
            raise FioError(f"{self.program} could not be run: {error.strerror}") from None
        if ended.returncode:
            said = short((ended.stderr or ended.stdout).strip()[-300:])
            raise FioError(f"fio failed: {said}\n  help: is {self.file.parent} on a disk? direct I/O needs one")
        return ended.stdout


@contextlib.contextmanager
def on(folder: Path, size_bytes: int) -> Iterator[Fio]:
    """fio with a file in a folder. The file is removed at the end. Raises FioMissingError, FioError."""
    program = shutil.which("fio")
    if program is None:
        raise FioMissingError("fio is not on this machine\n  help: apt install fio, dnf install fio or the like")
    try:
        free = shutil.disk_usage(folder).free
        if size_bytes > FREE_SHARE * free:
            raise FioError(
                f"a file of {size_bytes >> 20} MiB is too large for {folder}, where {free >> 20} MiB are free\n"
                f"  help: at most {int(FREE_SHARE * free) >> 20} MiB with --size, or another --dir"
            )
        with tempfile.TemporaryDirectory(prefix="hypertwin-lab-", dir=folder) as place:
            yield Fio(program, Path(place, "file"), size_bytes)
    except OSError as error:
        raise FioError(f"cannot write to {folder}: {error.strerror}") from None
