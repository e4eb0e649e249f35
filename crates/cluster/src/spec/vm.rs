//! VMs: their virtual hardware, what they get of a host, and where they may be.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::controller::{AsyncIo, ControllerKind, DEFAULT_VDISKS_PER_CONTROLLER, DiskCache};
use super::defaults::{is_default, one, one_f64};
use super::hypervisor::Family;
use super::measured::MeasuredVm;
use super::memory::MemoryShares;
use super::shape::plain_enum;
use super::workload::Workload;
use crate::quantity::{Bytes, Duration, Frequency};

/// `count` identical virtual machines. One is named like its group, several are named `name-1`, `name-2` and so on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VmGroup {
    /// Its name in its own system, where that differs: what telemetry calls it. Of several, each has its number behind
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "String",
        length(min = 1, max = 256),
        regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$")
    )]
    #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 256 characters on one line", "examples" = ["DB 1 (production)"]))]
    pub label: Option<String>,
    /// How many such machines; 0 leaves the group out.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 100_000))]
    pub count: u32,
    /// Virtual CPUs of one machine; at most the logical CPUs of its host.
    #[schemars(range(min = 1, max = 768), extend("examples" = [4]))]
    pub vcpus: u32,
    /// Cores of one virtual socket; divides `vcpus`. On ESXi it shapes the virtual NUMA nodes, before 6.5 as one node
    /// per socket of more than one core. Default: 1, or what ESXi 8.0 chooses at power-on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 768))]
    pub cores_per_socket: Option<u32>,
    /// Memory of one machine; at most its host's.
    #[schemars(extend("x-minimum" = "1 MiB", "x-maximum" = "1 PiB"))]
    pub memory: Bytes,
    /// How much of `memory` the machine has touched, so that it occupies its host's memory. Default: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1 PiB"))]
    pub memory_touched: Option<Bytes>,
    /// How much of its touched memory the machine uses again and again, so that it misses what of it is taken away.
    /// Default: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1 PiB"))]
    pub memory_active: Option<Bytes>,
    /// How much of its touched memory is pages of zeros, in per cent: what page sharing frees at once, and what a
    /// migration does not send.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub memory_zero_pct: f64,
    /// How many of its pages compress to half their size or less, in per cent, so that ESXi compresses them instead of
    /// swapping them out.
    #[serde(default = "default_compressible", skip_serializing_if = "is_default_compressible")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub memory_compressible_pct: f64,
    /// Memory shares: what the machine keeps beside others when there is not enough. `low`, `normal` and `high` are 5,
    /// 10 and 20 per MiB of `memory`; a number is for the whole machine.
    #[serde(default, skip_serializing_if = "is_normal")]
    #[schemars(with = "MemoryShares", default = "Shares::default")]
    pub memory_shares: Shares,
    /// Memory that is never taken from one machine; a host's machines cannot reserve more than it has. At most
    /// `memory`.
    #[serde(default, skip_serializing_if = "is_nothing")]
    #[schemars(extend("x-minimum" = "0 B", "x-maximum" = "1 PiB"))]
    pub memory_reservation: Bytes,
    /// Host memory that one machine never exceeds; at least `memory_reservation`. What it touches beyond it is
    /// reclaimed. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "1 MiB", "x-maximum" = "1 PiB"))]
    pub memory_limit: Option<Bytes>,
    /// Whether its memory is backed by huge pages that the host never takes back: hugetlbfs on Linux, 1 GiB pages on
    /// ESXi, which ask for a full `memory_reservation`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub huge_pages: bool,
    /// Whether the host can make the guest give memory back (ballooning). Default: on ESXi yes, on Linux no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub balloon: Option<bool>,
    /// When it is restarted after its host has failed, beside others: a class waits for those before it.
    #[serde(default, skip_serializing_if = "is_medium")]
    pub restart_priority: RestartPriority,
    /// ESXi CPU hot-add: vCPUs can be added while the machine runs. It hides virtual NUMA, unless
    /// `numa.expose_on_cpu_hot_add` is set.
    #[serde(default)]
    #[schemars(extend("x-family" = "esxi"))]
    pub cpu_hot_add: bool,
    /// Virtual NUMA: which nodes the guest sees.
    #[serde(default)]
    pub numa: NumaOptions,
    /// CPU shares: what the machine gets beside others when there is not enough. `low`, `normal` and `high` are 500,
    /// 1000 and 2000 per vCPU; a number is for the whole machine.
    #[serde(default)]
    pub shares: Shares,
    /// CPU that one machine is sure to get when it wants it; a host's machines cannot reserve more than it has. For
    /// ESXi hosts: Linux cgroups have no CPU reservation.
    #[serde(default)]
    #[schemars(extend("x-minimum" = "0 MHz", "x-maximum" = "1000 THz"))]
    pub reservation: Frequency,
    /// CPU that one machine never exceeds; at least `reservation`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Frequency", extend("x-minimum" = "1 MHz", "x-maximum" = "1000 THz"))]
    pub limit: Option<Frequency>,
    /// The cluster on whose hosts it may be. Default: that of its `host`; without a `host`, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["production"]))]
    pub cluster: Option<String>,
    /// Name of a host, or of a group of hosts to spread over. Default: spread over all hosts of its cluster, or over
    /// those that the `deployment` of its `storage` allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 80), extend("examples" = ["esx"]))]
    pub host: Option<String>,
    /// Whether `host` is a guess: its own system does not say where it is. Advice does not judge its place.
    #[serde(default, skip_serializing_if = "is_false")]
    pub host_is_guess: bool,
    /// Logical CPUs the machine may run on, such as `0-11,24`. Thread t of core c of socket s is number
    /// (s * cores_per_socket + c) * threads_per_core + t. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "String",
        length(min = 1, max = 10_000),
        regex(pattern = r"^[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?)*$")
    )]
    #[schemars(extend("x-code" = "bad-affinity", "x-allowed" = "numbers and ranges of logical CPUs, such as 0-11,24", "examples" = ["0-11,24"]))]
    pub affinity: Option<String>,
    /// Whether it serves storage to its host (a Nutanix CVM, a ScaleIO SVM), so that its CPU is what the storage layer
    /// costs.
    #[serde(default, skip_serializing_if = "is_false")]
    pub storage_appliance: bool,
    /// The guest operating system.
    #[serde(default)]
    pub guest: GuestSystem,
    /// What runs in the machine: a key of `workloads`.
    #[schemars(length(min = 1, max = 64), extend("examples" = ["oltp"]))]
    pub workload: String,
    /// Multiplies the population or the arrival rate of the workload.
    #[serde(default = "one_f64")]
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub load: f64,
    /// A further factor on `load` over time; before the first step it is 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10_000))]
    pub load_steps: Vec<LoadStep>,
    /// The array that has its virtual disks: a key of `arrays`. Default: none, I/O is a delay of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["san"]))]
    pub array: Option<String>,
    /// The distributed storage that has its virtual disks, instead of an `array`: a key of `storage`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["pool"]))]
    pub storage: Option<String>,
    /// How its virtual disks are kept there: a key of the pool's `policies`. Default: by the pool's `redundancy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["raid-5"]))]
    pub policy: Option<String>,
    /// The same for each of its virtual disks, instead of `policy`: they are dealt to the virtual disks in turn, the
    /// first to the first, and over again. At most as many as virtual disks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 60), inner(length(min = 1, max = 64)), extend("examples" = [["raid-1", "raid-5"]]))]
    pub vdisk_policies: Vec<String>,
    /// Kind of virtual storage controller. Default: `pvscsi` on ESXi, `virtio-scsi` on Linux; without a hypervisor the
    /// host's own, which is `passthrough`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ControllerKind")]
    pub controller: Option<ControllerKind>,
    /// Virtual storage controllers.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 4))]
    pub controllers: u32,
    /// Virtual disks in all, dealt to the controllers in turn; at most 15 on each. Default: 10 on each. Of a workload
    /// that copies: those at each end; by default half of 10 on each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 60))]
    pub vdisks: Option<u32>,
    /// Requests outstanding on one virtual disk. Default and maximum: 64 and 254 for `pvscsi`, 32 and 32 for `lsi-sas`,
    /// 128 and 256 for `virtio-scsi` and `vhost-scsi`, 256 and 256 for `virtio-blk` and `vhost-blk`, 256 and 1024 for
    /// `nvme` and `passthrough`, 32 and 32 for `ahci`, 1 for `ide`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 1_024))]
    pub vdisk_depth: Option<u32>,
    /// Pages of a `pvscsi` controller's ring, 32 requests each. Default: 8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 32))]
    pub ring_pages: Option<u32>,
    /// Queues of one controller, between which its vCPUs are divided: what several threads can serve side by side.
    /// Default: 1 on ESXi, one for each vCPU elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 768))]
    pub queues: Option<u32>,
    /// QEMU: threads that serve the queues of one controller (`iothread-vq-mapping` where several); 0: its main loop,
    /// which serves all controllers of the machine. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 0, max = 64), extend("x-family" = "linux"))]
    pub io_threads: Option<u32>,
    /// QEMU: whose caches the data of its virtual disks pass.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend("x-family" = "linux"))]
    pub disk_cache: DiskCache,
    /// QEMU: how it asks the kernel for I/O.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend("x-family" = "linux"))]
    pub aio: AsyncIo,
    /// Whether its virtual disks are dealt in turn to the array's `luns`, where other machines may be too, instead of
    /// each having a LUN of its own.
    #[serde(default)]
    pub shared_luns: bool,
    /// What was measured of each such machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MeasuredVm")]
    pub measured: Option<MeasuredVm>,
}

