"""Texts of waves for tools: what a shell or a YAML parser reads of any name, and what they must not do."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
import yaml

from hypertwin.plan.moving import handover

HOSTILE = (
    "plain",
    "two words",
    "it's",
    '"; rm -rf /; "',
    "$(reboot)",
    "`reboot`",
    "a\\b",
    "yes",
    "1e5",
    "-o",
    "\u00e4\u00f6",
)


def vm(name: str, **best: str) -> Any:
    return {"name": name, "label": name, "becomes": {"name": "clean", "ostype": "l26"}, "best": best}


def wave(*names: str, mode: str = "cold") -> Any:
    return {"number": 3, "mode": mode, "vms": list(names)}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_forklift_plan_names_each_vm_as_the_source_does(name: str) -> None:
    (text,) = handover.texts("openshift", [wave(name, mode="warm")], [vm(name)]).values()
    plan = yaml.safe_load(text)
    assert plan["kind"] == "Plan"
    assert plan["spec"]["warm"] is True
    assert plan["spec"]["vms"] == [{"name": name, "targetName": "clean"}]


@pytest.mark.parametrize("name", [each for each in HOSTILE if not each.startswith("-")])
def test_a_shell_reads_each_name_as_one_word(name: str) -> None:
    (text,) = handover.texts("kvm", [wave(name)], [vm(name)]).values()
    assert shlex.split(text.splitlines()[-1])[-1] == name


def test_a_name_that_would_be_an_option_is_left_out() -> None:
    (text,) = handover.texts("kvm", [wave("-o")], [vm("-o")]).values()
    assert "virt-v2v" not in text


def test_settings_follow_the_import_and_windows_keeps_its_controller() -> None:
    linux, windows = vm("a", scsihw="virtio-scsi-single", numa="1"), vm("b", scsihw="virtio-scsi-single", numa="1")
    windows["becomes"]["ostype"] = "win10"
    (text,) = handover.texts("proxmox", [wave("a", "b")], [linux, windows]).values()
    first, second = text.splitlines()[-2:]
    assert "--scsihw virtio-scsi-single --numa 1" in first
    assert "--scsihw" not in second and "--numa 1" in second


def test_a_wave_without_better_settings_and_other_targets_have_no_text() -> None:
    assert handover.texts("proxmox", [wave("a")], [vm("a")]) == {}
    assert handover.texts("hyperv", [wave("a")], [vm("a")]) == {}
