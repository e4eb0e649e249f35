//! What an observer sees of a running simulation after each event: states and accounts, nothing that can be changed.
//! Checkers of invariants are written against this.

use super::Observed;
use crate::ids::{HostId, Id, PoolId, Span, VmId, WorldId};
use crate::reclaim::PageCounts;
use crate::storage::{Counters, MemberView, Pool};
use hypertwin_kernel::Nanos;
use hypertwin_models::accounting::{Account, State};
use hypertwin_models::topology::{Domain, Topology};

/// Where a world that is on no host may run.
static ANYWHERE: Domain = Domain::Any;

/// A running simulation, for reading.
pub struct View<'s> {
    observed: Observed<'s>,
}

/// One world as an observer sees it.
#[derive(Clone, Copy, Debug)]
pub struct WorldView<'s> {
    /// Host it is on, or was on last.
    pub host: usize,
    /// Whether it is on a host at all.
    pub is_placed: bool,
    /// The VM whose vCPU it is; `None` for a world of the hypervisor or of storage.
    pub vm: Option<usize>,
    /// Its state.
    pub state: State,
    /// Since when its account is behind.
    pub since: Nanos,
    /// Ready, and held back by a CPU limit.
    pub limited: bool,
    /// Its logical CPU, now or last.
    pub cpu: usize,
    /// Where it may run.
    pub domain: &'s Domain,
    /// Accounted time.
    pub account: &'s Account,
}

impl<'s> View<'s> {
    pub(crate) fn new(observed: Observed<'s>) -> Self {
        Self { observed }
    }

    /// Simulated time.
    pub fn now(&self) -> Nanos {
        self.observed.now
    }

    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        self.observed.cpu.hosts().len()
    }

    /// Processors of a host.
    pub fn topology(&self, host: usize) -> Topology {
        self.observed.cpu.hosts()[HostId::new(host)].occupancy.topology
    }

    /// Whether a logical CPU is kept empty for the whole-core claim of its sibling.
    pub fn is_withheld(&self, host: usize, cpu: usize) -> bool {
        self.observed.cpu.hosts()[HostId::new(host)].occupancy.is_withheld(cpu)
    }

    /// All worlds.
    pub fn worlds(&self) -> impl Iterator<Item = WorldView<'s>> {
        let cpu = self.observed.cpu;
        cpu.worlds().iter().map(|world| WorldView {
            host: world.host.index(),
            is_placed: world.is_placed(),
            vm: world.vcpu().map(|vcpu| vcpu.vm.index()),
            state: world.state,
            since: world.since,
            limited: world.limited,
            cpu: world.cpu,
            domain: match world.is_placed() {
                true => cpu.hosts()[world.host].scheduler.domain(world.local),
                false => &ANYWHERE,
            },
            account: &world.account,
        })
    }

    /// The VM that world number `world` is a vCPU of or works for; `None` for a world of the host.
    pub fn owner(&self, world: usize) -> Option<usize> {
        let is_in = |span: Span<WorldId>| (0..span.len()).any(|position| span.at(position).index() == world);
        let mut groups = self.observed.cpu.groups().iter();
        groups.position(|group| is_in(group.vcpus) || is_in(group.helpers))
    }

    /// Host that a VM is on; `None` for one that is on none.
    pub fn host_of(&self, vm: usize) -> Option<usize> {
        let (vm, cpu) = (VmId::new(vm), self.observed.cpu);
        cpu.is_placed(vm).then(|| cpu.groups()[vm].host.index())
    }

    /// Memory of each node of a host, in bytes: free, and with VMs.
    pub fn memory(&self, host: usize) -> Vec<(u64, u64)> {
        let cpu = self.observed.cpu;
        let loads = &cpu.node_loads()[HostId::new(host)];
        let free = &cpu.hosts()[HostId::new(host)].memory.free;
        free.iter().zip(loads).map(|(&free, load)| (free, load.bytes)).collect()
    }

    /// All queue depths on the way to storage: slots, those that are taken, and I/Os that wait for one.
    pub fn depths(&self) -> impl Iterator<Item = (u32, u32, u32)> + use<'s> {
        let depths = self.observed.storage.path().depths().iter();
        depths.map(|depth| (depth.slots, depth.used(), depth.queue.len()))
    }

    /// Pages of a VM's memory, by place.
    pub fn pages(&self, vm: usize) -> PageCounts {
        self.observed.reclaim.pages(VmId::new(vm))
    }

    /// Memory of a host in half pages: what its VMs hold, what it needs beside that, and what is free.
    pub fn host_memory(&self, host: usize) -> (u64, u64, i64) {
        let (pages, overhead, free) = self.observed.reclaim.host(HostId::new(host));
        (2 * pages.granted + pages.compressed, overhead, free)
    }

    /// Processes of a VM: in progress by the count of its arrivals, and runnable by the guest's.
    pub fn processes(&self, vm: usize) -> (usize, usize) {
        self.observed.guests.vms()[VmId::new(vm)].processes()
    }

    /// CPU work of a VM, in nanoseconds alone on a core at the reference clock: begun so far, and of that not done yet
    /// (as of each vCPU's `since`).
    pub fn work(&self, vm: usize) -> (f64, f64) {
        let cpu = self.observed.cpu;
        self.observed.guests.work(VmId::new(vm), |vcpu| cpu.left_ns(vcpu))
    }

    fn of(&self, pool: usize) -> &'s Pool {
        &self.observed.storage.pools()[PoolId::new(pool)]
    }

    /// What has passed through a pool, what its members lack at present, and how many of its groups are not whole.
    pub fn pool(&self, pool: usize) -> (Counters, u64, usize) {
        let pool = self.of(pool);
        (pool.counters(), pool.data().due(), pool.data().degraded)
    }

    /// What has passed through a pool.
    pub fn counters(&self, pool: usize) -> Counters {
        self.of(pool).counters()
    }

    /// All copies or fragments in a pool, group after group.
    pub fn members(&self, pool: usize) -> impl Iterator<Item = MemberView> + use<'s> {
        self.of(pool).data().view()
    }

    /// I/Os of a pool that wait until enough members are there.
    pub fn suspended(&self, pool: usize) -> usize {
        self.of(pool).suspended() as usize
    }

    /// vCPUs that the guest of a VM sees busy.
    pub fn guest_busy(&self, vm: usize) -> usize {
        self.observed.guests.vms()[VmId::new(vm)].busy()
    }
}
