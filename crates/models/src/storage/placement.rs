//! Where distributed storage puts copies and fragments: placement groups over failure domains.
//!
//! **Mechanism.** All chunks of one placement group are on the same devices: one per replica or fragment, each in its
//! own failure domain. There are enough groups that every device shares data with many others, which makes rebuilding
//! many-to-many. Devices are dealt like cards from a shuffled deck, so all have nearly the same number of groups.
//!
//! **Sources.** Weil et al., "CRUSH: controlled, scalable, decentralized placement of replicated data", SC 2006, for
//! groups and failure domains; about a hundred groups a device is what Ceph's documentation advises.
//!
//! Where devices differ in size, the larger are in more decks, so that all have groups for their capacity.
//!
//! **Assumptions.** What is lost goes to that one of two random devices in a domain without a copy which has fewer
//! groups for its capacity.
//!
//! **Placement groups instead of chunks.** Data are placed by groups of chunks, about a hundred per device. A petabyte
//! therefore needs no more memory than a terabyte, and failures and rebuilding are exact for groups.

/// Groups that each service of a device has on average; a small pool has as many groups as it has chunks.
pub const GROUPS_PER_SERVICE: usize = 100;

/// The devices of `groups` groups of `width` members, one group after another. `domain_of` is the failure domain of
/// each device, `capacities` what it holds, `below(n)` a random number under n. Devices that hold less than a
/// thousandth of the largest count as that. A device with several `services` has a group on the service of the group's
/// number modulo `services`; each service has nearly the same number of groups.
///
/// There must be at least `width` domains.
pub fn deal(
    domain_of: &[u32],
    capacities: &[f64],
    groups: usize,
    width: usize,
    services: usize,
    mut below: impl FnMut(u64) -> u64,
) -> Vec<u32> {
    let largest = capacities.iter().copied().fold(0.0, f64::max);
    let parts: Vec<f64> = capacities
        .iter()
        .map(|capacity| (capacity / largest).max(1e-3))
        .collect();
    // a device has a card in a deck whenever its parts so far make one more
    let mut hands: Vec<(Vec<f64>, Vec<u32>)> = vec![(vec![0.0; parts.len()], Vec::new()); services];
    let mut members = Vec::with_capacity(groups * width);
    for group in 0..groups {
        let (credits, deck) = &mut hands[group % services];
        for _ in 0..width {
            let taken = &members[group * width..];
            let free = |&device: &u32| {
                taken
                    .iter()
                    .all(|&other: &u32| domain_of[other as usize] != domain_of[device as usize])
            };
            let mut at = deck.iter().rposition(free);
            if at.is_none() {
                let mut fresh: Vec<u32> = Vec::with_capacity(parts.len());
                for (device, (credit, part)) in credits.iter_mut().zip(&parts).enumerate() {
                    *credit += part;
                    if *credit >= 1.0 {
                        *credit -= 1.0;
                        fresh.push(device as u32);
                    }
                }
                for last in (1..fresh.len()).rev() {
                    fresh.swap(last, below(last as u64 + 1) as usize);
                }
                // the rest of the old deck stays on top
                fresh.append(deck);
                *deck = fresh;
                at = deck.iter().rposition(free);
            }
            let device = match at {
                Some(at) => deck.remove(at),
                // only small devices, which few decks have, are in other domains
                None => {
                    let free: Vec<u32> = (0..domain_of.len() as u32).filter(free).collect();
                    free[below(free.len() as u64) as usize]
                }
            };
            members.push(device);
        }
    }
    members
}

/// Where a lost member goes: a usable device in a domain that none of the `others` is in. `filled` is how many groups a
/// device has for its capacity. `None` if there is none.
pub fn replacement(
    domain_of: &[u32],
    others: &[u32],
    usable: impl Fn(usize) -> bool,
    filled: impl Fn(usize) -> f64,
    mut below: impl FnMut(u64) -> u64,
) -> Option<u32> {
    let allowed = |&device: &usize| {
        usable(device)
            && others
                .iter()
                .all(|&other| domain_of[other as usize] != domain_of[device])
    };
    let candidates: Vec<usize> = (0..domain_of.len()).filter(allowed).collect();
    if candidates.is_empty() {
        return None;
    }
    let mut draw = || candidates[below(candidates.len() as u64) as usize];
    let (one, other) = (draw(), draw());
    Some(if filled(other) < filled(one) { other } else { one } as u32)
}

