"""Words and units that texts of findings share."""

from __future__ import annotations

import pytest

from hypertwin.diagnosis.words import size


@pytest.mark.parametrize(("unit", "power"), [("B", 0), ("KiB", 1), ("MiB", 2), ("GiB", 3), ("TiB", 4)])
def test_sizes_are_never_written_with_exponents(unit: str, power: int) -> None:
    told = {value: size(value * 1024**power) for value in (999, 1000, 1001, 1022, 1023)}
    assert told == {999: f"999 {unit}", **{value: f"{value:,} {unit}" for value in (1000, 1001, 1022, 1023)}}
    assert size(999.6 * 1024**power) == f"1,000 {unit}"


@pytest.mark.parametrize(
    ("count", "told"), [(1024**4, "1 TiB"), (5000 * 1024**4, "5,000 TiB"), (1.75 * 2**30, "1.75 GiB")]
)
def test_sizes_have_three_digits_in_the_largest_unit(count: float, told: str) -> None:
    assert size(count) == told
