//! Committing on an OSD of Ceph: one thread puts all transactions that wait into the log at once, and then the next.
//!
//! A transaction waits until its data are on the device, a flush included where the drive needs one. Small writes ride
//! in the log with their data, and reach their place on the device later. Too much of that, and writes wait until some
//! has.

use super::osds::{Commit, Deferred};
use super::{Pool, Task};
use crate::clock::Clock;
use crate::ids::IoId;
use crate::storage::request::{NONE, Role};
use crate::storage::shared::Shared;
use hypertwin_kernel::Nanos;
use hypertwin_models::storage::product::ceph::{LOG_BLOCK, LOG_BYTES};
use hypertwin_models::storage::product::qos::Class;

impl Pool {
    /// A shard of an OSD has done a write: its copies go out, and it goes to the device or into the log.
    pub(super) fn write_on_osd(&mut self, id: IoId, osd: usize, shared: &mut Shared, clock: &mut Clock) {
        self.pass_on(id, shared, clock);
        let (bytes, device) = (shared.requests[id].bytes, self.tasks[id].device);
        if !self.commit_mut(osd).defers(bytes) {
            // before the log says that they are there
            shared.requests[id].sync = true;
            let disk = self.devices.disk(device);
            shared.disks.queue(disk, id, false, &mut shared.requests, clock);
            return;
        }
        let deferred = self.deferred_mut(device);
        if deferred.is_full() || !deferred.has_room(bytes) {
            deferred.queue.push(&mut shared.requests, id);
            return;
        }
        deferred.bytes += u64::from(bytes);
        self.wait_for_commit(id, osd, shared, clock);
    }

    /// The data of a write are on its device, or may ride in the log.
    pub(super) fn commit(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let osd = self.osd_of(id, shared);
        self.wait_for_commit(id, osd, shared, clock);
    }

    fn wait_for_commit(&mut self, id: IoId, osd: usize, shared: &mut Shared, clock: &mut Clock) {
        let commit = self.commit_mut(osd);
        shared.requests[id].since = clock.now;
        commit.waiting.push(&mut shared.requests, id);
        commit.length.set(clock.now, f64::from(commit.waiting.len()));
        self.begin_batch(osd, shared, clock);
    }

    /// The thread takes all that wait, if it has nothing to do.
    fn begin_batch(&mut self, osd: usize, shared: &mut Shared, clock: &mut Clock) {
        let commit = self.commit_mut(osd);
        if commit.log != NONE {
            return;
        }
        commit.batch = std::mem::take(&mut commit.waiting);
        let Some(first) = commit.batch.first() else {
            return;
        };
        let mut bytes = 0_u64;
        let mut next = first;
        while next != NONE {
            let io = &shared.requests[next];
            let deferred = if commit.defers(io.bytes) { io.bytes } else { 0 };
            bytes += u64::from(LOG_BYTES + deferred);
            commit.waits.add(clock.now - io.since);
            next = io.next;
        }
        let log = shared.requests.part_of(first, Role::Log);
        let io = &mut shared.requests[log];
        io.bytes = bytes.next_multiple_of(LOG_BLOCK.into()).min(u32::MAX.into()) as u32;
        io.parts = commit.batch.len();
        (io.parent, io.write, io.sync, io.sequential) = (NONE, true, true, true);
        commit.log = log;
        commit.length.set(clock.now, 0.0);
        let task = Task {
            chain: NONE,
            ..self.tasks[first]
        };
        self.tasks.set(log, task);
        let queue = self.osds.as_ref().expect("only OSDs commit").committer(osd);
        self.enqueue_at(queue, log, Class::Client, shared, clock);
    }

    /// The thread has put a batch together: it is written.
    pub(super) fn write_log(&mut self, log: IoId, shared: &mut Shared, clock: &mut Clock) {
        let osd = self.osd_of_log(log);
        self.commit_mut(osd).busy.set(clock.now, 1.0);
        let device = self.tasks[log].device;
        let disk = match &self.flash {
            Some(flash) => flash.journal_of(self.devices.node_of(device), device),
            None => self.devices.disk(device),
        };
        // the log is in sequence, but the head of a hard disk that works may have been elsewhere
        shared.requests[log].sequential = shared.disks.is_flash(disk) || shared.disks.get(disk).is_idle();
        shared.disks.queue(disk, log, false, &mut shared.requests, clock);
    }

