"""`hypertwin size`: what it prints, and what it says of a mistake."""

from __future__ import annotations

import csv
import io
import json
import shlex

import pytest
from tests.conftest import ROOT

KEYS = {"sockets", "cores_per_socket", "vcpus", "vpds", "fits_node", "settings", "text"}
CANDIDATE = {
    *("name", "vcpus", "sockets", "cores_per_socket", "settings", "vpds", "ppds", "homes"),
    *("fits_node", "local_memory_pct", "bandwidth_nodes", "warnings"),
}


def test_json_has_the_advice_the_candidates_and_the_change(cli):
    done = cli("size", "--host", "2x12", "--vcpus", 23, "--memory", "96GiB", "--format", "json", "--name", "db")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert set(found["advice"]) == KEYS
    assert (found["advice"]["vcpus"], found["advice"]["vpds"], found["advice"]["fits_node"]) == (24, [12, 12], False)
    assert all(set(candidate) == CANDIDATE for candidate in found["candidates"])
    assert found["candidates"][0]["name"] == "advised"
    assert found["candidates"][0]["warnings"] == []
    assert "as asked" in {candidate["name"] for candidate in found["candidates"]}
    assert set(found["snippets"]) == {"vmx", "powercli", "govc"}
    assert 'numvcpus = "24"' in found["snippets"]["vmx"]
    assert any("--node-memory" in note for note in found["notes"])


def test_csv_has_the_codes_of_warnings(cli):
    asked = ("size", "--host", "2x12", "--vcpus", 13, "--memory", "96GiB", "--format")
    found = json.loads(cli(*asked, "json", exits=0).stdout)["candidates"]
    rows = csv.DictReader(io.StringIO(cli(*asked, "csv", exits=0).stdout))
    codes = {each["name"]: " ".join(warning["code"] for warning in each["warnings"]) for each in found}
    assert {row["name"]: row["warnings"] for row in rows} == codes
    assert any(codes.values())


def test_the_table_shows_candidates_reasons_and_the_change(cli):
    done = cli(
        "size", "--host", "2x12", "--vcpus", 24, "--memory", "96GiB", "--hypervisor", "linux-6.12", "--explain", exits=0
    )
    for text in (
        "advised",
        "no virtual nodes",
        "2 × 12",
        "24 vCPUs as 2 sockets of 12 cores",
        "<domain",
        "qm set VMID",
    ):
        assert text in done.stdout


KVM = ("libvirt", "qm", "qemu")


@pytest.mark.parametrize("target", ["vmx", "powercli", "govc", *KVM])
@pytest.mark.parametrize("hypervisor", ["esxi-8.0", "linux-6.12"])
def test_a_snippet_is_all_that_is_printed(cli, target, hypervisor):
    done = cli(
        *("size", "--host", "2x12", "--vcpus", 24, "--memory", "96GiB", "--hypervisor", hypervisor),
        *("--name", "105", "--snippet", target),
    )
    assert (done.returncode, done.stderr) == (0, "")
    first = {"vmx": "numvcpus", "powercli": "$vm", "govc": "govc", "libvirt": "<domain", "qm": "qm", "qemu": "-name"}
    assert done.stdout.startswith(first[target])


@pytest.mark.parametrize(
    ("target", "rules"),
    [*((name, "esxi-8.0") for name in ("vmx", "powercli", "govc")), *((name, "linux-6.12") for name in KVM)],
)
def test_a_snippet_is_by_the_rules_of_its_hypervisor(cli, target, rules):

    arguments = ("size", "--host", "2x12", "--vcpus", 23, "--memory", "96GiB", "--name", "105", "--snippet", target)
    done = cli(*arguments, says=f"topology by the rules of {rules}\n")
    assert done.stdout == cli(*arguments, "--hypervisor", rules).stdout


def test_the_rules_of_a_scenario_s_host_are_said(cli):
    host = f"{ROOT / 'scenarios' / 'small-esxi.yaml'}:esx"
    done = cli("size", "--host", host, "--vcpus", 4, "--memory", "8GiB", "--snippet", "qemu")
    assert (done.returncode, done.stderr) == (0, "topology by the rules of esxi-7.0\n")


def test_bound_nodes_are_the_homes(cli):
    arguments = ("size", "--host", "2x12", "--vcpus", 24, "--memory", "96GiB", "--hypervisor", "linux-6.12", "--bind")
    words = shlex.split(cli(*arguments, "--snippet", "qm", "--name", "105").stdout)
    assert "cpus=12-23,memory=49152,hostnodes=1,policy=bind" in words
    assert "host-nodes=1,policy=bind" in cli(*arguments, "--snippet", "qemu").stdout
    assert '<vcpupin vcpu="12" cpuset="12-23,36-47" />' in cli(*arguments, "--snippet", "libvirt").stdout


