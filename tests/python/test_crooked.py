"""Figures of the crooked cluster, by hand."""

from __future__ import annotations

import pytest
from tests.crooked import GIB, crooked
from tests.python.plan.placement.test_policies import applied

import hypertwin
from hypertwin import _core, scenario
from hypertwin.diagnosis import diagnose, memory, what_if
from hypertwin.diagnosis.case import Case
from hypertwin.diagnosis.evidence import Evidence, Stat
from hypertwin.diagnosis.remedies import Remedy
from hypertwin.plan.capacity.limits import AskedVm, Limits
from hypertwin.plan.capacity.state import State
from hypertwin.plan.placement import fixes, place, planning
from hypertwin.plan.placement.failures import unreadable
from hypertwin.plan.placement.migrations import Migrations
from hypertwin.plan.placement.problem import Problem
from hypertwin.plan.placement.problem import problem as problem_of
from hypertwin.scenario import Scenario

CAPACITY_MHZ = 16_000 + 36_000 + 3 * 25_000


def problem(made: Scenario, **more: object) -> Problem:
    return problem_of(made, made.inventory.clusters[0], Limits(), **more)  # type: ignore[arg-type]


def sizes(of: Problem, resource: str) -> dict[str, float]:
    """What each VM takes of a resource, by name."""
    each = of.resources.index(resource)
    return {vm.name: size for vm, size in zip(of.vms, of.sizes[:, each].tolist(), strict=True)}


def test_what_a_vm_takes_and_what_it_reserves_are_apart() -> None:
    cpu = sizes(problem(crooked()), "cpu")
    assert cpu == {"app": 1000, "db": 5000, "fixed": 900, "beside": 700, "files": 1300, "idle": 100}
    consumed = problem(crooked(), memory="consumed")
    gib = {name: size / GIB for name, size in sizes(consumed, "memory").items()}
    assert gib == {"app": 20, "db": 33, "fixed": 5, "beside": 8, "files": 11, "idle": 1}
    assert sizes(consumed, "reserved_cpu")["app"] == 3000
    assert sizes(consumed, "reserved_memory")["app"] == 31 * GIB
    # the limits are for demand: of 100 GiB the hypervisor of host one has 7
    one = [host.name for host in consumed.hosts].index("one")
    rooms = dict(zip(consumed.resources, consumed.rooms[one].tolist(), strict=True))
    assert (rooms["cpu"], rooms["reserved_cpu"]) == (12_800, 16_000)
    assert (rooms["memory"] / GIB, rooms["reserved_memory"] / GIB) == pytest.approx((83, 93))


def test_a_plan_leaves_a_reservation_room() -> None:
    # of 16 GHz, app reserves 3
    for ghz, broken in ((13, []), (14, ["one has 17000 of 16000 reserved_cpu"])):
        of = problem(crooked(vms__db__memory="40 GiB", vms__db__reservation=f"{ghz} GHz"))
        together = of.at.copy()
        names = [vm.name for vm in of.vms]
        together[names.index("db")] = of.at[names.index("app")]
        assert of.broken(together) == broken


def test_a_new_vm_without_a_demand_takes_the_mean_of_its_vcpus() -> None:
    known = problem(crooked())
    wide = AskedVm(vcpus=8, memory_bytes=GIB, mhz=None)
    # 9 GHz of 20 vCPUs
    assert sizes(place.with_new(known, {"new": wide}), "cpu")["new"] == pytest.approx(8 * 9_000 / 20)


def test_a_vm_needs_the_data_of_all_its_policies() -> None:
    made = crooked()
    found = unreadable(made, problem(made), ["many-1", "many-2"])
    # one disk has three copies and survives both, the other has two
    assert list(found.values()) == ["data of pool mesh, which survives 1 failure"]
    assert unreadable(made, problem(made), ["many-1"]) == {}


