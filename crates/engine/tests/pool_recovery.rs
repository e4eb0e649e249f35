//! What happens to the data of a pool after failures and changes: who is waited for and how long, what is copied where,
//! and what that leaves to clients.

use crate::support;

use hypertwin_engine::{IncidentReport, MemberView, Replication, watched_run};
use serde_json::{Value, json};
use support::{host, merge, parse, vm};

/// `nodes` hosts with two flash disks each, and a generator of 4 KiB reads on another host; `more` is merged over it.
fn base(kind: &str, nodes: u32, more: Value) -> Value {
    let mut node = host("linux-6.6", 1, 8, 1);
    node["count"] = json!(nodes);
    node["network"] = json!({"ports": 1, "bandwidth": "2 GB/s", "latency": "20 us"});
    let mut other = node.clone();
    other["count"] = json!(1);
    let machine = vm(
        2,
        "w",
        json!({"storage": "pool", "controller": "virtio-blk", "vdisks": 1, "host": "other"}),
    );
    let mut text = json!({
        "name": "recovery", "run": {"duration": "6 s", "warmup": "0 s", "sample_interval": "1 s"},
        "hosts": {"node": node, "other": other}, "vms": {"v": machine},
        "workloads": {"w": {
            "arrivals": {"io": {"outstanding": 4, "rate": "200 /s"}}, "cpu": {"mean": 0, "cv": 0},
            "working_set": "1 GiB", "block": "4 KiB",
        }},
        "storage": {"pool": {
            "kind": kind, "nodes": "node", "deployment": "mixed", "stored": "1 GiB", "chunk": "1 MiB",
            "devices": {"kind": "nvme", "per_node": 2, "capacity": "1 TB"},
        }},
    });
    merge(&mut text, more);
    text
}

/// The run, and the members of all groups when it ends.
fn end_of(text: &Value) -> (Replication, Vec<MemberView>) {
    let scenario = parse(text);
    let mut members = Vec::new();
    let result = watched_run(&scenario, 1, |view| {
        if view.now() > scenario.run.duration.or_zero().nanos() - 20_000_000 {
            members = view.members(0).collect();
        }
    });
    (result.unwrap(), members)
}

/// Bytes on each of `devices`.
fn space(members: &[MemberView], devices: usize) -> Vec<f64> {
    let mut space = vec![0.0; devices];
    members
        .iter()
        .for_each(|member| space[member.device] += (member.bytes - member.due) as f64);
    space
}

#[test]
fn devices_that_join_get_their_part_by_capacity_and_nobody_waits_for_it() {
    let (node, disk) = (
        json!({"at": "1 s", "add": "node-6"}),
        json!({"at": "1 s", "add": "node-2/disk-1"}),
    );
    let cases = [
        ("mirrored-mesh", json!([node])),
        ("chunk-store", json!([disk])),
        ("vsan", json!([node])),
        ("ceph", json!([node])),
        ("ceph", json!([node, disk])),
    ];
    for (kind, events) in cases {
        let is_one = events.as_array().unwrap().len() == 1;
        let has = |device: usize| match device {
            15.. => events.to_string().contains("node-6"),
            3 => events.to_string().contains("disk-1"),
            _ => true,
        };
        let text = base(
            kind,
            6,
            json!({
                "storage": {"pool": {
                    "redundancy": "replicas-2",
                    "more_devices": [{"kind": "nvme", "per_node": 1, "capacity": "500 GB"}],
                }},
                "hosts": {"node": {"count": if has(15) { 6 } else { 5 }}},
                "events": events,
            }),
        );
        let (result, members) = end_of(&text);
        let pool = &result.pools[0];
        let space = space(&members, 18);
        let all: f64 = space.iter().sum();
        assert_eq!(
            all,
            members.iter().map(|member| member.bytes as f64).sum::<f64>(),
            "{kind}"
        );
        let capacity = |device: usize| match device {
            15.. if !has(15) => 0.0,
            _ if device % 3 == 2 => 0.5,
            _ => 1.0,
        };
        let each = all / (0..18).map(capacity).sum::<f64>();
        for (device, bytes) in space.iter().enumerate() {
            let part = each * capacity(device);
            assert!(
                (bytes - part).abs() <= 0.1 * part,
                "{kind}: device {device} of {space:?}"
            );
        }
        // only what the new devices have was copied, each byte once
        let new: &[usize] = if has(15) { &[15, 16, 17] } else { &[3] };
        let moved: f64 = new.iter().map(|&device| space[device]).sum();
        assert!(!is_one || pool.count.rebuilt as f64 == moved, "{kind}");
        assert_eq!(pool.count.rebuild_read, pool.count.rebuilt, "{kind}");
        let incident = pool.report.incidents.last().unwrap();
        assert!(!incident.fails && incident.degraded_pct == 0.0, "{kind}: {incident:?}");
        assert!(
            incident.whole_after_s.is_some_and(|time| time > 0.0),
            "{kind}: {incident:?}"
        );
        assert_eq!((pool.count.retries, pool.report.suspended_ios), (0, 0.0), "{kind}");
    }
}

