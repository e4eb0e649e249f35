"""Whole estates of which everything is known: `make` invents one from a seed, a writer per form exports it.

| file | what it is about |
|---|---|
| `truth.py` | hosts, VMs and clusters as they are, and the knobs by which they are made |
| `rvtools.py` | the RVTools workbook of an estate |
| `proxmox.py` | a dump of Proxmox VE's answers |
| `proxmox_played.py` | six unequal nodes of Proxmox VE whose month is played by a simulation |
| `proxmox_schema.py` | fields of the API of Proxmox VE, with their sources |
| `proxmox_script.py` | the dump that the collection script makes of such answers |
| `proxmox_server.py` | a node that serves such answers over TLS |
| `proxmox_ceph.py` | the answers of Proxmox VE about Ceph |
| `nutanix.py` | the answers of Prism Central's v4 API, and its published fields |
| `nutanix_server.py` | a Prism Central that serves such answers over TLS |
| `tls_server.py` | the part of such servers that is TLS |
| `vcenter.py` | the world of a simulated vCenter Server |
| `agreement.py` | whether an import says the truth |
| `prometheus.py` | the measurements, as vmware_exporter has them |

Writers share no code with the readers in `python/hypertwin`: what an import says is compared with the truth.
"""

from tests.estate.truth import Cluster, Estate, Host, Vm, in_full, make

__all__ = ["Cluster", "Estate", "Host", "Vm", "in_full", "make"]
