//! vSAN in the twin, against closed forms: where writes are acknowledged, how full write buffers stay, what reaches the
//! devices behind them, what reads hit, and which copies a site or a vote needs.

use crate::support;

use hypertwin_engine::PointReport;
use hypertwin_models::storage::destaging::{Visit, at_head};
use hypertwin_models::storage::disk::{Disk, Pass};
use serde_json::{Value, json};
use support::{assert_near, host, merge, merged, of, pool, report_of as report, vm};

const BLOCK: f64 = 4_096.0;

/// `nodes` fast hosts with four disks of 10,000 rpm each and an NVMe device of 400 GB in front of them, and one
/// generator on the first node; `more` is merged over it.
fn hybrid(nodes: u32, more: Value) -> Value {
    let mut node = host("esxi-6.5", 1, 8, 1);
    node["clock"] = json!("20 GHz");
    node["count"] = json!(nodes);
    node["network"] = json!({"ports": 1, "bandwidth": "10 GB/s", "latency": "10 us"});
    let first = if nodes == 1 { "node" } else { "node-1" };
    let machine = vm(
        4,
        "w",
        json!({"storage": "pool", "controller": "nvme", "vdisks": 8, "host": first}),
    );
    let mut text = json!({
        "name": "vsan", "run": {"duration": "2 s", "warmup": "1 s", "sample_interval": "100 ms"},
        "hosts": {"node": node}, "vms": {"v": machine},
        "workloads": {"w": {
            "arrivals": {"io": {"outstanding": 8}}, "cpu": {"mean": 0, "cv": 0}, "working_set": "4 GiB", "block": "4 KiB",
        }},
        "storage": {"pool": {
            "kind": "vsan", "nodes": "node",
            "devices": {"kind": "hdd-10k", "per_node": 4, "capacity": "900 GB"},
            "flash": {"kind": "nvme", "per_node": 1, "capacity": "400 GB"},
            "vsan": {"architecture": "osa"},
        }},
    });
    merge(&mut text, more);
    text
}

/// The same with NVMe devices and without cache devices.
fn express(nodes: u32, redundancy: &str) -> Value {
    let mut text = hybrid(nodes, json!({"storage": {"pool": {"redundancy": redundancy}}}));
    let pool = text["storage"]["pool"].as_object_mut().expect("a mapping");
    pool.remove("flash");
    pool.insert("vsan".to_owned(), json!({"architecture": "esa"}));
    pool.insert(
        "devices".to_owned(),
        json!({"kind": "nvme", "per_node": 4, "capacity": "1 TB"}),
    );
    text
}

fn writes(rate: &str, working_set: &str) -> Value {
    json!({"workloads": {"w": {
        "read_pct": 0, "working_set": working_set, "arrivals": {"io": {"outstanding": 8, "rate": rate}},
    }}})
}

#[test]
fn what_stays_in_the_buffer_is_overwritten_there_and_never_reaches_the_disks() {
    // 30 % of 120 GB are kept; two copies of 4 GiB are less
    let mut text = hybrid(2, writes("20000 /s", "512 MiB"));
    let report = report(&text);
    let pool = pool(&report);
    let back_end = pool.back_end.as_ref().expect("vSAN says it");
    assert_eq!(back_end.acknowledged_from, "cache-devices");
    assert_eq!(back_end.overwritten_pct, Some(100.0));
    assert_eq!((back_end.destage_mb_per_s, pool.device_write_mb_per_s), (0.0, 0.0));
    assert_near(back_end.buffer_pct.unwrap(), 100.0 * 4.295 / 120.0, 0.01, "level");
    // hard disks would take milliseconds
    assert!(of(&report).io_latency_ms.as_ref().unwrap().p99.unwrap() < 0.3);
    // read again, it comes from the buffer
    text["workloads"]["w"]["read_pct"] = json!(50);
    let pool = self::report(&text).pools["pool"].clone();
    assert_eq!((pool.cache_hit_pct, pool.device_read_mb_per_s), (Some(100.0), 0.0));
}

