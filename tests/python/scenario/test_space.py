"""The room of pools, against sums by hand and against filling domains byte by byte."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from hypertwin import scenario
from hypertwin.documents.space import Space
from hypertwin.scenario import space
from hypertwin.show import room as report

TB = 1e12 / 2**30
"""A terabyte in GiB."""

OSA = {"vsan": {"architecture": "osa"}, "flash": {"kind": "nvme", "per_node": 2, "capacity": "1 TB"}}
"""A pool of vSAN whose RAID-5 is 3+1."""


def room(pool: dict[str, Any], hosts: int = 4, **more: Any) -> Space:
    """The room of a pool of hosts with ten disks of 1 TB; of `vms` with a disk of 1 TB each, by policy."""
    disks = {"devices": {"kind": "nvme", "per_node": 10, "capacity": "1 TB"}}
    counts = more.get("vms", {})
    vms = {
        f"vm{index}": {"count": count, "vcpus": 1, "memory": "1 GiB", "storage": "pool", "workload": "io"}
        | {"vdisks": 1}
        | ({"policy": policy} if policy else {})
        | more.get("machine", {})
        for index, (policy, count) in enumerate(counts.items())
    }
    text = {
        "name": "one",
        "hosts": {
            "node": {"count": hosts, "sockets": 1, "cores_per_socket": 16, "clock": "2 GHz"}
            | {"memory_per_node": "128 GiB", "hypervisor": "linux-6.6"}
        },
        "storage": {"pool": {"nodes": "node", **disks, **pool}},
        "vms": vms or {"idle": {"vcpus": 1, "memory": "1 GiB", "workload": "io"}},
        "workloads": {
            "io": {"arrivals": {"io": {}}, "cpu": {"mean": "5 us"}, "working_set": "1 TB", **more.get("copies", {})}
        }
        if vms
        else {"io": {"arrivals": {"closed": {"population": 1}}, "cpu": {"mean": "1 ms"}}},
    }
    return space.spaces(scenario.loads(json.dumps(text)))["pool"]


def test_ceph_is_usable_to_nearfull_with_a_host_lost() -> None:
    found = room({"kind": "ceph", "stored": "8 TB"})
    assert found["raw_gib"] == pytest.approx(40 * TB)
    assert found["full_pct"] == 85
    assert found["room_gib"] == pytest.approx(0.85 * 30 / 3 * TB)  # three hosts are left, three copies
    assert found["used_pct"] == pytest.approx(100 * 24 / 40)
    assert found["free_gib"] == pytest.approx(0.5 * TB)
    lost = found["lost_host"]
    assert (lost["survives"], lost["heals"], lost["used_pct"]) == (True, True, pytest.approx(80))
    assert lost["room_gib"] == pytest.approx(0.85 * 30 / 3 * TB)  # of three hosts none can be lost and made good
    assert room({"kind": "ceph", "stored": "8 TB", "ceph": {"nearfull_pct": 50}})["free_gib"] == 0


def test_recovery_stops_on_full_devices_and_leaves_data_degraded() -> None:
    ceph = room({"kind": "ceph", "stored": "8.9 TB"})  # 26.7 of 30 TB then
    assert (ceph["lost_host"]["heals"], ceph["lost_host"]["used_pct"]) == (True, pytest.approx(89))
    assert report.notes({"c": ceph})[0].endswith(
        "If a host fails for good, it recovers with devices 89 % full: too full."
    )
    for pool, most, data in (({"kind": "ceph"}, 90, "9.1 TB"), ({"kind": "vsan"}, 100, "15.1 TB")):
        found = room({**pool, "stored": data})
        lost = found["lost_host"]
        assert (lost["survives"], lost["heals"], lost["room_gib"]) == (True, False, None)
        assert lost["used_pct"] == pytest.approx(most)
        assert report.after_a_host(found, found["policies"][0]) == "stays degraded"
        (note,) = report.notes({"c": found})
        assert "minus the space to rebuild a lost host's data" in note
        assert note.endswith(f"If a host fails for good, it stays degraded: recovery stops with devices {most} % full.")
    # Ceph stops backfill at nearfull at the earliest
    late = {"kind": "ceph", "ceph": {"nearfull_pct": 95}, "stored": "9.1 TB"}
    assert room(late)["lost_host"]["heals"]
    # hosts lack, and not the space
    few = room({"kind": "ceph", "stored": "9 TB"}, hosts=3)
    assert report.notes({"c": few})[0].endswith("too few hosts remain for every replica or fragment.")


def test_a_pool_with_no_host_to_spare_stays_degraded() -> None:
    found = room({"kind": "ceph", "stored": "4 TB"}, hosts=3)
    assert found["room_gib"] == pytest.approx(0.85 * 10 * TB)
    lost = found["lost_host"]
    assert (lost["survives"], lost["heals"], lost["room_gib"], lost["used_pct"]) == (True, False, None, 40)


def test_vsan_keeps_a_host_and_its_operations_reserve() -> None:
    found = room({"kind": "vsan"})
    assert found["room_gib"] == pytest.approx(0.9 * 30 / 2 * TB)
    # two replicas and a witness need three hosts, unless the witness is elsewhere
    assert not room({"kind": "vsan"}, hosts=3)["lost_host"]["heals"]
    assert room({"kind": "vsan"}, hosts=4)["lost_host"]["heals"]
    assert room({"kind": "vsan", "vsan": {"witness": True}}, hosts=3)["lost_host"]["heals"]
    for hosts, heals in ((5, False), (6, True)):
        assert room({"kind": "vsan", "redundancy": "replicas-3"}, hosts=hosts)["lost_host"]["heals"] is heals
    sites = {"failure_domain": "rack", "racks": 2, "vsan": {"witness": True}}
    stretched = room({"kind": "vsan", **sites}, hosts=6)
    assert stretched["lost_host"]["heals"]  # within its site; the witness of both is elsewhere
    assert stretched["room_gib"] == pytest.approx(0.9 * 20 * TB)


@pytest.mark.parametrize(
    ("copies", "ends"), [({}, 1), ({"write_to": "pool"}, 2), ({"read_from": "pool", "write_to": "pool"}, 2)]
)
def test_a_copy_is_stored_at_both_ends(copies: dict[str, str], ends: int) -> None:
    found = room({"kind": "ceph"}, vms={"": 3}, copies=copies)
    assert found["stored_gib"] == pytest.approx(3 * ends * TB)


def test_each_policy_counts_with_its_own_overhead() -> None:
    policies = {"raid-5": {"redundancy": "raid-5"}, "none": {"redundancy": "replicas-1"}}
    found = room({"kind": "vsan", **OSA, "policies": policies}, hosts=5, vms={None: 2, "raid-5": 3})
    own, none, raid = found["policies"]
    assert [each["name"] for each in (own, none, raid)] == [space.OWN, "none", "raid-5"]
    assert (own["stored_gib"], raid["stored_gib"]) == (pytest.approx(2 * TB), pytest.approx(3 * TB))
    raw = 2 * 2 + 3 * 4 / 3
    assert found["used_pct"] == pytest.approx(100 * raw / 50)
    free = 0.9 * 40 - raw
    assert [each["free_gib"] / TB for each in (own, none, raid)] == pytest.approx([free / 2, free, free * 3 / 4])
    stored = room({"kind": "vsan", **OSA, "policies": policies, "stored": "10 TB"}, hosts=5, vms={None: 2, "raid-5": 3})
    assert [each["stored_gib"] / TB for each in stored["policies"]] == pytest.approx([4, 0, 6])


def test_virtual_disks_of_one_vm_count_with_the_policies_that_are_dealt_to_them() -> None:
    policies = {"raid-1": {"redundancy": "raid-1"}, "raid-5": {"redundancy": "raid-5"}}
    dealt = {"vdisks": 3, "vdisk_policies": ["raid-1", "raid-5"]}
    found = room({"kind": "vsan", **OSA, "policies": policies}, vms={"": 2}, machine=dealt)
    assert [each["stored_gib"] / TB for each in found["policies"]] == pytest.approx([0, 4, 2])
    assert found["used_pct"] == pytest.approx(100 * (4 * 2 + 2 * 4 / 3) / 40)
    # what a copy writes to a named pool has no policy
    copied = room(
        {"kind": "vsan", **OSA, "policies": policies}, vms={"": 2}, machine=dealt, copies={"write_to": "pool"}
    )
    assert [each["stored_gib"] / TB for each in copied["policies"]] == pytest.approx([6, 4, 2])


def test_each_policy_heals_by_itself_and_the_worst_is_told():
    policies = {"raid-6": {"redundancy": "ec-4+2"}, "raid-5": {"redundancy": "ec-2+1"}}
    pool = {"kind": "vsan", "policies": policies}
    found = room(pool, hosts=6, vms={None: 3, "raid-6": 2})
    assert [(each["name"], each["heals"]) for each in found["policies"]] == [
        *((space.OWN, True), ("raid-5", True), ("raid-6", False)),
    ]
    assert not found["lost_host"]["heals"]
    whole, degraded = 3 * 2, 2 * 6 / 4  # TB with copies and parity
    left = degraded * 5 / 6  # what the other hosts have of it
    assert found["lost_host"]["used_pct"] == pytest.approx(100 * (whole + left) / 50)
    assert found["used_pct"] == pytest.approx(100 * (whole + degraded) / 60)
    free = {each["name"]: each["free_gib"] / TB for each in found["policies"]}
    assert free[space.OWN] == pytest.approx((0.9 * 50 - whole - left) / 2)  # all of it is made anew on five hosts
    assert free["raid-6"] == pytest.approx(min(0.9 * 60 - whole - degraded, (0.9 * 50 - whole - left) * 6 / 5) * 4 / 6)
    words = [report.after_a_host(found, each) for each in found["policies"]]
    assert words == ["recovered", "recovered", "stays degraded"]
    (said,) = report.notes({"vsan": found})
    assert "to rebuild a lost host's data of replicas-2. If a host fails for good, data of raid-6 stay degraded" in said
    assert said.endswith(" Other data recover with devices 17 % full.")
    idle = room(pool, hosts=6, vms={None: 3})
    assert idle["lost_host"]["heals"]  # nothing is stored by raid-6
    assert idle["free_gib"] == pytest.approx((0.9 * 50 - 6) / 2 * TB)


@pytest.mark.parametrize("domain", ["host", "disk", "rack"])
def test_a_pool_of_one_host_is_lost_with_it(domain: str) -> None:
    found = room({"kind": "ceph", "redundancy": "replicas-1", "failure_domain": domain, "stored": "1 TB"}, hosts=1)
    assert found["room_gib"] == pytest.approx(0.85 * 10 * TB)
    lost = found["lost_host"]
    assert (lost["survives"], lost["heals"], lost["room_gib"]) == (False, False, None)


def test_disks_as_domains_promise_nothing_for_a_host() -> None:
    assert not room({"kind": "ceph", "failure_domain": "disk"})["lost_host"]["survives"]


def test_the_smallest_rack_says_what_a_lost_host_leaves() -> None:
    found = room({"kind": "ceph", "failure_domain": "rack", "racks": 3}, hosts=7)  # racks of three, two and two
    assert found["lost_host"]["heals"]
    assert found["room_gib"] == pytest.approx(0.85 * 10 * TB)  # a copy in each rack, one of which has a host left


@pytest.mark.parametrize("seed", range(20))
def test_capacity_is_what_filling_the_emptiest_domains_gives(seed: int) -> None:
    draw = random.Random(seed)
    sizes = [draw.randint(1, 30) for _ in range(draw.randint(1, 7))]
    width = draw.randint(1, 4)
    free, pieces = list(sizes), 0
    while len(free) >= width:  # each piece goes to the domains with the most free: no other order places more
        free.sort(reverse=True)
        if free[width - 1] < 1:
            break
        free[:width] = [each - 1 for each in free[:width]]
        pieces += 1
    found = space.capacity(sizes, width)
    assert pieces * width <= found + 1e-9 < (pieces + 1) * width
