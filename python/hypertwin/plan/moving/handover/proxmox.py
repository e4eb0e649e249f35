"""Imports of each wave into Proxmox VE: the import itself, adapters, and settings that are better than the importer's.

`qm import` reads a guest of an ESXi storage and creates the VM. Its further options replace what the importer made
(`vm_import` in `src/PVE/CLI/qm.pm` of proxmox/qemu-server at e6352be6). It sets model and MAC of adapters, but no
bridge (`ESXiPlugin.pm` of proxmox/pve-storage at 0c56bad8). The text therefore reads the MAC back, and sets both.

An ESXi storage is one host or a vCenter, which is 5 to 10 times slower (`qm.adoc` of proxmox/pve-docs at e5010dce). It
lists guests by name. Its plugin needs Python on the node, and so does the text.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypertwin.documents.move import MovedVm, Wave
from hypertwin.plan.moving.handover import shell

SETTABLE = ("scsihw", "cpu", "numa", "sockets", "cores", "balloon", "cpuunits", "cpulimit")
"""Settings that `qm set` changes after the import, in order. Disks keep what the importer made."""

AT_IMPORT = ("efidisk0", "tpmstate0")
"""Settings with a new disk, which the import creates."""

MAX_TAG = 4094

_FUNCTIONS = r"""
import_vm() { # ESXi host, name in the source, further options; sets id
  storage=$(esxi "$1")
  guests=$(pvesh get "/nodes/$(hostname)/storage/$storage/content" --content import --output-format json)
  from=$(printf '%s' "$guests" | python3 -c '
import json, sys
found = [each["volid"] for each in json.load(sys.stdin) if each.get("name") == sys.argv[1]]
if len(found) != 1:
    sys.exit(f"{len(found)} guests with the name {sys.argv[1]}: import this VM by hand")
print(found[0])
' "$2")
  id=$(pvesh get /cluster/nextid)
  shift 2
  qm import "$id" "$from" --storage "$STORAGE" "$@"
}

nic() { # VM, number, model, network: keeps the MAC
  to=$(net "$4")
  hex='[0-9A-Fa-f][0-9A-Fa-f]'
  mac=$(qm config "$1" | sed -n "s/^net$2: .*\(\($hex:\)\{5\}$hex\).*/\1/p")
  qm set "$1" "--net$2" "$3${mac:+=$mac},$to"
}
"""


def text(wave: Wave, vms: Sequence[MovedVm]) -> str:
    """Return the shell text of a wave."""
    hosts = shell.numbered(tuple(sorted({vm["host"] for vm in vms})), "ESXI-STORAGE")
    tags: dict[str, int | None] = {}
    for vm in vms:
        for nic in vm["networks"]:
            if nic["network"]:
                tags[nic["network"]] = tags.get(nic["network"]) or nic["vlan"]
    nets = {
        name: f"bridge=BRIDGE-{number}{f',tag={tag}' if 0 < (tag or 0) <= MAX_TAG else ''}"
        for number, (name, tag) in enumerate(sorted(tags.items()), 1)
    }
    about = "import storage of an ESXi host: pvesm add esxi NAME --server HOST --username USER --password PASSWORD"
    return "".join(
        (
            f"{shell.HEAD}# Wave {wave['number']}. Replace the words in capital letters.\n",
            "# Run it as root on the node that gets the VMs. They must be off in the source.\n",
            "# With --live-import 1 a VM starts while its disks are copied. If that fails, new data are lost.\n",
            f"{shell.STRICT}\nSTORAGE=TARGET-STORAGE\n",
            shell.table("esxi", about, hosts),
            shell.table("net", "bridge and VLAN of a network of the source", nets),
            f"{_FUNCTIONS}\n",
            *map(_vm, vms),
        )
    )


def _vm(vm: MovedVm) -> str:
    """Return the lines of a VM."""
    best = dict(vm["best"])
    if str(vm["becomes"].get("ostype", "")).startswith("w"):  # Windows does not start from it without its driver
        best.pop("scsihw", None)
    disks = "".join(f' --{key} "$STORAGE":{shell.word(f"1,{best[key]}")}' for key in AT_IMPORT if key in best)
    lines = [f"import_vm {shell.words(vm['host'], vm['label'])}{disks}\n"]
    settings = " ".join(f"--{key} {shell.word(best[key])}" for key in SETTABLE if key in best)
    lines += [f'qm set "$id" {settings}\n'] if settings else []
    for number, nic in enumerate(vm["networks"]):
        if nic["network"]:
            model = str(best.get(f"net{number}") or vm["becomes"].get(f"net{number}") or "virtio").partition(",")[0]
            lines.append(f'nic "$id" {number} {shell.words(model, nic["network"])}\n')
    return "".join([*lines, "\n"])
