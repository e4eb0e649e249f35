"""The answers of Proxmox VE about Ceph, as its API returns them: PVE/API2/Ceph and PVE/API2/Cluster/Ceph.pm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

TB = 10**12
MAP = """# begin crush map
tunable choose_total_tries 50

# rules
rule replicated_rule {
\tid 0
\ttype replicated
\tstep take default
\tstep chooseleaf firstn 0 type host
\tstep emit
}
rule fast {
\tid 1
\ttype replicated
\tstep take default class nvme
\tstep chooseleaf firstn 0 type host
\tstep emit
}
rule slow {
\tid 2
\ttype erasure
\tstep set_chooseleaf_tries 5
\tstep take default class hdd
\tstep chooseleaf indep 0 type osd
\tstep emit
}

# end crush map
"""
FLAGS_ON = "sortbitwise,recovery_deletes,purged_snapdirs,pglog_hardlimit"
"""Flags that every cluster has."""


@dataclass(frozen=True)
class Osd:
    """An OSD."""

    node: str
    size: int = 1_920_383_410_176
    device_class: str = "nvme"
    up: bool = True
    out: bool = False
    model: str = "SAMSUNG_MZ-PM9A3"
    disk: str = "nvme0n1"
    db: str | None = None


def answers(
    osds: Sequence[Osd],
    pools: Sequence[dict[str, Any]],
    storages: Sequence[dict[str, Any]],
    *,
    flags: Sequence[str] = (),
    health: str = "HEALTH_OK",
) -> dict[str, Any]:
    """Each answer by its path; every node answers for the cluster."""
    nodes = sorted({osd.node for osd in osds})
    found: dict[str, Any] = {
        "/storage": [
            {"storage": "local", "type": "dir", "content": "iso,backup", "path": "/var/lib/vz", "digest": "a1"},
            *({"type": "rbd", "content": "images,rootdir", "digest": "a1", **each} for each in storages),
        ],
        "/cluster/ceph/flags": [
            {"name": name, "value": int(name in flags), "description": "..."} for name in ("noout", "pause", "noscrub")
        ],
        "/cluster/ceph/status": {
            "fsid": "2f0e8a1c-0000-4000-8000-000000000001",
            "health": {"status": health, "checks": {} if health == "HEALTH_OK" else {"OSD_DOWN": {}}},
            "osdmap": {"num_osds": len(osds)},
        },
        "/cluster/ceph/metadata": {
            "osd": [
                {
                    "id": number,
                    "hostname": osd.node,
                    "devices": osd.disk,
                    "device_ids": f"{osd.disk}={osd.model}_S64GNE0R{number:06}",
                    "osd_objectstore": "bluestore",
                    "ceph_version_short": "19.2.1",
                }
                for number, osd in enumerate(osds)
            ]
        },
    }
    for node in nodes:
        found[f"/nodes/{node}/ceph/osd"] = tree(osds, flags)
        found[f"/nodes/{node}/ceph/pool"] = list(pools)
        found[f"/nodes/{node}/ceph/crush"] = MAP
    return found


def tree(osds: Sequence[Osd], flags: Sequence[str] = ()) -> dict[str, Any]:
    """The tree of OSDs of one CRUSH root."""
    hosts = []
    for at, node in enumerate(sorted({osd.node for osd in osds})):
        leaves = [_leaf(number, osd) for number, osd in enumerate(osds) if osd.node == node]
        hosts.append(
            {"id": -3 - 2 * at, "name": node, "type": "host", "leaf": 0, "children": leaves, "version": "19.2.1"}
        )
    root = {"id": -1, "name": "default", "type": "root", "leaf": 0, "children": hosts}
    return {"flags": ",".join([*flags, FLAGS_ON]), "root": {"leaf": 0, "children": [root]}}


def _leaf(number: int, osd: Osd) -> dict[str, Any]:
    return {
        **{"id": number, "name": f"osd.{number}", "type": "osd", "host": osd.node, "leaf": 1, "pgs": 97},
        **{"status": "up" if osd.up else "down", "in": 0 if osd.out else 1, "reweight": 0 if osd.out else 1},
        **{"crush_weight": osd.size / 2**40, "device_class": osd.device_class, "osdtype": "bluestore"},
        **{"total_space": osd.size, "bytes_used": osd.size // 5, "percent_used": 20.0},
        **{"commit_latency_ms": 1, "apply_latency_ms": 1, "blfsdev": "/dev/dm-0", "dbdev": osd.db, "waldev": None},
        **{"ceph_version": "ceph version 19.2.1", "ceph_version_short": "19.2.1"},
    }


def pool(
    name: str, used: int, size: int = 3, least: int = 2, rule: str = "replicated_rule", **fields: Any
) -> dict[str, Any]:
    """A replicated pool for block devices; `used` in bytes, with copies."""
    return {
        **{"pool": 2, "pool_name": name, "size": size, "min_size": least, "pg_num": 256, "type": "replicated"},
        **{"crush_rule": 0, "crush_rule_name": rule, "bytes_used": used, "percent_used": 0.2},
        **{"pg_autoscale_mode": "on", "application_metadata": {"rbd": {}}},
        "autoscale_status": {"pool_name": name, "raw_used_rate": float(size), "logical_used": used / size},
        **fields,
    }


def coded(name: str, used: int, data: int, parity: int, rule: str = "slow", **fields: Any) -> dict[str, Any]:
    """An erasure-coded pool; `used` in bytes, with parity."""
    size = data + parity
    status = {"pool_name": name, "raw_used_rate": size / data}
    least = data + min(1, parity - 1)
    return pool(name, used, size, least, rule, **{"type": "erasure", "autoscale_status": status, **fields})
