//! Pools of `kind: ceph` in the twin, against closed forms: what an operation takes without load, what it costs of CPU,
//! and which of messengers, shards, commit, device and gateway bounds the throughput.

use crate::support;

use hypertwin_cluster::{Ceph, CephRelease};
use hypertwin_engine::{PointReport, run};
use hypertwin_models::storage::product::ceph::{OsdCost, client_cycles};
use serde_json::{Value, json};
use support::{host, latency_us, merge, parse, report_of as report, vm};

const HZ: f64 = 20e9;
const MESSAGE_US: f64 = 40.0;
/// Of generic NVMe: a read, transfer included; a write that is acknowledged; the transfer of one of its bytes.
const READ_US: f64 = 90.0;
const WRITE_US: f64 = 20.0;
const DEVICE_BYTE_US: f64 = 1.0 / 2_600.0;
const NETWORK_BYTE_US: f64 = 1.0 / 1_000.0;

/// `nodes` with one NVMe device each, and one VM on another host; `more` is merged over it.
fn base(nodes: u32, more: Value) -> Value {
    let mut node = host("linux-6.12", 1, 16, 1);
    merge(
        &mut node,
        json!({"clock": "20 GHz", "count": nodes, "network": {"ports": 1, "bandwidth": "1 GB/s", "latency": "40 us"}}),
    );
    let mut other = node.clone();
    other["count"] = json!(1);
    let mut text = json!({
        "name": "ceph", "run": {"duration": "400 ms", "warmup": "100 ms", "sample_interval": "100 ms"},
        "hosts": {"node": node, "other": other},
        "vms": {"v": vm(4, "w", json!({"storage": "pool", "controller": "virtio-blk", "vdisks": 1, "host": "other"}))},
        "workloads": {"w": {
            "arrivals": {"io": {"outstanding": 1}}, "cpu": {"mean": 0, "cv": 0}, "working_set": "10 GiB",
            "block": "64 KiB", "wake_up": "0 s",
        }},
        "storage": {"pool": {
            "kind": "ceph", "nodes": "node", "deployment": "two-layer", "stored": "10 GiB",
            "ceph": {"release": "reef"}, "devices": {"kind": "nvme", "per_node": 1, "capacity": "1 TB"},
            "service": {"cv": 0, "wake_up": "0 s"},
        }},
    });
    merge(&mut text, more);
    text
}

fn cost() -> OsdCost {
    let ceph = Ceph {
        release: CephRelease::Reef,
        ..Ceph::default()
    };
    OsdCost::of(&ceph).times(1e6 / HZ)
}

/// Saturated from many virtual disks, as many I/Os on each.
fn saturated(outstanding: u32, read_pct: u32, more: Value) -> Value {
    let mut text = json!({
        "vms": {"v": {"count": 12, "vcpus": 2}},
        "workloads": {"w": {
            "arrivals": {"io": {"outstanding": outstanding}}, "block": "4 KiB", "read_pct": read_pct,
        }},
        "storage": {"pool": {"redundancy": "replicas-1", "client": {"cpu_per_io": 0}}},
    });
    merge(&mut text, more);
    text
}

fn iops(report: &PointReport) -> f64 {
    report.vms.values().map(|vm| vm.iops).sum()
}

fn busy(report: &PointReport, station: &str) -> f64 {
    report.storage[station].utilization_pct
}

fn near(value: f64, expected: f64, within: f64) {
    assert!((value / expected - 1.0).abs() < within, "{value}, expected {expected}");
}

/// What the client's controller and driver take of each I/O.
fn client_us(bytes: f64) -> f64 {
    let alone = report(&base(
        1,
        json!({
            "storage": {"pool": {"redundancy": "replicas-1", "client": {"cpu_per_io": 0}, "service": {"core_bandwidth": "1 TB/s"}}},
        }),
    ));
    let of_pool = 2.0 * MESSAGE_US
        + bytes * NETWORK_BYTE_US
        + cost().of_message(bytes as u32)
        + cost().of_operation(false, bytes as u32)
        + READ_US;
    let controller = latency_us(&alone) - of_pool;
    assert!((0.0..5.0).contains(&controller), "{controller}");
    controller + client_cycles(Ceph::default().client) * 1e6 / HZ + bytes / 4_000.0
}

