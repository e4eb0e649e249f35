//! Where I/Os wait: plain queues, queues whose length and waits are measured, and queue depths.

use super::request::{Io, NONE, Requests};
use crate::ids::IoId;
use hypertwin_kernel::{Nanos, TimeAverage};
use std::mem::offset_of;

/// I/Os in order of arrival, linked through [`super::request::Io::next`]: an I/O is in one queue at a time.
#[derive(Clone, Copy, Debug)]
pub struct Fifo {
    head: IoId,
    tail: IoId,
    length: u32,
}

impl Default for Fifo {
    fn default() -> Self {
        Self {
            head: NONE,
            tail: NONE,
            length: 0,
        }
    }
}

impl Fifo {
    #[inline]
    pub fn push(&mut self, requests: &mut Requests, id: IoId) {
        requests[id].next = NONE;
        match self.tail {
            NONE => self.head = id,
            tail => requests[tail].next = id,
        }
        self.tail = id;
        self.length += 1;
    }

    #[inline]
    pub fn pop(&mut self, requests: &Requests) -> Option<IoId> {
        let id = self.first()?;
        self.head = requests[id].next;
        if self.head == NONE {
            self.tail = NONE;
        }
        self.length -= 1;
        Some(id)
    }

    #[inline]
    pub fn first(&self) -> Option<IoId> {
        (self.head != NONE).then_some(self.head)
    }

    #[inline]
    pub fn len(&self) -> u32 {
        self.length
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

/// I/Os that passed, those of them that waited, and for how long.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Waits {
    pub passed: u64,
    pub waited: u64,
    pub wait_ns: u64,
}

impl Waits {
    #[inline]
    pub fn add(&mut self, wait_ns: Nanos) {
        self.passed += 1;
        self.waited += u64::from(wait_ns > 0);
        self.wait_ns += wait_ns;
    }
}

/// A queue whose length and waits are measured.
// in this order: what passes without waiting needs the first fields only
#[repr(C)]
pub struct Queue {
    fifo: Fifo,
    pub waits: Waits,
    pub length: TimeAverage,
}

impl Queue {
    pub fn new() -> Self {
        Self {
            fifo: Fifo::default(),
            waits: Waits::default(),
            length: TimeAverage::new(),
        }
    }

    /// An I/O passes without joining the queue.
    #[inline]
    pub fn pass(&mut self) {
        debug_assert!(self.is_empty(), "who comes later waits behind the others");
        self.waits.add(0);
    }

    /// An I/O joins the queue.
    #[inline]
    pub fn push(&mut self, now: Nanos, requests: &mut Requests, id: IoId) {
        requests[id].since = now;
        self.fifo.push(requests, id);
        self.note(now);
    }

    /// Takes the first one out, and counts its wait.
    #[inline]
    pub fn pop(&mut self, now: Nanos, requests: &Requests) -> Option<IoId> {
        let id = self.fifo.pop(requests)?;
        self.waits.add(now - requests[id].since);
        self.note(now);
        Some(id)
    }

    /// Takes all I/Os out: they fail.
    pub fn drain(&mut self, now: Nanos, requests: &Requests, dropped: &mut Vec<IoId>) {
        dropped.extend(std::iter::from_fn(|| self.fifo.pop(requests)));
        self.note(now);
    }

    /// Takes out the I/Os that `leaves` says, which are dropped.
    pub fn take_out(
        &mut self,
        now: Nanos,
        requests: &mut Requests,
        leaves: impl Fn(&Io) -> bool,
        dropped: &mut Vec<IoId>,
    ) {
        for _ in 0..self.fifo.len() {
            let Some(id) = self.fifo.pop(requests) else { break };
            match leaves(&requests[id]) {
                true => dropped.push(id),
                false => self.fifo.push(requests, id),
            }
        }
        self.note(now);
    }

    #[inline]
    pub fn first(&self) -> Option<IoId> {
        self.fifo.first()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.fifo.is_empty()
    }

    pub fn len(&self) -> u32 {
        self.fifo.len()
    }

    #[inline]
    fn note(&mut self, now: Nanos) {
        self.length.set(now, f64::from(self.fifo.len()));
    }

    /// Measures from now.
    pub fn reset(&mut self, now: Nanos) {
        self.length.reset(now);
        self.waits = Waits::default();
    }
}

/// A limit on the I/Os between here and their completion: each holds a slot, and those without one wait.
// an I/O that finds a slot and gives it back touches one line of the cache
#[repr(C, align(64))]
pub struct QueueDepth {
    pub slots: u32,
    used: u32,
    /// Slots that are taken.
    pub busy: TimeAverage,
    pub queue: Queue,
    /// Which station of the report it belongs to.
    pub station: usize,
}

const _: () = assert!(offset_of!(QueueDepth, queue.waits.waited) <= 64);

impl QueueDepth {
    pub fn new(slots: u32, station: usize) -> Self {
        Self {
            slots,
            used: 0,
            busy: TimeAverage::new(),
            queue: Queue::new(),
            station,
        }
    }

    /// Slots that are taken at present.
    #[inline]
    pub fn used(&self) -> u32 {
        self.used
    }

    /// Takes a slot, or joins the queue and returns `false`.
    #[inline]
    pub fn enter(&mut self, now: Nanos, requests: &mut Requests, id: IoId) -> bool {
        if self.used == self.slots {
            self.queue.push(now, requests, id);
            return false;
        }
        self.used += 1;
        self.busy.set(now, f64::from(self.used));
        self.queue.pass();
        true
    }

    /// Gives a slot back, to the first in the queue if there is one.
    #[inline]
    pub fn leave(&mut self, now: Nanos, requests: &Requests) -> Option<IoId> {
        debug_assert!(self.used > 0, "what leaves has entered");
        let next = self.queue.pop(now, requests);
        if next.is_none() {
            self.used -= 1;
            self.busy.set(now, f64::from(self.used));
        }
        next
    }

    /// Frees all slots and drops all requests that held or waited for one.
    pub fn clear(&mut self, now: Nanos, requests: &Requests, dropped: &mut Vec<IoId>) {
        self.queue.drain(now, requests, dropped);
        self.used = 0;
        self.busy.set(now, 0.0);
    }

    /// Measures from now.
    pub fn reset(&mut self, now: Nanos) {
        self.busy.reset(now);
        self.queue.reset(now);
    }
}
