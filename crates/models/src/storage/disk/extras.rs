//! Features of some drives: a cache with faster writes, and stalls.
//!
//! **Mechanism.** A write cache (flash with one bit a cell, of consumer drives) takes writes at its rate until it is
//! full; while the drive has nothing to do, it is emptied at the rate that the drive sustains in sequence. A stall
//! comes after a number of bytes written that is exponential; operations that come then wait until it is over.
//!
//! **Sources.** Reviews of consumer drives: 970 EVO of 500 GB, above 2 GB/s for 22 GB, then 600 MB/s.
//!
//! **Assumptions.** The cache is empty at first, and no part of it is lost when the drive fills.

/// A write cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WriteCache {
    /// What it holds, in bytes.
    pub size: f64,
    /// Rates at which it is filled and emptied.
    pub(super) bytes_per_ns: f64,
    pub(super) drain_bytes_per_ns: f64,
}

/// What is in a write cache.
#[derive(Clone, Copy, Debug, Default)]
pub struct CacheLevel {
    bytes: f64,
    /// When the last operation so far ends.
    idle_from_ns: u64,
}

impl CacheLevel {
    /// Whether a write of `bytes` that begins now fits, which is in it then.
    pub fn takes(&mut self, cache: &WriteCache, bytes: u64, now_ns: u64) -> bool {
        let idle_ns = now_ns.saturating_sub(self.idle_from_ns) as f64;
        self.bytes = (self.bytes - idle_ns * cache.drain_bytes_per_ns).max(0.0);
        self.idle_from_ns = self.idle_from_ns.max(now_ns);
        let fits = self.bytes + bytes as f64 <= cache.size;
        if fits {
            self.bytes += bytes as f64;
        }
        fits
    }

    /// The drive is busy until then at least.
    pub fn busy_until(&mut self, end_ns: u64) {
        self.idle_from_ns = self.idle_from_ns.max(end_ns);
    }
}

/// Times in which a drive serves no I/O.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stalls {
    /// Bytes written between two, on average.
    pub(super) written: f64,
    /// How long one is.
    pub length_ns: u64,
}

impl Stalls {
    /// Bytes to write until the next; `uniform` is in [0, 1).
    pub fn next(&self, uniform: f64) -> f64 {
        -self.written * libm::log1p(-uniform)
    }
}

#[cfg(test)]
mod tests {
    use super::{CacheLevel, WriteCache};

    #[test]
    fn a_write_cache_is_filled_and_emptied_at_its_rates() {
        let cache = WriteCache {
            size: 1_000.0,
            bytes_per_ns: 1.0,
            drain_bytes_per_ns: 0.1,
        };
        let mut level = CacheLevel::default();
        assert!(level.takes(&cache, 600, 0) && level.takes(&cache, 400, 0));
        assert!(!level.takes(&cache, 1, 0), "it is full");
        level.busy_until(5_000);
        assert!(
            !level.takes(&cache, 1, 5_000),
            "nothing leaves it while the drive is busy"
        );
        assert!(!level.takes(&cache, 600, 10_000), "500 bytes have left in 5,000 ns");
        assert!(level.takes(&cache, 500, 10_000));
    }
}
