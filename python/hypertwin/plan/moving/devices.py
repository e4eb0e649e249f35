"""Controllers and network adapters of the source, in the vocabulary of a VM's configuration file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hypertwin.language import Vm
from hypertwin.members import SourceDisk, SourceNetwork

Bus = Literal["scsi", "sata", "ide", "nvme"]

_CONTROLLERS: tuple[tuple[str, Bus, str | None], ...] = (
    (r"para ?virtual|pvscsi", "scsi", "pvscsi"),
    (r"lsi ?logic ?sas|lsi-?sas|lsisas", "scsi", "lsisas1068"),
    (r"lsi", "scsi", "lsilogic"),
    (r"bus ?logic", "scsi", "buslogic"),
    (r"nvme", "nvme", "nvme"),
    (r"sata|ahci", "sata", "ahci"),
    (r"\bide\b|^ide", "ide", None),
    (r"virtio", "scsi", "virtio"),
    (r"scsi", "scsi", None),
)
_ADAPTERS = (
    (r"vmxnet ?3", "vmxnet3"),
    (r"e1000e", "e1000e"),
    (r"e1000", "e1000"),
    (r"sr-?iov", "sriov"),
    (r"flexible", "flexible"),
    (r"pcnet|vlance", "vlance"),
    (r"vmxnet", "vmxnet"),
    (r"virtio", "virtio"),
    (r"rtl8139", "rtl8139"),
)


@dataclass(frozen=True)
class Slot:
    """Virtual disk with its place on a bus."""

    disk: SourceDisk
    bus: Bus
    kind: str | None
    """Type of the controller in the configuration file, or None if unknown or without a type."""
    key: str
    """Key of the disk in the configuration file, such as `scsi0:1`."""


def controller(text: str | None) -> tuple[Bus, str | None] | None:
    """Return bus and type of a controller, or None if unknown."""
    for pattern, bus, kind in _CONTROLLERS:
        if text and re.search(pattern, text, re.IGNORECASE):
            return bus, kind
    return None


def adapter(network: SourceNetwork) -> str | None:
    """Return the model of an adapter, or None if unknown."""
    text = network.adapter
    return next((model for pattern, model in _ADAPTERS if text and re.search(pattern, text, re.IGNORECASE)), None)


def slots(vm: Vm) -> Sequence[Slot] | None:
    """Return the disks in the order of their keys in the configuration file, or None if a bus is unknown.

    A disk without a number at its controller has the next one.
    """
    if vm.source.disks is None:
        return None
    found: list[Slot] = []
    used: Counter[tuple[str, int]] = Counter()
    for disk in vm.source.disks:
        known = controller(disk.controller)
        if known is None:
            return None
        bus, kind = known
        at = (bus, disk.controller_number or 0)
        unit = used[at] if disk.unit is None else disk.unit
        used[at] = max(used[at], unit + 1)
        found.append(Slot(disk, bus, kind, f"{bus}{at[1]}:{unit}"))
    return sorted(found, key=lambda slot: f"{slot.key}.fileName")
