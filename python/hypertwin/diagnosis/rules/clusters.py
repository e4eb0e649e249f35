"""Settings of clusters and their hosts: one finding per cluster, with the names of its hosts.

A rule judges a setting only if the cluster file has it, because exports can lack settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hypertwin.diagnosis.case import Case
from hypertwin.diagnosis.rule import OWN, Band, Finding, Measure, Need, Reference, rule
from hypertwin.diagnosis.rules.shared import HA
from hypertwin.diagnosis.subjects import Cluster, Host
from hypertwin.metrics.words import count, some

MOST_NAMES = 6
"""Maximum number of hosts or models listed in a text."""

INTEL = (
    *("merom", "penryn", "nehalem", "westmere", "sandybridge", "ivybridge", "haswell", "broadwell", "skylake"),
    *("cascadelake", "icelake", "sapphirerapids"),
)
AMD = (
    *("rev-e", "rev-f", "greyhound-no3dnow", "greyhound", "bulldozer", "piledriver", "steamroller", "zen", "zen2"),
    *("zen3", "zen4"),
)
"""Names of EVC modes after `intel-` and `amd-`, oldest first (Broadcom KB 1003212, 2025)."""

CODE_NAMES = {"naples": "zen", "rome": "zen2", "milan": "zen3", "genoa": "zen4"}
"""Alternative names of newer AMD modes in some tools, after the first processors with the mode."""

BEHIND = Band("evc_generations", "", "generations that EVC is behind the oldest host", info=0, warning=1, own=OWN)

HYPER_THREADING = Reference(
    '"Hyperthreading" (vSphere Resource Management)',
    "https://docs.vmware.com/en/VMware-vSphere/8.0/vsphere-resource-management/"
    "GUID-FD71CBCA-E97C-4EFA-8A1B-32C09D5DF2A1.html",
)
MITIGATION = Reference(
    "Broadcom KB 330041, on side channels and hyper-threading",
    "https://knowledge.broadcom.com/external/article/330041/side-channel-attack-mitigation-in-vmware.html",
)
POWER = Reference(
    '"Host Power Management Policies" (vSphere Resource Management)',
    "https://docs.vmware.com/en/VMware-vSphere/8.0/vsphere-resource-management/"
    "GUID-4D1A6F4A-8C99-47C1-A8E6-EF3865603F5B.html",
)
EVC = Reference(
    "Broadcom KB 313545, VMware EVC and CPU compatibility FAQ",
    "https://knowledge.broadcom.com/external/article/313545/vmware-evc-and-cpu-compatibility-faq.html",
)
EVC_MODES = Reference(
    "Broadcom KB 1003212, EVC processor support", "https://knowledge.broadcom.com/external/article?legacyId=1003212"
)


def _of_hosts(words: str, fact: str) -> Need:
    """Return a need that any host has a fact."""
    return Need(words, fact=lambda case: any(_facts(cluster, fact) for cluster in case.known_clusters))


def _of_clusters(words: str, known: Callable[[Cluster], Any]) -> Need:
    return Need(words, fact=lambda case: any(known(cluster) is not None for cluster in case.known_clusters))


def _facts(cluster: Cluster, fact: str) -> dict[Host, Any]:
    """Return a known fact of the hosts of a cluster, by host."""
    known = ((host, getattr(host.facts, fact)) for host in cluster.hosts if host.facts)
    return {host: value for host, value in known if value is not None}


def _named(hosts: Sequence[Host], of: Cluster) -> str:
    """Return the number and names of hosts: `all 8 hosts` or `2 of 8 hosts (esx1, esx2)`."""
    if len(hosts) == len(of.hosts):
        return f"all {count(len(hosts), 'host')}" if len(hosts) > 1 else hosts[0].name
    return f"{len(hosts)} of {len(of.hosts)} hosts ({some([host.name for host in hosts], MOST_NAMES)})"


@rule(
    "ha-off",
    title="HA is off: a cluster does not restart VMs",
    says="High availability is off: after a host failure its VMs stay powered off until an administrator starts them.",
    references=(HA,),
    needs=(
        _of_clusters("HA of clusters (vCluster, clusters.NAME.ha)", lambda cluster: cluster.facts and cluster.facts.ha),
    ),
)
def ha_off(case: Case) -> Iterator[Finding]:
    """Find clusters of several hosts without HA."""
    for cluster in case.known_clusters:
        if not cluster.facts or cluster.facts.ha is not False or len(cluster.hosts) < 2 or not cluster.vms:
            continue
        yield ha_off.about(
            cluster.subject,
            severity="warning",
            title=f"HA of {cluster.name} is off",
            figure=f"HA off, {count(len(cluster.vms), 'VM')}",
            text=(
                f"If one of the {len(cluster.hosts)} hosts of {cluster.name} fails, HA restarts none of its VMs. "
                f"An administrator must restart them by hand. The cluster has {count(len(cluster.vms), 'VM')}."
            ),
            advice=f"Turn HA of {cluster.name} on.",
            caution="Leave it off only if the applications fail over by themselves.",
            evidence=[Measure("vms", f"VMs of {cluster.name}", len(cluster.vms), "VMs")],
        )


@rule(
    "admission-control-off",
    title="Admission control is off",
    says=(
        "Without admission control VMs can power on until no failover capacity remains. "
        "`cluster-without-failover-capacity` checks the failover capacity of today."
    ),
    references=(HA,),
    needs=(
        _of_clusters(
            "admission control of clusters (vCluster, clusters.NAME.ha.admission)",
            lambda cluster: cluster.facts and cluster.facts.admission_control,
        ),
    ),
)
def admission_control_off(case: Case) -> Iterator[Finding]:
    """Find clusters of several hosts without admission control."""
    for cluster in case.known_clusters:
        if not cluster.facts or cluster.facts.admission_control is not False or len(cluster.hosts) < 2:
            continue
        yield admission_control_off.about(
            cluster.subject,
            severity="warning",
            title=f"Admission control of {cluster.name} is off",
            figure="admission control off",
            text=(
                f"{cluster.name} powers on every VM that fits its {len(cluster.hosts)} hosts. It reserves no capacity "
                "for the VMs of a failed host."
            ),
            advice=f"Turn admission control of {cluster.name} on, for at least one host failure.",
            caution="It counts reservations, which most VMs do not have: check configured memory too.",
            evidence=[Measure("hosts", f"hosts of {cluster.name}", len(cluster.hosts), "hosts")],
        )


@rule(
    "hyper-threading-off",
    title="Hyper-threading is available but off",
    says="The processors have two threads a core, and their hosts use one. At least a fifth of the CPU is lost.",
    references=(HYPER_THREADING, MITIGATION),
    needs=(_of_hosts("hyper-threading support of hosts (vHost HT Available)", "hyper_threading_available"),),
)
def hyper_threading_off(case: Case) -> Iterator[Finding]:
    """Find clusters with hosts whose hyper-threading is off."""
    for cluster in case.known_clusters:
        available = _facts(cluster, "hyper_threading_available")
        off = [host for host, there in available.items() if there and host.threads == host.cores]
        if not off:
            continue
        yield hyper_threading_off.about(
            cluster.subject,
            severity="warning",
            title=f"Hyper-threading is off on {_named(off, cluster)} of {cluster.name}",
            figure=f"hyper-threading off on {_named(off, cluster)}",
            text=(
                f"The processors of {_named(off, cluster)} of {cluster.name} have hyper-threading, and it is not "
                "active. A second thread adds 20 to 25% of a core on a busy host."
            ),
            advice="Turn hyper-threading on, in the firmware and in the hypervisor.",
            caution=(
                "It may be off on purpose against side channels (L1TF, MDS). Newer schedulers keep most of its benefit."
            ),
            evidence=[Measure("hyper_threading", f"hosts of {cluster.name} without it", len(off), "hosts")],
        )


@rule(
    "power-policy",
    title="Hosts save power at the cost of speed",
    says=(
        "The finding is info for `balanced`, ESXi's default: its published cost is minimal, and only VMs that mostly "
        "wait notice it. It is a warning for `low-power`, which risks performance. The firmware can overrule both."
    ),
    references=(POWER,),
    needs=(_of_hosts("power policy of hosts (vHost Host Power Policy)", "power_policy"),),
)
def power_policy(case: Case) -> Iterator[Finding]:
    """Find clusters with hosts that save power."""
    for cluster in case.known_clusters:
        saving: dict[str, list[Host]] = {}
        for host, policy in _facts(cluster, "power_policy").items():
            if policy in ("low-power", "balanced"):
                saving.setdefault(policy, []).append(host)
        if not saving:
            continue
        worst = "low-power" if "low-power" in saving else "balanced"
        told = "; ".join(f"{policy} on {_named(saving[policy], cluster)}" for policy in sorted(saving, reverse=True))
        yield power_policy.about(
            cluster.subject,
            severity="warning" if worst == "low-power" else "info",
            title=f"Hosts of {cluster.name} save power: {told}",
            figure=told,
            text=(
                f"{told[0].upper()}{told[1:]} of {cluster.name}. Cores slow down and sleep when they have little to "
                "do. Bursts and requests wait for them to wake."
            ),
            advice="Choose the policy high-performance if latency matters.",
            caution="Set the firmware to leave power management to the operating system.",
            evidence=[
                Measure("power_policy", f"hosts of {cluster.name} with policy {policy}", len(hosts), "hosts")
                for policy, hosts in sorted(saving.items(), reverse=True)
            ],
        )


@rule(
    "mixed-cpu-models",
    title="Hosts of a cluster have different processors",
    says=(
        "The speed of a VM depends on its host. Without EVC a running VM cannot move to an older host. It can never "
        "move between Intel and AMD. Info with EVC, or if EVC is not known; else a warning."
    ),
    references=(EVC,),
    needs=(_of_hosts("processor models of hosts (vHost CPU Model)", "cpu_model"),),
)
def mixed_cpu_models(case: Case) -> Iterator[Finding]:
    """Find clusters with different hosts."""
    for cluster in case.known_clusters:
        models: dict[str, list[Host]] = {}
        for host, model in _facts(cluster, "cpu_model").items():
            models.setdefault(" ".join(model.split()), []).append(host)
        if len(models) < 2:
            continue
        makers = {maker for model in models for maker in ("Intel", "AMD") if maker.casefold() in model.casefold()}
        shown = _evc(cluster)
        without = shown is None and bool(_facts(cluster, "evc_most"))
        listed = "; ".join(
            f"{model} on {count(len(hosts), 'host')} ({some([host.name for host in hosts], MOST_NAMES)})"
            for model, hosts in sorted(models.items(), key=lambda pair: (-len(pair[1]), pair[0]))
        )
        if len(makers) > 1:
            costs = "No running VM can move between Intel and AMD, with or without EVC."
        elif without:
            costs = "EVC is off, so a VM started on a newer host cannot move to an older one."
        elif shown:
            costs = f"EVC is {shown}, so VMs can move. Their speed changes with the host."
        else:
            costs = "EVC is not known, so VMs might not be able to move. Their speed changes with the host."
        yield mixed_cpu_models.about(
            cluster.subject,
            severity="warning" if without or len(makers) > 1 else "info",
            title=f"{cluster.name} has {len(models)} processor models",
            figure=f"{len(models)} processor models",
            text=f"{cluster.name}: {listed}. {costs}",
            advice=(
                "Keep Intel and AMD in separate clusters."
                if len(makers) > 1
                else "Turn EVC on."
                if without
                else "Plan with the slowest host, and replace hosts cluster by cluster."
            ),
            evidence=[Measure("cpu_models", f"processor models in {cluster.name}", len(models), "models")],
        )


@rule(
    "evc-behind",
    title="EVC mode is older than the processors",
    says=(
        "EVC shows VMs an older CPU generation than the oldest host has. VMs lack newer instructions, for example for "
        "encryption and vectors. Info from one generation, a warning from two."
    ),
    bands=(BEHIND,),
    references=(EVC_MODES, EVC),
    needs=(
        Need(
            "EVC modes of clusters or hosts (vHost Current EVC, Max EVC)",
            fact=lambda case: any(_evc(cluster) and _facts(cluster, "evc_most") for cluster in case.known_clusters),
        ),
    ),
)
def evc_behind(case: Case) -> Iterator[Finding]:
    """Find clusters that can use a newer EVC mode."""
    for cluster in case.known_clusters:
        shown, most = _evc(cluster), _facts(cluster, "evc_most")
        now = _generation(shown or "")
        possible = [place for each in most.values() if (place := _generation(each))]
        if now is None or len(possible) != len(cluster.hosts) or any(each[0] != now[0] for each in possible):
            continue
        oldest = min(possible)
        behind = oldest[1] - now[1]
        severity = BEHIND.severity(behind)
        if severity is None:
            continue
        named = (AMD if oldest[0] == "amd" else INTEL)[oldest[1]]
        yield evc_behind.about(
            cluster.subject,
            severity=severity,
            title=f"EVC of {cluster.name} is {count(behind, 'generation')} behind its oldest host",
            figure=f"EVC {shown}, {oldest[0]}-{named} possible",
            text=(
                f"{cluster.name} shows its VMs {shown}. All of its {count(len(cluster.hosts), 'host')} support "
                f"{oldest[0]}-{named}. VMs lack the instructions of {count(behind, 'generation')} of processors."
            ),
            advice=f"Raise EVC of {cluster.name} to {oldest[0]}-{named}.",
            caution="VMs see the new mode after a power cycle. EVC cannot be lowered while they run.",
            evidence=[BEHIND.measure(f"generations that EVC of {cluster.name} is behind", behind)],
        )


def _evc(cluster: Cluster) -> str | None:
    """Return the EVC mode of a cluster, or otherwise the mode that all its hosts share."""
    if cluster.facts and cluster.facts.evc:
        return cluster.facts.evc
    of_hosts = _facts(cluster, "evc")
    return min(of_hosts.values()) if len(of_hosts) == len(cluster.hosts) and len(set(of_hosts.values())) == 1 else None


def _generation(mode: str) -> tuple[str, int] | None:
    """Return vendor and generation number of an EVC mode, or None for an unknown mode."""
    maker, _, name = mode.strip().casefold().replace(" ", "-").partition("-")
    modes, name = {"intel": INTEL, "amd": AMD}.get(maker, ()), CODE_NAMES.get(name, name)
    return (maker, modes.index(name)) if name in modes else None


RULES = (ha_off, admission_control_off, hyper_threading_off, power_policy, mixed_cpu_models, evc_behind)
