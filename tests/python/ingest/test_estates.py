"""An import of an estate of which everything is known says the truth, whatever the export leaves out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SOAK
from tests.estate import Estate, in_full, make, nutanix, nutanix_server, prometheus, proxmox, proxmox_server, rvtools
from tests.estate.agreement import MIB, agrees, imported, imported_scenario
from tests.estate.truth import HARDWARE

from hypertwin.ingest import address, sources, to_scenario

TWO = ("Production Cluster", "Edge (old)")

SEEDS = range(1, 1 + SOAK)
"""Each knob in one estate, and more in `make soak`."""

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
    "a third of the hosts of VMs unknown": {"unknown": 0.33, "clusters": TWO},
    "many VMs that are off": {"off": 1.5, "fill": 0.3},
    "one type of host": {"hardware": HARDWARE[:1], "hosts": 3, "vms": 20},
    "two large VMs and one gap": {"hosts": 8, "vms": 150, "fill": 0.8, "twins": True},
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("knobs", KNOBS.values(), ids=list(KNOBS))
@pytest.mark.parametrize("form", FORMS)
def test_an_import_is_the_truth(tmp_path: Path, form: str, knobs: dict[str, Any], seed: int) -> None:
    estate = make(seed, **knobs)
    agrees(imported(FORMS[form](estate, tmp_path)), estate, whole_pct=form == "rvtools")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_estate_of_22_hosts(seed: int) -> None:
    for estate in (in_full(seed), in_full(seed, twins=True)):
        assert (len(estate.hosts), len(estate.on)) == (22, 654)
        assert estate.fill == pytest.approx(0.77, abs=0.001)
    large = [vm for vm in estate.on if vm.memory_mib >= 128 * 1024]
    assert len({vm.host for vm in large}) == 1
    assert len(large) == 2
    gaps = [free for host in estate.hosts if (free := estate.free_gib(host)) >= 128]
    assert len(gaps) == 1
    assert gaps[0] < 256


@pytest.mark.parametrize("seed", SEEDS)
def test_the_import_of_the_estate_of_22_hosts_is_the_truth(tmp_path: Path, seed: int) -> None:
    estate = in_full(seed)
    path = rvtools.write(estate, tmp_path / "RVTools_export_all.xlsx")
    agrees(imported(path), estate, whole_pct=True)
    found = sources.read([str(path)])
    made, assumptions = to_scenario.to_scenario(found)
    first, second, *_ = to_scenario.summary(found, made, assumptions)
    assert first.startswith("warning: 654 VMs (")
    assert "host matched only by the beginning or end of its name" in first
    assert second.startswith("RVTools_export_all.xlsx (rvtools): 22 hosts with 792 cores, 654 of 719 VMs")


@pytest.mark.parametrize("form", FORMS)
def test_vms_whose_host_no_export_says_are_guesses_and_counted(tmp_path: Path, form: str) -> None:
    estate = make(6, unknown=0.4)
    lost = {vm.name for vm in estate.on if vm.told_host is None}
    found = imported(FORMS[form](estate, tmp_path))
    assert 10 < len(lost) < 50
    assert {vm.label or vm.name for vm in found.vms if vm.host_is_guess} == lost


@pytest.mark.parametrize("without", [("vCPU",), ("vMemory",), ("vCluster",), ("vCPU", "vMemory", "vMetaData")])
def test_an_rvtools_export_without_some_tabs_is_the_truth(tmp_path: Path, without: tuple[str, ...]) -> None:
    estate = make(4, measured_vms="vCPU" not in without)
    path = rvtools.write(estate, tmp_path / "RVTools_export_all.xlsx", without=without)
    agrees(imported(path), estate, whole_pct=True)


def test_an_rvtools_export_with_poor_rights_is_the_truth(tmp_path: Path) -> None:
    estate = make(5)
    path = rvtools.write(estate, tmp_path / "RVTools_export_all.xlsx", poor=True)
    agrees(imported(path), estate, whole_pct=True)


PLACED = {name: knobs for name, knobs in KNOBS.items() if "unknown" not in knobs}
"""What Prism Central can say: it knows each VM's host, by its ID."""


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("knobs", PLACED.values(), ids=list(PLACED))
@pytest.mark.parametrize("hypervisor", ["AHV", "ESX"])
def test_answers_of_nutanix_are_the_truth(tmp_path: Path, knobs: dict[str, Any], hypervisor: str, seed: int) -> None:
    estate = make(seed, **knobs)
    agrees(imported(nutanix.write(estate, tmp_path / "prism", limit=40, hypervisor=hypervisor)), estate)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("knobs", PLACED.values(), ids=list(PLACED))
