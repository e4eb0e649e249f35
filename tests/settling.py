"""Runs of random scenarios that end by themselves, against others of four times their length."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scipy import stats
from tests.random_scenarios import Data, below_capacity, kind, load, scenario

import hypertwin
from hypertwin.documents.simulation import Point

REPLICATIONS = 3
TIMES = 4
"""How much longer the long run is."""
NEGLIGIBLE = 1e-3
"""Part of a figure by which two may differ in any case: what never varies by chance has no interval."""
TAIL = 0.25
"""Part of a p99 by which two may differ."""
FEWEST_RESPONSES = 1_000
"""Responses of a group in all replications: of fewer the p99 is chance."""


@dataclass(frozen=True)
class Mean:
    """A mean in both runs."""

    name: str
    short: float
    long: float
    intervals: tuple[float, float]
    """Half the widths of their 95 % intervals."""

    @property
    def differ(self) -> float:
        return self.long - self.short

    @property
    def by_chance(self) -> float:
        """Half the width of the 95 % interval of the difference of two means of REPLICATIONS (Welch, 1947).

        The root of the sum of the squares of both half-widths is wider, since it keeps the factor 4.3 of three
        replications: 98 % of differences by chance are within.
        """
        factor = float(stats.t.ppf(0.975, REPLICATIONS - 1))
        squares = [(half / factor) ** 2 for half in self.intervals]
        total = sum(squares)
        if not total:
            return 0.0
        degrees = total**2 * (REPLICATIONS - 1) / sum(each**2 for each in squares)
        return float(stats.t.ppf(0.975, degrees)) * math.sqrt(total)

    @property
    def is_within_both(self) -> bool:
        return abs(self.differ) <= math.hypot(*self.intervals)

    @property
    def agrees(self) -> bool:
        return abs(self.differ) <= max(self.by_chance, NEGLIGIBLE * abs(self.short))

    @property
    def counts(self) -> bool:
        """Whether it varies by chance, so that its intervals say something; or should not, and does."""
        return self.by_chance > NEGLIGIBLE * abs(self.short) or not self.agrees


@dataclass(frozen=True)
class Tail:
    """The p99 of a group's response in both runs, in milliseconds."""

    name: str
    short: float
    long: float

    @property
    def agrees(self) -> bool:
        return abs(self.long / self.short - 1) <= TAIL


@dataclass(frozen=True)
class Compared:
    """A run that ended by itself, and one of TIMES its length."""

    seed: int
    scenario: Data
    short: Point
    long: Point | None
    """None where the short one is not steady."""
    cpu_s: float

    @property
    def are_steady(self) -> bool:
        """Whether both are."""
        return self.long is not None and self.long["steady"]

    @property
    def is_below(self) -> bool:
        """Whether the scenario is below capacity."""
        return below_capacity(self.scenario)

    def means(self) -> Iterator[Mean]:
        """Figures that have intervals in both; none where a run is not steady."""
        if self.long is None or not self.are_steady:
            return
        pairs: list[tuple[str, Any, Any, str, str]] = []
        for name, group in self.short["groups"].items():
            other = self.long["groups"][name]
            pairs.append((f"{name} response", group["response_ms"], other["response_ms"], "mean", "ci95"))
            pairs.append((f"{name} throughput", group, other, "throughput_per_s", "throughput_per_s_ci95"))
        for name, host in self.short["hosts"].items():
            pairs.append((f"{name} usage", host, self.long["hosts"][name], "usage_pct", "usage_pct_ci95"))
        for what, one, two, value, half in pairs:
            if None not in (one[value], two[value], one[half], two[half]):
                yield Mean(what, one[value], two[value], (one[half], two[half]))

    def tails(self) -> Iterator[Tail]:
        """The p99 of each group that has responses enough; none where a run is not steady."""
        if self.long is None or not self.are_steady:
            return
        for name, group in self.short["groups"].items():
            short, long = group["response_ms"]["p99"], self.long["groups"][name]["response_ms"]["p99"]
            if short and long and group["response_count"] >= FEWEST_RESPONSES:
                yield Tail(name, short, long)

    def row(self) -> str:
        """One line of the table: what it is, how long it took to settle, and what is otherwise in the longer run."""
        verdict, found = self.short["verdict"], self.short.get("found")
        words = [
            f"{self.seed:4} {kind(self.scenario)}",
            f"load {load(self.scenario):.2f}",
            f"{self.short['duration_s']:g} s",
            verdict["steady"],
        ]
        if verdict["reason"]:
            words.append(f"{found['ended'] if found else ''}: {verdict['reason']['text']}")
        elif self.long and self.long["verdict"]["reason"]:
            words.append(f"longer {self.long['verdict']['steady']}: {self.long['verdict']['reason']['text']}")
        apart = [mean for mean in self.means() if not mean.agrees]
        words += [f"{mean.name} {mean.short:.4g} -> {mean.long:.4g} (±{mean.by_chance:.2g})" for mean in apart]
        words += [f"{tail.name} p99 {tail.short:.4g} -> {tail.long:.4g} ms" for tail in self.tails() if not tail.agrees]
        return "; ".join([*words, f"{self.cpu_s:.1f} s of CPU"])


def compared(seed: int) -> Compared:
    """The scenario of a seed, simulated until it has settled, and TIMES as long."""
    data, began = scenario(seed), time.process_time()
    given: dict[str, Any] = {"cache": "off", "jobs": 1, "replications": REPLICATIONS}
    short = hypertwin.simulate(data, duration="auto", warmup="auto", **given).reports[0]
    long = None
    if short["steady"]:
        times: dict[str, Any] = {"duration": TIMES * short["duration_s"], "warmup": TIMES * short["warmup_s"]}
        long = hypertwin.simulate(data, **times, **given, seed=1_000_000 + seed, most_events=None).reports[0]
    return Compared(seed, data, short, long, time.process_time() - began)


def table(count: int, first: int = 0) -> None:
    """Print what becomes of some seeds, and what part of them agrees."""
    found = []
    for seed in range(first, first + count):
        found.append(compared(seed))
        print(found[-1].row(), flush=True)
    means = [mean for each in found for mean in each.means() if mean.counts]
    below = [each for each in found if each.is_below]
    lines = {
        "means agree": [mean.agrees for mean in means],
        "means are within both half-widths, by the root of their squares": [mean.is_within_both for mean in means],
        "p99 agree": [tail.agrees for each in found for tail in each.tails()],
        "below capacity are steady": [each.short["steady"] for each in below],
        "steady ones are so in the longer run": [each.are_steady for each in found if each.long],
    }
    for what, each in lines.items():
        print(f"{sum(each)} of {len(each)} ({100 * sum(each) / max(len(each), 1):.1f} %) {what}")
    print(f"{sum(each.cpu_s for each in found):.0f} s of CPU")
