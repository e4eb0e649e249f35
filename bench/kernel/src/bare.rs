//! The bound: the same models as loops of the fewest lines over `std::collections::BinaryHeap`, with a generator of
//! three lines and no statistics but a count and a sum. Equal times leave in no defined order, nothing can be
//! cancelled.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What a bare loop did: events, and the value to check it by.
pub type Bare = (u64, f64);

struct Random(u64);

impl Random {
    /// xorshift64.
    #[inline]
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    #[inline]
    fn exponential(&mut self, mean: f64) -> u64 {
        (-mean * (((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64).ln()) as u64
    }
}

/// M/M/1 with mean interval and service in ns. Returns the mean response in ns.
#[must_use]
pub fn mm1(interval: f64, service: f64, customers: u64, seed: u64) -> Bare {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut heap = BinaryHeap::from([Reverse((random.exponential(interval), false))]);
    let mut queue = VecDeque::new();
    let (mut events, mut served, mut sum) = (0, 0, 0u64);
    while served < customers {
        let Reverse((now, departure)) = heap.pop().expect("an arrival is always pending");
        events += 1;
        if departure {
            sum += now - queue.pop_front().expect("somebody leaves");
            served += 1;
        } else {
            queue.push_back(now);
            heap.push(Reverse((now + random.exponential(interval), false)));
        }
        if departure && !queue.is_empty() || !departure && queue.len() == 1 {
            heap.push(Reverse((now + random.exponential(service), true)));
        }
    }
    (events, sum as f64 / customers as f64)
}

/// Closed network of exponential first-come-first-served stations with uniform routing, up to `end` ns. Returns the
/// mean time of a visit in ns, by Little's law.
#[must_use]
pub fn network(stations: usize, customers: usize, service: f64, end: u64, seed: u64) -> Bare {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut present: Vec<usize> = (0..stations)
        .map(|i| (customers + stations - 1 - i) / stations)
        .collect();
    let mut heap = BinaryHeap::new();
    for station in (0..stations).filter(|&station| present[station] > 0) {
        heap.push(Reverse((random.exponential(service), station as u32)));
    }
    let mut events = 0;
    while let Some(Reverse((now, from))) = heap.pop().filter(|next| next.0.0 <= end) {
        events += 1;
        present[from as usize] -= 1;
        if present[from as usize] > 0 {
            heap.push(Reverse((now + random.exponential(service), from)));
        }
        let to = ((u128::from(random.next()) * stations as u128) >> 64) as u32;
        present[to as usize] += 1;
        if present[to as usize] == 1 {
            heap.push(Reverse((now + random.exponential(service), to)));
        }
    }
    (events, customers as f64 * end as f64 / events as f64)
}

/// The hold model: `pending` events, of which the next is taken and scheduled anew, `events` times. Returns the mean
/// step of the clock in ns, which is mean delay / pending.
#[must_use]
pub fn hold(delay: f64, pending: usize, events: u64, seed: u64) -> Bare {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut heap: BinaryHeap<_> = (0..pending)
        .map(|event| Reverse((random.exponential(delay), event as u32)))
        .collect();
    let mut last = 0;
    for _ in 0..events {
        let Reverse((now, event)) = heap.pop().expect("the number of events is constant");
        heap.push(Reverse((now + random.exponential(delay), event)));
        last = now;
    }
    (events, last as f64 / events as f64)
}
