//! A run as its hosts' own instruments would show it: one sample after another, of every world, disk and device.
//!
//! A report keeps means over the run and a short timeline. What a tool such as esxtop shows of each interval is a
//! thousand times as much, so it is handed out sample by sample and never kept: [`Sampler::sample`] says what
//! an interval adds to the one before.

use super::Observed;
use super::recorder::difference;
use super::results::Timeline;
use crate::ids::{DepthId, DiskId, HostId, Id, Span, Table, VdiskId, VmId, WorldId};
use crate::island::{Island, IslandHost, IslandVm};
use crate::ordered::set_of;
use crate::storage::{Passages, Pool, Target};
use hypertwin_models::accounting::{Account, ProcessorTime};
use serde::Serialize;
use std::collections::BTreeMap;

const MB: f64 = (1_u64 << 20) as f64;

/// Everything of one interval, in the order of the scenario's hosts.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// End of the interval, in seconds of measured time.
    pub time_s: f64,
    /// Its length.
    pub interval_s: f64,
    /// Per host.
    pub hosts: Vec<HostSample>,
}

/// A host in a [`Sample`].
#[derive(Clone, Debug, Serialize)]
pub struct HostSample {
    /// Its name.
    pub name: String,
    /// Physical cores.
    pub cores: usize,
    /// As in the timeline of a report: of cores at nominal clock, at most 100.
    pub usage_pct: f64,
    /// Time that a logical CPU was busy, their mean.
    pub utilization_pct: f64,
    /// Time that at least one thread of a core was busy, their mean.
    pub core_utilization_pct: f64,
    /// Per logical CPU: busy time.
    pub cpu_utilization_pct: Vec<f64>,
    /// Per logical CPU: busy time of its core.
    pub cpu_core_utilization_pct: Vec<f64>,
    /// Charged time of interrupts, of one logical CPU.
    pub interrupts_pct: f64,
    /// Memory in all.
    pub memory_mb: f64,
    /// Per NUMA node: total memory, and what neither its VMs have touched nor the hypervisor has for itself.
    pub node_memory_mb: Vec<f64>,
    /// See `node_memory_mb`.
    pub node_free_mb: Vec<f64>,
    /// Its VMs.
    pub vms: Vec<VmSample>,
    /// Services of storage pools on it.
    pub services: Vec<ServiceSample>,
    /// LUNs used by its VMs, and devices of pools in it.
    pub devices: Vec<DeviceSample>,
    /// Ports to arrays.
    pub adapters: Vec<DeviceSample>,
}

/// Worlds, one entry for each, in per cent of the interval. Run, ready, co-stop and wait add up to 100.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the terms of `Account`")]
pub struct WorldSamples {
    pub run_pct: Vec<f64>,
    pub ready_pct: Vec<f64>,
    pub costop_pct: Vec<f64>,
    pub wait_pct: Vec<f64>,
    pub limited_pct: Vec<f64>,
    pub overlap_pct: Vec<f64>,
    pub used_pct: Vec<f64>,
}

/// A VM in a [`HostSample`].
#[derive(Clone, Debug, Serialize)]
pub struct VmSample {
    /// Its name.
    pub name: String,
    /// How many of the first `worlds` are vCPUs; the others work for it in the hypervisor.
    pub vcpus: usize,
    /// Its worlds.
    pub worlds: WorldSamples,
    /// Charged time of interrupts for it, of one logical CPU.
    pub system_pct: f64,
    /// Configured memory, and how much of it was touched.
    pub memory_mb: f64,
    /// See `memory_mb`.
    pub memory_touched_mb: f64,
    /// Memory on the home nodes of its NUMA clients, the mean of the interval.
    pub numa_local_pct: f64,
    /// I/Os per second, including those of VMs without disks.
    pub iops: f64,
    /// Its virtual disks, in the order of their numbers.
    pub disks: Vec<DiskSample>,
}

/// A virtual disk in a [`VmSample`]; reads, and writes.
#[derive(Clone, Debug, Serialize)]
pub struct DiskSample {
    /// Its controller.
    pub controller: usize,
    /// I/Os per second that came back.
    pub iops: [f64; 2],
    /// Payload.
    pub mb_per_s: [f64; 2],
    /// Mean time from the guest's driver to the interrupt; null where none came back.
    pub latency_ms: [Option<f64>; 2],
}

/// Threads of a pool's service on a host.
#[derive(Clone, Debug, Serialize)]
pub struct ServiceSample {
    /// Name of the pool.
    pub pool: String,
    /// Its threads.
    pub worlds: WorldSamples,
}