#[test]
fn a_read_visits_a_messenger_a_shard_and_the_device() {
    let bytes = 65_536.0;
    let expected = client_us(bytes)
        + 2.0 * MESSAGE_US
        + bytes * NETWORK_BYTE_US
        + cost().of_message(65_536)
        + cost().of_operation(false, 65_536)
        + READ_US;
    near(latency_us(&report(&base(3, json!({})))), expected, 2e-3);
}

#[test]
fn nodes_of_several_groups_are_those_of_one() {
    let one = base(3, json!({"vms": {"v": {"count": 3}}}));
    let mut several = base(1, json!({"vms": {"v": {"count": 3}}}));
    let hosts = several["hosts"].as_object_mut().unwrap();
    let node = hosts.remove("node").unwrap();
    hosts.extend((1..=3).map(|number| (format!("node-{number}"), node.clone())));
    several["storage"]["pool"]["nodes"] = json!(["node-3", "node-1", "node-2"]);
    let report = |text| serde_json::to_value(report(text)).unwrap();
    assert_eq!(report(&several), report(&one));
}

#[test]
fn an_osd_takes_longer_on_a_slower_node() {
    let at = |clock: f64| (cost().of_message(65_536) + cost().of_operation(false, 65_536)) * HZ / clock;
    let alike = report(&base(2, json!({"storage": {"pool": {"redundancy": "replicas-1"}}})));
    let expected = latency_us(&alike) + (at(HZ / 10.0) - at(HZ)) / 2.0;
    for (first, second) in [("20 GHz", "2 GHz"), ("2 GHz", "20 GHz")] {
        let mut text = base(
            1,
            json!({"storage": {"pool": {"redundancy": "replicas-1", "nodes": ["node", "more"]}}}),
        );
        text["hosts"]["more"] = text["hosts"]["node"].clone();
        text["hosts"]["more"]["clock"] = json!(first);
        text["hosts"]["node"]["clock"] = json!(second);
        near(latency_us(&report(&text)), expected, 0.01);
    }
}

#[test]
fn a_write_is_done_when_its_last_copy_is_in_the_log() {
    let bytes = 65_536.0;
    let text = base(
        3,
        json!({"workloads": {"w": {"read_pct": 0, "arrivals": {"io": {"outstanding": 1, "rate": "100 /s"}}}}}),
    );
    // three pairs at the primary; the second copy leaves when the first has; data, then the log
    let hop = MESSAGE_US + bytes * NETWORK_BYTE_US;
    let node =
        cost().of_operation(true, 65_536) + (bytes + 4_096.0) * DEVICE_BYTE_US + 2.0 * WRITE_US + cost().of_commit(1);
    let primary = 3.0 * cost().of_message(65_536) + cost().of_operation(true, 65_536);
    let replica = bytes * NETWORK_BYTE_US + hop + cost().of_message(65_536) + node;
    let expected = client_us(bytes) + hop + primary + replica + 2.0 * MESSAGE_US;
    near(latency_us(&report(&text)), expected, 4e-3);
}

#[test]
fn an_operation_costs_the_osds_what_the_table_says() {
    for (read_pct, copies) in [(100, 3), (0, 1), (0, 3), (0, 4)] {
        let report = report(&base(
            5,
            json!({
                "workloads": {"w": {"read_pct": read_pct, "block": "16 KiB", "arrivals": {"io": {"outstanding": 4}}}},
                "storage": {"pool": {"redundancy": format!("replicas-{copies}")}},
            }),
        ));
        let n = f64::from(copies);
        let expected = match read_pct {
            100 => cost().of_message(16_384) + cost().of_operation(false, 16_384),
            _ => {
                (2.0 * n - 1.0) * cost().of_message(16_384)
                    + n * (cost().of_operation(true, 16_384) + cost().of_commit(1))
            }
        };
        let cpus = report.pools["pool"].service_cpus.expect("Ceph says it");
        near(cpus / iops(&report) * 1e6, expected, 0.01);
    }
}

