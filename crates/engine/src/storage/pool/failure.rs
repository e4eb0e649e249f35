//! What a failure or a return means for the data of a pool.

use super::data_placement::{Move, Presence};
use super::history::{Incident, What};
use super::{Outcome, Pool};
use crate::clock::{Clock, Event};
use crate::ids::DiskId;
use crate::storage::network::Network;
use crate::storage::queue::Fifo;
use crate::storage::shared::Shared;
use hypertwin_kernel::Nanos;

/// Time of what no one notices as things are.
const NEVER: Nanos = Nanos::MAX;

impl Pool {
    /// A device itself fails or returns: its disk, and whether that has failed now.
    pub fn change_device(&mut self, device: usize, fails: bool, is_forever: bool) -> (DiskId, bool) {
        let has_failed = self.devices.change(device, fails, is_forever);
        (self.devices.disk(device as u32), has_failed)
    }

    /// A metadata server fails or returns.
    pub fn change_metadata_server(&mut self, server: usize, fails: bool) {
        let failures = &mut self.metadata[server];
        debug_assert!(fails || *failures > 0, "what returns has failed before");
        *failures = if fails { *failures + 1 } else { *failures - 1 };
    }

    /// Finds out which devices are available, and what that means for the data.
    pub fn reassess(&mut self, shared: &mut Shared, clock: &mut Clock) -> Outcome {
        let went = self.find_available(&shared.network, clock);
        self.find_up();
        self.welcome();
        self.count_degraded(clock.now);
        self.find_losses(&shared.network);
        self.queue_all();
        if !went.is_empty() {
            self.fail_operations_of(&went, shared, clock);
        }
        self.detect_from(clock.now, clock);
        self.start_rebuilding(shared, clock);
        Outcome::Resume
    }

    /// Has the data know which devices are available.
    pub(super) fn find_up(&mut self) {
        let presence = |device: u32| match &self.devices.states[device as usize] {
            state if state.is_available => Presence::Up,
            state if state.is_in && !state.is_out => Presence::Away,
            _ => Presence::Out,
        };
        self.data.find_up(presence);
    }

    /// Finds out which devices are available; returns those that just became unavailable.
    fn find_available(&mut self, network: &Network, clock: &mut Clock) -> Vec<u32> {
        let (now, mut went) = (clock.now, Vec::new());
        let can_notice = !self.product.majority_notices || self.has_majority(network);
        self.noticed_at = 0;
        for device in 0..self.devices.states.len() as u32 {
            let host = network.state(self.host_of(device));
            let state = &mut self.devices.states[device as usize];
            let is_available = state.is_in && state.failures == 0 && host.is_reachable();
            let was_available = std::mem::replace(&mut state.is_available, is_available);
            if was_available && !is_available {
                state.away_since = now;
                // the process of a failed disk is there to refuse connections
                let is_silent = self.product.notices && state.failures == 0;
                state.noticed_at = now + if is_silent { self.timeout_ns } else { 0 };
                went.push(device);
            }
            if is_available {
                continue;
            }
            if !can_notice && state.noticed_at >= now {
                state.noticed_at = NEVER;
            } else if can_notice && state.noticed_at == NEVER {
                state.noticed_at = now + self.timeout_ns;
            }
            self.noticed_at = self.noticed_at.max(state.noticed_at);
            if state.noticed_at > now && state.noticed_at < NEVER {
                clock.at(state.noticed_at, Event::Detect(self.id));
            }
        }
        went
    }

    /// Devices that came back after the pool did without them are in it again. Members that they had go back. Some
    /// products give them groups instead of others, as they do to those that join.
    fn welcome(&mut self) {
        let mut awaits = false;
        let mut returned: Vec<usize> = Vec::new();
        for (device, state) in self.devices.states.iter_mut().enumerate() {
            if !state.is_available {
                continue;
            }
            let was_out = std::mem::take(&mut state.is_out);
            awaits |= std::mem::take(&mut state.awaits_groups);
            returned.extend((was_out && self.product.refills_returned).then_some(device));
        }
        // what is on its way goes on to where it was to go, and may move on from there
        let is_moving = !self.data.moves.is_empty();
        self.take_back();
        if awaits || returned.iter().any(|&device| self.has_few(device)) {
            self.rebalances_again = is_moving;
            self.rebalance();
        }
    }

