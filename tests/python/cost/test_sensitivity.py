"""Inputs that change a ranking: break-evens by hand, and laws of any pair of candidates."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.python.cost.estates import estate, hosts, vms

from hypertwin.cost import prices, sensitivity, years
from hypertwin.documents.cost import BreakEven, Costs, Sensitivity

TEXT = """\
hosts:
  few: { purchase: 20000 EUR/host, support: 0 EUR/host/year }
  many: { purchase: 10000 EUR/host, support: 0 EUR/host/year }
licences: [ { preset: azure-local, price: 100 EUR/core/year } ]
power: { price: 0.5 EUR/kWh, pue: 1 }
rack: 0 EUR/rack-unit/month
"""


def few(text: str = TEXT, count: int = 4, span: int = 5, energy: Any = (8e3, 10e3, 20e3), **more: Any) -> Costs:
    """4 hosts of 64 cores: 80,000 for hosts, 128,000 for cores, 25,000 for energy in 5 years."""
    of = estate(hosts(count, 2, 32, "few", **more))
    return years.lines(of, prices.loads(text, "p"), span, energy, 1)


def many(text: str = TEXT, count: int = 6, span: int = 5, energy: Any = (18e3, 20e3, 22e3), **more: Any) -> Costs:
    """6 hosts of 32 cores: 60,000 for hosts, 96,000 for cores, 50,000 for energy in 5 years."""
    of = estate(hosts(count, 2, 16, "many", **more))
    return years.lines(of, prices.loads(text, "p"), span, energy, 1)


def rows(found: Sensitivity) -> dict[str, BreakEven]:
    """Rows by input."""
    return {row["input"]: row for row in found["rows"]}


def test_break_evens_by_hand() -> None:
    """few costs 233,000 and many 206,000, which is 27,000 less."""
    found = sensitivity.compare({"few": few(), "many": many()})
    assert (found["cheapest"], found["ranking"], found["known"]) == ("many", ["many", "few"], True)
    expected = {
        "Price of Azure Local": (100, 100 - 27_000 / 320, "below"),
        "Price of host few": (20_000, 20_000 - 27_000 / 4, "below"),
        "Price of host many": (10_000, 10_000 + 27_000 / 6, "above"),
        "Price of support of host many": (0, 27_000 / 30, "above"),
        "Price of energy": (0.5, 0.5 + 27_000 / 50_000, "above"),
        "Price of rack space": (0, 27_000 / (4 * 12 * 5), "above"),
        "Energy of host many": (20_000 / 6, (20_000 + 27_000 / 2.5) / 6, "above"),
    }
    assert {name: (row["now"], row["break_even"], row["direction"]) for name, row in rows(found).items()} == {
        name: (now, pytest.approx(value), direction) for name, (now, value, direction) in expected.items()
    }
    factors = [row["factor"] for row in found["rows"] if row["factor"] is not None]
    assert factors == sorted(factors) and [row["factor"] for row in found["rows"]][-2:] == [None, None]
    assert rows(found)["Energy of host many"]["in_range"] is False
    assert all(row["cheaper"] == "few" and row["than"] == "many" for row in found["rows"])
    assert found["what_would_change"] == (
        "Price of host many above 14,500 EUR/host (now 10,000) makes few cheaper than many."
    )


def test_energy_inside_its_range_is_marked() -> None:
    wide = sensitivity.compare({"few": few(), "many": many(energy=(18e3, 20e3, 40e3))})
    assert rows(wide)["Energy of host many"]["in_range"] is True
    other = sensitivity.compare({"few": few(energy=(10e3, 30e3, 40e3)), "many": many(energy=(40e3, 40e3, 40e3))})
    row = rows(other)["Energy of host few"]
    assert (row["break_even"], row["direction"]) == (pytest.approx((30e3 - 27_000 / 2.5) / 4), "below")
    assert row["in_range"] is True and rows(other)["Energy of host many"]["in_range"] is False


def mixed(of_few: int = 3, of_many: int = 2) -> Costs:
    """3 hosts of few and 2 of many: 80,000 for hosts, 128,000 for cores, 40,000 for energy in 5 years."""
    of = estate(hosts(of_few, 2, 32, "few"), hosts(of_many, 2, 16, "many"))
    energy = {"few": (6e3, 8e3, 10e3), "many": (6e3, 8e3, 10e3)}
    return years.lines(of, prices.loads(TEXT, "p"), 5, (12e3, 16e3, 20e3), 1, energy_of_types=energy)


def test_the_energy_of_a_type_changes_in_each_candidate_that_has_it() -> None:
    """many costs 206,000 with 20,000 kWh of energy, and mixed 248,000 with 8,000 kWh of each type."""
    found = sensitivity.compare({"many": many(), "mixed": mixed()})
    row = rows(found)["Energy of host many"]
    # each of many's hosts has 3,333 kWh, and f times as much adds 2.5 x (20,000 - 8,000) x (f - 1)
    assert row["now"] == pytest.approx(20_000 / 6)
    assert row["break_even"] == pytest.approx(20_000 / 6 * (1 + 42_000 / (2.5 * 12_000)))
    assert (row["cheaper"], row["unit"], row["direction"]) == ("mixed", "kWh/host/year", "above")
    assert "Energy of host few" not in rows(found), "less than no energy of few would be needed"


def test_the_number_of_hosts_changes_in_both_candidates_that_buy_a_type() -> None:
    """many is 42,000 cheaper than mixed, and each further host of many costs 26,000."""
    others = {"many": {8: many(count=8)}, "mixed": {7: mixed(of_many=4)}}
    assert "Number of hosts of many" not in rows(sensitivity.compare({"many": many(), "mixed": mixed()}, others))
    alone = sensitivity.compare({"many": many(), "mixed": mixed()}, {"many": others["many"]})
    assert rows(alone)["Number of hosts of many"]["break_even"] == 8


PURCHASE_OR_RENT = """\
hosts:
  few: { purchase: 40000 EUR/host, support: 0 EUR/host/year }
  many: { purchase: 10000 EUR/host, support: 4000 EUR/host/year }
