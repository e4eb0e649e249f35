"""The advice on one machine's topology: its rules on random hosts and demands, and the text to paste."""

from __future__ import annotations

import math
import re
import shlex
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypertwin import ScenarioError
from hypertwin.plan import size, snippets
from hypertwin.scenario import virtual_numa

GIB = 1024**3
ESXI = ("esxi-5.0", "esxi-5.5", "esxi-6.0", "esxi-6.5", "esxi-6.7", "esxi-7.0", "esxi-7.0u2", "esxi-8.0", "esxi-9.0")
HYPERVISORS = (*ESXI, "linux-6.6", "linux-6.12")

hosts = st.builds(
    lambda hypervisor, sockets, cores, threads, memory, parts: size.Host(
        *(hypervisor, sockets, cores, threads, f"{memory} GiB"),
        clock_hz=2_500_000_000,
        nodes_per_socket=math.gcd(cores, parts),
    ),
    st.sampled_from(HYPERVISORS),
    st.sampled_from([1, 2, 4, 8]),
    st.integers(1, 32),
    st.integers(1, 2),
    st.integers(32, 512),
    st.sampled_from([1, 2]),
)


@st.composite
def machines(draw: st.DrawFn) -> tuple[size.Host, int, int]:
    """A host, vCPUs that it has cores for, and memory in GiB of which it has some left."""
    host = draw(hosts)
    node_gib = int(str(host.node_memory).split()[0])
    return host, draw(st.integers(1, host.cores)), draw(st.integers(1, max(1, int(host.nodes * node_gib * 0.8))))


