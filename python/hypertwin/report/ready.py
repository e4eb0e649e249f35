"""Ready time in words, always both ways: its unit is what is got wrong most.

vCenter gives milliseconds summed over the vCPUs in an interval, esxtop per cent summed over the vCPUs, and bands are of
one vCPU. So it is never written without all three: the sum, the share per vCPU, and the interval. Conversion: VMware KB
2002181, "Converting between CPU summation and CPU % ready values".
"""

from __future__ import annotations


def words(sum_pct: float, vcpus: int, interval_s: float | None, state: str = "ready") -> str:
    """`ready 28 % summed over 4 vCPUs = 7 % per vCPU (1,400 ms per vCPU of each 20 s)`, or co-stop, or swap wait.

    `sum_pct` is summed over the vCPUs; without an interval the milliseconds are left out.
    """
    each = sum_pct / vcpus
    summed = f"{state} {percent(sum_pct)} summed over {vcpus} vCPU{'s' if vcpus != 1 else ''}"
    per_vcpu = f"{summed} = {percent(each)} per vCPU"
    if not interval_s:
        return f"{per_vcpu} (interval not known)"
    return f"{per_vcpu} ({each * interval_s * 10:,.0f} ms per vCPU of each {interval_s:g} s)"


def percent(value: float) -> str:
    """A percentage with as many digits as it is worth: `0.25 %`, `7.3 %`, `28 %`."""
    digits = 0 if abs(value) >= 9.95 else 1 if abs(value) >= 0.95 else 2
    return f"{value:.{digits}f} %".replace(".00 %", " %").replace(".0 %", " %")
