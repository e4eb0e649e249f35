//! Deep scrub of a pool of Ceph: in an interval, every member of every group that is whole reads all that it has.
//!
//! Each member reads its own data, a stride at a time, through its OSD's shard at best effort. An OSD reads for a few
//! groups at a time: what falls due beyond that waits, one stride for each group, and more of them are not read at all.
//!
//! **Invariant.** What fell due was read, given up since its group was not whole any more, is on its way, waits, or
//! came too late.

use super::data_placement::Job;
use super::scrub_queue::Line;
use super::{Piece, Pool, Task};
use crate::clock::Clock;
use crate::ids::{Id, IoId, VdiskId};
use crate::storage::request::{Issuer, NONE, Role, Step};
use crate::storage::shared::Shared;
use hypertwin_models::storage::product::qos::Class;

impl Pool {
    /// The first strides of all layouts that hold data are on their way.
    pub fn start_scrub(&mut self, shared: &mut Shared, clock: &mut Clock) {
        let layouts = self.scrub.as_ref().map_or(0, |_| self.data.layouts.len());
        for layout in 0..layouts {
            self.next_stride(layout, shared, clock);
        }
    }

    fn next_stride(&mut self, layout: usize, shared: &mut Shared, clock: &mut Clock) {
        let scrub = self.scrub.as_mut().expect("strides are of a scrub");
        let Some((member, bytes, due)) = scrub.next(layout) else {
            return;
        };
        let id = shared.requests.allocate(Issuer::Pool, VdiskId::new(NONE as usize));
        let io = &mut shared.requests[id];
        (io.role, io.bytes) = (Role::Scrub, bytes as u32);
        let piece = Piece {
            job: Job { member, moves: false },
            class: Class::BestEffort,
            has_failed: false,
        };
        self.pieces.set(id, piece);
        shared.requests.at(id, Step::Retry(self.id), due, clock);
    }

    /// A stride falls due: its OSD reads it if its group is whole and not too many others are read there.
    pub(super) fn scrub_due(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let member = self.pieces[id].job.member;
        let group = self.data.group_of(member);
        self.next_stride(self.data.layout_number(group), shared, clock);
        let device = self.data.device(member);
        let task = Task {
            device,
            chain: NONE,
            sender: None,
            back_ns: 0,
        };
        self.tasks.set(id, task);
        if !self.may_scrub(id) {
            shared.requests.release(id);
            return;
        }
        self.count.scrub_due += u64::from(shared.requests[id].bytes);
        let osd = self.osd_of(id, shared);
        let groups = self.devices.states[device as usize].groups;
        let scrub = self.scrub.as_mut().expect("strides are of a scrub");
        let line = &mut scrub.osds[osd];
        if line.now < scrub.most {
            line.now += 1;
            self.enqueue(id, shared, clock);
        } else if line.waiting.len() < groups {
            line.waiting.push(&mut shared.requests, id);
        } else {
            shared.requests.release(id);
        }
    }

    /// Whether a stride is where it was to be read, of a group that is whole and does not move.
    fn may_scrub(&self, id: IoId) -> bool {
        let member = self.pieces[id].job.member;
        let group = self.data.group_of(member);
        let is_whole = self.data.degraded == 0 || self.data.whole(group) == self.data.layout_of(group).width;
        let mut members = self.data.members_of(group);
        let moves = !self.data.moves.is_empty() && members.any(|member| self.data.moves.contains_key(&member));
        is_whole && !moves && self.data.device(member) == self.tasks[id].device
    }

    /// A stride is read, or never will be: its OSD goes on with what waits.
    pub(super) fn scrubbed(&mut self, id: IoId, is_read: bool, shared: &mut Shared, clock: &mut Clock) {
        let osd = self.osd_of(id, shared);
        let bytes = u64::from(shared.requests[id].bytes);
        match is_read {
            true => self.count.scrubbed += bytes,
            false => self.count.scrub_skipped += bytes,
        }
        shared.requests.release(id);
        self.scrub_line(osd).now -= 1;
        while let Some(next) = self.scrub_line(osd).waiting.pop(&shared.requests) {
            if self.may_scrub(next) {
                self.scrub_line(osd).now += 1;
                self.enqueue(next, shared, clock);
                return;
            }
            self.count.scrub_skipped += u64::from(shared.requests[next].bytes);
            shared.requests.release(next);
        }
    }

    fn scrub_line(&mut self, osd: usize) -> &mut Line {
        &mut self.scrub.as_mut().expect("strides are of a scrub").osds[osd]
    }
}
