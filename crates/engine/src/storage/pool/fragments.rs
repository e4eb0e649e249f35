//! Erasure coding: the fragments that a request reads, and those that it writes after what it has to read for them.

use super::{Outcome, Pool, Request};
use crate::clock::Clock;
use crate::ids::IoId;
use crate::storage::shared::Shared;
use hypertwin_models::storage::stripe::{Update, completed, update};

impl Pool {
    /// Reads the fragments that a request touches, or enough others where one of them is not whole.
    pub(super) fn read_fragments(&mut self, id: IoId, data: usize, shared: &mut Shared, clock: &mut Clock) {
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
    pub(super) fn write_fragments(
        &mut self,
        id: IoId,
        data: usize,
        parity: usize,
        shared: &mut Shared,
        clock: &mut Clock,
    ) -> Outcome {
        let io = &shared.requests[id];
        let layout = self.data.layout_of(self.requests[id].group as usize);
        if io.sequential || u64::from(io.bytes) >= layout.fragment * data as u64 {
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
        let mut reads: Vec<usize> = (0..data + parity).filter(|&position| is_wanted(position)).collect();
        if !reads.iter().all(|&position| self.data.is_readable(group, position)) {
            reads = self.data.readable(group);
        }
        self.send_reads(id, &reads, range, shared, clock);
        Outcome::Pending
    }

    /// The reads of a small write are done: its data and parity go out.
    pub(super) fn write_touched(&mut self, id: IoId, data: usize, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        let Touched { first, count, range } = self.touched(id, data, shared);
        let is_written = |position: &usize| *position >= data || (*position + data - first) % data < count;
        let width = self.data.layout_of(self.requests[id].group as usize).width;
        let positions = (0..width).filter(is_written);
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
        let Request { place, group, .. } = self.requests[id];
        let bytes = u64::from(shared.requests[id].bytes);
        let fragment = self.data.layout_of(group as usize).fragment;
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

    pub(super) fn send_writes(
        &mut self,
        id: IoId,
        writes: &[(usize, u32)],
        shared: &mut Shared,
        clock: &mut Clock,
    ) -> Outcome {
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
        let group = group as usize;
        self.count.below_minimum += u64::from(self.data.up(group) < self.data.layout_of(group).minimum);
        match shared.requests.part_done(id) {
            true => self.all_legs_done(id, shared, clock),
            false => Outcome::Pending,
        }
    }

    /// Data fragments of its stripe that a request touches.
    fn touched(&self, id: IoId, data: usize, shared: &Shared) -> Touched {
        let bytes = u64::from(shared.requests[id].bytes);
        let Request { place, group, .. } = self.requests[id];
        let fragment = self.data.layout_of(group as usize).fragment;
        let count = (bytes.div_ceil(fragment) as usize).min(data);
        Touched {
            first: (place / fragment) as usize % data,
            count,
            range: bytes.div_ceil(count as u64) as u32,
        }
    }
}

/// Data fragments of a stripe, from `first` on in a circle; and the bytes in each.
struct Touched {
    first: usize,
    count: usize,
    range: u32,
}
