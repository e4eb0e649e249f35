"""Costs over years: amounts by hand, what is unknown, and laws of any estate."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.python.cost.estates import RED_HAT, cluster, estate, hosts, vms

from hypertwin.cost import prices, years
from hypertwin.cost.estate import Estate
from hypertwin.documents.cost import Costs, Line
from hypertwin.errors import ScenarioError

ENERGY = (9_000.0, 10_000.0, 12_000.0)
ALL = """\
hosts:
  r760: { purchase: 10000 EUR/host, support: 500 EUR/host/year, resale: 1000 EUR/host }
  old: { support: 800 EUR/host/year }
licences:
  - { preset: vmware-cloud-foundation, price: 100 EUR/core/year }
  - { preset: windows-server-datacenter, price: 1600 EUR/16 cores, support: 160 EUR/16 cores/year }
  - { name: Backup, per: vm, price: 5 EUR/vm/month }
power: { price: 0.20 EUR/kWh, pue: 1.5, co2: 0.5 kg/kWh }
rack: 10 EUR/rack-unit/month
discount_rate: 10%
"""


def counted(text: str, of: Estate | None = None, span: int = 3, failures: int = 1, **more: Any) -> Costs:
    """The costs of 4 hosts of 2 x 16 cores with 10 Windows VMs, or of another estate."""
    of = of if of is not None else estate(hosts(4), has=vms(10))
    return years.lines(of, prices.loads(text, "prices.yaml"), span, more.pop("energy", ENERGY), failures, **more)


def line(costs: Costs, label: str) -> Line:
    """The only line of this label."""
    (found,) = [each for each in costs["lines"] if each["label"] == label]
    return found


@pytest.mark.parametrize(
    ("label", "kind", "quantity", "per_year", "discounted"),
    [
        ("Host r760", "purchase", 4, [40_000, 0, 0], 40_000),
        ("Support of host r760", "support", 4, [2_000] * 3, 2_000 * (1 + 1 / 1.1 + 1 / 1.21)),
        ("Resale of host r760", "other", 4, [0, 0, -4_000], -4_000 / 1.331),
        ("VMware Cloud Foundation (VCF)", "licence", 128, [12_800] * 3, 12_800 * (1 + 1 / 1.1 + 1 / 1.21)),
        ("Windows Server Datacenter", "licence", 128, [12_800, 0, 0], 12_800),
        ("Support of Windows Server Datacenter", "support", 128, [1_280] * 3, 1_280 * (1 + 1 / 1.1 + 1 / 1.21)),
        ("Backup", "licence", 10, [600] * 3, 600 * (1 + 1 / 1.1 + 1 / 1.21)),
        ("Energy", "power", 15_000, [3_000] * 3, 3_000 * (1.1**-0.5 + 1.1**-1.5 + 1.1**-2.5)),
        ("Rack space", "rack", 8, [960] * 3, 960 * (1 + 1 / 1.1 + 1 / 1.21)),
    ],
)
def test_amounts_by_hand(label: str, kind: str, quantity: float, per_year: list[float], discounted: float) -> None:
    found = line(counted(ALL), label)
    assert (found["kind"], found["quantity"]) == (kind, quantity)
    assert found["per_year"] == pytest.approx(per_year)
    assert found["total"] == pytest.approx(sum(per_year))
    assert found["discounted"] == pytest.approx(discounted)


def test_totals_and_emissions() -> None:
    costs = counted(ALL)
    assert costs["per_year"] == pytest.approx([73_440, 20_640, 16_640])
    assert costs["total"] == pytest.approx(110_720)
    assert costs["co2_kg"] == pytest.approx({"low": 20_250, "mid": 22_500, "high": 27_000})
    assert costs["energy_kwh_per_year"] == {"low": 9_000, "mid": 10_000, "high": 12_000}
    assert (costs["currency"], costs["hosts"], costs["unpriced"], costs["notes"]) == ("EUR", 4, [], [])
    assert costs["discount_rate_pct"] == pytest.approx(10)


def test_without_a_rate_the_present_value_is_the_sum() -> None:
    costs = counted(ALL.replace("discount_rate: 10%", ""))
    assert costs["discount_rate_pct"] is None
    assert costs["discounted"] == pytest.approx(costs["total"])
    assert counted(ALL.replace("10%", "0%"))["discounted"] == pytest.approx(costs["total"])


def test_only_bought_hosts_have_a_purchase() -> None:
    of = Estate((cluster(hosts(2), hosts(3, name="old", rack_units=1), has=vms(4)), cluster(hosts(1), name="edge")))
    costs = counted(ALL, of, bought=["r760"])
    labels = [each["label"] for each in costs["lines"] if each["kind"] in ("purchase", "support", "other")]
    assert labels[:4] == ["Host r760", "Support of host r760", "Resale of host r760", "Support of host old"]
    assert line(costs, "Host r760")["quantity"] == 3
    assert line(costs, "Rack space")["quantity"] == 9
    assert "Host old" not in costs["unpriced"]
    assert "Host old" in counted(ALL, of)["unpriced"]
    assert [each["label"] for each in counted(ALL, of, bought=[])["lines"]][:2] == [
        *("Support of host r760", "Support of host old"),
    ]


def test_a_line_without_a_price_is_listed_and_not_zero() -> None:
    costs = counted("licences: [{preset: proxmox-ve}, {preset: windows-server-datacenter}]\nrack: 1 EUR/rack-unit/year")
    assert costs["unpriced"] == [
        *("Host r760", "Support of host r760", "Proxmox VE", "Windows Server Datacenter", "Energy"),
    ]
    found = line(costs, "Proxmox VE")
    assert (found["quantity"], found["price"], found["total"], found["per_year"]) == (8, None, None, None)
    assert found["paid"] == "yearly" and line(costs, "Windows Server Datacenter")["paid"] == "once"
    assert costs["total"] == line(costs, "Rack space")["total"] == 24
    nothing = counted("rack:")
    assert nothing["total"] is nothing["discounted"] is None
    assert nothing["per_year"] == [0, 0, 0]


def test_a_line_without_a_quantity_is_listed_too() -> None:
    text = "rack: 1 EUR/rack-unit/year\npower: { price: 1 EUR/kWh, pue: 1 }\n"
    text += "licences: [{preset: sql-server-per-vm, price: 9 EUR/core}]"
    costs = counted(text, estate(hosts(1, rack_units=None), has=vms(3)), energy=None)
    assert costs["unpriced"][2:] == ["SQL Server, licensed by VM", "Energy", "Rack space"]
    assert "rack units are unknown of r760" in line(costs, "Rack space")["calculation"]
    assert costs["co2_kg"] is None and costs["energy_kwh_per_year"] is None
    (note,) = costs["notes"]
    assert note.startswith("SQL Server, licensed by VM: 3 VMs with unknown guest OS or products")


def test_notes_name_vms_and_names_that_match_nothing() -> None:
    has = (*vms(2), *vms(3, None, name="dark"))
    text = (
        "hosts: {r670: {purchase: 5 EUR/host}}\nlicences:\n- {preset: windows-server-datacenter, price: 5 EUR/core}\n"
    )
    costs = counted(
        f"{text}- {{preset: sql-server-per-vm, price: 5 EUR/core, vms: [sql-*]}}", estate(hosts(1), has=has)
    )
    assert len(costs["notes"]) == 3
    assert costs["notes"][0] == "SQL Server, licensed by VM: no VM matches sql-*."
    assert costs["notes"][1] == "No prices for r760: the file of prices has r670."
    assert "3 VMs with unknown guest OS or products, which are left out" in costs["notes"][2]
    assert line(costs, "SQL Server, licensed by VM")["total"] == 0


@pytest.mark.parametrize(("patterns", "quantity", "notes"), [("PRO*", 8, 0), ("prdo", 0, 1)])
def test_a_pattern_without_a_cluster_is_a_note(patterns: str, quantity: int, notes: int) -> None:
    costs = counted(f"licences: [{{preset: proxmox-ve, price: 5 EUR/socket, clusters: {patterns}}}]")
    assert line(costs, "Proxmox VE")["quantity"] == quantity
    assert costs["notes"] == ["Proxmox VE: no cluster matches prdo."] * notes


BOTH = """\
licences:
  - preset: [windows-server-standard, windows-server-datacenter]
    price: { windows-server-standard: 10 EUR/core, windows-server-datacenter: 60 EUR/core }
