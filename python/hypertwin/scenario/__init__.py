"""Scenarios: reading of a file, text or mapping, overrides, checks.

The compiled core owns the schema and finds every error in a scenario's values. This module adds facts that the core
does not know: the file, the line, and the override behind a value.

A fio job is read before the check: its keys replace `workloads.NAME.fio`, so the core sees a plain workload. `ingest`
reads the job, and knows no scenarios. Presets of pools (`storage.NAME.preset`) work in the same way: they are files
of `library/presets`, which the core does not know.

| file | contents |
|---|---|
| `overrides.py` | overrides and sweeps, by path |
| `drives.py` | drives by name, with figures of data sheets |
| `pool_presets.py` | presets of pools |
| `space.py` | capacity of pools |
| `virtual_numa.py` | virtual NUMA topology of VMs |
| `vdisks.py` | virtual disks of a VM, and the I/Os of a fio job on each |
| `example.py` | the examples, with the files that they name |
| `starter.py` | a commented starter scenario |
"""

from __future__ import annotations

import json
import math
import numbers
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from functools import cached_property
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from hypertwin import _core, language, naming
from hypertwin.arguments import CLASSES, checked
from hypertwin.errors import FileError, Mistake, ScenarioError, fail, short
from hypertwin.files import writing, yaml_file, yaml_writing
from hypertwin.files.yaml_file import MAX_DEPTH, MAX_VALUES, HugeNumber, Node
from hypertwin.ingest.benchmarks import fio
from hypertwin.scenario import pool_presets, vdisks
from hypertwin.scenario.overrides import as_typed, by_path, location_of, utf8

if TYPE_CHECKING:
    from typing import Unpack

    from hypertwin import parts

STDIN = yaml_file.STDIN
"""Name that stands for stdin instead of a file."""

WITHIN = "HYPERTWIN_WITHIN"
"""Environment variable with the only folder in which scenarios of this process can name other files."""


MAX_DIGITS = 6
"""Maximum number of digits in the number of a host."""


_SECTIONS = ("hosts", "vms", "workloads", "arrays")

_Odd = dict[str, tuple[str, str, str]]
"""Values that JSON cannot express, by path, each with the error code, the value and a hint."""


