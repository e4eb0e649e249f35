"""Real guests that share host CPUs: predicted by the twin, then measured in the guest and on the host.

Every guest runs the same closed loop (sessions that think and compute). The calibration runs one guest while the others
idle, and gives the cost of a burst on the host. From it the twin predicts all guests together, and the prediction is on
disk before that measurement begins. Then each guest reports its figures over its console, and the host's scheduler
reports the run time of each vCPU thread.
"""

from __future__ import annotations

import contextlib
import datetime
import enum
import hashlib
import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import yaml

from hypertwin import scenario
from hypertwin.arguments import Option, named
from hypertwin.documents import lab as documents
from hypertwin.documents.measured import Vm
from hypertwin.errors import HypertwinError, fail
from hypertwin.files import writing
from hypertwin.ingest.kvm.linux_host import written
from hypertwin.lab import guest as parts
from hypertwin.lab import qemu, system
from hypertwin.lab.qemu import Guest, GuestError, Line
from hypertwin.runs import simulation
from hypertwin.runs.simulation import LabelledProgress

BOOT_S = 120.0
"""Maximum seconds for the boot of a guest. An emulated one on a busy machine takes tens of seconds."""
SETTLE_S = 2.0
"""Seconds that sessions run before their measurement begins."""
PATIENCE_S = 40.0
"""Maximum seconds until a guest reports. Reports are due every second."""
SIZING_STEPS, SIZING_S = 1000, 3.5
"""Loop passes per burst in the short run that measures the time of a pass, and the length of that run."""
ALONE_S = (4.0, 20.0)
"""Minimum and maximum seconds of the calibration. In between, the calibration takes a third of the measurement."""
STEAL_PCT, FOREIGN_PCT = 2.0, 5.0
"""Share of the host CPUs' time, stolen by another hypervisor or used by other processes, from which a measurement
counts as disturbed."""
CLOCK_PCT = 20.0
"""Maximum difference between a guest's clock and the host's: above the console's jitter, below the error of a wrong
clock."""
STORY_POINTS = 10.0
"""Difference in percentage points of guest CPU use and vCPU run time above which guest and host disagree."""
STEPS = 6

SCENARIO, PREDICTION, RESULT = "scenario.yaml", "prediction.json", "result.json"


class FolderError(HypertwinError):
    """Raised if the folder for prediction and result cannot be written."""

    code = "output-unwritable"


Accelerator = enum.StrEnum("Accelerator", ["auto", "kvm", "tcg"])
"""Accelerator of guests."""


@dataclass(frozen=True)
class Plan:
    """Settings of a measurement."""

    guests: Annotated[int, Option("Guests that share the host CPUs.", "N", least=1, most=32)] = 3
    vcpus: Annotated[int, Option("vCPUs of each guest.", "N", least=1, most=64)] = 1
    seconds: Annotated[
        float, Option("Length of the measurement, without boot and calibration.", "S", least=4, most=3600)
    ] = 20.0
    cpus: Annotated[str, Option("Host CPUs that all vCPUs are pinned to, e.g. 0-1,4.", "LIST")] = "0"
    accel: Annotated[Accelerator, Option("KVM, software emulation (tcg), or KVM if a guest boots with it (auto).")] = (
        Accelerator.auto
    )
    sessions: Annotated[int, Option("Processes per vCPU that think and compute.", "N", least=1, most=64)] = 2
    burst_ms: Annotated[float, Option("Mean CPU burst, in host CPU time.", "MS", least=1, most=1000)] = 20.0
    think_ms: Annotated[float, Option("Mean think time between bursts.", "MS", least=5, most=10_000)] = 40.0
    memory_mib: int = 96
    """Memory of each guest."""
    nice: int = -10
    """Priority of the vCPU threads on the host, if permitted."""
    kernel: Annotated[
        Path | None,
        Option("Kernel of the guests (default: the tests' or the newest in /boot).", "FILE", files=named),
    ] = None


