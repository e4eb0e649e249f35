//! Queueing theory as the oracle of the kernel.
//!
//! Each case runs with 20 seeds. For each seed ten replications give a 95 % confidence interval (Student's t) for every
//! quantity, and the exact value must lie in it. An interval that is right 95 % of the time misses more than 4 times of
//! 20 with probability 0.26 % (binomial), so up to 4 misses are allowed per quantity.

use hypertwin_bench::bare;
use hypertwin_bench::network::{Discipline, Network, Outcome, Routing, Source, Until, run};
use hypertwin_kernel::{Draw, half_width_95, replication_seed};
use hypertwin_sharing::{closed_network, machine_repairman, mg1, mg1_ps, mm1, mmc};

const SEEDS: u64 = 20;
const REPLICATIONS: u64 = 10;
const MISSES_ALLOWED: usize = 4;
const MS: f64 = 1e6;

/// A quantity measured in one replication and its exact value.
struct Quantity {
    name: &'static str,
    exact: f64,
    of: Box<dyn Fn(&Outcome) -> f64>,
}

fn quantity(name: &'static str, exact: f64, of: impl Fn(&Outcome) -> f64 + 'static) -> Quantity {
    Quantity {
        name,
        exact,
        of: Box::new(of),
    }
}

/// Mean response of a passage, s.
fn response(exact: f64) -> Quantity {
    quantity("response", exact, |outcome| outcome.response_ns.mean() * 1e-9)
}

/// Passages per second.
fn throughput(exact: f64) -> Quantity {
    quantity("throughput", exact, Outcome::throughput_per_s)
}

fn check(case: &str, network: &Network, warmup: u64, measured: u64, mut quantities: Vec<Quantity>) {
    // Little's law and the utilisation law (with the exact mean service), summed over the stations that are no delay.
    let served: Vec<(usize, f64)> = network
        .stations
        .iter()
        .enumerate()
        .filter(|(_, station)| station.1 != Discipline::Delay)
        .map(|(place, station)| (place, station.0.mean() * 1e-9))
        .collect();
    let stations = served.clone();
    quantities.push(quantity(
        "number - throughput x response (Little)",
        0.0,
        move |outcome| {
            let difference = |&(place, _): &(usize, f64)| {
                let station = &outcome.stations[place];
                station.number - station.completions as f64 / outcome.measured_s() * station.response_ns.mean() * 1e-9
            };
            stations.iter().map(difference).sum()
        },
    ));
    quantities.push(quantity(
        "busy - throughput x service (utilisation law)",
        0.0,
        move |outcome| {
            let difference = |&(place, mean_s): &(usize, f64)| {
                let station = &outcome.stations[place];
                station.busy - station.completions as f64 / outcome.measured_s() * mean_s
            };
            served.iter().map(difference).sum()
        },
    ));
    let mut misses = vec![0; quantities.len()];
    for seed in 1..=SEEDS {
        let outcomes: Vec<Outcome> = (0..REPLICATIONS)
            .map(|k| run(network, replication_seed(seed, k), Until::Passages { warmup, measured }))
            .collect();
        for (quantity, misses) in quantities.iter().zip(&mut misses) {
            let values: Vec<f64> = outcomes.iter().map(&quantity.of).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let half_width = half_width_95(&values).expect("ten finite values");
            // Constant service leaves nothing but rounding in the utilisation law.
            if (mean - quantity.exact).abs() > half_width + 1e-9 {
                *misses += 1;
            }
            // An interval that contains the exact value only because it is wide shows nothing.
            if quantity.exact != 0.0 {
                assert!(
                    half_width < 0.2 * quantity.exact,
                    "{case}: {} ± {half_width}",
                    quantity.name
                );
            }
        }
    }
    println!("{case}: misses {misses:?}");
    for (quantity, misses) in quantities.iter().zip(misses) {
        assert!(
            misses <= MISSES_ALLOWED,
            "{case}: {} misses its interval for {misses} of {SEEDS} seeds",
            quantity.name
        );
    }
}

/// One station with Poisson arrivals, service of mean 1 ms.
fn open(rate_per_s: f64, cv: f64, discipline: Discipline) -> Network {
    Network {
        source: Source::Open(Draw::new(1e9 / rate_per_s, 1.0)),
        routing: Routing::Tandem,
        stations: vec![(Draw::new(MS, cv), discipline)],
    }
}

#[test]
fn mm1_queue() {
    for load in [0.3, 0.7] {
        let exact = mm1(1000.0 * load, 1e-3).unwrap();
        let network = open(1000.0 * load, 1.0, Discipline::Fcfs(1));
        let number = quantity("number", exact.number, |outcome| outcome.stations[0].number);
        let busy = quantity("busy", exact.utilization, |outcome| outcome.stations[0].busy);
        let quantities = vec![response(exact.response), throughput(exact.throughput), number, busy];
        check(&format!("M/M/1 at {load}"), &network, 1000, 6000, quantities);
    }
}

#[test]
fn mmc_queue() {
    for (servers, load) in [(3, 0.8), (16, 0.9)] {
        let rate = 1000.0 * load * f64::from(servers);
        let exact = mmc(rate, 1e-3, servers).unwrap();
        let network = open(rate, 1.0, Discipline::Fcfs(servers));
        check(
            &format!("M/M/{servers} at {load}"),
            &network,
            2000,
            8000,
            vec![response(exact.response)],
        );
    }
}

