//! Whether the figures of a point are those of a steady state, and if not, why.
//!
//! Conditions, in this order:
//!
//! - nothing changed: a VM stopped or returned during the measurement, or the scenario has a failure, an event or a
//!   step of the load then
//! - nothing is held back for a state that ends: a pool has data to rebuild, or I/Os that wait until it can write
//! - no stock grows: transactions, queues, caches, buffers or reclaimed memory have a trend that matters, or another
//!   level than at first
//! - the window is long enough: it has less than five times the p99 of responses, or periods of a CPU quota, or rounds
//!   of a closed loop, or too few intervals
//! - means have settled: MSER-5 finds no end of the transient, and the halves of the run differ
//! - tails have settled: the p99 of a group rises through the run
//! - no session is lost: Little's law does not account for all sessions of a closed loop
//! - there is room: CPU work offered to a VM, with the upper limit of its mean, reaches what its vCPUs can do
//!
//! The first that fails names the verdict. What the data contradict is *not steady*; what they are too few to tell is
//! *not known*.

use super::looks::{Held, Looks, Stock};
use super::results::{FailureReport, Replication};
use super::vm_metrics::VmReport;
use super::{loops, tails};
use crate::movement::Outage;
use crate::ordered::{set_of, sort_by};
use hypertwin_kernel::{Tally, batch_means, mser5, student_t_upper, trend};
use serde::Serialize;
use std::collections::BTreeMap;

/// Probability with which one of all trends passes for one that is none.
const BY_CHANCE: f64 = 0.001;

/// Probability with which work that is too much passes for work that is not.
const TOO_MUCH: f64 = 0.001;

/// A growth over the window that does not matter, as a part of what passed.
const IMMATERIAL_GROWTH: f64 = 0.005;

/// Transactions or I/Os that come and go.
const FEW: f64 = 5.0;

/// Standard deviations of its last third by which a stock is at another level than at first.
const ANOTHER_LEVEL: f64 = 6.0;

/// Relative difference between the means of the two halves of a run that does not matter.
const IMMATERIAL: f64 = 0.05;

/// Batches of each half, and half-widths of 95 % by which the halves differ other than by chance: 1 in 100.
const BATCHES: usize = 5;
const SURE: f64 = 1.25;

/// Times the p99 of responses that a window holds.
const SLOWEST: f64 = 5.0;

/// Looks below which nothing is said of a run.
const FEWEST_LOOKS: usize = 8;

/// Responses of a group that is open to whoever comes, below which nothing is said of it.
const FEWEST_RESPONSES: f64 = 100.0;

/// Whether a run is of one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Steady {
    /// Every condition holds.
    Steady,
    /// One is contradicted.
    NotSteady,
    /// There is too little to tell.
    NotKnown,
}

/// The first condition that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// VMs stopped or returned.
    Changed,
    /// A pool rebuilds, or waits.
    Rebuilds,
    /// A stock grows.
    Grows,
    /// Means have not settled.
    Means,
    /// Percentiles have not settled.
    Tails,
    /// Sessions are not accounted for.
    Loops,
    /// Offered work is near what there is.
    Load,
    /// The window is short.
    Window,
}

impl Verdict {
    /// Whether intervals over replications mean something: not of a run that is not steady, but of a course of events
    /// that several replications went through.
    pub fn has_intervals(&self, replications: usize) -> bool {
        let by_design = self.reason.as_ref().is_some_and(|reason| reason.by_design);
        self.steady != Steady::NotSteady || (by_design && replications > 1)
    }
}

/// What is said of a point.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// The word.
    pub steady: Steady,
    /// What fails, where anything does.
    pub reason: Option<Reason>,
}

/// Why a point is not steady, or why that is not known.
#[derive(Clone, Debug, Serialize)]
pub struct Reason {
    /// The condition that fails.
    pub condition: Condition,
    /// VM, group, station, array, pool or host that it fails at; empty for the whole run.
    pub of: String,
    /// The reason in a sentence.
    pub text: String,
    /// Whether it is what the scenario itself does, such as a failure: figures are then those of the whole course of
    /// events.
    pub by_design: bool,
    /// Growth in a second, of what `text` says.
    pub growth_per_s: Option<f64>,
    /// When what grows is full, in seconds after the end of the run.
    pub full_in_s: Option<f64>,
    /// Measured time that would tell, in seconds.
    pub needs_s: Option<f64>,
}

