"""Throughput of host types, from published results, and the work per cycle that a simulation takes for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hypertwin.documents import refresh as documents
from hypertwin.errors import Mistake, ScenarioError, fail
from hypertwin.language import Host
from hypertwin.plan.refresh.host_type import HostType
from hypertwin.published.throughput import SMT_YIELD, Throughput, ratio, throughput


@dataclass(frozen=True)
class Speed:
    """Speed of a host type relative to the reference host."""

    name: str
    host: Host
    published: Throughput
    per_core: tuple[float, float, float]
    """Throughput of a core relative to the reference: low, middle, high."""
    work_per_cycle: float
    text: str

    @property
    def slow(self) -> float:
        """Factor on the middle at the slow end."""
        return self.per_core[0] / self.per_core[1]

    @property
    def fast(self) -> float:
        """Factor on the middle at the fast end."""
        return self.per_core[2] / self.per_core[1]

    def document(self) -> documents.Speed:
        """Return the speed for the document."""
        low, middle, high = self.per_core
        return {
            "host_type": self.name,
            "cpu_model": self.host.cpu_model,
            "cores": self.host.cores,
            "clock_mhz": self.host.clock_hz / 1e6,
            "specrate": self.published.value,
            "specrate_low": self.published.low,
            "specrate_high": self.published.high,
            "per_core": middle,
            "per_core_low": low,
            "per_core_high": high,
            "work_per_cycle": self.work_per_cycle,
            "basis": self.published.basis,
            "text": self.text,
            "source": self.published.source,
        }


def published(host: Host) -> Throughput:
    """Return the published throughput of a host."""
    return throughput(
        host.cpu_model,
        sockets=host.processors,
        cores_per_socket=max(1, host.cores // host.processors),
        clock_hz=host.clock_hz,
        threads_per_core=host.threads_per_core,
    )


def speed(name: str, host: Host, reference: Host, place: str) -> Speed:
    """Return the speed of a host relative to the reference host.

    A host with the same processor has exactly the same speed. Raises ScenarioError if either processor is unknown:
    an unknown processor is never taken as equal. `place` is the path of the processor model in messages.
    """
    found = published(host)
    if host is reference or is_same(host, reference):
        text = "the same processor as the reference host"
        return Speed(name, host, found, (1.0, 1.0, 1.0), 1.0, text)
    base = published(reference)
    for each, where, one in ((found, place, host), (base, f"hosts.{reference.group}.cpu_model", reference)):
        if each.value is None:
            fail(
                "unknown-value",
                where,
                one.cpu_model or "(missing)",
                "a processor whose throughput is published, such as Intel Xeon Gold 6548Y+ or AMD EPYC 9354",
                f"{each.text} Set {where} to the model that the vendor names",
            )
    against = ratio(found, base)
    middle = against.value or 1.0
    ends = against.low or middle, middle, against.high or middle
    cycles = (host.busy_clock_hz * smt_yield(host)) / (reference.busy_clock_hz * smt_yield(reference))
    return Speed(name, host, found, ends, middle / cycles, against.text)


def is_same(one: Host, other: Host) -> bool:
    """True if two hosts have the same processor, threads and clock."""
    return (
        one.cpu_model == other.cpu_model
        and one.cpu_model is not None
        and (one.clock_hz, one.busy_clock_hz, one.threads_per_core)
        == (other.clock_hz, other.busy_clock_hz, other.threads_per_core)
    )


def smt_yield(host: Host) -> float:
    """Return the throughput of a core with all its threads busy, over that of one busy thread."""
    return SMT_YIELD if host.threads_per_core > 1 else 1.0


def of_types(types: Sequence[HostType], reference: Host) -> dict[str, Speed]:
    """Return the speed of each host type by name. Raises ScenarioError with every problem."""
    found, mistakes = {}, list[Mistake]()
    for each in types:
        try:
            found[each.name] = speed(each.name, each.facts, reference, "host.cpu_model")
        except ScenarioError as error:
            mistakes += [Mistake(**{**vars(one), "file": each.file or one.file}) for one in error.mistakes]
    if mistakes:
        raise ScenarioError.of(mistakes)
    return found


def of_present(hosts: Sequence[Host], reference: Host) -> dict[str, Speed]:
    """Return the speed of each present host group. Raises ScenarioError."""
    found: dict[str, Speed] = {}
    for host in hosts:
        if host.group not in found:
            found[host.group] = speed(host.group, host, reference, f"hosts.{host.group}.cpu_model")
    return found


def work_per_cycle(speeds: Mapping[str, Speed]) -> dict[str, float]:
    """Return the work per cycle of each host group."""
    return {name: each.work_per_cycle for name, each in speeds.items()}
