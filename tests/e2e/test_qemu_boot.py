"""A Linux guest, booted with the arguments that `hypertwin size --snippet qemu` prints, sees the promised nodes."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import needs

from hypertwin.lab import guest

pytestmark = pytest.mark.slow

KERNEL = Path(sys.prefix) / "guest" / "vmlinuz"
BUSYBOX = Path("/bin/busybox")

INIT = """#!/bin/busybox sh
/bin/busybox mount -t sysfs none /sys
cd /sys/devices/system/node
for node in node[0-9]*; do
  echo "SEEN $node cpulist $(/bin/busybox cat $node/cpulist)"
  echo "SEEN $node distance $(/bin/busybox cat $node/distance)"
  echo "SEEN $node memory $(/bin/busybox grep MemTotal: $node/meminfo)"
done
/bin/busybox poweroff -f
"""
"""The guest's only process: it prints what it sees of NUMA and powers off."""

# one thread for all vCPUs: spin locks of many vCPUs on few cores burn the time otherwise
MACHINE = "-nodefaults -display none -serial stdio -no-reboot -accel tcg,thread=single -cpu qemu64"
CMDLINE = (
    "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check tsc=reliable nowatchdog lpj=4000000 cryptomgr.notests"
)


@pytest.fixture
def initramfs(tmp_path: Path) -> Path:
    """A file system with busybox and INIT."""
    needs("qemu-system-x86_64", BUSYBOX, KERNEL)
    file = tmp_path / "initramfs"
    guest.initramfs(BUSYBOX, INIT, file)
    return file


@pytest.mark.parametrize(
    ("options", "cpulists", "memory_mib"),
    [
        # wider than a node: two nodes of twelve
        ("--host 2x12 --vcpus 23 --memory 2GiB --hypervisor linux-6.12", ["0-11", "12-23"], 1024),
        # three of a host's four nodes, for an ESXi host: its text for QEMU describes the same machine
        ("--host 4x2 --vcpus 6 --memory 768MiB --hypervisor esxi-7.0", ["0-1", "2-3", "4-5"], 256),
    ],
)
def test_the_guest_sees_the_promised_nodes(cli, initramfs, options, cpulists, memory_mib):
    arguments = ["size", *options.split()]
    promised = json.loads(cli(*arguments, "--format", "json").stdout)["advice"]["vpds"]
    printed = shlex.split(cli(*arguments, "--snippet", "qemu").stdout)
    command = ["qemu-system-x86_64", *MACHINE.split(), "-kernel", KERNEL, "-initrd", initramfs, "-append", CMDLINE]
    booted = subprocess.run(
        [*command, *printed], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False
    )
    seen = [line.split(maxsplit=2) for line in booted.stdout.splitlines() if line.startswith("SEEN ")]
    assert seen, booted.stdout + booted.stderr
    lists = [value.split()[1] for _, _, value in seen if value.startswith("cpulist")]
    assert lists == cpulists
    assert [len(_numbers(text)) for text in lists] == promised
    distances = [list(map(int, value.split()[1:])) for _, _, value in seen if value.startswith("distance")]
    assert distances == [[10 if a == b else 20 for b in range(len(lists))] for a in range(len(lists))]
    totals = [int(value.split()[-2]) / 1024 for _, _, value in seen if value.startswith("memory")]
    # the kernel keeps a part to itself, the first node's the most
    assert all(0.75 * memory_mib < total <= memory_mib for total in totals), totals
    assert len(totals) == len(lists)


def _numbers(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)