@dataclass(frozen=True)
class Calibration:
    """Figures of one guest alone on the host CPUs."""

    burst_ms: float
    """Host CPU time of a mean burst, including the guest's own overhead: vCPU run time divided by work done."""
    burst_cv: float
    think_ms: float
    think_cv: float
    latency_ms: float
    """Response time of one session besides burst and wait for a CPU: timers and wake-ups."""
    steps: int
    """Loop passes of a mean burst."""
    transactions: int
    throughput_per_s: float
    response_ms: float
    run_pct: float
    wait_pct: float
    """Wait time of the vCPUs: other work on the host CPUs disturbs the calibration."""


@dataclass(frozen=True)
class View:
    """Figures of a guest, from the guest and from the host, between two times."""

    cpu_pct: float
    """CPU use as accounted by the guest: non-idle time of all its vCPUs."""
    run_queue: float
    """Processes that run or are ready, as sampled in the guest."""
    steal_pct: float
    throughput_per_s: float
    response_ms: float
    """From the end of the think time to the end of the burst, by the guest's clock."""
    transactions: int
    burst_ms: float
    """Host CPU time of a mean burst. The difference to the calibration is noise, or the cost of sharing CPUs."""
    load1: float
    """Guest's load average of one minute at the end."""
    vcpus: tuple[dict[str, float], ...]
    """`run_pct` and `wait_pct` of each vCPU thread, by the host's scheduler."""

    @property
    def run_pct(self) -> float:
        """Mean over the vCPUs."""
        return statistics.fmean(vcpu["run_pct"] for vcpu in self.vcpus)

    @property
    def wait_pct(self) -> float:
        """Mean over the vCPUs."""
        return statistics.fmean(vcpu["wait_pct"] for vcpu in self.vcpus)


def measure(plan: Plan, out: Path, progress: LabelledProgress | None = None) -> documents.Guests:
    """Calibrate, predict and measure. Return the JSON document, and write it with the prediction into `out`.

    Raises ScenarioError for an invalid plan, FolderError, and GuestPartMissingError, NotAKernelError, NoPermissionError
    or GuestError if the machine lacks a requirement.
    """
    cpus = _check(plan)
    tell = progress or (lambda _label, _done, _all: None)
    program, busybox, kernel = parts.qemu(), parts.busybox(), parts.kernel(plan.kernel)
    _prepare(out)
    tables = {
        (number, each): parts.session(plan.think_ms, f"guest {number} session {each}")
        for number in range(1, plan.guests + 1)
        for each in range(1, plan.sessions * plan.vcpus + 1)
    }
    with (
        qemu.ended_by_signals(),
        tempfile.TemporaryDirectory(prefix="hypertwin-vm-", ignore_cleanup_errors=True) as name,
    ):
        folder = Path(name)
        image = folder / "initramfs"
        texts = {f"{number}-{each}": session.table() for (number, each), session in tables.items()}
        parts.initramfs(busybox, parts.load_script(), image, texts)

        def settings(accelerator: str) -> qemu.Settings:
            return qemu.Settings(program, kernel, image, accelerator, plan.vcpus, plan.memory_mib, plan.nice)

        tell("choosing an accelerator", 0, STEPS)
        accelerator, note = _accelerator(plan, settings("kvm"), cpus, folder)
        tell(f"booting {plan.guests} guests, {qemu.TOLD[accelerator]}", 1, STEPS)
        with qemu.guests(settings(accelerator), plan.guests, cpus, folder) as guests:
            for each in guests:
                each.wait_for("READY", BOOT_S)
            tell("calibrating with one guest alone", 2, STEPS)
            alone = calibrate(guests[0], plan, _of(guests[0], tables))
            tell("predicting", 3, STEPS)
            predicted = predict(plan, cpus, accelerator, alone, out)
            tell(f"measuring for {plan.seconds:g} s", 4, STEPS)
            started, views, noise = _together(guests, plan, cpus, tables, alone.steps)
    tell("comparing", 5, STEPS)
    compared = [
        {**_compare(each.name, seen, predicted["guests"][each.name], accelerator), "series": over_time}
        for each, seen, over_time in views
    ]
    result = {
        "version": predicted["version"],
        "accelerator": accelerator,
        "accelerator_note": note,
        "host": _host(cpus),
        "plan": {**asdict(plan), "kernel": str(kernel)},
        "calibration": asdict(alone),
        "prediction": {key: predicted[key] for key in ("scenario_file", "scenario_sha256", "written_at")},
        "measurement": {"started_at": started, "seconds": plan.seconds, **noise},
        "guests": compared,
        "errors": _errors(compared),
    }
    _write_json(out / RESULT, result)
    tell("done", STEPS, STEPS)
    return cast(documents.Guests, result)


