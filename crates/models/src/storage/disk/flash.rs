//! Flash: channels that operations are put on by chance, a controller that all of them pass, a buffer for writes.
//!
//! **Mechanism.** An operation works on the channel that its place is on, after what that channel was given before; one
//! of more than 64 KiB on several. Models write pages of flash to one channel after another, as a log. A write is
//! acknowledged from the device's buffer, and then keeps its channel busy; a random write does so for longer, as the
//! device has to collect what is still valid in the blocks that it erases (`write_amplification.rs`). So reads slow
//! down beside writes, and more so as these come close to the rate that the device sustains. NVMe drives suspend what
//! they write for a read, which then waits for other reads alone; what is written takes as much longer.
//!
//! Random writes of up to 64 KiB cost by the page of 4 KiB; larger ones come to whole erase blocks, of which less has
//! to be collected, down to what a sequential write costs.
//!
//! A synchronous write of a drive with capacitors is acknowledged from the buffer like others. Its controller handles
//! such writes one after the other for a part of that time: with more jobs, drives do about twice what one job does.
//!
//! A *model* is built from its data sheet. The controller takes c + bytes / rate for an operation, so that reads of 4
//! KiB come at the sheet's random rate and those of 128 KiB at its sequential one. The same c is part of a random write
//! of n pages, which keeps a channel for c + n w. The channels are as many as give the random rate at the depth at
//! which sheets are measured, if each read takes as long as one alone: with X reads a second of S seconds and depth K,
//! in a balanced network of N channels X = N K / (S (K + N − 1)). Latencies of a sheet are those that fio shows at
//! depth 1: the driver of the host has a part in them.
//!
//! **Sources.** Reads wait for programs and collections on their channel: Wu and He, "Reducing SSD read latency via
//! NAND flash program and erase suspension", FAST 2012. Erase blocks of 512 pages of 16 KiB: data sheets of MLC flash
//! around 2014. Balanced closed networks: Lazowska et al., "Quantitative system performance", 1984, ch. 5.
//!
//! **Assumptions.** Collecting is spread evenly over random writes; all NVMe drives suspend programs and collections at
//! once and at no cost, SATA and SAS drives never do. The buffer is 4 MiB, and of a model at least two pages of flash
//! for each channel. Sheets are measured at depth 32 (SATA), 128 (SAS) and 256 (NVMe). What a sheet does not say is as
//! for its kind: random writes in proportion to sequential ones, or to random reads.
//!
//! **A flush is an event of its first write.** The other writes wait at the disk and complete with the first write.
//! Group commit needs no record and no event of its own. A flush of SATA waits for what the drive had taken when the
//! last one ended, and is for the writes among that.

use super::extras::WriteCache;
use super::operation::Operation;
use super::write_amplification::{amplification, amplification_of, physical_for};
use crate::rounding::round_up;
use hypertwin_cluster::{Device, DiskKind, Duration};

/// What the driver of the host that a data sheet's latencies were measured with takes of them: 9,100 cycles at 3 GHz
/// (`storage/virtual_controller/table.rs`).
const HOST_NS: f64 = 3_000.0;
/// Unit of the data sheets' rates.
const PAGE_BYTES: f64 = 4_096.0;
/// What flash puts on one channel before it takes the next.
const STRIPE_BYTES: u64 = 64 << 10;
/// A page of flash.
const FLASH_PAGE_BYTES: u64 = 16 << 10;
/// More channels than any drive has.
const MOST_CHANNELS: f64 = 1_024.0;
/// What flash acknowledges before it is written.
const BUFFER_BYTES: f64 = (4 << 20) as f64;
/// What is erased at a time.
const BLOCK_BYTES: f64 = (8 << 20) as f64;
/// Part of the latency of a synchronous write, alone, in which the controller takes no other: a PM863 does 39,800 with
/// one job, 3 us of each in the host, and 84,200 with ten (S. Han, "Ceph: how to test if your SSD is suitable as a
/// journal device?", 2014).
const SYNCHRONOUS_PART: f64 = 0.54;
/// Size of the operations with which data sheets measure rates in sequence.
const SHEET_BYTES: f64 = (128 << 10) as f64;

