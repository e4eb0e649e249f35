"""Costs of a candidate: its hosts and VMs as an estate, priced by the user's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from hypertwin import language
from hypertwin.cost import sensitivity as sensitivities
from hypertwin.cost import years
from hypertwin.cost.estate import Cluster, Estate, Hosts, Vm
from hypertwin.cost.prices import HostPrices, Prices
from hypertwin.documents import refresh as documents
from hypertwin.documents.cost import Costs, Sensitivity
from hypertwin.language import Host
from hypertwin.plan.refresh.fewest import Made
from hypertwin.plan.refresh.host_type import HostType
from hypertwin.scenario import Scenario, space

PRESENT = "present"
"""Name of present hosts in the file of prices."""

TIB = 2**40


def costs(
    made: Sequence[Made],
    types: Sequence[HostType],
    prices: Prices | None,
    over: int,
    failures: int,
    energy: documents.Energy | None,
    *,
    like: Mapping[str, language.Vm],
    more: str = "",
    hosts: int = 0,
) -> Costs:
    """Return the costs of clusters over a number of years. Without a file of prices nothing has a price.

    VMs of the groups in `like` are copies, which licences find by the name of the other VM. The last cluster has some
    `hosts` more, or fewer, of the type `more`. Energy then grows with the number of hosts.
    """
    prices = prices or Prices()
    clusters = [_cluster(each, types, prices, like) for each in made]
    whole = Estate(tuple(clusters)).host_count
    if hosts:
        last = clusters[-1]
        changed = (replace(each, count=each.count + hosts) if each.name == more else each for each in last.hosts)
        clusters[-1] = replace(last, hosts=tuple(changed))
    estate, kwh = Estate(tuple(clusters)), None
    if energy is not None:
        part = estate.host_count / whole if whole else 1.0
        kwh = part * energy["kwh_per_year_low"], part * energy["kwh_per_year"], part * energy["kwh_per_year_high"]
    return years.lines(
        estate,
        prices,
        over,
        kwh,
        failures,
        bought={each.name for each in types} - {PRESENT},
        energy_of_types=None if energy is None else _of_types(energy, types, part),
    )


def _of_types(
    energy: documents.Energy, types: Sequence[HostType], part: float
) -> dict[str, tuple[float, float, float]]:
    """Return a part of the energy of the hosts of each type per year, by the name of their prices."""
    names = {each.name for each in types}
    found: dict[str, tuple[float, float, float]] = {}
    for group, of in energy["by_group"].items():
        name = group if group in names else PRESENT
        low, mid, high = found.get(name, (0.0, 0.0, 0.0))
        found[name] = low + part * of["low"], mid + part * of["mid"], high + part * of["high"]
    return found


def _cluster(made: Made, types: Sequence[HostType], prices: Prices, like: Mapping[str, language.Vm]) -> Cluster:
    of, merged = made.problem, tuple(name for name in made.takes if name != made.problem.cluster)
    counted = cluster(of.cluster, made.scenario, of.hosts, of.vms, prices, types, like)
    return replace(counted, merged=merged)


def cluster(
    name: str,
    scenario: Scenario,
    hosts: Sequence[Host],
    vms: Sequence[language.Vm],
    prices: Prices,
    types: Sequence[HostType] = (),
    like: Mapping[str, language.Vm] = MappingProxyType({}),
) -> Cluster:
    """Return a cluster to count. Hosts of no host type are present ones."""
    counts: dict[Hosts, int] = {}
    raw, of_name = _raw_tib(scenario), {each.name: each for each in types}
    for host in hosts:
        one = _hosts(host, of_name, prices, raw.get(host.name, 0.0))
        counts[one] = counts.get(one, 0) + 1
    counted = (replace(one, count=count) for one, count in counts.items())
    return Cluster(name, tuple(counted), tuple(_vm(vm, like.get(vm.group, vm)) for vm in vms))


def _vm(vm: language.Vm, named: language.Vm) -> Vm:
    return Vm(named.name, named.called, vm.vcpus, vm.guest_os, vm.products)


def _hosts(host: Host, types: Mapping[str, HostType], prices: Prices, raw_tib: float) -> Hosts:
    """Return one host under the name of its prices."""
    name = host.group if host.group in types else PRESENT
    return Hosts(name, 1, host.processors, host.cores, raw_tib, rack_units(host, types, prices))


def rack_units(host: Host, types: Mapping[str, HostType], prices: Prices | None) -> float | None:
    """Return the rack units of a host, by its host type or the file of prices, or None if unknown."""
    own = types[host.group].rack_units if host.group in types else None
    if own is not None or prices is None:
        return own
    return prices.hosts.get(host.group if host.group in types else PRESENT, HostPrices()).rack_units


def _raw_tib(scenario: Scenario) -> dict[str, float]:
    """Return the raw capacity of the disks of each host in pools, in TiB."""
    found: dict[str, float] = {}
    for pool in scenario.inventory.pools:
        size = sum(space.disks_of_host(scenario.data["storage"][pool.name])) / TIB
        for host in pool.hosts:
            found[host] = found.get(host, 0.0) + size
    return found


def purchases(prices: Prices | None, names: Sequence[str]) -> dict[str, float] | None:
    """Return the purchase price of each host type, or None if one has none."""
    amounts = {
        name: found.purchase.amount
        for name in names
        if prices is not None and (found := prices.hosts.get(name)) is not None and found.purchase is not None
    }
    return amounts if len(amounts) == len(names) else None


def are_comparable(found: Sequence[documents.Candidate]) -> bool:
    """True if the costs of all candidates have prices, and lack the same kinds of costs, if any."""
    missing = {
        tuple(sorted({line["kind"] for line in each["costs"]["lines"] if line["total"] is None}))
        for each in found
        if each["costs"] is not None and each["costs"]["total"] is not None
    }
    priced = all(each["costs"] is not None and each["costs"]["total"] is not None for each in found)
    return bool(found) and priced and len(missing) == 1


def worth(found: documents.Candidate) -> float:
    """Return the present value of all costs of a candidate, or 0 if nothing has a price."""
    return 0.0 if found["costs"] is None else found["costs"]["discounted"] or 0.0


def sensitivity(found: Sequence[documents.Candidate], other: Mapping[str, Mapping[int, Costs]]) -> Sensitivity | None:
    """Return the inputs that move the ranking of candidates by cost, or None for fewer than two candidates.

    `other` has the costs of candidates with other numbers of hosts.
    """
    known = {each["name"]: each["costs"] for each in found if each["feasible"] and each["costs"] is not None}
    return sensitivities.compare(known, other) if len(known) > 1 else None
