"""Memory overhead of VMs on ESXi, which power-on reserves in addition to the VM memory.

Source: "Overhead Memory on Virtual Machines", vSphere 6.5 Resource Management. The overhead is assumed linear in memory
and vCPUs
between the cells, beyond them, and for other versions. Linux publishes no such table.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

MIB = 2**20

MEMORY_MIB = (256, 1024, 4096, 16384)
VCPUS = (1, 2, 4, 8)
TABLE_MIB = (
    (20.29, 24.28, 32.23, 48.16),
    (25.90, 29.91, 37.86, 53.82),
    (48.64, 52.72, None, 76.78),
    (139.62, 143.98, None, 168.60),
)
"""Memory overhead in MiB by VM memory and vCPUs, or None for a missing cell."""


def overhead_bytes(vcpus: int, memory_bytes: int) -> float:
    """Return the memory overhead of a VM of this size on ESXi, in bytes."""
    sizes, cells = [], []
    for size, row in zip(MEMORY_MIB, TABLE_MIB, strict=True):
        known = [(wide, cell) for wide, cell in zip(VCPUS, row, strict=True) if cell is not None]
        sizes.append(float(size))
        cells.append(_linear([wide for wide, _ in known], [cell for _, cell in known], vcpus))
    return max(_linear(sizes, cells, memory_bytes / MIB), 0.0) * MIB


def _linear(places: Sequence[float], values: Sequence[float], at: float) -> float:
    """Return the linear interpolation at `at` between its neighbours, or an extrapolation from the last two places."""
    right = min(max(bisect_right(places, at), 1), len(places) - 1)
    part = (at - places[right - 1]) / (places[right] - places[right - 1])
    return values[right - 1] + part * (values[right] - values[right - 1])
