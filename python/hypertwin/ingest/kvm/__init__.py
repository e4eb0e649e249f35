"""Readers of Linux/KVM hosts: libvirt, Proxmox VE, and tools on the host itself.

| file | input |
|---|---|
| `libvirt_uri.py` | hosts behind libvirt URIs: inventory and telemetry |
| `libvirt_xml.py`, `libvirt_stats.py` | XML of libvirt; statistics of libvirt |
| `virsh_files.py` | hosts from output files of `virsh`, `lscpu` and others |
| `nova.py` | saved responses of OpenStack's compute service |
| `ovirt.py`, `ovirt_xml.py` | saved responses of the API of oVirt and Red Hat Virtualization; their XML |
| `proxmox.py` | saved responses of the Proxmox VE API |
| `proxmox_api.py` | the same responses over the network, from a node |
| `proxmox_ceph.py` | Ceph of a Proxmox VE cluster: pools and OSDs |
| `proxmox_series.py` | history of guests over weeks, from its nodes |
| `proxmox_source.py` | facts of VMs for a move |
| `lscpu.py` | `lscpu -J` and `numactl -H` |
| `linux_host.py` | shared parts: lists of CPUs, their numbering, clocks, weights |
"""
