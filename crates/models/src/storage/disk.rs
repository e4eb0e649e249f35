//! Disks: how long an operation takes, by kind of disk, by what else waits and by what else is written.
//!
//! **Mechanism.** A hard disk serves one operation at a time: seek, half a revolution on average, transfer. With n
//! operations to choose from, it takes them in order of place: the mean distance to the next of n random places
//! is 1 / (n + 1) of the stroke and seek time grows with the root of the distance (Ruemmler and Wilkes, "An introduction to
//! disk drive modeling", IEEE Computer 27(3), 1994), so seeks shrink by sqrt(2 / (n + 1)); rotation stays. A
//! sequential operation costs its transfer only. Flash serves several operations at a time; reads slow down with the
//! part of its channels that are writing.
//!
//! **Sources.** Seek and rotation give the published rates of random I/O at depth 1: 15,000 revolutions 185 per second,
//! 10,000 133, 7,200 79. Flash: round figures of data sheets of the years around 2015 (SATA 90,000 reads and 30,000 writes per
//! second; SAS 145,000 and 70,000; NVMe 350,000 and 90,000), not published for any study here.
//!
//! **Assumptions.** Places are uniform over the disk; no zones, no garbage collection, no failures. The engine
//! takes operations first come, first served and lets reordering show in their times.

use hypertwin_cluster::DiskKind;

/// Largest number of operations among which a hard disk chooses: the depth of its native command queue.
const REORDERED: u32 = 32;

/// A kind of disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disk {
    /// Operations it serves at a time.
    pub channels: u32,
    /// Transfer rate, all channels together. What flash transfers passes a link of this rate beside its channels.
    pub bytes_per_s: f64,
    times: Times,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Times {
    Mechanical {
        seek_ns: f64,
        revolution_ns: f64,
    },
    Flash {
        read_ns: f64,
        write_ns: f64,
        interference: f64,
    },
}

/// What a disk is asked to do, and what else it has to do.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Bytes to transfer.
    pub bytes: u64,
    /// A write.
    pub write: bool,
    /// Its place follows the operation before it.
    pub sequential: bool,
    /// Operations waiting behind it.
    pub waiting: u32,
    /// Channels that are writing.
    pub writing: u32,
}

impl Disk {
    /// The disk of this kind.
    pub fn new(kind: DiskKind) -> Self {
        let mechanical = |seek_ms: f64, revolutions: f64, bytes_per_s| Self {
            channels: 1,
            bytes_per_s,
            times: Times::Mechanical {
                seek_ns: seek_ms * 1e6,
                revolution_ns: 60e9 / revolutions,
            },
        };
        let flash = |channels, read_us: f64, write_us: f64, bytes_per_s| Self {
            channels,
            bytes_per_s,
            times: Times::Flash {
                read_ns: read_us * 1e3,
                write_ns: write_us * 1e3,
                interference: 1.0,
            },
        };
        match kind {
            DiskKind::Hdd15k => mechanical(3.4, 15_000.0, 200e6),
            DiskKind::Hdd10k => mechanical(4.5, 10_000.0, 150e6),
            DiskKind::Hdd7k => mechanical(8.5, 7_200.0, 150e6),
            DiskKind::SataSsd => flash(8, 90.0, 260.0, 530e6),
            DiskKind::SasSsd => flash(16, 110.0, 230.0, 1.1e9),
            DiskKind::Nvme => flash(32, 90.0, 350.0, 2.6e9),
        }
    }

    /// Time of an operation on one channel, in nanoseconds; of flash without the transfer, which passes beside it. `seek` and `rotation` are uniform in [0, 1).
    pub fn service_ns(&self, operation: Operation, seek: f64, rotation: f64) -> u64 {
        let transfer_ns = operation.bytes as f64 * 1e9 / self.bytes_per_s;
        let service_ns = match self.times {
            Times::Mechanical { .. } if operation.sequential => transfer_ns,
            Times::Mechanical { seek_ns, revolution_ns } => {
                let among = f64::from(1 + operation.waiting.min(REORDERED - 1));
                2.0 * seek * seek_ns * (2.0 / (among + 1.0)).sqrt() + rotation * revolution_ns + transfer_ns
            }
            Times::Flash { write_ns, .. } if operation.write => write_ns,
            Times::Flash {
                read_ns, interference, ..
            } => read_ns * (1.0 + interference * f64::from(operation.writing) / f64::from(self.channels)),
        };
        service_ns.ceil() as u64
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
        writing: 0,
    };

    fn per_second(kind: DiskKind, operation: Operation) -> f64 {
        let disk = Disk::new(kind);
        f64::from(disk.channels) * 1e9 / disk.service_ns(operation, 0.5, 0.5) as f64
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
    fn flash_reads_slow_down_beside_writes() {
        for kind in [DiskKind::SataSsd, DiskKind::SasSsd, DiskKind::Nvme] {
            let disk = Disk::new(kind);
            let writing = Operation {
                writing: disk.channels,
                ..SMALL
            };
            assert!(per_second(kind, writing) < 0.55 * per_second(kind, SMALL));
        }
    }
}
