//! Where data are: the members of each placement group, and what each of them lacks.
//!
//! Data that are kept in another way have groups of their own: a [`Layout`] for each policy. Groups and members are
//! numbered through all layouts.

use crate::ordered::set_of;
use hypertwin_cluster::{Redundancy, StoragePool};
use hypertwin_models::storage::product::product;
use hypertwin_models::storage::stripe::Code;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A copy or fragment of a placement group as an observer sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberView {
    /// What is kept of its group's data: the number of the layout.
    pub layout: usize,
    /// Its group.
    pub group: usize,
    /// The device that it is on, by its number in the pool: the devices of one node after those of another.
    pub device: usize,
    /// Whether that device can be used.
    pub up: bool,
    /// Bytes that it lacks.
    pub due: u64,
    /// Bytes that it has when it lacks nothing.
    pub bytes: u64,
    /// The device that it goes to, and the bytes that are not there yet.
    pub moves: Option<(usize, u64)>,
    /// The device that it was on before, if that is away and has all of it.
    pub left: Option<usize>,
}

/// What is kept of some data, and in which groups.
pub struct Layout {
    /// The policy that says so; none for the pool's own redundancy.
    pub policy: Option<String>,
    pub redundancy: Redundancy,
    /// Members of a group, and how many of them must be whole for reads and for writes.
    pub width: usize,
    pub needed: usize,
    pub minimum: usize,
    /// Witnesses, which vote too: more than half of all votes are needed.
    pub witnesses: usize,
    /// Erasure coding.
    pub code: Option<Code>,
    /// Bytes of all that one chunk of each data member holds.
    pub span: u64,
    /// What a member has when it lacks nothing, and how much of that is written to.
    pub member_bytes: u64,
    written_bytes: u64,
    pub groups: Range<usize>,
    first_member: usize,
}

impl Layout {
    /// One without groups, for data of a policy or of those without one, on this number of nodes.
    pub fn new(policy: Option<&str>, spec: &StoragePool, nodes: u32) -> Self {
        let product = product(spec.kind);
        let redundancy = spec.redundancy_of(policy);
        let code = match redundancy {
            Redundancy::Replicas { .. } => None,
            Redundancy::Erasure { data, parity } => Some(Code {
                data: data as usize,
                parity: parity as usize,
                fragment: spec.fragment(policy).bytes(),
                object: spec.chunk().bytes(),
                way: (product.way)(spec),
            }),
        };
        let chunk = spec.chunk().bytes();
        Self {
            policy: policy.map(str::to_owned),
            redundancy,
            width: redundancy.width() as usize,
            needed: redundancy.needed() as usize,
            minimum: (product.minimum)(spec, policy, nodes) as usize,
            witnesses: spec.witnesses(policy, nodes) as usize,
            code,
            span: match product.codes_chunks {
                true => chunk,
                false => chunk.saturating_mul(u64::from(redundancy.needed())),
            },
            member_bytes: 0,
            written_bytes: 0,
            groups: 0..0,
            first_member: 0,
        }
    }

    /// Bytes of all members that lack nothing.
    pub fn raw_bytes(&self) -> u64 {
        self.member_bytes * (self.groups.len() * self.width) as u64
    }

    /// Bytes of the users' that it keeps.
    pub fn stored_bytes(&self) -> f64 {
        self.raw_bytes() as f64 / self.redundancy.amplification()
    }

    /// The first member of a group.
    #[inline]
    fn first_of(&self, group: usize) -> usize {
        self.first_member + (group - self.groups.start) * self.width
    }

    /// All positions in a group, beginning with one of them.
    #[inline]
    pub fn in_turn(&self, first: u8) -> impl Iterator<Item = usize> + use<> {
        let (first, width) = (usize::from(first), self.width);
        (0..width).map(move |step| (first + step) % width)
    }
}