#[cfg(test)]
mod tests {
    use super::{deal, replacement};

    fn random() -> impl FnMut(u64) -> u64 {
        let mut state = 1_u64;
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        }
    }

    #[test]
    fn members_are_in_different_domains_and_devices_evenly_used() {
        for (hosts, per_host, width) in [(4, 6, 2), (6, 7, 3), (5, 1, 5), (24, 3, 20)] {
            let domain_of: Vec<u32> = (0..hosts * per_host).map(|device| device / per_host).collect();
            let groups = 1_000;
            let members = deal(&domain_of, &vec![1e12; domain_of.len()], groups, width, 1, random());
            let mut load = vec![0_u32; domain_of.len()];
            for group in members.chunks(width) {
                let mut domains: Vec<u32> = group.iter().map(|&device| domain_of[device as usize]).collect();
                domains.sort_unstable();
                domains.dedup();
                assert_eq!(domains.len(), width);
                group.iter().for_each(|&device| load[device as usize] += 1);
            }
            let mean = (groups * width) as f64 / domain_of.len() as f64;
            let spread = load.iter().map(|&n| (f64::from(n) - mean).abs()).fold(0.0, f64::max);
            assert!(spread <= 0.1 * mean, "{hosts} hosts, width {width}: {load:?}");
        }
    }

    #[test]
    fn services_of_a_device_have_nearly_as_many_groups_as_each_other() {
        for (services, width) in [(2, 2), (3, 3), (4, 1)] {
            let domain_of: Vec<u32> = (0..20).map(|device| device / 4).collect();
            let (devices, groups) = (domain_of.len(), 700 * services);
            let members = deal(&domain_of, &vec![1e12; devices], groups, width, services, random());
            let mut load = vec![0_usize; devices * services];
            for (group, members) in members.chunks(width).enumerate() {
                for &device in members {
                    load[device as usize * services + group % services] += 1;
                }
            }
            let mean = 700 * width / devices;
            assert!(
                load.iter().all(|n| n.abs_diff(mean) <= 3),
                "{services} services: {load:?}"
            );
        }
    }

    #[test]
    fn what_is_lost_goes_to_another_domain_or_nowhere() {
        let domain_of = [0, 0, 1, 1, 2, 2];
        let found = replacement(&domain_of, &[0, 2], |device| device != 4, |_| 1.0, random());
        assert_eq!(found, Some(5));
        assert_eq!(replacement(&domain_of, &[0, 2, 4], |_| true, |_| 1.0, random()), None);
    }

    #[test]
    fn devices_have_groups_for_their_capacity() {
        for (sizes, width) in [(vec![1.0, 3.0], 2), (vec![4.0, 3.84, 1.0], 3), (vec![1.0, 50.0], 1)] {
            let hosts = 5;
            let capacities: Vec<f64> = (0..hosts).flat_map(|_| sizes.clone()).collect();
            let domain_of: Vec<u32> = (0..capacities.len())
                .map(|device| (device / sizes.len()) as u32)
                .collect();
            let groups = 5_000;
            let members = deal(&domain_of, &capacities, groups, width, 1, random());
            let mut load = vec![0.0; capacities.len()];
            for group in members.chunks(width) {
                assert!((1..width).all(|at| {
                    group[..at]
                        .iter()
                        .all(|&one| domain_of[one as usize] != domain_of[group[at] as usize])
                }));
                group.iter().for_each(|&device| load[device as usize] += 1.0);
            }
            let each = (groups * width) as f64 / capacities.iter().sum::<f64>();
            for (load, capacity) in load.iter().zip(&capacities) {
                assert!(
                    (load - each * capacity).abs() <= 0.1 * each * capacity + 2.0,
                    "{sizes:?}: {load} on {capacity}"
                );
            }
        }
    }

    #[test]
    fn a_pool_whose_large_devices_are_all_in_one_domain_still_has_all_copies() {
        let members = deal(&[0, 0, 1], &[1e15, 1e15, 1e9], 200, 2, 1, random());
        assert!(members.chunks(2).all(|group| group.contains(&2)));
    }
}
