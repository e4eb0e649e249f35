//! Order of service on an OSD of Ceph: clients, recovery and best-effort work.
//!
//! **Mechanism.** mClock gives each class three tags: when its next operation is due by its reservation, when by its
//! weight, and before when its limit forbids it. What is due by a reservation goes first, the longest due of them; else
//! whatever limits allow goes by weight. An operation costs its bytes, but at least what the device could have moved in
//! the time of one I/O, so a share of the device is a share of its time. What is served by weight does not count
//! against a reservation. WPQ picks a class by its priority, and a dear operation less often: here in turn rather than
//! by chance, which gives the same shares.
//!
//! **Sources.** Gulati, Merchant and Varman, "mClock: handling throughput variability for hypervisor IO scheduling",
//! OSDI 2010; `src/common/options/osd.yaml.in`, `mClockScheduler.cc` and `WeightedPriorityQueue.h` of Ceph: profiles,
//! costs and capacities. That backfill, scrub and the removal of groups are best effort, and only what is degraded is
//! recovery: pull request 49975 of Ceph.
//!
//! **Assumptions.** A class that has had nothing to do earns nothing meanwhile. Scrub has the priority of backfill in
//! WPQ. Priorities of WPQ are background knowledge.

use hypertwin_cluster::{DiskKind, MclockProfile};

/// Origin of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A VM.
    Client,
    /// What a member missed while it was away.
    Recovery,
    /// Backfill of a whole member, and scrub.
    BestEffort,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Client, Self::Recovery, Self::BestEffort];
}

/// The first operation that waits of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Since when it waits.
    pub since_ns: u64,
    /// What it reads or writes.
    pub bytes: u32,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The first operation of a class.
    Serve(Class),
    /// Nothing before then: limits forbid it.
    Wait(u64),
    /// Nothing waits.
    Nothing,
}

/// Assumed capacity of one device, or of a queue's part of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// In large operations.
    pub bytes_per_s: f64,
    /// In small ones.
    pub ios_per_s: f64,
}

impl Capacity {
    /// Capacity of a device; `ios_per_s` overrides the default IOPS.
    pub fn of(kind: DiskKind, ios_per_s: Option<f64>) -> Self {
        const MIB: f64 = (1_u64 << 20) as f64;
        let (bytes_per_s, ios) = match kind.is_flash() {
            true => (1_200.0 * MIB, 21_500.0),
            false => (150.0 * MIB, 315.0),
        };
        Self {
            bytes_per_s,
            ios_per_s: ios_per_s.unwrap_or(ios),
        }
    }
}

/// Fractions of the capacity, and a weight.
#[derive(Clone, Copy, Debug)]
struct Share {
    reservation: f64,
    weight: f64,
    limit: f64,
}

/// Client, recovery and best effort of a profile.
fn shares(profile: MclockProfile) -> [Share; 3] {
    let share = |reservation, weight, limit| Share {
        reservation,
        weight,
        limit,
    };
    let all = f64::INFINITY;
    match profile {
        MclockProfile::Balanced => [share(0.5, 1.0, all), share(0.5, 1.0, all), share(0.0, 1.0, 0.9)],
        MclockProfile::HighClientOps => [share(0.6, 2.0, all), share(0.4, 1.0, all), share(0.0, 1.0, 0.7)],
        MclockProfile::HighRecoveryOps => [share(0.3, 1.0, all), share(0.7, 2.0, all), share(0.0, 1.0, all)],
    }
}

/// Priorities of WPQ: `osd_client_op_priority` and `osd_recovery_op_priority`.
const PRIORITIES: [f64; 3] = [63.0, 3.0, 3.0];

/// Order of service of one queue.
#[derive(Clone, Debug)]
pub struct Order {
    rule: Rule,
    classes: [Tags; 3],
    /// Turn of what was served last by weight or priority.
    turn: f64,
}

