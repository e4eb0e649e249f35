"""MAC and IP addresses of VMs: kept by the tool of the target or not, as its file in `library/moving` tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any

from hypertwin.documents.move import Address, Kept
from hypertwin.language import Vm
from hypertwin.plan.moving import conditions, facts, rules
from hypertwin.plan.moving.context import Context
from hypertwin.plan.moving.target import Target

ADDRESSES: tuple[Address, ...] = ("mac", "ip")


@dataclass(frozen=True)
class Keeping:
    """Fate of an address of the VMs for which a condition is true."""

    kept: Kept
    text: str
    source: str
    """Public source, with its commit or date."""
    condition: str = "always"
    """Name of the condition in `conditions.CONDITIONS`."""
    parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), compare=False)
    unchecked: str = ""
    """Parts that no public source confirms, or an empty string."""


@cache
def keepings(target: Target, address: Address) -> Sequence[Keeping]:
    """Return the entries of a target, in the order of its file."""
    data = rules.file(target)
    return tuple(
        Keeping(**{**entry, "source": data["sources"][entry["source"]]}) for entry in data["addresses"][address]
    )


def keeping(vm: Vm, address: Address, context: Context) -> Keeping:
    """Return the first entry whose condition is true for a VM, or an unknown one if a fact for it is missing."""
    return next(_found(vm, address, context))


def _found(vm: Vm, address: Address, context: Context) -> Iterator[Keeping]:
    for each in keepings(context.target, address):
        answer = conditions.CONDITIONS[each.condition](vm, context, each.parameters)
        if answer is None:
            places = [facts.WHERE[fact] for fact in conditions.unknown_facts(each.condition, vm, context)]
            yield Keeping("not-known", f"Not known from this export: {'; '.join(places)}", each.source)
        elif answer is not False:
            yield each