/// A device or adapter in a [`HostSample`].
#[derive(Clone, Debug, Serialize)]
pub struct DeviceSample {
    /// Its name: the same on every host that uses it.
    pub name: String,
    /// Commands that it takes at a time.
    pub queue_depth: u32,
    /// Commands with it, and in line for it, the mean of the interval.
    pub active: f64,
    /// See `active`.
    pub queued: f64,
    /// Commands per second.
    pub commands_per_s: f64,
    /// Of those, reads and writes; null where only the sum is known.
    pub iops: Option<[f64; 2]>,
    /// Payload read, and written.
    pub mb_per_s: [f64; 2],
    /// Mean time with the device; null without commands.
    pub device_ms: Option<f64>,
    /// Mean time in the hypervisor before that, in line for the device included.
    pub kernel_ms: Option<f64>,
    /// Mean time in line for the device.
    pub queue_ms: Option<f64>,
}

/// Memory of a host, of each of its nodes, and what the hypervisor has for itself, in bytes.
#[derive(Clone, Copy)]
struct HostMemory {
    all: u64,
    node: u64,
    own: u64,
}

/// Makes samples of a run: the differences between what was counted at the ends of intervals.
pub struct Sampler {
    before: Totals,
    memory: Vec<HostMemory>,
    /// Part of each VM's memory that was touched.
    touched: Table<VmId, f64>,
    /// Per VM: whether its LUNs have numbers of their own.
    shares_luns: Table<VmId, bool>,
}

/// One interval: its two ends, and the timeline that it is in.
struct Interval<'s> {
    observed: Observed<'s>,
    now: &'s Totals,
    before: &'s Totals,
    timeline: &'s Timeline,
    luns: &'s Table<HostId, BTreeMap<Lun, Vec<VdiskId>>>,
    touched: &'s Table<VmId, f64>,
}

/// A LUN by array and number; shared LUNs have their own numbers.
type Lun = (usize, bool, u32);

/// Everything that is counted, at the end of an interval.
#[derive(Default)]
struct Totals {
    worlds: Table<WorldId, Account>,
    cpus: Vec<Vec<ProcessorTime>>,
    interrupts: Vec<(ProcessorTime, f64)>,
    vms: Table<VmId, VmTotals>,
    vdisks: Table<VdiskId, Passages>,
    /// Integrals of places taken and of the line.
    depths: Table<DepthId, [f64; 2]>,
    disks: Table<DiskId, DiskTotals>,
}

#[derive(Clone, Copy, Default)]
struct VmTotals {
    system_ns: f64,
    ios: f64,
    local: f64,
}

#[derive(Clone, Copy, Default)]
struct DiskTotals {
    busy: f64,
    queue: f64,
    passed: u64,
    bytes: [u64; 2],
}

impl Sampler {
    /// Makes samples of a run of `island`.
    pub fn new(island: &Island) -> Self {
        let memory = |host: &IslandHost| HostMemory {
            all: host.spec.memory().bytes(),
            node: host.spec.memory_per_node.bytes(),
            own: host.spec.hypervisor_memory().bytes(),
        };
        let touched = |vm: &IslandVm| {
            let spec = island.groups[vm.group].spec;
            let touched = spec.memory_touched.unwrap_or(spec.memory);
            touched.bytes() as f64 / spec.memory.bytes().max(1) as f64
        };
        Self {
            touched: island.vms.iter().map(touched).collect(),
            before: Totals::default(),
            memory: island.hosts.iter().map(memory).collect(),
            shares_luns: island
                .vms
                .iter()
                .map(|vm| island.groups[vm.group].spec.shared_luns)
                .collect(),
        }
    }

    /// The first interval begins.
    pub fn start(&mut self, observed: Observed) {
        self.before = Totals::of(observed);
    }

    /// An interval ends, and with it the last one of `timeline`; the next begins.
    pub fn sample(&mut self, observed: Observed, timeline: &Timeline) -> Sample {
        let (now, luns) = (Totals::of(observed), self.luns(observed));
        let interval = Interval {
            observed,
            now: &now,
            before: &self.before,
            timeline,
            luns: &luns,
            touched: &self.touched,
        };
        let hosts = observed.cpu.hosts().ids().zip(&self.memory);
        let sample = Sample {
            time_s: last(&timeline.time_s),
            interval_s: timeline.interval_s,
            hosts: hosts.map(|(host, &memory)| interval.host(host, memory)).collect(),
        };
        self.before = now;
        sample
    }
}

