"""Model error: 80% intervals around figures of the twin, from the errors of the evidence.

| file | purpose |
|---|---|
| `kinds.py` | the kind of a figure, from its path in a report; the scale of its error |
| `evidence.py` | errors of published figures that set nothing: `model_error.csv` beside the studies |
| `interval.py` | the interval of an area and a kind, as a prediction for a new source |
| `own.py` | errors of the user's own system, which narrow its intervals |
| `topology.py` | storage and pace of the groups of a scenario |
| `carried.py` | intervals of the figures of a simulated point |
| `coverage.py` | coverage of the intervals if each source is left out in turn |
"""
