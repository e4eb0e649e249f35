"""Texts of each wave for the tools that move.

| file | contents |
|---|---|
| `shell.py` | quoting and tables of shell texts |
| `openshift.py` | Forklift: maps of networks and storage, and a plan |
| `kvm.py` | virt-v2v command lines |
| `proxmox.py` | imports, adapters and settings of Proxmox VE |
| `proxmox_rules.py` | placement rules for the HA manager of Proxmox VE, and tags for ProxLB |
| `texts.py` | all texts of a move by file name |

Names of the user's systems are placeholders in capital letters. Names of VMs are quoted for a shell, or are YAML.
"""
