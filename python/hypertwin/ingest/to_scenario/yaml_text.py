"""The scenario as text: quantities as people write them, and a layout that can be read and edited."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import yaml

MOST_MHZ = 1e9
MOST_PCT = 1_000


class Quoted(str):
    """Text from outside, written in quotes so that YAML takes it for nothing but text."""


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(
    Quoted, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style='"')
)


def _style(text: str) -> str | None:
    """Names such as `1e-200` are numbers to whoever reads YAML 1.2, but not to PyYAML."""
    if "\n" in text:
        return "|"
    try:
        float(text)
    except ValueError:
        return None
    return '"'


_Dumper.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style=_style(text))
)
_Dumper.add_representer(
    tuple, lambda dumper, items: dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=True)
)


def to_yaml(scenario: Mapping[str, Any]) -> str:
    """A scenario as YAML: long texts as blocks, texts from outside in quotes, tuples on one line."""
    return yaml.dump(
        dict(scenario), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110, default_flow_style=False
    )


def plausible_hz(mhz: float | None) -> int:
    """Whole Hz of a plausible number of MHz, else 0."""
    return round(mhz * 1e6) if mhz is not None and math.isfinite(mhz) and 0 < mhz <= MOST_MHZ else 0


def plausible_pct(value: float | None) -> float | None:
    """A percentage that a measurement can have, else None."""
    return value if value is not None and math.isfinite(value) and 0 <= value <= MOST_PCT else None


def frequency(hz: int) -> str:
    """`2.5 GHz`, `800 MHz`, or exactly in Hz."""
    for unit, size in (("GHz", 10**9), ("MHz", 10**6)):
        if hz % (size // 100) == 0 and hz >= size:
            return f"{hz / size:g} {unit}"
    return f"{hz} Hz"


def duration(seconds: float) -> str:
    """`4 ms`, to a millionth of a second; to a nanosecond where it is short."""
    for unit, size in (("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{round(seconds / size, 3):.10g} {unit}"
    return f"{max(round(seconds * 1e9), 1)} ns"


def memory_size(number_of_bytes: int) -> str:
    """`64 GiB`, `1500 MiB`, or exactly in bytes."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20)):
        if number_of_bytes and number_of_bytes % size == 0:
            return f"{number_of_bytes // size} {unit}"
    return f"{number_of_bytes} B"


def rounded(value: float) -> float:
    """To four digits."""
    return float(f"{value:.4g}")