#[test]
fn mg1_queue() {
    for cv in [0.0, 0.5, 0.8, 2.0] {
        let exact = mg1(600.0, 1e-3, cv).unwrap();
        let network = open(600.0, cv, Discipline::Fcfs(1));
        check(
            &format!("M/G/1 with cv {cv}"),
            &network,
            1000,
            6000,
            vec![response(exact.response)],
        );
    }
}

#[test]
fn mg1_processor_sharing_is_insensitive() {
    for cv in [0.0, 0.5, 1.0, 2.0] {
        let exact = mg1_ps(600.0, 1e-3).unwrap();
        let network = open(600.0, cv, Discipline::ProcessorSharing);
        check(
            &format!("M/G/1-PS with cv {cv}"),
            &network,
            1000,
            6000,
            vec![response(exact.response)],
        );
    }
}

fn closed(demands_ms: &[f64], think_ms: f64, customers: u32, discipline: Discipline) -> Network {
    let mut stations: Vec<_> = demands_ms
        .iter()
        .map(|&ms| (Draw::new(ms * MS, 1.0), discipline))
        .collect();
    if think_ms > 0.0 {
        stations.insert(0, (Draw::new(think_ms * MS, 1.0), Discipline::Delay));
    }
    Network {
        source: Source::Closed(customers),
        routing: Routing::Tandem,
        stations,
    }
}

#[test]
fn closed_networks_against_exact_mean_value_analysis() {
    let cases: [(&[f64], f64, u32, Discipline); 4] = [
        (&[9.8, 2.5, 0.72, 9.8], 0.0, 10, Discipline::Fcfs(1)),
        (&[5.0, 30.0, 27.0], 1000.0, 5, Discipline::Fcfs(1)),
        (&[5.0, 30.0, 27.0], 1000.0, 20, Discipline::Fcfs(1)),
        (&[5.0, 30.0, 27.0], 1000.0, 20, Discipline::ProcessorSharing),
    ];
    for (demands_ms, think_ms, customers, discipline) in cases {
        let demands: Vec<f64> = demands_ms.iter().map(|ms| ms * 1e-3).collect();
        let exact = closed_network(&demands, think_ms * 1e-3, customers);
        let network = closed(demands_ms, think_ms, customers, discipline);
        let case = format!("closed network of {customers}, {discipline:?}");
        check(
            &case,
            &network,
            400,
            2500,
            vec![response(exact.response), throughput(exact.throughput)],
        );
    }
}

#[test]
fn machine_repairman_with_several_servers() {
    let exact = machine_repairman(30, 0.05, 5e-3, 2);
    let network = closed(&[5.0], 50.0, 30, Discipline::Fcfs(2));
    let quantities = vec![response(exact.response), throughput(exact.throughput)];
    check("M/M/2//30", &network, 1000, 6000, quantities);
}

#[test]
fn uniform_routing_is_a_balanced_network() {
    // Ten equal stations: X = N / (S (N + M - 1)) per station and visit, so a visit takes S (N + M - 1) / M.
    let network = Network {
        source: Source::Closed(40),
        routing: Routing::Uniform,
        stations: vec![(Draw::new(10.0 * MS, 1.0), Discipline::Fcfs(1)); 10],
    };
    check(
        "uniform routing",
        &network,
        5000,
        10_000,
        vec![response(10e-3 * 49.0 / 10.0)],
    );
}

#[test]
fn response_time_of_mm1_is_exponential() {
    // Quantiles of the response of M/M/1: -ln(1 - q) / (mu - lambda). 2 % at 400,000 customers, over 4 standard errors.
    let outcome = run(
        &open(500.0, 1.0, Discipline::Fcfs(1)),
        1,
        Until::Passages {
            warmup: 1000,
            measured: 400_000,
        },
    );
    for q in [0.5, 0.9, 0.99] {
        let exact = -(1.0f64 - q).ln() / 500.0 * 1e9;
        let found = outcome.response_ns.quantile(q) as f64;
        assert!((found / exact - 1.0).abs() < 0.02, "{q}: {found} instead of {exact}");
    }
}

#[test]
fn the_bare_loops_are_the_same_models() {
    // Standard error of the mean response at load 0.8 and 300,000 customers: about 2.5 %.
    let (events, mean) = bare::mm1(1e6 / 0.8, 1e6, 300_000, 1);
    assert!(events >= 600_000 && (mean / 5e6 - 1.0).abs() < 0.08, "{mean}");
    let (_, mean) = bare::network(10, 40, 1e7, 100_000_000_000, 1);
    assert!((mean / 4.9e7 - 1.0).abs() < 0.03, "{mean}");
    let (_, step) = bare::hold(1e9, 1000, 200_000, 1);
    assert!((step / 1e6 - 1.0).abs() < 0.02, "{step}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let network = closed(&[5.0, 30.0, 27.0], 1000.0, 20, Discipline::ProcessorSharing);
    let until = Until::Passages {
        warmup: 100,
        measured: 1000,
    };
    let digest = |seed| format!("{:?}", run(&network, seed, until).stations);
    assert_eq!(digest(3), digest(3));
    assert_ne!(digest(3), digest(4));
}
