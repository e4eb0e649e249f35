//! Hosts that fail: how long they and their VMs are down, which VMs stop with them, and what that means for the rest of
//! the report. What a failure means for the data of pools is in `pool.rs`.

use crate::support;

use hypertwin_cluster::Scenario;
use hypertwin_engine::PointReport;
use serde_json::{Value, json};

/// Three hosts with a VM on the first and two on the second, all of one group; measured from 200 ms to 1,200 ms.
fn report(failures: Value) -> PointReport {
    let mut host = support::host("esxi-7.0", 1, 4, 1);
    host["count"] = json!(3);
    let workload = json!({
        "arrivals": {"closed": {"population": 1}}, "cpu": {"mean": "1 ms", "cv": 0}, "delay": {"mean": "1 ms", "cv": 0},
        "wake_up": "0 s",
    });
    let text = json!({
        "name": "failures",
        "run": {"duration": "1 s", "warmup": "200 ms", "sample_interval": "100 ms"},
        "hosts": {"h": host},
        "vms": {
            "alone": support::vm(1, "w", json!({"host": "h-1"})),
            "pair": support::vm(1, "w", json!({"host": "h-2", "count": 2})),
            "wide": support::vm(1, "w", json!({"count": 3})),
        },
        "workloads": {"w": workload}, "failures": failures,
    });
    let scenario = support::parse(&text);
    support::report(&scenario, 2)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.3
}

#[test]
fn time_down_is_what_of_it_was_measured() {
    let once = |at: &str, returns: &str| json!([{"at": at, "fails": ["h-1"], "returns": returns}]);
    let overlapping = json!([
        {"at": "300 ms", "fails": ["h-1"], "returns": "600 ms"}, {"at": "500 ms", "fails": ["h-1"], "returns": "900 ms"},
    ]);
    for (failures, down_s, incidents, is_steady) in [
        (json!([]), 0.0, vec![], true),
        (once("400 ms", "700 ms"), 0.3, vec![0.4, 0.7], false),
        (json!([{"at": "500 ms", "fails": ["h-1"]}]), 0.7, vec![0.5], false),
        (once("0 s", "300 ms"), 0.1, vec![0.0, 0.3], false),
        (once("0 s", "100 ms"), 0.0, vec![0.0, 0.1], true),
        (once("200 ms", "5 s"), 1.0, vec![0.2], true),
        (once("5 s", "6 s"), 0.0, vec![], true),
        (overlapping, 0.6, vec![0.3, 0.9], false),
    ] {
        let what = failures.to_string();
        let report = report(failures);
        assert_eq!(report.hosts["h-1"].down_s, down_s, "{what}");
        assert_eq!(report.hosts["h-2"].down_s, 0.0, "{what}");
        assert_eq!(report.vms["alone"].down_s, down_s, "{what}");
        assert_eq!(
            (report.vms["pair-2"].down_s, report.groups["pair"].down_s),
            (0.0, 0.0),
            "{what}"
        );
        let times: Vec<f64> = report.failures.iter().map(|failure| failure.time_s).collect();
        assert_eq!(times, incidents, "{what}");
        assert_eq!(report.steady, is_steady, "{what}");
        // a VM that is down waits, and half of the time that it is up
        let (alone, up) = (&report.vms["alone"], 1.0 - down_s);
        assert!(
            close(alone.run_pct, 50.0 * up) && close(alone.wait_pct, 100.0 - 50.0 * up),
            "{what}: {alone:?}"
        );
        assert!(close(report.vms["pair-1"].run_pct, 50.0), "{what}");
    }
}

#[test]
fn a_failure_names_the_hosts_and_the_vms_that_stop_with_them() {
    let report = report(json!([
        {"at": "400 ms", "fails": ["h-2", "h-3"], "returns": "600 ms"}, {"at": "500 ms", "fails": ["h-3"]},
    ]));
    let host_of = |vm: &str| report.vms[vm].host.clone().expect("a VM has a host");
    assert_eq!(
        (host_of("alone"), host_of("pair-1"), host_of("pair-2")),
        ("h-1".into(), "h-2".into(), "h-2".into())
    );
    let on = |hosts: &[&str]| -> Vec<String> {
        let names = ["alone", "pair-1", "pair-2", "wide-1", "wide-2", "wide-3"];
        let is_there = |vm: &&&str| hosts.contains(&host_of(vm).as_str());
        names.iter().filter(is_there).map(ToString::to_string).collect()
    };
    let told: Vec<_> = report
        .failures
        .iter()
        .map(|one| (one.time_s, one.fails, one.hosts.join(" ")))
        .collect();
    // h-3 has failed once more by the time that the first failure ends, so only h-2 comes back
    assert_eq!(
        told,
        [(0.4, true, "h-2 h-3".to_owned()), (0.6, false, "h-2".to_owned())]
    );
    assert_eq!(report.failures[0].what, "h-2, h-3");
    assert_eq!(
        (&report.failures[0].vms, &report.failures[1].vms),
        (&on(&["h-2", "h-3"]), &on(&["h-2"]))
    );
    // a group is down as long as its VMs are on average, on hosts of which each is named once
    let down: f64 = ["wide-1", "wide-2", "wide-3"]
        .map(|vm| report.vms[vm].down_s)
        .iter()
        .sum();
    assert!((report.groups["wide"].down_s - down / 3.0).abs() < 1e-12 && down > 0.0);
    assert_eq!(report.groups["pair"].hosts, Some(vec!["h-2".to_owned()]));
    assert_eq!(
        (report.groups["pair"].host.as_ref(), report.vms["alone"].hosts.as_ref()),
        (None, None)
    );
}

#[test]
fn a_host_without_vms_may_fail_in_a_steady_run() {
    let spare = |vms: Value| {
        let text = json!({
            "name": "spare", "run": {"duration": "1 s", "warmup": "100 ms", "sample_interval": "100 ms"},
            "hosts": {"h": support::host("esxi-7.0", 1, 2, 1), "spare": support::host("esxi-7.0", 1, 2, 1)},
            "vms": vms, "workloads": {"w": support::hungry(1)},
            "failures": [{"at": "500 ms", "fails": ["spare"]}],
        });
        support::report(&Scenario::from_json(&text.to_string()).expect("it is valid"), 1)
    };
    let report = spare(json!({"v": support::vm(1, "w", json!({"host": "h"}))}));
    assert_eq!(
        (report.steady, report.failures.len(), report.hosts["spare"].down_s),
        (true, 1, 0.6)
    );
    assert!(report.failures[0].vms.is_empty());
}