#[derive(Clone, Copy, Debug)]
enum Rule {
    /// Least cost of an operation, in bytes.
    Mclock { least: f64 },
    /// The dearest operation so far, in bytes.
    Wpq { dearest: f64 },
}

/// How far a class has been served. Reservation and limit are in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Tags {
    reserved_ns: f64,
    limited_ns: f64,
    turn: f64,
    /// Nanoseconds of its reservation and of its limit for a byte; how far a byte moves its turn.
    reservation: f64,
    limit: f64,
    weight: f64,
}

impl Order {
    /// By mClock, with a part of a device's capacity for each of `queues`.
    pub fn mclock(profile: MclockProfile, device: Capacity, queues: u32) -> Self {
        let ns_per_byte = 1e9 * f64::from(queues) / device.bytes_per_s;
        let tags = |share: Share| Tags {
            reservation: ns_per_byte / share.reservation,
            limit: ns_per_byte / share.limit,
            weight: 1.0 / share.weight,
            ..Tags::default()
        };
        Self {
            rule: Rule::Mclock {
                least: device.bytes_per_s / device.ios_per_s,
            },
            classes: shares(profile).map(tags),
            turn: 0.0,
        }
    }

    /// By priority.
    pub fn wpq() -> Self {
        let tags = |priority: f64| Tags {
            weight: 1.0 / priority,
            ..Tags::default()
        };
        Self {
            rule: Rule::Wpq { dearest: 0.0 },
            classes: PRIORITIES.map(tags),
            turn: 0.0,
        }
    }

    /// An operation comes for a class of which none waited.
    pub fn wake(&mut self, class: Class) {
        let tags = &mut self.classes[class as usize];
        tags.turn = tags.turn.max(self.turn);
    }

    /// Chooses among the first operations of the classes, and counts the chosen one as served.
    pub fn choose(&mut self, heads: [Option<Head>; 3], now_ns: u64) -> Choice {
        match self.rule {
            Rule::Mclock { least } => self.by_tags(heads, least, now_ns as f64),
            Rule::Wpq { dearest } => {
                let bytes = heads.iter().flatten().map(|head| f64::from(head.bytes));
                let dearest = bytes.fold(dearest, f64::max).max(1.0);
                self.rule = Rule::Wpq { dearest };
                // of the dearest operations one in ten is taken when it is their turn
                let costs = heads.map(|head| head.map(|head| 1.0 / (1.0 - 0.9 * f64::from(head.bytes) / dearest)));
                let Some(class) = self.first(costs) else {
                    return Choice::Nothing;
                };
                self.count(class, costs[class as usize].expect("what is chosen waits"));
                Choice::Serve(class)
            }
        }
    }

    fn by_tags(&mut self, heads: [Option<Head>; 3], least: f64, now: f64) -> Choice {
        let (mut due, mut soonest) = (None, f64::INFINITY);
        let (mut costs, mut allowed) = ([None; 3], [None; 3]);
        for (class, head) in Class::ALL.into_iter().zip(heads) {
            let Some(head) = head else { continue };
            let (tags, since) = (&self.classes[class as usize], head.since_ns as f64);
            let cost = f64::from(head.bytes).max(least);
            let reserved = since.max(tags.reserved_ns + cost * tags.reservation);
            let limited = since.max(tags.limited_ns + cost * tags.limit);
            costs[class as usize] = Some((cost, limited));
            if reserved <= now && due.is_none_or(|(first, _)| reserved < first) {
                due = Some((reserved, class));
            }
            if limited <= now {
                allowed[class as usize] = Some(cost);
            }
            soonest = soonest.min(reserved).min(limited);
        }
        let chosen = match due {
            Some((reserved, class)) => {
                self.classes[class as usize].reserved_ns = reserved;
                Some(class)
            }
            None => self.first(allowed),
        };
        match chosen {
            Some(class) => {
                let (cost, limited) = costs[class as usize].expect("what is chosen waits");
                self.classes[class as usize].limited_ns = limited;
                self.count(class, cost);
                Choice::Serve(class)
            }
            None if soonest.is_finite() => Choice::Wait(soonest.ceil() as u64),
            None => Choice::Nothing,
        }
    }

