//! An island: hosts that share nothing with others during a run, with all that is on them. A simulation is built from
//! one.

use crate::ids::{HostId, Table};
use hypertwin_cluster::{
    Cluster, Component, Device, Event, Failure, HostGroup, PlacementRule, RunSettings, StorageArray, StoragePool,
    VmGroup, Workload,
};
use std::collections::BTreeMap;

/// A part of a scenario that is simulated by itself. Everything is in the scenario's order.
pub struct Island<'s> {
    pub run: &'s RunSettings,
    pub hosts: Table<HostId, IslandHost<'s>>,
    /// Groups that have VMs here.
    pub groups: Vec<IslandGroup<'s>>,
    pub vms: Vec<IslandVm<'s>>,
    /// The scenario's own drives.
    pub devices: &'s BTreeMap<String, Device>,
    pub arrays: Vec<(&'s str, &'s StorageArray)>,
    pub pools: Vec<IslandPool<'s>>,
    pub failures: Vec<&'s Failure>,
    /// Clusters in which VMs may move, restart or both.
    pub clusters: Vec<IslandCluster<'s>>,
    pub events: Vec<&'s Event>,
    /// Placement rules about VMs of such clusters.
    pub rules: Vec<&'s PlacementRule>,
}

impl Island<'_> {
    /// What its hosts are, those that follow each other and are alike once, and which of these each is.
    pub fn kinds_of_hosts(&self) -> (Vec<HostGroup>, Table<HostId, usize>) {
        let mut specs: Vec<&HostGroup> = Vec::new();
        let kinds = self.hosts.iter().map(|host| {
            if !specs.last().is_some_and(|last| std::ptr::eq(*last, host.spec)) {
                specs.push(host.spec);
            }
            specs.len() - 1
        });
        let kinds = kinds.collect();
        (specs.into_iter().cloned().collect(), kinds)
    }

    /// Hosts and arrays of which ports fail during the run.
    pub fn with_failing_ports(&self) -> impl Iterator<Item = String> {
        let parts = self.failures.iter().flat_map(|failure| &failure.fails);
        parts.filter_map(|part| match Component::parse(part)? {
            Component::Port(name, _) => Some(name),
            _ => None,
        })
    }

    /// Whether VMs may come to other hosts during the run.
    pub fn may_move(&self) -> bool {
        !self.clusters.is_empty() || !self.events.is_empty()
    }
}

/// A cluster of an island.
pub struct IslandCluster<'s> {
    pub name: &'s str,
    /// What the scenario says of it.
    pub spec: Option<&'s Cluster>,
    pub hosts: Vec<HostId>,
}

/// A host of an island.
#[derive(Clone, Copy)]
pub struct IslandHost<'s> {
    pub name: &'s str,
    pub spec: &'s HostGroup,
}

/// A group of VMs.
#[derive(Clone, Copy)]
pub struct IslandGroup<'s> {
    pub name: &'s str,
    pub spec: &'s VmGroup,
    pub workload: &'s Workload,
}

/// A VM of an island.
#[derive(Clone, Copy)]
pub struct IslandVm<'s> {
    pub name: &'s str,
    /// Position of its group.
    pub group: usize,
    pub host: HostId,
}

/// A pool of an island.
pub struct IslandPool<'s> {
    pub name: &'s str,
    pub spec: &'s StoragePool,
    /// The hosts that are its nodes.
    pub nodes: Vec<HostId>,
}
