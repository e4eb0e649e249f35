"""Streams of data that share hosts, datastores, network, appliance and target, with slots.

All active streams grow alike until one has its own rate, or a resource that it uses is full. This is max-min fairness
(Bertsekas and Gallager, "Data Networks", section 6.5.2). `crates/sharing/src/flows.rs` has it for the simulation.
Streams wait for a slot of their host, the largest first. A stream holds its slot from its overhead to its last byte.

Streams of one host with the same datastore and rate are one class, so that an event costs no more with many VMs.

Without limits of datastores, more streams, or less of a common resource, never shorten a schedule. A faster host or
datastore can lengthen it: its streams take more of the network from a stream that ends last.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import NamedTuple

ROUNDING = 1e-9
"""Fraction of a capacity or of data below which the rest counts as nothing."""


class Resource(NamedTuple):
    """Something that limits streams."""

    kind: str
    """`host`, `datastore`, `network`, `appliance` or `target`, or `vm` (rate of one stream), `slots` or `overhead`."""
    name: str = ""
    """Name of the host or datastore."""


VM, OVERHEAD = Resource("vm"), Resource("overhead")

COMMON = (Resource("network"), Resource("appliance"), Resource("target"))
"""Resources that all streams use."""


@dataclass(frozen=True)
class Stream:
    """Data that are copied one after another over one connection."""

    name: str
    host: str
    parts: tuple[tuple[float, str], ...]
    """Bytes to copy, with their datastore, in order."""
    rate: float
    """Highest rate, in bytes per second."""
    overhead_s: float = 0.0
    """Seconds of the slot without data."""

    @property
    def volume(self) -> float:
        """Bytes to copy."""
        return sum(volume for volume, _ in self.parts)


@dataclass(frozen=True)
class Capacities:
    """Limits of what streams share."""

    resources: Mapping[Resource, float]
    """Bytes per second of each resource. A resource that is not in it never limits."""
    slots_per_host: int
    slots: int | None = None
    """Slots over all hosts, or None without such a limit."""


class Class(NamedTuple):
    """Streams with the same rate: of one host and datastore, and with the same highest rate."""

    host: str
    datastore: str
    rate: float

    @property
    def uses(self) -> tuple[Resource, ...]:
        """Resources that the streams use."""
        return _uses(self.host, self.datastore)


@lru_cache(maxsize=10_000)
def _uses(host: str, datastore: str) -> tuple[Resource, ...]:
    return (Resource("host", host), Resource("datastore", datastore), *COMMON)


class Flow(NamedTuple):
    """Streams of a class during a period."""

    kind: Class
    streams: int
    bytes_per_s: float
    """Rate of each stream."""
    limit: Resource
    """Limit of the rate."""


class Period(NamedTuple):
    """Time in which no rate changes."""

    start_s: float
    end_s: float
    flows: tuple[Flow, ...]

    @property
    def bytes_per_s(self) -> Mapping[Resource, float]:
        """Rate of each resource."""
        found: defaultdict[Resource, float] = defaultdict(float)
        for flow in self.flows:
            for resource in flow.kind.uses:
                found[resource] += flow.streams * flow.bytes_per_s
        return found


@dataclass(frozen=True)
class Schedule:
    """Times of streams."""

    times: Mapping[str, tuple[float, float]]
    """Start and end in seconds of each stream's slot."""
    periods: tuple[Period, ...]

    @property
    def end_s(self) -> float:
        """End of the last stream."""
        return max((end for _, end in self.times.values()), default=0.0)


def division(capacities: Mapping[Resource, float], streams: Mapping[Class, int]) -> dict[Class, tuple[float, Resource]]:
    """Return the max-min fair rate of each stream of each class, with what limits it."""
    shared = list(capacities)
    place = {each: index for index, each in enumerate(shared)}
    flows = [
        (kind.rate, number, tuple(place[each] for each in kind.uses if each in place))
        for kind, number in streams.items()
    ]
    found = _divided(list(capacities.values()), flows)
    return {
        kind: (rate, shared[limit] if limit >= 0 else VM) for kind, (rate, limit) in zip(streams, found, strict=True)
    }


