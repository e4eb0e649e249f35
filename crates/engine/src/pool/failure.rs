//! What fails and what comes back, and what that leaves of a pool's data.

use super::{Member, Pool};
use crate::simulation::Simulation;
use crate::state::Host;
use hypertwin_cluster::PoolKind;
use hypertwin_kernel::Nanos;

/// Something that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Host(usize),
    Link(usize),
    /// A device of a pool, by its number there.
    Device(usize, usize),
    Rack(usize, u32),
    Metadata(usize, usize),
}

/// Parts that fail or return together.
#[derive(Clone, Debug)]
pub struct Action {
    parts: Vec<Part>,
    fails: bool,
    /// They never return.
    forever: bool,
    what: String,
}

impl Action {
    pub fn new(parts: Vec<Part>, fails: bool, forever: bool, what: String) -> Self {
        Self {
            parts,
            fails,
            forever,
            what,
        }
    }
}

/// A failure or return, and what it meant for a pool.
#[derive(Clone, Debug)]
pub struct Incident {
    pub at: Nanos,
    pub what: String,
    pub fails: bool,
    /// Groups that are not whole, and groups that take no writes, right after it.
    pub degraded: usize,
    pub suspended: usize,
    /// Whether no I/O goes on at all.
    pub stands_still: bool,
    /// User's bytes lost by it.
    pub lost_bytes: u64,
    /// When everything was whole again.
    pub whole_at: Option<Nanos>,
}

impl Simulation {
    /// The next entry of the schedule of failures happens.
    pub fn on_failure(&mut self, index: usize) {
        let action = self.schedule[index].clone();
        let lost: Vec<u64> = self.pools.iter().map(|pool| pool.count.lost).collect();
        for &part in &action.parts {
            self.change(part, &action);
        }
        for (pool, lost) in lost.into_iter().enumerate() {
            if action.parts.iter().any(|part| self.concerns(*part, pool)) {
                self.reassess(pool);
                self.note(pool, &action, lost);
            }
        }
    }

    /// Whether a part matters to a pool.
    fn concerns(&self, part: Part, pool: usize) -> bool {
        match part {
            Part::Host(host) | Part::Link(host) => self.pools[pool].node_of[host].is_some(),
            Part::Device(of, _) | Part::Rack(of, _) | Part::Metadata(of, _) => of == pool,
        }
    }

    fn change(&mut self, part: Part, action: &Action) {
        match part {
            Part::Host(host) => self.change_host(host, action),
            Part::Link(host) => count(&mut self.hosts[host].link_failures, action.fails),
            Part::Device(pool, device) => {
                let state = &mut self.pools[pool].states[device];
                count(&mut state.failures, action.fails);
                state.gone += u32::from(action.forever);
                let (failed, disk) = (state.failures > 0, self.pools[pool].devices.start + device);
                self.io.disks[disk].failed = failed;
            }
            Part::Rack(pool, rack) => {
                let nodes = self.pools[pool].nodes.iter();
                let hosts: Vec<usize> = nodes.filter(|node| node.rack == rack).map(|node| node.host).collect();
                for host in hosts {
                    self.change_host(host, action);
                }
            }
            Part::Metadata(pool, server) => {
                if let Some(failures) = self.pools[pool].metadata.get_mut(server) {
                    count(failures, action.fails);
                }
            }
        }
    }

    fn change_host(&mut self, host: usize, action: &Action) {
        let was_up = self.hosts[host].failures == 0;
        count(&mut self.hosts[host].failures, action.fails);
        self.hosts[host].gone += u32::from(action.forever);
        let is_up = self.hosts[host].failures == 0;
        match (was_up, is_up) {
            (true, false) => self.power_off(host),
            (false, true) => self.power_on_again(host),
            _ => {}
        }
    }

    /// Finds out which devices of a pool are there, and what that makes of its groups.
    fn reassess(&mut self, index: usize) {
        let mut went = Vec::new();
        let pool = &mut self.pools[index];
        for device in 0..pool.states.len() {
            let host = &self.hosts[pool.host_of(device as u32)];
            let state = &mut pool.states[device];
            let available = state.failures == 0 && host.failures == 0 && host.link_failures == 0;
            let was = std::mem::replace(&mut state.available, available);
            if was && !available {
                state.away_since = self.clock.now;
                went.push(device);
            }
        }
        for member in 0..pool.members.len() {
            let state = &mut pool.members[member];
            state.up = pool.states[state.device as usize].available;
        }
        self.count_degraded(index);
        self.find_losses(index);
        self.queue_incomplete(index);
        if !went.is_empty() {
            self.give_up(index, &went);
        }
        self.detect_from(index, self.clock.now);
        self.start_rebuilding(index);
        self.resume_suspended(index);
    }

