"""The figures of a table of telemetry, as the terminal shows them."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from hypertwin.show import registry


def line(metric: str, unit: str, mean: float, most: float) -> dict[str, Any]:
    return {"kind": "host", "metric": metric, "entities": 1, "samples": 2, "mean": mean, "p95": most, "max": most} | {
        "unit": unit
    }


@pytest.mark.parametrize(
    ("unit", "mean", "most", "expected"),
    [
        ("B", 5.0 * 2**30, 7.9 * 2**30, "5.00 7.90 7.90 GiB"),
        ("B", 512.0 * 2**20, 1.5 * 2**40, "0.00 1.50 1.50 TiB"),
        ("B/s", 1024.0, 3 * 2**20, "0.00 3.00 3.00 MiB/s"),
        ("B/s", 1.0, 1024.0, "0.00 1.00 1.00 KiB/s"),
        ("B", 0.0, 1000.0, "0.00 1,000 1,000 B"),
        ("MHz", 2500.0, 2500.0, "2,500 2,500 2,500 MHz"),
        ("%", 35.0, 36.0, "35.00 36.00 36.00 %"),
    ],
)
def test_bytes_are_shown_in_units_that_people_read(unit: str, mean: float, most: float, expected: str) -> None:
    found: Any = {"rows": 1, "entities": 1, "metrics": 1, "first": None, "ready": []}
    found["lines"] = [line("ballooned_bytes", unit, mean, most)]
    console = Console(width=120)
    with console.capture() as shown:
        console.print(registry.TELEMETRY.table(found))
    row = next(text for text in shown.get().splitlines() if "ballooned" in text)
    assert (
        " ".join(row.split())
        == f"host ballooned_bytes {expected.rsplit(maxsplit=1)[-1]} 1 2 {expected.rpartition(' ')[0]}"
    )
