"""Longest downtime of VMs by tag, and the rate at which the work of a VM writes to its disks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from hypertwin import _core
from hypertwin.documents import move as documents
from hypertwin.errors import Argument, fail
from hypertwin.language import Vm
from hypertwin.plan.moving.waves import Wave

FORM = "a tag or pattern and a time, such as gold=15min or 'app-*=1 h'"


@dataclass(frozen=True)
class Class:
    """VMs with a tag, and the longest time for which they can be off."""

    tag: str
    """Pattern of tags."""
    max_s: float

    @staticmethod
    def parse(text: str) -> Class:
        """Return the class of a text such as `gold=15min`. Raises ScenarioError."""
        tag, equals, time = (each.strip() for each in text.rpartition("="))
        at = Argument("downtime", repr(text))
        if not (tag and equals):
            fail("bad-quantity", "", text, FORM, "write the tag, an equals sign and the longest downtime", at)
        try:
            found = _core.duration_s(time)
        except ValueError as error:
            fail("bad-quantity", "", text, f"{FORM}: {error}", "write a time with its unit, such as 15min", at)
        if found <= 0:
            fail("out-of-range", "", text, "a time above 0", "leave the class out if its VMs must not be off", at)
        return Class(tag, found)

    def has(self, vm: Vm) -> bool:
        """True if a VM has a tag of the class."""
        return any(fnmatchcase(tag, self.tag) for tag in vm.source.tags or ())


def longest(vm: Vm, classes: Sequence[Class]) -> float | None:
    """Return the longest downtime of a VM, the shortest of its classes, or None without any."""
    return min((each.max_s for each in classes if each.has(vm)), default=None)


def classes(texts: Sequence[str], vms: Sequence[Vm]) -> tuple[Class, ...]:
    """Return the classes of texts. Raises ScenarioError, also for a class without any VM."""
    found = tuple(map(Class.parse, texts))
    for each in found:
        if not any(map(each.has, vms)):
            tags = sorted({tag for vm in vms for tag in vm.source.tags or ()})
            allowed = ", ".join(tags[:7]) or "VMs with tags, which this source does not have"
            hint = "name a tag of a VM (vms.NAME.source.tags)"
            fail("unknown-value", "", each.tag, allowed, hint, Argument("downtime", repr(each.tag)))
    return found


def documented(classes: Sequence[Class], vms: Sequence[Vm], planned: Sequence[Wave]) -> list[documents.Downtimes]:
    """Return what each class gets."""
    warm = {name for each in planned if each.mode == "warm" for name in each.vms}
    off = {each.name: each.seconds.high for wave in planned for each in wave.downtimes}
    found: list[documents.Downtimes] = []
    for each in classes:
        members = [vm.name for vm in vms if each.has(vm)]
        found.append(
            {
                "tag": each.tag,
                "max_s": each.max_s,
                "vms": len(members),
                "warm": [name for name in members if name in warm],
                "too_long": [name for name in members if name in off and off[name] > each.max_s],
            }
        )
    return found


def writes_per_s(vm: Vm, data: Mapping[str, Any]) -> float | None:
    """Return the bytes that the work of a VM writes in a second, or None if the scenario does not tell.

    The rate is known for arrivals with a rate, and a workload that states its share of reads.
    """
    entry = data["vms"][vm.group]
    workload = data["workloads"][entry["workload"]]
    arrivals, share = workload["arrivals"], 1 - workload["read_pct"] / 100
    rate = (arrivals.get("open") or arrivals.get("io") or {}).get("rate")
    ios = workload["ios"] if "open" in arrivals else 1.0
    if rate is None or not share or not ios:
        return None
    mix = workload.get("block_mix") or ()
    mixed = sum(each["share_pct"] for each in mix) / 100
    block = (1 - mixed) * _core.size_bytes(workload["block"])
    block += sum(each["share_pct"] / 100 * _core.size_bytes(each["block"]) for each in mix)
    return float(_core.rate_per_s(rate) * entry["load"] * ios * share * block)
