"""Tables in narrow terminals: whatever the width, no figure and no name is cut off."""

from __future__ import annotations

import re

import pytest
from tests.e2e.results import document

from hypertwin.show import registry
from hypertwin.show.table import Cells, Fitted, as_text

VIEWS = {
    "calibration": registry.CALIBRATION,
    "capacity": registry.CAPACITY,
    "contention": registry.CONTENTION,
    "density": registry.DENSITY,
    "diagnosis": registry.DIAGNOSIS,
    "durability": registry.DURABILITY,
    "durability-of-a-pool": registry.DURABILITY,
    "guests": registry.GUESTS,
    "placement": registry.PLACEMENT,
    "placement-evacuate": registry.PLACEMENT,
    "placement-infeasible": registry.PLACEMENT,
    "placement-survive": registry.PLACEMENT,
    "size": registry.SIZING,
    "validation": registry.VALIDATION,
    "vnuma": registry.LAYOUT,
}


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize("name", VIEWS)
def test_nothing_that_a_command_prints_is_cut_off(name, width):
    text = as_text(VIEWS[name].table(document(name)), width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("width", [60, 80, 140])
def test_the_result_of_durability_can_be_read(width):
    found = document("durability")
    text = as_text(registry.DURABILITY.table(found), width)
    for entry in found["schemes"]:
        assert re.search(rf"^  {re.escape(entry['scheme'])} .* {entry['markov']['annual_loss']:.3e}", text, re.M)


def test_columns_go_in_their_order_then_words_wrap_then_figures_stand_in_several_tables():
    cells = Cells(("host", "one", "two", "three"), [["a-host-with-a-long-name", "1" * 12, "2" * 12, "3" * 12]], 0, 1)
    table = Fitted("Title", cells, ("two",))
    assert all(figure in as_text(table, 80) for figure in cells.rows[0])
    without = as_text(table, 60)
    assert "2" not in without
    assert "Columns omitted: two. --format json has them." in without
    wrapped = as_text(table, 48)
    assert "a-host-with-a-long-name" not in wrapped
    assert re.search(r"1{12}  3{12}$", wrapped, re.M)
    several = as_text(table, 36)
    assert re.search(r"1{12}$", several, re.M)
    assert re.search(r"3{12}$", several, re.M)
    assert several.count("host") == 4  # its head and its name, in each of two tables
    assert several.count("Title") == 1


def test_sentences_wrap_before_any_column_goes():
    cells = Cells(("name", "figure", "why"), [["db", "1.5", "because it is so, and for no other reason at all"]], 0, 1)
    text = as_text(Fitted("", cells, ("figure",), prose=("why",)), 40)
    assert "1.5" in text
    assert " ".join(text.split()).endswith("all")
