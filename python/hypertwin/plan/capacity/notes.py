"""The sources of capacity figures, and notes on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hypertwin.documents.capacity import Cluster, Source
from hypertwin.metrics.words import count, number, some
from hypertwin.plan.capacity.demand import WORDS, Found, unknown
from hypertwin.plan.capacity.pools import Takes
from hypertwin.plan.capacity.room import GIB, LIMITED
from hypertwin.plan.capacity.state import State

APART_PCT = 5.0
"""Difference of the sum of VMs and the measured hosts in percentage points, above which a note is written."""

NEARLY = 0.95
"""Fraction of the tightest limit. A note is written if all limits together allow less."""

CONFIGURED = (
    *(
        "hosts",
        "sockets",
        "cores",
        "vms",
        "vcpus",
        "vcpu_per_core",
        "vcpu_per_core_after_failure",
        "cpu_ghz",
        "memory_gib",
    ),
    *("memory_configured_gib", "memory_configured_pct", "memory_configured_after_failure_pct", "licence_cores"),
    "largest_restartable_vm",
)
ASSUMED = ("vcpu_per_core_corrected", "vcpu_per_core_corrected_after_failure")
OF_VMS_STORED = ("vms_provisioned_gib", "vms_used_gib", "vms_in_guest_gib")
OF_DEMAND = {
    "cpu": ("cpu_demand_ghz", "cpu_usage_pct", "cpu_usage_after_failure_pct"),
    "memory_consumed": ("memory_consumed_gib", "memory_consumed_pct", "memory_consumed_after_failure_pct"),
    "memory_active": ("memory_active_gib", "memory_active_pct", "memory_active_after_failure_pct"),
}


def sources(state: State, found: Cluster) -> dict[str, Source]:
    """Return the source of each known figure."""
    demands: dict[str, Found | None] = {
        "cpu": state.cpu,
        "memory_consumed": state.consumed,
        "memory_active": state.active,
    }
    told: dict[str, Source] = {}
    values = dict(found)
    told |= {key: "configured" for key in CONFIGURED if values.get(key) is not None}
    told |= {key: "assumed" for key in ASSUMED if values.get(key) is not None}
    for name, keys in OF_DEMAND.items():
        demand = demands[name]
        if demand is not None:
            told |= {key: _of(state, name, demand) for key in keys if values.get(key) is not None}
    told |= {key: "measured" for key in ("host_cpu_usage_pct", "host_memory_usage_pct") if values[key] is not None}
    if found["storage"] is not None:
        told["storage"] = "measured"
        stored = dict(found["storage"])
        told |= {f"storage.{key}": "measured" for key in OF_VMS_STORED if stored[key] is not None}
        if stored["swap_gib"] is not None:
            told["storage.swap_gib"] = "configured"
    left = found["vms_remaining"]
    if left is not None:
        counts = dict(left)
        for name in LIMITED:
            demand = demands.get(name)
            if counts[name] is not None:
                told[f"vms_remaining.{name}"] = "configured" if demand is None else _of_left(state, name, demand)
        if left["count"] is not None:
            used = {told[f"vms_remaining.{name}"] for name in LIMITED if counts[name] is not None}
            ranked: tuple[Source, ...] = ("assumed", "measured", "configured")
            if left["pool"] is not None:
                told["vms_remaining.pool"] = "configured" if left["average"] else "assumed"
                used.add(told["vms_remaining.pool"])
            told["vms_remaining.count"] = next(each for each in ranked if each in used)
    return told


def _of(state: State, name: str, demand: Found) -> Source:
    """Return the source of a demand figure. A figure corrected by a given CPU ratio is assumed."""
    return "assumed" if name == "cpu" and state.limits.speed != 1 else demand.source


def _of_left(state: State, name: str, demand: Found) -> Source:
    """Return the source of a VM count. If the requested VM has no demand, its demand is assumed to be like others."""
    asked = state.limits.vm
    given = asked is None or (name == "cpu" and asked.mhz is not None)
    return _of(state, name, demand) if given else "assumed"


def notes(state: State, found: Cluster) -> list[str]:
    """Return notes on the figures of a cluster, most important first."""
    return [
        *_of_demand(state, found),
        *_of_ha(state, found),
        *_of_failures(state, found),
        *_of_own(state, found),
        *_of_room(state, found),
        *_of_storage(found),
    ]


def unsaid_storage(clusters: Mapping[str, Cluster]) -> Iterator[str]:
    """Yield notes on clusters missing from sums of storage use, if other clusters are included."""
    says_nothing = [
        name
        for name, each in clusters.items()
        if each["vms"] and all(dict(each["storage"] or {}).get(key) is None for key in OF_VMS_STORED)
    ]
    if says_nothing and any(each["vms"] for name, each in clusters.items() if name not in says_nothing):
        yield f"Storage used by the VMs of {some(says_nothing)} is unknown: the total has only their swap files."


def _of_failures(state: State, found: Cluster) -> Iterator[str]:
    limits = state.limits
    if state.spare is None:
        yield (
            f"No host of {len(state.hosts)} remains after {count(limits.failures, 'host failure')}: no figures after a"
            " failure and no VMs remaining (--failures 0 counts all hosts)."
        )
    elif state.spare["cpu"] != state.spare["memory"] or state.spare["cores"] != state.spare["memory"]:
        each = ", ".join(f"{some([host.name for host in hosts])} by {by}" for by, hosts in state.spare.items())
        yield f"The hosts that fail differ by resource: {each}. For each figure, they are the worst to lose."
    if limits.speed != 1:
        yield (
            f"A core counts as {limits.speed:g} measured cores. Usage, VMs remaining and limits use this ratio, which"
            " was not measured."
        )


def _of_ha(state: State, found: Cluster) -> Iterator[str]:
    """Yield the difference between power-on and demand after a failure."""
    ha, failures = found["ha"], state.limits.failures
    said = (state.scenario.data.get("clusters") or {}).get(state.cluster.name, {}).get("ha") or {}
    if ha["admission"] is not None and "admission_policy" not in said:
        yield (
            f"Assumed: admission control by {ha['admission']}, the default of these hosts' version"
            " (clusters.NAME.ha.admission_policy)."
        )
    if state.spare is None or not failures:
        return
    if ha["can_power_on"] and ha["meets_demand"] is False:
        rule = "power-on" if ha["admission"] is None else f"admission control by {ha['admission']}"
        yield (
            f"HA can power on every VM after a failure, but demand then exceeds the limits: {rule} checks only"
            " reservations."
        )
    if ha["admission"] == "slots" and ha["free_slots"] is not None and ha["free_slots"] < 0:
        yield (
            f"Admission control is {count(-ha['free_slots'], 'slot')} short after {count(failures, 'host failure')}, so"
            " it refuses power-ons now. HA still restarts VMs on hosts with unreserved capacity."
        )
    if found["vms"] and any(host.options.admission for host in state.hosts):
        yield (
            "VM memory overhead is from vSphere 6.5, and assumed for other versions and sizes. A VM without a"
            " reservation counts as 32 MHz and this overhead."
        )
    if ha["policy"] is None:
        yield "HA is unknown: set ha.policy for restart times."


def _of_own(state: State, found: Cluster) -> Iterator[str]:
    """Yield the CPU and memory that hypervisors take beside their VMs."""
    mhz = state.cpu.value * state.usual_own_cpu if state.cpu is not None else 0.0
    if mhz:
        yield (
            f"Hypervisors take {number(mhz / 1000)} GHz of CPU beside their VMs (hosts.NAME.overhead.activity_pct),"
            " which moves with the VMs."
        )
    own = found["hypervisor_memory_gib"]
    if own:
        yield f"Hypervisors take {number(own)} GiB of memory{_for_vms(state)}."
        assumed = sum(
            host.storage_memory_bytes for host in state.hosts if state.own[host.name] == host.hypervisor_memory_bytes
        )
        if assumed:
            yield (
                f"Assumed: storage takes {number(assumed / GIB)} GiB of this, the default"
                " (hosts.NAME.hypervisor_memory)."
            )


def _for_vms(state: State) -> str:
    """Return the configured memory as a share of the memory for VMs after a failure."""
    degraded = state.degraded("memory")
    if degraded is None or state.spare is None:
        return ""
    gone = {host.name for host in state.spare["memory"]}
    own = sum(own for name, own in state.own.items() if name not in gone)
    taken, size = degraded
    return (
        f": configured memory is {number(100 * taken / (size - own))}% of the memory left for VMs after host failures"
        if size > own
        else ""
    )


def _of_demand(state: State, found: Cluster) -> Iterator[str]:
    cpu = state.cpu
    if cpu is None:
        yield (f"CPU demand is unknown: {unknown(state.scenario, state.vms)}. CPU does not limit the VMs remaining.")
    elif cpu.basis["kind"] not in (state.limits.demand, "configured"):
        yield f"No {WORDS[state.limits.demand]} of CPU demand: used a {WORDS[cpu.basis['kind']]}."
    if cpu is not None:
        for name, part in cpu.lower.items():
            yield f"No {WORDS[cpu.basis['kind']]} for {100 * part:.0f}% of CPU demand: used a {name}."
        if cpu.basis["of"] == "hosts":
            yield "VM CPU was not measured: used the CPU of hosts, divided by vCPUs."
    for name, demand in (("Consumed", state.consumed), ("Active", state.active)):
        if demand is None and state.vms:
            yield f"{name} memory was not measured."
    for name, demand in (("CPU", cpu), ("Consumed memory", state.consumed), ("Active memory", state.active)):
        if demand is not None and demand.source == "assumed":
            known = demand.basis["known_pct"]
            yield f"{name} was measured for {known:.0f}%. The other VMs are assumed to be like the measured ones."
    yield from _apart(state, found)


def _apart(state: State, found: Cluster) -> Iterator[str]:
    """Yield differences of the measured hosts and the sum of their VMs, by means: other statistics do not add up."""
    if state.limits.speed != 1:
        return
    means = state.on_average
    for what, parts, theirs in (
        ("CPU", means.parts("cpu"), found["host_cpu_usage_pct"]),
        ("memory", means.parts("memory_consumed"), found["host_memory_usage_pct"]),
    ):
        if parts is None or theirs is None or abs((ours := 100 * parts[0] / parts[1]) - theirs) <= APART_PCT:
            continue
        more = ", or hypervisors use more than is counted" * (theirs > ours)
        yield (
            f"Hosts use {number(theirs)}% of {what} on average, but their VMs and hypervisors add up to"
            f" {number(ours)}%. Times or counters differ{more}."
        )


def _of_room(state: State, found: Cluster) -> Iterator[str]:
    left, restart = found["vms_remaining"], found["largest_restartable_vm"]
    if left is None and state.spare is not None:
        yield "No VMs to average: name the size to count with --vm 4x16GiB."
    if left is not None and left["limited_by"] is not None and left["count"] is not None:
        alone = left[left["limited_by"]] or 0
        if left["count"] < NEARLY * alone:
            yield (
                f"{count(alone, 'VM')} would fit by the tightest limit alone, but {left['count']} by all limits: a host"
                " with headroom for one resource lacks another."
            )
    if left is not None and left["vm"] is not None and left["vm"]["stored_gib"]:
        yield _of_pools(state, left["vm"]["stored_gib"], average=left["average"])
    if state.limits.vcpu_ratio is None:
        yield "No vCPU-to-core limit (--vcpu-ratio)."
    if restart is not None and restart["not_restarted"]:
        lost = restart["not_restarted"]
        yield (
            f"{count(len(lost), 'VM')} of {some(restart['failed'])} {'does' if len(lost) == 1 else 'do'} not fit on any"
            " other host with full configured memory. A hypervisor that overcommits memory can restart such VMs by"
            " reclaiming memory from others."
        )
    if found["appliances"]:
        yield (
            f"{count(found['appliances'], 'storage appliance')} cannot move: they count as in use, and stop when their"
            " host fails."
        )


def _of_pools(state: State, stored_gib: float, *, average: bool) -> str:
    """Return the pool capacity used by a counted VM, with its origin."""
    takes = Takes.of(state)
    pools, vms = (sorted(takes.data), takes.vms) if takes else ([], 0)
    size = f"{number(stored_gib)} GiB of {some(pools)}"
    if average:
        return f"The average VM stores {size}."
    return f"Assumed: a VM of --vm stores {size}, the mean of the {count(vms, 'VM')} on it."


def _of_storage(found: Cluster) -> Iterator[str]:
    stored = found["storage"]
    if stored is None:
        return
    if stored["shared"]:
        yield (
            f"{stored['shared']} of {count(stored['datastores'], 'datastore')} shared with other clusters: counted in"
            " full here and once in the total."
        )
    if stored["unknown"]:
        yield f"Free space is unknown for {stored['unknown']} of {count(stored['datastores'], 'datastore')}."
    off, templates = found["reclaimable"]["off"]["vms"], found["reclaimable"]["templates"]["vms"]
    unsaid, vms = stored["vms_unknown"], found["vms"]
    for missing, known, of, what in (
        (unsaid["provisioned"], stored["vms_provisioned_gib"], vms + off + templates, "Provisioned storage"),
        (unsaid["used"], stored["vms_used_gib"], vms + off + templates, "Used storage"),
        (unsaid["in_guest"], stored["vms_in_guest_gib"], vms, "Guest used storage"),
    ):
        if missing and known is not None:
            yield f"{what} is unknown for {missing} of {count(of, 'VM')}: the sum covers the others."
