//! Limits on scenarios: totals, so that a hostile or mistyped file cannot use up memory or time, and limits on single
//! values for front ends.

use serde_json::Value;

use crate::quantity::base_units;
use crate::schema;
use crate::spec::controller::{DEFAULT_VDISKS_PER_CONTROLLER, VDISKS_PER_CONTROLLER};
use crate::spec::network::Adapters;
use crate::spec::vm::NumaOptions;

/// Hosts in all.
pub(crate) const HOSTS: u64 = 10_000;
/// Logical CPUs in all.
pub(crate) const LOGICAL_CPUS: u64 = 2_000_000;
/// Virtual CPUs in all.
pub(crate) const VCPUS: u64 = 200_000;
/// Processes of closed workloads in all, at the highest load step.
pub(crate) const PROCESSES: f64 = 2_000_000.0;
/// Open arrivals per second in all, at the highest load step.
pub(crate) const ARRIVALS_PER_SECOND: f64 = 1e8;
/// Samples on the timeline, over all hosts and VMs.
pub(crate) const SAMPLES: f64 = 2e7;
/// Disks of arrays and pools in all.
pub(crate) const DISKS: u64 = 200_000;
/// Virtual disks in all.
pub(crate) const VDISKS: f64 = 500_000.0;
/// Threads that work for virtual controllers or for pools in all.
pub(crate) const IO_THREADS: u64 = 2_000_000;
/// I/Os that workloads can keep outstanding in all, in parts of 512 KiB.
pub(crate) const OUTSTANDING: f64 = 4_000_000.0;

records! {
    /// Maxima of a scenario, and defaults that advice compares with. Sizes are in bytes, clocks in Hz.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Limits {
        /// Characters of `description`.
        pub description: u64,
        /// Groups of hosts.
        pub host_groups: u64,
        /// Groups of VMs.
        pub vm_groups: u64,
        /// Placement rules.
        pub rules: u64,
        /// Names in one placement rule.
        pub rule_names: u64,
        /// Hosts in all.
        pub hosts: u64,
        /// Logical CPUs of all hosts.
        pub logical_cpus: u64,
        /// vCPUs of all VMs.
        pub vcpus: u64,
        /// Sockets per host.
        pub sockets: u64,
        /// NUMA nodes per socket.
        pub nodes_per_socket: u64,
        /// Cores per socket.
        pub cores_per_socket: u64,
        /// Slowest nominal clock.
        pub least_clock_hz: u64,
        /// Fastest nominal clock.
        pub clock_hz: u64,
        /// Least memory of a VM, or of a host's NUMA node.
        pub least_memory_bytes: u64,
        /// Most memory of a VM, or of a host's NUMA node.
        pub memory_bytes: u64,
        /// vCPUs per VM.
        pub vcpus_per_vm: u64,
        /// Virtual storage controllers per VM.
        pub controllers: u64,
        /// Virtual disks per controller.
        pub vdisks_per_controller: u64,
        /// Default virtual disks per controller.
        pub default_vdisks_per_controller: u64,
        /// Default outstanding commands per LUN.
        pub default_lun_depth: u64,
        /// `dsnro`.
        pub dsnro: u64,
        /// Default minimum vCPUs at which ESXi shows a VM several NUMA nodes.
        pub default_numa_vcpu_min: u64,
    }
}

impl Limits {
    /// The limits that validation enforces.
    pub fn new() -> Self {
        Self {
            description: bound("description", "maxLength"),
            host_groups: bound("hosts", "maxProperties"),
            vm_groups: bound("vms", "maxProperties"),
            rules: bound("rules", "maxItems"),
            rule_names: bound("rules.0.vms", "maxItems"),
            hosts: HOSTS,
            logical_cpus: LOGICAL_CPUS,
            vcpus: VCPUS,
            sockets: bound("hosts.NAME.sockets", "maximum"),
            nodes_per_socket: bound("hosts.NAME.nodes_per_socket", "maximum"),
            cores_per_socket: bound("hosts.NAME.cores_per_socket", "maximum"),
            least_clock_hz: bound("hosts.NAME.clock", "x-minimum"),
            clock_hz: bound("hosts.NAME.clock", "x-maximum"),
            least_memory_bytes: bound("vms.NAME.memory", "x-minimum"),
            memory_bytes: bound("vms.NAME.memory", "x-maximum"),
            vcpus_per_vm: bound("vms.NAME.vcpus", "maximum"),
            controllers: bound("vms.NAME.controllers", "maximum"),
            vdisks_per_controller: VDISKS_PER_CONTROLLER.into(),
            default_vdisks_per_controller: DEFAULT_VDISKS_PER_CONTROLLER.into(),
            default_lun_depth: Adapters::default().lun_depth.into(),
            dsnro: bound("hosts.NAME.adapters.dsnro", "maximum"),
            default_numa_vcpu_min: NumaOptions::default().vcpu_min().into(),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::new()
    }
}

/// A bound from the schema for the value at `path`, in base units for a quantity.
fn bound(path: &str, keyword: &str) -> u64 {
    let path: Vec<String> = path.split('.').map(str::to_owned).collect();
    let here = schema::at(&path).expect("the place is in the schema");
    let bound = schema::keyword(&here, keyword).expect("the place has the bound");
    match (bound, schema::keyword(&here, "x-quantity").and_then(Value::as_str)) {
        (Value::String(text), Some(kind)) => {
            let value = base_units(kind, text).expect("a known kind of quantity");
            value.expect("the schema's bounds are sound") as u64
        }
        (number, _) => number.as_u64().expect("the schema's bounds are whole numbers"),
    }
}
