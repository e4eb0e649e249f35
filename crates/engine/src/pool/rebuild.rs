//! Making a pool whole again: what a member lacks is read from others and written, many to many.

use super::Pool;
use crate::clock::Event;
use crate::ids::{Id, PoolId, ProcessId};
use crate::io::{IoId, NONE, Role, Step};
use crate::simulation::Simulation;
use crate::view::MemberView;
use hypertwin_cluster::Rebuild;
use hypertwin_kernel::Nanos;
use hypertwin_models::storage::placement::replacement;
use std::collections::BTreeSet;

/// Members that lack something, and how fast it is made good.
pub struct Queue {
    pub delay_ns: Nanos,
    pub bytes_per_s: f64,
    unit: u64,
    most_working: usize,
    working: BTreeSet<usize>,
    /// By the whole members of their group, fewest first, and then by number. Always up to date.
    waiting: BTreeSet<(usize, usize)>,
    /// Since when something is in work, and how long something was in work before.
    busy_since: Option<Nanos>,
    busy_ns: Nanos,
}

impl Queue {
    pub fn new(spec: &Rebuild, nodes: usize) -> Self {
        Self {
            delay_ns: spec.delay.nanos(),
            bytes_per_s: spec.node_bandwidth.bytes_per_s(),
            unit: spec.unit.bytes(),
            most_working: spec.streams as usize * nodes,
            working: BTreeSet::new(),
            waiting: BTreeSet::new(),
            busy_since: None,
            busy_ns: 0,
        }
    }

    /// How long something was in work.
    pub fn busy_ns(&self, now: Nanos) -> Nanos {
        self.busy_ns + self.busy_since.map_or(0, |since| now - since)
    }

    /// Keeps when work began and ended.
    fn note(&mut self, now: Nanos) {
        if self.working.is_empty() {
            self.busy_ns = self.busy_ns(now);
            self.busy_since = None;
        } else {
            self.busy_since.get_or_insert(now);
        }
    }
}

impl Simulation {
    /// What is away for as long as the delay is replaced, if there is a majority to decide it; otherwise when there is.
    pub fn on_detect(&mut self, index: usize) {
        let pool = &mut self.pools[index];
        if !pool.has_majority(&self.hosts) {
            return;
        }
        let mut load: Vec<u32> = pool.states.iter().map(|state| state.groups).collect();
        for member in 0..pool.members.len() {
            let state = &pool.states[pool.members[member].device as usize];
            let awaited = state.available || self.clock.now < state.away_since.saturating_add(pool.rebuild.delay_ns);
            if awaited || pool.lost[pool.group_of(member)] {
                continue;
            }
            let group = pool.group_of(member);
            let others: Vec<u32> = (group * pool.width..(group + 1) * pool.width)
                .filter(|&other| other != member)
                .map(|other| pool.members[other].device)
                .collect();
            let states = &pool.states;
            let usable = |device: usize| states[device].available;
            let Some(device) = replacement(&pool.domain_of, &others, usable, &load, |n| pool.stream.below(n)) else {
                continue;
            };
            let old = pool.members[member];
            pool.states[old.device as usize].groups -= 1;
            pool.states[device as usize].groups += 1;
            load[old.device as usize] -= 1;
            load[device as usize] += 1;
            pool.count.abandoned += old.due;
            pool.count.due += pool.member_bytes;
            let state = &mut pool.members[member];
            (state.device, state.up, state.due) = (device, true, pool.member_bytes);
        }
        self.count_degraded(index);
        self.queue_incomplete(index);
        self.detect_from(index, self.clock.now + 1);
        self.start_rebuilding(index);
        self.resume_suspended(index);
    }

    /// Looks, `from` then on, for what is away for as long as the delay: when the first device of those is.
    pub fn detect_from(&mut self, index: usize, from: Nanos) {
        let pool = &self.pools[index];
        let away = pool.states.iter().filter(|state| !state.available && state.groups > 0);
        let ends = away.map(|state| state.away_since.saturating_add(pool.rebuild.delay_ns));
        // of what has been away for longer, `on_detect` could replace nothing, until something else changes
        let next = match from > self.clock.now {
            true => ends.filter(|end| *end >= from).min(),
            false => ends.map(|end| end.max(from)).min(),
        };
        if let Some(at) = next {
            self.clock.at(at, Event::Detect(PoolId::new(index)));
        }
    }

