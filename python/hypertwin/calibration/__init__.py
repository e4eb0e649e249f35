"""Calibration: a scenario's parameters, fitted to what was measured.

`measurements.py` reads the points, `parameters.py` says what `--free` means, `least_squares.py` fits a noisy function
and has never heard of a scenario, `calibrate.py` fits the twin, `file.py` is what other commands take.
"""
