//! Memory bandwidth, divided among the vCPUs that run; and pages that follow their VM to its home nodes.
//!
//! **Memory bandwidth is divided again when the running set changes.** Bandwidth couples all threads of a host. When a
//! memory-bound vCPU of the host starts or stops, the engine calculates the speeds of all such vCPUs together
//! (`max_min_flows`). Only the events of vCPUs with a new speed move in the calendar. Hosts without memory-bound VMs
//! skip this calculation.

use super::processors::{Host, Processors, VcpuGroup};
use crate::clock::Clock;
use crate::ids::{HostId, Id, VmId};
use crate::vcpu::Vcpu;
use hypertwin_kernel::Nanos;
use hypertwin_models::memory::Demand;
use hypertwin_models::topology::WorldId;

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

impl Processors {
    /// Divides memory bandwidth anew on a host, or on all, if something has changed there.
    pub fn share_memory(&mut self, host: Option<HostId>, clock: &mut Clock) {
        match host {
            Some(host) => self.share_memory_of(host, clock),
            None => self.hosts.ids().for_each(|host| self.share_memory_of(host, clock)),
        }
    }

    /// Divides the memory bandwidth of a host anew, if something has changed.
    fn share_memory_of(&mut self, host_id: HostId, clock: &mut Clock) {
        if !std::mem::take(&mut self.hosts[host_id].memory.changed) {
            return;
        }
        let host = &self.hosts[host_id];
        let mut demands: Vec<Demand> = Vec::new();
        let mut keys: Vec<(VmId, usize, usize)> = Vec::new();
        let mut drawing: Vec<(usize, usize, f64)> = Vec::new();
        for cpu in 0..host.cpus.len() {
            let Some(world) = host.occupancy.running(cpu).map(|_| &self.worlds[host.cpus[cpu].world]) else {
                continue;
            };
            let Some(Vcpu { vm, index }) = world.vcpu() else {
                continue;
            };
            let memory = &self.groups[vm].memory;
            if !memory.draws() {
                continue;
            }
            let shared = host.occupancy.sibling_busy(cpu);
            let node = host.occupancy.topology.node_of(cpu);
            let speed = memory.speed(index, cpu, &host.occupancy.topology);
            let key = (vm, memory.domain_of[index], node);
            let demand = keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                keys.push(key);
                demands.push(Demand {
                    flow: vm.index(),
                    node,
                    bytes_per_s: 0.0,
                    memory: memory.seen_by(index).to_vec(),
                });
                keys.len() - 1
            });
            demands[demand].bytes_per_s += 1e9 * memory.bytes(world.speed[usize::from(shared)] * speed, shared);
            drawing.push((cpu, demand, speed));
        }
        let met = host.memory.system.met(&demands);
        for (cpu, demand, speed) in drawing {
            let speed = speed * met[demand];
            if self.hosts[host_id].cpus[cpu].memory_speed != speed {
                self.settle(host_id, cpu, clock.now);
                self.hosts[host_id].cpus[cpu].memory_speed = speed;
                self.arm(host_id, cpu, clock);
            }
        }
    }

    /// Pages follow the clients of a host's VMs to their home nodes, for `time`.
    pub(super) fn migrate_pages(&mut self, host_id: HostId, time: Nanos, now: Nanos) {
        let host = &mut self.hosts[host_id];
        let scheduler = &host.scheduler;
        let mut budget = (host.memory.migration_per_s * time as f64 / 1e9) as u64;
        for group in self.groups.iter_mut().filter(|group| group.is_on(host_id)) {
            let first_local = self.worlds[group.vcpus.at(0)].local;
            let VcpuGroup { memory, local, .. } = group;
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
            if scheduler.home(first_local).is_some() {
                local.set(now, memory.local(home));
            }
        }
    }
}
