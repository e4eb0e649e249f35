"""A VM on its target: what the target's own tool makes of it, and what is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hypertwin.language import Vm
from hypertwin.plan.moving import elsewhere, facts, proxmox
from hypertwin.plan.moving.context import Context


@dataclass(frozen=True)
class Becomes:
    """A VM on its target."""

    vm: str
    """Name of the VM in the scenario."""
    name: str
    """Name on the target, or an empty string if the tool makes one up."""
    settings: Mapping[str, str]
    """Settings that the target's own tool makes, by their keys on the target."""
    best: Mapping[str, str]
    """Settings that are better for performance or safety, by the same keys."""
    warnings: tuple[str, ...]
    """Warnings of the tool, by its names for them."""
    unknown: tuple[str, ...]
    """Places of facts that decide a setting and that the source lacks."""


def becomes(vm: Vm, context: Context) -> Becomes:
    """Return a VM on the target of the context."""
    if context.target == "proxmox":
        made = proxmox.imported(vm)
        best = {key: value for key, value in proxmox.best(vm, context).items() if made.settings.get(key) != value}
        settings, warnings, unknown = made.settings, made.warnings, made.unknown
    else:
        settings, best, warnings = elsewhere.MADE[context.target](vm), {}, ()
        unknown = tuple(elsewhere.unknown(vm))
    return Becomes(
        vm=vm.name,
        name=settings.get("name", ""),
        settings=settings,
        best=best,
        warnings=warnings,
        unknown=tuple(facts.WHERE[each] for each in unknown),
    )
