//! What an observer sees of a running simulation after each event: states and accounts, nothing that can be changed.
//! Checkers of invariants are written against this.

use crate::ids::{Id, PoolId};
use crate::simulation::Simulation;
use crate::state::{Kind, Phase};
use crate::storage::{Counters, MemberView, Pool};
use hypertwin_kernel::Nanos;
use hypertwin_models::accounting::{Account, State};
use hypertwin_models::topology::{Domain, Topology};

/// A running simulation, for reading.
pub struct View<'s> {
    simulation: &'s Simulation,
}

/// One world as an observer sees it.
#[derive(Clone, Copy, Debug)]
pub struct WorldView<'s> {
    /// Host it is on.
    pub host: usize,
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
    pub(crate) fn new(simulation: &'s Simulation) -> Self {
        Self { simulation }
    }

    /// Simulated time.
    pub fn now(&self) -> Nanos {
        self.simulation.clock.now
    }

    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        self.simulation.hosts.len()
    }

    /// Processors of a host.
    pub fn topology(&self, host: usize) -> Topology {
        self.simulation.hosts[host].occupancy.topology
    }

    /// Whether a logical CPU is kept empty for the whole-core claim of its sibling.
    pub fn is_withheld(&self, host: usize, cpu: usize) -> bool {
        self.simulation.hosts[host].occupancy.is_withheld(cpu)
    }

    /// All worlds.
    pub fn worlds(&self) -> impl Iterator<Item = WorldView<'s>> {
        let hosts = &self.simulation.hosts;
        self.simulation.worlds.iter().map(|world| WorldView {
            host: world.host,
            vm: match world.kind {
                Kind::Vcpu { vm, .. } => Some(vm),
                _ => None,
            },
            state: world.state,
            since: world.since,
            limited: world.limited,
            cpu: world.cpu,
            domain: hosts[world.host].scheduler.domain(world.local),
            account: &world.account,
        })
    }

    /// Processes of a VM: in progress by the source's count, and runnable by the guest's.
    pub fn processes(&self, vm: usize) -> (usize, usize) {
        let vm = &self.simulation.vms[vm];
        (
            vm.in_progress,
            vm.guest.runnable() + vm.pending.iter().map(Vec::len).sum::<usize>(),
        )
    }

    /// CPU work of a VM, in nanoseconds alone on a core at the reference clock: begun so far, and of that not done yet
    /// (as of each vCPU's `since`).
    pub fn work(&self, vm: usize) -> (f64, f64) {
        let left = self
            .simulation
            .processes
            .iter()
            .filter(|process| process.vm as usize == vm);
        let left = left
            .filter(|process| process.phase == Phase::Compute)
            .map(|process| process.remaining_ns)
            .sum();
        (self.simulation.vms[vm].work_begun_ns, left)
    }

    fn of(&self, pool: usize) -> &'s Pool {
        &self.simulation.storage.pools()[PoolId::new(pool)]
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
        self.simulation.vms[vm].guest.busy()
    }
}
