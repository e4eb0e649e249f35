"""The two benchmark models in SimPy: `mm1 --customers N --seed S` and
`network --stations K --customers N --seconds T --seed S`. Prints one JSON line.

Every customer is a process that requests a station's resource, times out for its service and releases it, which is how
SimPy's own documentation models a queue.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Generator
from pathlib import Path

import simpy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from line import ARRIVAL_RATE, Options, Ran, main

DOES = "a process per customer, a resource per station, arrival time per customer, mean response"


def mm1(options: Options) -> Ran:
    """One exponential server, Poisson arrivals."""
    env = simpy.Environment()
    server = simpy.Resource(env)
    gaps, services = random.Random(2 * options.seed), random.Random(2 * options.seed + 1)
    response_sum_s = 0.0

    def customer() -> Generator[simpy.Event, object, None]:
        nonlocal response_sum_s
        arrived = env.now
        with server.request() as turn:
            yield turn
            yield env.timeout(services.expovariate(1.0))
        response_sum_s += env.now - arrived

    def source() -> Generator[simpy.Event, object, None]:
        for _ in range(options.customers):
            yield env.timeout(gaps.expovariate(ARRIVAL_RATE))
            env.process(customer())

    env.process(source())
    start = time.perf_counter()
    env.run()
    seconds = time.perf_counter() - start
    response = response_sum_s / options.customers
    return Ran(2 * options.customers, seconds, response)


def network(options: Options) -> Ran:
    """Closed network of exponential first-come-first-served stations with uniform routing."""
    env = simpy.Environment()
    stations = [simpy.Resource(env) for _ in range(options.stations)]
    draws = random.Random(options.seed)
    completions = 0

    def customer(station: int) -> Generator[simpy.Event, object, None]:
        nonlocal completions
        while True:
            with stations[station].request() as turn:
                yield turn
                yield env.timeout(draws.expovariate(1.0))
            completions += 1
            station = draws.randrange(options.stations)

    for number in range(options.customers):
        env.process(customer(number % options.stations))
    env.run(until=1e-12)  # the customers' start is set-up
    start = time.perf_counter()
    env.run(until=options.seconds)
    seconds = time.perf_counter() - start
    return Ran(completions, seconds, completions / options.seconds)


if __name__ == "__main__":
    main("simpy", simpy.__version__, DOES, mm1=mm1, network=network)
