//! The solvers against worked examples, closed forms and conservation laws.

use hypertwin_sharing::*;
use proptest::prelude::*;

fn close(found: f64, expected: f64, relative: f64) {
    assert!(
        (found - expected).abs() <= relative * expected.abs().max(1e-12),
        "found {found}, expected {expected}"
    );
}

#[test]
fn shares_and_reservations_on_a_host_of_6_ghz() {
    // Worked example of the vSphere Resource Management guide: VM1 needs little, VM2 has a reservation, VM3 two vCPUs.
    let given = proportional_share(
        6000.0,
        &[
            Claim::new(1000.0, 500.0),
            Claim::new(1000.0, f64::INFINITY).reserved(2250.0),
            Claim::new(2000.0, f64::INFINITY),
        ],
    );
    assert_eq!(given, [500.0, 2250.0, 3250.0]);
}

#[test]
fn high_and_low_shares_are_80_to_20() {
    let hungry = f64::INFINITY;
    assert_eq!(
        proportional_share(
            10_000.0,
            &[Claim::new(4.0 * 2000.0, hungry), Claim::new(4.0 * 500.0, hungry)]
        ),
        [8000.0, 2000.0]
    );
    // The low one may use what the high one leaves.
    assert_eq!(
        proportional_share(10_000.0, &[Claim::new(8000.0, 1000.0), Claim::new(2000.0, hungry)]),
        [1000.0, 9000.0]
    );
    // A limit caps even an idle host.
    assert_eq!(
        proportional_share(
            10_000.0,
            &[Claim::new(8000.0, hungry).limited(3000.0), Claim::new(2000.0, 4000.0)]
        ),
        [3000.0, 4000.0]
    );
}

#[test]
fn division_by_hand_and_at_the_edges() {
    // Bertsekas and Gallager: demands 1, 4, 6 on a capacity of 9.
    assert_eq!(max_min(9.0, &[1.0, 4.0, 6.0], &[1.0; 3]), [1.0, 4.0, 4.0]);
    assert_eq!(max_min(9.0, &[1.0, 8.0, 8.0], &[1.0, 1.0, 3.0]), [1.0, 2.0, 6.0]);
    assert_eq!(max_min(9.0, &[1.0, 2.0], &[5.0, 1.0]), [1.0, 2.0]);
    assert_eq!(max_min(0.0, &[1.0, 2.0], &[1.0, 1.0]), [0.0, 0.0]);
    assert!(max_min(1.0, &[], &[]).is_empty());
    // Without shares: what the others leave, in equal parts.
    assert_eq!(max_min(9.0, &[3.0, 8.0, 8.0], &[1.0, 0.0, 0.0]), [3.0, 3.0, 3.0]);
    // More reserved than there is: in proportion to the reservations.
    let two = [Claim::new(1.0, 10.0).reserved(6.0), Claim::new(1.0, 10.0).reserved(2.0)];
    assert_eq!(proportional_share(4.0, &two), [3.0, 1.0]);
    // A reservation that is not demanded is free for others.
    let idle = [Claim::new(1.0, 1.0).reserved(6.0), Claim::new(1.0, 10.0)];
    assert_eq!(proportional_share(8.0, &idle), [1.0, 7.0]);
}

fn claim() -> impl Strategy<Value = Claim> {
    let amount = prop_oneof![4 => 0.0..100.0f64, 1 => Just(0.0)];
    let unlimited = prop_oneof![2 => 0.0..100.0f64, 1 => Just(f64::INFINITY)];
    (
        prop_oneof![9 => 0.1..10.0f64, 1 => Just(0.0)],
        amount,
        unlimited.clone(),
        unlimited,
    )
        .prop_map(|(shares, reservation, limit, demand)| Claim {
            shares,
            reservation,
            limit,
            demand,
        })
}

