"""Calibration of a scenario: parameters are fitted to measurements.

`measurements.py` reads points from CSV, and `io_points.py` from results of storage benchmarks. `parameters.py` parses
`--free`. `least_squares.py` fits a noisy function, without any knowledge of scenarios. `calibrate.py` fits the twin.
`file.py` writes files for other commands.
"""
