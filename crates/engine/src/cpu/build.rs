//! From a scenario to hosts, worlds and groups of vCPUs.

use super::memory::{HostMemory, VmMemory};
use super::placement::WorldPlan;
use super::processors::{Cpu, GroupCounters, Had, Host, HostCounters, Kind, Off, Power, Processors, VcpuGroup, World};
use crate::clock::{Clock, Event};
use crate::ids::{HostId, Id, IoThreadId, PoolId, Span, Table, WorldId};
use crate::island::IslandHost;
use crate::plan::VmPlan;
use crate::vcpu::Vcpu;
use hypertwin_cluster::{HostGroup, StoragePool};
use hypertwin_kernel::TimeAverage;
use hypertwin_models::accounting::{Account, ProcessorTime, State};
use hypertwin_models::coscheduling::Decisions;
use hypertwin_models::hypervisor;
use hypertwin_models::topology::{Domain, Occupancy, Topology};
use std::ops::Range;

/// CPU shares of one thread of a service: those of a vCPU with normal shares.
const SHARES_PER_THREAD: f64 = 1_000.0;

/// Worlds of a VM other than its vCPUs.
pub struct VmWorlds {
    pub helpers: Span<WorldId>,
    pub io_threads: Span<WorldId>,
}

impl Host {
    fn new(name: String, spec: &HostGroup) -> Self {
        let topology = Topology::of(spec);
        let hypervisor = hypervisor::model(spec.hypervisor);
        let idle = Cpu {
            world: WorldId::new(0),
            since: 0,
            slice_end: 0,
            wake_ns: 0,
            interrupt_ns: 0,
            memory_speed: 1.0,
            metered: false,
            event: None,
            time: ProcessorTime::default(),
        };
        Self {
            name,
            scheduler: hypervisor.cpu_scheduler(spec),
            occupancy: Occupancy::new(topology),
            cpus: vec![idle; topology.cpus()],
            worlds: Vec::new(),
            memory: HostMemory::new(spec),
            committed: vec![0.0; topology.nodes],
            begun: vec![0; topology.nodes],
            core_scheduling: spec.scheduler.core_scheduling,
            smt_yield: spec.smt_yield,
            wake_up: hypervisor.wake_up(spec),
            clock_ratio: spec.busy_clock().hz() / spec.clock.hz(),
            nominal_mhz: spec.clock.mhz(),
            shared_charge: hypervisor.shared_core_charge(),
            count: HostCounters::default(),
            queued: 0,
            groups: 0,
            balancing_threads: false,
            balancing_host: false,
        }
    }
}

impl Processors {
    /// Hosts without VMs.
    pub fn new(hosts: &[IslandHost]) -> Self {
        let hosts = hosts.iter().map(|host| Host::new(host.name.to_owned(), host.spec));
        Self {
            hosts: hosts.collect(),
            worlds: Table::new(),
            groups: Table::new(),
            decisions: Decisions::default(),
            bandwidth_matters: false,
        }
    }

    /// Makes the worlds of a VM and places it; its I/O threads have numbers from `first_thread` on.
    pub fn add_vm(&mut self, plan: &VmPlan, first_thread: IoThreadId) -> VmWorlds {
        let vm = plan.vm;
        let vcpus = self.new_worlds(plan.vcpus(), |index| Kind::Vcpu(Vcpu { vm, index }));
        let helpers = self.new_worlds(plan.most_helpers, |index| Kind::Helper { vm, index });
        let thread = |number| Kind::IoThread(IoThreadId::new(first_thread.index() + number));
        let io_threads = self.new_worlds(plan.most_io_threads, thread);
        self.groups.push(VcpuGroup {
            host: plan.host,
            since: None,
            before: Had::default(),
            vcpus,
            helpers: Span::new(vcpus.end(), helpers.len() + io_threads.len()),
            io_threads: io_threads.len(),
            memory: VmMemory::none(),
            limit: None,
            throttled: false,
            cosched: None,
            cosched_armed: false,
            slowest_ns: None,
            count: GroupCounters::default(),
            local: TimeAverage::new(),
        });
        let helpers = self.take_in(plan, 0);
        VmWorlds { helpers, io_threads }
    }

    /// Worlds that are on no host.
    fn new_worlds(&mut self, count: usize, kind: impl Fn(usize) -> Kind) -> Span<WorldId> {
        let first = self.worlds.next_id();
        for index in 0..count {
            self.worlds.push(World::new(kind(index)));
        }
        Span::new(first, count)
    }

    /// Makes the threads of a pool's service on one host, by their numbers in the pool.
    pub fn add_service(
        &mut self,
        host: HostId,
        pool: PoolId,
        threads: Range<usize>,
        spec: &StoragePool,
    ) -> Span<WorldId> {
        let worlds = self.new_worlds(threads.len(), |position| Kind::Service {
            pool,
            thread: threads.start + position,
        });
        self.hosts[host].add_group(SHARES_PER_THREAD * threads.len() as f64, 0.0, Vec::new());
        let topology = self.hosts[host].occupancy.topology;
        for (world, thread) in worlds.iter().zip(threads) {
            let plan = WorldPlan {
                domain: Domain::Any,
                first_cpu: thread * topology.threads_per_core % topology.cpus(),
                helper: spec.is_in_kernel(),
                vm: None,
                speed: None,
                wake_up_ns: spec.service.wake_up.map(|time| time.nanos()),
            };
            self.enlist(world, host, plan);
        }
        worlds
    }

    /// Makes the worlds of a host's hypervisor that send and receive VMs.
    pub fn add_senders(&mut self, host: HostId, count: usize) -> Vec<WorldId> {
        let worlds = self.new_worlds(count, |_| Kind::Sender);
        self.hosts[host].add_group(SHARES_PER_THREAD * count as f64, 0.0, Vec::new());
        let topology = self.hosts[host].occupancy.topology;
        for (position, world) in worlds.iter().enumerate() {
            let plan = WorldPlan {
                domain: Domain::Any,
                first_cpu: position * topology.threads_per_core % topology.cpus(),
                helper: true,
                vm: None,
                speed: None,
                wake_up_ns: Some(0),
            };
            self.enlist(world, host, plan);
        }
        worlds.iter().collect()
    }

    /// Begins to balance the hosts that are balanced all the time.
    pub fn start_balancing(&self, clock: &mut Clock) {
        for id in self.hosts.ids().filter(|&id| !self.hosts[id].worlds.is_empty()) {
            self.start_balancing_host(id, clock);
        }
    }

    /// Likewise one host.
    pub(super) fn start_balancing_host(&self, id: HostId, clock: &mut Clock) {
        let host = &self.hosts[id];
        let periods = host.scheduler.periods();
        let has_nodes = host.occupancy.topology.nodes > 1;
        if !periods.only_while_queued && has_nodes {
            clock.at(clock.now + periods.host_ns, Event::BalanceHost(id));
        }
    }
}

impl World {
    /// A world that is on no host.
    fn new(kind: Kind) -> Self {
        Self {
            host: HostId::new(0),
            local: 0,
            kind,
            power: Power::Off {
                why: Off::Unplaced as u8,
                wants_to_run: false,
            },
            state: State::Wait,
            since: 0,
            account: Account::default(),
            cpu: 0,
            limited: false,
            halted_at: 0,
            asleep: false,
            wake_up_ns: None,
            is_awake: false,
            waking: false,
            paging: false,
            lag_ns: 0,
            work_ns: 0.0,
            speed: [0.0; 2],
            slice_ns: 0,
            contended: false,
            balanced_ns: 0,
        }
    }
}
