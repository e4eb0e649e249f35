"""Names in scenarios for a host's power management in the vSphere API and its clients.

`HostPowerPolicy.shortName` is `static`, `dynamic`, `low` or `custom` in every language. Its names in clients are High
Performance, Balanced, Low Power and Custom. `HostCpuPowerManagementInfo.currentPolicy` is such a name, or in old
versions `staticPolicy`, `dynamicPolicy` or `off`. If the firmware controls power management, clients show Not supported
or Not available.
"""

from __future__ import annotations

import re

_BY_WORD = {
    **dict.fromkeys(("static", "staticpolicy", "highperformance"), "high-performance"),
    **dict.fromkeys(("dynamic", "dynamicpolicy", "balanced"), "balanced"),
    **dict.fromkeys(("low", "lowpower"), "low-power"),
    "custom": "custom",
    "off": "not-managed",
}
_NONE = re.compile(r"not?(?:supported|available|applicable|managed)\Z")


def power_policy(short_name: str | None, name: str | None = None, support: str | None = None) -> str | None:
    """Return the active policy, or None if unknown.

    It follows from a policy's short name, its name and the processors' support.
    """
    words = [re.sub(r"[^a-z]", "", (said or "").lower()) for said in (short_name, name, support)]
    if any(_NONE.match(word) for word in words):
        return "not-managed"
    return next((_BY_WORD[word] for word in words[:2] if word in _BY_WORD), None)
