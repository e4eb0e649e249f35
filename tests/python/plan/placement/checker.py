"""Checks plans with code that shares nothing with the planner: plain dictionaries, loops, and exhaustive search.

It reads the members of a scenario (`Scenario.inventory`) and the JSON of a plan. `complaints` of a sound plan is empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypertwin.members import Rule
from hypertwin.scenario import Scenario

EPSILON = 1e-7
"""Part of a room that sums may be off by."""

PRIORITIES = ["highest", "high", "medium", "low", "lowest", "disabled"]

Place = Mapping[str, str | None]


@dataclass
class World:
    """A cluster, by names: what there is, and what must hold."""

    size: dict[str, dict[str, float]]
    """Per VM and resource (`cpu` in MHz, `memory` in bytes, `vcpus`)."""
    room: dict[str, dict[str, float]]
    """Per host and resource, within the limits."""
    failover: dict[str, dict[str, float]]
    """The same while hosts have failed."""
    can: dict[str, set[str]]
    """Per VM: hosts on which it can be, rules aside."""
    rules: list[Rule]
    at: dict[str, str]
    restarts: set[str]
    priority: dict[str, int]
    new: set[str] = field(default_factory=set)
    """VMs that are nowhere before the plan."""
    fixed: set[str] = field(default_factory=set)
    """VMs that cannot migrate, and restart elsewhere."""

    @staticmethod
    def of(
        scenario: Scenario,
        cluster: str = "default",
        *,
        cpu: float = 0.8,
        memory: float = 0.9,
        ratio: float | None = None,
        failover_cpu: float | None = None,
        failover_memory: float | None = None,
        demand: str = "p95",
    ) -> World:
        """A cluster of a scenario under limits. CPU counts where it was measured of all VMs."""
        inventory = scenario.inventory
        hosts = [host for host in inventory.hosts if host.cluster == cluster]
        vms = [vm for vm in inventory.vms if vm.cluster == cluster]
        key = {"mean": "cpu_mhz", "p95": "cpu_p95_mhz", "peak": "cpu_peak_mhz"}[demand]
        size: dict[str, dict[str, float]] = {}
        for vm in vms:
            size[vm.name] = {"memory": float(vm.memory_bytes)}
            size[vm.name] |= {"reserved_cpu": vm.reservation_hz / 1e6, "reserved_memory": vm.memory_reservation_bytes}
            mhz = getattr(vm.measured, key)
            if mhz is not None:
                size[vm.name]["cpu"] = mhz
            if ratio is not None:
                size[vm.name]["vcpus"] = float(vm.vcpus)
        knows_cpu = all("cpu" in of for of in size.values())
        if not knows_cpu:
            for of in size.values():
                of.pop("cpu", None)

        def rooms(of_cpu: float, of_memory: float) -> dict[str, dict[str, float]]:
            found = {}
            for host in hosts:
                mhz = host.cores * host.clock_hz / 1e6
                own = {"memory": of_memory * host.memory_bytes - host.hypervisor_memory_bytes, "reserved_cpu": mhz}
                own["reserved_memory"] = float(host.memory_bytes - host.hypervisor_memory_bytes)
                if knows_cpu:
                    own["cpu"] = of_cpu * mhz
                if ratio is not None:
                    own["vcpus"] = ratio * host.cores
                for vm in vms:
                    if vm.storage_appliance and vm.host == host.name:
                        own = {resource: value - size[vm.name][resource] for resource, value in own.items()}
                found[host.name] = own
            return found

        movable = [vm for vm in vms if not vm.storage_appliance]
        return World(
            size={vm.name: size[vm.name] for vm in movable},
            room=rooms(cpu, memory),
            failover=rooms(failover_cpu or cpu, failover_memory or memory),
            can={
                vm.name: {
                    host.name
                    for host in hosts
                    if host.group in vm.host_groups and (host.name == vm.host or not vm.stays_on_host)
                }
                for vm in movable
            },
            fixed={vm.name for vm in movable if not vm.live_migration},
            rules=list(inventory.rules),
            at={vm.name: vm.host for vm in movable},
            restarts={vm.name for vm in movable if not vm.stays_on_host and vm.restart_priority != "disabled"},
            priority={vm.name: PRIORITIES.index(vm.restart_priority) for vm in movable},
        )

    def loads(self, place: Place) -> dict[str, dict[str, float]]:
        """What VMs take of each host."""
        found = {host: dict.fromkeys(of, 0.0) for host, of in self.room.items()}
        for vm, host in place.items():
            if host is not None:
                for resource, value in self.size[vm].items():
                    found[host][resource] += value
        return found

    def over(self, place: Place, rooms: Mapping[str, Mapping[str, float]], hosts: Sequence[str]) -> list[str]:
        """Hosts of these that have more than there is room for."""
        loads = self.loads(place)
        return [
            f"{host}: {loads[host][resource]:g} of {room:g} {resource}"
            for host in hosts
            for resource, room in rooms[host].items()
            if loads[host][resource] > room + EPSILON * max(room, 1.0)
        ]

    def broken(self, place: Place, *, mandatory_only: bool = False) -> list[str]:
        """Rules that do not hold, and VMs where they cannot be."""
        found = [f"{vm} cannot be on {host}" for vm, host in place.items() if host and host not in self.can[vm]]
        for rule in self.rules:
            if rule.mandatory or not mandatory_only:
                there = [place[vm] for vm in rule.vms if place.get(vm)]
                if not keeps(rule, there):
                    found.append(f"rule {rule.name}")
        return found


def keeps(rule: Rule, there: Sequence[str | None]) -> bool:
    """Whether a rule holds of the hosts of its VMs."""
    if rule.kind == "keep-apart":
        return len(there) == len(set(there))
    if rule.kind == "keep-together":
        return len(set(there)) <= 1
    return all((host in rule.hosts) == (rule.kind == "run-on") for host in there)


def complaints(world: World, plan: Mapping[str, Any]) -> list[str]:
    """Everything that is wrong with a plan: moves, steps, the place that they lead to, certificates, the verdict."""
    place: dict[str, str | None] = {vm: None if vm in world.new else host for vm, host in world.at.items()}
    found = list(_steps(world, plan, place))
    if plan["feasible"] and plan["command"] != "survive":
        found += world.over(place, world.room, sorted(world.room))
        note = next(
            (text for text in plan.get("notes", ()) if text.startswith("Should rules that this plan violates")), ""
        )
        given_up = {f"rule {name}" for name in note.rpartition(": ")[2].rstrip(".").split(", ")}
        must = {*world.broken(place, mandatory_only=True)}
        found += [each for each in world.broken(place) if each in must or each not in given_up]
    for name, certificate in plan["certificate"].items():
        found += [f"{name}: {text}" for text in wrong_certificate(world, place, certificate)]
    lost = any(certificate["cannot_restart"] for certificate in plan["certificate"].values())
    if lost and plan["feasible"]:
        found.append("feasible, with VMs that find no host")
    return found


def _steps(world: World, plan: Mapping[str, Any], place: dict[str, str | None]) -> Iterator[str]:
    """What is wrong with moves and steps; `place` is where VMs are afterwards."""
    by_step: dict[int, list[Mapping[str, Any]]] = {}
    for move in plan["moves"]:
        by_step.setdefault(move["step"], []).append(move)
    for step in sorted(by_step):
        arrives = {}
        for move in by_step[step]:
            if place.get(move["vm"], "?") != move["from"]:
                yield f"step {step}: {move['vm']} is on {place.get(move['vm'])}, not on {move['from']}"
            if move["vm"] in arrives:
                yield f"step {step}: {move['vm']} moves twice"
            if move["vm"] in world.fixed and move["vm"] not in world.new:
                yield f"step {step}: {move['vm']} cannot migrate"
            if move["to"] not in world.can[move["vm"]]:
                yield f"step {step}: {move['vm']} cannot be on {move['to']}"
            arrives[move["vm"]] = move["to"]
        both = world.loads(place)
        for vm, host in arrives.items():
            for resource, value in world.size[vm].items():
                both[host][resource] += value
        for host in sorted(set(arrives.values())):
            for resource, room in world.room[host].items():
                if both[host][resource] > room + EPSILON * max(room, 1.0):
                    yield f"step {step}: {host} has {both[host][resource]:g} of {room:g} {resource} while VMs arrive"
        place.update(arrives)


def wrong_certificate(world: World, place: Place, certificate: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with what a certificate says of a failure, but for its claim that nothing is better."""
    failed = set(certificate["failed"])
    fell = {vm for vm, host in place.items() if host in failed}
    said = [*certificate["placed"], *(each["vm"] for each in certificate["cannot_restart"])]
    down = [each["vm"] for each in certificate["not_restarted"]]
    without_data = {each["vm"] for each in certificate["cannot_restart"] if each["short_of"].startswith("data of pool")}
    if len(said) != len(set(said)):
        yield "a VM is there twice"
    if set(said) - without_data != (fell & world.restarts) - without_data:
        yield f"speaks of {sorted(said)}, and not of {sorted(fell & world.restarts)}"
    if set(down) - without_data != fell - world.restarts - without_data:
        yield f"lets {sorted(down)} be down, and not {sorted(fell - world.restarts)}"
    if not all(each["short_of"] for each in certificate["cannot_restart"]):
        yield "a VM lacks nothing and has no host"
    after = {vm: None if host in failed or vm in without_data else host for vm, host in place.items()}
    before = dict(after)
    after.update(certificate["placed"])
    targets = sorted(set(certificate["placed"].values()))
    for host in targets:
        if host in failed or host not in world.room:
            yield f"{host} has failed"
            return
    yield from world.over(after, world.failover, targets)
    yield from _astray(world, before, certificate["placed"])
    now = set(world.broken(after))
    broken = {rule.name for rule in world.rules if not rule.mandatory and f"rule {rule.name}" in now}
    if broken - set(certificate["violated_should_rules"]):
        yield f"wishes {sorted(broken)} do not hold, it says {certificate['violated_should_rules']}"


