//! Drives by name inside a host: data sheets, flushes, synchronous writes, write caches, stalls, waits in closed form.

use crate::support;

use hypertwin_cluster::{Device, DiskKind, Scenario, drives};
use hypertwin_engine::Replication;
use serde_json::{Value, json};
use support::{host, io, merge, merged, parse, replications, vm};

#[track_caller]
fn assert_near(actual: f64, expected: f64, tolerance: f64, what: &str) {
    assert!(
        (actual - expected).abs() <= tolerance,
        "{what}: {actual} instead of {expected}"
    );
}

/// Generators of next to no CPU on one local disk; `more` is merged over all.
fn scenario(vms: u32, more: Value) -> Scenario {
    let mut host = host("linux-6.12", 1, 64, 1);
    host["clock"] = json!("20 GHz");
    let machine = json!({"count": vms, "array": "disks", "controller": "virtio-blk", "vdisks": 1});
    let mut text = json!({
        "name": "devices", "run": {"duration": "1 s", "warmup": "200 ms", "sample_interval": "1 s"},
        "hosts": {"h": host}, "vms": {"v": vm(4, "w", machine)},
        "workloads": {"w": {
            "cpu": {"mean": 0, "cv": 0}, "working_set": "1 GiB", "block": "4 KiB", "wake_up": "0 s",
        }},
        "arrays": {"disks": {"protocol": "local", "raid": "raid-0", "disks": {"count": 1}}},
    });
    merge(&mut text, more);
    if text["workloads"]["w"]["arrivals"].is_null() {
        text["workloads"]["w"]["arrivals"] = json!({"io": {"outstanding": 1}});
    }
    parse(&text)
}

fn run(vms: u32, more: Value) -> Replication {
    replications(&scenario(vms, more), 1).remove(0)
}

/// A device of the scenario's own, and a workload of writes with so many outstanding.
fn writes(device: Value, outstanding: u32, workload: Value) -> Value {
    let mut all = json!({
        "devices": {"d": device}, "arrays": {"disks": {"disks": {"device": "d"}}},
        "workloads": {"w": {"arrivals": {"io": {"outstanding": outstanding}}, "read_pct": 0}},
    });
    merge(&mut all, json!({"workloads": {"w": workload}}));
    all
}

/// A drive that flushes in 2 ms and sustains 5,000 random writes a second, acknowledged in 20 us.
fn flushing(more: Value) -> Value {
    let mut device = json!({
        "kind": "nvme", "power_loss_protection": false, "flush": "2 ms", "random_write": "5000 /s",
        "write_latency": "20 us",
    });
    merge(&mut device, more);
    device
}

