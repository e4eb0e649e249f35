//! Failures, moves and losses of a run, in sentences.

use super::words::{NAMED, count, number, some};
use crate::measure::bands;
use crate::measure::point::{HostReport, PointReport};
use crate::measure::results::Replication;
use crate::movement::{Move, MoveKind, Outcome};
use crate::ordered::{map_of, set_of, sort_by};
use crate::reclaim::HostMemoryResult;
use std::collections::BTreeMap;

/// The answer reports a mean response from this multiple of the one before a failure on.
const PEAK: f64 = 2.0;

fn moves(point: &PointReport) -> Vec<&Move> {
    let all = point.movement.iter().flat_map(|history| &history.moves);
    all.filter(|each| each.kind == MoveKind::Migration).collect()
}

/// Migrations in the answer: first if some failed, otherwise last.
pub fn moved(point: &PointReport) -> (Option<String>, Option<String>) {
    let (moves, mut history) = (moves(point), point.movement.iter());
    let has_outages = history.any(|history| !history.outages.is_empty());
    let told = (!moves.is_empty() && !has_outages).then(|| movement(point));
    match moves.iter().any(|each| each.outcome != Outcome::Done) {
        true => (told, None),
        false => (None, told),
    }
}

/// How many VMs were down and moved, and for how long.
pub fn movement(point: &PointReport) -> String {
    let outages: Vec<_> = point.movement.iter().flat_map(|history| &history.outages).collect();
    let back: Vec<f64> = outages
        .iter()
        .filter_map(|each| Some(each.up_s? - each.from_s))
        .collect();
    let moved = moves(point);
    let ended: Vec<_> = moved.iter().filter(|each| each.outcome == Outcome::Done).collect();
    let (mut parts, late) = (Vec::new(), moved.len() - ended.len());
    let longest = |times: &mut dyn Iterator<Item = f64>| number(times.fold(0.0, f64::max));
    if !outages.is_empty() {
        let who = if back.is_empty() {
            "none".to_owned()
        } else {
            number(back.len() as f64)
        };
        let were = if back.len() < 2 { "was" } else { "were" };
        // of all replications, since each failure is noticed at another phase
        let of_all = point.downtimes.values().map(|each| each.max_s);
        let after = longest(&mut back.iter().copied().chain(of_all));
        let after = format!(" after at most {after} s");
        let after = if back.is_empty() { "" } else { &after };
        parts.push(format!(
            "{who} of {} that went down {were} up again{after}",
            count(outages.len(), "VM")
        ));
    }
    if !ended.is_empty() {
        let took = longest(&mut ended.iter().filter_map(|each| Some(each.end_s? - each.at_s)));
        let down = longest(&mut ended.iter().filter_map(|each| each.downtime_ms));
        let many = count(ended.len(), "migration");
        parts.push(format!(
            "{many} took at most {took} s, with at most {down} ms of downtime"
        ));
    }
    if late > 0 {
        let were = if late == 1 { "was" } else { "were" };
        parts.push(format!(
            "{} did not finish or {were} cancelled",
            count(late, "migration")
        ));
    }
    let sentences: Vec<String> = parts.iter().map(|part| format!("{}.", capital(part))).collect();
    sentences.join(" ")
}

/// The text with a capital letter first.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}

/// VMs that could not restart or migrate, and the shortage: one sentence per kind, the gravest first.
pub fn unplaced(point: &PointReport) -> Vec<String> {
    let Some(history) = &point.movement else {
        return Vec::new();
    };
    let outages = history.outages.iter();
    let up = map_of(outages.map(|outage| (outage.vm.as_str(), outage.up_s.is_some())));
    let mut kinds: BTreeMap<(u8, &str), BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for each in &history.unplaced {
        let kind = match up.get(each.vm.as_str()) {
            Some(false) => (0, "could not restart"),
            Some(true) => (1, "could not restart at first"),
            None => (2, "could not migrate"),
        };
        let lacking = kinds.entry(kind).or_default().entry(&each.lacks).or_default();
        if !lacking.contains(&each.vm.as_str()) {
            lacking.push(&each.vm);
        }
    }
    let sentence = |((_, kind), lacks): ((u8, &str), BTreeMap<&str, Vec<&str>>)| {
        let vms: Vec<&str> = set_of(lacks.values().flatten().copied()).into_iter().collect();
        let each = lacks.iter().map(|(what, names)| {
            let verb = if names.len() == 1 { "needs" } else { "need" };
            format!("{} {verb} {what}", some(names, 5))
        });
        let texts: Vec<String> = each.collect();
        format!("{} {kind}: {}.", count(vms.len(), "VM"), texts.join("; "))
    };
    kinds.into_iter().map(sentence).collect()
}

