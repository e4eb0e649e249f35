//! Parallel transactions: one process on each vCPU, parts that are divided evenly, and a barrier at the end.

use crate::ids::ProcessId;
use hypertwin_cluster::Parts;
use hypertwin_kernel::Nanos;

/// The parts of the transactions of one VM, and how far the present one is.
pub struct Parallel {
    /// Part that each vCPU works on.
    part_of: Vec<usize>,
    /// Bursts of each part, and those of the current transaction that have not begun.
    bursts: Vec<u32>,
    left: Vec<u32>,
    /// Processes at the barrier.
    waiting: Vec<ProcessId>,
    /// When the present transaction began; `None` before the first.
    started: Option<Nanos>,
}

impl Parallel {
    /// Transactions of `bursts` bursts for each vCPU, over virtual nodes of `vpds` vCPUs.
    pub fn new(parts: Parts, vpds: &[u32], bursts: u32) -> Self {
        let sizes: Vec<u32> = match parts {
            Parts::Node => vpds.to_vec(),
            Parts::Vcpu => vec![1; vpds.iter().sum::<u32>() as usize],
        };
        let vcpus = |(part, size): (usize, &u32)| std::iter::repeat_n(part, *size as usize);
        Self {
            part_of: sizes.iter().enumerate().flat_map(vcpus).collect(),
            bursts: sizes.iter().map(|size| size * bursts).collect(),
            left: vec![0; sizes.len()],
            waiting: Vec::new(),
            started: None,
        }
    }

    /// Nothing is under way any more.
    pub fn clear(&mut self) {
        self.left.fill(0);
        self.waiting.clear();
        self.started = None;
    }

    /// Takes a burst for the process of `vcpu`; `false` if its part has none left.
    pub fn take(&mut self, vcpu: usize) -> bool {
        let left = &mut self.left[self.part_of[vcpu]];
        let any = *left > 0;
        *left -= u32::from(any);
        any
    }

    /// `process` waits for the others of `all`. The last one begins the next transaction: all processes, and when the
    /// one before began.
    pub fn join(&mut self, process: ProcessId, all: usize, now: Nanos) -> Option<(Vec<ProcessId>, Option<Nanos>)> {
        self.waiting.push(process);
        if self.waiting.len() < all {
            return None;
        }
        self.left.clone_from(&self.bursts);
        Some((std::mem::take(&mut self.waiting), self.started.replace(now)))
    }

    /// Processes at the barrier.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}
