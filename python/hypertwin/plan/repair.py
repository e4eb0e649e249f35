"""Simulated recovery time of a pool after a disk failure, used as repair time of durability.

The largest disk of the pool's first node fails for good when the measured time begins. The rebuild begins at once; the
delay before it (`rebuild.delay`) is added without simulation. If the run ends before the pool has recovered, the rest
is extrapolated at the rate so far. If the disk with most to rebuild takes longer, its time counts. A run without the
failure shows the cost of the rebuild for the VMs. A run with the failure of the disk's host shows the recovery time of
a host, if the other hosts can take its data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, NoReturn

from hypertwin import _core, language
from hypertwin.documents import plan as documents
from hypertwin.documents.measured import Pool
from hypertwin.documents.simulation import Point
from hypertwin.errors import fail
from hypertwin.metrics.words import REST_OF_REBUILD
from hypertwin.plan import durability
from hypertwin.runs import settle, simulation
from hypertwin.runs.options import AS_WRITTEN, Runs
from hypertwin.runs.runner import running
from hypertwin.scenario import Given, Scenario, load, space
from hypertwin.scenario.overrides import by_path

GIB = 2**30

DEFAULT_CHUNK = {"mirrored-mesh": 2**20, "chunk-store": 256 * 2**20}
"""Default of `storage.NAME.chunk` for the kinds that place each chunk by itself."""


def answer(asked: durability.Asked) -> documents.DurabilityDocument:
    """Return the document of `hypertwin durability`.

    Raises ScenarioError, with names of options as paths, and RunError.
    """
    rate = durability.failure_rate(asked.afr)
    if asked.scenario is None:
        runs = {each.name: getattr(asked, each.name) for each in fields(Runs)}
        theirs = {"storage": asked.storage, "policy": asked.policy, **runs}
        _refuse(theirs, "nothing without a scenario", "give the scenario, or leave it out")
        found = durability.compare(
            asked.scheme or durability.USUAL_SCHEMES,
            annual_failure_rate=rate,
            repair=durability.repair_time(
                asked.repair, disk=asked.disk, rebuild=asked.rebuild, detection=asked.detection
            ),
            groups=1 if asked.groups is None else asked.groups,
            usable_bytes=durability.usable_bytes(asked.usable),
            serial_repair=asked.serial_repair,
        )
    else:
        theirs = {name: getattr(asked, name) for name in ("scheme", "repair", "disk", "rebuild", "groups", "usable")}
        _refuse(theirs, "nothing beside a scenario", "leave it out: the scenario and its twin say it")
        measured = measure(
            asked.scenario,
            asked,
            storage=asked.storage,
            policy=asked.policy,
            detection=asked.detection,
            progress=asked.progress,
        )
        found = assess(measured, annual_failure_rate=rate, serial_repair=asked.serial_repair)
    return {"version": _core.version(), **found}


def _refuse(given: Mapping[str, object], allowed: str, hint: str) -> None:
    """Refuse arguments that have no effect here."""
    for name, value in given.items():
        if value is not None:
            fail(
                "one-of",
                name,
                ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value),
                allowed,
                hint,
            )


def measure(
    scenario: Given,
    runs: Runs = AS_WRITTEN,
    *,
    storage: str | None = None,
    policy: str | None = None,
    detection: str | None = None,
    progress: simulation.Progress | None = None,
) -> documents.FailedDisk:
    """Simulate the failure of a disk of the pool `storage` (the only pool if None), as described in the module.

    If VMs name policies, durability applies to the data of `policy`, or of the first policy in the report. `detection`
    (`15min`) replaces the pool's `rebuild.delay`. Failures of the scenario itself are left out. Raises ScenarioError
    for problems and for a pool that never recovers, and RunError when a run fails.
    """
    base = load(scenario, {**by_path(runs.overrides), **runs.settings, "failures": []})
    if math.isinf(settle.given_s(base.run, "duration")):  # as long as is usual beside a failure
        base = load(base, {"run.duration": f"{settle.DEFAULT_S['duration']:g} s"})
    pool = _pool(base, storage)
    spec = base.data["storage"][pool]
    facts = language.pool_facts(base.json)[pool]
    said = detection if detection is not None else spec["rebuild"].get("delay")
    absent = str(said or _usual(facts.rebuild_delay_s))
    waited = "0 s" if detection is None and facts.replaces_failed_disks else absent
    detection_s = durability.detection_time(waited)
    absent_s = durability.detection_time(absent)
    with running(**runs.where):
        base = simulation.settled([simulation.Point({}, base)], progress=progress).points[0].scenario
        failed = _disk(base, pool)
        host = failed.rpartition("/")[0]
        room = space.spaces(base)[pool]
        heals = room["lost_host"]["heals"] and room["lost_host"]["survives"]
        tried = [base, _without(base, pool, failed), *([_without(base, pool, host)] if heals else [])]
        healthy, report, *others = simulation.run_points(
            [simulation.Point({}, each) for each in tried], progress=progress
        ).reports
    found = report["pools"][pool]
    if found["time_to_whole_s"] is None:
        _never_whole(pool, failed, found, report)
    kept = _kept(found, pool, policy)
    return {
        "scenario": base.name,
        "pool": pool,
        "policy": kept.get("policy"),
        "policies": [each["policy"] for each in found.get("policies", ())],
        "redundancy": kept["redundancy"],
        "placement_groups": kept["placement_groups"],
        "groups": groups(base, pool, kept),
        "stored_gib": kept["stored_gib"],
        "stored_guessed": "stored" not in spec,
        "failed": failed,
        "rebuilt_gib": found["rebuilt_gib"],
        "due_gib": found["due_gib"],
        "rebuild_mb_per_s": found["rebuild_mb_per_s"],
        "rebuild_s": found["time_to_whole_s"],
        "is_measured": found["degraded_pct"] == 0,
        "clients": list(_clients(base, pool, healthy, report)),
        "space": room,
        "host": _of_host(others[0]["pools"][pool], host, absent, absent_s) if others else None,
        "detection_s": detection_s,
        "detection": waited,
        "replications": report["replications"],
        "duration_s": report["duration_s"],
        "warmup_s": report["warmup_s"],
        "seed": int(base.data["run"]["seed"]),
    }


def _without(base: Scenario, pool: str, failed: str) -> Scenario:
    """Return the scenario with a failure when the measured time begins, and a rebuild that begins at once."""
    failure = {"at": base.data["run"]["warmup"], "fails": [failed]}
    at_once = {f"storage.{pool}.rebuild.delay": "0 s", f"storage.{pool}.client.timeout": "1 ms"}
    return load(base, {"failures": [failure], **at_once})


def _of_host(found: Pool, host: str, waited: str, waited_s: float) -> documents.FailedHost | None:
    """Return the rebuild of a host in the runs, or None if no run saw one."""
    rebuild_s = found["time_to_whole_s"]
    if rebuild_s is None or not found["rebuilt_gib"]:
        return None
    return {
        "failed": host,
        "rebuilt_gib": found["rebuilt_gib"],
        "due_gib": found["due_gib"],
        "rebuild_mb_per_s": found["rebuild_mb_per_s"],
        "rebuild_s": rebuild_s,
        "is_measured": found["degraded_pct"] == 0,
        "detection_s": waited_s,
        "detection": waited,
    }


def _clients(base: Scenario, pool: str, healthy: Point, failing: Point) -> Iterator[documents.BesideRebuild]:
    """Yield the service of each VM group on the pool, without and with the failure."""
    groups = dict.fromkeys(vm.group for vm in base.inventory.vms if vm.pool == pool)
    for group in groups:
        one, other = healthy["groups"][group], failing["groups"][group]
        yield {
            "group": group,
            "iops": one.get("iops", 0.0),
            "iops_beside": other.get("iops", 0.0),
            "response_ms": one["response_ms"]["mean"],
            "response_ms_beside": other["response_ms"]["mean"],
            "response_ms_p99": one["response_ms"]["p99"],
            "response_ms_p99_beside": other["response_ms"]["p99"],
        }


def _kept(found: Pool, pool: str, policy: str | None) -> Mapping[str, Any]:
    """Return the report on the data of a policy, or on all data if no VM names a policy."""
    policies = {each["policy"]: each for each in found.get("policies", ())}
    if policy is not None and policy not in policies:
        allowed = ", ".join(policies) or f"none: no VM on {pool} names a policy"
        fail("unknown-reference", "policy", policy, allowed, "name a policy that some VM has, or leave it out")
    return policies[policy] if policy is not None else next(iter(policies.values()), found)


def assess(
    measured: documents.FailedDisk, *, annual_failure_rate: float, serial_repair: bool = False
) -> documents.Durability:
    """Return the document of `durability.compare` for the pool, with the simulation under `twin`."""
    return {
        **durability.compare(
            [measured["redundancy"]],
            annual_failure_rate=annual_failure_rate,
            repair=durability.Repair(measured["detection_s"] + measured["rebuild_s"], _source(measured)),
            groups=measured["groups"],
            usable_bytes=round(measured["stored_gib"] * GIB),
            serial_repair=serial_repair,
        ),
        "twin": measured,
    }


def groups(scenario: Scenario, pool: str, kept: Mapping[str, Any]) -> int:
    """Return the number of combinations of disks that hold the parts of some data of a pool.

    Products without placement groups place each chunk by itself, on any disks in different failure domains. The twin
    simulates fewer groups, each of many chunks.
    """
    said, simulated = scenario.data["storage"][pool], int(kept["placement_groups"])
    if said["kind"] not in DEFAULT_CHUNK:
        return simulated
    redundancy = language.redundancy(kept["redundancy"])
    domains = space.disks_of_domains(said, len(scenario.inventory.pool[pool].hosts))
    possible = combinations([len(disks) for disks in domains], redundancy.width)
    chunk = _core.size_bytes(said["chunk"]) if "chunk" in said else DEFAULT_CHUNK[said["kind"]]
    chunks = kept["stored_gib"] * GIB / (chunk * redundancy.needed)
    return max(1, round(-possible * math.expm1(-chunks / possible))) if possible else simulated


def combinations(disks: Sequence[int], width: int) -> float:
    """Return the number of ways to choose `width` disks in different failure domains, which have these disks."""
    found = [1.0] + [0.0] * width
    for many in disks:
        for chosen in range(width, 0, -1):
            found[chosen] += many * found[chosen - 1]
    return found[width]


def _source(measured: documents.FailedDisk) -> str:
    """Return the source of the repair time in words."""
    replications = measured["replications"]
    runs = f"{replications} run{'s' if replications > 1 else ''} of {measured['duration_s']:g} s"
    rebuilt, lost = measured["rebuilt_gib"], measured["rebuilt_gib"] + measured["due_gib"]
    rate = f"at {measured['rebuild_mb_per_s']:,.0f} MB/s under load"
    time = _written(measured["rebuild_s"])
    done = (
        f"rebuilt {lost:,.1f} GiB in {time} {rate} ({runs})"
        if measured["is_measured"]
        else f"rebuilt {rebuilt:,.1f} of {lost:,.1f} GiB {rate} in {runs}. By {REST_OF_REBUILD}, all data take {time}"
    )
    begins = f"{measured['detection']} until the rebuild begins"
    return f"{begins}. Simulated failure of {measured['failed']}: {measured['pool']} {done}"


def _written(seconds: float) -> str:
    """Return a time in a suitable unit."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s"


