//! Rebuilding: what a member lacks is read from others and written, piece by piece, many to many.

use super::data_placement::Job;
use super::device::DeviceState;
use super::networks::Traffic;
use super::{Outcome, Piece, Pool, Task};
use crate::clock::{Clock, Event};
use crate::ids::{Id, IoId, VdiskId};
use crate::storage::network::Network;
use crate::storage::request::{Issuer, NONE, Role, Step};
use crate::storage::shared::Shared;
use hypertwin_kernel::Nanos;
use hypertwin_models::storage::placement::replacement;
use hypertwin_models::storage::product::qos::Class;

impl Pool {
    /// Replaces the members of devices that have been away for the rebuild delay, if a majority of the metadata servers
    /// can decide it.
    pub fn detect(&mut self, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        if !self.has_majority(&shared.network) {
            // what is dead is known all the same, or not yet
            return if self.product.notices {
                Outcome::Resume
            } else {
                Outcome::Pending
            };
        }
        self.data.find_stuck();
        self.mark_out(&shared.network, clock.now);
        self.find_up();
        self.settle_moves();
        let mut load: Vec<u32> = self.devices.states.iter().map(|state| state.groups).collect();
        let mut bytes = self.data.bytes_by_device();
        for member in 0..self.data.members.len() {
            if self.may_replace(member) {
                self.replace(member, &mut load, &mut bytes, &shared.network);
            }
        }
        self.count_degraded(clock.now);
        self.queue_all();
        self.detect_from(clock.now + 1, clock);
        self.start_rebuilding(shared, clock);
        Outcome::Resume
    }

    /// Marks devices out that have been away for long. A pool that keeps most in marks none out while fewer than three
    /// quarters are in, and none in a rack that is away as a whole.
    fn mark_out(&mut self, network: &Network, now: Nanos) {
        let all = self.devices.states.iter().filter(|state| state.is_in);
        let (total, mut within) = (all.clone().count(), all.filter(|state| !state.is_out).count());
        for device in 0..self.devices.states.len() {
            let state = &self.devices.states[device];
            if !state.is_in || state.is_available || state.is_out || now < self.out_at(state) {
                continue;
            }
            let is_kept = || 4 * within < 3 * total || self.rack_is_away(device as u32, network);
            if self.product.keeps_most_in && is_kept() {
                continue;
            }
            self.devices.states[device].is_out = true;
            within -= 1;
        }
    }

    /// Whether all nodes are away that are in the rack of a device, and others are in other racks.
    fn rack_is_away(&self, device: u32, network: &Network) -> bool {
        let rack = self.nodes[self.devices.node_of(device)].rack;
        let (here, elsewhere): (Vec<_>, Vec<_>) = self.nodes.iter().partition(|node| node.rack == rack);
        let is_away = |node: &&super::Node| !network.state(node.host).is_reachable();
        !elsewhere.is_empty() && here.iter().all(is_away)
    }

    /// When a device that is away is marked out, but not before others take it for dead.
    fn out_at(&self, state: &DeviceState) -> Nanos {
        match self.product.replaces_failed_disks && state.failures > 0 {
            true => state.away_since,
            false => state
                .away_since
                .saturating_add(self.rebuild.delay_ns)
                .max(state.noticed_at),
        }
    }

    /// Queues all data to copy.
    pub(super) fn queue_all(&mut self) {
        let devices = &self.devices;
        self.rebuild
            .queue_all(&self.data, |device| devices.is_available(device));
    }

    /// Whether the pool does without the device of a member, and enough others are there to copy from: what is on that
    /// device is given up only then, as it may come back.
    pub(super) fn may_replace(&self, member: usize) -> bool {
        let (data, group) = (&self.data, self.data.group_of(member));
        self.devices.states[data.device(member) as usize].is_out
            && !data.is_lost(group)
            && data.spare(group) >= 0
            && data.has_votes(group)
    }