/// The placement groups of a pool.
pub struct DataPlacement {
    /// One at least.
    pub layouts: Vec<Layout>,
    /// The devices of the members of all groups, one group after another.
    devices: Vec<u32>,
    /// The members likewise. They are separate from their devices, which every I/O looks up: while all groups are
    /// complete, they are not read.
    pub members: Vec<Member>,
    /// Members that go to another device. Where they are, they serve until all of them is there.
    pub moves: BTreeMap<usize, Move>,
    /// Groups some of whose members are not whole.
    pub degraded: usize,
    /// Per group: whether its data are lost; and how many are.
    lost: Vec<bool>,
    lost_groups: usize,
    /// Per device: its failure domain.
    pub domain_of: Vec<u32>,
    /// Per failure domain: whether its witnesses vote.
    presence: Vec<Presence>,
    /// Members that were replaced while their device was away: what they lack there, if that comes back.
    pub left: BTreeMap<usize, Move>,
    /// Groups without votes when the pool began to do without a device: their witnesses do not go elsewhere.
    stuck: BTreeSet<usize>,
    /// Per device: its capacity in bytes.
    pub capacities: Vec<f64>,
}

/// A copy or fragment of a group.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// Whether its device is available.
    pub is_up: bool,
    /// Bytes that it lacks.
    pub due: u64,
    /// It began without anything, rather than that it missed something.
    pub is_new: bool,
}

/// Whether something of a failure domain is available, or will be, or the pool does without all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Presence {
    Out,
    Away,
    Up,
}

/// Where a member goes, or could go back to.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    pub device: u32,
    /// Bytes that are not there yet, and bytes among which these are.
    pub due: u64,
    pub of: u64,
}

/// A member that lacks nothing.
const WHOLE: Member = Member {
    is_up: true,
    due: 0,
    is_new: false,
};

/// Bytes of a write to any of `of` bytes that are not among the `due` of them already.
fn not_due(bytes: u64, due: u64, of: u64) -> u64 {
    let rest = of.saturating_sub(due);
    ((bytes as f64 * rest as f64 / of.max(1) as f64).ceil() as u64).min(rest)
}

/// Something to copy, by the number of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Job {
    pub member: usize,
    /// The member goes to another device, rather than that it lacks something where it is.
    pub moves: bool,
}

impl Member {
    /// Whether it can be read.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.is_up && self.due == 0
    }
}

impl DataPlacement {
    /// No groups yet, for devices in these domains.
    pub fn new(domain_of: Vec<u32>, capacities: Vec<f64>) -> Self {
        let domains = domain_of.iter().map(|&domain| domain as usize + 1).max().unwrap_or(0);
        Self {
            presence: vec![Presence::Up; domains],
            left: BTreeMap::new(),
            stuck: BTreeSet::new(),
            layouts: Vec::new(),
            devices: Vec::new(),
            members: Vec::new(),
            moves: BTreeMap::new(),
            degraded: 0,
            lost: Vec::new(),
            lost_groups: 0,
            domain_of,
            capacities,
        }
    }

    /// Adds the groups of `stored` bytes, on the devices that were dealt to them, one group after another. At most
    /// `written` of the bytes are written to.
    pub fn add(&mut self, mut layout: Layout, dealt: Vec<u32>, stored: u64, written: u64) {
        let (first, groups) = (self.lost.len(), dealt.len() / layout.width);
        layout.groups = first..first + groups;
        layout.first_member = self.members.len();
        let of_member = |bytes: u64, groups: usize| bytes.div_ceil((groups * layout.needed) as u64);
        layout.member_bytes = of_member(stored, groups);
        // few chunks are in few groups
        let written_to = groups.min(written.div_ceil(layout.span).max(1) as usize);
        layout.written_bytes = of_member(written, written_to).min(layout.member_bytes);
        self.members.resize(self.members.len() + dealt.len(), WHOLE);
        self.lost.resize(layout.groups.end, false);
        self.devices.extend(dealt);
        self.layouts.push(layout);
    }

    /// All groups.
    pub fn groups(&self) -> usize {
        self.lost.len()
    }

    /// The layout that a group is of.
    #[inline]
    pub fn layout_of(&self, group: usize) -> &Layout {
        &self.layouts[self.layout_number(group)]
    }

    /// Likewise its number.
    #[inline]
    pub fn layout_number(&self, group: usize) -> usize {
        let later = self.layouts[1..].iter();
        later.take_while(|layout| layout.groups.start <= group).count()
    }

    /// The layout that a member is of.
    pub fn layout_of_member(&self, member: usize) -> &Layout {
        let later = self.layouts[1..].iter();
        &self.layouts[later.take_while(|layout| layout.first_member <= member).count()]
    }

