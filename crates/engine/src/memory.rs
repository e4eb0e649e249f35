//! Memory in the twin: where each VM's memory is, how fast its vCPUs get at it, and how it follows them.

use crate::simulation::Simulation;
use crate::state::{Host, Kind, Vm};
use hypertwin_cluster::{HostGroup, Workload};
use hypertwin_kernel::Nanos;
use hypertwin_models::memory::{Demand, MemorySystem};
use hypertwin_models::topology::WorldId;
use hypertwin_models::vnuma;

/// Memory of a host.
pub struct HostMemory {
    pub system: MemorySystem,
    /// Free bytes of each node.
    pub free: Vec<u64>,
    /// Bytes that pages can move per second.
    migration_per_s: f64,
    /// Bytes that each node's memory has delivered.
    delivered: Vec<f64>,
    /// Whether any VM draws so much that bandwidth matters.
    drawn: bool,
    /// What runs where has changed since bandwidth was divided.
    changed: bool,
}

impl HostMemory {
    pub fn new(spec: &HostGroup) -> Self {
        let nodes = spec.sockets as usize;
        Self {
            system: MemorySystem {
                nodes,
                node_bandwidth: spec.memory_system.node_bandwidth.bytes_per_s(),
                link_bandwidth: spec.memory_system.interconnect_bandwidth.bytes_per_s(),
                remote_latency_factor: spec.memory_system.remote_latency_factor,
            },
            free: vec![vnuma::usable_bytes(spec); nodes],
            migration_per_s: spec.memory_system.page_migration.bytes_per_s(),
            delivered: vec![0.0; nodes],
            drawn: false,
            changed: false,
        }
    }

    /// `bytes` were drawn by a vCPU on `node` whose memory is spread like `memory`; `traffic` sums them as local and remote.
    pub fn account(&mut self, bytes: f64, memory: &[f64], node: usize, traffic: &mut [f64; 2]) {
        for (delivered, part) in self.delivered.iter_mut().zip(memory) {
            *delivered += bytes * part;
        }
        traffic[0] += bytes * memory[node];
        traffic[1] += bytes * (1.0 - memory[node]);
    }

    /// Bytes that each node's memory has delivered since the last reset.
    pub fn delivered(&self) -> &[f64] {
        &self.delivered
    }

    pub fn reset(&mut self) {
        self.delivered.fill(0.0);
    }
}

/// Memory of one NUMA client.
struct ClientMemory {
    /// Its first vCPU, and how many it has.
    first: usize,
    vcpus: usize,
    /// Its home node at power-on.
    home: usize,
    /// Bytes on each node.
    bytes: Vec<u64>,
}

/// Memory of one VM.
pub struct VmMemory {
    clients: Vec<ClientMemory>,
    /// Virtual nodes, as ranges of vCPUs, and the one whose memory each vCPU uses.
    vpds: Vec<std::ops::Range<usize>>,
    domain_of: Vec<usize>,
    /// Pages stay where they are, spread over all homes.
    interleaved: bool,
    /// Per virtual node: the fraction of its memory on each physical node, and the speed that this leaves a vCPU on each.
    spread: Vec<Vec<f64>>,
    speed: Vec<Vec<f64>>,
    /// Bytes per nanosecond of work, alone on a core and with a busy sibling.
    traffic: [f64; 2],
    /// Part of a vCPU's time that waits for memory while all of it is local.
    stalled: f64,
}

impl VmMemory {
    /// Takes the memory of a VM with `bytes` from `host`; `homes` are those of the topology's clients.
    pub fn new(
        topology: &vnuma::Topology,
        homes: &[usize],
        bytes: u64,
        workload: &Workload,
        clock_ratio: f64,
        host: &mut HostMemory,
    ) -> Self {
        let mut first = 0;
        let placed = topology.place_memory(homes, bytes, &mut host.free);
        let clients = topology
            .ppds
            .iter()
            .zip(homes)
            .zip(placed)
            .map(|((&vcpus, &home), bytes)| {
                let vcpus = vcpus as usize;
                first += vcpus;
                ClientMemory {
                    first: first - vcpus,
                    vcpus,
                    home,
                    bytes,
                }
            });
        let clients = clients.collect();
        let mut end = 0;
        let vpds = topology.vpds.iter().map(|&vcpus| {
            let start = end;
            end += vcpus as usize;
            start..end
        });
        let per_ns = workload.memory_traffic.bytes_per_s() / 1e9;
        let intensity = workload.memory_intensity;
        let mut memory = Self {
            clients,
            vpds: vpds.collect(),
            domain_of: topology.memory_domains(),
            interleaved: topology.interleaved(),
            spread: Vec::new(),
            speed: Vec::new(),
            traffic: [per_ns, per_ns * workload.shared_core_traffic],
            stalled: intensity / ((1.0 - intensity) / clock_ratio + intensity),
        };
        memory.refresh(&host.system);
        host.drawn |= memory.draws();
        memory
    }

    /// Whether bandwidth matters to it.
    pub fn draws(&self) -> bool {
        self.traffic[0] > 0.0
    }

    /// Bytes for so much work.
    pub fn bytes(&self, work_ns: f64, shared: bool) -> f64 {
        work_ns * self.traffic[usize::from(shared)]
    }

    /// How the memory that `vcpu` uses is spread over the host's nodes.
    pub fn seen_by(&self, vcpu: usize) -> &[f64] {
        &self.spread[self.domain_of[vcpu]]
    }

    /// Speed of `vcpu` on a CPU of `node` as far as latency goes, over that with all memory local.
    pub fn speed(&self, vcpu: usize, node: usize) -> f64 {
        if self.stalled == 0.0 {
            return 1.0;
        }
        self.speed[self.domain_of[vcpu]][node]
    }

