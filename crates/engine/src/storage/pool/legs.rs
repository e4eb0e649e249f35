//! The way of a request through a pool: legs to the devices that serve it, and back.

use super::networks::Traffic;
use super::{Address, Outcome, Pool, Request, Task};
use crate::clock::Clock;
use crate::ids::{HostId, Id, IoId};
use crate::storage::request::{NONE, Role, Step};
use crate::storage::shared::Shared;
use hypertwin_cluster::{Flushes, Redundancy, WritePath};
use hypertwin_kernel::Nanos;
use hypertwin_models::storage::stripe::Part;

/// Time until a request to Ceph or vSAN is sent again after its connection broke (assumed).
const RESEND_NS: Nanos = 1_000_000_000;

impl Pool {
    // ---- from the client

    /// A request leaves its host for the pool.
    pub fn begin(&mut self, id: IoId, address: Address, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        let Address { client, key, place, .. } = address;
        let layout = &self.data.layouts[usize::from(address.layout)];
        let (group, first, object) = match &self.vsan {
            Some(_) => {
                let (group, first) = layout.component(key, place);
                (group, first, 0)
            }
            None => {
                let chunk = mix(key, place / layout.span);
                let (groups, width) = (layout.groups.len() as u64, layout.width as u64);
                // chunks of a group take turns in which of its copies comes first
                // of Ceph's, its primary always does
                let first = if self.osds.is_some() {
                    0
                } else {
                    (chunk / groups % width) as u8
                };
                (layout.groups.start as u32 + (chunk % groups) as u32, first, chunk)
            }
        };
        let request = Request {
            client,
            origin: client,
            is_by_gateway: false,
            traffic: Traffic::Client,
            group,
            first,
            object,
            holds_object: false,
            has_failed: false,
            is_writing: false,
            place,
            written: 0,
            since: clock.now,
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
        if self.needs_gateway(id, shared) {
            self.send_to_gateway(id, shared, clock);
            return Outcome::Pending;
        }
        self.attempt(id, shared, clock)
    }

    /// Whether a group has fewer whole members than a write or a read of it needs.
    pub(super) fn has_too_few(&self, group: usize, is_write: bool) -> bool {
        let layout = self.data.layout_of(group);
        let needs_minimum = is_write || self.product.reads_need_minimum;
        let enough = if needs_minimum { layout.minimum } else { layout.needed };
        !self.data.has(group, enough)
    }

    /// A request that failed, or that waited for its data to be available, is tried again.
    pub fn attempt(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        let io = &shared.requests[id];
        let request = &mut self.requests[id];
        (request.has_failed, request.is_writing) = (false, false);
        let (group, first, client) = (request.group as usize, request.first, request.client);
        if self.data.is_lost(group) {
            self.count.errors += 1;
            let at = clock.now + self.timeout_ns;
            shared.requests.at(id, Step::Host, at, clock);
            return Outcome::Pending;
        }
        let layout = self.data.layout_of(group);
        let is_blocked = self.product.needs_majority && !self.has_majority(&shared.network)
            || self.noticed_at > clock.now && self.asks_dead(id, io.write, clock.now);
        if is_blocked || self.has_too_few(group, io.write) {
            self.suspended.push(&mut shared.requests, id);
            return Outcome::Pending;
        }
        match (layout.code, io.write) {
            (None, false) => {
                let mut positions = layout.in_turn(first);
                let near = self.copy_in_site(group, first, client);
                let position = near.or_else(|| positions.find(|&position| self.data.is_readable(group, position)));
                let position = position.expect("enough members of the group are whole");
                let bytes = u64::from(io.bytes);
                self.send_reads(id, &[Part { position, bytes }], shared, clock);
                Outcome::Pending
            }
            (None, true) => {
                self.write_replicas(id, shared, clock);
                Outcome::Pending
            }
            (Some(code), _) if self.osds.is_some() => {
                self.send_to_primary(id, code, shared, clock);
                Outcome::Pending
            }
            (Some(code), true) if self.writes_log() => self.append(id, code.parity, shared, clock),
            (Some(code), false) => {
                self.read_fragments(id, code, shared, clock);
                Outcome::Pending
            }
            (Some(code), true) => self.update_fragments(id, code, shared, clock),
        }
    }

    /// Reads from some members of a request's group.
    pub(super) fn send_reads(&mut self, id: IoId, reads: &[Part], shared: &mut Shared, clock: &mut Clock) {
        shared.requests[id].parts = reads.len() as u32;
        let Request { client, traffic, .. } = self.requests[id];
        for &Part { position, bytes } in reads {
            let leg = self.new_leg(id, position, bytes as u32, false, shared);
            if self.is_own(id, leg, shared) {
                let disk = self.devices.disk(self.tasks[leg].device);
                shared.disks.queue(disk, leg, false, &mut shared.requests, clock);
                continue;
            }
            let node = self.host_of(self.tasks[leg].device);
            let arrival = clock.now + self.message_ns(traffic, &shared.network, client, node);
            shared.requests.at(leg, Step::Arrive(self.id), arrival, clock);
        }
    }

    pub(super) fn new_leg(&mut self, id: IoId, position: usize, bytes: u32, write: bool, shared: &mut Shared) -> IoId {
        let leg = shared.requests.part_of(id, Role::Leg);
        let io = &mut shared.requests[leg];
        (io.bytes, io.write) = (bytes, write);
        io.sync = write && (io.sync || self.flushes == Flushes::Always);
        let Request {
            client, group, traffic, ..
        } = self.requests[id];
        let device = self.data.device_at(group as usize, position);
        let task = Task {
            device,
            chain: NONE,
            sender: (shared.requests[id].role == Role::Primary).then(|| self.tasks[id].device),
            back_ns: self.message_ns(traffic, &shared.network, self.host_of(device), client),
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
        let layout = self.data.layout_of(group as usize);
        let minimum = layout.minimum;
        for position in layout.in_turn(first) {
            if self.takes_write(group as usize, position, bytes) {
                legs[count] = self.new_leg(id, position, bytes, true, shared);
                count += 1;
            }
        }
        let legs = &legs[..count];
        shared.requests[id].parts = count as u32;
        self.requests[id].is_writing = true;
        self.count.below_minimum += u64::from(count < minimum);
        if self.write_path == WritePath::Client {
            for &leg in legs {
                self.send_data(leg, client, Traffic::Client, shared, clock);
            }
            return;
        }
        for pair in legs.windows(2) {
            self.tasks[pair[0]].chain = pair[1];
        }
        self.send_data(legs[0], client, Traffic::Client, shared, clock);
    }

    /// Whether a member gets a write; one whose device is away lacks it from then on.
    pub(super) fn takes_write(&mut self, group: usize, position: usize, bytes: u32) -> bool {
        let missed = self.data.miss(group, position, u64::from(bytes));
        self.count.due += missed.unwrap_or(0);
        if !self.data.moves.is_empty() {
            self.count.due += self.data.write_again(group, position, u64::from(bytes));
        }
        missed.is_none()
    }

    /// The data of a leg go from a host to the leg's node.
    pub(super) fn send_data(
        &mut self,
        leg: IoId,
        from: HostId,
        traffic: Traffic,
        shared: &mut Shared,
        clock: &mut Clock,
    ) {
        let bytes = shared.requests[leg].bytes;
        let to = self.host_of(self.tasks[leg].device);
        let passed = self.transmit(traffic, (from, to), bytes, &mut shared.network, clock.now);
        let arrival = passed + self.message_ns(traffic, &shared.network, from, to);
        shared.requests.at(leg, Step::Arrive(self.id), arrival, clock);
    }

    /// The reply of a leg is back.
    pub fn leg_back(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        let io = &shared.requests[id];
        if io.write && io.role == Role::Leg {
            self.count.written += u64::from(io.bytes);
            self.requests[io.parent].written += u64::from(io.bytes);
        }
        self.end_leg(id, shared, clock)
    }

    pub(super) fn end_leg(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        let request = shared.requests[id].parent;
        shared.requests.release(id);
        match shared.requests.part_done(request) {
            true => self.all_legs_done(request, shared, clock),
            false => Outcome::Pending,
        }
    }

    pub(super) fn all_legs_done(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        let io = &shared.requests[id];
        if io.role == Role::Primary {
            self.primary_has_all(id, shared, clock);
            return Outcome::Pending;
        }
        self.unlock_object(id, shared, clock);
        let io = &shared.requests[id];
        let request = &mut self.requests[id];
        if request.has_failed {
            self.count.wasted += std::mem::take(&mut request.written);
            self.retry_later(id, shared, clock);
            return Outcome::Pending;
        }
        if io.write && !request.is_writing {
            // while it read, what it writes to may have gone
            if self.data.is_below_minimum(request.group as usize) {
                return self.attempt(id, shared, clock);
            }
            let code = self.data.layout_of(request.group as usize).code;
            let code = code.expect("only erasure coding reads before it writes");
            return self.write_fragments(id, code, shared, clock);
        }
        let (direction, since) = (usize::from(io.write), request.since);
        self.count.client[direction] += u64::from(io.bytes);
        request.written = 0;
        if io.write && self.writes_log() {
            self.stripe_later(id, shared, clock);
        }
        let later = match self.osds {
            Some(_) => self.back_from_gateway(id, shared, clock.now),
            None => None,
        };
        self.latencies[direction].record(later.unwrap_or(clock.now) - since);
        let Some(at) = later else {
            return Outcome::Complete(id);
        };
        shared.requests.at(id, Step::Host, at, clock);
        Outcome::Pending
    }

    // ---- failures

    /// A request that cannot be done now is tried again after the client's timeout; where what is dead becomes known,
    /// when it is sent anew.
    pub(super) fn retry_later(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        self.count.retries += 1;
        let wait_ns = match self.product.notices {
            true => self.timeout_ns.min(RESEND_NS),
            false => self.timeout_ns,
        };
        shared.requests.at(id, Step::Retry(self.id), clock.now + wait_ns, clock);
    }

    /// Whether a request needs a device that is away and not yet taken for dead: a write any member, a read of copies
    /// the first.
    fn asks_dead(&self, id: IoId, write: bool, now: Nanos) -> bool {
        let request = &self.requests[id];
        let group = request.group as usize;
        let layout = self.data.layout_of(group);
        let asked = match write || matches!(layout.redundancy, Redundancy::Erasure { .. }) {
            true => layout.width,
            false => 1,
        };
        let mut devices = layout
            .in_turn(request.first)
            .map(|position| self.data.device_at(group, position));
        devices.by_ref().take(asked).any(|device| {
            let state = &self.devices.states[device as usize];
            !state.is_available && now < state.noticed_at
        })
    }

    /// A leg fails, and with it those that its node would have passed on.
    pub(super) fn fail_leg(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
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
        self.answered(id, shared, clock);
        let io = &shared.requests[id];
        match io.role {
            Role::Leg => self.fail_leg(id, shared, clock),
            Role::Primary => self.fail_primary(id, shared, clock),
            Role::Log => self.fail_batch(id, shared, clock),
            Role::Request => self.retry_later(id, shared, clock),
            Role::Destage => {
                let bytes = io.bytes;
                shared.requests.release(id);
                self.destaged(self.tasks[id].device, bytes, shared, clock);
            }
            Role::Sweep => self.swept(id, shared, clock),
            Role::Rebuild => self.stop_rebuilding(id, shared, clock),
            Role::Scrub => self.scrubbed(id, false, shared, clock),
            Role::RebuildRead => {
                self.pieces[io.parent].has_failed = true;
                self.rebuild_part_arrived(id, shared, clock);
            }
            Role::Operation | Role::Page => unreachable!("no device of a pool works on these"),
        }
    }

    /// A request is tried again, a piece is rebuilt whose turn it is, or a stride is scrubbed.
    pub fn retry(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        if shared.requests[id].role == Role::Rebuild {
            self.begin_rebuild(id, shared, clock);
            return Outcome::Pending;
        }
        if shared.requests[id].role == Role::Scrub {
            self.scrub_due(id, shared, clock);
            return Outcome::Pending;
        }
        if self.needs_gateway(id, shared) {
            self.send_to_gateway(id, shared, clock);
            return Outcome::Pending;
        }
        self.attempt(id, shared, clock)
    }
}

/// A number that is as good as random for every pair, and always the same for it (the finalizer of MurmurHash3).
fn mix(one: u64, other: u64) -> u64 {
    let mut bits = one.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ other;
    bits = (bits ^ bits >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits = (bits ^ bits >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ bits >> 33
}