def _divided(
    capacities: Sequence[float], flows: Sequence[tuple[float, int, tuple[int, ...]]]
) -> list[tuple[float, int]]:
    """Return the rate of each stream with the resource that limits it, or -1 if its own rate does.

    A flow is its highest rate, its number of streams, and the resources that it uses. In each step, a resource is full
    if none of its streams is limited elsewhere. Streams that were limited before only leave more for the others.
    """
    left = list(capacities)
    users = [0] * len(left)
    for _, number, uses in flows:
        for each in uses:
            users[each] += number
    found = [(0.0, -1)] * len(flows)
    own = [0.0] * len(flows)
    growing = list(range(len(flows)))
    while growing:
        levels = [rest / number if number else math.inf for rest, number in zip(left, users, strict=True)]
        lowest = [math.inf] * len(left)
        for flow in growing:
            rate, _, uses = flows[flow]
            own[flow] = level = min(rate, *(levels[each] for each in uses)) if uses else rate
            for each in uses:
                lowest[each] = min(lowest[each], level)
        full = [level <= low * (1 + ROUNDING) for level, low in zip(levels, lowest, strict=True)]
        still = []
        for flow in growing:
            rate, number, uses = flows[flow]
            limit = next((each for each in uses if full[each]), -1)
            if limit < 0 and rate > own[flow] * (1 + ROUNDING):
                still.append(flow)
                continue
            found[flow] = (own[flow], limit)
            for each in uses:
                left[each] = max(left[each] - number * own[flow], 0.0)
                users[each] -= number
        growing = still
    return found


def _limiting(streams: Sequence[Stream], capacities: Mapping[Resource, float]) -> dict[Resource, float]:
    """Return the capacities without datastores that hosts or common resources keep below theirs."""
    common = min((capacities[each] for each in COMMON if each in capacities), default=math.inf)
    hosts: defaultdict[str, set[str]] = defaultdict(set)
    for stream in streams:
        for _, datastore in stream.parts:
            hosts[datastore].add(stream.host)

    def limits(each: Resource) -> bool:
        readers = [capacities.get(Resource("host", host), math.inf) for host in sorted(hosts[each.name])]
        return each.kind != "datastore" or capacities[each] < min(common, sum(readers))

    return {each: value for each, value in capacities.items() if limits(each)}


def schedule(streams: Sequence[Stream], capacities: Capacities) -> Schedule:
    """Return when each stream is copied. Names of streams are unique."""
    run = _Run(streams, capacities)
    periods = tuple(run.periods())
    return Schedule(run.times, periods)


def ends_by(streams: Sequence[Stream], capacities: Capacities, seconds: float) -> bool:
    """Return true if all streams end within a time."""
    run = _Run(streams, capacities)
    return all(now <= seconds for now in run.ends())


