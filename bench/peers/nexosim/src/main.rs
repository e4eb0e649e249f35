//! The two benchmark models in nexosim: `mm1 --customers N --seed S` and
//! `network --stations K --customers N --seconds T --seed S`. Prints one JSON line.
//!
//! A station is a nexosim model: an input port for customers, a first-come-first-served queue of arrival times, and a
//! self-scheduled completion that sends the customer on through an output port. One executor thread.

// A benchmark is what the clock is for.
#![allow(clippy::disallowed_methods)]

#[path = "../../line.rs"]
mod line;

use std::collections::VecDeque;
use std::error::Error;
use std::time::{Duration, Instant};

use line::{ARRIVAL_RATE, Options, Outcome, stream};
use nexosim::model::{Context, Model, schedulable};
use nexosim::ports::{EventSinkReader, EventSource, Output, SinkState, event_slot};
use nexosim::simulation::{Mailbox, SimInit};
use nexosim::time::MonotonicTime;
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

const DOES: &str = "a model per station, message ports, self-scheduled completions, arrival time per customer, mean \
    response";

fn exponential(random: &mut Xoshiro256PlusPlus, mean_s: f64) -> Duration {
    // nexosim refuses to schedule at the current instant, so a draw below half a nanosecond becomes one.
    Duration::from_nanos(((line::exponential(random, mean_s) * 1e9).round() as u64).max(1))
}

/// What a station has seen.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Seen {
    completions: u64,
    response_sum_s: f64,
}

/// Poisson arrivals of a fixed number of customers.
#[derive(Serialize, Deserialize)]
struct Source {
    random: Xoshiro256PlusPlus,
    left: usize,
    customers: Output<()>,
}

#[Model]
impl Source {
    fn start(&mut self, _: (), context: &Context<Self>) {
        let gap = exponential(&mut self.random, 1.0 / ARRIVAL_RATE);
        context
            .schedule_event(gap, schedulable!(Self::arrive), ())
            .expect("in the future");
    }

    #[nexosim(schedulable)]
    async fn arrive(&mut self, _: (), context: &Context<Self>) {
        self.left -= 1;
        if self.left > 0 {
            self.start((), context);
        }
        self.customers.send(()).await;
    }
}

/// One server with an unbounded first-come-first-served queue and exponential service of mean 1 s.
#[derive(Serialize, Deserialize)]
struct Station {
    random: Xoshiro256PlusPlus,
    queue: VecDeque<Duration>,
    seen: Seen,
    next: Vec<Output<()>>,
    report: Output<Seen>,
}

impl Station {
    fn new(random: Xoshiro256PlusPlus) -> Self {
        Self {
            random,
            queue: VecDeque::new(),
            seen: Seen::default(),
            next: Vec::new(),
            report: Output::default(),
        }
    }
}

#[Model]
impl Station {
    fn arrive(&mut self, _: (), context: &Context<Self>) {
        self.queue.push_back(since_start(context));
        if self.queue.len() == 1 {
            self.serve(context);
        }
    }

    fn serve(&mut self, context: &Context<Self>) {
        let service = exponential(&mut self.random, 1.0);
        context
            .schedule_event(service, schedulable!(Self::complete), ())
            .expect("in the future");
    }

    #[nexosim(schedulable)]
    async fn complete(&mut self, _: (), context: &Context<Self>) {
        let arrived = self.queue.pop_front().expect("one in service");
        self.seen.completions += 1;
        self.seen.response_sum_s += (since_start(context) - arrived).as_secs_f64();
        if !self.queue.is_empty() {
            self.serve(context);
        }
        if !self.next.is_empty() {
            let choice = self.random.random_range(0..self.next.len());
            self.next[choice].send(()).await;
        }
    }

    async fn tell(&mut self, _: ()) {
        self.report.send(self.seen).await;
    }
}

fn since_start(context: &Context<Station>) -> Duration {
    context.time().duration_since(MonotonicTime::EPOCH)
}

fn mm1(options: &Options) -> Result<Outcome, Box<dyn Error>> {
    let (source_box, station_box) = (Mailbox::new(), Mailbox::new());
    let mut source = Source {
        random: stream(options.seed, 0),
        left: options.customers,
        customers: Output::default(),
    };
    let mut station = Station::new(stream(options.seed, 1));
    source.customers.connect(Station::arrive, &station_box);
    let (sink, mut report) = event_slot(SinkState::Enabled);
    station.report.connect_sink(sink);
    let mut bench = SimInit::with_num_threads(1);
    let start = EventSource::new()
        .connect(Source::start, &source_box)
        .register(&mut bench);
    let tell = EventSource::new()
        .connect(Station::tell, &station_box)
        .register(&mut bench);
    let mut simulation = bench
        .add_model(source, source_box, "source")
        .add_model(station, station_box, "station")
        .init(MonotonicTime::EPOCH)?;
    let clock = Instant::now();
    simulation.process_event(&start, ())?;
    simulation.run()?;
    let seconds = clock.elapsed().as_secs_f64();
    simulation.process_event(&tell, ())?;
    let seen: Seen = report.try_read().ok_or("no report")?;
    Ok(Outcome {
        events: 2 * seen.completions,
        seconds,
        value: seen.response_sum_s / seen.completions as f64,
    })
}

fn network(options: &Options) -> Result<Outcome, Box<dyn Error>> {
    let stations = options.stations;
    let boxes: Vec<Mailbox<Station>> = (0..stations).map(|_| Mailbox::with_capacity(stations + 1)).collect();
    let mut bench = SimInit::with_num_threads(1);
    let mut enter = Vec::new();
    let mut tell = Vec::new();
    let mut models = Vec::new();
    let mut reports = Vec::new();
    for (number, mailbox) in boxes.iter().enumerate() {
        let mut station = Station::new(stream(options.seed, number as u64));
        for target in &boxes {
            let mut output = Output::default();
            output.connect(Station::arrive, target);
            station.next.push(output);
        }
        let (sink, report) = event_slot(SinkState::Enabled);
        station.report.connect_sink(sink);
        reports.push(report);
        enter.push(
            EventSource::new()
                .connect(Station::arrive, mailbox)
                .register(&mut bench),
        );
        tell.push(EventSource::new().connect(Station::tell, mailbox).register(&mut bench));
        models.push(station);
    }
    for (number, (station, mailbox)) in models.into_iter().zip(boxes).enumerate() {
        bench = bench.add_model(station, mailbox, &format!("station-{number}"));
    }
    let mut simulation = bench.init(MonotonicTime::EPOCH)?;
    for customer in 0..options.customers {
        simulation.process_event(&enter[customer % stations], ())?;
    }
    let clock = Instant::now();
    simulation.step_until(Duration::from_secs_f64(options.seconds))?;
    let seconds = clock.elapsed().as_secs_f64();
    let mut completions = 0;
    for (source, report) in tell.iter().zip(&mut reports) {
        simulation.process_event(source, ())?;
        completions += report.try_read().ok_or("no report")?.completions;
    }
    Ok(Outcome {
        events: completions,
        seconds,
        value: completions as f64 / options.seconds,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    line::main("nexosim", "1.0.0", DOES, mm1, network)
}