    /// The group of a member.
    pub fn group_of(&self, member: usize) -> usize {
        let layout = self.layout_of_member(member);
        layout.groups.start + (member - layout.first_member) / layout.width
    }

    /// The numbers of the members of a group.
    #[inline]
    pub fn members_of(&self, group: usize) -> Range<usize> {
        let layout = self.layout_of(group);
        let first = layout.first_of(group);
        first..first + layout.width
    }

    /// The numbers of all members of a layout.
    pub fn members_in(&self, layout: usize) -> Range<usize> {
        let layout = &self.layouts[layout];
        let count = layout.groups.len() * layout.width;
        layout.first_member..layout.first_member + count
    }

    /// Bytes of the members of each device, whether they are there already or not.
    pub fn bytes_by_device(&self) -> Vec<u64> {
        let mut bytes = vec![0; self.capacities.len()];
        for member in 0..self.members.len() {
            bytes[self.device(member) as usize] += self.layout_of_member(member).member_bytes;
        }
        bytes
    }

    /// The device of a member.
    #[inline]
    pub fn device(&self, member: usize) -> u32 {
        self.devices[member]
    }

    /// Bytes of a member among which are those that it lacks: all, or only what is written to if it missed writes.
    fn spread(&self, member: usize) -> u64 {
        let layout = self.layout_of_member(member);
        match self.members[member].is_new {
            true => layout.member_bytes,
            false => layout.written_bytes,
        }
    }

    /// Moves a member to another device, where it lacks everything. Should the first that it was on come back, it may
    /// return there.
    pub fn move_to(&mut self, member: usize, device: u32, may_return: bool) {
        let before = Move {
            device: self.devices[member],
            due: self.members[member].due,
            of: self.spread(member),
        };
        if may_return {
            self.left.entry(member).or_insert(before);
        }
        self.devices[member] = device;
        self.members[member] = Member {
            is_up: true,
            due: self.layout_of_member(member).member_bytes,
            is_new: true,
        };
    }

    /// A member is where it was before it was replaced.
    pub fn go_back(&mut self, member: usize, to: Move) {
        self.devices[member] = to.device;
        self.members[member] = Member {
            is_up: true,
            due: to.due,
            is_new: false,
        };
    }

    /// All of a member that moves is where it goes: it is there from now on.
    pub fn arrive(&mut self, member: usize) {
        let to = self.moves.remove(&member).expect("it moves");
        self.devices[member] = to.device;
        self.members[member] = WHOLE;
    }

    /// A member that moves is where it goes from now on, a device that is up, and lacks what is not there yet.
    pub fn go_on_as_rebuild(&mut self, member: usize) {
        let to = self.moves.remove(&member).expect("it moves");
        self.devices[member] = to.device;
        self.members[member] = Member {
            is_up: true,
            due: to.due,
            is_new: true,
        };
    }

    /// The device of a member, and the one that it goes to.
    pub fn places(&self, member: usize) -> impl Iterator<Item = u32> + use<> {
        let to = self.moves.get(&member).map(|to| to.device);
        [self.devices[member]].into_iter().chain(to)
    }

    /// All that was on a device is gone. Returns the bytes that its members, and those that go there, lack more than
    /// before.
    pub fn empty(&mut self, device: u32) -> u64 {
        let mut more = 0;
        for member in 0..self.members.len() {
            let most = self.layout_of_member(member).member_bytes;
            if self.devices[member] == device && !self.is_lost(self.group_of(member)) {
                let state = &mut self.members[member];
                more += most - state.due;
                (state.due, state.is_new) = (most, true);
            }
            if let Some(to) = self.moves.get_mut(&member).filter(|to| to.device == device) {
                more += most - to.due;
                to.due = most;
            }
            if self.left.get(&member).is_some_and(|left| left.device == device) {
                self.left.remove(&member);
            }
        }
        more
    }

    /// A member that moves is written to: bytes that are to be copied once more, of a part that was copied already.
    pub fn write_again(&mut self, group: usize, position: usize, bytes: u64) -> u64 {
        let layout = self.layout_of(group);
        let (member, most) = (layout.first_of(group) + position, layout.member_bytes);
        let Some(to) = self.moves.get_mut(&member) else {
            return 0;
        };
        let again = not_due(bytes, to.due, to.of).min(most - to.due);
        to.due += again;
        again
    }

