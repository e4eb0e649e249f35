"""Planning: what to change, found by searching over what the core predicts.

`size.py` finds the topology of one VM, `snippets.py` writes it as text to paste; `density.py` finds how many VMs meet
an objective, `objective.py` says what that means, `memory.py` whose memory is enough; `durability.py` compares schemes
of redundant storage, `repair.py` simulates their repair time.

`capacity.py` counts what clusters have, use and have left, without a simulation: `capacity_limits.py` has what must
stay free, `capacity_demand.py` which demand counts, `capacity_state.py` a cluster with both, `capacity_packing.py` VMs
into hosts, `capacity_room.py` what still fits, `capacity_reclaim.py` what could be taken back, `capacity_notes.py` what
a reader must know.
"""
