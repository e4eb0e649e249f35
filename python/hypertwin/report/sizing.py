"""The advice on a virtual machine's topology, for a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.plan import Sizing
from hypertwin.report.table import titled

GIB = 1024**3


def table(found: Sizing) -> RenderableType:
    """What `hypertwin size --format json` prints, as a sentence, a table of candidates, notes, and text to paste."""
    host, asked = found["host"], found["asked"]
    title = (
        f"{asked['memory_bytes'] / GIB:g} GiB on {host['name']}: {host['sockets']} × {host['cores_per_socket']} cores, "
        f"{host['memory_per_node_bytes'] / GIB:g} GiB per node, {host['hypervisor']}"
    )
    shown = titled(title)
    for head, justify in (
        ("topology", "left"),
        ("vCPUs", "right"),
        ("sockets × cores", "right"),
        ("virtual nodes", "left"),
        ("home nodes", "left"),
        ("local memory", "right"),
        ("bandwidth of", "right"),
        ("against it", "left"),
    ):
        shown.add_column(Text(head), justify=justify, no_wrap=head != "against it")  # type: ignore[arg-type]
    first = found["candidates"][0]
    for candidate in found["candidates"]:
        nodes = candidate["bandwidth_nodes"]
        shown.add_row(
            Text(candidate["name"], style="bold green" if candidate is first else ""),
            str(candidate["vcpus"]),
            f"{candidate['sockets']} × {candidate['cores_per_socket']}",
            _list(candidate["vpds"]),
            _list(candidate["homes"]),
            f"{candidate['local_memory_pct']:.0f} %",
            f"{nodes} node{'s' if nodes > 1 else ''}",
            Text("\n".join(warning["text"] for warning in candidate["warnings"])),
        )
    texts = [item for name, text in found["snippets"].items() for item in (Text(f"\n{name}", "bold"), Text(text))]
    notes = (Text(note, style="dim") for note in found["notes"])
    return Group(shown, Text(found["advice"]["text"], style="bold"), *notes, *texts)


def _list(numbers: list[int]) -> str:
    return " ".join(map(str, numbers))
