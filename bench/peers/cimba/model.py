"""The two benchmark models in Cimba: `mm1 --customers N --seed S` and
`network --stations K --customers N --seconds T --seed S`. Prints one JSON line.

Through the Python package, which carries the C engine and compiles the processes with Numba; the compilation is timed
apart (`setup_s`). Sources and stations are coroutines that exchange time-stamped customers through stores.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import cimba as cb
from cimba import inputs, random

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from line import ARRIVAL_RATE, Options, Ran, main

DOES = "a coroutine per source and station, a store per queue, arrival time per customer, mean response"


class SingleServer(cb.Model):
    """M/M/1; the trial ends after `customers` completions."""

    customers: cb.Param[int]
    gap_s: cb.Input[float] = inputs.dist.exponential(mean=1.0 / ARRIVAL_RATE)
    service_s: cb.Input[float] = inputs.dist.exponential(mean=1.0)
    queue: cb.Store[float]
    served: int = 0
    response_sum_s: float = 0.0
    completions: cb.Output[int]
    response_s: cb.Output[float]

    @cb.process
    def arrivals(self) -> None:
        """Poisson arrivals of `customers` customers."""
        for _ in range(self.customers):
            cb.hold(self.gap_s.next())
            self.queue.put(cb.now())

    @cb.process
    def server(self) -> None:
        """First come, first served; the last customer ends the trial."""
        while self.served < self.customers:
            arrived = self.queue.get()
            cb.hold(self.service_s.next())
            self.response_sum_s += cb.now() - arrived
            self.served += 1
        self.completions = self.served
        self.response_s = self.response_sum_s / self.served
        cb.end_trial()


class Station(cb.Model):
    """One first-come-first-served server of the closed network."""

    customers: cb.Param[int] = 0
    station_count: cb.Param[int] = 0
    service_s: cb.Input[float] = inputs.dist.exponential(mean=1.0)
    queue: cb.Store[float]
    others: list[cb.Ref[Station]]
    served: int = 0
    response_sum_s: float = 0.0
    completions: cb.Output[int]

    @cb.on_start
    def fill(self) -> None:
        """Put the initial customers in the queue."""
        for _ in range(self.customers):
            self.queue.put(cb.now())

    @cb.process
    def serve(self) -> None:
        """First come, first served; then to any station."""
        while True:
            arrived = self.queue.get()
            cb.hold(self.service_s.next())
            self.response_sum_s += cb.now() - arrived
            self.served += 1
            self.others[random.dice(0, self.station_count - 1)].queue.put(cb.now())

    @cb.on_end
    def count(self) -> None:
        """Report the completions."""
        self.completions = self.served


class Network(cb.Model):
    """Closed network of stations with uniform routing."""

    stations: list[Station]


def timed(model: cb.Model, duration_s: float, seed: int) -> tuple[float, Any]:
    """Seconds that one trial takes, and its result."""
    experiment = cb.Experiment(model, replications=1, window=cb.Window(warmup=0, duration=duration_s), seed=seed)
    start = time.perf_counter()
    result = experiment.run()
    return time.perf_counter() - start, result


def mm1(options: Options) -> Ran:
    """One exponential server, Poisson arrivals."""
    model = SingleServer()
    model.customers = 100
    setup_s, _ = timed(model, 1e9, options.seed)
    model.customers = options.customers
    seconds, result = timed(model, 1e12, options.seed)
    completions = int(result[model].completions.values[0, 0])
    response = float(result[model].response_s.values[0, 0])
    return Ran(2 * completions, seconds, response, setup_s)


def network(options: Options) -> Ran:
    """Closed network of exponential first-come-first-served stations with uniform routing."""
    model = Network()
    model.stations = [Station() for _ in range(options.stations)]
    for number, station in enumerate(model.stations):
        station.customers = options.customers // options.stations + (number < options.customers % options.stations)
        station.station_count = options.stations
        station.others = list(model.stations)
    setup_s, _ = timed(model, 1.0, options.seed)
    seconds, result = timed(model, options.seconds, options.seed)
    completions = int(sum(result[station].completions.values[0, 0] for station in model.stations))
    throughput = completions / options.seconds
    return Ran(completions, seconds, throughput, setup_s)


if __name__ == "__main__":
    main("cimba", cb.__version__, DOES, mm1=mm1, network=network)
