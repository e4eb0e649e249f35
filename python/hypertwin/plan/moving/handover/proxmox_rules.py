"""Placement rules of the source for Proxmox VE: for its HA manager, or as tags for ProxLB.

Rules of the HA manager are those of Proxmox VE 9 (`ha-manager.adoc` of proxmox/pve-docs at e5010dce). Resource affinity
is always strict, and a VM has at most one rule of node affinity. Before version 9 there are groups of nodes only.

Tags are those of the README of gyptazy/ProxLB at 01c5ee06, which advises against using both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypertwin.documents.move import MovedVm
from hypertwin.members import Rule
from hypertwin.plan.moving.handover import shell

_AFFINITY = {"keep-together": "positive", "keep-apart": "negative"}
_TAGS = {"keep-together": "plb_affinity", "keep-apart": "plb_anti_affinity"}

_LOCATE = """
locate() { # name on the target: prints node and number of the VM
  pvesh get /cluster/resources --type vm --output-format json | python3 -c '
import json, sys
found = [each for each in json.load(sys.stdin) if each.get("name") == sys.argv[1]]
if len(found) != 1:
    sys.exit(f"{len(found)} VMs with the name {sys.argv[1]}: add it by hand")
print(found[0]["node"], found[0]["vmid"])
' "$1"
}
"""
_RESOURCE = """
resource() { # name on the target: prints vm:NUMBER, and hands the VM to the HA manager
  at=$(locate "$1") || exit 1
  ha-manager add "vm:${at#* }" --state "$2" >&2 || true # it fails for a VM that the HA manager already has
  echo "vm:${at#* }"
}
"""
_TAG = """
tag() { # name on the target, tag: adds it to the tags of the VM
  at=$(locate "$1") || exit 1
  config="/nodes/${at% *}/qemu/${at#* }/config"
  old=$(pvesh get "$config" --output-format json | python3 -c '
import json, sys
print(json.load(sys.stdin).get("tags", ""))
')
  pvesh set "$config" --tags "${old:+$old;}$2"
}
"""


def texts(rules: Sequence[Rule], vms: Mapping[str, MovedVm]) -> dict[str, str]:
    """Return the texts by file name, or nothing without a rule. `vms` has all VMs that move, by name."""
    kept = [(rule, [vms[name] for name in rule.vms if name in vms]) for rule in rules]
    wanted = [(rule, members) for rule, members in kept if len(members) > (rule.kind in _AFFINITY)]
    if not wanted:
        return {}
    hosts = sorted({host for rule, _ in wanted for host in rule.hosts})
    nodes = shell.table("node", "node of the target for a host of the source", shell.numbered(tuple(hosts), "NODE"))
    begin = f"{shell.HEAD}# Run it after the last wave, either this text or the other. "
    common = f"{shell.STRICT}\n{nodes}{_LOCATE}"
    ha = (
        "For the HA manager of Proxmox VE 9.\n"
        "# A should rule of affinity between VMs becomes strict. The HA manager starts VMs that run in the source.\n"
        "# Before version 9 there are no rules between VMs, and groups bind VMs to nodes: ha-manager groupadd."
    )
    proxlb = "Tags for ProxLB.\n# A rule that bans hosts has none."
    return {
        "rules-ha.sh": "".join(
            (
                f"{begin}{ha}\n{common}{_RESOURCE}\n",
                *(_ha(number, *each) for number, each in enumerate(wanted, 1)),
            )
        ),
        "rules-proxlb.sh": "".join(
            (
                f"{begin}{proxlb}\n{common}{_TAG}\n",
                *(_proxlb(number, *each) for number, each in enumerate(wanted, 1)),
            )
        ),
    }


def _name(vm: MovedVm) -> str:
    return str(vm["becomes"].get("name") or vm["label"])


def _ha(number: int, rule: Rule, vms: Sequence[MovedVm]) -> str:
    """Return the lines of a rule. A rule that bans hosts needs the other nodes."""
    lines = ["resources=\n"]
    for vm in vms:
        state = "started" if vm["power"] == "on" else "stopped"
        lines.append(f'one=$(resource {shell.words(_name(vm), state)}); resources="$resources${{resources:+,}}$one"\n')
    comment = f"--comment {shell.word(rule.name)}"
    if rule.kind in _AFFINITY:
        lines.append(
            f"ha-manager rules add resource-affinity move-{number} --affinity {_AFFINITY[rule.kind]} "
            f'--resources "$resources" {comment}\n\n'
        )
        return "".join(lines)
    if rule.kind == "run-on":
        lines.append("nodes=\n")
        lines += [f'one=$(node {shell.word(host)}); nodes="$nodes${{nodes:+,}}$one"\n' for host in rule.hosts]
    else:
        lines.append(f"nodes=NODES-ALLOWED-{number} # all nodes but those of the banned hosts, with commas\n")
    strict = "--strict 1 " if rule.mandatory else ""
    of = '--resources "$resources" --nodes "$nodes"'
    lines.append(f"ha-manager rules add node-affinity move-{number} {of} {strict}{comment}\n\n")
    return "".join(lines)


def _proxlb(number: int, rule: Rule, vms: Sequence[MovedVm]) -> str:
    if rule.kind in _TAGS:
        return "".join(f"tag {shell.words(_name(vm), f'{_TAGS[rule.kind]}_move{number}')}\n" for vm in vms) + "\n"
    if rule.kind == "run-on":
        pairs = [(shell.word(_name(vm)), shell.word(host)) for vm in vms for host in rule.hosts]
        return "".join([*(f'one=$(node {host}); tag {vm} "plb_pin_$one"\n' for vm, host in pairs), "\n"])
    return ""