#[test]
fn every_drive_of_the_table_does_what_its_data_sheet_says() {
    for (name, device) in drives() {
        let depth = match device.kind {
            DiskKind::SataSsd => 32,
            DiskKind::SasSsd => 128,
            DiskKind::Nvme => 256,
            _ => 1,
        };
        if device.write_cache.is_some() {
            continue;
        }
        let measured = |outstanding: u32, expected: f64, workload: Value| {
            // as long as the buffer takes to fill, for writes, and then enough of them
            let fill = if workload["read_pct"] == 0 { 14_000.0 } else { 1_000.0 };
            let ms = |count: f64| format!("{} ms", (count / expected * 1e3).ceil() as u64 + 20);
            let vms = outstanding.min(8);
            let mut more = json!({
                "run": {"warmup": ms(fill), "duration": ms(8_000.0)}, "arrays": {"disks": {"disks": {"device": name}}},
                "workloads": {"w": {"arrivals": {"io": {"outstanding": outstanding / vms}}}},
            });
            merge(&mut more, json!({"workloads": {"w": workload}}));
            io(&run(vms, more)).0
        };
        if !device.kind.is_flash() {
            let seeks = |device: &Device| [device.seek_read, device.seek_write].map(|seek| seek.expect("it says so"));
            let half_ns = 30e9 / f64::from(device.rpm.expect("it says so"));
            for (seek, read_pct) in seeks(device).iter().zip([100, 0]) {
                let expected = 1e9 / (seek.nanos() as f64 + half_ns + 4_096.0 / 0.12);
                let found = measured(1, expected, json!({"read_pct": read_pct}));
                assert_near(found, expected, 0.05 * expected, name);
            }
            continue;
        }
        if let Some(latency) = device.read_latency {
            // this host takes 1.9 us, and that of a sheet 3 us
            let expected = 1e9 / (latency.nanos() as f64 - 1_100.0);
            assert_near(measured(1, expected, json!({})), expected, 0.05 * expected, name);
        }
        for (rate, read_pct) in [(device.random_read, 100), (device.random_write, 0)] {
            if let Some(rate) = rate {
                let expected = rate.per_second();
                let found = measured(depth, expected, json!({"read_pct": read_pct}));
                assert_near(found, expected, 0.05 * expected, &format!("{name}, {read_pct} % reads"));
            }
        }
        for (rate, read_pct) in [(device.sequential_read, 100), (device.sequential_write, 0)] {
            if let Some(rate) = rate {
                let expected = rate.bytes_per_s() / f64::from(128 << 10);
                let sequential = json!({"read_pct": read_pct, "random_pct": 0, "block": "128 KiB"});
                let found = measured(depth, expected, sequential);
                assert_near(
                    found,
                    expected,
                    0.05 * expected,
                    &format!("{name}, {read_pct} % reads in sequence"),
                );
            }
        }
    }
}

#[test]
fn a_synchronous_write_takes_a_flush_and_no_other_does() {
    let rate = |device: Value, sync_pct: f64| io(&run(1, writes(device, 1, json!({"sync_pct": sync_pct})))).0;
    // acknowledged in 20 us, flushed in 2 ms, and 200 us of all channels for itself; some 2 us of CPU
    assert_near(rate(flushing(json!({})), 100.0), 1e6 / 2_222.0, 5.0, "all");
    assert_near(
        rate(flushing(json!({})), 50.0),
        1e6 / (22.0 + 1_100.0),
        45.0,
        "every second one",
    );
    let plain = rate(flushing(json!({})), 0.0);
    assert_near(plain, 5_000.0, 100.0, "what it sustains");
    let protected = json!({"kind": "nvme", "write_latency": "20 us", "power_loss_protection": true});
    let (with, without) = (rate(protected.clone(), 100.0), rate(protected, 0.0));
    assert_near(with, without, 0.01 * without, "capacitors");
    let supposed = json!({"kind": "nvme", "write_latency": "20 us", "power_loss_protection": false});
    assert_near(
        rate(supposed, 100.0),
        1e6 / 2_735.0,
        5.0,
        "2.7 ms where nothing is said",
    );
}

/// Synchronous writes of a drive with capacitors pass its controller one after the other, for 0.54 of 97 us each.
/// Reads pass them, but for those of SATA.
#[test]
fn synchronous_writes_of_a_drive_with_capacitors_share_its_controller() {
    let io_of = |kind: &str, outstanding: u32, sync_pct: u32, read_pct: u32| {
        let device = json!({
            "kind": kind, "write_latency": "100 us", "power_loss_protection": true, "random_write": "500000 /s",
            "random_read": "800000 /s", "read_latency": "4 us", "depth": 64,
        });
        let io = json!({"io": {"workers": outstanding}});
        let load = json!({"sync_pct": sync_pct, "read_pct": read_pct, "arrivals": io});
        let more = merged(&writes(device, outstanding, load), json!({"vms": {"v": {"vcpus": 16}}}));
        run(1, more).vms[0].io.clone().expect("it has disks")
    };
    for kind in ["nvme", "sata-ssd"] {
        let rate = |outstanding, sync_pct| io_of(kind, outstanding, sync_pct, 0).ways[1].count as f64;
        let alone = rate(1, 100);
        assert_near(alone, 1e6 / 99.0, 0.02 * alone, "one job");
        assert_near(
            rate(1, 0),
            alone,
            1e-6,
            "a write alone takes as long if it is not synchronous",
        );
        assert_near(rate(10, 100), 1e6 / 52.4, 0.01 * 1e6 / 52.4, "ten jobs");
        assert!(rate(10, 0) > 9.0 * alone, "others share nothing");
    }
    let read_ms = |kind| io_of(kind, 10, 100, 50).ways[0].latency_mean_ms;
    assert!(
        read_ms("nvme") < 0.005 && read_ms("sata-ssd") > 0.05,
        "{} {}",
        read_ms("nvme"),
        read_ms("sata-ssd")
    );
}

