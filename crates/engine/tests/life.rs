//! VMs stop, start, stand still and change hosts at times that the test chooses, without any policy that decides it.

mod support;

use hypertwin_cluster::Scenario;
use hypertwin_engine::{Driver, Replication, driven_run, run};
use serde_json::{Value, json};
use support::merge;

const MS: u64 = 1_000_000;

/// Two equal hosts of `family` whose cluster restarts VMs, one VM on each, with sessions that always compute or think.
fn two_hosts(version: &str, vm: Value, workload: Value) -> Scenario {
    let mut host = support::host(version, 1, 2, 1);
    host["count"] = json!(2);
    let mut text = json!({
        "name": "life", "run": {"duration": "1 s", "warmup": "0 s", "sample_interval": "100 ms"},
        "hosts": {"h": host},
        "vms": {"v": {"count": 2, "vcpus": 1, "memory": "1 GiB", "workload": "w", "guest": {"time_slice": "10 s"}}},
        "workloads": {"w": {
            "arrivals": {"closed": {"population": 1}}, "cpu": {"mean": "1 ms", "cv": 0}, "wake_up": "0 s",
        }},
    });
    if workload.get("arrivals").is_some() {
        text["workloads"]["w"]["arrivals"] = Value::Null;
    }
    merge(&mut text["vms"]["v"], vm);
    merge(&mut text["workloads"]["w"], workload);
    Scenario::from_json(&text.to_string()).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"))
}

/// A verb, with the VM and the host that it is about.
#[derive(Clone, Copy, Debug)]
enum Verb {
    Stop(usize),
    Place(usize, usize),
    Start(usize),
    Pause(usize),
    Resume(usize),
    Throttle(usize, f64),
}

fn act(driver: &mut Driver<'_>, verb: Verb) {
    match verb {
        Verb::Stop(vm) => driver.stop(vm),
        Verb::Place(vm, host) => driver.place(vm, host),
        Verb::Start(vm) => driver.start(vm),
        Verb::Pause(vm) => driver.pause(vm),
        Verb::Resume(vm) => driver.resume(vm),
        Verb::Throttle(vm, fraction) => driver.throttle(vm, fraction),
    }
}

/// A run in which each verb happens at the first event from its time on, in milliseconds.
fn with_verbs(scenario: &Scenario, verbs: &[(u64, Verb)]) -> Replication {
    let mut next = 0;
    let result = driven_run(scenario, 1, |driver| {
        while let Some(&(_, verb)) = verbs.get(next).filter(|(at, _)| driver.view().now() >= at * MS) {
            act(driver, verb);
            next += 1;
        }
    });
    assert_eq!(next, verbs.len(), "all verbs have happened");
    result.expect("the run succeeds")
}

const VERSIONS: [&str; 2] = ["esxi-8.0", "linux-6.12"];

#[test]
fn a_stopped_vm_answers_nothing_and_a_started_one_as_before() {
    for version in VERSIONS {
        let scenario = two_hosts(version, json!({}), json!({}));
        let verbs = [(200, Verb::Stop(0)), (600, Verb::Place(0, 1)), (700, Verb::Start(0))];
        let result = with_verbs(&scenario, &verbs);
        let [moved, other] = &result.vms[..] else {
            panic!("two VMs")
        };
        assert_eq!(moved.host, result.hosts[1].name, "{version}");
        // 200 ms and 300 ms of a core, in transactions of a millisecond
        assert!(
            (moved.throughput_per_s - 500.0).abs() < 3.0,
            "{version}: {}",
            moved.throughput_per_s
        );
        assert!(
            (other.throughput_per_s - 1000.0).abs() < 3.0,
            "{version}: {}",
            other.throughput_per_s
        );
        assert!(
            (moved.down_s - 0.5).abs() < 0.002 && other.down_s == 0.0,
            "{version}: {}",
            moved.down_s
        );
        // what it used counts where it used it
        let used: Vec<f64> = result
            .hosts
            .iter()
            .map(|host| host.usage_pct - host.overhead_pct)
            .collect();
        assert!(
            (used[0] - 10.0).abs() < 0.5 && (used[1] - 65.0).abs() < 0.5,
            "{version}: {used:?}"
        );
        assert_eq!(result.hosts[0].nodes[0].vcpus, 0, "{version}");
        assert_eq!(result.hosts[1].nodes[0].memory_mb, 2048.0, "{version}");
    }
}

#[test]
fn a_paused_vm_goes_on_where_it_was_on_another_host() {
    for version in VERSIONS {
        // one transaction of 600 ms, interrupted after 300 ms for as long
        let scenario = two_hosts(version, json!({}), json!({"cpu": {"mean": "600 ms"}}));
        let verbs = [(300, Verb::Pause(0)), (450, Verb::Place(0, 1)), (600, Verb::Resume(0))];
        let result = with_verbs(&scenario, &verbs);
        let [moved, other] = &result.vms[..] else {
            panic!("two VMs")
        };
        assert_eq!((moved.response_count, other.response_count), (1, 1), "{version}");
        let delay_ms = moved.response_mean_ms - other.response_mean_ms;
        assert!((delay_ms - 300.0).abs() < 25.0, "{version}: {delay_ms} ms later");
        assert_eq!(moved.down_s, 0.0, "{version}: a paused VM is not down");
    }
}

#[test]
fn arrivals_go_on_while_nobody_answers_and_do_not_double() {
    for version in VERSIONS {
        let open = json!({"arrivals": {"open": {"rate": "500 /s", "cv": 0}}});
        let scenario = two_hosts(version, json!({}), open);
        let verbs = [
            (100, Verb::Stop(0)),
            (101, Verb::Place(0, 0)),
            (102, Verb::Start(0)),
            (300, Verb::Stop(0)),
            (600, Verb::Place(0, 1)),
            (700, Verb::Start(0)),
        ];
        let result = with_verbs(&scenario, &verbs);
        // of 500 arrivals those of 402 ms are lost
        let answered = result.vms[0].response_count;
        assert!((296..=300).contains(&answered), "{version}: {answered}");
        assert!((498..=500).contains(&result.vms[1].response_count), "{version}");
    }
}

#[test]
fn a_throttled_vm_gets_its_part_of_the_time() {
    for version in VERSIONS {
        let scenario = two_hosts(version, json!({}), json!({}));
        for fraction in [0.8, 0.25] {
            let result = with_verbs(&scenario, &[(0, Verb::Throttle(0, fraction))]);
            let part = result.vms[0].throughput_per_s / result.vms[1].throughput_per_s;
            assert!(
                (part - fraction).abs() < 0.02,
                "{version}: {part} instead of {fraction}"
            );
        }
        let verbs = [(0, Verb::Throttle(0, 0.1)), (500, Verb::Throttle(0, 1.0))];
        let part = with_verbs(&scenario, &verbs).vms[0].run_pct;
        assert!((part - 55.0).abs() < 1.5, "{version}: {part} %");
    }
}

#[test]
fn a_run_without_verbs_is_that_without_a_driver() {
    let scenario = two_hosts("esxi-8.0", json!({}), json!({}));
    assert_eq!(
        with_verbs(&scenario, &[]).to_bytes(),
        run(&scenario, 1).expect("it runs").to_bytes()
    );
}