#[test]
fn one_osd_is_bound_by_its_messengers_whatever_the_depth() {
    let bound = |messengers: f64| messengers * 1e6 / cost().of_message(4_096);
    // as slow as 2 GHz, so that it is no device that limits
    let slow = json!({"storage": {"pool": {"ceph": {"cpu_factor": 10.0}}}});
    for outstanding in [4, 32] {
        let report = report(&base(1, saturated(outstanding, 100, slow.clone())));
        near(iops(&report), bound(3.0) / 10.0, 0.02);
        assert!(busy(&report, "pool-messengers") > 98.0);
        assert_eq!(
            report.bottleneck.as_ref().expect("it is saturated").station,
            "pool-messengers"
        );
    }
    let mut four = base(1, saturated(32, 100, slow.clone()));
    four["storage"]["pool"]["ceph"]["messengers"] = json!(4);
    near(iops(&report(&four)), bound(4.0) / 10.0, 0.02);
    let mut two_osds = base(1, saturated(32, 100, slow));
    two_osds["storage"]["pool"]["ceph"]["osds_per_device"] = json!(2);
    near(iops(&report(&two_osds)), bound(6.0) / 10.0, 0.03);
}

#[test]
fn all_osds_of_a_device_have_as_many_groups() {
    let of = |osds: u32, groups: Value| {
        let mut ceph = json!({"osds_per_device": osds, "cpu_factor": 10.0});
        merge(&mut ceph, groups);
        let load = json!({"arrivals": {"io": {"rate": "500 /s"}}, "working_set": "100 GiB"});
        let more = json!({
            "run": {"duration": "2 s"}, "storage": {"pool": {"stored": "1 TiB", "ceph": ceph}}, "workloads": {"w": load},
        });
        report(&base(4, saturated(8, 0, more)))
    };
    for osds in [1, 2] {
        let groups = of(osds, json!({})).pools["pool"].placement_groups;
        assert_eq!(
            groups,
            4 * 100 * osds as usize,
            "a hundred members for each of four devices' OSDs"
        );
    }
    // eight groups on each device, four on each OSD
    let even = of(2, json!({"placement_groups": 32}));
    let commit = &even.storage["pool-commit"];
    assert_eq!(commit.members, 8);
    near(commit.utilization_max_pct, commit.utilization_pct, 0.1);
}

#[test]
fn a_read_keeps_its_thread_until_the_device_answers() {
    let alone = json!({"storage": {"pool": {"ceph": {"shards": 1, "threads_per_shard": 1, "messengers": 8}}}});
    let each = cost().of_operation(false, 4_096) + READ_US;
    let one = report(&base(1, saturated(16, 100, alone.clone())));
    near(iops(&one), 1e6 / each, 0.02);
    assert_eq!(one.storage["pool-devices"].queue, 0.0);
    assert!(one.storage["pool-shards"].queue > 100.0);
    near(busy(&one, "pool-shards"), 100.0, 0.01);
    // its wake-up for the answer is in the device's time
    let mut slow = base(1, saturated(16, 100, alone.clone()));
    slow["storage"]["pool"]["service"]["wake_up"] = json!("1 ms");
    near(iops(&report(&slow)), iops(&one), 0.02);
    let mut four = base(1, saturated(16, 100, alone));
    four["storage"]["pool"]["ceph"]["shards"] = json!(4);
    let four = iops(&report(&four));
    assert!((0.9 * 4e6 / each..1.01 * 4e6 / each).contains(&four), "{four}");
}