#[test]
fn a_disk_that_comes_back_empty_is_filled_and_one_with_its_data_is_not() {
    for kind in ["chunk-store", "ceph", "vsan"] {
        let rebuilt = |empty: bool| {
            let text = base(
                kind,
                4,
                json!({
                    "storage": {"pool": {"rebuild": {"delay": "1 h"}}},
                    "workloads": {"w": {"read_pct": 100}},
                    "failures": [{"at": "1 s", "fails": ["node-1/disk-1"], "returns": "2 s", "empty": empty}],
                }),
            );
            let (result, members) = end_of(&text);
            let on_it: u64 = members
                .iter()
                .filter(|member| member.device == 0)
                .map(|member| member.bytes)
                .sum();
            assert!(members.iter().all(|member| member.due == 0 && member.up), "{kind}");
            (result.pools[0].count.rebuilt, on_it)
        };
        let (bytes, on_it) = rebuilt(true);
        // of vSAN nobody waits for a failed disk: its data are elsewhere when it is back
        assert!(
            bytes > 0 && (bytes == on_it || kind == "vsan"),
            "{kind}: {bytes} of {on_it}"
        );
        assert!(rebuilt(false).0 == 0 || kind == "vsan", "{kind}");
    }
}

#[test]
fn what_all_copies_were_lost_of_is_lost_when_the_disks_are_back_empty() {
    let text = base(
        "chunk-store",
        2,
        json!({
            "storage": {"pool": {"redundancy": "replicas-2:1", "failure_domain": "host", "rebuild": {"delay": "1 h"}}},
            "failures": [{"at": "1 s", "fails": ["node-1", "node-2"], "returns": "2 s", "empty": true}],
        }),
    );
    let (result, members) = end_of(&text);
    let stored: u64 = members.iter().map(|member| member.bytes).sum();
    assert_eq!(result.pools[0].count.lost, stored / 2);
}

#[test]
fn clients_of_ceph_wait_for_a_dead_host_until_the_grace_is_over_and_not_for_a_dead_disk() {
    let longest_ms = |what: &str| {
        let text = base(
            "ceph",
            4,
            json!({
                "run": {"duration": "8 s"}, "storage": {"pool": {"client": {"timeout": "3 s"}}},
                "workloads": {"w": {"read_pct": 0}},
                "failures": [{"at": "1 s", "fails": [what]}],
            }),
        );
        let (result, _) = end_of(&text);
        result.vms[0].io.as_ref().unwrap().latencies[1].max() as f64 / 1e6
    };
    let host = longest_ms("node-1");
    assert!((2_000.0..4_100.0).contains(&host), "{host} ms");
    let disk = longest_ms("node-1/disk-1");
    assert!(disk < 1_100.0, "{disk} ms");
}

/// Members that are on other devices at the end than those of node `node`.
fn replaced(text: &Value, node: usize) -> bool {
    let (_, members) = end_of(text);
    members.iter().all(|member| member.device / 2 != node)
}

#[test]
fn ceph_marks_nothing_out_that_leaves_too_little_nor_a_whole_rack() {
    let failing = |nodes: u32, racks: u32, fails: Value| {
        base(
            "ceph",
            nodes,
            json!({
                "storage": {"pool": {"rebuild": {"delay": "500 ms"}, "client": {"timeout": "100 ms"}, "racks": racks}},
                "failures": [{"at": "1 s", "fails": fails}],
            }),
        )
    };
    assert!(replaced(&failing(5, 1, json!(["node-1"])), 0), "80 % are left");
    assert!(
        !replaced(&failing(3, 1, json!(["node-1"])), 0),
        "two thirds would be left"
    );
    assert!(
        replaced(&failing(8, 2, json!(["node-1"])), 0),
        "one of four nodes of its rack"
    );
    assert!(!replaced(&failing(8, 8, json!(["node-1"])), 0), "all of its rack");
}

