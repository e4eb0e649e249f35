//! Disks of arrays, pools and hosts that swap: operations wait in a queue, and take as long as the kind of disk says.

use super::queue::{Fifo, Waits};
use super::request::{PerIo, Requests, Role, Step};
use crate::clock::Clock;
use crate::ids::{DiskId, HostId, IoId, PoolId, Span, Table};
use hypertwin_kernel::{Nanos, Stream, TimeAverage};
use hypertwin_models::storage::disk::{CacheLevel, Disk, Flash, Operation, Pass};
use hypertwin_models::storage::link::Link;
use hypertwin_models::storage::product::vsan::resync::ResyncShare;
use std::mem::offset_of;

/// Who uses a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskOwner {
    /// An array, by its number.
    Array(usize),
    Pool(PoolId),
    /// A host, which swaps to it.
    Swap(HostId),
}

/// Disks of one kind in one array or pool.
pub struct DiskSet {
    pub owner: DiskOwner,
    pub disk: Disk,
    /// Operations that one of them works on at a time.
    pub depth: u32,
    /// Rebuilding is held back beside everything else.
    pub adapts_resync: bool,
    pub stream: Stream,
}

/// One disk.
// in this order: an operation that does not wait needs all but the last line of the cache
#[repr(C, align(64))]
pub struct DiskState {
    set: u32,
    used: u32,
    /// Flash: its channels, and the transfers beside them.
    channels: Channels,
    link: Link,
    /// Operations at work.
    pub busy: TimeAverage,
    queue: Fifo,
    /// Background operations: all others go first.
    background: Fifo,
    /// The channel whose turn it is to be written to, where they take turns.
    turn: u32,
    /// It has failed. Operations at work still end; its owner checks this then.
    pub has_failed: bool,
    /// Its last operation was at random, so that one in sequence has to seek: of a hard disk.
    is_away: bool,
    /// Read and written since measuring began.
    pub bytes: [u64; 2],
    pub waits: Waits,
    /// Operations in the queues.
    pub queued: TimeAverage,
    /// What only some drives have.
    special: Option<Box<Special>>,
    /// Where rebuilding is held back.
    resync: Option<Box<Resync>>,
    /// What handles synchronous writes beside other operations.
    synchronous: Link,
}

/// Rebuilding, where it is held back beside everything else.
#[derive(Default)]
struct Resync {
    share: ResyncShare,
    /// Its operations that wait, and how many are at work.
    queue: Fifo,
    used: u32,
}

const _: () = assert!(offset_of!(DiskState, waits.waited) <= 192 && size_of::<DiskState>() <= 256);

/// The state of what only some drives have: flushes, a write cache, stalls.
struct Special {
    /// Synchronous writes that the flush under way is for, and those that wait for the next.
    flushing: Fifo,
    unflushed: Fifo,
    /// Time of all channels for those that wait.
    unflushed_ns: u64,
    /// Flushes, one after another.
    flushes: Link,
    /// Where a flush is no queued command: when all operations are done that were there as the last flush ended, which
    /// the next waits for, and whether it does.
    flush_after: Nanos,
    is_due: bool,
    /// When all operations that it has taken are done.
    done_at: Nanos,
    cache: CacheLevel,
    /// Bytes to write until it stalls.
    until_stall: f64,
}

/// Channels of flash, each of which works on operations one after the other; on reads first, if it suspends what it
/// writes.
struct Channels {
    all: Box<[Channel]>,
    /// Service that all gave together, unfinished work included.
    busy_ns: u64,
}

/// A channel of flash.
#[derive(Clone, Copy, Default)]
struct Channel {
    /// When it has done all that it was given, and all reads among that.
    free_at: Nanos,
    reads_until: Nanos,
}

impl Channels {
    fn new(count: usize) -> Self {
        Self {
            all: vec![Channel::default(); count].into(),
            busy_ns: 0,
        }
    }

