//! CPU work for I/Os, in nanoseconds alone on a core at nominal clock.

use super::request::Io;

/// Work for an I/O and for each of its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    pub io_ns: f64,
    pub ns_per_byte: f64,
}

impl Cost {
    #[inline]
    pub fn of(&self, bytes: u32) -> f64 {
        self.io_ns + self.ns_per_byte * f64::from(bytes)
    }
}

/// Work of the driver that a host uses a pool with; none for arrays.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DriverWork {
    pub cost: Cost,
    /// Work of erasure coding for a byte of a write: of whole stripes, and of less.
    pub stripe_ns_per_byte: f64,
    pub update_ns_per_byte: f64,
    /// Bytes of data in a stripe.
    pub stripe_bytes: u64,
}

impl DriverWork {
    #[inline]
    pub fn of(&self, io: &Io) -> f64 {
        self.work_ns(io.bytes, io.write, io.sequential)
    }

    /// Likewise for an I/O of this size and kind.
    #[inline]
    pub fn work_ns(&self, bytes: u32, is_write: bool, is_sequential: bool) -> f64 {
        let is_stripe = is_sequential || u64::from(bytes) >= self.stripe_bytes;
        let coding_ns_per_byte = match (is_write, is_stripe) {
            (false, _) => 0.0,
            (true, true) => self.stripe_ns_per_byte,
            (true, false) => self.update_ns_per_byte,
        };
        self.cost.of(bytes) + coding_ns_per_byte * f64::from(bytes)
    }
}

/// What the threads of a queue do for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// All that a node does.
    Operation,
    /// An OSD of Ceph: its messages.
    Messages,
    /// An OSD of Ceph: the operation itself.
    Shard,
    /// An OSD of Ceph: puts transactions into its log.
    Commit,
    /// A gateway to Ceph.
    Gateway,
}