def test_vcpus_of_an_appliance_have_cores_too() -> None:
    decided, _ = applied(crooked(), only="one-vcpu-per-core", given=["db"])
    assert decided.rooms[:, decided.resources.index("cores")].tolist() == [10, 10, 10, 8, 12 - 3]


def test_migrations_of_one_host_share_its_link() -> None:
    made = crooked()
    of = problem(made)
    vm = {each.name: number for number, each in enumerate(of.vms)}
    host = {each.name: number for number, each in enumerate(of.hosts)}
    both = [(vm["fixed"], host["many-1"], host["one"]), (vm["beside"], host["many-1"], host["two"])]
    # 10 Gb/s for both, 3 s before and 0.4 s after
    found = Migrations(of, made).seconds(both)
    # the second has the link for itself once the first, of 6 GiB, has ended
    shared = 6 * GIB / (1.25e9 / 2)
    assert found == pytest.approx([3.4 + shared, 3.4 + shared + 3 * GIB / 1.25e9])
    assert Migrations(of, made).seconds(both[1:]) == pytest.approx([3.4 + 9 * GIB / 1.25e9])


def test_more_of_a_host_has_the_same_limits_before_and_after_a_failure() -> None:
    made = crooked()
    of = problem_of(made, made.inventory.clusters[0], Limits(memory=0.8), failover=Limits(memory=0.95))
    one, each = [host.name for host in of.hosts].index("one"), of.resources.index("memory")
    rooms = [of.rooms[one, each] / GIB, of.failover[one, each] / GIB]
    assert rooms == pytest.approx([80 - 7, 95 - 7])
    larger = fixes._enlarged(of, [one], gib=10, cores=0)
    rooms = [larger.rooms[one, each] / GIB, larger.failover[one, each] / GIB]
    assert rooms == pytest.approx([1.1 * 73, 1.1 * 88])


def ha(made: Scenario, policy: str) -> dict[str, object]:
    said = {"enabled": True, "admission": True, "failures": 2, "policy": "fdm", "admission_policy": policy}
    data = scenario.load(made, {f"clusters.default.ha.{key}": value for key, value in said.items()})
    found: dict[str, object] = hypertwin.capacity(data, failures=1)["clusters"]["default"]["ha"]
    return found


def test_admission_control_keeps_what_it_is_set_to() -> None:
    # two of five hosts, although the question is about one
    assert ha(crooked(), "percentage")["keeps_pct"] == pytest.approx(40)


