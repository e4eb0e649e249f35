//! Hosts, worlds and groups of vCPUs: the state of processors, what others may read and set of it.
//!
//! **Charging reads the CPU, not the VM.** The logical CPU stores whether limits or memory traffic need metering.

use super::memory::{HostMemory, VmMemory};
use crate::budget::Limit;
use crate::clock::Clock;
use crate::ids::{HostId, IoThreadId, PoolId, Span, Table, VmId, WorldId};
use crate::vcpu::{Guest, Next, Vcpu, Work};
use hypertwin_cluster::CoreScheduling;
use hypertwin_kernel::{EventId, Nanos, TimeAverage};
use hypertwin_models::accounting::{Account, ProcessorTime, State};
use hypertwin_models::coscheduling::Decisions;
use hypertwin_models::scheduler::{CoschedulingThresholds, CpuScheduler};
use hypertwin_models::topology::{self, Occupancy};
use hypertwin_models::wake_up::WakeUp;

/// One logical CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cpu {
    /// The running world; only meaningful while the occupancy says that one runs.
    pub(super) world: WorldId,
    /// Until when its time is accounted; of an idle one, since when it is idle.
    pub(super) since: Nanos,
    /// When the world's slice ends.
    pub(super) slice_end: Nanos,
    /// Time that still passes until its world begins: it has been woken for it.
    pub(super) wake_ns: u64,
    /// Interrupt time that still has to be served before the world goes on.
    pub(super) interrupt_ns: u64,
    /// Speed that memory leaves its vCPU, over the speed with all memory local and enough of its bandwidth.
    pub(super) memory_speed: f64,
    /// Whether its vCPU's memory bandwidth or its VM's CPU limit is kept account of.
    pub(super) metered: bool,
    pub(super) event: Option<EventId>,
    /// Busy time since measuring began.
    pub(super) time: ProcessorTime,
}

/// A host.
pub struct Host {
    pub name: String,
    pub scheduler: Box<dyn CpuScheduler>,
    pub occupancy: Occupancy,
    pub(super) cpus: Vec<Cpu>,
    /// Its worlds, in the order in which the scheduler numbers them.
    pub(super) worlds: Vec<WorldId>,
    pub memory: HostMemory,
    /// vCPUs at home on each node at power-on.
    pub(super) committed: Vec<f64>,
    /// vCPUs that began on each node, where threads have no home.
    pub(super) begun: Vec<usize>,
    pub(super) core_scheduling: CoreScheduling,
    pub(super) smt_yield: f64,
    pub(super) wake_up: WakeUp,
    /// Running clock over nominal clock.
    pub clock_ratio: f64,
    pub nominal_mhz: f64,
    /// Rate at which a world is charged while its sibling is busy.
    pub(super) shared_charge: f64,
    pub count: HostCounters,
    /// Worlds in a ready queue.
    pub(super) queued: usize,
    /// Groups that the scheduler knows.
    pub(super) groups: usize,
    pub(super) balancing_threads: bool,
    pub(super) balancing_host: bool,
}

/// Why a world may not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Off {
    /// Its host has failed.
    Host = 1,
    /// Its VM is paused.
    Paused = 2,
    /// Its VM is throttled, and rests.
    Throttled = 4,
    /// Its VM is on no host.
    Unplaced = 8,
}

/// Whether a world may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    On,
    /// Not, for at least one reason ([`Off`], as bits); and whether it will have something to do.
    Off {
        why: u8,
        wants_to_run: bool,
    },
}

/// What is counted of a host since measuring began, beside what its logical CPUs and its memory count.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostCounters {
    /// Interrupts that were served on idle logical CPUs.
    pub idle_interrupts: ProcessorTime,
    /// Charged time of the hypervisor's interrupts.
    pub system_ns: f64,
    /// What VMs had here that are not here any more.
    pub left: Had,
}

/// What the worlds of VMs have had on one host since measuring began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Had {
    /// Charged time of vCPUs, and of worlds that work for them.
    pub vcpus_ns: f64,
    pub helpers_ns: f64,
    /// Ready and co-stop time of vCPUs, and all of their time here.
    pub ready_ns: u64,
    pub costop_ns: u64,
    pub time_ns: u64,
}

/// Who gives a world its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Vcpu(Vcpu),
    /// Works for the I/Os of a VM that has no virtual disks.
    Helper {
        vm: VmId,
        index: usize,
    },
    /// Works for virtual controllers of a VM.
    IoThread(IoThreadId),
    /// Serves devices of a pool.
    Service {
        pool: PoolId,
        thread: usize,
    },
    /// Sends and receives VMs that migrate.
    Sender,
}

