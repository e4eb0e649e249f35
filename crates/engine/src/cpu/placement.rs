//! VMs come to a host, and leave it: their groups in its scheduler, their home nodes, their memory.

use super::memory::VmMemory;
use super::processors::{Host, Off, Power, Processors};
use crate::budget::Limit;
use crate::clock::Clock;
use crate::ids::{HostId, Id, Span, VmId, WorldId};
use crate::plan::VmPlan;
use crate::vcpu::Guest;
use hypertwin_kernel::Nanos;
use hypertwin_models::core_scheduling;
use hypertwin_models::cpu_set::CpuSet;
use hypertwin_models::hypervisor;
use hypertwin_models::scheduler::{GroupSpec, NumaClient, WorldSpec};
use hypertwin_models::smt;
use hypertwin_models::topology::Domain;

/// A host scheduler's data of a world, in addition to its group.
pub(super) struct WorldPlan {
    pub(super) domain: Domain,
    /// The logical CPU where it begins.
    pub(super) first_cpu: usize,
    /// Of the hypervisor itself.
    pub(super) helper: bool,
    /// The VM whose vCPU it is, or that it works for.
    pub(super) vm: Option<VmId>,
    /// Work per time: alone on a core, and with a busy sibling; `None` for work of the hypervisor.
    pub(super) speed: Option<[f64; 2]>,
    /// How long it takes to begin when it is woken; `None` where the host says it.
    pub(super) wake_up_ns: Option<u64>,
}

