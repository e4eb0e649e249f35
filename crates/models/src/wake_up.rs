//! How long an idle vCPU or thread takes to begin when it is woken: a time in which nothing computes.
//!
//! **Mechanism.** An event makes an idle vCPU ready, and an idle logical CPU takes it. That CPU leaves its idle state
//! first, which takes the longer the deeper it is; then the host handles the interrupt and switches to the vCPU, and
//! the guest is entered and switches to its process. A core sleeps no deeper than its less idle thread, so the state
//! follows from how long all of the core has been idle. Whether CPUs may sleep deeply is up to the host's power policy.
//!
//! A thread of the hypervisor that works for virtual controllers wakes up likewise, without a guest: for a request, and
//! again for its completion. KVM polls for a while for a vCPU that halts: then the CPU has not slept, and the host does
//! not switch. A thread that polls does neither: it looks for events itself for a while before it sleeps. A thread of a
//! storage service wakes up for an operation. The wake-up for the answer of a device is in the device's time, which is
//! what a host sees of it.
//!
//! **Sources.** Idle states: exit latencies and target residencies of Skylake and Cascade Lake servers in Linux's
//! `drivers/idle/intel_idle.c` (`skx_cstates`), except that C6 takes 41 us, what firmware says of a core that leaves it
//! while its package is awake; the table's 133 us and the like (82 to 170 us from Ivy Bridge to Ice Lake) are measured
//! with all of the package asleep (Linux commit "intel_idle: Customize IceLake server support", 2020). The rest: each
//! family's `wake_up`; of a thread an interrupt and a switch, as without a hypervisor.
//!
//! **Assumptions.** The host foresees how long a CPU will be idle, and something else on its package is awake. The core
//! of a thread has been idle for as long as the thread. Polling for a halted vCPU (KVM's `halt_poll_ns`) costs no CPU
//! time here, and has its longest limit at once.
//!
//! **A wake-up is a start-up time of the logical CPU, not an event.** When the engine settles the time of a CPU, the
//! start-up time comes before the work. The start-up time therefore delays the next event and needs no event of its
//! own. The start-up time counts as ready time, and no CPU is busy in it.

/// One idle state of a core.
struct IdleState {
    /// It is entered if the core stays idle for at least so long.
    residency_ns: u64,
    exit_ns: u64,
}

/// C1, C1E and C6.
const IDLE_STATES: [IdleState; 3] = [
    IdleState {
        residency_ns: 0,
        exit_ns: 2_000,
    },
    IdleState {
        residency_ns: 20_000,
        exit_ns: 10_000,
    },
    IdleState {
        residency_ns: 600_000,
        exit_ns: 41_000,
    },
];

/// From an interrupt on a running logical CPU to the thread or process that waited for it: less than 1 us for the
/// interrupt, and a switch.
pub const SWITCH_NS: u64 = 2_000;

/// What waking a vCPU takes on one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeUp {
    /// From the interrupt on a running logical CPU to the process that was woken.
    pub path_ns: u64,
    /// Whether idle CPUs leave C1.
    pub sleeps_deeply: bool,
    /// For how long the host polls for work of a vCPU that halts before it lets the CPU sleep.
    pub polls_ns: u64,
}

impl WakeUp {
    /// What waking a thread of the host takes: no guest is entered.
    #[must_use]
    pub fn of_thread(self) -> Self {
        Self {
            path_ns: SWITCH_NS,
            ..self
        }
    }

    /// Time until a vCPU begins for whose work its logical CPU polls, if it halted there `halted_ns` ago: the guest's
    /// interrupt, and its switch to the process.
    #[inline]
    pub fn polled_ns(&self, halted_ns: u64) -> Option<u64> {
        (halted_ns < self.polls_ns).then_some(SWITCH_NS)
    }

    /// Time until a vCPU begins on a logical CPU whose core has been idle for `idle_ns`.
    #[inline]
    pub fn ns(&self, idle_ns: u64) -> u64 {
        let usable = if self.sleeps_deeply {
            &IDLE_STATES[..]
        } else {
            &IDLE_STATES[..1]
        };
        let entered = usable.iter().rfind(|state| state.residency_ns <= idle_ns);
        self.path_ns + entered.map_or(0, |state| state.exit_ns)
    }
}

/// What waking a thread of the hypervisor takes on one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadWakeUp {
    /// Whether idle CPUs leave C1.
    pub sleeps_deeply: bool,
    /// For how long it polls before it sleeps.
    pub polls_ns: u64,
    /// From the event that wakes it on a running logical CPU until it works.
    pub path_ns: u64,
    /// How long it takes, where that is given.
    pub given_ns: Option<u64>,
}

impl ThreadWakeUp {
    /// Time until a thread begins that has been idle for `idle_ns`.
    #[inline]
    pub fn ns(&self, idle_ns: u64) -> u64 {
        let wake_up = WakeUp {
            path_ns: self.path_ns,
            sleeps_deeply: self.sleeps_deeply,
            polls_ns: 0,
        };
        match self.given_ns {
            _ if idle_ns <= self.polls_ns => 0,
            Some(given_ns) => given_ns,
            None => wake_up.ns(idle_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ThreadWakeUp, WakeUp};

    #[test]
    fn a_thread_that_polls_begins_at_once_and_later_wakes_up_like_others() {
        let main_loop = ThreadWakeUp {
            sleeps_deeply: true,
            path_ns: 2_000,
            ..ThreadWakeUp::default()
        };
        let polling = ThreadWakeUp {
            polls_ns: 32_768,
            ..main_loop
        };
        let idle_ns = [1, 32_768, 32_769, 600_000];
        assert_eq!(
            idle_ns.map(|idle_ns| main_loop.ns(idle_ns)),
            [4_000, 12_000, 12_000, 43_000]
        );
        assert_eq!(idle_ns.map(|idle_ns| polling.ns(idle_ns)), [0, 0, 12_000, 43_000]);
        let given = ThreadWakeUp {
            given_ns: Some(5),
            ..polling
        };
        assert_eq!(idle_ns.map(|idle_ns| given.ns(idle_ns)), [0, 0, 5, 5]);
    }

    #[test]
    fn a_thread_of_the_host_enters_no_guest() {
        let of_vcpu = WakeUp {
            path_ns: 5_000,
            sleeps_deeply: true,
            polls_ns: 0,
        };
        let idle_ns = [1, 20_000, 600_000];
        assert_eq!(
            idle_ns.map(|idle_ns| of_vcpu.of_thread().ns(idle_ns)),
            [4_000, 12_000, 43_000]
        );
    }

    #[test]
    fn the_longer_a_core_was_idle_the_longer_it_takes_unless_it_stays_in_c1() {
        let deep = WakeUp {
            path_ns: 5_000,
            sleeps_deeply: true,
            polls_ns: 0,
        };
        let idle_us = [0, 19, 20, 599, 600, 1_000_000];
        let times = idle_us.map(|idle_us| deep.ns(idle_us * 1_000));
        assert_eq!(times, [7_000, 7_000, 15_000, 15_000, 46_000, 46_000]);
        let shallow = WakeUp {
            sleeps_deeply: false,
            ..deep
        };
        assert_eq!(idle_us.map(|idle_us| shallow.ns(idle_us * 1_000)), [7_000; 6]);
    }
}
