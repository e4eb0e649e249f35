//! Figures of the crooked cluster, by hand.

use crate::support;

use hypertwin_cluster::Scenario;
use serde_json::{Value, json};
use support::crooked::crooked;

fn report(scenario: &Scenario) -> Value {
    serde_json::to_value(support::report(scenario, 1)).expect("a report is JSON")
}

fn near(actual: &Value, expected: f64, part: f64, what: &str) {
    let actual = actual.as_f64().unwrap_or(f64::NAN);
    assert!(
        (actual - expected).abs() <= part * expected,
        "{what}: {actual} instead of {expected}"
    );
}

#[test]
fn what_a_vm_does_is_of_the_time_that_it_was_on() {
    // three processes on the vCPU of a VM that runs for 20 s, is down for 18 + 7, and runs again
    let report = report(&crooked(json!({
        "vms": {"files": {"workload": "three"}}, "workloads": {"three": support::hungry(3)},
        "clusters": {"default": {"ha": {"detection": "18 s"}}},
        "failures": [{"at": "20 s", "fails": ["node-1"]}],
    })));
    let vm = &report["vms"]["files"];
    near(&vm["down_s"], 25.0, 1e-6, "down");
    near(&vm["run_queue"], 3.0, 0.02, "run queue while it is on");
    near(&vm["run_pct"], 100.0, 0.02, "it always runs then");
}

#[test]
fn a_restart_keeps_a_wish_where_there_is_a_choice() {
    // four hosts are free, of which none has restarted a VM; `large` is the first
    for (wished, host) in [("node", "node-1"), ("large", "large")] {
        let report = report(&crooked(json!({
            "failures": [{"at": "5 s", "fails": ["small"]}],
            "rules": [{"name": "wish", "kind": "run-on", "vms": ["app"], "hosts": [wished], "mandatory": false}],
        })));
        let outage = &report["outages"][0];
        assert_eq!((&outage["vm"], &outage["up_on"]), (&json!("app"), &json!(host)));
    }
}

#[test]
fn maintenance_goes_by_vcpus_of_a_logical_cpu() {
    // 4 vCPUs on 16 logical CPUs are less than 2 on 4, and than 2 on 6
    let report = report(&crooked(json!({
        "vms": {
            "base": {"vcpus": 4}, "one": support::vm(2, "idle", json!({"host": "node-2"})), "two": support::vm(2, "idle", json!({"host": "node-3"})),
        },
        "events": [{"at": "5 s", "maintenance": "node-1"}],
    })));
    let moves = report["moves"].as_array().expect("a list");
    let to: Vec<&Value> = moves.iter().map(|one| &one["to"]).collect();
    assert_eq!(to, [&json!("large")], "{moves:?}");
}

#[test]
fn what_a_hypervisor_takes_for_a_vm_is_the_published_table() {
    // 21 GiB are left of `small`, which `app` and `more` fill: each has its overhead beside
    let report = report(&crooked(json!({
        "vms": {
            "app": {"memory": "16 GiB", "vcpus": 2},
            "more": support::vm(1, "idle", json!({"host": "small", "memory": "4 GiB"})),
        },
    })));
    for (name, mib) in [("app", 143.98), ("more", 48.64)] {
        let bytes = &report["vms"][name]["memory"]["overhead_bytes"];
        near(bytes, mib * f64::from(1 << 20), 0.001, name);
    }
}

#[test]
fn a_message_takes_as_long_as_the_slower_end() {
    // an I/O from `large`, with 70 us, to a node, with 500 us, and back
    let report = report(&crooked(json!({
        "run": {"duration": "5 s"},
        "vms": {"base": {
            "workload": "read", "storage": "mesh", "vdisks": 1, "vcpus": 3, "controller": "nvme",
        }},
        "workloads": {"read": {
            "arrivals": {"io": {"outstanding": 1}}, "cpu": {"mean": 0, "cv": 0}, "working_set": "100 GiB",
            "block": "4 KiB", "read_pct": 100, "wake_up": "0 s",
        }},
        "storage": {"mesh": {"service": {"wake_up": "0 s"}}},
    })));
    let latency_us = report["vms"]["base"]["io_latency_ms"]["mean"]
        .as_f64()
        .expect("it has I/Os")
        * 1e3;
    assert!(
        (1_090.0..1_190.0).contains(&latency_us),
        "{latency_us} us: two messages and a read of 90 us"
    );
}

#[test]
fn transactions_of_unlike_sizes_have_the_work_that_is_said() {
    // one round of 2 ms on average; of 30,000 the mean is off by 1.2 % with a coefficient of variation of 2
    let report = report(&crooked(json!({
        "vms": {"app": {"workload": "unlike"}},
        "workloads": {"unlike": {
            "arrivals": {"closed": {"population": 1}}, "cpu": {"mean": "2 ms", "cv": 0}, "bursts": 1,
            "transaction_cv": 2, "wake_up": "0 s",
        }},
    })));
    let vm = &report["vms"]["app"];
    let throughput = vm["throughput_per_s"].as_f64().expect("it has transactions");
    let cpu_ms = vm["used_mhz"].as_f64().expect("it runs") / 2_000.0 * 1e3 / throughput;
    assert!((cpu_ms - 2.0).abs() < 0.08, "{cpu_ms} ms of CPU for a transaction");
}

#[test]
fn a_limit_holds_at_any_clock() {
    // three vCPUs that want 3 x 3.3 GHz of turbo and may have 4 GHz of nominal cycles
    let report = report(&crooked(json!({
        "vms": {"files": {"vcpus": 3, "workload": "three", "limit": "4 GHz"}},
        "workloads": {"three": support::hungry(3)},
    })));
    near(&report["vms"]["files"]["used_mhz"], 4_000.0, 0.005, "what it may have");
}