impl Host {
    pub(super) fn add_group(&mut self, shares: f64, reservation_cores: f64, clients: Vec<NumaClient>) {
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
        let purpose = match plan.placement {
            0 => "home".to_owned(),
            again => format!("home/{again}"),
        };
        let mut stream = plan.stream(&purpose);
        let error_pct = plan.host_spec.scheduler.numa_load_error_pct.unwrap_or(0.0);
        let error_cores = error_pct / 100.0 * f64::from(plan.host_spec.cores_per_node());
        let committed = &mut self.committed;
        let homes = plan.numa.homes(plan.host_spec, plan.spec, &self.memory.free, |node| {
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
    /// A VM that is on no host comes to one; it is given a place in its scheduler and memory. Returns its helper worlds
    /// there.
    pub fn place_vm(&mut self, plan: &VmPlan, clock: &mut Clock) -> Span<WorldId> {
        let was_empty = self.hosts[plan.host].worlds.is_empty();
        let helpers = self.take_in(plan, clock.now);
        if was_empty {
            self.start_balancing_host(plan.host, clock);
        }
        helpers
    }

    /// A VM leaves its host, whatever its worlds are doing.
    pub fn remove_vm(&mut self, vm: VmId, guest: &mut impl Guest, clock: &mut Clock) {
        let group = &self.groups[vm];
        let worlds = group.vcpus.iter().chain(group.helpers.iter());
        // a host with fewer helper worlds for each VM than others leaves some out
        let placed: Vec<WorldId> = worlds.filter(|&world| self.worlds[world].is_placed()).collect();
        self.switch_off(&placed, Off::Unplaced, guest, clock);
        let had = self.had_here(vm, clock.now);
        let all = self.had_in_all(vm);
        let group = &mut self.groups[vm];
        let host = &mut self.hosts[group.host];
        host.count.left.add(&had);
        group.count.left.add(had.vcpus_ns, host);
        (group.before, group.since) = (all, None);
        for client in &group.memory.clients {
            host.committed[client.home] -= client.vcpus as f64;
            // counted only where threads have no home
            host.begun[client.home] = host.begun[client.home].saturating_sub(client.vcpus);
        }
        group.memory.give_back(&mut host.memory);
        (group.throttled, group.slowest_ns) = (false, None);
        for world in placed {
            host.scheduler.remove_world(self.worlds[world].local);
        }
    }

    /// What the worlds of a VM that is on no host had to do is lost.
    pub fn clear(&mut self, vm: VmId) {
        let group = &self.groups[vm];
        for id in group.vcpus.iter().chain(group.helpers.iter()) {
            let world = &mut self.worlds[id];
            world.power = Power::Off {
                why: Off::Unplaced as u8,
                wants_to_run: false,
            };
            (world.work_ns, world.slice_ns, world.contended) = (0.0, 0, false);
            world.paging = false;
        }
    }

    /// Puts the worlds of a VM on a host.
    pub(super) fn take_in(&mut self, plan: &VmPlan, now: Nanos) -> Span<WorldId> {
        let host = &mut self.hosts[plan.host];
        let homes = host.power_on(plan);
        let shares = plan.spec.shares.total(plan.spec.vcpus);
        let hypervisor = hypervisor::model(plan.host_spec.hypervisor);
        let is_managed = hypervisor
            .home_rules(plan.host_spec.hypervisor, &plan.host_spec.scheduler)
            .is_some()
            && plan.spec.affinity_cpus().is_none();
        let clients = plan.numa.ppds.iter().zip(&homes).filter(|_| is_managed);
        let clients = clients.map(|(&vcpus, &home)| NumaClient {
            vcpus: vcpus as usize,
            home,
        });
        let reservation_cores = plan.spec.reservation.hz() / plan.host_spec.clock.hz();
        host.add_group(shares, reservation_cores, clients.collect());
        // threads that have no home begin where their memory is; for others that is where they go
        let is_free = hypervisor
            .home_rules(plan.host_spec.hypervisor, &plan.host_spec.scheduler)
            .is_none();
        self.place_vcpus(plan, &homes, is_free);
        let topology = self.hosts[plan.host].occupancy.topology;
        let first_cpu = if is_free { topology.node_cpus(homes[0]).start } else { 0 };
        if hypervisor.helpers_have_own_group() {
            self.hosts[plan.host].add_group(shares, 0.0, Vec::new());
        }
        let io_threads = plan.io_threads();
        debug_assert!(
            plan.helpers() <= plan.most_helpers && io_threads <= plan.most_io_threads,
            "worlds are there for every host"
        );
        let group = &self.groups[plan.vm];
        let others = group.helpers;
        let helpers = Span::new(group.vcpus.end(), plan.helpers());
        let first_thread = others.len() - group.io_threads;
        let io_threads = first_thread..first_thread + io_threads;
        for (position, world) in helpers.iter().enumerate() {
            self.place_helper(world, plan, first_cpu + position * topology.threads_per_core);
        }
        for (position, world) in io_threads.map(|number| others.at(number)).enumerate() {
            self.place_helper(world, plan, first_cpu + position * topology.threads_per_core);
        }
        self.place_group(plan, &homes, now);
        helpers
    }

    fn place_vcpus(&mut self, plan: &VmPlan, homes: &[usize], is_free: bool) {
        let topology = self.hosts[plan.host].occupancy.topology;
        let (ratio, intensity) = (plan.speed_ratio(), plan.workload.memory_intensity);
        let smt_yield = plan.workload.smt_yield.unwrap_or(plan.host_spec.smt_yield);
        let stretch = plan
            .overhead()
            .map_or(1.0, |overhead| 1.0 + overhead.guest_work_pct / 100.0);
        let speed = [false, true].map(|shared| smt::speed(shared, smt_yield, ratio, intensity) / stretch);
        let affinity = plan.spec.affinity_cpus();
        let vcpus = self.groups[plan.vm].vcpus;
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
            let first_cpu = match &domain {
                Domain::Mask(mask) => mask.first_round(first_cpu).unwrap_or(first_cpu),
                _ => first_cpu,
            };
            let world = WorldPlan {
                domain,
                first_cpu,
                helper: false,
                vm: Some(plan.vm),
                speed: Some(speed),
                wake_up_ns: plan.workload.wake_up.map(|time| time.nanos()),
            };
            self.enlist(vcpus.at(index), plan.host, world);
        }
    }

    fn place_helper(&mut self, world: WorldId, plan: &VmPlan, first_cpu: usize) {
        let cpus = self.hosts[plan.host].occupancy.topology.cpus();
        let world_plan = WorldPlan {
            domain: Domain::Any,
            first_cpu: first_cpu % cpus,
            helper: true,
            vm: Some(plan.vm),
            speed: None,
            wake_up_ns: Some(0),
        };
        self.enlist(world, plan.host, world_plan);
    }

    fn place_group(&mut self, plan: &VmPlan, homes: &[usize], now: Nanos) {
        let (host, group) = (&mut self.hosts[plan.host], &mut self.groups[plan.vm]);
        let (bytes, ratio) = (plan.spec.memory.bytes(), plan.speed_ratio());
        let per_work = plan.cpu_per_work();
        group.memory = VmMemory::new(
            &plan.numa,
            homes,
            bytes,
            plan.workload,
            ratio,
            per_work,
            &mut host.memory,
        );
        self.bandwidth_matters |= group.memory.draws();
        let topology = host.occupancy.topology;
        let is_managed = host.scheduler.home(self.worlds[group.vcpus.at(0)].local).is_some();
        let local = match is_managed {
            true => group.memory.local(|_, home| home),
            false => group
                .memory
                .local_to(|vcpu| topology.node_of(self.worlds[group.vcpus.at(vcpu)].cpu)),
        };
        group.local.set(now, local);
        let (clock, limits) = (plan.host_spec.clock.hz(), host.scheduler.limits());
        let limit = plan.spec.limit.map(|limit| {
            let phase = plan.stream("limit").uniform();
            Limit::new(limits, limit.hz() / clock, phase, now).in_place_of(group.limit.as_ref())
        });
        group.limit = limit;
        group.cosched = host.scheduler.coscheduling();
        (group.host, group.since) = (plan.host, Some(now));
    }

    /// Puts a world that is on no host into the newest group of one.
    pub(super) fn enlist(&mut self, id: WorldId, host_id: HostId, plan: WorldPlan) {
        let host = &mut self.hosts[host_id];
        host.scheduler.add_world(WorldSpec {
            group: host.groups - 1,
            domain: plan.domain,
            first_cpu: plan.first_cpu,
            helper: plan.helper,
        });
        let world = &mut self.worlds[id];
        let cookie = core_scheduling::cookie(
            host.core_scheduling,
            plan.vm.map(|vm| vm.index() as u32),
            world.vcpu().is_some(),
        );
        if let Some(cookie) = cookie {
            host.occupancy.add_cookie(cookie);
        }
        let own = || [false, true].map(|shared| smt::speed(shared, host.smt_yield, host.clock_ratio, 0.0));
        world.host = host_id;
        world.local = host.worlds.len() as u32;
        host.worlds.push(id);
        world.cpu = host.scheduler.consults(world.local).unwrap_or(plan.first_cpu);
        world.speed = plan.speed.unwrap_or_else(own);
        world.wake_up_ns = plan.wake_up_ns;
        world.lag_ns = 0;
        world.balanced_ns = world.account.run_ns + world.account.ready_ns + world.account.costop_ns;
        world.power.come();
    }
}

impl Power {
    /// The world comes to a host that is up.
    fn come(&mut self) {
        if let Self::Off { why, .. } = self {
            *why &= !(Off::Unplaced as u8 | Off::Host as u8);
            if *why == 0 {
                *self = Self::On;
            }
        }
    }
}