impl Reason {
    fn new(condition: Condition, of: &str, text: String) -> Self {
        Self {
            condition,
            of: of.to_owned(),
            text,
            by_design: matches!(condition, Condition::Changed | Condition::Rebuilds),
            growth_per_s: None,
            full_in_s: None,
            needs_s: None,
        }
    }
}

/// The verdict on replications of one point, whose groups are reported as `groups`.
pub fn verdict(replications: &[&Replication], groups: &BTreeMap<String, VmReport>) -> Verdict {
    let said = |steady, reason| Verdict {
        steady,
        reason: Some(reason),
    };
    let contradicted = changed(replications)
        .or_else(|| rebuilds(replications))
        .or_else(|| grows(replications))
        .or_else(|| filled(replications[0]));
    if let Some(reason) = contradicted {
        return said(Steady::NotSteady, reason);
    }
    if let Some(reason) = window(replications, groups) {
        return said(Steady::NotKnown, reason);
    }
    let unsettled = means(replications)
        .or_else(|| tail(replications))
        .or_else(|| lost(replications))
        .or_else(|| load(replications));
    match unsettled {
        Some((steady, reason)) => said(steady, reason),
        None => Verdict {
            steady: Steady::Steady,
            reason: None,
        },
    }
}

/// What changed while the first replication was measured: VMs that stopped or returned, or what the scenario does.
fn changed(replications: &[&Replication]) -> Option<Reason> {
    let one = |one: &Replication| {
        let stops = |failure: &&FailureReport| failure.time_s > one.warmup_s && !failure.vms.is_empty();
        let failed = one.failures.iter().find(stops).map(|failure| failure.what.clone());
        let outages = one.movement.iter().flat_map(|movement| &movement.outages);
        let was_down = |outage: &&Outage| outage.up_s.is_none_or(|up_s| up_s > one.warmup_s);
        let down = failed.or_else(|| outages.into_iter().find(was_down).map(|outage| outage.vm.clone()));
        let down = down.map(|of| (format!("{of}: VMs stopped or returned during the measurement"), of));
        let change = one.looks.change.as_ref();
        down.or_else(|| change.map(|(_, what)| (format!("{what} during the measurement"), String::new())))
    };
    let (text, of) = replications.iter().find_map(|each| one(each))?;
    Some(Reason::new(Condition::Changed, &of, text))
}

/// Pools that are not whole, or that wait until they can write.
fn rebuilds(replications: &[&Replication]) -> Option<Reason> {
    let held = replications.iter().flat_map(|one| &one.looks.held);
    let backlogs = held.filter(|held| matches!(held.stock, Stock::Rebuild | Stock::Suspended));
    let one = backlogs.min_by_key(|held| (held.stock != Stock::Suspended, &held.of))?;
    let last = one.levels.last().copied().unwrap_or(0.0);
    let text = match one.stock {
        Stock::Suspended => format!("I/Os wait until pool {} can write again", one.of),
        _ if last > 0.0 => format!("pool {} has {last:.1} GiB to rebuild", one.of),
        _ => format!("pool {} was rebuilt during the measurement", one.of),
    };
    Some(Reason::new(Condition::Rebuilds, &one.of, text))
}

/// A stock of a replication, its rise over the window, and that in standard errors.
type Trend<'r> = (&'r Held, f64, f64);

/// A stock over all replications.
struct Growth<'r> {
    held: &'r Held,
    /// Mean rise over the window, and mean level at its end.
    rise: f64,
    end: f64,
    /// Standard errors of the rise, over all replications.
    errors: f64,
    degrees: u64,
}

