"""Costs of hosts, licences, energy and rack space over years, from the rules of licences and the user's prices.

Rules are data (`library/licences.yaml`), counted by the functions of `functions`. Prices are always the user's: no
price has a default. The module knows neither scenarios nor plans: its input is an `Estate`.

| file | contents |
|---|---|
| `estate` | hosts and VMs to count, as the input |
| `functions` | functions that count licences |
| `rules` | presets of licences, and the VMs that they concern |
| `price` | a price with currency and unit, as text |
| `prices` | the file of prices |
| `template` | a commented file of prices to edit |
| `years` | lines of costs over years |
| `sensitivity` | inputs that change which candidate is cheapest |
"""
