"""Devices of VMs in vCenter: disks, and devices of the host that prevent vMotion."""

from __future__ import annotations

import pytest
from pyVmomi import vim

from hypertwin.ingest.vmware import vcenter

device = vim.vm.device


@pytest.mark.parametrize(
    ("added", "stays"),
    [
        ([], False),
        ([device.VirtualPCIPassthrough(backing=device.VirtualPCIPassthrough.DynamicBackingInfo())], True),
        ([device.VirtualPCIPassthrough(backing=device.VirtualPCIPassthrough.DeviceBackingInfo())], True),
        ([device.VirtualPCIPassthrough(backing=device.VirtualPCIPassthrough.VmiopBackingInfo(vgpu="a100-4c"))], False),
        ([device.VirtualSriovEthernetCard()], True),
        ([device.VirtualVmxnet3()], False),
    ],
)
def test_devices_of_the_host(added, stays):
    controller = device.ParaVirtualSCSIController(key=1000, busNumber=2)
    disk = device.VirtualDisk(key=2000, controllerKey=1000, capacityInKB=1024, capacityInBytes=2**20)
    values = vcenter._thin({"config.hardware.device": [controller, disk, *added]})
    assert values["config.hardware.device"] == [(2**20, "pvscsi", 2, "")]
    assert values[vcenter.HOST_DEVICES] is stays
