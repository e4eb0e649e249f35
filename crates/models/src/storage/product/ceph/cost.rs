//! CPU cost of Ceph's operations, by release.
//!
//! **Mechanism.** An OSD has threads that send and receive (messengers), threads that do operations (shards), and one
//! that commits. A pair of messages, a request and its reply, costs the OSD at either end of it the same. With n copies
//! a client's read costs a pair and a read; its write 1 + 2 (n - 1) pairs and n writes. The primary exchanges one pair
//! with the client and one with each replica, and each replica one with the primary. With an erasure code, the primary
//! besides has to plan and to collect what its group does. Others read for it by messages that cost less: they carry no
//! transaction, few connections carry many of them, and map, group and object are known. Bytes cost as well, once for
//! every message that carries them and once for every device that reads or writes them.
//!
//! All costs are in cycles of a core that nothing shares, so that they follow the clock; a busy sibling makes them
//! longer.
//!
//! **Sources.** Messages and reads: one OSD of ceph.io, "Crimson vs classic" (2025), is flat at 131,000 reads of 4 KiB
//! per second from few clients on, with 4.4 CPUs busy: its three messengers are full, at 90,000 cycles a pair, and the
//! rest is 45,000 to 55,000. Writes and bytes: ceph.io, "OSDs per NVMe" (Reef, 2023), with two hardware threads for
//! each OSD: 666,000 reads and 88,800 writes of three copies per second, 24.1 and 4.7 GB/s of 4 MiB, on 30 OSDs.
//! Erasure codes: ceph.io, "Tentacle: fast erasure coding" (2025): reads of 6+2 by whole stripes are 0.195 of those of
//! copies, and of 2+2 by one shard 0.674. Encryption of disks: ceph.io (2023): a tenth fewer reads, 17% fewer writes
//! of 4 KiB, 45% less of 4 MiB. Luminous: Micron's all-NVMe figures (2018) with CPUs at their limit. That writes cost
//! a quarter more before Quincy: its release notes, of the allocation map outside RocksDB.
//!
//! **Assumptions.** Each number of this kind is marked "assumed": the share of committing in a write, the releases
//! between Luminous and Pacific, encryption of messages, and how bytes divide between messages and devices.

use hypertwin_cluster::{Ceph, CephRelease};

/// Cycles of a pair of messages without payload: with a client, or with another OSD that is to write.
const MESSAGE: f64 = 85_000.0;
/// Cycles of a pair by which one OSD reads for another, of each. Writes between OSDs cost what a client's do: cheaper
/// messages and dearer writes, of the same sum, make one client of three copies a third too fast (ceph.io, "Client and
/// recovery", 2021).
const SUB_READ: f64 = 40_000.0;
/// Cycles of the primary for an operation of an erasure code, beside what it reads and writes itself.
const CODED: f64 = 55_000.0;
/// Cycles of a read without its bytes.
const READ: f64 = 45_000.0;
/// Cycles of a write on one OSD without its bytes: BlueStore, and its share of RocksDB's compaction.
const WRITE: f64 = 230_000.0;
/// Part of it on the commit thread, which puts transactions into RocksDB. Assumed; 41,000 writes per second of one OSD
/// (Reef, 16 threads) leave it 55,000 at most.
const COMMIT: f64 = 40_000.0;
/// Cycles of a byte in a message: one client's connection, which is one messenger's, read 5.7 to 6.6 GB/s of one OSD
/// (ceph.io, "A journey to 1 TiB/s", 2024, EPYC 9454P).
const MESSAGE_BYTE: f64 = 0.5;
/// Cycles of a byte that is read: together 3.5 (24.1 GB/s).
const READ_BYTE: f64 = 3.0;
/// Cycles of a byte that is written: with 1.67 messages for each, together 6.0 (4.7 GB/s of three copies).
const WRITE_BYTE: f64 = 5.2;

/// Encryption of disks: what is left of reads, of small writes, and of the throughput of large writes.
const ENCRYPTED_READS: f64 = 0.90;
const ENCRYPTED_WRITES: f64 = 0.83;
const ENCRYPTED_LARGE_WRITES: f64 = 0.55;
/// Encryption of messages (AES-GCM), per pair and per byte. Assumed.
const ENCRYPTED_MESSAGE: f64 = 8_000.0;
const ENCRYPTED_MESSAGE_BYTE: f64 = 1.3;

/// Cycles of a gateway per I/O without its bytes, and per byte, librbd included. 16 reactors did 390,000 I/Os of 16 KiB
/// per second (ceph.io, 2025), 41 us each. Assumed: cycles of 3 GHz, because its processors are not named.
const GATEWAY: f64 = 103_000.0;
const GATEWAY_BYTE: f64 = 1.2;

/// Copies of the pools that encryption of disks was measured with.
const MEASURED_COPIES: f64 = 3.0;

/// Log bytes of a Ceph transaction in addition to deferred data: keys of RocksDB. Assumed.
pub const LOG_BYTES: u32 = 1_024;

