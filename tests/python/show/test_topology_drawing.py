"""The drawing of a NUMA layout: where vCPUs are put, that both forms show all of them, and that nothing overlaps."""

from __future__ import annotations

import itertools
import json
import xml.etree.ElementTree as ET

import pytest
from rich.console import Console
from tests.python.show.test_page import data

from hypertwin.scenario import virtual_numa
from hypertwin.show import topology, topology_svg

GIB = 1 << 30
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</svg><script>alert(1)</script>&\"'"


def layout(host="2x12x2", ppds=(12,), homes=(0,), settled=None, vpds=None, memory=None, divided=1, **changed):
    """A layout by hand. `host` is sockets x cores x threads, `divided` the nodes of a socket.

    `memory` is each client's GiB by node, or 4 per vCPU.
    """
    sockets, cores, threads = map(int, host.split("x"))
    nodes = sockets * divided
    firsts = itertools.accumulate(ppds, initial=0)
    memory = memory or [{home: 4 * vcpus} for vcpus, home in zip(ppds, homes, strict=True)]
    clients = []
    for first, vcpus, home, parts in zip(firsts, ppds, homes, memory, strict=False):
        local = parts.get(home, 0)
        clients.append(
            {
                "first_vcpu": first,
                "vcpus": vcpus,
                "home": home,
                "memory": [{"node": node, "bytes": part * GIB} for node, part in parts.items()],
                "local_bytes": local * GIB,
                "remote_bytes": (sum(parts.values()) - local) * GIB,
            }
        )
    return {
        "host": "esx",
        "hypervisor": "esxi-6.5",
        "host_topology": {
            "sockets": sockets,
            "cores_per_socket": cores,
            "nodes": nodes,
            "cores_per_node": cores // divided,
            "threads_per_core": threads,
            "memory_per_node_bytes": 128 * GIB,
        },
        "vcpus": sum(ppds),
        "cores_per_socket": 1,
        "memory_bytes": sum(sum(parts.values()) for parts in memory) * GIB,
        "vnuma": len(ppds) > 1,
        "vpds": list(vpds or ppds),
        "ppds": list(ppds),
        "homes": list(homes),
        "settled_homes": list(homes if settled is None else settled),
        "collapsed": False,
        "clients": clients,
        "warnings": [],
        **changed,
    }


FITS = layout()
BALANCED = layout(ppds=(12, 12), homes=(0, 1))
COLLAPSED = layout(ppds=(8, 8, 8), homes=(0, 1, 0), settled=(0, 0, 0), collapsed=True)
SECOND_THREADS = layout(ppds=(18, 18), homes=(0, 1))
INTERLEAVED = layout(ppds=(12, 12), homes=(0, 1), vpds=(24,), memory=[{0: 24, 1: 24}] * 2)
SPILLED = layout(memory=[{0: 114, 1: 70}])
NO_THREAD_LEFT = layout("2x12x1", ppds=(8, 8, 8), homes=(0, 1, 0), settled=(0, 0, 0), collapsed=True)
MOVED = layout("4x14x2", ppds=(12, 12, 12), homes=(0, 1, 2), settled=(0, 3, 2), vpds=(18, 18))
MANY_NODES = layout("8x16x2", ppds=(16,) * 8, homes=range(8))
SPLIT_SMALL = layout("2x10x2", ppds=(2,) * 20, homes=[0, 1] * 10)
ONE = layout("1x1x1", ppds=(1,))
DIVIDED = layout("2x16x2", ppds=(4,) * 5, homes=(0, 1, 2, 3, 4), settled=(0, 1, 2, 3, 7), divided=4)
SINGLE_CORES = layout("1x12x1", ppds=(1, 1), homes=(0, 11), divided=12)
WIDEST = layout("8x128x2", ppds=(128, 128), homes=(0, 1))
EVERY = {
    name.lower(): value
    for name, value in list(globals().items())
    if isinstance(value, dict) and "host_topology" in value
}
every = pytest.mark.parametrize("drawn", EVERY.values(), ids=EVERY)


def text_of(renderable, width: int) -> str:
    console = Console(width=width, color_system=None, legacy_windows=False)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


def drawing(drawn) -> ET.Element:
    return ET.fromstring(topology_svg.svg(drawn))


