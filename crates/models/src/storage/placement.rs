//! Where distributed storage puts copies and fragments: placement groups over failure domains.
//!
//! **Mechanism.** All chunks of one placement group are on the same devices, one in each of as many failure domains as there
//! are copies or fragments. Groups are so many that every device shares data with many others, which makes rebuilding
//! many-to-many. Devices are dealt like cards from a shuffled deck, so all have nearly the same number of groups.
//!
//! **Sources.** Weil et al., "CRUSH: controlled, scalable, decentralized placement of replicated data", SC 2006, for groups and
//! failure domains; about a hundred groups a device is what Ceph's documentation advises.
//!
//! **Assumptions.** All devices are of one size. What is lost goes to that one of two random devices in a domain without a copy
//! which has fewer groups.

/// Groups that each device has on average; a small pool has as many groups as it has chunks.
pub const GROUPS_PER_DEVICE: usize = 100;

/// The devices of `groups` groups of `width` members, one group after another. `domain_of` is the failure domain of each
/// device, `below(n)` a random number under n.
///
/// There must be at least `width` domains.
pub fn deal(domain_of: &[u32], groups: usize, width: usize, mut below: impl FnMut(u64) -> u64) -> Vec<u32> {
    let mut members = Vec::with_capacity(groups * width);
    let mut deck: Vec<u32> = Vec::new();
    for group in 0..groups {
        for _ in 0..width {
            let taken = &members[group * width..];
            let free = |&device: &u32| {
                taken
                    .iter()
                    .all(|&other: &u32| domain_of[other as usize] != domain_of[device as usize])
            };
            let mut at = deck.iter().rposition(free);
            if at.is_none() {
                let mut fresh: Vec<u32> = (0..domain_of.len() as u32).collect();
                for last in (1..fresh.len()).rev() {
                    fresh.swap(last, below(last as u64 + 1) as usize);
                }
                // the rest of the old deck stays on top
                fresh.append(&mut deck);
                deck = fresh;
                at = deck.iter().rposition(free);
            }
            let device = deck.remove(at.expect("there are enough failure domains"));
            members.push(device);
        }
    }
    members
}

/// Where a lost member goes: a usable device in a domain that none of the `others` is in. `load` is how many groups each
/// device has. `None` if there is none.
pub fn replacement(
    domain_of: &[u32],
    others: &[u32],
    usable: impl Fn(usize) -> bool,
    load: &[u32],
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
    Some(if load[other] < load[one] { other } else { one } as u32)
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
            let members = deal(&domain_of, groups, width, random());
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
    fn what_is_lost_goes_to_another_domain_or_nowhere() {
        let domain_of = [0, 0, 1, 1, 2, 2];
        let load = [1; 6];
        let found = replacement(&domain_of, &[0, 2], |device| device != 4, &load, random());
        assert_eq!(found, Some(5));
        assert_eq!(replacement(&domain_of, &[0, 2, 4], |_| true, &load, random()), None);
    }
}
