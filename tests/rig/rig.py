"""Machines for benchmark campaigns on one computer: network namespaces with sshd, a database, and a CPU quota each.

`python tests/rig/rig.py up FOLDER [N]` starts them and writes an SSH configuration, keys and known hosts into FOLDER;
`down FOLDER` removes everything. It takes root, and Debian's packages openssh-server, mariadb-server and postgresql.

A machine is a network namespace on a bridge of its own. Processes join the control group before the namespace, because
`ip netns exec` mounts /sys anew. Versions 1 and 2 of control groups work.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

BRIDGE = "htrig0"
NETWORK = "10.77.0"
CGROUPS = Path("/sys/fs/cgroup")
PERIOD_US = 100_000
PROGRAMS = ("sshd", "ssh-keygen", "mariadbd", "mariadb-install-db", "ip", "setpriv")
START_S = 30.0


class RigError(Exception):
    """Raised if the rig cannot be started. The argument is the reason."""


@dataclass(frozen=True)
class Machine:
    """A machine of the rig."""

    number: int
    folder: Path

    @property
    def name(self) -> str:
        """`vm1`."""
        return f"vm{self.number}"

    @property
    def namespace(self) -> str:
        """Network namespace, which is also the name of the control group."""
        return f"htrig{self.number}"

    @property
    def address(self) -> str:
        """IP address."""
        return f"{NETWORK}.{self.number}"


def trouble() -> str:
    """Return why the rig cannot start here, or an empty text."""
    if os.geteuid() != 0:
        return "it takes root"
    lacking = [program for program in PROGRAMS if _program(program) is None]
    if lacking:
        return f"it needs {', '.join(lacking)} (Debian: openssh-server, mariadb-server, postgresql)"
    if not list(Path("/usr/lib/postgresql").glob("*/bin/postgres")):
        return "it needs PostgreSQL"
    name = f"htrigprobe{os.getpid()}"
    probe = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if probe.returncode:
        return f"no network namespace can be made: {probe.stderr.strip()}"
    _quiet("ip", "netns", "del", name)
    return "" if _controllers() else "no cpu controller of control groups is mounted"


class Rig:
    """Running machines, with a database each."""

    def __init__(self, folder: Path, count: int = 3, quota_cpus: float = 0.9) -> None:
        """Machines that get `quota_cpus` CPUs each. Their files are below `folder`."""
        self.folder = folder
        self.machines = [Machine(number, folder / f"vm{number}") for number in range(1, count + 1)]
        self.quota_cpus = quota_cpus
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Rig:
        """Start everything. Raises RigError."""
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove everything."""
        self.down()

    def up(self) -> None:
        """Start everything. Raises RigError."""
        if reason := trouble():
            raise RigError(reason)
        self.down()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o755)
        _run("ip", "link", "add", BRIDGE, "type", "bridge")
        _run("ip", "addr", "add", f"{NETWORK}.254/24", "dev", BRIDGE)
        _run("ip", "link", "set", BRIDGE, "up")
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / "key"))
        Path("/run/sshd").mkdir(exist_ok=True)
        for machine in self.machines:
            self._network(machine)
            self._group(machine)
            self._sshd(machine)
            self._mariadb(machine)
            self._postgres(machine)
        (self.folder / "ssh_config").write_text(self._config(), encoding="utf-8")
        for machine in self.machines:
            self._wait(machine)

    def down(self) -> None:
        """Remove everything, also of a rig that was left behind."""
        for machine in self.machines:
            for pid in _pids(machine):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGTERM)
            until = time.monotonic() + 10
            while _pids(machine) and time.monotonic() < until:
                time.sleep(0.1)
            for pid in _pids(machine):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
            _quiet("ip", "link", "del", f"htrigv{machine.number}")  # the namespace would remove it some time later
            _quiet("ip", "netns", "del", machine.namespace)
            for controller in _controllers():
                with contextlib.suppress(OSError):
                    (controller / machine.namespace).rmdir()
        for process in self._started:
            process.wait()
        self._started.clear()
        _quiet("ip", "link", "del", BRIDGE)
        shutil.rmtree(self.folder, ignore_errors=True)

    def pids(self, machine: Machine) -> list[int]:
        """Return the processes of a machine."""
        return _pids(machine)

    # ---- parts of a machine

    def _network(self, machine: Machine) -> None:
        inside, outside = machine.namespace, f"htrigv{machine.number}"
        _run("ip", "netns", "add", inside)
        _run("ip", "link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", inside)
        _run("ip", "link", "set", outside, "master", BRIDGE, "up")
        _run("ip", "-n", inside, "addr", "add", f"{machine.address}/24", "dev", "eth0")
        _run("ip", "-n", inside, "link", "set", "eth0", "up")
        _run("ip", "-n", inside, "link", "set", "lo", "up")

    def _group(self, machine: Machine) -> None:
        quota = str(round(self.quota_cpus * PERIOD_US))
        for controller in _controllers():
            folder = controller / machine.namespace
            folder.mkdir(exist_ok=True)
            if (folder / "cpu.max").exists():
                (folder / "cpu.max").write_text(f"{quota} {PERIOD_US}", encoding="ascii")
            elif (folder / "cpu.cfs_quota_us").exists():
                (folder / "cpu.cfs_period_us").write_text(str(PERIOD_US), encoding="ascii")
                (folder / "cpu.cfs_quota_us").write_text(quota, encoding="ascii")

    def _start(self, machine: Machine, words: Sequence[str], log: str) -> None:
        """Start a process in the control group and the namespace of a machine."""
        joins = " && ".join(f"echo $$ > {each / machine.namespace / 'cgroup.procs'}" for each in _controllers())
        script = f'{joins} && exec ip netns exec {machine.namespace} "$@"'
        with (machine.folder / log).open("wb") as stream:
            started = subprocess.Popen(
                ["sh", "-c", script, "sh", *words],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )
        self._started.append(started)

    def _sshd(self, machine: Machine) -> None:
        folder = machine.folder
        (folder / "etc").mkdir(parents=True)
        (folder / "work").mkdir()
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "etc/hostkey"))
        key = (self.folder / "key.pub").read_text(encoding="ascii")
        (folder / "etc/authorized_keys").write_text(key, encoding="ascii")
        lines = [
            f"HostKey {folder}/etc/hostkey",
            f"AuthorizedKeysFile {folder}/etc/authorized_keys",
            f"PidFile {folder}/sshd.pid",
            "ListenAddress 0.0.0.0",
            "UsePAM no",
            "PasswordAuthentication no",
            "PermitRootLogin prohibit-password",
            "StrictModes no",
            "UseDNS no",
        ]
        (folder / "etc/sshd_config").write_text("\n".join(lines) + "\n", encoding="ascii")
        self._start(machine, [str(_program("sshd")), "-D", "-f", str(folder / "etc/sshd_config")], "sshd.log")
        host = (folder / "etc/hostkey.pub").read_text(encoding="ascii").split()[:2]
        with (self.folder / "known_hosts").open("a", encoding="ascii") as stream:
            stream.write(f"{machine.address} {' '.join(host)}\n")

    def _mariadb(self, machine: Machine) -> None:
        template, data = self.folder / "mariadb", machine.folder / "mysql"
        if not template.exists():
            words = ["--no-defaults", "--user=root", "--auth-root-authentication-method=normal", "--skip-test-db"]
            _run(str(_program("mariadb-install-db")), *words, f"--datadir={template}")
        shutil.copytree(template, data)
        socket, flags = machine.folder / "mysql.sock", ["--no-defaults", "--user=root", "--skip-log-bin"]
        flags += [f"--datadir={data}", f"--socket={socket}", "--bind-address=127.0.0.1", "--port=3306"]
        flags += ["--innodb-buffer-pool-size=64M", "--innodb-log-file-size=32M", "--performance-schema=OFF"]
        self._start(machine, [str(_program("mariadbd")), *flags], "mariadbd.log")

    def _postgres(self, machine: Machine) -> None:
        programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        template, data = self.folder / "postgres", machine.folder / "postgres"
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        if not template.exists():
            template.mkdir()
            shutil.chown(template, "postgres", "postgres")
            _run(*as_user, str(programs / "initdb"), "-A", "trust", "-U", "postgres", "-D", str(template))
        _run("cp", "-a", str(template), str(data))
        flags = [
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            f"unix_socket_directories={data}",
            "-c",
            "shared_buffers=64MB",
        ]
        self._start(machine, [*as_user, str(programs / "postgres"), "-D", str(data), *flags], "postgres.log")

    def _config(self) -> str:
        lines = [
            f"Host {NETWORK}.*",
            "  User root",
            f"  IdentityFile {self.folder}/key",
            "  IdentitiesOnly yes",
            f"  UserKnownHostsFile {self.folder}/known_hosts",
            "  StrictHostKeyChecking yes",
        ]
        return "\n".join(lines) + "\n"

    def _wait(self, machine: Machine) -> None:
        """Wait until all parts of a machine answer. Raises RigError."""
        ssh = ["ssh", "-F", str(self.folder / "ssh_config"), "-o", "BatchMode=yes", machine.address]
        asks = (
            f"mariadb --no-defaults -S {machine.folder}/mysql.sock -e 'SELECT 1'",
            "psql -X -q -h 127.0.0.1 -U postgres -d postgres -c 'SELECT 1'",
        )
        until = time.monotonic() + START_S
        for ask in asks:
            while subprocess.run([*ssh, ask], capture_output=True, check=False).returncode:
                if time.monotonic() > until:
                    raise RigError(f"{machine.name} does not answer `{ask}`; its logs are in {machine.folder}")
                time.sleep(0.2)


def _controllers() -> list[Path]:
    """Return the folders in which control groups with CPU quota and CPU time are made."""
    if (CGROUPS / "cgroup.controllers").exists():
        with contextlib.suppress(OSError):
            (CGROUPS / "cgroup.subtree_control").write_text("+cpu", encoding="ascii")
        return [CGROUPS]
    found = {each.resolve() for each in (CGROUPS / "cpu", CGROUPS / "cpuacct") if each.is_dir()}
    return sorted(found)


def _pids(machine: Machine) -> list[int]:
    found: set[int] = set()
    for controller in _controllers():
        with contextlib.suppress(OSError, ValueError):
            text = (controller / machine.namespace / "cgroup.procs").read_text(encoding="ascii")
            found |= {int(line) for line in text.split()}
    return sorted(found)


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RigError(f"{' '.join(words[:4])}: {done.stderr.strip()[-300:]}")


def _quiet(*words: str) -> None:
    subprocess.run(words, capture_output=True, check=False)


if __name__ == "__main__":
    rig = Rig(Path(sys.argv[2]).resolve(), int(sys.argv[3]) if len(sys.argv) > 3 else 3)
    {"up": rig.up, "down": rig.down}[sys.argv[1]]()
