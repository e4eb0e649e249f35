//! Whether a run is called steady, against stations of which it is known.

use crate::support;

use hypertwin_cluster::Scenario;
use hypertwin_engine::{Condition, Steady, aggregate};
use hypertwin_sharing as exact;
use serde_json::json;
use support::{host, parse, replications, vm};

const SERVICE_S: f64 = 0.005;

/// One vCPU whose work comes at a part of what it can do, measured for so many arrivals.
fn mm1(load: f64, arrivals: f64) -> Scenario {
    let rate = load / SERVICE_S;
    let duration = (arrivals / rate).max(0.02);
    let text = json!({
        "name": "mm1",
        "run": {
            "duration": format!("{duration} s"), "warmup": format!("{} s", duration / 10.0),
            "sample_interval": format!("{} s", duration / 20.0), "seed": 7,
        },
        "hosts": {"h": host("esxi-8.0", 1, 1, 1)},
        "vms": {"v": vm(1, "w", json!({"guest": {"time_slice": "10 s"}}))},
        "workloads": {"w": {"arrivals": {"open": {"rate": format!("{rate} /s")}}, "cpu": {"mean": "5 ms", "cv": 1}, "wake_up": "0 s"}},
    });
    parse(&text)
}

#[test]
fn a_load_that_is_too_much_is_not_called_steady() {
    let mut steady = Vec::new();
    let mut runs = 0;
    for arrivals in [3.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0, 30_000.0, 100_000.0] {
        let many = if arrivals > 20_000.0 { 20 } else { 120 };
        for one in &replications(&mm1(1.02, arrivals), many) {
            runs += 1;
            let verdict = aggregate(&[one]).verdict;
            if verdict.steady == Steady::Steady {
                steady.push(arrivals);
            }
        }
    }
    assert!(
        steady.len() * 100 <= runs,
        "{} of {runs} are called steady: {steady:?}",
        steady.len()
    );
}

#[test]
fn a_load_below_what_there_is_is_steady_once_the_run_is_long_enough() {
    for (load, arrivals) in [(0.5, 10_000.0), (0.9, 50_000.0), (0.97, 500_000.0)] {
        let expected = 1e3 * exact::mm1(load / SERVICE_S, SERVICE_S).unwrap().response;
        let (mut steady, mut covered, mut why) = (0, 0, Vec::new());
        for one in &replications(&mm1(load, arrivals), 100) {
            let report = aggregate(&[one]);
            match report.verdict.reason {
                None => steady += 1,
                Some(reason) => why.push(reason.text),
            }
            let response = &report.groups["v"].response_ms;
            let half = response.ci95.unwrap_or(f64::NAN);
            covered += usize::from((response.mean.unwrap() - expected).abs() <= half);
        }
        println!("{load}: {steady} steady, {covered} covered, {why:?}");
        assert!(steady >= 90, "{load}: {steady} of 100 are steady: {why:?}");
    }
}

#[test]
fn a_short_run_does_not_know_and_says_how_long_it_takes() {
    let report = aggregate(&[&replications(&mm1(0.97, 2_000.0), 1)[0]]);
    let reason = report.verdict.reason.expect("it is not steady");
    assert_eq!(
        (report.verdict.steady, reason.condition),
        (Steady::NotKnown, Condition::Load)
    );
    assert!(
        reason.needs_s.is_none_or(|needs_s| needs_s > report.duration_s),
        "{reason:?}"
    );
}

/// Sessions that think for 10 s, measured for so long.
fn sessions(duration: &str, more: serde_json::Value) -> Scenario {
    let mut spec = vm(2, "w", json!({}));
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let text = json!({
        "name": "sessions",
        "run": {"duration": duration, "warmup": "10 s", "sample_interval": "10 ms", "replications": 1, "seed": 3},
        "hosts": {"h": host("linux-6.12", 1, 4, 1)},
        "vms": {"v": spec},
        "workloads": {"w": {"arrivals": {"closed": {"population": 400, "think": {"mean": "10 s"}}}, "cpu": {"mean": "5 ms"}}},
    });
    parse(&text)
}

#[test]
fn sessions_have_to_go_round_and_are_all_accounted_for() {
    let verdict = |duration: &str| aggregate(&[&replications(&sessions(duration, json!({})), 1)[0]]).verdict;
    let short = verdict("10 s");
    let reason = short.reason.expect("each went round once");
    assert_eq!((short.steady, reason.condition), (Steady::NotKnown, Condition::Window));
    let needs_s = reason.needs_s.expect("a length that tells");
    assert!((25.0..40.0).contains(&needs_s), "{needs_s}");
    let long = verdict("60 s");
    assert_eq!(long.steady, Steady::Steady, "{:?}", long.reason);
}

#[test]
fn a_run_that_is_shorter_than_some_periods_of_a_quota_says_so() {
    let limited = sessions("300 ms", json!({"limit": "2 GHz"}));
    let verdict = aggregate(&[&replications(&limited, 1)[0]]).verdict;
    let reason = verdict.reason.expect("three periods of 100 ms");
    assert_eq!(
        (verdict.steady, reason.condition),
        (Steady::NotKnown, Condition::Window)
    );
    assert!(reason.text.contains("CPU quota of v"), "{}", reason.text);
    assert_eq!(reason.needs_s, Some(0.5));
}

#[test]
fn a_scenario_that_leaves_its_times_open_is_not_simulated() {
    let text = json!({"name": "open", "hosts": {"h": host("esxi-8.0", 1, 1, 1)}});
    let scenario = Scenario::from_json(&text.to_string()).expect("it is valid");
    assert_eq!(
        hypertwin_engine::run(&scenario, 1).err(),
        Some(hypertwin_engine::RunError::NoTimes)
    );
}
