//! Virtual disks: the route that their I/Os take to the host's edge, and where their data are.

use crate::ids::{ControllerId, DepthId, PoolId, VmId};
use crate::storage::fabric::ArrayPath;
use crate::storage::work::DriverWork;

/// A virtual disk.
pub struct Vdisk {
    pub vm: VmId,
    pub controller: ControllerId,
    pub route: Route,
    /// Work of the host's driver for an I/O, beside the controller's.
    pub driver: DriverWork,
    pub target: Target,
}

/// One stage of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// An I/O takes a slot here, and gives it back when it completes.
    Depth(DepthId),
    /// The world of its virtual controller works on it.
    Controller,
    /// It leaves the host.
    Out,
}

/// Stages in the order in which an I/O meets them.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    stages: [Stage; Self::MOST],
}

impl Route {
    /// The longest route: virtual disk, ring, controller, DSNRO, LUN, port, out.
    const MOST: usize = 7;

    /// A route along `stages`, and then out.
    pub fn new(stages: impl IntoIterator<Item = Stage>) -> Self {
        let mut route = Self {
            stages: [Stage::Out; Self::MOST],
        };
        for (position, stage) in stages.into_iter().enumerate() {
            route.stages[position] = stage;
        }
        debug_assert_eq!(route.stages[Self::MOST - 1], Stage::Out, "every route ends");
        route
    }

    #[inline]
    pub fn stage(&self, position: usize) -> Stage {
        self.stages[position]
    }
}

/// Where the data of a virtual disk are.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// An array, by its number.
    Array {
        array: usize,
        path: ArrayPath,
        lun: LunQueues,
    },
    /// A pool; how far sequential I/O is, in bytes; and a number of the disk's own that decides where its data are.
    Pool { pool: PoolId, offset: u64, key: u64 },
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
