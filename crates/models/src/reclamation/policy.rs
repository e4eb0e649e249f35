//! States of a host's memory, what is done in each, and what a VM claims.

use hypertwin_cluster::{Bytes, PageSharing, VmGroup};

/// How short a host's memory is. The names are ESXi's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Enough is free.
    High,
    /// Large pages are broken, so that equal pages can be shared.
    Clear,
    /// Guests give memory back.
    Soft,
    /// The host takes pages away.
    Hard,
    /// As before, and who has more than its target gets no more.
    Low,
}

impl Level {
    /// As reports write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Clear => "clear",
            Self::Soft => "soft",
            Self::Hard => "hard",
            Self::Low => "low",
        }
    }
}

/// What a host does at a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Actions {
    /// Shares equal pages.
    pub shares: bool,
    /// Inflates balloons.
    pub balloons: bool,
    /// Compresses pages that it would swap out.
    pub compresses: bool,
    /// Swaps pages out.
    pub swaps: bool,
    /// Gives nothing to those who have more than their target.
    pub blocks: bool,
}

/// The free memory, in bytes, at which a host comes to a level, and at which it leaves it for a better one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// The level.
    pub level: Level,
    /// It is entered with less free memory than this.
    pub enter: f64,
    /// It is left with at least this.
    pub leave: f64,
}

/// How a host deals with its memory.
#[derive(Clone, Debug)]
pub struct Policy {
    /// From mild to severe; `High` has none.
    pub(crate) thresholds: Vec<Threshold>,
    /// Per level: what is done.
    pub(crate) actions: [Actions; 5],
    /// Free memory that is aimed at when pages are taken away, in bytes.
    pub goal: f64,
    /// Free memory at which balloons neither grow nor shrink, in bytes.
    pub balloon_goal: f64,
    /// What an idle page costs, where an active one costs 1; 1 where all cost the same.
    pub(crate) idle_cost: f64,
    /// Whether shares decide who may keep how much, or which pages were used least recently.
    pub by_shares: bool,
    /// Whether idle pages go before active ones, because the host knows which are in use.
    pub idle_first: bool,
    /// Whether a VM is killed when nothing else helps.
    pub kills: bool,
    /// Pages of 4 KiB per second that are shared: of each VM, or of all together.
    pub share_rate: ShareRate,
    /// Between whose pages equal ones are shared.
    pub sharing: PageSharing,
    /// Bytes per second by which one balloon grows or shrinks.
    pub balloon_rate: f64,
    /// See [`hypertwin_cluster::Reclamation`].
    pub balloon_most: f64,
    /// See [`hypertwin_cluster::Reclamation`].
    pub compressed_most: f64,
    /// Memory that the host needs for a VM beside the VM's own, in bytes.
    pub overhead: fn(&VmGroup) -> f64,
}

/// How many pages of 4 KiB are shared in a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShareRate {
    /// Of each VM.
    PerVm(f64),
    /// Of all VMs of a host.
    PerHost(f64),
}

/// A VM as those see it who divide memory. Bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tenant {
    /// Its memory shares.
    pub shares: f64,
    /// The part of its touched memory that is in use, as the host estimates it.
    pub active: f64,
    /// It keeps this much.
    pub reservation: f64,
    /// It never has more than this.
    pub limit: f64,
    /// What it has touched.
    pub touched: f64,
}

impl Policy {
    /// The least free memory of a host that has nothing to do, in bytes.
    pub fn ample(&self) -> f64 {
        self.thresholds
            .iter()
            .map(|threshold| threshold.enter)
            .fold(0.0, f64::max)
    }

    /// The level of a host that is at `now` and has this much free memory.
    pub fn level(&self, now: Level, free: f64) -> Level {
        let holds = |threshold: &&Threshold| match threshold.level <= now {
            true => free < threshold.leave,
            false => free < threshold.enter,
        };
        let reached = self.thresholds.iter().rev().find(holds);
        reached.map_or(Level::High, |threshold| threshold.level)
    }

    /// Free memory below which a level begins, in bytes; `None` if it does not exist.
    pub fn enter(&self, level: Level) -> Option<f64> {
        let threshold = self.thresholds.iter().find(|threshold| threshold.level == level);
        threshold.map(|threshold| threshold.enter)
    }

    /// Free memory at which a level is left, in bytes; `None` if it does not exist.
    pub fn leave(&self, level: Level) -> Option<f64> {
        let threshold = self.thresholds.iter().find(|threshold| threshold.level == level);
        threshold.map(|threshold| threshold.leave)
    }

    /// What is done at a level.
    pub fn actions(&self, level: Level) -> Actions {
        self.actions[level as usize]
    }
}

impl Tenant {
    /// The most that it may ever have.
    pub fn most(&self) -> f64 {
        self.touched.min(self.limit)
    }
}

/// Mean number of `active` pages that `uses` evenly spread uses touch: what sampling finds in that time.
pub fn touched(active: f64, uses: f64) -> f64 {
    active * -libm::expm1(-uses / active.max(1.0))
}

/// What a fraction of a number of bytes is.
pub(crate) fn part(of: Bytes, fraction: f64) -> f64 {
    of.bytes() as f64 * fraction
}

#[cfg(test)]
pub(crate) mod tests {
    use super::touched;
    use hypertwin_cluster::{HostGroup, Hypervisor};

    #[test]
    fn few_uses_touch_as_many_pages_and_many_touch_all() {
        assert!((touched(1e6, 100.0) - 100.0).abs() < 0.01);
        assert!((touched(1_000.0, 1_000.0) - 1_000.0 * (1.0 - (-1.0_f64).exp())).abs() < 1e-9);
        assert!((touched(1_000.0, 1e5) - 1_000.0).abs() < 1e-9);
        assert_eq!(touched(0.0, 5.0), 0.0);
    }

    /// A host with one NUMA node of `gib` GiB.
    pub(crate) fn host(hypervisor: Hypervisor, gib: u64) -> HostGroup {
        let text = serde_json::json!({
            "sockets": 1, "cores_per_socket": 8, "clock": "2 GHz",
            "memory_per_node": format!("{gib} GiB"), "hypervisor": hypervisor.as_str(),
        });
        serde_json::from_value(text).expect("a host")
    }
}