def test_slots_are_of_the_memory_that_hypervisors_leave() -> None:
    # a slot is what app reserves, 3 GHz and 31 GiB, and what ESXi takes for it
    slot = 31 * GIB + _core.memory_overhead("esxi-8.0", 40 * GIB, 4)
    appliance = _core.memory_overhead("esxi-8.0", 24 * GIB, 3)
    by_memory = [(93 * GIB) // slot, (149 * GIB - appliance) // slot, *[(125 * GIB) // slot] * 3]
    by_cpu = [16_000 // 3_000, (36_000 - 32) // 3_000, *[25_000 // 3_000] * 3]
    assert (by_memory, by_cpu) == ([2, 4, 3, 3, 3], [5, 11, 8, 8, 8])
    assert ha(crooked(), "slots")["slots"] == 2 + 4 + 3 * 3


def test_no_workload_wants_more_than_its_vcpus() -> None:
    made = crooked(measured=False, vms__app__load=20)
    # app wants ten cores of 2 GHz and has four vCPUs; others half a core: two at 3 GHz, three at 2.5, files at 1
    wanted = 8_000 + 2 * 1_500 + 3 * 1_250 + 500
    found = hypertwin.capacity(made)["clusters"]["default"]
    assert found["cpu_usage_pct"] == pytest.approx(100 * wanted / CAPACITY_MHZ)


def test_what_hosts_were_measured_at_is_not_all_of_vms() -> None:
    usage = {"one": 40, "two": 50, "many": 30}
    made = crooked(measured=False, **{f"hosts__{name}__measured__memory_usage_pct": pct for name, pct in usage.items()})
    state = State.of(made, made.inventory.clusters[0], Limits())
    # 40, 80 and 3 x 39 GiB, of which hypervisors have 7, 11 and 3 x 5; VMs take what they have at most
    most = {vm.name: vm.memory_bytes / GIB for vm in state.vms}
    taken = {name: size / GIB for name, size in state.used["memory_consumed"].items()}
    there = {host.name: sum(taken[vm.name] for vm in state.vms if vm.host == host.name) for host in state.hosts}
    left = {"one": 40 - 7, "two": 80 - 11} | {f"many-{number}": 39 - 5 for number in (1, 2, 3)}
    can = {host: sum(most[vm.name] for vm in state.vms if vm.host == host) for host in left}
    assert there == pytest.approx({host: min(size, can[host]) for host, size in left.items()})


def test_memory_that_a_host_lacks_has_the_hypervisors() -> None:
    case = Case.of(Evidence({}, None, []), crooked(vms__app__memory="99 GiB"))
    (one,) = [host for host in case.hosts if host.key == "one"]
    # 99 of app and 7 of its own, of 95 % of 100 GiB
    assert memory.missing(case, one) / GIB == pytest.approx(11)
    # 11 / 0.95 = 11.6 GiB
    assert memory.more_memory(case, one) == (
        "give one 12 GiB more memory",
        {"hosts.one.memory_per_node": "112 GiB"},
    )


def test_a_vm_is_as_busy_as_its_host_is_fast() -> None:
    spread = ("mean", "least", "most", "low", "seldom", "median", "often", "high")
    stats = {
        (f"host/{host}/vm/{vm}", "demand_mhz"): Stat(count=9, first_us=0, last_us=9, **dict.fromkeys(spread, 4_000.0))
        for host, vm in (("one", "app"), ("two", "db"))
    }
    case = Case.of(Evidence(stats, None, []), crooked())
    busy = {vm.name: case.busy(vm) for vm in case.vms if vm.name in ("app", "db")}
    # a half of 4 vCPUs of 2 GHz, a sixth of 8 of 3 GHz
    assert {name: each and each.stat.mean for name, each in busy.items()} == pytest.approx({"app": 50, "db": 100 / 6})


def test_vcpus_that_wait_for_each_other_wait_too() -> None:
    shares = {"app": (4, 7.0, 5.0), "db": (8, 2.0, 20.0)}
    keys = ("vcpus", "waiting_pct", "costop_pct")
    vms = {name: dict(zip(keys, values, strict=True)) for name, values in shares.items()}
    found = what_if._figures({"hosts": {}, "vms": vms}, Remedy((), ()), {})  # type: ignore[typeddict-item]
    assert found["waiting_vcpus"] == pytest.approx(4 * 0.12 + 8 * 0.22)


def test_a_cluster_is_as_busy_as_its_cycles() -> None:
    usage = {"one": 80, "two": 20, "many": 10}
    made = crooked(**{f"hosts__{name}__measured__cpu_usage_pct": pct for name, pct in usage.items()})
    (cluster,) = diagnose(cluster=made, simulate=False).document["clusters"]
    cycles = 80 * 16 + 20 * 36 + 3 * 10 * 25
    assert cluster["cpu_pct"] == pytest.approx(cycles / 127, abs=0.051)


def test_new_vms_come_beside_a_host_that_is_above_its_limit_after_a_failure() -> None:
    # db takes 20 of 36 GHz of `two`: within 80 %, above 50 %; it stays down when `two` fails
    made = crooked(vms__db__measured__cpu_p95_mhz=20_000, vms__db__restart_priority="disabled")
    document = planning.plan_place(made, vm="1x1GiB", failover_cpu="50%").document
    assert (document["feasible"], len(document["moves"])) == (True, 1)
