//! The memory of all hosts: VMs come and leave; what is measured.

use super::host::Host;
use super::measured::{HostMemoryResult, VmMemoryResult};
use super::pages::PageCounts;
use super::tenant::Tenant;
use super::waiting::Faults;
use crate::clock::Clock;
use crate::ids::{HostId, Id, Table, VmId};
use crate::island::Island;
use hypertwin_cluster::{HostGroup, SwapDevice, VmGroup};
use hypertwin_kernel::Nanos;
use hypertwin_models::hypervisor;

/// The memory of all hosts.
pub struct Reclaim {
    pub(super) hosts: Table<HostId, Host>,
    pub(super) vms: Table<VmId, Tenant>,
    pub(super) faults: Faults,
    pub(super) host_specs: Vec<HostGroup>,
    vm_specs: Vec<VmGroup>,
    group_of: Table<VmId, usize>,
    /// Whether the memory of any host ever could run short.
    pub(super) is_on: bool,
}

impl Reclaim {
    /// The memory of the hosts of an island, with their VMs on them for so long that everything is where it would be in
    /// the end.
    pub fn new(island: &Island, clock: &mut Clock) -> Self {
        let (host_specs, kinds) = island.kinds_of_hosts();
        let hosts = kinds.iter().map(|&kind| Host::new(kind, &host_specs[kind])).collect();
        let vms = island.vms.iter().map(|vm| {
            let group = &island.groups[vm.group];
            Tenant::new(group.spec, group.workload)
        });
        let mut reclaim = Self {
            hosts,
            vms: vms.collect(),
            faults: Faults::default(),
            host_specs,
            vm_specs: island.groups.iter().map(|group| group.spec.clone()).collect(),
            group_of: island.vms.iter().map(|vm| vm.group).collect(),
            is_on: false,
        };
        for (position, vm) in island.vms.iter().enumerate() {
            reclaim.arrive(VmId::new(position), vm.host, 0.0, 0);
        }
        for host in reclaim.hosts.ids() {
            reclaim.look_again(host, true, clock);
        }
        reclaim
    }

    /// A VM comes to a host, where it has touched its memory at once; `cpu_ns` is the CPU time of what it has done so
    /// far.
    pub fn add(&mut self, vm: VmId, host: HostId, cpu_ns: f64, clock: &mut Clock) {
        self.arrive(vm, host, cpu_ns, clock.now);
        self.look_again(host, false, clock);
    }

    /// A VM leaves its host.
    pub fn remove(&mut self, vm: VmId, now: Nanos) {
        let tenant = &mut self.vms[vm];
        let Some(id) = tenant.host else { return };
        let host = &mut self.hosts[id];
        tenant.settle(now);
        host.settle(now);
        host.replace(&tenant.all(), &PageCounts::default());
        host.overhead -= tenant.overhead;
        host.vms.retain(|&other| other != vm);
        tenant.leave();
    }

    fn arrive(&mut self, vm: VmId, id: HostId, cpu_ns: f64, now: Nanos) {
        let host = &mut self.hosts[id];
        let (host_spec, spec) = (&self.host_specs[host.spec], &self.vm_specs[self.group_of[vm]]);
        let has_balloon = spec.has_balloon(host_spec.hypervisor.family());
        if has_balloon && host.vms.iter().all(|&other| !self.vms[other].has_balloon) {
            host.policy = hypervisor::model(host_spec.hypervisor).reclamation(host_spec, true);
        }
        let overhead = host.policy.as_ref().map_or(0.0, |policy| (policy.overhead)(spec));
        let tenant = &mut self.vms[vm];
        tenant.settle(now);
        host.settle(now);
        tenant.arrive(id, has_balloon, overhead, cpu_ns);
        host.replace(&PageCounts::default(), &tenant.all());
        host.overhead += tenant.overhead;
        host.vms.push(vm);
    }

    /// Whether a host could run short of memory is looked at anew; if so, its VMs have at once what they would have in
    /// the end, or, where they were not there `long_ago`, soon after.
    fn look_again(&mut self, id: HostId, long_ago: bool, clock: &mut Clock) {
        let host = &self.hosts[id];
        let Some(policy) = &host.policy else { return };
        let could = host.free() < policy.ample() || host.vms.iter().any(|&vm| self.vms[vm].is_limited());
        if !host.is_on && !could {
            return;
        }
        let host = &mut self.hosts[id];
        host.is_on = true;
        self.is_on = true;
        self.settle_at_once(id, long_ago, clock.now);
        self.schedule(id, clock);
    }

    // ---- for reading

    /// Whether the memory of a host ever could run short.
    pub fn concerns(&self, host: HostId) -> bool {
        self.hosts[host].is_on
    }

    /// Where a host swaps to.
    pub fn swap_device(&self, host: HostId) -> SwapDevice {
        self.host_specs[self.hosts[host].spec].swap_device()
    }

    /// Pages of a VM by place.
    pub fn pages(&self, vm: VmId) -> PageCounts {
        self.vms[vm].all()
    }

    /// Pages of all VMs of a host by place, half pages that it needs beside them and that are free.
    pub fn host(&self, host: HostId) -> (PageCounts, u64, i64) {
        let host = &self.hosts[host];
        (host.counts, host.overhead, host.free_halves())
    }

    /// Whether a VM waits for no page.
    pub fn is_quiet(&self, vm: VmId) -> bool {
        self.vms[vm].waiting == 0
    }

    // ---- measuring

    /// Measures from now.
    pub fn reset(&mut self, now: Nanos) {
        self.vms.iter_mut().for_each(|vm| vm.sums.reset(now));
        self.hosts.iter_mut().for_each(|host| host.sums.reset(now));
    }

    /// Ends the time for which all pages were where they are.
    pub fn close(&mut self, now: Nanos) {
        self.vms.iter_mut().for_each(|vm| vm.settle(now));
        self.hosts.iter_mut().for_each(|host| host.settle(now));
    }

    /// What was measured of a VM, where its host's memory ever could run short; `swap_wait_pct` is known elsewhere.
    pub fn vm_result(&self, vm: VmId, host: HostId, duration_ns: f64, swap_wait_pct: f64) -> Option<VmMemoryResult> {
        let is_concerned = self.hosts[host].is_on;
        is_concerned.then(|| self.vms[vm].sums.result(duration_ns, swap_wait_pct))
    }

    /// What was measured of a host, where its memory ever could run short.
    pub fn host_result(&self, host: HostId, duration_ns: f64) -> Option<HostMemoryResult> {
        let host = &self.hosts[host];
        let policy = host.policy.as_ref().filter(|_| host.is_on)?;
        Some(host.sums.result(duration_ns, host.worst, policy.goal))
    }
}
