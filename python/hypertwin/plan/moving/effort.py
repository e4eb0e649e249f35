"""Effort class of a VM, from its operating system, the size of its disks, and its findings.

Scores of operating systems and sizes are those of the migration planner of kubev2v
(`pkg/estimations/complexity/complexity.go` of kubev2v/migration-planner at 6aff4ab9), which rates a move to OpenShift.
Findings raise the class [an assumption of this project]: what blocks a VM makes it `hard`, a change at least `medium`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from hypertwin.documents import move as documents
from hypertwin.language import Vm
from hypertwin.plan.moving.rules import Finding

Class = Literal["easy", "medium", "hard", "database"]
CLASSES: tuple[Class, ...] = ("easy", "medium", "hard", "database")
UNKNOWN = "not known"
"""Class of a VM with an unknown operating system and without findings."""
TIB = 2**40
TIERS_TIB = (10, 20, 50)
"""Upper ends of the first three tiers of disk sizes."""
_SYSTEMS: tuple[tuple[str, int], ...] = (
    (r"microsoft sql", 4),
    (r"red hat enterprise linux (?:[6-9]|10)\b|red hat fedora|(?:centos|oracle linux) [6-9]\b|rocky linux [89]\b", 1),
    (r"(?:red hat enterprise linux|centos|oracle linux) [45]\b", 2),
    (r"windows server (?:2016|2019|2022|2025)|windows 1[01]\b|suse linux enterprise (?:12|15)\b", 2),
    (r"windows server (?:2000|2003|2008|2012)|windows (?:xp|vista|7|8)\b|suse linux enterprise (?:8|9|10|11)\b", 3),
    (r"suse opensuse|ubuntu linux|debian gnu/linux (?:[5-9]|1[0-2])\b|almalinux [89]\b|oracle solaris 1[01]\b", 3),
    (r"freebsd|vmware photon os|amazon linux 2|coreos linux|apple macos", 3),
)
_MATRIX = {1: (1, 1, 3, 3), 2: (2, 2, 3, 3), 3: (2, 2, 3, 3), 4: (4, 4, 4, 4)}
"""Score by operating system and tier of disk sizes, from small to large."""
_LEAST = {"blocks": 3, "changes": 2, "note": 0}
"""Lowest score of a VM with a finding of this severity."""

CHECK_MINUTES, ENGINEERS, HOURS_PER_DAY = 60.0, 10, 8.0
"""Published time of checks after the move per VM, engineers, and hours of a working day. Classes do not change them."""
CHECK_SOURCE = "kubev2v/migration-planner, postMigration.go of pkg/estimations at 6aff4ab9 (2026-08)"


def effort(vm: Vm, found: Sequence[Finding]) -> Class | None:
    """Return the effort class of a VM with its findings, or None for an unknown operating system without findings."""
    score, size = os_score(vm), _size(vm)
    tier = 0 if size is None else sum(size > most * TIB for most in TIERS_TIB)
    combined = 0 if score is None else _MATRIX[score][tier]
    least = max((_LEAST[each.severity] for each in found if each.is_known), default=0)
    combined = max(combined, least)
    return CLASSES[combined - 1] if combined else None


def work(classes: Iterable[str]) -> documents.Effort:
    """Return the work of people for VMs with these effort classes. The time of changes is not published."""
    counts = Counter(classes)
    order = [*CLASSES, UNKNOWN]
    day = 60 * HOURS_PER_DAY
    return {
        "check_minutes": CHECK_MINUTES,
        "engineers": ENGINEERS,
        "hours_per_day": HOURS_PER_DAY,
        "classes": [
            {"effort": name, "vms": counts[name], "check_days": counts[name] * CHECK_MINUTES / day}
            for name in order
            if counts[name]
        ],
        "working_days": float(math.ceil(counts.total() * CHECK_MINUTES / ENGINEERS / day)),
        "source": CHECK_SOURCE,
    }


def os_score(vm: Vm) -> int | None:
    """Return the score of the operating system from 1 to 4, or None if it is unknown or not rated."""
    if any(product.startswith("sql-server") for product in vm.products):
        return 4
    text = (vm.guest_os or "").replace("Microsoft Windows", "Windows")
    return next((score for pattern, score in _SYSTEMS if re.search(pattern, text, re.IGNORECASE)), None)


def _size(vm: Vm) -> int | None:
    sizes = [disk.capacity_bytes for disk in vm.source.disks or ()]
    if vm.source.disks is None or None in sizes:
        return vm.measured.storage_provisioned_bytes
    return sum(size for size in sizes if size is not None)
