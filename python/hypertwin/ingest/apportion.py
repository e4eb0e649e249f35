"""Share of each VM in the measured use of hosts: the same rule for imports, capacity and plans.

| VM | share |
|---|---|
| measured itself | its measurement |
| on a measured host | by weight, of the host's use less that of the hypervisor and of measured VMs |
| on an unknown host | by weight, of the use of its cluster's hosts that no VM on them explains |
| on an unmeasured host | the mean of the other VMs per weight |
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Origin = Literal["own", "host", "cluster"]
"""Source of a share: measurement of the VM, of its host, or of its cluster."""


@dataclass(frozen=True)
class Taker:
    """A VM that takes a share. All figures are in the unit of the apportioned usage."""

    weight: float
    """Weight of the VM in the division: number of vCPUs, or memory size."""
    own: float | None
    """Measurement of the VM, or None without one."""
    host: str | None
    """Host at the time of the measurement, or None if the host is unknown or a guess."""
    most: float = math.inf
    """Maximum share of the VM."""


@dataclass(frozen=True)
class Share:
    """Share of a VM in the measured use of its host, with its source."""

    value: float
    origin: Origin


def apportion(takers: Sequence[Taker], used: Mapping[str, float]) -> list[Share | None]:
    """Return the share of each VM of a cluster, in their order, or None if nothing was measured.

    `used` is the use by VMs of each measured host, without the hypervisor. The shares add up to the use of hosts, as
    far as VMs can take it. A measured VM keeps its own figure.
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
    """Return the share of VMs without a host per weight, and the part of each host for its VMs.

    VMs without a host get the mean share of the others, plus all use of hosts that no VM there explains.
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
    """Return the share of a VM, or None if it gets the mean share of the others."""
    if taker.own is not None:
        return Share(taker.own, "own")
    if taker.host is None:
        return Share(min(of_homeless * taker.weight, taker.most), "cluster") if left else None
    if taker.host not in left:
        return None
    weights = silent[taker.host]
    return Share(min(part * left[taker.host] * taker.weight / weights if weights else 0.0, taker.most), "host")
