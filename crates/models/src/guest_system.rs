//! The operating system inside a VM: processes multiplexed over vCPUs.
//!
//! **Mechanism.** Each vCPU has a run queue. A process that becomes runnable goes to its last vCPU if that is idle,
//! else to any idle vCPU, else to the shorter of its last vCPU's queue and the next one in turn. A vCPU that runs dry
//! takes a waiting process from another queue. While others wait for its vCPU, a process runs for one time slice at
//! most. The guest knows nothing of the host: a process on a vCPU that is not scheduled counts as running. What the
//! vCPUs of one guest cost each other stretches the work of a CPU burst, by the universal scalability law. That law has
//! a fixed number of locks. A system that has more of them with more CPUs, as databases do, loses the same part with
//! each doubling of vCPUs instead.
//!
//! **Sources.** The wake-up and idle-balance paths of Linux's fair scheduler, reduced to their effect on queues;
//! two-choice placement after Mitzenmacher (2001); Gunther, "Guerrilla Capacity Planning" (2007), for scalability;
//! Oracle Database Reference, `CPU_COUNT`, and SQL Server, lock partitioning from 16 CPUs, for locks by the number of
//! CPUs; +90% with every doubling of vCPUs, of Oracle from 1 to 8 vCPUs (VMware, vSphere 4).
//!
//! **Valid** for compute and transaction workloads; no priorities inside the guest, no guest NUMA policy.

use crate::cpu_set::CpuSet;
use hypertwin_cluster::Scaling;
use hypertwin_sharing::UniversalScalability;
use std::collections::VecDeque;

/// A process or session inside one simulation.
pub type ProcessId = u32;

/// What a process that became runnable got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wakeup {
    /// It is the current process of this vCPU, which was idle.
    Start(usize),
    /// It waits for this vCPU; `true` if it is the first that waits there.
    Wait(usize, bool),
}

/// Run queues of one guest.
#[derive(Clone, Debug)]
pub struct GuestSystem {
    current: Vec<Option<ProcessId>>,
    waiting: Vec<VecDeque<ProcessId>>,
    idle: CpuSet,
    crowded: CpuSet,
    turn: usize,
    runnable: usize,
    busy: usize,
}

impl GuestSystem {
    /// A guest with `vcpus` idle vCPUs.
    pub fn new(vcpus: usize) -> Self {
        Self {
            current: vec![None; vcpus],
            waiting: vec![VecDeque::new(); vcpus],
            idle: CpuSet::full(vcpus),
            crowded: CpuSet::new(vcpus),
            turn: 0,
            runnable: 0,
            busy: 0,
        }
    }

    /// The process that `vcpu` executes.
    #[inline]
    pub fn current(&self, vcpu: usize) -> Option<ProcessId> {
        self.current[vcpu]
    }

    /// Whether processes wait for `vcpu`.
    #[inline]
    pub fn has_waiting(&self, vcpu: usize) -> bool {
        !self.waiting[vcpu].is_empty()
    }

    /// Processes that execute or wait for a vCPU: the run queue as vmstat counts it.
    pub fn runnable(&self) -> usize {
        self.runnable
    }

    /// vCPUs that are not idle as the guest sees it.
    pub fn busy(&self) -> usize {
        self.busy
    }

    /// `process`, which last ran on `last`, becomes runnable.
    pub fn wake(&mut self, process: ProcessId, last: usize) -> Wakeup {
        self.runnable += 1;
        let vcpu = if self.idle.contains(last) {
            Some(last)
        } else {
            self.idle.first_round(last)
        };
        if let Some(vcpu) = vcpu {
            self.start(vcpu, process);
            return Wakeup::Start(vcpu);
        }
        self.turn = (self.turn + 1) % self.current.len();
        let shorter = self.waiting[self.turn].len() < self.waiting[last].len();
        let vcpu = if shorter { self.turn } else { last };
        self.waiting[vcpu].push_back(process);
        self.crowded.insert(vcpu);
        Wakeup::Wait(vcpu, self.waiting[vcpu].len() == 1)
    }

