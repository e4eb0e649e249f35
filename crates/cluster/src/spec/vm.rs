//! VMs: virtual hardware, resources and placement.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::controller::{AsyncIo, ControllerKind, DEFAULT_VDISKS_PER_CONTROLLER, DiskCache};
use super::defaults::{is_default, one, one_f64, yes};
use super::hypervisor::Family;
use super::measured::MeasuredVm;
use super::memory::MemoryShares;
use super::shape::{lines_of_text, plain_enum};
use super::source::SourceVm;
use super::workload::Workload;
use crate::quantity::{Bytes, Duration, Frequency};
use crate::record::{Field, Plain};

/// `count` identical VMs. A single VM has the name of its group; several are named `name-1`, `name-2` and so on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VmGroup {
    /// VM name in vCenter or Proxmox and in its telemetry, if it differs. With `count` above 1, each VM appends its
    /// number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "String",
        length(min = 1, max = 256),
        regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$")
    )]
    #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 256 characters on one line", "examples" = ["DB 1 (production)"]))]
    pub label: Option<String>,
    /// Number of VMs; 0 leaves the group out.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 100_000))]
    pub count: u32,
    /// vCPUs per VM; except on Linux hosts, at most the logical CPUs of its host.
    #[schemars(range(min = 1, max = 768), extend("examples" = [4]))]
    pub vcpus: u32,
    /// Cores per virtual socket; must divide `vcpus`. On ESXi it shapes virtual NUMA. Before 6.5, each socket of more
    /// than one core is one node. Default: 1; on ESXi 8.0 and later, the value chosen at power-on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 768))]
    pub cores_per_socket: Option<u32>,
    /// Memory per VM; at most the memory of its host.
    #[schemars(extend("x-minimum" = "1 MiB", "x-maximum" = "1 PiB"))]
    pub memory: Bytes,
    /// Memory that the guest has touched and that therefore consumes host memory. Default: all of `memory`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1 PiB"))]
    pub memory_touched: Option<Bytes>,
    /// Active memory: touched memory that the guest uses repeatedly. Reclaiming it causes page faults. Default: all
    /// touched memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1 PiB"))]
    pub memory_active: Option<Bytes>,
    /// Zero pages, in % of touched memory. Page sharing frees them at once, and a migration does not send them.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub memory_zero_pct: f64,
    /// Pages that compress to half their size or less, in %. ESXi compresses them instead of swapping them out.
    #[serde(default = "default_compressible", skip_serializing_if = "is_default_compressible")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub memory_compressible_pct: f64,
    /// Memory shares: priority for host memory under contention. `low`, `normal` and `high` are 5, 10 and 20 per MiB of
    /// `memory`. A number applies to the whole VM.
    #[serde(default, skip_serializing_if = "is_normal")]
    #[schemars(with = "MemoryShares", default = "Shares::default")]
    pub memory_shares: Shares,
    /// Memory reserved for each VM and never reclaimed; at most `memory`. On ESXi, the VMs of a host cannot reserve
    /// more than the host has.
    #[serde(default, skip_serializing_if = "is_nothing")]
    #[schemars(extend("x-minimum" = "0 B", "x-maximum" = "1 PiB"))]
    pub memory_reservation: Bytes,
    /// Host memory that each VM can consume at most; at least `memory_reservation`. Memory touched beyond it is
    /// reclaimed. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "1 MiB", "x-maximum" = "1 PiB"))]
    pub memory_limit: Option<Bytes>,
    /// Memory is backed by huge pages, which the host never reclaims: hugetlbfs on Linux, 1 GiB pages on ESXi. The host
    /// gives all of it at power-on, whatever `memory_touched` says. ESXi requires a full `memory_reservation`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub huge_pages: bool,
    /// Balloon driver: the host can make the guest return memory. Default: yes on ESXi, no on Linux.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub balloon: Option<bool>,
    /// Restart order after a host failure. Each class waits for the classes before it.
    #[serde(default, skip_serializing_if = "is_medium")]
    pub restart_priority: RestartPriority,
    /// ESXi CPU hot-add: vCPUs can be added to a running VM. It hides virtual NUMA unless `numa.expose_on_cpu_hot_add`
    /// is set.
    #[serde(default)]
    #[schemars(extend("x-family" = "esxi"))]
    pub cpu_hot_add: bool,
    /// Virtual NUMA: the nodes that the guest sees.
    #[serde(default)]
    pub numa: NumaOptions,
    /// CPU shares: priority for host CPU under contention. `low`, `normal` and `high` are 500, 1000 and 2000 per vCPU.
    /// A number applies to the whole VM.
    #[serde(default)]
    pub shares: Shares,
    /// CPU guaranteed to each VM. The VMs of a host cannot reserve more than the host has. ESXi only: Linux cgroups
    /// have no CPU reservation.
    #[serde(default)]
    #[schemars(extend("x-minimum" = "0 MHz", "x-maximum" = "1000 THz"))]
    pub reservation: Frequency,
    /// CPU that each VM can use at most; at least `reservation`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Frequency", extend("x-minimum" = "1 MHz", "x-maximum" = "1000 THz"))]
    pub limit: Option<Frequency>,
    /// Cluster of the VM. Default: the cluster of its `host`; without `host`, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["production"]))]
    pub cluster: Option<String>,
    /// Host, or group of hosts to spread over. Default: all hosts of the cluster that the `deployment` of the `storage`
    /// allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 80), extend("examples" = ["esx"]))]
    pub host: Option<String>,
    /// `host` is a guess because the source does not name it. Advice does not judge this placement.
    #[serde(default, skip_serializing_if = "is_false")]
    pub host_is_guess: bool,
    /// Logical CPUs that the VM can use, such as `0-11,24`. Thread t of core c of socket s has number (s *
    /// cores_per_socket + c) * threads_per_core + t. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "String",
        length(min = 1, max = 10_000),
        regex(pattern = r"^[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?)*$")
    )]
    #[schemars(extend("x-code" = "bad-affinity", "x-allowed" = "numbers and ranges of logical CPUs, such as 0-11,24", "examples" = ["0-11,24"]))]
    pub affinity: Option<String>,
    /// The VM can migrate while it runs. `false` for containers (LXC) and VMs with passed-through devices: they stay on
    /// their host in maintenance and balancing, as do VMs of ESXi with `affinity`. After a host failure they restart
    /// like other VMs.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub live_migration: bool,
    /// The VM serves storage to its host (Nutanix CVM, ScaleIO SVM). Its CPU counts as a cost of the storage layer.
    #[serde(default, skip_serializing_if = "is_false")]
    pub storage_appliance: bool,
    /// Guest family and its scheduling.
    #[serde(default)]
    pub guest: GuestSystem,
    /// Guest operating system as the source names it. It selects licences, and does not change a simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "String",
        length(min = 1, max = 200),
        regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$")
    )]
    #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 200 characters on one line", "examples" = ["Microsoft Windows Server 2022 (64-bit)"]))]
    pub guest_os: Option<String>,
    /// Software in the guest that needs a licence. It selects licences, and does not change a simulation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 32),
        inner(length(min = 1, max = 64), regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$")),
        extend("examples" = [["sql-server", "oracle-database"]]),
        transform = lines_of_text
    )]
    pub products: Vec<String>,
    /// Workload of the VM: a key of `workloads`.
    #[schemars(length(min = 1, max = 64), extend("examples" = ["oltp"]))]
    pub workload: String,
    /// Factor on the population or arrival rate of the workload.
    #[serde(default = "one_f64")]
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub load: f64,
    /// Further factors on `load` over time. Before the first step the factor is 1. New sessions begin at any time
    /// within their think time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10_000))]
    pub load_steps: Vec<LoadStep>,
    /// Array that holds the virtual disks: a key of `arrays`. Default: none, so I/O is a delay of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["san"]))]
    pub array: Option<String>,
    /// Distributed storage that holds the virtual disks, instead of `array`: a key of `storage`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["pool"]))]
    pub storage: Option<String>,
    /// Storage policy of the virtual disks: a key of the pool's `policies`. Default: the pool's `redundancy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["raid-5"]))]
    pub policy: Option<String>,
    /// Storage policy of each virtual disk, instead of `policy`. The list repeats over the virtual disks; it cannot be
    /// longer than their number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 60), inner(length(min = 1, max = 64)), extend("examples" = [["raid-1", "raid-5"]]))]
    pub vdisk_policies: Vec<String>,
    /// Kind of virtual storage controller. Default: `pvscsi` on ESXi, `virtio-scsi` on Linux. Without a hypervisor: the
    /// host's own (`passthrough`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ControllerKind")]
    pub controller: Option<ControllerKind>,
    /// Number of virtual storage controllers.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 4))]
    pub controllers: u32,
    /// Virtual disks in total, distributed over the controllers in turn; at most 15 per controller. Default: 10 per
    /// controller. For a workload that copies: virtual disks at each end. Default then: 5 per controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 60))]
    pub vdisks: Option<u32>,
    /// Outstanding requests per virtual disk. Default and maximum: 64 and 254 for `pvscsi`, 32 and 32 for `lsi-sas`,
    /// 128 and 256 for `virtio-scsi` and `vhost-scsi`, 256 and 256 for `virtio-blk` and `vhost-blk`, 256 and 1024 for
    /// `nvme` and `passthrough`, 32 and 32 for `ahci`, 1 for `ide`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 1_024))]
    pub vdisk_depth: Option<u32>,
    /// Ring pages of a `pvscsi` controller, 32 requests each. Default: 8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 32))]
    pub ring_pages: Option<u32>,
    /// Queues per controller. The vCPUs are divided between them, and several threads can serve them in parallel.
    /// Default: 1 on ESXi, otherwise one per vCPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 768))]
    pub queues: Option<u32>,
    /// I/O threads per controller: of QEMU (with several, `iothread-vq-mapping`), or of the kernel (vhost; with
    /// several, `worker_per_virtqueue`). 0 is QEMU's main loop, which serves all controllers of the VM. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 0, max = 64), extend("x-family" = "linux"))]
    pub io_threads: Option<u32>,
    /// QEMU cache mode of the virtual disks.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend("x-family" = "linux"))]
    pub disk_cache: DiskCache,
    /// QEMU: asynchronous I/O interface of the host kernel.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend("x-family" = "linux"))]
    pub aio: AsyncIo,
    /// Virtual disks share the array's `luns` in turn, possibly with other VMs. Otherwise each virtual disk has its own
    /// LUN.
    #[serde(default)]
    pub shared_luns: bool,
    /// Measured values of each VM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MeasuredVm")]
    pub measured: Option<MeasuredVm>,
    /// Facts of the source system about the VM, for a move to another hypervisor. An absent key is unknown. No run
    /// reads them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SourceVm")]
    pub source: Option<SourceVm>,
}