/// Two copies on 8 hosts of two small devices: 7 are left, and of Ceph 90 % of them.
#[test]
fn data_that_find_no_space_stay_degraded() {
    for (kind, full) in [
        ("mirrored-mesh", 1.0),
        ("chunk-store", 1.0),
        ("vsan", 1.0),
        ("ceph", 0.9),
    ] {
        for (used, is_whole) in [(0.6, true), (0.97 * full, false)] {
            let stored = used * 16.0 * 1024.0 / 2.0;
            let text = base(
                kind,
                8,
                json!({
                    "run": {"duration": "40 s"},
                    "storage": {"pool": {
                        "stored": format!("{} KiB", (stored * 1024.0) as u64), "redundancy": "replicas-2",
                        "devices": {"capacity": "1 GiB"}, "rebuild": {"delay": "100 ms"}, "client": {"timeout": "100 ms"},
                    }},
                    "workloads": {"w": {"working_set": "16 MiB"}},
                    "failures": [{"at": "1 s", "fails": ["node-1"]}],
                }),
            );
            let (result, members) = end_of(&text);
            let end = &result.pools[0].report.incidents[0];
            assert_eq!(end.whole_after_s.is_some(), is_whole, "{kind} {used}: {end:?}");
            let bytes = members.iter().fold(vec![0.0; 16], |mut sum, member| {
                sum[member.device] += member.bytes as f64;
                sum
            });
            let fullest = bytes[2..].iter().fold(0.0_f64, |one, &other| one.max(other)) / f64::from(1 << 30);
            assert!(fullest <= full + 1e-9, "{kind} {used}: {fullest}");
        }
    }
}

#[test]
fn ceph_replaces_nothing_before_it_knows_that_a_host_is_away() {
    let after = |duration: &str| {
        let pool = json!({"rebuild": {"delay": "100 ms"}, "client": {"timeout": "3 s"}});
        let more = json!({
            "run": {"duration": duration}, "storage": {"pool": pool}, "failures": [{"at": "1 s", "fails": ["node-1"]}],
        });
        replaced(&base("ceph", 5, more), 0)
    };
    assert!(!after("3500 ms") && after("6 s"), "from 4 s on");
}

#[test]
fn a_failure_ends_when_all_data_are_whole_though_members_still_move() {
    let text = base(
        "ceph",
        5,
        json!({
            "storage": {"pool": {"rebuild": {"delay": "500 ms"}, "client": {"timeout": "100 ms"}}},
            "failures": [{"at": "1 s", "fails": ["node-1"], "returns": "1600 ms", "empty": true}],
        }),
    );
    let mut moved_at = 0;
    let result = watched_run(&parse(&text), 1, |view| {
        if view.members(0).any(|member| member.moves.is_some()) {
            moved_at = view.now();
        }
    });
    let [failure, back] = &result.unwrap().pools[0].report.incidents[..] else {
        panic!("a failure and a return")
    };
    let ends = |one: &IncidentReport| one.time_s + one.whole_after_s.expect("it ended");
    assert!(
        failure.degraded_pct > 0.0 && back.degraded_pct > 0.0,
        "{failure:?} {back:?}"
    );
    assert!((ends(failure) - ends(back)).abs() < 1e-6, "{failure:?} {back:?}");
    assert!(
        ends(failure) < moved_at as f64 / 1e9 - 1.0,
        "{failure:?}: moved until {moved_at}"
    );
}

#[test]
fn a_host_that_ceph_did_without_gets_groups_again() {
    let text = base(
        "ceph",
        5,
        json!({
            "storage": {"pool": {"rebuild": {"delay": "500 ms"}, "client": {"timeout": "100 ms"}}},
            "failures": [{"at": "1 s", "fails": ["node-1"], "returns": "3 s"}],
        }),
    );
    let (_, members) = end_of(&text);
    let space = space(&members, 10);
    let mean = space.iter().sum::<f64>() / 10.0;
    assert!(space.iter().all(|bytes| (bytes / mean - 1.0).abs() < 0.1), "{space:?}");
}