    /// The current process of `vcpu` is done or blocks. Returns the process that runs next, if any, and the vCPU that
    /// it waited for.
    pub fn finish(&mut self, vcpu: usize) -> Option<(ProcessId, usize)> {
        self.runnable -= 1;
        self.busy -= 1;
        self.current[vcpu] = None;
        let from = if self.has_waiting(vcpu) {
            Some(vcpu)
        } else {
            self.crowded.first_round(vcpu)
        };
        let Some(from) = from else {
            self.idle.insert(vcpu);
            return None;
        };
        let process = self.take(from)?;
        self.start(vcpu, process);
        Some((process, from))
    }

    /// The time slice of `vcpu`'s process is over: the next waiting process takes its place.
    pub fn rotate(&mut self, vcpu: usize) {
        if let (Some(old), Some(new)) = (self.current[vcpu], self.take(vcpu)) {
            self.waiting[vcpu].push_back(old);
            self.crowded.insert(vcpu);
            self.current[vcpu] = Some(new);
        }
    }

    fn take(&mut self, vcpu: usize) -> Option<ProcessId> {
        let process = self.waiting[vcpu].pop_front()?;
        if self.waiting[vcpu].is_empty() {
            self.crowded.remove(vcpu);
        }
        Some(process)
    }

    fn start(&mut self, vcpu: usize, process: ProcessId) {
        self.current[vcpu] = Some(process);
        self.idle.remove(vcpu);
        self.busy += 1;
    }
}

/// By what factor the work of a CPU burst grows in a guest with `vcpus`, by how many of them are busy when it begins,
/// itself included: with one busy it is the first, 1. With n busy, and each burst so stretched, the guest has n over
/// this of the capacity of one vCPU, which is the law. Each doubling of `n` stretches it by the same factor more.
pub fn stretch(vcpus: usize, scaling: Scaling) -> Vec<f64> {
    let law = UniversalScalability {
        contention: scaling.contention,
        coherency: scaling.coherency,
    };
    let exponent = libm::log2(1.0 + scaling.per_doubling);
    let busy = (1..=vcpus).map(|busy| busy as f64);
    busy.map(|busy| busy / law.capacity(busy) * libm::pow(busy, exponent))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_doubling_costs_the_same_part_more() {
        let of = |contention, per_doubling| {
            stretch(
                8,
                Scaling {
                    contention,
                    coherency: 0.0,
                    per_doubling,
                },
            )
        };
        let near = |found: f64, by_hand: f64| assert!((found - by_hand).abs() < 1e-12, "{found} {by_hand}");
        let alone = of(0.0, 0.25);
        for (busy, by_hand) in [(1, 1.0), (2, 1.25), (4, 1.5625), (8, 1.953_125)] {
            near(alone[busy - 1], by_hand);
        }
        assert!(
            alone[1] < alone[2] && alone[2] < alone[3],
            "three are between two and four"
        );
        near(of(0.1, 0.25)[3], 1.3 * 1.5625);
        near(of(0.1, 0.0)[3], 1.3);
    }

    #[test]
    fn no_vcpu_idles_while_a_process_waits() {
        let mut guest = GuestSystem::new(2);
        assert_eq!(guest.wake(1, 0), Wakeup::Start(0));
        assert_eq!(guest.wake(2, 0), Wakeup::Start(1));
        assert_eq!(guest.wake(3, 0), Wakeup::Wait(0, true));
        assert_eq!((guest.busy(), guest.runnable()), (2, 3));
        assert_eq!(
            guest.finish(1),
            Some((3, 0)),
            "the idle vCPU takes the process that waits for the other"
        );
        assert_eq!((guest.finish(1), guest.finish(0)), (None, None));
        assert_eq!((guest.busy(), guest.runnable()), (0, 0));
    }

    #[test]
    fn a_slice_rotates_through_the_queue() {
        let mut guest = GuestSystem::new(1);
        for process in 1..=3 {
            guest.wake(process, 0);
        }
        let order: Vec<_> = (0..4)
            .map(|_| {
                guest.rotate(0);
                guest.current(0).unwrap()
            })
            .collect();
        assert_eq!(order, [2, 3, 1, 2]);
    }
}
