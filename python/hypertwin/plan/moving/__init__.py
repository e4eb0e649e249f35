"""Moves of VMs off ESXi: published rates of tools, time of a copy, downtime, waves and dates.

| file | contents |
|---|---|
| `rates.py` | published figures, rates and limits of tools (`library/moving/rates.yaml`) |
| `sharing.py` | streams that share hosts, datastores, network and target, with slots |
| `transfer.py` | time of copying a set of VMs, what limits it, and downtime |
| `waves.py` | waves of VMs that move in one maintenance window each |
| `calendar.py` | dates of waves |

These files know no scenario: their inputs are frozen dataclasses.
"""