    /// The device that a job writes to.
    pub fn target(&self, job: Job) -> u32 {
        match job.moves {
            true => self.moves[&job.member].device,
            false => self.devices[job.member],
        }
    }

    /// What a job still has to copy.
    pub fn due_of(&mut self, job: Job) -> &mut u64 {
        match job.moves {
            true => &mut self.moves.get_mut(&job.member).expect("it moves").due,
            false => &mut self.members[job.member].due,
        }
    }

    /// Members that a job is read from: of a move the member itself, if that can be read.
    pub fn sources_of(&self, job: Job) -> Vec<usize> {
        match job.moves && self.members[job.member].is_whole() {
            true => vec![job.member],
            false => self.sources(job.member),
        }
    }

    /// Finds out which members are up, and which failure domains.
    pub fn find_up(&mut self, presence: impl Fn(u32) -> Presence) {
        self.presence.fill(Presence::Out);
        for (device, &domain) in self.domain_of.iter().enumerate() {
            let of_domain = &mut self.presence[domain as usize];
            *of_domain = presence(device as u32).max(*of_domain);
        }
        for (member, &device) in self.members.iter_mut().zip(&self.devices) {
            member.is_up = presence(device) == Presence::Up;
        }
    }

    /// Whether there are failure domains for all members of a layout and their witnesses.
    pub fn has_domains(&self, layout: &Layout) -> bool {
        let up = self.presence.iter().filter(|&&domain| domain == Presence::Up).count();
        layout.witnesses == 0 || up >= layout.width + layout.witnesses
    }

    /// Finds the groups that have no votes, before the pool does without more devices.
    pub fn find_stuck(&mut self) {
        let has_witnesses = |group: &usize| self.layout_of(*group).witnesses > 0;
        let groups = (0..self.groups()).filter(has_witnesses);
        self.stuck = set_of(groups.filter(|&group| !self.has_votes(group)));
    }

    /// Whether whole members of a group and its witnesses have more than half of all votes. Its witnesses are in other
    /// failure domains than its members, and not in those that the pool does without, unless it had no votes then.
    pub fn has_votes(&self, group: usize) -> bool {
        let layout = self.layout_of(group);
        let (whole, all) = (self.whole(group), layout.width + layout.witnesses);
        if layout.witnesses == 0 || 2 * whole > all {
            return true;
        }
        let taken: Vec<u32> = self
            .members_of(group)
            .map(|member| self.domain_of[self.device(member) as usize])
            .collect();
        let is_stuck = self.stuck.contains(&group);
        let count = self.presence.len();
        let free = (0..count).map(|step| (group + step) % count).filter(|&domain| {
            (is_stuck || self.presence[domain] != Presence::Out) && !taken.contains(&(domain as u32))
        });
        let witnesses = free.take(layout.witnesses);
        let up = witnesses
            .filter(|&domain| self.presence[domain] == Presence::Up)
            .count();
        2 * (whole + up) > all
    }

    /// Whether a group has `enough` whole members and votes.
    pub fn has(&self, group: usize, enough: usize) -> bool {
        self.degraded == 0 || self.whole(group) >= enough && self.has_votes(group)
    }

    /// The device of the member of a group at `position`.
    #[inline]
    pub fn device_at(&self, group: usize, position: usize) -> u32 {
        self.devices[self.layout_of(group).first_of(group) + position]
    }

    /// Whether the member of a group at `position` can be read.
    #[inline]
    pub fn is_readable(&self, group: usize, position: usize) -> bool {
        self.degraded == 0 || self.of_group(group)[position].is_whole()
    }

    /// Whether the data of a group are lost.
    #[inline]
    pub fn is_lost(&self, group: usize) -> bool {
        self.lost_groups > 0 && self.lost[group]
    }

    /// The data of a group are lost from now on.
    pub fn lose(&mut self, group: usize) {
        self.lost_groups += usize::from(!self.lost[group]);
        self.lost[group] = true;
    }

