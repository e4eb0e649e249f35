"""Whole plans of random small clusters, as the public API gives them, verified by the checker."""

from __future__ import annotations

import pytest
from tests.conftest import SOAK
from tests.python.plan.placement import cases, checker

from hypertwin.plan.placement import planning

SEEDS = 8 * SOAK


@pytest.mark.parametrize("command", ["survive", "balance"])
def test_certificates_moves_and_steps_are_sound(command: str):
    plan = planning.plan_survive if command == "survive" else planning.plan_balance
    feasible = 0
    for seed in (*range(SEEDS), 37):  # the last gives up wishes, which its certificates name
        made = cases.small(seed)
        document = plan(made, without_policy=["numa", "separate-large-vms"]).document
        assert checker.complaints(checker.World.of(made), document) == [], f"seed {seed}"
        feasible += document["feasible"]
    assert 0 < feasible <= SEEDS
