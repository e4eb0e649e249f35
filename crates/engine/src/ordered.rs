//! Sorting and maps of what is sorted or built once for a run or a report.
//!
//! The library makes its code for each type and order anew, which is a tenth of the core in a page. Here that code is
//! small, and the order is asked through a pointer. Loops over events sort as the library does.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Sorts `items` like [`slice::sort_by`]: equal ones keep their order.
pub fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let order = order(items.len(), &|a, b| compare(&items[a], &items[b]));
    put_in(order, &mut |a, b| items.swap(a, b));
}

/// The places of things in the order that they are to have.
fn order(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|&a, &b| compare(a, b));
    places
}

/// Moves each thing from its place to its position in the order, by exchanges along each cycle.
fn put_in(mut places: Vec<usize>, swap: &mut dyn FnMut(usize, usize)) {
    for start in 0..places.len() {
        let mut at = start;
        loop {
            let from = std::mem::replace(&mut places[at], at);
            if from == start {
                break;
            }
            swap(at, from);
            at = from;
        }
    }
}

/// A map of entries; of those with one key, the last. Collecting them would sort them first.
pub fn map_of<K: Ord, V>(entries: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(entries);
    map
}

/// A set of things. Collecting them would sort them first.
pub fn set_of<T: Ord>(things: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(things);
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_things_keep_their_order_and_all_orders_are_those_of_the_library() {
        for seed in 0..200_u64 {
            let numbers = (0..seed % 40).map(|k| (((k + 1) * (seed * 2_654_435_761 + 40_503)) >> 7) % 9);
            let mut items: Vec<(u64, usize)> = numbers.zip(0..).collect();
            let mut expected = items.clone();
            sort_by(&mut items, |a, b| a.0.cmp(&b.0));
            expected.sort_by_key(|item| item.0);
            assert_eq!(items, expected);
        }
    }

    #[test]
    fn of_entries_with_one_key_the_last_stays() {
        assert_eq!(
            map_of([(2, 'a'), (1, 'b'), (2, 'c')]),
            BTreeMap::from([(1, 'b'), (2, 'c')])
        );
    }
}
