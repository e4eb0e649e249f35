"""Does a calibration find what made the measurements? The monster-VM study, over many seeds.

For each seed two true parameters are drawn, the twin makes six measured points of three figures with them, with a seed
that the fit does not have, and 1.5 % of normal errors are added to each value. The fit starts from the scenario's own
values. Prints one line per seed and how often the true value was in the 95 % interval.

    .venv/bin/python bench/recovery.py            # 20 seeds, minutes
    .venv/bin/python bench/recovery.py --seeds 3
"""

# ruff: noqa: T201  printing is what this program does

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hypertwin
from hypertwin.calibration.calibrate import Calibration
from hypertwin.metrics.metric_path import MetricPath, parse
from hypertwin.runs import simulation

SCENARIO = Path(__file__).resolve().parents[1] / "studies" / "monster-vm" / "scenario.yaml"

FREE = {"workloads.hospital.cpu.mean": (40.0, 65.0), "hosts.esx1.smt_yield": (1.1, 1.5)}
"""Parameters and the range that their true values are drawn from; in ms, and a ratio."""

POINTS = [{"vms.db.vcpus": vcpus, "vms.db.load": load} for vcpus in (24, 48) for load in (1, 3, 5)]
METRICS = ("groups.db.response_ms.mean", "groups.db.throughput_per_s", "hosts.esx1.usage_pct")

ERROR = 0.015
"""Standard deviation of the errors added, relative to the value."""

RUN: dict[str, Any] = {"duration": 15.0, "warmup": 3.0, "replications": 3}
"""How long the fit simulates each point, and how often."""

PAIR = ("workloads.hospital.ios", "hosts.esx1.overhead.cpu_per_io")
"""Parameters that nothing in METRICS can tell apart: without an array, I/Os only cost the hypervisor their product."""

WANTED = 18
"""Of 20 seeds: in so many at least each true value must be in its interval."""


@dataclass(frozen=True)
class Recovery:
    """One seed: what was true, and what was found."""

    seed: int
    true: dict[str, float]
    found: Calibration

    def held(self, path: str) -> bool:
        """Whether a true value is in its interval."""
        (fitted,) = (each for each in self.found.fitted if each.parameter.path == path)
        return fitted.interval is not None and fitted.interval[0] <= self.true[path] <= fitted.interval[1]


def measurements(seed: int, true: dict[str, float]) -> str:
    """Measured points of a system with these parameters, as a CSV file."""
    draw = np.random.default_rng([seed, 1])
    overrides = {**true, "workloads.hospital.cpu.mean": f"{true['workloads.hospital.cpu.mean']} ms"}
    settings = {"run.duration": "60 s", "run.warmup": "3 s", "run.replications": 1}
    points = [
        simulation.Point(
            point, hypertwin.load(SCENARIO, {**overrides, **settings, **point, "run.seed": 1_000_000 * seed + row})
        )
        for row, point in enumerate(POINTS, 1)
    ]
    reports = simulation.run_points(points).points
    metrics: list[MetricPath] = [parse(metric, points[0].scenario, metric) for metric in METRICS]
    lines = [",".join([*POINTS[0], *METRICS])]
    for point, report in zip(POINTS, reports, strict=True):
        values = [metric.read(report) or 0.0 for metric in metrics]
        noisy = [value * (1 + ERROR * draw.standard_normal()) for value in values]
        lines.append(",".join([*(str(value) for value in point.values()), *(f"{value:.6g}" for value in noisy)]))
    return "\n".join(lines) + "\n"


def recover(seeds: range) -> Iterator[Recovery]:
    """Measure and fit, for each seed."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            draw = np.random.default_rng(seed)
            true = {path: float(draw.uniform(low, high)) for path, (low, high) in FREE.items()}
            file = Path(folder) / f"measured-{seed}.csv"
            file.write_text(measurements(seed, true), encoding="utf-8")
            yield Recovery(seed, true, hypertwin.calibrate(SCENARIO, file, free=list(FREE), seed=seed, **RUN))


def pair(seed: int = 1) -> Calibration:
    """Fit two parameters that the measurements cannot tell apart."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "measured.csv"
        file.write_text(measurements(seed, {"workloads.hospital.cpu.mean": 54.0, "hosts.esx1.smt_yield": 1.25}))
        return hypertwin.calibrate(SCENARIO, file, free=list(PAIR), seed=seed, **RUN)


def main() -> int:
    """Run the seeds that were asked for; 1 when too few intervals hold the truth."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=20, help="how many seeds (20)")
    count = parser.parse_args().seeds
    held = dict.fromkeys(FREE, 0)
    all_held = 0
    for each in recover(range(1, count + 1)):
        cells = []
        all_held += all(map(each.held, FREE))
        for fitted in each.found.fitted:
            path = fitted.parameter.path
            inside = each.held(path)
            held[path] += inside
            low, high = fitted.interval or (float("nan"), float("nan"))
            cells.append(
                f"{path.rsplit('.', 2)[-2]}.{path.rsplit('.', 1)[-1]} {each.true[path]:.4g} in [{low:.4g}, {high:.4g}] "
                f"{'yes' if inside else 'NO'}"
            )
        print(f"seed {each.seed:2}: {'; '.join(cells)}; {each.found.fit.evaluations} evaluations", flush=True)
    inseparable = pair().inseparable
    print(inseparable[0][1] if inseparable else f"{' and '.join(PAIR)} were told apart: WRONG")
    for path, number in held.items():
        print(f"{path}: in its 95 % interval in {number} of {count} seeds")
    print(f"all at the same time: {all_held} of {count}")
    return 0 if inseparable and all(number >= WANTED * count / 20 for number in held.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