    /// Whose turn it is, by what each would have had after its operation of this cost.
    fn first(&self, costs: [Option<f64>; 3]) -> Option<Class> {
        let after = |class: Class, cost: f64| {
            let tags = &self.classes[class as usize];
            tags.turn + cost * tags.weight
        };
        let waiting = Class::ALL.into_iter().zip(costs);
        let turns = waiting.filter_map(|(class, cost)| Some((class, after(class, cost?))));
        let first = turns.min_by(|(_, one), (_, other)| one.total_cmp(other));
        first.map(|(class, _)| class)
    }

    /// An operation of this cost is served.
    fn count(&mut self, class: Class, cost: f64) {
        let tags = &mut self.classes[class as usize];
        self.turn = self.turn.max(tags.turn);
        tags.turn += cost * tags.weight;
    }
}

#[cfg(test)]
mod tests {
    use super::{Capacity, Choice, Class, Head, Order};
    use hypertwin_cluster::{DiskKind, MclockProfile};

    /// A device that is said to move 1 GB/s and to do 20,000 I/Os per second, so that no I/O costs less than 50,000
    /// bytes.
    const DEVICE: Capacity = Capacity {
        bytes_per_s: 1e9,
        ios_per_s: 20_000.0,
    };

    /// What each class gets in ten seconds of a device which really is `speed` times as fast. Classes with a size
    /// always have operations of it waiting. In fractions of the time, and operations.
    fn served(mut order: Order, speed: f64, bytes: [Option<u32>; 3]) -> ([f64; 3], [f64; 3]) {
        let (mut time, mut count) = ([0.0; 3], [0.0; 3]);
        let heads = bytes.map(|bytes| bytes.map(|bytes| Head { since_ns: 0, bytes }));
        let (mut now, end) = (0, 10_000_000_000);
        while now < end {
            match order.choose(heads, now) {
                Choice::Serve(class) => {
                    let bytes = bytes[class as usize].expect("it waits");
                    let ns = f64::from(bytes.max(50_000)) / speed;
                    time[class as usize] += ns / end as f64;
                    count[class as usize] += 1.0;
                    now += ns as u64;
                }
                Choice::Wait(until) => {
                    assert!(until > now, "it waits for something");
                    now = until;
                }
                Choice::Nothing => panic!("something waits"),
            }
        }
        (time, count)
    }

    fn assert_shares(profile: MclockProfile, speed: f64, bytes: [Option<u32>; 3], expected: [f64; 3]) {
        let (shares, _) = served(Order::mclock(profile, DEVICE, 1), speed, bytes);
        for (share, expected) in shares.iter().zip(expected) {
            assert!(
                (share - expected).abs() < 0.01,
                "{profile:?}, {speed}, {bytes:?}: {shares:?}"
            );
        }
    }

    const SOME: Option<u32> = Some(100_000);
    const BALANCED: MclockProfile = MclockProfile::Balanced;
    const CLIENTS: MclockProfile = MclockProfile::HighClientOps;
    const RECOVERY: MclockProfile = MclockProfile::HighRecoveryOps;

    #[test]
    fn a_device_as_fast_as_it_is_said_to_be_is_divided_by_reservations() {
        let both = [SOME, SOME, None];
        assert_shares(BALANCED, 1.0, both, [0.5, 0.5, 0.0]);
        assert_shares(CLIENTS, 1.0, both, [0.6, 0.4, 0.0]);
        assert_shares(RECOVERY, 1.0, both, [0.3, 0.7, 0.0]);
    }

    #[test]
    fn a_slower_one_is_divided_in_proportion_and_best_effort_gets_nothing() {
        assert_shares(CLIENTS, 0.5, [SOME, SOME, None], [0.6, 0.4, 0.0]);
        assert_shares(BALANCED, 0.4, [SOME, None, SOME], [1.0, 0.0, 0.0]);
    }

