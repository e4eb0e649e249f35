//! What guests and processors have to say to each other, who do not know each other: the border is a vCPU.

use crate::ids::VmId;

/// A vCPU of a VM, by its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vcpu {
    pub vm: VmId,
    pub index: usize,
}

/// What a vCPU that had nothing to do, or that switches processes, is to execute.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// In nanoseconds alone on a core at the reference clock of the guest's workload.
    pub work_ns: f64,
    /// Run time until the guest gives the vCPU to another process, if one waits for it.
    pub slice_ns: u64,
    pub contended: bool,
}

/// How a guest reacts to an interrupt that makes a process runnable.
#[derive(Clone, Copy, Debug)]
pub enum Reaction {
    /// This vCPU was idle and executes it.
    Start(Vcpu, Work),
    /// It waits for this vCPU; whether it is the first that does.
    Wait(Vcpu, bool),
}

/// A guest as processors know it.
pub trait Guest {
    /// Serves the next interrupt that has waited until this vCPU executes.
    fn next_interrupt(&mut self, vcpu: Vcpu) -> Option<Reaction>;
}

/// What a vCPU does when the burst of its process is over.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// Nothing: it is idle.
    Idle,
    /// It switches to another process.
    Switch(Work),
    /// It switches to a process that waited for another vCPU, which may be contended or not from now on.
    Pull { work: Work, from: usize, contended: bool },
}