    /// Queues anew all members that are there and lack something, and are not in work.
    pub fn queue_incomplete(&mut self, index: usize) {
        let pool = &mut self.pools[index];
        pool.rebuild.waiting.clear();
        for member in 0..pool.members.len() {
            pool.queue(member);
        }
    }

    /// Begins with as many members as may be in work, of groups that have enough whole members to read from.
    pub fn start_rebuilding(&mut self, index: usize) {
        if !self.pools[index].has_majority(&self.hosts) {
            return;
        }
        loop {
            let Pool { rebuild, needed, .. } = &mut self.pools[index];
            if rebuild.working.len() >= rebuild.most_working {
                break;
            }
            let Some(&first) = rebuild.waiting.range((*needed, 0)..).next() else {
                break;
            };
            rebuild.waiting.remove(&first);
            rebuild.working.insert(first.1);
            self.next_unit(index, first.1);
        }
        self.pools[index].rebuild.note(self.clock.now);
    }

    /// The next piece of what a member lacks, when the throttle of its node and of one that it is read from allow.
    fn next_unit(&mut self, index: usize, member: usize) {
        let unit = self.io.allocate(NONE as usize, ProcessId::new(index), 0);
        let pool = &mut self.pools[index];
        let (group, position) = (pool.group_of(member), member % pool.width);
        let bytes = pool.members[member].due.min(pool.rebuild.unit);
        let target = pool.members[member].device;
        let record = &mut self.io.ios[unit as usize];
        record.role = Role::Rebuild;
        (record.group, record.member, record.bytes) = (group as u32, position as u8, bytes as u32);
        (record.write, record.device) = (true, target);
        let mut turn = self.clock.now;
        let node = pool.node_of_device(target as usize);
        turn = turn.max(pool.nodes[node].rebuild_write.pass(self.clock.now, bytes).1);
        for source in pool.sources(member) {
            let node = pool.node_of_device(pool.members[source].device as usize);
            turn = turn.max(pool.nodes[node].rebuild_read.pass(self.clock.now, bytes).1);
        }
        // its turn comes when what was before it has passed, and its own bytes are on their way
        let own_ns = (bytes as f64 * 1e9 / pool.rebuild.bytes_per_s) as Nanos;
        self.step(unit, Step::Retry, turn.saturating_sub(own_ns).max(self.clock.now));
    }

    /// A piece is read from the devices that have it.
    pub fn begin_rebuild(&mut self, index: usize, id: IoId) {
        let io = self.io.ios[id as usize];
        let pool = &self.pools[index];
        let member = io.group as usize * pool.width + usize::from(io.member);
        let sources = pool.sources(member);
        if sources.len() < pool.needed || !pool.members[member].up || pool.members[member].device != io.device {
            self.stop_rebuilding(index, id);
            return;
        }
        self.io.ios[id as usize].parts = sources.len() as u32;
        for source in sources {
            let device = self.pools[index].members[source].device;
            let leg = self.io.part_of(id, Role::RebuildRead);
            let record = &mut self.io.ios[leg as usize];
            (record.write, record.device) = (false, device);
            let desk = self.pools[index].desk_of(device as usize);
            self.queue_on_service(index, desk, leg);
        }
    }

    /// A device has read its part of a piece, which goes to the node where it is needed.
    pub fn send_rebuild_part(&mut self, index: usize, id: IoId) {
        let io = self.io.ios[id as usize];
        let pool = &mut self.pools[index];
        pool.count.rebuild_read += u64::from(io.bytes);
        let target = self.io.ios[io.parent as usize].device;
        let (from, to) = (pool.host_of(io.device), pool.host_of(target));
        let at = self.transmit(from, to, u64::from(io.bytes)) + self.way_ns(index, from, to);
        self.step(id, Step::Arrive, at);
    }