impl VmGroup {
    /// Memory that it has touched, so that it occupies its host's: all of it, if nothing says less.
    pub fn touched(&self) -> Bytes {
        self.memory_touched.unwrap_or(self.memory)
    }

    /// Memory that it uses again and again, of what it has touched.
    pub fn active(&self) -> Bytes {
        self.memory_active.unwrap_or(self.memory).min(self.touched())
    }

    /// Whether a host of this family can make it give memory back.
    pub fn has_balloon(&self, family: Family) -> bool {
        self.balloon.unwrap_or(family.facts().balloons) && !self.huge_pages
    }

    /// The logical CPUs of `affinity`, ascending and without repeats; `None` where there is no affinity.
    pub fn affinity_cpus(&self) -> Option<Vec<u32>> {
        self.affinity.as_deref().and_then(parse_cpus)
    }

    /// Whether it has storage of its own.
    pub fn has_own_disks(&self) -> bool {
        self.array.is_some() || self.storage.is_some()
    }

    /// Whether its I/Os go to virtual disks: it has storage of its own, or `workload` copies.
    pub fn has_disks(&self, workload: &Workload) -> bool {
        self.has_own_disks() || workload.copies()
    }

    /// Where its virtual disks are: on its own storage, or, where `workload` copies, first what is read and then what
    /// is written. Nowhere without disks.
    pub fn ends<'s>(&'s self, workload: &'s Workload) -> impl Iterator<Item = End<'s>> + use<'s> {
        let array = self.array.as_deref().map(End::Array);
        let own = array.or(self.storage.as_deref().map(End::Pool));
        let end = |named: &'s Option<String>| named.as_deref().map(End::Named).or(own);
        let ends = match workload.copies() {
            true => [end(&workload.read_from), end(&workload.write_to)],
            false => [own, None],
        };
        ends.into_iter().flatten()
    }

    /// How many policies are dealt in turn to its virtual disks of one end: one, where all of them are kept alike.
    pub fn policies_at(&self, end: End) -> usize {
        match end {
            End::Pool(_) => self.vdisk_policies.len().max(1),
            _ => 1,
        }
    }

    /// The policy by which a virtual disk of one end is kept, by its number there: its own for those of its own
    /// storage.
    pub fn policy_of(&self, end: End, vdisk: usize) -> Option<&str> {
        let own = match self.vdisk_policies.as_slice() {
            [] => self.policy.as_deref(),
            dealt => Some(dealt[vdisk % dealt.len()].as_str()),
        };
        own.filter(|_| matches!(end, End::Pool(_)))
    }

    /// The policies by which its virtual disks of one end are kept, and how many of these each has: one policy twice,
    /// if it is dealt twice.
    pub fn policies_of(&self, end: End, workload: &Workload) -> impl Iterator<Item = (Option<&str>, u32)> {
        let (vdisks, dealt) = (self.vdisks_of_end(workload), self.policies_at(end) as u32);
        let of = move |first: u32| (self.policy_of(end, first as usize), (vdisks - first).div_ceil(dealt));
        (0..dealt.min(vdisks)).map(of)
    }

    /// How many of its [`Self::ends`] are on the pool of this name.
    pub fn ends_on_pool(&self, workload: &Workload, name: &str) -> usize {
        self.ends(workload).filter(|end| end.is_pool(name)).count()
    }

    /// Virtual disks at each of its [`Self::ends`].
    pub fn vdisks_of_end(&self, workload: &Workload) -> u32 {
        let all = DEFAULT_VDISKS_PER_CONTROLLER * self.controllers;
        self.vdisks.unwrap_or(all / workload.ends())
    }

    /// Virtual disks in all.
    pub fn all_vdisks(&self, workload: &Workload) -> u32 {
        self.vdisks_of_end(workload) * workload.ends()
    }

    /// Kind of its controllers on a host of this family.
    pub fn controller_kind(&self, family: Family) -> ControllerKind {
        self.controller.unwrap_or(family.default_controller())
    }

    /// The highest factor that `load` and `load_steps` reach.
    pub fn peak_load(&self) -> f64 {
        self.load * self.load_steps.iter().map(|step| step.factor).fold(1.0, f64::max)
    }
}

