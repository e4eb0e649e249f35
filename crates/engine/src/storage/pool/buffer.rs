//! The disk groups of vSAN's original architecture: cache devices whose write buffers are overwritten in place and
//! swept to the devices behind them in order of address; those of hard disks cache reads, too.
//!
//! What is in a buffer is known by its amount: for each device, how much of what is written there is dirty. A write is
//! as likely to be to a dirty place.
//!
//! **The start.** Buffers take minutes or hours to fill, but a run takes seconds. They begin at the level from which
//! they are swept, or with all that is ever written if that is less. Until measuring begins, every write and every
//! visit of a sweep counts several times, so that a visit moves a fixed small part of the buffer. The level then
//! reaches its steady state, or the brim, in thousands of I/Os instead of millions. From then on each counts once.
//!
//! **Slow levels settle during the warm-up.** Until the warm-up ends, each write counts several times. A buffer that
//! takes hours to fill therefore settles in seconds (`storage/pool/buffer.rs`). After the warm-up, each write counts
//! once.

use super::super::queue::Fifo;
use super::super::request::Requests;
use crate::ids::{DiskId, IoId, Span};
use hypertwin_kernel::Stream;
use hypertwin_models::storage::array::hit_ratio;
use hypertwin_models::storage::destaging::{Visit, at_head};
use hypertwin_models::storage::disk::Pass;
use hypertwin_models::storage::product::vsan::LINE;

/// The part of a buffer that the visits of all devices behind it move before measuring begins.
const SETTLING_STEP: f64 = 1.0 / 32.0;

/// How fast the mean size of writes follows them.
const FORGETTING: f64 = 1.0 / 64.0;

/// All disk groups, by the numbers of their cache devices.
pub struct DiskGroups {
    groups: Vec<Group>,
    /// Per device of the pool.
    devices: Vec<Swept>,
    per_node: usize,
    /// Of one group, in bytes: its buffer, the level from which it is swept, its read cache.
    buffer: f64,
    from: f64,
    read_cache: u64,
    /// Whether levels are still on their way to where they stay.
    is_settling: bool,
    stream: Stream,
    pub count: BufferCount,
}

/// What disk groups did since measuring began.
#[derive(Clone, Copy, Debug, Default)]
pub struct BufferCount {
    /// Writes, and those of them that overwrote what was in a buffer.
    pub writes: u64,
    pub overwritten: u64,
    /// Reads, and those of them from the buffer or the read cache.
    pub reads: u64,
    pub hits: u64,
    /// Bytes that were swept.
    pub swept: u64,
}

/// One disk group.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// Dirty bytes.
    level: f64,
    /// Writes that wait for room.
    queue: Fifo,
    devices: usize,
}

/// What of a device is in its group's buffer.
#[derive(Clone, Copy, Debug)]
struct Swept {
    group: u32,
    capacity: f64,
    /// Bytes on it that are read or written, and those of them that are written.
    used: f64,
    written: f64,
    /// The part of `used` that is read here: other copies are read for the rest, and parity is not.
    read: f64,
    /// Bytes in the buffer, and those of them that a visit writes.
    dirty: f64,
    in_flight: f64,
    /// Bytes for which one that is written to it counts, and one of a visit.
    pace: f64,
    /// Mean bytes of a write.
    block: f64,
    is_sweeping: bool,
    /// It has done something else since the last visit.
    is_interrupted: bool,
}

impl Swept {
    /// The share of what is written on it that is in the buffer.
    fn share(&self) -> f64 {
        if self.written > 0.0 {
            (self.dirty / self.written).min(1.0)
        } else {
            0.0
        }
    }

    /// The next visit of the sweep.
    fn visit(&self) -> Visit {
        let line = (LINE as f64).max(self.block);
        Visit::next(line, self.block, at_head(self.share()))
    }
}

impl DiskGroups {
    /// `per_node` groups in each node, to which its devices are dealt; `capacities` are those of all devices.
    pub fn new(
        group_of: impl Fn(usize) -> usize,
        per_node: usize,
        capacities: &[f64],
        (buffer, read_cache): (u64, u64),
        from_pct: f64,
        stream: Stream,
    ) -> Self {
        let devices: Vec<Swept> = capacities
            .iter()
            .enumerate()
            .map(|(device, &capacity)| Swept {
                group: group_of(device) as u32,
                capacity,
                used: 0.0,
                written: 0.0,
                read: 0.0,
                dirty: 0.0,
                in_flight: 0.0,
                pace: 1.0,
                block: 4_096.0,
                is_sweeping: false,
                is_interrupted: false,
            })
            .collect();
        let count = devices
            .iter()
            .map(|device| device.group as usize + 1)
            .max()
            .unwrap_or(0)
            // the last ones of a node may have no device
            .next_multiple_of(per_node);
        let mut groups = vec![
            Group {
                level: 0.0,
                queue: Fifo::default(),
                devices: 0,
            };
            count
        ];
        devices
            .iter()
            .for_each(|device| groups[device.group as usize].devices += 1);
        Self {
            groups,
            devices,
            per_node,
            buffer: buffer as f64,
            from: buffer as f64 * from_pct / 100.0,
            read_cache,
            is_settling: true,
            stream,
            count: BufferCount::default(),
        }
    }

