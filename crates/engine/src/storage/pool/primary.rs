//! Erasure codes of Ceph: a request goes to the primary OSD of its group, which has the others read or write their
//! fragments.
//!
//! The primary's part of a request is a record of its own between the request and its legs. It visits a messenger,
//! which is charged with the messages of the client and of all peers, and a shard; legs go out; when they are back, it
//! codes what there is to code, writes, and replies. Its own fragment needs no message.

use super::networks::Traffic;
use super::{Outcome, Pool, Request, Task};
use crate::clock::Clock;
use crate::ids::IoId;
use crate::storage::request::{NONE, Role, Step};
use crate::storage::shared::Shared;
use hypertwin_models::storage::stripe::{Code, Reads};

/// What the next visit of a primary's part to its shard is for.
const BEGIN: u8 = 0;
const GO_ON: u8 = 1;

impl Pool {
    /// A client sends a request to the primary of its group: the first member that can be read.
    pub(super) fn send_to_primary(&mut self, id: IoId, code: Code, shared: &mut Shared, clock: &mut Clock) {
        let group = self.requests[id].group as usize;
        let mut positions = 0..code.data + code.parity;
        let position = positions.find(|&position| self.data.is_readable(group, position));
        let position = position.expect("enough members of the group are whole");
        self.requests[id].first = position as u8;
        self.requests[id].is_writing = true;
        shared.requests[id].parts = 1;
        let primary = shared.requests.part_of(id, Role::Primary);
        let device = self.data.device_at(group, position);
        let (client, host) = (self.requests[id].client, self.host_of(device));
        let task = Task {
            device,
            chain: NONE,
            sender: None,
            back_ns: self.message_ns(Traffic::Client, &shared.network, host, client),
        };
        self.tasks.set(primary, task);
        let request = Request {
            client: host,
            origin: host,
            traffic: Traffic::Nodes,
            is_writing: false,
            ..self.requests[id]
        };
        self.requests.set(primary, request);
        shared.requests[primary].stage = BEGIN;
        self.charge_primary(primary, code, shared);
        if shared.requests[id].write {
            self.send_data(primary, client, Traffic::Client, shared, clock);
            return;
        }
        let arrival = clock.now + self.message_ns(Traffic::Client, &shared.network, client, host);
        shared.requests.at(primary, Step::Arrive(self.id), arrival, clock);
    }

    /// Sets what the first visit of a primary's part to messenger and shard costs.
    fn charge_primary(&mut self, id: IoId, code: Code, shared: &mut Shared) {
        let own = usize::from(self.requests[id].first);
        let (reads, writes) = match shared.requests[id].write {
            false => (self.reads(id, code, shared), Vec::new()),
            true => (
                self.reads_before_write(id, code, shared),
                code.writes(self.range_of(id, shared)),
            ),
        };
        let cost = self.services.osd_cost();
        let mut messages_ns = cost.of_message(shared.requests[id].bytes);
        let mut shard_ns = cost.coded;
        for (parts, is_write) in [(&reads.parts, false), (&writes, true)] {
            for part in parts {
                let bytes = part.bytes as u32;
                // its own part needs no message, and no visit of its own
                match (part.position == own, is_write) {
                    (true, _) => shard_ns += cost.of_operation(is_write, bytes),
                    (false, false) => messages_ns += cost.of_sub_read(bytes),
                    (false, true) => messages_ns += cost.of_message(bytes),
                }
            }
        }
        if reads.parts.is_empty() {
            shard_ns += self.coding_of(id, &reads, shared);
        }
        self.services.messages_ns.set(id, messages_ns);
        self.services.shard_ns.set(id, shard_ns);
    }

    /// Work of coding that follows when a primary has read.
    fn coding_of(&self, id: IoId, reads: &Reads, shared: &Shared) -> f64 {
        let io = &shared.requests[id];
        let coding = &self.coding[self.data.layout_number(self.requests[id].group as usize)];
        let decode_ns = coding.rebuild_ns_per_byte * reads.decoded as f64;
        if !io.write {
            return decode_ns;
        }
        let updated = u64::from(io.bytes).saturating_sub(reads.coded);
        let encode_ns = coding.stripe_ns_per_byte * reads.coded as f64;
        decode_ns + encode_ns + coding.update_ns_per_byte * updated as f64
    }

    /// The shard of a primary has worked on its part of a request.
    pub(super) fn serve_primary(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let group = self.requests[id].group as usize;
        let layout = self.data.layout_of(group);
        let code = layout.code.expect("only codes have primaries of their own");
        let io = &mut shared.requests[id];
        let has_begun = std::mem::replace(&mut io.stage, GO_ON) == GO_ON;
        if !io.write && has_begun {
            self.reply(id, shared, clock);
            return;
        }
        let is_write = io.write;
        if self.has_too_few(group, is_write) {
            self.again(id, shared, clock);
            return;
        }
        if io.write && has_begun {
            self.write_from_primary(id, code, shared, clock);
            return;
        }
        let reads = match io.write {
            false => self.reads(id, code, shared),
            true => self.reads_before_write(id, code, shared),
        };
        if reads.parts.is_empty() {
            self.write_from_primary(id, code, shared, clock);
            return;
        }
        let coding_ns = self.coding_of(id, &reads, shared);
        self.services.shard_ns.set(id, coding_ns);
        self.send_reads(id, &reads.parts, shared, clock);
    }

    fn write_from_primary(&mut self, id: IoId, code: Code, shared: &mut Shared, clock: &mut Clock) {
        let outcome = self.write_fragments(id, code, shared, clock);
        debug_assert_eq!(outcome, Outcome::Pending, "the reply is on its way");
    }

    /// All that a primary waited for is back.
    pub(super) fn primary_has_all(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let request = &self.requests[id];
        if request.has_failed || !self.devices.is_available(self.tasks[id].device) {
            self.fail_primary(id, shared, clock);
            return;
        }
        let is_done = request.is_writing || !shared.requests[id].write && self.services.shard_ns[id] <= 0.0;
        match is_done {
            true => self.reply(id, shared, clock),
            false => self.enqueue(id, shared, clock),
        }
    }

    /// A primary, or a member that it needs, fails: the client tries again.
    pub(super) fn fail_primary(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        self.count.wasted += std::mem::take(&mut self.requests[id].written);
        self.fail_leg(id, shared, clock);
    }

    /// A primary finds too few members to go on with: its request waits for more.
    fn again(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let request = shared.requests[id].parent;
        shared.requests.release(id);
        self.unlock_object(request, shared, clock);
        let outcome = self.attempt(request, shared, clock);
        debug_assert_eq!(outcome, Outcome::Pending, "it waits, or is on its way again");
    }

    /// Reads or writes that a primary does itself go to its device without a message; `false` if a leg is another's.
    pub(super) fn is_own(&self, id: IoId, leg: IoId, shared: &Shared) -> bool {
        shared.requests[id].role == Role::Primary && self.tasks[leg].device == self.tasks[id].device
    }
}
