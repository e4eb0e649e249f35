//! Measuring: totals of a window, the timeline, and the series that output analysis looks at.

use super::allocation::Allocation;
use super::looks::Looking;
use super::results::{
    FailureReport, HostResult, HostTimeline, NodeResult, Observation, Replication, Timeline, VmTimeline,
};
use super::task::Task;
use super::vm_metrics::{Figures, IoResult, IoSums, VmParts, VmResult, busy_ns};
use super::{Observed, stations};
use crate::clock::{Clock, Event};
use crate::cpu::{Had, Host, NodeLoad};
use crate::faults::HostIncident;
use crate::ids::{HostId, Id, Table, VmId, WorldId};
use crate::island::{Island, IslandGroup};
use crate::ordered::set_of;
use crate::reclaim::PAGE;
use crate::responses::Responses;
use crate::storage::{Pool, PoolTimeline, VmIo};
use hypertwin_kernel::Nanos;
use hypertwin_models::accounting::{Account, ProcessorTime};

/// Observations per sample of the timeline.
const OBSERVATIONS_PER_SAMPLE: u64 = 10;

/// Totals of one VM since measuring began: accounts summed over its vCPUs.
#[derive(Clone, Copy, Debug, Default)]
struct VmTotals {
    account: Account,
    runnable_ns: f64,
    down_ns: Nanos,
    responses: Responses,
    /// I/Os of virtual disks.
    ios: Responses,
}

/// Totals of one host since measuring began.
#[derive(Clone, Copy, Debug, Default)]
struct HostTotals {
    used_ns: f64,
    overhead_ns: f64,
    threads_ns: u64,
}

/// What a host is, beside what runs on it.
#[derive(Clone, Debug, Default)]
struct Part {
    /// What the memory of each of its NUMA nodes delivers at most.
    node_gb_per_s: f64,
    /// What a link between two of them carries.
    link_gb_per_s: f64,
    /// Pools that it is a node of.
    serves: Vec<String>,
}

impl Part {
    /// Those of the hosts of an island.
    fn of(island: &Island) -> Table<HostId, Self> {
        let part = |id: HostId| Self {
            node_gb_per_s: island.hosts[id].spec.memory_system.node_bandwidth.bytes_per_s() / 1e9,
            link_gb_per_s: island.hosts[id].spec.memory_system.interconnect_bandwidth.bytes_per_s() / 1e9,
            serves: island
                .pools
                .iter()
                .filter(|pool| pool.nodes.contains(&id))
                .map(|pool| pool.name.to_owned())
                .collect(),
        };
        island.hosts.ids().map(part).collect()
    }
}

/// What was recorded so far, and where the current intervals began.
pub struct Recorder {
    groups: Vec<String>,
    units: Vec<(String, f64)>,
    tasks: Vec<Task>,
    allocations: Table<HostId, Allocation>,
    parts: Table<HostId, Part>,
    /// Whether VMs may move.
    may_move: bool,
    /// Events that were for it.
    measurements: u64,
    sample_ns: Nanos,
    observe_ns: Nanos,
    measuring_since: Option<Nanos>,
    pub timeline: Timeline,
    vms_at_sample: Table<VmId, VmTotals>,
    hosts_at_sample: Table<HostId, HostTotals>,
    vms_at_observation: Table<VmId, Observation>,
    /// Per VM: the highest guest CPU of any observation, in per cent.
    peaks: Table<VmId, f64>,
    /// Per group.
    observations: Vec<Vec<Observation>>,
    looking: Looking,
}

