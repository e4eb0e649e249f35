"""Commands by symptom or question: `hypertwin help symptoms`, and docs/symptoms.md."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

SYMPTOMS: Mapping[str, Mapping[str, str]] = {
    "Slow today": {
        "A VM is slow, although its guest has CPU left": "hypertwin diagnose esxtop.csv --cluster cluster.yaml",
        "CPU ready (%RDY) or co-stop (%CSTP) is high": "hypertwin diagnose esxtop.csv",
        "Storage latency (DAVG, KAVG, await) is high": "hypertwin diagnose esxtop.csv",
        "VMs swap or balloon": "hypertwin diagnose esxtop.csv --cluster cluster.yaml",
        "I have a cluster file and no measurements": "hypertwin diagnose --cluster cluster.yaml",
        "Memory is slow since the VM has more vCPUs": (
            "hypertwin vnuma --hypervisor esxi-8.0 --sockets 2 --cores 12 --vcpus 16"
        ),
    },
    "Capacity and failover": {
        "How full is the cluster, and how many VMs can I add": "hypertwin capacity cluster.yaml --vm 4x16GiB",
        "Does the cluster tolerate a host failure": "hypertwin plan survive cluster.yaml",
        "How long are VMs down after a host failure": (
            "hypertwin simulate cluster.yaml --set 'failures=[{at: 60 s, fails: [esx-1]}]'"
        ),
        "Which VMs are oversized or powered off": "hypertwin capacity cluster.yaml --show reclaimable",
        "How many VMs until users complain": "hypertwin density cluster.yaml --vm web --slo 'response_ms.p99<200'",
    },
    "Moves and maintenance": {
        "A host is overloaded, or a DRS rule of the cluster file is violated": "hypertwin plan balance cluster.yaml",
        "I have to patch a host": "hypertwin plan evacuate cluster.yaml esx-2",
        "I have to patch every host": "hypertwin plan evacuate cluster.yaml --rolling",
        "Which hosts replace the old ones, and at what cost": (
            "hypertwin plan refresh cluster.yaml --host-type r760.yaml --prices prices.yaml"
        ),
        "We leave vSphere": "hypertwin plan move cluster.yaml --to proxmox --reuse-hosts",
        "Where do ten new VMs go": "hypertwin plan place cluster.yaml --vm '10*4x16GiB'",
    },
    "Design": {
        "How many vCPUs and sockets for a database VM": "hypertwin size --host 2x12 --memory 96GiB --vcpus 16",
        "What if the load doubles": "hypertwin simulate cluster.yaml --set 'vms.*.load=2'",
        "Which load is too much": "hypertwin simulate cluster.yaml --sweep vms.web.load=1..5",
        "Replicas or erasure coding, and how likely is data loss": "hypertwin durability --scheme 3 --scheme 17+3",
        "Did the change help": "hypertwin compare before.json after.json",
    },
    "Getting data in": {
        "I have an RVTools export": "hypertwin import RVTools_export_all.xlsx -o cluster.yaml",
        "I have a vCenter": "hypertwin import vcenter://reader@vcenter.example.com -o cluster.yaml",
        "I have a Proxmox VE cluster": "hypertwin import 'proxmox://auditor@pve!twin@pve1' -o cluster.yaml",
        "I have Nutanix clusters": "hypertwin import nutanix://auditor@pc.example.com -o cluster.yaml",
        "I have nothing yet": "hypertwin init --hypervisor kvm --hosts 3 --storage pool",
        "The twin's figures differ from my measurements": (
            "hypertwin calibrate cluster.yaml measured.csv --free workloads.oltp.cpu.mean"
        ),
        "We benchmark a new cluster before it goes live": "hypertwin benchmark run plan.yaml -o run/",
    },
}
"""Symptoms and questions with one command each, by section."""


def text(columns: int) -> str:
    """Return the text of `hypertwin help symptoms`."""
    lines = []
    for section, symptoms in SYMPTOMS.items():
        lines += [f"{section}:"]
        for symptom, command in symptoms.items():
            lines += [*textwrap.wrap(symptom, columns, initial_indent="  ", subsequent_indent="  "), f"      {command}"]
        lines += [""]
    return "".join(f"{line}\n" for line in lines[:-1])


def to_markdown() -> str:
    """Return the page docs/symptoms.md."""
    lines = [
        "# Symptom → command",
        "",
        "The tables have one command for each symptom or question. `hypertwin help symptoms` prints the same.",
        "`hypertwin import` or `hypertwin init` writes `cluster.yaml`, and `esxtop -b` records `esxtop.csv`. This page",
        "is generated from `hypertwin/cli/symptoms.py` by `make docs`.",
        "",
        "Response times of an imported cluster are only as good as its workloads. An import assumes the length of CPU",
        "bursts, and that I/O takes no time. Describe workloads, or calibrate, before you promise a response time.",
    ]
    for section, symptoms in SYMPTOMS.items():
        lines += ["", f"## {section}", "", "| symptom or question | command |", "|---|---|"]
        lines += [f"| {symptom} | `{command.replace('|', chr(92) + '|')}` |" for symptom, command in symptoms.items()]
    return "\n".join(lines) + "\n"
