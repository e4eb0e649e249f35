//! Virtual controllers: which of its I/O threads works on a request, and when a completion interrupts the guest.

use super::worker::Worker;
use crate::clock::{Clock, Event};
use crate::ids::{ControllerId, DepthId, Id, IoId, IoThreadId, Span, Table, VmId, WorkerId};
use crate::storage::queue::Fifo;
use crate::storage::request::{Issuer, Requests};
use hypertwin_kernel::Nanos;
use hypertwin_models::storage::virtual_controller::{Coalescing, HeedsRate, LONGEST_NS};

/// A virtual controller.
// one line of the cache
#[repr(align(64))]
pub struct Controller {
    pub vm: VmId,
    /// Its ring of requests.
    pub ring: DepthId,
    /// The threads for its requests; none if the guest drives the device itself.
    threads: Span<IoThreadId>,
    queues: u32,
    /// The queue of the next request of a transaction: they take turns.
    next_queue: u32,
    coalescing: Option<Coalescing>,
    /// Completed I/Os that wait for an interrupt, the time of the first, and whether a check is scheduled.
    completed: Fifo,
    since: Nanos,
    is_watched: bool,
}

impl Controller {
    /// A controller without a thread at work.
    pub fn new(vm: VmId, ring: DepthId, coalesces: Option<HeedsRate>) -> Self {
        Self {
            vm,
            ring,
            threads: Span::new(IoThreadId::new(0), 0),
            queues: 1,
            next_queue: 0,
            coalescing: coalesces.map(Coalescing::new),
            completed: Fifo::default(),
            since: 0,
            is_watched: false,
        }
    }

    /// These threads work for its queues from now on.
    pub fn set_threads(&mut self, threads: Span<IoThreadId>, queues: usize) {
        (self.threads, self.queues) = (threads, queues as u32);
    }

    /// Its host coalesces its interrupts so from now on.
    pub fn set_coalescing(&mut self, coalesces: Option<HeedsRate>) {
        if self.coalescing.map(|coalescing| coalescing.heeds_rate()) != coalesces {
            self.coalescing = coalesces.map(Coalescing::new);
        }
    }

    /// The thread that works on all requests, if there is one alone.
    #[inline]
    pub fn only_thread(&self) -> Option<IoThreadId> {
        (self.threads.len() == 1).then(|| self.threads.at(0))
    }

    /// The thread that works on a request of `issuer`, whose VM has these workers. Each worker has a queue.
    #[inline(never)]
    pub fn thread_for(&mut self, issuer: Issuer, workers: Span<WorkerId>) -> IoThreadId {
        let queue = match issuer {
            Issuer::Worker(worker) => workers.position(worker).unwrap_or(0) % self.queues as usize,
            _ => {
                self.next_queue = (self.next_queue + 1) % self.queues;
                self.next_queue as usize
            }
        };
        self.threads.at(queue % self.threads.len())
    }

    /// The thread that handles the completion of a request of `issuer`.
    #[inline]
    pub fn completing_thread(&self, issuer: Issuer, workers: Span<WorkerId>) -> Option<IoThreadId> {
        let queue = match (self.threads.len(), issuer) {
            (0, _) => return None,
            (1, _) => 0,
            (_, Issuer::Worker(worker)) => workers.position(worker).unwrap_or(0) % self.queues as usize,
            _ => self.next_queue as usize,
        };
        Some(self.threads.at(queue % self.threads.len()))
    }

    /// All that waits for an interrupt is dropped.
    pub fn clear(&mut self, requests: &Requests, dropped: &mut Vec<IoId>) {
        dropped.extend(std::iter::from_fn(|| self.completed.pop(requests)));
    }

    /// An I/O is complete; whether the guest is interrupted for it and all that were before.
    #[inline]
    pub fn complete(
        &mut self,
        id: IoId,
        in_flight: u32,
        requests: &mut Requests,
        this: ControllerId,
        clock: &mut Clock,
    ) -> bool {
        let Some(coalescing) = &mut self.coalescing else {
            self.completed.push(requests, id);
            return true;
        };
        if self.completed.is_empty() {
            self.since = clock.now;
        }
        self.completed.push(requests, id);
        let interrupts = coalescing.interrupts(clock.now, in_flight);
        if !interrupts && !self.is_watched {
            self.is_watched = true;
            clock.at(self.since + LONGEST_NS, Event::Interrupt(this));
        }
        interrupts
    }

    /// A check of the I/Os that wait for an interrupt; true if they have waited too long.
    pub fn is_late(&mut self, this: ControllerId, clock: &mut Clock) -> bool {
        let due = self.since + LONGEST_NS;
        let is_late = !self.completed.is_empty() && due <= clock.now;
        self.is_watched = !self.completed.is_empty() && !is_late;
        if self.is_watched {
            clock.at(due, Event::Interrupt(this));
        }
        is_late
    }

    /// True if an interrupt costs the guest CPU: without coalescing, a guest that handles completions sees more without
    /// an interrupt.
    #[inline]
    pub fn is_felt(&self, workers: &Table<WorkerId, Worker>, worker: WorkerId) -> bool {
        self.coalescing.is_some() || !workers[worker].has_more()
    }

    /// The next I/O that the guest hears of.
    #[inline]
    pub fn next_completed(&mut self, requests: &Requests) -> Option<IoId> {
        self.completed.pop(requests)
    }
}
