//! Figures by which a VM, or a group of VMs, suffers.

use super::words::number;
use crate::measure::bands::{self, Band};
use crate::measure::judgement::{Severity, Sign};
use crate::measure::task::Task;
use crate::measure::vm_metrics::VmReport;
use crate::ordered::sort_by;

/// Weight of a second that a VM was down: more than any figure.
const DOWN: f64 = 1_000.0;

/// An I/O of a generator without a rate is stuck from this multiple of the p99 on, which its depth decides.
const CHOSEN: f64 = 10.0;

/// The queue of full vCPUs hurts vCPUs that have idle time from this multiple on: they were full for part of the run.
const FOR_A_TIME: f64 = 5.0;

/// What is wrong with a VM that does this, or with the mean VM of a group, the worst first.
pub fn signs(vm: &VmReport, task: &Task) -> Vec<Sign> {
    let mut found = Vec::new();
    if vm.down_s > 0.0 {
        let mean = if vm.count.unwrap_or(1) > 1 { " on average" } else { "" };
        found.push(Sign {
            metric: "down_s",
            severity: Severity::Critical,
            value: vm.down_s,
            weight: DOWN + vm.down_s,
            text: format!("was down for {} s{mean}", number(vm.down_s)),
        });
    }
    let mut share = |band: &Band, value: f64, name: &str| {
        let text = format!("{name} {}% per vCPU", number(value));
        found.extend(beyond(band, value, text));
    };
    let swap_wait = vm.memory.as_ref().map_or(0.0, |memory| memory.swap_wait_pct);
    share(&bands::READY, vm.waiting_pct, "ready");
    share(&bands::COSTOP, vm.costop_pct, "co-stop");
    share(&bands::LIMITED, vm.limited_pct, "stopped by its CPU limit");
    share(&bands::SWAP_WAIT, swap_wait, "swap wait");
    let queue = vm.run_queue / f64::from(vm.vcpus.max(1));
    let is_full = bands::GUEST_CPU.is_beyond(vm.guest_cpu_pct);
    if is_full || bands::RUN_QUEUE.is_beyond(queue / FOR_A_TIME) {
        let when = if is_full {
            ""
        } else {
            " on average: full for part of the run"
        };
        let text = format!(
            "guest CPU {}% with {} runnable processes per vCPU{when}",
            number(vm.guest_cpu_pct),
            number(queue)
        );
        found.extend(beyond(&bands::RUN_QUEUE, queue, text));
    }
    let latency_ms = vm.io_latency_ms.as_ref().and_then(|latency| latency.mean);
    if let Some(latency_ms) = latency_ms.filter(|_| !task.cycle.chooses_latency()) {
        let text = format!("its I/Os take {} ms on average", number(latency_ms));
        found.extend(beyond(&bands::IO_LATENCY, latency_ms, text));
    }
    let p99_ms = vm.io_latency_ms.as_ref().and_then(|latency| latency.p99);
    let chosen_s = match task.cycle.chooses_latency() {
        true => CHOSEN * p99_ms.unwrap_or_default() / 1e3,
        false => 0.0,
    };
    if let Some(longest_s) = vm.io_longest_s.filter(|&longest_s| longest_s > chosen_s) {
        let text = format!("an I/O took {} s", number(longest_s));
        found.extend(beyond(&bands::IO_LONGEST, longest_s, text));
    }
    if let (Some(p50), Some(p99)) = (vm.response_ms.p50, vm.response_ms.p99)
        && p50 > 0.0
    {
        let text = format!("p99 {} ms is {} times the median", number(p99), number(p99 / p50));
        found.extend(beyond(&bands::TAIL, p99 / p50, text));
    }
    sort_by(&mut found, |a, b| b.weight.total_cmp(&a.weight));
    found
}

fn beyond(band: &Band, value: f64, text: String) -> Option<Sign> {
    Some(Sign {
        metric: band.metric,
        severity: band.severity(value)?,
        value,
        weight: band.weight(value),
        text,
    })
}

/// Whether any of them hurts.
pub fn hurts(signs: &[Sign]) -> bool {
    signs.iter().any(|sign| sign.severity == Severity::Critical)
}

/// How bad they are together: what hurts weighs more than anything else.
pub fn badness(signs: &[Sign]) -> f64 {
    let each = signs.iter().map(|sign| match sign.severity {
        Severity::Critical => 1e6 * sign.weight,
        _ => sign.weight,
    });
    each.fold(0.0, f64::max)
}
