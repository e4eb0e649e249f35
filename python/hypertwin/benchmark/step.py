"""Load of one measurement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Step:
    """Load of one measurement."""

    vms: int
    values: Mapping[str, int | float | str] = field(default_factory=dict)
    """Other keys of the load: threads, rate, depth, block ..."""

    @property
    def name(self) -> str:
        """`vms-2-threads-4`, which is unique in a plan and safe as the name of a folder."""
        words = [f"vms-{self.vms}", *(f"{key}-{value}" for key, value in self.values.items())]
        return re.sub(r"[^A-Za-z0-9_.-]", "_", "-".join(words))

    @property
    def title(self) -> str:
        """`2 VMs, threads 4`."""
        words = [f"{self.vms} VM{'' if self.vms == 1 else 's'}", *(f"{k} {v}" for k, v in self.values.items())]
        return ", ".join(words)

    def to_dict(self) -> dict[str, Any]:
        """Return the step as the plan writes it."""
        return {"vms": self.vms, **self.values}
