"""Limits of groups, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NOTHING_FULL = ("nothing", "latency")
"""Kinds of limits without an exhausted resource."""


def limiting(report: Mapping[str, Any], group: str) -> str:
    """Return the limit of a group in a report, as a sentence without a full stop.

    The text is empty if nothing is saturated.
    """
    limit = report["judgement"]["limits"][group]
    return "" if limit["kind"] in NOTHING_FULL else str(limit["text"])
