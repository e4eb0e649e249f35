//! From a scenario to its arrays.

use super::{Array, Reach};
use crate::storage::disk::{DiskOwner, DiskSet};
use crate::storage::port::Port;
use crate::storage::queue::Queue;
use crate::storage::shared::Shared;
use crate::storage::site::Site;
use hypertwin_cluster::{Drive, StorageArray};
use hypertwin_kernel::Stream;
use hypertwin_models::storage::array::hit_ratio;
use hypertwin_models::storage::disk::Disk;

/// The arrays of a scenario, with their disks and ports.
pub fn build_arrays(site: &Site, shared: &mut Shared) -> Vec<Array> {
    let specs = site.island.arrays.iter().enumerate();
    specs
        .map(|(index, &(name, spec))| array(index, name, spec, site, shared))
        .collect()
}

fn array(index: usize, name: &str, spec: &StorageArray, site: &Site, shared: &mut Shared) -> Array {
    let drive = Drive::of(spec.disks.kind, spec.disks.device.as_deref(), site.island.devices);
    let disk = Disk::of(drive, spec.disks.used_pct);
    let set = DiskSet {
        owner: DiskOwner::Array(index),
        disk,
        depth: disk.depth,
        adapts_resync: false,
        stream: Stream::named(site.seed, &format!("array/{name}")),
    };
    let disks = shared.disks.add(set, spec.disks.count as usize);
    let first_port = shared.fabric.array_ports.len();
    let local = spec.is_local().then(|| {
        let commands = u64::from(disk.host_depth()) * u64::from(spec.disks.count);
        (shared.fabric.add_bus(), commands.min(u32::MAX.into()) as u32)
    });
    if local.is_none() {
        let port = || Port::new(spec.port_bandwidth.bytes_per_s(), spec.port_command.nanos());
        let ports = (0..spec.front_end_ports).map(|_| port());
        shared.fabric.array_ports.extend(ports);
    }
    let cache = if local.is_some() { 0 } else { spec.cache.size.bytes() };
    let working_sets = site.working_sets(|end| end.is_array(name));
    Array {
        name: name.to_owned(),
        ports: first_port..shared.fabric.array_ports.len(),
        local,
        reach: Reach {
            protocol: spec.protocol,
            asked: spec.paths.plugin,
            kind: drive.kind(),
        },
        paths: (spec.paths.per_lun > 1 || site.island.with_failing_ports().next().is_some())
            .then(|| spec.paths.clone()),
        hit_ratio: hit_ratio(cache, working_sets),
        latency_ns: spec.latency().nanos(),
        raid: spec.raid,
        parity_bytes: 0.0,
        disks,
        write_back: spec.cache.write_back && cache > 0,
        most_pending_bytes: spec.cache.write_pending.bytes(),
        pending: 0,
        pending_bytes: 0,
        queue: Queue::new(),
        reads: 0,
        hits: 0,
    }
}