impl VmGroup {
    /// Memory that it has touched and that consumes host memory: all of it by default, and with huge pages.
    pub fn touched(&self) -> Bytes {
        self.memory_touched.filter(|_| !self.huge_pages).unwrap_or(self.memory)
    }

    /// Memory that its host may never reclaim.
    pub fn kept_memory(&self) -> Bytes {
        match self.huge_pages {
            true => self.memory,
            false => self.memory_reservation,
        }
    }

    /// Active memory: touched memory that it uses repeatedly.
    pub fn active(&self) -> Bytes {
        self.memory_active.unwrap_or(self.memory).min(self.touched())
    }

    /// True if a host of this family can make it return memory.
    pub fn has_balloon(&self, family: Family) -> bool {
        self.balloon.unwrap_or(family.facts().balloons) && !self.huge_pages
    }

    /// True if the VM can migrate from a host of this family while it runs.
    pub fn migrates_live(&self, family: Family) -> bool {
        self.live_migration && !(family.facts().affinity_ties && self.affinity.is_some())
    }

    /// The logical CPUs of `affinity`, ascending and without repeats; `None` where there is no affinity.
    pub fn affinity_cpus(&self) -> Option<Vec<u32>> {
        self.affinity.as_deref().and_then(parse_cpus)
    }

