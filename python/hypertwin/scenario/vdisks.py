"""Virtual disks of a group of VMs, and the I/Os of a fio job on each of them.

fio keeps `iodepth` I/Os outstanding per clone of a job (`numjobs`), in all files of the job together. A scenario counts
them per virtual disk. So the I/Os of a job are spread evenly over all virtual disks of the VM in which fio runs. This
rule holds for jobs that a scenario names, and for measured jobs. Source: fio's documentation,
https://fio.readthedocs.io/en/latest/fio_doc.html (`iodepth`, `numjobs`, `filename`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hypertwin import language
from hypertwin.errors import fail


def of_group(group: Mapping[str, Any]) -> int:
    """Return the number of virtual disks of each VM of a group, as given or by default."""
    usual = language.limits().default_vdisks_per_controller
    return int(group.get("vdisks") or usual * int(group.get("controllers", 1)))


def spread(io: Mapping[str, Any], group: Mapping[str, Any], name: str, location: str = "") -> dict[str, Any]:
    """Return `arrivals.io` per virtual disk of a group, from the `outstanding` and `workers` of a whole VM.

    Each worker has an equal part of every disk, so `workers` can be fewer. Raises ScenarioError, located at `location`,
    if the disks cannot have equal parts.
    """
    disks, outstanding = of_group(group), int(io["outstanding"])
    if outstanding % disks:
        value = f"{disks} for {outstanding} I/Os outstanding"
        hint = f"set it to the number of disks that the job uses, for one disk vms.{name}.vdisks=1"
        fail("unlike-benchmark", f"vms.{name}.vdisks", value, "a divisor of them", hint, location)
    return on_each({**io, "outstanding": outstanding // disks})


def on_each(io: Mapping[str, Any]) -> dict[str, Any]:
    """Return `arrivals.io` per virtual disk, with workers that have equal parts."""
    if io.get("workers") is None:
        return dict(io)
    return {**io, "workers": math.gcd(int(io["workers"]), int(io["outstanding"]))}