class _Run:
    """State of a schedule that is being made. Classes and resources have numbers here, in order of appearance."""

    def __init__(self, streams: Sequence[Stream], capacities: Capacities) -> None:
        resources = _limiting(streams, capacities.resources)
        self._shared = list(resources)
        self._capacities = list(resources.values())
        self._place = {each: index for index, each in enumerate(self._shared)}
        self._numbers: dict[Class, int] = {}
        self._classes: list[Class] = []
        self._uses: list[tuple[int, ...]] = []
        self._active: list[list[tuple[float, int, Stream, int]]] = []
        """Streams of each class by the bytes that the class has copied when they end."""
        self._copied: list[float] = []
        """Bytes that a stream of the class has copied, if it was always active."""
        self._now = 0.0
        self._waiting: dict[str, deque[tuple[int, Stream]]] = {}
        for order, stream in enumerate(sorted(streams, key=lambda each: (-each.volume, each.name))):
            self._waiting.setdefault(stream.host, deque()).append((order, stream))
        self._free = dict.fromkeys(self._waiting, capacities.slots_per_host)
        self._total = math.inf if capacities.slots is None else capacities.slots
        self._starts: dict[str, float] = {}
        self._ends: dict[str, float] = {}
        self._preparing: list[tuple[float, int, Stream]] = []
        self._sequence = count()

    @property
    def times(self) -> dict[str, tuple[float, float]]:
        """Start and end of each stream, after the last period."""
        return {name: (start, self._ends[name]) for name, start in self._starts.items()}

    def ends(self) -> Iterator[float]:
        """Copy all streams, and yield the end of each period."""
        for _, _, end in self._steps():
            yield end

    def periods(self) -> Iterator[Period]:
        """Copy all streams, and yield the periods."""
        for active, rates, end in self._steps():
            if end > self._now:
                flows = tuple(self._flow(each, *rate) for each, rate in zip(active, rates, strict=True))
                yield Period(self._now, end, flows)

    def _steps(self) -> Iterator[tuple[list[int], list[tuple[float, int]], float]]:
        """Yield the active classes with their rates until the next end, and then copy until that."""
        self._fill()
        active = self._busy()
        while self._preparing or active:
            flows = [(self._classes[each].rate, len(self._active[each]), self._uses[each]) for each in active]
            rates = _divided(self._capacities, flows)
            end = min(self._times(active, rates))
            yield active, rates, end
            self._advance(end, active, rates)
            active = self._busy()

    def _busy(self) -> list[int]:
        """Return the classes with active streams."""
        return [each for each, members in enumerate(self._active) if members]

    def _flow(self, number: int, rate: float, limit: int) -> Flow:
        """Return the flow of a class. Slots limit a host with waiting streams if only their own rate limits them."""
        kind = self._classes[number]
        found = self._shared[limit] if limit >= 0 else VM
        if found == VM and self._waiting[kind.host]:
            found = Resource("slots", "" if self._free[kind.host] else kind.host)
        return Flow(kind, len(self._active[number]), rate, found)

    def _times(self, active: Sequence[int], rates: Sequence[tuple[float, int]]) -> Iterator[float]:
        """Yield the next times at which something ends."""
        if self._preparing:
            yield self._preparing[0][0]
        for each, (rate, _) in zip(active, rates, strict=True):
            yield self._now + max(self._active[each][0][0] - self._copied[each], 0.0) / rate

    def _advance(self, end: float, active: Sequence[int], rates: Sequence[tuple[float, int]]) -> None:
        """Copy until a time, and start what can follow."""
        ended = []
        for each, (rate, _) in zip(active, rates, strict=True):
            members = self._active[each]
            copied = self._copied[each] + rate * (end - self._now)
            rest = ROUNDING * copied + 1e-6
            while members and members[0][0] <= copied + rest:
                ended.append(heapq.heappop(members)[1:])
            self._copied[each] = copied if members else 0.0  # so that rounding does not add up
        self._now = end
        while self._preparing and self._preparing[0][0] <= end * (1 + ROUNDING):
            _, order, stream = heapq.heappop(self._preparing)
            ended.append((order, stream, -1))
        freed = False
        for _, stream, part in sorted(ended, key=lambda each: each[0]):
            freed |= self._next(stream, part + 1)
        if freed:
            self._fill()

    def _next(self, stream: Stream, part: int) -> bool:
        """Copy the next part of a stream. Return true if there is none, so that its slot is free."""
        while part < len(stream.parts) and stream.parts[part][0] <= 0:
            part += 1
        if part == len(stream.parts):
            self._ends[stream.name] = self._now
            self._free[stream.host] += 1
            self._total += 1
            return True
        volume, datastore = stream.parts[part]
        number = self._number(stream.host, datastore, stream.rate)
        heapq.heappush(self._active[number], (self._copied[number] + volume, next(self._sequence), stream, part))
        return False

    def _number(self, host: str, datastore: str, rate: float) -> int:
        """Return the number of a class. Datastores that never limit are one."""
        limited = Resource("datastore", datastore) in self._place
        kind = Class(host, datastore if limited else "", rate)
        if kind not in self._numbers:
            self._numbers[kind] = len(self._classes)
            self._classes.append(kind)
            self._uses.append(tuple(self._place[each] for each in kind.uses if each in self._place))
            self._active.append([])
            self._copied.append(0.0)
        return self._numbers[kind]

    def _fill(self) -> None:
        """Start waiting streams while there are slots, the largest first."""
        heads = [(waiting[0][0], host) for host, waiting in self._waiting.items() if waiting and self._free[host]]
        heapq.heapify(heads)
        while heads and self._total:
            order, host = heapq.heappop(heads)
            _, stream = self._waiting[host].popleft()
            self._free[host] -= 1
            self._total -= 1
            self._starts[stream.name] = self._now
            heapq.heappush(self._preparing, (self._now + stream.overhead_s, order, stream))
            if self._waiting[host] and self._free[host]:
                heapq.heappush(heads, (self._waiting[host][0][0], host))
