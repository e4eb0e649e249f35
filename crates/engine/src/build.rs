//! From a scenario to the initial state of a simulation.

use crate::RunError;
use crate::clock::{Clock, Event};
use crate::dispatch::LIMIT_CHECK_NS;
use crate::dispatch::LIMIT_CHECKS_PER_PERIOD;
use crate::ids::{ControllerId, HostId, Id, PoolId, Table, VmId, WorldId};
use crate::memory::{HostMemory, VmMemory};
use crate::parallel::Parallel;
use crate::power::Power;
use crate::recorder::Recorder;
use crate::simulation::{Simulation, sessions};
use crate::state::{Cpu, Host, Kind, Limit, Measured, Process, Responses, Source, Streams, Vm, World};
use crate::storage::{Site, SiteVm, Storage, nodes_of, service_threads};
use hypertwin_cluster::{Arrivals, HostGroup, Scenario, VmGroup, Workload};
use hypertwin_kernel::{Draw, Histogram, Stream, TimeAverage};
use hypertwin_models::accounting::{Account, ProcessorTime, State};
use hypertwin_models::coscheduling::Decisions;
use hypertwin_models::cpu_set::CpuSet;
use hypertwin_models::guest_system::GuestSystem;
use hypertwin_models::hypervisor;
use hypertwin_models::scheduler::{GroupSpec, NumaClient, WorldSpec};
use hypertwin_models::smt;
use hypertwin_models::topology::{Domain, Occupancy, Topology};
use hypertwin_models::vnuma;
use std::collections::VecDeque;

impl Host {
    fn new(name: String, spec: &HostGroup) -> Self {
        let topology = Topology::of(spec);
        let hypervisor = hypervisor::model(spec.hypervisor);
        Self {
            name,
            scheduler: hypervisor.cpu_scheduler(spec),
            occupancy: Occupancy::new(topology),
            cpus: vec![Cpu::default(); topology.cpus()],
            worlds: Vec::new(),
            interrupts: ProcessorTime::default(),
            memory: HostMemory::new(spec),
            committed: vec![0.0; topology.sockets],
            smt_yield: spec.smt_yield,
            clock_ratio: spec.busy_clock().hz() / spec.clock.hz(),
            nominal_mhz: spec.clock.mhz(),
            shared_charge: hypervisor.shared_core_charge(),
            system_ns: 0.0,
            queued: 0,
            groups: 0,
            balancing_threads: false,
            balancing_host: false,
            failures: 0,
            link_failures: 0,
            gone: 0,
            put_off: Vec::new(),
        }
    }

    pub fn add_group(&mut self, spec: GroupSpec) {
        self.scheduler.add_group(spec);
        self.groups += 1;
    }

    /// Work of a helper world per time.
    pub fn helper_speed(&self, sibling_busy: bool) -> f64 {
        smt::speed(sibling_busy, self.smt_yield, self.clock_ratio, 0.0)
    }
}

/// CPU shares of one thread of a pool's service: those of a vCPU with normal shares.
const SHARES_PER_THREAD: f64 = 1_000.0;

/// With more VMs than this only groups keep a distribution of response times: it takes about 100 KiB.
const MOST_DISTRIBUTIONS: usize = 256;

