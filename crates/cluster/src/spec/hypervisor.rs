//! Hypervisors: their versions, families and options.
//!
//! [`FamilyFacts`] states what a family can do. The schema states what can be set on a version (`x-family`, `x-since`,
//! `x-until`, see [`crate::schema::options`]). So nothing else in this crate checks the family.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::controller::ControllerKind;
use super::shape::plain_enum;
use crate::quantity::Duration;

plain! {
    Hypervisor: "str";
}

/// Kinds of hypervisor that share a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// VMware ESXi.
    Esxi,
    /// Linux with KVM.
    Linux,
    /// No hypervisor: one operating system directly on the hardware.
    BareMetal,
}

records! {
    /// Features of hosts of a family.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct FamilyFacts {
        /// Prefix of its version names: `esxi`, `linux` or `none`.
        pub family: &'static str,
        /// Its name in messages.
        pub family_title: &'static str,
        /// Its name in titles; in lower case `hypertwin init` takes it for the newest version.
        pub product: &'static str,
        /// True if there is a hypervisor, which divides the host among VMs and works for them.
        pub virtualises: bool,
        /// True if VMs can have a CPU reservation.
        pub reservations: bool,
        /// True if a power-on reserves CPU and memory overhead, which admission control checks.
        pub admission: bool,
        /// True if a powered-on VM has a swap file for its unreserved memory.
        pub swap_files: bool,
        /// Version of a host whose version is unknown.
        pub assumed: Hypervisor,
        /// True if the host uses a balloon driver in VMs automatically.
        pub balloons: bool,
        /// True if a VM's CPU limit is a quota per period, as that of a container is.
        pub limits_by_quota: bool,
        /// True if a VM can have more vCPUs than its host has logical CPUs.
        pub wider_than_host: bool,
        /// True if a VM with a CPU affinity cannot migrate while it runs.
        pub affinity_ties: bool,
        /// Maximum % of a NUMA node's memory that VMs can use, unless `hypervisor_memory` is set.
        pub node_memory_pct: u64,
        /// Kinds of storage controller for VMs, the default first; without a hypervisor the host's own.
        pub controllers: &'static [ControllerKind],
    }
}

impl Family {
    /// Features of its hosts.
    pub const fn facts(self) -> &'static FamilyFacts {
        match self {
            Self::Esxi => &FamilyFacts {
                family: "esxi",
                family_title: "ESXi",
                product: "ESXi",
                virtualises: true,
                reservations: true,
                admission: true,
                swap_files: true,
                assumed: Hypervisor::Esxi80,
                balloons: true,
                limits_by_quota: false,
                wider_than_host: false,
                // `AffinityConfigured` of the vSphere API
                affinity_ties: true,
                // Assumed, from one example: on nodes of 256 GB a VM of 384 GB had 226 GB local and 155 GB remote, with
                // a little not yet touched (F. Denneman, "vSphere 8 CPU Topology for Large Memory Footprint VMs",
                // 2022).
                node_memory_pct: 89,
                controllers: &[
                    ControllerKind::Pvscsi,
                    ControllerKind::LsiSas,
                    ControllerKind::Nvme,
                    ControllerKind::Ide,
                    ControllerKind::Ahci,
                    ControllerKind::Passthrough,
                ],
            },
            Self::Linux => &FamilyFacts {
                family: "linux",
                family_title: "Linux",
                product: "KVM",
                virtualises: true,
                reservations: false,
                admission: false,
                swap_files: false,
                assumed: Hypervisor::Linux6_12,
                balloons: false,
                limits_by_quota: true,
                wider_than_host: true,
                affinity_ties: false,
                node_memory_pct: 100,
                controllers: &[
                    ControllerKind::VirtioScsi,
                    ControllerKind::VirtioBlk,
                    ControllerKind::Pvscsi,
                    ControllerKind::LsiSas,
                    ControllerKind::Nvme,
                    ControllerKind::Ide,
                    ControllerKind::Ahci,
                    ControllerKind::VhostBlk,
                    ControllerKind::VhostScsi,
                    ControllerKind::Passthrough,
                ],
            },
            Self::BareMetal => &FamilyFacts {
                family: "none",
                family_title: "a host without hypervisor",
                product: "no hypervisor",
                virtualises: false,
                reservations: false,
                admission: false,
                swap_files: false,
                assumed: Hypervisor::BareMetal,
                balloons: false,
                limits_by_quota: false,
                wider_than_host: false,
                affinity_ties: false,
                node_memory_pct: 100,
                controllers: &[ControllerKind::Passthrough],
            },
        }
    }

    /// `esxi`, `linux` or `none`.
    pub const fn as_str(self) -> &'static str {
        self.facts().family
    }

    /// Default storage controller of VMs.
    pub const fn default_controller(self) -> ControllerKind {
        self.facts().controllers[0]
    }
}