    /// True if it has its own storage.
    pub fn has_own_disks(&self) -> bool {
        self.array.is_some() || self.storage.is_some()
    }

    /// True if its I/Os go to virtual disks: it has its own storage, or `workload` copies.
    pub fn has_disks(&self, workload: &Workload) -> bool {
        self.has_own_disks() || workload.copies()
    }

    /// Location of its virtual disks: its own storage, or, if `workload` copies, first the source and then the target.
    /// Empty without disks.
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

    /// Number of policies that its virtual disks of one end use in turn: one if all use the same.
    pub fn policies_at(&self, end: End) -> usize {
        match end {
            End::Pool(_) => self.vdisk_policies.len().max(1),
            _ => 1,
        }
    }

    /// Policy of a virtual disk of one end, by its number there. Only virtual disks of its own storage have one.
    pub fn policy_of(&self, end: End, vdisk: usize) -> Option<&str> {
        let own = match self.vdisk_policies.as_slice() {
            [] => self.policy.as_deref(),
            dealt => Some(dealt[vdisk % dealt.len()].as_str()),
        };
        own.filter(|_| matches!(end, End::Pool(_)))
    }

    /// Policies of its virtual disks of one end, with the number of disks of each. A policy listed twice is returned
    /// twice.
    pub fn policies_of(&self, end: End, workload: &Workload) -> impl Iterator<Item = (Option<&str>, u32)> {
        let (vdisks, dealt) = (self.vdisks_of_end(workload), self.policies_at(end) as u32);
        let of = move |first: u32| (self.policy_of(end, first as usize), (vdisks - first).div_ceil(dealt));
        (0..dealt.min(vdisks)).map(of)
    }

