//! The calendar of future events.
//!
//! A radix heap over integer time in front of which stands a short sorted list of the events that come next.
//!
//! - *Near*: every event up to the *horizon* is in a list sorted with the next event last, so taking it costs a few
//!   instructions. While few events are pending the horizon is the end of time and everything is near.
//! - *Far*: every event beyond the horizon hangs in a bucket: the highest base-2^[`BITS`] digit in which its time
//!   differs from the horizon is the bucket's level, the digit itself the bucket's place. Buckets are unsorted, doubly
//!   linked lists through one table of nodes, so scheduling, cancelling and moving a far event costs a few instructions
//!   whatever is pending, leaves nothing behind, and needs no memory beyond the node. When the near list runs empty,
//!   the first bucket is sorted into it, or spread over lower levels while it is long.
//!
//! Since time never runs backwards, each event is touched at most once per level. Sources: Ahuja, Mehlhorn, Orlin and
//! Tarjan, "Faster algorithms for the shortest path problem", JACM 37(2), 1990 (radix heap); Varghese and Lauck,
//! "Hashed and hierarchical timing wheels", SOSP 1987; Tang, Goh and Thng, "Ladder queue", ACM TOMACS 15(3), 2005
//! (sorting only what comes next).
//!
//! A near event that is cancelled or moved leaves its entry behind, to be skipped; entries are swept out when they are
//! many, so memory stays proportional to the largest number of events that were ever pending at once.
//!
//! **The calendar is a radix heap.** Event times only increase. A far event can therefore wait in a bucket. The highest
//! digit in which the event differs from the horizon selects the bucket. Only the nearest bucket is sorted. Scheduling,
//! moving and cancelling far events cost the same with 100,000 pending events as with few. A binary heap would miss the
//! cache at every level. `make bench` compares the two.

use crate::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU64;

/// Bits of time per level.
const BITS: u32 = 4;
const DIGITS: usize = 1 << BITS;
const LEVELS: usize = (u64::BITS / BITS) as usize;
/// A bucket of at most this many events is sorted at once instead of being spread over lower levels.
const SORT_AT_MOST: u32 = 24;
/// With more near entries than this the later half goes to the buckets.
const NEAR_AT_MOST: usize = 40;

const NIL: u32 = u32::MAX;
/// In `Node::before`: the node is the first of its bucket.
const FIRST: u32 = u32::MAX;
/// In `Node::before`: the node is in the near list.
const NEAR: u32 = u32::MAX - 1;

/// Where the sequence number ends and the priority starts in an order.
const PRIORITY_SHIFT: u32 = 56;

/// A pending event of a [`Calendar`], to cancel or move it there. It never refers to another event once its own is
/// gone.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub struct EventId {
    order: NonZeroU64,
    slot: u32,
}

/// Future events in the order (time, priority, sequence of scheduling), each cancellable and movable, and the clock.
///
/// ```
/// # use hypertwin_kernel::Calendar;
/// let mut calendar = Calendar::new();
/// let slow = calendar.schedule(50, 0, "slow");
/// calendar.schedule(20, 1, "second");
/// calendar.schedule(20, 0, "first");
/// let moved = calendar.reschedule(slow, 10).unwrap();
/// assert!(!calendar.cancel(slow) && moved != slow);
/// assert_eq!(calendar.pop(), Some((10, "slow")));
/// assert_eq!(calendar.pop(), Some((20, "first")));
/// assert_eq!(calendar.pop(), Some((20, "second")));
/// assert_eq!(calendar.now(), 20);
/// ```
#[derive(Clone, Debug)]
pub struct Calendar<E> {
    now: Nanos,
    /// Events up to and including this time are near, later ones in the buckets.
    horizon: Nanos,
    sequence: u64,
    live: usize,
    popped: u64,
    /// Sorted, the next event last. Entries whose node has another order are stale.
    near: Vec<Entry>,
    /// Near events that would have had to be put far inside `near`: only when very many fall on one instant.
    crowd: BinaryHeap<Reverse<Entry>>,
    /// Stale entries in `near` and `crowd`.
    stale: usize,
    nodes: Vec<Node<E>>,
    free: u32,
    buckets: Vec<Bucket>,
    /// Bit d of word l: bucket d of level l is not empty.
    occupied: [u32; LEVELS],
    /// Bit l: level l is not empty.
    levels: u32,
}

