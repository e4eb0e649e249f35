//! Ways between hosts and arrays: disks inside a host, several paths to a LUN, ports that fail, protocols.

mod support;

use hypertwin_cluster::Scenario;
use hypertwin_engine::Replication;
use serde_json::{Value, json};
use support::{host, merge, replications, vm};

/// A fast host with a generator of next to no CPU on an array that answers from its cache at once; `more` is merged over all.
fn text(more: Value) -> Value {
    let mut host = host("linux-6.12", 1, 8, 1);
    host["clock"] = json!("20 GHz");
    host["adapters"] = json!({"ports": 4, "bandwidth": "1 GB/s", "command": 0, "latency": 0, "lun_depth": 4096});
    let mut text = json!({
        "name": "paths", "run": {"duration": "1 s", "warmup": "200 ms", "sample_interval": "100 ms"},
        "hosts": {"h": host},
        "vms": {"v": vm(4, "w", json!({"array": "san", "controller": "nvme", "vdisks": 1, "vdisk_depth": 1024}))},
        "workloads": {"w": {
            "arrivals": {"io": {"outstanding": 64}}, "cpu": {"mean": 0, "cv": 0}, "working_set": "1 GiB",
            "block": "64 KiB", "wake_up": "0 s",
        }},
        "arrays": {"san": {
            "front_end_ports": 4, "port_bandwidth": "1 TB/s", "port_command": 0, "raid": "raid-0",
            "disks": {"kind": "nvme", "count": 1},
        }},
    });
    if more["arrays"]["san"]["protocol"] != "local" {
        text["arrays"]["san"]["cache"] = json!({"latency": 0});
    }
    merge(&mut text, more);
    text
}

fn scenario(more: Value) -> Scenario {
    Scenario::from_json(&text(more).to_string()).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"))
}

/// I/Os per second of all VMs, and their mean latency in milliseconds.
fn io(run: &Replication) -> (f64, f64) {
    let all = run.vms.iter().map(|vm| vm.io.as_ref().expect("it has disks").all);
    let count: u64 = all.clone().map(|sums| sums.count).sum();
    let sum: f64 = all.map(|sums| sums.latency_mean_ms * sums.count as f64).sum();
    (count as f64 / 1.0, sum / count as f64)
}

fn of(more: Value) -> (f64, f64) {
    io(&replications(&scenario(more), 1)[0])
}

#[track_caller]
fn assert_near(actual: f64, expected: f64, tolerance: f64, what: &str) {
    assert!(
        (actual - expected).abs() <= tolerance * expected,
        "{what}: {actual} instead of {expected}"
    );
}

fn stations(run: &Replication) -> Vec<&str> {
    run.stations.iter().map(|station| station.name.as_str()).collect()
}

#[test]
fn a_local_drive_costs_its_own_time_only() {
    let local = |outstanding: u32, more: Value| {
        let mut all = json!({
            "arrays": {"san": {"protocol": "local"}},
            "workloads": {"w": {"arrivals": {"io": {"outstanding": outstanding}}, "block": "4 KiB"}},
        });
        merge(&mut all, more);
        all
    };
    // 90 us of flash, beside some 2 us of CPU at 20 GHz
    let (_, latency_ms) = of(local(1, json!({})));
    assert!((0.090..0.094).contains(&latency_ms), "{latency_ms}");
    let slower = of(local(1, json!({"arrays": {"san": {"cache": {"latency": "100 us"}}}})));
    assert_near(slower.1 - latency_ms, 0.1, 0.01, "the scenario's own latency counts");

    // the LUN depth of a fabric does not hold back a drive of depth 1,024, whose 32 channels take 90 us each
    let hosts = json!({"hosts": {"h": {"adapters": {"lun_depth": 1}}}, "vms": {"v": {"vcpus": 8}}});
    let busy = scenario(local(1024, hosts));
    let run = &replications(&busy, 1)[0];
    let (rate, _) = io(run);
    assert_near(rate, 32.0 / 90e-6, 0.05, "what its channels do");
    assert_eq!(
        stations(run)
            .iter()
            .filter(|name| name.contains("port") || name.starts_with("san"))
            .collect::<Vec<_>>(),
        [&"san-disks"],
        "no ports, no cache"
    );
}

#[test]
fn local_drives_share_the_work_and_protect_each_other() {
    let run = |raid: &str, count: u32| {
        let more = json!({
            "arrays": {"san": {"protocol": "local", "raid": raid, "disks": {"kind": "hdd-15k", "count": count}}},
            "workloads": {"w": {"read_pct": 0, "block": "4 KiB", "arrivals": {"io": {"outstanding": 64 * count}}}},
        });
        of(more).0
    };
    let one = run("raid-0", 1);
    assert_near(run("raid-0", 4), 4.0 * one, 0.05, "four disks");
    assert_near(
        run("raid-1", 4),
        2.0 * one,
        0.05,
        "each write on two: no cache takes it before",
    );
}
