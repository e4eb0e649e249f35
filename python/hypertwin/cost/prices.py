"""The user's file of prices. Every price is a text with number, currency and unit.

    hosts:
      r760: { purchase: 18500 EUR/host, support: 1200 EUR/host/year }
    licences:
      - { preset: vmware-cloud-foundation, price: 350 EUR/core/year }
      - { name: Backup, per: vm, price: 60 EUR/vm/year }
    power: { price: 0.25 EUR/kWh, pue: 1.4, co2: 0.35 kg/kWh }
    rack: 30 EUR/rack-unit/month
    discount_rate: 4%

A key without a value has no price. Nothing has a default price.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypertwin import naming
from hypertwin.cost import rules
from hypertwin.cost.functions import FREE_UNITS, PARAMETERS, Value
from hypertwin.cost.price import Form, Period, Price, PriceError, parse
from hypertwin.errors import Mistake, short
from hypertwin.files import yaml_fields
from hypertwin.files.yaml_fields import Fields, shown

MAX_LICENCES = 200
"""Maximum number of licences in a file."""
MAX_PATTERNS = 1000
"""Maximum number of name patterns of a licence."""
MAX_NAME = 100
"""Maximum number of characters of a name."""
MAX_PUE = 10
MAX_RACK_UNITS = 64
MAX_CO2 = 10
"""Maximum CO2 emission of electricity, in kg per kWh. Coal is about 1."""

KEYS = ("hosts", "licences", "power", "rack", "discount_rate")
HOST_KEYS = ("purchase", "support", "resale", "rack_units")
LICENCE_KEYS = ("preset", "name", "per", "price", "support", "vms", "clusters", "parameters")
POWER_KEYS = ("price", "pue", "co2")

_PERCENT = re.compile(r"\s*(\d{1,6}(?:\.\d{1,6})?)\s*%\s*")
_CO2 = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*(k?g)\s*/\s*kWh\s*", re.IGNORECASE)

PURCHASE = Form(("host",), ("once",), "18500")
SUPPORT = Form(("host",), ("year", "month"), "1200")
RESALE = Form(("host",), ("once",), "2000")
ENERGY = Form(("kWh",), ("once",), "0.25")
RACK = Form(("rack-unit",), ("month", "year"), "30")


@dataclass(frozen=True)
class HostPrices:
    """Prices of a host type."""

    purchase: Price | None = None
    support: Price | None = None
    resale: Price | None = None
    """Value at the end of the last year."""
    rack_units: float | None = None
    """Rack units of a host that has no file of its own, such as a present one."""


@dataclass(frozen=True)
class Option:
    """A rule with its prices."""

    rule: rules.Rule
    price: Price | None = None
    support: Price | None = None
    """Yearly price beside `price`."""
    values: Mapping[str, Value] = field(default_factory=dict)
    """Parameters that replace those of the rule."""


@dataclass(frozen=True)
class Licence:
    """Entry under `licences`: one rule, or several of which the cheaper one counts."""

    name: str
    options: tuple[Option, ...]
    path: str
    vms: tuple[str, ...] = ()
    """Name patterns of the VMs in question. Empty for the rule's conditions."""
    clusters: tuple[str, ...] = ()
    """Name patterns of clusters. Empty for all."""


@dataclass(frozen=True)
class Prices:
    """Content of a file of prices."""

    currency: str | None = None
    """Currency of all prices, or None without any price."""
    hosts: Mapping[str, HostPrices] = field(default_factory=dict)
    """Prices by name of the host type."""
    licences: tuple[Licence, ...] = ()
    energy: Price | None = None
    """Price of electricity, per kWh."""
    pue: float | None = None
    """Power usage effectiveness: power of the data centre per power of the servers. None without a price."""
    co2_kg_per_kwh: float | None = None
    rack: Price | None = None
    """Price of a rack unit."""
    discount_rate: float | None = None
    """Yearly discount rate as a fraction, or None for no discounting."""


