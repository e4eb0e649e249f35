"""A NUMA layout as a drawing, for a page (SVG) and for a terminal.

It shows the host's NUMA nodes with their cores and hyper-threads, on which of them a virtual machine's vCPUs are once
the rebalancer has settled, and where its memory is. A layout is what `hypertwin vnuma --format json` prints. Which core
of a node a vCPU has is for the drawing only; that each has a core of its own before second threads are used is not.

The colours are those of Okabe and Ito, "Color Universal Design" (https://jfly.uni-koeln.de/color/), chosen for any
colour vision; the number in every cell says the same without colour.
"""

from __future__ import annotations

import itertools
import math
import textwrap
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.style import Style
from rich.table import Table
from rich.text import Text

PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8c8c8c")
"""One colour per virtual node; the next eight have paler ones, and then they begin again."""
INK, MUTED, LINE, IDLE, PAPER = "#1d2733", "#5d6b7a", "#c3ccd5", "#eef1f4", "#ffffff"
ALERT_INK, ALERT_PAPER = "#8f1d16", "#fbe1df"
NOTE_INK, NOTE_PAPER = "#6b4a00", "#fdf0cf"
GIB = 1 << 30


@dataclass(frozen=True)
class Memory:
    """Memory of one NUMA client on a node, in bytes; local when the client's vCPUs are on the same node."""

    client: int
    bytes: int
    local: bool


@dataclass(frozen=True)
class Node:
    """A NUMA node of the host as drawn."""

    number: int
    cores: tuple[tuple[int | None, ...], ...]
    """The vCPU on every thread of every core; None where the thread is free."""
    waiting: tuple[int, ...]
    """vCPUs for which the node has no thread left."""
    clients: tuple[int, ...]
    """NUMA clients whose home it is, by index."""
    memory: tuple[Memory, ...]

    @property
    def vcpus(self) -> list[int]:
        """The vCPUs on the node, in order, those that wait included."""
        return sorted({vcpu for core in self.cores for vcpu in core if vcpu is not None} | {*self.waiting})


def nodes(layout: Mapping[str, Any], homes: Sequence[int] | None = None) -> list[Node]:
    """Place a layout's vCPUs on its host's cores: one core each first, then second hyper-threads.

    `homes` is the home node of each NUMA client: where they have settled, unless told.
    """
    host = layout["host_topology"]
    homes = layout["settled_homes"] if homes is None else homes
    per_node, threads = host["cores_per_socket"], host["threads_per_core"]
    found = []
    for number in range(host["sockets"]):
        clients = tuple(client for client, home in enumerate(homes) if home == number)
        vcpus = [vcpu for client in clients for vcpu in _vcpus(layout["clients"][client])]
        slots: list[int | None] = [*vcpus, *[None] * (per_node * threads)]
        cores = tuple(tuple(slots[thread * per_node + core] for thread in range(threads)) for core in range(per_node))
        memory = tuple(
            Memory(client, part["bytes"], homes[client] == number)
            for client, entry in enumerate(layout["clients"])
            for part in entry["memory"]
            if part["node"] == number and part["bytes"]
        )
        found.append(Node(number, cores, tuple(vcpus[per_node * threads :]), clients, memory))
    return found


def _vcpus(client: Mapping[str, Any]) -> range:
    return range(client["first_vcpu"], client["first_vcpu"] + client["vcpus"])


@dataclass(frozen=True)
class _Move:
    """vCPUs that the rebalancer takes from one node to another."""

    vcpus: tuple[int, ...]
    source: int
    target: int


def _moves(layout: Mapping[str, Any]) -> list[_Move]:
    moved: dict[tuple[int, int], list[int]] = {}
    for client, source, target in zip(layout["clients"], layout["homes"], layout["settled_homes"], strict=True):
        if source != target:
            moved.setdefault((source, target), []).extend(_vcpus(client))
    return [_Move(tuple(vcpus), *pair) for pair, vcpus in sorted(moved.items())]