/// Hosts short of memory, the worst first, and hosts that would be short in reality.
pub fn shortages(point: &PointReport) -> Vec<String> {
    const GIB: f64 = (1_u64 << 30) as f64;
    let taken = |memory: &HostMemoryResult| {
        let parts = [
            ("ballooned", memory.ballooned_bytes),
            ("compressed", memory.compressed_bytes),
            ("swapped", memory.swapped_bytes),
        ];
        let parts = parts.iter().filter(|(_, bytes)| *bytes > 0.0);
        let parts: Vec<String> = parts
            .map(|(what, bytes)| format!("{} GiB {what}", number(bytes / GIB)))
            .collect();
        match parts.is_empty() {
            true => "nothing reclaimed from VMs on average".to_owned(),
            false => parts.join(", "),
        }
    };
    let hosts = point.hosts.iter();
    let mut short: Vec<(&String, &HostMemoryResult)> = hosts
        .filter_map(|(name, host)| Some((name, host.memory.as_ref()?)))
        .filter(|(_, memory)| memory.is_short() || memory.reclaimed_bytes() > 0.0)
        .collect();
    sort_by(&mut short, |a, b| b.1.swapped_bytes.total_cmp(&a.1.swapped_bytes));
    let mut told: Vec<String> = short
        .iter()
        .map(|(name, memory)| match memory.is_short() {
            true => format!(
                "{name} is short of memory (worst state: {}): {}.",
                memory.state_name(),
                taken(memory)
            ),
            false => format!(
                "VMs on {name} lack memory although it has some free (limits of their own, or not read back yet): {}.",
                taken(memory)
            ),
        })
        .collect();
    let is_touched = |host: &HostReport| {
        let is_said = host.memory_usage_pct != host.memory_pct && host.memory.is_none();
        is_said && bands::TOUCHED.is_beyond(host.memory_usage_pct)
    };
    let touched = point.hosts.iter().filter(|(_, host)| is_touched(host));
    told.extend(touched.map(|(name, host)| {
        format!(
            "VMs on {name} have touched {}% of its memory: a real host would balloon and swap.",
            number(host.memory_usage_pct)
        )
    }));
    let more = told.len().saturating_sub(NAMED);
    told.truncate(NAMED);
    if more > 0 {
        told.push(format!("The same applies to {}.", count(more, "more host")));
    }
    told
}

/// Lost data.
pub fn losses(point: &PointReport) -> Vec<String> {
    let lost = point.pools.iter().filter(|(_, pool)| pool.lost_gib > 0.0);
    lost.map(|(name, pool)| format!("{name} lost {} GiB of data.", number(pool.lost_gib)))
        .collect()
}

/// I/O that was suspended at the end.
pub fn suspended(point: &PointReport) -> Vec<String> {
    let mut told = Vec::new();
    for (name, pool) in &point.pools {
        let ios = pool.suspended_ios.round();
        if ios > 0.0 {
            let wait = if ios == 1.0 { "waits" } else { "wait" };
            let last = pool.incidents.last();
            let why = if last.is_some_and(|last| last.stands_still) {
                "its metadata servers have no majority"
            } else if last.is_some_and(|last| last.fails && last.suspended_pct == 0.0) {
                "the failure is not detected yet"
            } else {
                "too few replicas or fragments are available"
            };
            let ios = count(ios as usize, "I/O");
            told.push(format!("At the end, {ios} to {name} still {wait}: {why}."));
        }
    }
    told
}

/// How much slower each group was at its worst after the first failure of the run than before it.
pub fn around_failures(point: &PointReport, first: &Replication) -> Vec<String> {
    let hosts = point.failures.iter().filter(|each| each.fails);
    let pools = point.pools.values().flat_map(|pool| &pool.incidents);
    let pools = pools.filter(|each| each.fails).map(|each| (each.time_s, &each.what));
    let failures: Vec<(f64, &String)> = hosts.map(|each| (each.time_s, &each.what)).chain(pools).collect();
    let Some(begin) = failures.iter().map(|&(time_s, _)| time_s).min_by(f64::total_cmp) else {
        return Vec::new();
    };
    let time: Vec<f64> = point.timeline.time_s.iter().map(|each| point.warmup_s + each).collect();
    let sentence = |group: usize| {
        let responses = responses(point, first, group);
        let calm: Vec<f64> = responses
            .iter()
            .zip(&time)
            .filter_map(|(value, &at)| value.filter(|_| at <= begin))
            .collect();
        let calm = calm.iter().sum::<f64>() / calm.len() as f64;
        let after = responses.iter().zip(&time).filter(|&(_, &at)| at > begin);
        let (peak, at) = after
            .filter_map(|(value, &at)| Some(((*value)?, at)))
            .max_by(|a, b| a.0.total_cmp(&b.0))?;
        let cause = failures
            .iter()
            .filter(|(time_s, _)| *time_s <= at)
            .max_by(|a, b| a.0.total_cmp(&b.0))?;
        (peak > PEAK * calm).then(|| {
            format!(
                "The mean response of {} rose from {} ms before the first failure to {} ms at {} s, after {} failed.",
                first.groups[group],
                number(calm),
                number(peak),
                number(at),
                cause.1
            )
        })
    };
    (0..first.groups.len()).filter_map(sentence).take(NAMED).collect()
}

/// The mean response of a group's VMs at each sample, weighted by what each completed.
fn responses(point: &PointReport, first: &Replication, group: usize) -> Vec<Option<f64>> {
    let members = first.vms.iter().filter(|vm| vm.group == group);
    let lines: Vec<_> = members.filter_map(|vm| point.timeline.vms.get(&vm.name)).collect();
    let at = |sample: usize| {
        let (mut total, mut weights) = (0.0, 0.0);
        for line in &lines {
            if let (Some(Some(value)), Some(&done)) =
                (line.response_ms_mean.get(sample), line.throughput_per_s.get(sample))
            {
                total += value * done;
                weights += done;
            }
        }
        (weights > 0.0).then(|| total / weights)
    };
    (0..point.timeline.time_s.len()).map(at).collect()
}
