//! Clusters: what a report says of the hosts of each together.

use super::allocation::{Allocation, percent};
use super::means::{confidence, mean};
use super::results::{HostResult, Replication};
use crate::metrics::reports;
use crate::ordered::map_of;
use serde::Serialize;
use std::collections::BTreeMap;

reports! {
    /// A cluster with sums over its hosts, or means weighted by capacity.
    #[derive(Clone, Debug, Serialize)]
    pub struct ClusterReport {
        pub hosts: usize;
        /// Virtual machines in the cluster.
        pub vms: usize = "VMs";
        pub vcpus: u32;
        /// Physical cores of the cluster's hosts.
        pub cores: u32 = "Cores";
        /// vCPUs of the cluster's VMs divided by its physical cores.
        pub vcpu_per_core: f64 = "vCPUs per core";
        pub usage_pct: f64;
        pub usage_pct_ci95: Option<f64>;
        /// The host of the cluster with the highest usage, or the first of equal ones.
        pub peak_host: String = "Most loaded host";
        /// `usage_pct` of that host.
        pub fullest_host_pct: f64 = "Usage of the most loaded host", "%";
        pub ready_pct: f64;
        pub memory_pct: f64;
        pub memory_usage_pct: f64;
    }
}

/// The clusters of a scenario, over its replications.
pub fn clusters(replications: &[&Replication]) -> BTreeMap<String, ClusterReport> {
    let mut members: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (position, host) in replications[0].hosts.iter().enumerate() {
        members.entry(&host.allocation.cluster).or_default().push(position);
    }
    let named = |(name, hosts): (&str, Vec<usize>)| (name.to_owned(), cluster(replications, &hosts));
    map_of(members.into_iter().map(named))
}

/// The cluster of the hosts at these positions.
fn cluster(replications: &[&Replication], hosts: &[usize]) -> ClusterReport {
    let first = || hosts.iter().map(|&host| &replications[0].hosts[host]);
    let total = |get: fn(&Allocation) -> u128| -> u128 { first().map(|host| get(&host.allocation)).sum() };
    // per replication: the mean of its hosts, each counted as often as it has of something
    let weighted = |get: fn(&HostResult) -> f64, weight: fn(&Allocation) -> u128| -> Vec<f64> {
        let of = |one: &&Replication| -> f64 {
            let sum = |&host: &usize| get(&one.hosts[host]) * weight(&one.hosts[host].allocation) as f64;
            hosts.iter().map(sum).sum::<f64>() / (total(weight) as f64).max(1.0)
        };
        replications.iter().map(of).collect()
    };
    let usage_of = |host: usize| mean(replications.iter().map(|one| one.hosts[host].usage_pct));
    let mut fullest = (hosts[0], usage_of(hosts[0]));
    for &host in &hosts[1..] {
        let usage = usage_of(host);
        if usage > fullest.1 {
            fullest = (host, usage);
        }
    }
    let usage = weighted(|host| host.usage_pct, |host| host.capacity_hz.into());
    let cores = first().map(|host| host.allocation.cores).sum();
    let vcpus = first().map(|host| host.allocation.vcpus).sum();
    ClusterReport {
        hosts: hosts.len(),
        vms: first().map(|host| host.allocation.vms).sum(),
        vcpus,
        cores,
        vcpu_per_core: f64::from(vcpus) / f64::from(cores),
        usage_pct: mean(usage.iter().copied()),
        usage_pct_ci95: confidence(usage, None),
        peak_host: replications[0].hosts[fullest.0].name.clone(),
        fullest_host_pct: fullest.1,
        ready_pct: mean(weighted(|host| host.ready_pct, |host| host.vcpus.into()).into_iter()),
        memory_pct: percent(total(|host| host.configured), total(|host| host.memory)),
        memory_usage_pct: percent(total(|host| host.touched), total(|host| host.memory)),
    }
}