impl Recorder {
    pub fn new(island: &Island) -> Self {
        let sample_ns = island
            .run
            .sample_interval
            .min(island.run.duration.or_zero())
            .nanos()
            .max(1);
        let observe_ns = (sample_ns / OBSERVATIONS_PER_SAMPLE).max(1);
        let groups = island.groups.iter();
        let unit = |group: &IslandGroup| (group.workload.unit.clone(), group.workload.units_per_transaction);
        Self {
            groups: groups.clone().map(|group| group.name.to_owned()).collect(),
            units: groups.clone().map(unit).collect(),
            tasks: groups.map(|group| Task::of(group.spec, group.workload)).collect(),
            allocations: Allocation::of(island),
            parts: Part::of(island),
            may_move: island.may_move(),
            measurements: 0,
            sample_ns,
            observe_ns,
            measuring_since: None,
            timeline: Timeline::default(),
            vms_at_sample: Table::new(),
            hosts_at_sample: Table::new(),
            vms_at_observation: Table::new(),
            peaks: Table::new(),
            observations: Vec::new(),
            looking: Looking::new(island, island.run.duration.or_zero().nanos() / observe_ns),
        }
    }
}

/// What the guest takes for its CPU usage, as a fraction.
pub fn guest_cpu(account: &Account) -> f64 {
    busy_ns(account) as f64 / (account.total_ns() as f64).max(1.0)
}

fn add(sum: &mut Account, other: &Account) {
    sum.run_ns += other.run_ns;
    sum.ready_ns += other.ready_ns;
    sum.costop_ns += other.costop_ns;
    sum.wait_ns += other.wait_ns;
    sum.limited_ns += other.limited_ns;
    sum.wakeup_ns += other.wakeup_ns;
    sum.starting_ns += other.starting_ns;
    sum.swap_wait_ns += other.swap_wait_ns;
    sum.overlap_ns += other.overlap_ns;
    sum.used_ns += other.used_ns;
}

pub fn difference(now: &Account, before: &Account) -> Account {
    Account {
        run_ns: now.run_ns - before.run_ns,
        ready_ns: now.ready_ns - before.ready_ns,
        costop_ns: now.costop_ns - before.costop_ns,
        wait_ns: now.wait_ns - before.wait_ns,
        limited_ns: now.limited_ns - before.limited_ns,
        wakeup_ns: now.wakeup_ns - before.wakeup_ns,
        starting_ns: now.starting_ns - before.starting_ns,
        swap_wait_ns: now.swap_wait_ns - before.swap_wait_ns,
        overlap_ns: now.overlap_ns - before.overlap_ns,
        used_ns: now.used_ns - before.used_ns,
    }
}

/// The totals of a VM.
fn vm_totals(observed: &Observed, id: VmId) -> VmTotals {
    let (group, vm) = (&observed.cpu.groups()[id], &observed.guests.vms()[id]);
    let mut account = Account::default();
    for world in &observed.cpu.worlds()[group.vcpus] {
        add(&mut account, &world.account);
    }
    VmTotals {
        account,
        runnable_ns: vm.measured.runnable.integral(observed.now),
        down_ns: observed.lives[id].down_ns(observed.faults.host(group.host).down_ns(observed.now), observed.now),
        responses: Responses::of(&vm.measured.responses),
        ios: observed.storage.path().vm(id).map(VmIo::latencies).unwrap_or_default(),
    }
}

/// What output analysis looks at of a VM, since measuring began.
fn observation(observed: &Observed, id: VmId) -> Observation {
    let mut all = Observation {
        responses: Responses::of(&observed.guests.vms()[id].measured.responses),
        ..Observation::default()
    };
    for world in &observed.cpu.worlds()[observed.cpu.groups()[id].vcpus] {
        all.busy_ns += busy_ns(&world.account);
        all.total_ns += world.account.total_ns();
    }
    all
}

/// Nominal and running clock of the hosts on which a VM was, in MHz, each counted by what the VM had there.
fn clocks(observed: &Observed, id: VmId) -> [f64; 2] {
    let group = &observed.cpu.groups()[id];
    let host = &observed.cpu.hosts()[group.host];
    let mut all = group.count.left;
    if all.used_ns > 0.0 {
        all.add(observed.cpu.had_here(id, observed.now).vcpus_ns, host);
        return [all.used_ns, all.run_ns].map(|ns| all.used_mhz_ns / ns);
    }
    [host.nominal_mhz, host.nominal_mhz * host.clock_ratio]
}

