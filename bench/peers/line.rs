//! What the Rust peers share: their command line, their random numbers and the JSON line that every benchmark program
//! prints.

use std::error::Error;
use std::str::FromStr;

use rand::{Rng, SeedableRng};
use rand_distr::Exp1;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Customers per second of the M/M/1 model; the mean service time of every model is 1 s.
pub const ARRIVAL_RATE: f64 = 0.8;

/// Sizes of a run.
pub struct Options {
    pub customers: usize,
    pub stations: usize,
    pub seconds: f64,
    pub seed: u64,
}

/// What a run gave: the mean response in seconds (M/M/1), or completions per second (network).
pub struct Outcome {
    pub events: u64,
    pub seconds: f64,
    pub value: f64,
}

/// Reads `mm1|network [--customers N] [--stations K] [--seconds T] [--seed S]`, runs the model and prints its line.
pub fn main(
    tool: &str,
    version: &str,
    does: &str,
    mm1: impl FnOnce(&Options) -> Result<Outcome, Box<dyn Error>>,
    network: impl FnOnce(&Options) -> Result<Outcome, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let case = arguments.first().map_or("", String::as_str);
    let options = Options {
        customers: option(
            &arguments,
            "--customers",
            if case == "mm1" { 1_000_000 } else { 10_000 },
        ),
        stations: option(&arguments, "--stations", 100),
        seconds: option(&arguments, "--seconds", 10_000.0),
        seed: option(&arguments, "--seed", 1),
    };
    let (outcome, what, exact) = match case {
        "mm1" => (mm1(&options)?, "mean_response_s", 1.0 / (1.0 - ARRIVAL_RATE)),
        "network" => {
            let (customers, stations) = (options.customers as f64, options.stations as f64);
            let exact = customers * stations / (customers + stations - 1.0);
            (network(&options)?, "throughput_per_s", exact)
        }
        _ => return Err("usage: mm1|network [--customers N] [--stations K] [--seconds T] [--seed S]".into()),
    };
    println!(
        "{{\"case\": \"{case}\", \"tool\": \"{tool}\", \"version\": \"{version}\", \"events\": {}, \"seconds\": {:?}, \
         \"events_per_s\": {:?}, \"peak_rss_mib\": {:.1}, \"check\": {{\"what\": \"{what}\", \"value\": {:?}, \
         \"exact\": {exact:?}}}, \"does\": \"{does}\"}}",
        outcome.events,
        outcome.seconds,
        outcome.events as f64 / outcome.seconds,
        peak_rss_mib(),
        outcome.value,
    );
    Ok(())
}

/// A random stream of its own for every number.
pub fn stream(seed: u64, number: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number))
}

/// An exponential draw in seconds.
pub fn exponential(random: &mut Xoshiro256PlusPlus, mean_s: f64) -> f64 {
    let unit: f64 = random.sample(Exp1);
    unit * mean_s
}

fn option<T: FromStr>(arguments: &[String], name: &str, default: T) -> T {
    let position = arguments.iter().position(|argument| argument == name);
    position
        .and_then(|at| arguments.get(at + 1))
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

fn peak_rss_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}
