"""What limits the I/O of points is said once for points that are alike, and says what the station is."""

from __future__ import annotations

import pytest

from hypertwin.show import stations


def point(depth, station="db-controllers", pct=50.0, behind=("san-disks", 20.0), waits_for=None, full=None, **settings):
    found = {
        "station": station,
        "utilization_pct": pct,
        "saturated": pct >= 90,
        "next_station": behind and behind[0],
        "next_utilization_pct": behind and behind[1],
        "binding_depth": waits_for,
    }
    return {
        "set": {"workloads.fio.arrivals.io.outstanding": depth, **settings},
        "bottleneck": found,
        "storage": {station: {"members": 2, "utilization_max_pct": 99.9}},
        "judgement": {
            "limits": {"db": {"of": full, "value_pct": None if full == waits_for else 99.9}},
            **({"full_station": full} if full else {}),
        },
    }


def test_points_in_a_row_with_the_same_bottleneck_share_a_sentence():
    points = [
        *(point(depth, pct=20.0 * depth) for depth in (1, 2, 3)),
        point(8, pct=99.6),
        point(16, "san-disks", 95, None, "db-ring"),
        *(point(depth, pct=100.0) for depth in (32, 64)),
    ]
    assert stations.bottlenecks(points) == [
        "Bottleneck (outstanding 1 to 3): db-controllers at 20 to 60 % is the busiest, and not saturated;"
        " next san-disks at 20 %.",
        "Bottleneck (outstanding 8): db-controllers at 100 % limits I/O; next san-disks at 20 %.",
        "Bottleneck (outstanding 16): san-disks at 95 % limits I/O; I/Os wait for db-ring.",
        "Bottleneck (outstanding 32): db-controllers at 100 % limits I/O; next san-disks at 20 %.",
        "Bottleneck (outstanding 64): db-controllers at 100 % limits I/O; next san-disks at 20 %.",
        "db-controllers: the hypervisor's threads that work for virtual controllers;"
        " san-disks: the disks of the array, or of the host; db-ring: queue depth of virtual controllers.",
    ]


def test_a_station_of_which_one_member_is_full_is_not_called_idle():
    full = [point(depth, "esx-ports", 50 + depth, None, full="esx-ports") for depth in (1, 2, 3)]
    assert stations.bottlenecks(
        [*full, point(4, "esx-ports", 95, None, full="esx-ports"), point(5, "esx-ports", 60, None)]
    ) == [
        "Bottleneck (outstanding 1 to 3): esx-ports at 51 to 53 % is the busiest; one of its 2 is at 100 %, and limits"
        " I/O.",
        "Bottleneck (outstanding 4): esx-ports at 95 % limits I/O.",
        "Bottleneck (outstanding 5): esx-ports at 60 % is the busiest, and not saturated.",
        "esx-ports: the host's ports to the storage.",
    ]


def test_a_full_member_of_another_station_is_named_too():
    one = point(1, "vsan-devices", 44, ("vsan-network", 40.0), full="vsan-network")
    one["storage"]["vsan-network"] = {"members": 8, "utilization_max_pct": 99.8}
    assert stations.bottlenecks([one])[0] == (
        "Bottleneck: vsan-devices at 44 % is the busiest; one of the 8 of vsan-network is at 100 %, and limits I/O."
    )


def test_a_queue_depth_that_holds_ios_is_named_once():
    one = point(1, "san-disks", 44, None, waits_for="esx-lun-depth", full="esx-lun-depth")
    assert stations.bottlenecks([one])[0] == (
        "Bottleneck: san-disks at 44 % is the busiest, and not saturated; I/Os wait for esx-lun-depth."
    )


def test_the_depth_of_another_group_is_named_too():
    one = point(1, "san-disks", 44, None, waits_for="a-ring", full="b-ring")
    one["judgement"]["limits"]["db"]["value_pct"] = None
    assert stations.bottlenecks([one])[0] == (
        "Bottleneck: san-disks at 44 % is the busiest, and not saturated; I/Os wait for a-ring and b-ring."
    )


def test_points_that_are_told_apart_by_words_are_named():
    (said, _) = stations.bottlenecks([point(drive) for drive in ("P4610", "PM983", "970-PRO")])
    assert said.startswith("Bottleneck (outstanding P4610, PM983, 970-PRO): db-controllers at 50 %")


def test_points_of_several_paths_are_told_one_by_one():
    points = [point(depth, pct=100.0, **{"vms.db.vcpus": vcpus}) for depth in (1, 2) for vcpus in (2, 4)]
    assert [each.partition(":")[0] for each in stations.bottlenecks(points)][:4] == [
        f"Bottleneck (outstanding {depth}, vcpus {vcpus})" for depth in (1, 2) for vcpus in (2, 4)
    ]


def test_points_without_io_are_not_told_of_and_part_those_beside_them():
    idle = point(2, pct=0.2)
    assert stations.bottlenecks([idle, {**idle, "bottleneck": None}]) == []
    said = stations.bottlenecks([point(1), idle, point(4), point(8)])
    assert [each.partition(" at ")[0] for each in said[:-1]] == [
        f"Bottleneck (outstanding {depth}): db-controllers" for depth in (1, 4, 8)
    ]


def test_of_many_points_some_are_left_to_the_json_form():
    points = [point(depth, f"{'ab'[depth % 2]}-disks", 100.0) for depth in range(20)]
    assert stations.bottlenecks(points)[12] == "8 more points have a bottleneck in the JSON form."


@pytest.mark.parametrize(
    ("station", "said"),
    [
        ("pool-client-network", "pool-client-network: the network of the pool's clients."),
        ("esx-1-port-depth", "esx-1-port-depth: queue depth of a host on a port."),
        ("x-unheard-of", None),
    ],
)
def test_a_station_is_explained_by_the_end_of_its_name(station, said):
    assert stations.bottlenecks([point(1, station, 95, None)])[1:] == ([said] if said else [])
