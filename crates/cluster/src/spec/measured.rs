//! Values measured on the real system, for reports and comparison. A run does not read them.
//!
//! **Measured values are separate from configuration, and no run reads them.** `measured`, `powered_off` and
//! `datastores` are for capacity, diagnosis and comparison. For example, a page shows simulated and measured usage of a
//! host side by side.

use crate::quantity::{Bytes, Duration};

/// A year, month, day or time; without a time zone, the source's own.
const ISO_8601: &str = concat!(
    r"^[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01])",
    r"([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?)?)?$"
);

/// Types of measured values: each begins with the time and the source of its figures.
macro_rules! measured {
    ($($(#[$($about:tt)*])* pub struct $name:ident { $($own:tt)+ })+) => {
        facts! {$(
            $(#[$($about)*])*
            pub struct $name {
                /// Time of the measurement, in ISO 8601; for a series, its end.
                #[schemars(with = "String", regex(pattern = ISO_8601))]
                #[schemars(extend("x-code" = "bad-time", "x-allowed" = "a date, or a date and a time, as ISO 8601 writes them", "examples" = ["2026-03-01T12:00:00Z"]))]
                pub at: Option<String>,
                /// Period that the CPU figures cover. Absent: a single sample.
                #[schemars(with = "Duration", extend("x-minimum" = "0 s", "x-maximum" = "3650 d"))]
                pub over: Option<Duration>,
                /// Counter or column of the CPU figures, as the source names it.
                #[schemars(with = "String", length(min = 1, max = 200))]
                pub counter: Option<String>,
                $($own)+
            }
        )+}
    };
}

measured! {
    /// Measured values of one host. They do not change a simulation.
    pub struct MeasuredHost {
        /// CPU used, in % of cores times nominal clock: the mean, or the single sample.
        #[schemars(with = "f64", range(min = 0.0, max = 1_000.0))]
        pub cpu_usage_pct: Option<f64>,
        /// 95th percentile of CPU used over time.
        #[schemars(with = "f64", range(min = 0.0, max = 1_000.0))]
        pub cpu_p95_pct: Option<f64>,
        /// Peak CPU used.
        #[schemars(with = "f64", range(min = 0.0, max = 1_000.0))]
        pub cpu_peak_pct: Option<f64>,
        /// Memory used, in % of the host's memory.
        #[schemars(with = "f64", range(min = 0.0, max = 1_000.0))]
        pub memory_usage_pct: Option<f64>,
        /// VM memory that the hypervisor has reclaimed by ballooning.
        #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
        pub ballooned: Option<Bytes>,
        /// VM memory that the hypervisor has swapped out.
        #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
        pub swapped: Option<Bytes>,
    }

    /// Measured values of one VM. They do not change a simulation: its demand is `workload` and `load`.
    pub struct MeasuredVm {
        /// CPU used or demanded, in MHz: the mean, or the single sample.
        #[schemars(with = "f64", range(min = 0.0, max = 1e12))]
        pub cpu_mhz: Option<f64>,
        /// 95th percentile of CPU over time.
        #[schemars(with = "f64", range(min = 0.0, max = 1e12))]
        pub cpu_p95_mhz: Option<f64>,
        /// Peak CPU.
        #[schemars(with = "f64", range(min = 0.0, max = 1e12))]
        pub cpu_peak_mhz: Option<f64>,
        /// CPU ready time (%RDY), in % of each vCPU.
        #[schemars(with = "f64", range(min = 0.0, max = 100.0))]
        pub ready_pct: Option<f64>,
        /// Consumed host memory.
        #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
        pub memory_consumed: Option<Bytes>,
        /// Active memory, as the hypervisor estimates it.
        #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
        pub memory_active: Option<Bytes>,
        /// Memory that the hypervisor has reclaimed by ballooning.
        #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
        pub ballooned: Option<Bytes>,
        /// Memory that the hypervisor has swapped out.
        #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
        pub swapped: Option<Bytes>,
        /// Provisioned storage: the size that its virtual disks and other files can grow to.
        #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
        pub storage_provisioned: Option<Bytes>,
        /// Used storage on its datastores.
        #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
        pub storage_used: Option<Bytes>,
        /// Guest used storage: the sum over its file systems.
        #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
        pub storage_in_guest: Option<Bytes>,
        /// Storage used by its snapshots.
        #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
        pub snapshots: Option<Bytes>,
        /// Number of snapshots.
        #[schemars(with = "u32", range(min = 0, max = 100_000))]
        pub snapshot_count: Option<u32>,
        /// Time of its oldest snapshot, in ISO 8601.
        #[schemars(with = "String", regex(pattern = ISO_8601))]
        #[schemars(extend("x-code" = "bad-time", "x-allowed" = "a date, or a date and a time, as ISO 8601 writes them", "examples" = ["2026-03-01"]))]
        pub oldest_snapshot: Option<String>,
    }

    /// Measured values of all VMs of a cluster, summed at the same time, whether or not their peaks coincide. They do
    /// not change a simulation.
    pub struct MeasuredCluster {
        /// CPU used or demanded by all VMs together, in MHz: the mean.
        #[schemars(with = "f64", range(min = 0.0, max = 1e12))]
        pub cpu_mhz: Option<f64>,
        /// 95th percentile of CPU over time.
        #[schemars(with = "f64", range(min = 0.0, max = 1e12))]
        pub cpu_p95_mhz: Option<f64>,
        /// Peak CPU.
        #[schemars(with = "f64", range(min = 0.0, max = 1e12))]
        pub cpu_peak_mhz: Option<f64>,
        /// Host memory consumed by all VMs together: the mean.
        #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
        pub memory_consumed: Option<Bytes>,
        /// Peak consumed memory.
        #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
        pub memory_consumed_peak: Option<Bytes>,
    }
}
