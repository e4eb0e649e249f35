//! At a node: its service works on operations, its devices and journal do them, and it replies.

use super::networks::Traffic;
use super::{Outcome, Pool, Request, Task};
use crate::clock::{Clock, Event};
use crate::ids::IoId;
use crate::storage::request::{Io, NONE, Role, Step};
use crate::storage::shared::Shared;
use crate::storage::work::Stage;
use hypertwin_cluster::WritePath;
use hypertwin_models::storage::product::qos::Class;

impl Pool {
    // ---- at a node

    /// A leg or a part of a rebuilt piece reaches its node.
    pub fn arrive(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let io = &shared.requests[id];
        match io.role {
            Role::RebuildRead => return self.rebuild_part_arrived(id, shared, clock),
            Role::Request => return self.reach_gateway(id, shared, clock),
            _ => {}
        }
        let device = self.tasks[id].device;
        if io.role == Role::Sweep {
            match self.devices.is_available(device) {
                true => self.enqueue(id, shared, clock),
                false => shared.requests.release(id),
            }
            return;
        }
        let client = self.requests[io.parent].client;
        let is_cut_off = !shared.network.state(client).is_linked && self.host_of(device) != client;
        if !self.devices.is_available(device) || is_cut_off {
            self.fail_leg(id, shared, clock);
            return;
        }
        self.enqueue(id, shared, clock);
    }

    /// An operation waits for a thread of the service of its device.
    #[inline]
    pub(super) fn enqueue(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let class = match shared.requests[id].role {
            Role::Rebuild | Role::Scrub => self.pieces[id].class,
            Role::RebuildRead => self.pieces[shared.requests[id].parent].class,
            _ => Class::Client,
        };
        let queue = match self.osds {
            None => self.queue_of(self.tasks[id].device),
            Some(_) => self.osd_queue_of(id, shared),
        };
        self.enqueue_at(queue, id, class, shared, clock);
    }

    /// An operation waits for a thread of a queue.
    #[inline]
    pub(super) fn enqueue_at(&mut self, queue: usize, id: IoId, class: Class, shared: &mut Shared, clock: &mut Clock) {
        if let Some(time) = self.services.enqueue(queue, id, class, shared, clock.now) {
            self.renew_at(queue, time, clock);
        }
    }

    /// A thread of a service is done with its operation, and takes the next: its work for it, if there is one.
    /// Its world has run for `run_ns` since measuring began.
    pub fn next_on_service(
        &mut self,
        thread: usize,
        run_ns: u64,
        shared: &mut Shared,
        clock: &mut Clock,
    ) -> Option<f64> {
        let waits = match self.services.finish(thread) {
            None => false,
            Some((id, Stage::Operation)) => {
                self.served(id, shared, clock);
                false
            }
            Some((id, stage)) => self.served_by_osd(id, stage, thread, shared, clock),
        };
        if waits {
            if let Some((queue, time)) = self.services.wait(thread, run_ns, clock.now) {
                self.renew_at(queue, time, clock);
            }
            return None;
        }
        match self.services.next(thread, run_ns, clock.now, &shared.requests) {
            Ok(work_ns) => Some(work_ns),
            Err(renewal) => {
                if let Some((queue, time)) = renewal {
                    self.renew_at(queue, time, clock);
                }
                None
            }
        }
    }

    /// A queue of a service gets the CPU quota of another period, or may go on with what had to wait for its class.
    pub fn renew_quota(&mut self, queue: usize, shared: &mut Shared, clock: &mut Clock) {
        for (queue, time) in self.services.renew(queue, shared, clock.now) {
            self.renew_at(queue, time, clock);
        }
    }

    pub(super) fn renew_at(&self, queue: usize, time: u64, clock: &mut Clock) {
        let (pool, queue) = (self.id, queue as u32);
        clock.at(time, Event::Quota { pool, queue });
    }

    /// The service of a node has worked on an operation, which goes on to its device.
    fn served(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let device = self.tasks[id].device;
        if !self.devices.is_available(device) {
            self.fail_operation(id, shared, clock);
            return;
        }
        let io = &shared.requests[id];
        if io.role == Role::Leg && io.write {
            self.pass_on(id, shared, clock);
            let node = self.devices.node_of(device);
            if let Some(flash) = self.flash.as_mut().filter(|flash| flash.has_journal()) {
                if flash.enter(node, id, &mut shared.requests) {
                    let disk = flash.journal_of(node, device);
                    shared.disks.queue(disk, id, false, &mut shared.requests, clock);
                }
                return;
            }
        }
        if self.vsan.is_some() && self.goes_own_way(id, device, shared, clock) {
            return;
        }
        // rebuilding is held back by its throttle, not here: a disk that is always busy would never let it pass
        let disk = self.devices.disk(device);
        shared.disks.queue(disk, id, false, &mut shared.requests, clock);
    }