    /// Data of a virtual disk are on a device: `used` bytes, of which `read` are read here, and all are written if
    /// `is_written`.
    pub fn add_data(&mut self, device: u32, used: f64, read: f64, is_written: bool) {
        let device = &mut self.devices[device as usize];
        device.used += used;
        device.read += read;
        device.written += if is_written { used } else { 0.0 };
    }

    /// Buffers have the level at which runs begin; writes are of `block` bytes on average.
    pub fn fill(&mut self, block: f64) {
        let mut written = vec![0.0; self.groups.len()];
        for device in &self.devices {
            written[device.group as usize] += device.written;
        }
        for device in &mut self.devices {
            let all = written[device.group as usize];
            let share = if all > 0.0 { (self.from / all).min(1.0) } else { 0.0 };
            device.dirty = share * device.written;
            device.block = block;
            self.groups[device.group as usize].level += device.dirty;
        }
    }

    /// Measures from now: levels change as they do. One that the last step took below the level from which it is swept,
    /// or where it was full, is raised to that, if so much is written.
    pub fn reset(&mut self) {
        if std::mem::take(&mut self.is_settling) {
            for number in 0..self.groups.len() {
                self.settle(number);
            }
        }
        self.count = BufferCount::default();
    }

    /// The level of a group from now on.
    fn settle(&mut self, number: usize) {
        let group = &mut self.groups[number];
        let is_full = group.level > (1.0 - SETTLING_STEP) * self.buffer;
        let stays_at = if is_full { self.buffer } else { self.from };
        let mut clean = 0.0;
        for device in self.devices.iter_mut().filter(|device| device.group as usize == number) {
            // of what a visit under way takes out, it is bringing its bytes only
            let pace = std::mem::replace(&mut device.pace, 1.0);
            let more = device.in_flight * (1.0 - 1.0 / pace);
            device.in_flight -= more;
            group.level -= more;
            clean += device.written - device.dirty;
        }
        let missing = (stays_at - group.level).clamp(0.0, clean.max(0.0));
        group.level += missing;
        for device in self.devices.iter_mut().filter(|device| device.group as usize == number) {
            device.dirty += missing * (device.written - device.dirty) / clean.max(1.0);
        }
    }

    /// The devices behind a group.
    fn behind(&self, group: usize) -> impl Iterator<Item = &Swept> {
        self.devices.iter().filter(move |device| device.group as usize == group)
    }

    /// The cache device of a device, as one of `disks`.
    #[inline]
    pub fn cache_of(&self, device: u32, disks: Span<DiskId>) -> DiskId {
        disks.at(self.devices[device as usize].group as usize)
    }

    /// Takes room for a write to a device, or lets it wait and returns `false`.
    pub fn enter(&mut self, device: u32, id: IoId, requests: &mut Requests) -> bool {
        let group = self.devices[device as usize].group as usize;
        if !self.groups[group].queue.is_empty() || !self.take(device, id, requests) {
            self.groups[group].queue.push(requests, id);
            return false;
        }
        true
    }

    /// The first write of a group that waits, if there is room for it now; `device_of` says which device it is for.
    pub fn next(&mut self, group: usize, requests: &Requests, device_of: impl Fn(IoId) -> u32) -> Option<IoId> {
        let first = self.groups[group].queue.first()?;
        if !self.take(device_of(first), first, requests) {
            return None;
        }
        self.groups[group].queue.pop(requests)
    }

    /// Takes room for a write, unless it overwrites what is there; whether there was.
    fn take(&mut self, number: u32, id: IoId, requests: &Requests) -> bool {
        let io = &requests[id];
        let bytes = f64::from(io.bytes);
        let device = &mut self.devices[number as usize];
        // a stream comes to dirty places only where all are
        let overwrites = match io.sequential {
            true => device.share() >= 1.0,
            false => self.stream.uniform() < device.share(),
        };
        if !overwrites {
            let group = &mut self.groups[device.group as usize];
            let weight = (bytes * device.pace).min((self.buffer / 16.0).max(bytes));
            if group.level >= 1.0 && group.level + weight > self.buffer {
                return false;
            }
            group.level += weight;
            device.dirty += weight;
            device.written = device.written.max(bytes);
            if device.dirty > device.written {
                // places that no working set is known of
                if self.is_settling {
                    group.level -= device.dirty - device.written;
                    device.dirty = device.written;
                } else {
                    device.written = device.dirty;
                }
            }
        }
        // what a stream writes lies together
        let extent = if io.sequential { bytes.max(LINE as f64) } else { bytes };
        device.block += (extent - device.block) * FORGETTING;
        self.count.writes += 1;
        self.count.overwritten += u64::from(overwrites);
        true
    }

