"""A NUMA layout as a drawing, for a page (SVG) and for a terminal.

It shows the host's NUMA nodes with their cores and hyper-threads, on which of them a virtual machine's vCPUs are once the
rebalancer has settled, and where its memory is. A layout is what `hypertwin vnuma --format json` prints. Within a node
cores are interchangeable: which core a vCPU has is for the drawing only, but that every vCPU gets a core of its own
before a second hyper-thread is used is how hypervisors place them.

The colours are those of Okabe and Ito, "Color Universal Design" (https://jfly.uni-koeln.de/color/), which people with any
colour vision tell apart; a number in every cell says the same without colour.
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
"""One colour per virtual node, and again from the first beyond eight."""
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
    return [_Move(tuple(vcpus), *nodes) for nodes, vcpus in sorted(moved.items())]


def grid_columns(cores: int) -> int:
    """Cores in a row of the grid that a node is drawn as: about three times as wide as high, and without gaps if it can.

    At most 18, so that the widest node fits 80 columns of text.
    """
    most = min(max(cores, 1), math.ceil(2.5 * math.sqrt(cores)), 18)
    wanted = math.sqrt(3 * cores)
    return min(
        range(min(math.ceil(math.sqrt(cores)), most), most + 1),
        key=lambda columns: (-cores % columns, abs(columns - wanted)),
    )


# --- what both forms say -----------------------------------------------------------------------------------------------


def heading(layout: Mapping[str, Any]) -> str:
    """What the guest sees, in a line: `24 vCPUs in 3 virtual nodes (3 × 8)`."""
    count = layout["vcpus"]
    size = f"{count} vCPU{'s' if count != 1 else ''}, {_size(layout['memory_bytes'])}"
    vpds = layout["vpds"]
    return f"{size}: the guest sees " + (f"{len(vpds)} nodes ({_sum(vpds)} vCPUs)" if len(vpds) > 1 else "one node")


def facts(layout: Mapping[str, Any]) -> str:
    """The host and the NUMA clients, in a line."""
    host, ppds = layout["host_topology"], layout["ppds"]
    threads = host["threads_per_core"]
    parts = (
        layout["hypervisor"].replace("esxi-", "ESXi ").replace("linux-", "Linux "),
        f"{host['sockets']} socket{'s' if host['sockets'] != 1 else ''} × {host['cores_per_socket']} cores"
        + (f" × {threads} threads" if threads > 1 else ""),
        f"{_size(host['memory_per_node_bytes'])} per node",
        f"{len(ppds)} NUMA client{'s' if len(ppds) != 1 else ''} ({_sum(ppds)})",
        *(["memory interleaved"] if _interleaved(layout) else []),
    )
    return " · ".join(parts)


def settling(layout: Mapping[str, Any]) -> str:
    """What the rebalancer makes of the placement at power-on, in a sentence; empty when it changes nothing."""
    settled = layout["settled_homes"]
    if layout["collapsed"]:
        host = layout["host_topology"]
        idle = [node for node in range(host["sockets"]) if node not in settled]
        rest = f"; node{'s' if len(idle) > 1 else ''} {ranges(idle)} idle{'s' if len(idle) == 1 else ''}" if idle else ""
        clients = f"all {len(settled)} NUMA clients settle" if len(settled) > 1 else "the only NUMA client is"
        return (
            f"Collapsed: {clients} on node {settled[0]}. {layout['vcpus']} vCPUs share {host['cores_per_socket']} cores"
            f" and one node's memory bandwidth{rest}."
        )
    moved = "; ".join(f"vCPU {ranges(move.vcpus)} from node {move.source} to {move.target}" for move in _moves(layout))
    return f"After power-on the rebalancer moves {moved}." if moved else ""


def _node_lines(layout: Mapping[str, Any], node: Node) -> list[str]:
    """What is on a node, a line each: its load, its NUMA clients, what left it."""
    cores, count = len(node.cores), len(node.vcpus)
    threads = len(node.cores[0])
    if not count:
        lines = ["idle"]
    elif count <= cores:
        lines = [f"{count} vCPU{'s' if count != 1 else ''} on {cores} core{'s' if cores != 1 else ''}"]
    elif node.waiting:
        lines = [f"{count} vCPUs take turns on {cores * threads} {'threads' if threads > 1 else 'cores'}"]
    else:
        lines = [f"{count} vCPUs on {cores} cores, {count - cores} on second threads"]
    if node.clients:
        clients = f"NUMA client{'s' if len(node.clients) > 1 else ''} {ranges(node.clients)}: "
        lines.append(f"{clients if len(layout['ppds']) > 1 else ''}vCPU {ranges(node.vcpus)}")
    if node.waiting:
        lines.append(f"without a thread of its own: vCPU {ranges(node.waiting)}")
    lines += [
        f"at power-on also vCPU {ranges(move.vcpus)}, moved to node {move.target}"
        if count
        else f"at power-on vCPU {ranges(move.vcpus)}, moved to node {move.target}"
        for move in _moves(layout)
        if move.source == node.number
    ]
    return lines


def _memory_words(layout: Mapping[str, Any], node: Node) -> str:
    local = sum(part.bytes for part in node.memory if part.local)
    remote = sum(part.bytes for part in node.memory if not part.local)
    of = f"of {_size(layout['host_topology']['memory_per_node_bytes'])}"
    if not local + remote:
        return f"memory: none {of}"
    if not remote:
        return f"memory: {_size(local)} {of}, local"
    if not local:
        return f"memory: {_size(remote)} {of}, remote"
    return f"memory: {_size(local + remote)} {of}: {_size(local)} local, {_size(remote)} remote"


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
    words = [
        f"node {number}: vCPU {ranges(range(*pair))}" for number, pair in enumerate(itertools.pairwise(ends))
    ]
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


def _sum(sizes: Sequence[int]) -> str:
    """Sizes in short: `3 × 8`, `8 + 8 + 4` as `2 × 8 + 4`."""
    runs = [(size, len(list(group))) for size, group in itertools.groupby(sizes)]
    return " + ".join(f"{count} × {size}" if count > 1 else str(size) for size, count in runs)


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
    return PALETTE[virtual_node % len(PALETTE)]


# --- terminal ----------------------------------------------------------------------------------------------------------

NARROW = 34
"""Columns inside the box of a node, at least: two such boxes stand side by side in 80 columns."""


def terminal(layout: Mapping[str, Any]) -> RenderableType:
    """The drawing as text of 80 columns and more: a box per node, a cell per core with a line per hyper-thread."""
    virtual_nodes = _virtual_nodes(layout)
    styles = [Style(color=_ink_on(colour), bgcolor=colour) for colour in PALETTE]
    words, more = _guest(layout)
    guest = Text("guest   ", style="dim")
    for number, word in enumerate(words):
        guest.append(f" {word} ", styles[number % len(styles)]).append("  ")
    guest.append(more)

    def cell(core: Sequence[int | None]) -> Text:
        lines = [
            Text("·", style="dim") if vcpu is None else Text(str(vcpu), styles[virtual_nodes[vcpu] % len(styles)])
            for vcpu in core
        ]
        return Text("\n").join(lines)

    boxes = []
    for node in nodes(layout):
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
        guest,
        Columns(boxes, padding=(0, 1)),
        *([Text(said, style="bold red" if layout["collapsed"] else "yellow")] if said else []),
    )


def _memory_bar(layout: Mapping[str, Any], node: Node, width: int) -> Text:
    """Local memory as full blocks, remote as shaded ones, the rest of the node's as dots."""
    capacity = max(layout["host_topology"]["memory_per_node_bytes"], sum(part.bytes for part in node.memory), 1)
    virtual_nodes = _virtual_nodes(layout)
    bar, used = Text(), 0
    for part in node.memory:
        before, used = used, used + part.bytes
        cells = round(used / capacity * width) - round(before / capacity * width)
        colour = _colour(virtual_nodes[layout["clients"][part.client]["first_vcpu"]])
        bar.append(("█" if part.local else "▒") * cells, Style(color=colour))
    return bar.append("·" * (width - len(bar)), "dim")


