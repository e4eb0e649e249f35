//! The answer of a point: the VMs that suffer, the cause, and their limits.

use super::happened;
use super::limits::limits;
use super::signs::{badness, hurts, signs};
use super::words::{NAMED, by_name, count, duration, list, number, some};
use crate::measure::bands;
use crate::measure::judgement::{Judgement, Limit, LimitKind, Sign, Tone};
use crate::measure::point::{HostReport, PointReport};
use crate::measure::results::Replication;
use crate::measure::stations::BottleneckReport;
use crate::measure::vm_metrics::VmReport;
use crate::metrics::LatencyReport;
use crate::ordered::{map_of, set_of, sort_by};
use std::collections::BTreeMap;

/// Signs that are named in one sentence.
const SIGNS: usize = 2;

/// Groups with figures in the answer.
const SUMMARIES: usize = 3;

/// The judgement of a point; `first` is its first replication, which knows the tasks of its groups.
pub fn judge(point: &PointReport, first: &Replication) -> Judgement {
    let group_of = map_of(first.vms.iter().map(|vm| (vm.name.as_str(), vm.group)));
    let marked = |name: &str, vm: &VmReport, group: usize| {
        let signs = signs(vm, &first.tasks[group]);
        (!signs.is_empty()).then(|| (name.to_owned(), signs))
    };
    let vms = point
        .vms
        .iter()
        .filter_map(|(name, vm)| marked(name, vm, group_of[name.as_str()]));
    let groups = first.groups.iter().enumerate();
    let groups = groups.filter_map(|(group, name)| marked(name, point.groups.get(name)?, group));
    let found = Found {
        point,
        first,
        vms: map_of(vms),
        limits: limits(point, first),
        group_of,
    };
    let mut answer = found.answer();
    answer.unplaced = happened::unplaced(point);
    for gravest in [happened::losses(point), answer.unplaced.clone()] {
        if !gravest.is_empty() {
            answer
                .more
                .insert(0, std::mem::replace(&mut answer.text, gravest.join(" ")));
            answer.tone = Tone::Bad;
        }
    }
    Judgement {
        full_station: found.full_station().map(|(station, _)| station.to_owned()),
        groups: map_of(groups),
        vms: found.vms,
        limits: found.limits,
        ..answer
    }
}

/// A point, and what was found of it.
struct Found<'p> {
    point: &'p PointReport,
    first: &'p Replication,
    vms: BTreeMap<String, Vec<Sign>>,
    limits: BTreeMap<String, Limit>,
    /// The group of each VM.
    group_of: BTreeMap<&'p str, usize>,
}

fn said(signs: &[Sign]) -> String {
    let texts: Vec<&str> = signs.iter().take(SIGNS).map(|sign| sign.text.as_str()).collect();
    texts.join("; ")
}

/// A tone, its sentence, and what belongs to it.
fn answered(tone: Tone, text: String, more: impl IntoIterator<Item = String>) -> Judgement {
    Judgement {
        tone,
        text,
        more: more.into_iter().collect(),
        ..Judgement::default()
    }
}

