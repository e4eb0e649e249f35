//! The calendar against a model so plain that it is right by inspection: a list from which the least is taken.

use hypertwin_kernel::{Calendar, EventId, Nanos, Stream};
use proptest::prelude::*;

/// A list of (time, priority, sequence, event). Popping looks for the least.
#[derive(Default)]
struct Plain {
    pending: Vec<(Nanos, u8, u64, u32)>,
    sequence: u64,
    now: Nanos,
}

impl Plain {
    fn schedule(&mut self, at: Nanos, priority: u8, event: u32) {
        self.sequence += 1;
        self.pending.push((at, priority, self.sequence, event));
    }

    fn find(&self, event: u32) -> Option<usize> {
        self.pending.iter().position(|pending| pending.3 == event)
    }

    fn cancel(&mut self, event: u32) -> bool {
        self.find(event).map(|place| self.pending.swap_remove(place)).is_some()
    }

    fn reschedule(&mut self, event: u32, at: Nanos) -> bool {
        let Some(place) = self.find(event) else { return false };
        let (_, priority, _, event) = self.pending.swap_remove(place);
        self.schedule(at, priority, event);
        true
    }

    fn peek(&self) -> Option<Nanos> {
        self.pending.iter().min().map(|pending| pending.0)
    }

    fn pop(&mut self) -> Option<(Nanos, u32)> {
        let least = *self.pending.iter().min()?;
        self.pending.retain(|pending| pending.2 != least.2);
        self.now = least.0;
        Some((least.0, least.3))
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Delay, priority.
    Schedule(Nanos, u8),
    /// Which event of those ever scheduled (may be gone).
    Cancel(usize),
    /// Which event, delay.
    Move(usize, Nanos),
    Pop,
    Peek,
    /// Look no further than this delay.
    PopUntil(Nanos),
}

/// Runs the same steps on both, comparing every answer, and empties both at the end.
fn compare(start: Nanos, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut plain = Plain::default();
    let mut calendar = Calendar::new();
    let mut ids: Vec<EventId> = Vec::new();
    plain.schedule(start, 0, u32::MAX);
    calendar.schedule(start, 0, u32::MAX);
    for &step in steps {
        match step {
            Step::Schedule(delay, priority) => {
                let event = ids.len() as u32;
                let at = plain.now.saturating_add(delay);
                plain.schedule(at, priority, event);
                ids.push(calendar.schedule(at, priority, event));
            }
            Step::Cancel(which) if !ids.is_empty() => {
                let event = which % ids.len();
                prop_assert_eq!(calendar.is_pending(ids[event]), plain.find(event as u32).is_some());
                prop_assert_eq!(calendar.cancel(ids[event]), plain.cancel(event as u32));
            }
            Step::Move(which, delay) if !ids.is_empty() => {
                let event = which % ids.len();
                let at = plain.now.saturating_add(delay);
                let moved = calendar.reschedule(ids[event], at);
                prop_assert_eq!(moved.is_some(), plain.reschedule(event as u32, at));
                if let Some(id) = moved {
                    prop_assert!(!calendar.cancel(ids[event]), "the old id must be void");
                    prop_assert_eq!(calendar.time_of(id), Some(at));
                    ids[event] = id;
                }
            }
            Step::Pop => prop_assert_eq!(calendar.pop(), plain.pop()),
            Step::Peek => prop_assert_eq!(calendar.peek_time(), plain.peek()),
            Step::PopUntil(delay) => {
                let end = plain.now.saturating_add(delay);
                let expected = if plain.peek().is_some_and(|time| time <= end) {
                    plain.pop()
                } else {
                    None
                };
                prop_assert_eq!(calendar.pop_until(end), expected);
            }
            _ => {}
        }
        prop_assert_eq!(calendar.len(), plain.pending.len());
        prop_assert_eq!(calendar.now(), plain.now);
    }
    while let Some(expected) = plain.pop() {
        prop_assert_eq!(calendar.pop(), Some(expected));
    }
    prop_assert_eq!(calendar.pop(), None);
    prop_assert!(calendar.is_empty());
    Ok(())
}

/// Delays from none at all over a few equal ones to most of the range of the clock.
fn delay() -> impl Strategy<Value = Nanos> {
    prop_oneof![
        3 => 0u64..4,
        3 => 0u64..100,
        3 => 0u64..100_000,
        3 => (0u32..50).prop_flat_map(|bits| 0u64..=1 << bits),
        1 => Just(Nanos::MAX),
        1 => Just(1_000_000),
    ]
}

fn step(pops: u32) -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (delay(), 0u8..3).prop_map(|(delay, priority)| Step::Schedule(delay, priority)),
        2 => any::<usize>().prop_map(Step::Cancel),
        4 => (any::<usize>(), delay()).prop_map(|(which, delay)| Step::Move(which, delay)),
        pops => Just(Step::Pop),
        1 => Just(Step::Peek),
        1 => delay().prop_map(Step::PopUntil),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn few_pending(start in delay(), steps in prop::collection::vec(step(5), 0..400)) {
        compare(start, &steps)?;
    }

    #[test]
    fn many_pending(start in 0u64..1000, steps in prop::collection::vec(step(2), 300..1200)) {
        compare(start, &steps)?;
    }

    #[test]
    fn one_instant(steps in prop::collection::vec(
        prop_oneof![
            4 => (0u64..2, 0u8..3).prop_map(|(delay, priority)| Step::Schedule(delay, priority)),
            1 => any::<usize>().prop_map(Step::Cancel),
            2 => (any::<usize>(), 0u64..2).prop_map(|(which, delay)| Step::Move(which, delay)),
            1 => Just(Step::Pop),
            1 => Just(Step::Peek),
        ], 0..1000)) {
        compare(0, &steps)?;
    }
}

#[test]
fn equal_times_leave_by_priority_and_then_in_the_order_of_scheduling() {
    let mut calendar = Calendar::new();
    for event in 0..10_000u32 {
        calendar.schedule(5, (event % 3) as u8, event);
    }
    let mut order: Vec<u32> = (0..10_000).collect();
    order.sort_by_key(|event| event % 3);
    assert_eq!(
        std::iter::from_fn(|| calendar.pop())
            .map(|(_, event)| event)
            .collect::<Vec<_>>(),
        order
    );
}

#[test]
fn a_cascade_on_one_instant_is_not_quadratic() {
    // 300,000 events on one instant, each scheduling one more on the same instant: minutes instead of
    // less than a second if each had to pass all others.
    let mut calendar = Calendar::new();
    calendar.schedule(0, 0, false);
    for _ in 0..300_000 {
        calendar.schedule(1_000_000, 0, true);
    }
    while let Some((now, again)) = calendar.pop() {
        if again {
            calendar.schedule(now, 0, false);
        }
    }
    assert_eq!(calendar.popped(), 600_001);
}

#[test]
#[should_panic(expected = "in the past")]
fn the_past_is_closed() {
    let mut calendar = Calendar::new();
    calendar.schedule(10, 0, ());
    calendar.pop();
    calendar.schedule(9, 0, ());
}

#[test]
fn a_copy_goes_the_same_way() {
    let mut stream = Stream::named(1, "copy");
    let mut calendar = Calendar::with_capacity(300);
    for event in 0..300u32 {
        calendar.schedule(stream.below(1_000_000), 0, event);
    }
    for _ in 0..100 {
        calendar.pop();
    }
    let mut copy = calendar.clone();
    for event in 0..300u32 {
        let at = calendar.now() + stream.below(1000);
        calendar.schedule(at, 1, event);
        copy.schedule(at, 1, event);
        assert_eq!(calendar.pop(), copy.pop());
    }
}
