"""CPU contention: predict experiments with the twin, record the predictions, then run the experiments.

Every experiment is a hypertwin scenario of this machine. Its threads are VMs on a Linux host, its loops closed
workloads. All scenarios use the same figures of the machine (`hypertwin lab profile`). No value is set for a single
experiment. All predictions are on disk, with a hash, before the first measurement begins.

Threads draw think times and bursts from the kernel's named streams, so experiment and scenario have the same load.
The lab uses no other part of the simulation. The twin has one VM per control group. In a VM with one vCPU, the thread
is the vCPU; a larger VM has as many sessions as vCPUs. Its guest therefore always has a free vCPU, and adds no queue.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from hypertwin import _core, naming, scenario
from hypertwin.documents import lab as documents
from hypertwin.errors import HypertwinError, Mistake, ScenarioError, fail
from hypertwin.files import writing, yaml_file
from hypertwin.lab import control_groups, system
from hypertwin.runs import simulation
from hypertwin.runs.simulation import LabelledProgress

PROMISED = {"throughput_pct": 5.0, "response_mean_pct": 10.0, "response_p95_pct": 15.0, "wait_points": 4.0}
"""Maximum number of medians over experiments of the absolute errors, on a quiet machine."""

MOST_STEAL_PCT = 1.0
MOST_FOREIGN_PCT = 2.0
"""Share of all CPU time, stolen by the host or used by other processes, above which a run counts as disturbed."""

EXTRA_RUNS = 2
"""Maximum number of repetitions of disturbed runs."""

WARMUP_S = 1.0
TWIN = {"duration": "40 s", "warmup": "2 s", "sample_interval": "10 s", "replications": 8, "seed": 1}
"""Run settings of the twin for each experiment."""

UNKNOWN_CLOCK_HZ = 1e9
"""Clock of the twin if the machine does not report its own. Work is CPU time, so any clock gives the same result."""
NORMAL_SHARES = 1000
MOST_THREADS = 256

_FIELDS = ("vms", "vcpus", "cpus", "think", "think_cv", "burst", "burst_cv", "shares", "quota")


class LabError(HypertwinError):
    """Raised if an experiment could not be run."""

    code = "lab"


@dataclass(frozen=True)
class Group:
    """Identical machines of an experiment."""

    name: str
    vms: int
    """Machines."""
    vcpus: int
    """Threads of one machine."""
    cpus: tuple[int, ...]
    """CPUs where they can run, numbered within the CPUs of the lab."""
    think_s: float
    think_cv: float
    burst_s: float
    burst_cv: float
    shares: float | None
    """Shares of one machine, or None for normal shares."""
    quota_cpus: float | None
    """Maximum number of CPUs of one machine."""

    @property
    def total_shares(self) -> float:
        """Shares of one machine."""
        return NORMAL_SHARES * self.vcpus if self.shares is None else self.shares


@dataclass(frozen=True)
class Experiment:
    """Groups of threads that contend."""

    name: str
    description: str
    groups: tuple[Group, ...]

    @property
    def needs_control_groups(self) -> bool:
        """True if the experiment has weights or quotas, which need control groups."""
        return any(group.shares is not None or group.quota_cpus is not None for group in self.groups)


# ---- reading experiments


def read(path: Path | None = None, only: Sequence[str] = ()) -> list[Experiment]:
    """Return the experiments of a file (default: the lab's own), or those named in `only`. Raises ScenarioError."""
    if path is None:
        file = "experiments.yaml"
        text = resources.files("hypertwin.lab").joinpath(file).read_text(encoding="utf-8")
    else:
        file, text = str(path), yaml_file.read_text(path)
    document = yaml_file.parse(text, file)
    reader = _Reader(file, document.root, [replace(mistake, file=file) for mistake in document.mistakes])
    experiments = reader.experiments()
    if reader.mistakes:
        raise ScenarioError.of(reader.mistakes)
    names = [experiment.name for experiment in experiments]
    for name in only:
        if name not in names:
            hint = naming.hint(name, names, "look at the names")
            allowed = f"one of {', '.join(names)}"
            fail("unknown-value", "", name, allowed, hint, "--only")
    return [experiment for experiment in experiments if not only or experiment.name in only]


class _Reader:
    """Reader of a file of experiments that collects all problems."""

    def __init__(self, file: str, root: yaml_file.Node, mistakes: list[Mistake]) -> None:
        self.file, self.root, self.mistakes = file, root, mistakes

    def experiments(self) -> list[Experiment]:
        data = self.root.data()
        if not isinstance(data, dict) or not data:
            self.wrong("wrong-type", "", data, "experiments by name", "write `NAME: { groups: { ... } }`")
            return []
        return [self.experiment(name, entry) for name, entry in data.items()]

    def experiment(self, name: str, entry: Any) -> Experiment:
        self.name_of(name, name)
        if not self.keys(name, entry, ("description", "groups")) or not isinstance(entry.get("groups"), dict):
            if isinstance(entry, dict):
                self.wrong("missing-key", f"{name}.groups", "(missing)", "groups by name", "add `groups: { vm: ... }`")
            return Experiment(name, "", ())
        groups = tuple(self.group(f"{name}.groups.{key}", key, value) for key, value in entry["groups"].items())
        threads = sum(group.vms * group.vcpus for group in groups)
        if not 1 <= threads <= MOST_THREADS:
            self.wrong("out-of-range", f"{name}.groups", f"{threads} threads", f"1 to {MOST_THREADS} in all", "")
        return Experiment(name, str(entry.get("description", "")), groups)

    def group(self, path: str, name: str, entry: Any) -> Group:
        self.name_of(path, name)
        if not self.keys(path, entry, _FIELDS):
            entry = {}
        cpus = entry.get("cpus", [0])
        if not isinstance(cpus, list) or not cpus or not all(type(cpu) is int and cpu >= 0 for cpu in cpus):
            self.wrong("wrong-type", f"{path}.cpus", cpus, "a list of numbers from 0", "write `cpus: [0, 1]`")
            cpus = [0]
        if "burst" not in entry:
            self.wrong("missing-key", f"{path}.burst", "(missing)", "a duration", "write `burst: 5 ms`")
        return Group(
            name=name,
            vms=int(self.number(path, entry, "vms", 1, 1, MOST_THREADS, whole=True) or 1),
            vcpus=int(self.number(path, entry, "vcpus", 1, 1, MOST_THREADS, whole=True) or 1),
            cpus=tuple(sorted(set(cpus))),
            think_s=self.seconds(path, entry, "think", 0.0, 0.0),
            think_cv=self.number(path, entry, "think_cv", 1.0, 0.0, 10.0) or 0.0,
            burst_s=self.seconds(path, entry, "burst", 1e-3, 1e-4),
            burst_cv=self.number(path, entry, "burst_cv", 1.0, 0.0, 10.0) or 0.0,
            shares=self.number(path, entry, "shares", None, 2.0, 100_000.0),
            quota_cpus=self.number(path, entry, "quota", None, 0.01, 1000.0),
        )

    def keys(self, path: str, entry: Any, known: Sequence[str]) -> bool:
        if not isinstance(entry, dict):
            self.wrong("wrong-type", path, entry, f"a mapping of {', '.join(known)}", "")
            return False
        for key in entry:
            if key not in known:
                hint = naming.hint(str(key), known, "leave it out")
                self.wrong("unknown-key", f"{path}.{key}", key, ", ".join(known), hint)
        return True

    def name_of(self, path: str, name: Any) -> None:
        if not isinstance(name, str) or not name.replace("-", "").isalnum() or len(name) > 40:
            self.wrong("bad-name", path, name, "letters, digits and `-`, at most 40", "rename it")

    def number(
        self, path: str, entry: Any, key: str, default: float | None, least: float, most: float, whole: bool = False
    ) -> float | None:
        value = entry.get(key, default)
        if value is None and default is None:
            return None
        kinds = (int,) if whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
            what = "a whole number" if whole else "a number"
            self.wrong("out-of-range", f"{path}.{key}", value, f"{what}, {least:g} to {most:g}", "")
            return default
        return float(value)

    def seconds(self, path: str, entry: Any, key: str, default: float, least: float) -> float:
        if key not in entry:
            return default
        try:
            value = _core.duration_s(str(entry[key]))
        except ValueError:
            value = -1.0
        if not least <= value <= 60:
            self.wrong("out-of-range", f"{path}.{key}", entry[key], f"a duration, {least:g} s to 60 s", "as in `5 ms`")
            return default
        return value

    def wrong(self, code: str, path: str, value: Any, allowed: str, hint: str) -> None:
        line = self.root.line_at(path)
        hint = hint or "correct it"
        self.mistakes.append(Mistake(code, path, str(value)[:80], allowed, hint, self.file, line))


# ---- the machine


def cpu_order(machine: Mapping[str, Any]) -> list[int]:
    """Return logical CPUs of the lab in order: one of each core first, then their siblings."""
    cores = system.siblings(machine["topology"]["cpus"])
    usable = set(machine["topology"]["usable"])
    most = max(len(core) for core in cores)
    return [core[thread] for thread in range(most) for core in cores if thread < len(core) and core[thread] in usable]


def twin_cpu(machine: Mapping[str, Any], cpu: int) -> int:
    """Return the number of a logical CPU in a scenario."""
    cores = system.siblings(machine["topology"]["cpus"])
    return [each for core in cores for each in core].index(cpu)


def why_not(experiment: Experiment, cpus: Sequence[int], groups: control_groups.Tree | None, reason: str) -> str | None:
    """Return the reason why an experiment is impossible here, or None if it is possible."""
    wanted = max(cpu for group in experiment.groups for cpu in group.cpus)
    if wanted >= len(cpus):
        return f"needs {wanted + 1} CPUs, there are {len(cpus)}"
    if experiment.needs_control_groups and groups is None:
        return f"needs control groups: {reason}"
    return None


# ---- prediction


def scenario_of(experiment: Experiment, machine: Mapping[str, Any]) -> str:
    """Return the experiment as the text of a scenario file, with the measured figures of the machine."""
    cores = system.siblings(machine["topology"]["cpus"])
    sockets = len({entry["socket"] for entry in machine["topology"]["cpus"]})
    threads = max(len(core) for core in cores)
    clock_hz = machine["processor"]["clock_hz"] or UNKNOWN_CLOCK_HZ
    order = cpu_order(machine)
    switch_s = machine["context_switch_ns"]["median"] / 1e9
    late_s = machine["timers"]["typical_ns"] / 1e9
    vms: dict[str, dict[str, Any]] = {}
    workloads: dict[str, dict[str, Any]] = {}
    for group in experiment.groups:
        vms[group.name] = {
            "count": group.vms,
            "vcpus": group.vcpus,
            "memory": "64 MiB",
            "shares": group.total_shares,
            "affinity": ",".join(str(twin_cpu(machine, order[cpu])) for cpu in group.cpus),
            "workload": group.name,
        }
        if group.quota_cpus is not None:
            vms[group.name]["limit"] = f"{group.quota_cpus * clock_hz / 1e6:.3f} MHz"
        closed: dict[str, Any] = {"population": group.vcpus}
        if group.think_s > 0:
            closed["think"] = {"mean": _ms(group.think_s), "cv": group.think_cv}
        workloads[group.name] = {
            "arrivals": {"closed": closed},
            "cpu": {"mean": _ms(group.burst_s), "cv": group.burst_cv},
            "wake_up": "0 s",
        }
        if group.think_s > 0:
            # waking costs the CPU a switch, and the thread begins late: measured here, in place of the model's wake-up
            workloads[group.name]["cpu"]["mean"] = _ms(group.burst_s + switch_s)
            workloads[group.name]["delay"] = {"mean": _ms(late_s), "cv": 0}
    host: dict[str, Any] = {
        "sockets": sockets,
        "cores_per_socket": len(cores) // sockets,
        "threads_per_core": threads,
        "clock": f"{clock_hz / 1e6:.3f} MHz",
        "memory_per_node": "64 GiB",
        "hypervisor": "linux-6.12",
        "scheduler": {
            "base_slice": f"{machine['kernel']['base_slice_ns'] / 1e6:g} ms",
            "tick": f"{1000 / machine['kernel']['hz']:g} ms",
        },
        "overhead": {"worlds_per_vm": 1, "cpu_per_io": "0 us", "activity_pct": 0},
    }
    if machine["smt"] is not None:
        host["smt_yield"] = round(min(2.0, max(1.0, machine["smt"]["yield"])), 3)
    data = {
        "name": experiment.name,
        "description": experiment.description or experiment.name,
        "run": TWIN,
        "hosts": {"machine": host},
        "vms": vms,
        "workloads": workloads,
    }
    return f"# Made by `hypertwin lab cpu` from machine.json.\n{yaml.safe_dump(data, sort_keys=False)}"


def predict(experiment: Experiment, machine: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Simulate the experiment. Write scenario and prediction to `folder`, and return the prediction."""
    folder.mkdir(parents=True, exist_ok=True)
    text = scenario_of(experiment, machine)
    (folder / "scenario.yaml").write_text(text, encoding="utf-8")
    point = simulation.simulate(scenario.load(folder / "scenario.yaml")).reports[0]
    prediction = {
        "experiment": experiment.name,
        "predicted_at": datetime.now(UTC).isoformat(),
        "version": _core.version(),
        "scenario_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "groups": {group.name: _figures(point["groups"][group.name]) for group in experiment.groups},
    }
    system.write_json(folder / "prediction.json", prediction)
    return prediction


def _figures(found: Mapping[str, Any]) -> dict[str, float]:
    return {
        "throughput_per_s": found["throughput_per_s"],
        "response_ms_mean": found["response_ms"]["mean"],
        "response_ms_p95": found["response_ms"]["p95"],
        "wait_pct": found["ready_pct"],
        "run_pct": found["run_pct"],
    }


# ---- measurement


def measure(
    experiment: Experiment,
    machine: Mapping[str, Any],
    *,
    seconds: float,
    repeat: int,
    groups: control_groups.Tree | None,
    finished: Callable[[], None],
) -> tuple[list[dict[str, Any]], list[str]]:
    """Run the experiment `repeat` times, and at most EXTRA_RUNS times more for disturbed or failed runs.

    Returns all runs, and the reasons for failed ones.
    """
    runs: list[dict[str, Any]] = []
    failed: list[str] = []
    for made in range(1, repeat + EXTRA_RUNS + 1):
        try:
            runs.append(_one_run(experiment, machine, seconds, made, groups))
        except (LabError, control_groups.ControlGroupError) as error:
            failed.append(str(error))
        if made <= repeat:
            finished()
        if sum(not one["disturbed"] for one in runs) >= repeat:
            break
    return runs, failed


def _one_run(
    experiment: Experiment,
    machine: Mapping[str, Any],
    seconds: float,
    seed: int,
    tree: control_groups.Tree | None,
) -> dict[str, Any]:
    names = {f"{group.name}-{number}": group for group in experiment.groups for number in range(group.vms)}
    order = cpu_order(machine)
    settings = {name: (group.total_shares, group.quota_cpus) for name, group in names.items()}

    def job(files: Mapping[str, str]) -> dict[str, Any]:
        return {
            "seed": seed,
            "warmup_s": min(WARMUP_S, seconds),
            "measured_s": seconds,
            "spin_units_per_s": machine["spin"]["units_per_s"],
            "groups": [
                {
                    "name": name,
                    "threads": group.vcpus,
                    "cpus": [order[cpu] for cpu in group.cpus],
                    "think_mean_s": group.think_s,
                    "think_cv": group.think_cv,
                    "burst_mean_s": group.burst_s,
                    "burst_cv": group.burst_cv,
                    "tasks_file": files.get(name),
                }
                for name, group in names.items()
            ],
        }

    started = datetime.now(UTC).isoformat()
    if tree is None:
        measured = _experiment(job({}))
    else:
        with tree.machines(settings) as files:
            measured = _experiment(job(files))
    own_run_s = sum(thread["run_s"] for found in measured["groups"] for thread in found["threads"])
    noise = system.noise(measured["cpu_ticks"][0], measured["cpu_ticks"][1], own_run_s)
    merged = {
        group.name: _merged(
            [found for found in measured["groups"] if names[found["name"]] is group],
            measured["measured_s"],
        )
        for group in experiment.groups
    }
    return {
        "measured_from": started,
        "seed": seed,
        "measured_s": measured["measured_s"],
        "noise": noise,
        "load": [float(text.split()[0]) for text in measured["load"]],
        "disturbed": noise["steal_pct"] > MOST_STEAL_PCT or noise["foreign_pct"] > MOST_FOREIGN_PCT,
        "groups": merged,
        "machines": measured["groups"],
    }


def _experiment(job: Mapping[str, Any]) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(_core.lab_experiment(json.dumps(job)))
    except _core.LabFailed as error:
        raise LabError(f"the experiment could not be run: {error}") from None
    return found


def _merged(machines: Sequence[Mapping[str, Any]], measured_s: float) -> dict[str, float]:
    """Return the figures of a group of VMs, whose loops are all alike."""
    transactions = sum(found["transactions"] for found in machines)

    def mean(what: str) -> float:
        weighted = sum(found["response_s"][what] * found["transactions"] for found in machines)
        return float(1000 * weighted / max(1, transactions))

    threads = [thread for found in machines for thread in found["threads"]]
    return {
        "throughput_per_s": transactions / measured_s,
        "response_ms_mean": mean("mean"),
        "response_ms_p95": mean("p95"),
        "wait_pct": 100 * statistics.fmean(thread["wait_s"] for thread in threads) / measured_s,
        "run_pct": 100 * statistics.fmean(thread["run_s"] for thread in threads) / measured_s,
    }


# ---- comparison


def compare(
    experiment: Experiment, prediction: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]
) -> documents.Experiment:
    """Return the comparison of prediction and measurement.

    Undisturbed runs count. Without undisturbed runs, all runs count and the experiment is flagged.
    """
    quiet = [one for one in runs if not one["disturbed"]]
    counted = quiet or list(runs)
    rows: list[documents.Group] = []
    for group in experiment.groups:
        predicted = prediction["groups"][group.name]
        every = [one["groups"][group.name] for one in counted]
        measured = {key: statistics.fmean(found[key] for found in every) for key in predicted}
        rows.append(
            {
                "group": group.name,
                "predicted": predicted,
                "measured": measured,
                "spread": {key: _half_range([found[key] for found in every]) for key in predicted if len(every) > 1},
                "errors": {
                    "throughput_pct": _error_pct(predicted, measured, "throughput_per_s"),
                    "response_mean_pct": _error_pct(predicted, measured, "response_ms_mean"),
                    "response_p95_pct": _error_pct(predicted, measured, "response_ms_p95"),
                    "wait_points": predicted["wait_pct"] - measured["wait_pct"],
                },
            }
        )
    return {
        "experiment": experiment.name,
        "description": experiment.description,
        "rows": rows,
        "errors": {key: statistics.fmean(abs(row["errors"][key]) for row in rows) for key in PROMISED},
        "runs": len(runs),
        "runs_counted": len(counted),
        "flagged": not quiet,
        "steal_pct": max(one["noise"]["steal_pct"] for one in counted),
        "foreign_pct": max(one["noise"]["foreign_pct"] for one in counted),
    }


def _error_pct(predicted: Mapping[str, float], measured: Mapping[str, float], key: str) -> float:
    return 100 * (predicted[key] - measured[key]) / measured[key] if measured[key] > 0 else 100.0


def _half_range(values: Sequence[float]) -> float:
    return (max(values) - min(values)) / 2


# ---- all of it


def experiments(
    machine: Mapping[str, Any],
    chosen: Sequence[Experiment],
    *,
    out: Path,
    seconds: float = 10.0,
    repeat: int = 3,
    progress: LabelledProgress | None = None,
) -> documents.Contention:
    """Predict the `chosen` experiments, then measure them. Files go to `out`.

    The result is the document of `lab cpu --format json`.
    """
    tree, reason = control_groups.find()
    cpus = cpu_order(machine)
    skipped: list[documents.Skipped] = []
    possible = []
    for experiment in chosen:
        why = why_not(experiment, cpus, tree, reason)
        if why is None:
            possible.append(experiment)
        else:
            skipped.append({"experiment": experiment.name, "reason": why})
    steps = len(possible) * (1 + repeat)
    done = 0

    def finished(label: str) -> None:
        nonlocal done
        done += 1
        if progress:
            progress(label, done, steps)

    results = ("machine.json", "predictions.json", "results.json")
    parts = ("scenario.yaml", "prediction.json", "measurement.json")
    for name in (*results, *(f"{experiment.name}/{part}" for experiment in possible for part in parts)):
        writing.claim(out / name)
    try:
        out.mkdir(parents=True, exist_ok=True)
        system.write_json(out / "machine.json", machine)
        predictions = {}
        for experiment in possible:
            predictions[experiment.name] = predict(experiment, machine, out / experiment.name)
            finished("predicting")
        hashes = {name: system.sha256(out / name / "prediction.json") for name in predictions}
        system.write_json(out / "predictions.json", {"written_at": datetime.now(UTC).isoformat(), "sha256": hashes})
        compared = []
        for experiment in possible:
            time.sleep(0.2)
            runs, failed = measure(
                experiment,
                machine,
                seconds=seconds,
                repeat=repeat,
                groups=tree,
                finished=lambda: finished("measuring"),
            )
            if failed:
                what = f"{len(failed)} of {len(runs) + len(failed)} runs could not be made" if runs else "not measured"
                skipped.append({"experiment": experiment.name, "reason": f"{what}: {failed[0]}"})
            if not runs:
                continue
            system.write_json(
                out / experiment.name / "measurement.json", {"experiment": asdict(experiment), "runs": runs}
            )
            result = compare(experiment, predictions[experiment.name], runs)
            result["prediction_sha256"] = hashes[experiment.name]
            result["prediction_unchanged"] = (
                system.sha256(out / experiment.name / "prediction.json") == hashes[experiment.name]
            )
            result["predicted_at"] = predictions[experiment.name]["predicted_at"]
            result["measured_from"] = runs[0]["measured_from"]
            compared.append(result)
        if tree is not None and (left := tree.clear()):
            reason += f"; still there, remove by rmdir: {' '.join(map(str, left))}"
        summary: documents.Contention = {
            "version": _core.version(),
            "machine": {"processor": machine["processor"], "kernel": machine["kernel"]},
            "control_groups": reason,
            "seconds": seconds,
            "repeat": repeat,
            "experiments": compared,
            "skipped": skipped,
            "medians": medians(compared),
            "promised": PROMISED,
            "out": str(out),
        }
        system.write_json(out / "results.json", summary)
    except OSError as error:
        raise LabError(f"cannot write to {error.filename or out}: {error.strerror}") from error
    return summary


def medians(compared: Sequence[documents.Experiment]) -> dict[str, float | None]:
    """Return median over experiments of the absolute errors, each the mean over an experiment's groups, or None without
    experiments."""
    return {
        key: statistics.median(result["errors"][key] for result in compared) if compared else None for key in PROMISED
    }


def within_promise(summary: documents.Contention) -> bool:
    """True if all medians are within the promised limits, and all predictions are unchanged since the measurement."""
    return all(median is not None and median <= PROMISED[key] for key, median in summary["medians"].items()) and all(
        result["prediction_unchanged"] for result in summary["experiments"]
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.6g} ms"
