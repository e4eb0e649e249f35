//! A queueing network on the kernel: open or closed, of first-come-first-served stations with one or many servers,
//! delay stations and processor-sharing stations. It keeps the statistics a model of a real system keeps, so that it
//! measures what such a model pays, and so that theory can be checked against it.

use hypertwin_kernel::{Calendar, Draw, EventId, Histogram, Nanos, Stream, Tally, TimeAverage};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// How a station serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// First come, first served, by this many equal servers.
    Fcfs(u32),
    /// Everybody at once and alone: think time.
    Delay,
    /// One server, shared equally by all who are present.
    ProcessorSharing,
}

/// Where customers go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// Station 0, 1, ... in turn; after the last one the passage is over.
    Tandem,
    /// After each service to any station with equal probability. Each service is a passage.
    Uniform,
}

/// Where customers come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// From outside, at independent intervals, to station 0; gone after one passage.
    Open(Draw),
    /// A fixed number of customers that start over after each passage.
    Closed(u32),
}

/// A network as data.
#[derive(Clone, Debug)]
pub struct Network {
    /// The customers.
    pub source: Source,
    /// Their way.
    pub routing: Routing,
    /// Service time (ns) and discipline of each station.
    pub stations: Vec<(Draw, Discipline)>,
}

/// When a run ends. The warm-up is not measured.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// After `measured` passages beyond the first `warmup`.
    Passages {
        /// Passages before measuring.
        warmup: u64,
        /// Passages measured.
        measured: u64,
    },
    /// At `end`, measured from `warmup` on (ns).
    Time {
        /// Start of measuring.
        warmup: Nanos,
        /// End of the run.
        end: Nanos,
    },
}

/// What one station did while measured.
#[derive(Clone, Debug)]
pub struct StationResult {
    /// Services completed.
    pub completions: u64,
    /// Time from arrival to departure, ns.
    pub response_ns: Tally,
    /// Mean number of customers present.
    pub number: f64,
    /// Mean number of busy servers.
    pub busy: f64,
}

/// What a run measured.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Events processed, the warm-up included.
    pub events: u64,
    /// Time measured, ns.
    pub measured_ns: Nanos,
    /// Time in stations other than delay stations per passage, ns.
    pub response_ns: Histogram,
    /// Each station.
    pub stations: Vec<StationResult>,
}

impl Outcome {
    /// Passages per second.
    #[must_use]
    pub fn throughput_per_s(&self) -> f64 {
        self.response_ns.count() as f64 / self.measured_s()
    }

    /// Time measured, s.
    #[must_use]
    pub fn measured_s(&self) -> f64 {
        self.measured_ns as f64 * 1e-9
    }
}

#[derive(Clone, Copy, Debug)]
struct Customer {
    /// When this visit to a station began.
    arrived: Nanos,
    /// Time in stations other than delay stations in this passage so far.
    spent: Nanos,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Arrival,
    /// A service ends.
    Departure {
        station: u32,
        customer: Customer,
    },
    /// The customer with the least work left at a processor-sharing station leaves.
    SharedDeparture {
        station: u32,
    },
}

struct Station {
    service: Draw,
    stream: Stream,
    servers: u32,
    sharing: Option<Box<Sharing>>,
    is_delay: bool,
    present: u32,
    waiting: VecDeque<Customer>,
    number: TimeAverage,
    busy: TimeAverage,
    response_ns: Tally,
}

/// Processor sharing in virtual time: the service each customer present has had since the server was last empty. A
/// customer leaves when it reaches the value at arrival plus the work brought, so an arrival changes nothing but the
/// next departure.
struct Sharing {
    /// Virtual time, in units of 2^-20 ns (for 10^6 customers a whole nanosecond is 1 unit each).
    virtual_time: u128,
    since: Nanos,
    /// Virtual departure time, arrival number, arrival, time spent before.
    present: BinaryHeap<Reverse<(u128, u64, Nanos, Nanos)>>,
    arrivals: u64,
    next: Option<EventId>,
}

