"""NUMA layout as a drawing (SVG), alone or in a page."""

from __future__ import annotations

import json
import math
import textwrap
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence

from hypertwin.documents.vnuma import Layout
from hypertwin.metrics.words import some
from hypertwin.show.topology import (
    ALERT_INK,
    ALERT_PAPER,
    IDLE,
    INK,
    LINE,
    MUTED,
    NOTE_INK,
    NOTE_PAPER,
    PAPER,
    Node,
    bar_bytes,
    by_socket,
    colour_of,
    facts,
    grid_columns,
    guest_words,
    heading,
    ink_on,
    memory_words,
    node_lines,
    nodes,
    ranges,
    settling,
    settling_moves,
    virtual_node_of_vcpus,
)

MAX_DRAWINGS = 12
"""Maximum number of layouts drawn on a page. If there are more, the page gives their number."""

MARGIN, GAP, PADDING, CORE_GAP = 16, 16, 12, 4
THREAD_HEIGHT, BAR_HEIGHT, LANE = 21, 16, 26
LEAST_WIDTH, LEAST_NODE, MOST_WIDTH = 584, 252, 1150
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


def svg(layout: Layout, name: str = "") -> str:
    """Return the drawing as a self-contained SVG element. `name` comes before its heading.

    The same layout gives the same bytes.
    """
    return ET.tostring(_Drawing(layout, name).root, encoding="unicode") + "\n"


def drawings(layouts: Mapping[str, Layout]) -> tuple[list[dict[str, str]], str]:
    """Return the drawings of layouts of VMs by name for a page, each with `caption` and `svg`, and a note on all.

    Layouts that differ only in the host's name are drawn once. Without layouts, the result is empty.
    """
    alike: dict[str, list[str]] = {}
    for name, layout in layouts.items():
        alike.setdefault(json.dumps({**layout, "host": ""}, sort_keys=True), []).append(name)
    drawn = []
    for names in list(alike.values())[:MAX_DRAWINGS]:
        hosts = sorted({str(layouts[name]["host"]) for name in names})
        drawn.append({"caption": f"{some(names, 4)} on {some(hosts, 4)}", "svg": svg(layouts[names[0]]).rstrip()})
    left_out = len(alike) - len(drawn)
    note = (
        "The drawings show vCPUs and memory as placed at power-on, and after the rebalancer settles with all vCPUs "
        "busy. A drawing shows one VM. Other VMs can share its nodes."
    ) + (f" {left_out} more layouts are not drawn." if left_out else "")
    return drawn, note if drawn else ""


