"""The studies themselves: which published figures the twin reaches, at full length."""

from __future__ import annotations

import pytest

from hypertwin.studies import judge
from hypertwin.studies import study as studies


@pytest.mark.parametrize("name", studies.names())
def test_each_figure_is_reached_or_known_to_be_missed(name):
    """A known miss that is reached again must lose its reason; one that is missed anew fails."""
    rows = judge.validate([studies.find(name)])
    outside = {(row["case"], row["metric"]) for row in rows if row["pass"] is False}
    assert outside == {(row.case, row.metric) for row in studies.find(name).rows if row.missed}


def test_the_monster_vm_is_calibrated_alone_and_its_yield_on_two():
    rows = studies.find("monster-vm").rows
    assert {row.case for row in rows if row.kind == "calibrated"} == {"solo-24-1x", "solo-24-3x", "pair-3x"}


def test_no_virtual_node_and_nothing_of_esxi_6_0_was_calibrated_on():
    calibrated = [row for row in studies.find("esxi-vnuma").rows if row.kind == "calibrated"]
    assert {row.metric for row in calibrated} == {"PhotoWorxx", "memory copy"}
    assert len(calibrated) == 6
    assert all(row.case.startswith("6.5-") for row in calibrated)


def test_only_the_objective_of_chunk_store_was_calibrated():
    rows = studies.find("chunk-store").rows
    assert [row.case for row in rows if row.kind == "calibrated"] == ["gen6-42"]
