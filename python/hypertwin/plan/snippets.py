"""Text to paste for the topology of a VM, with one function per target and the source of its syntax.

Every target writes a `Machine`, the topology of one VM. The ESXi targets change a powered-off VM. No target creates
disks or networks.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, combinations
from types import MappingProxyType
from typing import Any
from xml.etree import ElementTree

MIB = 1024**2

PLACEHOLDER = "VM-NAME"
"""Placeholder for the name of a VM that was not given. No tool finds a VM by this name."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._()-]{0,79}")
"""Pattern of names that every target accepts, quoted where needed."""

REMOTE_DISTANCE = 20
"""ACPI SLIT distance to another node, where the distance to the own node is 10: the default of Linux and QEMU."""

VMX_KEYS = {
    "vcpu_min": "numa.vcpu.min",
    "max_per_virtual_node": "numa.vcpu.maxPerVirtualNode",
    "cores_per_node": "numa.vcpu.coresPerNode",
}
"""Keys of a .vmx file for settings of `hypertwin.scenario.virtual_numa.layout`."""


@dataclass(frozen=True)
class Machine:
    """Topology of one VM, as input of the targets."""

    vcpus: int
    cores_per_socket: int
    memory_bytes: int
    """Memory in bytes, a multiple of 1 MiB."""
    nodes: tuple[int, ...]
    """Number of vCPUs of each virtual NUMA node, in order. The sum is `vcpus`."""
    name: str = PLACEHOLDER
    """Name of the VM, which must match `NAME`."""
    settings: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """ESXi settings that differ from the defaults, with the names of `hypertwin.scenario.virtual_numa.layout`."""
    host_nodes: tuple[int, ...] | None = None
    """Host NUMA node of each virtual node. If None, the host decides the placement."""
    host_cpus: tuple[str, ...] = ()
    """Logical CPUs of each of `host_nodes`, such as `0-11,24-35`."""

    @property
    def sockets(self) -> int:
        """Number of virtual sockets."""
        return self.vcpus // self.cores_per_socket

    @property
    def memory_mib(self) -> int:
        """Memory, in MiB."""
        return self.memory_bytes // MIB

    @property
    def node_memory_mib(self) -> tuple[int, ...]:
        """Memory of each virtual node in MiB, in proportion to its vCPUs. The sum is `memory_mib`."""
        ends = [self.memory_mib * vcpus // self.vcpus for vcpus in accumulate(self.nodes)]
        return tuple(end - start for start, end in zip([0, *ends], ends, strict=False))

    @property
    def node_vcpus(self) -> tuple[range, ...]:
        """Numbers of the vCPUs of each virtual node."""
        ends = list(accumulate(self.nodes))
        return tuple(range(start, end) for start, end in zip([0, *ends], ends, strict=False))


def vmx(machine: Machine) -> str:
    """Return the lines of a `.vmx` file.

    Keys: "Virtual NUMA Controls" and "Virtual NUMA Topology", vSphere Resource Management 6.0 to 8.0
    (https://docs.vmware.com/en/VMware-vSphere/6.0/com.vmware.vsphere.resmgmt.doc/GUID-89C52376-60C3-452A-A269-9F4F7FE489C6.html).
    vSphere 8 writes `numa.vcpu.coresPerNode` for "NUMA Nodes": F. Denneman, "vSphere 8 CPU Topology for Large Memory
    Footprint VMs Exceeding NUMA Boundaries" (2022).
    """
    keys = {
        "numvcpus": machine.vcpus,
        "cpuid.coresPerSocket": machine.cores_per_socket,
        "memSize": machine.memory_mib,
        "vcpu.hotadd": "FALSE",
        **_vmx_settings(machine),
    }
    return _lines(f'{key} = "{value}"' for key, value in keys.items())


def powercli(machine: Machine) -> str:
    """Return a VMware PowerCLI script for a powered-off VM.

    `Set-VM`, `New-AdvancedSetting`: PowerCLI Cmdlet Reference (https://developer.broadcom.com/powercli). CPU hot-add
    and the nodes of vSphere 8 are in the configuration specification: vSphere API, `VirtualMachineVirtualNuma`
    (https://developer.broadcom.com/xapis/virtual-infrastructure-json-api/latest/data-structures/VirtualMachineVirtualNuma).
    """
    settings = dict(machine.settings)
    cores_per_node = settings.pop("cores_per_node", None)
    return _lines(
        [
            f"$vm = Get-VM -Name '{machine.name}'",
            f"$vm = Set-VM -VM $vm -NumCpu {machine.vcpus} -CoresPerSocket {machine.cores_per_socket}"
            f" -MemoryMB {machine.memory_mib} -Confirm:$false",
            "$spec = New-Object VMware.Vim.VirtualMachineConfigSpec",
            "$spec.CpuHotAddEnabled = $false",
            *(
                [
                    "$spec.VirtualNuma = New-Object VMware.Vim.VirtualMachineVirtualNuma",
                    f"$spec.VirtualNuma.CoresPerNumaNode = {cores_per_node}",
                ]
                if cores_per_node
                else []
            ),
            "$vm.ExtensionData.ReconfigVM($spec)",
            *(
                f"New-AdvancedSetting -Entity $vm -Name '{VMX_KEYS[key]}' -Value {value} -Force -Confirm:$false"
                for key, value in settings.items()
            ),
        ]
    )


def govc(machine: Machine) -> str:
    """Return a `govc vm.change` command for a powered-off VM.

    Flags: govmomi, cli/vm/change.go (https://github.com/vmware/govmomi). No flag sets cores per socket, so they go into
    the VM's configuration parameters.
    """
    parameters = {"cpuid.coresPerSocket": machine.cores_per_socket, **_vmx_settings(machine)}
    command: list[object] = ["govc", "vm.change", "-vm", machine.name, "-c", machine.vcpus, "-m", machine.memory_mib]
    command += ["-cpu-hot-add-enabled=false"]
    command += [word for key, value in parameters.items() for word in ("-e", f"{key}={value}")]
    return _lines([shlex.join(map(str, command))])


def libvirt(machine: Machine) -> str:
    """Return a libvirt domain for `virsh define`, or its elements for `virsh edit` of an existing domain.

    Elements: libvirt, "Domain XML format", CPU model and topology, CPU tuning, NUMA node tuning
    (https://libvirt.org/formatdomain.html).
    """
    domain = ElementTree.Element("domain", type="kvm")

    def add(parent: ElementTree.Element, tag: str, text: object = None, **attributes: object) -> ElementTree.Element:
        child = ElementTree.SubElement(parent, tag, {key: str(value) for key, value in attributes.items()})
        child.text = None if text is None else str(text)
        return child

    add(domain, "name", machine.name)
    add(domain, "memory", machine.memory_mib, unit="MiB")
    add(domain, "vcpu", machine.vcpus, placement="static")
    if machine.host_nodes is not None:
        pins = add(domain, "cputune")
        for vcpus, cpus in zip(machine.node_vcpus, machine.host_cpus, strict=True):
            for vcpu in vcpus:
                add(pins, "vcpupin", vcpu=vcpu, cpuset=cpus)
        tuning = add(domain, "numatune")
        add(tuning, "memory", mode="strict", nodeset=",".join(map(str, sorted(set(machine.host_nodes)))))
        for cell, node in enumerate(machine.host_nodes):
            add(tuning, "memnode", cellid=cell, mode="strict", nodeset=node)
    add(add(domain, "os"), "type", "hvm", arch="x86_64", machine="q35")
    cpu = add(domain, "cpu", mode="host-passthrough", check="none")
    add(cpu, "topology", sockets=machine.sockets, cores=machine.cores_per_socket, threads=1)
    cells = add(cpu, "numa")
    for cell, (vcpus, memory) in enumerate(zip(machine.node_vcpus, machine.node_memory_mib, strict=True)):
        add(cells, "cell", id=cell, cpus=_range(vcpus), memory=memory, unit="MiB")
    ElementTree.indent(domain)
    return ElementTree.tostring(domain, encoding="unicode") + "\n"


def qm(machine: Machine) -> str:
    """Return a `qm set` command of Proxmox VE. The name of the VM is its number.

    Options: Proxmox VE Administration Guide, qm(1) (https://pve.proxmox.com/pve-docs/qm.1.html).
    PVE::QemuServer::Memory checks that the nodes' memory adds up to the VM's, and that a list of host nodes has a
    policy.
    """
    command: list[object] = ["qm", "set", machine.name if machine.name.isdecimal() else "VMID"]
    command += ["--sockets", machine.sockets, "--cores", machine.cores_per_socket, "--memory", machine.memory_mib]
    command += ["--numa", 1]
    for node, (vcpus, memory) in enumerate(zip(machine.node_vcpus, machine.node_memory_mib, strict=True)):
        bound = "" if machine.host_nodes is None else f",hostnodes={machine.host_nodes[node]},policy=bind"
        command += [f"--numa{node}", f"cpus={_range(vcpus)},memory={memory}{bound}"]
    return _lines([shlex.join(map(str, command))])


def qemu(machine: Machine) -> str:
    """Return the arguments for `qemu-system-x86_64`, one option per line.

    Options: QEMU, "Invocation", -smp, -numa, -object memory-backend-ram
    (https://www.qemu.org/docs/master/system/invocation.html).
    """
    options = [
        ("-name", machine.name),
        ("-smp", f"{machine.vcpus},sockets={machine.sockets},cores={machine.cores_per_socket},threads=1"),
        ("-m", f"{machine.memory_mib}M"),
    ]
    for node, (vcpus, memory) in enumerate(zip(machine.node_vcpus, machine.node_memory_mib, strict=True)):
        bound = "" if machine.host_nodes is None else f",host-nodes={machine.host_nodes[node]},policy=bind"
        options.append(("-object", f"memory-backend-ram,id=ram{node},size={memory}M{bound}"))
        options.append(("-numa", f"node,nodeid={node},cpus={_range(vcpus)},memdev=ram{node}"))
    options += [
        ("-numa", f"dist,src={node},dst={other},val={REMOTE_DISTANCE}")
        for node, other in combinations(range(len(machine.nodes)), 2)
    ]
    return _lines(shlex.join(option) for option in options)


TARGETS: Mapping[str, Mapping[str, Callable[[Machine], str]]] = MappingProxyType(
    {
        "esxi": {"vmx": vmx, "powercli": powercli, "govc": govc},
        "linux": {"libvirt": libvirt, "qm": qm, "qemu": qemu},
    }
)
"""All targets by name, by family of hypervisors."""


def family(target: str) -> str:
    """Return the family of hypervisors of a target."""
    return next(family for family, targets in TARGETS.items() if target in targets)


def _vmx_settings(machine: Machine) -> dict[str, Any]:
    return {VMX_KEYS[key]: value for key, value in machine.settings.items()}


def _range(numbers: range) -> str:
    return f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else str(numbers[0])


def _lines(lines: Iterator[str] | list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
