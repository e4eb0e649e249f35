"""CPU cost of erasure coding."""

from __future__ import annotations

from hypertwin.documents.lab import Coding, CodingRow, Fit
from hypertwin.show import view as v

MIB = 1024**2
WORKING_SETS = {"memory": "memory", "l2": "L2 cache"}


def view(measured: Coding) -> v.View:
    """Return the view of erasure coding: computer, table, fits, and text to paste."""
    rows = measured["rows"]
    cells: list[v.Cells] = []
    for scheme in dict.fromkeys(row["scheme"] for row in rows if row["scheme"]):
        for working_set, place in WORKING_SETS.items():
            found = {
                (row["operation"], row["lost"]): row
                for row in rows
                if (row["scheme"], row["working_set"]) == (scheme, working_set)
            }
            encode, update = found["encode", 0], found["update", 0]
            rebuilds = [row for key, row in sorted(found.items()) if key[0] == "rebuild"]
            cells.append(
                [
                    (v.words("scheme", "scheme"), scheme),
                    (v.words("place", "data in"), place),
                    (v.figures("encode", "encode", "GB/s"), _rated(encode)),
                    (v.figures("encode_cycles", "encode, cycles/byte"), encode["cycles_per_byte"]),
                    (v.figures("first", "rebuild 1", "GB/s"), _rated(rebuilds[0])),
                    (v.figures("all", "rebuild all lost", "GB/s"), _rated(rebuilds[-1])),
                    (v.figures("update", "update", "GB/s", secondary=True), _rated(update)),
                    (v.figures("update_cycles", "update, cycles/byte", secondary=True), update["cycles_per_byte"]),
                ]
            )
    title = f"GB/s of user data on one core: median (least to most) of {measured['repetitions']} repetitions"
    checksums = ", ".join(
        f"{_rate(row)} in {WORKING_SETS[row['working_set']]}" for row in rows if row["operation"] == "crc32c"
    )
    losses = ", ".join(f"{count} of {scheme}" for scheme, count in measured["losses_rebuilt"].items())
    said = [f"CRC-32C: {checksums}", f"random losses rebuilt byte for byte: {losses}", *map(_fit, measured["fits"])]
    pasted: v.Prose = {"type": "prose", "paragraphs": _lines(measured)}
    return v.tabular(
        "Erasure coding on this machine",
        v.listing("schemes", title, cells),
        v.items(said),
        v.group("to paste into a scenario, the line of its scheme (data in memory):", [pasted]),
        answer="\n".join(_machine(measured)),
    )


def _rated(row: CodingRow) -> v.Cell:
    return v.figure(row["gb_per_s"]["median"], text=_rate(row))


def _machine(measured: Coding) -> list[str]:
    machine, library = measured["machine"], measured["library"]
    return [
        f"{machine['cpu']}{', virtual machine' if machine['virtual'] else ''}, logical CPU {machine['logical_cpu']}, "
        f"L2 {machine['l2_bytes'] / MIB:g} MiB, last-level cache {machine['llc_bytes'] / MIB:g} MiB",
        f"cycles at {machine['clock_hz'] / 1e9:.3f} GHz nominal, from: {machine['clock_source']}",
        f"ISA-L {library['isal_version']}, {library['instruction_set']}, {library['file']}; "
        f"a call takes {library['call_ns']:.0f} ns, included",
        f"fragments of {measured['fragment_bytes'] / MIB:g} MiB, {measured['date']}",
    ]


def _rate(row: CodingRow) -> str:
    rate = row["gb_per_s"]
    return f"{rate['median']:.2f} ({rate['min']:.2f}-{rate['max']:.2f})"


def _fit(fit: Fit) -> str:
    stream = fit["cycles_per_byte_and_extra_stream"]
    return (
        f"{fit['operation']}, {WORKING_SETS[fit['working_set']]}: cycles per byte = {fit['cycles_per_byte']:.4f} "
        f"+ {fit['cycles_per_byte_and_output']:.4f} × outputs"
        f"{f' + {stream:.4f} × streams above 12' if stream else ''}; "
        f"error {fit['mean_error_pct']:.1f} % in the mean, {fit['worst_error_pct']:+.1f} % at worst "
        f"({fit['points']} figures)"
    )


def _lines(measured: Coding) -> list[str]:
    machine, library = measured["machine"], measured["library"]
    return [
        f"    {line}  # {scheme}, per core: {machine['cpu']} at {machine['clock_hz'] / 1e9:.3g} GHz, "
        f"ISA-L {library['isal_version']} {library['instruction_set']}, {measured['date']}"
        for scheme, line in measured["scenario"].items()
    ]
