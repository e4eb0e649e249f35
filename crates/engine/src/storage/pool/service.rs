//! The services of a pool's nodes: threads that the hosts' schedulers place beside those of the VMs.
//!
//! **A service's quota stops threads between operations,** never within an operation, because the pool knows
//! operations, not schedulers. The pool sets aside the idle threads of a queue that has used up its quota. Queues
//! without a quota therefore need no check.
//!
//! **Operations of a kind may vary in CPU time, at the same mean** (`service.cv`). Storage operations are well
//! described by a hyperexponential of two phases (Wajahat et al., Performance Evaluation 142, 2020), as `Draw` has
//! above 1. The default is 1: with 0, published tails under load are a third of the measured ones; with 2, that of one
//! write at a time is three times too long.

use super::qos::{Next, Waiting};
use crate::budget::Limit;
use crate::ids::{IoId, WorldId};
use crate::storage::queue::Waits;
use crate::storage::request::{NONE, PerIo, Requests, Role};
use crate::storage::shared::{Reply, Shared};
use crate::storage::work::{Cost, Stage};
use hypertwin_kernel::{Draw, Nanos, Stream, TimeAverage};
use hypertwin_models::scheduler::LimitEnforcement;
use hypertwin_models::storage::product::ceph::OsdCost;
use hypertwin_models::storage::product::qos::Class;
use std::ops::Range;

/// Queues and threads of all nodes.
pub struct Services {
    queues: Vec<ServiceQueue>,
    threads: Vec<Thread>,
    quotas: Vec<Quota>,
    costs: Costs,
    spread: Spread,
    /// Of pieces that are rebuilt: the work of erasure coding. Of primaries: all of their next visit to a shard.
    pub shard_ns: PerIo<f64>,
    /// Of legs and primaries: the work of all messages that their OSD has for them.
    pub messages_ns: PerIo<f64>,
}

/// What operations cost of CPU, in nanoseconds alone on a core at nominal clock. What is known in cycles is in
/// nanoseconds of the first node.
pub struct Costs {
    pub operation: Cost,
    /// Likewise of an OSD of Ceph.
    pub osd: Option<OsdCost>,
}

/// How much longer or shorter an operation takes of CPU than the mean of its kind.
pub struct Spread {
    /// In units of 1 / [`WHOLE`].
    factor: Draw,
    stream: Stream,
}

impl Spread {
    /// Factors with a mean of 1 and this coefficient of variation, for a pool's services.
    pub fn new(cv: f64, pool: &str, seed: u64) -> Self {
        Self {
            factor: Draw::new(WHOLE, cv),
            stream: Stream::named(seed, &format!("storage/{pool}/services")),
        }
    }

    #[inline]
    fn factor(&mut self) -> f64 {
        self.factor.sample(&mut self.stream) as f64 / WHOLE
    }
}

/// A factor of 1.
const WHOLE: f64 = 1e6;

/// A queue of a node's service, and those of its threads that have nothing to do.
struct ServiceQueue {
    waiting: Waiting,
    idle: Vec<usize>,
    stage: Stage,
    /// Clock of the pool's first node by that of this one: how much longer the same cycles take.
    slowdown: f64,
    threads: Range<usize>,
    /// Threads that wait for a device: now, and on average.
    waiting_now: u32,
    away: TimeAverage,
    /// Which quota its threads share.
    quota: Option<usize>,
}

/// What the threads of some queues may use of CPUs.
struct Quota {
    cpus: f64,
    limit: Limit,
    queues: Range<usize>,
    /// Whether it is used up, and the threads that wait for the next period.
    is_used_up: bool,
    held: Vec<usize>,
}

/// A thread of a service.
struct Thread {
    world: WorldId,
    /// The queue that it takes from.
    queue: usize,
    current: IoId,
    /// Run time of its world that its quota was charged with.
    charged_ns: u64,
}

impl Services {
    pub fn new(costs: Costs, spread: Spread) -> Self {
        Self {
            queues: Vec::new(),
            threads: Vec::new(),
            quotas: Vec::new(),
            costs,
            spread,
            shard_ns: PerIo::new(),
            messages_ns: PerIo::new(),
        }
    }