const FRACTION_BITS: u32 = 20;

impl Sharing {
    fn advance(&mut self, now: Nanos) {
        let present = self.present.len() as u128;
        if let Some(share) = (u128::from(now - self.since) << FRACTION_BITS).checked_div(present) {
            self.virtual_time += share;
        }
        self.since = now;
    }

    /// When the next customer leaves if nobody arrives before.
    fn due(&self, now: Nanos) -> Option<Nanos> {
        let Reverse((end, ..)) = self.present.peek()?;
        let work = end.saturating_sub(self.virtual_time) * self.present.len() as u128;
        Some(now + work.div_ceil(1 << FRACTION_BITS) as Nanos)
    }
}

/// Runs `network` with random streams named after its parts.
#[must_use]
pub fn run(network: &Network, seed: u64, until: Until) -> Outcome {
    let mut simulation = Simulation::new(network, seed);
    match until {
        Until::Passages { warmup, measured } => {
            simulation.until_passages(warmup);
            simulation.forget();
            simulation.until_passages(measured);
        }
        Until::Time { warmup, end } => {
            simulation.until_time(warmup);
            simulation.forget();
            simulation.until_time(end);
        }
    }
    simulation.outcome()
}

struct Simulation {
    calendar: Calendar<Event>,
    now: Nanos,
    measured_from: Nanos,
    source: Source,
    arrivals: Stream,
    routing: Routing,
    routes: Stream,
    stations: Vec<Station>,
    response_ns: Histogram,
}

impl Simulation {
    fn new(network: &Network, seed: u64) -> Self {
        let stations = network
            .stations
            .iter()
            .enumerate()
            .map(|(number, &(service, discipline))| Station {
                service,
                stream: Stream::named(seed, &format!("station-{number}")),
                servers: match discipline {
                    Discipline::Fcfs(servers) => servers,
                    Discipline::Delay => u32::MAX,
                    Discipline::ProcessorSharing => 1,
                },
                sharing: (discipline == Discipline::ProcessorSharing).then(|| {
                    Box::new(Sharing {
                        virtual_time: 0,
                        since: 0,
                        present: BinaryHeap::new(),
                        arrivals: 0,
                        next: None,
                    })
                }),
                is_delay: discipline == Discipline::Delay,
                present: 0,
                waiting: VecDeque::new(),
                number: TimeAverage::new(),
                busy: TimeAverage::new(),
                response_ns: Tally::new(),
            });
        let mut simulation = Self {
            calendar: Calendar::new(),
            now: 0,
            measured_from: 0,
            source: network.source,
            arrivals: Stream::named(seed, "arrivals"),
            routing: network.routing,
            routes: Stream::named(seed, "routes"),
            stations: stations.collect(),
            response_ns: Histogram::new(),
        };
        match network.source {
            Source::Open(interval) => {
                let first = interval.sample(&mut simulation.arrivals);
                simulation.calendar.schedule(first, 0, Event::Arrival);
            }
            Source::Closed(customers) => {
                for customer in 0..customers {
                    let station = match network.routing {
                        Routing::Tandem => 0,
                        Routing::Uniform => customer % network.stations.len() as u32,
                    };
                    simulation.arrive(station, 0);
                }
            }
        }
        simulation
    }

    fn until_passages(&mut self, passages: u64) {
        while self.response_ns.count() < passages {
            let Some((now, event)) = self.calendar.pop() else {
                return;
            };
            self.now = now;
            self.handle(event);
        }
    }

    fn until_time(&mut self, end: Nanos) {
        while let Some((now, event)) = self.calendar.pop_until(end) {
            self.now = now;
            self.handle(event);
        }
        self.now = end;
    }

    /// The warm-up is over.
    fn forget(&mut self) {
        self.measured_from = self.now;
        self.response_ns.reset();
        for station in &mut self.stations {
            station.number.reset(self.now);
            station.busy.reset(self.now);
            station.response_ns.reset();
        }
    }