    /// Whether a read of a device is served by its cache device.
    #[inline]
    pub fn hits(&mut self, number: u32) -> bool {
        let device = &mut self.devices[number as usize];
        self.count.reads += 1;
        let buffered = if device.used > 0.0 {
            device.dirty / device.used
        } else {
            0.0
        };
        let drawn = self.stream.uniform();
        if drawn < buffered {
            self.count.hits += 1;
            return true;
        }
        let group = device.group;
        if self.read_cache > 0 {
            let read: f64 = self.behind(group as usize).map(|other| other.read).sum();
            if self.stream.uniform() < hit_ratio(self.read_cache, read as u64) {
                self.count.hits += 1;
                return true;
            }
        }
        self.interrupt(number);
        false
    }

    /// A device does something else than the visits of its sweep.
    pub fn interrupt(&mut self, device: u32) {
        self.devices[device as usize].is_interrupted = true;
    }

    /// Whether sweeping goes before reads, at a device that could do either: never at the level from which it is swept,
    /// always when the buffer is full.
    pub fn is_urgent(&mut self, device: u32) -> bool {
        let group = &self.groups[self.devices[device as usize].group as usize];
        let room = self.buffer - self.from;
        let share = if room > 0.0 {
            (group.level - self.from) / room
        } else {
            1.0
        };
        !group.queue.is_empty() || share > 0.0 && self.stream.uniform() < share
    }

    /// The group of a device.
    #[inline]
    pub fn group_of(&self, device: u32) -> usize {
        self.devices[device as usize].group as usize
    }

    #[inline]
    fn has_to_sweep(&self, group: usize) -> bool {
        let group = &self.groups[group];
        group.level > self.from || !group.queue.is_empty()
    }

    /// The next visit of the sweep of a device begins: what it writes, and where; `None` if its group need not be
    /// swept.
    pub fn visit(&mut self, number: u32, is_busy: bool) -> Option<(u32, Pass)> {
        let group_number = self.devices[number as usize].group as usize;
        let has_to = self.has_to_sweep(group_number);
        let device = &mut self.devices[number as usize];
        if !has_to || device.is_sweeping || device.dirty <= 0.0 {
            return None;
        }
        let visit = device.visit();
        if self.is_settling {
            let step = self.buffer * SETTLING_STEP / self.groups[group_number].devices as f64;
            device.pace = (step / visit.dirty).max(1.0);
        }
        let taken = (visit.dirty * device.pace).min(device.dirty);
        device.dirty -= taken;
        device.in_flight = taken;
        device.is_sweeping = true;
        let pass = Pass {
            gap: visit.gap,
            span: visit.span,
            region: device.written,
            capacity: device.capacity,
            is_interrupted: is_busy || std::mem::take(&mut device.is_interrupted),
        };
        let bytes = (taken / device.pace).max(1.0);
        Some((bytes as u32, pass))
    }

    /// A visit is over: `bytes` were swept, or the sweep had no effect.
    pub fn visited(&mut self, number: u32, bytes: u32) {
        let device = &mut self.devices[number as usize];
        let group = &mut self.groups[device.group as usize];
        debug_assert!(device.is_sweeping, "what is visited is being swept");
        device.is_sweeping = false;
        group.level = (group.level - std::mem::take(&mut device.in_flight)).max(0.0);
        self.count.swept += u64::from(bytes);
    }

    /// A device has failed: what the buffer had for it is of no use.
    pub fn forget(&mut self, number: u32) {
        let device = &mut self.devices[number as usize];
        let group = &mut self.groups[device.group as usize];
        group.level = (group.level - std::mem::take(&mut device.dirty)).max(0.0);
    }

    /// Takes out all writes that wait for the buffers of a node: they fail.
    pub fn drain(&mut self, node: usize, requests: &Requests, dropped: &mut Vec<IoId>) {
        for group in &mut self.groups[node * self.per_node..(node + 1) * self.per_node] {
            dropped.extend(std::iter::from_fn(|| group.queue.pop(requests)));
        }
    }

    /// How full buffers are on average, in per cent.
    pub fn level_pct(&self) -> f64 {
        let sum: f64 = self.groups.iter().map(|group| group.level).sum();
        100.0 * sum / (self.buffer * self.groups.len() as f64)
    }
}
