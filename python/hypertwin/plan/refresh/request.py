"""Request of a refresh: options and files, parsed and checked, and the candidates that follow from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Self

from hypertwin import _core
from hypertwin import scenario as scenarios
from hypertwin.cost import prices as cost_prices
from hypertwin.cost.prices import Prices
from hypertwin.documents import refresh as documents
from hypertwin.errors import fail
from hypertwin.language import Host
from hypertwin.plan.capacity import limits as capacity_limits
from hypertwin.plan.capacity.demand import NEARLY_ALL
from hypertwin.plan.powered_off import with_off
from hypertwin.plan.refresh import expense, host_type, speed
from hypertwin.plan.refresh.host_type import HostType
from hypertwin.plan.refresh.options import Refresh
from hypertwin.plan.refresh.planning import Choice, Part, Planner, mixes
from hypertwin.plan.refresh.present import Present, growth
from hypertwin.plan.refresh.speed import Speed
from hypertwin.scenario import Given, space
from hypertwin.scenario.overrides import by_path


@dataclass(frozen=True)
class Found:
    """Candidate with its parts."""

    name: str
    kind: documents.Kind
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Request:
    """Parsed and checked request."""

    options: Refresh
    types: tuple[HostType, ...]
    prices: Prices | None
    present: Present
    planner: Planner
    speeds: Mapping[str, Speed]

    @classmethod
    def of(cls, given: Given, options: Refresh) -> Self:
        """Parse and check the request. Raises ScenarioError."""
        named = options.host_type
        paths = [] if named is None else [named] if isinstance(named, str) or not isinstance(named, Sequence) else named
        types = host_type.read(list(paths))
        prices = None if options.prices is None else cost_prices.read(options.prices)
        scenario = scenarios.load(given, by_path(options.overrides))
        scenario.with_overrides(options.settings)
        if options.with_off:
            scenario = with_off(scenario)
        settings = {path: value for path, value in options.settings.items() if path != "run.replications"}
        scenario = scenario.with_overrides(settings)
        known = scenario.inventory.clusters
        if options.cluster is not None:
            name = capacity_limits.cluster_named(options.cluster, scenario.inventory.cluster_labels)
            known = tuple(each for each in known if each.name == name)
        with_vms = {vm.cluster for vm in scenario.inventory.vms if not vm.storage_appliance}
        known = tuple(each for each in known if each.name in with_vms)
        for each in types:
            if each.name in scenario.data["hosts"]:
                hint = "give the host type another name"
                fail("duplicate-name", "name", each.name, "a name that no host of the scenario has", hint, each.file)
            if each.name == expense.PRESENT:
                hint = "give the host type another name, also in the file of prices"
                allowed = f"a name other than {expense.PRESENT}, which stands for present hosts"
                fail("duplicate-name", "name", each.name, allowed, hint, each.file)
        limits = capacity_limits.of_options(options)
        present = Present.of(scenario, known, limits, growth(options.growth, options.years))
        speeds = speed.of_present(present.hosts, present.reference) | speed.of_types(types, present.reference)
        stored = _stored(present, options.stored, types)
        tell = options.progress
        planner = Planner(
            present,
            limits,
            options.memory_demand,
            speeds,
            stored,
            (lambda text: tell(text, 0, 0)) if tell is not None else (lambda _: None),
        )
        return cls(options, types, prices, present, planner, speeds)

    @cached_property
    def names(self) -> list[str]:
        """Names of the clusters."""
        return [state.cluster.name for state in self.present.states]

    def candidates(self) -> Iterator[Found]:
        """Yield the candidates."""
        kept = self._kept()
        names = self.names
        alone: dict[str, dict[str, int]] = {}
        for each in self.types:
            found = Found(each.name, "replace", tuple(self.planner.part(Choice(n, (n,), (), (), each)) for n in names))
            for part in found.parts:
                alone.setdefault(part.choice.cluster, {})[each.name] = part.found.hosts or 0
            yield found
        for each in self.types if kept else ():
            parts = tuple(
                self.planner.part(Choice(n, (n,), tuple(host for host in kept if host.cluster == n), (), each))
                for n in names
            )
            yield Found(f"keep {len(kept)}, add {each.name}", "keep", parts)
        if self.options.merge and len(names) > 1:
            for each in self.types:
                part = self.planner.part(Choice(names[0], tuple(names), (), (), each))
                yield Found(f"{each.name}, clusters merged", "merge", (part,))
        if self.options.mix and len(self.types) > 1:
            mixed = [self._mixed(name, alone[name]) for name in names]
            if all(mixed):
                types = dict.fromkeys(name for part in mixed if part is not None for name in part.added)
                yield Found(" + ".join(types), "mix", tuple(part for part in mixed if part is not None))

    def _mixed(self, cluster: str, alone: Mapping[str, int]) -> Part | None:
        """Return the best mix of a cluster: the cheapest to buy if both types are priced, else the fewest hosts."""
        tried = list(mixes(self.planner, cluster, (cluster,), self.types, alone))
        prices = expense.purchases(self.prices, [each.name for each in self.types])

        def cost(part: Part) -> tuple[float, float]:
            hosts = float(part.found.hosts or 0)
            if prices is None:
                return hosts, hosts
            return sum(prices[name] * count for name, count in part.added.items()), hosts

        best = min(tried, key=cost, default=None)
        return None if best is None else self.planner.part(best.choice)

    def _kept(self) -> list[Host]:
        """Return the hosts to keep. Raises ScenarioError for a name that no host has."""
        named = self.options.keep
        globs = [] if named is None else [named] if isinstance(named, str) else list(named)
        hosts = self.present.hosts
        kept: dict[str, Host] = {}
        for glob in globs:
            here = [h for h in hosts if any(fnmatchcase(n, glob) for n in (h.name, h.label or h.name, h.group))]
            if not here:
                known = ", ".join(host.name for host in hosts)
                fail("unknown-reference", "keep", glob, known, "name a host, or several with *")
            kept |= {host.name: host for host in here}
        return list(kept.values())


def _stored(present: Present, given: str | None, types: Sequence[HostType]) -> float | None:
    """Return the data of all VMs in bytes, or None if no host type has disks. Raises ScenarioError if unknown."""
    if given is not None:
        try:
            return float(_core.size_bytes(given))
        except ValueError as error:
            fail("bad-quantity", "stored", given, str(error), "write a size with its unit, such as 40TiB")
    if not any(each.storage is not None for each in types):
        return None
    pools = sum(room.stored for room in space.rooms(present.scenario).values())
    for used in (
        [vm.measured.storage_used_bytes for vm in present.vms],
        [vm.measured.storage_provisioned_bytes for vm in present.vms],
    ):
        known = [size for size in used if size is not None]
        total = sum(known)
        if total and len(known) >= NEARLY_ALL * len(used):
            return total * len(used) / len(known)
    if not pools:
        hint = "give the size with `stored`, or measured.storage_used of each VM"
        fail("missing-key", "stored", "(missing)", "a size, because a host type has disks for VMs", hint)
    return pools
