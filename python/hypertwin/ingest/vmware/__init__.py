"""Readers of VMware's formats, and the writer of esxtop files.

| file | what it reads or writes |
|---|---|
| `esxtop.py` | batch files of esxtop |
| `esxtop_header.py` | the first line of such a file: which columns become which rows |
| `esxtop_counters.py` | which counters of esxtop are which metrics |
| `esxtop_export.py` | writes a simulated cluster as batch files of esxtop |
| `vcenter.py`, `vcenter_counters.py` | the inventory and the counters of vCenter Server or ESXi |
| `vsphere.py` | a session with vCenter Server or ESXi |
| `vsphere_counters.py` | which counters of vSphere are which metrics |
| `get_stat.py` | counters that PowerCLI exported |
| `rvtools/` | exports of RVTools |
| `power_policy.py` | what hosts' power policies are called |
| `bitbrains.py` | the public trace GWA-T-12 Bitbrains |
"""
