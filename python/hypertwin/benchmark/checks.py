"""Checks of targets and hosts before a campaign: identity, programs, space, clocks, and other load."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Literal

from hypertwin.benchmark import scripts
from hypertwin.benchmark.plan import Plan
from hypertwin.benchmark.shell import Shells, TargetError
from hypertwin.benchmark.target import LOCAL, Target, excluded
from hypertwin.errors import printable, short
from hypertwin.ingest.outside import number
from hypertwin.lab.system import noise

Severity = Literal["error", "warning", "note"]

PROBE_S = 1.0
"""Time over which the use of CPUs is measured."""
LIMIT_S = 30.0
MAX_OFFSET_S = 0.1
"""Largest clock difference to this computer that is not a problem."""
BUSY_PCT, STEAL_PCT = 5.0, 2.0
"""Use of CPUs by others from which a measurement counts as disturbed."""
CLOCK_READS = 20
NEEDED = ("setsid", "timeout", "awk", "date")


@dataclass(frozen=True)
class Finding:
    """Result of a check."""

    severity: Severity
    target: str
    """Name of the target or host, or an empty text for all."""
    text: str
    fix: str = ""


@dataclass(frozen=True)
class Facts:
    """Facts of a target or host."""

    name: str
    hostname: str
    identity: tuple[str, ...]
    """System, boot and network, which together are unique."""
    boot: str
    kernel: str
    cpus: int
    free_bytes: float | None
    writable: bool
    programs: frozenset[str]
    manager: str
    busy_pct: float
    steal_pct: float
    load_1min: float
    offset_s: float = 0.0
    """Clock of the target or host minus the clock here."""
    uncertainty_s: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Checked:
    """Facts of all targets and hosts that answered, with findings."""

    facts: Mapping[str, Facts]
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> list[Finding]:
        """Findings that prevent the campaign."""
        return [each for each in self.findings if each.severity == "error"]


def check(plan: Plan, shells: Shells) -> Checked:
    """Ask all targets and hosts, and judge their answers."""
    places = [*plan.targets, *plan.hosts]
    with ThreadPoolExecutor(max_workers=32) as pool:
        asked = [pool.submit(_facts, each, plan, shells) for each in places]
        answers = [each.result() for each in asked]
    facts = {each.name: each for each in answers if isinstance(each, Facts)}
    findings = [each for each in answers if isinstance(each, Finding)]
    for target in places:
        if target.name in facts:
            findings += _of_machine(target, facts[target.name], plan)
    findings += _same(plan, facts)
    order: Sequence[Severity] = ("error", "warning", "note")
    return Checked(facts, tuple(sorted(findings, key=lambda each: order.index(each.severity))))


def install(plan: Plan, facts: Facts) -> str | None:
    """Return the command that installs the missing programs of a target, or None if none is known or missing."""
    family = "dnf" if facts.manager == "yum" else facts.manager
    packages = [plan.load.packages.get(each, {}).get(family) for each in missing(plan, facts)]
    known = sorted({each for each in packages if each})
    if not known or len(known) < len(set(packages)):
        return None
    start = {"apt-get": "apt-get install -y", "dnf": "dnf install -y", "yum": "yum install -y"}
    return f"{start.get(facts.manager, f'{facts.manager} install -y')} {' '.join(known)}"


def missing(plan: Plan, facts: Facts) -> list[str]:
    """Return the programs of the load that a target lacks."""
    return [each for each in plan.load.programs() if each not in facts.programs]


def _facts(target: Target, plan: Plan, shells: Shells) -> Facts | Finding:
    programs = plan.load.programs() if target in plan.targets else ()
    try:
        done = shells.run(target, scripts.facts(programs, target.folder, PROBE_S), LIMIT_S, most=2**20)
        found = _parsed(target.name, done.out.decode("utf-8", "replace"))
        if found is None:
            reason = "" if done.code == 0 else f": {done.reason}"
            return Finding("error", target.name, f"does not answer as a Linux system{reason}")
        offset, uncertainty = _clock(target, shells)
        text = scripts.versions(sorted(found.programs & set(programs)))
        told = shells.run(target, text, LIMIT_S, most=2**16).out.decode("utf-8", "replace")
    except TargetError as error:
        return Finding("error", target.name, str(error).removeprefix(f"{target.name}: "))
    versions = dict(line.partition(" ")[::2] for line in told.splitlines() if line)
    return replace(
        found,
        offset_s=offset,
        uncertainty_s=uncertainty,
        versions={key: short(printable(value), 200) for key, value in versions.items()},
    )


def _parsed(name: str, text: str) -> Facts | None:
    """Return the facts in the answer of a target or host, or None if it is no such answer."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines()[:1000]:
        key, _, value = line.partition(" ")
        found.setdefault(key, []).append(short(printable(value.strip()), 300))
    try:
        use = noise(found["stat"][0], found["stat"][1], 0.0)
        cpus, load = int(found["cpus"][0]), float(found["load"][0].split()[0])
    except (LookupError, ValueError):
        return None
    space = number(found.get("space_kb", [""])[0])
    first = {key: values[0] for key, values in found.items()}
    return Facts(
        name=name,
        hostname=first.get("hostname", ""),
        identity=tuple(first.get(key, "") for key in ("system", "boot", "net")),
        boot=first.get("boot", ""),
        kernel=first.get("kernel", ""),
        cpus=cpus,
        free_bytes=None if space is None else 1024 * space,
        writable="writable" in found,
        programs=frozenset(found.get("program", [])),
        manager=first.get("manager", ""),
        busy_pct=use["foreign_pct"],
        steal_pct=use["steal_pct"],
        load_1min=load,
    )