/// What the near list sorts. Derived order: time, then order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    time: Nanos,
    order: u64,
    slot: u32,
}

impl Entry {
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.order)
    }
}

#[derive(Clone, Copy, Debug)]
struct Node<E> {
    time: Nanos,
    /// Priority and sequence number; 0 while the node is free.
    order: u64,
    before: u32,
    after: u32,
    event: E,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    first: u32,
    length: u32,
}

const EMPTY: Bucket = Bucket { first: NIL, length: 0 };

impl<E: Copy> Default for Calendar<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Copy> Calendar<E> {
    /// Empty, at time 0.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// Empty, at time 0, with memory for `n` pending events.
    #[must_use]
    pub fn with_capacity(n: usize) -> Self {
        Self {
            now: 0,
            horizon: Nanos::MAX,
            sequence: 0,
            live: 0,
            popped: 0,
            near: Vec::with_capacity(NEAR_AT_MOST + 1),
            crowd: BinaryHeap::new(),
            stale: 0,
            nodes: Vec::with_capacity(n),
            free: NIL,
            buckets: vec![EMPTY; LEVELS * DIGITS],
            occupied: [0; LEVELS],
            levels: 0,
        }
    }

    /// The time of the event popped last, 0 before the first.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Number of pending events.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.live
    }

    /// Whether no event is pending.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Number of events popped since the start.
    #[inline]
    #[must_use]
    pub fn popped(&self) -> u64 {
        self.popped
    }

    /// Whether the event is still to come.
    #[inline]
    #[must_use]
    pub fn is_pending(&self, id: EventId) -> bool {
        self.nodes
            .get(id.slot as usize)
            .is_some_and(|node| node.order == id.order.get())
    }

    /// When the event is due; `None` if it is gone.
    #[inline]
    #[must_use]
    pub fn time_of(&self, id: EventId) -> Option<Nanos> {
        self.is_pending(id).then(|| self.nodes[id.slot as usize].time)
    }

    /// Schedules `event` at time `at`. Of events at the same time the one of lower `priority` comes first; of equal
    /// priority the one scheduled (or moved) first.
    ///
    /// # Panics
    /// When `at` is in the past.
    #[inline]
    pub fn schedule(&mut self, at: Nanos, priority: u8, event: E) -> EventId {
        self.check_time(at);
        let order = self.next_order(priority);
        let slot = self.free;
        let slot = if (slot as usize) < self.nodes.len() {
            // Field by field: a node put together on the stack and copied costs a stalled store forwarding.
            let node = &mut self.nodes[slot as usize];
            self.free = node.after;
            node.time = at;
            node.order = order.get();
            node.before = NEAR;
            node.event = event;
            slot
        } else {
            self.add_node(at, order, event)
        };
        self.live += 1;
        if at <= self.horizon {
            self.insert_near(at, order.get(), slot);
        } else {
            self.link(slot, at);
        }
        EventId { order, slot }
    }

    /// Cancels an event. `false` if it was popped or cancelled before.
    #[inline]
    pub fn cancel(&mut self, id: EventId) -> bool {
        let Some(&Node {
            time, order, before, ..
        }) = self.nodes.get(id.slot as usize)
        else {
            return false;
        };
        if order != id.order.get() {
            return false;
        }
        self.live -= 1;
        if before == NEAR {
            self.release(id.slot);
            self.count_stale();
        } else {
            self.unlink(id.slot, time);
            self.release(id.slot);
        }
        true
    }

    /// Moves an event to time `at`, keeping its priority; among equals it is now the last. Returns its new id; `None`
    /// if it was popped or cancelled before.
    ///
    /// # Panics
    /// When `at` is in the past.
    #[inline]
    pub fn reschedule(&mut self, id: EventId, at: Nanos) -> Option<EventId> {
        let &Node {
            time,
            order: old,
            before,
            ..
        } = self.nodes.get(id.slot as usize)?;
        if old != id.order.get() {
            return None;
        }
        self.check_time(at);
        let order = self.next_order((old >> PRIORITY_SHIFT) as u8);
        let slot = id.slot;
        let node = &mut self.nodes[slot as usize];
        node.time = at;
        node.order = order.get();
        let near = at <= self.horizon;
        if before == NEAR {
            self.count_stale();
            if near {
                self.insert_near(at, order.get(), slot);
            } else {
                self.link(slot, at);
            }
        } else if near {
            self.unlink(slot, time);
            self.nodes[slot as usize].before = NEAR;
            self.insert_near(at, order.get(), slot);
        } else if self.bucket_of(time) != self.bucket_of(at) {
            self.unlink(slot, time);
            self.link(slot, at);
        }
        Some(EventId { order, slot })
    }

    /// Takes the next event and moves the clock to its time.
    #[inline]
    pub fn pop(&mut self) -> Option<(Nanos, E)> {
        loop {
            let (time, order, slot) = match self.near.last() {
                Some(&Entry { time, order, slot }) if self.crowd.is_empty() => {
                    self.near.truncate(self.near.len() - 1);
                    (time, order, slot)
                }
                _ => match self.take_rare_entry() {
                    Some(entry) => (entry.time, entry.order, entry.slot),
                    None => return None,
                },
            };
            let node = &mut self.nodes[slot as usize];
            if node.order != order {
                self.stale -= 1;
                continue;
            }
            let event = node.event;
            node.order = 0;
            node.after = self.free;
            self.free = slot;
            self.live -= 1;
            self.popped += 1;
            self.now = time;
            return Some((time, event));
        }
    }

    /// Takes the next event if it is due at `end` or before; `None` leaves the clock and the calendar as they are.
    #[inline]
    pub fn pop_until(&mut self, end: Nanos) -> Option<(Nanos, E)> {
        if self.peek_time()? > end {
            return None;
        }
        self.pop()
    }

    /// The time of the next event.
    #[inline]
    pub fn peek_time(&mut self) -> Option<Nanos> {
        loop {
            let Some(entry) = self.next_entry() else {
                if self.refill() {
                    continue;
                }
                return None;
            };
            if self.nodes[entry.slot as usize].order == entry.order {
                return Some(entry.time);
            }
            self.take_rare_entry();
            self.stale -= 1;
        }
    }

    #[inline]
    fn check_time(&self, at: Nanos) {
        assert!(
            at >= self.now,
            "an event at {at} ns is in the past: it is {} ns",
            self.now
        );
    }

    #[inline]
    fn next_order(&mut self, priority: u8) -> NonZeroU64 {
        self.sequence += 1;
        debug_assert!(self.sequence < 1 << PRIORITY_SHIFT);
        NonZeroU64::new(u64::from(priority) << PRIORITY_SHIFT | self.sequence).expect("the sequence starts at 1")
    }

    #[cold]
    #[inline(never)]
    fn add_node(&mut self, time: Nanos, order: NonZeroU64, event: E) -> u32 {
        let slot = self.nodes.len() as u32;
        assert!(slot < NEAR, "more than four thousand million pending events");
        self.nodes.push(Node {
            time,
            order: order.get(),
            before: NEAR,
            after: NIL,
            event,
        });
        slot
    }

    #[inline]
    fn release(&mut self, slot: u32) {
        let node = &mut self.nodes[slot as usize];
        node.order = 0;
        node.after = self.free;
        self.free = slot;
    }

    // The near list.

    /// The next entry, stale or not.
    #[inline]
    fn next_entry(&self) -> Option<Entry> {
        let near = self.near.last().copied();
        if self.crowd.is_empty() {
            return near;
        }
        let crowd = self.crowd.peek().map(|entry| entry.0);
        near.into_iter().chain(crowd).min()
    }

    /// Takes the next entry, stale or not, when the near list is empty or there is a crowd.
    #[inline(never)]
    fn take_rare_entry(&mut self) -> Option<Entry> {
        match (self.near.last(), self.crowd.peek()) {
            (Some(near), Some(crowd)) if crowd.0 < *near => self.crowd.pop().map(|entry| entry.0),
            (None, Some(_)) => self.crowd.pop().map(|entry| entry.0),
            (Some(_), _) => self.near.pop(),
            (None, None) => {
                self.refill();
                self.near.pop()
            }
        }
    }

    #[inline]
    fn insert_near(&mut self, time: Nanos, order: u64, slot: u32) {
        if self.near.len() < NEAR_AT_MOST {
            self.sort_in(time, order, slot);
        } else {
            self.insert_into_full(time, order, slot);
        }
    }

    #[inline(always)]
    fn sort_in(&mut self, time: Nanos, order: u64, slot: u32) {
        self.near.push(Entry { time, order, slot });
        let near = self.near.as_mut_slice();
        let mut place = near.len() - 1;
        // Field by field, as in `schedule`.
        while let Some(before) = place.checked_sub(1) {
            let Entry {
                time: t,
                order: o,
                slot: s,
            } = near[before];
            if t > time || t == time && o > order {
                break;
            }
            let target = &mut near[place];
            target.time = t;
            target.order = o;
            target.slot = s;
            place = before;
        }
        let target = &mut near[place];
        target.time = time;
        target.order = order;
        target.slot = slot;
    }

    #[cold]
    #[inline(never)]
    fn insert_into_full(&mut self, time: Nanos, order: u64, slot: u32) {
        if self.stale * 4 > self.near.len() + self.crowd.len() {
            self.sweep();
        } else if self.crowd.is_empty() && self.near.len() <= 2 * NEAR_AT_MOST {
            self.spill();
            if time > self.horizon {
                self.link(slot, time);
                return;
            }
        }
        let entry = Entry { time, order, slot };
        let length = self.near.len();
        if length < NEAR_AT_MOST || self.near[length - NEAR_AT_MOST].key() > entry.key() {
            self.sort_in(time, order, slot);
        } else {
            self.crowd.push(Reverse(entry));
        }
    }

    /// Lowers the horizon so that about half of the near list goes to the buckets, if their order allows it.
    fn spill(&mut self) {
        let (latest, middle) = (self.near[0].time, self.near[self.near.len() / 2].time);
        let count = if middle < latest {
            self.near.partition_point(|entry| entry.time > middle)
        } else {
            self.near.partition_point(|entry| entry.time == latest)
        };
        let Some(horizon) = self.near.get(count).map(|entry| entry.time) else {
            return; // All on one instant.
        };
        // A bucket's place is relative to the horizon. It stays right as long as the horizon changes only in digits
        // up to the lowest level in use, which can fail only when an event was scheduled before one already peeked at.
        if self.levels != 0 && level_of(horizon ^ self.horizon) > self.levels.trailing_zeros() {
            return;
        }
        self.horizon = horizon;
        for place in 0..count {
            let entry = self.near[place];
            if self.nodes[entry.slot as usize].order == entry.order {
                self.link(entry.slot, entry.time);
            } else {
                self.stale -= 1;
            }
        }
        self.near.drain(..count);
    }

    /// An entry became stale. Removes all of them when there are many.
    #[inline]
    fn count_stale(&mut self) {
        self.stale += 1;
        if self.stale > NEAR_AT_MOST && self.stale * 2 > self.near.len() + self.crowd.len() {
            self.sweep();
        }
    }

    #[cold]
    fn sweep(&mut self) {
        let nodes = &self.nodes;
        self.near
            .retain(|entry| nodes[entry.slot as usize].order == entry.order);
        self.crowd
            .retain(|entry| nodes[entry.0.slot as usize].order == entry.0.order);
        self.stale = 0;
    }

    // The buckets.

    /// The bucket of a time beyond the horizon.
    #[inline]
    fn bucket_of(&self, time: Nanos) -> usize {
        let level = level_of(time ^ self.horizon);
        let digit = (time >> (level * BITS)) as usize & (DIGITS - 1);
        level as usize * DIGITS + digit
    }

    /// Puts a node into the bucket of `time`.
    #[inline]
    fn link(&mut self, slot: u32, time: Nanos) {
        let index = self.bucket_of(time);
        let bucket = &mut self.buckets[index];
        let second = bucket.first;
        bucket.first = slot;
        bucket.length += 1;
        let node = &mut self.nodes[slot as usize];
        node.before = FIRST;
        node.after = second;
        if second == NIL {
            self.occupied[index / DIGITS] |= 1 << (index % DIGITS);
            self.levels |= 1 << (index / DIGITS);
        } else {
            self.nodes[second as usize].before = slot;
        }
    }

    /// Takes a node out of the bucket of `time`.
    #[inline]
    fn unlink(&mut self, slot: u32, time: Nanos) {
        let index = self.bucket_of(time);
        let Node { before, after, .. } = self.nodes[slot as usize];
        self.buckets[index].length -= 1;
        if after != NIL {
            self.nodes[after as usize].before = before;
        }
        if before != FIRST {
            self.nodes[before as usize].after = after;
            return;
        }
        self.buckets[index].first = after;
        if after == NIL {
            self.vacate(index);
        }
    }

    #[inline]
    fn vacate(&mut self, index: usize) {
        let level = index / DIGITS;
        self.occupied[level] &= !(1 << (index % DIGITS));
        if self.occupied[level] == 0 {
            self.levels &= !(1 << level);
        }
    }

    /// Moves the events that come first from the buckets to the empty near list. `false` when there are none.
    #[inline(never)]
    fn refill(&mut self) -> bool {
        while self.levels != 0 {
            let level = self.levels.trailing_zeros();
            let digit = self.occupied[level as usize].trailing_zeros();
            let index = level as usize * DIGITS + digit as usize;
            let bucket = std::mem::replace(&mut self.buckets[index], EMPTY);
            self.vacate(index);

            let shift = level * BITS;
            let above = self
                .horizon
                .checked_shr(shift + BITS)
                .unwrap_or(0)
                .checked_shl(shift + BITS)
                .unwrap_or(0);
            let start = above | u64::from(digit) << shift;
            let end = start | ((1 << shift) - 1);
            let sort_all = bucket.length <= SORT_AT_MOST || level == 0;
            self.horizon = match (sort_all, self.levels) {
                (true, 0) => Nanos::MAX,
                (true, _) => end,
                (false, _) => start,
            };
            let mut slot = bucket.first;
            while slot != NIL {
                let node = &mut self.nodes[slot as usize];
                let (time, next) = (node.time, node.after);
                if time <= self.horizon {
                    node.before = NEAR;
                    self.near.push(Entry {
                        time,
                        order: node.order,
                        slot,
                    });
                } else {
                    self.link(slot, time);
                }
                slot = next;
            }
            if !self.near.is_empty() {
                self.near.sort_unstable_by_key(|entry| Reverse(entry.key()));
                return true;
            }
        }
        self.horizon = Nanos::MAX;
        false
    }
}