macro_rules! hypervisors {
    ($($variant:ident, $family:ident, $text:literal;)*) => {
        /// Hypervisor and version. Within a family, later versions compare greater.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[schemars(transform = plain_enum)]
        pub enum Hypervisor {
            $(
                #[doc = concat!("`", $text, "`")]
                #[serde(rename = $text)]
                $variant,
            )*
        }

        impl Hypervisor {
            /// Every known hypervisor, ESXi first, each family from old to new; `none` is the last.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name as scenarios write it, such as `esxi-6.0`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Family of its scheduler.
            pub const fn family(self) -> Family {
                match self { $(Self::$variant => Family::$family,)* }
            }
        }
    };
}

hypervisors! {
    Esxi40, Esxi, "esxi-4.0";
    Esxi41, Esxi, "esxi-4.1";
    Esxi50, Esxi, "esxi-5.0";
    Esxi51, Esxi, "esxi-5.1";
    Esxi55, Esxi, "esxi-5.5";
    Esxi60, Esxi, "esxi-6.0";
    Esxi65, Esxi, "esxi-6.5";
    Esxi67, Esxi, "esxi-6.7";
    Esxi70, Esxi, "esxi-7.0";
    Esxi70u2, Esxi, "esxi-7.0u2";
    Esxi80, Esxi, "esxi-8.0";
    Esxi90, Esxi, "esxi-9.0";
    Linux6_6, Linux, "linux-6.6";
    Linux6_12, Linux, "linux-6.12";
    BareMetal, BareMetal, "none";
}

impl Hypervisor {
    /// Major and minor version and update: 7, 0 and 2 of `esxi-7.0u2`.
    pub fn version(self) -> [u32; 3] {
        let version = self
            .as_str()
            .trim_start_matches(self.family().as_str())
            .trim_start_matches('-');
        let mut numbers = version.split(['.', 'u']).map(|number| number.parse().unwrap_or(0));
        std::array::from_fn(|_| numbers.next().unwrap_or(0))
    }

    /// True for this version of the same family and for later ones.
    pub fn is_since(self, version: Self) -> bool {
        self.family() == version.family() && self >= version
    }

    /// Maximum vCPUs per VM, if below the logical CPUs of hosts of that time: 8 on vSphere 4 (VMware, "Configuration
    /// Maximums", 4.0 and 4.1).
    pub fn most_vcpus(self) -> Option<u32> {
        match self {
            Self::Esxi40 | Self::Esxi41 => Some(8),
            _ => None,
        }
    }
}

impl std::fmt::Display for Hypervisor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// CPU scheduler parameters of the hypervisor. An absent key has the version's default. A key of the other hypervisor
/// family is an error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SchedulerOptions {
    /// ESXi `Cpu.Quantum`: how long a vCPU runs while others of equal entitlement wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-family" = "esxi", "x-minimum" = "100 us", "x-maximum" = "10 s"))]
    pub quantum: Option<Duration>,
    /// ESXi `Cpu.CoschedCostopThreshold`: lead over the slowest sibling at which a vCPU is co-stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-family" = "esxi", "x-minimum" = "100 us", "x-maximum" = "10 s"))]
    pub costop_threshold: Option<Duration>,
    /// ESXi `Cpu.CoschedCostartThreshold`: lead under which a co-stopped vCPU starts again; at most `costop_threshold`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-family" = "esxi", "x-minimum" = "0 us", "x-maximum" = "10 s"))]
    pub costart_threshold: Option<Duration>,
    /// ESXi `Cpu.CoschedPollUsec`: interval at which the lead is checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-family" = "esxi", "x-minimum" = "10 us", "x-maximum" = "10 s"))]
    pub cosched_poll: Option<Duration>,
    /// ESXi `Cpu.HTWholeCoreThreshold`: lag behind its entitlement at which a vCPU claims a whole core.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-family" = "esxi", "x-minimum" = "0 ms", "x-maximum" = "1 h"))]
    pub ht_whole_core_threshold: Option<Duration>,
    /// ESXi `Cpu.HTRebalancePeriod`: interval of load balancing between the threads of a core.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-family" = "esxi", "x-minimum" = "1 ms", "x-maximum" = "1 h"))]
    pub ht_rebalance_period: Option<Duration>,
    /// ESXi `Numa.RebalancePeriod`: interval at which the NUMA scheduler reviews home nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-family" = "esxi", "x-minimum" = "1 ms", "x-maximum" = "1 h"))]
    pub numa_rebalance_period: Option<Duration>,
    /// ESXi `Numa.MigImbalanceThreshold`: load difference between nodes at which a NUMA client moves, in %.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 100.0), extend("x-family" = "esxi"))]
    pub numa_imbalance_threshold_pct: Option<f64>,
    /// ESXi `Numa.LocalityWeightActionAffinity`: attraction between related NUMA clients. Above 100 it outweighs
    /// balance between nodes; 0 turns it off.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 0, max = 1_000), extend("x-family" = "esxi"))]
    pub numa_action_affinity_weight: Option<u32>,
    /// ESXi: random error of the node load that the NUMA scheduler sees at power-on: a standard deviation, in % of the
    /// node's cores. Default: 0, so placement does not vary.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 100.0), extend("x-family" = "esxi"))]
    pub numa_load_error_pct: Option<f64>,
    /// Linux EEVDF `base_slice_ns`: time that a task runs before its virtual deadline moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-family" = "linux", "x-minimum" = "100 us", "x-maximum" = "1 s"))]
    pub base_slice: Option<Duration>,
    /// Linux: tick period (1 / `CONFIG_HZ`). An expired slice ends at a tick.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-family" = "linux", "x-minimum" = "100 us", "x-maximum" = "1 s"))]
    pub tick: Option<Duration>,
    /// Linux: minimum interval of load balancing between run queues. A busy CPU balances at 16 times the interval.
    /// Default: 1 ms per logical CPU of a domain (core, last-level cache, host), at least one tick.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-family" = "linux", "x-minimum" = "1 ms", "x-maximum" = "1 h"))]
    pub balance_interval: Option<Duration>,
    /// Worlds that can share the two hardware threads of a core: `off` any; `sca-v1` (ESXi 5.5 and later) one world per
    /// core; `sca-v2` (ESXi 6.7 and later) vCPUs of one VM; `linux` (Linux) threads of one VM.
    #[serde(skip_serializing_if = "is_off")]
    pub core_scheduling: CoreScheduling,
}

