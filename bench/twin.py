"""One timed run of the full twin, printed as the JSON line that every benchmark program prints.

`twin.py solo|pair|io|pool|scale [--hosts N] [--seconds T] [--seed S]`: the monster-VM host with its 24-vCPU VM at 3x,
the same beside a second 24-vCPU VM at 2x, six VMs with a million I/Os per second, or any number of hosts of `pool.yaml`
(distributed storage) or `scale.yaml`. One run is one thread; only the run itself is timed, not reading the scenario or
writing the report. A run of 2 ms is timed first: `setup_s` is what making the hosts and machines costs, and
`ns_per_event` is without it.
"""

# ruff: noqa: T201  printing is what this program does

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import hypertwin
from hypertwin import _core

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))
from line import peak_rss_mib  # noqa: E402

MONSTER_VM = HERE.parent / "studies" / "monster-vm" / "scenario.yaml"
SOLO: dict[str, Any] = {"vms.db.vcpus": 24, "vms.db.load": 3}
MILLION_IOPS = HERE.parent / "studies" / "million-iops" / "multi-vm.yaml"
PAIR: dict[str, Any] = {**SOLO, "vms.neighbour.count": 1, "vms.neighbour.vcpus": 24, "vms.neighbour.load": 2}
VMS_PER_HOST = 4
VMS_PER_NODE = 20
DOES = "schedulers, guests, VMkernel worlds, all metrics of the report, latency histograms, timeline"


def lengths(warmup_ms: int, duration_ms: int) -> dict[str, str]:
    """How long to simulate, with 20 points of timeline."""
    return {
        "run.warmup": f"{warmup_ms} ms",
        "run.duration": f"{duration_ms} ms",
        "run.sample_interval": f"{max(1, duration_ms // 20)} ms",
    }


def timed(scenario: str, seed: int) -> tuple[_core.Replication, float]:
    """One run and the seconds it took."""
    start = time.perf_counter()
    replication = _core.run(scenario, seed)
    return replication, time.perf_counter() - start


def main() -> None:
    """Run one case and print its line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("case", choices=["solo", "pair", "io", "pool", "scale"])
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=100.0, help="simulated, a tenth of it warm-up")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()

    if given.case == "scale":
        path = HERE / "scale.yaml"
        changes: dict[str, Any] = {"hosts.esx.count": given.hosts, "vms.app.count": VMS_PER_HOST * given.hosts}
    elif given.case == "pool":
        path = HERE / "pool.yaml"
        changes = {"hosts.node.count": given.hosts, "vms.app.count": VMS_PER_NODE * given.hosts}
    elif given.case == "io":
        path, changes = MILLION_IOPS, {}
    else:
        path = MONSTER_VM
        changes = SOLO if given.case == "solo" else PAIR
    warmup_ms = max(1, round(given.seconds * 100))
    duration_ms = max(1, round(given.seconds * 1000) - warmup_ms)
    start_only = hypertwin.load(path, {**changes, **lengths(1, 1)}).json
    whole = hypertwin.load(path, {**changes, **lengths(warmup_ms, duration_ms)}).json

    _, setup_s = timed(start_only, given.seed)
    started, again_s = timed(start_only, given.seed)
    setup_s = min(setup_s, again_s)
    replication, seconds = timed(whole, given.seed)

    report = _core.aggregate([replication])
    groups = json.loads(report)["groups"].values()
    ios = sum(group["iops"] for group in groups) * duration_ms / 1000 if given.case in {"io", "pool"} else 0
    events = int(json.loads(report)["events"])
    later = events - int(json.loads(_core.aggregate([started]))["events"])
    simulated_s = (warmup_ms + duration_ms) / 1000
    print(
        json.dumps(
            {
                "case": f"{given.case}-{given.hosts}" if given.case in {"pool", "scale"} else given.case,
                "tool": "hypertwin",
                "version": _core.version(),
                "hosts": given.hosts,
                "events": events,
                "seconds": seconds,
                "events_per_s": events / seconds,
                "simulated_s": simulated_s,
                "simulated_s_per_s": simulated_s / seconds,
                "setup_s": setup_s,
                # warm-up included in the time, a tenth of it, and not in the I/Os
                **({"ios": ios, "seconds_per_million_ios": 1e6 * seconds / ios} if ios else {}),
                "ns_per_event": 1e9 * max(0.0, seconds - setup_s) / max(1, later),
                "peak_rss_mib": round(peak_rss_mib(), 1),
                "report_sha256": hashlib.sha256(report.encode()).hexdigest(),
                "does": DOES,
            }
        )
    )


if __name__ == "__main__":
    main()
