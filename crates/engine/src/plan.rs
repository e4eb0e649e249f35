//! What a VM is made from: each component takes what it needs of it.

use crate::ids::{HostId, Table, VmId};
use crate::island::Island;
use hypertwin_cluster::{Frequency, HostGroup, HypervisorOverhead, VmGroup, Workload};
use hypertwin_kernel::Stream;
use hypertwin_models::hypervisor::{self, io_threads};
use hypertwin_models::{smt, vnuma};

/// What the VMs of an island are made from, on whichever host.
pub struct Blueprint {
    /// Hosts that follow each other are mostly alike: what they are, and which each host is.
    host_specs: Vec<HostGroup>,
    hosts: Table<HostId, usize>,
    groups: Vec<(VmGroup, Workload)>,
    /// Their names and groups, and the clock at which their work was measured.
    vms: Table<VmId, (String, usize, Frequency)>,
    /// Whether VMs may come to other hosts.
    may_move: bool,
    seed: u64,
}

impl Blueprint {
    pub fn of(island: &Island, seed: u64) -> Self {
        let (host_specs, hosts) = island.kinds_of_hosts();
        let groups = island.groups.iter();
        let vms = island.vms.iter();
        Self {
            host_specs,
            hosts,
            groups: groups
                .map(|group| (group.spec.clone(), group.workload.clone()))
                .collect(),
            vms: vms
                .map(|vm| {
                    let workload = island.groups[vm.group].workload;
                    let clock = reference_clock(workload, island.hosts[vm.host].spec);
                    (vm.name.to_owned(), vm.group, clock)
                })
                .collect(),
            may_move: island.may_move(),
            seed,
        }
    }

    /// A VM on a host, which is its placement number `placement`: 0 for the first.
    pub fn plan(&self, vm: VmId, host: HostId, placement: u32) -> VmPlan<'_> {
        let (name, group, reference_clock) = &self.vms[vm];
        let (spec, workload) = &self.groups[*group];
        let host_spec = &self.host_specs[self.hosts[host]];
        let most = if self.may_move {
            &self.host_specs[..]
        } else {
            std::slice::from_ref(host_spec)
        };
        VmPlan {
            vm,
            name,
            group: *group,
            spec,
            workload,
            reference_clock: *reference_clock,
            host,
            host_spec,
            numa: hypervisor::model(host_spec.hypervisor).virtual_numa(host_spec, spec),
            most_helpers: most.iter().map(helpers_on).max().unwrap_or(0),
            most_io_threads: most
                .iter()
                .map(|host| io_threads_on(host, spec, workload))
                .max()
                .unwrap_or(0),
            placement,
            seed: self.seed,
        }
    }
}

/// Worlds of the hypervisor of a host that work for each VM.
fn helpers_on(host: &HostGroup) -> usize {
    overhead(host).map_or(0, |overhead| overhead.worlds_per_vm as usize)
}

/// I/O threads of a VM on a host.
fn io_threads_on(host: &HostGroup, spec: &VmGroup, workload: &Workload) -> usize {
    match spec.has_disks(workload) {
        true => io_threads(host, spec).count,
        false => 0,
    }
}

/// CPU of the hypervisor of a host, if it has one.
fn overhead(host: &HostGroup) -> Option<&HypervisorOverhead> {
    host.hypervisor.family().facts().virtualises.then_some(&host.overhead)
}

/// Clock at which the work of a VM was measured that begins on this host: that of the host, if none is said.
pub fn reference_clock(workload: &Workload, first: &HostGroup) -> Frequency {
    workload.reference_clock.unwrap_or(first.clock)
}

/// CPU time that work takes on a host, over that work: work is in time at the clock where it was measured, CPU time is
/// that of a core to itself at the host's nominal clock. Rates per second of CPU time are of the latter.
pub fn cpu_per_work(workload: &Workload, reference: Frequency, host: &HostGroup) -> f64 {
    match speed_ratio(reference, host, host.clock) {
        1.0 => 1.0,
        ratio => 1.0 / smt::speed(false, 1.0, ratio, workload.memory_intensity),
    }
}

/// Speed of work that does not wait for memory on a core of a host at a clock, over that where it was measured.
fn speed_ratio(reference: Frequency, host: &HostGroup, clock: Frequency) -> f64 {
    clock.hz() / reference.hz() * host.work_per_cycle
}

/// A VM of an island, and where it is.
pub struct VmPlan<'s> {
    pub vm: VmId,
    pub name: &'s str,
    /// Its group's number.
    pub group: usize,
    pub spec: &'s VmGroup,
    pub workload: &'s Workload,
    pub reference_clock: Frequency,
    pub host: HostId,
    pub host_spec: &'s HostGroup,
    pub numa: vnuma::Topology,
    /// Worlds that work for it on the host that has most of them.
    pub most_helpers: usize,
    /// Worlds that work for its controllers on the host that has most of them.
    pub most_io_threads: usize,
    /// How often it has been placed before.
    pub placement: u32,
    /// Of the random streams.
    pub seed: u64,
}

impl VmPlan<'_> {
    pub fn vcpus(&self) -> usize {
        self.spec.vcpus as usize
    }

    /// CPU of the host's hypervisor, if it has one.
    pub fn overhead(&self) -> Option<&HypervisorOverhead> {
        overhead(self.host_spec)
    }

    /// Worlds of the hypervisor that work for it.
    pub fn helpers(&self) -> usize {
        helpers_on(self.host_spec)
    }

    /// Worlds that work for its controllers.
    pub fn io_threads(&self) -> usize {
        io_threads_on(self.host_spec, self.spec, self.workload)
    }

    /// Speed of its work on a busy core of the host, over that where the work was measured.
    pub fn speed_ratio(&self) -> f64 {
        speed_ratio(self.reference_clock, self.host_spec, self.host_spec.busy_clock())
    }

    /// CPU time of work on its host, see [`cpu_per_work`].
    pub fn cpu_per_work(&self) -> f64 {
        cpu_per_work(self.workload, self.reference_clock, self.host_spec)
    }

    /// A random stream of the VM.
    pub fn stream(&self, purpose: &str) -> Stream {
        Stream::named(self.seed, &format!("vm/{}/{purpose}", self.name))
    }
}