    #[inline]
    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrival => {
                if let Source::Open(interval) = self.source {
                    let gap = interval.sample(&mut self.arrivals);
                    self.calendar.schedule(self.now + gap, 0, Event::Arrival);
                }
                self.arrive(0, 0);
            }
            Event::Departure { station, customer } => {
                let place = &mut self.stations[station as usize];
                place.present -= 1;
                place.number.set(self.now, f64::from(place.present));
                if let Some(next) = place.waiting.pop_front() {
                    let work = place.service.sample(&mut place.stream);
                    self.calendar.schedule(
                        self.now + work,
                        0,
                        Event::Departure {
                            station,
                            customer: next,
                        },
                    );
                } else {
                    place.busy.add(self.now, -1.0);
                }
                self.leave(station, customer);
            }
            Event::SharedDeparture { station } => {
                let place = &mut self.stations[station as usize];
                place.present -= 1;
                place.number.set(self.now, f64::from(place.present));
                if place.present == 0 {
                    place.busy.set(self.now, 0.0);
                }
                let sharing = place
                    .sharing
                    .as_deref_mut()
                    .expect("only sharing stations schedule this");
                sharing.advance(self.now);
                let Reverse((_, _, arrived, spent)) = sharing.present.pop().expect("one leaves");
                sharing.next = sharing
                    .due(self.now)
                    .map(|due| self.calendar.schedule(due, 0, Event::SharedDeparture { station }));
                self.leave(station, Customer { arrived, spent });
            }
        }
    }

    #[inline]
    fn arrive(&mut self, station: u32, spent: Nanos) {
        let now = self.now;
        let place = &mut self.stations[station as usize];
        place.present += 1;
        place.number.set(now, f64::from(place.present));
        let customer = Customer { arrived: now, spent };
        if let Some(sharing) = place.sharing.as_deref_mut() {
            if place.present == 1 {
                place.busy.set(now, 1.0);
            }
            sharing.advance(now);
            sharing.arrivals += 1;
            let work = u128::from(place.service.sample(&mut place.stream)) << FRACTION_BITS;
            sharing
                .present
                .push(Reverse((sharing.virtual_time + work, sharing.arrivals, now, spent)));
            let due = sharing.due(now).expect("somebody is present");
            let moved = sharing.next.and_then(|id| self.calendar.reschedule(id, due));
            sharing.next = moved.or_else(|| Some(self.calendar.schedule(due, 0, Event::SharedDeparture { station })));
        } else if place.present <= place.servers {
            place.busy.add(now, 1.0);
            let work = place.service.sample(&mut place.stream);
            self.calendar
                .schedule(now + work, 0, Event::Departure { station, customer });
        } else {
            place.waiting.push_back(customer);
        }
    }

    /// A customer has left `station`: books the visit and sends it on.
    #[inline]
    fn leave(&mut self, station: u32, customer: Customer) {
        let place = &mut self.stations[station as usize];
        let visit = self.now - customer.arrived;
        place.response_ns.record(visit as f64);
        let spent = if place.is_delay {
            customer.spent
        } else {
            customer.spent + visit
        };
        let next = match self.routing {
            Routing::Tandem => (station + 1) % self.stations.len() as u32,
            Routing::Uniform => self.routes.below(self.stations.len() as u64) as u32,
        };
        if next != 0 && self.routing == Routing::Tandem {
            self.arrive(next, spent);
            return;
        }
        self.response_ns.record(spent);
        if let Source::Closed(_) = self.source {
            self.arrive(next, 0);
        }
    }

    fn outcome(self) -> Outcome {
        let now = self.now;
        Outcome {
            events: self.calendar.popped(),
            measured_ns: now - self.measured_from,
            response_ns: self.response_ns,
            stations: self
                .stations
                .iter()
                .map(|station| StationResult {
                    completions: station.response_ns.count(),
                    response_ns: station.response_ns,
                    number: station.number.mean(now),
                    busy: station.busy.mean(now),
                })
                .collect(),
        }
    }
}