@dataclass(frozen=True, repr=False)
class Scenario:
    """Valid description of a system and its load. A scenario is immutable. `with_` and `with_overrides` return changed
    copies.

    >>> pair = hypertwin.Scenario.from_dict({"name": "pair", "hosts": {...}, "vms": {...}, "workloads": {...}})
    >>> pair = pair.with_(vms={"web": {"count": 4, "load": 2}})

    `hypertwin.parts` has the sections of a scenario as types, for editors and type checkers.
    """

    path: Path | None
    """Path of the scenario file, or None for a scenario from text or a mapping."""
    json: str
    """Scenario as JSON in canonical form with default values: the input of the core."""
    _file: _File = field(repr=False, compare=False)
    _overrides: Mapping[str, object] = field(repr=False, compare=False)
    readings: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """Notes on values that are written unusually but unambiguously, such as `25 Gbit/s`, in sentences."""
    notes: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """Assumptions of the import in sentences, or an empty tuple if the scenario was not imported."""

    @staticmethod
    def from_dict(data: Mapping[str, object]) -> Scenario:
        """Return the scenario from a mapping in the form of the file, as an independent copy.

        Raises ScenarioError, which lists every error with path, value, allowed values and a hint.
        """
        return _check(_given(data), {})

    @staticmethod
    @checked
    def from_yaml(text: str) -> Scenario:
        """Return the scenario of YAML or JSON text. Raises ScenarioError, with the line of every error."""
        return loads(text)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields for pickling. Derived values are calculated again after unpickling."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __deepcopy__(self, _: object) -> Scenario:
        """Return the scenario itself, because it is immutable."""
        return self

    def _repr_html_(self) -> str:
        """Return the summary line, and its groups of hosts and VMs, for notebooks."""
        counted = [
            (kind, *each)
            for kind, machines in (("hosts", self.inventory.hosts), ("VMs", self.inventory.vms))
            for each in Counter(machine.group for machine in machines).items()
        ]
        rows = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in counted[:12])
        more = f"<p>and {len(counted) - 12} more groups</p>" if len(counted) > 12 else ""
        return f"<p>{escape(repr(self)[1:-1])}</p><table>{rows}</table>{more}"

    def __repr__(self) -> str:
        """Return one line with name, size and origin of the scenario."""
        hosts, vms = naming.counted(len(self.inventory.hosts), "host"), naming.counted(len(self.inventory.vms), "VM")
        return f"<Scenario {self.name}: {hosts}, {vms}{f', from {self.path.name}' if self.path else ''}>"

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """Content of `json`, as immutable mappings and tuples."""
        frozen: Mapping[str, Any] = _freeze(json.loads(self.json))
        return frozen

    @cached_property
    def inventory(self) -> language.Inventory:
        """Inventory with every host, VM and pool by name, with derived properties."""
        return language.inventory(self.json)

    @cached_property
    def as_measured(self) -> Scenario:
        """Scenario at the time of its measurements: the file, with overrides of measurements only.

        Measured use of hosts stays with the VMs that used the hosts, even if an override adds, changes or removes hosts
        and VMs. Hosts that the file itself removed (`count: 0`) are restored, as many as VMs name. Without changes, the
        property is the scenario itself.
        """
        kept = {path: value for path, value in self._overrides.items() if "measured" in path.split(".")}
        try:
            found = self if len(kept) == len(self._overrides) else _check(self._file, kept)
            gone = {
                f"hosts.{name}.count": max(1, *(_member(name, vm.get("host")) for vm in found.data["vms"].values()))
                for name, group in found.data["hosts"].items()
                if not group["count"] and found.data["vms"]
            }
            return load(found, gone) if gone else found
        except ScenarioError:  # what was measured is of something that an override has made
            return self

    @cached_property
    def run(self) -> Mapping[str, Any]:
        """Section `run` of `json`, with times, replications and seed of the simulation."""
        return MappingProxyType(json.loads(self.json)["run"])

    @property
    def name(self) -> str:
        """The scenario's name, as reports show it."""
        return str(self.data["name"])

    def as_written(self) -> dict[str, Any]:
        """Return the scenario as written, without defaults, as an independent copy.

        It includes overrides and the workloads of fio jobs, whose files might not be found from another folder.
        """
        draft = _Draft(self._file)
        for path, value in self._overrides.items():
            _override(draft, path, value, "")
        _read_jobs(draft)
        copied: dict[str, Any] = json.loads(json.dumps(draft.data))
        return copied

    @checked
    def with_overrides(self, overrides: Mapping[str, object] | Sequence[str]) -> Scenario:
        """Return a copy with replaced values, given by path: `{"vms.db.vcpus": 8}`. Raises ScenarioError."""
        return load(self, overrides)

    def with_(self, **sections: Unpack[parts.Scenario]) -> Scenario:
        """Return a copy with additional entries in some sections.

        Example: `with_(hosts={"esx2": {...}}, vms={"db": {"vcpus": 8}})`.

        Mappings are merged key by key at every depth. Other values are replaced. None removes a key. Raises
        ScenarioError for errors in the result.
        """
        return _check(_given(_merged(self.as_written(), dict(sections)), self.path), {})

    def to_yaml(self) -> str:
        """Return the scenario as YAML text, as written: without default values, with overrides."""
        return yaml_writing.to_yaml(self.as_written())

    @checked
    def write(self, path: str | Path) -> Path:
        """Write `to_yaml` into a file, completely or not at all. Raises WriteError."""
        writing.write_atomically(Path(path), self.to_yaml())
        return Path(path)


CLASSES["Scenario"] = Scenario

Given: TypeAlias = "Scenario | str | Path | Mapping[str, object]"
"""Types of a scenario argument: a loaded scenario, a file, YAML text of several lines, or a mapping."""


