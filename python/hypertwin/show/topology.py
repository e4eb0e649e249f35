"""NUMA layout as content for drawings and as text for a terminal. `topology_svg` draws for pages.

The layout has the NUMA nodes of the host with their cores and hyper-threads. It also has the vCPUs of a VM after the
rebalancer has acted, and the memory of the VM. A layout is the output of `hypertwin vnuma --format json`. The
drawing assigns vCPUs to cores of a node arbitrarily. In reality each vCPU gets its own core before second threads
are used.

The colours are those of Okabe and Ito, "Color Universal Design" (https://jfly.uni-koeln.de/color/), chosen for any
colour vision. The number in every cell gives the same information without colour.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.style import Style
from rich.table import Table
from rich.text import Text

from hypertwin import language
from hypertwin.documents.vnuma import Client, HostTopology, Layout
from hypertwin.naming import counted

PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8c8c8c")
"""Colour of each virtual node. The next eight nodes have paler colours, then the colours repeat."""
INK, MUTED, LINE, IDLE, PAPER = "#1d2733", "#5d6b7a", "#c3ccd5", "#eef1f4", "#ffffff"
ALERT_INK, ALERT_PAPER = "#8f1d16", "#fbe1df"
NOTE_INK, NOTE_PAPER = "#6b4a00", "#fdf0cf"
GIB = 1 << 30


@dataclass(frozen=True)
class Memory:
    """Memory of one NUMA client on a node, in bytes. It is local if the vCPUs of the client are on the same node."""

    client: int
    bytes: int
    local: bool


@dataclass(frozen=True)
class Node:
    """NUMA node of the host, as drawn."""

    number: int
    cores: tuple[tuple[int | None, ...], ...]
    """Number of the vCPU on every thread of every core, or None for a free thread."""
    waiting: tuple[int, ...]
    """vCPUs without a free thread on the node."""
    clients: tuple[int, ...]
    """NUMA clients with this home node, by index."""
    memory: tuple[Memory, ...]

    @property
    def vcpus(self) -> list[int]:
        """The vCPUs on the node in order, including waiting ones."""
        return sorted({vcpu for core in self.cores for vcpu in core if vcpu is not None} | {*self.waiting})


def nodes(layout: Layout, homes: Sequence[int] | None = None) -> list[Node]:
    """Return the nodes with the vCPUs of a layout. Each vCPU gets a core first, then second hyper-threads are used.

    `homes` is the home node of each NUMA client. The default is the node of the client after the rebalancer has acted.
    """
    host = layout["host_topology"]
    homes = layout["settled_homes"] if homes is None else homes
    per_node, threads = host["cores_per_node"], host["threads_per_core"]
    found = []
    for number in range(host["nodes"]):
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


def _vcpus(client: Client) -> range:
    return range(client["first_vcpu"], client["first_vcpu"] + client["vcpus"])


@dataclass(frozen=True)
class Move:
    """vCPUs that the rebalancer moves from one node to another."""

    vcpus: tuple[int, ...]
    source: int
    target: int


def settling_moves(layout: Layout) -> list[Move]:
    """Return the moves of the rebalancer after power-on, in the order of the nodes."""
    moved: dict[tuple[int, int], list[int]] = {}
    for client, source, target in zip(layout["clients"], layout["homes"], layout["settled_homes"], strict=True):
        if source != target:
            moved.setdefault((source, target), []).extend(_vcpus(client))
    return [Move(tuple(vcpus), *pair) for pair, vcpus in sorted(moved.items())]


def grid_columns(cores: int) -> int:
    """Return the number of cores in a row of the grid of a node: about three times the number of rows, without gaps if
    possible.

    There are at most 18 cores in a row, so that the widest node fits 80 columns of text.
    """
    most = min(max(cores, 1), math.ceil(2.5 * math.sqrt(cores)), 18)
    wanted = math.sqrt(3 * cores)
    return min(
        range(min(math.ceil(math.sqrt(cores)), most), most + 1),
        key=lambda columns: (-cores % columns, abs(columns - wanted)),
    )


# --- words of both forms --------------------------------------------------------------------------------------------


def heading(layout: Layout) -> str:
    """Return a line about the VM: `24 vCPUs, 96 GiB, 3 virtual nodes of 8`."""
    size = f"{counted(layout['vcpus'], 'vCPU')}, {_size(layout['memory_bytes'])}"
    return f"{size}, {_parts(layout['vpds'], 'virtual node')}"


def facts(layout: Layout) -> str:
    """Return the host and the NUMA clients, in a line."""
    host = layout["host_topology"]
    threads = host["threads_per_core"]
    title = layout["hypervisor"]
    if of := language.hypervisors().get(title):
        title = title.replace(f"{of.family}-", f"{of.family_title} ") if of.virtualises else of.product
    parts = (
        title,
        f"{counted(host['sockets'], 'socket')}{_divided(host)} × {counted(host['cores_per_node'], 'core')}"
        + (f" × {threads} threads" if threads > 1 else ""),
        f"{_size(host['memory_per_node_bytes'])} per node",
        _parts(layout["ppds"], "NUMA client"),
    )
    return " · ".join(parts)


def _divided(host: HostTopology) -> str:
    """Return the number of NUMA nodes of a socket if there are several: ` × 4 nodes`."""
    return f" × {host['nodes'] // host['sockets']} nodes" if host["nodes"] > host["sockets"] else ""


def by_socket(layout: Layout, placed: Sequence[Node]) -> list[tuple[str, Sequence[Node]]]:
    """Return the nodes with their headings: `socket 0` and so on if sockets have several nodes, otherwise together."""
    host = layout["host_topology"]
    each = host["nodes"] // host["sockets"]
    if each == 1:
        return [("", placed)]
    return [(f"socket {number}", placed[number * each : (number + 1) * each]) for number in range(host["sockets"])]


def settling(layout: Layout) -> str:
    """Return a sentence about the effect of the rebalancer on the placement at power-on.

    The text is empty if there is no effect.
    """
    if layout["collapsed"]:
        host, node = layout["host_topology"], layout["settled_homes"][0]
        others = [other for other in range(host["nodes"]) if other != node]
        none = f", none on {_numbered('node', others)}" if others else ""
        return f"Collapsed onto node {node}: {layout['vcpus']} vCPUs on {host['cores_per_node']} cores{none}."
    moved = "; ".join(
        f"vCPU {ranges(move.vcpus)} from node {move.source} to {move.target}" for move in settling_moves(layout)
    )
    return f"After power-on the rebalancer moves {moved}." if moved else ""


def node_lines(layout: Layout, node: Node) -> list[str]:
    """Return lines with the content of a node: its load, its NUMA clients, and clients that left."""
    cores, count = len(node.cores), len(node.vcpus)
    threads = len(node.cores[0])
    if not count:
        lines = ["no vCPUs"]
    elif count <= cores:
        lines = [f"{counted(count, 'vCPU')} on {counted(cores, 'core')}"]
    elif node.waiting:
        lines = [f"{count} vCPUs take turns on {cores * threads} {'threads' if threads > 1 else 'cores'}"]
    else:
        lines = [f"{count} vCPUs, {count - cores} on second threads"]
    if node.clients:
        clients = f"{_numbered('NUMA client', node.clients)}: " if len(layout["ppds"]) > 1 else ""
        lines.append(f"{clients}vCPU {ranges(node.vcpus)}")
    if node.waiting:
        lines.append(f"without a thread of its own: vCPU {ranges(node.waiting)}")
    moved = [move for move in settling_moves(layout) if move.source == node.number]
    lines += [f"vCPU {ranges(move.vcpus)} moved to node {move.target}" for move in moved]
    return lines


def memory_words(layout: Layout, node: Node) -> str:
    """Return the used memory of a node, and its remote part."""
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


def bar_bytes(layout: Layout, node: Node) -> int:
    """Return the number of bytes that the whole memory bar of a node represents."""
    return max(int(layout["host_topology"]["memory_per_node_bytes"]), sum(part.bytes for part in node.memory), 1)


def _interleaved(layout: Layout) -> bool:
    """True if every NUMA client's memory is spread evenly over the same nodes, at least two."""
    spreads = [{part["node"]: part["bytes"] for part in client["memory"]} for client in layout["clients"]]
    even = all(len(spread) > 1 and max(spread.values()) <= 1.01 * min(spread.values()) for spread in spreads)
    return even and len(spreads) > 1 and len({frozenset(spread) for spread in spreads}) == 1