    /// A part of a piece is where it is needed, or will never be.
    pub fn rebuild_part_arrived(&mut self, index: usize, id: IoId) {
        let parent = self.io.ios[id as usize].parent;
        self.io.free.push(id);
        if !self.part_done(parent) {
            return;
        }
        let io = self.io.ios[parent as usize];
        let pool = &self.pools[index];
        if io.failed || !pool.states[io.device as usize].available {
            self.stop_rebuilding(index, parent);
            return;
        }
        self.queue_on_service(index, pool.desk_of(io.device as usize), parent);
    }

    /// A piece is written.
    pub fn rebuilt(&mut self, index: usize, id: IoId) {
        let io = self.io.ios[id as usize];
        let pool = &mut self.pools[index];
        let member = io.group as usize * pool.width + usize::from(io.member);
        if pool.members[member].device != io.device {
            self.stop_rebuilding(index, id);
            return;
        }
        self.io.free.push(id);
        pool.count.rebuilt += u64::from(io.bytes);
        pool.members[member].due -= u64::from(io.bytes);
        if pool.members[member].due > 0 {
            self.next_unit(index, member);
            return;
        }
        pool.rebuild.working.remove(&member);
        let group = io.group as usize;
        let whole = pool.whole(group);
        if whole == pool.width {
            pool.degraded -= 1;
            pool.note_redundancy(self.clock.now);
        }
        for other in group * pool.width..(group + 1) * pool.width {
            if pool.rebuild.waiting.remove(&(whole - 1, other)) {
                pool.rebuild.waiting.insert((whole, other));
            }
        }
        let resumes = pool.is_suspending() && (whole == pool.needed || whole == pool.minimum);
        self.start_rebuilding(index);
        if resumes {
            self.resume_suspended(index);
        }
    }

    /// A piece cannot be made at present: its member waits for another turn.
    pub fn stop_rebuilding(&mut self, index: usize, id: IoId) {
        let io = self.io.ios[id as usize];
        self.io.free.push(id);
        let pool = &mut self.pools[index];
        let member = io.group as usize * pool.width + usize::from(io.member);
        pool.rebuild.working.remove(&member);
        pool.queue(member);
        pool.rebuild.note(self.clock.now);
        self.start_rebuilding(index);
    }
}

impl Pool {
    /// Members that what another one lacks can be read from, as many as needed.
    fn sources(&self, member: usize) -> Vec<usize> {
        let group = self.group_of(member);
        let first = group * self.width;
        // each member begins with another one, so that all take part
        let order = (1..self.width).map(|step| first + (member - first + step) % self.width);
        order
            .filter(|&other| self.members[other].is_whole())
            .take(self.needed)
            .collect()
    }

    /// Queues a member if it is there, lacks something and is not in work.
    fn queue(&mut self, member: usize) {
        let (state, group) = (self.members[member], self.group_of(member));
        if state.up && state.due > 0 && !self.lost[group] && !self.rebuild.working.contains(&member) {
            self.rebuild.waiting.insert((self.whole(group), member));
        }
    }

    fn is_suspending(&self) -> bool {
        self.suspended.length > 0
    }

    /// Groups that are not whole.
    pub fn degraded(&self) -> usize {
        self.degraded
    }

    /// All members, group after group.
    pub fn all_members(&self) -> impl Iterator<Item = MemberView> + use<'_> {
        self.members.iter().enumerate().map(|(position, member)| MemberView {
            group: self.group_of(position),
            device: member.device as usize,
            up: member.up,
            due: member.due,
            bytes: self.member_bytes,
        })
    }

    /// I/Os that wait until enough members are there.
    pub fn suspended_ios(&self) -> usize {
        self.suspended.length as usize
    }

    /// Bytes that members lack.
    pub fn due(&self) -> u64 {
        self.members.iter().map(|member| member.due).sum()
    }

    /// Those of them whose device is there: what can be made.
    pub fn due_here(&self) -> u64 {
        let here = self.members.iter().filter(|member| member.up);
        here.map(|member| member.due).sum()
    }
}
