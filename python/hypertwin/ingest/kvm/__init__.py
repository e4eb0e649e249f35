"""Readers of Linux/KVM hosts: libvirt, Proxmox VE, and what a host says about itself.

| file | what it reads |
|---|---|
| `libvirt_uri.py` | hosts behind libvirt URIs: inventory and telemetry |
| `libvirt_xml.py`, `libvirt_stats.py` | libvirt's XML; its statistics |
| `virsh_files.py` | hosts from files that `virsh`, `lscpu` and others wrote |
| `nova.py` | saved answers of OpenStack's compute service |
| `ovirt.py` | saved answers of the API of oVirt and Red Hat Virtualization |
| `proxmox.py` | saved answers of the Proxmox VE API |
| `proxmox_series.py` | what its nodes kept of guests over weeks |
| `lscpu.py` | `lscpu -J` and `numactl -H` |
| `linux_host.py` | what these share: lists of CPUs, their numbering, clocks, weights |
"""
