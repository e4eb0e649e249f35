"""Measurements on this machine: what its parts cost, and experiments that the twin has predicted before."""