    /// Number of its [`Self::ends`] on the pool of this name.
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
    // At most five digits: keeps the list small for any text.
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

/// Virtual NUMA options. An absent key has the version's default. A key that the hypervisor does not have is an error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NumaOptions {
    /// ESXi `numa.vcpu.preferHT`: NUMA sizing counts hardware threads instead of cores.
    #[schemars(extend("x-family" = "esxi"))]
    pub prefer_ht: bool,
    /// ESXi `numa.vcpu.followcorespersocket` (6.5 and later): one virtual node per virtual socket of more than one
    /// core, as before 6.5.
    #[schemars(extend("x-family" = "esxi", "x-since" = "esxi-6.5"))]
    pub follow_cores_per_socket: bool,
    /// ESXi `numa.vcpu.min`: minimum vCPUs for several virtual nodes. Default: 9.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 768), extend("x-family" = "esxi", "x-since" = "esxi-5.0"))]
    pub vcpu_min: Option<u32>,
    /// ESXi `numa.vcpu.maxPerVirtualNode`: splits the vCPUs evenly over the fewest nodes of at most this size.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 768), extend("x-family" = "esxi", "x-since" = "esxi-5.0"))]
    pub max_per_virtual_node: Option<u32>,
    /// ESXi 8.0 and later, `coresPerNumaNode`: vCPUs per virtual node, set manually.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 768), extend("x-family" = "esxi", "x-since" = "esxi-8.0"))]
    pub cores_per_node: Option<u32>,
    /// ESXi 8.0 and later, `exposeVnumaOnCpuHotadd`: the guest sees its nodes even with CPU hot-add.
    #[schemars(extend("x-family" = "esxi", "x-since" = "esxi-8.0"))]
    pub expose_on_cpu_hot_add: bool,
    /// ESXi before 8.0: host of the first power-on, which fixed the virtual nodes (`numa.autosize.once`). Default: the
    /// current host.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SizedOn", extend("x-family" = "esxi", "x-until" = "esxi-7.0u2"))]
    pub sized_on: Option<SizedOn>,
    /// Linux (libvirt `<numa><cell>`): vCPUs of each virtual node; the sum is `vcpus`. Default: one node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128), inner(range(min = 1, max = 768)), extend("x-family" = "linux"))]
    pub cells: Vec<u32>,
    /// Linux (libvirt `<memnode>` and `<vcpupin>`): NUMA node of the host, from 0, to which each of `cells` is bound.
    /// Default: not bound.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128), inner(range(min = 0, max = 15)), extend("x-family" = "linux"))]
    pub nodes: Vec<u32>,
}