    /// The members of a group.
    #[inline]
    pub fn of_group(&self, group: usize) -> &[Member] {
        &self.members[self.members_of(group)]
    }

    /// Members of a group that are whole.
    pub fn whole(&self, group: usize) -> usize {
        self.of_group(group).iter().filter(|member| member.is_whole()).count()
    }

    /// How many of its members a group may lose, as it is, before it cannot be read.
    pub fn spare(&self, group: usize) -> isize {
        self.whole(group) as isize - self.layout_of(group).needed as isize
    }

    /// Members of a group that are up.
    pub fn up(&self, group: usize) -> usize {
        if self.degraded == 0 {
            return self.layout_of(group).width;
        }
        self.of_group(group).iter().filter(|member| member.is_up).count()
    }

    /// Whether too few members of a group are whole for writes.
    pub fn is_below_minimum(&self, group: usize) -> bool {
        !self.has(group, self.layout_of(group).minimum)
    }

    /// Members that what another one lacks can be read from, as many as needed.
    pub fn sources(&self, member: usize) -> Vec<usize> {
        let &Layout { width, needed, .. } = self.layout_of_member(member);
        let first = self.members_of(self.group_of(member)).start;
        // each member begins with another one, so that all take part
        let order = (1..width).map(|step| first + (member - first + step) % width);
        order
            .filter(|&other| self.members[other].is_whole())
            .take(needed)
            .collect()
    }

    /// Bytes of a write that a member misses because its device is away; `None` if it gets them. What it missed before
    /// is not missed again: writes go to any part of what is written to.
    #[inline]
    pub fn miss(&mut self, group: usize, position: usize, bytes: u64) -> Option<u64> {
        if self.degraded == 0 && self.left.is_empty() {
            return None;
        }
        let index = self.layout_of(group).first_of(group) + position;
        if let Some(left) = self.left.get_mut(&index) {
            left.due += not_due(bytes, left.due, left.of);
        }
        if self.members[index].is_up {
            return None;
        }
        let missed = not_due(bytes, self.members[index].due, self.spread(index));
        self.members[index].due += missed;
        Some(missed)
    }

    /// Counts the groups that are not whole.
    pub fn count_degraded(&mut self) {
        let is_degraded = |group: &usize| !self.of_group(*group).iter().all(Member::is_whole);
        self.degraded = (0..self.groups()).filter(is_degraded).count();
    }

    /// Groups that take no writes.
    pub fn groups_below_minimum(&self) -> usize {
        (0..self.groups()).filter(|&group| self.is_below_minimum(group)).count()
    }

    /// Groups that are not whole, in per cent.
    pub fn degraded_pct(&self) -> f64 {
        100.0 * self.degraded as f64 / self.groups() as f64
    }

    /// Bytes that members lack, or that are not yet where they go.
    pub fn due(&self) -> u64 {
        self.due_moves() + self.members.iter().map(|member| member.due).sum::<u64>()
    }

    /// Those that are not yet where they go.
    pub fn due_moves(&self) -> u64 {
        self.moves.values().map(|to| to.due).sum()
    }

    /// Those that members lack whose device is available: what can be rebuilt.
    pub fn due_here(&self) -> u64 {
        let here = self.members.iter().filter(|member| member.is_up);
        here.map(|member| member.due).sum()
    }

    /// Whether any device of a member is away.
    pub fn has_away(&self) -> bool {
        self.members.iter().any(|member| !member.is_up)
    }

    /// All members, group after group.
    pub fn view(&self) -> impl Iterator<Item = MemberView> + use<'_> {
        let layouts = self.layouts.iter().enumerate();
        layouts.flat_map(move |(number, layout)| {
            let members =
                (0..layout.groups.len() * layout.width).map(move |member| (member, layout.first_member + member));
            members.map(move |(member, index)| MemberView {
                layout: number,
                group: layout.groups.start + member / layout.width,
                device: self.device(index) as usize,
                up: self.members[index].is_up,
                due: self.members[index].due,
                bytes: layout.member_bytes,
                moves: self.moves.get(&index).map(|to| (to.device as usize, to.due)),
                left: (self.left.get(&index))
                    .filter(|left| left.due == 0)
                    .map(|left| left.device as usize),
            })
        })
    }
}