def test_a_host_of_a_scenario_knows_its_clock_and_where_to_fail_over(cli):
    scenario = ROOT / "scenarios" / "small-esxi.yaml"
    arguments = ("size", "--memory", "32GiB", "--demand", "10 GHz", "--format", "json", "--host")
    found = json.loads(cli(*arguments, f"{scenario}:esx").stdout)
    assert found["host"]["hypervisor"] == "esxi-7.0"
    assert found["asked"]["demand_cores"] == 4
    # 4 cores at 80 % are 5 vCPUs, more than a node's 4 cores
    assert found["advice"]["vpds"] == [3, 3]
    assert any("For failover, another host needs" in note for note in found["notes"])


def test_hosts_that_the_machine_does_not_fit_are_counted(cli, tmp_path):
    text = (ROOT / "scenarios" / "small-esxi.yaml").read_text()
    group = text[text.index("  esx:") : text.index("vms:")]
    small = group.replace("  esx:", "  small:").replace("cores_per_socket: 4", "cores_per_socket: 2")
    more = text.replace(group, group.replace("esx:", "esx:\n    count: 2", 1).rstrip() + "\n" + small)
    (tmp_path / "cluster.yaml").write_text(more)
    arguments = ("--host", "cluster.yaml:esx", "--vcpus", 8, "--memory", "32GiB", "--format", "json")
    done = cli("size", *arguments, exits=0)
    assert "The VM fits on 1 of 2 other hosts." in json.loads(done.stdout)["notes"]


@pytest.mark.parametrize(
    ("other", "reserved", "said"),
    [
        ({}, 0, "The VM fits on 2 of 2 other hosts."),
        ({"cores_per_socket": 12}, 0, "The VM fits on 2 of 2 other hosts."),
        ({"cores_per_socket": 12}, 1, "The VM fits on 0 of 2 other hosts"),
        ({"cluster": "c2"}, 0, "The cluster has no other ESXi host: the VM cannot restart if this host fails."),
        ({"hypervisor": "linux-6.12"}, 0, "The cluster has no other ESXi host: the VM cannot restart"),
    ],
)
def test_only_hosts_where_the_machine_can_restart_count(cli, tmp_path, other, reserved, said):
    host = {"cluster": "c1", "sockets": 2, "cores_per_socket": 13, "clock": "2 GHz", "hypervisor": "esxi-8.0"}
    host["memory_per_node"] = "128 GiB"
    hosts = {"a": host, "b": host | {"count": 2} | other}
    (tmp_path / "clusters.yaml").write_text(json.dumps({"name": "clusters", "hosts": hosts, "vms": {}}))
    arguments = ("--vcpus", 24, "--memory", "96GiB", "--reserved-cores", reserved, "--format", "json")
    done = cli("size", "--host", "clusters.yaml:a", *arguments, exits=0)
    assert json.loads(done.stdout)["notes"][-1].startswith(said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--host 2x12 --vcpus 30 --memory 8GiB", ["--vcpus 30", "more-vcpus-than-cores", "up to 24 vCPUs"]),
        ("--host 2x12 --vcpus 20 --memory 8GiB --reserved-cores 6", ["--vcpus 20", "up to 18 vCPUs", "6 reserved"]),
        ("--host 2x12 --demand 20 --memory 8GiB", ["--demand 20", "25 vCPUs at 80 %"]),
        ("--host 2x12 --memory 8GiB", ["--vcpus", "(missing)", "demand, or both"]),
        ("--host 2x12 --vcpus 0 --memory 8GiB", ["--vcpus 0", "out-of-range"]),
        ("--host 2x12 --vcpus 4", ["--memory"]),
        ("--host 2x12 --vcpus 4 --memory 8", ["--memory 8", "bad-unit"]),
        ("--host 2x12 --vcpus 4 --memory 999GiB", ["--memory 999GiB", "memory-exceeds-host", "256 GiB"]),
        ("--host 2x12 --vcpus 4 --memory 8GiB --node-memory many", ["--node-memory many", "bad-quantity"]),
        (
            "--host 2x12 --vcpus 4 --memory 8GiB --hypervisor esxi-1",
            ["--hypervisor esxi-1", "unknown-value", "did you mean esxi-"],
        ),
        (
            "--host 2x12 --vcpus 4 --memory 8GiB --nodes-per-socket 5",
            ["--nodes-per-socket 5", "uneven-division", "1, 2, 3, 4, 6, 12", "choose one of these"],
        ),
        ("--host 2x12 --vcpus 4 --memory 8GiB --nodes-per-socket 0", ["--nodes-per-socket 0", "out-of-range"]),
        ("--host 2by12 --vcpus 4 --memory 8GiB", ["--host 2by12", "bad-host", "2x12x2@2.5GHz"]),
        ("--host 0x12 --vcpus 4 --memory 8GiB", ["--host 0x12", "0 sockets", "out-of-range"]),
        ("--host 2x12x3 --vcpus 4 --memory 8GiB", ["--host 2x12x3", "3 threads"]),
        ("--host 2x12@fast --vcpus 4 --memory 8GiB", ["--host 2x12@fast", "bad-quantity"]),
        ("--host none.yaml:esx --vcpus 4 --memory 8GiB", ["none.yaml", "file-not-found"]),
        ("--host 2x12 --demand 25GHz --memory 8GiB", ["--demand 25GHz", "2x12@2.5GHz"]),
        ("--host 2x12 --demand some --memory 8GiB", ["--demand some", "bad-quantity"]),
        ("--host 2x12 --demand 0 --memory 8GiB", ["--demand 0", "out-of-range"]),
        ("--host 2x12 --demand -4 --memory 8GiB", ["--demand -4"]),
        ("--host 2x12 --vcpus 4 --memory 8GiB --reserved-cores 24", ["--reserved-cores 24", "0 to 23"]),
        ("--host 2x12 --vcpus 4 --memory 8GiB --name a;b", ["--name a;b", "bad-name"]),
        ("--host 2x12 --vcpus 4 --memory 8GiB --snippet qm", ["--name", "105"]),
        ("--host 2x12 --vcpus 4 --memory 8GiB --bind", ["--bind", "libvirt, qm or qemu"]),
        ("--host 2x12 --vcpus 4 --memory 8GiB --snippet xen", ["--snippet", "powercli"]),
    ],
)
def test_a_mistake_names_the_option_and_what_is_allowed(cli, arguments, said):
    done = cli("size", *arguments.split(), exits=2)
    assert all(part in done.stderr for part in said), done.stderr


