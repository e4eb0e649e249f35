//! Rebalancing: devices that join a pool get their part of the groups, and those that come back empty to one of Ceph
//! that did without them. A member serves where it is until all of it is where it goes.

use super::data_placement::Move;
use super::{Outcome, Pool};
use crate::clock::{Clock, Event};
use std::ops::Range;

impl Pool {
    /// Devices join. They get their groups when they are available.
    pub fn join(&mut self, devices: Range<usize>) {
        for state in &mut self.devices.states[devices] {
            (state.is_in, state.awaits_groups) = (true, true);
        }
    }

    /// Has members of devices with more groups than their part move to those with less, in other failure domains than
    /// the rest of their groups.
    pub(super) fn rebalance(&mut self) {
        let states = &self.devices.states;
        let is_usable = |device: usize| states[device].is_available && !states[device].is_out;
        let capacity = |device: usize| {
            if is_usable(device) {
                self.data.capacities[device]
            } else {
                0.0
            }
        };
        let all: f64 = (0..states.len()).map(capacity).sum();
        let members = self.data.members.len();
        let part = |device: usize| members as f64 * capacity(device) / all;
        // groups above its part
        let mut surplus: Vec<f64> = (0..states.len())
            .map(|device| match is_usable(device) {
                true => f64::from(states[device].groups) - part(device),
                false => 0.0,
            })
            .collect();
        for &member in self.data.moves.keys() {
            surplus[self.data.device(member) as usize] -= 1.0;
        }
        let mut order: Vec<usize> = (0..members).collect();
        for last in (1..members).rev() {
            order.swap(last, self.stream.below(last as u64 + 1) as usize);
        }
        let mut poor: Vec<u32> = (0..states.len() as u32)
            .filter(|&device| surplus[device as usize] <= -0.5)
            .collect();
        for member in order {
            let from = self.data.device(member);
            let stays = surplus[from as usize] < 0.5 || self.data.moves.contains_key(&member);
            if poor.is_empty() || stays || !self.data.members[member].is_whole() {
                continue;
            }
            let taken = self.domains_beside(member);
            let free = poor
                .iter()
                .copied()
                .filter(|&to| !taken.contains(&self.data.domain_of[to as usize]));
            let Some(to) = free.min_by(|&one, &other| surplus[one as usize].total_cmp(&surplus[other as usize])) else {
                continue;
            };
            surplus[from as usize] -= 1.0;
            surplus[to as usize] += 1.0;
            poor.retain(|&device| surplus[device as usize] <= -0.5);
            let due = self.data.layout_of_member(member).member_bytes;
            let of = due;
            self.data.moves.insert(member, Move { device: to, due, of });
            self.devices.states[to as usize].groups += 1;
            self.count.due += due;
        }
    }

    /// Whether a device has clearly fewer groups than its part.
    pub(super) fn has_few(&self, device: usize) -> bool {
        let states = &self.devices.states;
        let usable = (0..states.len()).filter(|&other| states[other].is_available && !states[other].is_out);
        let all: f64 = usable.map(|other| self.data.capacities[other]).sum();
        let part = self.data.members.len() as f64 * self.data.capacities[device] / all;
        f64::from(states[device].groups) < 0.95 * part - 1.0
    }

    /// Failure domains that the other members of a group are in or go to.
    pub(super) fn domains_beside(&self, member: usize) -> Vec<u32> {
        let data = &self.data;
        let others = data.members_of(data.group_of(member)).filter(|&other| other != member);
        let devices = others.flat_map(|other| data.places(other));
        devices.map(|device| data.domain_of[device as usize]).collect()
    }

    /// What becomes of moves from and to devices that are out: it goes on as a rebuild, or is given up.
    pub(super) fn settle_moves(&mut self) {
        let moving: Vec<usize> = self.data.moves.keys().copied().collect();
        for member in moving {
            let (from, to) = (self.data.device(member), self.data.moves[&member]);
            let is_replaced = self.may_replace(member);
            let (states, data) = (&mut self.devices.states, &mut self.data);
            let target = &mut states[to.device as usize];
            if target.is_out || is_replaced && !target.is_available {
                target.groups -= 1;
                self.count.abandoned += to.due;
                data.moves.remove(&member);
                data.left.entry(member).or_insert(to);
            } else if is_replaced {
                states[from as usize].groups -= 1;
                self.count.abandoned += data.members[member].due;
                data.go_on_as_rebuild(member);
            }
        }
    }

    /// All of a member is where it goes.
    pub(super) fn moved(&mut self, member: usize, clock: &mut Clock) -> Outcome {
        let now = clock.now;
        let (from, before) = (self.data.device(member), self.data.members[member]);
        self.devices.states[from as usize].groups -= 1;
        self.count.abandoned += before.due;
        self.data.arrive(member);
        if self.devices.states.iter().any(|state| state.is_out && state.groups > 0) {
            // what found no other failure domain may find the one that is free now
            clock.at(now, Event::Detect(self.id));
        }
        if self.data.moves.is_empty() && std::mem::take(&mut self.rebalances_again) {
            self.rebalance();
            self.queue_all();
        }
        if before.is_whole() {
            self.note_history(now);
            return Outcome::Pending;
        }
        self.count_degraded(now);
        self.queue_all();
        Outcome::Resume
    }
}
