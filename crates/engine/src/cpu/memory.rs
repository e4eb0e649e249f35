//! Where the memory of VMs is, and how fast their vCPUs get at it.

use hypertwin_cluster::{HostGroup, Workload};
use hypertwin_models::memory::MemorySystem;
use hypertwin_models::topology::Topology;
use hypertwin_models::vnuma;

/// Memory of a host.
pub struct HostMemory {
    pub system: MemorySystem,
    /// Free bytes of each node.
    pub free: Vec<u64>,
    /// Bytes that pages can move per second.
    pub(super) migration_per_s: f64,
    /// Bytes that each node's memory has delivered.
    pub(super) delivered: Vec<f64>,
    /// Whether any VM draws so much that bandwidth matters.
    pub(super) drawn: bool,
    /// What runs where has changed since bandwidth was divided.
    pub(super) changed: bool,
}

impl HostMemory {
    pub fn new(spec: &HostGroup) -> Self {
        let nodes = spec.nodes() as usize;
        Self {
            system: MemorySystem {
                nodes,
                nodes_per_socket: spec.nodes_per_socket as usize,
                node_bandwidth: spec.memory_system.node_bandwidth.bytes_per_s(),
                link_bandwidth: spec.memory_system.interconnect_bandwidth.bytes_per_s(),
                remote_latency_factor: spec.memory_system.remote_latency_factor,
                socket_latency_factor: spec.memory_system.socket_latency_factor,
            },
            free: vec![vnuma::usable_bytes(spec); nodes],
            migration_per_s: spec.memory_system.page_migration.bytes_per_s(),
            delivered: vec![0.0; nodes],
            drawn: false,
            changed: false,
        }
    }

    /// `bytes` were drawn by a vCPU on `node` whose memory is spread like `memory`; `traffic` sums them as local and
    /// remote.
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
pub(super) struct ClientMemory {
    /// Its first vCPU, and how many it has.
    pub(super) first: usize,
    pub(super) vcpus: usize,
    /// Its home node at power-on.
    pub(super) home: usize,
    /// Bytes on each node.
    pub(super) bytes: Vec<u64>,
}

/// Memory of one VM.
pub struct VmMemory {
    pub(super) clients: Vec<ClientMemory>,
    /// Virtual nodes, as ranges of vCPUs, and the one whose memory each vCPU uses.
    pub(super) vpds: Vec<std::ops::Range<usize>>,
    pub(super) domain_of: Vec<usize>,
    /// Pages stay where they are, spread over all homes.
    pub(super) interleaved: bool,
    /// Per virtual node: the fraction of its memory on each physical node, and the speed that this leaves a vCPU on
    /// each.
    pub(super) spread: Vec<Vec<f64>>,
    pub(super) speed: Vec<Vec<f64>>,
    /// Bytes per nanosecond of work, alone on a core and with a busy sibling.
    pub(super) traffic: [f64; 2],
    /// Part of a vCPU's time that waits for memory while all of it is local.
    pub(super) stalled: f64,
}

impl VmMemory {
    /// Memory of a VM that is on no host.
    pub(super) fn none() -> Self {
        Self {
            clients: Vec::new(),
            vpds: Vec::new(),
            domain_of: Vec::new(),
            interleaved: false,
            spread: Vec::new(),
            speed: Vec::new(),
            traffic: [0.0; 2],
            stalled: 0.0,
        }
    }

    /// Gives it all back to `host`.
    pub(super) fn give_back(&mut self, host: &mut HostMemory) {
        for client in self.clients.drain(..) {
            for (free, bytes) in host.free.iter_mut().zip(client.bytes) {
                *free += bytes;
            }
        }
    }

    /// Takes the memory of a VM with `bytes` from `host`; `homes` are those of the topology's clients, `cpu_per_work`
    /// is the plan's.
    pub fn new(
        topology: &vnuma::Topology,
        homes: &[usize],
        bytes: u64,
        workload: &Workload,
        clock_ratio: f64,
        cpu_per_work: f64,
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
        let per_ns = workload.memory_traffic.bytes_per_s() / 1e9 * cpu_per_work;
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

    /// Speed of `vcpu` on a logical CPU as far as latency goes, over that with all memory local.
    #[inline]
    pub fn speed(&self, vcpu: usize, cpu: usize, topology: &Topology) -> f64 {
        if self.stalled == 0.0 {
            return 1.0;
        }
        self.speed[self.domain_of[vcpu]][topology.node_of(cpu)]
    }

    pub fn virtual_nodes(&self) -> u32 {
        self.vpds.len() as u32
    }

    pub fn total_bytes(&self) -> u64 {
        self.clients.iter().flat_map(|client| &client.bytes).sum()
    }

    pub fn bytes_on(&self, node: usize) -> u64 {
        self.clients.iter().map(|client| client.bytes[node]).sum()
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

    /// Fraction of its memory that is on the nodes where its vCPUs are.
    pub fn local_to(&self, node: impl Fn(usize) -> usize) -> f64 {
        let vcpus = self.domain_of.len();
        let local: f64 = (0..vcpus).map(|vcpu| self.seen_by(vcpu)[node(vcpu)]).sum();
        local / vcpus.max(1) as f64
    }

    /// Works out spread and speed anew after memory has moved.
    pub(super) fn refresh(&mut self, system: &MemorySystem) {
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
