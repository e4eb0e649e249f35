"""The file of prices: what it may say, one clear error for each mistake, and the file to start from."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.python.cost.estates import estate, hosts, vms

from hypertwin import errors
from hypertwin.cost import prices, rules, template, years
from hypertwin.cost.functions import FREE_UNITS
from hypertwin.cost.price import ALL_UNITS, Form, PriceError, parse
from hypertwin.errors import ScenarioError
from hypertwin.files import yaml_file

MALFORMED = yaml.safe_load((Path(__file__).parents[2] / "malformed" / "prices.yaml").read_text("utf-8"))

GOOD = """\
hosts:
  r760: { purchase: 18500 EUR/host, support: 1200 EUR/host/year, resale: 2000 EUR/host }
licences:
  - { preset: vmware-cloud-foundation, price: 350 EUR/core/year, parameters: { minimum_order: 72 } }
  - preset: [windows-server-standard, windows-server-datacenter]
    price: { windows-server-standard: 1000 eur/16 cores, windows-server-datacenter: 6200 EUR/16 cores }
    support: { windows-server-standard: 20 EUR/core/month }
    parameters: { vms_on_each_host: all }
    clusters: prod-*
  - { name: Backup, per: vm, price: 60 EUR / vm / year, vms: [sql-*, dwh] }