/// The totals of all hosts.
fn host_totals(observed: &Observed) -> Table<HostId, HostTotals> {
    let cpu = observed.cpu;
    let hosts = cpu.hosts().iter().map(|host| HostTotals {
        used_ns: host.count.system_ns + (host.count.left.vcpus_ns + host.count.left.helpers_ns),
        overhead_ns: host.count.system_ns + host.count.left.helpers_ns,
        threads_ns: host.time().threads_ns,
    });
    let mut totals: Table<HostId, HostTotals> = hosts.collect();
    for vm in cpu.groups().ids() {
        let (host, had) = (cpu.groups()[vm].host, cpu.had_here(vm, observed.now));
        totals[host].used_ns += had.vcpus_ns + had.helpers_ns;
        totals[host].overhead_ns += had.helpers_ns;
    }
    for host in cpu.hosts().ids() {
        let sent_ns = senders_ns(observed, host);
        totals[host].used_ns += sent_ns;
        totals[host].overhead_ns += sent_ns;
    }
    for world in observed.storage.pools().iter().flat_map(Pool::worlds) {
        let world = &cpu.worlds()[world];
        totals[world.host].used_ns += world.account.used_ns;
        totals[world.host].overhead_ns += world.account.used_ns;
    }
    totals
}

/// Charged time of the worlds of a host that send and receive VMs.
fn senders_ns(observed: &Observed, host: HostId) -> f64 {
    let worlds = observed.movement.senders(host).iter();
    worlds.map(|&world| observed.cpu.worlds()[world].account.used_ns).sum()
}

impl Recorder {
    /// Begins to measure, or adds a sample or an observation.
    pub fn on(&mut self, event: Event, observed: Observed, clock: &mut Clock) {
        self.measurements += 1;
        let interval_ns = match event {
            Event::StartMeasuring => {
                self.start(&observed);
                clock.measure_at(clock.now + self.observe_ns, Event::Observe);
                clock.measure_at(clock.now + self.sample_ns, Event::Sample);
                return;
            }
            Event::Sample => {
                self.sample(&observed);
                self.sample_ns
            }
            Event::Observe => {
                self.observe(&observed);
                self.observe_ns
            }
            _ => unreachable!("nothing else is measured"),
        };
        let next = clock.now + interval_ns;
        if next <= clock.end {
            clock.measure_at(next, event);
        }
    }

    fn start(&mut self, observed: &Observed) {
        let (hosts, vms) = (observed.cpu.hosts().len(), observed.guests.vms().len());
        self.measuring_since = Some(observed.now);
        self.vms_at_sample = vec![VmTotals::default(); vms].into();
        self.vms_at_observation = vec![Observation::default(); vms].into();
        self.hosts_at_sample = vec![HostTotals::default(); hosts].into();
        self.peaks = vec![0.0; vms].into();
        self.observations = vec![Default::default(); self.groups.len()];
        self.looking.start(observed);
        self.timeline = Timeline {
            interval_s: self.sample_ns as f64 / 1e9,
            time_s: Vec::new(),
            hosts: vec![HostTimeline::default(); hosts],
            vms: vec![VmTimeline::default(); vms],
            pools: vec![PoolTimeline::default(); observed.storage.pools().len()],
        };
    }

    fn observe(&mut self, observed: &Observed) {
        self.observations
            .iter_mut()
            .for_each(|all| all.push(Observation::default()));
        for id in observed.guests.vms().ids() {
            let now = observation(observed, id);
            let before = std::mem::replace(&mut self.vms_at_observation[id], now);
            let interval = now.since(&before);
            let peak = &mut self.peaks[id];
            *peak = peak.max(interval.busy_pct());
            let group = observed.guests.vms()[id].group;
            let sum = self.observations[group].last_mut().expect("its group has VMs");
            *sum = sum.and(&interval);
        }
        self.looking.observe(observed, &self.groups);
    }

