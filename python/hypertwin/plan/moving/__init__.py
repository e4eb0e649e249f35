"""Moves of VMs to another hypervisor: what blocks a VM, what it becomes, when it moves, and how fast it is then.

| file | contents |
|---|---|
| `target.py` | targets: Proxmox VE, KVM, OpenShift Virtualization, Hyper-V, AHV |
| `context.py` | facts beside the VM: other names, datastores, placement rules, hosts of the target |
| `off.py` | powered-off VMs and templates as VMs that move |
| `guest.py` | guest operating systems, by identifier or name |
| `devices.py` | controllers and adapters of the source, in one vocabulary |
| `names.py` | names of VMs on each target |
| `facts.py` | where an administrator finds a fact that the source lacks |
| `conditions.py` | conditions of rules |
| `rules.py` | rules of a target (`library/moving`), and the findings for a VM |
| `proxmox.py` | a VM as the importer of Proxmox VE makes it, and as it is best |
| `elsewhere.py` | a VM on the other targets |
| `becomes.py` | a VM on any target |
| `addresses.py` | MAC and IP addresses of a VM, kept or not |
| `rollback.py` | the way back from a wave |
| `overlap.py` | days in which both sides run, and the cost of the source in them |
| `effort.py` | effort class of a VM, and work of people |
| `rates.py` | published figures, rates and limits of tools (`library/moving/rates.yaml`) |
| `sharing.py` | streams that share hosts, datastores, network and target, with slots |
| `transfer.py` | time of copying a set of VMs, what limits it, and downtime |
| `downtime.py` | longest downtime of VMs by tag, and writes of their work |
| `waves.py` | waves of VMs that move in one maintenance window each |
| `calendar.py` | dates of waves |
| `arrival.py` | scenario of the VMs on the target |
| `arrived.py` | hosts of all VMs on the target, and the figures of a simulation before and after |
| `causes.py` | mechanisms of a change, by a chain of clusters between before and after |
| `rolling.py` | reuse of the present hosts, one after another |
| `handover` | texts of waves for tools: Forklift, virt-v2v, Proxmox VE |
| `destination.py` | the target cluster as a document |
| `options.py` | options |
| `answer.py` | the entry point, and the document |

Files from `rates.py` to `calendar.py` know no scenario: their inputs are frozen dataclasses.
"""
