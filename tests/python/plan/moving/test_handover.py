"""Texts of waves for tools: what a shell or a YAML parser reads of any name, and what stubbed tools are told."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from hypertwin.members import Rule
from hypertwin.plan.moving.handover.texts import texts

HOSTILE = (
    "plain",
    "two words",
    "it's",
    '"; touch hacked; "',
    "$(touch hacked)",
    "`touch hacked`",
    "a\\nb\\",
    "two\nlines\ntouch hacked",
    "yes",
    "1e5",
    "esac",
    "*",
    "-o",
    "--",
    "a:b",
    "\u00e4\u00f6 \U0001f600",
)
SHELLS = [each for each in ("sh", "bash") if shutil.which(each)]
PYTHON = os.path.realpath(sys.executable)
LOG = """def log(line):
    with open("log", "a") as file:
        print(repr([line[0].rpartition("/")[2], *line[1:]]), file=file)
"""
STUBS = {
    "pvesh": """import json, os, sys
log(sys.argv)
at = sys.argv[2]
if at == "/cluster/nextid":
    count = int(open("ids").read()) if os.path.exists("ids") else 100
    open("ids", "w").write(str(count + 1))
    print(count)
elif at == "/cluster/resources":
    print(json.dumps([{"name": name, "node": "pve1", "vmid": 100 + at} for at, name in enumerate(known)]))
elif at.endswith("/content"):
    print(json.dumps([{"volid": f"esxi:ha/ds/{at}/{at}.vmx", "name": name} for at, name in enumerate(known)]))
elif sys.argv[1] == "get":
    print(json.dumps({"tags": "old"}))
""",
    "qm": """import sys
log(sys.argv)
if sys.argv[1] == "config":
    print("name: x\\nnet0: vmxnet3=00:50:56:AB:cd:01\\nnet1: virtio=00:50:56:AB:cd:02,bridge=vmbr0")
