"""The class of a published figure: what limits the case, and which way the figure goes against another one.

A class is words joined by `; `, at most one of each kind, such as `host-cpu; falls`. A source often says it where it
gives no number, and it catches a twin that has the number right for the wrong reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

RATIO = "ratio"
"""The unit of a figure that is one over another."""

LIMITS: Mapping[str, str] = {
    "host-cpu": "the cores of the host are busy and worlds wait for them",
    "guest-cpu": "the VM's vCPUs are busy while the host has room",
    "cpu-limit": "a limit on the VM's CPU",
    "memory": "the bandwidth or the size of memory",
    "controller": "a virtual storage controller, its world or its thread",
    "fabric": "ports of adapters or arrays",
    "devices": "the disks of an array or pool",
    "storage-cpu": "the processors of an array or of a pool's nodes",
    "network": "the network of a pool, or of VMs",
    "client": "the load generator, or how many requests it has under way",
    "latency": "nothing is full: a closed loop of round trips",
    "nothing": "load comes at a pace and room is left; or a rule gives the figure, without load",
}
"""What limits a case."""

DIRECTIONS: Mapping[str, str] = {
    "rises": "more than 5 % above",
    "falls": "more than 5 % below",
    "flat": "within 5 %",
}
"""Which way a figure goes against that of another case, or a ratio against 1. A cliff falls where the load grew."""


@dataclass(frozen=True)
class Class:
    """What limits a case and which way a figure goes; None for what is not said."""

    limit: str | None = None
    direction: str | None = None

    def __bool__(self) -> bool:
        """Whether it says anything."""
        return bool(self.limit or self.direction)

    def __str__(self) -> str:
        """As a table has it."""
        return "; ".join(word for word in (self.limit, self.direction) if word)


def class_of(text: str) -> Class:
    """The class that a text names. Raises ValueError, which says what is wrong and what is allowed."""
    found: dict[str, str] = {}
    for word in (word.strip() for word in text.split(";")) if text else ():
        kind = "limit" if word in LIMITS else "direction" if word in DIRECTIONS else None
        if kind is None:
            raise ValueError(f"{word[:40]!r} is no class; allowed: {', '.join((*LIMITS, *DIRECTIONS))}")
        if kind in found:
            raise ValueError(f"{found[kind]} and {word} are two of a kind; allowed: one limit and one direction")
        found[kind] = word
    return Class(**found)