    /// A node sends a write on to the next node, or to all others.
    pub(super) fn pass_on(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let from = self.host_of(self.tasks[id].device);
        let back_ns = self.tasks[id].back_ns;
        let mut next = std::mem::replace(&mut self.tasks[id].chain, NONE);
        while next != NONE {
            // its reply comes back the way that it goes
            let to = self.host_of(self.tasks[next].device);
            self.tasks[next].sender = Some(self.tasks[id].device);
            self.tasks[next].back_ns = self.message_ns(Traffic::Nodes, &shared.network, to, from) + back_ns;
            self.send_data(next, from, Traffic::Nodes, shared, clock);
            if self.write_path == WritePath::Chain {
                return;
            }
            next = std::mem::replace(&mut self.tasks[next].chain, NONE);
        }
    }

    /// A write has left a node's journal: room for those that wait.
    pub(super) fn leave_journal(&mut self, device: u32, bytes: u32, shared: &mut Shared, clock: &mut Clock) {
        let node = self.devices.node_of(device);
        let flash = self.flash.as_mut().expect("what is destaged was in a journal");
        flash.leave(node, bytes);
        while let Some(first) = flash.next(node, &shared.requests) {
            let disk = flash.journal_of(node, self.tasks[first].device);
            shared.disks.queue(disk, first, false, &mut shared.requests, clock);
        }
    }

    // ---- back

    /// A device, journal or cache is done with an operation.
    pub fn disk_done(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        if self.osds.is_some() {
            return self.osd_disk_done(id, shared, clock);
        }
        let &Io {
            disk,
            write,
            role,
            bytes,
            ..
        } = &shared.requests[id];
        if role == Role::Sweep {
            self.swept(id, shared, clock);
            return Outcome::Pending;
        }
        let is_flash = self.vsan.is_none() && self.is_flash(disk);
        if is_flash && !write {
            return self.end_leg(id, shared, clock);
        }
        let device = self.tasks[id].device;
        if role == Role::Destage {
            shared.requests.release(id);
            self.leave_journal(device, bytes, shared, clock);
            return Outcome::Pending;
        }
        if is_flash {
            self.destage(id, shared, clock);
        }
        if !self.devices.is_available(device) {
            self.fail_operation(id, shared, clock);
            return Outcome::Pending;
        }
        match role {
            Role::Rebuild => self.rebuilt(id, shared, clock),
            Role::RebuildRead => {
                self.send_rebuild_part(id, shared, clock);
                Outcome::Pending
            }
            Role::Leg => {
                self.reply(id, shared, clock);
                Outcome::Pending
            }
            Role::Request
            | Role::Primary
            | Role::Operation
            | Role::Destage
            | Role::Log
            | Role::Sweep
            | Role::Scrub
            | Role::Page => {
                unreachable!("no device of a pool works on these")
            }
        }
    }

    /// What is in a journal goes on to its device, if that still works.
    pub(super) fn destage(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let Task { device, .. } = self.tasks[id];
        let disk = self.devices.disk(device);
        if shared.disks.get(disk).has_failed {
            self.destaged(device, shared.requests[id].bytes, shared, clock);
            return;
        }
        let destage = shared.requests.part_of(id, Role::Destage);
        shared.requests[destage].parent = NONE;
        shared.requests[destage].sync = false;
        self.tasks.set(destage, self.tasks[id]);
        shared.disks.queue(disk, destage, true, &mut shared.requests, clock);
    }

    /// What waited for its place on a device is there, or never will be.
    pub(super) fn destaged(&mut self, device: u32, bytes: u32, shared: &mut Shared, clock: &mut Clock) {
        match &self.osds {
            Some(_) => self.reached_place(device, bytes, shared, clock),
            None => self.leave_journal(device, bytes, shared, clock),
        }
    }

    /// The reply of a leg goes back to the client, by the way it came: data that were read, or that a write is done.
    pub(super) fn reply(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let io = &shared.requests[id];
        let Task { device, back_ns, .. } = self.tasks[id];
        let mut at = clock.now;
        if !io.write {
            let Request { client, traffic, .. } = self.requests[io.parent];
            let ends = (self.host_of(device), client);
            at = self.transmit(traffic, ends, io.bytes, &mut shared.network, at);
        }
        shared.requests.at(id, Step::Back(self.id), at + back_ns, clock);
    }
}
