//! Interrupt coalescing of one virtual controller of ESXi.
//!
//! **Mechanism.** While commands are in flight in plenty and come fast, only every n-th completion interrupts, and the
//! ones between are delivered with it. n follows the commands in flight in steps. A bound on time delivers what the
//! next one does not.
//!
//! **Sources.** Ahmad, Gulati and Mashtizadeh, "vIC: Interrupt Coalescing for Virtual Machine Storage Device IO",
//! USENIX ATC 2011, and US patent 8,478,924: per virtual adapter, off below 4 commands in flight or 2,000 I/Os per
//! second, with a bound on time. PVSCSI of ESX 4.0 asks for commands in flight only (VMware KB 1017652).
//!
//! **Assumptions.** The bound is 1 ms; the sources do not give it.

/// Commands in flight from which completions are coalesced.
const IN_FLIGHT_THRESHOLD: u32 = 4;
/// I/Os per second from which they are.
const RATE_THRESHOLD: f64 = 2_000.0;
/// How long the rate is averaged over, in nanoseconds.
const EPOCH_NS: u64 = 200_000_000;
/// How long a completion waits for another one that interrupts, at most, in nanoseconds.
pub const LONGEST_NS: u64 = 1_000_000;

/// Interrupt coalescing of one controller.
#[derive(Clone, Copy, Debug)]
pub struct Coalescing {
    /// I/Os per second from which it begins.
    threshold: f64,
    epoch_ns: u64,
    completions: u32,
    busy: bool,
    counter: u32,
}

impl Coalescing {
    /// That of a controller which does nothing yet; whether it begins at 2,000 I/Os per second, or at any rate.
    pub fn new(heeds_rate: bool) -> Self {
        Self {
            threshold: if heeds_rate { RATE_THRESHOLD } else { 0.0 },
            epoch_ns: 0,
            completions: 0,
            busy: false,
            counter: 0,
        }
    }

    /// Whether it begins at a rate.
    pub fn heeds_rate(&self) -> bool {
        self.threshold > 0.0
    }

    /// Whether a completion at `now_ns` that leaves `in_flight` commands behind interrupts the guest.
    pub fn interrupts(&mut self, now_ns: u64, in_flight: u32) -> bool {
        self.completions += 1;
        let elapsed_ns = now_ns - self.epoch_ns;
        if elapsed_ns >= EPOCH_NS {
            self.busy = f64::from(self.completions) * 1e9 / elapsed_ns as f64 >= self.threshold;
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
    fn interrupts(mut coalescing: Coalescing, rate_per_s: u64, in_flight: u32, completions: u64) -> usize {
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
            let counted = interrupts(Coalescing::new(true), rate, in_flight, 600);
            assert!(
                counted.abs_diff(expected) <= 1,
                "{rate}/s with {in_flight} in flight: {counted}"
            );
        }
        assert_eq!(
            interrupts(Coalescing::new(false), 500, 64, 600),
            75,
            "ESX 4.0 does not ask for the rate"
        );
    }
}
