"""Verdict on host failures, for callers that work without the extra `plan`. `placement/verdict.py` has the rules."""

from __future__ import annotations

from collections.abc import Mapping

from hypertwin import scenario as scenarios
from hypertwin.documents.capacity import Capacity
from hypertwin.documents.failover import Failover, HostFailure
from hypertwin.documents.simulation import Point
from hypertwin.extras import installed
from hypertwin.members import Cluster
from hypertwin.metrics.words import some
from hypertwin.plan import capacity as counted
from hypertwin.plan import powered_off
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.capacity.options import Asked
from hypertwin.scenario import Given, Scenario
from hypertwin.scenario.overrides import by_path


def judged(scenario: Scenario, cluster: Cluster, limits: Limits | None = None) -> Failover | None:
    """Return the verdict on a cluster, by default under the limits of all commands.

    None without a failure to check, without a remaining host, or without the extra `plan`.
    """
    limits = limits or Limits()
    hosts = sum(host.cluster == cluster.name for host in scenario.inventory.hosts)
    if not 0 < limits.failures < hosts or not installed("plan"):
        return None
    from hypertwin.plan.placement import verdict

    return verdict.of_cluster(scenario, cluster, limits)


def of_failures(scenario: Scenario) -> dict[str, HostFailure]:
    """Return the verdict on each host that fails alone, by host name.

    The verdict is the same as in `capacity` and plans.
    """
    fails = {part for failure in scenario.data.get("failures", ()) for part in failure["fails"]}
    return {
        name: each
        for cluster in scenario.inventory.clusters
        if fails & (hosts := {host.name for host in scenario.inventory.hosts if host.cluster == cluster.name})
        if (verdict := judged(scenario, cluster)) is not None
        for name, each in verdict["failures"].items()
        if len(each["failed"]) == 1 and each["failed"][0] in fails & hosts
    }


def told(judged: Mapping[str, HostFailure], point: Point) -> list[str]:
    """Return sentences with the verdicts on failed hosts of a run, with the reason if the run had another outcome."""
    return [
        f"Failover verdict of capacity for {name}: {_answer(each)}.{_otherwise(each, point)}"
        for name, each in judged.items()
    ]


def _answer(judged: HostFailure) -> str:
    answer = {True: "survived", False: "not survived", None: "not known"}[judged["survives"]]
    why = "; ".join(reason["text"] for reason in judged["reasons"])
    return f"{answer} ({why})" if why else answer


def _otherwise(judged: HostFailure, point: Point) -> str:
    """Return the reason why restarts of a failed host's VMs in a run differ from the verdict."""
    lost = {
        vm
        for failure in point["failures"]
        if failure["fails"] and failure["hosts"] == judged["failed"]
        for vm in failure["vms"]
    }
    outages = [outage for outage in point.get("outages", ()) if outage["vm"] in lost]
    up = {outage["vm"] for outage in outages if outage["up_s"] is not None}
    left = sorted({each["vm"] for each in point.get("unplaced", ())} & lost - up)
    if left and judged["survives"]:
        why = "HA restarts VMs one after another, by priority, but the verdict places all at once"
        return f" The run left {some(left)} down: {why}."
    if 0 < judged["restarts"] <= len(up) and any(reason["code"] == "no-host" for reason in judged["reasons"]):
        why = "HA checks reservations, but the verdict checks demand against the limits"
        return f" The run still restarted every VM: {why}."
    return ""


def capacity(path: Given, asked: Asked) -> Capacity:
    """Return the document of `hypertwin.plan.capacity.capacity`, with the verdict on each cluster."""
    loaded = scenarios.load(path, by_path(asked.overrides))
    return counted.capacity(powered_off.with_off(loaded) if asked.with_off else loaded, asked, judged)
