//! Disks: how long an operation takes, by kind of disk and by what else waits.
//!
//! **Mechanism.** A hard disk serves one operation at a time: seek, half a revolution on average, transfer. With n
//! operations to choose from, it takes them in order of place: the mean distance to the next of n random places
//! is 1 / (n + 1) of the stroke and seek time grows with the root of the distance (Ruemmler and Wilkes, "An introduction to
//! disk drive modeling", IEEE Computer 27(3), 1994), so seeks shrink by sqrt(2 / (n + 1)); rotation stays. A
//! sequential operation costs its transfer only. Flash has channels, and an operation works on the one that its place is on, after
//! what that channel was given before. A write is acknowledged from the device's buffer, and then keeps its channel busy; a
//! random write does so for longer, as the device has to collect what is still valid in the blocks that it erases. So reads
//! slow down beside writes, and more so as these come close to the rate that the device sustains.
//!
//! **Sources.** Seek and rotation give the published rates of random I/O at depth 1: 15,000 revolutions 185 per second,
//! 10,000 133, 7,200 79. Flash: round figures of data sheets of the years around 2015 (SATA 90,000 reads and 30,000 writes per
//! second; SAS 145,000 and 70,000; NVMe 350,000 and 90,000), not published for any study here. That reads wait for programs and
//! collections on their channel: Wu and He, "Reducing SSD read latency via NAND flash program and erase suspension",
//! FAST 2012.
//!
//! **Assumptions.** Places are uniform over the disk; no zones, no failures. The engine takes operations of hard disks first
//! come, first served and lets reordering show in their times. Collecting is spread evenly over random writes; no program is
//! suspended for a read; the buffer is 4 MiB.

use hypertwin_cluster::{DiskKind, Drive};

/// Largest number of operations among which a hard disk chooses: the depth of its native command queue.
const REORDERED: u32 = 32;
/// Unit of the data sheets' rates of flash.
const PAGE_BYTES: f64 = 4_096.0;
/// What flash puts on one channel before it takes the next.
const STRIPE_BYTES: u64 = 64 << 10;
/// What flash acknowledges before it is written.
const BUFFER_BYTES: f64 = (4 << 20) as f64;
/// Time of an acknowledgement from the buffer.
const ACKNOWLEDGE_NS: u64 = 20_000;

/// A kind of disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disk {
    /// Operations that it takes at a time.
    pub depth: u32,
    /// Transfer rate. What flash transfers passes a link of this rate beside its channels.
    pub bytes_per_s: f64,
    times: Times,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Times {
    Mechanical { seek_ns: f64, revolution_ns: f64 },
    Flash(Flash),
}

/// The channels of flash.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flash {
    /// How many.
    pub channels: u32,
    read_ns: f64,
    /// Time of a channel for one page of 4 KiB: written at random, and in sequence.
    random_ns: f64,
    sequential_ns: f64,
}

/// An operation for a disk, and what waits behind it.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Bytes to transfer.
    pub bytes: u64,
    /// A write.
    pub write: bool,
    /// It begins where the operation before it ended.
    pub sequential: bool,
    /// Operations waiting behind it.
    pub waiting: u32,
}

impl Disk {
    /// The disk that a scenario names.
    pub fn of(drive: Drive<'_>) -> Self {
        Self::new(drive.kind())
    }

    /// The disk of this kind.
    pub fn new(kind: DiskKind) -> Self {
        let mechanical = |seek_ms: f64, revolutions: f64, bytes_per_s| Self {
            depth: 1,
            bytes_per_s,
            times: Times::Mechanical {
                seek_ns: seek_ms * 1e6,
                revolution_ns: 60e9 / revolutions,
            },
        };
        let flash = |depth, channels: u32, read_us: f64, write_us: f64, bytes_per_s: f64| Self {
            depth,
            bytes_per_s,
            times: Times::Flash(Flash {
                channels,
                read_ns: read_us * 1e3,
                random_ns: write_us * 1e3,
                sequential_ns: PAGE_BYTES * f64::from(channels) / bytes_per_s * 1e9,
            }),
        };
        match kind {
            DiskKind::Hdd15k => mechanical(3.4, 15_000.0, 200e6),
            DiskKind::Hdd10k => mechanical(4.5, 10_000.0, 150e6),
            DiskKind::Hdd7k => mechanical(8.5, 7_200.0, 150e6),
            DiskKind::SataSsd => flash(32, 8, 90.0, 260.0, 530e6),
            DiskKind::SasSsd => flash(128, 16, 110.0, 230.0, 1.1e9),
            DiskKind::Nvme => flash(1_024, 32, 90.0, 350.0, 2.6e9),
        }
    }

    /// The same disk, which sustains this rate of small random writes, if it is flash.
    #[must_use]
    pub fn with_random_write(mut self, bytes_per_s: f64) -> Self {
        if let Times::Flash(flash) = &mut self.times {
            flash.random_ns = PAGE_BYTES * f64::from(flash.channels) / bytes_per_s * 1e9;
        }
        self
    }

    /// Operations that a host keeps outstanding on it. A hard disk works on one of those at a time.
    pub fn host_depth(&self) -> u32 {
        self.depth.max(REORDERED)
    }

