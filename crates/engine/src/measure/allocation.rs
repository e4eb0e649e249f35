//! What is allocated on hosts. It follows from the scenario alone, and does not change during a run: VMs of a host that
//! is down are still its own.

use crate::ids::{HostId, Table};
use crate::island::{Island, IslandHost};
use bitcode::{Decode, Encode};

/// What is allocated on a host, and what it has.
#[derive(Clone, Debug, Encode, Decode)]
pub struct Allocation {
    /// Name of its cluster.
    pub cluster: String,
    /// Physical cores.
    pub cores: u32,
    /// Cores times nominal clock, in Hz.
    pub capacity_hz: u64,
    /// Memory, in bytes. Sums over a large cluster pass what 64 bits hold.
    pub memory: u128,
    /// VMs on it.
    pub vms: usize,
    /// Their vCPUs.
    pub vcpus: u32,
    /// Memory that they are configured with and the hypervisor's own, in bytes.
    pub configured: u128,
    /// Memory that they have touched and the hypervisor's own, in bytes.
    pub touched: u128,
}

impl Allocation {
    /// On each host of an island.
    pub fn of(island: &Island) -> Table<HostId, Self> {
        let empty = |IslandHost { spec: host, .. }: &IslandHost| Self {
            cluster: host.cluster.clone(),
            cores: host.cores(),
            capacity_hz: host.capacity().whole_hz(),
            memory: host.memory().bytes().into(),
            vms: 0,
            vcpus: 0,
            configured: host.hypervisor_memory().bytes().into(),
            touched: host.hypervisor_memory().bytes().into(),
        };
        let mut allocations: Table<HostId, Self> = island.hosts.iter().map(empty).collect();
        for vm in &island.vms {
            let (host, vm) = (&mut allocations[vm.host], island.groups[vm.group].spec);
            host.vms += 1;
            host.vcpus += vm.vcpus;
            host.configured += u128::from(vm.memory.bytes());
            host.touched += u128::from(vm.memory_touched.unwrap_or(vm.memory).bytes());
        }
        allocations
    }

    /// Configured memory, in per cent of what there is.
    pub fn memory_pct(&self) -> f64 {
        percent(self.configured, self.memory)
    }

    /// Touched memory, in per cent of what there is.
    pub fn memory_usage_pct(&self) -> f64 {
        percent(self.touched, self.memory)
    }
}

/// A part of what there is, in per cent.
pub fn percent(part: u128, whole: u128) -> f64 {
    100.0 * part as f64 / whole as f64
}