#[test]
fn reads_wait_for_the_writes_of_their_object_and_writes_for_none() {
    // a flush of 2 ms for data, and one for the log
    let of = |read_pct: u32, working_set: &str, redundancy: &str| {
        let mut text = base(
            3,
            saturated(2, read_pct, json!({"vms": {"v": {"count": 1, "vcpus": 2}}})),
        );
        merge(
            &mut text,
            json!({
                "run": {"duration": "2 s"}, "workloads": {"w": {"working_set": working_set}},
                "devices": {"d": {"kind": "nvme", "flush": "2 ms"}}, "storage": {"pool": {"redundancy": redundancy}},
            }),
        );
        text["storage"]["pool"]["devices"] = json!({"device": "d", "per_node": 1, "capacity": "1 TB"});
        let scenario = parse(&text);
        let ios = support::replications(&scenario, 1).remove(0).vms[0]
            .io
            .clone()
            .expect("it has disks");
        [0, 1].map(|way| ios.ways[way])
    };
    for redundancy in ["replicas-3", "ec-2+1"] {
        let [waiting, apart] = ["4 MiB", "10 GiB"].map(|set| of(50, set, redundancy).map(|way| way.latency_mean_ms));
        assert!(
            apart[0] < 0.1 * apart[1],
            "{redundancy}: {apart:?} ms of reads and writes"
        );
        // half of what is beside a read is a write that began before it
        assert!(
            (0.2..0.8).contains(&(waiting[0] / waiting[1])),
            "{redundancy}: {waiting:?} ms"
        );
        let [one, many] = ["4 MiB", "10 GiB"].map(|set| of(0, set, redundancy)[1].count as f64);
        near(one, many, 0.03);
    }
}

#[test]
fn all_operations_of_one_placement_group_are_one_shards() {
    let few = json!({"storage": {"pool": {"ceph": {"cpu_factor": 10.0, "messengers": 16, "placement_groups": 1}}}});
    let one = iops(&report(&base(1, saturated(32, 0, few.clone()))));
    near(one, 2e6 / 10.0 / cost().of_operation(true, 4_096), 0.03);
    let mut many = base(1, saturated(32, 0, few));
    many["storage"]["pool"]["ceph"]["placement_groups"] = json!(256);
    assert!(iops(&report(&many)) > 2.2 * one);
}

#[test]
fn all_that_waits_is_committed_at_once() {
    // a flush of 2 ms for data, and one for the log
    let flushing = json!({
        "devices": {"d": {"kind": "nvme", "flush": "2 ms"}},
        "storage": {"pool": {"devices": {"device": "d", "kind": null}}},
    });
    let of = |outstanding: u32| {
        let mut text = base(1, saturated(outstanding, 0, flushing.clone()));
        text["storage"]["pool"]["devices"]
            .as_object_mut()
            .expect("a mapping")
            .remove("kind");
        text["vms"]["v"]["count"] = json!(1);
        report(&text)
    };
    let one = of(1);
    assert!((4_000.0..4_500.0).contains(&latency_us(&one)), "{}", latency_us(&one));
    let many = of(64);
    assert!(iops(&many) > 18.0 * iops(&one), "{} {}", iops(&many), iops(&one));
    // the data of the next batch are flushed while this one is logged, and each waits for the other's flush
    assert!(latency_us(&many) < 14_000.0, "{}", latency_us(&many));
    assert!(busy(&many, "pool-commit") > 45.0);
    // its threads wait for the disk
    let limit = many.bottleneck.as_ref().expect("it is saturated");
    assert_eq!(limit.station, "pool-devices");
    assert!(
        limit.saturated && limit.next_station.as_deref() != Some("pool-commit"),
        "{limit:?}"
    );
}