""",
    **dict.fromkeys(("ha-manager", "virt-v2v"), "import sys\nlog(sys.argv)\n"),
}


def vm(name: str, *networks: tuple[str, int | None], host: str = "esx-1", power: str = "on", **best: str) -> Any:
    nics = [{"network": network, "vlan": vlan} for network, vlan in networks]
    return {
        **{"name": name, "label": name, "becomes": {"name": name, "ostype": "l26"}, "best": best, "host": host},
        **{"networks": nics, "datastores": [], "power": power},
    }


def wave(*names: str, mode: str = "cold") -> Any:
    return {"number": 3, "mode": mode, "vms": list(names)}


def run(text: str, folder: Path, known: list[str], shell: str) -> list[list[str]]:
    """Return the commands that a text runs. `known` are the names of guests."""
    log = f"known = {known!r}\n{LOG}"
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    for name, body in {**STUBS, "python3": ""}.items():
        (programs / name).write_text(f"#!{PYTHON} -IS\n{log}{body}" if body else f'#!/bin/sh\nexec {PYTHON} -IS "$@"\n')
        (programs / name).chmod(0o755)
    for each in ("log", "ids"):
        (folder / each).unlink(missing_ok=True)
    path = folder / "text.sh"
    path.write_text(text)
    assert subprocess.run([shell, "-n", path], check=False).returncode == 0
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    done = subprocess.run([shell, path], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert not (folder / "hacked").exists()
    assert done.returncode == 0, done.stderr
    lines = (folder / "log").read_text().splitlines()
    return [ast.literal_eval(line) for line in lines]


@pytest.mark.parametrize("name", HOSTILE)
def test_forklift_gets_maps_and_a_plan_of_what_the_wave_uses(name: str) -> None:
    one = {**vm(name, (name, 20), ("LAN", 0)), "becomes": {"name": "clean"}, "datastores": [name]}
    other = vm("off", ("LAN", None), power="off")
    (text,) = texts("openshift", [wave(name, "off", mode="warm")], [one, other], []).values()
    networks, storage, plan = yaml.safe_load_all(text)
    assert [each["kind"] for each in (networks, storage, plan)] == ["NetworkMap", "StorageMap", "Plan"]
    assert {each["source"]["name"] for each in networks["spec"]["map"]} == {name, "LAN"}
    assert {each["destination"]["type"] for each in networks["spec"]["map"]} == {"multus"}
    assert [each["source"]["name"] for each in storage["spec"]["map"]] == [name]
    spec = plan["spec"]
    assert (spec["warm"], spec["map"]["network"]["name"]) == (True, networks["metadata"]["name"])
    assert spec["map"]["storage"]["name"] == storage["metadata"]["name"]
    assert spec["vms"] == [{"name": name, "targetName": "clean"}, {"name": "off", "targetPowerState": "off"}]


def test_forklift_gets_placeholders_for_what_the_source_does_not_tell() -> None:
    (text,) = texts("openshift", [wave("a")], [vm("a")], []).values()
    networks, storage, _ = yaml.safe_load_all(text)
    assert networks["spec"]["map"][0]["source"] == {"name": "SOURCE-NETWORK"}
    assert storage["spec"]["map"][0]["source"] == {"name": "SOURCE-DATASTORE"}


@pytest.mark.parametrize("shell", SHELLS)
def test_virt_v2v_gets_each_name_as_it_is_and_a_bridge_for_each_network(shell: str, tmp_path: Path) -> None:
    members = [vm(name, (name, None)) for name in HOSTILE]
    (text,) = texts("kvm", [wave(*HOSTILE)], members, []).values()
    told = run(text, tmp_path, [], shell)
    assert [line[-1] for line in told] == list(HOSTILE)
    mapped = [told[0][at + 1].rpartition(":")[0] for at, word in enumerate(told[0]) if word == "--bridge"]
    assert sorted(mapped) == sorted(["", *(name for name in HOSTILE if ":" not in name)])


@pytest.mark.parametrize("shell", SHELLS)
def test_proxmox_imports_each_vm_and_keeps_its_mac(shell: str, tmp_path: Path) -> None:
    members = [vm(name, (name, 20), (f"{name} 2", None), host=name, numa="1", net0="virtio,tag=20") for name in HOSTILE]
    (text,) = texts("proxmox", [wave(*HOSTILE)], members, []).values()
    told = run(text, tmp_path, list(HOSTILE), shell)
    imports = [line for line in told if line[:2] == ["qm", "import"]]
    assert [line[2:4] for line in imports] == [
        [str(100 + at), f"esxi:ha/ds/{at}/{at}.vmx"] for at in range(len(HOSTILE))
    ]
    storages = {line[2].split("/")[4] for line in told if line[0] == "pvesh" and line[2].endswith("/content")}
    assert len(storages) == len(HOSTILE)
    assert ["qm", "set", "100", "--numa", "1"] in told
    first = next(line for line in told if line[:4] == ["qm", "set", "100", "--net0"])
    assert first[4].startswith("virtio=00:50:56:AB:cd:01,bridge=BRIDGE-") and first[4].endswith(",tag=20")
    second = next(line for line in told if line[:4] == ["qm", "set", "100", "--net1"])
    assert second[4].startswith("virtio=00:50:56:AB:cd:02,bridge=") and "tag" not in second[4]


def test_proxmox_refuses_a_guest_that_is_not_there_or_twice(tmp_path: Path) -> None:
    (text,) = texts("proxmox", [wave("a")], [vm("a")], []).values()
    for known in ([], ["a", "a"]):
        with pytest.raises(AssertionError, match=f"{len(known)} guests with the name a"):
            run(text, tmp_path, known, "sh")


def test_new_disks_are_made_at_the_import_and_windows_keeps_its_controller(tmp_path: Path) -> None:
    best = {"scsihw": "virtio-scsi-single", "numa": "1", "efidisk0": "efitype=4m,pre-enrolled-keys=1"}
    linux, windows = vm("a", **best), vm("b", **best, tpmstate0="version=v2.0")
    windows["becomes"]["ostype"] = "win10"
    (text,) = texts("proxmox", [wave("a", "b")], [linux, windows], []).values()
    told = run(text, tmp_path, ["a", "b"], "sh")
    first, second = (line for line in told if line[1] == "import")
    assert first[-2:] == ["--efidisk0", "TARGET-STORAGE:1,efitype=4m,pre-enrolled-keys=1"]
    assert second[-2:] == ["--tpmstate0", "TARGET-STORAGE:1,version=v2.0"]
    assert [line[3:] for line in told if line[1] == "set"] == [
        ["--scsihw", "virtio-scsi-single", "--numa", "1"],
        ["--numa", "1"],
    ]


def rule(kind: str, vms: tuple[str, ...], hosts: tuple[str, ...] = (), *, mandatory: bool = False) -> Rule:
    return Rule(f"{kind} $(touch hacked)", kind, vms, hosts, mandatory)


RULES = [
    rule("keep-together", ("it's", "b")),
    rule("keep-apart", ("b", "c")),
    rule("keep-apart", ("b", "elsewhere")),
    rule("run-on", ("c",), ("esx-1", "esx 2"), mandatory=True),
    rule("not-on", ("c",), ("esx-1",)),
]


@pytest.mark.parametrize("shell", SHELLS)
def test_rules_of_the_source_become_rules_of_the_ha_manager(shell: str, tmp_path: Path) -> None:
    members = [vm("it's"), vm("b"), vm("c", power="off")]
    found = texts("proxmox", [wave("it's", "b"), {**wave("c"), "number": 4}], members, RULES)
    told = run(found["rules-ha.sh"], tmp_path, ["it's", "b", "c"], shell)
    assert ["ha-manager", "add", "vm:102", "--state", "stopped"] in told
    assert [line[3:-2] for line in told if line[:3] == ["ha-manager", "rules", "add"]] == [
        ["resource-affinity", "move-1", "--affinity", "positive", "--resources", "vm:100,vm:101"],
        ["resource-affinity", "move-2", "--affinity", "negative", "--resources", "vm:101,vm:102"],
        ["node-affinity", "move-3", "--resources", "vm:102", "--nodes", "NODE-2,NODE-1", "--strict", "1"],
        ["node-affinity", "move-4", "--resources", "vm:102", "--nodes", "NODES-ALLOWED-4"],
    ]
    comments = [line[-1] for line in told if line[:3] == ["ha-manager", "rules", "add"]]
    assert comments[0] == "keep-together $(touch hacked)"


@pytest.mark.parametrize("shell", SHELLS)
def test_rules_of_the_source_become_tags_of_proxlb(shell: str, tmp_path: Path) -> None:
    found = texts("proxmox", [wave("it's", "b", "c")], [vm("it's"), vm("b"), vm("c")], RULES)
    told = run(found["rules-proxlb.sh"], tmp_path, ["it's", "b", "c"], shell)
    assert [line[2:] for line in told if line[:2] == ["pvesh", "set"]] == [
        ["/nodes/pve1/qemu/100/config", "--tags", "old;plb_affinity_move1"],
        ["/nodes/pve1/qemu/101/config", "--tags", "old;plb_affinity_move1"],
        ["/nodes/pve1/qemu/101/config", "--tags", "old;plb_anti_affinity_move2"],
        ["/nodes/pve1/qemu/102/config", "--tags", "old;plb_anti_affinity_move2"],
        ["/nodes/pve1/qemu/102/config", "--tags", "old;plb_pin_NODE-2"],
        ["/nodes/pve1/qemu/102/config", "--tags", "old;plb_pin_NODE-1"],
    ]


def test_a_vm_that_cannot_be_found_ends_the_text_before_its_rule(tmp_path: Path) -> None:
    found = texts("proxmox", [wave("a", "b")], [vm("a"), vm("b")], [rule("keep-apart", ("a", "b"))])
    for shell in SHELLS:
        with pytest.raises(AssertionError, match="0 VMs with the name b"):
            run(found["rules-ha.sh"], tmp_path, ["a"], shell)
        assert "rules" not in (tmp_path / "log").read_text().replace("'/cluster/resources'", "")


def test_without_rules_or_for_other_targets_there_is_no_such_text() -> None:
    assert set(texts("proxmox", [wave("a")], [vm("a")], [])) == {"wave-3.sh"}
    assert set(texts("proxmox", [wave("a")], [vm("a")], [rule("keep-apart", ("a", "gone"))])) == {"wave-3.sh"}
    assert set(texts("kvm", [wave("a", "b")], [vm("a"), vm("b")], [rule("keep-apart", ("a", "b"))])) == {"wave-3.sh"}
    assert texts("hyperv", [wave("a")], [vm("a")], []) == {}
