//! The two benchmark models in simrs: `mm1 --customers N --seed S` and
//! `network --stations K --customers N --seconds T --seed S`. Prints one JSON line.
//!
//! One component is the whole model and keeps its state itself: simrs's own store of values and queues costs a hash
//! lookup each time, and a component per station an event more per customer.

// A benchmark is what the clock is for.
#![allow(clippy::disallowed_methods)]

#[path = "../../line.rs"]
mod line;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::error::Error;
use std::rc::Rc;
use std::time::{Duration, Instant};

use line::{ARRIVAL_RATE, Options, Outcome, exponential, stream};
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use simrs::{Component, ComponentId, Executor, Scheduler, Simulation, State};

const DOES: &str = "one component with all stations, a boxed event per arrival and completion; arrival time per \
    customer, mean response";

/// What happens in the model.
#[derive(Debug)]
enum Event {
    /// Customers enter from outside: one at each of the first stations, in turn.
    Enter { customers: usize },
    /// A customer comes from outside, and another one will.
    Arrive,
    /// A station has served its first customer.
    Complete { station: usize },
}

/// Stations with one server and an unbounded first-come-first-served queue of arrival times, mean service 1 s.
struct Model {
    random: Xoshiro256PlusPlus,
    queues: Vec<VecDeque<Duration>>,
    arrivals_left: usize,
    completions: u64,
    response_sum_s: f64,
}

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

    fn delay(&mut self, mean_s: f64) -> Duration {
        Duration::from_secs_f64(exponential(&mut self.random, mean_s))
    }

    fn enter(&mut self, station: usize, me: ComponentId<Event>, scheduler: &mut Scheduler) {
        self.queues[station].push_back(scheduler.time());
        if self.queues[station].len() == 1 {
            self.serve(station, me, scheduler);
        }
    }

    fn serve(&mut self, station: usize, me: ComponentId<Event>, scheduler: &mut Scheduler) {
        scheduler.schedule(self.delay(1.0), me, Event::Complete { station });
    }

    fn complete(&mut self, station: usize, me: ComponentId<Event>, scheduler: &mut Scheduler) {
        let arrived = self.queues[station].pop_front().expect("one in service");
        self.completions += 1;
        self.response_sum_s += (scheduler.time() - arrived).as_secs_f64();
        if !self.queues[station].is_empty() {
            self.serve(station, me, scheduler);
        }
        if self.queues.len() > 1 {
            let next = self.random.random_range(0..self.queues.len());
            self.enter(next, me, scheduler);
        }
    }
}

/// A model that can be looked at after the run.
struct Shared(Rc<RefCell<Model>>);

impl Component for Shared {
    type Event = Event;

    fn process_event(&self, me: ComponentId<Event>, event: &Event, scheduler: &mut Scheduler, _: &mut State) {
        let mut model = self.0.borrow_mut();
        match *event {
            Event::Enter { customers } => {
                for customer in 0..customers {
                    let station = customer % model.queues.len();
                    model.enter(station, me, scheduler);
                }
            }
            Event::Arrive => {
                model.arrivals_left -= 1;
                if model.arrivals_left > 0 {
                    scheduler.schedule(model.delay(1.0 / ARRIVAL_RATE), me, Event::Arrive);
                }
                model.enter(0, me, scheduler);
            }
            Event::Complete { station } => model.complete(station, me, scheduler),
        }
    }
}

/// Runs a model whose first event is at time 0, and says how many seconds that took.
fn timed(model: &Rc<RefCell<Model>>, first: Event, executor: Executor) -> f64 {
    let mut simulation = Simulation::default();
    let component = simulation.add_component(Shared(Rc::clone(model)));
    simulation.schedule(Duration::ZERO, component, first);
    let clock = Instant::now();
    simulation.execute(executor);
    clock.elapsed().as_secs_f64()
}

fn mm1(options: &Options) -> Result<Outcome, Box<dyn Error>> {
    let model = Rc::new(RefCell::new(Model::new(1, options.customers, options.seed)));
    let seconds = timed(&model, Event::Arrive, Executor::unbound());
    let seen = model.borrow();
    Ok(Outcome {
        events: 2 * seen.completions,
        seconds,
        value: seen.response_sum_s / seen.completions as f64,
    })
}

fn network(options: &Options) -> Result<Outcome, Box<dyn Error>> {
    let model = Rc::new(RefCell::new(Model::new(options.stations, 0, options.seed)));
    let customers = options.customers;
    let until = Executor::timed(Duration::from_secs_f64(options.seconds));
    let seconds = timed(&model, Event::Enter { customers }, until);
    let completions = model.borrow().completions;
    Ok(Outcome {
        events: completions,
        seconds,
        value: completions as f64 / options.seconds,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    line::main("simrs", "0.2.0", DOES, mm1, network)
}