@dataclass(frozen=True)
class _File:
    """Origin of a scenario, from which the scenario can be built again with other overrides."""

    path: Path | None
    name: str
    root: Node | Mapping[str, object]
    """Root node of the file. A mapping has no line numbers."""
    mistakes: tuple[Mistake, ...]

    @cached_property
    def plain(self) -> tuple[Any, _Odd]:
        """Data as immutable JSON, with the values that JSON cannot express."""
        odd: _Odd = {}
        return _plain(self.root.data() if isinstance(self.root, Node) else self.root, "", odd), odd

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields for pickling. A mapping is converted to plain data, because it can be of any class."""
        return {**vars(self), "root": self.root if isinstance(self.root, Node) else self.plain[0]}

    def line_at(self, path: str) -> int | None:
        """Return the line of the value at a path, or None without one."""
        return self.root.line_at(path) if isinstance(self.root, Node) else None

    @cached_property
    def jobs(self) -> dict[str, dict[str, Any]]:
        """Workloads of fio jobs by name, cached so that a sweep reads each job once."""
        return {}


class _Draft:
    """Copy of the data of a file that can be changed. Unchanged parts are shared with the file."""

    def __init__(self, file: _File) -> None:
        self.file = file
        self.data, odd = file.plain
        self.odd = dict(odd)
        self.origins: dict[str, str] = {}
        """Overrides by path of the value."""
        self._own: dict[int, Any] = {}
        self.data = self.own(self.data)

    def own(self, value: Any) -> Any:
        """Return a value that can be changed: an independent copy for a mapping or list of the file."""
        if not isinstance(value, dict | list) or id(value) in self._own:
            return value
        copied = value.copy()
        self._own[id(copied)] = copied
        return copied

    def set(self, here: Any, key: Any, value: object, place: str, location: str) -> None:
        """Put a value under a key of a container from `own`."""
        for path in [path for path in self.odd if path == place or path.startswith(f"{place}.")]:
            del self.odd[path]
        here[key] = _plain(value, place, self.odd, place.count(".") + 1)
        self.origins[place] = location


@checked
def load(
    scenario: Given,
    overrides: Mapping[str, object] | Sequence[str] = MappingProxyType({}),
    *,
    swept: Collection[str] = (),
) -> Scenario:
    """Read a scenario, replace the values at some paths, and check the result.

    `scenario` is the name of a file, `-` for stdin, YAML text (of more than one line), a mapping in the form of the
    file, or a loaded scenario. Every function with a scenario argument accepts these.

    `overrides` maps paths (`vms.db.vcpus`) to values, or lists texts of the form `PATH=VALUE`. Overrides
    create missing optional sections; None (`null`) removes a key. In a path `*` matches any existing name, or part of
    one: `vms.*.host`, `vms.web-*.load`. `swept` names the paths whose values come from a sweep, for messages.

    Raises ScenarioError, which lists every error with file, line, path, value, allowed values and a hint.
    """
    if isinstance(scenario, Scenario):
        changes = {**scenario._overrides, **by_path(overrides)}
        return _check(scenario._file, changes, swept) if overrides else scenario
    if isinstance(scenario, Mapping):
        return _check(_given(scenario), by_path(overrides), swept)
    if isinstance(scenario, str) and "\n" in scenario:
        return loads(scenario, overrides)
    file, name = Path(scenario), yaml_file.name_of(scenario)
    document = yaml_file.parse(yaml_file.read_text(file), name)
    return _check(_File(file, name, document.root, document.mistakes), by_path(overrides), swept)


def stdin_bytes() -> bytes:
    """Return the content of stdin for `load`. A second call returns the same content."""
    return yaml_file.stdin_bytes()


def loads(
    text: str, overrides: Mapping[str, object] | Sequence[str] = MappingProxyType({}), file: str = "<text>"
) -> Scenario:
    """Read a scenario from YAML or JSON text. `file` is its name in messages. Otherwise like `load`."""
    document = yaml_file.parse(text, file)
    return _check(_File(None, file, document.root, document.mistakes), by_path(overrides))


def _member(group: str, name: str | None) -> int:
    """Return the number of a group member from its name (`esx-3` in `esx`), or 0 for any other name."""
    head, _, number = (name or "").rpartition("-")
    return int(number) if head == group and number.isdecimal() and len(number) < MAX_DIGITS else 0


def _given(data: Mapping[str, object], path: Path | None = None) -> _File:
    """Return a mapping as a file of bounded size. Raises ScenarioError."""
    waiting: list[object] = [data]
    values = 0
    while waiting:
        inner = waiting.pop()
        held = inner.values() if isinstance(inner, Mapping) else inner if isinstance(inner, list | tuple) else ()
        values += len(held)
        if values > MAX_VALUES:
            value = f"more than {MAX_VALUES} values"
            fail("too-many-values", "", value, f"at most {MAX_VALUES} values", "use counts for many equal hosts or VMs")
        waiting.extend(held)
    return _File(path, "", data, ())


def named_files(path: str | Path, changes: Iterable[tuple[str, object]] = ()) -> list[Path]:
    """Return the fio job files that a scenario names, unchanged and after each of the changes in turn.

    Empty for an unreadable scenario.
    """
    file = Path(path)
    try:
        if not file.is_file():  # a pipe can be read only once
            return []
        text = yaml_file.read_text(file)
    except (OSError, ScenarioError, ValueError):
        return []
    return [file.parent / name for name in named_in(text, changes)]


def named_in(text: str, changes: Iterable[tuple[str, object]] = ()) -> list[Path]:
    """Return the fio job files that the text of a scenario names, like `named_files`, as written."""
    named, changes = [], list(changes)
    if not any(sign in each for each in (text, repr(changes)) for sign in ("fio", "\\")):  # a key may be escaped
        return []
    try:
        draft = _Draft(_File(None, "", yaml_file.parse(text, "").root, ()))
        named += _job_names(draft.data)
        for place, value in changes:
            _override(draft, place, value, "")
            named += _job_names(draft.data)
    except (ScenarioError, ValueError):
        pass
    return [Path(name.partition("#")[0]) for name in named]


def _section(data: Any, name: str) -> dict[str, Any]:
    """Return the entries of a section by name, without those that are no mappings."""
    found = data.get(name) if isinstance(data, dict) else None
    entries = found.items() if isinstance(found, dict) else ()
    return {key: entry for key, entry in entries if isinstance(entry, dict)}


def _job_names(data: Any) -> list[str]:
    return [each["fio"] for each in _section(data, "workloads").values() if isinstance(each.get("fio"), str)]


def _check(file: _File, overrides: Mapping[str, object], swept: Collection[str] = ()) -> Scenario:
    """Return the checked scenario of a file and overrides.

    Raises ScenarioError with every mistake, in order of line.
    """
    draft = _Draft(file)
    mistakes = list(file.mistakes)
    for path, value in overrides.items():
        try:
            _override(draft, path, value, location_of(path, value, swept))
        except ScenarioError as error:
            mistakes.extend(error.mistakes)
    mistakes.extend(_read_jobs(draft))
    written = dict(_with_preset(draft))
    unknown = _read_presets(draft)
    mistakes.extend(_located(each, draft) for each in unknown)
    try:
        text, read = _core.validate(json.dumps(draft.data, allow_nan=False))
    except _core.ScenarioMistakes as error:
        listed = error.args[0]
        entries = json.loads(listed) if isinstance(listed, str) else listed
        stand_ins = {each.path.removesuffix(".preset") for each in unknown}
        told = [_of_preset(_renamed(Mistake(**entry)), written) for entry in entries]
        mistakes.extend(_located(each, draft) for each in told if stand_ins.isdisjoint(_prefixes(each.path)))
    if mistakes:
        mistakes.sort(key=lambda mistake: (mistake.code == "more-mistakes", mistake.line or 0, mistake.path))
        raise ScenarioError.of(mistakes)
    readings = (
        f"{each['path']}: read {as_typed(each['written'])} as {as_typed(each['meant'])}" for each in json.loads(read)
    )
    return Scenario(file.path, text, file, overrides, tuple(readings))


def _renamed(mistake: Mistake) -> Mistake:
    """Return the problem. The problem of an outdated key is replaced by one with the current name."""
    today = naming.KEYS.get(mistake.path.rpartition(".")[2]) if mistake.code == "unknown-key" else None
    if today is None or today not in mistake.allowed.split(", "):
        return mistake
    return replace(mistake, hint=f"it is called {today} now; hypertwin migrate rewrites the file")


def _read_jobs(draft: _Draft) -> list[Mistake]:
    """Replace each `workloads.NAME.fio` by the workload of its job, and return the problems.

    Other keys of the workload override those of the job. The job's I/Os are spread over the disks of its VMs.
    """
    read: dict[str, Any] = {}
    mistakes: list[Mistake] = []
    for name, workload in _section(draft.data, "workloads").items():
        if not isinstance(workload.get("fio"), str):
            continue
        job: dict[str, Any] = {"arrivals": {"io": {}}, "cpu": {"mean": fio.CPU_PER_IO}}
        try:
            job = _on_disks(_job(draft.file, workload["fio"]), name, workload, draft)
        except FileError as error:
            here = f"workloads.{name}.fio"
            mistakes.extend(_located(replace(each, path=here), draft) for each in error.mistakes)
        except ScenarioError as error:
            mistakes.extend(error.mistakes)
        read[name] = _merged(job, {key: value for key, value in workload.items() if key != "fio"})
    if read:
        draft.data["workloads"] = {**draft.data["workloads"], **read}
    return mistakes


def _job(file: _File, name: str) -> dict[str, Any]:
    """Return the workload of the fio job that a scenario names."""
    if name not in file.jobs:
        folder = file.path.parent if file.path else Path()
        _confine(folder / name.partition("#")[0], name)
        file.jobs[name] = fio.workload(name, folder)
    return file.jobs[name]


def _on_disks(job: dict[str, Any], name: str, workload: Mapping[str, Any], draft: _Draft) -> dict[str, Any]:
    """Return the workload of a fio job with its I/Os per virtual disk of the VMs that run it (`vdisks.py`).

    Raises ScenarioError if their disks cannot have equal parts, or if two groups need different ones.
    """
    arrivals = workload.get("arrivals")
    own = arrivals.get("io") if isinstance(arrivals, dict) else None
    if isinstance(own, dict) and "outstanding" in own:
        return job
    io = job["arrivals"]["io"]
    found: dict[str, dict[str, Any]] = {}
    for vm, group in _section(draft.data, "vms").items():
        counts = [group.get(key, 1) for key in ("vdisks", "controllers")]
        if group.get("workload") == name and all(type(each) is int and each > 0 for each in counts):
            try:
                found[vm] = vdisks.spread(io, group, vm)
                if found[vm] != next(iter(found.values())):
                    hint = "give each group a workload of its own, with the same `fio`"
                    allowed = f"as many as vms.{next(iter(found))} has, which runs the same job"
                    fail("unlike-benchmark", f"vms.{vm}.vdisks", str(vdisks.of_group(group)), allowed, hint)
            except ScenarioError as error:
                raise ScenarioError.of(_located(each, draft) for each in error.mistakes) from None
    return {**job, "arrivals": {"io": next(iter(found.values()), io)}}


def _confine(path: Path, name: str) -> None:
    """Raise FileError for a file outside the folder in `WITHIN`, or a hidden one. Links count by their targets."""
    within = os.environ.get(WITHIN)
    if within and not is_served(Path(os.path.realpath(str(path).replace("\0", ""))), Path(os.path.realpath(within))):
        hint = "copy the file into the folder, and name it from there"
        fail("file-outside", "", short(name), "a file in the served folder", hint)


def is_served(path: Path, folder: Path) -> bool:
    """True for a file in a folder or below it, unless a part of its path there is hidden. Both are without links."""
    return path.is_relative_to(folder) and not any(part.startswith(".") for part in path.relative_to(folder).parts)


def _with_preset(draft: _Draft) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the pools with a preset, as written, by name."""
    yield from ((name, pool) for name, pool in _section(draft.data, "storage").items() if "preset" in pool)


