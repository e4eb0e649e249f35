"""Duration and warm-up of a run with `auto` times (`run.duration: auto`, `run.warmup: auto`).

The core judges a pilot, i.e. one replication of the whole scenario. If it is not steady, another pilot follows, with
twice the length or the length that the verdict requests. The times of pilots are fixed before they run, so they do not
depend on threads or workers (sequential procedures with doubled run lengths: Law, "Simulation Modeling and Analysis",
section 9.5.3; Heidelberger and Welch, "Simulation run length control in the presence of an initial transient",
Operations Research 31, 1983). Work is bounded in events.

If the scenario changes during the run (failures, events, load steps), the warm-up is 30 s and the duration 300 s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hypertwin import _core, language
from hypertwin.documents.simulation import Found
from hypertwin.runs import effort
from hypertwin.runs.effort import AUTO, PILOT_S
from hypertwin.scenario import Scenario

MOST_EVENTS = 2e7
"""Maximum number of events of a pilot, equal to some seconds on one core."""
FIRST_EVENTS = 1e5
"""Approximate number of events of the first pilot."""
ENOUGH_EVENTS = 1e6
"""Number of events of a pilot after which growing transactions of a VM count as endless. A storage queue might still
end.
"""
MOST_PILOTS = 24
LONGEST_S = 86_400.0
"""Maximum simulated time of a pilot, in seconds."""
SCHEDULED_S = 1.0
"""Minimum measured time in seconds with a hypervisor, because its scheduler balances in periods of up to seconds."""
WARMUP = 0.25
"""Warm-up as a fraction of the duration of a pilot."""
FEWEST_RESPONSES = {0.02: 1_000, 0.0: 100}
"""Minimum number of responses of a group in a pilot, by minimum share of the group in all responses.

