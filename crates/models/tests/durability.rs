//! Durability against published figures, closed forms, other ways to the same number, and what must rise or fall.

use hypertwin_cluster::Redundancy;
use hypertwin_models::storage::durability::*;
use proptest::prelude::*;

const DAY_S: f64 = 86_400.0;

fn close(found: f64, expected: f64, relative: f64) {
    assert!(
        (found - expected).abs() <= relative * expected.abs(),
        "found {found:e}, expected {expected:e}"
    );
}

fn group(width: u32, survives: u32, failures_per_year: f64, repairs_per_year: f64, repair: Repair) -> Group {
    Group {
        width,
        survives,
        failures_per_year,
        repairs_per_year,
        repair,
    }
}

#[test]
fn backblaze_published_eleven_nines_for_17_plus_3() {
    // Annual failure rate 0.405 %, repair in 6.5 days: the published 7.354e-12, 11 nines.
    let loss = backblaze_annual_loss(20, 3, 0.004_05, 6.5 * DAY_S);
    assert_eq!(format!("{loss:.3e}"), "7.354e-12");
    let whole = assess(scheme("ec-17+3"), &assumptions(0.004_05, 6.5 * DAY_S)).expect("in range");
    assert_eq!((whole.backblaze.annual_loss, whole.backblaze.nines), (loss, 11));
}

#[test]
fn the_tail_of_the_binomial_is_exact_where_it_is_tiny() {
    // One disk of one: p itself, where 1 - exp(-x) would have lost half of its digits.
    close(more_than(0, 1, 1e-9), 9.999_999_995e-10, 1e-15);
    // Three of three: p cubed.
    close(more_than(2, 3, 1e-30), 1e-90, 1e-13);
    // All of it but nothing failing: 1 - exp(-S F).
    close(more_than(0, 20, 1e-4), -libm::expm1(-2e-3), 1e-14);
    // Fair coins: at least 3 of 5 in half of the cases.
    close(more_than(2, 5, std::f64::consts::LN_2), 0.5, 1e-14);
    assert_eq!(more_than(2, 5, 1e4), 1.0);
    // x - x^2 / 2 with x = 1e-14.
    assert_eq!(at_least_one(1e-20, 1e6), 9.999_999_999_999_95e-15);
    assert_eq!(at_least_one(1.0, 3.0), 1.0);
}

#[test]
fn nothing_redundant_is_lost_with_its_first_disk() {
    for (width, rate) in [(1, 0.01), (4, 0.3), (20, 2.0)] {
        let striped = group(width, 0, rate, 500.0, Repair::Parallel);
        close(striped.mttdl_years(), 1.0 / (f64::from(width) * rate), 1e-15);
        close(striped.loss_within(1.0), -libm::expm1(-f64::from(width) * rate), 1e-13);
        close(striped.loss_within(1.0), striped.annual_loss(), 1e-13);
    }
}

#[test]
fn two_copies_have_the_closed_form_of_mirrors() {
    for (failures, repairs) in [(0.004, 56.0), (0.05, 8760.0), (3.0, 2.0), (1e-6, 1e7)] {
        for repair in [Repair::Parallel, Repair::Serial] {
            let mirror = group(2, 1, failures, repairs, repair);
            let expected = (3.0 * failures + repairs) / (2.0 * failures * failures);
            close(mirror.mttdl_years(), expected, 1e-14);
            // The survival of this chain: (a e^(-bt) - b e^(-at)) / (a - b) with a, b the roots of s^2 - (3λ + μ) s +
            // 2λ^2.
            let sum = 3.0 * failures + repairs;
            let a = (sum + (sum * sum - 8.0 * failures * failures).sqrt()) / 2.0;
            let b = 2.0 * failures * failures / a;
            let lost = (-a * libm::expm1(-b) + b * libm::expm1(-a)) / (a - b);
            close(mirror.loss_within(1.0), lost, 1e-12);
        }
    }
}

#[test]
fn without_repair_the_chain_is_the_binomial_distribution() {
    for (width, survives, failures) in [
        (5, 2, 0.01),
        (20, 3, 0.004_05),
        (8, 7, 0.5),
        (12, 0, 1e-6),
        (80, 16, 0.1),
    ] {
        let found = group(width, survives, failures, 0.0, Repair::Serial).loss_within(1.0);
        close(found, more_than(survives, width, failures), 1e-12);
    }
}

