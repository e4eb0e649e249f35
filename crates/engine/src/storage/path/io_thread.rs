//! I/O threads: the worlds that work for virtual controllers, each on one request after another.

use crate::ids::{IoId, WorldId};
use crate::storage::queue::Queue;
use crate::storage::request::{NONE, Requests};
use hypertwin_kernel::Nanos;
use hypertwin_models::wake_up::ThreadWakeUp;

/// A world that works for one or more queues of virtual controllers.
// two lines of the cache
#[repr(align(64))]
pub struct IoThread {
    pub world: WorldId,
    /// Its work for a request, in nanoseconds alone on a core at nominal clock.
    pub work_ns: f64,
    /// Time from the guest to it, in which no CPU works for the request.
    pub wait_ns: Nanos,
    /// How long it takes to begin when it is woken.
    pub wake_up: ThreadWakeUp,
    /// What waits for it.
    pub queue: Queue,
    current: IoId,
    /// The world has no work and waits; while it goes from one request to the next, it does not.
    is_idle: bool,
    /// When it last had something to do, or will have once it is awake.
    awake_at: Nanos,
}

impl IoThread {
    /// One that is idle, whose work for a request is to be said.
    pub fn new(world: WorldId) -> Self {
        Self {
            world,
            work_ns: 0.0,
            wait_ns: 0,
            wake_up: ThreadWakeUp::default(),
            queue: Queue::new(),
            current: NONE,
            is_idle: true,
            awake_at: 0,
        }
    }

    /// An event needs the world, a request or a completion: when it is awake for it, which is now unless it sleeps.
    #[inline]
    pub fn wake(&mut self, now: Nanos) -> Nanos {
        if self.is_idle && self.awake_at < now {
            self.awake_at = now + self.wake_up.ns(now - self.awake_at);
        }
        if self.is_idle { self.awake_at } else { now }
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
        self.awake_at = now;
        self.current = next.unwrap_or(NONE);
        next
    }

    /// The request that the world is done with.
    #[inline]
    pub fn finish(&mut self) -> IoId {
        debug_assert!(self.current != NONE, "an I/O thread runs only for a request");
        std::mem::replace(&mut self.current, NONE)
    }

    /// All that it has is dropped; its world is idle.
    pub fn clear(&mut self, now: Nanos, requests: &Requests, dropped: &mut Vec<IoId>) {
        self.queue.drain(now, requests, dropped);
        if self.current != NONE {
            dropped.push(std::mem::replace(&mut self.current, NONE));
        }
        self.is_idle = true;
    }
}
