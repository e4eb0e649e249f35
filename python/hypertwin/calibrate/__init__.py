"""Calibration: parameters of the models, measured on a real machine."""
