//! The scenario of hypertwin as validated data: hosts, virtual machines, workloads.
//!
//! The Rust types in this crate, with their doc comments, ranges and defaults, are the one source of the scenario's
//! schema. JSON Schema ([`schema_json`]), the reference in `docs/scenario.md` and the messages about mistakes
//! ([`Mistake`]) are derived from them. Nothing here simulates anything or reads a file.
//!
//! ```
//! let text = r#"{
//!   "name": "tiny",
//!   "hosts": {"esx": {"sockets": 1, "cores_per_socket": 4, "clock": "2.5 GHz", "memory_per_node": "64 GiB",
//!             "hypervisor": "esxi-8.0"}},
//!   "vms": {"db": {"vcpus": 2, "memory": "8 GiB", "workload": "oltp"}},
//!   "workloads": {"oltp": {"arrivals": {"open": {"rate": "120 /s"}}, "cpu": {"mean": "5 ms"}}}
//! }"#;
//! let scenario = hypertwin_cluster::Scenario::from_json(text).expect("a good scenario");
//! assert_eq!(scenario.vms["db"].vcpus, 2);
//! ```

mod hypervisor;
mod inventory;
mod limits;
mod mistake;
mod names;
mod options;
mod placement;
mod pool;
mod pool_rules;
mod quantity;
mod redundancy;
mod rules;
mod scenario;
mod schema;
mod semantics;
mod storage;
mod validate;

pub use hypervisor::{Family, FamilyFacts, Hypervisor};
pub use inventory::{HostMember, Inventory, PoolMember, RedundancyFacts, VmMember};
pub use limits::Limits;
pub use mistake::Mistake;
pub use names::member_names;
pub use options::HypervisorOptions;
pub use pool::{
    Component, Deployment, Failure, FailureDomain, Network, PoolClient, PoolDevices, PoolFlash, PoolKind, PoolService,
    Rebuild, StoragePool, WritePath,
};
pub use quantity::{Bandwidth, Bytes, Duration, Frequency, QuantityError, Rate};
pub use redundancy::{Redundancy, RedundancyError};
pub use rules::{PlacementRule, RuleKind};
pub use scenario::{
    Arrivals, GuestSystem, HostGroup, HypervisorOverhead, LoadStep, MemorySystem, NumaOptions, Parts, RunSettings,
    Scenario, SchedulerOptions, Service, Shares, SizedOn, VmGroup, Workload,
};
pub use schema::schema_json;
pub use storage::{
    Adapters, ArrayCache, BlockShare, ControllerKind, DiskKind, Disks, Raid, SPLIT_BYTES, StorageArray,
    VDISKS_PER_CONTROLLER,
};