power: { price: .25 EUR/kWh, pue: 1.4, co2: 350 g/kWh }
rack: 3e1 EUR/rack unit/months
discount_rate: 4%
"""


def wrong(text: str) -> tuple[errors.Mistake, ...]:
    """The mistakes of a file of prices."""
    with pytest.raises(ScenarioError) as caught:
        prices.loads(text, "prices.yaml")
    assert caught.value.exit_code == 2
    return caught.value.mistakes


def test_a_file_with_everything() -> None:
    found = prices.loads(GOOD, "prices.yaml")
    assert (found.currency, found.pue, found.co2_kg_per_kwh, found.discount_rate) == ("EUR", 1.4, 0.35, 0.04)
    assert found.rack and (found.rack.amount, found.rack.unit, found.rack.period) == (30, "rack-unit", "month")
    assert found.energy and found.energy.amount == 0.25
    vcf, windows, backup = found.licences
    assert vcf.options[0].values == {"minimum_order": 72} and vcf.name == "VMware Cloud Foundation (VCF)"
    assert windows.name == "Windows Server Standard or Windows Server Datacenter"
    assert [option.values for option in windows.options] == [{"vms_on_each_host": "all"}, {}]
    assert windows.clusters == ("prod-*",) and backup.vms == ("sql-*", "dwh")
    standard, datacenter = windows.options
    assert standard.price and (standard.price.per, standard.price.unit, standard.price.period) == (16, "core", "once")
    assert standard.price.unit_text == "EUR/16 cores"
    assert standard.support and standard.support.times(2) == 24
    assert datacenter.support is None
    assert backup.options[0].price and backup.options[0].price.times(3) == 3


@pytest.mark.parametrize(("text", "code", "path", "hint"), MALFORMED, ids=[row[0][:70] for row in MALFORMED])
def test_one_clear_error_for_each_mistake(text: str, code: str, path: str, hint: str) -> None:
    (mistake,) = wrong(text)
    assert (mistake.code, mistake.path) == (code, path)
    assert hint in mistake.hint
    assert mistake.code in errors.CODES
    assert mistake.file == "prices.yaml" and mistake.line == 1
    assert all(part.strip() for part in (mistake.value, mistake.allowed, mistake.hint))
    assert str(mistake).count("\n") <= 3


def test_every_mistake_is_listed_with_its_line() -> None:
    text = (
        "hosts:\n  a: { purchase: 5 EUR/host, support: 5 USD/host/year }\nrack: 3 USD/rack-unit/month\nx: 1\nrack: 2\n"
    )
    found = [(each.code, each.path, each.line) for each in wrong(text)]
    assert found == [
        ("mixed-currencies", "hosts.a.support", 2),
        ("mixed-currencies", "rack", 3),
        ("unknown-key", "x", 4),
        ("duplicate-key", "rack", 5),
    ]


def test_limits_of_size(tmp_path: Path) -> None:
    many = "licences:\n" + "  - preset: proxmox-ve\n" * (prices.MAX_LICENCES + 1)
    assert [each.code for each in wrong(many)] == ["out-of-range"]
    assert len(prices.loads(many[: many.rindex("  -")], "x").licences) == prices.MAX_LICENCES
    names = ", ".join(["a"] * (prices.MAX_PATTERNS + 1))
    assert [each.path for each in wrong(f"licences: [{{preset: proxmox-ve, vms: [{names}]}}]")] == ["licences.0.vms"]
    large = tmp_path / "large.yaml"
    large.write_bytes(b"#" * (yaml_file.MAX_BYTES + 1))
    with pytest.raises(ScenarioError, match="file-too-large"):
        prices.read(large)
    with pytest.raises(ScenarioError, match="file-not-found"):
        prices.read(tmp_path / "absent.yaml")


def test_zero_is_a_price_and_an_empty_key_is_none() -> None:
    found = prices.loads("hosts: { a: { purchase: 0 EUR/host, support: } }\nrack:\nlicences:\n", "x")
    assert found.hosts["a"].purchase and found.hosts["a"].purchase.amount == 0
    assert found.hosts["a"].support is None and found.rack is None and found.licences == ()
    assert prices.loads("rack:", "x") == prices.Prices()


@given(
    st.floats(0, 1e12, allow_nan=False),
    st.sampled_from(sorted(ALL_UNITS)),
    st.sampled_from([1, 2, 16, 0.5]),
    st.sampled_from(["once", "month", "year"]),
)
def test_a_price_is_read_as_it_is_written(amount: float, unit: str, per: float, period: Any) -> None:
    of = unit if per == 1 else f"{per:g} {ALL_UNITS[unit]}"
    text = f"{amount!r} EUR/{of}" + ("" if period == "once" else f"/{period}")
    found = parse(text, Form([unit], ["once", "month", "year"]), "x")
    assert (found.amount, found.unit, found.per, found.period, found.text) == (amount, unit, per, period, text)
    assert text.endswith(found.unit_text)


@given(
    st.text(max_size=30) | st.from_regex(r"[0-9.,-]{1,6} ?[A-Z€$]{0,3}/?[a-z0-9 -]{0,8}(/[a-z]{0,5})?", fullmatch=True)
)
def test_any_text_is_a_price_or_a_clear_error(text: str) -> None:
    form = Form(["core"], ["year", "once"])
    try:
        assert parse(text, form, "x").amount >= 0
    except PriceError as error:
        assert error.code in errors.CODES and error.allowed and error.hint


KEYS = [*prices.KEYS, *prices.LICENCE_KEYS, *prices.POWER_KEYS, "r760", "purchase", "resale", "windows-server-standard"]
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from(["vm", "proxmox-ve", "windows-server-standard", "5 EUR/host", "1 EUR/core/year", "4%", "x", ""]),
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(KEYS), ANYTHING, max_size=5))
def test_any_content_is_read_or_gives_clear_errors(content: dict[str, Any]) -> None:
    try:
        found = prices.loads(json.dumps(content).replace("Infinity", ".inf").replace("NaN", ".nan"), "x")
    except ScenarioError as error:
        assert all(each.code in errors.CODES and each.allowed and each.hint for each in error.mistakes)
    else:
        years.lines(estate(hosts(2), has=vms(3)), found, 3, (1.0, 2.0, 3.0), 1)


def test_the_example_of_every_form_is_a_price() -> None:
    for form in (prices.PURCHASE, prices.SUPPORT, prices.RESALE, prices.ENERGY, prices.RACK):
        assert parse(form.example, form, "x").text == form.example


def enabled_keys(text: str) -> str:
    """The template with every disabled key."""
    lines = (line[1:] if line.startswith(("#-", "#  ")) else line for line in text.splitlines())
    return "\n".join(lines)


def test_the_unedited_template_prices_nothing() -> None:
    text = template.text("prices.yaml")
    assert prices.loads(text, "prices.yaml") == prices.Prices()
    of = estate(hosts(3), has=vms(4))
    costs = years.lines(of, prices.loads(text, "prices.yaml"), 5, (1.0, 2.0, 3.0), 1)
    assert costs["total"] is None and costs["currency"] is None
    assert costs["unpriced"] == [line["label"] for line in costs["lines"]] == EXPECTED
    assert max(map(len, text.splitlines())) <= 120


EXPECTED = ["Host r760", "Support of host r760", "Energy", "Rack space"]


def test_every_disabled_key_of_the_template_is_valid() -> None:
    text = enabled_keys(template.text())
    found = prices.loads(text, "prices.yaml")
    assert [each.options[0].rule.id for each in found.licences[:-1]] == rules.names()
    for licence in found.licences[:-1]:
        assert licence.options[0].values == licence.options[0].rule.parameters
    assert list(found.hosts) == ["r760", "present"]
    of = estate(hosts(3), has=vms(4))
    costs = years.lines(of, found, 5, (1.0, 2.0, 3.0), 1)
    assert len(costs["unpriced"]) == len(costs["lines"]) == len(rules.names()) + 1 + len(EXPECTED)


def test_the_template_has_each_preset_with_rule_and_sources() -> None:
    flat = " ".join(line.removeprefix("# ") for line in template.text().splitlines())
    for rule in rules.presets():
        assert rule.text in flat
        assert all(source in flat for source in rule.sources)
    assert all(unit in template.text() for unit in FREE_UNITS)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Exit code of a command line."""
    from hypertwin.cli import main

    monkeypatch.setattr(sys, "argv", ["hypertwin", *arguments])
    with pytest.raises(SystemExit) as caught:
        main.main()
    return int(caught.value.code or 0)


def test_init_writes_the_template(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "init", "--prices") == 0
    assert (tmp_path / "prices.yaml").read_text() == template.text()
    assert "wrote prices.yaml" in capsys.readouterr().err
    assert run(monkeypatch, "init", "--prices") == 2
    assert "prices.yaml exists" in capsys.readouterr().err
    assert run(monkeypatch, "init", "--prices", "own.yaml") == 0
    assert "--prices own.yaml`" in (tmp_path / "own.yaml").read_text()
    capsys.readouterr()
    assert run(monkeypatch, "init", "--prices", "-") == 0
    assert capsys.readouterr().out == template.text()


@pytest.mark.parametrize("option", [["--hosts", "3"], ["--storage", "none"], ["--hypervisor", "kvm"]])
def test_options_of_scenarios_contradict_prices(
    option: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "init", "--prices", *option) == 2
    assert f"leave out {option[0]}" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_prices_come_from_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"rack: 3")))
    with pytest.raises(ScenarioError) as caught:
        prices.read("-")
    assert caught.value.mistakes[0].location == "stdin:1"