def virtual_node_of_vcpus(layout: Layout) -> list[int]:
    """Return the virtual node of every vCPU."""
    return [number for number, size in enumerate(layout["vpds"]) for _ in range(size)]


def guest_words(layout: Layout, most: int = 16) -> tuple[list[str], str]:
    """Return the words for each virtual node up to `most`, and for the others together."""
    ends = list(itertools.accumulate(layout["vpds"], initial=0))
    words = [f"{number}: vCPU {ranges(range(*pair))}" for number, pair in enumerate(itertools.pairwise(ends))]
    return words[:most], f"and {len(words) - most} more" if len(words) > most else ""


def ranges(numbers: Iterable[int], most: int = 6) -> str:
    """Return the integers in short form: `0–7, 16–23`. An ellipsis replaces the ranges beyond `most`."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    words = [str(low) if low == high else f"{low}–{high}" for low, high in spans]
    return ", ".join(words[:most]) + (", …" if len(words) > most else "")


def _parts(sizes: Sequence[int], name: str) -> str:
    """Return how a VM is divided in words: `3 virtual nodes of 8`, `3 virtual nodes of 2 × 8 + 4`, `1 virtual node`."""
    runs = [(size, len(list(group))) for size, group in itertools.groupby(sizes)]
    if len(runs) == 1:
        return f"{len(sizes)} {name}s of {sizes[0]}" if len(sizes) > 1 else f"1 {name}"
    total = " + ".join(f"{count} × {size}" if count > 1 else str(size) for size, count in runs)
    return f"{len(sizes)} {name}s of {total}"


def _numbered(name: str, numbers: Sequence[int]) -> str:
    return f"{name}{'s' if len(numbers) != 1 else ''} {ranges(numbers)}"


def _size(size_bytes: float) -> str:
    gib = size_bytes / GIB
    return f"{gib:.0f} GiB" if gib >= 10 or gib == int(gib) else f"{gib:.1f} GiB"


def ink_on(colour: str) -> str:
    """Return black or white, whichever is more readable on a colour (relative luminance, WCAG 2.1)."""
    channels = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    red, green, blue = ((value / 12.92) if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in channels)
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return PAPER if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "#000000"


def colour_of(virtual_node: int) -> str:
    """Return the colour of a virtual node."""
    colour = PALETTE[virtual_node % len(PALETTE)]
    if virtual_node // len(PALETTE) % 2 == 0:
        return colour
    return "#" + "".join(f"{(int(colour[index : index + 2], 16) + 255) // 2:02x}" for index in (1, 3, 5))


# --- terminal -------------------------------------------------------------------------------------------------------

NARROW = 35
"""Minimum number of columns inside the box of a node, so that two boxes fit side by side in 80 columns."""


def terminal(layout: Layout) -> RenderableType:
    """Return the drawing as text of at least 80 columns.

    A node is a box, and a core is a cell with a line per hyper-thread.
    """
    virtual_nodes = virtual_node_of_vcpus(layout)
    styles = [Style(color=ink_on(colour), bgcolor=colour) for colour in map(colour_of, range(len(layout["vpds"])))]
    words, more = guest_words(layout)
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

    def drawn(node: Node) -> Panel:
        columns = grid_columns(len(node.cores))
        digits = len(str(layout["vcpus"] - 1))
        roomy = columns * (digits + 3) + 1 <= NARROW
        cores = Table(box=box.SQUARE, show_header=False, show_lines=True, padding=(0, int(roomy)), border_style="dim")
        for _ in range(columns):
            cores.add_column(justify="right", width=digits, no_wrap=True)
        for first in range(0, len(node.cores), columns):
            cores.add_row(*(cell(core) for core in node.cores[first : first + columns]))
        inside = max(NARROW, columns * (digits + 1 + 2 * roomy) + 1)
        return Panel(
            Group(
                *(Text(line) for line in node_lines(layout, node)),
                cores,
                Text(memory_words(layout, node)),
                _memory_bar(layout, node, inside),
            ),
            title=Text(f"NUMA node {node.number}", style="bold"),
            title_align="left",
            width=inside + 4,
            border_style="dim",
        )

    boxes: list[RenderableType] = []
    for socket, members in by_socket(layout, placed):
        if shown := [drawn(node) for node in members if node.number not in left_out]:
            boxes += [*([Text(socket, style="bold")] if socket else []), Columns(shown, padding=(0, 1))]
    said = settling(layout)
    return Group(
        Text(heading(layout), style="bold"),
        Text(facts(layout), style="dim"),
        Columns(guest, padding=(0, 1)),
        *boxes,
        *([Text(f"no vCPUs and no memory: {_numbered('NUMA node', left_out)}", style="dim")] if left_out else []),
        *([Text(said, style="bold red" if layout["collapsed"] else "yellow")] if said else []),
    )


def _memory_bar(layout: Layout, node: Node, width: int) -> Text:
    """Return a bar with local memory as full blocks, remote memory as shaded blocks, and other memory as dots."""
    capacity = bar_bytes(layout, node)
    virtual_nodes = virtual_node_of_vcpus(layout)
    bar, used = Text(), 0
    for part in node.memory:
        before, used = used, used + part.bytes
        cells = round(used / capacity * width) - round(before / capacity * width)
        colour = colour_of(virtual_nodes[layout["clients"][part.client]["first_vcpu"]])
        bar.append(("█" if part.local else "▒") * cells, Style(color=colour))
    return bar.append("·" * (width - len(bar)), "dim")