#[test]
fn small_writes_on_hard_disks_are_done_when_they_are_in_the_log() {
    let disks = json!({
        "workloads": {"w": {"read_pct": 0, "block": "16 KiB", "arrivals": {"io": {"outstanding": 1, "rate": "40 /s"}}}},
        "run": {"duration": "2 s"},
        "storage": {"pool": {
            "redundancy": "replicas-1", "devices": {"kind": "hdd-7.2k", "per_node": 4},
            "flash": {"kind": "nvme", "capacity": "100 GB"},
        }},
    });
    let deferred = report(&base(1, disks.clone()));
    assert!(latency_us(&deferred) < 250.0, "{}", latency_us(&deferred));
    let pool = &deferred.pools["pool"];
    near(pool.device_write_mb_per_s, pool.write_mb_per_s, 0.05);
    let mut direct = base(1, disks);
    direct["storage"]["pool"]["ceph"]["deferred_below"] = json!("4 KiB");
    direct["storage"]["pool"]["ceph"]["min_alloc"] = json!("4 KiB");
    assert!(latency_us(&report(&direct)) > 4_000.0);
}

#[test]
fn a_gateway_is_the_client_of_the_osds() {
    let gateways =
        json!({"storage": {"pool": {"ceph": {"client": "gateway", "gateways": 2, "reactors": 2, "cpu_factor": 10.0}}}});
    let text = base(3, saturated(32, 100, gateways));
    let report = report(&text);
    near(iops(&report), 2.0 * 2.0 * 1e5 / cost().of_gateway(4_096), 0.02);
    // also of VMs on its host
    let mut beside = text.clone();
    (beside["vms"]["v"]["host"], beside["storage"]["pool"]["deployment"]) = (json!("node"), json!("hci"));
    near(iops(&self::report(&beside)), iops(&report), 0.02);
    assert_eq!(
        report.bottleneck.as_ref().expect("it is saturated").station,
        "pool-gateways"
    );
    let mut direct = text;
    direct["storage"]["pool"]["ceph"]["client"] = json!("librbd");
    assert!(iops(&self::report(&direct)) > 1.2 * iops(&report));
}

#[test]
fn what_goes_by_a_gateway_crosses_what_lies_between_racks() {
    // the client is in the second rack, the gateway and two of three nodes in the first
    let latency = |between: &str| {
        let text = json!({"storage": {"pool": {
            "redundancy": "replicas-1", "racks": 2, "networks": {"between_racks": {"latency": between}},
            "ceph": {"client": "gateway", "gateways": 1},
        }}});
        latency_us(&report(&base(3, text)))
    };
    let client_and_gateway = 2_000.0;
    let gateway_and_osd = 2_000.0 / 3.0;
    near(
        latency("2 ms") - latency("0 ms"),
        client_and_gateway + gateway_and_osd,
        0.05,
    );
}

/// A pool of `stored` with a deep scrub of this interval, and a machine that reads 64 KiB a hundred times a second; 20
/// s of it.
fn scrubbed(stored: &str, interval: Option<&str>, more: Value) -> PointReport {
    let mut text = json!({
        "run": {"duration": "20 s", "warmup": "2 s", "sample_interval": "1 s"},
        "workloads": {"w": {"arrivals": {"io": {"outstanding": 4, "rate": "100 /s"}}}},
        "storage": {"pool": {"stored": stored}},
    });
    if let Some(interval) = interval {
        text["storage"]["pool"]["ceph"] = json!({"deep_scrub": interval});
    }
    merge(&mut text, more);
    report(&base(3, text))
}

#[test]
fn a_deep_scrub_reads_once_in_its_interval_what_all_members_hold() {
    for (redundancy, amplification) in [("replicas-3", 3.0), ("ec-2+1", 1.5)] {
        let report = scrubbed(
            "100 GiB",
            Some("1 h"),
            json!({"storage": {"pool": {"redundancy": redundancy}}}),
        );
        let pool = &report.pools["pool"];
        let expected = amplification * 100.0 * f64::from(1 << 30) / 3_600.0 / 1e6;
        near(pool.scrub_mb_per_s.unwrap(), expected, 0.02);
        near(pool.scrub_due_mb_per_s.unwrap(), expected, 0.02);
        assert_eq!(pool.scrub_keeps_up, Some(true));
        // devices read it, and machines do not
        near(iops(&report), 100.0, 0.03);
        near(pool.read_mb_per_s, iops(&report) * 0.065_536, 0.01);
        if redundancy == "replicas-3" {
            near(pool.device_read_mb_per_s, pool.read_mb_per_s + expected, 0.02);
        }
    }
    let none = scrubbed("100 GiB", None, json!({}));
    let pool = &none.pools["pool"];
    assert_eq!(
        (pool.scrub_mb_per_s, pool.scrub_due_mb_per_s, pool.scrub_keeps_up),
        (None, None, None)
    );
}

