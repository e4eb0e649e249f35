//! The services of a pool's nodes: threads that the hosts' schedulers place beside the machines'.

use crate::ids::{Id, WorldId};
use crate::io::{IoId, Line, NONE, Role, Waits};
use crate::simulation::Simulation;
use hypertwin_kernel::TimeAverage;

/// A queue of a node's service, and the threads that take from it.
pub struct Desk {
    line: Line,
    idle: Vec<usize>,
    pub queue: TimeAverage,
    pub waits: Waits,
}

/// A thread of a service.
pub struct Thread {
    pub world: usize,
    pub desk: usize,
    current: IoId,
}

impl Desk {
    pub fn new(idle: Vec<usize>) -> Self {
        Self {
            line: Line::default(),
            idle,
            queue: TimeAverage::new(),
            waits: Waits::default(),
        }
    }
}

impl Thread {
    pub fn new(world: usize, desk: usize) -> Self {
        Self {
            world,
            desk,
            current: NONE,
        }
    }
}

impl Simulation {
    /// What a device is to do goes to its service first.
    pub fn queue_on_service(&mut self, pool: usize, desk: usize, id: IoId) {
        self.io.ios[id as usize].since = self.clock.now;
        let desk_state = &mut self.pools[pool].desks[desk];
        desk_state.line.push(&mut self.io.ios, id);
        desk_state.queue.set(self.clock.now, f64::from(desk_state.line.length));
        if let Some(thread) = desk_state.idle.pop() {
            self.next_task(pool, thread);
            let world = self.pools[pool].threads[thread].world;
            self.clock.run(WorldId::new(world));
        }
    }

    /// Gives a thread its next operation; `false`, and it is idle, if there is none.
    fn next_task(&mut self, pool: usize, thread: usize) -> bool {
        let owner = &mut self.pools[pool];
        let desk = &mut owner.desks[owner.threads[thread].desk];
        let Some(id) = desk.line.pop(&self.io.ios) else {
            desk.idle.push(thread);
            return false;
        };
        desk.waits.add(self.clock.now - self.io.ios[id as usize].since);
        desk.queue.set(self.clock.now, f64::from(desk.line.length));
        owner.threads[thread].current = id;
        let io = &self.io.ios[id as usize];
        let mut work_ns = owner.service.of(io.bytes);
        if io.role == Role::Rebuild {
            work_ns += owner.coding.rebuild_ns_per_byte * f64::from(io.bytes);
        }
        self.worlds[owner.threads[thread].world].remaining_ns = work_ns;
        true
    }

    /// A thread is done with its operation, and takes the next; `false` if there is none.
    pub fn next_on_service(&mut self, pool: usize, thread: usize) -> bool {
        let id = std::mem::replace(&mut self.pools[pool].threads[thread].current, NONE);
        if id != NONE {
            self.served(pool, id);
        }
        self.next_task(pool, thread)
    }

    /// The operations that the service of a node has at hand are not done any more.
    pub fn drop_tasks(&mut self, pool: usize, node: usize) -> Vec<IoId> {
        let owner = &mut self.pools[pool];
        let desks = owner.nodes[node].desks.clone();
        let mut dropped = Vec::new();
        for desk in &mut owner.desks[desks.clone()] {
            dropped.extend(std::iter::from_fn(|| desk.line.pop(&self.io.ios)));
            desk.queue.set(self.clock.now, 0.0);
        }
        // a thread at work finds that it has none when it goes on
        for thread in owner.threads.iter_mut().filter(|thread| desks.contains(&thread.desk)) {
            if thread.current != NONE {
                dropped.push(std::mem::replace(&mut thread.current, NONE));
            }
        }
        dropped
    }
}
