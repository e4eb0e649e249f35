"""The way back from a wave, as the file of the target in `library/moving` tells."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from hypertwin.documents.move import MovedVm, Step, Wave
from hypertwin.errors import short
from hypertwin.plan.moving import rules
from hypertwin.plan.moving.target import TITLES, Target

FILE = "rollback.txt"

ACCEPTANCE_DAYS = (14, 28)
"""Days for which source VMs are kept: two to four weeks (intelligentvisibility.com, guide on Nutanix Move, 2026)."""


@cache
def steps(target: Target) -> Sequence[Step]:
    """Return the steps of a target, in the order of its file."""
    data = rules.file(target)
    return tuple(
        {
            "mode": entry.get("mode", ""),
            "text": entry["text"],
            "source": data["sources"][entry["source"]],
            "unchecked": entry.get("unchecked", ""),
        }
        for entry in data["rollback"]
    )


def text(target: Target, waves: Sequence[Wave], vms: Sequence[MovedVm], acceptance: str) -> str:
    """Return the way back of each wave as text. `acceptance` is the time until source VMs are deleted."""
    labels = {vm["name"]: vm["label"] for vm in vms}
    lines = [f"The way back from {TITLES[target]}, by wave. Delete source VMs only after {acceptance} of acceptance.\n"]
    for wave in waves:
        lines.append(f"\nWave {wave['number']} ({wave['mode']})\n")
        chosen = [each for each in steps(target) if each["mode"] in ("", wave["mode"])]
        lines += [f"  {number}. {each['text']}\n" for number, each in enumerate(chosen, 1)]
        lines += [f"  - {' '.join(short(labels[name], 256).split())}\n" for name in wave["vms"]]
    return "".join(lines)