    /// Adds a queue with a thread for each of `worlds`; returns its number.
    pub fn add_queue(&mut self, worlds: &[WorldId], stage: Stage, waiting: Waiting, slowdown: f64) -> usize {
        let (queue, first) = (self.queues.len(), self.threads.len());
        self.threads.extend(worlds.iter().map(|&world| Thread {
            world,
            queue,
            current: NONE,
            charged_ns: 0,
        }));
        self.queues.push(ServiceQueue {
            waiting,
            idle: (first..self.threads.len()).rev().collect(),
            stage,
            slowdown,
            threads: first..self.threads.len(),
            waiting_now: 0,
            away: TimeAverage::new(),
            quota: None,
        });
        queue
    }

    /// Limits the threads of `queues` to `cpus` CPUs in all, like the cgroup of a container: they have a run time
    /// budget in each period, and then wait for the next.
    pub fn limit(&mut self, queues: Range<usize>, cpus: f64) {
        for service in &mut self.queues[queues.clone()] {
            service.quota = Some(self.quotas.len());
        }
        self.quotas.push(Quota {
            cpus,
            limit: Limit::new(LimitEnforcement::Quota, cpus, self.spread.stream.uniform(), 0),
            queues,
            is_used_up: false,
            held: Vec::new(),
        });
    }

    /// An operation waits for a thread. If it has to wait for its class, the queue is to be renewed at the time that is
    /// returned.
    #[inline]
    pub fn enqueue(&mut self, queue: usize, id: IoId, class: Class, shared: &mut Shared, now: Nanos) -> Option<Nanos> {
        let service = &mut self.queues[queue];
        let Some(thread) = service.idle.pop() else {
            service.waiting.push(now, &mut shared.requests, id, class);
            return None;
        };
        if service.waiting.passes() {
            self.run(thread, id, false, shared);
            return None;
        }
        service.waiting.push(now, &mut shared.requests, id, class);
        service.idle.push(thread);
        self.run_idle(queue, None, shared, now)
    }

    /// Threads of a queue that have nothing to do take what waits. Returns when to look again if some has to wait for
    /// its class. One of the threads may be awake: its device has just answered.
    fn run_idle(&mut self, queue: usize, awake: Option<usize>, shared: &mut Shared, now: Nanos) -> Option<Nanos> {
        while let Some(thread) = self.queues[queue].idle.pop() {
            match self.queues[queue].waiting.pop(now, &shared.requests) {
                Next::Operation(id) => self.run(thread, id, awake == Some(thread), shared),
                next => {
                    self.queues[queue].idle.push(thread);
                    return next.later();
                }
            }
        }
        None
    }

    /// A thread that has nothing to do takes an operation.
    fn run(&mut self, thread: usize, id: IoId, is_awake: bool, shared: &mut Shared) {
        let state = &mut self.threads[thread];
        state.current = id;
        let (world, queue) = (state.world, state.queue);
        let work_ns = self.work(queue, id, &shared.requests);
        shared.replies.push_back(Reply::Run {
            world,
            work_ns,
            is_awake,
        });
    }

    /// Work of a thread for an operation.
    #[inline]
    fn work(&mut self, queue: usize, id: IoId, requests: &Requests) -> f64 {
        self.spread.factor() * self.mean_work(queue, id, requests)
    }

    /// Its mean.
    #[inline]
    fn mean_work(&self, queue: usize, id: IoId, requests: &Requests) -> f64 {
        let io = &requests[id];
        let ServiceQueue { stage, slowdown, .. } = self.queues[queue];
        let coding_ns = || match io.role {
            Role::Rebuild => self.shard_ns[id],
            _ => 0.0,
        };
        let osd = match (stage, &self.costs.osd) {
            (Stage::Operation, _) => return self.costs.operation.of(io.bytes) + slowdown * coding_ns(),
            (_, osd) => osd.as_ref().expect("only Ceph has other stages"),
        };
        let first_node_ns = match stage {
            Stage::Messages => self.messages_ns[id],
            Stage::Shard if matches!(io.role, Role::Leg | Role::Scrub) => osd.of_operation(io.write, io.bytes),
            Stage::Shard if io.role == Role::Primary => self.shard_ns[id],
            // what is rebuilt comes or goes in a message, and is charged with it here
            Stage::Shard => osd.of_operation(io.write, io.bytes) + osd.of_message(io.bytes) + coding_ns(),
            Stage::Commit => osd.of_commit(io.parts),
            Stage::Gateway => osd.of_gateway(io.bytes),
            Stage::Operation => unreachable!("done above"),
        };
        slowdown * first_node_ns
    }

