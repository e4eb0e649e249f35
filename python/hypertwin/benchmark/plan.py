"""Plan of a campaign: targets, load, steps and limits, from a YAML file. docs/guides/benchmark.md explains its keys.

Targets are the VMs of one group of the scenario, in the order of the plan. A step uses the first `vms` of them.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypertwin import _core, naming
from hypertwin.benchmark import esxi, inventory
from hypertwin.benchmark.load import KINDS, Load
from hypertwin.benchmark.load.generator import FIGURES
from hypertwin.benchmark.step import Step
from hypertwin.benchmark.target import Target, excluded
from hypertwin.errors import Mistake, ScenarioError
from hypertwin.files import yaml_fields, yaml_file
from hypertwin.files.yaml_fields import Fields, shown
from hypertwin.ingest import address

KEYS = (
    *("name", "description", "scenario", "group", "targets", "inventory", "hosts", "exclude", "load", "steps"),
    *("repeats", "warmup", "duration", "pause", "calibrate", "limits", "guards", "seed", "telemetry"),
)
TARGET_KEYS = ("address", "port", "config", "folder", "host", "vm", "hostname", "cgroup", "options")
HOST_KEYS = ("address", "port", "config", "folder", "hostname", "collect")
ESXI_KEYS = ("kind", "address", "port", "config", "command")
HOST_KINDS = ("linux", esxi.KIND)
LIMIT_KEYS = ("vms", "threads", "rate", "depth", "space", "time")
GUARD_KEYS = ("cpu_pressure_pct", "io_pressure_pct", "memory_pressure_pct", "steal_pct", "free_space", "load_1min")
CALIBRATE_KEYS = ("step", "free", "figures")

SERVERS = ("prometheus", "prometheuss")
"""Schemes of servers of telemetry."""
MAX_TARGETS = 256
MAX_STEPS = 1000
MAX_REPEATS = 100
MAX_NAME = 64
MAX_SECONDS = 86_400.0
MAX_EXCLUDED = 1000

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_ADDRESS = re.compile(
    r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9_\[][A-Za-z0-9_.:%\[\]-]{0,254}|libvirt:[A-Za-z0-9_.-]+"
)
_FORM = "{address: root@10.0.0.7}"
_EMPTY = ("a mapping with name, scenario, targets, load and steps", "`hypertwin examples` has plans of benchmarks")


@dataclass(frozen=True)
class Calibrate:
    """Steps that set parameters of the scenario before the prediction."""

    steps: tuple[Step, ...]
    free: tuple[str, ...]
    """Parameters, in the form of `hypertwin calibrate --free`."""
    figures: tuple[str, ...] = ()
    """Measured figures that set them, or nothing for those of the load."""


@dataclass(frozen=True)
class Plan:
    """Campaign."""

    name: str
    scenario: Path
    group: str
    targets: tuple[Target, ...]
    load: Load
    steps: tuple[Step, ...]
    hosts: tuple[Target, ...] = ()
    """Linux hosts to observe."""
    esxi: tuple[Target, ...] = ()
    """ESXi hosts to observe."""
    exclude: tuple[str, ...] = ()
    """Patterns of names and addresses that never get load."""
    repeats: int = 3
    warmup_s: float = 5.0
    duration_s: float = 30.0
    pause_s: float = 2.0
    """Pause between two measurements."""
    calibrate: Calibrate | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    """Largest values of the keys of steps, of the space in bytes, and of the time of the campaign in seconds."""
    guards: Mapping[str, float] = field(default_factory=dict)
    """Values of measured figures that end the campaign."""
    seed: int = 1
    telemetry: str | None = None
    """Address of a server with telemetry of hosts and VMs, or None."""
    description: str = ""
    text: str = ""
    """Content of the file."""

    def target(self, name: str) -> Target:
        """Return a target or host by name."""
        return next(each for each in (*self.targets, *self.hosts, *self.esxi) if each.name == name)

    def order(self, repeat: int) -> list[Step]:
        """Return the steps in the order of a repeat, from 0: as written, backwards, then shuffled."""
        steps = list(self.steps)
        if repeat == 1:
            steps.reverse()
        elif repeat > 1:
            random.Random(f"{self.seed}/{repeat}").shuffle(steps)
        return steps

    @property
    def longest_s(self) -> float:
        """Time of the whole campaign without preparations, in seconds."""
        return len(self.steps) * self.repeats * (self.warmup_s + self.duration_s + self.pause_s)


def read(path: str | Path) -> Plan:
    """Return the plan in a file. Raises ScenarioError with every problem."""
    text, file = yaml_file.read_text(Path(path)), yaml_file.name_of(path)
    return loads(text, file, Path(path).parent)


def loads(text: str, file: str, folder: Path) -> Plan:
    """Return the plan in a text. Files are relative to `folder`. Raises ScenarioError with every problem."""

    def parse(data: object, mistakes: list[Mistake]) -> Plan | None:
        return _Reader(mistakes, folder, text).read(data)

    found = yaml_fields.loads(text, file, parse, *_EMPTY)
    assert found is not None  # a plan without a problem
    return found


@dataclass
class _Reader(Fields):
    """Reader of the content."""

    folder: Path
    text: str

    def read(self, data: object) -> Plan | None:
        """Return the plan, or None if a required part is missing or wrong."""
        if not isinstance(data, dict):
            self.wrong("wrong-type", "", shown(data), *_EMPTY)
            return None
        self.known(data, KEYS, "")
        name = self._name(data.get("name"), "name", "name: sysbench-mariadb")
        scenario = self._text(data.get("scenario"), "scenario", "scenario: scenario.yaml")
        group = self._text(data.get("group"), "group", "group: db")
        exclude = self._texts(data.get("exclude"), "exclude")
        load = self._load(data.get("load"))
        targets = tuple(self._targets(data, exclude, load))
        hosts, of_esxi = self._hosts(data.get("hosts"))
        observed = [each.name for each in (*hosts, *of_esxi)]
        for target in targets:
            if target.host not in (None, *observed) and data.get("telemetry") is None:
                path, allowed = f"targets.{target.name}.host", ", ".join(observed) or "(no hosts in the plan)"
                self.wrong("unknown-reference", path, str(target.host), allowed, "add it to hosts")
            if target.name in observed:
                self.wrong("duplicate-name", f"hosts.{target.name}", target.name, "no name of a target", "rename one")
        steps = self._steps(data.get("steps"), load, len(targets))
        if load is not None:
            load.check_steps(steps, self)
        limits = {
            key: value
            for key, value in self._amounts(data.get("limits"), "limits", LIMIT_KEYS).items()
            if value is not None
        }
        self._within(steps, limits)
        found = Plan(
            name=name,
            scenario=self.folder / scenario,
            group=group,
            targets=targets,
            hosts=hosts,
            esxi=of_esxi,
            load=load or next(iter(KINDS.values()))({}, self, "load"),
            steps=steps,
            exclude=exclude,
            repeats=int(self._whole(data.get("repeats"), 1, MAX_REPEATS, "repeats") or 3),
            warmup_s=self._seconds(data.get("warmup"), 0, "warmup", 5.0),
            duration_s=self._seconds(data.get("duration"), 1, "duration", 30.0),
            pause_s=self._seconds(data.get("pause"), 0, "pause", 2.0),
            calibrate=self._calibrate(data.get("calibrate"), steps, load, len(targets)),
            limits=limits,
            guards=self._amounts(data.get("guards"), "guards", GUARD_KEYS),
            telemetry=self._server(data.get("telemetry")),
            seed=self._seed(data.get("seed")),
            description=str(data.get("description") or ""),
            text=self.text,
        )
        if "time" in limits and found.longest_s > limits["time"]:
            value, allowed = (
                f"{found.longest_s:,.0f} s of steps",
                f"at most {limits['time']:,.0f} s, as limits.time says",
            )
            self.wrong("out-of-range", "steps", value, allowed, "take fewer steps or repeats, or a shorter duration")
        return found

    def _targets(self, data: Mapping[str, Any], exclude: Sequence[str], load: Load | None) -> Iterator[Target]:
        entries = dict(self.mapping(data.get("targets"), "targets", f"vm1: {_FORM}"))
        if data.get("inventory") is not None:
            entries = {**self._inventory(data["inventory"]), **entries}
        if not entries:
            self.wrong("missing-key", "targets", "(missing)", "at least one target", f"targets: {{vm1: {_FORM}}}")
        if len(entries) > MAX_TARGETS:
            self.wrong("out-of-range", "targets", f"{len(entries)} targets", f"at most {MAX_TARGETS}", "remove some")
            return
        for name, entry in entries.items():
            target = self._target(name, entry, f"targets.{name}", TARGET_KEYS, load)
            hit = next((each for each in exclude if excluded(target, each)), None)
            if hit is not None:
                hint = f"`exclude` has {hit}: remove the target, or the pattern"
                self.wrong("excluded-target", f"targets.{name}", target.address, "a target that is not excluded", hint)
            yield target

    def _hosts(self, value: object) -> tuple[tuple[Target, ...], tuple[Target, ...]]:
        """Return the Linux hosts and the ESXi hosts."""
        found: dict[str, list[Target]] = {kind: [] for kind in HOST_KINDS}
        for name, entry in self.mapping(value, "hosts", "{esx1: {address: esx1}}").items():
            kind = entry.get("kind", HOST_KINDS[0]) if isinstance(entry, dict) else HOST_KINDS[0]
            if not isinstance(kind, str) or kind not in found:
                allowed = ", ".join(HOST_KINDS)
                self.wrong("unknown-value", f"hosts.{name}.kind", shown(kind), allowed, f"kind: {esxi.KIND}")
                continue
            keys = ESXI_KEYS if kind == esxi.KIND else (*HOST_KEYS, "kind")
            found[kind].append(self._target(name, entry, f"hosts.{name}", keys, None))
        return tuple(found[HOST_KINDS[0]]), tuple(found[esxi.KIND])

    def _target(self, name: str, entry: object, path: str, keys: Sequence[str], load: Load | None) -> Target:
        if isinstance(entry, str):
            entry = {"address": entry}
        found = self.mapping(entry, path, _FORM)
        self.known(found, keys, f"{path}.")
        self._name(name, path, "vm1")
        address = self._text(found.get("address"), f"{path}.address", "address: root@10.0.0.7")
        if address and not _ADDRESS.fullmatch(address):
            allowed = "user@name, a name of the SSH configuration, `local` or libvirt:DOMAIN"
            self.wrong("bad-address", f"{path}.address", shown(address), allowed, "address: root@10.0.0.7")
        port = self._whole(found.get("port"), 1, 65535, f"{path}.port")
        folder = self._text(found.get("folder", "/tmp"), f"{path}.folder", "folder: /var/tmp")
        if not folder.startswith("/") or ".." in folder.split("/"):
            self.wrong("wrong-type", f"{path}.folder", shown(folder), "an absolute path", "folder: /var/tmp")
        cgroup = self._optional(found.get("cgroup"), f"{path}.cgroup")
        if cgroup is not None and (".." in cgroup.split("/") or not re.fullmatch(r"[\w./@:\\-]{1,500}", cgroup)):
            self.wrong("wrong-type", f"{path}.cgroup", shown(cgroup), "a path below /sys/fs/cgroup", "cgroup: vm1")
        return Target(
            name=name,
            address=address,
            port=None if port is None else int(port),
            config=self._optional(found.get("config"), f"{path}.config"),
            folder=folder,
            host=self._optional(found.get("host"), f"{path}.host"),
            vm=self._optional(found.get("vm"), f"{path}.vm"),
            hostname=self._optional(found.get("hostname"), f"{path}.hostname"),
            cgroup=cgroup,
            options={} if load is None else load.read_options(found.get("options"), self, f"{path}.options"),
            command=self._optional(found.get("command"), f"{path}.command"),
            collect=self._texts(found.get("collect"), f"{path}.collect"),
        )

    def _server(self, value: object) -> str | None:
        text = self._optional(value, "telemetry")
        if text is None:
            return None
        try:
            address.parse(text, tuple(SERVERS))
        except ScenarioError as error:
            first = error.mistakes[0]
            self.wrong(first.code, "telemetry", first.value, first.allowed, first.hint)
        return text

    def _inventory(self, value: object) -> dict[str, Any]:
        entry = {"file": value} if isinstance(value, str) else self.mapping(value, "inventory", "{file: hosts.ini}")
        self.known(entry, ("file", "group"), "inventory.")
        file = self._text(entry.get("file"), "inventory.file", "file: hosts.ini")
        group = self._optional(entry.get("group"), "inventory.group")
        return inventory.read(self.folder / file, group) if file else {}

    def _load(self, value: object) -> Load | None:
        entry = self.mapping(value, "load", "{kind: sysbench, script: oltp_read_write}")
        kind = entry.get("kind")
        if not isinstance(kind, str) or kind not in KINDS:
            code = "missing-key" if kind is None else "unknown-value"
            self.wrong(code, "load.kind", "(missing)" if kind is None else shown(kind), ", ".join(KINDS), "kind: fio")
            return None
        return KINDS[kind](entry, self, "load")

    def _steps(self, value: object, load: Load | None, targets: int) -> tuple[Step, ...]:
        keys = ("vms", *(load.step_keys if load else ()))
        form = "{vms: [1, 2], threads: [1, 4]}, or a list of steps"
        entries: list[tuple[str, Mapping[str, Any]]] = []
        if isinstance(value, dict):
            self.known(value, keys if load else list(value), "steps.")
            lists = {key: each if isinstance(each, list) else [each] for key, each in value.items()}
            count = 1
            for each in lists.values():
                count *= len(each)
            if count <= MAX_STEPS:
                entries = [
                    ("steps", dict(zip(lists, found, strict=True))) for found in itertools.product(*lists.values())
                ]
            else:
                self.wrong("out-of-range", "steps", f"{count} steps", f"at most {MAX_STEPS}", "list fewer values")
        elif isinstance(value, list) and len(value) <= MAX_STEPS:
            for index, each in enumerate(value):
                found = self.mapping(each, f"steps.{index}", "{vms: 1, threads: 4}")
                self.known(found, keys if load else list(found), f"steps.{index}.")
                entries.append((f"steps.{index}", found))
        else:
            self.wrong(
                "wrong-type" if value is not None else "missing-key", "steps", shown(value), form, f"steps: {form}"
            )
        if value is not None and not entries and not self.mistakes:
            self.wrong("wrong-type", "steps", shown(value), form, f"steps: {form}")
        steps = [self._step(path, entry, load, targets) for path, entry in entries]
        for index, step in enumerate(steps):
            if step in steps[:index]:
                self.wrong("duplicate-name", "steps", step.title, "each step once", "use `repeats` to repeat steps")
        return tuple(steps)

    def _step(self, path: str, entry: Mapping[str, Any], load: Load | None, targets: int) -> Step:
        vms = entry.get("vms", 1)
        self._whole(1 if vms is None else vms, 1, max(targets, 1), f"{path}.vms")
        values = {key: value for key, value in entry.items() if key != "vms"}
        for key, value in values.items():
            if load is not None and key in load.step_keys:
                load.check_step(key, value, self, f"{path}.{key}")
        # a wrong number stays, so that the step is not also reported as a duplicate of another
        return Step(int(vms) if isinstance(vms, int | float) and abs(vms) < MAX_STEPS else 1, values)

    def _within(self, steps: Sequence[Step], limits: Mapping[str, float]) -> None:
        """Check that no step has more load than the limits."""
        for key, most in limits.items():
            for step in steps:
                value = step.to_dict().get(key)
                total = value * (step.vms if key != "vms" else 1) if isinstance(value, int | float) else None
                if total is not None and total > most:
                    allowed = f"at most {most:g} over all VMs, as limits.{key} says"
                    self.wrong("out-of-range", "steps", f"{step.title}: {key} {total:g}", allowed, "lower the step")
                    break

    def _calibrate(self, value: object, steps: Sequence[Step], load: Load | None, targets: int) -> Calibrate | None:
        if value is None:
            return None
        entry = self.mapping(value, "calibrate", "{step: {vms: 1, threads: 1}, free: [workloads.oltp.cpu.mean]}")
        self.known(entry, CALIBRATE_KEYS, "calibrate.")
        given = entry.get("step")
        asked = given if isinstance(given, list) else [given]
        found = []
        for index, each in enumerate(asked):
            path = f"calibrate.step.{index}" if isinstance(given, list) else "calibrate.step"
            step = self._step(path, self.mapping(each, path, "{vms: 1}"), load, targets)
            found.append(step)
            if step not in steps:
                allowed = "; ".join(other.title for other in steps[:8]) or "a step of the plan"
                self.wrong("unknown-reference", path, step.title, allowed, "choose one of the steps")
        free = self._texts(entry.get("free"), "calibrate.free")
        if not free:
            self.wrong(
                "missing-key", "calibrate.free", "(missing)", "a list of paths", "free: [workloads.oltp.cpu.mean]"
            )
        figures = self._texts(entry.get("figures"), "calibrate.figures")
        for key in figures:
            if key not in FIGURES:
                hint = naming.hint(key, FIGURES, "choose some of these")
                self.wrong("unknown-metric", "calibrate.figures", shown(key), ", ".join(FIGURES), hint)
        return Calibrate(tuple(found), free, figures)

    def _amounts(self, value: object, path: str, keys: Sequence[str]) -> dict[str, float]:
        entry = self.mapping(value, path, "{space: 10 GiB}")
        self.known(entry, keys, f"{path}.")
        found: dict[str, float] = {}
        for key, each in entry.items():
            if key not in keys:
                continue
            if key in ("space", "free_space"):
                amount = self.quantity(each, f"{path}.{key}", _core.size_bytes, "a size, such as 10 GiB")
            elif key == "time":
                amount = self.quantity(each, f"{path}.{key}", _core.duration_s, "a time, such as 2 h")
            else:
                amount = self.number(each, 0, 1e9, f"{path}.{key}")
            if amount is not None:
                found[key] = amount
        return found

    def _seconds(self, value: object, least: float, path: str, otherwise: float) -> float:
        if value is None:
            return otherwise
        found = self.quantity(value, path, _core.duration_s, "a time, such as 30 s")
        if found is not None and not least <= found <= MAX_SECONDS:
            self.wrong("out-of-range", path, shown(value), f"{least:g} s to {MAX_SECONDS:,.0f} s", "choose such a time")
        return otherwise if found is None else found

    def _whole(self, value: object, low: int, high: int, path: str) -> float | None:
        found = self.number(value, low, high, path)
        if found is not None and found != int(found):
            self.wrong("wrong-type", path, shown(value), f"a whole number, {low} to {high}", "write a whole number")
        return found

    def _seed(self, value: object) -> int:
        found = self._whole(value, 0, 2**53 - 1, "seed")
        return 1 if found is None else int(found)

    def _name(self, value: object, path: str, hint: str) -> str:
        if value is None:
            self.wrong("missing-key", path, "(missing)", "a name", f"add {hint}")
        elif not isinstance(value, str) or not _NAME.fullmatch(value):
            allowed = f"letters, digits, `.`, `-` and `_`, at most {MAX_NAME}"
            self.wrong("bad-name", path, shown(value), allowed, hint)
        else:
            return value
        return "unnamed"

    def _text(self, value: object, path: str, hint: str) -> str:
        if value is None:
            self.wrong("missing-key", path, "(missing)", "a text", f"add {hint}")
        elif not isinstance(value, str) or not value or not value.isprintable() or len(value) > 1000:
            self.wrong("wrong-type", path, shown(value), "a text on one line", hint)
        else:
            return value
        return ""

    def _optional(self, value: object, path: str) -> str | None:
        return None if value is None else self._text(value, path, "write a text") or None

    def _texts(self, value: object, path: str) -> tuple[str, ...]:
        listed = [] if value is None else value if isinstance(value, list) else [value]
        if len(listed) > MAX_EXCLUDED or not all(isinstance(each, str) and each for each in listed):
            self.wrong("wrong-type", path, shown(value), f"a text or a list of at most {MAX_EXCLUDED}", "[one, two]")
            return ()
        return tuple(listed)