#[test]
fn as_much_is_swept_as_is_new_and_the_level_stays_where_sweeping_begins() {
    // 60 GiB on each of two nodes, of which 36 GB are kept
    let report = report(&hybrid(2, writes("40000 /s", "7680 MiB")));
    let back_end = pool(&report).back_end.as_ref().unwrap();
    let share = 36e9 / (60.0 * 1.0737e9);
    assert_near(back_end.overwritten_pct.unwrap(), 100.0 * share, 0.05, "overwritten");
    assert_near(back_end.buffer_pct.unwrap(), 30.0, 0.02, "level");
    let new_mb_per_s = 2.0 * of(&report).iops * BLOCK / 1e6 * (1.0 - share);
    assert_near(back_end.destage_mb_per_s, new_mb_per_s, 0.1, "destaged");
    assert_near(
        pool(&report).device_write_mb_per_s,
        back_end.destage_mb_per_s,
        0.02,
        "written",
    );
}

/// Devices of a group have unequal parts of the data, and so visits of unequal size.
#[test]
fn flash_is_swept_as_much_as_is_new_however_long_the_warm_up() {
    for warmup in ["1 s", "3 s", "20 s"] {
        let more = json!({"run": {"warmup": warmup}, "storage": {"pool": {
            "redundancy": "replicas-3", "devices": {"kind": "nvme", "per_node": 2, "capacity": "4 TiB"},
        }}});
        let report = report(&hybrid(6, merged(&writes("2000 /s", "100 GiB"), more)));
        let back_end = pool(&report).back_end.as_ref().unwrap();
        assert_near(back_end.buffer_pct.unwrap(), 30.0, 0.02, warmup);
        let share = back_end.overwritten_pct.unwrap() / 100.0;
        let new_mb_per_s = 3.0 * of(&report).iops * BLOCK / 1e6 * (1.0 - share);
        assert_near(back_end.destage_mb_per_s, new_mb_per_s, 0.1, warmup);
    }
}

#[test]
fn without_end_writes_are_as_fast_as_disks_are_swept() {
    // 800 GiB on each of two nodes: the buffer of 120 GB is full, and little is overwritten
    let mut text = hybrid(
        2,
        json!({"run": {"warmup": "4 s", "duration": "4 s"}, "workloads": {"w": {
            "read_pct": 0, "working_set": "100 GiB",
        }}}),
    );
    let report = report(&text);
    let back_end = pool(&report).back_end.as_ref().unwrap();
    let level = back_end.buffer_pct.unwrap();
    // every write goes to both nodes, of which one is the slower
    assert!(level > 90.0, "{level}");
    let share = level / 100.0 * 120e9 / (800.0 * 1.0737e9);
    let visit = Visit::next((1 << 20) as f64, BLOCK, at_head(share));
    let pass = Pass {
        gap: visit.gap,
        span: visit.span,
        region: 200.0 * 1.0737e9,
        capacity: 900e9,
        is_interrupted: false,
    };
    let disk = Disk::new(hypertwin_cluster::DiskKind::Hdd10k);
    let visit_ns = disk.pass_ns(pass, 0.5, 0.5) as f64;
    let swept = 4.0 * visit.dirty / BLOCK / visit_ns * 1e9;
    assert_near(of(&report).iops, swept / (1.0 - share), 0.1, "writes of each copy");
    assert_near(back_end.overwritten_pct.unwrap(), 100.0 * share, 0.1, "overwritten");
    // it is the order of address that carries them: at random, four disks do 4 x 133
    assert!(of(&report).iops > 4.0 * 4.0 * 133.0);
    // a buffer of half the size has half as much in a line
    text["storage"]["pool"]["flash"]["capacity"] = json!("200 GB");
    let half = of(&self::report(&text)).iops;
    assert!(half < 0.75 * of(&report).iops, "{half}");
}

#[test]
fn hard_disks_read_what_their_cache_devices_have_not() {
    // each copy is read for half of the places: 280 GB cache half of 4 x 560 / 2
    let text = hybrid(2, json!({"workloads": {"w": {"working_set": "65.19 GiB"}}}));
    let hybrid_report = report(&text);
    assert_near(
        pool(&hybrid_report).cache_hit_pct.unwrap(),
        100.0,
        1e-9,
        "all of 280 GB",
    );
    let twice = merged(&text, json!({"workloads": {"w": {"working_set": "130.38 GiB"}}}));
    assert_near(
        pool(&report(&twice)).cache_hit_pct.unwrap(),
        50.0,
        0.1,
        "half of 560 GB",
    );
    // all-flash: no reads are cached
    let flash = merged(
        &text,
        json!({"storage": {"pool": {"devices": {"kind": "sas-ssd", "per_node": 4, "capacity": "900 GB"}}}}),
    );
    assert_eq!(pool(&report(&flash)).cache_hit_pct, Some(0.0));
}

