//! OSDs of Ceph: which queue an operation waits in, and what their operations do between the queues of one.
//!
//! An operation visits a messenger of its OSD, which is charged with all messages that it needs there; then a thread of
//! the shard of its placement group. A read keeps that thread until its device has answered. A write goes on to its
//! replicas, and then to its device and into the log, or into the log with its data: see [`super::commit`].

use super::networks::Traffic;
use super::object_locks::holds;
use super::{Outcome, Pool, Request};
use crate::clock::Clock;
use crate::ids::{Id, IoId};
use crate::storage::request::{Io, NONE, Role, Step};
use crate::storage::shared::Shared;
use crate::storage::work::Stage;
use hypertwin_cluster::{CephClient, WritePath};
use hypertwin_kernel::Nanos;
use hypertwin_models::storage::product::qos::Class;

impl Pool {
    /// The group of a leg, or of what is rebuilt.
    fn group_of(&self, id: IoId, shared: &Shared) -> u32 {
        let io = &shared.requests[id];
        match io.role {
            Role::Rebuild | Role::Scrub => self.data.group_of(self.pieces[id].job.member) as u32,
            Role::RebuildRead => self.data.group_of(self.pieces[io.parent].job.member) as u32,
            _ => self.requests[io.parent].group,
        }
    }

    /// The OSD that an operation is for.
    pub(super) fn osd_of(&self, id: IoId, shared: &Shared) -> usize {
        let osds = self.osds.as_ref().expect("only Ceph has OSDs");
        osds.number(self.tasks[id].device, self.group_of(id, shared))
    }

    /// The queue of an OSD that an operation joins first.
    pub(super) fn osd_queue_of(&mut self, id: IoId, shared: &Shared) -> usize {
        let group = self.group_of(id, shared);
        let osds = self.osds.as_ref().expect("only Ceph has OSDs");
        let osd = osds.number(self.tasks[id].device, group);
        let io = &shared.requests[id];
        let connection = match io.role {
            Role::Leg => {
                let messages_ns = self.messages_ns(id, shared);
                self.services.messages_ns.set(id, messages_ns);
                self.connection(id, shared)
            }
            // one that goes on has had its messages
            Role::Primary if io.stage == 0 => self.connection(id, shared),
            _ => return osds.shard(osd, group),
        };
        osds.messenger(osd, connection)
    }

    /// Work of all messages that an OSD has for a leg: that by which it comes, and those to the copies that it is
    /// passed on to.
    fn messages_ns(&self, id: IoId, shared: &Shared) -> f64 {
        let (cost, bytes) = (self.services.osd_cost(), shared.requests[id].bytes);
        let is_sub_read = self.tasks[id].sender.is_some() && !shared.requests[id].write;
        let mut sum_ns = match is_sub_read {
            true => cost.of_sub_read(bytes),
            false => cost.of_message(bytes),
        };
        let mut next = self.tasks[id].chain;
        while next != NONE {
            sum_ns += cost.of_message(bytes);
            next = match self.write_path {
                WritePath::Chain => NONE,
                WritePath::Primary | WritePath::Client => self.tasks[next].chain,
            };
        }
        sum_ns
    }

    /// The connection that an operation comes by: that of another OSD, or of a client.
    fn connection(&self, id: IoId, shared: &Shared) -> usize {
        let osds = self.osds.as_ref().expect("only Ceph has connections");
        match (self.tasks[id].sender, osds.client) {
            (Some(device), _) => osds.number(device, self.group_of(id, shared)),
            // one of each host, or one of each virtual disk
            (None, CephClient::Krbd) => self.requests[shared.requests[id].parent].client.index(),
            (None, CephClient::Librbd | CephClient::Gateway) => shared.requests[id].vdisk.index(),
        }
    }

    /// A thread of an OSD is done with an operation. Whether the thread waits for the operation's device.
    pub(super) fn served_by_osd(
        &mut self,
        id: IoId,
        stage: Stage,
        thread: usize,
        shared: &mut Shared,
        clock: &mut Clock,
    ) -> bool {
        if stage == Stage::Gateway {
            // the gateway is the client now
            shared.requests.at(id, Step::Retry(self.id), clock.now, clock);
            return false;
        }
        let device = self.tasks[id].device;
        if !self.devices.is_available(device) {
            self.fail_operation(id, shared, clock);
            return false;
        }
        if stage == Stage::Commit {
            self.write_log(id, shared, clock);
            return false;
        }
        let group = self.group_of(id, shared);
        let osds = self.osds.as_mut().expect("an OSD has served it");
        let osd = osds.number(device, group);
        if stage == Stage::Messages {
            let queue = osds.shard(osd, group);
            if self.locks_object(id, shared) {
                self.enqueue_at(queue, id, Class::Client, shared, clock);
            }
            return false;
        }
        let io = &shared.requests[id];
        if io.role == Role::Primary {
            self.serve_primary(id, shared, clock);
            return false;
        }
        if io.role == Role::Leg && io.write {
            self.write_on_osd(id, osd, shared, clock);
            return false;
        }
        let waits = !io.write;
        if waits {
            osds.wait(id, thread);
        }
        let disk = self.devices.disk(device);
        shared.disks.queue(disk, id, false, &mut shared.requests, clock);
        waits
    }

