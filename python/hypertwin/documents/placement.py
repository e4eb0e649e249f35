"""Output of `hypertwin plan`: a plan, its moves, tolerated failures, and its distance from the optimum."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from hypertwin.documents.failover import Failover

Move = TypedDict(
    "Move",
    {
        "vm": str,
        "from": str | None,
        "to": str,
        "step": int,
        "seconds": float | None,
        "temporary": bool,
        "why": str,
    },
)
"""A move of one VM from a host (None for a new VM) to another in a step. `seconds` follows from the migration model;
None if it would never end. `temporary` is true if the VM moves on later. `why` is the reason."""


class Step(TypedDict):
    """Concurrent moves, and the state of hosts meanwhile."""

    step: int
    moves: int
    seconds: float | None
    """Duration of the step."""
    peak_host: str
    peak_pct: float
    """Peak use by VMs, including those that arrive, in per cent of the limit."""
    empty_host: NotRequired[str]
    """In an evacuation, the host that is empty after this step."""
    back: NotRequired[bool]
    """True if the step moves VMs back."""


class CannotRestart(TypedDict):
    """A VM that cannot be placed or restarted."""

    vm: str
    short_of: str
    """Smallest shortage: `18.0 GiB of memory on esx-3`."""
    within_limits: NotRequired[bool]
    """True if the VM has no host only because of limits on demand: HA could restart it above them."""


class Certificate(TypedDict):
    """Restart hosts of the VMs of failed hosts."""

    failed: list[str]
    """Hosts that fail together."""
    placed: dict[str, str]
    """Restart host of each VM of the failed hosts."""
    cannot_restart: list[CannotRestart]
    not_restarted: list[CannotRestart]
    """VMs that do not restart by design: they stay with their host, or restarts are disabled."""
    proven: bool
    """True if it is proven that no restart places more VMs, higher restart priorities first."""
    peak_host: str | None
    peak_pct: float
    violated_should_rules: list[str]
    """Should rules that are violated then."""


class Fix(TypedDict):
    """A checked fix that makes a plan possible."""

    kind: str
    """`smaller-vm`, `larger-host`, `more-hosts`, `drop-rule`, `drop-vm`."""
    text: str
    works: bool
    """True if the plan was made with the fix, and is valid."""


class HostPlan(TypedDict):
    """A host before and after."""

    name: str
    vms_before: int
    vms_after: int
    before_pct: dict[str, float]
    """Use by VMs in per cent of the host's capacity, per resource."""
    after_pct: dict[str, float]
    limit_pct: dict[str, float]
    """Limit, in per cent."""
    vcpu_per_core_before: float
    vcpu_per_core_after: float


class Verified(TypedDict):
    """Verification of a state of the cluster by simulation: objectives, each with its figure and half-width."""

    meets: bool
    sure: bool
    """True if whole intervals meet the objectives."""
    at_worst: bool
    """True if the figures, and their worse ends with the twin's own error, meet the objectives."""
    metrics: dict[str, dict[str, float | None]]
    """Per objective: `mean`, `ci95`, `limit`, and `low` and `high`, the 80% interval with the twin's own error."""
    worst: dict[str, str]
    """VM or host with the worst figure, per objective."""
    at_most: list[str]
    """Objectives with an upper bound as figure: the host was simulated with the VMs of several failures."""
    limits: dict[str, str]
    """Limit of that VM or host, per missed objective, or an empty dict if nothing is saturated."""
    steady: bool | None


class Explanation(TypedDict):
    """Reasons for a VM's host, and against other hosts."""

    vm: str
    host: str | None
    reasons: list[str]
    elsewhere: dict[str, str]
    """Reason against each other host, or its cost."""


Status = Literal["optimal", "feasible", "infeasible", "unknown"]
"""`optimal`: no plan is better; `feasible`: not proven optimal; `infeasible`: no plan exists; `unknown`: no plan was
found."""


class Plan(TypedDict):
    """A plan, or the reason for none."""

    version: str
    scenario: str
    command: str
    """`survive`, `balance`, `evacuate` or `place`."""
    cluster: str
    status: Status
    feasible: bool
    objective: dict[str, Any]
    """Objective: `name` (`moves`, `hosts`, `min-peak`), `unit`, `value` of the plan (None without one)."""
    bound: float | None
    """Bound for all plans, in the unit of the objective, or None without a search."""
    gap_pct: float | None
    """Maximum distance of the plan from the bound."""
    proven: bool
    """True if the plan is proven optimal, or proven infeasible."""
    interrupted: bool
    """True if the user interrupted the search: this is its best plan so far."""
    hosts_used: int
    moves: list[Move]
    steps: list[Step]
    certificate: dict[str, Certificate]
    """Certificate per failure, by names of the failed hosts."""
    failover: Failover | None
    """For `survive`: the verdict on host failures."""
    binding_constraints: list[str]
    """Binding constraints of the plan: resources, rules, policies."""
    conflict: list[str]
    """If no plan exists: the fewest known rules and VMs without which one exists, empty if none were found. They can
    be a part of what cannot be met together."""
    conflict_proven: bool
    """True if it is proven that no smaller set of rules and VMs suffices."""
    not_placed: list[CannotRestart]
    """For `place`: new VMs without a host in this plan, and their shortage."""
    placeable: int | None
    """For `place`: upper bound of the new VMs that can have a host (proven), or None without new VMs."""
    not_known: list[str]
    """Resources of unknown demand, so that they limit nothing and nothing is proven."""
    fixes: list[Fix]
    limits: dict[str, Any]
    demand: dict[str, Any]
    """`asked`; `text` of the basis, per resource; `others`: the most loaded host under the other demands."""
    ratio: dict[str, Any]
    """Result by vCPU-to-core limit alone."""
    policies: dict[str, Any]
    """State and decision of each policy."""
    hosts: list[HostPlan]
    labels: dict[str, str]
    """Name in its own system, for each VM with another name there."""
    explained: list[Explanation]
    verified: dict[str, Any] | None
    """`before`, `after`, `failures`: each a Verified or None, or None without objectives."""
    guessed: int
    """VMs of the cluster whose host is a guess."""
    vms: int
    """VMs of the cluster, including new ones."""
    commands: dict[str, str]
    """Moves as text to paste, per tool. Empty if moving VMs are on guessed hosts, unless requested."""
    notes: list[str]
    """Effects outside the model, and important notes."""
