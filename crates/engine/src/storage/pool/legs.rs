//! The way of a request through a pool: legs to the devices that serve it, and back.

use super::{Address, Outcome, Pool, Request, Task};
use crate::clock::{Clock, Event};
use crate::ids::{HostId, Id, IoId};
use crate::storage::request::{Io, NONE, Role, Step};
use crate::storage::shared::Shared;
use hypertwin_cluster::{Flushes, PoolKind, Redundancy, WritePath};
use hypertwin_models::storage::stripe::{Update, completed, update};

impl Pool {
    // ---- from the client

    /// A request leaves its host for the pool.
    pub fn begin(&mut self, id: IoId, address: Address, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        let Address { client, key, place, .. } = address;
        let chunk = mix(key, place / self.span);
        let (groups, width) = (self.data.groups as u64, self.data.width as u64);
        let request = Request {
            client,
            group: (chunk % groups) as u32,
            // chunks of a group take turns in which of its copies comes first
            first: (chunk / groups % width) as u8,
            has_failed: false,
            is_writing: false,
            place,
            written: 0,
        };
        self.requests.set(id, request);
        let io = &mut shared.requests[id];
        self.count.reads += u64::from(!io.write);
        if address.is_cached
            && let (Some(flash), Some(node)) = (&self.flash, self.node_of[client.index()])
        {
            let disk = flash.cache_of(node as usize, key);
            self.count.cache_hits += 1;
            io.parts = 1;
            let leg = shared.requests.part_of(id, Role::Leg);
            shared.disks.queue(disk, leg, false, &mut shared.requests, clock);
            return Outcome::Pending;
        }
        self.attempt(id, shared, clock)
    }

    /// A request that failed, or that waited for its data to be available, is tried again.
    pub fn attempt(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        let io = &shared.requests[id];
        let request = &mut self.requests[id];
        (request.has_failed, request.is_writing) = (false, false);
        let (group, first) = (request.group as usize, request.first);
        if self.data.is_lost(group) {
            self.count.errors += 1;
            let at = clock.now + self.timeout_ns;
            shared.requests.at(id, Step::Host, at, clock);
            return Outcome::Pending;
        }
        let enough = if io.write { self.data.minimum } else { self.data.needed };
        let is_blocked = self.kind == PoolKind::ChunkStore && !self.has_majority(&shared.network);
        if is_blocked || self.data.degraded > 0 && self.data.whole(group) < enough {
            self.suspended.push(&mut shared.requests, id);
            return Outcome::Pending;
        }
        match (self.redundancy, io.write) {
            (Redundancy::Replicas { .. }, false) => {
                let mut positions = self.data.in_turn(first);
                let position = positions.find(|&position| self.data.is_readable(group, position));
                let position = position.expect("enough members of the group are whole");
                let bytes = io.bytes;
                self.send_reads(id, &[position], bytes, shared, clock);
                Outcome::Pending
            }
            (Redundancy::Replicas { .. }, true) => {
                self.write_replicas(id, shared, clock);
                Outcome::Pending
            }
            (Redundancy::Erasure { data, .. }, false) => {
                self.read_fragments(id, data as usize, shared, clock);
                Outcome::Pending
            }
            (Redundancy::Erasure { data, parity }, true) => {
                self.write_fragments(id, data as usize, parity as usize, shared, clock)
            }
        }
    }

    /// Reads `bytes` from each of some members of a request's group.
    fn send_reads(&mut self, id: IoId, positions: &[usize], bytes: u32, shared: &mut Shared, clock: &mut Clock) {
        shared.requests[id].parts = positions.len() as u32;
        let client = self.requests[id].client;
        for &position in positions {
            let leg = self.new_leg(id, position, bytes, false, shared);
            let node = self.host_of(self.tasks[leg].device);
            let arrival = clock.now + self.message_ns(&shared.network, client, node);
            shared.requests.at(leg, Step::Arrive(self.id), arrival, clock);
        }
    }

    fn new_leg(&mut self, id: IoId, position: usize, bytes: u32, write: bool, shared: &mut Shared) -> IoId {
        let leg = shared.requests.part_of(id, Role::Leg);
        let io = &mut shared.requests[leg];
        (io.bytes, io.write) = (bytes, write);
        io.sync = write && (io.sync || self.flushes == Flushes::Always);
        let request = &self.requests[id];
        let device = self.data.device_at(request.group as usize, position);
        let task = Task {
            device,
            chain: NONE,
            back_ns: self.message_ns(&shared.network, self.host_of(device), request.client),
        };
        self.tasks.set(leg, task);
        leg
    }

