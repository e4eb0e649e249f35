"""Signs of the VMs and groups of a point."""

from __future__ import annotations

from collections.abc import Sequence

from hypertwin import language
from hypertwin.documents.simulation import Point, Sign
from hypertwin.metrics.points import groups


def hurt(signs: Sequence[Sign]) -> bool:
    """True if any sign is critical."""
    return any(sign["severity"] == "critical" for sign in signs)


def suffering(point: Point) -> list[str]:
    """Return the VMs of a point with a critical sign."""
    return [vm for vm, signs in point["judgement"]["vms"].items() if hurt(signs)]


def members(point: Point, group: str) -> list[str]:
    """Return the names of the VMs of a group."""
    return language.member_names(group, groups(point)[group].get("count", 1))


def signs_of(point: Point, group: str) -> Sequence[Sign]:
    """Return the signs of a group: those of its mean VM, or of its worst VM, with its name, if only VMs suffer."""
    judged = point["judgement"]
    own = judged["groups"].get(group, [])
    of_vms = {vm: signs for vm in members(point, group) if hurt(signs := judged["vms"].get(vm, []))}
    if hurt(own) or not of_vms:
        return own
    worst = max(of_vms, key=lambda vm: max(sign["weight"] for sign in of_vms[vm] if sign["severity"] == "critical"))
    return [{**sign, "text": f"{sign['text']} ({worst})"} for sign in of_vms[worst]]
