"""View of the best or the present topology of one VM, with a drawing and text to paste."""

from __future__ import annotations

from collections.abc import Sequence

from hypertwin.documents.plan import AdvisedLayout, Candidate, Sizing, TopologyAdvice
from hypertwin.documents.vnuma import HostTopology, Layout
from hypertwin.metrics.words import count, number
from hypertwin.show import topology_svg
from hypertwin.show import view as v

GIB = 1024**3

ENDINGS = {"vmx": "vmx", "powercli": "ps1", "govc": "govc.sh", "libvirt": "xml", "qm": "qm.sh", "qemu": "qemu.sh"}


def view(found: Sizing, layout: Layout | None = None) -> v.View:
    """Return the view of an advice. `layout` is the drawn layout of the advised topology."""
    host, asked, advice, best = found["host"], found["asked"], found["advice"], found["candidates"][0]
    wanted = [] if asked["vcpus"] is None else [count(asked["vcpus"], "vCPU")]
    wanted += [] if asked["demand_cores"] is None else [f"{number(asked['demand_cores'])} cores at the peak"]
    wanted.append(_gib(asked["memory_bytes"]))
    local = best["local_memory_pct"]
    sockets = f"{count(advice['sockets'], 'socket')} of {count(advice['cores_per_socket'], 'core')}"
    divided = f" in {host['nodes']} nodes" if host["nodes"] > host["sockets"] else ""
    caption = (
        f"{_gib(asked['memory_bytes'])} on {host['name']}: {host['sockets']} × {host['cores_per_socket']}"
        f" cores{divided}, {_gib(host['memory_per_node_bytes'])} per node, {host['hypervisor']}"
    )
    sources: list[v.Source] = [
        {"type": "text", "name": f"vm.{ENDINGS.get(name, f'{name}.txt')}", "text": text}
        for name, text in found.get("snippets", {}).items()
    ]
    return {
        "title": "The topology of a VM",
        "answer": {
            "tone": "warn" if best["warnings"] else "good",
            "text": advice["text"],
            "more": [each["text"] for each in best["warnings"]],
        },
        "promises": [
            {
                "text": f"Asked for: {v.listed(wanted)}",
                "met": asked["vcpus"] in (None, advice["vcpus"]),
                "note": f"advised: {count(advice['vcpus'], 'vCPU')}",
            },
            {"text": "All memory is local", "met": local >= 100, "note": v.percent(local)},
        ],
        "confidence": [_rules(host["hypervisor"])],
        "cards": [
            v.card("vCPUs", str(advice["vcpus"]), sockets),
            v.card("Virtual nodes", str(len(advice["vpds"])), f"of {_sizes(advice['vpds'])} vCPUs"),
            v.card("Local memory", v.percent(local)),
            *_host_cards(host, host["hypervisor"]),
        ],
        "sections": [
            *v.section("drawing", "Where it is on the host", _drawing(advice["text"], layout) if layout else []),
            *v.section(
                "candidates",
                "Beside other topologies",
                v.listing("candidates", caption, [_candidate(each) for each in found["candidates"]]),
            ),
            *v.section("paste", "To paste", sources),
        ],
        "notes": [each for each in found["notes"] if each.startswith("It takes all ")],
        "assumptions": found["notes"],
    }


