//! Where data are: the members of each placement group, and what each of them lacks.

use hypertwin_cluster::Redundancy;

/// A copy or fragment of a placement group as an observer sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberView {
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
}

/// The placement groups of a pool.
pub struct DataPlacement {
    /// Members of a group, and how many of them must be whole for reads and for writes.
    pub width: usize,
    pub needed: usize,
    pub minimum: usize,
    pub groups: usize,
    /// The devices of the members of all groups, one group after another.
    devices: Vec<u32>,
    /// The members likewise. Apart from their devices, which every I/O looks up: while all groups are whole, nobody looks here.
    pub members: Vec<Member>,
    /// What a member has when it lacks nothing.
    pub member_bytes: u64,
    /// Groups some of whose members are not whole.
    pub degraded: usize,
    /// Per group: whether its data are lost; and how many are.
    lost: Vec<bool>,
    lost_groups: usize,
    /// Per device: its failure domain.
    pub domain_of: Vec<u32>,
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
}

impl Member {
    /// Whether it can be read.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.is_up && self.due == 0
    }
}

impl DataPlacement {
    /// Groups of `stored` bytes, on the devices that were dealt to them, one group after another.
    pub fn new(
        redundancy: Redundancy,
        dealt: Vec<u32>,
        stored: u64,
        domain_of: Vec<u32>,
        capacities: Vec<f64>,
    ) -> Self {
        let (width, needed) = (redundancy.width() as usize, redundancy.needed() as usize);
        let groups = dealt.len() / width;
        Self {
            width,
            needed,
            minimum: redundancy.minimum_available() as usize,
            groups,
            members: vec![Member { is_up: true, due: 0 }; dealt.len()],
            devices: dealt,
            member_bytes: stored.div_ceil((groups * needed) as u64),
            degraded: 0,
            lost: vec![false; groups],
            lost_groups: 0,
            domain_of,
            capacities,
        }
    }

    /// The group of a member.
    pub fn group_of(&self, member: usize) -> usize {
        member / self.width
    }

    /// The device of a member.
    #[inline]
    pub fn device(&self, member: usize) -> u32 {
        self.devices[member]
    }

    /// Moves a member to another device, where it lacks everything.
    pub fn move_to(&mut self, member: usize, device: u32) {
        self.devices[member] = device;
        self.members[member] = Member {
            is_up: true,
            due: self.member_bytes,
        };
    }

    /// Finds out which members are up.
    pub fn find_up(&mut self, is_available: impl Fn(u32) -> bool) {
        for (member, &device) in self.members.iter_mut().zip(&self.devices) {
            member.is_up = is_available(device);
        }
    }

    /// The device of the member of a group at `position`.
    #[inline]
    pub fn device_at(&self, group: usize, position: usize) -> u32 {
        self.devices[group * self.width + position]
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
        &self.members[group * self.width..(group + 1) * self.width]
    }

    /// Members of a group that are whole.
    pub fn whole(&self, group: usize) -> usize {
        self.of_group(group).iter().filter(|member| member.is_whole()).count()
    }

    /// Members of a group that are up.
    pub fn up(&self, group: usize) -> usize {
        if self.degraded == 0 {
            return self.width;
        }
        self.of_group(group).iter().filter(|member| member.is_up).count()
    }

    /// Whether too few members of a group are whole for writes.
    pub fn is_below_minimum(&self, group: usize) -> bool {
        self.degraded > 0 && self.whole(group) < self.minimum
    }

    /// All positions in a group, beginning with one of them.
    #[inline]
    pub fn in_turn(&self, first: u8) -> impl Iterator<Item = usize> + use<> {
        let (first, width) = (usize::from(first), self.width);
        (0..width).map(move |step| (first + step) % width)
    }

    /// The first positions of whole members of a group, as many as needed.
    pub fn readable(&self, group: usize) -> Vec<usize> {
        let whole = (0..self.width).filter(|&position| self.is_readable(group, position));
        whole.take(self.needed).collect()
    }

    /// Members that what another one lacks can be read from, as many as needed.
    pub fn sources(&self, member: usize) -> Vec<usize> {
        let first = self.group_of(member) * self.width;
        // each member begins with another one, so that all take part
        let order = (1..self.width).map(|step| first + (member - first + step) % self.width);
        order
            .filter(|&other| self.members[other].is_whole())
            .take(self.needed)
            .collect()
    }

    /// Bytes of a write that a member misses because its device is away; `None` if it gets them.
    #[inline]
    pub fn miss(&mut self, group: usize, position: usize, bytes: u64) -> Option<u64> {
        if self.degraded == 0 {
            return None;
        }
        let member = &mut self.members[group * self.width + position];
        if member.is_up {
            return None;
        }
        let missed = bytes.min(self.member_bytes - member.due.min(self.member_bytes));
        member.due += missed;
        Some(missed)
    }

    /// Counts the groups that are not whole.
    pub fn count_degraded(&mut self) {
        let groups = self.members.chunks(self.width);
        self.degraded = groups.filter(|members| !members.iter().all(Member::is_whole)).count();
    }

    /// Groups that take no writes.
    pub fn groups_below_minimum(&self) -> usize {
        (0..self.groups)
            .filter(|&group| self.whole(group) < self.minimum)
            .count()
    }

    /// Groups that are not whole, in per cent.
    pub fn degraded_pct(&self) -> f64 {
        100.0 * self.degraded as f64 / self.groups as f64
    }

    /// Bytes that members lack.
    pub fn due(&self) -> u64 {
        self.members.iter().map(|member| member.due).sum()
    }

    /// Those of them whose device is available: what can be rebuilt.
    pub fn due_here(&self) -> u64 {
        let here = self.members.iter().filter(|member| member.is_up);
        here.map(|member| member.due).sum()
    }

    /// All members, group after group.
    pub fn view(&self) -> impl Iterator<Item = MemberView> + use<'_> {
        self.members.iter().enumerate().map(|(index, member)| MemberView {
            group: self.group_of(index),
            device: self.device(index) as usize,
            up: member.is_up,
            due: member.due,
            bytes: self.member_bytes,
        })
    }
}
