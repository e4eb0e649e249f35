"""Calibration: a scenario's parameters, fitted to what was measured.

`measurements.py` reads points from CSV and `io_points.py` from results of storage benchmarks, `parameters.py` says what
`--free` means, `least_squares.py` fits a noisy function and has never heard of a scenario, `calibrate.py` fits the
twin, `file.py` is what other commands take.
"""
