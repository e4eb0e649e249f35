//! Parallel transactions: one process on each vCPU, parts that are divided evenly, and a barrier at the end.

use crate::ids::ProcessId;
use crate::simulation::Simulation;
use crate::state::Source;
use hypertwin_cluster::Parts;
use hypertwin_kernel::Nanos;

/// The parts of the transactions of one VM, and how far the present one is.
pub struct Parallel {
    /// Part that each vCPU works on.
    part_of: Vec<usize>,
    /// Bursts of each part, and those of the present transaction that nobody has begun.
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

    /// Takes a burst for the process of `vcpu`; `false` if its part has none left.
    pub fn take(&mut self, vcpu: usize) -> bool {
        let left = &mut self.left[self.part_of[vcpu]];
        let any = *left > 0;
        *left -= u32::from(any);
        any
    }
}

impl Simulation {
    /// `process` finds nothing left of its part: it waits for the others, and the last one begins the next transaction.
    pub fn join(&mut self, process: ProcessId) {
        let vm_index = self.processes[process].vm as usize;
        let now = self.clock.now;
        let vm = &mut self.vms[vm_index];
        let Source::Parallel(parallel) = &mut vm.source else {
            return;
        };
        parallel.waiting.push(process);
        vm.in_progress = vm.vcpus - parallel.waiting.len();
        if vm.in_progress > 0 {
            return;
        }
        let started = parallel.started.replace(now);
        parallel.left.clone_from(&parallel.bursts);
        let processes = std::mem::take(&mut parallel.waiting);
        for &process in &processes {
            parallel.take(self.processes[process].session as usize);
        }
        vm.in_progress = vm.vcpus;
        if let Some(started) = started {
            self.record_response(vm_index, now - started);
        }
        for process in processes {
            self.processes[process].bursts_left = 1;
            self.begin_burst(process);
        }
    }
}
