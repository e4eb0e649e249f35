//! Measuring: totals of a window, the timeline, and the series that output analysis looks at.

use crate::clock::Event;
use crate::ids::{Id, VmId};
use crate::results::{HostResult, IoResult, Timeline, VmResult};
use crate::simulation::Simulation;
use crate::state::Responses;
use crate::storage::{Pool, PoolTimeline};
use crate::{Replication, results::HostTimeline, results::VmTimeline};
use hypertwin_cluster::Scenario;
use hypertwin_kernel::{Histogram, Nanos};
use hypertwin_models::accounting::Account;
use std::ops::Range;

/// Observations per sample of the timeline.
const OBSERVATIONS_PER_SAMPLE: u64 = 10;

/// Totals of one VM since measuring began: accounts summed over its vCPUs.
#[derive(Clone, Copy, Debug, Default)]
struct VmTotals {
    account: Account,
    runnable_ns: f64,
}

/// Totals of one host since measuring began.
#[derive(Clone, Copy, Debug, Default)]
struct HostTotals {
    used_ns: f64,
    overhead_ns: f64,
    threads_ns: u64,
}

/// What was recorded so far, and where the current intervals began.
pub(crate) struct Recorder {
    groups: Vec<String>,
    /// Per group: response times of the VMs that keep no distribution of their own.
    pub distributions: Vec<Histogram>,
    units: Vec<(String, f64)>,
    calibrated_on: Option<String>,
    sample_ns: Nanos,
    observe_ns: Nanos,
    measuring_since: Option<Nanos>,
    pub timeline: Timeline,
    vms_at_sample: Vec<VmTotals>,
    hosts_at_sample: Vec<HostTotals>,
    vms_at_observation: Vec<VmTotals>,
    /// Per VM: the highest guest CPU of any observation, in per cent.
    peaks: Vec<f64>,
    /// Per group and observation: guest CPU, throughput, mean response time.
    observations: Vec<[Vec<f64>; 3]>,
}

impl Recorder {
    pub fn new(scenario: &Scenario) -> Self {
        let sample_ns = scenario.run.sample_interval.min(scenario.run.duration).nanos().max(1);
        Self {
            groups: scenario.vms.keys().cloned().collect(),
            distributions: vec![Histogram::new(); scenario.vms.len()],
            units: scenario
                .vms
                .values()
                .map(|vm| {
                    let workload = &scenario.workloads[&vm.workload];
                    (workload.unit.clone(), workload.units_per_transaction)
                })
                .collect(),
            calibrated_on: scenario.calibrated_on.clone(),
            sample_ns,
            observe_ns: (sample_ns / OBSERVATIONS_PER_SAMPLE).max(1),
            measuring_since: None,
            timeline: Timeline::default(),
            vms_at_sample: Vec::new(),
            hosts_at_sample: Vec::new(),
            vms_at_observation: Vec::new(),
            peaks: Vec::new(),
            observations: Vec::new(),
        }
    }
}

/// What the guest takes for its CPU usage, as a fraction: time in which its vCPU was not idle, as far as it can tell.
pub(crate) fn guest_cpu(account: &Account) -> f64 {
    let busy = (account.run_ns + account.ready_ns + account.costop_ns - account.wakeup_ns) as f64;
    busy / (account.total_ns() as f64).max(1.0)
}

fn add(sum: &mut Account, other: &Account) {
    sum.run_ns += other.run_ns;
    sum.ready_ns += other.ready_ns;
    sum.costop_ns += other.costop_ns;
    sum.wait_ns += other.wait_ns;
    sum.limited_ns += other.limited_ns;
    sum.wakeup_ns += other.wakeup_ns;
    sum.overlap_ns += other.overlap_ns;
    sum.used_ns += other.used_ns;
}

pub(crate) fn difference(now: &Account, before: &Account) -> Account {
    Account {
        run_ns: now.run_ns - before.run_ns,
        ready_ns: now.ready_ns - before.ready_ns,
        costop_ns: now.costop_ns - before.costop_ns,
        wait_ns: now.wait_ns - before.wait_ns,
        limited_ns: now.limited_ns - before.limited_ns,
        wakeup_ns: now.wakeup_ns - before.wakeup_ns,
        overlap_ns: now.overlap_ns - before.overlap_ns,
        used_ns: now.used_ns - before.used_ns,
    }
}

