"""Model error: 80% intervals around figures of the twin, from the errors of the evidence.

The core finds the kind and area of a figure, and its interval. This package calculates the intervals by area and kind.

| file | purpose |
|---|---|
| `kinds.py` | names of areas and kinds; the scale of errors |
| `evidence.py` | errors of published figures that set nothing: `model_error.csv` beside the studies |
| `interval.py` | the interval of an area and a kind, as a prediction for a new source |
| `own.py` | errors of the user's own system, which narrow its intervals |
| `carried.py` | intervals of the figures of a simulated point, by the core |
| `coverage.py` | coverage of the intervals if each source is left out in turn |
"""