impl<'r> Growth<'r> {
    /// A stock with its rise and that in standard errors, over the replications that have it.
    fn of(all: &[Trend<'r>], replications: f64) -> Self {
        let (held, ..) = all[0];
        let end = |held: &Held| held.levels[held.levels.len() - 1];
        Self {
            held,
            rise: all.iter().map(|(_, rise, _)| rise).sum::<f64>() / replications,
            end: all.iter().map(|(held, ..)| end(held)).sum::<f64>() / replications,
            errors: all.iter().map(|(.., errors)| errors).sum::<f64>() / replications.sqrt(),
            degrees: (held.levels.len() as u64).saturating_sub(2),
        }
    }
}

/// The stock that grows most for its errors, where its growth matters and is not by chance.
fn grows(replications: &[&Replication]) -> Option<Reason> {
    let first = &replications[0].looks;
    let mut stocks: BTreeMap<(Stock, &str), Vec<Trend>> = BTreeMap::new();
    for held in replications.iter().flat_map(|one| &one.looks.held) {
        if let Some((rise, errors)) = trend(&held.levels) {
            stocks
                .entry((held.stock, &held.of))
                .or_default()
                .push((held, rise, errors));
        }
    }
    let tests = stocks.len().max(1) as f64;
    let mut found: Vec<Growth> = stocks
        .values()
        .map(|all| Growth::of(all, replications.len() as f64))
        .filter(|one| one.errors > student_t_upper(BY_CHANCE / tests, one.degrees) && matters(one))
        .collect();
    sort_by(&mut found, |a, b| {
        b.errors
            .total_cmp(&a.errors)
            .then_with(|| (a.held.stock, &a.held.of).cmp(&(b.held.stock, &b.held.of)))
    });
    // what is behind a queue that grows is what fills
    let one = found.iter().min_by_key(|one| one.held.stock != Stock::Cache)?;
    Some(told(one, first))
}

/// Whether a growth is more than a small part of what passed, or of what there can be.
fn matters(one: &Growth) -> bool {
    match one.held.stock {
        Stock::Transactions | Stock::Queue => {
            one.rise > IMMATERIAL_GROWTH * one.held.turnover.max(1.0) && one.rise > 1.0
        }
        Stock::Cache | Stock::Buffer => one.rise > 2.0 * IMMATERIAL_GROWTH * one.held.turnover,
        Stock::Reclaimed => one.rise > IMMATERIAL_GROWTH * one.end,
        Stock::Rebuild | Stock::Suspended => false,
    }
}

/// A stock that rose to another level while a replication was measured, and stayed there.
fn filled(replication: &Replication) -> Option<Reason> {
    let rose = |held: &Held| {
        let (&first, late) = held.levels.split_first()?;
        let late = &late[late.len() - late.len() / 3..];
        let mut tally = Tally::new();
        late.iter().for_each(|&level| tally.record(level));
        let rise = tally.mean() - first;
        let part = match held.stock {
            Stock::Cache | Stock::Buffer => 0.05 * held.turnover,
            Stock::Reclaimed => 0.05 * tally.mean(),
            Stock::Rebuild | Stock::Suspended => f64::INFINITY,
            Stock::Transactions | Stock::Queue => (IMMATERIAL_GROWTH * held.turnover).max(FEW),
        };
        let is_another = late.len() > 1 && rise > part && rise > ANOTHER_LEVEL * tally.variance().sqrt();
        is_another.then_some((first, tally.mean()))
    };
    let found = replication
        .looks
        .held
        .iter()
        .filter_map(|held| rose(held).map(|levels| (held, levels)));
    let (held, (first, last)) = found.min_by_key(|(held, _)| (held.stock != Stock::Cache, held.stock, &held.of))?;
    let (what, unit) = match held.stock {
        Stock::Transactions => ("the transactions in progress", ""),
        Stock::Cache => ("the cache", " MB"),
        Stock::Buffer => ("the write buffers", "%"),
        Stock::Reclaimed => ("the reclaimed memory", " MB"),
        _ => ("the queue", " I/Os"),
    };
    let text = format!(
        "{what} of {} rose from {} to {}{unit} during the measurement: use a longer warm-up (run.warmup)",
        held.of,
        short(first),
        short(last)
    );
    Some(Reason::new(Condition::Grows, &held.of, text))
}

/// What is said of a stock that grows, seen at these looks.
fn told(one: &Growth, looks: &Looks) -> Reason {
    let Held {
        of,
        stock,
        turnover,
        levels,
    } = one.held;
    let window_s = looks.interval_s * (levels.len() as f64 - 1.0).max(1.0);
    let per_s = one.rise / window_s.max(f64::MIN_POSITIVE);
    let room = match stock {
        Stock::Cache | Stock::Buffer if per_s > 0.0 => Some((turnover - one.end).max(0.0) / per_s),
        _ => None,
    };
    let after = |are: &str, what: &str| match room {
        Some(full) if full >= 1.0 => format!(". {are} full {} s after the end of the run, then {what}", short(full)),
        Some(_) => format!(". {are} full at the end of the run, then {what}"),
        None => String::new(),
    };
    let text = match stock {
        Stock::Transactions => format!("{of}: arrivals exceed completions by {} transactions/s", short(per_s)),
        Stock::Queue => format!("the queue of {of} grows by {} per second", short(per_s)),
        Stock::Cache => format!(
            "the cache of {of} receives {} MB/s more than its disks write{}",
            short(per_s),
            after("It is", "writes wait for the disks")
        ),
        Stock::Buffer => format!(
            "the write buffers of {of} fill by {}% per second{}",
            short(per_s),
            after("They are", "writes wait for the devices")
        ),
        _ => format!("the reclaimed memory of {of} grows by {} MB/s", short(per_s)),
    };
    Reason {
        growth_per_s: Some(per_s),
        full_in_s: room,
        ..Reason::new(Condition::Grows, of, text)
    }
}

/// A number for reading: three digits, or all of those before the point.
fn short(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Whether the means of groups still change, or it cannot be told whether they do.
fn means(replications: &[&Replication]) -> Option<(Steady, Reason)> {
    let one = replications.iter().find(|one| one.transient_s().is_none())?;
    let series = one.joint_series();
    let (early, late) = series.split_at(series.len() / 2);
    let half = |part: &[f64]| batch_means(part, BATCHES);
    let (Some((before, wide)), Some((after, wider))) = (half(early), half(late)) else {
        let text = "the run has too few intervals to check whether its means have settled (run.sample_interval)";
        return Some((Steady::NotKnown, Reason::new(Condition::Means, "", text.to_owned())));
    };
    if (after - before).abs() <= SURE * (wide * wide + wider * wider).sqrt() {
        return None; // the difference may be by chance
    }
    let difference = 100.0 * (after - before) / before.abs().max(f64::MIN_POSITIVE);
    let text =
        format!("CPU, throughput or response times still change: {difference:+.1}% between the halves of the run");
    Some((Steady::NotSteady, Reason::new(Condition::Means, "", text)))
}

/// Whether the slowest responses of a group become slower.
fn tail(replications: &[&Replication]) -> Option<(Steady, Reason)> {
    let (of, from, to) = tails::rising(&tails::together(replications.iter().flat_map(|one| &one.looks.tails)))?;
    let text = format!(
        "the p99 of {of} rises from about {} to {} ms through the run",
        short(from),
        short(to)
    );
    Some((Steady::NotSteady, Reason::new(Condition::Tails, &of, text)))
}

/// Whether sessions of a closed loop are not accounted for.
fn lost(replications: &[&Replication]) -> Option<(Steady, Reason)> {
    let (of, part) = replications.iter().find_map(|one| loops::open(&one.looks.loops))?;
    let text = format!(
        "Little's law accounts for {:.1}% of the sessions of {of}: the others have waited since the warm-up",
        100.0 * part
    );
    Some((Steady::NotSteady, Reason::new(Condition::Loops, of, text)))
}

/// Whether the work that comes to a VM may be more than it can do.
fn load(replications: &[&Replication]) -> Option<(Steady, Reason)> {
    let mut all: BTreeMap<&str, (Tally, u64)> = BTreeMap::new();
    for offered in replications.iter().flat_map(|one| &one.looks.offered) {
        let (parts, _) = all.entry(&offered.of).or_insert_with(|| (Tally::new(), 0));
        offered.parts.iter().for_each(|&part| parts.record(part));
    }
    let upper = |(_, (parts, _)): &(&str, (Tally, u64))| {
        let n = parts.count();
        let error = (parts.variance() / n.max(1) as f64).sqrt();
        (parts.mean(), error, student_t_upper(TOO_MUCH, n.saturating_sub(1)))
    };
    let worst = all.into_iter().map(|each| (upper(&each), each.0));
    let ((mean, error, times), of) = worst.max_by(|(a, _), (b, _)| (a.0 + a.1 * a.2).total_cmp(&(b.0 + b.1 * b.2)))?;
    if mean + times * error < 1.0 {
        return None;
    }
    let duration_s = replications[0].duration_s;
    let text = format!(
        "the offered CPU work of {of} is {:.1} ±{:.1}% of the capacity of its vCPUs",
        100.0 * mean,
        100.0 * times * error
    );
    if mean - times * error > 1.0 {
        return Some((Steady::NotSteady, Reason::new(Condition::Load, of, text)));
    }
    let longer = (times * error / (1.0 - mean)).powi(2) * duration_s;
    let needs_s = (mean < 1.0)
        .then_some(longer.max(duration_s))
        .filter(|longer| longer.is_finite());
    let reason = Reason {
        needs_s,
        ..Reason::new(Condition::Load, of, text)
    };
    Some((Steady::NotKnown, reason))
}

/// Whether the window is too short for the slowest responses that are reported, or for anything to be said.
fn window(replications: &[&Replication], groups: &BTreeMap<String, VmReport>) -> Option<Reason> {
    let window_s = replications
        .iter()
        .map(|one| one.duration_s)
        .fold(f64::INFINITY, f64::min);
    let too_short = |of: &str, text: String, needs_s: f64| Reason {
        needs_s: Some(needs_s),
        ..Reason::new(Condition::Window, of, text)
    };
    let slowest = groups.iter().filter_map(|(name, group)| {
        let ios = group.io_latency_ms.as_ref().and_then(|latency| latency.p99);
        let p99_s = group.response_ms.p99.unwrap_or(0.0).max(ios.unwrap_or(0.0)) / 1e3;
        (p99_s > 0.0).then_some((name, p99_s))
    });
    let slowest = slowest.max_by(|(_, a), (_, b)| a.total_cmp(b));
    if let Some((name, p99_s)) = slowest.filter(|(_, p99_s)| window_s < SLOWEST * p99_s) {
        let text = format!(
            "the measured {} s are less than {SLOWEST} times the p99 of {name} ({} ms)",
            short(window_s),
            short(1e3 * p99_s)
        );
        return Some(too_short(name, text, SLOWEST * p99_s));
    }
    if let Some((period_s, of)) = replications.iter().find_map(|one| one.looks.period.as_ref())
        && window_s < SLOWEST * period_s
    {
        let text = format!(
            "the measured {} s are less than {SLOWEST} periods of the CPU quota of {of} ({} s each)",
            short(window_s),
            short(*period_s)
        );
        return Some(too_short(of, text, SLOWEST * period_s));
    }
    if let Some((of, rounds, needs_s)) = replications.iter().find_map(|one| loops::slow(&one.looks.loops)) {
        let text = format!("each session of {of} completed {rounds:.1} cycles, too few for a verdict");
        return Some(too_short(of, text, needs_s));
    }
    let looks = replications.iter().map(|one| one.looks.count()).min().unwrap_or(0);
    if looks < FEWEST_LOOKS {
        let text = format!("the run has {looks} intervals, too few to see a trend (run.sample_interval)");
        return Some(Reason::new(Condition::Window, "", text));
    }
    let first = replications[0];
    let held = first.looks.held.iter().filter(|held| held.stock == Stock::Transactions);
    let open = set_of(held.map(|held| held.of.as_str()));
    let open = set_of(
        first
            .vms
            .iter()
            .filter(|vm| open.contains(vm.name.as_str()))
            .map(|vm| vm.group),
    );
    let ended = |group: usize| {
        let name = &first.groups[group];
        Some((
            name,
            groups.get(name)?.response_count as f64 / replications.len() as f64,
        ))
    };
    let (name, ended) = open
        .into_iter()
        .filter_map(ended)
        .find(|(_, ended)| *ended < FEWEST_RESPONSES)?;
    let longer = FEWEST_RESPONSES / ended.max(1.0) * window_s;
    let text = format!("{name} completed {ended:.0} transactions, too few for a verdict");
    Some(too_short(name, text, longer))
}

impl Looks {
    /// How many intervals there are.
    fn count(&self) -> usize {
        let held = self.held.iter().map(|held| held.levels.len());
        let all = held.chain(self.offered.iter().map(|offered| offered.parts.len()));
        all.min().unwrap_or(usize::MAX)
    }
}

impl Replication {
    /// The mean of all series of guest CPU, throughput and response time, each over its own mean.
    fn joint_series(&self) -> Vec<f64> {
        let all: Vec<Vec<f64>> = (0..self.groups.len()).flat_map(|group| self.series(group)).collect();
        let length = all.iter().map(Vec::len).max().unwrap_or(0);
        let mut joint = vec![0.0; length];
        // A series with gaps (no response in some interval) cannot be aligned with the others.
        for series in all.iter().filter(|series| series.len() == length) {
            let level = series.iter().sum::<f64>() / length.max(1) as f64;
            if level > 0.0 {
                joint
                    .iter_mut()
                    .zip(series)
                    .for_each(|(sum, value)| *sum += value / level);
            }
        }
        joint
    }

    /// Length of the initial transient in seconds of measured time, by MSER-5 (White, 1997) on [`Self::joint_series`].
    /// Where the rule finds no point in the first half: 0 if the halves' means differ by less than [`IMMATERIAL`], else
    /// `None`: the run does not settle.
    pub fn transient_s(&self) -> Option<f64> {
        let joint = self.joint_series();
        if joint.len() < 2 {
            return None;
        }
        let halves_agree = || {
            let (early, late) = joint.split_at(joint.len() / 2);
            let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
            (mean(early) - mean(late)).abs() <= IMMATERIAL * mean(late).abs()
        };
        let discarded = mser5(&joint).or_else(|| halves_agree().then_some(0))?;
        Some(discarded as f64 * self.observation_s)
    }
}