    pub fn virtual_nodes(&self) -> u32 {
        self.vpds.len() as u32
    }

    pub fn total_bytes(&self) -> u64 {
        self.clients.iter().flat_map(|client| &client.bytes).sum()
    }

    /// Fraction of its memory that is on the present home nodes.
    pub fn local(&self, home: impl Fn(usize, usize) -> usize) -> f64 {
        let local: u64 = self
            .clients
            .iter()
            .map(|client| client.bytes[home(client.first, client.home)])
            .sum();
        local as f64 / (self.total_bytes() as f64).max(1.0)
    }

    /// Works out spread and speed anew after memory has moved.
    fn refresh(&mut self, system: &MemorySystem) {
        let spread = |vpd: &std::ops::Range<usize>| {
            let mut sum = vec![0.0; system.nodes];
            for client in &self.clients {
                let common = vpd
                    .end
                    .min(client.first + client.vcpus)
                    .saturating_sub(vpd.start.max(client.first));
                let all: u64 = client.bytes.iter().sum();
                for (sum, &bytes) in sum.iter_mut().zip(&client.bytes) {
                    *sum += common as f64 / vpd.len() as f64 * bytes as f64 / all.max(1) as f64;
                }
            }
            sum
        };
        self.spread = self.vpds.iter().map(spread).collect();
        let speed = |spread: &Vec<f64>| {
            let factor = |node| system.latency_factor(node, spread);
            (0..system.nodes)
                .map(|node| 1.0 / (1.0 - self.stalled + self.stalled * factor(node)))
                .collect()
        };
        self.speed = self.spread.iter().map(speed).collect();
    }
}

impl Host {
    /// Puts a world on an idle logical CPU.
    pub fn occupy(&mut self, cpu: usize, world: WorldId) {
        self.occupancy.occupy(cpu, world);
        self.memory.changed |= self.memory.drawn;
    }

    /// Makes a logical CPU idle; see `Occupancy::vacate`.
    pub fn vacate(&mut self, cpu: usize) -> Option<usize> {
        self.memory.changed |= self.memory.drawn;
        self.occupancy.vacate(cpu)
    }
}

impl Simulation {
    /// Divides the memory bandwidth of a host anew, if something has changed.
    pub fn share_memory(&mut self, host_index: usize) {
        if !std::mem::take(&mut self.hosts[host_index].memory.changed) {
            return;
        }
        let host = &self.hosts[host_index];
        let mut demands: Vec<Demand> = Vec::new();
        let mut keys: Vec<(usize, usize, usize)> = Vec::new();
        let mut drawing: Vec<(usize, usize, f64)> = Vec::new();
        for cpu in 0..host.cpus.len() {
            let Some(world) = host.occupancy.running(cpu).map(|_| &self.worlds[host.cpus[cpu].world]) else {
                continue;
            };
            let Kind::Vcpu { vm: flow, index } = world.kind else {
                continue;
            };
            let vm = &self.vms[flow];
            if !vm.memory.draws() {
                continue;
            }
            let shared = host.occupancy.sibling_busy(cpu);
            let node = host.occupancy.topology.node_of(cpu);
            let speed = vm.memory.speed(index, node);
            let key = (flow, vm.memory.domain_of[index], node);
            let demand = keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                keys.push(key);
                demands.push(Demand {
                    flow,
                    node,
                    bytes_per_s: 0.0,
                    memory: vm.memory.seen_by(index).to_vec(),
                });
                keys.len() - 1
            });
            demands[demand].bytes_per_s += 1e9 * vm.memory.bytes(vm.speed[usize::from(shared)] * speed, shared);
            drawing.push((cpu, demand, speed));
        }
        let met = host.memory.system.met(&demands);
        for (cpu, demand, speed) in drawing {
            let speed = speed * met[demand];
            if self.hosts[host_index].cpus[cpu].memory_speed != speed {
                self.settle(host_index, cpu);
                self.hosts[host_index].cpus[cpu].memory_speed = speed;
                self.arm(host_index, cpu);
            }
        }
    }

    /// Pages follow the clients of a host's VMs to their home nodes, for `time`.
    pub fn migrate_pages(&mut self, host_index: usize, time: Nanos) {
        let host = &mut self.hosts[host_index];
        let scheduler = &host.scheduler;
        let mut budget = (host.memory.migration_per_s * time as f64 / 1e9) as u64;
        for vm in self.vms.iter_mut().filter(|vm| vm.host == host_index) {
            let first_local = self.worlds[vm.first_world].local;
            let Vm { memory, measured, .. } = vm;
            let mut moved = false;
            for client in &mut memory.clients {
                let home = scheduler.home(first_local + client.first as WorldId);
                let Some(home) = home.filter(|_| !memory.interleaved) else {
                    continue;
                };
                for node in (0..client.bytes.len()).filter(|&node| node != home) {
                    let pages = client.bytes[node].min(budget).min(host.memory.free[home]);
                    client.bytes[node] -= pages;
                    client.bytes[home] += pages;
                    host.memory.free[node] += pages;
                    host.memory.free[home] -= pages;
                    budget -= pages;
                    moved |= pages > 0;
                }
            }
            if moved {
                memory.refresh(&host.memory.system);
                host.memory.changed |= host.memory.drawn;
            }
            let home = |vcpu: usize, at_power_on| scheduler.home(first_local + vcpu as WorldId).unwrap_or(at_power_on);
            measured.local.set(self.clock.now, memory.local(home));
        }
    }
}