def test_a_scenario_has_the_hosts_hypervisor_and_memory_already(cli):
    scenario = ROOT / "scenarios" / "small-esxi.yaml"
    arguments = ("--vcpus", 4, "--memory", "8GiB")
    done = cli("size", "--host", f"{scenario}:esx", "--hypervisor", "esxi-8.0", *arguments)
    assert (done.returncode, "--hypervisor esxi-8.0" in done.stderr) == (2, True)
    done = cli("size", "--host", f"{scenario}:esxi", *arguments)
    assert (done.returncode, "a host group of" in done.stderr) == (2, True)


def test_sockets_that_firmware_divides_have_smaller_nodes(cli):
    asked = ("--vcpus", 32, "--memory", "96GiB", "--node-memory", "64GiB", "--nodes-per-socket", 4)
    done = cli("size", "--host", "2x32", *asked, "--hypervisor", "linux-6.12", "--bind", "--format", "json", exits=0)
    found = json.loads(done.stdout)
    assert (found["advice"]["vpds"], found["candidates"][0]["homes"]) == ([8] * 4, [0, 1, 2, 3])
    assert (found["host"]["sockets"], found["host"]["nodes"], found["host"]["cores_per_node"]) == (2, 8, 8)
    # Linux numbers the first threads of all 64 cores first; the last vCPU is on node 3
    assert '<vcpupin vcpu="31" cpuset="24-31,88-95"' in found["snippets"]["libvirt"]
    whole = cli("size", "--host", "2x32", *asked[:-2], "--format", "json")
    assert json.loads(whole.stdout)["advice"]["vpds"] == [16, 16]
    page = cli("size", "--host", "2x32", *asked)
    assert "2 × 32 cores in 8 nodes" in page.stdout


def test_vnuma_carries_the_advice(cli):
    arguments = "--hypervisor esxi-6.5 --sockets 2 --cores 12 --vcpus 24 --cores-per-socket 8"
    found = json.loads(cli("vnuma", *arguments.split(), "--format", "json").stdout)
    assert set(found["advice"]) == KEYS
    assert (found["vpds"], found["advice"]["vpds"]) == ([8, 8, 8], [12, 12])
    assert "Advice: 24 vCPUs as 2 sockets of 12 cores" in cli("vnuma", *arguments.split(), "--explain").stdout
