//! Fixed behaviour of vSAN: sizes, shares and the CPU of its I/Os.
//!
//! **Sources.** Hybrid disk groups: 70% of the cache device caches reads, 30% buffers writes; reads are cached in
//! lines of 1 MB; all-flash ones cache no reads (VMware, "Virtual SAN caching algorithms", 2014). All-flash: at most
//! 600 GB of a cache device buffer writes (VMware, "vSAN design guide"; up to vSAN 8). ESA: a log that is mirrored,
//! stripes later (VMware, "vSAN 8 Express Storage Architecture", 2022).
//!
//! **Assumptions.** The CPU of an I/O is not published. It is of the order of other storage in a kernel. The client is
//! the host of the VM, which owns its objects, as of other pools.

use crate::storage::product::interface::CpuCost;

/// The largest part of a disk group's cache device that buffers writes where all devices are flash.
pub const LARGEST_BUFFER: u64 = 600_000_000_000;

/// The share of a hybrid disk group's cache device that buffers writes; the rest caches reads.
pub const HYBRID_BUFFER: f64 = 0.3;

/// Size of a contiguous piece that a sweep takes from the write buffer.
pub const LINE: u64 = 1 << 20;

/// ESA: what the log gives to one device at a time. Assumed: any size at which a device writes as fast as sequentially.
pub const STRIPE_UNIT: u64 = 128 << 10;

/// Disk groups: an operation passes the log and the capacity layer of its disk group.
pub const OSA: CpuCost = CpuCost {
    client_ns: 10_000,
    component_ns: 30_000,
};

/// The layers of a disk group are gone, and data arrive compressed and summed: "fewer CPU cycles for each I/O" (VMware,
/// 2022).
pub const ESA: CpuCost = CpuCost {
    client_ns: 10_000,
    component_ns: 15_000,
};

/// What a cache device of a disk group gives to the write buffer, and to the read cache.
pub fn shares(capacity: u64, is_hybrid: bool) -> (u64, u64) {
    if is_hybrid {
        let buffer = (capacity as f64 * HYBRID_BUFFER) as u64;
        return (buffer, capacity - buffer);
    }
    (capacity.min(LARGEST_BUFFER), 0)
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn a_cache_device_buffers_writes_and_caches_reads_of_hard_disks() {
        assert_eq!(shares(400_000_000_000, true), (120_000_000_000, 280_000_000_000));
        assert_eq!(shares(400_000_000_000, false), (400_000_000_000, 0));
        assert_eq!(shares(1_600_000_000_000, false), (600_000_000_000, 0));
    }
}