#[test]
fn writes_that_come_during_a_flush_share_the_next_one() {
    // n writers: half of them in each flush, so b = n / 2 and X = b / (F + b s) with s = 200 us
    let kinds = ["nvme", "sas-ssd", "sata-ssd"].into_iter();
    for (kind, outstanding) in kinds.flat_map(|kind| [2_u32, 4, 5, 8, 10, 24].map(|outstanding| (kind, outstanding))) {
        let device = flushing(json!({"kind": kind}));
        let more = writes(device, outstanding, json!({"sync_pct": 100}));
        let half = f64::from(outstanding) / 2.0;
        let expected = half / (2e-3 + half * 200e-6);
        let (rate, latency_ms) = io(&run(1, more));
        assert_near(
            rate,
            expected,
            0.04 * expected,
            &format!("{kind}, {outstanding} outstanding"),
        );
        assert_near(
            latency_ms,
            f64::from(outstanding) / rate * 1e3,
            0.01 * latency_ms,
            "Little",
        );
    }
}

#[test]
fn an_array_with_a_write_back_cache_acknowledges_synchronous_writes_like_any() {
    let behind = |write_back: bool| {
        let mut more = writes(flushing(json!({})), 1, json!({"sync_pct": 100}));
        merge(
            &mut more,
            json!({"arrays": {"disks": {"protocol": "fc", "cache": {"write_back": write_back, "latency": "100 us"}}}}),
        );
        io(&run(1, more)).1
    };
    assert!(behind(true) < 0.5, "{}", behind(true));
    assert!(behind(false) > 2.3, "{}", behind(false));
}

/// The same on a pool of one node and one disk, `pool` merged over it.
fn of_pool(more: Value, pool: Value, failures: Value) -> Replication {
    let mut spec = json!({
        "kind": "chunk-store", "nodes": "h", "redundancy": "replicas-1", "stored": "1 GiB",
        "devices": {"device": "d", "per_node": 1, "capacity": "1 TB"},
        "service": {"cv": 0, "wake_up": "0 s"},
    });
    merge(&mut spec, pool);
    let mut text = serde_json::to_value(scenario(1, more)).expect("a scenario");
    text.as_object_mut().expect("a mapping").remove("arrays");
    let vm = text["vms"]["v"].as_object_mut().expect("a mapping");
    vm.remove("array");
    vm.insert("storage".to_owned(), json!("pool"));
    text["storage"] = json!({"pool": spec});
    text["failures"] = failures;
    let scenario = parse(&text);
    replications(&scenario, 1).remove(0)
}

