"""Shell text on a target: on this computer, or by the user's own ssh.

ssh reads the user's configuration, keys and known hosts; nothing of it is bypassed, and it never asks for a password.
Text comes by stdin, so that no file transfer is needed and no secret is on a command line. Output and time are limited.
"""

from __future__ import annotations

import contextlib
import shlex
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hypertwin.benchmark.target import LOCAL, Target
from hypertwin.errors import HypertwinError, printable, short

CONNECT_S = 10
MAX_BYTES = 64 * 2**20
"""Maximum length of the output of a command."""
MAX_ERROR = 64 * 2**10
MAX_PLACE = 30
"""Maximum length of the folder for temporary files: a socket's path has 104 bytes or more, of which ssh uses 70."""
LIBVIRT = "libvirt:"
ENDED_S = 5.0
"""Time for the rest of the output after the end of a command."""
BEHIND_S = 15.0
"""Time beyond the limit on the target, after which the local side ends a command."""


class TargetError(HypertwinError):
    """Raised if a target does not answer, answers as another one, or a command fails there."""

    code = "target-failed"


@dataclass(frozen=True)
class Done:
    """Finished command."""

    code: int
    out: bytes
    err: str
    began: float
    """Local time in seconds since 1970."""
    ended: float

    @property
    def reason(self) -> str:
        """Last lines of the messages, for an error."""
        lines = [line for line in self.err.splitlines() if line.strip()] or [f"exit code {self.code}"]
        return printable(short("; ".join(lines[-3:]), 300))


@dataclass
class Shells:
    """Connections of a campaign. A connection is opened once for each target and shared by all commands."""

    folder: Path
    """Folder with relative files of the plan."""
    _sockets: Path | None = None
    _running: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _addresses: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def opened(self) -> Iterator[Shells]:
        """Keep shared connections during the block, and end all commands at its end."""
        usual = tempfile.gettempdir()
        with tempfile.TemporaryDirectory(prefix="htb-", dir=usual if len(usual) <= MAX_PLACE else "/tmp") as sockets:
            self._sockets = Path(sockets)
            try:
                yield self
            finally:
                self.kill()
                for each in sorted(Path(sockets).iterdir()):
                    subprocess.run(
                        ["ssh", "-o", f"ControlPath={each}", "-O", "exit", "-"], capture_output=True, check=False
                    )
                self._sockets = None

    def run(
        self,
        target: Target,
        text: str,
        limit_s: float,
        secrets: Mapping[str, str] | None = None,
        *,
        most: int = MAX_BYTES,
    ) -> Done:
        """Run shell text on a target. Raises TargetError if it cannot be run, or exceeds time or output."""
        for name, value in (secrets or {}).items():
            text = f"{name}={shlex.quote(value)}\n{text}"
        began = time.time()
        with self._started(target, subprocess.PIPE) as process:
            out, err = _communicate(process, text.encode("utf-8", "surrogateescape"), limit_s + BEHIND_S, most, target)
        done = Done(process.returncode, out, err.decode("utf-8", "replace"), began, time.time())
        if done.code == 255 and target.address != LOCAL:
            raise TargetError(
                f"{target.name}: no connection to {target.address}: {done.reason}\n  help: {_hint(target)}"
            )
        return done

    @contextlib.contextmanager
    def _started(self, target: Target, stderr: int) -> Iterator[subprocess.Popen[bytes]]:
        """The process that takes shell text for a target, which `kill` ends. Raises TargetError."""
        words = self.words(target)
        try:
            process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, start_new_session=True
            )
        except OSError as error:
            raise TargetError(f"{target.name}: {words[0]} cannot be run: {error.strerror}") from None
        with self._lock:
            self._running.add(process)
        try:
            yield process
        finally:
            with self._lock:
                self._running.discard(process)

    def asked(self, target: Target, text: str, count: int, limit_s: float) -> list[tuple[float, str, float]]:
        """Return answers of shell text to single lines, each between the local times of question and answer.

        The text prints a line before it reads the first. One connection serves all questions, so that no time for its
        start is in them. Raises TargetError.
        """
        found = []
        with self._started(target, subprocess.DEVNULL) as process:
            assert process.stdin is not None and process.stdout is not None
            timer = threading.Timer(limit_s, process.kill)
            timer.start()
            try:
                process.stdin.write(text.encode())
                process.stdin.flush()
                process.stdout.readline(4096)  # the shell has read all of its text: what comes now is for the text
                for _ in range(count):
                    began = time.time()
                    process.stdin.write(b"\n")
                    process.stdin.flush()
                    line = process.stdout.readline(4096)
                    found.append((began, line.decode("ascii", "replace").strip(), time.time()))
            except OSError:
                raise TargetError(f"{target.name}: the connection ended") from None
            finally:
                timer.cancel()
                process.kill()
                process.wait()
                with contextlib.suppress(OSError):
                    process.stdin.close()
                process.stdout.close()
        return found

    def kill(self) -> None:
        """End the local side of all commands."""
        with self._lock:
            running = list(self._running)
        for process in running:
            with contextlib.suppress(OSError):
                process.kill()

    def words(self, target: Target) -> list[str]:
        """Return the command line that takes shell text for a target by stdin."""
        if target.address == LOCAL:
            return ["sh", "-s"]
        found = ["ssh", "-T", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S}"]
        found += ["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"]
        if self._sockets is not None:
            path = f"ControlPath={self._sockets}/%C"
            found += ["-o", "ControlMaster=auto", "-o", path, "-o", "ControlPersist=60"]
        if target.config is not None:
            found += ["-F", str(self.folder / target.config)]
        found += [] if target.port is None else ["-p", str(target.port)]
        return [*found, "--", self._address(target), "sh -s"]

    def _address(self, target: Target) -> str:
        """Return the address for ssh. The address of a domain of libvirt is asked once."""
        if not target.address.startswith(LIBVIRT):
            return target.address
        if target.name not in self._addresses:
            self._addresses[target.name] = _of_libvirt(target)
        return self._addresses[target.name]


