"""A real libvirtd with real guests: two that want the same CPU are each ready half of the time, and the table says so.

The daemon runs unprivileged in a folder of its own, and its guests are emulated: each is a boot sector that loops.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.conftest import needs, needs_module

from hypertwin.ingest import formats, sources

pytestmark = pytest.mark.slow

LIBVIRTD = Path("/usr/sbin/libvirtd")
NOBODY = 65534
MEMINFO = Path("/proc/meminfo")
CPU = max(os.sched_getaffinity(0))
ENDLESS_LOOP = (b"\xeb\xfe".ljust(510, b"\0") + b"\x55\xaa").ljust(2**20, b"\0")
"""A disk whose boot sector is `jmp $`."""
GUEST = """<domain type='qemu'><name>{name}</name><memory unit='MiB'>64</memory>
<vcpu placement='static' cpuset='{cpu}'>1</vcpu><os><type arch='x86_64'>hvm</type></os>
<devices><emulator>/usr/bin/qemu-system-x86_64</emulator>
<disk type='file' device='disk'><driver name='qemu' type='raw'/>
<source file='{disk}'/><target dev='vda' bus='virtio'/><readonly/><shareable/></disk></devices></domain>"""
NAMES = ("busy-1", "busy-2")


@pytest.fixture(scope="module")
def libvirtd() -> Iterator[Path]:
    """The folder of a daemon; it and its guests are gone afterwards."""
    needs(LIBVIRTD, "setpriv", "qemu-system-x86_64")
    needs_module("libvirt")
    folder = Path(tempfile.mkdtemp(prefix="libvirt-", dir="/tmp"))  # sockets have short paths
    settings = folder / "config" / "libvirt"
    settings.mkdir(parents=True)
    (settings / "qemu.conf").write_text('stdio_handler = "file"\nsecurity_driver = "none"\n')  # no virtlogd
    (settings / "libvirtd.conf").write_text(f'log_outputs="3:file:{folder}/log"\n')
    (folder / "disk").write_bytes(ENDLESS_LOOP)
    command = [str(LIBVIRTD), "--config", str(settings / "libvirtd.conf")]
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--pdeathsig=TERM", *command]
    places = {
        "HOME": "",
        "XDG_RUNTIME_DIR": "",
        "XDG_CONFIG_HOME": "config",
        "XDG_CACHE_HOME": "cache",
        "XDG_DATA_HOME": "data",
    }
    environment = {**os.environ, **{name: str(folder / below) for name, below in places.items()}}
    daemon = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 20
        while not (folder / "libvirt" / "libvirt-sock").exists():
            assert daemon.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < until
            time.sleep(0.05)
        yield folder
    finally:
        daemon.terminate()
        daemon.wait(20)
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def uri(libvirtd: Path) -> Iterator[str]:
    """Its URI, with two guests that never rest on one CPU."""
    libvirt = needs_module("libvirt")
    address = f"qemu+unix:///session?socket={libvirtd}/libvirt/libvirt-sock"
    connection = libvirt.open(address)
    guests: list[Any] = []
    try:
        for name in NAMES:
            guest = connection.createXML(GUEST.format(name=name, cpu=CPU, disk=libvirtd / "disk"))
            guests.append(guest)
        until = time.monotonic() + 20
        while any(not guest.isActive() or guest.info()[4] < 5e8 for guest in guests):  # the firmware takes less
            assert time.monotonic() < until
            time.sleep(0.1)
        yield address
    finally:
        for guest in guests:
            guest.destroy()
        connection.close()


def vcpu_thread(folder: Path, name: str) -> Path:
    """The vCPU's thread of a guest: QEMU calls it `CPU 0/TCG`."""
    process = (folder / "libvirt" / "qemu" / "run" / f"{name}.pid").read_text().strip()
    tasks = Path(f"/proc/{process}/task").iterdir()
    return next(task for task in tasks if (task / "comm").read_text().startswith("CPU 0"))


def test_ready_of_real_guests_is_what_the_kernel_counts(libvirtd, uri):
    threads = {name: vcpu_thread(libvirtd, name) for name in NAMES}

    def waited_ns(name: str) -> int:
        return int((threads[name] / "schedstat").read_text().split()[1])

    started, before = time.monotonic(), {name: waited_ns(name) for name in NAMES}
    table = pl.concat(formats.read(f"{uri}&seconds=4&interval=2").frames)
    elapsed = time.monotonic() - started
    kernel = {name: (waited_ns(name) - before[name]) / elapsed / 1e7 for name in NAMES}

    means = table.group_by("entity", "metric").agg(pl.col("value").mean())
    value = {(entity.rpartition("/vm/")[2], metric): mean for entity, metric, mean in means.iter_rows()}
    for name in NAMES:
        run, ready = value[name, "run_sum_pct"], value[name, "ready_sum_pct"]
        assert ready == pytest.approx(kernel[name], abs=8)
        assert run + ready == pytest.approx(100, abs=5), "it never rests"
        assert 35 < ready < 85, "half of the time, more where others use the CPU, too"
        assert value[f"{name}/vcpu/0", "ready_sum_pct"] == pytest.approx(ready)
        assert value[name, "cpu_cores"] == pytest.approx(run / 100, abs=0.05)
        assert value[name, "vcpus"] == 1
    runs = [value[name, "run_sum_pct"] for name in NAMES]
    assert sum(runs) < 103
    assert runs[0] == pytest.approx(runs[1], abs=12)


def test_the_inventory_of_a_real_host(uri):
    found = sources.read([f"{uri}&seconds=1.5"])
    (host,) = found.hosts
    assert host.sockets * host.cores_per_socket * host.threads_per_core == os.cpu_count()
    assert host.hypervisor.startswith("QEMU ")
    # memory that was added to a running machine is on no node
    nodes = [
        node / "meminfo"
        for node in Path("/sys/devices/system/node").glob("node[0-9]*")
        if (node / "cpulist").read_text().strip()
    ]
    sizes = re.findall(r"MemTotal: +([0-9]+) kB", "".join(each.read_text() for each in nodes or [MEMINFO]))
    assert host.memory_bytes == pytest.approx(sum(map(int, sizes)) * 1024, rel=0.02)
    assert [vm.name for vm in found.vms] == list(NAMES)
    for vm in found.vms:
        assert (vm.vcpus, vm.memory_bytes, vm.host, vm.powered_on) == (1, 64 * 2**20, host.name, True)
        assert vm.affinity is not None or os.cpu_count() == 1
        assert [(disk.controller, disk.capacity_bytes) for disk in vm.disks] == [("virtio-blk", 2**20)]
        assert vm.demand.cpu_mhz == pytest.approx(host.clock_hz / 1e6, rel=0.15), "it wants a whole core"
