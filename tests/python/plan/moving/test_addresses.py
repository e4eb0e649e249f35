"""Addresses of VMs after a move, and the way back from a wave."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from tests.python.plan.moving.vms import vm

from hypertwin.members import SourceVm
from hypertwin.plan.moving import addresses, conditions, rollback
from hypertwin.plan.moving.context import Context
from hypertwin.plan.moving.target import Target

TARGETS: tuple[Target, ...] = get_args(Target)
WINDOWS, LINUX = "Microsoft Windows Server 2019 (64-bit)", "Debian GNU/Linux 12 (64-bit)"


def ip(target: Target, *, off: bool = False, guest_os: str | None = None, **facts: Any) -> addresses.Keeping:
    one = vm("a", guest_os=guest_os, source=SourceVm(**facts))
    return addresses.keeping(one, "ip", Context(target, off=frozenset("a" if off else "")))


def test_forklift_keeps_a_static_address_only_of_a_vm_whose_tools_run() -> None:
    assert ip("openshift", has_ip=True, tools="running").kept == "option"
    assert ip("openshift", has_ip=True, tools="not-running").kept == "no"
    assert ip("openshift", has_ip=False, tools="running").kept == "no"
    unknown = ip("openshift", has_ip=True)
    assert (unknown.kept, unknown.text) == ("not-known", "Not known from this export: RVTools vTools, Tools")
    assert ip("openshift").kept == "not-known"


def test_virt_v2v_keeps_the_address_of_linux_and_sets_that_of_windows() -> None:
    assert ip("kvm", guest_os=LINUX).kept == "yes"
    assert ip("kvm", guest_os=WINDOWS).kept == "option"
    assert ip("kvm", guest_os="FreeBSD 12 (64-bit)").kept == "not-known"
    assert ip("kvm").kept == "not-known"


def test_hyperv_reads_the_address_in_a_running_guest() -> None:
    assert ip("hyperv").kept == "option"
    assert ip("hyperv", off=True).kept == "not-known"


def test_mac_addresses() -> None:
    kept = {target: addresses.keeping(vm(), "mac", Context(target)).kept for target in TARGETS}
    assert kept == {**dict.fromkeys(("proxmox", "openshift", "kvm"), "yes"), "hyperv": "not-known", "ahv": "not-known"}
    assert ip("proxmox").kept == "by-hand"


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_decides_each_address_and_has_a_way_back(target: Target) -> None:
    for address in addresses.ADDRESSES:
        entries = addresses.keepings(target, address)
        assert entries[-1].condition == "always"
        assert all(each.condition in conditions.CONDITIONS and each.source for each in entries)
    assert any("Power on the source VM" in each["text"] for each in rollback.steps(target))
    assert all(each["source"] and each["mode"] in ("", "cold", "warm") for each in rollback.steps(target))


def test_the_way_back_has_the_steps_of_the_mode_and_each_vm_on_one_line() -> None:
    waves: Any = [
        {"number": 1, "mode": "cold", "vms": ["a"]},
        {"number": 2, "mode": "warm", "vms": ["b"]},
    ]
    vms: Any = [{"name": "a", "label": "two\nlines"}, {"name": "b", "label": "b" * 999}]
    text = rollback.text("openshift", waves, vms, "7 days")
    assert "only after 7 days of acceptance" in text
    cold, warm = text.split("\nWave ")[1:]
    assert cold.startswith("1 (cold)\n  1. ") and "  - two lines\n" in cold
    assert "cancel the migration" in warm and "cancel the migration" not in cold
    assert max(map(len, text.splitlines())) < 300
