//! Disks: how long an operation takes, by kind or model of disk and by what else waits.
//!
//! | file | what it holds |
//! |---|---|
//! | `mod.rs` | a disk of any kind or model |
//! | `operation.rs` | what a disk is asked to do |
//! | `hard_disk.rs` | seeks and revolutions |
//! | `flash.rs` | channels, controller and buffer of flash |
//! | `extras.rs` | write caches and stalls, which only some drives have |
//! | `write_amplification.rs` | how much more flash writes than it is given |
//!
//! **Sources.** Seek and rotation give the published rates of random I/O at depth 1: 15,000 revolutions 185 per second,
//! 10,000 133, 7,200 79. Flash of a kind: round figures of data sheets of the years around 2015 (SATA 90,000 reads and
//! 30,000 writes per second; SAS 145,000 and 70,000; NVMe 350,000 and 90,000), not published for any study here.
//! Models: their data sheets, in the table of drives. A flush of SATA (FLUSH CACHE EXT) is no queued command: the drive
//! does nothing else until it is over (ATA8-ACS; that of SAS and NVMe is queued like others).
//!
//! **Assumptions.** Places are uniform over the used part of the disk; no zones, no failures. A hard disk returns to a
//! sequential stream by a seek after each random operation; between streams it reads ahead and gathers writes so much
//! that their seeks do not count. The engine takes
//! operations of hard disks first come, first served and lets reordering show in their times.
//!
//! **A data sheet becomes channels and a controller once, when a run is built.** The cost of an operation is then a few
//! multiplications for any drive. Features of some drives (flushes, write caches, stalls) are in a separate box, which
//! other drives never access.

mod extras;
mod flash;
mod hard_disk;
mod operation;
pub mod write_amplification;

pub use extras::{CacheLevel, Stalls, WriteCache};
pub use flash::Flash;
pub use operation::Operation;

use hard_disk::HardDisk;
use hypertwin_cluster::{Device, DiskKind, Drive};

/// Flush time of flash without capacitors if nothing else is known (assumed): the geometric middle of 0.6 to 12 ms, in
/// which such drives were measured to make small writes stable.
const UNPROTECTED_FLUSH_NS: u64 = 2_700_000;

/// A kind or model of disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disk {
    /// Operations that it takes at a time.
    pub depth: u32,
    /// Transfer rate of a hard disk.
    bytes_per_s: f64,
    times: Times,
    /// Time of a flush, beside that of the writes that it is for; 0 if synchronous writes are like others.
    pub flush_ns: u64,
    /// Whether it does nothing else during a flush.
    pub flushes_alone: bool,
    /// What takes its writes first, if anything does.
    pub write_cache: Option<WriteCache>,
    /// Its stalls, if any.
    pub stalls: Option<Stalls>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Times {
    Mechanical(HardDisk),
    Flash(Flash),
}

impl Disk {
    /// The disk that a scenario names, of which `used_pct` is in use, or all.
    pub fn of(drive: Drive<'_>, used_pct: Option<f64>) -> Self {
        let kind = Self::new(drive.kind());
        let Drive::Model(device) = drive else {
            return kind.used(used_pct, None);
        };
        let model = Self {
            depth: device.depth.unwrap_or(kind.depth),
            bytes_per_s: device
                .sequential_read
                .map_or(kind.bytes_per_s, |rate| rate.bytes_per_s()),
            times: match kind.times {
                Times::Mechanical(disk) => Times::Mechanical(disk.of(device)),
                Times::Flash(flash) => Times::Flash(flash.of(device)),
            },
            flush_ns: flush_ns(device),
            flushes_alone: kind.flushes_alone,
            write_cache: None,
            stalls: device.stalls.as_ref().map(|stalls| Stalls {
                written: stalls.written.bytes() as f64,
                length_ns: stalls.length.nanos(),
            }),
        };
        let model = model.cached(device);
        model.used(used_pct, device.over_provisioning_pct)
    }