def grid_columns(cores: int) -> int:
    """Cores in a row of a node's grid: about three times as many as there are rows, without gaps where that can be.

    At most 18, so that the widest node fits 80 columns of text.
    """
    most = min(max(cores, 1), math.ceil(2.5 * math.sqrt(cores)), 18)
    wanted = math.sqrt(3 * cores)
    return min(
        range(min(math.ceil(math.sqrt(cores)), most), most + 1),
        key=lambda columns: (-cores % columns, abs(columns - wanted)),
    )


# --- what both forms say --------------------------------------------------------------------------------------------


def heading(layout: Mapping[str, Any]) -> str:
    """The virtual machine in a line: `24 vCPUs, 96 GiB, 3 virtual nodes of 8`."""
    size = f"{_count(layout['vcpus'], 'vCPU')}, {_size(layout['memory_bytes'])}"
    return f"{size}, {_parts(layout['vpds'], 'virtual node')}"


def facts(layout: Mapping[str, Any]) -> str:
    """The host and the NUMA clients, in a line."""
    host = layout["host_topology"]
    threads = host["threads_per_core"]
    parts = (
        layout["hypervisor"].replace("esxi-", "ESXi ").replace("linux-", "Linux "),
        f"{_count(host['sockets'], 'socket')} × {_count(host['cores_per_socket'], 'core')}"
        + (f" × {threads} threads" if threads > 1 else ""),
        f"{_size(host['memory_per_node_bytes'])} per node",
        _parts(layout["ppds"], "NUMA client"),
    )
    return " · ".join(parts)


def settling(layout: Mapping[str, Any]) -> str:
    """What the rebalancer makes of the placement at power-on, in a sentence; empty when it changes nothing."""
    if layout["collapsed"]:
        host, node = layout["host_topology"], layout["settled_homes"][0]
        others = [other for other in range(host["sockets"]) if other != node]
        none = f", none on {_numbered('node', others)}" if others else ""
        return f"Collapsed onto node {node}: {layout['vcpus']} vCPUs on {host['cores_per_socket']} cores{none}."
    moved = "; ".join(f"vCPU {ranges(move.vcpus)} from node {move.source} to {move.target}" for move in _moves(layout))
    return f"After power-on the rebalancer moves {moved}." if moved else ""


def _node_lines(layout: Mapping[str, Any], node: Node) -> list[str]:
    """What is on a node, a line each: its load, its NUMA clients, what left it."""
    cores, count = len(node.cores), len(node.vcpus)
    threads = len(node.cores[0])
    if not count:
        lines = ["no vCPUs"]
    elif count <= cores:
        lines = [f"{_count(count, 'vCPU')} on {_count(cores, 'core')}"]
    elif node.waiting:
        lines = [f"{count} vCPUs take turns on {cores * threads} {'threads' if threads > 1 else 'cores'}"]
    else:
        lines = [f"{count} vCPUs, {count - cores} on second threads"]
    if node.clients:
        clients = f"{_numbered('NUMA client', node.clients)}: " if len(layout["ppds"]) > 1 else ""
        lines.append(f"{clients}vCPU {ranges(node.vcpus)}")
    if node.waiting:
        lines.append(f"without a thread of its own: vCPU {ranges(node.waiting)}")
    moved = [move for move in _moves(layout) if move.source == node.number]
    lines += [f"vCPU {ranges(move.vcpus)} moved to node {move.target}" for move in moved]
    return lines


def _memory_words(layout: Mapping[str, Any], node: Node) -> str:
    local = sum(part.bytes for part in node.memory if part.local)
    remote = sum(part.bytes for part in node.memory if not part.local)
    of = f"of {_size(layout['host_topology']['memory_per_node_bytes'])}"
    if not local + remote:
        return f"memory: none {of}"
    if not remote or not local:
        return f"memory: {_size(local + remote)} {of}, {'local' if local else 'remote'}"
    if _interleaved(layout):
        return f"memory: {_size(local + remote)} {of}, interleaved"
    return f"memory: {_size(local + remote)} {of}: {_size(local)} local, {_size(remote)} remote"