impl Simulation {
    pub fn start_measuring(&mut self) {
        self.close_all();
        for world in &mut self.worlds {
            world.account = Account::default();
            world.balanced_ns = 0;
        }
        for host in &mut self.hosts {
            host.interrupts = Default::default();
            for cpu in &mut host.cpus {
                cpu.time = Default::default();
            }
            host.system_ns = 0.0;
            host.memory.reset();
        }
        for vm in &mut self.vms {
            vm.measured.runnable.reset(self.clock.now);
            if let Some(distribution) = &mut vm.measured.distribution {
                distribution.reset();
            }
            vm.measured.all = Responses::default();
            vm.measured.system_ns = 0.0;
            vm.measured.ios = 0.0;
            vm.measured.traffic = [0.0; 2];
            vm.measured.local.reset(self.clock.now);
            vm.measured.sample = Responses::default();
            vm.measured.observation = Responses::default();
        }
        self.storage.reset(self.clock.now);
        let (hosts, vms) = (self.hosts.len(), self.vms.len());
        let recorder = &mut self.recorder;
        recorder.distributions.iter_mut().for_each(Histogram::reset);
        recorder.measuring_since = Some(self.clock.now);
        recorder.vms_at_sample = vec![VmTotals::default(); vms];
        recorder.vms_at_observation = vec![VmTotals::default(); vms];
        recorder.hosts_at_sample = vec![HostTotals::default(); hosts];
        recorder.peaks = vec![0.0; vms];
        recorder.observations = vec![Default::default(); recorder.groups.len()];
        recorder.timeline = Timeline {
            interval_s: recorder.sample_ns as f64 / 1e9,
            time_s: Vec::new(),
            hosts: vec![HostTimeline::default(); hosts],
            vms: vec![VmTimeline::default(); vms],
            pools: vec![PoolTimeline::default(); self.storage.pools().len()],
        };
        let (sample, observe) = (
            self.clock.now + recorder.sample_ns,
            self.clock.now + recorder.observe_ns,
        );
        self.clock.measure_at(observe, Event::Observe);
        self.clock.measure_at(sample, Event::Sample);
    }

    fn close_all(&mut self) {
        for world in 0..self.worlds.len() {
            self.close(world);
        }
    }

    fn used_by(&self, worlds: Range<usize>) -> f64 {
        self.worlds[worlds].iter().map(|world| world.account.used_ns).sum()
    }

    fn vm_totals(&self, vm: usize) -> VmTotals {
        let vm = &self.vms[vm];
        let mut account = Account::default();
        for world in &self.worlds[vm.first_world..vm.first_world + vm.vcpus] {
            add(&mut account, &world.account);
        }
        VmTotals {
            account,
            runnable_ns: vm.measured.runnable.integral(self.clock.now),
        }
    }

    fn host_totals(&self) -> Vec<HostTotals> {
        let mut totals: Vec<HostTotals> = self
            .hosts
            .iter()
            .map(|host| HostTotals {
                used_ns: host.system_ns,
                overhead_ns: host.system_ns,
                threads_ns: host.time().threads_ns,
            })
            .collect();
        for vm in &self.vms {
            let helpers = self.used_by(vm.first_helper..vm.first_helper + vm.helpers);
            totals[vm.host].used_ns += self.used_by(vm.first_world..vm.first_world + vm.vcpus) + helpers;
            totals[vm.host].overhead_ns += helpers;
        }
        for world in self.storage.pools().iter().flat_map(Pool::worlds) {
            let world = &self.worlds[world.index()];
            totals[world.host].used_ns += world.account.used_ns;
            totals[world.host].overhead_ns += world.account.used_ns;
        }
        totals
    }

    pub fn observe(&mut self) {
        self.close_all();
        let interval_s = self.recorder.observe_ns as f64 / 1e9;
        let groups = self.recorder.groups.len();
        let mut sums = vec![(0.0, 0usize, Responses::default()); groups];
        for index in 0..self.vms.len() {
            let totals = self.vm_totals(index);
            let before = std::mem::replace(&mut self.recorder.vms_at_observation[index], totals);
            let cpu = 100.0 * guest_cpu(&difference(&totals.account, &before.account));
            self.recorder.peaks[index] = self.recorder.peaks[index].max(cpu);
            let vm = &mut self.vms[index];
            let responses = std::mem::take(&mut vm.measured.observation);
            let sum = &mut sums[vm.group];
            sum.0 += cpu;
            sum.1 += 1;
            sum.2.sum_ns += responses.sum_ns;
            sum.2.count += responses.count;
        }
        for (series, (cpu, count, responses)) in self.recorder.observations.iter_mut().zip(sums) {
            if count > 0 {
                series[0].push(cpu / count as f64);
                series[1].push(responses.count as f64 / interval_s);
                if responses.count > 0 {
                    series[2].push(responses.mean_ms());
                }
            }
        }
        let next = self.clock.now + self.recorder.observe_ns;
        if next <= self.clock.end {
            self.clock.measure_at(next, Event::Observe);
        }
    }

