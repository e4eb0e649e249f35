"""A Linux host from `lscpu -J` and `numactl -H`: old and new forms, the real ones of this machine, and broken ones."""

from __future__ import annotations

import json
import os
import re
import subprocess
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import needs
from tests.python.ingest import hostile

from hypertwin.errors import SourceError
from hypertwin.ingest import sources
from hypertwin.ingest.kvm import lscpu

XEON = {
    "Architecture": "x86_64",
    "CPU(s)": "48",
    "On-line CPU(s) list": "0-47",
    "Vendor ID": "GenuineIntel",
    "Model name": "Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz",
    "Thread(s) per core": "2",
    "Core(s) per socket": "12",
    "Socket(s)": "2",
    "CPU max MHz": "3300.0000",
    "BogoMIPS": "4988.61",
    "NUMA node(s)": "2",
    "NUMA node0 CPU(s)": "0-11,24-35",
    "NUMA node1 CPU(s)": "12-23,36-47",
}
EPYC = {
    **XEON,
    "CPU(s)": "256",
    "On-line CPU(s) list": "0-255",
    "Model name": "AMD EPYC 7763 64-Core Processor",
    "Core(s) per socket": "64",
    "CPU max MHz": "3529.0520",
    "BogoMIPS": "4890.99",
    "NUMA node(s)": "8",
}
NUMACTL = """available: 3 nodes (0-2)
node 0 cpus: 0 1 2 3 4 5 6 7 8 9 10 11 24 25 26 27 28 29 30 31 32 33 34 35
node 0 size: 128829 MB
node 0 free: 100 MB
node 1 cpus: 12 13 14 15 16 17 18 19 20 21 22 23 36 37 38 39 40 41 42 43 44 45 46 47
node 1 size: 129019 MB
node 1 free: 100 MB
node 2 cpus:
node 2 size: 262144 MB
node 2 free: 262144 MB
node distances:
node   0   1   2
  0:  10  21  17
  1:  21  10  28
  2:  17  28  10
"""


def flat(fields: dict[str, str]) -> str:
    """As util-linux before 2.38 prints, with colons."""
    return json.dumps({"lscpu": [{"field": f"{field}:", "data": data} for field, data in fields.items()]})


def nested(fields: dict[str, str]) -> str:
    """As newer ones print: children under the processor's vendor and model."""
    items = [{"field": f"{field}:", "data": data} for field, data in fields.items()]
    model = {**items[4], "children": items[5:10]}
    numa = {"field": "NUMA:", "data": None, "children": items[10:]}
    tree = [items[0], {**items[1], "children": [items[2]]}, {**items[3], "children": [model]}, numa]
    return json.dumps({"lscpu": tree}, indent=3)


def plain(fields: dict[str, str]) -> str:
    """Without `-J`, as new versions print: fields of a processor are indented."""
    lines = [
        f"{'' if number < 3 else '  '}{field + ':':<30}{data}" for number, (field, data) in enumerate(fields.items())
    ]
    return "\n".join([*lines[:10], "NUMA:", *lines[10:], ""])


def test_plain_lscpu_says_the_same_as_json(write):
    for cpu in (XEON, EPYC):
        assert sources.read(write(plain(cpu), NUMACTL)).hosts == sources.read(write(flat(cpu), NUMACTL)).hosts


def files(folder: Path, *texts: str, names: tuple[str, ...] = ("lscpu.json", "numactl.txt")) -> list[str]:
    """The paths of files with these texts."""
    folder.mkdir(exist_ok=True)
    for name, text in zip(names, texts, strict=False):
        (folder / name).write_text(text)
    return [str(folder / name) for name, _ in zip(names, texts, strict=False)]


@pytest.fixture
def write(tmp_path: Path):
    return partial(files, tmp_path)


@pytest.mark.parametrize("form", [flat, nested])
def test_a_host_with_its_nodes(write, form):
    found = sources.read(write(form(XEON), NUMACTL))
    (host,) = found.hosts
    assert (host.sockets, host.cores_per_socket, host.threads_per_core) == (2, 12, 2)
    assert host.clock_hz == 2.5e9, "the nominal clock, not the 3.3 GHz of turbo"
    assert host.numa_nodes == 2
    assert host.memory_bytes == (128829 + 129019) * 2**20
    assert host.hypervisor == "Linux"
    assert host.cpu_model == XEON["Model name"]
    assert (found.kind, list(found.vms)) == ("lscpu", [])
    assert [each.text for each in found.assumptions] == ["256 GiB on NUMA nodes without CPUs are left out"]
    assert [gap.what for gap in found.gaps] == ["kernel version"]


