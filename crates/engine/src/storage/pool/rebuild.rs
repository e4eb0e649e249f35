//! Rebuilding: what a member lacks is read from others and written, piece by piece, many to many.

use super::networks::Traffic;
use super::{Outcome, Piece, Pool, Task};
use crate::clock::{Clock, Event};
use crate::ids::{Id, IoId, VdiskId};
use crate::storage::request::{Issuer, NONE, Role, Step};
use crate::storage::shared::Shared;
use hypertwin_kernel::Nanos;
use hypertwin_models::storage::placement::replacement;
use hypertwin_models::storage::qos::Class;

impl Pool {
    /// Replaces the members of devices that have been away for the rebuild delay, if a majority of the metadata servers can
    /// decide it.
    pub fn detect(&mut self, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        if !self.has_majority(&shared.network) {
            return Outcome::Pending;
        }
        let mut load: Vec<u32> = self.devices.states.iter().map(|state| state.groups).collect();
        for member in 0..self.data.members.len() {
            let state = &self.devices.states[self.data.device(member) as usize];
            let is_awaited = state.is_available || clock.now < state.away_since.saturating_add(self.rebuild.delay_ns);
            if !is_awaited && !self.data.is_lost(self.data.group_of(member)) {
                self.replace(member, &mut load);
            }
        }
        self.count_degraded(clock.now);
        self.rebuild.queue_all(&self.data);
        self.detect_from(clock.now + 1, clock);
        self.start_rebuilding(shared, clock);
        Outcome::Resume
    }

    /// Moves a member to another device, where it lacks everything; it stays where it is if there is none.
    fn replace(&mut self, member: usize, load: &mut [u32]) {
        let data = &mut self.data;
        let others: Vec<u32> = data
            .members_of(data.group_of(member))
            .filter(|&other| other != member)
            .map(|other| data.device(other))
            .collect();
        let states = &mut self.devices.states;
        let is_usable = |device: usize| states[device].is_available;
        let stream = &mut self.stream;
        // groups for its capacity
        let filled = |device: usize| f64::from(load[device]) / data.capacities[device];
        let Some(device) = replacement(&data.domain_of, &others, is_usable, filled, |n| stream.below(n)) else {
            return;
        };
        let old = data.device(member);
        states[old as usize].groups -= 1;
        states[device as usize].groups += 1;
        load[old as usize] -= 1;
        load[device as usize] += 1;
        self.count.abandoned += data.members[member].due;
        self.count.due += data.layout_of_member(member).member_bytes;
        data.move_to(member, device);
    }

    /// Schedules the next check for devices that have been away for the rebuild delay, no earlier than `from`.
    pub(super) fn detect_from(&mut self, from: Nanos, clock: &mut Clock) {
        let states = self.devices.states.iter();
        let away = states.filter(|state| !state.is_available && state.groups > 0);
        let ends = away.map(|state| state.away_since.saturating_add(self.rebuild.delay_ns));
        // what has been away for longer could not be replaced, and cannot be until something else changes
        let next = match from > clock.now {
            true => ends.filter(|end| *end >= from).min(),
            false => ends.map(|end| end.max(from)).min(),
        };
        if let Some(at) = next {
            clock.at(at, Event::Detect(self.id));
        }
    }

    /// Rebuilds as many members as may be at a time, of groups that have enough whole members to read from.
    pub(super) fn start_rebuilding(&mut self, shared: &mut Shared, clock: &mut Clock) {
        if !self.has_majority(&shared.network) {
            return;
        }
        while let Some(member) = self.rebuild.start() {
            self.next_piece(member, shared, clock);
        }
        self.rebuild.note(clock.now);
    }

