//! The keys of a scenario: their types, ranges and defaults, and values derived from one type's keys.
//!
//! The types, their doc comments and their `schemars` attributes are the only source of the schema, of
//! `docs/scenario.md` and of the allowed values in messages. Users read the doc comments here.
//!
//! Boundary: nothing here knows errors, the schema or other sections; [`crate::check`] does.
//!
//! | file | contents |
//! |---|---|
//! | [`scenario`] | all sections, and the settings of a run |
//! | [`host`] | hosts: processors, memory, clock |
//! | [`cluster`] | clusters, powered-off VMs, datastores |
//! | [`measured`] | values measured on the real system |
//! | [`memory`] | memory shares, memory reclamation, swap devices |
//! | [`migration`] | live migration and scheduled events |
//! | [`hypervisor`] | versions, families, CPU scheduler options, overhead |
//! | [`network`] | ports of a host, to arrays and to other hosts |
//! | [`vm`] | VMs: virtual hardware, shares and limits, virtual NUMA, load over time |
//! | [`controller`] | virtual storage controllers |
//! | [`source`] | facts of the source system about VMs, for a move |
//! | [`workload`] | workloads of VMs |
//! | [`array`](mod@array) | storage arrays, paths and protocols |
//! | [`device`] | drives, by their data sheets |
//! | [`pool`], [`ceph`], [`vsan`] | pools of distributed storage; settings of Ceph and vSAN |
//! | [`pool_kind`] | kinds of pools, with their defaults |
//! | [`failure`] | failures over time |
//! | [`placement_rule`] | affinity, anti-affinity and VM-host rules |
//! | `defaults`, `shape` | shared defaults; changes to the derived schema |

pub mod array;
pub mod ceph;
pub mod cluster;
pub mod controller;
mod defaults;
pub mod device;
pub mod failure;
pub mod host;
pub mod hypervisor;
pub mod measured;
pub mod memory;
pub mod migration;
pub mod network;
pub mod placement_rule;
pub mod pool;
pub mod pool_kind;
pub mod scenario;
mod shape;
pub mod source;
pub mod vm;
pub mod vsan;
pub mod workload;