def boxes(root: ET.Element, kind: str) -> list[tuple[float, float, float, float]]:
    """Left, top, right and bottom of every rectangle of a class."""
    found = [[float(rect.get(key, 0)) for key in ("x", "y", "width", "height")] for rect in of_class(root, kind)]
    return [(x, y, x + width, y + height) for x, y, width, height in found]


def of_class(root: ET.Element, kind: str) -> list[ET.Element]:
    return [rect for rect in root.iter(f"{SVG}rect") if rect.get("class") == kind]


def words(root: ET.Element) -> str:
    return "\n".join(text.text or "" for text in root.iter(f"{SVG}text"))


def disjoint(one, other) -> bool:
    return one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


def inside(inner, outer, slack=0.02) -> bool:
    return (
        inner[0] >= outer[0] - slack
        and inner[1] >= outer[1] - slack
        and inner[2] <= outer[2] + slack
        and inner[3] <= outer[3] + slack
    )


# where vCPUs are put


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        (layout("2x2x2", ppds=(2,)), [[(0, None), (1, None)], [(None, None)] * 2]),
        (layout("2x2x2", ppds=(3,)), [[(0, 2), (1, None)], [(None, None)] * 2]),
        (layout("2x2x2", ppds=(1, 1, 1), homes=(1, 0, 1)), [[(1, None), (None, None)], [(0, None), (2, None)]]),
        (layout("2x1x1", ppds=(1, 1), homes=(0, 1), settled=(0, 0)), [[(0,)], [(None,)]]),
    ],
)
def test_every_vcpu_gets_a_core_before_second_threads_are_used(drawn, expected):
    assert [list(node.cores) for node in topology.nodes(drawn)] == expected


def test_vcpus_without_a_thread_wait():
    first, second = topology.nodes(NO_THREAD_LEFT)
    assert first.waiting == tuple(range(12, 24))
    assert first.vcpus == list(range(24))
    assert second.vcpus == []


def test_placement_at_power_on_and_settled():
    assert [node.clients for node in topology.nodes(COLLAPSED)] == [(0, 1, 2), ()]
    assert [node.clients for node in topology.nodes(COLLAPSED, COLLAPSED["homes"])] == [(0, 2), (1,)]


def test_memory_is_local_where_the_client_is():
    first, second = topology.nodes(SPILLED)
    assert first.memory == (topology.Memory(0, 114 * GIB, True),)
    assert second.memory == (topology.Memory(0, 70 * GIB, False),)
    # a client that moves leaves its memory behind
    assert [part.local for part in topology.nodes(COLLAPSED)[1].memory] == [False]
    assert [part.local for part in topology.nodes(COLLAPSED, COLLAPSED["homes"])[1].memory] == [True]


@pytest.mark.parametrize(("cores", "columns"), [(1, 1), (4, 4), (8, 4), (10, 5), (12, 6), (16, 8), (20, 10), (128, 16)])
def test_a_grid_without_gaps(cores, columns):
    assert topology.grid_columns(cores) == columns