impl NumaOptions {
    /// `numa.vcpu.min`: minimum vCPUs for several virtual nodes (vSphere Resource Management, "Virtual NUMA Controls").
    pub fn vcpu_min(&self) -> u32 {
        self.vcpu_min.unwrap_or(9)
    }
}

/// Processors of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizedOn {
    /// Sockets; each is one NUMA node.
    #[schemars(range(min = 1, max = 16), extend("examples" = [2]))]
    pub sockets: u32,
    /// Physical cores per socket.
    #[schemars(range(min = 1, max = 256), extend("examples" = [20]))]
    pub cores_per_socket: u32,
}

/// From `at` on, the load is `factor` times `load`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadStep {
    /// Time from the start of the run, warm-up included. Steps are in order of time.
    #[schemars(extend("x-minimum" = "0 s", "x-maximum" = "60 d"))]
    pub at: Duration,
    /// Factor from then on.
    #[schemars(range(min = 0.0, max = 1_000_000.0), extend("examples" = [2]))]
    pub factor: f64,
}

/// Family of guest operating systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = plain_enum)]
pub enum GuestKind {
    /// Linux.
    Linux,
    /// Windows.
    Windows,
}

/// Guest operating system: it schedules processes on the vCPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GuestSystem {
    /// Guest family: sets the CPU cost of its storage drivers. Default: the guest that the published figures of the
    /// driver are for.
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

plain! {
    RestartPriority: "str";
}

/// Shares of a VM need its vCPUs: the record that has the VM gives their total.
impl Plain for Shares {
    fn python() -> String {
        String::new()
    }

    fn plain<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }

    fn is_unknown(&self) -> bool {
        true
    }

    fn fields(_key: &str, _about: &'static str) -> Vec<Field> {
        Vec::new()
    }
}

/// Restart order of VMs.
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
    /// Never: HA does not restart the VM.
    Disabled,
}

/// Shares of a VM, of CPU or memory: its priority under contention. For CPU, `low`, `normal` and `high` are 500, 1000
/// and 2000 per vCPU (VMware, vSphere Resource Management). A number applies to the whole VM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shares {
    /// 500 per vCPU.
    Low,
    /// 1000 per vCPU.
    #[default]
    Normal,
    /// 2000 per vCPU.
    High,
    /// For the whole VM, whatever its vCPUs.
    Number(u32),
}

impl Shares {
    /// Shares of a whole VM with `vcpus` vCPUs.
    pub fn total(self, vcpus: u32) -> f64 {
        match self {
            Self::Low => 500.0 * f64::from(vcpus),
            Self::Normal => 1000.0 * f64::from(vcpus),
            Self::High => 2000.0 * f64::from(vcpus),
            Self::Number(shares) => f64::from(shares),
        }
    }

    /// Memory shares of a whole VM with this much memory: `low`, `normal` and `high` are 5, 10 and 20 per MiB (VMware,
    /// vSphere Resource Management).
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
    /// On the array or pool with this name, which no other has.
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
            "description": "CPU shares of a VM: its priority for host CPU under contention. low, \
                normal and high are 500, 1000 and 2000 per vCPU; a number applies to the whole VM.",
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

pub(super) fn is_nothing(value: &Bytes) -> bool {
    value.bytes() == 0
}

pub(super) fn is_normal(value: &Shares) -> bool {
    *value == Shares::Normal
}

fn is_medium(value: &RestartPriority) -> bool {
    *value == RestartPriority::Medium
}

fn is_true(value: &bool) -> bool {
    *value
}

fn is_false(value: &bool) -> bool {
    !value
}