def calibrate(guest: Guest, plan: Plan, sessions: Sequence[parts.Session]) -> Calibration:
    """Find the loop passes for a burst of `plan.burst_ms`, and the cost of such bursts for one guest alone on the host
    CPUs.

    The cost is vCPU run time divided by work done, in a guest under full load, so it includes process switches. Latency
    is from a single session, which never waits for another.
    """
    single = _alone(guest, plan, sessions[:1], SIZING_STEPS, SIZING_S)
    steps = max(1, round(SIZING_STEPS * plan.burst_ms / single.burst_ms))
    low, high = ALONE_S
    whole = _alone(guest, plan, sessions, steps, min(max(plan.seconds / 3, low), high))
    served_ms = 10 * plan.vcpus * (single.run_pct + single.wait_pct) / single.throughput_per_s
    return Calibration(
        burst_ms=whole.burst_ms,
        burst_cv=parts.variation(sessions[0].burst_share),
        think_ms=statistics.fmean(sessions[0].think_ms),
        think_cv=parts.variation(sessions[0].think_ms),
        latency_ms=max(0.0, single.response_ms - served_ms),
        steps=steps,
        transactions=whole.transactions,
        throughput_per_s=whole.throughput_per_s,
        response_ms=whole.response_ms,
        run_pct=whole.run_pct,
        wait_pct=whole.wait_pct,
    )


def _alone(guest: Guest, plan: Plan, sessions: Sequence[parts.Session], steps: int, seconds: float) -> View:
    """Return the figures of `sessions` in a guest that has the host CPUs for itself."""
    first = len(guest.lines)
    guest.say(f"go {len(sessions)} {steps}")
    guest.wait_for("S", PATIENCE_S, first)
    time.sleep(seconds)
    said = len(guest.lines)
    guest.say("halt")
    guest.wait_for("HALTED", PATIENCE_S, said)
    return view(guest.name, guest.lines[first:said], plan.vcpus, sessions)


def predict(plan: Plan, cpus: Sequence[int], accelerator: str, alone: Calibration, out: Path) -> dict[str, Any]:
    """Simulate all guests together, write scenario and prediction into `out`, and return the prediction."""
    text = _COMMENT + yaml.safe_dump(describe(plan, cpus, accelerator, alone), sort_keys=False, width=120)
    file = out / SCENARIO
    _write(file, text)
    report = simulation.simulate(scenario.load(file))
    point = report.reports[0]
    predicted = {
        "version": report.version,
        "scenario_file": SCENARIO,
        "scenario_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "written_at": _now(),
        "calibration": asdict(alone),
        "steady": point["steady"],
        "guests": {name: _predicted(vm, accelerator) for name, vm in point["vms"].items()},
    }
    _write_json(out / PREDICTION, predicted)
    return predicted


