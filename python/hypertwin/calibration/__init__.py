"""Calibration: a scenario's parameters, fitted to what was measured."""
