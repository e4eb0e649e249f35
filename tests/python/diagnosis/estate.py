"""An estate of four clusters as a scenario, with all that an export may say of it, and nothing wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypertwin import scenario
from hypertwin.diagnosis import Diagnosis, diagnose
from hypertwin.diagnosis.rule import Finding
from hypertwin.scenario import Scenario

AT = "2026-03-01"
CLUSTERS = ("finance", "management", "production", "test")
HOSTS = 4
VMS = 6
"""Of each host."""
PAIR = """
name: cluster
run: {duration: 4 s, warmup: 1 s, replications: 1}
hosts:
  esx1: &host {sockets: 2, cores_per_socket: 8, clock: 2.5 GHz, memory_per_node: 64 GiB, hypervisor: esxi-7.0}
  esx2: *host
vms:
  db: {vcpus: 8, memory: 32 GiB, workload: oltp, host: esx1}
  web: {vcpus: 4, memory: 16 GiB, workload: oltp, load: 0.2, host: esx2}
workloads:
  oltp: {arrivals: {closed: {population: 40, think: {mean: 20 ms}}}, cpu: {mean: 5 ms}}
"""
"""Two hosts of 16 cores and two VMs, with nothing measured."""


def estate(clusters: tuple[str, ...] = CLUSTERS) -> dict[str, Any]:
    """Keys of a scenario: hosts of 32 cores and 256 GiB, each with six VMs of 4 vCPUs and 16 GiB."""
    made: dict[str, Any] = {
        "name": "estate",
        "run": {"duration": "2 s", "warmup": "1 s", "replications": 1},
        "clusters": {},
        "hosts": {},
        "vms": {},
        "workloads": {
            "web": {"arrivals": {"closed": {"population": 4, "think": {"mean": "20 ms"}}}, "cpu": {"mean": "5 ms"}}
        },
        "datastores": {},
    }
    for cluster in clusters:
        made["clusters"][cluster] = {
            "label": f"Cluster {cluster}",
            "ha": {"enabled": True, "admission": True, "failures": 1},
            "evc": "intel-cascadelake",
        }
        made["datastores"][f"ds-{cluster}"] = {
            "clusters": [cluster],
            "kind": "VMFS",
            "capacity": "10 TiB",
            "free": "5 TiB",
            "provisioned": "9 TiB",
        }
        for number in range(1, HOSTS + 1):
            host = f"{cluster}-{number}"
            made["hosts"][host] = {
                "label": f"{host}.example.com",
                "cluster": cluster,
                "sockets": 2,
                "cores_per_socket": 16,
                "threads_per_core": 2,
                "hyper_threading_available": True,
                "clock": "2.1 GHz",
                "memory_per_node": "128 GiB",
                "hypervisor": "esxi-7.0",
                "power_policy": "high-performance",
                "cpu_model": "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz",
                "evc": "intel-cascadelake",
                "evc_most": "intel-cascadelake",
                "measured": {
                    "at": AT,
                    "cpu_usage_pct": 30,
                    "memory_usage_pct": 35,
                    "ballooned": "0 B",
                    "swapped": "0 B",
                },
            }
            for place in range(1, VMS + 1):
                made["vms"][f"{host}-vm{place}"] = {
                    "host": host,
                    "vcpus": 4,
                    "memory": "16 GiB",
                    "workload": "web",
                    "measured": {
                        "at": AT,
                        "cpu_mhz": 2_600,
                        "ready_pct": 0.5,
                        "memory_consumed": "12 GiB",
                        "ballooned": "0 B",
                        "swapped": "0 B",
                        "snapshot_count": 0,
                    },
                }
    return made


def load(change: Mapping[str, Any] | None = None, clusters: tuple[str, ...] = CLUSTERS) -> Scenario:
    """The estate, changed."""
    return scenario.load(estate(clusters), change or {})


def look(change: Mapping[str, Any] | None = None, clusters: tuple[str, ...] = CLUSTERS, **options: Any) -> Diagnosis:
    """The diagnosis of the changed estate, without what-ifs."""
    return diagnose(cluster=load(change, clusters), **{"simulate": False, **options})


def codes(found: Diagnosis) -> list[tuple[str, str, str]]:
    """Severity, code and name of all findings."""
    return [(each.severity, each.code, each.subject.name) for each in found.findings]


def only(found: Diagnosis, code: str) -> Finding:
    """The only finding of a code."""
    (finding,) = [each for each in found.findings if each.code == code]
    return finding