/// What was on a host that comes back is current but for what was written in the meantime: that alone is copied.
#[test]
fn a_host_that_comes_back_has_its_data() {
    let copied_gib = |kind: &str, returns: &str, read_pct: u32, empty: bool| {
        let text = base(
            kind,
            5,
            json!({
                "storage": {"pool": {"rebuild": {"delay": "500 ms"}, "client": {"timeout": "100 ms"}}},
                "run": {"duration": "20 s"},
                "workloads": {"w": {"read_pct": read_pct, "random_pct": 100, "working_set": "16 MiB"}},
                "failures": [{"at": "1 s", "fails": ["node-1"], "returns": returns, "empty": empty}],
            }),
        );
        let (result, members) = end_of(&text);
        let at_home = members.iter().filter(|member| member.device < 2).count();
        let open: Vec<&MemberView> = members
            .iter()
            .filter(|member| !member.up || member.due > 0 || member.moves.is_some())
            .collect();
        assert!(open.is_empty(), "{kind} {returns} {read_pct} {empty}: {open:?}");
        (result.pools[0].count.rebuilt as f64 / f64::from(1 << 30), at_home)
    };
    // all that it had was copied elsewhere in the meantime
    let (once, home) = copied_gib("ceph", "4 s", 100, false);
    let (written, again) = copied_gib("ceph", "4 s", 0, false);
    let (twice, _) = copied_gib("ceph", "4 s", 100, true);
    assert_eq!(home, again, "its groups are home again");
    assert!(home > 0 && once > 0.3, "{once} GiB were copied");
    assert!((once..once + 0.016).contains(&written), "{written} and {once}");
    assert!(twice > 1.8 * once, "{twice} and {once}: an empty host gets all of it");
    // vSAN leaves what is elsewhere by then where it is
    let (all, home) = copied_gib("vsan", "4 s", 100, false);
    assert_eq!(home, 0);
    assert!(all > 0.3, "{all}");
}

/// mClock limits best effort to 90 % of 1,200 MiB/s, an eighth of it in each shard. What moves is that; what is lost is
/// not.
#[test]
fn lost_data_are_no_best_effort() {
    let rate = |more: Value| {
        let mut text = base(
            "ceph",
            5,
            json!({
                "run": {"duration": "4 s"},
                "hosts": {"node": {"network": {"bandwidth": "20 GB/s"}}},
                "storage": {"pool": {
                    "stored": "100 GiB", "chunk": "4 MiB", "redundancy": "replicas-2", "devices": {"per_node": 1},
                    "rebuild": {"delay": "100 ms"}, "client": {"timeout": "10 ms"},
                }},
            }),
        );
        merge(&mut text, more);
        let pool = end_of(&text).0.pools[0].report.clone();
        assert!(pool.due_gib > 0.0, "it is not done");
        pool.rebuild_mb_per_s
    };
    let limit = 0.9 * 1_200.0 * 1.048_576 / 8.0;
    // one job at a time for each of four devices, and for the one that joins
    let lost = rate(json!({"failures": [{"at": "0 s", "fails": ["node-1/disk-1"]}]}));
    let moves = rate(json!({"events": [{"at": "0 s", "add": "node-5"}]}));
    assert!(lost > 1.5 * 4.0 * limit, "{lost} MB/s of {limit} for each");
    assert!(moves < 1.05 * limit, "{moves} MB/s");
}

/// Devices with more than their part of the rebuild decide when it ends, which a part of it tells already.
#[test]
fn a_rebuild_takes_as_long_as_its_beginning_says() {
    let took_s = |duration: &str| {
        let text = base(
            "ceph",
            5,
            json!({
                "run": {"duration": duration},
                "storage": {"pool": {
                    "stored": "400 GiB", "chunk": "4 MiB", "redundancy": "replicas-2", "devices": {"per_node": 4, "kind": "sata-ssd"},
                    "rebuild": {"delay": "100 ms"}, "client": {"timeout": "10 ms"},
                }},
                "failures": [{"at": "0 s", "fails": ["node-1/disk-1"]}],
            }),
        );
        let pool = end_of(&text).0.pools[0].report.clone();
        (pool.time_to_whole_s.expect("it ends"), pool.due_gib == 0.0)
    };
    let ((early_s, has_ended), (all_s, is_whole)) = (took_s("4 s"), took_s("90 s"));
    assert!(!has_ended && is_whole);
    assert!((early_s / all_s - 1.0).abs() < 0.15, "{early_s} s, and {all_s}");
}