def _capacity(layout: Mapping[str, Any], node: Node) -> int:
    """Bytes that the whole of a node's memory bar stands for."""
    return max(int(layout["host_topology"]["memory_per_node_bytes"]), sum(part.bytes for part in node.memory), 1)


def _interleaved(layout: Mapping[str, Any]) -> bool:
    """Whether every NUMA client's memory is spread evenly over the same nodes, at least two."""
    spreads = [{part["node"]: part["bytes"] for part in client["memory"]} for client in layout["clients"]]
    even = all(len(spread) > 1 and max(spread.values()) <= 1.01 * min(spread.values()) for spread in spreads)
    return even and len(spreads) > 1 and len({frozenset(spread) for spread in spreads}) == 1


def _virtual_nodes(layout: Mapping[str, Any]) -> list[int]:
    """The virtual node of every vCPU."""
    return [number for number, size in enumerate(layout["vpds"]) for _ in range(size)]


def _guest(layout: Mapping[str, Any], most: int = 16) -> tuple[list[str], str]:
    """Words for each virtual node up to `most`, and for the others together."""
    ends = list(itertools.accumulate(layout["vpds"], initial=0))
    words = [f"{number}: vCPU {ranges(range(*pair))}" for number, pair in enumerate(itertools.pairwise(ends))]
    return words[:most], f"and {len(words) - most} more" if len(words) > most else ""


def ranges(numbers: Iterable[int], most: int = 6) -> str:
    """Whole numbers in short: `0–7, 16–23`; beyond `most` ranges an ellipsis."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    words = [str(low) if low == high else f"{low}–{high}" for low, high in spans]
    return ", ".join(words[:most]) + (", …" if len(words) > most else "")


def _parts(sizes: Sequence[int], name: str) -> str:
    """How a machine is divided: `3 virtual nodes of 8`, `3 virtual nodes of 2 × 8 + 4`, `1 virtual node`."""
    runs = [(size, len(list(group))) for size, group in itertools.groupby(sizes)]
    if len(runs) == 1:
        return f"{len(sizes)} {name}s of {sizes[0]}" if len(sizes) > 1 else f"1 {name}"
    total = " + ".join(f"{count} × {size}" if count > 1 else str(size) for size, count in runs)
    return f"{len(sizes)} {name}s of {total}"


def _numbered(name: str, numbers: Sequence[int]) -> str:
    return f"{name}{'s' if len(numbers) != 1 else ''} {ranges(numbers)}"


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'s' if number != 1 else ''}"


def _size(size_bytes: float) -> str:
    gib = size_bytes / GIB
    return f"{gib:.0f} GiB" if gib >= 10 or gib == int(gib) else f"{gib:.1f} GiB"


def _ink_on(colour: str) -> str:
    """Black or white, whichever is easier to read on a colour (relative luminance, WCAG 2.1)."""
    channels = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    red, green, blue = ((value / 12.92) if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in channels)
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return PAPER if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "#000000"


def _colour(virtual_node: int) -> str:
    colour = PALETTE[virtual_node % len(PALETTE)]
    if virtual_node // len(PALETTE) % 2 == 0:
        return colour
    return "#" + "".join(f"{(int(colour[index : index + 2], 16) + 255) // 2:02x}" for index in (1, 3, 5))


# --- terminal -------------------------------------------------------------------------------------------------------

NARROW = 35
"""Columns inside the box of a node, at least: two such boxes stand side by side in 80 columns."""


def terminal(layout: Mapping[str, Any]) -> RenderableType:
    """The drawing as text of 80 columns and more: a box per node, a cell per core with a line per hyper-thread."""
    virtual_nodes = _virtual_nodes(layout)
    styles = [Style(color=_ink_on(colour), bgcolor=colour) for colour in map(_colour, range(len(layout["vpds"])))]
    words, more = _guest(layout)
    guest = (
        [Text("virtual nodes", style="dim")]
        + [Text(f" {word} ", styles[number]) for number, word in enumerate(words)]
        + [Text(more)] * bool(more)
    )
    placed = nodes(layout)
    left_out = [
        node.number
        for node in placed
        if len(placed) > 2 and not node.memory and not {*layout["homes"], *layout["settled_homes"]} & {node.number}
    ]

    def cell(core: Sequence[int | None]) -> Text:
        lines = [
            Text("·", style="dim") if vcpu is None else Text(str(vcpu), styles[virtual_nodes[vcpu]]) for vcpu in core
        ]
        return Text("\n").join(lines)

    boxes = []
    for node in placed:
        if node.number in left_out:
            continue
        columns = grid_columns(len(node.cores))
        digits = len(str(layout["vcpus"] - 1))
        roomy = columns * (digits + 3) + 1 <= NARROW
        cores = Table(box=box.SQUARE, show_header=False, show_lines=True, padding=(0, int(roomy)), border_style="dim")
        for _ in range(columns):
            cores.add_column(justify="right", width=digits, no_wrap=True)
        for first in range(0, len(node.cores), columns):
            cores.add_row(*(cell(core) for core in node.cores[first : first + columns]))
        inside = max(NARROW, columns * (digits + 1 + 2 * roomy) + 1)
        boxes.append(
            Panel(
                Group(
                    *(Text(line) for line in _node_lines(layout, node)),
                    cores,
                    Text(_memory_words(layout, node)),
                    _memory_bar(layout, node, inside),
                ),
                title=Text(f"NUMA node {node.number}", style="bold"),
                title_align="left",
                width=inside + 4,
                border_style="dim",
            )
        )
    said = settling(layout)
    return Group(
        Text(heading(layout), style="bold"),
        Text(facts(layout), style="dim"),
        Columns(guest, padding=(0, 1)),
        Columns(boxes, padding=(0, 1)),
        *([Text(f"no vCPUs and no memory: {_numbered('NUMA node', left_out)}", style="dim")] if left_out else []),
        *([Text(said, style="bold red" if layout["collapsed"] else "yellow")] if said else []),
    )


def _memory_bar(layout: Mapping[str, Any], node: Node, width: int) -> Text:
    """Local memory as full blocks, remote as shaded ones, the rest of the node's as dots."""
    capacity = _capacity(layout, node)
    virtual_nodes = _virtual_nodes(layout)
    bar, used = Text(), 0
    for part in node.memory:
        before, used = used, used + part.bytes
        cells = round(used / capacity * width) - round(before / capacity * width)
        colour = _colour(virtual_nodes[layout["clients"][part.client]["first_vcpu"]])
        bar.append(("█" if part.local else "▒") * cells, Style(color=colour))
    return bar.append("·" * (width - len(bar)), "dim")


