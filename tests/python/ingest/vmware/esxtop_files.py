"""Small esxtop batch files for tests, in the forms that public descriptions show (`esxtop_counters` names them)."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence

from hypertwin.ingest.vmware.esxtop_counters import TIME_COLUMN, TIME_FORMAT

START = datetime.datetime(2026, 3, 26, 22, 42, 0, tzinfo=datetime.UTC)
BLANKS_AND_DASH = "                    -"
"""The name that ends the header of a real file."""

Columns = Mapping[str, Sequence[object]]
"""Values by name without the host: `Group Cpu(12:db)\\% Ready`."""


def times(count: int, interval_s: float = 5) -> list[str]:
    """Times as esxtop writes them."""
    return [(START + datetime.timedelta(seconds=interval_s * row)).strftime(TIME_FORMAT) for row in range(count)]


def lines(columns: Columns, stamps: Sequence[str] = (), host: str = "esx1", first: str = TIME_COLUMN) -> list[str]:
    """The lines of a batch file without their ends; values as they are given."""
    names = [first, *(f"\\\\{host}\\{name}" for name in columns), BLANKS_AND_DASH]
    stamps = stamps or times(max((len(values) for values in columns.values()), default=0))
    rows = [[stamp, *(str(values[row]) for values in columns.values()), ""] for row, stamp in enumerate(stamps)]
    return [",".join(f'"{field}"' for field in fields) for fields in [names, *rows]]


def text(columns: Columns, stamps: Sequence[str] = (), host: str = "esx1", first: str = TIME_COLUMN) -> str:
    """A batch file."""
    return "\n".join(lines(columns, stamps, host, first)) + "\n"


def machine(
    name: str, group: int, vcpus: int = 2, samples: int = 2, world: str = "vmx-vcpu-{}"
) -> dict[str, list[str]]:
    """Columns of a machine: per vCPU 4 % ready, 50 % run, 46 % wait of which 40 % idle; helper worlds always wait."""
    instance = f"{group}:{name}"
    group_cpu = {
        "Members": vcpus + 2,
        "% Used": 48 * vcpus,
        "% Run": 50 * vcpus,
        "% System": 1 * vcpus,
        "% Wait": 46 * vcpus + 200,
        "% Ready": 4 * vcpus,
        "% Idle": 40 * vcpus,
        "% VmWait": 6 * vcpus,
        "% Overlap": 0.5,
        "% CoStop": 0,
        "% Max Limited": 0,
        "% Swap Wait": 0,
        "% CPU Latency": 3,
    }
    vcpu = {"% Used": 48, "% Run": 50, "% Wait": 46, "% Ready": 4, "% Idle": 40, "% CoStop": 0, "% Max Limited": 0}
    found = {f"Group Cpu({instance})\\{counter}": value for counter, value in group_cpu.items()}
    for number, other in enumerate(("vmx", "vmx-mks:" + name)):
        prefix = f"Vcpu({instance}:{group * 100 + number}:{other})"
        found |= {f"{prefix}\\{counter}": 0 if counter != "% Wait" else 100 for counter in vcpu}
    for number in range(vcpus):
        prefix = f"Vcpu({instance}:{group * 100 + 10 + number}:{world.format(number)})"
        found |= {f"{prefix}\\{counter}": value for counter, value in vcpu.items()}
    return {column: [f"{value:.2f}"] * samples for column, value in found.items()}


def same(columns: Mapping[str, object], samples: int = 2) -> dict[str, list[object]]:
    """The same value in every sample."""
    return {column: [value] * samples for column, value in columns.items()}
