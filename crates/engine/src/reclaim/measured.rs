//! What is measured of memory: sums over time, and what follows from them.

use super::pages::{PAGE, PageCounts};
use crate::metrics::reports;
use bitcode::{Decode, Encode};
use hypertwin_kernel::Nanos;
use hypertwin_models::reclamation::Level;

/// Sums of a VM since measuring began: pages times nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct VmSums {
    since: Nanos,
    places: Places,
    active: f64,
    target: f64,
    overhead: f64,
    /// Pages from and to the swap device.
    pub swapped: [u64; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct Places {
    granted: f64,
    shared: f64,
    ballooned: f64,
    compressed: f64,
    swapped: f64,
}

impl Places {
    fn add(&mut self, dt: f64, counts: &PageCounts) {
        self.granted += dt * counts.granted as f64;
        self.shared += dt * counts.shared as f64;
        self.ballooned += dt * counts.ballooned as f64;
        self.compressed += dt * counts.compressed as f64;
        self.swapped += dt * counts.swapped as f64;
    }
}

impl VmSums {
    pub fn settle(&mut self, now: Nanos, counts: &PageCounts, active: f64, target: f64, overhead: u64) {
        let dt = (now - self.since) as f64;
        self.since = now;
        self.places.add(dt, counts);
        self.active += dt * active;
        self.target += dt * target / PAGE;
        self.overhead += dt * overhead as f64 / 2.0;
    }

    pub fn reset(&mut self, now: Nanos) {
        *self = Self {
            since: now,
            ..Self::default()
        };
    }

    /// What was measured in `duration_ns`; `swap_wait_pct` is known elsewhere.
    pub fn result(&self, duration_ns: f64, swap_wait_pct: f64) -> VmMemoryResult {
        let mean = |sum: f64| sum / duration_ns * PAGE;
        let rate = |pages: u64| pages as f64 * PAGE / duration_ns * 1e9;
        let places = &self.places;
        VmMemoryResult {
            granted_bytes: mean(places.granted + places.shared),
            consumed_bytes: mean(places.granted + places.compressed / 2.0),
            active_bytes: mean(self.active),
            shared_bytes: mean(places.shared),
            ballooned_bytes: mean(places.ballooned),
            swapped_bytes: mean(places.swapped),
            compressed_bytes: mean(places.compressed),
            overhead_bytes: mean(self.overhead),
            target_bytes: mean(self.target),
            swap_in_bytes_per_s: rate(self.swapped[0]),
            swap_out_bytes_per_s: rate(self.swapped[1]),
            swap_wait_pct,
        }
    }
}

/// Sums of a host since measuring began.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostSums {
    since: Nanos,
    places: Places,
    free: f64,
    overcommit: f64,
    /// Pages from and to the swap device.
    pub swapped: [u64; 2],
}

impl HostSums {
    /// `free` is in half pages, `overcommit` a fraction.
    pub fn settle(&mut self, now: Nanos, counts: &PageCounts, free: i64, overcommit: f64) {
        let dt = (now - self.since) as f64;
        self.since = now;
        self.places.add(dt, counts);
        self.free += dt * free as f64 / 2.0;
        self.overcommit += dt * overcommit;
    }

    pub fn reset(&mut self, now: Nanos) {
        *self = Self {
            since: now,
            ..Self::default()
        };
    }

    /// What was measured in `duration_ns`.
    pub fn result(&self, duration_ns: f64, worst: Level, min_free_bytes: f64) -> HostMemoryResult {
        let mean = |sum: f64| sum / duration_ns * PAGE;
        let rate = |pages: u64| pages as f64 * PAGE / duration_ns * 1e9;
        let places = &self.places;
        HostMemoryResult {
            state: worst as u8,
            free_bytes: mean(self.free),
            min_free_bytes,
            ballooned_bytes: mean(places.ballooned),
            swapped_bytes: mean(places.swapped),
            compressed_bytes: mean(places.compressed),
            shared_bytes: mean(places.shared),
            overcommit_pct: 100.0 * self.overcommit / duration_ns,
            swap_in_bytes_per_s: rate(self.swapped[0]),
            swap_out_bytes_per_s: rate(self.swapped[1]),
        }
    }
}

