//! Benchmarks of the kernel against a bare binary heap. Each run prints one line of JSON.

use hypertwin_bench::bare;
use hypertwin_bench::network::{Discipline, Network, Routing, Source, Until, run};
use hypertwin_kernel::{Calendar, Draw, Stream};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "\
usage: hypertwin-bench CASE [--NAME VALUE]...
  mm1, mm1-heap           --customers 1000000 --load 0.8 --seed 1
  network, network-heap   --stations 100 --customers 10000 --seconds 2000 --seed 1
  hold, hold-heap         --pending 1000 --events 10000000 --seed 1
  moves                   --pending 200 --events 5000000 --moves 4 --seed 1
Service times have a mean of 1 ms (mm1), 10 ms (network); delays in the hold model 1 s.";

const SERVICE_NS: f64 = 1e6;
const STATION_NS: f64 = 1e7;
const DELAY_NS: f64 = 1e9;
const PASSAGE_STATISTICS: &str = "calendar with cancellable events, named random streams (xoshiro256++, ziggurat); \
    per customer: \
    response histogram, response tally, time averages of number present and busy servers";
const BARE: &str = "BinaryHeap, inline xorshift; only a count and a sum";

struct Measurement {
    events: u64,
    check: f64,
    does: &'static str,
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((case, options)) = parse(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let number = |name: &str, default: f64| options.get(name).copied().unwrap_or(default);
    let seed = number("seed", 1.0) as u64;
    let pending = number("pending", 1000.0) as usize;
    let started = Instant::now();
    let measured = match case {
        "mm1" => mm1(number("customers", 1e6) as u64, number("load", 0.8), seed),
        "mm1-heap" => bare_measurement(bare::mm1(
            SERVICE_NS / number("load", 0.8),
            SERVICE_NS,
            number("customers", 1e6) as u64,
            seed,
        )),
        "network" => network(
            number("stations", 100.0) as usize,
            number("customers", 1e4) as u32,
            number("seconds", 2000.0),
            seed,
        ),
        "network-heap" => bare_measurement(bare::network(
            number("stations", 100.0) as usize,
            number("customers", 1e4) as usize,
            STATION_NS,
            (number("seconds", 2000.0) * 1e9) as u64,
            seed,
        )),
        "hold" => hold(pending, number("events", 1e7) as u64, seed),
        "hold-heap" => bare_measurement(bare::hold(DELAY_NS, pending, number("events", 1e7) as u64, seed)),
        "moves" => moves(pending, number("events", 5e6) as u64, number("moves", 4.0) as u64, seed),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    let seconds = started.elapsed().as_secs_f64();
    let (case, tool) = match case.strip_suffix("-heap") {
        Some(case) => (case, "bare-binary-heap"),
        None => (case, "hypertwin-kernel"),
    };
    println!(
        "{}",
        serde_json::json!({
            "case": case,
            "tool": tool,
            "events": measured.events,
            "seconds": seconds,
            "events_per_s": measured.events as f64 / seconds,
            "peak_rss_mib": peak_rss_mib(),
            "check": measured.check,
            "does": measured.does,
            "options": options,
        })
    );
    ExitCode::SUCCESS
}

fn parse(arguments: &[String]) -> Option<(&str, BTreeMap<&str, f64>)> {
    let (case, rest) = arguments.split_first()?;
    let mut options = BTreeMap::new();
    for pair in rest.chunks(2) {
        let [name, value] = pair else { return None };
        options.insert(
            name.strip_prefix("--")?,
            value.parse().ok().filter(|&value| value >= 0.0)?,
        );
    }
    Some((case, options))
}

fn bare_measurement((events, check): bare::Bare) -> Measurement {
    Measurement {
        events,
        check,
        does: BARE,
    }
}

/// The check is the mean response in ns: 1 ms / (1 - load) in theory.
fn mm1(customers: u64, load: f64, seed: u64) -> Measurement {
    let network = Network {
        source: Source::Open(Draw::new(SERVICE_NS / load, 1.0)),
        routing: Routing::Tandem,
        stations: vec![(Draw::new(SERVICE_NS, 1.0), Discipline::Fcfs(1))],
    };
    let outcome = run(
        &network,
        seed,
        Until::Passages {
            warmup: 0,
            measured: customers,
        },
    );
    Measurement {
        events: outcome.events,
        check: outcome.response_ns.mean(),
        does: PASSAGE_STATISTICS,
    }
}

/// The check is the mean time of a visit in ns.
fn network(stations: usize, customers: u32, seconds: f64, seed: u64) -> Measurement {
    let network = Network {
        source: Source::Closed(customers),
        routing: Routing::Uniform,
        stations: vec![(Draw::new(STATION_NS, 1.0), Discipline::Fcfs(1)); stations],
    };
    let outcome = run(
        &network,
        seed,
        Until::Time {
            warmup: 0,
            end: (seconds * 1e9) as u64,
        },
    );
    Measurement {
        events: outcome.events,
        check: outcome.response_ns.mean(),
        does: PASSAGE_STATISTICS,
    }
}

/// The check is the mean step of the clock in ns: 1 s / pending in theory.
fn hold(pending: usize, events: u64, seed: u64) -> Measurement {
    let mut stream = Stream::named(seed, "hold");
    let delay = Draw::new(DELAY_NS, 1.0);
    let mut calendar = Calendar::new();
    for event in 0..pending as u32 {
        calendar.schedule(delay.sample(&mut stream), 0, event);
    }
    for _ in 0..events {
        let (now, event) = calendar.pop().expect("the number of events is constant");
        calendar.schedule(now + delay.sample(&mut stream), 0, event);
    }
    Measurement {
        events,
        check: calendar.now() as f64 / events as f64,
        does: "calendar with cancellable events, one named random stream (xoshiro256++, ziggurat)",
    }
}

/// The hold model in which each event also moves `moves` others, chosen at random, to a new time: what a scheduler does
/// when the speed of its neighbours changes. An operation is a pop with its schedule, or a move.
fn moves(pending: usize, events: u64, moves: u64, seed: u64) -> Measurement {
    let mut stream = Stream::named(seed, "moves");
    let delay = Draw::new(DELAY_NS, 1.0);
    let mut calendar = Calendar::new();
    let mut ids: Vec<_> = (0..pending as u32)
        .map(|event| calendar.schedule(delay.sample(&mut stream), 0, event))
        .collect();
    for _ in 0..events / (moves + 1) {
        let (now, event) = calendar.pop().expect("the number of events is constant");
        ids[event as usize] = calendar.schedule(now + delay.sample(&mut stream), 0, event);
        for _ in 0..moves {
            let other = stream.below(pending as u64) as usize;
            let at = now + delay.sample(&mut stream);
            ids[other] = calendar.reschedule(ids[other], at).expect("every event is pending");
        }
    }
    Measurement {
        events,
        check: calendar.now() as f64 / calendar.popped() as f64,
        does: "pops with a schedule, and moves of pending events",
    }
}

/// The largest resident memory of this process, MiB; 0 where the system does not tell.
fn peak_rss_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status.lines().find_map(|line| {
        line.strip_prefix("VmHWM:")?
            .trim()
            .strip_suffix(" kB")?
            .parse::<f64>()
            .ok()
    });
    kib.unwrap_or(0.0) / 1024.0
}
