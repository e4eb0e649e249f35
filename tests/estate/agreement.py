"""Whether an import says the truth about an estate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.estate.truth import Estate

from hypertwin import Scenario
from hypertwin.ingest import demand, formats, sources, to_scenario

MIB = 2**20
MHZ = 10**6


def imported(source: Path | str, telemetry: Path | None = None) -> Any:
    """The inventory of what an import makes of a source."""
    return imported_scenario(source, telemetry).inventory


def imported_scenario(source: Path | str, telemetry: Path | None = None) -> Scenario:
    """The scenario that an import of a source makes, with what was measured elsewhere."""
    found = sources.read([str(source)])
    if telemetry is not None:
        found = demand.with_measured(found, [formats.read(str(telemetry))])
    made, _ = to_scenario.to_scenario(found)
    return Scenario.from_yaml(to_scenario.to_yaml(made))


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
