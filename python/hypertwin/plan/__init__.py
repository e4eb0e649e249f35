"""Planning of changes that are found by a search over predictions of the core.

`size.py` finds the topology of one VM, and `snippets.py` writes the topology as text to paste. `density.py` finds the
number of
VMs that meet an objective, `objective.py` parses objectives, and `memory.py` checks host memory. `durability.py`
compares schemes of redundant storage, and `repair.py` simulates their repair time.

`refresh/` finds hosts that replace others. `moving/` plans the move of VMs to another hypervisor.

`capacity/` counts capacity, use and headroom of clusters, without a simulation. `placement/` plans hosts of VMs: after
a failure, for balance, for maintenance, or from nothing. `failover.py` gives the verdict on host failures to callers
without the extra `plan`. `powered_off.py` powers on VMs that are off.
"""