# --- SVG ------------------------------------------------------------------------------------------------------------

MARGIN, GAP, PADDING, CORE_GAP = 16, 16, 12, 4
THREAD_HEIGHT, BAR_HEIGHT, LANE = 21, 16, 26
LEAST_WIDTH, LEAST_NODE, MOST_WIDTH = 584, 252, 1150
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


def svg(layout: Mapping[str, Any], name: str = "") -> str:
    """The drawing as one SVG element that needs nothing else; `name` stands before its heading.

    The same layout gives the same bytes.
    """
    return ET.tostring(_Drawing(layout, name).root, encoding="unicode") + "\n"


class _Drawing:
    """Draws from top to bottom; `y` is where the next thing begins."""

    def __init__(self, layout: Mapping[str, Any], name: str) -> None:
        self.layout = layout
        self.nodes = nodes(layout)
        self.at_power_on = nodes(layout, layout["homes"])
        self.virtual_nodes = _virtual_nodes(layout)
        self.columns = grid_columns(len(self.nodes[0].cores))
        self.core_height = THREAD_HEIGHT * len(self.nodes[0].cores[0]) + CORE_GAP
        least_core = 40 if self.columns <= 6 else 36 if self.columns <= 12 else 30
        node_width = max(self.columns * least_core + 2 * PADDING, LEAST_NODE)
        self.per_row = _per_row(len(self.nodes), (MOST_WIDTH - 2 * MARGIN + GAP) // (node_width + GAP))
        self.width = max(self.per_row * (node_width + GAP) - GAP + 2 * MARGIN, LEAST_WIDTH)
        self.node_width = (self.width - 2 * MARGIN + GAP) / self.per_row - GAP
        self.inside = self.node_width - 2 * PADDING
        self.core_width = min((self.inside + CORE_GAP) / self.columns, 2 * least_core)
        self.root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img", "font-family": FONT})
        self.y: float = MARGIN
        self.banner_colours = (ALERT_INK, ALERT_PAPER) if layout["collapsed"] else (NOTE_INK, NOTE_PAPER)
        title = f"{name}: {heading(layout)}" if name else heading(layout)
        _add(self.root, "title", title)
        _add(self.root, "desc", " ".join(self.description()))
        background = _add(self.root, "rect", width=self.width, fill=PAPER, rx=8)
        self.paragraph(title, 16, INK, bold=True)
        self.paragraph(facts(layout), 12, MUTED)
        self.banner()
        self.guest()
        for first in range(0, len(self.nodes), self.per_row):
            self.row(self.nodes[first : first + self.per_row])
        self.legend()
        for warning in layout.get("warnings", ()):
            self.paragraph(f"⚠ {warning['code']}: {warning['text']}", 12, ALERT_INK)
        height = self.y + MARGIN - 6
        background.set("height", _number(height))
        size = {"width": _number(self.width), "height": _number(height)}
        self.root.attrib |= {**size, "viewBox": f"0 0 {size['width']} {size['height']}"}

    def description(self) -> list[str]:
        """The drawing in sentences, for those who do not see it."""
        said = [f"{facts(self.layout)}.", settling(self.layout)]
        for node in self.nodes:
            said.append(f"NUMA node {node.number}: {'; '.join(_node_lines(self.layout, node))};")
            said.append(f"{_memory_words(self.layout, node)}.")
        return [sentence for sentence in said if sentence]

    # parts, from top to bottom

    def banner(self) -> None:
        said = settling(self.layout)
        if not said:
            return
        ink, paper = self.banner_colours
        width = self.width - 2 * MARGIN
        lines = _wrapped(said, 13, width - 24, bold=True)
        height = len(lines) * 18 + 12
        _add(self.root, "rect", class_="banner", x=MARGIN, y=self.y + 2, width=width, height=height, fill=paper, rx=6)
        for index, line in enumerate(lines):
            _text(self.root, MARGIN + 12, self.y + 22 + index * 18, line, 13, ink, font_weight="600")
        self.y += height + 12

    def guest(self) -> None:
        words, more = _guest(self.layout)
        _text(self.root, MARGIN, self.y + 13, "Virtual nodes", 12, MUTED)
        x = left = MARGIN + 90.0
        for number, word in enumerate(words):
            width = _width(word, 12) + 18
            if x + width > self.width - MARGIN:
                x, self.y = left, self.y + 26
            place = {"x": x, "y": self.y - 2, "width": width, "height": 21}
            _add(self.root, "rect", class_="virtual-node", **place, fill=_colour(number), rx=10.5)
            ink = _ink_on(_colour(number))
            _text(self.root, x + width / 2, self.y + 13, word, 12, ink, text_anchor="middle")
            x += width + 8
        if more:
            _text(self.root, x, self.y + 13, more, 12, MUTED)
        self.y += 34

    def row(self, row: Sequence[Node]) -> None:
        """Nodes side by side, with the moves between them above."""
        lines = [
            [
                (part, INK if index == 0 else MUTED)
                for index, line in enumerate(_node_lines(self.layout, node))
                for part in _wrapped(line, 12, self.inside)
            ]
            for node in row
        ]
        memory = [_wrapped(_memory_words(self.layout, node), 12, self.inside) for node in row]
        cores_top = 36 + max(map(len, lines)) * 16
        memory_top = cores_top + math.ceil(len(row[0].cores) / self.columns) * self.core_height + 8
        bar_top = memory_top + max(map(len, memory)) * 16
        height = bar_top + BAR_HEIGHT + PADDING
        places = {node.number: MARGIN + index * (self.node_width + GAP) for index, node in enumerate(row)}
        self.arrows(places)
        for node, said, kept in zip(row, lines, memory, strict=True):
            x, y = places[node.number], self.y
            left = x + PADDING
            group = _add(self.root, "g")
            fill = "#fafbfc" if node.clients else PAPER
            size = {"width": self.node_width, "height": height}
            _add(group, "rect", class_="node", x=x, y=y, **size, fill=fill, stroke="#8b98a5", rx=8)
            _text(group, left, y + 21, f"NUMA node {node.number}", 13.5, INK, font_weight="650")
            for index, (line, colour) in enumerate(said):
                _text(group, left, y + 39 + index * 16, line, 12, colour)
            self.cores(group, node, left, y + cores_top)
            for index, line in enumerate(reversed(kept)):
                _text(group, left, y + bar_top - 6 - index * 16, line, 12, INK)
            self.memory(group, node, left, y + bar_top)
        self.y += height + GAP

    def arrows(self, places: Mapping[int, float]) -> None:
        """An arrow for every move between nodes of a row, in a lane of its own above them."""
        moves = [move for move in _moves(self.layout) if {move.source, move.target} <= places.keys()]
        top = self.y + LANE * len(moves) + (2 if moves else 0)
        colour = self.banner_colours[0]
        for index, move in enumerate(moves):
            shift = self.node_width / 2 + 14 * (index - (len(moves) - 1) / 2)
            start, end, y = places[move.source] + shift, places[move.target] + shift, self.y + LANE * index + 10
            line = f"M{_number(start)} {_number(top)}V{_number(y)}H{_number(end)}V{_number(top - 7)}"
            _add(self.root, "path", class_="move", d=line, fill="none", stroke=colour, stroke_width=2)
            _add(self.root, "path", d=f"M{_number(end - 5)} {_number(top - 9)}h10l-5 8z", fill=colour)
            words, middle = f"vCPU {ranges(move.vcpus, 3)}", start + (end - start) * 0.3
            width = _width(words, 12) + 10
            _add(self.root, "rect", x=middle - width / 2, y=y - 8, width=width, height=16, fill=PAPER)
            _text(self.root, middle, y + 4, words, 12, colour, text_anchor="middle", font_weight="600")
        self.y = top

    def cores(self, group: ET.Element, node: Node, left: float, top: float) -> None:
        before = self.at_power_on[node.number]
        width, height = self.core_width - CORE_GAP, self.core_height - CORE_GAP
        for index, core in enumerate(node.cores):
            x = left + index % self.columns * self.core_width
            y = top + index // self.columns * self.core_height
            drawn = _add(group, "g")
            if said := ", ".join(f"vCPU {vcpu}" for vcpu in core if vcpu is not None):
                _add(drawn, "title", f"node {node.number}, core {index}: {said}")
            _add(drawn, "rect", class_="core", x=x, y=y, width=width, height=height, fill=IDLE, stroke=LINE, rx=3)
            for thread, vcpu in enumerate(core):
                edge = y + thread * THREAD_HEIGHT
                place = {"x": x + 1, "y": edge + 1, "width": width - 2, "height": THREAD_HEIGHT - 2, "rx": 2}
                gone = before.cores[index][thread]
                if vcpu is not None:
                    colour = _colour(self.virtual_nodes[vcpu])
                    _add(drawn, "rect", class_="vcpu", **place, fill=colour)
                    _text(drawn, x + width / 2, edge + 15, str(vcpu), 12, _ink_on(colour), text_anchor="middle")
                elif gone is not None and gone not in node.vcpus:
                    dashes = {"stroke": _colour(self.virtual_nodes[gone]), "stroke-dasharray": "3 2"}
                    _add(drawn, "rect", class_="moved", **place, fill=PAPER, stroke_width=1.5, **dashes)
                    _text(drawn, x + width / 2, edge + 15, str(gone), 12, MUTED, text_anchor="middle")
                elif thread:
                    _add(drawn, "line", x1=x + 4, x2=x + width - 4, y1=edge, y2=edge, stroke=LINE)

    def memory(self, group: ET.Element, node: Node, left: float, top: float) -> None:
        bar = {"x": left, "y": top, "width": self.inside, "height": BAR_HEIGHT}
        _add(group, "rect", class_="memory", **bar, fill=IDLE, stroke=LINE)
        x, capacity = left, _capacity(self.layout, node)
        for part in node.memory:
            width = part.bytes / capacity * self.inside
            colour = _colour(self.virtual_nodes[self.layout["clients"][part.client]["first_vcpu"]])
            place = {**bar, "x": x, "width": width}
            if part.local:
                _add(group, "rect", class_="local", **place, fill=colour, stroke=PAPER)
            else:
                _add(group, "rect", class_="remote", **place, fill=PAPER, stroke=colour)
                _add(group, "path", d=_hatching(x, top, width, BAR_HEIGHT), stroke=colour, stroke_width=2)
            x += width

    def legend(self) -> None:
        """What the marks mean, for those that occur."""
        threads = len(self.nodes[0].cores[0])
        said = ["A cell is a core" + (f", its {threads} lines are its hyper-threads." if threads > 1 else ".")]
        if _moves(self.layout):
            said.append("Dashed: where vCPUs were at power-on. Memory is as placed at power-on; it follows slowly.")
        if any(not part.local for node in self.nodes for part in node.memory):
            said.append("Hatched memory is remote: used from another node.")
        said.append("Within a node vCPUs change cores freely.")
        if self.layout["collapsed"]:
            said.append("Cells show their home; while it is short of cores, vCPUs run on idle cores elsewhere too.")
        self.y += 2
        self.paragraph(" ".join(said), 11.5, MUTED)

    def paragraph(self, words: str, size: float, colour: str, bold: bool = False) -> None:
        for line in _wrapped(words, size, self.width - 2 * MARGIN, bold):
            _text(self.root, MARGIN, self.y + size, line, size, colour, **({"font_weight": "650"} if bold else {}))
            self.y += size + 6
        self.y += 4


def _per_row(count: int, fitting: int) -> int:
    """Nodes in a row: as many as fit, or somewhat fewer when that leaves no gap in the last row."""
    fitting = max(min(fitting, count), 1)
    whole = [columns for columns in range((fitting + 1) // 2, fitting + 1) if count % columns == 0]
    return whole[-1] if whole else fitting


def _hatching(x: float, y: float, width: float, height: float) -> str:
    """Rising lines that fill a rectangle, as a path. A pattern would need an id, which two drawings in a page share."""
    lines, offset = "", 4 - height
    while offset < width:
        start, end = max(offset, 0.0), min(offset + height, width)
        low, high = y + height - (start - offset), y + height - (end - offset)
        lines += f"M{_number(x + start)} {_number(low)}L{_number(x + end)} {_number(high)}"
        offset += 6
    return lines


def _wrapped(words: str, size: float, width: float, bold: bool = False) -> list[str]:
    """Lines of at most `width`, judged by how wide prose is in a wide font (DejaVu Sans)."""
    return textwrap.wrap(words, int(width / size / (0.62 if bold else 0.53)), break_on_hyphens=False)


def _width(words: str, size: float) -> float:
    """About how wide a short text with many digits is in a wide font."""
    return 0.6 * size * len(words)


def _add(parent: ET.Element, tag: str, words: str | None = None, /, **attributes: float | str) -> ET.Element:
    """A child element; `stroke_width=2` becomes `stroke-width="2"` and `class_` becomes `class`."""
    written = {
        key.rstrip("_").replace("_", "-"): value if isinstance(value, str) else _number(value)
        for key, value in attributes.items()
    }
    element = ET.SubElement(parent, tag, written)
    element.text = words
    return element


def _text(parent: ET.Element, x: float, y: float, words: str, size: float, colour: str, **attributes: str) -> None:
    _add(parent, "text", words, x=x, y=y, font_size=size, fill=colour, **attributes)


def _number(value: float) -> str:
    """At most two decimals, none where they are zero."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