    /// A channel gets work at `now`: when it is done.
    #[inline]
    fn occupy(&mut self, channel: usize, now: Nanos, work_ns: u64) -> Nanos {
        let channel = &mut self.all[channel];
        channel.free_at = channel.free_at.max(now) + work_ns;
        self.busy_ns += work_ns;
        channel.free_at
    }

    /// A channel gets a read at `now`, for which it suspends what it writes: when the read is done.
    #[inline]
    fn occupy_first(&mut self, channel: usize, now: Nanos, work_ns: u64) -> Nanos {
        self.occupy(channel, now, work_ns);
        let channel = &mut self.all[channel];
        channel.reads_until = channel.reads_until.max(now) + work_ns;
        channel.reads_until
    }

    /// Work of all channels that is not done yet.
    fn left_ns(&self, now: Nanos) -> u64 {
        let all = self.all.iter();
        all.map(|channel| channel.free_at.saturating_sub(now)).sum()
    }
}

/// All disks.
pub struct Disks {
    disks: Table<DiskId, DiskState>,
    sets: Vec<DiskSet>,
    /// Where the visits of sweeps go on.
    passes: PerIo<Pass>,
}

impl Disks {
    pub fn new() -> Self {
        Self {
            disks: Table::new(),
            sets: Vec::new(),
            passes: PerIo::new(),
        }
    }

    /// `count` new disks of a set.
    pub fn add(&mut self, set: DiskSet, count: usize) -> Span<DiskId> {
        self.add_in_turn(vec![(set, count)], 1)
    }

    /// New disks of several sets, in turn: the given number of each, then again, `times` in all.
    pub fn add_in_turn(&mut self, sets: Vec<(DiskSet, usize)>, times: usize) -> Span<DiskId> {
        let (first, first_set) = (self.disks.next_id(), self.sets.len());
        let (sets, counts): (Vec<DiskSet>, Vec<usize>) = sets.into_iter().unzip();
        self.sets.extend(sets);
        for _ in 0..times {
            for (number, &count) in counts.iter().enumerate() {
                self.push(first_set + number, count);
            }
        }
        Span::new(first, times * counts.iter().sum::<usize>())
    }

    fn push(&mut self, number: usize, count: usize) {
        let set = &mut self.sets[number];
        // how long it is occupied, flash says
        let link = Link::new(f64::INFINITY, 0);
        let channels = set.disk.flash().map_or(0, |flash| flash.channels as usize);
        for _ in 0..count {
            let special = set.disk.is_special().then(|| {
                let until_stall = set.disk.stalls.map_or(0.0, |stalls| stalls.next(set.stream.uniform()));
                Box::new(Special {
                    flushing: Fifo::default(),
                    unflushed: Fifo::default(),
                    unflushed_ns: 0,
                    flushes: link,
                    flush_after: 0,
                    is_due: false,
                    done_at: 0,
                    cache: CacheLevel::default(),
                    until_stall,
                })
            });
            self.disks.push(DiskState {
                set: number as u32,
                used: 0,
                channels: Channels::new(channels),
                link,
                synchronous: link,
                busy: TimeAverage::new(),
                queue: Fifo::default(),
                background: Fifo::default(),
                turn: 0,
                has_failed: false,
                is_away: false,
                bytes: [0; 2],
                waits: Waits::default(),
                queued: TimeAverage::new(),
                special,
                resync: set.adapts_resync.then(Box::default),
            });
        }
    }

    pub fn all(&self) -> &[DiskState] {
        &self.disks
    }

    pub fn span(&self, disks: Span<DiskId>) -> &[DiskState] {
        &self.disks[disks]
    }

    pub fn get(&self, disk: DiskId) -> &DiskState {
        &self.disks[disk]
    }

    /// Who uses a disk.
    #[inline]
    pub fn owner(&self, disk: DiskId) -> DiskOwner {
        self.sets[self.disks[disk].set as usize].owner
    }

    /// Random numbers of the set that a disk is in.
    #[inline]
    pub fn stream(&mut self, disk: DiskId) -> &mut Stream {
        &mut self.sets[self.disks[disk].set as usize].stream
    }