impl Sampler {
    /// The LUNs of each host at present, and the virtual disks on each.
    fn luns(&self, observed: Observed) -> Table<HostId, BTreeMap<Lun, Vec<VdiskId>>> {
        let path = observed.storage.path();
        let hosts = observed.cpu.hosts().iter();
        let mut luns: Table<HostId, BTreeMap<Lun, Vec<VdiskId>>> = hosts.map(|_| BTreeMap::new()).collect();
        for id in self.shares_luns.ids() {
            let Some(vm) = path.vm(id) else { continue };
            for vdisk in vm.vdisks.iter() {
                if let Target::Array { array, lun, .. } = path.vdisk(vdisk).target {
                    let vdisks = luns[vm.host].entry((array, self.shares_luns[id], lun.number));
                    vdisks.or_default().push(vdisk);
                }
            }
        }
        luns
    }
}

impl<'s> Interval<'s> {
    fn interval_ns(&self) -> f64 {
        self.timeline.interval_s * 1e9
    }

    fn host(&self, id: HostId, memory: HostMemory) -> HostSample {
        let (observed, now, index) = (self.observed, self.now, id.index());
        let host = &observed.cpu.hosts()[id];
        let topology = host.occupancy.topology;
        let percent = |ns: f64| 100.0 * ns / self.interval_ns();
        let line = &self.timeline.hosts[index];
        let busy = |cpu: usize| now.cpus[index][cpu].threads_ns - self.before.cpus[index][cpu].threads_ns;
        let halves = |cpu: usize| now.cpus[index][cpu].core_halves_ns - self.before.cpus[index][cpu].core_halves_ns;
        let core = |cpu: usize| (halves(cpu) + topology.sibling(cpu).map_or(0, halves)) as f64 / 2.0;
        let (interrupts, interrupts_before) = (now.interrupts[index], self.before.interrupts[index]);
        let idle_halves = interrupts.0.core_halves_ns - interrupts_before.0.core_halves_ns;
        let all_halves: u64 = (0..topology.cpus()).map(halves).sum::<u64>() + idle_halves;
        let guests = observed.guests.vms();
        let vms: Vec<VmId> = guests.ids().filter(|&vm| guests[vm].host == id).collect();
        let own = memory.own as f64 / topology.nodes as f64;
        let used = |node: usize| -> f64 {
            let of = |&vm: &VmId| self.observed.cpu.groups()[vm].memory.bytes_on(node) as f64 * self.touched[vm];
            let here = vms.iter().map(of);
            own + here.sum::<f64>()
        };
        let free = |node: usize| (memory.node as f64 - used(node)).max(0.0) / MB;
        HostSample {
            name: host.name.clone(),
            cores: topology.cores(),
            usage_pct: last(&line.usage_pct),
            utilization_pct: last(&line.utilization_pct),
            core_utilization_pct: (percent(all_halves as f64 / 2.0) / topology.cores() as f64).min(100.0),
            cpu_utilization_pct: (0..topology.cpus()).map(|cpu| percent(busy(cpu) as f64)).collect(),
            cpu_core_utilization_pct: (0..topology.cpus()).map(|cpu| percent(core(cpu))).collect(),
            interrupts_pct: percent(interrupts.1 - interrupts_before.1),
            memory_mb: memory.all as f64 / MB,
            node_memory_mb: vec![memory.node as f64 / MB; topology.nodes],
            node_free_mb: (0..topology.nodes).map(free).collect(),
            vms: vms.iter().map(|&vm| self.vm(vm)).collect(),
            services: observed
                .storage
                .pools()
                .iter()
                .filter_map(|pool| {
                    let worlds = pool.worlds();
                    let here: Vec<WorldId> = worlds
                        .filter(|&world| observed.cpu.worlds()[world].host == id)
                        .collect();
                    (!here.is_empty()).then(|| ServiceSample {
                        pool: pool.name.clone(),
                        worlds: self.worlds(here.into_iter()),
                    })
                })
                .collect(),
            devices: self.luns(id).chain(self.pool_devices(id)).collect(),
            adapters: self.adapters(id).collect(),
        }
    }

