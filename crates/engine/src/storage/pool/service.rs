//! The services of a pool's nodes: threads that the hosts' schedulers place beside those of the VMs.

use crate::ids::{IoId, WorldId};
use crate::storage::queue::{Queue, Waits};
use crate::storage::request::{Io, NONE, Requests, Role};
use crate::storage::shared::{Reply, Shared};
use crate::storage::work::Cost;
use hypertwin_kernel::Nanos;
use std::ops::Range;

/// Queues and threads of all nodes.
pub struct Services {
    queues: Vec<ServiceQueue>,
    threads: Vec<Thread>,
    cost: Cost,
    /// Work of erasure coding for a byte that is rebuilt.
    rebuild_ns_per_byte: f64,
}

/// A queue of a node's service, and those of its threads that have nothing to do.
struct ServiceQueue {
    queue: Queue,
    idle: Vec<usize>,
}

/// A thread of a service.
struct Thread {
    world: WorldId,
    /// The queue that it takes from.
    queue: usize,
    current: IoId,
}

impl Services {
    pub fn new(cost: Cost, rebuild_ns_per_byte: f64) -> Self {
        Self {
            queues: Vec::new(),
            threads: Vec::new(),
            cost,
            rebuild_ns_per_byte,
        }
    }

    /// Adds a queue with a thread for each of `worlds`; returns its number.
    pub fn add_queue(&mut self, worlds: &[WorldId]) -> usize {
        let (queue, first) = (self.queues.len(), self.threads.len());
        self.threads.extend(worlds.iter().map(|&world| Thread {
            world,
            queue,
            current: NONE,
        }));
        self.queues.push(ServiceQueue {
            queue: Queue::new(),
            idle: (first..self.threads.len()).rev().collect(),
        });
        queue
    }

    /// An operation waits for a thread.
    #[inline]
    pub fn enqueue(&mut self, queue: usize, id: IoId, shared: &mut Shared, now: Nanos) {
        let service = &mut self.queues[queue];
        let Some(thread) = service.idle.pop() else {
            service.queue.push(now, &mut shared.requests, id);
            return;
        };
        service.queue.pass();
        self.threads[thread].current = id;
        let (world, work_ns) = (self.threads[thread].world, self.work(&shared.requests[id]));
        shared.replies.push_back(Reply::Run { world, work_ns });
    }

    /// Work of a thread for an operation.
    #[inline]
    fn work(&self, io: &Io) -> f64 {
        let mut work_ns = self.cost.of(io.bytes);
        if io.role == Role::Rebuild {
            work_ns += self.rebuild_ns_per_byte * f64::from(io.bytes);
        }
        work_ns
    }

    /// Gives a thread its next operation, and returns its work for it; without one the thread is idle.
    #[inline]
    pub fn next(&mut self, thread: usize, now: Nanos, requests: &Requests) -> Option<f64> {
        let state = &mut self.threads[thread];
        let service = &mut self.queues[state.queue];
        let Some(id) = service.queue.pop(now, requests) else {
            service.idle.push(thread);
            return None;
        };
        state.current = id;
        Some(self.work(&requests[id]))
    }

    /// The operation that a thread is done with; `None` if it was dropped meanwhile.
    #[inline]
    pub fn finish(&mut self, thread: usize) -> Option<IoId> {
        let id = std::mem::replace(&mut self.threads[thread].current, NONE);
        (id != NONE).then_some(id)
    }

    /// Drops all operations that wait in some queues or are with their threads.
    pub fn drop_all(&mut self, queues: Range<usize>, dropped: &mut Vec<IoId>, requests: &Requests, now: Nanos) {
        for service in &mut self.queues[queues.clone()] {
            service.queue.drain(now, requests, dropped);
        }
        // a thread that computes finds out when it is done
        for thread in self.threads.iter_mut().filter(|thread| queues.contains(&thread.queue)) {
            if thread.current != NONE {
                dropped.push(std::mem::replace(&mut thread.current, NONE));
            }
        }
    }

    /// Worlds of all threads.
    pub fn worlds(&self) -> impl Iterator<Item = WorldId> {
        self.threads.iter().map(|thread| thread.world)
    }

    /// Per queue: the fraction of time that its threads ran, its mean length, and its waits.
    pub fn measured(&self, run: impl Fn(WorldId) -> f64, now: Nanos) -> impl Iterator<Item = (f64, f64, Waits)> {
        self.queues.iter().enumerate().map(move |(index, service)| {
            let threads = self.threads.iter().filter(|thread| thread.queue == index);
            let count = threads.clone().count() as f64;
            let busy = threads.map(|thread| run(thread.world)).sum::<f64>() / count;
            (busy, service.queue.length.mean(now), service.queue.waits)
        })
    }

    /// Measures from now.
    pub fn reset(&mut self, now: Nanos) {
        self.queues.iter_mut().for_each(|service| service.queue.reset(now));
    }
}
