//! Counts what passes through virtual disks, for a run that is looked at sample by sample. Other runs do not pay for
//! it.

use super::request::PerIo;
use crate::ids::{Id, IoId, VdiskId};
use hypertwin_kernel::Nanos;

/// What has passed through a virtual disk since the start of the run; reads, and writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passages {
    /// I/Os of the guest that are back, their bytes, and their time from the guest's driver to the interrupt.
    pub ios: [u64; 2],
    pub bytes: [u64; 2],
    pub guest_ns: [u64; 2],
    /// Commands that the device has answered.
    pub commands: [u64; 2],
    /// Commands that the hypervisor sent, its time for them, and the part of that in the queue of the device.
    pub sent: u64,
    pub kernel_ns: u64,
    pub queue_ns: u64,
    /// Time with the device of the commands that it has answered.
    pub device_ns: u64,
}

/// Meters of all virtual disks.
pub struct Meter {
    vdisks: Vec<Passages>,
    /// When each I/O began the present part of its way: in the hypervisor, in the queue of the device, or with it.
    marks: PerIo<Nanos>,
}

impl Meter {
    pub fn new(vdisks: usize) -> Self {
        Self {
            vdisks: vec![Passages::default(); vdisks],
            marks: PerIo::new(),
        }
    }

    pub fn vdisks(&self) -> &[Passages] {
        &self.vdisks
    }

    /// An I/O comes to the hypervisor.
    pub fn enter(&mut self, id: IoId, now: Nanos) {
        self.marks.set(id, now);
    }

    fn lap(&mut self, id: IoId, now: Nanos) -> u64 {
        now - std::mem::replace(&mut self.marks[id], now)
    }

    /// The hypervisor has done its work for an I/O.
    pub fn handled(&mut self, id: IoId, vdisk: VdiskId, now: Nanos) {
        self.vdisks[vdisk.index()].kernel_ns += self.lap(id, now);
    }

    /// An I/O leaves for its device.
    pub fn send(&mut self, id: IoId, vdisk: VdiskId, now: Nanos) {
        let queue_ns = self.lap(id, now);
        let count = &mut self.vdisks[vdisk.index()];
        count.sent += 1;
        count.kernel_ns += queue_ns;
        count.queue_ns += queue_ns;
    }

    /// The device has answered.
    pub fn answer(&mut self, id: IoId, vdisk: VdiskId, write: bool, now: Nanos) {
        let device_ns = self.lap(id, now);
        let count = &mut self.vdisks[vdisk.index()];
        count.commands[usize::from(write)] += 1;
        count.device_ns += device_ns;
    }

    /// The guest has its data or its acknowledgement.
    pub fn end(&mut self, vdisk: VdiskId, write: bool, bytes: u32, guest_ns: u64) {
        let (count, direction) = (&mut self.vdisks[vdisk.index()], usize::from(write));
        count.ios[direction] += 1;
        count.bytes[direction] += u64::from(bytes);
        count.guest_ns[direction] += guest_ns;
    }
}