    /// What operations of an OSD cost.
    pub fn osd_cost(&self) -> &OsdCost {
        self.costs.osd.as_ref().expect("only Ceph has OSDs")
    }

    /// Charges a thread, whose world has run for `run_ns` since measuring began, to its quota. `Err` if that is used
    /// up: then it is to be renewed at the time that is returned, by way of the queue.
    #[inline]
    fn charge(&mut self, thread: usize, run_ns: u64, now: Nanos) -> Result<(), Option<(usize, Nanos)>> {
        let state = &mut self.threads[thread];
        let Some(number) = self.queues[state.queue].quota else {
            return Ok(());
        };
        let quota = &mut self.quotas[number];
        let used_ns = run_ns - std::mem::replace(&mut state.charged_ns, run_ns);
        quota.limit.charge(used_ns, used_ns as f64);
        let (is_used_up, until) = quota.limit.check(false, 1.0, now);
        if !is_used_up {
            return Ok(());
        }
        if std::mem::replace(&mut quota.is_used_up, true) {
            return Err(None);
        }
        // who is idle waits, too
        for service in &mut self.queues[quota.queues.clone()] {
            quota.held.append(&mut service.idle);
        }
        Err(Some((quota.queues.start, until)))
    }

    /// Gives a thread its next operation, and returns its work for it; without one the thread is idle. Also when its
    /// quota is used up (see [`Self::charge`]), or what waits has to wait for its class: then the queue is to be
    /// renewed at the time that is returned instead.
    #[inline]
    pub fn next(
        &mut self,
        thread: usize,
        run_ns: u64,
        now: Nanos,
        requests: &Requests,
    ) -> Result<f64, Option<(usize, Nanos)>> {
        let queue = self.threads[thread].queue;
        if let Err(renewal) = self.charge(thread, run_ns, now) {
            let quota = self.queues[queue].quota.expect("what is used up is there");
            self.quotas[quota].held.push(thread);
            return Err(renewal);
        }
        let service = &mut self.queues[queue];
        match service.waiting.pop(now, requests) {
            Next::Operation(id) => {
                self.threads[thread].current = id;
                Ok(self.work(queue, id, requests))
            }
            next => {
                service.idle.push(thread);
                Err(next.later().map(|time| (queue, time)))
            }
        }
    }

    /// A thread waits for a device. Returns when to renew a queue, and which, if its quota is used up.
    pub fn wait(&mut self, thread: usize, run_ns: u64, now: Nanos) -> Option<(usize, Nanos)> {
        let service = &mut self.queues[self.threads[thread].queue];
        service.waiting_now += 1;
        service.away.set(now, f64::from(service.waiting_now));
        self.charge(thread, run_ns, now).err().flatten()
    }

    /// A thread that waited for a device goes on with its next operation, if there is one and its quota lets it.
    /// Returns when to renew its queue if what waits has to wait for its class.
    pub fn go_on(&mut self, thread: usize, shared: &mut Shared, now: Nanos) -> Option<(usize, Nanos)> {
        let queue = self.threads[thread].queue;
        let service = &mut self.queues[queue];
        service.waiting_now -= 1;
        service.away.set(now, f64::from(service.waiting_now));
        if let Some(quota) = service.quota.map(|number| &mut self.quotas[number])
            && quota.is_used_up
        {
            quota.held.push(thread);
            return None;
        }
        service.idle.push(thread);
        self.run_idle(queue, Some(thread), shared, now)
            .map(|time| (queue, time))
    }

