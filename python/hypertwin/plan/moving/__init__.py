"""Moves of VMs to another hypervisor: what blocks a VM, what it becomes on the target, what to do before.

| file | contents |
|---|---|
| `target.py` | targets: Proxmox VE, KVM, OpenShift Virtualization, Hyper-V, AHV |
| `context.py` | facts beside the VM: other names, datastores, placement rules, the target's hosts |
| `guest.py` | guest operating systems, by identifier or name |
| `devices.py` | controllers and adapters of the source, in one vocabulary |
| `names.py` | names of VMs on each target |
| `facts.py` | where an administrator finds a fact that the source lacks |
| `conditions.py` | conditions of rules |
| `rules.py` | rules of a target (`library/moving`), and the findings for a VM |
| `proxmox.py` | a VM as the importer of Proxmox VE makes it, and as it is best |
| `elsewhere.py` | a VM on the other targets |
| `becomes.py` | a VM on any target |
| `effort.py` | effort class of a VM |
"""