# --- SVG ---------------------------------------------------------------------------------------------------------------

MARGIN, GAP, PADDING = 16, 16, 12
THREAD_HEIGHT, BAR_HEIGHT, LANE = 21, 16, 26
LEAST_WIDTH, LEAST_NODE, MOST_WIDTH = 552, 252, 1150
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
        self.core_width = 40 if self.columns <= 6 else 36 if self.columns <= 12 else 30
        self.core_height = THREAD_HEIGHT * len(self.nodes[0].cores[0]) + 4
        node_width = max(self.columns * self.core_width + 2 * PADDING, LEAST_NODE)
        self.per_row = _per_row(len(self.nodes), (MOST_WIDTH - 2 * MARGIN + GAP) // (node_width + GAP))
        self.width = max(self.per_row * (node_width + GAP) - GAP + 2 * MARGIN, LEAST_WIDTH)
        self.node_width = (self.width - 2 * MARGIN + GAP) / self.per_row - GAP
        self.root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img", "font-family": FONT})
        self.y: float = MARGIN
        title = f"{name}: {heading(layout)}" if name else heading(layout)
        ET.SubElement(self.root, "title").text = title
        ET.SubElement(self.root, "desc").text = " ".join(self.description())
        self.background = self.rect(self.root, 0, 0, self.width, 0, "background", fill=PAPER, rx=8)
        self.paragraph(title, 16, INK, weight="650")
        self.paragraph(facts(layout), 12, MUTED)
        self.banner()
        self.guest()
        for first in range(0, len(self.nodes), self.per_row):
            self.row(self.nodes[first : first + self.per_row])
        self.legend()
        for warning in layout.get("warnings", ()):
            self.paragraph(f"⚠ {warning['code']}: {warning['text']}", 12, ALERT_INK)
        height = self.y + MARGIN - 6
        self.background.set("height", _number(height))
        self.root.set("viewBox", f"0 0 {_number(self.width)} {_number(height)}")
        self.root.set("width", _number(self.width))
        self.root.set("height", _number(height))

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
        ink, paper = (ALERT_INK, ALERT_PAPER) if self.layout["collapsed"] else (NOTE_INK, NOTE_PAPER)
        lines = self.wrapped(said, 13, self.width - 2 * MARGIN - 24)
        self.y += 2
        self.rect(
            self.root, MARGIN, self.y, self.width - 2 * MARGIN, len(lines) * 18 + 12, "banner", fill=paper, rx=6
        )
        for index, line in enumerate(lines):
            self.text(self.root, MARGIN + 12, self.y + 20 + index * 18, line, 13, ink, weight="600")
        self.y += len(lines) * 18 + 22

    def guest(self) -> None:
        words, more = _guest(self.layout)
        self.text(self.root, MARGIN, self.y + 13, "Guest", 12, MUTED)
        x, left = MARGIN + 50.0, MARGIN + 50.0
        for number, word in enumerate(words):
            width = _text_width(word, 12) + 18
            if x > left and x + width > self.width - MARGIN:
                x, self.y = left, self.y + 26
            colour = _colour(number)
            self.rect(self.root, x, self.y - 2, width, 21, "virtual-node", fill=colour, rx=10.5)
            self.text(self.root, x + width / 2, self.y + 13, word, 12, _ink_on(colour), anchor="middle")
            x += width + 8
        if more:
            self.text(self.root, x, self.y + 13, more, 12, MUTED)
        self.y += 34

    def row(self, row: Sequence[Node]) -> None:
        """Nodes side by side, with the moves between them above."""
        lines = [
            [part for line in _node_lines(self.layout, node) for part in self.wrapped(line, 12, self.inside)]
            for node in row
        ]
        memory = [self.wrapped(_memory_words(self.layout, node), 12, self.inside) for node in row]
        text_lines, memory_lines = max(map(len, lines)), max(map(len, memory))
        cores_height = math.ceil(len(row[0].cores) / self.columns) * self.core_height
        height = 30 + text_lines * 16 + 6 + cores_height + 12 + memory_lines * 16 + BAR_HEIGHT + PADDING
        places = {node.number: MARGIN + index * (self.node_width + GAP) for index, node in enumerate(row)}
        for move in _moves(self.layout):
            if move.source in places and move.target in places:
                self.arrow(move, places)
        for node, said, kept in zip(row, lines, memory, strict=True):
            x, y = places[node.number], self.y
            group = ET.SubElement(self.root, "g", {"class": "node-group"})
            fill = "#fafbfc" if node.clients else PAPER
            self.rect(group, x, y, self.node_width, height, "node", fill=fill, stroke="#8b98a5", rx=8)
            self.text(group, x + PADDING, y + 21, f"NUMA node {node.number}", 13.5, INK, weight="650")
            for index, line in enumerate(said):
                self.text(group, x + PADDING, y + 39 + index * 16, line, 12, INK if index == 0 else MUTED)
            self.cores(group, node, x + PADDING, y + 36 + text_lines * 16)
            bottom = y + height - PADDING - BAR_HEIGHT
            for index, line in enumerate(reversed(kept)):
                self.text(group, x + PADDING, bottom - 6 - index * 16, line, 12, INK)
            self.memory(group, node, x + PADDING, bottom)
        self.y += height + GAP

    def arrow(self, move: _Move, places: Mapping[int, float]) -> None:
        """An arrow from node to node in a lane of its own, which ends at the nodes' upper edge."""
        centre = self.node_width / 2
        start, end = places[move.source] + centre, places[move.target] + centre
        y, below = self.y + 10, self.y + LANE
        ET.SubElement(
            self.root,
            "path",
            {
                "class": "move",
                "d": f"M{_number(start)} {_number(below)}V{_number(y)}H{_number(end)}V{_number(below - 6)}",
                "fill": "none",
                "stroke": ALERT_INK,
                "stroke-width": "2",
            },
        )
        ET.SubElement(
            self.root,
            "path",
            {"d": f"M{_number(end - 5)} {_number(below - 8)}h10l-5 8z", "fill": ALERT_INK},
        )
        words = f"vCPU {ranges(move.vcpus, 3)}"
        width = _text_width(words, 12) + 10
        middle = (start + end) / 2
        self.rect(self.root, middle - width / 2, y - 8, width, 16, "label", fill=PAPER)
        self.text(self.root, middle, y + 4, words, 12, ALERT_INK, anchor="middle", weight="600")
        self.y += LANE + 2

    def cores(self, group: ET.Element, node: Node, left: float, top: float) -> None:
        before = self.at_power_on[node.number]
        for index, core in enumerate(node.cores):
            x = left + index % self.columns * self.core_width
            y = top + index // self.columns * self.core_height
            drawn = ET.SubElement(group, "g")
            said = ", ".join(f"vCPU {vcpu}" for vcpu in core if vcpu is not None) or "idle"
            ET.SubElement(drawn, "title").text = f"node {node.number}, core {index}: {said}"
            width, height = self.core_width - 4, self.core_height - 4
            self.rect(drawn, x, y, width, height, "core", fill=IDLE, stroke=LINE, rx=3)
            for thread, vcpu in enumerate(core):
                edge = y + thread * THREAD_HEIGHT
                place = (x + 1, edge + 1, width - 2, THREAD_HEIGHT - 2)
                gone = before.cores[index][thread]
                if vcpu is not None:
                    colour = _colour(self.virtual_nodes[vcpu])
                    self.rect(drawn, *place, "vcpu", fill=colour, rx=2)
                    self.text(drawn, x + width / 2, edge + 15, str(vcpu), 12, _ink_on(colour), anchor="middle")
                elif gone is not None and gone not in node.vcpus:
                    colour = _colour(self.virtual_nodes[gone])
                    dashed = {"stroke": colour, "stroke-width": "1.5", "stroke-dasharray": "3 2"}
                    self.rect(drawn, *place, "moved", fill=PAPER, rx=2, **dashed)
                    self.text(drawn, x + width / 2, edge + 15, str(gone), 12, MUTED, anchor="middle")
                elif thread:
                    line = {"x1": x + 4, "x2": x + width - 4, "y1": edge, "y2": edge}
                    ET.SubElement(drawn, "line", {key: _number(value) for key, value in line.items()} | {"stroke": LINE})

    def memory(self, group: ET.Element, node: Node, left: float, top: float) -> None:
        capacity = max(self.layout["host_topology"]["memory_per_node_bytes"], sum(part.bytes for part in node.memory), 1)
        self.rect(group, left, top, self.inside, BAR_HEIGHT, "memory", fill=IDLE, stroke=LINE)
        x = left
        for part in node.memory:
            width = part.bytes / capacity * self.inside
            colour = _colour(self.virtual_nodes[self.layout["clients"][part.client]["first_vcpu"]])
            self.segment(group, x, top, width, colour, part.local)
            x += width

    def segment(self, group: ET.Element, x: float, y: float, width: float, colour: str, local: bool) -> None:
        """A stretch of memory: filled when local, hatched when remote."""
        outline = {"stroke": PAPER if local else colour, "stroke-width": "1"}
        fill = colour if local else PAPER
        self.rect(group, x, y, width, BAR_HEIGHT, "local" if local else "remote", fill=fill, **outline)
        if local:
            return
        strokes = []
        offset = -BAR_HEIGHT + 4.0
        while offset < width:
            start, end = max(offset, 0.0), min(offset + BAR_HEIGHT, width)
            strokes.append(
                f"M{_number(x + start)} {_number(y + BAR_HEIGHT - (start - offset))}"
                f"L{_number(x + end)} {_number(y + BAR_HEIGHT - (end - offset))}"
            )
            offset += 6
        ET.SubElement(group, "path", {"d": "".join(strokes), "stroke": colour, "stroke-width": "2", "fill": "none"})

    def legend(self) -> None:
        """What the marks mean, for those that occur."""
        threads = len(self.nodes[0].cores[0])
        memory = [part for node in self.nodes for part in node.memory]
        said = ["A cell is a core" + (f", its {threads} lines are its hyper-threads." if threads > 1 else ".")]
        if _moves(self.layout):
            said.append("Dashed: where vCPUs were at power-on. Memory is as placed at power-on; it follows slowly.")
        if any(not part.local for part in memory):
            said.append("Hatched memory is remote: used from another node.")
        said.append("Within a node vCPUs change cores freely.")
        self.y += 2
        self.paragraph(" ".join(said), 11.5, MUTED)

    # shapes

    @property
    def inside(self) -> float:
        """Width inside a node's box."""
        return self.node_width - 2 * PADDING

    def paragraph(self, words: str, size: float, colour: str, weight: str = "") -> None:
        for line in self.wrapped(words, size, self.width - 2 * MARGIN):
            self.text(self.root, MARGIN, self.y + size, line, size, colour, weight=weight)
            self.y += size + 6
        self.y += 4

    @staticmethod
    def wrapped(words: str, size: float, width: float) -> list[str]:
        return textwrap.wrap(words, max(int(width / _text_width("m", size)), 10)) or [""]

    @staticmethod
    def rect(
        parent: ET.Element, x: float, y: float, width: float, height: float, kind: str, *, rx: float = 0, **paint: str
    ) -> ET.Element:
        place = {"x": x, "y": y, "width": width, "height": height, **({"rx": rx} if rx else {})}
        return ET.SubElement(
            parent, "rect", {"class": kind} | {key: _number(value) for key, value in place.items()} | paint
        )

    @staticmethod
    def text(
        parent: ET.Element,
        x: float,
        y: float,
        words: str,
        size: float,
        colour: str,
        *,
        anchor: str = "",
        weight: str = "",
    ) -> None:
        attributes = {"x": _number(x), "y": _number(y), "font-size": _number(size), "fill": colour}
        if anchor:
            attributes["text-anchor"] = anchor
        if weight:
            attributes["font-weight"] = weight
        ET.SubElement(parent, "text", attributes).text = words


def _per_row(count: int, fitting: int) -> int:
    """Nodes in a row: as many as fit, or somewhat fewer when that leaves no gap in the last row."""
    fitting = max(min(fitting, count), 1)
    whole = [columns for columns in range((fitting + 1) // 2, fitting + 1) if count % columns == 0]
    return whole[-1] if whole else fitting


def _text_width(words: str, size: float) -> float:
    """About how wide a text is; a wide font (DejaVu Sans) must still fit."""
    return 0.6 * size * len(words)


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