    /// Moves a member to another device, where it lacks everything; it stays where it is if there is none, or none with
    /// space.
    fn replace(&mut self, member: usize, load: &mut [u32], bytes: &mut [u64], network: &Network) {
        let old = self.data.device(member);
        let is_gone = self.devices.states[old as usize].gone > 0 || network.state(self.host_of(old)).is_gone;
        let data = &mut self.data;
        let layout = data.layout_of_member(member);
        if !data.has_domains(layout) {
            return;
        }
        let own = layout.member_bytes;
        let others = data.members_of(data.group_of(member)).filter(|&other| other != member);
        let others: Vec<u32> = others.flat_map(|other| data.places(other)).collect();
        let states = &mut self.devices.states;
        let full = self.rebuild.full;
        let has_space = |device: usize| (bytes[device] + own) as f64 <= full * data.capacities[device];
        let is_usable = |device: usize| states[device].is_available && has_space(device);
        let stream = &mut self.stream;
        // groups for its capacity
        let filled = |device: usize| f64::from(load[device]) / data.capacities[device];
        let Some(device) = replacement(&data.domain_of, &others, is_usable, filled, |n| stream.below(n)) else {
            return;
        };
        states[old as usize].groups -= 1;
        states[device as usize].groups += 1;
        load[old as usize] -= 1;
        load[device as usize] += 1;
        bytes[old as usize] -= own;
        bytes[device as usize] += own;
        self.count.abandoned += data.members[member].due;
        self.count.due += own;
        data.move_to(member, device, !is_gone);
    }

    /// Schedules the next check for devices that have been away for the rebuild delay, no earlier than `from`.
    pub(super) fn detect_from(&mut self, from: Nanos, clock: &mut Clock) {
        let states = self.devices.states.iter();
        let away = states.filter(|state| !state.is_available && state.groups > 0);
        let ends = away.map(|state| self.out_at(state)).filter(|&end| end < Nanos::MAX);
        // what has been away for longer could not be replaced, and cannot be until something else changes
        let next = match from > clock.now {
            true => ends.filter(|end| *end >= from).min(),
            false => ends.map(|end| end.max(from)).min(),
        };
        if let Some(at) = next {
            clock.at(at, Event::Detect(self.id));
        }
    }

    /// Begins as many jobs as may be done at a time.
    pub(super) fn start_rebuilding(&mut self, shared: &mut Shared, clock: &mut Clock) {
        if !self.has_majority(&shared.network) {
            return;
        }
        while let Some(job) = self.rebuild.start(&self.data) {
            self.next_pieces(job, shared, clock);
        }
        self.rebuild.note(clock.now);
    }

    /// More pieces of a job, as many as may be on their way at a time.
    fn next_pieces(&mut self, job: Job, shared: &mut Shared, clock: &mut Clock) {
        let due = *self.data.due_of(job);
        loop {
            let (unit, most) = (self.rebuild.unit, self.rebuild.at_a_time);
            let work = self.rebuild.work(job);
            let bytes = unit.min(due - work.bytes);
            if work.pieces == most || bytes == 0 {
                return;
            }
            work.pieces += 1;
            work.bytes += bytes;
            self.next_piece(job, bytes, shared, clock);
        }
    }

    /// The next piece of a job, when the throttles of the node that it is for and of those that it is read from allow.
    fn next_piece(&mut self, job: Job, bytes: u64, shared: &mut Shared, clock: &mut Clock) {
        let id = shared.requests.allocate(Issuer::Pool, VdiskId::new(NONE as usize));
        let (member, device) = (job.member, self.data.target(job));
        let io = &mut shared.requests[id];
        (io.role, io.bytes, io.write) = (Role::Rebuild, bytes as u32, true);
        let piece = Piece {
            job,
            class: match job.moves {
                true => Class::BestEffort,
                false => Class::Recovery,
            },
            has_failed: false,
        };
        let task = Task {
            device,
            chain: NONE,
            sender: None,
            back_ns: 0,
        };
        self.pieces.set(id, piece);
        self.tasks.set(id, task);
        let sources = self.data.sources_of(job);
        let layout = self.data.layout_number(self.data.group_of(member));
        // a copy of what is there needs no decoding
        let is_coded = sources.first() != Some(&member);
        let coding_ns = if is_coded {
            self.coding[layout].rebuild_ns_per_byte
        } else {
            0.0
        };
        self.services.shard_ns.set(id, coding_ns * bytes as f64);
        let node = self.devices.node_of(device);
        let mut turn = self.nodes[node].rebuild_write.pass(clock.now, bytes).1.max(clock.now);
        for &source in &sources {
            let node = self.devices.node_of(self.data.device(source));
            turn = turn.max(self.nodes[node].rebuild_read.pass(clock.now, bytes).1);
        }
        // it starts when everything ahead of it has passed: its own bytes pass while it is read
        let own_ns = (bytes as f64 * 1e9 / self.rebuild.bytes_per_s) as Nanos;
        let mut at = turn.saturating_sub(own_ns).max(clock.now);
        if let Some(&first) = sources.first() {
            let state = &mut self.devices.states[self.data.device(first) as usize];
            at = at.max(state.rests_until);
            state.rests_until = at + self.rebuild.sleep_ns;
        }
        shared.requests.at(id, Step::Retry(self.id), at, clock);
    }