    fn write_replicas(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let bytes = shared.requests[id].bytes;
        let Request {
            client, group, first, ..
        } = self.requests[id];
        let mut legs = [NONE; Redundancy::MAX_COPIES as usize];
        let mut count = 0;
        for position in self.data.in_turn(first) {
            if self.takes_write(group as usize, position, bytes) {
                legs[count] = self.new_leg(id, position, bytes, true, shared);
                count += 1;
            }
        }
        let legs = &legs[..count];
        shared.requests[id].parts = count as u32;
        self.requests[id].is_writing = true;
        self.count.below_minimum += u64::from(count < self.data.minimum);
        if self.write_path == WritePath::Client {
            for &leg in legs {
                self.send_data(leg, client, shared, clock);
            }
            return;
        }
        for pair in legs.windows(2) {
            self.tasks[pair[0]].chain = pair[1];
        }
        self.send_data(legs[0], client, shared, clock);
    }

    /// Whether a member gets a write; one whose device is away lacks it from then on.
    fn takes_write(&mut self, group: usize, position: usize, bytes: u32) -> bool {
        let missed = self.data.miss(group, position, u64::from(bytes));
        self.count.due += missed.unwrap_or(0);
        missed.is_none()
    }

    /// The data of a leg go from a host to the leg's node.
    fn send_data(&mut self, leg: IoId, from: HostId, shared: &mut Shared, clock: &mut Clock) {
        let bytes = shared.requests[leg].bytes;
        let to = self.host_of(self.tasks[leg].device);
        let passed = shared.network.transmit(from, to, bytes, clock.now);
        let arrival = passed + self.message_ns(&shared.network, from, to);
        shared.requests.at(leg, Step::Arrive(self.id), arrival, clock);
    }

    /// Reads the fragments that a request touches, or enough others where one of them is not whole.
    fn read_fragments(&mut self, id: IoId, data: usize, shared: &mut Shared, clock: &mut Clock) {
        let Touched { first, count, range } = self.touched(id, data, shared);
        let group = self.requests[id].group as usize;
        let wanted: Vec<usize> = (0..count).map(|n| (first + n) % data).collect();
        let chosen = match wanted.iter().all(|&position| self.data.is_readable(group, position)) {
            true => wanted,
            false => self.data.readable(group),
        };
        self.send_reads(id, &chosen, range, shared, clock);
    }

    /// Writes data and parity: a stream as its stripes fill, anything else after the reads that its parity needs.
    fn write_fragments(
        &mut self,
        id: IoId,
        data: usize,
        parity: usize,
        shared: &mut Shared,
        clock: &mut Clock,
    ) -> Outcome {
        let io = &shared.requests[id];
        if io.sequential || u64::from(io.bytes) >= self.fragment * data as u64 {
            return self.write_stripes(id, data, parity, shared, clock);
        }
        let Touched { first, count, range } = self.touched(id, data, shared);
        if count == data {
            // parity follows from what is written
            return self.write_touched(id, data, shared, clock);
        }
        let (way, _) = update(count as u32, data as u32, parity as u32);
        let is_touched = |position: usize| (position + data - first) % data < count && position < data;
        let is_wanted = |position: usize| match way {
            Update::ParityDelta => is_touched(position) || position >= data,
            _ => position < data && !is_touched(position),
        };
        let group = self.requests[id].group as usize;
        let mut reads: Vec<usize> = (0..self.data.width).filter(|&position| is_wanted(position)).collect();
        if !reads.iter().all(|&position| self.data.is_readable(group, position)) {
            reads = self.data.readable(group);
        }
        self.send_reads(id, &reads, range, shared, clock);
        Outcome::Pending
    }

    /// The reads of a small write are done: its data and parity go out.
    fn write_touched(&mut self, id: IoId, data: usize, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        let Touched { first, count, range } = self.touched(id, data, shared);
        let is_written = |position: &usize| *position >= data || (*position + data - first) % data < count;
        let positions = (0..self.data.width).filter(is_written);
        let writes: Vec<(usize, u32)> = positions.map(|position| (position, range)).collect();
        self.send_writes(id, &writes, shared, clock)
    }