#[test]
fn a_deep_scrub_leaves_groups_alone_that_are_not_whole() {
    let more = json!({
        "failures": [{"at": "1 s", "fails": ["node-1"]}],
        "storage": {"pool": {"redundancy": "replicas-3:2", "client": {"timeout": "10 ms"}}},
    });
    let report = scrubbed("100 GiB", Some("1 h"), more);
    let pool = &report.pools["pool"];
    assert_eq!((pool.scrub_mb_per_s, pool.scrub_due_mb_per_s), (Some(0.0), Some(0.0)));
    assert_eq!(pool.scrub_keeps_up, Some(true), "nothing was to be read");
    near(iops(&report), 100.0, 0.03);
}

#[test]
fn a_deep_scrub_that_disks_have_no_time_for_falls_behind_and_machines_do_not() {
    let hard_disks = |interval: Option<&str>| {
        let more = json!({
            "run": {"duration": "60 s"},
            "workloads": {"w": {"arrivals": {"io": {"outstanding": 32, "rate": "1000000 /s"}}, "block": "4 KiB"}},
            "storage": {"pool": {"devices": {"kind": "hdd-7.2k", "per_node": 1, "capacity": "1 TB"}}},
        });
        scrubbed("800 GB", interval, more)
    };
    let alone = hard_disks(None);
    let weekly = hard_disks(Some("7 d"));
    let pool = &weekly.pools["pool"];
    near(pool.scrub_due_mb_per_s.unwrap(), 3.0 * 800e3 / (7.0 * 86_400.0), 0.05);
    assert!(iops(&weekly) > 0.9 * iops(&alone));
    // 222 MB/s of each disk
    let hourly = hard_disks(Some("1 h"));
    let pool = &hourly.pools["pool"];
    assert_eq!(pool.scrub_keeps_up, Some(false));
    assert!(pool.scrub_mb_per_s.unwrap() < 0.5 * pool.scrub_due_mb_per_s.unwrap());
    assert!(iops(&hourly) > 0.8 * iops(&alone), "{} {}", iops(&hourly), iops(&alone));
    assert_eq!(pool.errors, 0.0);
}

#[test]
fn a_limit_counts_what_an_osds_threads_run() {
    let limited = json!({
        "run": {"duration": "1 s", "warmup": "200 ms"},
        "storage": {"pool": {"service": {"limit_cpus": 0.5}}},
    });
    for read_pct in [100, 0] {
        let report = report(&base(1, saturated(16, read_pct, limited.clone())));
        near(report.pools["pool"].service_cpus.unwrap(), 0.5, 0.03);
        near(busy(&report, "pool-cpu-limit"), 100.0, 0.03);
        assert_eq!(
            report.bottleneck.as_ref().expect("it is saturated").station,
            "pool-cpu-limit"
        );
    }
}

#[test]
fn encryption_and_old_releases_cost_more() {
    let of = |ceph: Value| {
        let mut text = base(3, saturated(4, 50, json!({})));
        merge(&mut text["storage"]["pool"]["ceph"], ceph);
        let report = report(&text);
        report.pools["pool"].service_cpus.unwrap() / iops(&report)
    };
    let plain = of(json!({}));
    near(of(json!({"release": "luminous"})) / plain, 2.3, 0.02);
    near(of(json!({"cpu_factor": 0.5})) / plain, 0.5, 0.02);
    assert!((1.1..1.3).contains(&(of(json!({"encrypt_disks": true})) / plain)));
    // one pair of messages for each, and one copy
    let mean = cost().of_message(4_096)
        + (cost().of_operation(false, 4_096) + cost().of_operation(true, 4_096) + cost().of_commit(1)) / 2.0;
    let wire = (8_000.0 + 1.3 * 4_096.0) * 1e6 / HZ;
    near(of(json!({"encrypt_wire": true})) / plain, 1.0 + wire / mean, 0.01);
}

