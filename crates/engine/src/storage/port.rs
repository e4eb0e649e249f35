//! Ports of hosts and arrays, and paths between them.

use super::queue::Waits;
use hypertwin_kernel::Nanos;
use hypertwin_models::storage::link::SharedLink;

/// A path from a host to an array.
#[derive(Clone, Copy, Debug)]
pub struct ArrayPath {
    /// The host's port and the array's, by their numbers in the fabric.
    pub host_port: u32,
    pub array_port: u32,
    pub one_way_latency_ns: Nanos,
}

/// A port, with a link in each direction.
pub struct Port {
    /// Away from the client, or out of the host.
    pub up: SharedLink,
    /// The other way.
    pub down: SharedLink,
    pub waits: Waits,
    /// Bytes delivered in each direction.
    pub bytes: [u64; 2],
}

impl Port {
    pub fn new(bytes_per_s: f64, command_ns: Nanos) -> Self {
        Self {
            up: SharedLink::new(bytes_per_s, command_ns),
            down: SharedLink::new(bytes_per_s, command_ns),
            waits: Waits::default(),
            bytes: [0; 2],
        }
    }

    /// Sends bytes up from `now` on; when the last has passed.
    #[inline]
    pub fn send_up(&mut self, now: Nanos, bytes: u32) -> Nanos {
        let (wait, end) = self.up.pass(now, u64::from(bytes));
        self.waits.add(wait);
        end
    }

    /// Sends bytes down from `now` on; when the last has passed.
    #[inline]
    pub fn send_down(&mut self, now: Nanos, bytes: u32) -> Nanos {
        let (wait, end) = self.down.pass(now, u64::from(bytes));
        self.waits.add(wait);
        end
    }

    /// Measures from now.
    pub fn reset(&mut self, now: Nanos) {
        self.up.reset(now);
        self.down.reset(now);
        self.waits = Waits::default();
        self.bytes = [0; 2];
    }
}