def _astray(world: World, running: Place, placed: Mapping[str, str]) -> Iterator[str]:
    """VMs that were restarted where they cannot be, or where a mandatory rule forbids it."""
    after = {**running, **placed}
    for vm, host in placed.items():
        if host not in world.can[vm]:
            yield f"{vm} cannot be on {host}"
    for rule in world.rules:
        if not rule.mandatory:
            continue
        runs = {running[vm] for vm in rule.vms if running.get(vm)}
        for vm in rule.vms:
            if vm not in placed:
                continue
            others = [after[other] for other in rule.vms if other != vm and after.get(other)]
            if rule.kind == "keep-together":
                kept = placed[vm] in runs if runs else all(other == placed[vm] for other in others)
            elif rule.kind == "keep-apart":
                kept = placed[vm] not in others
            else:
                kept = (placed[vm] in rule.hosts) == (rule.kind == "run-on")
            if not kept:
                yield f"{vm} on {placed[vm]} breaks rule {rule.name}"


def most_restarted(world: World, place: Place, failed: Sequence[str]) -> tuple[int, ...]:
    """By trying everything: how many VMs of each priority, the highest first, can be restarted at most.

    Higher priorities count before lower ones.
    """
    waits = sorted(vm for vm, host in place.items() if host in failed and vm in world.restarts)
    running = {vm: None if host in failed else host for vm, host in place.items()}
    hosts = sorted(host for host in world.room if host not in failed)
    free = world.loads(running)
    for host in hosts:
        for resource, room in world.failover[host].items():
            free[host][resource] = room - free[host][resource]
    best: tuple[int, ...] = (0,) * len(PRIORITIES)

    def has_room(vm: str, host: str) -> bool:
        return all(
            free[host][resource] + EPSILON * max(world.failover[host][resource], 1.0) >= value
            for resource, value in world.size[vm].items()
        )

    def put(vm: str, host: str, sign: int) -> None:
        for resource, value in world.size[vm].items():
            free[host][resource] -= sign * value

    def search(number: int, placed: dict[str, str]) -> None:
        nonlocal best
        if number == len(waits):
            counts = tuple(sum(world.priority[vm] == level for vm in placed) for level in range(len(PRIORITIES)))
            if counts > best and not list(_astray(world, running, placed)):
                best = counts
            return
        vm = waits[number]
        for host in hosts:
            if host in world.can[vm] and has_room(vm, host):
                put(vm, host, 1)
                search(number + 1, {**placed, vm: host})
                put(vm, host, -1)
        search(number + 1, placed)

    search(0, {})
    return best
