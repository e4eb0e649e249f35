"""A result with outages, migrations and a host short of memory, made by hand around a short run."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import hypertwin
from hypertwin import scenario

SCENARIO = """
name: three-hosts
run: {duration: 60 s, warmup: 5 s, replications: 1, sample_interval: 5 s}
hosts:
  esx: {count: 3, sockets: 1, cores_per_socket: 4, clock: 2.5 GHz, memory_per_node: 64 GiB, hypervisor: esxi-7.0}
vms:
  db: {count: VMS, vcpus: 1, memory: 1 GiB, workload: oltp, host: esx}
workloads:
  oltp: {arrivals: {open: {rate: 2 /s}}, cpu: {mean: 5 ms}}
failures: [{at: 15 s, fails: [esx-1]}]
"""


@cache
def _simulated(vms: int) -> Any:
    return hypertwin.simulate(scenario.loads(SCENARIO.replace("VMS", str(vms)))).to_dict()


def result(vms: int = 9) -> Any:
    """A host failed: of its VMs one found no host, one was not up again; others migrated, one without an end."""
    found = copy.deepcopy(_simulated(vms))
    (point,) = found["points"]
    lost = point["failures"][0]["vms"]
    point["outages"] = [outage(vm, None if vm in lost[-2:] else 48.0 + number) for number, vm in enumerate(lost)]
    point["unplaced"] = [{"vm": lost[-1], "lacks": "memory", "at_s": 33.0}]
    point["judgement"]["unplaced"] = [f"1 VM could not restart: {lost[-1]} needs memory."]
    down = f"{len(lost)} of {vms} VMs were down for up to 50 s of 60 s, because esx-1 failed."
    found["answer"] = {"tone": "bad", "text": point["judgement"]["unplaced"][0], "more": [down]}
    for each in point["outages"]:
        end = each["up_s"] or 65.0
        point["vms"][each["vm"]]["down_s"] = end - 15.0
    there = [vm for vm in point["vms"] if vm not in lost]
    point["moves"] = [
        move(there[0], end_s=30.5),
        move(there[1], why="balance", at_s=30.0, end_s=None, outcome="running", downtime_ms=None),
        move(there[2], why="maintenance", at_s=40.0, end_s=60.0, outcome="given-up", downtime_ms=None),
        {**move(lost[0], why="failure", at_s=33.0, end_s=48.0), "kind": "restart"},
    ]
    point["vms"][there[0]]["slow_s"] = 4.5
    point["hosts"]["esx-2"].update(memory=host_memory(), migration_cpu_pct=2.5)
    for vm in there[:2]:
        point["vms"][vm]["memory"] = vm_memory(7.25 if vm == there[0] else 0.0)
    samples = len(point["timeline"]["time_s"])
    for key, gib in (("free", 2), ("ballooned", 3), ("compressed", 0.5), ("swapped", 1.5)):
        point["timeline"]["hosts"]["esx-2"][f"{key}_bytes"] = [gib * 2**30] * samples
    return found


def outage(vm: str, up_s: float | None) -> dict[str, Any]:
    """A VM of esx-1, which failed after 15 s; it was noticed after 18 s."""
    up = up_s is not None
    restart = 33.0 if up else None
    on = "esx-2" if up else None
    return {
        **{"vm": vm, "host": "esx-1", "from_s": 15.0, "detected_s": 33.0},
        **{"restart_s": restart, "up_s": up_s, "up_on": on},
    }


def move(vm: str, why: str = "event", at_s: float = 20.0, **ended: Any) -> dict[str, Any]:
    """A migration from esx-3 to esx-2."""
    return {
        **{"at_s": at_s, "vm": vm, "from": "esx-3", "to": "esx-2", "kind": "migration", "why": why},
        **{"outcome": "done", "rounds": 3, "sent_bytes": 5 * 2**30, "downtime_ms": 212.4, **ended},
    }


def host_memory() -> dict[str, Any]:
    """A host that came as far as swapping."""
    amounts = {"free": 2, "min_free": 1.25, "ballooned": 3, "swapped": 1.5, "compressed": 0.5, "shared": 0.25}
    return {
        **{"state": "hard", "overcommit_pct": 17.5, "swap_in_bytes_per_s": 12e6, "swap_out_bytes_per_s": 3e6},
        **{f"{key}_bytes": gib * 2**30 for key, gib in amounts.items()},
    }


def vm_memory(swap_wait_pct: float) -> dict[str, Any]:
    """A VM of that host."""
    amounts = {"granted": 4, "consumed": 2.5, "active": 3, "shared": 0, "ballooned": 1, "swapped": 0.5}
    return {
        **{"swap_wait_pct": swap_wait_pct, "swap_in_bytes_per_s": 6e6, "swap_out_bytes_per_s": 0.0},
        **{
            f"{key}_bytes": gib * 2**30
            for key, gib in {**amounts, "compressed": 0, "overhead": 0.1, "target": 2.4}.items()
        },
    }
