//! From a scenario to hosts, worlds and groups of vCPUs.

use super::budget::Limit;
use super::memory::{HostMemory, VmMemory};
use super::processors::{Cpu, GroupCounters, Host, HostCounters, Kind, Power, Processors, VcpuGroup, World};
use crate::clock::{Clock, Event};
use crate::ids::{ControllerId, HostId, Id, PoolId, Span, Table, VmId, WorldId};
use crate::island::IslandHost;
use crate::plan::VmPlan;
use crate::vcpu::Vcpu;
use hypertwin_cluster::HostGroup;
use hypertwin_kernel::TimeAverage;
use hypertwin_models::accounting::{Account, ProcessorTime, State};
use hypertwin_models::core_scheduling;
use hypertwin_models::coscheduling::Decisions;
use hypertwin_models::cpu_set::CpuSet;
use hypertwin_models::hypervisor;
use hypertwin_models::scheduler::{GroupSpec, NumaClient, WorldSpec};
use hypertwin_models::smt;
use hypertwin_models::topology::{Domain, Occupancy, Topology};
use std::ops::Range;

/// CPU shares of one thread of a service: those of a vCPU with normal shares.
const SHARES_PER_THREAD: f64 = 1_000.0;

/// Worlds of a VM other than its vCPUs.
pub struct VmWorlds {
    pub helpers: Span<WorldId>,
    pub controllers: Span<WorldId>,
}

/// What a host's scheduler is told of a world, beside its group.
struct WorldPlan {
    kind: Kind,
    domain: Domain,
    /// The logical CPU where it begins.
    first_cpu: usize,
    /// Of the hypervisor itself.
    helper: bool,
    /// The VM whose vCPU it is, or that it works for.
    vm: Option<VmId>,
    /// Work per time: alone on a core, and with a busy sibling; `None` for work of the hypervisor.
    speed: Option<[f64; 2]>,
    /// How long it takes to begin when it is woken; `None` where the host says it.
    wake_up_ns: Option<u64>,
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

    fn add_group(&mut self, shares: f64, reservation_cores: f64, clients: Vec<NumaClient>) {
        self.scheduler.add_group(GroupSpec {
            shares,
            reservation_cores,
            clients,
        });
        self.groups += 1;
    }

    /// Where the next vCPU begins whose memory is on `node`: on a core of its own there, as long as there is one.
    fn first_cpu(&mut self, node: usize) -> usize {
        let topology = self.occupancy.topology;
        let (cores, threads) = (topology.cores_per_node, topology.threads_per_core);
        let before = self.begun[node];
        self.begun[node] += 1;
        topology.node_cpus(node).start + before % cores * threads + before / cores % threads
    }