#[test]
fn the_express_architecture_acknowledges_from_its_log_and_writes_full_stripes_later() {
    for (redundancy, nodes, copies, stripes) in [
        ("raid-1", 3, 2.0, 2.0),
        ("ec-2+1", 4, 2.0, 1.5),
        ("raid-6", 6, 3.0, 1.5),
        ("ec-4+1", 5, 2.0, 1.25),
    ] {
        let report = report(&merged(&express(nodes, redundancy), writes("30000 /s", "4 GiB")));
        let pool = pool(&report);
        let back_end = pool.back_end.as_ref().unwrap();
        assert_eq!(back_end.acknowledged_from, "log");
        // what is on its way as measuring ends is counted in part
        assert_near(pool.amplification, copies, 1e-4, redundancy);
        assert_near(
            back_end.destage_mb_per_s / pool.write_mb_per_s,
            stripes,
            0.02,
            redundancy,
        );
        let devices = pool.device_write_mb_per_s / pool.write_mb_per_s;
        assert_near(devices, copies + stripes, 0.02, redundancy);
        // one way to the nodes and back: nothing is read before
        assert_eq!(pool.device_read_mb_per_s, 0.0);
        let latency_ms = of(&report).io_latency_ms.as_ref().unwrap().mean.unwrap();
        assert!(latency_ms < 0.17, "with the guest, which sleeps between: {latency_ms}");
    }
}

#[test]
fn a_virtual_disk_is_on_as_many_devices_as_it_has_components() {
    for (redundancy, nodes, devices) in [("raid-1", 4, 2.0), ("ec-2+1", 4, 3.0)] {
        let one = json!({"vms": {"v": {"vdisks": 1}}});
        let report = report(&merged(&express(nodes, redundancy), one));
        let station = &report.storage["pool-devices"];
        let busiest = station.utilization_max_pct / station.utilization_pct;
        // of 16, and all of them alike: copies take turns in being read, parity in where it is
        assert_near(busiest, 16.0 / devices, 0.1, redundancy);
    }
}

#[test]
fn components_of_each_policy_of_a_machine_are_dealt_to_all_devices() {
    let dealt = json!({"a": {"redundancy": "raid-1"}, "b": {"redundancy": "raid-1"}});
    let text = json!({
        "vms": {"v": {"vdisks": 32, "controllers": 4, "vdisk_policies": ["a", "b"]}},
        "storage": {"pool": {"policies": dealt}},
        "workloads": {"w": {"arrivals": {"io": {"outstanding": 1, "rate": "500 /s"}}}},
    });
    let report = report(&merged(&express(4, "raid-1"), text));
    let station = &report.storage["pool-devices"];
    // of each policy 16 pairs of copies on 16 devices
    assert_near(
        station.utilization_max_pct / station.utilization_pct,
        1.0,
        0.3,
        "busiest",
    );
}

fn stretched(more: Value) -> Value {
    let sites = json!({"storage": {"pool": {"failure_domain": "rack", "racks": 2}}});
    merged(
        &merged(&hybrid(2, sites), json!({"workloads": {"w": {"working_set": "1 GiB"}}})),
        more,
    )
}

#[test]
fn a_stretched_cluster_reads_in_its_own_site_and_writes_to_both() {
    let carried = |read_pct: u32| {
        let report = report(&stretched(json!({"workloads": {"w": {
            "read_pct": read_pct, "arrivals": {"io": {"outstanding": 8, "rate": "10000 /s"}},
        }}})));
        report.storage["pool-network"].mb_per_s.unwrap() * 1e6 / 2.0 / (of(&report).iops * BLOCK)
    };
    assert_eq!(carried(100), 0.0);
    assert_near(carried(0), 1.0, 0.01, "writes");
    assert_near(carried(60), 0.4, 0.05, "some of both");
}

