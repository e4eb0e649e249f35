"""Refusal of a request."""

from __future__ import annotations


class RefusedError(Exception):
    """Raised for a request that is not allowed or not possible, with the status of the answer and the reason."""

    def __init__(self, status: int, reason: str) -> None:
        """Store status and reason."""
        super().__init__(reason)
        self.status, self.reason = status, reason
