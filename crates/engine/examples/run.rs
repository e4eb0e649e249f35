//! Runs a scenario given as JSON on standard input, and prints the report: for work on the engine without Python.

use std::io::Read;

fn main() {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .expect("standard input can be read");
    let scenario = hypertwin_cluster::Scenario::from_json(&text).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
    let start = std::time::Instant::now();
    let runs: Vec<_> = (0..u64::from(scenario.run.replications))
        .map(|k| {
            let seed = hypertwin_engine::replication_seed(scenario.run.seed, k);
            hypertwin_engine::run(&scenario, seed).unwrap_or_else(|error| panic!("{error}"))
        })
        .collect();
    let seconds = start.elapsed().as_secs_f64();
    let report = hypertwin_engine::aggregate(&runs.iter().collect::<Vec<_>>());
    eprintln!(
        "{:.0} x real time, {:.2} M events/s, {:.0} events per simulated second",
        report.simulated_s / seconds,
        report.events as f64 / seconds / 1e6,
        report.events as f64 / report.simulated_s
    );
    println!("{}", serde_json::to_string(&report).expect("a report is plain data"));
}