impl<'p> Found<'p> {
    fn answer(&self) -> Judgement {
        let mut marked: Vec<&str> = self.vms.keys().map(String::as_str).collect();
        let weight = |name: &str| badness(&self.vms[name]);
        sort_by(&mut marked, |a, b| {
            weight(b).total_cmp(&weight(a)).then_with(|| by_name(a, b))
        });
        let (late, moved) = happened::moved(self.point);
        let happened: Vec<String> = happened::shortages(self.point)
            .into_iter()
            .chain(late)
            .chain(happened::around_failures(self.point, self.first))
            .chain(happened::suspended(self.point))
            .collect();
        if marked.iter().any(|name| self.point.vms[*name].down_s > 0.0) {
            return self.outage(&marked, happened);
        }
        let suffering: Vec<&str> = marked.iter().copied().filter(|name| hurts(&self.vms[*name])).collect();
        let is_bad = !suffering.is_empty();
        let shown = if is_bad { suffering } else { marked };
        let Some(&worst) = shown.first() else {
            return self.calm(happened, moved);
        };
        let host = self.point.vms[worst].host.as_deref();
        let place = host.map_or_else(String::new, |host| format!(" on {host}"));
        let all = count(self.point.vms.len(), "VM");
        let (verb, others) = match (is_bad, shown.len()) {
            (true, 1) => ("suffers", String::new()),
            (true, many) => (
                "suffers most",
                format!(" {many} of {all} suffer: {}.", self.by_group(&shown)),
            ),
            (false, 1) => ("needs a check", String::new()),
            (false, many) => (
                "needs a check",
                format!(" {many} of {all} need a check: {}.", self.by_group(&shown)),
            ),
        };
        let text = format!("{worst}{place} {verb}: {}.{others}", said(&self.vms[worst]));
        let why = self.limit_of(worst).into_iter();
        answered(
            if is_bad { Tone::Bad } else { Tone::Warn },
            text,
            why.chain(happened).chain(moved).chain(self.summaries()),
        )
    }

