"""Commented file of prices to edit, with every preset of licences.

A line that begins with `#` and no space is a disabled key. Without the `#`, the file is valid too. No key has a number:
each price is the user's.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from hypertwin.cost import rules
from hypertwin.cost.functions import FREE_UNITS
from hypertwin.cost.years import CONVENTION

_HEAD = """\
# Prices for `hypertwin plan refresh CLUSTER --prices {file}`. Nothing has a price before you write one.
#
# A price is one text with number, currency and unit: 350 EUR/core/year, 6200 EUR/16 cores, 0.25 EUR/kWh.
# All prices have one currency. A key without a value has no price: its cost is listed as unpriced and not as 0.
# A line that begins with # and no space is a disabled key.
{convention}

hosts:
# The name of each host type as `plan refresh` shows it.
#  r760:
#    purchase: # EUR/host
#    support: # EUR/host/year
#    resale: # EUR/host, the value at the end of the last year
# `present` has the prices and the rack units of the hosts that you have.
#  present:
#    support: # EUR/host/year
#    rack_units: # rack units of a host, such as 2

power:
#  price: # EUR/kWh
#  pue: # power of the data centre per power of the servers, such as 1.4; 1 without cooling
#  co2: # kg/kWh, for the CO2 emission of the energy

rack: # EUR/rack-unit/month
discount_rate: # a percentage per year, such as 4%

# One entry for each licence that you buy. Enable only those: each enabled preset is counted.
# `vms: [sql-*]` and `clusters: [prod-*]` limit an entry by names. `parameters` changes the rule of a preset.
# A list of presets counts the cheaper one: `preset: [windows-server-standard, windows-server-datacenter]`, with a
# price for each: `price: {{windows-server-standard: ..., windows-server-datacenter: ...}}`.
# docs/licences.md explains parameters.
licences:
"""

_FREE = """\
# A line without a preset, such as backup: per {units}.
#- name: Backup
#  per: vm
#  price: # EUR/vm/year
"""

_WIDTH = 116


def text(file: str = "prices.yaml") -> str:
    """Return the file. The comments name `file`."""
    convention = "\n".join(_comment(CONVENTION))
    parts = [_HEAD.format(file=file, convention=convention), *map(_entry, rules.presets())]
    return "\n".join([*parts, _FREE.format(units=", ".join(FREE_UNITS))])


def _entry(rule: rules.Rule) -> str:
    """Return the disabled entry of a preset, with its rule and sources as comments."""
    period = "" if rule.period == "once" else f"/{rule.period}"
    lines = [
        *_comment(f"{rule.product}. {rule.text}"),
        *_comment(f"Sources ({rule.date}): {'; '.join(rule.sources)}."),
        f"#- preset: {rule.id}",
        f"#  price: # EUR/{rule.unit}{period}",
        *([f"#  support: # EUR/{rule.unit}/year, if it is paid beside the price"] if rule.period == "once" else []),
    ]
    if rule.parameters:
        lines.append(f"#  parameters: {{ {', '.join(f'{name}: {value}' for name, value in rule.parameters.items())} }}")
    return "\n".join(lines) + "\n"


def _comment(text: str) -> Iterator[str]:
    return (f"# {line}" for line in textwrap.wrap(text, _WIDTH, break_on_hyphens=False, break_long_words=False))