    fn worlds(&self, worlds: impl Iterator<Item = WorldId>) -> WorldSamples {
        let percent = |ns: u64| 100.0 * ns as f64 / self.interval_ns();
        let mut samples = WorldSamples::default();
        for world in worlds {
            let account = difference(&self.now.worlds[world], &self.before.worlds[world]);
            samples.run_pct.push(percent(account.run_ns));
            samples.ready_pct.push(percent(account.ready_ns));
            samples.costop_pct.push(percent(account.costop_ns));
            samples.wait_pct.push(percent(account.wait_ns));
            samples.limited_pct.push(percent(account.limited_ns));
            samples.overlap_pct.push(percent(account.overlap_ns));
            samples.used_pct.push(100.0 * account.used_ns / self.interval_ns());
        }
        samples
    }

    fn vm(&self, id: VmId) -> VmSample {
        let (group, vm) = (&self.observed.cpu.groups()[id], &self.observed.guests.vms()[id]);
        let (totals, before) = (self.now.vms[id], self.before.vms[id]);
        let per_s = 1e9 / self.interval_ns();
        let io = self.observed.storage.path().vm(id);
        let disk = |number: usize, vdisk: VdiskId| {
            let (count, before) = (&self.now.vdisks[vdisk], &self.before.vdisks[vdisk]);
            let both = |get: fn(&Passages) -> &[u64; 2]| [0, 1].map(|way| get(count)[way] - get(before)[way]);
            let (ios, guest_ns) = (both(|count| &count.ios), both(|count| &count.guest_ns));
            DiskSample {
                controller: number % io.map_or(1, |io| io.controllers.len()),
                iops: ios.map(|ios| ios as f64 * per_s),
                mb_per_s: both(|count| &count.bytes).map(|bytes| bytes as f64 / MB * per_s),
                latency_ms: [0, 1].map(|way| mean_ms(guest_ns[way], ios[way])),
            }
        };
        let vdisks = io.into_iter().flat_map(|io| Span::iter(io.vdisks));
        VmSample {
            name: vm.name.clone(),
            vcpus: vm.vcpus,
            worlds: self.worlds(group.vcpus.iter().chain(group.helpers.iter())),
            system_pct: 100.0 * (totals.system_ns - before.system_ns) / self.interval_ns(),
            memory_mb: group.memory.total_bytes() as f64 / MB,
            memory_touched_mb: group.memory.total_bytes() as f64 * self.touched[id] / MB,
            numa_local_pct: 100.0 * (totals.local - before.local) / self.interval_ns(),
            iops: (totals.ios - before.ios) * per_s,
            disks: vdisks.enumerate().map(|(number, vdisk)| disk(number, vdisk)).collect(),
        }
    }

    fn luns(&self, host: HostId) -> impl Iterator<Item = DeviceSample> {
        let (storage, path) = (self.observed.storage, self.observed.storage.path());
        self.luns[host].iter().map(move |((array, shared, number), vdisks)| {
            let mut sample = self.commands(vdisks);
            // behind the hypervisor's own limit on machines that share it, the depth of the device itself
            let luns = vdisks.iter().filter_map(|&vdisk| match path.vdisk(vdisk).target {
                Target::Array { lun, .. } => Some(lun),
                Target::Pool { .. } => None,
            });
            let of_luns = luns.clone();
            let depths = set_of(of_luns.flat_map(|lun| lun.shared_limit.into_iter().chain([lun.queue])));
            sample.queued = depths.iter().map(|&depth| self.mean_of_depth(depth, 1)).sum();
            let device = luns
                .map(|lun| lun.queue)
                .next()
                .expect("every LUN here has a virtual disk");
            sample.active = self.mean_of_depth(device, 0);
            sample.queue_depth = path.depths()[device].slots;
            let kind = if *shared { "shared-lun" } else { "lun" };
            sample.name = format!("{}-{kind}-{number}", storage.array_name(*array));
            sample
        })
    }

    fn adapters(&self, host: HostId) -> impl Iterator<Item = DeviceSample> {
        let (storage, path) = (self.observed.storage, self.observed.storage.path());
        let adapters = path.adapters(host).into_iter();
        let ports = adapters.flat_map(|adapters| adapters.ports.clone().zip(adapters.depths.iter()));
        ports.enumerate().map(move |(number, (port, depth))| {
            let through = |vdisk: &VdiskId| storage.host_port(*vdisk) == Some(port);
            let vdisks: Vec<VdiskId> = self.luns[host].values().flatten().copied().filter(through).collect();
            let mut sample = self.commands(&vdisks);
            sample.active = self.mean_of_depth(depth, 0);
            sample.queued = self.mean_of_depth(depth, 1);
            sample.queue_depth = path.depths()[depth].slots;
            sample.name = format!("vmhba{number}");
            sample
        })
    }