    /// Whether a disk is flash.
    #[inline]
    pub fn is_flash(&self, disk: DiskId) -> bool {
        self.sets[self.disks[disk].set as usize].disk.flash().is_some()
    }

    /// Operations that a disk works on at a time.
    pub fn depth(&self, disk: DiskId) -> u32 {
        self.sets[self.disks[disk].set as usize].depth
    }

    /// A disk fails or works again.
    pub fn set_failed(&mut self, disk: DiskId, has_failed: bool) {
        self.disks[disk].has_failed = has_failed;
    }

    /// An operation goes to a disk; `background` if no request waits for it.
    #[inline]
    pub fn queue(&mut self, disk: DiskId, id: IoId, background: bool, requests: &mut Requests, clock: &mut Clock) {
        let io = &mut requests[id];
        io.disk = disk;
        io.since = clock.now;
        let is_rebuilding = io.role.is_rebuilding();
        let state = &mut self.disks[disk];
        if is_rebuilding && let Some(resync) = &mut state.resync {
            resync.queue.push(requests, id);
            self.start_resync(disk, requests, clock);
            let state = &mut self.disks[disk];
            state.queued.set(clock.now, f64::from(state.all_waiting()));
            return;
        }
        if state.used < self.sets[state.set as usize].depth {
            state.waits.add(0);
            self.start(id, requests, clock);
            return;
        }
        let queue = if background {
            &mut state.background
        } else {
            &mut state.queue
        };
        queue.push(requests, id);
        state.queued.set(clock.now, f64::from(state.all_waiting()));
    }

    /// Rebuilding that waits begins as far as it may: when nothing else is there, or when its share is due.
    fn start_resync(&mut self, disk: DiskId, requests: &mut Requests, clock: &mut Clock) {
        loop {
            let state = &mut self.disks[disk];
            let depth = self.sets[state.set as usize].depth;
            let is_alone = state.is_rebuilding_only();
            let Some(resync) = state.resync.as_mut().filter(|_| state.used < depth) else {
                return;
            };
            if !is_alone && !resync.share.is_due(clock.now) {
                return;
            }
            let Some(next) = resync.queue.pop(requests) else {
                return;
            };
            state.waits.add(clock.now - requests[next].since);
            self.start(next, requests, clock);
        }
    }

    /// A visit of a sweep goes to a disk; no request waits for it.
    pub fn queue_pass(&mut self, disk: DiskId, id: IoId, pass: Pass, requests: &mut Requests, clock: &mut Clock) {
        self.passes.set(id, pass);
        self.queue(disk, id, true, requests, clock);
    }

    /// Whether a disk works on nothing.
    pub fn is_idle(&self, disk: DiskId) -> bool {
        self.disks[disk].used == 0
    }