proptest! {
    #[test]
    fn division_keeps_its_promises(capacity in 0.0..500.0f64, claims in prop::collection::vec(claim(), 1..12)) {
        let given = proportional_share(capacity, &claims);
        let tiny = 1e-9 * capacity.max(1.0);
        let total: f64 = given.iter().sum();
        prop_assert!(total <= capacity + tiny);
        let wanted: f64 = claims.iter().map(|c| c.demand.min(c.limit)).sum();
        prop_assert!(total >= wanted.min(capacity) - tiny, "capacity is left over: {} of {}", total, capacity);
        let reserved: f64 = claims.iter().map(|c| c.reservation.min(c.demand).min(c.limit)).sum();
        for (claim, &got) in claims.iter().zip(&given) {
            prop_assert!(got >= 0.0 && got <= claim.demand.min(claim.limit) + tiny);
            if reserved <= capacity {
                prop_assert!(got >= claim.reservation.min(claim.demand).min(claim.limit) - tiny);
            }
        }
        // Whoever is not satisfied has per share at least as much as all who got more than their reservation.
        if reserved <= capacity {
            for (one, &got) in claims.iter().zip(&given).filter(|(c, _)| c.shares > 0.0) {
                for (other, &more) in claims.iter().zip(&given).filter(|(c, _)| c.shares > 0.0) {
                    if got < one.demand.min(one.limit) - tiny && more > other.reservation + tiny {
                        prop_assert!(got / one.shares >= more / other.shares - 1e-6);
                    }
                }
            }
        }
    }

    #[test]
    fn nobody_loses_when_capacity_grows(
        capacity in 0.0..500.0f64, more in 0.0..100.0f64, claims in prop::collection::vec(claim(), 1..12)
    ) {
        let (before, after) = (proportional_share(capacity, &claims), proportional_share(capacity + more, &claims));
        for (b, a) in before.iter().zip(after) {
            prop_assert!(a >= b - 1e-9 * capacity.max(1.0));
        }
    }

    #[test]
    fn closed_networks_obey_littles_law_and_the_bounds(
        demands in prop::collection::vec(0.0..50.0f64, 1..8), think in 0.0..1000.0f64, population in 1u32..80
    ) {
        prop_assume!(demands.iter().sum::<f64>() > 0.1);
        let exact = closed_network(&demands, think, population);
        let n = f64::from(population);
        prop_assert!((exact.throughput * (exact.response + think) - n).abs() < 1e-9 * n);
        let present: f64 = exact.queue_lengths.iter().sum();
        prop_assert!((present + exact.throughput * think - n).abs() < 1e-9 * n);
        prop_assert!(exact.throughput <= throughput_bound(&demands, think, population) * (1.0 + 1e-12));
        prop_assert!(exact.utilizations.iter().all(|&u| u <= 1.0 + 1e-12));
    }
}

#[test]
fn exact_mean_value_analysis() {
    let tandem = closed_network(&[9.8e-3, 2.5e-3, 0.72e-3, 9.8e-3], 0.0, 10);
    close(tandem.throughput, 92.3945, 1e-6);
    close(tandem.response, 108.2315e-3, 1e-6);
    for (population, throughput, response) in [(5, 4.678_48, 68.723e-3), (20, 17.967_19, 113.140e-3)] {
        let interactive = closed_network(&[5e-3, 30e-3, 27e-3], 1.0, population);
        close(interactive.throughput, throughput, 1e-6);
        close(interactive.response, response, 1e-5);
    }
    // Two equal stations: X = N / (D (N + 1)) per station.
    close(
        closed_network(&[2.0, 2.0], 0.0, 9).throughput,
        9.0 / (2.0 * 10.0),
        1e-12,
    );
    let empty = closed_network(&[1.0, 2.0], 5.0, 0);
    assert_eq!((empty.throughput, empty.response), (0.0, 3.0));
}

#[test]
fn erlang_formulas() {
    // Erlang B of 10 servers at 5 Erlang and C of 5 at 4, from printed tables.
    close(erlang_b(10, 5.0), 0.018_385, 1e-4);
    close(erlang_c(5, 4.0), 0.554_11, 1e-4);
    close(erlang_b(1, 3.0), 0.75, 1e-12);
    close(erlang_c(1, 0.7), 0.7, 1e-12);
    assert_eq!((erlang_b(0, 2.0), erlang_c(2, 2.0)), (1.0, 1.0));
    // Against the definition.
    let (load, servers) = (7.5f64, 12);
    let terms: Vec<f64> = (0..=servers)
        .scan(1.0, |term, n| {
            if n > 0 {
                *term *= load / f64::from(n);
            }
            Some(*term)
        })
        .collect();
    close(
        erlang_b(servers, load),
        terms[servers as usize] / terms.iter().sum::<f64>(),
        1e-12,
    );
}

#[test]
fn single_stations() {
    let queue = mm1(0.8, 1.0).unwrap();
    close(queue.response, 5.0, 1e-12);
    close(queue.number, 4.0, 1e-12);
    assert_eq!((mm1(1.0, 1.0), mmc(4.0, 1.0, 4), mg1_ps(2.0, 0.6)), (None, None, None));
    let (single, triple) = (mmc(0.8, 1.0, 1).unwrap(), mmc(2.4, 1.0, 3).unwrap());
    close(single.response, 5.0, 1e-12);
    // M/M/3 at 80 %: C = 0.6472, waiting 0.6472 / 0.6.
    close(triple.waiting, 0.647_191 / 0.6, 1e-5);
    // Deterministic service halves the wait.
    close(mg1(0.8, 1.0, 0.0).unwrap().waiting, 2.0, 1e-12);
    close(
        mg1(0.5, 2.0e-3, 3.0).unwrap().waiting,
        0.001 * 2.0e-3 * 10.0 / (2.0 * 0.999),
        1e-12,
    );
    close(mg1_ps(0.9, 1.0).unwrap().response, 10.0, 1e-12);
    close(fork_join_mean(3, 6.0), 11.0, 1e-12);
}

