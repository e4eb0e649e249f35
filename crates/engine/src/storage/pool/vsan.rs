//! vSAN: writes are acknowledged from cache devices or from a mirrored log, and reach their places later.
//!
//! In the original architecture ([`DiskGroups`]) a copy or fragment is acknowledged by the cache device of its disk
//! group. In the express one a write is acknowledged by as many copies of the log as failures are survived, and one
//! more; what they have goes to the layout's places as full stripes, which cost what the layout amplifies.

use super::back_end::{BackEnd, BackEndReport, Vsan, share_pct};
use super::buffer::DiskGroups;
use super::networks::Traffic;
use super::{Outcome, Pool, Task};
use crate::clock::Clock;
use crate::ids::{HostId, Id, IoId, VdiskId};
use crate::storage::request::{Issuer, NONE, Role};
use crate::storage::shared::Shared;
use hypertwin_cluster::Flushes;
use hypertwin_models::storage::disk::Pass;
use hypertwin_models::storage::product::vsan::STRIPE_UNIT;

impl Pool {
    /// A virtual disk is there, of which `bytes` are used. Returns the number by which it is placed: vSAN deals
    /// components in turn, others by the random number that it has.
    pub fn add_vdisk(&mut self, layout: u16, random: u64, bytes: u64, is_written: bool) -> u64 {
        let Some(vsan) = &mut self.vsan else {
            return random;
        };
        let objects = usize::from(layout) % vsan.objects.len();
        let key = vsan.objects[objects];
        vsan.objects[objects] += 1;
        if let BackEnd::Original(groups) = &mut vsan.back_end {
            let layout = &self.data.layouts[usize::from(layout)];
            // of very many components, as many as tell how they are spread
            let component = layout.span.max(bytes / 10_000);
            for first in (0..bytes).step_by(component as usize) {
                let part = component.min(bytes - first) as f64;
                let (group, _) = layout.component(key, first);
                for position in 0..layout.width {
                    let device = self.data.device_at(group as usize, position);
                    let used = part / layout.needed as f64;
                    groups.add_data(device, used, part / layout.width as f64, is_written);
                }
            }
        }
        key
    }

    /// All virtual disks are there: write buffers have the level at which runs begin.
    pub fn fill_buffers(&mut self) {
        if let Some(groups) = self.disk_groups() {
            groups.fill(4_096.0);
        }
    }

    pub(super) fn disk_groups(&mut self) -> Option<&mut DiskGroups> {
        match &mut self.vsan {
            Some(Vsan {
                back_end: BackEnd::Original(groups),
                ..
            }) => Some(groups),
            _ => None,
        }
    }

    /// The copy that is read where sites are far apart: one in the client's own, if there is one that can be.
    pub(super) fn copy_in_site(&self, group: usize, first: u8, client: HostId) -> Option<usize> {
        self.vsan.as_ref().filter(|vsan| vsan.is_stretched)?;
        let site = self.nodes[self.node_of[client.index()]? as usize].rack;
        let mut positions = self.data.layout_of(group).in_turn(first);
        positions.find(|&position| {
            let node = self.devices.node_of(self.data.device_at(group, position));
            self.nodes[node].rack == site && self.data.is_readable(group, position)
        })
    }

    /// What the report says about its back end.
    pub(super) fn back_end_report(&self, duration_ns: f64) -> Option<BackEndReport> {
        let mb_per_s = |bytes: u64| bytes as f64 / duration_ns * 1e3;
        Some(match &self.vsan.as_ref()?.back_end {
            BackEnd::Express(log) => BackEndReport {
                acknowledged_from: "log".to_owned(),
                buffer_pct: None,
                overwritten_pct: None,
                destage_mb_per_s: mb_per_s(log.striped),
            },
            BackEnd::Original(groups) => BackEndReport {
                acknowledged_from: "cache-devices".to_owned(),
                buffer_pct: Some(groups.level_pct()),
                overwritten_pct: share_pct(groups.count.overwritten, groups.count.writes),
                destage_mb_per_s: mb_per_s(groups.count.swept),
            },
        })
    }

