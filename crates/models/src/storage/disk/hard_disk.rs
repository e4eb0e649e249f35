//! Hard disks: seek, half a revolution on average, transfer.
//!
//! With n operations to choose from, a hard disk takes them in order of place: the mean distance to the next of n
//! random places is 1 / (n + 1) of the stroke and seek time grows with the root of the distance (Ruemmler and Wilkes,
//! "An introduction to disk drive modeling", IEEE Computer 27(3), 1994), so seeks shrink by sqrt(2 / (n + 1)); rotation
//! stays. On a disk of which a part is used, places are in that part, and seeks shrink by the root of it, too. A
//! sequential operation costs its transfer only, unless a random one came between: then the head has to return. Alone,
//! a random read takes what its maker's formula says: command overhead, seek, half a revolution and transfer (Hitachi
//! Deskstar 7K500 specification, 2005, 4.4.5.2); overhead is part of the seek here.

use super::operation::Operation;
use hypertwin_cluster::Device;

/// Largest number of operations among which a hard disk chooses: the depth of its native command queue.
pub(super) const REORDERED: u32 = 32;

/// The moving parts of a hard disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HardDisk {
    /// Mean seek of a read, and of a write.
    seek_ns: [f64; 2],
    pub(super) revolution_ns: f64,
    /// A mean seek within its used part, over one within all of it.
    nearer: f64,
}

impl HardDisk {
    /// One with this mean seek, for reads and writes, and speed.
    pub(super) fn new(seek_ms: f64, revolutions: f64) -> Self {
        Self {
            seek_ns: [seek_ms * 1e6; 2],
            revolution_ns: 60e9 / revolutions,
            nearer: 1.0,
        }
    }

    /// The same with what is said of a model.
    pub(super) fn of(self, device: &Device) -> Self {
        let [kind_ns, _] = self.seek_ns;
        let ns = |seek: Option<hypertwin_cluster::Duration>| seek.map(|seek| seek.nanos() as f64);
        let read_ns = ns(device.seek_read).unwrap_or(kind_ns);
        Self {
            seek_ns: [read_ns, ns(device.seek_write).unwrap_or(read_ns)],
            revolution_ns: device.rpm.map_or(self.revolution_ns, |rpm| 60e9 / f64::from(rpm)),
            ..self
        }
    }

    /// The same, of whose stroke `used_pct` are in use.
    pub(super) fn used(self, used_pct: f64) -> Self {
        Self {
            nearer: (used_pct / 100.0).sqrt(),
            ..self
        }
    }

    /// Time until the transfer of an operation begins; `seek` and `rotation` are uniform in [0, 1).
    pub(super) fn position_ns(&self, operation: Operation, seek: f64, rotation: f64) -> f64 {
        let among = f64::from(1 + operation.waiting.min(REORDERED - 1));
        let seek_ns = self.nearer * self.seek_ns[usize::from(operation.write)];
        2.0 * seek * seek_ns * (2.0 / (among + 1.0)).sqrt() + rotation * self.revolution_ns
    }

    /// Time until a write begins that is `distance` of the stroke ahead of the last, where the disk turns past that in
    /// `turning_ns`: it turns, or seeks if that is quicker.
    pub(super) fn ahead_ns(&self, distance: f64, turning_ns: f64, rotation: f64) -> f64 {
        let seek_ns = self.seek_ns[1] * (2.0 * distance).sqrt();
        turning_ns.min(seek_ns + rotation * self.revolution_ns)
    }

    /// Time until a write begins from anywhere in `region` of the stroke.
    pub(super) fn within_ns(&self, region: f64, seek: f64, rotation: f64) -> f64 {
        2.0 * seek * self.seek_ns[1] * region.min(1.0).sqrt() + rotation * self.revolution_ns
    }
}