    /// Locks the object of an operation that a client has sent. `false` if the operation waits for the lock.
    fn locks_object(&mut self, id: IoId, shared: &mut Shared) -> bool {
        if self.tasks[id].sender.is_some() {
            // the primary holds it for its request
            return true;
        }
        let request = shared.requests[id].parent;
        let locks = &mut self.osds.as_mut().expect("only Ceph locks objects").locks;
        let has_it = locks.take(self.requests[request].object, id, &mut shared.requests);
        self.requests[request].holds_object = has_it && holds(&shared.requests[id]);
        has_it
    }

    /// A request is over, or will be tried again: operations that waited for its object go on.
    pub(super) fn unlock_object(&mut self, request: IoId, shared: &mut Shared, clock: &mut Clock) {
        if !std::mem::take(&mut self.requests[request].holds_object) {
            return;
        }
        let locks = &mut self.osds.as_mut().expect("only Ceph locks objects").locks;
        let mut admitted = locks.release(self.requests[request].object, &mut shared.requests);
        while let Some(id) = admitted.pop(&shared.requests) {
            let io = &shared.requests[id];
            self.requests[io.parent].holds_object = holds(io);
            if !self.devices.is_available(self.tasks[id].device) {
                self.fail_operation(id, shared, clock);
                continue;
            }
            let group = self.group_of(id, shared);
            let osds = self.osds.as_ref().expect("only Ceph locks objects");
            let queue = osds.shard(osds.number(self.tasks[id].device, group), group);
            self.enqueue_at(queue, id, Class::Client, shared, clock);
        }
    }

    /// A device has answered an operation, or never will: the thread that waits for it goes on.
    pub(super) fn answered(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let thread = self.osds.as_mut().and_then(|osds| osds.answered(id));
        if let Some(thread) = thread
            && let Some((queue, time)) = self.services.go_on(thread, shared, clock.now)
        {
            self.renew_at(queue, time, clock);
        }
    }

    /// A device or the log of an OSD is done with an operation.
    pub(super) fn osd_disk_done(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        let &Io { write, role, bytes, .. } = &shared.requests[id];
        let device = self.tasks[id].device;
        if role == Role::Destage {
            shared.requests.release(id);
            self.reached_place(device, bytes, shared, clock);
            return Outcome::Pending;
        }
        self.answered(id, shared, clock);
        if !self.devices.is_available(device) {
            self.fail_operation(id, shared, clock);
            return Outcome::Pending;
        }
        match role {
            Role::Rebuild => return self.rebuilt(id, shared, clock),
            Role::RebuildRead => self.send_rebuild_part(id, shared, clock),
            Role::Scrub => self.scrubbed(id, true, shared, clock),
            Role::Log => self.committed(id, shared, clock),
            Role::Leg if write => self.commit(id, shared, clock),
            Role::Leg => self.reply(id, shared, clock),
            Role::Request | Role::Primary | Role::Operation | Role::Destage | Role::Sweep | Role::Page => {
                unreachable!("no device of an OSD works on these")
            }
        }
        Outcome::Pending
    }

    // ---- gateways

    /// Whether a request has to go to a gateway first: it went to none, or that does not work.
    pub(super) fn needs_gateway(&self, id: IoId, shared: &Shared) -> bool {
        let has_gateways = self.osds.as_ref().is_some_and(|osds| !osds.gateways.is_empty());
        let request = &self.requests[id];
        has_gateways && (!request.is_by_gateway || !shared.network.state(request.client).is_reachable())
    }

    /// A request goes to a gateway that works; each virtual disk has one that it prefers.
    pub(super) fn send_to_gateway(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let gateways = &self.osds.as_ref().expect("only Ceph has gateways").gateways;
        let io = &shared.requests[id];
        let (count, first) = (gateways.len(), io.vdisk.index());
        let bytes = if io.write { io.bytes } else { 0 };
        let hosts = (0..count).map(|step| gateways[(first + step) % count].1);
        let mut hosts = hosts.filter(|&host| shared.network.state(host).is_reachable());
        let Some(gateway) = hosts.next() else {
            self.retry_later(id, shared, clock);
            return;
        };
        let request = &mut self.requests[id];
        let client = request.origin;
        (request.client, request.is_by_gateway) = (gateway, true);
        let passed = self.transmit(
            Traffic::Client,
            (client, gateway),
            bytes,
            &mut shared.network,
            clock.now,
        );
        let at = passed + self.message_ns(Traffic::Client, &shared.network, client, gateway);
        shared.requests.at(id, Step::Arrive(self.id), at, clock);
    }

    /// A request reaches its gateway.
    pub(super) fn reach_gateway(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let at = self.requests[id].client;
        let gateways = &self.osds.as_ref().expect("only Ceph has gateways").gateways;
        let gateway = gateways.iter().find(|(_, host)| *host == at);
        match gateway.filter(|_| shared.network.state(at).is_reachable()) {
            Some(&(queue, _)) => self.enqueue_at(queue, id, Class::Client, shared, clock),
            None => self.retry_later(id, shared, clock),
        }
    }

    /// When a request that its gateway has done is back at its client; `None` if it is there.
    pub(super) fn back_from_gateway(&mut self, id: IoId, shared: &mut Shared, now: Nanos) -> Option<Nanos> {
        let Request {
            client,
            origin,
            is_by_gateway,
            ..
        } = self.requests[id];
        if !is_by_gateway {
            return None;
        }
        let io = &shared.requests[id];
        let bytes = if io.write { 0 } else { io.bytes };
        let passed = self.transmit(Traffic::Client, (client, origin), bytes, &mut shared.network, now);
        Some(passed + self.message_ns(Traffic::Client, &shared.network, client, origin))
    }
}
