"""Output of `hypertwin simulate`. The engine makes the points. docs/metrics.md explains each figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NotRequired, TypedDict

from hypertwin.documents.measured import (
    Bottleneck,
    Cluster,
    Downtime,
    History,
    Host,
    Pool,
    Station,
    Timeline,
    Vm,
)
from hypertwin.documents.space import Space


class HostFailure(TypedDict):
    """Hosts that stopped or came back in the first replication, with the VMs on them. The time is as in `Incident`."""

    time_s: float
    what: str
    fails: bool
    hosts: list[str]
    vms: list[str]


Steady = Literal["steady", "not-steady", "not-known"]
"""Every condition of a steady state holds. One is contradicted. The data do not suffice."""


class UnsteadyReason(TypedDict):
    """First condition of a steady state that fails, or that the data cannot decide."""

    condition: Literal["changed", "rebuilds", "grows", "means", "tails", "loops", "load", "window"]
    """Failed condition.

    In order: VMs stopped or came back, or the scenario changes something; a pool rebuilds; a queue, cache, buffer or
    backlog grows. Means have not settled; the p99 of a group rises. Sessions of a closed loop are not accounted for;
    offered work is near capacity. The measured time is short.
    """
    of: str
    """VM, group, station, array, pool or host where the condition fails, or an empty string for the whole run."""
    text: str
    """Reason as a sentence, without a full stop."""
    by_design: bool
    """True if the scenario itself is the reason. Figures then cover the course of events, with their intervals."""
    growth_per_s: float | None
    """Growth per second, in the unit named in `text`."""
    full_in_s: float | None
    """Time when the growing object is full, in seconds after the end of the run."""
    needs_s: float | None
    """Measured time that would decide."""


class Verdict(TypedDict):
    """Verdict on the steady state of a point."""

    steady: Steady
    reason: UnsteadyReason | None


class Found(TypedDict):
    """Notes on run times found by pilot runs."""

    times: list[str]
    """Names of the times: `warmup`, `duration`."""
    ended: Literal["settled", "grows-on", "most-events", "own-times"]
    """Reason why no longer run was tried.

    In order: the run had settled. The growth continues at the same rate in a run twice as long. A longer run would be
    too much work. The scenario has changes at fixed times, and the usual times are right.
    """


class Sign(TypedDict):
    """A figure of a VM, or of the mean VM of a group, beyond its band."""

    metric: str
    severity: Literal["warning", "critical"]
    value: float
    weight: float
    """Ratio of the value to its worst limit."""
    text: str


LimitKind = Literal[
    "host-cpu",
    "guest-cpu",
    "cpu-limit",
    "memory",
    "controller",
    "fabric",
    "devices",
    "storage-cpu",
    "network",
    "client",
    "latency",
    "nothing",
]
"""Kinds of limits. `hypertwin.studies.classes.LIMITS` explains each kind."""


class Limit(TypedDict):
    """Bottleneck of a group."""

    kind: LimitKind
    of: str
    """A host, a station, a group, or an empty string without a bottleneck."""
    value_pct: float | None
    """Load in per cent, if that is the reason."""
    text: str
    """A sentence without a full stop."""


Tone = Literal["good", "note", "warn", "bad"]


class Answer(TypedDict):
    """Answer and related remarks, one sentence each."""

    tone: Tone
    text: str
    more: list[str]


class Judgement(Answer):
    """Judgement of a point, by one set of limits for all views."""

    vms: dict[str, list[Sign]]
    """Signs of VMs that have any, the worst first."""
    groups: dict[str, list[Sign]]
    """Signs of groups that have any as the mean of their VMs."""
    limits: dict[str, Limit]
    """Bottleneck of each group."""
    full_station: NotRequired[str]
    """Station that limits I/O. It is saturated, or the I/Os of a group mostly wait there for a saturated member or a
    slot."""
    unplaced: NotRequired[list[str]]
    """VMs that could not restart, one sentence per reason."""


class Cause(TypedDict):
    """A finding of `hypertwin diagnose` on the run that explains others, or that no finding explains."""

    code: str
    severity: Literal["critical", "warning"]
    name: str
    """Host or VM of the finding."""
    title: str
    advice: str
    explains: list[str]
    """Names of hosts and VMs whose findings the cause explains."""


class Break(TypedDict):
    """Part of a sweep where a group suffers."""

    group: str
    line: str
    """Values of the other swept paths, or an empty string without any."""
    where: str
    suffers: bool
    set: dict[str, Any] | None
    """Most telling point, or None if the group never suffers."""
    signs: list[str]
    why: str


class ErrorInterval(TypedDict):
    """Interval of the real figure with the error of the twin itself. It contains the twin's figure.

    `basis` is a key of `bases`.
    """

    low: float
    high: float
    basis: str


class ErrorBasis(TypedDict):
    """Evidence of intervals: the errors of published figures of an area and a kind."""

    area: Literal["cpu", "drives", "memory", "movement", "path", "pools"]
    kind: Literal["throughput", "latency", "tail", "duration", "usage"]
    low_factor: float
    """Lower end over the twin's figure. Percentages get 5 points before, so that small ones change by points."""
    high_factor: float
    sources: int
    of: Literal["kind", "area", "all"]
    """Figures behind the interval: those of the area and kind, of all kinds of the area, or of all areas."""
    own_points: int
    """Number of the user's own measured points, from `hypertwin calibrate`."""
    text: str


