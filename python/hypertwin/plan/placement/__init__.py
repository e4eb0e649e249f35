"""VM placement: failover check, balancing, maintenance and new VMs, with a bound or a proof.

| file | what it has |
|---|---|
| `problem.py` | a cluster as a planner sees it: sizes, rooms, rules, where VMs are |
| `units.py` | VMs that rules keep together |
| `steps.py` | moves in an executable order, in steps, with temporary moves |
| `untangle.py` | moves that wait for each other, found one by one |
| `migrations.py` | how long moves take that run side by side |
| `evacuate.py` | a host is emptied, or each host in turn, and back |
| `moved.py` | the scenario with VMs where a plan puts them |
| `texts.py` | moves as text to paste: PowerCLI, govc, virsh, qm, Ansible |
| `judge.py` | checks by simulation, of a plan and after failures; limits lowered to meet objectives |
| `explain.py` | why a VM is where it is, and what speaks against other hosts |
| `options.py` | what all plans can be asked for |
| `planning.py` | plans as they are asked for: the parts below put together |
| `answer.py` | a plan as a document |
| `failures.py` | what may fail: hosts, hosts together, racks of pools; and which data cannot be read then |
| `restart.py` | where the VMs of failed hosts go; of many failures at once |
| `restart_exact.py` | the most VMs that can be restarted, by an integer programme |
| `ruled.py` | rules by VM: where each may be beside others |
| `found.py` | what a search found: place, value, bound, proof |
| `task.py` | a problem with the failures to tolerate, and a check of places |
| `bounds.py` | lower bounds of every place, and proofs that none exists |
| `leaving.py` | the fewest VMs that must leave their hosts |
| `search.py` | local search for a level place |
| `mend.py` | a place made good with few moves |
| `balance.py` | fewest moves, and the most level place |
| `beside.py` | hosts for new VMs while the others stay, as many as can be |
| `spread.py` | new VMs as level as can be |
| `relieve.py` | one VM off a host, as few as it takes, or half of them |
| `place.py` | new VMs beside others, and the fewest hosts |
| `drop.py` | without a place: the smallest set of rules and VMs to drop |
| `exact.py` | places as integer programmes |
| `lacking.py` | what a VM that cannot restart is short of, in words |
| `quiet.py` | keeps the solver from writing where results go |
| `policies.py` | named policies: rules and resources that they add, with their sources |
| `verdict.py` | whether a cluster survives host failures: the one answer |
| `survive.py` | what a place survives: certificates, what limits |
| `fixes.py` | changes that make a plan possible, each checked |
"""