def _predicted(vm: Vm, accelerator: str) -> dict[str, float | None]:
    steal_pct = vm["ready_pct"] if accelerator == "kvm" else 0.0  # only KVM tells a guest what it waits for the host
    return {
        "cpu_pct": max(0.0, vm["guest_cpu_pct"] - steal_pct),  # top's CPU % leaves steal out
        "run_queue": vm["run_queue"],
        "steal_pct": steal_pct,
        "run_pct": vm["run_pct"],
        "wait_pct": vm["ready_pct"],
        "throughput_per_s": vm["throughput_per_s"],
        "response_ms": vm["response_ms"]["mean"],
    }


def describe(plan: Plan, cpus: Sequence[int], accelerator: str, alone: Calibration) -> dict[str, Any]:
    """Return the scenario of all guests together: the pinned CPUs as a host, the guests as VMs."""
    cores = len([core for core in system.siblings(system.topology()) if set(core) & set(cpus)])
    kernel = system.kernel()
    machine: dict[str, Any] = {"vcpus": plan.vcpus, "memory": f"{plan.memory_mib} MiB", "workload": "loop"}
    latency = {"delay": {"mean": f"{alone.latency_ms:.4f} ms"}} if alone.latency_ms > 0 else {}
    return {
        "name": "lab-vm",
        "description": f"{plan.guests} guests of {plan.vcpus} vCPUs on host CPU {written(cpus)}, "
        f"{qemu.TOLD[accelerator]}",
        "calibrated_on": f"one guest alone, {alone.transactions} transactions",
        "run": {"duration": "60 s", "warmup": "5 s", "replications": 5},
        "hosts": {
            "lab": {
                "sockets": 1,
                "cores_per_socket": cores,
                "threads_per_core": len(cpus) // cores,
                "clock": "1 GHz",
                "memory_per_node": f"{plan.guests * plan.memory_mib} MiB",
                "hypervisor": "linux-6.12",
                "scheduler": {
                    "base_slice": f"{kernel['base_slice_ns'] / 1e6:g} ms",
                    "tick": f"{1000 / kernel['hz']:g} ms",
                },
                # what a guest costs beside its bursts is in the calibrated burst
                "overhead": {"worlds_per_vm": 1, "cpu_per_io": "0 us", "activity_pct": 0},
            }
        },
        "vms": {f"guest-{number}": dict(machine) for number in range(1, plan.guests + 1)},
        "workloads": {
            "loop": {
                "arrivals": {
                    "closed": {
                        "population": plan.sessions * plan.vcpus,
                        "think": {"mean": f"{alone.think_ms:.4f} ms", "cv": round(alone.think_cv, 4)},
                    }
                },
                "cpu": {"mean": f"{alone.burst_ms:.4f} ms", "cv": round(alone.burst_cv, 4)},
                "wake_up": "0 s",  # it is in the calibrated latency
                **latency,
            }
        },
    }


def _together(
    guests: Sequence[Guest],
    plan: Plan,
    cpus: Sequence[int],
    sessions: Mapping[tuple[int, int], parts.Session],
    steps: int,
) -> tuple[str, list[tuple[Guest, View, list[dict[str, float]]]], dict[str, Any]]:
    """Run the load in all guests. Returns the start time, the figures of each guest, and the noise of the host."""
    firsts = [len(each.lines) for each in guests]
    started = _now()
    for each in guests:
        each.say(f"go {plan.sessions * plan.vcpus} {steps}")
    time.sleep(SETTLE_S)
    for each, first in zip(guests, firsts, strict=True):
        each.wait_for("S", PATIENCE_S, first)
    begin_ns, before, threads = time.monotonic_ns(), _ticks(cpus), [each.accounts() for each in guests]
    time.sleep(plan.seconds)
    after, ended = _ticks(cpus), [each.accounts() for each in guests]
    elapsed_ns = time.monotonic_ns() - begin_ns
    busy, steal = ((after[key] - before[key]) / system.TICKS_PER_S for key in ("busy", "steal"))
    ours = sum(
        late.run_ns - early.run_ns
        for old, new in zip(threads, ended, strict=True)
        for early, late in zip(old, new, strict=True)
    )
    all_s = len(cpus) * elapsed_ns / 1e9
    noise: dict[str, Any] = {
        "steal_pct": 100 * steal / all_s,
        "foreign_pct": max(0.0, 100 * (busy - ours / 1e9) / all_s),
        "load1": system.load(),
    }
    noise["disturbed"] = noise["steal_pct"] > STEAL_PCT or noise["foreign_pct"] > FOREIGN_PCT
    views = []
    for each, first in zip(guests, firsts, strict=True):
        lines = [line for line in each.lines[first:] if begin_ns <= line.host_ns <= begin_ns + elapsed_ns]
        views.append(
            (each, view(each.name, lines, plan.vcpus, _of(each, sessions)), series(lines, begin_ns, plan.vcpus))
        )
    return started, views, noise