def _in_preset(pool: Mapping[str, Any], keys: Sequence[str]) -> bool:
    """True if the preset of a pool has this path."""
    here: Any = pool_presets.find(pool["preset"])["pool"] if pool["preset"] in pool_presets.names() else None
    for key in keys:
        if not (isinstance(here, dict) and key in here):
            return False
        here = here[key]
    return True


def _of_preset(mistake: Mistake, written: Mapping[str, Mapping[str, Any]]) -> Mistake:
    """Return the problem, with the name of the preset if the value came from it. See `_with_preset`."""
    section, _, rest = mistake.path.partition(".")
    name, _, inner = rest.partition(".")
    keys = inner.split(".")
    if section != "storage" or name not in written or not _in_preset(written[name], keys):
        return mistake
    here: Any = written[name]
    for key in keys:
        here = here.get(key) if isinstance(here, dict) else None
    if here is not None:
        return mistake
    out = (
        f"policies: {{ {keys[1]}: null }} leaves it out"
        if keys[0] == "policies" and keys[1:]
        else "a key beside it wins"
    )
    return replace(mistake, hint=f"{mistake.hint}; it is of preset {written[name]['preset']}: {out}")


def _read_presets(draft: _Draft) -> list[Mistake]:
    """Replace each `storage.NAME.preset` by the keys of the preset, and return the problems.

    Other keys of the pool override the preset. A null value removes the key of the preset.

    A valid preset replaces an unknown one, so that the rest of the scenario can be checked.
    """
    read: dict[str, Any] = {}
    mistakes: list[Mistake] = []
    for name, pool in _with_preset(draft):
        try:
            preset = pool_presets.find(as_typed(pool["preset"]), f"storage.{name}.preset")
        except ScenarioError as error:
            mistakes.extend(error.mistakes)
            preset = pool_presets.find(pool_presets.names()[0])
        read[name] = _merged(preset["pool"], {key: value for key, value in pool.items() if key != "preset"})
    if read:
        draft.data["storage"] = {**draft.data["storage"], **read}
    return mistakes


