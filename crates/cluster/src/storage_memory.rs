//! Memory that the software of a pool occupies on each node, and that VMs there cannot use.
//!
//! - Ceph: 4 GiB for each OSD (`osd_memory_target`, the same since Luminous 12.2.9 and Mimic 13.2.3); Ceph's
//!   configuration reference, BlueStore, read 2026; Proxmox VE's guide says 3 to 5 GiB
//! - vSAN OSA: see [`original_vsan`]; VMware KB 2113954 for vSAN 6.7 and 7.0, as others cite it in 2020
//! - others: none, because none is published: vSAN ESA, and software that the scenario only describes
//!
//! Of Ceph's other daemons, a monitor targets 2 GiB (`mon_memory_target`). The scenario does not name monitor hosts, so
//! this memory is not counted. Storage appliances are VMs with their own memory.
//!
//! **Assumptions.** OSDs use their full target. `osd_memory_target_autotune`, which cephadm turns on, targets 20% or
//! 70% of the host's memory instead; set `hosts.NAME.hypervisor_memory` then.

use std::collections::BTreeMap;

use crate::drives::Drive;
use crate::quantity::Bytes;
use crate::spec::device::Device;
use crate::spec::host::HostGroup;
use crate::spec::pool::StoragePool;
use crate::spec::pool_kind::NodeMemory;
use crate::spec::scenario::Scenario;
use crate::spec::vsan::VsanArchitecture;

const MIB: u64 = 1 << 20;
/// Memory target of a Ceph OSD.
const OSD: u64 = 4 << 30;

impl Scenario {
    /// Sets the storage memory of each group of hosts, unless the scenario sets `hypervisor_memory`. Without a
    /// hypervisor, the system has all memory, including storage memory.
    pub(crate) fn count_storage_memory(&mut self) {
        let counts =
            |host: &HostGroup| host.hypervisor_memory.is_none() && host.hypervisor.family().facts().virtualises;
        for (name, host) in self.hosts.iter_mut().filter(|(_, host)| counts(host)) {
            let pools = self.storage.values().filter(|pool| pool.nodes.contains(name));
            let taken = pools.map(|pool| on_node(pool, host, &self.devices));
            let most = host.memory();
            host.storage_memory = Bytes::new(taken.fold(0, u64::saturating_add)).min(most);
        }
    }
}

/// Memory that the software of a pool occupies on one node.
fn on_node(pool: &StoragePool, host: &HostGroup, own: &BTreeMap<String, Device>) -> u64 {
    match pool.kind.facts().memory {
        NodeMemory::Osds => OSD * u64::from(pool.devices_per_node() * pool.ceph().osds_per_device),
        NodeMemory::DiskGroups if pool.vsan().architecture == VsanArchitecture::Osa => original_vsan(pool, host, own),
        NodeMemory::DiskGroups | NodeMemory::Unknown => 0,
    }
}

/// 7,100 MB for the host; for each disk group 1,360 MB, 0.5% of the host's memory and 20 MB for each GB of its cache
/// device, up to 600 GB; 160 MB for each capacity device. With hard disks 1,610 MB, 10 MB and 180 MB, and all of the
/// cache counts.
fn original_vsan(pool: &StoragePool, host: &HostGroup, own: &BTreeMap<String, Device>) -> u64 {
    const MOST_CACHE_GB: f64 = 600.0;
    let Some(flash) = &pool.flash else { return 0 };
    let is_flash = Drive::of(pool.devices.kind, pool.devices.device.as_deref(), own)
        .kind()
        .is_flash();
    let (group_mb, cache_mb_per_gb, device_mb) = if is_flash {
        (1_360.0, 20.0, 160.0)
    } else {
        (1_610.0, 10.0, 180.0)
    };
    let cache_gb = flash.capacity.map_or(0, Bytes::bytes) as f64 / 1e9;
    let counted_gb = if is_flash {
        cache_gb.min(MOST_CACHE_GB)
    } else {
        cache_gb
    };
    let memory_mb = host.memory().bytes() as f64 / MIB as f64;
    let of_groups = f64::from(flash.per_node) * (group_mb + 0.005 * memory_mb + counted_gb * cache_mb_per_gb);
    let all_mb = 7_100.0 + of_groups + f64::from(pool.devices_per_node()) * device_mb;
    all_mb.round() as u64 * MIB
}