def _usual(seconds: float) -> str:
    """Return a default delay as scenarios write it."""
    return f"{seconds:g} s" if seconds % 60 else f"{seconds / 60:g} min"


def _pool(scenario: Scenario, name: str | None) -> str:
    pools = scenario.data.get("storage", {})
    if not pools:
        hint = "give a scenario with storage, or no scenario and --repair or --disk and --rebuild"
        fail("missing-key", "storage", "(missing)", "a scenario with a pool of distributed storage", hint)
    if name is None:
        if len(pools) > 1:
            fail("missing-key", "storage", "(missing)", f"one of {', '.join(pools)}", "say which pool is meant")
        return str(next(iter(pools)))
    if name not in pools:
        fail("unknown-reference", "storage", name, f"a key of storage: {', '.join(pools)}", "choose one of these")
    return name


def _disk(scenario: Scenario, pool: str) -> str:
    """Return the first of the largest disks on the pool's first node, by its name in `failures`."""
    spec = scenario.inventory.pool[pool]
    first = next(each.name for each in scenario.inventory.pools if spec.hosts[0] in each.hosts)
    if first != pool:
        hint = f"give {pool} nodes of its own, or leave {first} out"
        allowed = f"hosts whose disks are not those of {first}"
        fail("unknown-component", f"storage.{pool}.nodes", ", ".join(spec.groups), allowed, hint)
    said = scenario.data["storage"][pool]
    sizes = [
        _core.size_bytes(disks["capacity"])
        for disks in (said["devices"], *said.get("more_devices", ()))
        for _ in range(disks["per_node"])
    ]
    return f"{spec.hosts[0]}/disk-{1 + sizes.index(max(sizes))}"


def _never_whole(pool: str, failed: str, found: Mapping[str, Any], report: Mapping[str, Any]) -> NoReturn:
    redundancy = found["redundancy"]
    path = f"storage.{pool}.redundancy"
    if found["lost_gib"] > 0:
        hint = f"without {failed} {found['lost_gib']:.3g} GiB are lost: choose more copies or parity"
        fail("no-repair", path, redundancy, "copies or parity that survive the failure of a disk", hint)
    if not found["incidents"] or found["incidents"][0]["degraded_pct"] == 0:
        hint = "raise it, or the VMs' working sets"
        fail("no-repair", f"storage.{pool}.stored", f"{failed} holds nothing", "data on every disk", hint)
    if found["due_gib"] > 0:
        hint = f"give the twin more time with --duration (it had {report['duration_s']:g} s)"
        fail("no-repair", "run.duration", "nothing was rebuilt", "a run in which the rebuild gets somewhere", hint)
    value = f"{redundancy}: without {failed}, {found['degraded_pct']:.3g} % of the groups find no other place"
    hint = "add nodes or disks, or choose a smaller failure_domain or fewer copies or fragments"
    fail("no-repair", path, value, "more failure domains than copies or fragments", hint)
