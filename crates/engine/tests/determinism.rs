//! The same scenario and seed give the same result, and one machine more does not reshuffle the others' random numbers.

use crate::support;

use hypertwin_engine::{aggregate, run};
use serde_json::json;
use support::{host, scenario, vm};

fn bytes(scenario: &hypertwin_cluster::Scenario, seed: u64) -> String {
    let result = run(scenario, seed).expect("the run succeeds");
    serde_json::to_string(&aggregate(&[&result])).expect("a report is plain data")
}

#[test]
fn same_seed_same_bytes() {
    let work =
        json!({"arrivals": {"open": {"rate": "300 /s"}}, "cpu": {"mean": "8 ms"}, "delay": {"mean": "3 ms"}, "ios": 4});
    let vms = json!({"a": vm(4, "w", json!({"count": 3}))});
    let scenario = scenario(host("esxi-6.0", 2, 2, 2), vms, json!({"w": work}), "5 s", "1 s");
    assert_eq!(bytes(&scenario, 5), bytes(&scenario, 5));
    assert_ne!(bytes(&scenario, 5), bytes(&scenario, 6));
}

#[test]
fn another_machine_elsewhere_changes_nothing() {
    let work = json!({"arrivals": {"open": {"rate": "300 /s"}}, "cpu": {"mean": "8 ms"}, "delay": {"mean": "3 ms"}});
    let mut hosts = host("linux-6.6", 1, 4, 2);
    hosts["count"] = json!(2);
    let alone = json!({"a": vm(4, "w", json!({"host": "h-1"}))});
    let beside = json!({"Z": vm(4, "w", json!({"host": "h-2"})), "a": vm(4, "w", json!({"host": "h-1"}))});
    let report = |vms| {
        let scenario = scenario(hosts.clone(), vms, json!({"w": work}), "5 s", "1 s");
        let result = run(&scenario, 3).expect("the run succeeds");
        serde_json::to_string(&aggregate(&[&result]).vms["a"]).expect("a report is plain data")
    };
    assert_eq!(report(alone), report(beside));
}
