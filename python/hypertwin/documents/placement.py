"""Output of `hypertwin plan`: a plan, its moves, what it survives, and how far it is from the best."""

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
"""One VM goes from a host (None: it is new) to another in a step. `seconds` by the migration model, None where it would
never end; `temporary` if it moves on later. `why` names what decided."""


class Step(TypedDict):
    """Moves that are carried out side by side, and the hosts while they are."""

    step: int
    moves: int
    seconds: float | None
    """Time that the step takes."""
    peak_host: str
    peak_pct: float
    """What its VMs, those that arrive included, take of what may be used there, in per cent: 100 is at its limit."""
    empty_host: NotRequired[str]
    """The host that is empty after this step, of an evacuation."""
    back: NotRequired[bool]
    """True if the step leads back."""


class CannotRestart(TypedDict):
    """A VM that cannot be placed or restarted."""

    vm: str
    short_of: str
    """The smallest shortage: `18.0 GiB of memory on esx-3`."""


class Certificate(TypedDict):
    """Restart hosts of the VMs of failed hosts."""

    failed: list[str]
    """Hosts that fail together."""
    placed: dict[str, str]
    """Per VM of theirs: the host that it restarts on."""
    cannot_restart: list[CannotRestart]
    not_restarted: list[CannotRestart]
    """VMs that are restarted nowhere, and why: they stay with their host, or restarts are disabled."""
    proven: bool
    """True if it is proven that no way of restarting places more VMs, those of higher restart priority first."""
    peak_host: str | None
    peak_pct: float
    violated_should_rules: list[str]
    """Rules that are not mandatory and do not hold then."""


class Fix(TypedDict):
    """A checked fix that makes a plan possible."""

    kind: str
    """`smaller-vm`, `larger-host`, `more-hosts`, `drop-rule`, `drop-vm`."""
    text: str
    works: bool
    """True if the plan was made with it, and is sound."""


class HostPlan(TypedDict):
    """A host before and after."""

    name: str
    vms_before: int
    vms_after: int
    before_pct: dict[str, float]
    """Per resource: what VMs take of what the host has, in per cent."""
    after_pct: dict[str, float]
    limit_pct: dict[str, float]
    """The limit, in per cent."""
    vcpu_per_core_before: float
    vcpu_per_core_after: float


class Verified(TypedDict):
    """What the twin says of a state of the cluster: objectives, each with its figure and half-width."""

    meets: bool
    sure: bool
    """True if whole intervals do."""
    metrics: dict[str, dict[str, float | None]]
    """Per objective: `mean`, `ci95`, `limit`."""
    worst: dict[str, str]
    """Per objective: the VM or host whose figure that is."""
    limits: dict[str, str]
    """Per objective that is missed: what limits that VM or host; empty where nothing is full."""
    steady: bool | None


class Explanation(TypedDict):
    """The reasons for a VM's host, and against other hosts."""

    vm: str
    host: str | None
    reasons: list[str]
    elsewhere: dict[str, str]
    """Per other host: the reason against it, or its cost."""


Status = Literal["optimal", "feasible", "infeasible", "unknown"]
"""`optimal`: none is better; `feasible`: none is known to be; `infeasible`: there is none; `unknown`: none found."""


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
    """What was sought: `name` (`moves`, `hosts`, `min-peak`), `unit`, `value` of the plan (None without one)."""
    bound: float | None
    """What no plan can be better than, in the unit of the objective; None where nothing was sought."""
    gap_pct: float | None
    """How far the plan is from the bound at most."""
    proven: bool
    """True if the plan is proven optimal, or proven infeasible."""
    hosts_used: int
    moves: list[Move]
    steps: list[Step]
    certificate: dict[str, Certificate]
    """Per failure, by the names of what fails."""
    failover: Failover | None
    """Of `survive`: the verdict on host failures."""
    binding_constraints: list[str]
    """What limits the plan: resources, rules, policies."""
    conflict: list[str]
    """Without a plan: the smallest set of rules or VMs without which there is one."""
    conflict_proven: bool
    not_placed: list[CannotRestart]
    """Of `place`: new VMs that have no host in this plan, and what each lacks."""
    placeable: int | None
    """Of `place`: how many of the new VMs can have a host at most (proven); None where nothing was placed."""
    not_known: list[str]
    """Resources of which the demand is not known, so that they limit nothing and nothing is proven."""
    fixes: list[Fix]
    limits: dict[str, Any]
    demand: dict[str, Any]
    """`asked`; per resource the `text` of its basis; `others`: the most loaded host under the other demands."""
    ratio: dict[str, Any]
    """The result by vCPU-to-core limit alone."""
    policies: dict[str, Any]
    """Per policy: whether it is on, and what it decided."""
    hosts: list[HostPlan]
    labels: dict[str, str]
    """Per VM that has another name in its own system: that name."""
    explained: list[Explanation]
    verified: dict[str, Any] | None
    """`before`, `after`, `failures`: each a Verified or None; None without objectives."""
    guessed: int
    """VMs of the cluster whose host is a guess."""
    vms: int
    """VMs of the cluster, new ones included."""
    commands: dict[str, str]
    """Per tool: the moves as text to paste; none where VMs that move are on a host by guess, unless asked for."""
    notes: list[str]
    """Effects outside the model, and important notes."""