def test_the_order_of_the_two_files_does_not_matter(write):
    paths = write(flat(XEON), NUMACTL)
    assert sources.read(paths).hosts == sources.read(paths[::-1]).hosts


def test_several_hosts_are_named_like_their_files(write):
    names = ("kvm1.json", "kvm1.txt", "lscpu-kvm2.example.org.json", "lscpu.json")
    found = sources.read(write(flat(XEON), NUMACTL, nested(EPYC), flat(XEON), names=names))
    assert [host.name for host in found.hosts] == ["kvm1", "kvm2.example.org", "host"]
    assert [host.cores_per_socket for host in found.hosts] == [12, 64, 12]
    assert "numactl -H" in [gap.what for gap in found.gaps]


def test_a_nominal_clock_from_bogomips(write):
    found = sources.read(write(flat(EPYC)))
    assert found.hosts[0].clock_hz == pytest.approx(2.45e9)  # what AMD publishes for the 7763
    assert found.hosts[0].numa_nodes == 8
    assert any("half of BogoMIPS" in each.text for each in found.assumptions)
    # where half of BogoMIPS means nothing
    (host,) = sources.read(write(flat({**EPYC, "Architecture": "aarch64", "BogoMIPS": "200.00"}))).hosts
    assert host.clock_hz == 2.5e9


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"CPU(s)": "24", "On-line CPU(s) list": "0-15,20-27"}, "24 logical CPUs, assumed 2 x 12 cores of 2 threads"),
        ({"Model name": "Kunpeng", "BogoMIPS": ""}, "2.5 GHz"),
    ],
)
def test_what_had_to_be_assumed_is_said(write, changed, words):
    found = sources.read(write(flat({**XEON, **changed}), NUMACTL))
    assert any(words in each.text for each in found.assumptions), found.assumptions


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"Virtualization": "AMD-V", "Hypervisor vendor": "VMware", "Virtualization type": "full"}, "(VMware)"),
        ({"Architecture": "s390x", "Hypervisor vendor": "PR/SM", "Virtualization type": "full"}, "(PR/SM)"),
        ({"Architecture": "ppc64le", "Hypervisor vendor": "pHyp", "Virtualization type": "para"}, "(pHyp)"),
        ({"Architecture": "aarch64", "Virtualization type": "full"}, "(unknown)"),
        ({"Virtualization": "VT-x"}, None),
        ({"Hypervisor vendor": "Xen", "Virtualization type": "none"}, None),
        ({"Hypervisor vendor": "Parallels", "Virtualization type": "container"}, None),
    ],
)
def test_a_host_that_is_itself_a_vm_is_told_first(write, cli, changed, says):
    done = cli("import", *write(flat({**XEON, **changed}), NUMACTL), "-o", "host.yaml", exits=0)
    assert done.stderr.startswith("warning:") == (says is not None)
    assert says is None or f"runs under another hypervisor {says}" in done.stderr.splitlines()[0]


@pytest.mark.parametrize("form", [flat, plain])
@pytest.mark.parametrize(("vendor", "kind"), [("KVM", "full"), ("Microsoft", "full"), ("Xen", "para")])
def test_the_output_of_a_guest_is_refused(write, form, vendor, kind):
    guest = {**XEON, "Hypervisor vendor": vendor, "Virtualization type": kind}
    with pytest.raises(SourceError, match="source-lacks") as caught:
        sources.read(write(form(guest), NUMACTL))
    for words in (f"lscpu/Hypervisor vendor: {vendor}: the output of a VM", "run it on the host"):
        assert words in str(caught.value)