/// A schedulable entity.
pub struct World {
    pub host: HostId,
    /// Its number on its host.
    pub local: topology::WorldId,
    pub kind: Kind,
    pub(super) power: Power,
    pub state: State,
    pub since: Nanos,
    pub account: Account,
    /// Its logical CPU, now or last.
    pub cpu: usize,
    /// Held back by a CPU limit.
    pub limited: bool,
    /// When it last had nothing more to do.
    pub(super) halted_at: Nanos,
    /// The scheduler has not been told yet that it woke.
    pub(super) asleep: bool,
    /// How long it takes to begin on an idle logical CPU when it has been woken, where that is not up to its host.
    pub(super) wake_up_ns: Option<u64>,
    /// It need not wake up for its next work.
    pub(super) is_awake: bool,
    /// Ready because it just woke from idle.
    pub(super) waking: bool,
    /// Waiting for memory that its host has swapped out.
    pub(super) paging: bool,
    /// Ready and co-stop time before `since`, for co-scheduling.
    pub(super) lag_ns: u64,
    /// Work that is left, in nanoseconds alone on a core: at nominal clock, or at the reference clock of a guest's
    /// workload.
    pub work_ns: f64,
    /// Work per time: alone on a core, and with a busy sibling.
    pub(super) speed: [f64; 2],
    /// Run time that is left to the work until the guest gives its vCPU to another process; and whether one waits for
    /// it.
    pub(super) slice_ns: u64,
    pub(super) contended: bool,
    /// Time that it was busy or wanted to be when the host was last balanced.
    pub(super) balanced_ns: u64,
}

impl World {
    /// Whether it is on a host.
    pub fn is_placed(&self) -> bool {
        !matches!(self.power, Power::Off { why, .. } if why & Off::Unplaced as u8 != 0)
    }

    /// The vCPU that it is; `None` for a world of the hypervisor or of storage.
    pub fn vcpu(&self) -> Option<Vcpu> {
        match self.kind {
            Kind::Vcpu(vcpu) => Some(vcpu),
            Kind::Helper { .. } | Kind::IoThread(_) | Kind::Service { .. } | Kind::Sender => None,
        }
    }
}

/// The vCPUs of a VM, and what belongs to all of them.
pub struct VcpuGroup {
    /// Its host, now or last.
    pub host: HostId,
    /// Since when it is there, as far as that is measured; `None`: on no host.
    pub(super) since: Option<Nanos>,
    /// What its worlds had had before.
    pub(super) before: Had,
    pub vcpus: Span<WorldId>,
    /// Worlds of the hypervisor that work for the VM; the last of them are its I/O threads.
    pub helpers: Span<WorldId>,
    pub(super) io_threads: usize,
    pub memory: VmMemory,
    pub(super) limit: Option<Limit>,
    pub(super) throttled: bool,
    pub(super) cosched: Option<CoschedulingThresholds>,
    pub(super) cosched_armed: bool,
    /// Largest lag of the vCPUs that are not idle, where one that wakes joins; `None`: to be found.
    pub(super) slowest_ns: Option<u64>,
    pub count: GroupCounters,
    /// Fraction of the memory that is on the home nodes of its clients, or where its vCPUs are if these have none.
    pub local: TimeAverage,
}

impl VcpuGroup {
    /// Whether the VM is on `host`.
    pub(super) fn is_on(&self, host: HostId) -> bool {
        self.since.is_some() && self.host == host
    }
}

/// What is counted of the vCPUs of a VM since measuring began, beside the accounts of their worlds.
#[derive(Clone, Copy, Debug, Default)]
pub struct GroupCounters {
    /// Charged time of interrupts for the VM.
    pub system_ns: f64,
    /// Bytes that crossed memory: the own node's, and another's.
    pub traffic: [f64; 2],
    /// What its vCPUs have had on hosts that it has left.
    pub left: Clocked,
}

/// Time of vCPUs on hosts of any clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clocked {
    /// Charged, in nanoseconds.
    pub used_ns: f64,
    /// The same in cycles, times 1,000.
    pub used_mhz_ns: f64,
    /// At the running clock, as long as it would be without hyper-threads.
    pub run_ns: f64,
}

impl Clocked {
    /// Adds charged time on a host.
    pub fn add(&mut self, used_ns: f64, host: &Host) {
        self.used_ns += used_ns;
        self.used_mhz_ns += used_ns * host.nominal_mhz;
        self.run_ns += used_ns / host.clock_ratio;
    }
}