    /// Counts the groups that are not whole.
    pub fn count_degraded(&mut self, index: usize) {
        let pool = &mut self.pools[index];
        let broken = |members: &[Member]| !members.iter().all(Member::is_whole);
        pool.degraded = pool
            .members
            .chunks(pool.width)
            .filter(|members| broken(members))
            .count();
        pool.note_redundancy(self.clock.now);
    }

    /// Finds groups of which too little is left or will come back.
    fn find_losses(&mut self, index: usize) {
        let pool = &mut self.pools[index];
        for group in 0..pool.groups {
            let lasts = |member: &&Member| {
                let device = member.device as usize;
                let host = &self.hosts[pool.host_of(member.device)];
                member.due == 0 && pool.states[device].gone == 0 && host.gone == 0
            };
            let left = pool.members(group).iter().filter(lasts).count();
            if left < pool.needed && !pool.lost[group] {
                pool.lost[group] = true;
                pool.count.lost += pool.member_bytes * pool.needed as u64;
            }
        }
    }

    /// What devices that went had at hand comes to nothing.
    fn give_up(&mut self, index: usize, went: &[usize]) {
        let mut dropped = Vec::new();
        for &device in went {
            let (disk, node) = (
                self.pools[index].devices.start + device,
                self.pools[index].node_of_device(device),
            );
            if self.io.disks[disk].failed {
                dropped.extend(std::iter::from_fn(|| self.io.disks[disk].give_up(&self.io.ios)));
                self.io.disks[disk].queue.set(self.clock.now, 0.0);
            }
            let host = self.pools[index].nodes[node].host;
            if self.hosts[host].failures > 0 {
                dropped.extend(self.drop_tasks(index, node));
                dropped.extend(self.drop_journal_line(index, node));
            }
        }
        for id in dropped {
            self.fail_operation(index, id);
        }
    }

    fn note(&mut self, index: usize, action: &Action, lost_before: u64) {
        let now = self.clock.now;
        let pool = &mut self.pools[index];
        let suspended = (0..pool.groups)
            .filter(|&group| pool.whole(group) < pool.minimum)
            .count();
        let stands_still = pool.stands_still(&self.hosts);
        let incident = Incident {
            at: now,
            what: action.what.clone(),
            fails: action.fails,
            degraded: pool.degraded,
            suspended: if stands_still { pool.groups } else { suspended },
            stands_still,
            lost_bytes: pool.count.lost - lost_before,
            whole_at: (pool.degraded == 0).then_some(now),
        };
        pool.incidents.push(incident);
    }
}

impl Pool {
    /// Whether more than half of the metadata servers are there.
    pub fn has_majority(&self, hosts: &[Host]) -> bool {
        let is_up = |(server, failures): &(usize, &u32)| {
            let host = &hosts[self.nodes[*server].host];
            **failures == 0 && host.failures == 0 && host.link_failures == 0
        };
        2 * self.metadata.iter().enumerate().filter(is_up).count() > self.metadata.len()
    }

    /// Whether no I/O goes on at all.
    fn stands_still(&self, hosts: &[Host]) -> bool {
        self.kind == PoolKind::ChunkStore && !self.has_majority(hosts)
    }

    /// Keeps when the pool ceased to be whole, and when it became so again.
    pub fn note_redundancy(&mut self, now: Nanos) {
        if self.degraded > 0 {
            self.degraded_since.get_or_insert(now);
        } else if let Some(since) = self.degraded_since.take() {
            self.longest_degraded_ns = self.longest_degraded_ns.max(now - since);
            for incident in self.incidents.iter_mut().filter(|incident| incident.whole_at.is_none()) {
                incident.whole_at = Some(now);
            }
        }
    }
}

fn count(failures: &mut u32, fails: bool) {
    if fails {
        *failures += 1;
    } else {
        *failures = failures.saturating_sub(1);
    }
}