"""


@pytest.mark.parametrize(
    ("count", "expected"), [(2, "Standard"), (10, "Standard"), (12, "Standard"), (13, "Datacenter")]
)
def test_the_cheaper_preset_is_counted_and_named(count: int, expected: str) -> None:
    """On one host, Datacenter costs as much as Standard for 12 VMs."""
    costs = counted(BOTH, estate(hosts(1), has=vms(count)))
    (found,) = [each for each in costs["lines"] if each["kind"] == "licence"]
    assert found["label"] == f"Windows Server {expected}"
    other = "Datacenter" if expected == "Standard" else "Standard"
    assert costs["notes"][0].startswith(f"Windows Server {expected} costs ")
    assert f"Windows Server {other}" in costs["notes"][0]
    assert [len(each) for each in costs["alternatives"].values()] == [2]


def test_support_decides_which_preset_is_cheaper() -> None:
    text = BOTH + "    support: { windows-server-standard: 100 EUR/core/year }\n"
    costs = counted(text, estate(hosts(1), has=vms(2)))
    assert [each["label"] for each in costs["lines"] if each["entry"]] == ["Windows Server Datacenter"]


def test_a_preset_without_a_price_is_not_compared() -> None:
    costs = counted(BOTH.replace("windows-server-standard: 10 EUR/core, ", ""), estate(hosts(1), has=vms(2)))
    assert [each["label"] for each in costs["lines"] if each["entry"]] == ["Windows Server Datacenter"]
    assert costs["notes"] == [
        "Windows Server Datacenter is not compared with Windows Server Standard, which has no price."
    ]
    assert costs["alternatives"] == {}
    none = counted("licences: [{preset: [windows-server-standard, windows-server-datacenter]}]")
    assert "Windows Server Standard" in none["unpriced"]


@pytest.mark.parametrize("span", [0, -1, years.MAX_YEARS + 1])
def test_years_outside_the_range(span: int) -> None:
    with pytest.raises(ScenarioError) as caught:
        counted(ALL, span=span)
    assert [each.path for each in caught.value.mistakes] == ["years"]
    assert len(counted(ALL, span=years.MAX_YEARS)["per_year"]) == years.MAX_YEARS


def test_an_estate_without_hosts_or_vms() -> None:
    for of in (Estate(()), estate(), estate(hosts(0))):
        costs = counted(ALL, of, energy=None)
        assert costs["total"] == 0
        assert costs["unpriced"] == ["Energy"]
    assert line(counted(ALL, estate(hosts(1))), "Windows Server Datacenter")["total"] == 0


def test_800_vms() -> None:
    costs = counted(ALL, estate(hosts(34, 2, 32), has=(*vms(400), *vms(400, RED_HAT, name="red"))))
    assert line(costs, "Backup")["quantity"] == 800
    assert line(costs, "Windows Server Datacenter")["quantity"] == 34 * 64


@given(st.integers(1, 30), st.floats(0, 1))
def test_present_values_are_those_of_the_convention(span: int, rate: float) -> None:
    assert years.weight("once", span, rate) == 1
    yearly = years.weight("yearly", span, rate)
    assert yearly == pytest.approx(sum((1 + rate) ** -year for year in range(span)))
    assert years.weight("through-year", span, rate) == pytest.approx(yearly / math.sqrt(1 + rate))
    assert years.weight("at-end", span, rate) == pytest.approx((1 + rate) ** -span)
    for paid in ("once", "yearly", "through-year", "at-end"):
        assert sum(years.payments(paid, span)) == pytest.approx(years.weight(paid, span, 0))
        assert len(years.payments(paid, span)) == span


ESTATES = st.builds(
    lambda of, has: estate(*of, has=has),
    st.lists(
        st.builds(hosts, st.integers(0, 9), st.integers(1, 4), st.integers(1, 64), st.sampled_from(["r760", "old"])),
        min_size=1,
        max_size=3,
    ),
    st.builds(vms, st.integers(0, 30)),
)


@given(of=ESTATES, span=st.integers(1, 10), failures=st.integers(0, 3))
def test_totals_are_the_sums_of_lines(of: Estate, span: int, failures: int) -> None:
    costs = counted(ALL + "", of, span, failures)
    for key in ("total", "discounted"):
        amounts = [each[key] for each in costs["lines"] if each[key] is not None]  # type: ignore[literal-required]
        assert costs[key] == math.fsum(amounts)  # type: ignore[literal-required]
    assert math.fsum(costs["per_year"]) == pytest.approx(costs["total"])
    assert set(costs["unpriced"]) == {each["label"] for each in costs["lines"] if each["total"] is None}


@given(of=ESTATES, more=st.integers(1, 5), failures=st.integers(0, 3))
def test_more_hosts_never_cost_less(of: Estate, more: int, failures: int) -> None:
    first, *others = of.clusters[0].hosts
    larger = estate(dataclasses.replace(first, count=first.count + more), *others, has=of.clusters[0].vms)
    before, after = counted(ALL, of, failures=failures), counted(ALL, larger, failures=failures)
    assert (after["total"] or 0) >= (before["total"] or 0)
    assert (after["discounted"] or 0) >= (before["discounted"] or 0)