    /// Writes whole stripes, or the part of a stream that this request is.
    fn write_stripes(
        &mut self,
        id: IoId,
        data: usize,
        parity: usize,
        shared: &mut Shared,
        clock: &mut Clock,
    ) -> Outcome {
        let (place, bytes) = (self.requests[id].place, u64::from(shared.requests[id].bytes));
        let fragment = self.fragment;
        let mut writes: Vec<(usize, u32)> = Vec::new();
        let mut at = place;
        let end = place + bytes;
        while at < end {
            let next = ((at / fragment + 1) * fragment).min(end);
            writes.push(((at / fragment) as usize % data, (next - at) as u32));
            at = next;
        }
        let stripes = completed(place, bytes, fragment * data as u64);
        for _ in 0..stripes {
            writes.extend((data..data + parity).map(|position| (position, fragment as u32)));
        }
        self.send_writes(id, &writes, shared, clock)
    }

    fn send_writes(&mut self, id: IoId, writes: &[(usize, u32)], shared: &mut Shared, clock: &mut Clock) -> Outcome {
        let Request { client, group, .. } = self.requests[id];
        self.requests[id].is_writing = true;
        // one part stands for having sent all
        shared.requests[id].parts = 1;
        for &(position, bytes) in writes {
            if self.takes_write(group as usize, position, bytes) {
                let leg = self.new_leg(id, position, bytes, true, shared);
                shared.requests[id].parts += 1;
                self.send_data(leg, client, shared, clock);
            }
        }
        self.count.below_minimum += u64::from(self.data.up(group as usize) < self.data.minimum);
        match shared.requests.part_done(id) {
            true => self.all_legs_done(id, shared, clock),
            false => Outcome::Pending,
        }
    }

    /// Data fragments of its stripe that a request touches.
    fn touched(&self, id: IoId, data: usize, shared: &Shared) -> Touched {
        let bytes = u64::from(shared.requests[id].bytes);
        let count = (bytes.div_ceil(self.fragment) as usize).min(data);
        Touched {
            first: (self.requests[id].place / self.fragment) as usize % data,
            count,
            range: bytes.div_ceil(count as u64) as u32,
        }
    }

    // ---- at a node

    /// A leg or a part of a rebuilt piece reaches its node.
    pub fn arrive(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let io = &shared.requests[id];
        if io.role == Role::RebuildRead {
            self.rebuild_part_arrived(id, shared, clock);
            return;
        }
        let device = self.tasks[id].device;
        let client = self.requests[io.parent].client;
        let is_cut_off = !shared.network.state(client).is_linked && self.host_of(device) != client;
        if !self.devices.is_available(device) || is_cut_off {
            self.fail_leg(id, shared, clock);
            return;
        }
        self.services.enqueue(self.queue_of(device), id, shared, clock.now);
    }

    /// A thread of a service is done with its operation, and takes the next: its work for it, if there is one.
    pub fn next_on_service(&mut self, thread: usize, shared: &mut Shared, clock: &mut Clock) -> Option<f64> {
        if let Some(id) = self.services.finish(thread) {
            self.served(id, shared, clock);
        }
        match self.services.next(thread, clock.now, &shared.requests) {
            Ok(work_ns) => Some(work_ns),
            Err(renewal) => {
                if let Some((queue, time)) = renewal {
                    self.renew_at(queue, time, clock);
                }
                None
            }
        }
    }

    /// A queue of a service gets the CPU quota of another period.
    pub fn renew_quota(&mut self, queue: usize, shared: &mut Shared, clock: &mut Clock) {
        if let Some(time) = self.services.renew(queue, shared, clock.now) {
            self.renew_at(queue, time, clock);
        }
    }

    fn renew_at(&self, queue: usize, time: u64, clock: &mut Clock) {
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
        // rebuilding is held back by its throttle, not here: a disk that is always busy would never let it pass
        let disk = self.devices.disk(device);
        shared.disks.queue(disk, id, false, &mut shared.requests, clock);
    }

    /// A node sends a write on to the next node, or to all others.
    fn pass_on(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let from = self.host_of(self.tasks[id].device);
        let back_ns = self.tasks[id].back_ns;
        let mut next = std::mem::replace(&mut self.tasks[id].chain, NONE);
        while next != NONE {
            // its reply comes back the way that it goes
            let to = self.host_of(self.tasks[next].device);
            self.tasks[next].back_ns = self.message_ns(&shared.network, to, from) + back_ns;
            self.send_data(next, from, shared, clock);
            if self.write_path == WritePath::Chain {
                return;
            }
            next = std::mem::replace(&mut self.tasks[next].chain, NONE);
        }
    }

