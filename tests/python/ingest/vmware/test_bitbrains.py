"""The public trace of a hosting provider's machines."""

from __future__ import annotations

import math

import pytest
from tests import reading
from tests.conftest import ROOT
from tests.fuzz import mutation

from hypertwin.errors import SourceError
from hypertwin.ingest import demand, formats
from hypertwin.ingest.inventory import Host, Inventory, Vm

SAMPLE = ROOT / "tests" / "data" / "bitbrains" / "bitbrains_vm.csv"
VM = "vm/bitbrains_vm"


def test_the_published_machine():
    read, table = reading.read(SAMPLE)
    assert (read.kind, read.gaps, read.notes) == ("bitbrains", [], [])
    assert reading.series(table, VM, "vcpus") == [1] * 300
    assert reading.series(table, VM, "used_mhz")[0] == pytest.approx(19.0666616)
    assert reading.series(table, VM, "memory_bytes")[0] == 2 * 2**30
    assert reading.times(table, VM, "vcpus")[:2] == ["2013-08-12 13:40:46", "2013-08-12 13:45:46"]


def test_it_is_demand():
    inventory = Inventory("x", "x", [Host("esx1", 2, 12, 2, 2**38)], [Vm("Bitbrains_VM", 1, 2**30)])
    (vm,) = demand.with_measured(inventory, [formats.read(str(SAMPLE))]).vms
    values = sorted(float(line.split(";")[3]) for line in SAMPLE.read_text().splitlines()[1:])
    assert vm.demand
    assert vm.demand.cpu_mhz == pytest.approx(sum(values) / len(values))
    assert vm.demand.cpu_peak_mhz == pytest.approx(values[-1])
    assert vm.demand.cpu_p95_mhz == pytest.approx(values[math.ceil(0.95 * len(values)) - 1])
    assert vm.demand.counter == "used_mhz, samples of 300 s"


def test_what_is_broken_is_left_out_or_refused(tmp_path):
    header, *rows = SAMPLE.read_text().splitlines()[:5]
    text = "\n".join([header, *rows, "1;2", "x;1;2;3;4;5;6;7;8;9;10", ""])
    read, table = reading.read(tmp_path / "db.csv", text)
    assert reading.series(table, "vm/db", "vcpus") == [1] * 4
    assert any("2 lines" in note for note in read.notes)
    with pytest.raises(SourceError, match="no measurements"):
        reading.read(tmp_path / "db.csv", header)
    for mutant in mutation.mutants(text.encode(), 300):
        try:
            reading.read(tmp_path / "db.csv", mutant)
        except SourceError:
            continue
