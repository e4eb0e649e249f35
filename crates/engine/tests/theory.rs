//! The twin against queueing theory. Each exact value must lie in the 95 % confidence interval of at least 16 of 20
//! seeds, each of 8 replications: of correct intervals more than 4 of 20 miss with probability 0.26 %. The seeds are
//! fixed, so a pass is a pass for good. A virtual machine is a station: its vCPUs are the servers, the guest's run
//! queue is the line (a guest time slice far above the service time makes it first come, first served).

use crate::support;

use hypertwin_cluster::Scenario;
use hypertwin_kernel::half_width_95;
use hypertwin_sharing as exact;
use serde_json::{Value, json};
use support::{host, replications, scenario, vm};

const SEEDS: usize = 20;
const REPLICATIONS: usize = 8;
const MISSES: usize = 4;

struct Measured {
    response_ms: Vec<f64>,
    throughput: Vec<f64>,
    busy: Vec<f64>,
    in_system: Vec<f64>,
}

fn measure(scenario: &Scenario, vcpus: f64) -> Measured {
    let runs = replications(scenario, (SEEDS * REPLICATIONS) as u64);
    let all = |get: fn(&hypertwin_engine::VmResult) -> f64| runs.iter().map(|run| get(&run.vms[0])).collect::<Vec<_>>();
    Measured {
        response_ms: all(|vm| vm.response_mean_ms),
        throughput: all(|vm| vm.throughput_per_s),
        busy: all(|vm| vm.run_pct / 100.0)
            .into_iter()
            .map(|busy| busy * vcpus)
            .collect(),
        in_system: all(|vm| vm.run_queue),
    }
}

#[track_caller]
fn assert_contains(what: &str, values: &[f64], exact: f64) {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let misses = values.chunks(REPLICATIONS).filter(|seed| {
        let half = half_width_95(seed).expect("there are several replications");
        assert!(
            half <= exact,
            "{what}: the interval {} +- {half} is too wide to say anything",
            mean(seed)
        );
        (mean(seed) - exact).abs() > half
    });
    let misses = misses.count();
    assert!(
        misses <= MISSES,
        "{what}: {misses} of {SEEDS} intervals miss {exact}; mean of all {}",
        mean(values)
    );
    assert!(
        (mean(values) - exact).abs() <= 0.05 * exact,
        "{what}: {} is not {exact}",
        mean(values)
    );
}

fn station(vcpus: u32, workload: Value, guest_slice: &str, hypervisor: &str) -> Scenario {
    let vms = json!({"v": vm(vcpus, "w", json!({"guest": {"time_slice": guest_slice}}))});
    scenario(
        host(hypervisor, 1, vcpus, 1),
        vms,
        json!({"w": workload}),
        "20 s",
        "2 s",
    )
}

fn open(rate: f64, mean_ms: f64, cv: f64) -> Value {
    json!({"arrivals": {"open": {"rate": format!("{rate} /s")}}, "cpu": {"mean": format!("{mean_ms} ms"), "cv": cv}})
}

/// Little's law and the utilisation law, which hold for every station: N = X R and U = X S.
fn assert_laws(measured: &Measured, service_s: f64) {
    let residual = |left: &[f64], right: Vec<f64>| -> Vec<f64> {
        left.iter().zip(right).map(|(left, right)| 1.0 + left - right).collect()
    };
    let flow = measured
        .throughput
        .iter()
        .zip(&measured.response_ms)
        .map(|(x, r)| x * r / 1e3)
        .collect();
    assert_contains("Little's law, 1 + N - X R", &residual(&measured.in_system, flow), 1.0);
    let work = measured.throughput.iter().map(|x| x * service_s).collect();
    assert_contains("utilisation law, 1 + U - X S", &residual(&measured.busy, work), 1.0);
}

#[test]
fn one_vcpu_is_an_m_m_1_station() {
    for hypervisor in ["esxi-6.0", "linux-6.6"] {
        let measured = measure(&station(1, open(160.0, 5.0, 1.0), "10 s", hypervisor), 1.0);
        let expected = exact::mm1(160.0, 0.005).unwrap();
        assert_contains("response", &measured.response_ms, expected.response * 1e3);
        assert_laws(&measured, 0.005);
    }
}

