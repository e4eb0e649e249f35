"""Output of `hypertwin plan refresh`: present hosts against candidates, with costs, energy and the twin's figures."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from hypertwin.documents.cost import Costs, Range, Sensitivity

Kind = Literal["present", "grown", "replace", "keep", "mix", "merge"]
"""Kinds of candidates.

In order: present hosts, present hosts with the growth, new hosts of one type, some kept and some added, two types, all
clusters merged.
"""


class Worst(TypedDict):
    """The VM with the highest figure."""

    vm: str
    mean: float
    ci95: float | None
    """Half-width of the 95% confidence interval."""
    low: float
    """Ends of the 80% interval with the twin's own error."""
    high: float


class Slower(TypedDict):
    """Response times (p99) of VMs relative to the present hosts. 1 is as fast, 2 takes twice as long."""

    vms: int
    """Number of compared VMs."""
    without: int
    """VMs without a response time, because they hardly run."""
    median: float
    p90: float
    """90% of the VMs have at most this ratio."""
    slower: int
    """VMs whose response time is more than a tenth longer."""
    slowest: str
    slowest_ratio: float


class TwinState(TypedDict):
    """Simulated figures of all VMs in one state."""

    ready_pct: Worst | None
    costop_pct: Worst | None
    response_ms_p99: Worst | None
    response: Slower | None
    """Relative to the present hosts without a failure, or None for the present hosts without a failure."""


class Twin(TypedDict):
    """Simulation of a candidate."""

    normal: TwinState
    failure: TwinState | None
    """After the worst failure of each cluster."""
    failed: list[str]
    """Failed hosts of that state."""


class Speed(TypedDict):
    """Throughput of a host type, and per core relative to the present hosts."""

    host_type: str
    cpu_model: str | None
    cores: int
    clock_mhz: float
    specrate: float | None
    """SPECrate2017_int_base of the whole host, or None if unknown."""
    specrate_low: float | None
    specrate_high: float | None
    per_core: float | None
    """Throughput of a core relative to that of the reference host."""
    per_core_low: float | None
    per_core_high: float | None
    work_per_cycle: float
    """Work per cycle relative to the reference host: the value in scenarios."""
    basis: str
    text: str
    source: str | None


class NumaFit(TypedDict):
    """VMs that are wider than one NUMA node, by vCPUs and cores or by memory."""

    host_type: str
    cores_per_node: int
    memory_per_node_gib: float
    wide_vms: int
    widest: str | None
    widest_vcpus: int | None


class ClusterPlan(TypedDict):
    """Hosts of one cluster of a candidate."""

    cluster: str
    takes: list[str]
    """Present clusters whose VMs it has."""
    kept: list[str]
    added: dict[str, int]
    """New hosts by type."""
    hosts: int
    hosts_if_fast: int | None
    """Hosts that suffice if the new processors are at the fast end of their interval, or None if unknown."""
    hosts_if_slow: int | None
    """Hosts that are needed if the new processors are at the slow end of their interval, or None if none suffice."""
    bound: int | None
    """Number of hosts below which no placement exists (proven), or None for present hosts."""
    proven: bool | None
    binding: str | None
    """Reason why one host fewer is not enough."""
    vms: int
    grown_vms: int
    """VMs that the growth adds."""
    vcpus: int
    vcpu_per_core: float
    cpu_pct: float | None
    """CPU demand in per cent of the capacity of all hosts, or None if unknown."""
    cpu_after_failure_pct: float | None
    memory_pct: float
    memory_after_failure_pct: float | None
    largest_vm: str
    largest_vm_vcpus: int
    largest_vm_gib: float
    stored_gib: float | None
    """Data to hold with growth, for host types with disks, otherwise None."""
    usable_gib: float | None
    """Data that the pool can hold, with room to recover from the loss of a host."""
    limited_by: str
    """Resource with the least headroom after a failure: `cpu`, `memory`, `vcpus`, `reserved_cpu` or `reserved_memory`.
    `storage` if fewer hosts do not hold the data of the VMs.
    """
    survives: bool
    """True if every VM that restarts has a host after every planned failure."""


class Energy(TypedDict):
    """Power of all hosts at the mean load."""

    load_pct: float
    """Mean load of the hosts, in per cent of their highest throughput."""
    load_from: Literal["twin", "demand"]
    watts: float
    watts_low: float
    watts_high: float
    kwh_per_year: float
    """Energy of the hosts, without cooling (PUE)."""
    kwh_per_year_low: float
    kwh_per_year_high: float
    by_group: dict[str, Range]
    """Energy per year of the hosts of each group in the scenario, without cooling."""
    text: list[str]
    source: list[str]


class Candidate(TypedDict):
    """Present hosts, or hosts that could replace them."""

    name: str
    kind: Kind
    feasible: bool
    reason: str | None
    """Reason why the candidate is not feasible."""
    hosts: int | None
    hosts_if_fast: int | None
    hosts_if_slow: int | None
    new_hosts: dict[str, int]
    cores: int | None
    sockets: int | None
    rack_units: float | None
    clusters: list[ClusterPlan]
    numa: list[NumaFit]
    twin: Twin | None
    slower: bool | None
    """True if VMs respond noticeably slower than on the present hosts, or None if not simulated."""
    energy: Energy | None
    costs: Costs | None
    verdict: str
    """The answer about this candidate in a sentence."""


class Asked(TypedDict):
    """Request."""

    failures: int
    cpu_pct: float
    memory_pct: float
    memory: str
    vcpu_ratio: float | None
    demand: str
    growth_pct: float
    """Growth in total."""
    years: int
    prices: str | None


class Demand(TypedDict):
    """Basis of the demand that hosts have to carry."""

    is_measured: bool
    text: list[str]
    age_days: int | None
    is_old: bool
    """True if the measurement is too old for a purchase."""
    cpu_ghz: float | None
    """CPU demand with growth, in GHz of the reference host."""
    memory_gib: float
    vcpus: int
    grown_vcpus_pct: float
    """Growth of vCPUs by additional VMs, which are whole."""
    grown_memory_pct: float
    guessed_hosts: int
    """VMs whose present host is a guess."""


class Source(TypedDict):
    """Origin of figures."""

    keys: list[str]
    """Keys of this document, with `*` for names."""
    kind: Literal["rule", "published", "measured", "input", "twin", "calculated"]
    text: str
    source: NotRequired[str]


class Refresh(TypedDict):
    """Plan to replace hosts."""

    version: str
    scenario: str
    asked: Asked
    demand: Demand
    reference: str
    """Present host type to which speeds refer."""
    speeds: list[Speed]
    present: Candidate
    grown: Candidate | None
    """Present hosts with the growth, if they are simulated."""
    candidates: list[Candidate]
    best: str | None
    """Name of the candidate with the lowest cost if all are priced, otherwise of that with the fewest hosts."""
    ranked_by: Literal["cost", "hosts"]
    sensitivity: Sensitivity | None
    rules_left_out: list[str]
    notes: list[str]
    sources: list[Source]