power: { price: 0 EUR/kWh, pue: 1 }
rack: 0 EUR/rack-unit/month
"""


def test_years_and_rate() -> None:
    """few costs 160,000 once; many costs 60,000 and 24,000 a year: it is cheaper for up to 4 years."""
    short = sensitivity.compare({"few": few(PURCHASE_OR_RENT, span=3), "many": many(PURCHASE_OR_RENT, span=3)})
    assert short["cheapest"] == "many"
    row = rows(short)["Number of years"]
    assert (row["now"], row["break_even"], row["direction"], row["cheaper"]) == (3, 5, "above", "few")
    assert sensitivity.words(row) == "Number of years 5 (now 3) makes few cheaper than many"
    long = sensitivity.compare({"few": few(PURCHASE_OR_RENT, span=6), "many": many(PURCHASE_OR_RENT, span=6)})
    row = rows(long)["Number of years"]
    assert (row["now"], row["break_even"], row["direction"], row["cheaper"]) == (6, 4, "below", "many")
    rate = rows(long)["Discount rate"]["break_even"]
    assert 24_000 * years.weight("yearly", 6, rate / 100) == pytest.approx(100_000)
    assert rows(long)["Discount rate"]["factor"] is None
    with_rate = PURCHASE_OR_RENT + "discount_rate: 10%\n"
    near = sensitivity.compare({"few": few(with_rate, span=6), "many": many(with_rate, span=6)})
    assert rows(near)["Discount rate"]["break_even"] == pytest.approx(rate)
    assert sensitivity.words(rows(near)["Discount rate"]).startswith("Discount rate above ")
    assert "% (now 10)" in sensitivity.words(rows(near)["Discount rate"])


TWO_RATES = """\
hosts:
  few: { purchase: 110 EUR/host, support: 0 EUR/host/year }
  many: { purchase: 80 EUR/host, support: 10 EUR/host/year, resale: 80 EUR/host }