/// The numbers of a list such as `0-11,24`, ascending and without repeats; `None` where it is malformed.
pub(crate) fn parse_cpus(text: &str) -> Option<Vec<u32>> {
    // Numbers of at most five digits keep the list small whatever the text says.
    let number = |text: &str| text.parse::<u32>().ok().filter(|n| *n <= 99_999);
    let mut cpus = std::collections::BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(part)?, number(part)?),
        };
        if first > last {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus.into_iter().collect())
}

/// What is absent has the version's default; a key that the hypervisor does not have is a mistake.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NumaOptions {
    /// ESXi `numa.vcpu.preferHT`: hardware threads count as room for vCPUs, instead of cores.
    #[schemars(extend("x-family" = "esxi"))]
    pub prefer_ht: bool,
    /// ESXi `numa.vcpu.followcorespersocket` (6.5 and later): one virtual node per virtual socket of more than one
    /// core, as before 6.5.
    #[schemars(extend("x-family" = "esxi", "x-since" = "esxi-6.5"))]
    pub follow_cores_per_socket: bool,
    /// ESXi `numa.vcpu.min`: vCPUs from which the guest may see several nodes; 9 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 768), extend("x-family" = "esxi", "x-since" = "esxi-5.0"))]
    pub vcpu_min: Option<u32>,
    /// ESXi `numa.vcpu.maxPerVirtualNode`: the vCPUs are split evenly over the fewest nodes of at most this many.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 768), extend("x-family" = "esxi", "x-since" = "esxi-5.0"))]
    pub max_per_virtual_node: Option<u32>,
    /// ESXi 8.0 and later, `coresPerNumaNode`: vCPUs of one virtual node, set by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 768), extend("x-family" = "esxi", "x-since" = "esxi-8.0"))]
    pub cores_per_node: Option<u32>,
    /// ESXi 8.0 and later, `exposeVnumaOnCpuHotadd`: the guest sees its nodes with CPU hot-add too.
    #[schemars(extend("x-family" = "esxi", "x-since" = "esxi-8.0"))]
    pub expose_on_cpu_hot_add: bool,
    /// ESXi before 8.0: the host on which the machine was first powered on, which fixed its virtual nodes
    /// (`numa.autosize.once`). Default: its present host.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SizedOn", extend("x-family" = "esxi", "x-until" = "esxi-7.0u2"))]
    pub sized_on: Option<SizedOn>,
    /// Linux (libvirt `<numa><cell>`): vCPUs of each virtual node; in all as many as `vcpus`. Default: one node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128), inner(range(min = 1, max = 768)), extend("x-family" = "linux"))]
    pub cells: Vec<u32>,
    /// Linux (libvirt `<memnode>` and `<vcpupin>`): the host's NUMA node, from 0, to which each of `cells` is bound.
    /// Default: not bound.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128), inner(range(min = 0, max = 15)), extend("x-family" = "linux"))]
    pub nodes: Vec<u32>,
}

