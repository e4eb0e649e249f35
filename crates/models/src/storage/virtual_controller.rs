//! Virtual storage controllers: what a request costs the guest and the hypervisor, and when a completion interrupts.
//!
//! **Mechanism.** The guest's driver and the hypervisor each spend a number of cycles on a request. All requests of one
//! controller are worked on by one world of the hypervisor (a VMkernel world, a QEMU I/O thread), so a controller carries at
//! most one CPU's worth: clock / hypervisor cycles. While commands are in flight in plenty, only every n-th
//! completion interrupts, and the ones between are delivered with it.
//!
//! **Sources.** Coalescing: Ahmad, Gulati and Mashtizadeh, "vIC: Interrupt Coalescing for Virtual Machine Storage Device IO",
//! USENIX ATC 2011, whose thresholds are 4 commands in flight and 2,000 I/Os per second. PVSCSI's hypervisor cycles are
//! derived from 75,000 I/Os per second through one controller at 2.4 GHz, and LSI SAS costs a tenth more per
//! I/O in all ("Achieving a Million I/O Operations per Second from a Single VMware vSphere 5.0 Host", VMware, 2011).
//! 9,100 cycles is the published cost of an I/O through the NVMe stack of Linux. The other cycles are plausible and not
//! published.
//!
//! **Assumptions.** The hypervisor's whole work for an I/O is done before it is sent; cycles do not depend on its
//! size up to where it is split.

use hypertwin_cluster::{ControllerKind, SPLIT_BYTES};

/// What a kind of virtual controller costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VirtualController {
    /// Cycles of the guest's driver and block layer for a request.
    pub guest_cycles: f64,
    /// Cycles of the hypervisor for a request, on the controller's world.
    pub hypervisor_cycles: f64,
    /// Cycles of the guest for an interrupt, however many completions it brings.
    pub interrupt_cycles: f64,
    /// Bytes beyond which a request is split; `None`: never.
    pub largest_bytes: Option<u64>,
}

/// What `kind` costs.
pub fn virtual_controller(kind: ControllerKind) -> VirtualController {
    let (guest_cycles, hypervisor_cycles) = match kind {
        ControllerKind::Pvscsi => (20_000.0, 32_000.0),
        ControllerKind::LsiSas => (25_000.0, 37_000.0),
        ControllerKind::VirtioScsi | ControllerKind::VhostScsi => (12_000.0, 24_000.0),
        ControllerKind::VirtioBlk | ControllerKind::VhostBlk => (10_000.0, 20_000.0),
        ControllerKind::Nvme | ControllerKind::Passthrough => (9_100.0, 30_000.0),
        ControllerKind::Ide | ControllerKind::Ahci => (25_000.0, 40_000.0),
    };
    VirtualController {
        guest_cycles,
        hypervisor_cycles,
        interrupt_cycles: 8_000.0,
        largest_bytes: (kind == ControllerKind::Pvscsi).then_some(SPLIT_BYTES),
    }
}

/// Commands in flight from which completions are coalesced.
const IN_FLIGHT_THRESHOLD: u32 = 4;
/// I/Os per second from which they are.
const RATE_THRESHOLD: f64 = 2_000.0;
/// How long the rate is averaged over, in nanoseconds.
const EPOCH_NS: u64 = 200_000_000;

/// Interrupt coalescing of one controller.
#[derive(Clone, Copy, Debug, Default)]
pub struct Coalescing {
    epoch_ns: u64,
    completions: u32,
    busy: bool,
    counter: u32,
}

impl Coalescing {
    /// Whether a completion at `now_ns` that leaves `in_flight` commands behind interrupts the guest.
    pub fn interrupts(&mut self, now_ns: u64, in_flight: u32) -> bool {
        self.completions += 1;
        let elapsed_ns = now_ns - self.epoch_ns;
        if elapsed_ns >= EPOCH_NS {
            self.busy = f64::from(self.completions) * 1e9 / elapsed_ns as f64 >= RATE_THRESHOLD;
            (self.epoch_ns, self.completions) = (now_ns, 0);
        }
        // Of every `of` completions, `delivered` interrupt.
        let (delivered, of) = match in_flight / IN_FLIGHT_THRESHOLD {
            level if level == 0 || !self.busy => (1, 1),
            1 => (4, 5),
            2 => (3, 4),
            3 => (2, 3),
            _ => (1, in_flight / (2 * IN_FLIGHT_THRESHOLD)),
        };
        self.counter += 1;
        if self.counter >= of {
            self.counter = 0;
            return true;
        }
        self.counter < delivered
    }
}

#[cfg(test)]
mod tests {
    use super::{Coalescing, EPOCH_NS};

    /// Interrupts among `completions` at a constant rate and number in flight, after the first epoch.
    fn interrupts(rate_per_s: u64, in_flight: u32, completions: u64) -> usize {
        let mut coalescing = Coalescing::default();
        let gap_ns = 1_000_000_000 / rate_per_s;
        let first = EPOCH_NS / gap_ns + 2;
        let mut at = |count: u64| coalescing.interrupts(count * gap_ns, in_flight);
        (0..first).for_each(|count| {
            at(count);
        });
        (first..first + completions).filter(|&count| at(count)).count()
    }

    #[test]
    fn coalescing_starts_at_four_in_flight_and_two_thousand_a_second() {
        let cases = [
            (1_900, 64, 600),
            (50_000, 3, 600),
            (50_000, 4, 480),
            (50_000, 8, 450),
            (50_000, 12, 400),
            (50_000, 16, 300),
            (50_000, 64, 75),
        ];
        for (rate, in_flight, expected) in cases {
            let counted = interrupts(rate, in_flight, 600);
            assert!(
                counted.abs_diff(expected) <= 1,
                "{rate}/s with {in_flight} in flight: {counted}"
            );
        }
    }
}