    /// The next piece of what a member lacks, when the throttles of its node and of those that it is read from allow.
    fn next_piece(&mut self, member: usize, shared: &mut Shared, clock: &mut Clock) {
        let id = shared.requests.allocate(Issuer::Pool, VdiskId::new(NONE as usize));
        let device = self.data.device(member);
        let bytes = self.data.members[member].due.min(self.rebuild.unit);
        let io = &mut shared.requests[id];
        (io.role, io.bytes, io.write) = (Role::Rebuild, bytes as u32, true);
        let piece = Piece {
            member: member as u32,
            class: Class::BestEffort,
            has_failed: false,
        };
        let task = Task {
            device,
            chain: NONE,
            back_ns: 0,
        };
        self.pieces.set(id, piece);
        self.tasks.set(id, task);
        let layout = self.data.layout_number(self.data.group_of(member));
        let coding_ns = self.coding[layout].rebuild_ns_per_byte * bytes as f64;
        self.services.coding_ns.set(id, coding_ns);
        let node = self.devices.node_of(device);
        let mut turn = self.nodes[node].rebuild_write.pass(clock.now, bytes).1.max(clock.now);
        for source in self.data.sources(member) {
            let node = self.devices.node_of(self.data.device(source));
            turn = turn.max(self.nodes[node].rebuild_read.pass(clock.now, bytes).1);
        }
        // it starts when everything ahead of it has passed: its own bytes pass while it is read
        let own_ns = (bytes as f64 * 1e9 / self.rebuild.bytes_per_s) as Nanos;
        let at = turn.saturating_sub(own_ns).max(clock.now);
        shared.requests.at(id, Step::Retry(self.id), at, clock);
    }

    /// A piece is read from the devices that have it.
    pub(super) fn begin_rebuild(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let (member, task) = (self.pieces[id].member as usize, self.tasks[id]);
        let sources = self.data.sources(member);
        let is_there = self.data.members[member].is_up && self.data.device(member) == task.device;
        if sources.len() < self.data.layout_of_member(member).needed || !is_there {
            self.stop_rebuilding(id, shared, clock);
            return;
        }
        shared.requests[id].parts = sources.len() as u32;
        for source in sources {
            let device = self.data.device(source);
            let read = shared.requests.part_of(id, Role::RebuildRead);
            shared.requests[read].write = false;
            self.tasks.set(read, Task { device, ..task });
            self.enqueue(read, shared, clock);
        }
    }

    /// A device has read its part of a piece, which goes to the node that writes it.
    pub(super) fn send_rebuild_part(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let io = &shared.requests[id];
        self.count.rebuild_read += u64::from(io.bytes);
        let from = self.host_of(self.tasks[id].device);
        let to = self.host_of(self.tasks[io.parent].device);
        let passed = self.transmit(Traffic::Nodes, (from, to), io.bytes, &mut shared.network, clock.now);
        let at = passed + self.message_ns(Traffic::Nodes, &shared.network, from, to);
        shared.requests.at(id, Step::Arrive(self.id), at, clock);
    }

    /// A part of a piece has reached the node that writes it, or never will.
    pub(super) fn rebuild_part_arrived(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let piece = shared.requests[id].parent;
        shared.requests.release(id);
        if !shared.requests.part_done(piece) {
            return;
        }
        let device = self.tasks[piece].device;
        if self.pieces[piece].has_failed || !self.devices.is_available(device) {
            self.stop_rebuilding(piece, shared, clock);
            return;
        }
        self.enqueue(piece, shared, clock);
    }

    /// A piece is written.
    pub(super) fn rebuilt(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        let bytes = u64::from(shared.requests[id].bytes);
        let member = self.pieces[id].member as usize;
        if self.data.device(member) != self.tasks[id].device {
            self.stop_rebuilding(id, shared, clock);
            return Outcome::Pending;
        }
        shared.requests.release(id);
        self.count.rebuilt += bytes;
        self.data.members[member].due -= bytes;
        if self.data.members[member].due > 0 {
            self.next_piece(member, shared, clock);
            return Outcome::Pending;
        }
        self.rebuild.stop(member);
        let group = self.data.group_of(member);
        let (layout, whole) = (self.data.layout_of(group), self.data.whole(group));
        let may_resume = whole == layout.needed || whole == layout.minimum;
        if whole == layout.width {
            self.data.degraded -= 1;
            self.history.note(self.data.degraded, clock.now);
        }
        self.rebuild
            .promote(self.data.members_of(group), self.data.spare(group));
        let resumes = !self.suspended.is_empty() && may_resume;
        self.start_rebuilding(shared, clock);
        if resumes { Outcome::Resume } else { Outcome::Pending }
    }

    /// A piece cannot be rebuilt at present: its member waits for another turn.
    pub(super) fn stop_rebuilding(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        shared.requests.release(id);
        let member = self.pieces[id].member as usize;
        self.rebuild.stop(member);
        self.rebuild.queue(member, &self.data);
        self.rebuild.note(clock.now);
        self.start_rebuilding(shared, clock);
    }
}