/// What the log is written in.
pub const LOG_BLOCK: u32 = 4_096;

/// Deferred data of one OSD that may wait for their place (`bluestore_throttle_deferred_bytes`).
pub const DEFERRED_BYTES: u64 = 128 << 20;

/// What a deep scrub reads at a time (`osd_deep_scrub_stride`).
pub const SCRUB_STRIDE: u64 = 4 << 20;

/// Releases: cycles of all operations over those of Reef, and of writes beside that.
const fn release(release: CephRelease) -> (f64, f64) {
    match release {
        // assumed for the two after Luminous: the same cost, because no lower one is published
        CephRelease::Luminous | CephRelease::Nautilus | CephRelease::Octopus => (2.3, 1.0),
        CephRelease::Pacific => (1.0, 1.25),
        CephRelease::Quincy | CephRelease::Reef | CephRelease::Squid | CephRelease::Tentacle => (1.0, 1.0),
    }
}

/// What operations of an OSD cost of CPU: in cycles, or in time once it is multiplied by the time of a cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OsdCost {
    /// A pair of messages: with a client, or with another OSD that is to write.
    pub message: f64,
    /// A pair by which one OSD reads for another, of each.
    pub sub_read: f64,
    /// An operation of an erasure code, of its primary.
    pub coded: f64,
    /// A read.
    pub read: f64,
    /// A write without its commit.
    pub write: f64,
    /// A transaction, of the thread that commits.
    pub commit: f64,
    /// A byte of a message.
    pub message_byte: f64,
    /// A byte that is read.
    pub read_byte: f64,
    /// A byte that is written.
    pub write_byte: f64,
    /// An I/O of a gateway.
    pub gateway: f64,
    /// A byte of it.
    pub gateway_byte: f64,
}

impl OsdCost {
    /// Cycles of a cluster with these settings.
    pub fn of(ceph: &Ceph) -> Self {
        let (all, writes) = release(ceph.release);
        let mut cost = Self {
            message: MESSAGE,
            sub_read: SUB_READ,
            coded: CODED,
            read: READ,
            write: WRITE * writes - COMMIT,
            commit: COMMIT,
            message_byte: MESSAGE_BYTE,
            read_byte: READ_BYTE,
            write_byte: WRITE_BYTE,
            gateway: GATEWAY,
            gateway_byte: GATEWAY_BYTE,
        };
        if ceph.encrypt_disks {
            // what was lost of whole operations is the operations' work, not that of messages
            let pairs = (2.0 * MEASURED_COPIES - 1.0) / MEASURED_COPIES;
            let more = |left: f64, whole: f64| whole / left - whole;
            cost.read += more(ENCRYPTED_READS, cost.message + cost.read);
            cost.write += more(ENCRYPTED_WRITES, pairs * cost.message + cost.write + cost.commit);
            cost.read_byte += more(ENCRYPTED_READS, cost.message_byte + cost.read_byte);
            cost.write_byte += more(ENCRYPTED_LARGE_WRITES, pairs * cost.message_byte + cost.write_byte);
        }
        if ceph.encrypt_wire {
            cost.message += ENCRYPTED_MESSAGE;
            cost.sub_read += ENCRYPTED_MESSAGE;
            cost.message_byte += ENCRYPTED_MESSAGE_BYTE;
        }
        cost.times(all * ceph.cpu_factor)
    }

