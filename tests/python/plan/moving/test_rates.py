"""Published figures of tools that move VMs, and what follows from them."""

from __future__ import annotations

import pytest

from hypertwin.errors import ScenarioError
from hypertwin.plan.moving import rates
from hypertwin.plan.moving.rates import GIB, MIB

TARGETS = ("proxmox", "kvm", "openshift", "hyperv", "ahv")


def test_rates_are_set_by_figures_of_one_and_ten_vms_of_one_host() -> None:
    setting = {
        name
        for tool in rates.tools()
        for each in tool.rates.values()
        for rate in (each.vm, each.host, each.overhead)
        for name in rate.figures
    }
    assert setting
    for figure in map(rates.figure, setting):
        assert (figure.hosts, figure.role) == (1, "rate")
        assert figure.vms in (1, 10)
    for each in rates.figures():
        assert (each.role == "rate") == (each.id in setting)
        assert each.hosts == 1 or each.role in ("predicted", "context")


def test_three_figures_give_rate_overhead_and_limit_of_a_host() -> None:
    """162 MiB/s alone; 35 GiB in 6 minutes leave 139 s; 350 GiB in 21:39 less 139 s are 309 MiB/s."""
    found = rates.tool("mtv").rates["cold"]
    assert found.vm.value == 162 * MIB
    assert found.overhead.value == pytest.approx(360 - 35 * 1024 / 162)
    assert found.host.value / MIB == pytest.approx(350 * 1024 / (1299 - 138.765), rel=1e-4)
    assert not found.assumed
    assert rates.labs_differ() == pytest.approx(331.72 / (350 * 1024 / 1299))


def test_every_target_has_a_tool_and_every_source_its_commit_or_page() -> None:
    for target in TARGETS:
        assert rates.tools_for(target)
    assert [each.id for each in rates.tools_for("proxmox")] == ["proxmox-esxi", "proxmox-vcenter"]
    assert rates.tools_for("xen") == ()
    for each in rates.figures():
        assert "." in rates.source(each.source)
    assert rates.source("forklift-esxi").endswith("commit 23f553c9")
    assert "commit" not in rates.source("proxcenter-806")
    for tool in rates.tools():
        assert tool.sources
        assert tool.slots_per_host <= tool.slots_per_host_highest
        assert set(tool.flow) == set(tool.modes)


def test_tools_without_published_rates_are_marked_with_the_range_of_all() -> None:
    known = {tool.id for tool in rates.tools() for each in tool.rates.values() if not each.assumed}
    assert known == {"mtv", "proxmox-esxi", "proxmox-vcenter"}
    for name, mode in (("virt-v2v", "cold"), ("hyper-v-converter", "warm"), ("move", "warm")):
        found = rates.tool(name).rates[mode]  # type: ignore[index]
        assert found.vm.value == rates.tool("mtv").rates[mode].vm.value  # type: ignore[index]
        assert (found.vm.low / MIB, found.vm.high / MIB) == pytest.approx((38.15, 162))
        assert (found.host.low / MIB, found.host.high / MIB) == pytest.approx((89.6, 481.54))


def test_several_figures_give_their_median_and_range() -> None:
    found = rates.tool("proxmox-esxi").rates["cold"]
    assert (found.vm.low / MIB, found.vm.value / MIB, found.vm.high / MIB) == pytest.approx((38.15, 53.05, 140))
    assert found.host.assumed


def test_limits_of_a_tool_are_those_of_its_documentation() -> None:
    mtv, converter = rates.tool("mtv"), rates.tool("hyper-v-converter")
    assert (mtv.slots_per_host, mtv.slots_per_host_highest) == (10, 20)
    assert (mtv.total_slots("cold"), mtv.total_slots("warm"), converter.total_slots("warm")) == (None, 200, 10)
    assert (mtv.large_disk_bytes, mtv.churn_bytes, mtv.snapshots, mtv.interval_s) == (1e12, 1e11, 28, 3600)
    assert (converter.large_disk_bytes, converter.snapshots) == (1e12, None)


def test_the_rate_of_a_figure_is_its_own_or_its_data_over_the_time() -> None:
    assert rates.figure("mtv-cold-one-disk").bytes_per_s == 162 * MIB
    assert rates.figure("mtv-cold-10").bytes_per_s == pytest.approx(350 * GIB / 1299)
    with pytest.raises(ValueError, match="neither"):
        _ = rates.figure("mtv-cold-500-one-plan").bytes_per_s


def test_an_unknown_tool_is_rejected_with_the_known_ones() -> None:
    with pytest.raises(ScenarioError, match="proxmox-vcenter") as raised:
        rates.tool("proxmox")
    assert "allowed: mtv, proxmox-esxi" in str(raised.value)


def test_assumptions_have_reasons() -> None:
    for name in ("boot_s", "churn_per_day", "shared_storage", "ethernet_payload"):
        found = rates.assumption(name)
        assert found.low <= found.value <= found.high
        assert found.reason.endswith(".")
