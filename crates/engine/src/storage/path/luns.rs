//! Who uses which LUNs and pools from which host.

use crate::ids::{DepthId, HostId, Id, LunId, PoolId, Table, VmId};
use crate::storage::array::Array;
use crate::storage::pool::Pool;
use crate::storage::site::{Place, Site, SiteVm};
use hypertwin_cluster::VmGroup;
use std::collections::{BTreeMap, BTreeSet};

/// A LUN of one array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lun {
    pub(super) array: usize,
    /// Whether several VMs may be on it: these have numbers of their own.
    pub(super) is_shared: bool,
    pub(super) number: u32,
}

/// Who uses which LUNs and pools from where.
#[derive(Default)]
pub(super) struct Routes {
    /// Per VM and virtual disk.
    pub(super) luns: Vec<Vec<Lun>>,
    /// VMs that use a LUN from one host.
    pub(super) users: BTreeMap<(HostId, Lun), BTreeSet<VmId>>,
    /// The queue of each LUN on each host, and the hypervisor's limit for each VM on a LUN that others use too.
    pub(super) lun_queues: BTreeMap<(HostId, Lun), DepthId>,
    /// Those with several paths, as each host reaches them.
    pub(super) several: BTreeMap<(HostId, Lun), LunId>,
    pub(super) shared_limits: BTreeMap<(HostId, VmId, Lun), DepthId>,
    /// Per host and pool: the working sets of the VMs there.
    pub(super) working_sets: BTreeMap<(HostId, PoolId), u64>,
}

impl Routes {
    /// Those of all VMs.
    pub(super) fn of(site: &Site, arrays: &[Array], pools: &Table<PoolId, Pool>) -> Self {
        let mut routes = Self {
            luns: deal_luns(site, arrays),
            ..Self::default()
        };
        for (vm, _) in site.vms() {
            let place = site.place(vm);
            routes.come(&place, pool_of(place.spec, pools));
        }
        routes
    }

    /// A VM comes to a host.
    pub(super) fn come(&mut self, place: &Place, pool: Option<&Pool>) {
        for &lun in &self.luns[place.vm.index()] {
            self.users.entry((place.host, lun)).or_default().insert(place.vm);
        }
        if let Some(pool) = pool {
            let sum = self.working_sets.entry((place.host, pool.id())).or_default();
            *sum = sum.saturating_add(place.working_set());
        }
    }

    /// A VM leaves the host of `place`.
    pub(super) fn leave(&mut self, place: &Place, pool: Option<&Pool>) {
        for &lun in &self.luns[place.vm.index()] {
            self.users.entry((place.host, lun)).or_default().remove(&place.vm);
        }
        if let Some(pool) = pool {
            let sum = self.working_sets.entry((place.host, pool.id())).or_default();
            *sum = sum.saturating_sub(place.working_set());
        }
    }
}

/// The pool of a VM, if it has one.
pub(super) fn pool_of<'p>(spec: &VmGroup, pools: &'p Table<PoolId, Pool>) -> Option<&'p Pool> {
    let name = spec.storage.as_ref()?;
    pools.iter().find(|pool| pool.name == *name)
}

/// The LUN of every virtual disk of every VM.
fn deal_luns(site: &Site, arrays: &[Array]) -> Vec<Vec<Lun>> {
    let mut dealt: BTreeMap<(usize, bool), u32> = BTreeMap::new();
    let of = |vm: &SiteVm| {
        let spec = vm.spec;
        let Some(name) = &spec.array else {
            return Vec::new();
        };
        let array = arrays.iter().position(|array| array.name == *name);
        let array = array.expect("a validated scenario has the array of each of its VMs");
        let array_spec = site.island.arrays[array].1;
        let count = array_spec.luns.unwrap_or(array_spec.front_end_ports);
        let next = dealt.entry((array, spec.shared_luns)).or_default();
        let mut deal = || {
            let number = if spec.shared_luns { *next % count } else { *next };
            *next += 1;
            Lun {
                array,
                is_shared: spec.shared_luns,
                number,
            }
        };
        (0..spec.all_vdisks()).map(|_| deal()).collect()
    };
    site.vms.iter().map(of).collect()
}
