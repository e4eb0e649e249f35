"""Shell text for targets and hosts: facts, snapshots of counters, a measurement that begins at a set time, and removal.

It needs `sh`, the core utilities of GNU, awk, and setsid. Files are printed as frames: a line `@@ NAME BYTES`, then the
bytes. A measurement is a session of its own, whose number is in the file `session`, so that it can be ended as a whole.
Each load also has a time limit on the target.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

PREFIX = "hypertwin-benchmark-"
"""First part of the name of the work folder."""
FILES = ("rc", "started", "ended", "before", "after", "out", "err", "warm.err", "vmstat.txt", "iostat.txt")
"""Files of a measurement that are kept."""
KILL_S = 5
"""Time between the request to end and the end by force."""
SLACK_S = 30.0
"""Time beyond the length of a run after which it is ended."""

_FRAME = re.compile(rb"@@ (%s|extra-[0-9]{1,3}) ([0-9]{1,12})\n" % "|".join(map(re.escape, FILES)).encode())
_HEAD = "set -u\nLC_ALL=C; export LC_ALL\numask 077\n"
_MEMBERS = (
    'members() { cat /proc/[0-9]*/stat 2>/dev/null | sed "s/^\\([0-9]*\\) (.*) /\\1 /"'
    ' | awk -v s="$number" \'$5 == s && $2 != "Z" { print $1 }\'; }\n'
)
"""Shell function that prints the processes of a session; `timeout` gives its command a group of its own."""
_FRAMES = 'frame() { printf "@@ %s %d\\n" "$1" "$(wc -c < "$2")"; cat "$2"; }\n'


@dataclass(frozen=True)
class Work:
    """Work folder of a campaign on a target."""

    folder: str
    """Parent folder."""
    id: str
    """Identifier of the campaign, and name of the target or host: two of them can be one computer."""

    @property
    def path(self) -> str:
        """Path of the folder."""
        return f"{self.folder.rstrip('/')}/{PREFIX}{self.id}"

    @property
    def quoted(self) -> str:
        """Path as a word of a shell."""
        return shlex.quote(self.path)


def frames(output: bytes) -> dict[str, bytes]:
    """Return the files in the output of a measurement, up to an unknown name. A cut frame has what arrived."""
    found: dict[str, bytes] = {}
    at = 0
    while match := _FRAME.match(output, at):
        end = match.end() + int(match[2])
        found[match[1].decode("ascii")] = output[match.end() : end]
        at = end
    return found


def facts(programs: Iterable[str], folder: str, seconds: float) -> str:
    """Return shell text that prints facts as lines `KEY VALUE`, with the use of CPUs over some seconds."""
    wanted = " ".join(shlex.quote(each) for each in programs)
    place = shlex.quote(folder)
    return (
        f"{_HEAD}"
        'say() { printf "%s %s\\n" "$1" "$(printf "%s" "$2" | tr "\\n" " ")"; }\n'
        'say time "$(date +%s.%N)"\n'
        'say hostname "$(hostname 2>/dev/null || cat /proc/sys/kernel/hostname)"\n'
        'say system "$(cat /etc/machine-id 2>/dev/null)"\n'
        'say boot "$(cat /proc/sys/kernel/random/boot_id)"\n'
        'say net "$(readlink /proc/self/ns/net)"\n'
        'say kernel "$(uname -sr)"\n'
        'say cpus "$(grep -c "^cpu[0-9]" /proc/stat)"\n'
        "say memory_kb \"$(awk '/^MemTotal/ { print $2 }' /proc/meminfo)\"\n"
        'say load "$(cat /proc/loadavg)"\n'
        f"say space_kb \"$(df -Pk {place} | awk 'NR == 2 {{ print $4 }}')\"\n"
        f"[ -w {place} ] && say writable yes\n"
        f'for each in setsid timeout awk date {wanted}; do command -v "$each" >/dev/null && say program "$each"; done\n'
        "for each in apt-get dnf yum zypper apk; do command -v $each >/dev/null && say manager $each; done\n"
        f'say stat "$(grep "^cpu " /proc/stat)"\nsleep {seconds:g}\nsay stat "$(grep "^cpu " /proc/stat)"\n'
    )


CLOCK = "echo; while read -r each; do date +%s.%N; done\n"
"""Shell text that prints a line, then the time for each line that it reads."""


def versions(programs: Iterable[str]) -> str:
    """Return shell text that prints the version of each program."""
    return "".join(
        f"printf '%s ' {shlex.quote(each)}; {shlex.quote(each)} --version 2>&1 | head -1\n" for each in programs
    )


def begin(work: Work) -> str:
    """Return shell text that makes the work folder, or finds the one of this campaign."""
    return f"{_HEAD}mkdir {work.quoted} || {_own(work)}"


def prepare(work: Work, text: str, limit_s: float) -> str:
    """Return shell text that runs the preparation of a load in the work folder."""
    return (
        f"{_HEAD}cd {work.quoted} || exit 3\n{_exported()}"
        f"printf '%s' {shlex.quote(_failing(text))} > prepare.sh\n"
        f"{_session(f'timeout -k {KILL_S} {limit_s:.0f} sh prepare.sh')}exit $code\n"
    )


def measure(
    work: Work,
    run: str,
    warm: str,
    at: float,
    *,
    seconds: float,
    warmup_s: float,
    cgroups: Mapping[str, str],
    extra: Sequence[str] = (),
) -> str:
    """Return shell text that warms up, waits until a time of the target's clock, measures, and prints the files.

    `cgroups` are observed control groups by VM. `extra` are commands whose output is kept (`extra-1`, ...). Without
    `run`, only counters are observed.
    """
    limit, warm_limit = seconds + SLACK_S, warmup_s + SLACK_S
    kept = [*FILES, *(f"extra-{number}" for number, _ in enumerate(extra, 1))]
    watch = "".join(
        f"command -v {program} >/dev/null && {line} > {file} 2>&1 &\n"
        for program, line, file in (
            ("vmstat", f"timeout {seconds + 2:.0f} vmstat -n 1", "vmstat.txt"),
            ("iostat", f"timeout {seconds + 2:.0f} iostat -dxy 1", "iostat.txt"),
        )
    )
    for number, command in enumerate(extra, 1):
        watch += f"timeout -k 5 {limit:.0f} sh -c {shlex.quote(command)} > extra-{number} 2>&1 &\n"
    load = f"timeout -k {KILL_S} {limit:.0f} sh run.sh > out 2> err; echo $? > rc\n"
    main = (
        f"{_snapshot(cgroups, work)}"
        + (f"timeout -k {KILL_S} {warm_limit:.0f} sh warm.sh > /dev/null 2> warm.err\n" if warm else "")
        + f'sleep "$(awk -v t={at:.6f} -v n="$(date +%s.%N)" \'BEGIN {{ d = t - n; print d > 0 ? d : 0 }}\')"\n'
        f"{watch}snapshot > before\ndate +%s.%N > started\n"
        + (load if run else f"sleep {seconds:g}; echo 0 > rc\n")
        + "date +%s.%N > ended\nsnapshot > after\n"
    )
    files = {"run.sh": run, "warm.sh": warm, "main.sh": main}
    writes = "".join(f"printf '%s' {shlex.quote(text)} > {name}\n" for name, text in files.items() if text)
    return (
        f"{_HEAD}{_FRAMES}cd {work.quoted} || exit 3\nrm -f {' '.join(kept)}\n{_exported()}{writes}"
        f"{_session('sh main.sh')}"
        f'for each in {" ".join(kept)}; do [ -f "$each" ] && frame "$each" "$each"; done\nexit 0\n'
    )


def watch(work: Work) -> str:
    """Return shell text of a snapshot for guards."""
    return f"{_HEAD}{_snapshot({}, work)}snapshot\n"


def stop(work: Work) -> str:
    """Return shell text that ends a measurement of this campaign."""
    return (
        f"{_HEAD}[ -f {work.quoted}/session ] || exit 0\nread -r number < {work.quoted}/session || exit 0\n"
        'case "$number" in *[!0-9]* | "" | 0 | 1) exit 0 ;; esac\n'
        # a number that is used again belongs to another folder
        f'[ "$(readlink "/proc/$number/cwd")" = "$(readlink -f {work.quoted})" ] || exit 0\n'
        f"{_MEMBERS}"
        "kill -TERM $(members) 2>/dev/null\nfor i in 1 2 3 4 5 6 7 8 9 10; do\n"
        '  [ -n "$(members)" ] || exit 0; sleep 0.3\ndone\nkill -KILL $(members) 2>/dev/null\nexit 0\n'
    )


def remove(work: Work, text: str, limit_s: float) -> str:
    """Return shell text that removes the data of a load, and the work folder."""
    return (
        f"{_HEAD}[ -e {work.quoted} ] || [ -L {work.quoted} ] || exit 0\n{_own(work)}cd {work.quoted} || exit 3\n"
        f"{_exported()}printf '%s' {shlex.quote(_failing(text))} > cleanup.sh\n"
        f"timeout -k {KILL_S} {limit_s:.0f} sh cleanup.sh || exit 4\ncd / && rm -rf {work.quoted}\n"
    )


def snapshot_of(text: str) -> dict[str, list[str]]:
    """Return the parts of a snapshot, as lines by name."""
    found: dict[str, list[str]] = {}
    own: list[str] = []
    for line in text.splitlines():
        if line.startswith("== "):
            own = found.setdefault(line[3:], [])
        else:
            own.append(line)
    return found


def _own(work: Work) -> str:
    """Return shell text that fails if the work folder is a link, or is of another user."""
    return (
        f"{{ [ ! -L {work.quoted} ] && [ -d {work.quoted} ] && [ -O {work.quoted} ]; }} || "
        f'{{ echo "{work.path} is not of this campaign" >&2; exit 3; }}\n'
    )


def _exported() -> str:
    return '[ -z "${BENCHMARK_PASSWORD:-}" ] || export BENCHMARK_PASSWORD\n'


def _failing(text: str) -> str:
    """Return shell text that ends at the first command that fails."""
    return f"set -e\n{text}"


def _session(command: str) -> str:
    """Return shell text that runs a command as a session of its own, with its number in a file."""
    inner = f"echo $$ > session; {command}"
    return f"setsid -w sh -c {shlex.quote(inner)} < /dev/null\ncode=$?\nrm -f session\n"


def _snapshot(cgroups: Mapping[str, str], work: Work) -> str:
    """Return a shell function that prints counters."""
    parts = [
        'echo "== time"; date +%s.%N',
        'echo "== stat"; grep "^cpu " /proc/stat',
        'echo "== cpus"; grep -c "^cpu[0-9]" /proc/stat',
        'echo "== load"; cat /proc/loadavg',
        'for each in cpu io memory; do echo "== pressure-$each"; cat /proc/pressure/$each 2>/dev/null; done',
        'echo "== disks"; cat /proc/diskstats',
        f'echo "== space"; df -Pk {work.quoted}',
    ]
    for name, path in cgroups.items():
        clean = path.removeprefix("/sys/fs/cgroup/").strip("/")
        files = [f"/sys/fs/cgroup/{clean}/cpu.stat"]
        files += [f"/sys/fs/cgroup/{each}/{clean}/cpu.stat" for each in ("cpu", "cpu,cpuacct")]
        files += [f"/sys/fs/cgroup/{each}/{clean}/cpuacct.usage" for each in ("cpuacct", "cpu,cpuacct")]
        words = " ".join(shlex.quote(each) for each in files)
        parts.append(f'echo "== cgroup-{name}"; for each in {words}; do [ ! -r "$each" ] || cat "$each"; done')
    return "snapshot() {\n" + "".join(f"  {part}\n" for part in parts) + "}\n"
