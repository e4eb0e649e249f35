"""Names of VMs on each target.

Sources: `ESXiPlugin.pm` of proxmox/pve-storage at 0c56bad8, and `ChangeVmName` of kubev2v/forklift at d42511bb
(`pkg/controller/plan/util/utils.go`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from hypertwin.plan.moving.target import Target

MAX_LABEL = 63
"""Maximum characters of a name in OpenShift (RFC 1123)."""
_RFC_1123 = re.compile(r"(?:(?:[A-Za-z0-9][-A-Za-z0-9.]*)?[A-Za-z0-9])?\Z", re.ASCII)


def proxmox(name: str) -> str:
    """Return the name that the importer gives, or an empty string if nothing is left, so that it gives none."""
    kept = re.sub(r"[^a-zA-Z0-9.-]", "", re.sub(r"\s", "-", name))
    return kept.strip(".-")


def openshift(name: str) -> str:
    """Return the name that Forklift gives, or an empty string if nothing is left, so that it makes one up."""
    labels = []
    for part in name.lower().strip(".-").split("."):
        plain = re.sub(r"[^a-z0-9-]", "", re.sub(r"[_+* /\\]", "-", part))
        label = "-".join(word for word in plain.split("-") if word)[:MAX_LABEL].strip("-")
        if label:
            labels.append(label)
    return ".".join(labels)[:MAX_LABEL].strip(".-")


def is_valid_for_openshift(name: str) -> bool:
    """True if Forklift's check accepts the name: a DNS name of less than 64 characters."""
    return _RFC_1123.match(name) is not None and len(name) <= MAX_LABEL


def _same(name: str) -> str:
    return name


_RULES: Mapping[Target, Callable[[str], str]] = {
    "proxmox": proxmox,
    "openshift": openshift,
    "kvm": _same,
    "hyperv": _same,
    "ahv": _same,
}


def on(target: Target, name: str) -> str:
    """Return the name of a VM on a target, or an empty string if its name has no valid character."""
    return _RULES[target](name)