    fn mean_of_depth(&self, depth: DepthId, which: usize) -> f64 {
        // a host that has got its first VM has depths that it did not have before
        let before = self.before.depths.get(depth.index()).map_or(0.0, |depth| depth[which]);
        (self.now.depths[depth][which] - before) / self.interval_ns()
    }

    /// The commands of some virtual disks.
    fn commands(&self, vdisks: &[VdiskId]) -> DeviceSample {
        let sum = |get: &dyn Fn(&Passages) -> u64| -> u64 {
            let one = |&vdisk: &VdiskId| get(&self.now.vdisks[vdisk]) - get(&self.before.vdisks[vdisk]);
            vdisks.iter().map(one).sum()
        };
        let per_s = 1e9 / self.interval_ns();
        let answered = [0, 1].map(|way| sum(&|count| count.commands[way]));
        let sent = sum(&|count| count.sent);
        DeviceSample {
            name: String::new(),
            queue_depth: 0,
            active: 0.0,
            queued: 0.0,
            commands_per_s: answered.iter().sum::<u64>() as f64 * per_s,
            iops: Some(answered.map(|commands| commands as f64 * per_s)),
            mb_per_s: [0, 1].map(|way| sum(&|count| count.bytes[way]) as f64 / MB * per_s),
            device_ms: mean_ms(sum(&|count| count.device_ns), answered.iter().sum()),
            kernel_ms: mean_ms(sum(&|count| count.kernel_ns), sent),
            queue_ms: mean_ms(sum(&|count| count.queue_ns), sent),
        }
    }

    /// Devices of pools in a host. How long an operation was there follows from how many were (Little's law).
    fn pool_devices(&self, host: HostId) -> impl Iterator<Item = DeviceSample> {
        let storage = self.observed.storage;
        storage.pools().iter().flat_map(move |pool: &Pool| {
            pool.devices_on(host).map(move |(device, disk)| {
                let (totals, before) = (self.now.disks[disk], self.before.disks[disk]);
                let passed = totals.passed - before.passed;
                let (busy, queue) = (totals.busy - before.busy, totals.queue - before.queue);
                let mean = |integral: f64| (passed > 0).then(|| integral / passed as f64 / 1e6);
                let bytes = [0, 1].map(|way| totals.bytes[way] - before.bytes[way]);
                DeviceSample {
                    name: format!("{}-disk-{device}", pool.name),
                    queue_depth: storage.disk_depth(disk),
                    active: busy / self.interval_ns(),
                    queued: queue / self.interval_ns(),
                    commands_per_s: passed as f64 * 1e9 / self.interval_ns(),
                    iops: None,
                    mb_per_s: bytes.map(|bytes| bytes as f64 / MB * 1e9 / self.interval_ns()),
                    device_ms: mean(busy),
                    kernel_ms: mean(queue),
                    queue_ms: mean(queue),
                }
            })
        })
    }
}

/// The newest value of a series in the timeline.
fn last(series: &[f64]) -> f64 {
    *series.last().expect("the timeline has the interval that ends")
}

fn mean_ms(sum_ns: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum_ns as f64 / count as f64 / 1e6)
}

impl Totals {
    fn of(observed: Observed) -> Self {
        let Observed {
            now,
            cpu,
            guests,
            storage,
            ..
        } = observed;
        let vm = |id: VmId| {
            let group = &cpu.groups()[id];
            let io = storage.path().vm(id);
            VmTotals {
                system_ns: group.count.system_ns,
                ios: guests.vms()[id].measured.ios + io.map_or(0.0, |io| io.latencies().count as f64),
                local: group.local.integral(now),
            }
        };
        let hosts = cpu.hosts().iter();
        let depths = storage.path().depths().iter();
        Self {
            worlds: cpu.worlds().iter().map(|world| world.account).collect(),
            cpus: hosts.clone().map(|host| host.cpu_times().collect()).collect(),
            interrupts: hosts
                .map(|host| (host.count.idle_interrupts, host.count.system_ns))
                .collect(),
            vms: guests.vms().ids().map(vm).collect(),
            vdisks: storage.path().passages().to_vec().into(),
            depths: depths
                .map(|depth| [depth.busy.integral(now), depth.queue.length.integral(now)])
                .collect(),
            disks: storage
                .disks()
                .iter()
                .map(|disk| DiskTotals {
                    busy: disk.busy.integral(now),
                    queue: disk.queued.integral(now),
                    passed: disk.waits.passed,
                    bytes: disk.bytes,
                })
                .collect(),
        }
    }
}
