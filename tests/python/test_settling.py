"""Whether runs that end by themselves say what longer ones say: scenarios at random, against four times the length."""

from __future__ import annotations

from datetime import date

import pytest
from tests.conftest import SOAK
from tests.random_scenarios import Compared, compared

SEEDS = range(300) if SOAK > 1 else [10 * date.today().toordinal() % 100_000 + place for place in range(10)]
BELOW = 0.9
"""Load up to which a scenario has to settle."""


@pytest.fixture(scope="module")
def all_compared() -> list[Compared]:
    return [compared(seed) for seed in SEEDS]


def test_means_agree_within_their_intervals(all_compared: list[Compared]) -> None:
    figures = [
        (each.seed, name, more, may) for each in all_compared if each.are_steady for name, more, may in each.means()
    ]
    outside = [figure for figure in figures if abs(figure[2]) > figure[3]]
    assert len(figures) >= len(SEEDS)
    assert len(outside) <= (0.07 if SOAK > 1 else 0.25) * len(figures), outside


def test_tails_agree(all_compared: list[Compared]) -> None:
    tails = [(each.seed, *tail) for each in all_compared if each.are_steady for tail in each.tails()]
    outside = [tail for tail in tails if abs(tail[3] / tail[2] - 1) > 0.25]
    assert len(outside) <= (0.1 if SOAK > 1 else 0.25) * len(tails), outside


def test_what_is_below_what_there_is_settles(all_compared: list[Compared]) -> None:
    below = [each for each in all_compared if each.drawn.load <= BELOW]
    unsettled = [(each.seed, each.short["verdict"]["reason"]) for each in below if not each.short["steady"]]
    assert len(unsettled) <= (0.3 if SOAK > 1 else 0.5) * len(below), unsettled


def test_what_is_called_steady_is_steady_four_times_as_long(all_compared: list[Compared]) -> None:
    steady = [each for each in all_compared if each.long is not None]
    not_steady = [
        (each.seed, each.long["verdict"]["reason"])
        for each in steady
        if each.long and each.long["verdict"]["steady"] == "not-steady"
    ]
    assert len(not_steady) <= (0.05 if SOAK > 1 else 0.2) * len(steady), not_steady
