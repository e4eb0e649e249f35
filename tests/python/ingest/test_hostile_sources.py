"""Every importer gives an inventory or one clear error: of wrong answers, too much, broken files and any values."""

from __future__ import annotations

import copy
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.mutation import mutants
from tests.python.ingest import hostile, test_prometheus_text
from tests.python.ingest.benchmarks import test_benchmark_outputs, test_load_runs
from tests.python.ingest.guests import test_pbuttons, test_sar, test_vmstat
from tests.python.ingest.hyperv import test_cmdlets
from tests.python.ingest.kvm import (
    test_libvirt_import,
    test_lscpu,
    test_nova,
    test_ovirt,
    test_proxmox,
    test_proxmox_ceph,
    test_virsh_files,
)
from tests.python.ingest.nutanix import test_prism, test_prism_v4
from tests.reading import survives

from hypertwin.errors import SourceError

IMPORTERS = {
    "ceph": test_proxmox_ceph.HOSTILE,
    "hyper-v": test_cmdlets.HOSTILE,
    "hyper-v json": test_cmdlets.HOSTILE_JSON,
    "libvirt domain": test_libvirt_import.HOSTILE,
    "libvirt host": test_libvirt_import.HOSTILE_HOST,
    "lscpu": test_lscpu.HOSTILE,
    "openstack": test_nova.HOSTILE,
    "ovirt": test_ovirt.HOSTILE,
    "prism": test_prism.HOSTILE,
    "prism v4": test_prism_v4.HOSTILE,
    "prometheus text": test_prometheus_text.HOSTILE,
    "proxmox": test_proxmox.HOSTILE,
    "virsh": test_virsh_files.HOSTILE,
}
WRONG = [
    pytest.param(importer, answers, words, id=f"{name}-{at}-{words[:40]}")
    for name, importer in IMPORTERS.items()
    for at, (answers, words) in enumerate(importer.wrong)
]
LIMITS = [
    pytest.param(importer, *place, value, id=f"{name}-{place[1]}")
    for name, importer in IMPORTERS.items()
    for place, value in importer.limits.items()
]


@pytest.mark.parametrize(("importer", "answers", "words"), WRONG)
def test_what_is_wrong_is_one_clear_error(tmp_path: Path, importer: hostile.Importer, answers: Any, words: str) -> None:
    with pytest.raises(SourceError) as caught:
        importer.read(tmp_path / "source", {**importer.base, **answers} if importer.base else answers)
    assert words in str(caught.value)
    assert f"\n  --> {importer.place}" in str(caught.value)
    assert "help:" in str(caught.value)


@pytest.mark.parametrize(("importer", "module", "limit", "value"), LIMITS)
def test_too_much(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    importer: hostile.Importer,
    module: ModuleType,
    limit: str,
    value: int,
) -> None:
    monkeypatch.setattr(module, limit, value)
    with pytest.raises(SourceError, match="source-too-large"):
        importer.read(tmp_path / "source", importer.good()[0])


@given(data=st.data())
@pytest.mark.parametrize(
    "name", [name for name, importer in IMPORTERS.items() if importer.good() and importer.has_values]
)
def test_any_values_give_an_inventory_or_a_source_error(tmp_path: Path, name: str, data: st.DataObject) -> None:
    importer = IMPORTERS[name]
    answers = copy.deepcopy(data.draw(st.sampled_from(importer.good())))
    for _ in range(data.draw(st.integers(1, 4))):
        hostile.replaced(data, answers, importer)
    found = hostile.taken(lambda: importer.read(tmp_path / "source", answers))
    for vm in found.vms if found else ():
        assert vm.vcpus >= 1 and vm.memory_bytes >= importer.least_memory
        assert vm.name.isprintable() and len(vm.name) <= 256


BROKEN = {
    "benchmarks": (test_benchmark_outputs.WHOLE, 60),
    "load generators": (test_load_runs.WHOLE.values(), 60),
    "pButtons": (test_pbuttons.WHOLE, 150),
    "sar": (test_sar.WHOLE, 80),
    "vmstat": (test_vmstat.WHOLE, 150),
    "vmstat, packed": (test_vmstat.PACKED, 100),
}
"""Files of telemetry, and the number of broken copies of each."""


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_read_or_refused(tmp_path: Path, name: str) -> None:
    samples, count = BROKEN[name]
    copies = (
        broken for each in samples for broken in mutants(each if isinstance(each, bytes) else each.encode(), count)
    )
    read = [survives(tmp_path / "broken", broken) for broken in copies]
    assert any(read) and not all(read)