    fn start(&mut self, id: IoId, requests: &mut Requests, clock: &mut Clock) {
        let io = &requests[id];
        let state = &mut self.disks[io.disk];
        let set = &mut self.sets[state.set as usize];
        let operation = Operation {
            bytes: u64::from(io.bytes),
            write: io.write,
            sequential: io.sequential,
            is_interrupted: std::mem::replace(&mut state.is_away, !io.sequential),
            // what is held back nobody may choose, unless there is nothing else
            waiting: match set.adapts_resync && state.is_rebuilding_only() {
                true => state.all_waiting(),
                false => state.waiting(),
            },
        };
        let now = clock.now;
        // of flash: of its channels or its controller, whichever works longer
        let mut work_ns = 0;
        let end = match set.disk.flash() {
            None => {
                let (seek, rotation) = (set.stream.uniform(), set.stream.uniform());
                let pass = (io.role == Role::Sweep).then(|| self.passes[id]);
                let service_ns = match pass {
                    Some(pass) => set.disk.pass_ns(pass, seek, rotation),
                    None => set.disk.service_ns(operation, seek, rotation),
                };
                // a synchronous write after another in sequence finds that its sector has just passed, unless it waited
                // here
                let has_passed = io.sync && io.sequential && io.since == now && !operation.is_interrupted;
                let turn_ns = if has_passed { set.disk.revolution_ns() } else { 0 };
                work_ns = service_ns;
                now + turn_ns + service_ns
            }
            Some(flash) => {
                let (count, busy_ns) = match set.disk.is_special() {
                    true => state.special_work(&set.disk, flash, operation, &mut set.stream, now),
                    false => flash.work(operation),
                };
                let first = match operation.write && flash.writes_in_turn {
                    true => {
                        let next = (state.turn + count) % flash.channels;
                        std::mem::replace(&mut state.turn, next)
                    }
                    false => set.stream.below(flash.channels.into()) as u32,
                };
                let is_first = flash.suspends && !operation.write;
                let mut busy_until = 0;
                for number in 0..count {
                    let channel = ((first + number) % flash.channels) as usize;
                    let until = match is_first {
                        true => state.channels.occupy_first(channel, now, busy_ns),
                        false => state.channels.occupy(channel, now, busy_ns),
                    };
                    busy_until = busy_until.max(until);
                }
                let transfer_ns = flash.transfer_ns(operation);
                let transferred = match io.sync && set.disk.flush_ns == 0 {
                    true => state.transfer_synchronous(&set.disk, flash.synchronous_ns(operation), transfer_ns, now),
                    false => state.link.occupy(now, transfer_ns).1,
                };
                if set.adapts_resync {
                    work_ns = (u64::from(count) * busy_ns / u64::from(flash.channels)).max(transfer_ns);
                }
                match operation.write {
                    true => flash.acknowledged_ns(operation, (count, busy_ns), transferred, busy_until),
                    false => transferred.max(busy_until),
                }
            }
        };
        if let Some(special) = &mut state.special {
            special.done_at = special.done_at.max(end);
            if set.disk.write_cache.is_some() {
                special.cache.busy_until(end);
            }
        }
        if set.adapts_resync && requests[id].role.is_rebuilding() {
            state.begin_resync(now, work_ns);
        }
        state.used += 1;
        state.busy.set(now, f64::from(state.used));
        requests.at(id, Step::Disk, end, clock);
    }

    /// A disk is done with an operation, and takes the next: background operations first if `background_first`.
    #[inline]
    pub fn finish(&mut self, id: IoId, background_first: bool, requests: &mut Requests, clock: &mut Clock) {
        let io = &requests[id];
        let state = &mut self.disks[io.disk];
        debug_assert!(state.used > 0, "a disk works on what it finishes");
        state.used -= 1;
        state.busy.set(clock.now, f64::from(state.used));
        if !state.has_failed {
            state.bytes[usize::from(io.write)] += u64::from(io.bytes);
        }
        if self.sets[state.set as usize].adapts_resync && self.goes_to_resync(id, requests, clock) {
            return;
        }
        let state = &mut self.disks[requests[id].disk];
        let (first, second) = match background_first {
            true => (&mut state.background, &mut state.queue),
            false => (&mut state.queue, &mut state.background),
        };
        if let Some(next) = first.pop(requests).or_else(|| second.pop(requests)) {
            state.waits.add(clock.now - requests[next].since);
            state.queued.set(clock.now, f64::from(state.all_waiting()));
            self.start(next, requests, clock);
        }
    }

    /// A disk that holds rebuilding back is done with an operation: whether rebuilding takes its place.
    fn goes_to_resync(&mut self, id: IoId, requests: &mut Requests, clock: &mut Clock) -> bool {
        let io = &requests[id];
        let (disk, is_rebuilding) = (io.disk, io.role.is_rebuilding());
        let resync = self.disks[disk].resync.as_mut();
        let resync = resync.expect("a disk that holds rebuilding back counts it");
        resync.used -= u32::from(is_rebuilding);
        if resync.queue.is_empty() {
            return false;
        }
        self.start_resync(disk, requests, clock);
        let state = &mut self.disks[disk];
        state.queued.set(clock.now, f64::from(state.all_waiting()));
        state.used >= self.sets[state.set as usize].depth
    }