def _of(guest: Guest, sessions: Mapping[tuple[int, int], parts.Session]) -> list[parts.Session]:
    """Return the sessions of a guest, in order."""
    return [session for (number, _), session in sessions.items() if number == guest.number]


def view(name: str, lines: Sequence[Line], vcpus: int, sessions: Sequence[parts.Session]) -> View:
    """Return the figures of a guest between its first and last line, from these lines and the accounts with them."""
    told = _said(lines, "G")
    if len(told) < 2:
        raise GuestError(f"{name} told {len(told)} times how it is, not twice: measure longer (--seconds)")
    begin, end = told[0], told[-1]
    pace = 1000 * (int(end.words[1]) - int(begin.words[1])) / (end.host_ns - begin.host_ns)
    if abs(100 * pace - 100) > CLOCK_PCT:
        raise GuestError(
            f"the clock of {name} runs at {pace:.2f} times the host's: nothing it says can be used; try again"
        )
    throughput, work_per_s, responses, done = 0.0, 0.0, 0.0, 0
    for number, session in enumerate(sessions, start=1):
        own = [line for line in _said(lines, "S") if line.words[1] == str(number)]
        if len(own) < 2 or own[-1].words[3] == own[0].words[3]:
            raise GuestError(
                f"session {number} of {name} finished too little to be measured: measure longer (--seconds)"
            )
        early, late = ([int(word) for word in line.words[2:5]] for line in (own[0], own[-1]))
        seconds, count = (late[0] - early[0]) / 1e6, late[1] - early[1]
        throughput += count / seconds
        work_per_s += session.work(early[1], late[1]) / seconds
        responses, done = responses + (late[2] - early[2]) / 1000, done + count
    cpu, steal, queue = _guest_figures(begin, end, vcpus)
    host = _host_figures(begin, end)
    return View(
        cpu_pct=cpu,
        run_queue=queue,
        steal_pct=steal,
        throughput_per_s=throughput,
        response_ms=responses / done,
        transactions=done,
        burst_ms=10 * sum(each["run_pct"] for each in host) / work_per_s,
        load1=float(end.words[12]),
        vcpus=tuple(host),
    )


def series(lines: Sequence[Line], begin_ns: int, vcpus: int) -> list[dict[str, float]]:
    """Return the figures per second: `time_s` since `begin_ns`, `cpu_pct` of the guest, `run_pct` and `wait_pct` of the
    host.
    """
    told = _said(lines, "G")
    found = []
    for begin, end in itertools.pairwise(told):
        host = _host_figures(begin, end)
        found.append(
            {
                "time_s": (end.host_ns - begin_ns) / 1e9,
                "cpu_pct": _guest_figures(begin, end, vcpus)[0],
                "run_pct": statistics.fmean(each["run_pct"] for each in host),
                "wait_pct": statistics.fmean(each["wait_pct"] for each in host),
            }
        )
    return found


