"""virt-v2v command lines of each wave.

Options are those of `docs/virt-v2v.pod` of libguestfs/virt-v2v at 71376bdb: `--bridge IN:OUT` maps one network of the
source to a bridge. A name with a colon cannot be mapped, so the last `--bridge OUT` takes all other networks.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypertwin.documents.move import MovedVm, Wave
from hypertwin.plan.moving.handover import shell

_START = "virt-v2v -ic 'vpx://USER@VCENTER/DATACENTER/HOST?no_verify=1' -ip PASSWORD-FILE -o libvirt -os POOL"


def text(wave: Wave, vms: Sequence[MovedVm]) -> str:
    """Return the command lines. The guests must be off."""
    names = tuple(sorted({nic["network"] for vm in vms for nic in vm["networks"] if nic["network"]}))
    made = shell.numbered(tuple(name for name in names if ":" not in name), "BRIDGE")
    maps = "".join(f" --bridge {shell.word(name + ':' + new)}" for name, new in made.items())
    head = (
        f"{shell.HEAD}# Wave {wave['number']}. Replace the words in capital letters.\n{shell.STRICT}\n"
        f'v2v() {{ # name in vCenter\n  {_START}{maps} --bridge OTHER-BRIDGE -- "$1"\n}}\n\n'
    )
    return head + "".join(f"v2v {shell.word(vm['label'])}\n" for vm in vms)
