"""Readers of VMware's formats, and the writer of esxtop files.

| file | what it reads or writes |
|---|---|
| `esxtop.py` | batch files of esxtop |
| `esxtop_header.py` | the first line of such a file: which columns become which rows |
| `esxtop_counters.py` | which counters of esxtop are which metrics |
| `esxtop_export.py` | writes a simulated cluster as batch files of esxtop |
| `vcenter.py`, `vcenter_counters.py` | the inventory and the counters of vCenter Server or ESXi |
| `vcenter_clusters.py` | clusters of vCenter Server, with HA and placement rules |
| `vcenter_stats.py` | what vCenter Server measured of VMs |
| `vcenter_values.py` | values of the vSphere API, with their bounds |
| `vsphere.py` | a session with vCenter Server or ESXi |
| `vsphere_counters.py` | which counters of vSphere are which metrics |
| `get_stat.py` | counters that PowerCLI exported |
| `rvtools/` | exports of RVTools |
| `availability.py` | what restarts and balancing are called |
| `power_policy.py` | what hosts' power policies are called |
| `bitbrains.py` | the public trace GWA-T-12 Bitbrains |
"""
