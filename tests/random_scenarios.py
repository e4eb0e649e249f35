"""Scenarios at random, in the shape of what people have and quick to simulate: all hypervisors, arrays and pools.

Most are loaded below what there is, some near it or beyond. `python -m tests.random_scenarios FIRST COUNT` simulates
some until they have settled, and four times as long, and prints what came of it.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scipy import stats

import hypertwin
from hypertwin import language
from hypertwin.scenario import Scenario

OLD_DISKS = {"hdd-7.2k": 90.0, "hdd-10k": 150.0, "hdd-15k": 200.0}
FLASH = {"sata-ssd": 20_000.0, "sas-ssd": 40_000.0, "nvme": 100_000.0}
"""About how many I/Os a second a drive of a kind does."""
REPLICATIONS = 3
POOLS = ("ceph", "vsan", "chunk-store", "mirrored-mesh")


@dataclass(frozen=True)
class Drawn:
    """A scenario, and how it is loaded."""

    scenario: Scenario
    kind: str
    """Hypervisor and storage."""
    load: float
    """Offered CPU work over what the busiest host or VM can do, or I/Os over what the drives can do: the larger. What
    waits for its own answers (closed loops) is never more than 1."""


def drawn(seed: int) -> Drawn:
    """The scenario of a seed."""
    dice = random.Random(seed)
    names = [name for name in language.hypervisors() if name != "none"]
    hypervisor = dice.choice(names)
    hosts, cores = dice.randint(1, 3), dice.choice([4, 6, 8])
    clock = dice.choice([2.0, 2.4, 3.1])
    storage = dice.choice(["none", "none", "array", "pool", "pool"])
    data: dict[str, Any] = {
        "name": f"random-{seed}",
        "run": {"seed": seed + 1},
        "hosts": {"h": _host(dice, hypervisor, hosts, cores, clock)},
        "vms": {},
        "workloads": {},
    }
    kind, drive_iops = storage, 0.0
    if storage == "array":
        data["arrays"], drive_iops = _array(dice)
    if storage == "pool":
        data["storage"], kind, drive_iops = _pool(dice, data["hosts"]["h"], hosts)
    # most well below what there is, some near it, some beyond
    wanted = dice.uniform(0.15, 0.75) if dice.random() < 0.85 else dice.uniform(0.9, 1.3)
    shares = [dice.uniform(0.5, 1.5) for _ in range(dice.randint(1, 3))]
    loads = [
        _group(dice, data, number, wanted * each / sum(shares), hosts * cores, storage, drive_iops, hypervisor)
        for number, each in enumerate(shares)
    ]
    return Drawn(hypertwin.load(data), f"{hypervisor} {kind}", max(wanted if any(loads) else 0.0, *loads))


def _host(dice: random.Random, hypervisor: str, hosts: int, cores: int, clock: float) -> dict[str, Any]:
    sockets = dice.choice([1, 2])
    return {
        "count": hosts,
        "sockets": sockets,
        "cores_per_socket": cores // sockets,
        "threads_per_core": dice.choice([1, 2]),
        "clock": f"{clock} GHz",
        "memory_per_node": "256 GiB",
        "hypervisor": hypervisor,
        "adapters": {"ports": 2, "bandwidth": "1600 MB/s"},
        "network": {"ports": 2, "bandwidth": "2.95 GB/s"},
    }


def _array(dice: random.Random) -> tuple[dict[str, Any], float]:
    kinds = {**OLD_DISKS, **FLASH}
    kind, count = dice.choice(list(kinds)), dice.choice([4, 8, 16])
    array: dict[str, Any] = {"disks": {"kind": kind, "count": count}, "front_end_ports": dice.choice([2, 4])}
    if dice.random() < 0.5:
        array["cache"] = {"size": "4 GiB", "write_pending": dice.choice(["16 MiB", "256 MiB"])}
    return {"san": array}, min(kinds[kind] * count, 60_000.0)


def _pool(dice: random.Random, host: Mapping[str, Any], hosts: int) -> tuple[dict[str, Any], str, float]:
    kind = dice.choice(POOLS)
    drives = dice.choice([*FLASH, "hdd-7.2k"]) if kind != "vsan" else dice.choice(list(FLASH))
    per_node = dice.choice([2, 3, 4])
    pool: dict[str, Any] = {
        "kind": kind,
        "nodes": "h",
        "redundancy": "replicas-2",
        "failure_domain": "host" if hosts > 1 else "disk",
        "devices": {"kind": drives, "per_node": per_node, "capacity": "4 TB"},
    }
    if kind in ("ceph", "chunk-store") and hosts == 3 and dice.random() < 0.3:
        pool["redundancy"] = "ec-2+1"
    iops = {**OLD_DISKS, **FLASH}[drives] * per_node * hosts / 3  # copies, and reads beside them
    return {"pool": pool}, f"{kind} {drives}", min(iops, 30_000.0)


def _group(
    dice: random.Random,
    data: dict[str, Any],
    number: int,
    share: float,
    cores: int,
    storage: str,
    drive_iops: float,
    hypervisor: str,
) -> float:
    """Adds a group of VMs that takes a share of the hosts or drives; its load, 0 of a closed loop."""
    name, vcpus, count = "abc"[number], dice.choice([1, 2, 4]), dice.choice([1, 2, 3])
    vm: dict[str, Any] = {"count": count, "vcpus": vcpus, "memory": "4 GiB", "workload": name}
    has_disks = storage != "none" and dice.random() < 0.8
    if has_disks:
        vm["array" if storage == "array" else "storage"] = "san" if storage == "array" else "pool"
    if dice.random() < 0.15:
        vm["shares"] = dice.choice(["low", "high"])
    cpu_ms = dice.choice([1.0, 3.0, 8.0, 20.0])
    work: dict[str, Any] = {"cpu": {"mean": f"{cpu_ms} ms", "cv": dice.choice([0, 0.5, 1, 1.5])}}
    if dice.random() < 0.3:
        work["delay"] = {"mean": f"{dice.choice([2, 10])} ms"}
    # of hosts, of the group's own vCPUs and of drives: the tightest
    rate = share * min(cores, vcpus * count) * 1e3 / cpu_ms / count
    if has_disks:
        work.update({"ios": dice.choice([0.5, 1, 4]), "read_pct": dice.choice([0, 50, 70, 100])})
        work["working_set"] = "4 GiB"
        rate = min(rate, share * drive_iops / work["ios"] / count)
    sort = dice.choice(
        ["open", "open", "closed", "parallel", "io"] if has_disks else ["open", "open", "closed", "parallel"]
    )
    data["vms"][name], data["workloads"][name] = vm, work
    if dice.random() < 0.1 and sort == "open":
        vm["limit"] = f"{max(1.3 * rate * cpu_ms / 1e3 * float(data['hosts']['h']['clock'].split()[0]), 0.1):.2f} GHz"
    if sort == "open":
        work["arrivals"] = {"open": {"rate": f"{rate:.4g} /s", "cv": dice.choice([0.5, 1, 1.5])}}
        return max(share, rate * cpu_ms / 1e3 / vcpus)
    if sort == "closed":
        think_s = dice.choice([0.1, 1.0])
        sessions = max(1, round(rate * (think_s + 2 * cpu_ms / 1e3)))
        work["arrivals"] = {"closed": {"population": min(sessions, 500), "think": {"mean": f"{think_s} s"}}}
    elif sort == "parallel":
        data["workloads"][name] = work = {"cpu": work["cpu"]}
        for key in ("array", "storage"):
            vm.pop(key, None)
        work["arrivals"] = {"parallel": {"parts": dice.choice(["node", "vcpu"])}}
    else:
        work["arrivals"] = {"io": {"outstanding": dice.choice([1, 4, 16])}}
        work.update(
            {"cpu": {"mean": "5 us"}, "block": dice.choice(["4 KiB", "64 KiB"]), "random_pct": dice.choice([0, 100])}
        )
        del work["ios"]
        work.pop("delay", None)
    return 0.0


@dataclass(frozen=True)
class Compared:
    """A run that ended by itself, and one of four times its length with other random numbers."""

    seed: int
    drawn: Drawn
    short: Mapping[str, Any]
    long: Mapping[str, Any] | None
    """None where the short one is not steady."""

    @property
    def are_steady(self) -> bool:
        """Whether both are."""
        return self.long is not None and bool(self.long["steady"])

    def means(self) -> Iterator[tuple[str, float, float]]:
        """Figures with intervals in both: name, their difference, and how much that may be by chance."""
        assert self.long is not None
        for name, group in self.short["groups"].items():
            other = self.long["groups"][name]
            figures = {
                "response": (group["response_ms"], other["response_ms"], "mean", "ci95"),
                "throughput": (group, other, "throughput_per_s", "throughput_per_s_ci95"),
            }
            for what, (one, two, value, half) in figures.items():
                values = (one[value], two[value], one[half], two[half])
                if None not in values:
                    yield f"{name} {what}", values[1] - values[0], _by_chance(values[2], values[3])

    def tails(self) -> Iterator[tuple[str, float, float]]:
        """The p99 of each group in both."""
        assert self.long is not None
        for name, group in self.short["groups"].items():
            values = group["response_ms"]["p99"], self.long["groups"][name]["response_ms"]["p99"]
            if None not in values and group["response_count"] >= 1_000:
                yield name, *values


def _by_chance(one: float, other: float) -> float:
    """Half the width of the 95 % interval of a difference, from those of two means of REPLICATIONS (Welch, 1947)."""
    factor = float(stats.t.ppf(0.975, REPLICATIONS - 1))
    squares = (one / factor) ** 2, (other / factor) ** 2
    total = sum(squares)
    if not total:
        return 0.0
    degrees = total**2 * (REPLICATIONS - 1) / sum(each**2 for each in squares)
    return float(stats.t.ppf(0.975, degrees)) * math.sqrt(total)


def compared(seed: int) -> Compared:
    """The scenario of a seed, simulated until it has settled, and four times as long."""
    each = drawn(seed)
    given: dict[str, Any] = {"store": "off", "jobs": 1, "replications": REPLICATIONS}
    short = hypertwin.simulate(each.scenario, duration="auto", warmup="auto", **given).reports[0]
    if not short["steady"]:
        return Compared(seed, each, short, None)
    times = {"duration": 4 * short["duration_s"], "warmup": 4 * short["warmup_s"]}
    long = hypertwin.simulate(each.scenario, **times, **given, seed=1_000_000 + seed, most_events=None).reports[0]
    return Compared(seed, each, short, long)


def main(first: int, count: int) -> None:
    """Print what became of some seeds."""
    for seed in range(first, first + count):
        began = time.process_time()
        each = compared(seed)
        reason = each.short["verdict"]["reason"]
        found = [
            f"{seed:4} {each.drawn.kind:28} load {each.drawn.load:.2f} {each.short['duration_s']:g} s",
            f"{each.short['events']:,} events",
            each.short["verdict"]["steady"]
            + (f" ({each.short['found']['ended']}: {reason['text']})" if reason else ""),
        ]
        if each.are_steady:
            found += [f"{name} {more / may:+.1f}" for name, more, may in each.means() if abs(more) > may > 0]
            found += [
                f"{name} p99 {one:.4g} -> {two:.4g}" for name, one, two in each.tails() if abs(two / one - 1) > 0.25
            ]
        elif each.long:
            found.append(f"four times as long: {each.long['verdict']['reason']['text']}")
        print("; ".join(found), f"{time.process_time() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
