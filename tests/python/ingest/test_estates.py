"""An import of an estate of which everything is known says the truth, whatever the export leaves out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.estate import Estate, in_full, make, rvtools

from hypertwin import Scenario
from hypertwin.ingest import sources, to_scenario

MIB = 2**20
MHZ = 10**6
TWO = ("Production Cluster", "Edge (old)")

Write = Callable[[Estate, Path], Path]
FORMS: dict[str, Write] = {
    "rvtools": lambda estate, folder: rvtools.write(estate, folder / "RVTools_export_all.xlsx"),
}
KNOBS: dict[str, dict[str, Any]] = {
    "all measured": {},
    "two clusters": {"clusters": TWO, "hosts": 7, "vms": 80, "off": 0.3},
    "only hosts measured": {"measured_vms": False},
    "only VMs measured": {"measured_hosts": False},
    "nothing measured": {"measured_hosts": False, "measured_vms": False},
    "host names with a prefix": {"hosts": 12, "affix": "siteb{}", "clusters": TWO},
    "host names with a suffix": {"hosts": 12, "affix": "{}old"},
    "host names with a domain": {"affix": "{}.example.com"},
    "two large VMs and one gap": {"hosts": 8, "vms": 150, "fill": 0.8, "twins": True},
}


def imported(path: Path) -> Any:
    """The inventory of the scenario that an import of a file makes."""
    made, _ = to_scenario.to_scenario(sources.read([str(path)]))
    return Scenario.from_yaml(to_scenario.to_yaml(made)).inventory


def agrees(found: Any, estate: Estate, exact: float = 1e-3, whole_pct: bool = False) -> None:
    """Whether an imported cluster is the estate; measured percentages may be whole ones."""
    hosts = {host.label or host.name: host for host in found.hosts}
    vms = {vm.label or vm.name: vm for vm in found.vms}
    clusters = {each.name: each.label or each.name for each in found.clusters}
    assert set(hosts) == {host.name for host in estate.hosts}
    assert set(vms) == {vm.name for vm in estate.on}
    for host in estate.hosts:
        got = hosts[host.name]
        assert clusters[got.cluster] == host.cluster
        assert (got.sockets, got.cores, got.memory_bytes) == (host.hardware.sockets, host.cores, host.memory_mib * MIB)
        assert got.clock_hz == pytest.approx(host.hardware.clock_mhz * MHZ, rel=exact)
        near = {"abs": 0.51} if whole_pct else {"rel": exact}
        for told, true in (
            (got.measured.cpu_usage_pct, host.cpu_pct),
            (got.measured.memory_usage_pct, host.memory_pct),
        ):
            assert told == (None if true is None else pytest.approx(true, **near))
    for vm in estate.on:
        got = vms[vm.name]
        assert (got.vcpus, got.memory_bytes) == (vm.vcpus, vm.memory_mib * MIB)
        assert clusters[got.cluster] == vm.cluster
        if vm.told_host is not None:
            assert not got.host_is_guess
            assert hosts[vm.host].name == got.host
        assert got.measured.cpu_mhz == (None if vm.demand_mhz is None else pytest.approx(vm.demand_mhz, rel=exact))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("knobs", KNOBS.values(), ids=list(KNOBS))
@pytest.mark.parametrize("form", FORMS)
def test_an_import_is_the_truth(tmp_path: Path, form: str, knobs: dict[str, Any], seed: int) -> None:
    estate = make(seed, **knobs)
    agrees(imported(FORMS[form](estate, tmp_path)), estate, whole_pct=form == "rvtools")


@pytest.mark.parametrize("seed", [1, 2])
def test_the_estate_of_22_hosts(seed: int) -> None:
    estate = in_full(seed)
    assert (len(estate.hosts), len(estate.on)) == (22, 654)
    assert estate.fill == pytest.approx(0.77, abs=0.001)
    large = [vm for vm in estate.on if vm.memory_mib >= 128 * 1024]
    assert len({vm.host for vm in large}) == 1
    assert len(large) == 2
    gaps = [free for host in estate.hosts if (free := estate.free_gib(host)) >= 128]
    assert len(gaps) == 1
    assert gaps[0] < 256


@pytest.mark.parametrize("without", [("vCPU",), ("vMemory",), ("vCluster",), ("vCPU", "vMemory", "vMetaData")])
def test_an_rvtools_export_without_some_tabs_is_the_truth(tmp_path: Path, without: tuple[str, ...]) -> None:
    estate = make(4, measured_vms="vCPU" not in without)
    path = rvtools.write(estate, tmp_path / "RVTools_export_all.xlsx", without=without)
    agrees(imported(path), estate, whole_pct=True)


def test_an_rvtools_export_with_poor_rights_is_the_truth(tmp_path: Path) -> None:
    estate = make(5)
    path = rvtools.write(estate, tmp_path / "RVTools_export_all.xlsx", poor=True)
    agrees(imported(path), estate, whole_pct=True)
