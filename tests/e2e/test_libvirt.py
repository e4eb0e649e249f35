"""libvirt accepts the domain that `hypertwin size --snippet libvirt` prints, and reads from it what was promised."""

from __future__ import annotations

import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.conftest import needs

pytestmark = pytest.mark.slow

CASES = [
    ("--host 2x12 --vcpus 24 --memory 96GiB --hypervisor linux-6.12", [12, 12]),
    ("--host 2x12 --vcpus 24 --memory 96GiB --hypervisor linux-6.12 --bind", [12, 12]),
    ("--host 4x9x1 --vcpus 26 --memory 1001MiB --hypervisor linux-6.6 --bind", [7, 7, 7, 7]),
    ("--host 1x8 --vcpus 1 --memory 1GiB --hypervisor linux-6.12 --bind", [1]),
    ("--host 2x10 --vcpus 20 --memory 64GiB --hypervisor esxi-8.0", [10, 10]),
]


@pytest.fixture
def domain(cli, tmp_path: Path):
    """The printed domain as a file."""

    def write(options: str) -> Path:
        needs("virsh", "virt-xml-validate", "xmllint")
        file = tmp_path / "domain.xml"
        file.write_text(cli("size", *options.split(), "--snippet", "libvirt").stdout)
        return file

    return write


@pytest.mark.parametrize(("options", "cells"), CASES)
def test_the_domain_is_valid_by_libvirts_schema(domain, options, cells):
    file = domain(options)
    done = subprocess.run(["virt-xml-validate", file, "domain"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [len(cell) for cell in _cells(file.read_text())] == cells


@pytest.mark.parametrize(("options", "cells"), CASES)
def test_libvirt_defines_the_domain(domain, options, cells):
    file = domain(options)
    file.write_text(file.read_text().replace('type="kvm"', 'type="test"'))
    commands = f"define {file}; dumpxml VM-NAME"
    done = subprocess.run(
        ["virsh", "--connect", "test:///default", commands], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    read = done.stdout[done.stdout.index("<domain") :]
    assert [len(cell) for cell in _cells(read)] == cells
    tree = ElementTree.fromstring(read)
    memory_kib = int(tree.findtext("memory") or 0)
    assert memory_kib == sum(int(cell.get("memory", 0)) for cell in tree.iterfind("cpu/numa/cell"))
    if "--bind" in options:
        assert [node.get("nodeset") for node in tree.iterfind("numatune/memnode")] == [
            str(node) for node in range(len(cells))
        ]
        pins = {int(pin.get("vcpu", -1)): pin.get("cpuset") for pin in tree.iterfind("cputune/vcpupin")}
        assert [{pins[vcpu] for vcpu in cell} for cell in _cells(read)] == [{pins[cell[0]]} for cell in _cells(read)], (
            "the vCPUs of a cell are on one host node"
        )
        assert len(set(pins.values())) == len(cells)


def _cells(xml: str) -> list[range]:
    lists = [cell.get("cpus", "") for cell in ElementTree.fromstring(xml).iterfind("cpu/numa/cell")]
    ends = [(text.split("-")[0], text.split("-")[-1]) for text in lists]
    return [range(int(first), int(last) + 1) for first, last in ends]