/// The level of the highest digit in which two times differ, given their exclusive or, which is not 0.
#[inline]
fn level_of(difference: u64) -> u32 {
    (u64::BITS - 1 - difference.leading_zeros()) / BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

    /// Moves and cancels without end, with delays below `span`, and returns the most entries and nodes there ever were.
    fn most_memory(pending: u64, span: u64) -> (usize, usize) {
        let mut stream = Stream::named(pending, "moves");
        let mut calendar = Calendar::new();
        let mut ids: Vec<_> = (0..pending)
            .map(|event| calendar.schedule(stream.below(span), 0, event))
            .collect();
        let mut entries = 0;
        for step in 0..100_000 {
            let which = stream.below(pending) as usize;
            let at = calendar.now() + stream.below(span);
            if step % 3 == 0 {
                assert!(calendar.cancel(ids[which]));
                ids[which] = calendar.schedule(at, 0, which as u64);
            } else {
                ids[which] = calendar.reschedule(ids[which], at).unwrap();
            }
            if step % 50 == 0 {
                let (now, event) = calendar.pop().unwrap();
                ids[event as usize] = calendar.schedule(now + stream.below(span), 0, event);
            }
            entries = entries.max(calendar.near.len() + calendar.crowd.len());
        }
        (entries, calendar.nodes.len())
    }

    #[test]
    fn memory_is_bounded_by_what_is_pending() {
        for (pending, span) in [
            (5, 1_000),
            (30, 1_000_000),
            (300, 1),
            (300, 3),
            (300, 1_000_000_000),
            (3000, 10),
        ] {
            let (entries, nodes) = most_memory(pending, span);
            assert_eq!(nodes, pending as usize);
            assert!(
                entries <= 2 * pending as usize + 2 * NEAR_AT_MOST,
                "{entries} entries for {pending} within {span}"
            );
        }
    }
}
