"""Readers of VMware's formats, and the writer of esxtop files.

| file | input or output |
|---|---|
| `esxtop.py` | batch files of esxtop |
| `esxtop_header.py` | the first line of such a file: columns and their rows in the table |
| `esxtop_counters.py` | metrics of esxtop counters |
| `esxtop_export.py` | writes a simulated cluster as batch files of esxtop |
| `vcenter.py`, `vcenter_counters.py` | the inventory and the counters of vCenter Server or ESXi |
| `vcenter_clusters.py` | clusters of vCenter Server, with HA and placement rules |
| `vcenter_stats.py` | measurements of VMs by vCenter Server |
| `vcenter_source.py` | facts of VMs for a move |
| `vcenter_values.py` | values of the vSphere API, with limits |
| `vsphere.py` | a session with vCenter Server or ESXi |
| `vsphere_counters.py` | metrics of vSphere counters |
| `get_stat.py` | counters that PowerCLI exported |
| `rvtools/` | exports of RVTools |
| `availability.py` | names of HA and DRS settings |
| `power_policy.py` | names of hosts' power policies |
| `bitbrains.py` | the public trace GWA-T-12 Bitbrains |
"""