/// The first year by plain uniformisation: jumps of a Poisson process of the fastest rate, one after the other.
fn by_poisson_sum(group: &Group) -> f64 {
    let states = group.survives as usize + 1;
    let (up, down): (Vec<f64>, Vec<f64>) = (0..states)
        .map(|i| {
            let repairs = match group.repair {
                Repair::Parallel => i as f64,
                Repair::Serial => i.min(1) as f64,
            };
            (
                f64::from(group.width - i as u32) * group.failures_per_year,
                repairs * group.repairs_per_year,
            )
        })
        .unzip();
    let fastest = (0..states).map(|i| up[i] + down[i]).fold(0.0, f64::max);
    let mut now = vec![0.0; states + 1];
    now[0] = 1.0;
    let mut weight = (-fastest).exp();
    let mut lost = 0.0;
    for jumps in 1..(fastest + 40.0 * fastest.sqrt() + 200.0) as u32 {
        let mut next = vec![0.0; states + 1];
        next[states] = now[states];
        for i in 0..states {
            next[i + 1] += now[i] * up[i] / fastest;
            if i > 0 {
                next[i - 1] += now[i] * down[i] / fastest;
            }
            next[i] += now[i] * (1.0 - (up[i] + down[i]) / fastest);
        }
        now = next;
        weight *= fastest / f64::from(jumps);
        lost += weight * now[states];
    }
    lost
}

#[test]
fn the_first_year_is_that_of_plain_uniformisation() {
    for repair in [Repair::Parallel, Repair::Serial] {
        for (width, survives, failures, repairs) in [
            (3, 2, 0.02, 12.0),
            (20, 3, 0.004_05, 56.15),
            (5, 2, 0.5, 100.0),
            (9, 4, 2.0, 30.0),
        ] {
            let group = group(width, survives, failures, repairs, repair);
            close(group.loss_within(1.0), by_poisson_sum(&group), 1e-10);
        }
    }
}

#[test]
fn the_first_year_is_a_little_safer_than_those_after_it() {
    for text in ["replicas-2", "replicas-3:2", "ec-3+2", "ec-17+3", "ec-8+16"] {
        for repair_days in [0.01, 1.0, 6.5] {
            let found = assess(scheme(text), &assumptions(0.02, repair_days * DAY_S)).expect("in range");
            let share = found.first_year_loss / found.markov.annual_loss;
            // Fragments have to be missing first: a few repair times of the year do not count.
            assert!(
                share < 1.0 + 1e-9 && share > 1.0 - 4.0 * repair_days / 365.0 - 1e-9,
                "{text} {repair_days} d: {share}"
            );
        }
    }
}

#[test]
fn the_approximation_holds_for_fast_repairs_only() {
    for repair in [Repair::Parallel, Repair::Serial] {
        let fast = group(5, 2, 0.01, 1e6, repair);
        close(fast.approximate_mttdl_years(), fast.mttdl_years(), 1e-6);
        let slow = group(5, 2, 1.0, 1.0, repair);
        assert!(slow.approximate_mttdl_years() < 0.5 * slow.mttdl_years());
    }
    // MTTF^3 / (MTTR^2 5 x 4 x 3), with one repair at a time; two at a time finish twice as fast.
    let (mttf, mttr) = (100.0_f64, 0.01_f64);
    let serial = mttf.powi(3) / (mttr.powi(2) * 60.0);
    close(
        group(5, 2, 0.01, 100.0, Repair::Serial).approximate_mttdl_years(),
        serial,
        1e-13,
    );
    close(
        group(5, 2, 0.01, 100.0, Repair::Parallel).approximate_mttdl_years(),
        2.0 * serial,
        1e-13,
    );
}

#[test]
fn the_chain_loses_m_plus_1_times_as_often_as_the_periods() {
    // C(S, m + 1) (m + 1)! / m! against C(S, m + 1): failures that meet within a repair, wherever a period begins.
    for (text, factor) in [
        ("replicas-2", 2.0),
        ("replicas-3:2", 3.0),
        ("ec-3+2", 3.0),
        ("ec-17+3", 4.0),
    ] {
        let found = assess(scheme(text), &assumptions(0.004_05, 60.0)).expect("in range");
        close(found.markov.annual_loss / found.backblaze.annual_loss, factor, 1e-4);
    }
}

#[test]
fn overheads_are_those_of_the_publication() {
    // Raw gigabytes for 100, rounded as published; reads and writes of a small overwrite; reads of a degraded read.
    for (text, raw, reads, writes, degraded) in [
        ("replicas-3:2", 300.0, 0, 3, 1),
        ("ec-3+1", 133.0, 2, 2, 3),
        ("ec-3+2", 167.0, 3, 3, 3),
        ("ec-5+2", 140.0, 3, 3, 5),
        ("ec-7+2", 129.0, 3, 3, 7),
        ("ec-17+3", 118.0, 4, 4, 17),
    ] {
        let overhead = Overhead::of(scheme(text));
        assert_eq!((100.0 * overhead.raw_per_usable).round(), raw, "{text}");
        assert_eq!(
            (overhead.overwrite_reads, overhead.overwrite_writes),
            (reads, writes),
            "{text}"
        );
        assert_eq!(
            (overhead.degraded_reads, overhead.rebuild_reads_per_byte),
            (degraded, degraded),
            "{text}"
        );
        close(overhead.raw_per_usable * overhead.capacity_efficiency, 1.0, 1e-15);
    }
}

