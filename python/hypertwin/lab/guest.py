"""Small Linux guest from packaged parts: the kernel of the distribution, and a static busybox with one shell script.

No part is downloaded or compiled by this module. `scripts/install_test_tools .venv/guest` installs the parts on Debian.

Shell built-ins need neither a compiler nor a process per burst. The control channel is a socket pair, and the guest
ends with its parent process, so no guest outlives the command. Emulated guests use the HPET as their clock: a kernel
that is descheduled while it measures its time-stamp counter gets a wrong frequency.
"""

from __future__ import annotations

import math
import os
import platform
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from hypertwin.errors import HypertwinError

_PT_INTERP = 3

TABLE_ROWS = 32
"""Number of transactions after which a session repeats, so low that a short measurement covers the distribution."""

INSTALL = "on Debian as root: scripts/install_test_tools .venv/guest, or apt install qemu-system-x86 busybox-static"


class GuestPartMissingError(HypertwinError):
    """Raised if a program or file needed for a guest is missing on this machine, or unreadable."""

    code = "guest-part-missing"


class NotAKernelError(HypertwinError):
    """Raised if the named file is not a readable kernel."""

    code = "not-a-kernel"


@dataclass(frozen=True)
class Session:
    """Cycle of one session of a guest: think, then compute."""

    think_ms: tuple[int, ...]
    """Think time before each burst, in whole milliseconds, because the shell cannot wait for less."""
    burst_share: tuple[int, ...]
    """Size of each burst, in thousandths of the mean burst."""

    def work(self, first: int, last: int) -> float:
        """Return the work of transactions `first` to `last` (exclusive), in mean bursts."""
        return sum(self.burst_share[row % len(self.burst_share)] for row in range(first, last)) / 1000

    def table(self) -> str:
        """Return the rows that the guest's script reads: seconds, microseconds, thousandths."""
        rows = zip(self.think_ms, self.burst_share, strict=True)
        return "".join(f"{think / 1000:.3f} {think * 1000} {share}\n" for think, share in rows)


def session(think_ms: float, seed: str) -> Session:
    """Return a session with exponential think times and bursts: quantiles in a random order, which `seed` determines.

    Quantiles instead of random draws give every session the same means, so that a short measurement is not random.
    """
    stream = random.Random(seed)
    quantiles = [-math.log1p(-(row + 0.5) / TABLE_ROWS) for row in range(TABLE_ROWS)]
    scale = TABLE_ROWS / math.fsum(quantiles)
    thinks = [max(1, round(think_ms * scale * each)) for each in quantiles]
    bursts = [max(1, round(1000 * scale * each)) for each in quantiles]
    stream.shuffle(thinks)
    stream.shuffle(bursts)
    return Session(tuple(thinks), tuple(bursts))


def variation(values: Sequence[int]) -> float:
    """Return the coefficient of variation: standard deviation over mean."""
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values)) / mean


def initramfs(busybox: Path, init: str, file: Path, tables: Mapping[str, str] | None = None) -> None:
    """Write an initial file system of `busybox`, `init` (a script) and `tables` (text by name) to `file`."""
    with tempfile.TemporaryDirectory(prefix="hypertwin-initramfs-") as folder:
        root = Path(folder)
        for name in ("bin", "dev", "proc", "sys", "tables"):
            (root / name).mkdir()
        shutil.copyfile(busybox, root / "bin" / "busybox")
        (root / "init").write_text(init, encoding="utf-8")
        for program in (root / "bin" / "busybox", root / "init"):
            program.chmod(0o755)
        for name, text in (tables or {}).items():
            (root / "tables" / name).write_text(text, encoding="ascii")
        names = "".join(f"{path.relative_to(root)}\n" for path in sorted(root.rglob("*")))
        packed = subprocess.run(
            [busybox, "cpio", "-o", "-H", "newc"], cwd=root, input=names.encode(), capture_output=True, check=False
        )
        if packed.returncode or not packed.stdout:
            raise GuestPartMissingError(
                f"{busybox} cannot pack an initramfs: {packed.stderr.decode(errors='replace').strip()}\n"
                f"  help: a static busybox with cpio; {INSTALL}"
            )
        file.write_bytes(packed.stdout)


def load_script() -> str:
    """Return the script that a guest runs under load."""
    return resources.files("hypertwin.lab").joinpath("guest_init.sh").read_text(encoding="utf-8")


def qemu() -> Path:
    """Return QEMU program for guests on this machine. Raises GuestPartMissingError."""
    return _program("qemu-system-x86_64", "QEMU")


def busybox() -> Path:
    """Return a static busybox.

    Raises GuestPartMissingError if there is no static busybox, or if it needs libraries that a guest lacks.
    """
    path = _program("busybox", "busybox")
    if _is_dynamic(path.read_bytes()):
        raise GuestPartMissingError(f"{path} needs shared libraries, a guest has none\n  help: {INSTALL}")
    return path


def kernel(named: Path | None = None) -> Path:
    """Return the kernel to boot: `named`, or that of scripts/install_test_tools, or the newest under /boot.

    Raises NotAKernelError for a named file, GuestPartMissingError if no readable kernel exists.
    """
    if named is not None:
        if not named.is_file() or not os.access(named, os.R_OK):
            what = "no permission to read it" if named.is_file() else "there is no such file"
            raise NotAKernelError(f"--kernel {named}: {what}\n  help: a bzImage such as /boot/vmlinuz-{_release()}")
        if not _is_kernel(named):
            raise NotAKernelError(f"--kernel {named}: not a Linux kernel for x86 (bzImage)\n  help: /boot/vmlinuz-*")
        return named
    places = [Path(sys.prefix) / "guest" / "vmlinuz", Path("/boot") / f"vmlinuz-{_release()}"]
    places += sorted(Path("/boot").glob("vmlinuz-*"), reverse=True)
    found = [place for place in places if place.is_file()]
    for place in found:
        if os.access(place, os.R_OK) and _is_kernel(place):
            return place
    reason = f"{found[0]} cannot be read by this user" if found else f"looked for {places[0]} and /boot/vmlinuz-*"
    raise GuestPartMissingError(
        f"no kernel for the guests: {reason}\n  help: name one with --kernel FILE; on Debian as root: "
        "scripts/install_test_tools .venv/guest"
    )


def _program(name: str, what: str) -> Path:
    path = shutil.which(name)
    if path is None:
        raise GuestPartMissingError(f"{what} ({name}) is not installed\n  help: {INSTALL}")
    return Path(path)


def _is_dynamic(program: bytes) -> bool:
    """True if a 64-bit ELF program needs a dynamic loader: a header of type PT_INTERP (elf(5))."""
    if program[:5] != b"\x7fELF\x02":
        return False
    (start,), (size, count) = struct.unpack_from("<Q", program, 32), struct.unpack_from("<HH", program, 54)
    return any(struct.unpack_from("<I", program, start + index * size)[0] == _PT_INTERP for index in range(count))


def _is_kernel(path: Path) -> bool:
    """True if a file has the magic number of a bzImage (Linux, Documentation/arch/x86/boot.rst: `HdrS` at 0x202)."""
    with path.open("rb") as file:
        return file.read(0x206)[0x202:] == b"HdrS"


def _release() -> str:
    return platform.release()
