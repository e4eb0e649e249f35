//! A VM as its host's memory sees it.

use super::measured::VmSums;
use super::pages::{Away, PAGE, PageCounts, Pages, pages};
use crate::ids::HostId;
use hypertwin_cluster::{VmGroup, Workload};
use hypertwin_kernel::Nanos;
use hypertwin_models::reclamation;

/// CPU time to decompress a page, in nanoseconds: about 20 us, assumed.
pub const DECOMPRESS_NS: f64 = 20_000.0;

/// A VM.
pub struct Tenant {
    pub host: Option<HostId>,
    pub pages: Pages,
    /// PageCounts placements: what was begun in an earlier one is over.
    pub life: u32,
    pub has_balloon: bool,
    /// The part of its touched memory that is in use, as its host sees it.
    pub estimate: f64,
    /// Its CPU time when `estimate` was made.
    cpu_ns: f64,
    /// What it may keep, in bytes.
    pub target: f64,
    /// Memory that its host needs beside its own, in half pages.
    pub overhead: u64,
    /// Faults that wait for pages.
    pub waiting: u32,
    /// Parts of faults that have not added up to one.
    carry: [f64; 3],
    pub sums: VmSums,
    rules: Rules,
}

/// What a scenario says of its memory.
struct Rules {
    memory: f64,
    shares: f64,
    reservation: f64,
    limit: f64,
    /// Pages in use, and not in use, of those it has touched.
    active: u64,
    idle: u64,
    zero: u64,
    compressible: f64,
    /// Pages in use that it uses in a nanosecond of CPU time.
    uses_per_ns: f64,
    /// Whether it works at all when the run begins.
    works: bool,
}

impl Tenant {
    pub fn new(spec: &VmGroup, workload: &Workload) -> Self {
        let touched = pages(spec.touched().bytes() as f64);
        let active = pages(spec.active().bytes() as f64).min(touched);
        let memory = spec.memory.bytes() as f64;
        let is_io = matches!(workload.arrivals, hypertwin_cluster::Arrivals::Io { .. });
        let first = spec.load_steps.iter().rfind(|step| step.at.nanos() == 0);
        let load = spec.load * first.map_or(1.0, |step| step.factor);
        Self {
            host: None,
            pages: Pages::default(),
            life: 0,
            has_balloon: false,
            estimate: 0.0,
            cpu_ns: 0.0,
            target: 0.0,
            overhead: 0,
            waiting: 0,
            carry: [0.0; 3],
            sums: VmSums::default(),
            rules: Rules {
                memory,
                shares: spec.memory_shares.of_memory(spec.memory),
                reservation: spec.kept_memory().bytes() as f64,
                limit: spec.memory_limit.map_or(f64::INFINITY, |limit| limit.bytes() as f64),
                active,
                idle: touched - active,
                // huge pages are not compared with others
                zero: match spec.huge_pages {
                    true => 0,
                    false => (touched as f64 * spec.memory_zero_pct / 100.0) as u64,
                },
                compressible: spec.memory_compressible_pct / 100.0,
                uses_per_ns: workload.page_rate.per_second() / 1e9,
                works: load > 0.0 || is_io,
            },
        }
    }

    /// It comes to a host, with all that it has touched.
    pub fn arrive(&mut self, host: HostId, has_balloon: bool, overhead: f64, cpu_ns: f64) {
        let rules = &self.rules;
        self.host = Some(host);
        self.pages = Pages::new(rules.active, rules.idle);
        self.has_balloon = has_balloon;
        self.overhead = 2 * pages(overhead + PAGE - 1.0);
        self.estimate = match rules.works {
            true => rules.active as f64 / self.touched().max(1) as f64,
            false => 0.0,
        };
        self.cpu_ns = cpu_ns;
        self.target = self.touched() as f64 * PAGE;
        self.carry = [0.0; 3];
    }

    /// It leaves its host and drops its waits.
    pub fn leave(&mut self) {
        self.host = None;
        self.pages = Pages::default();
        self.overhead = 0;
        self.life += 1;
        self.waiting = 0;
    }

    /// Pages that it has touched.
    pub fn touched(&self) -> u64 {
        self.rules.active + self.rules.idle
    }

    /// Whether it may not have all that it has touched, however much is free.
    pub fn is_limited(&self) -> bool {
        self.rules.limit < self.touched() as f64 * PAGE
    }

    /// The most that it may have of its host, in bytes.
    pub fn limit(&self) -> f64 {
        self.rules.limit
    }

    /// Bytes of its host that it has.
    pub fn held(&self) -> f64 {
        self.pages.held() as f64 * PAGE / 2.0
    }

    pub fn all(&self) -> PageCounts {
        self.pages.all()
    }

    /// Its claim, as those see it who divide memory.
    pub fn claim(&self) -> reclamation::Tenant {
        let rules = &self.rules;
        reclamation::Tenant {
            shares: rules.shares,
            active: self.estimate,
            reservation: rules.reservation,
            limit: rules.limit,
            touched: (self.touched() - self.all().shared) as f64 * PAGE,
        }
    }

    /// What is estimated of its active memory from what it has done since the last time: the part of its pages that so
    /// many uses, evenly spread over those in use, have touched.
    pub fn sample(&mut self, cpu_ns: f64) {
        let uses = (cpu_ns - self.cpu_ns).max(0.0) * self.rules.uses_per_ns;
        let active = self.rules.active as f64;
        let touched = reclamation::touched(active, uses);
        self.cpu_ns = cpu_ns;
        self.estimate = touched / self.touched().max(1) as f64;
    }

    /// Zero pages that are not shared yet.
    pub fn sharable(&self) -> u64 {
        self.rules
            .zero
            .saturating_sub(self.all().shared)
            .min(self.all().granted)
    }

    /// Pages that its balloon can still take.
    pub fn balloon_room(&self, most: f64) -> u64 {
        match self.has_balloon {
            true => pages(self.rules.memory * most).saturating_sub(self.all().ballooned),
            false => 0,
        }
    }

    /// Pages to compress and pages to swap out, so that `halves` half pages are free; at most `most` compressed bytes
    /// over its memory, and `space` swapped pages.
    pub fn squeeze(&self, halves: u64, most: f64, space: u64) -> (u64, u64) {
        let room = (2 * pages(self.rules.memory * most)).saturating_sub(self.all().compressed);
        let fraction = if room > 0 { self.rules.compressible } else { 0.0 };
        let chosen = (halves as f64 / (2.0 - fraction)).ceil();
        let compressed = ((fraction * chosen) as u64).min(room).min(halves);
        let swapped = (halves - compressed).div_ceil(2).min(space);
        (compressed, swapped)
    }

    /// How many pages a burst of so much CPU time misses that are `away`: on average those in use that are, of all it
    /// uses.
    pub fn misses(&mut self, away: Away, cpu_ns: f64) -> u64 {
        let count = *self.pages.active.of(away);
        if count == 0 {
            return 0;
        }
        let carry = match away {
            Away::Ballooned => &mut self.carry[0],
            Away::Compressed => &mut self.carry[1],
            Away::Swapped | Away::Shared => &mut self.carry[2],
        };
        *carry += cpu_ns * self.rules.uses_per_ns * count as f64 / self.rules.active.max(1) as f64;
        let whole = carry.floor();
        *carry -= whole;
        whole as u64
    }

    /// Ends the time for which its pages were where they are.
    pub fn settle(&mut self, now: Nanos) {
        let active = self.estimate * self.touched() as f64;
        self.sums
            .settle(now, &self.pages.all(), active, self.target, self.overhead);
    }
}