    fn sample(&mut self, observed: &Observed) {
        let interval_ns = self.sample_ns as f64;
        let since = self.measuring_since.expect("samples are taken while measuring");
        self.timeline.time_s.push((observed.now - since) as f64 / 1e9);
        let totals = host_totals(observed);
        for id in observed.cpu.hosts().ids() {
            let totals = totals[id];
            let before = std::mem::replace(&mut self.hosts_at_sample[id], totals);
            let topology = observed.cpu.hosts()[id].occupancy.topology;
            let line = &mut self.timeline.hosts[id.index()];
            let used = (totals.used_ns - before.used_ns) / (interval_ns * topology.cores() as f64);
            let busy = (totals.threads_ns - before.threads_ns) as f64 / (interval_ns * topology.cpus() as f64);
            line.usage_pct.push((100.0 * used).min(100.0));
            line.utilization_pct.push((100.0 * busy).min(100.0));
            if observed.reclaim.concerns(id) {
                let (pages, _, free) = observed.reclaim.host(id);
                line.free_bytes.push(free as f64 * PAGE / 2.0);
                line.ballooned_bytes.push(pages.ballooned as f64 * PAGE);
                line.swapped_bytes.push(pages.swapped as f64 * PAGE);
                line.compressed_bytes.push(pages.compressed as f64 * PAGE);
            }
        }
        for id in observed.guests.vms().ids() {
            let totals = vm_totals(observed, id);
            let before = std::mem::replace(&mut self.vms_at_sample[id], totals);
            let account = difference(&totals.account, &before.account);
            let responses = totals.responses.since(&before.responses);
            let vcpus = observed.guests.vms()[id].vcpus;
            let percent = |ns: u64| 100.0 * ns as f64 / (interval_ns * vcpus as f64);
            let line = &mut self.timeline.vms[id.index()];
            line.guest_cpu_pct.push(100.0 * guest_cpu(&account));
            line.run_pct.push(percent(account.run_ns));
            line.ready_pct.push(percent(account.ready_ns));
            line.costop_pct.push(percent(account.costop_ns));
            line.run_queue
                .push((totals.runnable_ns - before.runnable_ns) / interval_ns);
            line.throughput_per_s.push(responses.count as f64 / interval_ns * 1e9);
            line.response_ms_mean.push(responses.mean_ms_or_none());
            if self.may_move {
                line.up
                    .push(1.0 - (totals.down_ns - before.down_ns) as f64 / interval_ns);
            }
            if observed.storage.path().vm(id).is_some() {
                let ios = totals.ios.since(&before.ios);
                line.iops.push(ios.count as f64 / interval_ns * 1e9);
                line.io_latency_ms_mean.push(ios.mean_ms_or_none());
            }
        }
        for (pool, line) in observed.storage.pools().iter().zip(&mut self.timeline.pools) {
            pool.sample(line);
        }
    }

    /// The results, at the end of the run.
    pub fn finish(self, observed: Observed, events: u64) -> Replication {
        let since = self.measuring_since.expect("a run lasts longer than its warm-up");
        let duration_ns = (observed.now - since).max(1) as f64;
        let vms = observed.guests.vms().ids();
        let pending = observed.storage.pending_ns(vms.len(), observed.now);
        let run = |world: WorldId| observed.cpu.worlds()[world].account.run_ns as f64 / duration_ns;
        Replication {
            hosts: hosts(&observed, &self.allocations, &self.parts, duration_ns),
            vms: vms.map(|vm| self.vm(&observed, vm, pending[vm], duration_ns)).collect(),
            failures: failures(&observed),
            movement: observed.movement.history(observed.now),
            stations: stations::results(&observed, &self.groups, duration_ns),
            pools: observed.storage.pool_results(&run, observed.now, duration_ns),
            looks: self.looking.finish(&observed, &self.groups),
            groups: self.groups,
            units: self.units.into_iter().map(|(unit, _)| unit).collect(),
            tasks: self.tasks,
            observations: self.observations,
            observation_s: self.observe_ns as f64 / 1e9,
            timeline: self.timeline,
            warmup_s: since as f64 / 1e9,
            duration_s: duration_ns / 1e9,
            calibrated_on: None,
            measurements: self.measurements,
            events,
        }
    }

