"""Names of vSphere's HA and DRS settings in scenarios."""

from __future__ import annotations

PRIORITIES = ("highest", "high", "medium", "low", "lowest", "disabled")
"""Restart priorities of vSphere (`ClusterDasVmSettings.restartPriority`), with equal names in scenarios."""


def restart_priority(own: str | None, of_cluster: str | None) -> str | None:
    """Return a VM's restart priority: its own, otherwise that of its cluster, or None if both are unknown."""
    return next((each for each in (own, of_cluster) if each in PRIORITIES), None)


def threshold_of_rate(rate: int | None) -> int | None:
    """Return the migration threshold, 1 to 5 as in the client, from `vmotionRate`, which the API counts in reverse."""
    return 6 - rate if rate is not None and 1 <= rate <= 5 else None
