"""The two benchmark models in Ciw: `mm1 --customers N --seed S` and
`network --stations K --customers N --seconds T --seed S`. Prints one JSON line.

Ciw has no closed population as such: the customers enter in one batch per node at time 0 and are routed for ever.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import ciw

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from line import ARRIVAL_RATE, Options, Ran, main

DOES = "a record of every visit of every customer (arrival, wait, service, queue lengths), kept to the end"


def mm1(options: Options) -> Ran:
    """One exponential server, Poisson arrivals."""
    ciw.seed(options.seed)
    model = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=ARRIVAL_RATE)],
        service_distributions=[ciw.dists.Exponential(rate=1.0)],
        number_of_servers=[1],
    )
    simulation = ciw.Simulation(model)
    start = time.perf_counter()
    simulation.simulate_until_max_customers(options.customers)
    seconds = time.perf_counter() - start
    records = simulation.get_all_records(only=["service"])
    response = sum(record.exit_date - record.arrival_date for record in records) / len(records)
    return Ran(2 * len(records), seconds, response)


def network(options: Options) -> Ran:
    """Closed network of exponential first-come-first-served stations with uniform routing."""
    ciw.seed(options.seed)
    nodes = options.stations
    here = [options.customers // nodes + (node < options.customers % nodes) for node in range(nodes)]
    row = [1.0 / nodes] * nodes
    row[-1] = max(0.0, 1.0 - sum(row[:-1]) - 1e-15)  # Ciw refuses a row that sums to 1 + rounding
    model = ciw.create_network(
        arrival_distributions=[ciw.dists.Sequential([0.0, float("inf")]) for _ in range(nodes)],
        batching_distributions=[ciw.dists.Sequential([count]) for count in here],
        service_distributions=[ciw.dists.Exponential(rate=1.0) for _ in range(nodes)],
        number_of_servers=[1] * nodes,
        routing=[row] * nodes,
    )
    simulation = ciw.Simulation(model)
    start = time.perf_counter()
    simulation.simulate_until_max_time(options.seconds)
    seconds = time.perf_counter() - start
    completions = len(simulation.get_all_records(only=["service"]))
    return Ran(completions, seconds, completions / options.seconds)


if __name__ == "__main__":
    main("ciw", ciw.__version__, DOES, mm1=mm1, network=network)