/// Of two copies, what is left of one and the other's replacement: neither is given up for less.
#[test]
fn a_copy_that_comes_back_saves_data_and_one_that_is_stale_loses_none() {
    let end = |failures: Value, read_pct: u32| {
        let text = base(
            "ceph",
            5,
            json!({
                "run": {"duration": "20 s"},
                "storage": {"pool": {
                    "redundancy": "replicas-2", "rebuild": {"delay": "500 ms"}, "client": {"timeout": "100 ms"},
                }},
                "workloads": {"w": {"read_pct": read_pct, "random_pct": 100}},
                "failures": failures,
            }),
        );
        end_of(&text).0.pools[0].report.clone()
    };
    // nothing is written while the first is away, and all others that have a copy fail before it is copied elsewhere
    let others = ["node-2", "node-3", "node-4", "node-5"];
    let current = end(
        json!([
            {"at": "1 s", "fails": ["node-1"], "returns": "4 s"},
            {"at": "1520 ms", "fails": others, "returns": "8 s", "empty": true},
        ]),
        100,
    );
    let part = current.lost_gib;
    assert!(part > 0.3 && part < 0.75, "{part} GiB: what node-1 has is there");
    // replacements are away for a moment when the first comes back with less, and come back
    let stale = end(
        json!([
            {"at": "1 s", "fails": ["node-1"], "returns": "8 s"},
            {"at": "7900 ms", "fails": others, "returns": "8500 ms"},
        ]),
        0,
    );
    assert_eq!((stale.lost_gib, stale.degraded_pct), (0.0, 0.0));
    assert_eq!(stale.suspended_ios, 0.0);
}

/// Where a copy and its witness are away, the pool does not appoint another witness, however long that lasts.
#[test]
fn objects_of_vsan_without_votes_wait_for_their_hosts() {
    let text = base(
        "vsan",
        4,
        json!({
            "storage": {"pool": {
                "redundancy": "raid-1", "rebuild": {"delay": "500 ms"}, "client": {"timeout": "100 ms"},
            }},
            "failures": [{"at": "1 s", "fails": ["node-1", "node-2"]}],
        }),
    );
    let report = end_of(&text).0.pools[0].report.clone();
    assert!(report.suspended_ios > 0.0, "{report:?}");
    // those that have votes have no host to go to
    assert!(report.rebuilt_gib == 0.0, "{report:?}");
}

#[test]
fn what_is_overwritten_is_missed_once() {
    for kind in ["mirrored-mesh", "ceph"] {
        let text = base(
            kind,
            4,
            json!({
                "run": {"duration": "20 s"},
                "storage": {"pool": {"rebuild": {"delay": "1 h"}, "client": {"timeout": "100 ms"}}},
                "workloads": {"w": {
                    "arrivals": {"io": {"outstanding": 8, "rate": "4000 /s"}}, "read_pct": 0, "random_pct": 100,
                    "working_set": "64 MiB",
                }},
                "failures": [{"at": "1 s", "fails": ["node-1"], "returns": "16 s"}],
            }),
        );
        let count = end_of(&text).0.pools[0].count;
        let width = if kind == "ceph" { 3.0 } else { 2.0 };
        // 240 MB were written to 67 MB, of which the host has its part
        let most = 67.1e6 * width / 4.0;
        let due = count.due as f64;
        assert!((0.7 * most..1.3 * most).contains(&due), "{kind}: {due} of {most}");
    }
}

#[test]
fn ceph_marks_out_while_three_quarters_are_in() {
    let text = base(
        "ceph",
        3,
        json!({
            "storage": {"pool": {
                "redundancy": "replicas-2", "devices": {"per_node": 4},
                "rebuild": {"delay": "500 ms"}, "client": {"timeout": "100 ms"},
            }},
            "failures": [{"at": "1 s", "fails": ["node-1"]}],
        }),
    );
    // twelve, eleven, ten and nine are in when one is asked for: all four go
    let (_, members) = end_of(&text);
    assert!(members.iter().all(|member| member.device >= 4 && member.due == 0));
}