    /// The results of a VM.
    fn vm(&self, observed: &Observed, id: VmId, pending_ns: Nanos, duration_ns: f64) -> VmResult {
        let (group, vm) = (&observed.cpu.groups()[id], &observed.guests.vms()[id]);
        let host = &observed.cpu.hosts()[group.host];
        let (mut totals, io) = (vm_totals(observed, id), observed.storage.path().vm(id));
        // while a VM is powered off its vCPUs wait, which is in no average
        let off_ns = observed.lives[id].off_ns(observed.now);
        totals.account.wait_ns -= off_ns * vm.vcpus as u64;
        let [nominal_mhz, running_mhz] = clocks(observed, id);
        let figures = Figures {
            account: totals.account,
            demand_ns: observed.cpu.worlds()[group.vcpus]
                .iter()
                .map(|vcpu| vcpu.account.demand_ns())
                .sum(),
            vcpus: vm.vcpus,
            duration_ns,
            down_ns: totals.down_ns as f64,
            off_ns: off_ns as f64,
            nominal_mhz,
            running_mhz,
            system_ns: group.count.system_ns,
            guest_cpu: guest_cpu(&totals.account),
            guest_cpu_peak_pct: self.peaks[id],
            runnable_ns: totals.runnable_ns,
            responses: totals.responses.count,
            units_per_transaction: self.units[vm.group].1,
            ios: vm.measured.ios + totals.ios.count as f64,
            memory_mb: group.memory.total_bytes() as f64 / (1 << 20) as f64,
            local: group.local.mean(observed.now),
            traffic: group.count.traffic,
        };
        let sums = |latencies: Responses, bytes: f64| IoSums {
            latency_mean_ms: latencies.mean_ms(),
            count: latencies.count,
            mb_per_s: bytes / duration_ns * 1e3,
        };
        let parts = VmParts {
            name: vm.name.clone(),
            group: vm.group,
            host: host.name.clone(),
            cluster: self.allocations[group.host].cluster.clone(),
            response_mean_ms: totals.responses.mean_ms(),
            slow_s: self
                .may_move
                .then(|| observed.lives[id].slow_ns(observed.now) as f64 / 1e9),
            virtual_nodes: group.memory.virtual_nodes(),
            reclaimed: observed
                .reclaim
                .vm_result(id, group.host, duration_ns, figures.swap_wait_pct()),
            response: vm.measured.responses.compact(),
            io: io.map(|io| IoResult {
                all: sums(totals.ios, io.measured.iter().map(|way| way.bytes).sum()),
                ways: io
                    .measured
                    .each_ref()
                    .map(|way| sums(Responses::of(&way.latencies), way.bytes)),
                latencies: io.measured.each_ref().map(|way| way.latencies.compact()),
                cpu_cycles: (figures.used_ns() + observed.cpu.used_ns(group.helpers)) / 1e9 * nominal_mhz * 1e6,
                copied_bytes: io.copied_bytes,
                pending_ns,
            }),
        };
        VmResult::new(parts, &figures)
    }
}

