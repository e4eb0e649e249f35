//! What planners ask without a run: facts of hypervisors, and of the products of pools.

use std::collections::BTreeMap;

use hypertwin_cluster::{HypervisorOptions, Scenario, SchedulerOptions, StoragePool};
use hypertwin_models::hypervisor;
use hypertwin_models::storage::product::product;
use serde::Serialize;

/// A known hypervisor: its options, and facts of its scheduler.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HypervisorFacts {
    #[serde(flatten)]
    options: HypervisorOptions,
    /// The part of its run time (0 to 1) that a world is charged while the sibling thread of its core is busy.
    shared_core_charge: f64,
    /// VMs have home nodes.
    home_nodes: bool,
}

impl HypervisorFacts {
    /// Every known hypervisor, in the order of scenarios' versions.
    pub fn all() -> Vec<Self> {
        let of = |options: HypervisorOptions| {
            let model = hypervisor::model(options.hypervisor);
            let rules = model.home_rules(options.hypervisor, &SchedulerOptions::default());
            Self {
                shared_core_charge: model.shared_core_charge(),
                home_nodes: rules.is_some(),
                options,
            }
        };
        HypervisorOptions::all().into_iter().map(of).collect()
    }
}

/// Rules of the product of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PoolFacts {
    /// Fill level of devices that ends usable capacity, in per cent.
    pub full_pct: f64,
    /// Time from the loss of a host to the rebuild.
    pub rebuild_delay_s: f64,
    /// A failed disk is replaced at once, unlike an absent host.
    pub replaces_failed_disks: bool,
    /// The product is part of a hypervisor.
    pub in_kernel: bool,
}

impl PoolFacts {
    /// Those of the pools of a scenario, by name.
    pub fn of(scenario: &Scenario) -> BTreeMap<&str, Self> {
        let facts = |pool: &StoragePool| {
            let product = product(pool.kind);
            Self {
                full_pct: (product.full_pct)(pool),
                rebuild_delay_s: pool.rebuild_delay().seconds(),
                replaces_failed_disks: product.replaces_failed_disks,
                in_kernel: pool.kind.facts().in_kernel,
            }
        };
        let pools = scenario.storage.iter();
        pools.map(|(name, pool)| (name.as_str(), facts(pool))).collect()
    }
}
