"""Rules of a target (`library/moving`), and the findings that they have for a VM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from hypertwin.files import yaml_file
from hypertwin.language import Vm
from hypertwin.plan.moving import conditions, facts
from hypertwin.plan.moving.context import Context
from hypertwin.plan.moving.target import Target

FOLDER = Path(__file__).resolve().parents[2] / "library" / "moving"
Severity = Literal["blocks", "changes", "note"]
SEVERITIES: tuple[Severity, ...] = ("blocks", "changes", "note")


@dataclass(frozen=True)
class Rule:
    """Rule of a target."""

    id: str
    severity: Severity
    """`blocks`: the VM cannot move before something is done. `changes`: the VM loses or changes something."""
    condition: str
    """Name of the condition in `conditions.CONDITIONS`."""
    consequence: str
    source: str
    """Public source, with its commit or date."""
    before: str = ""
    """Action before or after the move, or an empty string if none is needed."""
    unchecked: str = ""
    """Parts that no public source confirms, or an empty string."""
    parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class Finding:
    """Answer of a rule that fires for a VM, or that lacks a fact."""

    vm: str
    """Name of the VM in the scenario."""
    rule: str
    severity: Severity
    is_known: bool
    """False if the source lacks a fact of the rule."""
    detail: str
    """Disks, adapters or values in question, or for an unknown answer where to find the facts."""
    consequence: str
    before: str
    unchecked: str
    """Parts of the rule that no public source confirms, or an empty string."""
    source: str


@cache
def file(target: Target) -> Mapping[str, Any]:
    """Return the file of a target."""
    path = FOLDER / f"{target}.yaml"
    found: Mapping[str, Any] = yaml_file.parse(path.read_text(encoding="utf-8"), path.name).root.data()
    return found


@cache
def rules(target: Target) -> Sequence[Rule]:
    """Return the rules of a target, in the order of its file."""
    data = file(target)
    sources: Mapping[str, str] = data["sources"]
    return tuple(
        Rule(**{**entry, "id": name, "source": sources[entry["source"]]}) for name, entry in data["rules"].items()
    )


def findings(vm: Vm, context: Context) -> list[Finding]:
    """Return the findings for a VM: first those that block it, then unknown answers of rules that would block it."""
    found = [finding for rule in rules(context.target) if (finding := _finding(rule, vm, context)) is not None]
    return sorted(found, key=lambda each: (SEVERITIES.index(each.severity), not each.is_known))


def _finding(rule: Rule, vm: Vm, context: Context) -> Finding | None:
    answer = conditions.CONDITIONS[rule.condition](vm, context, rule.parameters)
    if answer is False:
        return None
    detail = answer if isinstance(answer, str) else ""
    if answer is None:
        places = [facts.WHERE[fact] for fact in conditions.unknown_facts(rule.condition, vm, context)]
        detail = f"not known from this export: {'; '.join(places)}"
    return Finding(
        vm=vm.name,
        rule=rule.id,
        severity=rule.severity,
        is_known=answer is not None,
        detail=detail,
        consequence=rule.consequence,
        before=rule.before,
        unchecked=rule.unchecked,
        source=rule.source,
    )