    /// The cost times `factor`.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self {
            message: factor * self.message,
            sub_read: factor * self.sub_read,
            coded: factor * self.coded,
            read: factor * self.read,
            write: factor * self.write,
            commit: factor * self.commit,
            message_byte: factor * self.message_byte,
            read_byte: factor * self.read_byte,
            write_byte: factor * self.write_byte,
            gateway: factor * self.gateway,
            gateway_byte: factor * self.gateway_byte,
        }
    }

    /// Cost of a messenger for a pair of messages with this payload: with a client, or with another OSD that writes.
    #[inline]
    pub fn of_message(&self, bytes: u32) -> f64 {
        self.message + self.message_byte * f64::from(bytes)
    }

    /// Likewise for a pair by which one OSD reads for another.
    #[inline]
    pub fn of_sub_read(&self, bytes: u32) -> f64 {
        self.sub_read + self.message_byte * f64::from(bytes)
    }

    /// Of a shard's thread.
    #[inline]
    pub fn of_operation(&self, is_write: bool, bytes: u32) -> f64 {
        match is_write {
            false => self.read + self.read_byte * f64::from(bytes),
            true => self.write + self.write_byte * f64::from(bytes),
        }
    }

    /// Of the thread that commits, for a batch.
    #[inline]
    pub fn of_commit(&self, transactions: u32) -> f64 {
        f64::from(transactions) * self.commit
    }

    /// Of a gateway's thread.
    #[inline]
    pub fn of_gateway(&self, bytes: u32) -> f64 {
        self.gateway + self.gateway_byte * f64::from(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::OsdCost;
    use hypertwin_cluster::{Ceph, CephRelease};

    /// All OSDs together for a client's read, and for its write of `copies`: messages and operations as they are sent.
    fn read(cost: &OsdCost, bytes: u32) -> f64 {
        cost.of_message(bytes) + cost.of_operation(false, bytes)
    }

    fn write(cost: &OsdCost, copies: u32, bytes: u32) -> f64 {
        let each = cost.of_operation(true, bytes) + cost.of_commit(1);
        f64::from(2 * copies - 1) * cost.of_message(bytes) + f64::from(copies) * each
    }

    fn near(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-9, "{value} {expected}");
    }

    fn of(change: impl Fn(&mut Ceph)) -> OsdCost {
        let mut ceph = Ceph {
            release: CephRelease::Reef,
            ..Ceph::default()
        };
        change(&mut ceph);
        OsdCost::of(&ceph)
    }

    #[test]
    fn a_write_of_n_copies_costs_1_plus_2_n_minus_1_pairs_and_n_writes() {
        let cost = of(|_| ());
        for copies in 1..=5 {
            let n = f64::from(copies);
            near(
                write(&cost, copies, 0),
                85_000.0 * (1.0 + 2.0 * (n - 1.0)) + n * 230_000.0,
            );
            let bytes = write(&cost, copies, 1 << 20) - write(&cost, copies, 0);
            near(bytes, f64::from(1 << 20) * (0.5 * (2.0 * n - 1.0) + 5.2 * n));
        }
        near(read(&cost, 4_096), 130_000.0 + 3.5 * 4_096.0);
    }

    /// One OSD alone, and 30 with two hardware threads each, at the clocks of their processors.
    #[test]
    fn the_table_is_within_a_quarter_of_what_it_was_derived_from() {
        let cost = of(|_| ());
        let within = |value: f64, measured: f64| assert!((value / measured - 1.0).abs() < 0.25, "{value} {measured}");
        within(3.0 * 4.0e9 / cost.of_message(4_096), 131e3);
        // a core of 2.25 GHz does a quarter more with both of its threads
        let hz = 30.0 * 1.25 * 2.25e9;
        within(hz / read(&cost, 4_096), 666e3);
        within(hz / write(&cost, 3, 4_096), 88.8e3);
        let large = 4_u32 << 20;
        within(hz / read(&cost, large) * f64::from(large), 24.1e9);
        within(hz / write(&cost, 3, large) * f64::from(large), 4.7e9);
    }

    /// 2+2 and 6+2 on one node, beside a client of 32,000 cycles there (librbd and fio), CPU the limit: whole stripes
    /// of 6 fragments, and one shard of two, which is the primary's own every other time.
    #[test]
    fn reads_of_codes_are_within_a_tenth_of_the_part_of_those_of_copies_that_they_were_derived_from() {
        let cost = of(|_| ());
        let copies = 32_000.0 + read(&cost, 4_096);
        let (own, peer) = (cost.of_operation(false, 4_096), 2.0 * cost.of_sub_read(4_096));
        let primary = 32_000.0 + cost.of_message(4_096) + cost.coded + own;
        let within = |value: f64, measured: f64| assert!((value / measured - 1.0).abs() < 0.1, "{value} {measured}");
        within(copies / (primary + 5.0 * (peer + own)), 0.195);
        within(copies / (primary + 0.5 * peer), 0.674);
    }

    #[test]
    fn encrypted_disks_do_a_tenth_fewer_reads_and_17_pct_fewer_writes() {
        let (plain, encrypted) = (of(|_| ()), of(|ceph| ceph.encrypt_disks = true));
        near(read(&encrypted, 4_096), read(&plain, 4_096) / 0.9);
        near(write(&encrypted, 3, 0), write(&plain, 3, 0) / 0.83);
        let bytes = |cost: &OsdCost| write(cost, 3, 4 << 20) - write(cost, 3, 0);
        near(bytes(&encrypted), bytes(&plain) / 0.55);
        let wire = of(|ceph| ceph.encrypt_wire = true);
        assert_eq!(
            (wire.read, wire.write, wire.commit),
            (plain.read, plain.write, plain.commit)
        );
        near(wire.of_message(1_000), plain.of_message(1_000) + 8_000.0 + 1_300.0);
        near(wire.of_sub_read(1_000), plain.of_sub_read(1_000) + 8_000.0 + 1_300.0);
    }

    #[test]
    fn a_factor_and_a_release_multiply_everything() {
        let plain = of(|_| ());
        assert_eq!(of(|ceph| ceph.cpu_factor = 2.0), plain.times(2.0));
        assert_eq!(of(|ceph| ceph.release = CephRelease::Luminous), plain.times(2.3));
        let pacific = of(|ceph| ceph.release = CephRelease::Pacific);
        assert_eq!((pacific.message, pacific.read), (plain.message, plain.read));
        near(write(&pacific, 1, 0) - write(&plain, 1, 0), 0.25 * 230_000.0);
    }
}
