"""Replacement of hosts: the fewest hosts of each type that carry the demand, with costs, energy and speed.

| file | contents |
|---|---|
| `options.py` | options |
| `host_type.py` | host types to buy, each from a file |
| `present.py` | the present clusters, their demand and its growth |
| `speed.py` | speed of processors, from published results |
| `candidate.py` | scenario of a candidate |
| `fewest.py` | the fewest hosts of a scenario, with a bound |
| `planning.py` | the fewest hosts of a candidate, also at the ends of the speed of new processors |
| `judged.py` | simulation of present clusters and candidates |
| `energy.py` | power and energy |
| `expense.py` | costs |
| `described.py` | figures of clusters |
| `texts.py` | verdicts and notes |
| `request.py` | the request, parsed and checked, and its candidates |
| `sources.py` | origin of each number |
| `answer.py` | the entry point, and the document |
"""