#[test]
fn one_vcpu_with_general_service_waits_by_pollaczek_and_khinchine() {
    for cv in [0.0, 0.5, 2.0] {
        let measured = measure(&station(1, open(140.0, 5.0, cv), "10 s", "esxi-6.0"), 1.0);
        let expected = exact::mg1(140.0, 0.005, cv).unwrap();
        assert_contains(
            &format!("response at cv {cv}"),
            &measured.response_ms,
            expected.response * 1e3,
        );
    }
}

#[test]
fn several_vcpus_are_an_m_m_c_station() {
    for vcpus in [2u32, 8] {
        let rate = 160.0 * f64::from(vcpus);
        let measured = measure(
            &station(vcpus, open(rate, 5.0, 1.0), "10 s", "esxi-6.0"),
            f64::from(vcpus),
        );
        let expected = exact::mmc(rate, 0.005, vcpus).unwrap();
        assert_contains(
            &format!("response with {vcpus} vCPUs"),
            &measured.response_ms,
            expected.response * 1e3,
        );
        assert_laws(&measured, 0.005);
    }
}

#[test]
fn short_guest_slices_share_the_processor_whatever_the_service_distribution() {
    for cv in [0.5, 1.0, 3.0] {
        let measured = measure(&station(1, open(70.0, 10.0, cv), "50 us", "esxi-6.0"), 1.0);
        let expected = exact::mg1_ps(70.0, 0.010).unwrap();
        assert_contains(
            &format!("response at cv {cv}"),
            &measured.response_ms,
            expected.response * 1e3,
        );
    }
}

#[test]
fn a_closed_population_follows_exact_mean_value_analysis() {
    for population in [1u32, 5, 20, 40] {
        let workload = json!({
            "arrivals": {"closed": {"population": population, "think": {"mean": "1 s"}}}, "cpu": {"mean": "30 ms"},
        });
        let measured = measure(&station(1, workload, "10 s", "esxi-6.0"), 1.0);
        let expected = exact::closed_network(&[0.030], 1.0, population);
        assert_contains(
            &format!("throughput of {population}"),
            &measured.throughput,
            expected.throughput,
        );
        assert_contains(
            &format!("response of {population}"),
            &measured.response_ms,
            expected.response * 1e3,
        );
    }
}

#[test]
fn a_closed_population_with_several_vcpus_is_the_machine_repair_model() {
    let workload = json!({
        "arrivals": {"closed": {"population": 60, "think": {"mean": "200 ms"}}}, "cpu": {"mean": "20 ms"},
        "delay": {"mean": "30 ms"},
    });
    let measured = measure(&station(4, workload, "10 s", "linux-6.6"), 4.0);
    // The delay lengthens the thinking; by insensitivity only its mean matters.
    let expected = exact::machine_repairman(60, 0.230, 0.020, 4);
    assert_contains("throughput", &measured.throughput, expected.throughput);
    let response: Vec<f64> = measured.response_ms.iter().map(|response| response - 30.0).collect();
    assert_contains("response", &response, expected.response * 1e3);
}

/// Throughput and response do not tell: by insensitivity only the mean of think times matters to them. The variance of
/// how many come in a while over their mean does: it tends to the square of the cv (renewal theory).
#[test]
fn think_times_vary_as_their_cv_says() {
    for (cv, within) in [(0.0, 0.01), (0.5, 0.1), (1.0, 0.3), (2.0, 1.5)] {
        let think = json!({"closed": {"population": 1, "think": {"mean": "5 ms", "cv": cv}}});
        let work = json!({"arrivals": think, "cpu": {"mean": "1 us", "cv": 0}});
        let report = support::report(&station(1, work, "10 s", "linux-6.6"), 1);
        let counts: Vec<f64> = report.timeline.vms["v"]
            .throughput_per_s
            .iter()
            .map(|rate| rate / 10.0)
            .collect();
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / counts.len() as f64;
        assert!(
            (variance / mean - cv * cv).abs() < within,
            "cv {cv}: {}",
            variance / mean
        );
    }
}

#[test]
fn two_busy_guests_on_one_cpu_get_half_each() {
    for hypervisor in ["esxi-6.0", "linux-6.6"] {
        let vms = json!({"v": vm(1, "w", json!({"count": 2}))});
        let scenario = scenario(
            host(hypervisor, 1, 1, 1),
            vms,
            json!({"w": support::hungry(1)}),
            "20 s",
            "1 s",
        );
        let report = support::report(&scenario, 1);
        for vm in report.vms.values() {
            assert!(
                (vm.run_pct - 50.0).abs() < 0.5 && (vm.ready_pct - 50.0).abs() < 0.5,
                "{vm:?}"
            );
        }
    }
}
