"""Waves of VMs that move together, each in one maintenance window.

| rule | consequence |
|---|---|
| VMs that belong together | tag or rule: one unit, never divided |
| pilot | the first wave, with few VMs of the lowest risk |
| order | rising risk, then restart priority, networks and folder, then hosts in turn, then name |
| mode | warm if the tool has it and a VM of the unit tolerates less downtime than a cold wave takes, else cold |
| size | as many units in this order as fit the window, or its filled part, at the slow end of its time |
| large disks | a unit with a disk above the tool's limit is alone in its wave, so that nothing moves beside it |

In a cold wave, the window contains the copy. In a warm wave, the VMs run during the first copy, before the window, and
the window contains only the copy of the last changes. A wave is cold or warm, as a plan of the tools.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal

from hypertwin.errors import Argument, fail
from hypertwin.plan.moving import rates
from hypertwin.plan.moving.rates import ZERO, Estimate, Mode, Tool
from hypertwin.plan.moving.sharing import ROUNDING
from hypertwin.plan.moving.transfer import Downtime, Limits, MovingVm, Transfer, copy, cutover, within

SPARE = 50
"""A wave that is not the last can have one part in this number less units than fit, so that few waves are tried."""

MAX_ROUNDS = 5
"""Maximum number of times that units move warm instead, because they are off too long in a wave of others."""

Kind = Literal["pilot", "regular", "large"]


@dataclass(frozen=True)
class Candidate:
    """VM that is to move."""

    vm: MovingVm
    tags: tuple[str, ...] = ()
    folder: str = ""
    networks: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    """Names of groups, such as rules that keep VMs together. VMs of one group move in one wave."""
    max_downtime_s: float | None = None
    """Downtime that the VM tolerates, or None without a limit."""
    risk: float = 0.0
    """Risk of the move. Lower risks move first."""
    priority: int = 0
    """Restart priority. Higher priorities move later."""


@dataclass(frozen=True)
class WaveOptions:
    """Options of waves."""

    window_s: float = 8 * 3600.0
    """Length of the longest maintenance window."""
    filled_s: float | None = None
    """Part of a window that waves fill, or None for all of it. A unit that takes longer has a window for itself."""
    together: tuple[str, ...] = ()
    """Patterns of tags, such as `app-*`. VMs with the same tag that matches a pattern move in one wave."""
    pilot_vms: int = 10
    """Maximum number of VMs of the pilot, or 0 for no pilot."""
    max_vms: int | None = None
    """Maximum number of VMs of a wave, or None without a limit. A unit of more VMs has a wave of its own."""
    before_s: float = 24 * 3600.0
    """Longest first copy of a warm move, before its window."""
    interval_s: float | None = None
    """Seconds between the snapshots of a warm move, or None for the default of the tool."""

    def __post_init__(self) -> None:
        """Reject options out of range."""
        for name in ("window_s", "filled_s", "before_s", "interval_s"):
            seconds = getattr(self, name)
            if seconds is not None and not seconds > 0:
                fail("out-of-range", "", seconds, "above 0", "A time in seconds.", Argument(name, f"{seconds}"))
        for name, least in (("pilot_vms", 0), ("max_vms", 1)):
            number = getattr(self, name)
            if number is not None and number < least:
                fail("out-of-range", "", number, f"at least {least}", "A number of VMs.", Argument(name, f"{number}"))


@dataclass(frozen=True)
class Wave:
    """VMs that move in one window."""

    number: int
    kind: Kind
    mode: Mode
    vms: tuple[str, ...]
    units: int
    """Number of units that stay together, single VMs included."""
    volume_bytes: float
    transfer: Transfer
    """Copy of all data: in the window of a cold wave, before that of a warm one."""
    before: Estimate
    """Seconds of copying before the window, 0 for a cold wave."""
    window: Estimate
    """Seconds that the wave takes of its window, until the last VM has booted."""
    fits: bool
    """False if the slow end of `window` is longer than a window, or a warm copy longer than its snapshots allow."""
    downtimes: tuple[Downtime, ...]
    too_long: tuple[str, ...]
    """VMs that tolerate less downtime than the slow end of theirs."""
    networks: tuple[str, ...]
    """Networks with VMs at the source and at the target after this wave, which need one broadcast domain."""
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Unit:
    """VMs that stay together."""

    candidates: tuple[Candidate, ...]
    mode: Mode
    large: bool

    @property
    def risk(self) -> float:
        """Highest risk of the VMs."""
        return max(each.risk for each in self.candidates)

    @property
    def priority(self) -> int:
        """Highest restart priority of the VMs."""
        return max(each.priority for each in self.candidates)

    @property
    def volume(self) -> float:
        """Bytes to copy."""
        return sum(each.vm.volume for each in self.candidates)

    @property
    def order(self) -> tuple[float, int, tuple[str, ...], str, str]:
        """Place of the unit in the order of waves."""
        first = self.candidates[0]
        return (self.risk, self.priority, first.networks, first.folder, first.vm.name)


def waves(
    candidates: Sequence[Candidate], tool: Tool, limits: Limits | None = None, options: WaveOptions | None = None
) -> tuple[Wave, ...]:
    """Return the waves of VMs, in their order. Raises ScenarioError for two VMs of one name."""
    planned = _Planner(tool, limits or Limits(), options or WaveOptions())
    return planned.waves(candidates)


def main_mode(planned: Sequence[Wave], tool: Tool) -> Mode:
    """Return the mode of most data, or the first one of the tool without any data."""
    return max(tool.modes, key=lambda mode: sum(each.volume_bytes for each in planned if each.mode == mode))


def units(
    candidates: Sequence[Candidate], tool: Tool, limits: Limits | None = None, options: WaveOptions | None = None
) -> tuple[Unit, ...]:
    """Return the VMs that stay together, in the order of waves. Raises ScenarioError for two VMs of one name."""
    limits, options = limits or Limits(), options or WaveOptions()
    seen: dict[str, Candidate] = {}
    for each in candidates:
        if each.vm.name in seen:
            fail("out-of-range", each.vm.name, each.vm.name, "each VM once", "Rename one VM.", Argument("candidates"))
        seen[each.vm.name] = each
    found = [_unit(members, tool, limits) for members in _together(candidates, options)]
    return _in_turn(sorted(found, key=lambda unit: unit.order))


def _in_turn(ordered: Sequence[Unit]) -> tuple[Unit, ...]:
    """Return units that differ only in their name with one of each host in turn, so that a wave reads from many."""
    turns: Counter[tuple[object, ...]] = Counter()
    found = []
    for unit in ordered:
        of_host = (*unit.order[:-1], unit.candidates[0].vm.host)
        found.append((unit.order[:-1], turns[of_host], unit))
        turns[of_host] += 1
    return tuple(unit for *_, unit in sorted(found, key=lambda each: each[:2]))


def _together(candidates: Sequence[Candidate], options: WaveOptions) -> list[list[Candidate]]:
    """Return the connected sets of VMs that share a group or a matching tag."""
    root = {each.vm.name: each.vm.name for each in candidates}

    def top(name: str) -> str:
        while root[name] != name:
            root[name] = root[root[name]]
            name = root[name]
        return name

    first: dict[tuple[str, str], str] = {}
    for each in candidates:
        for key in _keys(each, options):
            root[top(each.vm.name)] = top(first.setdefault(key, each.vm.name))
    sets: defaultdict[str, list[Candidate]] = defaultdict(list)
    for each in sorted(candidates, key=lambda each: each.vm.name):
        sets[top(each.vm.name)].append(each)
    return list(sets.values())


def _keys(candidate: Candidate, options: WaveOptions) -> list[tuple[str, str]]:
    tags = [tag for tag in candidate.tags if any(fnmatchcase(tag, pattern) for pattern in options.together)]
    return [(kind, name) for kind, names in (("group", candidate.groups), ("tag", tags)) for name in names]


def _unit(members: Sequence[Candidate], tool: Tool, limits: Limits) -> Unit:
    large = any(volume >= tool.large_disk_bytes for each in members for volume, _ in each.vm.data)
    return Unit(tuple(members), _mode(members, tool, limits), large)


def _mode(members: Sequence[Candidate], tool: Tool, limits: Limits) -> Mode:
    """Return warm if a VM tolerates less downtime than a cold move of the unit alone takes."""
    if len(tool.modes) == 1:
        return tool.modes[0]
    if all(each.max_downtime_s is None for each in members):
        return "cold"
    _, found = cutover([each.vm for each in members], tool, limits)
    short = any(
        each.max_downtime_s is not None and off.seconds.high > each.max_downtime_s
        for each, off in zip(members, found, strict=True)
    )
    return "warm" if short else "cold"


class _Planner:
    """Units that are put into waves."""

    def __init__(self, tool: Tool, limits: Limits, options: WaveOptions) -> None:
        self._tool, self._limits, self._options = tool, limits, options

    def waves(self, candidates: Sequence[Candidate]) -> tuple[Wave, ...]:
        """Return the waves. Units that are off too long in a cold wave move warm, if the tool can."""
        ordered = units(candidates, self._tool, self._limits, self._options)
        found = self._planned(ordered, candidates)
        for _ in range(MAX_ROUNDS):
            late = {name for each in found if each.mode == "cold" for name in each.too_long}
            if not late or "warm" not in self._tool.modes:
                break
            ordered = tuple(
                replace(unit, mode="warm") if any(each.vm.name in late for each in unit.candidates) else unit
                for unit in ordered
            )
            found = self._planned(ordered, candidates)
        return found

    def _planned(self, ordered: Sequence[Unit], candidates: Sequence[Candidate]) -> tuple[Wave, ...]:
        pilot = self._pilot(ordered)
        chosen: list[tuple[Kind, tuple[Unit, ...]]] = [("pilot", pilot)] if pilot else []
        rest = [each for each in ordered if each not in pilot]
        place = {id(unit): index for index, unit in enumerate(rest)}
        later: list[tuple[Kind, tuple[Unit, ...]]] = [("large", (each,)) for each in rest if each.large]
        for mode in rates.MODES:
            waiting = [each for each in rest if each.mode == mode and not each.large]
            while waiting:
                number = self._fitting(waiting)
                later.append(("regular", tuple(waiting[:number])))
                waiting = waiting[number:]
        chosen += sorted(later, key=lambda item: place[id(item[1][0])])
        made = [self._wave(index + 1, kind, members) for index, (kind, members) in enumerate(chosen)]
        return tuple(_with_networks(made, candidates))

    def _pilot(self, ordered: Sequence[Unit]) -> tuple[Unit, ...]:
        """Return the first units of the lowest risk that fit the window, if there are more VMs than a pilot has."""
        most = min(self._options.pilot_vms, self._options.max_vms or self._options.pilot_vms)
        if sum(len(each.candidates) for each in ordered) <= most:
            return ()
        small = sorted((each for each in ordered if not each.large), key=lambda unit: (*unit.order[:2], unit.volume))
        allowed = [each for each in small if len(each.candidates) <= most]
        alike = [each for each in allowed if each.mode == allowed[0].mode]
        number = self._longest(alike, most=most)
        return tuple(sorted(alike[:number], key=lambda unit: unit.order))

    def _fitting(self, waiting: Sequence[Unit]) -> int:
        """Return how many of the first units make a wave, at least one."""
        return max(self._longest(waiting, most=self._options.max_vms), 1)

    def _longest(self, waiting: Sequence[Unit], *, most: int | None) -> int:
        """Return how many of the first units fit a window and a number of VMs."""
        low, high = 0, self._bound(waiting, most)
        if high and high == len(waiting) and self._fits(waiting):
            return high
        while high - low > low // SPARE:
            tried = (low + high + 1) // 2
            low, high = (tried, high) if self._fits(waiting[:tried]) else (low, tried - 1)
        return low

    def _bound(self, waiting: Sequence[Unit], most: int | None) -> int:
        """Return an upper bound of `_longest`, from the number of VMs, and slots, hosts and network at full rate."""
        seconds: defaultdict[tuple[str, bool], float] = defaultdict(float)
        vms = 0
        for index, unit in enumerate(waiting):
            vms += len(unit.candidates)
            if most is not None and vms > most:
                return index
            for name, in_window, needed in self._needed(unit):
                seconds[name, in_window] += needed
                if seconds[name, in_window] > (self._filled if in_window else self._max_before):
                    return index
        return len(waiting)

    def _needed(self, unit: Unit) -> Iterator[tuple[str, bool, float]]:
        """Yield the seconds that a unit takes of resources at the slow end of rates, and if in the window."""
        own, limits, labs = self._tool.rates[unit.mode], self._limits, rates.labs_differ()
        slots = limits.slots_per_host or self._tool.slots_per_host
        host = limits.host or min(own.host.value / labs, own.host.low)
        vm = limits.vm or min(own.vm.value / labs, own.vm.low)
        cold = unit.mode == "cold"
        for each in unit.candidates:
            name, volume = each.vm.host, each.vm.volume
            yield f"slots {name}", cold, (own.overhead.value + volume / vm) / slots
            yield f"host {name}", cold, volume / limits.hosts.get(name, host)
            if limits.network is not None:
                yield "network", cold, volume * labs / limits.network

    def _fits(self, chosen: Sequence[Unit]) -> bool:
        return within(
            _vms(chosen),
            self._tool,
            self._limits,
            mode=chosen[0].mode,
            interval_s=self._options.interval_s,
            before_s=self._max_before,
            window_s=self._filled,
        )

    @property
    def _filled(self) -> float:
        return self._options.window_s if self._options.filled_s is None else self._options.filled_s

    @property
    def _max_before(self) -> float:
        """Longest first copy: of the options, or until a VM has the highest number of snapshots."""
        if self._tool.snapshots is None:
            return self._options.before_s
        interval = self._options.interval_s or self._tool.interval_s
        return min(self._options.before_s, self._tool.snapshots * interval)

    def _wave(self, number: int, kind: Kind, chosen: Sequence[Unit]) -> Wave:
        tool, vms, mode = self._tool, _vms(chosen), chosen[0].mode
        transfer = copy(vms, tool, self._limits, mode=mode)
        window, off = cutover(vms, tool, self._limits, mode=mode, interval_s=self._options.interval_s)
        before = ZERO if mode == "cold" else transfer.seconds
        fits = _within(window.high, self._options.window_s) and _within(before.high, self._max_before)
        tolerated = {
            each.vm.name: math.inf if each.max_downtime_s is None else each.max_downtime_s
            for unit in chosen
            for each in unit.candidates
        }
        return Wave(
            number=number,
            kind=kind,
            mode=mode,
            vms=tuple(each.name for each in vms),
            units=len(chosen),
            volume_bytes=transfer.volume_bytes,
            transfer=transfer,
            before=before,
            window=window,
            fits=fits,
            downtimes=off,
            too_long=tuple(each.name for each in off if each.seconds.high > tolerated[each.name]),
            networks=(),
            notes=(*transfer.notes, *self._notes(window, before, off, kind), *self._cutover_notes(vms, mode)),
        )

    def _cutover_notes(self, vms: Sequence[MovingVm], mode: Mode) -> list[str]:
        """Return advice for a tool that would power off more VMs of a host at once than there are slots."""
        slots = self._limits.slots_per_host or self._tool.slots_per_host
        streams = Counter(name for each in vms for name in [each.host] * (len(each.data) or 1))
        host = max(sorted(streams), key=lambda name: streams[name])
        if mode == "cold" or not self._tool.cutover_at_once or streams[host] <= slots:
            return []
        name = host or "An unknown host"
        return [f"{name} has {streams[host]} disks: cut over at most {slots} of a host at a time, in several plans."]

    def _notes(self, window: Estimate, before: Estimate, off: Sequence[Downtime], kind: Kind) -> list[str]:
        notes = []
        if not _within(window.high, self._options.window_s):
            notes.append(
                f"Does not fit: takes up to {_hours(window.high)} of a window of {_hours(self._options.window_s)}."
            )
        if not _within(before.high, self._max_before):
            notes.append(
                f"The first copy takes up to {_hours(before.high)}, more than the {_hours(self._max_before)} that the "
                f"options or the tool's number of snapshots allow."
            )
        behind = [each.name for each in off if not each.converges]
        if behind:
            notes.append(f"Changes of {_names(behind)} are faster than the copy: move cold, or replicate in the guest.")
        if kind == "large":
            size = self._tool.large_disk_bytes / rates.TB
            notes.append(f"Moves alone, because of a disk with {size:g} TB of data or more.")
        return notes


def _vms(chosen: Iterable[Unit]) -> list[MovingVm]:
    return [each.vm for unit in chosen for each in unit.candidates]


def _within(seconds: float, limit: float) -> bool:
    return seconds <= limit * (1 + ROUNDING)


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h"


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def _with_networks(made: Sequence[Wave], candidates: Sequence[Candidate]) -> list[Wave]:
    """Return the waves with the networks that have VMs on both sides after each."""
    networks: Mapping[str, tuple[str, ...]] = {each.vm.name: each.networks for each in candidates}

    def of(names: Iterable[str]) -> set[str]:
        return {each for name in names for each in networks[name]}

    moved: set[str] = set()
    found = []
    for index, wave in enumerate(made):
        moved |= of(wave.vms)
        rest = of(name for later in made[index + 1 :] for name in later.vms)
        found.append(replace(wave, networks=tuple(sorted(moved & rest))))
    return found