fn is_off(policy: &CoreScheduling) -> bool {
    *policy == CoreScheduling::Off
}

/// Worlds that can share the two hardware threads of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = plain_enum)]
pub enum CoreScheduling {
    /// Any.
    #[default]
    #[serde(rename = "off")]
    Off,
    /// One world per core: the side-channel aware scheduler of ESXi.
    #[serde(rename = "sca-v1")]
    ScaV1,
    /// vCPUs of one VM: the side-channel aware scheduler of ESXi, version 2.
    #[serde(rename = "sca-v2")]
    ScaV2,
    /// Threads of one VM: core scheduling of Linux, one cookie for each VM.
    #[serde(rename = "linux")]
    Linux,
}

impl CoreScheduling {
    /// Every policy.
    pub const ALL: [Self; 4] = [Self::Off, Self::ScaV1, Self::ScaV2, Self::Linux];

    /// As scenarios write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::ScaV1 => "sca-v1",
            Self::ScaV2 => "sca-v2",
            Self::Linux => "linux",
        }
    }

    /// True if `hypervisor` has it. SCAv1 came with the patches against L1TF for ESXi 5.5 to 6.7 (VMware KB 55806),
    /// SCAv2 with ESXi 6.7 Update 2, core scheduling of Linux with 5.14.
    pub fn is_of(self, hypervisor: Hypervisor) -> bool {
        match self {
            Self::Off => true,
            Self::ScaV1 => hypervisor.is_since(Hypervisor::Esxi55),
            Self::ScaV2 => hypervisor.is_since(Hypervisor::Esxi67),
            Self::Linux => hypervisor.family() == Family::Linux,
        }
    }
}

impl SchedulerOptions {
    /// `costop_threshold`; by default that of every ESXi version (ESXi advanced options).
    pub fn costop_threshold(&self) -> Duration {
        self.costop_threshold.unwrap_or(Duration::from_millis(3))
    }

    /// `costart_threshold`; by default that of every ESXi version (ESXi advanced options).
    pub fn costart_threshold(&self) -> Duration {
        self.costart_threshold.unwrap_or(Duration::from_millis(2))
    }
}

/// CPU that the hypervisor itself uses for VMs: VMkernel worlds (ESXi), or vhost and I/O threads (KVM).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HypervisorOverhead {
    /// Helper worlds or threads per VM.
    #[schemars(range(min = 1, max = 64))]
    pub worlds_per_vm: u32,
    /// Hypervisor CPU per I/O, at the nominal clock.
    #[schemars(extend("x-minimum" = "0 us", "x-maximum" = "10 ms"))]
    pub cpu_per_io: Duration,
    /// Extra time of guest work compared with the same processor without a hypervisor, in %: nested page tables, exits.
    #[schemars(range(min = 0.0, max = 1_000.0))]
    pub guest_work_pct: f64,
    /// CPU of the helper worlds, in % of the CPU of the VM's vCPUs.
    #[schemars(range(min = 0.0, max = 1_000.0))]
    pub activity_pct: f64,
    /// Part of `cpu_per_io` that runs as an interrupt on the vCPU's logical CPU (System and Overlap), in %.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub interrupt_share_pct: f64,
}

impl Default for HypervisorOverhead {
    fn default() -> Self {
        Self {
            worlds_per_vm: 4,
            cpu_per_io: Duration::from_micros(25),
            guest_work_pct: 0.0,
            activity_pct: 1.0,
            interrupt_share_pct: 30.0,
        }
    }
}
