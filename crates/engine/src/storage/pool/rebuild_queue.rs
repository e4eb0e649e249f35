//! Members that lack something: which are rebuilt now, and whose turn it is next.

use super::data_placement::DataPlacement;
use hypertwin_cluster::StoragePool;
use hypertwin_kernel::Nanos;
use std::collections::BTreeSet;

/// Members by their number.
pub struct RebuildQueue {
    /// How long a device is away before its members are replaced.
    pub delay_ns: Nanos,
    /// What the devices of a node may read, and write, for rebuilding.
    pub bytes_per_s: f64,
    /// Bytes of one piece.
    pub unit: u64,
    most_working: usize,
    working: BTreeSet<usize>,
    /// By how many more members their group may lose, fewest first, and then by number. Always up to date.
    waiting: BTreeSet<(isize, usize)>,
    /// Since when some member is rebuilt, and how long some was before.
    busy_since: Option<Nanos>,
    busy_ns: Nanos,
}

impl RebuildQueue {
    pub fn new(spec: &StoragePool, nodes: usize) -> Self {
        Self {
            delay_ns: spec.rebuild_delay().nanos(),
            bytes_per_s: spec.rebuild_bandwidth().bytes_per_s(),
            unit: spec.rebuild.unit.bytes(),
            most_working: spec.rebuild.streams as usize * nodes,
            working: BTreeSet::new(),
            waiting: BTreeSet::new(),
            busy_since: None,
            busy_ns: 0,
        }
    }

    /// How long some member was rebuilt.
    pub fn busy_ns(&self, now: Nanos) -> Nanos {
        self.busy_ns + self.busy_since.map_or(0, |since| now - since)
    }

    /// Keeps when rebuilding began and ended.
    pub fn note(&mut self, now: Nanos) {
        if self.working.is_empty() {
            self.busy_ns = self.busy_ns(now);
            self.busy_since = None;
        } else {
            self.busy_since.get_or_insert(now);
        }
    }

    /// Queues a member if its device is available, it lacks something and is not rebuilt already.
    pub fn queue(&mut self, member: usize, data: &DataPlacement) {
        let (state, group) = (data.members[member], data.group_of(member));
        if state.is_up && state.due > 0 && !data.is_lost(group) && !self.working.contains(&member) {
            self.waiting.insert((data.spare(group), member));
        }
    }

    /// Queues all members again that lack something.
    pub fn queue_all(&mut self, data: &DataPlacement) {
        self.waiting.clear();
        (0..data.members.len()).for_each(|member| self.queue(member, data));
    }

    /// The next member to rebuild, if one more may be and its group has enough whole members to read from.
    pub fn start(&mut self) -> Option<usize> {
        if self.working.len() >= self.most_working {
            return None;
        }
        let first = *self.waiting.range((0, 0)..).next()?;
        self.waiting.remove(&first);
        self.working.insert(first.1);
        Some(first.1)
    }

    /// A member is not rebuilt any more.
    pub fn stop(&mut self, member: usize) {
        self.working.remove(&member);
    }

    /// A member of a group has become whole, so that the group may lose `spare`: the others of the group wait among others.
    pub fn promote(&mut self, members: std::ops::Range<usize>, spare: isize) {
        for member in members {
            if self.waiting.remove(&(spare - 1, member)) {
                self.waiting.insert((spare, member));
            }
        }
    }
}
