"""Guests in QEMU: start them, talk to them, read the scheduler's account of their vCPUs, and always stop them.

QMP (`query-cpus-fast`) tells which threads are vCPUs. The kernel reports their run time and wait time in
/proc/PID/task/TID/schedstat (Documentation/scheduler/sched-stats.rst).
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from hypertwin.errors import HypertwinError
from hypertwin.ingest.kvm.linux_host import written

KVM = Path("/dev/kvm")

MACHINE = "-nodefaults -no-user-config -display none -serial stdio -no-reboot"
CMDLINE = (
    "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check tsc=reliable nowatchdog lpj=4000000 cryptomgr.notests"
)
"""Kernel options that skip slow parts of the boot. no_timer_check and lpj avoid checks that fail on a slow emulator."""

ACCELERATORS = {"kvm": ("kvm", "host", ""), "tcg": ("tcg,thread=multi", "qemu64", "clocksource=hpet")}
"""Name of each accelerator in QEMU, with a CPU model, and additional options for the kernel of the guest.

A kernel that loses its CPU while it measures the frequency of its time-stamp counter gets a wrong frequency. Its clock
then runs several times too fast. KVM reports the frequency to a guest. An emulated guest gets a timer of known
frequency.
"""

TOLD = {"kvm": "KVM (hardware virtualisation)", "tcg": "TCG (software emulation)"}

KVM_BOOT_S = 8.0
"""Maximum time in seconds for a guest to boot with KVM."""
SETTLE_S = 3.0
"""Maximum time in seconds for QEMU to open its control socket, and to end on request."""


class GuestError(HypertwinError):
    """Raised if a guest did not start, or stopped responding."""

    code = "guest-failed"


class NoPermissionError(HypertwinError):
    """Raised if the system refuses an operation that the measurement needs."""

    code = "no-permission"


@dataclass(frozen=True)
class Account:
    """Scheduler statistics of a thread since its start, in nanoseconds."""

    run_ns: int
    wait_ns: int
    """Time ready to run, without a CPU."""
    slices: int
    """Number of times that the thread got a CPU."""

    def since(self, earlier: Account) -> Account:
        """Return the difference to the account `earlier`."""
        return Account(self.run_ns - earlier.run_ns, self.wait_ns - earlier.wait_ns, self.slices - earlier.slices)


@dataclass(frozen=True)
class Line:
    """Line that a guest wrote on its console."""

    host_ns: int
    """Time of arrival, by the host's monotonic clock."""
    words: tuple[str, ...]
    accounts: tuple[Account, ...]
    """Account of each vCPU at that time. Empty before the vCPUs are known."""


@dataclass(frozen=True)
class Settings:
    """Settings shared by all guests of a measurement."""

    qemu: Path
    kernel: Path
    initramfs: Path
    accelerator: str
    """Accelerator, a key of ACCELERATORS."""
    vcpus: int
    memory_mib: int
    nice: int
    """Priority of the vCPU threads if the system permits it, so that other work disturbs less."""


@dataclass
class Guest:
    """Running guest."""

    number: int
    process: subprocess.Popen[bytes]
    qmp: io.BufferedRWPair
    """Control channel (QEMU Machine Protocol)."""
    folder: Path
    threads: tuple[int, ...] = ()
    """Thread of each vCPU."""
    lines: list[Line] = field(default_factory=list)
    """All console lines of the guest, oldest first. The list only grows, so it can be read while the guest writes."""
    _arrived: threading.Condition = field(default_factory=threading.Condition)

    @property
    def name(self) -> str:
        """`guest-1`, `guest-2`, ..."""
        return f"guest-{self.number}"

    def listen(self) -> None:
        """Read the console until the guest ends. The method runs in its own thread."""
        console = self.process.stdout
        assert console is not None  # opened as a pipe
        for raw in console:
            try:
                line = Line(time.monotonic_ns(), tuple(raw.decode(errors="replace").split()), self.accounts())
            except OSError:  # the threads ended between the line and the question
                break
            with self._arrived:
                self.lines.append(line)
                self._arrived.notify_all()
        with self._arrived:
            self._arrived.notify_all()

    def say(self, command: str) -> None:
        """Write a line on the guest's console."""
        console = self.process.stdin
        assert console is not None  # opened as a pipe
        try:
            console.write(command.encode() + b"\n")
            console.flush()
        except OSError as error:
            raise self._failed("ended") from error

    def wait_for(self, word: str, timeout_s: float, first: int = 0) -> Line:
        """Return the first line from number `first` on that begins with `word`. Raises GuestError on timeout."""
        until = time.monotonic() + timeout_s
        with self._arrived:
            while True:
                for line in self.lines[first:]:
                    if line.words[:1] == (word,):
                        return line
                first = len(self.lines)
                left = until - time.monotonic()
                if self.process.poll() is not None:
                    raise self._failed("ended")
                if left <= 0:
                    raise self._failed(f"did not say {word} within {timeout_s:g} s")
                self._arrived.wait(min(left, 0.5))

    def accounts(self) -> tuple[Account, ...]:
        """Return the scheduler's account of each vCPU."""
        return tuple(account(self.process.pid, thread) for thread in self.threads)

    def ask(self, command: str) -> Any:
        """Send QEMU a command over QMP and return its response."""
        try:
            self.qmp.write(json.dumps({"execute": command}).encode() + b"\n")
            self.qmp.flush()
            for raw in self.qmp:  # events come in between
                answer = json.loads(raw)
                if "return" in answer:
                    return answer["return"]
                if "error" in answer:
                    raise self._failed(f"refused {command}: {answer['error'].get('desc')}")
        except OSError as error:
            raise self._failed("ended" if self._ended() else f"did not answer {command}") from error
        raise self._failed("ended")

    def connect(self) -> None:
        """Find the threads of vCPUs."""
        try:
            self.qmp.readline()  # the greeting
            self.ask("qmp_capabilities")
            self.threads = tuple(int(cpu["thread-id"]) for cpu in self.ask("query-cpus-fast"))
        except (OSError, ValueError) as error:
            raise self._failed("did not start") from error

    def end(self) -> None:
        """Kill the guest in any state."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.qmp, self.process.stdin):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()

    def _ended(self) -> bool:
        """True if QEMU has ended, or ends within half a second."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(0.5)
        return self.process.poll() is not None

    def complaint(self) -> str:
        """Return the last output of QEMU on stderr."""
        with contextlib.suppress(OSError):
            text = (self.folder / f"stderr-{self.number}").read_text(errors="replace").strip()
            return text.splitlines()[0] if text else ""
        return ""

    def _failed(self, what: str) -> GuestError:
        complaint = self.complaint()
        said = " ".join(self.lines[-1].words) if self.lines else ""
        more = f": {complaint}" if complaint else f"; its last line: {said}" if said else ""
        return GuestError(f"{self.name} {what}{more}")