    /// Reads that cache devices of disk groups served, in per cent, where there are disk groups.
    pub(super) fn hit_pct(&self) -> Option<f64> {
        match &self.vsan.as_ref()?.back_end {
            BackEnd::Express(_) => None,
            BackEnd::Original(groups) => share_pct(groups.count.hits, groups.count.reads),
        }
    }

    /// How full write buffers are, in per cent.
    pub fn buffer_pct(&self) -> Option<f64> {
        match &self.vsan.as_ref()?.back_end {
            BackEnd::Express(_) => None,
            BackEnd::Original(groups) => Some(groups.level_pct()),
        }
    }

    /// Counts from now.
    pub(super) fn reset_back_end(&mut self) {
        match self.vsan.as_mut().map(|vsan| &mut vsan.back_end) {
            Some(BackEnd::Express(log)) => log.striped = 0,
            Some(BackEnd::Original(groups)) => groups.reset(),
            None => {}
        }
    }

    // ---- at a node

    /// The service of a node has worked on an operation: whether it is vSAN's own way that it goes on.
    pub(super) fn goes_own_way(&mut self, id: IoId, device: u32, shared: &mut Shared, clock: &mut Clock) -> bool {
        let (role, is_write) = (shared.requests[id].role, shared.requests[id].write);
        let groups = match &mut self.vsan {
            Some(Vsan {
                back_end: BackEnd::Original(groups),
                ..
            }) => groups,
            Some(_) => {
                // everything is appended
                shared.requests[id].sequential |= is_write && role == Role::Leg;
                if role == Role::Sweep {
                    let disk = self.devices.disk(device);
                    let pass = Pass {
                        span: f64::from(shared.requests[id].bytes),
                        capacity: 1.0,
                        ..Pass::default()
                    };
                    shared.disks.queue_pass(disk, id, pass, &mut shared.requests, clock);
                }
                return role == Role::Sweep;
            }
            None => return false,
        };
        let disks = self.flash.as_ref().expect("disk groups have cache devices").disks;
        match (role, is_write) {
            (Role::Leg, false) if groups.hits(device) => {
                let disk = groups.cache_of(device, disks);
                shared.disks.queue(disk, id, false, &mut shared.requests, clock);
                true
            }
            (Role::Leg, true) => {
                let has_room = groups.enter(device, id, &mut shared.requests);
                if has_room {
                    let disk = groups.cache_of(device, disks);
                    shared.disks.queue(disk, id, false, &mut shared.requests, clock);
                    self.sweep(device, shared, clock);
                } else {
                    self.sweep_group_of(device, shared, clock);
                }
                true
            }
            _ => {
                groups.interrupt(device);
                false
            }
        }
    }

    /// All devices of a group are swept that are not yet.
    fn sweep_group_of(&mut self, device: u32, shared: &mut Shared, clock: &mut Clock) {
        let node = self.devices.node_of(device);
        let of_node: Vec<u32> = self.devices.of_node(node).map(|(device, _)| device as u32).collect();
        for other in of_node {
            let is_behind = |groups: &mut DiskGroups| groups.group_of(other) == groups.group_of(device);
            if self.disk_groups().is_some_and(is_behind) {
                self.sweep(other, shared, clock);
            }
        }
    }

    /// The next visit of the sweep of a device, if its buffer has to be swept and no visit is under way.
    fn sweep(&mut self, device: u32, shared: &mut Shared, clock: &mut Clock) {
        let disk = self.devices.disk(device);
        let (has_failed, is_busy) = (shared.disks.get(disk).has_failed, !shared.disks.is_idle(disk));
        let Some(groups) = self.disk_groups() else { return };
        if has_failed {
            groups.forget(device);
            return;
        }
        let Some((bytes, pass)) = groups.visit(device, is_busy) else {
            return;
        };
        let id = self.own_write(device, bytes, shared);
        shared.disks.queue_pass(disk, id, pass, &mut shared.requests, clock);
    }

    /// A write of the pool itself to a device.
    fn own_write(&mut self, device: u32, bytes: u32, shared: &mut Shared) -> IoId {
        let id = shared.requests.allocate(Issuer::Pool, VdiskId::new(NONE as usize));
        let io = &mut shared.requests[id];
        (io.role, io.bytes, io.write) = (Role::Sweep, bytes, true);
        let task = Task {
            device,
            chain: NONE,
            sender: None,
            back_ns: 0,
        };
        self.tasks.set(id, task);
        id
    }