Fewer give no reliable p99.
"""
FOR_A_VERDICT = 130
"""Number of transactions per VM in a lengthened pilot without waiting. A verdict needs 100."""
MAX_LENGTHENED = 4
"""Maximum factor by which the duration of a pilot is lengthened."""
SAME_GROWTH = 0.25
"""Maximum relative difference of two growth rates that count as equal. Equal rates mean that growth continues."""
SAMPLES = 20
"""Minimum number of intervals of the timeline."""
DEFAULT_S = {"warmup": 30.0, "duration": 300.0}
"""Times in seconds of scenarios with changes at fixed times."""

Ended = Literal["settled", "grows-on", "most-events", "own-times"]


def is_open(scenario: Scenario) -> bool:
    """True if a scenario has an `auto` time."""
    return AUTO in (scenario.run["warmup"], scenario.run["duration"])


def given_s(settings: Mapping[str, Any], key: str, otherwise: float = math.inf) -> float:
    """Return a time of a run in seconds, or `otherwise` if the time is `auto`."""
    return otherwise if settings[key] == AUTO else float(_core.duration_s(settings[key]))


def changes_itself(scenario: Scenario) -> bool:
    """True if a scenario has changes at fixed times."""
    data = scenario.data
    return bool(data.get("failures") or data.get("events")) or any(vm.get("load_steps") for vm in data["vms"].values())


@dataclass(frozen=True)
class Times:
    """Times of a run in seconds."""

    warmup_s: float
    duration_s: float

    @property
    def end_s(self) -> float:
        """Time of the end of the run, in seconds."""
        return self.warmup_s + self.duration_s


class Search:
    """Search for the times of one scenario. `times` are the times of the next pilot, until `over` is true."""

    def __init__(self, scenario: Scenario, *, until_full: bool = False) -> None:
        """Prepare the search. `until_full` includes the time until growing objects are full, regardless of work and of
        given times."""
        settings = scenario.run
        self.until_full = until_full
        self.is_warmup_open, self.is_duration_open = (settings[key] == AUTO for key in ("warmup", "duration"))
        self.sample_s = _core.duration_s(settings["sample_interval"])
        known = language.hypervisors()
        is_scheduled = any(known[host["hypervisor"]].virtualises for host in scenario.data["hosts"].values())
        self.least_s = SCHEDULED_S if is_scheduled else 0.0
        self.ended: Ended | None = None
        self.pilots = 0
        self._grew: tuple[str, float] | None = None
        """Quantity that grew in the last pilot, with its rate per second."""
        if changes_itself(scenario):
            self.ended = "own-times"
            self.times = Times(*(given_s(settings, key, usual) for key, usual in DEFAULT_S.items()))
            return
        first = _rounded(FIRST_EVENTS / max(effort.events_per_s(scenario), 1e-3))
        duration_s = given_s(settings, "duration", min(max(first, PILOT_S), LONGEST_S))
        # a warm-up alone is found in a run without one
        own = duration_s * WARMUP if self.is_duration_open else 0.0
        self.times = Times(given_s(settings, "warmup", own), duration_s)
        if not (self.is_warmup_open or self.is_duration_open or until_full):
            self.ended = "settled"

    @property
    def over(self) -> bool:
        """True if `times` are final."""
        return self.ended is not None

    @property
    def settings(self) -> dict[str, Any]:
        """Times as a mapping of values by path."""
        found: dict[str, Any] = {"run.warmup": _text(self.times.warmup_s), "run.duration": _text(self.times.duration_s)}
        if self.is_duration_open and self.ended != "own-times":
            found["run.sample_interval"] = _text(min(self.sample_s, self.times.duration_s / SAMPLES))
        return found

    @property
    def found(self) -> Found | None:
        """The times found, or None if the scenario gave them."""
        is_open = {"warmup": self.is_warmup_open, "duration": self.is_duration_open}
        times = [key for key, is_one in is_open.items() if is_one]
        return {"times": times, "ended": self.ended or "settled"} if times else None

    def take(self, report: Mapping[str, Any], transient_s: float | None) -> None:
        """Evaluate a pilot from its report and the length of its transient (None if the transient does not end)."""
        self.pilots += 1
        verdict, events = report["verdict"], report["events"] / report["replications"]
        events_per_s = events / self.times.end_s
        reason = verdict["reason"] or {}
        if not (self.is_duration_open or self.until_full):
            half = self.times.duration_s / 2
            self.times = Times(min(transient_s if transient_s is not None else half, half), self.times.duration_s)
            self.ended = "settled"
            return
        if reason.get("full_in_s") is not None and (self.is_warmup_open or self.until_full):
            full_s = self.times.end_s + 1.2 * reason["full_in_s"]
            self._go_on(Times(full_s, self.times.duration_s), events_per_s)
        elif not self.is_duration_open or (
            verdict["steady"] == "steady" and self._is_enough(report, report["replications"])
        ):
            self.ended = "settled"
        elif self._grows_on(reason) and reason["of"] in report["vms"] and events >= ENOUGH_EVENTS:
            self.ended = "grows-on"
        else:
            twice = self._of(_rounded(2 * self.times.duration_s))
            asked = self._of(_rounded(max(2 * self.times.duration_s, 1.2 * (reason.get("needs_s") or 0.0))))
            self._go_on(asked if self._is_allowed(asked, events_per_s) else twice, events_per_s)

    def lengthen(self, scenario: Scenario) -> None:
        """Lengthen the first pilot, within limits, if some VM would complete too few transactions for a verdict."""
        needed_s = FOR_A_VERDICT / effort.slowest_per_s(scenario)
        if self.is_duration_open and self.times.duration_s < needed_s <= MAX_LENGTHENED * self.times.duration_s:
            self.times = self._of(needed_s)

    def suffices(self, report: Mapping[str, Any]) -> bool:
        """True if replications with the times of the first pilot suffice, taken together."""
        return report["verdict"]["steady"] == "steady" and self._is_enough(report, 1)

    def _is_enough(self, report: Mapping[str, Any], runs: int) -> bool:
        """True if a pilot is long enough for the schedulers of hosts, and has enough responses of each group.

        The report has the responses of this number of pilots.
        """
        counts = [group["response_count"] / runs for group in (report["groups"] or report["vms"]).values()]
        is_thin = any(
            any(part * sum(counts) <= count < fewest for part, fewest in FEWEST_RESPONSES.items())
            for count in counts
            if count
        )
        return self.times.duration_s >= self.least_s and not is_thin

    def reconsider(self, report: Mapping[str, Any]) -> bool:
        """True if the search continues, because all replications together are not steady although the pilot was."""
        if self.ended != "settled" or not self.is_duration_open or report["verdict"]["steady"] == "steady":
            return False
        self.ended = None
        self.take(report, None)
        return not self.over

    def _of(self, duration_s: float) -> Times:
        """Return times with this duration. A warm-up that was long enough for growing objects is kept."""
        if not self.is_warmup_open:
            return Times(self.times.warmup_s, duration_s)
        return Times(max(self.times.warmup_s, WARMUP * duration_s), duration_s)

    def _is_allowed(self, times: Times, events_per_s: float) -> bool:
        """True if a pilot is within the work limit."""
        return times.end_s <= LONGEST_S and (self.until_full or times.end_s * events_per_s <= MOST_EVENTS)

    def _go_on(self, times: Times, events_per_s: float) -> None:
        """Start another pilot, unless the pilot would exceed the work limit."""
        if self.pilots < MOST_PILOTS and self._is_allowed(times, events_per_s):
            self.times = times
        else:
            self.ended = "most-events"

    def _grows_on(self, reason: Mapping[str, Any]) -> bool:
        """True if the growth rate equals that of the previous, shorter pilot, so that the growth will not end."""
        rate = reason.get("growth_per_s")
        before, self._grew = self._grew, None if rate is None else (str(reason["of"]), float(rate))
        if before is None or self._grew is None or reason.get("full_in_s") is not None:
            return False
        return before[0] == self._grew[0] and math.isclose(before[1], self._grew[1], rel_tol=SAME_GROWTH)


def _rounded(seconds: float) -> float:
    """Return the next of 1, 2 and 5 times a power of ten."""
    decade = 10.0 ** math.floor(math.log10(seconds))
    return float(next(step * decade for step in (1, 2, 5, 10) if seconds <= step * decade * (1 + 1e-9)))


def _text(seconds: float) -> str:
    return f"{round(seconds * 1e9)} ns" if seconds < 1e-3 else f"{seconds:.9g} s"