/// Builds the initial state of `scenario` with the random streams of `seed`.
pub(crate) fn build(scenario: &Scenario, seed: u64) -> Result<Simulation, RunError> {
    let placement = scenario.placement().ok_or(RunError::NoPlacement)?;
    let host_specs = scenario.host_names();
    let vm_specs = scenario.vm_names();
    let groups: Vec<&String> = scenario.vms.keys().collect();
    let warmup = scenario.run.warmup.nanos();
    let end = warmup + scenario.run.duration.nanos();
    let mut simulation = Simulation {
        clock: Clock::new(end),
        hosts: host_specs
            .iter()
            .map(|(name, spec)| Host::new(name.clone(), spec))
            .collect(),
        worlds: Vec::new(),
        vms: Vec::new(),
        processes: Table::new(),
        storage: Storage::empty(host_specs.len()),
        schedule: Vec::new(),
        decisions: Decisions::default(),
        recorder: Recorder::new(scenario),
        failure: None,
        bandwidth_matters: false,
    };
    let keep_distributions = vm_specs.len() <= MOST_DISTRIBUTIONS;
    let mut site_vms = Vec::with_capacity(vm_specs.len());
    for (position, (name, spec)) in vm_specs.iter().enumerate() {
        let first_process = simulation.processes.next_id();
        let workload = scenario.workloads.get(&spec.workload).ok_or(RunError::NoPlacement)?;
        let host = placement[position];
        let group = groups
            .iter()
            .position(|group| std::ptr::eq(&scenario.vms[*group], *spec))
            .unwrap_or(0);
        simulation.add_vm(
            name.clone(),
            group,
            spec,
            workload,
            host,
            host_specs[host].1,
            seed,
            keep_distributions,
        );
        let vm = &simulation.vms[position];
        let controllers = vm.first_helper + vm.idle_helpers.len()..vm.first_helper + vm.helpers;
        site_vms.push(SiteVm {
            name,
            spec,
            group,
            host: HostId::new(host),
            controllers: controllers.map(WorldId::new).collect(),
            first_process,
        });
    }
    let services = simulation.add_services(scenario, &host_specs);
    simulation.storage = Storage::new(&Site {
        scenario,
        seed,
        hosts: &host_specs,
        vms: &site_vms,
        services: &services,
        keep_distributions,
    });
    simulation.schedule_failures(scenario);
    simulation.storage.start(&mut simulation.clock);
    for host in 0..simulation.hosts.len() {
        let periods = simulation.hosts[host].scheduler.periods();
        let nodes = simulation.hosts[host].occupancy.topology.sockets;
        if !periods.only_while_queued && nodes > 1 && !simulation.hosts[host].worlds.is_empty() {
            simulation
                .clock
                .at(periods.host_ns, Event::BalanceHost(HostId::new(host)));
        }
    }
    simulation.clock.measure_at(warmup, Event::StartMeasuring);
    Ok(simulation)
}

