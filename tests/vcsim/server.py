"""The simulated vCenter Server of `main.go`, started with a world of hosts, VMs and counters."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

BINARY = ROOT / ".venv" / "vcsim" / "vcsim"
USER = "auditor@vsphere.local"
PASSWORD = "s3cr3t-Pa55 ü<&>"


@dataclass(frozen=True)
class Server:
    """A running server: its port, and the file with its certificate."""

    port: int
    certificate: Path

    def address(self, path: str = "", query: str = "", *, trusted: bool = True) -> str:
        """Its address; its certificate is trusted unless told otherwise."""
        options = "&".join(filter(None, [f"ca={self.certificate}" if trusted else "", query]))
        return f"vcenter://{USER}@127.0.0.1:{self.port}{path}" + (f"?{options}" if options else "")


@contextmanager
def served(folder: Path, world: Mapping[str, Any]) -> Iterator[Server]:
    """A server of this world, until the end of the block."""
    file = folder / "world.json"
    settings = {"User": USER, "Password": PASSWORD, "APIVersion": "8.0.2.0", "Clusters": 1, "Interval": 20}
    file.write_text(json.dumps(settings | dict(world)))
    with subprocess.Popen([BINARY, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        port, certificate = process.stdout.readline().split()
        yield Server(int(port), Path(certificate))
        process.stdin.close()


def host(name: str, **changes: Any) -> dict[str, Any]:
    """A host with two sockets of twelve cores."""
    return {
        **{"Name": name, "Model": "Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz", "State": "connected"},
        **{"Product": "VMware ESXi 8.0.2 build-22380479", "Sockets": 2, "Cores": 12, "Threads": 2, "Nodes": 2},
        **{"Hz": 2_500_000_000, "Memory": 256 * 2**30, "UsageMHz": 30_000, "UsageMB": 65_536},
        **{"Threading": True, "Policy": "dynamic", "EVCMost": "intel-haswell"},
        **changes,
    }


def vm(name: str, on: int, **changes: Any) -> dict[str, Any]:
    """A VM of four vCPUs on the host of this number; -1 for none."""
    return {
        **{"Name": name, "Host": on, "Power": "poweredOn", "Connection": "connected", "Guest": "Debian GNU/Linux 12"},
        **{"VCPUs": 4, "CoresPerSocket": 1, "MemoryMB": 8192, "Limit": -1, "Level": "normal", "Shares": 4000},
        **{"Usage": 900, "Demand": 1000, "Ready": 1, "Consumed": 6_000, "Active": 2_000},
        **{"Committed": 10 * 2**30, "Uncommitted": 30 * 2**30},
        **changes,
    }


def disk(controller: str, bus: int, unit: int, gib: int) -> dict[str, Any]:
    """A virtual disk."""
    return {"Controller": controller, "Bus": bus, "Unit": unit, "Bytes": gib * 2**30}


def snapshot(day: str, mib: int) -> dict[str, Any]:
    """A snapshot with a disk of 1 GiB since then, and files of its own of this size."""
    return {"Made": f"{day}T00:00:00Z", "Disk": 2**30, "Data": 0, "Memory": mib * 2**20}


def rule(name: str, kind: str, vms: Sequence[str], hosts: Sequence[int] = (), **changes: Any) -> dict[str, Any]:
    """A placement rule of the first cluster."""
    return {"Name": name, "Kind": kind, "VMs": vms, "Hosts": hosts, **changes}
