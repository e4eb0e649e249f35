//! What passes through virtual disks, for those who look at a run sample by sample; other runs do not pay for it.

use super::IoId;
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
    /// Commands that the hypervisor sent, its time for them, and the part of that in line for the device.
    pub sent: u64,
    pub kernel_ns: u64,
    pub queue_ns: u64,
    /// Time with the device of the commands that it has answered.
    pub device_ns: u64,
}

/// Meters of all virtual disks.
pub struct Meter {
    pub vdisks: Vec<Passages>,
    /// Per I/O: when it began the present part of its way, in the hypervisor, in line for the device, or with it.
    marks: Vec<Nanos>,
}

impl Meter {
    pub fn new(vdisks: usize) -> Self {
        Self {
            vdisks: vec![Passages::default(); vdisks],
            marks: Vec::new(),
        }
    }

    /// An I/O comes to the hypervisor.
    pub fn enter(&mut self, id: IoId, now: Nanos) {
        let id = id as usize;
        if self.marks.len() <= id {
            self.marks.resize(id + 1, now);
        }
        self.marks[id] = now;
    }

    fn lap(&mut self, id: IoId, now: Nanos) -> u64 {
        now - std::mem::replace(&mut self.marks[id as usize], now)
    }

    /// The hypervisor has done its work for an I/O.
    pub fn handled(&mut self, id: IoId, vdisk: u32, now: Nanos) {
        self.vdisks[vdisk as usize].kernel_ns += self.lap(id, now);
    }

    /// An I/O leaves for its device.
    pub fn send(&mut self, id: IoId, vdisk: u32, now: Nanos) {
        let queue_ns = self.lap(id, now);
        let count = &mut self.vdisks[vdisk as usize];
        count.sent += 1;
        count.kernel_ns += queue_ns;
        count.queue_ns += queue_ns;
    }

    /// The device has answered.
    pub fn answer(&mut self, id: IoId, vdisk: u32, write: bool, now: Nanos) {
        let device_ns = self.lap(id, now);
        let count = &mut self.vdisks[vdisk as usize];
        count.commands[usize::from(write)] += 1;
        count.device_ns += device_ns;
    }

    /// The guest has its data or its acknowledgement.
    pub fn end(&mut self, vdisk: u32, write: bool, bytes: u32, guest_ns: u64) {
        let (count, direction) = (&mut self.vdisks[vdisk as usize], usize::from(write));
        count.ios[direction] += 1;
        count.bytes[direction] += u64::from(bytes);
        count.guest_ns[direction] += guest_ns;
    }
}
