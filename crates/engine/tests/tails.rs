//! What makes slow responses slow: transactions of different size, and CPU quotas of a pool's services.

use crate::support;

use hypertwin_engine::PointReport;
use serde_json::json;
use support::{assert_near, host, merge, of, parse, report, vm};

#[test]
fn a_larger_transaction_has_more_rounds_of_cpu_and_the_same_delay() {
    let session = |cv: f64| {
        let workload = json!({"w": {
            "arrivals": {"closed": {"population": 1}}, "bursts": 20, "cpu": {"mean": "6 ms", "cv": 0}, "ios": 30,
            "delay": {"mean": "4 ms", "cv": 0}, "transaction_cv": cv,
        }});
        let vms = json!({"v": vm(1, "w", json!({}))});
        let mut host = host("linux-6.12", 1, 1, 1);
        merge(&mut host, json!({"overhead": {"cpu_per_io": "0 us"}}));
        let scenario = support::scenario(host, vms, workload, "200 s", "0 s");
        report(&scenario, 1).groups["v"].clone()
    };
    let alike = session(0.0).response_ms;
    assert_near(alike.p99, 10.0, 0.01, "all alike");
    // 20 independent bursts would hardly differ; one exponential factor makes all CPU of a transaction exponential
    let sized = session(1.0);
    let response = sized.response_ms;
    assert_near(response.mean, 10.0, 0.03, "the mean stays");
    assert_near(
        response.p50,
        4.0 + 6.0 * 2.0_f64.ln(),
        0.04,
        "median of an exponential time",
    );
    assert_near(
        response.p99,
        4.0 + 6.0 * 100.0_f64.ln(),
        0.05,
        "99th percentile of an exponential time",
    );
    assert_near(sized.run_pct, session(0.0).run_pct, 0.02, "CPU");
    assert_near(sized.iops, 3_000.0, 0.03, "I/Os");
}

/// Clients of a pool whose service has one thread a device and works 200 us on each operation, all within `limit` of a
/// CPU: four nodes of one device each; `rate` reads a second of each of eight VMs, and 32 outstanding at most.
fn pool(rate: f64, limit: Option<f64>) -> PointReport {
    let mut node = host("linux-6.12", 1, 8, 1);
    merge(&mut node, json!({"clock": "20 GHz", "count": 4}));
    let mut client = node.clone();
    client["count"] = json!(2);
    let mut text = json!({
        "name": "tails", "run": {"duration": "4 s", "warmup": "1 s", "sample_interval": "500 ms"},
        "hosts": {"node": node, "client": client},
        "vms": {"v": vm(2, "w", json!({
            "count": 8, "storage": "pool", "controller": "virtio-blk", "vdisks": 1, "host": "client",
        }))},
        "workloads": {"w": {
            "arrivals": {"io": {"outstanding": 32, "rate": format!("{rate} /s")}}, "cpu": {"mean": 0, "cv": 0},
            "block": "4 KiB", "working_set": "10 GiB", "wake_up": "0 s",
        }},
        "storage": {"pool": {
            "kind": "mirrored-mesh", "nodes": "node", "deployment": "two-layer", "stored": "20 GiB",
            "devices": {"kind": "nvme", "per_node": 1, "capacity": "1 TB"},
            "service": {"cpu_per_io": "200 us", "cv": 0, "wake_up": "0 s"}, "client": {"cpu_per_io": 0},
        }},
    });
    if let Some(limit) = limit {
        text["storage"]["pool"]["service"]["limit_cpus"] = json!(limit);
    }
    report(&parse(&text), 1)
}

/// 99th percentile of latencies in milliseconds.
fn latency(report: &PointReport) -> Option<f64> {
    of(report).io_latency_ms.as_ref().expect("it has disks").p99
}

#[test]
fn a_quota_bounds_what_the_threads_of_a_queue_do() {
    // half a CPU: 2,500 operations of 200 us a second on each of four nodes; saturated, in proportion to their data
    let held = pool(1e6, Some(0.5));
    let services = &held.storage["pool-services"];
    assert_near(
        services.utilization_max_pct,
        100.0,
        0.02,
        "the busiest thread has all of its half",
    );
    let free = of(&pool(1e6, None)).throughput_per_s;
    assert_near(
        of(&held).throughput_per_s,
        0.5 * free,
        0.03,
        "half of what it does without",
    );
    // a quota that is not used up changes nothing
    assert_near(
        latency(&pool(400.0, Some(1.0))),
        latency(&pool(400.0, None)).unwrap(),
        0.001,
        "plenty",
    );
}

/// Flat below the knee, and far up within the next 15 to 25 per cent of load: the backlog of each period waits for the
/// next.
#[test]
fn the_tail_of_a_pool_with_a_quota_jumps_at_its_knee() {
    let ratio = |load: f64, limit: Option<f64>| {
        // of 10,000 I/Os a second in all, which is what the quotas allow
        let report = pool(load * 10_000.0 / 8.0, limit);
        let latency = of(&report).io_latency_ms.as_ref().expect("it has disks");
        latency.p99.unwrap() / latency.p50.unwrap()
    };
    for load in [0.3, 0.6, 0.9] {
        let below = ratio(load, Some(0.5));
        assert!((1.0..3.5).contains(&below), "{below} at {load} of the knee");
    }
    for load in [0.95, 1.0, 1.1] {
        let beyond = ratio(load, Some(0.5));
        assert!(beyond > 4.0, "{beyond} at {load} of the knee");
    }
    let free = ratio(1.1, None);
    assert!(free < 3.5, "{free} where nothing holds the threads back");
}