#[test]
fn several_kinds_of_disk_in_a_pool_are_asked_for_their_capacity() {
    let drive = |latency: &str| json!({"kind": "nvme", "read_latency": latency});
    let read = |more: Value, failures: Value| {
        let mut all = json!({
            "devices": {"d": drive("100 us"), "e": drive("1 ms")},
            "arrays": {"disks": {"disks": {"device": "d"}}}, "workloads": {"w": {"working_set": "10 GiB"}},
        });
        merge(&mut all, json!({"run": {"duration": "20 s"}}));
        let mut pool = json!({"chunk": "1 MiB", "stored": "10 GiB", "devices": {"capacity": "1 TB"}});
        merge(&mut pool, more);
        of_pool(all, pool, failures)
    };
    let slow = |per_node: u32| json!({"device": "e", "per_node": per_node, "capacity": "3 TB"});
    let alone_ms = io(&read(json!({}), json!([]))).1;
    let mixed = read(json!({"more_devices": [slow(1)]}), json!([]));
    // three quarters of the data are on the slow one
    assert_near(io(&mixed).1 - alone_ms, 0.75 * 0.9, 0.02 * 0.675, "ms more");
    let station = mixed
        .stations
        .iter()
        .find(|station| station.name == "pool-devices")
        .expect("it has disks");
    assert_eq!(station.figures.members, 2);
    // half as much of the data is on each of two
    let two = read(json!({"more_devices": [slow(2)]}), json!([]));
    assert_near(io(&two).1 - alone_ms, 6.0 / 7.0 * 0.9, 0.02 * 0.77, "ms more");
    // copies on both: without the slow disk, which is the node's second, all reads go to the first
    let failing = json!({"redundancy": "replicas-2:1", "failure_domain": "disk", "more_devices": [slow(1)]});
    let without = read(failing, json!([{"at": "0 s", "fails": ["h/disk-2"]}]));
    assert_near(io(&without).1, alone_ms, 0.02 * alone_ms, "ms on the first disk");
}

#[test]
fn a_pool_flushes_at_each_write_where_it_says_so() {
    let latency_ms = |device: Value, pool: Value| io(&of_pool(writes(device, 1, json!({})), pool, json!([]))).1;
    let slow = || flushing(json!({"random_write": "100000 /s"}));
    let asked = latency_ms(slow(), json!({}));
    let always = latency_ms(slow(), json!({"flushes": "always"}));
    // 10 us is what all channels write a page in
    assert_near(always - asked, 2.010, 0.005, "ms more");
    let protected = json!({"power_loss_protection": true, "flush": 0});
    let with_capacitors = latency_ms(flushing(protected), json!({"flushes": "always"}));
    assert!(with_capacitors < 0.3, "{with_capacitors}");
    // what is in a journal on stable media is stable
    let journal = |kind: Value| json!({"flushes": "always", "flash": merged(&kind, json!({"journal": "1 GB"}))});
    let behind_nvme = latency_ms(slow(), journal(json!({"kind": "nvme"})));
    let behind_slow = latency_ms(slow(), journal(json!({"device": "d"})));
    assert!(behind_nvme < 0.3, "{behind_nvme}");
    assert_near(behind_slow - behind_nvme, 2.010, 0.005, "ms more in the journal");
}

#[test]
fn a_write_cache_is_fast_until_it_is_full() {
    let device = json!({
        "kind": "nvme", "sequential_read": "3 GB/s", "sequential_write": "600 MB/s",
        "write_cache": {"size": "500 MB", "write": "2 GB/s"},
    });
    let more = |duration: &str| {
        let mut more = writes(device.clone(), 16, json!({"block": "128 KiB", "random_pct": 0}));
        merge(&mut more, json!({"run": {"warmup": 0, "duration": duration}}));
        let (rate, _) = io(&run(1, more));
        rate * f64::from(128 << 10)
    };
    assert_near(more("200 ms"), 2e9, 0.05 * 2e9, "it is empty at first");
    // 500 MB in 250 ms, then 600 MB/s
    let expected = 500e6 + 0.75 * 600e6;
    assert_near(
        more("1 s"),
        expected,
        0.05 * expected,
        "full after a quarter of a second",
    );
}

#[test]
fn a_drive_that_stalls_loses_that_time() {
    let of = |stalls: Value| {
        let mut device = json!({"kind": "nvme", "write_latency": "20 us", "random_write": "400000 /s"});
        merge(&mut device, stalls);
        let mut more = writes(device, 1, json!({}));
        merge(&mut more, json!({"run": {"duration": "20 s"}}));
        1e6 / io(&run(1, more)).0
    };
    let alone_us = of(json!({}));
    // one in 256 writes on average takes 5 ms more
    let found_us = of(json!({"stalls": {"written": "1 MiB", "length": "5 ms"}}));
    assert_near(found_us, alone_us + 5_000.0 / 256.0, 0.05 * found_us, "us a write");
}