    /// The disk of this kind.
    pub fn new(kind: DiskKind) -> Self {
        let mechanical = |seek_ms: f64, revolutions: f64, bytes_per_s| Self {
            depth: 1,
            bytes_per_s,
            times: Times::Mechanical(HardDisk::new(seek_ms, revolutions)),
            flush_ns: 0,
            flushes_alone: false,
            write_cache: None,
            stalls: None,
        };
        let flash = |depth, channels: u32, read_us: f64, write_us: f64, bytes_per_s: f64, suspends| Self {
            depth,
            bytes_per_s,
            times: Times::Flash(Flash::new(channels, read_us, write_us, bytes_per_s, suspends)),
            flush_ns: 0,
            flushes_alone: kind == DiskKind::SataSsd,
            write_cache: None,
            stalls: None,
        };
        match kind {
            DiskKind::Hdd15k => mechanical(3.4, 15_000.0, 200e6),
            DiskKind::Hdd10k => mechanical(4.5, 10_000.0, 150e6),
            DiskKind::Hdd7k => mechanical(8.5, 7_200.0, 150e6),
            DiskKind::SataSsd => flash(32, 8, 90.0, 260.0, 530e6, false),
            DiskKind::SasSsd => flash(128, 16, 110.0, 230.0, 1.1e9, false),
            DiskKind::Nvme => flash(1_024, 32, 90.0, 350.0, 2.6e9, true),
        }
    }

    /// The same disk, which sustains this rate of small random writes, if it is flash.
    #[must_use]
    pub fn with_random_write(mut self, bytes_per_s: f64) -> Self {
        if let Times::Flash(flash) = &mut self.times {
            *flash = flash.with_random_write(bytes_per_s);
        }
        self
    }

    /// The same disk, of which so much is in use; flash with so much beyond its capacity, or as follows from its rates.
    fn used(mut self, used_pct: Option<f64>, over_provisioning_pct: Option<f64>) -> Self {
        match (&mut self.times, used_pct) {
            (Times::Flash(flash), Some(used_pct)) => *flash = flash.used(used_pct, over_provisioning_pct),
            (Times::Mechanical(disk), Some(used_pct)) => *disk = disk.used(used_pct),
            (_, None) => {}
        }
        self
    }

    /// Whether it has what only some drives have.
    #[inline]
    pub fn is_special(&self) -> bool {
        self.flush_ns > 0 || self.write_cache.is_some() || self.stalls.is_some()
    }

    /// The same with the write cache of a model.
    fn cached(mut self, device: &Device) -> Self {
        if let (Times::Flash(flash), Some(cache)) = (&mut self.times, &device.write_cache) {
            self.write_cache = Some(flash.with_cache(cache));
        }
        self
    }

    /// Operations that a host keeps outstanding on it. A hard disk works on one of those at a time.
    pub fn host_depth(&self) -> u32 {
        self.depth.max(hard_disk::REORDERED)
    }

    /// Time of a revolution of a hard disk; 0 of flash.
    pub fn revolution_ns(&self) -> u64 {
        match &self.times {
            Times::Mechanical(disk) => disk.revolution_ns as u64,
            Times::Flash(_) => 0,
        }
    }

    /// Its channels, if it is flash.
    pub fn flash(&self) -> Option<&Flash> {
        match &self.times {
            Times::Flash(flash) => Some(flash),
            Times::Mechanical(_) => None,
        }
    }

    /// Time of an operation of a hard disk, in nanoseconds; of flash, only its transfer. `seek` and `rotation` are
    /// uniform in [0, 1).
    pub fn service_ns(&self, operation: Operation, seek: f64, rotation: f64) -> u64 {
        let transfer_ns = operation.bytes as f64 * 1e9 / self.bytes_per_s;
        let service_ns = match &self.times {
            Times::Mechanical(disk) if !operation.sequential || operation.is_interrupted => {
                disk.position_ns(operation, seek, rotation) + transfer_ns
            }
            _ => transfer_ns,
        };
        service_ns.ceil() as u64
    }

    /// Time in which a hard disk writes what a sweep visits; `seek` and `rotation` are uniform in [0, 1).
    pub fn pass_ns(&self, pass: Pass, seek: f64, rotation: f64) -> u64 {
        let turning_ns = |bytes: f64| bytes * 1e9 / self.bytes_per_s;
        let position_ns = match &self.times {
            Times::Mechanical(disk) if pass.is_interrupted => {
                disk.within_ns(pass.region / pass.capacity, seek, rotation)
            }
            Times::Mechanical(disk) => disk.ahead_ns(pass.gap / pass.capacity, turning_ns(pass.gap), rotation),
            Times::Flash(_) => 0.0,
        };
        (position_ns + turning_ns(pass.span)).ceil() as u64
    }
}