/// The channels of flash.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flash {
    /// How many.
    pub channels: u32,
    read_ns: f64,
    /// Time of a channel for one page of 4 KiB: written at random in small writes, and in sequence.
    random_ns: f64,
    sequential_ns: f64,
    /// Time of a channel for a random write, beside its pages.
    write_ns: f64,
    /// Passing the controller, of what is read and written: of an operation, and how many bytes in a nanosecond.
    command_ns: [f64; 2],
    bytes_per_ns: [f64; 2],
    acknowledge_ns: u64,
    /// Writes go to its channels in turn, not by chance.
    pub writes_in_turn: bool,
    /// What its channels write stands still while they read.
    pub suspends: bool,
    /// What is collected, as follows from `random_ns`; nothing where random writes cost no more than others.
    collecting: Option<Collecting>,
}

/// Write amplification of flash.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Collecting {
    /// Physical bytes for each byte in use.
    physical: f64,
    /// Of writes of a whole erase block, and of 64 KiB.
    block: f64,
    stripe: f64,
}

impl Flash {
    /// Any with such times, and this rate of transfers, which are those of writes in sequence, too.
    pub(super) fn new(channels: u32, read_us: f64, write_us: f64, bytes_per_s: f64, suspends: bool) -> Self {
        let sequential_ns = PAGE_BYTES * f64::from(channels) / bytes_per_s * 1e9;
        Self {
            channels,
            read_ns: read_us * 1e3,
            random_ns: write_us * 1e3,
            sequential_ns,
            write_ns: 0.0,
            command_ns: [0.0; 2],
            bytes_per_ns: [bytes_per_s / 1e9; 2],
            acknowledge_ns: 20_000,
            writes_in_turn: false,
            suspends,
            collecting: None,
        }
        .collecting()
    }

    /// What is said of a model, with the rest as of this kind.
    pub(super) fn of(self, device: &Device) -> Self {
        let kind_channels = f64::from(self.channels);
        let rate = |rate: Option<hypertwin_cluster::Rate>| rate.map(hypertwin_cluster::Rate::per_second);
        let bandwidth = |rate: Option<hypertwin_cluster::Bandwidth>| rate.map(|rate| rate.bytes_per_s());
        let kind_reads = kind_channels / self.read_ns * 1e9;
        let kind_writes = kind_channels / self.random_ns * 1e9;
        let kind_sequential = self.bytes_per_ns[0] * 1e9;
        let reads = rate(device.random_read).unwrap_or(kind_reads);
        let read_sequential = bandwidth(device.sequential_read)
            .unwrap_or(kind_sequential)
            .max(reads * PAGE_BYTES);
        let write_sequential = bandwidth(device.sequential_write).unwrap_or(kind_sequential.min(read_sequential));
        let writes = rate(device.random_write).unwrap_or(kind_writes * write_sequential / kind_sequential);

        // c + 4 KiB / rate and c + 128 KiB / rate are what the sheet says
        let (page_ns, large_ns) = (1e9 / reads, SHEET_BYTES / read_sequential * 1e9);
        let slope = (large_ns - page_ns) / (SHEET_BYTES - PAGE_BYTES);
        // small reads that take longer than large ones are held back by channels, not by the controller
        let is_controller = 2.0 * page_ns < large_ns;
        let bytes_per_ns = if is_controller {
            1.0 / slope
        } else {
            read_sequential / 1e9
        };
        let write_bytes_per_ns = bytes_per_ns.max(write_sequential.max(writes * PAGE_BYTES) / 1e9);
        let command_ns = match is_controller {
            true => (page_ns - PAGE_BYTES / bytes_per_ns).max(0.0),
            false => 0.0,
        };
        let write_command_ns = command_ns
            .min(1e9 / writes - PAGE_BYTES / write_sequential * 1e9)
            .max(0.0);

        let alone_ns = |latency: Duration| (latency.nanos() as f64 - HOST_NS).max(0.0);
        let read_ns = device.read_latency.map_or(self.read_ns, alone_ns);
        let channels = channels(reads * read_ns / 1e9, sheet_depth(device.kind));
        let acknowledged_ns = device.write_latency.map(alone_ns);
        let transfer_ns = write_command_ns + PAGE_BYTES / write_bytes_per_ns;
        let all = f64::from(channels);
        Self {
            channels,
            read_ns,
            random_ns: all * (1e9 / writes - write_command_ns),
            sequential_ns: all * PAGE_BYTES / write_sequential * 1e9,
            write_ns: all * write_command_ns,
            command_ns: [command_ns, write_command_ns],
            bytes_per_ns: [bytes_per_ns, write_bytes_per_ns],
            acknowledge_ns: acknowledged_ns.map_or(self.acknowledge_ns, |ns| (ns - transfer_ns).max(0.0) as u64),
            writes_in_turn: true,
            suspends: self.suspends,
            collecting: None,
        }
        .collecting()
    }

