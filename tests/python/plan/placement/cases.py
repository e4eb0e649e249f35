"""Clusters to plan for: small random ones that exhaustive search can judge, and the parts to write others by hand."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import yaml

from hypertwin import scenario
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.placement.problem import Problem, problem
from hypertwin.scenario import Scenario

IDLE = {"arrivals": {"closed": {"population": 1, "think": {"mean": "1 s"}}}, "cpu": {"mean": "1 ms"}}


def host(cores: int = 10, memory: int = 100, **more: Any) -> dict[str, Any]:
    """A host of 1 GHz and one socket; memory in GiB."""
    own = {"sockets": 1, "cores_per_socket": cores, "clock": "1 GHz", "memory_per_node": f"{memory} GiB"}
    return {"hypervisor": "esxi-8.0", "threads_per_core": 2, **own, **more}


def vm(on: str, memory: int, mhz: float = 100, vcpus: int = 2, **more: Any) -> dict[str, Any]:
    """A VM on a host; memory in GiB, and CPU demand in MHz."""
    measured = {"over": "30 d", "cpu_mhz": mhz, "cpu_p95_mhz": mhz, "cpu_peak_mhz": 1.5 * mhz}
    return {
        "host": on,
        "vcpus": vcpus,
        "memory": f"{memory} GiB",
        "workload": "any",
        "measured": measured,
        **more,
    }


def made(hosts: Mapping[str, Any], vms: Mapping[str, Any], **more: Any) -> Scenario:
    """A scenario of these."""
    text = {"name": "made", "hosts": hosts, "vms": vms, "workloads": {"any": IDLE}, **more}
    return scenario.loads(yaml.safe_dump(text))


def of(made: Scenario, **limits: Any) -> Problem:
    """The problem of the first cluster of a scenario."""
    return problem(made, made.inventory.clusters[0], Limits(**limits))


def small(seed: int, *, hosts: int = 4, vms: int = 7) -> Scenario:
    """A random small cluster: different hosts, VMs of any size, rules, priorities, VMs that stay."""
    draw = random.Random(seed)
    wide = draw.choice([1, 2])
    all_hosts = {
        f"h{number}": host(draw.choice([6, 10]) * wide, draw.choice([60, 100, 100]))
        for number in range(draw.randint(1 if seed % 7 == 0 else 2, hosts))
    }
    names = sorted(all_hosts)
    full = draw.choice([10, 20, 30])
    all_vms = {}
    for number in range(draw.randint(0 if seed % 11 == 0 else 3, vms)):
        more: dict[str, Any] = {}
        if draw.random() < 0.3:
            more["restart_priority"] = draw.choice(["highest", "high", "low", "disabled"])
        if draw.random() < 0.1:
            more["affinity"] = "0-1"
        if draw.random() < 0.15:
            more["live_migration"] = False
        memory, mhz = draw.randint(5, 2 * full), draw.choice([300, 1000, 1700, 2600.5]) * wide
        vcpus = draw.choice([1, 2, 4, 14]) if "affinity" not in more else 2
        all_vms[f"v{number}"] = vm(draw.choice(names), min(memory, 60), mhz, min(vcpus, 12 * wide), **more)
    rules = []
    for number in range(draw.randint(0, 3) if len(all_vms) > 2 else 0):
        kind = draw.choice(["keep-apart", "keep-apart", "keep-together", "run-on", "not-on"])
        about = {"name": f"r{number}", "kind": kind, "mandatory": draw.random() < 0.6}
        about["vms"] = draw.sample(sorted(all_vms), draw.randint(2, 3))
        if kind in ("run-on", "not-on"):
            about["hosts"] = draw.sample(names, draw.randint(1, max(1, len(names) - 1)))
        rules.append(about)
    return made(all_hosts, all_vms, **({"rules": rules} if rules else {}))
