"""VM placement: failover check, balancing, maintenance and new VMs, with a bound or a proof.

A plan is a placement, a bound and a proof. VMs are rows of numbers, and hosts are capacities. If placement and bound
have the same value, the plan is optimal. If they differ, the output shows the gap. Only `restart.py` decides the
state after a failure, so search, certificate and diagnosis of a placement agree.

The optimiser uses demand, and the simulation verifies the result. Demand orders hosts as ready time does, but its
value does not predict ready time. The twin therefore simulates the best placements in every state. A host that misses
an objective gets a lower limit.

Solvers have limits in nodes, never in time, so the same cluster gives the same plan on any computer. HiGHS comes with
scipy, in the extra `plan`. Heuristics and bounds handle programmes that are too large for it.

| file | contents |
|---|---|
| `problem.py` | the cluster as planner input: sizes, limits, rules, current hosts of VMs |
| `units.py` | VMs that rules keep together |
| `steps.py` | moves in an executable order, in steps, with temporary moves |
| `untangle.py` | order for moves that wait for each other |
| `migrations.py` | duration of concurrent moves |
| `evacuate.py` | maintenance mode for one host, or rolling maintenance |
| `moved.py` | the scenario after a plan |
| `texts.py` | moves as text to paste: PowerCLI, govc, virsh, qm, Ansible |
| `simulated.py` | figures of simulated states of hosts, with runs until objectives are decided |
| `grouped.py` | states of a host after several failures, simulated as one |
| `judge.py` | verification by simulation, also after failures; lowers limits to meet objectives |
| `explain.py` | the reason for a VM's host, and against the other hosts |
| `options.py` | options of all plans |
| `planning.py` | entry points of plans, which combine the files below |
| `answer.py` | a plan as a document |
| `failures.py` | failures to plan for: hosts, groups of hosts, racks of pools; unreadable data |
| `restart.py` | restart hosts for VMs of failed hosts, for many failures at once |
| `restart_exact.py` | the most VMs that can be restarted, by an integer programme |
| `ruled.py` | placement rules by VM |
| `found.py` | search result: placement, value, bound, proof |
| `incumbent.py` | the best placement of a search so far, which an interrupt leaves |
| `task.py` | a problem with the failures to tolerate, and a check of placements |
| `bounds.py` | lower bounds for all placements, and proofs that none exists |
| `leaving.py` | the fewest VMs that must leave their hosts |
| `landing.py` | a stronger bound of moves: large VMs that leave need hosts, and failures room |
| `nearby.py` | search for fewer moves near a placement, with the failures that matter |
| `search.py` | local search for a level placement |
| `mend.py` | repair of a placement with few moves |
| `balance.py` | fewest moves, and the most level placement |
| `beside.py` | hosts for as many new VMs as possible, without moves of others |
| `spread.py` | level spread of new VMs |
| `relieve.py` | relief of one host: one VM, the fewest needed, or half of them |
| `place.py` | hosts for new VMs, and the fewest hosts for all VMs |
| `drop.py` | the smallest set of rules and VMs to drop if no placement exists |
| `exact.py` | placements as integer programmes |
| `lacking.py` | shortage of a VM that cannot restart, in words |
| `quiet.py` | keeps solver output off the standard output |
| `policies.py` | named policies: rules and resources that they add, with their sources |
| `verdict.py` | verdict on host failures, shared by all commands |
| `survive.py` | failures that a placement tolerates: certificates, binding constraints |
| `fixes.py` | changes that make a plan possible, each checked |
"""