reports! {
    /// Memory of a VM whose host was short of memory at any time: means over time.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Encode, Decode, serde::Serialize)]
    pub struct VmMemoryResult {
        /// Memory of the VM that is backed by host memory, including shared pages.
        pub granted_bytes: f64 = "Memory granted", "bytes", Total;
        /// Host memory that the VM's memory consumes: granted memory minus shared savings, with compressed pages at
        /// half size.
        pub consumed_bytes: f64 = "Memory consumed", "bytes", Total;
        /// Recently used memory of the VM, as the host estimates it from samples.
        pub active_bytes: f64 = "Memory active", "bytes", Total;
        /// Memory that page sharing saves. For a host it is the sum over its VMs.
        pub shared_bytes: f64 = "Memory shared", "bytes", Total;
        /// Memory that guests gave back to balloons, their least used first. For a host it is the sum over its VMs.
        pub ballooned_bytes: f64 = "Memory ballooned", "bytes", Total;
        /// Memory of VMs that the host swapped out without the guest's knowledge. It is read back when it is used. For
        /// a host it is the sum over its VMs.
        pub swapped_bytes: f64 = "Memory swapped", "bytes", Total;
        /// Memory of VMs that the host keeps compressed instead of swapping it out. For a host it is the sum over its
        /// VMs.
        pub compressed_bytes: f64 = "Memory compressed", "bytes", Total;
        /// Host memory that the hypervisor needs for the VM in addition to the VM's memory.
        pub overhead_bytes: f64 = "Memory overhead", "bytes", Total;
        /// Memory that the host plans for the VM, by shares and reservation, with less for idle memory.
        pub target_bytes: f64 = "Memory target", "bytes", Total;
        /// Memory read back from the host's swap device, because it was used. For a host it is the sum over its VMs.
        pub swap_in_bytes_per_s: f64 = "Swapped in", "bytes/s", Total;
        /// Memory that the host wrote to its swap device. For a host it is the sum over its VMs.
        pub swap_out_bytes_per_s: f64 = "Swapped out", "bytes/s", Total;
        /// Time in which a vCPU waited for memory that the host had swapped out. Per vCPU. The guest counts it as busy.
        pub swap_wait_pct: f64 = "Swap wait", "%";
    }

    /// Memory of a host that was short of memory at any time: means over time, and its worst state.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Encode, Decode, serde::Serialize)]
    pub struct HostMemoryResult {
        /// The worst state that free memory reached, by ESXi's thresholds: high, clear, soft, hard, low. From clear on
        /// the host shares pages, in soft it balloons VMs, in hard and low it compresses or swaps their pages. Memory
        /// figures exist only for hosts that can run short of memory.
        #[serde(serialize_with = "named")]
        pub state: u8 as "Literal['high', 'clear', 'soft', 'hard', 'low']" = "Memory state";
        /// Unused memory of the host.
        pub free_bytes: f64 = "Memory free", "bytes";
        /// Memory that ESXi tries to keep free: 6% of the first 4 GiB, 4% of the next 8, 2% of the next 16, and 1%
        /// of further memory. States are shares of it. On Linux it is the high watermark.
        pub min_free_bytes: f64 = "Memory minimum", "bytes";
        pub ballooned_bytes: f64;
        pub swapped_bytes: f64;
        pub compressed_bytes: f64;
        pub shared_bytes: f64;
        /// Touched memory of VMs with overhead, minus the host's memory for them, in % of the latter. Negative if all
        /// fits.
        pub overcommit_pct: f64 = "Memory overcommitted", "%";
        pub swap_in_bytes_per_s: f64;
        pub swap_out_bytes_per_s: f64;
    }
}

impl HostMemoryResult {
    /// What it took from VMs.
    pub fn reclaimed_bytes(&self) -> f64 {
        self.ballooned_bytes + self.compressed_bytes + self.swapped_bytes
    }

    /// Whether it lacked memory itself. With far more free than it keeps, VMs miss memory by limits of their own.
    pub fn is_short(&self) -> bool {
        self.state > 0 || self.reclaimed_bytes() > 0.0 && self.free_bytes < 2.0 * self.min_free_bytes
    }

    /// ESXi's name of its worst state, which is counted from 0.
    pub fn state_name(&self) -> &'static str {
        name_of(self.state)
    }
}

fn name_of(state: u8) -> &'static str {
    ["high", "clear", "soft", "hard", "low"][usize::from(state)]
}

fn named<S: serde::Serializer>(state: &u8, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name_of(*state))
}