    /// A period of the quota of a queue begins, or what waits may go on: its threads do. Returns which queues to look
    /// at again, and when.
    pub fn renew(&mut self, queue: usize, shared: &mut Shared, now: Nanos) -> Vec<(usize, Nanos)> {
        let quota = self.queues[queue].quota.map(|number| &mut self.quotas[number]);
        let Some(quota) = quota.filter(|quota| quota.is_used_up) else {
            let later = self.run_idle(queue, None, shared, now);
            return later.map(|time| (queue, time)).into_iter().collect();
        };
        let (is_used_up, until) = quota.limit.check(true, 1.0, now);
        if is_used_up {
            return vec![(queue, until)];
        }
        quota.is_used_up = false;
        let queues = quota.queues.clone();
        for thread in std::mem::take(&mut quota.held) {
            self.queues[self.threads[thread].queue].idle.push(thread);
        }
        let later = |queue| Some((queue, self.run_idle(queue, None, shared, now)?));
        queues.filter_map(later).collect()
    }

    /// What a thread is done with, and as what; `None` if it was dropped meanwhile.
    #[inline]
    pub fn finish(&mut self, thread: usize) -> Option<(IoId, Stage)> {
        let state = &mut self.threads[thread];
        let id = std::mem::replace(&mut state.current, NONE);
        (id != NONE).then(|| (id, self.queues[state.queue].stage))
    }

    /// Drops all operations that wait in some queues or are with their threads.
    pub fn drop_all(&mut self, queues: Range<usize>, dropped: &mut Vec<IoId>, requests: &Requests, now: Nanos) {
        for service in &mut self.queues[queues] {
            service.waiting.drain(now, requests, dropped);
            // a thread that computes finds out when it is done
            for thread in &mut self.threads[service.threads.clone()] {
                if thread.current != NONE {
                    dropped.push(std::mem::replace(&mut thread.current, NONE));
                }
            }
        }
    }

    /// Worlds of all threads.
    pub fn worlds(&self) -> impl Iterator<Item = WorldId> {
        self.threads.iter().map(|thread| thread.world)
    }

    /// Per queue of a stage: the fraction of time that its threads ran or waited for a device, or of what they may use
    /// if that is less, its mean length, and its waits.
    pub fn measured(
        &self,
        stage: Stage,
        run: impl Fn(WorldId) -> f64,
        now: Nanos,
    ) -> impl Iterator<Item = (f64, f64, Waits)> {
        let queues = self.queues.iter().filter(move |service| service.stage == stage);
        queues.map(move |service| {
            // that of several queues is a station of its own
            let quota = service.quota.map(|number| &self.quotas[number]);
            let quota = quota.filter(|quota| quota.queues.len() == 1);
            let most = quota.map_or(f64::INFINITY, |quota| quota.cpus);
            let busy = (self.ran(service, &run) + service.away.mean(now)) / (service.threads.len() as f64).min(most);
            let (length, waits) = service.waiting.measured(now);
            (busy, length, waits)
        })
    }

    /// Per queue of a stage: the fraction of time that its threads ran.
    pub fn ran_of(&self, stage: Stage, run: impl Fn(WorldId) -> f64) -> impl Iterator<Item = f64> {
        let queues = self.queues.iter().filter(move |service| service.stage == stage);
        queues.map(move |service| self.ran(service, &run))
    }

    /// Per quota of several queues: the fraction of it that was used.
    pub fn quotas(&self, run: impl Fn(WorldId) -> f64) -> impl Iterator<Item = (f64, f64, Waits)> {
        let quotas = self.quotas.iter().filter(|quota| quota.queues.len() > 1);
        quotas.map(move |quota| {
            let queues = self.queues[quota.queues.clone()].iter();
            let ran = queues.map(|service| self.ran(service, &run)).sum::<f64>();
            (ran / quota.cpus, 0.0, Waits::default())
        })
    }

    fn ran(&self, service: &ServiceQueue, run: impl Fn(WorldId) -> f64) -> f64 {
        let threads = &self.threads[service.threads.clone()];
        threads.iter().map(|thread| run(thread.world)).sum()
    }

    /// Measures from now.
    pub fn reset(&mut self, now: Nanos) {
        for service in &mut self.queues {
            service.waiting.reset(now);
            service.away.reset(now);
        }
        self.threads.iter_mut().for_each(|thread| thread.charged_ns = 0);
    }
}
