//! Memory that is taken from VMs, in reports.

use super::results::Replication;
use crate::reclaim::{HostMemoryResult, VmMemoryResult};

/// What is reported of a host's memory: the means of the replications in which it could run short, if there are any.
pub fn of_host(replications: &[&Replication], host: usize) -> Option<HostMemoryResult> {
    let all = replications.iter().filter_map(|one| one.hosts[host].reclaimed.as_ref());
    let all: Vec<&HostMemoryResult> = all.collect();
    let state = all.iter().map(|one| one.state).max()?;
    let mean = |get: fn(&HostMemoryResult) -> f64| all.iter().map(|one| get(one)).sum::<f64>() / all.len() as f64;
    Some(HostMemoryResult {
        state,
        free_bytes: mean(|one| one.free_bytes),
        min_free_bytes: mean(|one| one.min_free_bytes),
        ballooned_bytes: mean(|one| one.ballooned_bytes),
        swapped_bytes: mean(|one| one.swapped_bytes),
        compressed_bytes: mean(|one| one.compressed_bytes),
        shared_bytes: mean(|one| one.shared_bytes),
        overcommit_pct: mean(|one| one.overcommit_pct),
        swap_in_bytes_per_s: mean(|one| one.swap_in_bytes_per_s),
        swap_out_bytes_per_s: mean(|one| one.swap_out_bytes_per_s),
    })
}

/// What is reported of the memory of some VMs together: sums over those of them whose hosts could run short, and the
/// mean of what is per vCPU; means over replications.
pub fn of_vms(replications: &[&Replication], vms: &[usize]) -> Option<VmMemoryResult> {
    let of = |replication: &&Replication| -> Vec<VmMemoryResult> {
        vms.iter().filter_map(|&vm| replication.vms[vm].reclaimed).collect()
    };
    let all: Vec<Vec<VmMemoryResult>> = replications.iter().map(of).filter(|some| !some.is_empty()).collect();
    if all.is_empty() {
        return None;
    }
    let sum = |get: fn(&VmMemoryResult) -> f64| all.iter().flatten().map(get).sum::<f64>() / all.len() as f64;
    let members = all.iter().map(Vec::len).sum::<usize>() as f64 / all.len() as f64;
    Some(VmMemoryResult {
        granted_bytes: sum(|one| one.granted_bytes),
        consumed_bytes: sum(|one| one.consumed_bytes),
        active_bytes: sum(|one| one.active_bytes),
        shared_bytes: sum(|one| one.shared_bytes),
        ballooned_bytes: sum(|one| one.ballooned_bytes),
        swapped_bytes: sum(|one| one.swapped_bytes),
        compressed_bytes: sum(|one| one.compressed_bytes),
        overhead_bytes: sum(|one| one.overhead_bytes),
        target_bytes: sum(|one| one.target_bytes),
        swap_in_bytes_per_s: sum(|one| one.swap_in_bytes_per_s),
        swap_out_bytes_per_s: sum(|one| one.swap_out_bytes_per_s),
        swap_wait_pct: sum(|one| one.swap_wait_pct) / members,
    })
}
