//! Core scheduling: which worlds may run on the two hardware threads of one core at the same time.
//!
//! **Mechanism.** Each world has a cookie, or none. Two worlds may share a core if they have the same cookie; a world
//! without one has its core alone. The thread beside a running world is idle unless a world with the same cookie is
//! ready. `sca-v1`: no world has a cookie. `sca-v2`: the vCPUs of a VM have its cookie, other worlds have none.
//! `linux`: all threads of a VM have its cookie, and all other threads one of their own. Which world is first to take a
//! core from those that may not share it with it is up to the scheduler.
//!
//! **Sources.** VMware, "Performance of vSphere 6.7 Scheduling Options" (2019) and KB 55806, for SCAv1 and SCAv2; Linux
//! `Documentation/admin-guide/hw-vuln/core-scheduling.rst`; libvirt `qemu.conf`, `sched_core`, of which this is
//! `emulator`.
//!
//! **Core scheduling filters the neighbours on a core.** `Occupancy` holds a cookie per world and offers a thread only
//! to worlds that can share its core. This filter restricts the policy of any scheduler. A host without core scheduling
//! has no cookies and no checks.

use crate::cpu_set::CpuSet;
use hypertwin_cluster::CoreScheduling;

/// Worlds with the same cookie can share a core; `None` shares with no other.
pub type Cookie = Option<u32>;

/// The cookie of tasks that belong to no VM on Linux, which they all have by default.
const HOST_COOKIE: u32 = u32::MAX;

/// The cookie of a world: that of VM `vm`, or of the host itself (`None`). `None` where all worlds may share cores.
pub fn cookie(policy: CoreScheduling, vm: Option<u32>, is_vcpu: bool) -> Option<Cookie> {
    match policy {
        CoreScheduling::Off => None,
        CoreScheduling::ScaV1 => Some(None),
        CoreScheduling::ScaV2 => Some(vm.filter(|_| is_vcpu)),
        CoreScheduling::Linux => Some(Some(vm.unwrap_or(HOST_COOKIE))),
    }
}

/// The cookies of a host's worlds, and the threads that only some of them may have.
#[derive(Clone, Debug)]
pub(crate) struct CoreScheduler {
    /// By world.
    pub(crate) cookies: Vec<Cookie>,
    /// Idle threads, not withheld, whose sibling is busy.
    pub(crate) half_idle: CpuSet,
}

impl CoreScheduler {
    pub(crate) fn new(cpus: usize) -> Self {
        Self {
            cookies: Vec::new(),
            half_idle: CpuSet::new(cpus),
        }
    }

    /// Whether two worlds, by their ids, may run on one core.
    pub(crate) fn may_share(&self, a: u32, b: u32) -> bool {
        let cookie = self.cookies[a as usize];
        cookie.is_some() && cookie == self.cookies[b as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::{CoreScheduling, cookie};

    #[test]
    fn cookies_follow_the_policy() {
        // a vCPU and an I/O thread of VM 3, and a world of the host
        let worlds = [(Some(3), true), (Some(3), false), (None, false)];
        let cookies = |policy| worlds.map(|(vm, is_vcpu)| cookie(policy, vm, is_vcpu));
        assert_eq!(cookies(CoreScheduling::Off), [None; 3]);
        assert_eq!(cookies(CoreScheduling::ScaV1), [Some(None); 3]);
        assert_eq!(cookies(CoreScheduling::ScaV2), [Some(Some(3)), Some(None), Some(None)]);
        assert_eq!(
            cookies(CoreScheduling::Linux),
            [Some(Some(3)), Some(Some(3)), Some(Some(u32::MAX))]
        );
    }
}
