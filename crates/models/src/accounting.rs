//! Time accounting of worlds and processors as ESXi does it.
//!
//! Every nanosecond of a vCPU is Run, Ready, CoStop or Wait. Used rescales Run for hyper-threading (62.5 % while the
//! sibling is busy) and clock, less the interrupts that were served on the vCPU's time (Overlap). A VM's System time is
//! what the VMkernel did for it in such interrupts. Source: VMware, "esxtop" reference and "vSphere Resource
//! Management"; the same terms appear in vCenter's performance counters.
//!
//! **Linux accounts plain time.** Charging 62.5% while the sibling is busy is ESXi's rule. On Linux hosts a busy
//! sibling does not reduce Used.

/// What a world does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Executes on a logical CPU.
    Run,
    /// Could execute, and waits for a logical CPU.
    Ready,
    /// Is held back because it is too far ahead of its siblings.
    CoStop,
    /// Has nothing to do: idle, or waits for a device.
    Wait,
}

/// Time of one world since the start of measuring, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Account {
    /// On a logical CPU.
    pub run_ns: u64,
    /// Ready, limited time included.
    pub ready_ns: u64,
    /// Co-stopped.
    pub costop_ns: u64,
    /// Waiting, idle included.
    pub wait_ns: u64,
    /// The part of ready that a CPU limit caused.
    pub limited_ns: u64,
    /// The part of ready between waking from idle and running: a guest sees it as idle time.
    pub wakeup_ns: u64,
    /// The part of that in which a free logical CPU left its idle state and began: nothing else had it.
    pub starting_ns: u64,
    /// The part of waiting in which it waited for memory that its host had swapped out: a guest sees it as busy.
    pub swap_wait_ns: u64,
    /// Interrupts served while this world was on the CPU.
    pub overlap_ns: u64,
    /// Charged time at nominal clock.
    pub used_ns: f64,
}

impl Account {
    /// Adds `dt_ns` in `state`.
    #[inline]
    pub fn add(&mut self, state: State, dt_ns: u64) {
        match state {
            State::Run => self.run_ns += dt_ns,
            State::Ready => self.ready_ns += dt_ns,
            State::CoStop => self.costop_ns += dt_ns,
            State::Wait => self.wait_ns += dt_ns,
        }
    }

    /// Charges `run_ns` of execution, of which `overlap_ns` went to interrupts. `shared_charge` is the rate while the
    /// sibling is busy, `clock_ratio` the running clock over nominal. Returns what was charged.
    #[inline]
    pub fn charge(
        &mut self,
        run_ns: u64,
        overlap_ns: u64,
        sibling_busy: bool,
        shared_charge: f64,
        clock_ratio: f64,
    ) -> f64 {
        let rate = if sibling_busy { shared_charge } else { 1.0 };
        let used = (run_ns - overlap_ns) as f64 * rate * clock_ratio;
        self.overlap_ns += overlap_ns;
        self.used_ns += used;
        used
    }

    /// Run time as it would have been had nothing held it back: the part of the other time in which it ran, all the
    /// time. What is ready or co-stopped throughout would run throughout.
    pub fn demand_ns(&self) -> f64 {
        let held_ns = self.ready_ns + self.costop_ns;
        match self.run_ns + self.wait_ns {
            0 => held_ns as f64,
            free_ns => self.run_ns as f64 * self.total_ns() as f64 / free_ns as f64,
        }
    }

    /// Run + Ready + CoStop + Wait.
    pub fn total_ns(&self) -> u64 {
        self.run_ns + self.ready_ns + self.costop_ns + self.wait_ns
    }
}

/// Busy time of the processors of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessorTime {
    /// Summed over logical CPUs: a thread runs something.
    pub threads_ns: u64,
    /// Summed over cores, in half nanoseconds: at least one thread runs something.
    pub core_halves_ns: u64,
}

impl ProcessorTime {
    /// Adds `run_ns` of one thread. Where both threads of a core are busy each brings half of the core's time.
    #[inline]
    pub fn add(&mut self, run_ns: u64, sibling_busy: bool) {
        self.threads_ns += run_ns;
        self.core_halves_ns += if sibling_busy { run_ns } else { 2 * run_ns };
    }

    /// Busy time summed over cores, in nanoseconds.
    pub fn cores_ns(&self) -> f64 {
        self.core_halves_ns as f64 / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That of ESXi.
    const SHARED_CORE_CHARGE: f64 = 0.625;

    /// Replays two threads of one core over 20 s: `(from, to)` busy intervals in seconds.
    fn replay(first: &[(u64, u64)], second: &[(u64, u64)]) -> ([Account; 2], ProcessorTime) {
        let busy = |intervals: &[(u64, u64)], at: u64| intervals.iter().any(|&(from, to)| (from..to).contains(&at));
        let (mut accounts, mut core) = ([Account::default(); 2], ProcessorTime::default());
        for second_index in 0..20 {
            let on = [busy(first, second_index), busy(second, second_index)];
            for thread in 0..2 {
                accounts[thread].add(if on[thread] { State::Run } else { State::Wait }, 1_000_000_000);
                if on[thread] {
                    accounts[thread].charge(1_000_000_000, 0, on[1 - thread], SHARED_CORE_CHARGE, 1.0);
                    core.add(1_000_000_000, on[1 - thread]);
                }
            }
        }
        (accounts, core)
    }

    #[test]
    fn half_overlapping_siblings_use_40_625_percent_each() {
        let (accounts, core) = replay(&[(0, 10)], &[(5, 15)]);
        for account in accounts {
            assert_eq!(account.used_ns / 20e9 * 100.0, 40.625);
            assert_eq!(account.total_ns(), 20_000_000_000);
        }
        assert_eq!(core.threads_ns as f64 / 2.0 / 20e9, 0.5);
        assert_eq!(core.cores_ns() / 20e9, 0.75);
    }

    #[test]
    fn always_busy_siblings_use_62_5_percent() {
        let (accounts, _) = replay(&[(0, 20)], &[(0, 20)]);
        assert_eq!(accounts[0].used_ns / 20e9, 0.625);
        assert_eq!((accounts[0].run_ns, accounts[0].ready_ns), (20_000_000_000, 0));
    }

    #[test]
    fn demand_is_what_would_run_if_nothing_held_it_back() {
        let demand = |run_ns, ready_ns, costop_ns, wait_ns| {
            let account = Account {
                run_ns,
                ready_ns,
                costop_ns,
                wait_ns,
                ..Account::default()
            };
            account.demand_ns()
        };
        assert_eq!(demand(40, 0, 0, 60), 40.0);
        assert_eq!(
            demand(30, 30, 10, 30),
            50.0,
            "it ran for half of the time in which it was not held back"
        );
        assert_eq!(demand(60, 20, 20, 0), 100.0);
        assert_eq!((demand(0, 70, 30, 0), demand(0, 0, 0, 100)), (100.0, 0.0));
    }

    #[test]
    fn interrupts_count_as_overlap_and_not_as_used() {
        let mut account = Account::default();
        account.add(State::Run, 1000);
        assert_eq!(account.charge(1000, 100, false, SHARED_CORE_CHARGE, 1.2), 1080.0);
        assert_eq!((account.run_ns, account.overlap_ns), (1000, 100));
    }
}