def _guest_figures(begin: Line, end: Line, vcpus: int) -> tuple[float, float, float]:
    """Return CPU %, steal % and mean run queue of a guest between two of its lines."""
    early, late = [int(word) for word in begin.words[1:12]], [int(word) for word in end.words[1:12]]
    ticks = [after - before for before, after in zip(early[1:9], late[1:9], strict=True)]
    _user, _nice, _system, idle, iowait, _irq, _softirq, steal = ticks
    # time by the guest's clock, not the sum of the columns: a tick that came late is in none of them
    all_ticks = (late[0] - early[0]) / 1e6 * system.TICKS_PER_S * vcpus
    queue = (late[9] - early[9]) / (late[10] - early[10])
    return _percent(all_ticks - idle - iowait - steal, all_ticks), _percent(steal, all_ticks), queue


def _host_figures(begin: Line, end: Line) -> list[dict[str, float]]:
    """Return the scheduler's account of each vCPU between two lines."""
    elapsed_ns = end.host_ns - begin.host_ns
    spent = [after.since(before) for before, after in zip(begin.accounts, end.accounts, strict=True)]
    return [
        {"run_pct": _percent(each.run_ns, elapsed_ns), "wait_pct": _percent(each.wait_ns, elapsed_ns)} for each in spent
    ]


def _percent(part: float, whole: float) -> float:
    """Return the percentage from 0 to 100: clocks that differ by a tick must not show as -0.1 % or 100.1 %."""
    return min(100.0, max(0.0, 100 * part / whole))


def _compare(name: str, seen: View, twin: dict[str, float], accelerator: str) -> dict[str, Any]:
    return {
        "name": name,
        "guest": {
            "cpu_pct": seen.cpu_pct,
            "run_queue": seen.run_queue,
            "steal_pct": seen.steal_pct,
            "throughput_per_s": seen.throughput_per_s,
            "response_ms": seen.response_ms,
            "transactions": seen.transactions,
            "load1": seen.load1,
        },
        "host": {
            "run_pct": seen.run_pct,
            "wait_pct": seen.wait_pct,
            "burst_ms": seen.burst_ms,
            "vcpus": list(seen.vcpus),
        },
        "twin": twin,
        "error": {
            "throughput_pct": 100 * (twin["throughput_per_s"] / seen.throughput_per_s - 1),
            "response_pct": 100 * (twin["response_ms"] / seen.response_ms - 1),
            "cpu_points": twin["cpu_pct"] - seen.cpu_pct,
            "run_points": twin["run_pct"] - seen.run_pct,
            "wait_points": twin["wait_pct"] - seen.wait_pct,
        },
        "differ": differ(seen),
        "story": story(name, seen, accelerator),
    }


def differ(seen: View) -> bool:
    """True if guest and host disagree: the guest's CPU % differs from the run time of its vCPUs."""
    return seen.cpu_pct - seen.run_pct >= STORY_POINTS


def story(name: str, seen: View, accelerator: str) -> str:
    """Return the figures of guest and host in one sentence, and whether they agree."""
    if accelerator == "kvm":
        hidden = f"its steal time says {seen.steal_pct:.0f} %"
    else:
        hidden = "its steal time says nothing, an emulated guest is not told"
    if differ(seen):
        return (
            f"{name} and the host tell different stories: it sees itself {seen.cpu_pct:.0f} % busy, but its vCPU runs "
            f"{seen.run_pct:.0f} % of the time and waits {seen.wait_pct:.0f} % for a host CPU; {hidden}."
        )
    if seen.wait_pct >= STORY_POINTS:
        return (
            f"{name} sees itself {seen.cpu_pct:.0f} % busy, which is what its vCPU runs; that it waits "
            f"{seen.wait_pct:.0f} % of the time for a host CPU its CPU % does not show; {hidden}."
        )
    return (
        f"{name} and the host agree: {seen.cpu_pct:.0f} % busy, {seen.run_pct:.0f} % run, "
        f"{seen.wait_pct:.0f} % waiting for a host CPU."
    )


