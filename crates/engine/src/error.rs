//! Why a run fails.

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// {vm}: {in_progress} transactions in progress; the offered load exceeds the capacity of the VM
    #[error("{vm}: {in_progress} transactions in progress: the offered load exceeds the capacity of the VM")]
    Overloaded {
        /// Name of the VM.
        vm: String,
        /// Transactions that had arrived and not ended.
        in_progress: usize,
    },
    /// The duration of the simulation is missing.
    #[error("run.duration and run.warmup need values before a run: the caller resolves `auto`")]
    NoTimes,
    /// A VM fits no host; a validated scenario always has a placement.
    #[error("a VM fits none of its allowed hosts")]
    NoPlacement,
}