/// Lost copies are rebuilt where there are hosts for all of them and their witnesses.
#[test]
fn vsan_rebuilds_on_hosts_for_copies_and_witnesses() {
    for (redundancy, hosts, heals) in [
        ("raid-1", 3, false),
        ("raid-1", 4, true),
        ("replicas-3", 5, false),
        ("replicas-3", 6, true),
        ("ec-2+1", 3, false),
        ("ec-2+1", 4, true),
        ("ec-4+1", 5, false),
        ("ec-4+1", 6, true),
    ] {
        let text = base(
            "vsan",
            hosts,
            json!({
                "storage": {"pool": {
                    "redundancy": redundancy, "rebuild": {"delay": "500 ms"}, "client": {"timeout": "100 ms"},
                }},
                "failures": [{"at": "1 s", "fails": ["node-1"]}],
            }),
        );
        let (result, _) = end_of(&text);
        let degraded = result.pools[0].report.degraded_pct;
        assert_eq!(degraded == 0.0, heals, "{redundancy} on {hosts} hosts: {degraded} %");
    }
}

/// One of two copies has a third of the votes: without its witness it stands still.
#[test]
fn copies_of_vsan_without_their_witness_stand_still() {
    for (hosts, witness) in [(3, false), (4, false), (5, false), (6, false), (6, true)] {
        let text = base(
            "vsan",
            hosts,
            json!({
                "storage": {"pool": {
                    "redundancy": "raid-1", "rebuild": {"delay": "1 h"}, "client": {"timeout": "100 ms"},
                    "vsan": {"witness": witness},
                }},
                "failures": [{"at": "1 s", "fails": ["node-1", "node-2"], "returns": "3 s"}],
            }),
        );
        let (result, _) = end_of(&text);
        let report = &result.pools[0].report;
        // of all pairs of hosts, those of three hosts that have a part of a group; with a witness host that of its
        // copies
        let pairs = f64::from(hosts * (hosts - 1) / 2);
        let expected = if witness { 100.0 / pairs } else { 300.0 / pairs };
        let suspended = report.incidents[0].suspended_pct;
        assert!(
            (suspended - expected).abs() <= 0.15 * expected + 2.0,
            "{hosts} hosts: {suspended} %, expected {expected}"
        );
        assert_eq!(report.suspended_ios, 0.0, "all are back");
        assert_eq!(report.degraded_pct, 0.0);
    }
}

#[test]
fn vsan_waits_for_an_absent_host_and_not_for_a_failed_disk() {
    let text = |what: &str| {
        base(
            "vsan",
            4,
            json!({
                "storage": {"pool": {"client": {"timeout": "100 ms"}}},
                "failures": [{"at": "1 s", "fails": [what]}],
            }),
        )
    };
    let (_, members) = end_of(&text("node-1/disk-1"));
    assert!(members.iter().all(|member| member.device != 0 && member.due == 0));
    assert!(!replaced(&text("node-1"), 0), "it waits for an hour");
}

#[test]
fn a_device_of_ceph_takes_part_in_as_many_backfills_as_it_may() {
    // disks whose one piece at a time takes long beside the rest
    let took_s = |backfills: u32| {
        let text = base(
            "ceph",
            6,
            json!({
                "run": {"duration": "30 s"},
                "hosts": {"node": {"network": {"bandwidth": "1 TB/s", "latency": "100 ms"}}},
                "storage": {"pool": {
                    "ceph": {"max_backfills": backfills, "recovery_max_active": backfills, "scheduler": "wpq", "release": "pacific"},
                    "rebuild": {"delay": "100 ms"}, "client": {"timeout": "10 ms"},
                }},
                "failures": [{"at": "1 s", "fails": ["node-1/disk-1"]}],
            }),
        );
        let (result, _) = end_of(&text);
        result.pools[0].report.incidents[0]
            .whole_after_s
            .expect("it is whole again")
    };
    let (one, four) = (took_s(1), took_s(4));
    assert!(one / four > 2.0, "{one} s with one at a time, {four} s with four");
}
