//! Who uses which LUNs and pools from which host.

use crate::ids::{DepthId, HostId, Id, LunId, PoolId, Table, VmId};
use crate::storage::array::Array;
use crate::storage::pool::Pool;
use crate::storage::site::{Place, Site, SiteVm};
use hypertwin_cluster::End;
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
    /// Per VM and virtual disk, where that is on an array; empty for a VM without any.
    pub(super) luns: Vec<Vec<Option<Lun>>>,
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
            routes.come(&place, pools);
        }
        routes
    }

    /// A VM comes to a host.
    pub(super) fn come(&mut self, place: &Place, pools: &Table<PoolId, Pool>) {
        for &lun in self.luns[place.vm.index()].iter().flatten() {
            self.users.entry((place.host, lun)).or_default().insert(place.vm);
        }
        for pool in place.ends().filter_map(|end| pool_of(end, pools)) {
            let sum = self.working_sets.entry((place.host, pool.id())).or_default();
            *sum = sum.saturating_add(place.working_set());
        }
    }

    /// A VM leaves the host of `place`.
    pub(super) fn leave(&mut self, place: &Place, pools: &Table<PoolId, Pool>) {
        for &lun in self.luns[place.vm.index()].iter().flatten() {
            self.users.entry((place.host, lun)).or_default().remove(&place.vm);
        }
        for pool in place.ends().filter_map(|end| pool_of(end, pools)) {
            let sum = self.working_sets.entry((place.host, pool.id())).or_default();
            *sum = sum.saturating_sub(place.working_set());
        }
    }
}

/// The pool that some virtual disks are on, if it is one.
pub(super) fn pool_of<'p>(end: End, pools: &'p Table<PoolId, Pool>) -> Option<&'p Pool> {
    let name = end.pool()?;
    pools.iter().find(|pool| pool.name == name)
}

/// The LUN of every virtual disk of every VM, where that is on an array.
fn deal_luns(site: &Site, arrays: &[Array]) -> Vec<Vec<Option<Lun>>> {
    let mut dealt: BTreeMap<(usize, bool), u32> = BTreeMap::new();
    let mut deal = |vm: &SiteVm, array: usize| {
        let is_shared = vm.spec.shared_luns;
        let array_spec = site.island.arrays[array].1;
        let count = array_spec.luns.unwrap_or(array_spec.front_end_ports);
        let next = dealt.entry((array, is_shared)).or_default();
        let number = if is_shared { *next % count } else { *next };
        *next += 1;
        Lun {
            array,
            is_shared,
            number,
        }
    };
    let mut of = |vm: &SiteVm| {
        let array_of = |end: End| arrays.iter().position(|array| end.is_array(&array.name));
        let ends: Vec<Option<usize>> = vm.spec.ends(vm.workload).map(array_of).collect();
        if ends.iter().all(Option::is_none) {
            return Vec::new();
        }
        let mut luns = Vec::new();
        for array in ends {
            luns.extend((0..vm.spec.vdisks_of_end(vm.workload)).map(|_| array.map(|array| deal(vm, array))));
        }
        luns
    };
    site.vms.iter().map(&mut of).collect()
}