    /// The same, of which `used_pct` are in use; with `over_provisioning_pct` beyond its capacity, or as follows from
    /// its rates.
    pub(super) fn used(mut self, used_pct: f64, over_provisioning_pct: Option<f64>) -> Self {
        if let Some(Collecting { physical, .. }) = self.collecting {
            let full = over_provisioning_pct.map_or(physical, |spare| 1.0 + spare / 100.0);
            let less = amplification(full * 100.0 / used_pct) / amplification(full);
            self.random_ns = (self.random_ns * less).max(self.sequential_ns);
        }
        self.collecting()
    }

    /// The same, which sustains this rate of small random writes.
    pub(super) fn with_random_write(mut self, bytes_per_s: f64) -> Self {
        self.random_ns = PAGE_BYTES * f64::from(self.channels) / bytes_per_s * 1e9 - self.write_ns;
        self.collecting()
    }

    /// The same, whose spare capacity follows from what random writes cost.
    fn collecting(mut self) -> Self {
        let times = self.random_ns / self.sequential_ns;
        self.collecting = (times > 1.0).then(|| {
            let physical = physical_for(times);
            Collecting {
                physical,
                block: amplification_of(physical, 1.0),
                stripe: amplification_of(physical, BLOCK_BYTES / STRIPE_BYTES as f64),
            }
        });
        self
    }

    /// Time in which an operation passes the controller, in nanoseconds.
    #[inline]
    pub fn transfer_ns(&self, operation: Operation) -> u64 {
        let direction = usize::from(operation.write);
        round_up(self.command_ns[direction] + operation.bytes as f64 / self.bytes_per_ns[direction])
    }

    /// Time in which a synchronous write keeps the controller from others, in nanoseconds: its transfer at least.
    #[inline]
    pub fn synchronous_ns(&self, operation: Operation) -> u64 {
        let transfer_ns = self.transfer_ns(operation);
        let alone_ns = transfer_ns + self.acknowledge_ns;
        transfer_ns.max(round_up(SYNCHRONOUS_PART * alone_ns as f64))
    }

    /// On how many channels an operation works, and how long each is busy with it, in nanoseconds.
    #[inline]
    pub fn work(&self, operation: Operation) -> (u32, u64) {
        // what is written in turn goes to one channel after another by page of flash
        let stripe = match operation.write && self.writes_in_turn {
            true => FLASH_PAGE_BYTES,
            false => STRIPE_BYTES,
        };
        let stripes = operation.bytes.div_ceil(stripe).max(1);
        let channels = stripes.min(u64::from(self.channels)) as u32;
        let pages = (operation.bytes as f64 / PAGE_BYTES).ceil();
        let all_ns = match (operation.write, operation.sequential) {
            (false, _) => self.read_ns * stripes as f64,
            (true, false) => self.write_ns + self.random_page_ns(operation.bytes) * pages,
            (true, true) => self.sequential_ns * pages,
        };
        (channels, (all_ns / f64::from(channels)).ceil() as u64)
    }

