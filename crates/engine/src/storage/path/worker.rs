//! Workers: threads of a guest that keep I/Os outstanding.

use crate::ids::{IoId, ProcessId};
use crate::storage::queue::Fifo;
use crate::storage::request::{NONE, Requests};

/// A worker: the I/Os that it has to handle, and the one that it handles now.
pub struct Worker {
    process: ProcessId,
    queue: Fifo,
    current: IoId,
    /// Its process has nothing to compute.
    is_idle: bool,
    /// Work of interrupts that it has not done yet.
    pub interrupt_ns: f64,
}

impl Worker {
    pub fn new(process: ProcessId) -> Self {
        Self {
            process,
            queue: Fifo::default(),
            current: NONE,
            is_idle: true,
            interrupt_ns: 0.0,
        }
    }

    /// Its I/Os are dropped; it is idle.
    pub fn clear(&mut self, requests: &Requests, dropped: &mut Vec<IoId>) {
        dropped.extend(std::iter::from_fn(|| self.queue.pop(requests)));
        if self.current != NONE {
            dropped.push(std::mem::replace(&mut self.current, NONE));
        }
        self.is_idle = true;
        self.interrupt_ns = 0.0;
    }

    /// Another process does its work from now on.
    pub fn set_process(&mut self, process: ProcessId) {
        self.process = process;
    }

    /// Gives the worker an I/O to handle. It stays idle until [`Self::start`].
    #[inline]
    pub fn push(&mut self, requests: &mut Requests, id: IoId) {
        self.queue.push(requests, id);
    }

    /// Whether it has I/Os to handle beside the one at hand.
    #[inline]
    pub fn has_more(&self) -> bool {
        !self.queue.is_empty()
    }

    /// The process that has to be started now: the worker was idle and has something to do.
    #[inline]
    pub fn start(&mut self) -> Option<ProcessId> {
        let starts = self.is_idle && !self.queue.is_empty();
        self.is_idle &= !starts;
        starts.then_some(self.process)
    }

    /// The worker takes its next I/O; returns it, and the outstanding work for interrupts.
    #[inline]
    pub fn take(&mut self, requests: &Requests) -> (IoId, f64) {
        let next = self.queue.pop(requests);
        debug_assert!(next.is_some(), "a worker computes only for an I/O");
        self.current = next.unwrap_or(NONE);
        (self.current, std::mem::take(&mut self.interrupt_ns))
    }

    /// The I/O that the worker has computed for.
    #[inline]
    pub fn issue(&mut self) -> IoId {
        debug_assert!(self.current != NONE, "a worker issues what it took");
        std::mem::replace(&mut self.current, NONE)
    }

    /// Whether the worker goes on with another I/O; without one it is idle.
    #[inline]
    pub fn goes_on(&mut self) -> bool {
        self.is_idle = self.queue.is_empty();
        !self.is_idle
    }
}