class _Drawing:
    """Drawing that is created from top to bottom. `y` is the top of the next item."""

    def __init__(self, layout: Layout, name: str) -> None:
        self.layout = layout
        self.nodes = nodes(layout)
        self.at_power_on = nodes(layout, layout["homes"])
        self.virtual_nodes = virtual_node_of_vcpus(layout)
        self.columns = grid_columns(len(self.nodes[0].cores))
        self.core_height = THREAD_HEIGHT * len(self.nodes[0].cores[0]) + CORE_GAP
        least_core = 40 if self.columns <= 6 else 36 if self.columns <= 12 else 30
        node_width = max(self.columns * least_core + 2 * PADDING, LEAST_NODE)
        self.sockets = by_socket(layout, self.nodes)
        self.per_row = _per_row(len(self.sockets[0][1]), (MOST_WIDTH - 2 * MARGIN + GAP) // (node_width + GAP))
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
        for name_of_socket, members in self.sockets:
            self.socket(name_of_socket, members)
        self.legend()
        for warning in layout.get("warnings", ()):
            self.paragraph(f"⚠ {warning['code']}: {warning['text']}", 12, ALERT_INK)
        height = self.y + MARGIN - 6
        background.set("height", _number(height))
        size = {"width": _number(self.width), "height": _number(height)}
        self.root.attrib |= {**size, "viewBox": f"0 0 {size['width']} {size['height']}"}

    def description(self) -> list[str]:
        """Return the drawing in sentences, for screen readers."""
        said = [f"{facts(self.layout)}.", settling(self.layout)]
        for socket, members in self.sockets:
            for node in members:
                where = f" of {socket}" if socket else ""
                said.append(f"NUMA node {node.number}{where}: {'; '.join(node_lines(self.layout, node))};")
                said.append(f"{memory_words(self.layout, node)}.")
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
        words, more = guest_words(self.layout)
        _text(self.root, MARGIN, self.y + 13, "Virtual nodes", 12, MUTED)
        x = left = MARGIN + 90.0
        for number, word in enumerate(words):
            width = _width(word, 12) + 18
            if x + width > self.width - MARGIN:
                x, self.y = left, self.y + 26
            place = {"x": x, "y": self.y - 2, "width": width, "height": 21}
            _add(self.root, "rect", class_="virtual-node", **place, fill=colour_of(number), rx=10.5)
            ink = ink_on(colour_of(number))
            _text(self.root, x + width / 2, self.y + 13, word, 12, ink, text_anchor="middle")
            x += width + 8
        if more:
            _text(self.root, x, self.y + 13, more, 12, MUTED)
        self.y += 34

    def socket(self, name: str, members: Sequence[Node]) -> None:
        """Draw nodes in rows, with a frame around the nodes if they belong to one of several sockets."""
        frame = None
        if name:
            left = MARGIN - 8
            frame = _add(self.root, "rect", class_="socket", x=left, y=self.y, width=self.width - 2 * left, rx=8)
            frame.attrib |= {"fill": "none", "stroke": LINE}
            _text(self.root, MARGIN, self.y + 18, name.capitalize(), 13.5, INK, font_weight="650")
            self.y += 26
        top = self.y
        for first in range(0, len(members), self.per_row):
            self.row(members[first : first + self.per_row])
        if frame is not None:
            frame.set("height", _number(self.y - top + 26 - GAP + 8))
            self.y += 8

    def row(self, row: Sequence[Node]) -> None:
        """Draw nodes side by side, with the moves between the nodes above."""
        lines = [
            [
                (part, INK if index == 0 else MUTED)
                for index, line in enumerate(node_lines(self.layout, node))
                for part in _wrapped(line, 12, self.inside)
            ]
            for node in row
        ]
        memory = [_wrapped(memory_words(self.layout, node), 12, self.inside) for node in row]
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
        """Draw an arrow for every move between nodes of a row, in separate lanes above the nodes."""
        moves = [move for move in settling_moves(self.layout) if {move.source, move.target} <= places.keys()]
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
                    colour = colour_of(self.virtual_nodes[vcpu])
                    _add(drawn, "rect", class_="vcpu", **place, fill=colour)
                    _text(drawn, x + width / 2, edge + 15, str(vcpu), 12, ink_on(colour), text_anchor="middle")
                elif gone is not None and gone not in node.vcpus:
                    dashes = {"stroke": colour_of(self.virtual_nodes[gone]), "stroke-dasharray": "3 2"}
                    _add(drawn, "rect", class_="moved", **place, fill=PAPER, stroke_width=1.5, **dashes)
                    _text(drawn, x + width / 2, edge + 15, str(gone), 12, MUTED, text_anchor="middle")
                elif thread:
                    _add(drawn, "line", x1=x + 4, x2=x + width - 4, y1=edge, y2=edge, stroke=LINE)

    def memory(self, group: ET.Element, node: Node, left: float, top: float) -> None:
        bar = {"x": left, "y": top, "width": self.inside, "height": BAR_HEIGHT}
        _add(group, "rect", class_="memory", **bar, fill=IDLE, stroke=LINE)
        x, capacity = left, bar_bytes(self.layout, node)
        for part in node.memory:
            width = part.bytes / capacity * self.inside
            colour = colour_of(self.virtual_nodes[self.layout["clients"][part.client]["first_vcpu"]])
            place = {**bar, "x": x, "width": width}
            if part.local:
                _add(group, "rect", class_="local", **place, fill=colour, stroke=PAPER)
            else:
                _add(group, "rect", class_="remote", **place, fill=PAPER, stroke=colour)
                _add(group, "path", d=_hatching(x, top, width, BAR_HEIGHT), stroke=colour, stroke_width=2)
            x += width

    def legend(self) -> None:
        """Draw the legend of the marks in the drawing."""
        threads = len(self.nodes[0].cores[0])
        said = ["A cell is a core" + (f", its {threads} lines are its hyper-threads." if threads > 1 else ".")]
        if settling_moves(self.layout):
            said.append("Dashed: place of vCPUs at power-on. Memory is drawn as at power-on, and follows slowly.")
        if any(not part.local for node in self.nodes for part in node.memory):
            said.append("Hatched memory is remote: used from another node.")
        said.append("Within a node vCPUs change cores freely.")
        if self.layout["collapsed"]:
            said.append("Cells show home nodes. vCPUs without a core there also run on idle cores of other nodes.")
        self.y += 2
        self.paragraph(" ".join(said), 11.5, MUTED)

    def paragraph(self, words: str, size: float, colour: str, bold: bool = False) -> None:
        for line in _wrapped(words, size, self.width - 2 * MARGIN, bold):
            _text(self.root, MARGIN, self.y + size, line, size, colour, **({"font_weight": "650"} if bold else {}))
            self.y += size + 6
        self.y += 4


def _per_row(count: int, fitting: int) -> int:
    """Return the number of nodes in a row: as many as fit, or fewer if the last row has no gap then."""
    fitting = max(min(fitting, count), 1)
    whole = [columns for columns in range((fitting + 1) // 2, fitting + 1) if count % columns == 0]
    return whole[-1] if whole else fitting


def _hatching(x: float, y: float, width: float, height: float) -> str:
    """Return rising lines that fill a rectangle, as a path.

    A pattern would need an id, which two drawings on a page would share.
    """
    lines, offset = "", 4 - height
    while offset < width:
        start, end = max(offset, 0.0), min(offset + height, width)
        low, high = y + height - (start - offset), y + height - (end - offset)
        lines += f"M{_number(x + start)} {_number(low)}L{_number(x + end)} {_number(high)}"
        offset += 6
    return lines


def _wrapped(words: str, size: float, width: float, bold: bool = False) -> list[str]:
    """Return the lines of at most `width`, estimated from the width of prose in a wide font (DejaVu Sans)."""
    return textwrap.wrap(words, int(width / size / (0.62 if bold else 0.53)), break_on_hyphens=False)


def _width(words: str, size: float) -> float:
    """Return the approximate width of a short text with many digits in a wide font."""
    return 0.6 * size * len(words)


def _add(parent: ET.Element, tag: str, words: str | None = None, /, **attributes: float | str) -> ET.Element:
    """Return a child element. `stroke_width=2` becomes `stroke-width="2"` and `class_` becomes `class`."""
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
    """Return a number with at most two decimals, without trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