/// Where a sweep in order of address goes on: all in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pass {
    /// From the end of the last that was written to the first that is now.
    pub gap: f64,
    /// From there to the end of the last.
    pub span: f64,
    /// All that it sweeps.
    pub region: f64,
    /// The whole disk.
    pub capacity: f64,
    /// The disk has done something else since.
    pub is_interrupted: bool,
}

/// Time of a flush of a model.
fn flush_ns(device: &Device) -> u64 {
    let default = match device.power_loss_protection {
        Some(false) => UNPROTECTED_FLUSH_NS,
        _ => 0,
    };
    device.flush.map_or(default, |flush| flush.nanos())
}

#[cfg(test)]
mod tests {
    use super::{Disk, Operation, Pass};
    use hypertwin_cluster::{Device, DiskKind, Drive, drives};

    const SMALL: Operation = Operation {
        bytes: 512,
        write: false,
        sequential: false,
        is_interrupted: false,
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
    fn seeks_within_a_quarter_of_a_disk_take_half_as_long() {
        let alone = |used_pct| Disk::of(Drive::Kind(DiskKind::Hdd7k), used_pct).service_ns(SMALL, 0.5, 0.0);
        assert_eq!(alone(Some(100.0)), alone(None));
        let transfer_ns = SMALL.bytes as f64 * 1e9 / 150e6;
        assert_eq!(alone(Some(25.0)), (4.25e6 + transfer_ns).ceil() as u64);
    }

    #[test]
    fn a_scan_of_a_hard_disk_goes_at_its_transfer_rate() {
        let scan = Operation {
            bytes: 1 << 20,
            sequential: true,
            ..SMALL
        };
        assert!((per_second(DiskKind::Hdd15k, scan) * (1 << 20) as f64 / 200e6 - 1.0).abs() < 1e-3);
        let back = Operation {
            is_interrupted: true,
            ..scan
        };
        let seek_s = 1.0 / per_second(DiskKind::Hdd15k, back) - 1.0 / per_second(DiskKind::Hdd15k, scan);
        assert!(
            (seek_s - 3.4e-3 - 2e-3).abs() < 1e-6,
            "after a random operation: {seek_s}"
        );
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
        for (bytes, sequential, rate) in [(16_384, false, 80e6), (1 << 20, true, 1.1e9), (8 << 20, false, 1.1e9)] {
            let write = Operation {
                bytes,
                write: true,
                sequential,
                is_interrupted: false,
                waiting: 0,
            };
            let all = bytes as f64 * sustained(&disk, write);
            assert!((all / rate - 1.0).abs() < 0.01, "{bytes}: {all}");
        }
        // a full buffer holds writes back
        let write = of_bytes(16_384, true, false);
        assert_eq!(flash.acknowledged_ns(write, flash.work(write), 1_000, 0), 21_000);
        assert!(flash.acknowledged_ns(write, flash.work(write), 1_000, 60_000_000) > 1_000_000);
    }

    #[test]
    fn flash_that_writes_faster_than_it_reads_reads_at_its_own_rate() {
        let text = r#"{"kind": "nvme", "random_read": "100000 /s", "sequential_read": "700 MB/s", "sequential_write": "2 GB/s"}"#;
        let device: Device = serde_json::from_str(text).expect("it is in its ranges");
        let disk = Disk::of(Drive::Model(&device), None);
        let flash = disk.flash().expect("flash");
        for (write, rate) in [(false, 0.7e9), (true, 2e9)] {
            let bytes = 131_072_u64;
            let ns = flash.transfer_ns(of_bytes(bytes, write, true));
            assert!(
                (bytes as f64 * 1e9 / ns as f64 / rate - 1.0).abs() < 0.08,
                "{write}: {ns} ns"
            );
        }
    }

    /// Operations like this one that flash sustains in a second, with enough of them outstanding.
    fn sustained(disk: &Disk, operation: Operation) -> f64 {
        let flash = disk.flash().expect("flash");
        let (channels, ns) = flash.work(operation);
        let channels = f64::from(flash.channels) / f64::from(channels) * 1e9 / ns as f64;
        channels.min(1e9 / flash.transfer_ns(operation) as f64)
    }

    fn of_bytes(bytes: u64, write: bool, sequential: bool) -> Operation {
        Operation {
            bytes,
            write,
            sequential,
            is_interrupted: false,
            waiting: 0,
        }
    }

    #[test]
    fn every_drive_of_the_table_does_what_its_data_sheet_says() {
        let is_near = |name: &str, what: &str, found: f64, sheet: Option<f64>| {
            if let Some(sheet) = sheet {
                assert!(
                    (found / sheet - 1.0).abs() < 0.05,
                    "{name}, {what}: {found}, {sheet} on its sheet"
                );
            }
        };
        for (name, device) in drives() {
            let disk = Disk::of(Drive::Model(device), None);
            let Some(flash) = disk.flash() else { continue };
            let rate = |bytes, write, sequential| sustained(&disk, of_bytes(bytes, write, sequential));
            let sheet = |rate: Option<hypertwin_cluster::Rate>| rate.map(|rate| rate.per_second());
            is_near(
                name,
                "random reads",
                rate(4_096, false, false),
                sheet(device.random_read),
            );
            is_near(
                name,
                "random writes",
                rate(4_096, true, false),
                sheet(device.random_write),
            );
            let large = (128 << 10) as f64;
            let sheet = |rate: Option<hypertwin_cluster::Bandwidth>| rate.map(|rate| rate.bytes_per_s());
            is_near(
                name,
                "reads",
                large * rate(128 << 10, false, true),
                sheet(device.sequential_read),
            );
            is_near(
                name,
                "writes",
                large * rate(128 << 10, true, true),
                sheet(device.sequential_write),
            );
            let alone = flash.work(of_bytes(4_096, false, false)).1 as f64;
            is_near(
                name,
                "a read, with the host",
                alone + 3_000.0,
                device.read_latency.map(|latency| latency.nanos() as f64),
            );
            let write = of_bytes(4_096, true, false);
            let acknowledged = flash.acknowledged_ns(write, flash.work(write), flash.transfer_ns(write), 0) as f64;
            is_near(
                name,
                "a write, with the host",
                acknowledged + 3_000.0,
                device.write_latency.map(|latency| latency.nanos() as f64),
            );
            for bytes in [4 << 10, 16 << 10, 64 << 10, 68 << 10, 128 << 10, 1 << 20] {
                let write = of_bytes(bytes, true, false);
                let (work, transfer_ns) = (flash.work(write), flash.transfer_ns(write));
                let alone_ns = flash.acknowledged_ns(write, work, transfer_ns, work.1);
                assert_eq!(
                    alone_ns - transfer_ns,
                    acknowledged as u64 - flash.transfer_ns(of_bytes(4_096, true, false)),
                    "{name}: the buffer of an idle drive takes {bytes} bytes"
                );
            }
        }
    }

    #[test]
    fn operations_of_8_kib_are_as_fast_as_sheets_say_that_have_them() {
        // thousands of reads and writes a second; what is not within 5 % is said with how far off it is
        let sheets = [
            ("S4500", 48.0, 21.0, -0.14),
            ("S4600", 48.0, 40.0, 0.0),
            ("S3700", 47.5, 20.0, 0.0),
        ];
        for (name, reads, writes, off) in sheets {
            let disk = Disk::of(Drive::Model(&drives()[name]), None);
            let rate = |write| sustained(&disk, of_bytes(8_192, write, false)) / 1e3;
            assert!((rate(false) / reads - 1.0).abs() < 0.05, "{name}: {}", rate(false));
            assert!((rate(true) / writes - 1.0 - off).abs() < 0.05, "{name}: {}", rate(true));
        }
    }

    #[test]
    fn random_writes_come_near_to_sequential_ones_as_they_grow() {
        for (name, device) in drives() {
            let disk = Disk::of(Drive::Model(device), None);
            if disk.flash().is_none() {
                continue;
            }
            let rate = |bytes, sequential| bytes as f64 * sustained(&disk, of_bytes(bytes, true, sequential));
            let sizes: Vec<f64> = (12..27).map(|power| rate(1 << power, false)).collect();
            assert!(
                sizes.windows(2).all(|pair| pair[1] >= 0.99 * pair[0]),
                "{name}: {sizes:?}"
            );
            let whole = rate(8 << 20, false) / rate(8 << 20, true);
            assert!(
                (0.9..1.2).contains(&whole),
                "{name}: {whole} of sequential for a whole block"
            );
        }
    }

    #[test]
    fn spare_capacity_gives_the_rate_that_write_amplification_says() {
        let of = |spare: Option<f64>, used| {
            let device = Device {
                over_provisioning_pct: spare,
                ..drives()["CM6-R"].clone()
            };
            sustained(&Disk::of(Drive::Model(&device), used), of_bytes(4_096, true, false))
        };
        let full = of(None, None);
        assert_eq!(
            of(None, Some(100.0)).round(),
            full.round(),
            "data sheets are for full drives"
        );
        // 7 % spare: 7.8 times as much is written; with 107 / 128 in use 28 %, so 2.5 times
        let less = of(Some(7.0), Some(100.0 * 1.07 / 1.28)) / full;
        assert!((less / (7.8 / 2.5) - 1.0).abs() < 0.05, "{less}");
        let steps: Vec<f64> = [100.0, 90.0, 70.0, 40.0].map(|used| of(None, Some(used))).to_vec();
        assert!(steps.is_sorted() && steps[3] < 4.2e9 / 4_096.0 * 1.01, "{steps:?}");
    }

    #[test]
    fn a_sheet_that_no_drive_has_gives_no_more_channels_than_any_has() {
        let text = r#"{"kind": "nvme", "random_read": "1000000000 /s", "read_latency": "1 s"}"#;
        let device: Device = serde_json::from_str(text).expect("it is in its ranges");
        let disk = Disk::of(Drive::Model(&device), None);
        assert_eq!(disk.flash().expect("flash").channels, 1_024);
    }

    #[test]
    fn a_sweep_turns_past_what_is_near_and_seeks_what_is_far() {
        let disk = Disk::new(DiskKind::Hdd10k);
        let pass = Pass {
            gap: 0.0,
            span: 150e3,
            region: 90e9,
            capacity: 900e9,
            is_interrupted: false,
        };
        let ms = |pass: Pass| disk.pass_ns(pass, 0.5, 0.5) as f64 / 1e6;
        // 150 MB/s, 4.5 ms and 6 ms a revolution
        assert_eq!(ms(pass), 1.0);
        assert_eq!(ms(Pass { gap: 300e3, ..pass }), 1.0 + 2.0);
        let gap = 45e6;
        let far = 4.5 * (2.0 * gap / 900e9_f64).sqrt() + 3.0;
        assert!((ms(Pass { gap, ..pass }) - 1.0 - far).abs() < 1e-3);
        let back = 4.5 * 0.1_f64.sqrt() + 3.0;
        assert!(
            (ms(Pass {
                is_interrupted: true,
                ..pass
            }) - 1.0
                - back)
                .abs()
                < 1e-3
        );
        // in order of address, many more a second than at random
        let ordered = 1e3
            / ms(Pass {
                gap: 9e6,
                span: 4_096.0,
                ..pass
            });
        assert!(
            ordered > 2.0 * per_second(DiskKind::Hdd10k, Operation { write: true, ..SMALL }),
            "{ordered}"
        );
    }

    #[test]
    fn a_hard_disk_reads_at_random_as_its_makers_formula_says() {
        // Deskstar 7K500: 0.5 ms overhead, 8.2 ms seek, 47.9 MB/s on average; 4,096 reads take T, of which 105 % are
        // typical
        let device = Device {
            seek_read: Some(hypertwin_cluster::Duration::from_micros(8_700)),
            sequential_read: Some(hypertwin_cluster::Bandwidth::from_bytes_per_s(47_900_000)),
            ..drives()["7K4000"].clone()
        };
        let disk = Disk::of(Drive::Model(&device), None);
        let typical_s = 1.05 * 4_096.0 * disk.service_ns(SMALL, 0.5, 0.5) as f64 / 1e9;
        assert!((typical_s / 55.5 - 1.0).abs() < 0.005, "{typical_s}");
        let savvio = Disk::of(Drive::Model(&drives()["Savvio-10K.4"]), None);
        let service = |write| savvio.service_ns(Operation { write, ..SMALL }, 0.5, 0.5) as f64 / 1e6;
        assert!((service(false) - 6.8).abs() < 0.01 && (service(true) - 7.4).abs() < 0.01);
    }
}
