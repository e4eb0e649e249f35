//! Erasure coding: the fragments that a request reads, and those that it writes after what it has to read for them.

use super::{Outcome, Pool, Request};
use crate::clock::Clock;
use crate::ids::IoId;
use crate::storage::shared::Shared;
use hypertwin_models::storage::stripe::{Code, Part, Range, Reads};

impl Pool {
    /// Reads the fragments that a request touches, or enough others where one of them is not whole.
    pub(super) fn read_fragments(&mut self, id: IoId, code: Code, shared: &mut Shared, clock: &mut Clock) {
        let reads = self.reads(id, code, shared);
        self.send_reads(id, &reads.parts, shared, clock);
    }

    /// What a read reads.
    pub(super) fn reads(&self, id: IoId, code: Code, shared: &Shared) -> Reads {
        let group = self.requests[id].group as usize;
        code.reads(self.range_of(id, shared), |position| {
            self.data.is_readable(group, position)
        })
    }

    /// What a write has to read before it writes.
    pub(super) fn reads_before_write(&self, id: IoId, code: Code, shared: &Shared) -> Reads {
        let group = self.requests[id].group as usize;
        let is_readable = |position| self.data.is_readable(group, position);
        code.reads_before_write(self.range_of(id, shared), is_readable)
    }

    /// Writes data and parity after the reads that parity needs.
    pub(super) fn update_fragments(&mut self, id: IoId, code: Code, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        let reads = self.reads_before_write(id, code, shared);
        if reads.parts.is_empty() {
            return self.write_fragments(id, code, shared, clock);
        }
        self.send_reads(id, &reads.parts, shared, clock);
        Outcome::Pending
    }

    /// A write has read what it needs: its data and parity go out.
    pub(super) fn write_fragments(&mut self, id: IoId, code: Code, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        let writes = code.writes(self.range_of(id, shared));
        self.send_writes(id, &writes, shared, clock)
    }

    fn send_writes(&mut self, id: IoId, writes: &[Part], shared: &mut Shared, clock: &mut Clock) -> Outcome {
        let Request { client, traffic, .. } = self.requests[id];
        let group = self.requests[id].group as usize;
        self.requests[id].is_writing = true;
        // one part stands for having sent all
        shared.requests[id].parts = 1;
        for &Part { position, bytes } in writes {
            let bytes = bytes as u32;
            if self.takes_write(group, position, bytes) {
                let leg = self.new_leg(id, position, bytes, true, shared);
                shared.requests[id].parts += 1;
                if self.is_own(id, leg, shared) {
                    let osd = self.osd_of(leg, shared);
                    self.write_on_osd(leg, osd, shared, clock);
                    continue;
                }
                self.send_data(leg, client, traffic, shared, clock);
            }
        }
        self.count.below_minimum += u64::from(self.data.up(group) < self.data.layout_of(group).minimum);
        match shared.requests.part_done(id) {
            true => self.all_legs_done(id, shared, clock),
            false => Outcome::Pending,
        }
    }

    /// Where a request is in its group.
    pub(super) fn range_of(&self, id: IoId, shared: &Shared) -> Range {
        let io = &shared.requests[id];
        let Request { place, group, .. } = self.requests[id];
        let span = self.data.layout_of(group as usize).span;
        Range {
            place: if self.osds.is_some() { place % span } else { place },
            bytes: u64::from(io.bytes),
            is_stream: io.sequential,
        }
    }
}
