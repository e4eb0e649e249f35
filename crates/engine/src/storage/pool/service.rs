//! The services of a pool's nodes: threads that the hosts' schedulers place beside those of the VMs.

use super::qos::{Next, Waiting};
use crate::budget::Limit;
use crate::ids::{IoId, WorldId};
use crate::storage::queue::Waits;
use crate::storage::request::{NONE, PerIo, Requests, Role};
use crate::storage::shared::{Reply, Shared};
use crate::storage::work::Cost;
use hypertwin_kernel::Nanos;
use hypertwin_models::scheduler::LimitEnforcement;
use hypertwin_models::storage::qos::Class;
use std::ops::Range;

/// Queues and threads of all nodes.
pub struct Services {
    queues: Vec<ServiceQueue>,
    threads: Vec<Thread>,
    cost: Cost,
    /// Of pieces that are rebuilt: the work of erasure coding.
    pub coding_ns: PerIo<f64>,
}

/// A queue of a node's service, and those of its threads that have nothing to do.
struct ServiceQueue {
    waiting: Waiting,
    idle: Vec<usize>,
    limit: Option<Quota>,
}

/// What the threads of a queue may use of CPUs.
struct Quota {
    cpus: f64,
    limit: Limit,
    /// Threads that wait for the next period.
    held: Vec<usize>,
}

/// A thread of a service.
struct Thread {
    world: WorldId,
    /// The queue that it takes from.
    queue: usize,
    current: IoId,
    /// Its work for that.
    work_ns: f64,
}

impl Services {
    pub fn new(cost: Cost) -> Self {
        Self {
            queues: Vec::new(),
            threads: Vec::new(),
            cost,
            coding_ns: PerIo::new(),
        }
    }

    /// Adds a queue with a thread for each of `worlds`; returns its number.
    ///
    /// Its threads may use `limit_cpus` in all, as the cgroup of a container may: so much in each period, and then they wait for
    /// the next. What they use is the work of operations, however long a busy sibling makes it.
    pub fn add_queue(&mut self, worlds: &[WorldId], limit_cpus: Option<f64>, waiting: Waiting) -> usize {
        let (queue, first) = (self.queues.len(), self.threads.len());
        self.threads.extend(worlds.iter().map(|&world| Thread {
            world,
            queue,
            current: NONE,
            work_ns: 0.0,
        }));
        self.queues.push(ServiceQueue {
            waiting,
            idle: (first..self.threads.len()).rev().collect(),
            limit: limit_cpus.map(|cpus| Quota {
                cpus,
                limit: Limit::new(LimitEnforcement::Quota, cpus, 0),
                held: Vec::new(),
            }),
        });
        queue
    }

    /// An operation waits for a thread. If it has to wait for its class, the queue is to be renewed at the time that is returned.
    #[inline]
    pub fn enqueue(&mut self, queue: usize, id: IoId, class: Class, shared: &mut Shared, now: Nanos) -> Option<Nanos> {
        let service = &mut self.queues[queue];
        let Some(thread) = service.idle.pop() else {
            service.waiting.push(now, &mut shared.requests, id, class);
            return None;
        };
        if service.waiting.passes() {
            self.run(thread, id, shared);
            return None;
        }
        service.waiting.push(now, &mut shared.requests, id, class);
        service.idle.push(thread);
        self.run_idle(queue, shared, now)
    }

    /// Threads of a queue that have nothing to do take what waits. Returns when to look again if some has to wait for its class.
    fn run_idle(&mut self, queue: usize, shared: &mut Shared, now: Nanos) -> Option<Nanos> {
        while let Some(thread) = self.queues[queue].idle.pop() {
            match self.queues[queue].waiting.pop(now, &shared.requests) {
                Next::Operation(id) => self.run(thread, id, shared),
                next => {
                    self.queues[queue].idle.push(thread);
                    return next.later();
                }
            }
        }
        None
    }

    /// A thread that has nothing to do takes an operation.
    fn run(&mut self, thread: usize, id: IoId, shared: &mut Shared) {
        let work_ns = self.work(id, &shared.requests);
        let state = &mut self.threads[thread];
        (state.current, state.work_ns) = (id, work_ns);
        let world = state.world;
        shared.replies.push_back(Reply::Run { world, work_ns });
    }

    /// Work of a thread for an operation.
    #[inline]
    fn work(&self, id: IoId, requests: &Requests) -> f64 {
        let io = &requests[id];
        let work_ns = self.cost.of(io.bytes);
        match io.role {
            Role::Rebuild => work_ns + self.coding_ns[id],
            _ => work_ns,
        }
    }

    /// Gives a thread its next operation, and returns its work for it; without one the thread is idle. Also when the quota of its
    /// queue is used up, or what waits has to wait for its class: then the queue is to be renewed at the time that is returned
    /// instead.
    #[inline]
    pub fn next(&mut self, thread: usize, now: Nanos, requests: &Requests) -> Result<f64, Option<(usize, Nanos)>> {
        let state = &mut self.threads[thread];
        let service = &mut self.queues[state.queue];
        if let Some(quota) = &mut service.limit {
            quota.limit.charge(state.work_ns as Nanos, state.work_ns);
            let (is_held, until) = quota.limit.check(false, 1.0, now);
            if is_held {
                // who is idle waits, too; the first of them has the queue renewed
                let is_first = quota.held.is_empty();
                quota.held.push(thread);
                quota.held.append(&mut service.idle);
                return Err(is_first.then_some((state.queue, until)));
            }
        }
        let id = match service.waiting.pop(now, requests) {
            Next::Operation(id) => id,
            next => {
                service.idle.push(thread);
                return Err(next.later().map(|time| (state.queue, time)));
            }
        };
        let work_ns = self.work(id, requests);
        let state = &mut self.threads[thread];
        (state.current, state.work_ns) = (id, work_ns);
        Ok(work_ns)
    }

    /// A period of the quota of a queue begins, or what waits may go on: its threads do. Returns when to look again.
    pub fn renew(&mut self, queue: usize, shared: &mut Shared, now: Nanos) -> Option<Nanos> {
        let service = &mut self.queues[queue];
        if let Some(quota) = &mut service.limit {
            let (is_held, until) = quota.limit.check(true, 1.0, now);
            if is_held {
                return Some(until);
            }
            service.idle.append(&mut quota.held);
        }
        self.run_idle(queue, shared, now)
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
            service.waiting.drain(now, requests, dropped);
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

    /// Per queue: the fraction of time that its threads ran, or of what they may use if that is less, its mean length, and its
    /// waits.
    pub fn measured(&self, run: impl Fn(WorldId) -> f64, now: Nanos) -> impl Iterator<Item = (f64, f64, Waits)> {
        self.queues.iter().enumerate().map(move |(index, service)| {
            let threads = self.threads.iter().filter(|thread| thread.queue == index);
            let most = service.limit.as_ref().map_or(f64::INFINITY, |quota| quota.cpus);
            let count = (threads.clone().count() as f64).min(most);
            let busy = threads.map(|thread| run(thread.world)).sum::<f64>() / count;
            let (length, waits) = service.waiting.measured(now);
            (busy, length, waits)
        })
    }

    /// Measures from now.
    pub fn reset(&mut self, now: Nanos) {
        self.queues.iter_mut().for_each(|service| service.waiting.reset(now));
    }
}