    /// A piece is read from the devices that have it.
    pub(super) fn begin_rebuild(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let (job, task) = (self.pieces[id].job, self.tasks[id]);
        if !self.is_wanted(job, task.device) || !self.devices.is_available(task.device) {
            self.stop_rebuilding(id, shared, clock);
            return;
        }
        let sources = self.data.sources_of(job);
        let is_copied = sources.first() == Some(&job.member);
        if !is_copied && sources.len() < self.data.layout_of_member(job.member).needed {
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

    /// Whether a job still writes to a device.
    fn is_wanted(&self, job: Job, device: u32) -> bool {
        match job.moves {
            true => self.data.moves.get(&job.member).is_some_and(|to| to.device == device),
            false => self.data.device(job.member) == device,
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
        let job = self.pieces[id].job;
        if !self.is_wanted(job, self.tasks[id].device) {
            self.stop_rebuilding(id, shared, clock);
            return Outcome::Pending;
        }
        self.count.rebuilt += bytes;
        let due = self.data.due_of(job);
        *due -= bytes;
        let is_done = *due == 0;
        if !is_done && !self.rebuild.work(job).stops {
            self.piece_is_back(id, shared);
            self.next_pieces(job, shared, clock);
            return Outcome::Pending;
        }
        if !is_done {
            self.stop_rebuilding(id, shared, clock);
            return Outcome::Pending;
        }
        self.piece_is_back(id, shared);
        self.rebuild.stop(job);
        let outcome = match job.moves {
            true => self.moved(job.member, clock),
            false => self.made_whole(job.member, clock.now),
        };
        self.start_rebuilding(shared, clock);
        outcome
    }

    /// A member lacks nothing any more.
    fn made_whole(&mut self, member: usize, now: Nanos) -> Outcome {
        self.data.members[member].is_new = false;
        let group = self.data.group_of(member);
        let (layout, whole) = (self.data.layout_of(group), self.data.whole(group));
        let may_resume = whole == layout.needed || whole == layout.minimum || layout.witnesses > 0;
        if whole == layout.width {
            self.data.degraded -= 1;
            self.note_history(now);
        }
        self.rebuild
            .promote(self.data.members_of(group), self.data.spare(group));
        if !self.data.moves.is_empty() {
            // what could not be read may be readable now
            self.queue_all();
        }
        match !self.suspended.is_empty() && may_resume {
            true => Outcome::Resume,
            false => Outcome::Pending,
        }
    }

    /// A piece is back, by whatever way: its bytes, and the number of those of its job that are still on their way.
    fn piece_is_back(&mut self, id: IoId, shared: &mut Shared) -> u32 {
        let bytes = u64::from(shared.requests[id].bytes);
        shared.requests.release(id);
        let work = self.rebuild.work(self.pieces[id].job);
        work.pieces -= 1;
        work.bytes -= bytes;
        work.pieces
    }

    /// A piece cannot be copied at present: when all of its job are back, that waits for another turn.
    pub(super) fn stop_rebuilding(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let job = self.pieces[id].job;
        if self.piece_is_back(id, shared) > 0 {
            self.rebuild.work(job).stops = true;
            return;
        }
        self.rebuild.stop(job);
        let is_there = |device: u32| self.devices.is_available(device);
        self.rebuild.queue(job, &self.data, is_there);
        self.rebuild.note(clock.now);
        self.start_rebuilding(shared, clock);
    }
}