impl Simulation {
    #[allow(
        clippy::too_many_arguments,
        reason = "called once, with what the scenario says of one VM"
    )]
    fn add_vm(
        &mut self,
        name: String,
        group: usize,
        spec: &VmGroup,
        workload: &Workload,
        host_index: usize,
        host_spec: &HostGroup,
        seed: u64,
        keep_distribution: bool,
    ) {
        let index = self.vms.len();
        let vcpus = spec.vcpus as usize;
        let helpers = host_spec.overhead.worlds_per_vm as usize;
        let first_world = self.worlds.len();
        let shares = spec.shares.total(spec.vcpus);
        let reservation_cores = spec.reservation.hz() / host_spec.clock.hz();
        let hypervisor = hypervisor::model(host_spec.hypervisor);
        let numa = hypervisor.virtual_numa(host_spec, spec);
        let homes = self.power_on(
            host_index,
            host_spec,
            spec,
            &numa,
            Stream::named(seed, &format!("vm/{name}/home")),
        );
        let affinity = spec.affinity_cpus();
        let managed = hypervisor.home_rules(host_spec).is_some() && affinity.is_none();
        let client = |(&vcpus, &home): (&u32, &usize)| NumaClient {
            vcpus: vcpus as usize,
            home,
        };
        self.hosts[host_index].add_group(GroupSpec {
            shares,
            reservation_cores,
            clients: numa.ppds.iter().zip(&homes).filter(|_| managed).map(client).collect(),
        });
        let bound = Some(&spec.numa.nodes).filter(|nodes| !nodes.is_empty());
        let topology = self.hosts[host_index].occupancy.topology;
        for (vcpu, client) in (0..vcpus).zip(numa.client_of()) {
            let domain = match (&affinity, bound) {
                (Some(cpus), _) => Domain::Mask(cpus.iter().map(|&cpu| cpu as usize).collect::<CpuSet>()),
                (None, Some(_)) => Domain::Mask(topology.node_cpus(homes[client]).collect::<CpuSet>()),
                (None, None) => Domain::Any,
            };
            self.add_world(host_index, Kind::Vcpu { vm: index, index: vcpu }, domain, vcpu, false);
        }
        let first_helper = self.worlds.len();
        self.hosts[host_index].add_group(GroupSpec {
            shares,
            reservation_cores: 0.0,
            clients: Vec::new(),
        });
        for helper in 0..helpers {
            self.add_world(host_index, Kind::Helper { vm: index }, Domain::Any, helper, true);
        }
        if spec.has_disks() {
            let last = self.worlds.iter().rev().find_map(|world| match world.kind {
                Kind::Controller { index } => Some(index.index() + 1),
                _ => None,
            });
            for controller in 0..spec.controllers as usize {
                let index = ControllerId::new(last.unwrap_or(0) + controller);
                self.add_world(host_index, Kind::Controller { index }, Domain::Any, controller, true);
            }
        }

        let bursts = f64::from(workload.bursts);
        let nanos = |service: &hypertwin_cluster::Service| service.mean.nanos() as f64;
        let stream = |purpose: &str| Stream::named(seed, &format!("vm/{name}/{purpose}"));
        let reference = workload.reference_clock.unwrap_or(host_spec.clock);
        let ratio = host_spec.busy_clock().hz() / reference.hz();
        let host_memory = &mut self.hosts[host_index].memory;
        let memory = VmMemory::new(&numa, &homes, spec.memory.bytes(), workload, ratio, host_memory);
        self.bandwidth_matters |= memory.draws();
        let local = memory.local(|_, home| home);
        let speed =
            [false, true].map(|shared| smt::speed(shared, host_spec.smt_yield, ratio, workload.memory_intensity));
        // With an array or a pool the I/Os go down its path instead, and their work with them.
        let plain_ios = if spec.has_disks() { 0.0 } else { workload.ios };
        let io_work_ns = plain_ios / bursts * host_spec.overhead.cpu_per_io.nanos() as f64;
        let interrupt_share = host_spec.overhead.interrupt_share_pct / 100.0;
        let (source, sessions) = match &workload.arrivals {
            Arrivals::Closed { population, think } => {
                let peak = sessions(*population, spec.peak_load());
                let active = sessions(*population, spec.load);
                (
                    Source::Closed {
                        think: Draw::new(nanos(think), think.cv),
                        population: *population,
                        active,
                    },
                    peak,
                )
            }
            Arrivals::Open { rate, cv } => (
                Source::Open {
                    gap: Draw::new(1e9 / rate.per_second(), *cv),
                    rate_factor: spec.load,
                },
                0,
            ),
            Arrivals::Parallel { parts } => {
                let parallel = Parallel::new(*parts, &numa.vpds, workload.bursts);
                (Source::Parallel(parallel), spec.vcpus)
            }
            Arrivals::Io { workers, .. } => (Source::Io, workers.unwrap_or(spec.vcpus)),
        };
        // Of a parallel transaction each vCPU does its part.
        let processes = match source {
            Source::Parallel(_) => f64::from(spec.vcpus),
            Source::Closed { .. } | Source::Open { .. } | Source::Io => 1.0,
        };
        let limit = spec.limit.map(|limit| {
            let period_ns = LIMIT_CHECK_NS as f64 * f64::from(LIMIT_CHECKS_PER_PERIOD);
            let quota_ns = limit.hz() / host_spec.clock.hz() * period_ns;
            Limit {
                quota_ns,
                left_ns: quota_ns,
                checks: 0,
            }
        });
        let limited = limit.is_some();
        self.vms.push(Vm {
            group,
            host: host_index,
            first_world,
            vcpus,
            first_helper,
            helpers: self.worlds.len() - first_helper,
            idle_helpers: (first_helper..first_helper + helpers).rev().collect(),
            requests: VecDeque::new(),
            guest: GuestSystem::new(vcpus),
            slice_left: vec![0; vcpus],
            time_slice: spec.guest.time_slice.nanos(),
            pending: vec![Vec::new(); vcpus],
            source,
            load: spec.load,
            steps: spec
                .load_steps
                .iter()
                .map(|step| (step.at.nanos(), step.factor))
                .collect(),
            streams: Streams {
                cpu: stream("cpu"),
                delay: stream("delay"),
                source: stream("source"),
            },
            bursts: workload.bursts,
            cpu_burst: Draw::new(nanos(&workload.cpu) / bursts / processes, workload.cpu.cv),
            delay: Draw::new(nanos(&workload.delay) / bursts, workload.delay.cv),
            speed,
            memory,
            ios_per_burst: plain_ios / bursts,
            helper_work_ns: io_work_ns * (1.0 - interrupt_share),
            helper_activity: host_spec.overhead.activity_pct / 100.0,
            interrupt_ns: io_work_ns * interrupt_share,
            limit,
            throttled: false,
            cosched: self.hosts[host_index].scheduler.coscheduling(),
            cosched_armed: false,
            slowest_ns: None,
            parked: Vec::new(),
            free: Vec::new(),
            sessions,
            in_progress: 0,
            work_begun_ns: 0.0,
            measured: Measured {
                runnable: TimeAverage::new(),
                distribution: keep_distribution.then(Histogram::new),
                all: Responses::default(),
                system_ns: 0.0,
                ios: 0.0,
                traffic: [0.0; 2],
                local: TimeAverage::starting(0, local),
                sample: Responses::default(),
                observation: Responses::default(),
            },
            name,
        });
        for session in 0..sessions {
            let process = self.processes.push(Process::new(index, session, vcpus));
            let vm = &mut self.vms[index];
            let start = match &vm.source {
                Source::Closed { think, .. } => think.sample(&mut vm.streams.source),
                Source::Open { .. } | Source::Parallel(_) | Source::Io => 0,
            };
            self.clock.at(start, Event::Process(process));
        }
        let vm = &mut self.vms[index];
        if let Source::Open { gap, rate_factor } = &vm.source
            && *rate_factor > 0.0
        {
            let first = (gap.sample(&mut vm.streams.source) as f64 / rate_factor).round() as u64;
            self.clock.at(first, Event::Arrival(VmId::new(index)));
        }
        for step in 0..self.vms[index].steps.len() {
            let at = self.vms[index].steps[step].0;
            let (vm, step) = (VmId::new(index), step as u32);
            self.clock.at(at, Event::LoadStep { vm, step });
        }
        if limited {
            self.clock.at(LIMIT_CHECK_NS, Event::Limit(VmId::new(index)));
        }
    }

    /// Home nodes of a VM's NUMA clients at power-on, where each node's load is remembered with an error.
    fn power_on(
        &mut self,
        host_index: usize,
        host_spec: &HostGroup,
        spec: &VmGroup,
        numa: &vnuma::Topology,
        mut stream: Stream,
    ) -> Vec<usize> {
        let error_cores =
            host_spec.scheduler.numa_load_error_pct.unwrap_or(0.0) / 100.0 * f64::from(host_spec.cores_per_socket);
        let committed = &mut self.hosts[host_index].committed;
        let homes = numa.homes(host_spec, spec, |node| {
            let error = if error_cores > 0.0 {
                error_cores * stream.normal()
            } else {
                0.0
            };
            committed[node] + error
        });
        for (&vcpus, &home) in numa.ppds.iter().zip(&homes) {
            committed[home] += f64::from(vcpus);
        }
        homes
    }

    /// The worlds of the services of all pools.
    fn add_services(&mut self, scenario: &Scenario, hosts: &[(String, &HostGroup)]) -> Vec<Vec<WorldId>> {
        let pools = scenario.storage.values().enumerate();
        pools
            .map(|(pool, spec)| {
                let (queues, threads) = service_threads(spec);
                let first = self.worlds.len();
                for host in nodes_of(spec, scenario, hosts) {
                    self.hosts[host.index()].add_group(GroupSpec {
                        shares: SHARES_PER_THREAD * (queues * threads) as f64,
                        reservation_cores: 0.0,
                        clients: Vec::new(),
                    });
                    for _ in 0..queues * threads {
                        let thread = self.worlds.len() - first;
                        let pool = PoolId::new(pool);
                        let kind = Kind::Service { pool, thread };
                        self.add_world(host.index(), kind, Domain::Any, thread, spec.service.in_kernel);
                    }
                }
                (first..self.worlds.len()).map(WorldId::new).collect()
            })
            .collect()
    }

    pub fn add_world(&mut self, host_index: usize, kind: Kind, domain: Domain, position: usize, helper: bool) {
        let host = &mut self.hosts[host_index];
        let local = host.worlds.len() as u32;
        let group = host.groups - 1;
        let threads = host.occupancy.topology.threads_per_core;
        let first_cpu = position * threads % host.occupancy.topology.cpus();
        host.scheduler.add_world(WorldSpec {
            group,
            domain,
            first_cpu,
            helper,
        });
        host.worlds.push(self.worlds.len());
        self.worlds.push(World {
            host: host_index,
            local,
            kind,
            power: Power::On,
            state: State::Wait,
            since: 0,
            account: Account::default(),
            cpu: first_cpu,
            limited: false,
            asleep: false,
            waking: false,
            lag_ns: 0,
            remaining_ns: 0.0,
            request: None,
            balanced_ns: 0,
        });
    }
}