#[test]
fn waits_at_a_device_are_as_the_formula_of_pollaczek_and_khinchine_says() {
    // one channel, 1 ms for 64 KiB, 4 ms for 256 KiB
    let device = json!({
        "kind": "nvme", "random_read": "1000 /s", "read_latency": "1 ms", "sequential_read": "1 GB/s",
    });
    for (large_pct, rate) in [
        (0.0_f64, 300.0_f64),
        (0.0, 700.0),
        (50.0, 200.0),
        (50.0, 320.0),
        (10.0, 500.0),
    ] {
        let part = large_pct / 100.0;
        let mean_ms = 1.0 + 3.0 * part;
        let square = (1.0 - part) + 16.0 * part;
        let busy = rate * mean_ms / 1e3;
        let wait_ms = rate / 1e3 * square / (2.0 * (1.0 - busy));
        let more = json!({
            "devices": {"d": device}, "arrays": {"disks": {"disks": {"device": "d"}}}, "run": {"duration": "300 s"},
            "workloads": {"w": {
                "arrivals": {"open": {"rate": format!("{rate} /s"), "cv": 1}}, "ios": 1, "block": "64 KiB",
                "block_mix": [{"block": "256 KiB", "share_pct": large_pct}],
            }},
        });
        let (_, latency_ms) = io(&run(1, more));
        let found_ms = latency_ms - mean_ms;
        assert_near(
            found_ms,
            wait_ms,
            0.08 * wait_ms,
            &format!("{large_pct} % large, {rate} per second"),
        );
    }
}

/// Reads and writes of 4 KiB beside one another on one channel: reads take 0.1 ms, and writes 1 ms after they are
/// acknowledged.
#[test]
fn nvme_suspends_writes_for_reads_and_others_do_not() {
    let latency_ms = |kind: &str| {
        let device =
            json!({"kind": kind, "random_read": "10000 /s", "read_latency": "100 us", "random_write": "1000 /s"});
        let more = json!({
            "devices": {"d": device}, "arrays": {"disks": {"disks": {"device": "d"}}}, "run": {"duration": "60 s"},
            "workloads": {"w": {"arrivals": {"open": {"rate": "1000 /s", "cv": 1}}, "ios": 1, "read_pct": 50}},
        });
        let run = run(1, more);
        let ways = &run.vms[0].io.as_ref().expect("it has disks").ways;
        assert_near(ways[0].count as f64, 30_000.0, 900.0, "reads are done");
        ways[0].latency_mean_ms
    };
    let alone_ms = 0.1 * (1.0 + 0.05 / (2.0 * (1.0 - 0.05)));
    let found = latency_ms("nvme");
    assert_near(found, alone_ms, 0.02, "among reads alone");
    // half a millisecond of writes for each, at more than half of what the channel can do
    let behind = latency_ms("sata-ssd");
    assert!(behind > 0.5, "{behind}");
}

/// Few reads of 0.1 ms and few synchronous writes, beside one another: what reads wait for flushes of 2 ms.
#[test]
fn reads_wait_for_a_flush_of_sata_and_pass_those_of_others() {
    let latency_ms = |kind: &str, sync_pct: u32| {
        let device = flushing(json!({
            "kind": kind, "random_read": "100000 /s", "read_latency": "100 us", "random_write": "100000 /s",
        }));
        let more = json!({
            "devices": {"d": device}, "arrays": {"disks": {"disks": {"device": "d"}}}, "run": {"duration": "300 s"},
            "workloads": {"w": {
                "arrivals": {"open": {"rate": "100 /s", "cv": 1}}, "ios": 1, "read_pct": 50, "sync_pct": sync_pct,
            }},
        });
        run(1, more).vms[0].io.as_ref().expect("it has disks").ways[0].latency_mean_ms
    };
    // 50 flushes a second, of which a read that comes during one waits for half
    let waits_ms = 50.0 * 2.0 * 2.0 / 2.0 / 1e3;
    for (kind, waits_ms) in [("sata-ssd", waits_ms), ("sas-ssd", 0.0), ("nvme", 0.0)] {
        let found = latency_ms(kind, 100) - latency_ms(kind, 0);
        assert_near(found, waits_ms, 0.015, kind);
    }
}