def test_nutanix_over_the_network_is_the_truth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, knobs: dict[str, Any], seed: int
) -> None:
    monkeypatch.setenv(address.PASSWORD_VARIABLE, nutanix_server.SECRET)
    estate = make(seed, **knobs)
    with nutanix_server.serving(nutanix.answers(estate), tmp_path) as central:
        agrees(imported(central.address()), estate)


ONE = {name: knobs for name, knobs in KNOBS.items() if not {"clusters", "affix", "unknown"} & knobs.keys()}
"""What a Proxmox VE cluster can be: it knows one cluster, and each VM's node."""


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("knobs", ONE.values(), ids=list(ONE))
def test_a_dump_of_proxmox_is_the_truth(tmp_path: Path, knobs: dict[str, Any], seed: int) -> None:
    estate = make(seed, **knobs)
    agrees(imported(proxmox.write(estate, tmp_path / "pve.json")), estate)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("knobs", ONE.values(), ids=list(ONE))
def test_a_month_of_proxmox_over_the_network_is_the_truth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, knobs: dict[str, Any], seed: int
) -> None:
    monkeypatch.setenv(address.PASSWORD_VARIABLE, proxmox_server.SECRET)
    estate = make(seed, **knobs)
    with proxmox_server.serving(proxmox.answers(estate, month=True), tmp_path) as node:
        agrees(imported(node.address()), estate)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cluster_of_proxmox_with_a_node_offline_is_the_truth_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setenv(address.PASSWORD_VARIABLE, proxmox_server.SECRET)
    estate = make(seed)
    gone = estate.hosts[1].name
    left = replace(
        estate,
        hosts=[host for host in estate.hosts if host.name != gone],
        vms=[vm for vm in estate.vms if vm.host != gone],
    )
    with proxmox_server.serving(proxmox.offline(proxmox.answers(estate, month=True), gone), tmp_path) as node:
        found = imported_scenario(node.address())
    agrees(found.inventory, left)
    assert f"{gone} is offline" in str(found.data["description"])


@pytest.mark.parametrize("seed", SEEDS)
def test_of_proxmox_without_rights_the_share_of_an_assumed_clock_is_the_truth(tmp_path: Path, seed: int) -> None:
    estate = make(seed)
    found = imported(proxmox.write(estate, tmp_path / "pve.json", poor=True))
    hosts = {host.name: host for host in estate.hosts}
    assert {host.family for host in found.hosts} == {"linux"}
    assert len(found.vms) == len(estate.on)
    for vm in estate.on:
        got = found.vm[vm.name]
        share = (vm.demand_mhz or 0) / hosts[vm.host].hardware.clock_mhz
        assert got.measured.cpu_mhz == pytest.approx(share * 2_500, rel=1e-3)
        assert (got.host, got.vcpus, got.memory_bytes) == (vm.host, vm.vcpus, vm.memory_mib * MIB)
    for host in estate.hosts:
        got = found.host[host.name]
        assert (got.cores, got.memory_bytes) == (host.cores, host.memory_mib * MIB)
        assert got.measured.cpu_usage_pct == pytest.approx(host.cpu_pct, rel=1e-3)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("knobs", [{}, {"clusters": TWO}, {"affix": "siteb{}"}, {"unknown": 0.3}])
def test_measurements_from_prometheus_are_those_of_the_truth(tmp_path: Path, knobs: dict[str, Any], seed: int) -> None:
    """An export without any measurement, and an exporter that has them all."""
    estate = make(seed, **knobs)
    silent = make(seed, **knobs, measured_hosts=False, measured_vms=False)
    path = rvtools.write(silent, tmp_path / "RVTools_export_all.xlsx")
    agrees(imported(path, prometheus.write(estate, tmp_path / "scrapes")), estate)
