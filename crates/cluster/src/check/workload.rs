//! Workloads: checks that transactions take time, and that keys suit the arrivals.

use super::sections::{Sections, sound};
use crate::mistake::Issue;
use crate::spec::workload::{Arrivals, Workload};

/// Checks that the keys of a workload suit its arrivals.
pub(super) fn arrivals(sections: &Sections, found: &mut Vec<Issue>) {
    let clean = |(name, _): &(&str, &Workload)| sections.clean(&["workloads", name]);
    for (name, workload) in sound(&sections.workloads).filter(clean) {
        match &workload.arrivals {
            Arrivals::Closed { think, .. } => {
                if workload.cpu.mean.is_zero() && workload.delay.mean.is_zero() && think.mean.is_zero() {
                    found.push(Issue::new(
                        ["workloads", name],
                        "zero-cycle",
                        "cpu, delay and think are all 0".to_owned(),
                        "a closed workload whose cpu, delay or think time is above 0".to_owned(),
                        "set cpu.mean; if all three are 0, simulated time cannot advance".to_owned(),
                    ));
                }
            }
            Arrivals::Open { rate, .. } => {
                if rate.per_second() <= 0.0 {
                    found.push(Issue::new(
                        ["workloads", name, "arrivals", "open", "rate"],
                        "zero-rate",
                        rate.to_string(),
                        "a rate above 0".to_owned(),
                        "for a VM without work, set its load or count to 0".to_owned(),
                    ));
                }
            }
            Arrivals::Parallel { .. } => parallel(name, workload, found),
            Arrivals::Io { .. } => io(name, workload, found),
        }
    }
}

fn parallel(name: &str, workload: &Workload, found: &mut Vec<Issue>) {
    let (cpu, delay) = (workload.cpu.mean, workload.delay.mean);
    let sequential = [
        ("cpu", cpu.is_zero(), cpu.to_string(), "above 0"),
        ("delay", !delay.is_zero(), delay.to_string(), "none"),
        ("ios", workload.ios > 0.0, workload.ios.to_string(), "none"),
    ];
    for (key, _, value, allowed) in sequential.into_iter().filter(|(_, wrong, ..)| *wrong) {
        found.push(Issue::new(
            ["workloads", name, key],
            "not-parallel",
            value,
            format!("{allowed}: a parallel workload only computes"),
            "change it, or use closed arrivals".to_owned(),
        ));
    }
}

fn io(name: &str, workload: &Workload, found: &mut Vec<Issue>) {
    let foreign = [
        ("bursts", workload.bursts != 1, workload.bursts.to_string()),
        ("delay", !workload.delay.mean.is_zero(), workload.delay.mean.to_string()),
        ("ios", workload.ios > 0.0, workload.ios.to_string()),
    ];
    for (key, _, value) in foreign.into_iter().filter(|(_, wrong, _)| *wrong) {
        found.push(Issue::new(
            ["workloads", name, key],
            "not-io",
            value,
            "none: each transaction of an io workload is one I/O".to_owned(),
            "remove it, or use closed or open arrivals".to_owned(),
        ));
    }
}

/// Checks that the shares of a mix do not exceed 100%.
pub(super) fn block_mix(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, workload) in sound(&sections.workloads) {
        let share: f64 = workload.block_mix.iter().map(|part| part.share_pct).sum();
        if share > 100.0 + 1e-9 && sections.clean(&["workloads", name, "block_mix"]) {
            found.push(Issue::new(
                ["workloads", name, "block_mix"],
                "mix-over-100",
                format!("{share}% in all"),
                "shares of at most 100% in all".to_owned(),
                "lower share_pct; the rest of 100% has the size block".to_owned(),
            ));
        }
    }
}