    /// The station that limits I/O, in a sentence: a saturated one, or one that most of the latency of I/Os is spent
    /// at.
    fn full_station(&self) -> Option<(&str, String)> {
        let saturated = self.point.bottleneck.as_ref().filter(|station| station.saturated);
        let limits_io = |full: &'p BottleneckReport| {
            let text = format!("{} at {}% limits I/O", full.station, number(full.utilization_pct));
            (full.station.as_str(), text)
        };
        let holding = || self.limits.values().find(|limit| limit.holds_io);
        saturated
            .map(limits_io)
            .or_else(|| Some((holding()?.of.as_str(), holding()?.text.clone())))
    }

    /// The group of a VM.
    fn group_of(&self, vm: &str) -> &'p str {
        &self.first.groups[self.group_of[vm]]
    }

    /// What limits the group of a VM, unless nothing does.
    fn limit_of(&self, vm: &str) -> Option<String> {
        let limit = self.limits.get(self.group_of(vm))?;
        let limits = !matches!(limit.kind, LimitKind::Nothing | LimitKind::Latency);
        limits.then(|| format!("Bottleneck of {}: {}.", self.group_of(vm), limit.text))
    }

    /// VMs were down because their hosts were, or had no memory for them: that comes before all else.
    fn outage(&self, marked: &[&str], happened: Vec<String>) -> Judgement {
        let point = self.point;
        let down: Vec<&str> = marked
            .iter()
            .copied()
            .filter(|name| point.vms[*name].down_s > 0.0)
            .collect();
        let longest = down.iter().map(|name| point.vms[*name].down_s).fold(0.0, f64::max);
        let outages = point.movement.iter().flat_map(|history| &history.outages);
        let restarted = map_of(outages.map(|each| (each.vm.as_str(), each.host.as_str())));
        let stuck: Vec<&str> = down
            .iter()
            .copied()
            .filter(|name| !restarted.contains_key(name))
            .collect();
        let mut hosts: Vec<&str> = Vec::new();
        for name in &down {
            let host = restarted.get(name).copied().or(point.vms[*name].host.as_deref());
            hosts.extend(host.filter(|host| !hosts.contains(host)));
        }
        let was_killed =
            restarted.is_empty() && !hosts.is_empty() && hosts.iter().all(|&host| point.hosts[host].down_s == 0.0);
        let mut more = Vec::new();
        if !stuck.is_empty() && !was_killed {
            let clusters = stuck.iter().filter_map(|name| point.vms[*name].cluster.as_deref());
            let clusters: Vec<&str> = set_of(clusters).into_iter().collect();
            let who = if stuck.len() == down.len() {
                "them".to_owned()
            } else {
                some(&stuck, NAMED)
            };
            more.push(format!(
                "No HA policy in cluster {} restarts {who}. Averages count the downtime as idle.",
                list(&clusters)
            ));
        }
        if !restarted.is_empty() {
            more.push(happened::movement(point));
            more.push("Averages of restarted VMs cover their uptime; throughput covers the whole run.".to_owned());
        }
        let others = marked
            .iter()
            .find(|name| point.vms[**name].down_s == 0.0 && hurts(&self.vms[**name]));
        more.extend(others.map(|name| format!("{name} suffers: {}.", said(&self.vms[*name]))));
        let text = format!(
            "{} of {} {} for up to {} s of {} s, because {} {}: {}.",
            down.len(),
            count(point.vms.len(), "VM"),
            if stuck.is_empty() { "were down" } else { "stopped" },
            number(longest),
            number(point.duration_s),
            if hosts.is_empty() {
                "their host".to_owned()
            } else {
                some(&hosts, NAMED)
            },
            if was_killed {
                "had no memory left and killed them"
            } else {
                "failed"
            },
            some(&down, NAMED)
        );
        answered(
            Tone::Bad,
            text,
            more.into_iter().chain(happened).chain(self.summaries()),
        )
    }

    /// Nothing suffers: the answer still has saturated resources and events.
    fn calm(&self, happened: Vec<String>, moved: Option<String>) -> Judgement {
        let point = self.point;
        let at_most = |get: fn(&VmReport) -> f64| {
            let most = point.vms.values().map(get).fold(0.0, f64::max);
            match most < bands::RESOLVED_PCT {
                true => format!("below {}%", bands::RESOLVED_PCT),
                false => format!("at most {}%", number(most)),
            }
        };
        let wakes = |vm: &VmReport| vm.ready_pct - vm.limited_pct - vm.waiting_pct >= bands::RESOLVED_PCT;
        let figures = format!(
            "ready{} is {} and co-stop {} per vCPU",
            if point.vms.values().any(wakes) {
                " without wake-ups"
            } else {
                ""
            },
            at_most(|vm| vm.waiting_pct),
            at_most(|vm| vm.costop_pct)
        );
        let full = point
            .hosts
            .values()
            .filter(|host| bands::HOST_CPU.is_beyond(host.usage_pct));
        let full = full.count();
        let station = self.full_station();
        let text = if let Some((_, limits)) = &station {
            format!("{limits}. No VM suffers from waiting for CPU.")
        } else if full > 0 {
            format!(
                "No VM suffers, but {full} of {} {} above {}% CPU{}. {}.",
                count(point.hosts.len(), "host"),
                if full == 1 { "is" } else { "are" },
                number(bands::HOST_CPU.warning.unwrap_or_default()),
                self.fullest(),
                happened::capital(&figures)
            )
        } else {
            // what a VM loses by its guest's paging is in no figure
            let reclaims = |host: &HostReport| host.memory.is_some_and(|memory| memory.reclaimed_bytes() > 0.0);
            let why = match point.hosts.values().any(reclaims) {
                true => " from waiting for CPU",
                false => "",
            };
            format!("No VM suffers{why}: {figures}{}.", self.fullest())
        };
        let is_good = happened.is_empty() && station.is_none() && full == 0;
        let tone = if is_good { Tone::Good } else { Tone::Warn };
        answered(tone, text, happened.into_iter().chain(moved).chain(self.summaries()))
    }

    /// CPU load of the most loaded host.
    fn fullest(&self) -> String {
        let point = self.point;
        let mut fullest: Option<(&String, f64)> = None;
        for (name, host) in &point.hosts {
            if fullest.is_none_or(|(_, most)| host.usage_pct > most) {
                fullest = Some((name, host.usage_pct));
            }
        }
        let Some((name, usage)) = fullest else {
            return String::new();
        };
        let cluster = match point.clusters.len() > 1 {
            true => format!(" of {}", point.hosts[name].cluster),
            false => String::new(),
        };
        match point.hosts.len() > 1 {
            true => format!(
                ", and the most loaded host, {name}{cluster}, is at {}% CPU",
                number(usage)
            ),
            false => format!(", and {name}{cluster} is at {}% CPU", number(usage)),
        }
    }

    fn by_group(&self, names: &[&str]) -> String {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for name in names {
            let group = self.group_of(name);
            match counts.iter_mut().find(|(known, _)| *known == group) {
                Some((_, many)) => *many += 1,
                None => counts.push((group, 1)),
            }
        }
        let of = |(group, many): (&str, usize)| {
            let all = self.point.groups.get(group).and_then(|group| group.count).unwrap_or(1);
            match (all, many == all) {
                (1, _) => group.to_owned(),
                (_, true) => format!("all {all} of {group}"),
                (_, false) => format!("{many} of {all} of {group}"),
            }
        };
        let parts: Vec<String> = counts.into_iter().map(of).collect();
        some(&parts, NAMED)
    }

    /// What the slowest groups do, in one sentence each.
    fn summaries(&self) -> Vec<String> {
        let mut names: Vec<&String> = self.point.groups.keys().collect();
        let p99 = |name: &str| self.point.groups[name].response_ms.p99.unwrap_or(0.0);
        sort_by(&mut names, |a, b| p99(b).total_cmp(&p99(a)).then_with(|| by_name(a, b)));
        let told = names.into_iter().take(SUMMARIES).flat_map(|name| {
            let vm = &self.point.groups[name];
            let ios = vm
                .io_latency_ms
                .as_ref()
                .filter(|latency| latency.mean.is_some())
                .map(|latency| ios(name, vm, latency));
            let transactions = vm
                .response_ms
                .mean
                .zip(vm.response_ms.p99)
                .filter(|_| !is_generator(vm));
            let transactions = transactions.map(|(mean, p99)| {
                format!(
                    "{name} completes {} transactions/s in {} ms on average, p99 {} ms.",
                    number(vm.throughput_per_s),
                    number(mean),
                    number(p99)
                )
            });
            ios.into_iter().chain(transactions)
        });
        told.collect()
    }
}