    /// Members that were replaced while their devices were away go back to what they have there. Some products move
    /// those home that were copied elsewhere in the meantime; with others they stay, and what is not yet copied goes
    /// back if that is less to copy. What cannot be brought up to date yet waits.
    fn take_back(&mut self) {
        let there = |left: &Move| {
            let state = &self.devices.states[left.device as usize];
            state.is_available && !state.is_out
        };
        let back: Vec<(usize, Move)> = (self.data.left.iter())
            .filter(|(_, left)| there(left))
            .map(|(&member, &left)| (member, left))
            .collect();
        for (member, left) in back {
            let (now, group) = (self.data.members[member], self.data.group_of(member));
            let is_current = now.is_whole() || left.due == 0 || self.data.spare(group) >= 0;
            if self.data.moves.contains_key(&member) || !is_current {
                continue;
            }
            self.data.left.remove(&member);
            let is_taken = self
                .domains_beside(member)
                .contains(&self.data.domain_of[left.device as usize]);
            let goes = self.product.refills_returned || !now.is_whole() && left.due < now.due;
            let from = self.data.device(member);
            if self.data.is_lost(group) || is_taken || !goes || from == left.device {
                continue;
            }
            let (data, states) = (&mut self.data, &mut self.devices.states);
            self.count.due += left.due;
            states[left.device as usize].groups += 1;
            if now.is_whole() && left.due > 0 {
                data.moves.insert(member, left);
                continue;
            }
            states[from as usize].groups -= 1;
            self.count.abandoned += now.due;
            data.go_back(member, left);
        }
    }

    /// All that was on a device is gone.
    pub fn empty(&mut self, device: usize) {
        self.count.due += self.data.empty(device as u32);
    }

    /// Counts the groups that are not whole.
    pub(super) fn count_degraded(&mut self, now: Nanos) {
        self.data.count_degraded();
        self.note_history(now);
    }

    /// Keeps whether everything is whole, and where it goes.
    pub(super) fn note_history(&mut self, now: Nanos) {
        self.history.note(self.data.degraded, self.data.moves.len(), now);
    }

    /// Finds groups of which too little is left or will come back.
    fn find_losses(&mut self, network: &Network) {
        let is_gone = |device: u32| {
            let host = self.nodes[self.devices.node_of(device)].host;
            self.devices.states[device as usize].gone > 0 || network.state(host).is_gone
        };
        self.data.left.retain(|_, left| !is_gone(left.device));
        for group in 0..self.data.groups() {
            // whole where it is or was, and not gone for good
            let is_left = |member: &usize| {
                let here = self.data.members[*member].due == 0 && !is_gone(self.data.device(*member));
                here || self.data.left.get(member).is_some_and(|left| left.due == 0)
            };
            let left = self.data.members_of(group).filter(is_left).count();
            let layout = self.data.layout_of(group);
            if left < layout.needed && !self.data.is_lost(group) {
                self.count.lost += layout.member_bytes * layout.needed as u64;
                self.data.lose(group);
            }
        }
    }

    /// Fails the operations in flight on devices that just became unavailable.
    fn fail_operations_of(&mut self, went: &[u32], shared: &mut Shared, clock: &mut Clock) {
        let mut dropped = Vec::new();
        for &device in went {
            let (disk, node) = (self.devices.disk(device), self.devices.node_of(device));
            if shared.disks.get(disk).has_failed {
                shared.disks.drain(disk, &shared.requests, &mut dropped, clock.now);
            }
            let node_state = &self.nodes[node];
            if !shared.network.state(node_state.host).is_up {
                let queues = node_state.queues.clone();
                self.services
                    .drop_all(queues, &mut dropped, &shared.requests, clock.now);
                self.drain_commits(device, shared, &mut dropped);
                if let Some(flash) = &mut self.flash {
                    flash.drain(node, &shared.requests, &mut dropped);
                }
                if let Some(groups) = self.disk_groups() {
                    groups.drain(node, &shared.requests, &mut dropped);
                }
            }
        }
        for id in dropped {
            self.fail_operation(id, shared, clock);
        }
    }

    /// Takes out all suspended requests, which are tried again one by one.
    pub fn take_suspended(&mut self) -> Fifo {
        std::mem::take(&mut self.suspended)
    }

    /// User's bytes lost so far.
    pub fn lost_bytes(&self) -> u64 {
        self.count.lost
    }

    /// Keeps a failure or return that was reassessed; `lost_before` are the bytes lost before it.
    pub fn record(&mut self, what: What, lost_before: u64, network: &Network, now: Nanos) {
        let stands_still = self.product.needs_majority && !self.has_majority(network);
        let incident = Incident {
            at: now,
            what: what.parts.to_owned(),
            fails: what.fails,
            degraded: self.data.degraded,
            suspended: match stands_still {
                true => self.data.groups(),
                false => self.data.groups_below_minimum(),
            },
            stands_still,
            lost_bytes: self.count.lost - lost_before,
            whole_at: (self.data.degraded == 0 && self.data.moves.is_empty()).then_some(now),
        };
        self.history.incidents.push(incident);
    }

    /// Whether more than half of the metadata servers work.
    pub(super) fn has_majority(&self, network: &Network) -> bool {
        let servers = self.metadata.iter().zip(&self.nodes);
        let up = servers.filter(|(failures, node)| **failures == 0 && network.state(node.host).is_reachable());
        2 * up.count() > self.metadata.len()
    }
}