_EITHER = {"kind": "device", "device": "kind"}
"""Alternative keys of disks, of which one is enough."""


def _merged(under: Any, over: Any) -> Any:
    if not (isinstance(under, dict) and isinstance(over, dict)):
        return over
    removed = {key for key, value in over.items() if value is None and key in under}
    kept = {key: value for key, value in under.items() if _EITHER.get(key) not in over and key not in removed}
    return {**kept, **{key: _merged(under.get(key), value) for key, value in over.items() if key not in removed}}


def _located(mistake: Mistake, draft: _Draft) -> Mistake:
    if mistake.path in draft.odd:
        code, value, hint = draft.odd[mistake.path]
        code, hint = (code, hint) if mistake.code == "wrong-type" else (mistake.code, mistake.hint)
        mistake = replace(mistake, code=code, value=value, hint=hint)
    for path in _prefixes(mistake.path):
        if path in draft.origins:
            return replace(mistake, file=draft.origins[path])
    return replace(mistake, file=draft.file.name, line=draft.file.line_at(mistake.path))


def _prefixes(path: str) -> Iterable[str]:
    """Yield a path and all its prefixes, longest first."""
    while path:
        yield path
        path = path.rpartition(".")[0]


def _override(draft: _Draft, path: str, value: object, location: str) -> None:
    """Put `value` at every path that matches `path`."""
    for place in _places(draft.data, path, value, location) if "*" in path else [path]:
        _put(draft, place, value, location)


