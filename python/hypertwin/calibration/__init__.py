"""Calibration of a scenario: parameters are fitted to measurements.

`measurements.py` reads points from CSV, and `io_points.py` from results of storage benchmarks. `parameters.py` parses
`--free`. `least_squares.py` fits a noisy function, without any knowledge of scenarios. `calibrate.py` fits the twin.
`file.py` writes files for other commands.

numpy and scipy are imported only for a fit, because they would double the start-up time of every command.
"""