/// A pool of three copies while nothing but `failures` happens, with its I/Os each tenth of a second.
fn failing(nodes: u32, read_pct: u32, monitors: u32, failures: &Value) -> Vec<f64> {
    let more = json!({
        "run": {"duration": "2 s", "warmup": "0 s", "sample_interval": "100 ms"},
        "storage": {"pool": {
            "redundancy": "replicas-3:2", "metadata_servers": monitors, "client": {"timeout": "20 ms"},
            "rebuild": {"delay": "10 s"},
        }},
        "failures": failures,
    });
    let result = run(&parse(&base(nodes, saturated(8, read_pct, more))), 1).expect("it runs");
    assert_eq!((result.pools[0].count.errors, result.pools[0].count.lost), (0, 0));
    let of_all = |at| result.timeline.vms.iter().map(|vm| vm.throughput_per_s[at]).sum();
    (0..result.timeline.time_s.len()).map(of_all).collect()
}

#[test]
fn groups_below_min_size_serve_neither_reads_nor_writes() {
    for read_pct in [0, 100] {
        let two = json!([{"at": "500 ms", "fails": ["node-2", "node-3"], "returns": "1200 ms"}]);
        let line = failing(3, read_pct, 1, &two);
        assert!(line[6..11].iter().all(|&rate| rate == 0.0), "{read_pct}: {line:?}");
        assert!(line[13..].iter().all(|&rate| rate > 100.0), "{read_pct}: {line:?}");
    }
}

#[test]
fn without_a_majority_of_monitors_a_failure_is_not_noticed() {
    let host = json!({"at": "500 ms", "fails": ["node-4"]});
    let one = json!({"at": "300 ms", "fails": ["pool/metadata-1"], "returns": "1200 ms"});
    let two = json!({"at": "300 ms", "fails": ["pool/metadata-1", "pool/metadata-2"], "returns": "1200 ms"});
    let line = failing(4, 0, 3, &json!([one, host]));
    assert!(
        line[6..].iter().all(|&rate| rate > 100.0),
        "noticed by two of three: {line:?}"
    );
    let line = failing(4, 0, 3, &json!([two, host]));
    assert!(
        line[..5].iter().all(|&rate| rate > 100.0),
        "monitors are not asked: {line:?}"
    );
    assert!(line[6..11].iter().all(|&rate| rate == 0.0), "{line:?}");
    assert!(line[13..].iter().all(|&rate| rate > 100.0), "{line:?}");
}

#[test]
fn a_run_with_failures_comes_to_rest_with_all_its_io() {
    let text = base(
        4,
        saturated(
            8,
            50,
            json!({
                "run": {"duration": "3 s", "warmup": "0 s"},
                "storage": {"pool": {
                    "redundancy": "replicas-3:2", "ceph": {"client": "gateway", "gateways": 2},
                    "client": {"timeout": "20 ms"}, "rebuild": {"delay": "10 s"},
                }},
                "failures": [
                    {"at": "300 ms", "fails": ["node-1"], "returns": "600 ms"},
                    {"at": "900 ms", "fails": ["node-2/disk-1"], "returns": "1300 ms"},
                    {"at": "1500 ms", "fails": ["node-3/link"], "returns": "1700 ms"},
                ],
            }),
        ),
    );
    let scenario = parse(&text);
    let replication = run(&scenario, 7).expect("it runs");
    let pool = &replication.pools[0];
    assert_eq!(
        (pool.count.errors, pool.count.below_minimum, pool.count.lost),
        (0, 0, 0)
    );
    assert!(pool.report.retries > 0.0);
    let line = &replication.timeline.pools[0];
    assert_eq!(line.suspended_ios.last(), Some(&0));
    assert!(pool.report.read_mb_per_s > 10.0);
}
