//! The keys of a scenario: its types, with their ranges and defaults, and what follows from the keys of one of them.
//!
//! The types, their doc comments and their `schemars` attributes are the one source of the schema, of the reference in
//! `docs/scenario.md` and of what messages say is allowed. A doc comment here is text that users read.
//!
//! Boundary: nothing here knows a mistake, the schema or another section than its own; [`crate::check`] does.
//!
//! | file | what it has |
//! |---|---|
//! | [`scenario`] | all sections, and the settings of a run |
//! | [`host`] | hosts: processors, memory, clock |
//! | [`cluster`] | clusters, machines that are off, datastores |
//! | [`measured`] | what was measured on the real system |
//! | [`memory`] | memory shares, what a host does when memory runs short, where it swaps to |
//! | [`migration`] | live migration, and when it happens |
//! | [`hypervisor`] | versions, what sets their families apart, options of the CPU scheduler, overhead |
//! | [`network`] | ports of a host, to arrays and to other hosts |
//! | [`vm`] | VMs: virtual hardware, shares and limits, virtual NUMA, load over time |
//! | [`controller`] | virtual storage controllers |
//! | [`workload`] | what the processes in a VM do |
//! | [`array`](mod@array) | storage arrays, and how hosts reach them |
//! | [`device`] | drives as their data sheets describe them |
//! | [`pool`], [`ceph`], [`vsan`] | pools of distributed storage; what only some kinds have |
//! | [`failure`] | what fails when |
//! | [`placement_rule`] | rules about which VMs belong where |
//! | `defaults`, `shape` | shared defaults; what the types change in the schema derived from them |

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
pub mod scenario;
mod shape;
pub mod vm;
pub mod vsan;
pub mod workload;
