"""Numbers as tables write them."""

from __future__ import annotations

import pytest

from hypertwin.metrics import ready
from hypertwin.metrics.words import count, half_width, in_order, number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0, "0"), (0.0012, "0.0012"), (0.0364, "0.036"), (0.3599, "0.36"), (0.9949, "0.99"), (0.996, "1.00")),
        *((3.641, "3.64"), (9.994, "9.99"), (9.996, "10.0"), (36.41, "36.4"), (99.94, "99.9"), (99.96, "100")),
        *((364.4, "364"), (36_412.7, "36,413"), (-0.364, "-0.36"), (44.0003, "44.0"), (44.000001, "44"), (44.0, "44")),
        *((2.92e-7, "2.92e-7"), (1.5e9, "1.5e9"), (1e12, "1e12"), (float("nan"), "nan"), (None, "")),
    ],
)
def test_a_number_has_decimals_by_its_size(value, text):
    assert number(value) == text


def test_decimals_may_be_given():
    assert (number(0.36, 1), number(1234.5, 0), number(None, 2)) == ("0.4", "1,234", "")


@pytest.mark.parametrize(
    ("value", "ci95", "text"),
    [
        *((36.41, 1.26, "36.4 ±1.3"), (0.364, 0.011, "0.36 ±0.01"), (539.6, 4.2, "540 ±4"), (36.41, None, "36.4")),
        *(
            (36.41, 0.0211, "36.4 ±0.02"),
            (1_003_216.4, 0.3, "1,003,216 ±0.3"),
            (97.8, 0.001, "97.8 ±0"),
            (100.0, 0.0, "100 ±0"),
        ),
        *((12.34, 0.0, "12.3 ±0"), (None, 1.0, ""), (9.99, 1_234.5, "9.99 ±1,234.50"), (364.2, 100.0, "364 ±100")),
    ],
)
def test_a_half_width_has_the_decimals_of_its_value_and_is_not_made_0(value, ci95, text):
    assert half_width(value, ci95) == text


@pytest.mark.parametrize(
    ("share", "ci95", "text"),
    [(0.0, 0.0, "<0.5"), (0.499, 0.01, "<0.5"), (0.5, None, "0.50"), (25.44, 1.0, "25.4 ±1.0"), (None, None, "")],
)
def test_ready_below_what_the_model_resolves_is_not_0(share, ci95, text):
    assert ready.resolved(share, ci95) == text


def test_counts_have_their_noun():
    assert (count(1, "VM"), count(0, "VM"), count(1200, "VM")) == ("1 VM", "0 VMs", "1,200 VMs")


def test_names_are_in_the_order_of_their_numbers():
    names = ["esx-10", "esx-2", "esx-1", "esx", "10", "9", "a²", "", "esx-2b"]
    assert sorted(names, key=in_order) == ["", "9", "10", "a²", "esx", "esx-1", "esx-2", "esx-2b", "esx-10"]