def account(process: int, thread: int) -> Account:
    """Return the scheduler's account of a thread."""
    text = Path(f"/proc/{process}/task/{thread}/schedstat").read_text(encoding="ascii")
    run, wait, slices = text.split()
    return Account(int(run), int(wait), int(slices))


@contextlib.contextmanager
def guests(settings: Settings, count: int, cpus: Collection[int], folder: Path) -> Iterator[list[Guest]]:
    """Start guests with vCPU threads pinned to `cpus`. All guests end with the block.

    The guests boot concurrently, so wait for their `READY`. Use the function inside `ended_by_signals`.

    Raises GuestError, NoPermissionError.
    """
    started: list[Guest] = []
    listeners: list[threading.Thread] = []
    try:
        for number in range(1, count + 1):
            guest = _start(settings, number, folder)
            started.append(guest)
            guest.connect()
            _place(guest, settings, cpus)
            listeners.append(threading.Thread(target=guest.listen, name=guest.name, daemon=True))
            listeners[-1].start()
            guest.ask("cont")
        yield started
    finally:
        for guest in started:
            guest.end()
        for listener in listeners:
            listener.join(SETTLE_S)
        for guest in started:
            if guest.process.stdout is not None:
                guest.process.stdout.close()


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP in the block like a keyboard interrupt, so that the processes of the block end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _start(settings: Settings, number: int, folder: Path) -> Guest:
    accelerator, model, words = ACCELERATORS[settings.accelerator]
    command: list[str | Path] = [settings.qemu, *MACHINE.split(), "-S", "-name", f"guest-{number}"]
    command += ["-accel", accelerator, "-cpu", model, "-smp", str(settings.vcpus), "-m", str(settings.memory_mib)]
    command += ["-kernel", settings.kernel, "-initrd", settings.initramfs, "-append"]
    command.append(f"{CMDLINE} {words} guest={number}")
    ours, theirs = socket.socketpair()
    ours.settimeout(10 * SETTLE_S)
    command += ["-chardev", f"socket,id=control,fd={theirs.fileno()}", "-mon", "chardev=control,mode=control"]
    keeper = shutil.which("setpriv")
    if keeper:  # the kernel kills the guest if this process is killed without a chance to do so
        command = [keeper, "--pdeathsig", "KILL", *command]
    with ours, theirs, (folder / f"stderr-{number}").open("wb") as complaints:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            pass_fds=[theirs.fileno()],
            # a session of its own: a scheduling group of its own where the kernel has autogroups, like libvirt's
            start_new_session=True,
        )
        return Guest(number, process, ours.makefile("rwb"), folder)  # the file keeps the socket open


def _place(guest: Guest, settings: Settings, cpus: Collection[int]) -> None:
    """Pin the vCPU threads, and raise their priority if permitted."""
    try:
        for thread in guest.threads:
            os.sched_setaffinity(thread, cpus)
        guest.accounts()
    except OSError as error:
        raise NoPermissionError(
            f"cannot pin the vCPUs of {guest.name} to CPU {written(cpus)} and read their schedstat: {error.strerror}\n"
            "  help: run as root or as the user who starts QEMU, on CPUs that this process may use; the kernel needs "
            "CONFIG_SCHED_INFO"
        ) from error
    with contextlib.suppress(OSError):
        # in an autogroup the group's priority is what counts against others (sched(7))
        Path(f"/proc/{guest.process.pid}/autogroup").write_text(str(settings.nice), encoding="ascii")
    with contextlib.suppress(OSError):
        for thread in guest.threads:
            os.setpriority(os.PRIO_PROCESS, thread, settings.nice)


def kvm_trouble(settings: Settings, cpus: Sequence[int], folder: Path) -> str:
    """Return the reason why KVM cannot be used here, or an empty string if a guest boots with KVM.

    A guest is booted, because the device alone is no proof.
    """
    if not KVM.exists():
        return f"there is no {KVM}"
    if not os.access(KVM, os.R_OK | os.W_OK):
        return f"no permission to use {KVM}: join its group ({KVM.group()}) or run as root"
    try:
        with guests(settings, 1, cpus, folder) as [guest]:
            guest.wait_for("READY", KVM_BOOT_S)
    except GuestError as error:
        return f"a guest does not boot with {KVM} ({str(error).removeprefix('guest-1 ')})"
    return ""
