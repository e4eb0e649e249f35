"""Presets of licences (`library/licences.yaml`): rules with their sources, and the VMs that they concern."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from hypertwin.cost.estate import Estate, Vm
from hypertwin.cost.functions import FUNCTIONS, PARAMETERS, Count, Covered, Value
from hypertwin.files import yaml_file

FILE = Path(__file__).resolve().parents[1] / "library" / "licences.yaml"


@dataclass(frozen=True)
class Concerns:
    """Conditions on VMs that need a licence. Without any, the licence does not depend on VMs."""

    guest_os: str | None = None
    """Regular expression that the guest OS contains, in small or large letters."""
    unclear: str | None = None
    """Regular expression of a guest OS that can be the one in question."""
    product: str | None = None
    """Product in the guest."""


@dataclass(frozen=True)
class Rule:
    """Rule of a licence."""

    id: str
    """Name for `preset` in the file of prices."""
    product: str
    function: str
    """Key of `functions.FUNCTIONS`."""
    unit: str
    """Unit of the number of licences."""
    period: str
    """Usual period of prices: once, year or month."""
    parameters: Mapping[str, Value]
    rule: str
    sources: tuple[str, ...]
    date: str
    """Year and month of the last comparison with the sources."""
    concerns: Concerns = field(default_factory=Concerns)
    unchecked: str = ""
    """Parts of the rule that no public source confirmed, or an empty string."""
    contested: str = ""
    """Readings of the rule that differ, or an empty string."""

    @property
    def source(self) -> str:
        """Sources and date, as text."""
        return f"{'; '.join(self.sources)} ({self.date})" if self.sources else "file of prices"

    @property
    def text(self) -> str:
        """Rule with its unchecked and contested parts."""
        parts = [
            self.rule,
            f"Not checked: {self.unchecked}" if self.unchecked else "",
            f"Contested: {self.contested}" if self.contested else "",
        ]
        return " ".join(part for part in parts if part)


@dataclass(frozen=True)
class Needed:
    """Licences that an estate needs."""

    count: Count | None
    """Number of licences, or None if unknown VMs decide it."""
    concerned: int | None
    """Number of VMs in question, or None if the licence does not depend on VMs."""
    unknown: int
    """Number of VMs that are not counted, because their guest OS or products are unknown."""


@cache
def _by_id() -> Mapping[str, Rule]:
    data = yaml_file.parse(FILE.read_text(encoding="utf-8"), FILE.name).root.data()
    return {name: _rule(name, entry) for name, entry in data["licences"].items()}


def _rule(name: str, entry: Mapping[str, Any]) -> Rule:
    kept = {**entry, "sources": tuple(entry["sources"]), "date": str(entry["date"])}
    return Rule(id=name, **{**kept, "concerns": Concerns(**entry.get("concerns", {}))})


def presets() -> list[Rule]:
    """Return the rules of all presets, in the order of the file."""
    return list(_by_id().values())


def names() -> list[str]:
    """Return the names of all presets."""
    return list(_by_id())


def find(name: str) -> Rule:
    """Return the rule of a preset. Raises KeyError for an unknown name."""
    return _by_id()[name]


def free(name: str, unit: str) -> Rule:
    """Return the rule of a line without a preset: a price per VM, host, socket, core or TiB."""
    return Rule(name, name, "per-unit", unit, "year", {}, f"Per {unit}, as the file of prices says.", (), "")


def needed(
    rule: Rule,
    estate: Estate,
    values: Mapping[str, Value] | None = None,
    *,
    vms: Sequence[str] = (),
    clusters: Sequence[str] = (),
    failures: int = 0,
) -> Needed:
    """Return the licences that an estate needs by a rule.

    `values` override parameters of the rule. `vms` and `clusters` are name patterns such as `sql-*`. The pattern of a
    VM replaces the conditions of the rule. `failures` is the number of host failures to tolerate.
    """
    scope = [each for each in estate.clusters if not clusters or any(matches(name, clusters) for name in each.names)]
    conditional = bool(vms or rule.concerns.guest_os or rule.concerns.product)
    if not conditional:
        covered = [Covered(each) for each in scope]
        return Needed(_count(rule, covered, values, failures), None, 0)
    covered = [Covered(each, tuple(vm for vm in each.vms if _concerned(vm, rule.concerns, vms))) for each in scope]
    concerned = sum(len(each.vms or ()) for each in covered)
    unknown = 0 if vms else sum(_unknown(vm, rule.concerns, concerned) for each in scope for vm in each.vms)
    decided = concerned or not unknown
    return Needed(_count(rule, covered, values, failures) if decided else None, concerned, unknown)


def _count(rule: Rule, covered: Sequence[Covered], values: Mapping[str, Value] | None, failures: int) -> Count:
    return FUNCTIONS[rule.function](covered, rule.unit, {**rule.parameters, **(values or {})}, failures)


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Return true if one of the patterns, such as `sql-*`, matches the whole name in small or large letters."""
    return any(fnmatch.fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)