    #[test]
    fn of_a_faster_one_weights_divide_all() {
        let both = [SOME, SOME, None];
        assert_shares(CLIENTS, 2.0, both, [2.0 / 3.0, 1.0 / 3.0, 0.0]);
        assert_shares(RECOVERY, 2.0, both, [1.0 / 3.0, 2.0 / 3.0, 0.0]);
        // but nobody gets less than is reserved: a half of what it is said to be, of 1.2 times that
        assert_shares(BALANCED, 1.2, [SOME; 3], [0.5 / 1.2, 0.5 / 1.2, 0.2 / 1.2]);
    }

    #[test]
    fn limits_hold_and_who_is_alone_gets_all_else() {
        for (profile, limit) in [(BALANCED, 0.9), (CLIENTS, 0.7), (RECOVERY, 1.0)] {
            assert_shares(profile, 1.0, [None, None, SOME], [0.0, 0.0, limit]);
        }
        assert_shares(BALANCED, 2.0, [None, None, SOME], [0.0, 0.0, 0.45]);
        assert_shares(BALANCED, 1.0, [SOME, None, None], [1.0, 0.0, 0.0]);
        assert_shares(RECOVERY, 1.0, [None, SOME, None], [0.0, 1.0, 0.0]);
    }

    #[test]
    fn a_small_operation_costs_as_much_as_the_device_could_move_meanwhile() {
        assert_shares(BALANCED, 1.0, [Some(4_096), Some(8 << 20), None], [0.5, 0.5, 0.0]);
    }

    #[test]
    fn a_queue_has_its_part_of_the_device() {
        let one_of_four = Order::mclock(BALANCED, DEVICE, 4);
        let (shares, _) = served(one_of_four, 1.0, [None, None, SOME]);
        assert!((shares[2] - 0.9 / 4.0).abs() < 0.01, "{shares:?}");
    }

    #[test]
    fn who_was_idle_has_earned_nothing() {
        let mut order = Order::mclock(BALANCED, DEVICE, 1);
        let head = |since_ns| {
            Some(Head {
                since_ns,
                bytes: 100_000,
            })
        };
        order.wake(Class::Client);
        // twice as fast as it is said to be, for a second
        for step in 0..20_000 {
            let choice = order.choose([head(0), None, None], step * 50_000);
            assert_eq!(choice, Choice::Serve(Class::Client));
        }
        let (mut clients, from) = (0, 1_000_000_000);
        order.wake(Class::Recovery);
        for step in 0..1_000 {
            let choice = order.choose([head(0), head(from), None], from + step * 50_000);
            clients += u32::from(choice == Choice::Serve(Class::Client));
        }
        assert!((490..=510).contains(&clients), "{clients} of 1000");
    }

    #[test]
    fn wpq_serves_by_priority_and_dear_operations_less_often() {
        let (_, count) = served(Order::wpq(), 1.0, [SOME, SOME, None]);
        assert!((count[0] / count[1] - 21.0).abs() < 0.1, "{count:?}");
        // 63 / 3, and of the dearest one in ten is taken, of the others 1 - 0.9 x 0.1
        let (_, count) = served(Order::wpq(), 1.0, [Some(100_000), Some(1_000_000), None]);
        assert!((count[0] / count[1] - 21.0 * 0.91 / 0.1).abs() < 2.0, "{count:?}");
    }

    #[test]
    fn capacities_are_those_that_ceph_takes_for_granted() {
        let flash = Capacity::of(DiskKind::Nvme, None);
        assert_eq!(flash.ios_per_s, 21_500.0);
        assert!((flash.bytes_per_s / flash.ios_per_s - 58_525.0).abs() < 1.0);
        let disk = Capacity::of(DiskKind::Hdd7k, Some(500.0));
        assert_eq!((disk.ios_per_s, disk.bytes_per_s), (500.0, 150.0 * 1_048_576.0));
    }
}
