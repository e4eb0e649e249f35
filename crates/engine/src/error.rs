//! Why a run fails.

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// {vm}: {in_progress} transactions in progress; the offered load exceeds what the VM can do
    #[error("{vm}: {in_progress} transactions in progress: the offered load exceeds what the machine can do")]
    Overloaded {
        /// Name of the VM.
        vm: String,
        /// Transactions that had arrived and not ended.
        in_progress: usize,
    },
    /// How long to simulate is not given.
    #[error("run.duration and run.warmup have to be given before a run: `auto` is found by who runs it")]
    NoTimes,
    /// A VM fits on no host; a scenario that was validated has a placement.
    #[error("a virtual machine fits on no host that it may be on")]
    NoPlacement,
}