class ResponseShare(TypedDict):
    """Area with the largest share of a group's mean response."""

    area: Literal["cpu", "drives", "memory", "movement", "path", "pools"]
    share_pct: float


class ModelError(TypedDict):
    """Intervals with the error of the twin itself, by name and flat key (`response_ms_p99`).

    A VM has the factors of its group. `moves` are in the order of the point's moves, with `seconds` and `downtime_ms`.
    """

    level_pct: float
    """Share of the real figures of a new source that such intervals contain."""
    responses: dict[str, ResponseShare]
    groups: dict[str, dict[str, ErrorInterval]]
    hosts: dict[str, dict[str, ErrorInterval]]
    clusters: dict[str, dict[str, ErrorInterval]]
    pools: dict[str, dict[str, ErrorInterval]]
    moves: list[dict[str, ErrorInterval]]
    bases: dict[str, ErrorBasis]


class Point(History):
    """Point of a sweep with means over its replications, and entities by name."""

    set: dict[str, Any]
    """Paths into the scenario and the values that they were set to."""
    space: NotRequired[dict[str, Space]]
    """Capacity of each pool."""
    replications: int
    steady: bool
    """True if `verdict` is steady."""
    verdict: Verdict
    found: NotRequired[Found]
    """Found times, if `run.warmup` or `run.duration` was `auto`."""
    model_error: NotRequired[ModelError]
    """Intervals with the error of the twin itself. An earlier version did not write them."""
    warmup_s: float
    duration_s: float
    judgement: Judgement
    calibration: str | None
    clusters: dict[str, Cluster]
    hosts: dict[str, Host]
    vms: dict[str, Vm]
    groups: dict[str, Vm]
    storage: dict[str, Station]
    pools: NotRequired[dict[str, Pool]]
    bottleneck: NotRequired[Bottleneck]
    failures: list[HostFailure]
    downtimes: NotRequired[dict[str, Downtime]]
    """Spread of downtime of each VM that failed with its host and serves again."""
    timeline: Timeline
    events: int
    simulated_s: float


class Simulation(TypedDict):
    """All points of a sweep in order, or one point without a sweep."""

    version: str
    scenario: str
    seed: int
    answer: Answer
    """Answer of the result. For a sweep of more than 1,000 points, an even sample of points is judged."""
    causes: list[Cause]
    """Causes at the point of the answer, or an empty list if no VM suffers."""
    breaks: list[Break]
    """Breaks of a sweep of an amount, those that suffer first."""
    points: Sequence[Point]
