//! Virtual disks: the route that their I/Os take to the host's edge, and where their data are.

use crate::ids::{ControllerId, DepthId, LunId, PoolId, VmId};
use crate::storage::port::ArrayPath;

/// A virtual disk.
// on a pool, one line of the cache
#[repr(C, align(64))]
pub struct Vdisk {
    pub vm: VmId,
    pub controller: ControllerId,
    /// What its VM's I/Os cost and are like, by its number in the path.
    pub profile: u32,
    pub route: Route,
    pub target: Target,
}

/// One stage of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// An I/O takes a slot here, and gives it back when it completes.
    Depth(DepthId),
    /// A world that works for its virtual controller works on it.
    Controller,
    /// It chooses its path, and takes a slot of the path's port.
    Paths,
    /// It leaves the host.
    Out,
}

/// Stages in the order in which an I/O meets them: depths of the guest's side, the controller, depths of the host's
/// side.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    depths: [DepthId; Self::MOST],
    /// Depths of the guest's side, and in all.
    before: u8,
    count: u8,
    /// Whether it has several paths at its end.
    has_paths: bool,
    /// The position of the controller; [`u8::MAX`] if no thread of the host works for it.
    controller: u8,
}

impl Route {
    /// The most depths on a route: virtual disk, ring; DSNRO, LUN, port.
    const MOST: usize = 5;

    /// A route past the depths of the guest's side, the controller if a thread works for it, those of the host's side,
    /// and then out.
    pub fn new(guest: [DepthId; 2], has_thread: bool, host: impl IntoIterator<Item = DepthId>) -> Self {
        let before = guest.len() as u8;
        let mut route = Self {
            depths: [guest[0]; Self::MOST],
            before,
            count: 0,
            has_paths: false,
            controller: if has_thread { before } else { u8::MAX },
        };
        for depth in guest.into_iter().chain(host) {
            route.depths[usize::from(route.count)] = depth;
            route.count += 1;
        }
        route
    }

    #[inline]
    pub fn stage(&self, position: u8) -> Stage {
        if position == self.controller {
            return Stage::Controller;
        }
        let depth = position - u8::from(position > self.controller);
        if depth < self.count {
            Stage::Depth(self.depths[usize::from(depth)])
        } else if self.has_paths && depth == self.count {
            Stage::Paths
        } else {
            Stage::Out
        }
    }

    /// The same route, with several paths at its end.
    pub fn with_paths(mut self, has_paths: bool) -> Self {
        self.has_paths = has_paths;
        self
    }

    /// The position at which a path is chosen.
    pub fn paths(&self) -> u8 {
        self.count + u8::from(self.controller != u8::MAX)
    }

    /// Depths of the guest's side, which belong to its VM alone.
    pub fn of_guest(&self) -> &[DepthId] {
        &self.depths[..usize::from(self.before)]
    }

    /// Depths of the host's side.
    pub fn of_host(&self) -> &[DepthId] {
        &self.depths()[usize::from(self.before)..]
    }

    /// All depths; an I/O that has left holds a slot of each.
    #[inline]
    pub fn depths(&self) -> &[DepthId] {
        &self.depths[..usize::from(self.count)]
    }
}

/// Where the data of a virtual disk are.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// An array, by its number.
    Array { array: usize, way: Way, lun: LunQueues },
    /// A pool; how its data are kept there; how far sequential I/O is, in bytes; and a number of the disk's own that
    /// decides where its data are.
    Pool {
        pool: PoolId,
        layout: u16,
        offset: u64,
        key: u64,
    },
}

/// The way of an I/O across the fabric.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// A path that never changes.
    One(ArrayPath),
    /// The path that the policy of this LUN chooses.
    Several(LunId),
}

impl Vdisk {
    /// Its LUN, if that has several paths.
    #[inline]
    pub fn several(&self) -> Option<LunId> {
        match self.target {
            Target::Array {
                way: Way::Several(lun), ..
            } => Some(lun),
            _ => None,
        }
    }
}

/// A LUN as one VM on one host reaches it.
#[derive(Clone, Copy, Debug)]
pub struct LunQueues {
    pub number: u32,
    /// The queue of the device.
    pub queue: DepthId,
    /// The hypervisor's own limit (DSNRO), where other VMs on the host use the LUN too.
    pub shared_limit: Option<DepthId>,
}
