"""Facts of VMs for a move, from Proxmox VE."""

from __future__ import annotations

from typing import Any

import pytest

from hypertwin.ingest.kvm import proxmox_source
from hypertwin.members import SourceNetwork

SECRET = "hunter2"


@pytest.mark.parametrize(
    ("config", "name", "known"),
    [
        *(
            ({"cores": 1}, "firmware", "bios"),
            ({"bios": "seabios"}, "firmware", "bios"),
            ({"bios": "ovmf"}, "firmware", "efi"),
        ),
        *(({"cores": 1}, "tpm", False), ({"tpmstate0": "local:x,version=v2.0"}, "tpm", True)),
        *(({"tags": "shop;web;shop"}, "tags", ("shop", "web")), ({"cores": 1}, "tags", None)),
        *(({"hotplug": "disk,memory"}, "hot_add_memory", True), ({"hotplug": "disk"}, "hot_add_memory", False)),
        *(
            ({"hostpci0": "01:00", "hostpci1": "02:00"}, "passthrough_devices", 2),
            ({"usb0": "host=1"}, "usb_devices", 1),
        ),
        ({"net0": "virtio,tag=4094"}, "networks", (SourceNetwork("virtio", None, None, 4094, True),)),
        ({"net0": "virtio,tag=4095"}, "networks", (SourceNetwork("virtio", None, None, None, True),)),
        *(({"cores": 1}, "usb_devices", 0), ({"description": f"password: {SECRET}"}, "secret_in_notes", True)),
        *(({"description": "a note"}, "secret_in_notes", False), ({"cores": 1}, "networks", ())),
        (
            *(
                {
                    "net1": "e1000=BC:24:11:00:00:02,bridge=vmbr1,link_down=1",
                    "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=20",
                },
            ),
            "networks",
            (SourceNetwork("virtio", "vmbr0", None, 20, True), SourceNetwork("e1000", "vmbr1", None, 0, False)),
        ),
        (
            *({"net0": "model=virtio,macaddr=BC:24:11:00:00:01,tag=9999"},),
            "networks",
            (SourceNetwork("virtio", None, None, None, True),),
        ),
    ],
)
def test_a_key(config: dict[str, Any], name: str, known: object) -> None:
    found = proxmox_source.of_vm(config)
    assert getattr(found, name) == known
    assert SECRET not in repr(found)


def test_without_a_configuration_nothing_is_known() -> None:
    assert proxmox_source.of_vm({}) is None