#[test]
fn a_pool_loses_with_any_of_its_groups() {
    let mut pool = assumptions(0.02, DAY_S);
    let one = assess(scheme("replicas-2"), &pool).expect("in range").markov;
    assert_eq!(
        (one.pool_annual_loss, one.expected_bytes_lost_per_year),
        (one.annual_loss, None)
    );
    pool.groups = 1_000;
    pool.usable_bytes = Some(1_000_000_000_000);
    let all = assess(scheme("replicas-2"), &pool).expect("in range").markov;
    assert_eq!(all.annual_loss, one.annual_loss);
    close(all.pool_annual_loss, 1.0 - (1.0 - one.annual_loss).powi(1_000), 1e-9);
    close(
        all.expected_bytes_lost_per_year.expect("known"),
        1e12 * one.annual_loss,
        1e-15,
    );
}

#[test]
fn assumptions_out_of_range_are_named() {
    let good = assumptions(0.01, DAY_S);
    #[rustfmt::skip]
    let cases = [
        (Assumptions { annual_failure_rate: 0.0, ..good }, "annual_failure_rate"),
        (Assumptions { annual_failure_rate: 11.0, ..good }, "annual_failure_rate"),
        (Assumptions { annual_failure_rate: f64::NAN, ..good }, "annual_failure_rate"),
        (Assumptions { repair_s: 0.5, ..good }, "repair"),
        (Assumptions { repair_s: 366.0 * DAY_S, ..good }, "repair"),
        (Assumptions { repair_s: f64::NAN, ..good }, "repair"),
        (Assumptions { groups: 0, ..good }, "groups"),
    ];
    for (bad, path) in cases {
        let mistake = assess(scheme("ec-3+2"), &bad).expect_err("out of range");
        assert_eq!((mistake.code.as_str(), mistake.path.as_str()), ("out-of-range", path));
    }
}

fn scheme(text: &str) -> Redundancy {
    text.parse().expect("a good scheme")
}

fn assumptions(annual_failure_rate: f64, repair_s: f64) -> Assumptions {
    Assumptions {
        annual_failure_rate,
        repair_s,
        repair: Repair::Parallel,
        groups: 1,
        usable_bytes: None,
    }
}

/// The losses of a scheme by each way to reckon them.
fn losses(scheme: Redundancy, assumptions: &Assumptions) -> [f64; 3] {
    let found = assess(scheme, assumptions).expect("in range");
    [
        found.backblaze.annual_loss,
        found.markov.annual_loss,
        found.first_year_loss,
    ]
}

proptest! {
    #[test]
    fn loss_falls_with_parity_and_rises_with_failures_and_repair_time(
        data in 1u32..=64,
        parity in 1u32..=15,
        rate_exponent in -6.0f64..0.9,
        repair_exponent in 0.0f64..7.4,
        serial in any::<bool>(),
    ) {
        let repair = if serial { Repair::Serial } else { Repair::Parallel };
        let base = Assumptions { repair, ..assumptions(10f64.powf(rate_exponent), 10f64.powf(repair_exponent)) };
        let code = Redundancy::erasure(data, parity).expect("in range");
        let now = losses(code, &base);
        let more_parity = losses(Redundancy::erasure(data, parity + 1).expect("in range"), &base);
        let more_failures = losses(code, &Assumptions { annual_failure_rate: 1.1 * base.annual_failure_rate, ..base });
        let slower = losses(code, &Assumptions { repair_s: 1.1 * base.repair_s, ..base });
        for way in 0..3 {
            prop_assert!(now[way] > 0.0 && now[way] <= 1.0);
            // Where a loss is certain, it stays so to rounding.
            let certain = now[way] * (1.0 - 1e-12);
            prop_assert!(more_parity[way] < now[way] || more_parity[way] > 1.0 - 1e-9, "parity, way {}", way);
            prop_assert!(more_failures[way] >= certain, "failures, way {}", way);
            // A system of k of n keeps an average hazard that rises, so this holds for long periods too.
            prop_assert!(slower[way] >= certain, "repair, way {}", way);
        }
    }

    #[test]
    fn more_groups_lose_more(groups in 1u64..=1_000_000, rate_exponent in -6.0f64..0.9) {
        let one = assumptions(10f64.powf(rate_exponent), DAY_S);
        let few = assess(scheme("ec-3+2"), &Assumptions { groups, ..one }).expect("in range").backblaze;
        let many = assess(scheme("ec-3+2"), &Assumptions { groups: 2 * groups, ..one }).expect("in range").backblaze;
        prop_assert!(few.pool_annual_loss >= few.annual_loss * (1.0 - 1e-12));
        prop_assert!(many.pool_annual_loss >= few.pool_annual_loss);
        prop_assert!(many.pool_annual_loss <= 2.0 * few.pool_annual_loss * (1.0 + 1e-12));
    }
}