def _places(data: Any, path: str, value: object, location: str) -> list[str]:
    """Return the paths that match a path with `*`, in the order of the scenario."""
    found: list[tuple[str, Any]] = [("", data)]
    for key in path.split("."):
        inner: list[tuple[str, Any]] = []
        names: list[str] = []
        for place, here in found:
            entries = dict(enumerate(here)) if isinstance(here, list) else here if isinstance(here, dict) else {}
            known = {str(name): entry for name, entry in entries.items()}
            names += known
            fitting = [name for name in known if fnmatchcase(name, key)] if "*" in key else [key]
            inner += [(f"{place}.{name}" if place else name, known.get(name)) for name in fitting]
        if not inner:
            where = found[0][0] if len(found) == 1 else "them"
            listed = ", ".join(list(dict.fromkeys(names))[:12]) or "(none)"
            hint = "* matches existing names, or part of one"
            fail("unknown-path", path, as_typed(value), f"a name in {where}: {listed}", hint, location)
        found = inner
    return [place for place, _ in found]


def _put(draft: _Draft, path: str, value: object, location: str) -> None:
    """Put `value` at `path`. Missing sections are added. The value None removes the key."""
    keys = path.split(".")
    here = draft.data
    for depth, key in enumerate(keys):
        parent = ".".join(keys[:depth])
        place = f"{parent}.{key}" if parent else key
        if isinstance(here, list):
            if not (key.isascii() and key.isdigit() and int(key[:9]) < len(here)):
                allowed = f"a position from 0 to {len(here) - 1}" if here else "an entry of a list that has none"
                fail("unknown-path", path, as_typed(value), allowed, f"{parent} is a list of {len(here)}", location)
            index = int(key)
            if depth == len(keys) - 1:
                draft.set(here, index, value, place, location)
            else:
                here[index] = here = draft.own(here[index])
            continue
        if not isinstance(here, dict):
            allowed = "a path that ends there" if parent else "a scenario that is a mapping"
            fail(
                "unknown-path",
                path,
                as_typed(value),
                allowed,
                f"{parent or 'the file'} is a value without keys",
                location,
            )
        if not key:
            hint = "for example vms.db.vcpus"
            fail("unknown-path", path, as_typed(value), "keys joined by single dots", hint, location)
        is_last = depth == len(keys) - 1
        is_absent = key not in here or here[key] is None
        if depth == 1 and parent in _SECTIONS and is_absent and (value is None or not is_last):
            names = ", ".join(list(here)[:12])
            add = "it is not there" if value is None else f"to add one: {place}={{...}}"
            hint = naming.hint(key, here, add, start=f"{parent}.")
            fail("unknown-path", path, as_typed(value), f"a name in {parent}: {names or '(none)'}", hint, location)
        if is_last:
            is_removed = value is None and (key in here or language.schema_node(place) is not None)
            draft.set(here, key, value, place, location)  # a null under a key that the language lacks is told so
            pool = draft.data[keys[0]].get(keys[1]) if keys[0] == "storage" and depth > 1 else None
            stays = isinstance(pool, dict) and "preset" in pool and _in_preset(pool, keys[2:])
            if is_removed and not stays:  # what a preset has goes when that is read
                del here[key]
            return
        if is_absent:
            draft.set(here, key, {}, place, location)
        here[key] = here = draft.own(here[key])


