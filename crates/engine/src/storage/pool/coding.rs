//! The work of erasure coding.

use hypertwin_cluster::{HostGroup, Redundancy, StoragePool};
use hypertwin_models::storage::coding;

/// Work of erasure coding, in nanoseconds alone on a core at nominal clock.
pub struct Coding {
    /// For a byte of a client's write: of whole stripes, and of less.
    pub stripe_ns_per_byte: f64,
    pub update_ns_per_byte: f64,
    /// For a byte that is rebuilt.
    pub rebuild_ns_per_byte: f64,
}

impl Coding {
    /// As ISA-L was measured to do on one core, or in proportion to the scenario's own rate.
    pub fn of(redundancy: Redundancy, spec: &StoragePool, nodes: &HostGroup) -> Self {
        let Redundancy::Erasure { data, parity } = redundancy else {
            return Self {
                stripe_ns_per_byte: 0.0,
                update_ns_per_byte: 0.0,
                rebuild_ns_per_byte: 0.0,
            };
        };
        let hz = nodes.clock.hz();
        let measured = coding::encode_ns(1.0, data, parity, hz);
        let factor = spec.coding.map_or(1.0, |rate| 1e9 / rate.bytes_per_s() / measured);
        Self {
            stripe_ns_per_byte: factor * measured,
            update_ns_per_byte: factor * coding::update_ns(1.0, parity, hz),
            rebuild_ns_per_byte: factor * coding::decode_ns(f64::from(data), data, 1, hz),
        }
    }
}