def _of_libvirt(target: Target) -> str:
    """Return the first address of a domain, from its agent or from DHCP leases."""
    domain = target.address.removeprefix(LIBVIRT)
    if shutil.which("virsh") is None:
        raise TargetError(f"{target.name}: virsh is not on this computer\n  help: give an address for ssh instead")
    for source in ("agent", "lease", "arp"):
        asked = ["virsh", "-q", "domifaddr", domain, "--source", source]
        told = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=CONNECT_S)
        for line in told.stdout.splitlines():
            words = line.split()
            if len(words) == 4 and words[2] in ("ipv4", "ipv6") and not words[3].startswith(("127.", "::1", "fe80")):
                return words[3].partition("/")[0]
    raise TargetError(f"{target.name}: libvirt knows no address of {domain}\n  help: is it running, with an agent?")


def _communicate(
    process: subprocess.Popen[bytes], text: bytes, limit_s: float, most: int, target: Target
) -> tuple[bytes, bytes]:
    """Feed a process, and return its output. Raises TargetError beyond the limits."""
    found: dict[str, bytearray] = {"out": bytearray(), "err": bytearray()}
    over = threading.Event()

    def read(name: str, stream: object, limit: int) -> None:
        own = found[name]
        while chunk := stream.read1(65536):  # type: ignore[attr-defined]
            if len(own) + len(chunk) > limit:
                if name == "out":
                    over.set()
                    process.kill()
                continue
            own.extend(chunk)

    def write() -> None:
        with contextlib.suppress(OSError):
            assert process.stdin is not None
            process.stdin.write(text)
            process.stdin.close()

    workers = [
        threading.Thread(target=write, daemon=True),
        threading.Thread(target=read, args=("out", process.stdout, most), daemon=True),
        threading.Thread(target=read, args=("err", process.stderr, MAX_ERROR), daemon=True),
    ]
    for worker in workers:
        worker.start()
    try:
        process.wait(limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise TargetError(f"{target.name}: no answer within {limit_s:.0f} s") from None
    finally:
        for worker, stream in zip(workers, (process.stdin, process.stdout, process.stderr), strict=True):
            worker.join(ENDED_S)
            if stream is not None and not worker.is_alive():  # a process that is left holds the other end
                with contextlib.suppress(OSError):
                    stream.close()
    if over.is_set():
        raise TargetError(f"{target.name}: a command printed more than {most >> 20} MiB")
    return bytes(found["out"]), bytes(found["err"])


def _hint(target: Target) -> str:
    address = shlex.quote(target.address)
    return f"`ssh {address} true` must work without a question; a changed host key is never accepted here"