def _concerned(vm: Vm, concerns: Concerns, patterns: Sequence[str]) -> bool:
    if patterns:
        return matches(vm.name, patterns) or matches(vm.label, patterns)
    if concerns.guest_os:
        return bool(vm.guest_os and re.search(concerns.guest_os, vm.guest_os, re.IGNORECASE))
    return (concerns.product or "").lower() in (product.lower() for product in vm.products)


def _unknown(vm: Vm, concerns: Concerns, concerned: int) -> bool:
    """Return true if the VM can need the licence. With products known for any VM, other VMs have none."""
    if concerns.guest_os:
        unclear = concerns.unclear and vm.guest_os and re.search(concerns.unclear, vm.guest_os.strip(), re.IGNORECASE)
        return not (vm.guest_os or "").strip() or bool(unclear)
    return not concerned and not vm.products


_INTRODUCTION = """\
# Rules of licences

*Generated from `python/hypertwin/library/licences.yaml`. Change that, not this page.*

`preset` in the file of prices selects a rule, which counts the licences of a cluster. Prices are always yours: no
preset has one. `hypertwin init --prices` writes a file with every preset to edit.

```yaml
licences:
  - preset: vmware-cloud-foundation
    price: 350 EUR/core/year # an example, not an offer
    parameters: { minimum_order: 72 } # overrides single parameters of the preset
  - preset: [windows-server-standard, windows-server-datacenter] # the cheaper one
    price:
      windows-server-standard: 1000 EUR/16 cores
      windows-server-datacenter: 6000 EUR/16 cores
  - preset: sql-server-per-vm
    vms: [sql-*] # otherwise the VMs with the product
    clusters: [prod-*] # otherwise every cluster
    price: 900 EUR/2 cores
    support: 200 EUR/2 cores/year
  - name: Backup # a line without a preset
    per: vm # vm, host, socket, core or tib
    price: 60 EUR/vm/year
```

A price per 16 cores is divided by 16: set `pack: 16` if you buy whole packs of 16 for each host. VMs with an unknown
guest OS are never counted, and the result names their number. If only such VMs could need a licence, its number is
unknown.

These are summaries of public sources, without any warranty. Your contract decides.
"""


def to_markdown() -> str:
    """Return the text of docs/licences.md, the page about all presets."""
    parts = [_INTRODUCTION]
    for each in presets():
        values = ", ".join(f"`{name}: {value}`" for name, value in each.parameters.items()) or "none"
        parts.append(
            f"## `{each.id}`\n\n{each.product}. Unit: {each.unit}.\n\n{each.rule}\n\n"
            + (f"*Not checked*: {each.unchecked}\n\n" if each.unchecked else "")
            + (f"*Contested*: {each.contested}\n\n" if each.contested else "")
            + (f"*VMs in question*: {_conditions(each.concerns)}.\n\n" if each.concerns != Concerns() else "")
            + f"*Parameters*: {values}.\n\n*Sources* ({each.date}): {'; '.join(each.sources)}.\n"
        )
    used = dict.fromkeys(name for each in presets() for name in each.parameters)
    parts.append("## Parameters\n\n| parameter | meaning | allowed |\n|---|---|---|")
    rows = [f"| `{name}` | {PARAMETERS[name].meaning} | {PARAMETERS[name].allowed} |" for name in used]
    return "\n".join(parts) + "\n" + "\n".join(rows) + "\n"


def _conditions(concerns: Concerns) -> str:
    if concerns.product:
        return f"those with `{concerns.product}` among their products, or those that `vms` names"
    return f"those whose guest OS matches `{concerns.guest_os}`, or those that `vms` names"