def _plain(value: Any, path: str, odd: _Odd, depth: int = 0) -> Any:
    """Return `value` as JSON in an independent copy.

    Values that JSON cannot express become null and are added to `odd`.
    """
    if isinstance(value, Mapping) and depth <= MAX_DEPTH:
        join = f"{path}." if path else ""
        items = {key if isinstance(key, str) else str(key): entry for key, entry in value.items()}
        return {utf8(key): _plain(entry, f"{join}{utf8(key)}", odd, depth + 1) for key, entry in items.items()}
    if isinstance(value, list | tuple) and depth <= MAX_DEPTH:
        return [_plain(entry, f"{path}.{index}", odd, depth + 1) for index, entry in enumerate(value)]
    if isinstance(value, bool) or value is None or (isinstance(value, str) and value == utf8(value)):
        return value
    if isinstance(value, str):
        odd[path] = ("not-utf-8", f'"{short(utf8(value))}"', "write the text in UTF-8")
        return None
    if isinstance(value, int | float | numbers.Integral):  # numpy's, too
        return _plain_number(value, path, odd)
    odd[path] = ("wrong-type", f"a {type(value).__name__}", "use numbers, text, lists and mappings")
    return None


def _plain_number(number: float | numbers.Integral, path: str, odd: _Odd) -> float | None:
    value = number if isinstance(number, float) else int(number)
    if isinstance(value, int):
        if -(2**63) <= value < 2**64:
            return value
        try:
            return float(value)
        except OverflowError:
            value = HugeNumber(f"{'-' if value < 0 else ''}1e+{int(abs(value).bit_length() * 0.30103)}")
    if math.isfinite(value):
        return float(value)
    if isinstance(value, HugeNumber):
        odd[path] = ("out-of-range", short(value.text), "choose a value in that range")
    else:
        odd[path] = ("not-finite", as_typed(value), "write a finite number")
    return None


def _freeze(value: Any) -> Any:
    if isinstance(value, dict):
        return MappingProxyType({key: _freeze(entry) for key, entry in value.items()})
    return tuple(_freeze(entry) for entry in value) if isinstance(value, list) else value