/// Whether transactions are single I/Os, as those of fio.
fn is_generator(vm: &VmReport) -> bool {
    let are_ios = (vm.iops - vm.throughput_per_s).abs() <= 0.01 * vm.throughput_per_s;
    vm.io_latency_ms.is_some() && (vm.copied_mb_per_s.is_some() || are_ios)
}

/// I/Os of a group, reads and writes apart where both are there.
fn ios(name: &str, vm: &VmReport, all: &LatencyReport) -> String {
    let apart = [
        ("reads", vm.read.as_ref().map(|io| &io.latency_ms)),
        ("writes", vm.write.as_ref().map(|io| &io.latency_ms)),
    ];
    let told = |what: &str, latency: &LatencyReport| {
        Some(format!(
            "{what} take {} ms on average, p99 {} ms",
            number(latency.mean?),
            number(latency.p99?)
        ))
    };
    let mut parts: Vec<String> = apart
        .into_iter()
        .filter_map(|(what, latency)| told(what, latency?))
        .collect();
    if parts.is_empty() {
        parts.extend(told(if vm.copy_s.is_some() { "I/Os" } else { "they" }, all));
    }
    let parts = parts.join("; ");
    if let (Some(speed), Some(seconds)) = (vm.copied_mb_per_s, vm.copy_s) {
        let took = duration(seconds);
        return format!(
            "{name} copies {} MB/s: all its disks take {took}. {}.",
            number(speed),
            happened::capital(&parts)
        );
    }
    format!(
        "{name} does {} I/Os per second ({} MB/s): {parts}.",
        number(vm.iops),
        number(vm.io_mb_per_s.unwrap_or(0.0))
    )
}