/// One thread that reads or writes synchronously: it sleeps deeper during a flush of 2 ms than during a read, and wakes
/// up in the latency of the I/O that it slept for.
#[test]
fn a_wake_up_is_in_the_latency_of_the_io_that_the_thread_slept_for() {
    let latencies_ms = |read_pct: u32| {
        let device = flushing(json!({"read_latency": "60 us", "random_write": "100000 /s"}));
        let more = json!({"hosts": {"h": {"power_policy": "low-power"}}, "run": {"duration": "5 s"}});
        let load = writes(device, 1, json!({"read_pct": read_pct, "sync_pct": 100}));
        let mut scenario = scenario(1, merged(&load, more));
        scenario.workloads.get_mut("w").expect("it is there").wake_up = None;
        let replication = replications(&scenario, 1).remove(0);
        let ways = &replication.vms[0].io.as_ref().expect("it has disks").ways;
        [ways[0].latency_mean_ms, ways[1].latency_mean_ms]
    };
    let ([reads_ms, _], [_, writes_ms]) = (latencies_ms(100), latencies_ms(0));
    let mixed_ms = latencies_ms(50);
    // QEMU's thread sleeps while the vCPU wakes up, and deeper if that takes longer
    assert_near(mixed_ms[0], reads_ms, 0.01, "reads beside flushes");
    assert_near(mixed_ms[1], writes_ms, 0.01, "writes beside reads");
}

/// One I/O thread of QEMU at 2 GHz: its own 9,900 cycles, and what the host's own disk adds.
#[test]
fn a_linux_host_pays_for_its_own_disk() {
    let more = json!({
        "hosts": {"h": {"clock": "2 GHz"}}, "vms": {"v": {"io_threads": 1}},
        "workloads": {"w": {"arrivals": {"io": {"outstanding": 128}}}},
        "arrays": {"disks": {"disks": {"device": "P5800X"}}},
    });
    let expected = 2e9 / (9_900.0 + 6_600.0);
    assert_near(io(&run(1, more)).0, expected, 0.01 * expected, "I/Os per second");
}

#[test]
fn a_synchronous_write_in_sequence_on_a_hard_disk_waits_for_a_revolution() {
    let disk = json!({"kind": "hdd-7.2k", "rpm": 7_200, "sequential_read": "150 MB/s"});
    let rate = |sync_pct: u32| {
        let workload = json!({"sync_pct": sync_pct, "random_pct": 0});
        io(&run(1, writes(disk.clone(), 1, workload))).0
    };
    let revolution_us = 60e6 / 7_200.0;
    assert_near(
        rate(100),
        1e6 / (revolution_us + 4_096.0 / 150.0),
        1.0,
        "its sector has passed",
    );
    assert!(rate(0) > 10_000.0, "others only transfer");
}

#[test]
fn a_disk_is_as_busy_as_the_busiest_of_channels_controller_and_flushes() {
    let busy = |more: Value| support::report(&scenario(1, more), 1).storage["disks-disks"].utilization_pct;
    let flushes = busy(writes(flushing(json!({})), 1, json!({"sync_pct": 100})));
    assert_near(flushes, 100.0, 2.0, "it flushes nearly all the time");
    // many channels, one controller: 128 KiB in sequence
    let device = json!({
        "kind": "nvme", "random_read": "500000 /s", "read_latency": "80 us", "sequential_read": "3 GB/s",
    });
    let reads = json!({
        "devices": {"d": device}, "arrays": {"disks": {"disks": {"device": "d"}}},
        "workloads": {"w": {"arrivals": {"io": {"outstanding": 32}}, "block": "128 KiB", "random_pct": 0}},
    });
    assert_near(busy(reads), 100.0, 2.0, "its controller is full");
}