def test_a_grid_is_wide_and_nearly_full_for_any_number_of_cores():
    for cores in range(1, 257):
        columns = topology.grid_columns(cores)
        assert 1 <= columns <= min(cores, 18)
        assert -cores % columns <= max(1, cores // 16)


@pytest.mark.parametrize(
    ("numbers", "short"),
    [
        ([], ""),
        ([3], "3"),
        ([0, 1, 2], "0–2"),
        ([5, 0, 1, 7, 6], "0–1, 5–7"),
        (range(0, 20, 2), "0, 2, 4, 6, 8, 10, …"),
    ],
)
def test_ranges(numbers, short):
    assert topology.ranges(numbers) == short


# the SVG


@every
def test_the_svg_has_every_core_and_every_vcpu_once(drawn):
    root = drawing(drawn)
    host = drawn["host_topology"]
    waiting = {vcpu for node in topology.nodes(drawn) for vcpu in node.waiting}
    assert len(of_class(root, "node")) == host["nodes"] == len(of_class(root, "memory"))
    assert len(of_class(root, "core")) == host["sockets"] * host["cores_per_socket"]
    assert len(of_class(root, "vcpu")) == drawn["vcpus"] - len(waiting)
    moved = sum(entry["vcpus"] for entry, *two in movement(drawn) if two[0] != two[1])
    assert len(of_class(root, "moved")) == moved
    numbers = [int(text.text) for text in root.iter(f"{SVG}text") if text.text.isdecimal()]
    assert len(numbers) == drawn["vcpus"] - len(waiting) + moved
    assert {*numbers} | waiting == {*range(drawn["vcpus"])}
    assert len(of_class(root, "virtual-node")) == min(len(drawn["vpds"]), 16)


def test_sockets_frame_their_nodes():
    root = drawing(DIVIDED)
    frames, nodes = boxes(root, "socket"), boxes(root, "node")
    assert len(frames) == 2
    for number, frame in enumerate(frames):
        assert [inside(node, frame) for node in nodes] == [position // 4 == number for position in range(8)]
    assert disjoint(*frames)
    assert "Socket 1" in words(root)
    assert not of_class(drawing(MANY_NODES), "socket")
    said = text_of(topology.terminal(DIVIDED), 100)
    assert said.index("socket 0") < said.index("NUMA node 3") < said.index("socket 1") < said.index("NUMA node 4")
    assert "2 sockets × 4 nodes × 4 cores × 2 threads" in said


def movement(drawn):
    return zip(drawn["clients"], drawn["homes"], drawn["settled_homes"], strict=True)


@every
def test_no_boxes_overlap(drawn):
    root = drawing(drawn)
    _, _, width, height = map(float, root.get("viewBox").split())
    nodes, cores, vcpus = (boxes(root, kind) for kind in ("node", "core", "vcpu"))
    bars, chips, parts = (boxes(root, kind) for kind in ("memory", "virtual-node", "local"))
    parts += boxes(root, "remote")
    for group in (nodes, bars, chips, parts, *(cores_of(cores, node) for node in nodes)):
        assert all(disjoint(*pair) for pair in itertools.combinations(shrunk(group), 2))
    per_node = drawn["host_topology"]["cores_per_node"]
    assert [len(cores_of(cores, node)) for node in nodes] == [per_node] * len(nodes)
    assert all(any(inside(vcpu, core) for core in cores) for vcpu in vcpus)
    assert all(any(inside(bar, node) for node in nodes) for bar in bars)
    assert all(any(inside(part, bar) for bar in bars) for part in parts)
    for box in (*nodes, *chips, *boxes(root, "banner")):
        assert inside(box, (0, 0, width, height))
    for bar, core in itertools.product(bars, cores):
        assert disjoint(bar, core)


def cores_of(cores, node):
    return [core for core in cores if inside(core, node)]


def shrunk(group, by=0.02):
    """Numbers are written with two decimals."""
    return [(left + by, top + by, right - by, bottom - by) for left, top, right, bottom in group]


def test_a_collapsed_layout_is_obvious():
    root = drawing(COLLAPSED)
    assert "Collapsed onto node 0: 24 vCPUs on 12 cores, none on node 1." in words(root)
    assert len(of_class(root, "banner")) == 1
    assert sum(path.get("class") == "move" for path in root.iter(f"{SVG}path")) == 1
    assert "vCPU 8–15 moved to node 0" in words(root)
    assert len(of_class(root, "remote")) == 1
    assert "24 vCPUs, 12 on second threads" in words(root)


@pytest.mark.parametrize("drawn", [FITS, BALANCED, SECOND_THREADS, INTERLEAVED], ids=range(4))
def test_a_layout_that_stays_has_no_banner(drawn):
    root = drawing(drawn)
    assert not of_class(root, "banner")
    assert not of_class(root, "moved")


@pytest.mark.parametrize(
    ("drawn", "said"),
    [
        (FITS, ["48 GiB of 128 GiB, local", "none of 128 GiB"]),
        (SPILLED, ["114 GiB of 128 GiB, local", "70 GiB of 128 GiB, remote"]),
        (INTERLEAVED, ["48 GiB of 128 GiB, interleaved"] * 2),
        (layout(memory=[{0: 0.5}]), ["0.5 GiB of 128 GiB, local", "none of 128 GiB"]),
    ],
)
def test_memory_in_words_and_to_scale(drawn, said):
    root = drawing(drawn)
    assert [f"memory: {each}" for each in said] == [line for line in words(root).split("\n") if "memory: " in line]
    bar = boxes(root, "memory")[0]
    placed = sum(part["bytes"] for client in drawn["clients"] for part in client["memory"])
    shown = sum(right - left for kind in ("local", "remote") for left, _, right, _ in boxes(root, kind))
    assert shown / (bar[2] - bar[0]) == pytest.approx(placed / (128 * GIB), abs=0.001)


@every
def test_numbers_on_colours_are_readable(drawn):
    """At least 4.5 to 1, as WCAG 2.1 asks for text."""
    root = drawing(drawn)
    pairs = set()
    for parent in root.iter():
        for box, text in itertools.pairwise(parent):
            if box.get("class") in ("vcpu", "virtual-node"):
                pairs.add((box.get("fill"), text.get("fill")))
    assert pairs
    for fill, ink in pairs:
        light, dark = sorted((luminance(fill), luminance(ink)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (fill, ink)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_sixteen_virtual_nodes_have_sixteen_colours():
    root = drawing(layout("2x16x1", ppds=(2,) * 16, homes=[0, 1] * 8))
    assert len({rect.get("fill") for rect in of_class(root, "virtual-node")}) == 16


def test_the_svg_names_and_describes_itself():
    root = drawing(COLLAPSED)
    assert root.get("role") == "img"
    assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"]
    assert root[0].text == "24 vCPUs, 96 GiB, 3 virtual nodes of 8"
    assert "NUMA node 1: no vCPUs; vCPU 8–15 moved to node 0; memory: 32 GiB of 128 GiB, remote." in root[1].text


def test_hostile_text_stays_text():
    drawn = {**FITS, "hypervisor": HOSTILE, "warnings": [{"code": HOSTILE, "text": HOSTILE}]}
    root = ET.fromstring(topology_svg.svg(drawn, HOSTILE))
    assert root[0].text.startswith(HOSTILE)
    assert not [element for element in root.iter() if element.tag.endswith("script")]


@every
def test_the_same_layout_gives_the_same_bytes(drawn):
    assert topology_svg.svg(drawn) == topology_svg.svg(drawn)


# the terminal


@every
@pytest.mark.parametrize("width", [80, 120, 160])
def test_the_terminal_drawing_fits_and_has_every_vcpu(drawn, width):
    text = text_of(topology.terminal(drawn), width)
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    cells = [cell.strip() for line in text.splitlines() for cell in line.split("│")]
    waiting = {vcpu for node in topology.nodes(drawn) for vcpu in node.waiting}
    assert sorted(int(cell) for cell in cells if cell.isdecimal()) == sorted({*range(drawn["vcpus"])} - waiting)


def test_the_terminal_says_what_colours_do_not():
    text = text_of(topology.terminal(COLLAPSED), 80)
    for said in (
        "Collapsed onto node 0: ",
        "0: vCPU 0–7",
        "2: vCPU 16–23",
        "vCPU 8–15 moved to node 0",
        "32 GiB of 128 GiB, remote",
    ):
        assert said in text
    assert text.count("▒") == round(32 / 128 * topology.NARROW)
    assert text.count("█") == round(64 / 128 * topology.NARROW)


def test_the_terminal_leaves_out_nodes_of_a_large_host_that_have_nothing():
    text = text_of(topology.terminal(WIDEST), 160)
    assert text.count("╭─ NUMA node") == 2
    assert "no vCPUs and no memory: NUMA nodes 2–7" in text


# layouts of the core


@pytest.mark.parametrize(
    "arguments",
    [
        {"hypervisor": "esxi-6.0", "sockets": 2, "cores": 12, "vcpus": 24, "cores_per_socket": 2},
        {"hypervisor": "esxi-6.5", "sockets": 2, "cores": 12, "vcpus": 36, "cores_per_socket": 12},
        {"hypervisor": "esxi-6.7", "sockets": 2, "cores": 12, "vcpus": 24, "cpu_hot_add": True},
        {
            "hypervisor": "esxi-7.0",
            "sockets": 4,
            "cores": 14,
            "vcpus": 36,
            "sized_on": {"sockets": 2, "cores_per_socket": 20},
        },
        {
            "hypervisor": "esxi-8.0",
            "sockets": 2,
            "cores": 20,
            "vcpus": 12,
            "memory": "384 GiB",
            "node_memory": "256 GiB",
        },
        {"hypervisor": "linux-6.6", "sockets": 2, "cores": 8, "vcpus": 16, "cells": [8, 8], "nodes": [1, 0]},
        {"hypervisor": "esxi-6.5", "sockets": 2, "cores": 12, "vcpus": 24, "cores_per_socket": 8, "threads": 1},
        {"hypervisor": "esxi-8.0", "sockets": 8, "cores": 128, "vcpus": 256},
    ],
    ids=lambda arguments: f"{arguments['hypervisor']}-{arguments['vcpus']}",
)
def test_layouts_of_the_core_can_be_drawn(arguments):
    drawn = virtual_numa.layout(**arguments)
    test_the_svg_has_every_core_and_every_vcpu_once(drawn)
    test_no_boxes_overlap(drawn)
    test_the_terminal_drawing_fits_and_has_every_vcpu(drawn, 80)


# in the report


def test_the_report_draws_each_kind_of_layout_once():
    layouts = {"db-1": FITS, "db-2": {**FITS, "host": "esx2"}, "web": BALANCED, **{f"x-{k}": ONE for k in range(6)}}
    drawn, note = topology_svg.drawings(layouts)
    assert [each["caption"] for each in drawn] == [
        "db-1, db-2 on esx, esx2",
        "web on esx",
        "x-0, x-1, x-2, x-3 and 2 more on esx",
    ]
    assert all(each["svg"].startswith("<svg ") and each["svg"].count("<svg ") == 1 for each in drawn)
    assert "not drawn" not in note


def test_the_report_says_how_many_layouts_it_leaves_out():
    layouts = {f"vm-{size}": layout("1x16x1", ppds=(size,)) for size in range(1, 16)}
    drawn, note = topology_svg.drawings(layouts)
    assert len(drawn) == 12
    assert note.endswith("3 more layouts are not drawn.")


def test_the_report_without_layouts_has_no_drawings():
    assert topology_svg.drawings({}) == ([], "")


def test_hostile_names_stay_text_in_a_drawing():
    ((drawn,), _) = topology_svg.drawings({HOSTILE: {**FITS, "host": HOSTILE, "hypervisor": HOSTILE}})
    assert drawn["caption"] == f"{HOSTILE} on {HOSTILE}"
    assert "<script>alert" not in drawn["svg"]
    assert drawn["svg"].count("<svg ") == drawn["svg"].count("</svg>") == 1


# on the command line


def test_simulate_draws_the_layouts_of_the_first_point(cli, tiny, tmp_path):
    cli("simulate", tiny, "--sweep", "vms.db.vcpus=1,2", "--report", "report.html", exits=0)
    db, web = data((tmp_path / "report.html").read_text())["beside"]["drawings"]
    assert db["caption"] == "db on esx1"
    assert ">1 vCPU, 4 GiB, 1 virtual node<" in db["svg"]
    assert web["caption"] == "web-1, web-2 on esx1"


VNUMA = ("vnuma", "--hypervisor", "esxi-6.5", "--sockets", 2, "--cores", 12, "--vcpus", 24, "--cores-per-socket", 8)


def test_vnuma_draws_in_the_terminal_and_in_a_file(cli, tmp_path):
    done = cli(*VNUMA, "--svg", "layout.svg", exits=0)
    assert "╭─ NUMA node 1" in done.stdout
    assert done.stderr == "wrote layout.svg\n"
    root = ET.fromstring((tmp_path / "layout.svg").read_text())
    assert len(of_class(root, "core")) == 24
    assert len(of_class(root, "virtual-node")) == 3


def test_vnuma_writes_json_and_a_drawing(cli, tmp_path):
    done = cli(*VNUMA, "--svg", "layout.svg", "--format", "json")
    assert json.loads(done.stdout)["vpds"] == [8, 8, 8]
    assert (tmp_path / "layout.svg").read_text() == topology_svg.svg(json.loads(done.stdout))


@pytest.mark.parametrize("broken", [("--svg", "missing/layout.svg"), ("--svg", "layout.svg", "--vcpus", 0)])
def test_a_mistake_writes_no_drawing(cli, tmp_path, broken):
    done = cli(*VNUMA, *broken, exits=2)
    assert broken[-2 if broken[-1] == 0 else -1] in done.stderr
    assert not list(tmp_path.iterdir())