/// What is on a NUMA node.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeLoad {
    /// vCPUs that are at home there; where the hypervisor knows no homes, those placed there at power-on.
    pub vcpus: usize,
    /// Memory of VMs.
    pub bytes: u64,
}

/// What is due on a logical CPU.
pub enum Due {
    /// The work of its world is done.
    Work,
    /// The guest's slice on its vCPU is over.
    GuestSlice(Vcpu),
    /// Its own slice is over, or nothing is.
    Slice,
}

/// The processors of all hosts.
pub struct Processors {
    pub(super) hosts: Table<HostId, Host>,
    pub(super) worlds: Table<WorldId, World>,
    pub(super) groups: Table<VmId, VcpuGroup>,
    /// Kept between co-scheduling checks, so that they allocate nothing.
    pub(super) decisions: Decisions,
    /// Whether any VM draws so much memory bandwidth that it matters.
    pub bandwidth_matters: bool,
}

impl Host {
    /// Busy time of all its processors.
    pub fn time(&self) -> ProcessorTime {
        self.cpus.iter().fold(self.count.idle_interrupts, |mut sum, cpu| {
            sum.threads_ns += cpu.time.threads_ns;
            sum.core_halves_ns += cpu.time.core_halves_ns;
            sum
        })
    }

    /// How long a core has been idle, of which `cpu` is an idle thread.
    pub(super) fn core_idle_ns(&self, cpu: usize, now: Nanos) -> u64 {
        let of = |cpu: usize| now - self.cpus[cpu].since;
        match self.occupancy.topology.sibling(cpu) {
            Some(other) if self.occupancy.running(other).is_some() => 0,
            Some(other) => of(cpu).min(of(other)),
            None => of(cpu),
        }
    }

    /// Charged time of logical CPUs that were busy for so long, with the interrupts that they served meanwhile.
    pub fn charged_ns(&self, time: ProcessorTime) -> f64 {
        let alone_ns = (time.core_halves_ns - time.threads_ns) as f64;
        let shared_ns = (2 * time.threads_ns - time.core_halves_ns) as f64;
        (alone_ns + self.shared_charge * shared_ns) * self.clock_ratio
    }

    /// Busy time of each logical CPU.
    pub fn cpu_times(&self) -> impl Iterator<Item = ProcessorTime> {
        self.cpus.iter().map(|cpu| cpu.time)
    }
}

impl Had {
    /// Adds what others had.
    pub fn add(&mut self, more: &Self) {
        self.vcpus_ns += more.vcpus_ns;
        self.helpers_ns += more.helpers_ns;
        self.ready_ns += more.ready_ns;
        self.costop_ns += more.costop_ns;
        self.time_ns += more.time_ns;
    }
}

impl Processors {
    pub fn hosts(&self) -> &Table<HostId, Host> {
        &self.hosts
    }

    pub fn worlds(&self) -> &Table<WorldId, World> {
        &self.worlds
    }

    pub fn groups(&self) -> &Table<VmId, VcpuGroup> {
        &self.groups
    }

    pub(super) fn world_of(&self, vcpu: Vcpu) -> WorldId {
        self.groups[vcpu.vm].vcpus.at(vcpu.index)
    }

    /// Whether a VM is on a host.
    pub fn is_placed(&self, vm: VmId) -> bool {
        self.groups[vm].since.is_some()
    }

    /// Whether a world is a vCPU of a VM or works for it.
    pub fn is_world_of(&self, world: WorldId, vm: VmId) -> bool {
        let group = &self.groups[vm];
        group
            .vcpus
            .position(world)
            .or_else(|| group.helpers.position(world))
            .is_some()
    }

    /// Work that is left to a vCPU, as of the end of its account.
    pub fn left_ns(&self, vcpu: Vcpu) -> f64 {
        self.worlds[self.world_of(vcpu)].work_ns
    }

    /// Whether a vCPU has to wait for a logical CPU, so that its interrupts wait too.
    pub fn is_held(&self, vcpu: Vcpu) -> bool {
        let world = &self.worlds[self.world_of(vcpu)];
        matches!(world.state, State::Ready | State::CoStop) || world.paging
    }

    // ---- memory that is away

    /// A vCPU, which is about to sleep, waits for memory.
    pub fn begin_paging(&mut self, vcpu: Vcpu) {
        let world = self.world_of(vcpu);
        self.worlds[world].paging = true;
    }