    /// Its channels, if it is flash.
    pub fn flash(&self) -> Option<&Flash> {
        match &self.times {
            Times::Flash(flash) => Some(flash),
            Times::Mechanical { .. } => None,
        }
    }

    /// Time of an operation of a hard disk, in nanoseconds; of flash, only its transfer. `seek` and `rotation` are uniform
    /// in [0, 1).
    pub fn service_ns(&self, operation: Operation, seek: f64, rotation: f64) -> u64 {
        let transfer_ns = operation.bytes as f64 * 1e9 / self.bytes_per_s;
        let service_ns = match self.times {
            Times::Mechanical { seek_ns, revolution_ns } if !operation.sequential => {
                let among = f64::from(1 + operation.waiting.min(REORDERED - 1));
                2.0 * seek * seek_ns * (2.0 / (among + 1.0)).sqrt() + rotation * revolution_ns + transfer_ns
            }
            _ => transfer_ns,
        };
        service_ns.ceil() as u64
    }
}

impl Flash {
    /// On how many channels an operation works, and how long each is busy with it, in nanoseconds.
    pub fn work(&self, operation: Operation) -> (u32, u64) {
        let stripes = operation.bytes.div_ceil(STRIPE_BYTES).max(1);
        let channels = stripes.min(u64::from(self.channels)) as u32;
        let pages = (operation.bytes as f64 / PAGE_BYTES).ceil();
        let all_ns = match (operation.write, operation.sequential) {
            (false, _) => self.read_ns * stripes as f64,
            (true, false) => self.random_ns * pages,
            (true, true) => self.sequential_ns * pages,
        };
        (channels, (all_ns / f64::from(channels)).ceil() as u64)
    }

    /// When a write is acknowledged that is transferred at `transferred_ns` and keeps channels busy until `busy_until_ns`.
    pub fn acknowledged_ns(&self, transferred_ns: u64, busy_until_ns: u64) -> u64 {
        let buffer_ns = BUFFER_BYTES / PAGE_BYTES * self.random_ns / f64::from(self.channels);
        (transferred_ns + ACKNOWLEDGE_NS).max(busy_until_ns.saturating_sub(buffer_ns as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::{Disk, Operation};
    use hypertwin_cluster::DiskKind;

    const SMALL: Operation = Operation {
        bytes: 512,
        write: false,
        sequential: false,
        waiting: 0,
    };

    fn per_second(kind: DiskKind, operation: Operation) -> f64 {
        1e9 / Disk::new(kind).service_ns(operation, 0.5, 0.5) as f64
    }

    #[test]
    fn hard_disks_do_what_is_published_at_depth_one_and_about_twice_that_at_32() {
        let published = [
            (DiskKind::Hdd15k, 185.0),
            (DiskKind::Hdd10k, 133.0),
            (DiskKind::Hdd7k, 79.0),
        ];
        for (kind, expected) in published {
            let alone = per_second(kind, SMALL);
            assert!((alone - expected).abs() < 1.0, "{kind:?}: {alone}");
            let deep = per_second(kind, Operation { waiting: 31, ..SMALL });
            assert!((1.6..2.4).contains(&(deep / alone)), "{kind:?}: {deep}");
        }
    }

    #[test]
    fn a_scan_of_a_hard_disk_goes_at_its_transfer_rate() {
        let scan = Operation {
            bytes: 1 << 20,
            sequential: true,
            ..SMALL
        };
        assert!((per_second(DiskKind::Hdd15k, scan) * (1 << 20) as f64 / 200e6 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn flash_does_what_its_data_sheet_says() {
        let published = [
            (DiskKind::SataSsd, 90e3, 30e3),
            (DiskKind::SasSsd, 145e3, 70e3),
            (DiskKind::Nvme, 350e3, 90e3),
        ];
        for (kind, reads, writes) in published {
            let disk = Disk::new(kind);
            let flash = disk.flash().expect("flash");
            let rate = |write| {
                let page = Operation {
                    bytes: 4_096,
                    write,
                    ..SMALL
                };
                let (channels, ns) = flash.work(page);
                f64::from(flash.channels / channels) * 1e9 / ns as f64
            };
            assert!((rate(false) / reads - 1.0).abs() < 0.03, "{kind:?}");
            assert!((rate(true) / writes - 1.0).abs() < 0.03, "{kind:?}");
        }
    }

    #[test]
    fn flash_takes_random_writes_at_the_rate_that_it_is_given_and_streams_at_its_transfer_rate() {
        let disk = Disk::new(DiskKind::SasSsd).with_random_write(80e6);
        let flash = disk.flash().expect("flash");
        for (bytes, sequential, rate) in [(16_384, false, 80e6), (1 << 20, false, 80e6), (1 << 20, true, 1.1e9)] {
            let write = Operation {
                bytes,
                write: true,
                sequential,
                waiting: 0,
            };
            let (channels, ns) = flash.work(write);
            let all = bytes as f64 * f64::from(flash.channels) / f64::from(channels) / ns as f64 * 1e9;
            assert!((all / rate - 1.0).abs() < 0.01, "{bytes}: {all}");
        }
        // a full buffer holds writes back
        assert_eq!(flash.acknowledged_ns(1_000, 0), 21_000);
        assert!(flash.acknowledged_ns(1_000, 60_000_000) > 1_000_000);
    }
}
