//! Disks that hosts swap to: reads and writes at random places, first come, first served.

use super::disk::{DiskOwner, DiskSet};
use super::request::{Issuer, Role, Step};
use super::shared::{Reply, Shared};
use super::stations::Sums;
use crate::clock::Clock;
use crate::ids::{DiskId, HostId, Id, IoId, Span, Table, VdiskId};
use hypertwin_cluster::{Device, Drive, SwapDevice};
use hypertwin_kernel::{Nanos, Stream};
use hypertwin_models::storage::disk::Disk;
use std::collections::BTreeMap;

/// Where hosts swap to; `None` for those that never do.
pub struct Swaps(Table<HostId, Option<Swap>>);

struct Swap {
    disks: Span<DiskId>,
    /// Time on the way to the disks and back.
    latency_ns: Nanos,
}

impl Swaps {
    /// No host swaps.
    pub fn none(hosts: usize) -> Self {
        Self((0..hosts).map(|_| None).collect())
    }

    /// Gives a host somewhere to swap to.
    pub fn add(
        &mut self,
        host: HostId,
        device: &SwapDevice,
        own: &BTreeMap<String, Device>,
        stream: Stream,
        shared: &mut Shared,
    ) {
        let disk = Disk::of(Drive::of(device.kind, device.device.as_deref(), own), None);
        let set = DiskSet {
            owner: DiskOwner::Swap(host),
            disk,
            depth: disk.depth,
            adapts_resync: false,
            stream,
        };
        self.0[host] = Some(Swap {
            disks: shared.disks.add(set, device.count as usize),
            latency_ns: device.latency.nanos(),
        });
    }

    /// Begins to read or write pages; see [`Self::back`].
    pub fn begin(&self, host: HostId, issuer: Issuer, bytes: u32, shared: &mut Shared, clock: &mut Clock) {
        let disks = self.0[host].as_ref().expect("a host that swaps has where to").disks;
        let (requests, all) = (&mut shared.requests, &mut shared.disks);
        let disk = disks.at(all.stream(disks.at(0)).below(disks.len() as u64) as usize);
        let id = requests.allocate(issuer, VdiskId::new(0));
        let io = &mut requests[id];
        io.bytes = bytes;
        io.write = matches!(issuer, Issuer::Host(_));
        io.role = Role::Page;
        all.queue(disk, id, false, requests, clock);
    }

    /// A disk of a host is done with an operation.
    pub fn disk_done(&self, id: IoId, host: HostId, shared: &mut Shared, clock: &mut Clock) {
        shared.disks.finish(id, false, &mut shared.requests, clock);
        match self.0[host].as_ref().map_or(0, |swap| swap.latency_ns) {
            0 => Self::back(id, shared),
            latency_ns => shared.requests.at(id, Step::Paged, clock.now + latency_ns, clock),
        }
    }

    /// An operation is back at its host.
    pub fn back(id: IoId, shared: &mut Shared) {
        let reply = match shared.requests[id].issuer {
            Issuer::Fault(fault) => Reply::PageRead(fault),
            Issuer::Host(host) => Reply::PagesWritten(host),
            Issuer::Process(_) | Issuer::Worker(_) | Issuer::Pool | Issuer::Nobody => {
                unreachable!("others do not swap")
            }
        };
        shared.requests.release(id);
        shared.replies.push_back(reply);
    }

    /// What was measured in `duration_ns` of the disks that a host swaps to.
    pub fn station(&self, host: HostId, shared: &Shared, now: Nanos, duration_ns: f64) -> Option<Sums> {
        let swap = self.0[host].as_ref()?;
        Some(Sums::of_disks(shared.disks.span(swap.disks), now, duration_ns))
    }
}
