//! Virtual controllers: the world of each works on one request after another, and coalesces interrupts.

use crate::ids::{DepthId, IoId, WorldId};
use crate::storage::queue::{Fifo, Queue};
use crate::storage::request::{NONE, Requests};
use hypertwin_kernel::Nanos;
use hypertwin_models::storage::virtual_controller::Coalescing;

/// A virtual controller and the world that works for it.
// two lines of the cache
#[repr(align(64))]
pub struct Controller {
    pub world: WorldId,
    /// Its ring of requests.
    pub ring: DepthId,
    /// Work of the world for a request, in nanoseconds alone on a core at nominal clock.
    pub work_ns: f64,
    /// What waits for the world.
    pub queue: Queue,
    current: IoId,
    /// The world has no work and waits; while it goes from one request to the next, it does not.
    is_idle: bool,
    /// Complete I/Os that wait for an interrupt.
    completed: Fifo,
    coalescing: Coalescing,
}

impl Controller {
    pub fn new(world: WorldId, ring: DepthId, work_ns: f64) -> Self {
        Self {
            world,
            ring,
            work_ns,
            queue: Queue::new(),
            current: NONE,
            is_idle: true,
            completed: Fifo::default(),
            coalescing: Coalescing::default(),
        }
    }

    /// A request comes; whether the world, which was idle, takes it at once. Else it waits.
    #[inline]
    pub fn take(&mut self, id: IoId, now: Nanos, requests: &mut Requests) -> bool {
        if !self.is_idle {
            self.queue.push(now, requests, id);
            return false;
        }
        self.queue.pass();
        self.is_idle = false;
        self.current = id;
        true
    }

    /// Gives the world its next request; without one it is idle from now on.
    #[inline]
    pub fn start(&mut self, now: Nanos, requests: &Requests) -> Option<IoId> {
        let next = self.queue.pop(now, requests);
        self.is_idle = next.is_none();
        self.current = next.unwrap_or(NONE);
        next
    }

    /// The request that the world is done with.
    #[inline]
    pub fn finish(&mut self) -> IoId {
        debug_assert!(
            self.current != NONE,
            "the world of a controller runs only for a request"
        );
        std::mem::replace(&mut self.current, NONE)
    }

    /// All that it has is dropped; its world is idle.
    pub fn clear(&mut self, now: Nanos, requests: &Requests, dropped: &mut Vec<IoId>) {
        self.queue.drain(now, requests, dropped);
        if self.current != NONE {
            dropped.push(std::mem::replace(&mut self.current, NONE));
        }
        dropped.extend(std::iter::from_fn(|| self.completed.pop(requests)));
        self.is_idle = true;
    }

    /// An I/O is complete; whether the guest is interrupted for it and all that were before.
    #[inline]
    pub fn complete(&mut self, id: IoId, in_flight: u32, now: Nanos, requests: &mut Requests) -> bool {
        self.completed.push(requests, id);
        self.coalescing.interrupts(now, in_flight)
    }

    /// The next I/O that the guest hears of.
    #[inline]
    pub fn next_completed(&mut self, requests: &Requests) -> Option<IoId> {
        self.completed.pop(requests)
    }
}