def layout_view(found: AdvisedLayout) -> v.View:
    """Return the view of a layout: its drawing, its problems, and the advice."""
    advice, warnings, vpds = found["advice"], found["warnings"], found["vpds"]
    total, remote = found["memory_bytes"], sum(each["remote_bytes"] for each in found["clients"])
    local = v.percent(100 * (total - remote) / total if total else 100.0)
    moves = found["settled_homes"] != found["homes"]
    sees = f"The guest sees {'one node' if len(vpds) == 1 else f'{len(vpds)} nodes of {_sizes(vpds)} vCPUs'}"
    wrong = f" {count(len(warnings), 'warning')}." if warnings else ""
    title = f"{found['vcpus']} vCPUs on {found['hypervisor']}"
    rows: list[v.Cells] = [
        [
            (
                v.words("client", "NUMA client (PPD)"),
                f"{place}: vCPU {each['first_vcpu']}-{each['first_vcpu'] + each['vcpus'] - 1}",
            ),
            (v.figures("vcpus", "vCPUs"), each["vcpus"]),
            (v.figures("home", "home node"), each["home"]),
            (v.figures("settled", "settled on"), found["settled_homes"][place]),
            (v.figures("local", "local memory", "GiB"), each["local_bytes"] / GIB),
            (v.figures("remote", "remote memory", "GiB"), each["remote_bytes"] / GIB),
        ]
        for place, each in enumerate(found["clients"])
    ]
    host = found["host_topology"]
    caption = (
        f"{found['hypervisor']}, {host['nodes']} nodes of {host['cores_per_node']} cores x {host['threads_per_core']}"
        f" threads, {_gib(host['memory_per_node_bytes'])} each"
    )
    return {
        "title": f"NUMA of {title}",
        "answer": {
            "tone": "warn" if warnings or found["collapsed"] else "good",
            "text": f"{sees}; {local} of its memory is local{' at power-on' if moves else ''}.{wrong}",
            "more": [
                *([f"When the rebalancer has moved vCPUs, {_left_behind(found)}"] if moves else []),
                f"Advice: {advice['text']}",
                *(f"{each['code']}: {each['text']}" for each in warnings),
            ],
        },
        "promises": [
            {"text": "The layout has no warnings", "met": not warnings},
            {"text": "It stays when the rebalancer settles", "met": not found["collapsed"]},
        ],
        "confidence": [_rules(found["hypervisor"])],
        "cards": [
            v.card("Virtual nodes", str(len(vpds)), f"of {_sizes(vpds)} vCPUs"),
            v.card("Local memory", local),
            _advised(advice),
            *_host_cards(host, found["hypervisor"]),
        ],
        "sections": [
            *v.section("drawing", "Where it is on the host", _drawing(title, found)),
            *v.section(
                "clients",
                "Clients",
                v.listing("clients", caption, rows),
                text="A NUMA client is a set of vCPUs that are placed on one node of the host together.",
            ),
        ],
        "assumptions": [],
    }


def _left_behind(layout: Layout) -> str:
    """Return the end of a sentence: the share of local memory after the rebalancer has settled, before pages move."""
    parts = zip(layout["settled_homes"], layout["clients"], strict=True)
    local = sum(part["bytes"] for home, each in parts for part in each["memory"] if part["node"] == home)
    return f"{v.percent(100 * local / layout['memory_bytes'])} of the memory is local until pages follow."


def _drawing(caption: str, layout: Layout) -> list[v.Drawing]:
    return [{"type": "drawing", "caption": caption, "svg": topology_svg.svg(layout)}]


def _rules(hypervisor: str) -> v.Badge:
    return v.badge(f"By the rules of {hypervisor}, not simulated. Assumed: the VM is alone on its host.")


def _advised(advice: TopologyAdvice) -> v.Card:
    nodes = f"{count(advice['vcpus'], 'vCPU')} in {count(len(advice['vpds']), 'virtual node')}"
    return v.card("Advised", f"{advice['sockets']} × {advice['cores_per_socket']}", nodes)


def _host_cards(host: HostTopology, hypervisor: str) -> list[v.Card]:
    threads = f", {host['threads_per_core']} threads each" if host["threads_per_core"] > 1 else ""
    cores = f"{host['sockets']} × {host['cores_per_socket']} cores"
    return [
        v.card("Host", cores, f"{hypervisor}{threads}"),
        v.card("Memory of a node", _gib(host["memory_per_node_bytes"])),
    ]


def _candidate(each: Candidate) -> v.Cells:
    warnings = [warning["text"] for warning in each["warnings"]]
    state = v.badge(count(len(warnings), "warning"), "warn") if warnings else v.badge("fine", "good")
    nodes = v.words("nodes", "virtual nodes", text="vCPUs of each node that the guest sees.")
    return [
        (v.words("name", "topology"), each["name"]),
        (v.words("sockets", "sockets × cores"), f"{each['sockets']} × {each['cores_per_socket']}"),
        (nodes, " ".join(map(str, each["vpds"]))),
        (v.words("homes", "home nodes", secondary=True), " ".join(map(str, each["homes"]))),
        (v.badges("state", "state", secondary=True), state),
        (v.words("against", "against it"), " ".join(f"{text[0].upper()}{text[1:]}." for text in warnings)),
        (v.figures("vcpus", "vCPUs"), each["vcpus"]),
        (v.figures("local", "local memory", "%"), each["local_memory_pct"]),
        (v.figures("bandwidth", "bandwidth of", "nodes", secondary=True), each["bandwidth_nodes"]),
    ]


def _sizes(vcpus: Sequence[int]) -> str:
    return " + ".join(map(str, vcpus))


def _gib(size: float) -> str:
    return f"{number(size / GIB)} GiB"