power: { price: 0 EUR/kWh, pue: 1 }
rack: 0 EUR/rack-unit/month
discount_rate: %s
"""


@pytest.mark.parametrize(("rate", "near"), [("6%", 2.96), ("35%", 45.2)])
def test_the_nearer_of_two_rates(rate: str, near: float) -> None:
    """many costs 10 a year for 10 years and returns 80, few costs 30 more: each is cheaper at some rates."""
    text = TWO_RATES % rate
    found = sensitivity.compare({"few": few(text, 1, 10), "many": many(text, 1, 10)})
    assert found["cheapest"] == "few"
    value = rows(found)["Discount rate"]["break_even"] / 100
    assert 10 * years.weight("yearly", 10, value) - 80 * years.weight("at-end", 10, value) == pytest.approx(30)
    assert value == pytest.approx(near / 100, rel=0.3)


def test_the_number_of_hosts() -> None:
    others = {"many": {7: many(count=7), 8: many(count=8), 5: many(count=5)}, "few": {2: few(count=2), 3: few(count=3)}}
    found = sensitivity.compare({"few": few(), "many": many()}, others)
    row = rows(found)["Number of hosts of many"]
    assert (row["now"], row["break_even"], row["in_range"]) == (6, 8, True)  # 26,000 more a host
    assert rows(found)["Number of hosts of few"]["break_even"] == 3
    assert sensitivity.words(row) == "Number of hosts of many 8 (now 6) makes few cheaper than many"


def test_nothing_within_a_factor_of_ten() -> None:
    dear = TEXT.replace("100 EUR/core", "0 EUR/core").replace("10000", "1").replace("20000 EUR", "900000000 EUR")
    found = sensitivity.compare({"few": few(dear), "many": many(dear)})
    assert found["what_would_change"] == "many stays cheapest: no single input within a factor of 10 changes that."
    assert found["rows"] and all((row["factor"] or 11) > 10 for row in found["rows"])


def test_missing_prices_leave_the_ranking_unknown() -> None:
    text = TEXT.replace("price: 100 EUR/core/year", "name: Azure")
    found = sensitivity.compare({"few": few(text), "many": many(text)})
    assert (found["cheapest"], found["known"], found["rows"]) == (None, False, [])
    assert found["what_would_change"] == "Unknown: the ranking needs a price for Azure."
    assert sorted(found["ranking"]) == ["few", "many"]
    unknown = sensitivity.compare({"few": few(energy=None), "many": many()})
    assert unknown["what_would_change"] == "Unknown: the ranking needs the quantity for Energy."
    both = sensitivity.compare({"few": few(energy=None), "many": many(energy=None)})
    assert not both["known"]  # unknown energy of different hosts does not cancel out
    assert not sensitivity.compare({"few": few("rack:"), "many": many("rack:")})["known"]


def test_equal_lines_without_a_price_cancel_out() -> None:
    text = TEXT.replace("licences: [", "licences: [ { name: Backup, per: vm },")
    with_vms = {"few": (4, 32), "many": (6, 16)}
    found = {}
    for name, (count, cores) in with_vms.items():
        of = estate(hosts(count, 2, cores, name), has=vms(9))
        found[name] = years.lines(of, prices.loads(text, "p"), 5, (1e3, 1e3, 1e3), 1)
    assert found["few"]["unpriced"] == ["Backup"]
    assert sensitivity.compare(found)["known"]


def test_one_candidate_none_and_a_tie() -> None:
    assert sensitivity.compare({})["what_would_change"] == "No candidates."
    one = sensitivity.compare({"few": few()})
    assert (one["cheapest"], one["rows"]) == ("few", [])
    assert one["what_would_change"] == "few is the only candidate."
    tie = sensitivity.compare({"b": few(), "a": few()})
    assert (tie["cheapest"], tie["what_would_change"]) == ("a", "a and b cost the same.")


BOTH = """\
hosts:
  few: { purchase: 100 EUR/host, support: 0 EUR/host/year }
  many: { purchase: 0 EUR/host, support: 0 EUR/host/year }
licences:
  - preset: [windows-server-standard, windows-server-datacenter]
    price: { windows-server-standard: 10 EUR/core, windows-server-datacenter: %s EUR/core }