    /// Home nodes of a VM's NUMA clients at power-on, where each node's load is remembered with an error.
    fn power_on(&mut self, plan: &VmPlan) -> Vec<usize> {
        let mut stream = plan.stream("home");
        let error_pct = plan.host_spec.scheduler.numa_load_error_pct.unwrap_or(0.0);
        let error_cores = error_pct / 100.0 * f64::from(plan.host_spec.cores_per_node());
        let committed = &mut self.committed;
        let homes = plan.numa.homes(plan.host_spec, plan.spec, |node| {
            let error = if error_cores > 0.0 {
                error_cores * stream.normal()
            } else {
                0.0
            };
            committed[node] + error
        });
        for (&vcpus, &home) in plan.numa.ppds.iter().zip(&homes) {
            committed[home] += f64::from(vcpus);
        }
        homes
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

    /// Makes the worlds of a VM.
    pub fn add_vm(&mut self, plan: &VmPlan) -> VmWorlds {
        let host = &mut self.hosts[plan.host];
        let homes = host.power_on(plan);
        let shares = plan.spec.shares.total(plan.spec.vcpus);
        let hypervisor = hypervisor::model(plan.host_spec.hypervisor);
        let is_managed = hypervisor.home_rules(plan.host_spec).is_some() && plan.spec.affinity_cpus().is_none();
        let clients = plan.numa.ppds.iter().zip(&homes).filter(|_| is_managed);
        let clients = clients.map(|(&vcpus, &home)| NumaClient {
            vcpus: vcpus as usize,
            home,
        });
        let reservation_cores = plan.spec.reservation.hz() / plan.host_spec.clock.hz();
        host.add_group(shares, reservation_cores, clients.collect());
        // threads that have no home begin where their memory is; for others that is where they go
        let is_free = hypervisor.home_rules(plan.host_spec).is_none();
        let vcpus = self.add_vcpus(plan, &homes, is_free);
        let first_cpu = if is_free {
            self.hosts[plan.host].occupancy.topology.node_cpus(homes[0]).start
        } else {
            0
        };
        if hypervisor.helpers_have_own_group() {
            self.hosts[plan.host].add_group(shares, 0.0, Vec::new());
        }
        let helpers = plan.overhead().map_or(0, |overhead| overhead.worlds_per_vm as usize);
        let vm = plan.vm;
        let helpers = self.add_hypervisor_worlds(plan, helpers, first_cpu, |index| Kind::Helper { vm, index });
        let controllers = if plan.spec.has_disks() {
            plan.spec.controllers
        } else {
            0
        };
        let first = plan.first_controller.index();
        let controller = |number| Kind::Controller(ControllerId::new(first + number));
        let controllers = self.add_hypervisor_worlds(plan, controllers as usize, first_cpu, controller);
        let all = Span::new(vcpus.end(), helpers.len() + controllers.len());
        self.add_group_of(plan, vcpus, all, &homes);
        VmWorlds { helpers, controllers }
    }

    fn add_vcpus(&mut self, plan: &VmPlan, homes: &[usize], is_free: bool) -> Span<WorldId> {
        let first = self.worlds.next_id();
        let topology = self.hosts[plan.host].occupancy.topology;
        let (ratio, intensity) = (plan.clock_ratio(), plan.workload.memory_intensity);
        let smt_yield = plan.workload.smt_yield.unwrap_or(plan.host_spec.smt_yield);
        let stretch = plan
            .overhead()
            .map_or(1.0, |overhead| 1.0 + overhead.guest_work_pct / 100.0);
        let speed = [false, true].map(|shared| smt::speed(shared, smt_yield, ratio, intensity) / stretch);
        let affinity = plan.spec.affinity_cpus();
        for (index, client) in (0..plan.vcpus()).zip(plan.numa.client_of()) {
            let domain = match &affinity {
                Some(cpus) => Domain::Mask(cpus.iter().map(|&cpu| cpu as usize).collect::<CpuSet>()),
                None if plan.numa.bound_homes.is_none() => Domain::Any,
                None => Domain::Mask(topology.node_cpus(homes[client]).collect::<CpuSet>()),
            };
            let first_cpu = if is_free {
                self.hosts[plan.host].first_cpu(homes[client])
            } else {
                index * topology.threads_per_core % topology.cpus()
            };
            let world = WorldPlan {
                kind: Kind::Vcpu(Vcpu { vm: plan.vm, index }),
                domain,
                first_cpu,
                helper: false,
                vm: Some(plan.vm),
                speed: Some(speed),
                wake_up_ns: plan.workload.wake_up.map(|time| time.nanos()),
            };
            self.add_world(plan.host, world);
        }
        Span::new(first, plan.vcpus())
    }

    fn add_group_of(&mut self, plan: &VmPlan, vcpus: Span<WorldId>, helpers: Span<WorldId>, homes: &[usize]) {
        let host = &mut self.hosts[plan.host];
        let (bytes, ratio) = (plan.spec.memory.bytes(), plan.clock_ratio());
        let memory = VmMemory::new(&plan.numa, homes, bytes, plan.workload, ratio, &mut host.memory);
        self.bandwidth_matters |= memory.draws();
        let local = memory.local(|_, home| home);
        let (clock, limits) = (plan.host_spec.clock.hz(), host.scheduler.limits());
        self.groups.push(VcpuGroup {
            host: plan.host,
            vcpus,
            helpers,
            memory,
            limit: plan.spec.limit.map(|limit| Limit::new(limits, limit.hz() / clock)),
            throttled: false,
            cosched: host.scheduler.coscheduling(),
            cosched_armed: false,
            slowest_ns: None,
            count: GroupCounters::default(),
            local: TimeAverage::starting(0, local),
        });
    }

    fn add_hypervisor_worlds(
        &mut self,
        plan: &VmPlan,
        count: usize,
        first_cpu: usize,
        kind: impl Fn(usize) -> Kind,
    ) -> Span<WorldId> {
        let first = self.worlds.next_id();
        let topology = self.hosts[plan.host].occupancy.topology;
        for position in 0..count {
            let world = WorldPlan {
                kind: kind(position),
                domain: Domain::Any,
                first_cpu: (first_cpu + position * topology.threads_per_core) % topology.cpus(),
                helper: true,
                vm: Some(plan.vm),
                speed: None,
                wake_up_ns: Some(0),
            };
            self.add_world(plan.host, world);
        }
        Span::new(first, count)
    }

    /// Makes the threads of a pool's service on one host, by their numbers in the pool.
    pub fn add_service(&mut self, host: HostId, pool: PoolId, threads: Range<usize>, in_kernel: bool) -> Span<WorldId> {
        let first = self.worlds.next_id();
        self.hosts[host].add_group(SHARES_PER_THREAD * threads.len() as f64, 0.0, Vec::new());
        let topology = self.hosts[host].occupancy.topology;
        for thread in threads.clone() {
            let world = WorldPlan {
                kind: Kind::Service { pool, thread },
                domain: Domain::Any,
                first_cpu: thread * topology.threads_per_core % topology.cpus(),
                helper: in_kernel,
                vm: None,
                speed: None,
                wake_up_ns: Some(0),
            };
            self.add_world(host, world);
        }
        Span::new(first, threads.len())
    }

    fn add_world(&mut self, host_id: HostId, plan: WorldPlan) {
        let id = self.worlds.next_id();
        let host = &mut self.hosts[host_id];
        let first_cpu = plan.first_cpu;
        host.scheduler.add_world(WorldSpec {
            group: host.groups - 1,
            domain: plan.domain,
            first_cpu,
            helper: plan.helper,
        });
        let local = host.worlds.len() as u32;
        host.worlds.push(id);
        let is_vcpu = matches!(plan.kind, Kind::Vcpu(_));
        let cookie = core_scheduling::cookie(host.core_scheduling, plan.vm.map(|vm| vm.index() as u32), is_vcpu);
        if let Some(cookie) = cookie {
            host.occupancy.add_cookie(cookie);
        }
        let own = || [false, true].map(|shared| smt::speed(shared, host.smt_yield, host.clock_ratio, 0.0));
        self.worlds.push(World {
            host: host_id,
            local,
            kind: plan.kind,
            power: Power::On,
            state: State::Wait,
            since: 0,
            account: Account::default(),
            cpu: first_cpu,
            limited: false,
            asleep: false,
            wake_up_ns: plan.wake_up_ns,
            waking: false,
            lag_ns: 0,
            work_ns: 0.0,
            speed: plan.speed.unwrap_or_else(own),
            slice_ns: 0,
            contended: false,
            balanced_ns: 0,
        });
    }

    /// Begins to balance the hosts that are balanced all the time.
    pub fn start_balancing(&self, clock: &mut Clock) {
        for id in self.hosts.ids() {
            let host = &self.hosts[id];
            let periods = host.scheduler.periods();
            let has_nodes = host.occupancy.topology.nodes > 1;
            if !periods.only_while_queued && has_nodes && !host.worlds.is_empty() {
                clock.at(periods.host_ns, Event::BalanceHost(id));
            }
        }
    }
}