    /// As [`Self::work`], of a write that a write cache takes.
    pub fn cached_work(&self, cache: &WriteCache, operation: Operation) -> (u32, u64) {
        let (channels, _) = self.work(operation);
        let all_ns = operation.bytes as f64 / cache.bytes_per_ns * f64::from(self.channels);
        (channels, round_up(all_ns / f64::from(channels)))
    }

    /// Time in which all channels together write what an operation gives them, in nanoseconds.
    pub fn program_ns(&self, operation: Operation) -> u64 {
        let (channels, busy_ns) = self.work(operation);
        busy_ns * u64::from(channels) / u64::from(self.channels)
    }

    /// Gives it a write cache, whose rate it transfers at least.
    pub(super) fn with_cache(&mut self, cache: &hypertwin_cluster::WriteCache) -> WriteCache {
        let bytes_per_ns = cache.write.bytes_per_s() / 1e9;
        self.bytes_per_ns[1] = self.bytes_per_ns[1].max(bytes_per_ns);
        WriteCache {
            size: cache.size.bytes() as f64,
            bytes_per_ns,
            drain_bytes_per_ns: PAGE_BYTES * f64::from(self.channels) / self.sequential_ns,
        }
    }

    /// Time of a channel for one page of a random write of this size.
    #[inline]
    fn random_page_ns(&self, bytes: u64) -> f64 {
        match self.collecting {
            Some(Collecting {
                physical,
                block,
                stripe,
            }) if bytes > STRIPE_BYTES => {
                let all = amplification_of(physical, BLOCK_BYTES / bytes as f64);
                self.sequential_ns + (self.random_ns - self.sequential_ns) * (all - block) / (stripe - block)
            }
            _ => self.random_ns,
        }
    }

    /// When a write is acknowledged that is transferred at `transferred_ns` and keeps channels busy until
    /// `busy_until_ns`; `work` as of [`Self::work`]. It waits for space in the buffer: until they have to write only as
    /// much as fits there beside it.
    #[inline]
    pub fn acknowledged_ns(
        &self,
        operation: Operation,
        work: (u32, u64),
        transferred_ns: u64,
        busy_until_ns: u64,
    ) -> u64 {
        let (count, busy_ns) = work;
        let (bytes, channels) = (operation.bytes as f64, f64::from(self.channels));
        let buffer_ns = match self.writes_in_turn {
            true => {
                let buffer_bytes = BUFFER_BYTES.max(2.0 * FLASH_PAGE_BYTES as f64 * channels);
                (buffer_bytes / bytes - 1.0) * busy_ns as f64 * f64::from(count) / channels
            }
            false => BUFFER_BYTES / PAGE_BYTES * self.random_ns / channels,
        };
        let others_until_ns = busy_until_ns.saturating_sub(busy_ns) as f64;
        (transferred_ns + self.acknowledge_ns).max((others_until_ns - buffer_ns) as u64)
    }
}

/// Depth at which data sheets give random rates.
fn sheet_depth(kind: DiskKind) -> f64 {
    match kind {
        DiskKind::SataSsd => 32.0,
        DiskKind::SasSsd => 128.0,
        _ => 256.0,
    }
}

/// Channels on which `at_work` operations are in service on average while `depth` are outstanding.
fn channels(at_work: f64, depth: f64) -> u32 {
    // what a depth that hardly covers them would take is no longer what the sheet was measured at
    let spare = ((depth - 1.0) / (depth - at_work).max(1.0)).clamp(1.0, 2.0);
    (at_work * spare).ceil().clamp(1.0, MOST_CHANNELS) as u32
}
