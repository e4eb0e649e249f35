"""VM that runs a load, or a host that is observed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

LOCAL = "local"
"""Address of the computer that runs the campaign."""


@dataclass(frozen=True)
class Target:
    """VM that runs the load."""

    name: str
    address: str
    """Name or address for ssh, `local`, or `libvirt:DOMAIN`."""
    port: int | None = None
    config: str | None = None
    """File with the SSH configuration, or None for the user's own."""
    folder: str = "/tmp"
    """Folder on the target, where the load has its files."""
    host: str | None = None
    """Observed host of the VM."""
    vm: str | None = None
    """Name of the VM in the telemetry of its host, or None if it is the name of the target."""
    hostname: str | None = None
    """Expected host name, or None for any."""
    cgroup: str | None = None
    """Control group of the VM on its host, as a path below /sys/fs/cgroup."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options of the load that differ on this target."""
    command: str | None = None
    """Command that observes an ESXi host, or None for esxtop."""
    collect: Sequence[str] = ()
    """Commands whose output is kept beside each step. Only of hosts."""


def excluded(target: Target, pattern: str) -> bool:
    """True if a pattern excludes a target, by its name, its address or the host in its address."""
    host = target.address.rpartition("@")[2]
    return any(fnmatchcase(each.lower(), pattern.lower()) for each in (target.name, target.address, host))