    /// A batch is in the log: its writes are done.
    pub(super) fn committed(&mut self, log: IoId, shared: &mut Shared, clock: &mut Clock) {
        let osd = self.end_batch(log, shared, clock.now);
        let mut batch = std::mem::take(&mut self.commit_mut(osd).batch);
        while let Some(id) = batch.pop(&shared.requests) {
            if self.commit_mut(osd).defers(shared.requests[id].bytes) {
                self.destage(id, shared, clock);
            }
            self.reply(id, shared, clock);
        }
        self.begin_batch(osd, shared, clock);
    }

    /// A batch will never be in the log: its writes fail.
    pub(super) fn fail_batch(&mut self, log: IoId, shared: &mut Shared, clock: &mut Clock) {
        let osd = self.end_batch(log, shared, clock.now);
        let mut batch = std::mem::take(&mut self.commit_mut(osd).batch);
        while let Some(id) = batch.pop(&shared.requests) {
            let (bytes, device) = (shared.requests[id].bytes, self.tasks[id].device);
            let was_deferred = self.commit_mut(osd).defers(bytes);
            self.fail_leg(id, shared, clock);
            if was_deferred {
                self.reached_place(device, bytes, shared, clock);
            }
        }
        self.begin_batch(osd, shared, clock);
    }

    /// The log's own write is over; returns its OSD.
    fn end_batch(&mut self, log: IoId, shared: &mut Shared, now: Nanos) -> usize {
        let osd = self.osd_of_log(log);
        let commit = self.commit_mut(osd);
        commit.log = NONE;
        commit.busy.set(now, 0.0);
        shared.requests.release(log);
        osd
    }

    /// The OSD whose log is written.
    fn osd_of_log(&self, log: IoId) -> usize {
        let osds = self.osds.as_ref().expect("only OSDs commit");
        let mut of_device = osds.of_device(self.tasks[log].device);
        let osd = of_device.find(|&osd| osds.all[osd].commit.log == log);
        osd.expect("the log of an OSD is written on its device")
    }

    /// Deferred data have reached their place, or never will: room for writes that wait.
    pub(super) fn reached_place(&mut self, device: u32, bytes: u32, shared: &mut Shared, clock: &mut Clock) {
        self.deferred_mut(device).bytes -= u64::from(bytes);
        loop {
            let deferred = self.deferred_mut(device);
            let Some(first) = deferred.queue.first() else { return };
            let bytes = shared.requests[first].bytes;
            if !deferred.has_room(bytes) {
                return;
            }
            deferred.queue.pop(&shared.requests);
            deferred.bytes += u64::from(bytes);
            self.commit(first, shared, clock);
        }
    }

    /// Takes out all writes that wait for the log of a device's OSDs, whose host is down: they fail.
    pub(super) fn drain_commits(&mut self, device: u32, shared: &Shared, dropped: &mut Vec<IoId>) {
        let Some(osds) = &mut self.osds else { return };
        let deferred = &mut osds.deferred[device as usize];
        dropped.extend(std::iter::from_fn(|| deferred.queue.pop(&shared.requests)));
        for osd in osds.of_device(device) {
            let commit = &mut osds.all[osd].commit;
            while let Some(id) = commit.waiting.pop(&shared.requests) {
                let bytes = shared.requests[id].bytes;
                if commit.defers(bytes) {
                    osds.deferred[device as usize].bytes -= u64::from(bytes);
                }
                dropped.push(id);
            }
        }
    }

    fn deferred_mut(&mut self, device: u32) -> &mut Deferred {
        &mut self.osds.as_mut().expect("only OSDs defer").deferred[device as usize]
    }

    #[inline]
    fn commit_mut(&mut self, osd: usize) -> &mut Commit {
        &mut self.osds.as_mut().expect("only OSDs commit").all[osd].commit
    }
}
