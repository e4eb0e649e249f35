//! The two benchmark models in desru: `mm1 --customers N --seed S` and
//! `network --stations K --customers N --seconds T --seed S`. Prints one JSON line.
//!
//! desru has events and a scheduler, and no state: an event is a boxed closure, which shares the model by reference
//! count. Its log of every event, which nobody reads here, is filtered out.

// A benchmark is what the clock is for.
#![allow(clippy::disallowed_methods)]

#[path = "../../line.rs"]
mod line;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::error::Error;
use std::rc::Rc;
use std::time::Instant;

use desru::EventScheduler;
use line::{ARRIVAL_RATE, Options, Outcome, exponential, stream};
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

const DOES: &str = "an event per arrival and completion, a boxed closure that shares the model; arrival time per \
    customer, mean response; event log off";

/// Stations with one server and an unbounded first-come-first-served queue of arrival times, mean service 1 s.
struct Model {
    random: Xoshiro256PlusPlus,
    queues: Vec<VecDeque<f64>>,
    arrivals_left: usize,
    completions: u64,
    response_sum_s: f64,
}

type Shared = Rc<RefCell<Model>>;

impl Model {
    fn new(stations: usize, arrivals_left: usize, seed: u64) -> Self {
        Self {
            random: stream(seed, 0),
            queues: vec![VecDeque::new(); stations],
            arrivals_left,
            completions: 0,
            response_sum_s: 0.0,
        }
    }

    fn enter(&mut self, station: usize, model: &Shared, scheduler: &mut EventScheduler) {
        self.queues[station].push_back(scheduler.current_time);
        if self.queues[station].len() == 1 {
            self.serve(station, model, scheduler);
        }
    }

    fn serve(&mut self, station: usize, model: &Shared, scheduler: &mut EventScheduler) {
        let service = exponential(&mut self.random, 1.0);
        let model = Rc::clone(model);
        let complete = move |scheduler: &mut EventScheduler| {
            model.borrow_mut().complete(station, &model, scheduler);
            None
        };
        scheduler.timeout(service, Some(Box::new(complete)), None);
    }

    fn complete(&mut self, station: usize, model: &Shared, scheduler: &mut EventScheduler) {
        let arrived = self.queues[station].pop_front().expect("one in service");
        self.completions += 1;
        self.response_sum_s += scheduler.current_time - arrived;
        if !self.queues[station].is_empty() {
            self.serve(station, model, scheduler);
        }
        if self.queues.len() > 1 {
            let next = self.random.random_range(0..self.queues.len());
            self.enter(next, model, scheduler);
        }
    }

    fn await_arrival(&mut self, model: &Shared, scheduler: &mut EventScheduler) {
        if self.arrivals_left == 0 {
            return;
        }
        self.arrivals_left -= 1;
        let gap = exponential(&mut self.random, 1.0 / ARRIVAL_RATE);
        let model = Rc::clone(model);
        let arrive = move |scheduler: &mut EventScheduler| {
            let mut inner = model.borrow_mut();
            inner.await_arrival(&model, scheduler);
            inner.enter(0, &model, scheduler);
            None
        };
        scheduler.timeout(gap, Some(Box::new(arrive)), None);
    }
}

/// Runs to the end of all events or to `until_s`, and says how many seconds that took.
fn timed(scheduler: &mut EventScheduler, until_s: f64) -> f64 {
    let clock = Instant::now();
    let stop = move |scheduler: &EventScheduler| scheduler.event_queue.peek().is_none_or(|next| next.time > until_s);
    scheduler.run(Box::new(stop), Some(Box::new(|_, _| false)));
    clock.elapsed().as_secs_f64()
}

fn mm1(options: &Options) -> Result<Outcome, Box<dyn Error>> {
    let model = Rc::new(RefCell::new(Model::new(1, options.customers, options.seed)));
    let mut scheduler = EventScheduler::new();
    model.borrow_mut().await_arrival(&model, &mut scheduler);
    let seconds = timed(&mut scheduler, f64::INFINITY);
    let seen = model.borrow();
    Ok(Outcome {
        events: 2 * seen.completions,
        seconds,
        value: seen.response_sum_s / seen.completions as f64,
    })
}

fn network(options: &Options) -> Result<Outcome, Box<dyn Error>> {
    let model = Rc::new(RefCell::new(Model::new(options.stations, 0, options.seed)));
    let mut scheduler = EventScheduler::new();
    for customer in 0..options.customers {
        model
            .borrow_mut()
            .enter(customer % options.stations, &model, &mut scheduler);
    }
    let seconds = timed(&mut scheduler, options.seconds);
    let completions = model.borrow().completions;
    Ok(Outcome {
        events: completions,
        seconds,
        value: completions as f64 / options.seconds,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    line::main("desru", "0.1.13", DOES, mm1, network)
}