impl NumaOptions {
    /// `numa.vcpu.min`: vCPUs from which a guest may see several nodes (vSphere Resource Management, "Virtual NUMA
    /// Controls").
    pub fn vcpu_min(&self) -> u32 {
        self.vcpu_min.unwrap_or(9)
    }
}

/// Processors of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizedOn {
    /// Its sockets, each one NUMA node.
    #[schemars(range(min = 1, max = 16), extend("examples" = [2]))]
    pub sockets: u32,
    /// Physical cores of one socket.
    #[schemars(range(min = 1, max = 256), extend("examples" = [20]))]
    pub cores_per_socket: u32,
}

/// From a moment on, the load is `factor` times `load`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadStep {
    /// When, counted from the start of the run, warm-up included. Steps are in order of time.
    #[schemars(extend("x-minimum" = "0 s", "x-maximum" = "60 d"))]
    pub at: Duration,
    /// The factor from then on.
    #[schemars(range(min = 0.0, max = 1_000_000.0), extend("examples" = [2]))]
    pub factor: f64,
}

/// A family of guest operating systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = plain_enum)]
pub enum GuestKind {
    /// Linux.
    Linux,
    /// Windows.
    Windows,
}

/// The guest operating system: it multiplexes processes over the virtual CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GuestSystem {
    /// What it is: sets what its storage drivers cost. Default: what the driver's published figures are of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "GuestKind")]
    pub kind: Option<GuestKind>,
    /// How long a process runs while others wait for its vCPU.
    #[schemars(extend("x-minimum" = "10 us", "x-maximum" = "10 s"))]
    pub time_slice: Duration,
}