    /// A visit of a sweep or a stripe is on its device, or never will be.
    pub(super) fn swept(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let (device, bytes) = (self.tasks[id].device, shared.requests[id].bytes);
        shared.requests.release(id);
        match self.vsan.as_mut().map(|vsan| &mut vsan.back_end) {
            Some(BackEnd::Express(log)) => log.striped += u64::from(bytes),
            Some(BackEnd::Original(groups)) => {
                groups.visited(device, bytes);
                self.sweep(device, shared, clock);
                self.let_in(device, shared, clock);
            }
            None => unreachable!("only vSAN sweeps"),
        }
    }

    /// Writes that wait for the buffer of a device's group go on while there is room.
    fn let_in(&mut self, device: u32, shared: &mut Shared, clock: &mut Clock) {
        let disks = self.flash.as_ref().expect("disk groups have cache devices").disks;
        let Some(Vsan {
            back_end: BackEnd::Original(groups),
            ..
        }) = &mut self.vsan
        else {
            return;
        };
        let group = groups.group_of(device);
        while let Some(first) = groups.next(group, &shared.requests, |id| self.tasks[id].device) {
            let disk = disks.at(group);
            shared.disks.queue(disk, first, false, &mut shared.requests, clock);
        }
    }

    // ---- the express architecture

    /// Whether a write goes to a log instead of the fragments of an erasure code.
    pub(super) fn writes_log(&self) -> bool {
        let back_end = self.vsan.as_ref().map(|vsan| &vsan.back_end);
        matches!(back_end, Some(BackEnd::Express(_)))
    }

    /// Sends a write to the copies of its log: one more than failures are survived, on members of its group.
    pub(super) fn append(&mut self, id: IoId, parity: usize, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        let bytes = shared.requests[id].bytes;
        let (group, client) = (self.requests[id].group as usize, self.requests[id].client);
        let layout = self.data.layout_of(group);
        let (width, minimum) = (layout.width, layout.minimum);
        let each = bytes.div_ceil(layout.needed as u32);
        self.requests[id].is_writing = true;
        let (mut up, mut copies) = (0, 0);
        // one part stands for having sent all
        shared.requests[id].parts = 1;
        for position in 0..width {
            if !self.takes_write(group, position, each) {
                continue;
            }
            up += 1;
            if copies <= parity {
                copies += 1;
                let leg = self.new_leg(id, position, bytes, true, shared);
                shared.requests[leg].sync |= self.flushes == Flushes::Always;
                shared.requests[id].parts += 1;
                self.send_data(leg, client, Traffic::Client, shared, clock);
            }
        }
        self.count.below_minimum += u64::from(up < minimum);
        match shared.requests.part_done(id) {
            true => self.all_legs_done(id, shared, clock),
            false => Outcome::Pending,
        }
    }

    /// A write is in its log: each member of its group is due its part of a stripe, which is sent when a unit has come
    /// together.
    pub(super) fn stripe_later(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let (group, client) = (self.requests[id].group as usize, self.requests[id].client);
        let layout = self.data.layout_of(group);
        let (width, each) = (
            layout.width,
            f64::from(shared.requests[id].bytes) / layout.needed as f64,
        );
        for position in 0..width {
            let device = self.data.device_at(group, position);
            if !self.devices.is_available(device) {
                continue;
            }
            let Some(Vsan {
                back_end: BackEnd::Express(log),
                ..
            }) = &mut self.vsan
            else {
                return;
            };
            let due = &mut log.due[device as usize];
            *due += each;
            let units = (*due / STRIPE_UNIT as f64) as u64;
            *due -= (units * STRIPE_UNIT) as f64;
            for _ in 0..units {
                let stripe = self.own_write(device, STRIPE_UNIT as u32, shared);
                shared.requests[stripe].sequential = true;
                self.send_data(stripe, client, Traffic::Client, shared, clock);
            }
        }
    }
}
