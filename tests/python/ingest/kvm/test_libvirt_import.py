"""libvirt: XML of hosts and domains, URIs, the test driver, and differences of statistics."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import needs_module, refused, simulated
from tests.python.ingest import hostile

from hypertwin.errors import MissingExtraError, SourceError, UnreachableError
from hypertwin.ingest import formats, sources, telemetry, telemetry_table
from hypertwin.ingest.inventory import Snapshots
from hypertwin.ingest.kvm import libvirt_stats, libvirt_uri, libvirt_xml
from hypertwin.ingest.kvm.libvirt_stats import Sample, Size
from hypertwin.ingest.kvm.libvirt_xml import NodeInfo
from hypertwin.ingest.kvm.linux_host import Numbering, Place, cpu_list, written

INFO = NodeInfo(0, 1200, 1, 1, 1, 1)
NO_CELLS = NodeInfo(256 * 2**30, 2400, 2, 1, 12, 2)
USUAL = Numbering.usual(2, 12, 2)


def capabilities(sockets: int, cores: int, threads: int, nodes: int = 1, order: str = "usual", clock: str = "") -> str:
    """Capabilities as libvirt's driver for QEMU prints them: so many nodes in each socket."""
    places = [(s, c, t) for t in range(threads) for s in range(sockets) for c in range(cores)]
    if order == "interleaved":  # as some firmware lists them: sockets in turn
        places = [(s, c, t) for t in range(threads) for c in range(cores) for s in range(sockets)]
    numbers = {place: number for number, place in enumerate(places)}
    cells = []
    for socket in range(sockets):
        for node in range(nodes):
            cpus = [
                f"<cpu id='{numbers[socket, core, thread]}' socket_id='{socket}' die_id='0' core_id='{core}' "
                f"siblings='{written(numbers[socket, core, each] for each in range(threads))}'/>"
                for core in range(node * cores // nodes, (node + 1) * cores // nodes)
                for thread in range(threads)
            ]
            memory = f"<memory unit='KiB'>{128 * 2**20 // nodes}</memory>"
            listed = f"<cpus num='{len(cpus)}'>{''.join(cpus)}</cpus>"
            cells.append(f"<cell id='{socket * nodes + node}'>{memory}{listed}</cell>")
    return (
        "<capabilities><host><uuid>4c4c4544-0051-3610-8052-b7c04f4e4732</uuid><cpu><arch>x86_64</arch>"
        f"<model>Skylake-Server-IBRS</model>{clock}</cpu><topology><cells num='{len(cells)}'>"
        f"{''.join(cells)}</cells></topology></host></capabilities>"
    )


@pytest.mark.parametrize(
    ("shape", "nodes", "order", "expected"),
    [
        ((2, 12, 2), 1, "usual", {0: 0, 24: 1, 1: 2, 11: 22, 12: 24, 36: 25, 47: 47}),
        ((2, 12, 2), 1, "interleaved", {0: 0, 24: 1, 1: 24, 2: 2, 47: 47}),
        ((2, 64, 2), 4, "usual", {0: 0, 16: 32, 64: 128, 128: 1}),
        ((1, 8, 1), 1, "usual", {0: 0, 7: 7}),
        ((4, 28, 2), 2, "interleaved", {3: 3 * 56, 112: 1}),
        ((2, 288, 2), 3, "usual", {0: 0, 576: 1, 1151: 1151}),
    ],
)
def test_a_host_and_how_its_cpus_are_numbered(shape, nodes, order, expected):
    sockets, cores, threads = shape
    host = libvirt_xml.host(capabilities(*shape, nodes, order), INFO, "", "here")
    assert (host.sockets, host.cores_per_socket, host.threads_per_core) == shape
    assert host.numa_nodes == sockets * nodes
    assert host.memory_bytes == pytest.approx(sockets * 128 * 2**30)
    numbers = host.numbering.in_scenario
    assert sorted(numbers.values()) == list(range(sockets * cores * threads))
    assert {cpu: numbers[cpu] for cpu in expected} == expected


def test_odd_hosts():
    # offline CPUs have a number and no place
    text = capabilities(2, 12, 2).replace("</cpus>", "<cpu id='90'/></cpus>", 1)
    host = libvirt_xml.host(text, INFO, "", "here")
    assert (host.sockets, host.cores_per_socket) == (2, 12)
    assert host.assumed[0] == "1 logical CPUs that are offline are left out"
    # performance cores with two threads, efficiency cores with one
    places = {0: Place(0, 0, 0, 0), 1: Place(0, 0, 0, 1), 2: Place(0, 0, 2, 0), 3: Place(0, 0, 3, 0)}
    assert Numbering.of(places, 3, 2).in_scenario == {0: 0, 1: 1, 2: 2, 3: 4}
    # memory without CPUs is no node of a scenario
    text = capabilities(1, 4, 1).replace(
        "</cells>", "<cell id='1'><memory unit='GiB'>512</memory><cpus num='0'/></cell></cells>"
    )
    host = libvirt_xml.host(text, INFO, "", "here")
    assert (host.numa_nodes, host.memory_bytes) == (1, 128 * 2**30)
    for total, told in ((660, False), (800, True)):
        host = libvirt_xml.host(text, replace(INFO, memory_bytes=total * 2**30), "", "here")
        assert host.memory_bytes == 128 * 2**30
        assert (
            f"640.0 GiB of memory, the sum of its NUMA nodes; 160.0 of its {total}.0 GiB are on none" in host.assumed
        ) is told


@pytest.mark.parametrize(
    ("clock", "sysinfo", "expected", "words"),
    [
        ("<counter name='tsc' frequency='2294608000' scaling='yes'/>", "", 2.29e9, "time-stamp counter"),
        ("", "Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz", 2.1e9, None),
        ("<counter name='tsc' frequency='2294608000'/>", "AMD EPYC 7542 32-Core Processor", 2.29e9, "time-stamp"),
        ("", "", 1.2e9, "1200 MHz"),
    ],
)
def test_the_nominal_clock(clock, sysinfo, expected, words):
    if sysinfo:
        entry = f"<entry name='version'>{sysinfo}</entry>"
        sysinfo_xml = f"<sysinfo type='smbios'><processor>{entry}</processor></sysinfo>"
    else:
        sysinfo_xml = ""
    host = libvirt_xml.host(capabilities(2, 12, 2, clock=clock), INFO, sysinfo_xml, "here")
    assert host.clock_hz == pytest.approx(expected)
    assert host.cpu_model == (sysinfo or "Skylake-Server-IBRS")
    assert (len(host.assumed) == 1 and words in host.assumed[0]) if words else not host.assumed


def domain_xml(inside: str = "", vcpu: str = "<vcpu>8</vcpu>") -> str:
    return f"<domain type='kvm'><name>db</name><memory unit='GiB'>64</memory>{vcpu}{inside}</domain>"


TUNE = "<cputune>{}</cputune>"
CELLS = "<cpu><numa><cell id='0' cpus='0-3' memory='1'/><cell id='1' cpus='4-7' memory='1'/></numa></cpu>"
PINS = "".join(f"<vcpupin vcpu='{vcpu}' cpuset='{'0-11,24-35' if vcpu < 4 else '12-23,36-47'}'/>" for vcpu in range(8))
VIRTIO = (
    "<disk type='file' device='disk'><source file='/var/lib/libvirt/images/a'/><target dev='vda' bus='virtio'/></disk>"
)
SCSI = "<disk type='block' device='{}'><source dev='{}'/><target dev='{}' bus='scsi'/>{}</disk>"
DRIVE = "<address type='drive' controller='{}'/>"
DISKS = f"""<devices>
<controller type='scsi' index='1' model='virtio-scsi'/><controller type='scsi' index='0' model='lsilogic'/>
{VIRTIO}{SCSI.format("disk", "/dev/vg/b", "sda", DRIVE.format(1))}{SCSI.format("lun", "/dev/c", "sdb", DRIVE.format(0))}
<disk type='file' device='cdrom'><target dev='hdc' bus='ide'/></disk>
<disk type='volume' device='disk'><source pool='p' volume='v'/><target dev='sdc' bus='sata'/></disk>
</devices>"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (domain_xml(), {"vcpus": 8, "memory_bytes": 64 * 2**30, "affinity": None, "numa": {}, "cpu_hot_add": False}),
        (domain_xml(vcpu="<vcpu current='6'>8</vcpu>"), {"vcpus": 6, "cpu_hot_add": True}),
        (domain_xml("<cpu><topology sockets='2' cores='2' threads='2'/></cpu>"), {"cores_per_socket": 4}),
        (domain_xml("<cpu><topology sockets='1' dies='2' cores='3' threads='1'/></cpu>"), {"cores_per_socket": None}),
        # CPUs 0, 1, 24, 25 of Linux are both threads of cores 0 and 1
        (domain_xml(vcpu="<vcpu cpuset='0-1,24-25'>8</vcpu>"), {"affinity": "0-3"}),
        (domain_xml(vcpu="<vcpu cpuset='0-47,^24-47'>8</vcpu>"), {"affinity": written(range(0, 48, 2))}),
        (domain_xml(vcpu="<vcpu cpuset='0-47'>8</vcpu>"), {"affinity": None}),
        (domain_xml(vcpu="<vcpu placement='auto' cpuset='0-1'>8</vcpu>"), {"affinity": None}),
        (domain_xml(TUNE.format("<vcpupin vcpu='0' cpuset='3'/>")), {"affinity": None}),
        (domain_xml(CELLS), {"numa": {"cells": [4, 4]}}),
        (domain_xml(CELLS + TUNE.format(PINS)), {"numa": {"cells": [4, 4], "nodes": [0, 1]}, "affinity": None}),
        (domain_xml(CELLS, "<vcpu current='6'>8</vcpu>"), {"numa": {"cells": [4, 2]}}),
        (
            domain_xml(vcpu="<vcpu cpuset='12-15'>8</vcpu>"),
            {"numa": {"cells": [8], "nodes": [1]}, "affinity": "24,26,28,30"},
        ),
        (
            domain_xml("<metadata><l:libosinfo xmlns:l='http://libosinfo.org/xmlns/libvirt/domain/1.0'>"
                       "<l:os id='http://debian.org/debian/12'/></l:libosinfo></metadata>"),
            {"guest_os": "debian.org/debian/12"},
        ),
    ],
)  # fmt: skip
def test_a_domain(text, expected):
    numbering = libvirt_xml.host(capabilities(2, 12, 2), INFO, "", "here").numbering
    vm = libvirt_xml.domain(text, numbering, "here").vm
    assert {key: getattr(vm, key) for key in expected} == expected


@pytest.mark.parametrize(
    ("unit", "size"),
    [
        *[("", 2**10), ("unit='b'", 1), ("unit='bytes'", 1), ("unit='KiB'", 2**10), ("unit='k'", 2**10)],
        *[("unit='M'", 2**20), ("unit='MiB'", 2**20), ("unit='G'", 2**30), ("unit='TiB'", 2**40), ("unit='T'", 2**40)],
        *[("unit='KB'", 10**3), ("unit='MB'", 10**6), ("unit='GB'", 10**9), ("unit='TB'", 10**12)],
    ],
)
def test_the_unit_of_memory(unit, size):
    count = max(1, 2**30 // size)
    text = domain_xml().replace("<memory unit='GiB'>64", f"<memory {unit}>{count}")
    numbering = libvirt_xml.host(capabilities(2, 12, 2), INFO, "", "here").numbering
    assert libvirt_xml.domain(text, numbering, "here").vm.memory_bytes == count * size


class OldHost:
    """A connection to a host whose capabilities name no NUMA nodes: only its few numbers say what it has."""

    answers: ClassVar = {
        "getInfo": ["x86_64", 65_536, 48, 2_400, 2, 1, 12, 2],  # MiB, CPUs, MHz, nodes, sockets, cores, threads
        "getSysinfo": "<sysinfo/>",
        "getCapabilities": "<capabilities><host><cpu><arch>x86_64</arch></cpu></host></capabilities>",
        "getHostname": "kvm1",
        "getType": "QEMU",
        "getVersion": 9_002_001,
    }

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self.answers[name]


@pytest.mark.slow
def test_a_host_that_names_no_numa_nodes():
    needs_module("libvirt")
    site = libvirt_uri._site(libvirt_uri.target("qemu:///system?seconds=0", 0, 1), OldHost())
    assert (site.name, site.hypervisor) == ("kvm1", "QEMU 9.2.1")
    assert site.told.memory_bytes == 64 * 2**30
    assert (site.told.sockets, site.told.cores_per_socket, site.told.threads_per_core) == (2, 12, 2)


@pytest.mark.parametrize(
    ("tune", "cores"),
    [
        ("", None),
        ("<period>100000</period><quota>50000</quota>", 4),
        ("<quota>25000</quota>", 2),
        ("<quota>-1</quota>", None),
        ("<quota>17592186044415</quota>", None),
        ("<quota>100000</quota>", None),  # as much as it can use anyway
        ("<global_period>50000</global_period><global_quota>75000</global_quota>", 1.5),
        ("<quota>50000</quota><global_quota>300000</global_quota>", 3),
        ("<emulator_quota>1000</emulator_quota>", None),
    ],
)
def test_limits_are_of_all_vcpus_together(tune, cores):
    assert libvirt_xml.domain(domain_xml(TUNE.format(tune)), USUAL, "here").limit_cores == cores


@pytest.mark.parametrize(
    ("inside", "reserved", "limit", "huge"),
    [
        ("", None, None, False),
        ("<memoryBacking><hugepages/></memoryBacking>", None, None, True),
        ("<memtune><hard_limit unit='GiB'>48</hard_limit></memtune>", None, 48, False),
        ("<memtune><min_guarantee unit='MiB'>1024</min_guarantee></memtune>", 1, None, False),
        # what is locked is never swapped, and its limit is for what QEMU itself needs
        ("<memoryBacking><locked/></memoryBacking><memtune><hard_limit>1</hard_limit></memtune>", 64, None, False),
    ],
)
def test_what_is_said_of_memory(inside, reserved, limit, huge):
    vm = libvirt_xml.domain(domain_xml(inside), USUAL, "here").vm
    expected = [None if size is None else size * 2**30 for size in (reserved, limit)]
    assert [vm.memory_reservation_bytes, vm.memory_limit_bytes] == expected
    assert vm.huge_pages is huge


def test_devices_of_the_host_prevent_live_migration():
    device = "<devices><hostdev mode='subsystem' type='pci' managed='yes'/></devices>"
    for inside, moves in (("", True), (device, False)):
        assert libvirt_xml.domain(domain_xml(inside), USUAL, "here").vm.live_migration is moves


def test_disks():
    told = libvirt_xml.domain(domain_xml(DISKS), USUAL, "here")
    assert [(each.target, each.path, each.pool) for each in told.disks] == [
        ("vda", "/var/lib/libvirt/images/a", ""),
        ("sda", "/dev/vg/b", ""),
        ("sdb", "/dev/c", ""),
        ("sdc", "v", "p"),
    ]
    assert [(disk.controller, disk.controller_number) for disk in told.vm.disks] == [
        ("virtio-blk", None),
        ("virtio-scsi", 1),
        (None, 0),
        (None, None),
    ]


def test_what_is_bound_half_way_is_said():
    memory = "<numatune><memory mode='strict' nodeset='0'/></numatune>"
    assert "not pinned there" in libvirt_xml.domain(domain_xml(memory), USUAL, "here").assumed[0]
    one_by_one = TUNE.format("".join(f"<vcpupin vcpu='{vcpu}' cpuset='{vcpu + 8}'/>" for vcpu in range(8)))
    assert "one by one" in libvirt_xml.domain(domain_xml(one_by_one), USUAL, "here").assumed[0]


BOMB = "<!DOCTYPE d [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]><domain><name>&b;</name></domain>"


HOSTILE = hostile.Importer(
    wrong=[
        ("", "no element"),
        ("<domain>", "no element"),
        ("<network/>", "<network>"),
        (BOMB, "DTDForbidden"),
        ("<!DOCTYPE d SYSTEM 'file:///etc/passwd'><domain/>", "DTDForbidden"),
        ("<domain>" * 200_000, "no element"),
        ("<domain>" + "<a>" * 200_000 + "</a>" * 200_000 + "</domain>", "domain/name"),
        (" " * libvirt_xml.MOST_BYTES + "<domain/>", "source-too-large"),
        (domain_xml(vcpu="<vcpu>0</vcpu>"), "domain db/vcpu"),
        (domain_xml(vcpu="<vcpu current='9'>8</vcpu>"), "domain db/vcpu"),
        (domain_xml(vcpu="<vcpu>99999999</vcpu>"), "at most 4096"),
        (domain_xml(vcpu="<vcpu>" + "9" * 6000 + "</vcpu>"), "domain db/vcpu"),
        (domain_xml(vcpu="<vcpu cpuset='0-999999999'>8</vcpu>"), "cpuset"),
        (domain_xml().replace("GiB", "parsec"), "domain db/memory"),
        (
            domain_xml(
                TUNE.format("".join(f"<vcpupin vcpu='{n}' cpuset='0-16383,^{n}'/>" for n in range(4_000))),
                "<vcpu>4000</vcpu>",
            ),
            "at most 1000000",
        ),
    ],
    read=lambda _, text: libvirt_xml.domain(text, USUAL, "qemu:///system") and None,
    place="qemu:///system",
    has_values=False,
)
HOSTILE_HOST = hostile.Importer(
    wrong=[
        (capabilities(1, 2, 1).replace("id='1' socket", "id='0' socket"), "a number of its own"),
        (capabilities(1, 2, 1).replace("<cell id='0'>", "<cell>"), "no id"),
        ("<capabilities>" + "<host>" * 100, "no element"),
        (
            "<capabilities><host><topology><cells>"
            + "<cell id='1'/>" * 2_000
            + "</cells></topology></host></capabilities>",
            "at most 1024",
        ),
    ],
    read=lambda _, text: libvirt_xml.host(text, INFO, "", "here") and None,
    place="here",
    has_values=False,
)


FULL = domain_xml(CELLS + TUNE.format("<shares>2048</shares><quota>50000</quota>" + PINS) + DISKS)


@given(at=st.integers(0, len(FULL)), length=st.integers(0, 12), noise=st.text(max_size=8), host=st.booleans())
def test_any_edit_gives_a_value_or_a_source_error(at, length, noise, host):
    text = capabilities(2, 4, 2) if host else FULL
    edited = text[:at] + noise + text[at + length :]
    if host:
        hostile.taken(lambda: libvirt_xml.host(edited, NO_CELLS, "", "here"))
    elif told := hostile.taken(lambda: libvirt_xml.domain(edited, USUAL, "here")):
        assert 1 <= told.vm.vcpus <= libvirt_xml.MOST_VCPUS


@given(cpus=st.sets(st.integers(0, 300), min_size=1))
def test_lists_of_cpus_read_as_they_are_written(cpus):
    assert cpu_list(written(cpus)) == sorted(cpus)


@pytest.mark.parametrize("text", ["", "a", "1-", "3-1", "-1", "99999", "0-99999", "1,,2", "1_0", "٣", "0x1"])
def test_what_is_no_list_of_cpus(text):
    assert cpu_list(text) is None


@pytest.mark.parametrize(
    ("text", "shown", "words"),
    [
        ("qemu+ssh://root:hunter2@kvm1/system", "...@...", "password"),
        ("qemu://", "qemu://", "allowed: qemu:///system"),
        ("xen:///system", "", "allowed: qemu:///system"),
        ("qemu+ext:///system?command=/bin/sh", "", "allowed"),
        ("qemu:///system?seconds=soon", "seconds=soon", "seconds from 0"),
        ("qemu:///system?seconds=-1", "seconds=-1", "seconds from 0"),
        ("qemu:///system?interval=0", "interval=0", "interval from 0.1"),
        ("qemu:///system#x", "", "allowed"),
        ("qemu:///system?x=\udcff", "unprintable character", "UTF-8"),
    ],
)
def test_bad_uris(text, shown, words):
    with refused("bad-address") as caught:
        libvirt_uri.target(text, 1, 1)
    assert shown in str(caught.value)
    assert words in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_uri_is_passed_on_without_what_is_hypertwins():
    aim = libvirt_uri.target(
        "qemu+ssh://op%40lab@[fe80::1]:2222/system?seconds=9&keyfile=/k%20ey&no_tty=1&interval=3", 1, 1
    )
    assert aim.uri == "qemu+ssh://op%40lab@[fe80::1]:2222/system?keyfile=/k%20ey&no_tty=1"
    assert (aim.seconds, aim.interval) == (9, 3)
    assert "key" not in aim.shown
    assert libvirt_uri.target("test:///default?seconds=0", 1, 1).uri == "test:///default"


def test_without_the_library_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "libvirt", None)
    with pytest.raises(MissingExtraError, match=r"apt install libvirt-dev .*hypertwin\[libvirt\]"):
        sources.read(["qemu:///system"])
    with pytest.raises(MissingExtraError):
        formats.read("qemu:///system")


class LibraryThatAsks:
    """Stands in for libvirt where a server wants a user and a password: it takes nobody."""

    VIR_CRED_AUTHNAME, VIR_CRED_ECHOPROMPT, VIR_CRED_PASSPHRASE, VIR_CRED_NOECHOPROMPT, VIR_CONNECT_RO = 2, 3, 5, 6, 1
    libvirtError = type("libvirtError", (Exception,), {})  # noqa: N815
    answered: ClassVar[list[object]] = []

    def registerErrorHandler(self, _handler: object, _data: object) -> None:  # noqa: N802
        """As the library has it."""

    def openAuth(self, _uri: str, auth: list[Any], flags: int) -> None:  # noqa: N802
        """As the library has it."""
        assert flags == self.VIR_CONNECT_RO
        asked = [[self.VIR_CRED_AUTHNAME, "user", "", "", None], [self.VIR_CRED_PASSPHRASE, "password", "", "", None]]
        auth[1](asked, None)
        self.answered[:] = [each[4] for each in asked]
        raise self.libvirtError("authentication failed")


@pytest.mark.parametrize(("password", "error"), [("hunter2", UnreachableError), (None, SourceError)])
def test_a_password_comes_from_the_environment_and_is_shown_nowhere(monkeypatch, capfd, password, error):
    library = LibraryThatAsks()
    monkeypatch.setitem(sys.modules, "libvirt", library)  # type: ignore[arg-type]
    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.delenv("HYPERTWIN_PASSWORD", raising=False)
    if password:
        monkeypatch.setenv("HYPERTWIN_PASSWORD", password)
    with pytest.raises(error) as caught:
        sources.read(["qemu+tcp://root@kvm1/system"])
    assert library.answered == ["root", password]
    assert "hunter2" not in str(caught.value) + "".join(capfd.readouterr())


# ---- libvirt's own test driver


@pytest.fixture
def custom(tmp_path: Path):
    """A host of the test driver with these domains, as its URI."""
    needs_module("libvirt")

    def write(*domains: str, name: str = "host.xml", cores: int = 12) -> str:
        cpu = (
            f"<cpu><mhz>2500</mhz><model>x86_64</model><active>{cores * 4}</active><nodes>2</nodes><sockets>1</sockets>"
        )
        cpu += f"<cores>{cores}</cores><threads>2</threads></cpu><memory>{256 * 2**20}</memory>"
        pool = "<pool type='dir'><name>images</name><target><path>/var/lib/libvirt/images</path></target></pool>"
        (tmp_path / name).write_text(f"<node>{''.join(domains)}{cpu}{pool}</node>")
        return f"test://{tmp_path / name}?seconds=0.2"

    return write


def domain_of_test(name: str = "db", inside: str = "", vcpu: str = "<vcpu>4</vcpu>", uuid: str = "") -> str:
    identity = f"<uuid>{uuid}</uuid>" if uuid else ""
    return (
        f"<domain type='test'><name>{name}</name>{identity}<memory unit='GiB'>8</memory>{vcpu}"
        f"<os><type>hvm</type></os>{inside}</domain>"
    )


@pytest.mark.slow
def test_the_default_host_of_the_test_driver():
    needs_module("libvirt")
    found = sources.read(["test:///default?seconds=0.2"])
    (host,) = found.hosts
    assert (host.sockets, host.cores_per_socket, host.threads_per_core, host.numa_nodes) == (2, 8, 1, 2)
    assert host.memory_bytes == 6 * 2**30
    assert host.hypervisor.startswith("TEST ")
    (vm,) = found.vms
    assert (vm.name, vm.vcpus, vm.host, vm.powered_on) == ("test", 2, host.name, True)
    assert vm.disks[0].controller == "virtio-blk"
    assert vm.disks[0].capacity_bytes > 0
    # the driver's clock of CPU time is the time of day: one core
    assert vm.demand.cpu_mhz == pytest.approx(host.clock_hz / 1e6, rel=0.05)
    assert [store.name for store in found.datastores] == ["default-pool"]
    assert found.source == "test:///default"


@pytest.mark.parametrize(
    ("domains", "version"),
    [
        ([(2048, True, 2048), (None, True, 1024)], 1),
        ([(2048, True, 2048), (None, True, 100)], 2),
        ([(20_000, False, 0), (None, True, 100)], 2),
        ([(1024, True, 1024), (None, True, 100)], 2),
        ([(20_000, True, 20_000)], 1),
        ([(1, True, 1)], 2),
        ([(None, True, 300), (None, True, 1024)], 1),  # the first has a weight since it started
        ([(None, False, 1024)], None),
        ([(2048, True, 2048)], None),
        ([], None),
    ],
)
def test_the_version_of_control_groups(domains, version):
    site = SimpleNamespace(
        domains=[
            SimpleNamespace(
                told=SimpleNamespace(weight=weight),
                active=active,
                handle=SimpleNamespace(schedulerParameters=lambda live=live: {"cpu_shares": live}),
            )
            for weight, active, live in domains
        ]
    )
    assert libvirt_uri._cgroup_version(site) == version


def test_a_quota_limits_a_domain_although_the_clock_of_its_host_is_unknown(monkeypatch):
    monkeypatch.setattr(libvirt_uri, "_asked", lambda gaps, gap, call, otherwise: otherwise)
    told = libvirt_xml.domain(domain_xml(TUNE.format("<quota>50000</quota>")), USUAL, "here")
    site = SimpleNamespace(name="kvm1", target=SimpleNamespace(cluster=None), told=SimpleNamespace(clock_hz=None))
    domain = SimpleNamespace(name="db", told=told, active=True, handle=SimpleNamespace(listAllSnapshots=None))
    vm = libvirt_uri._vm(site, domain, 2, {}, SimpleNamespace(domains={}))
    # half of its vCPUs, at the clock that the scenario assumes
    assert vm.limit_mhz == told.vm.vcpus / 2 * 2500


@pytest.mark.slow
def test_a_host_with_many_domains(custom):
    bound = CELLS + TUNE.format("<shares>200</shares><quota>50000</quota>" + PINS)
    domains = [domain_of_test(f"vm-{number}", vcpu=f"<vcpu>{number % 16 + 1}</vcpu>") for number in range(200)]
    special = domain_of_test("b&lt;i&gt;=1+1", bound + f"<devices>{VIRTIO}</devices>", "<vcpu>8</vcpu>")
    found = sources.read([custom(*domains, special)])
    assert len(found.vms) == 201
    vms = {vm.name: vm for vm in found.vms}
    assert vms["vm-7"].vcpus == 8
    assert vms["vm-7"].shares == 1000, "a machine of the default weight, however wide"
    odd = vms["b<i>=1+1"]
    assert odd.shares == 2000
    assert odd.limit_mhz == 8 * 0.5 * 2500
    assert odd.numa == {"cells": [4, 4]}
    assert odd.disks[0].datastore == "images"
    (host,) = found.hosts
    assert (host.sockets, host.cores_per_socket, host.threads_per_core) == (2, 12, 2)


@pytest.mark.slow
def test_import_and_simulate(custom, cli):
    uri = custom(domain_of_test(), domain_of_test("&lt;b&gt;=1+1", CELLS + TUNE.format(PINS), "<vcpu>8</vcpu>"))
    cli("import", uri, "-o", "cluster.yaml", exits=0)
    vms = simulated(cli, seconds=2)["vms"]
    assert vms["db"]["guest_cpu_pct"] == pytest.approx(25, abs=8), "one of its four vCPUs is busy in the test driver"
    assert len(vms) == 2


@pytest.mark.slow
def test_telemetry_on_the_command_line(cli):
    needs_module("libvirt")
    done = cli("telemetry", "test:///default?seconds=0.4&interval=0.2", "--format", "json", exits=0)
    assert "cpu_cores" in done.stdout
    assert "lacks vcpu.N.delay: no ready time" in done.stderr


@pytest.mark.slow
def test_several_hosts_in_one_import(custom):
    uuid = "00000000-1111-2222-3333-444444444444"
    first = custom(domain_of_test("db"), domain_of_test("moved", uuid=uuid), name="a.xml")
    second = custom(domain_of_test("db"), domain_of_test("moved", uuid=uuid), name="b.xml", cores=16)
    found = sources.read([first, second])
    names = [host.name for host in found.hosts]
    assert names[1] == f"{names[0]}-2", "both are the same machine's test driver"
    assert [host.cores_per_socket for host in found.hosts] == [12, 16]
    assert sorted(vm.name for vm in found.vms if vm.name.startswith("db")) == [f"db ({name})" for name in names]
    assert len([vm for vm in found.vms if vm.name.startswith("moved")]) == 1, "one machine, defined on two hosts"
    assert {store.name for store in found.datastores} == {f"images ({name})" for name in names}


@pytest.mark.slow
def test_a_list_of_uris_names_clusters(custom, tmp_path):
    uris = [custom(domain_of_test(f"vm{letter}"), name=f"{letter}.xml") for letter in "abc"]
    (tmp_path / "hosts.txt").write_text(f"\ufeff# ours\n{uris[0]}\n\n[prod]\n{uris[1]}  # new\r\n{uris[2]}\n[empty]\n")
    found = sources.read([str(tmp_path / "hosts.txt")])
    assert [host.cluster for host in found.hosts] == [None, "prod", "prod"]
    assert {vm.name: vm.cluster for vm in found.vms} == {"vma": None, "vmb": "prod", "vmc": "prod"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("qemu:///system\nqemu+ssh://root:secret@kvm1/system\n", ":2\n"),
        ("[a]\nqemu:///system\nesx://host/\n", ":3\n"),
        ("qemu:///system\nno address\n", ":2\n"),
        ("qemu:///system\n" * 1001, "at most 1000"),
        ("[only]\n", "no reader recognises"),
        ("http://host/\n", "no reader recognises"),
    ],
)
def test_a_list_with_a_fault_is_refused_before_anything_is_asked(tmp_path, text, words):
    (tmp_path / "hosts.txt").write_text(text)
    with pytest.raises(SourceError, match=words) as caught:
        sources.read([str(tmp_path / "hosts.txt")])
    assert "secret" not in str(caught.value)


@pytest.mark.slow
def test_snapshots_and_sizes_of_the_test_driver(custom):
    libvirt = needs_module("libvirt")
    uri = custom(domain_of_test("db", f"<devices>{VIRTIO}</devices>"))
    connection = libvirt.open(uri.partition("?")[0])
    domain = connection.lookupByName("db")
    aim = libvirt_uri.target(uri, 0, 1)
    site = libvirt_uri._site(aim, connection)
    libvirt_uri._ask_domains(site)
    assert libvirt_uri._snapshots(site.domains[0]) == Snapshots(0)
    for name in ("first", "second"):
        domain.snapshotCreateXML(f"<domainsnapshot><name>{name}</name></domainsnapshot>")
    taken = libvirt_uri._snapshots(site.domains[0])
    assert taken.count == 2
    assert taken.oldest.endswith("Z")
    connection.close()


@pytest.mark.slow
def test_a_connection_cannot_change_anything():
    libvirt = needs_module("libvirt")
    with libvirt_uri.connected(libvirt_uri.target("test:///default", 1, 1)) as connection:
        domain = connection.listAllDomains()[0]
        for change in (domain.destroy, domain.suspend, lambda: connection.defineXML(domain_of_test())):
            with pytest.raises(libvirt.libvirtError, match="read"):
                change()


@pytest.mark.slow
@pytest.mark.parametrize(
    "uri", ["qemu+tcp://127.0.0.1:1/system", "qemu+unix:///system?socket=/nowhere/sock", "test:///nowhere"]
)
def test_what_does_not_answer(uri, capfd):
    needs_module("libvirt")
    for read in (lambda: sources.read([uri]), lambda: formats.read(uri)):
        with pytest.raises(UnreachableError) as caught:
            read()
        assert uri.split("?")[0] in str(caught.value)
        assert "help:" in str(caught.value)
    if not uri.startswith("test:"):  # where libxml2 complains of the missing file by itself
        assert capfd.readouterr().err == "", "libvirt prints nothing beside the message"


@pytest.mark.slow
def test_telemetry_of_the_test_driver(tmp_path):
    needs_module("libvirt")
    reading = formats.read("test:///default?seconds=0.6&interval=0.2")
    assert telemetry_table.write(reading.frames, tmp_path / "t.parquet") > 0
    table = pl.read_parquet(tmp_path / "t.parquet")
    used = table.filter(pl.col("metric") == "cpu_cores")
    assert len(used) == 3
    assert used["value"].to_list() == pytest.approx([1, 1, 1], rel=0.1)
    assert [gap.what for gap in reading.gaps if "delay" in gap.what] == ["vcpu.N.delay"]


# ---- differences of statistics


def sample(seconds: float, **domains: dict[str, object]) -> Sample:
    cpu = {"user": int(seconds * 3e9), "kernel": int(seconds * 1e9), "idle": int(seconds * 12e9), "iowait": 0}
    memory = {"total": 2**20, "free": 2**19}
    return Sample(datetime(2026, 1, 1, tzinfo=UTC), int(seconds * 1e9), cpu, memory, domains)


def stats(seconds: float, run: float, ready: float, **more: object) -> dict[str, object]:
    """A domain of two vCPUs that run and wait for a CPU these parts of the time."""
    ns = seconds * 1e9
    vcpus = {f"vcpu.{n}.{key}": int(ns * part) for n in (0, 1) for key, part in (("time", run), ("delay", ready))}
    block = {"block.count": 1, "block.0.name": "vda", "block.0.rd.reqs": int(seconds * 100), "block.0.wr.reqs": 0}
    block |= {"block.0.rd.bytes": int(seconds * 819_200), "block.0.rd.times": int(seconds * 100 * 2e6)}
    block |= {"block.0.wr.bytes": 0, "block.0.wr.times": 0}
    return {"cpu.time": int(ns * run * 2), "vcpu.current": 2, **vcpus, **block, **more}


def test_rows_of_two_samples():
    # balloon and swap are in KiB
    memory = {"balloon.maximum": 8192, "balloon.current": 6144, "balloon.rss": 5120, "balloon.unused": 1}
    before = sample(10, db=stats(10, 0.5, 0.3, **{"balloon.swap_in": 100, "balloon.swap_out": 1000}))
    after = sample(20, db=stats(20, 0.5, 0.3, **{"balloon.swap_in": 120, "balloon.swap_out": 1070}, **memory))
    rows = {
        (entity, metric): value
        for _, entity, metric, value in libvirt_stats.rows(before, after, Size("h", 8, 16, 2500))
    }
    expected = {
        ("host/h", "utilization_pct"): 25,
        ("host/h", "memory_free_bytes"): 2**29,
        ("host/h/vm/db", "interval_s"): 10,
        ("host/h/vm/db", "cpu_cores"): 1,
        ("host/h/vm/db", "vcpus"): 2,
        ("host/h/vm/db", "run_sum_pct"): 100,
        ("host/h/vm/db", "ready_sum_pct"): 60,
        ("host/h/vm/db", "wait_sum_pct"): 40,
        ("host/h/vm/db/vcpu/1", "ready_sum_pct"): 30,
        ("host/h/vm/db/disk/vda", "iops"): 100,
        ("host/h/vm/db/disk/vda", "read_bytes_per_s"): 81_920 * 10,
        ("host/h/vm/db/disk/vda", "read_latency_ms"): 2,
        ("host/h/vm/db/disk/vda", "latency_ms"): 2,
        ("host/h/vm/db", "memory_bytes"): 8 * 2**20,
        ("host/h/vm/db", "memory_used_bytes"): 5 * 2**20,
        ("host/h/vm/db", "ballooned_bytes"): 2 * 2**20,
        ("host/h/vm/db", "swap_in_bytes_per_s"): 2 * 1024,
        ("host/h/vm/db", "swap_out_bytes_per_s"): 7 * 1024,
    }
    assert {key: rows.get(key) for key in expected} == pytest.approx(expected)
    assert ("host/h/vm/db/disk/vda", "write_latency_ms") not in rows, "there was no write"
    telemetry_table.frame(libvirt_stats.rows(before, after, Size("h", 8, 16, 2500)))


def test_demand_is_what_was_used_or_waited_for():
    used = libvirt_stats.demand(sample(0, db=stats(0, 0.25, 0.1)), sample(4, db=stats(4, 0.25, 0.1)), "db", 2.5e9)
    assert used.cpu_mhz == pytest.approx(2 * (0.25 + 0.1) * 2500)
    assert (used.iops, used.over) == (100, "4.0 s of domstats cpu.time and vcpu.N.delay")


def test_what_was_measured_of_a_host_and_a_domain():
    memory = {"balloon.maximum": 8 * 2**20, "balloon.current": 6 * 2**20, "balloon.rss": 5 * 2**20}
    before, after = sample(0, db=stats(0, 0, 0)), sample(4, db=stats(4, 0.25, 0.1, **memory))
    found = libvirt_stats.host_measured(before, after, 2)
    # a quarter of the time of two threads a core is half of that of the cores; half of the memory is free
    assert found == {"cpu_usage_pct": 50, "memory_usage_pct": 50, "over_s": 4, "at": "2026-01-01T00:00:00Z"}
    assert libvirt_stats.host_measured(before, after, 1)["cpu_usage_pct"] == 25
    after.memory["buffers"], after.memory["cached"] = 2**17, 2**17  # type: ignore[index]
    assert libvirt_stats.host_measured(before, after, 2)["memory_usage_pct"] == 25, "without what is cached"
    assert libvirt_stats.domain_measured(before, after, "db") == {
        "memory_consumed_bytes": 5 * 2**30,
        "ballooned_bytes": 2 * 2**30,
        "ready_pct": pytest.approx(10),
    }
    assert libvirt_stats.memory_of({"balloon.maximum": 8, "balloon.current": 8})["ballooned_bytes"] == 0
    demand = libvirt_stats.demand(before, after, "db", 1e9)
    assert (demand.over_s, demand.counter) == (4, "domstats cpu.time and vcpu.N.delay")
    # at one moment there is no CPU; a host that says nothing has nothing
    assert libvirt_stats.host_measured(after, after, 2).keys() == {"memory_usage_pct", "at"}
    assert libvirt_stats.host_measured(replace(before, memory={}), replace(after, memory={}, cpu={}), 2) == {}
    assert set(libvirt_stats.domain_measured(before, after, "gone").values()) == {None}


def test_a_domain_that_was_restarted_or_came_has_no_rates():
    before, after = sample(10, db=stats(10, 0.5, 0.3)), sample(20, db=stats(1, 0.5, 0.3), new=stats(1, 1, 0))
    rows = list(libvirt_stats.rows(before, after, Size("h", 8, 16, None)))
    assert {metric for _, entity, metric, _ in rows if entity.endswith("db")} == {"interval_s", "vcpus"}
    assert not [entity for _, entity, _, _ in rows if "new" in entity]
    assert libvirt_stats.demand(before, after, "new", 1e9) is None


def test_missing_counters_are_named():
    bare = sample(1, db={"state.state": 1, "cpu.time": 5})
    assert {gap.what for gap in libvirt_stats.gaps([bare])} == {
        *("vcpu.N.time", "vcpu.N.delay", "block.N.rd.reqs", "balloon.rss")
    }
    assert libvirt_stats.gaps([sample(1, db=stats(1, 1, 0) | {"balloon.rss": 1})]) == []


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    values=st.dictionaries(
        st.sampled_from(
            [*stats(1, 1, 1), "balloon.maximum", "block.99999999.rd.reqs", "vcpu.x.time", "net.0.rx.bytes"]
        ),
        st.integers(-(2**63), 2**64) | st.text(max_size=5) | st.booleans() | st.none() | st.floats(),
    )
)
def test_any_statistics_give_rows(values):
    rows = libvirt_stats.rows(
        sample(1, db=stats(1, 1, 1)), sample(2, db=stats(2, 1, 1) | values), Size("h", 8, 16, 1.0)
    )
    telemetry_table.frame(rows)


def test_names_are_inert_in_rows():
    rows = libvirt_stats.rows(
        sample(1, **{"a/b%\x1b[31m\n": stats(1, 1, 0)}),
        sample(2, **{"a/b%\x1b[31m\n": stats(2, 1, 0)}),
        Size("h/i", 1, 1, None),
    )
    entities = {entity for _, entity, _, _ in rows}
    assert "host/h%2Fi/vm/a%2Fb%25 [31m" in entities
    assert telemetry.names("host/h%2Fi/vm/a%2Fb%25 [31m") == {"host": "h/i", "vm": "a/b% [31m"}