def read(path: str | Path) -> Prices:
    """Return the prices in a file; `-` is stdin. Raises ScenarioError with every problem."""
    return yaml_fields.read(path, _parse, *_EMPTY)


def loads(text: str, file: str) -> Prices:
    """Return the prices in a text. `file` is the name in messages. Raises ScenarioError with every problem."""
    return yaml_fields.loads(text, file, _parse, *_EMPTY)


_EMPTY = (f"a mapping with {', '.join(KEYS)}", "`hypertwin init --prices` writes one")


def _parse(data: object, mistakes: list[Mistake]) -> Prices:
    return _Reader(mistakes).read(data)


@dataclass
class _Reader(Fields):
    """Reader of the content."""

    currency: Price | None = None
    """First price, whose currency all others must have."""

    def read(self, data: object) -> Prices:
        """Return the valid part of the content."""
        if not isinstance(data, dict):
            self.wrong("wrong-type", "", shown(data), *_EMPTY)
            return Prices()
        self.known(data, KEYS, "")
        power = self.mapping(data.get("power"), "power", "{price: 0.25 EUR/kWh, pue: 1.4}")
        self.known(power, POWER_KEYS, "power.")
        energy = self._price(power.get("price"), ENERGY, "power.price")
        pue = self.number(power.get("pue"), 1, MAX_PUE, "power.pue")
        co2 = self._co2(power.get("co2"))
        if (energy or co2 is not None) and power.get("pue") is None:
            hint = "add pue: 1.4, or pue: 1 to leave out cooling"
            self.wrong("missing-key", "power.pue", "(missing)", f"a number, 1 to {MAX_PUE}", hint)
        return Prices(
            hosts=dict(self._hosts(data.get("hosts"))),
            licences=tuple(self._licences(data.get("licences"))),
            energy=energy,
            pue=pue,
            co2_kg_per_kwh=co2,
            rack=self._price(data.get("rack"), RACK, "rack"),
            discount_rate=self._rate(data.get("discount_rate")),
            currency=self.currency.currency if self.currency else None,
        )

    def _hosts(self, data: object) -> Iterator[tuple[str, HostPrices]]:
        form = "{purchase: 18500 EUR/host, support: 1200 EUR/host/year}"
        for name, entry in self.mapping(data, "hosts", f"r760: {form}").items():
            path = f"hosts.{name}"
            found = self.mapping(entry, path, form)
            self.known(found, HOST_KEYS, f"{path}.")
            made = HostPrices(
                self._price(found.get("purchase"), PURCHASE, f"{path}.purchase"),
                self._price(found.get("support"), SUPPORT, f"{path}.support"),
                self._price(found.get("resale"), RESALE, f"{path}.resale"),
                self.number(found.get("rack_units"), 0, MAX_RACK_UNITS, f"{path}.rack_units"),
            )
            if made.resale and (made.purchase is None or made.resale.amount > made.purchase.amount):
                paid = made.purchase.text if made.purchase else "the purchase, which has no price"
                hint = "a host cannot be worth more at the end than at its purchase"
                self.wrong("out-of-range", f"{path}.resale", made.resale.text, f"at most {paid}", hint)
            yield name, made

    def _licences(self, data: object) -> Iterator[Licence]:
        if data is None:
            return
        if not isinstance(data, list):
            form = "- {preset: vmware-cloud-foundation, price: 350 EUR/core/year}"
            self.wrong("wrong-type", "licences", shown(data), "a list of licences", form)
            return
        if len(data) > MAX_LICENCES:
            self.wrong("out-of-range", "licences", f"{len(data)} licences", f"at most {MAX_LICENCES}", "remove some")
            return
        for index, entry in enumerate(data):
            path = f"licences.{index}"
            if not isinstance(entry, dict):
                hint = "{preset: vmware-cloud-foundation, price: 350 EUR/core/year}"
                self.wrong("wrong-type", path, shown(entry), "a mapping with preset or per", hint)
                continue
            self.known(entry, LICENCE_KEYS, f"{path}.")
            found = self._rules(entry, path)
            if found:
                yield Licence(
                    self._name(entry, path) or " or ".join(rule.product for rule in found),
                    tuple(self._options(found, entry, path)),
                    path,
                    self._patterns(entry.get("vms"), f"{path}.vms"),
                    self._patterns(entry.get("clusters"), f"{path}.clusters"),
                )

    def _rules(self, entry: Mapping[str, Any], path: str) -> list[rules.Rule]:
        """Return the rules of an entry: those of its presets, or one for its unit."""
        preset, per = entry.get("preset"), entry.get("per")
        if preset is not None and per is not None:
            hint = "remove per, or give a name instead of preset"
            self.wrong("unknown-key", f"{path}.per", shown(per), "a preset has its own unit", hint)
            return []
        if preset is None and per is None:
            hint = f"add preset: vmware-cloud-foundation, or per: {', '.join(FREE_UNITS)}"
            self.wrong("missing-key", f"{path}.preset", "(missing)", "a preset of docs/licences.md", hint)
            return []
        if preset is None:
            return self._free(entry, path)
        names = preset if isinstance(preset, list) else [preset]
        if not names or not all(isinstance(name, str) for name in names):
            hint = "preset: vmware-cloud-foundation"
            self.wrong("wrong-type", f"{path}.preset", shown(preset), "a preset, or a list of them", hint)
            return []
        known = rules.names()
        for name in names:
            if name not in known:
                hint = naming.hint(name, known, "docs/licences.md lists presets; or use per for your own line")
                self.wrong("unknown-value", f"{path}.preset", short(name), ", ".join(known), hint)
            elif names.count(name) > 1:
                self.wrong("duplicate-name", f"{path}.preset", name, "each preset once", "remove one of the two")
                return []
        return [rules.find(name) for name in names if name in known] if set(names) <= set(known) else []

    def _free(self, entry: Mapping[str, Any], path: str) -> list[rules.Rule]:
        """Return the rule of an entry with a unit instead of a preset."""
        per = entry["per"]
        if per not in FREE_UNITS:
            near = naming.hint(str(per), FREE_UNITS, "per: vm") if isinstance(per, str) else "per: vm"
            self.wrong("unknown-value", f"{path}.per", shown(per), ", ".join(FREE_UNITS), near)
            return []
        if entry.get("name") is None:
            self.wrong("missing-key", f"{path}.name", "(missing)", "a name for the line", "add name: Backup")
            return []
        return [rules.free(short(str(entry["name"]), MAX_NAME), per)]

    def _options(self, found: list[rules.Rule], entry: Mapping[str, Any], path: str) -> Iterator[Option]:
        """Yield each rule with its prices and parameters."""
        given = self._parameters(found, entry.get("parameters"), f"{path}.parameters")
        one = len(found) == 1
        prices = {key: self._by_preset(found, entry.get(key), f"{path}.{key}") for key in ("price", "support")}
        for rule in found:
            places = {key: f"{path}.{key}" if one else f"{path}.{key}.{rule.id}" for key in prices}
            any_period: tuple[Period, ...] = (
                ("year", "once", "month") if rule.period != "once" else ("once", "year", "month")
            )
            price = self._price(prices["price"].get(rule.id), Form((rule.unit,), any_period), places["price"])
            yearly = Form((rule.unit,), ("year", "month"))
            support = self._price(prices["support"].get(rule.id), yearly, places["support"])
            yield Option(
                rule, price, support, {name: value for name, value in given.items() if name in rule.parameters}
            )

    def _by_preset(self, found: list[rules.Rule], value: object, path: str) -> Mapping[str, object]:
        """Return prices by preset. An entry with several presets has a mapping."""
        if len(found) == 1:
            return {found[0].id: value}
        form = "{" + ", ".join(f"{rule.id}: 350 EUR/{rule.unit}" for rule in found) + "}"
        if value is not None and not isinstance(value, dict):
            self.wrong("wrong-type", path, shown(value), "a price for each preset", form)
            return {}
        of = self.mapping(value, path, form)
        self.known(of, [rule.id for rule in found], f"{path}.")
        return of

    def _parameters(self, found: list[rules.Rule], value: object, path: str) -> dict[str, Value]:
        known = list(dict.fromkeys(name for rule in found for name in rule.parameters))
        given: dict[str, Value] = {}
        for name, each in self.mapping(value, path, "{minimum_order: 72}").items():
            if name not in known:
                hint = naming.hint(name, known, "remove it")
                self.wrong("unknown-key", f"{path}.{name}", shown(each), ", ".join(known) or "no parameters", hint)
            elif not PARAMETERS[name].accepts(each):
                code = "out-of-range" if isinstance(each, int | float) and not isinstance(each, bool) else "wrong-type"
                code = "not-finite" if isinstance(each, float) and not abs(each) < float("inf") else code
                code = "unknown-value" if PARAMETERS[name].choices and isinstance(each, str) else code
                hint = PARAMETERS[name].meaning
                self.wrong(code, f"{path}.{name}", shown(each), PARAMETERS[name].allowed, hint)
            else:
                given[name] = each
        return given

    def _name(self, entry: Mapping[str, Any], path: str) -> str:
        name = entry.get("name")
        if name is None:
            return ""
        if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME or not name.isprintable():
            allowed = f"a text of at most {MAX_NAME} characters"
            self.wrong("wrong-type", f"{path}.name", shown(name), allowed, "name: Backup")
            return ""
        return name.strip()

    def _patterns(self, value: object, path: str) -> tuple[str, ...]:
        if value is None:
            return ()
        names = value if isinstance(value, list) else [value]
        if not names or len(names) > MAX_PATTERNS or not all(isinstance(name, str) and name for name in names):
            allowed = f"1 to {MAX_PATTERNS:,} names or patterns"
            self.wrong("wrong-type", path, shown(value), allowed, "[sql-*, dwh]")
            return ()
        return tuple(names)

    def _price(self, value: object, form: Form, path: str) -> Price | None:
        if value is None:
            return None
        try:
            found = parse(value, form, path)
        except PriceError as error:
            self.wrong(error.code, path, shown(value), error.allowed, error.hint)
            return None
        if self.currency is None:
            self.currency = found
        elif found.currency != self.currency.currency:
            first = f"{self.currency.currency}, as {self.currency.path} has"
            self.wrong("mixed-currencies", path, shown(value), first, "convert all prices to one currency")
        return found

    def _co2(self, value: object) -> float | None:
        if value is None:
            return None
        path, allowed = "power.co2", f"kg per kWh, 0 to {MAX_CO2} kg/kWh"
        found = _CO2.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            code = "bad-quantity" if isinstance(value, str) else "bad-unit"
            self.wrong(code, path, shown(value), allowed, "write 0.35 kg/kWh")
            return None
        kg = float(found[1]) / (1 if found[2].lower() == "kg" else 1000)
        if kg > MAX_CO2:
            self.wrong("out-of-range", path, shown(value), allowed, "is it in g/kWh?")
            return None
        return kg

    def _rate(self, value: object) -> float | None:
        if value is None:
            return None
        path, allowed = "discount_rate", "a percentage from 0% to 100%, such as 4%"
        found = _PERCENT.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            hint = "write 4%"
            if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 100:
                hint = f"write {100 * value if 0 < value < 1 else value:g}%"
            self.wrong("bad-quantity", path, shown(value), allowed, hint)
            return None
        if float(found[1]) > 100:
            self.wrong("out-of-range", path, shown(value), allowed, "choose a value in that range")
            return None
        return float(found[1]) / 100
