"""Model error: 80% intervals around figures of the twin, from the errors of the evidence.

The core finds the kind and area of a figure, and its interval. This package calculates the intervals by area and kind.

An interval is a prediction for a new source. Each source has the same weight, because figures of one source share
their errors. The interval is from weighted percentiles, widened for few sources. A normal distribution would not fit,
because some sources are off by a factor of ten. The evidence page measures the coverage by leaving out whole sources.
No width is set by hand.

Intervals are added to a finished report, which stays in the cache as the core made it. New evidence therefore changes
intervals, but no point is simulated again. The core only adds, multiplies and divides, so a page has the same
intervals as the terminal.

| file | purpose |
|---|---|
| `kinds.py` | names of areas and kinds; the scale of errors |
| `evidence.py` | errors of published figures that set nothing: `model_error.csv` beside the studies |
| `interval.py` | the interval of an area and a kind, as a prediction for a new source |
| `own.py` | errors of the user's own system, which narrow its intervals |
| `carried.py` | intervals of the figures of a simulated point, by the core |
| `coverage.py` | coverage of the intervals if each source is left out in turn |
"""