/// The results of all hosts.
fn hosts(
    observed: &Observed,
    allocations: &Table<HostId, Allocation>,
    parts: &Table<HostId, Part>,
    duration_ns: f64,
) -> Vec<HostResult> {
    let (all, loads) = (host_totals(observed), observed.cpu.node_loads());
    let hosts = observed.cpu.hosts().iter();
    let mut had: Table<HostId, Had> = hosts.map(|host| host.count.left).collect();
    for vm in observed.cpu.groups().ids() {
        had[observed.cpu.groups()[vm].host].add(&observed.cpu.had_here(vm, observed.now));
    }
    let host = |id: HostId| {
        let (host, totals) = (&observed.cpu.hosts()[id], all[id]);
        let Had {
            ready_ns,
            costop_ns,
            time_ns,
            ..
        } = had[id];
        let topology = host.occupancy.topology;
        let cores_ns = duration_ns * topology.cores() as f64;
        let vcpus_ns = time_ns.max(1) as f64;
        let time = host.time();
        let sent_ns = Some(senders_ns(observed, id)).filter(|&sent_ns| sent_ns > 0.0);
        HostResult {
            name: host.name.clone(),
            usage_pct: (100.0 * totals.used_ns / cores_ns).min(100.0),
            utilization_pct: (100.0 * time.threads_ns as f64 / (duration_ns * topology.cpus() as f64)).min(100.0),
            core_utilization_pct: (100.0 * time.cores_ns() / cores_ns).min(100.0),
            overhead_pct: 100.0 * totals.overhead_ns / cores_ns,
            ready_pct: 100.0 * ready_ns as f64 / vcpus_ns,
            costop_pct: 100.0 * costop_ns as f64 / vcpus_ns,
            down_s: observed.faults.host(id).down_ns(observed.now) as f64 / 1e9,
            migration_cpu_pct: sent_ns.map(|sent_ns| 100.0 * sent_ns / cores_ns),
            node_gb_per_s: parts[id].node_gb_per_s,
            link_gb_per_s: parts[id].link_gb_per_s,
            serves: parts[id].serves.clone(),
            allocation: allocations[id].clone(),
            reclaimed: observed.reclaim.host_result(id, duration_ns),
            nodes: nodes(host, &loads[id], duration_ns),
        }
    };
    observed.cpu.hosts().ids().map(host).collect()
}

/// The results of the NUMA nodes of a host, on which `loads` are.
fn nodes(host: &Host, loads: &[NodeLoad], duration_ns: f64) -> Vec<NodeResult> {
    let topology = host.occupancy.topology;
    let times: Vec<ProcessorTime> = host.cpu_times().collect();
    let cores_ns = duration_ns * topology.cores_per_node as f64;
    let node = |(node, load): (usize, &NodeLoad)| {
        let charged_ns: f64 = times[topology.node_cpus(node)]
            .iter()
            .map(|&time| host.charged_ns(time))
            .sum();
        let (bytes, free) = (load.bytes as f64, host.memory.free[node] as f64);
        NodeResult {
            usage_pct: (100.0 * charged_ns / cores_ns).min(100.0),
            vcpus: load.vcpus,
            memory_mb: bytes / (1 << 20) as f64,
            memory_pct: 100.0 * bytes / (bytes + free).max(1.0),
            memory_gb_per_s: host.memory.delivered()[node] / duration_ns,
        }
    };
    loads.iter().enumerate().map(node).collect()
}

/// What happened to hosts, and to which VMs with them.
fn failures(observed: &Observed) -> Vec<FailureReport> {
    let report = |incident: &HostIncident| {
        let vms = set_of(incident.vms.iter().copied());
        FailureReport {
            time_s: incident.at as f64 / 1e9,
            what: incident.what.clone(),
            entry: incident.entry,
            fails: incident.fails,
            hosts: incident
                .hosts
                .iter()
                .map(|&host| observed.cpu.hosts()[host].name.clone())
                .collect(),
            vms: vms.iter().map(|&vm| observed.guests.vms()[vm].name.clone()).collect(),
        }
    };
    observed.faults.history().iter().map(report).collect()
}