def test_memory_that_is_on_no_node_is_told(write):
    nodes = (128829 + 129019 + 262144) * 2**10
    for total, told in (
        (nodes + nodes // 30, []),
        (nodes * 5 // 4, ["507.8 GiB of memory, the sum of its NUMA nodes"]),
    ):
        found = sources.read(write(flat(XEON), f"{NUMACTL}MemTotal:       {total} kB\n"))
        assert found.hosts[0].memory_bytes == (128829 + 129019) * 2**20
        assert [each.text.partition(";")[0] for each in found.assumptions][1:] == told


@pytest.mark.slow
def test_this_machine(tmp_path):
    needs("numactl", "lscpu")
    subprocess.run(["sh", "-c", lscpu.COMMANDS], cwd=tmp_path, check=True)
    told = tmp_path / "lscpu.json"
    told.write_text(told.read_text().replace("Virtualization type:", "Tested in a VM:"))
    found = sources.read([str(told), str(tmp_path / "numactl.txt")])
    (host,) = found.hosts
    assumed = " ".join(each.text for each in found.assumptions)
    assert host.sockets * host.cores_per_socket * host.threads_per_core == os.cpu_count() or "logical CPUs" in assumed
    sizes = re.findall(r"^node [0-9]+ size: ([0-9]+) MB", (tmp_path / "numactl.txt").read_text(), re.MULTILINE)
    # not MemTotal: memory that was added to a running machine is on no node
    assert host.memory_bytes == sum(map(int, sizes)) * 2**20 or "without CPUs" in assumed


def test_import_and_simulate_a_host_without_machines(write, cli):
    cli("import", *write(flat(XEON), NUMACTL), "-o", "host.yaml", exits=0)
    done = cli("simulate", "host.yaml", "--duration", "1", "--replications", "1", "--format", "json", exits=0)
    assert json.loads(done.stdout)["points"][0]["hosts"]["host"]["usage_pct"] == 0


def test_numactl_without_its_lscpu(write):
    with pytest.raises(SourceError, match="without lscpu"):
        sources.read(write(NUMACTL, names=("numactl.txt",)))
    with pytest.raises(SourceError, match="no lscpu -J of its own"):
        sources.read(write(flat(XEON), NUMACTL, NUMACTL, names=("a.json", "a.txt", "b.txt")))


def test_names_are_data_and_large_files_are_refused(write):
    found = sources.read(
        write(flat({**XEON, "Model name": "<b>=cmd|' /C calc'!A0\x1b[31m\n"}), names=("<i>=1+1.json",))
    )
    assert found.hosts[0].name == "<i>=1+1"
    assert found.hosts[0].cpu_model == "<b>=cmd|' /C calc'!A0 [31m"
    with pytest.raises(SourceError, match="source-too-large"):
        sources.read(write(flat(XEON) + " " * lscpu.MOST_BYTES))


some_fields = st.dictionaries(
    st.sampled_from(list(XEON)), hostile.JSON | st.sampled_from(["1", "2", "-1", "0-4,^2", "1e9"])
)


@given(
    changed=some_fields, cut=st.integers(0, 2_000), noise=st.binary(max_size=6), numactl=st.integers(0, len(NUMACTL))
)
def test_anything_gives_hosts_or_a_source_error(tmp_path, changed, cut, noise, numactl):
    items = [{"field": f"{field}:", "data": data} for field, data in {**XEON, **changed}.items()]
    raw = json.dumps({"lscpu": items}).encode()
    if cut % 3 == 0:
        raw = raw[:cut] + noise + raw[cut + len(noise) :]
    (tmp_path / "lscpu.json").write_bytes(raw)
    (tmp_path / "numactl.txt").write_bytes(NUMACTL.encode()[:numactl] + noise + NUMACTL.encode()[numactl + 3 :])
    found = hostile.taken(lambda: lscpu.read([str(tmp_path / "lscpu.json"), str(tmp_path / "numactl.txt")]))
    for host in found.hosts if found else ():
        assert host.sockets > 0 and host.memory_bytes >= 0


HOSTILE = hostile.Importer(
    wrong=[
        (('{"lscpu": {}}',), "a list lscpu"),
        (('{"lscpu": [',), "JSON"),
        (('{"lscpu": []}',), "LC_ALL=C"),
        ((flat({"Architektur": "x86_64", "Thread(s) pro Kern": "2", "Kern(e) pro Socket": "12"}),), "LC_ALL=C"),
        ((flat({**XEON, "Socket(s)": "two"}),), "Socket(s)"),
        ((flat({**XEON, "Socket(s)": "0"}),), "Socket(s)"),
        ((flat({**XEON, "Core(s) per socket": "99999"}),), "at most"),
        ((flat(XEON), "available: 1 nodes (0)\nnode 0 cpus: 0\nnode 0 size: many MB\n"), "numactl.txt:3"),
        ((flat(XEON), "available: 1 nodes (0)\n"), "a size of each node"),
        (('{"lscpu": ' + "[" * 50_000,), "nested"),
        (('{"lscpu": [' + "9" * 5_000 + "]}",), "digits"),
        (('{"lscpu": NaN}',), "NaN"),
    ],
    read=lambda folder, texts: sources.read(files(folder, *texts)),
    has_values=False,
)