    pub fn sample(&mut self) {
        self.close_all();
        let interval_ns = self.recorder.sample_ns as f64;
        let host_totals = self.host_totals();
        let since = self.recorder.measuring_since.unwrap_or(0);
        self.recorder
            .timeline
            .time_s
            .push((self.clock.now - since) as f64 / 1e9);
        for (index, (host, totals)) in self.hosts.iter().zip(host_totals).enumerate() {
            let before = std::mem::replace(&mut self.recorder.hosts_at_sample[index], totals);
            let topology = host.occupancy.topology;
            let line = &mut self.recorder.timeline.hosts[index];
            let used = (totals.used_ns - before.used_ns) / (interval_ns * topology.cores() as f64);
            let busy = (totals.threads_ns - before.threads_ns) as f64 / (interval_ns * topology.cpus() as f64);
            line.usage_pct.push((100.0 * used).min(100.0));
            line.utilization_pct.push((100.0 * busy).min(100.0));
        }
        for index in 0..self.vms.len() {
            let totals = self.vm_totals(index);
            let before = std::mem::replace(&mut self.recorder.vms_at_sample[index], totals);
            let account = difference(&totals.account, &before.account);
            let vm = &mut self.vms[index];
            let responses = std::mem::take(&mut vm.measured.sample);
            let percent = |ns: u64| 100.0 * ns as f64 / (interval_ns * vm.vcpus as f64);
            let line = &mut self.recorder.timeline.vms[index];
            line.guest_cpu_pct.push(100.0 * guest_cpu(&account));
            line.run_pct.push(percent(account.run_ns));
            line.ready_pct.push(percent(account.ready_ns));
            line.costop_pct.push(percent(account.costop_ns));
            line.run_queue
                .push((totals.runnable_ns - before.runnable_ns) / interval_ns);
            line.throughput_per_s.push(responses.count as f64 / interval_ns * 1e9);
            line.response_ms_mean
                .push((responses.count > 0).then(|| responses.mean_ms()));
        }
        for (pool, line) in self.storage.pools().iter().zip(&mut self.recorder.timeline.pools) {
            pool.sample(line);
        }
        let next = self.clock.now + self.recorder.sample_ns;
        if next <= self.clock.end {
            self.clock.measure_at(next, Event::Sample);
        }
    }