def _clock(target: Target, shells: Shells) -> tuple[float, float]:
    """Return the clock of a target minus the clock here, and its uncertainty: the best of several readings."""
    if target.address == LOCAL:
        return 0.0, 0.0
    best = (0.0, float("inf"))
    for began, answer, ended in shells.asked(target, scripts.CLOCK, CLOCK_READS, LIMIT_S):
        there = number(answer)
        if there is None:
            raise TargetError(f"{target.name}: `date +%s.%N` gives no time; the core utilities of GNU are needed")
        half = (ended - began) / 2
        if half < best[1]:
            best = (there - (began + ended) / 2, half)
    return best


def _of_machine(target: Target, facts: Facts, plan: Plan) -> Iterator[Finding]:
    is_target = target in plan.targets
    if target.hostname is not None and facts.hostname.split(".")[0] != target.hostname.split(".")[0]:
        text = f"answers as {facts.hostname}, not as {target.hostname}"
        yield Finding("error", target.name, text, "correct the address or `hostname`")
    names = [facts.hostname, facts.hostname.split(".")[0]]
    for pattern in plan.exclude if is_target else ():
        if any(excluded(replace(target, name=name, address=name), pattern) for name in names if name):
            yield Finding("error", target.name, f"answers as {facts.hostname}, which `exclude` ({pattern}) forbids")
            break
    lacks = [each for each in NEEDED if each not in facts.programs]
    if lacks:
        yield Finding("error", target.name, f"has no {', '.join(lacks)}", "install util-linux, coreutils and awk")
    if not facts.writable:
        yield Finding("error", target.name, f"cannot write to {target.folder}", "set `folder`")
    if is_target:
        yield from _of_target(target, facts, plan)
    if abs(facts.offset_s) > MAX_OFFSET_S + facts.uncertainty_s:
        text = f"its clock differs by {facts.offset_s:+.3f} s"
        yield Finding("error", target.name, text, "synchronise it, for example with chrony")
    if facts.busy_pct > BUSY_PCT:
        text = f"is busy with other work: {facts.busy_pct:.0f}% of its CPUs, load {facts.load_1min:g}"
        yield Finding("warning", target.name, text, "stop it, or expect larger spreads")
    if facts.steal_pct > STEAL_PCT:
        text = f"its host takes {facts.steal_pct:.0f}% of the CPU time for other VMs"
        yield Finding("warning", target.name, text, "measure when its neighbours are idle")


def _of_target(target: Target, facts: Facts, plan: Plan) -> Iterator[Finding]:
    lacks = missing(plan, facts)
    if lacks:
        command = install(plan, facts)
        fix = f"`{command}`; `--install` runs it" if command else "install it"
        yield Finding("error", target.name, f"has no {', '.join(lacks)}", fix)
    need = plan.load.space_bytes()
    most = plan.limits.get("space")
    if most is not None and need > most:
        text = f"the load needs about {need / 2**30:.1f} GiB, more than limits.space"
        yield Finding("error", target.name, text, "take smaller data, or raise the limit")
    if facts.free_bytes is not None and need > 0.9 * facts.free_bytes:
        text = f"{facts.free_bytes / 2**30:.1f} GiB are free in {target.folder}, the load needs {need / 2**30:.1f} GiB"
        yield Finding("error", target.name, text, "take smaller data, or another `folder`")


def _same(plan: Plan, facts: Mapping[str, Facts]) -> Iterator[Finding]:
    """Yield targets that are one VM, and programs of different versions."""
    seen: dict[tuple[str, ...], str] = {}
    for target in plan.targets:
        if target.name in facts:
            other = seen.setdefault(facts[target.name].identity, target.name)
            if other != target.name:
                text = f"is the same VM as {other}"
                yield Finding("error", target.name, text, "correct one of the addresses")
    own = [facts[each.name] for each in plan.targets if each.name in facts]
    for program in plan.load.programs():
        told = {each.versions.get(program, "") for each in own}
        told.discard("")
        if len(told) > 1:
            yield Finding("warning", "", f"{program} has different versions: {'; '.join(sorted(told))}", "use one")
    speeds = [each.cpus for each in own]
    if speeds and min(speeds) != max(speeds):
        text = f"targets have {min(speeds)} to {max(speeds)} CPUs, but the VMs of a group are equal"
        yield Finding("warning", "", text, "use targets of one size")
    offsets = [each.offset_s for each in own]
    if len(offsets) > 1:
        spread = statistics.pstdev(offsets)
        yield Finding("note", "", f"clocks of targets differ by {1000 * spread:.1f} ms (standard deviation)")