    /// The memory is there: the vCPU goes on.
    pub fn end_paging(&mut self, vcpu: Vcpu, guest: &mut impl Guest, clock: &mut Clock) {
        let world = self.world_of(vcpu);
        self.close(world, clock.now);
        self.worlds[world].paging = false;
        self.wake(world, guest, clock);
    }

    // ---- work

    /// What a world has to do from now on.
    pub fn give(&mut self, world: WorldId, work_ns: f64) {
        self.worlds[world].work_ns = work_ns;
    }

    /// A world that gets work now need not wake up for it.
    pub fn keep_awake(&mut self, world: WorldId) {
        self.worlds[world].is_awake = true;
    }

    /// What a vCPU has to do from now on.
    pub fn switch(&mut self, vcpu: Vcpu, work: Work) {
        let world = self.world_of(vcpu);
        let world = &mut self.worlds[world];
        world.work_ns = work.work_ns;
        world.slice_ns = work.slice_ns;
        world.contended = work.contended;
    }

    /// A vCPU goes on as its guest says; whether it does.
    pub fn go_on_with(&mut self, vcpu: Vcpu, next: Next) -> bool {
        match next {
            Next::Idle => return false,
            Next::Switch(work) => self.switch(vcpu, work),
            Next::Pull { work, from, contended } => {
                let other = self.world_of(Vcpu { index: from, ..vcpu });
                self.worlds[other].contended = contended;
                self.switch(vcpu, work);
            }
        }
        true
    }

    // ---- measuring

    /// What is on each NUMA node of each host.
    pub fn node_loads(&self) -> Table<HostId, Vec<NodeLoad>> {
        let empty = |host: &Host| vec![NodeLoad::default(); host.occupancy.topology.nodes];
        let mut loads: Table<HostId, Vec<NodeLoad>> = self.hosts.iter().map(empty).collect();
        for group in self.groups.iter().filter(|group| group.since.is_some()) {
            let first_local = self.worlds[group.vcpus.at(0)].local;
            let (scheduler, nodes) = (&self.hosts[group.host].scheduler, &mut loads[group.host]);
            for client in &group.memory.clients {
                let home = scheduler.home(first_local + client.first as topology::WorldId);
                nodes[home.unwrap_or(client.home)].vcpus += client.vcpus;
                for (node, bytes) in nodes.iter_mut().zip(&client.bytes) {
                    node.bytes += bytes;
                }
            }
        }
        loads
    }

    /// Ends the time that every world has spent in its state.
    pub fn close_all(&mut self, now: Nanos) {
        for world in self.worlds.ids() {
            self.close(world, now);
        }
    }

    /// Charged time of some worlds.
    pub fn used_ns(&self, worlds: Span<WorldId>) -> f64 {
        self.worlds[worlds].iter().map(|world| world.account.used_ns).sum()
    }

    /// What the worlds of a VM have had on any host.
    pub(super) fn had_in_all(&self, vm: VmId) -> Had {
        let group = &self.groups[vm];
        let mut all = Had {
            vcpus_ns: self.used_ns(group.vcpus),
            helpers_ns: self.used_ns(group.helpers),
            ..Had::default()
        };
        for vcpu in &self.worlds[group.vcpus] {
            all.ready_ns += vcpu.account.ready_ns;
            all.costop_ns += vcpu.account.costop_ns;
        }
        all
    }

    /// What the worlds of a VM have had on its present host.
    pub fn had_here(&self, vm: VmId, now: Nanos) -> Had {
        let group = &self.groups[vm];
        let (Some(since), all) = (group.since, self.had_in_all(vm)) else {
            return Had::default();
        };
        Had {
            vcpus_ns: all.vcpus_ns - group.before.vcpus_ns,
            helpers_ns: all.helpers_ns - group.before.helpers_ns,
            ready_ns: all.ready_ns - group.before.ready_ns,
            costop_ns: all.costop_ns - group.before.costop_ns,
            time_ns: (now - since) * group.vcpus.len() as u64,
        }
    }

    /// Measures from now.
    pub fn reset(&mut self, now: Nanos) {
        self.close_all(now);
        for world in self.worlds.iter_mut() {
            world.account = Account::default();
            world.balanced_ns = 0;
        }
        for host in self.hosts.iter_mut() {
            host.count = HostCounters::default();
            host.cpus.iter_mut().for_each(|cpu| cpu.time = ProcessorTime::default());
            host.memory.reset();
        }
        for group in self.groups.iter_mut() {
            group.count = GroupCounters::default();
            group.before = Had::default();
            group.since = group.since.map(|_| now);
            group.local.reset(now);
        }
    }
}
