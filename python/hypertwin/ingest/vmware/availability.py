"""What vSphere says of restarts and balancing, by the names that scenarios have for it."""

from __future__ import annotations

PRIORITIES = ("highest", "high", "medium", "low", "lowest", "disabled")
"""Restart priorities of vSphere (`ClusterDasVmSettings.restartPriority`), as of scenarios."""


def restart_priority(own: str | None, of_cluster: str | None) -> str | None:
    """A VM's restart priority: its own, else that of its cluster; None where neither is known."""
    return next((each for each in (own, of_cluster) if each in PRIORITIES), None)


def threshold_of_rate(rate: int | None) -> int | None:
    """The migration threshold, 1 to 5 as the client shows it, of `vmotionRate`, which the API counts the other way."""
    return 6 - rate if rate is not None and 1 <= rate <= 5 else None
