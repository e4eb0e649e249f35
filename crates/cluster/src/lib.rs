//! The scenario of hypertwin as validated data: hosts, VMs, workloads.
//!
//! The Rust types in this crate, with their doc comments, ranges and defaults, are the only source of the scenario's
//! schema. JSON Schema ([`schema_json`]), the reference in `docs/scenario.md` and the error messages ([`Mistake`]) are
//! derived from them. Nothing here simulates anything or reads a file.
//!
//! | file | contents |
//! |---|---|
//! | `spec` | the keys: types with their ranges, defaults and descriptions |
//! | `schema` | the JSON Schema derived from them, and queries on it |
//! | `check` | reads a scenario from text, or lists its errors |
//! | `mistake`, `limits` | an error of a scenario; limits on scenarios |
//! | `drives` | the table of drives that scenarios can name |
//! | `quantity`, `redundancy`, `names` | values with units; replicas and erasure codes; names of group members |
//! | `storage_memory` | memory that pools occupy on their nodes |
//! | `placement`, `inventory` | the host of each VM; every host, VM and pool by name |
//! | `record` | the form in which front ends read members, and their classes in Python |
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

// messages about values, which only the schema check writes
#![cfg_attr(not(feature = "schema-check"), allow(dead_code))]

#[macro_use]
mod record;

mod check;
mod drives;
mod inventory;
mod limits;
mod mistake;
mod names;
mod placement;
mod quantity;
mod redundancy;
mod schema;
mod spec;
mod storage_memory;

pub use drives::{Drive, drives, misspelt_drive};
pub use inventory::{
    ClusterMember, DatastoreMember, HostMember, Inventory, PoolMember, PoweredOffMember, RedundancyFacts, RuleMember,
    VmMember, classes,
};
pub use limits::Limits;
pub use mistake::{Mistake, Reading};
pub use names::member_names;
pub use placement::fits;
pub use quantity::{Bandwidth, Bytes, Duration, Frequency, QuantityError, Rate};
pub use record::{Class, Field, Flat, In, Plain, Record};
pub use redundancy::{Redundancy, RedundancyError};
pub use schema::options::HypervisorOptions;
pub use schema::schema_json;
pub use spec::array::{ArrayCache, DiskKind, Disks, PathPolicy, Paths, Plugin, Protocol, Raid, StorageArray};
pub use spec::ceph::{Ceph, CephClient, CephRelease, CephScheduler, MclockProfile};
pub use spec::cluster::{
    AdmissionPolicy, Balancing, BalancingPolicy, Cluster, Datastore, HighAvailability, PowerPolicy, PoweredOff,
    RestartPolicy,
};
pub use spec::controller::{AsyncIo, ControllerKind, DiskCache, SPLIT_BYTES, VDISKS_PER_CONTROLLER};
pub use spec::device::{Device, Stalls, WriteCache};
pub use spec::failure::{Component, Failure};
pub use spec::host::{DEFAULT_CLUSTER, HostGroup, MemorySystem};
pub use spec::hypervisor::{CoreScheduling, Family, FamilyFacts, Hypervisor, HypervisorOverhead, SchedulerOptions};
pub use spec::measured::{MeasuredCluster, MeasuredHost, MeasuredVm};
pub use spec::memory::{PageSharing, Reclamation, SwapDevice};
pub use spec::migration::{About, Convergence, Event, EventAction, Migration};
pub use spec::network::{Adapters, Network};
pub use spec::placement_rule::{PlacementRule, RuleKind};
pub use spec::pool::{
    Deployment, FailureDomain, Flushes, PoolClient, PoolDevices, PoolFlash, PoolNetworks, PoolNodes, PoolService,
    RackLink, Rebuild, StoragePolicy, StoragePool,
};
pub use spec::pool_kind::{PoolFacts, PoolKind, WritePath};
pub use spec::scenario::{Auto, RunSettings, RunTime, Scenario};
pub use spec::source::{
    DiskMode, Firmware, RawMapping, SourceCluster, SourceDisk, SourceNetwork, SourcePartition, SourceVm, Tools,
};
pub use spec::vm::{End, GuestKind, GuestSystem, LoadStep, NumaOptions, RestartPriority, Shares, SizedOn, VmGroup};
pub use spec::vsan::{Vsan, VsanArchitecture};
pub use spec::workload::{Arrivals, BlockShare, Parts, Scaling, Service, Workload, sessions};