power: { price: 0 EUR/kWh, pue: 1 }
rack: 0 EUR/rack-unit/month
"""


def test_another_preset_takes_over_while_a_price_rises() -> None:
    """24 VMs: Datacenter is for 64 cores. Standard is for 12 x 64 cores on one host, and for 6 x 64 on two."""
    text = BOTH % 40
    has = vms(24)
    found = {
        "few": years.lines(estate(hosts(1, 2, 32, "few"), has=has), prices.loads(text, "p"), 1, (0, 0, 0), 0),
        "many": years.lines(estate(hosts(2, 2, 16, "many"), has=has), prices.loads(text, "p"), 1, (0, 0, 0), 0),
    }
    # both count Datacenter: 64 x 40 = 2,560, and few's hosts cost 100 more; Standard costs 7,680 and 3,840
    result = sensitivity.compare(found)
    assert result["cheapest"] == "many"
    assert "Price of Windows Server Datacenter" not in rows(result)
    assert "Price of Windows Server Standard" not in rows(result)
    cheaper = TEXT_OF_MANY % 40
    few_costs = years.lines(estate(hosts(1, 2, 32, "few"), has=has), prices.loads(cheaper, "p"), 1, (0, 0, 0), 0)
    many_costs = years.lines(estate(hosts(2, 2, 16, "many"), has=has), prices.loads(cheaper, "p"), 1, (0, 0, 0), 0)
    result = sensitivity.compare({"few": few_costs, "many": many_costs})
    # now many's hosts cost 1,000 more in all: few is cheaper until many's Standard costs 1,560 and less, at 4.0625
    assert result["cheapest"] == "few"
    row = rows(result)["Price of Windows Server Standard"]
    assert row["break_even"] == pytest.approx(1_560 / 384) and row["direction"] == "below"
    # and until Datacenter costs so much that many's Standard is cheaper by 1,000: (3,840 + 1,000) / 64
    row = rows(result)["Price of Windows Server Datacenter"]
    assert row["break_even"] == pytest.approx(4_840 / 64) and row["direction"] == "above"


def test_the_cheaper_preset_counts_once() -> None:
    """10 VMs on one host need Standard 5 times, 3,200, or Datacenter, 2,560; on two hosts 3 times, 1,920."""
    text, has = BOTH % 40, vms(10)
    few_costs = years.lines(estate(hosts(1, 2, 32, "few"), has=has), prices.loads(text, "p"), 1, (0, 0, 0), 0)
    many_costs = years.lines(estate(hosts(2, 2, 16, "many"), has=has), prices.loads(text, "p"), 1, (0, 0, 0), 0)
    found = rows(sensitivity.compare({"few": few_costs, "many": many_costs}))
    assert found["Price of host many"]["break_even"] == pytest.approx((2_560 + 100 - 1_920) / 2)
    # few needs at least as many licences of either preset, at any price
    assert not [name for name in found if "Windows" in name]


TEXT_OF_MANY = BOTH.replace("100 EUR/host", "0 EUR/host").replace("many: { purchase: 0", "many: { purchase: 500")


def with_price(text: str, row: BreakEven, value: float) -> str:
    """The text with another price for the input of a row."""
    names = {"licences.0.price": "100 EUR/core", "power.price": "0.5 EUR/kWh"}
    own = {"hosts.few.purchase": "20000 EUR/host", "hosts.many.purchase": "10000 EUR/host"}
    old = {**names, **own}.get(row["path"] or "")
    return text if old is None else text.replace(old, f"{value!r} {old.partition(' ')[2]}")


@example(count=1, other=2, energy=1e4, rate="0%", span=1)  # both cost the same now
@given(
    count=st.integers(1, 12),
    other=st.integers(1, 12),
    energy=st.floats(1e3, 1e5),
    rate=st.sampled_from(["0%", "4%", "25%"]),
    span=st.integers(1, 10),
)
def test_both_cost_the_same_at_each_break_even(count: int, other: int, energy: float, rate: str, span: int) -> None:
    text = f"{TEXT}discount_rate: {rate}\n"
    made = {"count": count, "span": span}, {"count": other, "span": span, "energy": (energy, energy, energy)}
    found = sensitivity.compare({"few": few(text, **made[0]), "many": many(text, **made[1])})
    for row in found["rows"]:
        changed = with_price(text, row, row["break_even"])
        if changed != text:
            a, b = few(changed, **made[0])["discounted"], many(changed, **made[1])["discounted"]
            assert a == pytest.approx(b, rel=1e-6)
            beyond = with_price(text, row, row["break_even"] * (0.9 if row["direction"] == "below" else 1.1))
            costs = {"few": few(beyond, **made[0])["discounted"], "many": many(beyond, **made[1])["discounted"]}
            assert min(costs, key=lambda name: costs[name] or 0) == row["cheaper"]
