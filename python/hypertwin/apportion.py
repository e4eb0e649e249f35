"""Share of each VM in the measured use of hosts: one rule for imports, capacity and plans.

| a VM | takes |
|---|---|
| that was measured | what it was measured at |
| on a host that was measured | by weight, what its host used less what the hypervisor and measured VMs took |
| whose host is not known | by weight, what the hosts of its cluster used and no VM on them explains |
| on a host that was not measured | as much for its weight as the other VMs |
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Origin = Literal["own", "host", "cluster"]
"""Where a share is from: the VM's own measurement, its host's, or its cluster's."""


@dataclass(frozen=True)
class Taker:
    """A VM that takes a share. All figures are in the unit of the usage that is apportioned."""

    weight: float
    """vCPUs, or memory."""
    own: float | None
    """Measurement of the VM; None without one."""
    host: str | None
    """The host that it was on; None where that is not known, or a guess."""
    most: float = math.inf
    """Its maximum."""


@dataclass(frozen=True)
class Share:
    """Share of a VM."""

    value: float
    origin: Origin


def apportion(takers: Sequence[Taker], used: Mapping[str, float]) -> list[Share | None]:
    """The share of each VM of a cluster, in their order; None where nothing was measured at all.

    `used` is what VMs used of each host that was measured, less what its hypervisor took. What all VMs take is what
    hosts used, as far as VMs can take it; a VM that was measured keeps its own figure.
    """
    left = dict(used)
    astray = 0.0
    for each in takers:
        if each.own is not None and each.host is not None and each.host in left:
            left[each.host] = max(left[each.host] - each.own, 0.0)
        elif each.own is not None and each.host is None:
            astray += each.own
    whole = sum(left.values())
    kept = max(whole - astray, 0.0) / whole if whole else 0.0
    left = {host: kept * value for host, value in left.items()}
    silent: defaultdict[str, float] = defaultdict(float)
    homeless = 0.0
    for each in takers:
        if each.own is None and each.host is None:
            homeless += each.weight
        elif each.own is None and each.host in left:
            silent[each.host or ""] += each.weight
    of_homeless, part = _divided(left, silent, homeless)
    found = [_share(each, left, silent, of_homeless, part) for each in takers]
    known = [(share.value, each.weight) for share, each in zip(found, takers, strict=True) if share is not None]
    weight = sum(weight for _, weight in known)
    if not weight:
        return found
    usual = sum(value for value, _ in known) / weight
    return [
        Share(min(usual * each.weight, each.most), "cluster") if share is None else share
        for share, each in zip(found, takers, strict=True)
    ]


def _divided(left: Mapping[str, float], silent: Mapping[str, float], homeless: float) -> tuple[float, float]:
    """Share of VMs without a host per weight, and the part of each host for VMs on it.

    They take as much as the others, and all that is left of hosts on which no VM can explain it.
    """
    if not homeless or not left:
        return 0.0, 1.0
    explained = sum(left[host] for host in silent)
    whole = sum(left.values())
    taken = max(whole - explained, whole * homeless / (homeless + sum(silent.values())))
    return taken / homeless, (whole - taken) / explained if explained else 0.0


def _share(
    taker: Taker, left: Mapping[str, float], silent: Mapping[str, float], of_homeless: float, part: float
) -> Share | None:
    """The share of a VM; None where it takes what is usual among the others."""
    if taker.own is not None:
        return Share(taker.own, "own")
    if taker.host is None:
        return Share(min(of_homeless * taker.weight, taker.most), "cluster") if left else None
    if taker.host not in left:
        return None
    weights = silent[taker.host]
    return Share(min(part * left[taker.host] * taker.weight / weights if weights else 0.0, taker.most), "host")
