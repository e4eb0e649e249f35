"""The verdict on host failures, for all that do less without the extra `plan`; `placement/verdict.py` makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypertwin import scenario as scenarios
from hypertwin.documents.capacity import Capacity
from hypertwin.documents.failover import Failover
from hypertwin.extras import installed
from hypertwin.language import Cluster
from hypertwin.plan import capacity as counted
from hypertwin.plan import powered_off
from hypertwin.plan.capacity.limits import Limits
from hypertwin.scenario import Given, Scenario


def judged(scenario: Scenario, cluster: Cluster, limits: Limits | None = None) -> Failover | None:
    """The verdict on a cluster, by default under the limits of all commands.

    None without a failure to look at or a host that would be left, and without the extra `plan`.
    """
    limits = limits or Limits()
    hosts = sum(host.cluster == cluster.name for host in scenario.inventory.hosts)
    if not 0 < limits.failures < hosts or not installed("plan"):
        return None
    from hypertwin.plan.placement import verdict

    return verdict.of_cluster(scenario, cluster, limits)


def of_failures(scenario: Scenario) -> list[str]:
    """The verdict on the host failures that a scenario itself has, in a sentence or two for each cluster.

    A run shows what HA does, which looks at reservations and priorities. The verdict says whether demand is then within
    the limits of all commands, as in `capacity` and plans.
    """
    fails = {part for failure in scenario.data.get("failures", ()) for part in failure["fails"]}
    told = []
    for cluster in scenario.inventory.clusters:
        hosts = [host.name for host in scenario.inventory.hosts if host.cluster == cluster.name]
        found = judged(scenario, cluster) if fails & set(hosts) else None
        for name, each in (found or {"failures": {}})["failures"].items():
            if each["failed"][0] in fails:
                answer = {True: "survived", False: "not survived", None: "not known"}[each["survives"]]
                why = "; ".join(reason["text"] for reason in each["reasons"])
                told.append(f"Verdict on the failure of {name}, as in capacity: {answer}{f': {why}' if why else ''}.")
    return told


def capacity(
    path: Given, *, with_off: bool = False, overrides: Mapping[str, object] | Sequence[str] = (), **options: Any
) -> Capacity:
    """What `hypertwin.plan.capacity.capacity` counts, with the verdict on each cluster.

    `with_off` counts VMs that are off as if they ran.
    """
    loaded = scenarios.load(path, overrides)
    return counted.capacity(powered_off.with_off(loaded) if with_off else loaded, judge=judged, **options)
