//! Single stations in the steady state. Sources: Kleinrock, "Queueing Systems", volumes 1 and 2; Harchol-Balter,
//! "Performance Modeling and Design of Computer Systems".

/// The steady state of a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyState {
    /// Departures per unit of time.
    pub throughput: f64,
    /// Share of time each server is busy.
    pub utilization: f64,
    /// Mean time from arrival to departure.
    pub response: f64,
    /// Mean time from arrival to departure that is not service.
    pub waiting: f64,
    /// Mean number present.
    pub number: f64,
}

impl SteadyState {
    fn new(throughput: f64, utilization: f64, service: f64, waiting: f64) -> Self {
        let response = service + waiting;
        Self {
            throughput,
            utilization,
            response,
            waiting,
            number: throughput * response,
        }
    }
}

/// Erlang's loss formula: the probability that all `servers` are busy when a customer who finds no free one goes away.
/// `load` is arrival rate times service time, in Erlang.
#[must_use]
pub fn erlang_b(servers: u32, load: f64) -> f64 {
    (1..=servers).fold(1.0, |blocked, n| load * blocked / (f64::from(n) + load * blocked))
}

/// Erlang's delay formula: the probability that a customer has to wait if no customer leaves the queue. 1 if the load
/// (arrival rate times service time, in Erlang) is not below the number of servers.
#[must_use]
pub fn erlang_c(servers: u32, load: f64) -> f64 {
    let servers_f = f64::from(servers);
    if load >= servers_f {
        return 1.0;
    }
    let blocked = erlang_b(servers, load);
    servers_f * blocked / (servers_f - load * (1.0 - blocked))
}

/// M/M/1, first come, first served: response = S / (1 - ρ). `None` when there is no steady state (ρ >= 1).
#[must_use]
pub fn mm1(arrival_rate: f64, service: f64) -> Option<SteadyState> {
    mg1(arrival_rate, service, 1.0)
}

/// M/M/c, first come, first served: waiting = C(c, a) S / (c - a), with Erlang C and the load a = arrival rate times
/// service. `None` when there is no steady state.
#[must_use]
pub fn mmc(arrival_rate: f64, service: f64, servers: u32) -> Option<SteadyState> {
    let load = arrival_rate * service;
    let spare = f64::from(servers) - load;
    (spare > 0.0).then(|| {
        let waiting = erlang_c(servers, load) * service / spare;
        SteadyState::new(arrival_rate, load / f64::from(servers), service, waiting)
    })
}

/// M/G/1, first come, first served, with the service time's coefficient of variation `cv` (Pollaczek and Khinchine):
/// waiting = ρ S (1 + cv²) / (2 (1 - ρ)). `None` when there is no steady state.
#[must_use]
pub fn mg1(arrival_rate: f64, service: f64, cv: f64) -> Option<SteadyState> {
    let busy = arrival_rate * service;
    (busy < 1.0).then(|| {
        let waiting = busy * service * (1.0 + cv * cv) / (2.0 * (1.0 - busy));
        SteadyState::new(arrival_rate, busy, service, waiting)
    })
}

/// M/G/1 with processor sharing: response = S / (1 - ρ) whatever the distribution of the service time. `None` when
/// there is no steady state.
#[must_use]
pub fn mg1_ps(arrival_rate: f64, service: f64) -> Option<SteadyState> {
    mm1(arrival_rate, service)
}

/// The finite-source queue M/M/c//N: `population` customers, each thinking for `think` on average and then asking one
/// of `servers` for exponential service. The response does not depend on the distribution of the think time.
///
/// Solved as the birth-death process of the number present, in population steps.
#[must_use]
pub fn machine_repairman(population: u32, think: f64, service: f64, servers: u32) -> SteadyState {
    let busy_servers = |present: u32| f64::from(present.min(servers));
    let (mut sum, mut busy, mut number) = (0.0, 0.0, 0.0);
    if think > 0.0 {
        let mut weight = 1.0;
        for present in 0..=population {
            sum += weight;
            busy += weight * busy_servers(present);
            number += weight * f64::from(present);
            weight *= f64::from(population - present) / think * service / busy_servers(present + 1);
            if sum > 1e200 {
                // Only ratios count.
                for value in [&mut weight, &mut sum, &mut busy, &mut number] {
                    *value *= 1e-200;
                }
            }
        }
    } else {
        (sum, busy, number) = (1.0, busy_servers(population), f64::from(population));
    }
    let (busy, number) = (busy / sum, number / sum);
    let throughput = busy / service;
    let response = if throughput > 0.0 { number / throughput } else { service };
    SteadyState {
        throughput,
        utilization: busy / f64::from(servers),
        response,
        waiting: response - service,
        number,
    }
}

/// The mean time until the last of `branches` independent exponential tasks of mean `mean` is done: the harmonic number
/// of `branches` times the mean.
#[must_use]
pub fn fork_join_mean(branches: u32, mean: f64) -> f64 {
    mean * (1..=branches).rev().map(|n| 1.0 / f64::from(n)).sum::<f64>()
}
