"""Path policies of LUNs with several paths, in words of `arrays.NAME.paths`.

Imports create no arrays, so an inventory only names the policies. Sources: vSphere Web Services API,
HostMultipathInfoLogicalUnitPolicy; multipath.conf(5), `path_selector`. The policy of a LUN with one path, such as a
local drive, has no effect.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from hypertwin.ingest import outside
from hypertwin.ingest.import_notes import ImportNotes

POLICIES = {"VMW_PSP_RR": "round-robin", "VMW_PSP_FIXED": "fixed", "VMW_PSP_MRU": "most-recently-used"}
"""Policies of `arrays.NAME.paths` by their names in vSphere. Those of Linux have the same names, or none."""
MAX_POLICIES = 4
"""Maximum number of policies in the assumption."""

_MAP = re.compile(r"(?:(\S{1,256}) \(\S{1,256}\)|(\S{1,256})) dm-[0-9]{1,6}\b", re.ASCII)
_GROUP = re.compile(r"[|` -]{1,8}\+- policy='([a-z-]{1,40})[ ']", re.ASCII)
_PATH = re.compile(r"[|` -]{1,8} [0-9#]{1,5}:[0-9#]{1,5}:[0-9#]{1,5}:[0-9#]{1,20} ", re.ASCII)


def note(luns: Iterable[tuple[str, str, int]], notes: ImportNotes) -> None:
    """Note the number of LUNs by policy, from the name, policy and number of paths of each, if any has several paths.

    A LUN of several hosts counts once for each policy.
    """
    policies = {(lun, policy): paths for lun, policy, paths in luns if lun and policy and paths > 1}
    if not policies:
        return
    counts = Counter(outside.name(POLICIES.get(policy.upper(), policy))[:40] for _, policy in policies)
    shown = ", ".join(f"{count} {policy}" for policy, count in counts.most_common(MAX_POLICIES))
    least, most = min(policies.values()), max(policies.values())
    paths = f"{least} to {most}" if most > least else str(most)
    text = f"{shown} ({paths} paths each): not imported; set arrays.NAME.paths.policy and per_lun"
    notes.assumed(text, "path policies of LUNs")


def multipath(text: str) -> Iterable[tuple[str, str, int]]:
    """Yield name, policy and number of paths of each LUN in the output of `multipath -ll`.

    A LUN has the policy of its first group. Its other groups take over if the first group fails.
    """
    lun, policy, paths = "", "", 0
    for line in text.splitlines():
        if found := _MAP.match(line):
            yield lun, policy, paths
            lun, policy, paths = found[1] or found[2], "", 0
        elif group := _GROUP.match(line):
            policy = policy or group[1]
        elif _PATH.match(line):
            paths += 1
    yield lun, policy, paths
