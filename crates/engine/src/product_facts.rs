//! What planners ask without a run: facts of hypervisors, and of the products of pools.

use std::collections::BTreeMap;

use hypertwin_cluster::{
    Duration, Flat, HypervisorOptions, Inventory, RedundancyFacts, Scenario, SchedulerOptions, StoragePool, records,
};
use hypertwin_models::hypervisor;
use hypertwin_models::storage::product::product;

records! {
    /// A known hypervisor: its options, and facts of its scheduler.
    #[derive(Clone, Debug, PartialEq)]
    pub struct HypervisorFacts {
        /// Options of its version.
        pub options: Flat<HypervisorOptions>,
        /// A vCPU is charged less time while the sibling thread of its core is busy.
        pub charges_shared_cores: bool,
        /// VMs have home nodes, so that each node has its own queue of vCPUs.
        pub home_nodes: bool,
    }
}

impl HypervisorFacts {
    /// Every known hypervisor, in the order of scenarios' versions.
    pub fn all() -> Vec<Self> {
        let of = |options: HypervisorOptions| {
            let model = hypervisor::model(options.name);
            let rules = model.home_rules(options.name, &SchedulerOptions::default());
            Self {
                charges_shared_cores: model.shared_core_charge() < 1.0,
                home_nodes: rules.is_some(),
                options: Flat(options),
            }
        };
        HypervisorOptions::all().into_iter().map(of).collect()
    }
}

records! {
    /// Rules of the product of a pool.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PoolFacts {
        /// Fill level of devices that ends usable capacity, in per cent.
        pub full_pct: f64,
        /// Fill level of devices up to which lost data are recovered on them, in per cent.
        pub recovery_pct: f64,
        /// Time from the loss of a host to the rebuild.
        pub rebuild_delay: Duration,
        /// A failed disk is replaced at once, unlike an absent host.
        pub replaces_failed_disks: bool,
        /// The product is part of a hypervisor.
        pub in_kernel: bool,
    }
}

impl PoolFacts {
    /// Those of the pools of a scenario, by name.
    pub fn of(scenario: &Scenario) -> BTreeMap<&str, Self> {
        let facts = |pool: &StoragePool| {
            let product = product(pool.kind);
            Self {
                full_pct: (product.full_pct)(pool),
                recovery_pct: product.recovery_pct(pool),
                rebuild_delay: pool.rebuild_delay(),
                replaces_failed_disks: product.replaces_failed_disks,
                in_kernel: pool.kind.facts().in_kernel,
            }
        };
        let pools = scenario.storage.iter();
        pools.map(|(name, pool)| (name.as_str(), facts(pool))).collect()
    }
}

/// Every cluster, host, VM and pool of a scenario, with what the products of its pools need for I/O.
pub fn inventory(scenario: &Scenario) -> Inventory {
    let mut all = scenario.inventory();
    for pool in &mut all.pools {
        let spec = &scenario.storage[&pool.name];
        let (product, nodes) = (product(spec.kind), pool.hosts.len() as u32);
        let complete = |kept: &mut RedundancyFacts, policy: Option<&str>| {
            kept.minimum = (product.minimum)(spec, policy, nodes);
            kept.domains += spec.witnesses(policy, nodes);
        };
        complete(&mut pool.redundancy, None);
        for (policy, kept) in &mut pool.policies {
            complete(kept, Some(policy));
        }
        if product.needs_majority {
            pool.metadata_servers = spec.metadata_servers(nodes);
        }
    }
    all
}