@given(machines())
def test_the_advice_keeps_the_rules(machine):
    host, vcpus, memory = machine
    advice = size.advise(host, memory=f"{memory} GiB", vcpus=vcpus)
    best = advice.advised
    several = len(best.vpds) > 1
    assert best.vpds == [best.cores_per_socket] * len(best.vpds), "an even split, sockets as large as nodes"
    assert sum(best.vpds) == best.vcpus <= host.cores, "no more vCPUs than cores"
    assert max(best.vpds) <= host.cores_per_node
    assert best.vcpus >= vcpus
    assert not best.layout["collapsed"]
    assert best.local_share == 1 or memory * GIB > 0.85 * _node_bytes(best), (
        "memory is local where a node could hold it"
    )
    if several:
        assert best.bandwidth_nodes == len(best.vpds)
        assert best.vcpus % 2 == 0 or host.cores % 2 or host.cores_per_node % 2
    elif vcpus <= host.cores_per_node:
        assert best.vcpus == vcpus, "a machine within a node stays as it was asked"
    codes = {warning["code"] for warning in best.warnings}
    assert codes <= {"memory-spill", "odd-wide"}, codes
    # the fewest nodes that hold vCPUs and memory
    if several and len(best.vpds) > -(-vcpus // host.cores_per_node):
        assert memory * GIB > 0.85 * _node_bytes(best) * (len(best.vpds) - 1) or host.cores_per_node % 2
    assert best.local_share >= max(other.local_share for other in advice.alternatives or (best,))


def _node_bytes(candidate: size.Candidate) -> int:
    return int(candidate.layout["host_topology"]["memory_per_node_bytes"])


@given(machines(), st.sampled_from([name for targets in snippets.TARGETS.values() for name in targets]), st.booleans())
def test_every_text_parses_and_says_the_same(machine, target, bind):
    host, vcpus, memory = machine
    advice = size.advise(host, memory=f"{memory} GiB", vcpus=vcpus)
    bind = bind and target in snippets.TARGETS["linux"]
    text = advice.snippets("105", bind=bind, only=target)[target]
    found = PARSERS[target](text)
    nodes = found.pop("nodes", None)
    best = advice.advised
    assert found == {
        "vcpus": best.vcpus,
        "cores_per_socket": best.cores_per_socket,
        "memory_mib": memory * 1024,
    }
    if nodes is not None:
        assert [vcpus for vcpus, _ in nodes] == best.vpds
        assert sum(node_mib for _, node_mib in nodes) == memory * 1024


def _vmx(text: str) -> dict[str, object]:
    pairs = [re.fullmatch(r'([A-Za-z0-9.]+) = "([A-Z0-9]+)"', line) for line in text.splitlines()]
    assert all(pairs), text
    keys = {pair[1]: pair[2] for pair in pairs if pair}
    assert len(keys) == len(pairs)
    assert keys["vcpu.hotadd"] == "FALSE"
    return _whole(keys["numvcpus"], keys["cpuid.coresPerSocket"], keys["memSize"])


def _powercli(text: str) -> dict[str, object]:
    first, change, *rest = text.splitlines()
    assert first == "$vm = Get-VM -Name '105'"
    assert "$spec.CpuHotAddEnabled = $false" in rest
    assert "$vm.ExtensionData.ReconfigVM($spec)" in rest
    found = re.search(r"-NumCpu (\d+) -CoresPerSocket (\d+) -MemoryMB (\d+)", change)
    assert found
    return _whole(*found.groups())


def _govc(text: str) -> dict[str, object]:
    words = shlex.split(text)
    assert words[:4] == ["govc", "vm.change", "-vm", "105"]
    assert "-cpu-hot-add-enabled=false" in words
    parameters = dict(word.split("=") for flag, word in pairwise(words) if flag == "-e")
    return _whole(words[words.index("-c") + 1], parameters["cpuid.coresPerSocket"], words[words.index("-m") + 1])


def _libvirt(text: str) -> dict[str, object]:
    domain = ElementTree.fromstring(text)
    topology = domain.find("cpu/topology")
    assert topology is not None
    nodes = [(_length(cell.get("cpus")), int(cell.get("memory", 0))) for cell in domain.iterfind("cpu/numa/cell")]
    whole = _whole(domain.findtext("vcpu"), topology.get("cores"), domain.findtext("memory"))
    assert int(topology.get("sockets", 0)) * whole["cores_per_socket"] == whole["vcpus"]
    return {**whole, "nodes": nodes}


def _qm(text: str) -> dict[str, object]:
    words = shlex.split(text)
    assert words[:3] == ["qm", "set", "105"]
    options = dict(zip(words[3::2], words[4::2], strict=True))
    assert options["--numa"] == "1"
    nodes = [_options(value) for key, value in options.items() if re.fullmatch(r"--numa\d+", key)]
    vcpus = int(options["--sockets"]) * int(options["--cores"])
    sizes = [(_length(node["cpus"]), int(node["memory"])) for node in nodes]
    return {**_whole(vcpus, options["--cores"], options["--memory"]), "nodes": sizes}


def _qemu(text: str) -> dict[str, object]:
    words = shlex.split(text)
    options = list(zip(words[::2], words[1::2], strict=True))
    topology = next(_options(value) for key, value in options if key == "-smp")
    memory = next(value.removesuffix("M") for key, value in options if key == "-m")
    backends = {found["id"]: found["size"] for key, value in options if key == "-object" and (found := _options(value))}
    nodes = [_options(value) for key, value in options if key == "-numa" and value.startswith("node")]
    sizes = [(_length(node["cpus"]), int(backends[node["memdev"]].removesuffix("M"))) for node in nodes]
    return {**_whole(topology[""], topology["cores"], memory), "nodes": sizes}


PARSERS = {"vmx": _vmx, "powercli": _powercli, "govc": _govc, "libvirt": _libvirt, "qm": _qm, "qemu": _qemu}


def _whole(vcpus: object, cores_per_socket: object, memory_mib: object) -> dict[str, int]:
    keys = ("vcpus", "cores_per_socket", "memory_mib")
    return dict(zip(keys, (int(str(value)) for value in (vcpus, cores_per_socket, memory_mib)), strict=True))


def _options(text: str) -> dict[str, str]:
    """`a,b=c` as {"": "a", "b": "c"}."""
    return {key if equals else "": value if equals else key for key, equals, value in map(_parts, text.split(","))}


def _parts(text: str) -> tuple[str, str, str]:
    return text.partition("=")


def _length(cpus: str | None) -> int:
    first, _, last = str(cpus).partition("-")
    return int(last or first) - int(first) + 1


@pytest.mark.parametrize(
    ("host", "asked", "advised"),
    [
        # vCPUs and memory fit a node
        ("2x12 esxi-6.5", {"vcpus": 11, "memory": "64 GiB"}, (11, 11, [11])),
        # wider than a node: even, two nodes
        ("2x12 esxi-6.0", {"vcpus": 23, "memory": "96 GiB"}, (24, 12, [12, 12])),
        ("2x12 esxi-7.0", {"vcpus": 13, "memory": "96 GiB"}, (14, 7, [7, 7])),
        ("2x12 linux-6.12", {"vcpus": 24, "memory": "96 GiB"}, (24, 12, [12, 12])),
        # an even count beats fewer nodes
        ("4x9 linux-6.6", {"vcpus": 26, "memory": "96 GiB"}, (28, 7, [7, 7, 7, 7])),
        # the memory of one node does not suffice; by hand from 8.0, by the largest node before, and below nine vCPUs
        ("2x20 esxi-8.0", {"vcpus": 12, "memory": "200 GiB"}, (12, 6, [6, 6])),
        ("2x20 esxi-6.7", {"vcpus": 12, "memory": "200 GiB"}, (12, 6, [6, 6])),
        ("2x20 esxi-7.0", {"vcpus": 4, "memory": "200 GiB"}, (4, 2, [2, 2])),
        ("2x20 esxi-6.0", {"vcpus": 2, "memory": "200 GiB"}, (2, 1, [1, 1])),
        # demand at 80 %: 10 cores are 12.5 vCPUs; 8 are exactly 10, fewer than asked; 25 GHz are 10 cores
        ("2x20 esxi-8.0", {"demand": "10", "memory": "64 GiB"}, (13, 13, [13])),
        ("2x20 esxi-8.0", {"demand": "8", "vcpus": 24, "memory": "64 GiB"}, (10, 10, [10])),
        ("2x12 esxi-8.0", {"demand": "25 GHz", "memory": "64 GiB"}, (14, 7, [7, 7])),
        # cores that are not for this machine: rounding up would take one of them
        ("2x12 esxi-8.0", {"vcpus": 21, "memory": "64 GiB", "reserved_cores": 3}, (20, 10, [10, 10])),
    ],
)
def test_worked_cases(host, asked, advised):
    shape, hypervisor = host.split()
    found = size.find_host(f"{shape}@2.5GHz", hypervisor=hypervisor, node_memory="128 GiB")
    best = size.advise(found, **asked).advised
    assert (best.vcpus, best.cores_per_socket, best.vpds) == advised
    assert best.local_share == 1


def test_a_memory_bound_machine_gets_the_settings_of_its_version():
    def settings_of(hypervisor: str, vcpus: int) -> dict[str, object]:
        host = size.Host(hypervisor, 2, 20, 2, "256 GiB")
        return {**size.advise(host, memory="384 GiB", vcpus=vcpus).advised.settings}

    assert settings_of("esxi-8.0", 12) == {"cores_per_socket": 6, "cores_per_node": 6}
    assert settings_of("esxi-7.0", 12) == {"cores_per_socket": 6, "max_per_virtual_node": 6}
    assert settings_of("esxi-7.0", 8) == {"cores_per_socket": 4, "max_per_virtual_node": 4, "vcpu_min": 8}
    assert settings_of("esxi-6.0", 8) == {"cores_per_socket": 4, "vcpu_min": 8}


def test_the_alternatives_show_what_the_advice_gains():
    host = size.Host("esxi-6.5", 2, 12, 2, "128 GiB")
    advice = size.advise(host, memory="96 GiB", vcpus=24)
    others = {candidate.name: candidate for candidate in advice.alternatives}
    assert advice.advised.warnings == []
    assert others["CPU hot-add on"].vpds == [24]
    assert others["CPU hot-add on"].local_share == 0.5
    assert {"hot-add-wide"} == {warning["code"] for warning in others["CPU hot-add on"].warnings}
    assert {"one core per socket", "one socket", "odd count"} <= set(others)
    assert others["odd count"].vcpus == 23
    assert any(warning["code"] == "odd-wide" for warning in others["odd count"].warnings)


@pytest.mark.parametrize("hypervisor", HYPERVISORS)
def test_advise_topology_takes_what_layout_says(hypervisor):
    arguments = {"hypervisor": hypervisor, "sockets": 2, "cores": 12, "vcpus": 24, "cores_per_socket": 8}
    assert virtual_numa.layout(**arguments)["vcpus"] == 24
    advice = size.advise_topology(virtual_numa.layout(**arguments))
    assert {key: advice[key] for key in ("sockets", "cores_per_socket", "vcpus", "vpds", "fits_node")} == {
        "sockets": 2,
        "cores_per_socket": 12,
        "vcpus": 24,
        "vpds": [12, 12],
        "fits_node": False,
    }
    assert "24 vCPUs as 2 sockets of 12 cores" in advice["text"]
    assert size.advise_topology(virtual_numa.layout(**{**arguments, "vcpus": 32}))["vcpus"] == 24


def test_memory_is_rounded_to_what_esxi_takes_and_split_whole():
    advice = size.advise(size.Host("esxi-8.0", 4, 9), memory="1001 MiB", vcpus=26)
    machine = advice.machine()
    assert machine.memory_mib == 1004
    assert sum(machine.node_memory_mib) == 1004
    assert max(machine.node_memory_mib) - min(machine.node_memory_mib) <= 1


@pytest.mark.parametrize("name", ["", "a;b", "a'b", "$(x)", "-vm", "a\nb", "a" * 81, "a,b", "é"])
def test_a_name_that_a_shell_or_xml_could_misread_is_refused(name):
    advice = size.advise(size.Host("esxi-8.0", 2, 12), memory="8 GiB", vcpus=4)
    with pytest.raises(ScenarioError, match="bad-name"):
        advice.snippets(name)


def test_a_name_with_spaces_stays_one_word():
    advice = size.advise(size.Host("esxi-8.0", 2, 12), memory="8 GiB", vcpus=4)
    assert shlex.split(advice.snippets("my db (1)", only="govc")["govc"])[3] == "my db (1)"
    assert shlex.split(advice.snippets("my db (1)", only="qemu")["qemu"])[1] == "my db (1)"


def test_a_host_without_hypervisor_has_no_vms_to_size():
    with pytest.raises(ScenarioError, match="no VMs to size"):
        size.find_host("2x12", hypervisor="none")


def test_a_guest_on_vsphere_4_sees_one_node_and_a_system_without_hypervisor_all():
    shape = {"sockets": 2, "cores": 4, "threads": 1, "vcpus": 8, "node_memory": "16 GiB"}
    old = virtual_numa.layout(hypervisor="esxi-4.1", memory="8 GiB", **shape)
    assert (old["vnuma"], old["vpds"], old["ppds"]) == (False, [8], [4, 4])
    hidden = [warning["text"] for warning in old["warnings"] if warning["code"] == "hidden-numa"]
    assert len(hidden) == 1
    assert "ESXi 5.0 or later" in hidden[0]
    bare = virtual_numa.layout(hypervisor="none", memory="32 GiB", **shape)
    assert (bare["vnuma"], bare["vpds"], bare["homes"]) == (True, [4, 4], [0, 1])
    assert [client["remote_bytes"] for client in bare["clients"]] == [0, 0], "all memory of the host is its own"