def _errors(guests: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the median absolute error over the guests, of each figure."""
    return {key: statistics.median(abs(each["error"][key]) for each in guests) for key in guests[0]["error"]}


def _accelerator(plan: Plan, kvm: qemu.Settings, cpus: Sequence[int], folder: Path) -> tuple[str, str]:
    """Return the accelerator to use, and the reason against the better one."""
    if plan.accel == "tcg":
        return "tcg", "asked for"
    trouble = qemu.kvm_trouble(kvm, cpus, folder)
    if not trouble:
        return "kvm", ""
    if plan.accel == "kvm":
        raise GuestError(f"KVM cannot be used: {trouble}\n  help: --accel tcg emulates the guests in software")
    return "tcg", f"KVM cannot be used: {trouble}"


def _check(plan: Plan) -> list[int]:
    """Return the host CPUs of a plan. Raises ScenarioError. The path of a problem is the name of the argument."""
    allowed = system.usable_cpus()
    cpus = _cpu_list(plan.cpus)
    if not cpus:
        hint = f"this process may use {written(allowed)}"
        fail("bad-affinity", "cpus", plan.cpus, "CPUs of this machine, such as 0 or 0-1,4", hint)
    if not set(cpus) <= set(allowed):
        hint = "taskset or a container may have narrowed what this process may use"
        fail("affinity-outside-host", "cpus", plan.cpus, f"CPUs out of {written(allowed)}", hint)
    if plan.vcpus > len(cpus):
        hint = "give more --cpus, or more guests of fewer vCPUs"
        fail("vm-wider-than-host", "vcpus", plan.vcpus, f"at most the {len(cpus)} CPUs of --cpus", hint)
    return cpus


def _cpu_list(text: str) -> list[int]:
    """Return CPU numbers in a list such as `0-2,5`, or an empty list for other text."""
    try:
        return sorted(set(system.cpu_list(text)))
    except ValueError:
        return []


def _host(cpus: Sequence[int]) -> dict[str, Any]:
    kernel = system.kernel()
    return {
        "cpu": system.processor()["model"],
        "logical_cpus": len(system.topology()),
        "cpus": written(cpus),
        "kernel": kernel["release"],
        "hz": kernel["hz"],
        "base_slice_ms": kernel["base_slice_ns"] / 1e6,
    }


def _ticks(cpus: Sequence[int]) -> dict[str, int]:
    """Return the busy and stolen ticks of host CPUs since boot (/proc/stat, proc(5))."""
    found = {"busy": 0, "steal": 0}
    for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
        name = line.partition(" ")[0].removeprefix("cpu")
        if name.isdigit() and int(name) in cpus:
            ticks = system.cpu_ticks(line)
            found = {key: found[key] + ticks[key] for key in found}
    return found


def _said(lines: Sequence[Line], word: str) -> list[Line]:
    return [line for line in lines if line.words[:1] == (word,)]


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")


def _prepare(out: Path) -> None:
    """Create the folder, and remove an earlier result. Raises FolderError."""
    for name in (SCENARIO, PREDICTION, RESULT):
        writing.claim(out / name)
    with _folder(out):
        out.mkdir(parents=True, exist_ok=True)
        for name in (SCENARIO, PREDICTION, RESULT):
            (out / name).unlink(missing_ok=True)
        with tempfile.TemporaryFile(dir=out):  # fails now if not later
            pass


def _write(path: Path, text: str) -> None:
    with _folder(path.parent):
        path.write_text(text, encoding="utf-8")


def _write_json(path: Path, value: Any) -> None:
    _write(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


@contextlib.contextmanager
def _folder(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FolderError(
            f"cannot write into {out}: {error.strerror}\n  help: name another folder with --out"
        ) from error


_COMMENT = """# Written by `hypertwin lab vm` before the guests were measured together.
# Try: hypertwin simulate scenario.yaml
"""
