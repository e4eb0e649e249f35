"""Planning: what to change, found by searching over what the core predicts.

`size.py` finds the topology of one VM, `snippets.py` writes it as text to paste; `density.py` finds how many VMs meet
an objective, `objective.py` says what that means, `memory.py` whose memory is enough; `durability.py` compares schemes
of redundant storage, `repair.py` simulates their repair time.

`capacity/` counts what clusters have, use and have left, without a simulation. `placement/` says where VMs go: after a
failure, to balance, to empty a host, from nothing. `failover.py` gives the verdict on host failures to all that can do
without it, `powered_off.py` switches VMs on that are off.
"""
