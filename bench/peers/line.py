"""What the Python peers share: their command line and the JSON line that every benchmark program prints."""

# ruff: noqa: T201  printing is what this program does

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ARRIVAL_RATE = 0.8
"""Customers per second of the M/M/1 model; the mean service time of every model is 1 s."""


@dataclass(frozen=True)
class Options:
    """Sizes of a run."""

    customers: int
    stations: int
    seconds: float
    seed: int

    @classmethod
    def parse(cls) -> tuple[str, Options]:
        """Read `mm1|network [--customers N] [--stations K] [--seconds T] [--seed S]`."""
        parser = argparse.ArgumentParser()
        parser.add_argument("case", choices=["mm1", "network"])
        parser.add_argument("--customers", type=int)
        parser.add_argument("--stations", type=int, default=100)
        parser.add_argument("--seconds", type=float, default=1000.0)
        parser.add_argument("--seed", type=int, default=1)
        given = parser.parse_args()
        customers = given.customers or (100_000 if given.case == "mm1" else 10_000)
        return given.case, cls(customers, given.stations, given.seconds, given.seed)


def peak_rss_mib() -> float:
    """Peak resident memory of this process in MiB, from the kernel's VmHWM.

    Not getrusage: a child's ru_maxrss starts at the size of the parent that forked it.
    """
    for row in Path("/proc/self/status").read_text().splitlines():
        if row.startswith("VmHWM:"):
            return int(row.split()[1]) / 1024
    return 0.0


class Ran(NamedTuple):
    """A run."""

    events: int
    seconds: float
    value: float
    """Mean response in seconds (mm1), or completions per second (network)."""
    setup_s: float | None = None
    """Seconds before the run, for a peer that compiles its models."""


def main(tool: str, version: str, does: str, **models: Callable[[Options], Ran]) -> None:
    """Run the model that the command line names, and print the JSON line."""
    case, options = Options.parse()
    ran = models[case](options)
    if case == "mm1":
        check = {"what": "mean_response_s", "value": ran.value, "exact": 1.0 / (1.0 - ARRIVAL_RATE)}
    else:
        n, k = options.customers, options.stations
        check = {"what": "throughput_per_s", "value": ran.value, "exact": n * k / (n + k - 1)}
    line = {
        "case": case,
        "tool": tool,
        "version": version,
        "events": ran.events,
        "seconds": ran.seconds,
        "events_per_s": ran.events / ran.seconds,
        "peak_rss_mib": round(peak_rss_mib(), 1),
        "check": check,
        "does": does,
        **({} if ran.setup_s is None else {"setup_s": ran.setup_s}),
    }
    print(json.dumps(line))
