//! What path, arrays and pools all work with, and what storage asks of the rest of the simulation.

use super::disk::Disks;
use super::fabric::Fabric;
use super::network::Network;
use super::request::Requests;
use crate::ids::{HostId, IoId, ProcessId, VmId, WorldId};
use hypertwin_kernel::Nanos;
use std::collections::VecDeque;

/// What storage asks of others. Its caller acts on it before anything else happens.
#[derive(Clone, Copy, Debug)]
pub enum Reply {
    /// A world of a controller or service, which was idle, has this much work, in nanoseconds alone on a core at
    /// nominal clock. One that is awake waited for a device, whose time has the wake-up in it.
    Run {
        world: WorldId,
        work_ns: f64,
        is_awake: bool,
    },
    /// A worker, which was idle, has an I/O to handle: its work for it in nanoseconds alone on a core at the reference
    /// clock, without that of the workload itself.
    WorkerReady { process: ProcessId, work_ns: f64 },
    /// An I/O of a generator is back.
    Responded { vm: VmId, latency_ns: Nanos },
    /// All I/Os of a process's burst are back.
    Completed(ProcessId),
    /// An I/O cannot reach its VM while the host is off.
    Deferred { host: HostId, io: IoId },
    /// A page of a fault has been read from a swap device.
    PageRead(u32),
    /// A host has swapped pages out.
    PagesWritten(HostId),
    /// A VM has more I/Os in progress than a run can hold.
    Overloaded { vm: VmId, in_progress: usize },
}

/// Records, disks and wires, and the replies to come.
pub struct Shared {
    pub requests: Requests,
    pub disks: Disks,
    /// To arrays.
    pub fabric: Fabric,
    /// Among the hosts of pools.
    pub network: Network,
    pub replies: VecDeque<Reply>,
}
