"""The advice on a VM's topology, for a terminal and as a page."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.plan import AdvisedLayout, Sizing
from hypertwin.documents.vnuma import Layout
from hypertwin.report import topology, topology_svg
from hypertwin.report.page import Listing, Page
from hypertwin.report.table import Cells, Fitted

GIB = 1024**3


HEADS = ("topology", "vCPUs", "sockets × cores", "virtual nodes", "home nodes", "local memory", "bandwidth of")
AGAINST = "against it"
DROPPED_FIRST = ("home nodes", "bandwidth of", "virtual nodes")
"""Columns that are dropped in a narrow terminal, in this order."""


def table(found: Sizing) -> RenderableType:
    """What `hypertwin size --format json` prints, as a sentence, a table of candidates, notes, and text to paste."""
    shown = Fitted(
        caption(found),
        Cells((*HEADS, AGAINST), lines(found), swept=0, words=1),
        DROPPED_FIRST,
        lambda row, head, _text: "bold green" if row == 0 and head == HEADS[0] else "",
        prose=(AGAINST,),
    )
    texts = [item for name, text in found["snippets"].items() for item in (Text(f"\n{name}", "bold"), Text(text))]
    notes = (Text(note, style="dim") for note in found["notes"])
    return Group(shown, Text(found["advice"]["text"], style="bold"), *notes, *texts)


def page(found: Sizing, *, layout: Layout) -> Page:
    """The page; `layout` is that of the advised topology, to be drawn."""
    return Page(
        kind="size",
        title="The topology of a VM",
        document=found,
        beside={"drawings": [{"caption": found["advice"]["text"], "svg": topology_svg.svg(layout)}]},
        tables=[Listing(caption(found), (*HEADS, AGAINST), lines(found))],
    )


def layout_table(found: AdvisedLayout) -> RenderableType:
    """What `hypertwin vnuma --format json` prints: a drawing, a table, and the advice."""
    advised = Text(f"Advice: {found['advice']['text']}", style="bold")
    return Group(topology.terminal(found), topology.layout_table(found), advised)


def layout_page(found: AdvisedLayout) -> Page:
    """The page of a layout: its drawing, what is wrong with it, and the advice."""
    caption = f"{found['vcpus']} vCPUs on {found['hypervisor']}"
    clients = [
        [str(each["vcpus"]), str(each["home"]), topology.gibibytes(each["local_bytes"])] for each in found["clients"]
    ]
    return Page(
        kind="vnuma",
        title=f"NUMA of {caption}",
        document=found,
        beside={"drawings": [{"caption": caption, "svg": topology_svg.svg(found)}]},
        notes=[warning["text"] for warning in found["warnings"]],
        tables=[Listing(found["advice"]["text"], ("vCPUs", "home node", "local memory"), clients)],
    )


def caption(found: Sizing) -> str:
    """What was asked for, and on which host."""
    host, memory = found["host"], found["asked"]["memory_bytes"]
    divided = f" in {host['nodes']} nodes" if host["nodes"] > host["sockets"] else ""
    return (
        f"{memory / GIB:g} GiB on {host['name']}: {host['sockets']} × {host['cores_per_socket']} cores{divided}, "
        f"{host['memory_per_node_bytes'] / GIB:g} GiB per node, {host['hypervisor']}"
    )


def lines(found: Sizing) -> list[list[str]]:
    """Cells of the candidates, the advised one first."""
    return [
        [
            each["name"],
            str(each["vcpus"]),
            f"{each['sockets']} × {each['cores_per_socket']}",
            _list(each["vpds"]),
            _list(each["homes"]),
            f"{each['local_memory_pct']:.0f} %",
            f"{each['bandwidth_nodes']} node{'s' if each['bandwidth_nodes'] > 1 else ''}",
            "\n".join(warning["text"] for warning in each["warnings"]),
        ]
        for each in found["candidates"]
    ]


def _list(numbers: list[int]) -> str:
    return " ".join(map(str, numbers))