    /// Whether a disk is done with an operation for good: if it is a synchronous write and the disk has to flush, it is
    /// when that is over, see [`Self::flushed`]. Writes that come during a flush share the next one.
    #[inline]
    pub fn is_stable(&mut self, id: IoId, requests: &mut Requests, clock: &mut Clock) -> bool {
        let io = &requests[id];
        !io.sync || self.is_stable_at_once(id, requests, clock)
    }

    fn is_stable_at_once(&mut self, id: IoId, requests: &mut Requests, clock: &mut Clock) -> bool {
        let io = &requests[id];
        let state = &mut self.disks[io.disk];
        let disk = &self.sets[state.set as usize].disk;
        let Some(special) = state.special.as_mut().filter(|_| disk.flush_ns > 0) else {
            return true;
        };
        debug_assert!(io.write, "only writes are synchronous");
        let operation = Operation {
            bytes: u64::from(io.bytes),
            write: true,
            sequential: io.sequential,
            is_interrupted: false,
            waiting: 0,
        };
        special.unflushed_ns += disk.flash().map_or(0, |flash| flash.program_ns(operation));
        special.unflushed.push(requests, id);
        if special.flushing.is_empty() && !special.is_due {
            state.flush_next(disk, requests, clock);
        }
        false
    }

    /// A flush is over: the writes that it was for. The next follows, if some wait for it. Or one begins that was due.
    pub fn flushed(&mut self, disk: DiskId, requests: &mut Requests, clock: &mut Clock) -> Fifo {
        let state = &mut self.disks[disk];
        let disk = &self.sets[state.set as usize].disk;
        let special = state.special.as_mut().expect("a disk that flushes is special");
        if std::mem::take(&mut special.is_due) {
            state.flush(disk, requests, clock);
            return Fifo::default();
        }
        let stable = std::mem::take(&mut special.flushing);
        special.flush_after = special.done_at;
        if !special.unflushed.is_empty() {
            state.flush_next(disk, requests, clock);
        }
        stable
    }

    /// Whether the first background operation of a disk has waited for longer than any other.
    #[inline]
    pub fn background_is_older(&self, disk: DiskId, requests: &Requests) -> bool {
        let since = |queue: &Fifo| queue.first().map(|id| requests[id].since);
        let state = &self.disks[disk];
        match (since(&state.background), since(&state.queue)) {
            (Some(background), Some(other)) => background < other,
            (background, _) => background.is_some(),
        }
    }

    /// Takes out all operations that wait for a disk: they fail.
    pub fn drain(&mut self, disk: DiskId, requests: &Requests, dropped: &mut Vec<IoId>, now: Nanos) {
        let state = &mut self.disks[disk];
        dropped.extend(std::iter::from_fn(|| state.queue.pop(requests)));
        dropped.extend(std::iter::from_fn(|| state.background.pop(requests)));
        if let Some(resync) = &mut state.resync {
            dropped.extend(std::iter::from_fn(|| resync.queue.pop(requests)));
        }
        state.queued.set(now, 0.0);
    }

    /// Measures from now.
    pub fn reset(&mut self, now: Nanos) {
        for disk in self.disks.iter_mut() {
            disk.busy.reset(now);
            disk.queued.reset(now);
            disk.waits = Waits::default();
            disk.bytes = [0; 2];
            disk.channels.busy_ns = disk.channels.left_ns(now);
            disk.link.reset(now);
            disk.synchronous.reset(now);
            if let Some(special) = &mut disk.special {
                special.flushes.reset(now);
            }
        }
    }
}

impl DiskState {
    /// As [`Flash::work`], for a drive with a write cache or stalls. A drive that stalls does so first.
    fn special_work(
        &mut self,
        disk: &Disk,
        flash: &Flash,
        operation: Operation,
        stream: &mut Stream,
        now: Nanos,
    ) -> (u32, u64) {
        let special = self.special.as_mut().expect("each disk of a special set has its state");
        if !operation.write {
            return flash.work(operation);
        }
        if let Some(stalls) = &disk.stalls {
            special.until_stall -= operation.bytes as f64;
            if special.until_stall <= 0.0 {
                special.until_stall = stalls.next(stream.uniform());
                self.link.occupy(now, stalls.length_ns);
                for channel in 0..self.channels.all.len() {
                    self.channels.occupy(channel, now, stalls.length_ns);
                }
            }
        }
        match &disk.write_cache {
            Some(cache) if special.cache.takes(cache, operation.bytes, now) => flash.cached_work(cache, operation),
            _ => flash.work(operation),
        }
    }