impl Default for GuestSystem {
    fn default() -> Self {
        Self {
            kind: None,
            time_slice: Duration::from_millis(6),
        }
    }
}

/// When a virtual machine is restarted, beside others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum RestartPriority {
    /// Before all others.
    Highest,
    /// Before most.
    High,
    /// As most.
    #[default]
    Medium,
    /// After most.
    Low,
    /// After all others.
    Lowest,
    /// Never: it stays down.
    Disabled,
}

/// Shares of a virtual machine, of CPU or of memory: what it gets beside others when there is not enough. `low`,
/// `normal` and `high` of CPU are 500, 1000 and 2000 per vCPU (VMware, vSphere Resource Management); a number is for
/// the whole machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shares {
    /// 500 per vCPU.
    Low,
    /// 1000 per vCPU.
    #[default]
    Normal,
    /// 2000 per vCPU.
    High,
    /// For the whole virtual machine, whatever its vCPUs.
    Number(u32),
}

impl Shares {
    /// Shares of a whole virtual machine with `vcpus` vCPUs.
    pub fn total(self, vcpus: u32) -> f64 {
        match self {
            Self::Low => 500.0 * f64::from(vcpus),
            Self::Normal => 1000.0 * f64::from(vcpus),
            Self::High => 2000.0 * f64::from(vcpus),
            Self::Number(shares) => f64::from(shares),
        }
    }

    /// Memory shares of a whole virtual machine with this much memory: `low`, `normal` and `high` are 5, 10 and 20 per
    /// MiB (VMware, vSphere Resource Management).
    pub fn of_memory(self, memory: Bytes) -> f64 {
        let mib = memory.bytes() as f64 / f64::from(1 << 20);
        match self {
            Self::Low => 5.0 * mib,
            Self::Normal => 10.0 * mib,
            Self::High => 20.0 * mib,
            Self::Number(shares) => f64::from(shares),
        }
    }
}

/// Where virtual disks are, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End<'s> {
    /// On an array.
    Array(&'s str),
    /// On a pool.
    Pool(&'s str),
    /// On the array or the pool of this name, which is of one of the two only.
    Named(&'s str),
}

impl End<'_> {
    /// Whether it is the array of this name.
    pub fn is_array(self, name: &str) -> bool {
        matches!(self, Self::Array(end) | Self::Named(end) if end == name)
    }

    /// Whether it is the pool of this name.
    pub fn is_pool(self, name: &str) -> bool {
        self.pool() == Some(name)
    }
}

impl<'s> End<'s> {
    /// The name of the pool that it is, if it is one.
    pub fn pool(self) -> Option<&'s str> {
        match self {
            Self::Pool(name) | Self::Named(name) => Some(name),
            Self::Array(_) => None,
        }
    }
}

impl Serialize for Shares {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Low => serializer.serialize_str("low"),
            Self::Normal => serializer.serialize_str("normal"),
            Self::High => serializer.serialize_str("high"),
            Self::Number(shares) => serializer.serialize_u32(*shares),
        }
    }
}

impl<'de> Deserialize<'de> for Shares {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(u32),
            Name(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(shares) => Ok(Self::Number(shares)),
            Written::Name(name) => match name.as_str() {
                "low" => Ok(Self::Low),
                "normal" => Ok(Self::Normal),
                "high" => Ok(Self::High),
                _ => Err(de::Error::unknown_variant(&name, &["low", "normal", "high"])),
            },
        }
    }
}

impl JsonSchema for Shares {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Shares".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "integer"],
            "description": "CPU shares of a virtual machine: what it gets beside others when there is not enough. low, \
                normal and high are 500, 1000 and 2000 per vCPU; a number is for the whole machine.",
            "pattern": "^(low|normal|high)$",
            "minimum": 1,
            "maximum": 1_000_000,
            "examples": ["high", 4000],
            "x-code": "unknown-value",
            "x-allowed": "low, normal, high, or an integer from 1 to 1000000",
            "x-values": ["low", "normal", "high"],
        })
    }
}

fn default_compressible() -> f64 {
    50.0
}

fn is_default_compressible(value: &f64) -> bool {
    *value == default_compressible()
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

fn is_nothing(value: &Bytes) -> bool {
    value.bytes() == 0
}

fn is_normal(value: &Shares) -> bool {
    *value == Shares::Normal
}

fn is_medium(value: &RestartPriority) -> bool {
    *value == RestartPriority::Medium
}

fn is_false(value: &bool) -> bool {
    !value
}