    /// A write has left a node's journal: room for those that wait.
    fn leave_journal(&mut self, device: u32, bytes: u32, shared: &mut Shared, clock: &mut Clock) {
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
        let &Io {
            disk,
            write,
            role,
            bytes,
            ..
        } = &shared.requests[id];
        let is_flash = self.is_flash(disk);
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
            Role::Request | Role::Operation | Role::Destage | Role::Page => {
                unreachable!("no device of a pool works on these")
            }
        }
    }

    /// What is in a journal goes on to its device, if that still works.
    fn destage(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let Task { device, .. } = self.tasks[id];
        let disk = self.devices.disk(device);
        if shared.disks.get(disk).has_failed {
            self.leave_journal(device, shared.requests[id].bytes, shared, clock);
            return;
        }
        let destage = shared.requests.part_of(id, Role::Destage);
        shared.requests[destage].parent = NONE;
        shared.requests[destage].sync = false;
        self.tasks.set(destage, self.tasks[id]);
        shared.disks.queue(disk, destage, true, &mut shared.requests, clock);
    }

    /// The reply of a leg goes back to the client, by the way it came: data that were read, or that a write is done.
    fn reply(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let io = &shared.requests[id];
        let Task { device, back_ns, .. } = self.tasks[id];
        let mut at = clock.now;
        if !io.write {
            let client = self.requests[io.parent].client;
            at = shared.network.transmit(self.host_of(device), client, io.bytes, at);
        }
        shared.requests.at(id, Step::Back(self.id), at + back_ns, clock);
    }

    /// The reply of a leg is back.
    pub fn leg_back(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        let io = &shared.requests[id];
        if io.write {
            self.count.written += u64::from(io.bytes);
            self.requests[io.parent].written += u64::from(io.bytes);
        }
        self.end_leg(id, shared, clock)
    }

    fn end_leg(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        let request = shared.requests[id].parent;
        shared.requests.release(id);
        match shared.requests.part_done(request) {
            true => self.all_legs_done(request, shared, clock),
            false => Outcome::Pending,
        }
    }

    fn all_legs_done(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        let io = &shared.requests[id];
        let request = &mut self.requests[id];
        if request.has_failed {
            self.count.retries += 1;
            self.count.wasted += std::mem::take(&mut request.written);
            let at = clock.now + self.timeout_ns;
            shared.requests.at(id, Step::Retry(self.id), at, clock);
            return Outcome::Pending;
        }
        if io.write && !request.is_writing {
            // while it read, what it writes to may have gone
            if self.data.is_below_minimum(request.group as usize) {
                return self.attempt(id, shared, clock);
            }
            let Redundancy::Erasure { data, .. } = self.redundancy else {
                unreachable!("only erasure coding reads before it writes");
            };
            return self.write_touched(id, data as usize, shared, clock);
        }
        self.count.client[usize::from(io.write)] += u64::from(io.bytes);
        request.written = 0;
        Outcome::Complete(id)
    }

    // ---- failures

    /// A leg fails, and with it those that its node would have passed on.
    fn fail_leg(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let mut next = id;
        while next != NONE {
            let leg = next;
            next = self.tasks[leg].chain;
            self.requests[shared.requests[leg].parent].has_failed = true;
            let outcome = self.end_leg(leg, shared, clock);
            debug_assert_eq!(outcome, Outcome::Pending, "a request with a failed leg is tried again");
        }
    }

    /// An operation of a node or a device fails.
    pub(super) fn fail_operation(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let io = &shared.requests[id];
        match io.role {
            Role::Leg => self.fail_leg(id, shared, clock),
            Role::Destage => {
                let bytes = io.bytes;
                shared.requests.release(id);
                self.leave_journal(self.tasks[id].device, bytes, shared, clock);
            }
            Role::Rebuild => self.stop_rebuilding(id, shared, clock),
            Role::RebuildRead => {
                self.pieces[io.parent].has_failed = true;
                self.rebuild_part_arrived(id, shared, clock);
            }
            Role::Request | Role::Operation | Role::Page => unreachable!("no device of a pool works on these"),
        }
    }

    /// A request is tried again, or a piece is rebuilt whose turn it is.
    pub fn retry(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        if shared.requests[id].role == Role::Rebuild {
            self.begin_rebuild(id, shared, clock);
            return Outcome::Pending;
        }
        self.attempt(id, shared, clock)
    }
}

/// Data fragments of a stripe, from `first` on in a circle; and the bytes in each.
struct Touched {
    first: usize,
    count: usize,
    range: u32,
}

/// A number that is as good as random for every pair, and always the same for it (the finalizer of MurmurHash3).
fn mix(one: u64, other: u64) -> u64 {
    let mut bits = one.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ other;
    bits = (bits ^ bits >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits = (bits ^ bits >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ bits >> 33
}