    /// When a synchronous write is transferred that keeps others of its kind waiting for `holds_ns`; on SATA, all
    /// operations.
    fn transfer_synchronous(&mut self, disk: &Disk, holds_ns: u64, transfer_ns: u64, now: Nanos) -> Nanos {
        let after_ns = holds_ns - transfer_ns;
        if disk.flushes_alone {
            return self.link.occupy(now, holds_ns).1 - after_ns;
        }
        let transferred = self.link.occupy(now, transfer_ns).1;
        let handled = self.synchronous.occupy(transferred - transfer_ns, holds_ns).1;
        transferred.max(handled - after_ns)
    }

    /// A flush is needed: it begins, once what it has to wait for is done.
    fn flush_next(&mut self, disk: &Disk, requests: &mut Requests, clock: &mut Clock) {
        let special = self.special.as_mut().expect("a disk that flushes is special");
        if disk.flushes_alone && special.flush_after > clock.now {
            special.is_due = true;
            let first = special.unflushed.first().expect("a flush is for some writes");
            requests.at(first, Step::Flushed, special.flush_after, clock);
        } else {
            self.flush(disk, requests, clock);
        }
    }

    /// All synchronous writes that wait are flushed.
    fn flush(&mut self, disk: &Disk, requests: &mut Requests, clock: &mut Clock) {
        let special = self.special.as_mut().expect("a disk that flushes is special");
        special.flushing = std::mem::take(&mut special.unflushed);
        let flush_ns = disk.flush_ns + std::mem::take(&mut special.unflushed_ns);
        let end = special.flushes.occupy(clock.now, flush_ns).1;
        if disk.flushes_alone {
            self.link.occupy(clock.now, flush_ns);
        }
        let first = special.flushing.first().expect("a flush is for some writes");
        requests.at(first, Step::Flushed, end, clock);
    }

    /// Operations that it may choose from.
    #[inline]
    fn waiting(&self) -> u32 {
        self.queue.len() + self.background.len()
    }

    /// With those that are held back.
    #[inline]
    fn all_waiting(&self) -> u32 {
        self.waiting() + self.resync.as_ref().map_or(0, |resync| resync.queue.len())
    }

    /// Whether there is nothing but rebuilding, where that is held back.
    fn is_rebuilding_only(&self) -> bool {
        self.waiting() == 0 && self.resync.as_ref().is_some_and(|resync| resync.used == self.used)
    }

    /// An operation of rebuilding begins, where that is held back, which takes `work_ns` of the disk.
    fn begin_resync(&mut self, now: Nanos, work_ns: u64) {
        let is_alone = self.is_rebuilding_only();
        let resync = self
            .resync
            .as_mut()
            .expect("a disk that holds rebuilding back counts it");
        resync.used += 1;
        if !is_alone {
            resync.share.begin(now, work_ns);
        }
    }

    /// Whether it works on nothing.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.used == 0
    }

    /// The fraction of `duration_ns`, which ends now, in which it was busy: of flash, its channels, its controller or
    /// its flushes, whichever most.
    pub fn utilization(&self, now: Nanos, duration_ns: f64) -> f64 {
        let Channels { all, busy_ns } = &self.channels;
        if all.is_empty() {
            return self.busy.mean(now);
        }
        let channels_ns = (busy_ns - self.channels.left_ns(now)) as f64 / all.len() as f64;
        let flushes_ns = self.special.as_ref().map_or(0, |special| special.flushes.busy_ns(now));
        let controller_ns = self.link.busy_ns(now).max(self.synchronous.busy_ns(now));
        channels_ns.max(controller_ns.max(flushes_ns) as f64) / duration_ns
    }
}
