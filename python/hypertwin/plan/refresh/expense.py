"""Costs of a candidate: its hosts and VMs as an estate, priced by the user's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hypertwin import language
from hypertwin.cost import sensitivity as sensitivities
from hypertwin.cost import years
from hypertwin.cost.estate import Cluster, Estate, Hosts, Vm
from hypertwin.cost.prices import Prices
from hypertwin.documents import refresh as documents
from hypertwin.documents.cost import Costs, Sensitivity
from hypertwin.language import Host
from hypertwin.plan.refresh.fewest import Made
from hypertwin.plan.refresh.host_type import HostType

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
    more: str = "",
    hosts: int = 0,
) -> Costs:
    """Return the costs of clusters over a number of years. Without a file of prices nothing has a price.

    The last cluster has some `hosts` more, or fewer, of the type `more`. Energy then grows with the number of hosts.
    """
    clusters = [cluster(each.problem.cluster, each.problem.hosts, each.problem.vms, types) for each in made]
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
        prices or Prices(),
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


def cluster(name: str, hosts: Sequence[Host], vms: Sequence[language.Vm], types: Sequence[HostType]) -> Cluster:
    """Return a cluster to count. Hosts of no host type are present ones."""
    counts: dict[Hosts, int] = {}
    for host in hosts:
        one = _hosts(host, {each.name: each for each in types})
        counts[one] = counts.get(one, 0) + 1
    counted = (Hosts(**{**vars(one), "count": count}) for one, count in counts.items())
    guests = tuple(Vm(vm.name, vm.called, vm.vcpus, vm.guest_os, vm.products) for vm in vms)
    return Cluster(name, tuple(counted), guests)


def _hosts(host: Host, types: Mapping[str, HostType]) -> Hosts:
    """Return one host under the name of its prices."""
    type_ = types.get(host.group)
    return Hosts(
        name=PRESENT if type_ is None else type_.name,
        count=1,
        processors=host.processors,
        cores=host.cores,
        raw_tib=0.0 if type_ is None else type_.raw_bytes / TIB,
        rack_units=None if type_ is None else type_.rack_units,
    )


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