#[test]
fn machine_repairman_against_its_limits() {
    // One server: the same as mean value analysis.
    for population in [1, 2, 7, 40] {
        let (station, network) = (
            machine_repairman(population, 1.0, 0.03, 1),
            closed_network(&[0.03], 1.0, population),
        );
        close(station.throughput, network.throughput, 1e-12);
        close(station.response, network.response, 1e-12);
        close(station.utilization, network.utilizations[0], 1e-12);
    }
    // As many servers as customers: nobody waits. No think time: all servers busy.
    let free = machine_repairman(8, 1.0, 0.5, 8);
    close(free.throughput, 8.0 / 1.5, 1e-12);
    assert!(free.waiting.abs() < 1e-12);
    close(machine_repairman(9, 0.0, 0.5, 3).throughput, 6.0, 1e-12);
    // Two customers, two servers of mean 1, think 1, is one server short of nobody waiting: by hand for c = 1.
    // p = (1, 2, 2) / 5, so X = 4/5 and R = 2 / X - 1 = 1.5.
    close(machine_repairman(2, 1.0, 1.0, 1).response, 1.5, 1e-12);
    // A large population saturates and obeys Little's law, without overflow.
    let large = machine_repairman(100_000, 1.0, 0.01, 16);
    close(large.throughput, 1600.0, 1e-9);
    close(large.throughput * (large.response + 1.0), 100_000.0, 1e-9);
    // Many customers with long thinks: M/M/c.
    let open = mmc(2.4, 1.0, 3).unwrap();
    let closed = machine_repairman(2_000_000, 2_000_000.0 / 2.4, 1.0, 3);
    close(closed.response, open.response, 1e-4);
}

#[test]
fn universal_scalability() {
    let law = UniversalScalability {
        contention: 0.02,
        coherency: 0.0005,
    };
    close(law.peak(), (0.98f64 / 0.0005).sqrt(), 1e-12);
    assert!(law.capacity(law.peak()) > law.capacity(law.peak() * 0.99));
    assert!(law.capacity(law.peak()) > law.capacity(law.peak() * 1.01));
    close(law.capacity(1.0), 1.0, 1e-12);
    // Amdahl.
    let amdahl = UniversalScalability {
        contention: 0.1,
        coherency: 0.0,
    };
    close(amdahl.capacity(10.0), 1.0 / (0.1 + 0.9 / 10.0), 1e-12);
    assert_eq!(amdahl.peak(), f64::INFINITY);
}

/// Random flows over a few resources.
fn flows() -> impl Strategy<Value = (Vec<f64>, Vec<Flow>)> {
    let flow = (
        0.1..5.0_f64,
        0.0..40.0_f64,
        prop::collection::btree_map(0..4_usize, 0.05..1.0_f64, 0..4),
    );
    (
        prop::collection::vec(0.5..30.0_f64, 4),
        prop::collection::vec(flow, 0..7),
    )
        .prop_map(|(capacities, flows)| {
            let flows = flows.into_iter().map(|(weight, demand, uses)| Flow {
                weight,
                demand,
                uses: uses.into_iter().collect(),
            });
            (capacities, flows.collect())
        })
}

proptest! {
    #[test]
    fn flows_get_max_min_rates((capacities, flows) in flows()) {
        let rates = max_min_flows(&capacities, &flows);
        let carried = |resource: usize| -> f64 {
            let through = flows.iter().zip(&rates).flat_map(|(flow, rate)| flow.uses.iter().map(move |(r, part)| (*r, part * rate)));
            through.filter(|(r, _)| *r == resource).map(|(_, rate)| rate).sum()
        };
        for (resource, capacity) in capacities.iter().enumerate() {
            prop_assert!(carried(resource) <= capacity * (1.0 + 1e-9));
        }
        for (index, flow) in flows.iter().enumerate() {
            prop_assert!(rates[index] <= flow.demand * (1.0 + 1e-9));
            // Who wants more goes through something full where nobody has more per weight.
            let level = rates[index] / flow.weight;
            let bottleneck = |&(resource, _): &(usize, f64)| {
                let others = flows.iter().zip(&rates).filter(|(other, _)| other.uses.iter().any(|(r, _)| *r == resource));
                let highest = others.map(|(other, rate)| rate / other.weight).fold(0.0, f64::max);
                carried(resource) >= capacities[resource] * (1.0 - 1e-9) && level >= highest * (1.0 - 1e-9)
            };
            prop_assert!(rates[index] >= flow.demand * (1.0 - 1e-9) || flow.uses.iter().any(bottleneck));
        }
    }

    #[test]
    fn flows_through_one_resource_are_divided_as_claims_are(
        capacity in 0.5..50.0_f64,
        wants in prop::collection::vec((0.1..5.0_f64, 0.1..40.0_f64), 1..7),
    ) {
        let (weights, demands): (Vec<f64>, Vec<f64>) = wants.iter().copied().unzip();
        let flows: Vec<Flow> = wants
            .iter()
            .map(|&(weight, demand)| Flow { weight, demand, uses: vec![(0, 1.0)] })
            .collect();
        for (rate, share) in max_min_flows(&[capacity], &flows).iter().zip(max_min(capacity, &demands, &weights)) {
            prop_assert!((rate - share).abs() <= 1e-9 * capacity);
        }
    }
}