    /// The results, at the end of the run.
    pub fn into_replication(mut self) -> Replication {
        self.close_all();
        let since = self.recorder.measuring_since.unwrap_or(self.clock.now);
        let duration_ns = (self.clock.now - since).max(1) as f64;
        let host_totals = self.host_totals();
        let totals: Vec<VmTotals> = (0..self.vms.len()).map(|vm| self.vm_totals(vm)).collect();
        let mut by_host = vec![(0u64, 0u64, 0usize); self.hosts.len()];
        for (vm, totals) in self.vms.iter().zip(&totals) {
            let sum = &mut by_host[vm.host];
            sum.0 += totals.account.ready_ns;
            sum.1 += totals.account.costop_ns;
            sum.2 += vm.vcpus;
        }
        let hosts = self
            .hosts
            .iter()
            .zip(host_totals)
            .zip(by_host)
            .map(|((host, totals), (ready, costop, vcpus))| {
                let topology = host.occupancy.topology;
                let cores_ns = duration_ns * topology.cores() as f64;
                let vcpus_ns = duration_ns * vcpus.max(1) as f64;
                let time = host.time();
                HostResult {
                    name: host.name.clone(),
                    usage_pct: (100.0 * totals.used_ns / cores_ns).min(100.0),
                    utilization_pct: (100.0 * time.threads_ns as f64 / (duration_ns * topology.cpus() as f64))
                        .min(100.0),
                    core_utilization_pct: (100.0 * time.cores_ns() / cores_ns).min(100.0),
                    overhead_pct: 100.0 * totals.overhead_ns / cores_ns,
                    ready_pct: 100.0 * ready as f64 / vcpus_ns,
                    costop_pct: 100.0 * costop as f64 / vcpus_ns,
                    memory_gb_per_s: host
                        .memory
                        .delivered()
                        .iter()
                        .map(|bytes| bytes / duration_ns)
                        .collect(),
                }
            });
        let hosts = hosts.collect();
        let stations = self.station_results(&self.recorder.groups, duration_ns);
        let pools = self.storage.pool_results(self.clock.now, duration_ns);
        let helpers: Vec<f64> = self
            .vms
            .iter()
            .map(|vm| self.used_by(vm.first_helper..vm.first_helper + vm.helpers))
            .collect();
        let mut group_responses = std::mem::take(&mut self.recorder.distributions);
        let mut group_io = self.storage.take_distributions();
        let mut vms = Vec::with_capacity(self.vms.len());
        for (index, (vm, totals)) in self.vms.into_iter().zip(totals).enumerate() {
            let host = &self.hosts[vm.host];
            let account = totals.account;
            let vcpus_ns = duration_ns * vm.vcpus as f64;
            let percent = |ns: f64| 100.0 * ns / vcpus_ns;
            let demand_ns = (account.run_ns + account.ready_ns + account.costop_ns) as f64;
            let used_ns = account.used_ns + vm.measured.system_ns;
            let cores = |ns: f64| ns / duration_ns * host.nominal_mhz;
            if let Some(distribution) = &vm.measured.distribution {
                group_responses[vm.group].merge(distribution);
            }
            let memory_mb = vm.memory.total_bytes() as f64 / (1 << 20) as f64;
            let local = vm.measured.local.mean(self.clock.now);
            let io = self.storage.path().vm(VmId::new(index)).map(|io| {
                if let Some(latency) = &io.measured.distribution {
                    group_io[vm.group].merge(latency);
                }
                let cycles = (used_ns + helpers[index]) / 1e9 * host.nominal_mhz * 1e6;
                IoResult {
                    latency_mean_ms: io.measured.latencies.mean_ms(),
                    count: io.measured.latencies.count,
                    latency: io.measured.distribution.clone(),
                    mb_per_s: io.measured.bytes / duration_ns * 1e3,
                    cpu_cycles: cycles,
                }
            });
            let ios = vm.measured.ios + io.as_ref().map_or(0.0, |io| io.count as f64);
            let throughput_per_s = vm.measured.all.count as f64 / duration_ns * 1e9;
            vms.push(VmResult {
                name: vm.name,
                group: vm.group,
                vcpus: vm.vcpus as u32,
                run_pct: percent(account.run_ns as f64),
                ready_pct: percent(account.ready_ns as f64),
                costop_pct: percent(account.costop_ns as f64),
                wait_pct: percent(account.wait_ns as f64),
                limited_pct: percent(account.limited_ns as f64),
                system_pct: percent(vm.measured.system_ns),
                overlap_pct: percent(account.overlap_ns as f64),
                used_pct: percent(used_ns),
                used_mhz: cores(used_ns),
                demand_pct: percent(demand_ns),
                demand_mhz: cores(demand_ns * host.clock_ratio),
                guest_cpu_pct: 100.0 * guest_cpu(&account),
                guest_cpu_peak_pct: self.recorder.peaks.get(index).copied().unwrap_or(0.0),
                run_queue: totals.runnable_ns / duration_ns,
                throughput_per_s,
                throughput_units_per_s: throughput_per_s * self.recorder.units[vm.group].1,
                response_mean_ms: vm.measured.all.mean_ms(),
                response_count: vm.measured.all.count,
                iops: ios / duration_ns * 1e9,
                numa_local_pct: 100.0 * local,
                numa_local_mb: memory_mb * local,
                numa_remote_mb: memory_mb * (1.0 - local),
                memory_gb_per_s: vm.measured.traffic.iter().sum::<f64>() / duration_ns,
                memory_remote_gb_per_s: vm.measured.traffic[1] / duration_ns,
                virtual_nodes: vm.memory.virtual_nodes(),
                response: vm.measured.distribution,
                io,
            });
        }
        let recorder = self.recorder;
        Replication {
            hosts,
            vms,
            groups: recorder.groups,
            units: recorder.units.into_iter().map(|(unit, _)| unit).collect(),
            group_responses,
            group_io,
            stations,
            pools,
            observations: recorder.observations,
            observation_s: recorder.observe_ns as f64 / 1e9,
            timeline: recorder.timeline,
            warmup_s: since as f64 / 1e9,
            duration_s: duration_ns / 1e9,
            calibrated_on: recorder.calibrated_on,
            events: self.clock.events(),
        }
    }
}