#[test]
fn half_of_the_copies_have_no_vote_without_a_witness() {
    let survives = |nodes: u32, redundancy: &str, witness: bool| {
        let text = hybrid(
            nodes,
            json!({
                "run": {"duration": "400 ms", "warmup": "0 s"},
                "workloads": {"w": {"working_set": "1 GiB", "read_pct": 100, "arrivals": {"io": {"outstanding": 8, "rate": "5000 /s"}}}},
                "storage": {"pool": {
                    "redundancy": redundancy, "vsan": {"witness": witness}, "client": {"timeout": "1 ms"},
                }},
                "failures": [{"at": "100 ms", "fails": [format!("node-{nodes}/link")]}],
            }),
        );
        let report = report(&text);
        assert_eq!(pool(&report).lost_gib, 0.0);
        pool(&report).suspended_ios == 0.0
    };
    // two nodes need a witness elsewhere; three have room for one
    assert!(!survives(2, "replicas-2", false));
    assert!(survives(2, "replicas-2", true));
    assert!(survives(3, "replicas-2", false));
    // of three copies on three nodes one may go; that is what two of three votes allow
    assert!(survives(3, "replicas-3", false));
}

/// Four nodes of which one fails at once, whose devices are rebuilt after `delay` on the others while a machine reads,
/// as fast as it can with `outstanding` on each virtual disk; 0 for one that does next to nothing.
fn resynchronising(devices: &str, outstanding: u32, delay: &str, more: Value) -> PointReport {
    let arrivals = match outstanding {
        0 => json!({"io": {"outstanding": 1, "rate": "1 /s"}}),
        outstanding => json!({"io": {"outstanding": outstanding}}),
    };
    let text = json!({
        "run": {"duration": "6 s", "warmup": "1 s"},
        "hosts": {"node": {"network": {"bandwidth": "100 GB/s"}}},
        "vms": {"v": {"vcpus": 8, "vdisks": 48, "controllers": 4}},
        "workloads": {"w": {"arrivals": arrivals, "working_set": "64 GiB", "block": "64 KiB"}},
        "storage": {"pool": {
            "devices": {"kind": devices, "per_node": 2, "capacity": "4 TB"}, "stored": "4 TiB",
            "rebuild": {"delay": delay, "streams": 200}, "client": {"timeout": "1 ms"},
        }},
        "failures": [{"at": "100 ms", "fails": ["node-4"]}],
    });
    report(&merged(&merged(&express(4, "raid-1"), text), more))
}

fn adaptive(is_on: Option<bool>) -> Value {
    let said = is_on.map_or(json!({}), |is_on| json!({"adaptive_resync": is_on}));
    json!({"storage": {"pool": {"vsan": said}}})
}

#[test]
fn resynchronisation_gets_a_fifth_of_devices_that_machines_saturate_and_all_of_idle_ones() {
    // on flash of its busiest part: machines are limited by the controller, of which resynchronisation needs less
    for (devices, machines_get, resync_gets) in
        [("hdd-10k", 0.78..0.84, 0.17..0.21), ("sata-ssd", 0.8..0.95, 0.13..0.21)]
    {
        let run = |outstanding: u32, delay: &str, is_on: bool| {
            let report = resynchronising(devices, outstanding, delay, adaptive(Some(is_on)));
            (of(&report).iops, pool(&report).rebuild_mb_per_s)
        };
        let ((machines, _), (_, resync)) = (run(8, "1 h", true), run(0, "1 ms", true));
        let beside = run(8, "1 ms", true);
        let of_alone = (beside.0 / machines, beside.1 / resync);
        assert!(machines_get.contains(&of_alone.0), "{devices}: {of_alone:?}");
        assert!(resync_gets.contains(&of_alone.1), "{devices}: {of_alone:?}");
        assert!(run(8, "1 ms", false).0 < 0.5 * machines, "{devices}");
        assert_near(resync, run(0, "1 ms", false).1, 0.01, devices);
    }
}

#[test]
fn resynchronisation_adapts_on_hosts_from_vsan_6_7_on() {
    let run = |hypervisor: &str, is_on: Option<bool>| {
        let host = json!({"run": {"duration": "1 s"}, "hosts": {"node": {"hypervisor": hypervisor}}});
        json!(resynchronising("hdd-10k", 8, "1 ms", merged(&adaptive(is_on), host)))
    };
    for (hypervisor, default) in [
        ("esxi-6.5", false),
        ("esxi-6.7", true),
        ("esxi-8.0", true),
        ("linux-6.6", false),
    ] {
        let found = run(hypervisor, None);
        assert!(found == run(hypervisor, Some(default)), "{hypervisor}");
        assert!(found != run(hypervisor, Some(!default)), "{hypervisor}");
    }
}
